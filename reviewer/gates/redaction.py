"""The redaction gate: no personal data, no secrets in a trace. Every failure is critical.

Reviewer's own runner masks what it records; `source.unredacted` says where the agent had written
it.
"""

from collections.abc import Iterator
from typing import Any

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract
from reviewer.gates.model import Finding, Hits, Rule
from reviewer.gates.values import clip, parse
from reviewer.trace.record import TraceRecord

_NOTED = b'"unredacted"'


def check(contract: Contract, acts: Acts, hits: Hits, found: list[Finding]) -> None:
    """Append the places of unredacted values."""
    if hits:
        found.extend(unredacted(hits))
    if contract.own and _NOTED in bytes(acts.record.source):
        found.extend(unredacted(tuple(_noted(acts.record))))


def _noted(record: TraceRecord) -> Iterator[tuple[str, int | None]]:
    """Yield the places at which reviewer's own runner masked what the agent wrote."""
    source: Any = parse(record.source)
    noted = source.get("unredacted") if isinstance(source, dict) else None
    for one in noted if isinstance(noted, list) else ():
        if isinstance(one, dict) and isinstance(one.get("path"), str):
            yield one["path"], one["seq"] if type(one.get("seq")) is int else None


def unredacted(hits: Hits) -> Iterator[Finding]:
    """Yield a critical finding for each place with an unredacted value."""
    for path, seq in dict.fromkeys(hits):
        name = clip(path)
        text = f"an unredacted value at {name}"
        yield Finding("redaction", f"unredacted:{name}", "critical", seq, text)


def clauses(contract: Contract, acts: Acts, broken: frozenset[str]) -> Iterator[Rule]:
    """Yield the clause on how many events have no unredacted value."""
    yield Rule(("unredacted",), f"0 unredacted values in {len(acts.record.events)} events")
