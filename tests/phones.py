"""A suite whose user has tools: an agent that unlocks a line, a user with a phone in its hand."""

from pathlib import Path
from typing import Any

from doors import Door, compact

from reviewer.suite.strict_json import sha256_hex

SUITE_ID = "phone-v1"
ANY = {"type": "object", "properties": {}, "additionalProperties": False}
USER: dict[str, Any] = {
    "kind": "scripted",
    "tools": {
        "status_bar": {
            "description": "Read what your phone shows.",
            "parameters": ANY,
            "responses": {"state": ["device.airplane"]},
        },
        "airplane_off": {
            "description": "Turn airplane mode off.",
            "parameters": ANY,
            "responses": {"fixed": "off"},
            "effects": [{"merge": {"device": {"airplane": "off"}}}],
            "asked_by": ["airplane mode"],
        },
    },
    "goals": [{"id": "online", "asks": "be online again", "words": ["online"]}],
    "turns": [
        {
            "id": "off",
            "when": {"asks": ["airplane mode"]},
            "calls": [{"tool": "status_bar"}, {"tool": "airplane_off"}],
            "say": "I want to be online again. Airplane mode is {airplane_off} now.",
            "goals": ["online"],
        },
        {"id": "bye", "when": {"called": ["unlock"]}, "say": "Thanks.", "end": "satisfied"},
    ],
}
EPISODE: dict[str, Any] = {
    "schema": "reviewer/episode@1",
    "episode_id": "offline",
    "user_request": "My phone is offline.",
    "initial_state": {"line": "suspended", "device": {"airplane": "on"}},
    "tools": {"required": ["unlock"], "forbidden": ["close_line"]},
    "expected": {"state": {"line": "active", "device.airplane": "off"}},
    "budget": {"max_steps": 2},
    "simulator": {
        "tools": {
            "unlock": {
                "description": "Lift a suspension.",
                "parameters": ANY,
                "responses": {"fixed": "unlocked"},
                "effects": [{"merge": {"line": "active"}}],
            },
            "close_line": {
                "description": "Close the line.",
                "parameters": ANY,
                "responses": {"fixed": "closed"},
                "effects": [{"merge": {"line": "closed"}}],
            },
        }
    },
    "user": USER,
}
SCRIPT = [
    {"messages": ["Please turn airplane mode off."], "cost_usd": 0.01},
    {"calls": [{"tool": "unlock"}], "cost_usd": 0.01},
    {"messages": ["The line is active."], "cost_usd": 0.01},
]
PROGRAM = """\
def run(user_request, tools, call):
    assert [tool["name"] for tool in tools] == ["close_line", "unlock"], tools
    heard = call.say("Please turn airplane mode off.")
    call("unlock")
    return call.say("The line is active. " + heard) or "The line is active."
"""
POLICY = {"attempts": 1, "pass_hat": {"k": 1, "min": 0.5}}


class Phones:
    """The suite in a workspace, not frozen."""

    def __init__(self, door: Door, **episode: Any) -> None:
        self.door = door
        self.folder = door.root / "suites" / SUITE_ID
        (self.folder / "episodes").mkdir(parents=True)
        (self.folder / "candidates" / "scripts").mkdir(parents=True)
        self.write("suite.json", {
            "schema": "reviewer/suite@1", "suite_id": SUITE_ID, "policy": POLICY,
            "waivers": [{"agent": name, "reason": "one call, and nothing to prove"}
                        for name in ("no-verify",)],
        })  # fmt: skip
        self.write("episodes/offline.json", {**EPISODE, **episode})
        plan = {"plans": {"one": {"turns": SCRIPT}}}
        script = {"schema": "reviewer/script@1", "episodes": {"offline": plan}}
        self.write("candidates/scripts/clerk.json", script)
        data = (self.folder / "candidates/scripts/clerk.json").read_bytes()
        self.candidate(
            "clerk", kind="scripted",
            script="candidates/scripts/clerk.json", script_sha256=sha256_hex(data),
        )  # fmt: skip
        (self.folder / "candidates" / "teller.py").write_text(PROGRAM, encoding="utf-8")
        self.candidate("teller", kind="python", entry="teller:run")

    def write(self, path: str, value: Any) -> Path:
        file = self.folder / path
        file.write_bytes(compact(value))
        return file

    def candidate(self, candidate_id: str, **runner: Any) -> None:
        self.write(f"candidates/{candidate_id}.json", {
            "schema": "reviewer/candidate@1", "candidate_id": candidate_id,
            "agent": candidate_id, "version": "1", "runner": runner,
        })  # fmt: skip
