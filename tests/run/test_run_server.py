"""An MCP server as the world of a suite, through `reviewer run`: what an attempt on it shows, and
what becomes of an attempt whose server does not keep to the protocol."""

import json
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import served_suites as served
from doors import Door, Said
from served_suites import by_hand, calls, says

from reviewer.running.sandbox.protection import protection

GOOD = (calls("label"), calls("lookup"), says("It is on its way."))

TELLS = """
def call(name, arguments):
    if name == "label":
        STATE["outcome"] = "labeled"
    told = STATE if name == "dump_state" else {{"outcome": STATE["outcome"]}}
    if name == "label":
        {}
    return {{**text(told), "structuredContent": told}}
"""
"""A server that does something on its own when a label is made."""


@pytest.fixture
def door(tmp_path: Path) -> Door:
    (tmp_path / "store").mkdir()
    return Door(tmp_path)


def suite(door: Door, program: str, *episodes: dict[str, Any], **changes: Any) -> Path:
    folder = served.write(door.root, program, *(episodes or (served.RETURN,)), **changes)
    served.script(folder, *GOOD)
    return folder


def run(door: Door, *more: object) -> Said:
    said = door.run("run", "served", "agent", "--attempts", 1, "--quiet", *more)
    assert said.code == 0, said
    return said


def shown(door: Door, attempt: int = 1, episode: str = "return") -> Any:
    """An attempt as `reviewer show` has it, with its events in words."""
    trace = f"served/agent/{episode}/{attempt}"
    one = json.loads(door.ok("show", trace, "--json").out)
    lines = door.ok("show", trace, "--plain").out.splitlines()
    one["told"] = [line.partition(" ")[2] for line in lines if re.match(r"event \d", line)]
    return one


def event(door: Door, number: int) -> str:
    return door.ok("show", "served/agent/return/1", "--event", number, "--plain").out


def broken(door: Door, ended: str = "infrastructure_error") -> str:
    """How an attempt says that its server ended it."""
    told = run(door)
    assert "0 passed, 0 failed (0 critical), 0 not measured, 1 infra" in told.out
    one = shown(door)
    assert (one["termination"], one["final_state"]) == (ended, "not measured")
    head, _, rest = one["told"][-1].partition(" error: the server of toolset.json: ")
    assert head.isdigit(), one["told"]
    return str(rest).removesuffix("; 0.01s; $0.01").strip()


def test_a_server_is_a_world_as_a_simulated_one_is(door: Door, tmp_path: Path) -> None:
    """The same contract behind a server and behind simulated tools: the same events, states and
    verdict."""
    simulated = {
        "lookup": {"responses": {"state": ["outcome"]}},
        "label": {
            "responses": {"state": ["outcome"]},
            "effects": [{"merge": {"outcome": "labeled"}}],
        },
        "refund": {"responses": {"fixed": None}},
    }
    suite(door, by_hand())
    run(door)
    (tmp_path / "other" / "store").mkdir(parents=True)
    other = Door(tmp_path / "other")
    folder = suite(other, by_hand())
    toolset = json.loads((folder / "toolset.json").read_text())
    del toolset["server"]
    for tool in toolset["tools"]:
        tool["simulator"] = simulated[tool["name"]]
    served.put(folder / "toolset.json", toolset)
    run(other)
    one, two = shown(door), shown(other)
    assert (one["mark"], one["termination"]) == ("pass", "completed")
    assert one["told"] == two["told"]
    for number in range(1, 5):
        assert event(door, number) == event(other, number)
    for name in ("mark", "clauses", "final_state", "cost_usd", "latency_ms", "steps"):
        assert one[name] == two[name]


def test_a_frozen_suite_is_tried_run_and_reported(door: Door) -> None:
    folder = suite(door, by_hand(), served.RETURN, served.REFUSE)
    (folder / "server" / "files" / "notes").mkdir(parents=True)
    (folder / "server" / "files" / "notes" / "a.txt").write_text("kept")
    told = door.ok("suite", "trial", "served").out
    assert "served: sound: the oracle passes, and every bad agent is stopped" in told
    assert "obedient state, authority" in told
    door.ok("suite", "freeze", "served")
    run(door, "--attempts", 3, "--jobs", 3)
    verdicts = [shown(door, n)["mark"] for n in (1, 2, 3)]
    assert verdicts == ["pass"] * 3
    assert door.ok("suite", "check", "served").code == 0  # nothing was written beside its files
    ran = dict(shown(door)["said"])
    assert re.fullmatch("[0-9a-f]{64}", ran["ran.toolkits"])
    door.healthy()


def test_each_attempt_has_a_server_and_a_folder_of_its_own(door: Door) -> None:
    program = by_hand("""
        with open("found", "a") as file:
            file.write("x")
        STATE["found"] = len(open("found").read())
        STATE["files"] = sorted(os.listdir("."))
    """)
    state = {**served.START, "found": 2, "files": ["found", "initial_state.json", "sub"]}
    folder = suite(door, program, {**served.RETURN, "initial_state": state})
    (folder / "server" / "files" / "sub").mkdir(parents=True)
    (folder / "server" / "files" / "sub" / "b").write_text("b")
    (folder / "server" / "files" / "found").write_text("x")
    run(door, "--attempts", 4, "--jobs", 4, "--workers", 2)
    assert [shown(door, n)["mark"] for n in range(1, 5)] == ["pass"] * 4


def test_a_server_of_the_protocols_sdk(door: Door) -> None:
    pytest.importorskip("mcp")
    tools = [{**tool, "parameters": served.sdk_schema(tool["name"])} for tool in served.TOOLS]
    suite(
        door,
        served.WITH_SDK,
        tools=tools,
        state={"resource": "state://all"},
        start_s=300,
        call_s=300,
    )
    run(door)
    one = shown(door)
    assert (one["mark"], one["final_state"]) == ("pass", "labeled")
    assert "made for o-1" in event(door, 1)
    assert '"outcome": "labeled"' in event(door, 2)


def test_an_error_of_a_tool_is_an_answer(door: Door) -> None:
    program = by_hand(TELLS.format('return {"content": [], "isError": True}'))
    suite(door, program)
    run(door)
    one = shown(door)
    assert one["termination"] == "completed"
    assert one["told"][0].startswith("1 tool_call by agent: label error")


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ("os._exit(3)", "tools/call of label: it ended with exit status 3"),
        (
            'print("bye", file=sys.stderr); sys.exit(4)',
            "tools/call of label: it ended with exit status 4: bye",
        ),
        ("os.close(1); time.sleep(600)", "tools/call of label: it closed its output"),
        (
            'sys.stdout.write("x" * (100 << 20)); sys.stdout.flush()',
            "tools/call of label: it wrote a line of more than 8 MiB",
        ),
        (
            'big = "x" * (1 << 20); [say(method="notifications/message", params=big)'
            " for _ in range(100)]",
            "tools/call of label: it wrote more than 64 MiB",
        ),
        (
            'print("made the label")',
            "tools/call of label: a line is no message ($: not JSON: Expecting value at line 1 "
            "column 1): `made the label`; logs belong on standard error",
        ),
        (
            "say(id=99, result=text(1))",
            "tools/call of label: answers request `99`, which nobody made",
        ),
        (
            'say(id=None, error={"code": -32700, "message": "what?"})',
            "tools/call of label: could not read our message: what?",
        ),
        (
            '[say(method="notifications/progress") for _ in range(10_001)]',
            "tools/call of label: sent 10,000 messages instead of an answer",
        ),
        (
            'return {"content": "made"}',
            "tools/call of label: $.result.content must be a list, not a string",
        ),
        (
            'return {"content": [{"type": "text"}]}',
            "tools/call of label: $.result.content[0].text does not follow the protocol",
        ),
        (
            'return {"content": [], "structuredContent": [1]}',
            "tools/call of label: $.result.structuredContent must be an object, not a list",
        ),
        ('TOOLS["more"] = ORDER', "tools/list: `more` changed after the attempt began"),
        (
            'TOOLS["label"] = NOTHING',
            "tools/list: `label` changed after the attempt began",
        ),
    ],
)
def test_a_server_that_breaks_in_a_call_ends_the_attempt(door: Door, act: str, reason: str) -> None:
    suite(door, by_hand(TELLS.format(act)))
    assert broken(door, "world_broke") == reason
    assert shown(door)["told"][0].startswith("1 tool_call by agent: label ")


def test_attempts_in_which_the_world_broke_are_no_way_to_promotion(door: Door) -> None:
    folder = suite(
        door,
        by_hand(TELLS.format('os._exit(3) if arguments["order"] == "o-2" else None')),
        served.RETURN,
        served.REFUSE,
    )
    door.ok("suite", "freeze", "served")
    served.script(folder, calls("label", order="o-2"), *GOOD)
    run(door)
    assert shown(door)["termination"] == "world_broke"
    card = door.ok("scorecard", "--suite", "served", "--candidate", "agent", "--plain").out
    assert "too many attempts neither passed nor failed" in card


def test_a_server_that_never_answers_ends_the_attempt(door: Door) -> None:
    suite(door, by_hand(TELLS.format("time.sleep(600)")), call_s=0.5)
    assert broken(door, "world_broke") == (
        "tools/call of label: no answer within 0.5 s; raise the limit in toolset.json if it needs "
        "longer"
    )


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (
            'del TOOLS["label"]',
            "tools/list: does not list `label` of toolset.json (it lists dump_state, lookup, "
            "refund); put the server back, or freeze a suite with the tools that it has now",
        ),
        (
            'TOOLS["lookup"] = {**ORDER, "required": []}',
            "tools/list: `lookup` has another schema than toolset.json froze: "
            "$.inputSchema.required differs; put the server back, or freeze a suite with the tools "
            "that it has now",
        ),
        (
            'TOOLS["lookup"] = {"type": "string"}',
            "tools/list: $.result.tools[0].inputSchema must be a JSON Schema of an object "
            '("type": "object")',
        ),
        (
            "listing = lambda: [{'name': 'label', 'inputSchema': ORDER}] * 2",
            "tools/list: $.result.tools[1].name lists `label` twice",
        ),
        ("listing = lambda: {}", "tools/list: $.result.tools must be a list, not an object"),
        (
            "del TOOLS['dump_state']",
            "tools/list: does not list `dump_state`, which is to tell the state",
        ),
        (
            "STATE['paid'] = 'back'",
            "its state differs at $.paid from the episode's initial_state: write there what it "
            "starts with, or have it start with that",
        ),
        (
            "text = lambda value: STATE.update(n=time.time()) or {'content': []}",
            "its state differs at $.n between two readings without a call: leave out of it what "
            "changes by itself",
        ),
        (
            "call = lambda name, arguments: {'content': [{'type': 'text', 'text': '[]'}]}",
            "tools/call of dump_state: the state must be an object, not a list",
        ),
        (
            "call = lambda name, arguments: {'content': [], 'isError': True}",
            "tools/call of dump_state: the state cannot be read: ",
        ),
        ("sys.exit(5)", "initialize: it ended with exit status 5"),
        ("sys.stdout.write('x' * (100 << 20))", "initialize: it wrote a line of more than 8 MiB"),
    ],
)
def test_a_server_that_is_not_the_frozen_one_starts_no_attempt(
    door: Door, act: str, reason: str
) -> None:
    suite(door, by_hand(act))
    assert broken(door) == reason.strip()
    assert len(shown(door)["told"]) == 1  # the candidate was never asked


def test_a_server_of_another_version_of_the_protocol(door: Door) -> None:
    suite(door, by_hand().replace('params["protocolVersion"]', '"2030-01-01"'))
    assert broken(door) == (
        "initialize: speaks version `2030-01-01` of the protocol; known here: 2024-11-05, "
        "2025-03-26, 2025-06-18, 2025-11-25"
    )


def test_a_server_whose_answer_breaks_its_own_schema(door: Door) -> None:
    program = by_hand("""
        PAID = {"type": "object", "properties": {"paid": {"type": "integer"}}, "required": ["paid"]}
        def listing():
            return [{"name": name, "inputSchema": schema,
                     **({"outputSchema": PAID} if name == "label" else {})}
                    for name, schema in TOOLS.items()]
    """)
    suite(door, program)
    assert broken(door, "world_broke") == (
        "tools/call of label: $.result.structuredContent.paid does not match its own outputSchema"
    )


def test_what_a_server_asks_and_tells_on_the_side_is_answered_and_passed_over(door: Door) -> None:
    program = by_hand(
        TELLS.format("""
        say(method="notifications/message", params={"level": "info", "data": "x"})
        say(id="s-1", method="ping")
        assert json.loads(sys.stdin.readline()) == {"jsonrpc": "2.0", "id": "s-1", "result": {}}
        say(id=1, method="sampling/createMessage", params={})
        assert json.loads(sys.stdin.readline())["error"]["code"] == -32601
    """)
    )
    suite(door, program)
    run(door)
    assert shown(door)["mark"] == "pass"


def test_what_a_server_leaves_behind_is_ended_with_it(door: Door) -> None:
    token = f"left-behind-{os.getpid()}"
    program = by_hand(
        TELLS.format(f"""
        import subprocess
        code = "import time; time.sleep(600)  # {token}"
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    """)
    )
    suite(door, program)
    run(door)
    assert shown(door)["mark"] == "pass"
    assert not running(token)


def running(token: str) -> list[str]:
    """The processes with this word in their command line."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if token.encode() in file.read():
                    found.append(name)
        except OSError:
            continue
    return found


COUNTED = """
STATE["calls"] = []
call_before = call
def call(name, arguments):
    if name != "dump_state":
        STATE["calls"].append(name)
    return call_before(name, arguments)
"""
"""A server whose state tells the calls that reached it."""


@pytest.mark.parametrize(
    ("tools", "reached"),
    [
        ({"required": ["label"], "forbidden": ["refund"]}, ["lookup"]),
        ({"required": ["lookup"], "approvals": ["refund"]}, ["lookup"]),
    ],
)
def test_a_call_that_is_denied_never_reaches_the_server(
    door: Door, tools: dict[str, Any], reached: list[str]
) -> None:
    episode = {
        **served.RETURN,
        "initial_state": {**served.START, "calls": []},
        "tools": tools,
        "writes": [],
        "expected": {"state": {"calls": reached}},
        "simulator": {},
    }
    folder = suite(door, by_hand(COUNTED), episode)
    bad = {"tool": "lookup", "arguments": {"order": 7}}
    turns = [calls("refund", "no_such_tool", "dump_state"), {"calls": [bad]}, calls("lookup")]
    served.script(folder, *turns, says("Done."))
    run(door)
    one = shown(door)
    outcomes = [told.split(";")[0].split(": ")[1] for told in one["told"][:5]]
    assert outcomes == [
        *("refund denied", "no_such_tool denied", "dump_state denied"),
        *("lookup error", "lookup ok"),
    ]
    assert json.loads(one["final_state"]) == {**served.START, "calls": reached}


def test_a_person_is_asked_before_the_server_is(door: Door) -> None:
    episode = {
        **served.RETURN,
        "tools": {"required": ["label"], "approvals": ["label"]},
        "approvals": [{"tool": "label", "answer": "allow"}],
    }
    suite(door, by_hand(), episode)
    run(door)
    assert shown(door)["mark"] == "pass"
    assert "approval" in event(door, 1)


def test_a_server_without_a_state_measures_none(door: Door) -> None:
    expected = {"arguments": {"label": {"order": "o-1"}}, "message_contains": ["on its way"]}
    episode = {**served.RETURN, "initial_state": {}, "expected": expected, "simulator": {}}
    program = by_hand().replace("STATE = json.load(open(sys.argv[1]))", "STATE = {'outcome': ''}")
    suite(door, program, episode, state=None)
    run(door)
    one = shown(door)
    assert (one["mark"], one["final_state"]) == ("pass", "not measured")
    assert not any("state_snapshot" in told for told in one["told"])


def test_a_network_that_nobody_grants_is_named(door: Door) -> None:
    suite(door, by_hand(), network=True)
    said = door.run("run", "served", "agent", "--attempts", 1)
    assert said.code != 0
    assert "served/toolset.json: $.server.network: the server needs the network" in said.err
    assert "reviewer run --network" in said.err
    told = door.run("suite", "trial", "served")
    assert "its world needs the network, which a trial does not grant" in told.both
    run(door, "--network")
    assert shown(door)["mark"] == "pass"


def test_a_server_has_no_network_unless_it_is_granted(door: Door) -> None:
    if not protection().fenced:
        pytest.skip("this machine does not isolate programs")
    program = by_hand(
        TELLS.format("""
        import socket
        try:
            socket.create_connection(("127.0.0.1", 9), 1)
            STATE["outcome"] = "out"
        except ConnectionRefusedError:
            STATE["outcome"] = "out"
        except OSError:
            pass
    """)
    )
    suite(door, program)
    run(door)
    assert shown(door)["final_state"] == "labeled"


def test_a_server_reads_nothing_of_the_suite_but_its_own(door: Door) -> None:
    if not protection().fenced:
        pytest.skip("this machine does not isolate programs")
    program = by_hand(
        TELLS.format("""
        suite = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        for path in ("episodes/return.json", "candidates/agent.json", "../../store"):
            try:
                os.listdir(os.path.join(suite, path)) if "store" in path else \\
                    open(os.path.join(suite, path)).read()
                STATE["outcome"] = "read " + path
            except OSError:
                pass
    """)
    )
    suite(door, program)
    run(door)
    assert shown(door)["final_state"] == "labeled"


def test_a_program_that_is_not_there_stops_the_run(door: Door) -> None:
    suite(door, by_hand(), command=["no-such-program-here"])
    said = door.run("run", "served", "agent", "--attempts", 1)
    assert said.code != 0
    assert "$.server.command: there is no program `no-such-program-here` on PATH" in said.err


def test_a_trial_says_why_its_world_broke(door: Door) -> None:
    suite(door, by_hand("del TOOLS['refund']"))
    said = door.run("suite", "trial", "served")
    assert said.code != 0
    assert "its world broke: the server of toolset.json: tools/list: does not list" in said.out


def test_a_conversation_is_held_before_a_server(door: Door) -> None:
    user = {
        "kind": "scripted",
        "facts": {"order": {"value": "o-1"}},
        "goals": [{"id": "return", "asks": "a label"}],
        "turns": [
            {"id": "which", "when": {"asks": ["which order"]}, "say": "It is {order}.",
             "goals": ["return"]},
            {"id": "bye", "when": {"state": {"outcome": "labeled"}}, "say": "Thank you.",
             "end": "satisfied"},
        ],
        "otherwise": {"say": "I do not know.", "times": 1, "then": "gives_up"},
        "end": {"max_turns": 4},
    }  # fmt: skip
    folder = suite(door, by_hand(), {**served.RETURN, "user": user})
    asks = {"messages": ["Which order is it?"], "cost_usd": 0.01, "latency_ms": 5}
    served.script(folder, asks, *GOOD)
    run(door)
    one = shown(door)
    assert one["mark"] == "pass"
    assert one["told"][1].startswith("2 message by simulated_user: It is o-1.")


def test_a_program_acts_on_a_server_as_on_simulated_tools(door: Door) -> None:
    folder = suite(door, by_hand())
    program = """
        import json, sys
        def say(**message):
            print(json.dumps(message), flush=True)
            return json.loads(sys.stdin.readline())
        start = json.loads(sys.stdin.readline())
        assert [tool["name"] for tool in start["tools"]] == ["lookup", "label", "refund"]
        order = {"order": "o-1"}
        say(type="call", call_id="1", tool="label", arguments=order)
        told = say(type="call", call_id="2", tool="lookup", arguments=order)
        assert told["observations"][0]["content"] == {"outcome": "labeled"}, told
        print(json.dumps({"type": "final", "message": "It is on its way."}), flush=True)
    """
    (folder / "candidates" / "agent.py").write_text(textwrap.dedent(program))
    served.put(folder / "candidates" / "agent.json", {
        "schema": "reviewer/candidate@1", "candidate_id": "agent",
        "runner": {"kind": "command", "command": [sys.executable, "./agent.py"]},
    })  # fmt: skip
    run(door)
    one = shown(door)
    assert (one["termination"], one["final_state"]) == ("completed", "labeled")
    assert {finding["gate"] for finding in one["findings"]} <= {"budget"}  # no cost was told
