"""Score records: from the bytes of one record to its verdict, or to why it is refused.

This module does not use the store, so the same code runs beside the writer or in other processes.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reviewer.db.intake import NewRefusal, NewTrace
from reviewer.db.payload import LARGE, PACK_BYTES, PACK_TRACES, Chunk, Pack, Packer, chunk
from reviewer.db.verdict_changes import canonical_detail
from reviewer.importing.draft import ZEROS
from reviewer.importing.formats import named
from reviewer.importing.pipeline.masking import Masked, masker_of
from reviewer.importing.pipeline.sessions import session_of
from reviewer.importing.pipeline.split import Piece
from reviewer.importing.reader import Broken, Foreign, RecordReader, Rejected, by_record
from reviewer.importing.scored import (
    Catalogue,
    Group,
    JudgedRecord,
    Scored,
    TargetSuite,
    final_state_text,
    judge,
    judge_probe,
    kept_masked,
    said_of_user,
    score_unredacted,
)
from reviewer.importing.source import EVERY, Wanted
from reviewer.suite.gates import in_force
from reviewer.suite.model import Episode, Policy, RedactionRules, Suite
from reviewer.suite.tool_names import NO_MAP, ToolMap
from reviewer.trace.record import ABSENT, SourceVerdict, TraceRecord, counts_nothing
from reviewer.trace.redaction import redactor_of
from reviewer.trace.validate import DecodeError, Explanation, Problem, decode, explain

FILTERED = 8
_SLOT_MEMBERS = ("episode_id", "candidate_id", "attempt")
MASKED = "identifiers were masked before storing"
NAME_MASKED = "the id of a session or a run holds an identifier: its digest is its name"
_MASK = b"[REDACTED"
_PARTING = re.compile("([-_]+)")
MOST_USD = 1e6
"""The greatest cost of an attempt that is accepted; sums of costs are whole nano-USD and must stay
countable."""


def permanent_name(name: str, masked: Callable[[str], str]) -> str:
    """Return the permanent name of an attempt in its stored form: a name with an identifier in it
    as its digest, so that two of them stay different."""
    if masked(name) == name:
        return name
    kind = name.partition(":")[0] if ":" in name else ""
    kind = kind if masked(kind) == kind else ""
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:32]
    return f"{kind}:masked {digest}"


class ImportOptions(NamedTuple):
    """The options of an import that the user gave."""

    suite: str = ""
    candidate: str = ""
    format: str = "auto"
    episodes: tuple[tuple[str, str], ...] = ()
    """Names of a foreign source's episodes in the private suite: (theirs, the suite's)."""
    tools: ToolMap = NO_MAP
    """Which names of its tools are tools of the suite."""
    sessions: Wanted = EVERY
    """Which sessions are read of files that hold several."""
    live: bool = False
    """Tools still write these files: an attempt is in progress until its file states its end."""


class Order(NamedTuple):
    """Everything that judging needs; plain values, so that it can be sent to a process."""

    suites: tuple[Suite, ...]
    options: ImportOptions
    reader: str
    path: str
    own: bool = False
    """Whether reviewer's own runner made these records: the store knows that, no file can claim
    it."""
    home: str = ""
    """The name of its candidate when neither the user nor a record names one."""
    contracts: Mapping[str, Mapping[str, Episode]] = {}
    """The contracts of suites that are given without their episodes, by suite id."""


class Misdirected(Exception):
    """The file and the suite for which it is imported do not match; the text is the reason."""


def catalogue_of(order: Order) -> Catalogue:
    """Return the suites of an order, whose contracts are still to be compiled."""
    return Catalogue(
        [
            TargetSuite(one, order.own, order.options.tools, order.contracts.get(one.suite_id))
            for one in order.suites
        ]
    )


class Scorer:
    """Judges the records of one file. `packer` and `catalogue` may be those of the previous file,
    if they are for the same suites and options."""

    def __init__(
        self, order: Order, packer: Packer | None = None, catalogue: Catalogue | None = None
    ) -> None:
        self.options = order.options
        self.path = Path(order.path)
        self.reader = named(order.reader)
        self._by_record = self.reader if by_record(self.reader) else None
        self._own_names = dict(order.options.episodes)
        self.catalogue = catalogue_of(order) if catalogue is None else catalogue
        suites = self.catalogue.targets
        self.redactor = self.catalogue.redactor() if suites else redactor_of(RedactionRules())
        private = {target.suite.suite_id for target in suites}
        self.probing = self.reader.probe and self.options.suite not in private
        self._masker = masker_of(self.redactor)
        if self.probing and self.reader.probe:
            self.redactor.reads_written()
        self.probe_suites: dict[str, Suite] = {}
        """Probe suites met so far."""
        self.known: Mapping[int, tuple[bytes, int]] = {}
        """Digests of records of private suites, by number, that another store has (in a merge)."""
        self._private = private
        self._probes: dict[str, TargetSuite] = {}
        self._own_suite = ""
        self._packer = packer or Packer()
        called = self.reader.candidate_id(self.path)
        if order.home and called == self.path.stem:
            called = order.home
        self.candidate = self.options.candidate or called
        if self.probing and self._by_record is not None:
            self._probe("")

    def read_with(self, reader: RecordReader) -> None:
        """Take records from this reader instead of the requested one (for stored ones, in a
        merge)."""
        self.reader = self._by_record = reader

    def _probe(self, suite_id: str) -> TargetSuite:
        """Return the probe suite of that name, or the one that this file's records belong to.
        Raises Misdirected for the name of a private suite."""
        named = suite_id
        found = self._probes.get(named)
        if found is None:
            # A file names its suite, and the name may contain identifiers.
            theirs = suite_id or self.reader.suite_id(self.path)
            suite_id = self.options.suite or self._masked_name(theirs)
            if suite_id in self._private:
                raise Misdirected(
                    f"the probe suite {suite_id} has the name of a private one: "
                    "name the suite to fill with --suite"
                )
            found = self._probes[named] = TargetSuite(probe_suite(suite_id))
            self.probe_suites[suite_id] = found.suite
        return found

    def meet(self, group: Group) -> Group:
        """Return a group that another process judged, recording its probe suites here as well."""
        for one in group.judged if self.probing else ():
            self.probe_suites.setdefault(one.suite_id, probe_suite(one.suite_id))
        return group

    def own_suite(self) -> str:
        """Return the suite of the file's records where they name none."""
        if not self._own_suite:
            own = self.options.suite or self._masked_name(self.reader.suite_id(self.path))
            self._own_suite = own
        return self._own_suite

    def lasting_name(self, name: str) -> str:
        """Return the permanent name of an attempt in its stored form."""
        return permanent_name(name, self.redactor.masked)

    def _known_for_good(
        self, one: tuple[int, Foreign | NewRefusal]
    ) -> tuple[int, Foreign | NewRefusal]:
        """Return an attempt with its permanent names in their stored form, also in its record: all
        readers, including those of other packages, return them as in the source."""
        number, foreign = one
        if isinstance(foreign, NewRefusal) or not (foreign.identity or foreign.names):
            return one
        identity = self.lasting_name(foreign.identity)
        names = tuple(map(self.lasting_name, foreign.names))
        raw, notes = foreign.raw, foreign.notes
        if identity != foreign.identity:
            raw, notes = _renamed_session(raw, foreign.identity, identity), (*notes, NAME_MASKED)
        return number, foreign._replace(raw=raw, identity=identity, names=names, notes=notes)

    def _masked_name(self, name: str) -> str:
        """Mask identifiers in a name, also where a reader replaced their separators by hyphens."""
        masked = self.redactor.masked
        return "".join(masked(part) for part in _PARTING.split(masked(name)))

    def group(self, pieces: Iterable[Piece], first: int = 1) -> Group:
        """Judge a run of records of a `RecordReader` and pack the payloads that may be stored."""
        return self._grouped(((piece.number, self._foreign(piece)) for piece in pieces), first)

    def gathered(self, attempts: Iterable[tuple[int, Foreign | Broken]], first: int) -> Group:
        """Judge attempts from a `DocumentReader`, numbered, as `group` does."""
        return self._grouped(((n, self._checked(n, one)) for n, one in attempts), first)

    def _checked(self, number: int, one: Foreign | Broken) -> Foreign | NewRefusal:
        if isinstance(one, Foreign):
            return one
        where = f" in {one.name}" if one.name else ""
        return self.refusal(number, tuple(f"{code}{where}" for code in one.codes))

    def _grouped(self, read: Iterable[tuple[int, Foreign | NewRefusal]], first: int) -> Group:
        packing = Packing(self._packer)
        done = Group(first, 0, [], packing.packs, [], {}, [])
        records, renames = 0, self.reader.probe and not self.probing
        for number, foreign, looked in self._filtered(map(self._known_for_good, read)):
            records += 1
            if isinstance(foreign, NewRefusal):
                done.refused.append(foreign)
                continue
            if renames:
                foreign = self._renamed(foreign, done.notes)
            found = self._judge(number, foreign, looked, done.notes)
            if isinstance(found, NewRefusal):
                done.refused.append(found)
                continue
            title = foreign.title and self.redactor.masked(foreign.title)
            said = foreign.verdict or found[1].source
            record = packing.add(*found, number, title, self.detail(said))
            identity = foreign.identity or self.lasting_name(_session(found[1].record))
            if foreign.replaces is not None or identity:
                record = record._replace(
                    replaces=foreign.replaces,
                    identity=identity,
                    names=foreign.names,
                    read_with=foreign.read_with,
                )
            done.judged.append(record)
            if found[1].payload is None:
                codes = (finding.code for finding in record.trace.findings)
                done.flagged.append(record.refused(*dict.fromkeys(codes)))
            for note in foreign.notes:
                text = self.redactor.masked(note)
                done.notes[text] = done.notes.get(text, 0) + 1
        packing.seal()
        return done._replace(records=records)

    def again(self, raw: bytes, suite_id: str, word: SourceVerdict | None) -> JudgedRecord | None:
        """Judge a record that was joined from judged ones; return None where it cannot be. Its
        payload is in chunks, whatever its size."""
        try:
            record = decode(raw)
        except DecodeError:
            return None
        if self.probing:
            target = self._probe(suite_id)
            judged = judge_probe(record, raw, word, raw.count(_MASK))
        else:
            found = self.catalogue.find(record.episode_id)[0]
            if found is None or found.suite.suite_id != suite_id:
                return None
            target, judged = found, judge(found, record, raw, word)
        made = Packing(self._packer).add(target, judged._replace(payload=None), 0, "")
        text = final_state_text(record)
        return made.with_trace(termination=record.termination, final_state=text, chunks=chunk(raw))

    def _filtered(
        self, records: Iterable[tuple[int, Foreign | NewRefusal]]
    ) -> Iterator[tuple[int, Foreign | NewRefusal, bool | Masked]]:
        """Yield records as their reader returns them, each masked or with whether it is suspect.

        Several are filtered in a row: between other work the filter's tables leave the processor's
        cache, and filtering takes half as long again.
        """
        left = iter(records)
        while held := list(islice(left, FILTERED)):
            looked = [isinstance(one, Foreign) and self._looked(one.raw) for _, one in held]
            for (number, one), found in zip(held, looked, strict=True):
                yield number, one, found

    def _looked(self, raw: bytes) -> bool | Masked:
        """Return a probe's record masked, if it is in our encoder's form; else whether it is
        suspect."""
        masked = self._masker.masked(raw) if self.probing and self.reader.probe else None
        return self.redactor.suspect(raw) if masked is None else masked

    def detail(self, verdict: SourceVerdict | None) -> str:
        """Return the details of the source's verdict, masked, as JSON: its exception is a fact
        beside its verdict."""
        if verdict is None or not (verdict.exception or verdict.detail):
            return "{}"
        rest = {**verdict.detail}
        if verdict.exception:
            rest["exception"] = verdict.exception
        return canonical_detail(self.redactor.mask(rest))

    def _renamed(self, foreign: Foreign, notes: dict[str, int]) -> Foreign:
        """Return a foreign record under the private suite's names."""
        value = msgspec.json.decode(foreign.raw)
        theirs = value["episode_id"]
        ours = self._own_names.get(theirs)
        if ours is None:
            text = "no entry in the episode map for some ids: taken as the source writes them"
            notes[text] = notes.get(text, 0) + 1
        else:
            value["episode_id"] = ours
        if self.options.candidate:
            value["candidate_id"] = self.options.candidate
        return foreign._replace(raw=_encode(value))

    def _foreign(self, piece: Piece) -> Foreign | NewRefusal:
        if piece.problem:
            return self.refusal(piece.number, (piece.problem,))
        assert self._by_record is not None  # other readers return attempts, not pieces
        try:
            return self._by_record.read(piece.raw, self.candidate)
        except Rejected as error:
            return self.refusal(piece.number, error.codes)

    def refusal(
        self, number: int, reasons: tuple[str, ...], value: Any = None, suite: str | None = None
    ) -> NewRefusal:
        """Return a refusal with the names that the record states, without raw values. A record
        without a candidate counts for the candidate of the import, whose report counts it."""
        named = value if isinstance(value, dict) else {}
        attempt, episode = named.get("attempt"), named.get("episode_id")
        if suite is None and (meant := self._meant(episode)) is not None:
            suite, episode = meant
            reasons = (*reasons, f"spelled:{episode}")
        whose = self._name(named.get("candidate_id"))
        if whose is None and self.options.candidate and self.options.suite:
            whose, suite = self._name(self.options.candidate), suite or self.options.suite
        return NewRefusal(
            number,
            whose,
            self._name(episode),
            suite,
            attempt if type(attempt) is int and 0 < attempt < 1 << 62 else None,
            tuple(self.redactor.masked(reason) for reason in reasons),
        )

    def _name(self, value: Any) -> str | None:
        return self.redactor.masked(value[:512]) if isinstance(value, str) else None

    def _judge(
        self, number: int, foreign: Foreign, looked: bool | Masked, notes: dict[str, int]
    ) -> NewRefusal | tuple[TargetSuite, Scored]:
        if isinstance(looked, Masked):
            return self._judge_looked(number, foreign, looked, notes)
        if not looked:
            try:
                record = decode(foreign.raw)
            except DecodeError:
                return self._judge_slowly(number, foreign, notes)
            _note_zeros(record, notes)
            return self._place(number, foreign, record)
        if self.probing and self.reader.probe:
            return self._judge_masked(number, foreign, notes)
        return self._judge_slowly(number, foreign, notes)

    def _judge_looked(
        self, number: int, foreign: Foreign, looked: Masked, notes: dict[str, int]
    ) -> NewRefusal | tuple[TargetSuite, Scored]:
        """Judge a probe's record that was masked piece by piece."""
        try:
            if not looked.sound:
                decode(foreign.raw, unique=True)
            record = decode(looked.raw, unique=True)
            if not looked.changed:
                _note_zeros(record, notes)
                return self._place(number, foreign, record)
        except DecodeError:
            return self._judge_slowly(number, foreign, notes)
        masked = looked.raw.count(_MASK) - foreign.raw.count(_MASK)
        if masked:
            notes[MASKED] = notes.get(MASKED, 0) + 1
        return self._place(number, foreign._replace(raw=looked.raw), record, masked)

    def _judge_masked(
        self, number: int, foreign: Foreign, notes: dict[str, int]
    ) -> NewRefusal | tuple[TargetSuite, Scored]:
        """Judge a probe's record that may contain identifiers. Its reader wrote it, so no name is
        repeated and no number is beyond a double; masking itself reports what it found."""
        try:
            decode(foreign.raw)
            value = msgspec.json.decode(foreign.raw)
        except msgspec.DecodeError:
            return self._judge_slowly(number, foreign, notes)
        clean = _encode(self.redactor.mask(value))
        try:
            record = decode(clean)
        except DecodeError:
            return self._judge_slowly(number, foreign, notes)
        masked = clean.count(_MASK) - foreign.raw.count(_MASK)
        if masked:
            notes[MASKED] = notes.get(MASKED, 0) + 1
        return self._place(number, foreign._replace(raw=clean), record, masked)

    def _judge_slowly(
        self, number: int, foreign: Foreign, notes: dict[str, int]
    ) -> NewRefusal | tuple[TargetSuite, Scored]:
        """Judge on the complete path: every reason at once, identifiers found, probes masked."""
        explained = self._explained(foreign.raw)
        value = explained.value
        if self.options.candidate and value is not None and "candidate_id" not in value:
            value = {**value, "candidate_id": self.options.candidate}
            foreign = foreign._replace(raw=_encode(value))
            explained = self._explained(foreign.raw)
        hits = [(p.code, p.seq) for p in explained.problems if p.code.startswith("unredacted:")]
        others = len(explained.problems) > len(hits)
        if self.probing and hits and not others and value is not None:
            clean = _encode(self.redactor.mask(value))
            again = explain(clean, self.redactor)
            if again.trace is not None and not again.problems:
                notes[MASKED] = notes.get(MASKED, 0) + 1
                return self._place(number, foreign._replace(raw=clean), again.trace, len(hits))
            explained = again
        if not explained.problems and explained.trace is not None:
            return self._place_masked(number, foreign, explained.trace, value, notes)
        codes = tuple(_reason(p) for p in explained.problems)
        if others or self.probing:
            return self.refusal(number, codes, value, self._suite_named(value))
        # Only identifiers are wrong, so the typed decoder can be trusted with the other checks.
        try:
            record = decode(foreign.raw)
        except DecodeError:
            return self.refusal(number, (*codes, "type:record"), value, self._suite_named(value))
        return self._unredacted(number, foreign, record, value, hits)

    def _explained(self, raw: bytes) -> Explanation:
        """Return what is wrong with a record, by the rules of the suite that has its episode."""
        explained = explain(raw, self.redactor)
        found = any(problem.code.startswith("unredacted:") for problem in explained.problems)
        episode = explained.value.get("episode_id") if explained.value else None
        target = self.catalogue.find(episode)[0] if isinstance(episode, str) else None
        if not found or target is None or len(self.catalogue.targets) == 1:
            return explained
        return explain(raw, self.catalogue.redactor(target))

    def _place_masked(
        self,
        number: int,
        foreign: Foreign,
        record: TraceRecord,
        value: Any,
        notes: dict[str, int],
    ) -> NewRefusal | tuple[TargetSuite, Scored]:
        """Place a record which no detector of its suite stops, but which an added one may mask: it
        is judged as it came, and stored masked. Its slot is not masked; the record is refused if
        that would be needed."""
        if not self.redactor.maskable(value):
            return self._place(number, foreign, record)
        clean = self.redactor.mask(value)
        clean["episode_id"] = value["episode_id"]
        if clean["candidate_id"] != value["candidate_id"]:
            suite = self._suite_named(value)
            return self.refusal(number, ("unredacted:candidate_id",), value, suite)
        raw = _encode(clean)
        masked = max(1, raw.count(_MASK) - foreign.raw.count(_MASK))
        try:
            shown = decode(raw)
        except DecodeError:
            return self.refusal(number, ("type:record",), value, self._suite_named(value))
        if self.probing:
            placed = self._place(number, foreign._replace(raw=raw), shown, masked)
        else:
            placed = self._place(number, foreign, record, shown=raw)
        if isinstance(placed, NewRefusal):
            return placed
        notes[MASKED] = notes.get(MASKED, 0) + 1
        target, judged = placed
        if self.probing:
            return placed
        return target, kept_masked(judged, shown, raw, masked, self.redactor.masked)

    def _unredacted(
        self,
        number: int,
        foreign: Foreign,
        record: TraceRecord,
        value: Any,
        hits: list[tuple[str, int | None]],
    ) -> NewRefusal | tuple[TargetSuite, Scored]:
        """Place a private record with raw identifiers: its slot is taken, unless it cannot be
        named."""
        codes = tuple(code for code, _ in hits)
        named = any(code.partition(":")[2] in _SLOT_MEMBERS for code in codes)
        target, problem = self.catalogue.find(record.episode_id)
        if named or target is None:
            reasons = (*codes, problem) if problem else codes
            return self.refusal(number, reasons, value, self._suite_named(value))
        if self.options.candidate and record.candidate_id != self.options.candidate:
            return self._other_candidate(number, record)
        paths = [(code.partition(":")[2], seq) for code, seq in hits]
        bare = msgspec.structs.replace(
            record,
            # A number can be an identifier too, and an implausible one cannot be summed.
            cost_usd=_believed(record.cost_usd, "cost_usd", paths),
            latency_ms=_believed(record.latency_ms, "latency_ms", paths),
        )
        force = in_force(target.suite.policy.limits)
        return target, score_unredacted(bare, foreign.raw, paths, force)

    def _meant(self, episode: Any) -> tuple[str, str] | None:
        """Return the suite and the episode that an unknown id spells differently: the attempt took
        place, so a refusal of its record counts for that episode."""
        if not isinstance(episode, str) or self.catalogue.find(episode)[1] != "unknown_episode":
            return None
        found = self.catalogue.meant(episode)
        return None if found is None else (found[0].suite.suite_id, found[1])

    def _suite_named(self, value: Any) -> str | None:
        episode = value.get("episode_id") if isinstance(value, dict) else None
        target = self.catalogue.find(episode)[0] if isinstance(episode, str) else None
        return target.suite.suite_id if target else None

    def _other_candidate(self, number: int, record: TraceRecord) -> NewRefusal:
        named = {"episode_id": record.episode_id, "candidate_id": record.candidate_id}
        return self.refusal(number, (f"other_candidate:{record.candidate_id}",), named)

    def _place(
        self,
        number: int,
        foreign: Foreign,
        record: TraceRecord,
        masked: int = 0,
        shown: bytes | None = None,
    ) -> NewRefusal | tuple[TargetSuite, Scored]:
        named = {"episode_id": record.episode_id, "candidate_id": record.candidate_id}
        if record.cost_usd is not None and record.cost_usd > MOST_USD:
            suite = self._suite_named(named)
            return self.refusal(number, ("too_large:cost_usd",), named, suite)
        if self.probing:
            target = self._probe(foreign.suite)
            return target, judge_probe(record, foreign.raw, foreign.verdict, masked)
        if self.options.candidate and record.candidate_id != self.options.candidate:
            return self._other_candidate(number, record)
        found, problem = self.catalogue.find(record.episode_id)
        if found is None:
            meant = self._meant(record.episode_id) is not None
            told = {**named, "attempt": record.attempt} if meant else named
            return self.refusal(number, (f"{problem}:{record.episode_id}",), told)
        said = said_of_user(record) if found.own else foreign.verdict
        return found, judge(found, record, foreign.raw, said, shown, self.known.get(number))


def _note_zeros(record: TraceRecord, notes: dict[str, int]) -> None:
    if record.cost_usd is None and record.usage != ABSENT and counts_nothing(record.usage):
        notes[ZEROS] = notes.get(ZEROS, 0) + 1


def _session(record: TraceRecord) -> str:
    """Return the name that the record gives its session."""
    raw = bytes(record.source)
    return session_of({"source": json.loads(raw)}) if b'"session"' in raw else ""


def _renamed_session(raw: bytes, theirs: str, ours: str) -> bytes:
    """Return a record with another name for its session; unchanged where it does not have that
    name."""
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return raw
    source = value.get("source") if isinstance(value, dict) else None
    if not isinstance(source, dict) or source.get("session") != theirs:
        return raw
    source["session"] = ours
    return _encode(value)


class Packing:
    """Payloads of one group being collected into packs."""

    def __init__(self, packer: Packer) -> None:
        self.packs: list[Pack] = []
        self._packer = packer
        self._held: list[bytes] = []
        self._size = 0

    def seal(self) -> None:
        if self._held:
            self.packs.append(self._packer.pack(self._held))
            self._held, self._size = [], 0

    def _store(
        self, payload: bytes | None
    ) -> tuple[int | None, int | None, int | None, list[Chunk]]:
        if payload is None:
            return None, None, None, []
        if len(payload) > LARGE:
            return None, None, None, chunk(payload)
        if self._size + len(payload) > PACK_BYTES or len(self._held) == PACK_TRACES:
            self.seal()
        place = len(self.packs), self._size, len(payload)
        self._held.append(payload)
        self._size += len(payload)
        return *place, []

    def add(
        self, target: TargetSuite, judged: Scored, number: int, title: str, detail: str = "{}"
    ) -> JudgedRecord:
        record, verdict, source = judged.record, judged.verdict, judged.source
        pack, offset, length, chunks = self._store(judged.payload)
        stored = judged.payload is not None
        trace = NewTrace(
            0,  # no slot yet
            0,
            0,
            number,
            pack,
            offset,
            length,
            judged.gates,
            verdict.passed,
            verdict.critical,
            verdict.infrastructure,
            _unsigned(record.cost_usd),
            _unsigned(record.latency_ms),
            verdict.steps,
            verdict.timeouts,
            len(record.events),
            record.termination if stored else None,
            final_state_text(record) if stored else None,
            judged.evidence,
            judged.sha256,
            judged.diagnostics,
            verdict.findings,
            chunks,
            None if source is None else (source.passed, _reward(source.reward), detail),
        )
        suite_id = target.suite.suite_id
        return JudgedRecord(
            number, suite_id, record.candidate_id, record.episode_id, record.attempt, title, trace
        )


@lru_cache(maxsize=64)
def probe_suite(suite_id: str) -> Suite:
    """Return a public benchmark as a suite: identified by its name, its episodes named by its
    files. The reader is not part of its identity: scaffolds with several formats attempt one
    benchmark."""
    identity = {"schema": "reviewer/probe@1", "suite_id": suite_id}
    raw = json.dumps(identity, sort_keys=True, separators=(",", ":")).encode()
    return Suite(
        suite_id=suite_id,
        title=f"{suite_id} (probe: never certifies a release)",
        digest=hashlib.sha256(raw).hexdigest(),
        probe=True,
        policy=Policy(attempts=1),
        source=identity,
    )


def _unsigned(value: float | None) -> float | None:
    """Return a zero without a sign: SQLite stores none, so the digest of what was written would
    differ from that of what is stored."""
    return None if value is None else value + 0.0


def _reward(value: float | None) -> float | None:
    """Return a reward for a column: a finite double, which may be negative."""
    try:
        number = None if value is None else float(value)
    except OverflowError:
        return None
    return number if number is not None and math.isfinite(number) else None


def _believed(number: float | None, name: str, hits: list[tuple[str, int | None]]) -> float | None:
    if number is None or any(path == name for path, _ in hits):
        return None
    return None if name == "cost_usd" and number > MOST_USD else number


def _reason(problem: Problem) -> str:
    """Return the code; for an unknown name also the one that was probably meant."""
    near = problem.code.startswith("unknown:") and problem.detail
    return f"{problem.code} ({problem.detail})" if near else problem.code


def _encode(value: Any) -> bytes:
    return msgspec.json.encode(value)
