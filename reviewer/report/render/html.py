"""A report as one HTML page: no script, no request, everything from a trace escaped.

It is self-contained: styles and drawings are in it, and its policy lets nothing be loaded. The same
report gives the same bytes.
"""

from html import escape

from reviewer.report.beside import NOTHING, Beside, Excerpt, ShownEvent
from reviewer.report.model import ReasonSection, Report
from reviewer.report.page import GRID, finding_of, page
from reviewer.report.page.figures import FIGURES, key_figures
from reviewer.report.page.section import Section, Terms
from reviewer.report.render.plots import cost_plot, latency_plot, pass_hat_plot, plain, strip_plot
from reviewer.report.render.style import STYLE
from reviewer.report.words import GLYPHS, OF_RECOMMENDATION, Marked, Name, marked, place
from reviewer.trace.safetext import visible

OPENED = 3
"""Failing traces whose events stand open."""


def render_html(report: Report, beside: Beside = NOTHING) -> str:
    """The whole report as a self-contained page."""
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
    said = f"<strong>{plain(reason.text)}</strong>: {plain(reason.observed)}"
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
    report: Report, beside: Beside, parts: list[Section], names: dict[int, str]
) -> list[str]:
    """A section per heading of the second level; excerpts stand within the one before them."""
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


def _drawn(title: str, report: Report, beside: Beside) -> list[str]:
    plots: list[str] = []
    if title == GRID:
        plots = strip_plot(beside.rows)
    elif title == FIGURES:
        plots = [*pass_hat_plot(report), *cost_plot(report), *latency_plot(report)]
    return ['<div class="plots">', *plots, "</div>"] if plots else []


FOLDED = 40
"""Rows from which a table is folded away, to be opened by who wants it."""


def _body(section: Section) -> list[str]:
    """Everything of a block but its title."""
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
    """A table in a frame that scrolls by itself, also by keyboard; its first column names rows."""
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
    """What the figures above mean, as terms and their sentences."""
    if not found:
        return []
    pairs = (f"<dt>{_cell(term)}</dt><dd>{_cell(said)}</dd>" for term, said in found)
    return ['<dl class="terms">', *pairs, "</dl>"]


def _excerpt(part: Section, one: Excerpt, name: str, opened: bool) -> list[str]:
    """The events of a failing trace, folded behind its id; `name` is an id in this page."""
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
    """Several lines, for a `<pre>`."""
    return escape(visible(text))


def _cell(text: str) -> str:
    """One line, an identifier as code, a verdict in its color beside sign and word."""
    safe = plain(text)
    if isinstance(text, Marked):
        return f'<span class="{text.mark}">{safe}</span>'
    return f"<code>{safe}</code>" if isinstance(text, Name) else safe
