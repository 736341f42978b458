"""A report for GitHub Actions: the step's summary in Markdown, and annotations at the files that
the reasons are about.

GitHub's limits: a summary of 1 MiB per step, ten error annotations per step.
"""

from reviewer.report.formatting import verdict
from reviewer.report.model import Report
from reviewer.report.page import FAILURES, GRID, RAN, page
from reviewer.report.page.figures import FIGURES
from reviewer.report.page_parts import NOTHING, Supplement, episode_file, findings, suite_file
from reviewer.report.render.markdown import markdown_of
from reviewer.trace.safetext import visible_line

MOST_BYTES = 1024 * 1024
MOST_ANNOTATIONS = 10
_SHOWN = (GRID, RAN, FIGURES, FAILURES, "Not measured", "What this does not show")
_CUT = "_Left out for room: {}. All of it is in report.md and report.html._\n"


def step_summary(report: Report, beside: Supplement = NOTHING) -> str:
    """Return Markdown for $GITHUB_STEP_SUMMARY: the verdict, its reasons and the figures behind
    them; parts that do not fit into 1 MiB only by title."""
    first, *parts = page(report, beside)
    chosen = [first, *(part for part in parts if part.title in _SHOWN)]
    room = MOST_BYTES - len(_CUT) - 2 * sum(len(title) for title in _SHOWN)
    texts: list[str] = []
    left_out: list[str] = []
    for part in chosen:
        text = markdown_of(part) + "\n"
        size = len(text.encode("utf-8", "replace")) + 1
        if size > room:
            left_out.append(part.title if part.level > 1 else "the reasons")
            continue
        room -= size
        texts.append(text)
    if left_out:
        texts.append(_CUT.format(", ".join(left_out)))
    return "\n".join(texts)


def annotations(report: Report, beside: Supplement = NOTHING) -> list[str]:
    """Return workflow commands, at most ten: one for the recommendation, then findings at the files
    of their episodes, critical ones first. A promotion is one notice."""
    candidate, word = report.candidate.candidate_id, verdict(report)
    about = f"{word}: {candidate} on {report.suite.suite_id}"
    if report.recommendation == "promote" or report.suite.probe:
        return [_command("notice", {"title": about}, "no reason against")]
    policy = suite_file(beside.suite_path)
    told = "; ".join([*report.reasons, *(f"needed: {need}" for need in report.needs)])
    lines = [_command("error", {"file": policy, "title": about}, told)]
    for one in findings(report):
        if len(lines) == MOST_ANNOTATIONS:
            break
        if not one.counts:
            continue
        trace = one.trace
        event = "" if one.seq is None else f" event {one.seq}"
        lines.append(
            _command(
                "error",
                {
                    "file": episode_file(beside.suite_path, trace.episode_id),
                    "title": f"{one.gate}: {one.code}",
                },
                f"{trace.trace_id}{event} {one.code}",
            )
        )
    return lines


def _command(name: str, properties: dict[str, str], message: str) -> str:
    """Return `::error file=…,line=1,title=…::message`, escaped as GitHub's runner reads it back."""
    named = ",".join(
        f"{key}={_property(value)}" + (",line=1" if key == "file" else "")
        for key, value in properties.items()
        if value
    )
    return f"::{name} {named}::{_data(message)}"


def _data(text: str) -> str:
    line = visible_line(text)
    return line.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
