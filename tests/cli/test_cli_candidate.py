"""`reviewer candidate`: a first manifest of every kind, and the digests of what it names."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door

KINDS: dict[str, tuple[str, ...]] = {
    "scripted": ("--kind", "scripted"),
    "command": ("--kind", "command"),
    "python": ("--kind", "python"),
    "mcp": ("--kind", "mcp"),
}


def manifest(door: Door, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((door.suite / "candidates" / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_candidate_runs_and_its_code_is_pinned(door: Door, kind: str) -> None:
    door.ok("candidate", "new", SUITE, "lamp-agent-v1", *KINDS[kind])
    said = json.loads(door.ok("suite", "code", SUITE, "lamp-agent-v1", "--json").out)
    assert said["pinned"]
    assert said["files"]
    ran = json.loads(door.ok("run", SUITE, "lamp-agent-v1", "--attempts", "1", "--json").out)
    assert (ran["made"], ran["failed"], ran["infrastructure"]) == (3, 3, 0)
    assert all(tool["sha256"] for tool in manifest(door, "lamp-agent-v1")["tools"])


def test_a_model_needs_its_prompt_beside_the_manifest(door: Door) -> None:
    prompt = door.file("../system.md", "You help.")
    options = ("--model", "large", "--prompt", prompt, "--api-key-env", "LAMP_KEY")
    door.ok("candidate", "new", SUITE, "lamp-agent-v1", *options)
    found = manifest(door, "lamp-agent-v1")
    assert found["runner"]["kind"] == "openai-chat"
    assert found["runner"]["api_key_env"] == "LAMP_KEY"
    (told,) = found["prompts"]
    assert (door.suite / told["path"]).read_text() == "You help."
    assert told["sha256"] == hashlib.sha256(b"You help.").hexdigest()
    door.ok("suite", "check", SUITE)


def test_pin_brings_every_digest_up_to_date(door: Door) -> None:
    door.ok("candidate", "new", SUITE, "lamp-agent-v1", "--kind", "command")
    assert "as its files are" in door.ok("candidate", "pin", SUITE, "lamp-agent-v1").out
    before = manifest(door, "lamp-agent-v1")["runner"]["code_sha256"]
    program = door.suite / "candidates" / "lamp-agent-v1" / "agent.py"
    program.write_text(program.read_text() + "\n# edited\n")
    refused = door.run("run", SUITE, "lamp-agent-v1")
    assert refused.code == 20
    said = door.ok("candidate", "pin", SUITE, "lamp-agent-v1")
    after = manifest(door, "lamp-agent-v1")["runner"]["code_sha256"]
    assert before != after
    assert after in said.out
    door.ok("run", SUITE, "lamp-agent-v1", "--attempts", "1")


def test_pin_fills_in_a_manifest_without_any_digest(door: Door) -> None:
    script = f"candidates/scripts/{V8}.json"
    written = {
        "schema": "reviewer/candidate@1",
        "candidate_id": "mine",
        "tools": [{"name": "lookup_order"}, {"name": "of_another_suite"}],
        "runner": {"kind": "scripted", "script": script},
    }
    (door.suite / "candidates" / "mine.json").write_text(json.dumps(written))
    door.ok("candidate", "pin", SUITE, "mine")
    found = manifest(door, "mine")
    digest = hashlib.sha256((door.suite / script).read_bytes()).hexdigest()
    assert found["runner"]["script_sha256"] == digest
    assert len(found["tools"][0]["sha256"]) == 64
    assert "sha256" not in found["tools"][1]


def test_what_was_judged_keeps_its_digests(door: Door) -> None:
    door.ok("candidate", "new", SUITE, "lamp-agent-v1", "--kind", "scripted")
    door.ok("run", SUITE, "lamp-agent-v1", "--attempts", "1")
    path = door.suite / "candidates" / "lamp-agent-v1.json"
    before = path.read_bytes()
    script = path.with_suffix("") / "script.json"
    script.write_text(script.read_text().replace("yet", "ever"))
    refused = door.run("candidate", "pin", SUITE, "lamp-agent-v1")
    assert refused.code == 20
    assert "is what was judged" in refused.err
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        ((), "what kind of candidate", 2),
        (("--kind", "openai-chat"), "needs --model", 2),
        (("--model", "m", "--prompt", "gone.md"), "gone.md", 20),
        (("--entry", "no entry"), "$.runner.entry", 20),
        (("--command", "node ./gone.mjs"), "candidates/", 20),
    ],
)
def test_what_cannot_be_a_candidate_is_refused_and_leaves_nothing(
    door: Door, options: tuple[str, ...], said: str, code: int
) -> None:
    before = sorted(door.suite.rglob("*"))
    refused = door.run("candidate", "new", SUITE, "lamp-agent-v1", *options)
    assert refused.code == code, refused
    assert said in refused.err
    assert sorted(door.suite.rglob("*")) == before


@pytest.mark.parametrize("act", ["new", "pin"])
def test_no_candidate_outside_a_suite(door: Door, act: str) -> None:
    options = ("--kind", "scripted") if act == "new" else ()
    for suite, name in ((SUITE, "../mine"), ("none", "mine"), ("..", "mine")):
        assert door.run("candidate", act, suite, name, *options).code in (2, 20)
    assert not list(Path(door.root).rglob("mine.json"))


def test_a_candidate_that_is_there_is_left_alone(door: Door) -> None:
    before = (door.suite / "candidates" / f"{V8}.json").read_bytes()
    refused = door.run("candidate", "new", SUITE, V8, "--kind", "scripted")
    assert refused.code == 20
    assert "exists already" in refused.err
    assert (door.suite / "candidates" / f"{V8}.json").read_bytes() == before


def test_a_manifest_that_leads_out_of_the_suite_is_not_followed(door: Door) -> None:
    secret = door.file("../secret.txt", "a secret")
    link = door.suite / "candidates" / "link.md"
    link.symlink_to(secret)
    for path in ("../../../secret.txt", "candidates/link.md"):
        written = {
            "schema": "reviewer/candidate@1",
            "candidate_id": "mine",
            "prompts": [{"name": "system", "path": path}],
        }
        (door.suite / "candidates" / "mine.json").write_text(json.dumps(written))
        refused = door.run("candidate", "pin", SUITE, "mine")
        assert refused.code == 20, refused
        assert "sha256" not in (door.suite / "candidates" / "mine.json").read_text()
