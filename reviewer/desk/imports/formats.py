"""The formats that can be imported: what each provides, what is refused by name, which reader takes
a file."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from reviewer.desk.views import View
from reviewer.importing import unsupported
from reviewer.importing.facts import MEASURED, FormatFacts
from reviewer.importing.formats import OURS, foreign_readers, native_reader, problems
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.pipeline.units import Unit, find_units
from reviewer.importing.reader import Reader, ask_reader, by_record

NATIVE = FormatFacts(
    "no other reader takes it",
    times="where told",
    cost="where told",
    tokens="where told",
    attempt="where told",
    approvals="yes",
    start_state="its digest",
    final_state="where told",
)


class FormatView(View, frozen=True):
    """One format. `feeds` says in a few words where a fact comes from, `not_measured` which
    facts the format does not have; `by` is how it is recognized, empty for a package that does
    not say."""

    name: str
    version: str
    ours: bool
    probe: bool
    by: str
    feeds: dict[str, str]
    not_measured: tuple[str, ...]
    beside: str
    cut_into_records: bool
    """Each record is an attempt, so that large files are read in several processes."""


class Claim(View, frozen=True):
    """The reader that takes a file. `by` says how it is recognized; `reader` is empty where no
    reader takes it, and `refusal` says why. `also` names readers that would also take
    it if they were asked first."""

    path: str
    reader: str
    by: str
    also: tuple[str, ...]
    suite_id: str
    candidate_id: str
    beside: tuple[str, ...]
    refusal: str


class Claims(View, frozen=True):
    """The readers that take files. `passed` counts files below folders that contain no trace."""

    files: tuple[Claim, ...]
    passed: int
    problems: tuple[str, ...]
    """Why readers of other packages cannot be used."""


def formats() -> tuple[FormatView, ...]:
    """Return every format that can be imported: reviewer's own records first, then others in the
    order in which their readers are asked."""
    ours = {id(reader) for reader in foreign_readers()[: len(OURS)]}
    return (
        _view(native_reader(), ours=True),
        *(_view(reader, id(reader) in ours) for reader in foreign_readers()),
    )


def refused_by_name() -> tuple[str, ...]:
    """Return the formats that are recognized but not read, in alphabetical order."""
    return unsupported.tools()


def claims(paths: Iterable[Path]) -> Claims:
    """Return which reader takes each file in the paths. Nothing is imported."""
    found = find_units(paths)
    return Claims(tuple(map(_claim, found.units)), found.passed, problems())


def facts_of(reader: Reader) -> FormatFacts:
    """Return what a reader says of its format; a package's reader may say nothing."""
    if reader is native_reader():
        return NATIVE
    facts = getattr(reader, "facts", None)
    return facts if isinstance(facts, FormatFacts) else FormatFacts("", *["not stated"] * 9)


def _view(reader: Reader, ours: bool) -> FormatView:
    facts = facts_of(reader)
    return FormatView(
        reader.name,
        reader.version,
        ours,
        reader.probe,
        facts.by,
        {word: getattr(facts, name) for name, word in MEASURED.items()}
        | {"attempt number": facts.attempt},
        facts.not_measured,
        facts.beside,
        by_record(reader),
    )


def _claim(unit: Unit) -> Claim:
    reader = unit.reader
    if reader is None:
        return Claim(str(unit.path), "", "", (), "", "", (), unit.problem)
    return Claim(
        str(unit.path),
        reader.name,
        facts_of(reader).by,
        tuple(one.name for one in _takers(unit.path) if one is not reader),
        reader.suite_id(unit.path),
        reader.candidate_id(unit.path),
        tuple(str(path) for path in unit.companions),
        "",
    )


def _takers(path: Path) -> list[Reader]:
    try:
        head = Head(path)
    except (OSError, Unreadable):
        return []
    return [
        one for one in foreign_readers() if ask_reader(partial(one.sniff, head), False, one.name)
    ]
