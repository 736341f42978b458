"""`reviewer verify`: a decision, or a folder of them, checked against files alone."""

import argparse
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reviewer.cli.parser import from_one
from reviewer.cli.say import note, out, out_json
from reviewer.desk.errors import DeskError, ways_out
from reviewer.exit_codes import ExitCode

if TYPE_CHECKING:
    from reviewer.suite.release import Release

WAYS_OUT: dict[int, str] = {
    ExitCode.INVALID: "name the manifest, signers and suite that the decision is about; what was "
    "changed since is signed again",
    ExitCode.POLICY_NOT_MET: "verify what the decision was made for, or have approvers sign one "
    "for what is asked: reviewer sign",
}
"""Exit code → what to do about a decision that is not verified."""
ADD = "reviewer sign --add NUMBER --key KEY adds an approval"
MOST_BYTES = 64 << 20
"""Limit for one file; its content is bounded where it is read."""


def _verify_arguments(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "decision", metavar="DECISION",
        help="a .dsse.json file, or a folder of them: then the newest for the candidate counts",
    )  # fmt: skip
    check.add_argument(
        "--candidate-manifest", required=True, metavar="FILE", help="the candidate it must be about"
    )
    check.add_argument("--signers", required=True, metavar="FILE", help="the signers who may sign")
    check.add_argument(
        "--threshold", type=from_one, metavar="N", help="number of approvers required at least"
    )
    check.add_argument(
        "--environment", metavar="NAME", help="the environment it must be for (default: production)"
    )
    check.add_argument(
        "--suite-folder", metavar="DIR",
        help="the frozen suite it must be about, under its policy, with the approvals that the "
        "policy requires (with --release the folder of the suites)",
    )  # fmt: skip
    check.add_argument(
        "--release", metavar="FILE", help="the release.json whose suites it must cover"
    )
    check.add_argument(
        "--candidate-folder", metavar="DIR",
        help="the suite's folder, or its candidates/ (with --release also the folder of the "
        "suites): the code there must be the code that ran",
    )  # fmt: skip
    check.add_argument(
        "--suite-digest", metavar="SHA256", help="the digest of the suite it must be about"
    )
    check.add_argument(
        "--policy-digest", metavar="SHA256", help="the digest of the policy it must be under"
    )
    check.add_argument("--report", metavar="FILE", help="the report.json it must be about")
    check.add_argument(
        "--attestations", metavar="DIR", help="the runners' test results it refers to"
    )
    check.add_argument("--labels", metavar="DIR", help="the label files that it names")
    check.add_argument(
        "--witness",
        metavar="FILE",
        help="the witness that must name it (with a folder of decisions)",
    )
    check.add_argument(
        "--signers-digest", metavar="SHA256", help="the digest that the signers file must have"
    )
    check.add_argument(
        "--min-seq", type=from_one, metavar="N", help="the lowest sequence number to accept"
    )
    check.add_argument(
        "--at",
        metavar="TIME",
        help="the time to verify at, such as 2026-01-31T09:30:00Z (default: now)",
    )


ARGUMENTS = {
    "verify": _verify_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    from reviewer.signing.folder import verify_folder
    from reviewer.signing.verify import verify, within_environment

    pins = _pins(arguments)
    place = Path(arguments.decision)
    if arguments.witness and not place.is_dir():
        raise DeskError(
            "--witness needs the folder of decisions: it names all of them",
            "name the folder (store/decisions), or leave out --witness",
            exit_code=ExitCode.USAGE,
        )
    manifest = _read(Path(arguments.candidate_manifest))
    signers = _read(Path(arguments.signers)).decode("utf-8", "surrogateescape")
    now = _moment(arguments.at)
    if place.is_dir():
        result = verify_folder(_envelopes(place), manifest, signers, now=now, **pins)
    else:
        result = verify(_read(place), manifest, signers, now=now, **pins)
    result = within_environment(result, arguments.environment)
    if arguments.json:
        out_json(
            {
                "decision": result.decision,
                "exit_code": result.exit_code,
                "approvers": list(result.approvers),
                "lines": list(result.lines),
            }
        )
    else:
        for line in result.lines:
            out(line)
        for principal in result.approvers:
            out(f"approved by {principal}")
        out(result.decision or "NOT VERIFIED")
        if result.decision is None:
            few = any(re.match(r"policy not met: \d+ of \d+ approvals", x) for x in result.lines)
            way = ADD if few else WAYS_OUT.get(result.exit_code, WAYS_OUT[ExitCode.INVALID])
            note(f"  way out: {way}")
    return result.exit_code


def _pins(arguments: argparse.Namespace) -> dict[str, Any]:
    pins = {
        "threshold": arguments.threshold,
        "environment": arguments.environment,
        "suite_digest": arguments.suite_digest,
        "policy_digest": arguments.policy_digest,
        "signers_digest": arguments.signers_digest,
        "min_seq": arguments.min_seq,
        "witness": _read(Path(arguments.witness)) if arguments.witness else None,
        "report": _read(Path(arguments.report)) if arguments.report else None,
        "attestations": _envelopes(Path(arguments.attestations))
        if arguments.attestations
        else None,
        "labels": _label_files(Path(arguments.labels)) if arguments.labels else None,
    }
    if arguments.release:
        from reviewer.desk.reports.release import plan_in

        plan = plan_in(Path(arguments.release))
        pins["release_digest"] = plan.digest
    if arguments.candidate_folder:
        pins |= _code_pins(arguments, plan if arguments.release else None)
    if arguments.release and arguments.suite_folder:
        return pins | _release_pins(plan, Path(arguments.suite_folder), arguments)
    if arguments.release:
        note(
            "note: the release names its suites by their ids, and nothing pins what is in them: "
            "--suite-folder suites does"
        )
    if arguments.suite_folder:
        from reviewer.desk.suites import suite_pins

        suite = suite_pins(Path(arguments.suite_folder))
        for name, pinned in (
            ("suite_digest", suite.suite_digest),
            ("policy_digest", suite.policy_digest),
        ):
            if pins[name] not in (None, pinned):
                raise DeskError(
                    f"--{name.replace('_', '-')} is not that of {arguments.suite_folder}",
                    "leave it out, or name the folder of the suite that it is of",
                    exit_code=ExitCode.USAGE,
                )
            pins[name] = pinned
        pins["max_days"], pins["rates"] = suite.max_days, suite.rates
        pins["threshold"] = max(suite.threshold, arguments.threshold or 1)
    return pins


def _release_pins(plan: "Release", folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the suites in a folder require of a decision on all of them: the strictest policy
    determines how many approve, and how long the decision may last."""
    from reviewer.desk.suites import suite_pins
    from reviewer.signing.release import PinnedSuite

    if (folder / "suite.json").is_file():
        raise DeskError(
            f"--suite-folder {folder} is one suite, and a release has several",
            f"name the folder that holds them: --suite-folder {folder.parent}",
            exit_code=ExitCode.USAGE,
        )
    suites = {one.suite_id: suite_pins(folder / one.suite_id) for one in plan.suites}
    lasts = [one.max_days for one in suites.values() if one.max_days is not None]
    return {
        "release_suites": {
            name: PinnedSuite(one.suite_digest, one.policy_digest, one.rates)
            for name, one in suites.items()
        },
        "max_days": min(lasts, default=None),
        "threshold": max(arguments.threshold or 1, *(one.threshold for one in suites.values())),
    }


def _code_pins(arguments: argparse.Namespace, plan: "Release | None") -> dict[str, Any]:
    """Return the digests of the code in --candidate-folder: of one candidate, or of each gate."""
    from reviewer.desk.code import code_of_manifest, release_codes

    folder = Path(arguments.candidate_folder)
    codes = None if plan is None else release_codes(plan, folder)
    if plan is not None and codes is not None:
        folder /= plan.first.suite_id
    manifest = _read(Path(arguments.candidate_manifest))
    return {"code": code_of_manifest(manifest, folder), "suite_codes": codes}


def _moment(text: str | None) -> datetime:
    from reviewer.signing.predicate import parse_time

    if text is None:
        return datetime.now(UTC)
    try:
        return parse_time(text)
    except ValueError as error:
        raise DeskError(
            f"--at {text}: {error}",
            "name a time in UTC, such as --at 2026-01-31T09:30:00Z",
            exit_code=ExitCode.USAGE,
        ) from error


def _envelopes(folder: Path) -> dict[str, bytes]:
    try:
        return {path.name: _read(path) for path in sorted(folder.iterdir()) if _is_envelope(path)}
    except OSError as error:
        raise DeskError(f"{folder}: cannot be read ({error.strerror})", *ways_out(error)) from error


def _label_files(folder: Path) -> dict[str, tuple[bytes, bytes | None]]:
    """Return the files of labels in a folder, each with the signature beside it; empty without the
    folder: a decision that names a file then fails."""
    found: dict[str, tuple[bytes, bytes | None]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        signature = path.with_name(f"{path.name}.sig")
        found[path.name] = _read(path), _read(signature) if signature.is_file() else None
    return found


def _is_envelope(path: Path) -> bool:
    return path.name.endswith(".dsse.json") and path.name[0] != "." and path.is_file()


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            return handle.read(MOST_BYTES)
    except OSError as error:
        raise DeskError(f"{path}: cannot be read ({error.strerror})", *ways_out(error)) from error
