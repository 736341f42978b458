"""Attempts that are played: tasks, and functions that stand in for running them."""

import asyncio
import json
import os
import signal
from typing import Any

from doors import SHIPPED, SUITE, V8

from reviewer.running.cut_off import CutOff
from reviewer.running.model import (
    ApprovalRequest,
    Approver,
    FinishedAttempt,
    Slot,
    Task,
    Unrunnable,
)
from reviewer.suite.candidate import read_candidate
from reviewer.suite.folder import read_suite

_SUITE = read_suite(SHIPPED).suite
_EPISODE = _SUITE.episodes[0]
_CANDIDATE = read_candidate((SHIPPED / "candidates" / f"{V8}.json").read_bytes(), "v8")


def task(attempt: int, **changes: Any) -> Task:
    fields: dict[str, Any] = {
        "slot": Slot(SUITE, V8, _EPISODE.episode_id, attempt),
        "episode": _EPISODE,
        "candidate": _CANDIDATE,
        "redaction": _SUITE.redaction,
        "folder": str(SHIPPED),
    }
    return Task(**{**fields, **changes})


def tasks(count: int, **changes: Any) -> list[Task]:
    return [task(n, **changes) for n in range(1, count + 1)]


def record(of: Task, **members: Any) -> FinishedAttempt:
    named = {"episode_id": of.slot.episode_id, "candidate_id": of.slot.candidate_id}
    named["attempt"] = of.slot.attempt
    return FinishedAttempt(of.slot, json.dumps({**named, **members}).encode())


async def at_once(of: Task, approver: Approver | None) -> FinishedAttempt:
    await asyncio.sleep(0)
    return record(of, pid=os.getpid())


async def seed_of(of: Task, approver: Approver | None) -> FinishedAttempt:
    return record(of, seed=of.seed)


async def killed_at_first(of: Task, approver: Approver | None) -> FinishedAttempt:
    """Attempt 2 takes its worker with it until a file says that it has done so."""
    marker = os.path.join(of.folder, f"killed-{of.slot.attempt}")
    if of.slot.attempt == 2 and not os.path.exists(marker):
        with open(marker, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    return await at_once(of, approver)


async def always_killed(of: Task, approver: Approver | None) -> FinishedAttempt:
    if of.slot.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return await at_once(of, approver)


async def for_ever(of: Task, approver: Approver | None) -> FinishedAttempt:
    """Says where it runs, and that it was let go."""
    marker = os.path.join(of.folder, f"pid-{of.slot.attempt}")
    with open(marker, "w") as handle:
        handle.write(str(os.getpid()))
    try:
        await asyncio.sleep(3600)
    finally:
        os.rename(marker, marker.replace("pid-", "gone-"))
    return record(of)


async def asking(of: Task, approver: Approver | None) -> FinishedAttempt:
    assert approver is not None
    request = ApprovalRequest(of.slot, 1, "issue_refund", {"n": of.slot.attempt})
    approval = await approver.ask(request)
    return record(of, granted=approval.granted, by=approval.by)


async def unrunnable(of: Task, approver: Approver | None) -> FinishedAttempt:
    if of.slot.attempt == 2:
        raise Unrunnable("no key: set OPENAI_API_KEY")
    return await at_once(of, approver)


async def acting_for_ever(of: Task, approver: Approver | None) -> FinishedAttempt:
    """Has acted, and goes on until it is cancelled."""
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        raise CutOff(record(of)) from None
    return record(of)


async def seen_acting_for_ever(of: Task, approver: Approver | None) -> FinishedAttempt:
    with open(os.path.join(of.folder, f"acting-{of.slot.attempt}"), "w"):
        return await acting_for_ever(of, approver)


async def denied_after_acting(of: Task, approver: Approver | None) -> FinishedAttempt:
    """Attempt 2 is denied access after it has acted, beside another that has acted."""
    if of.slot.attempt == 1:
        return await acting_for_ever(of, approver)
    denied = Unrunnable("it denied access (401)")
    denied.attempt = record(of)
    raise denied


async def faulty(of: Task, approver: Approver | None) -> FinishedAttempt:
    raise KeyError("a value")
