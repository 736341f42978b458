"""Tool calls with their arguments: reading them, and matching them one to one.

A call is a pair (tool, arguments) or an object with `tool` and `args` or `arguments`. Values are
compared as JSON: True is not 1, 1.0 is 1, key order does not matter.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

RawCall = Sequence[Any] | Mapping[str, Any]


class Call(NamedTuple):
    """A tool name and its arguments, each value as canonical JSON text."""

    tool: str
    arguments: dict[str, str]


def _plain(value: Any) -> Any:
    """The value with whole floats as integers, so that equal JSON numbers have equal text."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def canonical(value: Any) -> str:
    """One text per JSON value; raises ValueError for what is not JSON (NaN, bytes, sets)."""
    try:
        return json.dumps(_plain(value), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"arguments must be JSON values: {error}") from error
    except RecursionError as error:
        raise ValueError("arguments are nested too deeply to compare") from error


def as_call(name: str, raw: RawCall) -> Call:
    """Read one call; `name` stands in the ValueError for a call that is neither form."""
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
    """Share of the expected arguments that are right; 1 when none is expected."""
    wanted = len(expected.arguments)
    return _right(actual, expected) / wanted if wanted else 1.0


def _worth(actual: Call, expected: Call) -> float:
    # Among equally right calls prefer the one with the fewest arguments nobody asked for.
    extra = len(actual.arguments) - _right(actual, expected)
    return _share(actual, expected) + 1e-6 / (1 + extra)


def _assign(made: list[Call], wanted: list[Call]) -> list[tuple[Call, Call]]:
    """Pair calls of one tool so that the total worth is largest."""
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
