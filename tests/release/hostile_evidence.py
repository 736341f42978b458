"""Evidence whose every name and code means harm."""

from functools import cache

from msgspec.structs import replace
from release_examples import evidence, failed, v7

from reviewer.report.build import report
from reviewer.report.evidence import EpisodeCounts, Evidence, LineageSuite
from reviewer.report.model import FindingPlace, Report
from reviewer.report.page_parts import (
    AttemptFact,
    Excerpt,
    ScoreCell,
    ScoreRow,
    ShownEvent,
    Supplement,
)
from reviewer.suite.model import Episode, Suite

HOSTILE = (
    "<script>alert(1)</script>",
    "a|b`c`\n# pwned",
    "[x](javascript:alert(1))",
    "![i](http://evil.example/i.png)",
    "\x1b]0;title\x07\x9b31m",
    "\u202etxt.exe\u2066",
    "]]><x/>&amp;\x00\ud800\ufffe",
    "\"' onmouseover='alert(1)",
    "```\n<b>",
    "@everyone #1",
    "\n::error::pwned\n##[add-mask]x",
    "</pre></desc></title><style>*{display:none}</style>",
)


def hostile() -> Evidence:
    """One failing trace for each."""
    names = HOSTILE
    rows = tuple(
        EpisodeCounts(episode_id=n, attempts=1, measured=1, critical=1, in_plan=1) for n in names
    )
    failures = tuple(
        replace(
            failed("c", n, 1, ("authority", f"forbidden:{n}", 1), critical=True),
            trace_id=f"{n}/{n}/{n}/1",
        )
        for n in names
    )
    bad = Suite(
        suite_id=names[0],
        title=names[1],
        digest=names[2],
        episodes=tuple(Episode(episode_id=n) for n in names),
    )
    return evidence(
        "".join(names),
        rows,
        suite=bad,
        failures=failures,
        candidate=None,
        baseline_id=names[3],
        probes=({names[4]: names[5]},),
        source_files=tuple((n, n) for n in names),
        unknown_codes=tuple((n, 1) for n in names),
        lineage=tuple(
            LineageSuite(suite_id=n, digest=n, attempts=1, passes=0, reason=n, reviewer=n)
            for n in names
        ),
        rubric_criteria=names,
        frozen_at=names[6],
    )


@cache
def _blocked() -> Report:
    return report(v7())


def named(name: str, code: str = "forbidden:issue_refund") -> Report:
    """v7's report with a candidate, an episode and a code that are called anything."""
    said = _blocked()
    found = FindingPlace(gate="authority", code=code, seq=1)
    trace = replace(
        said.failures[0], trace_id=name, episode_id=name, evidence=(found,), codes=(code,)
    )
    return replace(said, candidate=replace(said.candidate, candidate_id=name), failures=(trace,))


def hostile_beside() -> Supplement:
    """The same names again, and events that hold them in every field."""
    rows = tuple(
        ScoreRow(
            episode_id=n,
            title=n,
            cells=(ScoreCell("critical", 1, 1),) * 7,
            attempts=(AttemptFact(1, "critical", 5.0),),
            pass_hat=0.0,
            mean_cost_usd=None,
            latency_p50_ms=None,
        )
        for n in HOSTILE
    )
    excerpts = tuple(
        Excerpt(
            trace_id=f"{n}/{n}/{n}/1",
            mark="critical",
            findings=(("authority", f"forbidden:{n}", 1, n),),
            events=(
                ShownEvent(
                    seq=1,
                    kind=n,
                    title=n,
                    status=n,
                    latency_ms=None,
                    mark="critical",
                    codes=(n,),
                    parts=((n, n), ("observation", "\n".join(HOSTILE))),
                ),
            ),
            of=3,
        )
        for n in HOSTILE
    )
    return Supplement(
        report_sha256=HOSTILE[0], rows=rows, excerpts=excerpts, suite_path=f"suites/{HOSTILE[0]}"
    )
