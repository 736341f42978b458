"""A candidate that writes raw identifiers fails redaction in a run of ours, though its record is
masked: the record says where it had written them, never what."""

import json
from typing import Any

import pytest
from run_builders import Stage, call, episode, said, tool

from reviewer.gates import Verdict, compile_contract, score
from reviewer.running.model import Call, Turn
from reviewer.suite.model import Episode
from reviewer.trace.validate import decode

EMAIL = "ann.smith@mail.example.org"


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def world(answer: Any = "done") -> Episode:
    return episode(simulator={"tools": {"look": tool({"fixed": answer})}})


def judged(of: Episode, record: dict[str, Any], own: bool = True) -> Verdict:
    return score(compile_contract(of, own), decode(json.dumps(record).encode()))


def found(verdict: Verdict) -> list[tuple[str, int | None]]:
    return [(one.code, one.seq) for one in verdict.findings if one.gate == "redaction"]


@pytest.mark.parametrize(
    ("turns", "places"),
    [
        ([Turn((call("look", who={"name": EMAIL}),)), said("ok")], [("unredacted:who.name", 1)]),
        ([Turn((call("look"),)), said(f"mailed {EMAIL}")], [("unredacted:message", 3)]),
        ([Turn((call("look", email="x"),), f"to {EMAIL}"), said("ok")],
         [("unredacted:email", 2), ("unredacted:message", 1)]),
        ([Turn((Call("a", EMAIL, {}),)), said("ok")], [("unredacted:tool", 1)]),
        ([Turn((Call(EMAIL, "look", {}),)), said("ok")], [("unredacted:call_id", 1)]),
        ([Turn((call("look"),)), said("ok")], []),
    ],
)  # fmt: skip
def test_what_a_candidate_leaks_fails_redaction_and_is_not_kept(
    stage: Stage, turns: list[Turn], places: list[tuple[str, int]]
) -> None:
    of = world()
    record = stage.play(of, *turns)
    verdict = judged(of, record)
    assert sorted(found(verdict)) == places
    assert verdict.critical == bool(places)
    assert EMAIL not in json.dumps(record)
    assert ("unredacted" in record["source"]) == bool(places)


def test_what_the_world_says_is_masked_and_fails_nobody(stage: Stage) -> None:
    of = world({"mail": EMAIL})
    record = stage.play(of, Turn((call("look"),)), said("ok"))
    assert record["source"]["masked"] == 1
    assert found(judged(of, record)) == []


def test_an_imported_record_cannot_say_it_of_itself(stage: Stage) -> None:
    """Neither for nor against itself: only the store knows which records our runner made."""
    of = world()
    record = stage.play(of, Turn((call("look", email="x"),)), said("ok"))
    assert found(judged(of, record, own=False)) == []


def test_a_name_that_a_candidate_chose_is_masked_in_the_place(stage: Stage) -> None:
    of = world()
    record = stage.play(of, Turn((call("look", **{EMAIL: {"email": EMAIL}}),)), said("ok"))
    assert found(judged(of, record))
    assert EMAIL not in json.dumps(record)
