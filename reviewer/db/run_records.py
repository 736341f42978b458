"""What the journal says of runs: which run made each record, in this store and in the stores merged
into it, and which shards of a plan the runs were.

Two attempts of reviewer's runner may be equal to the byte, so their evidence does not show whether
one store has the other's attempt. The entry with which their run began, together with their number
in the run, does.
"""

import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

import msgspec

from reviewer.db.connection import StoreError
from reviewer.db.sources import joined, source_by_id, spans

RunRecord = tuple[str, int]
"""The hash of the entry with which a run began, and the number of a record in the run's source."""
UNTIL = 1 << 62


class PlanSource(NamedTuple):
    """The source of a run by its whole plan, under the name it has whether or not the run had
    shards."""

    path: str
    sha256: str


class ShardOfPlan(NamedTuple):
    """A shard that a run made, the source of its plan, the hash of the run's entry, and the options
    of the run that decide what its attempts are."""

    number: int
    of: int
    source: PlanSource
    run: str
    rules: str


_Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class _Part(msgspec.Struct):
    number: int
    of: int


class _Made(msgspec.Struct):
    run: _Hash
    records: tuple[tuple[int, int, int], ...]


class _Moved(msgspec.Struct):
    attempt: Annotated[int, msgspec.Meta(ge=1)]
    records: tuple[tuple[int, int], ...]


class _Plan(msgspec.Struct):
    suite_id: str
    candidate_id: str
    path: str
    sha256: _Hash
    parts: tuple[tuple[int, int, _Hash], ...]
    alone: bool
    rules: str = ""


class _Entry(msgspec.Struct):
    type: str
    source: int = 0
    records: int = 0
    suite_id: str = ""
    candidate_id: str = ""
    seed: int = 0
    approvals: str = ""
    network: bool = False
    shard: _Part | None = None
    made: tuple[_Made, ...] = ()
    shards: tuple[_Plan, ...] = ()
    moved: tuple[_Moved, ...] = ()


_decode = msgspec.json.Decoder(_Entry).decode


class RunRecords:
    """The runs that a journal knows. `shards` are by (suite id, candidate id), in order of
    import."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.shards: dict[tuple[str, str], list[ShardOfPlan]] = {}
        self._alone: dict[tuple[int, str, str], list[PlanSource] | None] = {}
        self._sharded: set[str] = set()
        found: dict[int, list[tuple[int, int, str, int]]] = {}
        moved: dict[int, dict[int, list[tuple[int, int]]]] = {}
        for digest, body in connection.execute(
            "SELECT hash, body FROM journal WHERE instr(body, '\"run.started\"')"
            " OR instr(body, '\"store.merged\"') ORDER BY seq"
        ).fetchall():
            try:
                entry = _decode(body)
            except msgspec.MsgspecError as error:
                said = f"an entry of the journal is not from this program: {error}"
                raise StoreError(said) from None
            if entry.type == "run.started":
                each = found.setdefault(entry.source, [])
                # An entry from before the count was stored continues the run that it resumed.
                if not each or entry.records:
                    each.append((entry.records + 1, UNTIL, digest.hex(), entry.records + 1))
                if entry.shard is not None:
                    self._began(connection, entry, entry.shard, digest.hex())
            elif entry.type == "store.merged":
                found.setdefault(entry.source, []).extend(_merged(entry))
                self._came(entry)
                for one in entry.moved:
                    each_number = moved.setdefault(entry.source, {})
                    each_number.setdefault(one.attempt, []).extend(one.records)
        self._spans = {source: _settled(each) for source, each in found.items()}
        self._moved = {
            source: sorted(
                (first, last, attempt)
                for attempt, named in numbers.items()
                for first, last in joined(named)
            )
            for source, numbers in moved.items()
        }

    def _began(
        self, connection: sqlite3.Connection, entry: _Entry, part: _Part, digest: str
    ) -> None:
        row = connection.execute(
            "SELECT path, sha256 FROM source WHERE id=?", (entry.source,)
        ).fetchone()
        if row is not None:
            self._sharded.add(digest)
            rules = f"--seed {entry.seed} --approve {entry.approvals}"
            rules += " --network" if entry.network else ""
            shard = ShardOfPlan(part.number, part.of, PlanSource(*row), digest, rules)
            self.shards.setdefault((entry.suite_id, entry.candidate_id), []).append(shard)

    def _came(self, entry: _Entry) -> None:
        for plan in entry.shards:
            of, source = (plan.suite_id, plan.candidate_id), PlanSource(plan.path, plan.sha256)
            for number, count, run in plan.parts:
                self._sharded.add(run)
                shard = ShardOfPlan(number, count, source, run, plan.rules)
                self.shards.setdefault(of, []).append(shard)
            held = self._alone.setdefault((entry.source, *of), [])
            if held is not None and plan.alone:
                held.append(source)
            else:
                self._alone[entry.source, *of] = None

    def of(self, source: int, record: int) -> RunRecord | None:
        """Return the run that made a record and its number in it; None for a record that was
        imported, or merged by a version that did not keep it."""
        each = self._spans.get(source)
        if each is None:  # most records belong to no run
            return None
        place = bisect_right(each, record, key=itemgetter(0))
        if not place or record > each[place - 1][1]:
            return None
        first, _, run, number = each[place - 1]
        return run, number + record - first

    @property
    def moved_sources(self) -> Collection[int]:
        """Return the merged sources of which attempts have other numbers here than there."""
        return self._moved.keys()

    def number_there(self, source: int, record: int) -> int | None:
        """Return the number that a merged attempt had in the first complete set where it was made;
        None where it has that number of the plan here."""
        each = self._moved.get(source, ())
        place = bisect_right(each, record, key=itemgetter(0))
        return each[place - 1][2] if place and record <= each[place - 1][1] else None

    def sharded(self, source: int, record: int) -> bool:
        """Return whether a shard of a run made a record."""
        made = self.of(source, record) if self._sharded else None
        return made is not None and made[0] in self._sharded

    def plan_sources(self, source: int, suite_id: str, candidate_id: str) -> list[PlanSource]:
        """Return the sources of the plans of which a merged source brought only shards; empty for
        any other source."""
        return self._alone.get((source, suite_id, candidate_id)) or []


class EarlyEnds(NamedTuple):
    """How many runs of a candidate ended before they had made all their attempts, and how many
    attempts were missing. An attempt in progress when such a run ended left no record, whatever it
    had done."""

    runs: int
    attempts: int


def early_ends(connection: sqlite3.Connection, suite_digest: str, candidate_id: str) -> EarlyEnds:
    """Return the runs in this store that ended early. The last run is left out, since it may still
    be going on."""
    rows = connection.execute(
        "SELECT body FROM journal WHERE instr(body, '\"run.started\"') AND instr(body, ?)"
        " ORDER BY seq",
        (candidate_id.encode(),),  # leaves out entries of other candidates
    ).fetchall()
    entries = [
        entry
        for entry in map(msgspec.json.decode, (body for (body,) in rows))
        if entry["type"] == "run.started"
        and (entry["suite"], entry["candidate_id"]) == (suite_digest, candidate_id)
    ]
    left = []
    for place, entry in enumerate(entries):
        later = (one for one in entries[place + 1 :] if one["source"] == entry["source"])
        following = next(later, None)
        source = source_by_id(connection, entry["source"])
        if source is None or (source.state == "reading" and place == len(entries) - 1):
            continue
        end = source.records if following is None else following.get("records", 0)
        left.append(entry["attempts"] - (end - entry.get("records", 0)))
    return EarlyEnds(sum(n > 0 for n in left), sum(n for n in left if n > 0))


def made_spans(records: Iterable[tuple[int, RunRecord]]) -> list[dict[str, Any]]:
    """Return, from (number here, record of a run), each run with the spans of its records: first
    and last number here, and the number of the first in the run."""
    apart: dict[tuple[str, int], list[int]] = {}
    for here, (run, number) in records:
        apart.setdefault((run, number - here), []).append(here)
    found: dict[str, list[list[int]]] = {}
    for (run, shift), numbers in apart.items():
        each = spans(numbers)
        found.setdefault(run, []).extend([first, last, first + shift] for first, last in each)
    return [{"run": run, "records": sorted(each)} for run, each in sorted(found.items())]


def moved_spans(records: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    """Return, from (record, its attempt number where it was made), each such number with the spans
    of its records."""
    apart: dict[int, list[int]] = {}
    for record, attempt in records:
        apart.setdefault(attempt, []).append(record)
    return [
        {"attempt": attempt, "records": [list(span) for span in spans(each)]}
        for attempt, each in sorted(apart.items())
    ]


def plan_entries(
    shards: Mapping[tuple[str, str], Iterable[ShardOfPlan]],
    alone: Collection[tuple[str, str]],
    masked: Callable[[str], str],
) -> Iterator[dict[str, Any]]:
    """Yield what the journal entry of a merge says of the plans whose shards were merged. `alone`
    are the suites and candidates of which nothing else was merged; `masked` masks what the other
    store wrote."""
    for of, each in sorted(shards.items()):
        plans: dict[tuple[PlanSource, str], set[tuple[int, int, str]]] = {}
        for shard in each:
            parts = plans.setdefault((shard.source, shard.rules), set())
            parts.add((shard.number, shard.of, shard.run))
        for (source, rules), parts in sorted(plans.items()):
            yield {
                "suite_id": of[0],
                "candidate_id": of[1],
                "path": masked(source.path),
                "sha256": source.sha256,
                "parts": [list(part) for part in sorted(parts)],
                "alone": of in alone,
                "rules": masked(rules),
            }


def _merged(entry: _Entry) -> Iterator[tuple[int, int, str, int]]:
    for made in entry.made:
        for first, last, number in made.records:
            yield first, last, made.run, number


def _settled(named: list[tuple[int, int, str, int]]) -> list[tuple[int, int, str, int]]:
    """Return the spans in order, so that the last span beginning before a record contains it: a
    merge that was cut off and continued named the remaining records again."""
    apart: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for first, last, run, number in named:
        apart.setdefault((run, number - first), []).append((first, last))
    return sorted(
        (first, last, run, first + shift)
        for (run, shift), each in apart.items()
        for first, last in joined(each)
    )
