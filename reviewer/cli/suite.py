"""`reviewer suite list|show|check|freeze|diff|start-digest`."""

import argparse
from typing import Any

from reviewer.cli.opening import desk_of, workspace_of
from reviewer.cli.say import note, out, out_json, table
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode
from reviewer.report.words import plural
from reviewer.suite import freeze as freezing
from reviewer.suite.benchmarks import benchmark_of
from reviewer.suite.canonical import start_state_digest
from reviewer.suite.folder import suite_problems, suite_state
from reviewer.suite.model import Suite

NO_START = "no initial state: a record needs no digest"


def run(arguments: argparse.Namespace) -> int:
    return {
        "list": _list,
        "show": _show,
        "check": _check,
        "freeze": _freeze,
        "diff": _diff,
        "start-digest": _start_digest,
    }[arguments.act](arguments)


def _list(arguments: argparse.Namespace) -> int:
    found = desk_of(arguments).workspace.suites()
    if arguments.json:
        out_json([{name: getattr(row, name) for name in row.__struct_fields__} for row in found])
        return ExitCode.DONE
    table(
        [
            (
                row.suite_id,
                "probe" if row.probe else row.state,
                str(row.episodes),
                str(row.attempts),
                str(row.candidates),
                row.digest[:16],
            )
            for row in found
        ],
        ("suite", "state", "episodes", "attempts", "candidates", "digest"),
    )
    for row in found:
        if row.problem:
            note(row.problem)
    return ExitCode.DONE


def _held(arguments: argparse.Namespace) -> Suite:
    """The suite, which is as it was frozen; with a store as its traces were judged."""
    desk = desk_of(arguments)
    if desk.place.store.exists():
        return desk.workspace.hold(arguments.suite).suite
    return suites.hold(desk.place, None, arguments.suite).suite


def _start_digest(arguments: argparse.Namespace) -> int:
    """Return what a harness writes into `start_state_digest` once it has set an attempt up so."""
    suite, wanted = _held(arguments), arguments.episode
    episodes = [one for one in suite.episodes if wanted in ("", one.episode_id)]
    if not episodes:
        raise DeskError(
            f"{suite.suite_id} has no episode {wanted}", f"reviewer suite show {suite.suite_id}"
        )
    found = {one.episode_id: _digest_of(one.initial_state) for one in episodes}
    if arguments.json:
        out_json(found)
        return ExitCode.DONE
    for name, digest in found.items():
        if wanted:
            out(digest or NO_START)
        else:
            out(f"episode {name}  {digest or NO_START}")
    return ExitCode.DONE


def _digest_of(state: dict[str, Any]) -> str | None:
    return start_state_digest(state) if state else None


def _show(arguments: argparse.Namespace) -> int:
    import msgspec

    suite = _held(arguments)
    if arguments.json:
        out_json(msgspec.to_builtins(suite))
        return ExitCode.DONE
    out(f"suite {suite.suite_id}  {suite.title}")
    out(f"digest {suite.digest}")
    if suite.probe:
        out("probe: shown and compared, never certifying a release")
        if (known := benchmark_of(suite.suite_id)) is not None:
            out(f"  teaches {known.teaches}")
            out(f"  cannot certify {known.cannot_certify}")
    policy = suite.policy
    out(
        f"policy {policy.mode}: {policy.attempts} attempts per episode, hard pass "
        f"{policy.hard_pass_rate}, pass^{policy.pass_hat.k} at least {policy.pass_hat.min}, "
        f"CPST at most {policy.max_cpst_usd}"
    )
    for episode in suite.episodes:
        out(f"episode {episode.episode_id}  {episode.title}")
        out(f"  required {', '.join(episode.tools.required) or 'none'}")
        out(f"  forbidden {', '.join(episode.tools.forbidden) or 'none'}")
    return ExitCode.DONE


def _check(arguments: argparse.Namespace) -> int:
    """Recompute every digest and validate every file, of one suite or of all."""
    workspace = workspace_of(arguments)
    if arguments.suite:
        folders = [workspace.suite_folder(arguments.suite)]
        if not folders[0].is_dir():
            raise DeskError(f"no suite {arguments.suite} in {workspace.suites}")
    else:
        folders = suites.folders(workspace)
    worst = 0
    for folder in folders:
        problems = suite_problems(folder)
        for problem in problems:
            out(str(problem))
        if problems:
            worst = 20
            note(f"{folder.name}: {plural(len(problems), 'problem')}")
            continue
        state = suite_state(folder)
        judged = suites.judged_under(workspace, folder.name)
        if judged is not None and judged != state.digest:
            worst = 20
            out(
                f"{folder.name}: its lock has digest {state.digest or 'none'}, but traces in this "
                f"store were judged under {judged}"
            )
            continue
        count = len(state.files) - 1
        if state.state == "unfrozen":
            note(f"{folder.name}: valid, not frozen: reviewer suite freeze {folder.name}")
        else:
            out(f"{folder.name}: frozen, {count} files as locked, digest {state.digest}")
    return worst


def _freeze(arguments: argparse.Namespace) -> int:
    workspace = workspace_of(arguments)
    folder = workspace.suite_folder(arguments.suite)
    if not folder.is_dir():
        raise DeskError(f"no suite {arguments.suite} in {workspace.suites}")
    if arguments.new_id:
        made = freezing.freeze_as(folder, arguments.new_id)
        out(f"{arguments.new_id}: frozen, digest {made.digest}")
        for path in made.restored:
            note(f"{folder.name}: {path} is as it was frozen again")
        return ExitCode.DONE
    out(f"{arguments.suite}: frozen, digest {freezing.freeze(folder)}")
    return ExitCode.DONE


def _diff(arguments: argparse.Namespace) -> int:
    workspace = workspace_of(arguments)
    folder = workspace.suite_folder(arguments.suite)
    if suite_state(folder).state == "unfrozen":
        raise DeskError(f"{arguments.suite}: not frozen: there is nothing to compare with")
    text = freezing.diff_suite(folder)
    if text:
        out(text.rstrip("\n"))
    else:
        note(f"{arguments.suite}: as it was frozen")
    return ExitCode.DONE
