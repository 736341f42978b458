"""Mutation of contracts: each clause is dropped in turn, and the agents' attempts are judged again.

A clause whose loss changes no finding of any agent is untested: nothing shows that it works. Limits
of cost and time are left out, since the agents cost nothing and take no time.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from reviewer.desk.trials.judging import Judged, contract_of
from reviewer.desk.trials.views import UntestedClause
from reviewer.gates import Contract, Verdict, score
from reviewer.suite.errors import json_path
from reviewer.suite.model import Episode, Suite

_HIDDEN = "wording_not_measured"
"""A wording that a mask may hide: no agent has shown that the clause works."""

Outcome = tuple[tuple[str, str, str], ...]


class Dropped(NamedTuple):
    """An episode without one clause: the clause's place, and its text."""

    place: str
    clause: str
    episode: Episode


def untested_clauses(suite: Suite, attempts: Sequence[Judged]) -> tuple[int, list[UntestedClause]]:
    """Return how many clauses were dropped, and those that no agent tests."""
    clauses, untested = 0, []
    limits, checks = suite.policy.limits, suite.check_names
    told_limits = set(limits)
    for episode in suite.episodes:
        mine = [one for one in attempts if one.played.episode_id == episode.episode_id]
        if not mine:
            continue
        as_is = [_outcome(one.verdict) for one in mine]
        for dropped in without_each(episode):
            clauses += 1
            if _judged_alike(contract_of(dropped.episode, limits, checks), mine, as_is):
                untested.append(
                    UntestedClause(
                        episode_id=episode.episode_id, place=dropped.place, clause=dropped.clause
                    )
                )
        for name in limits:
            rest = {other: limit for other, limit in limits.items() if other != name}
            if not _judged_alike(contract_of(episode, rest, checks), mine, as_is):
                told_limits.discard(name)
    clauses += len(limits)
    untested += [
        UntestedClause(episode_id="", place=f"$.policy.gates.{name}", clause=str(limits[name]))
        for name in limits
        if name in told_limits
    ]
    return clauses, untested


def _judged_alike(contract: Contract, attempts: Sequence[Judged], as_is: list[Outcome]) -> bool:
    return all(
        _outcome(score(contract, one.record, checked=one.checked)) == before
        for one, before in zip(attempts, as_is, strict=True)
    )


def _outcome(verdict: Verdict) -> Outcome:
    return tuple(
        (found.gate, found.code, found.severity)
        for found in verdict.findings
        if found.severity != "note" and found.code.partition(":")[0] != _HIDDEN
    )


def without_each(episode: Episode) -> Iterator[Dropped]:
    """Yield the episode without each clause of its contract in turn."""
    yield from _tools(episode)
    yield from _expected(episode)
    for part in ("writes", "critical"):
        items = getattr(episode, part)
        for place, item in enumerate(items):
            text = (
                f"{item.tool} is verified by {' or '.join(item.verified_by)}"
                if (part == "writes")
                else str(item)
            )
            yield Dropped(
                json_path((part, place)), text, replace(episode, **{part: _less(items, place)})
            )
    for name in ("max_steps", "max_timeouts"):
        limit = getattr(episode.budget, name)
        if limit is not None:
            budget = replace(episode.budget, **{name: None})
            yield Dropped(f"$.budget.{name}", str(limit), replace(episode, budget=budget))


def _tools(episode: Episode) -> Iterator[Dropped]:
    tools = episode.tools

    def less(place: str, clause: str, **changed: Any) -> Dropped:
        return Dropped(place, clause, replace(episode, tools=replace(tools, **changed)))

    for part in ("required", "forbidden", "approvals"):
        items = getattr(tools, part)
        for place, name in enumerate(items):
            yield less(json_path(("tools", part, place)), name, **{part: _less(items, place)})
    if tools.allowed is not None:
        text = ", ".join(tools.allowed) or "no tool"
        yield less("$.tools.allowed", text, allowed=None)
    if tools.order != "any":
        yield less("$.tools.order", tools.order, order="any")


def _expected(episode: Episode) -> Iterator[Dropped]:
    expected = episode.expected

    def less(place: str, clause: str, **changed: Any) -> Dropped:
        return Dropped(place, clause, replace(episode, expected=replace(expected, **changed)))

    if expected.final_state is not UNSET:
        yield less("$.expected.final_state", _shown(expected.final_state), final_state=UNSET)
    for path, value in expected.state.items():
        rest = {other: part for other, part in expected.state.items() if other != path}
        place = json_path(("expected", "state", path))
        yield less(place, f"{path} is {_shown(value)}", state=rest)
    for n, path in enumerate(expected.absent or ()):
        fewer = _less(expected.absent or (), n) or UNSET
        yield less(json_path(("expected", "absent", n)), f"{path} is not there", absent=fewer)
    for part in ("message_contains", "message_excludes", "claims"):
        items = getattr(expected, part)
        for n, item in enumerate(items):
            text = item if isinstance(item, str) else item.says[0]
            yield less(json_path(("expected", part, n)), text, **{part: _less(items, n)})
    for tool, wanted in expected.arguments.items():
        for path, value in wanted.items():
            rest = {other: part for other, part in wanted.items() if other != path}
            arguments = {name: part for name, part in expected.arguments.items() if name != tool}
            if rest:
                arguments[tool] = rest
            yield less(
                json_path(("expected", "arguments", tool, path)),
                f"{tool}.{path} is {_shown(value)}",
                arguments=arguments,
            )
    if expected.trajectory and expected.trajectory_match is not None:
        text = f"{len(expected.trajectory)} calls, {expected.trajectory_match}"
        yield less("$.expected.trajectory", text, trajectory=(), trajectory_match=None)


def _less(items: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return (*items[:place], *items[place + 1 :])


def _shown(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)[:80]
