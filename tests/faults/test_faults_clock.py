"""A clock that is put back, or forward: numbers order what was done, not its times."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from doors import PROGRAM, SUITE, V8, Door, Said, environment, passing
from labelers import kept, labeler
from people import key_file
from power import ops_of

HOUR = 3600
PLACES = (-30, 0, -400 * 24, 5, -1, 20)
"""Where the clock stands at each act, in hours from now."""
SCRIPT = Path(__file__).with_name("recorded.py")


class Clocked:
    """Commands on a workspace while the clock is somewhere else."""

    def __init__(self, door: Door, clock: Path) -> None:
        self.door, self._clock = door, clock
        key = key_file(door.root, "robin")
        door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))

    def python(self, hours: float, *argv: object) -> Said:
        done = subprocess.run(
            [sys.executable, "-P", *map(str, argv)],
            env=environment(LD_PRELOAD=str(self._clock), CLOCK_AHEAD=str(int(hours * HOUR))),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    def run(self, hours: float, *argv: object) -> Said:
        said = self.python(hours, *PROGRAM[2:], "--workspace", self.door.root, *argv)
        assert "internal" not in said.err
        assert "Traceback" not in said.err
        return said

    def labels(self, hours: float, count: int) -> list[str]:
        """Dana labels her first item so often; what she was told was kept."""
        log = self.door.root / f"log-{len(kept(self.door))}"
        said = self.python(hours, SCRIPT, self.door.root, log, "labels", count)
        assert said.code == 0, said.err
        return [op.first.decode().removeprefix("label ") for op in ops_of(log)]

    def sign(self, hours: float, decision: str, candidate: str = V8) -> Said:
        return self.run(
            hours, "sign", "--suite", SUITE, "--candidate", candidate, "--key",
            self.door.root / "robin", "--decision", decision, "--comment", f"{hours} hours",
        )  # fmt: skip

    def verify(self, hours: float, *more: object) -> Said:
        return self.run(
            hours, "verify", self.door.root / "store" / "decisions", "--candidate-manifest",
            self.door.suite / "candidates" / f"{V8}.json",
            "--signers", self.door.root / "store" / "signers", *more,
        )  # fmt: skip


@pytest.fixture
def clocked(full: Door, clock: Path) -> Clocked:
    return Clocked(full, clock)


@pytest.mark.nightly
def test_labels_stand_in_the_order_they_were_made_wherever_the_clock_is(clocked: Clocked) -> None:
    told = [uid for hours in PLACES for uid in clocked.labels(hours, 9)]
    rows = kept(clocked.door)
    assert [one["uid"] if not one["withdrawn"] else "withdrawn" for one in rows] == told
    places: dict[tuple[str, int], list[dict[str, object]]] = {}
    for one in rows:
        places.setdefault((one["item"], one["showing"]), []).append(one)
    for labels in places.values():  # each revises the one before it, so the last one counts
        assert [one["revises"] for one in labels] == [None, *(one["uid"] for one in labels[:-1])]
    clocked.door.healthy()


@pytest.mark.slow
def test_what_is_taken_back_is_what_was_saved_last_though_the_clock_was_put_back(
    clocked: Clocked,
) -> None:
    """By the labels' own times the one from before would be the last."""
    clocked.labels(0, 1)
    (second,) = clocked.labels(-400 * 24, 1)
    with labeler(clocked.door) as desk:
        item = desk.labels.undo(desk.labels.session(SUITE, V8))
    last = kept(clocked.door)[-1]
    assert (last["withdrawn"], last["revises"], last["item"]) == (True, second, item.item)


@pytest.mark.slow
def test_the_last_decision_holds_though_its_clock_was_put_back(clocked: Clocked) -> None:
    assert clocked.sign(0, "PROMOTE").code == 0
    assert clocked.verify(0).code == 0
    blocked = clocked.sign(-30, "BLOCK")
    assert blocked.code == 10, blocked
    held = clocked.verify(0)
    assert held.code == 10, held
    assert "BLOCK" in held.both
    numbers = clocked.door.rows("SELECT number, decision FROM decision ORDER BY number")
    assert numbers == [(1, "PROMOTE"), (2, "BLOCK")]
    clocked.door.healthy()


@pytest.mark.nightly
def test_expiry_is_not_fooled(clocked: Clocked) -> None:
    """What a clock far back signed is over already; what one far ahead signed is not yet made."""
    assert clocked.sign(-400 * 24, "PROMOTE").code in (0, 30)
    said = clocked.verify(0)
    assert said.code != 0
    assert "expired" in said.both
    assert clocked.sign(48, "PROMOTE").code in (0, 30)
    said = clocked.verify(0)
    assert said.code != 0
    assert "made in the future" in said.both
    assert clocked.sign(0, "PROMOTE").code == 0
    assert clocked.verify(0).code == 0
    assert clocked.verify(24 * 8).code != 0
    clocked.door.healthy()


@pytest.mark.nightly
def test_imports_and_reports_work_wherever_the_clock_is(clocked: Clocked) -> None:
    door, chance = clocked.door, Random(5)
    for number, hours in enumerate(PLACES):
        path = door.file(f"{number}.json", passing(attempt=number + 1, nonce=number))
        assert clocked.run(hours, "import", path).code == 0
        assert clocked.run(hours, "doctor").code == 0
        shown = clocked.run(chance.choice(PLACES), "scorecard", "--suite", SUITE, "--candidate", V8)
        assert shown.code == 0, shown
    entries = [json.loads(body) for (body,) in door.rows("SELECT body FROM journal ORDER BY seq")]
    assert [one["at"] for one in entries] != sorted(one["at"] for one in entries)
    assert door.one("SELECT count(*) FROM traces WHERE candidate_id='cand-a'") == len(PLACES)
    door.healthy()
