"""`reviewer decisions`, `break-glass`, `loss`, `witness`, `attest`: acts other than signing a
decision."""

import argparse

from reviewer.cli.opening import desk_of, release_of
from reviewer.cli.parser import act, acts_of, release_options
from reviewer.cli.say import counted, note, out, out_json, table
from reviewer.cli.sign import KEY, passphrase_for
from reviewer.desk.decisions.api import DecisionInfo
from reviewer.exit_codes import ExitCode


def _decisions_arguments(command: argparse.ArgumentParser) -> None:
    acts = acts_of(command)
    act(acts, "list", "list decisions with their signatures, and break-glass records")
    text = "export a decision for openssl, ssh-keygen, cosign and sigstore"
    export = act(acts, "export", text)
    export.add_argument("decision", metavar="DECISION", help="its number, or a file")
    export.add_argument("out", metavar="OUT", help="the folder to write to")
    export.add_argument("--key", metavar="KEY", help="sign the verification summary too")
    text = "take in decisions and break-glass records that were signed elsewhere"
    take = act(acts, "take", text)
    take.add_argument("files", nargs="+", metavar="FILE", help="a .dsse.json file")


def _break_glass_arguments(glass: argparse.ArgumentParser) -> None:
    release_options(glass)
    glass.add_argument("--key", required=True, metavar="KEY", help=KEY)
    glass.add_argument(
        "--reason", required=True, metavar="TEXT", help="the reason, shown in every later report"
    )
    glass.add_argument(
        "--hours",
        type=float,
        default=4.0,
        metavar="H",
        help="how long the record is valid (4; at most 24)",
    )
    glass.add_argument(
        "--environment",
        default="production",
        metavar="NAME",
        help="environment of the release (default: production)",
    )


def _loss_arguments(loss: argparse.ArgumentParser) -> None:
    loss.add_argument("--key", required=True, metavar="KEY", help=KEY)
    loss.add_argument(
        "--reason", required=True, metavar="TEXT", help="the reason, shown in every later report"
    )


def _attest_arguments(attest: argparse.ArgumentParser) -> None:
    release_options(attest)
    attest.add_argument("--key", required=True, metavar="KEY", help=KEY)


ARGUMENTS = {
    "decisions": _decisions_arguments,
    "break-glass": _break_glass_arguments,
    "loss": _loss_arguments,
    "attest": _attest_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    if arguments.command == "break-glass":
        return _break_glass(arguments)
    if arguments.command == "loss":
        return _loss(arguments)
    if arguments.command == "witness":
        return _witness(arguments)
    if arguments.command == "attest":
        return _attest(arguments)
    return {"list": _list, "export": _export, "take": _take}[arguments.act](arguments)


def _list(arguments: argparse.Namespace) -> int:
    found = desk_of(arguments).decisions.signed()
    if arguments.json:
        out_json([{name: getattr(one, name) for name in one.__struct_fields__} for one in found])
        return ExitCode.DONE
    table(
        [
            (
                "-" if one.number is None else str(one.number),
                one.word,
                f"{one.suite_id}/{one.candidate_id}",
                one.environment,
                one.standing,
                ", ".join(one.signers) or "-",
                one.expires,
                one.text,
            )
            for one in found
        ],
        ("number", "decision", "release", "environment", "standing", "signed by", "until", "why"),
    )
    return ExitCode.DONE


def _export(arguments: argparse.Namespace) -> int:
    key = arguments.key
    passphrase = passphrase_for(key) if key else None
    files = desk_of(arguments).decisions.export(arguments.decision, arguments.out, key, passphrase)
    for path, digest in files:
        out(f"{digest}  {path}")
    return ExitCode.DONE


def _take(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    for file in arguments.files:
        _said(desk.decisions.take(file), "kept")
    return ExitCode.DONE


def _break_glass(arguments: argparse.Namespace) -> int:
    """Record a release without its decision; never return 0, because it is not a promotion."""
    desk = desk_of(arguments)
    suite, candidate = release_of(arguments, desk)
    made = desk.decisions.break_glass(
        suite,
        candidate,
        arguments.key,
        arguments.reason,
        arguments.hours,
        arguments.environment,
        passphrase_for(arguments.key),
    )
    _said(made, "signed")
    out(made.path)
    return ExitCode.NOT_PROMOTED


def _loss(arguments: argparse.Namespace) -> int:
    stated = desk_of(arguments).decisions.state_loss(
        arguments.key, arguments.reason, passphrase_for(arguments.key)
    )
    note(
        f"signed by {stated.principal}: the journal continues from entry {stated.kept_seq}, "
        f"although entry {stated.lost_seq} was known; every later report shows this"
    )
    for name in stated.files:
        note(f"  {name} depends on lost entries")
    out(stated.path)
    return ExitCode.DONE


def _witness(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    added = desk.workspace.witness()
    for one in added:
        note(f"journal entry {one.seq}, head {one.head[:16]}: {one.kind}")
    if not added:
        note("everything that was signed here is in it already")
    out(str(desk.place.witness))
    return ExitCode.DONE


def _said(one: DecisionInfo, what: str) -> None:
    number = "" if one.number is None else f" {one.number}"
    who = ", ".join(one.signers) or "no approver"
    note(
        f"{what} {one.word}{number}: {one.candidate_id} for {one.environment}, by {who}, "
        f"until {one.expires}; {one.standing}"
    )


def _attest(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    suite, candidate = release_of(arguments, desk)
    made = desk.decisions.attest(suite, candidate, arguments.key, passphrase_for(arguments.key))
    for one in made:
        note(f"{one.result}: {counted(one.attempts, 'attempt')}, signed by {one.principal}")
        out(one.path)
    if not made:
        note("every run and import of it is signed already, with the verdicts it has now")
    return ExitCode.DONE
