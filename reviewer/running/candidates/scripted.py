"""A candidate that follows its script: the same bytes for the same seed, every time.

Listed attempts turn out exactly as listed. Any other takes a plan by weight, and its cost and
duration lie around the plan's figures; both are drawn from a digest of seed, candidate, episode and
attempt, so neither order nor process matters.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

from reviewer.running.candidates.manifest import manifest_file, read_below
from reviewer.running.code import remembered_sha256
from reviewer.running.model import Brief, Call, Observation, Task, Turn, Unrunnable
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import ContractError, path_problem, shown
from reviewer.suite.script import Plan, Script, ScriptedAttempt, read_script
from reviewer.suite.values import EPISODES

_USD_DIGITS = 4


def check(candidate: Candidate, folder: Path) -> None:
    """Raise Unrunnable unless the script exists, has the manifest's digest, and covers every
    episode of the suite in `folder`."""
    script = _script(candidate, folder)
    written = (folder / EPISODES).iterdir() if (folder / EPISODES).is_dir() else ()
    for path in sorted(path for path in written if path.suffix in (".json", ".yaml")):
        if not path.name.startswith("."):
            _known(script, path.stem, candidate, folder)


def faults_of(task: Task) -> dict[str, tuple[dict[str, Any], ...]]:
    """Return the faults that the plan of this attempt has for its tools: tool → faults."""
    return _Course(task).plan.faults


class Scripted:
    """One attempt of a scripted candidate. Its input changes nothing."""

    def __init__(self, task: Task) -> None:
        self._course = _Course(task)
        self._turns = 0
        self._calls = 0

    async def begin(self, brief: Brief) -> Turn:
        return self._next()

    async def proceed(self, observations: Sequence[Observation]) -> Turn:
        return self._next()

    async def hear(self, message: str) -> Turn:
        return self._next()

    def waited_ms(self) -> float:
        return 0.0

    async def close(self) -> None:
        return None

    def _next(self) -> Turn:
        place, course = self._turns, self._course
        self._turns += 1
        calls = []
        for call in course.plan.turns[place].calls:
            self._calls += 1
            calls.append(Call(f"call_{self._calls}", call.tool, call.arguments))
        return Turn(
            tuple(calls),
            course.message(place),
            cost_usd=course.cost_usd(place),
            latency_ms=course.latency_ms(place),
            last=place == len(course.plan.turns) - 1,
        )


class _Course:
    """The plan of one attempt, and the cost and time of its turns."""

    def __init__(self, task: Task) -> None:
        folder, slot = Path(task.folder), task.slot
        script = _script(task.candidate, folder)
        _known(script, slot.episode_id, task.candidate, folder)
        scripted = script.episodes[slot.episode_id]
        self._drawn_from = (task.seed, slot.candidate_id, slot.episode_id, slot.attempt)
        self._spread = script.spread
        self._listed: ScriptedAttempt | None = None
        if slot.attempt <= len(scripted.attempts):
            self._listed = scripted.attempts[slot.attempt - 1]
            self.plan = scripted.plans[self._listed.plan]
        else:
            self.plan = self._by_weight(scripted.plans)

    def message(self, place: int) -> str | None:
        messages = self.plan.turns[place].messages
        if not messages:
            return None
        if self._listed is not None:
            last = place == len(self.plan.turns) - 1
            return messages[(self._listed.message or 1) - 1 if last else 0]
        return messages[int(self._draw("message", place) * len(messages))]

    def cost_usd(self, place: int) -> float | None:
        planned = self.plan.turns[place].cost_usd
        if self._listed is not None:
            given = self._listed.costs_usd
            return planned if given is None else given[place]
        if planned is None:
            return None
        return round(planned * self._around("cost", place), _USD_DIGITS)

    def latency_ms(self, place: int) -> float:
        planned = self.plan.turns[place].latency_ms
        if self._listed is not None:
            given = self._listed.latencies_ms
            return planned if given is None else given[place]
        return float(round(planned * self._around("latency", place)))

    def _by_weight(self, plans: dict[str, Plan]) -> Plan:
        left = self._draw("plan", 0) * sum(plan.weight for plan in plans.values())
        taken = [plan for plan in plans.values() if plan.weight]
        for plan in taken:
            left -= plan.weight
            if left < 0:
                return plan
        return taken[-1]

    def _around(self, what: str, place: int) -> float:
        return 1 + self._spread * (2 * self._draw(what, place) - 1)

    def _draw(self, what: str, place: int) -> float:
        """Return a number from 0 up to 1, always the same for the same attempt and question."""
        text = "\0".join(map(str, (*self._drawn_from, what, place)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]) / 2**48


def _known(script: Script, episode_id: str, candidate: Candidate, folder: Path) -> None:
    if episode_id not in script.episodes:
        file = f"{folder.name}/{shown(candidate.runner['script'], 200)}"
        raise Unrunnable(
            f"{file}: $.episodes: has no plan for `{shown(episode_id)}`: add one, and write the "
            f"new sha256 into {manifest_file(candidate, folder)}"
        )


def _script(candidate: Candidate, folder: Path) -> Script:
    runner, manifest = candidate.runner, manifest_file(candidate, folder)
    path, sha256 = runner.get("script"), runner.get("script_sha256")
    if not path:
        raise Unrunnable(f"{manifest}: $.runner.script: is missing: name the script to follow")
    if not sha256:
        raise Unrunnable(
            f"{manifest}: $.runner.script_sha256: is missing: without the script's digest this "
            "manifest does not say which candidate it is"
        )
    file = f"{folder.name}/{path}"
    known = _known_scripts.get((sha256, file))
    if known is not None and _still(folder, path, sha256):
        return known
    data = read_below(folder, path, sha256, f"{manifest}: $.runner.script")
    if known is not None:  # a new file is read each time, but its parsed content is cached
        return known
    try:
        script = read_script(data, file)
    except ContractError as error:
        raise Unrunnable(str(error)) from None
    if len(_known_scripts) >= _MOST_SCRIPTS:
        _known_scripts.clear()
    _known_scripts[sha256, file] = script
    return script


_known_scripts: dict[tuple[str, str], Script] = {}
_MOST_SCRIPTS = 16


def _still(folder: Path, path: str, sha256: str) -> bool:
    """Return whether a file certainly has this digest, as `read_below` would find. An attempt's
    code is measured when it begins, which caches the digest."""
    if path_problem(path) is not None:
        return False
    place = str(folder)
    *folders, _ = steps = path.split("/")
    try:
        for step in folders:
            place = f"{place}/{step}"
            if not S_ISDIR(os.lstat(place).st_mode):  # a link may lead anywhere
                return False
        found = os.lstat(f"{place}/{steps[-1]}")
    except (OSError, ValueError):
        return False
    return S_ISREG(found.st_mode) and remembered_sha256(found) == sha256
