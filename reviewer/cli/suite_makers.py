"""`reviewer suite from-…`: a suite, not frozen yet, from the expectations of another tool."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reviewer.cli.opening import workspace_of
from reviewer.cli.parser import act
from reviewer.cli.say import fact, note, out_json
from reviewer.exit_codes import ExitCode

if TYPE_CHECKING:
    from reviewer.cli.parser import Acts
    from reviewer.desk.workspace.suite_records import MadeSuite

MAKERS = {
    "from-tau2": ("TASKS", "make a suite from tau2-bench tasks, their expectations as contracts"),
    "from-golden": ("DATASET", "make a suite from golden records in JSON or JSON lines"),
    "from-evalset": (
        "EVALSET", "make a suite from an eval set of Google's ADK, or an older *.test.json"
    ),
    "from-bfcl": ("QUESTIONS", "make a suite from a category of BFCL, with the calls it expects"),
    "from-openai-evals": (
        "ROWS", "make a suite from an OpenAI eval: a dataset, a run or its output items"
    ),
    "from-agentdojo": (
        "RUNS", "make a suite from the tasks and injections of AgentDojo runs (needs its package)"
    ),
}  # fmt: skip
"""Act → the name of its file, and what it does."""

_MODES = ("strict", "unordered", "subset", "superset")


def maker_arguments(acts: "Acts") -> None:
    """Add the acts that make a suite, not frozen yet, from the expectations of another tool."""
    for name, (file, text) in MAKERS.items():
        made = act(acts, name, text)
        packed = "a file, plain or compressed with gzip or Zstandard"
        folder = "a run file, or a folder of them"
        made.add_argument("file", metavar=file, help=folder if file == "RUNS" else packed)
        made.add_argument("--as", dest="new_id", default="", metavar="ID", help="the suite's id")
        _OPTIONS[name](made)


def _tau2(made: argparse.ArgumentParser) -> None:
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
    made.add_argument(
        "--recorded", metavar="FILE", action="append", default=[],
        help="a results file of the domain, whose simulations answer the tools, so that the suite "
        "can be run; may be given again",
    )  # fmt: skip
    made.add_argument(
        "--checkout", metavar="DIR",
        help="a checkout of tau2-bench, whose tools and database the suite takes over, so that it "
        "can be run: airline, retail, mock",
    )  # fmt: skip
    made.add_argument(
        "--user-model", metavar="M",
        help="a model that plays the users: each task becomes a conversation",
    )  # fmt: skip
    made.add_argument(
        "--user-base-url", metavar="URL", default="https://api.openai.com/v1",
        help="its OpenAI-compatible endpoint (default: OpenAI's)",
    )  # fmt: skip
    made.add_argument(
        "--user-api-key-env", metavar="NAME", default=None,
        help="the environment variable that holds its key",
    )  # fmt: skip


def _golden(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--match", choices=_MODES, default="superset", metavar="MODE",
        help="how calls are compared with the expected ones, where a record does not say: superset "
        "(default: each of them, in any order), unordered, subset, strict",
    )  # fmt: skip


def _evalset(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--match", choices=_MODES, default=None, metavar="MODE",
        help="how calls are compared with expected ones: strict, superset (each of them, in "
        "any order), unordered, subset (default: as the configuration says, else strict)",
    )  # fmt: skip
    made.add_argument(
        "--config", metavar="FILE",
        help="how the eval set is graded (default: test_config.json beside it)",
    )  # fmt: skip


def _bfcl(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--answers", metavar="FILE",
        help="the expected calls (default: possible_answer/ with the same name, beside it)",
    )  # fmt: skip
    made.add_argument(
        "--texts", choices=("exact", "free"), default="exact", metavar="HOW",
        help="texts among arguments: exact (default: equal as written), or free: not compared",
    )  # fmt: skip


def _openai_evals(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--eval", dest="evaluation", metavar="FILE",
        help="the eval with its testing_criteria (GET /v1/evals/EVAL_ID), where rows do not say "
        "how they are graded",
    )  # fmt: skip
    made.add_argument(
        "--answer", default="", metavar="MEMBER",
        help="the member of a row that holds a recorded answer: graders of it are read as graders "
        "of the final message",
    )  # fmt: skip


def _agentdojo(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--require", choices=("all", "writes"), default="all", metavar="WHICH",
        help="all tools of a task's ground truth (default); writes: those that change something",
    )  # fmt: skip


_OPTIONS = {
    "from-tau2": _tau2,
    "from-golden": _golden,
    "from-evalset": _evalset,
    "from-bfcl": _bfcl,
    "from-openai-evals": _openai_evals,
    "from-agentdojo": _agentdojo,
}


def run(arguments: argparse.Namespace) -> int:
    """Make a suite; return 20 when records were left out, though the others are in the suite."""
    made = _made(arguments)
    if arguments.json:
        out_json(
            {
                "suite_id": made.suite_id,
                "folder": str(made.folder),
                "episodes": made.episodes,
                "left_out": [one._asdict() for one in made.left_out],
                "notes": [{"note": text, "episodes": times} for text, times in made.notes],
            }
        )
    else:
        _say_made(made)
    return ExitCode.INVALID if made.left_out else ExitCode.DONE


def _made(arguments: argparse.Namespace) -> "MadeSuite":
    # Imported here: they load every reader, a third of the time that `suite check` takes to start.
    from reviewer.desk.workspace import suite_making, tau2_making

    place, file, name = workspace_of(arguments), Path(arguments.file), arguments.new_id
    if arguments.act == "from-tau2":
        policy = _path(arguments.policy)
        behind = tau2_making.Behind(
            [Path(one) for one in arguments.recorded], _path(arguments.checkout)
        )
        return tau2_making.from_tau2(
            place, file, name, arguments.domain, policy, arguments.require, _user(arguments), behind
        )
    if arguments.act == "from-golden":
        return suite_making.from_golden(place, file, name, arguments.match)
    if arguments.act == "from-evalset":
        return suite_making.from_evalset(
            place, file, name, arguments.match, _path(arguments.config)
        )
    if arguments.act == "from-bfcl":
        return suite_making.from_bfcl(place, file, name, _path(arguments.answers), arguments.texts)
    if arguments.act == "from-openai-evals":
        return suite_making.from_openai_evals(
            place, file, name, _path(arguments.evaluation), arguments.answer
        )
    return suite_making.from_agentdojo(place, file, name, arguments.require)


def _user(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Return the model that plays users, as an episode names it; None without one."""
    if not arguments.user_model:
        return None
    runner = {
        "kind": "openai-chat",
        "base_url": arguments.user_base_url,
        "model": arguments.user_model,
        "api_key_env": arguments.user_api_key_env,
    }
    return {name: value for name, value in runner.items() if value is not None}


def _path(given: str | None) -> Path | None:
    return Path(given) if given else None


def _say_made(made: "MadeSuite") -> None:
    fact(f"{made.suite_id}: {made.episodes} episode{'s' * (made.episodes != 1)} in {made.folder}")
    for one in made.left_out:
        fact(f"left out: {one.record}: {one.reason}")
    for text, times in made.notes:
        note(f"note: {text} ({times} episode{'s' if times != 1 else ''})")
    note(f"not frozen: read the contracts, then reviewer suite freeze {made.suite_id}")
