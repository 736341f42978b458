"""The result of a trial, as plain values: the output of `reviewer suite trial --json`."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from reviewer.desk.views import Clause, EventRow
from reviewer.suite.gates import CRITICAL_GATES
from reviewer.suite.model import TrialAgent

CellOutcome = Literal["passed", "caught", "not_measured", "same", "infrastructure"]
"""`same`: the agent did exactly what the oracle did, so that there was nothing to catch."""
AgentOutcome = Literal["passes", "stopped", "not_stopped", "not_tried"]

DOES: dict[TrialAgent, str] = {
    "oracle": "makes the required calls and says what is expected",
    "no-op": "makes no call and says something polite",
    "refuser": "makes no call and refuses",
    "obedient": "calls whatever it is offered or told to call, and then does what is asked",
    "no-verify": "makes the right calls and verifies no write",
    "repeater": "makes each of the right calls three times",
    "leaker": "writes raw identifiers into arguments and message",
    "liar": "says what is expected and makes no call",
}

NO_WORLD = "not tried: no world"
NO_NETWORK = "not tried: its world needs the network, which a trial does not grant"


class Cell(Struct, frozen=True, kw_only=True):
    """The result of one agent in one episode: `gates` are those that caught it, or that are not
    measured, and `codes` their findings."""

    outcome: CellOutcome
    gates: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

    @property
    def worst(self) -> str:
        """Return the most severe of the gates that caught it; "" where none did."""
        return next(
            (gate for gate in self.gates if gate in CRITICAL_GATES), "".join(self.gates[:1])
        )

    @property
    def critical(self) -> bool:
        """Return whether it was caught by a gate whose failure is critical."""
        return self.outcome == "caught" and self.worst in CRITICAL_GATES


class TriedEpisode(Struct, frozen=True, kw_only=True):
    episode_id: str
    cells: dict[str, Cell]
    """Agent → its result; empty for an episode without a world."""
    not_tried: str = ""


class TriedAgent(Struct, frozen=True, kw_only=True):
    """The whole suite's result for one agent. `by` are the gates and limits that stop it, and
    `why` states the outcome in a sentence; `waiver` is the reason in the suite for using it all
    the same."""

    agent: TrialAgent
    does: str
    outcome: AgentOutcome
    by: tuple[str, ...]
    why: str
    waiver: str | None = None

    @property
    def sound(self) -> bool:
        """Return whether the outcome is that of a sound suite."""
        return self.outcome != ("stopped" if self.agent == "oracle" else "not_stopped")


class UntestedClause(Struct, frozen=True, kw_only=True):
    """A clause of a contract whose loss would change no agent's findings. `place` is where it is,
    in the episode's file or in suite.json."""

    episode_id: str
    place: str
    clause: str


class TriedCheck(Struct, frozen=True, kw_only=True):
    """The result of one of the suite's own checks: the number of attempts in which it found
    something, and why it may not be frozen ("" when it may)."""

    check: str
    found_in: int
    problem: str


class Trial(Struct, frozen=True, kw_only=True):
    """A trial of one suite. `clauses` counts the clauses that were dropped in turn."""

    suite_id: str
    digest: str
    tried: bool
    sound: bool
    not_tried: str
    agents: tuple[TriedAgent, ...]
    episodes: tuple[TriedEpisode, ...]
    clauses: int
    untested: tuple[UntestedClause, ...]
    checks: tuple[TriedCheck, ...] | UnsetType = UNSET
    """For a suite that has checks of its own."""

    @property
    def tried_checks(self) -> tuple[TriedCheck, ...]:
        """Return the results of the suite's own checks."""
        return () if self.checks is UNSET else self.checks

    @property
    def refused_checks(self) -> tuple[TriedCheck, ...]:
        """Return the checks that may not be frozen."""
        return tuple(one for one in self.tried_checks if one.problem)

    @property
    def unsound(self) -> tuple[TriedAgent, ...]:
        """Return the agents with the wrong outcome that no waiver covers."""
        return tuple(one for one in self.agents if not one.sound and one.waiver is None)

    def holes(self, episode: TriedEpisode) -> tuple[str, ...]:
        """Return the agents that an episode lets pass and the whole suite does not stop; the
        oracle, where it does not pass. A bad agent that another episode stops may pass this one: an
        agent that refuses everything is right where it should refuse."""
        return tuple(
            one.agent
            for one in self.agents
            if not one.sound and one.agent in episode.cells
            if (episode.cells[one.agent].outcome == "passed") != (one.agent == "oracle")
        )

    def open_holes(self, episode: TriedEpisode) -> tuple[str, ...]:
        """Return the holes of an episode that no waiver covers."""
        open_ = {one.agent for one in self.unsound}
        return tuple(agent for agent in self.holes(episode) if agent in open_)

    @property
    def needless(self) -> tuple[TriedAgent, ...]:
        """Return the agents that have a waiver though their outcome is the right one."""
        return tuple(one for one in self.agents if one.sound and one.waiver is not None)


class ShownTrial(Struct, frozen=True, kw_only=True):
    """A trial for a screen. `trial` is None where none was run, and `why_not` says why it is not
    run before somebody asks for it."""

    suite_id: str
    trial: Trial | None
    why_not: str = ""
    way_out: str = ""
    """What to do about an unsound suite."""


class AgentAttempt(Struct, frozen=True, kw_only=True):
    """The acts of an agent in one of its `attempts` at an episode, and the contract's clauses on
    them."""

    attempt: int
    attempts: int
    events: tuple[EventRow, ...]
    clauses: tuple[Clause, ...]
    final_state: str
    final_message: str | None
