"""A Python toolkit as a world: fresh for each attempt, whatever it tries."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from run_guests import KINDS, hold, task, workspace, written

from reviewer.running.model import Answer, Infrastructure, Task, ToolSpec, Unrunnable
from reviewer.running.toolkit import ToolkitWorld
from reviewer.suite.folder import suite_state
from reviewer.suite.freeze import freeze
from reviewer.suite.model import Episode
from reviewer.suite.strict_json import start_state_digest

STATE = {"order": {"status": "delivered"}, "count": 0}

SHOP = """
    class ToolError(Exception):
        pass

    class Shop:
        def __init__(self, state, options):
            self.state, self.options = state, options
            self.tools = {
                "look": {"description": "Looks.", "parameters": {"type": "object"}},
                "count": {"description": "Counts."},
                "fail": {},
            }

        def call(self, tool, arguments):
            if tool == "look":
                return {"status": self.state["order"]["status"], "options": self.options}
            if tool == "count":
                self.state["count"] += arguments.get("by", 1)
                return self.state["count"]
            kind = arguments["kind"]
            if kind == "late":
                raise TimeoutError("no answer")
            if kind == "leave":
                raise SystemExit
            self.state["order"]["status"] = "half done"
            raise ToolError("no such order")
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return workspace(tmp_path / "desk")


def work(suite: Path, text: str = SHOP, entry: str = "shop:Shop", **simulator: Any) -> Task:
    written(suite / "toolkits" / "shop.py", text)
    state = simulator.pop("state", STATE)
    episode = Episode(
        episode_id="e-1", initial_state=state, simulator={"toolkit": entry, **simulator}
    )
    return task(suite, {"kind": "scripted"}, episode=episode)


@asynccontextmanager
async def opened(attempt: Task) -> AsyncIterator[ToolkitWorld]:
    world = await ToolkitWorld.open(attempt)
    try:
        yield world
    finally:
        await world.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_toolkit_answers_and_its_state_is_seen(
    kind: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(kind, monkeypatch)
    async with opened(work(suite, final_state="order.status", options={"shop": 7})) as world:
        assert world.start_digest == start_state_digest(STATE)
        assert world.specs() == (
            ToolSpec("look", "Looks.", {"type": "object"}),
            ToolSpec("count", "Counts.", {"type": "object"}),
            ToolSpec("fail", "", {"type": "object"}),
        )
        seen = {"status": "delivered", "options": {"shop": 7}}
        assert await world.call("look", {}) == Answer("ok", seen)
        assert await world.call("count", {"by": 2}) == Answer("ok", 2, 0.0, {**STATE, "count": 2})
        assert await world.state() == {**STATE, "count": 2}
        assert await world.final_state() == "delivered"


async def test_the_toolkit_on_the_page_runs(suite: Path, repository: Path) -> None:
    page = (repository / "docs" / "candidates-command.md").read_text(encoding="utf-8")
    text = page.partition("## A toolkit")[2].partition("```python\n")[2].partition("```")[0]
    attempt = work(suite, text, state={"status": "broken"})
    async with opened(attempt) as world:
        assert await world.call("look", {}) == Answer("ok", {"status": "broken"})


async def test_an_exception_is_the_calls_answer_and_its_traces_are_seen(suite: Path) -> None:
    async with opened(work(suite)) as world:
        late = await world.call("fail", {"kind": "late"})
        assert late == Answer("timeout", {"error": "TimeoutError: no answer"})
        assert (await world.call("fail", {"kind": "leave"})).content == {"error": "SystemExit"}
        assert (await world.call("fail", {})).content == {"error": "KeyError: 'kind'"}
        failed = await world.call("fail", {"kind": "other"})
        assert (failed.status, failed.content) == ("error", {"error": "ToolError: no such order"})
        assert failed.state is not None
        assert failed.state["order"] == {"status": "half done"}
        assert await world.final_state() == failed.state


async def test_what_is_handed_out_is_a_copy(suite: Path) -> None:
    async with opened(work(suite)) as world:
        (await world.state())["order"]["status"] = "spoilt"
        (await world.final_state())["count"] = 99
        assert await world.state() == STATE


KEEPS = """
    import builtins, json, os, pathlib, sys, tempfile
    PLACES = [pathlib.Path(p, "kept.json") for p in (".", os.environ["HOME"], "/dev/shm", "/tmp",
              tempfile.gettempdir(), os.path.dirname(__file__), os.path.dirname(sys.executable))]
    PLACES = PLACES[:{places}]
    seen = []
    class Kit:
        kept = []
        def __init__(self, state, options):
            found = [p.read_text() for p in PLACES if p.exists()]
            found += seen + self.kept + getattr(builtins, "kept", []) + getattr(sys, "kept", [])
            found += [os.environ["KEPT"]] if "KEPT" in os.environ else []
            self.state = {{**state, "kept": found}} if found else state
            self.tools = {{"keep": {{}}}}
        def call(self, tool, arguments):
            before = dict(self.state)
            seen.append("x"); self.kept.append("x"); builtins.kept = ["x"]; sys.kept = ["x"]
            os.environ["KEPT"] = "x"
            for place in PLACES:
                try:
                    place.write_text("x")
                except OSError:
                    pass
            return [sorted(before), [p.exists() for p in PLACES if str(p) == "kept.json"]]
"""


@pytest.mark.parametrize("kind", KINDS)
async def test_a_toolkit_that_keeps_all_it_can_begins_anew_each_time(
    kind: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(kind, monkeypatch)
    # Without isolation nothing keeps it from the machine's own folders, as `describe` says.
    attempt = work(suite, KEEPS.format(places=2 if kind == "none" else 7), "shop:Kit")
    told = []
    for _ in range(2):
        async with opened(attempt) as world:
            told.append((world.start_digest, await world.state(), await world.call("keep", {})))
    assert told[0] == told[1]
    assert told[1][0] == start_state_digest(STATE)
    assert told[1][2].content == [["count", "order"], [True]]


async def test_two_attempts_at_once_do_not_meet(suite: Path) -> None:
    attempt = work(suite)
    async with opened(attempt) as one, opened(attempt) as other:
        await one.call("count", {"by": 5})
        assert (await other.call("count", {})).content == 1


async def test_one_that_starts_from_another_state_is_found_out(suite: Path) -> None:
    text = """
        class Shop:
            tools = {"look": {}}
            def __init__(self, state, options):
                self.state = {**state, "count": 1}
    """
    async with opened(work(suite, text)) as world:
        assert world.start_digest == start_state_digest({**STATE, "count": 1})
        assert world.start_digest != start_state_digest(STATE)


async def test_its_sets_have_one_order_in_all_attempts(suite: Path) -> None:
    text = """
        class Shop:
            tools = {"look": {}}
            def __init__(self, state, options):
                self.state = state
            def call(self, tool, arguments):
                return list({f"name-{n}" for n in range(50)})
    """
    orders = set()
    for _ in range(3):
        async with opened(work(suite, text)) as world:
            orders.add(json.dumps((await world.call("look", {})).content))
    assert len(orders) == 1


async def test_what_it_prints_never_meets_the_protocol(suite: Path) -> None:
    text = SHOP.replace("self.state, self", "print('made'); self.state, self").replace(
        'if tool == "look":', 'if print("called") or tool == "look":'
    )
    assert text.count("print") == 2
    async with opened(work(suite, text)) as world:
        assert (await world.call("count", {})).content == 1


BASE = """
    import os, time
    class Shop:
        tools = {"look": {}}
        def __init__(self, state, options):
            self.state = state
        def call(self, tool, arguments):
            %s
"""


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("return {1, 2}", "not JSON serializable"),
        ("return float('nan')", "ValueError"),
        ("return 2 ** 60", "cannot be read: integer beyond"),
        ("self.state = []", "`state` must be a dict, not a list"),
        ("self.state = {'a': object()}", "not JSON serializable"),
        ("os._exit(4)", "ended with exit status 4"),
        ("os.kill(os.getpid(), 9)", "ended with exit status 137"),
        ("return 'x' * (9 << 20)", "a line of more than 8 MiB"),
        ("time.sleep(600)", "gave no answer within"),
    ],
)
async def test_a_toolkit_that_breaks_is_nobodys_failure(
    answer: str, told: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(work(suite, BASE % answer)) as world:
        monkeypatch.setattr("reviewer.running.toolkit.ANSWER_S", 0.2 if "sleep" in answer else 60)
        with pytest.raises(Infrastructure, match=told) as caught:
            await world.call("look", {})
    assert str(caught.value).startswith("the toolkit shop:Shop")


@pytest.mark.parametrize(
    "made", ["raise ValueError('of mine')", "self.state = state['gone']", "os._exit(1)"]
)
async def test_one_that_cannot_be_made_is_nobodys_failure(made: str, suite: Path) -> None:
    text = BASE.replace("self.state = state", made) % "pass"
    with pytest.raises(Infrastructure):
        await ToolkitWorld.open(work(suite, text))


@pytest.mark.parametrize(
    ("text", "entry", "told"),
    [
        (SHOP, "gone:Shop", "there is no module `gone` in lamp-v1/toolkits/"),
        (SHOP, "json:loads", "there is no module `json` in lamp-v1/toolkits/"),
        (SHOP, "shop:Gone", "cannot be loaded: AttributeError"),
        ("import no_such_module_here", "shop:Shop", "ModuleNotFoundError"),
        ("this is no Python", "shop:Shop", "SyntaxError"),
        (BASE.replace('{"look": {}}', "{}") % "pass", "shop:Shop", "its `tools` is empty"),
        (BASE.replace('"look": {}', '"look": 7') % "pass", "shop:Shop", "must be a dict of"),
        (BASE.replace('"look": {}', '" look": {}') % "pass", "shop:Shop", "start or end with"),
        (BASE.replace('{"look": {}}', '{"look": {"name": 1}}') % "pass", "shop:Shop", "`name`"),
        (
            BASE.replace('{"look": {}}', '{"look": {"parameters": {"type": "list"}}}') % "pass",
            "shop:Shop",
            "must be a JSON Schema of an object",
        ),
    ],
)
async def test_a_toolkit_that_cannot_be_used_stops_the_run_with_its_reason(
    text: str, entry: str, told: str, suite: Path
) -> None:
    with pytest.raises(Unrunnable) as caught:
        await ToolkitWorld.open(work(suite, text, entry))
    assert str(caught.value).startswith("lamp-v1/episodes/e-1.json: $.simulator.toolkit")
    assert told in str(caught.value)


async def test_toolkits_stand_under_the_lock_and_running_them_leaves_it_whole(
    suite: Path, repository: Path
) -> None:
    content = {
        "schema": "reviewer/episode@1",
        "episode_id": "e-1",
        "initial_state": STATE,
        "tools": {"required": ["look"]},
        "simulator": {"toolkit": "shop:Shop"},
    }
    (suite / "episodes" / "e-1.json").write_text(json.dumps(content))
    (suite / "suite.json").write_text('{"schema": "reviewer/suite@1", "suite_id": "lamp-v1"}')
    attempt = work(suite)
    freeze(suite)
    async with opened(attempt) as world:
        await world.call("count", {})
    assert suite_state(suite).state == "frozen"
    written(suite / "toolkits" / "shop.py", SHOP + "\n# edited")
    assert [edit.path for edit in suite_state(suite).edits] == ["toolkits/shop.py"]
