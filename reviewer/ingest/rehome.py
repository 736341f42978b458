"""Attempts known by their results alone, of which a later import knows whose they are.

What left no trajectory is an attempt of the same candidate as what did, and of the model that
other files of the run name. Imported together it is called so at once; imported before, when
nobody knew the name, it is given over here.
"""

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from reviewer.db import replaced
from reviewer.db.connection import transaction
from reviewer.db.intake import NewTrace, Pack, write_packs
from reviewer.ingest.files import Around, Context, steady
from reviewer.ingest.importer import new_trace
from reviewer.ingest.judge import Judge, Order
from reviewer.ingest.keys import Keys
from reviewer.ingest.outcome import Facts
from reviewer.ingest.reader import gives_results
from reviewer.ingest.readers import named
from reviewer.ingest.source import Source
from reviewer.ingest.stored import Result

WHY = "whose attempts they are came to be known later"


def rehome(context: Context, around: Around) -> int:
    """Give such attempts over in one durable write; returns how many."""
    joins, models = around.joins, around.joins.models()
    moves: list[Result] = []
    for one in around.stored.left(models) if models else ():
        said = joins.named(one.said)
        home = joins.candidate_of(said) or said.model
        if not one.said.candidate and home not in ("", one.candidate_id):
            moves.append(one._replace(said=said))
    if moves:
        with steady(), transaction(context.connection, context.store):
            _give_over(context, around, moves)
    return len(moves)


def _give_over(context: Context, around: Around, moves: Iterable[Result]) -> None:
    for source, some in _by_source(moves).items():
        swaps: dict[int, NewTrace] = {}
        packs: list[Pack] = []
        for move in some:
            judged = _judged(context, around, move)
            former = move.said.stored
            if judged is None or former is None:
                continue
            key, facts, own = judged
            swaps[former[0]] = new_trace(facts, key, _free(context, key), len(packs))
            packs += own
        first = write_packs(context.connection, packs)
        replaced.replace(context.connection, source, swaps, first, context.now(), WHY)


def _by_source(moves: Iterable[Result]) -> dict[int, list[Result]]:
    found: dict[int, list[Result]] = {}
    for move in moves:
        found.setdefault(move.source, []).append(move)
    return found


def _judged(
    context: Context, around: Around, one: Result
) -> tuple[tuple[int, int], Facts, list[Pack]] | None:
    """(keys, facts, packs) of the attempt under its new candidate."""
    reader = named(one.format)
    if not gives_results(reader):
        return None
    source = Source(Path(one.path), "", (), around.joins)
    judge = Judge(Order(context.suites, context.asked, reader.name, one.path))
    foreign = source.attempt(lambda: reader.attempt(source, one.instance_id, one.said))
    group = judge.gathered([(one.record, foreign)], one.record)
    if not group.facts:
        return None
    suites = judge.probe_suites or {suite.suite_id: suite for suite in context.suites}
    keys = Keys(context.connection, suites, context.manifests, context.now, nullcontext)
    keys.recall(group.facts)
    return keys.of(group.facts[0]), group.facts[0], group.packs


def _free(context: Context, key: tuple[int, int]) -> int:
    """The next attempt of a candidate at an episode."""
    (last,) = context.connection.execute(
        "SELECT coalesce(max(attempt), 0) FROM trace WHERE candidate=? AND episode=?", key
    ).fetchone()
    return int(last) + 1
