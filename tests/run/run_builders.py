"""Episodes, candidates and attempts for the tests of runs, in few words."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from doors import SHIPPED

from reviewer.gates import Verdict, compile_contract, score
from reviewer.running import attempt as attempts
from reviewer.running.attempt import run_attempt
from reviewer.running.model import (
    Approver,
    Brief,
    Call,
    FinishedAttempt,
    Observation,
    Slot,
    Task,
    Turn,
)
from reviewer.running.offer import offer_of
from reviewer.suite.candidate import Candidate
from reviewer.suite.folder import read_candidates, read_suite
from reviewer.suite.model import Episode, RedactionRules
from reviewer.suite.strict_json import sha256_hex
from reviewer.suite.toolset import equipped
from reviewer.trace.redaction import Redactor, Rules
from reviewer.trace.validate import decode, explain

_EPISODE = msgspec.json.Decoder(Episode)
ANY = {"type": "object"}
ONE = {
    "type": "object",
    "properties": {"id": {"type": "string"}},
    "required": ["id"],
    "additionalProperties": False,
}

TOOLS: dict[str, Any] = {
    "look": {"parameters": ANY, "responses": {"fixed": {"seen": True}}},
    "write": {
        "parameters": ONE,
        "responses": {"fixed": {"written": True}},
        "effects": [{"merge": {"label": "created"}}],
    },
    "check": {"parameters": ANY, "responses": {"state": ["label"]}},
    "pay": {
        "parameters": ANY,
        "responses": {"fixed": {"paid": True}},
        "effects": [{"merge": {"money": "gone"}}],
    },
}


def episode(
    tools: dict[str, Any] | None = None, contract: dict[str, Any] | None = None, **fields: Any
) -> Episode:
    """An episode with simulated `tools`; `contract` says which of them may be called, and
    `final_state` goes to the simulator."""
    simulator: dict[str, Any] = {"tools": TOOLS if tools is None else tools}
    if "final_state" in fields:
        simulator["final_state"] = fields.pop("final_state")
    plain = {
        "episode_id": "e-1",
        "user_request": "Please help.",
        "initial_state": {"label": "none", "money": "there"},
        "simulator": simulator,
        "tools": contract or {},
        **fields,
    }
    return _EPISODE.decode(json.dumps(plain).encode())


def tool(responses: Any = None, **more: Any) -> dict[str, Any]:
    """One simulated tool, answering `{"fixed": null}` unless told otherwise."""
    return {"parameters": ANY, "responses": responses or {"fixed": None}, **more}


def candidate(kind: str = "python", **runner: Any) -> Candidate:
    return Candidate(candidate_id="c-1", digest="0" * 64, runner={"kind": kind, **runner})


def task(of: Episode, number: int = 1, **fields: Any) -> Task:
    given: dict[str, Any] = {
        "candidate": candidate(),
        "redaction": RedactionRules(),
        "folder": "suites/s-1",
        **fields,
    }
    return Task(slot=Slot("s-1", "c-1", of.episode_id, number), episode=of, **given)


def call(tool: str, call_id: str = "", problem: str = "", **arguments: Any) -> Call:
    return Call(call_id or f"id-{tool}", tool, arguments, problem)


class Puppet:
    """An adapter that makes the given turns; one that is an exception is raised. Keeps all it was
    told."""

    def __init__(self, turns: Sequence[Turn | BaseException]) -> None:
        self.turns = list(turns)
        self.brief: Brief | None = None
        self.told: list[Observation] = []
        self.heard: list[str] = []
        self.closed = 0

    async def begin(self, brief: Brief) -> Turn:
        self.brief = brief
        return self._next()

    async def proceed(self, observations: Sequence[Observation]) -> Turn:
        self.told += observations
        return self._next()

    async def hear(self, message: str) -> Turn:
        self.heard.append(message)
        return self._next()

    def waited_ms(self) -> float:
        return 0.0

    async def close(self) -> None:
        self.closed += 1

    def _next(self) -> Turn:
        turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        if isinstance(turn, BaseException):
            raise turn
        return turn


class Stage:
    """Runs attempts of puppets in place of real candidates."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.puppet = Puppet(())

    def play(
        self,
        of: Episode,
        *turns: Turn | BaseException,
        approver: Approver | None = None,
        puppet: Any = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """The record of one attempt; the last turn given is made again and again."""
        return believed(self.finish(of, *turns, approver=approver, puppet=puppet, **fields))

    def finish(
        self,
        of: Episode,
        *turns: Turn | BaseException,
        approver: Approver | None = None,
        puppet: Any = None,
        **fields: Any,
    ) -> FinishedAttempt:
        self.puppet = puppet or Puppet(turns)
        self._monkeypatch.setattr(attempts, "adapter_for", lambda task: self.puppet)
        return asyncio.run(run_attempt(task(of, **fields), approver))


def believed(finished: FinishedAttempt, redaction: RedactionRules | None = None) -> dict[str, Any]:
    """The record as plain JSON, after both readers of an import have taken it without a remark."""
    rules = redaction or RedactionRules()
    redactor = Redactor(
        Rules(keys=rules.keys, allow_keys=rules.allow_keys, detectors=rules.detectors)
    )
    assert explain(finished.raw, redactor).problems == []
    decode(finished.raw)
    value: dict[str, Any] = json.loads(finished.raw)
    return value


def verdict(of: Episode, record: dict[str, Any], *, own: bool = False) -> Verdict:
    return score(compile_contract(of, own=own), decode(json.dumps(record).encode()))


def events(record: dict[str, Any], kind: str = "tool_call") -> list[dict[str, Any]]:
    return [event for event in record["events"] if event["kind"] == kind]


def statuses(record: dict[str, Any]) -> list[tuple[str, str]]:
    return [(event["tool"], event["status"]) for event in events(record)]


def said(message: str | None = "Done.", **more: Any) -> Turn:
    return Turn((), message, **more)


# scripts ------------------------------------------------------------------------------------------


def scripted(folder: Path, script: dict[str, Any], **runner: Any) -> Candidate:
    """A scripted candidate whose script lies in `folder`, bound by its digest."""
    data = json.dumps(script).encode()
    place = folder / "candidates/scripts/c-1.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    named = {"script": "candidates/scripts/c-1.json", "script_sha256": sha256_hex(data)}
    return candidate("scripted", **{**named, **runner})


def script(*turns: dict[str, Any], **plan: Any) -> dict[str, Any]:
    """A script with one plan for episode e-1, to the letter; a final turn is added."""
    whole = {"turns": [*turns, {"messages": ["Done."]}], **plan}
    episodes = {"e-1": {"plans": {"only": whole}}}
    return {"schema": "reviewer/script@1", "spread": 0.0, "episodes": episodes}


def follow(
    folder: Path, of: Episode, *turns: dict[str, Any], number: int = 1, **plan: Any
) -> dict[str, Any]:
    """The record of an attempt of a scripted candidate that makes these turns."""
    made = scripted(folder, script(*turns, **plan))
    done = asyncio.run(run_attempt(task(of, number, candidate=made, folder=str(folder))))
    return believed(done)


def shipped_task(candidate_id: str, episode_id: str, number: int, **fields: Any) -> Task:
    loaded, candidates = read_suite(SHIPPED), read_candidates(SHIPPED)[0]
    suite = loaded.suite
    episode = next(e for e in suite.episodes if e.episode_id == episode_id)
    return Task(
        slot=Slot(suite.suite_id, candidate_id, episode_id, number),
        episode=equipped(episode, loaded.toolset),
        offer=offer_of(suite.episodes, loaded.toolset),
        candidate=candidates[candidate_id],
        redaction=suite.redaction,
        folder=str(SHIPPED),
        **fields,
    )
