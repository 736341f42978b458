"""GAIA rows: those smolagents wrote itself, and others made up after its harnesses' members."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door, every_byte
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_shapes import cut_anywhere, made_odd

from reviewer.importing.formats.gaia import GaiaReader
from reviewer.importing.formats.smolagents import NotLiteral, literal, members, parts
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

ROWS = Path(__file__).resolve().parents[2] / "data/smolagents/rows.jsonl"

SUBMITTED = {"task_id": "t-1", "model_answer": "17", "reasoning_trace": "I looked it up."}
OLD: dict[str, Any] = {
    "agent_name": "o1", "question": "How heavy is a lamp?", "prediction": "5 kg",
    "augmented_question": "One question. How heavy is a lamp?", "true_answer": "hidden-truth-5",
    "intermediate_steps": [
        "ActionStep(step_number=1, tool_calls=[ToolCall(name='search', arguments={'q': 'lamp'},"
        " id='c1')], start_time=1.0, end_time=3.0, error=None, duration=2.0,"
        " model_output_message=ChatMessage(role='assistant', content=\"It's\", raw=<Raw at 0x7f>),"
        " model_output=\"It's a lamp, (a [big] one\", observations='5 kg, \"about\"')",
        "PlanningStep(plan='First look, then answer.', facts='none')",
    ],
    "parsing_error": False, "iteration_limit_exceeded": False, "agent_error": None, "task": "2",
    "start_time": "2025-01-29 10:00:00", "end_time": "2025-01-29 10:01:30",
}  # fmt: skip
CHAT: dict[str, Any] = {
    "model_id": "gpt-4o", "agent_action_type": "tool-calling", "question": "Q plus",
    "original_question": "Q", "answer": "7", "true_answer": "hidden-truth-7", "source": "gaia",
    "intermediate_steps": [
        {"role": "user", "content": [{"type": "text", "text": "New task:\nQ"}], "tool_calls": None},
        {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}]},
        {"role": "tool-call", "content": [{"type": "text", "text": "Calling tools:\n[{'id': 'c1',"
         " 'type': 'function', 'function': {'name': 'visit', 'arguments': {'url': 'http://h',"
         " 'deep': True}}}]"}], "tool_calls": None},
        {"role": "MessageRole.TOOL_RESPONSE", "content": [{"type": "text",
         "text": "Call id: c1\nObservation:\nA page."}]},
        {"role": "tool-call", "content": "Calling tools:\n[{'id': 'c2', 'function': {'name':"
         " 'visit', 'arguments': {'url': 'x'}}}]"},
        {"role": "tool-response", "content": "Call id: c2\nError:\nno such host\nNow let's retry"},
    ],
    "start_time": 1741000000.5, "end_time": "2025-03-03 12:00:00",
    "token_counts": {"input": 1062681, "output": 6055},
}  # fmt: skip


def traces(tmp_path: Path, *rows: Any, name: str = "run-a.jsonl") -> list[Foreign | Broken]:
    path = tmp_path / name
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    reader = GaiaReader()
    return list(reader.traces(Source(path, "", reader.companions(path))))


def one(tmp_path: Path, row: Any) -> tuple[dict[str, Any], Foreign]:
    (found,) = traces(tmp_path, row)
    assert isinstance(found, Foreign), found
    return json.loads(found.raw), found


def test_steps_are_read_in_every_way_smolagents_keeps_them(door: Door) -> None:
    said = door.run("import", ROWS)
    assert said.code == 0, said
    rows = door.rows(
        "SELECT candidate_id, count(*), count(passed) FROM traces GROUP BY 1 ORDER BY 1"
    )
    assert rows == [
        ("smolagents code scripted-1", 4, 4),  # their answers are the true ones of their rows
        ("smolagents tool-calling scripted-1", 4, 4),
    ]
    found = [
        json.loads(one.raw) for one in GaiaReader().traces(Source(ROWS)) if isinstance(one, Foreign)
    ]
    acts = [
        [(e["tool"], e["arguments"]) for e in record["events"] if e["kind"] == "tool_call"]
        for record in found
    ]
    assert acts[0] == acts[1] == acts[2] == [
        ("search", {"query": "lamp"}), ("search", {"query": "boom"}),
        ("final_answer", {"answer": "5"}),
    ]  # fmt: skip
    assert acts[3] == [acts[0][0], acts[0][2]]  # as messages a call that failed is left out
    assert (
        acts[4]
        == acts[5]
        == acts[6]
        == acts[7]
        == [
            ("python_interpreter", {"code": "print(search('it\\'s \"x\"'))"}),
            ("python_interpreter", {"code": "final_answer('5')"}),
        ]
    )
    for record in found:
        assert record["usage"] == {"input_tokens": 300, "output_tokens": 30}
        failed = [e for e in record["events"] if e.get("status") == "error"]
        assert len(failed) == 1
        assert not [e for e in record["events"] if e.get("status") == "pending"]


def test_a_submission_is_an_answer_without_a_verdict(tmp_path: Path) -> None:
    record, found = one(tmp_path, SUBMITTED)
    assert (record["episode_id"], record["candidate_id"]) == ("t-1", "run-a")
    assert (record["final_message"], found.verdict, found.suite) == ("17", None, "gaia")
    assert [event["message"] for event in record["events"]] == ["I looked it up."]


def test_steps_written_as_python_prints_them(tmp_path: Path) -> None:
    record, found = one(tmp_path, OLD)
    kinds = [event["kind"] for event in record["events"]]
    assert kinds == ["message", "message", "tool_call", "tool_result", "message"]
    asked, thought, call, seen, plan = record["events"]
    assert asked["message"] == OLD["augmented_question"]
    assert (thought["message"], thought["latency_ms"]) == ("It's a lamp, (a [big] one", 2000.0)
    assert (call["tool"], call["arguments"], call["call_id"]) == ("search", {"q": "lamp"}, "c1")
    assert (seen["observation"], seen["status"]) == ('5 kg, "about"', "ok")
    assert plan["message"] == "First look, then answer."
    assert record["latency_ms"] == 90_000
    assert record["candidate_id"] == "smolagents o1"
    assert record["source"]["row"]["task"] == "2"
    assert found.verdict is not None
    assert found.verdict.passed is False  # "5 kg" is not the true answer


def test_text_calls_are_read_and_clocks_of_two_kinds_are_not_subtracted(tmp_path: Path) -> None:
    record, found = one(tmp_path, CHAT)
    calls = [event for event in record["events"] if event["kind"] == "tool_call"]
    assert [(call["tool"], call["arguments"], call["call_id"]) for call in calls] == [
        ("visit", {"url": "http://h", "deep": True}, "c1"), ("visit", {"url": "x"}, "c2"),
    ]  # fmt: skip
    seen = [event for event in record["events"] if event["kind"] == "tool_result"]
    assert [(event["observation"].split("\n")[0], event["status"]) for event in seen] == [
        ("A page.", "ok"), ("no such host", "error"),
    ]  # fmt: skip
    assert record["latency_ms"] is None
    assert record["started_at"].startswith("2025-03-03T")
    assert record["usage"] == {"input_tokens": 1062681, "output_tokens": 6055}
    assert record["candidate_id"] == "smolagents tool-calling gpt-4o"
    assert any("different clocks" in note for note in found.notes)


@pytest.mark.parametrize(
    "calls",
    [
        "Calling tools:\n[{'id': 1, __import__('os').system('x')}]",
        "Calling tools:\n[" * 50,
        "Calling tools:\n[1 -1 -1]",
        "",
    ],
)
def test_text_calls_that_are_no_literal_stay_text(tmp_path: Path, calls: str) -> None:
    row = {**CHAT, "intermediate_steps": [{"role": "tool-call", "content": calls}]}
    record, found = one(tmp_path, row)
    call = record["events"][-1]
    assert (call["tool"], call["arguments"]) == ("unparsed", {"text": calls})
    assert any("kept as text" in note for note in found.notes)


@pytest.mark.parametrize(
    ("changes", "exception", "termination"),
    [
        ({"agent_error": "None"}, None, "completed"),
        ({"agent_error": float("nan")}, None, "completed"),
        ({"agent_error": "Error in code", "prediction": None}, "Error in code", "error"),
        ({"iteration_limit_exceeded": True}, None, "max_steps"),
        ({"prediction": None}, None, None),
    ],
)
def test_errors_and_limits(
    tmp_path: Path, changes: dict[str, Any], exception: str | None, termination: str | None
) -> None:
    record, found = one(tmp_path, {**OLD, **changes})
    assert (found.verdict.exception if found.verdict else None) == exception
    assert record.get("termination") == termination


@pytest.mark.parametrize(("answer", "gold", "passed"), [
    ("17", "17", True), ("$17", "17", True), ("17.0", "17", True), ("1,700 %", "1700", True),
    ("17 kg", "17", False), ("seventeen", "17", False), (None, "17", False), ("", "17", False),
    ("Saint Petersburg", "saintpetersburg", True), ("St. Petersburg!", "st petersburg", True),
    ("a, b", "a,b", True), ("a; b", "a,b", True), ("b, a", "a, b", False), ("a", "a, b", False),
    ("1, $2", "1; 2", True), ("a., b", "a, b", False), ("none", "None", True),
])  # fmt: skip
@pytest.mark.parametrize("where", ["metadata", "row"])
def test_an_answer_is_compared_with_the_true_one_as_gaia_does(
    tmp_path: Path, where: str, answer: str | None, gold: str, passed: bool
) -> None:
    row = {"task_id": "t-1", "model_answer": answer}
    if where == "metadata":
        metadata = {"task_id": "t-1", "Question": "Q", "Level": 1, "Final answer": gold}
        (tmp_path / "metadata.jsonl").write_text(json.dumps(metadata) + "\n")
    else:
        row["true_answer"] = gold
    record, found = one(tmp_path, row)
    assert found.verdict is not None
    assert found.verdict.passed is passed
    assert "true_answer" not in json.dumps(record["source"].get("row", {}))


@pytest.mark.parametrize("gold", ["", "?", None])
def test_a_hidden_true_answer_is_compared_with_nothing(tmp_path: Path, gold: str | None) -> None:
    metadata = {"task_id": "t-1", "Question": "Q", "Level": 1, "Final answer": gold}
    (tmp_path / "metadata.jsonl").write_text(json.dumps(metadata) + "\n")
    _, found = one(tmp_path, {"task_id": "t-1", "model_answer": "?", "true_answer": gold})
    assert found.verdict is None
    assert any("not measured" in note for note in found.notes)


def test_a_verdict_in_the_row_is_taken_and_true_answers_are_not(door: Door, tmp_path: Path) -> None:
    scored = {**OLD, "task_id": "t-9", "is_correct": True, "is_near_correct": True,
              "agent_error": "late", "token_counts": {"input": 0, "output": 0}}  # fmt: skip
    record, found = one(tmp_path, scored)
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.exception) == (True, "late")
    assert found.verdict.detail == {"is_near_correct": True}
    assert "usage" not in record
    assert record["episode_id"] == "t-9"
    # A table of numbers writes 0 for false; the answer is the true one all the same.
    _, wrong = one(tmp_path, {**scored, "true_answer": OLD["prediction"], "is_correct": 0})
    assert wrong.verdict is not None
    assert wrong.verdict.passed is False
    assert door.take("run.jsonl", [scored, CHAT]).code == 0
    assert b"hidden-truth" not in every_byte(door.root / "store")


CALLED = {"step_number": 1, "observations": "seen"}


@pytest.mark.parametrize(
    ("steps", "missing"),
    [
        ([{**CALLED, "tool_calls": [None]}], "tool_calls"),
        ([{**CALLED, "tool_calls": "search"}], "tool_calls"),
        ([{"role": "assistant", "content": "x", "tool_calls": [7]}], "tool_calls"),
        ("it searched and then paid", "intermediate_steps"),
        (["NewStep(calls=['pay'])"], "intermediate_steps"),
    ],
)
def test_steps_that_are_not_understood_are_not_measured(
    tmp_path: Path, steps: Any, missing: str
) -> None:
    record, _ = one(tmp_path, {**CHAT, "intermediate_steps": steps})
    assert missing in [part["path"] for part in record["unread"]]


def test_rows_that_all_fail_alike_are_told(tmp_path: Path) -> None:
    """Each of another question; ids and numbers in the text differ."""
    rows = [
        {**CHAT, "question": f"Q{n}", "original_question": f"Q{n}", "intermediate_steps": [],
         "answer": f"litellm.AuthenticationError: invalid key (req_{n}a7), code 401"}
        for n in range(4)
    ]  # fmt: skip
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    source = Source(path)
    found = list(GaiaReader().traces(source))
    assert source.notes == {
        "all 4 rows have the same error text as their answer: the harness failed"
    }
    for attempt in found:
        assert isinstance(attempt, Foreign)
        assert json.loads(attempt.raw)["termination"] == "error"
        assert attempt.verdict is not None
        assert str(attempt.verdict.exception).startswith("litellm.AuthenticationError")
    rows[2]["answer"] = "7"
    path.write_text("\n".join(map(json.dumps, rows)))
    source = Source(path)
    found = list(GaiaReader().traces(source))
    said = [one.verdict for one in found if isinstance(one, Foreign)]
    assert [bool(one and one.exception) for one in said] == [True, True, False, True]
    assert [one and one.passed for one in said] == [False] * 4
    assert source.notes == set()


def test_tasks_without_an_id_are_joined_by_their_question(door: Door, tmp_path: Path) -> None:
    question = {"task_id": "uuid-1", "Question": "How heavy  is\na lamp?", "Level": 1}
    metadata = {**question, "Final answer": "hidden-truth", "Annotator Metadata": {}}
    (tmp_path / "metadata.jsonl").write_text(json.dumps(metadata) + "\n")
    record, found = one(tmp_path, OLD)
    assert record["episode_id"] == "uuid-1"
    assert any("metadata.jsonl" in note for note in found.notes)
    other, _ = one(tmp_path, {**OLD, "question": "Other?"})
    again, _ = one(tmp_path, {**OLD, "question": " Other?"})
    assert other["episode_id"] == again["episode_id"] != "uuid-1"
    runs = tmp_path / "only"
    runs.mkdir()
    for name in ("metadata.jsonl", "run-a.jsonl"):
        (tmp_path / name).rename(runs / name)
    said = door.run("import", runs)
    assert said.code == 0, said
    assert b"hidden-truth" not in every_byte(door.root / "store")


def test_other_sources_are_other_suites(tmp_path: Path) -> None:
    found = traces(tmp_path, CHAT, {**CHAT, "source": "SimpleQA"}, {**CHAT, "source": "GAIA"})
    assert [one.suite for one in found if isinstance(one, Foreign)] == [
        "gaia", "smolagents-simpleqa", "gaia",
    ]  # fmt: skip


def test_bad_rows_cost_themselves(door: Door) -> None:
    rows = [
        json.dumps(OLD),
        '{"question": "cut',
        "[1]",
        json.dumps({"question": "x"}),
        json.dumps(CHAT),
    ]
    said = door.take("run.jsonl", "\n".join(rows))
    assert door.one("SELECT count(*) FROM traces") == 2
    assert said.code == 20  # what was wrong is told, what was right is kept
    assert all(f"row {number}" in said.err for number in (2, 3, 4))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_odd_rows_cost_themselves(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    rows = [OLD, json.loads(json.dumps(data.draw(st.sampled_from([SUBMITTED, OLD, CHAT])))), CHAT]
    for _ in range(data.draw(st.integers(1, 3))):
        made_odd(data, rows[1])
    folder = tmp_path_factory.mktemp("odd")
    found = traces(folder, *rows)
    assert len(found) == 3
    assert isinstance(found[0], Foreign)
    assert isinstance(found[2], Foreign)
    path = folder / "run-a.jsonl"
    path.write_bytes(cut_anywhere(data, path.read_bytes()))
    try:
        list(GaiaReader().traces(Source(path)))
    except Unreadable:
        assert len(path.read_bytes()) < 3


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(), FLOATS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_what_python_prints_is_read_back(value: Any) -> None:
    assert literal(repr(value)) == value
    name, found = members(f"Step(before={value!r}, n=1)")
    assert (name, list(found)) == ("Step", ["before", "n"])
    assert literal(found["before"]) == value


@pytest.mark.parametrize(
    "text",
    ["open('x')", "1+1", "[1 for x in y]", "-" * 5000 + "1", "1 -1 -1", "[" * 60 + "]" * 60,
     "f'{x}'", "{[1]: 2}", "'cut", "", "nan", "a"],
)  # fmt: skip
def test_what_is_no_literal_is_refused(text: str) -> None:
    with pytest.raises(NotLiteral):
        literal(text)


@given(st.text(alphabet="()[]{},='\"\\ ab", max_size=200))
def test_any_text_can_be_taken_apart(text: str) -> None:
    name, found = parts(text)
    assert len(name) + sum(map(len, found)) <= len(text)
