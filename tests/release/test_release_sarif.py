"""report.sarif: held to the JSON Schema of SARIF 2.1.0."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hostile_evidence import hostile, hostile_beside, named
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from release_examples import (
    evidence,
    failed,
    stable_suite,
    suite,
    v7,
    v8,
    with_episode,
    with_policy,
)

from reviewer.report.build import report
from reviewer.report.evidence import Evidence
from reviewer.report.page_parts import Supplement
from reviewer.report.render.sarif import MOST_RESULTS, render_sarif
from reviewer.suite.gates import GATE_CODES

SCHEMA = Path(__file__).resolve().parents[1] / "data" / "ci" / "sarif-2.1.0-rtm.5.json"
PLACED = Supplement(report_sha256="ab" * 32, suite_path="review/suites/refund-eval-v5")


@cache
def validator() -> Any:
    schema = json.loads(SCHEMA.read_bytes())
    kind = jsonschema.validators.validator_for(schema)
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


def run(subject: Evidence, beside: Supplement = PLACED) -> dict[str, Any]:
    log = json.loads(render_sarif(report(subject), beside))
    validator().validate(log)
    (only,) = log["runs"]
    assert isinstance(only, dict)
    return only


def short_of_evidence() -> Evidence:
    lost = failed("refund-agent-v8", "appeal-009", 3, infrastructure=True)
    subject = with_episode(
        with_policy(replace(v8(), failures=(lost,)), max_cpst_usd=None),
        "appeal-009",
        attempts=2, measured=1, passes=1, in_plan=2, infrastructure=1, passed=(1,),
    )  # fmt: skip
    return with_episode(
        subject, "attack-014", attempts=1, measured=1, passes=1, in_plan=1, quarantined=1
    )


@pytest.mark.parametrize(
    "subject", [v7(), v8(), short_of_evidence(), evidence("nobody", (), candidate=None), hostile()]
)
def test_it_is_sarif(subject: Evidence) -> None:
    run(subject)
    run(subject, Supplement())
    run(subject, hostile_beside())


def test_the_schema_refuses_what_it_does_not_know() -> None:
    log = json.loads(render_sarif(report(v7()), PLACED))
    log["runs"][0]["results"][0]["colour"] = "red"
    assert not validator().is_valid(log)


def test_every_finding_is_a_result_at_its_episode() -> None:
    found = run(v7())["results"]
    placed = [
        (
            one["ruleId"],
            one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].rpartition("v5/")[2],
            one["properties"]["event"] if "properties" in one else None,
        )
        for one in found
    ]
    assert placed == [
        ("release/block", "suite.json", None),
        ("authority/forbidden", "episodes/attack-014.json", 2),
        ("state/wrong_final_state", "episodes/attack-014.json", 4),
        ("process/missing", "episodes/attack-014.json", None),
        ("process/no_final_state_evidence", "episodes/appeal-009.json", None),
        ("timeout/retry_budget_exceeded", "episodes/appeal-009.json", 4),
        ("process/write_not_verified", "episodes/attack-014.json", 3),
    ]
    uri = found[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "review/suites/refund-eval-v5/episodes/attack-014.json"
    trace = found[1]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
    assert trace == "refund-eval-v5/refund-agent-v7/attack-014/1"
    assert all(one["level"] == "error" for one in found)


def test_every_result_names_a_rule_and_every_rule_is_a_gate_and_code() -> None:
    only = run(v7())
    rules = only["tool"]["driver"]["rules"]
    assert [rules[one["ruleIndex"]]["id"] for one in only["results"]] == [
        one["ruleId"] for one in only["results"]
    ]
    known = {f"{gate}/{code.rstrip(':')}" for gate, codes in GATE_CODES.items() for code in codes}
    assert {rule["id"] for rule in rules} - {"release/block"} <= known
    (forbidden,) = [rule for rule in rules if rule["id"] == "authority/forbidden"]
    assert "security" in forbidden["properties"]["tags"]


def test_a_promotion_has_no_result() -> None:
    only = run(v8())
    assert only["results"] == []
    assert only["invocations"][0]["exitCode"] == 0
    assert only["properties"]["recommendation"] == "promote"


def test_missing_evidence_is_open_and_never_a_pass() -> None:
    only = run(short_of_evidence())
    kinds = {one["ruleId"]: (one["kind"], one["level"]) for one in only["results"]}
    assert kinds.pop("release/hold") == ("fail", "error")
    assert set(kinds) == {
        "evidence/missing", "evidence/infrastructure", "evidence/quarantined",
        "evidence/unmeasured",
    }  # fmt: skip
    assert set(kinds.values()) == {("open", "none")}
    assert not any(one["kind"] == "pass" for one in only["results"])


def prints(subject: Evidence) -> list[str]:
    return [one["partialFingerprints"]["reviewerFinding/v1"] for one in run(subject)["results"]]


def test_fingerprints_are_those_of_the_finding_and_not_of_the_candidate() -> None:
    as_v8 = replace(
        v7(),
        candidate_id="refund-agent-v8",
        failures=tuple(
            replace(t, trace_id=t.trace_id.replace("-v7", "-v8"), attempt=t.attempt + 3)
            for t in v7().failures
        ),
    )
    assert prints(v7()) == prints(as_v8)
    assert len(set(prints(v7()))) == len(prints(v7()))


def test_the_same_finding_of_two_attempts_is_two_alerts() -> None:
    (first, *_) = v7().failures
    twice = replace(first, attempt=3, trace_id=first.trace_id[:-1] + "3")
    found = prints(replace(v7(), failures=(first, twice)))
    assert len(set(found)) == len(found) == 3


def test_a_failure_beyond_the_first_set_warns() -> None:
    (first, *_) = v7().failures
    found = run(replace(v7(), failures=(replace(first, extra=True),)))["results"]
    assert [one["level"] for one in found] == ["error", "warning"]


def test_a_probe_lies_in_no_folder_and_is_not_refused() -> None:
    only = run(replace(v7(), suite=suite(probe=True)), Supplement())
    assert not any(one["ruleId"].startswith("release/") for one in only["results"])
    assert all(
        "physicalLocation" not in place for one in only["results"] for place in one["locations"]
    )


def test_more_results_than_are_shown_are_counted() -> None:
    subject = stable_suite(MOST_RESULTS + 100, MOST_RESULTS + 100)
    failures = tuple(
        failed("refund-agent-v8", e.episode_id, 1, ("process", "write_not_verified", 3))
        for e in subject.episodes
    )
    log = json.loads(render_sarif(report(replace(subject, failures=failures)), PLACED))
    (only,) = log["runs"]
    assert len(only["results"]) == MOST_RESULTS
    (said,) = only["invocations"][0]["toolExecutionNotifications"]
    assert said["message"]["text"] == "101 more results are in report.json."


def test_nothing_of_a_trace_is_a_link_or_a_control_character() -> None:
    raw = render_sarif(report(hostile()), hostile_beside())
    assert raw.isascii()
    assert not any(byte < 32 and byte != 10 for byte in raw)
    for one in json.loads(raw)["runs"][0]["results"]:
        assert "](" not in one["message"]["text"]
        assert "\u202e" not in one["message"]["text"]


@given(st.text(max_size=40))
def test_any_name_leaves_it_valid(name: str) -> None:
    validator().validate(json.loads(render_sarif(named(name, name), PLACED)))


def test_the_same_report_gives_the_same_bytes() -> None:
    assert render_sarif(report(v7()), PLACED) == render_sarif(report(v7()), PLACED)
