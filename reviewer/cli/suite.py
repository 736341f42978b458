"""`reviewer suite list|show|check|freeze|diff`."""

import argparse

from reviewer.cli.opening import desk_of, workspace_of
from reviewer.cli.say import note, out, out_json, table
from reviewer.contract import freeze as freezing
from reviewer.contract.folder import suite_problems, suite_state
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.ingest.probes import benchmark_of
from reviewer.release.words import plural


def run(arguments: argparse.Namespace) -> int:
    return {
        "list": _list,
        "show": _show,
        "check": _check,
        "freeze": _freeze,
        "diff": _diff,
    }[arguments.act](arguments)


def _list(arguments: argparse.Namespace) -> int:
    found = desk_of(arguments).suites()
    if arguments.json:
        out_json([{name: getattr(row, name) for name in row.__struct_fields__} for row in found])
        return 0
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
    return 0


def _show(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    with_store = desk.place.store.exists()
    held = (
        suites.hold(desk.place, None, arguments.suite)
        if not with_store
        else desk.hold(arguments.suite)
    )
    import msgspec

    suite = held.suite
    if arguments.json:
        out_json(msgspec.to_builtins(suite))
        return 0
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
    return 0


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
        return 0
    out(f"{arguments.suite}: frozen, digest {freezing.freeze(folder)}")
    return 0


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
    return 0
