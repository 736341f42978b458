"""An agent that speaks MCP as a candidate: what its server offers, and what becomes of an agent
that does not keep to it."""

import asyncio
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_builders import believed, episode, statuses, tool
from run_guests import (
    BRIEF,
    KINDS,
    LOOK,
    PRICES,
    answers,
    closing,
    hold,
    message_of,
    task,
    workspace,
    written,
)

from reviewer.running.attempt import run_attempt
from reviewer.running.candidates import check_runnable
from reviewer.running.candidates.mcp import McpCandidate, WireLines, printed
from reviewer.running.mcp_child import relays
from reviewer.running.model import Brief, Call, CandidateFault, Task, ToolSpec, Turn, Unrunnable
from reviewer.suite.candidate import read_candidate
from reviewer.suite.errors import ContractError

PRELUDE = """
    import json, os, subprocess, sys, time, urllib.error, urllib.request
    with open(sys.argv[1]) as file:
        server = json.load(file)["mcpServers"]["ep"]
    class Desk:
        def __init__(self):
            command = [server["command"], *server["args"]]
            pipe = subprocess.PIPE
            self.relay = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        def send(self, data):
            self.relay.stdin.write(data)
            self.relay.stdin.flush()
        def hear(self):
            return json.loads(self.relay.stdout.readline())
        def ask(self, method, params):
            said = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            self.send(json.dumps(said).encode() + b"\\n")
            return self.hear()
        def call(self, name, **arguments):
            return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]
"""


def agent(folder: Path, program: str, **more: Any) -> Task:
    """A task whose candidate is this Python text, started with the path of its configuration. Of
    the prelude it has `server` and `Desk`, a client in few lines."""
    text = textwrap.dedent(PRELUDE) + textwrap.dedent(program)
    written(folder / "candidates" / "agent.py", text)
    runner = {
        "kind": "mcp",
        "command": [sys.executable, "./agent.py", "{mcp_config}"],
        **more.pop("runner", {}),
    }
    return task(folder, runner, **more)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return workspace(tmp_path / "desk")


async def first(work: Task, brief: Brief = BRIEF) -> Turn:
    async with closing(McpCandidate(work)) as guest:
        return await guest.begin(brief)


async def fault(work: Task) -> CandidateFault:
    with pytest.raises(CandidateFault) as caught:
        await first(work)
    return caught.value


# the conversation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_an_agent_lists_calls_and_ends(
    kind: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(kind, monkeypatch)
    program = """
        desk = Desk()
        hello = desk.ask("initialize", {"protocolVersion": "2025-06-18"})["result"]
        tools = desk.ask("tools/list", {})["result"]["tools"]
        seen = desk.call("look", at="é")
        late = desk.call("look")
        print(json.dumps([sys.stdin.read(), hello, tools, seen, late]))
    """
    async with closing(McpCandidate(agent(suite, program))) as guest:
        turn = await guest.begin(BRIEF)
        assert turn.calls == (Call("call_1", "look", {"at": "é"}),)
        turn = await guest.proceed(answers(turn, {"seen": [1, None, "é\u2028"]}))
        assert turn.calls == (Call("call_2", "look", {}),)
        turn = await guest.proceed(answers(turn, {"error": "late"}, status="timeout"))
    assert turn.calls == ()
    assert turn.last
    assert turn.total is None
    request, hello, tools, seen, late = message_of(turn)
    assert request == BRIEF.user_request
    assert hello["protocolVersion"] == "2025-06-18"
    assert tools == [
        {"name": "look", "description": "Looks.", "inputSchema": dict(LOOK.parameters)}
    ]
    assert seen["structuredContent"] == {"seen": [1, None, "é\u2028"]}
    assert json.loads(seen["content"][0]["text"]) == seen["structuredContent"]
    assert (seen["isError"], late["isError"]) == (False, True)
    assert "late" in late["content"][0]["text"]


async def test_a_request_as_an_argument_is_put_in_once_and_not_looked_into(suite: Path) -> None:
    program = """
        Desk().ask("ping", {})
        print(json.dumps([sys.argv[2:], sys.stdin.read(), os.environ["REVIEWER_MCP_CONFIG"]]))
    """
    command = [sys.executable, "./agent.py", "{mcp_config}", "a={request}", "{mcp_command}"]
    work = agent(suite, program, runner={"command": command})
    turn = await first(work, Brief("Say {mcp_config}, {x}.", (LOOK,)))
    (request, relay), told, config = message_of(turn)
    assert request == "a=Say {mcp_config}, {x}."
    assert told == ""
    assert (Path(relay).name, Path(config).name) == ("relay", "config.json")


async def test_two_connections_at_once_take_turns(suite: Path) -> None:
    program = """
        one, other = Desk(), Desk()
        for desk, at in ((one, "one"), (other, "other")):
            params = {"name": "look", "arguments": {"at": at}}
            said = {"jsonrpc": "2.0", "id": at, "method": "tools/call", "params": params}
            desk.send(json.dumps(said).encode() + b"\\n")
        told = [other.hear(), one.hear()]
        print(json.dumps([[each["id"], each["result"]["content"][0]["text"]] for each in told]))
    """
    async with closing(McpCandidate(agent(suite, program))) as guest:
        turn, seen = await guest.begin(BRIEF), set()
        while turn.calls:
            (call,) = turn.calls
            seen.add(call.arguments["at"])
            turn = await guest.proceed(answers(turn, f"at {call.arguments['at']}"))
    assert seen == {"one", "other"}
    assert message_of(turn) == [["other", "at other"], ["one", "at one"]]


async def test_what_was_sent_before_the_end_reaches_the_broker(suite: Path) -> None:
    program = """
        for number in (None, 7):  # one as a notification: no answer is wanted
            said = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "pay"}}
            desk = Desk()
            desk.ask("ping", {})
            desk.send(json.dumps({**said, **({"id": 7} if number else {})}).encode() + b"\\n")
        print("Nothing was done.")
    """
    async with closing(McpCandidate(agent(suite, program))) as guest:
        turn, tools = await guest.begin(BRIEF), []
        while turn.calls:
            tools += [call.tool for call in turn.calls]
            turn = await guest.proceed(answers(turn, {"error": "denied"}, status="denied"))
    assert tools == ["pay", "pay"]
    assert turn.message == "Nothing was done."


async def test_calls_that_wait_when_the_agent_ends_are_made(suite: Path) -> None:
    program = """
        desk = Desk()
        desk.ask("ping", {})
        said = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look"}}
        for number in range(3):
            desk.send(json.dumps(said).encode() + b"\\n")
        print("Nothing was done.")
    """
    async with closing(McpCandidate(agent(suite, program))) as guest:
        turn, made = await guest.begin(BRIEF), 0
        await asyncio.sleep(1)  # it has ended meanwhile
        while turn.calls:
            made += len(turn.calls)
            turn = await guest.proceed(answers(turn))
    assert made == 3
    assert turn.message == "Nothing was done."


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who is alive")
async def test_a_call_whose_relay_is_still_starting_is_made(suite: Path) -> None:
    program = """
        desk = Desk()
        desk.ask("ping", {})
        desk.relay.kill()
        slow = ["sh", "-c", 'sleep 0.3; exec "$@"', "sh", server["command"], *server["args"]]
        said = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pay"}}
        nothing = subprocess.DEVNULL
        relay = subprocess.Popen(slow, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing)
        relay.stdin.write(json.dumps(said).encode() + b"\\n")
        relay.stdin.flush()
        print("Nothing was done.", flush=True)
        os._exit(0)
    """
    async with closing(McpCandidate(agent(suite, program))) as guest:
        turn, tools = await guest.begin(BRIEF), []
        while turn.calls:
            tools += [call.tool for call in turn.calls]
            turn = await guest.proceed(answers(turn, {"error": "denied"}, status="denied"))
    assert tools == ["pay"]
    assert turn.message == "Nothing was done."


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who is alive")
def test_a_process_in_the_middle_of_an_exec_may_become_a_relay(tmp_path: Path) -> None:
    """It has no command line for a moment, and a call that it carries would be lost."""

    def process(number: int, cmdline: bytes, program: bool) -> None:
        place = tmp_path / str(number)
        place.mkdir()
        (place / "cmdline").write_bytes(cmdline)
        if program:
            (place / "exe").symlink_to("/bin/sh")

    process(2, b"", False)  # a thread of the kernel, or one that has ended
    process(3, b"sh\0-c\0true\0", True)
    assert not relays("/attempt/mcp", str(tmp_path))
    process(4, b"", True)
    assert relays("/attempt/mcp", str(tmp_path))


async def test_names_that_clients_refuse_are_written_otherwise_and_back(suite: Path) -> None:
    program = """
        desk = Desk()
        names = [tool["name"] for tool in desk.ask("tools/list", {})["result"]["tools"]]
        desk.call(names[0])
        print(names)
    """
    tool = LOOK._replace(name="shop.look at")
    async with closing(McpCandidate(agent(suite, program))) as guest:
        turn = await guest.begin(Brief("Look.", (tool,)))
        assert [call.tool for call in turn.calls] == ["shop.look at"]
        turn = await guest.proceed(answers(turn))
    assert turn.message == "['shop_look_at']"


async def test_two_tools_of_one_name_over_mcp_are_refused(suite: Path) -> None:
    tools = (ToolSpec("a.b", "", {}), ToolSpec("a b", "", {}))
    with pytest.raises(Unrunnable, match=r"`a\.b` and `a b` would both be `a_b`"):
        await first(agent(suite, "print()"), Brief("Look.", tools))


async def test_a_batch_is_answered_as_one(suite: Path) -> None:
    program = """
        desk = Desk()
        ping = {"jsonrpc": "2.0", "id": "a", "method": "ping"}
        other = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        desk.send(json.dumps([ping, other, {**ping, "id": 2}]).encode() + b"\\n")
        print(json.dumps(desk.hear()))
    """
    told = message_of(await first(agent(suite, program)))
    assert [each["id"] for each in told] == ["a", 2]


@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("initialize", {"protocolVersion": "3000-01-01"}, "2025-11-25"),
        ("initialize", {"protocolVersion": 7}, "must be one of 2024-11-05"),
        ("initialize", {}, "must be one of 2024-11-05"),
        ("resources/list", {}, "only tools are"),
    ],
)
async def test_versions_and_methods_that_are_not_known(
    method: str, params: dict[str, Any], told: str, suite: Path
) -> None:
    program = f"print(json.dumps(Desk().ask({method!r}, {params!r})))"
    assert told in json.dumps(message_of(await first(agent(suite, program))))


async def test_a_budget_ends_an_agent_in_the_middle(suite: Path) -> None:
    program = "desk = Desk()\nwhile True: desk.call('look')"
    of = episode({"look": tool()}, budget={"max_steps": 3}, user_request=BRIEF.user_request)
    record = believed(await run_attempt(agent(suite, program, episode=of)))
    assert statuses(record) == [("look", "ok")] * 3 + [("look", "denied")]
    assert record["termination"] == "max_steps"


# HTTP ---------------------------------------------------------------------------------------------

HTTP: dict[str, Any] = {"runner": {"transport": "http", "network": True}, "network": True}
POST = """
    def post(data, path=None, **headers):
        headers = {**server["headers"], "Content-Type": "application/json", **headers}
        headers = {name.replace("_", "-"): value for name, value in headers.items() if value}
        url = server["url"] if path is None else server["url"].replace("/mcp", path)
        request = urllib.request.Request(url, data, headers)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
"""


async def test_over_http_a_token_is_asked_for(suite: Path) -> None:
    program = textwrap.dedent(POST) + textwrap.dedent("""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look"}}
        told = [
            post(ping),
            post(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'),
            post(ping, Authorization="Bearer x"),
            post(b"garbage", Authorization=None),
            post(ping, Host="evil.example"),
            post(ping, Origin="http://evil.example"),
            post(ping, path="/other"),
            post(None),
            post(json.dumps(call).encode(), MCP_Protocol_Version="1999-01-01"),
        ]
        print(json.dumps(told))
    """)
    async with closing(McpCandidate(agent(suite, program, **HTTP))) as guest:
        turn = await guest.begin(BRIEF)
        assert turn.calls == (Call("call_1", "look", {}),)
        turn = await guest.proceed(answers(turn, {"seen": True}))
    statuses, bodies = zip(*message_of(turn), strict=True)
    assert statuses == (200, 202, 401, 401, 403, 403, 404, 405, 200)
    assert json.loads(bodies[-1])["result"]["structuredContent"] == {"seen": True}


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_message_of_a_client_that_gives_up_while_it_sends_is_none(
    transport: str, suite: Path
) -> None:
    """As one does that cancels a call: it is no fault of the agent. A whole message counts."""
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}'
    if transport == "http":
        program = textwrap.dedent(POST) + textwrap.dedent(f"""
            import socket, urllib.parse
            to = urllib.parse.urlparse(server["url"])
            token = server["headers"]["Authorization"]
            post(ping)
            for body in (b"", {call[:30]}, {call}):
                head = f"Host: {{to.netloc}}\\r\\nAuthorization: {{token}}\\r\\n"
                head = "POST /mcp HTTP/1.1\\r\\n" + head + "Content-Length: 900\\r\\n\\r\\n"
                one = socket.create_connection((to.hostname, to.port))
                one.sendall(head.encode() + body)
                one.close()
            print("done")
        """)
        work = agent(suite, program, **HTTP)
    else:
        program = f"""
            Desk().ask("ping", {{}})
            for body in ({call[:30]}, {call}):
                desk = Desk()
                desk.send(body)
                desk.relay.stdin.close()
            print("done")
        """
        work = agent(suite, program)
    async with closing(McpCandidate(work)) as guest:
        turn = await guest.begin(BRIEF)
        assert turn.calls == (Call("call_1", "look", {}),)
        turn = await guest.proceed(answers(turn, {"seen": True}))
    assert turn.message == "done"


@pytest.mark.parametrize("data", ["b'garbage'", "b'x' * (9 << 20)"])
async def test_garbage_over_http_ends_the_attempt(data: str, suite: Path) -> None:
    program = textwrap.dedent(POST) + f"\npost(ping)\npost({data})\nprint('done')\n"
    said = await fault(agent(suite, program, **HTTP))
    assert said.text.startswith("MCP over HTTP, message 2: is ")


async def test_calls_over_http_that_nobody_had_accepted_at_the_end_are_made(suite: Path) -> None:
    program = """
        import signal, socket
        port = int(server["url"].split(":")[2].split("/")[0])
        said = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "pay"}}
        body = json.dumps(said)
        head = {"Host": f"127.0.0.1:{port}", "Content-Length": len(body), **server["headers"]}
        lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
        print("Nothing was done.", flush=True)
        harness = os.getppid()
        os.kill(harness, signal.SIGSTOP)
        for _ in range(5):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall("\\r\\n".join([*lines, "", body]).encode())
            connection.detach()
        if os.fork() == 0:
            time.sleep(0.3)
            os.kill(harness, signal.SIGCONT)
        os._exit(0)
    """
    async with closing(McpCandidate(agent(suite, program, **HTTP))) as guest:
        turn, tools = await guest.begin(BRIEF), []
        while turn.calls:
            tools += [call.tool for call in turn.calls]
            turn = await guest.proceed(answers(turn, {"error": "denied"}, status="denied"))
    assert tools == ["pay"] * 5
    assert turn.message == "Nothing was done."


async def test_http_wants_the_network_of_the_manifest_and_of_the_run(suite: Path) -> None:
    with pytest.raises(Unrunnable, match=r"\$\.runner\.transport: http needs `\"network\": true`"):
        check_runnable(agent(suite, "", runner={"transport": "http"}).candidate, suite)
    with pytest.raises(Unrunnable, match="reviewer run --network, or write stdio"):
        McpCandidate(agent(suite, "", **{**HTTP, "network": False}))


# agents that do not keep to it --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("print('It is mended.')", "never connected to its MCP server: give it {mcp_config}"),
        ("Desk().ask('ping', {})", "printed no final message on its standard output"),
        ("Desk().ask('ping', {}); print(' \\n ')", "printed no final message"),
        ("print('done'); sys.exit('no key: set it')", "exit status 1 before its final message: no"),
        ("os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("Desk().ask('ping', {}); print('x' * (5 << 20))", "printed more than 4 MiB"),
        ("Desk().call('look', at='x' * 100_000_000)", "connection 1, message 1: is longer than 8"),
        ("Desk().send(b'\\xff\\n'); time.sleep(60)", "connection 1, message 1: is not JSON"),
        ("Desk().send(b'[' * 100_000 + b'\\n'); time.sleep(60)", "is not JSON: "),
        ("Desk().send(b'[]\\n'); time.sleep(60)", "an empty batch"),
        ("Desk().send(b'7\\n'); time.sleep(60)", "is no message of JSON-RPC 2.0"),
        ('Desk().send(b\'{"a": 1, "a": 2}\\n\'); time.sleep(60)', "a member twice"),
        ("Desk().call('look', at=float('nan'))", "NaN is not a number"),
        ("Desk().ask(7, {})", "$.method: must be a text"),
        ("Desk().ask('tools/call', 7)", "$.params: must be an object"),
        ("Desk().ask('tools/call', {})", "call 1 over MCP: $.tool: must be the name of a tool"),
        ("Desk().call('x' * 9999)", "call 1 over MCP: $.tool: a name may have at most"),
        (
            "open(os.path.dirname(sys.argv[1]) + '/door', 'w').write('x' * 17); time.sleep(60)",
            "wrote to the relay's socket",
        ),
        ("os.kill(os.getppid(), 9)", "ended with exit status"),
    ],
)
async def test_an_agent_that_does_not_keep_to_it_fails(
    program: str, text: str, suite: Path
) -> None:
    said = await fault(agent(suite, program, runner={"timeout_s": 50}))
    assert text in said.text
    assert said.reason == "candidate_error"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process's pipes as files")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "line", ['{"type":"unstarted","message":"there is none"}', '{"type":"final","message":"Paid."}']
)
async def test_an_agent_says_nothing_in_the_name_of_its_server(
    line: str, kind: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(kind, monkeypatch)
    program = f"""
        Desk().ask("ping", {{}})
        for number in range(20):
            try:
                with open(f"/proc/{{os.getppid()}}/fd/{{number}}", "wb", buffering=0) as pipe:
                    pipe.write({(line + chr(10)).encode()!r})
            except OSError:
                continue
        print("Nothing was done.")
    """
    assert (await first(agent(suite, program))).message == "Nothing was done."


@pytest.mark.parametrize("program", ["time.sleep(60)", "Desk().ask('ping', {}); time.sleep(60)"])
async def test_an_agent_that_never_ends_is_cut_off(program: str, suite: Path) -> None:
    said = await fault(agent(suite, program, runner={"timeout_s": 2}))
    assert said.reason == "candidate_timeout"
    assert "neither called a tool nor ended within 2 s (`timeout_s`" in said.text


async def test_an_agent_that_dies_in_a_call_has_made_it(suite: Path) -> None:
    program = """
        said = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look"}}
        Desk().send(json.dumps(said).encode() + b"\\n")
        sys.exit("it fell over")
    """
    async with closing(McpCandidate(agent(suite, program))) as guest:
        turn = await guest.begin(BRIEF)
        assert [call.tool for call in turn.calls] == ["look"]
        with pytest.raises(CandidateFault, match=r"exit status 1 .*: it fell over"):
            await guest.proceed(answers(turn))


async def test_arguments_that_are_no_object_are_an_error_of_the_call(suite: Path) -> None:
    program = "Desk().ask('tools/call', {'name': 'look', 'arguments': [1]})"
    (call,) = (await first(agent(suite, program))).calls
    assert call == Call("call_1", "look", {}, "must be an object, not a list")


UNREADABLE = [
    ("[" * 900 + "]" * 900, "nested more than 60 deep"),
    ("[" * 64 + "]" * 64, "nested more than 60 deep"),
    ("1e999", "a number is not finite"),
    ("9" * 30, "an integer is beyond 9007199254740991 (2^53-1)"),
    (r'"\ud800"', "half of a surrogate pair is not text"),
    (r'{"\ud800": 1}', "half of a surrogate pair is not text"),
]


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_call_with_arguments_that_cannot_be_read_was_attempted(
    transport: str, suite: Path
) -> None:
    """Else an agent could try what is forbidden, go on, and pass."""
    calls = [
        f'{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"look","arguments":'
        f'{{"at":{written}}}}}}}\n'.encode()
        for written, _ in UNREADABLE
    ]
    if transport == "http":
        program = textwrap.dedent(POST) + f"\nfor call in {calls}:\n    post(call)\nprint('done')\n"
        work = agent(suite, program, **HTTP)
    else:
        program = f"desk = Desk()\nfor call in {calls}:\n    desk.send(call)\n    desk.hear()\n"
        work = agent(suite, program + "print('done')\n")
    async with closing(McpCandidate(work)) as guest:
        turn = await guest.begin(BRIEF)
        for number, (_, problem) in enumerate(UNREADABLE, 1):
            assert turn.calls == (Call(f"call_{number}", "look", {}, problem),)
            turn = await guest.proceed(answers(turn, {"error": "denied"}, status="denied"))
    assert turn.message == "done"


# what it prints -----------------------------------------------------------------------------------

PATHS: dict[str, Any] = {
    "message": "/result",
    "input_tokens": ["/usage/fresh", "/usage/cached"],
    "output_tokens": ["/usage/out"],
    "cached_input_tokens": ["/usage/cached"],
}
USAGE = {"fresh": 1000, "cached": 500, "out": 100}


async def printing(suite: Path, text: str, **output: Any) -> Turn:
    program = f"Desk().ask('ping', {{}})\nprint({text!r})"
    return await first(agent(suite, program, runner={"output": output}, prices=PRICES))


async def test_the_last_line_is_the_message_where_the_manifest_says_so(suite: Path) -> None:
    assert (await printing(suite, "thinking\n It is mended. \n", form="line")).message == (
        "It is mended."
    )


@pytest.mark.parametrize("form", ["json", "jsonl"])
async def test_tokens_in_its_output_are_the_cost_of_the_attempt(form: str, suite: Path) -> None:
    told = [{"result": "It is mended.", "usage": USAGE}]
    if form == "jsonl":
        told = [{"result": "Looking."}, {"result": "It is mended."}, {"usage": USAGE}]
    turn = await printing(suite, "\n".join(map(json.dumps, told)), form=form, **PATHS)
    assert turn.message == "It is mended."
    assert turn.total is not None
    assert tuple(turn.total) == (1500, 100, 500)
    assert turn.total_usd == pytest.approx(0.004)


@pytest.mark.parametrize(
    "usage",
    [{}, {"fresh": 1000, "out": 100}, {**USAGE, "out": -1}, {**USAGE, "out": "9"}, None],
)
async def test_tokens_that_are_not_told_are_no_cost(usage: Any, suite: Path) -> None:
    text = json.dumps({"result": "done", "usage": usage})
    assert (await printing(suite, text, form="json", **PATHS)).total_usd is None
    twice = "\n".join([json.dumps({"result": "done", "usage": USAGE})] * 2)
    assert (await printing(suite, twice, form="jsonl", **PATHS)).total_usd is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no JSON", "its output: $"),
        ('{"result": 7}', "its output has no text at /result, which `output.message`"),
        ('{"result": "a", "result": "b"}', "its output: $.result"),
    ],
)
async def test_output_that_is_not_as_the_manifest_says_fails(
    text: str, said: str, suite: Path
) -> None:
    with pytest.raises(CandidateFault) as caught:
        await printing(suite, text, form="json", **PATHS)
    assert said in caught.value.text


LINES = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([b'{"type":"fault"}', b'{"type":"fault","message":7}', b'{"type":"unstarted"']),
    st.builds(
        lambda kind, message: json.dumps(
            {"type": kind, "message": message}, separators=(",", ":")
        ).encode(),
        st.sampled_from(["fault", "unstarted", "final", "say", "x"]),
        st.none() | st.text(max_size=20),
    ),
)


@given(st.lists(LINES, max_size=4), st.sampled_from(["text", "line", "json", "jsonl"]))
def test_whatever_comes_from_its_process_is_a_turn_or_a_fault(said: list[bytes], form: str) -> None:
    lines = WireLines({"form": form, **PATHS})
    for line in said:
        try:
            assert isinstance(lines.read(line), Turn)
        except (CandidateFault, Unrunnable):
            continue


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda part: (
        st.lists(part, max_size=3)
        | st.dictionaries(st.sampled_from(["result", "usage", "fresh", "cached", "out"]), part)
    ),
    max_leaves=12,
)


@given(st.lists(JSON.map(json.dumps) | st.text(max_size=9), max_size=3))
def test_tokens_are_counts_that_were_told_or_nothing(said: list[str]) -> None:
    for form in ("json", "jsonl"):
        try:
            message, total = printed("\n".join(said), {"form": form, **PATHS})
        except CandidateFault:
            continue
        assert message.strip()
        assert total is None or all(count is None or count >= 0 for count in total)
        assert total is None or total.cached_input_tokens is not None or total.input_tokens is None


# what cannot be run -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["reviewer-no-such-program"], "there is no program `reviewer-no-such-program` on PATH"),
        ([sys.executable, "{mcp_url}"], "`{mcp_url}` is not known with the transport stdio; known"),
        ([sys.executable, "--c={mcp_cfg}"], "`{mcp_cfg}` is not known"),
        # The agent of another attempt could read it there, and make calls in this one.
        ([sys.executable, "--t={mcp_token}"], "would show the token to other programs"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused(
    command: list[str], said: str, suite: Path
) -> None:
    with pytest.raises(Unrunnable) as caught:
        check_runnable(agent(suite, "", runner={"command": command}).candidate, suite)
    assert said in str(caught.value)
    assert "guest.json: $.runner.command" in str(caught.value)


@pytest.mark.parametrize(
    ("runner", "said"),
    [
        ({}, "$.runner: a mcp runner needs `command`"),
        ({"transport": "sse"}, "$.runner.transport"),
        ({"output": {"form": "json"}}, "$.runner.output: the form json needs `message`"),
        ({"output": {"message": "/x"}}, "$.runner.output: the form text has no places"),
        ({"output": {"form": "json", "message": "x"}}, "$.runner.output.message"),
        ({"output": {"form": "yaml"}}, "$.runner.output.form"),
        ({"output": {"cost": "/cost"}}, "$.runner.output.cost"),
    ],
)
def test_a_manifest_that_says_it_wrongly_is_refused(runner: dict[str, Any], said: str) -> None:
    command = {"command": ["agent"]} if runner else {}
    manifest = {
        "schema": "reviewer/candidate@1",
        "candidate_id": "guest",
        "runner": {"kind": "mcp", **command, **runner},
    }
    with pytest.raises(ContractError) as caught:
        read_candidate(json.dumps(manifest).encode())
    assert said in str(caught.value)


async def test_a_program_that_is_none_stops_the_run(suite: Path) -> None:
    written(suite / "candidates" / "odd", "no program", executable=True)
    with pytest.raises(Unrunnable, match="its agent cannot be started"):
        await first(agent(suite, "", runner={"command": ["./odd"]}))


async def test_a_request_that_no_argument_can_be_is_refused(suite: Path) -> None:
    work = agent(suite, "", runner={"command": [sys.executable, "{request}"]})
    with pytest.raises(Unrunnable, match=r"leave out `\{request\}`"):
        await first(work, Brief("x" * 200_000, (LOOK,)))
