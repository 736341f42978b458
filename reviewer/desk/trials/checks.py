"""A suite's own checks before it is frozen: each runs twice on the attempts of the trial's agents,
and on the example record beside it, in which it must find something."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reviewer.desk.trials.views import TriedCheck
from reviewer.gates.custom import Checked, not_measured
from reviewer.gates.model import Finding
from reviewer.running.checks.host import CheckHost, Ran
from reviewer.running.trial.play import Played
from reviewer.suite.checks import CHECKS, EXAMPLE, CheckFile
from reviewer.suite.folder import read_bytes
from reviewer.suite.model import Episode, Suite
from reviewer.trace.redaction import redactor_of
from reviewer.trace.validate import DecodeError, decode, explain

_ONE = "trial"
"""All agents of a trial are one candidate for the checks: none of them is under test."""


class CheckTrial(NamedTuple):
    """The result of every check, and what they found in each attempt, in the order of attempts."""

    checks: tuple[TriedCheck, ...]
    results: list[Checked]


def examples_in(folder: Path) -> dict[str, bytes]:
    """Return the example record beside each check, in which it must find something, by the check's
    name."""
    return {
        path.name.removesuffix(EXAMPLE): read_bytes(path)
        for path in sorted((folder / CHECKS).glob(f"*{EXAMPLE}"))
    }


def tried_checks(
    suite: Suite, attempts: Sequence[Played], examples: Mapping[str, bytes]
) -> CheckTrial:
    """Run every check of the suite on these attempts, and on its own example."""
    results: list[dict[str, tuple[Finding, ...]]] = [{} for _ in attempts]
    twice = _Twice(suite)
    tried = []
    for check in suite.own_checks:
        problem, broken, found = "", "", 0
        for attempt, result in zip(attempts, results, strict=True):
            if broken:  # a check that never ends would use its time limit in every attempt
                result[check.name] = not_measured(check.name, broken)
                continue
            ran, differs = twice.run(check, attempt.raw, attempt.episode_id)
            where = f"in {attempt.episode_id}, as {attempt.agent} plays it"
            problem = problem or _problem(ran, differs, where)
            broken = ran.broken
            found += bool(ran.findings)
            result[check.name] = (
                not_measured(check.name, ran.broken) if ran.broken else ran.findings
            )
        if not problem and check.name in examples:
            problem = _of_example(twice, check, examples[check.name])
        elif not problem and not found:
            problem = _cannot_fail(check, len(attempts))
        tried.append(TriedCheck(check=check.name, found_in=found, problem=problem))
    return CheckTrial(tuple(tried), list(results))


class _Twice:
    """Runs a check twice: with other hash seeds, and with the members of objects in another
    order."""

    def __init__(self, suite: Suite) -> None:
        self.episodes: dict[str, Episode] = {one.episode_id: one for one in suite.episodes}
        self._hosts = CheckHost(), CheckHost(seed=1, reversed_members=True)
        self.redactor = redactor_of(suite.redaction)

    def run(self, check: CheckFile, raw: bytes, episode_id: str) -> tuple[Ran, bool]:
        episode = self.episodes[episode_id]
        mask = self.redactor.masked
        first, second = (host.run(check, _ONE, raw, episode, mask) for host in self._hosts)
        if second.broken and not first.broken:
            return second, False
        return first, not first.broken and first != second


def _problem(ran: Ran, differs: bool, where: str) -> str:
    if ran.broken:
        return f"{ran.broken} ({where})"
    if differs:
        return (
            f"gives another result when it runs again ({where}): it may depend only on the record "
            "and the contract, not on a clock, or the order of a set or of an object's members"
        )
    return ""


def _cannot_fail(check: CheckFile, attempts: int) -> str:
    told = "is tried on nothing"
    if attempts:
        told = f"finds nothing in any of the trial's {attempts} attempts"
    return (
        f"{told}, so nothing shows that it can fail: add a record in which it must find "
        f"something, as {CHECKS}{check.name}{EXAMPLE}"
    )


def _of_example(twice: _Twice, check: CheckFile, data: bytes) -> str:
    file = f"{CHECKS}{check.name}{EXAMPLE}"
    try:
        record = decode(data)
    except DecodeError:
        wrong = ", ".join(one.code for one in explain(data, twice.redactor).problems[:5])
        return f"has no record beside it that can be read: {file}: {wrong}"
    if record.episode_id not in twice.episodes:
        return f"has a record beside it of an episode that the suite does not have: {file}"
    ran, differs = twice.run(check, data, record.episode_id)
    problem = _problem(ran, differs, f"in {file}")
    if problem or ran.findings:
        return problem
    return f"finds nothing in {file}, the record in which it must find something"
