"""Two workstations on one store: nothing is lost, no number is given twice."""

import itertools
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, environment
from labelers import drafted, kept, labeler
from people import key_file
from power import ops_of

from reviewer.db.digests import batch_digests

SCRIPT = Path(__file__).with_name("recorded.py")


def at_work(door: Door, log: Path, what: str, count: int, who: str) -> "subprocess.Popen[bytes]":
    """Somebody in a process of his own; what he was told is in the log."""
    return subprocess.Popen(
        [sys.executable, SCRIPT, door.root, log, what, str(count), who],
        env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def told(log: Path) -> list[str]:
    return [op.first.decode() for op in ops_of(log)]


def ended(*processes: "subprocess.Popen[bytes]") -> None:
    for process in processes:
        _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err.decode()


def in_order(door: Door) -> None:
    """The journal has every number once."""
    numbers = [number for (number,) in door.rows("SELECT seq FROM journal ORDER BY rowid")]
    assert numbers == list(range(1, len(numbers) + 1))


def together(door: Door, count: int, decisions: int) -> None:
    """Two people label, one signs, one imports, all at once."""
    key = key_file(door.root, "robin")
    door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    acts = [("labels", count, "dana"), ("labels", count, "kim"), ("decisions", decisions, "robin"),
            ("imports", decisions, "ci")]  # fmt: skip
    logs = [door.root / f"log-{number}" for number in range(len(acts))]
    ended(*(at_work(door, log, *act) for log, act in zip(logs, acts, strict=True)))
    labels = [word.removeprefix("label ") for log in logs[:2] for word in told(log)]
    assert len(set(labels)) == 2 * count
    assert {one["uid"] for one in kept(door)} == set(labels)
    assert {one["reviewer"] for one in kept(door)} == {"dana", "kim"}
    assert door.rows("SELECT number FROM decision ORDER BY number") == [
        (number,) for number in range(1, decisions + 1)
    ]
    assert door.one("SELECT count(*) FROM traces WHERE candidate_id='cand-a'") == 40 * decisions
    in_order(door)
    door.healthy()


@pytest.mark.slow
def test_two_people_label_while_one_signs_and_one_imports(full: Door) -> None:
    together(full, count=8, decisions=2)


@pytest.mark.nightly
def test_two_people_label_for_long_while_one_signs_and_one_imports(full: Door) -> None:
    together(full, count=400, decisions=20)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, pytest.param(10, marks=pytest.mark.nightly)])
def test_two_who_sign_at_once_get_two_numbers_or_one_is_asked_to_look_again(
    full: Door, rounds: int
) -> None:
    for name in ("robin", "sandy"):
        public = key_file(full.root, name).with_suffix(".pub")
        full.ok("keys", "trust", f"{name}@example.com", public)
    sign = ("sign", "--suite", SUITE, "--candidate")
    signed = 0
    for number in range(rounds):
        processes = [
            full.start(*sign, candidate, "--key", full.root / name, "--comment", f"try {number}")
            for name, candidate in (("robin", V8), ("sandy", V7))
        ]
        for process, good in zip(processes, (0, 10), strict=True):
            _, err = process.communicate(timeout=120)
            assert process.returncode in (good, 20), err.decode()
            if process.returncode == 20:
                assert "read it again" in err.decode(), err.decode()
            signed += process.returncode == good
    numbers = [number for (number,) in full.rows("SELECT number FROM decision ORDER BY number")]
    assert len(numbers) == len(set(numbers)) == signed >= rounds
    files = {path.name for path in (full.root / "store" / "decisions").glob("*.dsse.json")}
    assert {name for (name,) in full.rows("SELECT file FROM decision")} == files
    in_order(full)
    full.healthy()


def test_one_person_at_two_desks_labels_no_showing_twice_unknowingly(full: Door) -> None:
    """A second label of the same showing revises the first, and says so; neither is gone."""
    with labeler(full) as here, labeler(full) as there:
        session, other = (desk.labels.session(SUITE, V8) for desk in (here, there))
        item, same = here.labels.next_item(session), there.labels.next_item(other)
        assert item is not None
        assert same is not None
        assert (item.item, item.showing) == (same.item, same.showing)
        first = here.labels.record(session, drafted(item, "left"))
        second = there.labels.record(other, drafted(same, "right"))
        assert [(one["uid"], one["revises"]) for one in kept(full)] == [
            (first.uid, None), (second.uid, first.uid),
        ]  # fmt: skip
        again = here.labels.next_item(session)
        assert again is not None
        assert (again.item, again.showing) != (item.item, item.showing)
    full.healthy()


def test_checks_accuse_nobody_who_labels_meanwhile(full: Door) -> None:
    """A label that comes between reading the journal and counting labels is no contradiction."""
    came = []

    def labeled_meanwhile(*batch: Any, **named: Any) -> Any:
        with labeler(full, f"kim-{len(came)}") as desk:
            session = desk.labels.session(SUITE, V8)
            item = desk.labels.next_item(session)
            assert item is not None
            came.append(desk.labels.record(session, drafted(item)).uid)
        return digest(*batch, **named)

    digest = batch_digests
    public = key_file(full.root, "robin").with_suffix(".pub")
    full.ok("keys", "trust", "robin@example.com", public)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reviewer.db.integrity.batch_digests", labeled_meanwhile)
        full.healthy()
        desk = full.desk()
        try:
            desk.decisions.sign(SUITE, V8, "PROMOTE", str(full.root / "robin"))
        finally:
            desk.close()
    assert [one["uid"] for one in kept(full)] == came
    assert len(came) >= 4
    full.healthy()


def test_many_threads_of_one_desk_lose_nothing(full: Door) -> None:
    numbers, found = itertools.count(), []

    def people(name: str) -> Callable[[], None]:
        def work() -> None:
            with labeler(full, name) as desk:
                session = desk.labels.session(SUITE, V8)
                item = desk.labels.next_item(session)
                assert item is not None
                for _ in range(6):
                    note = f"thought {next(numbers)}"
                    found.append(desk.labels.record(session, drafted(item, note=note)).uid)

        return work

    workers = [threading.Thread(target=people(name)) for name in ("ann", "ben", "cy")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 18
    assert {one["uid"] for one in kept(full)} == set(found)
    in_order(full)
    full.healthy()


def test_keys_trusted_at_one_moment_are_all_kept(full: Door) -> None:
    names = [f"person-{number}" for number in range(6)]
    keys = {name: key_file(full.root, name).with_suffix(".pub") for name in names}
    ended(*[full.start("keys", "trust", name, key) for name, key in keys.items()])
    lines = (full.root / "store" / "signers").read_text().splitlines()
    assert [sum(line.startswith(f"{name} ") for line in lines) for name in names] == [1] * 6
