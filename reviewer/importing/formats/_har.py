"""HTTP archives as evidence: which requests a browser made, when, and how they were answered.

Cookies, headers, bodies and the values of parameters that carry secrets are never taken.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from reviewer.importing.draft import Draft, amount, elapsed_ms
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.walking import Part
from reviewer.trace.strictjson import Repeated

NETWORK = "network.har"
HARMLESS = frozenset(
    # what wrote the archive, and when pages were done: no request stands there
    (one,)
    for one in ("version", "creator", "browser", "pages", "comment")
)
MOST_SHOWN = 1000
MOST_URL = 2000
# What a page loads for its looks says nothing of what the agent did.
_LOOKS = re.compile(r"javascript|css|font|image/|video/|audio/|octet-stream|wasm")
_SECRET = re.compile(
    r"(?i)token|secret|passw|pwd|session|auth(?!or)|signature|credential|^code$|^sid$"
    r"|(?:^|api|[_.\-\[])key\]?$"
)


class Heard(NamedTuple):
    """How many requests of what kind there were, and the time from the first to the last."""

    summary: dict[str, Any]
    elapsed: float | None


class _Entry(NamedTuple):
    method: str
    url: str
    status: int
    mime: str
    at: str | None
    took: float | None

    @property
    def telling(self) -> bool:
        """Whether it fetched or sent something, or was not answered well."""
        return self.method != "GET" or not 200 <= self.status < 300 or not _LOOKS.search(self.mime)


def add(draft: Draft, parts: Iterable[Part]) -> Heard:
    """The archive's requests into a draft, in file order: those that fetch or send something as
    calls with their answers, all of them as counts. Raises Unreadable."""
    methods: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    first = last = None
    shown = 0
    for part in parts:
        inside = part.path[:2] == ("log", "entries") and len(part.path) == 3
        entry = _entry(part) if inside and not part.problem else None
        if entry is None:
            if inside or part.problem:
                draft.note("some entries of the HTTP archive could not be read")
            if part.problem or not (part.path[:1] == ("log",) and part.path[1:] in HARMLESS):
                draft.unread(f"{NETWORK}:{_where(part)}")
            continue
        methods[entry.method] += 1
        statuses[str(entry.status) if entry.status > 0 else "none"] += 1
        first, last = first or entry.at, entry.at or last
        if entry.telling and shown == MOST_SHOWN:
            draft.note(f"requests after the first {MOST_SHOWN} that tell something are counted")
            draft.unread(f"{NETWORK}:{_where(part)}")
        elif entry.telling:
            shown += 1
            _show(draft, entry)
    entries = methods.total()
    if shown < entries:
        draft.note("scripts, styles, fonts and pictures a page loaded are only counted")
    summary = {"entries": entries, "methods": dict(methods), "statuses": dict(statuses)}
    return Heard({**summary, "shown": shown}, elapsed_ms(first, last))


def _where(part: Part) -> str:
    return ".".join(str(step)[:40] for step in part.path)


def _entry(part: Part) -> _Entry | None:
    try:
        value: Any = parse(part.raw)
        asked, answered = value["request"], value["response"]
        if any(isinstance(one, Repeated) for one in (value, asked)):
            return None
        if not isinstance(asked["method"], str) or not isinstance(asked["url"], str):
            return None
        content, status = answered.get("content"), answered.get("status")
        at = value.get("startedDateTime")
        return _Entry(
            asked["method"][:20] or "GET",
            shown_url(asked["url"]),
            status if type(status) is int else -1,
            str(content.get("mimeType", "")).split(";")[0][:100]
            if isinstance(content, dict)
            else "",
            at if isinstance(at, str) else None,
            amount(value.get("time")),
        )
    except (NotJson, KeyError, TypeError, AttributeError, ValueError):
        return None


def _show(draft: Draft, entry: _Entry) -> None:
    draft.call(entry.method, {"url": entry.url}, actor="browser", at=entry.at)
    draft.result(
        {"status": entry.status if entry.status > 0 else None, "type": entry.mime},
        status="ok" if 100 <= entry.status < 400 else "error",
        latency_ms=entry.took,
    )


def shown_url(url: str) -> str:
    """An address without user names, passwords, secret parameters and its fragment. Raises
    ValueError for what is none."""
    split = urlsplit(url[:MOST_URL])
    if split.scheme not in ("http", "https", "ws", "wss", ""):
        return f"{split.scheme}:…"
    host = split.netloc.rpartition("@")[2]
    pairs = "&".join(_masked(pair) for pair in split.query.split("&"))
    return urlunsplit((split.scheme, host, split.path, pairs, ""))


def _masked(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}=…" if equals and _SECRET.search(name) else pair
