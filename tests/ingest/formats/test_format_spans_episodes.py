"""Which spans make one episode, and which of its attempts: by metadata, conversation and trace."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from span_files import agent, called, chat, read, request, returned, said, span, told, tool, used

from reviewer.importing.formats.otel import reader
from reviewer.importing.formats.otel.otlp import OtlpReader
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

READER = OtlpReader()


def written(tmp_path: Path, *spans: dict[str, Any], name: str = "x.json") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(request(*spans)))
    return path


def run(trace: int, at: float = 0, asked: str = "hi", **more: Any) -> list[dict[str, Any]]:
    """An agent's run of one model call in a trace of its own; `more` stands on the agent."""
    number = trace * 100
    return [
        agent(number, trace=trace, at=at, **more),
        chat(number + 1, [("user", asked)], [("assistant", f"ho {trace}")], parent=number,
             trace=trace, at=at + 1),
    ]  # fmt: skip


def test_a_trace_alone_is_an_episode_named_by_it(tmp_path: Path) -> None:
    assert list(told(READER, written(tmp_path, *run(1), *run(2, at=20)))) == [
        f"{1:032x}",
        f"{2:032x}",
    ]


@pytest.mark.parametrize("name", ["gen_ai__conversation__id", "session__id"])
def test_traces_of_one_conversation_are_one_episode(tmp_path: Path, name: str) -> None:
    path = written(
        tmp_path, *run(1, **{name: "c1"}), *run(2, 20, "more", **{name: "c1"}), *run(3, 40)
    )
    records = told(READER, path)
    assert list(records) == ["c1", f"{3:032x}"]
    assert said(records["c1"]) == [
        ("user", "hi"), ("agent", "ho 1"), ("user", "more"), ("agent", "ho 2")
    ]  # fmt: skip
    note = "traces that name one conversation, or one episode, were taken as one episode"
    assert note in records["c1"]["source"]["notes"]


METADATA: dict[str, dict[str, Any]] = {
    "Vercel": {"ai__telemetry__metadata__episode_id": "e1"},
    "pydantic-ai, as JSON text": {"metadata": {"episode_id": "e1"}},
    "Traceloop": {"traceloop__association__properties__episode_id": "e1"},
    "flat": {"metadata__episode_id": "e1"},
    "bare": {"episode_id": "e1"},
}


@pytest.mark.parametrize("name", METADATA)
def test_own_metadata_comes_before_conversation_and_trace(tmp_path: Path, name: str) -> None:
    first = run(1, session__id="s1", **METADATA[name])
    second = run(2, 20, "and then?", session__id="s2", **METADATA[name])
    assert list(told(READER, written(tmp_path, *first, *second))) == ["e1"]


def test_attempts_are_numbered_as_the_metadata_says(tmp_path: Path) -> None:
    runs = [run(n, 20 * n, episode_id="e1", attempt=n) for n in (1, 2, 3)]
    path = written(tmp_path, *(one for each in runs for one in each))
    found = [json.loads(one.raw) for one in read(READER, path)]
    assert [(one["episode_id"], one["attempt"]) for one in found] == [
        ("e1", 1),
        ("e1", 2),
        ("e1", 3),
    ]
    assert found[1]["final_message"] == "ho 2"


def test_a_file_that_counts_from_zero_is_numbered_from_one(tmp_path: Path) -> None:
    runs = [run(1, episode_id="e1", attempt=0), run(2, 20, episode_id="e1", attempt=1),
            run(3, 40, episode_id="e2", attempt=1)]  # fmt: skip
    source = Source(written(tmp_path, *(one for each in runs for one in each)))
    found = [json.loads(one.raw) for one in READER.traces(source) if isinstance(one, Foreign)]
    assert [(one["episode_id"], one["attempt"]) for one in found] == [
        ("e1", 1),
        ("e1", 2),
        ("e2", 2),
    ]
    assert "the file counts attempts from 0: they are numbered from 1" in source.notes


def test_without_numbers_runs_that_begin_alike_are_attempts(door: Door) -> None:
    """Each has its own conversation and was asked the very same."""
    runs = [run(n, 20 * n, episode_id="e1", gen_ai__conversation__id=f"c{n}") for n in (1, 2, 3)]
    said_so = door.take("x.json", request(*(one for each in runs for one in each)))
    assert said_so.code == 0, said_so
    assert door.rows("SELECT episode_id, attempt, steps FROM traces ORDER BY 2") == [
        ("e1", 1, 0), ("e1", 2, 0), ("e1", 3, 0)
    ]  # fmt: skip
    assert "several runs that begin alike: each is taken as an attempt" in said_so.both


def test_runs_that_go_on_with_each_other_are_one_attempt(tmp_path: Path) -> None:
    """The second was handed the first one's history."""
    later = [
        agent(200, trace=2, at=20, episode_id="e1"),
        chat(201, [("user", "hi"), ("assistant", "ho 1"), ("user", "more")],
             [("assistant", "ho 2")], parent=200, trace=2, at=21),
    ]  # fmt: skip
    (record,) = told(READER, written(tmp_path, *run(1, episode_id="e1"), *later)).values()
    assert [text for _, text in said(record)] == ["hi", "ho 1", "more", "ho 2"]


def test_an_evaluation_in_one_trace_is_as_many_episodes(tmp_path: Path) -> None:
    """A root above all of them; only the agents' spans name the episodes."""
    spans = [span(1, name="evaluate", lasts=100)]
    for n in (1, 2):
        at = 20 * n
        spans += [
            agent(n * 10, parent=1, at=at, metadata={"episode_id": f"e{n}"}),
            chat(n * 10 + 1, [("user", f"hi {n}")], [("assistant", "", called("c", "look"))],
                 parent=n * 10, at=at + 1),
            tool(n * 10 + 2, "look", "c", "seen", parent=n * 10, at=at + 2),
        ]  # fmt: skip
    records = told(READER, written(tmp_path, *reversed(spans)))
    assert list(records) == ["e1", "e2"]
    for n in (1, 2):
        assert said(records[f"e{n}"]) == [("user", f"hi {n}")]
        assert used(records[f"e{n}"]) == [("look", "ok")]
        assert records[f"e{n}"]["source"]["spans"]["in_file"] == 3


def test_a_metadata_without_attempt_belongs_to_the_one_that_has_it(tmp_path: Path) -> None:
    first, second = run(1, episode_id="e1", attempt=2)
    second["attributes"].append({"key": "episode_id", "value": {"stringValue": "e1"}})
    (record,) = told(READER, written(tmp_path, first, second)).values()
    assert (record["attempt"], len(record["events"])) == (2, 2)


def test_spans_are_told_by_start_and_parents_first(tmp_path: Path) -> None:
    """Files are in the order in which spans ended."""
    spans = [
        tool(3, "look", "c1", "seen", parent=1, at=2),
        chat(4, [("user", "hi"), ("assistant", "", called("c1", "look")),
                 ("tool", returned("c1", "seen"))], [("assistant", "ho")], parent=1, at=3),
        chat(2, [("user", "hi")], [("assistant", "", called("c1", "look"))], parent=1, at=1),
        agent(1),
    ]  # fmt: skip
    (record,) = told(READER, written(tmp_path, *spans)).values()
    assert [event["kind"] for event in record["events"]] == [
        "message", "tool_call", "tool_result", "message"
    ]  # fmt: skip
    for one in spans:  # clocks that tell nothing apart
        one["startTimeUnixNano"] = spans[0]["startTimeUnixNano"]
    (record,) = told(READER, written(tmp_path, agent(1), spans[2], spans[0], spans[1])).values()
    assert [event["kind"] for event in record["events"]] == [
        "message", "tool_call", "tool_result", "message"
    ]  # fmt: skip


def test_identical_times_are_called_out(tmp_path: Path) -> None:
    (record,) = told(
        READER, written(tmp_path, agent(1, lasts=0), tool(2, "look", "c", "x"))
    ).values()
    note = "all its spans start at the same time: their order is that of the file"
    assert note in record["source"]["notes"]


def test_what_describes_nothing_of_the_agent_is_left_out_and_counted(tmp_path: Path) -> None:
    noise = [span(n, parent=1, at=n / 10, name="GET", http__method="GET") for n in range(10, 13)]
    failed = span(20, parent=1, at=2, name="GET", error="404")
    source = Source(written(tmp_path, *run(1), *run(2, 30)[1:], *noise, failed))
    found = [json.loads(one.raw) for one in READER.traces(source) if isinstance(one, Foreign)]
    assert len(found) == 2
    assert found[0]["termination"] == "completed"
    assert found[0]["source"]["spans"] == {"in_file": 6, "told": 2, "orphans": 4}
    assert (
        "spans outside the agent's work ended in an error: that says nothing of the episode"
        in (found[0]["source"]["notes"])
    )
    assert (
        "4 of 7 spans describe no model call, tool or agent of the episodes: they were left out"
        in source.notes
    )


def test_a_span_whose_parent_is_missing_is_noted(tmp_path: Path) -> None:
    (record,) = told(READER, written(tmp_path, chat(2, [("user", "hi")], [], parent=9))).values()
    assert record["source"]["spans"]["orphans"] == 1
    assert "some spans name a parent that the file does not have" in record["source"]["notes"]


def test_a_span_that_was_sent_twice_counts_once(tmp_path: Path) -> None:
    (record,) = told(READER, written(tmp_path, *run(1), *run(1))).values()
    assert record["usage"] == {"input_tokens": 10, "output_tokens": 2}
    assert said(record) == [("user", "hi"), ("agent", "ho 1")]
    assert "spans that are in the file twice were counted once" in record["source"]["notes"]


def test_parents_in_a_circle_are_read(tmp_path: Path) -> None:
    spans = [agent(1, parent=2), agent(2, parent=1), chat(3, [("user", "hi")], [], parent=2, at=1)]
    (record,) = told(READER, written(tmp_path, *spans)).values()
    assert said(record)[0] == ("user", "hi")


def test_an_episode_too_large_to_hold_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_ITEMS", 3)
    many = [tool(n, "look", f"c{n}", "x", trace=7) for n in range(2, 7)]
    first, second = READER.traces(Source(written(tmp_path, *run(1, at=9), *many)))
    assert isinstance(first, Broken)
    assert first.codes[0].startswith("too_large: over 3 spans")
    assert isinstance(second, Foreign)


def test_the_user_may_name_the_candidate(door: Door) -> None:
    assert door.take("x.json", request(*run(1)), "--candidate", "mine").code == 0
    assert door.rows("SELECT candidate_id FROM traces") == [("mine",)]


def test_suite_and_candidate_are_named_by_service_agent_and_model(tmp_path: Path) -> None:
    spans = run(1, gen_ai__agent__name="Returns Desk")
    path = tmp_path / "x.json"
    path.write_text(json.dumps(request(*spans, service="Shop: EU/1")))
    (found,) = read(READER, path)
    assert found.suite == "otel-shop-eu-1"
    assert json.loads(found.raw)["candidate_id"] == "Shop: EU/1 Returns Desk m-1"
    path.write_text(json.dumps(request(*spans, service="unknown_service:node")))
    (found,) = read(READER, path)
    assert found.suite == "otel"
    assert json.loads(found.raw)["candidate_id"] == "Returns Desk m-1"


def test_a_candidate_nobody_names_is_the_files(tmp_path: Path) -> None:
    path = tmp_path / "night.json"
    path.write_text(json.dumps(request(tool(2, "look", "c", "x"), service="")))
    (record,) = told(READER, path).values()
    assert record["candidate_id"] == "night"
    assert any("candidate is taken from the file name" in one for one in record["source"]["notes"])
