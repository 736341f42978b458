"""Events of a trace: their list in columns, and one event whole."""

from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from reviewer.desk.traces.views import EventDetail, NoteView, StateView
from reviewer.desk.views import EventRow, TraceView
from reviewer.trace.record import is_user
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import RED, STATES
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import (
    Block,
    Line,
    Sheet,
    Span,
    cut,
    in_order,
    middle,
    pad,
    spread,
)
from reviewer.tui.widgets.value_tree import SIGNS, Entry, Tree
from reviewer.tui.widgets.valueview import Part

KINDS = {
    "message": '"',
    "tool_call": "→",
    "tool_result": "←",
    "approval": "§",
    "state_snapshot": "◊",
    "error": "*",
}
ROOMY = 46
BARS = 56
"""From here on there are bars beside time and cost."""
BAR = 4
_EIGHTHS = " ▏▎▍▌▋▊▉"


class ListMarks(NamedTuple):
    """The list's additions to the events: marks by event, the matches of a search, and the slowest
    (ms) and dearest (USD) event, which the bars are drawn against."""

    marks: Mapping[int, str] = {}
    matches: Collection[int] = ()
    slowest: float | None = None
    dearest: float | None = None


def marks_of(notes: Sequence[NoteView]) -> dict[int, str]:
    """The mark of each event that has one: `w` a note, `m` a bookmark."""
    found: dict[int, str] = {}
    for note in notes:
        if note.kind == "note" or note.seq not in found:
            found[note.seq] = "w" if note.kind == "note" else "m"
    return found


def who(actor: str | None) -> tuple[str, str]:
    """Return (glyph, words) of an actor other than the agent: a user, the harness, a sub-agent."""
    if actor in (None, "agent"):
        return "", ""
    name = visible_line(actor or "")
    if actor == "user":
        return "@", "user"
    if is_user(actor):
        return "@", "user sim"
    return ("#", name) if actor in ("system", "environment") else ("»", f"sub-agent {name}")


def group_glyph(group: tuple[int, int]) -> str:
    """The bracket that calls made together share."""
    place, of = group
    return "" if of < 2 else "┌ " if place == 1 else "└ " if place == of else "│ "


def bar(value: float | None, most: float | None, width: int) -> str:
    """A bar of `value` against `most`; blank when either is unknown, a sliver for the least."""
    if value is None or not most:
        return " " * width
    eighths = min(width * 8, max(1 if value > 0 else 0, round(value / most * width * 8)))
    full, rest = divmod(eighths, 8)
    return pad("█" * full + (_EIGHTHS[rest] if rest else ""), width)


def waiting_row(seq: int) -> EventRow:
    """Return the row shown for an event until it is read."""
    return EventRow(
        seq=seq, kind="", title="reading…", actor=None, status=None, latency_ms=None,
        cost_usd=None, mark=None, codes=(),
    )  # fmt: skip


class EventSheet(Sheet):
    """Columns of the event list at one width. Time and cost have none where no event has them; in
    a narrow list status and time are at the right end of the title, as far as it leaves room."""

    def __init__(self, width: int, events: int, shown: ListMarks) -> None:
        number = max(2, len(str(events)))
        self._shown, self._roomy = shown, width >= ROOMY
        fixed = [("mark", 1), ("seq", number), ("kind", 1), ("title", 0)]
        if self._roomy:
            bars = width >= BARS
            fixed.append(("status", 7))
            if shown.slowest is not None:
                fixed += [("time", 6), *([("slow", BAR)] if bars else [])]
            if shown.dearest is not None:
                fixed += [("cost", 6), *([("dear", BAR)] if bars else [])]
        taken = 3 + sum(size + 1 for _, size in fixed) - 1
        title = max(4, width - taken)
        self.columns = in_order((n, title if n == "title" else size) for n, size in fixed)

    def flag(self, row: EventRow) -> Span:
        """A note, a bookmark, or a match."""
        found = row.seq in self._shown.matches
        mark = self._shown.marks.get(row.seq, "/" if found else " ")
        return Span(mark, "match" if found else "key")

    def cells(self, row: EventRow) -> list[Line]:
        widths = {column.key: column.width for column in self.columns}
        status = row.status or ""
        wrong = status not in ("", "ok")
        took = "" if row.latency_ms is None else words.seconds(row.latency_ms)
        room = widths["title"]
        cells: list[Line] = [
            [words.mark(row.mark)] if row.mark else [Span(" ")],
            [Span(pad(str(row.seq), widths["seq"], right=True), "dim")],
            [Span(KINDS.get(row.kind, "?"))],
        ]
        if not self._roomy:
            end = status if wrong else f"{status} {took}".strip()
            end = f" {visible_line(end)}" if end else ""
            title = self._title(row, room - cell_len(end))
            return [*cells, spread(title, [Span(end, "fail" if wrong else "dim")], room)]
        paid = "" if row.cost_usd is None else f"${row.cost_usd:.3f}"
        drawn = {
            "status": Span(visible_line(status), "fail" if wrong else "dim"),
            "time": Span(pad(took, 6, right=True), "dim"),
            "slow": Span(bar(row.latency_ms, self._shown.slowest, BAR), "key"),
            "cost": Span(pad(paid, 6, right=True), "dim"),
            "dear": Span(bar(row.cost_usd, self._shown.dearest, BAR), "key"),
        }
        title = self._title(row, room)
        return [*cells, title, *([span] for name, span in drawn.items() if name in widths)]

    def _title(self, row: EventRow, width: int) -> list[Span]:
        glyph, name = who(row.actor)
        brief = name if width >= 30 else middle(name.removeprefix("sub-agent "), 8)
        actor = f"{glyph} {brief}: " if glyph else ""
        style = "match" if row.seq in self._shown.matches else "text"
        head = group_glyph(row.group) + actor
        text = cut(visible_line(row.title), max(1, width - cell_len(head)))
        return [Span(head, "key"), Span(text, "strong" if row.mark in RED else style)]


Turned = MutableMapping[str, dict[str, bool]]
"""The values that the reader folded and unfolded, by name."""
MODES = ("event", "state", "raw", "source")
NAMES = {
    "tool_call": "called in",
    "tool_result": "answered by",
    "approval": "approval in",
    "error": "failed in",
}


def event_title(detail: EventDetail) -> list[Span]:
    """The rule above the event: number, kind, actor, status."""
    row = detail.row
    place, of = row.group
    parts = [f"event {row.seq}", row.kind.replace("_", " ")]
    parts += [f"{place} of {of} in parallel"] if of else []
    glyph, name = who(row.actor)
    parts += [f"{glyph} {name}"] if glyph else []
    parts += [visible_line(row.status)] if row.status else []
    return [Span(" · ".join(parts), "strong")]


def mode_note(mode: str, room: int) -> list[Span]:
    """Name the view shown; where there is room, all views, each a button."""
    if room < 34:
        return [Span("" if mode == "event" else f"{mode}, v", "strong")] if mode != "event" else []
    spans = []
    for name in MODES:
        word = f"[{name}]" if name == mode else name
        spans += [Span(word, "strong" if name == mode else "dim", f"screen.look('{name}')")]
        spans.append(Span(" "))
    return spans[:-1]


def event_trees(detail: EventDetail, turned: Turned, budget: int) -> list[Tree]:
    """The fields of an event, each to be folded. Reads as much of them as is shown at first."""
    return [
        Tree(
            field.name,
            field.raw,
            f"/events/{detail.position}/{field.name}",
            turned.setdefault(field.name, {}),
            note=_granted(detail) if field.name == "approval" else "",
            budget=budget,
        )
        for field in detail.fields
    ]


def _granted(detail: EventDetail) -> str:
    return {None: "", True: "granted", False: "not granted"}[detail.granted]


def raw_tree(detail: EventDetail, turned: Turned, budget: int) -> Tree:
    """The event as its file had it."""
    place, mine = f"/events/{detail.position}", turned.setdefault("raw", {})
    return Tree("event", detail.raw, place, mine, literal=True, budget=budget)


def state_tree(state: StateView, turned: Turned, budget: int) -> Tree:
    """A state, with marks on what is new or other in it."""
    touched = {pointer: sign for sign, pointer in state.touched}
    mine = turned.setdefault("replay", {})
    return Tree("state", state.raw, state.pointer, mine, touched, budget=budget)


def event_parts(
    detail: EventDetail, trace: TraceView, notes: Sequence[NoteView], trees: Sequence[Tree]
) -> list[Part]:
    """An event whole, in the order of reading."""
    row = detail.row
    parts: list[Part] = []
    if row.kind in ("tool_call", "tool_result", "approval"):
        parts.append(Entry(Block(row.title, "strong")))
    parts += _findings(detail, trace)
    parts += _plain(_notes(row.seq, notes))
    parts += [_link(other) for other in detail.related]
    parts += trees
    if row.kind in ("tool_call", "approval") and detail.granted is None:
        parts += _plain([Block("not recorded", "dim", [Span("  approval  ", "dim")])])
    if detail.state_changes:
        parts += _plain([Block("", head=[Span("  state changed by this event", "dim")])])
        parts += _plain(changed(detail.state_changes))
    return [*parts, *_plain(_measures(detail, trace))]


def _plain(blocks: Iterable[Block]) -> list[Entry]:
    return [Entry(block) for block in blocks]


def _link(other: EventRow) -> Entry:
    """The way to another event of the same call."""
    told = f"event {other.seq} {KINDS.get(other.kind, '?')}"
    told += f" {visible_line(other.status)}" if other.status else ""
    told += "  not granted" if other.title.endswith("not granted") else ""
    head = [Span(f"  {NAMES.get(other.kind, 'same call')}  ", "dim")]
    return Entry(Block(told, "key", head), go=("event", other.seq))


def _findings(detail: EventDetail, trace: TraceView) -> list[Entry]:
    """Return the findings on an event; each leads to its clause of the contract."""
    entries = []
    for finding in trace.findings:
        if finding.seq == detail.row.seq:
            mark = "critical" if finding.severity == "critical" else "fail"
            mark = "not_measured" if finding.severity in ("not_measured", "note") else mark
            text = f"{finding.code}  {finding.gate}" + (
                f"  {finding.detail}" if finding.detail else ""
            )
            block = Block(
                text,
                mark if mark == "fail" else "strong",
                [Span(f"{STATES[mark].glyph} ", mark)],
            )
            entries.append(Entry(block, go=(finding.gate, detail.row.seq)))
    return entries


def _notes(seq: int, notes: Sequence[NoteView]) -> list[Block]:
    """Return the notes and bookmarks on an event; notes are quoted, for they are not part of the
    trace."""
    blocks = []
    for note in notes:
        if note.seq == seq:
            glyph = "w note" if note.kind == "note" else "m bookmark"
            by = visible_line(f"{glyph}  {note.reviewer}, {note.at[:16].replace('T', ' ')} UTC")
            blocks.append(Block("", head=[Span(by, "key")]))
            if note.text:
                blocks.append(Block(note.text, quoted=True))
    return blocks


def _measures(detail: EventDetail, trace: TraceView) -> list[Block]:
    """Time, cost and tokens, and the event's place in the record."""
    row = detail.row
    took = "not measured"
    if row.latency_ms is not None:
        took = words.seconds(row.latency_ms)
        took += f" of {words.seconds(trace.latency_ms)}" if trace.latency_ms is not None else ""
    paid = "not measured"
    if row.cost_usd is not None:
        paid = words.money(row.cost_usd, 3)
        paid += f" of {words.money(trace.cost_usd, 3)}" if trace.cost_usd is not None else ""
    facts = [("timing", took), ("cost", paid)]
    if row.latency_ms is None and row.cost_usd is None:
        facts = [("measured", "neither time nor cost")]
    facts += [("started", detail.started_at)] if detail.started_at else []
    facts += [("tokens", " ".join(detail.tokens.split()))] if detail.tokens else []
    facts.append(("pointer", f"/events/{detail.position}"))
    return [Block(text, "dim", [Span(f"  {name:<8}  ", "dim")]) for name, text in facts]


def changed(lines: Sequence[str]) -> list[Block]:
    """Changes of a state: glyph, word and color."""
    return [Block(line, SIGNS.get(line[:1], "text"), [Span("  ")]) for line in lines]


def state_parts(state: StateView, seq: int, tree: Tree | None) -> Sequence[Part]:
    """The state as it was after event `seq`: where it is recorded, what had changed, and it
    whole, with the same marks."""
    if state.seq is None or tree is None:
        return _plain([Block("state not recorded by this source", "not_measured")])
    place = f"snapshot {state.at} of {state.of}"
    if state.seq == 0:
        text = "as the episode begins: no event so far recorded a state"
    elif state.changed:
        text = f"recorded by this event, {place}"
    else:
        text = f"unchanged since event {state.seq}, {place}"
    blocks = [Block(text, "strong", [Span(f"after event {seq}  ", "dim")])]
    since = f"changed by event {state.seq}"
    if state.changes:
        blocks += [Block("", head=[Span(since, "dim")]), *changed(state.changes)]
    elif state.seq:
        first = state.at == 1
        word = "the first state recorded: nothing to compare with" if first else "nothing changed"
        blocks.append(Block(word, "dim", [Span(f"{since}  ", "dim")]))
    return [*_plain(blocks), tree]


def source_parts(trace: TraceView) -> Sequence[Part]:
    """Return the origin of a trace and what its source says: facts that no gate looks at."""
    facts = [
        ("file", trace.source_path),
        ("record", str(trace.source_record)),
        ("sha256", trace.source_sha256),
        *trace.said,
        *(("import", note) for note in trace.notes),
    ]
    blocks = [Block("other records of this attempt", "dim")] if trace.history else []
    blocks += _named(trace.history)
    blocks.append(Block("said by the source; no gate looks at it", "dim"))
    return _plain([*blocks, *_named(facts)])


def _named(facts: Sequence[tuple[str, str]]) -> list[Block]:
    return [Block(text, "text", [Span(f"{visible_line(name)}  ", "dim")]) for name, text in facts]
