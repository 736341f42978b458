"""ATIF trajectories (Harbor's Agent Trajectory Interchange Format, 1.0 to 1.8).

A trajectory names neither its task nor a verdict: the task comes from the Harbor trial around it,
else from the file's name. Parts that continue each other, and sub-agents' trajectories beside it,
belong to the same attempt. A file may contain several trajectories, as lines or as an array; each
is then an attempt.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from reviewer.importing.draft import Draft
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import (
    Format,
    at_path,
    each_record,
    folder_names,
    present,
    slug,
    small_value,
    tell_rest,
    within,
)
from reviewer.importing.formats.harbor import around, episode_of, suite_of
from reviewer.importing.formats.harbor.atif_steps import StepWriter, agent_of, object_in, objects_in
from reviewer.importing.formats.swe import suite_of as swe_suite
from reviewer.importing.head import Head, head_of
from reviewer.importing.pipeline.opening import start_of
from reviewer.importing.pipeline.split import MAX_RECORD, Piece, Unreadable
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

# Files that belong to one trajectory --------------------------------------------------------------

MOST_FILES = 1000
"""Most files that one trajectory may include."""
_HOLDERS = (
    "steps", "observation", "results", "subagent_trajectory_ref", "subagent_trajectories",
)  # fmt: skip


class TrajectoryFiles:
    """The files around one trajectory file. References are followed only beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[Path, dict[str, Any] | None] = {}

    def files(self) -> tuple[Path, ...]:
        """Return every file that the trajectory refers to, directly or not, except itself."""
        if not _may_refer(self.path):
            return ()
        found: dict[Path, None] = {}
        waiting = [self.path]
        while waiting and len(found) < MOST_FILES:
            document = self.document(waiting.pop())
            for ref in _refs(document) if document else ():
                file = self._meant(ref)
                if file is not None and file not in found:
                    found[file] = None
                    waiting.append(file)
        return tuple(found)

    def next_part(self, document: dict[str, Any]) -> dict[str, Any] | None:
        """Return the document that continues this one; None when it does not exist, or belongs to
        another run."""
        ref = document.get("continued_trajectory_ref")
        file = self._meant(ref) if isinstance(ref, str) else None
        found = self.document(file) if file else None
        runs = {_run(one) for one in (document, found or {})} - {None}
        return found if len(runs) < 2 else None

    def sub_agent(self, ref: dict[str, Any]) -> dict[str, Any] | None:
        """Return the document a sub-agent's reference names by its path."""
        name = ref.get("trajectory_path")
        file = self._meant(name) if isinstance(name, str) else None
        found = self.document(file) if file else None
        ids = {one.get("trajectory_id") for one in (ref, found or {})} - {None}
        return found if len(ids) < 2 else None

    def document(self, file: Path) -> dict[str, Any] | None:
        """Return a trajectory in a file of its own; None for anything else."""
        if file not in self._known:
            value = small_value(file, MAX_RECORD)
            fits = isinstance(at_path(value, "steps"), list)
            self._known[file] = value if fits else None
        return self._known[file]

    def _meant(self, ref: str) -> Path | None:
        """Return the file that a reference means. Trajectories are written with references to their
        plain names (`trajectory.cont-1.json`) and later renamed with a common prefix
        (`x.trajectory.cont-1.json`)."""
        name = PurePosixPath(ref.replace("\\", "/")).name
        prefix, word, _ = self.path.name.partition("trajectory")
        wanted = [prefix + name] if prefix and word else []
        for one in (*wanted, ref, name):
            if within(self.path.parent, one) is not None:
                file = self.path.parent / one
                return None if file == self.path else file
        return None


_REFERRING = (b"trajectory_path", b"continued_trajectory_ref", b"subagent_trajectories")
_ESCAPED = re.compile(rb"\\u00[4-7]")
"""Begins an escaped letter, which the name of a member may contain."""


def _may_refer(path: Path) -> bool:
    """Return whether a trajectory may refer to files: most refer to none, and need not be parsed to
    find out."""
    try:
        head = head_of(path)
        raw = head.start if head.whole else start_of(path, MAX_RECORD + 1)
    except (OSError, Unreadable):
        return True  # the reader reports what is wrong
    return any(name in raw for name in _REFERRING) or _ESCAPED.search(raw) is not None


def _refs(document: dict[str, Any]) -> Iterator[str]:
    """Yield every path a document refers to, whatever its shape."""
    waiting: list[Any] = [
        document.get(name)
        for name in ("steps", "subagent_trajectories", "continued_trajectory_ref")
    ]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            waiting.extend(one for one in value if isinstance(one, (dict, list)))
        elif isinstance(value, dict):
            waiting.extend(v for n in _HOLDERS if isinstance(v := value.get(n), (dict, list)))
            waiting.append(value.get("trajectory_path"))


def _run(document: dict[str, Any]) -> str | None:
    """Return the run a part belongs to; newer writers mark parts in the session id."""
    session = document.get("session_id")
    return session.partition("-cont-")[0] if isinstance(session, str) else None


# The reader ---------------------------------------------------------------------------------------

SOURCES = frozenset({"system", "user", "agent"})
KNOWN = frozenset(f"ATIF-v1.{minor}" for minor in range(9))
IDS = ("instance_id", "task_id", "task_name", "episode_id", "sample_id")
_TAIL = re.compile(r"(^|[._-])(trajectory([._-]atif)?|atif)$", re.IGNORECASE)
_PLAIN = frozenset({"", "agent", "logs", "trajectories"})


class AtifReader(Format):
    name = "atif"
    facts = FormatFacts(
        by="`schema_version` ATIF-v…, or steps with `step_id, source, message`",
        times="where stated",
        cost="declared, else the sum",
        tokens="declared, else the sum",
        beside="continuations and sub-agents it names",
    )

    def sniff(self, head: Head) -> bool:
        return is_atif(head.first)

    def suite_id(self, path: Path) -> str:
        return _suite(around(path))

    def candidate_id(self, path: Path) -> str:
        return slug(path.stem)

    def companions(self, path: Path) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((*TrajectoryFiles(path).files(), *_logs(path))))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        family = TrajectoryFiles(source.path)
        yield from each_record(source, partial(_attempt, source, family), "trajectory")


def is_atif(value: Any) -> bool:
    """Return whether a value, as far as it is shown, is a trajectory."""
    if not isinstance(value, dict):
        return False
    if str(value.get("schema_version")).startswith("ATIF-v"):
        return True
    steps = value.get("steps")
    first = steps[0] if isinstance(steps, list) and steps else None
    return (
        isinstance(first, dict)
        and "step_id" in first
        and "message" in first
        and str(first.get("source")) in SOURCES
    )


def _attempt(source: Source, family: TrajectoryFiles, piece: Piece) -> Foreign:
    document = source.value(piece.raw)
    if not isinstance(document, dict):
        raise Rejected("type:record")
    draft = Draft("atif", answers=False)
    agent = agent_of(document)
    writer = StepWriter(draft, family.sub_agent)
    for part in parts_of(document, family, draft):
        writer.part(part)
    describe(draft, document)
    writer.close()
    tell_rest(document, draft)
    totals = writer.usage.settled(draft)
    trial = around(source.path)
    episode = _episode(source.path, document, piece.number, trial, draft)
    suite = swe_suite(episode, "") if "instance_id" in object_in(document, "extra") else ""
    if not agent.model:
        draft.note("the trajectory names no model")
    return draft.foreign(
        episode_id=episode,
        candidate_id=source.candidate or agent.candidate or slug(source.home),
        final_message=writer.final,
        cost_usd=totals.cost_usd,
        latency_ms=writer.elapsed_ms(),
        started_at=writer.started_at,
        usage=totals.usage(),
        title=episode,
        user_request=writer.request,
        suite=suite or _suite(trial),
    )


def parts_of(
    document: dict[str, Any], family: TrajectoryFiles, draft: Draft
) -> Iterator[dict[str, Any]]:
    """Yield a trajectory and its continuations, in order, noting missing ones."""
    extra = object_in(object_in(document, "agent"), "extra")
    if extra.get("parent_session_id"):
        draft.note("a sub-agent's trajectory: that of the agent it worked for is another file")
    session = document.get("session_id")
    if extra.get("continuation_index") or "-cont-" in str(session):
        draft.note("this trajectory continues another: what came before is not in it")
        draft.absent("trajectory that it continues")
    seen: list[dict[str, Any]] = []
    part: dict[str, Any] | None = document
    while part is not None and not any(part is one for one in seen) and len(seen) < MOST_FILES:
        seen.append(part)
        yield part
        follows = family.next_part(part) if part.get("continued_trajectory_ref") else None
        if follows is None and part.get("continued_trajectory_ref"):
            draft.note("the trajectory continues in a file that is missing")
            draft.absent("trajectory that continues it")
        part = follows
    if len(seen) > 1:
        draft.source["parts"] = len(seen)


def describe(draft: Draft, document: dict[str, Any]) -> None:
    """Store the facts of a document that fit no event with the trace."""
    version = document.get("schema_version")
    if version not in KNOWN:
        draft.note("a version of ATIF that is not known here: read as 1.8")
    agent = object_in(document, "agent")
    tools = [
        object_in(one, "function").get("name") for one in objects_in(agent, "tool_definitions")
    ]
    facts = {
        "schema_version": version,
        "session_id": document.get("session_id"),
        "trajectory_id": document.get("trajectory_id"),
        "agent": {name: agent.get(name) for name in ("name", "version", "model_name", "extra")},
        "tools": [name for name in tools if isinstance(name, str)] or None,
        "remarks": document.get("notes"),
        "extra": document.get("extra"),
    }
    draft.source.update(present(facts))


def _logs(path: Path) -> tuple[Path, ...]:
    """Return the files in which the agent of a Harbor trial without a result (yet) logged the same
    run again."""
    folder = path.parent
    if folder.name != "agent" or not (folder.parent / "config.json").is_file():
        return ()
    found = (file for file in sorted(folder.iterdir()) if "trajectory" not in file.name)
    return tuple(file for file in found if file.is_file())


def _suite(trial: dict[str, Any] | None) -> str:
    return suite_of(trial) if trial else "atif"


def _episode(
    path: Path,
    document: dict[str, Any],
    number: int,
    trial: dict[str, Any] | None,
    draft: Draft,
) -> str:
    extra = object_in(document, "extra")
    for name in IDS:
        if isinstance(extra.get(name), (str, int)) and str(extra[name]).strip():
            return str(extra[name])
    if trial is not None:
        draft.note("its Harbor trial has the verdict: import the trial's folder")
        return episode_of(trial)
    draft.note("the trajectory names no task: the episode is called after its file")
    stem = _TAIL.sub("", path.name.removesuffix(".gz").rpartition(".")[0])
    folders = folder_names(path, 8)
    stem = stem or next((name for name in folders if name not in _PLAIN), "trajectory")
    return stem if number == 1 else f"{stem}-{number}"
