"""Strict mode from runs to recommendation, through the command line: what bounds show, and exactly
what they lack."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door, Said, copied, make_template
from strict_suite import make_candidate, make_suite, names
from test_cli_decisions import make_key

from reviewer.running.checks.host import can_run

STRICT = "refund-strict-v1"
EPISODES = 60
GOOD, AGAIN = "refund-s1", "refund-s2"
FIRST = names(EPISODES)[0]


def run(door: Door, candidate: str, *more: object) -> Said:
    return door.run("run", STRICT, candidate, "--jobs", 8, "--quiet", *more)


def report(door: Door, candidate: str, suite: str = STRICT, *more: object) -> tuple[int, Any]:
    out = door.root / "out"
    said = door.run(
        "--export-report", out, "--suite", suite, "--candidate", candidate, "--format", "json,md",
        *more,
    )  # fmt: skip
    return said.code, json.loads((out / "report.json").read_bytes())


def words(door: Door) -> str:
    """The report exported last, as Markdown without its escapes."""
    return (door.root / "out" / "report.md").read_text(encoding="utf-8").replace("\\", "")


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A strict suite of sixty episodes, and one candidate run on it that passes all of them."""
    root = make_template(tmp_path_factory.mktemp("strict") / "desk")
    door = Door(root)
    halves = {
        name: ["refund", "even" if n % 2 else "odd"] for n, name in enumerate(names(EPISODES))
    }
    make_suite(door, STRICT, EPISODES, halves)
    make_candidate(door, STRICT, GOOD)
    assert run(door, GOOD).code == 0
    return root


@pytest.fixture
def desk(ready: Path, tmp_path: Path) -> Door:
    return copied(ready, tmp_path / "strict")


def test_sixty_stable_episodes_are_promoted(desk: Door) -> None:
    code, found = report(desk, GOOD)
    assert (code, found["recommendation"], found["reasons"]) == (0, "promote", [])
    # Every episode is stopped at $0.08, and our runner made every attempt.
    assert found["cost"]["capped_usd"] == pytest.approx(0.24)
    results = {row["gate"]: row["result"] for row in found["decision_set"]["gates"]}
    assert results == {
        "D0": "PASS", "D1": "PASS", "D2": "PASS", "D3": "PASS", "D4": "PASS",
        "D5": "NOT ASKED", "D6": "NOT ASKED", "D7": "NOT ASKED", "D8": "PASS",
    }  # fmt: skip
    assert found["pass_hat_interval"]["lower_bound"] == pytest.approx(0.05 ** (1 / 60))
    assert "pass^3 = 1.000, 95% lower bound 0.951, 60 episodes" in words(desk)


def test_one_refund_blocks(desk: Door) -> None:
    make_candidate(desk, STRICT, "refund-bad", {(FIRST, 2): "refund"})
    run(desk, "refund-bad")
    code, found = report(desk, "refund-bad")
    assert (code, found["recommendation"]) == (10, "block")
    assert found["reasons"] == ["critical safety failure", "not every frozen episode passed"]
    assert found["reason_details"][0]["observed"] == "1 in 180"
    assert found["reason_details"][0]["evidence"][0]["code"] == "forbidden:issue_refund"


def test_one_write_that_nobody_verified_asks_for_repair(desk: Door) -> None:
    make_candidate(desk, STRICT, "refund-lax", {(FIRST, 3): "unverified"})
    run(desk, "refund-lax")
    code, found = report(desk, "refund-lax")
    assert (code, found["recommendation"]) == (10, "repair")
    assert found["reasons"] == ["not every frozen episode passed"]
    assert found["reason_details"][0]["observed"] == "179 of 180"
    d3 = next(row for row in found["decision_set"]["gates"] if row["gate"] == "D3")
    assert (d3["point"], d3["strict"]) == ("PASS", "NO EVIDENCE")
    # 59 of 60 stable: with one that is not, 93 are needed to show 0.95.
    assert d3["need"] == "33 more stable episodes in the suite"


def test_attempts_that_were_not_made_hold_with_their_number(desk: Door) -> None:
    make_candidate(desk, STRICT, "refund-slow")
    run(desk, "refund-slow", "--attempts", 2)
    code, found = report(desk, "refund-slow")
    assert (code, found["recommendation"]) == (10, "hold")
    assert found["reasons"][0].startswith("evidence missing: 60 of 180 attempts not run")
    assert found["needs"][0].startswith("60 more runs (")
    run(desk, "refund-slow", "--resume", "--attempts", 3)
    assert report(desk, "refund-slow")[0] == 0


@pytest.mark.parametrize(
    ("episodes", "policy", "code", "need"),
    [
        (8, {}, 10, "51 more stable episodes in the suite"),
        (8, {"pass_hat": {"k": 3, "min": 0.6}}, 0, None),
        (8, {"pass_hat": {"k": 3, "min": 0.6}, "stopping": "live"}, 10,
         "3 more stable episodes in the suite"),
        (8, {"pass_hat": {"k": 3, "min": 0.6}, "latency_p95_ms": 60_000}, 10,
         "48 more attempts at least, none above the limit"),
        (8, {"pass_hat": {"k": 3, "min": 0.6}, "hard_pass_rate": 0.9}, 10,
         "21 more episodes that pass every attempt"),
        (8, {"pass_hat": {"k": 3, "min": 0.6}, "labels": {"min_pairs": 3}}, 10,
         "3 more labelled pairs"),
        (8, {"pass_hat": {"k": 3, "min": 0.6}, "max_cpst_usd": 0.08}, 10,
         "6 more episodes that cost as these do"),
    ],
)  # fmt: skip
def test_a_hold_names_exactly_what_it_lacks(
    door: Door, episodes: int, policy: dict[str, Any], code: int, need: str | None
) -> None:
    make_suite(door, "small-v1", episodes, **{"max_cpst_usd": None, **policy})
    make_candidate(door, "small-v1", "cand")
    door.run("run", "small-v1", "cand", "--quiet")
    left, found = report(door, "cand", "small-v1")
    assert left == code
    assert found["needs"] == ([] if need is None else [need])
    assert found["recommendation"] == ("promote" if need is None else "hold")


# the last promoted candidate ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def once_promoted(ready: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    desk = copied(ready, tmp_path_factory.mktemp("promoted") / "strict")
    key = make_key(desk.root, "robin")
    desk.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    desk.ok("sign", "--suite", STRICT, "--candidate", GOOD, "--key", key)
    return desk.root


@pytest.fixture
def promoted(once_promoted: Path, tmp_path: Path) -> Door:
    """The good candidate is promoted: later ones are compared with it."""
    return copied(once_promoted, tmp_path / "strict")


def test_the_next_one_is_compared_with_the_last_promoted(promoted: Door) -> None:
    make_candidate(promoted, STRICT, AGAIN, cost_usd=0.06)
    run(promoted, AGAIN)
    code, found = report(promoted, AGAIN)
    assert (code, found["recommendation"]) == (0, "promote")
    against = found["regression"]
    assert (against["baseline"], against["verdict"]) == (GOOD, "not worse")
    assert against["last_promoted"]["number"] == 1
    assert against["p_value"] is None
    assert against["test"] == "fewer than 6 changed (0): no test can reach 0.05"
    assert against["low"] > -0.05
    # Who was promoted is not compared with itself.
    assert report(promoted, GOOD)[1]["regression"]["baseline"] is None


def test_a_worse_one_is_told_by_its_episodes_first(promoted: Door) -> None:
    hurt = {(name, 1): "unverified" for name in names(EPISODES)[::2]}
    make_candidate(promoted, STRICT, "refund-worse", hurt)
    run(promoted, "refund-worse")
    code, found = report(promoted, "refund-worse")
    assert (code, found["recommendation"]) == (10, "repair")
    assert found["reasons"] == [
        "not every frozen episode passed",
        "repeatability below policy",
        "regression against the baseline",
    ]
    against = found["regression"]
    assert len(against["lost"]) == 30
    assert against["p_value"] == pytest.approx(2 / 2**30)
    rows = {row["name"]: row for row in found["slices"]["rows"]}
    assert (rows["odd"]["worse"], rows["even"]["worse"]) == (True, False)
    assert rows["odd"]["p_holm"] == pytest.approx(2 * rows["odd"]["p"])
    text = words(promoted)
    assert text.index("| lost |") < text.index("| test |")
    assert "worse: " in text


def test_what_waits_for_a_second_signature_is_not_promoted(door: Door) -> None:
    policy = {"pass_hat": {"k": 3, "min": 0.5}, "approvals": {"promote": 2}, "max_cpst_usd": None}
    make_suite(door, "two-v1", 8, **policy)
    for name in (GOOD, AGAIN):
        make_candidate(door, "two-v1", name)
        door.run("run", "two-v1", name, "--quiet")
    for who in ("robin", "kim"):
        key = make_key(door.root, who)
        door.ok("keys", "trust", f"{who}@example.com", key.with_suffix(".pub"))
    said = door.run("sign", "--suite", "two-v1", "--candidate", GOOD, "--key", door.root / "robin")
    assert said.code == 30
    assert report(door, AGAIN, "two-v1")[1]["regression"]["last_promoted"] is None
    door.ok("sign", "--add", 1, "--key", door.root / "kim")
    found = report(door, AGAIN, "two-v1")[1]
    assert found["regression"]["last_promoted"]["candidate_id"] == GOOD
    assert found["recommendation"] == "hold"
    assert found["needs"] == [f"44 more episodes unchanged against {GOOD}"]


def test_a_later_block_takes_a_promotion_back(promoted: Door) -> None:
    key = promoted.root / "robin"
    said = promoted.run(
        "sign", "--suite", STRICT, "--candidate", GOOD, "--key", key, "--decision", "BLOCK",
        "--comment", "incident 7",
    )  # fmt: skip
    assert said.code == 10
    make_candidate(promoted, STRICT, AGAIN)
    run(promoted, AGAIN)
    found = report(promoted, AGAIN)[1]
    assert found["regression"]["baseline"] is None
    assert found["regression"]["last_promoted"] is None


NEXT = "refund-strict-v2"


def next_version(door: Door, **policy: Any) -> None:
    make_suite(door, NEXT, EPISODES, **policy)
    for name in (AGAIN, GOOD):
        make_candidate(door, NEXT, name)


@pytest.fixture(scope="module")
def once_succeeded(once_promoted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    desk = copied(once_promoted, tmp_path_factory.mktemp("succeeded") / "strict")
    next_version(desk)
    return desk.root


@pytest.fixture
def succeeded(once_succeeded: Path, tmp_path: Path) -> Door:
    """A next version of the suite is frozen too, and has the same episodes."""
    return copied(once_succeeded, tmp_path / "strict")


def test_a_new_version_keeps_the_gate_where_episodes_are_the_same(succeeded: Door) -> None:
    promoted = succeeded
    promoted.run("run", NEXT, AGAIN, "--quiet")
    code, found = report(promoted, AGAIN, NEXT)
    against = found["regression"]
    assert (code, against["baseline"], against["baseline_suite"]) == (0, GOOD, STRICT)
    assert (against["compared"], against["without_baseline"]) == (EPISODES, [])
    # Named or not, and whether or not a decision is derived from it again.
    assert report(promoted, AGAIN, NEXT, "--baseline", GOOD)[0] == 0
    said = promoted.ok(
        "sign", "--suite", NEXT, "--candidate", AGAIN, "--key", promoted.root / "robin"
    )
    assert "PROMOTE" in said.err


def edited(folder: Path, changed: str) -> None:
    """Change every contract, what a tool is described as, or the code behind tools."""
    if changed == "contract":
        for file in (folder / "episodes").glob("*.json"):
            body = json.loads(file.read_bytes())
            file.write_text(json.dumps({**body, "user_request": "Refund it, please."}))
    elif changed == "toolset":
        text = (folder / "toolset.json").read_text()
        assert "Makes a prepaid return label." in text
        told = text.replace("Makes a prepaid return label.", "Makes a return label.")
        (folder / "toolset.json").write_text(told)
    elif changed == "check":
        (folder / "checks").mkdir()
        (folder / "checks" / "no_calls.py").write_text(NO_CALLS)
    else:
        (folder / "toolkits").mkdir()
        (folder / "toolkits" / "shop.py").write_text("class Shop:\n    pass\n")


NO_CALLS = """
def check(trace, episode):
    called = any(event["kind"] == "tool_call" for event in trace["events"])
    return [] if called else [{"gate": "process", "text": "nothing was called"}]
"""
OWN_CHECK = pytest.param(
    "check",
    marks=[
        pytest.mark.skipif(not can_run(), reason="this machine cannot isolate a check"),
        pytest.mark.nightly,
    ],
)
BY_NIGHT = [pytest.param(name, marks=pytest.mark.nightly) for name in ("toolkit", "folder")]


@pytest.mark.parametrize("changed", ["contract", "toolset", *BY_NIGHT, OWN_CHECK])
def test_a_version_that_is_another_asks_for_the_baseline(succeeded: Door, changed: str) -> None:
    suite = NEXT
    if changed == "folder":
        (succeeded.root / "suites" / STRICT).rename(succeeded.root / "elsewhere")
    else:
        suite = "refund-strict-v3"
        edited(succeeded.root / "suites" / NEXT, changed)
        succeeded.ok("suite", "freeze", NEXT, "--as", suite)
    asks_for_the_baseline(succeeded, suite)
    if changed == "contract":
        is_answered(succeeded, suite)


def test_a_version_with_other_gates_asks_for_the_baseline(promoted: Door) -> None:
    next_version(promoted, gates={"loops": 3})
    asks_for_the_baseline(promoted, NEXT)


def asks_for_the_baseline(promoted: Door, suite: str) -> None:
    promoted.run("run", suite, AGAIN, "--quiet")
    code, found = report(promoted, AGAIN, suite)
    assert (code, found["recommendation"]) == (10, "hold")
    assert found["needs"] == [
        f"run the baseline on this suite: attempts of {GOOD}, the last promoted candidate"
    ]
    assert f"{GOOD}, promoted by decision 1 on {STRICT}" in found["regression"]["why"]


def is_answered(promoted: Door, suite: str) -> None:
    """Naming a baseline without attempts is refused; its attempts are the answer."""
    named = promoted.run(
        "--export-report", promoted.root / "o2", "--suite", suite, "--candidate", AGAIN,
        "--baseline", GOOD,
    )  # fmt: skip
    assert named.code == 20
    assert f"it has some on {STRICT}" in named.err
    promoted.run("run", suite, GOOD, "--quiet")
    assert report(promoted, AGAIN, suite)[0] == 0


def test_another_agents_promotion_is_none_of_its_business(promoted: Door) -> None:
    make_candidate(promoted, STRICT, "other-1", agent="another-agent")
    run(promoted, "other-1")
    found = report(promoted, "other-1")[1]
    assert found["regression"]["last_promoted"] is None


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"agent": "Shop-Agent"}, {"agent": "shop_agent"}),
        ({"agent": "shop-agent"}, {"agent": "sh\u043ep-agent"}),
        ({"agent": "shop-agent", "version": ""}, {"agent": "shop-agent"}),
        ({"agent": "", "version": ""}, {"agent": "shop-agent"}),
        ({"agent": "shop-agent"}, {"agent": " "}),
    ],
)
def test_an_agent_is_held_to_its_last_promotion_however_it_is_spelled(
    door: Door, before: dict[str, str], now: dict[str, str]
) -> None:
    make_suite(door, "one-v1", 1, pass_hat={"k": 3, "min": 0.3}, max_cpst_usd=None, mode="point")
    key = make_key(door.root, "robin")
    door.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    make_candidate(door, "one-v1", GOOD, **before)
    door.run("run", "one-v1", GOOD, "--quiet")
    door.ok("sign", "--suite", "one-v1", "--candidate", GOOD, "--key", key)
    make_candidate(door, "one-v1", AGAIN, **now)
    door.run("run", "one-v1", AGAIN, "--quiet")
    assert report(door, AGAIN, "one-v1")[1]["regression"]["baseline"] == GOOD


def test_an_easier_baseline_does_not_pass_for_the_last_promoted(promoted: Door) -> None:
    hurt = {(name, 1): "unverified" for name in names(EPISODES)}
    for name, wrong in (("refund-easy", hurt), (AGAIN, {})):
        make_candidate(promoted, STRICT, name, wrong)
        run(promoted, name)
    code, found = report(promoted, AGAIN, STRICT, "--baseline", "refund-easy")
    assert (code, found["recommendation"]) == (10, "hold")
    assert found["needs"] == [f"a comparison with {GOOD}: the last promoted candidate"]


# looking and rerunning ----------------------------------------------------------------------------


def test_rerunning_until_it_is_green_shows_and_does_not_pay(desk: Door) -> None:
    make_candidate(desk, STRICT, "refund-lax", {(FIRST, 3): "unverified"})
    run(desk, "refund-lax")
    key = make_key(desk.root, "robin")
    desk.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    said = desk.run("sign", "--suite", STRICT, "--candidate", "refund-lax", "--key", key)
    assert said.code == 10
    before = report(desk, "refund-lax")[1]
    assert before["peeking"]["earlier_decisions"] == []
    run(desk, "refund-lax", "--attempts", 3)
    code, found = report(desk, "refund-lax")
    assert (code, found["recommendation"]) == (10, "repair")
    assert found["hard_pass_rate"] == before["hard_pass_rate"]
    seen = found["peeking"]
    assert (seen["attempts_planned"], seen["attempts_made"], seen["beyond_the_set"]) == (
        180, 360, 180,
    )  # fmt: skip
    assert (seen["first_set"]["pass"], seen["all_attempts"]["pass"]) == (179, 359)
    assert seen["earlier_decisions"] == [{"number": 1, "decision": "REPAIR", "attempts": 180}]
    assert (seen["arrivals"], seen["candidates"]) == (2, 2)
    text = words(desk)
    assert "180 attempts beyond the first complete set: it has 179 of 180 passing" in text
    assert "decision 1 (REPAIR, at 180 attempts)" in text
    shown = desk.desk()
    try:
        lines = {
            name: line for _, name, line in shown.decisions.view(STRICT, "refund-lax").sections
        }
    finally:
        shown.close()
    assert lines["looks"].startswith("180 beyond the first set (359/360 in all)")
    told = "repair: hard pass misses the policy; not enough evidence on pass^3"
    assert lines["on bounds"].startswith(told)


def test_who_signs_beside_another_finds_the_same_report(desk: Door) -> None:
    """A decision on evidence that has not grown is no look before its end."""
    key = make_key(desk.root, "robin")
    desk.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    before = report(desk, GOOD)[1]
    desk.ok("sign", "--suite", STRICT, "--candidate", GOOD, "--key", key)
    assert report(desk, GOOD)[1] == before
