"""What `suite` and its acts take."""

from typing import TYPE_CHECKING

from reviewer.cli.arguments.making import act, acts_of, command

if TYPE_CHECKING:
    from reviewer.cli.arguments.making import Acts, Commands


def _suite(commands: "Commands") -> None:
    acts = acts_of(
        command(commands, "suite", "suite", "list, show, check, freeze, diff and make suites")
    )
    for name, text in (
        ("list", "every suite, whether it stands frozen"),
        ("show", "one suite: episodes, policy, digest"),
        ("check", "recompute every digest and check every file"),
        ("freeze", "write the lock; --as NEW_ID keeps an edit as a new version"),
        ("diff", "what changed since the freeze"),
    ):
        one = act(acts, name, text)
        if name != "list":
            one.add_argument("suite", nargs="?" if name == "check" else None, help="suite id")
        if name == "freeze":
            one.add_argument("--as", dest="new_id", metavar="NEW_ID", help="the new version's id")
    digest = act(acts, "start-digest", "the start_state_digest that a record of an episode needs")
    digest.add_argument("suite", help="suite id")
    digest.add_argument("episode", nargs="?", default="", help="one episode: its digest alone")
    _leaks(acts)
    _lineage(acts)
    _makers(acts)


def _leaks(acts: "Acts") -> None:
    text = "look for frozen episodes in training or feedback data; what is found holds a release"
    leaks = act(acts, "leaks", text, "leaks")
    leaks.add_argument(
        "files", nargs="*", metavar="FILE", help="JSON lines, JSON or text, also compressed"
    )
    leaks.add_argument("--suite", default="", help="one suite (default: every frozen one)")
    leaks.add_argument("--candidate", default="", help="who learned from it (default: every one)")
    leaks.add_argument(
        "--threshold", type=float, default=0.7, metavar="J",
        help="how near is near: a Jaccard index of runs of three words, above 0 to 1 (0.7)",
    )  # fmt: skip
    leaks.add_argument("--dry-run", action="store_true", help="keep nothing of it")
    leaks.add_argument("--list", action="store_true", help="what was looked at before")
    leaks.add_argument("--withdraw", default="", metavar="ID", help="take back what a look found")
    leaks.add_argument("--reason", default="", metavar="TEXT", help="why it is taken back")


def _lineage(acts: "Acts") -> None:
    text = "other suites that its candidates met; a reason for each, or no release"
    lineage = act(acts, "lineage", text, "suite_lineage")
    lineage.add_argument("suite", help="suite id")
    lineage.add_argument("other", nargs="?", default="", help="another suite, to say why both")
    lineage.add_argument("--reason", default="", metavar="TEXT", help="why both were used")


def _makers(acts: "Acts") -> None:
    """Acts that make a suite, not frozen yet, of what another tool expects."""
    for name, file, text in (
        ("from-tau2", "TASKS", "make a suite of tau2-bench tasks: what they expect, as contracts"),
        ("from-golden", "DATASET", "make a suite of golden records, JSON or JSON lines"),
    ):
        made = act(acts, name, text, "suite_making")
        made.add_argument("file", metavar=file, help="a file, or one packed with gzip or Zstandard")
        made.add_argument("--as", dest="new_id", default="", metavar="ID", help="the suite's id")
        if name == "from-golden":
            made.add_argument(
                "--match", choices=("strict", "unordered", "subset", "superset"),
                default="superset", metavar="MODE",
                help="made calls against the expected ones, where a record does not say: superset "
                "(default: each of them, in any order), unordered, subset, strict",
            )  # fmt: skip
            continue
        made.add_argument(
            "--domain", default="", metavar="D",
            help="airline, retail, telecom, banking_knowledge, mock: which tools write "
            "(default: as the tasks say)",
        )  # fmt: skip
        made.add_argument("--policy", metavar="FILE", help="the agent's policy, kept in the suite")
        made.add_argument(
            "--require", choices=("all", "writes"), default="all", metavar="WHICH",
            help="all expected tools (default); writes: where reward_basis has no ACTION, those "
            "that write",
        )  # fmt: skip


COMMANDS = {"suite": _suite}
