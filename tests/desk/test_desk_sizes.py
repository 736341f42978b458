"""What takes the room in a store, as `reviewer doctor --sizes` says it."""

import json
import sqlite3
from typing import Any

import pytest
from doors import SUITE, V8, Door, many, passing

from reviewer.db.queries import sizes as queries


def told(door: Door) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(door.ok("doctor", "--sizes", "--json").out)
    return found


def stored(door: Door, query: str) -> int:
    return int(door.one(query) or 0)


def test_each_byte_is_of_a_kind_and_each_payload_of_a_candidate(door: Door) -> None:
    """Packs are shared by candidates; a long trace lies in chunks, and so does its revision."""
    mixed = [one for pair in zip(many(70), many(70, "cand-b"), strict=True) for one in pair]
    door.take("mixed.jsonl", mixed)
    long = passing(candidate_id="cand-b", attempt=99, nonce=1)
    plain = [
        {name: value for name, value in event.items() if name not in ("seq", "call_id")}
        for event in long["events"]
    ]
    said = [{"kind": "message", "message": f"word {n} " * 20_000} for n in range(9)]
    long["events"] = [*said, *plain]
    door.take("long.json", long)
    door.take(
        "longer.json", {**long, "events": [*said, *plain, {"kind": "message", "message": "later"}]}
    )
    door.ok("_index")
    found = told(door)
    with sqlite3.connect(door.store) as base:
        [pages] = base.execute("PRAGMA page_count").fetchone()
        [size] = base.execute("PRAGMA page_size").fetchone()
    assert found["file_bytes"] == pages * size
    assert sum(found["kinds"].values()) + found["free_bytes"] == found["file_bytes"]
    assert all(found["kinds"][kind] > 0 for kind in ("payloads", "events", "full text", "traces"))
    [suite] = found["suites"]
    assert suite["suite_id"] == SUITE
    counts = {name: (one["traces"], one["revisions"]) for name, one in suite["candidates"].items()}
    assert counts == {"cand-a": (70, 0), "cand-b": (71, 1)}
    assert stored(door, "SELECT count(*) FROM chunk WHERE trace < 0") > 0
    frames = stored(
        door,
        "SELECT (SELECT sum(length(frame)) FROM pack) + (SELECT sum(length(frame)) FROM chunk)",
    )
    shares = sum(one["payload_bytes"] for one in suite["candidates"].values())
    assert abs(shares - frames) <= 2
    assert suite["sizes"]["payload_bytes"] == shares
    assert min(one["payload_bytes"] for one in suite["candidates"].values()) > 1000
    lists = stored(door, "SELECT sum(length(CAST(body AS BLOB))) FROM event_list")
    assert suite["sizes"]["event_bytes"] == lists > 0


def test_it_is_said_in_lines_and_a_row_for_each(full: Door) -> None:
    said = full.ok("doctor", "--sizes").out.splitlines()
    assert said[0].startswith(f"{full.store}: ")
    assert any(line.startswith("payloads: ") for line in said)
    assert any(line.startswith(f"of {SUITE}/{V8}: traces 9; revisions 0; pay") for line in said)


def test_what_sqlite_cannot_tell_is_not_measured(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "DBSTAT", "no_such_dbstat")
    assert told(full)["kinds"] is None
    assert "bytes by kind: not measured" in full.ok("doctor", "--sizes").out


def test_a_store_that_is_none_of_ours_is_not_asked(full: Door) -> None:
    with sqlite3.connect(full.store) as base:
        base.execute("CREATE VIEW endless AS SELECT 1")
    said = full.run("doctor", "--sizes")
    assert (said.code, said.out) == (20, "")
    assert "its schema was changed by another program" in said.err


def test_there_is_nothing_to_size_yet(door: Door) -> None:
    said = door.run("doctor", "--sizes")
    assert said.code == 20
    assert "import or reviewer run makes it" in said.err
    assert not door.store.exists()
