"""Whether the files of a suite are a suite: shape, then meaning, all problems at once.

Pure: bytes in, values and problems out.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reviewer.suite import values
from reviewer.suite.border import as_problems, faults_of, without
from reviewer.suite.errors import ContractError, Problem, json_path, shown
from reviewer.suite.model import Episode, Suite, Value
from reviewer.suite.rubric import JudgePrompt, Rubric
from reviewer.suite.check import episode_problems, policy_problems
from reviewer.suite.strict_json import load_object


class Checked(NamedTuple):
    """What the files say. The values are None where `problems` made them unusable."""

    suite: Suite | None
    rubric: Rubric | None
    judge: JudgePrompt | None
    problems: tuple[Problem, ...]


class _Reading(NamedTuple):
    """One file without its faulty members; `whole` when no member of the wrong type was dropped."""

    raw: dict[str, Any] | None
    problems: list[Problem]
    whole: bool


def check_suite(files: Mapping[str, bytes], digest: str = "") -> Checked:
    """Every problem of a suite's locked files (path: content), and its values when there is none.

    `digest` is put into the value as it is; it is the caller's business that it is the lock's.
    """
    problems: list[Problem] = []
    head = _head(files, problems)
    defaults = head.get("defaults", {})
    episodes: dict[str, Episode] = {}
    for path in sorted(files):
        if values.is_episode_file(path):
            episode = _episode(path, files[path], defaults, problems)
            if episode is not None:
                episodes[path] = episode
        elif path.startswith(values.EPISODES):
            reason = "episodes holds nothing but <episode_id>.json"
            problems.append(Problem(path, "$", reason))
    problems += _across(head, episodes, files)
    rubric, judge = _rubric(files, problems), _judge(files, problems)
    if problems:
        return Checked(None, rubric, judge, tuple(problems))
    return Checked(values.suite_value(head, episodes.values(), digest), rubric, judge, ())


def _read(data: bytes, file: str, kind: type[Value]) -> _Reading:
    try:
        raw = load_object(data, file)
    except ContractError as error:
        return _Reading(None, list(error.problems), False)
    faults = faults_of(raw, kind)
    if not faults:
        return _Reading(raw, [], True)
    rest = without(raw, [fault.where for fault in faults])
    whole = all(fault.unknown or fault.reason == "is missing" for fault in faults)
    return _Reading(rest, as_problems(file, faults), whole)


def _head(files: Mapping[str, bytes], problems: list[Problem]) -> dict[str, Any]:
    file = values.SUITE_FILE
    if file not in files:
        problems.append(Problem(file, "$", "is missing"))
        return {}
    reading = _read(files[file], file, Suite)
    problems += reading.problems
    raw = reading.raw or {}
    try:
        policy = values.policy_value(raw.get("policy", {}))
    except ContractError as error:
        problems += [] if reading.problems else error.problems
    else:
        problems += [Problem(file, path, reason) for path, reason in policy_problems(policy)]
    return raw


def _episode(
    path: str, data: bytes, defaults: dict[str, Any], problems: list[Problem]
) -> Episode | None:
    reading = _read(data, path, Episode)
    problems += reading.problems
    if reading.raw is None:
        return None
    try:
        episode = values.episode_value(values.merge_defaults(defaults, reading.raw), path)
    except ContractError as error:
        # After a fault of shape the rest need not be a whole episode; what is wrong was said.
        problems += [] if reading.problems else error.problems
        return None
    found = episode_problems(episode, whole=reading.whole)
    problems += [Problem(path, where, reason) for where, reason in found]
    if path != f"{values.EPISODES}{episode.episode_id}.json":
        reason = f"`{shown(episode.episode_id)}` does not stand in a file of that name"
        problems.append(Problem(path, "$.episode_id", reason))
    return episode


def _across(
    head: dict[str, Any], episodes: dict[str, Episode], files: Mapping[str, bytes]
) -> list[Problem]:
    problems = []
    first: dict[str, str] = {}
    for path, episode in episodes.items():
        other = first.setdefault(episode.episode_id, path)
        if other != path:
            reason = f"`{shown(episode.episode_id)}` is also the id of {shown(other, 200)}"
            problems.append(Problem(path, "$.episode_id", reason))
    if not any(values.is_episode_file(path) for path in files):
        problems.append(Problem(values.SUITE_FILE, "$", "the suite has no episode"))
    listed = head.get("episodes")
    if listed is not None:
        problems += _listed(listed, {e.episode_id for e in episodes.values()}, files)
    return problems


def _listed(listed: list[str], known: set[str], files: Mapping[str, bytes]) -> list[Problem]:
    problems = []
    for i, episode_id in enumerate(listed):
        if f"{values.EPISODES}{episode_id}.json" not in files:
            reason = f"there is no episodes/{shown(episode_id)}.json"
            problems.append(Problem(values.SUITE_FILE, json_path(("episodes", i)), reason))
    for episode_id in sorted(known - set(listed)):
        reason = f"does not list `{shown(episode_id)}`, which stands in the folder"
        problems.append(Problem(values.SUITE_FILE, "$.episodes", reason))
    return problems


def _rubric(files: Mapping[str, bytes], problems: list[Problem]) -> Rubric | None:
    file = values.RUBRIC_FILE
    if file not in files:
        return None
    reading = _read(files[file], file, Rubric)
    problems += reading.problems
    if reading.problems or reading.raw is None:
        return None
    rubric = values.rubric_value(reading.raw)
    problems += _strange_episodes(rubric, files)
    return rubric


def _strange_episodes(rubric: Rubric, files: Mapping[str, bytes]) -> Iterator[Problem]:
    for i, wording in enumerate(rubric.wording):
        for j, episode_id in enumerate(wording.episodes or ()):
            if f"{values.EPISODES}{episode_id}.json" not in files:
                path = json_path(("wording", i, "episodes", j))
                reason = f"there is no episodes/{shown(episode_id)}.json"
                yield Problem(values.RUBRIC_FILE, path, reason)


def _judge(files: Mapping[str, bytes], problems: list[Problem]) -> JudgePrompt | None:
    file = values.JUDGE_FILE
    if file not in files:
        return None
    reading = _read(files[file], file, JudgePrompt)
    problems += reading.problems
    return None if reading.problems or reading.raw is None else values.judge_value(reading.raw)
