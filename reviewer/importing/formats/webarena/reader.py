"""WebArena result folders: one `render_<task id>.html` an attempt, settings and logs beside it.

The page holds no score, time, cost or tokens; PASS and FAIL are only in the run's log. It also
holds the task's answer key, of which nothing is taken.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.importing.draft import Draft, whole
from reviewer.importing.formats.base import Format, above, folder_names, within
from reviewer.importing.formats.webarena.page import Page, Step, last_try, parsed, read
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

# The only members of a task that are taken; `eval` and `reference_action_sequence` tell answers.
TAKEN = ("task_id", "sites", "start_url", "intent", "intent_template_id", "require_reset", "image")
_MEMBER = re.compile(r"^([a-z_]{2,40}): ?", re.MULTILINE)
_STARTS = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<!doctype html", re.IGNORECASE)
_TASK = re.compile(rb"^(?:\s*<pre>)?task_id: ", re.MULTILINE)
_INTENT = re.compile(rb"^(?:\s*<pre>)?intent: ", re.MULTILINE)
_EARLY = (
    ("Early stop: Reach max steps", "max_steps"),
    ("Early stop: Failed to parse", "parsing_failures"),
    ("Early stop: Same", "repeated_action"),
    ("Early stop", "early_stop"),
    ("ERROR:", "error"),
)
_SETTINGS = ("action_set_tag", "observation_type", "max_steps", "temperature", "top_p",
             "max_tokens", "instruction_path", "parsing_failure_th",
             "repeating_action_failure_th")  # fmt: skip
_BESIDE = ("config.json", "error.txt", "log_files.txt")
NO_MATCH = "Attempt to perfom"  # the harness's own spelling
MOST_LOGS = 200


class WebArenaReader(Format):
    name = "webarena"

    def sniff(self, head: Head) -> bool:
        start = head.start[:65536]
        return bool(_STARTS.match(start) and _TASK.search(start) and _INTENT.search(start))

    def candidate_id(self, path: Path) -> str:
        return folder_names(path, 1)[0] or "unnamed"

    def placed(self, path: Path) -> tuple[str, ...]:
        return (*folder_names(path, 1), _named(path))

    def companions(self, path: Path) -> tuple[Path, ...]:
        beside = (path.parent / name for name in _BESIDE)
        return (*(file for file in beside if file.is_file()), *_logs(path))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        with source.open() as handle:
            page = read(handle)
        if not page.task and not page.steps:
            raise Unreadable("no WebArena render page: neither a task nor a step in it")
        yield source.attempt(lambda: self._foreign(source, page), source.path.name)

    def _foreign(self, source: Source, page: Page) -> Foreign:
        task = _task(page.task)
        task_id = task.get("task_id") or _named(source.path)
        if not task_id:
            raise Rejected("missing:task_id")
        draft = Draft(self.name)
        draft.note("WebArena pages record no time, cost or tokens")
        intent = task.get("intent", "")
        if intent:
            draft.message("user", intent)
        final = _Events(draft).add(page.steps)
        draft.source["images"] = page.pictures
        draft.source["steps"] = len(page.steps)
        draft.source["task"] = {k: v for k, v in task.items() if k != "intent"}
        if page.cut:
            draft.note("a text of over 1 MiB on the page was cut")
        if not page.ended:
            draft.note("the page is cut off: its last step may be incomplete")
        verdict, error = self._said(source, task_id)
        termination = final.termination or ("error" if error else None)
        if termination is None:
            draft.note("the page ends without a stop: the run broke off or was cut")
        return draft.foreign(
            episode_id=task_id,
            candidate_id=source.candidate or self._candidate(source, draft, task_id),
            final_message=final.answer,
            termination=termination,
            verdict=verdict,
            title=f"task {task_id}",
            user_request=intent,
            suite="visualwebarena" if "image" in task else "webarena",
        )

    def _said(self, source: Source, task_id: str) -> tuple[SourceVerdict | None, str | None]:
        """Return (what logs and error.txt say of this task, the exception of its last try)."""
        logs = [file for file in source.companions if file.name not in _BESIDE]
        told, notes = last_try(task_id, logs)
        # Notes on the file: what is said of a page later does not make it another attempt.
        source.notes.update(notes)
        if told.tries > 1:
            source.notes.add("the logs hold several tries at this task: the last counts")
        if told.passed is None:
            source.notes.add("no [Result] line for this task in a log: not scored")
        if not told.tries:
            told, _ = last_try(task_id, [f for f in source.companions if f.name == "error.txt"])
            if told.exception:
                source.notes.add(
                    "error.txt names tasks but no times: it may speak of an earlier try"
                )
        error = told.exception
        if told.passed is None and error is None:
            return None, None
        return SourceVerdict(passed=told.passed, exception=error), error

    def _candidate(self, source: Source, draft: Draft, task_id: str) -> str:
        config = source.beside(source.path.parent / "config.json")
        if not isinstance(config, dict) or not isinstance(config.get("model"), str):
            draft.note("the candidate is taken from the folder's name: no config.json names it")
            return self.candidate_id(source.path)
        draft.source["config"] = {k: config[k] for k in _SETTINGS if k in config}
        if not _speaks_of(config, task_id):
            draft.note("config.json is of a run over other tasks: its model may not be this")
        prompt = config.get("instruction_path")
        named = (
            config.get("agent_type"),
            Path(prompt).stem if isinstance(prompt, str) else None,
            "/".join(str(config[k]) for k in ("provider", "model") if config.get(k)),
        )
        return " ".join(str(part) for part in ("webarena", *named) if part)


def _speaks_of(config: dict[str, Any], task_id: str) -> bool:
    first, behind = whole(config.get("test_start_idx")), whole(config.get("test_end_idx"))
    number = whole(task_id)
    return None in (first, behind, number) or number in range(first or 0, behind or 0)


def _named(path: Path) -> str:
    found = re.fullmatch(r"render_(.{1,100})", path.name.split(".")[0])
    return found.group(1) if found else ""


def _task(text: str) -> dict[str, str]:
    """Return the settings that are taken of `key: value` lines; a value runs up to the next key."""
    marks = list(_MEMBER.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    found: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=True):
        if mark.group(1) in TAKEN:
            found.setdefault(mark.group(1), text[mark.end() : end].strip())
    return found


class _Events:
    """Writes the steps of a page into a draft; afterwards it has the answer of the agent and the
    end."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.answer: str | None = None
        self.termination: str | None = None

    def add(self, steps: list[Step]) -> "_Events":
        acted = False
        for number, step in enumerate(steps):
            seen = {"url": step.url, "page": step.page}
            if acted:
                missed = step.before.startswith(NO_MATCH)
                self.draft.result(seen, status="error" if missed else None)
            else:
                self.draft.state(seen)
            acted = self._act(step)
            if step.more:
                self.draft.unread(f"step[{number}].{step.more[:100]}")
            if _doubtful(step):
                self.draft.unread(f"step[{number}].parsed_action")
        if not steps:
            self.draft.unread("steps")
        return self

    def _act(self, step: Step) -> bool:
        """Return whether the step acted on the page."""
        if step.said:
            self.draft.message("agent", step.said)
        if not step.action:
            if step.code:
                self.draft.call("playwright", {"code": step.code})
            return bool(step.code)
        word, arguments = parsed(step.action)
        if word == "none":
            self.draft.error("no action could be read out of this reply")
            return False
        if word != "stop":
            self.draft.call(word, arguments)
            return True
        self._stop(str(arguments.get("answer", "")), by_agent=bool(step.said))
        return False

    def _stop(self, answer: str, by_agent: bool) -> None:
        early = next((word for start, word in _EARLY if answer.startswith(start)), "")
        if by_agent or not early:
            self.draft.call("stop", {"answer": answer}, status="ok")
            self.answer, self.termination = answer, "agent_stop"
            return
        self.draft.call("stop", {"answer": answer}, actor="system", status="ok")
        self.draft.note("stopped by the harness: what stands as the answer is its reason")
        self.draft.source["early_stop"] = answer[:200]
        self.termination = early


def _doubtful(step: Step) -> bool:
    """Return whether a reply may be an act that was not read: its action has no known form, or
    there is none and the harness does not say that it ran none (its action object is then NONE)."""
    word = parsed(step.action)[0] if step.action else "none"
    if word == "none":
        return step.ran != "NONE" and bool(step.said or step.action) and not step.code
    return word == "unparsed"


def _logs(path: Path) -> tuple[Path, ...]:
    """Return the run's logs: those that log_files.txt names, which are relative to where it was
    started, and those that lie in or beside the folder."""
    folder = path.absolute().parent
    found = [*folder.glob("*.log"), *folder.glob("log_files/*.log")]
    listed = folder / "log_files.txt"
    if listed.is_file():
        with listed.open(encoding="utf-8", errors="replace") as lines:
            names = [line.strip() for _, line in zip(range(MOST_LOGS), lines, strict=False)]
        for name in names:
            if name.endswith((".log", ".txt")):
                places = (within(around, name) for around in above(path, 5))
                found += [place for place in places if place is not None][:1]
    unique = {file.resolve(): file for file in found if file.is_file()}
    return tuple(sorted(unique.values()))[:MOST_LOGS]
