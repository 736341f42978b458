"""Money that people entered beside what attempts cost: handling by humans, and incidents.

It stands on lines of its own and never inside the cost per success.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from msgspec import to_builtins

from reviewer.report.amounts import exact
from reviewer.report.evidence import CostEntry

KINDS = ("human", "incident")


def entered(ledger: Sequence[CostEntry], kind: str) -> float | None:
    """The sum of the entries of a kind that count, in USD; None where nobody entered any."""
    amounts = [exact(one.amount_usd) for one in ledger if one.kind == kind and one.counts]
    return float(sum(amounts, Fraction(0))) if amounts else None


def ledger_section(ledger: Sequence[CostEntry]) -> list[dict[str, Any]]:
    """Every entry, oldest first, also those that a later one corrects."""
    return [to_builtins(one) for one in ledger]


def ledger_rows(entries: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Entries as rows: when, kind, amount, by whom, note."""
    replaced = {one["corrects"] for one in entries}
    return [
        [
            one["at"],
            one["kind"],
            f"${one['amount_usd']:,.2f}" + (" (corrected)" if one["entry_id"] in replaced else ""),
            one["reviewer"],
            one["note"] or "-",
        ]
        for one in entries
    ]
