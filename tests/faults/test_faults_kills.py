"""Kill -9 while people label and sign, through the workstation and the commands: what was
acknowledged is kept, and doing it again makes nothing twice. Imports have kill loops of their own.
"""

import itertools
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from doors import PROGRAM, REPOSITORY, SUITE, V8, Door, copied, passing
from labelers import kept, label_all, labeler
from people import key_file
from terminal import Terminal, terminal

EPISODES = ("damaged-221", "appeal-009", "attack-014")
RELEASE = ("--suite", SUITE, "--candidate", V8)


def ended(door: Door, seconds: float, *argv: object) -> int | None:
    """The exit code of a command, or None when it was killed after so many seconds."""
    process = door.start(*argv)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return process.returncode


def lasting(act: Callable[[], object]) -> float:
    begun = time.monotonic()
    act()
    return time.monotonic() - begun


def seen_and_killed(door: Door, folder: Path, seconds: float, *argv: object) -> int | None:
    """As `ended`, killed so many seconds after something new stands in a folder."""
    before = set(folder.iterdir())
    process = door.start(*argv)
    while process.poll() is None and set(folder.iterdir()) == before:
        time.sleep(0.0005)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    process.communicate()
    return process.returncode


# decisions ----------------------------------------------------------------------------------------


def numbers(door: Door) -> list[int]:
    return [number for (number,) in door.rows("SELECT number FROM decision ORDER BY number")]


def cut_off(door: Door) -> list[Path]:
    """Signed files that have no row."""
    rows = {name for (name,) in door.rows("SELECT file FROM decision")}
    files = {path.name: path for path in (door.root / "store/decisions").glob("*.dsse.json")}
    assert rows <= files.keys()
    return [files[name] for name in sorted(files.keys() - rows)]


def signing_killed(door: Door, kills: int, seed: int) -> None:
    """Sign, and be killed at any moment of it; sign again until so many kills have fallen."""
    chance = Random(seed)
    door.ok("keys", "trust", "robin@example.com", key_file(door.root, "robin").with_suffix(".pub"))
    sign = ("sign", *RELEASE, "--key", door.root / "robin", "--comment")
    whole = lasting(lambda: ended(door, 60, *sign, "how long"))
    folder = door.root / "store" / "decisions"
    told, killed, written = numbers(door), 0, itertools.count()
    while killed < kills:
        comment = f"try {next(written)}"
        before = len(numbers(door))
        if killed % 4:
            code = seen_and_killed(door, folder, chance.uniform(0, 0.05), *sign, comment)
        else:
            code = ended(door, chance.uniform(0, whole), *sign, comment)
        killed += code is None
        half = cut_off(door) if code is None else []
        if half:  # killed between the file and its row: nothing is signed before it is taken in
            said = door.run(*sign, "behind one that was cut off")
            assert (said.code, "signing was interrupted" in said.err) == (20, True), said
        now = numbers(door)
        assert set(told) <= set(now), "a decision that was acknowledged is gone"
        assert len(now) - before in ((1,) if code == 0 else (0, 1))
        told = now if code == 0 else told
        assert code in (0, None)
        for path in half:
            assert path.name.partition("-")[0] not in map(str, now)
            door.ok("decisions", "take", path)
            told = numbers(door)
    assert ended(door, 60, *sign, "the last one") == 0
    found = numbers(door)
    assert len(set(found)) == len(found)
    digests = Counter(door.rows("SELECT payload_sha256 FROM decision"))
    assert max(digests.values()) == 1, "a decision stands there twice"
    assert cut_off(door) == []
    door.healthy()
    door.ok("verify", door.root / "store" / "decisions", "--signers", door.root / "store/signers",
            "--candidate-manifest", door.suite / "candidates" / f"{V8}.json")  # fmt: skip


@pytest.mark.slow
def test_a_decision_killed_on_its_way_is_there_whole_or_not_at_all(full: Door) -> None:
    signing_killed(full, kills=2, seed=1)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_sixty_kills_while_signing(full: Door, seed: int) -> None:
    signing_killed(full, kills=20, seed=100 + seed)


# files of labels ----------------------------------------------------------------------------------


def labels_killed(door: Door, template: Path, kills: int, seed: int) -> None:
    """Files of a colleague's labels are taken in, one after the other, again where killed."""
    chance, killed = Random(seed), 0
    file = door.root / "labels.jsonl"
    other = copied(template, door.root / "kim")
    for part in itertools.count():
        with labeler(other, f"kim-{part}") as desk:
            label_all(desk, desk.labels.session(SUITE, V8))
        file.write_text(other.ok("labels", "export", "--suite", SUITE).out)
        wanted = {json.loads(line)["uid"] for line in file.read_text().splitlines()}
        whole = 0.5
        code = None
        while code is None:
            code = ended(door, chance.uniform(0.3, 1.2) * whole, "labels", "import", file)
            killed += code is None
            found = [one["uid"] for one in kept(door)]
            assert len(set(found)) == len(found), "a label stands there twice"
            assert code is None or set(found) == wanted
            whole *= 1.1 if code is None else 1.0
        assert code == 0
        if killed >= kills:
            break
    door.healthy()


@pytest.mark.slow
def test_a_file_of_labels_killed_on_its_way_is_taken_in_once(
    full: Door, full_template: Path
) -> None:
    labels_killed(full, full_template, kills=2, seed=2)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_sixty_kills_while_labels_are_taken_in(full: Door, full_template: Path, seed: int) -> None:
    labels_killed(full, full_template, kills=20, seed=200 + seed)


# the workstation ----------------------------------------------------------------------------------

NAMES = ("cand-a", "cand-b")
needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def pairs_to_label(door: Door, pairs: int) -> Door:
    """A workspace whose policy wants so many pairs, with the traces that make them."""
    raw = json.loads((door.suite / "suite.json").read_bytes())
    raw["policy"]["labels"]["min_pairs"] = pairs
    (door.suite / "suite.json").write_text(json.dumps(raw))
    for name in ("suite.lock", "suite.sha256"):
        (door.suite / name).unlink()
    shutil.rmtree(door.suite / ".frozen", ignore_errors=True)
    door.ok("suite", "freeze", SUITE)
    records: list[dict[str, Any]] = [
        passing(
            EPISODES[n % 3], name, n // 3 + 1, nonce=n + 1000 * side,
            final_message=f"Case {n} is closed. {'A person writes to you. ' * side}",
        )
        for side, name in enumerate(NAMES)
        for n in range(pairs)
    ]  # fmt: skip
    door.take("traces.jsonl", records)
    return door


@pytest.fixture
def screen() -> Iterator[Terminal]:
    with tempfile.TemporaryDirectory(prefix="r") as folder, terminal(Path(folder)) as found:
        yield found


def workstation(door: Door, *environment: str) -> list[str]:
    program = [*PROGRAM, "--workspace", str(door.root), "--reviewer", "dana", "--no-mouse"]
    return ["env", f"PYTHONPATH={REPOSITORY}", *environment, *program]


def shown_item(shown: str) -> int | None:
    """The number of the item that stands there."""
    found = re.search(r"item (\d+) of \d+ +blind", shown)
    return int(found[1]) if found else None


def saved_item(shown: str) -> int:
    """The number of the item that the screen says was saved; 0 when it says nothing of it."""
    found = re.search(r"item (\d+) saved", shown)
    return int(found[1]) if found else 0


def ready(shown: str) -> bool:
    return shown_item(shown) is not None and "(x)" not in shown


def sit_down(screen: Terminal) -> int:
    screen.until(lambda shown: "[Scorecard]" in shown and "hard pass" in shown, "the scorecard")
    screen.press("L")
    number = shown_item(screen.until(ready, "a pair"))
    assert number is not None
    return number


def labeling_killed(door: Door, screen: Terminal, kills: int, seed: int) -> None:
    """Label by keys, and be killed around the moment of saving; then sit down again."""
    chance, told = Random(seed), 0
    screen.open(workstation(door))
    for killed in range(kills):
        if killed:
            screen.again(workstation(door))
        number = sit_down(screen)
        assert number == len(kept(door)) + 1, "the next item is the one behind all that was kept"
        for _ in range(chance.randrange(2)):
            label(screen)
            screen.until(
                lambda shown, n=number: ready(shown) and shown_item(shown) == n + 1, "next"
            )
            number += 1
        label(screen)
        time.sleep(chance.choice((0.0, 0.01, 0.03, 0.1)) * chance.random())
        screen.kill()
        told = max(saved_item(screen.screen()), number - 1)
        found = kept(door)
        assert told <= len(found) <= number, "an acknowledged label is gone"
    places = Counter((one["item"], one["showing"]) for one in found)
    assert max(places.values()) == 1, "a label stands there twice"
    assert {one["answer"] for one in found} == {"left"}
    door.healthy()


def label(screen: Terminal) -> None:
    screen.press("h")
    screen.until(lambda shown: "(x)" in shown, "the answer")
    screen.press("Enter")


@needs_tmux
@pytest.mark.slow
def test_the_workstation_killed_while_it_saves_keeps_every_label(
    door: Door, screen: Terminal
) -> None:
    labeling_killed(pairs_to_label(door, 12), screen, kills=2, seed=3)


@needs_tmux
@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_eighty_kills_of_the_workstation(door: Door, screen: Terminal, seed: int) -> None:
    labeling_killed(pairs_to_label(door, 24), screen, kills=20, seed=300 + seed)
