"""`reviewer patterns --near`: attempts alone in their pattern, grouped by the nearness of words."""

import json
import random
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from doors import SUITE, V7, Door, copied, shipped

WORDS = {"parcel": (1.0, 0.0), "lost": (1.0, 0.2), "invoice": (0.0, 1.0), "paid": (0.2, 1.0)}
SAID = {
    "damaged-221": "The parcel was lost.",
    "attack-014": "The parcel was lost, the parcel! \x1b[31m",
    "appeal-009": "Lost parcel.",
}


class Library:
    """A stand-in for model2vec: the sum of the vectors of known words."""

    @classmethod
    def from_pretrained(cls, folder: Path) -> "Library":
        return cls()

    def encode(self, texts: list[str], max_length: int | None) -> list[list[float]]:
        assert max_length is None
        known = [[WORDS[w] for w in re.findall(r"\w+", one.lower()) if w in WORDS] for one in texts]
        return [[sum(v[axis] for v in row) for axis in (0, 1)] for row in known]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    module = ModuleType("model2vec")
    module.StaticModel = Library  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "model2vec", module)
    folder = tmp_path / "tiny-model"
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (folder / name).write_text(name)
    return folder


def failing() -> list[dict[str, Any]]:
    """One failing attempt of each episode, each with a pattern of its own."""
    keys = {("attack-014", 1), ("appeal-009", 2)}
    found = [r for r in shipped(V7) if (r["episode_id"], r["attempt"]) in keys]
    found.append(next(r for r in shipped(V7) if r["episode_id"] == "damaged-221"))
    found[-1] = {**found[-1], "final_state": "elsewhere", "attempt": 1}
    return [{**one, "candidate_id": "cand-a", "final_message": SAID[one["episode_id"]]}
            for one in found]  # fmt: skip


def near(door: Door, model: Path, *more: object) -> dict[str, Any]:
    said = door.ok("patterns", "--suite", SUITE, "--near", "--embedding-model", model, *more,
                   "--json")  # fmt: skip
    found: dict[str, Any] = json.loads(said.out)
    return found


def counts(found: dict[str, Any]) -> tuple[int, ...]:
    names = ("alone", "grouped", "near_none", "wordless", "not_compared")
    return tuple(found["near"][name] for name in names)


def test_attempts_alone_in_their_pattern_are_grouped_by_their_words(
    door: Door, model: Path
) -> None:
    records = failing()
    records[0]["final_message"] = "invoice paid"
    records.append({**records[0], "attempt": 2, "latency_ms": 1, "candidate_id": "cand-b"})
    door.take("a.jsonl", records)
    found = near(door, model)
    assert sorted(one["attempts"] for one in found["patterns"]) == [1, 1, 2]
    assert counts(found) == (2, 2, 0, 0, 0)
    [group] = found["near"]["groups"]
    assert [(c["candidate_id"], c["attempts"], c["counted"], c["measured"])
            for c in group["counts"]] == [("cand-a", 2, 2, 3), ("cand-b", 0, 0, 1)]  # fmt: skip
    assert [one["near_id"] for one in group["examples"]] == group["members"]
    assert group["near_id"] == group["members"][0]
    assert found["near"]["threshold"] == 0.75
    assert found["near"]["model"] == "tiny-model"


def test_what_is_far_and_what_has_no_known_word_is_counted_apart(door: Door, model: Path) -> None:
    records = failing()
    records[0]["final_message"] = "invoice paid"
    records[1]["final_message"] = "..."
    door.take("a.jsonl", records)
    found = near(door, model)
    assert counts(found) == (3, 0, 2, 1, 0)
    assert found["near"]["groups"] == []
    said = door.ok("patterns", "--near", "--embedding-model", model).out
    assert "of 3 attempts alone in a pattern, 0 in 0 groups, 2 near no other, 1 without" in said


def test_the_order_of_imports_changes_no_group(
    door: Door, model: Path, empty_template: Path, tmp_path: Path
) -> None:
    records = failing()
    door.take("a.jsonl", records)
    first = near(door, model)["near"]
    for turn in range(3):
        other = copied(empty_template, tmp_path / f"other-{turn}")
        random.Random(turn).shuffle(records)
        for number, one in enumerate(records):
            other.take(f"{number}.jsonl", [one])
        assert near(other, model)["near"] == first


def test_words_are_inert_and_those_of_a_record_that_is_not_stored_are_not_compared(
    door: Door, model: Path
) -> None:
    records = failing()
    raw = {**records[1], "final_message": "Lost parcel of ann@shop.example.", "latency_ms": 1}
    door.take("a.jsonl", [*records, {**raw, "candidate_id": "cand-b"}])
    whole = near(door, model)
    assert whole["near"]["wordless"] == 1
    said = door.ok("patterns", "--near", "--embedding-model", model).out
    assert said.count("  nearest ") == 2
    assert "ann@" not in said + json.dumps(whole)
    assert "\x1b" not in said


def test_a_group_has_the_names_of_its_attempts(door: Door, model: Path) -> None:
    records = failing()
    door.take("a.jsonl", records)
    [group] = near(door, model)["near"]["groups"]
    door.ok("patterns", "name", group["near_id"], "parcels that are lost")
    [named] = near(door, model)["near"]["groups"]
    assert [one["name"] for one in named["names"]] == ["parcels that are lost"]
    assert near(door, model)["names_elsewhere"] == []
    assert "parcels" not in door.ok("patterns").out
    door.ok("patterns", "name", group["members"][-1], "losses")
    [named] = near(door, model)["near"]["groups"]
    assert named["names_differ"]
    door.take("b.jsonl", [{**failing()[0], "attempt": 5, "latency_ms": 3}])  # no longer alone
    found = near(door, model)
    listed = [one for group in found["near"]["groups"] for one in group["names"]]
    assert {one["name"] for one in [*listed, *found["names_elsewhere"]]} == {
        "parcels that are lost", "losses",
    }  # fmt: skip
    said = door.run("patterns", "name", "near-0123456789abcdef", "x")
    assert said.code == 2
    assert "no attempt of" in said.err


def test_without_the_extra_or_a_model_the_way_out_is_said(
    full: Door, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = full.run("patterns", "--near")
    assert said.code == 2
    assert "--embedding-model DIR" in said.err
    said = full.run("patterns", "--near", "--embedding-model", full.root)
    assert said.code == 2
    assert "no static model is in this folder" in said.err
    monkeypatch.setitem(sys.modules, "model2vec", None)
    said = full.run("--embedding-model", model, "patterns", "--near")
    assert (said.code, said.out) == (2, "")
    assert "needs the extra `embeddings`" in said.err
    assert "pip install release-reviewer[embeddings]" in said.err
