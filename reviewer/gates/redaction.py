"""The redaction gate: no personal data, no secrets in a trace. Every failure is critical."""

from collections.abc import Iterator

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract
from reviewer.gates.model import Finding, Hits, Rule
from reviewer.gates.values import clip


def check(contract: Contract, acts: Acts, hits: Hits, found: list[Finding]) -> None:
    """Append the places of unredacted values."""
    if hits:
        found.extend(unredacted(hits))


def unredacted(hits: Hits) -> Iterator[Finding]:
    """Yield a critical finding for each place that holds an unredacted value."""
    for path, seq in dict.fromkeys(hits):
        name = clip(path)
        text = f"an unredacted value at {name}"
        yield Finding("redaction", f"unredacted:{name}", "critical", seq, text)


def clauses(contract: Contract, acts: Acts, broken: frozenset[str]) -> Iterator[Rule]:
    """Yield how many events hold no unredacted value."""
    yield Rule(("unredacted",), f"0 unredacted values in {len(acts.record.events)} events")
