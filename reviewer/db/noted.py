"""Failing and flagged traces with their findings, in columns.

Most of them have equal verdicts and findings: each combination is there once.
"""

import sqlite3
from array import array
from typing import NamedTuple

import msgspec

from reviewer.db.codec import json_ints, native
from reviewer.db.queries.traces import FLAG_CODES

DIGEST = 32
"""Bytes of a sha256."""


class NotedKind(NamedTuple):
    """The verdict of a trace, and the verdict of its source (`said`); its `findings` but for notes,
    and its codes that `flag` it for review, in printed order."""

    gates: int
    passed: int | None
    critical: int
    infra: int
    said: int | None
    termination: str | None
    findings: tuple[tuple[str, str, int | None], ...]
    flags: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Return whether the trace failed, or was lost to infrastructure."""
        return self.passed == 0 or self.infra == 1

    @property
    def lost(self) -> bool:
        """Return whether infrastructure ended the attempt without a verdict."""
        return self.infra == 1 and self.passed is None


class NotedTraces:
    """Traces that failed, were lost to infrastructure, that another harness judged otherwise, or
    that a user gave a thumbs-down. `places` are those in `kinds`; `digests` are end to end."""

    def __init__(self) -> None:
        self.kinds: list[NotedKind] = []
        self.episodes, self.attempts, self.places = array("q"), array("q"), array("q")
        self.digests = bytearray()


_kinds = msgspec.json.Decoder(list[NotedKind])
_THUMB, _NOTE = "thumbs_down", "note"


def noted_between(
    connection: sqlite3.Connection, first: int, last: int, candidate: int | None = None
) -> dict[int, NotedTraces]:
    """Return the noted traces among those with ids from `first` to `last`, by candidate and id."""
    span = {"first": first, "last": last, "candidate": candidate}
    of = "t.id BETWEEN :first AND :last AND (:candidate IS NULL OR t.candidate = :candidate)"
    findings: dict[int, list[tuple[str, str, int | None]]] = {}
    flags: dict[int, list[str]] = {}
    thumbs: set[int] = set()
    for trace, gate, code, severity, seq in connection.execute(
        "SELECT trace, gate, code, severity, seq FROM finding WHERE trace BETWEEN :first AND :last"
        f" AND (severity <> '{_NOTE}' OR code = '{_THUMB}') ORDER BY trace, n",
        span,
    ):
        if severity == _NOTE:
            thumbs.add(trace)
        else:
            findings.setdefault(trace, []).append((gate, code, seq))
        if code in FLAG_CODES:
            flags.setdefault(trace, []).append(code)
    said: dict[int, int] = dict(
        connection.execute(
            "SELECT trace, passed FROM source_verdict WHERE trace BETWEEN :first AND :last"
            " AND passed IS NOT NULL",
            span,
        ).fetchall()
    )
    others = json_ints(thumbs.union(said)) if thumbs or said else None
    also = "" if others is None else " OR t.id IN (SELECT value FROM json_each(:others))"
    found: dict[int, NotedTraces] = {}
    known: dict[int, dict[NotedKind, int]] = {}
    rows = connection.execute(
        "SELECT t.id, t.candidate, t.episode, t.attempt, t.sha256, t.gates, t.passed, t.critical,"
        f" t.infra, t.termination FROM trace t WHERE {of} AND (t.passed = 0 OR t.infra = 1{also})"
        " ORDER BY t.id",
        {**span, "others": others},
    )
    for trace, key, episode, attempt, digest, gates, passed, critical, infra, end in rows:
        kind = NotedKind(
            gates,
            passed,
            critical,
            infra,
            said.get(trace),
            end,
            tuple(findings.get(trace, ())),
            tuple(flags.get(trace, ())),
        )
        differs = kind.said is not None and kind.passed is not None and kind.said != kind.passed
        if not (kind.failed or differs or trace in thumbs):
            continue
        one = found.setdefault(key, NotedTraces())
        kinds = known.setdefault(key, {})
        if kind not in kinds:
            kinds[kind] = len(kinds)
            one.kinds.append(kind)
        one.episodes.append(episode)
        one.attempts.append(attempt)
        one.places.append(kinds[kind])
        if len(digest) != DIGEST:
            raise ValueError(f"trace {trace}: its sha256 has {len(digest)} bytes")
        one.digests += digest
    return found


def add_noted(found: NotedTraces, known: dict[NotedKind, int], more: NotedTraces) -> None:
    """Add further traces. `known` has the places of the kinds of `found`."""
    for kind in more.kinds:
        if kind not in known:
            known[kind] = len(known)
            found.kinds.append(kind)
    places = [known[kind] for kind in more.kinds]
    found.episodes += more.episodes
    found.attempts += more.attempts
    found.places.extend(map(places.__getitem__, more.places))
    found.digests += more.digests


def packed_noted(noted: NotedTraces) -> tuple[bytes, bytes, bytes, str]:
    """Return the columns `noted`, `digests`, `places` and `kinds` of a block."""
    pairs = array("q", bytes(16 * len(noted.episodes)))
    pairs[::2], pairs[1::2] = noted.episodes, noted.attempts
    return (
        native(pairs).tobytes(),
        bytes(noted.digests),
        native(array("H", noted.places)).tobytes(),
        msgspec.json.encode(noted.kinds).decode(),
    )


def unpacked_noted(pairs: bytes, digests: bytes, places: bytes, kinds: str) -> NotedTraces:
    """Return the traces in the columns of a block."""
    found, both = NotedTraces(), native(array("q", pairs))
    found.episodes, found.attempts = both[::2], both[1::2]
    found.places, found.digests = native(array("H", places)), bytearray(digests)
    found.kinds = _kinds.decode(kinds)
    made = len(found.places)
    if (len(both), len(digests)) != (2 * made, DIGEST * made):
        raise ValueError("noted traces of another size")
    return found
