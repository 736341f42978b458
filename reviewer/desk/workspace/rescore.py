"""Judging stored traces again, against the frozen suites they were imported under."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from reviewer.db import journal, payload, registry, revisions
from reviewer.db.codec import mask_of, pack_diagnostics
from reviewer.db.connection import Connection, close_writer, one_moment, transaction
from reviewer.db.counts import rebuild_firsts, rebuild_rolls
from reviewer.db.digests import batch_digest, batches_of
from reviewer.db.intake import replace_verdict
from reviewer.db.integrity import content_faults
from reviewer.db.queries.traces import FindingRow, TraceRow, findings_of, traces_of
from reviewer.db.revisions import judged_record, kept_records, stored_verdict
from reviewer.db.schema import open_writer
from reviewer.db.sources import Origins, origins
from reviewer.db.verdict_changes import record_rescored
from reviewer.desk.errors import DeskError
from reviewer.desk.imports.importing import clock
from reviewer.desk.place import Workspace
from reviewer.desk.suites import ready_suite
from reviewer.desk.traces.records import Records
from reviewer.gates import Contract, Verdict, compile_contract, diagnose, score
from reviewer.gates.custom import Checked, joined_results, stored_results, unmeasured_checks
from reviewer.gates.model import SHARED, Finding, combined, without
from reviewer.importing.pipeline.rejoining import part_of
from reviewer.importing.scored import MASKED_CODE, TargetSuite, diagnostic_values
from reviewer.suite.model import Episode
from reviewer.suite.tool_names import ToolMap
from reviewer.trace.record import TraceRecord

PAGE = 500


class Change(NamedTuple):
    """A trace whose codes changed, and the versions of the code that gave them; the first is empty
    where it is not known."""

    trace_id: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    code_before: str = ""
    code_after: str = ""


def rescore(workspace: Workspace, suite_id: str) -> tuple[list[Change], int]:
    """Score every stored payload of one private suite, or of all. A trace without a payload keeps
    its verdict: a redaction failure is never erased; so does a trace that was judged before
    something in it was masked, since the masked text cannot show it any more. Returns the changes
    and how many traces were scored. Raises DeskError for a broken suite."""
    if not workspace.store.exists():
        raise DeskError("the store is empty: reviewer import reads traces into it")
    connection = open_writer(workspace.store)
    changes: list[Change] = []
    scored = 0
    try:
        rows = [row for row in registry.suites(connection) if not row.probe]
        if suite_id:
            rows = [row for row in rows if row.suite_id == suite_id]
            if not rows:
                raise DeskError(f"no trace of a private suite {suite_id} is in this store")
        with one_moment(connection):
            wrong = content_faults(connection)
        if wrong:
            # Judging again would cover with a new digest what was changed by other means.
            raise DeskError(
                f"the store is not as its journal says: {'; '.join(wrong[:5])}",
                "reviewer doctor says all of it; restore a backup",
            )
        made = origins(connection)
        for row in rows:
            held = ready_suite(workspace, connection, row.suite_id)
            episodes = {e.episode_id: e for e in held.suite.episodes}
            contracts: dict[tuple[str, bool, ToolMap], Contract] = {}
            names = {key: name for name, key in registry.episode_ids(connection, row.id).items()}
            limits, checks = held.suite.policy.limits, held.suite.check_names
            target = TargetSuite(held.suite)
            changed: list[int] = []
            codes: list[tuple[int, tuple[str, ...], tuple[str, ...]]] = []
            with transaction(connection, workspace.store):
                for candidate in registry.candidates(connection, row.id):
                    for trace in traces_of(connection, candidate.id, names):
                        record = _record(connection, trace)
                        if record is None:
                            continue
                        stated = findings_of(connection, [trace.id])
                        if any(finding.code == MASKED_CODE for finding in stated):
                            continue
                        scored += 1
                        episode = episodes[names[trace.episode]]
                        of = partial(_contract, made, contracts, limits, checks, episode)
                        contract = of(trace.source, trace.record)
                        now = _measured_now(connection, target, trace, record, stated)
                        checked = joined_results(stored_results(checks, stated), now)
                        own = score(contract, record, checked=checked)
                        verdict = _whole(connection, trace.id, of, contract.in_force, own)
                        before, after = _printed(stated), _printed(verdict.findings)
                        other = before != after or mask_of(verdict) != trace.gates
                        if other:
                            codes.append((trace.id, before, after))
                            prefix = f"{row.suite_id}/{candidate.candidate_id}"
                            changes.append(
                                Change(
                                    f"{prefix}/{names[trace.episode]}/{trace.attempt}",
                                    before,
                                    after,
                                )
                            )
                        # Notes, which are only shown, may have been added too.
                        if other or len(stated) != len(verdict.findings):
                            diagnostics = pack_diagnostics(
                                diagnostic_values(diagnose(contract, record, verdict))
                            )
                            replace_verdict(connection, trace.id, verdict, diagnostics)
                            changed.append(trace.id)
                    planned = registry.plan_of(held.suite, candidate.planned)
                    rebuild_rolls(connection, candidate.id, planned)
                    rebuild_firsts(connection, candidate.id, planned)
                if changed:
                    versions = record_rescored(connection, codes, clock())
                    told = changes[len(changes) - len(versions) :]
                    changes[len(changes) - len(versions) :] = [
                        change._replace(code_before=old, code_after=new)
                        for change, (old, new) in zip(told, versions, strict=True)
                    ]
                    note_rescore(connection, row.suite_id, changed)
    finally:
        close_writer(connection, workspace.store)
    return changes, scored


def _contract(
    made: Origins,
    known: dict[tuple[str, bool, ToolMap], Contract],
    limits: dict[str, int],
    checks: tuple[str, ...],
    episode: Episode,
    source: int,
    record: int,
) -> Contract:
    """Return the contract of an episode, compiled for a file's own map of tools or for our own
    runner."""
    place = episode.episode_id, made.own(source, record), made.tools(source, record)
    if place not in known:
        known[place] = compile_contract(episode, *place[1:], limits, checks)
    return known[place]


def _whole(
    connection: Connection,
    trace: int,
    of: Callable[[int, int], Contract],
    in_force: tuple[str, ...],
    own: Verdict,
) -> Verdict:
    """Return the verdict of an attempt by all its records; records without a stored payload keep
    the findings they came with."""
    kept = kept_records(connection, trace)
    head = judged_record(connection, trace) if kept else None
    earlier: list[Finding] = []
    beside: list[Finding] = []
    for one in kept:
        found = one.findings
        masked = any(finding.code == MASKED_CODE for finding in found)
        if one.raw is not None and head is not None and not masked and part_of(one.raw, head):
            continue  # its calls are judged with the whole record
        if one.raw is not None and not masked:
            contract = of(one.source, one.record)
            checked = stored_results(contract.checks, found)
            found = score(contract, payload.decode_record(one.raw), checked=checked).findings
        (earlier if one.settled else beside).extend(found)
    contradicted = revisions.contradicted(connection, trace)
    if contradicted:
        beside += earlier
    open_state = all(one.open_state for one in kept)
    verdict = combined(
        own,
        earlier,
        beside,
        contradicted=contradicted,
        open_state=open_state,
        in_force=in_force,
    )
    shared = [f for f in stored_verdict(connection, trace).findings if f.code == SHARED]
    return without(verdict, shared[0]) if shared else verdict


def _measured_now(
    connection: Connection,
    target: TargetSuite,
    trace: TraceRow,
    record: TraceRecord,
    stated: Iterable[FindingRow],
) -> Checked:
    """Return what the checks that were not measured on a stored record find in it now. One that was
    measured is not run again."""
    names = frozenset(unmeasured_checks(stated))
    if not names:
        return {}
    raw = payload.raw_record(connection, trace.pack, trace.offset, trace.length)
    raw = payload.large_record(connection, trace.id) if raw is None else raw
    return {} if raw is None else target.checked(record, raw, names)


def _printed(found: Iterable[FindingRow | Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f.code for f in found if f.severity != "note"))


def note_rescore(connection: Connection, suite_id: str, changed: list[int]) -> None:
    """Record a change of verdicts in the journal, with the digests of the batches as they are
    now."""
    journal.append(
        connection,
        {
            "type": "traces.rescored",
            "suite_id": suite_id,
            "changed": len(changed),
            "batches": {
                str(first): batch_digest(connection, first, count)
                for first, count in batches_of(connection, changed).items()
            },
            "at": clock(),
        },
    )


def _record(connection: Connection, trace: TraceRow) -> TraceRecord | None:
    record = Records().whole(connection, trace)
    if record is not None or trace.pack is not None:
        return record
    head = payload.large_head(connection, trace.id)
    if head is None:
        return None
    import msgspec

    events = payload.large_events(connection, trace.id, 0, trace.events)
    return msgspec.structs.replace(head, events=events)
