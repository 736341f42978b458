"""Counting traces in SQL against counting them one by one."""

import sqlite3
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reviewer.db.counts import COUNTS, STORED, rebuild_rolls, wrong_rolls
from reviewer.db.registry import Plan
from reviewer.db.schema import new_store_file
from reviewer.suite.gates import GATES

COSTS = st.none() | st.sampled_from(
    [0.0, 5e-10, 1.5e-9, 2.5e-9, 2.5000000000000005e-9, 1.0000000005, 0.1, 9e6, 1e6,
     3999999.0000000005, 1e7, -2.5e-9]
) | st.floats(0, 1e5) | st.integers(0, 10**7).map(lambda n: (n + 0.5) / 1e9)  # fmt: skip
TRACES = st.lists(
    st.tuples(
        st.integers(1, 2), st.integers(1, 3), st.integers(1, 5),
        st.just(0) | st.integers(0, 4 ** len(GATES) - 1), st.none() | st.integers(0, 1),
        st.integers(0, 1), st.integers(0, 1), COSTS, st.integers(0, 90),
    ),
    unique_by=lambda one: one[:3], max_size=12,
)  # fmt: skip


@cache
def empty() -> sqlite3.Connection:
    base = sqlite3.connect(":memory:")
    base.executescript(new_store_file().read_text())
    return base


@given(TRACES, st.integers(1, 4), st.integers(0, 10**6))
def test_the_database_counts_as_we_do(
    traces: list[tuple[Any, ...]], planned: int, chosen: int
) -> None:
    plan, base = Plan(planned, planned), empty()
    for table in ("trace", "roll", "gate_count"):
        base.execute(f"DELETE FROM {table}")
    base.executemany(
        f"INSERT INTO trace ({STORED}, timeouts, events, evidence, sha256, source, record)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, x'', 1, 1)",
        traces,
    )
    for candidate in (1, 2):
        rebuild_rolls(base, candidate, plan)  # trace by trace
        assert wrong_rolls(base, candidate, plan) == 0
    # Each count that is another one is found, and one that is gone.
    rows = base.execute("SELECT candidate, episode FROM roll").fetchall()
    if rows:
        key, column = rows[chosen % len(rows)], COUNTS[chosen % len(COUNTS)]
        base.execute(f"UPDATE roll SET {column}={column}+1 WHERE candidate=? AND episode=?", key)
        assert wrong_rolls(base, key[0], plan) == 2
        base.execute("DELETE FROM roll WHERE candidate=? AND episode=?", key)
        assert wrong_rolls(base, key[0], plan) == 1
    gates = base.execute("SELECT candidate, episode, gate FROM gate_count").fetchall()
    if gates:
        one = gates[chosen % len(gates)]
        before = wrong_rolls(base, one[0], plan)
        base.execute(
            "UPDATE gate_count SET failed=failed+1 WHERE candidate=? AND episode=? AND gate=?", one
        )
        assert wrong_rolls(base, one[0], plan) == before + 2
