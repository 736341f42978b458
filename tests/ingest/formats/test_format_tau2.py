"""tau2-bench results, on excerpts of real files (data/tau2/PROVENANCE.md)."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door, every_byte
from hypothesis import given
from hypothesis import strategies as st

from reviewer.importing.formats.tau2 import Tau2Reader
from reviewer.importing.formats.tau_bench import TauBenchReader
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[2] / "data"
TAU2 = DATA / "tau2"
AIRLINE, TELECOM = TAU2 / "airline_4_tasks.json", TAU2 / "telecom_user_tools.json"
PREFIX, MOCK = TAU2 / "missing_ids_prefix.json", TAU2 / "mock_single.json"
VOICE = TAU2 / "dir"
READER = Tau2Reader()


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def read(path: Path) -> tuple[list[Foreign | Broken], set[str]]:
    """What the reader makes of a file, and its notes on the file as a whole."""
    source = Source(path, "", READER.companions(path))
    found = list(READER.traces(source))
    return found, source.notes


def traces(path: Path) -> list[dict[str, Any]]:
    found, _ = read(path)
    assert all(isinstance(one, Foreign) for one in found), found
    return [json.loads(one.raw) for one in found if isinstance(one, Foreign)]


def written(tmp_path: Path, value: object, name: str = "run.json") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def first_notes(path: Path) -> str:
    """The notes on the first simulation and on the file."""
    found, about = read(path)
    assert isinstance(found[0], Foreign), found[0]
    return "\n".join((*found[0].notes, *about))


def counts(sim: dict[str, Any]) -> dict[str, int]:
    """By plain JSON: what a simulation's messages hold."""
    messages = sim["messages"]
    calls = [(m["role"], call) for m in messages for call in m.get("tool_calls") or []]
    return {
        "agent": sum(m["role"] == "assistant" and bool(m["content"]) for m in messages),
        "user": sum(m["role"] == "user" and bool(m["content"]) for m in messages),
        "agent calls": sum(role == "assistant" for role, _ in calls),
        "user calls": sum(role == "user" for role, _ in calls),
        "results": sum(m["role"] == "tool" for m in messages),
        "failed": sum(bool(m.get("error")) for m in messages),
    }


def events(trace: dict[str, Any]) -> dict[str, int]:
    """The same of a native trace."""
    kinds = [(event["kind"], event.get("actor")) for event in trace["events"]]
    return {
        "agent": kinds.count(("message", "agent")),
        "user": kinds.count(("message", "user")),
        "agent calls": kinds.count(("tool_call", "agent")),
        "user calls": kinds.count(("tool_call", "simulated_user")),
        "results": sum(kind == "tool_result" for kind, _ in kinds),
        "failed": sum(
            event["kind"] == "tool_result" and event.get("status") == "error"
            for event in trace["events"]
        ),
    }


@pytest.mark.parametrize("path", [AIRLINE, TELECOM, MOCK, PREFIX], ids=lambda path: path.stem)
def test_events_are_those_of_the_file(path: Path) -> None:
    sims = document(path)["simulations"]
    assert [events(trace) for trace in traces(path)] == [counts(sim) for sim in sims]


@pytest.mark.parametrize("path", [AIRLINE, TELECOM, MOCK], ids=lambda path: path.stem)
def test_money_tokens_and_time_are_the_agents(path: Path) -> None:
    for trace, sim in zip(traces(path), document(path)["simulations"], strict=True):
        own = [m["usage"] for m in sim["messages"] if m["role"] == "assistant" and m["usage"]]
        assert trace["cost_usd"] == pytest.approx(sim["agent_cost"])
        assert trace["usage"]["input_tokens"] == sum(usage["prompt_tokens"] for usage in own)
        assert trace["usage"]["output_tokens"] == sum(usage["completion_tokens"] for usage in own)
        assert trace["latency_ms"] == pytest.approx(sim["duration"] * 1000)
        assert trace["source"]["clock"] == "unstated"
        assert all(
            event.get("cost_usd") is None
            for event in trace["events"]
            if event.get("actor") in ("user", "simulated_user")
        )


def test_verdicts_attempts_and_ends_are_the_sources(door: Door) -> None:
    door.ok("import", AIRLINE)
    wanted = sorted(
        (sim["task_id"], sim["trial"] + 1, sim["termination_reason"],
         int(sim["reward_info"]["reward"]))
        for sim in document(AIRLINE)["simulations"]
    )  # fmt: skip
    rows = "SELECT episode_id, attempt, termination, passed FROM traces ORDER BY 1"
    assert door.rows(rows) == wanted
    assert door.rows("SELECT DISTINCT suite_id, candidate_id FROM traces") == [
        ("tau2-airline", "llm_agent gpt-4.1")
    ]
    door.healthy()


def test_the_parts_of_a_reward_are_kept() -> None:
    found, _ = read(AIRLINE)
    sim = document(AIRLINE)["simulations"][0]
    assert isinstance(found[0], Foreign)
    verdict = found[0].verdict
    assert verdict is not None
    assert (verdict.passed, verdict.reward) == (True, 1.0)
    detail = verdict.detail
    assert detail["reward_breakdown"] == {"DB": 1.0, "COMMUNICATE": 1.0}
    assert detail["db_match"] is True
    # An expected call that was not made, and a reward of 1: normal, since ACTION is not its basis.
    assert detail["action_checks"] == [{"what": "13_0", "met": False}]
    told = [check["met"] for check in sim["reward_info"]["nl_assertions"]]
    assert [check["met"] for check in detail["nl_assertions"]] == told


def test_a_reward_that_its_own_checks_deny_is_no_pass(tmp_path: Path) -> None:
    value = document(AIRLINE)
    value["simulations"][0]["reward_info"]["reward_breakdown"]["DB"] = 0.0
    found = read(written(tmp_path, value))[0][0]
    assert isinstance(found, Foreign)
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (None, 1.0)


def test_calls_in_the_agents_turn_are_the_agents_whomever_they_name(tmp_path: Path) -> None:
    value = document(AIRLINE)
    for message in value["simulations"][0]["messages"]:
        for call in message.get("tool_calls") or ():
            call["requestor"] = "user"
    first = traces(written(tmp_path, value))[0]
    calls = [event for event in first["events"] if event["kind"] == "tool_call"]
    assert calls
    assert {event["actor"] for event in calls} == {"agent"}


def test_genuine_files_raise_no_doubt_about_their_verdicts() -> None:
    for path in (AIRLINE, TELECOM, MOCK):
        found, _ = read(path)
        assert not [note for one in found if isinstance(one, Foreign) for note in one.notes]


def test_calls_of_the_simulated_user_are_no_steps_of_the_agent(door: Door) -> None:
    door.ok("import", TELECOM)
    for sim in document(TELECOM)["simulations"]:
        steps = door.one("SELECT steps FROM traces WHERE episode_id=?", sim["task_id"])
        assert steps == counts(sim)["agent calls"]
    assert sum(counts(sim)["user calls"] for sim in document(TELECOM)["simulations"]) > 0


def test_the_final_message_is_the_agents_without_stop_words(tmp_path: Path) -> None:
    run = document(MOCK)
    said = [m["content"] for m in run["simulations"][0]["messages"] if m["role"] == "assistant"]
    assert traces(MOCK)[0]["final_message"] == said[-1]
    add = {"role": "assistant", "content": "Done. ###STOP###", "tool_calls": None}
    run["simulations"][0]["messages"].append(add)
    assert traces(written(tmp_path, run))[0]["final_message"] == "Done."
    run["simulations"][0]["messages"][-1]["content"] = "###TRANSFER###"
    assert traces(written(tmp_path, run))[0]["final_message"] == said[-1]


def test_zero_cost_is_not_measured(tmp_path: Path) -> None:
    run = document(MOCK)
    run["simulations"][0]["agent_cost"] = 0.0
    assert traces(written(tmp_path, run))[0]["cost_usd"] is None
    del run["simulations"][0]["agent_cost"]  # then its messages say it
    whole = sum(m["cost"] for m in run["simulations"][0]["messages"] if m["role"] == "assistant")
    assert traces(written(tmp_path, run))[0]["cost_usd"] == pytest.approx(whole)


def test_infrastructure_is_neither_pass_nor_fail(door: Door) -> None:
    run = document(MOCK)
    lost = {**run["simulations"][0], "id": "lost", "messages": [], "reward_info": None,
            "termination_reason": "infrastructure_error", "trial": 1, "duration": 0.0,
            "info": {"error": "API of jane.roe@corp-mail.org is down", "error_type": "APIError"},
            }  # fmt: skip
    run["simulations"].append(lost)
    said = door.take("run.json", json.dumps(run))
    assert said.code == 0, said
    rows = "SELECT attempt, passed, latency_ms FROM traces WHERE termination=?"
    assert door.rows(rows, "infrastructure_error") == [(2, None, None)]
    assert b"jane.roe" not in every_byte(door.root / "store")
    assert b"APIError" in every_byte(door.root / "store")


def test_missing_ids_are_found_by_what_was_checked() -> None:
    """Positions would be wrong: simulations of this file are in another order than its tasks."""
    found, about = read(PREFIX)
    names = [json.loads(one.raw)["episode_id"] for one in found if isinstance(one, Foreign)]
    # The second's task is not in the excerpt, so nothing in the file names it.
    assert names == ["4", "record-2", "5"]
    assert any("declares 4 trials of 7 tasks, 28 simulations; holds 3" in note for note in about)
    assert all(json.loads(one.raw).get("attempt") is None
               for one in found if isinstance(one, Foreign))  # fmt: skip
    notes = [one.notes for one in found if isinstance(one, Foreign)]
    assert "taken from the one task" in notes[0][0]
    assert "named by its place" in notes[1][0]
    assert any("JSON objects" in note for note in notes[0])


def test_tool_results_without_a_flag_have_no_status() -> None:
    """`error` is missing in this file: neither ok nor error is said."""
    statuses = {event.get("status") for trace in traces(PREFIX) for event in trace["events"]}
    assert statuses == {None}


def test_checks_of_another_task_are_called_out(tmp_path: Path) -> None:
    run = document(AIRLINE)
    one, two = run["simulations"][0], run["simulations"][2]
    one["reward_info"], two["reward_info"] = two["reward_info"], one["reward_info"]
    found, _ = read(written(tmp_path, run))
    doubted = [bool(one.notes) for one in found if isinstance(one, Foreign)]
    assert doubted == [True, False, True, False]
    assert isinstance(found[0], Foreign)
    assert "verdict in doubt" in found[0].notes[0]
    assert json.loads(found[0].raw)["source"]["checks_are_of_task"] == two["task_id"]


def test_a_submitters_summary_is_doubted(tmp_path: Path) -> None:
    run = document(AIRLINE)
    sims = [{**sim, "trial": None} for sim in run["simulations"]]
    sims[0]["start_time"] = "2025-08-09T16:20:44.321269"
    told = {"domain": "airline", "agent": "adaptive_agent", "model": "claude-opus-4-6",
            "total_tasks": 50, "passed": 4, "pass_rate": 98.0, "simulations": sims}  # fmt: skip
    path = written(tmp_path, told)
    found, about = read(path)
    assert READER.sniff(Head(path))
    record = json.loads(found[0].raw) if isinstance(found[0], Foreign) else {}
    assert record["candidate_id"] == "adaptive_agent claude-opus-4-6"
    assert isinstance(found[0], Foreign)
    assert found[0].suite == "tau2-airline"
    text = "\n".join(about)
    assert "best of several attempts" in text
    assert "declares total_tasks 50; its simulations give 4" in text
    assert "declares passed 4; its simulations give 2" in text
    assert "perhaps joined out of several runs" in text


def test_messages_of_another_model_are_called_out(tmp_path: Path) -> None:
    run = document(MOCK)
    for message in run["simulations"][0]["messages"]:
        if message["role"] == "assistant" and message["usage"]:
            message["raw_data"] = {"model": "gpt-4.1-mini-2025-04-14", "usage": {
                "prompt_tokens_details": {"cached_tokens": 7}}}  # fmt: skip
    trace = traces(written(tmp_path, run))[0]
    assert trace["source"]["served_models"] == ["gpt-4.1-mini-2025-04-14"]
    assert trace["usage"]["cached_tokens"] == 21
    assert "notes" not in trace["source"]
    run["info"]["agent_info"]["llm"] = "anthropic/claude-opus-4-6"
    assert "another model" in first_notes(written(tmp_path, run))


def test_times_that_no_clock_wrote(tmp_path: Path) -> None:
    run = document(AIRLINE)
    for sim in run["simulations"]:
        sim.update(start_time="2025-01-01T00:00:00", end_time="2025-01-01T00:01:00", duration=60.0)
    path = written(tmp_path, run)
    assert [trace.get("latency_ms") for trace in traces(path)] == [None] * 4
    assert "4 simulations share start and end" in first_notes(path)
    run["simulations"][0].update(start_time="2025-01-02T00:00:00", end_time="2025-01-01T00:00:00")
    assert "ends before it starts" in first_notes(written(tmp_path, run))
    run["simulations"][0].update(start_time="2025-01-01T00:00:00", end_time="2025-01-01T02:00:00")
    path = written(tmp_path, run)
    assert "duration is not the time from start to end" in first_notes(path)


def test_simulations_of_one_slot_are_numbered_in_file_order(door: Door) -> None:
    run = document(MOCK)
    again = copy.deepcopy(run["simulations"][0])
    run["simulations"][0]["trial"], again["trial"] = 0, 0
    again["id"], again["agent_cost"] = "again", 0.5
    run["simulations"].append(again)
    said = door.take("run.json", json.dumps(run))
    assert said.code == 0, said
    assert door.rows("SELECT attempt, cost_usd FROM traces ORDER BY 1")[1] == (2, 0.5)
    assert "claim the same task and trial" in said.err


def test_keys_in_the_settings_are_kept_nowhere(door: Door) -> None:
    run = document(MOCK)
    secret = {"api_key": "v1.CmMKHHN0YXRpY2tleQQ", "base_url": "https://api.example.org/v1/",
              "temperature": 0.7}  # fmt: skip
    run["info"]["agent_info"]["llm_args"] = run["info"]["user_info"]["llm_args"] = secret
    assert door.take("run.json", json.dumps(run)).code == 0
    kept = every_byte(door.root / "store")
    assert b"CmMKHHN0" not in kept
    assert b"api.example.org" not in kept
    name = door.one("SELECT candidate_id FROM traces")
    assert name == "llm_agent gpt-4.1-mini temperature=0.7"


SHAPES = ["one simulation", "an array", "lines", "in its own file beside the run"]


@pytest.mark.parametrize("shape", SHAPES)
def test_simulations_without_their_run(door: Door, shape: str) -> None:
    run = document(AIRLINE)
    sims = run["simulations"]
    name = "gpt_airline_1trial.json"
    if shape == "one simulation":
        path, wanted = door.file(name, sims[0]), 1
    elif shape == "an array":
        path, wanted = door.file(name, json.dumps(sims)), 4
    elif shape == "lines":
        path, wanted = door.file("gpt_airline_1trial.jsonl", sims), 4
    else:
        name = "tau2_airline_run/simulations/a.json"
        path, wanted = door.file(name, json.dumps(sims[0])), 1
        door.file("tau2_airline_run/results.json", json.dumps({**run, "simulations": None}))
    said = door.run("import", path)
    assert said.code == 0, said
    assert door.one("SELECT count(*) FROM traces") == wanted
    assert door.one("SELECT DISTINCT suite_id FROM traces") == "tau2-airline"
    beside = shape == SHAPES[-1]
    named = "llm_agent gpt-4.1" if beside else "gpt_airline_1trial"
    assert door.one("SELECT DISTINCT candidate_id FROM traces") == named
    assert ("the candidate has the file's name" in said.err) is not beside


def test_a_voice_run_is_its_folder(door: Door) -> None:
    said = door.run("import", VOICE)
    assert said.code == 0, said
    assert "stripped before it came here" in said.err
    row = door.rows("SELECT suite_id, episode_id, attempt, passed, steps FROM traces")
    assert row == [("tau2-retail", "40", 1, None, 0)]
    assert door.one("SELECT count(*) FROM events") == 0
    assert "gpt-realtime-2 reasoning_effort=minimal" in door.one("SELECT candidate_id FROM traces")


def test_an_index_names_what_is_missing_and_what_is_more(door: Door) -> None:
    run, sims = document(AIRLINE), document(AIRLINE)["simulations"]
    run.pop("simulations")
    run["simulation_index"] = [{"id": sim["id"], "task_id": sim["task_id"], "trial": 0}
                               for sim in sims[:3]]  # fmt: skip
    door.file("run/results.json", json.dumps(run))
    for sim in (*sims[:2], sims[3]):
        door.file(f"run/simulations/{sim['id']}.json", json.dumps(sim))
    said = door.run("import", door.root / "run")
    assert said.code == 20, said
    assert door.one("SELECT count(*) FROM traces") == 3
    assert f"simulations/{sims[2]['id']}.json" in said.both
    assert "1 simulation files are not in simulation_index" in said.err


def test_settings_without_simulations_say_so(door: Door) -> None:
    run = document(AIRLINE)
    del run["simulations"]
    said = door.take("results.json", json.dumps(run))
    assert said.code == 20
    assert "no simulation in it" in said.both


def tick(number: int, **parts: Any) -> dict[str, Any]:
    return {"tick_id": number, "timestamp": f"2026-06-30T11:40:{number:02}.000000", **parts}


def chunk(role: str, text: str | None, *ids: str) -> dict[str, Any]:
    return {"role": role, "content": text, "utterance_ids": list(ids), "is_audio": False}


def test_ticks_become_what_was_said_and_done(tmp_path: Path) -> None:
    run, sim = document(AIRLINE), document(AIRLINE)["simulations"][0]
    call = {"id": "k1", "name": "get_order", "arguments": {"order": 1}, "requestor": "assistant"}
    result = {"id": "k1", "role": "tool", "content": "{}", "error": False}
    own = {"id": "u1", "name": "check_phone", "arguments": {}, "requestor": "user"}
    sim.pop("messages")
    sim.update(mode="full_duplex", agent_cost=None, ticks=[
        tick(0, user_chunk=chunk("user", "Where is ", "a")),
        tick(1, user_chunk=chunk("user", "my order?", "a"), agent_chunk=chunk("assistant", None)),
        tick(2, agent_chunk=chunk("assistant", "Let me ", "b")),
        tick(3, agent_chunk=chunk("assistant", "look.", "b"), agent_tool_calls=[call],
             agent_tool_results=[result]),
        tick(4, agent_chunk=chunk("assistant", "It is on its way.", "c")),
        tick(5, agent_chunk=chunk("assistant", "Anything else?", "d"),
             user_chunk=chunk("user", "No ", "e")),
        tick(6, user_chunk=chunk("user", "thanks. ###STOP###", "e"), user_tool_calls=[own]),
    ], agent_usage={"records": [{"input_tokens": 10, "output_tokens": 4},
                                {"input_tokens": 5, "output_tokens": None}]})  # fmt: skip
    run["simulations"] = [sim]
    trace = traces(written(tmp_path, run))[0]
    told = [(event["kind"], event.get("actor"), event.get("message") or event.get("tool"))
            for event in trace["events"]]  # fmt: skip
    assert told == [
        ("message", "user", "Where is my order?"),
        ("message", "agent", "Let me look."),
        ("tool_call", "agent", "get_order"),
        ("tool_result", None, "get_order"),
        ("message", "agent", "It is on its way."),
        ("message", "agent", "Anything else?"),
        ("message", "user", "No thanks. ###STOP###"),
        ("tool_call", "simulated_user", "check_phone"),
    ]
    assert trace["final_message"] == "Anything else?"
    assert trace["usage"] == {"input_tokens": 15, "output_tokens": 4}


def test_repeated_call_ids_pair_by_position(tmp_path: Path) -> None:
    run = document(MOCK)
    call = {"id": "same", "name": "a", "arguments": {}, "requestor": "assistant"}
    answer = {"id": "same", "role": "tool", "requestor": "assistant", "error": False}
    turn = {"role": "assistant", "content": None}
    run["simulations"][0]["messages"] = [
        {**turn, "tool_calls": [call]}, {**answer, "content": "1"},
        {**turn, "tool_calls": [{**call, "name": "b"}]}, {**answer, "content": "2"},
    ]  # fmt: skip
    found = traces(written(tmp_path, run))[0]["events"]
    assert [(event["tool"], event["call_id"]) for event in found] == [
        ("a", "same"), ("a", "same"), ("b", "same~2"), ("b", "same~2"),
    ]  # fmt: skip


NOT_OURS = {
    "tasks alone": TAU2 / "mock_tasks.json",
    "tau-bench": DATA / "tau_bench/gpt-4o-airline-excerpt.json",
}


@pytest.mark.parametrize("name", NOT_OURS)
def test_what_is_not_claimed(name: str) -> None:
    assert not READER.sniff(Head(NOT_OURS[name]))


@pytest.mark.parametrize(
    "value",
    [
        {"episode_id": "a", "events": [], "final_state": None, "messages": []},
        {"id": "a", "messages": [{"role": "user", "content": "hi"}]},
        {"info": {"agent_info": 1}, "tasks": []},
        {"info": {"agent_info": 1, "environment_info": 1}},
        {"simulations": []},
        {"simulations": ["a"]},
        {"simulations": {"a": 1}},
        [{"role": "user", "content": "hi"}],
        [[]],
        [None],
        {},
        3,
    ],
    ids=str,
)
def test_other_values_are_not_claimed(tmp_path: Path, value: object) -> None:
    head = Head(written(tmp_path, value))
    assert not READER.sniff(head)
    assert not TauBenchReader().sniff(head)


def test_settings_behind_large_tasks_are_still_seen(tmp_path: Path) -> None:
    """Nothing but `info` stands in the part that is looked at."""
    run = document(MOCK)
    run["tasks"][0]["ticket"] = "x, " * 150_000
    path = written(tmp_path, run)
    assert READER.sniff(Head(path))
    assert len(traces(path)) == 1


MEMBERS = (
    *("reward_info", "messages", "ticks", "task_id", "trial", "start_time", "end_time"),
    *("duration", "agent_cost", "agent_usage", "termination_reason", "info", "review"),
)
INNER = (
    *("role", "content", "tool_calls", "reward", "id", "action_checks"),
    *("error", "timestamp", "name", "arguments"),
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(INNER), inner, max_size=4)
    ),
    max_leaves=12,
)


def small() -> dict[str, Any]:
    """Three simulations of a few messages each."""
    run = document(AIRLINE)
    sims = run["simulations"][:3]
    return {**run, "simulations": [{**sim, "messages": sim["messages"][:6]} for sim in sims]}


@given(data=st.data())
def test_an_odd_simulation_costs_itself_at_most(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("odd")
    run = small()
    baseline = [one.raw for one in read(written(folder, run))[0] if isinstance(one, Foreign)]
    sim = run["simulations"][1]
    member = data.draw(st.sampled_from(MEMBERS))
    place = data.draw(st.integers(0, 5))
    if data.draw(st.booleans()):
        sim[member] = data.draw(ODD)
    else:
        sim["messages"][place] = data.draw(ODD)
    found, _ = read(written(folder, run))
    assert len(found) == 3
    assert [one.raw for one in (found[0], found[2]) if isinstance(one, Foreign)] == [
        baseline[0],
        baseline[2],
    ]


@given(data=st.data())
def test_odd_settings_cost_no_simulation(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    run = document(MOCK)
    where = data.draw(st.sampled_from(("timestamp", "tasks", "simulation_index", "domain")))
    run[where] = data.draw(ODD)
    run["info"][data.draw(st.sampled_from(tuple(run["info"])))] = data.draw(ODD)
    if isinstance(run["tasks"], list) and run["tasks"] and isinstance(run["tasks"][0], dict):
        run["tasks"][0][data.draw(st.sampled_from(("id", "evaluation_criteria")))] = data.draw(ODD)
    found, _ = read(written(tmp_path_factory.mktemp("odd"), run))
    assert len(found) == 1
    assert isinstance(found[0], Foreign)


@given(st.floats(0, 1))
def test_a_file_cut_off_keeps_what_stands_whole(
    tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    path = written(tmp_path_factory.mktemp("cut"), small())
    whole = [one.raw for one in read(path)[0] if isinstance(one, Foreign)]
    text = path.read_bytes()
    path.write_bytes(text[: int(share * len(text))])
    READER.sniff(Head(path))
    try:
        found, _ = read(path)
    except Unreadable:
        return
    kept = [one.raw for one in found if isinstance(one, Foreign)]
    assert kept == whole[: len(kept)]
    assert len(kept) == len(whole) or isinstance(found[-1], Broken)


HOSTILE = {
    "NaN": '{"reward": NaN}',
    "a lone surrogate": '{"reward": "\\ud800"}',
    "a huge number": '{"reward": 1e999}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_in_a_simulation(door: Door, name: str) -> None:
    run = document(MOCK)
    hostile = json.dumps({**run["simulations"][0], "id": "h", "trial": 1, "reward_info": "@"})
    text = json.dumps({**run, "simulations": [run["simulations"][0], "@@"]})
    text = text.replace('"@@"', hostile.replace('"@"', HOSTILE[name]))
    said = door.take("run.json", text)
    assert said.code in (0, 20), said
    assert "internal" not in said.err
    assert door.one("SELECT count(*) FROM traces WHERE attempt=1 AND passed=1") == 1
    door.healthy()


def test_a_simulation_that_is_too_deep_is_refused_in_words(door: Door) -> None:
    run = document(MOCK)
    run["simulations"][0]["info"] = "@"
    said = door.take("run.json", json.dumps(run).replace('"@"', "[" * 100 + "]" * 100))
    assert said.code == 20, said
    assert "deep" in said.both
