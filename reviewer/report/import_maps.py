"""The maps that imports were made under: how names of episodes and tools in files were read."""

from typing import Any

from msgspec import Struct


class ImportMap(Struct, frozen=True, kw_only=True):
    """A map by its sha256, with the names it gave to tools (theirs → ours)."""

    sha256: str
    tools: tuple[tuple[str, str], ...] = ()


def import_maps_section(maps: tuple[ImportMap, ...]) -> dict[str, list[dict[str, Any]]]:
    """The member `import_maps`, left out where nothing was imported under a map."""
    if not maps:
        return {}
    return {"import_maps": [{"sha256": one.sha256, "tools": dict(one.tools)} for one in maps]}


def import_maps_rows(report: dict[str, Any]) -> list[list[str]]:
    """Of a report: each map, and what it calls which tools."""
    return [
        [one["sha256"], ", ".join(f"{theirs} is {ours}" for theirs, ours in one["tools"].items())]
        for one in report.get("import_maps", ())
    ]
