"""Candidates, suites, episodes and attempts that a person can open by a part of the name."""

from collections.abc import Iterator
from typing import Literal

from reviewer.db.connection import Connection
from reviewer.db.queries.finding import AttemptPlace, attempts_named, episodes_named
from reviewer.db.queries.releases import newest_releases, releases
from reviewer.desk.workspace.views import FoundPlace

MOST = 8
"""Most places of a kind that are offered."""


def places(connection: Connection, suites: list[str], text: str) -> list[FoundPlace]:
    """Return the places whose name contains the words of a text in order."""
    return [place for kind in _kinds(connection, suites, text) for place in kind[:MOST]]


def _kinds(connection: Connection, suites: list[str], text: str) -> Iterator[list[FoundPlace]]:
    words = text.casefold().split()

    def named(name: str) -> bool:
        at = 0
        for word in words:
            at = name.casefold().find(word, at)
            if at < 0:
                return False
            at += len(word)
        return True

    every = dict.fromkeys(
        (one.suite_id, one.candidate_id)
        for one in (*newest_releases(connection), *releases(connection))
    )
    yield [
        FoundPlace("candidate", candidate, f"on {suite}", suite, candidate)
        for suite, candidate in every
        if named(candidate)
    ]
    newest: dict[str, str] = {}
    for suite, candidate in every:
        newest.setdefault(suite, candidate)
    yield [
        FoundPlace("suite", suite, newest.get(suite, "no traces yet"), suite, newest.get(suite, ""))
        for suite in suites
        if named(suite)
    ]
    yield [
        FoundPlace(
            "episode", one.episode_id, f"of {one.suite_id}", one.suite_id,
            newest.get(one.suite_id, ""), one.episode_id,
        )
        for one in episodes_named(connection, text, MOST)
    ]  # fmt: skip
    episode, number = _attempt_of(text)
    yield [
        FoundPlace(
            "trace", f"{one.episode_id} attempt {one.attempt}",
            f"of {one.candidate_id} on {one.suite_id}", one.suite_id, one.candidate_id,
            one.episode_id, f"{one.suite_id}/{one.candidate_id}/{one.episode_id}/{one.attempt}",
            _mark(one),
        )
        for one in attempts_named(connection, episode, MOST, MOST if number is None else 20 * MOST)
        if number in (None, one.attempt)
    ]  # fmt: skip


def _mark(one: AttemptPlace) -> Literal["pass", "fail", "critical", "not_measured"]:
    if one.critical:
        return "critical"
    return "not_measured" if one.passed is None else "pass" if one.passed else "fail"


def _attempt_of(text: str) -> tuple[str, int | None]:
    """Return the part of a text that is the name of an episode, and the number of an attempt at its
    end."""
    words = [word for word in text.split() if word.casefold() not in ("attempt", "trace")]
    if len(words) > 1 and words[-1].isdecimal():
        return " ".join(words[:-1]), int(words[-1])
    return " ".join(words), None
