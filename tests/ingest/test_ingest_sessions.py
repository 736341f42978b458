"""A session cut into files any way gives the same attempts: the same acts, the same verdict."""

import json
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door, copied

ATTACK = f"{SUITE}/{V8}/attack-014/1"
Messages = list[dict[str, Any]]


def turn(request: str, *tools: str, first: int = 1, say: str = "Done.") -> Messages:
    """One request, these calls with their results, and an answer."""
    said: Messages = [{"role": "user", "content": request}]
    for number, tool in enumerate(tools, first):
        token = json.dumps({"order_token": "ord_redacted_014"})
        call = {"name": tool, "arguments": token}
        made = {"id": f"c{number}", "type": "function", "function": call}
        said.append({"role": "assistant", "content": None, "tool_calls": [made]})
        said.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"ok {number}"})
    return [*said, {"role": "assistant", "content": say}]


GOOD = [
    *turn("Refund me.", "lookup_order"),
    *turn("And?", "open_security_review", "verify_state", first=2, say="It is held."),
]
BAD = [*turn("Refund me.", "lookup_order"), *turn("To the new card.", "issue_refund", first=2)]
LATE = [*turn("Refund me.", "lookup_order", "verify_state"),
        *turn("Hold it.", "open_security_review", first=3)]  # fmt: skip
KINDS = {"good": GOOD, "bad": BAD, "unverified": LATE}


def told(door: Door, suite: str = SUITE) -> list[tuple[Any, ...]]:
    """Every attempt with its verdict, its acts and its findings."""
    found = []
    for trace, *row in door.rows(
        "SELECT v.trace_id, v.candidate_id, v.episode_id, v.attempt, t.passed, t.critical, t.gates,"
        " t.steps FROM traces v JOIN trace t ON t.id = v.trace WHERE v.suite_id=? ORDER BY 1", suite
    ):  # fmt: skip
        codes = door.rows("SELECT code FROM findings WHERE trace_id=? ORDER BY 1", trace)
        found.append((*row, tuple(codes)))
    return found


def taken(door: Door, paths: Sequence[Path], how: str, *more: object) -> None:
    options = ("--suite", SUITE, "--candidate", V8, "--episode-map",
               door.file("map.json", {"s1": "attack-014"}), *more)  # fmt: skip
    if how == "together":
        calls: list[tuple[object, ...]] = [tuple(paths)]
    elif how == "folder":
        calls = [(paths[0].parent,)]
    else:
        calls = [(path,) for path in (paths if how == "forward" else reversed(paths))]
    for one in calls:
        said = door.run("import", *one, *options)
        assert said.code == 0, said
    door.healthy()


def files(door: Door, parts: Sequence[Messages], **members: Any) -> list[Path]:
    record = {"session_id": "s1", **members}
    return [
        door.file(f"cut/{name}.json", {**record, "messages": part})
        for name, part in zip("pqrstuvw", parts, strict=False)
    ]


@pytest.fixture
def whole(tmp_path: Path, empty_template: Path) -> Iterator[Any]:
    def read(messages: Messages) -> list[tuple[Any, ...]]:
        door = copied(empty_template, tmp_path / f"whole{len(list(tmp_path.iterdir()))}")
        taken(door, files(door, [messages]), "together")
        return told(door)

    yield read


HOW = ("together", "folder", "forward", "backward")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", range(1, 8))
def test_a_beginning_and_the_rest(door: Door, whole: Any, kind: str, place: int) -> None:
    messages = KINDS[kind]
    how = HOW[place % 4]
    taken(door, files(door, [messages[:place], messages[place:]]), how)
    assert told(door) == whole(messages)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_for_each_turn_with_its_history(
    door: Door, whole: Any, kind: str, how: str
) -> None:
    messages = KINDS[kind]
    taken(door, files(door, [messages[:4], messages]), how)
    assert told(door) == whole(messages)
