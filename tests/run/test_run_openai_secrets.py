"""What leaves this program, and what of it may come back: the key, and nothing of the contract."""

import hashlib
import logging
import pickle
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
from openai_server import (
    BRIEF,
    KEY,
    KEY_ENV,
    LOOKUP,
    REQUEST,
    Patience,
    Server,
    answer,
    chat,
    chat_call,
    environment,
    error,
    item_call,
    responses,
    said,
    serving,
    task_for,
)

from reviewer.running.candidates.openai import OpenAIChat, OpenAIResponses
from reviewer.running.model import Brief, Observation, Task, ToolSpec, Turn, Unrunnable
from reviewer.suite.model import Budget, Episode, Expected, Tools

HIDDEN = "HIDDEN-"
ADAPTERS = {"openai-chat": OpenAIChat, "openai-responses": OpenAIResponses}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch)


async def played(task: Task, observed: Any = "ok") -> list[Turn]:
    """All turns of an attempt in which every call is answered the same."""
    adapter = ADAPTERS[task.candidate.runner["kind"]](task, Patience().pace(tries=2))
    try:
        turns = [await adapter.begin(BRIEF)]
        while turns[-1].calls:
            seen = [Observation(c.call_id, c.tool, "ok", observed) for c in turns[-1].calls]
            turns.append(await adapter.proceed(seen))
    finally:
        await adapter.close()
    return turns


def secretive_episode() -> Episode:
    return Episode(
        episode_id=HIDDEN + "episode",
        title=HIDDEN + "title",
        user_request=REQUEST,
        initial_state={"order": HIDDEN + "state"},
        tools=Tools(
            allowed=("lookup_order",),
            required=(HIDDEN + "required",),
            forbidden=(HIDDEN + "forbidden",),
            approvals=(HIDDEN + "approval",),
        ),
        expected=Expected(final_state=HIDDEN + "end", message_contains=(HIDDEN + "words",)),
        budget=Budget(max_steps=918273, max_cost_usd=918273.5),
        critical=(HIDDEN + "critical",),
        tags=(HIDDEN + "tag",),
        simulator={"tools": {HIDDEN + "tool": {}}},
    )


@pytest.mark.parametrize("kind", ADAPTERS)
async def test_every_byte_sent_is_the_request_the_prompts_the_tools_or_an_observation(
    kind: str, tmp_path: Path
) -> None:
    prompt = "You are a lamp agent.\n"
    (tmp_path / "system.md").write_text(prompt)
    script = {
        "openai-chat": [chat(None, [chat_call('{"order": "A"}')]), chat("Done.")],
        "openai-responses": [responses(item_call('{"order": "A"}')), responses(said("Done."))],
    }[kind]
    async with serving(*map(answer, script)) as server:
        digest = sha256_of(tmp_path / "system.md")
        prompts = ({"name": "system", "path": "system.md", "sha256": digest},)
        task = task_for(server, kind, folder=tmp_path, prompts=prompts, agent=HIDDEN + "agent")
        slot = task.slot._replace(attempt=918273, episode_id=HIDDEN + "episode")
        await played(replaced(task, episode=secretive_episode(), slot=slot), {"order": "OBSERVED"})
    first, second = server.requests
    told = {
        "model": "support-large",
        "system": prompt,
        "request": REQUEST,
        "tool": LOOKUP,
        "observed": '{"order":"OBSERVED"}',
    }
    assert [first.body, second.body] == expected_bodies(kind, told, script[0])
    for request in server.requests:
        assert HIDDEN.encode() not in request.raw
        assert b"918273" not in request.raw
        assert set(request.headers) == {
            *("host", "content-type", "content-length", "authorization", "connection"),
            *("accept", "accept-encoding", "user-agent"),
        }


def expected_bodies(kind: str, told: dict[str, Any], first: dict[str, Any]) -> list[Any]:
    """The whole of both requests, written out."""
    start = [
        {"role": "system", "content": told["system"]},
        {"role": "user", "content": told["request"]},
    ]
    tool = told["tool"]._asdict()
    if kind == "openai-chat":
        common = {"model": told["model"], "tools": [{"type": "function", "function": tool}]}
        result = {"role": "tool", "tool_call_id": "call_a", "content": told["observed"]}
        made = first["choices"][0]["message"]
        return [{**common, "messages": m} for m in (start, [*start, made, result])]
    common = {
        "model": told["model"],
        "tools": [{"type": "function", **tool, "strict": False}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    output = {"type": "function_call_output", "call_id": "call_a", "output": told["observed"]}
    return [{**common, "input": i} for i in (start, [*start, *first["output"], output])]


def replaced(task: Task, **members: Any) -> Task:
    names = task.__struct_fields__
    return Task(**({name: getattr(task, name) for name in names} | members))


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def test_two_briefs_send_the_tools_they_name_and_no_others() -> None:
    other = ToolSpec("open_case", "Opens a case.", {"type": "object"})
    for tools in ((LOOKUP,), (LOOKUP, other), (other,)):
        async with serving(answer(chat())) as server:
            adapter = OpenAIChat(task_for(server))
            await adapter.begin(Brief(REQUEST, tools))
            await adapter.close()
        sent = [tool["function"]["name"] for tool in server.bodies[0]["tools"]]
        assert sent == [tool.name for tool in tools]


# the key ------------------------------------------------------------------------------------------

ECHOES = {
    "message": [answer(chat(f"Your key is {KEY}."))],
    "refusal": [answer(chat(None, refusal=f"{KEY}?"))],
    "arguments": [answer(chat(None, [chat_call(f'{{"{KEY}": "{KEY}"}}')])), answer(chat())],
    "escaped": [
        answer(
            chat(None, [chat_call('{"a": "' + "".join(f"\\u{ord(c):04x}" for c in KEY) + '"}')])
        ),
        answer(chat()),
    ],
    "id": [answer(chat(None, [chat_call("{}", KEY)])), answer(chat())],
    "tool": [answer(chat(None, [chat_call("{}", tool=KEY)])), answer(chat())],
    "reasoning": [answer(chat(None, [chat_call("{}")], reasoning=KEY)), answer(chat())],
    "401": [answer(error(f"Incorrect API key provided: {KEY}."), 401)],
    "404": [answer(error(f"No {KEY}."), 404)],
    "400": [answer(error(f"{KEY} " * 50 + KEY), 400)],
    "400 text": [answer(f"{KEY}".encode(), 400)],
    "400 string": [answer({"error": KEY}, 400)],
    "503": [answer(error(KEY), 503)],
    "filter": [answer(error(KEY, "content_filter"), 400)],
    "error in 200": [answer(error(KEY))],
    "not JSON": [answer(KEY.encode())],
    "finish": [answer(chat(finish="length", content=KEY))],
    "header": [answer(chat(), headers=f"X-Echo: {KEY}\r\n", reason=KEY)],
    "bad header": [f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n".encode()],
    "redirect": [answer(b"", 307, f"Location: http://other/{KEY}\r\n")],
    "retry": [answer(b"", 429, f"Retry-After: {KEY}\r\n")],
    "cookie": [answer(chat(), headers=f"Set-Cookie: k={KEY}\r\n")],
}


@pytest.mark.parametrize("echo", ECHOES)
async def test_the_key_stands_in_one_header_and_nowhere_else(
    echo: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    shown = ""
    async with serving(*ECHOES[echo]) as server:
        try:
            shown = repr(await played(task_for(server), "ok"))
        except Exception as fault:
            shown = "".join(traceback.format_exception(fault)) + repr(fault)
    assert shown
    assert KEY not in shown + caplog.text
    assert_only_in_authorization(server)


def assert_only_in_authorization(server: Server) -> None:
    assert server.requests
    for request in server.requests:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.raw.count(KEY.encode()) == 1


async def test_the_responses_api_keeps_the_key_to_itself_too() -> None:
    script = [responses(said(KEY), item_call(f'{{"a": "{KEY}"}}', KEY)), responses(said("Done."))]
    async with serving(*map(answer, script)) as server:
        turns = await played(task_for(server, "openai-responses"), "ok")
    assert KEY not in repr(turns)
    assert turns[0].message == "[secret]"
    assert turns[0].calls[0].arguments == {"a": "[secret]"}
    assert_only_in_authorization(server)


async def test_a_placeholder_for_a_key_is_not_looked_for_in_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(KEY_ENV, "test")
    async with serving(answer(chat("A test was made."))) as server:
        (turn,) = await played(task_for(server))
    assert turn.message == "A test was made."


async def test_nothing_that_holds_the_key_shows_it_or_can_be_pickled() -> None:
    adapter = OpenAIChat(task_for("http://127.0.0.1:1/v1"))
    held = vars(adapter)
    assert KEY not in repr(adapter) + repr(held) + str(held)
    with pytest.raises(TypeError, match="does not leave its process"):
        pickle.dumps(held["_settings"])
    await adapter.close()


async def test_an_identifier_in_a_providers_error_is_masked() -> None:
    refusal = answer(error("Cannot take jane.roe@example.com here"), 404)
    async with serving(refusal) as server:
        with pytest.raises(Unrunnable) as caught:
            await played(task_for(server))
    assert "Cannot take [REDACTED:email] here" in str(caught.value)


# other addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(status: int) -> None:
    async with serving(answer(chat())) as there:
        moved = answer(b"", status, f"Location: {there.url}/x?session=1\r\n")
        async with serving(moved) as server:
            with pytest.raises(Unrunnable) as caught:
                await played(task_for(server))
    assert there.requests == []
    assert len(server.requests) == 1
    assert f"redirects to `{there.url}/x`;" in str(caught.value)


async def test_no_cookie_is_kept() -> None:
    cookie = answer(chat(None, [chat_call("{}")]), headers="Set-Cookie: attempt=1; Path=/\r\n")
    async with serving(cookie, answer(chat()), answer(chat())) as server:
        await played(task_for(server))
        await played(task_for(server))
    assert len(server.requests) == 3
    assert all("cookie" not in request.headers for request in server.requests)


PROBE = """
import sys
from reviewer.suite.candidate import Candidate
from pathlib import Path
from reviewer.running.candidates import check_runnable
for kind in ("openai-chat", "openai-responses"):
    runner = {"kind": kind, "base_url": "http://127.0.0.1:1/v1"}
    candidate = Candidate(candidate_id="a", digest="0" * 64, model="m", runner=runner)
    check_runnable(candidate, Path())
print("httpx" in sys.modules)
"""


def test_httpx_is_loaded_by_the_first_request_and_not_before() -> None:
    said = subprocess.check_output([sys.executable, "-P", "-c", PROBE], text=True)
    assert said.split() == ["False"]
