"""The content of a suite in words: its policy, and the contract of each episode clause by
clause."""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import overload

from msgspec import UNSET, structs

from reviewer.desk.errors import refusal_of
from reviewer.desk.trials.clauses import without_each
from reviewer.desk.views import SuiteInfo
from reviewer.desk.workspace.views import ClauseText, EpisodeContents, SuiteContents
from reviewer.report.formatting import counted
from reviewer.suite.errors import ContractError
from reviewer.suite.model import Budget, Episode, Policy, Suite
from reviewer.suite.on_demand import LockedFiles
from reviewer.suite.toolset import Toolset, equipped
from reviewer.suite.values import (
    EPISODES,
    episode_value,
    is_episode_file,
    load_trusted_toolset,
    merge_defaults,
)


def contents_of(info: SuiteInfo, suite: Suite, toolset: Toolset | None) -> SuiteContents:
    """Return the content of a suite."""
    return SuiteContents(
        info=info,
        policy=tuple(_policy(suite.policy)),
        tools=tuple(tool.name for tool in toolset.tools) if toolset else (),
        checks=suite.check_names,
        episodes=tuple(map(_episode, suite.episodes)),
        everywhere=tuple(
            ClauseText(place=f"$.policy.gates.{name}", clause=str(limit))
            for name, limit in suite.policy.limits.items()
        ),
    )


class PagedEpisodes(Sequence[EpisodeContents]):
    """The contracts of a frozen suite of any size, in its order, each read from its file when
    needed. Raises DeskError for a contract that is not as it was frozen."""

    def __init__(self, files: LockedFiles, names: Sequence[str]) -> None:
        self._files, self._names = files, names
        self._toolset = load_trusted_toolset(files)
        self._defaults = files.head().get("defaults", {})
        self._kept = lru_cache(maxsize=2_000)(self._read)

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> EpisodeContents: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[EpisodeContents]: ...

    def __getitem__(self, index: int | slice) -> EpisodeContents | Sequence[EpisodeContents]:
        if isinstance(index, slice):
            return [self._kept(name) for name in self._names[index]]
        return self._kept(self._names[index])

    def _read(self, name: str) -> EpisodeContents:
        path = f"{EPISODES}{name}.json"
        try:
            raw = merge_defaults(self._defaults, json.loads(self._files[path]))
        except ContractError as error:
            raise refusal_of(error) from error
        return _episode(equipped(episode_value(raw, path), self._toolset))


def paged(info: SuiteInfo, folder: Path) -> SuiteContents:
    """Return the content of a frozen suite that has too many episodes to read at once."""
    assert info.digest is not None
    try:
        files = LockedFiles(folder, info.digest)
        found = contents_of(info, files.suite(), load_trusted_toolset(files))
        paths = [path for path in files if is_episode_file(path)]
    except ContractError as error:
        raise refusal_of(error) from error
    names = [path.removeprefix(EPISODES).removesuffix(".json") for path in paths]
    order = {name: at for at, name in enumerate(files.head().get("episodes") or ())}
    names.sort(key=lambda name: (order.get(name, len(order)), name))
    return structs.replace(found, episodes=PagedEpisodes(files, names))


def _episode(episode: Episode) -> EpisodeContents:
    user = None if episode.user is UNSET else episode.user
    return EpisodeContents(
        episode_id=episode.episode_id,
        title=episode.title,
        category=episode.category,
        tags=episode.tags,
        user_request=episode.user_request,
        user=str(user.get("kind", "")) if user else "",
        required=episode.tools.required,
        forbidden=episode.tools.forbidden,
        limits=", ".join(_limits(episode.budget)),
        clauses=tuple(
            ClauseText(place=one.place, clause=one.clause) for one in without_each(episode)
        ),
    )


def _limits(budget: Budget) -> Iterator[str]:
    if budget.max_steps is not None:
        yield counted(budget.max_steps, "call")
    if budget.max_cost_usd is not None:
        yield f"${budget.max_cost_usd:g}"
    if budget.max_latency_ms is not None:
        yield f"{budget.max_latency_ms / 1000:g} s"
    if budget.max_timeouts is not None:
        yield counted(budget.max_timeouts, "timeout")


def _policy(policy: Policy) -> Iterator[tuple[str, str]]:
    yield "attempts", f"{policy.attempts} valid ones of each episode"
    share = "every attempt" if policy.hard_pass_rate == 1 else f"{policy.hard_pass_rate:g}"
    yield "passes", f"{share} passes every gate"
    most = policy.max_critical_failures
    yield "critical", "no critical failure" if not most else f"at most {most} fail critically"
    yield "repeats", f"pass^{policy.pass_hat.k} at least {policy.pass_hat.min:g}"
    if policy.completion_min is not None:
        yield "completes", f"{policy.completion_min:g} of attempts reach the final state"
    if policy.max_cpst_usd is not None:
        yield "costs", f"at most ${policy.max_cpst_usd:g} per success"
    if policy.latency_p95_ms is not None:
        yield "latency", f"p95 at most {policy.latency_p95_ms / 1000:g} s"
    yield "decides", ("on bounds (strict)" if policy.mode == "strict" else "on estimates (point)")
    if policy.code_bound:
        yield "code", "of every attempt measured by reviewer run"
    yield "signed by", counted(policy.approvals.promote, "approver")
