"""Names of tools as they are compared: one tool in two spellings is one tool.

A name that a contract lists is what it lists. Any other is compared with the listed ones by what is
left of it without case, separators, invisible characters and look-alikes (the skeleton of UTS #39),
whole and without its namespaces (`functions.pay`, `mcp__shop__pay`).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache
from typing import Final, NamedTuple

from reviewer.suite.errors import shown
from reviewer.suite.model import Episode, Suite
from reviewer.trace import late
from reviewer.trace.record import is_user

LONGEST = 512
"""Characters of a name that are compared; a record has no longer ones."""

_MEMO = 4096
_MARKS = late("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_CONTROLS = late(r"[\x00-\x08\x0e-\x1f\x7f]")
# Remnants of harnesses and models behind a name: a channel marker, an argument list, a NUL's rest.
_BEHIND = late(r"<\||[\x00({\[]")
_ESCAPED = late(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|%([0-7][0-9a-fA-F])")
_PARTING = late(r"_{2,}|[^\w-]+")
_JOINED_BY_ONE = late(r"mcp[_-](?!_)(.+)")
_SERVER_BEHIND = late(r"(.+?)_mcp_.+")
_ANSI = late(r"\x1b\[[0-?]*[ -/]*[@-~]")
_CALLING = late(
    r"v?[0-9]+(?:_[0-9]+)*|a?invoke|execute|_?run|call|forward|tool|func(?:tion)?", re.IGNORECASE
)
"""Ends of a name that say which version is called, or how."""
_TOKENS = late(r"[\s_.:/-]+|(?<=[a-z0-9])(?=[A-Z])")
_SWAPPED = str.maketrans({"5": "s", "$": "s", "3": "e", "4": "a", "@": "a", "7": "t"})
"""Digits and signs that are written for letters and look only a little like them."""
_WRAPPERS = frozenset(
    {"api", "defaultapi", "function", "functions", "mcp", "multitooluse", "tool", "tools"}
)
"""Namespaces of harnesses: they say how a tool is called and nothing of which one it is."""

# Of ASCII letters and digits these look alike (UTS #39), whatever their case.
_ALIKE: Final = str.maketrans({"1": "l", "i": "l", "0": "o", "m": "rn"})


class Spelling(NamedTuple):
    """The keys by which a name is compared: of it `whole`, of what is left without its first
    namespaces (`tails`), and of its `last` part. All empty when nothing in it can be compared.
    `perhaps` are keys of what it may be when a single `_` parts a namespace, or when a version, a
    word of calling or swapped digits are left away."""

    whole: frozenset[str]
    tails: frozenset[str]
    last: frozenset[str]
    perhaps: frozenset[str] = frozenset()


class Kin(NamedTuple):
    """The listed names that a name is a spelling of, and those that it may be: they end alike under
    another namespace, or differ by what may be one, a version or digits. `nameless` when nothing in
    it can be compared."""

    same: frozenset[str] = frozenset()
    like: frozenset[str] = frozenset()
    nameless: bool = False


NO_KIN = Kin()


@lru_cache(_MEMO)
def spelling(name: str) -> Spelling:
    """Return the keys of a name."""
    whole: set[str] = set()
    tails: set[str] = set()
    last: set[str] = set()
    perhaps = {_key(look_alike(text)) for text in _perhaps(name[:LONGEST])}
    for text in _readings(name[:LONGEST]):
        parts = [part for part in _PARTING.split(text) if _key(part)]
        while len(parts) > 1 and parts[-1].isdecimal():  # the number of a call: functions.pay:0
            parts.pop()
        while len(parts) > 1 and _plain(parts[0]) in _WRAPPERS:
            whole.add(_key("".join(parts)))
            del parts[0]
        if not parts:
            continue
        whole.update((_key("".join(parts)), _key(text), _key(text.replace("|", "l"))))
        tails.update(_key("".join(parts[start:])) for start in range(1, len(parts)))
        last.add(_key(parts[-1]))
        for rest in _rests(text, parts[-1]):
            tails.add(_key(rest))
            last.add(_key(rest))
    found = (frozenset(some - {""}) for some in (whole, tails, last, perhaps))
    return Spelling(*found)


def bare(name: str) -> str:
    """Return a name without case, separators, invisible characters and look-alikes; not for
    reading."""
    return _key(look_alike(name[:LONGEST]))


@lru_cache(64)
def tool_names(listed: frozenset[str]) -> "ToolNames":
    """Return the names that contracts list: episodes of a suite list the same ones as a rule, and
    what others are to them is worked out once."""
    return ToolNames(listed)


class ToolNames:
    """The names that a contract lists, and what any other name is to them. Picklable."""

    __slots__ = ("_ends", "_kin", "_strangers", "_tails", "_wholes", "listed")

    def __init__(self, listed: Iterable[str]) -> None:
        self.listed = frozenset(listed)
        self._kin: dict[str, Kin] = {}
        self._strangers = set(self.listed)  # names met that have no kin, the listed among them
        self._wholes: dict[str, set[str]] | None = None
        self._tails: dict[str, set[str]] = {}
        self._ends: dict[str, set[str]] = {}

    def __reduce__(self) -> tuple[type["ToolNames"], tuple[frozenset[str]]]:
        return ToolNames, (self.listed,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolNames) and other.listed == self.listed

    def __hash__(self) -> int:
        return hash(self.listed)

    def akin(self, names: Set[str]) -> dict[str, Kin]:
        """Return those of `names` that are not listed and have kin, or can be compared with
        none."""
        found = {}
        for name in names - self._strangers:
            kin = self.kin(name)
            if kin != NO_KIN:
                found[name] = kin
            elif len(self._strangers) < _MEMO:
                self._strangers.add(name)
        return found

    def kin(self, name: str) -> Kin:
        """Return what an unlisted name is to the listed ones. A listed one has no kin."""
        if name in self.listed:
            return NO_KIN
        found = self._kin.get(name)
        if found is None:
            if len(self._kin) >= _MEMO:
                self._kin.clear()
            found = self._kin[name] = self._compared(spelling(name))
        return found

    def _compared(self, asked: Spelling) -> Kin:
        if not asked.whole:
            return Kin(nameless=True)
        if self._wholes is None:
            self._wholes = {}
            for name in self.listed:
                keys = spelling(name)
                indexes = (self._wholes, self._tails, self._ends)
                for index, some in zip(indexes, keys[:3], strict=True):
                    for key in some:
                        index.setdefault(key, set()).add(name)
        same: set[str] = set()
        for key in asked.whole | asked.tails:
            same |= self._wholes.get(key, set())
        for key in asked.whole:
            same |= self._tails.get(key, set())
        like: set[str] = set()
        for key in asked.last:
            like |= self._ends.get(key, set())
        for key in asked.perhaps:
            like |= self._wholes.get(key, set())
        return Kin(frozenset(same), frozenset(like - same))


def _readings(name: str) -> Iterable[str]:
    """Return a name as it may be meant: as it is written, with its escapes read, without what a
    harness left behind it, and in the other direction where it turns the writing around."""
    readings = {name}
    if "&" in name or "%" in name or "\\" in name:
        readings.add(_unescaped(name))
    readings |= {_ANSI.sub("", text) for text in readings if "\x1b" in text}
    readings |= {cut for text in readings if (cut := _BEHIND.split(text, maxsplit=1)[0])}
    readings |= {text[::-1] for text in readings if "\u202e" in text or "\u202d" in text}
    return {look_alike(text) for text in readings}


def _unescaped(name: str) -> str:
    from html import unescape

    def character(match: re.Match[str]) -> str:
        return chr(int(match[1] or match[2] or match[3], 16))

    return _ESCAPED.sub(character, unescape(name))


def look_alike(text: str) -> str:
    """Return a name without case, invisible characters and look-alikes; its separators stay."""
    if text.isascii():
        return _CONTROLS.sub("", text).casefold()
    from disarm import skeleton_key  # 60 ms, and names are ASCII as a rule

    plain = text.encode("utf-8", "replace").decode()  # half of a surrogate pair is no character
    folded = str(skeleton_key(plain)).casefold()
    return _MARKS.sub("", unicodedata.normalize("NFD", folded))


def _rests(text: str, end: str) -> Iterable[str]:
    """Return what is left behind a namespace that a single `_` or `-` parts from the name."""
    if match := _JOINED_BY_ONE.fullmatch(text):  # mcp_shop_issue_refund
        pieces = re.split("[_-]", match[1])
        yield from ("".join(pieces[start:]) for start in range(1, len(pieces)))
    if match := _SERVER_BEHIND.fullmatch(text):  # issue_refund_mcp_shop
        yield match[1]
    if "-" in end and "_" in end:  # shop-issue_refund
        pieces = end.split("-")
        yield from ("".join(pieces[start:]) for start in range(1, len(pieces)))


def _perhaps(name: str) -> Iterable[str]:
    """Return what a name may be besides: without a server before a single `_` (of what is left at
    least two words), without a version or a word of calling behind it, with letters for digits."""
    parts = [part for part in _PARTING.split(name) if part]
    while len(parts) > 1 and _CALLING.fullmatch(parts[-1]):
        parts.pop()
        yield parts[-1]
    words = [word for word in _TOKENS.split(name) if word]
    if len(words) > 1 and words[-1].casefold() in ("tool", "func", "function"):
        yield "".join(words[:-1])
    for start in range(1, min(len(words) - 1, _MOST_WORDS)):
        yield "".join(words[start:])
    if (swapped := name.translate(_SWAPPED)) != name:
        yield swapped


_MOST_WORDS = 16


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _key(text: str) -> str:
    if text.isascii():
        return _plain(text).translate(_ALIKE)
    kept = (c for c in text if c.isalnum() or unicodedata.category(c)[0] == "M")
    return "".join(kept).translate(_ALIKE)


# Names of a source's tools that an import maps to tools of the suite.


class ToolMap(NamedTuple):
    """`names` are (theirs, ours); `digest` is the sha256 of the file that says so."""

    digest: str = ""
    names: tuple[tuple[str, str], ...] = ()


NO_MAP = ToolMap()


def listed_tools(episode: Episode) -> Iterator[str]:
    """Yield every tool that an episode's contract names, some more than once."""
    tools, expected = episode.tools, episode.expected
    for some in (tools.allowed or (), tools.required, tools.forbidden, tools.approvals):
        yield from some
    for write in episode.writes:
        yield write.tool
        yield from write.verified_by
    yield from expected.arguments
    yield from (step.tool for step in expected.trajectory)


def spelled_alike(name: str, others: Iterable[str]) -> str | None:
    """Return the first of these names that is this one, or a spelling of it; None without one."""
    listed = frozenset(others)
    if name in listed:
        return name
    return min(tool_names(listed).kin(name).same, default=None)


def map_problems(suite: Suite, names: tuple[tuple[str, str], ...]) -> list[str]:
    """Return why a suite cannot be filled under these names: what no episode allows gets no other
    name, and no name of another tool becomes an allowed one."""
    allowed: set[str] = set()
    forbidden: set[str] = set()
    everything: set[str] = set()
    for episode in suite.episodes:
        here = set(listed_tools(episode))
        everything |= here
        forbidden |= set(episode.tools.forbidden)
        allowed |= here.difference(episode.tools.forbidden)
    compared = ToolNames(everything)
    found = []
    for theirs, ours in names:
        kin = compared.kin(theirs)
        if ours not in allowed:
            why = "is forbidden" if ours in forbidden else "is not a tool that an episode allows"
            found.append(f"{shown(theirs)}: `{shown(ours)}` {why}")
        elif theirs in everything:
            found.append(
                f"{shown(theirs)}: an episode lists this name, so it cannot mean another tool"
            )
        elif ours not in kin.same | kin.like:
            found.append(f"{shown(theirs)}: is not a spelling of `{shown(ours)}`")
        elif other := sorted((kin.same & forbidden) - {ours}):
            found.append(
                f"{shown(theirs)}: is a spelling of `{shown(other[0])}`, which is forbidden"
            )
    return found


# Names that can never approve a call: the agent's own, whatever it calls itself.


_SELF = frozenset(
    map(bare, ("ai", "bot", "model", "self", "me", "copilot", "chatbot", "worker", "tool"))
)
_WITHIN = tuple(map(bare, ("agent", "assistant", "llm", "simulat", "usersim", "language model")))


@lru_cache(1024)
def is_agent(actor: str) -> bool:
    """Return whether that name is an agent's, a sub-agent's or a simulated user's, in any
    spelling."""
    return is_self(actor) or any(word in bare(actor) for word in _WITHIN)


@lru_cache(1024)
def is_self(actor: str) -> bool:
    """Return whether that name means no more than agent, model or user, so that it identifies no
    one."""
    plain = bare(actor)
    return not plain or plain in _SELF or plain in _WITHIN or plain in _OF_AGENTS or is_user(actor)


_OF_AGENTS = frozenset(
    map(bare, ("subagent", "aiagent", "aiassistant", "user", "simulated user", "user simulator"))
)
