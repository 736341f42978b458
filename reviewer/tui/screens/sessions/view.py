"""Sessions in lines: by project, with a box each; the text about one, and the results of
imports."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from reviewer.trace.safetext import visible_line
from reviewer.tui.views.jobs import IMPORTING, file_lines, import_ended
from reviewer.tui.widgets.lines import Line, Span, cut, middle, pad, rule
from reviewer.tui.widgets.words import plural

if TYPE_CHECKING:
    from reviewer.desk.imports.api import FileView, ImportView
    from reviewer.desk.imports.sessions import SessionView

TOOL, AT, SIZE, ID = 12, 17, 9, 24
WIDE = 120
"""Columns from which a line has the session's id too."""
REFUSED, TAKEN, FOLLOWED = ("✗", "fail"), ("✓", "pass"), ("►", "running")


class Row(NamedTuple):
    """A line of the list: a session, or a project with its sessions that are shown."""

    project: str
    sessions: "tuple[SessionView, ...]"
    session: "SessionView | None" = None


def rows_of(found: "Iterable[SessionView]", words: str, folded: Collection[str] = ()) -> list[Row]:
    """Return the sessions that have all these words, each project above its own; of a `folded`
    project only the project."""
    wanted = words.casefold().split()
    projects: dict[str, list[SessionView]] = {}
    for one in found:
        held = " ".join((one.tool, one.project, one.id, one.at, one.request)).casefold()
        if all(word in held for word in wanted):
            projects.setdefault(one.project, []).append(one)
    rows: list[Row] = []
    for project, some in projects.items():
        rows.append(Row(project, tuple(some)))
        if project in folded:
            continue
        rows += [Row(project, (one,), one) for one in some]
    return rows


def sized(count: int) -> str:
    """Return a number of bytes in a few characters: `812 B`, `1.4 MB`."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 999.5 or unit == "MB":
            return f"{size:,.0f} {unit}" if unit == "B" or size >= 99.5 else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError


def heading(rows: Sequence[Row], at: int, width: int, *, heavy: bool) -> list[Line]:
    """Return the rule above the list, and the names of its columns as `line` places them."""
    count = len({one.path for row in rows for one in row.sessions})
    where = f", line {at + 1:,} of {len(rows):,}" if rows else ""
    title = [Span(f"sessions {count:,}", "strong")]
    note = [Span(f"by project, newest first{where}", "dim")]
    named = f"      {'tool':<{TOOL}}{'last written':<{AT}}{'size':>{SIZE}}  "
    named += f"{'session':<{ID}}" if width >= WIDE else ""
    names = [Span(f"{named}first request", "dim")]
    return [rule(width, title, note, heavy=heavy), names]


def line(
    row: Row, chosen: Collection[str], marks: Mapping[str, tuple[str, str]], width: int
) -> Line:
    """Return one line of the list, without the cursor."""
    ticked = sum(one.path in chosen for one in row.sessions)
    box = "[x]" if ticked == len(row.sessions) else "[-]" if ticked else "[ ]"
    one = row.session
    if one is None:
        size = sized(sum(each.size for each in row.sessions))
        count = f"  {plural(len(row.sessions), 'session')}, {size}"
        name = middle(visible_line(row.project), width - len(count) - 6)
        return [Span(f"{box} ", "key"), Span(name, "strong"), Span(count, "dim")]
    glyph, style = marks.get(one.path, (" ", "text"))
    about = visible_line(one.problem or one.request)
    spans = [
        Span(f"  {box}", "key" if ticked else "dim"),
        Span(glyph, style),
        Span(pad(visible_line(one.tool), TOOL)),
        Span(pad(one.at[:16].replace("T", " "), AT), "dim"),
        Span(pad(sized(one.size), SIZE, right=True), "dim"),
        Span("  "),
    ]
    if width >= WIDE:
        spans.append(Span(pad(middle(visible_line(one.id), ID - 1), ID), "dim"))
    return [*spans, Span(about, "not_measured" if one.problem else "text")]


def about_lines(row: Row, width: int) -> list[Line]:
    """Return the text about the line under the cursor, uncut."""
    one = row.session
    if one is None:
        newest = max(each.at for each in row.sessions)
        tools = ", ".join(sorted({each.tool for each in row.sessions}))
        facts = [
            ("project", row.project),
            ("sessions", f"{len(row.sessions):,} shown, of {tools}"),
            ("last", newest),
        ]
    else:
        asked = one.request or "no user request at its start"
        facts = [("asked", asked), ("problem", one.problem)] if one.problem else [("asked", asked)]
        facts += [
            ("session", f"{one.id}, {one.size:,} bytes, last written {one.at}"),
            ("project", one.project),
            ("file", one.path),
        ]
    lines: list[Line] = []
    for name, value in facts:
        style = "not_measured" if name == "problem" else "text"
        parts = wrap(visible_line(value), max(20, width - 14)) or [""]
        for number, part in enumerate(parts):
            lines.append([Span(f" {'' if number else name:<10}", "dim"), Span(part, style)])
    return lines


def result_lines(views: "Sequence[ImportView]", width: int) -> list[Line]:
    """Return the result for each session of imports started here, refusals first."""
    lines: list[Line] = []
    for view in views:
        if view.state in IMPORTING:
            lines.append([Span(f" {progress(view)}", "running")])
        else:
            text, style = import_ended(view)
            lines.append([Span(f" {text}", style)])
        for path, words in reversed(view.news):
            name = middle(visible_line(path.rpartition("/")[2]), width // 3)
            lines.append([Span(f" {name}: "), Span(visible_line(words), "infra")])
        for result in sorted(view.results, key=lambda one: not is_refused(one)):
            lines += file_lines(result, width - 1)
    return lines


def progress(view: "ImportView") -> str:
    """Return how far an import is, in words."""
    what = visible_line(view.order.named)
    if view.order.follow:
        return f"following {what}: {plural(len(view.results), 'session')} read"
    of = f", file {view.file:,} of {view.files:,}" if view.files else ""
    share = f" {view.done * 100 // view.size} %" if view.size else ""
    return f"importing {what}{of}{share}"


def is_refused(result: "FileView") -> bool:
    """Return whether a file, or a record of it, was refused."""
    return result.state == "refused" or result.refused > 0


def marks_of(views: "Iterable[ImportView]") -> dict[str, tuple[str, str]]:
    """Return the result for each file in these imports, the oldest first: a glyph and its style."""
    marks: dict[str, tuple[str, str]] = {}
    for view in views:
        if view.order.follow and view.state in IMPORTING:
            marks |= dict.fromkeys(view.order.sessions, FOLLOWED)
        for result in view.results:
            inside = [one for one in view.order.sessions if one.startswith(f"{result.path}#")]
            for path in inside or [result.path]:
                if is_refused(result):
                    marks[path] = REFUSED
                elif marks.get(path) != FOLLOWED:
                    marks[path] = TAKEN
    return marks


def summary(
    found: "Sequence[SessionView]", chosen: Collection[str], rows: Sequence[Row], reading: str,
    words: str, width: int,
) -> list[Line]:  # fmt: skip
    """Return the two top lines: what was found, and what is chosen."""
    projects = len({one.project for one in found})
    tools = len({one.tool for one in found})
    said = f" {plural(len(found), 'session')} found here, in {plural(projects, 'project')}"
    said += f" of {plural(tools, 'tool')}" if tools else ""
    first: list[Span] = [Span(said, "strong")]
    if reading:
        first.append(Span(f"   looking for those of {reading}…", "running"))
    picked = [one for one in found if one.path in chosen]
    shown = {one.path for row in rows for one in row.sessions}
    empty = "" if found or reading else " nothing to choose from"
    second = [Span(empty or " none chosen: Enter imports the one under the cursor", "dim")]
    if picked:
        hidden = sum(one.path not in shown for one in picked)
        size = sized(sum(one.size for one in picked))
        second = [Span(f" {len(picked):,} chosen, {size}", "strong")]
        second += [Span(f", {hidden:,} of them not shown", "not_measured")] if hidden else []
    if words:
        told = f"   filter: {visible_line(words)}   {len(shown):,} of {len(found):,} shown"
        second.append(Span(cut(told, width // 2), "match"))
    return [first, second]


def nothing(tools: Sequence[str]) -> str:
    """Return the words for a machine without sessions."""
    return (
        f"no session of {plural(len(tools), 'tool')} is on this machine: {', '.join(tools)}. "
        "reviewer import reads sessions from any other place"
    )
