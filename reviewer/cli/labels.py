"""`reviewer labels` and `judgments`: the labeling queue, labels and judgments as files."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reviewer.cli.opening import release_of
from reviewer.cli.parser import act, acts_of, release_options
from reviewer.cli.say import counted, fact
from reviewer.desk.labels.api import (
    ANNOTATION_TOOLS,
    REASONS,
    EstimateView,
    FlagLine,
    LabelKind,
    QuestionView,
    QueueView,
    ReasonLine,
)

if TYPE_CHECKING:
    from reviewer.cli.parser import Acts
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from reviewer.cli.opening import desk_of, workspace_of
from reviewer.cli.say import fail, note, out_json
from reviewer.cli.sign import KEY
from reviewer.desk.errors import DeskError
from reviewer.desk.imports.record_files import TakeResult
from reviewer.desk.presence.claims import ago, clock
from reviewer.exit_codes import ExitCode
from reviewer.suite.errors import Problem
from reviewer.suite.folder import read_bytes

MOST_BYTES = 256 << 20
SHOWN = 20


def _labels_arguments(command: argparse.ArgumentParser) -> None:
    acts = acts_of(command)
    text = "show what is left to label, by you and by all, and how far the reviewers agree"
    queue = act(acts, "queue", text)
    release_options(queue)
    queue.add_argument(
        "--baseline",
        metavar="B",
        help="candidate to pair with (default: the one that compare uses)",
    )
    queue.add_argument("--messages", action="store_true", help="single messages instead of pairs")
    take = file_arguments(acts, "labels", "label")
    take.add_argument(
        "--from",
        dest="tool",
        choices=ANNOTATION_TOOLS,
        metavar="TOOL",
        help=f"files of another tool: {', '.join(ANNOTATION_TOOLS)}",
    )
    take.add_argument(
        "--suite", default="", metavar="S", help="with --from: the suite of the attempts"
    )
    take.add_argument(
        "--map",
        action="extend",
        nargs="+",
        default=[],
        metavar="MAP",
        help="with --from: QUESTION=CRITERION:VALUE=LEVEL, what one answer means",
    )
    take.add_argument(
        "--candidate",
        action="append",
        default=[],
        metavar="C",
        help="with --from: MODEL=CANDIDATE, or CANDIDATE where the file names no model",
    )
    take.add_argument(
        "--episode-map",
        metavar="FILE",
        help="with --from: the names that the tool uses for the episodes",
    )
    sign = act(acts, "sign", "write your labels to store/labels, signed, for version control")
    sign.add_argument("--suite", default="", metavar="S", help="only this suite")
    sign.add_argument("--key", required=True, metavar="KEY", help=KEY)
    act(acts, "take", "import the signed files of store/labels")


def _judgments_arguments(command: argparse.ArgumentParser) -> None:
    acts = acts_of(command)
    file_arguments(acts, "judgments", "judgment")


def file_arguments(acts: "Acts", name: str, one: str) -> argparse.ArgumentParser:
    """Add the acts that write records of a kind to a file, and read them from files; returns the
    latter."""
    export = act(acts, "export", f"export every {one} as a line of JSON")
    export.add_argument("file", nargs="?", help="a new file (default: standard output)")
    export.add_argument("--suite", default="", metavar="S", help="only this suite")
    take = act(acts, "import", f"import {name} of other people, each once")
    take.add_argument("files", nargs="+", metavar="FILE", help="files written by export")
    return take


ARGUMENTS = {
    "labels": _labels_arguments,
    "judgments": _judgments_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    acts = {"queue": _queue, "sign": _sign, "take": _take_signed}
    return acts.get(arguments.act, run_files)(arguments)


def _sign(arguments: argparse.Namespace) -> int:
    from reviewer.cli.sign import passphrase_for

    made = desk_of(arguments).labels.sign(
        arguments.suite, arguments.key, passphrase_for(arguments.key)
    )
    if arguments.json:
        out_json([one._asdict() for one in made])
        return ExitCode.DONE
    for one in made:
        note(f"wrote {one.path}: {counted(one.labels, 'label')} on {one.suite_id}")
        note(f"  and {one.path}.sig, signed by {one.principal}: commit both")
    if not made:
        note("nothing to sign: signed files hold all of your labels")
    return ExitCode.DONE


def _take_signed(arguments: argparse.Namespace) -> int:
    from reviewer.desk.labels.signed_files import take_signed

    taken, refused = take_signed(workspace_of(arguments))
    code = 0
    for file in refused:  # one bad file costs that file only
        code = fail(f"store/labels/{file.why}", file.way, exit_code=ExitCode.INVALID)
    for one in taken:
        if not arguments.quiet:
            note(f"{one.name}, signed by {one.principal}: {counts_words(one.taken, 'label')}")
        say_problems(one.taken.problems)
        code = ExitCode.INVALID if one.taken.refused else code
    if not taken and not refused and not arguments.quiet:
        note("no file of labels is in store/labels")
    if arguments.json:
        out_json(
            [
                *({"file": one.name, "signer": one.principal, **plain_counts(one.taken)}
                  for one in taken),
                *({"file": one.name, "refused": one.why, "way_out": one.way} for one in refused),
            ]
        )  # fmt: skip
    return code


def run_files(arguments: argparse.Namespace) -> int:
    """Export labels, judgments or notes, or import them, by the command's name."""
    return {"export": _export, "import": _import}[arguments.act](arguments)


def _export(arguments: argparse.Namespace) -> int:
    desk, noun = desk_of(arguments), _noun(arguments)
    export = {
        "label": desk.labels.export,
        "judgment": desk.judge.export,
        "note": desk.traces.export_notes,
    }
    data = export[noun](arguments.suite)
    count = data.count(b"\n")
    if arguments.file is None:
        # On a terminal, texts that others wrote must not act: ASCII, with the same content.
        for line in data.splitlines():
            sys.stdout.write(json.dumps(json.loads(line), separators=(",", ":")) + "\n")
        return ExitCode.DONE
    target = Path(arguments.file)
    try:
        with target.open("xb") as handle:
            handle.write(data)
    except FileExistsError as error:
        raise DeskError(f"{target} exists", "name a new file", exit_code=ExitCode.USAGE) from error
    note(f"wrote {target}, {counted(count, noun)}")
    return ExitCode.DONE


def _import(arguments: argparse.Namespace) -> int:
    from reviewer.desk.judge.files import import_judgments
    from reviewer.desk.labels.files import import_labels
    from reviewer.desk.traces.note_files import import_notes

    if getattr(arguments, "tool", None):
        from reviewer.cli.annotations import import_from

        return import_from(arguments)
    asked = ("suite", "map", "candidate", "episode_map")
    if lost := [name for name in asked if getattr(arguments, name, None)]:
        name = lost[0].replace("_", "-")
        raise DeskError(
            f"--{name} belongs to files of another tool",
            "name the tool with --from TOOL, or leave the option out",
            exit_code=ExitCode.USAGE,
        )
    workspace, noun = workspace_of(arguments), _noun(arguments)
    takers = {"label": import_labels, "judgment": import_judgments, "note": import_notes}
    take = takers[noun]
    found: list[tuple[str, TakeResult]] = []
    code = 0
    for name in arguments.files:
        data = read_bytes(Path(name), MOST_BYTES)
        try:
            taken = take(workspace, data, name)
        except DeskError as error:  # one bad file costs that file only
            code = fail(error.text, *error.ways_out, exit_code=error.exit_code)
            continue
        found.append((name, taken))
        if not arguments.quiet:
            note(f"{name}: {counts_words(taken, noun)}")
        say_problems(taken.problems)
        code = ExitCode.INVALID if taken.refused else code
    if arguments.json:
        out_json([{"path": name, **plain_counts(taken)} for name, taken in found])
    return code


def _noun(arguments: argparse.Namespace) -> str:
    return str(arguments.command).removesuffix("s")


def counts_words(taken: TakeResult, noun: str) -> str:
    words = [f"{counted(taken.added, noun) if noun else taken.added} added"]
    words.append(f"{taken.known} already there")
    if taken.refused:
        words.append(f"{taken.refused} refused")
    return ", ".join(words)


def say_problems(problems: Iterable[Problem]) -> None:
    told = list(problems)
    for problem in told[:SHOWN]:
        note(f"  {problem}")
    if len(told) > SHOWN:
        note(f"  and {len(told) - SHOWN} more")


def plain_counts(taken: TakeResult) -> dict[str, object]:
    return {
        "added": taken.added,
        "known": taken.known,
        "refused": taken.refused,
        "problems": [
            {"place": one.file, "path": one.path, "reason": one.reason} for one in taken.problems
        ],
    }


def _queue(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    suite, candidate = release_of(arguments, desk)
    kind: LabelKind = "message" if arguments.messages else "pair"
    found = desk.labels.queue(suite, candidate, arguments.baseline, kind)
    if arguments.json:
        import msgspec

        out_json(msgspec.to_builtins(found))
        return ExitCode.DONE
    for line in (*_head(found), *_reason_lines(found), *_agreement(found)):
        fact(line)
    return ExitCode.DONE


def _head(found: QueueView) -> Iterator[str]:
    """Yield how far this person is, and what holds up a release."""
    against = f"  baseline {found.baseline_id}" if found.baseline_id else ""
    yield f"suite {found.suite_id}  candidate {found.candidate_id}{against}"
    noun = "pairs" if found.kind == "pair" else "final messages"
    yield f"{noun}, labeled by {', '.join(found.reviewers) or 'nobody yet'}"
    yield f"you: {found.done} of {found.items} done"
    for one in found.holders:
        since = ago(clock() - one.since)
        yield f"claimed by {one.reviewer}: {counted(one.items, 'item')}, {since}"
    for line in found.flags:
        yield from _flags(line, found.candidate_id)
    if found.by_authors:
        who = " and ".join(found.by_authors)
        yield f"labels of {who} close no flag: nobody judges their own work"


def _flags(line: FlagLine, candidate_id: str) -> Iterator[str]:
    """Yield whose flags these are, and whose release they stop."""
    yield f"high flags of {line.candidate_id}: {line.high}, open {line.open}"
    if not line.open:
        return
    if line.stops:
        until = "no PROMOTE can be signed until a label closes each of them"
        yield f"  they stop {line.candidate_id}: {until}"
    else:
        yield f"  they stop {line.candidate_id}, and not {candidate_id}"


def _reason_lines(found: QueueView) -> Iterator[str]:
    for row in found.reasons:
        yield _reason(row)
    left_out = ((found.identical, "identical"), (found.unpaired, "without a partner"))
    words = [f"{count} {word}" for count, word in left_out if count]
    if words and found.kind == "pair":
        yield f"not in the queue: {', '.join(words)}"


def _reason(row: ReasonLine) -> str:
    name = REASONS.get(row.reason, row.reason.replace("_", " "))
    note = f"; {row.note}" if row.note else ""
    if row.holders:
        note += "; with " + ", ".join(f"{one.reviewer} {one.items}" for one in row.holders)
    return f"reason {name}: {row.priority} priority; {row.left} left, {row.done} done{note}"


def _agreement(found: QueueView) -> Iterator[str]:
    """Yield how far raters agree, each with themselves, and what a third person must settle."""
    one_order = f", {found.begun} in one order" if found.begun else ""
    noun = "pairs" if found.kind == "pair" else "messages"
    yield f"everybody: {found.labeled} {noun} labeled{one_order}"
    for question in found.agreement:
        yield from _question(question)
    for estimate in found.consistency:
        yield _estimate(estimate)
    if found.needed:
        yield f"needed: {found.needed}"
    for row in found.disagreements:
        names = " and ".join(row.reviewers)
        yield f"to adjudicate {row.episode_id}: {row.text} ({names}){'; yours' if row.mine else ''}"


def _question(one: QuestionView) -> Iterator[str]:
    about = one.about or "which message is better"
    yield f"agreement on {about}: {counted(one.items, 'item')}, {one.lead} leads"
    for estimate in (one.raw, one.alpha, one.ac1, one.kappa):
        yield f"  {_estimate(estimate)}"


def _estimate(one: EstimateView) -> str:
    """Return one figure with its limits, or why it has none."""
    if one.value is None:
        told = "not measured"
    elif one.hits is not None:
        told = f"{one.hits} of {one.n}"
    else:
        told = f"{one.value:z.3f}"
    if one.low is not None and one.high is not None:
        told += f" [{one.low:z.3f}, {one.high:z.3f}]"
    return f"{one.name} {told}" + (f" ({one.why})" if one.why else "")
