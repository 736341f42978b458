"""The sheet of a review set: its items from the store, in the order drawn by lot."""

from collections.abc import Iterable

import msgspec

from reviewer.db import contracts, registry
from reviewer.db.connection import Connection
from reviewer.db.queries.attempts import ReviewableTrace, reviewable_trace
from reviewer.db.queries.review_sets import ReviewSetRow, review_set_named
from reviewer.desk.errors import DeskError
from reviewer.desk.labels.sheet import RubricSuite, Sheet
from reviewer.desk.traces.record_stream import each_record
from reviewer.desk.traces.records import FinalMessages, locate
from reviewer.exit_codes import ExitCode
from reviewer.gates.values import text_of
from reviewer.review.items import (
    Item,
    ItemSet,
    TraceMessage,
    message_digest,
    message_items,
    pair_items,
)
from reviewer.review.labels import Reason
from reviewer.review.queue import Entry, Queue, inclusion_probability
from reviewer.review.sets import REASON_OF, SET_REASONS, SealedSet, in_order, stored_set
from reviewer.review.talks import card, transcript
from reviewer.suite.errors import shown
from reviewer.suite.model import LabelPolicy
from reviewer.suite.user_check import user_of
from reviewer.trace.record import ABSENT, Event, is_user, kind_of


def sealed_set(row: ReviewSetRow) -> SealedSet:
    """Return a set as it was stored."""
    return stored_set(row.name, row.uid, row.body)


def named_set(connection: Connection, name: str) -> SealedSet:
    """Return the set of this name. Raises DeskError when there is none."""
    row = review_set_named(connection, name)
    if row is None:
        raise DeskError(
            f"no review set {shown(name)} in this store",
            "reviewer review-set list names those that are there",
            exit_code=ExitCode.USAGE,
        )
    return sealed_set(row)


def ruled_set(connection: Connection, sealed: SealedSet) -> RubricSuite:
    """Return the set as the suite that its labels belong to: its digest, its rubric, its
    episodes."""
    source = sealed.held.source
    head = registry.suite_head(connection, source.suite_id)
    row = registry.suite_row(connection, source.suite_id)
    assert row is not None  # a suite with a head has a row
    names = sorted({one.unit.episode_id for one in sealed.held.units})
    keys = registry.episode_keys(connection, row.id, names)
    found = (contracts.episode(connection, key) for key in keys.values())
    suite = msgspec.structs.replace(
        head,
        digest=sealed.uid,
        episodes=tuple(one for one in found if one is not None),
        policy=msgspec.structs.replace(head.policy, labels=LabelPolicy()),
    )
    return RubricSuite(suite, sealed.held.rubric, sealed.held.rubric_digest)


def sheet_of_set(connection: Connection, finals: FinalMessages, sealed: SealedSet) -> Sheet:
    """Return the sheet of a set. An attempt that ends with other words than when the set was made
    is not shown: its message is not the one that was drawn."""
    said = _messages(connection, finals, sealed)
    pairs: list[tuple[TraceMessage, TraceMessage]] = []
    singles: list[TraceMessage] = []
    for one in sealed.held.units:
        found = [said[trace] for trace in one.unit.traces if trace in said]
        if tuple(message_digest(m.text) for m in found) != one.unit.messages:
            continue
        if sealed.held.kind == "pair":
            pairs.append((found[0], found[1]))
        else:
            singles += found
    built = (
        pair_items(sealed.uid, pairs)
        if sealed.held.kind == "pair"
        else message_items(sealed.uid, singles)
    )
    queue = Queue(entries=in_order(sealed, _entries(sealed, built)), salt=sealed.uid, settled=True)
    ruled = ruled_set(connection, sealed)
    asked = {} if ruled.suite.episodes else _asked(connection, sealed, built)
    if sealed.held.about == "user":
        asked = _cards(ruled, built, asked)
    return Sheet(ruled, sealed.held.kind, built, {}, (), queue=queue, of_set=sealed, asked=asked)


def _asked(connection: Connection, sealed: SealedSet, built: ItemSet) -> dict[str, str]:
    """Return what the users of each item's attempt said, in order: for an episode that only a
    source named, nothing else shows what was asked."""
    items = {item.traces[0]: item.item for item in built.items}
    rows = {row.id: (trace, row) for trace, _, row in _rows(connection, sealed) if trace in items}
    records = each_record(connection, [row for _, row in rows.values()])
    return {items[rows[key][0]]: "\n\n".join(_said(record.events)) for key, record in records}


def _cards(ruled: RubricSuite, built: ItemSet, asked: dict[str, str]) -> dict[str, str]:
    """Return what the user of each item asked, wants and knows, against which the user's words are
    judged."""
    episodes = {episode.episode_id: episode for episode in ruled.suite.episodes}
    found = {}
    for item in built.items:
        episode = episodes.get(item.episode_id)
        request = asked.get(item.item, "") if episode is None else episode.user_request
        user = None if episode is None else user_of(episode)
        found[item.item] = card(request, user)
    return found


def _said(events: Iterable[Event]) -> Iterable[str]:
    for event in events:
        if kind_of(event) == "message" and event.message != ABSENT and is_user(event.actor):
            text = text_of(msgspec.json.decode(event.message)).strip()
            if text:
                yield text


def _entries(sealed: SealedSet, built: ItemSet) -> Iterable[Entry]:
    """Yield why each item is in the set, and its probability of being drawn."""
    sizes = {cell.values: cell for cell in sealed.held.cells}
    of_item: dict[tuple[str, ...], Item] = {}
    for item in built.items:
        of_item[item.episode_id, *sorted(message.digest for message in item.messages)] = item
    reasons: dict[str, set[Reason]] = {}
    missed: dict[str, float] = {}
    for one in sealed.held.units:
        found = of_item.get((one.unit.episode_id, *sorted(one.unit.messages)))
        if found is None:
            continue
        why = reasons.setdefault(found.item, set())
        why.update(REASON_OF[flag] for flag in one.unit.flags)
        if one.place:
            why.add("random")
            cell = sizes[one.unit.cell]
            chance = inclusion_probability(cell.drawn / cell.size, 1)
            missed[found.item] = missed.get(found.item, 1.0) * (1.0 - chance)
    for item in built.items:
        held = tuple(reason for reason in SET_REASONS if reason in reasons[item.item])
        yield Entry(
            item=item,
            stratum=SET_REASONS[held[0]],
            reasons=held,
            pi=1.0 - missed[item.item] if item.item in missed else None,
            uncertainty=0.0,
        )


def _messages(
    connection: Connection, finals: FinalMessages, sealed: SealedSet
) -> dict[str, TraceMessage]:
    """Return the final messages of a set's attempts that are in this store, by trace; for a set
    about users, the conversations."""
    found = _rows(connection, sealed)
    rows = [row for _, _, row in found]
    texts = (
        finals.of(connection, rows)
        if sealed.held.about != "user"
        else {key: transcript(record.events) for key, record in each_record(connection, rows)}
    )
    return {
        trace: TraceMessage(
            trace_id=trace, episode_id=episode, attempt=row.attempt, text=texts[row.id]
        )
        for trace, episode, row in found
        if row.id in texts
    }


def standing_talks(connection: Connection, sealed: SealedSet) -> frozenset[str]:
    """Return the attempts of a set about users that are in this store and still contain the words
    that were drawn."""
    rows = _rows(connection, sealed)
    found = {row.id: trace for trace, _, row in rows}
    drawn = {one.unit.traces[0]: one.unit.messages for one in sealed.held.units}
    records = each_record(connection, [row for _, _, row in rows])
    return frozenset(
        found[key]
        for key, record in records
        if (message_digest(transcript(record.events)),) == drawn[found[key]]
    )


def _rows(connection: Connection, sealed: SealedSet) -> list[tuple[str, str, ReviewableTrace]]:
    """Return (trace id, episode, row) of a set's attempts that are in this store; for conversations
    also those that their user spoiled."""
    lost = sealed.held.about == "user"
    found: list[tuple[str, str, ReviewableTrace]] = []
    for trace in sorted({t for one in sealed.held.units for t in one.unit.traces}):
        try:
            place = locate(connection, trace)
        except DeskError:
            continue  # another store's attempt, or one found to be another candidate's
        row = reviewable_trace(
            connection, place.candidate.id, place.episode, place.row.attempt, lost=lost
        )
        if row is not None:
            found.append((trace, place.episode_id, row))
    return found
