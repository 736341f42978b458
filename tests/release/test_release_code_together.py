"""A release of several suites binds the code of every gate."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door, Said
from lamps import AGENT, SUITE_ID, Lamp, verified
from people import key_file

from reviewer.report.release import SuiteResult, release_report
from reviewer.signing.dsse import parse_envelope

OTHER = "lamp-v2"


class Two:
    """The same program on two suites, and the release of both."""

    def __init__(self, door: Door) -> None:
        self.door, self.lamp = door, Lamp(door)
        self.digest = self.lamp.pin()
        door.ok("suite", "freeze", SUITE_ID, "--as", OTHER)
        self.other = door.root / "suites" / OTHER / "candidates"
        plan = {
            "schema": "reviewer/release@1",
            "release_id": "lamps",
            "candidate_id": "lamp-agent",
            "suites": [{"suite_id": SUITE_ID}, {"suite_id": OTHER}],
        }
        self.plan = door.file("release.json", json.dumps(plan))

    def repin(self) -> None:
        """Pin what lies in the other suite now."""
        said = self.door.ok("suite", "code", OTHER, "lamp-agent", "--json")
        file = self.other / "lamp-agent.json"
        body = json.loads(file.read_bytes())
        body["runner"]["code_sha256"] = json.loads(said.out)["code_sha256"]
        file.write_text(json.dumps(body), encoding="utf-8")

    def run(self) -> None:
        for suite in (SUITE_ID, OTHER):
            self.door.ok("run", suite, "lamp-agent")

    def report(self) -> dict[str, Any]:
        out = self.door.root / "out"
        self.door.run("--export-report", out, "--release", self.plan)
        found: dict[str, Any] = json.loads((out / "release-report.json").read_bytes())
        return found

    def signed(self) -> Path:
        public = key_file(self.door.root, "alice").with_suffix(".pub")
        self.door.ok("keys", "trust", "alice", public, "--roles", "approver")
        self.door.run("sign", "--release", self.plan, "--key", self.door.root / "alice")
        (file,) = (self.door.root / "store" / "decisions").glob("1-*.dsse.json")
        return file

    def verified(self, file: Path, *more: object) -> Said:
        manifest = self.lamp.folder / "candidates" / "lamp-agent.json"
        return verified(self.door, file, manifest, *more)


def test_the_code_of_each_gate_is_in_the_decision_and_compared(door: Door) -> None:
    two = Two(door)
    two.run()
    report = two.report()
    assert (report["recommendation"], report["reasons"]) == ("promote", [])
    assert [one["codes"] for one in report["suites"]] == [[two.digest]] * 2
    file = two.signed()
    predicate = json.loads(parse_envelope(file.read_bytes()).payload)["predicate"]
    for one in predicate["release"]["suites"]:
        (code,) = [each for each in one["resolvedDependencies"] if each["name"] == "code"]
        assert code["digest"]["sha256"] == two.digest
        assert one["internalParameters"]["attemptsBound"] == 2
    suites = door.root / "suites"
    for folder in (suites, two.lamp.folder):
        said = two.verified(file, "--release", two.plan, "--candidate-folder", folder)
        assert said.code == 0, said
    assert two.verified(file, "--candidate-folder", two.lamp.folder).code == 0
    (two.other / "lamp" / "agent.py").write_text("import os\n", encoding="utf-8")
    said = two.verified(file, "--release", two.plan, "--candidate-folder", suites)
    assert said.code == 30
    assert f"suite {OTHER}: the candidate's code in the given folder is not" in said.out
    two.repin()
    said = two.verified(file, "--release", two.plan, "--candidate-folder", suites)
    assert said.code == 30
    assert f"suite {OTHER}: the candidate's manifest in the folder given" in said.out


def test_gates_that_ran_different_codes_hold_the_release(door: Door) -> None:
    two = Two(door)
    (two.other / "lamp" / "agent.py").write_text(AGENT + "# other\n", encoding="utf-8")
    two.repin()
    two.run()
    report = two.report()
    assert report["recommendation"] == "hold"
    assert [one["recommendation"] for one in report["suites"]] == ["promote", "promote"]
    (reason,) = report["reasons"]
    assert reason.startswith("one code: the gates ran different codes of lamp-agent (")
    said = door.run("sign", "--release", two.plan, "--decision", "PROMOTE", "--key", "alice")
    assert said.code == 10, said


def one(suite_id: str, *codes: str, runner: str = "command", role: Any = "gate") -> SuiteResult:
    return SuiteResult(
        suite_id=suite_id, suite_digest="d", role=role, candidate_id="c", candidate_digest=None,
        baseline_id=None, recommendation="promote", reasons=(), critical=0, failing=0,
        report_sha256="r", codes=codes, runners=(runner,) if codes else (),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("suites", "recommendation"),
    [
        ([one("a", "1"), one("b", "1")], "promote"),
        ([one("a", "1"), one("b", "2")], "hold"),
        ([one("a", "1"), one("b")], "promote"),  # imported: each suite's policy says whether it may
        ([one("a", "1"), one("b", "2", runner="scripted")], "promote"),  # a recording of one suite
        ([one("a", "1"), one("b", "2", role="probe")], "promote"),
    ],
)
def test_which_codes_a_release_may_have(suites: list[SuiteResult], recommendation: str) -> None:
    assert release_report("r", "d", "c", suites).recommendation == recommendation
