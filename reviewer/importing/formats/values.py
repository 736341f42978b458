"""Members of foreign JSON, taken with tolerance: a value of another type counts as missing.

Every reader takes apart objects that somebody else wrote. These few functions say once what is
done about a member that is not there or has another type, so that readers do not repeat it.
"""

from collections.abc import Mapping
from typing import Any


def mapping(value: Any) -> dict[str, Any]:
    """Return the value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return the value when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list, none when the value is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return the value when it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def at_path(value: Any, *path: str | int) -> Any:
    """Return what is at a path of member names and places in lists, None when a step of it leads
    nowhere."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            there = isinstance(value, list) and -len(value) <= step < len(value)
            value = value[step] if there else None
    return value


def present(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that are known: those that are not None."""
    return {name: value for name, value in facts.items() if value is not None}


def clipped(text: str, most: int) -> str:
    """Return a long text's start and end, with a mark between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
