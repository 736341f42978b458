"""How long requests wait, and what tries cost: Retry-After, requests per minute, usage."""

import asyncio
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from openai_server import (
    BRIEF,
    Patience,
    answer,
    asked,
    chat,
    ending,
    environment,
    error,
    serving,
    task_for,
)

from reviewer.running.candidates.openai import OpenAIChat
from reviewer.running.candidates.openai_http import HostGate
from reviewer.running.model import Infrastructure
from reviewer.running.prices import Usage

GOOD = answer(chat("Whole."))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch)


# Retry-After --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "waited"),
    [
        ("7", 7.0),
        ("1.5", 1.5),
        ("0", 0.25),
        (format_datetime(datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC), usegmt=True), 30.0),
        (format_datetime(datetime(2025, 1, 1, tzinfo=UTC), usegmt=True), 0.25),
        ("-4", 0.25),
        ("nan", 0.25),
        ("soon", 0.25),
    ],
)
async def test_a_provider_says_how_long_to_wait(header: str, waited: float) -> None:
    patience = Patience()
    async with serving(answer(error("Slow."), 429, f"Retry-After: {header}\r\n"), GOOD) as server:
        assert (await asked(server, patience)).message == "Whole."
    assert patience.waited == pytest.approx(waited)


@pytest.mark.parametrize("header", ["3600", "1e999", "Fri, 01 Jan 2027 00:00:00 GMT"])
async def test_a_wait_beyond_the_limit_is_not_waited(header: str) -> None:
    fault, server, patience = await ending(
        [answer(error("Slow."), 429, f"Retry-After: {header}\r\n")]
    )
    assert isinstance(fault, Infrastructure)
    assert "longer than the 120 s a run waits" in str(fault)
    assert (len(server.requests), patience.slept) == (1, [])


async def test_one_attempts_429_holds_back_every_attempt_on_that_host() -> None:
    patience = Patience()
    busy = answer(error("Slow."), 429, "Retry-After: 20\r\n")
    async with serving(busy, GOOD) as server, serving(GOOD) as elsewhere:
        first = OpenAIChat(task_for(server), patience.pace(tries=1))
        with pytest.raises(Infrastructure):
            await first.begin(BRIEF)
        await asked(elsewhere, patience)
        assert patience.waited == 0
        await asked(server, patience)
        assert patience.waited == pytest.approx(20)
        await first.close()


# requests per minute ------------------------------------------------------------------------------


async def test_all_attempts_share_the_requests_of_a_minute() -> None:
    patience = Patience()
    async with serving(GOOD) as server:
        runner = {"requests_per_minute": 30}
        await asyncio.gather(*(asked(server, patience, runner=runner) for _ in range(5)))
        await asked(server, patience, runner=runner)
    assert len(server.requests) == 6
    assert patience.waited == pytest.approx(5 * 2)


async def test_a_gate_lets_out_in_order_and_as_far_apart_as_said_also_after_a_hold() -> None:
    patience, gate, left = Patience(), HostGate(), []
    pace = patience.pace()

    async def go(number: int) -> None:
        await gate.enter(3.0, pace)
        left.append((number, patience.time - 1000))

    gate.hold(10, pace)
    gate.hold(4, pace)
    await asyncio.gather(*map(go, range(4)))
    assert left == [(0, 10.0), (1, 13.0), (2, 16.0), (3, 19.0)]


# usage of tries -----------------------------------------------------------------------------------


async def test_a_failed_try_that_says_what_it_used_was_paid_for() -> None:
    used = {"prompt_tokens": 100, "completion_tokens": 10}
    prices = {"input_usd_per_million_tokens": 1.0, "output_usd_per_million_tokens": 5.0}
    script = [
        answer({"usage": used, "choices": []}),
        answer({"usage": used, "error": {"message": "Oh.", "code": 502}}),
        answer(error("Busy."), 503),
        answer(chat("Whole.", usage=used)),
    ]
    async with serving(*script) as server:
        turn = await asked(server, Patience(), prices=prices)
    assert turn.usage == Usage(300, 30)
    assert turn.cost_usd == pytest.approx(3 * 150e-6)


@pytest.mark.parametrize("usage", [None, "many", {}, {"prompt_tokens": -1}])
async def test_without_a_usage_of_the_good_answer_the_cost_is_not_known(usage: Any) -> None:
    used = {"prompt_tokens": 100, "completion_tokens": 10}
    prices = {"input_usd_per_million_tokens": 1.0, "output_usd_per_million_tokens": 5.0}
    script = [answer({"usage": used}), answer(chat("Whole.", usage=usage))]
    async with serving(*script) as server:
        assert (await asked(server, Patience(), prices=prices)).cost_usd is None
