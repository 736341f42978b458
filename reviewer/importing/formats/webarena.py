"""WebArena result folders: one `render_<task id>.html` per attempt, settings and logs beside it.

A render page is read as a stream: its task, its steps, and the number of its pictures. The writer
puts texts into `<pre>` without escaping them, so their content is read raw up to the end tag.
Pictures are 95 % of such a page and are dropped before parsing. The page has no score, time, cost
or tokens; PASS and FAIL are only in the run's log. It also contains the task's answer key, which is
never read.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from reviewer.importing.draft import CUT, Draft, whole
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import Format, above, folder_names, within
from reviewer.importing.head import Head
from reviewer.importing.pipeline.opening import opened
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.trace.record import SourceVerdict

# Pages --------------------------------------------------------------------------------------------

CHUNK = 1 << 16
MOST_TEXT = 1 << 20
MOST_PRE, MOST_TAG = 4 << 20, 1 << 17
"""Most characters of a text or a tag: the parser rescans from the start of an unfinished one."""
_PICTURE = re.compile(rb"data:image/[\w.+-]{1,40};base64,")
_BASE64 = re.compile(rb"[A-Za-z0-9+/=\r\n]*+")
_LONGEST = 64  # of a match of `_PICTURE`
_ESCAPED = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z]{2,8});")
_RAN = re.compile(r"ActionTypes\.([A-Z_]{1,40})")
_NOTHING = ("", "")
_FIELDS = {
    "url", "state_obv", "prev_action", "predict_action", "raw_parsed_prediction", "action_object",
    "parsed_action",
}  # fmt: skip


class Step(NamedTuple):
    """One step as the page shows it: where the agent was, its observation, its reply, the action
    parsed from the reply (for the playwright action set: its code), and the harness's answer to the
    action before."""

    url: str
    page: str
    said: str
    action: str
    code: str
    before: str
    ran: str = ""
    """The kind of action that the harness parsed (`NONE`), where the page states it."""
    more: str = ""
    """An unknown field of the page with a text."""


class Page(HTMLParser):
    """The parser; `task` is the text of the task's settings, `steps` the completed steps."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.task = ""
        self.steps: list[Step] = []
        self.pictures = 0
        self.cut = False
        """Whether a text was too long to keep completely."""
        self.ended = False
        self._held: dict[str, str] | None = None
        self._field = ""
        self.in_text = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.pictures += 1
        elif tag == "h2":
            self._field = "h2"
        elif tag in ("div", "h3"):
            name = dict(attrs).get("class") or ""
            # Only steps are distinguished by class; the text before them is the task's.
            self._field = name if name in _FIELDS or (self._held is not None and name) else ""
        elif tag == "pre":
            self.in_text = True
            self.set_cdata_mode("pre")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.pictures += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self.in_text = False
        elif tag == "html":
            self.ended = True
        if tag in ("pre", "div", "h2", "h3"):
            self._field = ""

    def handle_data(self, data: str) -> None:
        if self._field == "h2" and data.strip() == "New Page":
            self.finish()
            self._held = {}
        elif self._held is None and self.in_text:
            self.task = self._longer(self.task, data)
        elif self._held is not None and self._field not in ("", "h2"):
            self._held[self._field] = self._longer(self._held.get(self._field, ""), data)

    def _longer(self, text: str, more: str) -> str:
        room = MOST_TEXT - len(text)
        self.cut = self.cut or len(more) > room
        return text + more[:room]

    def finish(self) -> None:
        """Close the open step."""
        held, self._held = self._held, None
        if held:
            escaped = "&lt;ActionTypes" in held.get("action_object", "")
            texts = {name: _plain(text) if escaped else text for name, text in held.items()}
            self.steps.append(
                Step(
                    texts.get("url", "").removeprefix("URL:").strip(),
                    texts.get("state_obv", ""),
                    texts.get("raw_parsed_prediction", "").strip(),
                    texts.get("parsed_action", "").strip(),
                    texts.get("predict_action", "").strip(),
                    texts.get("prev_action", "").strip(),
                    (_RAN.search(texts.get("action_object", "")) or _NOTHING)[1],
                    next((n for n, said in texts.items() if n not in _FIELDS and said.strip()), ""),
                )
            )


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: unescape(found.group()), text)


def read(handle: BinaryIO) -> Page:
    """Return the whole page. Raises Unreadable for a file that is not a render page or is too
    large."""
    page = Page()
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    for block in without_pictures(handle):
        page.feed(decode(block))
        most = MOST_PRE if page.in_text else MOST_TAG
        if len(page.rawdata) > most:
            raise Unreadable(f"no render page: a tag or text of over {most >> 10} KiB")
    # The parser is not closed: for a cut-off file it would search the rest for the end of every
    # tag.
    page.finish()
    return page


def without_pictures(handle: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a file without the content of its base64 pictures."""
    held, inside = b"", False
    while block := handle.read(CHUNK):
        buffer, at, kept = held + block, 0, []
        while True:
            if inside:
                at = _end(buffer, at)
                if at == len(buffer):
                    break
                inside = False
            found = _PICTURE.search(buffer, at)
            if found is None:
                break
            kept.append(buffer[at : found.end()])
            at, inside = found.end(), True
        keep = at if inside else max(at, len(buffer) - _LONGEST)
        kept.append(buffer[at:keep])
        held = buffer[keep:]
        yield b"".join(kept)
    yield held


def _end(buffer: bytes, at: int) -> int:
    found = _BASE64.match(buffer, at)
    return found.end() if found else at


_WHERE = re.compile(r"\A(.*?) where \[[^\]]{0,40}\] is (.*)\Z", re.DOTALL)
_TWO = re.compile(r"\A\[([^\[\]]{0,40})\] \[(.*)\]\Z", re.DOTALL)
_ONE = re.compile(r"\A\[(.*)\]\Z", re.DOTALL)
_VALUE = {"click": "element", "hover": "element", "type": "element", "clear": "element",
          "goto": "url", "stop": "answer", "scroll": "direction", "press": "keys",
          "tab_focus": "tab", "page_focus": "tab"}  # fmt: skip


def parsed(action: str) -> tuple[str, dict[str, Any]]:
    """Return an action in the form in which the harness prints it (`type [164] [shoes] where [164]
    is …`) as a tool and its arguments. A text of another form is returned whole."""
    word, _, rest = action.partition(" ")
    if not re.fullmatch(r"[a-z_]{1,40}", word):
        return "unparsed", {"action": action}
    arguments: dict[str, Any] = {}
    if word in ("click", "hover", "type") and (where := _WHERE.match(rest)):
        rest, arguments["is"] = where.group(1), where.group(2)
    if word == "type" and (two := _TWO.match(rest)):
        return word, {"element": two.group(1), "text": two.group(2), **arguments}
    if one := _ONE.match(rest.strip()):
        return word, {_VALUE.get(word, "value"): one.group(1), **arguments}
    return word, {"value": rest, **arguments} if rest else arguments


# Logs ---------------------------------------------------------------------------------------------

_CONFIG = re.compile(r"\[Config file\]: ?(.+)")
_RESULT = re.compile(r"\[Result\] \((PASS|FAIL)\) ?(.+)")
_ERROR = re.compile(r"\[(?:Unhandled|OpenAI) Error\] ?(.+)")
MOST_LINE = 1 << 16


class Tries(NamedTuple):
    """The last try at a task, and how many there were."""

    passed: bool | None = None
    exception: str | None = None
    tries: int = 0

    def then(self, later: "Tries") -> "Tries":
        """Return the state after later tries at the same task."""
        return later._replace(tries=self.tries + later.tries) if later.tries else self


def last_try(task_id: str, files: Iterable[Path]) -> tuple[Tries, tuple[str, ...]]:
    """Return (the result of a task in these files, notes). Files in the order in which they were
    begun."""
    told, notes = Tries(), []
    for path in files:
        try:
            state = path.stat()
            said = _said(path, state.st_mtime_ns, state.st_size)
        except (OSError, Unreadable):
            notes.append(f"{path.name} could not be read")
            continue
        told = told.then(said.get(task_id, Tries()))
    return told, tuple(notes)


@lru_cache(maxsize=32)
def _said(path: Path, changed: int, size: int) -> dict[str, Tries]:
    """Return tries by task id. A log belongs to every page of its run, so it is read once for all
    of them."""
    found: dict[str, Tries] = {}
    task = ""
    with opened(path) as handle:
        while raw := handle.readline(MOST_LINE):
            if b"[" not in raw:
                continue
            line = raw.decode("utf-8", "replace")
            if config := _CONFIG.search(line):
                task = _task_of(config.group(1))
                found[task] = Tries(tries=found.get(task, Tries()).tries + 1)
            elif result := _RESULT.search(line):
                task = _task_of(result.group(2))
                before = found.get(task, Tries(tries=1))
                found[task] = before._replace(passed=result.group(1) == "PASS")
            elif task and (error := _ERROR.search(line)):
                found[task] = found[task]._replace(exception=error.group(1).strip()[:200])
    return found


def _task_of(path: str) -> str:
    return PurePosixPath(path.strip().replace("\\", "/")).stem


# The reader ---------------------------------------------------------------------------------------

# The only members of a task that are read; `eval` and `reference_action_sequence` reveal answers.
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
    facts = FormatFacts(
        by="HTML with `task_id:` and `intent:` lines",
        steps="yes; the next page is the result",
        tools="word of the action",
        verdict="the log's `[Result]`",
        start_state="first page",
        beside="`config.json`, `error.txt`, the logs named",
    )

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
            draft.unread(f"end of the page{CUT}")
        verdict, error = self._verdict_of(source, task_id)
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

    def _verdict_of(self, source: Source, task_id: str) -> tuple[SourceVerdict | None, str | None]:
        """Return (the verdict in logs and error.txt on this task, the exception of its last
        try)."""
        logs = [file for file in source.companions if file.name not in _BESIDE]
        told, notes = last_try(task_id, logs)
        # These notes belong to the file: later statements about a page do not make it another
        # attempt.
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
    """Return the settings that are read from `key: value` lines; a value extends to the next
    key."""
    marks = list(_MEMBER.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    found: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=True):
        if mark.group(1) in TAKEN:
            found.setdefault(mark.group(1), text[mark.end() : end].strip())
    return found


class _Events:
    """Writes the steps of a page into a draft; afterwards it has the agent's answer and the end."""

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
        self.draft.note("stopped by the harness: the text in place of the answer is its reason")
        self.draft.source["early_stop"] = answer[:200]
        self.termination = early


def _doubtful(step: Step) -> bool:
    """Return whether a reply may be an act that was not read: its action has an unknown form, or
    there is none and the harness does not say that it ran none (its action object is then NONE)."""
    word = parsed(step.action)[0] if step.action else "none"
    if word == "none":
        return step.ran != "NONE" and bool(step.said or step.action) and not step.code
    return word == "unparsed"


def _logs(path: Path) -> tuple[Path, ...]:
    """Return the run's logs: those that log_files.txt names, relative to where the run was started,
    and those in or beside the folder."""
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
