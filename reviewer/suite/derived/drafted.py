"""What becomes of one record: a contract, or the reason why there is none."""

import json
from typing import Any, NamedTuple

from reviewer.suite.check import check_suite
from reviewer.suite.names import id_problem
from reviewer.suite.values import EPISODES, SUITE_FILE

LONGEST_NAME = 255
"""Bytes of a file's name, which an episode's id becomes."""


class Drafted(NamedTuple):
    """One record as a contract.

    `episode` is the content of its file. `shown` holds what no gate checks and people should see
    (assertions), by kind. `notes` say what was read in which way.
    """

    episode: dict[str, Any]
    shown: dict[str, Any]
    notes: tuple[str, ...] = ()


class LeftOut(NamedTuple):
    """One record that no contract can be made of: which, and why."""

    record: str
    reason: str


class Unmade(ValueError):
    """No contract can be made of a record; the text is the reason."""


def encoded(value: dict[str, Any]) -> bytes:
    """A file of a suite, as people edit it. Raises Unmade for what has no JSON."""
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        return (text + "\n").encode()
    except (ValueError, RecursionError):
        raise Unmade("holds what JSON cannot say") from None


def checked(drafted: Drafted) -> bytes:
    """The episode's file, once a suite of it alone would hold. Raises Unmade with every reason."""
    episode_id = str(drafted.episode["episode_id"])
    if (reason := id_problem(episode_id)) is not None:
        raise Unmade(f"$.episode_id: {reason}")
    if len(f"{episode_id}.json".encode("utf-8", "replace")) > LONGEST_NAME:
        raise Unmade("its id is too long for a file's name")
    path = f"{EPISODES}{episode_id}.json"
    data = encoded(drafted.episode)
    head = encoded({"schema": "reviewer/suite@1", "suite_id": "one", "source": drafted.shown})
    problems = check_suite({SUITE_FILE: head, path: data}).problems
    if problems:
        raise Unmade("; ".join(f"{problem.path}: {problem.reason}" for problem in problems))
    return data
