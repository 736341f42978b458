"""The world of tau2-bench tasks from results files: the answers of the tools in their
simulations."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.workspace.suite_records import SourceRecord, digest_of, head_of, loaded
from reviewer.desk.workspace.suite_records import records_of as records
from reviewer.exit_codes import ExitCode
from reviewer.importing.formats.tau2 import Tau2Reader
from reviewer.importing.recorded.offered import definitions_in
from reviewer.importing.recorded.story import as_value, cut_off
from reviewer.suite.derived import tau2
from reviewer.suite.derived.tau2_recorded import Act, Definition, Recorded, Simulation
from reviewer.suite.errors import name_problem


class RecordedWorld(NamedTuple):
    """The world, the facts for the suite's `source`, and notes for its author."""

    world: Recorded
    told: dict[str, Any]
    notes: tuple[str, ...]


def recorded_world(
    files: Sequence[Path], tasks: Sequence[SourceRecord], writes: frozenset[str] | None
) -> RecordedWorld:
    """Return the world that results files of the tasks' domain show. Raises DeskError for a file
    that cannot be read, and where the files contain no usable simulation."""
    if writes is None:
        raise DeskError(
            "which tools write is not known of the domain of these tasks, so nothing says what "
            "changes a recorded world",
            "--domain names it",
            exit_code=ExitCode.USAGE,
        )
    known = {tau2.id_of(one.value): one.value for one in tasks if isinstance(one.value, dict)}
    definitions: dict[str, Definition] = {}
    found: list[Simulation] = []
    strange = 0
    for file in files:
        head = head_of(file)
        held = {
            tau2.id_of(one.value): one.value
            for one in records(file, ("tasks",), head)
            if isinstance(one.value, dict) and "tasks" in head.names
        }
        info = head.value.get("info") if isinstance(head.value, dict) else None
        for tool in definitions_in([info]):
            definitions.setdefault(tool.name, Definition(tool.description, tool.parameters))
        for value in _simulations(file):
            simulation = _simulation(value, {**known, **held})
            strange += simulation is None
            found += [] if simulation is None else [simulation]
    if not found:
        named = ", ".join(str(file) for file in files)
        raise DeskError(
            f"{named}: no simulation in it whose tools' answers can be used"
            + (f": each of {strange} has {_UNUSABLE}" if strange else ""),
            "--recorded names a results file of the tasks' domain, with its simulations",
            "without --recorded, the suite checks imported traces and cannot be run",
        )
    world = Recorded(found, writes, definitions, _references(known))
    told = {
        "kind": "recorded",
        "files": [{"name": file.name, "sha256": digest_of(file)} for file in files],
        "simulations": len(found),
        "not_used": strange,
        "answers": world.answers,
        "contradictory": world.contradictory,
    }
    return RecordedWorld(world, told, tuple(_notes(world, strange, definitions)))


_UNUSABLE = "another start, calls of users, or no messages"


def _notes(world: Recorded, strange: int, definitions: Mapping[str, Definition]) -> Iterator[str]:
    yield (
        f"the world is recorded: {world.answers} answers of {world.simulations} simulations; any "
        "other call ends an attempt as world_gap, which neither passes nor fails"
    )
    if world.contradictory:
        yield f"{world.contradictory} calls were answered in two ways, and are gaps"
    if world.unread:
        yield f"{world.unread} simulations are used up to a write without a whole answer"
    if strange:
        yield f"{strange} simulations are not used: {_UNUSABLE}"
    if inferred := sorted(world.tools - definitions.keys()):
        yield (
            f"{len(inferred)} tools are defined in no file: their arguments are inferred from "
            "calls; put in toolset.json what the agent is to read"
        )


def _references(tasks: Mapping[str, Any]) -> dict[str, list[tau2.Action]]:
    found = {}
    for task_id, task in tasks.items():
        try:
            actions = tau2.actions_of(tau2.criteria_of(task) or {})
        except ValueError:
            continue  # no contract is made from it
        if not tau2.initial_state_of(task) and not any(one.by_user for one in actions):
            found[task_id] = actions
    return found


def _simulations(file: Path) -> Iterator[Any]:
    beside = Tau2Reader().companions(file)
    for each in beside:
        yield loaded(each)
    if not beside:
        for one in records(file, ("simulations",), head_of(file)):
            yield one.value


def _simulation(value: Any, tasks: Mapping[str, Any]) -> Simulation | None:
    """Return a simulation as the calls of its agent; None for one whose start is unknown or not
    that of its domain, or whose user has tools."""
    messages = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(messages, list):
        return None
    named = value.get("task_id")
    task = tasks.get(str(named)) if isinstance(named, str | int) else None
    if task is None or tau2.initial_state_of(task):
        return None
    answers = _answers(messages)
    acts: list[Act] = []
    for message in messages:
        for call in _calls(message):
            if message.get("role") != "assistant" or call.get("requestor") == "user":
                return None
            if not _is_call(call):
                return Simulation(str(named), tuple(acts))  # the call may have written
            acts.append(_act(call, answers))
    reward = value.get("reward_info")
    check = reward.get("db_check") if isinstance(reward, dict) else None
    matched = check.get("db_match") if isinstance(check, dict) else None
    return Simulation(str(named), tuple(acts), matched if isinstance(matched, bool) else None)


def _calls(message: Any) -> list[dict[str, Any]]:
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    return [call for call in calls or () if isinstance(call, dict)]


def _answers(messages: list[Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the answers by the id of their call; ids may be used more than once."""
    found: dict[str, list[dict[str, Any]]] = {}
    for message in messages:
        if not isinstance(message, dict) or message.get("role") != "tool":
            continue
        for one in message.get("tool_messages") or [message]:
            if isinstance(one, dict) and isinstance(one.get("id"), str):
                found.setdefault(one["id"], []).append(one)
    return found


def _is_call(call: dict[str, Any]) -> bool:
    name = call.get("name")
    named = isinstance(name, str) and name_problem(name) is None
    return named and isinstance(call.get("arguments"), dict)


def _act(call: dict[str, Any], answers: Mapping[str, list[dict[str, Any]]]) -> Act:
    found = answers.get(str(call.get("id")), [])
    answer = found[0].get("content") if len(found) == 1 else None
    return Act(
        call["name"],
        call["arguments"],
        as_value(answer),
        bool(found and found[0].get("error")),
        isinstance(answer, str) and not cut_off(answer),
    )
