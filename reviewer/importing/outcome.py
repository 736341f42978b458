"""What judging makes of records, small enough to travel between processes."""

from collections.abc import Sequence
from typing import NamedTuple

from reviewer.db.intake import Chunk, Pack, Refused
from reviewer.gates.model import Finding


class Facts(NamedTuple):
    """One judged record without its payload. `pack`, `offset`, `length` say where that stands in
    the group's packs; all None when nothing of it may be stored, or when it is in `chunks`.
    `replaces`, `identity`, `names` and `read_with` are as the reader's `Foreign` has them;
    `another` says that it is known to be one more record of the attempt whose number it has (in a
    merge)."""

    number: int
    suite_id: str
    candidate_id: str
    episode_id: str
    attempt: int | None
    title: str
    gates: int
    passed: bool | None
    critical: bool
    infra: bool
    cost_usd: float | None
    latency_ms: float | None
    steps: int
    timeouts: int
    events: int
    termination: str | None
    final_state: str | None
    evidence: int
    sha256: bytes
    pack: int | None
    offset: int | None
    length: int | None
    diagnostics: bytes | None
    findings: tuple[Finding, ...]
    chunks: Sequence[Chunk]
    verdict: tuple[bool | None, float | None, str] | None
    replaces: tuple[int, int] | None = None
    identity: str = ""
    another: bool = False
    names: tuple[str, ...] = ()
    read_with: frozenset[int] = frozenset()


class Group(NamedTuple):
    """A run of records, judged. `records` counts them all; numbers start at `first`. `flagged` are
    those of `facts` that held raw identifiers: judged, but nothing of them may be stored."""

    first: int
    records: int
    facts: list[Facts]
    packs: list[Pack]
    refused: list[Refused]
    notes: dict[str, int]
    flagged: list[Refused]
