"""A tau2-bench airline task from its file to a scorecard: a chat candidate and a model that plays
the user, both behind an endpoint on localhost."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from doors import Door

DATA = Path(__file__).resolve().parents[1] / "data/tau2"
RUN = DATA.parent / "suite_sources/tau2/airline_2_tasks.json"
SUITE = "tau2-airline-v1"

Say = str | tuple[str, dict[str, Any]]
"""A message, or a call."""

READ = ("get_reservation_details", {"reservation_id": "1N99U6"})
SEARCH = ("search_direct_flight", {"origin": "LAS", "destination": "IAH", "date": "2024-05-19"})
CHANGE = (
    "update_reservation_flights",
    {
        "reservation_id": "1N99U6",
        "cabin": "economy",
        "flights": [
            {"flight_number": "HAT266", "date": "2024-05-19"},
            {"flight_number": "HAT112", "date": "2024-05-27"},
        ],
        "payment_id": "gift_card_5634230",
    },
)
WRONG = ("cancel_reservation", {"reservation_id": "3FRNFB"})
"""A write that another task's simulation made: recorded, and not what this task wants."""

AGENTS: dict[str, list[Say]] = {
    "reference": ["Which reservation?", READ, SEARCH, CHANGE, "It is changed."],
    "idle": ["Which reservation?", "I am sorry, I cannot help with that."],
    "wrong": ["Which reservation?", READ, SEARCH, WRONG, CHANGE, "It is changed."],
    "wrong-only": ["Which reservation?", READ, SEARCH, WRONG, "It is changed."],
    "explorer": ["Which reservation?", ("get_user_details", {"user_id": "nobody_1"}), "Hm."],
}


def user_says(messages: list[dict[str, Any]]) -> Say:
    """Play James Taylor, who wants another flight, and ends once he has heard twice."""
    heard = [one for one in messages if one["role"] == "user"]
    if not heard:
        return "Hi, I want to change my flight."
    if len(heard) == 1:
        return "I am james_taylor_7043, it is 1N99U6."
    return ("end_conversation", {"reason": "done"})


class Endpoint:
    """`sent` has every request by model."""

    def __init__(self) -> None:
        self.sent: dict[str, list[dict[str, Any]]] = {}
        self.port = 0

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        model, messages = body["model"], body["messages"]
        self.sent.setdefault(model, []).append(body)
        if model == "user":
            said = user_says(messages)
        else:
            turns = sum(one["role"] == "assistant" for one in messages)
            said = AGENTS[model][turns]
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if isinstance(said, str):
            message["content"] = said
        else:
            function = {"name": said[0], "arguments": json.dumps(said[1])}
            message["tool_calls"] = [
                {"id": f"c{len(messages)}", "type": "function", "function": function}
            ]
        return {
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }


@contextlib.contextmanager
def serving() -> Iterator[Endpoint]:
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(endpoint.reply(body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as found:
        yield found


def made(door: Door, endpoint: Endpoint, *options: object) -> None:
    url = f"http://127.0.0.1:{endpoint.port}/v1"
    user = ("--user-model", "user", "--user-base-url", url)
    door.ok("suite", "from-tau2", RUN, *user, *options)
    prompt = door.file("prompt.md", "You are an airline's agent.")
    for name in AGENTS:
        door.ok(
            "candidate", "new", SUITE, name, "--kind", "openai-chat", "--model", name,
            "--base-url", url, "--prompt", prompt,
        )  # fmt: skip


def outcome(door: Door, name: str) -> tuple[object, ...]:
    """Run a candidate once; return how episode 30 came out, and the codes of its failures."""
    door.ok("run", SUITE, name, "--attempts", "1")
    trace = f"{SUITE}/{name}/30/1"
    row = door.rows("SELECT passed, termination FROM traces WHERE trace_id=?", trace)
    return (*row[0], door.codes(trace))


def test_what_an_agent_does_in_the_recorded_world_decides(door: Door, endpoint: Endpoint) -> None:
    made(door, endpoint, "--recorded", RUN)
    door.ok("suite", "freeze", SUITE)
    found = {name: outcome(door, name) for name in AGENTS}
    assert found == {
        "reference": (1, "user_stop", []),
        "idle": (
            0,
            "user_stop",
            [
                "wrong_state:database",
                "missing:get_reservation_details",
                "missing:search_direct_flight",
                "missing:update_reservation_flights",
            ],
        ),
        "wrong-only": (
            0, "user_stop", ["wrong_state:database", "missing:update_reservation_flights"]
        ),
        # What the tools say after a write that nobody made before is not known.
        "wrong": (None, "world_gap", ["terminated:world_gap"]),
        "explorer": (None, "world_gap", ["terminated:world_gap"]),
    }  # fmt: skip
    card = door.run("scorecard", "--plain", "--suite", SUITE, "--candidate", "reference")
    assert [line for line in card.out.splitlines() if "30" in line and "pass" in line], card
    door.healthy()


def test_the_agent_reads_no_order_of_the_user_and_the_user_no_tool(
    door: Door, endpoint: Endpoint
) -> None:
    made(door, endpoint, "--recorded", RUN)
    door.ok("suite", "freeze", SUITE)
    outcome(door, "reference")
    (task,) = [one for one in json.loads(RUN.read_bytes())["tasks"] if one["id"] == "30"]
    orders = task["user_scenario"]["instructions"]["task_instructions"].split("\n")[0]
    agent, user = (json.dumps(endpoint.sent[name]) for name in ("reference", "user"))
    assert orders in user
    assert orders not in agent
    assert "search_direct_flight" in agent
    assert "search_direct_flight" not in user


def test_a_world_needs_simulations_of_the_tasks(door: Door) -> None:
    tasks = DATA / "airline_5_tasks.json"
    said = door.run("suite", "from-tau2", tasks, "--recorded", tasks)
    assert said.code == 20
    assert "no simulation in it" in said.err
    assert not (door.root / "suites" / SUITE).exists()
    said = door.run("suite", "from-tau2", DATA / "mock_tasks.json", "--recorded", RUN)
    assert said.code == 2
    assert "--domain" in said.err


def test_simulations_of_which_none_can_be_used_say_why(door: Door) -> None:
    """Those of telecom: their users make calls, and they start from states of their own."""
    run = json.loads(RUN.read_bytes())
    for one in run["simulations"]:
        one["messages"].append({"role": "user", "tool_calls": [{"id": "u", "name": "look"}]})
    file = door.file("phones.json", json.dumps(run))
    said = door.run("suite", "from-tau2", file, "--recorded", file, "--domain", "airline")
    assert said.code == 20
    assert "each of 2 has another start, calls of users, or no messages" in said.err
    assert "without --recorded, the suite checks imported traces" in said.err


def test_answers_that_were_cut_off_are_gaps(door: Door) -> None:
    run = DATA / "airline_4_tasks.json"
    said = door.run("suite", "from-tau2", run, "--recorded", run)
    assert said.code == 20
    assert "left out: tasks[2] (30): its reference trajectory calls get_reservation_details" in (
        said.out
    )
