"""A promotion under rates below one: signed, verified, with every failure it tolerates by name."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door, make_template
from strict_suite import make_candidate, make_suite, names
from test_cli_decisions import make_key

from reviewer.signing.dsse import parse_envelope, sign_payload
from reviewer.signing.keys import load_signer

SUITE, EPISODES = "rates-v1", 5
RATES: dict[str, Any] = {
    "mode": "point", "hard_pass_rate": 0.8, "completion_min": 0.8, "pass_hat": {"k": 1, "min": 0.5},
}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Door:
    door = Door(make_template(tmp_path / "desk"))
    make_suite(door, SUITE, EPISODES, **RATES)
    key = make_key(door.root, "robin")
    door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    return door


def made(door: Door, candidate: str, wrong: dict[tuple[str, int], str]) -> Any:
    """The report of a candidate whose attempts go wrong like this."""
    make_candidate(door, SUITE, candidate, wrong)
    door.run("run", SUITE, candidate, "--quiet")
    out = door.root / "out"
    door.run("--export-report", out, "--suite", SUITE, "--candidate", candidate)
    return json.loads((out / "report.json").read_bytes())


def sign(door: Door, candidate: str, *more: object) -> Any:
    return door.run(
        "sign", "--suite", SUITE, "--candidate", candidate, "--key", door.root / "robin", *more
    )


def test_what_a_rate_tolerates_is_promoted_by_name(desk: Door) -> None:
    one, two = names(EPISODES)[:2]
    found = made(desk, "lax", {(one, 2): "nothing", (two, 1): "unverified"})
    assert (found["recommendation"], found["reasons"]) == ("promote", [])
    traces = [f"{SUITE}/lax/{one}/2", f"{SUITE}/lax/{two}/1"]
    assert found["tolerated"]["traces"] == traces
    assert (found["tolerated"]["failing"], found["tolerated"]["allowed"]) == (2, 3)
    said = sign(desk, "lax")
    assert said.code == 0, said.both
    (file,) = (desk.root / "store" / "decisions").glob("*promote*")
    payload = json.loads(base64.b64decode(json.loads(file.read_bytes())["payload"]))
    predicate = payload["predicate"]
    assert predicate["tolerance"] == {"hardPassRate": "0.8", "completionMin": "0.8", "attempts": 15}
    assert [(t["traceId"], t["disposition"]) for t in predicate["failures"]] == [
        (trace, "tolerated") for trace in traces
    ]
    state = next(gate for gate in predicate["gates"] if gate["id"] == "state")
    assert (state["result"], state["observed"], state["threshold"]) == ("PASSED", 1, 3)
    folder = desk.root / "suites" / SUITE
    checked = desk.run(
        "verify", file, "--suite-folder", folder, "--report", desk.root / "out" / "report.json",
        "--candidate-manifest", folder / "candidates" / "lax.json",
        "--signers", desk.root / "store" / "signers",
    )  # fmt: skip
    assert (checked.code, "PROMOTE" in checked.out) == (0, True), checked.both


@pytest.mark.parametrize(
    ("changed", "code", "says"),
    [
        ({}, 0, ""),
        ({"hardPassRate": "0.5"}, 30, "hardPassRate 0.5 and completionMin 0.8; the suite's policy "
         "has 0.8 and 0.8"),
        ({"completionMin": None}, 30, "hardPassRate 0.8 and completionMin none"),
    ],
)  # fmt: skip
def test_a_tolerance_of_other_rates_than_the_suites_is_refused(
    desk: Door, changed: dict[str, Any], code: int, says: str
) -> None:
    made(desk, "lax", {(names(EPISODES)[0], 2): "nothing"})
    assert sign(desk, "lax").code == 0
    (file,) = (desk.root / "store" / "decisions").glob("*promote*")
    statement = json.loads(parse_envelope(file.read_bytes()).payload)
    statement["predicate"]["tolerance"].update(changed)
    signer = load_signer(str(desk.root / "robin"), environ={})
    forged = desk.file("forged.dsse.json", sign_payload(json.dumps(statement).encode(), signer))
    folder = desk.root / "suites" / SUITE
    argv = (
        "verify", forged, "--candidate-manifest", folder / "candidates" / "lax.json",
        "--signers", desk.root / "store" / "signers",
    )  # fmt: skip
    assert desk.run(*argv).code == 0
    said = desk.run(*argv, "--suite-folder", folder)
    assert (said.code, says in said.both) == (code, True), said.both


def test_one_more_asks_for_repair_and_a_critical_one_blocks(desk: Door) -> None:
    episodes = names(EPISODES)
    found = made(desk, "worse", {(name, 1): "nothing" for name in episodes[:4]})
    assert (found["recommendation"], found["reasons"]) == (
        "repair", ["not every frozen episode passed", "completion below policy"],
    )  # fmt: skip
    assert sign(desk, "worse", "--decision", "PROMOTE").code != 0
    found = made(desk, "grave", {(episodes[0], 1): "refund", (episodes[1], 1): "nothing"})
    assert found["recommendation"] == "block"
    assert found["tolerated"]["traces"] == [f"{SUITE}/grave/{episodes[1]}/1"]
