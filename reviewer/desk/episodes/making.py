"""Make an episode from traces, of the store or of files, and write it."""

import re
from pathlib import Path
from typing import NamedTuple

from reviewer.desk.episodes.stored import stored_trace
from reviewer.desk.episodes.target import target_of
from reviewer.desk.episodes.views import EpisodeOrder, MadeFromTrace
from reviewer.desk.errors import DeskError, refusal_of, ways_out
from reviewer.desk.opened import DeskState
from reviewer.exit_codes import ExitCode
from reviewer.importing.recorded import NotUsable, attempts, story
from reviewer.importing.recorded.episode import SourceTrace, episode_of
from reviewer.importing.recorded.known import Known, among, definitions_of
from reviewer.importing.recorded.marks import needed_tool, read_marks, together
from reviewer.importing.recorded.offered import Definition, tools_of_file, tools_of_trace
from reviewer.importing.recorded.turns import conversation_of
from reviewer.suite.errors import ContractError, id_problem, shown
from reviewer.suite.folder import PROOFS
from reviewer.suite.model import RedactionRules
from reviewer.suite.values import EPISODES
from reviewer.trace.redaction import redactor_of

_UNFIT = re.compile(r"[^a-z0-9_-]+")


class _Found(NamedTuple):
    """A trace with the further facts in its file."""

    source: SourceTrace
    file: attempts.AttemptFile | None
    request: str
    known: Known | None = None


def made_from_trace(opened: DeskState, order: EpisodeOrder) -> MadeFromTrace:
    """Make the episode and write it, with its scripts. Raises DeskError."""
    try:
        return _made(opened, order)
    except NotUsable as error:
        raise DeskError(str(error), *error.ways) from error
    except ContractError as error:
        raise refusal_of(error) from error


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
    else:
        defined = definitions_of(main.known)
    episode_id = order.episode_id or _slug(main.source.trace) or "from-trace"
    if (reason := id_problem(episode_id)) is not None:
        raise DeskError(f"{shown(episode_id)}: {reason}", "--id names the episode")
    replaces = main.source.trace if order.replace else ""
    target = target_of(opened, order.into, order.out, episode_id, replaces)
    wanted = {*called, *marks.forbidden, *map(needed_tool, marks.required)}
    known = main.known
    if target.listed is not None:  # that suite offers no other tools
        known = among(known, wanted | target.listed)
        defined = {name: one for name, one in defined.items() if name in wanted}
        defined |= target.definitions(wanted)
    made = episode_of(
        main.source, [one.source for one in beside], defined, marks, target.rules, episode_id,
        main.request, known, order.request,
    )  # fmt: skip
    problems = target.write(made.episode, made.script, main.source.sha256)
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


def asked_in(opened: DeskState, trace_id: str) -> str:
    """Return what the user asked in a trace of the store; empty where the trace does not state it.
    Raises DeskError."""
    try:
        found = stored_trace(opened, trace_id)
    except NotUsable as error:
        raise DeskError(str(error), *error.ways) from error
    if found.known is not None and found.known.episode.user_request:
        return found.known.episode.user_request
    return conversation_of(found.source.story, False).request


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DeskError(f"{path}: cannot be read: {error.strerror}", *ways_out(error)) from error


def _slug(name: str) -> str:
    """Return a trace's name as an id; empty for a name that contains what looks like a person's
    identifier, since no rule would recognize it in its new spelling."""
    if redactor_of(RedactionRules()).masked(name) != name:
        return ""
    parts = name.split("/")
    last = "-".join(parts[-2:]) if len(parts) > 1 else name
    return _UNFIT.sub("-", last.lower()).strip("-_")[:80]


def _trace(opened: DeskState, text: str, wanted: str, form: str) -> _Found:
    """Return a trace named by a file's path, `FILE#NAME`, or its id in the store. Raises NotUsable,
    DeskError."""
    path, name = Path(text), wanted
    if not path.is_file() and "#" in text and not wanted:
        before, _, after = text.rpartition("#")
        if Path(before).is_file():
            path, name = Path(before), after
    if path.is_file():
        return _of_file(path, name, form)
    if path.exists():
        raise DeskError(f"{text}: is a folder", "name one file", exit_code=ExitCode.USAGE)
    found = stored_trace(opened, text)
    return _Found(found.source, None, "", found.known)


def _of_file(path: Path, name: str, form: str) -> _Found:
    found = attempts.chosen(path, name, form)
    one = found.attempt
    record = story.story_of(one.record, f"{path.name} {one.name}")
    trace = one.identity or one.name
    source = SourceTrace(record, trace, found.sha256, found.reader, found.version)
    return _Found(source, found, one.request)


def _beside(opened: DeskState, main: _Found, text: str, form: str) -> _Found:
    """Return a sibling, named as for `_trace`, or by a name in the file of the source."""
    if main.file is None or Path(text).exists() or "#" in text:
        return _trace(opened, text, "", form)
    try:
        return _of_file(main.file.path, text, form)
    except NotUsable as error:
        if Path(text).suffix not in _OF_FILES:
            raise
        raise NotUsable(
            f"--with {text}: there is no such file, and no trace of that name in {main.file.path}",
            "check the name; --with takes a file, FILE#NAME, the id of a stored trace, or the name "
            "of another trace in the same file",
        ) from error


_OF_FILES = frozenset({".json", ".jsonl", ".ndjson", ".gz", ".zst", ".db", ".sqlite"})
"""Suffixes of names that are taken for files."""
