"""A store with signed decisions and reports, as the last version without optional gates left it."""

import base64
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, Said
from people import key_file

from reviewer.desk.desk import Desk
from reviewer.desk.place import at
from reviewer.stats.formulas import FORMULAS
from reviewer.suite.gates import ALWAYS

DECIDED = Path(__file__).resolve().parents[1] / "data" / "stores" / "decided-schema-9.tar.xz"
RELEASES = {V8: ("promote", 0), V7: ("block", 10)}
"""Recommendation and exit code of each candidate."""


@pytest.fixture
def old(tmp_path: Path) -> Door:
    with tarfile.open(DECIDED) as packed:
        packed.extractall(tmp_path / "desk", filter="data")
    return Door(tmp_path / "desk")


def decision_of(door: Door, candidate: str) -> Path:
    (path,) = (door.root / "store" / "decisions").glob(f"[12]-*-{candidate}.dsse.json")
    return path


def predicate(decision: Path) -> dict[str, Any]:
    payload = json.loads(decision.read_bytes())["payload"]
    held: dict[str, Any] = json.loads(base64.b64decode(payload))["predicate"]
    return held


def verified(door: Door, decision: Path, candidate: str, *more: object) -> Said:
    return door.run(
        "verify", decision, "--candidate-manifest", door.suite / "candidates" / f"{candidate}.json",
        "--signers", door.root / "store" / "signers", "--at", predicate(decision)["timeCreated"],
        *more,
    )  # fmt: skip


def report(door: Door, candidate: str) -> dict[str, Any]:
    """The report of today, in a folder of its own."""
    folder = door.root / "out" / candidate
    argv = "--export-report", folder, "--suite", SUITE, "--candidate", candidate
    assert door.run(*argv).code == RELEASES[candidate][1]
    body: dict[str, Any] = json.loads((folder / "report.json").read_bytes())
    return body


def reported(door: Door, candidate: str) -> Path:
    """The report that the old version wrote."""
    return door.root / "reports" / f"{candidate}.json"


OTHER_FORMULAS = (
    "$.hard_pass_rate.lower_bound", "$.hard_pass_rate.upper_bound", "$.completion.lower_bound",
    "$.completion.upper_bound", "$.pass_hat_interval.upper_bound", "$.cost.cpst_low",
    "$.cost.cpst_high", "$.regression.", "$.peeking.all_attempts.", "$.decision_set.",
    "$.what_this_does_not_show", "$.judge.needs", "$.judge.estimates.", "$.judge.more_pairs_strict",
)  # fmt: skip
"""Places of what the old version computed by formulas of version 1."""
REWORDED = (("nothing here rests on what it says", "no figure here depends on its answers"),)
"""Words of the old version's report, and those in their place."""


def holds(old: Any, new: Any, place: str = "$") -> None:
    """Assert that all of the old value is in the new one, which may have members beyond."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name, value in old.items():
            if not f"{place}.{name}".startswith(OTHER_FORMULAS):
                holds(value, new[name], f"{place}.{name}")
    elif place.startswith(OTHER_FORMULAS):
        return
    elif isinstance(old, list) and isinstance(new, list):
        if place == "$.not_measured":  # the one line that is new is of what ran
            assert new[0].startswith("ran: code not bound in 9 of 9 attempts"), new[0]
            new = new[1:]
        named = ("$.reasons", "$.reason_details")  # a regression is now one beside others
        assert len(old) == len(new) or place in named, place
        for number, (left, right) in enumerate(zip(old, new, strict=False)):
            holds(left, right, f"{place}[{number}]")
    else:
        wanted = old
        for before, now in REWORDED if isinstance(old, str) else ():
            wanted = wanted.replace(before, now)
        assert (type(wanted), wanted) == (type(new), new), place


@pytest.mark.parametrize("candidate", RELEASES)
def test_the_report_says_what_the_old_one_said(old: Door, candidate: str) -> None:
    before, now = json.loads(reported(old, candidate).read_bytes()), report(old, candidate)
    assert now["recommendation"] == RELEASES[candidate][0]
    assert tuple(now["gates"]) == ALWAYS
    holds(before, now)
    equal = {
        "recommendation", "needs", "policy", "gates",
        "critical_failures", "pass_hat", "failures", "episodes",
    }  # fmt: skip
    for member in equal:
        assert before[member] == now[member], member
    named = {V7: ["regression against the baseline"], V8: []}[candidate]
    assert now["reasons"] == before["reasons"] + named
    for mode in ("point", "strict"):
        word = "recommendation"
        assert before["decision_set"][mode][word] == now["decision_set"][mode][word]
    assert ("formulas" in before, now["formulas"]) == (False, FORMULAS)
    old.healthy()


@pytest.mark.parametrize("candidate", RELEASES)
def test_its_decisions_verify(old: Door, tmp_path: Path, candidate: str) -> None:
    decision = decision_of(old, candidate)
    expected = RELEASES[candidate][1]
    alone = verified(old, decision, candidate)
    assert alone.code == expected, alone
    whole = verified(
        old, decision, candidate, "--suite-folder", old.suite, "--report", reported(old, candidate)
    )
    assert whole.code == expected, whole
    old.ok("decisions", "list")  # brings the store up to date
    old.healthy()
    assert verified(old, decision, candidate) == alone
    apart = Door(tmp_path / "apart")
    apart.root.mkdir()
    manifest = old.suite / "candidates" / f"{candidate}.json"
    said = apart.outside(
        "verify", decision, "--candidate-manifest", manifest,
        "--signers", old.root / "store" / "signers", "--at", predicate(decision)["timeCreated"],
    )  # fmt: skip
    assert (said.code, said.out) == (expected, alone.out)


@pytest.mark.parametrize("candidate", RELEASES)
def test_its_candidates_are_signed_again(old: Door, candidate: str) -> None:
    key = key_file(old.root, "nora")
    old.ok("keys", "trust", "nora@example.com", key.with_suffix(".pub"))
    said = old.run("sign", "--suite", SUITE, "--candidate", candidate, "--key", key)
    assert said.code == RELEASES[candidate][1], said
    (new,) = (old.root / "store" / "decisions").glob(f"3-*-{candidate}.dsse.json")
    before, now = predicate(decision_of(old, candidate)), predicate(new)
    for member in ("decision", "gates", "failures", "repeatability", "policy", "candidate"):
        assert before[member] == now[member], member
    assert ("formulas" in before["report"], now["report"]["formulas"]) == (False, FORMULAS)
    assert verified(old, new, candidate).code == RELEASES[candidate][1]
    old.healthy()


# one that waits for its second signature under the formulas of then ------------------------------

WAITING = DECIDED.with_name("waiting-schema-9.tar.xz")
TWO = "refund-two"


@pytest.fixture
def waiting(tmp_path: Path) -> Door:
    with tarfile.open(WAITING) as packed:
        packed.extractall(tmp_path / "desk", filter="data")
    return Door(tmp_path / "desk")


def test_what_waits_under_older_formulas_asks_to_be_signed_again(waiting: Door) -> None:
    told = f"made under older formulas (version 1; here {FORMULAS}): sign it again"
    keys = [key_file(waiting.root, name) for name in ("nora", "omar")]
    for key in keys:
        waiting.ok("keys", "trust", f"{key.name}@example.com", key.with_suffix(".pub"))
    refused = waiting.run("sign", "--add", 1, "--key", keys[0])
    assert refused.code == 30
    assert f"decision 1 was {told}" in refused.err
    assert "reviewer sign --decision PROMOTE makes a new one" in refused.err
    pending = Desk(at(waiting.root)).decisions.view(TWO, V8).pending
    assert pending is not None
    assert pending.differs == (told,)
    said = waiting.run("sign", "--suite", TWO, "--candidate", V8, "--key", keys[0])
    assert said.code == 30, said
    waiting.ok("sign", "--add", 2, "--key", keys[1])
    (new,) = (waiting.root / "store" / "decisions").glob("2-*.dsse.json")
    assert predicate(new)["report"]["formulas"] == FORMULAS
    waiting.healthy()


def test_what_waits_still_verifies_as_what_it_is(waiting: Door) -> None:
    said = verified(waiting, decision_of(waiting, V8), V8)
    assert said.code == 30
    assert "1 of 2 approvals" in said.out
