"""The files of a suite that was made out of contracts; nobody has frozen it yet."""

from collections.abc import Mapping, Sequence
from typing import Any

from reviewer.suite.derived.drafted import Drafted, encoded
from reviewer.suite.values import EPISODES, RUBRIC_FILE, SUITE_FILE
from reviewer.trace.rules import DETECTORS

POLICY_FILE = "policy.md"
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

_ASSERTIONS = {
    "criterion_id": "assertions",
    "title": "assertions",
    "asks": "holds what suite.json lists for the task (source, nl_assertions)",
    "scale": "binary",
    "levels": [{"value": 1, "label": "yes"}, {"value": 2, "label": "no"}],
    "weak": "one of them does not hold",
    "strong": "all of them hold",
}


def files_of(
    suite_id: str,
    title: str,
    made: Sequence[tuple[Drafted, bytes]],
    source: Mapping[str, Any],
    redaction: Mapping[str, Any] | None = None,
    policy: str = "",
) -> dict[str, bytes]:
    """Path → content. `made` are contracts with their files, in the order to show them; `source`
    says what they were made of; `policy` is the agent's, kept with the suite. Raises Unmade."""
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
    if "nl_assertions" in shown:
        rubric = {
            "schema": "reviewer/rubric@1",
            "rubric_id": f"{suite_id}-messages",
            "version": "v1",
            "criteria": [_ASSERTIONS],
        }
        files[RUBRIC_FILE] = encoded(rubric)
    if policy:
        files[POLICY_FILE] = policy.encode("utf-8", "replace")
    return files
