"""A trace in lines, its contract, and the pane with the chosen event."""

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.outcome_views import OUTCOME, ExpectedCall
from reviewer.desk.traces import timeline as timeline_
from reviewer.desk.traces.kinds import Kind, is_found, kind_at
from reviewer.desk.traces.listing import Listing
from reviewer.desk.traces.outcome import against
from reviewer.desk.traces.views import EventDetail, GroupRow, StateView
from reviewer.desk.views import EventRow, TraceView
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import RED, STATES, cell_style
from reviewer.tui.views.event import (
    MODES,
    Turned,
    event_parts,
    event_title,
    event_trees,
    mode_note,
    raw_tree,
    source_parts,
    state_parts,
    state_tree,
    turn_parts,
    turn_title,
)
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Block, Span, cut, middle, pad, rule, spread
from reviewer.tui.widgets.value_tree import Entry, Tree
from reviewer.tui.widgets.valueview import Part
from reviewer.tui.widgets.words import SHORT

if TYPE_CHECKING:
    from reviewer.tui.screens.trajectory.controller import TraceReading
    from reviewer.tui.screens.trajectory.screen import TrajectoryScreen


ROOMY = 100
"""Columns from which a line of equal findings also names the last event."""


class ContractLine(NamedTuple):
    """A line of the contract: its gates, the event that shows it, and the kind of findings it
    counts. `member`: it is one of them; without an event, the line stands for members not listed
    yet."""

    line: list[Span]
    gates: tuple[str, ...]
    seq: int | None
    kind: int | None = None
    member: bool = False


class Opened(NamedTuple):
    """The kind of findings whose members are listed, and how many of them."""

    kind: int
    listed: int


def context(trace: TraceView, place: str, width: int) -> list[Span]:
    """Return line 2: episode, candidate, attempt, trace, each with the keys that step through
    it."""
    long = width >= 120
    left = [
        Span("{ ", "key", "screen.episode(-1)"),
        Span(middle(visible_line(trace.episode_id), 60 if long else 20), "strong"),
        Span(" }", "key", "screen.episode(1)"),
        Span(f" {place}" if place else "", "dim"),
        Span("   "),
        Span(middle(visible_line(trace.candidate_id), 60 if long else 20)),
        Span("   "),
        Span("[ ", "key", "screen.attempt(-1)"),
        Span(f"attempt {trace.attempt}", "strong"),
        Span(" ]", "key", "screen.attempt(1)"),
        Span(f" of {max(len(trace.attempts), trace.attempt)} ", "dim"),
        *_strip(trace, 24 if long else 12),
    ]
    right = [Span(" trace ", "dim"), Span(middle(visible_line(trace.trace_id), 70))] if long else []
    return spread(left, right, width)


def _strip(trace: TraceView, most: int) -> list[Span]:
    """Return one glyph per attempt, as many as fit around this attempt, which is in reverse
    video."""
    numbers = [each.attempt for each in trace.attempts]
    at = numbers.index(trace.attempt) if trace.attempt in numbers else 0
    first = max(0, min(at - most // 2, len(numbers) - most))
    strip = []
    for each in trace.attempts[first : first + most]:
        action = f"screen.attempt_to({each.attempt})"
        glyph = words.mark(each.mark)._replace(action=action)
        here = each.attempt == trace.attempt and len(numbers) > 1
        strip.append(glyph._replace(style=f"*{glyph.style}") if here else glyph)
    return [Span("…", "dim") if first else Span(""), *strip]


def verdict(trace: TraceView, finding: str, width: int) -> list[Span]:
    """Return line 3: the verdict on this trace, the gates that do not pass, and the chosen
    finding."""
    state = STATES[trace.mark]
    left: list[Span] = [Span(f"{state.glyph} {state.word}", cell_style(trace.mark)), Span("  ")]
    critical = {each.gate for each in trace.findings if each.severity == "critical"}
    by_result: dict[str, list[str]] = {}
    for gate, result in zip(trace.gates, trace.results, strict=True):
        by_result.setdefault("critical" if gate in critical else result, []).append(gate)
    for mark in ("critical", "fail"):
        for gate in by_result.get(mark, ()):
            left += [Span(f"{SHORT.get(gate, gate)} "), words.mark(mark), Span("  ")]
    unknown = by_result.get("not_measured", [])
    if 0 < len(unknown) <= 2:
        for gate in unknown:
            left += [Span(f"{SHORT.get(gate, gate)} "), words.mark("not_measured"), Span("  ")]
    elif unknown:
        told = f"{STATES['not_measured'].glyph} {len(unknown)} gates not measured"
        left += [Span(told, "not_measured"), Span("  ")]
    left.append(Span(f"{len(by_result.get('pass', ()))} pass", "dim"))
    return spread(left, [Span(f"  {finding}", "dim")], width)


def listed_words(listing: Listing | None, events: str) -> tuple[str, str]:
    """Return the rule above the list: its counts, and its grouping."""
    if listing is None:
        return f"events {events}", "plain, # groups"
    turns = f"turns {len(listing.outline.turns):,}"
    if listing.grouping == "turns":
        return f"{turns}, events {events}", "turns, # groups"
    return f"agents {listing.agents:,}, {turns}, events {events}", "agents, # groups"


_COLUMNS = {
    0: (" ", "text"),
    timeline_.TOLD: ("·", "dim"),
    timeline_.AGENT: ("▪", "text"),
    timeline_.CALL: ("▫", "text"),
    timeline_.WRONG: ("*", "not_measured"),
    timeline_.UNSURE: ("○", "not_measured"),
    timeline_.FAIL: ("✗", "fail"),
    timeline_.CRITICAL: ("▲", "critical"),
}
"""The glyph and style of each thing on the timeline."""
_LEGEND = "user, world ·  agent ▪  call ▫  not ok *  finding ✗ ▲ ○"


def timeline(
    line: timeline_.Line | None, moments: timeline_.Moments, place: int, width: int
) -> list[list[Span]]:
    """Return all events on one line, with the cursor; without a line, the word that it is being
    read."""
    if line is None:
        return [rule(width, [Span("timeline", "strong")]), [Span("  reading…", "dim")], []]
    how, right = "timeline by event", "no times recorded"
    if line.seconds is not None:
        how, right = "timeline by time", words.seconds(line.seconds * 1000)
        if line.known < len(moments.what):
            right += f", {line.known:,} of {words.plural(len(moments.what), 'event')} have a time"
    elif line.known:
        right = "no time passes between its events"
    whole = f"{_LEGEND}   {right}"
    right = whole if len(how) + len(whole) + 12 <= width else right
    spans = [Span("  ")]
    for what, run in groupby(line.columns):
        glyph, style = _COLUMNS[what]
        spans.append(Span(glyph * len(list(run)), style))
    at = timeline_.column_of(moments, place, width - 4)
    here = f"{' ' * at}^ here" if at + 8 < width - 4 else f"{' ' * max(0, at - 5)}here ^"
    return [
        rule(width, [Span(how, "strong")], [Span(right, "dim")]),
        spans,
        [Span(f"  {here}", "key")],
    ]


def said(trace: TraceView, width: int) -> list[list[Span]]:
    """Return line 4 of an imported trace, if there is one: what its source states about itself and
    the attempt, in short."""
    if trace.missing:
        text = visible_line(trace.missing)
        return [spread([Span("payload ", "dim"), Span(text, "fail")], [], width)]
    brief = [
        f"{name} {text}" for name, text in trace.said if name in ("format", "clock", "verdict")
    ]
    if not brief:
        return []
    noted = sum(name == "notes" for name, _ in trace.said) + len(trace.notes)
    brief += [words.plural(noted, "note")] if noted else []
    text = visible_line(" · ".join(brief))
    right = [Span("  whole source", "dim", "screen.look('source')")]
    return [spread([Span("source ", "dim"), Span(text)], right, width)]


def clauses(
    trace: TraceView, kinds: Sequence[Kind], width: int, opened: Opened | None = None
) -> list[ContractLine]:
    """Return the contract, failing clauses first, each with the event that shows it. Equal findings
    are counted in one line, below which those of the opened kind are listed. Gates with the same
    text and no event share a line."""
    lines: dict[tuple[object, ...], list[tuple[int, Kind]]] = {}
    for number, kind in enumerate(kinds):
        clause = kind.clause
        shared = clause.seq is None and clause.mark in ("pass", "not_measured")
        key = (clause.mark, clause.text) if shared else (number,)
        lines.setdefault(key, []).append((number, kind))
    told = outcome_lines(trace, width)
    for alike in lines.values():
        gates = tuple(dict.fromkeys(kind.clause.gate for _, kind in alike))
        number, kind = alike[0]
        told.append(ContractLine(_clause(kind, gates, width), gates, kind.clause.seq, number))
        if opened is not None and opened.kind == number:
            told += _members(kind, gates, number, opened.listed)
    return told


def _members(
    kind: Kind, gates: tuple[str, ...], number: int, listed: int
) -> Iterator[ContractLine]:
    for each in kind.members[:listed]:
        line = [
            Span("     "),
            Span(pad(f"event {each.seq:,}", 15), "key"),
            Span(visible_line(each.text)),
        ]
        yield ContractLine(line, gates, each.seq, number, member=True)
    left = kind.times - listed
    if left > 0:
        words_ = f"     … {left:,} more: Enter lists the next of them"
        yield ContractLine([Span(words_, "dim")], gates, None, number, member=True)


def _clause(kind: Kind, gates: Sequence[str], width: int) -> list[Span]:
    clause = kind.clause
    place = "no event" if clause.seq is None else f"event {clause.seq}"
    if clause.seq is None and clause.mark in ("pass", "not_measured"):
        place = "whole trace" if clause.mark == "pass" else ""
    names = ", ".join(SHORT.get(gate, gate) for gate in gates)
    many: list[Span] = []
    if kind.times > 1:
        many = [Span(f" ×{kind.times:,} ", "strong")]
        first, last = f"{kind.seqs[0]:,}", f"{kind.seqs[-1]:,}"
        place = f"events {first} to {last}" if width >= ROOMY else f"from event {first}"
    left = [
        words.mark(clause.mark),
        Span(" " + (pad(names, 10) if len(gates) == 1 else f"{names}  "), "strong"),
        Span(visible_line(clause.text), "dim" if clause.mark == "pass" else "text"),
    ]
    style = "key" if clause.seq is not None else "dim"
    return spread(left, [*many, Span(f" {place} ", style)], width - 1)


def finding_words(kinds: Sequence[Kind], chosen: int | None, seq: int) -> str:
    """Return which finding the cursor is on, of how many; among equal findings, of which kind."""
    found = [n for n, kind in enumerate(kinds) if is_found(kind)]
    if not found:
        return "no finding on an event"
    at = kind_at(kinds, seq, chosen)
    many = any(kinds[n].times > 1 for n in found)
    if not many:
        seqs = sorted({each for n in found for each in kinds[n].seqs})
        return f"finding {bisect_right(seqs, seq)} of {len(seqs)}"
    total = sum(kinds[n].times for n in found)
    if at is None:
        return f"{total:,} findings of {words.plural(len(found), 'kind')}"
    place = bisect_right(kinds[at].seqs, seq)
    return f"kind {found.index(at) + 1} of {len(found)}, {place:,} of {len(kinds[at].seqs):,}"


OUTCOME_MARKS = {"same": "=", "other": "~", "masked": "○", "never": "–", "unknown": "○"}
"""How an expected call was made, where the source states nothing about the call itself."""


def outcome_lines(trace: TraceView, width: int) -> list[ContractLine]:
    """Return the source's verdict and checks of this attempt, then each call it expects next to the
    call that was made."""
    found = trace.outcome
    if not found:
        return []
    lines: list[ContractLine] = []

    def add(mark: Span, words_: str, seq: int | None, name: str = OUTCOME) -> None:
        place = "" if seq is None else f" event {seq} "
        left = [mark, Span(f" {pad(name, 10)}", "strong"), Span(visible_line(words_))]
        lines.append(ContractLine(spread(left, [Span(place, "key")], width - 1), (OUTCOME,), seq))

    said = {True: "passed", False: "failed", None: "neither passed nor failed"}[found.passed]
    reward = "" if found.reward is None else f", reward {found.reward:g}"
    add(words.mark(_word(found.passed)), f"the source says {said}{reward}", None)
    for check in found.checks:
        told = {True: "met", False: "not met", None: "not measured"}[check.met]
        add(words.mark(_word(check.met)), f"{check.name}: {told}", check.seq)
    made = max((len(_made(call)) for call in found.expected), default=0)
    half = max((width - 26) // 2, min(width - 28 - made, (width - 26) * 2 // 3))
    for call in found.expected:
        mark = Span(OUTCOME_MARKS[call.made], "text")
        if call.met is not None:
            mark = words.mark(_word(call.met))
        arguments = call.arguments
        if width < 120:  # only the values: they distinguish calls of one tool
            arguments = re.sub(r"(^|  )[\w.-]+ ", r"\1", arguments)
        asked = cut(visible_line(f"{call.tool} {arguments}"), half)
        name = "user call" if call.by_user else "expected"
        add(mark, f"{pad(asked, half)} │ {_made(call)}", call.seq, name)
    if found.left_out:
        left_out = f"{words.plural(found.left_out, 'expected call')} too large to keep"
        add(words.mark("not_measured"), left_out, None)
    if found.others:
        told = ", ".join(f"{name} ×{n}" if n > 1 else name for name, n in found.others)
        add(Span(" "), f"made and not expected: {told}", None)
    return lines


def _word(met: bool | None) -> str:
    return "not_measured" if met is None else "pass" if met else "fail"


def _made(call: ExpectedCall) -> str:
    return {
        "same": "same arguments",
        "masked": "made; masked arguments cannot be compared",
        "never": "never",
        "unknown": "not measured: events are missing, unread or too many",
        "other": "; ".join(call.differs),
    }[call.made]


def contract_note(trace: TraceView) -> list[Span]:
    """Return how many clauses fail, are not measured, and hold."""
    marks = [clause.mark for clause in trace.clauses]
    failing = sum(mark in RED for mark in marks)
    holding = marks.count("pass")
    unknown = len(marks) - failing - holding
    text = f"{words.plural(failing, 'clause')} fail, "
    text += f"{unknown} not measured, " if unknown else ""
    unmet = sum(told.red for told in against(trace.outcome)) if trace.outcome else 0
    said = f"{words.plural(unmet, 'check')} of the source not met, " if unmet else ""
    return [Span(f"{said}{text}{holding} hold", "fail" if failing or unmet else "dim")]


MOST_COPIED = 500_000
"""The most characters that are sent to a terminal's clipboard; few terminals accept more."""
KEPT, MOST_KEPT = 16, 500_000
"""Events that are cached, and their size at most in bytes."""


OF_A_TURN = 60
"""Events of a turn that the pane shows."""


class EventParts(NamedTuple):
    """One event as the pane shows it, prepared outside the drawing thread."""

    detail: EventDetail
    state: StateView | None
    trees: Sequence[Tree]
    turn: tuple[GroupRow, Sequence[EventRow]] | None = None
    """The turn under the cursor with its first events, if the turn is shown."""


class EventPane:
    """The event under the cursor: in full, as the state after it, raw, or as its source has it."""

    def __init__(self, screen: "TrajectoryScreen", reading: "TraceReading") -> None:
        self._screen = screen
        self._reading = reading
        self.detail: EventDetail | None = None
        self.state: StateView | None = None
        self.mode = MODES[0]
        self._trees: Sequence[Tree] = ()
        self._turn: tuple[GroupRow, Sequence[EventRow]] | None = None
        self._kept: OrderedDict[tuple[object, ...], EventParts] = OrderedDict()
        self._turned: dict[int, dict[str, dict[str, bool]]] = {}
        self._copies: tuple[str, int] = ("", 0)

    def forget(self) -> None:
        """Forget the events: another trace is on the screen, or this one has changed."""
        self._turned.clear()
        self._kept.clear()

    def ask_event(self) -> None:
        """Ask for the event under the cursor, and for the state if that is shown."""
        trace = self._reading.trace
        if trace is None or not trace.listed:
            self._screen.pane.put([])
            return
        trace_id, seq, mode = self._reading.trace_id, self._reading.seq, self.mode
        desk = self._screen.shell.desk
        turned, budget = self._turned.setdefault(seq, {}), max(8, self._screen.pane.body - 4)
        row, listing = self._screen.grid.current, self._reading.listing
        shown = isinstance(row, GroupRow) and row.kind == "turn" and mode == MODES[0]
        turn = row if shown and listing is not None and isinstance(row, GroupRow) else None

        def look() -> EventParts:
            detail = desk.traces.event(trace_id, seq)
            state = desk.traces.state(trace_id, seq) if mode == "state" else None
            trees = _trees(detail, state, mode, turned, budget)
            for tree in trees:
                tree.entries(80)  # reads what the first lines need
            if turn is None or listing is None:
                return EventParts(detail, state, trees)
            places = listing.nodes[turn.node].places[:OF_A_TURN]
            rows = desk.traces.listed(trace_id, listing, places)
            return EventParts(
                detail, state, trees, (turn, [each for each in rows if isinstance(each, EventRow)])
            )

        place = seq, mode, budget, turn
        kept = self._kept.get(place)
        if kept is not None:
            self._screen.ask("event", lambda: kept, self._show, self._no_event)
            return

        def land(found: EventParts) -> None:
            if trace_id == self._reading.trace_id:
                self._keep(place, found)
            self._show(found)

        self._screen.ask("event", look, land, self._no_event)

    def draw(self, *, stay: bool = False) -> None:
        """Draw the chosen event; `stay` while the reader is in it."""
        if self._reading.trace is None or self.detail is None:
            return
        title = turn_title(self._turn[0]) if self._turn else event_title(self.detail)
        room = self._screen.pane.size.width - sum(len(span.text) for span in title) - 16
        note = mode_note(self.mode, room)
        self._screen.pane.put(self._parts(self.detail), title, note, stay=stay)
        if not stay:
            self._screen.finding.seek_in_pane()

    def _keep(self, place: tuple[object, ...], found: EventParts) -> None:
        """Cache the last events, unless they are large."""
        if len(found.detail.raw) <= MOST_KEPT:
            self._kept[place] = found
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def _no_event(self, error: DeskError) -> None:
        """Show the error in the pane, which must not go on showing another event than the one under
        the cursor."""
        self.detail = None
        said = [Block(error.text, "text", [Span("✗ ", "fail")])]
        said += [Block(f"  {way}", "dim") for way in error.ways_out]
        self._screen.pane.put([Entry(each) for each in said])
        self._screen.refused(error)

    def _show(self, found: EventParts) -> None:
        self.detail, self.state, self._trees, self._turn = found
        self.draw()

    def _parts(self, detail: EventDetail) -> Sequence[Part]:
        if self._turn is not None:
            turn, rows = self._turn
            return turn_parts(rows, turn.events - len(rows))
        if self._reading.trace is None or self.mode == "raw":
            return self._trees
        if self.mode == "source":
            return source_parts(self._reading.trace)
        if self.mode == "state" and self.state is not None:
            tree = self._trees[0] if self._trees else None
            return state_parts(self.state, detail.row.seq, tree)
        return event_parts(detail, self._reading.trace, self._reading.notes, self._trees)

    def view(self) -> None:
        """Switch between the event, the state after it, raw and source."""
        self.look(MODES[(MODES.index(self.mode) + 1) % len(MODES)])

    def look(self, mode: str) -> None:
        """Show the event, the state after it, raw or source."""
        self.mode = mode
        self.ask_event()

    def copy_value(self) -> None:
        """Copy the value; again its pointer; again the trace id."""
        if self.detail is None:
            return
        what, pointer, text = self._value(self.detail)
        place, turn = self._copies
        here = f"{self._reading.trace_id} {pointer} {what}"
        turn = (turn + 1) % 3 if place == here else 0
        self._copies = (here, turn)
        if turn == 1:
            self._screen.copy(pointer, "pointer")
        elif turn == 2:
            self._screen.copy(self._reading.trace_id, "trace id")
        elif len(text) > MOST_COPIED:
            many = f"{len(text):,} characters are too many for a clipboard: o opens them"
            self._screen.say(many, "fail")
        else:
            self._screen.app.copy_to_clipboard(text)
            told = f"copied {what}, {len(text):,} characters; y again: {pointer}"
            self._screen.say(visible_line(told))

    def _value(self, detail: EventDetail) -> tuple[str, str, str]:
        """Return (name, JSON pointer, text) of the value under the cursor of the pane, else of the
        whole pane."""
        whole = f"/events/{detail.position}"
        here = self._screen.pane.current if self._screen.pane.has_focus else None
        if here is not None and here.raw is not None:
            return here.pointer.rpartition("/")[2], here.pointer or whole, here.value()
        if here is not None:
            return "the line", whole, here.value()
        if self.mode == "state" and self.state is not None:
            return "the state", self.state.pointer or whole, self.state.text
        if self.mode == "event":
            for name in ("observation", "message", "arguments", "state", "approval"):
                if text := detail.text(name):
                    return f"the {name}", f"{whole}/{name}", text
        return "the event", whole, detail.raw.decode("utf-8", "replace")

    def pager(self) -> None:
        """Open the value under the cursor of the pane in $PAGER, else all that the pane shows."""
        self._lend("pager", "less")

    def editor(self) -> None:
        """Open the same in $EDITOR, as a copy; edits to the copy are dropped."""
        self._lend("editor", "vi")

    def _lend(self, program: str, otherwise: str) -> None:
        from reviewer.tui.widgets.textview import open_in_program

        if not open_in_program(self._screen.app, self._whole_text(), program.upper(), otherwise):
            ways = "tab goes to the pane, / searches it"
            self._screen.say(f"no {program} can be opened here: {ways}")

    def _whole_text(self) -> str:
        here = self._screen.pane.current if self._screen.pane.has_focus else None
        if here is not None and here.raw is not None:
            return here.value()
        parts = []
        for part in self._screen.pane.parts:
            if isinstance(part, Tree):
                parts.append(f"{part.label}\n{part.whole()}")
            else:
                parts.append("".join(span.text for span in part.block.head) + part.block.text)
        return "\n".join(parts)


def _trees(
    detail: EventDetail, state: StateView | None, mode: str, turned: Turned, budget: int
) -> Sequence[Tree]:
    if mode == "state":
        return [state_tree(state, turned, budget)] if state is not None and state.raw else []
    if mode == "raw":
        return [raw_tree(detail, turned, budget)]
    return event_trees(detail, turned, budget) if mode == "event" else []
