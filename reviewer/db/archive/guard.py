"""What may be asked of an archive: one question that reads its tables, and nothing else.

DuckDB itself is locked down before a question is asked (`asking`). This module also looks at the
question's parsed form, so that anything that could write, load or read elsewhere is refused by name
before it runs.
"""

import json
from collections.abc import Iterator
from typing import Any

READS = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""Parts of a question that only read."""
TABLE_FUNCTIONS = frozenset({"generate_series", "range", "unnest"})
"""Functions that produce rows from their arguments alone."""
REFUSED = frozenset(
    {
        *("current_setting", "getenv", "getvariable", "json_execute_serialized_sql"),
        *("json_serialize_plan", "json_serialize_sql", "nextval", "currval", "query"),
        *("query_table", "read_blob", "read_text", "set_config", "which_secret", "write_log"),
    }
)
"""Scalar functions that see or change something outside the question's own tables."""
WAY_OUT = "ask one SELECT (also WITH, FROM, VALUES, DESCRIBE, SUMMARIZE, SHOW TABLES)"


class Refused(Exception):
    """A question that is not run; the text names the part of it that is refused."""


def check(kinds: list[str], serialized: str) -> None:
    """Raise Refused unless these statements, given by their kinds and as DuckDB's parser states
    them in JSON, are a single question that only reads tables."""
    if len(kinds) != 1:
        raise Refused("no question" if not kinds else f"{len(kinds)} statements at once")
    if kinds[0] != "SELECT":
        raise Refused(f"{kinds[0]} does more than read tables")
    try:
        tree = json.loads(serialized)
    except (ValueError, RecursionError):
        raise Refused("it is nested too deeply") from None
    if not isinstance(tree, dict) or tree.get("error") is not False:
        raise Refused("it does more than read tables")
    for node in _nodes(tree):
        _check(node)


def _check(node: dict[str, Any]) -> None:
    kind = node.get("type")
    if isinstance(kind, str) and kind.endswith("_NODE") and kind not in READS:
        raise Refused(f"{kind.removesuffix('_NODE').replace('_QUERY', '')} writes")
    name = node.get("function_name")
    if not isinstance(name, str):
        return
    if name.lower() in REFUSED:
        raise Refused(f"the function {name}() reads or changes more than the tables")
    if node.get(_TABLE) and name.lower() not in TABLE_FUNCTIONS:
        raise Refused(f"the table function {name}() reads more than the tables")


_TABLE = " of a table"


def _nodes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every object of the tree; the function of a table function is marked as one."""
    left: list[Any] = [tree]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += one
        elif isinstance(one, dict):
            if one.get("type") == "TABLE_FUNCTION" and isinstance(one.get("function"), dict):
                one["function"][_TABLE] = True
            yield one
            left += one.values()
