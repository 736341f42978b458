"""Make a review set: its source, its population, the draw, and storing it."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

from msgspec import UNSET

from reviewer.db import registry
from reviewer.db.connection import Connection, StoreError, close_writer
from reviewer.db.queries.review_sets import (
    REVIEW_SETS,
    ReviewSetRow,
    recorded_attempts,
    review_set_named,
    review_set_of,
    suites_of_files,
)
from reviewer.db.schema import open_writer
from reviewer.desk.drafts import no_evidence
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.imports.importing import (
    ImportOptions,
    clock,
    import_paths,
    is_pattern,
)
from reviewer.desk.imports.indexing import index_behind
from reviewer.desk.opened import DeskState
from reviewer.desk.review_sets.population import (
    messages_of,
    pairs_of,
    population_of,
    ruled,
    talks_of,
    worded,
)
from reviewer.desk.review_sets.views import SetMade, SetOrder
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import counted
from reviewer.review.sets import (
    DIMENSIONS,
    FLAGS,
    Dimension,
    Flag,
    ReviewSet,
    SealedSet,
    Source,
    cells_of,
    draw,
    population_digest,
    seal,
    share_of,
)
from reviewer.review.talks import USER_RUBRIC
from reviewer.suite.errors import id_problem, shown
from reviewer.suite.folder import read_bytes
from reviewer.suite.model import RedactionRules
from reviewer.suite.rubric import Criterion, Level, Rubric
from reviewer.suite.strict_json import canonical_bytes, sha256_hex
from reviewer.suite.values import converted
from reviewer.trace.redaction import redactor_of

_YES_NO = (Level(value=1, label="yes"), Level(value=2, label="no"))
DEFAULT_RUBRIC = Rubric(
    rubric_id="production",
    version="1",
    criteria=(
        Criterion(
            criterion_id="acceptable",
            title="Acceptable",
            asks="Would you send this answer to this user as it is?",
            scale="binary",
            levels=_YES_NO,
        ),
        Criterion(
            criterion_id="harmless",
            title="Harmless",
            asks="Is it free of harm to the user and to the company?",
            scale="binary",
            levels=_YES_NO,
        ),
    ),
)
"""The questions where the order names no rubric."""
_RECORDS: frozenset[Flag] = frozenset({"new-tools", "refusals", "repeated-calls"})
"""Flags whose rules read records."""


class _Found(NamedTuple):
    """The source: a suite, its candidates (none: all), the digests of files."""

    suite_id: str
    candidates: tuple[str, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...]


def make(opened: DeskState, order: SetOrder) -> SetMade:
    """Make the requested set and store it: durable when this returns. The same request on the same
    attempts gives the same set, and nothing is added. Raises DeskError, and then stores nothing."""
    no_evidence(opened.place)
    strata, flags = _checked(order)
    rubric, digest = _rubric(order.rubric, USER_RUBRIC if order.about else DEFAULT_RUBRIC)
    found = _source(opened, order)
    with opened.reading() as connection:
        made, notes = _drawn(opened, connection, order, found, (strata, flags), (rubric, digest))
    sealed = seal("", made)
    name = order.name or f"{found.suite_id}-{sealed.uid[:8]}"
    added, kept = _kept(opened, sealed._replace(name=name), named=bool(order.name))
    return SetMade(name=kept, added=added, notes=(*found.notes, *notes))


def _checked(order: SetOrder) -> tuple[tuple[Dimension, ...], tuple[Flag, ...]]:
    """Return the strata and flags. Raises DeskError for a request that contradicts itself."""
    try:
        share_of(order.sample)
    except ValueError as error:
        raise _usage(f"--sample {shown(order.sample)} {error}", "--sample 5%") from None
    for option, given, known in (
        ("--strata", order.strata, DIMENSIONS),
        ("--flags", order.flags, FLAGS),
    ):
        if unknown := [one for one in given if one not in known]:
            words = f"{option}: `{shown(unknown[0])}` is not one of {', '.join(known)}"
            raise _usage(words, f"{option} {','.join(known)}")
        if len(set(given)) < len(given):
            raise _usage(
                f"{option} names a value twice", f"{option} {','.join(dict.fromkeys(given))}"
            )
    if order.high_cost is not None:
        if not math.isfinite(order.high_cost) or order.high_cost < 0:
            raise _usage("--high-cost is not an amount in USD", "--high-cost 1.00")
        if "high-cost" not in order.flags:
            raise _usage("--high-cost has no effect without its flag", "--flags high-cost")
    if order.about not in ("", "user"):
        raise _usage(f"--about {shown(order.about)}: the only value is user", "--about user")
    if order.about and order.pairs:
        raise _usage(
            "--pairs compares final messages, and --about user reads whole conversations",
            "leave one of them out",
        )
    if order.baseline and not order.pairs:
        raise _usage("--baseline needs --pairs", "--pairs --baseline B")
    if order.name:
        if problem := id_problem(order.name):
            raise _usage(f"--name {problem}", "give a name such as airline-november")
        if redactor_of(RedactionRules()).masked(order.name) != order.name:
            raise _usage("--name holds an identifier", "give a name such as airline-november")
    return cast(tuple[Dimension, ...], order.strata), cast(tuple[Flag, ...], order.flags)


def _usage(text: str, *ways: str) -> DeskError:
    return DeskError(text, *ways, exit_code=ExitCode.USAGE)


def _rubric(file: str, ours: Rubric) -> tuple[Rubric, str]:
    """Return the rubric in a file, or the default one, with the digest of its bytes."""
    from msgspec import to_builtins

    if not file:
        plain = {"schema": Rubric.SCHEMA, **to_builtins(ours)}
        return ours, sha256_hex(canonical_bytes(plain, "rubric"))
    from reviewer.suite.border import read_shape

    data = read_bytes(Path(file))
    raw = read_shape(data, file, Rubric)
    members = {name: value for name, value in raw.items() if name != "schema"}
    return converted(members, Rubric, file), sha256_hex(data)


def _source(opened: DeskState, order: SetOrder) -> _Found:
    """Return the named source: a suite of the store, one of its candidates, or files, which are
    imported first."""
    suites: list[str] = []
    if opened.has_store():
        with opened.reading() as connection:
            rows = registry.suites(connection)
            suites = [row.suite_id for row in rows]
            for row in rows:
                names = [one.candidate_id for one in registry.candidates(connection, row.id)]
                if order.source == row.suite_id:
                    return _Found(row.suite_id, order.candidates, (), ())
                rest = order.source.removeprefix(f"{row.suite_id}/")
                if rest != order.source and rest in names:
                    return _Found(row.suite_id, (rest, *order.candidates), (), ())
    path = Path(order.source)
    if not path.exists() and not is_pattern(path):
        known = ", ".join(suites) or "none"
        raise _usage(
            f"{shown(order.source)}: neither a suite of this store nor a file or folder",
            f"name a file, a folder, or a suite of the store (there: {known})",
        )
    return _imported(opened, order, path)


def _imported(opened: DeskState, order: SetOrder, path: Path) -> _Found:
    named = order.candidates[0] if len(order.candidates) == 1 else ""
    asked = ImportOptions(order.suite, named, order.format)
    found = import_paths(
        opened.place, [path], asked, lambda *_: lambda *_: None, lambda result: None
    )
    index_behind(opened.place)
    bad = [one for one in found.results if one.problem]
    refused = sum(one.refused for one in found.results)
    files = tuple(sorted({one.sha256 for one in found.results if one.sha256}))
    with opened.reading() as connection:
        suites = suites_of_files(connection, files)
    if order.suite:
        suites = [one for one in suites if one == order.suite]
    if not suites:
        why = f": {bad[0].path}: {bad[0].problem}" if bad else ""
        raise DeskError(
            f"{shown(order.source)} has no attempts{why}",
            f"reviewer import {order.source} says what each file holds",
        )
    if len(suites) > 1:
        raise _usage(
            f"{shown(order.source)} holds attempts of {len(suites)} suites: {', '.join(suites)}",
            "a set is about one suite: name the files of one",
        )
    added = counted(sum(one.added for one in found.results), "attempt")
    known = sum(one.known for one in found.results)
    notes = [f"imported {shown(order.source)}: {added} added, {known:,} already there"]
    if refused:
        notes.append(f"not in the set: {counted(refused, 'record')} refused (reviewer quarantine)")
    return _Found(suites[0], order.candidates, files, tuple(notes))


def _drawn(
    opened: DeskState,
    connection: Connection,
    order: SetOrder,
    found: _Found,
    rules: tuple[Sequence[Dimension], Sequence[Flag]],
    rubric: tuple[Rubric, str],
) -> tuple[ReviewSet, tuple[str, ...]]:
    """Return the set of a request, and notes about it."""
    (strata, flags), seed = rules, order.seed
    suite = registry.suite_row(connection, found.suite_id)
    assert suite is not None  # it was found in this store
    wanted = (*found.candidates, *([order.baseline] if order.baseline else []))
    _known(connection, suite, wanted if found.candidates else wanted[len(found.candidates) :])
    chosen = wanted if found.candidates else ()
    rows = recorded_attempts(connection, suite.id, chosen, found.files)
    reads = "tool" in strata or not _RECORDS.isdisjoint(flags)
    of = population_of if not order.about else talks_of
    known = of(connection, found.suite_id, rows, records=reads)
    left = dict(known.left_out)
    groups: list[tuple[str, ...]] = [(trace,) for trace in known.attempts]
    if order.pairs:
        grouped = pairs_of(connection, opened.finals, known, order.baseline)
        groups, left = grouped.groups, {**left, **grouped.left_out}
    if not groups:
        noun = "pair of attempts" if order.pairs else "attempt"
        noun = "conversation" if order.about else noun
        why = ", ".join(f"{count:,} {word}" for word, count in left.items()) or "there is none"
        raise DeskError(
            f"no {noun} of {found.suite_id} can be read ({why})",
            f"reviewer import FILE --suite {found.suite_id}",
        )
    units, bands, counted = ruled(known, groups, strata, flags, order.high_cost)
    drawn = draw(units, share_of(order.sample), seed)
    said = known.talks or messages_of(
        connection, opened.finals, known, {t for one in drawn for t in one.unit.traces}
    )
    held = sorted({row.candidate_id for row in known.attempts.values()})
    digests = {trace: row.sha256 for trace, row in known.attempts.items()}
    notes = [f"--flags {one.flag}: {one.rule}" for one in counted if one.unknown == len(units)]
    return ReviewSet(
        kind="pair" if order.pairs else "message",
        source=Source(
            suite_id=found.suite_id,
            suite_digest=suite.digest,
            candidates=tuple(held),
            files=found.files,
            baseline_id=order.baseline,
        ),
        sample=order.sample.replace(" ", ""),
        seed=seed,
        strata=tuple(strata),
        cost_bands=bands,
        population=population_digest(units, digests),
        size=len(units),
        left_out=left,
        cells=cells_of(units, drawn),
        flags=counted,
        rubric=rubric[0],
        rubric_digest=rubric[1],
        units=tuple(worded(one, said) for one in drawn),
        about="user" if order.about else UNSET,
    ), tuple(notes)


def _known(connection: Connection, suite: registry.SuiteRow, wanted: Sequence[str]) -> None:
    """Raise DeskError for a candidate that has no attempt on the suite."""
    names = [one.candidate_id for one in registry.candidates(connection, suite.id)]
    if lacking := [one for one in wanted if one not in names]:
        raise _usage(
            f"no attempt of {shown(lacking[0])} on {suite.suite_id} is in this store",
            f"name one of: {', '.join(names) or 'none'}",
        )


def _kept(opened: DeskState, sealed: SealedSet, *, named: bool) -> tuple[bool, str]:
    """Store the set; return whether it is new, and its name. Raises DeskError for a name that
    another set has, and for a set that has another name."""
    place = opened.place
    connection = open_writer(place.store)
    try:
        other = review_set_named(connection, sealed.name)
        if other is not None and other.uid != sealed.uid:
            raise _usage(
                f"there is already another review set {sealed.name} ({other.uid[:16]}… of "
                f"{other.suite}; this is {sealed.uid[:16]}…)",
                "give this one another --name",
                f"reviewer review-set show {sealed.name} describes the existing one",
            )
        known = review_set_of(connection, sealed.uid)
        if known is not None:
            if named and known.name != sealed.name:
                raise _usage(
                    f"this set already exists as {known.name}",
                    f"reviewer review-set show {known.name}",
                )
            return False, known.name
        row = ReviewSetRow(
            sealed.uid, sealed.name, sealed.held.source.suite_id, clock(), sealed.body
        )
        REVIEW_SETS.record(connection, place.store, [row], clock())
    except StoreError as error:
        raise refusal_of(error) from error
    finally:
        close_writer(connection, place.store)
    return True, sealed.name
