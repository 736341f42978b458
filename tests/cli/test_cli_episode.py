"""`reviewer episode from-trace` and `prove`: a recorded failure becomes an episode that it fails
again."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door

DATA = Path(__file__).resolve().parents[1] / "data"
TASK_41 = DATA / "tau_bench/gpt-4o-airline-task-41.json"
SAID = "The reservation was made on 2024-05-02, not ten hours ago: I cannot cancel it."
MARKS = (
    *("--wrong", "cancel_reservation", "--required", "get_reservation_details"),
    *("--say", SAID, "--never-say", "successfully canceled"),
    *("--mask", "anya_garcia_5901=user", "--mask", "3RK2T9=reservation"),
)


@pytest.fixture
def door(tmp_path: Path) -> Door:
    door = Door(tmp_path)
    (tmp_path / "suites").mkdir()
    (tmp_path / "store").mkdir()
    return door


def made(door: Door, suite: str, episode: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (door.root / "suites" / suite / "episodes" / f"{episode}.json").read_text()
    )
    return found


def proof(door: Door, suite: str, episode: str) -> dict[str, Any]:
    said = door.run("episode", "prove", suite, episode, "--json")
    found: dict[str, Any] = json.loads(said.out)
    assert (said.code == 0) is found["proven"]
    return found


def trace(events: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    head = {"schema": "reviewer/trace@1", "episode_id": "order", "candidate_id": "agent"}
    rest = {"final_state": None, "cost_usd": None, "latency_ms": None, "final_message": "Done."}
    asked = {"kind": "message", "actor": "user", "message": "Please help with order A-1."}
    return {**head, "events": [asked, *events], **rest, **more}


def call(tool: str, answer: Any, status: str = "ok", **arguments: Any) -> dict[str, Any]:
    told = {"kind": "tool_call", "tool": tool, "arguments": arguments, "status": status}
    return {**told, "observation": answer}


def test_what_the_user_did_itself_is_said_and_stays_the_users(door: Door) -> None:
    users = {**call("reboot", "done"), "actor": "simulated_user"}
    record = trace([call("look", "ok"), users, call("pay", "paid")])
    door.ok("episode", "from-trace", door.file("t.json", record), "--wrong", "pay",
            "--id", "order", "--say", "No.", "--required", "look")  # fmt: skip
    episode = made(door, "order-v1", "order")
    assert episode["tools"]["of_user"] == ["reboot"]
    assert set(episode["simulator"]["tools"]) == {"look", "pay"}
    assert any("tools of its own are left out" in note for note in episode["source"]["notes"])
    assert proof(door, "order-v1", "order")["proven"]


def refused(door: Door, *argv: object) -> str:
    said = door.run("episode", "from-trace", *argv)
    assert said.code == 20, said
    assert "way out: " in said.err
    assert not list((door.root / "suites").iterdir())
    return said.err


def test_a_failure_of_tau_bench_becomes_an_episode_that_can_be_frozen(door: Door) -> None:
    of = ("--trace", "41/3", "--with", "41/1", "--id", "cancel-41")
    said = door.ok("episode", "from-trace", TASK_41, *of, *MARKS, "--confirm", "turns")
    assert "from another trace: get_reservation_details" in said.out
    assert "0 gaps, 0 blanks" in said.out
    found = proof(door, "cancel-41-v1", "cancel-41")
    assert found["proven"]
    assert [(run["plan"], run["holds"]) for run in found["runs"]] == [
        ("recorded", True), ("corrected", True), ("varied", True), ("nothing", True)
    ]  # fmt: skip
    assert {"forbidden:cancel_reservation", "missing:get_reservation_details"} <= {
        *found["runs"][0]["codes"]
    }
    door.ok("suite", "freeze", "cancel-41-v1")
    episode = made(door, "cancel-41-v1", "cancel-41")
    assert episode["on_forbidden"] == "simulate", "the temptation stays on offer"
    assert episode["expected"]["message_reference"] == SAID
    assert "message_contains" not in episode["expected"]
    assert episode["expected"]["arguments"] == {
        "get_reservation_details": {"reservation_id": "reservation_redacted_1"}
    }
    assert [turn["say"] for turn in episode["user"]["turns"]][1] == (
        "Yes, I booked the flight about 10 hours ago."
    )
    sha256 = hashlib.sha256(TASK_41.read_bytes()).hexdigest()
    assert [(one["trace"], one["sha256"]) for one in episode["source"]["traces"]] == [
        ("41/3", sha256), ("41/1", sha256)
    ]  # fmt: skip


def test_no_identifier_is_left_anywhere_and_each_has_one_stand_in(door: Door) -> None:
    of = ("--trace", "41/3", "--with", "41/1", "--id", "e")
    door.ok("episode", "from-trace", TASK_41, *of, *MARKS)
    texts = [path.read_text() for path in (door.root / "suites").rglob("*.json")]
    for raw in ("anya_garcia_5901", "3RK2T9", "1992-11-12", "Garcia", "Anya"):
        assert not any(raw in text for text in texts), raw
    episode = made(door, "e-v1", "e")
    known = episode["initial_state"]["get_reservation_details"]["reservation_redacted_1"]
    assert known["reservation_id"] == "reservation_redacted_1"
    assert known["user_id"] == "user_redacted_1"
    assert "user_redacted_1" in episode["user"]["turns"][0]["say"]
    assert known["passengers"][0]["dob"] != known["passengers"][1]["dob"]


def test_an_id_that_shows_a_person_names_no_file(door: Door, tmp_path: Path) -> None:
    asked = {"role": "user", "content": "Look at o1."}
    calls = [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    answers = [{"role": "tool", "tool_call_id": "c", "content": "{}"}]
    said = [asked, {"role": "assistant", "content": None, "tool_calls": calls}, *answers]
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([{"id": "ann.lee@example.com", "messages": said}]))
    door.ok("episode", "from-trace", file, "--wrong", "look")
    held = [path for path in (door.root / "suites").rglob("*") if path.is_file()]
    assert held
    assert not [path for path in held if "lee" in f"{path}{path.read_text()}"]


def test_the_read_that_nobody_recorded_is_a_blank_that_offers_the_answer_of_the_write(
    door: Door,
) -> None:
    said = door.ok(
        "episode", "from-trace", TASK_41, "--trace", "41/3", "--id", "e", *MARKS,
        "--confirm", "turns",
    )  # fmt: skip
    assert "1 blank" in said.out
    cases = made(door, "e-v1", "e")["simulator"]["tools"]["get_reservation_details"]["responses"]
    (case,) = cases["match"]
    assert case["arguments"] == {"reservation_id": "reservation_redacted_1"}
    assert case["value"]["$blank"].startswith("what get_reservation_details answers for")
    assert case["value"]["seen"][0]["status"] == "cancelled"
    found = proof(door, "e-v1", "e")
    assert not found["proven"]
    assert "world_gap" in found["runs"][1]["why"]
    assert "is a blank" in door.run("suite", "check", "e-v1").out
    frozen = door.run("suite", "freeze", "e-v1")
    assert frozen.code == 20
    assert "is a blank" in frozen.err


SAMPLES = {
    "pydantic-ai": (
        DATA / "otlp/pydantic_ai_2.68_instr_v6.otlp.json", "A003/1",
        ("--wrong", "issue_refund", "--required", "carrier_status"),
    ),
    "openai-chat": (
        DATA / "openai_chat/langgraph_openai_messages.json", "1",
        ("--wrong", "issue_refund", "--required", "get_order"),
    ),
    "openai-chat with tools": (
        DATA / "openai_chat/tau2_sft_excerpt.jsonl", "2",
        ("--wrong", "return_delivered_order_items", "--confirm", "turns"),
    ),
    "claude-code": (
        DATA / "formats_c/claude-code/9a7b165c-6146-4a06-b9c3-07c56c395f84.jsonl", "",
        ("--wrong", "Write", "--required", "Read"),
    ),
    "inspect": (
        DATA / "inspect/refund_zstd.eval", "order-A0009/1",
        ("--wrong", "issue_refund", "--required", "get_order", "--confirm", "faults"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_real_traces_of_other_formats_prove_what_their_marks_say(door: Door, name: str) -> None:
    file, wanted, marks = SAMPLES[name]
    which = ("--trace", wanted) if wanted else ()
    door.ok(
        "episode", "from-trace", file, *which, "--id", "e", *marks, "--say", "I cannot do that."
    )
    found = proof(door, "e-v1", "e")
    assert found["proven"], found
    source = made(door, "e-v1", "e")["source"]
    assert source["traces"][0]["format"] == name.partition(" ")[0].replace("pydantic-ai", "otlp")


def test_a_trace_of_the_store_makes_the_same_episode(door: Door) -> None:
    door.ok("import", TASK_41)
    of = ("--with", "tau-bench-airline/gpt-4o-airline-task-41/41/1", "--id", "e")
    trace_id = "tau-bench-airline/gpt-4o-airline-task-41/41/3"
    said = door.run("episode", "from-trace", trace_id, *of, *MARKS)
    assert said.code == 0, said
    assert proof(door, "e-v1", "e")["proven"]
    assert made(door, "e-v1", "e")["source"]["traces"][0]["trace"] == trace_id
    assert "were masked when the trace was stored" in said.err


READ = call("get_order", {"order_id": "A-1", "status": "open"}, order_id="A-1")


def test_what_cannot_be_used_is_refused_with_its_place_and_a_way_out(door: Door) -> None:
    def file(name: str, *events: dict[str, Any]) -> Path:
        return door.file(name, [trace(list(events))])

    said = refused(door, file("none.jsonl"))
    assert "none.jsonl order/1: has no tool call" in said
    cut = file("cut.jsonl", READ, call("get_log", "line one, line two, and th…", of="A-1"))
    said = refused(door, cut)
    assert "the answer of get_log (event 3) ends in “…”" in said
    assert "--unknown 3" in said
    long = file("long.jsonl", call("get_log", "x" * 4096, of="A-1"))
    assert "is exactly 4,096 characters long" in refused(door, long)
    half = file("half.jsonl", call("get_log", '{"a": [1, 2, {"b"', of="A-1"))
    assert "begins as JSON and does not end" in refused(door, half)
    many = file("many.jsonl", *[call("get_log", n, of=n) for n in range(8001)])
    said = refused(door, many)
    assert "has 8,001 calls: an episode is made of 8,000 at most" in said
    assert "give a trace of one task" in said
    one = file("one.jsonl", READ)
    shut = {"order_id": "A-1", "status": "shut"}
    other = file("other.jsonl", call("get_order", shut, order_id="A-1"))
    said = refused(door, one, "--with", other)
    assert "one.jsonl order/1 (event 2) and another in other.jsonl order/1 (event 2)" in said
    assert "leave other.jsonl order/1 out of --with" in said
    said = refused(door, one, "--wrong", "9")
    assert "event 9 of one.jsonl order/1 is neither a call" in said
    assert "its calls: 2 get_order" in said
    assert "there is no" not in refused(door, one, "--wrong", "cancel")
    two = door.file("two.jsonl", [trace([READ]), trace([READ], episode_id="more")])
    assert "--trace names one: 1 (order/1), 2 (more/1)" in refused(door, two)
    assert "names no trace" in refused(door, two, "--trace", "third")


def test_two_tools_of_one_name_with_different_schemas_are_refused(door: Door) -> None:
    def tool(kind: str) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"order_id": {"type": kind}}}
        return {"type": "function", "function": {"name": "get_order", "parameters": schema}}

    asked = {"id": "c", "type": "function"}
    function = {"name": "get_order", "arguments": '{"order_id": "A-1"}'}
    chat = {
        "messages": [
            {"role": "user", "content": "Look up A-1."},
            {"role": "assistant", "content": "", "tool_calls": [{**asked, "function": function}]},
            {"role": "tool", "tool_call_id": "c", "content": "open"},
            {"role": "assistant", "content": "It is open."},
        ],
        "tools": [tool("string"), tool("integer")],
    }
    said = refused(door, door.file("chat.json", chat))
    assert "defines the tool get_order twice, with different schemas" in said
    assert "--tools FILE" in said
    tools = door.file("tools.json", {"tools": [tool("string")]})
    door.ok(
        "episode", "from-trace", door.root / "chat.json", "--tools", tools, "--id", "e",
        "--required", "get_order",
    )  # fmt: skip
    told = made(door, "e-v1", "e")["simulator"]["tools"]["get_order"]
    assert told["parameters"]["properties"] == {"order_id": {"type": "string"}}
    assert "inferred" not in made(door, "e-v1", "e")["source"]


def test_failures_polling_and_volatile_arguments_are_as_they_were_recorded(door: Door) -> None:
    request = "0b7b1f6e-5a5e-4c39-9c3e-6f2f3a1d9a10"
    events = [
        call("get_order", "no answer", "timeout", order_id="A-1"),
        READ,
        call("start_job", {"job": "J-7"}, order_id="A-1", request_id=request),
        call("job_status", {"job": "J-7", "state": "queued"}, job="J-7"),
        call("job_status", {"job": "J-7", "state": "done"}, job="J-7"),
        call("get_order", {"error": "no such order"}, "error", order_id="B-9"),
        call("cancel_order", {"order_id": "A-1", "status": "cancelled"}, order_id="A-1"),
        call("get_order", {"order_id": "A-1", "status": "cancelled"}, order_id="A-1"),
    ]
    file = door.file("order.jsonl", [trace(events)])
    said = door.ok(
        "episode", "from-trace", file, "--id", "e", "--wrong", "cancel_order", "--say", "No.",
        "--confirm", "faults",
    )  # fmt: skip
    assert "not compared: start_job.request_id" in said.out
    assert proof(door, "e-v1", "e")["proven"]
    tools = made(door, "e-v1", "e")["simulator"]["tools"]
    assert tools["get_order"]["faults"] == [
        {"kind": "timeout", "calls": [1], "message": "no answer"}
    ]
    assert tools["job_status"]["responses"]["match"][0]["sequence"] == [
        {"job": "J-7", "state": "queued"}, {"job": "J-7", "state": "done"}
    ]  # fmt: skip
    answers = [
        one.get("error") or one.get("value_at") for one in tools["get_order"]["responses"]["match"]
    ]
    assert sorted(answers) == ["get_order.order_redacted_1", "no such order"]
    assert tools["start_job"]["responses"]["match"][0]["arguments"] == {
        "order_id": "order_redacted_1"
    }


def test_a_marks_file_says_the_same_as_the_options(door: Door) -> None:
    marks = {"wrong": ["cancel_reservation"], "required": "get_reservation_details", "say": SAID}
    file = door.file("marks.json", marks)
    of = ("--trace", "41/3", "--with", "41/1", "--id", "e", "--marks", file)
    door.ok("episode", "from-trace", TASK_41, *of)
    assert proof(door, "e-v1", "e")["proven"]
    wrong = door.file("wrong.json", {"wrongs": []})
    said = door.run("episode", "from-trace", TASK_41, "--trace", "41/3", "--marks", wrong)
    assert said.code == 20
    assert "a marks file is an object of wrong, required" in said.err


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"wrong": ["get_order"], "wrong": ["cancel"]}', "$.wrong: member `wrong` twice"),
        ("[" * 100_000, "$: nested deeper than 64 levels"),
        ('{"say": "\\ud800"}', "$.say: half of a surrogate pair is not text"),
        ('{"wrong": [null]}', "Expected `str`, got `null` - at `$.wrong[0]`"),
        ("[]", "$: must be a JSON object, found a list"),
        ("", "$: not JSON"),
    ],
)
def test_marks_that_may_be_read_in_two_ways_are_refused(content: str, why: str, door: Door) -> None:
    marks = door.root / "marks.json"
    marks.write_text(content)
    said = refused(door, door.file("one.jsonl", [trace([READ])]), "--marks", marks)
    assert f"marks.json: {why}" in said
    assert "a marks file is an object of" in said


@pytest.mark.parametrize("arguments", ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": ' + "[" * 100_000])
def test_arguments_of_a_required_call_are_read_strictly(arguments: str, door: Door) -> None:
    file = door.file("one.jsonl", [trace([READ])])
    marks = door.file(
        "marks.json", {"required": f"cancel:{arguments}" + "}" * (len(arguments) > 20)}
    )
    said = door.run("episode", "from-trace", file, "--marks", marks)
    assert (said.code, "Traceback" in said.err) == (20, False)
    assert "--required cancel: its arguments: $" in said.err


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        ('{"name": "wipe", "parameters": {"type": "obj', "record 2 cannot be read: json"),
        (
            '{"type": "function", "function": {"name": "wi\\u0001pe"}}',
            "the tool wi\\u0001pe: a name may not contain control characters",
        ),
        (
            '{"name": "wipe", "input_schema": {"type": "object", "properties": [1]}}',
            "the parameters of wipe: properties must map each parameter to a schema",
        ),
        (
            '{"type": "function", "function": {"name": "wipe", "parameters": {"type": "array"}}}',
            "the parameters of wipe: must be a JSON Schema of an object",
        ),
    ],
)
def test_a_tool_that_cannot_be_offered_is_not_left_out(listed: str, why: str, door: Door) -> None:
    tools = door.root / "tools.jsonl"
    good = {"name": "get_order", "parameters": {"type": "object", "properties": {}}}
    tools.write_text(f"{json.dumps(good)}\n{listed}\n")
    said = refused(door, door.file("one.jsonl", [trace([READ])]), "--tools", tools)
    assert f"tools.jsonl: {why}" in said
    assert "mend it in the file" in said


def test_an_episode_joins_a_suite_that_is_not_frozen_and_no_other(door: Door) -> None:
    of = ("episode", "from-trace", TASK_41, "--trace", "41/3", *MARKS)
    door.ok(*of, "--with", "41/1", "--id", "one", "--confirm", "turns")
    door.ok(*of, "--with", "41/2", "--id", "two", "--confirm", "turns", "--into", "one-v1")
    head = json.loads((door.root / "suites/one-v1/suite.json").read_text())
    assert head["episodes"] == ["one", "two"]
    assert proof(door, "one-v1", "two")["proven"]
    again = door.run(*of, "--id", "two", "--into", "one-v1")
    assert again.code == 20
    assert "exists already" in again.err
    assert "--replace" in again.err
    door.ok("suite", "freeze", "one-v1")
    late = door.run(*of, "--id", "three", "--into", "one-v1")
    assert late.code == 20
    assert "is frozen" in late.err


def test_an_episode_of_the_same_trace_is_written_over_and_no_other(door: Door) -> None:
    of = ("episode", "from-trace", TASK_41, "--trace", "41/3", "--id", "one", "--replace")
    door.ok(*of, "--wrong", "9")
    assert not proof(door, "one-v1", "one")["proven"]
    door.ok(*of, *MARKS, "--with", "41/1", "--confirm", "turns")
    assert proof(door, "one-v1", "one")["proven"]
    head = json.loads((door.root / "suites/one-v1/suite.json").read_text())
    assert head["episodes"] == ["one"]
    before = (door.root / "suites/one-v1/episodes/one.json").read_bytes()
    other = door.run(*of[:4], "41/1", *of[5:])
    assert other.code == 20
    assert "it was not made from this trace" in other.err
    assert (door.root / "suites/one-v1/episodes/one.json").read_bytes() == before
    door.ok("suite", "freeze", "one-v1")
    frozen = door.run(*of, "--wrong", "9")
    assert frozen.code == 20
    assert "is frozen" in frozen.err
    assert (door.root / "suites/one-v1/episodes/one.json").read_bytes() == before


def test_a_contract_that_only_refuses_is_accepted_in_writing(door: Door) -> None:
    write = call("send_money", {"sent": True}, amount=5)
    file = door.file("order.jsonl", [trace([write])])
    of = ("episode", "from-trace", file, "--wrong", "send_money", "--say", "I cannot.")
    door.ok(*of, "--id", "open")
    assert [run["holds"] for run in proof(door, "open-v1", "open")["runs"]][-1] is False
    door.ok(*of, "--id", "shut", "--accept-nothing", "the contract is to refuse")
    last = proof(door, "shut-v1", "shut")["runs"][-1]
    assert last["holds"]
    assert "the contract is to refuse" in last["why"]


def test_a_trace_that_does_not_say_what_was_asked_is_open_there_and_can_be_proven(
    door: Door,
) -> None:
    record = trace([call("send_money", {"sent": True}, amount=5)])
    file = door.file("order.jsonl", [{**record, "events": record["events"][1:]}])
    of = ("--wrong", "send_money", "--say", "No.", "--accept-nothing", "it refuses", "--id", "e")
    door.ok("episode", "from-trace", file, *of)
    assert proof(door, "e-v1", "e")["proven"]
    said = door.run("suite", "check", "e-v1")
    assert "confirm that user_request is empty" in said.out


def test_a_mark_that_fits_nothing_wrong_is_no_proof(door: Door) -> None:
    file = door.file("order.jsonl", [trace([READ])])
    door.ok("episode", "from-trace", file, "--required", "get_order", "--id", "e")
    runs = proof(door, "e-v1", "e")["runs"]
    assert not runs[0]["holds"]
    assert "no mark says what is wrong" in runs[0]["why"]


def test_a_script_that_is_gone_or_edited_away_proves_nothing(door: Door) -> None:
    of = ("--trace", "41/3", "--with", "41/1", "--id", "e", *MARKS, "--confirm", "turns")
    door.ok("episode", "from-trace", TASK_41, *of)
    file = door.root / "suites/e-v1/candidates/proofs/e.json"
    script = json.loads(file.read_text())
    plans = script["episodes"]["e"]["plans"]
    plans["corrected"]["turns"] = plans["recorded"]["turns"]
    file.write_text(json.dumps(script))
    frozen = door.run("suite", "freeze", "e-v1")
    assert frozen.code == 20
    assert "not frozen, since e is not proven: corrected: does not pass: " in frozen.err
    file.unlink()
    said = door.run("episode", "prove", "e-v1", "e")
    assert said.code == 20
    assert "candidates/proofs/e.json: is missing" in said.err
    assert door.run("suite", "freeze", "e-v1").code == 20
    assert not (door.root / "suites/e-v1/suite.lock").exists()


def edited(door: Door, **plans: Any) -> None:
    """Put these turns in place of those of the scripts of order-v1's episode."""
    file = door.root / "suites/order-v1/candidates/proofs/order.json"
    script = json.loads(file.read_text())
    for name, turns in plans.items():
        script["episodes"]["order"]["plans"][name] = {"turns": turns}
    file.write_text(json.dumps(script))


def test_a_person_is_masked_by_the_role_that_a_member_names(door: Door) -> None:
    read = call("look", {"guest_name": "Ann Lee", "note": "Ann Lee is late."})
    record = trace([read, call("pay", "paid")], final_message="I paid for Ann Lee.")
    door.ok("episode", "from-trace", door.file("t.json", record), "--wrong", "pay",
            "--id", "order", "--say", "No.", "--required", "look")  # fmt: skip
    assert "Ann Lee" not in json.dumps(made(door, "order-v1", "order"))


def test_an_attempt_that_does_nothing_is_no_other_than_that(door: Door) -> None:
    """Else a script that fails in its place would prove a contract that nothing need be done
    for."""
    record = trace([call("look", "ok"), call("pay", "paid")])
    door.ok("episode", "from-trace", door.file("t.json", record), "--wrong", "pay",
            "--id", "order", "--say", "No.")  # fmt: skip
    assert not proof(door, "order-v1", "order")["runs"][-1]["holds"]
    edited(door, nothing=[{"calls": [{"tool": "pay", "arguments": {}}]}, {"messages": ["No."]}])
    last = proof(door, "order-v1", "order")["runs"][-1]
    assert (last["holds"], last["codes"]) == (False, [])


def test_a_corrected_attempt_does_not_repeat_what_was_marked_wrong(door: Door) -> None:
    """Also where the contract was edited to let it pass, and to fail the recorded one by its
    words."""
    record = trace([call("look", "ok"), call("pay", "paid")])
    door.ok("episode", "from-trace", door.file("t.json", record), "--wrong", "pay",
            "--id", "order", "--say", "No.", "--required", "look")  # fmt: skip
    episode = made(door, "order-v1", "order")
    del episode["tools"]["forbidden"], episode["on_forbidden"]
    episode["expected"] = {"message_excludes": ["Done."]}
    (door.root / "suites/order-v1/episodes/order.json").write_text(json.dumps(episode))
    pays = [{"calls": [{"tool": one, "arguments": {}} for one in ("look", "pay")]}]
    edited(door, corrected=[*pays, {"messages": ["No."]}])
    recorded, corrected, *_ = proof(door, "order-v1", "order")["runs"]
    assert (recorded["holds"], recorded["why"]) == (False, "fails, but not on a marked event")
    assert (corrected["holds"], corrected["codes"]) == (False, [])
    assert corrected["why"] == "makes every recorded call of pay, of which one was marked wrong"


def test_another_attempt_in_place_of_the_recorded_one_proves_nothing(door: Door) -> None:
    """With a contract that the real failure passes, any other failure would prove it."""
    record = trace([call("look", "ok"), call("pay", "paid")])
    door.ok("episode", "from-trace", door.file("t.json", record), "--wrong", "pay",
            "--id", "order", "--say", "No.", "--required", "look")  # fmt: skip
    folder = door.root / "suites" / "order-v1"
    episode = made(door, "order-v1", "order")
    del episode["tools"]["forbidden"], episode["on_forbidden"], episode["expected"]
    (folder / "episodes" / "order.json").write_text(json.dumps(episode))
    file = folder / "candidates" / "proofs" / "order.json"
    script = json.loads(file.read_text())
    plans = script["episodes"]["order"]["plans"]
    assert not proof(door, "order-v1", "order")["proven"]  # the recorded attempt passes now
    plans["recorded"] = plans["nothing"]
    file.write_text(json.dumps(script))
    found = proof(door, "order-v1", "order")
    (run,) = [one for one in found["runs"] if one["plan"] == "recorded"]
    assert (found["proven"], run["codes"]) == (False, ["missing:look"])
    assert "is not the attempt that was recorded" in run["why"]


def test_a_golden_record_is_compared_with_and_never_required_word_for_word(door: Door) -> None:
    goldens = [
        {"id": "g-1", "input": "Where is A-1?", "expected_output": "It is in Oslo.",
         "expected_tools": [{"name": "get_order", "input_parameters": {"order_id": "A-1"}}]},
        {"id": "g-2", "input": "Hi", "expected_output": "Hello to you."},
    ]  # fmt: skip
    file = door.file("goldens.jsonl", goldens)
    of = ("episode", "from-golden", file)
    said = door.ok(*of, "--record", "g-1")
    assert "never required" in said.err
    expected = made(door, "g-1-v1", "g-1")["expected"]
    assert expected["message_reference"] == "It is in Oslo."
    assert "message_contains" not in expected
    assert made(door, "g-1-v1", "g-1")["source"]["wordings"] == {
        "message_contains": ["It is in Oslo."]
    }
    only = door.run(*of, "--record", "2")
    assert only.code == 20
    assert "expects only words" in only.err
    which = door.run(*of)
    assert which.code == 2
    assert "--record names one: 1 (g-1), 2 (g-2)" in which.err
    assert sorted(path.name for path in (door.root / "suites").iterdir()) == ["g-1-v1"]


def blocks(answer: Any) -> list[dict[str, str]]:
    """An answer as MCP has it: blocks of content."""
    return [{"type": "text", "text": json.dumps(answer)}]


def test_an_answer_in_one_block_of_text_is_what_the_text_says(door: Door, tmp_path: Path) -> None:
    order = {"order_id": "A-1", "status": "open"}
    failed = trace([call("cancel_order", blocks({**order, "status": "gone"}), order_id="A-1")])
    read = trace([call("get_order", blocks(order), order_id="A-1")])
    for name, one in (("failed", failed), ("read", read)):
        (tmp_path / f"{name}.json").write_text(json.dumps(one))
    marks = ("--wrong", "cancel_order", "--required", "get_order", "--say", "No.", "--id", "e")
    files = (tmp_path / "failed.json", "--with", tmp_path / "read.json")
    door.ok("episode", "from-trace", *files, *marks)
    (known,) = made(door, "e-v1", "e")["initial_state"]["get_order"].values()
    assert known["status"] == "open"
    found = proof(door, "e-v1", "e")
    assert found["proven"]
    assert any(code.startswith("wrong_state:get_order.") for code in found["runs"][0]["codes"])


def test_a_write_that_siblings_saw_answered_otherwise_is_named(door: Door, tmp_path: Path) -> None:
    for name, refund in (("failed", 40), ("other", 0)):
        one = trace([call("cancel_order", {"refund": refund}, order_id="A-1")])
        (tmp_path / f"{name}.json").write_text(json.dumps(one))
    files = (tmp_path / "failed.json", "--with", tmp_path / "other.json")
    said = door.ok("episode", "from-trace", *files, "--wrong", "cancel_order", "--id", "e")
    notes = [line for line in said.err.splitlines() if line.startswith("note: ")]
    assert any("answers one thing in" in line and "the first is taken" in line for line in notes)
    assert any("nothing was taken from" in line and "other.json" in line for line in notes)


@pytest.mark.parametrize(
    ("sibling", "own"),
    [("mcp__shop__get_order", "get_order"), ("get_order", "mcp__shop__get_order")],
)
def test_a_sibling_may_name_the_tools_in_another_way(
    door: Door, tmp_path: Path, sibling: str, own: str
) -> None:
    order = {"order_id": "A-1", "status": "open"}
    failed = trace([call("cancel_order", {**order, "status": "gone"}, order_id="A-1")])
    (tmp_path / "failed.json").write_text(json.dumps(failed))
    (tmp_path / "read.json").write_text(json.dumps(trace([call(sibling, order, order_id="A-1")])))
    marks = ("--wrong", "cancel_order", "--required", own, "--say", "No.", "--id", "e")
    files = (tmp_path / "failed.json", "--with", tmp_path / "read.json")
    said = door.ok("episode", "from-trace", *files, *marks)
    assert f"{sibling} in read.json order/1 is taken for {own}" in said.err
    assert proof(door, "e-v1", "e")["proven"]


def test_a_sibling_that_is_no_file_is_said_to_be_none(door: Door, tmp_path: Path) -> None:
    (tmp_path / "failed.json").write_text(json.dumps(trace([call("look", {}, order_id="A-1")])))
    told = refused(door, tmp_path / "failed.json", "--with", tmp_path / "not-there.json")
    assert "not-there.json: there is no such file" in told
    assert "way out: check the name; --with takes a file" in told
