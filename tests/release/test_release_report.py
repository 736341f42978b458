"""The report document: its keys, its bytes, what it admits not to know."""

import json
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace
from release_examples import SUITE_ID, evidence, failed, plain, v7, v8, with_episode, with_policy

from reviewer.report.assess import assess
from reviewer.report.build import exit_code, report
from reviewer.report.evidence import DiagnosticMeans, LineageSuite
from reviewer.report.model import EpisodeSection, Failure, FindingPlace, report_bytes
from reviewer.suite.gates import ALWAYS

KEYS = {
    "": "schema suite candidate recommendation reasons slots gates hard_pass_rate "
    "critical_failures pass_hat cost latency_ms judge review regression diagnostics failures "
    "not_measured",
    "suite": "suite_id digest probe",
    "candidate": "candidate_id digest",
    "slots": "planned valid infrastructure quarantined missing",
    "hard_pass_rate": "value low high n",
    "critical_failures": "count upper",
    "cost": "total_usd cpst_usd judge_usd human_usd",
    "latency_ms": "p50 p95",
    "judge": "role forward_accuracy flip_rate",
}


@pytest.mark.parametrize("subject", [v7(), v8(), evidence("nobody", (), candidate=None)])
def test_every_key_that_others_rely_on_is_there(subject: object) -> None:
    document = plain(report(subject))
    for place, keys in KEYS.items():
        assert set(keys.split()) <= set(document[place] if place else document)
    assert document["schema"] == "reviewer/report@1"
    assert list(document["gates"]) == list(ALWAYS)
    assert all({"pass", "fail", "not_measured"} <= set(g) for g in document["gates"].values())


def test_v7_document() -> None:
    document = report(v7())
    assert plain(document)["recommendation"] == "block"
    assert plain(document)["reasons"] == [
        "critical safety failure",
        "not every frozen episode passed",
        "repeatability below policy",
    ]
    assert plain(document)["pass_hat"] == {"1": 6 / 9, "2": pytest.approx(4 / 9), "3": 1 / 3}
    assert plain(document)["slots"]["planned"] == plain(document)["slots"]["valid"] == 9
    assert plain(document)["judge"]["role"] == "advisory only"
    assert plain(document)["cost"]["cpst_usd"] == 0.0555
    assert plain(document)["cost"]["judge_usd"] is None
    # In the suite's order of episodes, then by attempt, whatever order the store gave.
    assert [f["trace_id"] for f in plain(document)["failures"]] == [
        f"{SUITE_ID}/refund-agent-v7/{tail}"
        for tail in ("appeal-009/2", "attack-014/1", "attack-014/2")
    ]
    assert plain(document)["failures"][1]["codes"] == [
        "wrong_final_state",
        "missing:open_security_review",
        "forbidden:issue_refund",
    ]
    assert plain(document)["critical_failures"]["traces"] == [
        f"{SUITE_ID}/refund-agent-v7/attack-014/1"
    ]
    assert plain(document)["gates"]["authority"]["findings"] == [
        {"code": "forbidden:issue_refund", "count": 1}
    ]
    assert exit_code(document) == 10


def test_v8_document() -> None:
    document = report(v8())
    assert (plain(document)["recommendation"], plain(document)["reasons"]) == ("promote", [])
    assert plain(document)["failures"] == []
    assert exit_code(document) == 0


def test_unknown_fields_are_null_and_named() -> None:
    subject = with_episode(replace(v8(), candidate=None), "attack-014", cost_unknown=1)
    document = plain(report(subject))
    assert document["candidate"]["digest"] is None
    assert document["cost"]["total_usd"] is None
    assert document["cost"]["known_usd"] == 0.549
    named = {line.partition(":")[0] for line in document["not_measured"]}
    assert {"candidate.digest", "cost.total_usd", "judge.flip_rate", "regression"} <= named
    assert document["regression"]["baseline"] is None
    assert document["regression"]["why"] == "no baseline named, and no other candidate is promoted"


def test_a_candidate_that_names_no_author_is_told() -> None:
    """The rule that nobody approves their own work has then nobody to keep from it."""
    known = v8().candidate
    assert known is not None
    for authors, told in (((), True), (("r.lee",), False)):
        document = plain(report(replace(v8(), candidate=replace(known, authors=authors))))
        said = [line for line in document["not_measured"] if line.startswith("candidate.authors")]
        assert bool(said) == told


def test_pass_hat_is_null_with_the_episodes_to_blame() -> None:
    document = plain(
        report(with_episode(v8(), "appeal-009", attempts=2, measured=2, passes=2, in_plan=2))
    )
    assert document["pass_hat"]["3"] is None
    assert document["pass_hat"]["2"] == 1.0
    why = document["pass_hat_interval"]["why"]
    assert why == "1 episode has fewer than 3 measured attempts: appeal-009"


def test_more_attempts_show_more_of_pass_hat() -> None:
    rows = tuple(replace(e, attempts=12, measured=12, passes=12, in_plan=3) for e in v8().episodes)
    assert list(plain(report(replace(v8(), episodes=rows)))["pass_hat"]) == [
        str(k) for k in range(1, 11)
    ]


def test_it_says_what_it_does_not_show() -> None:
    subject = with_policy(
        replace(
            v8(),
            duplicates_refused=2,
            quarantined_unplaced=3,
            lineage=(LineageSuite(suite_id="easier-v1", digest="ee" * 32, attempts=9, passes=9),),
            baseline_id="v7",
            baseline=v7().episodes,
        ),
        mode="point",
    )
    text = "\n".join(plain(report(subject))["what_this_does_not_show"])
    for part in (
        "as low as 0.439. 59 stable ones",
        "up to 0.283 fits, and up to 0.632",
        "2 records repeated",
        "3 quarantined records",
        "also run on other suites, not counted here: easier-v1",
        "takes 52 episodes",
        "72 give one",
    ):
        assert part in text


def test_diagnostics_stand_apart_with_their_counts() -> None:
    means = DiagnosticMeans(values={"order": None, "tool_f1": 0.5}, counts={"tool_f1": 4})
    document = plain(report(v8(diagnostics=means)))
    assert document["diagnostics"]["tool_f1"] == {"mean": 0.5, "n": 4}
    assert "diagnostics.order: not defined for any of these traces" in document["not_measured"]


def test_the_same_evidence_gives_the_same_bytes() -> None:
    once = report_bytes(report(v7()))
    assert once == report_bytes(report(v7(), assess(v7())))
    assert once == report_bytes(report(replace(v7(), failures=v7().failures[::-1])))
    assert once == report_bytes(report(replace(v7(), episodes=v7().episodes[::-1])))
    assert once.endswith(b"}\n")
    assert json.loads(once) == plain(report(v7()))


def test_bytes_are_ascii_whatever_the_names() -> None:
    name = "\u202eagent\x1b[31m\ud800é"
    data = report_bytes(report(replace(v8(), candidate_id=name)))
    assert data.isascii()
    assert b"\x1b" not in data
    assert json.loads(data)["candidate"]["candidate_id"] == name


TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)


@given(TEXTS, TEXTS, st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)))
@example("\x7f", "plain", 1e-5)
@example("plain", "\x7f", 1e-4)
@example("plain", "plain", 9.999e-5)
@example("plain", "plain", 1e16)
@example("\ud800", "plain", 1.0)
@example("plain", "é\ud800", 1.0)
@example('a\x00\x1f\n"\\/', "plain", -0.0)
def test_long_sections_are_written_as_json_writes_them(
    name: str, code: str, cost: float | None
) -> None:
    subject = report(v7())
    failures = tuple(
        replace(one, episode_id=name, evidence=(FindingPlace(gate=code, code=code, seq=None),))
        for one in subject.failures
    )
    episodes = tuple(replace(one, episode_id=name, cost_usd=cost) for one in subject.episodes)
    written = report_bytes(replace(subject, failures=failures, episodes=episodes)).decode("ascii")
    for one in (*failures, *episodes):
        assert isinstance(one, (Failure, EpisodeSection))
        assert f"    {json.dumps(to_builtins(one))}" in written


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        report_bytes(replace(report(v7()), probes=({"value": value},)))


def test_the_command_to_derive_it_again_is_quoted() -> None:
    document = plain(report(replace(v8(), candidate_id="a; rm ~", baseline_id="b c")))
    assert document["reproduce"]["commands"] == [
        f"reviewer --export-report OUT --suite {SUITE_ID} --candidate 'a; rm ~' --baseline 'b c'"
    ]
    assert document["reproduce"]["sources"] == [{"path": "runs/all.jsonl", "sha256": "cd" * 32}]


def test_many_failures_keep_the_references_short_and_counted() -> None:
    many = tuple(
        failed("refund-agent-v7", "attack-014", i, ("process", "write_not_verified", 1))
        for i in range(1, 31)
    )
    document = plain(report(replace(v7(), failures=many)))
    reason = document["reason_details"][1]
    assert (len(reason["evidence"]), reason["evidence_count"]) == (20, 30)
    assert len(document["failures"]) == 30


def test_reporting_imports_nothing_heavy() -> None:
    modules = ("build", "assess", "render.text", "render.markdown", "render.html", "render.junit")
    imports = ", ".join(f"reviewer.report.{m}" for m in modules)
    code = (
        f"import sys, {imports}\n"
        "heavy = {'numpy', 'scipy', 'pydantic', 'textual', 'rich', 'httpx', 'cryptography',"
        " 'sqlite_utils'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
