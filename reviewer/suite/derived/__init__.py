"""Contracts derived from other tools' expectations of an agent: tasks of a benchmark, golden
records.

Pure: from parsed JSON to the files of a suite that is not frozen yet. An expectation that no gate
can check is not forced into one: it is kept beside the contracts for people, or the record is left
out with the reason. This module has the contract drafted from one record and the files of a suite
made from such drafts; the modules beside it read the records of one tool each.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reviewer.suite.errors import id_problem
from reviewer.suite.values import EPISODES, RUBRIC_FILE, SUITE_FILE
from reviewer.trace.rules import DETECTORS

# The result of one record: a contract, or the reason why there is none.


LONGEST_NAME = 255
"""Bytes of a file's name, which an episode's id becomes."""


class ContractDraft(NamedTuple):
    """One record as a contract.

    `episode` is the content of its file. `shown` has what no gate checks and people should see
    (assertions), by kind. `notes` say how the record was interpreted.
    """

    episode: dict[str, Any]
    shown: dict[str, Any]
    notes: tuple[str, ...] = ()


class Omission(NamedTuple):
    """One record from which no contract can be made: which, and why."""

    record: str
    reason: str


class NoContract(ValueError):
    """No contract can be made from a record; the text is the reason."""


def encoded(value: dict[str, Any]) -> bytes:
    """Return a file of a suite, as people edit it. Raises NoContract for a value that JSON cannot
    represent."""
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        return (text + "\n").encode()
    except (ValueError, RecursionError):
        raise NoContract("holds what JSON cannot say") from None


def checked(drafted: ContractDraft) -> bytes:
    """Return the episode's file, once a suite of only this episode would be valid. Raises
    NoContract with every reason."""
    # Imported late, so that a reader of results, which only reads tasks, needs no pydantic.
    from reviewer.suite.check import check_suite

    episode_id = str(drafted.episode["episode_id"])
    if (reason := id_problem(episode_id)) is not None:
        raise NoContract(f"$.episode_id: {reason}")
    if len(f"{episode_id}.json".encode("utf-8", "replace")) > LONGEST_NAME:
        raise NoContract("its id is too long for a file name")
    path = f"{EPISODES}{episode_id}.json"
    data = encoded(drafted.episode)
    head = encoded({"schema": "reviewer/suite@1", "suite_id": "one", "source": drafted.shown})
    problems = check_suite({SUITE_FILE: head, path: data}).problems
    if problems:
        raise NoContract("; ".join(f"{problem.path}: {problem.reason}" for problem in problems))
    return data


# The files of a suite made from contracts, which is not frozen yet.


POLICY_FILE = "policy.md"
MAP_FILE = "episode-map.json"
INVENTED = {
    "keys": [],
    "allow_keys": [
        "billing_address",
        "credit_card",
        "date_of_birth",
        "dob",
        "email",
        "phone",
        "phone_number",
        "shipping_address",
    ],
    "detectors": ["secret", "token", "credential"],
}
"""Redaction for a benchmark whose customers are invented: their data are no secrets, keys are."""

_ASKED = {"nl_assertions": "assertions", "rubrics": "rubrics"}
"""The parts of contracts that are for people → the criterion of the rubric that asks about each."""


def _criterion(kind: str) -> dict[str, Any]:
    return {
        "criterion_id": _ASKED[kind],
        "title": _ASKED[kind],
        "asks": f"holds what suite.json lists for the task (source, {kind})",
        "scale": "binary",
        "levels": [{"value": 1, "label": "yes"}, {"value": 2, "label": "no"}],
        "weak": "one of them does not hold",
        "strong": "all of them hold",
    }


def files_of(
    suite_id: str,
    title: str,
    made: Sequence[tuple[ContractDraft, bytes]],
    source: Mapping[str, Any],
    redaction: Mapping[str, Any] | None = None,
    policy: str = "",
    criteria: Sequence[Mapping[str, Any]] = (),
    episode_map: Mapping[str, str] | None = None,
) -> dict[str, bytes]:
    """Return path → content. `made` are contracts with their files, in the order of display;
    `source` says what they were made from; `policy` is the agent's, stored with the suite;
    `criteria` are questions for people, asked about every message; `episode_map` has the source's
    names of the episodes. Raises NoContract."""
    shown: dict[str, dict[str, Any]] = {}
    files: dict[str, bytes] = {}
    for drafted, data in made:
        episode_id = drafted.episode["episode_id"]
        files[f"{EPISODES}{episode_id}.json"] = data
        for kind, value in drafted.shown.items():
            shown.setdefault(kind, {})[episode_id] = value
    head: dict[str, Any] = {
        "schema": "reviewer/suite@1",
        "suite_id": suite_id,
        "title": title,
        "episodes": [drafted.episode["episode_id"] for drafted, _ in made],
        "source": {**source, **shown},
    }
    head["redaction"] = {"detectors": list(DETECTORS)} if redaction is None else dict(redaction)
    files[SUITE_FILE] = encoded(head)
    asked = [*criteria, *(_criterion(kind) for kind in _ASKED if kind in shown)]
    if asked:
        rubric = {
            "schema": "reviewer/rubric@1",
            "rubric_id": f"{suite_id}-messages",
            "version": "v1",
            "criteria": asked,
        }
        files[RUBRIC_FILE] = encoded(rubric)
    if episode_map:
        named = {"schema": "reviewer/episode-map@1", "episodes": dict(episode_map)}
        files[MAP_FILE] = encoded(named)
    if policy:
        files[POLICY_FILE] = policy.encode("utf-8", "replace")
    return files
