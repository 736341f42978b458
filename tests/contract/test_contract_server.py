"""A suite's MCP server in toolset.json: what is refused before it is ever started."""

import json
from typing import Any

import pytest
import served_suites as served

from reviewer.suite.check import check_suite
from reviewer.suite.toolset import Toolset, equipped


def checked(
    server: dict[str, Any] | None = None,
    episode: dict[str, Any] | None = None,
    *files: str,
    **toolset: Any,
) -> list[str]:
    """The problems of a suite with this server, without the name of its folder."""
    told = {
        "schema": "reviewer/toolset@1",
        "tools": served.TOOLS,
        "server": {"command": ["python3", "./shop.py"], "state": {"tool": "dump_state"}},
        **toolset,
    }
    if server is not None:
        told["server"] = {**told["server"], **server}
    raw = {
        "suite.json": {"schema": "reviewer/suite@1", "suite_id": "served"},
        "toolset.json": told,
        "episodes/return.json": {**served.RETURN, **(episode or {})},
    }
    held = {path: json.dumps(value).encode() for path, value in raw.items()}
    held |= dict.fromkeys(("server/shop.py", *files), b"x")
    return [str(problem) for problem in check_suite(held, to_freeze=True).problems]


def test_a_server_and_its_files_are_fine() -> None:
    assert checked() == []
    own = {"command": ["./bin/shop", "--state={initial_state}"]}
    assert checked(own, None, "server/bin/shop") == []
    assert checked({"state": {"resource": "state://all"}, "network": True, "start_s": 600}) == []


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ({"command": []}, "$.server.command: "),
        ({"command": [""]}, "$.server.command[0]: names no program"),
        ({"command": ["a", "b\0"]}, "$.server.command[1]: holds a null character"),
        ({"command": ["python3", "./no.py"]}, "$.server.command[1]: there is no server/no.py"),
        ({"command": ["python3", "./../suite.json"]}, "$.server.command[1]: there is no server/"),
        ({"command": ["python3", "{state}"]}, "$.server.command[1]: `{state}` is not known"),
        ({"state": {}}, "$.server.state: must have exactly one of tool, resource"),
        ({"state": {"tool": "a", "resource": "b"}}, "$.server.state: must have exactly one of"),
        ({"state": {"resource": "b", "arguments": {"a": 1}}}, "$.server.state: arguments belong"),
        ({"state": {"tool": "lookup"}}, "$.server.state.tool: `lookup` is in `tools`"),
        ({"call_s": 0}, "$.server.call_s: "),
        ({"start_s": 601}, "$.server.start_s: "),
        ({"image": "x"}, "$.server.image: "),
    ],
)
def test_a_server_that_could_not_be_started_is_refused(
    server: dict[str, Any], problem: str
) -> None:
    (found,) = checked(server)
    assert found.startswith(f"toolset.json: {problem}")


def test_tools_have_one_world() -> None:
    both = "toolset.json: $: must have one of toolkit, server, container, not toolkit and server"
    assert checked(toolkit="shop:Shop") == [both]
    simulated = {**served.TOOLS[0], "simulator": {"responses": {"fixed": 1}}}
    (found,) = checked(tools=[simulated, *served.TOOLS[1:]])
    assert found == "toolset.json: $: has a server, so its tools cannot have simulators"
    for member, value in (
        ("tools", {"lookup": {"responses": {"fixed": 1}}}),
        ("toolkit", "shop:Shop"),
        ("options", {"a": 1}),
    ):
        told = "\n".join(checked(None, {"simulator": {member: value}}))
        assert f"return.json: $.simulator.{member}: toolset.json has a server" in told


@pytest.mark.parametrize(
    ("episode", "place"),
    [
        ({"initial_state": {"a": 1}}, "$.initial_state"),
        ({"expected": {"final_state": "a"}}, "$.expected.final_state"),
        ({"expected": {"state": {"a": 1}}}, "$.expected.state"),
        ({"expected": {"absent": ["a"]}}, "$.expected.absent"),
        ({"simulator": {"final_state": "a"}}, "$.simulator.final_state"),
    ],
)
def test_a_state_that_nobody_tells_cannot_be_expected(episode: dict[str, Any], place: str) -> None:
    bare = {"initial_state": {}, "expected": {"message_contains": ["on its way"]}, "simulator": {}}
    assert checked({"state": None}, bare) == []
    (found,) = checked({"state": None}, {**bare, **episode})
    assert found.startswith(f"episodes/return.json: {place}: the server reports no state")


def test_an_episode_has_the_server_behind_it() -> None:
    raw = {"tools": served.TOOLS, "server": {"command": ["a"]}}
    import msgspec

    from reviewer.suite.values import episode_value

    toolset = msgspec.convert(raw, Toolset)
    whole = equipped(episode_value(served.RETURN), toolset)
    assert whole.simulator == {"final_state": "outcome", "server": {"command": ["a"]}}
