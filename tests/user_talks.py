"""Four conversations with a scripted user: in two of them a rule finds an error of it."""

import copy
from pathlib import Path
from typing import Any

from doors import Door, copied
from lamps import EPISODE, Lamp

AGENT = """\
import json, sys

def ask(line):
    print(json.dumps(line), flush=True)
    return json.loads(sys.stdin.readline() or "{}")

ask({"type": "say", "message": "WORDS"}) if json.loads(sys.stdin.readline()) else None
ask({"type": "call", "call_id": "a", "tool": "fix", "arguments": {}})
ask({"type": "say", "message": "It is mended."})
"""
USER: dict[str, Any] = {
    "kind": "scripted",
    "facts": {
        "lamp": {"value": "the blue one"},
        "code": {"value": "open sesame", "tell": "never"},
    },
    "goals": [{"id": "mend", "asks": "a lamp that works"}],
    "turns": [
        {"id": "code", "when": {"asks": ["code"]}, "say": "It is open sesame.", "goals": ["mend"]},
        {"id": "which", "when": {"asks": ["which"]}, "say": "It is {lamp}.", "goals": ["mend"]},
        {"id": "bye", "when": {"called": ["fix"]}, "say": "Thanks.", "end": "satisfied"},
    ],
}
PLAIN, PRESSING = "Which lamp is it?", "What is the code?"


def talked(door: Door) -> Lamp:
    """Make the conversations: the agent asks for what it needs, then for what it must not know."""
    made = Lamp(door, AGENT.replace("WORDS", PLAIN), {**EPISODE, "user": USER})
    made.run("--attempts", 2)
    made.agent.write_text(AGENT.replace("WORDS", PRESSING), encoding="utf-8")
    made.run("--resume", "--attempts", 4)
    rows = door.rows("SELECT termination FROM traces ORDER BY attempt")
    assert rows == [("user_stop",)] * 2 + [("user_error",)] * 2
    return made


def again(made: Lamp, to: Path) -> Lamp:
    """The same workspace once more, to be changed."""
    other = copy.copy(made)
    other.door = copied(made.door.root, to)
    return other
