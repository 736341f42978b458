"""The world of tau2-bench tasks from a checkout of the benchmark: a domain's own tools on its own
database, which become the suite's toolkit."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.workspace.suite_records import SourceRecord
from reviewer.running import toolkit
from reviewer.running.model import Infrastructure, Slot, Task, Unrunnable
from reviewer.running.toolkit import TOOLKITS, ToolkitWorld
from reviewer.suite.candidate import Candidate
from reviewer.suite.derived import NoContract, tau2
from reviewer.suite.errors import shown
from reviewer.suite.folder import MAX_FILE
from reviewer.suite.model import Episode, RedactionRules

DOMAINS = ("airline", "retail", "mock")
"""Domains whose tools are the agent's alone, and need nothing besides their own modules."""
_TOOLKIT = Path(toolkit.__file__).with_name("tau2_world.py")
_MODULES = ("data_model.py", "tools.py", "utils.py")
_PACKAGE = b'"""Modules of tau2-bench (MIT, see LICENSE)."""\n'


class Ends:
    """The world for contracts: the state to which the calls of each task lead."""

    def __init__(self, tools: frozenset[str], start: str, ends: Mapping[str, str]) -> None:
        self.tools, self._ends = tools, ends
        self.start: dict[str, Any] = {tau2.DATABASE: start, "changes": {}}

    def end_of(self, actions: Sequence[tau2.Action], task_id: str) -> str:
        if task_id not in self._ends:
            raise NoContract("its reference trajectory could not be replayed")
        return self._ends[task_id]


class CheckoutWorld(NamedTuple):
    """The world, the suite's files, the facts for `source`, notes, and the domain's policy."""

    world: Ends
    files: dict[str, bytes]
    toolset: dict[str, Any]
    told: dict[str, Any]
    notes: tuple[str, ...]
    policy: str


def checkout_world(folder: Path, domain: str, tasks: Sequence[SourceRecord]) -> CheckoutWorld:
    """Return the world of a domain. Raises DeskError for a folder that is not a checkout, for a
    domain whose tools cannot stand alone, and for tools that do not work."""
    if domain not in DOMAINS:
        raise DeskError(
            f"{shown(domain) or 'the domain of these tasks'}: its tools need more of tau2-bench "
            "than the domain's own modules",
            f"--checkout is for {', '.join(DOMAINS)}; --domain names one",
            "--recorded RESULTS answers as simulations did, if their users made no calls",
        )
    code, data = folder / "src/tau2/domains" / domain, folder / "data/tau2/domains" / domain
    there = f"{TOOLKITS}/tau2/domains/{domain}"
    files = {
        f"{TOOLKITS}/tau2_world.py": _TOOLKIT.read_bytes(),
        f"{TOOLKITS}/tau2/LICENSE": _read(folder / "LICENSE"),
        f"{TOOLKITS}/tau2/__init__.py": _PACKAGE,
        f"{TOOLKITS}/tau2/domains/__init__.py": _PACKAGE,
        f"{there}/__init__.py": _PACKAGE,
        **{f"{there}/{name}": _read(code / name) for name in _MODULES},
        f"{there}/db.json": _read(data / "db.json"),
    }
    told_tasks = {tau2.id_of(one.value): one.value for one in tasks if isinstance(one.value, dict)}
    with ThreadPoolExecutor(1) as thread, TemporaryDirectory() as place:
        for path, content in files.items():
            target = Path(place) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        try:
            found = thread.submit(asyncio.run, _replayed(Path(place), told_tasks)).result()
        except (Unrunnable, Infrastructure) as error:
            raise DeskError(
                f"{folder}: the tools of {domain} do not work here: {error}",
                "--recorded RESULTS answers with what simulations recorded",
            ) from None
    policy = data / "policy.md"
    return CheckoutWorld(
        found.ends,
        files,
        found.toolset,
        {
            "kind": "toolkit",
            "database_sha256": hashlib.sha256(files[f"{there}/db.json"]).hexdigest(),
            "database": found.ends.start[tau2.DATABASE],
        },
        found.notes,
        policy.read_text(encoding="utf-8", errors="replace") if policy.is_file() else "",
    )


class _Replayed(NamedTuple):
    ends: Ends
    toolset: dict[str, Any]
    notes: tuple[str, ...]


async def _replayed(folder: Path, tasks: Mapping[str, Any]) -> _Replayed:
    """Replay the reference trajectories in the sandbox of toolkits."""
    simulator = {"toolkit": "tau2_world:Replay"}
    task = Task(
        slot=Slot("tau2", "reference", "replay", 1),
        episode=Episode(episode_id="replay", simulator=simulator),
        candidate=Candidate(candidate_id="reference", digest="", agent="reference"),
        redaction=RedactionRules(),
        folder=str(folder),
    )
    world = await ToolkitWorld.open(task)
    try:
        start = await _ended(world, [])
        ends: dict[str, str] = {}
        failing = 0
        for task_id, value in tasks.items():
            try:
                actions = tau2.actions_of(tau2.criteria_of(value) or {})
            except ValueError:
                continue  # no contract is made from it
            if tau2.initial_state_of(value) or any(one.by_user for one in actions):
                continue  # none is made in this world
            answer = await _ended(world, [[one.tool, one.arguments] for one in actions])
            ends[task_id] = answer["database"]
            failing += bool(answer["failed"])
        specs = [spec for spec in world.specs() if spec.name != "replay"]
    finally:
        await world.close()
    toolset = {
        "schema": "reviewer/toolset@1",
        "tools": [
            {"name": one.name, "description": one.description, "parameters": one.parameters}
            for one in specs
        ],
        "toolkit": "tau2_world:World",
    }
    told = f"in {failing} tasks a call of the reference trajectory fails in the domain's own tools"
    names = frozenset(one.name for one in specs)
    return _Replayed(Ends(names, start["database"], ends), toolset, (told,) if failing else ())


async def _ended(world: ToolkitWorld, calls: list[Any]) -> dict[str, Any]:
    answer = await world.call("replay", {"calls": calls})
    if answer.status != "ok":
        raise Infrastructure(str(answer.content))
    found: dict[str, Any] = answer.content
    return found


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DeskError(
            f"{path}: cannot be read: {error.strerror}",
            "--checkout names a checkout of sierra-research/tau2-bench: LICENSE, src/, data/",
        ) from None
    if len(data) > MAX_FILE:
        raise DeskError(
            f"{path}: is larger than a file of a suite may be", "leave it out, or split it"
        )
    return data
