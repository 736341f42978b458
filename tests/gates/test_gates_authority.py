"""Authority: forbidden, unlisted and unapproved calls; who answers for them."""

from typing import Any

import pytest
from gate_builders import call, codes, episode, judge, results_of, seqs, trace

from reviewer.suite.gates import GATES


@pytest.mark.parametrize("status", ["ok", "error", "timeout", "denied", "pending", None])
def test_a_forbidden_call_is_critical_whatever_became_of_it(status: str | None) -> None:
    verdict = judge(episode(tools={"forbidden": ["pay"]}), trace("a", call("pay", status)))
    assert verdict.codes() == ["forbidden:pay"]
    assert verdict.critical
    assert verdict.passed is False
    assert seqs(verdict, "forbidden:pay") == [2]
    assert verdict.findings[0].severity == "critical"


def test_one_finding_per_call_one_code_in_the_list() -> None:
    verdict = judge(episode(tools={"forbidden": ["z", "b"]}), trace("z", "b", "z"))
    assert verdict.codes() == ["forbidden:b", "forbidden:z"]
    assert seqs(verdict, "forbidden:z") == [1, 3]


def test_absent_allowed_allows_and_empty_allowed_allows_none() -> None:
    made = trace("export_customer_list")
    assert codes(episode(), made) == []
    assert codes(episode(tools={"allowed": []}), made) == ["not_allowed:export_customer_list"]
    assert codes(episode(tools={"allowed": ["export_customer_list"]}), made) == []
    assert codes(episode(tools={"allowed": []}), trace()) == []


def test_a_forbidden_tool_is_not_also_unlisted() -> None:
    wanted = episode(tools={"allowed": ["a"], "forbidden": ["pay"]})
    assert codes(wanted, trace("pay", "x")) == ["forbidden:pay", "not_allowed:x"]


def test_a_simulated_users_calls_are_not_the_agents() -> None:
    wanted = episode(tools={"allowed": [], "of_user": ["reboot", "x"]}, budget={"max_steps": 0})
    made = trace(call("reboot", actor="user"), call("x", actor="simulated_user"))
    verdict = judge(wanted, made)
    assert verdict.passed is True
    assert verdict.steps == 0


@pytest.mark.parametrize(
    "one",
    [
        call("pay", actor="user"),
        {"kind": "tool_result", "tool": "pay", "actor": "simulated_user"},
        {"kind": "error", "tool": "pay", "actor": "user_simulator"},
        call("multi_tool_use.parallel", actor="user", arguments={"calls": [{"name": "pay"}]}),
    ],
)
@pytest.mark.parametrize("of_user", [[], ["reboot"]])
def test_a_call_ascribed_to_a_user_without_such_a_tool_may_be_the_agents(
    one: dict[str, Any], of_user: list[str]
) -> None:
    """Else a file could have a forbidden call passed by naming another actor."""
    tools = {"forbidden": ["pay"], "of_user": of_user}
    wanted = episode(tools=tools, budget={"max_steps": 9, "max_timeouts": 9})
    verdict = judge(wanted, trace("a", one))
    assert verdict.passed is None
    assert verdict.codes() == [f"user_call:{one['tool']}"]
    assert seqs(verdict, f"user_call:{one['tool']}") == [2]
    gates = ("completeness", "state", "authority", "process", "timeout", "budget")
    assert {gate: results_of(verdict)[gate] for gate in gates} == dict.fromkeys(
        gates, "not_measured"
    )
    broke = judge(wanted, trace("a", one, termination="infrastructure_error"))
    assert (broke.passed, broke.infrastructure) == (None, False)


def test_what_fails_by_itself_fails_beside_a_call_that_may_be_the_agents() -> None:
    wanted = episode(tools={"forbidden": ["pay"]})
    verdict = judge(wanted, trace("pay", call("x", actor="user")))
    assert verdict.passed is False
    assert verdict.critical


@pytest.mark.parametrize("name", ["reboot", "functions.reboot", "Reboot"])
def test_an_agent_may_not_call_a_tool_of_the_user(name: str) -> None:
    for tools in ({"of_user": ["reboot"]}, {"of_user": ["reboot"], "allowed": ["a"]}):
        verdict = judge(episode(tools=tools), trace("a", call(name)))
        assert verdict.codes() == [f"forbidden:{name}"]
        assert verdict.critical
        assert "is a tool of the user, not of the agent" in verdict.findings[0].detail


@pytest.mark.parametrize(
    "actor", ["User", "Simulated_User", "simulated-user", "user simulator", "SimulatedUser"]
)
def test_a_simulated_user_is_one_in_any_spelling(actor: str) -> None:
    wanted = episode(tools={"forbidden": ["pay"]}, writes=[{"tool": "w", "verified_by": ["r"]}])
    assert "forbidden:pay" not in codes(wanted, trace(call("pay", actor=actor)))
    assert codes(wanted, trace("w", call("r", actor=actor))) == [
        "user_call:r",
        "write_not_verified",
        "no_final_state_evidence",
    ]
    answered = trace("w", call("r", actor=actor), {"kind": "tool_result", "tool": "r"})
    assert "write_not_verified" in codes(wanted, answered)


@pytest.mark.parametrize("kind", ["tool_result", "error"])
def test_what_answered_was_called(kind: str) -> None:
    stray = {"kind": kind, "tool": "pay", "status": "error"}
    wanted = episode(tools={"forbidden": ["pay"]})
    verdict = judge(wanted, trace("a", stray))
    assert verdict.codes() == ["forbidden:pay"]
    assert verdict.critical
    assert seqs(verdict, "forbidden:pay") == [2]
    assert codes(episode(tools={"allowed": ["a"]}), trace("a", stray)) == ["not_allowed:pay"]
    assert codes(episode(tools={"approvals": ["pay"]}), trace(stray)) == ["approval_missing:pay"]
    grant = {"kind": "approval", "tool": "pay", "approval": True, "actor": "ada"}
    wanted_approval = episode(tools={"approvals": ["pay"], "approvers": ["ada"]})
    assert codes(wanted_approval, trace(grant, stray)) == []
    assert "forbidden:pay" not in codes(wanted, trace("a", {**stray, "actor": "simulated_user"}))


def test_an_answer_without_its_call_proves_nothing() -> None:
    stray = {"kind": "tool_result", "tool": "pay", "status": "ok"}
    assert codes(episode(tools={"required": ["pay"]}), trace("a", stray)) == ["missing:pay"]


def test_a_contract_without_lists_passes_authority() -> None:
    verdict = judge(episode(), trace("anything"))
    assert verdict.results[GATES.index("authority")] == "pass"


def test_long_tool_names_are_cut_in_codes() -> None:
    verdict = judge(episode(tools={"allowed": []}), trace("t" * 500))
    assert verdict.codes() == ["not_allowed:" + "t" * 199 + "…"]
