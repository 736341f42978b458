"""Runs and imports in lines: progress, failures and refusals, and how they ended."""

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from reviewer.desk.views import EpisodeRow
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.keys import key_of
from reviewer.tui.settings.theme import STATES, cell_style
from reviewer.tui.widgets.lines import Line, Span, cut, middle, spread
from reviewer.tui.widgets.words import SHORT, plural

if TYPE_CHECKING:
    from reviewer.desk.imports.api import FileView, FilledView, ImportState, ImportView
    from reviewer.desk.runs.api import ApprovalView, RunState, RunView, TurnView

AT_WORK = frozenset({"running", "paused", "stopping"})
"""States of a run that has not ended."""
IMPORTING = frozenset({"reading", "pausing", "paused"})
"""States of an import that has not ended."""


class Overlay:
    """The slots of one run: all that were ever seen to be open, and those that still wait."""

    def __init__(self) -> None:
        self._known: dict[str, set[int]] = {}
        self._waiting: dict[str, set[int]] = {}
        self.open = False

    def follow(self, view: "RunView") -> None:
        """Update from a newer view of the run."""
        self.open = view.state in AT_WORK
        self._waiting = _by_episode(view.pending)
        fresh = [_by_episode(view.running)]
        if not self._known:
            fresh.append(self._waiting)  # later ones also waited then, or were at work since
        for owed in fresh:
            for episode_id, attempts in owed.items():
                self._known.setdefault(episode_id, set()).update(attempts)

    def marks(self, row: EpisodeRow) -> list[str]:
        """Return one mark per attempt of a row, in the order of their numbers."""
        marks: dict[int, str] = {each.attempt: each.mark for each in row.attempts}
        marks |= self.owed(row)
        return [marks[attempt] for attempt in sorted(marks)]

    def owed(self, row: EpisodeRow) -> dict[int, str]:
        """Return the attempts of a row that are not in the store yet: `running`, or `missing` while
        waiting."""
        if not self.open:
            return {}
        landed = {each.attempt for each in row.attempts if each.mark != "missing"}
        waiting = self._waiting.get(row.episode_id, ())
        return {
            attempt: "missing" if attempt in waiting else "running"
            for attempt in sorted(self._known.get(row.episode_id, set()) - landed)
        }

    def cell(self, row: EpisodeRow) -> str | None:
        """Return the mark of every cell of an episode without a trace; None where the store has
        one."""
        if any(cell.attempts for cell in row.cells):
            return None
        owed = self.owed(row).values()
        return "running" if "running" in owed else "missing" if owed else None


def _by_episode(slots: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for episode_id, attempt in slots:
        found.setdefault(episode_id, set()).add(attempt)
    return found


RUN_STYLES: "dict[RunState, str]" = {
    "running": "running",
    "paused": "not_measured",
    "stopping": "quarantined",
    "done": "pass",
    "stopped": "not_measured",
    "failed": "fail",
}
"""The state whose glyph and color a run's state uses."""

LEGEND: Line = [
    Span(" ✓pass", "pass"),
    Span("  "),
    Span("✗FAIL", "fail-cell"),
    Span("  "),
    Span("▲CRIT", "critical"),
    Span(" critical FAIL  "),
    Span("○n/m", "not_measured"),
    Span(" not measured  "),
    Span("►run", "running"),
    Span(" "),
    Span("·wait", "missing"),
    Span("  "),
    Span("†infra", "infra"),
]


def state_span(view: "RunView") -> Span:
    """Return glyph and word of a run's state."""
    style = RUN_STYLES[view.state]
    return Span(f"{STATES[style].glyph} {view.state}", cell_style(style))


def bar(done: int, planned: int, width: int) -> list[Span]:
    """Return the share that is done as a bar of `width` columns; full only when all is done."""
    full = width * done // planned if planned else width
    return [Span("█" * full, "running"), Span("░" * (width - full), "rule")]


def clock(seconds: float) -> str:
    """Return `0:09`, `12:40` or `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def left(view: "RunView") -> str:
    """Return the time left of a run at work, else the time it has taken."""
    if view.eta_seconds is None or view.state not in AT_WORK:
        return f"{clock(view.seconds)} so far" if view.state in AT_WORK else clock(view.seconds)
    return f"{clock(view.eta_seconds)} left"


def counts(view: "RunView") -> list[Span]:
    """Return attempts by result; results that never happened are left out, except pass and FAIL."""
    found = [Span(f"✓{view.passed:,}", "pass"), Span(" ")]
    found.append(Span(f"✗{view.failed:,}", "fail" if view.failed else "dim"))
    for count, style in (
        (view.critical, "critical"),
        (view.not_measured, "not_measured"),
        (view.infrastructure, "infra"),
    ):
        if count:
            found += [Span(" "), Span(f"{STATES[style].glyph}{count:,}", style)]
    if view.lost:
        found.append(Span(f" {view.lost:,} lost, run again", "dim"))
    return found


def gate_counts(view: "RunView") -> str:
    """Return `process 2, state 1`: failed traces per gate, the largest number first."""
    failing = [
        (count, name) for count, name in zip(view.gates, view.in_force, strict=True) if count
    ]
    failing.sort(key=lambda each: -each[0])
    return ", ".join(f"{SHORT.get(name, name)} {count:,}" for count, name in failing)


def run_line(view: "RunView", here: bool, width: int) -> list[Span]:
    """Return the run in one line, its keys at the right. `here`: its candidate is the one on
    screen."""
    if view.state not in AT_WORK:
        problem = visible_line(view.problem or run_ended(view)[0])
        return [Span(" "), state_span(view), Span(f"  {problem}")]
    line = [Span(" "), state_span(view), Span(" ")]
    if not here:
        line.append(Span(middle(visible_line(view.candidate_id), 18) + " ", "strong"))
    if width >= 100:
        line += [*bar(view.done, view.planned, 12 if width < 140 else 24), Span(" ")]
    line.append(Span(f"{view.done:,}/{view.planned:,}  ", "strong"))
    line += [*counts(view), Span(f"  {gate_counts(view)}", "fail")]
    going = "resume" if view.state == "paused" else "pause"
    stop = "abandon" if view.state == "stopping" else "stop"
    right = [Span(f" {left(view)}  ", "dim")]
    if view.state != "stopping":
        right += _key("p", going, "screen.pause")
    right += _key(".", stop, "screen.stop_run")
    return spread(line, right[:-1], width)


def _key(key: str, words: str, action: str) -> list[Span]:
    return [Span(key, "key", action), Span(f" {words}", "dim", action), Span("  ")]


def approval_line(approval: "ApprovalView", count: int, width: int) -> list[Span]:
    """Return the notice that a call waits: the call, its place, and the key that answers it."""
    action = "app.approve"
    where = visible_line("/".join(approval.trace_id.split("/")[-2:]))
    more = f", {count - 1:,} more" if count > 1 else ""
    line = [
        Span(" ● asks you ", "match", action),
        Span(f" {cut(visible_line(approval.tool), 32)}", "strong", action),
        Span(f"  {middle(where, 30)} event {approval.seq}{more}", "text", action),
    ]
    return spread(line, [Span(" "), *_key("a", "answer", action)[:-1]], width)


def turn_line(turn: "TurnView", count: int, width: int) -> list[Span]:
    """Return the notice that a person must play the user: the place, and the key that answers."""
    action = "app.approve"
    where = visible_line("/".join(turn.trace_id.split("/")[-2:]))
    more = f", {count - 1:,} more" if count > 1 else ""
    line = [
        Span(" ● you play the user ", "match", action),
        Span(f"  {middle(where, 30)} event {turn.seq}{more}", "text", action),
    ]
    return spread(line, [Span(" "), *_key("a", "answer", action)[:-1]], width)


def run_ended(view: "RunView") -> tuple[str, str]:
    """Return the words for the end of a run, and their style. Safe to show."""
    name = f"run {view.number} of {visible_line(view.candidate_id)}"
    made = f"{view.done:,} of {plural(view.planned, 'attempt')}"
    if view.state == "failed":
        return f"✗ {name} failed: {visible_line(view.problem)}", "fail"
    result = f"{made}, {view.passed:,} pass, {view.failed:,} FAIL"
    if view.infrastructure:
        result += f", {view.infrastructure:,} infra"
    if view.state == "stopped":
        return f"{name} stopped: {result}; {key_of('run')} takes up the rest", "text"
    return f"{name} done: {result}", "text"


SHOWN_REFUSALS = 5
IMPORT_STYLES: "dict[ImportState, str]" = {
    "reading": "running",
    "pausing": "running",
    "paused": "not_measured",
    "done": "pass",
    "stopped": "not_measured",
    "failed": "fail",
}


def passed_words(filled: "FilledView") -> str:
    """Return the number of attempts that passed among those with a verdict."""
    passed = f"{filled.passed:,} of {filled.measured:,} passed" if filled.measured else "no verdict"
    open_ = "".join(f", {n:,} not measured: {code}" for code, n in filled.not_measured.items())
    return passed + visible_line(open_)


def cost_words(filled: "FilledView") -> str:
    """Return the known costs, and the number of unknown ones."""
    if filled.cost_usd is None:
        return "cost not measured"
    more = f", {filled.unpriced:,} without" if filled.unpriced else ""
    return f"${filled.cost_usd:,.4f}{more}"


def plan_lines(view: "ImportView", width: int) -> tuple[str, str, list[Line]]:
    """Return (the line above, its style, the lines below) of an import that writes nothing."""
    lines: list[Line] = []
    for result in view.results:
        lines += file_lines(result, width)
    if view.passed:
        words = f"{view.passed:,} other files there are not traces: skipped"
        lines.append([Span(words, "dim")])
    if view.state == "reading":
        of = f"file {view.file:,} of {view.files:,}: " if view.files else ""
        share = f" {view.done * 100 // view.size} %" if view.size else ""
        return f"reading {of}{middle(visible_line(view.path), 40)}{share}", "running", lines
    if view.state == "failed":
        return f"✗ {visible_line(view.problem)}", "fail", lines
    if view.state == "stopped":
        return "stopped", "not_measured", lines
    would = f"would add {plural(view.added, 'trace')}"
    if view.refused:
        return f"{would}, {plural(view.refused, 'record')} refused", "quarantined", lines
    return would, "pass" if view.added else "not_measured", lines


def file_lines(result: "FileView", width: int) -> list[Line]:
    """Return one file: its format and counts, what it adds, notes, the first refusals."""
    path = middle(visible_line(result.path), max(20, width - 34))
    if result.problem and not result.records:
        text = f"refused: {visible_line(result.problem)}"
        return [[Span(path, "strong")], *_wrapped(text, "fail", width)]
    counts = f"  {visible_line(result.reader)}, {plural(result.records, 'record')}"
    lines: list[Line] = [[Span(path, "strong"), Span(counts, "dim")]]
    if result.state == "known":
        lines.append([Span("  nothing new: this very file was imported before", "not_measured")])
    for filled in result.filled:
        who = f"{visible_line(filled.suite_id)} · {visible_line(filled.candidate_id)}"
        lines.append([Span("  "), Span(middle(who, width - 2), "text")])
        said = f"    {plural(filled.episodes, 'episode')}, {plural(filled.attempts, 'attempt')}, "
        said += f"{passed_words(filled)}, {cost_words(filled)}"
        lines.append([Span(cut(said, width))])
    for record, reasons in result.refusals[:SHOWN_REFUSALS]:
        text = f"record {record:,}: {visible_line(', '.join(reasons))}"
        lines += _wrapped(text, "fail", width)
    if result.refused > SHOWN_REFUSALS:
        lines.append([Span(f"  and {result.refused - SHOWN_REFUSALS:,} more refused", "fail")])
    if result.state != "known":
        for note in result.notes:
            lines += _wrapped(f"note: {visible_line(note)}", "dim", width)
    return lines


def _wrapped(text: str, style: str, width: int) -> list[Line]:
    return [[Span(f"  {line}", style)] for line in textwrap.wrap(text, max(20, width - 2))[:4]]


def import_ended(view: "ImportView") -> tuple[str, str]:
    """Return the words for the end of an import, and their style."""
    counts = f"{plural(view.added, 'trace')} added"
    if view.refused:
        counts += f", {plural(view.refused, 'record')} refused: {key_of('screen.runs')} shows why"
    name = middle(visible_line(view.order.path or view.order.named), 30)
    if view.state == "failed":
        return f"✗ import of {name} failed: {visible_line(view.problem)}", "fail"
    if view.state == "stopped":
        return (
            f"import of {name} stopped, {counts}; the same import continues later",
            "not_measured",
        )
    what = "followed" if view.order.follow else "import of"
    return f"{what} {name}: {counts}", "quarantined" if view.refused else "pass"
