"""`reviewer suite power`: how often the policy of a suite is wrong."""

import argparse
from typing import TYPE_CHECKING

from reviewer.cli.opening import desk_of
from reviewer.cli.parser import act
from reviewer.cli.progress import Progress
from reviewer.cli.say import out, out_json, table
from reviewer.exit_codes import ExitCode

if TYPE_CHECKING:
    from reviewer.cli.parser import Acts


def power_arguments(acts: "Acts") -> None:
    text = (
        "estimate how often the policy is wrong: identical agents stopped, worse ones let through"
    )
    power = act(acts, "power", text)
    power.add_argument("suite", help="suite id")
    power.add_argument(
        "--rate", type=float, metavar="R", help="true pass rate of the agent (default 0.99)"
    )
    power.add_argument(
        "--icc", type=float, metavar="X",
        help="how alike attempts of one episode are, above 0 and below 1 (default 0.3)",
    )  # fmt: skip
    power.add_argument(
        "--critical", type=float, default=0.0, metavar="Q",
        help="share of attempts that fail critically (default 0)",
    )  # fmt: skip


_GLYPHS = {"fail": "✗", "advisory": "~", "pass": "✓"}


def run(arguments: argparse.Namespace) -> int:
    bar = Progress(arguments.quiet, arguments.suite, "power", soon=False)
    found = desk_of(arguments).power.of(
        arguments.suite,
        arguments.rate,
        arguments.icc,
        arguments.critical,
        lambda done, of: bar.show(done, of, "chances"),
    )
    bar.stop()
    if arguments.json:
        import msgspec

        told = msgspec.to_builtins(found.power)
        out_json({"suite_id": found.suite_id, "locked": found.locked, **told})
        return ExitCode.DONE
    source = "as it was frozen" if found.locked else "not locked: a freeze writes power.json"
    out(f"suite {found.suite_id}  {source}")
    out(f"{_GLYPHS[found.mark]} {found.headline}")
    for line in found.limits:
        out(f"  {line}")
    table(list(found.rows), found.head)
    table(list(found.sizes), found.size_head)
    for line in found.plot(72):
        out(line)
    for line in found.assumptions:
        out(line)
    return ExitCode.DONE
