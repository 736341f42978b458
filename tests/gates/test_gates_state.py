"""State and completeness: the end state, paths into it, wording, the digest of the start."""

import hashlib
from typing import Any

import pytest
from gate_builders import call, codes, episode, judge, seqs, trace

from reviewer.suite.gates import GATES
from reviewer.suite.strict_json import start_state_digest


@pytest.mark.parametrize(
    ("wanted", "found", "good"),
    [
        ("done", "done", True),
        ("done", "Done", False),
        (True, 1, False),
        (1, True, False),
        (1, 1.0, True),
        (0, False, False),
        ({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [2, 1], False),
        ({"a": None}, {}, False),
        ("1", 1, False),
    ],
)
def test_the_final_state_is_compared_whole_as_json(wanted: Any, found: Any, good: bool) -> None:
    verdict = judge(episode(expected={"final_state": wanted}), trace("a", final_state=found))
    assert verdict.codes() == ([] if good else ["wrong_final_state"])


def test_a_null_final_state_is_unknown_not_wrong() -> None:
    verdict = judge(episode(expected={"final_state": "done"}), trace("a", final_state=None))
    assert verdict.codes() == ["final_state_not_measured"]
    assert verdict.passed is None
    assert verdict.results[GATES.index("state")] == "not_measured"


def test_a_contract_without_an_end_passes_the_state_gate() -> None:
    assert judge(episode(), trace(final_state=None)).passed is True


def test_a_path_may_be_expected_to_be_absent() -> None:
    start = {"order": {"id": 1}}
    wanted = episode(initial_state=start, expected={"absent": ["order.refund", "note"]})
    more = {"start_state_digest": start_state_digest(start)}

    def found(state: Any) -> list[str]:
        return codes(wanted, trace("look", final_state=state, **more))

    assert found({"order": {"id": 1}}) == []
    assert found({"order": {"id": 1, "refund": None}}) == ["wrong_state:order.refund"]
    assert found({"order": {"refund": 3}, "note": ""}) == [
        "wrong_state:note",
        "wrong_state:order.refund",
    ]
    # A state that was recorded without the order does not show that it has no refund.
    assert found({"other": 1}) == ["final_state_not_measured"]
    assert found(None) == ["final_state_not_measured"]


def test_paths_are_looked_up_in_the_final_state() -> None:
    wanted = episode(expected={"state": {"order.items[1].sku": "b", "order.open": False, "x": 1}})
    state = {"order": {"items": [{"sku": "a"}, {"sku": "c"}], "open": 0}, "x": 1}
    verdict = judge(wanted, trace("look", final_state=state))
    assert verdict.codes() == ["wrong_state:order.items[1].sku", "wrong_state:order.open"]
    assert seqs(verdict, "wrong_state:order.open") == [1]


@pytest.mark.parametrize("state", [{}, {"order": {}}, {"order": {"items": []}}, {"order": None}])
def test_a_path_that_the_state_lacks_is_not_the_value_that_is_expected(state: Any) -> None:
    wanted = episode(expected={"state": {"order.items[0].sku": "a"}})
    verdict = judge(wanted, trace("look", final_state=state))
    assert verdict.codes() == ["wrong_state:order.items[0].sku"]
    assert verdict.passed is False


def test_paths_use_the_last_snapshot_when_the_final_state_is_a_word() -> None:
    wanted = episode(expected={"state": {"case": "opened"}})
    before, after = {"state": {"case": "none"}}, {"state": {"case": "opened"}}
    assert codes(wanted, trace(before, after)) == []
    verdict = judge(wanted, trace(after, "a", before))
    assert verdict.codes() == ["wrong_state:case"]
    assert seqs(verdict, "wrong_state:case") == [3]


def test_no_state_to_look_into_is_not_measured() -> None:
    wanted = episode(expected={"state": {"case": "opened"}})
    assert codes(wanted, trace("a")) == ["final_state_not_measured"]
    assert codes(wanted, trace("a", final_state=None)) == ["final_state_not_measured"]


def test_a_snapshot_older_than_a_write_proves_nothing() -> None:
    wanted = episode(
        expected={"state": {"case": "opened"}},
        writes=[{"tool": "close_case", "verified_by": ["verify"]}],
    )
    snapshot = {"state": {"case": "opened"}}
    assert codes(wanted, trace(snapshot, "close_case", "verify")) == ["final_state_not_measured"]
    assert codes(wanted, trace("close_case", snapshot, "verify")) == []
    assert codes(wanted, trace(snapshot, call("close_case", "denied"), "verify")) == []


def test_both_expectations_unknown_are_said_once() -> None:
    wanted = episode(expected={"final_state": "done", "state": {"case": "opened"}})
    verdict = judge(wanted, trace(final_state=None))
    assert [finding.code for finding in verdict.findings] == ["final_state_not_measured"]


def test_wording_ignores_case_and_whitespace() -> None:
    wanted = episode(
        expected={"message_contains": ["bleeding  Risk"], "message_excludes": ["no risk"]}
    )
    assert codes(wanted, trace(final_message="High BLEEDING\n risk here.")) == []
    assert codes(wanted, trace(final_message="There is NO\trisk.")) == [
        "message_missing:bleeding  Risk",
        "message_forbidden:no risk",
    ]


def test_the_last_message_of_the_agent_stands_in_for_the_final_message() -> None:
    wanted = episode(expected={"message_contains": ["sent"]})
    sent = {"kind": "message", "message": {"role": "assistant", "content": [{"text": "Sent."}]}}
    user = {"kind": "message", "message": "thanks", "actor": "user"}
    assert codes(wanted, trace(sent, user)) == []
    verdict = judge(wanted, trace(sent, {"message": "Bye."}, user))
    assert seqs(verdict, "message_missing:sent") == [2]


def test_a_message_whose_role_is_the_users_is_not_the_agents() -> None:
    wanted = episode(expected={"message_contains": ["sent"]})
    user = {"kind": "message", "message": {"role": "user", "content": "sent?"}}
    assert codes(wanted, trace(user)) == ["message_missing:sent"]


def test_an_absent_message_misses_what_is_required_and_says_nothing_forbidden() -> None:
    wanted = episode(expected={"message_contains": ["sent"], "message_excludes": ["refund"]})
    assert codes(wanted, trace()) == ["message_missing:sent"]


def test_long_wording_is_cut_in_the_code() -> None:
    verdict = judge(episode(expected={"message_contains": ["x" * 500]}), trace())
    assert verdict.codes() == ["message_missing:" + "x" * 199 + "…"]


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("prefix", ["", "sha256:"])
def test_the_start_digest_is_that_of_the_canonical_initial_state(prefix: str) -> None:
    wanted = episode(initial_state={"b": 1.0, "a": "é"})
    right = digest('{"a":"é","b":1}'.encode())
    assert codes(wanted, trace(start_state_digest=prefix + right)) == []
    assert codes(wanted, trace(start_state_digest=prefix + right.upper())) == []
    wrong = judge(wanted, trace(start_state_digest=prefix + digest(b"{}")))
    assert wrong.codes() == ["start_state_mismatch"]
    assert wrong.passed is False


def test_no_start_digest_is_not_measured_only_where_there_is_a_state() -> None:
    verdict = judge(episode(initial_state={"a": 1}), trace())
    assert verdict.codes() == ["no_start_digest"]
    assert verdict.passed is None
    assert codes(episode(), trace()) == []
    assert codes(episode(), trace(start_state_digest=digest(b"{}"))) == []
    assert codes(episode(), trace(start_state_digest=digest(b"x"))) == ["start_state_mismatch"]


def test_an_initial_state_without_canonical_form_is_not_measured() -> None:
    wanted = episode(initial_state={"n": 2**60})
    assert codes(wanted, trace(start_state_digest=digest(b"{}"))) == ["no_start_digest"]


def test_a_snapshot_from_before_every_call_shows_no_end() -> None:
    """Where nothing may change, the start would pass for the end."""
    wanted = episode(expected={"state": {"order": "open"}}, initial_state={"order": "open"})
    start = {"kind": "state_snapshot", "state": {"order": "open"}}
    digest = start_state_digest({"order": "open"})
    given = {"final_state": None, "start_state_digest": digest}
    assert codes(wanted, trace(start, "refund", **given)) == ["final_state_not_measured"]
    assert codes(wanted, trace("look", start, **given)) == []
    assert codes(wanted, trace(start, call("refund", "denied"), **given)) == []
    proved = episode(
        expected={"state": {"order": "open"}},
        initial_state={"order": "open"},
        writes=[{"tool": "refund", "verified_by": ["verify"]}],
    )
    assert "final_state_not_measured" not in codes(proved, trace(start, "verify", **given))
