"""A run on an engine: what travels, what is checked there, and what a lost worker costs."""

import asyncio
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import run_fakes
from doors import SHIPPED
from run_fakes import task, tasks
from test_run_engine import Heard
from thread_engine import ThreadEngine

from reviewer.running.engine import MOST_AGAIN, Control, carry_out
from reviewer.running.engines import bundle as bundles
from reviewer.running.engines import crew, fleet
from reviewer.running.engines.bundle import Bundle, packed, unpack
from reviewer.running.engines.fleet import FleetExecutor
from reviewer.running.model import (
    Approval,
    ApprovalRequest,
    Approver,
    FinishedAttempt,
    Task,
    Unrunnable,
)
from reviewer.running.sandbox.protection import Protection
from reviewer.suite.folder import suite_state

CANDIDATE = task(1).candidate
PATIENCE = 60


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    crew._held.clear()
    monkeypatch.setattr(fleet, "LOOK_S", 0.01)
    monkeypatch.setattr(crew, "HEAR_S", 0.05)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return packed(SHIPPED, suite_state(SHIPPED).digest, CANDIDATE)


async def carried(
    engine: ThreadEngine,
    bundle: Bundle,
    ordered: list[Task],
    jobs: int = 4,
    approver: Approver | None = None,
    programs: bool = False,
    control: Control | None = None,
    heard: Heard | None = None,
) -> Heard:
    heard = heard or Heard()
    executor = FleetExecutor(engine, bundle, programs, jobs, approver)
    async with asyncio.timeout(PATIENCE):
        await carry_out(ordered, executor, control or Control(), heard.events)
    return heard


async def test_attempts_are_made_by_crews_in_the_suite_that_was_sent(bundle: Bundle) -> None:
    places = []

    async def attempt(of: Task, approver: Approver | None) -> FinishedAttempt:
        assert suite_state(Path(of.folder)).digest == bundle.suite
        places.append(of.folder)
        await asyncio.sleep(0.12 if of.slot.attempt == 1 else 0)  # longer than `hear` waits
        return run_fakes.record(of)

    engine = ThreadEngine("one", "two", attempt=attempt)
    heard = await carried(engine, bundle, tasks(40))
    assert sorted(heard.ended) == list(range(1, 41))
    assert heard.lost == []
    assert len(set(places)) == 2
    assert str(SHIPPED) not in places
    assert not any(Path(place).exists() for place in places), "a crew leaves nothing behind"
    assert engine.ended
    for station in engine.stations.values():
        station.thread.join(PATIENCE)
        assert not station.thread.is_alive()


async def test_a_worker_is_sent_a_suite_once(bundle: Bundle) -> None:
    engine = ThreadEngine("one", attempt=run_fakes.at_once)
    await carried(engine, bundle, tasks(6))
    again = ThreadEngine("one", attempt=run_fakes.at_once)
    await carried(again, bundle, tasks(6))
    parcel = bundle.data[:2000]
    assert [sum(parcel in sent for sent in each.sent) for each in (engine, again)] == [1, 0]


async def test_what_a_lost_worker_ran_is_run_again_and_ends_once(bundle: Bundle) -> None:
    """The worker goes while its attempts run, and what these still say is not heard."""
    began: Counter[int] = Counter()
    going_on = asyncio.Event()

    async def attempt(of: Task, approver: Approver | None) -> FinishedAttempt:
        began[of.slot.attempt] += 1
        if began[of.slot.attempt] == 1 and of.slot.attempt <= 4:
            if sum(began.values()) == 4:
                engine.lose("one")
            await asyncio.sleep(0.2)
        return run_fakes.record(of, made=began[of.slot.attempt])

    engine = ThreadEngine("one", attempt=attempt)

    async def come() -> None:
        while "one" in engine.there:
            await asyncio.sleep(0.01)
        engine.there.append("two")
        going_on.set()

    coming = asyncio.create_task(come())
    heard = await carried(engine, bundle, tasks(8), jobs=4)
    await coming
    assert sorted(heard.ended) == list(range(1, 9))
    assert sorted(heard.lost) == [1, 2, 3, 4]
    assert {n: began[n] for n in range(1, 5)} == dict.fromkeys(range(1, 5), 2)
    assert going_on.is_set()


async def test_an_attempt_that_takes_every_worker_is_left_alone_with_them(bundle: Bundle) -> None:
    """It ends as infrastructure; the attempts that ran beside it are made."""
    engine = ThreadEngine("w-0")

    async def attempt(of: Task, approver: Approver | None) -> FinishedAttempt:
        if of.slot.attempt == 3:
            [worker] = engine.there
            engine.there.append(f"w-{int(worker[2:]) + 1}")
            engine.lose(worker)
        await asyncio.sleep(0.1)
        return await run_fakes.at_once(of, approver)

    engine.attempt = attempt
    heard = await carried(engine, bundle, tasks(6), jobs=6)
    made = {f.slot.attempt: json.loads(f.raw).get("termination") for f in heard.finished}
    assert made == {n: "infrastructure_error" if n == 3 else None for n in range(1, 7)}
    assert heard.lost.count(3) == MOST_AGAIN + 1
    assert max(heard.lost.count(n) for n in (1, 2, 4, 5, 6)) <= fleet.ALONE


@pytest.mark.parametrize(
    "named",
    [{"attempt": 9}, {"episode_id": "another"}, {"candidate_id": "another"}, {"attempt": "2"}],
)
async def test_a_record_of_another_attempt_is_none(bundle: Bundle, named: dict[str, Any]) -> None:
    """The store goes by what the record names."""

    async def attempt(of: Task, approver: Approver | None) -> FinishedAttempt:
        return run_fakes.record(of, **(named if of.slot.attempt == 2 else {}))

    heard = await carried(ThreadEngine("one", attempt=attempt), bundle, tasks(3), jobs=1)
    assert heard.lost == [2] * (MOST_AGAIN + 1)


async def test_a_result_of_another_attempt_is_none(bundle: Bundle) -> None:
    async def attempt(of: Task, approver: Approver | None) -> FinishedAttempt:
        return run_fakes.record(task(9) if of.slot.attempt == 2 else of)

    heard = await carried(ThreadEngine("one", attempt=attempt), bundle, tasks(3), jobs=1)
    assert heard.lost == [2] * (MOST_AGAIN + 1)
    assert sorted(heard.ended) == [1, 2, 3]


def changed(bundle: Bundle, path: str, data: bytes) -> Bundle:
    """The bundle with another file, and the digest of these very bytes."""
    files = bundles.msgspec.msgpack.decode(bundle.data, type=list[bundles._File])
    files = [file for file in files if file.path != path] + [bundles._File(path, False, data)]
    packed_again = bundles.msgspec.msgpack.encode(files)
    return bundle._replace(data=packed_again, sha256=bundles.sha256_hex(packed_again))


@pytest.mark.parametrize(
    ("path", "data", "why"),
    [
        ("policy.json", b"{}", "do not match the digest"),
        ("episodes/more.json", b"{}", "do not match the digest"),
        ("../outside", b"", "`..` part"),
        ("/tmp/outside", b"", "is absolute"),
    ],
)
async def test_a_worker_refuses_another_suite(
    bundle: Bundle, path: str, data: bytes, why: str
) -> None:
    heard = Heard()
    engine = ThreadEngine("one", attempt=run_fakes.at_once)
    with pytest.raises(Unrunnable, match=f"threads worker one .*{why}"):
        await carried(engine, changed(bundle, path, data), tasks(2), heard=heard)
    assert heard.ended == []


async def test_a_worker_refuses_bytes_that_are_not_those_announced(bundle: Bundle) -> None:
    other = changed(bundle, "policy.json", b"{}")._replace(sha256=bundle.sha256)
    with pytest.raises(Unrunnable, match="is not the one that was sent"):
        await carried(ThreadEngine("one", attempt=run_fakes.at_once), other, tasks(1))


async def test_a_worker_without_isolation_runs_no_program(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "protection", lambda: Protection("none", why_not="no bwrap"))
    engine, heard = ThreadEngine("one", attempt=run_fakes.at_once), Heard()
    with pytest.raises(Unrunnable, match=r"worker one cannot isolate .*no bwrap.*bubblewrap"):
        await carried(engine, bundle, tasks(2), programs=True, heard=heard)
    assert heard.ended == []
    made = await carried(ThreadEngine("one", attempt=run_fakes.at_once), bundle, tasks(2))
    assert sorted(made.ended) == [1, 2]


async def test_a_worker_of_another_version_is_refused(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = FleetExecutor(ThreadEngine("one"), bundle, False, 1)
    executor._greeting = executor._greeting._replace(version="0.0.9")
    with pytest.raises(Unrunnable, match=r"was begun by 0\.0\.9: install the same"):
        await carry_out(tasks(1), executor, Control(), Heard().events)


async def test_a_worker_that_cannot_load_reviewer_is_said(bundle: Bundle) -> None:
    engine = ThreadEngine("one")
    engine.unfit = "cannot load reviewer"
    with pytest.raises(Unrunnable, match="threads worker one cannot load reviewer"):
        await carried(engine, bundle, tasks(1))


async def test_what_a_worker_lacks_for_the_candidate_is_said_by_its_name(bundle: Bundle) -> None:
    with pytest.raises(Unrunnable, match="worker one: no key: set OPENAI_API_KEY"):
        await carried(ThreadEngine("one", attempt=run_fakes.unrunnable), bundle, tasks(4), jobs=1)


async def test_a_lost_connection_ends_the_run(bundle: Bundle) -> None:
    engine = ThreadEngine("one", attempt=run_fakes.at_once)

    class Ending(Heard):
        async def end(self, finished: FinishedAttempt) -> None:
            await super().end(finished)
            engine.ended = True
            engine.there = []

    heard = Ending()
    with pytest.raises(Unrunnable, match="the connection is lost"):
        await carried(engine, bundle, tasks(5), jobs=1, heard=heard)
    assert heard.ended == [1]


async def test_a_run_without_workers_ends(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "NOBODY_S", 0.05)
    with pytest.raises(Unrunnable, match="no worker for"):
        await carried(ThreadEngine(), bundle, tasks(1))


async def test_approvals_travel_to_the_person(bundle: Bundle) -> None:
    class Person:
        async def ask(self, request: ApprovalRequest) -> Approval:
            return Approval(request.arguments["n"] == 2, "person")

    engine = ThreadEngine("one", "two", attempt=run_fakes.asking)
    heard = await carried(engine, bundle, tasks(3), approver=Person())  # type: ignore[arg-type]
    said = {f.slot.attempt: json.loads(f.raw) for f in heard.finished}
    assert [(said[n]["granted"], said[n]["by"]) for n in (1, 2, 3)] == [
        (False, "person"), (True, "person"), (False, "person"),
    ]  # fmt: skip


async def test_abandoned_attempts_are_let_go_where_they_run(bundle: Bundle) -> None:
    running: set[int] = set()
    let_go: set[int] = set()

    async def attempt(of: Task, approver: Approver | None) -> FinishedAttempt:
        running.add(of.slot.attempt)
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            let_go.add(of.slot.attempt)
        return run_fakes.record(of)

    control, heard = Control(), Heard()
    engine = ThreadEngine("one", "two", attempt=attempt)
    run = asyncio.create_task(
        carried(engine, bundle, tasks(4), jobs=2, control=control, heard=heard)
    )
    async with asyncio.timeout(PATIENCE):
        while len(running) < 2:
            await asyncio.sleep(0.01)
        control.abandon()
        await run
    assert let_go == running == {1, 2}
    assert heard.ended == []
    assert engine.ended


async def test_a_crew_that_nobody_hears_stops(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "SILENCE_S", 0.05)
    alone = ThreadEngine("one").station("one")
    await asyncio.to_thread(alone.thread.join, PATIENCE)
    assert not alone.thread.is_alive()


async def test_no_message_holds_a_key_or_a_folder_of_this_machine(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of a candidate's keys travel; the worker's own environment has their values."""
    secret = "sk-proj-not-a-real-key-8f2a61c7"
    for name in ("OPENAI_API_KEY", "RUN_TOKEN"):
        monkeypatch.setenv(name, secret)
    runner = {"kind": "openai-chat", "api_key_env": "OPENAI_API_KEY", "environment": ["RUN_TOKEN"]}
    from msgspec.structs import replace

    candidate = replace(CANDIDATE, runner=runner)
    seen = []

    async def attempt(of: Task, approver: Approver | None) -> FinishedAttempt:
        seen.append(os.environ[of.candidate.runner["api_key_env"]])
        return run_fakes.record(of)

    engine = ThreadEngine("one", attempt=attempt)
    await carried(engine, bundle, tasks(3, candidate=candidate))
    assert seen == [secret] * 3
    sent = b"".join(engine.sent)
    assert b"OPENAI_API_KEY" in sent
    assert secret.encode() not in sent
    assert str(SHIPPED).encode() not in sent
    assert os.path.expanduser("~").encode() + b"/" not in sent


def test_a_bundle_has_nothing_of_other_candidates(bundle: Bundle, tmp_path: Path) -> None:
    folder = unpack(bundle, tmp_path)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    own = {f"candidates/{CANDIDATE.candidate_id}.json", CANDIDATE.runner["script"]}
    assert {path for path in there if path.startswith("candidates/")} == own
    locked = suite_state(SHIPPED).files
    assert there - own == set(locked)
    assert all((folder / path).read_bytes() == locked[path] for path in locked)
