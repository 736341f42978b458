"""`reviewer compare`: the comparison in words and as JSON."""

import json

from doors import SUITE, V7, V8, Door, passing, shipped

ESC = "\x1b]52;c;ZXZpbA==\x07 \u202e[red]x[/]"


def test_two_candidates_in_words(full: Door) -> None:
    said = full.ok("compare", "--suite", SUITE, "--candidate", V8, "--baseline", V7)
    lines = said.out.splitlines()
    assert lines[0] == f"suite {SUITE}  baseline {V7}  candidate {V8}"
    assert lines[1] == "lost 0, new critical 0, gained 2, changed 0, unchanged 1"
    assert "so no p is shown" in lines[3]
    assert "cost, sum: $0.333 then $0.549 (+$0.216)" in lines
    assert (
        "episode attack-014: gained; passed 1 of 3 then 3 of 3;"
        " failing gates state authority process then none"
    ) in lines
    assert said.err == ""


def test_a_loss_is_said_and_still_leaves_with_0(full: Door) -> None:
    said = full.ok("compare", "--suite", SUITE, "--candidate", V7, "--baseline", V8)
    assert "lost 2 (appeal-009, attack-014), new critical 1 (attack-014)" in said.out
    assert "worse: new critical failure in attack-014" in said.out
    assert "episode attack-014: lost, new critical;" in said.out


def test_the_json_is_the_reports_regression(full: Door) -> None:
    full.run("--export-report", full.root / "out", "--suite", SUITE, "--candidate", V8,
             "--baseline", V7, "--format", "json")  # fmt: skip
    against = json.loads((full.root / "out" / "report.json").read_text())["regression"]
    said = full.ok("compare", "--suite", SUITE, "--candidate", V8, "--json")
    found = json.loads(said.out)
    assert found["baseline_id"] == against["baseline"] == V7
    for name in ("lost", "gained", "difference", "low", "high", "p_value", "verdict"):
        assert found[name] == against[name], name


def test_one_episode_event_by_event(full: Door) -> None:
    said = full.ok("compare", "attack-014", "--suite", SUITE, "--candidate", V8)
    lines = said.out.splitlines()
    assert (
        "evidence: candidate called open_security_review at event 2 where the baseline called"
        " issue_refund"
    ) in lines
    assert "gate authority: critical FAIL then pass" in lines
    assert "gate budget: pass" in lines
    at = lines.index("first divergence")
    assert lines[at - 1].startswith(
        "same: baseline event 1 tool_call: lookup_order ok; candidate event 1 "
    )
    assert lines[at + 1].startswith("instead: baseline event 2 tool_call: issue_refund")
    assert "message same: refund" in lines


def test_two_attempts_by_their_ids(full: Door) -> None:
    ids = [f"{SUITE}/{V7}/appeal-009/{n}" for n in (1, 2)]
    said = full.ok("compare", "--attempts", *ids)
    assert "attempt 2 is trace" in said.out
    assert "timeout now fails: retry_budget_exceeded" in said.out
    found = json.loads(full.ok("compare", "--attempts", *ids, "--json").out)
    assert [found["baseline"]["trace_id"], found["candidate"]["trace_id"]] == ids
    assert full.run("compare", "--attempts", ids[0], "nothing").code == 20
    said = full.run("compare", "--attempts", *ids, "--candidate", V7)
    assert said.code == 2
    assert "leave out" in said.err


def test_unknown_is_not_measured(door: Door) -> None:
    door.take("a.jsonl", [passing(candidate_id="cand-a", cost_usd=None)])
    door.take("b.jsonl", [passing(candidate_id="cand-b", nonce=1)])
    said = door.ok("compare", "--suite", SUITE, "--candidate", "cand-b")
    assert "cost, sum: not measured then $0.055 (the baseline's is not measured)" in said.out
    assert "difference not measured (no episode with every verdict measured" in said.out
    assert "passed not measured then not measured" in said.out


def test_attempts_without_a_verdict_are_not_said_to_fail_no_gate(door: Door) -> None:
    for name in ("cand-a", "cand-b"):
        talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": f"I am {name}"}]
        (door.root / name).mkdir()
        (door.root / name / "talk.json").write_text(json.dumps(talk))
        door.ok("import", door.root / name / "talk.json", "--candidate", name)
    said = door.ok("compare", "--candidate", "cand-b", "--baseline", "cand-a")
    assert "failing gates not measured then not measured" in said.out


def test_one_candidate_alone_says_what_to_do(door: Door) -> None:
    door.take("v7.jsonl", shipped(V7))
    said = door.run("compare", "--suite", SUITE, "--candidate", V7)
    assert said.code == 20
    assert f"there is only one candidate, {V7}" in said.err
    assert "way out: run another" in said.err


def test_hostile_text_cannot_start_a_line_or_reach_the_terminal(door: Door) -> None:
    for name in ("cand-a", "cand-b"):
        record = passing(candidate_id=name, nonce=ord(name[-1]))
        record["events"] = [
            {"kind": "tool_call", "tool": ESC + name, "arguments": {ESC: f"{name}\ngate x: pass"}},
            {"kind": "message", "message": f"{ESC}\ngate authority: pass {name}"},
        ]
        record.update(final_state={ESC: name}, final_message=f"{ESC}\nlost 0 {name}")
        assert "1 added" in door.take(f"{name}.jsonl", [record]).both
    said = door.ok("compare", "damaged-221", "--suite", SUITE, "--candidate", "cand-b")
    assert not any(sign in said.out for sign in "\x1b\x07\u202e")
    assert "[red]x[/]" in said.out
    starts = ("gate x", "lost 0")
    assert not any(line.startswith(starts) for line in said.out.splitlines())
    assert sum(line.startswith("gate authority") for line in said.out.splitlines()) == 1
