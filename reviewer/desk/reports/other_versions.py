"""Episodes that are the same in two versions of a suite, so that a promoted candidate's attempts on
one version are still a baseline on the other.

An episode is the same when its contract and simulator are, when both suites judge alike (redaction,
optional gates, checks of their own), and when both offer the same tools: toolset.json and the
toolkits by the digests in the locks; without toolset.json, the tools that all episodes simulate. A
suite whose folder is missing, or is not the one that the store knows, shares no episodes.
"""

from typing import Any

import msgspec

from reviewer.db import contracts, registry
from reviewer.db.connection import Connection
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import read_bytes
from reviewer.suite.lock import LOCK_FILE, read_lock, suite_digest
from reviewer.suite.server import SERVER

TOOLSET = "toolset.json"
_SHOWN = ("title", "tags", "optimal_steps")
"""Fields of a contract that no gate depends on."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder(order="deterministic").encode


def same_episodes(
    workspace: Workspace, connection: Connection, suite: registry.SuiteRow, other: registry.SuiteRow
) -> frozenset[str]:
    """Return the ids of the episodes that are the same in both."""
    here, there = (_locked_tools(workspace, row) for row in (suite, other))
    if here is None or here != there:
        return frozenset()
    if _judged_alike(connection, suite.id) != _judged_alike(connection, other.id):
        return frozenset()
    ours, theirs = (_contracts(connection, row.id) for row in (suite, other))
    if TOOLSET not in here and _offered(ours) != _offered(theirs):
        return frozenset()
    return frozenset(
        name for name, body in ours.items() if name in theirs and _same(body, theirs[name])
    )


def _locked_tools(workspace: Workspace, suite: registry.SuiteRow) -> dict[str, str] | None:
    """Return path → sha256 of the locked files that are the tools of a suite."""
    try:
        lock = read_bytes(workspace.suite_folder(suite.suite_id) / LOCK_FILE)
        if suite_digest(lock) != suite.digest:
            return None
        files = read_lock(lock).files
    except (ContractError, DeskError, OSError):
        return None
    return {
        each.path: each.sha256
        for each in files
        if each.path == TOOLSET or each.path.startswith(("toolkits/", f"{SERVER}/"))
    }


def _judged_alike(connection: Connection, suite: int) -> bytes:
    head = contracts.head(connection, suite)
    return _encode([head.redaction, head.policy.limits, head.own_checks])


def _contracts(connection: Connection, suite: int) -> dict[str, dict[str, Any]]:
    return {name: _decode(body) for name, body in contracts.bodies(connection, suite)}


def _offered(episodes: dict[str, dict[str, Any]]) -> dict[str, set[bytes]]:
    """Return every simulated tool with the descriptions and parameters under which it is
    offered."""
    found: dict[str, set[bytes]] = {}
    for episode in episodes.values():
        tools = (episode.get("simulator") or {}).get("tools") or {}
        for name, tool in tools.items():
            told = [tool.get("description"), tool.get("parameters")]
            found.setdefault(name, set()).add(_encode(told))
    return found


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    judged = ({k: v for k, v in each.items() if k not in _SHOWN} for each in (one, other))
    return next(judged) == next(judged)
