"""Terminal-Bench 0.x (`tb run`): `<run>/<task>/<trial>/results.json`, and a run's own results.

A trial has a verdict, the tests' results, times of its phases, the text of the terminal before,
between and after, and a recording of it; there is no trace of the agent's steps. A recording does
not show who typed: the harness starts the agent through the same terminal. So its events show what
happened in the terminal and are no account of the agent's own tool calls. The run's `results.json`
contains every trial again: it provides those that have no folder beside it.
"""

import math
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, elapsed_ms, measured, tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import (
    SAYS_BOTH,
    Format,
    above,
    agreed,
    at_path,
    clipped,
    each_record,
    files_below,
    mapping,
    present,
    shown,
    slug,
    small_value,
    started_ms,
    tell_rest,
    text,
    value_of,
    whole_value,
    within,
)
from reviewer.importing.head import Head
from reviewer.importing.pipeline.units import STDIN
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH
from reviewer.trace.record import SourceVerdict

# Recordings (asciicast 2 and 3) -------------------------------------------------------------------

TOOL = "terminal"
RECORDING = "sessions/agent.cast"
SHOWN = 32 * 1024
"""Most characters stored of one stretch of the screen's text."""
MOST_SHOWN = 4 << 20
"""Most characters stored of a whole recording."""
PAUSE_S = 2.0
"""The text of the screen is split where nothing was written for this long: an agent that was
started once keeps working after a single input."""


class _Moment(NamedTuple):
    """One event of a recording: seconds from its start, `i`, `o` or `m`, and the text."""

    at: float
    kind: str
    text: str


def recorded(draft: Draft, text: str) -> None:
    """Write a recording into the draft: inputs as calls of `terminal`, what follows them as their
    results, markers as the agent's messages."""
    head, _, rest = text.partition("\n")
    header = parse_text(head)
    if not isinstance(header, dict) or header.get("version") not in (2, 3):
        draft.note("the terminal recording is in a form that is not read")
        draft.unread(RECORDING)
        return
    moments = list(_moments(rest, header["version"] == 3, draft))
    last = moments[-1].at if moments else 0.0
    draft.source["recording"] = {"events": len(moments), "seconds": last}
    draft.note("terminal recordings show keys and screen, not the agent's own tool calls")
    origin = header.get("timestamp")
    start = origin if isinstance(origin, (int, float)) and not isinstance(origin, bool) else None
    left = MOST_SHOWN
    for group in _groups(moments):
        left -= min(len(group.text), SHOWN)
        if left < 0:
            draft.note("the recording is long: its end was left out")
            draft.unread(RECORDING)
            break
        _tell(draft, group, None if start is None else start + group.at)
    draft.settle()


def _moments(text: str, relative: bool, draft: Draft) -> Iterator[_Moment]:
    clock = 0.0
    for number, line in enumerate(text.split("\n"), 2):
        if not line.strip() or line.startswith("#"):
            continue
        value = parse_text(line)
        if not _is_moment(value):
            draft.note("lines of the recording that cannot be read were left out")
            draft.unread(f"{RECORDING}:{number}")
            continue
        clock = clock + value[0] if relative else value[0]
        yield _Moment(clock, value[1], value[2])


def _is_moment(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3 or isinstance(value[0], bool):
        return False
    at, kind, text = value
    timed = isinstance(at, (int, float)) and math.isfinite(at) and at >= 0
    return timed and isinstance(kind, str) and isinstance(text, str)


def _groups(moments: list[_Moment]) -> Iterator[_Moment]:
    """Yield each run of moments of one kind as one moment, at the time of the first."""
    held: list[str] = []
    first = last = _Moment(0.0, "", "")
    for one in moments:
        if one.kind not in ("i", "o", "m"):
            continue
        paused = one.kind == "o" and one.at - last.at > PAUSE_S
        if held and (one.kind != first.kind or one.kind == "m" or paused):
            yield first._replace(text="".join(held))
            held = []
        first = one if not held else first
        held.append(one.text)
        last = one
    if held:
        yield first._replace(text="".join(held))


def _tell(draft: Draft, group: _Moment, at: float | None) -> None:
    text = clipped(group.text, SHOWN)
    if text != group.text:
        draft.note("long stretches of the terminal's text were cut in their middle")
    if group.kind == "i":
        draft.settle()
        draft.call(TOOL, {"keystrokes": text}, actor=TOOL, at=at)
    elif group.kind == "m":
        draft.message("agent", text, at=at)
    else:
        draft.result(text, tool=TOOL, loose=not draft.waiting, actor=TOOL, at=at)


# Trials -------------------------------------------------------------------------------------------

RESULTS = "results.json"
CORE = "terminal-bench-core"
FINE = frozenset({"unset", "none"})
"""Failure modes without a failure; `unset` is that of a normal trial."""
ENDS = {
    "agent_timeout": "timeout",
    "context_length_exceeded": "context_window_exceeded",
    "output_length_exceeded": "output_length_exceeded",
    # The agent had ended by itself: the tests or the parsing of their output failed.
    "test_timeout": "completed",
    "parse_error": "completed",
}
HARMLESS = frozenset(
    # outcomes of the tests, written as results of the verifier
    ("parser_results",)
)
PANE = 64 * 1024
SETTINGS = 4 << 20
_NUMBER = re.compile(r"\.(\d{1,6})-of-(\d{1,6})(?:\.|$)")
_STAMP = re.compile(r"[-_]*\d{4}-?\d\d-?\d\d[-_T]+\d\d-?\d\d-?\d\d$")
_MUTE = re.compile(r"(run[-_ ]?\d*|runs|results?|\d*|tmp.*)", re.IGNORECASE)


class Run(NamedTuple):
    """Facts about a trial's run from the files around it; empty where they state none."""

    agent: str
    version: str
    model: str
    dataset: str
    dataset_version: str
    harness: str
    folder: str

    @property
    def candidate(self) -> str:
        """Return agent, version and model; the folder's name replaces an unknown one."""
        known = [part for part in (self.agent, self.version, self.model) if part]
        if self.agent and self.model:
            return " ".join(known)
        if self.agent and self.agent.lower() not in self.folder.lower():
            return f"{' '.join(known)} {self.folder}"
        return self.folder

    @property
    def suite(self) -> str:
        """Return the suite of the data set; the core data set is the benchmark itself."""
        name = "" if self.dataset in ("", CORE, "terminal-bench") else slug(self.dataset)
        return f"terminal-bench-{name}" if name else "terminal-bench"


def is_trial(value: Any) -> bool:
    """Return whether a value, as far as it is shown, is a trial's results."""
    return (
        isinstance(value, dict)
        and {"trial_name", "task_id", "is_resolved"} <= set(value)
        and isinstance(value["task_id"], str)
    )


def run_of(path: Path) -> Run:
    """Return the run a results file belongs to, by its `run_metadata.json` and `tb.lock`."""
    metadata: dict[str, Any] = {}
    lock: dict[str, Any] = {}
    folders = list(above(path, 6))
    place = folders[min(2 if _NUMBER.search(folders[0].name) else 0, len(folders) - 1)]
    for folder in folders[:4]:
        metadata, lock = (
            mapping(small_value(folder / "run_metadata.json", SETTINGS)),
            mapping(small_value(folder / "tb.lock", SETTINGS)),
        )
        if metadata or lock:
            place = folder
            break
    agent, data = mapping(lock.get("agent")), mapping(lock.get("dataset"))
    kwargs = {**mapping(agent.get("extra_kwargs")), **mapping(metadata.get("agent_kwargs"))}
    local = str(metadata.get("dataset_path") or data.get("local_path") or "")
    local_name = local.rstrip("/").rpartition("/")[2]
    named = () if path.name == STDIN else (place, *place.parents)
    names = (_STAMP.sub("", folder.name) for folder in named)
    return Run(
        text(metadata.get("agent_name") or agent.get("name")),
        text(kwargs.get("version")),
        text(metadata.get("model_name") or agent.get("model_name")),
        text(metadata.get("dataset_name") or data.get("name"))
        or ("" if local_name == "tasks" else local_name),
        text(metadata.get("dataset_version") or data.get("version")),
        text(mapping(lock.get("harness")).get("version")),
        next((name for name in names if not _MUTE.fullmatch(name)), "unnamed"),
    )


def attempt(source: Source, raw: bytes, folder: Path | None) -> Foreign:
    """Return a trial as an attempt; `folder` is its own, None when there is none. Raises
    Rejected."""
    trial = source.value(raw)
    if not is_trial(trial):
        raise Rejected("type:record")
    resolved, mode = trial["is_resolved"], trial.get("failure_mode") or "unset"
    if not isinstance(resolved, bool) and resolved is not None:
        raise Rejected("type:is_resolved")
    draft = Draft("terminal-bench")
    run = run_of(source.path)
    if not run.agent or not run.model:
        draft.note("the run names no agent or no model: the folder's name is in the candidate's")
    request = text(trial.get("instruction"))
    if request:
        draft.message("user", request)
    _terminal(draft, source, folder)
    tell_rest(trial, draft, "", HARMLESS)
    if mode not in FINE:
        draft.error(mode)
    if resolved is None:
        draft.note("is_resolved is null: not scored (the run's own totals count it as unresolved)")
    if resolved and mode not in FINE:
        draft.note("resolved although a failure was recorded: both are kept")
    _tests(draft, trial.get("parser_results"), resolved)
    if folder:
        _pane(draft, source, folder, "post-test")
    _facts(draft, trial, run)
    latency = elapsed_ms(trial.get("agent_started_at"), trial.get("agent_ended_at"))
    if latency is None:
        draft.note("the agent's times are not stated: no latency")
    return draft.foreign(
        episode_id=trial["task_id"],
        candidate_id=source.candidate or run.candidate,
        attempt=_attempt(trial),
        latency_ms=latency,
        termination=_termination(mode, resolved),
        started_at=draft.at(trial.get("trial_started_at")),
        usage=_usage(trial, draft),
        verdict=SourceVerdict(
            passed=agreed(resolved, [_all_passed(mapping(trial.get("parser_results")))]),
            exception=None if mode in FINE else str(mode)[:200],
            detail={"failure_mode": mode},
        ),
        title=trial["task_id"],
        user_request=request,
        suite=run.suite,
    )


def _terminal(draft: Draft, source: Source, folder: Path | None) -> None:
    if folder is None:
        draft.note("the trial's folder is not there: its steps are not known")
        draft.absent(RECORDING)
        return
    _pane(draft, source, folder, "pre-agent")
    text = source.text(folder / RECORDING)
    if text is None:
        draft.note("no terminal recording is next to the trial: its steps are not known")
        draft.absent(RECORDING)
    else:
        recorded(draft, text)
    _pane(draft, source, folder, "post-agent")


def _pane(draft: Draft, source: Source, folder: Path, name: str) -> None:
    """Write the text of the terminal at a moment, as a snapshot."""
    text = source.text(folder / "panes" / f"{name}.txt")
    if text is not None:
        draft.state({"terminal": name, "text": clipped(text, PANE)})


def _all_passed(results: dict[str, Any]) -> bool:
    return all(said == "passed" for said in results.values())


def _tests(draft: Draft, results: Any, resolved: bool | None) -> None:
    """Write one result for each test; they answer no call of the agent."""
    if results is None:
        draft.note("the tests' results are not stated")
        return
    if not isinstance(results, dict):
        raise Rejected("type:parser_results")
    if agreed(resolved, [_all_passed(results)]) is not resolved:
        draft.note(SAYS_BOTH)
    elif resolved is False and results and _all_passed(results):
        draft.note("the tests' results say otherwise than is_resolved: both are kept")
    for name, said in results.items():
        status = {"passed": "ok", "failed": "error"}.get(str(said))
        draft.result(
            {"test": name, "result": said},
            tool="test",
            status=status,  # type: ignore[arg-type]
            loose=True,
            actor="verifier",
        )


def _facts(draft: Draft, trial: dict[str, Any], run: Run) -> None:
    facts = {
        "trial": trial.get("trial_name"),
        "id": trial.get("id") or trial.get("uuid"),
        "failure_mode": trial.get("failure_mode"),
        "recording_path": trial.get("recording_path"),
        "dataset": " ".join(part for part in (run.dataset, run.dataset_version) if part) or None,
        "harness": run.harness or None,
        "run": run.folder,
    }
    draft.source.update(present(facts))


def _attempt(trial: dict[str, Any]) -> int | None:
    """Return `i` of `i-of-n`; None for a single attempt, since other runs of the task use the same
    number."""
    found = _NUMBER.search(str(trial["trial_name"]))
    number, total = (int(part) for part in found.groups()) if found else (0, 0)
    return number if total > 1 and 0 < number <= total else None


def _termination(mode: Any, resolved: bool | None) -> str | None:
    if mode in FINE:
        return None if resolved is None else "completed"
    return ENDS.get(str(mode), "error")


def _usage(trial: dict[str, Any], draft: Draft) -> dict[str, Any] | None:
    given = [trial.get(f"total_{kind}_tokens") for kind in ("input", "output")]
    if 0 in given and not any(given):
        draft.note("token counts of 0 mean that they were not measured")
        return None
    return tokens(input_tokens=measured(given[0]), output_tokens=given[1])


# The reader ---------------------------------------------------------------------------------------

UNEQUAL = "the run's results and a trial's own results disagree: the trial's own are taken"


class TerminalBenchReader(Format):
    name = "terminal-bench"
    facts = FormatFacts(
        by="`trial_name, task_id, is_resolved`",
        steps="terminal recording only",
        tools="no",
        times="phases",
        tokens="run; 0 is null",
        verdict="`is_resolved`; null is not scored",
        attempt="`i-of-n`",
        start_state="terminal panes",
        beside="the trial's folder, `run_metadata.json`, `tb.lock`",
    )

    def sniff(self, head: Head) -> bool:
        return is_trial(head.first) or _is_run(head.first)

    def suite_id(self, path: Path) -> str:
        return run_of(path).suite

    def candidate_id(self, path: Path) -> str:
        return slug(run_of(path).candidate)

    def companions(self, path: Path) -> tuple[Path, ...]:
        folder = _own_folder(path)
        return files_below(folder, path) if folder else ()

    def ran_at(self, path: Path) -> float:
        """Return when the trial started, in milliseconds since 1970; infinity when it is
        unknown."""
        return started_ms(at_path(shown(path), "trial_started_at"))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        if _is_run(shown(source.path)):
            yield from _of_run(source)
            return
        folder = _own_folder(source.path)
        yield from each_record(source, lambda one: attempt(source, one.raw, folder), "trial")


def _own_folder(path: Path) -> Path | None:
    """Return the folder of the only trial whose results a file contains; None when the file is not
    a trial's own."""
    if path.name != RESULTS:
        return None
    value, folder = whole_value(path), path.parent
    own = is_trial(value) and folder.name == value["trial_name"]
    signs = any((folder / one).is_dir() for one in ("panes", "sessions"))
    return folder if own or (is_trial(value) and signs) else None


def _is_run(value: Any) -> bool:
    results = at_path(value, "results")
    if not isinstance(results, list):
        return False
    totals = {"n_resolved", "accuracy", "pass_at_k"} <= set(value)
    return is_trial(results[0]) if results else totals


def _of_run(source: Source) -> Iterator[Foreign | Broken]:
    """Yield the trials of a run that are only in its own results; add notes on totals that
    differ."""
    counted = {True: 0, False: 0}
    totals: dict[str, Any] = {}
    beside = False
    for part in source.walk(("results", EACH)):
        if len(part.path) == 1 and part.path[0] in ("n_resolved", "n_unresolved"):
            totals[str(part.path[0])] = value_of(source, part)
        if part.path[:1] != ("results",) or len(part.path) != 2:
            continue
        name = f"results[{part.path[1]}]"
        if part.problem:
            yield Broken((part.problem,), name)
            continue
        trial = value_of(source, part)
        resolved = at_path(trial, "is_resolved")
        counted[resolved is True] += 1
        own = _own_result(source.path.parent, trial)
        if own is None:
            yield source.attempt(partial(attempt, source, part.raw, None), name)
            continue
        beside = source.sums_up = True
        its_own = shown(own)
        if is_trial(its_own) and its_own.get("is_resolved") is not resolved:
            source.notes.add(UNEQUAL)
    if beside:
        source.notes.add("trials of the run are imported from their own results")
    for name, found in (("n_resolved", counted[True]), ("n_unresolved", counted[False])):
        if isinstance(totals.get(name), int) and totals[name] != found:
            source.notes.add("the run's declared totals differ from the trials it holds")


def _own_result(folder: Path, trial: Any) -> Path | None:
    """Return the trial's own results below the run's folder."""
    if not isinstance(trial, dict):
        return None
    task, name = trial.get("task_id"), trial.get("trial_name")
    place = f"{task}/{name}/{RESULTS}"
    return folder / place if within(folder, place) else None
