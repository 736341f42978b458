"""junit.xml: held to the schema of Jenkins' xUnit plugin, and read by a consumer of pipelines."""

import sys
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path

import junitparser
import pytest
import xmlschema
from hostile_evidence import HOSTILE, hostile, named
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from release_examples import evidence, failed, v7, v8, with_episode, with_policy

from reviewer.report.build import report
from reviewer.report.evidence import Evidence
from reviewer.report.page_parts import AttemptFact, Supplement
from reviewer.report.render.junit import render_junit

XSD = Path(__file__).resolve().parents[1] / "data" / "ci" / "junit-10.xsd"


@cache
def schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(XSD)


def numbered() -> Supplement:
    """v7's nine attempts by number, as the store has them."""
    marks = {
        "damaged-221": ("pass", "pass", "pass"),
        "appeal-009": ("pass", "fail", "pass"),
        "attack-014": ("critical", "fail", "pass"),
    }
    return Supplement(
        report_sha256="ab" * 32,
        attempts={
            name: tuple(AttemptFact(n, mark, 1000.0 + n) for n, mark in enumerate(words, 1))
            for name, words in marks.items()
        },
    )


def unmeasured() -> Evidence:
    """One attempt lost, one without a verdict, one missing, one quarantined."""
    lost = failed("refund-agent-v8", "appeal-009", 3, infrastructure=True)
    subject = with_episode(
        with_policy(replace(v8(), failures=(lost,)), max_cpst_usd=None),
        "appeal-009",
        attempts=2,
        measured=1,
        passes=1,
        in_plan=2,
        infrastructure=1,
        passed=(1,),
        unmeasured=(2,),
    )
    return with_episode(
        subject,
        "attack-014",
        attempts=1,
        measured=0,
        passes=0,
        in_plan=1,
        quarantined=1,
        passed=(),
    )


@pytest.mark.parametrize(
    "raw",
    [
        render_junit(report(v7()), numbered()),
        render_junit(report(v7())),
        render_junit(report(v8())),
        render_junit(report(unmeasured())),
        render_junit(report(hostile())),
        render_junit(report(evidence("nobody", (), candidate=None))),
    ],
    ids=["numbered", "v7", "v8", "unmeasured", "hostile", "nothing"],
)
def test_jenkins_accepts_it(raw: bytes) -> None:
    schema().validate(ET.ElementTree(ET.fromstring(raw)))
    assert raw == as_a_tree(raw)


def as_a_tree(raw: bytes) -> bytes:
    """The document as the standard library writes it."""
    root = ET.fromstring(raw)
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def test_the_schema_refuses_what_it_does_not_know() -> None:
    wrong = ET.fromstring(render_junit(report(v8())))
    wrong.set("skipped", "0")
    assert not schema().is_valid(ET.ElementTree(wrong))


def test_a_consumer_reads_counts_times_and_properties() -> None:
    read = junitparser.JUnitXml.fromstring(render_junit(report(v7()), numbered()))
    assert (read.tests, read.failures, read.errors, read.skipped) == (10, 4, 0, 0)
    assert read.time == pytest.approx(9.018)
    first, *episodes = list(read)
    found = {one.name: one.value for one in first.properties()}
    assert found["recommendation"] == "block"
    assert found["suite.sha256"] == "51" * 32
    assert found["report.sha256"] == "ab" * 32
    assert found["pass_hat_3"] == "0.3333333333333333"
    assert [suite.name for suite in episodes] == ["damaged-221", "appeal-009", "attack-014"]
    attack = list(episodes[2])
    assert [case.name for case in attack] == ["attempt 1", "attempt 2", "attempt 3"]
    assert [case.time for case in attack] == [1.001, 1.002, 1.003]
    (result,) = attack[0].result
    assert isinstance(result, junitparser.Failure)
    assert result.type == "critical"
    assert "forbidden:issue_refund" in str(result.message)
    assert "authority event 2 forbidden:issue_refund" in str(result.text)
    assert attack[2].is_passed


def test_a_consumer_never_counts_what_was_not_measured_as_passed() -> None:
    read = junitparser.JUnitXml.fromstring(render_junit(report(unmeasured())))
    assert (read.tests, read.failures, read.errors, read.skipped) == (10, 1, 1, 4)
    cases = [case for suite in read for case in suite]
    assert sum(case.is_passed for case in cases) == 4
    (recommendation, *_), *_ = read
    assert recommendation.result[0].type == "hold"
    skipped = [case for case in cases if case.is_skipped]
    assert len(skipped) == 4
    assert all("not" in case.result[0].message or "quarantined" in case.result[0].message
               for case in skipped)  # fmt: skip


def test_what_is_unknown_is_said_so_in_the_properties() -> None:
    read = junitparser.JUnitXml.fromstring(
        render_junit(report(evidence("nobody", (), candidate=None)))
    )
    found = {one.name: one.value for one in next(iter(read)).properties()}
    assert found["hard_pass_rate"] == found["candidate.sha256"] == "not measured"
    assert found["critical_failures"] == "0"


def test_names_of_cases_do_not_depend_on_how_they_ended() -> None:
    def names(raw: bytes) -> list[str]:
        cases = [case for suite in ET.fromstring(raw) for case in suite.iter("testcase")]
        return [str(case.get("name")) for case in cases]

    green = Supplement(
        attempts={
            name: tuple(AttemptFact(n, "pass", 1.0) for n in (1, 2, 3))
            for name in ("damaged-221", "appeal-009", "attack-014")
        }
    )
    assert names(render_junit(report(v7()), numbered())) == names(render_junit(report(v8()), green))


def test_without_numbers_the_passing_attempts_are_counted_off() -> None:
    root = ET.fromstring(render_junit(report(v7())))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("10", "4", "0")
    suites = {s.get("name"): s for s in root}
    assert list(suites) == ["recommendation", "damaged-221", "appeal-009", "attack-014"]
    attack = {c.get("name"): c for c in suites["attack-014"]}
    failure = attack["attempt 1"].find("failure")
    assert failure is not None
    assert failure.get("type") == "critical"
    assert attack["passing attempt 1 of 1"].find("failure") is None


def test_absent_attempts_are_named_as_what_they_are() -> None:
    root = ET.fromstring(render_junit(report(unmeasured())))
    outcomes = [(c.get("name"), [child.tag for child in c]) for c in root[3]]
    assert outcomes == [
        ("unmeasured attempt 1 of 1", ["skipped"]),
        ("missing attempt 1 of 1", ["skipped"]),
        ("quarantined attempt 1 of 1", ["skipped"]),
    ]


def test_names_that_mean_harm_are_text() -> None:
    root = ET.fromstring(render_junit(report(hostile())))
    assert int(root.get("failures", "0")) == len(HOSTILE) + 1


def test_every_character_leaves_the_xml_whole() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    root = ET.fromstring(render_junit(named(every)))
    assert len(root.get("name", "")) > len(every)


@given(st.text(max_size=40))
def test_any_name_leaves_the_xml_whole(name: str) -> None:
    raw = render_junit(named(name, name))
    schema().validate(ET.ElementTree(ET.fromstring(raw)))
    assert raw == as_a_tree(raw)
