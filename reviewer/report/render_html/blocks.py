"""The parts of a page as elements: tables that can be read aloud, lists, commands, terms."""

from reviewer.report.beside import Excerpt, ShownEvent
from reviewer.report.block import Block
from reviewer.report.document import GRID, Part, finding_of
from reviewer.report.explained import Terms
from reviewer.report.marks import marked
from reviewer.report.render_html.text import cell, lines, plain

FOLDED = 40
"""Rows from which a table is folded away, to be opened by who wants it."""


def body(block: Block) -> list[str]:
    """Everything of a block but its title."""
    parts = [f"<p>{cell(line)}</p>" for line in block.lines]
    if block.code:
        parts.append(
            "<pre><code>" + "\n".join(plain(line) for line in block.code) + "</code></pre>"
        )
    if block.rows:
        table = _table(block)
        if len(block.rows) > FOLDED:
            said = f"{len(block.rows)} rows: {plain(block.title)}"
            table = [f"<details><summary>{said}</summary>", *table, "</details>"]
        parts += table
    if block.items:
        parts += ["<ul>", *(f"<li>{cell(item)}</li>" for item in block.items), "</ul>"]
    return parts


def _table(block: Block) -> list[str]:
    """A table in a frame that scrolls by itself, also by keyboard; its first column names rows."""
    title, headed = plain(block.title), any(block.head)
    kind = "grid" if block.title == GRID else "plain" if headed else "facts"
    parts = [f'<div class="scroll" role="region" tabindex="0" aria-label="{title}">']
    parts += [f'<table class="{kind}">', f'<caption class="away">{title}</caption>']
    if headed:
        heads = "".join(f'<th scope="col">{cell(head)}</th>' for head in block.head)
        parts.append(f"<thead><tr>{heads}</tr></thead>")
    parts.append("<tbody>")
    for first, *rest in block.rows:
        cells = "".join(f"<td>{cell(text)}</td>" for text in rest)
        parts.append(f'<tr><th scope="row">{cell(first)}</th>{cells}</tr>')
    return [*parts, "</tbody></table></div>"]


def terms(found: Terms) -> list[str]:
    """What the figures above mean, as terms and their sentences."""
    if not found:
        return []
    pairs = (f"<dt>{cell(term)}</dt><dd>{cell(said)}</dd>" for term, said in found)
    return ['<dl class="terms">', *pairs, "</dl>"]


def excerpt(part: Part, one: Excerpt, name: str, opened: bool) -> list[str]:
    """The events of a failing trace, folded behind its id; `name` is an id in this page."""
    head = f"{cell(marked(one.mark))} <h3>{cell(part.block.title)}</h3>"
    parts = [f'<article id="{name}"><details{" open" if opened else ""}>']
    parts += [f"<summary>{head}</summary>"]
    parts += [f"<p>{cell(line)}</p>" for line in part.block.lines]
    parts += ["<ul>", *(f"<li>{cell(item)}</li>" for item in part.block.items), "</ul>"]
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
        said += f" {cell(finding_of(event))}"
    parts = [f"<li{broken}><p>{said}</p>"]
    if event.parts:
        parts.append("<dl>")
        for field, text in event.parts:
            parts.append(f"<dt>{plain(field)}</dt><dd><pre>{lines(text)}</pre></dd>")
        parts.append("</dl>")
    return [*parts, "</li>"]
