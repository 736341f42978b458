"""The timeout gate: inclusive limits on retries and time, and how the attempt ended."""

from collections.abc import Iterator

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract, spelled_as
from reviewer.gates.ends import GOOD_ENDS, termination_of
from reviewer.gates.model import Finding, Hits, Rule
from reviewer.gates.values import canonical, clip, named
from reviewer.trace.events import Call


def check(contract: Contract, acts: Acts, hits: Hits, found: list[Finding]) -> None:
    """Append retries above their limit, latency above its limit or unknown, and a bad end."""
    budget, record = contract.episode.budget, acts.record
    if budget.max_timeouts is not None and acts.timeouts > budget.max_timeouts:
        for call in retries(contract, acts, budget.max_timeouts)[1]:
            text = (
                f"{named(call.tool)} timed out again with the same arguments, "
                f"timeouts in a row allowed: {budget.max_timeouts}"
            )
            found.append(Finding("timeout", "retry_budget_exceeded", "fail", call.seq, text))
    limit = budget.max_latency_ms
    if limit is not None:
        if record.latency_ms is None:
            text = f"latency not measured, limit {limit:,g} ms"
            found.append(Finding("timeout", "latency_not_measured", "not_measured", None, text))
        elif not record.latency_ms <= limit:
            text = f"latency {record.latency_ms:,g} of {limit:,g} ms"
            found.append(Finding("timeout", "latency_budget", "fail", None, text))
    if record.termination is not None and record.termination not in GOOD_ENDS:
        reason = termination_of(record.termination)
        if reason and reason not in GOOD_ENDS:
            name = clip(reason)
            seq = acts.calls[-1].seq if acts.calls else None
            text = f"the attempt was ended by {name}"
            found.append(Finding("timeout", f"terminated:{name}", "fail", seq, text))


def clauses(contract: Contract, acts: Acts, broken: frozenset[str]) -> Iterator[Rule]:
    """Yield the limits of the contract on retries and time, and how the attempt ended."""
    budget, record = contract.episode.budget, acts.record
    total = acts.timeouts
    text = f"timeouts {total}, no limit"
    if budget.max_timeouts is not None:
        longest = retries(contract, acts, budget.max_timeouts)[0]
        text = f"timeouts {longest} of {budget.max_timeouts}"
        if longest != total:
            text += f" in a row, {total} in all"
    yield Rule(("retry_budget_exceeded",), text)
    if budget.max_latency_ms is not None and record.latency_ms is not None:
        text = f"latency {record.latency_ms:,g} of {budget.max_latency_ms:,g} ms"
        yield Rule(("latency_budget",), text)
    ended = termination_of(record.termination)
    if ended:
        yield Rule(("terminated",), f"ended by {clip(ended)}")


def retries(contract: Contract, acts: Acts, limit: int) -> tuple[int, list[Call]]:
    """Return the longest run of timeouts, and the first call over `limit` of each run that exceeds
    it.

    A run belongs to one tool with one set of arguments and ends when that same call succeeds; so
    three tools that each recovered once are no retry loop. A listed tool in another spelling is
    that tool.
    """
    if not acts.timeouts:
        return 0, []
    streaks: dict[tuple[str, bytes], int] = {}
    spelled = spelled_as(contract, acts.called, contract.names.listed)
    longest = 0
    over: list[Call] = []
    for call in acts.calls:
        if call.status == "timeout":
            key = spelled.get(call.tool, call.tool), canonical(call.arguments)
            streak = streaks.get(key, 0) + 1
            streaks[key] = streak
            longest = max(longest, streak)
            if streak == limit + 1:
                over.append(call)
        elif call.status == "ok" and streaks:
            streaks.pop((spelled.get(call.tool, call.tool), canonical(call.arguments)), None)
    return longest, over
