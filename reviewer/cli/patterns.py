"""`reviewer patterns`: failing attempts grouped by how they fail, with counts by candidate."""

import argparse

from reviewer.cli.opening import desk_on, only_suite
from reviewer.cli.say import counted, fact, measured, note, out_json
from reviewer.desk.patterns.views import Pattern, PatternCandidate, PatternCount
from reviewer.exit_codes import ExitCode


def _patterns_arguments(patterns: argparse.ArgumentParser) -> None:
    patterns.add_argument("--suite", default="", metavar="S", help="suite id")
    patterns.add_argument(
        "--candidate", dest="candidates", action="append", default=[], metavar="C",
        help="candidate id; give it again for more (default: all of the suite)",
    )  # fmt: skip


ARGUMENTS = {
    "patterns": _patterns_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    desk = desk_on(arguments, arguments.suite)
    suite = arguments.suite or only_suite(desk)
    found = desk.patterns.found(suite, arguments.candidates)
    if arguments.json:
        import msgspec

        out_json(msgspec.to_builtins(found))
        return ExitCode.DONE
    probe = "  probe: shown and compared, never certifying" if found.suite.probe else ""
    fact(f"suite {found.suite.suite_id}{probe}")
    for candidate in found.candidates:
        fact(_candidate(candidate))
    for pattern in found.patterns:
        _pattern(pattern)
    if not found.candidates:
        note(f"no candidate has a trace on {suite} yet: reviewer import FILE")
    elif not found.patterns:
        fact("no attempt fails")
    return ExitCode.DONE


def _candidate(one: PatternCandidate) -> str:
    beyond = one.failing - one.counted
    return (
        f"candidate {one.candidate_id}: {one.counted} failing of {one.measured} measured"
        + (f", {beyond} failing beyond the first complete set" if beyond else "")
        + f", {one.not_measured} not measured, {one.infrastructure} infra"
    )


def _pattern(one: Pattern) -> None:
    fact(f"pattern {one.pattern_id} in {counted(one.attempts, 'attempt')}: {one.text}")
    for count in one.counts:
        fact(f"  {count.candidate_id} {_count(count)}")


def _count(one: PatternCount) -> str:
    limits = ""
    if one.low is not None and one.high is not None:
        limits = f" [{one.low:.3f}, {one.high:.3f}]"
    rate = f"{measured(one.rate, '{:.3f}')}{limits}, {one.counted} of {one.measured} measured"
    if not one.attempts:
        return rate
    at = "" if one.seq is None else f" event {one.seq}"
    more = f"{counted(one.attempts, 'attempt')} of {counted(one.episodes, 'episode')}"
    return f"{rate}; {more}, first {one.trace_id}{at}"
