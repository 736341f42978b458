"""Read another tool's expectations, record by record, and write the suite made from them.

The folder is written completely under another name and renamed into place. It is not frozen: a
person reads the contracts first.
"""

import hashlib
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.desk.errors import DeskError, ways_out
from reviewer.desk.place import Workspace
from reviewer.exit_codes import ExitCode
from reviewer.importing.head import Head
from reviewer.importing.pipeline.opening import refused
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH
from reviewer.suite.derived import ContractDraft, NoContract, Omission, checked, files_of
from reviewer.suite.errors import id_problem, shown

_PASSED = ("simulations", EACH)
"""Other members of a results file, skipped one element at a time."""


class MadeSuite(NamedTuple):
    """The new suite: its folder, its episodes, what was left out and why, and how often each note
    applies (note, number of episodes)."""

    suite_id: str
    folder: Path
    episodes: int
    left_out: tuple[Omission, ...]
    notes: tuple[tuple[str, int], ...]


class SourceRecord(NamedTuple):
    """One record of a file: its place, its value, or why it has none."""

    place: str
    value: Any
    problem: str = ""


class Drafts(NamedTuple):
    made: list[tuple[ContractDraft, bytes]]
    left_out: list[Omission]


def drafted(
    records: "Iterator[SourceRecord] | list[SourceRecord]",
    contract: Callable[[Any, int], ContractDraft],
    name: Callable[[dict[str, Any]], str],
) -> Drafts:
    """Draft a contract from each record that gives one, and record why the others do not."""
    drafts = Drafts([], [])
    taken: dict[str, str] = {}
    for number, record in enumerate(records, 1):
        own = name(record.value) if isinstance(record.value, dict) else ""
        called = shown(f"{record.place} ({own})" if own else record.place, 200)
        try:
            if record.problem:
                raise NoContract(record.problem)
            drafted = contract(record.value, number)
            episode_id = drafted.episode["episode_id"]
            if episode_id in taken:
                raise NoContract(f"its id is also that of {taken[episode_id]}")
            drafts.made.append((drafted, checked(drafted)))
            taken[episode_id] = record.place
        except NoContract as why:
            drafts.left_out.append(Omission(called, str(why)))
    return drafts


class Beside(NamedTuple):
    """The parts of a suite besides its contracts: what `source` says about their origin,
    `redaction` rules other than the usual ones, the agent's `policy`, `criteria` of the rubric, an
    `episode_map`, other `files` (path → content), and `notes` on all of them."""

    told: dict[str, Any]
    redaction: dict[str, Any] | None = None
    policy: str = ""
    criteria: Sequence[dict[str, Any]] = ()
    episode_map: dict[str, str] | None = None
    files: Mapping[str, bytes] = {}
    notes: tuple[str, ...] = ()


def written(
    place: Workspace, suite_id: str, title: str, file: Path, drafts: Drafts, beside: Beside
) -> MadeSuite:
    """Write the suite of the drafts. Raises DeskError when there are no drafts, when the suite
    exists already, or when it cannot be written."""
    if (reason := id_problem(suite_id)) is not None:
        raise DeskError(
            f"{shown(suite_id)}: {reason}", "--as names the suite", exit_code=ExitCode.USAGE
        )
    folder = place.suite_folder(suite_id)
    if folder.exists():
        raise DeskError(f"{folder} exists already", "--as gives the new suite another id")
    if not drafts.made:
        reasons = [f"{one.record}: {one.reason}" for one in drafts.left_out[:5]]
        raise DeskError(f"{file}: no contract can be made from it", *reasons)
    source = {"made_from": file.name, **beside.told}
    notes = Counter(note for drafted, _ in drafts.made for note in dict.fromkeys(drafted.notes))
    notes.update({note: len(drafts.made) for note in beside.notes})
    try:
        files = files_of(
            suite_id, title, drafts.made, source, beside.redaction, beside.policy,
            beside.criteria, beside.episode_map,
        )  # fmt: skip
    except NoContract as why:
        raise DeskError(f"{file}: {why}", "fix the file there, or remove that record") from None
    write_folder(folder, {**files, **beside.files})
    return MadeSuite(
        suite_id, folder, len(drafts.made), tuple(drafts.left_out), tuple(notes.items())
    )


def write_folder(folder: Path, files: dict[str, bytes]) -> None:
    """Write a new folder completely or not at all. Raises DeskError."""
    draft = folder.with_name(f".{folder.name[:80]}.{secrets.token_hex(4)}")
    try:
        for path, data in files.items():
            target = draft / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        draft.rename(folder)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise DeskError(
            f"{folder}: cannot be written ({error.strerror})", *ways_out(error)
        ) from error


def head_of(file: Path) -> Head:
    """Return the beginning of a file, which shows what it is. Raises DeskError."""
    try:
        head = Head(file)
    except (Unreadable, OSError) as error:
        raise _refused(file, error) from error
    if problem := refused(head.start[:64]):
        raise DeskError(f"{file}: {problem}", "reviewer suite --help lists what suites are made of")
    return head


def _refused(file: Path, error: Unreadable | OSError) -> DeskError:
    why = str(error) if isinstance(error, Unreadable) else f"cannot be read: {error.strerror}"
    return DeskError(f"{file}: {why}", "reviewer suite --help lists what suites are made of")


def records_of(file: Path, lists: tuple[str, ...], head: Head) -> Iterator[SourceRecord]:
    """Yield the records in a file: elements of one of `lists`, of an array, or lines. Raises
    DeskError."""
    source = Source(file)
    held = next((name for name in lists if isinstance(head.value, dict) and name in head.names), "")
    try:
        if not held:
            for piece in source.pieces():
                yield _value(source, f"record {piece.number}", piece.raw, piece.problem)
            return
        for part in source.walk((held, EACH), _PASSED):
            if part.path[:1] == (held,) or (part.problem and not part.path):
                where = f"{held}[{part.path[1]}]" if len(part.path) == 2 else held
                yield _value(source, where, part.raw, part.problem)
    except (Unreadable, OSError) as error:
        raise _refused(file, error) from error


def _value(source: Source, place: str, raw: bytes, problem: str) -> SourceRecord:
    try:
        return SourceRecord(place, None if problem else source.value(raw), problem)
    except Rejected as error:
        return SourceRecord(place, None, "; ".join(error.codes))


def told_of(file: Path, **more: Any) -> dict[str, Any]:
    """Return the suite's facts about the file that it was made from."""
    return {"sha256": digest_of(file), **more}


def slug(name: str) -> str:
    """Return a name as a part of a suite's id."""
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower()).strip("-._")[:80]


def digest_of(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def loaded(file: Path) -> Any:
    """Return the value of a whole JSON file. Raises DeskError."""
    try:
        return Source(file).load()
    except (Unreadable, OSError) as error:
        raise _refused(file, error) from error
