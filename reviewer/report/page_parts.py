"""The parts of a page: its sections, and the supplement that renderings show next to the report.

HTML and Markdown are drawn from sections. Nothing in a section is escaped: a rendering passes every
text through `visible_line` and its own escape.

The supplement is the grid, attempts by number and events of failing traces, which the desk reads
from the store. It is not part of report.json, and nothing is decided by it: the report itself names
the traces by id and digest.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import UNSET, Struct

from reviewer.report.model import EpisodeSection, Failure, Report
from reviewer.suite.gates import CRITICAL_GATES

MOST_ROWS = 200
"""Episodes of the grid; of more, those that did not pass every attempt, and the number of the
others."""
MOST_EXCERPTS = 20
"""Failing traces whose events are shown, critical ones first; report.json has all of them."""
AROUND = 2
"""Events shown before and after the one that broke a gate."""
MOST_EVENTS = 12
MOST_TEXT = 600
"""Characters of one field of an event."""
MOST_NUMBERED = 50_000
"""Attempts above which JUnit counts passing attempts instead of listing them."""


class AttemptFact(Struct, frozen=True):
    """One attempt, made or planned; `mark` as in `marks.GLYPHS`, milliseconds or None."""

    attempt: int
    mark: str
    latency_ms: float | None = None


class ScoreCell(Struct, frozen=True):
    """One gate over the attempts of an episode: the worst verdict, and the number of failures."""

    mark: str
    failed: int
    attempts: int


class ScoreRow(Struct, frozen=True, kw_only=True):
    """One episode of the grid. `cells` are aligned with the report's `gates`."""

    episode_id: str
    title: str
    cells: tuple[ScoreCell, ...]
    attempts: tuple[AttemptFact, ...]
    pass_hat: float | None
    mean_cost_usd: float | None
    latency_p50_ms: float | None


class ShownEvent(Struct, frozen=True, kw_only=True):
    """One event in readable form; `title` is the tool of a call. `parts` are (field, text), as
    masked when stored; `mark` and `codes` are those of its findings."""

    seq: int
    kind: str
    title: str
    status: str | None
    latency_ms: float | None
    mark: str | None
    codes: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]


class Excerpt(Struct, frozen=True, kw_only=True):
    """The events of a failing trace around those that broke a gate, in order, with gaps between.

    `findings` are (gate, code, seq, detail). `events` is empty when the payload is not kept, and
    `why` gives the reason; `of` counts the events of the trace.
    """

    trace_id: str
    mark: str
    findings: tuple[tuple[str, str, int | None, str], ...]
    events: tuple[ShownEvent, ...] = ()
    of: int = 0
    why: str = ""


class Supplement(Struct, frozen=True, kw_only=True):
    """Everything that a rendering may show next to its report; parts that were not gathered are
    empty.

    `attempts` is by episode id. `suite_path` is the suite's folder relative to the root of its
    repository, with slashes; empty for a suite without a folder.
    """

    report_sha256: str = ""
    rows: tuple[ScoreRow, ...] = ()
    attempts: Mapping[str, tuple[AttemptFact, ...]] = {}
    excerpts: tuple[Excerpt, ...] = ()
    suite_path: str = ""


NOTHING = Supplement()


def chosen_rows(report: Report) -> list[str]:
    """Return the episodes of the grid in the suite's order: all of them, or as many as fit of the
    episodes that did not pass every planned attempt, the worst first."""
    episodes = report.episodes
    if len(episodes) <= MOST_ROWS:
        return [e.episode_id for e in episodes]
    plan = report.repeatability.attempts_per_episode
    ranked = sorted((_rank(e, plan), n) for n, e in enumerate(episodes) if _rank(e, plan) < 4)
    return [episodes[n].episode_id for n in sorted(n for _, n in ranked[:MOST_ROWS])]


def _rank(episode: EpisodeSection, plan: int) -> int:
    """Return 0 for critical, 1 for failing, 2 for not measured, 3 for missing attempts, 4 for all
    passed."""
    for rank, count in enumerate((episode.critical, episode.fail, episode.not_measured)):
        if count:
            return rank
    return 3 if episode.attempts < plan else 4


def rest_of_rows(report: Report, shown: int) -> str:
    """Return a sentence on the episodes that are not in the grid; empty when none is left out."""
    episodes = report.episodes
    if shown >= len(episodes):
        return ""
    plan = report.repeatability.attempts_per_episode
    passed = sum(_rank(e, plan) == 4 for e in episodes)
    troubled = len(episodes) - passed
    said = f"{shown:,} of {len(episodes):,} episodes are shown, the worst. "
    if troubled > shown:
        said += f"{troubled - shown:,} more did not pass every attempt. "
    return f"{said}{passed:,} passed every attempt. All of them are in report.json."


def chosen_traces(report: Report) -> list[Failure]:
    """Return the members of `failures` whose events are shown: critical ones first, each kind in
    order; attempts lost to infrastructure are left out, because they failed no gate."""
    failed = [t for t in report.failures if t.evidence or not t.infrastructure]
    return sorted(failed, key=lambda t: not t.critical)[:MOST_EXCERPTS]


def window(wanted: list[int], events: int) -> list[int]:
    """Return the positions, from 0 and in order, of the events to show: those around each position
    in `wanted`, the first of them first while there is room; the last events when `wanted` is
    empty."""
    if not wanted:
        return list(range(max(0, events - 2 * AROUND - 1), events))
    taken: set[int] = set()
    for reach in range(AROUND + 1):
        for at in dict.fromkeys(wanted):
            for position in (at - reach, at + reach):
                if 0 <= position < events and len(taken) < MOST_EVENTS:
                    taken.add(position)
    return sorted(taken)


class Finding(NamedTuple):
    """One finding of one failing trace, as report.json holds it."""

    trace: Failure
    gate: str
    code: str
    seq: int | None

    @property
    def counts(self) -> bool:
        """Return whether it counts against a promotion: after the first complete set only blocking
        failures and those of moved attempts do."""
        trace = self.trace
        moved = trace.moved_from is not UNSET
        return trace.critical or self.gate == "state" or moved or not trace.extra


def findings(report: Report) -> list[Finding]:
    """Return every finding of every failing trace: critical traces first, and within a trace the
    findings of critical gates first. Attempts lost to infrastructure have none, because they failed
    no gate."""
    traces = sorted(report.failures, key=lambda trace: not trace.critical)
    return [
        Finding(trace, one.gate, one.code, one.seq)
        for trace in traces
        if not trace.infrastructure
        for one in sorted(trace.evidence, key=lambda one: one.gate not in CRITICAL_GATES)
    ]


def episode_file(suite_path: str, episode_id: str) -> str:
    """Return the file that holds an episode's contract; empty where the suite has no folder."""
    return f"{suite_path}/episodes/{episode_id}.json" if suite_path else ""


def suite_file(suite_path: str) -> str:
    """Return the file that holds the suite's policy; empty where the suite has no folder."""
    return f"{suite_path}/suite.json" if suite_path else ""


Terms = list[tuple[str, str]]
"""(the figure's name in its table, the sentence that explains it)."""


class Section(Struct, frozen=True):
    """One section. `rows` are aligned with `head`; `code` are lines to type; `terms` explain its
    figures, each with its denominator and method. `level` is the level of its heading, and
    `excerpt` the trace whose events it shows."""

    title: str
    lines: list[str] = []
    items: list[str] = []
    head: list[str] = []
    rows: list[list[str]] = []
    code: list[str] = []
    terms: Terms = []
    level: int = 2
    excerpt: Excerpt | None = None

    @property
    def empty(self) -> bool:
        """Return whether the section has nothing but its title."""
        return not (self.lines or self.items or self.rows or self.code)
