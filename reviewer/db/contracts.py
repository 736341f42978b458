"""The contracts of a suite, each in a row of its own: together, a hundred thousand of them are
fifty megabytes, and most queries need only one.

The suite's own body is kept without its episodes. Body and contracts together are, byte for byte,
the JSON of the whole suite, whose digest the journal holds.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from reviewer.suite.model import Category, Episode, Suite

_EPISODES = b'"episodes":['
"""Quotes inside JSON text are escaped, so this occurs only where the list begins."""


class Outline(NamedTuple):
    """The parts of a contract that have a column of their own; `tags` and `critical` are JSON."""

    episode_id: str
    title: str
    tags: str
    category: Category
    critical: str


class _OutlineFields(msgspec.Struct):
    """The fields of a contract that its outline needs."""

    episode_id: str
    title: str = ""
    tags: tuple[str, ...] = ()
    category: Category = "task"
    critical: tuple[str, ...] = ()


class _BriefTools(msgspec.Struct, frozen=True):
    approvals: tuple[Any, ...] = ()


class _BriefExpected(msgspec.Struct, frozen=True):
    message_reference: str | None = None
    message_contains: tuple[Any, ...] = ()


class _BriefFields(_OutlineFields):
    """The fields of a contract that a report needs."""

    tools: _BriefTools = _BriefTools()
    expected: _BriefExpected = _BriefExpected()


class _Whole(msgspec.Struct):
    episodes: list[msgspec.Raw]


_IN_ORDER = (
    "SELECT c.body FROM episode e JOIN contract c ON c.episode = e.id WHERE e.suite=?"
    " ORDER BY e.position"
)
_suite = msgspec.json.Decoder(Suite)
_episode = msgspec.json.Decoder(Episode)
_outline_fields = msgspec.json.Decoder(_OutlineFields)
_brief = msgspec.json.Decoder(_BriefFields)
_NO_STATE: dict[str, Any] = {}
"""Shared by all outlines: a hundred thousand empty dicts take 6 MB."""
_whole = msgspec.json.Decoder(_Whole)
_names = msgspec.json.Decoder(list[str])


def outline(episode: Episode | _OutlineFields) -> Outline:
    return Outline(
        episode.episode_id,
        episode.title,
        msgspec.json.encode(episode.tags).decode(),
        episode.category,
        msgspec.json.encode(episode.critical).decode(),
    )


def head_of(suite: Suite) -> bytes:
    """Return the suite's JSON without its episodes."""
    return msgspec.json.encode(msgspec.structs.replace(suite, episodes=()))


def put_episodes(
    connection: sqlite3.Connection, suite: int, first: int, episodes: Iterable[Episode]
) -> None:
    """Add episodes to a suite from position `first` on; existing ones are left unchanged."""
    connection.executemany(
        "INSERT INTO episode (suite, position, episode_id, title, tags, category, critical)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        ((suite, first + n, *outline(each)) for n, each in enumerate(episodes)),
    )


def put_contracts(connection: sqlite3.Connection, suite: int, episodes: Iterable[Episode]) -> None:
    """Store the contracts of episodes that are already in the store."""
    connection.executemany(
        "INSERT INTO contract (episode, body)"
        " SELECT id, ? FROM episode WHERE suite=? AND episode_id=?",
        ((msgspec.json.encode(each), suite, each.episode_id) for each in episodes),
    )


def head(connection: sqlite3.Connection, suite: int) -> Suite:
    """Return a suite without its episodes."""
    raw: bytes = connection.execute("SELECT body FROM suite WHERE id=?", (suite,)).fetchone()[0]
    start = raw.find(_EPISODES)
    if start < 0 or raw[start + len(_EPISODES) :].startswith(b"]"):
        return _suite.decode(raw)
    return msgspec.structs.replace(_suite.decode(raw), episodes=())


def episode(connection: sqlite3.Connection, key: int) -> Episode | None:
    """Return one contract by its episode's key; None for an episode that only a source named."""
    row = connection.execute("SELECT body FROM contract WHERE episode=?", (key,)).fetchone()
    return _episode.decode(row[0]) if row else None


def bodies(connection: sqlite3.Connection, suite: int) -> list[tuple[str, bytes]]:
    """Return (episode id, JSON) of every contract of a suite."""
    return connection.execute(
        "SELECT e.episode_id, c.body FROM episode e JOIN contract c ON c.episode = e.id"
        " WHERE e.suite=?",
        (suite,),
    ).fetchall()


def cost_cap(connection: sqlite3.Connection, suite: int) -> float | None:
    """Return the greatest `max_cost_usd` of a suite's episodes; None when one of them has none."""
    cost = "json_extract(CAST(c.body AS TEXT), '$.budget.max_cost_usd')"
    found = connection.execute(
        # LIMIT -1 makes SQLite read each contract once instead of once per figure.
        f"SELECT count(*), count(cost), max(cost) FROM (SELECT {cost} AS cost FROM episode e"
        " JOIN contract c ON c.episode = e.id WHERE e.suite=? LIMIT -1)",
        (suite,),
    ).fetchone()
    return float(found[2]) if found[0] and found[0] == found[1] else None


class _User(msgspec.Struct):
    kind: str = ""


class _Played(msgspec.Struct):
    user: _User | None = None


_played = msgspec.json.Decoder(_Played)


def by_person(connection: sqlite3.Connection, suite: int) -> dict[int, str]:
    """Return key → id of the episodes of a suite whose user a person plays."""
    rows = connection.execute(
        # The same text as the condition of a partial index, which holds only the few matching rows.
        "SELECT e.id, e.episode_id, c.body FROM contract c CROSS JOIN episode e ON e.id = c.episode"
        " WHERE e.suite=? AND instr(c.body, CAST('\"person\"' AS BLOB)) > 0 ORDER BY c.episode",
        (suite,),
    )
    users = ((key, name, _played.decode(body).user) for key, name, body in rows.fetchall())
    return {key: name for key, name, user in users if user and user.kind == "person"}


def outlines(connection: sqlite3.Connection, suite: int) -> tuple[Episode, ...]:
    """Return the episodes of a suite, in its order, with only the fields that have columns."""
    known: dict[str, tuple[str, ...]] = {}

    def names(raw: str) -> tuple[str, ...]:
        if raw not in known:
            known[raw] = tuple(_names.decode(raw))
        return known[raw]

    rows = connection.execute(
        # By key, in whose order the rows are stored: by suite SQLite would sort them.
        "SELECT episode_id, title, tags, category, critical FROM episode WHERE +suite=?1"
        " AND id >= (SELECT id FROM episode WHERE suite=?1 ORDER BY position LIMIT 1)"
        " AND id <= (SELECT id FROM episode WHERE suite=?1 ORDER BY position DESC LIMIT 1)"
        " ORDER BY id",
        (suite,),
    )
    return tuple(
        Episode(
            episode_id=name,
            title=title,
            initial_state=_NO_STATE,
            tags=names(tags),
            category=kind,
            critical=names(critical),
        )
        for name, title, tags, kind, critical in rows.fetchall()
    )


def whole(connection: sqlite3.Connection, suite: int) -> Suite:
    """Return a suite with every contract."""
    return _suite.decode(b"".join(_pieces(connection, suite)))


def digest(connection: sqlite3.Connection, suite: int) -> str:
    """Return the sha256 of the whole suite's JSON, hex."""
    found = hashlib.sha256()
    for piece in _pieces(connection, suite):
        found.update(piece)
    return found.hexdigest()


def digest_of(suite: Suite, episodes: Iterable[Episode]) -> str:
    """Return what `digest` returns for a stored suite, from the suite without its episodes and the
    episodes."""
    raw = head_of(suite)
    cut = raw.find(_EPISODES) + len(_EPISODES)
    found = hashlib.sha256(raw[:cut])
    for n, each in enumerate(episodes):
        found.update(b"," * bool(n) + msgspec.json.encode(each))
    found.update(raw[cut:])
    return found.hexdigest()


def proven(
    connection: sqlite3.Connection, suite: int, body: str, decode: Callable[[bytes], Episode]
) -> tuple[Episode, ...] | None:
    """Return the contracts of a suite in its order, each read by `decode` (`episode_of`, `brief`);
    None where the digest of the whole suite's JSON is not `body`."""
    raw: bytes = connection.execute("SELECT body FROM suite WHERE id=?", (suite,)).fetchone()[0]
    cut = raw.find(_EPISODES) + len(_EPISODES)
    found, episodes = hashlib.sha256(raw[:cut]), []
    rows = connection.execute(_IN_ORDER, (suite,))
    try:
        for n, (each,) in enumerate(rows):
            found.update(b"," + each if n else each)
            episodes.append(decode(each))
    except (msgspec.MsgspecError, TypeError):
        return None
    found.update(raw[cut:])
    return tuple(episodes) if found.hexdigest() == body else None


def episode_of(body: bytes) -> Episode:
    """Return a whole contract."""
    return _episode.decode(body)


def brief(body: bytes) -> Episode:
    """Return the part of a contract that a report may mention: its outline, or all of it where it
    asks for approvals or names a text that messages are compared with."""
    found = _brief.decode(body)
    said = found.expected
    if found.tools.approvals or said.message_contains or said.message_reference is not None:
        return _episode.decode(body)
    return Episode(
        episode_id=found.episode_id,
        title=found.title,
        initial_state=_NO_STATE,
        tags=_same(found.tags),
        category=found.category,
        critical=_same(found.critical),
    )


@lru_cache(4096)
def _same(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return one shared tuple for equal ones: the episodes of a large suite have few distinct
    values."""
    return names


def _pieces(connection: sqlite3.Connection, suite: int) -> Iterator[bytes]:
    """Yield the whole suite's JSON in pieces."""
    raw: bytes = connection.execute("SELECT body FROM suite WHERE id=?", (suite,)).fetchone()[0]
    cut = raw.find(_EPISODES) + len(_EPISODES)
    rows = connection.execute(_IN_ORDER, (suite,)).fetchall()
    if not rows:
        yield raw
        return
    yield raw[:cut]
    for n, (body,) in enumerate(rows):
        yield b"," + body if n else body
    yield raw[cut:]


def wrong_outlines(connection: sqlite3.Connection, suite: int) -> bool:
    """Return whether the columns differ from the contracts."""
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT e.episode_id, e.title, e.tags, e.category, e.critical, c.body FROM episode e"
        " LEFT JOIN contract c ON c.episode = e.id WHERE e.suite=?",
        (suite,),
    ).fetchall()
    return any(
        row[-1] is None or outline(_outline_fields.decode(row[-1])) != row[:-1] for row in rows
    )


def split_old(connection: sqlite3.Connection) -> None:
    """Fill the tables of `008_contracts.sql` for the suites already stored. A body that was changed
    is left as it is: the examination of the store reports it."""
    for suite, raw in connection.execute("SELECT id, body FROM suite").fetchall():
        try:
            bodies = [bytes(each) for each in _whole.decode(raw).episodes]
            told = [_outline_fields.decode(each) for each in bodies]
        except (msgspec.MsgspecError, TypeError):
            continue
        keys: dict[str, int] = dict(
            connection.execute("SELECT episode_id, id FROM episode WHERE suite=?", (suite,))
        )
        start = raw.find(_EPISODES) + len(_EPISODES)
        joined = b",".join(bodies)
        whole = raw[start : start + len(joined) + 1] == joined + b"]"
        if not bodies or not whole or any(each.episode_id not in keys for each in told):
            continue
        connection.executemany(
            "UPDATE episode SET category=?, critical=? WHERE id=?",
            ((*outline(each)[3:], keys[each.episode_id]) for each in told),
        )
        connection.executemany(
            "INSERT INTO contract (episode, body) VALUES (?, ?)",
            ((keys[each.episode_id], body) for each, body in zip(told, bodies, strict=True)),
        )
        head = raw[:start] + raw[start + len(joined) :]
        connection.execute("UPDATE suite SET body=? WHERE id=?", (head, suite))
