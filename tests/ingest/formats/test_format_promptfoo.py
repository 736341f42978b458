"""promptfoo: what was asked and answered, and what the assertions said of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from span_files import DATA, events, read, said

from reviewer.importing.formats.promptfoo import PromptfooReader
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

READER = PromptfooReader()
SAMPLE = DATA / "promptfoo" / "results.json"
REPEATED = DATA / "promptfoo" / "repeated.json"
MODEL = "openai:chat:gpt-4o-mini"


def loaded() -> Any:
    return json.loads(SAMPLE.read_text())


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(one.raw) for one in read(READER, path)]


def written(folder: Path, text: str) -> Path:
    path = folder / "results.json"
    path.write_text(text)
    return path


def lines(folder: Path, values: list[Any]) -> Path:
    return written(folder, "".join(json.dumps(one) + "\n" for one in values))


def test_each_result_is_an_attempt_with_its_verdict() -> None:
    found = read(READER, SAMPLE)
    verdicts = [one.verdict for one in found]
    assert [one.passed for one in verdicts if one] == [True, False, True, False]
    assert [one.reward for one in verdicts if one] == [1.0, 0.0, 1.0, 0.0]
    assert [one.exception for one in verdicts if one] == [None, None, None, "API error: 429"]
    first, second, third, fourth = records(SAMPLE)
    assert said(first) == [("user", "What does lamp L-7 cost?"), ("agent", "It costs 39.50.")]
    assert (first["candidate_id"], second["candidate_id"]) == ("openai:model-a", "openai:model-b")
    assert first["episode_id"] == second["episode_id"] != third["episode_id"]
    assert first["usage"]["input_tokens"] == 37
    assert (first["cost_usd"], first["latency_ms"]) == (0.0005, 5794)
    assert said(third) == [("system", "You help with lamps."), ("user", "Refund L-7.")]
    assert [(one["tool"], one["status"]) for one in events(third, "tool_call")] == [
        ("refund_lamp", "pending")
    ]
    assert fourth["termination"] == "error"
    assert fourth["cost_usd"] is None
    assert not [one for one in (first, second, third, fourth) if "unread" in one]


def test_every_envelope_says_the_same(tmp_path: Path) -> None:
    value = loaded()
    plain = [one["events"] for one in records(SAMPLE)]
    rows = value["results"]["results"]
    assert [one["events"] for one in records(lines(tmp_path, rows))] == plain
    old = {"version": 2, "results": rows, "table": {}, "stats": {}}
    assert READER.sniff(Head(written(tmp_path, json.dumps(old))))
    assert [one["events"] for one in records(written(tmp_path, json.dumps(old)))] == plain


def test_cached_answers_have_no_cost_and_no_time(tmp_path: Path) -> None:
    (row, *_) = loaded()["results"]["results"]
    row["response"]["cached"] = True
    (record,) = records(lines(tmp_path, [row]))
    assert record["cost_usd"] is None
    assert record["latency_ms"] is None
    assert "usage" not in record


def test_a_cost_or_time_of_0_that_no_provider_stated_is_null(tmp_path: Path) -> None:
    (row, *_) = loaded()["results"]["results"]
    del row["response"]["cost"]
    row |= {"cost": 0, "latencyMs": 0}
    (record,) = records(lines(tmp_path, [row]))
    assert (record["cost_usd"], record["latency_ms"]) == (None, None)
    row["response"]["cost"] = 0
    (record,) = records(lines(tmp_path, [row]))
    assert record["cost_usd"] == 0


@pytest.mark.parametrize(
    ("provider", "hides"),
    [("openai:chat:model-a", False), ("ollama:chat:agent", False), ("echo", False),
     ("https", True), ("file://agent.py", True), ("python:agent.py", True), ("my-agent", True),
     ("openai:agents:desk", True), ("anthropic:claude-agent-sdk", True),
     ("openai:codex-sdk", True)],
)  # fmt: skip
def test_what_a_program_or_an_agent_called_to_answer_is_not_measured(
    tmp_path: Path, provider: str, hides: bool
) -> None:
    (row, *_) = loaded()["results"]["results"]
    (record,) = records(lines(tmp_path, [{**row, "provider": {"id": provider, "label": "desk"}}]))
    assert ("unread" in record) is hides
    assert record["candidate_id"] == "desk"


def test_what_promptfoo_traced_is_not_measured(tmp_path: Path) -> None:
    (row, *_) = loaded()["results"]["results"]
    (record,) = records(lines(tmp_path, [{**row, "traceId": "4bf92f35"}]))
    assert [one["path"] for one in record["unread"]] == ["traceId"]


def test_each_turn_of_an_attack_is_read(tmp_path: Path) -> None:
    (row, *_) = loaded()["results"]["results"]
    turns = [
        {"prompt": "hello", "output": "The password is lamp."},
        {"prompt": "more?", "output": "No."},
    ]
    row["response"] |= {"output": "No.", "metadata": {"redteamHistory": turns}}
    (record,) = records(lines(tmp_path, [row]))
    assert said(record) == [
        ("user", "hello"), ("agent", "The password is lamp."), ("user", "more?"), ("agent", "No.")
    ]  # fmt: skip
    assert record["final_message"] == "No."
    row["response"]["output"] = "The best answer."
    (record,) = records(lines(tmp_path, [row]))
    assert said(record)[-1] == ("agent", "The best answer.")


def test_prompts_of_one_provider_are_candidates(tmp_path: Path) -> None:
    value = loaded()
    other = {**value["results"]["prompts"][0], "label": "other"}
    value["results"]["prompts"].append({**other, "metrics": {}})
    found = records(written(tmp_path, json.dumps(value)))
    assert found[0]["candidate_id"] == "openai:model-a"
    rows = value["results"]["results"]
    rows[0]["prompt"]["label"] = "Be brief.\n{{question}}"
    for path in (written(tmp_path, json.dumps(value)), lines(tmp_path, rows[:1])):
        assert records(path)[0]["candidate_id"] == "openai:model-a Be brief. {{question}}"


@pytest.mark.parametrize(
    "output",
    [{"name": "wire", "arguments": {"to": 1}}, [{"type": "robot_call", "what": {"to": 1}}],
     [{"functionCall": {"name": "wire", "args": {}}}]],
)  # fmt: skip
def test_an_answer_that_could_be_an_act_is_not_measured(tmp_path: Path, output: Any) -> None:
    (row, *_) = loaded()["results"]["results"]
    row["response"]["output"] = output
    (record,) = records(lines(tmp_path, [row]))
    assert record["unread"]


def test_a_missing_verdict_is_none(tmp_path: Path) -> None:
    (row, *_) = loaded()["results"]["results"]
    row["success"] = "yes"
    del row["score"]
    (found,) = read(READER, lines(tmp_path, [row]))
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (None, None)


def test_a_success_beside_a_grading_that_failed_is_no_pass(tmp_path: Path) -> None:
    run = loaded()
    run["results"]["results"][0]["gradingResult"]["pass"] = False
    found = read(READER, written(tmp_path, json.dumps(run)))[0]
    assert found.verdict
    assert found.verdict.passed is None
    assert any("both" in note for note in found.notes)


@pytest.mark.parametrize(
    "broken",
    [{"error": "api down", "failureReason": 2}, {"error": "api down"},
     {"response": {"error": "boom"}}, {"gradingResult": {"pass": "false"}}, {"failureReason": 1}],
)  # fmt: skip
def test_a_success_beside_an_error_is_no_pass(tmp_path: Path, broken: dict[str, Any]) -> None:
    (row, *_) = loaded()["results"]["results"]
    (found,) = read(READER, lines(tmp_path, [{**row, **broken}]))
    assert found.verdict
    assert found.verdict.passed is None
    assert any("both" in note for note in found.notes)


@pytest.mark.parametrize("response", [None, {"output": "[output stripped]"}])
def test_an_answer_that_was_not_kept_hides_what_was_called(tmp_path: Path, response: Any) -> None:
    (row, *_) = loaded()["results"]["results"]
    (record,) = records(lines(tmp_path, [{**row, "response": response}]))
    assert [one["path"] for one in record["unread"]] == ["response"]


def test_a_file_that_is_cut_off_gives_what_is_whole(tmp_path: Path) -> None:
    text = SAMPLE.read_text()
    whole = [one["events"] for one in records(SAMPLE)]
    for size in range(200, len(text), 997):
        path = written(tmp_path, text[:size])
        if not READER.sniff(Head(path)):
            continue
        found = list(READER.traces(Source(path)))
        told = [json.loads(one.raw)["events"] for one in found if isinstance(one, Foreign)]
        assert told == whole[: len(told)]
        assert len(told) == len(whole) or any(isinstance(one, Broken) for one in found)


def test_repetitions_of_a_test_are_attempts_of_one_episode() -> None:
    found = [one for one in READER.traces(Source(REPEATED)) if isinstance(one, Foreign)]
    told = [json.loads(one.raw) for one in found]
    assert len(told) == 12
    own = [one for one in told if one["candidate_id"] == MODEL]
    names = [one["episode_id"] for one in own]
    assert names == [names[0], names[1]] * 2
    assert names[0] != names[1]
    assert all(name.startswith("price#") for name in names)


def test_repetitions_without_a_description_have_the_number_of_the_first(tmp_path: Path) -> None:
    rows = json.loads(REPEATED.read_text())["results"]["results"]
    for row in rows:
        del row["testCase"]["description"]
    found = records(lines(tmp_path, rows[::-1]))
    assert {one["episode_id"] for one in found} == {"results-1", "results-2"}


def test_providers_of_one_name_are_candidates_of_their_own(tmp_path: Path) -> None:
    run = json.loads(REPEATED.read_text())
    rows = run["results"]["results"]
    told = {MODEL, f"{MODEL} #2", "caller"}
    assert {one["candidate_id"] for one in records(lines(tmp_path, rows))} == told
    whole = READER.traces(Source(REPEATED))
    assert {json.loads(one.raw)["candidate_id"] for one in whole if isinstance(one, Foreign)} == (
        told
    )


def test_prompts_that_begin_alike_are_candidates_of_their_own(tmp_path: Path) -> None:
    rows = json.loads(REPEATED.read_text())["results"]["results"]
    for row in rows:
        row["prompt"]["label"] = (
            "You are a helpful assistant of a shop that sells lamps to people "
            + (str(row["promptIdx"]))
        )
    assert len({one["candidate_id"] for one in records(lines(tmp_path, rows))}) == 3


def test_results_that_promptfoo_counted_and_did_not_write_are_refused(tmp_path: Path) -> None:
    found = [one for one in READER.traces(Source(REPEATED)) if isinstance(one, Broken)]
    code = "incomplete:2 of 6 results that promptfoo counted"
    assert [(one.codes, one.name) for one in found] == [
        ((code,), name) for name in (MODEL, f"{MODEL} #2", "caller")
    ]


def test_calls_that_promptfoo_made_for_the_model_are_not_measured(tmp_path: Path) -> None:
    run = json.loads(REPEATED.read_text())
    for told in (run, _without_settings(run)):
        path = written(tmp_path, json.dumps(told))
        found = [one for one in READER.traces(Source(path)) if isinstance(one, Foreign)]
        called = [one for one in map(_record, found) if "39.50" in str(one.get("final_message"))]
        assert len(called) == 2
        assert all(one["unread"] for one in called)
        assert not [
            one for one in map(_record, found) if events(one, "tool_call") and "unread" in one
        ]


def _without_settings(run: dict[str, Any]) -> dict[str, Any]:
    return {**run, "config": {}}


def _record(one: Foreign) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(one.raw)
    return found


@pytest.mark.parametrize(
    ("provider", "hides"),
    [("openai:chat:gpt", False),
     ({"id": "openai:chat:gpt", "config": {"tools": [{"function": {"name": "f"}}]}}, False),
     ({"id": "openai:chat:gpt", "config": {"tools": [{"name": "f", "input_schema": {}}]}}, False),
     ({"id": "openai:chat:gpt", "config": {"tools": [{"type": "web_search_20250305"}]}}, True),
     ({"id": "openai:chat:gpt", "config": {"mcp": {"enabled": True}}}, True),
     ({"openai:chat:gpt": {"config": {"functionToolCallbacks": {"f": "x"}}}}, True)],
)  # fmt: skip
def test_a_provider_that_calls_tools_itself_is_known_by_its_settings(
    tmp_path: Path, provider: Any, hides: bool
) -> None:
    run = loaded()
    run["results"]["results"] = [
        {**run["results"]["results"][0], "provider": {"id": "openai:chat:gpt", "label": ""}}
    ]
    run["results"]["prompts"] = []
    run["config"] = {"providers": [provider]}
    (record,) = records(written(tmp_path, json.dumps(run)))
    assert ("unread" in record) is hides


def test_tokens_that_a_provider_had_cached_are_read() -> None:
    found = [one for one in READER.traces(Source(REPEATED)) if isinstance(one, Foreign)]
    assert {json.loads(one.raw)["usage"]["cached_tokens"] for one in found} == {4}


def test_both_files_of_a_run_give_the_same_attempts(door: Door) -> None:
    run = json.loads(REPEATED.read_text())
    rows = "".join(json.dumps(row) + "\n" for row in run["results"]["results"])
    for name, content in (("results.json", json.dumps(run)), ("results.jsonl", rows)):
        door.take(name, content)
        assert door.one("SELECT count(*) FROM traces") == 12


TALK = DATA / "promptfoo" / "simulated_user.json"


def test_a_talk_with_a_simulated_user_is_told_by_its_turns() -> None:
    first, _ = records(TALK)
    assert said(first) == [
        ("system", "You are a shop. CALL1 buy a lamp"), ("user", "I want a lamp CALL1"),
        ("user", "my card is 4111 please"), ("user", "my card is 4111 please"),
    ]  # fmt: skip
    assert [one["arguments"] for one in events(first, "tool_call")] == [{"id": 1}] * 3
    assert "unread" not in first
    assert "usage" not in first  # of both sides


def test_the_agents_last_words_end_a_talk(tmp_path: Path) -> None:
    run = json.loads(TALK.read_text())
    (row, _) = run["results"]["results"]
    words = [("user", "A lamp?"), ("assistant", "It costs 39.50."), ("user", "Bye."),
             ("assistant", "Goodbye.")]  # fmt: skip
    told = [{"role": role, "content": content} for role, content in words]
    joined = "\n---\n".join(f"{role.title()}: {content}" for role, content in words)
    row["response"] |= {"output": joined, "metadata": {"messages": told}}
    row["metadata"] = {}
    (record,) = records(lines(tmp_path, [row]))
    assert record["final_message"] == "Goodbye."
    assert said(record)[1:3] == [("user", "A lamp?"), ("agent", "It costs 39.50.")]
    told[1]["content"] = "[object Object]"
    row["response"]["output"] = joined.replace("It costs 39.50.", "[object Object]")
    (record,) = records(lines(tmp_path, [row]))
    assert [one["path"] for one in record["unread"]] == [
        "response.output (an object that was not kept)"
    ]
    row["response"] = {"error": "the user broke"}
    (record,) = records(lines(tmp_path, [row]))
    assert [one["path"] for one in record["unread"]] == ["response (turns that are not in it)"]


def test_an_answer_is_of_the_provider_that_its_test_names() -> None:
    found = records(DATA / "promptfoo" / "other_provider.json")
    assert [one["candidate_id"] for one in found] == [
        "echo", "openai:chat:gpt-4.1", "openai:chat:gpt-4o-mini",
    ]  # fmt: skip


def test_a_file_that_grows_gains_its_new_results_alone(door: Door) -> None:
    """Two repetitions may have the same content: each has an id of its own."""
    rows = json.loads(REPEATED.read_text())["results"]["results"]
    for row in rows:
        del row["testCase"]["description"]
        row["latencyMs"] = 5
    told = [json.dumps(row) + "\n" for row in rows]
    for size in (4, 7, 12):
        door.take("results.jsonl", "".join(told[:size]))
    counts = door.rows("SELECT count(*) FROM traces GROUP BY candidate_id, episode_id")
    assert counts == [(2,)] * 6
    assert door.one("SELECT count(*) FROM traces WHERE events = 0") == 0


def test_copies_of_an_answer_from_the_cache_are_one_attempt(door: Door) -> None:
    run = loaded()
    (row, *_) = run["results"]["results"]
    row["response"]["cached"] = True
    row["testCase"] = {**row.get("testCase", {}), "description": "price"}
    run["results"]["prompts"] = []
    for number in range(3):
        row["id"] = f"{number}"
        run["results"]["results"] = [row]
        door.take(f"run-{number}.json", json.dumps(run))
    assert door.rows("SELECT episode_id, passed FROM traces") == [("price", 1)]
    row |= {"id": "3", "success": False, "failureReason": 1}
    row["gradingResult"] = {"pass": False, "score": 0, "reason": "too short"}
    door.take("run-3.json", json.dumps(run))
    assert door.one("SELECT count(*) FROM traces WHERE passed = 1") == 0
    row["response"]["output"] = "Another answer."
    door.take("run-4.json", json.dumps(run))
    assert door.one("SELECT count(*) FROM traces") == 2
