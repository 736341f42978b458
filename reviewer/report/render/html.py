"""A report as one HTML page: no script, no request, everything from a trace escaped.

The page is self-contained: it includes styles and drawings, and its content security policy allows
nothing to be loaded. The same report gives the same bytes. Two palettes, print and narrow screens
are served; no font and no image is fetched. Every color of text has a contrast of 4.5:1 or more on
each background it is drawn on (WCAG 2.2, 1.4.3); a test computes it.
"""

from html import escape

from reviewer.report.formatting import GLYPHS, OF_RECOMMENDATION, MarkedText, Name, marked, place
from reviewer.report.model import ReasonSection, Report
from reviewer.report.page import GRID, finding_of, page
from reviewer.report.page.figures import FIGURES, key_figures
from reviewer.report.page_parts import NOTHING, Excerpt, Section, ShownEvent, Supplement, Terms
from reviewer.report.render.plots import cost_plot, latency_plot, pass_hat_plot, plain, strip_plot
from reviewer.trace.safetext import visible

LIGHT = {
    "page": "#fafaf7",
    "panel": "#f0efe9",
    "text": "#1b1f24",
    "quiet": "#545d67",
    "line": "#c9c9c1",
    "link": "#005c91",
    "pass": "#00694d",
    "fail": "#a84200",
    "critical": "#a84200",
    "not_measured": "#545d67",
    "infra": "#8e3f70",
    "missing": "#545d67",
    "quarantined": "#775200",
    "data": "#005c91",
}
DARK = {
    "page": "#101418",
    "panel": "#1a2027",
    "text": "#d8dee4",
    "quiet": "#9aa4ae",
    "line": "#3a434d",
    "link": "#56b4e9",
    "pass": "#3fb68b",
    "fail": "#ff7a33",
    "critical": "#ff7a33",
    "not_measured": "#9aa4ae",
    "infra": "#d98cb8",
    "missing": "#9aa4ae",
    "quarantined": "#e69f00",
    "data": "#56b4e9",
}
BACKGROUNDS = ("page", "panel")
NOT_TEXT = ("line",)
"""Rules and frames, which convey nothing that is not also written."""
INVERSE = ("page", "critical")
"""A critical verdict: the page's color on the verdict's color."""

_MARKS = ("pass", "fail", "not_measured", "infra", "missing", "quarantined")


def _variables(palette: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in palette.items())


STYLE = (
    f":root{{color-scheme:light dark;{_variables(LIGHT)}}}\n"
    f"@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}\n"
    f"@media print{{:root{{color-scheme:light;{_variables(LIGHT)}}}}}\n"
    + "".join(f".{mark}{{color:var(--{mark})}}\n" for mark in _MARKS)
    + """\
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--text);
background:var(--page);max-width:76rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem;line-height:1.25;margin:.25rem 0 .75rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2.75rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:0;display:inline;overflow-wrap:anywhere}
p{margin:.5rem 0;max-width:46rem}
a{color:var(--link)}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--link);
outline-offset:2px}
code,pre{font:.875em/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
overflow-wrap:anywhere}
pre{white-space:pre-wrap;margin:0;background:var(--panel);padding:.5rem .75rem;border-radius:4px}
.fail,.quarantined{font-weight:600}
.critical{color:var(--page);background:var(--critical);font-weight:600;padding:0 .3em;
border-radius:3px}
.quiet,figcaption,.terms dd{color:var(--quiet)}
.away{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
header{border-left:.5rem solid var(--quiet);padding-left:1rem}
header.promote{border-color:var(--pass)}
header.block,header.repair{border-color:var(--fail)}
.reasons{padding-left:1.4rem;margin:.75rem 0}
.reasons li{margin:.4rem 0}
.key{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.75rem;
margin:1.5rem 0 1rem}
.key div{background:var(--panel);border-radius:6px;padding:.6rem .8rem}
.key dt{color:var(--quiet);font-size:.85rem}
.key dd{margin:0;font-size:.85rem}
.key dd.value{font-size:1.35rem;font-weight:600;line-height:1.3;overflow-wrap:anywhere}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;list-style:none;padding:0;margin:1rem 0 0;
font-size:.9rem}
.scroll{overflow-x:auto}
td>span{white-space:nowrap}
table{border-collapse:collapse;width:100%;font-size:.925rem}
th,td{border-bottom:1px solid var(--line);padding:.35rem .75rem .35rem 0;text-align:left;
vertical-align:top;font-weight:400}
thead th{font-weight:600;color:var(--quiet);vertical-align:bottom}
td,tbody th{overflow-wrap:break-word;min-width:3.5rem}
td:has(code),tbody th:has(code){min-width:11rem}
.grid tbody th,.facts td{min-width:0}
.grid{font-size:.85rem}
.grid td,.grid thead th{white-space:nowrap}
.grid tbody th{white-space:nowrap;max-width:18rem;overflow-wrap:anywhere}
.terms{margin:1rem 0;font-size:.9rem;columns:30rem;column-gap:2.5rem}
.terms dt{font-weight:600;margin-top:.6rem;break-after:avoid}
.terms dd{margin:0;max-width:52rem;break-inside:avoid}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1.5rem;
margin:1.5rem 0}
figure{margin:0;max-width:28rem}
figcaption{font-size:.85rem;margin-top:.25rem}
svg{display:block;width:100%;height:auto;font:12px system-ui,sans-serif}
svg text{fill:var(--text)}
svg .quiet{fill:var(--quiet)}
svg .rule{stroke:var(--line);fill:none}
svg .axis{stroke:var(--quiet);fill:none}
svg .policy{stroke:var(--fail);stroke-dasharray:5 3;fill:none}
svg .data{stroke:var(--data);fill:var(--data)}
svg .span{stroke:var(--data);stroke-width:2;fill:none}
svg text.policy{fill:var(--fail);stroke:none}
svg rect.box{fill:none;stroke:var(--line)}
svg rect.critical{fill:var(--critical)}
"""
    + "".join(f"svg text.{mark}{{fill:var(--{mark})}}\n" for mark in _MARKS)
    + """\
svg text.critical{fill:var(--page)}
details{margin:.75rem 0}
summary{cursor:pointer}
article{border:1px solid var(--line);border-radius:6px;padding:.75rem 1rem;margin:1rem 0}
article ul{margin:.5rem 0;padding-left:1.2rem}
.events{list-style:none;padding:0;margin:.75rem 0 0}
.events>li{border-left:3px solid var(--line);padding:.1rem 0 .1rem .75rem;margin:.6rem 0}
.events>li.broken{border-left-color:var(--fail)}
.events p{margin:0;overflow-wrap:anywhere}
.events dl{margin:.25rem 0;display:grid;grid-template-columns:6.5rem 1fr;
gap:.25rem .75rem;font-size:.9rem}
.events dt{color:var(--quiet)}
.events dd{margin:0;min-width:0}
@media (max-width:40rem){body{padding:1rem .75rem 3rem}h1{font-size:1.3rem}
.events dl{grid-template-columns:1fr}table{font-size:.85rem}
.facts th,.facts td{display:block;border:0;padding:0}.facts tr{display:block;padding:.35rem 0;
border-bottom:1px solid var(--line)}.facts th{color:var(--quiet)}}
@page{size:A4;margin:14mm}
@media print{html{font-size:10pt}nav{display:none}
body{background:#fff;font-size:1rem;max-width:none;padding:0}
h2{margin-top:1.2rem;break-after:avoid}h3,summary{break-after:avoid}
tr,figure,.key div,.events>li{break-inside:avoid}thead{display:table-header-group}
.scroll{overflow:visible}table{font-size:8.5pt}.grid{font-size:6.5pt}
.grid td,.grid thead th,.grid tbody th{white-space:normal;padding-right:.3rem}
td,tbody th,td:has(code),tbody th:has(code){min-width:0}td,th:has(code){overflow-wrap:anywhere}
.key{grid-template-columns:repeat(5,1fr)}.plots{grid-template-columns:1fr 1fr}
.key div,pre{background:none;border:1px solid var(--line)}
.critical{color:var(--critical);background:none;border:1.5px solid currentColor}
svg rect.critical{fill:none;stroke:var(--critical);stroke-width:2}
svg text.critical{fill:var(--critical)}
details::details-content{content-visibility:visible;block-size:auto}
summary{list-style:none}a{color:inherit;text-decoration:none}}
"""
)

OPENED = 3
"""Failing traces whose events are unfolded."""


def render_html(report: Report, beside: Supplement = NOTHING) -> str:
    """Return the whole report as a self-contained page."""
    first, *parts = page(report, beside)
    names = {id(part): f"s{n}" for n, part in enumerate(parts, start=1)}
    anchors = {part.excerpt.trace_id: names[id(part)] for part in parts if part.excerpt is not None}
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{plain(first.title)}</title>",
            f"<style>\n{STYLE}</style>",
            "</head>",
            "<body>",
            *_header(report, first, anchors),
            *_contents(parts, names),
            "<main>",
            *_sections(report, beside, parts, names),
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _header(report: Report, first: Section, anchors: dict[str, str]) -> list[str]:
    probe = report.suite.probe
    word = "hold" if probe else str(report.recommendation)
    sign = GLYPHS[OF_RECOMMENDATION.get(word, "not_measured")]
    parts = [
        f'<header class="{plain(word)}">',
        f"<h1>{sign} {plain(first.title)}</h1>",
        *(f"<p>{_cell(line)}</p>" for line in first.lines),
    ]
    if report.reason_details:
        parts.append('<ol class="reasons">')
        parts += [_reason(reason, anchors) for reason in report.reason_details]
        parts.append("</ol>")
    if first.items:
        parts += ["<ul>", *(f"<li>{_cell(item)}</li>" for item in first.items), "</ul>"]
    parts += ["</header>", '<dl class="key">']
    for name, value, of, mark in key_figures(report):
        said = f"<dd>{_cell(marked(mark))}</dd>" if mark else ""
        parts.append(
            f'<div><dt>{plain(name)}</dt><dd class="value">{plain(value)}</dd>'
            f'<dd class="quiet">{plain(of)}</dd>{said}</div>'
        )
    return [*parts, "</dl>"]


def _reason(reason: ReasonSection, anchors: dict[str, str]) -> str:
    said = f"<strong>{plain(reason.text)}</strong>"
    if reason.observed:
        said += f": {plain(reason.observed)}"
    if reason.policy:
        said += f", policy {plain(reason.policy)}"
    if reason.evidence:
        ref = reason.evidence[0]
        where = _cell(Name(place(ref)))
        anchor = anchors.get(ref.trace_id)
        said += "; first at " + (f'<a href="#{anchor}">{where}</a>' if anchor else where)
    return f"<li>{said}</li>"


def _contents(parts: list[Section], names: dict[int, str]) -> list[str]:
    links = (
        f'<li><a href="#{names[id(part)]}">{plain(part.title)}</a></li>'
        for part in parts
        if part.level == 2
    )
    return ['<nav aria-label="Contents"><ul>', *links, "</ul></nav>"]


def _sections(
    report: Report, beside: Supplement, parts: list[Section], names: dict[int, str]
) -> list[str]:
    """Return a section per heading of the second level; excerpts are within the section before
    them."""
    made: list[str] = []
    opened = shown = 0
    for part in parts:
        name = names[id(part)]
        if part.excerpt is not None:
            shown += 1
            made += _excerpt(part, part.excerpt, name, shown <= OPENED)
            continue
        if opened:
            made.append("</section>")
        opened += 1
        made += [
            f'<section aria-labelledby="{name}">',
            f'<h2 id="{name}">{_cell(part.title)}</h2>',
        ]
        made += _body(part)
        made += _drawn(part.title, report, beside)
        made += _terms(part.terms)
    return [*made, "</section>"] if opened else made


def _drawn(title: str, report: Report, beside: Supplement) -> list[str]:
    plots: list[str] = []
    if title == GRID:
        plots = strip_plot(beside.rows)
    elif title == FIGURES:
        plots = [*pass_hat_plot(report), *cost_plot(report), *latency_plot(report)]
    return ['<div class="plots">', *plots, "</div>"] if plots else []


FOLDED = 40
"""Rows from which a table is folded until the reader opens it."""


def _body(section: Section) -> list[str]:
    """Return everything of a section except its title."""
    parts = [f"<p>{_cell(line)}</p>" for line in section.lines]
    if section.code:
        parts.append(
            "<pre><code>" + "\n".join(plain(line) for line in section.code) + "</code></pre>"
        )
    if section.rows:
        table = _table(section)
        if len(section.rows) > FOLDED:
            said = f"{len(section.rows)} rows: {plain(section.title)}"
            table = [f"<details><summary>{said}</summary>", *table, "</details>"]
        parts += table
    if section.items:
        parts += ["<ul>", *(f"<li>{_cell(item)}</li>" for item in section.items), "</ul>"]
    return parts


def _table(section: Section) -> list[str]:
    """Return a table in a frame that scrolls by itself, also by keyboard; its first column names
    rows."""
    title, headed = plain(section.title), any(section.head)
    kind = "grid" if section.title == GRID else "plain" if headed else "facts"
    parts = [f'<div class="scroll" role="region" tabindex="0" aria-label="{title}">']
    parts += [f'<table class="{kind}">', f'<caption class="away">{title}</caption>']
    if headed:
        heads = "".join(f'<th scope="col">{_cell(head)}</th>' for head in section.head)
        parts.append(f"<thead><tr>{heads}</tr></thead>")
    parts.append("<tbody>")
    for first, *rest in section.rows:
        cells = "".join(f"<td>{_cell(text)}</td>" for text in rest)
        parts.append(f'<tr><th scope="row">{_cell(first)}</th>{cells}</tr>')
    return [*parts, "</tbody></table></div>"]


def _terms(found: Terms) -> list[str]:
    """Return the explanations of the figures above, as terms and their sentences."""
    if not found:
        return []
    pairs = (f"<dt>{_cell(term)}</dt><dd>{_cell(said)}</dd>" for term, said in found)
    return ['<dl class="terms">', *pairs, "</dl>"]


def _excerpt(part: Section, one: Excerpt, name: str, opened: bool) -> list[str]:
    """Return the events of a failing trace, folded behind its id; `name` is an id in this page."""
    head = f"{_cell(marked(one.mark))} <h3>{_cell(part.title)}</h3>"
    parts = [f'<article id="{name}"><details{" open" if opened else ""}>']
    parts += [f"<summary>{head}</summary>"]
    parts += [f"<p>{_cell(line)}</p>" for line in part.lines]
    parts += ["<ul>", *(f"<li>{_cell(item)}</li>" for item in part.items), "</ul>"]
    if one.events:
        parts.append('<ol class="events">')
        before = 0
        for event in one.events:
            if gap := event.seq - before - 1:
                noun = "event" if gap == 1 else "events"
                parts.append(f'<li class="quiet">… {gap} {noun} not shown</li>')
            before = event.seq
            parts += _event(event)
        parts.append("</ol>")
    return [*parts, "</details></article>"]


def _event(event: ShownEvent) -> list[str]:
    broken = ' class="broken"' if event.mark else ""
    said = f"event {event.seq} {plain(event.kind)}"
    if event.title:
        said += f" <code>{plain(event.title)}</code>"
    if event.status:
        said += f" {plain(event.status)}"
    if event.mark:
        said += f" {_cell(finding_of(event))}"
    parts = [f"<li{broken}><p>{said}</p>"]
    if event.parts:
        parts.append("<dl>")
        for field, text in event.parts:
            parts.append(f"<dt>{plain(field)}</dt><dd><pre>{_lines(text)}</pre></dd>")
        parts.append("</dl>")
    return [*parts, "</li>"]


def _lines(text: str) -> str:
    """Return several lines, for a `<pre>`."""
    return escape(visible(text))


def _cell(text: str) -> str:
    """Return one line, an identifier as code, a verdict in its color next to sign and word."""
    safe = plain(text)
    if isinstance(text, MarkedText):
        return f'<span class="{text.mark}">{safe}</span>'
    return f"<code>{safe}</code>" if isinstance(text, Name) else safe
