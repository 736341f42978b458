"""Labels by people on the users of a candidate's conversations, shown beside the user errors found
by rule.

The labels are those of review sets about users. They are figures and lists of the report: no gate,
no verdict and no limit reads them, so that an error which only people see never turns a failure of
the agent into infrastructure.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reviewer.db.connection import Connection
from reviewer.db.queries.report_figures import talk_faults
from reviewer.db.queries.review_sets import ReviewSetRow
from reviewer.db.tables import LABELS
from reviewer.desk.labels.set_sheets import sealed_set, standing_talks
from reviewer.desk.review_sets.rates import all_good, bad_questions
from reviewer.review.agreement import SettledItem, settled
from reviewer.review.labels import stored_label
from reviewer.review.sets import SealedSet, item_of
from reviewer.stats.figures import UserLabels, UserMiss
from reviewer.stats.rates import clopper_pearson
from reviewer.stats.stratified import Stratum, stratified_rate


class _Answered(NamedTuple):
    """One set with the candidate's attempts in it: how many were drawn by lot, and the settled
    answers on attempts whose words have not changed (True: no error)."""

    sealed: SealedSet
    drawn: int
    lot: dict[tuple[str, ...], list[bool]]
    said: dict[str, tuple[str, ...]]
    """Trace → the questions that people answered with no; empty for no error."""

    @property
    def labeled(self) -> int:
        return sum(map(len, self.lot.values()))


def user_labels(
    connection: Connection,
    rows: Sequence[ReviewSetRow],
    suite_id: str,
    candidate_id: str,
    candidate: int,
) -> UserLabels | None:
    """Return what people said of a candidate's users in these sets; None where no set has such
    answers. The rate is that of the set with the most answers; errors found by label come from all
    sets."""
    head = f"{suite_id}/{candidate_id}/"
    sets = map(sealed_set, rows)
    found = [one for held in sets if (one := _answered(connection, held, head)) is not None]
    if not found:
        return None
    chosen = max(found, key=lambda one: one.labeled)
    value, low, high, why = _rate(chosen, candidate_id)
    said: dict[str, tuple[str, ...]] = {}
    for one in found:
        for trace, questions in one.said.items():
            said[trace] = tuple(dict.fromkeys((*said.get(trace, ()), *questions)))
    rules = {
        f"{head}{one.episode_id}/{one.attempt}": tuple(sorted(one.codes))
        for one in talk_faults(connection, candidate)
    }
    both = sorted(said.keys() & rules.keys())
    return UserLabels(
        review_set=chosen.sealed.name,
        drawn=chosen.drawn,
        labeled=chosen.labeled,
        found=sum(answers.count(False) for answers in chosen.lot.values()),
        value=value,
        low=low,
        high=high,
        why=why,
        both=sum(bool(said[trace] and rules[trace]) for trace in both),
        rules_only=_told(rules, [trace for trace in both if rules[trace] and not said[trace]]),
        labels_only=_told(said, [trace for trace in both if said[trace] and not rules[trace]]),
        neither=sum(not said[trace] and not rules[trace] for trace in both),
        unruled=len(said) - len(both),
    )


def _told(of: Mapping[str, tuple[str, ...]], traces: Sequence[str]) -> tuple[UserMiss, ...]:
    return tuple(UserMiss(trace, of[trace]) for trace in traces)


def _answered(connection: Connection, sealed: SealedSet, head: str) -> _Answered | None:
    """Return the settled answers on a candidate's attempts; None for a set without any of its
    attempts."""
    mine = [one for one in sealed.held.units if one.unit.traces[0].startswith(head)]
    if not mine:
        return None
    labels = [stored_label(row.body) for row in LABELS.of_suite(connection, sealed.uid)]
    known: dict[str, SettledItem] = {one.item: one for one in settled(labels)}
    standing = standing_talks(connection, sealed) if known else frozenset()
    rubric = sealed.held.rubric
    lot: dict[tuple[str, ...], list[bool]] = {}
    said: dict[str, tuple[str, ...]] = {}
    for one in mine:
        trace, answer = one.unit.traces[0], known.get(item_of(sealed, one.unit))
        good = None if answer is None else all_good(answer, rubric)
        if answer is None or good is None or trace not in standing:
            continue
        said[trace] = bad_questions(answer, rubric)
        if one.place:
            lot.setdefault(one.unit.cell, []).append(good)
    return _Answered(sealed, sum(bool(one.place) for one in mine), lot, said)


def _rate(
    chosen: _Answered, candidate_id: str
) -> tuple[float | None, float | None, float | None, str]:
    """Return the share of conversations whose user errs, with its 95% limits, or why it is not
    measured. A random sample over several candidates is also one of each of them, unless it was
    drawn within strata."""
    held = chosen.sealed.held
    if not chosen.labeled:
        return None, None, None, "no answer yet"
    errors = {cell: answers.count(False) for cell, answers in chosen.lot.items()}
    if held.source.candidates == (candidate_id,):
        cells = [
            Stratum(c.size, len(chosen.lot.get(c.values, ())), errors.get(c.values, 0))
            for c in held.cells
        ]
        rate = stratified_rate(cells)
        if rate is None:
            silent = sum(not one.n for one in cells)
            return None, None, None, f"{silent} of {len(cells)} strata have no answer yet"
        return rate.value, rate.low, rate.high, ""
    if held.strata:
        why = f"drawn within strata of several candidates: draw a set of {candidate_id} alone"
        return None, None, None, why
    found = sum(errors.values())
    return found / chosen.labeled, *clopper_pearson(found, chosen.labeled), ""
