"""Output items of OpenAI's Evals: samples, graders' words, and errors."""

import json
from pathlib import Path
from typing import Any

import pytest
from span_files import DATA, events, read, said

from reviewer.importing.formats.openai_evals import MORE, OpenAIEvalsReader
from reviewer.importing.source import Source

READER = OpenAIEvalsReader()
SAMPLE = DATA / "openai_evals" / "output_items.json"


def items() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(SAMPLE.read_text())["data"]
    return found


def lines(folder: Path, values: list[Any]) -> Path:
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in values))
    return path


def test_items_are_attempts_with_their_verdicts(tmp_path: Path) -> None:
    for path in (SAMPLE, lines(tmp_path, items())):
        found = read(READER, path)
        verdicts = [one.verdict for one in found if one.verdict]
        assert [one.passed for one in verdicts] == [True, False, False]
        assert [one.exception for one in verdicts] == [None, None, "the model broke"]
        first, _, third = [json.loads(one.raw) for one in found]
        assert said(first)[1:] == [
            ("user", "What does lamp L-7 cost?"), ("agent", "It costs 39.50."),
        ]  # fmt: skip
        assert (first["episode_id"], first["candidate_id"]) == ("0", "fake-1")
        assert first["usage"]["cached_tokens"] == 4
        assert third["termination"] == "error"
        assert not [one for one in found if b'"unread"' in one.raw]


def test_calls_in_an_answer_are_calls(tmp_path: Path) -> None:
    item = items()[0]
    made = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{}"}}
    item["sample"]["output"][0]["tool_calls"] = [made]
    (found,) = read(READER, lines(tmp_path, [item]))
    assert [one["tool"] for one in events(json.loads(found.raw), "tool_call")] == ["refund"]


@pytest.mark.parametrize("status", ["robot", "", None, 7])
def test_an_unknown_status_is_no_verdict(tmp_path: Path, status: Any) -> None:
    item = {**items()[0], "status": status}
    (found,) = read(READER, lines(tmp_path, [item]))
    assert found.verdict is not None
    assert found.verdict.passed is None


def test_a_pass_beside_an_error_is_no_pass(tmp_path: Path) -> None:
    item = items()[0]
    item["sample"]["error"] = {"code": "server_error", "message": ""}
    (found,) = read(READER, lines(tmp_path, [item]))
    assert found.verdict is not None
    assert found.verdict.passed is None


def test_a_pass_beside_a_grader_that_failed_is_no_pass(tmp_path: Path) -> None:
    item = items()[0]
    item["results"] = [{"name": "one", "passed": True}, {"name": "other", "passed": False}]
    (found,) = read(READER, lines(tmp_path, [item]))
    assert found.verdict
    assert found.verdict.passed is None
    assert any("both" in note for note in found.notes)


def test_an_unknown_part_of_a_sample_that_could_be_an_act_is_not_measured(tmp_path: Path) -> None:
    item = items()[0]
    item["sample"]["steps"] = [{"tool": "wire", "input": {"to": 1}}]
    (found,) = read(READER, lines(tmp_path, [item]))
    assert json.loads(found.raw)["unread"]


@pytest.mark.parametrize("sample", [None, {}, {"input": [], "output": []}])
def test_an_item_without_an_answer_is_not_measured(tmp_path: Path, sample: Any) -> None:
    """A run over stored answers asks no model: an item then has no sample."""
    (found,) = read(READER, lines(tmp_path, [{**items()[0], "sample": sample}]))
    record = json.loads(found.raw)
    assert [one["path"] for one in record["unread"]] == ["sample.output"]


def test_an_error_that_is_a_text_is_an_error(tmp_path: Path) -> None:
    item = items()[0]
    item["sample"]["error"] = "the model broke"
    (found,) = read(READER, lines(tmp_path, [item]))
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.exception) == (None, "the model broke")


@pytest.mark.parametrize(
    ("pages", "told"), [([True], True), ([True, False], False), ([False], False)]
)
def test_a_page_of_several_says_that_there_are_more(
    tmp_path: Path, pages: list[bool], told: bool
) -> None:
    page = json.loads(SAMPLE.read_text())
    source = Source(lines(tmp_path, [{**page, "has_more": more} for more in pages]))
    assert len(list(READER.traces(source))) == 3 * len(pages)
    assert (MORE in source.notes) is told
