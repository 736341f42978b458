"""The corpus of decisions that must be refused: each with its exit code and its own reason."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from fail_cases import written
from fail_made import AT, FOLDER

from reviewer.cli.main import main

NAMES = sorted(path.name for path in FOLDER.glob("*_fail"))


def verified(folder: Path, case: dict[str, Any]) -> tuple[int, str]:
    """What `reviewer verify` leaves with, and all that it says."""
    own = {name: folder / name for name in ("candidate.json", "signers")}
    options = [str(folder / one) if (folder / one).exists() else one for one in case["options"]]
    argv = ["verify", str(folder / case["place"])]
    for option, name in (("--candidate-manifest", "candidate.json"), ("--signers", "signers")):
        argv += [option, str(own[name] if own[name].exists() else FOLDER / name)]
    if "--at" not in options:
        options += ["--at", AT]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*argv, *options])
    return code, out.getvalue() + err.getvalue()


def case_of(name: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads((FOLDER / name / "case.json").read_bytes())
    return case


@pytest.fixture(scope="module")
def said() -> dict[str, tuple[int, str]]:
    return {name: verified(FOLDER / name, case_of(name)) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_refused_with_its_own_reason(said: dict[str, tuple[int, str]], name: str) -> None:
    case = case_of(name)
    code, text = said[name]
    assert code == case["exit"] != 0, text
    assert case["says"] in text
    assert all(line.isprintable() for line in text.splitlines())
    assert "PROMOTE" not in text.splitlines()
    if code == 30:
        faults = [line for line in text.splitlines() if line.startswith("policy not met: ")]
        assert len(faults) == 1 or not faults, faults
    others = [other for other in NAMES if other != name and case["says"] in said[other][1]]
    assert others == [], "another case gives this reason too"


def test_the_decision_that_each_was_spoilt_from_is_accepted() -> None:
    case = {"place": "decision.dsse.json", "options": []}
    code, text = verified(FOLDER / "good_pass", case)
    assert (code, text.splitlines()[-1]) == (0, "PROMOTE")


def test_the_corpus_is_what_is_made_of_it() -> None:
    there = {
        str(path.relative_to(FOLDER)): path.read_bytes()
        for path in FOLDER.rglob("*")
        if path.is_file()
    }
    made = written()
    assert sorted(there) == sorted(made), "run python tests/attest/fail_cases.py"
    assert [name for name in made if there[name] != made[name]] == []
    assert len(NAMES) > 100
