"""What judging makes of records, small enough to travel between processes.

One record, judged: from bytes to facts, findings and the payload that may be kept.
"""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from reviewer.db.codec import mask_of, pack_diagnostics
from reviewer.db.intake import Chunk, NewRefusal, Pack
from reviewer.gates import (
    Diagnostics,
    Verdict,
    acts_of,
    compile_contract,
    diagnose,
    redaction_only,
    score,
)
from reviewer.gates.model import Finding, Result
from reviewer.importing.catalogue import Target
from reviewer.suite.gates import ALWAYS, FINDING_ORDER, GATES
from reviewer.suite.model import Episode
from reviewer.trace import late
from reviewer.trace.record import SourceVerdict, TraceRecord


class Facts(NamedTuple):
    """One judged record without its payload. `pack`, `offset`, `length` say where that stands in
    the group's packs; all None when nothing of it may be stored, or when it is in `chunks`.
    `replaces`, `identity`, `names` and `read_with` are as the reader's `Foreign` has them;
    `another` says that it is known to be one more record of the attempt whose number it has (in a
    merge)."""

    number: int
    suite_id: str
    candidate_id: str
    episode_id: str
    attempt: int | None
    title: str
    gates: int
    passed: bool | None
    critical: bool
    infra: bool
    cost_usd: float | None
    latency_ms: float | None
    steps: int
    timeouts: int
    events: int
    termination: str | None
    final_state: str | None
    evidence: int
    sha256: bytes
    pack: int | None
    offset: int | None
    length: int | None
    diagnostics: bytes | None
    findings: tuple[Finding, ...]
    chunks: Sequence[Chunk]
    verdict: tuple[bool | None, float | None, str] | None
    replaces: tuple[int, int] | None = None
    identity: str = ""
    another: bool = False
    names: tuple[str, ...] = ()
    read_with: frozenset[int] = frozenset()


class Group(NamedTuple):
    """A run of records, judged. `records` counts them all; numbers start at `first`. `flagged` are
    those of `facts` that held raw identifiers: judged, but nothing of them may be stored."""

    first: int
    records: int
    facts: list[Facts]
    packs: list[Pack]
    refused: list[NewRefusal]
    notes: dict[str, int]
    flagged: list[NewRefusal]


FINAL_STATE_CHARS = 500
MASKED_CODE = "masked"
"""The note on a trace of which something was masked before storing."""
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


def judge(target: Target, record: TraceRecord, raw: bytes) -> Scored:
    """Score a clean record of a private suite against its frozen contract."""
    contract = target.contract(record.episode_id)
    acts = acts_of(record, contract.aliases)
    verdict = score(contract, record, acts=acts)
    digest, evidence = digests(raw)
    return Scored(
        record,
        verdict,
        mask_of(verdict),
        pack_diagnostics(diagnostic_values(diagnose(contract, record, verdict, acts=acts))),
        raw,
        evidence,
        digest,
    )


def diagnostic_values(found: Diagnostics) -> tuple[float | None, ...]:
    """In the order of `reviewer.db.codec.DIAGNOSTICS`."""
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
    """A private record with raw identifiers: its slot is kept, its payload and its behaviour are
    not looked at, and the critical finding names paths only."""
    verdict = redaction_only(hits, in_force)
    digest, evidence = digests(raw)
    return Scored(record, verdict, mask_of(verdict), None, None, evidence, digest)


def kept_masked(
    judged: Scored, shown: TraceRecord, raw: bytes, masked: int, text: Callable[[str], str]
) -> Scored:
    """A verdict on a record as it came, with the masked record `shown` (`raw` are its bytes) to be
    kept in its place. The masked one cannot be judged again, and the note that `masked` values were
    masked says so. What identifies the evidence is that of the record as it came."""
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
    """A probe's record: the source's verdict stands for pass or fail, and gates that its contract
    does not let us measure say so."""
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
    """(sha256 of the record, identity of its evidence): the second leaves out which slot the
    record claims, so the same run offered as another attempt or candidate is seen."""
    # The slot stands in front as a rule; cutting it out of a short head spares copying the rest.
    plain = _PLAIN.match(raw)
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
_PLAIN = re.compile(
    rb"\{" + _HELD + rb'[ \t\r\n]*+"candidate_id"[ ]?:[ ]?"[^"\\]*+",[ \t\r\n]*+'
    + _HELD + rb'[ \t\r\n]*+"attempt"[ ]?:[ ]?[0-9]++,[ \t\r\n]*+'
)  # fmt: skip
"""The usual head: both slot members among the first, in this order, nothing opened before them."""


def _slotless(text: bytes) -> bytes:
    """`text` less the record's own slot members, each with one neighboring comma and all blanks
    around."""
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
    """Where `member: scalar` stands in the record itself, (-1, -1) when it does not.

    Arguments and observations may hold members of that name too, and those are evidence.
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
    """The end state as a column: a string as it is, anything else as short JSON, null as None."""
    raw = bytes(record.final_state)
    if raw == b"null":
        return None
    if raw[:1] == b'"' and b"\\" not in raw:
        return raw[1:-1].decode()[:FINAL_STATE_CHARS]
    value = json.loads(raw)
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()[:FINAL_STATE_CHARS]
