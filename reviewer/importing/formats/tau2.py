"""tau2-bench results (sierra-research/tau2-bench), in every layout.

One object with run settings, tasks and simulations; the same without simulations, which then are
beside it in `simulations/`; a submitter's summary with `domain`, `agent`, `model` and simulations;
and simulations alone, one or many. The settings of the run apply to each simulation; where they are
missing, only the file's name is available, which is noted.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.draft import clock, elapsed_ms
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import (
    Format,
    folder_names,
    mapping,
    objects,
    sequence,
)
from reviewer.importing.formats.tau2_attempt import Checks, foreign, passes, reward_of
from reviewer.importing.head import Head
from reviewer.importing.pipeline.opening import opened, start_of
from reviewer.importing.pipeline.split import MAX_RECORD, Unreadable
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH, Part, walk
from reviewer.suite.derived import tau2
from reviewer.suite.errors import ContractError
from reviewer.suite.strict_json import start_state_digest

# The run ------------------------------------------------------------------------------------------

SETTINGS = ("reasoning_effort", "temperature", "top_p")
"""The arguments of a model that define another candidate; the others may contain keys and hosts."""
_DAY_MS = 86_400_000.0


class SimulationHead(msgspec.Struct):
    """The facts about all simulations that are needed before the first is read."""

    task_id: Any = None
    trial: Any = None
    start_time: Any = None
    end_time: Any = None
    reward_info: Any = None


class Task(NamedTuple):
    """A task, in the form with which simulations are compared."""

    actions: tuple[str, ...]
    assertions: tuple[str, ...]
    information: tuple[str, ...]
    title: str
    request: str
    start_digest: str | None


class Run(NamedTuple):
    """`head` has the members besides tasks and simulations. `doubled` are tasks of which several
    simulations claim one trial; `shared` times (start, end) that several simulations claim."""

    head: dict[str, Any]
    tasks: dict[str, Task]
    doubled: frozenset[str]
    shared: frozenset[tuple[str, str]]

    @property
    def info(self) -> dict[str, Any]:
        return mapping(self.head.get("info"))

    @property
    def domain(self) -> str:
        """Return the domain as the file names it, "" when it does not."""
        named = mapping(self.info.get("environment_info")).get("domain_name")
        for name in (named, self.head.get("domain")):
            if isinstance(name, str) and name:
                return name
        return ""

    @property
    def model(self) -> str:
        """Return the configured model."""
        for name in (mapping(self.info.get("agent_info")).get("llm"), self.head.get("model")):
            if isinstance(name, str) and name:
                return name
        return ""

    @property
    def candidate(self) -> str:
        """Return agent, model and the settings that define a candidate, "" when none is named."""
        agent = mapping(self.info.get("agent_info"))
        named = agent.get("implementation") or self.head.get("agent")
        parts = [part for part in (named, self.model) if isinstance(part, str) and part]
        return " ".join([*parts, *self._settings(agent)]) if parts else ""

    def _settings(self, agent: dict[str, Any]) -> list[str]:
        voice = mapping(self.info.get("audio_native_config"))
        given = {**voice, **mapping(agent.get("llm_args"))}
        told = [(name, given.get(name)) for name in SETTINGS]
        return [f"{name}={value}" for name, value in told if value and not _nested(value)]

    def task_of(self, checks: "Checks") -> str | None:
        """Return the only task whose expectations these checks repeat: all of them, else the
        actions, since a model that judges assertions may reword them. None when no task or several
        match."""
        for fits in (Checks.fit, Checks.fit_actions):
            found = [task_id for task_id, task in self.tasks.items() if fits(checks, task)]
            if found:
                return found[0] if len(found) == 1 else None
        return None


def task_from(raw: dict[str, Any]) -> Task:
    """Return the parts of a task that are kept."""
    criteria = tau2.criteria_of(raw) or {}
    listed = sequence(criteria.get("actions"))
    state = tau2.initial_state_of(raw)
    return Task(
        tuple(str(mapping(action).get("action_id")) for action in listed),
        tau2.texts_of(criteria, "nl_assertions"),
        tau2.texts_of(criteria, "communicate_info"),
        tau2.title_of(raw),
        tau2.request_of(raw),
        _digest(state) if state else None,
    )


def _digest(state: dict[str, Any]) -> str | None:
    try:
        return start_state_digest(state)
    except ContractError:
        return None


def run_of(head: dict[str, Any], tasks: dict[str, Task], seen: list[SimulationHead]) -> Run:
    """Return the run, with contradictions between simulations."""
    slots = Counter((str(one.task_id), one.trial) for one in seen if type(one.trial) is int)
    times = Counter(
        (one.start_time, one.end_time)
        for one in seen
        if isinstance(one.start_time, str) and isinstance(one.end_time, str)
    )
    return Run(
        head,
        tasks,
        frozenset(task_id for (task_id, _), count in slots.items() if count > 1),
        frozenset(pair for pair, count in times.items() if count > 1),
    )


def doubts(run: Run, seen: list[SimulationHead]) -> Iterable[str]:
    """Yield notes on the file as a whole, one sentence each."""
    yield from _declared(run, seen)
    starts = [one.start_time for one in seen if clock(one.start_time)[1] == "unstated"]
    span = elapsed_ms(min(starts), max(starts)) if starts else None
    if span is not None and span > 2 * _DAY_MS:
        days = int(span / _DAY_MS)
        yield f"its simulations began over {days} days: perhaps joined out of several runs"
    if run.shared:
        same = sum((one.start_time, one.end_time) in run.shared for one in seen)
        yield f"{same} simulations share start and end with others: no clock wrote these times"
    if run.doubled:
        yield "several simulations claim the same task and trial: these are numbered in file order"


def _declared(run: Run, seen: list[SimulationHead]) -> Iterable[str]:
    """Yield notes on declared totals that contradict the contents."""
    trials, tasks, held = run.info.get("num_trials"), len(run.tasks), len(seen)
    if type(trials) is int and tasks and trials * tasks != held:
        wanted = trials * tasks
        yield f"declares {trials} trials of {tasks} tasks, {wanted} simulations; holds {held}"
    if run.info or held < 2:
        return
    yield "no settings of the run in the file: what it says of agent and model is its author's word"
    if len({str(one.task_id) for one in seen}) == held:
        yield "one simulation per task: whether it is the best of several attempts does not show"
    passed = sum(passes(reward_of(one.reward_info)) is True for one in seen)
    for member, found in (("total_tasks", held), ("passed", passed)):
        told = run.head.get(member)
        if type(told) is int and told != found:
            yield f"declares {member} {told}; its simulations give {found}"


def slug(domain: str) -> str:
    """Return a domain as a part of a suite's name."""
    return re.sub(r"[^a-z0-9_.-]+", "-", domain.lower()).strip("-.")[:80]


def _nested(value: Any) -> bool:
    return isinstance(value, (dict, list)) or len(str(value)) > 40


# The reader ---------------------------------------------------------------------------------------

SIMULATIONS = "simulations"
_DOMAINS = re.compile(r"airline|retail|telecom(?:-workflow)?|banking_knowledge|mock")
_head = msgspec.json.Decoder(SimulationHead)


class RawSimulation(NamedTuple):
    """One simulation as bytes, or why it has none; `name` is its place in the source's terms."""

    name: str
    raw: bytes
    problem: str = ""


class Tau2Reader(Format):
    name = "tau2-bench"
    facts = FormatFacts(
        by="`info` with tasks or simulations, or simulations alone",
        steps="yes, voice ticks too",
        tools="yes, a simulated user's kept apart",
        times="yes, zone unstated",
        cost="run and message; 0 is null",
        tokens="message; voice: session",
        verdict="reward with its parts",
        attempt="trial + 1",
        start_state="digest of the task's",
        beside="`simulations/*.json` beside the settings",
    )

    def sniff(self, head: Head) -> bool:
        """Return whether there are settings that name an agent and an environment, or simulations,
        alone or listed."""
        first = head.first
        if not isinstance(first, dict):
            return False
        info, listed = first.get("info"), first.get(SIMULATIONS)
        if isinstance(head.value, dict):
            if isinstance(info, dict) and {"agent_info", "environment_info"} <= info.keys():
                shown = {"tasks", SIMULATIONS} & first.keys()
                return bool(shown or {"tasks", SIMULATIONS} & head.names)
            if isinstance(listed, list) and listed:
                return _is_simulation(listed[0])
        return _is_simulation(first)

    def suite_id(self, path: Path) -> str:
        for name in (path.stem, *folder_names(path, 1)):
            if found := _DOMAINS.search(name):
                return f"tau2-{found.group()}"
        return "tau2"

    def candidate_id(self, path: Path) -> str:
        folder, above = folder_names(path, 2)
        if folder == SIMULATIONS:
            return above or path.stem
        return folder if path.stem == "results" and folder else path.stem

    def companions(self, path: Path) -> tuple[Path, ...]:
        folder = path.parent / SIMULATIONS
        if path.parent.name == SIMULATIONS or not folder.is_dir() or _holds_simulations(path):
            return ()
        found = (file for file in folder.glob("*.json") if not file.name.startswith("."))
        return tuple(sorted(file for file in found if file.is_file() and not file.is_symlink()))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        run, places = _survey(source)
        candidate = source.candidate or run.candidate
        if not candidate:
            candidate = self.candidate_id(source.path)
            source.notes.add("no agent and no model in the file: the candidate has the file's name")
        suite = f"tau2-{slug(run.domain)}" if slug(run.domain) else ""
        if not suite:
            source.notes.add("no domain in the file: the suite has the name that the path suggests")
        cuts = _cuts(source) if places is None else _cuts_at(source, places)
        for number, cut in enumerate(cuts, 1):
            if cut.problem:
                yield Broken((cut.problem,), cut.name)
                continue
            made = partial(_attempt, source, cut, number, run, candidate, suite)
            yield source.attempt(made, cut.name)
        for name in _missing(source, run):
            yield Broken(("missing:simulation_file",), f"{SIMULATIONS}/{name}.json")


def _attempt(
    source: Source, cut: RawSimulation, number: int, run: Run, candidate: str, suite: str
) -> Foreign:
    return foreign(source.value(cut.raw), number, run, candidate, suite)


def _is_simulation(value: Any) -> bool:
    """Return whether a value looks like one simulation: a conversation, with a reward or an end."""
    if not isinstance(value, dict) or not {"id", "task_id"} & value.keys():
        return False
    judged = isinstance(value.get("reward_info"), dict) or "termination_reason" in value
    return judged and bool({"messages", "ticks"} & value.keys())


def _holds_simulations(path: Path) -> bool:
    """Return whether the file itself contains a simulation, so that none is searched beside it."""
    try:
        with opened(path) as handle:
            parts = walk(handle, (SIMULATIONS, EACH))
            return any(len(part.path) == 2 and part.path[0] == SIMULATIONS for part in parts)
    except (Unreadable, OSError):
        return False


class _Places:
    """Where the simulations of a file are: the number, end and size of each. Not `sure` where the
    file could not be read to its end, or part by part."""

    def __init__(self) -> None:
        self.numbers, self.ends, self.sizes = array("q"), array("q"), array("q")
        self.sure = True

    def note(self, part: Part) -> None:
        if part.problem:
            self.sure = False
        elif part.path[:1] == (SIMULATIONS,) and len(part.path) == 2:
            number = part.path[1]
            if isinstance(number, int):
                self.numbers.append(number)
                self.ends.append(part.end)
                self.sizes.append(len(part.raw))
            else:
                self.sure = False


def _survey(source: Source) -> tuple[Run, _Places | None]:
    """Return the facts about the whole file that are needed before its first simulation, and where
    its simulations are, unless they have to be searched.

    Raises Unreadable for settings without a simulation in the file or beside it.
    """
    head: dict[str, Any] = {}
    tasks: dict[str, Task] = {}
    seen: list[SimulationHead] = []
    places = _Places()
    alone = _alone(source.path)
    if not alone:
        held = _read_settings(source, None, head, tasks, seen, places)
        if not held and not source.companions:
            raise Unreadable(f"no simulation in it and no {SIMULATIONS}/ with any next to it")
    elif source.path.parent.name == SIMULATIONS:
        beside = source.path.parent.parent / "results.json"
        if beside.is_file():
            _read_settings(source, beside, head, tasks, [], _Places())
    if alone or source.companions:
        with suppress(Unreadable):  # reported where the simulations are read
            seen += [one for cut in _cuts(source) if (one := _head_of(cut.raw))]
    run = run_of(head, tasks, seen)
    source.notes.update(doubts(run, seen))
    indexed = _indexed(run)
    extra = sum(path.stem not in indexed for path in source.companions)
    if indexed and extra:
        source.notes.add(f"{extra} simulation files are not in simulation_index")
    known = places.sure and not alone and not source.companions
    return run, places if known else None


def _alone(path: Path) -> bool:
    """Return whether a file contains simulations and nothing about the run around them."""
    value = Head(path).value
    return not isinstance(value, dict) or _is_simulation(value)


def _read_settings(
    source: Source,
    path: Path | None,
    head: dict[str, Any],
    tasks: dict[str, Task],
    seen: list[SimulationHead],
    places: _Places,
) -> int:
    """Fill in the run's members, its tasks, and outlines and places of its simulations; return the
    number of simulations."""
    held = 0
    try:
        for part in source.walk(("tasks", EACH), (SIMULATIONS, EACH), path=path):
            name = part.path[0] if part.path else None
            places.note(part)
            if name == SIMULATIONS:
                held += len(part.path) == 2
                seen += [one] if (one := _head_of(part.raw)) and len(part.path) == 2 else []
            elif part.problem or not isinstance(name, str):
                continue
            elif name != "tasks":
                head[name] = source.value(part.raw)
            elif isinstance(task := source.value(part.raw), dict) and tau2.id_of(task):
                tasks[tau2.id_of(task)] = task_from(task)
    except (Unreadable, Rejected, OSError):
        places.sure = False
        source.notes.add("the settings of the run could not be read to their end")
    return held


def _head_of(raw: bytes) -> SimulationHead | None:
    try:
        return _head.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # its errors are reported where it is read


def _indexed(run: Run) -> frozenset[str]:
    """Return the simulation ids of the index; none without one."""
    listed = objects(run.head.get("simulation_index"))
    return frozenset(str(one["id"]) for one in listed if one.get("id"))


def _missing(source: Source, run: Run) -> list[str]:
    """Return simulations that the index names and no file contains."""
    held = {path.stem for path in source.companions}
    return sorted(_indexed(run) - held) if source.companions else []


def _cuts(source: Source) -> Iterator[RawSimulation]:
    """Yield every simulation of the file, or of the files beside it, in a stable order."""
    if source.companions:
        yield from map(_cut_of, source.companions)
    elif _alone(source.path):
        yield from (RawSimulation("", piece.raw, piece.problem) for piece in source.pieces())
    else:
        for part in source.walk((SIMULATIONS, EACH)):
            if part.path[:1] == (SIMULATIONS,) and len(part.path) == 2:
                yield RawSimulation(f"{SIMULATIONS}[{part.path[1]}]", part.raw, part.problem)
            elif part.problem:
                yield RawSimulation("", b"", part.problem)


def _cuts_at(source: Source, places: _Places) -> Iterator[RawSimulation]:
    """Yield the simulations that the file has at these places."""
    with source.open() as handle:
        for number, end, size in zip(places.numbers, places.ends, places.sizes, strict=True):
            handle.seek(end - size)
            source.reached = end
            yield RawSimulation(f"{SIMULATIONS}[{number}]", handle.read(size))


def _cut_of(path: Path) -> RawSimulation:
    """Return a simulation in a file of its own."""
    name = f"{SIMULATIONS}/{path.name}"
    try:
        raw = start_of(path, MAX_RECORD + 1)
    except (Unreadable, OSError):
        return RawSimulation(name, b"", "unreadable:file")
    return RawSimulation(name, raw, "too_large:file" if len(raw) > MAX_RECORD else "")
