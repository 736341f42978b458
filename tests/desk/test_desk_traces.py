"""What the desk knows of a trace: words in it and in others, its states, notes on its events."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Raw

from reviewer.db import payload
from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.traces.events import together
from reviewer.desk.traces.previews import MOST, READ, call_words, result_words, state_words
from reviewer.desk.traces.states import changes
from reviewer.desk.traces.text import brief_of, words_of
from reviewer.trace.record import Event

ATTACK = f"{SUITE}/{V7}/attack-014/1"


@pytest.fixture
def desk(full: Door) -> Any:
    made = full.desk()
    yield made
    made.close()


def taken(door: Door, name: str, events: list[dict[str, Any]]) -> str:
    """Import one trace of a candidate of that name; its trace id."""
    record = {
        "episode_id": "attack-014",
        "candidate_id": name,
        "events": events,
        "final_state": "done",
        "cost_usd": None,
        "latency_ms": None,
    }
    file = door.root / f"{name}.jsonl"
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    door.ok("import", file)
    return f"{SUITE}/{name}/attack-014/1"


# previews


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("arguments", "findings", "words"),
    [
        ({"command": "ls -la\ncat x"}, "", "ls -la⏎cat x"),
        ({"timeout": 5, "command": "ls"}, "", "ls  timeout 5"),
        ({"a": "x", "amount": 89.0}, "", 'a "x"  amount 89.0'),
        ({"a": "x", "amount": 89.0}, "wrong_argument:amount is 89", 'amount 89.0  a "x"'),
        ({"flights": [1, 2], "to": {"city": "x"}, "no": None}, "", "flights [2]  to {1}  no null"),
        ({}, "", ""),
        ("free text", "", "free text"),
    ],
)
def test_a_call_is_shown_by_what_it_asked(arguments: Any, findings: str, words: str) -> None:
    assert call_words(raw(arguments), findings) == words


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        ({"refund": "issued", "amount": 89.0}, 'refund "issued"  amount 89.0'),
        ('{"name": "Omar", "ids": [1, 2]}', 'name "Omar"  ids [2]'),
        ("total 3\na.py\nb.py\n", "total 3 … 3 lines"),
        (["a", "b"], '[2]  "a"  "b"'),
        ([], "[]"),
        (10519.0, "10519.0"),
        (None, "null"),
        ("", ""),
    ],
)
def test_a_result_is_shown_by_what_came_back(observation: Any, words: str) -> None:
    assert result_words(raw(observation)) == words


def test_a_state_is_shown_by_what_it_changed() -> None:
    before, after = {"refund": "none", "n": 1}, {"refund": "issued", "n": 1, "case": True}
    assert state_words(raw(after), Raw()) == 'refund "issued"  n 1  case true'
    assert state_words(raw(after), raw(before)) == 'refund  "none" → "issued"  added case  true'
    assert state_words(raw(after), raw(after)) == "nothing changed"
    assert state_words(raw({str(n): n for n in range(9)}), raw({})).endswith("… 6 more")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from([1, READ]),
)
def test_a_preview_is_short_whatever_it_is_made_of(value: Any, times: int) -> None:
    told = raw([value, "x" * times])
    for words in (call_words(told), result_words(told), state_words(told, told)):
        assert words
        assert len(words) <= MOST + 40


# search


def test_a_word_leads_to_the_events_that_hold_it(desk: Desk) -> None:
    found = desk.traces.search("issue_refund", SUITE, V7)
    assert found.words == ("issue", "refund")
    assert ATTACK in {hit.trace_id for hit in found.hits}
    hit = next(each for each in found.hits if each.trace_id == ATTACK)
    assert desk.traces.event(ATTACK, hit.seq).row.title == "issue_refund"
    assert found.waiting == 0
    assert {hit.candidate_id for hit in found.hits} == {V7}


def test_the_scope_is_kept(desk: Desk) -> None:
    both = {hit.candidate_id for hit in desk.traces.search("order", SUITE).hits}
    assert both == {V7, V8}
    assert desk.traces.search("order", "no-such-suite").traces == 0


@pytest.mark.parametrize(
    "hostile",
    ['"', "''; DROP TABLE trace", "refund*", 'a "b', "body:refund", "NEAR(refund order, 5)", "^x",
     "refund AND", "(refund", "refund OR NOT", "-refund", "{refund}", "a.b:c", "\x00refund",
     "ﬀ ǅ 🂡"],
)  # fmt: skip
def test_a_query_is_words_whatever_is_typed(desk: Desk, hostile: str) -> None:
    if words_of(hostile):
        assert desk.traces.search(hostile).words == words_of(hostile)[:16]
    else:
        with pytest.raises(DeskError, match="nothing to search for"):
            desk.traces.search(hostile)


@example("\u1dc0")  # a mark alone, which the index does not keep
@given(st.text(max_size=60))
def test_no_text_reaches_the_index_as_syntax(text: str) -> None:
    assert all(word and not set(word) & set("\"'*:^(){}+-") for word in words_of(text))


def test_letters_written_as_escapes_are_found(full: Door) -> None:
    taken(full, "sofia", [{"kind": "message", "message": "Straße nach Łódź, déjà vu"}])
    desk = full.desk()
    for text in ("straße", "łódź", "deja", "DÉJÀ vu"):
        assert [hit.seq for hit in desk.traces.search(text).hits] == [1], text
    desk.close()


def test_what_is_not_indexed_yet_is_said(full: Door) -> None:
    with closing(sqlite3.connect(full.store, isolation_level=None)) as base:
        base.execute("UPDATE meta SET value='0' WHERE key='indexed'")
    desk = full.desk()
    assert desk.traces.search("refund").waiting > 0
    desk.close()


def test_words_of_one_trace_in_several_events(full: Door) -> None:
    events = [{"kind": "message", "message": f"alpha {n}"} for n in range(9)]
    name = taken(full, "many", [*events, {"kind": "message", "message": "omega"}])
    desk = full.desk()
    found = desk.traces.search("alpha omega")
    assert [hit.trace_id for hit in found.hits] == [name] * 4
    assert found.hits[-1].more == 6
    desk.close()


def test_the_command_says_the_same(full: Door, desk: Desk) -> None:
    told = full.ok("search", "issue_refund", "--suite", SUITE, "--candidate", V7)
    assert f"{ATTACK} event 2 tool_call: issue_refund" in told.out
    found = json.loads(full.ok("search", "issue_refund", "--json").out)
    assert found["traces"] == desk.traces.search("issue_refund").traces
    assert full.run("search", '"*"').code == 2


def test_finding_in_a_trace_is_of_the_text_as_shown(full: Door, desk: Desk) -> None:
    assert desk.traces.find(ATTACK, "ISSUE_REFUND") == [2]
    assert 2 in desk.traces.find(ATTACK, '"amount_usd": 89')
    assert desk.traces.find(ATTACK, "") == desk.traces.find(ATTACK, "no such text") == []
    name = taken(full, "lines", [{"kind": "message", "message": 'one\ntwo "three" é'}])
    fresh = full.desk()
    for text in ("one\ntwo", '"three"', "É", "two "):
        assert fresh.traces.find(name, text) == [1], text
    assert fresh.traces.find(name, "\\n") == []
    fresh.close()


# states


def test_the_state_is_as_it_then_was(desk: Desk) -> None:
    states = [desk.traces.state(ATTACK, seq) for seq in range(1, 6)]
    assert [each.seq for each in states] == [0, 2, 2, 4, 4]
    assert [each.changed for each in states] == [False, True, False, True, False]
    assert '"refund_status": "none"' in states[0].text
    assert '~ changed refund_status  "none" → "issued"' in states[1].changes
    assert [(each.before, each.after) for each in states] == [
        (None, 2), (None, 4), (2, 4), (2, None), (4, None)
    ]  # fmt: skip
    assert desk.traces.event(ATTACK, 2).state_changes == states[1].changes


def test_a_state_far_back_is_still_the_one_before(full: Door) -> None:
    quiet = [{"kind": "message", "message": "."} for _ in range(1200)]
    first = {"kind": "state_snapshot", "state": {"a": {"b": [1, 2, 3]}}}
    last = {"kind": "state_snapshot", "state": {"a": {"b": [1, 3], "c": True}}}
    name = taken(full, "far", [first, *quiet, last])
    desk = full.desk()
    expected = ("- removed a.b[1]  2", "+ added a.c  true")
    assert desk.traces.event(name, 1202).state_changes == expected
    assert desk.traces.state(name, 1202).changes == expected
    assert desk.traces.state(name, 700).seq == 1
    desk.close()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(values, values)
def test_states_differ_in_words_exactly_when_they_differ(before: Any, after: Any) -> None:
    same = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    lines = changes(before, after)
    assert (lines == []) == same
    assert all(line.startswith(("+ added ", "- removed ", "~ changed ")) for line in lines)
    assert len(changes(after, before)) == len(lines)


# groups


def call(name: str, **more: Any) -> Event:
    return Event(kind="tool_call", tool=name, call_id=name, **more)


def test_calls_before_the_first_answer_are_one_group() -> None:
    answer = Event(kind="tool_result", tool="a", call_id="a")
    assert together([call("a"), call("b"), answer]) == [(1, 2), (2, 2), (0, 0)]
    assert together([call("a"), answer, call("b"), answer]) == [(0, 0)] * 4
    assert together([call("a"), call("b")]) == [(0, 0)] * 2, "answers may just not be recorded"
    assert together([call("a"), call("b", actor="user"), answer]) == [(0, 0)] * 3
    assert together([Event(tool="a"), Event(tool="b")]) == [(0, 0)] * 2


def test_calls_whose_times_overlap_are_one_group() -> None:
    first = Event(tool="a", started_at="2026-01-01T00:00:00Z", latency_ms=900)
    second = Event(tool="b", started_at="2026-01-01T00:00:00.5Z", latency_ms=900)
    later = Event(tool="c", started_at="2026-01-01T00:00:03+00:00", latency_ms=1)
    assert together([first, second, later]) == [(1, 2), (2, 2), (0, 0)]
    assert together([first, Event(tool="b", started_at="soon")]) == [(0, 0)] * 2


def test_a_window_does_not_cut_a_group(full: Door) -> None:
    made = [
        {"kind": "tool_call", "tool": f"t{n}", "call_id": str(n), "arguments": {}} for n in range(4)
    ]
    answers = [
        {"kind": "tool_result", "tool": f"t{n}", "call_id": str(n), "observation": n}
        for n in range(4)
    ]
    name = taken(full, "fan", [*made, *answers])
    desk = full.desk()
    assert [row.group for row in desk.traces.events(name, 2, 3)] == [(3, 4), (4, 4), (0, 0)]
    assert desk.traces.event(name, 3).row.group == (3, 4)
    desk.close()


# notes


def test_a_note_stands_and_reaches_the_report_and_no_gate(full: Door, desk: Desk) -> None:
    before = json.loads(desk.decisions.view(SUITE, V7).report_json)
    desk.traces.write_note(ATTACK, 2, "bookmark")
    stands = desk.traces.write_note(ATTACK, 2, "note", "ask ann@shop.example | <b>why</b>")
    assert [(note.seq, note.kind) for note in stands] == [(2, "bookmark"), (2, "note")]
    assert "ann@" not in stands[1].text
    shown = desk.decisions.view(SUITE, V7)
    after = json.loads(shown.report_json)
    assert [(note["trace_id"], note["seq"], note["kind"]) for note in after["notes"]] == [
        (ATTACK, 2, "bookmark"), (ATTACK, 2, "note")
    ]  # fmt: skip
    assert "Notes on events" in shown.markdown
    assert "why" in shown.markdown
    assert "<b>" not in shown.markdown
    assert {**after, "notes": []} == before
    assert json.loads(desk.decisions.view(SUITE, V8).report_json)["notes"] == []
    full.healthy()


def test_the_last_word_of_a_person_counts(full: Door, desk: Desk) -> None:
    desk.traces.write_note(ATTACK, 2, "note", "first")
    desk.traces.write_note(ATTACK, 2, "note", "second")
    kim = Desk(desk.place, reviewer="kim")
    kim.traces.write_note(ATTACK, 2, "note", "kim's")
    assert {note.text for note in desk.traces.notes(ATTACK)} == {"second", "kim's"}
    kim.traces.write_note(ATTACK, 2, "note", removed=True)
    assert [note.text for note in desk.traces.notes(ATTACK)] == ["second"]
    assert full.one("SELECT count(*) FROM note") == 4, "what was said is kept"
    assert full.one("SELECT text FROM notes") == "second"
    kim.close()


def test_a_note_needs_an_event_and_has_an_end(desk: Desk) -> None:
    with pytest.raises(DeskError, match="no event 99"):
        desk.traces.write_note(ATTACK, 99, "note", "x")
    with pytest.raises(DeskError, match="no trace"):
        desk.traces.write_note(f"{ATTACK}0", 1, "note", "x")
    with pytest.raises(DeskError, match="at most"):
        desk.traces.write_note(ATTACK, 1, "note", "x" * 4001)
    assert desk.traces.notes(ATTACK) == []


# the source


def test_what_the_source_says_is_told(full: Door) -> None:
    file = Path(__file__).parents[1] / "data" / "tau2" / "mock_single.json"
    full.run("import", file)
    desk = full.desk()
    name = next(row[0] for row in full.rows("SELECT trace_id FROM traces") if "tau2" in row[0])
    said = dict(desk.traces.view(name).said)
    assert said["verdict"] == "passed, reward 1"
    assert said["format"] == "tau2-bench"
    desk.close()


def test_bars_have_what_they_are_drawn_against(desk: Desk) -> None:
    trace = desk.traces.view(ATTACK)
    rows = desk.traces.events(ATTACK, 0, 5)
    assert trace.slowest_ms == max(row.latency_ms or 0 for row in rows)
    assert trace.dearest_usd == max(row.cost_usd or 0 for row in rows)


# an event whole


def test_the_events_of_one_call_lead_to_one_another(full: Door) -> None:
    calls = [
        {"kind": "tool_call", "tool": name, "call_id": name, "arguments": {"n": 1}}
        for name in ("a", "b")
    ]
    answers = [
        {"kind": "approval", "tool": "b", "call_id": "b", "approval": {"decision": "approve"}},
        {"kind": "tool_result", "tool": "b", "call_id": "b", "status": "error", "observation": "x"},
        {"kind": "tool_result", "tool": "a", "call_id": "a", "observation": {"ok": True}},
    ]
    again = [calls[0], {**answers[2], "observation": "second"}, {"kind": "message", "message": "."}]
    name = taken(full, "linked", [*calls, *answers, *again])
    desk = full.desk()

    def others(seq: int) -> list[tuple[int, str | None]]:
        return [(row.seq, row.status) for row in desk.traces.event(name, seq).related]

    assert others(1) == [(5, None)]
    assert others(2) == [(3, None), (4, "error")]
    assert others(3) == [(2, None), (4, "error")]
    assert others(5) == [(1, None)]
    assert others(6) == [(7, None)], "the same id again is another call"
    assert others(7) == [(6, None)]
    assert others(8) == []
    told = full.ok("show", name, "--event", "2").out
    assert "same call: event 4 tool_result error" in told
    desk.close()


def test_approvals_and_errors_are_named_by_what_they_say(full: Door) -> None:
    said = [
        {"kind": "approval", "tool": "pay", "approval": {"approved": True}},
        {"kind": "approval", "tool": "pay", "approval": {"decision": "reject"}},
        {"kind": "error", "status": "error", "message": "upstream is down"},
        {"kind": "error", "status": "error", "observation": {"code": 500}},
    ]
    name = taken(full, "words", said)
    desk = full.desk()
    titles = [row.title for row in desk.traces.events(name, 0, 4)]
    assert titles[:3] == ["pay: granted", "pay: not granted", "upstream is down"]
    assert "500" in titles[3]
    assert [desk.traces.event(name, n).granted for n in (1, 2, 3)] == [True, False, None]
    desk.close()


def test_numbers_are_shown_as_the_record_has_them(full: Door) -> None:
    file = full.root / "numbers.jsonl"
    file.write_text(
        '{"episode_id": "attack-014", "candidate_id": "numbers", "events": '
        '[{"tool": "lookup_order", "arguments":'
        ' {"a": 1.10, "b": 123456789012345678901, "c": "\\u00e9\\u0007"}}],'
        ' "final_state": "x", "cost_usd": null, "latency_ms": null}\n'
    )
    full.run("import", file)
    desk = full.desk()
    detail = desk.traces.event(f"{SUITE}/numbers/attack-014/1", 1)
    assert detail.text("arguments") == (
        '{\n  "a": 1.10,\n  "b": 123456789012345678901,\n  "c": "é\\u0007"\n}'
    )
    assert [field.name for field in detail.fields] == ["arguments"]
    assert json.loads(detail.raw)["arguments"]["a"] == 1.1
    desk.close()


@given(st.text(max_size=30), st.integers(1, 40), st.booleans())
def test_the_first_words_of_a_long_text_are_its_own(text: str, most: int, ascii_: bool) -> None:
    long = (text or "x") * (9_000 // max(1, len(text)))
    raw = json.dumps(long, ensure_ascii=ascii_).encode("utf-8", "replace")
    assert brief_of(Raw(raw), most) == json.loads(raw)[:most]


# large traces: kept in chunks, read by windows


@pytest.fixture
def large(full: Door) -> tuple[Desk, str]:
    """40 events of 100 KB: calls and their answers."""
    events: list[dict[str, Any]] = []
    for n in range(20):
        call = {"tool": "list_items", "call_id": f"c{n}"}
        events.append({"kind": "tool_call", **call, "arguments": {"page": n}})
        rows = [{"id": i, "name": f"item {n}-{i}"} for i in range(2_500)]
        events.append({"kind": "tool_result", **call, "status": "ok", "observation": rows})
    name = taken(full, "large", events)
    assert full.one("SELECT count(*) FROM chunk") > 2
    return full.desk(), name


def test_a_large_trace_reads_like_a_small_one(large: tuple[Desk, str]) -> None:
    desk, name = large
    rows = desk.traces.events(name, 0, 100)
    assert [row.seq for row in rows] == list(range(1, 41))
    assert [row.title for row in rows] == ["list_items"] * 40
    for first in (0, 7, 39):
        assert desk.traces.events(name, first, 1) == rows[first : first + 1]
    assert desk.traces.events(name, 40, 5) == []
    last = desk.traces.event(name, 40)
    assert json.loads(last.fields[0].raw)[-1] == {"id": 2_499, "name": "item 19-2499"}
    assert [row.seq for row in last.related] == [39]
    desk.close()


def test_a_second_look_at_a_large_trace_opens_no_chunk_again(
    large: tuple[Desk, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, name = large
    desk.traces.event(name, 20)
    opened: list[int] = []
    whole = payload.chunk_events

    def counted(connection: sqlite3.Connection, trace: int, n: int) -> Any:
        opened.append(n)
        return whole(connection, trace, n)

    monkeypatch.setattr(payload, "chunk_events", counted)
    monkeypatch.setattr(payload, "chunk_places", None)  # nor is it looked up where they are
    desk.traces.event(name, 20)
    desk.traces.event(name, 19)
    assert opened == []
    desk.traces.events(name, 0, 40)
    assert len(opened) == len(set(opened)), "each at most once"
    desk.close()
