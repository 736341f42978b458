"""Power cuts: whatever was acknowledged is there when the store is opened again.

A run of the product is recorded write by write, its disk cut at many places in three ways, and each
outcome opened as a start after a power cut would. The same cuts with `synchronous=NORMAL` must show
losses: what sees none there would see none anywhere.
"""

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from doors import SUITE, V8, Door, copied, environment
from labelers import drafted
from people import key_file
from power import MODES, Disk, Mode, Op, ops_of

from reviewer.db.connection import DAMAGE, reader
from reviewer.db.schema import bring_up_to_date
from reviewer.desk.desk import Desk
from reviewer.desk.integrity.doctor import examine
from reviewer.desk.place import at

HERE = Path(__file__).parent


@pytest.fixture
def templates(full_template: Path, empty_template: Path) -> dict[str, Path]:
    """What each recording begins with: the store of an import is made while it is recorded."""
    return {
        "labels": full_template, "decisions": full_template,
        "imports": empty_template, "archives": empty_template,
    }  # fmt: skip


@dataclass
class Recording:
    """What a run did to its store, and the store it began with."""

    root: Path
    before: Path
    inodes: dict[str, int]
    ops: list[Op]

    @property
    def store(self) -> Path:
        return self.root / "store"

    @property
    def labels(self) -> bool:
        """Whether labels are what was recorded."""
        return any(op.kind == "A" and op.first.startswith(b"label ") for op in self.ops)

    def disk(self) -> Disk:
        return Disk(self.store, self.before, self.inodes)


def recorded(
    template: Path, place: Path, shim: Path, what: str, count: int, *how: object
) -> Recording:
    """Run `recorded.py` with every write of its store noted."""
    door = copied(template, place / "desk")
    if what == "decisions":
        public = key_file(door.root, "robin").with_suffix(".pub")
        door.ok("keys", "trust", "robin@example.com", public)
        (door.root / "store" / "decisions").rmdir()  # as in a clone: git keeps no empty folder
    store, log = door.root / "store", place / "log"
    for left in (*store.glob("review.db-shm"), *store.glob("review.db.lock")):
        left.unlink()
    shutil.copytree(store, place / "before")
    inodes = {str(path): path.stat().st_ino for path in store.rglob("*")}
    said = subprocess.run(
        [sys.executable, HERE / "recorded.py", door.root, log, what, str(count), *map(str, how)],
        env=environment(LD_PRELOAD=str(shim), OPLOG_UNDER=str(store), OPLOG_TO=str(log)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    made = Recording(door.root, place / "before", inodes, ops_of(log))
    assert sum(op.kind == "A" for op in made.ops) == count
    return made


@dataclass
class Found:
    """What stands in a store that was cut."""

    said: set[str] = field(default_factory=set)
    labels: int = 0
    faults: list[str] = field(default_factory=list)


def half_signed(root: Path) -> None:
    """A file that was signed and not entered before the cut: doctor says so, and the way out."""
    door = Door(root)
    rows = {name for (name,) in door.rows("SELECT file FROM decision")}
    for path in (root / "store" / "decisions").glob("*.dsse.json"):
        if path.name not in rows:
            assert "signing was interrupted" in door.run("doctor").out
            door.ok("decisions", "take", path)


def opened(root: Path) -> Found:
    """Open a store as the product does, with doctor's checks."""
    place, found = at(root), Found()
    if not place.store.exists():
        return found
    try:
        bring_up_to_date(place.store)  # as any command that writes does first
        half_signed(root)
        found.faults = [f"{c.name}: {c.text}" for c in examine(place) if c.ok is False]
        with contextlib.closing(reader(place.store)) as base:
            uids = base.execute("SELECT uid FROM label").fetchall()
            found.said |= {f"label {uid}" for (uid,) in uids}
            found.labels = len(uids)
            found.said |= {f"decision {n}" for (n,) in base.execute("SELECT number FROM decision")}
            count = "SELECT count(*) FROM traces WHERE candidate_id='cand-a'"
            traces = base.execute(count).fetchone()[0]
            found.said |= {f"traces {n}" for n in range(traces + 1)}
            files = base.execute("SELECT count(*) FROM payload_archive").fetchone()[0]
            found.said |= {f"archived {n}" for n in range(files + 1)}
    except DAMAGE as error:
        found.faults.append(f"{type(error).__name__}: {error}")
    return found


@dataclass
class Outcome:
    """What many cuts came to. `lost`: cuts after which something acknowledged was gone; `most`:
    things gone after the worst one."""

    cuts: int = 0
    lost: int = 0
    most: int = 0
    corrupt: int = 0
    examples: list[str] = field(default_factory=list)


def places(ops: list[Op], cuts: int, chance: Random) -> list[int]:
    """Where to cut: half of them anywhere, half just after somebody was told."""
    told = [n + 1 for n, op in enumerate(ops) if op.kind == "A"]
    picked = chance.choices(told, k=cuts // 2)
    return sorted(picked + [chance.randrange(len(ops) + 1) for _ in range(cuts - len(picked))])


def goes_on(root: Path) -> list[str]:
    """Label once more in a store that was cut; what doctor finds wrong then."""
    desk = Desk(at(root), "kim")
    try:
        session = desk.labels.session(SUITE, V8)
        item = desk.labels.next_item(session)
        assert item is not None
        desk.labels.record(session, drafted(item))
    finally:
        desk.close()
    return [f"afterwards, {c.name}: {c.text}" for c in examine(at(root)) if c.ok is False]


def cut(made: Recording, mode: Mode, cuts: int, seed: int, place: Path) -> Outcome:
    """Cut a recorded run at so many places, and open each outcome."""
    chance, disk, outcome, taken = Random(seed), made.disk(), Outcome(), 0
    told: set[str] = set()
    ever = {op.first.decode() for op in made.ops if op.kind == "A"}
    for at_op in places(made.ops, cuts, chance):
        for op in made.ops[taken:at_op]:
            disk.take(op)
            if op.kind == "A":
                told.add(op.first.decode())
        taken = at_op
        with workspace(made, place) as root:
            disk.cut(root / "store", mode, chance)
            found = opened(root)
            if made.labels and not found.faults and outcome.cuts % 4 == 0:
                found.faults = goes_on(root)
        lost = told - found.said
        if made.labels:
            assert found.said <= ever | {"traces 0", "archived 0"}, "a label that nobody ever made"
            assert len(told - lost) <= found.labels <= len(told) + 1
        outcome.cuts += 1
        outcome.corrupt += bool(found.faults)
        outcome.lost += bool(lost)
        outcome.most = max(outcome.most, len(lost))
        if (lost or found.faults) and len(outcome.examples) < 5:
            outcome.examples.append(f"op {at_op}, {mode}: lost {sorted(lost)[:3]}, {found.faults}")
    return outcome


@contextlib.contextmanager
def workspace(made: Recording, place: Path) -> Iterator[Path]:
    """A workspace like the recorded one, without a store."""
    root = place / "cut"
    root.mkdir()
    try:
        for path in made.root.iterdir():
            if path.name != "store" and path.is_dir():
                (root / path.name).symlink_to(path)
        (root / "store").mkdir(mode=0o700)
        yield root
    finally:
        shutil.rmtree(root)


def test_the_replay_of_all_that_was_recorded_is_the_disk_itself(
    templates: dict[str, Path], tmp_path: Path, shim: Path
) -> None:
    """No write goes by unseen: else a cut would be kinder, or harsher, than a real one."""
    for what, count in (("labels", 12), ("decisions", 2), ("imports", 1), ("archives", 1)):
        made = recorded(templates[what], tmp_path / what, shim, what, count, 50)
        disk = made.disk()
        for op in made.ops:
            disk.take(op)
        there = {
            str(path): path.read_bytes()
            for path in made.store.rglob("*")
            if path.is_file() and path.suffix != ".db-shm"
        }
        assert disk.whole() == there
        assert sum(op.kind == "S" for op in made.ops) >= count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "count", "pages"),
    [("labels", 40, 50), ("decisions", 3, 0), ("imports", 3, 0), ("archives", 2, 0)],
)
def test_no_cut_loses_what_was_acknowledged(
    templates: dict[str, Path], tmp_path: Path, shim: Path, what: str, count: int, pages: int
) -> None:
    made = recorded(templates[what], tmp_path, shim, what, count, pages)
    for seed, mode in enumerate(MODES):
        outcome = cut(made, mode, 7, seed, tmp_path)
        assert (outcome.cuts, outcome.lost, outcome.corrupt) == (7, 0, 0), outcome


@pytest.mark.slow
def test_the_same_cuts_with_weaker_syncs_show_losses(
    full_template: Path, tmp_path: Path, shim: Path
) -> None:
    made = recorded(full_template, tmp_path, shim, "labels", 30, "NORMAL", 50)
    for seed, mode in enumerate(MODES):
        outcome = cut(made, mode, 10, seed, tmp_path)
        assert outcome.lost > 0, (mode, outcome)


LONG = (
    *(("labels", 400, 50), ("labels", 300, 0), ("decisions", 25, 0)),
    *(("imports", 20, 0), ("archives", 8, 0)),
)


@pytest.mark.nightly
@pytest.mark.parametrize(("what", "count", "pages"), LONG)
@pytest.mark.parametrize("mode", MODES)
def test_many_cuts_lose_nothing(
    templates: dict[str, Path],
    tmp_path: Path,
    shim: Path,
    what: str,
    count: int,
    pages: int,
    mode: Mode,
) -> None:
    made = recorded(templates[what], tmp_path, shim, what, count, pages)
    outcome = cut(made, mode, 240, MODES.index(mode), tmp_path)
    print(f"{what} {pages} {mode}: {outcome}")
    assert (outcome.cuts, outcome.lost, outcome.corrupt) == (240, 0, 0), outcome


@pytest.mark.nightly
@pytest.mark.parametrize("mode", MODES)
def test_many_cuts_with_weaker_syncs_show_losses(
    full_template: Path, tmp_path: Path, shim: Path, mode: Mode
) -> None:
    made = recorded(full_template, tmp_path, shim, "labels", 400, "NORMAL", 50)
    outcome = cut(made, mode, 240, MODES.index(mode), tmp_path)
    print(f"NORMAL {mode}: {outcome}")
    assert outcome.lost > 80, outcome
