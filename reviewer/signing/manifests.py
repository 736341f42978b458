"""The facts about the candidate in a decision, derived from the manifest."""

from collections.abc import Mapping
from typing import Any

from reviewer.signing.errors import SHA256_HEX, AttestError, canonical
from reviewer.suite.strict_json import sha256_hex

_WHAT = "candidate manifest"


class ManifestError(AttestError):
    """The candidate manifest lacks a fact that a decision must state."""


def manifest_digest(manifest: Mapping[str, Any]) -> str:
    """Return SHA-256 (hex) of the manifest's RFC 8785 bytes: the subject of a decision."""
    return sha256_hex(canonical(dict(manifest), _WHAT))


def subject_name(manifest: Mapping[str, Any]) -> str:
    """Return `<agent>@<version>`, or the candidate_id of a manifest that does not name both."""
    agent, version = manifest.get("agent"), manifest.get("version")
    if isinstance(agent, str) and isinstance(version, str) and agent and version:
        return f"{agent}@{version}"
    name = manifest.get("candidate_id")
    if not isinstance(name, str) or not name:
        raise ManifestError(f"{_WHAT}: give agent and version, or candidate_id")
    return name


def agent_of(name: str) -> str:
    """Return the agent in a subject's name: numbers of decisions rise per agent and environment."""
    return name.rpartition("@")[0] or name


def candidate_view(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return `candidate` of the predicate: authors, and a descriptor per model, prompt, tool,
    setting.

    A prompt's or tool's digest is its own `sha256` where the manifest gives one; anything else is
    identified by the SHA-256 of its RFC 8785 bytes.
    """
    config = manifest.get("config") or {}
    if not isinstance(config, dict):
        raise ManifestError(f"{_WHAT}: config must be an object")
    model = manifest.get("model")
    return {
        "authors": authors(manifest),
        "model": _described(model if isinstance(model, str) and model else "model", model),
        "prompts": [_entry(entry, "prompts") for entry in _list(manifest, "prompts")],
        "tools": [_entry(entry, "tools") for entry in _list(manifest, "tools")],
        "config": [_described(str(key), value) for key, value in sorted(config.items())],
    }


def authors(manifest: Mapping[str, Any]) -> list[str]:
    names = _list(manifest, "authors")
    if not all(isinstance(name, str) and name for name in names):
        raise ManifestError(f"{_WHAT}: authors must list non-empty strings")
    return names


def _list(manifest: Mapping[str, Any], field: str) -> list[Any]:
    value = manifest.get(field)
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise ManifestError(f"{_WHAT}: {field} must be a list")
    return list(value)


def _entry(entry: Any, field: str) -> dict[str, Any]:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise ManifestError(f"{_WHAT}: each of {field} must be an object with a name")
    version = entry.get("version")
    name = f"{entry['name']}@{version}" if isinstance(version, str) and version else entry["name"]
    given = entry.get("sha256")
    if given is None:
        return _described(name, entry)
    if not isinstance(given, str) or not SHA256_HEX.fullmatch(given):
        raise ManifestError(f"{_WHAT}: {field}: sha256 must be 64 lower-case hex digits")
    return {"name": name, "digest": {"sha256": given}}


def _described(name: str, value: Any) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256_hex(canonical(value, _WHAT))}}
