"""A stored trace to make an episode from, with its suite's facts about its episode. Runs of drafts
may be used too: an episode is no evidence, and its source says that it comes from a draft."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from reviewer.db import contracts, payload
from reviewer.db.connection import Connection
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import DeskState
from reviewer.desk.place import DRAFTS, STORE
from reviewer.desk.suites import ready_suite
from reviewer.desk.traces.records import TracePlace, locate
from reviewer.exit_codes import ExitCode
from reviewer.importing.recorded import story
from reviewer.importing.recorded.episode import STORED, SourceTrace
from reviewer.importing.recorded.known import Known
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import locked_files
from reviewer.suite.strict_json import canonical_bytes, sha256_hex
from reviewer.suite.toolset import equipped
from reviewer.suite.values import load_trusted_toolset
from reviewer.trace.record import TraceRecord


class StoredTrace(NamedTuple):
    """A trace of a store. `known` is None where its suite has no contract of its episode."""

    source: SourceTrace
    known: Known | None


def stored_trace(opened: DeskState, trace_id: str) -> StoredTrace:
    """Return a trace of the store, else of the runs of a draft, the newest first. Raises NotUsable,
    DeskError."""
    why: DeskError | None = None
    if opened.has_store():
        try:
            return _read(opened, trace_id)
        except DeskError as error:
            why = error
    for draft in _drafts(opened, trace_id.partition("/")[0]):
        with _opened(draft):
            try:
                return _read(draft, trace_id)
            except DeskError as error:
                why = why or error
    if why is None:
        text = f"{trace_id}: is not a file, and this workspace has no store"
        raise DeskError(
            text,
            "name a file, or run reviewer import FILE and name the id of its trace",
            exit_code=ExitCode.USAGE,
        )
    raise why


def _drafts(opened: DeskState, suite_id: str) -> Iterator[DeskState]:
    """Yield the stores of a draft, one for each of its versions, that of the last run first."""
    folder = opened.place.suite_folder(suite_id).name
    stores = list((opened.place.root / DRAFTS / folder).glob(f"*/{STORE}"))
    for path in sorted(stores, key=lambda one: -one.stat().st_mtime):
        place = opened.place._replace(draft=suite_id, version=path.parent.name)
        if place != opened.place:
            yield DeskState(place)


@contextmanager
def _opened(state: DeskState) -> Iterator[None]:
    try:
        yield
    finally:
        state.readers.close()


def _read(opened: DeskState, trace_id: str) -> StoredTrace:
    with opened.reading() as connection:
        place = locate(connection, trace_id)
        row = place.row
        raw = payload.stored_record(connection, row.id, row.pack, row.offset, row.length)
        if raw is None:
            raise DeskError(
                f"{trace_id}: its content was refused and is not in the store",
                "name the file that it was imported from",
            )
        record = payload.decode_record(raw)
        told = _source_of(record)
        known = _known(opened, connection, place, told)
    of: dict[str, Any] | None = None
    if known is not None or opened.place.draft:
        of = {
            "suite": place.suite.suite_id,
            "digest": place.suite.digest,
            "episode": place.episode_id,
            **({"draft": True} if opened.place.draft else {}),
        }
    form = told.get("format")
    source = SourceTrace(
        story.story_of(record, trace_id), trace_id, row.sha256.hex(),
        form if isinstance(form, str) else "reviewer", STORED, of,
    )  # fmt: skip
    return StoredTrace(source, known)


def _known(
    opened: DeskState, connection: Connection, place: TracePlace, told: dict[str, Any]
) -> Known | None:
    """Return the contract by which the trace was judged, with the toolset of the suite's folder.
    Both certainly apply to the trace where the folder has the suite's digest, or where the trace's
    run recorded the digest of this same simulator."""
    episode = contracts.episode(connection, place.episode)
    if episode is None or place.suite.probe:
        return None
    try:
        folder = opened.place.suite_folder(place.suite.suite_id)
        toolset = load_trusted_toolset(locked_files(folder)) if folder.is_dir() else None
        whole = equipped(episode, toolset)
        digest = sha256_hex(canonical_bytes(whole.simulator, "simulator"))
    except (ContractError, DeskError):
        return Known(episode, sure=False)
    ran = told.get("ran")
    if isinstance(ran, dict) and isinstance(ran.get("simulator"), str):
        return Known(whole, sure=digest == ran["simulator"])
    try:
        ready = ready_suite(opened.place, connection, place.suite.suite_id)
    except DeskError:
        return Known(whole, sure=False)
    return Known(whole, sure=ready.suite.digest == place.suite.digest)


def _source_of(record: TraceRecord) -> dict[str, Any]:
    try:
        source = json.loads(bytes(record.source) or b"{}")
    except ValueError:
        return {}
    return source if isinstance(source, dict) else {}
