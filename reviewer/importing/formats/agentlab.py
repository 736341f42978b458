"""AgentLab experiments: `summary_info.json`, one file per attempt; its folder's name says what ran.

The steps are beside it as pickles. Loading a pickle runs its code, so they are never opened: a
trace has totals and a verdict, and no steps.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, added, amount, measured, tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import Format, above, folder_names, slug, tell_rest
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

_KEYS = ("n_steps", "cum_reward", "err_msg")
_FOLDER = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d)_(?P<agent>.+)_on_(?P<task>.+?)"
    r"_(?P<seed>\d+|None)(?:_[0-9a-f]{1,8})?"
)
_OWN_BENCHMARKS = ("webarena", "visualwebarena")
TOLERANCE = 1e-6
JOURNAL = "reproducibility_journal.csv"


class _FolderNames(NamedTuple):
    """Facts from a folder's name."""

    agent: str
    suite: str
    episode: str
    seed: str
    date: str | None


class AgentLabReader(Format):
    name = "agentlab"
    facts = FormatFacts(
        by="`n_steps, cum_reward, err_msg`",
        steps="no: pickles are never loaded",
        tools="no",
        times="folder's name",
        cost="yes",
        tokens="yes",
        verdict="`cum_reward`",
    )

    def sniff(self, head: Head) -> bool:
        value = head.value
        return isinstance(value, dict) and head.has(*_KEYS) and _is_flat(value)

    def suite_id(self, path: Path) -> str:
        return _named(path).suite

    def candidate_id(self, path: Path) -> str:
        agent = _named(path).agent
        return f"agentlab {agent}" if agent else "agentlab"

    def placed(self, path: Path) -> tuple[str, ...]:
        return folder_names(path, 1)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        yield source.attempt(lambda: self._foreign(source), *folder_names(source.path, 1))

    def _foreign(self, source: Source) -> Foreign:
        value = source.load()
        if not isinstance(value, dict):
            raise Rejected("type:record")
        named = _named(source.path)
        if not named.episode:
            raise Rejected("missing:task_id (only the name of its folder has it)")
        draft = Draft(self.name)
        draft.note(
            "agent, task and seed are taken from the folder's name"
            if named.seed
            else "the folder is not named <date>_<agent>_on_<task>_<seed>: its name is taken as "
            "the task, and the agent is unknown"
        )
        self._about(source, draft, named)
        wrong = value.get("err_msg")
        if wrong:
            draft.error(str(wrong)[:2000])
        draft.source["n_steps"] = value.get("n_steps")
        tell_rest(value, draft)
        if value.get("n_steps") != 0:
            draft.unread("step_*.pkl.gz")  # only these files show what the agent did
        return draft.foreign(
            episode_id=named.episode,
            candidate_id=source.candidate or self.candidate_id(source.path),
            cost_usd=_cost(draft, value),
            latency_ms=_latency(draft, value),
            termination=_termination(value),
            started_at=draft.at(named.date),
            usage=_usage(value),
            verdict=_verdict(draft, value),
            title=named.episode,
            suite=named.suite,
        )

    def _about(self, source: Source, draft: Draft, named: _FolderNames) -> None:
        draft.source["seed"] = named.seed or None
        steps = sum(1 for _ in source.path.parent.glob("step_*.pkl*"))
        draft.note(
            f"{steps} steps are next to it as pickles, which are never loaded"
            if steps
            else "no steps: AgentLab keeps them as pickles, which are never loaded"
        )
        if any((folder / JOURNAL).is_file() for folder in above(source.path, 4)):
            source.notes.add(f"{JOURNAL} averages whole studies: no attempt is taken from it")


def _is_flat(value: dict[str, Any]) -> bool:
    return not any(isinstance(one, (list, dict)) for one in value.values())


def _named(path: Path) -> _FolderNames:
    (folder,) = folder_names(path, 1)
    found = _FOLDER.fullmatch(folder)
    if found is None:
        return _FolderNames("", "agentlab", folder, "", None)
    benchmark, _, rest = found["task"].partition(".")
    date, time = found["date"].split("_")
    stamp = f"{date}T{time.replace('-', ':')}"
    if benchmark in _OWN_BENCHMARKS and rest:
        return _FolderNames(found["agent"], benchmark, rest, found["seed"], stamp)
    return _FolderNames(found["agent"], slug(benchmark), found["task"], found["seed"], stamp)


def _termination(value: dict[str, Any]) -> str | None:
    if value.get("terminated") is True:
        return "completed"
    if value.get("truncated") is True:
        return "truncated"
    return "error" if value.get("err_msg") else None


def _verdict(draft: Draft, value: dict[str, Any]) -> SourceVerdict:
    reward, wrong = value.get("cum_reward"), value.get("err_msg")
    number = amount(reward)
    exception = str(wrong)[:200] if wrong else None
    broke = bool(wrong) and not value.get("terminated") and not value.get("truncated")
    if number is None or broke:
        draft.note("the run broke off before it was scored" if broke else "no reward: not scored")
        return SourceVerdict(reward=None if broke and not number else number, exception=exception)
    if number > 1 + TOLERANCE:
        draft.note("rewards of steps add up to more than 1: whether one of them was 1 is not known")
    passed = None if number > 1 + TOLERANCE else number >= 1 - TOLERANCE
    if 0 < number < 1 - TOLERANCE:
        draft.note("a reward between 0 and 1: kept, and counted as not passed")
    raw = amount(value.get("cum_raw_reward"))
    return SourceVerdict(
        passed=passed, reward=number, exception=exception, detail={"raw_reward": raw}
    )


def _cost(draft: Draft, value: dict[str, Any]) -> float | None:
    """Return the tracker's cost; older versions have one per provider."""
    whole = measured(value.get("stats.cum_cost"))
    if whole is not None:
        return whole
    parts = [
        cost
        for name, one in value.items()
        if re.fullmatch(r"stats\.cum_\w+_total_cost", name) and (cost := measured(one)) is not None
    ]
    if not parts:
        draft.note("no cost above 0: not measured")
    return added(parts)


def _usage(value: dict[str, Any]) -> dict[str, int] | None:
    def count(*names: str) -> float | None:
        for name in names:
            for key, one in value.items():
                if re.fullmatch(rf"stats\.cum_{name}", key) and (found := measured(one)):
                    return found
        return None

    return tokens(
        input_tokens=count("input_tokens", r"\w+_prompt_tokens"),
        output_tokens=count("output_tokens", r"\w+_completion_tokens"),
        total_tokens=count("total_tokens", r"\w+_total_tokens"),
    )


def _latency(draft: Draft, value: dict[str, Any]) -> float | None:
    """Return the time of the agent's thinking and the environment's actions, in ms."""
    parts = (value.get("stats.cum_agent_elapsed"), value.get("stats.cum_step_elapsed"))
    total = added([measured(part) for part in parts])
    if total is None:
        return None
    draft.note("latency is the agent's and the environment's time added, without what lies between")
    return total * 1000
