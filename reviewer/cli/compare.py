"""`reviewer compare`: two candidates, or two attempts, in words, one fact a line."""

import argparse
from collections.abc import Iterable

from reviewer.cli.opening import desk_on, release_of
from reviewer.cli.parser import release_options
from reviewer.cli.say import fact, fail, mark, measured, note, out_view, worded
from reviewer.desk.compare.views import (
    AlignedStep,
    Amount,
    AttemptComparison,
    Comparison,
    EpisodeChange,
    Outcome,
)
from reviewer.desk.views import EventRow
from reviewer.exit_codes import ExitCode

STEPS = {
    "same": "same", "result": "other result", "arguments": "other arguments",
    "content": "other content", "instead": "instead", "baseline": "gone", "candidate": "new",
}  # fmt: skip
MESSAGE = {"=": "same", "-": "gone", "+": "new"}
FORMS = {"usd": "${:.4g}", "ms": "{:.0f} ms", "steps": "{:.0f}"}


def _compare_arguments(compare: argparse.ArgumentParser) -> None:
    compare.add_argument(
        "episode", nargs="?", metavar="EPISODE",
        help="compare this episode event by event (default: one line per episode)",
    )  # fmt: skip
    release_options(compare)
    compare.add_argument(
        "--baseline", metavar="B", help="candidate to compare with (default: the one before)"
    )
    compare.add_argument(
        "--attempts", nargs=2, metavar="TRACE_ID",
        help="two attempts of one episode, the baseline first",
    )  # fmt: skip
    compare.add_argument(
        "--archive", metavar="DIR",
        help="compare two candidates of an archive made by reviewer export, without a store",
    )  # fmt: skip


ARGUMENTS = {
    "compare": _compare_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    if arguments.attempts and (arguments.episode or arguments.baseline or arguments.candidate):
        return fail(
            "--attempts names both sides already",
            "leave out EPISODE, --candidate and --baseline",
            exit_code=ExitCode.USAGE,
        )
    if arguments.archive:
        return _of_archive(arguments)
    named = arguments.attempts[0].partition("/")[0] if arguments.attempts else arguments.suite
    desk = desk_on(arguments, named)
    found: Comparison | AttemptComparison
    if arguments.attempts:
        found = desk.compare.attempts(*arguments.attempts)
    else:
        suite, candidate = release_of(arguments, desk)
        baseline = arguments.baseline
        found = (
            desk.compare.episode(suite, candidate, baseline, arguments.episode)
            if arguments.episode
            else desk.compare.candidates(suite, candidate, baseline)
        )
    if arguments.json:
        out_view(found, EpisodeChange)
    elif isinstance(found, Comparison):
        _candidates(found)
    else:
        _attempts(found)
    return ExitCode.DONE


def _of_archive(arguments: argparse.Namespace) -> int:
    if arguments.attempts or arguments.episode or not arguments.candidate:
        return fail(
            "of an archive two candidates are compared: --candidate C, no EPISODE, no --attempts",
            "attempts are compared event by event in the store",
            exit_code=ExitCode.USAGE,
        )
    from reviewer.desk.archives.api import archived_comparison

    found = archived_comparison(
        arguments.archive, arguments.suite or "", arguments.candidate, arguments.baseline
    )
    if arguments.json:
        out_view(found, EpisodeChange)
    else:
        _candidates(found)
    return ExitCode.DONE


def _candidates(found: Comparison) -> None:
    place = f"suite {found.suite.suite_id}  baseline {found.baseline_id}"
    fact(f"{place}  candidate {found.candidate_id}")
    for text in (found.sentence, found.figures, found.test, found.conclusion):
        fact(text.replace(" → ", " then "))
    _amounts(found.amounts)
    for episode in found.episodes:
        fact(_episode(episode))
    if not found.episodes:
        note("no episode on this suite yet")


def _episode(each: EpisodeChange) -> str:
    grave = ", new critical" if each.new_critical else ""
    failing = [_failing(side) for side in (each.baseline, each.candidate)]
    why = f" ({each.why})" if each.why else ""
    return (
        f"episode {each.episode_id}: {each.change}{grave}{why};"
        f" passed {_passed(each.baseline)} then {_passed(each.candidate)};"
        f" failing gates {failing[0]} then {failing[1]}"
    )


def _failing(side: Outcome) -> str:
    return " ".join(side.gates_failing) or ("none" if side.gates_known else "not measured")


def _passed(side: Outcome) -> str:
    return f"{side.passes} of {side.attempts}" if side.attempts else "not measured"


def _amounts(amounts: Iterable[Amount]) -> None:
    for each in amounts:
        form = FORMS[each.unit]
        told = f"{measured(each.baseline, form)} then {measured(each.candidate, form)}"
        if each.difference is not None:
            sign = "-" if each.difference < 0 else "+"
            told += f" ({sign}{form.format(abs(each.difference))})"
        elif each.why:
            told += f" ({each.why})"
        fact(f"{each.name}: {told}")


def _attempts(found: AttemptComparison) -> None:
    before, after = found.baseline, found.candidate
    fact(f"episode {found.episode_id} of suite {found.suite_id}")
    for name, side in zip(found.sides, (before, after), strict=True):
        fact(f"{name} is trace {side.trace_id}: {mark(side.mark)}")
    for text in found.evidence:
        fact(f"evidence: {text}")
    for change in found.gates:
        marks = [mark(each) for each in (change.baseline, change.candidate)]
        told = marks[0] if marks[0] == marks[1] else " then ".join(marks)
        fact(f"gate {change.gate}: {told}")
    for text in found.state:
        fact(f"state {worded(text)}")
    _amounts(found.amounts)
    for index, step in enumerate(found.steps):
        if index == found.first_divergence:
            fact("first divergence")
        _step(step, found.sides)
    for sign, text in found.message:
        fact(f"message {MESSAGE[sign]}: {text}")
    if found.cut:
        fact(f"cut: {found.cut}")


def _step(step: AlignedStep, sides: tuple[str, str]) -> None:
    both = zip(sides, (step.baseline, step.candidate), strict=True)
    told = "; ".join(f"{side} {_event(row)}" for side, row in both if row is not None)
    fact(f"{STEPS[step.change]}: {told}")
    for line in step.lines:
        fact(f"    {worded(line, sides)}")


def _event(row: EventRow) -> str:
    status = f" {row.status}" if row.status else ""
    return f"event {row.seq} {row.kind}: {row.title}{status}"
