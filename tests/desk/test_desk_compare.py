"""Two candidates, or two attempts, side by side: the report's figures, and evidence in words."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, passing, shipped

from reviewer.desk.compare.views import AttemptComparison
from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError


@pytest.fixture
def desk(full: Door) -> Any:
    made = full.desk()
    yield made
    made.close()


def trace(candidate: str, episode: str, attempt: int = 1) -> str:
    return f"{SUITE}/{candidate}/{episode}/{attempt}"


def call(tool: str, status: str = "ok", **arguments: object) -> dict[str, object]:
    return {"kind": "tool_call", "tool": tool, "arguments": arguments, "status": status}


def pair_of(door: Door, old: dict[str, Any], new: dict[str, Any]) -> AttemptComparison:
    """Two records of damaged-221 as two candidates, compared."""
    for name, record in (("cand-a", old), ("cand-b", new)):
        given = passing(candidate_id=name, nonce=len(name) + ord(name[-1]))
        said = door.take(f"{name}.jsonl", [{**given, **record}])
        assert "1 added" in said.both, said
    desk = door.desk()
    try:
        return desk.compare.episode(SUITE, "cand-b", "cand-a", "damaged-221")
    finally:
        desk.close()


# candidates ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("candidate", "baseline"), [(V8, V7), (V7, V8)])
def test_every_figure_is_the_reports_own(desk: Desk, candidate: str, baseline: str) -> None:
    found = desk.compare.candidates(SUITE, candidate, baseline)
    report = json.loads(desk.decisions.view(SUITE, candidate, baseline).report_json)
    against = report["regression"]
    assert list(found.lost) == against["lost"]
    assert list(found.gained) == against["gained"]
    assert list(found.new_critical) == against["new_critical"]
    assert list(found.not_compared) == against["not_compared"]
    for name in ("compared", "difference", "low", "high", "p_value", "margin", "verdict"):
        assert getattr(found, name) == against[name], name
    other = json.loads(desk.decisions.view(SUITE, baseline).report_json)
    costs = found.amounts[0]
    assert (costs.baseline, costs.candidate) == (
        other["cost"]["total_usd"],
        report["cost"]["total_usd"],
    )
    assert [rate.value for rate in found.hard_pass] == [
        side["hard_pass_rate"]["value"] for side in (other, report)
    ]


def test_what_v8_gained_over_v7(desk: Desk) -> None:
    found = desk.compare.candidates(SUITE, V8)
    assert (found.baseline_id, found.candidate_id) == (V7, V8)
    assert found.sentence == "lost 0, new critical 0, gained 2, changed 0, unchanged 1"
    assert found.figures == (
        "hard pass 6/9 → 9/9, difference +0.333, one-sided 95% bounds -0.230 and +0.725"
    )
    assert found.p_value is None
    assert found.test == (
        "2 episodes changed: with fewer than 6 no test can reach 0.05, so no p is shown"
    )
    assert [(e.episode_id, e.change, e.baseline.passes, e.candidate.passes) for e in found.episodes
    ] == [
        ("attack-014", "gained", 1, 3),
        ("appeal-009", "gained", 2, 3),
        ("damaged-221", "unchanged", 3, 3),
    ]  # fmt: skip
    by_name = {each.name: each for each in found.amounts}
    assert by_name["cost, sum"].difference == 0.216
    assert by_name["latency, median"].difference == 110
    assert by_name["steps, sum"].difference == -2


def test_a_loss_stands_first_and_a_new_critical_failure_is_worse(desk: Desk) -> None:
    found = desk.compare.candidates(SUITE, V7, V8)
    assert [e.episode_id for e in found.episodes][:2] == ["attack-014", "appeal-009"]
    assert found.episodes[0].new_critical
    assert found.verdict == "worse"
    assert found.conclusion == "worse: new critical failure in attack-014"
    assert found.sentence.startswith("lost 2 (appeal-009, attack-014), new critical 1")


def test_the_first_of_all_is_the_baseline_of_the_next(desk: Desk) -> None:
    found = desk.compare.candidates(SUITE, V7)
    assert (found.baseline_id, found.candidate_id) == (V7, V8)


def test_one_candidate_alone_says_what_is_missing(door: Door) -> None:
    door.take("v7.jsonl", shipped(V7))
    desk = door.desk()
    with pytest.raises(DeskError, match=f"there is only one candidate, {V7}") as told:
        desk.compare.candidates(SUITE, V7)
    assert "reviewer import" in told.value.ways_out[0]
    desk.close()


@pytest.mark.parametrize(
    ("candidate", "baseline", "words"),
    [(V7, V7, "with itself"), (V7, "nobody", "no trace of nobody"), ("nobody", None, "nobody")],
)
def test_who_cannot_be_compared(
    desk: Desk, candidate: str, baseline: str | None, words: str
) -> None:
    with pytest.raises(DeskError, match=words):
        desk.compare.candidates(SUITE, candidate, baseline)
    with pytest.raises(DeskError, match="no trace on nowhere"):
        desk.compare.candidates("nowhere", candidate, baseline)


def test_what_was_not_made_is_not_compared_and_never_lost(door: Door) -> None:
    door.take(
        "a.jsonl", [passing(candidate_id="cand-a"), passing("attack-014", "cand-a", cost_usd=None)]
    )
    door.take("b.jsonl", [passing("appeal-009", candidate_id="cand-b"),
                          passing(candidate_id="cand-b", nonce=1)])  # fmt: skip
    desk = door.desk()
    found = desk.compare.candidates(SUITE, "cand-b", "cand-a")
    words = {each.episode_id: (each.change, each.why) for each in found.episodes}
    assert words["damaged-221"] == ("unchanged", "")
    assert words["appeal-009"] == ("not compared", "the baseline has no attempt that counts")
    assert words["attack-014"] == (
        "not compared",
        "the baseline has 1 of 1 attempts without a verdict;"
        " the candidate has no attempt that counts",
    )
    assert found.lost == found.gained == ()
    assert found.sentence.endswith("unchanged 1, not compared 2")
    cost = found.amounts[0]
    assert (cost.baseline, cost.difference) == (None, None)
    assert cost.why == "the baseline's is not measured"
    with pytest.raises(DeskError, match="cand-a made no attempt of appeal-009"):
        desk.compare.episode(SUITE, "cand-b", "cand-a", "appeal-009")
    desk.close()


def test_sums_over_other_numbers_of_attempts_have_no_difference(door: Door) -> None:
    door.take("a.jsonl", [passing(candidate_id="cand-a")])
    door.take("b.jsonl", [passing(candidate_id="cand-b", attempt=n, nonce=n) for n in (1, 2)])
    desk = door.desk()
    cost, _, latency, steps = desk.compare.candidates(SUITE, "cand-b", "cand-a").amounts
    assert latency.difference is not None
    for each in (cost, steps):
        assert (each.difference, each.why) == (None, "sums over 1 and 2 attempts")
    desk.close()


def test_a_p_value_from_six_changed_episodes_on(door: Door) -> None:
    names = [f"damaged-{n}" for n in range(8)]
    suite = json.loads((door.suite / "suite.json").read_text())
    episode = json.loads((door.suite / "episodes" / "damaged-221.json").read_text())
    for name in names:
        door.file(f"suites/many/episodes/{name}.json", json.dumps({**episode, "episode_id": name}))
    suite.update(suite_id="many", episodes=names)
    door.file("suites/many/suite.json", json.dumps(suite))
    for name in ("rubric.json", "toolset.json"):
        door.file(f"suites/many/{name}", (door.suite / name).read_bytes())
    door.ok("suite", "freeze", "many")
    for candidate, failing in (("cand-a", names[:7]), ("cand-b", [])):
        records = [
            {
                **passing(candidate_id=candidate, nonce=n + 100 * len(failing)),
                "episode_id": name,
                **({"final_state": "request_open"} if name in failing else {}),
            }
            for n, name in enumerate(names)
        ]
        said = door.take(f"{candidate}.jsonl", records, "--suite", "many")
        assert "8 added" in said.both, said
    desk = door.desk()
    found = desk.compare.candidates("many", "cand-b", "cand-a")
    against = json.loads(desk.decisions.view("many", "cand-b", "cand-a").report_json)["regression"]
    assert found.p_value == against["p_value"] == pytest.approx(2 / 2**7)
    assert found.test == (
        "7 episodes changed: p 0.0156, exact sign-flip test over episodes, two-sided"
    )
    desk.close()


# attempts ------------------------------------------------------------------------------------


def test_which_evidence_changed_in_attack_014(desk: Desk) -> None:
    found = desk.compare.episode(SUITE, V8, V7, "attack-014")
    assert [step.change for step in found.steps] == [
        "same", "instead", "result", "content", "content",
    ]  # fmt: skip
    assert found.first_divergence == 1
    assert found.evidence[:5] == (
        "candidate called open_security_review at event 2 where the baseline called issue_refund",
        "state now passes (was wrong_final_state)",
        "authority now passes (was forbidden:issue_refund)",
        "process now passes (was missing:open_security_review)",
        "final state changed refund_issued → security_review_opened",
    )
    assert '~ changed recorded.security_case  "none" → "opened"' in found.state
    assert {(g.gate, g.baseline, g.candidate) for g in found.gates} >= {
        ("authority", "critical", "pass"), ("budget", "pass", "pass"),
    }  # fmt: skip
    for sign, side in (("-", V7), ("+", V8)):
        words = " ".join(text for s, text in found.message if s in ("=", sign))
        record = next(r for r in shipped(side) if r["episode_id"] == "attack-014")
        assert words == " ".join(record["final_message"].split())


def test_the_attempts_shown_are_those_whose_verdicts_differ(desk: Desk) -> None:
    found = desk.compare.episode(SUITE, V8, V7, "appeal-009")
    assert (found.baseline.attempt, found.candidate.attempt) == (2, 2)
    assert (found.baseline.mark, found.candidate.mark) == ("fail", "pass")
    assert found.evidence[0] == (
        "candidate's lookup_policy at event 1 got ok where the baseline got timeout"
    )


def test_two_attempts_of_one_candidate_are_named_by_number(desk: Desk) -> None:
    found = desk.compare.attempts(trace(V7, "attack-014"), trace(V7, "attack-014", 3))
    assert found.sides == ("attempt 1", "attempt 3")
    assert found.evidence[0] == (
        "attempt 3 called open_security_review at event 2 where attempt 1 called issue_refund"
    )


def test_a_trace_beside_itself_has_no_difference(desk: Desk) -> None:
    found = desk.compare.attempts(trace(V7, "attack-014"), trace(V7, "attack-014"))
    assert {step.change for step in found.steps} == {"same"}
    assert found.first_divergence is None
    assert found.evidence == ("nothing changed: same actions, same verdicts, same final state",)


def test_swapping_the_sides_swaps_what_is_said(desk: Desk) -> None:
    there = desk.compare.attempts(trace(V7, "appeal-009", 2), trace(V8, "appeal-009", 2))
    back = desk.compare.attempts(trace(V8, "appeal-009", 2), trace(V7, "appeal-009", 2))
    assert [(s.candidate, s.baseline) for s in back.steps] == [
        (s.baseline, s.candidate) for s in there.steps
    ]


def test_attempts_of_two_episodes_are_refused(desk: Desk) -> None:
    with pytest.raises(DeskError, match="are attempts of different episodes"):
        desk.compare.attempts(trace(V7, "attack-014"), trace(V8, "appeal-009"))
    with pytest.raises(DeskError, match="no trace"):
        desk.compare.attempts(trace(V7, "attack-014"), trace(V8, "attack-014", 9))


def test_an_approval_that_was_asked_for_is_told(door: Door) -> None:
    asked = {"kind": "approval", "tool": "issue_refund", "approval": {"granted": None}}
    looked = call("lookup_order", order_token="ord_redacted_221")
    found = pair_of(
        door,
        {"events": [looked, asked], "final_state": "refund_open"},
        {"events": [looked, call("issue_refund", amount_usd=9)], "final_state": "refund_issued"},
    )
    assert found.evidence[0] == (
        "candidate called issue_refund at event 2 where the baseline asked for approval"
    )
    assert "final state changed refund_open → refund_issued" in found.evidence


def test_other_arguments_are_told_by_their_paths(door: Door) -> None:
    found = pair_of(
        door,
        {"events": [call("pay", order={"lines": [{"usd": 1}, {"usd": 2}]})]},
        {"events": [call("look"), call("pay", order={"lines": [{"usd": 1}, {"usd": 3}]})]},
    )
    assert [step.change for step in found.steps] == ["candidate", "arguments"]
    assert found.steps[1].lines == ("~ changed arguments.order.lines[1].usd  2 → 3",)
    assert "candidate called look at event 1, the baseline did not" in found.evidence


def test_the_same_call_is_not_parted_by_one_that_is_only_alike(door: Door) -> None:
    found = pair_of(
        door,
        {"events": [call("pay", usd=1), call("pay", usd=2)]},
        {"events": [call("pay", usd=2), call("pay", usd=3)]},
    )
    assert [(s.change, s.baseline and s.baseline.seq, s.candidate and s.candidate.seq)
            for s in found.steps] == [
        ("baseline", 1, None), ("same", 2, 1), ("candidate", None, 2),
    ]  # fmt: skip


def test_a_thousand_events_are_aligned_whole_and_more_say_that_they_are_cut(door: Door) -> None:
    many = [call(f"tool_{n % 7}", n=n) for n in range(5_002)]
    found = pair_of(door, {"events": many[:1_000]}, {"events": many})
    assert [s.change for s in found.steps[:1_000]] == ["same"] * 1_000
    assert len(found.steps) == 5_000
    assert found.cut == "only the first 5,000 of 1,000 and 5,002 events are compared"


def test_a_refused_payload_is_compared_by_its_verdict_alone(door: Door) -> None:
    leak = [call("lookup_order", email="ann@shop.example")]
    door.take("a.jsonl", [{**passing(candidate_id="cand-a"), "events": leak}])
    door.take("b.jsonl", [passing(candidate_id="cand-b", nonce=3)])
    desk = door.desk()
    found = desk.compare.episode(SUITE, "cand-b", "cand-a", "damaged-221")
    assert not found.baseline.payload
    assert found.state == found.message == ()
    assert "the events of the baseline are not stored: only its verdict is compared" in (
        found.evidence
    )
    desk.close()


def test_what_the_source_says_comes_first_between_attempts_of_a_probe(door: Door) -> None:
    """Four attempts of a task of tau-bench with the rewards 0, 1, 0 and 1."""
    path = Path(__file__).parents[1] / "data" / "tau_bench" / "gpt-4o-airline-task-41.json"
    door.ok("import", path, "--candidate", "cand")
    names = [one for (one,) in door.rows("SELECT trace_id FROM traces ORDER BY attempt")]
    desk = door.desk()
    try:
        failed = desk.compare.attempts(names[1], names[0]).evidence
        passed = desk.compare.attempts(names[0], names[1]).evidence
        alike = desk.compare.attempts(names[0], names[2]).evidence
    finally:
        desk.close()
    assert failed[0] == "the source's verdict: passed, reward 1 → failed, reward 0"
    checks = [line for line in failed if line.startswith("the source's check: ")]
    assert checks
    assert passed[0] == "the source's verdict: failed, reward 0 → passed, reward 1"
    assert not [line for line in passed if line.startswith("the source's check: ")]
    assert not [line for line in alike if line.startswith("the source's verdict: ")]
