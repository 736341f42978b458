"""How a foreign source calls the episodes and the tools of a private suite."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode
from reviewer.suite.errors import ContractError
from reviewer.suite.strict_json import loads
from reviewer.suite.tool_names import NO_MAP, ToolMap

SCHEMA = "reviewer/episode-map@1"


class ImportMap(NamedTuple):
    """(theirs, ours) of the episodes, and of the tools."""

    episodes: tuple[tuple[str, str], ...] = ()
    tools: ToolMap = NO_MAP


def import_map(path: Path) -> ImportMap:
    """Return what a file `{"schema": "reviewer/episode-map@1", "episodes": {theirs: ours}, "tools":
    {theirs: ours}}` says, or one of the episodes alone. Raises DeskError, with the place named."""
    try:
        data = path.read_bytes()
        value = loads(data, str(path))
    except OSError as error:
        raise DeskError(
            f"{path}: cannot be read: {error.strerror}", exit_code=ExitCode.INVALID
        ) from None
    except ContractError as error:
        raise DeskError(str(error), exit_code=ExitCode.INVALID) from None
    tools: Any = {}
    if isinstance(value, dict) and "schema" in value:
        unknown = sorted(set(value) - {"schema", "episodes", "tools"})
        if value["schema"] != SCHEMA or unknown:
            what = f"unknown member {unknown[0]}" if unknown else f"schema is not {SCHEMA}"
            raise DeskError(f"{path}: {what}", exit_code=ExitCode.INVALID)
        tools = value.get("tools", {})
        value = value.get("episodes", {} if tools else None)
    if not isinstance(value, dict) or not (value or tools):
        raise DeskError(f"{path}: no object of source id → episode id", exit_code=ExitCode.INVALID)
    if not isinstance(tools, dict):
        raise DeskError(
            f"{path}: tools: no object of source name → tool", exit_code=ExitCode.INVALID
        )
    for what, some in (("episode id", value), ("tool", tools)):
        for theirs, ours in some.items():
            if not isinstance(ours, str) or not ours:
                raise DeskError(
                    f"{path}: {theirs}: the {what} is not a text", exit_code=ExitCode.INVALID
                )
    names = tuple(sorted(tools.items()))
    said = ToolMap(f"sha256:{hashlib.sha256(data).hexdigest()}", names) if names else NO_MAP
    return ImportMap(tuple(value.items()), said)
