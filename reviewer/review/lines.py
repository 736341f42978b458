"""Labels, judgments, notes and costs as lines of JSON, each identified by the digest of its
content.

Lines are only ever added, so merging two stores is the union of their lines by uid.
"""

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from reviewer.suite.errors import ContractError, Problem, shown
from reviewer.suite.strict_json import canonical_bytes, sha256_hex
from reviewer.suite.value import learned

MAX_LINE = 256 * 1024
MAX_PROBLEMS = 100

_UTC = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)

Age = tuple[tuple[str, str], str]


@lru_cache(maxsize=1 << 14)
def instant(at: str) -> tuple[str, str]:
    """Return a time in a form that sorts. ValueError for text other than an RFC 3339 time in
    UTC."""
    match = _UTC.fullmatch(at)
    if match is None:
        raise ValueError("must be a time in UTC such as 2026-01-31T09:02:31Z")
    try:
        datetime.fromisoformat(match[1])
    except ValueError:
        raise ValueError("is no time of the calendar") from None
    return match[1], (match[2] or "").ljust(9, "0")


def is_instant(at: str) -> bool:
    """Return whether `at` is an RFC 3339 time in UTC."""
    try:
        instant(at)
    except ValueError:
        return False
    return True


class LineRecord(Protocol):
    """The members that a label, a judgment and a note have in common. A member `traces`, where
    there is one, is context and not part of the uid."""

    @property
    def uid(self) -> str: ...
    @property
    def at(self) -> str: ...


T = TypeVar("T", bound=LineRecord)


def age(one: LineRecord) -> Age:
    """Return a key that sorts by time, then by uid."""
    return instant(one.at), one.uid


class Lines(Generic[T]):
    """One kind of line: `noun` is its name in errors, `kind` its shape, `problems` the reasons
    against a line of the right shape, as (JSON path, reason)."""

    def __init__(
        self,
        noun: str,
        kind: type[T],
        problems: Callable[[T], Iterable[tuple[str, str]]],
    ) -> None:
        self._noun, self._problems = noun, problems
        self._kind: Any = kind  # a struct; a bound to two bases cannot be written
        learned(kind)
        self._traced = "traces" in getattr(kind, "__struct_fields__", ())

    def content(self, one: T) -> bytes:
        """Return the bytes whose digest is the uid: RFC 8785, all members but the uid and the
        context."""
        members = self._plain(one)
        bare = {name: value for name, value in members.items() if name not in ("uid", "traces")}
        return canonical_bytes(bare, self._noun)

    def uid_of(self, one: T) -> str:
        """Return the uid computed from the content, whatever uid the record has."""
        return sha256_hex(self.content(one))

    def seal(self, one: T) -> T:
        """Return the record with its uid, checked as a line of a file is.

        ContractError naming the member at fault.
        """
        bare = {**self._plain(one), "uid": None}
        return self.read(canonical_bytes(bare, self._noun), self._noun)

    def line(self, one: T) -> bytes:
        """Return one line of a file: RFC 8785 bytes and a newline."""
        return canonical_bytes(self._plain(one), self._noun) + b"\n"

    def file(self, many: Iterable[T]) -> bytes:
        """Return a whole file, by time: the same content gives the same bytes."""
        return b"".join(self.line(one) for one in self.merge(many, ()))

    def read_file(self, data: bytes, file: str = "") -> tuple[T, ...]:
        """Read a file of JSON lines, by time, each record once. Empty lines are skipped.

        A uid may be absent and is then computed. ContractError with every problem (the first
        hundred), each as `file:line`: unknown members with the nearest known word, wrong types,
        repeated members, NaN, contradictions, an item that does not match its messages, a uid that
        does not match the content. Nothing of such a file is returned.
        """
        name = file or f"{self._noun}s.jsonl"
        found: list[T] = []
        problems: list[Problem] = []
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                found.append(self.read(line, f"{name}:{number}"))
            except ContractError as error:
                problems += error.problems
        if len(problems) > MAX_PROBLEMS:
            more = f"and {len(problems) - MAX_PROBLEMS:,} further problems"
            problems[MAX_PROBLEMS:] = [Problem(name, "$", more)]
        if problems:
            raise ContractError.of(problems)
        return self.merge(found, ())

    def read(self, line: bytes, place: str) -> T:
        """Read one line; `place` is its name in errors, such as `labels.jsonl:7`.

        ContractError with every problem, as `read_file` has them.
        """
        # Imported here, so that lines that were read before need no pydantic.
        from reviewer.suite.border import read_shape

        raw = read_shape(line, place, self._kind, max_bytes=MAX_LINE)
        said = {name: value for name, value in raw.items() if name != "schema"}
        one: T = msgspec.convert({**said, "uid": said.get("uid") or ""}, self._kind)
        reasons = [*_time_problems(one.at), *self._problems(one)]
        problems = [Problem(place, where, why) for where, why in reasons]
        if problems:
            raise ContractError.of(problems)
        if one.uid and one.uid != self.uid_of(one):
            raise self._forged(one, place)
        return _with(one, uid=self.uid_of(one))

    def stored(self, body: bytes) -> T:
        """Read bytes that were read before (a line, with or without its newline): only types are
        checked. ContractError when they do not fit."""
        try:
            one: T = msgspec.json.decode(body, type=self._kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ContractError(f"stored {self._noun}", "$", str(error)) from None
        return one

    def merge(self, a: Iterable[T], b: Iterable[T]) -> tuple[T, ...]:
        """Merge two collections: each record once, by time and uid. Order and repetition do not
        matter.

        The traces of duplicates are merged. ContractError for a record whose uid does not match its
        content: merging by uid would let it replace another.
        """
        joined: dict[str, T] = {}
        traces: dict[str, set[str]] = {}
        for one in (*a, *b):
            if one.uid != self.uid_of(one):
                raise self._forged(one, self._noun)
            joined.setdefault(one.uid, one)
            traces.setdefault(one.uid, set()).update(getattr(one, "traces", ()))
        whole: Iterable[T] = joined.values()
        if self._traced:
            whole = (_with(one, traces=tuple(sorted(traces[uid]))) for uid, one in joined.items())
        return tuple(sorted(whole, key=age))

    def _forged(self, one: T, place: str) -> ContractError:
        reason = f"`{shown(one.uid)}` is not the uid of this content, which is {self.uid_of(one)}"
        why = f"{reason}; the {self._noun} was changed after it was made"
        return ContractError(place, "$.uid", why)

    def _plain(self, one: T) -> dict[str, Any]:
        return {"schema": f"reviewer/{self._noun}@1", **msgspec.to_builtins(one)}


def _time_problems(at: str) -> list[tuple[str, str]]:
    try:
        instant(at)
    except ValueError as error:
        return [("$.at", str(error))]
    return []


def _with(one: T, **changes: Any) -> T:
    changed: T = msgspec.structs.replace(one, **changes)  # type: ignore[type-var]
    return changed
