"""A report as SARIF 2.1.0 (OASIS): a result per finding, at the file of the episode's contract.

A verdict not measured is a result of kind `open`, the standard's word for "not enough information
to decide"; it is never a pass. Fingerprints leave out candidate and attempt number, so that the
same finding in the next candidate is the same alert.
"""

import hashlib
import json
from collections import Counter
from typing import Any
from urllib.parse import quote

from reviewer import __version__
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import plural
from reviewer.report.model import Report
from reviewer.report.page_parts import (
    NOTHING,
    Finding,
    Supplement,
    episode_file,
    findings,
    suite_file,
)
from reviewer.report.waived import waiver_text
from reviewer.suite.gates import COVERS, CRITICAL_GATES, GATE_CODES
from reviewer.trace.safetext import visible_line

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
MOST_RESULTS = 5_000
"""Results written out; GitHub shows no more for a run, and refuses a run with more than 25,000."""
FINGERPRINT = "reviewerFinding/v1"


def render_sarif(report: Report, beside: Supplement = NOTHING) -> bytes:
    """Return the log, UTF-8 JSON, one newline at the end."""
    found = _Log(report, beside)
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "reviewer",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": found.rules(),
            }
        },
        "automationDetails": {"id": f"reviewer/{_plain(report.suite.suite_id)}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "exitCode": found.exit_code}],
        "results": found.results,
        "properties": found.properties(),
    }
    if found.left_out:
        said = f"{plural(found.left_out, 'more result')} are in report.json."
        run["invocations"][0]["toolExecutionNotifications"] = [
            {"level": "warning", "message": {"text": said}}
        ]
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"


def rule_of(gate: str, code: str) -> str:
    """Return `authority/forbidden` for `forbidden:issue_refund`: the tool, path or text is not part
    of the rule."""
    return f"{gate}/{code.partition(':')[0]}"


class _Log:
    """The results of one report, with the rules they name."""

    def __init__(self, report: Report, beside: Supplement) -> None:
        self.report, self.beside = report, beside
        self.results: list[dict[str, Any]] = []
        self.left_out = 0
        promoted = report.recommendation == "promote"
        self.exit_code = ExitCode.DONE if promoted else ExitCode.NOT_PROMOTED
        self._index: dict[str, int] = {}
        self._alike: Counter[tuple[str, str, str]] = Counter()
        self._recommended()
        self._waived()
        for one in findings(report):
            self._finding(one)
        self._absent()

    def rules(self) -> list[dict[str, Any]]:
        return [_rule(rule) for rule in self._index]

    def properties(self) -> dict[str, Any]:
        report = self.report
        return {
            "recommendation": report.recommendation,
            "candidate": visible_line(report.candidate.candidate_id),
            "candidateSha256": report.candidate.digest,
            "codeSha256": [one.sha256 for one in report.ran.codes],
            "codeNotBound": report.ran.not_bound,
            "suiteSha256": report.suite.digest,
            "formulas": report.formulas,
            "reportSha256": self.beside.report_sha256 or None,
        }

    def _recommended(self) -> None:
        report, word = self.report, self.report.recommendation
        if word == "promote" or report.suite.probe:
            return
        text = f"{word.upper()} {report.candidate.candidate_id}: {'; '.join(report.reasons)}"
        if report.needs:
            text += f". Needed: {'; '.join(report.needs)}"
        self._add(f"release/{word}", text, suite_file(self.beside.suite_path), "", [])

    def _waived(self) -> None:
        for one in self.report.suite.waived:
            where = suite_file(self.beside.suite_path)
            self._add("suite/waiver", waiver_text(one), where, "", [one.agent], kind="review")

    def _finding(self, one: Finding) -> None:
        trace = one.trace
        event = "" if one.seq is None else f", event {one.seq}"
        text = (
            f"{one.code} ({one.gate}): {trace.episode_id}, attempt {trace.attempt} of "
            f"{self.report.candidate.candidate_id}{event}. Trace {trace.trace_id}."
        )
        where = episode_file(self.beside.suite_path, trace.episode_id)
        alike = (trace.episode_id, one.gate, one.code)
        self._alike[alike] += 1
        about = [*alike, str(self._alike[alike])]
        level = "error" if one.counts else "warning"
        more = {
            "traceId": visible_line(trace.trace_id),
            "traceSha256": trace.sha256,
            "attempt": trace.attempt,
            "event": one.seq,
            "critical": trace.critical,
        }
        self._add(rule_of(one.gate, one.code), text, where, trace.trace_id, about, level, more=more)

    def _absent(self) -> None:
        slots = self.report.slots
        for state, places, said in (
            ("missing", slots.missing_in, "planned and not run"),
            ("infrastructure", slots.infrastructure_in, "lost to infrastructure"),
            ("quarantined", slots.quarantined_in, "quarantined"),
        ):
            for place in places:
                name, count = place.episode_id, place.attempts
                text = f"{plural(count, 'attempt')} of {name} {said}: not measured."
                where = episode_file(self.beside.suite_path, name)
                self._add(f"evidence/{state}", text, where, "", [name, state], kind="open")
        for episode in self.report.episodes:
            if count := episode.not_measured:
                name = episode.episode_id
                text = f"The verdict of {plural(count, 'attempt')} of {name} is not measured."
                where = episode_file(self.beside.suite_path, name)
                about = [name, "unmeasured"]
                self._add("evidence/unmeasured", text, where, "", about, kind="open")

    def _add(
        self,
        rule: str,
        text: str,
        where: str,
        trace_id: str,
        about: list[str],
        level: str = "error",
        kind: str = "fail",
        more: dict[str, Any] | None = None,
    ) -> None:
        if len(self.results) >= MOST_RESULTS:
            self.left_out += 1
            return
        rule = _plain(rule)
        location: dict[str, Any] = {}
        if where:
            uri = quote(where, errors="replace")
            location["physicalLocation"] = {
                "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 1},
            }
        if trace_id:
            name = visible_line(trace_id)
            location["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "object"}]
        identity = "\n".join([self.report.suite.suite_id, rule, *about])
        self.results.append(
            {
                "ruleId": rule,
                "ruleIndex": self._index.setdefault(rule, len(self._index)),
                "kind": kind,
                "level": level if kind == "fail" else "none",
                "message": {"text": _message(text)},
                "locations": [location] if location else [],
                "partialFingerprints": {
                    FINGERPRINT: hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()
                },
                **({"properties": more} if more else {}),
            }
        )


def _rule(rule: str) -> dict[str, Any]:
    family, _, name = rule.partition("/")
    if family == "release":
        said, whole = f"The report recommends to {name}", "A release is promoted, or it is not."
    elif family == "evidence":
        said, whole = f"Evidence {name}", "Missing evidence is never a pass."
    elif family == "suite":
        said = "The suite is used though its trial finds it unsound"
        whole = "A sound suite stops each bad trial agent, and its oracle passes."
    else:
        said = f"{name.replace('_', ' ')} ({family} gate)"
        whole = f"Hard gate {family}: {COVERS.get(family, 'a hard gate')}."
    tags = ["release"] if family == "release" else ["release", family]
    found: dict[str, Any] = {
        "id": rule,
        "shortDescription": {"text": said},
        "fullDescription": {"text": whole},
        "help": {"text": f"{whole} `reviewer show TRACE_ID --event SEQ` shows the evidence."},
        "defaultConfiguration": {"level": "none" if family in ("evidence", "suite") else "error"},
    }
    if family in CRITICAL_GATES:
        tags.append("security")
        found["properties"] = {"tags": tags, "security-severity": "9.0"}
    else:
        found["properties"] = {"tags": tags}
    return found


_KNOWN = {f"{gate}/{code.rstrip(':')}" for gate, codes in GATE_CODES.items() for code in codes}


def _plain(text: str) -> str:
    """Return an identifier as one visible line; our own rule names already are one."""
    return text if text in _KNOWN else visible_line(text)


def _message(text: str) -> str:
    """Return one visible line in which nothing reads as an embedded link (SARIF 3.11.6)."""
    return visible_line(text).replace("](", "] (")
