"""Strict reading of CSV files that others wrote: every row has the header's columns, or is
reported.

A cell is text and stays text: a formula is never evaluated. Where the quoting of a file is broken,
none of the rows are used, since what follows may be the inside of a text.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import NamedTuple

from reviewer.importing.annotations import BadFile, BadRecord

MOST_TEXT = 64 * 1024
"""Most characters of a cell that is read."""

_EXPORT = "export the file again as CSV in UTF-8"
_limit = Lock()


class Row(NamedTuple):
    """One row under its header; `number` counts rows from 1, the header not among them."""

    number: int
    cells: dict[str, str]


def table(
    data: bytes, columns: Sequence[str], read: Sequence[str] | None = None
) -> tuple[tuple[str, ...], Iterator[Row | BadRecord]]:
    """Return the header and the rows. Only the cells of `read` columns (default: all) must be
    readable. Raises BadFile for a file that is not CSV, or lacks one of `columns`."""
    try:
        text = data.decode("utf-8-sig", "surrogateescape")
    except UnicodeDecodeError:  # pragma: no cover - surrogateescape takes every byte
        raise BadFile("is not UTF-8", _EXPORT) from None
    rows = [row for row in _rows(text) if row]
    if not rows:
        raise BadFile("is empty: there is no row in it", _EXPORT)
    header = tuple(rows[0])
    if bad := [name for name in header if not _fit(name)]:
        raise BadFile(f"column {header.index(bad[0]) + 1} has no readable name", _EXPORT)
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise BadFile(f"has the column `{twice[0][:80]}` twice", "name each column once")
    if missing := [name for name in columns if name not in header]:
        raise BadFile(f"has no column `{missing[0]}`", "name the tool that wrote it with --from")
    return header, _checked(header, rows[1:], header if read is None else read)


def _rows(text: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    with _limit:
        before = csv.field_size_limit(1 << 30)
        try:
            return list(reader)
        except csv.Error as error:
            raise BadFile(f"is no CSV: line {reader.line_num}: {error}", _EXPORT) from None
        finally:
            csv.field_size_limit(before)


def _checked(
    header: Sequence[str], rows: Sequence[Sequence[str]], read: Sequence[str]
) -> Iterator[Row | BadRecord]:
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            yield BadRecord(number, f"has {len(row)} cells, and the header has {len(header)}")
            continue
        cells = dict(zip(header, row, strict=True))
        bad = next((name for name in read if name in cells and not _fit(cells[name], 0)), None)
        if bad is None:
            yield Row(number, cells)
        elif len(cells[bad]) > MOST_TEXT:
            yield BadRecord(number, f"`{bad[:80]}` has more than {MOST_TEXT:,} characters")
        else:
            yield BadRecord(number, f"`{bad[:80]}` holds a NUL, or bytes that are not UTF-8")


def _fit(text: str, least: int = 1) -> bool:
    return least <= len(text) <= MOST_TEXT and "\0" not in text and not _escaped(text)


def _escaped(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)
