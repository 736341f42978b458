"""`reviewer judge`: what asking the suite's judge would cost, asking it, and its role."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from reviewer.cli.opening import desk_of, release_of
from reviewer.cli.parser import amount, from_one
from reviewer.cli.progress import Progress, span
from reviewer.cli.run import STEP, Interrupts
from reviewer.cli.say import measured, note, out, out_json
from reviewer.desk.errors import DeskError
from reviewer.desk.judge.api import JudgeOrder, JudgePlan, JudgeRunView, JudgeView
from reviewer.desk.labels.api import LabelKind
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import spent

if TYPE_CHECKING:
    from reviewer.desk.judge.jobs import JudgeHandle

USD = "${:.4f}"


def _judge_arguments(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("suite", help="suite id")
    ask.add_argument("--candidate", metavar="C", help="candidate id")
    ask.add_argument(
        "--baseline",
        metavar="B",
        help="candidate to pair with (default: the one that compare uses)",
    )
    ask.add_argument("--pairs", action="store_true", help="ask about pairs, each in both orders")
    ask.add_argument(
        "--messages", action="store_true", help="ask about single messages (default: both)"
    )
    ask.add_argument("--base-url", default="", metavar="URL", help="an OpenAI-compatible endpoint")
    ask.add_argument(
        "--model", default="", metavar="M", help="the model, when judge.json names none"
    )
    ask.add_argument(
        "--api-key-env", default="", metavar="NAME", help="environment variable that holds the key"
    )
    ask.add_argument(
        "--repeats", type=from_one, default=1, metavar="N", help="times to ask each question (1)"
    )
    ask.add_argument("--jobs", type=from_one, default=4, metavar="N", help="calls at a time (4)")
    ask.add_argument(
        "--timeout",
        type=amount,
        default=120.0,
        metavar="S",
        help="seconds to wait for each call (120)",
    )
    ask.add_argument(
        "--dry-run", action="store_true", help="show what it would cost, and send nothing"
    )
    for side in ("input", "output"):
        ask.add_argument(
            f"--{side}-price", type=amount, metavar="USD", help=f"per million {side} tokens"
        )


ARGUMENTS = {
    "judge": _judge_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    try:
        suite_id, candidate_id = release_of(arguments, desk)
        order = _order(arguments, suite_id, candidate_id)
        if arguments.dry_run:
            return _planned(desk.judge.plan(order), arguments.json)
        handle = desk.judge.start(order)
        _follow(handle, arguments.quiet)
        found = desk.judge.view(suite_id, candidate_id, arguments.baseline)
        return _told(handle.view(), found, arguments.json)
    finally:
        desk.close()


def _order(arguments: argparse.Namespace, suite_id: str, candidate_id: str) -> JudgeOrder:
    kinds: list[LabelKind] = []
    if arguments.pairs:
        kinds.append("pair")
    if arguments.messages:
        kinds.append("message")
    return JudgeOrder(
        suite_id=suite_id,
        candidate_id=candidate_id,
        baseline_id=arguments.baseline,
        kinds=tuple(kinds),
        base_url=arguments.base_url,
        model=arguments.model,
        api_key_env=arguments.api_key_env,
        repeats=arguments.repeats,
        jobs=arguments.jobs,
        timeout_s=arguments.timeout,
        input_price=arguments.input_price,
        output_price=arguments.output_price,
    )


def _planned(plan: JudgePlan, as_json: bool) -> int:
    if as_json:
        out_json(to_builtins(plan))
    else:
        out(f"calls to make: {plan.calls}; answered already: {plan.cached}")
        out(f"input tokens: about {plan.input_tokens:,} (four bytes each)")
        cost = "unknown: give --input-price and --output-price"
        if plan.cost_usd is not None:
            cost = f"at most {USD.format(plan.cost_usd)}, every reply as long as it may be"
        out(f"cost: {cost}")
        out(f"model: {plan.model or 'none named'}; endpoint: {plan.base_url or 'none named'}")
    if plan.problem:
        note(f"it cannot begin yet: {plan.problem}")
    return ExitCode.DONE


def _follow(handle: "JudgeHandle", quiet: bool) -> None:
    """Show a judge at work on stderr until it has ended."""
    view = handle.view()
    progress = Progress(quiet, view.judge_id, "judge", soon=False)
    with Interrupts(handle).caught():
        while not handle.ended:
            view = handle.wait(STEP)
            progress.show(view.done, view.calls, _words(view))
    view = handle.view()
    progress.end(view.done, view.calls, _words(view))


def _words(view: JudgeRunView) -> str:
    """Return what the run has cost so far, how many answers were not usable, and the time left."""
    parts: list[str] = ["stopping"] if view.state == "stopping" else []
    if view.eta_seconds is not None and view.state == "running":
        parts.append(f"about {span(view.eta_seconds)} left")
    if view.known_usd is not None:
        parts.append(f"{'at least ' if view.unpriced else ''}${view.known_usd:.4f}")
    if view.errors:
        parts.append(f"{view.errors} not usable")
    return ", ".join(parts)


def _told(view: JudgeRunView, found: JudgeView, as_json: bool) -> int:
    if as_json:
        out_json({"run": to_builtins(view), "judge": _plain(found)})
    else:
        for line in (*_summary(view), *_earned(found)):
            out(line)
    if view.problem:
        raise DeskError(view.problem, "the same command asks what is left")
    if view.state == "stopped":
        note(f"{view.calls - view.done} of {view.calls} calls were not made: the same command does")
        return ExitCode.INTERRUPTED
    if view.unanswered:
        note(f"{view.unanswered} calls brought no answer: run the same command to ask again")
    return ExitCode.DONE


def _summary(view: JudgeRunView) -> Iterator[str]:
    known = f"; {view.cached} were answered before" if view.cached else ""
    yield f"{view.done} of {view.calls} calls made by {view.judge_id}{known}"
    if view.done:
        tokens = f"{measured(view.input_tokens, '{:,}')} in, {measured(view.output_tokens, '{:,}')}"
        yield f"{view.errors} brought nothing usable; tokens {tokens} out"
        yield f"cost {spent(view.cost_usd, view.known_usd, view.unpriced)}"


def _earned(found: JudgeView) -> Iterator[str]:
    yield f"{found.judge_id} by {found.model}: {found.role} ({found.banner})"
    for estimate in found.estimates:
        if estimate.value is not None:
            side, bound = (">=", estimate.low) if estimate.high is None else ("<=", estimate.high)
            yield (
                f"{estimate.name} {estimate.hits}/{estimate.n} {estimate.value:.3f}, "
                f"bound {side} {measured(bound, '{:.3f}')}"
            )
    if found.labeled_pairs:
        yield f"flips: {found.slots}; repeats: {found.repeats}; {found.errors}"
    if found.hidden:
        yield f"{found.hidden} judged pairs wait for a label"
    yield from found.messages
    if found.needs:
        yield f"to score it needs {found.needs}"


def _plain(found: JudgeView) -> dict[str, Any]:
    plain: dict[str, Any] = to_builtins(found)
    return plain
