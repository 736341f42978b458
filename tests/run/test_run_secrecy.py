"""What a candidate is told: the request, the whole toolset, the answers. Nothing else."""

import asyncio
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from doors import REPOSITORY
from msgspec import UNSET
from msgspec.structs import replace
from run_builders import Stage, call, episode, said, task, tool

from reviewer.running import attempt as attempts
from reviewer.running.attempt import run_attempt
from reviewer.running.model import Brief, Observation, Offer, Slot, Turn
from reviewer.running.offer import offer_of
from reviewer.suite.candidate import Candidate
from reviewer.suite.folder import read_suite
from reviewer.suite.model import Budget, Episode, Expected, ExpectedCall, Tools, Write
from reviewer.suite.toolset import equipped

SUITES = sorted(path.parent for path in (REPOSITORY / "suites").glob("*/suite.json"))
LOADED = {folder: read_suite(folder) for folder in SUITES}
SHIPPED = [
    pytest.param(folder, equipped(one, loaded.toolset), id=f"{folder.name}/{one.episode_id}")
    for folder, loaded in LOADED.items()
    for one in loaded.suite.episodes
    if (equipped(one, loaded.toolset).simulator or {}).get("tools")
]
MARK = "zq7marked"
NOTHING = Offer()


class Spy:
    """Keeps every byte it is told; calls every tool it is given, and some that it is not."""

    def __init__(self, more: Sequence[str] = ()) -> None:
        self.heard: list[bytes] = []
        self.more = more

    async def begin(self, brief: Brief) -> Turn:
        self.heard.append(msgspec.json.encode(brief))
        names = [spec.name for spec in brief.tools]
        calls = [call(name, **arguments) for name in names for arguments in ({}, {"x": "y"})]
        return Turn((*calls, *[call(name) for name in self.more], call("no_such_tool")))

    async def proceed(self, observations: Sequence[Observation]) -> Turn:
        self.heard.append(msgspec.json.encode(list(observations)))
        return said()

    def waited_ms(self) -> float:
        return 0.0

    async def close(self) -> None:
        self.heard.append(repr(vars(self)).encode())

    @property
    def bytes(self) -> str:
        return b"\n".join(self.heard[:-1]).decode()


def offer(folder: Path) -> Offer:
    return offer_of(LOADED[folder].suite.episodes, LOADED[folder].toolset)


def overheard(
    monkeypatch: pytest.MonkeyPatch, of: Episode, offer: Offer = NOTHING, **spying: Any
) -> Spy:
    spy = Spy(**spying)
    monkeypatch.setattr(attempts, "adapter_for", lambda task: spy)
    by = Candidate(candidate_id=MARK, digest=MARK)
    one = task(of, folder=f"suites/{MARK}", candidate=by, offer=offer)
    slot = Slot(f"{MARK}-suite", MARK, of.episode_id, 987654321)
    asyncio.run(run_attempt(replace(one, slot=slot)))
    return spy


def test_every_shipped_suite_with_simulated_tools_is_looked_at() -> None:
    assert {"refund-eval-v5"} <= {param.values[0].name for param in SHIPPED}


def marked(of: Episode) -> Episode:
    """The episode with all that a candidate must not be told replaced by words that stand nowhere
    else; what it may be told is left as it is."""
    count = itertools.count(1)

    def word() -> str:
        return f"{MARK}{next(count)}"

    tools = {name: _marked_tool(told, word) for name, told in of.simulator["tools"].items()}
    return replace(
        of,
        episode_id=word(),
        title=word(),
        initial_state={**of.initial_state, word(): word()},
        tools=replace(
            of.tools,
            forbidden=(*of.tools.forbidden, word()),
            required=(word(),),
            allowed=None if of.tools.allowed is None else (*of.tools.allowed, word()),
        ),
        writes=(Write(tool=word(), verified_by=(word(),)),),
        expected=Expected(
            final_state=word(),
            state={word(): word()},
            message_contains=(word(),),
            message_excludes=(word(),),
            trajectory=(ExpectedCall(tool=word(), arguments={word(): word()}),),
            arguments={word(): {word(): word()}},
        ),
        budget=Budget(max_cost_usd=987654.25, max_timeouts=98765),
        critical=(word(),),
        tags=(word(),),
        optimal_steps=9876543,
        simulator={**of.simulator, "tools": tools, "final_state": word(), "options": {word(): 1}},
    )


def _marked_tool(told: dict[str, Any], word: Any) -> dict[str, Any]:
    case = {"arguments": {word(): word()}, "value": word()}
    responses = dict(told["responses"])
    if "match" in responses:
        responses["match"] = [*responses["match"], case]
    return {
        **told,
        "responses": responses,
        "effects": [
            *told.get("effects", ()),
            {"merge": {word(): word()}, "arguments": {word(): 1}},
        ],
        "preconditions": told.get("preconditions", []),
        "faults": [{"kind": "error", "calls": [10_000], "message": word()}],
    }


@pytest.mark.parametrize(("folder", "of"), SHIPPED)
def test_nothing_that_is_for_the_judge_is_told(
    monkeypatch: pytest.MonkeyPatch, folder: Path, of: Episode
) -> None:
    secret = marked(of)
    assert json.dumps(msgspec.to_builtins(secret)).count(MARK) > 20
    spy = overheard(monkeypatch, secret, offer(folder))
    assert len(spy.heard) == 3
    assert MARK not in spy.bytes
    assert "98765" not in spy.bytes  # budgets and the attempt's number begin so


@pytest.mark.parametrize(("folder", "of"), SHIPPED)
def test_the_brief_of_a_shipped_episode_is_its_request_and_the_tools_of_its_suite(
    monkeypatch: pytest.MonkeyPatch, folder: Path, of: Episode
) -> None:
    spy = overheard(monkeypatch, of, offer(folder))
    request, tools = msgspec.json.decode(spy.heard[0])
    assert request == of.user_request
    assert tools == [list(spec) for spec in offer(folder).tools]
    open_episode = replace(of, tools=Tools(), on_forbidden="simulate")
    assert overheard(monkeypatch, open_episode, offer(folder)).heard[0] == spy.heard[0]


@pytest.mark.parametrize(("folder", "of"), SHIPPED)
def test_the_words_of_a_shipped_contract_are_told_by_no_tool_that_changed_nothing(
    monkeypatch: pytest.MonkeyPatch, folder: Path, of: Episode
) -> None:
    assert of.simulator is not None
    quiet = {
        name: told for name, told in of.simulator["tools"].items() if not told.get("effects")
    } | {name: told for name, told in of.simulator["tools"].items() if not of.tools.lets(name)}
    still = replace(of, simulator={**of.simulator, "tools": quiet})
    spy = overheard(monkeypatch, still, Offer(offer(folder).tools))
    told = spy.bytes.replace(of.user_request, "")
    for value in _texts(None if of.expected.final_state is UNSET else of.expected.final_state):
        assert value not in told
    for word in ("simulator", "forbidden", "critical", "max_steps", "initial_state", of.episode_id):
        assert word not in told


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(_texts, value.values()))
    elif isinstance(value, list | tuple):
        yield from itertools.chain.from_iterable(map(_texts, value))


def test_a_forbidden_tool_cannot_be_told_from_an_unlisted_one_or_one_that_does_not_exist(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools = {"look": tool({"fixed": 1}), "aaaa": tool({"fixed": 1}), "bbbb": tool({"fixed": 1})}
    of = episode(tools, contract={"allowed": ["look"], "forbidden": ["bbbb", "cccc"]})
    spy = overheard(monkeypatch, of, more=["cccc"])
    _, answers = (msgspec.json.decode(heard) for heard in spy.heard[:2])
    told = {name: [] for name in ("aaaa", "bbbb", "cccc", "no_such_tool")}
    for _, name, *answer in answers:
        told.get(name, []).append(json.dumps(answer).replace(name, "????"))
    denied = '["denied", {"error": "???? is not available"}]'
    assert told == {
        "aaaa": [denied] * 2,
        "bbbb": [denied] * 2,
        "cccc": [denied],
        "no_such_tool": [denied],
    }


def test_an_answer_tells_nothing_of_the_state_that_its_tool_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(monkeypatch)
    of = episode(
        {"write": tool({"fixed": "ok"}, effects=[{"merge": {"label": "created"}}])},
        initial_state={"label": "none", "owner": "nobody"},
    )
    stage.play(of, Turn((call("write"),)), said())
    (seen,) = stage.puppet.told
    assert seen == Observation("id-write", "write", "ok", "ok")
