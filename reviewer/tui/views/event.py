"""One event of a trace, in full."""

from collections.abc import Iterable, MutableMapping, Sequence

from reviewer.desk.traces.views import EventDetail, GroupRow, NoteView, StateView
from reviewer.desk.views import EventRow, TraceView
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import STATES, cell_style
from reviewer.tui.views.event_list import KINDS, who
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Block, Span
from reviewer.tui.widgets.value_tree import SIGNS, Entry, Tree
from reviewer.tui.widgets.valueview import Part

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
    """Return the rule above the event: number, kind, actor, status."""
    row = detail.row
    place, of = row.group
    parts = [f"event {row.seq}", row.kind.replace("_", " ")]
    parts += [f"{place} of {of} in parallel"] if of else []
    glyph, name = who(row.actor)
    parts += [f"{glyph} {name}"] if glyph else []
    parts += [visible_line(row.status)] if row.status else []
    return [Span(" · ".join(parts), "strong")]


def turn_title(turn: GroupRow) -> list[Span]:
    """Return the rule above a turn: its number, its agent, its calls."""
    parts = [f"turn {turn.numbers[0]} of {visible_line(turn.name)}"]
    parts += [words.plural(turn.calls, "call")] if turn.calls else []
    parts += [f"{turn.wrong} not ok"] if turn.wrong else []
    parts += [words.seconds(turn.took_ms)] if turn.calls and turn.took_ms is not None else []
    return [Span(" · ".join(parts), "strong")]


def turn_parts(rows: Sequence[EventRow], left: int) -> Sequence[Part]:
    """Return a whole turn: its messages, each call with its result; Enter opens the event. `left`
    counts the events that are not among `rows`."""
    parts: list[Part] = []
    for row in rows:
        glyph, name = who(row.actor)
        mark = words.mark(row.mark) if row.mark else Span(" ")
        kind = KINDS.get(row.kind, "?")
        head = [mark, Span(f" {row.seq:>5,} ", "dim"), Span(f"{glyph or ' '} {name:<6.6} {kind} ")]
        said, answer = row.kind == "message", row.kind == "tool_result"
        text = row.title if said else f"{row.title}  {row.result if answer else row.call}".rstrip()
        go = ("event", row.seq)
        parts.append(Entry(Block(text, "text" if said else "strong", head, quoted=said), go=go))
        parts += [Entry(Block(f"{code}", "fail", [Span(" " * 17)]), go=go) for code in row.codes]
        status = row.status if row.status not in (None, "ok") else ""
        took = words.seconds(row.latency_ms) if row.latency_ms is not None else ""
        result = "" if answer else row.result
        told = "  ".join(part for part in (status, result, took) if part)
        if told and not said:
            style = "fail" if status else "text"
            parts.append(Entry(Block(told, style, [Span(" " * 15 + "← ", "dim")]), go=go))
    if left:
        parts.append(Entry(Block(f"… {words.plural(left, 'event')} more: unfold the turn", "dim")))
    return parts


def mode_note(mode: str, room: int) -> list[Span]:
    """Return the name of the view shown; where there is room, of all views, each as a button."""
    if room < 34:
        return [Span("" if mode == "event" else f"{mode}, v", "strong")] if mode != "event" else []
    spans = []
    for name in MODES:
        word = f"[{name}]" if name == mode else name
        spans += [Span(word, "strong" if name == mode else "dim", f"screen.look('{name}')")]
        spans.append(Span(" "))
    return spans[:-1]


def event_trees(detail: EventDetail, turned: Turned, budget: int) -> list[Tree]:
    """Return the fields of an event, each of which can be folded. Reads only as much as is shown
    first."""
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
    """Return the event as its file has it."""
    place, mine = f"/events/{detail.position}", turned.setdefault("raw", {})
    return Tree("event", detail.raw, place, mine, literal=True, budget=budget)


def state_tree(state: StateView, turned: Turned, budget: int) -> Tree:
    """Return a state, with marks on new and changed values."""
    touched = {pointer: sign for sign, pointer in state.touched}
    mine = turned.setdefault("replay", {})
    return Tree("state", state.raw, state.pointer, mine, touched, budget=budget)


def event_parts(
    detail: EventDetail, trace: TraceView, notes: Sequence[NoteView], trees: Sequence[Tree]
) -> list[Part]:
    """Return a whole event, in reading order."""
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
    """Return the link to another event of the same call."""
    told = f"event {other.seq} {KINDS.get(other.kind, '?')}"
    told += f" {visible_line(other.status)}" if other.status else ""
    told += "  not granted" if other.title.endswith("not granted") else ""
    head = [Span(f"  {NAMES.get(other.kind, 'same call')}  ", "dim")]
    return Entry(Block(told, "key", head), go=("event", other.seq))


def _findings(detail: EventDetail, trace: TraceView) -> list[Entry]:
    """Return the findings on an event; each links to its clause of the contract."""
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
                [Span(f"{STATES[mark].glyph} ", cell_style(mark))],
            )
            entries.append(Entry(block, go=(finding.gate, detail.row.seq)))
    return entries


def _notes(seq: int, notes: Sequence[NoteView]) -> list[Block]:
    """Return the notes and bookmarks on an event; notes are quoted, because they are not part of
    the trace."""
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
    """Return time, cost and tokens, and the event's place in the record."""
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
    """Return changes of a state: glyph, word and color."""
    return [Block(line, SIGNS.get(line[:1], "text"), [Span("  ")]) for line in lines]


def state_parts(state: StateView, seq: int, tree: Tree | None) -> Sequence[Part]:
    """Return the state after event `seq`: where it is recorded, what changed, and the whole state
    with the same marks."""
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
    """Return the origin of a trace and what its source states: facts that no gate reads."""
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
