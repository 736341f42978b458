"""The order of calls: `tools.order` over the required tools, and the reference trajectory.

Trajectory matching has the meaning it has in LangChain's agentevals: `strict` is the same calls in
the same order, `unordered` the same calls, `subset` no call beyond the reference, `superset` every
call of the reference. Arguments are compared where the reference gives them, whole.
"""

from collections import Counter
from collections.abc import Sequence

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract, Wanted
from reviewer.gates.model import Finding, Severity
from reviewer.gates.values import Nothing, at, named, parse, same
from reviewer.suite.model import ExpectedCall
from reviewer.trace.events import Call


def check_order(
    contract: Contract, acts: Acts, missing: frozenset[str], found: list[Finding]
) -> None:
    """Append `out_of_order:<tool>` findings; what is `missing` altogether is said elsewhere.

    A trajectory without `trajectory_match` is compared strictly and only noted.
    """
    order = contract.episode.tools.order
    required = [tool for tool in contract.episode.tools.required if tool not in missing]
    if order == "in_order":
        _in_order(required, acts, found)
    elif order == "exact":
        _exact([ExpectedCall(tool=tool) for tool in required], acts.calls, "fail", found)
    elif order == "subset":
        _beyond(required, acts.calls, found)
    elif order == "superset":
        _fewer(required, acts, found)
    expected = contract.episode.expected
    if expected.trajectory:
        match = expected.trajectory_match
        if match is None:
            _exact(expected.trajectory, acts.calls, "note", found)
        elif match == "strict":
            _exact(expected.trajectory, acts.calls, "fail", found)
        else:
            absent, extra = pair(expected.trajectory, acts.calls)
            if match != "subset":
                for step in absent:
                    name = named(step.tool)
                    what = "call" if step.arguments is None else "call with these arguments"
                    text = f"the trajectory wants a {what} of {name}, none is left for it"
                    found.append(_out(name, "fail", _last(acts, step.tool), text))
            if match != "superset":
                for call in extra:
                    name = named(call.tool)
                    text = f"the trajectory has no place for this call of {name}"
                    found.append(_out(name, "fail", call.seq, text))


def pair(
    expected: Sequence[ExpectedCall], made: Sequence[Call]
) -> tuple[list[ExpectedCall], list[Call]]:
    """Pair each expected call with one made; what is left over on either side.

    Expected calls with arguments choose first, so that one without cannot take their call.
    """
    left = list(made)
    absent: list[ExpectedCall] = []
    for step in sorted(expected, key=lambda step: step.arguments is None):
        for place, call in enumerate(left):
            if matches(step, call):
                del left[place]
                break
        else:
            absent.append(step)
    return absent, left


def matches(step: ExpectedCall, call: Call) -> bool:
    """Whether a call is the expected one: same tool, and the same arguments where given."""
    if step.tool != call.tool:
        return False
    return step.arguments is None or same(step.arguments, parse(call.arguments))


def wrong_arguments(
    call: Call, wanted: tuple[Wanted, ...]
) -> list[tuple[Wanted, object | Nothing]]:
    """The wanted values a call does not have, each with what stands there instead."""
    arguments = parse(call.arguments)
    wrong = []
    for item in wanted:
        actual = at(arguments, item[1])
        if not same(item[2], actual):
            wrong.append((item, actual))
    return wrong


def _in_order(required: list[str], acts: Acts, found: list[Finding]) -> None:
    made = [call.tool for call in acts.calls if call.status != "denied"]
    place = 0
    for tool in required:
        try:
            place = made.index(tool, place) + 1
        except ValueError:
            name = named(tool)
            text = f"{name} is not called in its place of the required order"
            found.append(_out(name, "fail", _last(acts, tool), text))


def _exact(
    steps: Sequence[ExpectedCall], made: Sequence[Call], severity: Severity, found: list[Finding]
) -> None:
    """The first step where the calls leave the expected ones, and no other: the rest follows."""
    for place, call in enumerate(made):
        if place >= len(steps):
            name = named(call.tool)
            text = f"call {place + 1} is {name}, where no further call is expected"
        elif matches(steps[place], call):
            continue
        else:
            name = named(steps[place].tool)
            told = " with other arguments" if steps[place].tool == call.tool else ""
            text = f"call {place + 1} should be {name}, is {named(call.tool)}{told}"
        found.append(_out(name, severity, call.seq, text))
        return
    if len(made) < len(steps):
        name = named(steps[len(made)].tool)
        text = f"call {len(made) + 1} should be {name}, there is none"
        found.append(_out(name, severity, None, text))


def _beyond(required: list[str], made: Sequence[Call], found: list[Finding]) -> None:
    room = Counter(required)
    for call in made:
        room[call.tool] -= 1
        if room[call.tool] < 0:
            name = named(call.tool)
            text = f"{name} is called beyond the required calls"
            found.append(_out(name, "fail", call.seq, text))


def _fewer(required: list[str], acts: Acts, found: list[Finding]) -> None:
    made = Counter(call.tool for call in acts.calls if call.status != "denied")
    for tool, times in Counter(required).items():
        if made[tool] < times:
            name = named(tool)
            text = f"{name} is required {times} times, called {made[tool]}"
            found.append(_out(name, "fail", _last(acts, tool), text))


def _last(acts: Acts, tool: str) -> int | None:
    return next((call.seq for call in reversed(acts.calls) if call.tool == tool), None)


def _out(name: str, severity: Severity, seq: int | None, text: str) -> Finding:
    return Finding("process", f"out_of_order:{name}", severity, seq, text)
