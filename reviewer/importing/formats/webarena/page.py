"""What is in a WebArena run's files: a render page, read as a stream (its task, its steps, how many
pictures it had), and what logs and error.txt say of each task.

The writer puts texts into `<pre>` without escaping them, so what is there is taken raw up to its
end tag. Pictures are 95 % of such a page and are dropped before the parser sees them.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from reviewer.importing.pipeline.opening import opened
from reviewer.importing.pipeline.split import Unreadable

# Pages --------------------------------------------------------------------------------------------

CHUNK = 1 << 16
MOST_TEXT = 1 << 20
MOST_PRE, MOST_TAG = 4 << 20, 1 << 17
"""Characters a text or a tag may take: the parser starts again on what it could not end."""
_PICTURE = re.compile(rb"data:image/[\w.+-]{1,40};base64,")
_BASE64 = re.compile(rb"[A-Za-z0-9+/=\r\n]*+")
_LONGEST = 64  # of what `_PICTURE` matches
_ESCAPED = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z]{2,8});")
_RAN = re.compile(r"ActionTypes\.([A-Z_]{1,40})")
_NOTHING = ("", "")
_FIELDS = {
    "url",
    "state_obv",
    "prev_action",
    "predict_action",
    "raw_parsed_prediction",
    "action_object",
    "parsed_action",
}


class Step(NamedTuple):
    """One step as the page shows it: where the agent was, what it saw, what it said, the action
    read out of that (of the playwright action set: its code), and what the harness answered to the
    action before."""

    url: str
    page: str
    said: str
    action: str
    code: str
    before: str
    ran: str = ""
    """The kind of action that the harness made of it (`NONE`), where the page says so."""
    more: str = ""
    """A field of the page that is not known, and holds a text."""


class Page(HTMLParser):
    """The parser; `task` is the text of the task's settings, `steps` those that are done."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.task = ""
        self.steps: list[Step] = []
        self.pictures = 0
        self.cut = False
        """Whether a text was too long to keep whole."""
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
            # Steps alone are distinguished by class; what is before them is the task's text.
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
    """Return the whole page. Raises Unreadable for what is no render page or cannot be held."""
    page = Page()
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    for block in without_pictures(handle):
        page.feed(decode(block))
        most = MOST_PRE if page.in_text else MOST_TAG
        if len(page.rawdata) > most:
            raise Unreadable(f"no render page: a tag or text of over {most >> 10} KiB")
    # Not closed: a file that is cut off would be searched for the end of every tag in its rest.
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
    """Return an action as the harness prints it (`type [164] [shoes] where [164] is …`) as a tool
    and its arguments. A text of another form is kept whole."""
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
    """Return (what these files say of a task, notes). Files in the order they were begun."""
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
    """Return tries by task id. A log belongs to every page of its run: it is read once for all of
    them."""
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
