"""A reader leaves nothing behind that only a search for cycles would free: while a file is read
none is made, so a sample held in a cycle would stay until its batch is written."""

import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from reviewer.importing.formats import foreign_readers
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.pipeline.stored_results import gather, in_order
from reviewer.importing.pipeline.units import Unit, find_units
from reviewer.importing.reader import DocumentReader, RecordReader
from reviewer.importing.source import Source

DATA = Path(__file__).parents[1] / "data"
MOST = 3
"""Files of a format that are read, the smallest ones."""
AROUND_A_FILE = 20
"""Dicts and lists in cycles that opening one file may leave, however many attempts it holds."""


def _read(units: list[Unit]) -> int:
    """Return how many attempts reading these units makes."""
    joins, made = gather(units), 0
    for unit in in_order(units):
        source = Source(unit.path, "", unit.companions, joins)
        try:
            if isinstance(unit.reader, RecordReader):
                for piece in source.pieces():
                    unit.reader.read(piece.raw, "c")
                    made += 1
            elif isinstance(unit.reader, DocumentReader):
                made += sum(1 for _ in unit.reader.traces(source))
        except Unreadable:
            continue
    return made


def _left_by(units: list[Unit]) -> tuple[int, int]:
    """(attempts made, dicts and lists found in cycles) of reading these units. What is not counted
    holds no data: `ast.literal_eval` leaves its own functions behind."""
    gc.freeze()  # what is there already need not be looked through again
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        made = _read(units)
        gc.collect()
        return made, sum(isinstance(one, dict | list) for one in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


@cache
def _units() -> list[Unit]:
    return find_units([DATA]).units


@pytest.mark.parametrize("name", sorted(reader.name for reader in foreign_readers()))
def test_reading_leaves_no_cycles(name: str) -> None:
    found = [u for u in _units() if u.reader is not None and u.reader.name == name]
    if not found:
        pytest.skip("no sample of its own")
    found = sorted(found, key=lambda unit: unit.path.stat().st_size)[:MOST]
    _read(found)  # what is loaded and compiled at first use
    made, left = _left_by(found)
    assert made
    assert left <= AROUND_A_FILE * len(found)
