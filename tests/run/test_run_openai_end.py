"""How an attempt lets go of its provider, and that attempts do not mix."""

import asyncio

import pytest
from openai_server import (
    BRIEF,
    Hang,
    Patience,
    Server,
    answer,
    asked,
    chat,
    chat_call,
    environment,
    serving,
    task_for,
)

from reviewer.running.candidates import openai_http
from reviewer.running.candidates.openai import OpenAIChat
from reviewer.running.candidates.openai_http import Pace
from reviewer.running.model import (
    Infrastructure,
    Observation,
)

GOOD = answer(chat("Whole."))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch)


async def test_close_ends_a_request_in_flight() -> None:
    async with serving(Hang()) as server:
        adapter = OpenAIChat(task_for(server))
        begun = asyncio.create_task(adapter.begin(BRIEF))
        await asyncio.wait_for(server.hanging.wait(), 60)
        await adapter.close()
        with pytest.raises(Infrastructure, match="was ended"):
            await begun
        await asyncio.wait_for(server.gone_away.wait(), 60)
        await adapter.close()
        with pytest.raises(Infrastructure, match="was ended"):
            await adapter.begin(BRIEF)
    assert len(server.requests) == 1


async def test_a_cancelled_attempt_takes_its_request_along() -> None:
    async with serving(Hang()) as server:
        adapter = OpenAIChat(task_for(server))
        begun = asyncio.create_task(adapter.begin(BRIEF))
        await asyncio.wait_for(server.hanging.wait(), 60)
        begun.cancel()
        await adapter.close()
        with pytest.raises(asyncio.CancelledError):
            await begun
        await asyncio.wait_for(server.gone_away.wait(), 60)


async def test_close_ends_a_wait_between_tries() -> None:
    asleep = asyncio.Event()

    async def forever(seconds: float) -> None:
        asleep.set()
        await asyncio.Event().wait()

    async with serving(answer(b"", 503)) as server:
        adapter = OpenAIChat(task_for(server), Pace(sleep=forever))
        begun = asyncio.create_task(adapter.begin(BRIEF))
        await asyncio.wait_for(asleep.wait(), 60)
        await adapter.close()
        with pytest.raises(Infrastructure, match="was ended"):
            await begun


async def test_attempts_share_connections_while_one_of_them_lives() -> None:
    calls = answer(chat(None, [chat_call("{}")]))
    async with serving(*[calls] * 2, GOOD) as server:
        first, second = (OpenAIChat(task_for(server)) for _ in range(2))
        (call,) = (await first.begin(BRIEF)).calls
        await second.begin(BRIEF)
        await second.close()
        await first.proceed([Observation(call.call_id, call.tool, "ok", "ok")])
        await first.close()
        assert server.connections == 1
        await server.left()
        await asked(server, Patience())
        assert server.connections == 2


async def test_a_run_keeps_connections_and_has_no_more_than_attempts_at_a_time() -> None:
    async with serving(GOOD) as server:
        async with openai_http.kept_connections():
            for _ in range(3):
                await asyncio.gather(*(asked(server, Patience()) for _ in range(4)))
                assert server.connections == 4
        await server.left()


def test_each_event_loop_has_its_own_client() -> None:
    async def one() -> str | None:
        async with serving(GOOD) as server:
            return (await asked(server, Patience())).message

    assert [asyncio.run(one()) for _ in range(3)] == ["Whole."] * 3
    assert len(openai_http._loops) <= 1 + sum(not loop.is_closed() for loop in openai_http._loops)


async def test_many_attempts_at_once_do_not_mix() -> None:
    async def attempt(server: Server, number: int) -> None:
        adapter = OpenAIChat(task_for(server, model=f"model-{number}"))
        await adapter.begin(BRIEF._replace(user_request=f"request {number}"))
        await adapter.close()

    async with serving(GOOD) as server:
        await asyncio.gather(*(attempt(server, number) for number in range(40)))
    pairs = {(body["model"], body["messages"][0]["content"]) for body in server.bodies}
    assert pairs == {(f"model-{n}", f"request {n}") for n in range(40)}
    assert all(len(body["messages"]) == 1 for body in server.bodies)
    assert len(server.bodies) == 40
