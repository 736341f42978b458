"""Manifests of candidates: write a first one, and fill in the digests of what it names."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.db import registry
from reviewer.db.connection import reader_if_made
from reviewer.desk import candidate_layout, first_programs
from reviewer.desk.drafts import is_draft
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.place import Workspace, write_private
from reviewer.desk.suites import no_suite
from reviewer.exit_codes import ExitCode
from reviewer.running.candidates.belongings import owners
from reviewer.running.code import MeasuredCode, measured_code
from reviewer.running.model import Unrunnable
from reviewer.running.outside import search_path
from reviewer.suite.candidate import PROGRAMS, Candidate, candidate_value, read_candidate
from reviewer.suite.errors import ContractError, Problem, id_problem, path_problem, shown
from reviewer.suite.folder import CANDIDATES, PROOFS, locked_files, read_bytes
from reviewer.suite.script import Script
from reviewer.suite.strict_json import canonical_bytes, load_object, sha256_hex
from reviewer.suite.values import TOOLSET_FILE, is_episode_file


class NewCandidate(NamedTuple):
    """The content of a first manifest. `prompts` are files to copy beside it. A program that does
    not exist is written at the place that `command` or `entry` names, else in a new folder."""

    candidate_id: str
    kind: str
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    prompts: Sequence[Path] = ()
    command: Sequence[str] = ()
    entry: str = ""


class PinnedManifest(NamedTuple):
    """A manifest with its digests: where it is, what was filled in (place, digest), the other files
    that were written, and what `code_sha256` covers, with the candidates that name each file."""

    path: Path
    filled: tuple[tuple[str, str], ...]
    files: tuple[Path, ...] = ()
    covers: tuple[tuple[str, tuple[str, ...]], ...] = ()


def new_candidate(workspace: Workspace, suite_id: str, asked: NewCandidate) -> PinnedManifest:
    """Write the manifest of a new candidate of a suite, with the files it needs and every digest.
    Raises DeskError; an existing file is never overwritten."""
    folder = _folder(workspace, suite_id)
    name = asked.candidate_id
    if (reason := id_problem(name)) is not None:
        raise DeskError(
            f"{shown(name)}: {reason}",
            "an id has letters, digits, dots, hyphens and underscores, such as agent-v1",
            exit_code=ExitCode.USAGE,
        )
    if f"{CANDIDATES}/{name}/" == PROOFS:
        raise DeskError(
            f"{name}: this name is reserved for the folder with the proofs of episodes",
            "choose another id for the new candidate",
            exit_code=ExitCode.USAGE,
        )
    path, home = folder / CANDIDATES / f"{name}.json", folder / CANDIDATES / name
    if path.exists() or path.is_symlink():
        raise DeskError(f"{path} exists already", "choose another id for the new candidate")
    runner, files = _runner(folder, asked)
    raw: dict[str, Any] = {
        "schema": Candidate.SCHEMA,
        "candidate_id": name,
        "agent": name,
        "version": "1",
        **({"model": asked.model} if asked.model else {}),
        "prompts": [
            {"name": prompt.stem, "path": f"{CANDIDATES}/{name}/{prompt.name}"}
            for prompt in asked.prompts
        ],
        "tools": [{"name": tool} for tool in _definitions(folder)],
        "runner": runner,
    }
    contents = {folder / place: text.encode() for place, text in files.items()}
    contents = {there: data for there, data in contents.items() if not there.is_file()}
    try:
        for prompt in asked.prompts:
            there, data = home / prompt.name, read_bytes(prompt.resolve())
            if not there.exists() or read_bytes(there) != data:
                contents[there] = data
    except ContractError as error:
        raise refusal_of(error) from error
    for there in contents:
        if there.exists() or there.is_symlink():
            raise DeskError(f"{there} exists already", "choose another id for the new candidate")
    made = [folder for there in contents for folder in there.parents if not folder.exists()]
    try:
        for place, data in contents.items():
            write_private(place, data)
        pinned = _pinned(folder, path, raw)
    except DeskError:
        for there in contents:
            there.unlink(missing_ok=True)
        for one in made:
            with suppress(OSError):
                one.rmdir()
        raise
    return pinned._replace(files=tuple(contents))


def pin(workspace: Workspace, suite_id: str, candidate_id: str) -> PinnedManifest:
    """Fill in, or update, every digest of what a manifest names. Raises DeskError, also for a
    candidate that has traces: a judged candidate keeps its digests."""
    folder = _folder(workspace, suite_id)
    if (reason := id_problem(candidate_id)) is not None:
        raise DeskError(
            f"{shown(candidate_id)}: {reason}",
            "an id has letters, digits, dots, hyphens and underscores, such as agent-v1",
            exit_code=ExitCode.USAGE,
        )
    path = folder / CANDIDATES / f"{candidate_id}.json"
    try:
        raw = load_object(read_bytes(path), f"{CANDIDATES}/{path.name}")
    except ContractError as error:
        raise DeskError(str(error), f"reviewer candidate new {suite_id} {candidate_id}") from error
    before = json.dumps(raw)
    if not is_draft(workspace, suite_id) and _judged(workspace, suite_id, candidate_id):
        raise DeskError(
            f"{candidate_id} has traces on {suite_id}, and they were judged under this manifest",
            f"copy {path} to a new candidate_id, then reviewer candidate pin {suite_id} NEW_ID",
        )
    return _pinned(folder, path, raw, before)


def _folder(workspace: Workspace, suite_id: str) -> Path:
    folder = workspace.suite_folder(suite_id)
    if not (folder / "suite.json").exists():
        raise no_suite(workspace, suite_id)
    return folder


def _judged(workspace: Workspace, suite_id: str, candidate_id: str) -> bool:
    connection = reader_if_made(workspace.store)
    if connection is None:
        return False
    try:
        row = registry.suite_row(connection, suite_id)
        known = row and registry.candidate_row(connection, row.id, candidate_id)
        return known is not None and known.digest is not None
    finally:
        connection.close()


def _runner(folder: Path, asked: NewCandidate) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the runner of a new candidate, and the initial texts of files (path in the suite →
    text) that do not exist yet. Raises DeskError."""
    kind, name = asked.kind, asked.candidate_id
    key = {"api_key_env": asked.api_key_env} if asked.api_key_env else {}
    if kind == "scripted":
        place = f"{CANDIDATES}/{name}/script.json"
        return {"kind": kind, "script": place}, {place: _script(folder)}
    if kind in ("command", "mcp"):
        own = ["python3", f"./{name}/agent.py", *(["{mcp_config}"] if kind == "mcp" else [])]
        command = list(asked.command) or own
        return {"kind": kind, "command": command, **key}, _begun_script(folder, kind, command)
    if kind == "python":
        candidate_layout.check_entry_name(asked.entry)
        own_module = candidate_layout.importable(folder / CANDIDATES, name)
        entry = asked.entry or f"{own_module}.agent:run"
        return {"kind": kind, "entry": entry, **key}, _begun_module(folder, asked, entry)
    if not asked.model:
        raise DeskError(
            f"a candidate of the kind {kind} needs --model M",
            "add --model M: the name that the endpoint knows",
            exit_code=ExitCode.USAGE,
        )
    return {"kind": kind, "base_url": asked.base_url, **key}, {}


def _begun_script(folder: Path, kind: str, command: Sequence[str]) -> dict[str, str]:
    """Return the initial program of a command that names a missing file."""
    place = candidate_layout.missing_script(folder / CANDIDATES, command)
    if place is None:
        return {}
    first = command[0] == f"./{place}"  # such a program is executed directly
    if first or not place.endswith(".py") or not candidate_layout.fits_below(place):
        raise candidate_layout.no_script(folder, "--command", place)
    example = first_programs.example_of(_toolset(folder))
    text = first_programs.MCP if kind == "mcp" else first_programs.command(example)
    return {f"{CANDIDATES}/{place}": text}


def _begun_module(folder: Path, asked: NewCandidate, entry: str) -> dict[str, str]:
    """Return the initial module of an entry that does not exist yet."""
    base, named = folder / CANDIDATES, Candidate(asked.candidate_id, "")
    if not _is_entry(entry):
        return {}  # an invalid manifest is refused later
    place = candidate_layout.missing_module(base, entry, search_path(named))
    if place is None:
        return {}
    if near := candidate_layout.strays(folder, asked.candidate_id, place):
        raise candidate_layout.no_module("--entry", entry, place, near)
    example = first_programs.example_of(_toolset(folder))
    return {f"{CANDIDATES}/{place}": first_programs.python(entry.partition(":")[2], example)}


def _is_entry(entry: str) -> bool:
    module, _, function = entry.partition(":")
    return all(part.isidentifier() and part.isascii() for part in (*module.split("."), function))


def _script(folder: Path) -> str:
    """Return a script that sends one sentence in every episode."""
    plan = {"turns": [{"messages": ["I cannot do that yet."], "cost_usd": 0.0}]}
    episodes = {
        path.rpartition("/")[2].removesuffix(".json"): {"plans": {"only": plan}}
        for path in locked_files(folder)
        if is_episode_file(path)
    }
    return _text({"schema": Script.SCHEMA, "episodes": episodes})


def _toolset(folder: Path) -> dict[str, Any]:
    """Return toolset.json, {} for a suite without one or with an unreadable one."""
    try:
        return load_object(read_bytes(folder / TOOLSET_FILE), TOOLSET_FILE)
    except ContractError:
        return {}


def _definitions(folder: Path) -> dict[str, str]:
    """Return the tools of the suite's toolset → the digest of the definition that the agent
    reads."""
    place = folder / TOOLSET_FILE
    if not place.exists():
        return {}
    try:
        tools = load_object(read_bytes(place), TOOLSET_FILE).get("tools")
        return {
            tool["name"]: sha256_hex(
                canonical_bytes({each: tool.get(each) for each in _READ}, TOOLSET_FILE)
            )
            for tool in (tools if isinstance(tools, list) else [])
            if isinstance(tool, dict) and isinstance(tool.get("name"), str)
        }
    except ContractError as error:
        raise refusal_of(error) from error


_READ = ("name", "description", "parameters")


def _pinned(folder: Path, path: Path, raw: dict[str, Any], before: str = "") -> PinnedManifest:
    """Fill in the digests of a manifest, check it, and write it if it changed."""
    file, covers = f"{CANDIDATES}/{path.name}", tuple[str, ...]()
    filled: list[tuple[str, str]] = []

    def put(holder: dict[str, Any], member: str, place: str, digest: str) -> None:
        if holder.get(member) != digest:
            holder[member] = digest
            filled.append((place, digest))

    for i, prompt in enumerate(_objects(raw, "prompts")):
        if isinstance(prompt.get("path"), str):
            where = f"$.prompts[{i}]"
            data = _below(folder, prompt["path"], f"{file}: {where}.path")
            put(prompt, "sha256", f"{where}.sha256", sha256_hex(data))
    known = _definitions(folder)
    for i, tool in enumerate(_objects(raw, "tools")):
        if tool.get("sha256") is None and tool.get("name") in known:
            put(tool, "sha256", f"$.tools[{i}].sha256", known[tool["name"]])
    runner = raw.get("runner")
    if isinstance(runner, dict):
        if isinstance(runner.get("script"), str):
            data = _below(folder, runner["script"], f"{file}: $.runner.script")
            put(runner, "script_sha256", "$.runner.script_sha256", sha256_hex(data))
        if runner.get("kind") in PROGRAMS:
            _checked(raw, f"{folder.name}/{file}")
            code = _code(folder, raw, file)
            covers = tuple(sorted(one.path for one in code.files))
            put(runner, "code_sha256", "$.runner.code_sha256", code.sha256)
    data = _checked(raw, f"{folder.name}/{file}")
    if json.dumps(raw) != before:
        write_private(path, data)
    return PinnedManifest(path, tuple(filled), (), tuple(owners(folder, covers).items()))


def _checked(raw: dict[str, Any], file: str) -> bytes:
    """Return the bytes of a manifest. Raises DeskError for an invalid one."""
    data = _text(raw).encode()
    try:
        read_candidate(data, file)
    except ContractError as error:
        raise refusal_of(error) from error
    return data


def _code(folder: Path, raw: dict[str, Any], file: str) -> MeasuredCode:
    """Return a program's code, whatever the manifest says of it."""
    runner = {name: part for name, part in raw["runner"].items() if name != "code_sha256"}
    try:
        candidate = candidate_value({**raw, "runner": runner}, "", file)
        candidate_layout.check_program(candidate, folder, file)
        found = measured_code(candidate, folder)
    except ContractError as error:
        raise refusal_of(error) from error
    except Unrunnable as error:
        raise refusal_of(error) from error
    if not found.files:
        raise DeskError(
            f"{file}: no file of the candidate is in {folder.name}/{CANDIDATES}/, and its "
            "program is not on PATH",
            "start the name of its file with ./, such as python3 ./agent.py",
        )
    return found


def _objects(raw: dict[str, Any], member: str) -> list[dict[str, Any]]:
    held = raw.get(member)
    return [each for each in held if isinstance(each, dict)] if isinstance(held, list) else []


def _below(folder: Path, path: str, where: str) -> bytes:
    reason = path_problem(path)
    if reason is None and not (folder / path).resolve().is_relative_to(folder.resolve()):
        reason = "leads out of the suite folder"
    if reason is not None:
        raise DeskError(
            str(Problem(where, "", f"`{shown(path, 200)}` {reason}")),
            "name a file inside the folder of the suite",
        )
    try:
        return read_bytes(folder / path)
    except ContractError as error:
        raise DeskError(
            f"{where}: `{shown(path, 200)}`: {error.reason}",
            "correct the path in the manifest, or put the file there",
        ) from error


def _text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
