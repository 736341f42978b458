"""Short ways to write an episode and a trace; a trace goes through the real decoder."""

from typing import Any

import msgspec

from reviewer.gates import Verdict, compile_contract, score
from reviewer.suite.gates import ALWAYS, GATES
from reviewer.suite.model import Episode
from reviewer.trace.record import TraceRecord

_EPISODE = msgspec.json.Decoder(Episode)
_TRACE = msgspec.json.Decoder(TraceRecord)


def episode(**fields: Any) -> Episode:
    return _EPISODE.decode(msgspec.json.encode({"episode_id": "e-1", **fields}))


def trace(*events: Any, **fields: Any) -> TraceRecord:
    """A record; an event given as text is an ok call of that tool in the short form."""
    made = [{"tool": event} if isinstance(event, str) else event for event in events]
    record = {
        "episode_id": "e-1",
        "candidate_id": "c-1",
        "events": made,
        "final_state": "done",
        "cost_usd": 0.01,
        "latency_ms": 100,
        **fields,
    }
    return _TRACE.decode(msgspec.json.encode(record))


def call(tool: str, status: str | None = "ok", **fields: Any) -> dict[str, Any]:
    """An event in the short form with a status."""
    return {"tool": tool, **({} if status is None else {"status": status}), **fields}


def judge(wanted: Episode, record: TraceRecord) -> Verdict:
    return score(compile_contract(wanted), record)


def codes(wanted: Episode, record: TraceRecord) -> list[str]:
    return judge(wanted, record).codes()


def seqs(verdict: Verdict, code: str) -> list[int | None]:
    return [finding.seq for finding in verdict.findings if finding.code == code]


def results_of(verdict: Verdict, in_force: tuple[str, ...] = ALWAYS) -> dict[str, str]:
    """The result of each gate in force; the others must be as good as passed."""
    results = dict(zip(GATES, verdict.results, strict=True))
    assert {result for gate, result in results.items() if gate not in in_force} <= {"pass"}
    return {gate: results[gate] for gate in in_force}
