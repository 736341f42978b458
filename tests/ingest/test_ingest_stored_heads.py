"""Heads of large stored traces, as result files that come later read them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import swe_files
from doors import Door
from hypothesis import given
from hypothesis import strategies as st

from reviewer.db import payload
from reviewer.importing.pipeline.stored_results import StoredResults

OVER = "x" * (payload.LARGE + 1)


def long_trajectory(door: Door, number: int, **members: Any) -> Path:
    """Of over 1 MB, in its submission or in an observation."""
    path = swe_files.trajectory(door, "run", number)
    value = json.loads(path.read_bytes())
    value["messages"][-1]["content"] += OVER
    for message in value["messages"]:
        extra = message.get("extra")
        if isinstance(extra, dict):  # no answer says what it used
            extra.pop("response", None)
    path.write_text(json.dumps(value | members))
    return path


def test_results_are_joined_to_a_trajectory_of_over_a_megabyte_without_usage(door: Door) -> None:
    door.ok("import", long_trajectory(door, 0))
    assert door.one("SELECT count(*) FROM chunk WHERE n=0") == 1
    report = door.file("run/report.json", swe_files.report(0, True))
    said = door.ok("import", report)
    assert "fault" not in said.both
    assert door.rows("SELECT passed FROM source_verdict") == [(1,)]


texts = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
optional = st.fixed_dictionaries(
    {},
    optional={
        "attempt": st.integers(1, 9), "final_message": texts, "usage": values, "source": values,
        "started_at": st.none(), "termination": texts, "start_state_digest": st.none(),
    },
)  # fmt: skip


@given(optional, values, st.booleans())
def test_any_stored_head_is_read(members: dict[str, Any], state: Any, named: bool) -> None:
    """Whatever members a valid record has and lacks, in chunks as in a pack."""
    record = {
        "episode_id": "e", "candidate_id": "c", "events": [{"kind": "message", "text": "t"}],
        "final_state": state, "cost_usd": None, "latency_ms": None, **members,
    }  # fmt: skip
    if named:
        record["source"] = {"format": "mini-swe-agent", "joined_by": {"model": "m"}}
    raw = json.dumps(record).encode()
    store = sqlite3.connect(":memory:")
    store.execute("CREATE TABLE chunk (trace, n, first_seq, events, frame)")
    store.execute("CREATE TABLE pack (id, size, sha256, frame)")
    store.execute("CREATE TABLE attempt_name (name, trace)")
    for n, piece in enumerate(payload.chunk(raw)):
        store.execute("INSERT INTO chunk VALUES (7, ?, 0, 0, ?)", (n, piece.frame))
    pack = payload.compress([raw])
    store.execute("INSERT INTO pack VALUES (1, ?, ?, ?)", (pack.size, pack.sha256, pack.frame))
    place = {"chunks": (None, None, None), "pack": (1, 0, len(raw))}
    seen = [read_head(store, *place[kind]) for kind in ("chunks", "pack")]
    assert seen[0] == seen[1]
    assert seen[0].final_state == state
    wanted = record.get("source")
    assert seen[0].source == (wanted if isinstance(wanted, dict) else {})
    assert seen[0].termination == members.get("termination")


def read_head(store: sqlite3.Connection, pack: Any, offset: Any, length: Any) -> Any:
    """What the part that joins results reads of trace 7."""
    row = (7, 1, 1, 1, 1, pack, offset, length, 1, "c", "e", 1, "p", None, None, None)
    connection = _Answers(store, row)
    [(_, record)] = StoredResults(connection, "", {})._of("e")  # type: ignore[arg-type]
    return record


class _Answers:
    """A store whose question for attempts has one answer."""

    def __init__(self, store: sqlite3.Connection, row: tuple[Any, ...]) -> None:
        self._store, self._row = store, row

    def execute(self, query: str, values: Any = ()) -> Any:
        if "CROSS JOIN" in query:
            return self._store.execute(f"SELECT {','.join('?' * len(self._row))}", self._row)
        return self._store.execute(query, values)


def test_a_damaged_head_is_told_as_damage(door: Door) -> None:
    """It is no fault of the reader of the file that came later."""
    door.ok("import", long_trajectory(door, 0))
    with closing(sqlite3.connect(door.store)) as store:
        store.execute("UPDATE chunk SET frame = x'00' WHERE n = 0")
        store.commit()
    said = door.run("import", door.file("run/report.json", swe_files.report(0, True)))
    assert said.code != 0
    assert "damaged" in said.both
    assert "a fault of" not in said.both
