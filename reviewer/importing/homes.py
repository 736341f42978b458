"""Results imported before anybody knew whose attempts they are.

What left no trajectory is an attempt of the same candidate as what did, and of the model that
other files of the run name. Imported together it is called so at once. Imported before, it stays
under the name that it had, for evidence is never moved, and is bound to its candidate as well: a
failure counts in both, a pass in the second alone.
"""

from contextlib import nullcontext
from pathlib import Path

from reviewer.db import shared
from reviewer.db.connection import transaction
from reviewer.importing.files import Around, Context, steady
from reviewer.importing.formats import named
from reviewer.importing.importer import Batcher, Tally
from reviewer.importing.judge import Judge, Order
from reviewer.importing.keys import Keys
from reviewer.importing.outcome import Group
from reviewer.importing.reader import gives_results
from reviewer.importing.source import Source
from reviewer.importing.stored import Result


def bind(context: Context, around: Around) -> int:
    """Bind such attempts to their candidates in one durable write; returns how many."""
    joins, models = around.joins, around.joins.models()
    found: list[Result] = []
    for one in around.stored.left(models) if models else ():
        said = joins.named(one.said)
        home = joins.candidate_of(said) or said.model
        if not one.said.candidate and home not in ("", one.candidate_id):
            found.append(one._replace(said=said))
    if found:
        with steady(), transaction(context.connection, context.store):
            return sum(_bound(context, around, one) for one in found)
    return 0


def _bound(context: Context, around: Around, one: Result) -> bool:
    reader = named(one.format)
    if not gives_results(reader):
        return False
    source = Source(Path(one.path), "", (), around.joins)
    judge = Judge(Order(context.suites, context.asked, reader.name, one.path))
    fresh = one.said._replace(stored=None)
    foreign = source.attempt(lambda: reader.attempt(source, one.instance_id, fresh))
    group = judge.gathered([(one.record, foreign)], one.record)
    if not group.facts or one.said.stored is None:
        return False
    there = _there(context, judge, group)
    if there is not None:
        _note(context, one.said.stored[0], there)
        return False
    suites = judge.probe_suites or {suite.suite_id: suite for suite in context.suites}
    batcher = Batcher(
        context.connection, context.store, one.source, Tally(0, 0, 0, 0), suites,
        context.manifests, context.now, share_evidence=True, number_on=True, begin=nullcontext,
    )  # fmt: skip
    batcher.take(group._replace(records=0))
    batcher.flush(done=True)
    bound = _there(context, judge, group)
    if bound is not None:
        _note(context, one.said.stored[0], bound)
    return True


def _note(context: Context, trace: int, bound: int) -> None:
    """The result is the other attempt's from here on, and a pass counts there."""
    connection = context.connection
    connection.execute(
        "INSERT OR IGNORE INTO attempt_name VALUES (?, ?)", (f"bound:{trace}", bound)
    )
    (name,) = connection.execute("SELECT trace_id FROM traces WHERE trace=?", (bound,)).fetchone()
    shared.lose(connection, {trace: name}, context.now())


def _there(context: Context, judge: Judge, group: Group) -> int | None:
    """The candidate's first attempt at this episode: the trajectory that the result is of."""
    suites = judge.probe_suites or {suite.suite_id: suite for suite in context.suites}
    keys = Keys(context.connection, suites, context.manifests, context.now, nullcontext)
    keys.recall(group.facts)
    row = context.connection.execute(
        "SELECT id FROM trace WHERE candidate=? AND episode=? ORDER BY attempt LIMIT 1",
        keys.of(group.facts[0]),
    ).fetchone()
    return None if row is None else int(row[0])
