"""`reviewer trends`: the figures behind the plots, in words, one fact a line."""

import argparse

from reviewer.cli.opening import desk_on, only_suite, workspace_of
from reviewer.cli.say import counted, fact, measured, note, out_json
from reviewer.desk import early_stats
from reviewer.desk.trends.views import Target, TrendFigure, TrendPoint, Trends, Unit
from reviewer.exit_codes import ExitCode

FORMS: dict[Unit, str] = {"share": "{:.3f}", "count": "{:.2f}", "usd": "${:.4f}"}
HELD = {"met": "; target met", "failed": "; target missed", "open": "; target open", "none": ""}
WHOSE = {
    "policy": "the suite's policy",
    "articles": "a guideline for dashboards, which binds no release",
}


def _trends_arguments(trends: argparse.ArgumentParser) -> None:
    trends.add_argument("--suite", default="", metavar="S", help="suite id")
    trends.add_argument(
        "--archive", metavar="DIR", help="read an archive made by reviewer export, without a store"
    )


ARGUMENTS = {
    "trends": _trends_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    if arguments.archive:
        from reviewer.desk.archives.api import archived_trends

        found = archived_trends(arguments.archive, arguments.suite)
    else:
        early_stats.begin(workspace_of(arguments), arguments.suite)
        desk = desk_on(arguments, arguments.suite)
        found = desk.trends.figures(arguments.suite or only_suite(desk))
    if arguments.json:
        import msgspec

        out_json(msgspec.to_builtins(found))
        return ExitCode.DONE
    _head(found)
    for one in found.figures:
        _figure(found, one)
    if not found.candidates:
        note(f"no candidate has a trace on {found.suite.suite_id} yet: reviewer import FILE")
    return ExitCode.DONE


def _head(found: Trends) -> None:
    probe = "  probe: shown and compared, never certifying" if found.suite.probe else ""
    fact(f"suite {found.suite.suite_id}{probe}")
    many = f"{len(found.candidates)}"
    if found.earlier:
        many = f"the newest {many} of {len(found.candidates) + found.earlier}"
    fact(f"candidates {many}, in the order they came: {found.clock}")
    for number, one in enumerate(found.candidates, 1):
        fact(
            f"candidate {number} {one.candidate_id}: {one.at or 'time not said'}, "
            f"{counted(one.attempts, 'attempt')}, "
            + (
                f"recommendation {one.recommendation}"
                if one.recommendation
                else "nothing is recommended of an archive"
            )
        )


def _figure(found: Trends, one: TrendFigure) -> None:
    better = f"{one.better} is better"
    fact(f"figure {one.name} ({better}, {one.limits}): {_target(one.target)}")
    for who, point in zip(found.candidates, one.points, strict=True):
        fact(f"  {who.candidate_id} {_point(point, FORMS[one.unit])}")


def _target(target: Target | None) -> str:
    if target is None:
        return "no target"
    if not target.compares:
        return f"not held to the target of {WHOSE[target.source]} ({target.text}): {target.why}"
    return f"target {target.text}, of {WHOSE[target.source]}"


def _point(point: TrendPoint, form: str) -> str:
    if point.value is None:
        return f"{measured(None)} ({point.why}){HELD[point.held]}"
    limits = ""
    if point.low is not None and point.high is not None:
        limits = f" [{form.format(point.low)}, {form.format(point.high)}]"
    return f"{form.format(point.value)}{limits}, {point.about}{HELD[point.held]}"
