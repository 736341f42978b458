"""OSWorld result folders: one `traj.jsonl` per attempt, its score in `result.txt` beside it.

The files do not say what ran, but the folders do:
`<actions>/<observation>/<model>/<domain>/<task>`. Observations are pictures outside the file; a
missing score is not a score of 0. A score without a trajectory is an attempt of which only the end
is known.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, amount, elapsed_ms
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import (
    Format,
    above,
    at_path,
    folder_names,
    present,
    slug,
    tell_rest,
)
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

OBSERVATIONS = ("screenshot", "a11y_tree", "screenshot_a11y_tree", "som")
DOMAINS = ("chrome", "gimp", "libreoffice_calc", "libreoffice_impress", "libreoffice_writer",
           "multi_apps", "os", "thunderbird", "vlc", "vs_code")  # fmt: skip
_WORDS = ("WAIT", "DONE", "FAIL")
_GUI = re.compile(r"\bpyautogui\.(?!FAILSAFE|PAUSE)[a-zA-Z]+\(")
_TIMEOUT = re.compile(r"(?i)time ?(?:limit|d? ?out)")
RESULT, TRAJECTORY = "result.txt", "traj.jsonl"
TOLERANCE = 1e-6
FAR = 12
HARMLESS = frozenset(
    # what the environment reports back: its own word, not an act
    ("info",)
)


class _FolderNames(NamedTuple):
    """Facts from the names of the folders; empty where they state none."""

    task: str
    domain: str
    model: str
    observation: str
    actions: str


class OsWorldReader(Format):
    name = "osworld"
    facts = FormatFacts(
        by="`step_num, action, action_timestamp`, a lone `Error` in traj.jsonl, or `result.txt`",
        steps="actions only",
        times="yes, zone unstated",
        verdict="`result.txt`",
        start_state="task file",
        beside="`result.txt`, `args.json`, the task file above",
    )

    def sniff(self, head: Head) -> bool:
        if head.path.name == RESULT:
            alone = not any(head.path.parent.glob(f"{TRAJECTORY}*"))
            return alone and bool(_named(head.path).observation) and _number(head.text) is not None
        first = head.first
        if not isinstance(first, dict):
            return False
        if head.has("step_num", "action", "action_timestamp"):
            return "reward" in first or "screenshot_file" in first
        return set(first) == {"Error"} and head.path.name.startswith(TRAJECTORY)

    def suite_id(self, path: Path) -> str:
        domain = _named(path).domain
        return f"osworld-{slug(domain)}" if domain else "osworld"

    def candidate_id(self, path: Path) -> str:
        named = _named(path)
        return " ".join(part for part in named[2:] if part) or "unnamed"

    def placed(self, path: Path) -> tuple[str, ...]:
        return folder_names(path, 5)

    def companions(self, path: Path) -> tuple[Path, ...]:
        found = (path.parent / RESULT, _settings(path), _task(path))
        return tuple(f for f in found if f is not None and f.is_file() and f != path)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        yield source.attempt(lambda: self._foreign(source), *folder_names(source.path, 1))

    def _foreign(self, source: Source) -> Foreign:
        named = _named(source.path)
        if not named.task:
            raise Rejected("missing:task_id (only the folder's name has it)")
        draft = Draft(self.name, answers=False)
        draft.note("OSWorld files name neither task nor model: both are taken from the folders")
        draft.note("OSWorld records no cost, no tokens and no text of what the agent saw")
        task = self._about(source, draft, named)
        request = task.get("instruction")
        if isinstance(request, str):
            draft.message("user", request)
        steps = _Steps(draft)
        alone = source.path.name == RESULT
        if alone:
            draft.unread(f"{TRAJECTORY} (no such file)")
        for piece in () if alone else source.pieces():
            steps.add(None if piece.problem else piece.raw, source, piece.number)
        verdict = _verdict(source, steps.error)
        return draft.foreign(
            episode_id=named.task,
            candidate_id=source.candidate or self.candidate_id(source.path),
            final_message=draft.last_words(),
            latency_ms=elapsed_ms(steps.first, steps.last),
            termination=None if alone else steps.termination(draft, draft.source.get("args")),
            verdict=verdict,
            title=f"{named.domain} {named.task}".strip(),
            user_request=request if isinstance(request, str) else "",
        )

    def _about(self, source: Source, draft: Draft, named: _FolderNames) -> dict[str, Any]:
        """Return the public part of the task: never its evaluator, which contains the answer."""
        draft.source["folders"] = named._asdict()
        settings = _settings(source.path)
        args = source.beside(settings) if settings else None
        if isinstance(args, dict):
            kept = ("model", "action_space", "observation_type", "max_steps", "temperature",
                    "top_p", "max_tokens", "max_trajectory_length")  # fmt: skip
            draft.source["args"] = {name: args[name] for name in kept if name in args}
        path = _task(source.path)
        task = source.beside(path) if path else None
        if not isinstance(task, dict):
            draft.note("the task's file was not found: its instruction is not known")
            return {}
        begun = {
            name: task[name] for name in ("snapshot", "config", "related_apps") if name in task
        }
        draft.source["initial_state"] = begun
        return task


class _Steps:
    """Writes the lines of a trajectory into a draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.first: Any = None
        self.last: Any = None
        self.error: str | None = None
        self.done: str | None = None
        self.steps = 0
        draft.source["gui_actions"] = 0

    def add(self, raw: bytes | None, source: Source, number: int) -> None:
        """Add one line; a line that cannot be read is noted, the others still count."""
        try:
            line = source.value(raw) if raw is not None else None
        except Rejected:
            line = None
        if not isinstance(line, dict):
            self.draft.error("a line of the trajectory could not be read")
            self.draft.note("lines of the trajectory could not be read: steps are missing")
            self.draft.unread(f"line {number}")
            return
        if "Error" in line:
            self.error = str(line["Error"])[:2000]
            self.draft.error(self.error)
        if "action" in line:
            self._step(line)
        elif "Error" not in line:
            self.draft.note("lines without an action were skipped")
            self.draft.unread(f"line {number}.action")
        tell_rest(line, self.draft, f"line {number}", HARMLESS, (line.get("action"),))

    def _step(self, line: dict[str, Any]) -> None:
        self.steps += 1
        stamp = line.get("action_timestamp")
        self.first = stamp if self.first is None else self.first
        self.last = stamp if stamp is not None else self.last
        said = line.get("response")
        if isinstance(said, str) and said.strip():
            self.draft.message("agent", said)
        tool, arguments = _call(line["action"])
        moves = len(_GUI.findall(arguments.get("code", ""))) if tool == "pyautogui" else 0
        self.draft.source["gui_actions"] += moves
        if moves > 1:
            self.draft.note("some steps hold several GUI actions in one call")
        self.draft.call(tool, arguments, at=stamp)
        if amount(line.get("reward")):
            self.draft.note("some lines state a reward: the score is that of result.txt alone")
        seen = {"screenshot": line.get("screenshot_file"), "info": line.get("info") or None}
        if kept := present(seen):
            self.draft.state(kept)
        if line.get("done") is True or tool in ("DONE", "FAIL"):
            self.done = tool if tool in ("DONE", "FAIL") else "done"

    def termination(self, draft: Draft, args: Any) -> str | None:
        if self.error is not None:
            return "timeout" if _TIMEOUT.search(self.error) else "error"
        if self.done is not None:
            draft.source["ended_by"] = self.done
            return "completed"
        most = at_path(args, "max_steps")
        if isinstance(most, int) and self.steps >= most > 0:
            return "max_steps"
        draft.note("ends without done and without an error: cut off, or at a limit nobody states")
        return None


def _call(action: Any) -> tuple[str, dict[str, Any]]:
    """Return an action as a tool and its arguments, in any of the action spaces."""
    if isinstance(action, str):
        word = action.strip()
        return (word, {}) if word in _WORDS else ("pyautogui", {"code": action})
    if isinstance(action, dict):
        for name in ("action_type", "name", "type"):
            if isinstance(action.get(name), str) and action[name]:
                rest = {key: value for key, value in action.items() if key != name}
                inner = rest.get("parameters")
                return action[name], inner if isinstance(inner, dict) and len(rest) == 1 else rest
    return "unnamed", {"action": action}


def _verdict(source: Source, error: str | None) -> SourceVerdict | None:
    text = source.text(source.path.parent / RESULT, 4096)
    score = None if text is None else _number(text)
    exception = error[:200] if error else None
    if score is None:
        # This note belongs to the file: a score that is written later does not make it another
        # attempt.
        source.notes.add(
            "no result.txt: not scored, which is not a score of 0"
            if text is None
            else "result.txt holds no score: not scored"
        )
        return SourceVerdict(exception=exception) if exception else None
    if score > 1 + TOLERANCE:
        source.notes.add("result.txt holds a score above 1, which no task gives: not scored")
        return SourceVerdict(reward=score, exception=exception)
    if 0 < score < 1 - TOLERANCE:
        source.notes.add("a partial score: kept, and counted as not passed")
    return SourceVerdict(passed=score >= 1 - TOLERANCE, reward=score, exception=exception)


def _number(text: str | bytes) -> float | None:
    try:
        return amount(float(text.strip()))
    except ValueError:
        return None


def _named(path: Path) -> _FolderNames:
    task, domain, model, observation, actions = folder_names(path, 5)
    if observation in OBSERVATIONS:
        return _FolderNames(task, domain, model, observation, actions)
    return _FolderNames(task, domain if domain in DOMAINS else "", "", "", "")


def _settings(path: Path) -> Path | None:
    """Return the path of args.json, which is in the model's folder; newer runs have one per
    task."""
    found = (folder / "args.json" for folder in above(path, 3))
    return next((file for file in found if file.is_file()), None)


def _task(path: Path) -> Path | None:
    """Return the task's own file, where the benchmark's folder is above the results."""
    named = _named(path)
    if not named.domain:
        return None
    inner = Path("examples", named.domain, f"{named.task}.json")
    for folder in above(path, FAR):
        for place in (folder / "evaluation_examples" / inner, folder / inner):
            try:
                if place.is_file():
                    return place
            except OSError:
                return None
    return None
