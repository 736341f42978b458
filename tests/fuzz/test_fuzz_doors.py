"""Every other file that a command reads, made odd: an exit code of ours, and never the one of an
internal error."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from doors import REPOSITORY, SUITE, V8, Door, copied
from fuzz_reading import unsoftened
from people import key_file

from reviewer.testing.mutants import Mutator

BY_DAY, BY_NIGHT = 8, 400
CODES = {0, 2, 10, 20, 30}
TASKS = REPOSITORY / "tests" / "data" / "tau2" / "mock_tasks.json"
GOLDEN = REPOSITORY / "tests" / "data" / "langchain" / "agentevals_test_trajectories.json"
MANIFEST, SIGNERS = f"suites/{SUITE}/candidates/{V8}.json", "store/signers"
REPORT, DECISION = "out/report.json", "out/decision.dsse.json"


@pytest.fixture(scope="module")
def signed_template(full_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with labels, judgments, notes and a signed decision, and each as a file."""
    door = copied(full_template, tmp_path_factory.mktemp("signed") / "desk")
    key = key_file(door.root, "robin")
    door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    door.ok("notes", "add", f"{SUITE}/{V8}/damaged-221/1", "read this one", "--seq", 1)
    for noun in ("labels", "judgments"):
        shipped = sorted((door.suite / noun).glob("*.jsonl"))
        assert door.run(noun, "import", *shipped).code == 0
        door.ok(noun, "export", door.root / f"{noun}.jsonl")
    door.ok("notes", "export", door.root / "notes.jsonl")
    out = door.root / "out"
    door.ok("--export-report", out, "--suite", SUITE, "--candidate", V8, "--sign", key)
    door.ok("backup", door.root / "other.db")
    shutil.copy(TASKS, door.root / "tasks.json")
    shutil.copy(GOLDEN, door.root / "golden.json")
    return door.root


def verify(door: Door) -> tuple[str, ...]:
    here = door.root
    return (
        "verify", str(here / DECISION), "--candidate-manifest", str(here / MANIFEST),
        "--signers", str(here / SIGNERS), "--report", str(here / REPORT),
    )  # fmt: skip


def loaded(noun: str) -> Callable[[Door], tuple[str, ...]]:
    return lambda door: (noun, "import", str(door.root / f"{noun}.jsonl"))


DOORS: dict[str, tuple[str, Callable[[Door], tuple[str, ...]]]] = {
    "labels": ("labels.jsonl", loaded("labels")),
    "judgments": ("judgments.jsonl", loaded("judgments")),
    "notes": ("notes.jsonl", loaded("notes")),
    "envelope": (DECISION, verify),
    "trust file": (SIGNERS, verify),
    "manifest": (MANIFEST, verify),
    "report": (REPORT, verify),
    "taken in": (DECISION, lambda door: ("decisions", "take", str(door.root / DECISION))),
    "suite": (f"suites/{SUITE}/suite.json", lambda door: ("suite", "check", SUITE)),
    "episode": (f"suites/{SUITE}/episodes/appeal-009.json", lambda door: ("suite", "check", SUITE)),
    "rubric": (f"suites/{SUITE}/rubric.json", lambda door: ("suite", "check", SUITE)),
    "judge": (f"suites/{SUITE}/judge.json", lambda door: ("suite", "check", SUITE)),
    "lock": (f"suites/{SUITE}/suite.lock", lambda door: ("suite", "check", SUITE)),
    "training data": ("tasks.json", lambda door: ("suite", "leaks", str(door.root / "tasks.json"))),
    "tau2 tasks": (
        "tasks.json",
        lambda door: ("suite", "from-tau2", str(door.root / "tasks.json"), "--as", "made-v1"),
    ),
    "golden records": (
        "golden.json",
        lambda door: ("suite", "from-golden", str(door.root / "golden.json"), "--as", "made-v1"),
    ),
    "store": ("other.db", lambda door: ("merge", str(door.root / "other.db"))),
}


@pytest.fixture(autouse=True)
def _unsoftened() -> Iterator[None]:
    with unsoftened():
        yield


def fuzzed(door: Door, name: str, seed: int, count: int) -> Counter[int]:
    """Exit codes of the command for `count` mutants of the file it reads."""
    file, command = DOORS[name]
    path, mutator, codes = door.root / file, Mutator(seed), Counter[int]()
    whole = path.read_bytes()
    for number in range(count):
        operator, mutant = mutator.mutant(whole)
        path.write_bytes(mutant)
        said = door.run(*command(door))
        if said.code not in CODES or "\x1b" in said.both or "Traceback" in said.both:
            kept = Path(os.environ.get("REVIEWER_FUZZ_KEPT", door.root)) / f"{name}-{number}"
            kept.write_bytes(mutant)
            raise AssertionError(f"{name}: {operator}: {said.code} {said.both[-1500:]}; {kept}")
        codes[said.code] += 1
        shutil.rmtree(door.root / "suites" / "made-v1", ignore_errors=True)
    path.write_bytes(whole)
    return codes


@pytest.mark.parametrize("name", sorted(DOORS))
def test_mutants_get_an_exit_code_of_ours(signed_template: Path, tmp_path: Path, name: str) -> None:
    door = copied(signed_template, tmp_path / "desk")
    codes = fuzzed(door, name, 5, BY_DAY)
    assert codes.total() > codes[0], codes  # some are refused


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(DOORS))
def test_hundreds_of_mutants_get_an_exit_code_of_ours(
    signed_template: Path, tmp_path: Path, name: str
) -> None:
    door = copied(signed_template, tmp_path / "desk")
    count = int(os.environ.get("REVIEWER_FUZZ_CASES", BY_NIGHT))
    seed = int(os.environ.get("REVIEWER_FUZZ_SEED", "1000"))
    assert fuzzed(door, name, seed, count).total() == count
