"""Freeze a suite, freeze an edited one under a new id, and show what was edited.

Every file is written completely beside its place and renamed into it, so a reader never sees a
partial one. `.frozen/` keeps each locked file compressed under its sha256; a copy is used only when
its bytes have that digest.
"""

import difflib
import json
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.durable import sync_folder
from reviewer.suite.check import check_suite
from reviewer.suite.drafted import json_of
from reviewer.suite.errors import ContractError, Problem, id_problem, shown
from reviewer.suite.folder import (
    FROZEN,
    candidate_files,
    candidate_folder,
    locked_files,
    misnamed,
    read_bytes,
    suite_state,
    yaml_files,
)
from reviewer.suite.lock import (
    LOCK_FILE,
    SUMS_FILE,
    Lock,
    LockEntry,
    make_lock,
    read_lock,
    sha256sum_text,
    suite_digest,
)
from reviewer.suite.model import Suite
from reviewer.suite.strict_json import load_object
from reviewer.suite.values import POWER_FILE, SUITE_FILE

MakePower = Callable[[Suite, bytes | None], bytes | None]
"""Makes power.json for a suite that is about to be frozen, from the existing one; None for none."""

_MAX_DIFF_LINES = 20_000


class NewVersion(NamedTuple):
    """The result of `freeze_as`: the new folder and digest, and the files restored in the old
    one."""

    folder: Path
    digest: str
    restored: tuple[str, ...]
    candidates: tuple[str, ...]


def content_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a suite as they are now, without its lock. Raises ContractError."""
    files = suite_state(folder).files
    return {path: data for path, data in files.items() if path != LOCK_FILE}


def freeze(
    folder: Path, power: MakePower | None = None, tried: Mapping[str, bytes] | None = None
) -> str:
    """Validate a suite that has no lock yet and lock it. Return the digest.

    With `power` the lock covers the power.json that it makes; `tried` are the files that a trial
    was made of. Raises ContractError with every problem, and then writes nothing.
    """
    state = suite_state(folder)
    if state.state != "draft":
        way_out = "edited since: freeze it under a new id" if state.edits else "nothing to do"
        raise ContractError(f"{folder.name}/{LOCK_FILE}", "$", f"already frozen; {way_out}")
    _as_tried(folder, state.files, tried)
    suite = _valid(state.files)
    if (reason := misnamed(folder, suite.suite_id)) is not None:
        raise ContractError(SUITE_FILE, "$.suite_id", reason)
    there = state.files.get(POWER_FILE)
    made = None if power is None else power(suite, there)
    if made is None or made == there:
        return _lock(folder, state.files)
    _write(folder / POWER_FILE, made)
    return _lock(folder, {**state.files, POWER_FILE: made})


def write_lock(folder: Path) -> str:
    """Lock the files as they are, keep a copy of each, and return the digest.

    Does not check whether they are a suite (`freeze` does). Refuses a folder that has a lock.
    """
    return _lock(folder, locked_files(folder))


def _as_tried(folder: Path, now: Mapping[str, bytes], tried: Mapping[str, bytes] | None) -> None:
    """Refuse files other than those that a trial was made of: it says nothing about them."""
    if tried is None:
        return
    for path in sorted({*now, *tried} - {LOCK_FILE}):
        if now.get(path) != tried.get(path):
            reason = "was edited while the suite was tried: nothing was frozen; freeze it again"
            raise ContractError(f"{folder.name}/{path}", "$", reason)


def _lock(folder: Path, files: Mapping[str, bytes]) -> str:
    """Lock these files, which were checked; the disk may hold others by now, and the suite is then
    shown as edited."""
    if (folder / LOCK_FILE).exists() or (folder / FROZEN / LOCK_FILE).exists():
        raise ContractError(f"{folder.name}/{LOCK_FILE}", "$", "already frozen")
    raw = load_object(files.get(SUITE_FILE, b""), SUITE_FILE)
    lock = make_lock(str(raw.get("suite_id", "")), files)
    _settle(folder, files)
    _write_frozen(folder, files, lock)
    return suite_digest(lock)


def _settle(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the JSON for the YAML files of a draft, and remove the YAML: a frozen suite has
    none."""
    written = yaml_files(folder)
    for path in written:
        target = json_of(path) or path
        _write(folder / target, files[target])
    for path in written:
        (folder / path).unlink()


def freeze_as(
    folder: Path,
    new_id: str,
    power: MakePower | None = None,
    tried: Mapping[str, bytes] | None = None,
) -> NewVersion:
    """Make the edited content a suite of its own and restore the frozen one, byte for byte.

    The new suite is a sibling folder named `new_id`, with that id inside and the frozen one as its
    predecessor, the same candidates (with their scripts) and no traces. Nothing is written unless
    the content is valid and every frozen file can be restored from its verified copy.
    """
    if (reason := id_problem(new_id)) is not None:
        raise ContractError(shown(new_id), "$", reason)
    folder = folder.resolve()
    target = folder.parent / new_id
    if os.path.lexists(target):
        raise ContractError(shown(new_id), "$", "exists already; choose another id")
    state = suite_state(folder)
    if state.state == "draft":
        raise ContractError(f"{folder.name}/{LOCK_FILE}", "$", "not frozen; freeze it as it is")
    _as_tried(folder, state.files, tried)
    lock_bytes, lock = _frozen_lock(folder)
    edited = {path: data for path, data in state.files.items() if path != LOCK_FILE}
    originals = _originals(folder, lock, edited)
    head = as_successor(edited.get(SUITE_FILE, b""), new_id, suite_digest(lock_bytes))
    renamed = {**edited, SUITE_FILE: head}
    suite = _valid(renamed)
    made = None if power is None else power(suite, renamed.get(POWER_FILE))
    if made is not None:
        renamed[POWER_FILE] = made
    new_lock = make_lock(new_id, renamed)
    manifests = sorted(path.name for path in candidate_files(folder))
    _write_version(target, renamed, new_lock, candidate_folder(folder))
    for path, data in originals.items():
        _write(folder / path, data)
    _write(folder / SUMS_FILE, sha256sum_text(lock).encode())
    _write(folder / LOCK_FILE, lock_bytes)
    for path in edited.keys() - {entry.path for entry in lock.files}:
        (folder / path).unlink()  # the new version has it now
    after = suite_state(folder)
    if after.state != "frozen":
        raise ContractError(f"{folder.name}/{LOCK_FILE}", "$", "could not be put back as frozen")
    restored = tuple(edit.path for edit in state.edits)
    return NewVersion(target, suite_digest(new_lock), restored, tuple(manifests))


def diff_suite(folder: Path) -> str:
    """Return a unified text diff from the frozen content to the present one; "" when nothing was
    edited.

    Control characters are escaped. A file whose frozen copy is missing is named.
    """
    state = suite_state(folder)
    if not state.edits:
        return ""
    lock_bytes, lock = _frozen_lock(folder)
    entries = {entry.path: entry for entry in lock.files}
    out = []
    for edit in state.edits:
        now = state.files.get(edit.path)
        if edit.path in entries:
            before = _copy(folder, entries[edit.path])
            if before is None:
                out.append(f"{edit}\n(no valid frozen copy of it: the change cannot be shown)\n")
                continue
        else:
            before = lock_bytes if edit.path == LOCK_FILE else b""
            if edit.path == SUMS_FILE:
                before, now = sha256sum_text(lock).encode(), read_bytes(folder / SUMS_FILE)
        out.append(_diff(edit.path, before, now or b""))
    return "".join(out)


def _valid(files: Mapping[str, bytes]) -> Suite:
    content = {path: data for path, data in files.items() if path != LOCK_FILE}
    checked = check_suite(content, to_freeze=True)
    if checked.suite is None:
        raise ContractError.of(checked.problems)
    return checked.suite


def _frozen_lock(folder: Path) -> tuple[bytes, Lock]:
    kept = folder / FROZEN / LOCK_FILE
    data = read_bytes(kept if kept.is_file() else folder / LOCK_FILE)
    return data, read_lock(data)


def _originals(folder: Path, lock: Lock, now: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the frozen content of every locked file that now differs; ContractError when a copy is
    missing."""
    originals: dict[str, bytes] = {}
    problems = []
    for entry in lock.files:
        found = now.get(entry.path)
        if found is not None and suite_digest(found) == entry.sha256:
            continue
        copy = _copy(folder, entry)
        if copy is None:
            reason = (
                f"no valid copy of sha256 {entry.sha256} in {FROZEN}/: the frozen suite cannot be "
                "put back from here; take the file from version control, then try again"
            )
            problems.append(Problem(f"{folder.name}/{entry.path}", "$", reason))
        else:
            originals[entry.path] = copy
    if problems:
        raise ContractError.of(problems)
    return originals


def _copy(folder: Path, entry: LockEntry) -> bytes | None:
    """Return the kept copy of a locked file, None unless it has exactly the locked bytes."""
    try:
        packed = read_bytes(folder / FROZEN / entry.sha256)
        data = zlib.decompressobj().decompress(packed, entry.size + 1)
    except (ContractError, zlib.error):
        return None
    return data if suite_digest(data) == entry.sha256 else None


_SUITE_ID = re.compile(rb'(\s*)("suite_id"\s*:\s*)"(?:[^"\\]|\\.)*"')
_PREDECESSOR = re.compile(rb'("predecessor"\s*:\s*)(?:null|"[^"\\]*")')


def frozen_digest(folder: Path) -> str:
    """Return the digest of a suite that was frozen, whatever was edited since."""
    return suite_digest(_frozen_lock(folder)[0])


def as_successor(data: bytes, new_id: str, predecessor: str) -> bytes:
    """Return suite.json with another suite_id and the digest of the suite that it replaces ("" for
    none), its layout kept where that is certain."""
    raw = load_object(data, SUITE_FILE)
    text = json.dumps(new_id, ensure_ascii=False).encode()
    if not predecessor:
        wanted = {**raw, "suite_id": new_id}
        renamed = _SUITE_ID.sub(lambda found: found[1] + found[2] + text, data, count=1)
        return renamed if load_object(renamed, SUITE_FILE) == wanted else _encoded(wanted)
    wanted = {**raw, "suite_id": new_id, "predecessor": predecessor}
    digest = f'"{predecessor}"'.encode()
    if "predecessor" in raw:
        replaced = _SUITE_ID.sub(lambda found: found[1] + found[2] + text, data, count=1)
        replaced = _PREDECESSOR.sub(lambda found: found[1] + digest, replaced, count=1)
    else:
        more = b'"predecessor": ' + digest
        replaced = _SUITE_ID.sub(
            lambda found: found[1] + found[2] + text + b"," + found[1] + more, data, count=1
        )
    return replaced if load_object(replaced, SUITE_FILE) == wanted else _encoded(wanted)


def _encoded(raw: Mapping[str, Any]) -> bytes:
    return (json.dumps(raw, ensure_ascii=False, indent=2) + "\n").encode()


def _write_version(
    target: Path, files: Mapping[str, bytes], lock: bytes, candidates: Mapping[str, bytes]
) -> None:
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    draft.mkdir()
    try:
        for path, data in files.items():
            _write(draft / path, data)
        for path, data in candidates.items():
            _write(draft / path, data)
        _write_frozen(draft, files, lock)
        draft.rename(target)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_folder(target.parent)


def _write_frozen(folder: Path, files: Mapping[str, bytes], lock: bytes) -> None:
    """Write copies, sums and lock; the lock comes last, since it is what makes the suite frozen."""
    if (folder / FROZEN).is_symlink():
        raise ContractError(f"{folder.name}/{FROZEN}", "$", "is a symbolic link")
    for data in files.values():
        _write(folder / FROZEN / suite_digest(data), zlib.compress(data, 9))
    _write(folder / SUMS_FILE, sha256sum_text(read_lock(lock)).encode())
    _write(folder / LOCK_FILE, lock)
    _write(folder / FROZEN / LOCK_FILE, lock)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def _diff(path: str, before: bytes, after: bytes) -> str:
    old, new = _lines(before), _lines(after)
    if len(old) + len(new) > _MAX_DIFF_LINES:
        return f"{shown(path, 200)}: too long to compare line by line\n"
    name = shown(path, 200)
    lines = difflib.unified_diff(old, new, f"frozen/{name}", f"now/{name}", lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "backslashreplace")
    parts = text.split("\n")
    if parts[-1] == "":
        parts.pop()
    elif parts:
        parts[-1] += "␄"  # no newline at the end of the file
    return [shown(part, 10_000) for part in parts]
