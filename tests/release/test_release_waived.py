"""An unsound suite that is used by waiver: every form of the report says so, in one sentence."""

import json
import xml.etree.ElementTree as ET

from msgspec.structs import replace
from release_examples import plain, suite, v8

from reviewer.report.build import report
from reviewer.report.page_parts import Supplement
from reviewer.report.render.github import step_summary
from reviewer.report.render.html import render_html
from reviewer.report.render.junit import render_junit
from reviewer.report.render.markdown import render_markdown
from reviewer.report.render.sarif import render_sarif
from reviewer.report.render.text import summary_lines, summary_text
from reviewer.suite.model import Waiver

WAIVERS = (
    Waiver(agent="repeater", reason="each call is free and harmless"),
    Waiver(agent="oracle", reason="its world needs a person"),
)
SAID = (
    "By waiver, nothing in this suite stops the trial agent repeater: "
    "each call is free and harmless",
    "By waiver, the oracle, which meets every contract, does not pass this suite: "
    "its world needs a person",
)
USED = replace(v8(), suite=replace(suite(), waivers=WAIVERS))


def test_every_form_of_the_report_says_it() -> None:
    found = report(USED)
    assert found.recommendation == "promote"
    assert plain(found)["suite"]["waivers"] == [
        {"agent": one.agent, "reason": one.reason} for one in WAIVERS
    ]
    lines = [line.text for line in summary_lines(found) if line.name == "waiver"]
    assert lines == list(SAID)
    for said in SAID:
        assert said in found.what_this_does_not_show
        assert f"{said}\n" in summary_text(found)
        for text in (render_markdown(found), render_html(found), step_summary(found)):
            assert said in (text if isinstance(text, str) else text.decode())
    properties = {
        one.get("name"): one.get("value")
        for one in ET.fromstring(render_junit(found)).iter("property")
    }
    assert (properties["waiver.repeater"], properties["waiver.oracle"]) == SAID
    log = json.loads(render_sarif(found, Supplement(suite_path="suites/s")))
    (run,) = log["runs"]
    assert [(one["ruleId"], one["kind"], one["level"]) for one in run["results"]] == [
        ("suite/waiver", "review", "none")
    ] * 2
    assert [one["message"]["text"] for one in run["results"]] == list(SAID)
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"suites/s/suite.json"}
    assert len({str(one["partialFingerprints"]) for one in run["results"]}) == 2
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["suite/waiver"]


def test_a_sound_suite_has_no_such_member() -> None:
    found = report(v8())
    assert "waivers" not in plain(found)["suite"]
    assert "waiver" not in summary_text(found)
    assert b"waiver" not in render_junit(found)
    assert b"waiver" not in render_sarif(found)
