"""The attempts in a file of any readable format, each as one unmasked native record."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.pipeline.units import claim, unit_digest
from reviewer.importing.reader import Broken, Foreign, Rejected, by_document, by_record, foreseen
from reviewer.importing.recorded import NotUsable
from reviewer.importing.source import Source
from reviewer.trace.record import TraceRecord
from reviewer.trace.safetext import visible_line
from reviewer.trace.validate import DecodeError, decode

MOST_LISTED = 12


class Attempt(NamedTuple):
    """One attempt in a file. `raw` is the bytes of its own record where the file has one for
    each."""

    number: int
    name: str
    identity: str
    record: TraceRecord
    request: str
    raw: bytes


class AttemptFile(NamedTuple):
    """A file with one attempt chosen of the `held` ones in it."""

    path: Path
    sha256: str
    reader: str
    version: str
    companions: tuple[Path, ...]
    attempt: Attempt
    held: int


def chosen(path: Path, wanted: str = "", form: str = "auto") -> AttemptFile:
    """Return the file with the attempt that `wanted` names: its number in the file, its episode, or
    `episode/attempt`; if empty, its only attempt. Raises NotUsable."""
    unit = claim(path, form)
    if unit is None or unit.reader is None:
        raise NotUsable(f"{path}: {'no trace' if unit is None else unit.problem}")
    source = Source(path, "", unit.companions)
    source.reader = unit.reader.name
    try:
        with foreseen(unit.reader.name):
            found = list(_attempts(unit.reader, source))
        digest = unit_digest(path, unit.companions)
    except (Unreadable, OSError) as error:
        raise NotUsable(f"{path}: {error}") from None
    usable = [one for one in found if isinstance(one, Attempt)]
    return AttemptFile(
        path, digest, unit.reader.name, unit.reader.version, unit.companions,
        _picked(path, usable, len(found), wanted), len(found),
    )  # fmt: skip


def _picked(path: Path, usable: list[Attempt], held: int, wanted: str) -> Attempt:
    listed = ", ".join(f"{one.number} ({visible_line(one.name)})" for one in usable[:MOST_LISTED])
    more = f" and {len(usable) - MOST_LISTED} more" if len(usable) > MOST_LISTED else ""
    if not usable:
        raise NotUsable(f"{path}: none of its {held} records is a trace that can be read")
    if not wanted:
        if len(usable) == 1:
            return usable[0]
        raise NotUsable(f"{path}: holds {len(usable)} traces", f"--trace names one: {listed}{more}")
    by_number = [one for one in usable if wanted == str(one.number)]
    named = [one for one in usable if wanted in (one.name, one.identity)]
    named = named or [one for one in usable if one.name.rpartition("/")[0] == wanted]
    if by_number and named and by_number != named:
        raise NotUsable(
            f"{path}: {visible_line(wanted)} is the number of one trace and the name of another",
            f"--trace takes numbers with names in full: {listed}{more}",
        )
    match = named or by_number
    if len(match) != 1:
        told = "names no trace" if not match else f"names {len(match)} traces"
        raise NotUsable(
            f"{path}: {visible_line(wanted)} {told} of it", f"--trace names one: {listed}{more}"
        )
    return match[0]


def _attempts(reader: Any, source: Source) -> Iterator[Attempt | Broken]:
    number = 0
    met: dict[str, int] = {}
    for raw, one in read_records(reader, source):
        number += 1
        if isinstance(one, Broken):
            yield one
            continue
        try:
            record = decode(one.raw)
        except DecodeError as error:
            yield Broken((str(error),))
            continue
        episode = record.episode_id
        met[episode] = met.get(episode, 0) + 1
        name = f"{episode}/{record.attempt or met[episode]}"
        yield Attempt(number, name, one.identity, record, one.user_request, raw)


def read_records(reader: Any, source: Source) -> Iterator[tuple[bytes, Foreign | Broken]]:
    """Yield each record as the file has it (b"" in a document) with the reader's result. Raises
    Unreadable, OSError, and any exception of the reader."""
    if by_record(reader):
        candidate = reader.candidate_id(source.path)
        for piece in source.pieces():
            if piece.problem:
                yield piece.raw, Broken((piece.problem,))
                continue
            try:
                yield piece.raw, reader.read(piece.raw, candidate)
            except Rejected as error:
                yield piece.raw, Broken(error.codes)
    elif by_document(reader):
        for one in reader.traces(source):
            yield b"", one
