"""Tries, waiting, limits and the end: what happens between a request and a good answer."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai_server import (
    Hang,
    Patience,
    answer,
    asked,
    chat,
    ending,
    environment,
    error,
    serving,
)

from reviewer.running.candidates import openai_http
from reviewer.running.candidates.openai_http import Pace
from reviewer.running.model import (
    CandidateFault,
    Infrastructure,
    Turn,
    Unrunnable,
)

GOOD = answer(chat("Whole."))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch)


# what is tried again ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        *(answer(error("Oh."), status) for status in (408, 409, 425, 429, 500, 502, 503, 504)),
        answer(b"<html>bad gateway</html>", 502),
        answer(b'{"choices": ['),
        answer(b""),
        answer(b"", 204, reason="No Content", length=0),
        answer(chat(), length=4000),
        b"Connection: close\r\n\r\n",
        answer(error("Provider returned error", 502)),
        answer(error("Try later")),
        answer({"error": "overloaded"}),
        answer(chat(), headers="Content-Encoding: br\r\n"),
    ],
)
async def test_a_bad_answer_is_followed_by_another_try(bad: bytes) -> None:
    patience = Patience()
    async with serving(bad, GOOD) as server:
        assert (await asked(server, patience)).message == "Whole."
    assert len(server.requests) == 2
    assert patience.slept == [0.25]
    assert server.bodies[0] == server.bodies[1]


@pytest.mark.parametrize("beginning", [b"", answer(chat(), length=9000)])
async def test_a_hanging_server_is_left_after_the_timeout(beginning: bytes) -> None:
    async with serving(Hang(beginning), GOOD) as server:
        async with asyncio.timeout(60):
            turn = await asked(server, Patience(), runner={"timeout_s": 0.5})
        assert turn.message == "Whole."
        await asyncio.wait_for(server.gone_away.wait(), 60)
    fault, server, _ = await ending([Hang()], {"tries": 2}, runner={"timeout_s": 0.02})
    assert "was asked 2 times: no whole answer came within 0.02 s" in str(fault)


async def test_a_server_that_is_not_there_is_infrastructure() -> None:
    async with serving(GOOD) as server:
        pass
    patience = Patience()
    with pytest.raises(Infrastructure, match=r"was asked 3 times: the connection failed: Connect"):
        await asked(server, patience, {"tries": 3})


async def test_waits_double_up_to_a_limit_and_tries_are_numbered() -> None:
    fault, server, patience = await ending(
        [answer(error("Busy."), 503)], {"tries": 7, "longest_backoff_s": 4.0}
    )
    assert isinstance(fault, Infrastructure)
    assert str(fault).endswith("was asked 7 times: it answered 503 (Busy.)")
    assert len(server.requests) == 7
    assert patience.slept == [0.25, 0.5, 1.0, 2.0, 2.0, 2.0]


async def test_the_time_of_all_tries_is_bounded() -> None:
    fault, _, patience = await ending(
        [answer(error("Busy."), 503, "Retry-After: 40\r\n")], {"tries": 50, "total_s": 100.0}
    )
    assert "was asked 3 times" in str(fault)
    assert patience.waited == pytest.approx(80)


@given(
    tried=st.integers(1, 40),
    draw=st.floats(0, 1, exclude_max=True),
    first=st.floats(0.01, 10),
    longest=st.floats(0.01, 100),
)
def test_jitter_never_waits_less_than_half_or_more_than_all(
    tried: int, draw: float, first: float, longest: float
) -> None:
    pace = Pace(first_wait_s=first, longest_backoff_s=longest, draw=lambda: draw)
    whole = min(longest, first * 2 ** (tried - 1))
    assert whole / 2 <= pace.backoff_s(tried) <= whole


# what is not --------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 402, 413, 422, 300, 418])
async def test_a_request_the_provider_will_not_take_is_infrastructure_at_once(status: int) -> None:
    fault, server, _ = await ending([answer(error("tools[0]: bad\nschema"), status)])
    assert isinstance(fault, Infrastructure)
    assert f"refused the request ({status}) (tools[0]: bad␊schema)" in str(fault)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "OPENAI_TEST_KEY"), (403, "OPENAI_TEST_KEY"), (404, "correct `model` or")],
)
async def test_a_wrong_key_model_or_address_ends_the_run(status: int, words: str) -> None:
    for bad in (answer(error("No."), status), answer(error("No.", status))):
        fault, server, _ = await ending([bad])
        assert isinstance(fault, Unrunnable)
        assert words in str(fault)
        assert len(server.requests) == 1


async def test_a_server_that_wants_a_key_nobody_named_says_where_to_name_it() -> None:
    fault, server, _ = await ending([answer(b"", 401)], runner={"api_key_env": None})
    assert "`runner.api_key_env`" in str(fault)
    assert "authorization" not in server.requests[0].headers


async def test_an_empty_account_ends_the_run() -> None:
    fault, server, _ = await ending([answer(error("Quota.", "insufficient_quota"), 429)])
    assert isinstance(fault, Unrunnable)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "reason"),
    [("content_filter", "content_filter"), ("context_length_exceeded", "context_length")],
)
async def test_a_refusal_by_what_the_candidate_did_is_the_candidates(
    code: str, reason: str
) -> None:
    fault, _, _ = await ending([answer(error("No.", code), 400)])
    assert isinstance(fault, CandidateFault)
    assert fault.reason == reason


@pytest.mark.parametrize(
    "body",
    [
        b"<html>\x1b[2Jno</html>",
        {"detail": "no"},
        {"object": "error", "message": "no"},
        [{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}],
        {"error": None},
        {"error": [1]},
        7,
        {"error": {"message": "no\x1b[2J" * 100_000}},
    ],
)
async def test_any_body_of_a_refusal_makes_a_short_safe_text(body: Any) -> None:
    fault, _, _ = await ending([answer(body, 400)])
    assert "refused the request (400)" in str(fault)
    assert "\x1b" not in str(fault)
    assert len(str(fault)) < 700


async def test_an_answer_too_large_to_be_one_is_not_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openai_http, "MAX_ANSWER", 50_000)
    fault, server, _ = await ending([answer(b" " * 60_000 + b"{}")])
    assert "an answer of over 50,000 bytes" in str(fault)
    assert len(server.requests) == 1
    async with serving(answer(b" " * 40_000 + b'{"choices":[{"message":{}}]}')) as server:
        assert await asked(server, Patience()) == Turn(last=False)
