"""The tables of an archive: their columns, with type and meaning. docs/parquet.md lists them, and a
test holds it to them.

A change of a column's name, type or meaning takes a new `VERSION`; a column more does not.
"""

from typing import NamedTuple

from reviewer.db.codec import DIAGNOSTICS
from reviewer.suite.gates import COVERS, GATES

VERSION = 1
SCHEMA = f"reviewer/archive@{VERSION}"
GATE_PREFIX = "gate_"


class Column(NamedTuple):
    """A column: its type in SQL, and what it holds. None of them is ever 0 for what is not
    known: that is null."""

    name: str
    type: str
    text: str


class Table(NamedTuple):
    """A table. One that is `parted` lies in folders by suite, candidate and day. One that is
    `listed` is written from one line an attempt, in which all columns but the first three are
    lists: an attempt has many of its rows."""

    name: str
    text: str
    columns: tuple[Column, ...]
    parted: bool = False
    listed: bool = False


WHOSE = (
    Column("suite_id", "VARCHAR", "the suite, in full"),
    Column("candidate_id", "VARCHAR", "the candidate, in full"),
    Column("trace_id", "VARCHAR", "suite/candidate/episode/attempt"),
)

FACTS = Table(
    "facts",
    "one row per attempt",
    (
        *WHOSE,
        Column("key", "BIGINT", "its key in the store: the order in which attempts came in"),
        Column("suite_digest", "VARCHAR", "sha256 of the suite's lock"),
        Column("candidate_digest", "VARCHAR", "digest of the manifest; null: not known"),
        Column("episode_id", "VARCHAR", "the episode"),
        Column("attempt", "BIGINT", "its number, from 1"),
        Column("counted", "BOOLEAN", "of the first complete set, which rates are made of"),
        Column("in_plan", "BOOLEAN", "numbered within the plan"),
        Column("passed", "BOOLEAN", "the verdict; null: not measured, see `findings`"),
        Column("critical", "BOOLEAN", "a critical failure"),
        Column("infrastructure", "BOOLEAN", "infrastructure failed in it"),
        Column("lost", "BOOLEAN", "infrastructure ended it without a verdict: outside every rate"),
        *(
            Column(
                GATE_PREFIX + gate,
                "VARCHAR",
                f"{COVERS[gate]}: pass, fail, critical, not_measured; null: not in force",
            )
            for gate in GATES
        ),
        Column("final_state", "VARCHAR", "the end state as a word, where it is one"),
        Column("termination", "VARCHAR", "how it ended, as its source tells it"),
        Column("cost_usd", "DOUBLE", "its cost; null: not measured"),
        Column("cost_nano", "BIGINT", "the same in whole nano-USD, which add up exactly"),
        Column("latency_ms", "DOUBLE", "its duration; null: not measured"),
        Column("input_tokens", "BIGINT", "tokens sent; null: not counted"),
        Column("output_tokens", "BIGINT", "tokens received; null: not counted"),
        Column("steps", "BIGINT", "tool calls"),
        Column("timeouts", "BIGINT", "tool calls that timed out"),
        Column("events", "BIGINT", "events of the record"),
        Column("started_at", "TIMESTAMP", "when it began, UTC; null: not known"),
        Column("sha256", "VARCHAR", "of the record as imported"),
        Column("message_sha256", "VARCHAR", "of the final message; null: none, or not kept"),
        Column("start_state_digest", "VARCHAR", "of the state it began with; null: not told"),
        Column("payload", "VARCHAR", "kept; or refused: its record held raw identifiers"),
        Column("unread", "BIGINT", "parts of the record that no reader understood"),
        Column("revisions", "BIGINT", "further records of the same attempt"),
        Column("source_path", "VARCHAR", "the file it was imported from"),
        Column("source_sha256", "VARCHAR", "sha256 of that file"),
        Column("source_record", "BIGINT", "its place in that file"),
        Column("source_reader", "VARCHAR", "the reader, with its version"),
        Column("source_passed", "BOOLEAN", "what its source said of it; null: nothing"),
        Column("source_reward", "DOUBLE", "the reward its source gave; null: none"),
        *(Column(name, "FLOAT", "a diagnostic; null: undefined here") for name in DIAGNOSTICS),
    ),
    parted=True,
)

FINDINGS = Table(
    "findings",
    "one row per fact that a gate states",
    (
        *WHOSE,
        Column("n", "BIGINT", "its place among those of the attempt, from 0"),
        Column("gate", "VARCHAR", "the gate"),
        Column("code", "VARCHAR", "what it found"),
        Column("severity", "VARCHAR", "critical, fail, not_measured or note"),
        Column("seq", "BIGINT", "the event that shows it; null: none does"),
        Column("detail", "VARCHAR", "more words, masked"),
    ),
    parted=True,
)

EVENTS = Table(
    "events",
    "one row per event",
    (
        *WHOSE,
        Column("place", "BIGINT", "its place in the record, from 1"),
        Column("seq", "BIGINT", "its number, from 1"),
        Column("kind", "VARCHAR", "message, tool_call, tool_result, approval, …"),
        Column("tool", "VARCHAR", "the tool, where it has one"),
        Column("status", "VARCHAR", "ok, error, timeout, denied, pending; null: not told"),
        Column("actor", "VARCHAR", "who acts; null: not told"),
        Column("latency_ms", "DOUBLE", "null: not measured"),
        Column("cost_usd", "DOUBLE", "null: not measured"),
        Column("input_tokens", "BIGINT", "null: not counted"),
        Column("output_tokens", "BIGINT", "null: not counted"),
        Column("started_at", "TIMESTAMP", "UTC; null: not known"),
    ),
    parted=True,
    listed=True,
)

PAYLOADS = Table(
    "payloads",
    "one row per attempt whose record is kept",
    (
        *WHOSE,
        Column("sha256", "VARCHAR", "of the record as imported"),
        Column("record", "VARCHAR", "the record as stored: JSON, masked"),
    ),
    parted=True,
)

REVISIONS = Table(
    "revisions",
    "one row per record of an attempt that is not the one judged",
    (
        *WHOSE,
        Column("n", "BIGINT", "from 1"),
        Column("stands", "VARCHAR", "contained in a later record, or beside it"),
        Column("why", "VARCHAR", "what goes on, changed or is gone"),
        Column("passed", "BOOLEAN", "its verdict; null: not measured"),
        Column("critical", "BOOLEAN", "a critical failure"),
        Column("infrastructure", "BOOLEAN", "infrastructure failed in it"),
        Column("events", "BIGINT", "events of it"),
        Column("cost_usd", "DOUBLE", "null: not measured"),
        Column("latency_ms", "DOUBLE", "null: not measured"),
        Column("sha256", "VARCHAR", "of the record as imported"),
        Column("source_path", "VARCHAR", "the file it was imported from"),
        Column("source_record", "BIGINT", "its place in that file"),
        Column("findings", "VARCHAR", "JSON: [gate, code, severity, seq, detail] each"),
        Column("at", "VARCHAR", "when it came to stand here"),
    ),
)

QUARANTINE = Table(
    "quarantine",
    "one row per refused record",
    (
        Column("suite_id", "VARCHAR", "the suite it named; null: none"),
        Column("candidate_id", "VARCHAR", "the candidate it named; null: none"),
        Column("episode_id", "VARCHAR", "the episode it named; null: none"),
        Column("attempt", "BIGINT", "the attempt it named; null: none"),
        Column("source_path", "VARCHAR", "the file it was read from"),
        Column("source_sha256", "VARCHAR", "sha256 of that file"),
        Column("source_record", "BIGINT", "its place in that file"),
        Column("reasons", "VARCHAR", "JSON: every reason, never a value"),
    ),
)

SUITES = Table(
    "suites",
    "one row per suite",
    (
        Column("suite_id", "VARCHAR", "the suite"),
        Column("suite_digest", "VARCHAR", "sha256 of its lock"),
        Column("title", "VARCHAR", "its title"),
        Column("probe", "BOOLEAN", "a public benchmark: never certifying"),
        Column("frozen_at", "VARCHAR", "when it was frozen"),
        Column("attempts", "BIGINT", "attempts per episode that its policy plans"),
        Column("pass_k", "BIGINT", "the k of its policy's pass^k"),
        Column("policy", "VARCHAR", "JSON: its policy"),
    ),
)

CANDIDATES = Table(
    "candidates",
    "one row per candidate on a suite",
    (
        Column("suite_id", "VARCHAR", "the suite"),
        Column("candidate_id", "VARCHAR", "the candidate"),
        Column("candidate_digest", "VARCHAR", "digest of its manifest; null: not known"),
        Column("position", "BIGINT", "its place in the order of registration, from 1"),
        Column("registered_at", "VARCHAR", "when the store's journal first names it"),
        Column("planned", "BIGINT", "attempts per episode planned for it; null: a probe"),
    ),
)

EPISODES = Table(
    "episodes",
    "one row per episode of a suite",
    (
        Column("suite_id", "VARCHAR", "the suite"),
        Column("episode_id", "VARCHAR", "the episode"),
        Column("position", "BIGINT", "its place in the suite"),
        Column("title", "VARCHAR", "its title"),
        Column("tags", "VARCHAR", "JSON: its tags"),
        Column("category", "VARCHAR", "golden, secondary, negative or task"),
        Column("by_person", "BOOLEAN", "a person plays its user: no part of pass^k"),
    ),
)

TABLES = {
    one.name: one
    for one in (
        FACTS,
        FINDINGS,
        EVENTS,
        PAYLOADS,
        REVISIONS,
        QUARANTINE,
        SUITES,
        CANDIDATES,
        EPISODES,
    )
}
"""Every table by name."""
OPTIONAL = ("events", "payloads")
"""Tables that an archive holds only where they were asked for."""
