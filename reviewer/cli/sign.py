"""`reviewer sign` and `keys`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.cli.opening import desk_of, release_of, workspace_of
from reviewer.cli.parser import release_options
from reviewer.cli.say import note, out, table
from reviewer.desk.errors import DeskError, ways_out
from reviewer.desk.views import SignedDecision
from reviewer.exit_codes import ExitCode

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk

KEY = "key file, .pub or SHA256:… in ssh-agent"


def _sign_arguments(sign: argparse.ArgumentParser) -> None:
    release_options(sign)
    sign.add_argument("--baseline", metavar="B", help="candidate to compare with")
    sign.add_argument(
        "--release", metavar="FILE", help="a release.json: one decision for all its suites"
    )
    sign.add_argument(
        "--decision", choices=("PROMOTE", "BLOCK", "REPAIR"), metavar="D",
        help="PROMOTE, BLOCK or REPAIR (default: what the report recommends)",
    )  # fmt: skip
    sign.add_argument(
        "--add", metavar="DECISION",
        help="add a signature to this decision (its number, or a file), if this store derives the "
        "same",
    )  # fmt: skip
    sign.add_argument("--key", metavar="KEY", help=KEY)
    sign.add_argument(
        "--signature", metavar="FILE",
        help="with --add, instead of a key: the output of ssh-keygen -Y sign for payload.pae",
    )  # fmt: skip
    sign.add_argument(
        "--comment",
        default="",
        metavar="TEXT",
        help="the reason; required against the recommendation",
    )
    sign.add_argument(
        "--environment",
        default="production",
        metavar="NAME",
        help="environment of the release (default: production)",
    )


def _keys_arguments(keys: argparse.ArgumentParser) -> None:
    keys.add_argument(
        "act", nargs="?", choices=("list", "trust"), default="list",
        help="list, or trust, which adds PRINCIPAL and FILE to store/signers",
    )  # fmt: skip
    keys.add_argument("principal", nargs="?", help="whose key it is")
    keys.add_argument("file", nargs="?", help="a .pub file")
    keys.add_argument(
        "--roles", default="approver", metavar="LIST",
        help="comma-separated roles: approver, labeler, runner, breakglass (default: approver)",
    )  # fmt: skip


ARGUMENTS = {
    "sign": _sign_arguments,
    "keys": _keys_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    return {"sign": _sign, "keys": _keys}[arguments.command](arguments)


def _sign(arguments: argparse.Namespace) -> int:
    if arguments.add:
        return _add(arguments)
    if arguments.signature or not arguments.key:
        raise DeskError(
            "--key is needed: a key file, a .pub, or SHA256:… in ssh-agent",
            "ssh-add -l lists the keys of ssh-agent",
            exit_code=ExitCode.USAGE,
        )
    from reviewer.desk.decisions.choices import signed_before

    desk = desk_of(arguments)
    if arguments.release:
        return _sign_release(desk, arguments)
    suite, candidate = release_of(arguments, desk)
    view = desk.decisions.view(suite, candidate, arguments.baseline)
    decision = arguments.decision or view.preselected
    if decision is None:
        raise DeskError(
            "the report recommends hold, and a hold is not signed",
            "--decision BLOCK or --decision REPAIR can be signed, with --comment",
            "close what holds it: the report names what is missing",
            exit_code=ExitCode.NOT_PROMOTED,
        )
    signed = desk.decisions.sign(
        suite,
        candidate,
        decision,
        arguments.key,
        comment=arguments.comment,
        expect_report=view.report_digest,
        passphrase=passphrase_for(arguments.key),
        baseline=arguments.baseline,
        environment=arguments.environment,
    )
    said(signed)
    before = signed_before(view, decision, [signed.principal], arguments.environment)
    if before is not None:
        note(
            f"{signed.principal} signed {decision} on this very report at {before.created} as "
            f"decision {before.number}; decision {signed.number} supersedes it"
        )
    out(signed.path)
    return exit_code(signed)


def _sign_release(desk: "Desk", arguments: argparse.Namespace) -> int:
    """Sign one decision over the suites of a release.json."""
    refuse_options(arguments)
    signed = desk.decisions.sign_release(
        arguments.release,
        arguments.decision,
        arguments.key,
        comment=arguments.comment,
        passphrase=passphrase_for(arguments.key),
        environment=arguments.environment,
    )
    said(signed)
    out(signed.path)
    return exit_code(signed)


def refuse_options(arguments: argparse.Namespace) -> None:
    """Raise DeskError for options that a release.json answers."""
    if given := [f"--{n}" for n in ("suite", "candidate", "baseline") if getattr(arguments, n)]:
        raise DeskError(
            f"{', '.join(given)}: --release names suites, candidates and baselines",
            "leave out what is named here, or leave out --release",
            exit_code=ExitCode.USAGE,
        )


def _add(arguments: argparse.Namespace) -> int:
    """Add one more signature; the first signer has already stated what is signed."""
    if bool(arguments.key) == bool(arguments.signature):
        raise DeskError(
            "--add takes --key KEY or --signature FILE, one of them",
            "leave out one of them",
            exit_code=ExitCode.USAGE,
        )
    taken = ("decision", "comment", "baseline", "suite", "candidate", "release")
    if given := [f"--{name}" for name in taken if getattr(arguments, name)]:
        raise DeskError(
            f"{', '.join(given)}: the decision already states it; --add only signs it",
            "leave out what is named here",
            exit_code=ExitCode.USAGE,
        )
    signature = _signature_file(arguments.signature) if arguments.signature else None
    signed = desk_of(arguments).decisions.cosign(
        arguments.add,
        arguments.key or "",
        passphrase_for(arguments.key) if arguments.key else None,
        signature,
        note,
    )
    said(signed)
    out(signed.path)
    return exit_code(signed)


def _signature_file(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DeskError(f"{path}: cannot be read ({error.strerror})", *ways_out(error)) from error


def exit_code(signed: SignedDecision) -> int:
    """Return 30 for a signature that is kept but does not suffice: more people must sign."""
    if signed.pending:
        note("kept; it decides nothing until another approver signs:")
        note(f"  reviewer sign --add {signed.number} --key KEY")
        return ExitCode.POLICY_NOT_MET
    if not signed.verified:
        note("signed and kept, but the signature policy is not met")
        return ExitCode.POLICY_NOT_MET
    return ExitCode.DONE if signed.decision == "PROMOTE" else ExitCode.NOT_PROMOTED


def said(signed: SignedDecision) -> None:
    """Say what was signed, and the result of verifying it."""
    note(f"signed {signed.decision} as decision {signed.number}: {signed.principal} {signed.keyid}")
    for line in signed.lines:
        note(f"  {line}")


def passphrase_for(key: str) -> str | None:
    """Ask for a passphrase when the key is an encrypted file and someone is there to answer."""
    import os

    from reviewer.signing.errors import AttestError, PassphraseNeeded
    from reviewer.signing.keys import load_signer

    if os.environ.get("REVIEWER_PASSPHRASE"):
        return None
    try:
        load_signer(key, ask_passphrase=lambda path: None)
    except PassphraseNeeded:
        if not sys.stdin.isatty():
            return None
        import getpass

        return getpass.getpass(f"passphrase for {key}: ")
    except AttestError:
        return None  # signing itself says what is wrong with the key
    return None


def _keys(arguments: argparse.Namespace) -> int:
    if arguments.act == "trust":
        return _trust(arguments)
    keys = desk_of(arguments).decisions.keys()
    if not keys:
        note("no Ed25519 key in ssh-agent or ~/.ssh: ssh-keygen -t ed25519 makes one")
    table(
        [
            (
                key.fingerprint,
                key.where,
                key.principal or "not trusted",
                ",".join(key.roles),
                key.comment,
            )
            for key in keys
        ],
        ("fingerprint", "where", "principal", "roles", "comment"),
    )
    return ExitCode.DONE


def _trust(arguments: argparse.Namespace) -> int:
    from reviewer.desk.integrity.trust import trust

    if not arguments.principal or not arguments.file:
        raise DeskError(
            "keys trust needs a principal and a public key",
            "reviewer keys trust PRINCIPAL KEY.pub",
            exit_code=ExitCode.USAGE,
        )
    line = trust(
        workspace_of(arguments), arguments.principal, arguments.roles, Path(arguments.file)
    )
    note(f"added: {line}")
    return ExitCode.DONE
