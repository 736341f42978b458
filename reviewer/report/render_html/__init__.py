"""A report as one HTML page: no script, no request, everything from a trace escaped.

It stands alone: styles and drawings are in it, and its policy lets nothing be loaded. The same
report gives the same bytes.
"""

from typing import Any

from reviewer.report.beside import NOTHING, Beside
from reviewer.report.document import FIGURES, GRID, Part, document
from reviewer.report.key_figures import key_figures
from reviewer.report.marks import GLYPHS, OF_RECOMMENDATION, marked
from reviewer.report.render_html.blocks import body, excerpt, terms
from reviewer.report.render_html.plots import cost_plot, latency_plot, pass_hat_plot, strip_plot
from reviewer.report.render_html.style import STYLE
from reviewer.report.render_html.text import cell, plain
from reviewer.report.words import Name, place

__all__ = ["render_html"]

OPENED = 3
"""Failing traces whose events stand open."""


def render_html(report: dict[str, Any], beside: Beside = NOTHING) -> str:
    """The whole report as a self-contained page."""
    first, *parts = document(report, beside)
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
            f"<title>{plain(first.block.title)}</title>",
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


def _header(report: dict[str, Any], first: Part, anchors: dict[str, str]) -> list[str]:
    probe = report["suite"]["probe"]
    word = "hold" if probe else str(report["recommendation"])
    sign = GLYPHS[OF_RECOMMENDATION.get(word, "not_measured")]
    parts = [
        f'<header class="{plain(word)}">',
        f"<h1>{sign} {plain(first.block.title)}</h1>",
        *(f"<p>{cell(line)}</p>" for line in first.block.lines),
    ]
    if report["reason_details"]:
        parts.append('<ol class="reasons">')
        parts += [_reason(reason, anchors) for reason in report["reason_details"]]
        parts.append("</ol>")
    if first.block.items:
        parts += ["<ul>", *(f"<li>{cell(item)}</li>" for item in first.block.items), "</ul>"]
    parts += ["</header>", '<dl class="key">']
    for name, value, of, mark in key_figures(report):
        said = f"<dd>{cell(marked(mark))}</dd>" if mark else ""
        parts.append(
            f'<div><dt>{plain(name)}</dt><dd class="value">{plain(value)}</dd>'
            f'<dd class="quiet">{plain(of)}</dd>{said}</div>'
        )
    return [*parts, "</dl>"]


def _reason(reason: dict[str, Any], anchors: dict[str, str]) -> str:
    said = f"<strong>{plain(reason['text'])}</strong>: {plain(reason['observed'])}"
    if reason["policy"]:
        said += f", policy {plain(reason['policy'])}"
    if reason["evidence"]:
        ref = reason["evidence"][0]
        where = cell(Name(place(ref)))
        anchor = anchors.get(ref["trace_id"])
        said += "; first at " + (f'<a href="#{anchor}">{where}</a>' if anchor else where)
    return f"<li>{said}</li>"


def _contents(parts: list[Part], names: dict[int, str]) -> list[str]:
    links = (
        f'<li><a href="#{names[id(part)]}">{plain(part.block.title)}</a></li>'
        for part in parts
        if part.level == 2
    )
    return ['<nav aria-label="Contents"><ul>', *links, "</ul></nav>"]


def _sections(
    report: dict[str, Any], beside: Beside, parts: list[Part], names: dict[int, str]
) -> list[str]:
    """A section per heading of the second level; excerpts stand within the one before them."""
    made: list[str] = []
    opened = shown = 0
    for part in parts:
        name = names[id(part)]
        if part.excerpt is not None:
            shown += 1
            made += excerpt(part, part.excerpt, name, shown <= OPENED)
            continue
        if opened:
            made.append("</section>")
        opened += 1
        made += [
            f'<section aria-labelledby="{name}">',
            f'<h2 id="{name}">{cell(part.block.title)}</h2>',
        ]
        made += body(part.block)
        made += _drawn(part.block.title, report, beside)
        made += terms(part.terms)
    return [*made, "</section>"] if opened else made


def _drawn(title: str, report: dict[str, Any], beside: Beside) -> list[str]:
    plots: list[str] = []
    if title == GRID:
        plots = strip_plot(beside.rows)
    elif title == FIGURES:
        plots = [*pass_hat_plot(report), *cost_plot(report), *latency_plot(report)]
    return ['<div class="plots">', *plots, "</div>"] if plots else []
