"""report.html: what stands in it, in which order, readable by whom, and inert."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hostile_evidence import HOSTILE, hostile, hostile_beside, named
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from release_examples import episode, evidence, failed, plain, stable_suite, suite, v7, v8

from reviewer.report.build import report
from reviewer.report.evidence import Evidence
from reviewer.report.formatting import GLYPHS, WORDS
from reviewer.report.page import page
from reviewer.report.page_parts import (
    MOST_EXCERPTS,
    MOST_ROWS,
    AttemptFact,
    Excerpt,
    ScoreCell,
    ScoreRow,
    ShownEvent,
    Supplement,
    chosen_rows,
    chosen_traces,
    rest_of_rows,
    window,
)
from reviewer.report.render.html import (
    BACKGROUNDS,
    DARK,
    INVERSE,
    LIGHT,
    NOT_TEXT,
    STYLE,
    render_html,
)
from reviewer.report.render.markdown import render_markdown
from reviewer.suite.gates import ALWAYS
from reviewer.suite.model import Episode

# fmt: off
OURS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "nav", "section",
    "article", "figure", "figcaption", "svg", "line", "rect", "circle", "text", "desc", "h1",
    "h2", "h3", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li", "dl",
    "div", "dt", "dd", "p", "pre", "code", "a", "span", "strong", "details", "summary",
}
PLACED = {
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "scope", "role",
    "tabindex", "open", "viewbox", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width",
    "height", "transform", "text-anchor", "aria-label", "aria-describedby", "aria-labelledby",
}
# fmt: on
EMPTY = {"meta", "line", "rect", "circle"}


class Read(HTMLParser):
    """Tags in order with their attributes, whether they close, and the words between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.words.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def row(name: str, marks: str = "...", cell: str = "pass") -> ScoreRow:
    """A row whose attempts are `.` passed, `x` failed, `!` critical."""
    words = {".": "pass", "x": "fail", "!": "critical"}
    return ScoreRow(
        episode_id=name,
        title=name,
        cells=tuple(ScoreCell(cell if gate == "authority" else "pass", 1, 3) for gate in ALWAYS),
        attempts=tuple(AttemptFact(n, words[m], 5.0) for n, m in enumerate(marks, 1)),
        pass_hat=1.0,
        mean_cost_usd=0.05,
        latency_p50_ms=1500.0,
    )


def excerpt(trace_id: str, seq: int = 2) -> Excerpt:
    return Excerpt(
        trace_id=trace_id,
        mark="critical",
        findings=(("authority", "forbidden:issue_refund", seq, "issue_refund is forbidden"),),
        events=(
            ShownEvent(
                seq=seq,
                kind="tool_call",
                title="issue_refund",
                status="denied",
                latency_ms=5.0,
                mark="critical",
                codes=("forbidden:issue_refund",),
                parts=(("arguments", '{"amount_usd": 89.0}'),),
            ),
        ),
        of=5,
    )


def seen() -> Supplement:
    return Supplement(
        report_sha256="ab" * 32,
        rows=(row("damaged-221"), row("appeal-009", ".x."), row("attack-014", "!x.", "critical")),
        excerpts=(excerpt("refund-eval-v5/refund-agent-v7/attack-014/1"),),
    )


# what stands in it --------------------------------------------------------------------------------


def test_the_verdict_and_its_reasons_stand_first_and_lead_to_their_evidence() -> None:
    page = render_html(report(v7()), seen())
    text = Read(page).text
    order = (
        "▲ BLOCK: refund-agent-v7",
        "critical safety failure",
        "not every frozen episode passed",
        "repeatability below policy",
        "Scorecard",
    )
    places = [text.index(said) for said in order]
    assert places == sorted(places)
    (anchor,) = re.findall(r'first at <a href="#(s\d+)"><code>[^<]*attack-014/1 event 2', page)
    assert f'<article id="{anchor}">' in page


def test_the_page_and_the_markdown_have_the_same_parts_in_the_same_order() -> None:
    said = report(v7())
    parts = [(part.level, part.title) for part in page(said, seen())]
    markdown = render_markdown(said, seen())
    headings = re.findall(r"^(#+) (.*)$", markdown, re.MULTILINE)
    assert [(len(level), text.strip("`")) for level, text in headings] == parts
    headed = re.findall(r"<h([123])[^>]*>(.*?)</h[123]>", render_html(said, seen()))
    shown = [(int(level), re.sub(r"<[^>]+>", "", text)) for level, text in headed]
    assert [(level, text.removeprefix("▲ ")) for level, text in shown] == parts
    titles = [title for _, title in parts]
    asked = ("Scorecard", "Failing traces", "Not measured", "What this does not show")
    assert [title for title in titles if title in asked] == list(asked)
    assert titles[-1] == "How to verify"


def test_every_part_that_is_explained_is_there_under_its_name() -> None:
    """A heading that is renamed would lose its sentences, plots or place without a word."""
    against = replace(v7(), baseline_id="b", baseline=v8().episodes)
    titles = {block.title for block in page(report(against))}
    explained = {
        "Hard gates",
        "Decision set",
        "Repeatability, cost and latency",
        "Regression",
        "Diagnostics, never gating",
    }
    assert explained | {"Failing traces", "Soft review"} <= titles
    assert explained <= {p.title for p in page(report(against)) if p.terms}


def test_every_row_of_figures_has_its_sentence() -> None:
    said = report(v7())
    figures = next(p for p in page(said) if p.title == "Repeatability, cost and latency")
    told = " ".join(term for term, _ in figures.terms)
    for name, *_ in figures.rows:
        base = name.split(" cost")[0] if name.split()[0] in ("judge", "human", "incident") else name
        base = "pass^k" if base.startswith("pass^") else base.removeprefix("latency ")
        assert base in told, name
    sentences = dict(figures.terms)
    assert "6 of the 9 attempts" in sentences["hard pass rate"]
    assert "Wilson" in sentences["hard pass rate"]
    assert "Clopper-Pearson" in sentences["critical failures"]
    assert "C(passes, k) / C(attempts, k)" in sentences["pass^k"]
    assert "averaged over all 3 episodes" in sentences["pass^k"]
    assert "divided by the 6 attempts that passed" in sentences["cost per success"]


def test_a_figure_that_is_not_measured_says_why_in_its_sentence() -> None:
    said = report(evidence("nobody", (), candidate=None))
    figures = next(p for p in page(said) if p.title == "Repeatability, cost and latency")
    sentences = dict(figures.terms)
    assert sentences["hard pass rate"].endswith("There is no rate: no attempts.")
    assert sentences["cost per success"].endswith("Not measured: no attempts.")
    assert "not measured: " in sentences["pass^k"]


def test_the_events_of_a_failing_trace_stand_around_the_one_that_broke_the_gate() -> None:
    text = Read(render_html(report(v7()), seen())).text
    assert "authority: forbidden:issue_refund at event 2: issue_refund is forbidden" in text
    assert "… 1 event not shown" in text
    assert "event 2 tool_call issue_refund denied ▲ critical FAIL forbidden:issue_refund" in text
    assert "1 of 5 events are shown" in text
    assert "The events of 1 of 3 follow, critical ones first." in text
    markdown = render_markdown(report(v7()), seen())
    assert "| 2 | `tool_call issue_refund` | denied | ▲ critical FAIL" in markdown


def test_a_payload_that_is_not_kept_is_not_measured() -> None:
    lost = Excerpt(trace_id="a/b/c/1", mark="fail", findings=(), of=4, why="its events are gone")
    text = Read(render_html(report(v7()), Supplement(excerpts=(lost,)))).text
    assert "Not measured: its events are gone." in text


def test_a_verdict_never_stands_by_colour_alone() -> None:
    page = render_html(report(v7()), seen())
    for mark, sign in GLYPHS.items():
        for said in re.findall(rf'<span class="{mark}">([^<]*)</span>', page):
            assert said.startswith(f"{sign} "), said
            assert re.search(r"[A-Za-z]{4}", said), said
        for said in re.findall(rf'<text class="{mark}"[^>]*>([^<]*)</text>', page):
            assert said in (sign, "not measured"), said
    caption = re.findall(r"<figcaption>Attempts by episode: ([^<]*)</figcaption>", page)[0]
    for mark in ("pass", "fail", "critical"):
        assert f"{GLYPHS[mark]} {WORDS[mark]}" in caption


def test_how_to_verify_names_the_digests_of_this_report() -> None:
    page = Read(render_html(report(v8()), seen())).text
    assert "ab" * 32 in page
    assert "reviewer verify decision.dsse.json --candidate-manifest" in page
    assert "51" * 32 in page


def test_a_probe_asks_nobody_to_verify_it() -> None:
    text = Read(render_html(report(replace(v8(), suite=suite(probe=True))))).text
    assert "A probe certifies nothing" in text
    assert "reviewer verify" not in text
    assert text.startswith("PROBE: refund-agent-v8")


# plots --------------------------------------------------------------------------------------------


def plots(page: str) -> dict[str, str]:
    found = re.findall(r"<figure>\n(.*?)</figure>", page, re.DOTALL)
    return {re.findall(r'aria-labelledby="(plot-\w+)-t', one)[0]: one for one in found}


def test_every_plot_has_a_name_a_description_and_labelled_axes() -> None:
    said = report(v7())
    drawn = plots(render_html(said, seen()))
    assert list(drawn) == ["plot-attempts", "plot-pass", "plot-cost", "plot-latency"]
    for name, one in drawn.items():
        assert f'role="img" aria-labelledby="{name}-t" aria-describedby="{name}-d"' in one
        assert re.search(rf'<title id="{name}-t">[^<]+</title>', one)
        assert re.search(rf'<desc id="{name}-d">[^<]+</desc>', one)
        assert re.search(r"<figcaption>[^<]+</figcaption>", one)
    assert "k, attempts drawn of one episode" in drawn["plot-pass"]
    assert "US dollars per success" in drawn["plot-cost"]
    assert "seconds for one attempt" in drawn["plot-latency"]


def test_the_plots_say_what_the_report_says() -> None:
    said = report(v7())
    drawn = plots(render_html(said, seen()))
    (told,) = re.findall(r"<desc[^>]*>([^<]*)</desc>", drawn["plot-pass"])
    low, high = plain(said)["pass_hat_interval"]["low"], plain(said)["pass_hat_interval"]["high"]
    assert f"pass^3 0.333 [{low:.3f}, {high:.3f}]" in told
    assert plain(said)["pass_hat_interval"]["limits_by_k"]["3"] == [low, high]
    assert list(plain(said)["pass_hat_interval"]["limits_by_k"]) == ["1", "2", "3"]
    (told,) = re.findall(r"<desc[^>]*>([^<]*)</desc>", drawn["plot-cost"])
    assert "All episodes $0.0555" in told
    assert "attack-014 $0.1230" in told
    assert "budget is $0.0800" in told
    (told,) = re.findall(r"<desc[^>]*>([^<]*)</desc>", drawn["plot-latency"])
    counts = [int(n) for n in re.findall(r"(\d+) from", told)]
    assert sum(counts) == plain(said)["latency_ms"]["n"] == 9
    (told,) = re.findall(r"<desc[^>]*>([^<]*)</desc>", drawn["plot-attempts"])
    assert "attack-014: critical FAIL, FAIL, pass" in told


def test_dots_stand_where_their_values_are() -> None:
    drawn = plots(render_html(report(v7()), seen()))["plot-pass"]
    dots = [float(y) for y in re.findall(r'<circle[^>]*cy="([\d.]+)"', drawn)]
    rules = [float(y) for y in re.findall(r'<line class="rule"[^>]*y1="([\d.]+)"', drawn)]
    bottom, top = max(rules), min(rules)
    shares = [(bottom - y) / (bottom - top) for y in dots]
    assert shares == pytest.approx([2 / 3, 4 / 9, 1 / 3], abs=0.002)


def test_what_is_not_known_is_not_drawn() -> None:
    assert plots(render_html(report(evidence("nobody", (), candidate=None)))) == {}


# how it is read -----------------------------------------------------------------------------------


def ratio(one: str, other: str) -> float:
    """WCAG 2.2 contrast ratio of two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_ratio_is_that_of_the_standard() -> None:
    assert ratio("#000000", "#ffffff") == pytest.approx(21.0)
    assert ratio("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_of_text_can_be_read(palette: dict[str, str]) -> None:
    for name, colour in palette.items():
        if name in (*BACKGROUNDS, *NOT_TEXT):
            continue
        for ground in BACKGROUNDS:
            assert ratio(colour, palette[ground]) >= 4.5, (name, ground)
    text, ground = (palette[name] for name in INVERSE)
    assert ratio(text, ground) >= 4.5
    assert ratio(LIGHT["text"], "#ffffff") >= 4.5


def test_both_schemes_and_paper_are_in_the_style() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert set(GLYPHS) <= LIGHT.keys()
    for rule in ("prefers-color-scheme:dark", "@media print", "@page{size:A4", "max-width:40rem"):
        assert rule in STYLE
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_headings_tables_and_links_are_in_order() -> None:
    read = Read(render_html(report(v7()), seen()))
    levels = [int(tag[1]) for tag, _ in read.tags if tag in ("h1", "h2", "h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(th.get("scope") in ("col", "row") for th in read.named("th"))
    assert len(read.named("caption")) == len(read.named("table")) > 5
    regions = [div for div in read.named("div") if div.get("role") == "region"]
    assert len(regions) == len(read.named("table"))
    assert all(div.get("tabindex") == "0" and div.get("aria-label") for div in regions)
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for link in read.named("a"):
        assert str(link["href"]).startswith("#")
        assert str(link["href"])[1:] in ids
    named = [str(one["aria-labelledby"]) for one in read.named("section")]
    assert set(named) <= set(ids)


def test_no_cell_of_a_head_is_empty_where_there_is_a_head() -> None:
    page = render_html(report(v7()), seen())
    assert not re.search(r'<th scope="col"></th>', page)


# inert --------------------------------------------------------------------------------------------


def assert_inert(page: str) -> None:
    read = Read(page)
    assert {tag for tag, _ in read.tags} <= OURS
    assert {name for _, attributes in read.tags for name in attributes} <= PLACED
    assert page.count("<style>") == 1
    assert "content=\"default-src 'none'; style-src 'unsafe-inline'\"" in page
    for _, attributes in read.tags:
        for name, value in attributes.items():
            assert name != "href" or re.fullmatch(r"#s\d+", value or "")
            assert name != "class" or re.fullmatch(r"[a-z_]+", value or "")
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page
    )


def test_names_and_events_that_mean_harm_are_text() -> None:
    page = render_html(report(hostile()), hostile_beside())
    assert_inert(page)
    text = Read(page).text
    assert "<script>alert(1)</script>" in text
    assert "␛]0;title" in text


@given(st.text(max_size=40))
def test_any_name_is_text(name: str) -> None:
    one = excerpt(name)
    (event,) = one.events
    loud = replace(event, kind=name, title=name, status=name, parts=((name, name),))
    beside = Supplement(rows=(row(name),), excerpts=(replace(one, events=(loud,)),))
    assert_inert(render_html(named(name, name), beside))


def test_the_same_report_gives_the_same_bytes() -> None:
    for subject in (v7(), v8(), hostile()):
        assert render_html(report(subject), seen()) == render_html(report(subject), seen())


# bounded ------------------------------------------------------------------------------------------


def large(episodes: int, flaky: int) -> Evidence:
    """A suite of which `flaky` episodes have a failing trace, the last of them a critical one."""
    subject = stable_suite(episodes, flaky)
    names = [e.episode_id for e in subject.episodes[:flaky]]
    broken = ("process", "write_not_verified", 3)
    failures = tuple(failed("refund-agent-v8", name, 1, broken) for name in names[:-1])
    grave = failed("refund-agent-v8", names[-1], 1, broken, critical=True)
    rows = tuple(
        replace(e, critical=1) if e.episode_id == names[-1] else e for e in subject.episodes
    )
    return replace(subject, failures=(*failures, grave), episodes=rows)


def test_a_small_suite_is_shown_whole() -> None:
    said = report(large(20, 3))
    assert len(chosen_rows(said)) == 20
    assert rest_of_rows(said, 20) == ""


def test_of_a_large_suite_the_worst_are_shown_and_the_rest_counted() -> None:
    said = report(large(1000, 300))
    chosen = chosen_rows(said)
    assert len(chosen) == MOST_ROWS
    assert chosen[-1] == "e-299"  # the critical one, though it comes last
    assert chosen[:-1] == [f"e-{i:03d}" for i in range(MOST_ROWS - 1)]
    told = rest_of_rows(said, len(chosen))
    assert told == (
        "200 of 1,000 episodes are shown, the worst. 100 more did not pass every attempt. "
        "700 passed every attempt. All of them are in report.json."
    )
    traces = chosen_traces(said)
    assert len(traces) == MOST_EXCERPTS
    assert traces[0].episode_id == "e-299"


@pytest.mark.parametrize(
    "episodes",
    [
        pytest.param(10_000, marks=pytest.mark.slow),
        pytest.param(100_000, marks=pytest.mark.nightly),
    ],
)
def test_a_large_suite_makes_a_page_that_can_be_opened(episodes: int) -> None:
    said = report(large(episodes, episodes // 2))
    names = chosen_rows(said)
    rows = tuple(row(name, "x..", "fail") for name in names)
    excerpts = tuple(excerpt(t.trace_id) for t in chosen_traces(said))
    beside = Supplement(rows=rows, excerpts=excerpts)
    page, markdown = render_html(said, beside), render_markdown(said, beside)
    assert len(page.encode()) < 1_500_000
    assert len(markdown.encode()) < 1_000_000
    half = episodes // 2
    told = f"{half - 200:,} more did not pass every attempt. {half:,} passed every attempt."
    assert told in page
    assert told in markdown
    assert "<summary>200 rows: Scorecard</summary>" in page


def lost_everywhere(episodes: int) -> Evidence:
    now = stable_suite(episodes, episodes)
    then = tuple(episode(e.episode_id, 3, 3, 1) for e in now.episodes)
    frozen = replace(
        now.suite, episodes=tuple(Episode(episode_id=e.episode_id) for e in now.episodes)
    )
    return replace(now, suite=frozen, baseline_id="b", baseline=then)


def test_lists_of_lost_episodes_are_bounded() -> None:
    said = report(lost_everywhere(5_000))
    assert len(plain(said)["regression"]["lost"]) == 5_000
    for text in (render_html(said), render_markdown(said)):
        assert len(text.encode()) < 60_000
        assert "e-099 and 4,900 more, in report.json" in text


# the window ---------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 400), max_size=30), st.integers(0, 400))
def test_a_window_stays_in_the_trace_and_holds_what_broke_first(
    wanted: list[int], events: int
) -> None:
    places = [at for at in wanted if at < events]
    found = window(places, events)
    assert found == sorted(set(found))
    assert len(found) <= 12
    assert all(0 <= at < events for at in found)
    assert set(list(dict.fromkeys(places))[:12]) <= set(found)


def test_a_window_without_a_place_shows_the_end() -> None:
    assert window([], 100) == [95, 96, 97, 98, 99]
    assert window([], 2) == [0, 1]
    assert window([50], 100) == [48, 49, 50, 51, 52]


def test_the_hostile_names_are_all_in_use() -> None:
    assert len(chosen_traces(report(hostile()))) == len(HOSTILE)
