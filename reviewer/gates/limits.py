"""The timeout and budget gates: inclusive limits on retries, time, steps and money."""

from typing import Any

import msgspec

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract
from reviewer.gates.kin import spelled_as
from reviewer.gates.model import Finding
from reviewer.gates.values import Nothing, clip, named, parse, usd
from reviewer.trace.events import Call

GOOD_ENDS = frozenset(
    {
        "completed",
        "done",
        "success",
        "agent_stop",
        "user_stop",
        "stop",
        "finished",
        "end_turn",
        "transfer",
    }
)
"""Terminations that are an ordinary end. Any other reason that is given fails the timeout gate."""

INFRASTRUCTURE_ENDS = frozenset({"infrastructure_error", "infra_error"})
"""Terminations that are the harness's doing: the attempt neither passes nor fails."""


def termination_of(raw: str | None) -> str:
    """The reason an attempt ended, normalised (`Agent-Stop` is `agent_stop`); "" when not given."""
    if raw is None:
        return ""
    return "_".join(raw.casefold().replace("-", " ").replace("_", " ").split())


def check_timeout(contract: Contract, acts: Acts, found: list[Finding]) -> None:
    """Append retries past their limit, latency past its limit or unknown, and a bad end."""
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


def check_budget(contract: Contract, acts: Acts, found: list[Finding]) -> None:
    """Append steps (the agent's tool calls) and cost past their limits, or a cost unknown."""
    budget, cost = contract.episode.budget, acts.record.cost_usd
    limit = budget.max_steps
    if limit is not None and len(acts.tools) > limit:
        text = f"{len(acts.tools)} of {limit} steps"
        found.append(Finding("budget", "step_budget", "fail", acts.calls[limit].seq, text))
    if budget.max_cost_usd is not None:
        if cost is None:
            text = f"cost not measured, limit ${usd(budget.max_cost_usd)}"
            found.append(Finding("budget", "cost_not_measured", "not_measured", None, text))
        elif not cost <= budget.max_cost_usd:
            text = f"${usd(cost)} of {usd(budget.max_cost_usd)}"
            found.append(Finding("budget", "cost_budget", "fail", None, text))


def retries(contract: Contract, acts: Acts, limit: int) -> tuple[int, list[Call]]:
    """The longest run of timeouts, and the first call over `limit` of each run that exceeds it.

    A run belongs to one tool with one set of arguments and ends when that very call succeeds; so
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
            key = spelled.get(call.tool, call.tool), _canonical(call)
            streak = streaks.get(key, 0) + 1
            streaks[key] = streak
            longest = max(longest, streak)
            if streak == limit + 1:
                over.append(call)
        elif call.status == "ok" and streaks:
            streaks.pop((spelled.get(call.tool, call.tool), _canonical(call)), None)
    return longest, over


def _canonical(call: Call) -> bytes:
    """A call's arguments without the accidents of writing; absent, null and {} are the same."""
    value: Any = parse(call.arguments)
    if value is None or isinstance(value, Nothing) or value == {}:
        return b"{}"
    try:
        return msgspec.json.encode(value, order="sorted")
    except (ValueError, RecursionError):
        return bytes(call.arguments)
