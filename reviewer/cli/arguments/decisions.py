"""What `sign`, `verify`, `decisions` and what is signed beside decisions take."""

from typing import TYPE_CHECKING

from reviewer.cli.arguments.making import act, acts_of, command, from_one, release_options

if TYPE_CHECKING:
    from reviewer.cli.arguments.making import Commands

KEY = "key file, .pub or SHA256:… in ssh-agent"


def _sign(commands: "Commands") -> None:
    text = "sign a release decision, or add a signature to one"
    sign = command(commands, "sign", "decision", text)
    release_options(sign)
    sign.add_argument("--baseline", metavar="B", help="candidate to compare with")
    sign.add_argument(
        "--decision", choices=("PROMOTE", "BLOCK", "REPAIR"), metavar="D",
        help="PROMOTE, BLOCK or REPAIR (default: what the report recommends)",
    )  # fmt: skip
    sign.add_argument(
        "--add", metavar="DECISION",
        help="put one more signature under this decision (its number, or a file), when this store "
        "derives the same",
    )  # fmt: skip
    sign.add_argument("--key", metavar="KEY", help=KEY)
    sign.add_argument(
        "--signature", metavar="FILE",
        help="with --add, instead of a key: what ssh-keygen -Y sign made of payload.pae",
    )  # fmt: skip
    sign.add_argument(
        "--comment", default="", metavar="TEXT", help="why; needed against the recommendation"
    )
    sign.add_argument(
        "--environment", default="production", metavar="NAME", help="default: production"
    )


def _verify(commands: "Commands") -> None:
    text = "verify a decision, offline, without a store"
    check = command(commands, "verify", "verify", text)
    check.add_argument(
        "decision", metavar="DECISION",
        help="a .dsse.json file, or a folder of them: then the newest about the candidate holds",
    )  # fmt: skip
    check.add_argument(
        "--candidate-manifest", required=True, metavar="FILE", help="the candidate it must be about"
    )
    check.add_argument("--signers", required=True, metavar="FILE", help="who may sign")
    check.add_argument("--threshold", type=from_one, metavar="N", help="approvers wanted at least")
    check.add_argument("--environment", metavar="NAME", help="it must be for this one")
    check.add_argument(
        "--suite-folder", metavar="DIR",
        help="it must be on this frozen suite, under its policy, by as many as that wants",
    )  # fmt: skip
    check.add_argument("--suite-digest", metavar="SHA256", help="it must be on this suite")
    check.add_argument("--policy-digest", metavar="SHA256", help="it must be under this policy")
    check.add_argument("--report", metavar="FILE", help="report.json it must be about")
    check.add_argument(
        "--attestations", metavar="DIR", help="the runners' test results it refers to"
    )
    check.add_argument(
        "--witness", metavar="FILE", help="heads it must be among (with a folder of decisions)"
    )
    check.add_argument("--signers-digest", metavar="SHA256", help="the signers file must be this")
    check.add_argument("--min-seq", type=from_one, metavar="N", help="refuse an older decision")
    check.add_argument(
        "--at", metavar="TIME", help="as of this time, such as 2026-01-31T09:30:00Z (default: now)"
    )


def _decisions(commands: "Commands") -> None:
    text = "what was signed: list, export, take in"
    acts = acts_of(command(commands, "decisions", "decisions", text))
    act(acts, "list", "decisions with their signatures, and break-glass records")
    text = "write a decision for openssl, ssh-keygen, cosign and sigstore"
    export = act(acts, "export", text)
    export.add_argument("decision", metavar="DECISION", help="its number, or a file")
    export.add_argument("out", metavar="OUT", help="folder to write to")
    export.add_argument("--key", metavar="KEY", help="sign the verification summary too")
    text = "keep decisions and break-glass records that were signed elsewhere"
    take = act(acts, "take", text)
    take.add_argument("files", nargs="+", metavar="FILE", help="a .dsse.json file")


def _break_glass(commands: "Commands") -> None:
    text = "sign that a candidate goes out without its decision, for a day at most"
    glass = command(commands, "break-glass", "decisions", text)
    release_options(glass)
    glass.add_argument("--key", required=True, metavar="KEY", help=KEY)
    glass.add_argument(
        "--reason", required=True, metavar="TEXT", help="shown in every later report"
    )
    glass.add_argument(
        "--hours", type=float, default=4.0, metavar="H", help="how long it holds (4; at most 24)"
    )
    glass.add_argument(
        "--environment", default="production", metavar="NAME", help="default: production"
    )


def _loss(commands: "Commands") -> None:
    text = "sign that the store lost what was signed on, and goes on from where it stands"
    loss = command(commands, "loss", "decisions", text)
    loss.add_argument("--key", required=True, metavar="KEY", help=KEY)
    loss.add_argument("--reason", required=True, metavar="TEXT", help="shown in every later report")


def _witness(commands: "Commands") -> None:
    text = "write the journal's head into store/witness, for version control"
    command(commands, "witness", "decisions", text)


def _attest(commands: "Commands") -> None:
    text = "sign, as a runner, what the runs and imports of a candidate came to"
    attest = command(commands, "attest", "decisions", text)
    release_options(attest)
    attest.add_argument("--key", required=True, metavar="KEY", help=KEY)


def _keys(commands: "Commands") -> None:
    keys = command(commands, "keys", "decision", "keys that can sign here; trust one")
    keys.add_argument(
        "act", nargs="?", choices=("list", "trust"), default="list",
        help="trust adds PRINCIPAL and FILE to store/signers",
    )  # fmt: skip
    keys.add_argument("principal", nargs="?", help="whose key it is")
    keys.add_argument("file", nargs="?", help="a .pub file")
    keys.add_argument(
        "--roles", default="approver", metavar="LIST",
        help="comma separated, of approver, labeler, runner, breakglass (default: approver)",
    )  # fmt: skip


COMMANDS = {
    "sign": _sign,
    "verify": _verify,
    "decisions": _decisions,
    "break-glass": _break_glass,
    "loss": _loss,
    "witness": _witness,
    "attest": _attest,
    "keys": _keys,
}
