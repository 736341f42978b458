"""Every reader on files made odd: a typed refusal, quarantine, or a record; never anything else.

The guard that turns a reader's unforeseen fault into a refusal is off here (`unsoftened`).
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import SUITE, Door, passing
from fuzz_reading import Desk, heads, leaked, unsoftened
from fuzz_samples import SAMPLES, Sample, formats, laid_out

from reviewer.desk.imports.importing import suites_for
from reviewer.desk.place import at
from reviewer.testing.mutants import Mutator

pytestmark = pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")  # of archives

BY_DAY, BY_NIGHT = 8, 2_000
MOST_S = 10.0
"""Of processor time: no mutant of a file of at most 190 kB may take longer, whatever is in it."""


@pytest.fixture(autouse=True)
def _unsoftened() -> Iterator[None]:
    with unsoftened():
        yield


@pytest.fixture(scope="module")
def template(empty_template: Path) -> Path:
    return empty_template


def desk_for(name: str, template: Path, folder: Path) -> Desk:
    """A store; for our own records with the suite that they are judged by."""
    folder.mkdir(parents=True, exist_ok=True)
    if name != "native":
        return Desk(folder)
    root = shutil.copytree(template, folder / "desk")
    desk = Desk(folder)
    held, _ = suites_for(at(root), desk.connection, SUITE)
    desk.settle([one.suite for one in held.values()])
    return desk


def fuzzed(
    name: str, sample: Sample, template: Path, folder: Path, seed: int, count: int
) -> tuple[Counter[str], Counter[str]]:
    """(operators, states) of `count` mutants, each of one file of the sample."""
    main = laid_out(sample, folder / "in")
    files = [one for one in sorted((folder / "in").rglob("*")) if one.is_file()]
    weights = [len(files) if one == main else 1 for one in files]
    whole = {one: one.read_bytes() for one in files}
    desk, mutator = desk_for(name, template, folder), Mutator(seed)
    operators, states = Counter[str](), Counter[str]()
    proof = desk.read(main, name)
    assert proof.result.added or proof.result.state == "imported", proof.result
    assert not leaked(proof)
    for number in range(count):
        (file,) = mutator.dice.choices(files, weights)
        operator, mutant = mutator.mutant(whole[file])
        file.write_bytes(mutant)
        try:
            heads(file)
            read = desk.read(main, name)
        except BaseException as error:
            kept = keep(folder, name, number, file, mutant)
            raise AssertionError(f"{name}: {operator} of {file.name}: {error!r}; {kept}") from error
        finally:
            file.write_bytes(whole[file])
        if (found := leaked(read)) or read.seconds > MOST_S:
            kept = keep(folder, name, number, file, mutant)
            raise AssertionError(f"{name}: {operator}: {found} {read.seconds:.1f} s; {kept}")
        operators[operator] += 1
        states[read.result.state] += 1
    desk.close()
    return operators, states


def keep(folder: Path, name: str, number: int, file: Path, mutant: bytes) -> Path:
    """The mutant that showed a fault, where whoever looks into it finds it."""
    place = Path(os.environ.get("REVIEWER_FUZZ_KEPT", folder)) / f"{name}-{number}-{file.name}"
    place.write_bytes(mutant)
    return place


def test_every_reader_has_samples() -> None:
    assert set(SAMPLES) == set(formats())


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_mutants_cost_a_refusal(name: str, template: Path, tmp_path: Path) -> None:
    states = Counter[str]()
    for number, sample in enumerate(SAMPLES[name]):
        count = BY_DAY // len(SAMPLES[name])
        _, some = fuzzed(name, sample, template, tmp_path / str(number), 7 + number, count)
        states += some
    assert states["imported"], states  # what is not broken is read in spite of it


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_thousands_of_mutants_cost_a_refusal(name: str, template: Path, tmp_path: Path) -> None:
    seed = int(os.environ.get("REVIEWER_FUZZ_SEED", "1000"))
    for number, sample in enumerate(SAMPLES[name]):
        count = int(os.environ.get("REVIEWER_FUZZ_CASES", BY_NIGHT)) // len(SAMPLES[name])
        operators, _ = fuzzed(name, sample, template, tmp_path / str(number), seed + number, count)
        assert operators.total() == count


def test_a_mutant_costs_only_its_own_file(door: Door) -> None:
    mutator = Mutator(3)
    names = [name for name in sorted(SAMPLES) if name != "native"]
    broken = []
    for name in names:
        main = laid_out(SAMPLES[name][0], door.root / "in" / name)
        broken.append(main)
        main.write_bytes(mutator.mutant(main.read_bytes())[1])
    good = door.file("good.jsonl", [passing()])
    said = door.run("import", *broken, good)
    assert said.code in (0, 20), said
    assert "a fault of" not in said.both
    assert door.one("SELECT count(*) FROM traces WHERE suite_id = ?", SUITE) == 1
    door.healthy()
