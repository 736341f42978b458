"""Make an episode of traces, of the store or of files, and write it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.db import payload
from reviewer.desk.episodes.api import suite_folder
from reviewer.desk.episodes.views import EpisodeOrder, MadeFromTrace
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import DeskState
from reviewer.desk.place import write_private
from reviewer.desk.traces.records import locate
from reviewer.desk.workspace.suite_records import write_folder
from reviewer.exit_codes import ExitCode
from reviewer.importing.recorded import NotUsable, attempts, story
from reviewer.importing.recorded.episode import MadeEpisode, SourceTrace, episode_of
from reviewer.importing.recorded.marks import Marks, read_marks, together
from reviewer.importing.recorded.offered import Definition, tools_of_file, tools_of_trace
from reviewer.suite.check import check_suite
from reviewer.suite.derived import NoContract, encoded
from reviewer.suite.errors import ContractError, id_problem, shown
from reviewer.suite.folder import locked_files
from reviewer.suite.lock import LOCK_FILE
from reviewer.suite.model import RedactionRules
from reviewer.suite.strict_json import load_object
from reviewer.suite.values import EPISODES, SUITE_FILE, TOOLSET_FILE, converted
from reviewer.trace.record import TraceRecord
from reviewer.trace.rules import DETECTORS

PROOFS = "candidates/proofs/"
_REDACTION: dict[str, Any] = {"keys": [], "detectors": list(DETECTORS)}
_UNFIT = re.compile(r"[^a-z0-9_-]+")


class _Found(NamedTuple):
    """A trace with what its file says beside it."""

    source: SourceTrace
    file: attempts.AttemptFile | None
    request: str


def made_from_trace(opened: DeskState, order: EpisodeOrder) -> MadeFromTrace:
    """Make the episode and write it, with its scripts. Raises DeskError."""
    try:
        return _made(opened, order)
    except NotUsable as error:
        raise DeskError(str(error), *error.ways) from error
    except ContractError as error:
        raise DeskError(str(error)) from error


def _made(opened: DeskState, order: EpisodeOrder) -> MadeFromTrace:
    marks = order.marks
    if order.marks_file:
        marks = together(read_marks(_bytes(order.marks_file), order.marks_file), marks)
    main = _trace(opened, order.source, order.trace, order.form)
    beside = [_beside(opened, main, text, order.form) for text in order.beside]
    called = [call.tool for one in (main, *beside) for call in one.source.story.calls]
    defined: dict[str, Definition] = {}
    if order.tools:
        defined = tools_of_file(Path(order.tools))
    elif main.file is not None:
        defined = tools_of_trace(main.file, called)
    episode_id = order.episode_id or _slug(main.source.trace) or "from-trace"
    if (reason := id_problem(episode_id)) is not None:
        raise DeskError(f"{shown(episode_id)}: {reason}", "--id names the episode")
    target = _target(opened, order, episode_id)
    made = episode_of(
        main.source, [one.source for one in beside], defined, marks, target.rules, episode_id,
        main.request,
    )  # fmt: skip
    problems = target.write(made, main.source)
    told = made.episode["source"]
    return MadeFromTrace(
        suite_id=target.suite_id,
        episode_id=episode_id,
        file=str(target.folder / EPISODES / f"{episode_id}.json"),
        script=str(target.folder / PROOFS / f"{episode_id}.json"),
        calls=len(main.source.story.calls),
        blanks=made.blanks,
        gaps=tuple(told.get("gaps", ())),
        pooled=tuple(told.get("pooled", ())),
        volatile=tuple(
            f"{tool}.{name} ({why})"
            for tool, names in told.get("volatile", {}).items()
            for name, why in names.items()
        ),
        inferred=tuple(told.get("inferred", ())),
        masks=len(told.get("masks", ())),
        notes=tuple(told.get("notes", ())),
        problems=tuple(problems),
    )


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DeskError(f"{path}: cannot be read: {error.strerror}") from error


def _slug(name: str) -> str:
    parts = name.split("/")
    last = "-".join(parts[-2:]) if len(parts) > 1 else name
    return _UNFIT.sub("-", last.lower()).strip("-_")[:80]


def _trace(opened: DeskState, text: str, wanted: str, form: str) -> _Found:
    """Return a trace by a file's path, `FILE#NAME`, or its id in the store. Raises NotUsable,
    DeskError."""
    path, name = Path(text), wanted
    if not path.is_file() and "#" in text and not wanted:
        before, _, after = text.rpartition("#")
        if Path(before).is_file():
            path, name = Path(before), after
    if path.is_file():
        return _of_file(path, name, form)
    if path.exists():
        raise DeskError(f"{text}: is a folder: name one file", exit_code=ExitCode.USAGE)
    if not opened.has_store():
        raise DeskError(
            f"{text}: is no file, and this workspace has no store", exit_code=ExitCode.USAGE
        )
    return _stored(opened, text)


def _of_file(path: Path, name: str, form: str) -> _Found:
    found = attempts.chosen(path, name, form)
    one = found.attempt
    record = story.story_of(one.record, f"{path.name} {one.name}")
    trace = one.identity or one.name
    source = SourceTrace(record, trace, found.sha256, found.reader, found.version)
    return _Found(source, found, one.request)


def _beside(opened: DeskState, main: _Found, text: str, form: str) -> _Found:
    """Return a sibling: as `_trace`, or by a name in the file of the source."""
    if main.file is not None and not Path(text).exists() and "#" not in text:
        return _of_file(main.file.path, text, form)
    return _trace(opened, text, "", form)


def _stored(opened: DeskState, trace_id: str) -> _Found:
    with opened.reading() as connection:
        row = locate(connection, trace_id).row
        raw = payload.stored_record(connection, row.id, row.pack, row.offset, row.length)
    if raw is None:
        raise DeskError(
            f"{trace_id}: its content was refused and is not in the store",
            "give the file that it was imported from",
        )
    record = payload.decode_record(raw)
    told = story.story_of(record, trace_id)
    form = _format(record)
    return _Found(SourceTrace(told, trace_id, row.sha256.hex(), form, "stored"), None, "")


def _format(record: TraceRecord) -> str:
    try:
        source = json.loads(bytes(record.source) or b"{}")
    except ValueError:
        return "reviewer"
    named = source.get("format") if isinstance(source, dict) else None
    return named if isinstance(named, str) else "reviewer"


class _Target:
    """Where the episode goes: an unfrozen suite, or a new one."""

    def __init__(self, folder: Path, suite_id: str, episode_id: str, new: bool) -> None:
        self.folder, self.suite_id, self.new = folder, suite_id, new
        self._episode = f"{EPISODES}{episode_id}.json"
        self._script = f"{PROOFS}{episode_id}.json"
        self._id = episode_id
        self._files = {} if new else locked_files(folder)
        self._head: dict[str, Any] = {}
        if not new:
            if (folder / LOCK_FILE).exists() or (folder / ".frozen").exists():
                raise DeskError(
                    f"{folder}: is frozen: nothing can be added to it",
                    "leave --into out: the episode gets a suite of its own",
                    f"or edit a copy and freeze it: reviewer suite freeze {suite_id} --as NEW_ID",
                )
            if SUITE_FILE not in self._files:
                raise DeskError(f"{folder}: is no suite: it has no {SUITE_FILE}")
            self._head = load_object(self._files[SUITE_FILE], SUITE_FILE)
            for path in (self._episode, self._script):
                if (folder / path).exists():
                    raise DeskError(f"{folder / path} exists already", "--id names the episode")
        told = _REDACTION if new else self._head.get("redaction", {})
        self.rules = converted(told, RedactionRules, SUITE_FILE)

    def write(self, made: MadeEpisode, source: SourceTrace) -> list[str]:
        """Write the files, and return what keeps the suite from being frozen."""
        episode = made.episode
        if TOOLSET_FILE in self._files:
            episode = _beside_toolset(episode, load_object(self._files[TOOLSET_FILE], TOOLSET_FILE))
        try:
            files = {self._episode: encoded(episode), self._script: encoded(made.script)}
            if self.new:
                files[SUITE_FILE] = encoded(self._new_head(source, made))
            elif isinstance(self._head.get("episodes"), list):
                listed = [*self._head["episodes"], self._id]
                files[SUITE_FILE] = encoded({**self._head, "episodes": listed})
        except NoContract as why:
            raise DeskError(f"{self.folder}: {why}") from None
        if self.new:
            write_folder(self.folder, files)
        else:
            for path in (self._script, self._episode, *({SUITE_FILE} & files.keys())):
                write_private(self.folder / path, files[path])
        locked = {path: data for path, data in files.items() if not path.startswith("candidates/")}
        checked = check_suite({**self._files, **locked}, to_freeze=True)
        return [str(one) for one in checked.problems]

    def _new_head(self, source: SourceTrace, made: MadeEpisode) -> dict[str, Any]:
        return {
            "schema": "reviewer/suite@1",
            "suite_id": self.suite_id,
            "title": f"{self._id}: a recorded attempt as an episode",
            "episodes": [self._id],
            "source": {"made_by": made.episode["source"]["made_by"], "sha256": source.sha256},
            "policy": {"gates": {"loops": _most_alike(made.script) + 1}},
            "redaction": _REDACTION,
        }


def _most_alike(script: Mapping[str, Any]) -> int:
    """Return how often the attempts of a proof make one call, and no less than two."""
    counts = [2]
    for told in script["episodes"].values():
        for plan in told["plans"].values():
            made = [call for turn in plan["turns"] for call in turn.get("calls", ())]
            calls = [json.dumps(call, sort_keys=True) for call in made]
            counts += [calls.count(call) for call in set(calls)]
    return max(counts)


def _target(opened: DeskState, order: EpisodeOrder, episode_id: str) -> _Target:
    if order.into and order.out:
        raise DeskError("--into and --out: give one of them", exit_code=ExitCode.USAGE)
    if order.into:
        folder = suite_folder(opened.place.suites, order.into)
        if not folder.is_dir():
            raise DeskError(f"{order.into}: is no suite and no folder", "--out makes a new suite")
        return _Target(folder, folder.resolve().name, episode_id, new=False)
    folder = Path(order.out) if order.out else opened.place.suites / f"{episode_id}-v1"
    if folder.exists():
        raise DeskError(f"{folder} exists already", "--into adds to a suite that is not frozen")
    name = folder.resolve().name
    if (reason := id_problem(name)) is not None:
        raise DeskError(f"{shown(name)}: {reason}", "--out names the folder of the new suite")
    return _Target(folder, name, episode_id, new=True)


def _beside_toolset(episode: dict[str, Any], toolset: Mapping[str, Any]) -> dict[str, Any]:
    """Return the episode without what toolset.json says of its tools."""
    listed = {tool.get("name") for tool in toolset.get("tools", ()) if isinstance(tool, dict)}
    tools = {
        name: {
            member: value
            for member, value in told.items()
            if name not in listed or member not in ("description", "parameters")
        }
        for name, told in episode["simulator"]["tools"].items()
    }
    return {**episode, "simulator": {**episode["simulator"], "tools": tools}}


__all__ = ["PROOFS", "Marks", "made_from_trace"]
