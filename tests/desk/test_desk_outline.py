"""Events in turns, and turns by agent: nothing is lost, folded or unfolded."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from reviewer.desk.traces.listing import RUNS_FROM, Listing
from reviewer.desk.traces.outline import Outline, outline_of
from reviewer.desk.traces.timeline import (
    AGENT,
    CALL,
    CRITICAL,
    TOLD,
    WRONG,
    Line,
    column_of,
    line_of,
)
from reviewer.desk.views import Mark
from reviewer.trace.record import Event


def raw(records: list[dict[str, Any]]) -> list[Event]:
    return msgspec.json.decode(msgspec.json.encode(records), type=list[Event])


def says(actor: str, words: Any = "words") -> dict[str, Any]:
    return {"kind": "message", "actor": actor, "message": words}


def call(own: str, actor: str = "agent", tool: str = "look", **more: Any) -> dict[str, Any]:
    return {"kind": "tool_call", "actor": actor, "tool": tool, "call_id": own, **more}


def result(own: str, **more: Any) -> dict[str, Any]:
    return {"kind": "tool_result", "call_id": own, "observation": "seen", **more}


def outlined(records: list[dict[str, Any]], marks: dict[int, Mark] | None = None) -> Outline:
    return outline_of(raw(records), marks or {})


def turns(records: list[dict[str, Any]]) -> list[list[int]]:
    """The numbers of the events of each turn."""
    return [[place + 1 for place in turn.places] for turn in outlined(records).turns]


def test_a_turn_of_a_conversation_goes_to_the_next_word_of_the_user() -> None:
    talk = [
        *(says("system"), says("user"), call("a"), result("a"), says("agent")),
        *(says("simulated_user"), says("agent")),
    ]
    assert turns(talk) == [[1, 2, 3, 4, 5], [6, 7]]


def test_without_a_conversation_each_step_of_the_agent_is_a_turn() -> None:
    session = [
        *(says("user"), says("agent"), call("a"), call("b"), result("b"), result("a")),
        *(call("c"), result("c", status="error"), says("agent")),
    ]
    found = outlined(session)
    assert [[at + 1 for at in turn.places] for turn in found.turns] == [
        [1, 2, 3, 4, 5, 6], [7, 8], [9],
    ]  # fmt: skip
    assert [(each.calls, each.wrong) for each in found.totals] == [(2, 0), (1, 1), (0, 0)]


def test_private_reasoning_begins_no_turn_of_its_own_and_is_not_quoted() -> None:
    found = outlined([says("agent", {"reasoning": "hm"}), says("agent", "done"), says("agent")])
    assert [turn.places for turn in found.turns] == [(0, 1), (2,)]
    assert list(found.says) == [1, 2]


def test_times_of_calls_made_together_count_once_and_an_unknown_one_is_not_0() -> None:
    both = [call("a", latency_ms=100), call("b", latency_ms=120), result("a"), result("b")]
    assert outlined(both).totals[0].took_ms == 120
    both[1].pop("latency_ms")
    assert outlined(both).totals[0].took_ms is None


def test_an_agent_is_below_the_call_that_started_it() -> None:
    session = [
        *(says("user"), call("a", tool="Task"), says("explore"), call("x", "explore")),
        *(result("x"), call("b", tool="Task"), says("explore"), result("a"), result("b")),
    ]
    found = outlined(session)
    assert list(found.names) == ["main", "explore", "explore 2"]
    assert [(each.call, each.under) for each in found.threads] == [(-1, -1), (1, 0), (5, 0)]
    listing = Listing(found, "agents")
    listing.unfold_all()
    places = [key for key in listing.keys if key >= 0]
    assert places == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert [listing.depth(place) for place in places] == [2, 2, 4, 4, 4, 2, 4, 2, 2]
    main = listing.nodes[listing.roots[0]]
    assert (main.totals.events, main.totals.calls) == (9, 3)


def test_agents_that_start_agents_without_end_are_listed() -> None:
    session = [call(f"{n}", f"agent {n}", tool="Task") for n in range(5_000)]
    listing = Listing(outlined(session), "agents")
    listing.unfold_all()
    assert sorted(key for key in listing.keys if key >= 0) == list(range(5_000))


def test_many_turns_without_a_finding_are_one_line() -> None:
    many = [says("agent") for _ in range(3 * RUNS_FROM)]
    listing = Listing(outlined(many, {RUNS_FROM: "critical"}), "turns")
    shown = [listing.nodes[-1 - key] for key in listing.keys if key < 0]
    assert [(node.kind, node.numbers, node.totals.mark) for node in shown] == [
        ("run", (1, RUNS_FROM - 1), None),
        ("turn", (RUNS_FROM, RUNS_FROM), "critical"),
        ("run", (RUNS_FROM + 1, 3 * RUNS_FROM), None),
    ]
    assert [key for key in listing.keys if key >= 0] == [RUNS_FROM - 1]
    row = listing.show(40)
    assert listing.keys[row] == 40
    listing.fold_all()
    assert listing.keys[listing.row_of(40)] == -1 - list(listing.nodes).index(shown[2])


ACTORS = st.sampled_from(["agent", "user", "system", "explore", "write", None])
EVENTS = st.one_of(
    st.builds(says, st.sampled_from(["agent", "user", "system", "explore"])),
    st.builds(
        lambda own, actor, tool: {**call(own, tool=tool), "actor": actor},
        *(st.sampled_from("abc"), ACTORS, st.sampled_from(["Task", "look"])),
    ),
    st.builds(result, st.sampled_from("abcd")),
    st.just({"kind": "error", "message": "gone"}),
    st.just({"kind": "state_snapshot", "state": {}}),
    st.just({"tool": "look", "arguments": {}}),
)


@given(st.lists(EVENTS, max_size=40), st.sets(st.integers(1, 40)), st.data())
def test_every_event_is_in_one_turn_whatever_is_folded(
    records: list[dict[str, Any]], found: set[int], data: st.DataObject
) -> None:
    outline = outlined(records, dict.fromkeys(found, "fail"))
    for grouping in ("turns", "agents"):
        listing = Listing(outline, grouping)
        hidden = {n - 1 for n in found if n <= len(records)} - set(listing.keys)
        assert not hidden  # what is found is never folded away at first
        listing.unfold_all()
        assert sorted(key for key in listing.keys if key >= 0) == list(range(len(records)))
        if not records:
            continue
        whole = list(listing.keys)
        row = data.draw(st.integers(0, len(whole) - 1))
        again = listing.turn(row)
        assert listing.turn(again) == again
        assert list(listing.keys) == whole
        listing.turn(row)
        place = data.draw(st.integers(0, len(records) - 1))
        assert listing.keys[listing.show(place)] == place
        only = data.draw(st.sets(st.integers(0, len(records) - 1)))
        kept = Listing(outline, grouping, only)
        kept.unfold_all()
        assert sorted(key for key in kept.keys if key >= 0) == sorted(only)


def columns(records: list[dict[str, Any]], width: int, marks: dict[int, Mark]) -> Line:
    return line_of(outlined(records, marks).moments, width)


def test_a_timeline_without_times_goes_by_event_and_says_so() -> None:
    line = columns([says("user"), says("agent"), call("a"), result("a")], 80, {2: "critical"})
    assert list(line.columns) == [TOLD, CRITICAL, CALL, CALL]
    assert (line.seconds, line.known) == (None, 0)


def test_a_timeline_by_time_has_bars_of_what_took_time() -> None:
    day = "2026-11-22T10:00:0"
    records = [
        {**says("user"), "started_at": f"{day}0Z"},
        call("a", started_at=f"{day}1Z", latency_ms=2000),
        result("a", status="error"),  # no time of its own: when the call ended
        {**says("agent"), "started_at": f"{day}9Z"},
    ]
    line = columns(records, 10, {})
    assert list(line.columns) == [TOLD, CALL, CALL, WRONG, 0, 0, 0, 0, 0, AGENT]
    assert (line.seconds, line.known) == (9.0, 3)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"kind": st.just("message"), "message": st.just("words")},
            optional={
                "started_at": st.one_of(
                    st.datetimes().map(lambda at: at.isoformat()), st.text(max_size=12)
                ),
                "latency_ms": st.floats(0, allow_infinity=False),
            },
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 200),
)
def test_every_event_has_a_column_of_the_timeline(
    records: list[dict[str, Any]], width: int
) -> None:
    moments = outlined(records).moments
    line = line_of(moments, width)
    assert len(line.columns) <= width
    assert any(line.columns)
    for place in range(len(records)):
        assert 0 <= column_of(moments, place, width) < max(1, len(line.columns))
