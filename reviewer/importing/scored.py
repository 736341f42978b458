"""Judge one record against its suite: the verdict, and what is stored of the record.

`Catalogue` has the suites that an import may fill, with contracts compiled once and redaction
rules. A `Group` of judged records is small enough to be sent between processes.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from reviewer.db.codec import mask_of, pack_diagnostics
from reviewer.db.intake import NewRefusal, NewTrace
from reviewer.db.payload import Pack
from reviewer.gates import (
    Contract,
    Diagnostics,
    Verdict,
    acts_of,
    compile_contract,
    diagnose,
    redaction_only,
    score,
)
from reviewer.gates.custom import Checked
from reviewer.gates.model import Finding, Result
from reviewer.gates.verdict import NOTHING_CHECKED
from reviewer.suite.gates import ALWAYS, FINDING_ORDER, GATES
from reviewer.suite.model import Episode, RedactionRules, Suite
from reviewer.suite.tool_names import NO_MAP, ToolMap
from reviewer.trace import late
from reviewer.trace.record import SourceVerdict, TraceRecord
from reviewer.trace.redaction import Redactor, redactor_of
from reviewer.trace.rules import ADDED

if TYPE_CHECKING:
    from reviewer.running.checks.host import CheckHost


class TargetSuite:
    """One suite for an import: its contracts are compiled once. `contracts` are those of a suite
    that is given without its episodes."""

    def __init__(
        self,
        suite: Suite,
        own: bool = False,
        tools: ToolMap = NO_MAP,
        contracts: Mapping[str, Episode] | None = None,
    ) -> None:
        self.suite = suite
        self.own, self.tools = own, tools
        """Whether the records come from reviewer's own runner, and the import's map of tools."""
        self._episodes: Mapping[str, Episode] = (
            {episode.episode_id: episode for episode in suite.episodes}
            if contracts is None
            else contracts
        )
        self._contracts: dict[str, Contract] = {}
        self._spelled: dict[str, list[str]] | None = None
        self._checks: tuple[CheckHost, Redactor] | None = None

    def has(self, episode_id: str) -> bool:
        """Return whether the suite has an episode."""
        return episode_id in self._episodes

    def spelled(self, episode_id: str) -> str | None:
        """Return the only episode whose id equals this one except for case, width and
        separators."""
        if self._spelled is None:
            self._spelled = {}
            for known in self._episodes:
                self._spelled.setdefault(_letters(known), []).append(known)
        found = self._spelled.get(_letters(episode_id), [])
        return found[0] if len(found) == 1 else None

    def contract(self, episode_id: str) -> Contract:
        contract = self._contracts.get(episode_id)
        if contract is None:
            contract = compile_contract(
                self._episodes[episode_id],
                self.own,
                self.tools,
                self.suite.policy.limits,
                self.suite.check_names,
            )
            self._contracts[episode_id] = contract
        return contract

    def checked(
        self, record: TraceRecord, shown: bytes, only: frozenset[str] | None = None
    ) -> Checked:
        """Return the findings of the suite's own checks, or of `only` some of them, in a record;
        they receive its stored form (`shown`)."""
        checks = self.suite.own_checks
        if only is not None:
            checks = tuple(check for check in checks if check.name in only)
        if not checks:
            return NOTHING_CHECKED
        if self._checks is None:
            from reviewer.running.checks.host import CheckHost  # few suites have checks

            self._checks = CheckHost(), redactor_of(self.suite.redaction)
        host, redactor = self._checks
        episode = self._episodes[record.episode_id]
        return host.checked(checks, record.candidate_id, shown, episode, redactor)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name).casefold()))


class Catalogue:
    """The private suites among which an import may choose, by the names in the records."""

    def __init__(self, targets: list[TargetSuite]) -> None:
        self.targets = targets
        self._redactor: Redactor | None = None

    def redactor(self, of: TargetSuite | None = None) -> Redactor:
        """Return one set of rules, strict enough for every suite. An added detector applies only to
        records of a suite that was frozen with it: with `of`, the rules are those of that suite."""
        if of is not None:
            return self._made(of)
        if self._redactor is None:
            self._redactor = self._made(None)
        return self._redactor

    def _made(self, of: TargetSuite | None) -> Redactor:
        rules = [target.suite.redaction for target in self.targets]
        added = set(ADDED if of is None else of.suite.redaction.detectors)
        allowed = [set(rule.allow_keys) for rule in rules]
        return redactor_of(
            RedactionRules(
                keys=tuple({key for rule in rules for key in rule.keys}),
                allow_keys=tuple(set.intersection(*allowed)),
                detectors=tuple(
                    {n for rule in rules for n in rule.detectors if n not in ADDED or n in added}
                ),
            )
        )

    def find(self, episode_id: str) -> tuple[TargetSuite | None, str]:
        """Return the only suite that has this episode, or the refusal code."""
        holders = [target for target in self.targets if target.has(episode_id)]
        if len(holders) == 1:
            return holders[0], ""
        return None, "ambiguous_suite" if holders else "unknown_episode"

    def meant(self, episode_id: str) -> tuple[TargetSuite, str] | None:
        """Return the only suite and episode that an unknown id spells differently."""
        if not any(map(str.isalnum, episode_id)):
            return None
        found = [(one, known) for one in self.targets if (known := one.spelled(episode_id))]
        return found[0] if len(found) == 1 else None


class JudgedRecord(NamedTuple):
    """One judged record without its payload: the names of its slot, and in `trace` the row to be
    written (without a slot yet; its `pack` is one of the group's). `attempt` is the number that the
    record names. `replaces`, `identity`, `names` and `read_with` are as in the reader's `Foreign`;
    `another` means that it is known to be a further record of the attempt whose number it has (in a
    merge)."""

    number: int
    suite_id: str
    candidate_id: str
    episode_id: str
    attempt: int | None
    title: str
    trace: NewTrace
    replaces: tuple[int, int] | None = None
    identity: str = ""
    another: bool = False
    names: tuple[str, ...] = ()
    read_with: frozenset[int] = frozenset()

    def with_trace(self, **changes: Any) -> "JudgedRecord":
        """Return the same record with these members of its trace changed."""
        return self._replace(trace=self.trace._replace(**changes))

    def refused(self, *codes: str) -> NewRefusal:
        """Return the refusal of the record, by these codes."""
        place = self.number, self.candidate_id, self.episode_id, self.suite_id, self.attempt
        return NewRefusal(*place, codes)


class Group(NamedTuple):
    """A run of records, judged. `records` counts them all; numbers start at `first`. `flagged` are
    those of `judged` that contained raw identifiers: nothing of them may be stored."""

    first: int
    records: int
    judged: list[JudgedRecord]
    packs: list[Pack]
    refused: list[NewRefusal]
    notes: dict[str, int]
    flagged: list[NewRefusal]


FINAL_STATE_CHARS = 500
MASKED_CODE = "masked"
"""The note on a trace of which a part was masked before storing."""
_NO_CONTRACT = compile_contract(Episode(episode_id="probe"))


class Scored(NamedTuple):
    """A record with its verdict. `payload` is None when nothing of it may be stored."""

    record: TraceRecord
    verdict: Verdict
    gates: int
    diagnostics: bytes | None
    payload: bytes | None
    evidence: int
    sha256: bytes
    source: SourceVerdict | None = None


def said_of_user(record: TraceRecord) -> SourceVerdict | None:
    """Return the facts about the simulated user in a record of reviewer's runner: its cost,
    tokens and errors are stored beside the attempt, and do not count for the agent. None without
    a user."""
    source = bytes(record.source)
    if b'"user":' not in source:
        return None
    told = json.loads(source)
    said = {
        name: told[name] for name in ("user", "simulated_user") if isinstance(told.get(name), dict)
    }
    return SourceVerdict(detail=said) if "user" in said else None


def judge(
    target: TargetSuite,
    record: TraceRecord,
    raw: bytes,
    source: SourceVerdict | None = None,
    shown: bytes | None = None,
    known: tuple[bytes, int] | None = None,
) -> Scored:
    """Score a clean record of a private suite against its frozen contract. `shown` is its stored
    form, where that is masked, and `known` its digests where another store has them."""
    contract = target.contract(record.episode_id)
    acts = acts_of(record, contract.aliases)
    checked = target.checked(record, raw if shown is None else shown)
    verdict = score(contract, record, acts=acts, checked=checked)
    digest, evidence = digests(raw) if known is None else known
    return Scored(
        record,
        verdict,
        mask_of(verdict),
        pack_diagnostics(diagnostic_values(diagnose(contract, record, verdict, acts=acts))),
        raw,
        evidence,
        digest,
        source,
    )


def diagnostic_values(found: Diagnostics) -> tuple[float | None, ...]:
    """Return the diagnostics in the order of `reviewer.db.codec.DIAGNOSTICS`."""
    return (
        found.tool_precision,
        found.tool_recall,
        found.tool_f1,
        found.order,
        found.efficiency,
        found.argument_accuracy,
    )


def score_unredacted(
    record: TraceRecord,
    raw: bytes,
    hits: list[tuple[str, int | None]],
    in_force: tuple[str, ...],
) -> Scored:
    """Judge a private record with raw identifiers: its slot is kept, its payload and its behavior
    are not looked at, and the critical finding names only paths."""
    verdict = redaction_only(hits, in_force)
    digest, evidence = digests(raw)
    return Scored(record, verdict, mask_of(verdict), None, None, evidence, digest)


def kept_masked(
    judged: Scored, shown: TraceRecord, raw: bytes, masked: int, text: Callable[[str], str]
) -> Scored:
    """Return a verdict on a record as it came, with the masked record `shown` (`raw` are its bytes)
    to be stored instead. The masked one cannot be judged again, which a note on the number of
    `masked` values says. The identity of the evidence is that of the record as it came."""
    detail = f"{masked} values were masked before storing"
    stated = [
        finding._replace(code=text(finding.code), detail=text(finding.detail))
        for finding in judged.verdict.findings
    ]
    stated.append(Finding("redaction", MASKED_CODE, "note", None, detail))
    stated.sort(key=lambda finding: FINDING_ORDER.index(finding.gate))
    return judged._replace(
        record=shown,
        verdict=msgspec.structs.replace(judged.verdict, findings=tuple(stated)),
        payload=raw,
        sha256=hashlib.sha256(raw).digest(),
    )


def judge_probe(
    record: TraceRecord, raw: bytes, source: SourceVerdict | None, masked: int
) -> Scored:
    """Judge a probe's record: the source's verdict decides pass or fail, and gates that its
    contract cannot measure are not measured."""
    contract_free: dict[str, Result] = dict.fromkeys(ALWAYS, "not_measured")
    contract_free["completeness"] = "pass"
    findings: list[Finding] = []
    if masked:
        detail = f"{masked} values were masked before storing"
        findings.append(Finding("redaction", MASKED_CODE, "note", None, detail))
    else:
        contract_free["redaction"] = "pass"
    own = score(_NO_CONTRACT, record)
    unread = [one for one in own.findings if one.code.startswith(("unread:", "contradiction:"))]
    if unread:
        contract_free["completeness"] = "not_measured"
    timeouts = [finding for finding in own.findings if finding.gate == "timeout"]
    contract_free["timeout"] = own.results[GATES.index("timeout")]
    if record.termination is None:
        contract_free["timeout"] = "not_measured"
    verdict = Verdict(
        results=tuple(contract_free.get(gate, "pass") for gate in GATES),
        findings=(*unread, *findings, *timeouts),
        passed=None if own.infrastructure or source is None else source.passed,
        critical=False,
        steps=own.steps,
        timeouts=own.timeouts,
        infrastructure=own.infrastructure,
    )
    digest, evidence = digests(raw)
    return Scored(record, verdict, mask_of(verdict), None, raw, evidence, digest, source)


def digests(raw: bytes) -> tuple[bytes, int]:
    """Return (sha256 of the record, identity of its evidence). The second ignores which slot the
    record claims, so that the same run offered as another attempt or candidate is recognized."""
    # The slot usually comes first; cutting it out of a short head avoids copying the rest.
    plain = _PLAIN.match(raw)
    if plain is None and _SLOT[0] not in raw:
        plain = _UNNUMBERED.match(raw)
    if plain is not None:
        evidence = hashlib.sha256(b"{" + b"".join(plain.groups(b"")))
        evidence.update(memoryview(raw)[plain.end() :])
    else:
        evidence = hashlib.sha256(_slotless(raw))
    return hashlib.sha256(raw).digest(), int.from_bytes(evidence.digest()[:8], "big", signed=True)


_SLOT = (b'"attempt"', b'"candidate_id"')
_BLANK = b" \t\r\n"
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_TOKEN = late(_STRING + rb"|[{}\[\]]", re.DOTALL)
_SCALAR = late(rb"[ \t\r\n]*+:[ \t\r\n]*+(?:" + _STRING + rb'|[^",{}\[\]]++)', re.DOTALL)
_HELD = rb'((?:[ \t\r\n]*+"(?:schema|episode_id|started_at)"[ ]?:[ ]?"[^"\\]*+",)*+)'
_NAMED = rb"\{" + _HELD + rb'[ \t\r\n]*+"candidate_id"[ ]?:[ ]?"[^"\\]*+",[ \t\r\n]*+'
_UNNUMBERED = re.compile(_NAMED)
_PLAIN = re.compile(_NAMED + _HELD + rb'[ \t\r\n]*+"attempt"[ ]?:[ ]?[0-9]++,[ \t\r\n]*+')
"""The usual head: both slot members among the first, in this order, nothing opened before them; and
that of a record without a number."""


def _slotless(text: bytes) -> bytes:
    """Return `text` without the record's own slot members, each with one neighboring comma and the
    white space around it."""
    for member in _SLOT:
        start, end = _place(text, member)
        if start < 0:
            continue
        before, after = text[:start].rstrip(_BLANK), text[end:].lstrip(_BLANK)
        if after.startswith(b","):
            after = after[1:].lstrip(_BLANK)
        elif before.endswith(b","):
            before = before[:-1]
        text = before + after
    return text


def _place(raw: bytes, member: bytes) -> tuple[int, int]:
    """Return where `member: scalar` lies in the record itself, (-1, -1) when it does not.

    Arguments and observations may contain members of that name too, and those are evidence.
    """
    start = raw.find(member)
    if start < 0:
        return -1, -1
    found = _SCALAR.match(raw, start + len(member))
    if found is not None and raw.count(b"{", 0, start) == 1:
        return start, found.end()  # the usual order of members: nothing was opened before it
    depth = 0
    for token in _TOKEN.finditer(raw):
        text = token.group()
        if text in (b"{", b"["):
            depth += 1
        elif text in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and text == member:
            found = _SCALAR.match(raw, token.end())
            if found is not None:
                return token.start(), found.end()
    return -1, -1


def final_state_text(record: TraceRecord) -> str | None:
    """Return the end state for a column: a string as it is, anything else as short JSON, null as
    None."""
    raw = bytes(record.final_state)
    if raw == b"null":
        return None
    if raw[:1] == b'"' and b"\\" not in raw:
        return raw[1:-1].decode()[:FINAL_STATE_CHARS]
    value = json.loads(raw)
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()[:FINAL_STATE_CHARS]
