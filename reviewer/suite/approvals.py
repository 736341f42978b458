"""An episode's answers to calls that need an approval: which rule answers a call, and which rules
are refused because they could never apply, or because two of them answer one call differently."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reviewer.suite.argument_names import missing_argument
from reviewer.suite.errors import json_path, shown
from reviewer.suite.json_values import same
from reviewer.suite.model import Episode, EpisodeApproval

_PARTIAL = ("type", "properties", "patternProperties", "additionalProperties", "propertyNames")
_DEFINITIONS = ("$schema", "$defs", "definitions")
"""Members of a JSON Schema that a call violates by one argument, whatever its others are."""


class FittingRule(NamedTuple):
    """The rule that answers a call, with its place in the episode's `approvals`, from 1."""

    number: int
    rule: EpisodeApproval


def fitting_rule(episode: Episode, tool: str, arguments: Any) -> FittingRule | None:
    """Return the first rule of an episode that matches a call, None when none does."""
    for number, rule in enumerate(episode.approval_rules, 1):
        if rule.tool == tool and _fits(rule.arguments or {}, arguments):
            return FittingRule(number, rule)
    return None


def ruled_tools(episode: Episode) -> frozenset[str]:
    """Return the tools for which an episode has rules: their calls are answered by nothing else."""
    return frozenset(rule.tool for rule in episode.approval_rules)


def flag_decides(episodes: Sequence[Episode]) -> bool:
    """Return whether a call in one of these episodes can be answered by the run's `--approve`."""
    return any(set(each.tools.approvals) - ruled_tools(each) for each in episodes)


def asks_a_person(episode: Episode) -> bool:
    """Return whether a rule of the episode asks a person."""
    return any(rule.answer == "person" for rule in episode.approval_rules)


def approval_problems(episode: Episode) -> Iterator[tuple[str, str]]:
    """Yield why the rules of an episode are refused: place and reason."""
    rules = episode.approval_rules
    for at, rule in enumerate(rules):
        place = json_path(("approvals", at))
        name = shown(rule.tool)
        if rule.tool not in episode.tools.approvals:
            reason = f"`{name}` needs no approval: list it in tools.approvals, or drop the rule"
            yield f"{place}.tool", reason
            continue
        if why := _impossible(episode, rule):
            yield place, f"no call of `{name}` can fit this rule: {why}"
            continue
        for before in range(at):
            if rules[before].tool == rule.tool and (why := _against(rules, before, rule)):
                yield place, f"{json_path(('approvals', before))} {why}"
                break
    for at, tool in enumerate(episode.tools.required):
        if {rule.answer for rule in rules if rule.tool == tool} == {"deny"}:
            reason = f"required tool `{shown(tool)}` is never allowed by a rule in approvals"
            yield json_path(("tools", "required", at)), reason


def _against(rules: Sequence[EpisodeApproval], before: int, later: EpisodeApproval) -> str | None:
    """Return why the later rule cannot stand after the one at `before`, or None."""
    earlier = rules[before]
    one, other = earlier.arguments or {}, later.arguments or {}
    if _fits(one, other):
        if len(one) == len(other) and earlier.answer != later.answer:
            return f"answers the same calls with {earlier.answer}, this rule with {later.answer}"
        return "matches every call that this rule matches, and comes first: this rule never applies"
    if earlier.answer == later.answer or _fits(other, one):
        return None  # they agree, or the earlier one is an exception to the later
    both = {**one, **other}
    settled = any(
        each.tool == later.tool and _fits(each.arguments or {}, both) for each in rules[:before]
    )
    if settled or not _fits(one, both):
        return None
    return (
        f"answers {earlier.answer} and this rule {later.answer}, and one call can fit both: put a "
        "rule with the arguments of both in front of them"
    )


def _impossible(episode: Episode, rule: EpisodeApproval) -> str | None:
    """Return why no simulated call has the arguments of a rule, or None."""
    simulated = (episode.simulator or {}).get("tools")
    if not isinstance(simulated, dict):
        return None
    tool = simulated.get(rule.tool)
    if not isinstance(tool, dict):
        return "the tool is not simulated"
    schema = tool.get("parameters")
    if not rule.arguments or not isinstance(schema, dict):
        return None
    for name in rule.arguments:
        if (why := missing_argument(schema, (name,))) is not None:
            return f"the tool {why}"
    return _refused_by(schema, rule.arguments)


def _refused_by(schema: Mapping[str, Any], arguments: dict[str, Any]) -> str | None:
    """Return why a tool's schema refuses each call with these arguments, or None.

    Only violations by a single argument are considered; an invalid schema is reported by the run.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    part = {name: schema[name] for name in (*_DEFINITIONS, *_PARTIAL) if name in schema}
    try:
        kind = validator_for(part, default=Draft202012Validator)
        kind.check_schema(part)
        fault = next(kind(part, registry=Registry()).iter_errors(arguments), None)
    except (SchemaError, Unresolvable, RecursionError, AttributeError, TypeError):
        return None
    if fault is None:
        return None
    where = fault.json_path.removeprefix("$").removeprefix(".")
    return shown(f"{where}: {fault.message}" if where else fault.message, 200)


def _fits(wanted: Mapping[str, Any], arguments: Any) -> bool:
    return isinstance(arguments, Mapping) and all(
        name in arguments and same(value, arguments[name]) for name, value in wanted.items()
    )
