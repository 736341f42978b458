"""Trends: every figure is its report's own, in the order the candidates came, unknown is a gap."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, lines, passing, shipped
from test_desk_random import SAMPLED, label, sampled

from reviewer.desk.errors import DeskError
from reviewer.desk.trends.api import MOST
from reviewer.desk.trends.figures import ARTICLES, held_to_articles
from reviewer.desk.trends.views import TrendFigure, TrendPoint, Trends


def trends_of(door: Door, suite: str = SUITE) -> Trends:
    desk = door.desk()
    try:
        return desk.trends.figures(suite)
    finally:
        desk.close()


def figure_of(found: Trends, measure: str) -> TrendFigure:
    return next(one for one in found.figures if one.measure == measure)


def points_of(found: Trends, measure: str) -> dict[str, TrendPoint]:
    names = [one.candidate_id for one in found.candidates]
    return dict(zip(names, figure_of(found, measure).points, strict=True))


def report_of(door: Door, candidate: str, suite: str = SUITE) -> dict[str, Any]:
    out = door.root / "out" / candidate
    door.run("--export-report", out, "--suite", suite, "--candidate", candidate, "--quiet")
    report: dict[str, Any] = json.loads((out / "report.json").read_text())
    return report


@pytest.mark.parametrize("candidate", [V7, V8])
def test_every_figure_is_the_reports_own(full: Door, candidate: str) -> None:
    found, report = trends_of(full), report_of(full, candidate)
    for measure, section in (
        ("completion", "completion"),
        ("safety_block", "safety_block_rate"),
        ("pass_hat", "pass_hat_interval"),
    ):
        point, told = points_of(found, measure)[candidate], report[section]
        assert (point.value, point.low, point.high) == (told["value"], told["low"], told["high"])
        assert point.why == (told["why"] or "")
    cost = report["cost"]
    cpst = points_of(found, "cpst")[candidate]
    assert cpst.value == cost["cpst_usd"]
    assert cpst.high == cost["cpst_usd"] + cost["cpst_se"]
    efficiency = points_of(found, "efficiency")[candidate]
    assert efficiency.value == report["diagnostics"]["efficiency"]["mean"]
    assert f"{report['diagnostics']['efficiency']['n']} attempts" in efficiency.about


def test_steps_are_the_mean_over_the_attempts_that_count(full: Door) -> None:
    made = full.rows(
        "SELECT c.candidate_id, avg(t.steps) FROM trace t JOIN candidate c ON c.id=t.candidate"
        " GROUP BY 1"
    )
    points = points_of(trends_of(full), "steps")
    assert {name: pytest.approx(point.value) for name, point in points.items()} == dict(made)


def test_labels_of_the_random_part_make_the_human_figure(full: Door) -> None:
    # Every trace is drawn of one candidate, and none of the other has a label.
    sampled(full, 1.0)
    full.ok("import", full.suite / "traces" / f"{V7}.jsonl", "--suite", SAMPLED)
    assert label(full, 99)
    found = points_of(trends_of(full, SAMPLED), "human_pass")
    rates = report_of(full, V8, SAMPLED)["review"]["random_part"]["rates"]
    told = next(one for one in rates if one["question"] == "passes")
    assert told["value"] is not None
    point = found[V8]
    assert (point.value, point.low, point.high) == (told["value"], told["low"], told["high"])
    assert found[V7].value is None
    assert found[V7].why


def test_targets_are_the_policys_and_else_the_articles(full: Door) -> None:
    found = trends_of(full)
    whose = {
        one.measure: (one.target.text, one.target.value, one.target.source)
        for one in found.figures
        if one.target is not None
    }
    assert whose == {
        "completion": ("above 0.85", 0.85, "articles"),
        "efficiency": ("above 0.6", 0.6, "articles"),
        "human_pass": ("above 0.90", 0.9, "articles"),
        "safety_block": ("below 0.005, and not near 0", None, "articles"),
        "steps": ("not rising", None, "articles"),
        "cpst": ("at most $0.08", 0.08, "policy"),
        "pass_hat": ("at least 0.95", 0.95, "policy"),
    }
    held = {
        one.measure: tuple(point.held for point in one.points)
        for one in found.figures
        if one.measure in ("completion", "steps", "cpst", "pass_hat", "safety_block")
    }
    assert held == {
        "completion": ("failed", "met"),
        "steps": ("none", "met"),
        "cpst": ("met", "met"),
        "pass_hat": ("failed", "met"),
        "safety_block": ("none", "none"),
    }


def test_the_policys_completion_replaces_that_of_the_articles(door: Door) -> None:
    path = door.suite / "suite.json"
    suite = json.loads(path.read_text())
    suite["policy"]["completion_min"] = 0.7
    path.write_text(json.dumps(suite))
    door.ok("suite", "freeze", SUITE, "--as", "wanting-v1")
    traces = door.suite / "traces" / f"{V7}.jsonl"
    door.ok("import", traces, "--suite", "wanting-v1", "--candidate", V7)
    one = figure_of(trends_of(door, "wanting-v1"), "completion")
    assert one.target is not None
    assert (one.target.text, one.target.source) == ("at least 0.7", "policy")
    assert one.points[0].held == "met"


def test_the_articles_limits_are_not_on_their_own_good_side() -> None:
    assert held_to_articles("completion", [0.85, 0.86, None]) == ["failed", "met", "open"]
    assert held_to_articles("steps", [3.0, None, 3.0, 3.1, 2.0]) == [
        "none", "open", "met", "failed", "met",
    ]  # fmt: skip
    assert len(ARTICLES) == 5


def test_candidates_stand_in_the_order_they_came_not_by_name(door: Door) -> None:
    for nonce, name in enumerate(("zeta", "alpha", "mid")):
        assert door.take(f"{name}.jsonl", [passing(candidate_id=name, nonce=nonce)]).code == 0
    found = trends_of(door)
    assert [one.candidate_id for one in found.candidates] == ["zeta", "alpha", "mid"]
    for one in found.candidates:
        body = door.one(
            "SELECT j.body FROM journal j JOIN candidate c ON c.seq=j.seq WHERE c.candidate_id=?",
            one.candidate_id,
        )
        assert one.at == json.loads(body)["at"]
        assert one.attempts == 1


def test_what_is_not_known_is_a_gap_with_its_reason(door: Door) -> None:
    records = [{**record, "cost_usd": None} for record in shipped(V8)[:8]]
    door.take("v8.jsonl", records)
    found = trends_of(door)
    cpst, hat = points_of(found, "cpst")[V8], points_of(found, "pass_hat")[V8]
    assert cpst.value is None
    assert "cost of 8 of 8 attempts is unknown" in cpst.why
    assert hat.value is None
    assert "fewer than 3" in hat.why
    assert (cpst.held, hat.held) == ("open", "open")


def test_of_many_candidates_the_newest_are_shown_and_the_rest_counted(door: Door) -> None:
    names = [f"cand-{number:02}" for number in range(MOST + 2)]
    records = [passing(candidate_id=name, nonce=n) for n, name in enumerate(names)]
    assert door.take("many.jsonl", records).code == 0
    found = trends_of(door)
    assert [one.candidate_id for one in found.candidates] == names[2:]
    assert found.earlier == 2
    assert all(len(one.points) == MOST for one in found.figures)
    assert f"the newest {MOST} of {MOST + 2}" in door.ok("trends", "--suite", SUITE).out


def test_a_probe_has_figures_no_policy_and_certifies_nothing(door: Door, repository: Path) -> None:
    sample = min((repository / "tests" / "data" / "tau_bench").glob("*.json"))
    door.ok("import", sample)
    suite, candidate = door.rows(
        "SELECT s.suite_id, c.candidate_id FROM candidate c JOIN suite s ON s.id=c.suite"
    )[0]
    found = trends_of(door, suite)
    assert found.suite.probe
    assert figure_of(found, "pass_hat").target is None
    assert figure_of(found, "cpst").target is None
    told = report_of(door, candidate, suite)["pass_hat_interval"]
    assert points_of(found, "pass_hat")[candidate].value == told["value"]
    assert found.candidates[0].recommendation == "hold"
    assert "never certifying" in door.ok("trends", "--suite", suite).out


def test_without_traces_there_is_nothing_and_it_says_so(door: Door) -> None:
    found = trends_of(door)
    assert (found.candidates, found.earlier) == ((), 0)
    said = door.ok("trends", "--suite", SUITE)
    assert "no candidate has a trace" in said.err


def test_a_suite_that_is_not_as_it_was_frozen_has_no_trends(full: Door) -> None:
    (full.suite / "suite.json").write_text("{}")
    with pytest.raises(DeskError):
        trends_of(full)
    with pytest.raises(DeskError, match="no suite nowhere"):
        trends_of(full, "nowhere")


def test_the_command_says_the_figures_and_gives_them_as_data(full: Door) -> None:
    said = full.ok("trends").out
    assert f"  {V7} 0.333 [0.061, 0.792], 3 episodes, k=3; target missed" in said
    assert "target above 0.85, of a guideline for dashboards, which binds no release" in said
    assert "not measured (no red-team episode)" in said
    data = json.loads(full.ok("trends", "--suite", SUITE, "--json").out)
    hat = next(one for one in data["figures"] if one["measure"] == "pass_hat")
    assert [point["value"] for point in hat["points"]] == [pytest.approx(1 / 3), 1.0]


def test_the_command_wants_a_suite_where_several_have_traces(full: Door) -> None:
    sample = full.root / "x.jsonl"
    sample.write_bytes(lines([passing(candidate_id="other")]))
    full.ok("suite", "freeze", SUITE, "--as", "second-v1")
    assert full.run("import", sample, "--suite", "second-v1").code == 0
    said = full.run("trends")
    assert said.code == 2
    assert "--suite is needed" in said.err
