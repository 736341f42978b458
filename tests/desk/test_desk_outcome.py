"""What sources say of attempts: checks, expected calls beside those made, and nothing made up."""

import json
from pathlib import Path
from typing import Any

import msgspec
from doors import Door
from hypothesis import given
from hypothesis import strategies as st

from reviewer.desk.outcome_views import OUTCOME, cell_of
from reviewer.desk.traces.outcome import EXPECTED, LOOKED_AT, Call, against, aligned, outcome_of
from reviewer.importing.formats.base import LONGEST_EXPECTED, MOST_EXPECTED, expected_actions
from reviewer.trace.record import Event

DATA = Path(__file__).resolve().parents[1] / "data"
TAU = DATA / "tau_bench" / "gpt-4o-airline-excerpt.json"
PLACE = ("tau-bench-airline", TAU.stem)


def wanted(tool: str = "pay", met: bool | None = None, **arguments: Any) -> dict[str, Any]:
    return {"name": tool, "arguments": arguments, **({} if met is None else {"met": met})}


def called(number: int, tool: str = "pay", **arguments: Any) -> Call:
    return Call(number, tool, arguments, by_user=False)


def event(tool: str, arguments: dict[str, Any]) -> Event:
    raw = msgspec.Raw(json.dumps(arguments).encode())
    return Event(tool=tool, arguments=raw)


def test_a_call_made_as_expected_is_not_taken_by_one_that_differs() -> None:
    found, left = aligned(
        [wanted(to="a", sum=2), wanted(to="a", sum=1), wanted("close"), wanted(to="c")],
        [called(1, to="a", sum=1), called(2, to="b", sum=2.0), called(3, "look")],
    )
    assert [(one.made, one.seq) for one in found] == [
        ("other", 2), ("same", 1), ("never", None), ("never", None),
    ]  # fmt: skip
    assert found[0].differs == ('to: "a" → "b"',)
    assert left == [called(3, "look")]


def test_arguments_are_compared_as_json_and_a_mask_equals_nothing() -> None:
    (true, mask, more), _ = aligned(
        [wanted(a=1), wanted("mail", to="[REDACTED:email]"), wanted("more", a=1)],
        [called(1, a=True), called(2, "mail", to="[REDACTED:email]"), called(3, "more", a=1, b=2)],
    )
    assert (true.made, mask.made, more.made) == ("other", "masked", "other")
    assert more.differs == ("b: nothing → 2",)


def test_without_all_events_nobody_says_never() -> None:
    detail = json.dumps({EXPECTED: [wanted(a=1)]})
    for events, whole in ((None, True), ([event("look", {})], False)):
        found = outcome_of(0, 0.0, detail, events, whole=whole)
        assert [one.made for one in found.expected] == ["unknown"]
        assert list(against(found)) == []
    found = outcome_of(0, 0.0, detail, [event("look", {})])
    assert [(one.red, one.seq) for one in against(found)] == [(False, None)]
    assert found.others == (("look", 1),)


def test_only_the_word_of_the_source_is_red() -> None:
    detail = {
        EXPECTED: [wanted("a", met=False), wanted("b", met=True), wanted("c")],
        "db_match": None,
        "communicate_checks": [{"what": "42", "met": False}],
        "reward_breakdown": {"DB": 0.0},
        "review": {"agent_error": True},
    }
    found = outcome_of(1, 1.0, json.dumps(detail), [])
    assert [(one.name, one.met) for one in found.checks] == [
        ("database", None), ('say "42"', False),
    ]  # fmt: skip
    assert [(one.name, one.red) for one in against(found)] == [('say "42"', True), ("a", True)]


def test_a_cell_is_green_only_where_every_attempt_has_a_verdict() -> None:
    assert cell_of([(1, 1.0), (None, None)]).mark == "not_measured"
    assert cell_of([]).mark == "not_measured"
    assert cell_of([(1, None)]).mark == "pass"
    red = cell_of([(0, 0.0), (None, None), (1, 1.0)])
    assert (red.mark, red.failed, red.attempts, red.rewards) == ("fail", 1, 3, (0.0, None, 1.0))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=9,
)
MEMBERS = st.sampled_from([EXPECTED, "outputs", "db_match", "nl_assertions", "r_actions", "x"])


@given(st.dictionaries(MEMBERS, JSON), st.none() | st.integers(0, 1))
def test_any_detail_is_read_and_gives_no_pass(detail: dict[str, Any], passed: int | None) -> None:
    found = outcome_of(passed, None, json.dumps(detail), [event("x", {})])
    assert found.passed == (None if passed is None else bool(passed))
    assert all(one.met in (True, False, None) for one in found.checks)


def test_expected_calls_that_are_many_or_large_are_counted() -> None:
    large = {"name": "x", "arguments": {"text": "x" * LONGEST_EXPECTED}}
    found = expected_actions([large, *[wanted()] * (MOST_EXPECTED + 2)])
    assert len(found[EXPECTED]) == MOST_EXPECTED
    assert outcome_of(0, None, json.dumps(found), None).left_out == 3
    assert expected_actions([]) == {}
    assert LOOKED_AT > 0


def test_a_probe_shows_what_its_source_says_of_each_attempt(door: Door) -> None:
    door.ok("import", TAU)
    desk = door.desk()
    card = desk.scorecards.card(*PLACE)
    assert card.outcome
    assert (card.outcome.failed, card.outcome.passed, card.outcome.unknown) == (5, 3, 0)
    rows = desk.scorecards.rows(*PLACE, desk.scorecards.order(*PLACE))
    told = {row.episode_id: row.outcome for row in rows}
    assert told["2"]
    assert (told["2"].failed, told["2"].rewards) == (3, (0.0, 0.0, 1.0, 0.0))
    assert {row.key for row in rows} <= desk.scorecards.maybe_red(PLACE[0], [PLACE[1]])
    lines = desk.scorecards.cell(*PLACE, "2", OUTCOME)
    assert [(line.mark, line.seq) for line in lines[:3]] == [
        ("fail", 23), ("fail", None), ("fail", 23),
    ]  # fmt: skip
    assert "2 of 5 expected calls" in lines[0].detail
    desk.close()
    told_plain = door.ok("show", "/".join((*PLACE, "2", "1")), "--plain").out
    assert 'source check say "23553": not met (event 23)' in told_plain
    assert 'reservation_id "X7BYG1"' in told_plain
    assert told_plain.count(": never made") == 3
    told_json = json.loads(door.ok("show", "/".join((*PLACE, "2", "1")), "--json").out)
    made = [one["made"] for one in told_json["outcome"]["expected"]]
    assert made == ["same", "same", "never", "never", "never"]


def test_a_suite_of_ones_own_has_no_outcome_column(full: Door) -> None:
    desk = full.desk()
    place = ("refund-eval-v5", "refund-agent-v7")
    assert not desk.scorecards.card(*place).outcome
    rows = desk.scorecards.rows(*place, desk.scorecards.order(*place))
    assert not any(row.outcome for row in rows)
    desk.close()


def test_tau2_says_of_each_expected_call_whether_it_counts(door: Door) -> None:
    door.ok("import", DATA / "tau2" / "telecom_user_tools.json")
    desk = door.desk()
    (suite,) = [each.suite_id for each in desk.workspace.suites() if each.probe]
    (candidate,) = [name for of, name in desk.workspace.releases() if of == suite]
    keys = desk.scorecards.order(suite, candidate)
    traces = [
        desk.traces.view(f"{suite}/{candidate}/{row.episode_id}/1")
        for row in desk.scorecards.rows(suite, candidate, keys)
    ]
    calls = [call for trace in traces if trace.outcome for call in trace.outcome.expected]
    assert {call.met for call in calls} >= {True, False}
    assert any(call.by_user for call in calls)
    assert [call for call in calls if call.met and call.made == "never"] == []
    desk.close()
