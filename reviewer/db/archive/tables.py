"""The tables of an archive: their columns, with type and meaning. docs/parquet.md lists them, and a
test compares the two.

A change of a column's name, type or meaning requires a new `VERSION`; an added column does not.
"""

from typing import NamedTuple

from reviewer.db.codec import DIAGNOSTICS
from reviewer.suite.gates import COVERS, GATES

VERSION = 1
SCHEMA = f"reviewer/archive@{VERSION}"
GATE_PREFIX = "gate_"


class Column(NamedTuple):
    """A column: its SQL type and its meaning. An unknown value is null in every column, never 0."""

    name: str
    type: str
    text: str


class Table(NamedTuple):
    """A table. The files of a `parted` table lie in folders by suite, candidate and day. A `listed`
    table is written from one line per attempt, in which all columns but the first three are lists,
    because an attempt has many of its rows."""

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
        Column("key", "BIGINT", "the key in the store: the order of arrival"),
        Column("suite_digest", "VARCHAR", "sha256 of the suite's lock"),
        Column("candidate_digest", "VARCHAR", "digest of the manifest; null: not known"),
        Column("episode_id", "VARCHAR", "the episode"),
        Column("attempt", "BIGINT", "its number, from 1"),
        Column(
            "counted", "BOOLEAN", "part of the first complete set, from which rates are computed"
        ),
        Column("in_plan", "BOOLEAN", "numbered within the plan"),
        Column("passed", "BOOLEAN", "the verdict; null: not measured, see `findings`"),
        Column("critical", "BOOLEAN", "a critical failure"),
        Column("infrastructure", "BOOLEAN", "infrastructure failed during the attempt"),
        Column("lost", "BOOLEAN", "infrastructure ended it without a verdict: in no rate"),
        *(
            Column(
                GATE_PREFIX + gate,
                "VARCHAR",
                f"{COVERS[gate]}: pass, fail, critical, not_measured; null: not in force",
            )
            for gate in GATES
        ),
        Column("final_state", "VARCHAR", "the final state, if it is a word"),
        Column("termination", "VARCHAR", "how it ended, according to its source"),
        Column("cost_usd", "DOUBLE", "the cost; null: not measured"),
        Column("cost_nano", "BIGINT", "the same in whole nano-USD, which can be added exactly"),
        Column("latency_ms", "DOUBLE", "the duration; null: not measured"),
        Column("input_tokens", "BIGINT", "tokens sent; null: not counted"),
        Column("output_tokens", "BIGINT", "tokens received; null: not counted"),
        Column("steps", "BIGINT", "tool calls"),
        Column("timeouts", "BIGINT", "tool calls that timed out"),
        Column("events", "BIGINT", "events of the record"),
        Column("started_at", "TIMESTAMP", "start time, UTC; null: not known"),
        Column("sha256", "VARCHAR", "sha256 of the record as imported"),
        Column("message_sha256", "VARCHAR", "sha256 of the final message; null: none, or not kept"),
        Column("start_state_digest", "VARCHAR", "digest of the start state; null: not stated"),
        Column("payload", "VARCHAR", "kept, or refused: the record contained raw identifiers"),
        Column("unread", "BIGINT", "parts of the record that the reader did not understand"),
        Column("revisions", "BIGINT", "further records of the same attempt"),
        Column("source_path", "VARCHAR", "the file it was imported from"),
        Column("source_sha256", "VARCHAR", "sha256 of that file"),
        Column("source_record", "BIGINT", "position in that file"),
        Column("source_reader", "VARCHAR", "the reader, with its version"),
        Column("source_passed", "BOOLEAN", "the verdict of its source; null: none"),
        Column("source_reward", "DOUBLE", "the reward of its source; null: none"),
        *(Column(name, "FLOAT", "a diagnostic; null: undefined") for name in DIAGNOSTICS),
    ),
    parted=True,
)

FINDINGS = Table(
    "findings",
    "one row per fact that a gate states",
    (
        *WHOSE,
        Column("n", "BIGINT", "position among the findings of the attempt, from 0"),
        Column("gate", "VARCHAR", "the gate"),
        Column("code", "VARCHAR", "the code of the finding"),
        Column("severity", "VARCHAR", "critical, fail, not_measured or note"),
        Column("seq", "BIGINT", "the event that shows it; null: none"),
        Column("detail", "VARCHAR", "details, masked"),
    ),
    parted=True,
)

EVENTS = Table(
    "events",
    "one row per event",
    (
        *WHOSE,
        Column("place", "BIGINT", "position in the record, from 1"),
        Column("seq", "BIGINT", "its number, from 1"),
        Column("kind", "VARCHAR", "message, tool_call, tool_result, approval, …"),
        Column("tool", "VARCHAR", "the tool, if any"),
        Column("status", "VARCHAR", "ok, error, timeout, denied, pending; null: not stated"),
        Column("actor", "VARCHAR", "the actor; null: not stated"),
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
        Column("sha256", "VARCHAR", "sha256 of the record as imported"),
        Column("record", "VARCHAR", "the record as stored: JSON, masked"),
    ),
    parted=True,
)

REVISIONS = Table(
    "revisions",
    "one row per record of an attempt other than the scored one",
    (
        *WHOSE,
        Column("n", "BIGINT", "from 1"),
        Column("stands", "VARCHAR", "contained in a later record, or kept beside it"),
        Column("why", "VARCHAR", "what continues, changed or is missing"),
        Column("passed", "BOOLEAN", "its verdict; null: not measured"),
        Column("critical", "BOOLEAN", "a critical failure"),
        Column("infrastructure", "BOOLEAN", "infrastructure failed in it"),
        Column("events", "BIGINT", "number of events"),
        Column("cost_usd", "DOUBLE", "null: not measured"),
        Column("latency_ms", "DOUBLE", "null: not measured"),
        Column("sha256", "VARCHAR", "sha256 of the record as imported"),
        Column("source_path", "VARCHAR", "the file it was imported from"),
        Column("source_record", "BIGINT", "position in that file"),
        Column("findings", "VARCHAR", "JSON list of [gate, code, severity, seq, detail]"),
        Column("at", "VARCHAR", "when it became a revision"),
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
        Column("source_record", "BIGINT", "position in that file"),
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
        Column("position", "BIGINT", "position in the order of registration, from 1"),
        Column("registered_at", "VARCHAR", "when the store's journal names it first"),
        Column("planned", "BIGINT", "attempts per episode planned for it; null: a probe"),
    ),
)

EPISODES = Table(
    "episodes",
    "one row per episode of a suite",
    (
        Column("suite_id", "VARCHAR", "the suite"),
        Column("episode_id", "VARCHAR", "the episode"),
        Column("position", "BIGINT", "position in the suite"),
        Column("title", "VARCHAR", "its title"),
        Column("tags", "VARCHAR", "JSON: its tags"),
        Column("category", "VARCHAR", "golden, secondary, negative or task"),
        Column("by_person", "BOOLEAN", "a person plays its user: not in pass^k"),
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
"""Tables that an archive contains only on request."""
