"""The check of a policy's limits on labels against the rubric."""

from collections.abc import Iterator, Mapping
from typing import Any

from reviewer.suite import values
from reviewer.suite.errors import ContractError, Problem, json_path
from reviewer.suite.model import CriterionLimit
from reviewer.suite.rubric import Rubric, levels_of


def label_limit_problems(
    head: dict[str, Any], rubric: Rubric | None, files: Mapping[str, bytes]
) -> Iterator[Problem]:
    """Yield limits on labels that cannot be met, or that would limit nothing."""
    try:
        policy = values.policy_value(head.get("policy", {})).labels
    except ContractError:
        return  # already reported
    where = ("policy", "labels")
    if policy.limited and values.RUBRIC_FILE not in files:
        reason = f"limits labels, which need a rubric, but there is no {values.RUBRIC_FILE}"
        yield Problem(values.SUITE_FILE, json_path(where), reason)
    if rubric is not None and policy.criteria:
        yield from _strange_criteria(policy.criteria, rubric)
    if policy.judge_stands_in is True:
        if values.JUDGE_FILE not in files:
            reason = f"lets a judge stand in for people, but there is no {values.JUDGE_FILE}"
            yield Problem(values.SUITE_FILE, json_path((*where, "judge_stands_in")), reason)
        if not policy.min_pairs and not isinstance(policy.wins_or_ties_min, float | int):
            reason = "has no effect: neither min_pairs nor wins_or_ties_min is set"
            yield Problem(values.SUITE_FILE, json_path((*where, "judge_stands_in")), reason)


def _strange_criteria(limits: Mapping[str, CriterionLimit], rubric: Rubric) -> Iterator[Problem]:
    known = {criterion.criterion_id: criterion for criterion in rubric.criteria}
    for name, limit in limits.items():
        path = json_path(("policy", "labels", "criteria", name))
        if name not in known:
            reason = f"is not a criterion of {values.RUBRIC_FILE}, which has {', '.join(known)}"
            yield Problem(values.SUITE_FILE, path, reason)
            continue
        levels = set(levels_of(known[name]))
        if strange := sorted(set(limit.passes) - levels):
            reason = f"passes {strange[0]}, and the levels are 1 to {max(levels)}"
            yield Problem(values.SUITE_FILE, path, reason)
        elif set(limit.passes) == levels:
            yield Problem(values.SUITE_FILE, path, "passes every level: nothing could fail it")
