"""Other failed candidates that are the same agent according to their manifest."""

import json
import re
from collections.abc import Mapping
from typing import Any

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.db.queries.candidates import (
    failed_attempts,
    other_candidates,
    undescribed_candidates,
)
from reviewer.report.evidence import SameAgent
from reviewer.suite.tool_names import look_alike

_NAMES = frozenset({"$schema", "schema", "candidate_id", "authors", "prices"})
"""Members that do not change what an agent does."""
_PLACES = frozenset({"path", "script", "version"})
"""Members that say where a file is, or what it is called, whose digest is beside them."""
_ACCESS = frozenset({"api_key_env", "requests_per_minute"})
"""Members of a runner that say by which key, and how fast, the same model is asked."""
_USUAL = {"transport": "stdio"}
"""Values that say no more than a member that is left out."""
_SAYING = frozenset({"model", "prompts", "config", "runner"})
"""Members of which at least one says which agent it is: manifests without any are equal only
because they say nothing."""


def same_agents(
    connection: Connection, suite: registry.SuiteRow, candidate: registry.CandidateRow
) -> tuple[SameAgent, ...]:
    """Return the other candidates that failed an episode of this suite, here or on another version
    of it, under the same manifest: running the same agent under a new id leaves its failures
    behind. So do those here without a manifest whose id is a spelling of this one's."""
    if suite.probe or candidate.manifest is None:
        return ()
    mine, name = acting(json.loads(candidate.manifest)), _folded(candidate.candidate_id)
    others = [
        (key, suite.suite_id, other, True)
        for key, other in undescribed_candidates(connection, candidate.id)
        if _folded(other) == name
    ]
    if not mine.keys().isdisjoint(_SAYING):
        others += [
            (one.key, one.suite_id, one.candidate_id, False)
            for one in other_candidates(connection, candidate.id)
            if acting(json.loads(one.manifest)) == mine
        ]
    found = []
    for key, suite_id, candidate_id, spelled in others:
        made = failed_attempts(connection, key, suite.id)
        if made.failed:
            found.append(
                SameAgent(
                    suite_id=suite_id,
                    candidate_id=candidate_id,
                    attempts=made.attempts,
                    failed=made.failed,
                    critical=made.critical,
                    spelled=spelled,
                )
            )
    return tuple(found)


def ids_of_agent(
    connection: Connection, suite_id: str, candidate_id: str, manifest: Mapping[str, Any] | None
) -> set[str]:
    """Return the id of a candidate and those of others under the same manifest: what one of them
    may have learned from, each of them may."""
    ids = {candidate_id}
    suite = registry.suite_row(connection, suite_id)
    row = suite and registry.candidate_row(connection, suite.id, candidate_id)
    mine = acting(manifest or {})
    if not row or mine.keys().isdisjoint(_SAYING):
        return ids
    others = other_candidates(connection, row.id)
    return ids | {one.candidate_id for one in others if acting(json.loads(one.manifest)) == mine}


def _folded(name: str) -> str:
    """Return an id without case and look-alikes, and with one separator for all."""
    return re.sub(r"[\W_]+", "-", look_alike(name)).strip("-")


def acting(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a manifest that change what its agent does. Where nothing says how
    the agent is run, they include the agent's name and version, since nothing else can state a
    change."""
    found = {name: _placeless(part) for name, part in manifest.items() if name not in _NAMES}
    if runner := found.get("runner"):
        found["runner"] = {
            name: part
            for name, part in runner.items()
            if name not in _ACCESS and not _silent(part) and part != _USUAL.get(name)
        }
        for name in ("agent", "version"):
            found.pop(name, None)
    return {name: part for name, part in found.items() if not _silent(part)}


_OF_A_SUITE = frozenset({"agent", "version", "tools", "runner"})
"""Members that may differ between the suites of one release: a script, and the tools, are those of
a suite, and the code of programs is measured."""
_MODELS = frozenset({"openai-chat", "openai-responses"})


def said_of_agent(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the manifests of one agent must say alike on every suite of a release: the model,
    the prompts, the configuration, and how a model is asked."""
    found = acting(manifest)
    runner = found.get("runner", {})
    said = {name: part for name, part in found.items() if name not in _OF_A_SUITE}
    return {**said, "runner": runner} if runner.get("kind") in _MODELS else said


def _silent(part: Any) -> bool:
    """Return whether a member says no more than one that is left out. A number says something,
    also 0, which equals False."""
    return part is False or part in (None, "", [], {})


def _placeless(part: Any) -> Any:
    if isinstance(part, list):
        return [_placeless(one) for one in part]
    if isinstance(part, dict) and any(part[name] for name in part if name.endswith("sha256")):
        return {name: value for name, value in part.items() if name not in _PLACES}
    return part
