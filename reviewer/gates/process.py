"""The process gate: required tools, their order and arguments, and the proof of every write.

Order is `tools.order` over the required tools, and the reference trajectory. Trajectory matching is
as in LangChain's agentevals: `strict` is the same calls in the same order, `unordered` the same
calls, `subset` no call beyond the reference, `superset` every call of the reference. Arguments are
compared completely where the reference gives them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from reviewer.gates import custom
from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract, WantedValue, spelled_as
from reviewer.gates.model import Finding, Hits, Rule, Severity
from reviewer.gates.values import clip, named, parse, show
from reviewer.suite.json_values import MISSING, Nothing, at, same
from reviewer.suite.model import ExpectedCall
from reviewer.trace.events import Call


def check(contract: Contract, acts: Acts, hits: Hits, found: list[Finding]) -> None:
    """Append findings on calls that are missing, out of order, made with wrong arguments, or never
    verified.

    A required tool counts as called when at least one of the agent's calls of it was not denied.
    """
    missing = contract.required - acts.reached
    for tool in missing:
        name = clip(tool)
        text = f"{name} is required, " + ("only denied" if tool in acts.called else "never called")
        found.append(Finding("process", f"missing:{name}", "fail", None, text))
    if contract.ordered:
        check_order(contract, acts, missing, found)
    for tool, wanted in contract.arguments:
        if tool in acts.reached:
            _check_arguments(tool, wanted, acts, found)
    if contract.verifiers:
        check_writes(contract, acts, found)


def clauses(contract: Contract, acts: Acts, broken: frozenset[str]) -> Iterator[Rule]:
    """Yield the clauses on required calls, their order, arguments and proofs."""
    episode = contract.episode
    first = {call.tool: call.seq for call in reversed(acts.calls) if call.status != "denied"}
    for tool in dict.fromkeys(episode.tools.required):
        name = clip(tool)
        text = f"{name} is required, called"
        yield Rule((f"missing:{name}",), text, first.get(tool))
    if contract.ordered:
        match = episode.expected.trajectory_match or episode.tools.order.replace("_", " ")
        yield Rule(("out_of_order", "missing"), f"order of calls: {match}")
    for tool, wanted in contract.arguments:
        for path, _, value in wanted:
            name = clip(f"{tool}.{path}")
            text = f"{name} is {show(value)}"
            if tool not in acts.reached:
                text += ", not called"
            yield Rule((f"wrong_argument:{name}",), text, first.get(tool))
    proof = next(
        (c.seq for c in reversed(acts.calls) if c.status == "ok" and c.tool in contract.proofs),
        None,
    )
    for tool, verifiers in sorted(contract.verifiers.items()):
        name, by = clip(tool), clip(" or ".join(sorted(verifiers)))
        text = f"{name} is verified by {by}" if tool in acts.reached else f"{name} never wrote"
        yield Rule(("write_not_verified", "no_final_state_evidence"), text, proof)
    if not (contract.required or contract.ordered or contract.arguments or contract.verifiers):
        yield Rule((), "the contract asks for no tool, order or proof")
    yield from custom.clauses(contract)


def _check_arguments(
    tool: str, wanted: tuple[WantedValue, ...], acts: Acts, found: list[Finding]
) -> None:
    """Append what is wrong with the last call, unless a call of the tool has every required
    value."""
    made = [call for call in acts.calls if call.tool == tool and call.status != "denied"]
    for call in made:
        wrong = wrong_arguments(call, wanted)
        if not wrong:
            return
    for (text, _, value), actual in wrong:
        name = clip(f"{tool}.{text}")
        detail = f"{name}: expected {show(value)}, found {show(actual)}"
        found.append(Finding("process", f"wrong_argument:{name}", "fail", made[-1].seq, detail))


def check_order(
    contract: Contract, acts: Acts, missing: frozenset[str], found: list[Finding]
) -> None:
    """Append `out_of_order:<tool>` findings; `missing` tools are reported elsewhere.

    A trajectory without `trajectory_match` is compared strictly and only noted. A call of which
    only the answer is recorded meets no expectation, and has no place where each call needs one.
    """
    order = contract.episode.tools.order
    required = [tool for tool in contract.episode.tools.required if tool not in missing]
    if order == "in_order":
        _in_order(required, acts, found)
    elif order == "exact":
        steps = [ExpectedCall(tool=tool) for tool in required]
        _exact(steps, acts.calls, "fail", found, acts.answers)
    elif order == "subset":
        _beyond(required, acts.calls, found)
        _no_place(acts.answers, found)
    elif order == "superset":
        _fewer(required, acts, found)
    expected = contract.episode.expected
    if expected.trajectory:
        match = expected.trajectory_match
        if match is None:
            _exact(expected.trajectory, acts.calls, "note", found, acts.answers)
        elif match == "strict":
            _exact(expected.trajectory, acts.calls, "fail", found, acts.answers)
        else:
            absent, extra = pair(expected.trajectory, acts.calls)
            if match != "subset":
                for step in absent:
                    name = named(step.tool)
                    what = "call" if step.arguments is None else "call with these arguments"
                    text = f"the trajectory requires a {what} of {name}, none is left for it"
                    found.append(_out(name, "fail", _last(acts, step.tool), text))
            if match != "superset":
                for call in extra:
                    name = named(call.tool)
                    text = f"the trajectory has no place for this call of {name}"
                    found.append(_out(name, "fail", call.seq, text))
                _no_place(acts.answers, found)


def pair(
    expected: Sequence[ExpectedCall], made: Sequence[Call]
) -> tuple[list[ExpectedCall], list[Call]]:
    """Pair each expected call with one made; return those left over on either side.

    Expected calls with arguments choose first, so that one without arguments cannot take their
    call.
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
    """Return whether a call is the expected one: same tool, and the same arguments where given."""
    if step.tool != call.tool:
        return False
    return step.arguments is None or same(step.arguments, parse(call.arguments))


def wrong_arguments(
    call: Call, wanted: tuple[WantedValue, ...]
) -> list[tuple[WantedValue, object | Nothing]]:
    """Return the required values that a call does not have, each with the actual value."""
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
    steps: Sequence[ExpectedCall],
    made: Sequence[Call],
    severity: Severity,
    found: list[Finding],
    answers: Sequence[Call],
) -> None:
    """Append only the first step at which the calls differ from the expected ones: later
    differences follow from it."""
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
        return
    _no_place(answers[:1], found, severity)


def _no_place(answers: Sequence[Call], found: list[Finding], severity: Severity = "fail") -> None:
    """Append the calls of which only the answer is recorded."""
    for call in answers:
        name = named(call.tool)
        text = f"{name} answered, so it was called, and no further call is expected"
        found.append(_out(name, severity, call.seq, text))


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


def check_writes(contract: Contract, acts: Acts, found: list[Finding]) -> None:
    """Append the writes that nothing proves.

    A denied call wrote nothing. A write with an unknown outcome needs a proof, as does one under
    another spelling and one of which only the answer is recorded.
    """
    tools = _writing(contract, acts)
    made = acts.of(contract.proofs | tools.keys())
    writes = _of_tools(tools, acts.attempted if acts.strays else made)
    proofs = [call for call in made if call.status == "ok" and call.tool in contract.proofs]
    proofs.reverse()  # the last read is the most likely to be of the written object
    asked: dict[int, object] = {}
    for call, tool in writes:
        since = call.seq if call.result_seq is None else max(call.seq, call.result_seq)
        verifiers = contract.verifiers[tool]
        later = [one for one in proofs if one.seq > since and one.tool in verifiers]
        if not later or not _looked_at(contract, tool, parse(call.arguments), later, asked):
            found.append(_unproven(verifiers, call, since, bool(later)))
    if not proofs:
        either = _either(contract.proofs)
        text = f"{either} never succeeded: nothing proves the final state"
        found.append(Finding("process", "no_final_state_evidence", "fail", None, text))


def _unproven(verifiers: frozenset[str], call: Call, since: int, later: bool) -> Finding:
    """Return the finding on a write without a proof. `since` is the event after which a proof
    counts; `later` says that a proving tool was called, for another object."""
    either = _either(verifiers)
    after = "it" if since == call.seq else f"its result, event {since}"
    text = f"{named(call.tool)} writes, and no successful {either} comes after {after}"
    if later:
        text += " on the same object"
    return Finding("process", "write_not_verified", "fail", call.seq, text)


@lru_cache(256)
def _either(tools: frozenset[str]) -> str:
    return named(" or ".join(sorted(tools)))


def written(contract: Contract, acts: Acts) -> list[tuple[Call, str]]:
    """Return every write attempted that was not denied, with the tool as the contract lists it."""
    tools = _writing(contract, acts)
    if not tools:
        return []
    return _of_tools(tools, acts.attempted if acts.strays else acts.of(tools))


def _writing(contract: Contract, acts: Acts) -> dict[str, str]:
    """Return the names called that write, each with the tool as the contract lists it."""
    called = acts.called | {call.tool for call in acts.strays} if acts.strays else acts.called
    tools = {name: name for name in contract.verifiers if name in called}
    return tools | spelled_as(contract, called, contract.verifiers)


def _of_tools(tools: dict[str, str], calls: Sequence[Call]) -> list[tuple[Call, str]]:
    return [
        (call, tools[call.tool]) for call in calls if call.tool in tools and call.status != "denied"
    ]


def _looked_at(
    contract: Contract,
    tool: str,
    wrote: object,
    proofs: Sequence[Call],
    asked: dict[int, object],
) -> bool:
    """Return whether one of these calls reads what a write with these arguments changed: the object
    that the contract names; else with the same value for every text and number that both name and
    that identifies a call's subject; else with the arguments expected of it.

    `asked` caches the arguments of the proofs, by seq.
    """
    pairs = contract.objects.get(tool)
    for proof in proofs:
        its = asked.get(proof.seq, _UNREAD)
        if its is _UNREAD:
            its = asked[proof.seq] = parse(proof.arguments)
        if pairs is not None:
            if all(_equal(at(wrote, here), at(its, there)) for here, there in pairs):
                return True
            continue
        alike = _alike(wrote, its)
        if alike is None:
            alike = not any(
                wrong_arguments(proof, wanted)
                for name, wanted in contract.arguments
                if name == proof.tool
            )
        if alike:
            return True
    return False


_UNREAD = object()


def _equal(mine: object, its: object) -> bool:
    return mine is not MISSING and mine is not None and same(mine, its)


def _alike(wrote: object, asked: object) -> bool | None:
    """Return whether each text and number that both name has the same value; None when they share
    none."""
    if not isinstance(wrote, dict) or not isinstance(asked, dict):
        return None
    shared = False
    for name, value in wrote.items():
        if name not in asked:
            continue
        if type(value) in _PLAIN and _about(name):
            shared = True
            if not same(value, asked[name]):
                return False
    return True if shared else None


_known: dict[str, bool] = {}


def _about(name: str) -> bool:
    """Return whether an argument of that name identifies the subject of a call."""
    known = _known.get(name)
    if known is None:
        known = name.lower().replace("_", "") not in _HOW
        if len(_known) < _MEMO and len(name) <= _SHORT:
            _known[name] = known
    return known


_MEMO = 4096
_SHORT = 64


_PLAIN = frozenset((str, int, float))
_HOW = frozenset(
    (
        *("limit", "offset", "page", "pagesize", "perpage", "pagenumber", "cursor", "topk"),
        *("maxresults", "maxitems", "sort", "sortby", "orderby", "fields", "format"),
        *("view", "verbose", "lang", "language", "locale", "timezone", "timeout", "timeoutms"),
        *("retries", "attempt", "requestid", "idempotencykey", "traceid", "correlationid"),
        *("reason", "note", "notes", "comment", "explanation", "thought", "securityrisk"),
    )
)
"""Names, without case and underscores, of arguments that say how or why a call is made, not what it
is about."""
