"""What became of an attempt since it came in: its other records, and judging under newer code."""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

_STANDS = {
    "contained": "judged until a record came that holds it",
    "beside": "kept beside, and counts",
}


def history(connection: sqlite3.Connection, trace: int) -> tuple[tuple[str, str], ...]:
    """(name, text) pairs, in order."""
    return (*_revisions(connection, trace), *_rescored(connection, trace))


def _revisions(connection: sqlite3.Connection, trace: int) -> Iterator[tuple[str, str]]:
    rows = connection.execute(
        "SELECT r.n, r.stands, r.why, r.passed, r.infra, r.events, r.findings, r.pack, o.path,"
        " r.record, lower(hex(r.sha256)), r.at,"
        " EXISTS (SELECT 1 FROM chunk c WHERE c.trace = -r.id)"
        " FROM revision r JOIN source o ON o.id = r.source WHERE r.trace=? ORDER BY r.n",
        (trace,),
    ).fetchall()
    for n, stands, why, passed, infra, events, found, pack, path, record, sha256, at, cut in rows:
        word = "infra" if infra else {1: "pass", 0: "fail", None: "not measured"}[passed]
        codes = " ".join(dict.fromkeys(one[1] for one in json.loads(found) if one[2] != "note"))
        size = f"{events} events" if pack is not None or cut else "not stored: raw identifiers"
        yield (
            f"revision {n}",
            f"{_STANDS[stands]} ({why}); {word}{f' {codes}' if codes else ''}; {size};"
            f" {path} record {record} sha256 {sha256}; since {at}",
        )


def _rescored(connection: sqlite3.Connection, trace: int) -> Iterator[tuple[str, str]]:
    rows = connection.execute(
        "SELECT before, after, code_before, code_after, at FROM rescored WHERE trace=? ORDER BY id",
        (trace,),
    ).fetchall()
    for before, after, old, new, at in rows:
        yield (
            f"judged again {at}",
            f"{_codes(before)} under reviewer {old or 'of before'}; {_codes(after)} under {new}",
        )


def _codes(text: str) -> str:
    codes: list[Any] = json.loads(text)
    return " ".join(map(str, codes)) or "nothing found"
