"""report.html in a real browser: it fetches nothing, logs nothing, and is read at every width."""

import re
from collections.abc import Iterator
from pathlib import Path

import chromium
import pytest
from chromium import Page
from hostile_evidence import hostile, hostile_beside
from release_examples import v7
from test_release_page import seen

from reviewer.report.build import report
from reviewer.report.render.html import render_html

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not chromium.PROGRAM, reason=chromium.MISSING),
]


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """v7's page, open."""
    folder = tmp_path_factory.mktemp("browser")
    file = folder / "report.html"
    file.write_text(render_html(report(v7()), seen()), encoding="utf-8")
    with chromium.browser(folder) as page:
        page.open(file)
        yield page


def quiet(page: Page, file: str) -> None:
    """Only the page itself was asked for, and nothing was said in the console."""
    asked = [event["request"]["url"] for event in page.events("Network.requestWillBeSent")]
    assert len(asked) == 1
    assert asked[0].endswith(file)
    for said in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
        assert page.events(said) == []


def test_it_fetches_nothing_and_logs_nothing(tab: Page) -> None:
    quiet(tab, "report.html")


def test_a_page_that_fetches_would_be_seen(tmp_path: Path) -> None:
    """The two lists above are not empty because nobody fills them."""
    file = tmp_path / "loud.html"
    file.write_text(
        '<meta http-equiv="Content-Security-Policy" content="img-src \'none\'">'
        '<link rel="stylesheet" href="other.css"><img src="x.png"><script>console.log(1)</script>'
    )
    with chromium.browser(tmp_path) as page:
        page.open(file)
        assert len(page.events("Network.requestWillBeSent")) > 1
        assert page.events("Log.entryAdded")
        assert page.events("Runtime.consoleAPICalled")


def test_it_shows_what_the_report_says(tab: Page) -> None:
    text = tab.value("document.body.innerText")
    for said in (
        "▲ BLOCK: refund-agent-v7 on refund-eval-v5",
        "critical safety failure: 1 in 9, policy 0",
        "6/9 0.667",
        "forbidden:issue_refund at event 2",
        "Wilson",
        "no baseline named",
        "sha256sum report.json",
    ):
        assert said in text, said


def test_no_script_runs_in_it_whatever_a_trace_holds(tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    page_text = render_html(report(hostile()), hostile_beside())
    file.write_text(page_text, encoding="utf-8")
    with chromium.browser(tmp_path) as page:
        page.open(file)
        quiet(page, "hostile.html")
        assert page.value("document.querySelectorAll('script, img, iframe, object').length") == 0
        assert page.value("document.styleSheets.length") == 1
        assert page.value("getComputedStyle(document.body).display") == "block"
        assert "<script>alert(1)</script>" in page.value("document.body.innerText")


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_the_page_does_not_scroll_sideways(tab: Page, width: int) -> None:
    tab.look(width)
    assert tab.value("document.documentElement.scrollWidth") <= width
    # What is too wide scrolls in a frame of its own, and a keyboard gets there.
    assert tab.value("[...document.querySelectorAll('.scroll')].every(e => e.tabIndex === 0)")


def test_paper_holds_every_table(tab: Page) -> None:
    tab.look(794 - 106, media="print")  # A4 at 96 dpi less its margins
    wide = "[...document.querySelectorAll('table')].filter(e => e.scrollWidth > innerWidth).length"
    assert tab.value(wide) == 0
    assert tab.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


CONTRAST = """(() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = parse(c).map(v => { v /= 255;
    return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e)
    .backgroundColor; if (c !== 'rgba(0, 0, 0, 0)') return c; } return 'rgb(255, 255, 255)'; };
  let least = 21, seen = 0;
  for (const e of document.querySelectorAll('body *:not(svg *)')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const pair = [light(getComputedStyle(e).color), light(ground(e))].sort((a, b) => b - a);
    least = Math.min(least, (pair[0] + .05) / (pair[1] + .05)); seen += 1;
  }
  return [least, seen];
})()"""


@pytest.mark.parametrize(("scheme", "media"), [("light", ""), ("dark", ""), ("dark", "print")])
def test_every_text_can_be_read_as_it_is_painted(tab: Page, scheme: str, media: str) -> None:
    tab.look(1280, scheme, media)
    least, seen_texts = tab.value(CONTRAST)
    assert seen_texts > 100
    assert least >= 4.5


def test_the_two_schemes_differ(tab: Page) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        tab.look(1280, scheme)
        grounds.append(tab.value("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(250, 250, 247)", "rgb(16, 20, 24)"]


def test_plots_and_tables_are_told_to_who_does_not_see_them(tab: Page) -> None:
    nodes = tab.ask("Accessibility.getFullAXTree")["nodes"]
    roles: dict[str, list[dict[str, str]]] = {}
    for node in nodes:
        if node.get("ignored"):
            continue
        named = {key: node.get(key, {}).get("value", "") for key in ("name", "description")}
        roles.setdefault(node["role"]["value"], []).append(named)
    images = [one for role in ("img", "image") for one in roles.get(role, [])]
    assert {one["name"] for one in images} == {
        "Attempts by episode", "pass^k by k", "Cost per success", "Latency of the attempts",
    }  # fmt: skip
    assert all(one["description"] for one in images)
    assert all(one["name"] for one in roles["table"])
    assert roles["columnheader"]
    assert roles["rowheader"]
    assert len(roles["main"]) == 1


def test_it_prints(tab: Page) -> None:
    tab.look(1280)
    printed = tab.pdf()
    assert printed.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 2


def test_a_picture_can_be_taken(tab: Page) -> None:
    tab.look(1280, "dark")
    assert tab.picture().startswith(b"\x89PNG")
