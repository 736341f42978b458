"""Whether the calls an agent made match the calls its contract expects."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import get_args

from reviewer.stats.calls import Call, RawCall, as_calls
from reviewer.suite.model import TrajectoryMatch

_MODES = get_args(TrajectoryMatch)
_ARGS = ("exact", "ignore", "subset", "superset")


def _key(call: Call, args: str) -> Hashable:
    return call.tool if args == "ignore" else (call.tool, frozenset(call.arguments.items()))


def _agree(actual: Call, expected: Call, args: str) -> bool:
    if args in ("exact", "ignore"):
        return _key(actual, args) == _key(expected, args)
    if actual.tool != expected.tool:
        return False
    if args == "subset":
        return actual.arguments.items() <= expected.arguments.items()
    return actual.arguments.items() >= expected.arguments.items()


def _pairs_off(links: list[list[int]]) -> bool:
    """Whether every item finds a partner of its own: maximum bipartite matching.

    `links` lists the possible partners of each item. Each item in turn looks, breadth first, for
    a chain of re-pairings that ends at a free partner.
    """
    holder: dict[int, int] = {}
    partner: dict[int, int] = {}
    for start in range(len(links)):
        reached_from: dict[int, int] = {}
        frontier, free = [start], None
        while frontier and free is None:
            item = frontier.pop()
            for other in links[item]:
                if other not in reached_from:
                    reached_from[other] = item
                    if other not in holder:
                        free = other
                        break
                    frontier.append(holder[other])
        if free is None:
            return False
        step: int | None = free
        while step is not None:
            item = reached_from[step]
            given_up = partner.get(item)
            holder[step], partner[item] = item, step
            step = given_up
    return True


def _covers(more: list[Call], fewer: list[Call], args: str, fewer_is_actual: bool) -> bool:
    """Whether each call of `fewer` has a call of its own in `more`."""
    if len(fewer) > len(more):
        return False
    if args in ("exact", "ignore"):
        return Counter(_key(c, args) for c in fewer) <= Counter(_key(c, args) for c in more)
    return _pairs_off(
        [
            [
                j
                for j, other in enumerate(more)
                if (_agree(call, other, args) if fewer_is_actual else _agree(other, call, args))
            ]
            for call in fewer
        ]
    )


def trajectory_match(
    actual: Sequence[RawCall], expected: Sequence[RawCall], mode: str, args: str = "exact"
) -> bool:
    """Whether the calls made match the calls expected (agentevals' modes).

    mode: `strict` same calls in the same order; `unordered` same calls, each as often; `subset`
    nothing beyond the expected; `superset` everything expected, perhaps more. args: `exact`,
    `ignore`, or the actual arguments a `subset` or `superset` of the expected ones.
    """
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
    if args not in _ARGS:
        raise ValueError(f"args must be one of {', '.join(_ARGS)}, not {args!r}")
    made, wanted = as_calls("actual", actual), as_calls("expected", expected)
    if mode in ("strict", "unordered") and len(made) != len(wanted):
        return False
    if mode == "strict":
        return all(_agree(a, e, args) for a, e in zip(made, wanted, strict=True))
    if mode == "subset":
        return _covers(wanted, made, args, fewer_is_actual=True)
    return _covers(made, wanted, args, fewer_is_actual=False)
