"""Making a suite from the expectations of other tools: tau2-bench tasks, golden records.

The folder is written completely under another name and renamed into place. It is not frozen: a
person reads the contracts first.
"""

import hashlib
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.exit_codes import ExitCode
from reviewer.importing.head import Head
from reviewer.importing.pipeline.opening import refused
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH
from reviewer.suite.derived import (
    INVENTED,
    ContractDraft,
    NoContract,
    Omission,
    checked,
    files_of,
    golden,
    tau2,
)
from reviewer.suite.derived.tau2 import WRITES, writes_of
from reviewer.suite.errors import id_problem, shown

_LISTS = ("goldens", "examples", "cases", "test_cases", "records", "data")
"""Members under which tools keep the records of a file that is one object."""
_PASSED = ("simulations", EACH)
"""Other members of a results file, passed over one at a time."""


class MadeSuite(NamedTuple):
    """The suite that was made: its folder, its episodes, what was left out and why, and how often
    each note on reading applies (note, number of episodes)."""

    suite_id: str
    folder: Path
    episodes: int
    left_out: tuple[Omission, ...]
    notes: tuple[tuple[str, int], ...]


class _SourceRecord(NamedTuple):
    """One record of a file: its place, its value, or why it has none."""

    place: str
    value: Any
    problem: str = ""


def from_tau2(
    place: Workspace,
    file: Path,
    suite_id: str = "",
    domain: str = "",
    policy: Path | None = None,
    require: tau2.Require = "all",
) -> MadeSuite:
    """Make a suite of the tasks in `file`: a tasks.json, or a results file with its tasks.

    Raises DeskError when the file cannot be read, holds no task that becomes a contract, or when
    the suite exists already.
    """
    head = _head(file)
    info = head.value.get("info") if isinstance(head.value, dict) else None
    settings = info.get("environment_info") if isinstance(info, dict) else None
    named = settings if isinstance(settings, dict) else {}
    records = list(_records(file, ("tasks",), head))
    domain = domain or _text(named.get("domain_name")) or _domain(records)
    words = _policy(policy) if policy is not None else _text(named.get("policy"))
    writes = writes_of(domain)
    if require == "writes" and writes is None:
        known = ", ".join(WRITES)
        raise DeskError(
            f"which tools write is not known of the domain {shown(domain) or 'of these tasks'}",
            f"--domain names one of {known}",
            exit_code=ExitCode.USAGE,
        )
    drafts = _drafted(records, lambda task, _: tau2.contract_of(task, writes, require), tau2.id_of)
    title = f"tau2-bench {domain}".strip() + ": tasks as contracts"
    return _written(
        place, suite_id or f"tau2-{_slug(domain) or _slug(file.stem)}-v1", title, file, drafts,
        {"domain": domain} if domain else {}, INVENTED, words,
    )  # fmt: skip


def from_golden(
    place: Workspace, file: Path, suite_id: str = "", match: golden.Match = "superset"
) -> MadeSuite:
    """Make a suite of the golden records in `file` (JSON or JSON lines). Raises DeskError."""
    records = _records(file, _LISTS, _head(file))
    drafts = _drafted(
        records, lambda one, number: golden.contract_of(one, number, match), golden.named
    )
    title = f"{shown(file.name)} as contracts"
    return _written(
        place, suite_id or f"{_slug(file.stem) or 'golden'}-v1", title, file, drafts, {}
    )


class _Drafts(NamedTuple):
    made: list[tuple[ContractDraft, bytes]]
    left_out: list[Omission]


def _drafted(
    records: "Iterator[_SourceRecord] | list[_SourceRecord]",
    contract: Callable[[Any, int], ContractDraft],
    name: Callable[[dict[str, Any]], str],
) -> _Drafts:
    """Draft a contract of each record that gives one, and note why the others do not."""
    drafts = _Drafts([], [])
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


def _written(
    place: Workspace,
    suite_id: str,
    title: str,
    file: Path,
    drafts: _Drafts,
    told: dict[str, Any],
    redaction: dict[str, Any] | None = None,
    policy: str = "",
) -> MadeSuite:
    if (reason := id_problem(suite_id)) is not None:
        raise DeskError(
            f"{shown(suite_id)}: {reason}", "--as names the suite", exit_code=ExitCode.USAGE
        )
    folder = place.suite_folder(suite_id)
    if folder.exists():
        raise DeskError(f"{folder} exists already", "--as gives the new suite another id")
    if not drafts.made:
        reasons = [f"{one.record}: {one.reason}" for one in drafts.left_out[:5]]
        raise DeskError(f"{file}: no contract can be made of it", *reasons)
    source = {"made_from": file.name, "sha256": _digest(file), **told}
    notes = Counter(note for drafted, _ in drafts.made for note in dict.fromkeys(drafted.notes))
    files = files_of(suite_id, title, drafts.made, source, redaction, policy)
    _write(folder, files)
    return MadeSuite(
        suite_id, folder, len(drafts.made), tuple(drafts.left_out), tuple(notes.items())
    )


def _write(folder: Path, files: dict[str, bytes]) -> None:
    draft = folder.with_name(f".{folder.name[:80]}.{secrets.token_hex(4)}")
    try:
        for path, data in files.items():
            target = draft / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        draft.rename(folder)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise DeskError(f"{folder}: cannot be written ({error.strerror})") from error


def _head(file: Path) -> Head:
    try:
        head = Head(file)
    except (Unreadable, OSError) as error:
        raise _refused(file, error) from error
    if problem := refused(head.start[:64]):
        raise DeskError(f"{file}: {problem}")
    return head


def _refused(file: Path, error: Unreadable | OSError) -> DeskError:
    why = str(error) if isinstance(error, Unreadable) else f"cannot be read: {error.strerror}"
    return DeskError(f"{file}: {why}")


def _records(file: Path, lists: tuple[str, ...], head: Head) -> Iterator[_SourceRecord]:
    """Yield the records of a file: elements of one of `lists`, of an array, or lines."""
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


def _value(source: Source, place: str, raw: bytes, problem: str) -> _SourceRecord:
    try:
        return _SourceRecord(place, None if problem else source.value(raw), problem)
    except Rejected as error:
        return _SourceRecord(place, None, "; ".join(error.codes))


def _domain(records: list[_SourceRecord]) -> str:
    """Return the domain that all tasks name, "" when they differ or name none."""
    tasks = [one.value for one in records if isinstance(one.value, dict)]
    named = {domain for task in tasks if (domain := tau2.domain_of(task))}
    return named.pop() if len(named) == 1 else ""


def _policy(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DeskError(f"{path}: is not UTF-8 text") from None
    except OSError as error:
        raise DeskError(f"{path}: cannot be read: {error.strerror}") from error


def _digest(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower()).strip("-._")[:80]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
