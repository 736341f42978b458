"""The section `ran` of a decision, derived from the evidence of its report."""

from msgspec import structs

from reviewer.report.evidence import Evidence
from reviewer.report.ran import ran_section
from reviewer.signing.facts import ModelFact, RanFacts
from reviewer.signing.predicate import CODE
from reviewer.suite.strict_json import canonical_bytes, sha256_hex

_MOST_MODELS = 50
"""Keeps a decision small; the report, whose digest the decision contains, lists all."""


def ran_facts(gathered: Evidence) -> RanFacts:
    """Return the `ran` section of a decision, from the evidence of the report."""
    measured = gathered.ran
    section = ran_section(measured, gathered.made)
    found = [(CODE, one.sha256) for one in section.codes]
    for one in measured:
        program = one.interpreter
        found += [(f"interpreter {program.name}", program.sha256)] if program else []
        found += [("toolset", one.toolset)] if one.toolset else []
        found += [("toolkits", one.toolkits)] if one.toolkits else []
    models = [ModelFact(one.model, one.fingerprint) for one in section.models[:_MOST_MODELS]]
    for model in models:
        digest = sha256_hex(canonical_bytes(structs.asdict(model), "model"))
        found.append((f"model {model.model or '-'}", digest))
    judge = None if gathered.judge is None else gathered.judge.section
    if judge is not None and judge.prompt_digest is not None:
        found.append((f"judge {judge.judge_id}", judge.prompt_digest))
    return RanFacts(
        attempts_bound=section.bound,
        attempts_not_bound=section.not_bound,
        code_pinned=bool(measured) and all(one.code.pinned for one in measured),
        changed=section.changed,
        dependencies=tuple(dict.fromkeys(found)),
        kinds=tuple(sorted({one.kind for one in measured})),
        models=tuple(models),
        platforms=tuple(sorted({one.platform for one in measured if one.platform})),
        approvals=tuple(sorted({one.approvals for one in measured})),
        network=tuple(sorted({one.network for one in measured})),
        seeds=tuple(sorted({one.seed for one in measured})),
        measurements=tuple(one.sha256 for one in section.measurements),
    )
