"""Counting traces in SQL against counting them one by one."""

import sqlite3
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reviewer.db.counts import STORED, counted_rolls, roll_rows, stored_trace
from reviewer.db.registry import Plan
from reviewer.db.schema import new_store_file
from reviewer.suite.gates import GATES

COSTS = st.none() | st.sampled_from(
    [0.0, 5e-10, 1.5e-9, 2.5e-9, 2.5000000000000005e-9, 1.0000000005, 0.1, 9e6, 1e6, 1e7, -2.5e-9]
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


@given(TRACES, st.integers(1, 4))
def test_the_database_counts_as_we_do(traces: list[tuple[Any, ...]], planned: int) -> None:
    plan, base = Plan(planned, planned), empty()
    base.execute("DELETE FROM trace")
    base.executemany(
        f"INSERT INTO trace ({STORED}, timeouts, events, evidence, sha256, source, record)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, x'', 1, 1)",
        traces,
    )
    for candidate in (1, 2):
        mine = [stored_trace(one) for one in traces if one[0] == candidate]
        wanted = roll_rows(mine, {candidate: plan})
        assert sorted(counted_rolls(base, candidate, plan)) == sorted(wanted)
