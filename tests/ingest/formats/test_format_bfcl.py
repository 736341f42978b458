"""Results of BFCL: calls, words and texts, several turns, and the scores beside them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from span_files import DATA, events, read, said, used

from reviewer.importing.formats.bfcl import BfclReader
from reviewer.importing.head import Head
from reviewer.importing.pipeline.units import claim, find_units
from reviewer.importing.reader import Foreign
from reviewer.importing.source import Source
from reviewer.testing import check_reader

READER = BfclReader()
FILES = DATA / "bfcl"
FC = FILES / "result" / "gpt-4o-2024-11-20-FC"
TEXT = FILES / "result" / "gpt-4o-2024-11-20"
TURNS = FC / "multi_turn" / "BFCL_v4_multi_turn_base_result.json"
SIMPLE = "non_live/BFCL_v4_simple_python_result.json"
PARALLEL = "non_live/BFCL_v4_parallel_result.json"


def attempts(path: Path) -> list[Foreign]:
    source = Source(path, "", READER.companions(path))
    return [one for one in READER.traces(source) if isinstance(one, Foreign)]


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(one.raw) for one in attempts(path)]


def laid(folder: Path) -> Path:
    return Path(shutil.copytree(FILES, folder / "bfcl"))


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(path: Path, values: list[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in values))
    return path


def calls_of(record: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(one["tool"], one["arguments"]) for one in events(record, "tool_call")]


@pytest.mark.parametrize(
    "log", [[], [{"role": "inference_input", "content": {"message": "[…]", "tools": []}}]]
)
def test_a_log_without_answers_hides_no_call(tmp_path: Path, log: list[Any]) -> None:
    """`--include-input-log` keeps what the model was given beside an answer of one turn."""
    asked = {"id": "simple_python_0", "result": [{"f": '{"a": 1}'}], "inference_log": log}
    written_as_text = {"id": "simple_python_1", "result": "[f(a=1)]", "inference_log": log}
    counts = {"input_token_count": 10, "output_token_count": 5, "latency": 0.5}
    path = written(
        tmp_path / "BFCL_v4_simple_python_result.json",
        [{**asked, **counts}, {**written_as_text, **counts}],
    )
    found = records(path)
    assert [calls_of(one) for one in found] == [[("f", {"a": 1})]] * 2
    assert ["unread" in one for one in found] == [False, False]


@pytest.mark.parametrize("name", [SIMPLE, PARALLEL])
def test_calls_are_read_from_both_ways_of_writing_them(name: str) -> None:
    in_file = [
        [(tool, json.loads(given)) for call in one["result"] for tool, given in call.items()]
        if isinstance(one["result"], list)
        else []
        for one in lines(FC / name)
    ]
    assert [calls_of(one) for one in records(FC / name)] == in_file
    assert [calls_of(one) for one in records(TEXT / name)] == in_file
    assert sum(map(len, in_file)) == {SIMPLE: 2, PARALLEL: 4}[name]
    assert not [one for one in records(TEXT / name) if "unread" in one]


def test_results_without_counts_are_known_by_their_file_and_calls_written_as_json_are_read(
    tmp_path: Path,
) -> None:
    turns = [['[{"Files.mv": {"source": "a"}}]', "[]", "Moved."], [[{"Files.ls": "{}"}]]]
    value = {"id": "multi_turn_base_1", "result": turns}
    path = written(tmp_path / "BFCL_v4_multi_turn_base_result.json", [value])
    assert READER.sniff(Head(path))
    (record,) = records(path)
    assert calls_of(record) == [("Files.mv", {"source": "a"}), ("Files.ls", {})]
    assert "unread" not in record
    assert not READER.sniff(Head(written(tmp_path / "other.json", [value])))


def test_verdicts_are_those_of_the_score_file() -> None:
    found = attempts(FC / SIMPLE)
    assert [one.verdict.passed for one in found if one.verdict] == [True, False, True]
    failed = found[1].verdict
    assert failed is not None
    assert failed.detail == {"error_type": "ast_decoder:decoder_failed"}
    assert {json.loads(one.raw)["candidate_id"] for one in found} == {"gpt-4o-2024-11-20-FC"}
    first = json.loads(found[0].raw)
    assert (first["episode_id"], first["latency_ms"]) == ("simple_python_0", 500)
    assert first["usage"] == {"input_tokens": 50, "output_tokens": 9}


def test_turns_are_told_with_what_calls_returned_and_the_state_they_left() -> None:
    first, second, broken = records(TURNS)
    value = lines(TURNS)[1]
    in_file = [
        (tool, json.loads(given))
        for turn in value["result"]
        for step in turn
        if isinstance(step, list)
        for call in step
        for tool, given in call.items()
    ]
    assert calls_of(second) == in_file
    assert len(used(second)) == len(in_file)
    assert used(first)[0] == ("cd", "error")
    assert [actor for actor, _ in said(first)][:2] == ["user", "agent"]
    assert first["final_state"].keys() == {"GorillaFileSystem"}
    assert first["usage"]["input_tokens"] == 50 * sum(map(len, lines(TURNS)[0]["result"]))
    assert (broken["termination"], [one["kind"] for one in broken["events"]]) == (
        *("error", ["error"]),
    )
    assert [one.verdict.passed for one in attempts(TURNS) if one.verdict] == [False, True, False]


def test_without_scores_nothing_is_a_verdict(tmp_path: Path) -> None:
    path = Path(shutil.copy(FC / SIMPLE, tmp_path))
    assert [one.verdict for one in attempts(path)] == [None] * 3
    assert [one["candidate_id"] for one in records(path)] == [path.stem] * 3


def test_scores_of_other_results_give_no_pass(tmp_path: Path) -> None:
    root = laid(tmp_path)
    path = root / FC.relative_to(FILES) / SIMPLE
    written(path, [*lines(path), {"id": "simple_python_7", "result": "No.", "latency": 1}])
    assert [one.verdict and one.verdict.passed for one in attempts(path)] == [
        *(None, False, None, None),
    ]


@pytest.mark.parametrize(
    "result",
    ["[f(x=open('a'))]", "[Node.set(value=new Foo())]", [{"f": "{}", "g": "{}"}], {"f": 1},
     "I call <tool_call>wire</tool_call>.", '[{"name": "f", "arguments": {}}]', '[{"f": {}}, 1]'],
)  # fmt: skip
def test_an_answer_that_may_be_a_call_is_not_measured(tmp_path: Path, result: Any) -> None:
    value = {"id": "simple_java_1", "result": result, "latency": 1}
    (record,) = records(written(tmp_path / "BFCL_v4_simple_java_result.json", [value]))
    assert record["unread"]


def test_a_log_that_tells_of_other_answers_is_not_measured(tmp_path: Path) -> None:
    first, second, _ = lines(TURNS)
    second["result"][0][0] = [{"wire": "{}"}]
    path = written(tmp_path / "BFCL_v4_multi_turn_base_result.json", [first, second])
    assert ["unread" in one for one in records(path)] == [False, True]


def test_below_a_folder_results_are_read_with_their_scores() -> None:
    found = find_units([FILES]).units
    assert sorted(one.path.name for one in found) == sorted(
        one.name for one in (FILES / "result").rglob("*.json")
    )
    assert all(one.reader is not None and len(one.companions) == 1 for one in found)


def test_scores_alone_are_refused_by_name(tmp_path: Path) -> None:
    unit = claim(Path(shutil.copy(FILES / "score" / FC.name / "non_live" /
                                  "BFCL_v4_parallel_score.json", tmp_path)))  # fmt: skip
    assert unit is not None
    assert unit.problem.startswith("BFCL scores without their results")


@pytest.mark.parametrize("path", [FC / SIMPLE, TEXT / PARALLEL, TURNS], ids=lambda one: one.name)
def test_the_rules_of_a_reader_hold(path: Path, tmp_path: Path) -> None:
    copy = laid(tmp_path) / path.relative_to(FILES)
    assert read(READER, copy)
    check_reader(READER, copy, mutants=40)


def test_an_answer_that_broke_is_no_pass(tmp_path: Path) -> None:
    """In a question that asks for no call, BFCL counts an error of the endpoint as right."""
    path = laid(tmp_path) / FC.relative_to(FILES) / "non_live" / "BFCL_v4_irrelevance_result.json"
    passed = [one.verdict is not None and one.verdict.passed for one in attempts(path)]
    place, rows = passed.index(True), lines(path)
    broken = {"result": "Error during inference: Error code: 400 - bad", "traceback": "…"}
    rows[place] = {"id": rows[place]["id"], **broken}
    found = attempts(written(path, rows))[place]
    assert found.verdict is not None
    assert found.verdict.passed is None
    assert any("both" in note for note in found.notes)
