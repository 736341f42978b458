"""What graders and simulated users used: lines of their own, and no part of a candidate's cost."""

from typing import Any

from msgspec import Struct

from reviewer.report.amounts import stable_bits
from reviewer.report.words import plural, usd

TITLES = {"grader": "grader", "simulated_user": "simulated user"}


class OtherCost(Struct, frozen=True, kw_only=True):
    """What one kind of them used in `attempts`: `tokens` of `counted` of these, a least where
    `partial`; `known_usd` of `priced` of them."""

    who: str
    attempts: int
    model_calls: int
    tokens: int
    counted: int
    partial: bool
    known_usd: float
    priced: int


def others_section(others: tuple[OtherCost, ...]) -> dict[str, Any]:
    """Members of the report's `cost`, one for each kind that is there: tokens and USD are None
    where they are known of no attempt, and a least where they are not known of all."""
    return {
        one.who: {
            "attempts": one.attempts,
            "model_calls": one.model_calls or None,
            "tokens": one.tokens if one.counted else None,
            "tokens_at_least": one.partial or one.counted < one.attempts,
            "usd": stable_bits(one.known_usd) if one.priced == one.attempts else None,
            "known_usd": stable_bits(one.known_usd),
            "unpriced_attempts": one.attempts - one.priced,
        }
        for one in others
    }


def others_spent(cost: dict[str, Any]) -> list[tuple[str, str]]:
    """(`grader`, `$0.5123, 12345 tokens in 71 attempts`) of each kind in the report's `cost`."""
    return [(title, _spent(cost[who])) for who, title in TITLES.items() if who in cost]


def others_texts(cost: dict[str, Any]) -> list[str]:
    """The same as sentences, which say whose these are not."""
    return [f"{title} cost {told}, not the candidate's" for title, told in others_spent(cost)]


def _spent(line: dict[str, Any]) -> str:
    """Its money and its tokens, with what is not known of either."""
    money = usd(line["usd"])
    if line["usd"] is None and line["known_usd"]:
        money = f"at least {usd(line['known_usd'])} ({line['unpriced_attempts']} unpriced)"
    parts = [money]
    if line["tokens"] is not None:
        least = "at least " if line["tokens_at_least"] else ""
        parts.append(f"{least}{plural(line['tokens'], 'token')}")
    return f"{', '.join(parts)} in {plural(line['attempts'], 'attempt')}"
