"""A container as the world of a suite, through `reviewer run` and a stand-in for docker that keeps
what it is told and carries commands out in a folder. No real engine is asked here."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import served_suites as served
from doors import Door
from served_suites import calls, says

from reviewer.running.container import engine as engines
from reviewer.running.container.guard import changed, guarded
from reviewer.suite.check import check_suite

IMAGE = "registry.example/shop@sha256:" + "a" * 64
DOCKER = """#!{python}
import json, os, pathlib, shutil, subprocess, sys, time
here = pathlib.Path({place!r})
asked = sys.argv[1:]
with open(here / "asked", "a") as file:
    file.write(json.dumps(asked) + "\\n")
act = {{}}
if (here / "act").exists():
    act = json.loads((here / "act").read_text())
verb = asked[0]
def held(name):
    return here / "held" / name
if verb == "version":
    if "version" in act:
        sys.exit(act["version"])
elif asked[:2] == ["image", "inspect"]:
    sys.exit(act.get("image", 0))
elif verb == "run":
    if "run" in act:
        sys.exit(act["run"])
    held(asked[asked.index("--name") + 1]).mkdir(parents=True)
elif verb == "exec":
    asked = [word for word in asked if word != "--interactive"]
    name, command = asked[1], asked[2:]
    if act.get("dies"):
        shutil.rmtree(held(name))
        sys.exit("Error response from daemon: container is not running")
    if act.get("hangs"):
        time.sleep(600)
    if act.get("floods"):
        sys.stdout.write("x" * (100 << 20))
    sys.exit(subprocess.run(command, cwd=held(name)).returncode)
elif verb == "diff":
    looked = here / "looked"
    print(act.get("then" if looked.exists() else "diff", "C /tmp"))
    looked.touch()
elif verb == "inspect":
    there = held(asked[-1]).exists()
    print("true" if there else "")
    sys.exit(0 if there else 1)
elif verb == "rm":
    shutil.rmtree(held(asked[-1]), ignore_errors=True)
"""
CONTAINER: dict[str, Any] = {
    "image": IMAGE,
    "exec": {
        "lookup": ["sh", "-c", "cat label"],
        "label": ["sh", "-c", 'printf %s "$1" > label', "sh", "for {order}"],
        "refund": ["false", "{order}"],
    },
    "verifier": ["sh", "-c", "grep -q 'for o-1' label"],
}
EPISODE: dict[str, Any] = {
    **served.RETURN,
    "initial_state": {},
    "expected": {"state": {"exit_code": 0}, "message_contains": ["on its way"]},
    "simulator": {},
}


class Docker:
    """What stands in for docker, in a folder of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "bin").mkdir(parents=True)
        program = place / "bin" / "docker"
        program.write_text(DOCKER.format(python=sys.executable, place=str(place)))
        program.chmod(0o755)
        other = place / "bin" / "podman"  # one that is installed here is not asked
        other.write_text("#!/bin/sh\nexit 1\n")
        other.chmod(0o755)

    def does(self, **act: Any) -> None:
        (self.place / "act").write_text(json.dumps(act))

    @property
    def asked(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.place / "asked").read_text().splitlines()]

    @property
    def left(self) -> list[str]:
        held = self.place / "held"
        return os.listdir(held) if held.exists() else []


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    made = Docker(tmp_path / "engine")
    monkeypatch.setenv("PATH", f"{made.place / 'bin'}:/usr/bin:/bin")
    engines.answering.cache_clear()
    yield made
    engines.answering.cache_clear()


@pytest.fixture
def door(tmp_path: Path) -> Door:
    (tmp_path / "desk" / "store").mkdir(parents=True)
    return Door(tmp_path / "desk")


def suite(door: Door, **changes: Any) -> Path:
    folder = served.write(door.root, "", EPISODE)
    toolset = json.loads((folder / "toolset.json").read_text())
    del toolset["server"]
    toolset["container"] = {**CONTAINER, **changes}
    served.put(folder / "toolset.json", toolset)
    served.script(folder, calls("label"), calls("lookup"), says("It is on its way."))
    return folder


def run(door: Door, *more: object) -> Any:
    said = door.run("run", "served", "agent", "--attempts", 1, "--quiet", *more)
    assert said.code == 0, said
    return shown(door)


def shown(door: Door, number: int = 1) -> Any:
    trace = f"served/agent/return/{number}"
    one = json.loads(door.ok("show", trace, "--json").out)
    lines = door.ok("show", trace, "--plain").out.splitlines()
    one["told"] = [line.partition(" ")[2] for line in lines if re.match(r"event \d", line)]
    return one


def test_calls_are_commands_in_a_container_of_their_own(door: Door, docker: Docker) -> None:
    suite(door)
    one = run(door)
    assert (one["mark"], one["final_state"]) == ("pass", '{"exit_code":0}')
    verbs = [words[0] for words in docker.asked]
    assert verbs == ["version", "image", "run", *["exec"] * 2, "diff", "exec", "diff", "rm"]
    started = docker.asked[2]
    name = started[started.index("--name") + 1]
    assert started == [
        *("run", "--detach", "--rm", "--name", name, "--pull", "never", "--init"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "1024"),
        *("--memory", "4g", "--network", "none", "--entrypoint", "sleep", IMAGE, "14400"),
    ]
    assert docker.asked[3][:3] == ["exec", name, "sh"]
    assert docker.asked[4][:4] == ["exec", "--interactive", name, "sh"]  # it takes no argument
    assert docker.asked[-1] == ["rm", "--force", name]
    assert docker.left == []
    observed = door.ok("show", "served/agent/return/1", "--event", 2, "--plain").out
    assert "for o-1" in observed


def test_attempts_share_no_container(door: Door, docker: Docker) -> None:
    suite(door)
    run(door, "--attempts", 3, "--jobs", 3)
    assert [shown(door, n)["mark"] for n in (1, 2, 3)] == ["pass"] * 3
    names = [words[words.index("--name") + 1] for words in docker.asked if words[0] == "run"]
    assert len(set(names)) == 3
    assert docker.left == []


def test_the_verifier_decides(door: Door, docker: Docker) -> None:
    folder = suite(door)
    served.script(folder, says("It is on its way."))
    one = run(door)
    assert (one["mark"], one["final_state"]) == ("fail", '{"exit_code":2}')


@pytest.mark.parametrize(
    ("verifier", "diff", "place"),
    [
        (["sh", "/verify.sh", "/app"], "C /verify.sh", "/verify.sh"),
        (["sh", "/verify.sh", "/app"], "A /app/new\nC /app", None),
        (["/opt/check/run"], "C /opt\nD /opt/check\nA /opt/check2", "/opt/check"),
        (["/opt/check/run"], "A /o2/check/run\nC /opt", "/opt"),  # now a link elsewhere
        (["/opt/check/run"], "C /opt\nC /opt/check\nA /opt/check/made\nA /etc", None),
        (["sh", "-c", "test -f /x"], "A /bin/new\nC /bin\nC /bin/sh", "/bin/sh"),
        (["test", "-f", "/x"], "A /x\nC /verify.sh\nA /etc/ld.so.preloads", None),
        (["test", "-f", "/x"], "A /etc/ld.so.preload", "/etc/ld.so.preload"),
        (["pytest", "-q", "/tests"], "A /tests/conftest.py\nC /tests", "/tests/conftest.py"),
        (["make"], "C /more/a b.txt", "/more/a b.txt"),
    ],
)
def test_what_a_verifier_relies_on_is_as_in_the_image(
    verifier: list[str], diff: str, place: str | None
) -> None:
    """Else an agent with a shell writes a verifier that passes it."""
    assert changed(diff, guarded(verifier, ["/more/"])) == place


def test_a_verifier_that_the_agent_changed_is_not_run(door: Door, docker: Docker) -> None:
    suite(door, guarded=["/tests"])
    docker.does(diff="C /tests\nC /tests/mail-ann@shop.example")
    one = run(door)
    told = "not run: /tests was changed"
    assert (one["mark"], one["final_state"]) == (
        "fail",
        json.dumps({"exit_code": told}, separators=(",", ":")),
    )
    assert len([words for words in docker.asked if words[0] == "exec"]) == 2


@pytest.mark.parametrize(
    ("then", "status"),
    [
        ("C /tests/run.sh", "not counted: /tests/run.sh was changed meanwhile"),
        ("D /tests", "not counted: /tests was changed meanwhile"),
        ("A /tests/__pycache__\nC /tests", 0),  # by the verifier itself
    ],
)
def test_a_verifier_that_is_changed_while_it_runs_does_not_count(
    door: Door, docker: Docker, then: str, status: str | int
) -> None:
    """A process that the agent left running can wait for it."""
    suite(door, guarded=["/tests"])
    docker.does(then=then)
    assert json.loads(run(door)["final_state"]) == {"exit_code": status}


def test_a_command_that_fails_is_an_answer(door: Door, docker: Docker) -> None:
    folder = suite(door)
    orders = "a\0b", "x" * (1 << 18)
    null, long = ({"calls": [{"tool": "refund", "arguments": {"order": one}}]} for one in orders)
    good = calls("label"), calls("lookup"), says("It is on its way.")
    served.script(folder, calls("refund"), null, long, *good)
    one = run(door)
    assert [told.split(";")[0] for told in one["told"][:4]] == [
        *(f"{number} tool_call by agent: refund error" for number in (1, 2, 3)),
        "4 tool_call by agent: label ok",
    ]
    assert one["mark"] == "pass"


@pytest.mark.parametrize(
    ("act", "limits", "reason"),
    [
        (
            {"dies": True},
            {},
            "exec of label: the container is gone: Error response from daemon: container is not "
            "running",
        ),
        (
            {"hangs": True},
            {"call_s": 0.5},
            "exec of label: did not end within 0.5 s; raise the limit in toolset.json if it needs "
            "longer",
        ),
        ({"floods": True}, {}, "exec of label: printed more than 8 MiB"),
        ({"run": 125}, {}, "run: ended with exit status 125:"),
    ],
)
def test_a_container_that_breaks_ends_the_attempt(
    door: Door, docker: Docker, act: dict[str, Any], limits: dict[str, Any], reason: str
) -> None:
    suite(door, **limits)
    docker.does(**act)
    one = run(door)
    ended = "infrastructure_error" if "run" in act else "world_broke"
    assert (one["mark"], one["termination"]) == ("infra", ended)
    head, _, rest = one["told"][-1].partition(" error: the container of toolset.json: ")
    assert head.isdigit()
    assert rest.removesuffix("; 0.01s; $0.01").strip() == reason
    assert docker.asked[-1][:2] == ["rm", "--force"]
    assert docker.left == []


def test_a_call_that_is_denied_never_reaches_the_container(door: Door, docker: Docker) -> None:
    folder = suite(door)
    served.put(
        folder / "episodes" / "return.json",
        {**EPISODE, "tools": {"required": ["label"], "forbidden": ["refund"]}},
    )
    served.script(
        folder, calls("refund", "sh"), calls("label"), calls("lookup"), says("on its way")
    )
    one = run(door)
    assert one["mark"] == "critical"
    assert not any("false" in words for words in docker.asked)
    assert len([words for words in docker.asked if words[0] == "exec"]) == 3


@pytest.mark.parametrize("made", ["none", "silent", "no image"])
def test_without_an_engine_or_the_image_nothing_is_run(
    door: Door, docker: Docker, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(door)
    docker.does(**{"none": {}, "silent": {"version": 1}, "no image": {"image": 1}}[made])
    if made == "none":
        monkeypatch.setenv("PATH", str(docker.place))
    said = door.run("run", "served", "agent", "--attempts", 1)
    assert said.code != 0
    assert "0 passed, 0 failed (0 critical), 0 not measured, 0 infra" in said.out
    assert {
        "none": "$.container: not run: no container engine here: docker is not installed, podman "
        "is not installed",
        "silent": "not run: no container engine here: docker does not answer (",
        "no image": f"$.container.image: {IMAGE} is not on this machine: pull it first with "
        "docker pull",
    }[made] in said.err
    if made != "no image":
        told = door.run("suite", "trial", "served")
        assert "served: not tried: no container engine here: docker" in told.both


def test_the_network_needs_both_the_suite_and_the_run(door: Door, docker: Docker) -> None:
    suite(door, network=True)
    said = door.run("run", "served", "agent", "--attempts", 1)
    assert "$.container.network: the container needs the network, which is not granted" in said.err
    run(door, "--network")
    (started,) = [words for words in docker.asked if words[0] == "run"]
    assert "--network" not in started


def test_a_trial_plays_in_containers(door: Door, docker: Docker) -> None:
    suite(door)
    said = door.run("suite", "trial", "served")
    assert "episode return: oracle " in said.out
    assert "infrastructure" not in said.out
    assert docker.left == []


@pytest.mark.parametrize(
    ("container", "episode", "problem"),
    [
        ({"image": "shop:latest"}, {}, "toolset.json: $.container.image: "),
        ({"image": "-v@sha256:" + "a" * 64}, {}, "toolset.json: $.container.image: "),
        ({"exec": {}}, {}, "toolset.json: $.container.exec: has no `lookup`"),
        (
            {"exec": {**CONTAINER["exec"], "more": ["a"]}},
            {},
            "toolset.json: $.container.exec.more: is not a tool in `tools`",
        ),
        (
            {"exec": {**CONTAINER["exec"], "lookup": ["cat", "{file}"]}},
            {},
            "toolset.json: $.container.exec.lookup[1]: `{file}` is no parameter of the tool",
        ),
        ({}, {"initial_state": {"a": 1}}, "episodes/return.json: $.initial_state: a container"),
        ({"verifier": None}, {}, "episodes/return.json: $.expected.state: the container has no"),
        ({}, {"simulator": {"toolkit": "a:b"}}, "episodes/return.json: $.simulator.toolkit: "),
    ],
)
def test_a_container_that_could_not_be_used_is_refused(
    container: dict[str, Any], episode: dict[str, Any], problem: str
) -> None:
    toolset = {"schema": "reviewer/toolset@1", "tools": served.TOOLS}
    raw = {
        "suite.json": {"schema": "reviewer/suite@1", "suite_id": "served"},
        "toolset.json": {**toolset, "container": {**CONTAINER, **container}},
        "episodes/return.json": {**EPISODE, **episode},
    }
    found = check_suite({path: json.dumps(value).encode() for path, value in raw.items()}).problems
    assert str(found[0]).startswith(problem)
