"""YAML that people write in drafts, turned into JSON text with one meaning, or refused.

A library gives the events alone; which value a scalar is, is decided here and by JSON's rule: only
`null`, `true`, `false` and JSON numbers are no text. What readers of YAML take for several values
(`no`, `017`, `1_000`, `1:30`, `~`, dates) is refused with its place, and so is all that JSON does
not have: anchors, aliases, merge keys, tags, directives, several documents, keys that are no text.
The result is read by the strict JSON reader like any other file.
"""

import json
import re
from contextlib import suppress
from typing import Any, NoReturn

from reviewer.suite.errors import ContractError, shown
from reviewer.suite.strict_json import loads
from reviewer.trace.strictjson import MAX_DEPTH

MAX_BYTES = 256 * 1024
"""The parser is written in Python: larger contracts are written as JSON."""

_NOT_TEXT = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""Control characters, line breaks that only YAML knows, byte order marks, surrogates."""
_DIRECTIVE = re.compile("^%", re.MULTILINE)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS = frozenset({"null", "true", "false"})
_WORDS = frozenset(
    {
        *("null", "true", "false", "yes", "no", "on", "off", "y", "n", "~", "=", "<<"),
        *(".inf", "-.inf", "+.inf", ".nan", "inf", "nan", "infinity"),
    }
)
_LIKE_NUMBER = re.compile(r"[-+.]*[0-9][0-9A-Za-z_.,:/+-]*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?")


def as_json(data: bytes, file: str, *, described: bool = False) -> bytes:
    """Return the JSON text of one YAML document; one that is JSON already is returned as it is. A
    document in which others `described` something, such as OpenAPI, keeps to YAML 1.2: what is no
    JSON value is text, also as a key. Raises ContractError, and nothing else, with line and
    column."""
    if len(data) > MAX_BYTES:
        told = f"{len(data):,} bytes; of YAML at most {MAX_BYTES:,} are read: write it as JSON"
        raise ContractError(file, "$", told)
    with suppress(ContractError):
        loads(data, file)
        return data
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContractError(file, "$", f"not UTF-8: byte {error.start} is invalid") from None
    if (found := _NOT_TEXT.search(text)) is not None:
        told = f"U+{ord(found.group()):04X} is not read in YAML: write it as an escape, in quotes"
        raise ContractError(file, "$", f"{_place(text, found.start())}: {told}")
    if (found := _DIRECTIVE.search(text)) is not None:
        told = f"{_place(text, found.start())}: a directive: leave it out"
        raise ContractError(file, "$", told)
    try:
        import yaml
    except ImportError:
        told = "YAML is read with PyYAML: pip install 'release-reviewer[yaml]', or write it as JSON"
        raise ContractError(file, "$", told) from None
    try:
        return _Writer(file, described).written(yaml.parse(text, Loader=yaml.SafeLoader)).encode()
    except ContractError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = "" if mark is None else f"line {mark.line + 1} column {mark.column + 1}: "
        told = f"{at}not YAML: {shown(error.problem or error.context or 'cannot be read')}"
        raise ContractError(file, "$", told) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise ContractError(file, "$", f"not YAML: {shown(str(error))}") from None


def _place(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1} column {at - text.rfind(chr(10), 0, at)}"


class _Open:
    """A list or an object that is being written: its members so far, and the names among them."""

    def __init__(self, listed: bool) -> None:
        self.listed = listed
        self.parts: list[str] = []
        self.names: set[str] = set()
        self.name: str | None = None

    def add(self, text: str) -> None:
        self.parts.append(text if self.listed else f"{self.name}:{text}")
        self.name = None

    def closed(self) -> str:
        inside = ",".join(self.parts)
        return f"[{inside}]" if self.listed else f"{{{inside}}}"


class _Writer:
    """Writes JSON text from the events of a document."""

    def __init__(self, file: str, described: bool = False) -> None:
        self._file, self._described = file, described
        self._open: list[_Open] = []
        self._whole: str | None = None
        self._documents = 0

    def written(self, events: Any) -> str:
        import yaml

        for event in events:
            match event:
                case yaml.DocumentStartEvent():
                    self._document(event)
                case yaml.AliasEvent():
                    self._refuse(event.start_mark, "an alias: write the value again")
                case yaml.ScalarEvent():
                    self._scalar(event)
                case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                    self._begin(event, isinstance(event, yaml.SequenceStartEvent))
                case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                    self._add(self._open.pop().closed())
        if self._whole is None:
            raise ContractError(self._file, "$", "is empty")
        return self._whole

    def _refuse(self, mark: Any, told: str) -> NoReturn:
        at = f"line {mark.line + 1} column {mark.column + 1}"
        raise ContractError(self._file, "$", f"{at}: {told}")

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            self._refuse(event.start_mark, "a second document: a file must contain only one")

    def _begin(self, event: Any, listed: bool) -> None:
        self._plain_node(event)
        if self._open and not self._open[-1].listed and self._open[-1].name is None:
            self._refuse(event.start_mark, "a key that is not text")
        if len(self._open) >= MAX_DEPTH:
            self._refuse(event.start_mark, f"nested deeper than {MAX_DEPTH} levels")
        self._open.append(_Open(listed))

    def _plain_node(self, event: Any) -> None:
        if event.anchor is not None:
            self._refuse(event.start_mark, "an anchor: write the value where it is needed")
        if event.tag is not None:
            self._refuse(event.start_mark, "a tag: JSON has none")

    def _scalar(self, event: Any) -> None:
        self._plain_node(event)
        start, end, value = event.start_mark, event.end_mark, event.value
        one_line = start.line == end.line or self._described
        if event.style in ("", None, "'", '"') and not one_line:
            self._refuse(start, "text over several lines: write it as a block, after | or >")
        text = json.dumps(value)
        if event.style in ("", None) and (own := self._typed(start, value)) is not None:
            text = own
        inside = self._open[-1] if self._open else None
        if inside is None or inside.listed or inside.name is not None:
            self._add(text)
            return
        text = json.dumps(value) if self._described else text
        if not text.startswith('"'):
            self._refuse(start, f"the key `{shown(value)}` is not text: quote it")
        if text in inside.names:
            self._refuse(start, f"member `{shown(value)}` twice")
        inside.names.add(text)
        inside.name = text

    def _typed(self, mark: Any, value: str) -> str | None:
        """Return the JSON of a plain scalar that is no text; None for text."""
        if value in _LITERALS or _NUMBER.fullmatch(value):
            return value
        if self._described:
            return "null" if value in ("", "~") else None
        if not value:
            self._refuse(mark, "no value: write null, or quote an empty text")
        if "\t" in value:
            self._refuse(mark, "a tab in plain text: quote it")
        if value.casefold() in _WORDS or _LIKE_NUMBER.fullmatch(value) or _DATE.fullmatch(value):
            self._refuse(mark, f"`{shown(value)}` is read as different values: quote it")
        return None

    def _add(self, text: str) -> None:
        if self._open:
            self._open[-1].add(text)
        else:
            self._whole = text
