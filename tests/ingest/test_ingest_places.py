"""Files of one name in two folders are two files: what no record names is called after its path."""

import json
from itertools import permutations
from typing import Any

import pytest
from doors import Door

CHAT = [{"role": "user", "content": "refund my lamp"}, {"role": "assistant", "content": "done"}]
OTHER = [{"role": "user", "content": "where is my lamp"}, {"role": "assistant", "content": "here"}]
TAU = {"task_id": 1, "reward": 1.0, "info": {}, "traj": [], "trial": 0}
LANGCHAIN = {"type": "human", "data": {"content": "hi", "type": "human"}}


def ids(door: Door) -> set[tuple[str, str, int]]:
    return set(door.rows("SELECT candidate_id, episode_id, attempt FROM traces"))


def test_a_folder_with_two_files_of_one_name(door: Door) -> None:
    door.file("tree/a/run.json", json.dumps(CHAT))
    door.file("tree/b/run.json", json.dumps(OTHER))
    door.file("tree/c/one.json", json.dumps(CHAT + OTHER))
    door.ok("import", door.root / "tree")
    assert ids(door) == {
        ("a/run", "a/run-1", 1), ("b/run", "b/run-1", 1), ("one", "c/one-1", 1),
    }  # fmt: skip


@pytest.mark.parametrize("order", list(permutations(["x/a", "y/a", "b"])))
def test_files_named_one_after_another(door: Door, order: tuple[str, ...]) -> None:
    """Never two in one episode, and each keeps its name when it is imported again."""
    for number, place in enumerate(order):
        words = [{"role": "user", "content": f"ask {number}"}]
        door.ok("import", door.file(f"{place}/run.json", json.dumps(words)))
    before = ids(door)
    assert len({row[:2] for row in before}) == 3
    for place in order:
        path = door.root / place / "run.json"
        said = json.loads(path.read_bytes())
        path.write_text(json.dumps([*said, {"role": "assistant", "content": "more"}]))
        door.run("import", path)
    assert {row[:2] for row in ids(door)} == {row[:2] for row in before}


def test_files_named_together(door: Door) -> None:
    paths = [door.file(f"{place}/run.json", json.dumps(chat))
             for place, chat in (("a", CHAT), ("b", OTHER))]  # fmt: skip
    door.ok("import", *paths)
    assert ids(door) == {("a/run", "a/run-1", 1), ("b/run", "b/run-1", 1)}


def test_one_file_is_called_after_itself(door: Door) -> None:
    door.ok("import", door.file("deep/er/run.json", json.dumps(CHAT)))
    assert ids(door) == {("run", "run-1", 1)}


@pytest.mark.parametrize(("name", "content"), [
    ("run.json", [TAU]),
    ("run.json", [LANGCHAIN, LANGCHAIN]),
    ("run.jsonl", [{"task_id": "t", "model_answer": "4"}]),
])  # fmt: skip
def test_candidates_of_one_file_name_are_two(door: Door, name: str, content: Any) -> None:
    door.file(f"tree/a/{name}", json.dumps(content))
    changed = json.dumps(content).replace('"hi"', '"ho"').replace('"4"', '"5"').replace("1.0", "0")
    door.file(f"tree/b/{name}", changed)
    door.ok("import", door.root / "tree")
    assert {row[0] for row in ids(door)} == {"a/run", "b/run"}


def test_ids_in_the_records_come_first(door: Door) -> None:
    for folder, model in (("a", "m1"), ("b", "m1"), ("c", "m2")):
        record = {"id": "task-7", "model": model,
                  "messages": [*CHAT, {"role": "user", "content": folder}]}  # fmt: skip
        door.file(f"tree/{folder}/run.json", json.dumps(record))
    door.ok("import", door.root / "tree")
    assert {row[:2] for row in ids(door)} == {("m1", "task-7"), ("m2", "task-7")}
