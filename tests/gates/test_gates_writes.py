"""What proves a write: a later look, asked after the write's result came, at the same thing."""

from typing import Any

import pytest
from gate_builders import call, codes, episode, judge, seqs, trace

WRITES = [{"tool": "put", "verified_by": ["get"]}]
WANTED = episode(writes=WRITES)
UNPROVEN = ["write_not_verified"]


def made(tool: str, call_id: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "tool_call", "tool": tool, "call_id": call_id, **fields}


def came(call_id: str | None, **fields: Any) -> dict[str, Any]:
    named = {} if call_id is None else {"call_id": call_id}
    return {"kind": "tool_result", "status": "ok", **named, **fields}


def test_a_look_asked_for_beside_the_write_proves_nothing() -> None:
    beside = trace(made("put", "1"), made("get", "2"), came("1"), came("2"))
    verdict = judge(WANTED, beside)
    assert verdict.codes() == UNPROVEN
    assert seqs(verdict, "write_not_verified") == [1]
    assert "its result, event 3" in verdict.findings[0].detail
    after = trace(made("put", "1"), came("1"), made("get", "2"), came("2"))
    assert codes(WANTED, after) == []


def test_a_look_while_the_write_was_still_at_work_proves_nothing() -> None:
    early = trace(made("put", "1"), made("get", "2"), came("2"), came("1"))
    assert codes(WANTED, early) == UNPROVEN
    again = trace(made("put", "1"), made("get", "2"), came("2"), came("1"), "get")
    assert codes(WANTED, again) == []


@pytest.mark.parametrize("status", ["pending", "timeout", "error", None])
def test_a_write_of_unknown_outcome_wants_a_proof(status: str | None) -> None:
    write = made("put", "1", **({} if status is None else {"status": status}))
    assert codes(WANTED, trace("get", write)) == UNPROVEN
    assert codes(WANTED, trace("get", write, "get")) == []


def test_a_denial_that_its_result_contradicts_wants_a_proof() -> None:
    denied = made("put", "1", status="denied")
    assert codes(WANTED, trace("get", denied, came("1", status="denied"))) == []
    assert codes(WANTED, trace("get", denied, came("1"))) == UNPROVEN


def test_a_result_without_its_call_was_a_write() -> None:
    stray = came(None, tool="put")
    verdict = judge(WANTED, trace("get", stray))
    assert verdict.codes() == UNPROVEN
    assert seqs(verdict, "write_not_verified") == [2]
    assert codes(WANTED, trace("get", stray, "get")) == []
    assert codes(WANTED, trace("get", {**stray, "status": "denied"})) == []
    assert codes(WANTED, trace("get", {**stray, "actor": "simulated_user"})) == ["user_call:put"]


A, B = {"order": "ord_1"}, {"order": "ord_2"}


def test_a_look_at_another_object_proves_nothing() -> None:
    write = call("put", arguments={**A, "reason": "broken"})
    verdict = judge(WANTED, trace(write, call("get", arguments=B)))
    assert verdict.codes() == UNPROVEN
    assert "on the same object" in verdict.findings[0].detail
    assert codes(WANTED, trace(write, call("get", arguments=A))) == []
    both = trace(write, call("put", arguments=B), call("get", arguments=A))
    assert seqs(judge(WANTED, both), "write_not_verified") == [2]


def test_arguments_that_say_how_and_not_what_are_no_object() -> None:
    write = call("put", arguments={"path": "a.txt", "dry_run": False, "lines": ["x"]})
    look = call("get", arguments={"path": "a.txt", "dry_run": True, "lines": []})
    assert codes(WANTED, trace(write, look)) == []
    assert codes(WANTED, trace(write, call("get", arguments={"folder": "/"}))) == []
    paged = call("put", arguments={**A, "limit": 5, "page_size": 10, "reason": "broken"})
    asked = {"limit": 30, "page_size": 2, "reason": "to be sure"}
    assert codes(WANTED, trace(paged, call("get", arguments={**A, **asked}))) == []
    assert codes(WANTED, trace(paged, call("get", arguments={**B, **asked}))) == UNPROVEN
    assert codes(WANTED, trace(paged, call("get", arguments=asked))) == []


@pytest.mark.parametrize("on", [{"order.id": "id"}, {"order.id": "id", "shop": "shop"}])
def test_the_contract_names_the_object(on: dict[str, str]) -> None:
    wanted = episode(writes=[{"tool": "put", "verified_by": ["get"], "on": on}])
    write = call("put", arguments={"order": {"id": 7}, "shop": "s", "note": "mine"})
    seen = call("get", arguments={"id": 7, "shop": "s", "note": "another"})
    assert codes(wanted, trace(write, seen)) == []
    for arguments in ({"id": 8, "shop": "s"}, {"shop": "s"}, {}, {"id": None, "shop": "s"}):
        assert codes(wanted, trace(write, call("get", arguments=arguments))) == UNPROVEN
    nameless = call("put", arguments={"shop": "s"})
    assert codes(wanted, trace(nameless, call("get", arguments={"shop": "s"}))) == UNPROVEN
    stray = came(None, tool="put")
    assert codes(wanted, trace("get", stray, seen)) == UNPROVEN


def test_where_nothing_is_shared_the_arguments_expected_of_the_proof_name_it() -> None:
    wanted = episode(writes=WRITES, expected={"arguments": {"get": {"path": "a.txt"}}})
    good, bad = (call("get", arguments={"path": path}) for path in ("a.txt", "b.txt"))
    assert codes(wanted, trace(good, "put", bad)) == UNPROVEN
    assert codes(wanted, trace(bad, "put", good)) == []
