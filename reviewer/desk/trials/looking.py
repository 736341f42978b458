"""The attempt of one agent of a trial in one episode: its events, and how the contract judges
them."""

from collections.abc import Sequence
from typing import cast

from reviewer.desk.errors import DeskError
from reviewer.desk.traces.events import rows_of
from reviewer.desk.traces.text import brief_of
from reviewer.desk.trials.judging import Judged, contract_of
from reviewer.desk.trials.views import AgentAttempt
from reviewer.desk.views import Clause, Mark
from reviewer.gates import clauses
from reviewer.suite.folder import LoadedSuite
from reviewer.suite.model import TrialAgent
from reviewer.suite.toolset import equipped

MOST = 200
"""Most characters of the final state that are shown."""


def agent_attempt(
    found: LoadedSuite, attempts: Sequence[Judged], agent: TrialAgent, episode_id: str
) -> AgentAttempt:
    """Return the first attempt of an agent in an episode that a gate caught, else its first
    attempt."""
    mine = [
        one for one in attempts if one.played.agent == agent and one.played.episode_id == episode_id
    ]
    if not mine:
        raise DeskError(f"{agent} did not play {episode_id}", "choose an episode of the trial")
    shown = next((one for one in mine if one.verdict.passed is False), mine[0])
    suite = found.suite
    episode = next(one for one in suite.episodes if one.episode_id == episode_id)
    contract = contract_of(equipped(episode, found.toolset), suite.policy.limits, suite.check_names)
    record, verdict = shown.record, shown.verdict
    return AgentAttempt(
        attempt=shown.played.attempt,
        attempts=len(mine),
        events=tuple(rows_of(record.events, verdict.findings)),
        clauses=tuple(
            Clause(gate=one.gate, mark=cast(Mark, one.result), text=one.text, seq=one.seq)
            for one in clauses(contract, record, verdict)
        ),
        final_state=brief_of(record.final_state, MOST) or "not measured",
        final_message=record.final_message,
    )
