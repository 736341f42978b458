"""tau2-bench tasks in the world of a checkout: the domain's own tools and database as a toolkit."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from test_cli_tau2_run import AGENTS, RUN, SUITE, Endpoint, made, outcome, serving

TOOLS = '''
from typing import List, Optional

from loguru import logger

from tau2.domains.mock.data_model import Room, Rooms
from tau2.environment.toolkit import ToolKitBase, ToolType, is_tool


class RoomTools(ToolKitBase):
    """Rooms of a house."""

    db: Rooms

    def __init__(self, db: Rooms) -> None:
        super().__init__(db)

    @is_tool(ToolType.WRITE)
    def create_task(self, room: str, guests: List[str], note: Optional[str] = None) -> Room:
        """
        Book a room.

        It must be free.

        Args:
            room: The room's name,
                as the list has it.
            guests: Who stays.

        Raises:
            ValueError: If it is taken.
        """
        logger.info("booking")
        found = self.db.rooms[room]
        if found.guests:
            raise ValueError(f"Room {room} is taken")
        found.guests = guests
        return found

    @is_tool(ToolType.READ)
    def get_users(self) -> List[Room]:
        """List the rooms."""
        return list(self.db.rooms.values())
'''
DATA_MODEL = """
from typing import Dict, List

from pydantic import BaseModel, Field

from tau2.domains.mock.utils import DB_PATH
from tau2.environment.db import DB


class Room(BaseModel):
    name: str
    guests: List[str] = Field(default_factory=list)


class Rooms(DB):
    rooms: Dict[str, Room]
"""
UTILS = 'from tau2.utils.utils import DATA_DIR\n\nDB_PATH = DATA_DIR / "tau2" / "db.json"\n'
ROOMS = {"rooms": {"blue": {"name": "blue", "guests": []}, "red": {"name": "red", "guests": ["A"]}}}


def task(number: str, *actions: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": number,
        "user_scenario": {
            "instructions": {
                "domain": "mock",
                "reason_for_call": "Book the blue room for B.",
                "known_info": "You are james_taylor_7043, it is about 1N99U6.",
            }
        },
        "evaluation_criteria": {
            "actions": [
                {"action_id": f"{number}_{n}", "name": name, "arguments": given}
                for n, (name, given) in enumerate(actions)
            ],
            "reward_basis": ["DB"],
        },
    }


BOOK = ("create_task", {"room": "blue", "guests": ["B"]})
TASKS = [task("30", ("get_users", {}), BOOK), task("31", ("get_users", {}))]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "tau2-bench"
    code, data = folder / "src/tau2/domains/mock", folder / "data/tau2/domains/mock"
    for place in (code, data):
        place.mkdir(parents=True)
    (folder / "LICENSE").write_text("MIT")
    for name, text in (("tools", TOOLS), ("data_model", DATA_MODEL), ("utils", UTILS)):
        (code / f"{name}.py").write_text(text)
    (data / "db.json").write_text(json.dumps(ROOMS))
    (data / "policy.md").write_text("# Rooms\n")
    (data / "tasks.json").write_text(json.dumps(TASKS))
    return folder


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as found:
        yield found


ROOM_AGENTS: dict[str, list[Any]] = {
    "reference": ["For whom?", ("get_users", {}), BOOK, "Booked."],
    "tries-first": ["For whom?", ("get_users", {}),
        ("create_task", {"room": "red", "guests": ["B"]}), BOOK, "Booked."],
    "wrong": ["For whom?", ("get_users", {}),
        ("create_task", {"room": "blue", "guests": ["C"]}), "Booked."],
    "idle": ["For whom?", "I cannot."],
}  # fmt: skip


def frozen(door: Door) -> None:
    """Freeze the suite, with a waiver for what its few tasks do not show."""
    refused = door.run("suite", "freeze", SUITE)
    assert refused.code == 20
    assert "not sound: repeater passes all 2 episodes" in refused.err
    path = door.root / "suites" / SUITE / "suite.json"
    head = json.loads(path.read_bytes())
    assert [one["agent"] for one in head["waivers"]] == ["no-verify"]
    head["waivers"].append({"agent": "repeater", "reason": "two tasks with one booking"})
    path.write_text(json.dumps(head))
    door.ok("suite", "freeze", SUITE)


def test_the_domains_own_tools_decide(
    door: Door, endpoint: Endpoint, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = checkout / "data/tau2/domains/mock/tasks.json"
    monkeypatch.setattr("test_cli_tau2_run.AGENTS", ROOM_AGENTS)
    monkeypatch.setattr("test_cli_tau2_run.RUN", tasks)
    made(door, endpoint, "--checkout", checkout, "--as", SUITE)
    folder = door.root / "suites" / SUITE
    told = json.loads((folder / "toolset.json").read_bytes())
    assert told["toolkit"] == "tau2_world:World"
    (book,) = [one for one in told["tools"] if one["name"] == "create_task"]
    assert book["description"] == "Book a room.\n\nIt must be free."
    assert book["parameters"]["required"] == ["room", "guests"]
    room = book["parameters"]["properties"]["room"]
    assert room["description"] == "The room's name, as the list has it."
    assert (folder / "toolkits/tau2/LICENSE").read_text() == "MIT"
    assert (folder / "policy.md").read_text() == "# Rooms\n"
    frozen(door)
    found = {name: outcome(door, name) for name in ROOM_AGENTS}
    assert found == {
        "reference": (1, "user_stop", []),
        "tries-first": (1, "user_stop", []),
        "wrong": (0, "user_stop", ["wrong_state:database"]),
        "idle": (
            0, "user_stop", ["wrong_state:database", "missing:create_task", "missing:get_users"]
        ),
    }  # fmt: skip
    door.healthy()


def test_what_cannot_be_a_world_is_refused_and_leaves_nothing(door: Door, checkout: Path) -> None:
    tasks = checkout / "data/tau2/domains/mock/tasks.json"
    make = ("suite", "from-tau2", tasks, "--as", SUITE, "--checkout")
    refused = door.run(*make, checkout.parent)
    assert refused.code == 20
    assert "LICENSE: cannot be read" in refused.err
    refused = door.run(*make, checkout, "--domain", "telecom")
    assert refused.code == 20
    assert "--checkout is for airline, retail, mock" in refused.err
    refused = door.run(*make, checkout, "--recorded", tasks)
    assert refused.code == 2
    broken = checkout / "src/tau2/domains/mock/tools.py"
    broken.write_text("import nothing_of_this_name\n")
    refused = door.run(*make, checkout)
    assert refused.code == 20
    assert "the tools of mock do not work here" in refused.err
    assert not (door.root / "suites" / SUITE).exists()


BENCHMARK = os.environ.get("TAU2_BENCH", "")


@pytest.mark.skipif(not BENCHMARK, reason="TAU2_BENCH names no checkout of tau2-bench")
def test_agents_in_the_benchmarks_own_airline(door: Door, endpoint: Endpoint) -> None:
    made(door, endpoint, "--checkout", BENCHMARK)
    frozen(door)
    found = {name: outcome(door, name)[:2] for name in AGENTS}
    assert RUN.exists()
    assert found == {
        "reference": (1, "user_stop"),
        "idle": (0, "user_stop"),
        "wrong-only": (0, "user_stop"),
        "wrong": (0, "user_stop"),
        "explorer": (0, "user_stop"),
    }
