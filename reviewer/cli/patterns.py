"""`reviewer patterns`: failing attempts grouped by how they fail, with counts by candidate; and the
names that people give to the groups."""

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import UNSET

from reviewer.cli.opening import desk_on, only_suite
from reviewer.cli.parser import everywhere
from reviewer.cli.say import counted, fact, measured, note, out_json
from reviewer.desk.patterns.views import (
    GivenName,
    NameMade,
    NearGroup,
    NearPatterns,
    Pattern,
    PatternCandidate,
    PatternCount,
    Patterns,
)
from reviewer.exit_codes import ExitCode
from reviewer.trace.safetext import cap, visible_line

MOST_WORDS = 160
"""Characters of an example's words; `--json` has all that was compared."""

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk


def _patterns_arguments(patterns: argparse.ArgumentParser) -> None:
    patterns.add_argument("--suite", default="", metavar="S", help="suite id")
    patterns.add_argument(
        "--candidate", dest="candidates", action="append", default=[], metavar="C",
        help="candidate id; may be repeated (default: all of the suite)",
    )  # fmt: skip
    patterns.add_argument(
        "--near", action="store_true",
        help="also group attempts that are alone in their pattern by similar words (extra: "
        "embeddings; needs --embedding-model)",
    )  # fmt: skip
    patterns.add_argument(
        "--embedding-model", default=argparse.SUPPRESS, metavar="DIR",
        help="the static model in this folder",
    )  # fmt: skip
    acts = patterns.add_subparsers(dest="act", metavar="ACT")  # without one, the patterns
    for name, text in (
        ("name", "name a pattern, replacing any name it has"),
        ("unname", "remove the name of a pattern"),
        ("names", "list every name that was given or removed, one per line"),
    ):
        one = acts.add_parser(name, help=text, description=text, allow_abbrev=False)
        everywhere(one, default=argparse.SUPPRESS)
        one.add_argument("--suite", default=argparse.SUPPRESS, metavar="S", help="suite id")
        if name != "names":
            one.add_argument(
                "pattern", metavar="PATTERN_ID", help="id as reviewer patterns shows it"
            )
        if name == "name":
            one.add_argument(
                "name",
                metavar="NAME",
                help="the name, at most 120 characters; identifiers are masked",
            )
            one.add_argument(
                "--note",
                default="",
                metavar="TEXT",
                help="what the name means; identifiers are masked",
            )


ARGUMENTS = {
    "patterns": _patterns_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    desk = desk_on(arguments, arguments.suite)
    try:
        suite = arguments.suite or only_suite(desk)
        if arguments.act is None:
            found = desk.patterns.found(suite, arguments.candidates, near=arguments.near)
            return _list(found, suite, arguments.json)
        if arguments.act == "names":
            return _names(desk, suite, arguments.json)
        if arguments.act == "unname":
            made = desk.patterns.unname(suite, arguments.pattern)
        else:
            made = desk.patterns.name(suite, arguments.pattern, arguments.name, arguments.note)
        return _made(made, arguments.json)
    finally:
        desk.close()


def _made(made: NameMade, as_json: bool) -> int:
    if as_json:
        import msgspec

        out_json(msgspec.to_builtins(made))
        return ExitCode.DONE
    fact(f"pattern {made.given.pattern_id} of {made.suite_id} {_given(made.given)}")
    if not made.added:
        note("it has this name already: nothing was added")
    return ExitCode.DONE


def _names(desk: "Desk", suite: str, as_json: bool) -> int:
    found = desk.patterns.names(suite)
    if as_json:
        import msgspec

        out_json(msgspec.to_builtins(found))
        return ExitCode.DONE
    for one in found:
        stands = "stands" if one.stands else "replaced"
        fact(f"pattern {one.pattern_id} of {suite}, {stands}: {_given(one)}")
    if not found:
        note(f"no pattern of {suite} was named: reviewer patterns name PATTERN_ID NAME")
    return ExitCode.DONE


def _list(found: Patterns, suite: str, as_json: bool) -> int:
    if as_json:
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
    if found.near is not UNSET:
        _near(found.near)
    for one in found.names_elsewhere:
        fact(f"pattern {one.pattern_id} in 0 attempts {_given(one)}")
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
    _called(one.pattern_id, one.names, one.names_differ)
    for count in one.counts:
        fact(f"  {count.candidate_id} {_count(count)}")


def _near(found: NearPatterns) -> None:
    fact(
        f"near by {found.model} (sha256 {found.model_sha256[:16]}), from cosine "
        f"{found.threshold}: of {counted(found.alone, 'attempt')} alone in a pattern, "
        f"{found.grouped} in {counted(len(found.groups), 'group')}, {found.near_none} near no "
        f"other, {found.wordless} without a word that the model knows"
        + (f", {found.not_compared} not compared" if found.not_compared else "")
    )
    for one in found.groups:
        _near_group(one)


def _near_group(one: NearGroup) -> None:
    fact(f"near group {one.near_id} of {counted(one.attempts, 'attempt')}")
    _called(one.near_id, one.names, one.names_differ)
    for count in one.counts:
        more = f"{count.counted} of {count.measured} measured"
        fact(f"  {count.candidate_id} {counted(count.attempts, 'attempt')}, {more}")
    for example in one.examples:
        at = "" if example.seq is None else f" event {example.seq}"
        words = cap(visible_line(example.text), MOST_WORDS)
        fact(f"  nearest {example.cosine:.4f} {example.trace_id}{at} {example.pattern_id}: {words}")


def _called(pattern: str, names: Iterable[GivenName], differ: bool) -> None:
    for one in names:
        fact(f"  {_given(one)}")
        if one.note:
            fact(f"  note by {one.reviewer}: {one.note}")
    if differ:
        fact(f'  names differ: reviewer patterns name {pattern} "NAME" puts one in their place')


def _given(one: GivenName) -> str:
    """Return one line for a name that was given. The name comes last, so that nothing it says can
    pass for a fact after it."""
    if not one.name:
        return f"name taken back by {one.reviewer} {one.at}"
    return f"named by {one.reviewer} {one.at}: {one.name}"


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
