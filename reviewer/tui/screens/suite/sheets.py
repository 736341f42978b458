"""The three lists of the suite screen: episodes, agents by episode, clauses."""

from collections.abc import Sequence
from typing import NamedTuple

from reviewer.desk.trials.views import Cell, Trial, TriedEpisode
from reviewer.desk.workspace.views import EpisodeContents
from reviewer.suite.model import TRIAL_AGENTS
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import STATES
from reviewer.tui.widgets.lines import (
    Column,
    Line,
    Sheet,
    Span,
    cut,
    heading,
    in_order,
    middle,
    pad,
)
from reviewer.tui.widgets.words import SHORT, plural

NARROW = {
    "oracle": "oracle",
    "no-op": "no-op",
    "refuser": "refuser",
    "obedient": "obeys",
    "no-verify": "noverif",
    "repeater": "repeats",
    "leaker": "leaks",
    "liar": "lies",
}
"""Names of the trial agents where columns are narrow."""
_GATES = {
    "completeness": "compl",
    "redaction": "redact",
    "authority": "auth",
    "process": "proc",
    "timeout": "time",
}
"""Names of gates of at most six columns, for gates with longer names."""
SMALL = 80


def cell_words(agent: str, cell: Cell, width: int, *, hole: bool, waived: bool = False) -> Line:
    """Return the result of an agent in an episode: a hole is filled red unless it is waived, a bad
    agent that was stopped is plain."""
    good = agent == "oracle"
    if hole and waived:
        return [Span(pad("~ waived" if width > 8 else "~waive", width), "advisory")]
    if cell.outcome == "passed":
        if good:
            return [Span("✓ pass", "pass")]
        if not hole:
            return [Span("passes" if width > 8 else "pass", "dim")]
        return [Span(pad("! PASSES" if width > 8 else "!PASS", width), "fail-cell")]
    if cell.outcome == "same":
        return [Span("as oracle" if width > 8 else "same", "dim")]
    if cell.outcome == "infrastructure":
        return [Span("† infra", "infra")]
    if cell.outcome == "not_measured":
        return [Span("○ n/m", "not_measured")]
    gate = cell.worst
    name = SHORT.get(gate, gate) if width > 8 else _GATES.get(gate, gate)
    glyph = STATES["critical" if cell.critical else "fail"].glyph
    more = len(cell.gates) - 1
    text = f"{glyph} {name}" if width > 8 else f"{glyph}{name}"
    text += f" +{more}" if more and width >= 15 else ""
    return [Span(pad(cut(text, width), width), "fail-cell" if good else "text")]


class Unread(Sheet):
    """No column: there is no row yet."""

    columns = ()

    def cells(self, row: object) -> Sequence[Line]:
        return ()


class TrialSheet(Sheet):
    """A row for each episode, a column for each agent; below them how often each was stopped."""

    def __init__(self, width: int, trial: Trial) -> None:
        self._trial = trial
        self._waived = {one.agent for one in trial.agents if one.waiver is not None}
        self._agents = TRIAL_AGENTS if width >= SMALL else TRIAL_AGENTS[:1]
        each = 7 if width < 120 else 11 if width < 180 else 16
        name = max(12, width - 3 - (each + 1) * len(self._agents))
        if width < SMALL:
            name = max(12, width - 3 - 8 - 20)
        name = min(name, 60)
        columns = in_order([("episode", name), *((agent, each) for agent in self._agents)])
        self.columns = [column._replace(cell=column.key != "episode") for column in columns]
        if width < SMALL:
            last = self.columns[-1]
            self.columns.append(Column("stopped", last.x + last.width + 2, 18))
        self._name = name
        self.header = [[Span(self._heads(narrow=each < 9), "dim")]]
        self.totals = [self._stopped(trial)]

    def _heads(self, *, narrow: bool) -> str:
        line = ""
        for column in self.columns:
            name = NARROW.get(column.key, column.key) if narrow else column.key
            line = pad(line, column.x) + name
        return line

    def _stopped(self, trial: Trial) -> Line:
        line: list[Span] = [Span(pad("  stopped in", self.columns[1].x), "dim")]
        for column in self.columns[1:]:
            cells = [one.cells[column.key] for one in trial.episodes if column.key in one.cells]
            there = [cell for cell in cells if cell.outcome != "same"]
            caught = sum(cell.outcome == "caught" for cell in there)
            text = f"{caught} of {len(there)}" if cells else ""
            line.append(Span(pad(text, column.width + 1), "dim"))
        return line

    def flag(self, row: TriedEpisode) -> Span:
        return Span("!", "fail") if self._trial.open_holes(row) else Span(" ")

    def cells(self, row: TriedEpisode) -> Sequence[Line]:
        name: Line = [Span(middle(visible_line(row.episode_id), self._name))]
        if not row.cells:
            told: Line = [Span("○ n/m", "not_measured")]
            return [name, *(told for _ in self.columns[1:])]
        drawn: list[Line] = [name]
        holes = self._trial.holes(row)
        for column in self.columns[1:]:
            if column.key == "stopped":
                bad = [agent for agent in holes if agent != "oracle"]
                word = f"{plural(len(bad), 'hole')}" if bad else "no hole"
                drawn.append([Span(word, "fail" if bad else "dim")])
            else:
                cell, hole = row.cells[column.key], column.key in holes
                waived = column.key in self._waived
                words = cell_words(column.key, cell, column.width, hole=hole, waived=waived)
                drawn.append(words)
        return drawn


class EpisodeSheet(Sheet):
    """A row for each episode: its requirements, and what it forbids."""

    def __init__(self, width: int) -> None:
        roomy, wide = width >= 120, width >= 180
        sizes = [("category", 9), ("clauses", 7)]
        limits = 26 if roomy else 0
        names = 22 if width < 120 else 30 if not wide else 44
        rest = max(20, width - 3 - names - sum(size + 1 for _, size in sizes) - limits - 2)
        wanted, banned = rest * 3 // 5, rest - rest * 3 // 5 - 1
        sizes = [("episode", names), *sizes, ("requires", wanted), ("forbids", banned)]
        if limits:
            sizes.append(("limits", limits))
        self.columns = in_order(sizes)
        self.header = heading(self.columns, ("clauses",))

    def cells(self, row: EpisodeContents) -> Sequence[Line]:
        widths = {column.key: column.width for column in self.columns}
        drawn = {
            "episode": Span(middle(visible_line(row.episode_id), widths["episode"])),
            "category": Span(row.category, "dim"),
            "clauses": Span(pad(f"{len(row.clauses):,}", 7, right=True), "dim"),
            "requires": _names(row.required, widths["requires"]),
            "forbids": _names(row.forbidden, widths["forbids"]),
            "limits": Span(row.limits or "none", "dim"),
        }
        return [[drawn[column.key]] for column in self.columns]


def _names(names: Sequence[str], width: int) -> Span:
    """Return as many names as fit, and the number of the others."""
    if not names:
        return Span("nothing", "dim")
    shown = [visible_line(name) for name in names]
    for kept in range(len(shown), 0, -1):
        more = f" +{len(shown) - kept}" if kept < len(shown) else ""
        text = ", ".join(shown[:kept]) + more
        if len(text) <= width:
            return Span(text)
    return Span(middle(shown[0], width))


class ClauseRow(NamedTuple):
    """A clause; `tested` is None without a trial. The episode "" is the suite's policy."""

    episode_id: str
    place: str
    clause: str
    tested: bool | None


class ClauseSheet(Sheet):
    """A row for each clause, those that no agent tests first."""

    def __init__(self, width: int) -> None:
        names = 18 if width < 120 else 30
        place = 26 if width < 120 else 36
        told = max(12, width - 3 - names - place - 12 - 3)
        self.columns = in_order(
            [("state", 10), ("episode", names), ("where", place), ("clause", told)]
        )
        self.header = heading(self.columns)

    def cells(self, row: ClauseRow) -> Sequence[Line]:
        widths = {column.key: column.width for column in self.columns}
        state = {
            True: Span("✓ tested", "pass"),
            False: Span("○ untested", "not_measured"),
            None: Span("○ n/m", "not_measured"),
        }[row.tested]
        name = visible_line(row.episode_id) or "suite.json"
        return [
            [state],
            [Span(middle(name, widths["episode"]))],
            [Span(middle(visible_line(row.place.removeprefix("$.")), widths["where"]), "dim")],
            [Span(cut(visible_line(row.clause), widths["clause"]))],
        ]
