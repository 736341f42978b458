"""Comparisons of tool calls: names and arguments with those expected, and two sequences.

All of it is diagnostics; the gates on acts are in `reviewer.gates`. A call is a pair (tool,
arguments) or an object with `tool` and `args` or `arguments`. Values are compared as JSON: True is
not 1, 1.0 is 1, key order does not matter.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from reviewer.stats.checks import non_negative


class ToolScores(TypedDict):
    precision: float
    recall: float
    f1: float


class TrajectoryMetrics(TypedDict):
    """Diagnostics of a trajectory; null where undefined."""

    precision: float | None
    recall: float | None
    f1: float | None
    order: float | None
    efficiency: float | None


def tool_prf_set(actual: Sequence[str], expected: Sequence[str]) -> ToolScores:
    """Return precision, recall and F1 over distinct tool names; 0 for an empty side (scikit-learn).

    Two empty sides agree: all 1.
    """
    made, wanted = set(actual), set(expected)
    if not made and not wanted:
        return ToolScores(precision=1.0, recall=1.0, f1=1.0)
    shared = len(made & wanted)
    return ToolScores(
        precision=shared / len(made) if made else 0.0,
        recall=shared / len(wanted) if wanted else 0.0,
        f1=2 * shared / (len(made) + len(wanted)),
    )


def tool_f1_multiset(actual: Sequence[str], expected: Sequence[str]) -> float:
    """Return F1 over tool names with counts: a repeat counts at most as often as it is expected."""
    if not actual and not expected:
        return 1.0
    return 2 * _shared(actual, expected) / (len(actual) + len(expected))


def _shared(actual: Sequence[str], expected: Sequence[str]) -> int:
    return (Counter(actual) & Counter(expected)).total()


def _common(actual: Sequence[str], expected: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of tool names."""
    from rapidfuzz.distance import LCSseq

    return LCSseq.similarity(list(actual), list(expected))


def step_efficiency(
    steps_used: float, optimal_steps: float, successful: bool = True
) -> float | None:
    """Return min(1, optimal/used): 0 when due work was not done, 1 when none was due or done.

    None for a run that did not succeed: a short failure is not efficient.
    """
    used = non_negative("steps_used", steps_used)
    optimal = non_negative("optimal_steps", optimal_steps)
    if not successful:
        return None
    if used == 0:
        return 1.0 if optimal == 0 else 0.0
    return min(1.0, optimal / used)


def trajectory_metrics(
    actual_tools: Sequence[str], expected_tools: Sequence[str], successful: bool = True
) -> TrajectoryMetrics:
    """Return precision, recall and F1 with counts, order = LCS/len(expected), step efficiency.

    Each is null where undefined: precision without a call, recall and order without an expected
    call, F1 without either, efficiency of a failed run.
    """
    shared = _shared(actual_tools, expected_tools)
    made, wanted = len(actual_tools), len(expected_tools)
    return TrajectoryMetrics(
        precision=shared / made if made else None,
        recall=shared / wanted if wanted else None,
        f1=2 * shared / (made + wanted) if made + wanted else None,
        order=_common(actual_tools, expected_tools) / wanted if wanted else None,
        efficiency=step_efficiency(made, wanted, successful),
    )


RawCall = Sequence[Any] | Mapping[str, Any]


class Call(NamedTuple):
    """A tool name and its arguments, each value as canonical JSON text."""

    tool: str
    arguments: dict[str, str]


def _plain(value: Any) -> Any:
    """Return the value with whole floats as integers, so that equal JSON numbers have equal
    text."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def canonical(value: Any) -> str:
    """Return one text per JSON value; raises ValueError for a value that JSON lacks (NaN,
    bytes)."""
    try:
        return json.dumps(_plain(value), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"arguments must be JSON values: {error}") from error
    except RecursionError as error:
        raise ValueError("arguments are nested too deeply to compare") from error


def as_call(name: str, raw: RawCall) -> Call:
    """Read one call; `name` is in the ValueError for a call that has neither form."""
    if isinstance(raw, Mapping):
        tool, arguments = raw.get("tool"), raw.get("args", raw.get("arguments", {}))
    elif isinstance(raw, list | tuple) and len(raw) == 2:
        tool, arguments = raw
    else:
        raise ValueError(f"{name} must be a (tool, arguments) pair or an object, not {raw!r}")
    if not isinstance(tool, str):
        raise ValueError(f"{name}: the tool must be a name, not {tool!r}")
    arguments = {} if arguments is None else arguments
    if not isinstance(arguments, Mapping) or not all(isinstance(k, str) for k in arguments):
        raise ValueError(f"{name}: the arguments of {tool} must be an object with text keys")
    return Call(tool, {key: canonical(value) for key, value in arguments.items()})


def as_calls(name: str, raw: Sequence[RawCall]) -> list[Call]:
    return [as_call(f"{name}[{i}]", call) for i, call in enumerate(raw)]


class ToolCallMetrics(TypedDict):
    """Diagnostics of tool calls; null where undefined.

    `argument_accuracy` is the mean over expected calls of the share of their arguments that the
    matched call got right (an unmatched call scores 0); precision and recall count single
    arguments, over all calls made and all calls expected. `matched_calls` of `expected_calls`.
    """

    tool_precision: float | None
    tool_recall: float | None
    argument_accuracy: float | None
    argument_precision: float | None
    argument_recall: float | None
    matched_calls: int
    expected_calls: int


def _right(actual: Call, expected: Call) -> int:
    return len(actual.arguments.items() & expected.arguments.items())


def _share(actual: Call, expected: Call) -> float:
    """Return the share of the expected arguments that are right; 1 when none is expected."""
    wanted = len(expected.arguments)
    return _right(actual, expected) / wanted if wanted else 1.0


def _worth(actual: Call, expected: Call) -> float:
    # Among equally right calls prefer the one with the fewest unexpected arguments.
    extra = len(actual.arguments) - _right(actual, expected)
    return _share(actual, expected) + 1e-6 / (1 + extra)


def _assign(made: list[Call], wanted: list[Call]) -> list[tuple[Call, Call]]:
    """Pair calls of one tool so that the total of right arguments is largest."""
    if not made or not wanted:
        return []
    if len(wanted) == 1:
        return [(max(made, key=lambda a: _worth(a, wanted[0])), wanted[0])]
    if len(made) == 1:
        return [(made[0], max(wanted, key=lambda e: _worth(made[0], e)))]
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(
        [[_worth(a, e) for a in made] for e in wanted], maximize=True
    )
    return [(made[a], wanted[e]) for e, a in zip(rows, columns, strict=True)]


def _by_tool(calls: list[Call]) -> dict[str, list[Call]]:
    grouped: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        grouped[call.tool].append(call)
    return grouped


def tool_call_metrics(
    actual_calls: Sequence[RawCall], expected_calls: Sequence[RawCall]
) -> ToolCallMetrics:
    """Compare calls made with calls expected, one to one within each tool name.

    Each actual call answers at most one expected call, by the assignment that gets most arguments
    right (scipy's linear_sum_assignment, imported only when there is a choice on both sides).
    Arguments are compared key by key as JSON.
    """
    made, wanted = (
        as_calls("actual_calls", actual_calls),
        as_calls("expected_calls", expected_calls),
    )
    made_by, wanted_by = _by_tool(made), _by_tool(wanted)
    pairs = [p for tool, due in wanted_by.items() for p in _assign(made_by.get(tool, []), due)]
    right = sum(_right(a, e) for a, e in pairs)
    given = sum(len(call.arguments) for call in made)
    due_arguments = sum(len(call.arguments) for call in wanted)
    accuracy = sum(_share(a, e) for a, e in pairs) / len(wanted) if wanted else None
    return ToolCallMetrics(
        tool_precision=len(pairs) / len(made) if made else None,
        tool_recall=len(pairs) / len(wanted) if wanted else None,
        argument_accuracy=accuracy,
        argument_precision=right / given if given else None,
        argument_recall=right / due_arguments if due_arguments else None,
        matched_calls=len(pairs),
        expected_calls=len(wanted),
    )


Keys = Sequence[str | None]
"""The keys of an item, strictest first: one per level, None where it has none."""


class Pair(NamedTuple):
    """Positions from 0 that belong together, and the level at which their keys agree."""

    a: int
    b: int
    level: int


def common_subsequence(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of one longest common subsequence, rising in both.

    Of several with the same length, the choice does not depend on the order of the arguments:
    swapping `a` and `b` swaps the positions and nothing else. Bit-parallel: 5,000 items against
    5,000 take milliseconds.
    """
    from rapidfuzz.distance import LCSseq

    if list(b) < list(a):
        return [(i, j) for j, i in common_subsequence(b, a)]
    numbers: dict[str, int] = {}
    first = [numbers.setdefault(key, len(numbers)) for key in a]
    second = [numbers.setdefault(key, len(numbers)) for key in b]
    found: list[tuple[int, int]] = []
    for step in LCSseq.opcodes(first, second):
        if step.tag == "equal":
            found += zip(
                range(step.src_start, step.src_end),
                range(step.dest_start, step.dest_end),
                strict=True,
            )
    return found


def align(a: Sequence[Keys], b: Sequence[Keys]) -> list[Pair]:
    """Return pairs of items whose keys agree, rising in both, the strictest level first.

    Level 0 pairs a longest common subsequence; each later level pairs the items between existing
    pairs that agree by its own keys. So a looser match never separates items that match strictly.
    Raises ValueError when an item has a different number of levels than the first.
    """
    levels = len((*a, *b)[0]) if a or b else 0
    if any(len(keys) != levels for keys in (*a, *b)):
        raise ValueError(f"every item needs {levels} keys, one per level")
    pairs: list[Pair] = []
    for level in range(levels):
        grown: list[Pair] = []
        for gap, end in _gaps(pairs, len(a), len(b)):
            mine = [i for i in gap[0] if a[i][level] is not None]
            theirs = [j for j in gap[1] if b[j][level] is not None]
            grown += [
                Pair(mine[i], theirs[j], level)
                for i, j in common_subsequence(
                    [a[i][level] or "" for i in mine], [b[j][level] or "" for j in theirs]
                )
            ]
            grown += end
        pairs = grown
    return pairs


def beside(pairs: Sequence[Pair], a: int, b: int) -> Iterator[tuple[int | None, int | None]]:
    """Yield every item of both once, in order: pairs together, others between them side by side.

    `a` and `b` are the lengths. An item without a partner that has nothing beside it is paired with
    None.
    """
    for (left, right), end in _gaps(pairs, a, b):
        for n in range(max(len(left), len(right))):
            yield (left[n] if n < len(left) else None, right[n] if n < len(right) else None)
        for pair in end:
            yield pair.a, pair.b


def _gaps(
    pairs: Sequence[Pair], a: int, b: int
) -> Iterator[tuple[tuple[range, range], list[Pair]]]:
    """Yield the stretches before, between and after pairs, each with the pair that ends it."""
    i = j = 0
    for pair in pairs:
        yield (range(i, pair.a), range(j, pair.b)), [pair]
        i, j = pair.a + 1, pair.b + 1
    yield (range(i, a), range(j, b)), []
