"""A report as JUnit XML: a suite per episode, a case per attempt, and one for the recommendation.

Not measured is skipped, never passed. An attempt lost to infrastructure is an error. The document
keeps to the schema of Jenkins' xUnit plugin (junit-10.xsd), the strictest that consumers use.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from typing import Any, NamedTuple

from reviewer.report.figures import Place
from reviewer.report.formatting import NOT_MEASURED, failed_by
from reviewer.report.model import EpisodeSection, Failure, FindingPlace, Report
from reviewer.report.page_parts import NOTHING, AttemptFact, Supplement
from reviewer.report.waived import waiver_text
from reviewer.trace.safetext import visible_line

_NO_VERDICT = "the verdict is not measured"


class _Case(NamedTuple):
    name: str
    outcome: str | None = None
    kind: str = ""
    message: str = ""
    detail: tuple[str, ...] = ()
    latency_ms: float | None = None


def render_junit(report: Report, beside: Supplement = NOTHING) -> bytes:
    """Return the XML document, UTF-8. Passing attempts without numbers are counted.

    Written as text: a tree of a million attempts would take ten times the memory of the file.
    """
    suite = f"{report.suite.suite_id}.{report.candidate.candidate_id}"
    body, counts = BytesIO(), Counter[str | None]()

    def add(name: str, cases: list[_Case], properties: Mapping[str, str] | None = None) -> None:
        counts.update(case.outcome for case in cases)
        body.write(_bytes(_suite(suite, name, cases, properties)))

    add("recommendation", [_recommendation(report)], _properties(report, beside))
    failed: defaultdict[str, list[Failure]] = defaultdict(list)
    for trace in report.failures:
        failed[trace.episode_id].append(trace)
    plan = report.slots
    missing, quarantined = _by_episode(plan.missing_in), _by_episode(plan.quarantined_in)
    for episode in report.episodes:
        name = episode.episode_id
        cases = [
            *_made(episode, failed.get(name, []), beside.attempts.get(name, ())),
            *_absent("missing", "not run", missing.get(name, 0)),
            *_absent("quarantined", "its record is quarantined", quarantined.get(name, 0)),
        ]
        add(name, cases)
    totals = {"tests": str(counts.total()), **_outcomes(counts, "failure", "error")}
    if beside.attempts:
        spent = [f.latency_ms or 0.0 for made in beside.attempts.values() for f in made]
        totals["time"] = _seconds(sum(spent))
    head = f"{_HEAD}{_opened('testsuites', {**totals, 'name': visible_line(suite)})}>\n"
    return b"".join((_bytes(head), body.getbuffer(), b"</testsuites>\n"))


_HEAD = "<?xml version='1.0' encoding='utf-8'?>\n"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "xmlcharrefreplace")


def _opened(tag: str, attributes: Mapping[str, str]) -> str:
    """Return an element up to the end of its first tag; values are visible lines."""
    told = "".join(f' {name}="{_escaped(text)}"' for name, text in attributes.items())
    return f"<{tag}{told}"


def _escaped(text: str) -> str:
    return _text(text).replace('"', "&quot;")


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _recommendation(report: Report) -> _Case:
    word = report.recommendation
    if word == "promote":
        return _Case("promote")
    lines = [f"{i}. {text}" for i, text in enumerate(report.reasons, start=1)]
    lines += [f"needed: {need}" for need in report.needs]
    return _Case("promote", "failure", word, f"{word}: {report.reasons[0]}", tuple(lines))


def _properties(report: Report, beside: Supplement) -> dict[str, str]:
    """Return the digests by which the cases were judged, and the figures behind the
    recommendation."""
    hat = report.pass_hat_interval
    found: dict[str, Any] = {
        "suite": report.suite.suite_id,
        "suite.sha256": report.suite.digest,
        "candidate": report.candidate.candidate_id,
        "candidate.sha256": report.candidate.digest,
        "code": report.ran.summary,
        "report.sha256": beside.report_sha256 or None,
        "formulas": report.formulas,
        "recommendation": report.recommendation,
        "hard_pass_rate": report.hard_pass_rate.value,
        f"pass_hat_{hat.k}": hat.value,
        "critical_failures": report.critical_failures.known,
        "cost_usd": report.cost.total_usd,
        "cpst_usd": report.cost.cpst_usd,
        "latency_p95_ms": report.latency_ms.p95,
        **{f"waiver.{one.agent}": waiver_text(one) for one in report.suite.waived},
    }
    return {name: NOT_MEASURED if v is None else str(v) for name, v in found.items()}


def _made(
    episode: EpisodeSection, failures: list[Failure], facts: Iterable[AttemptFact]
) -> Iterator[_Case]:
    known = {fact.attempt: fact for fact in facts}
    numbered: list[tuple[int, _Case]] = []
    for trace in failures:
        attempt, codes = trace.attempt, failed_by(trace.codes)
        name, time = f"attempt {attempt}", known[attempt].latency_ms if attempt in known else None
        if trace.infrastructure:
            lost = _Case(name, "error", "infrastructure", codes, latency_ms=time)
            numbered.append((attempt, lost))
            continue
        kind = "critical" if trace.critical else "fail"
        lines = [trace.trace_id, *(_finding(f) for f in trace.evidence)]
        case = _Case(name, "failure", kind, codes, tuple(lines), time)
        numbered.append((attempt, case))
    passed = _numbers(known, "pass") or episode.passed_attempts
    unmeasured = _numbers(known, "not_measured") or episode.unmeasured_attempts
    numbered += [(n, _Case(f"attempt {n}", latency_ms=_time(known, n))) for n in passed]
    for n in unmeasured:
        case = _Case(f"attempt {n}", "skipped", "", _NO_VERDICT, latency_ms=_time(known, n))
        numbered.append((n, case))
    yield from (case for _, case in sorted(numbered, key=lambda item: item[0]))
    judged = sum(1 for trace in failures if not trace.infrastructure)
    lost_ones = len(failures) - judged
    for noun, outcome, count, message in (
        ("passing", None, episode.passes - len(passed), ""),
        ("unmeasured", "skipped", episode.not_measured - len(unmeasured), _NO_VERDICT),
        ("failing", "failure", episode.fail - judged, "its trace is not listed"),
        (
            "infrastructure",
            "error",
            episode.infrastructure - lost_ones,
            "its trace is not listed",
        ),
    ):
        for i in range(count):
            yield _Case(f"{noun} attempt {i + 1} of {count}", outcome, noun, message)


def _numbers(known: Mapping[int, AttemptFact], mark: str) -> tuple[int, ...]:
    return tuple(n for n, fact in known.items() if fact.mark == mark)


def _time(known: Mapping[int, AttemptFact], attempt: int) -> float | None:
    return known[attempt].latency_ms if attempt in known else None


def _finding(finding: FindingPlace) -> str:
    event = "" if finding.seq is None else f" event {finding.seq}"
    return f"{finding.gate}{event} {finding.code}"


def _by_episode(places: Iterable[Place]) -> dict[str, int]:
    return {place.episode_id: place.attempts for place in places}


def _absent(noun: str, message: str, count: int) -> Iterator[_Case]:
    return (
        _Case(f"{noun} attempt {i + 1} of {count}", "skipped", noun, message) for i in range(count)
    )


def _suite(
    suite: str, name: str, cases: list[_Case], properties: Mapping[str, str] | None = None
) -> str:
    """Return the element of an episode and its cases, each on a line of its own."""
    counts = Counter(case.outcome for case in cases)
    counted = _outcomes(counts, "failure", "error", "skipped")
    told = {"name": visible_line(name), "tests": str(len(cases)), **counted}
    times = [case.latency_ms for case in cases if case.latency_ms is not None]
    if times:
        told["time"] = _seconds(sum(times))
    lines = [f"  {_opened('testsuite', told)}"]
    if not cases and not properties:
        return f"{lines[0]} />\n"
    lines[0] += ">"
    if properties:
        lines.append("    <properties>")
        for key, value in properties.items():
            one = {"name": key, "value": visible_line(value)}
            lines.append(f"      {_opened('property', one)} />")
        lines.append("    </properties>")
    place = f'    <testcase classname="{_escaped(visible_line(f"{suite}.{name}"))}"'
    lines += [place + _case(case) for case in cases]
    lines.append("  </testsuite>\n")
    return "\n".join(lines)


def _outcomes(counts: Mapping[str | None, int], *outcomes: str) -> dict[str, str]:
    """Return how many cases have each of these outcomes, under the names of attributes."""
    names = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    return {names[one]: str(counts.get(one, 0)) for one in outcomes}


def _case(case: _Case) -> str:
    """Return the rest of a case's element, after its first attribute."""
    time = "" if case.latency_ms is None else f' time="{_seconds(case.latency_ms)}"'
    head = f' name="{_escaped(visible_line(case.name))}"{time}'
    if case.outcome is None:
        return f"{head} />"
    told = {"message": visible_line(case.message)}
    if case.outcome != "skipped":
        told["type"] = visible_line(case.kind)
    text = _text("\n".join(map(visible_line, case.detail)))
    result = _opened(case.outcome, told)
    end = f">{text}</{case.outcome}>" if text else " />"
    return f"{head}>\n      {result}{end}\n    </testcase>"


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.3f}"
