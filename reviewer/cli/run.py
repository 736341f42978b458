"""`reviewer run`: make attempts of a candidate, and say what came of them."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from reviewer.cli.opening import desk_on
from reviewer.cli.parser import from_one, from_zero
from reviewer.cli.progress import Progress, span
from reviewer.cli.say import counted, note, out, out_json
from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError, ways_out
from reviewer.desk.imports.indexing import index_behind
from reviewer.desk.runs.api import ApprovalView, RunOrder, RunView, shard_of
from reviewer.exit_codes import ExitCode

if TYPE_CHECKING:
    from reviewer.desk.runs.jobs import RunHandle
    from reviewer.report.model import Report

STEP = 0.1


def _run_arguments(make: argparse.ArgumentParser) -> None:
    make.add_argument("suite", help="suite id")
    make.add_argument("candidate", help="candidate id, of a manifest in the suite folder")
    make.add_argument(
        "--attempts", type=from_one, metavar="N",
        help="attempts per episode, numbered after existing ones (default: as the policy plans)",
    )  # fmt: skip
    make.add_argument(
        "--resume", action="store_true",
        help="make only those of attempts 1 to N that have no trace, and one more for each lost to "
        "infrastructure",
    )  # fmt: skip
    make.add_argument(
        "--episode", action="append", default=[], metavar="E",
        help="run only this episode; may be repeated (default: every episode)",
    )  # fmt: skip
    make.add_argument(
        "--shard", metavar="I/N",
        help="make only part I of N of the plan, in its own workspace (merge joins the "
        "parts); with --resume a job can be restarted",
    )  # fmt: skip
    make.add_argument(
        "--jobs", type=from_one, metavar="N",
        help="attempts at a time (4; with --executor 16 per worker)",
    )  # fmt: skip
    make.add_argument(
        "--workers", type=from_zero, default=0, metavar="N",
        help="processes to spread attempts over (default 0: this one)",
    )  # fmt: skip
    make.add_argument(
        "--executor", default="", metavar="ENGINE",
        help="run attempts on the workers of an engine: dask:ADDRESS, ray:ADDRESS, or dask and ray "
        "on this machine",
    )  # fmt: skip
    make.add_argument(
        "--seed", type=from_zero, default=0, metavar="N", help="seed of everything random (0)"
    )
    make.add_argument(
        "--approve", choices=("deny", "allow", "ask"), default="deny", metavar="RULE",
        help="answer to calls that need approval and have no rule in the episode: deny (default), "
        "allow, ask (on the terminal)",
    )  # fmt: skip
    make.add_argument(
        "--network", action="store_true", help="let programs of a candidate reach the network"
    )
    make.add_argument("--traces", metavar="FILE", help="also write the records to a new file")


ARGUMENTS = {
    "run": _run_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    order = RunOrder(
        suite_id=arguments.suite,
        candidate_id=arguments.candidate,
        attempts=arguments.attempts,
        jobs=arguments.jobs or (0 if arguments.executor else 4),
        workers=arguments.workers,
        resume=arguments.resume,
        seed=arguments.seed,
        approvals=arguments.approve,
        network=arguments.network,
        executor=arguments.executor,
        episodes=tuple(arguments.episode),
        shard=shard_of(arguments.shard) if arguments.shard is not None else None,
    )
    if order.approvals == "ask" and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise DeskError(
            "--approve ask needs a terminal to ask on",
            "--approve deny refuses every call that needs an approval, --approve allow grants it",
            exit_code=ExitCode.USAGE,
        )
    desk = desk_on(arguments, order.suite_id)
    if desk.place.draft and arguments.traces:
        raise DeskError(
            f"{order.suite_id} is a draft: its records stay with it, since nothing may take them "
            "for evidence",
            "leave --traces out",
            exit_code=ExitCode.USAGE,
        )
    try:
        with _records(arguments.traces) as keep:
            handle = desk.runs.start(order, keep=keep)
            if handle.isolation and not arguments.quiet:
                note(handle.isolation)
            follow(handle, arguments.quiet)
        index_behind(desk.place)
        return _told(desk, handle.view(), arguments)
    finally:
        desk.close()


def follow(handle: "RunHandle", quiet: bool) -> None:
    """Show a run on stderr until it has ended. The first Ctrl-C stops it (attempts under way
    finish), the second abandons it."""
    keys = Interrupts(handle)
    progress = Progress(quiet, handle.view().candidate_id)

    def show(how: Callable[[int, int, str], None]) -> None:
        view = handle.view()
        how(view.done, view.planned, words(view))

    answered: set[int] = set()
    with keys.caught():
        show(progress.show)
        while not handle.ended:
            for approval in handle.wait(STEP).approvals:
                if approval.number not in answered:
                    answered.add(approval.number)
                    progress.stop()
                    handle.answer(approval.number, _granted(approval, keys))
            show(progress.show)
    show(progress.end)


def words(view: RunView) -> str:
    """Return how long the rest of a run may take, and the failures so far, gate by gate."""
    parts = [f"{gate} {n}" for gate, n in zip(view.in_force, view.gates, strict=True) if n]
    state = [view.state] if view.state in ("paused", "stopping") else []
    left = [] if view.eta_seconds is None else [f"about {span(view.eta_seconds)} left"]
    failing = [f"{view.failed} failing ({', '.join(parts)})"] if view.failed else []
    lost = [f"{view.infrastructure} infra"] if view.infrastructure else []
    return ", ".join([*state, *left, *failing, *lost])


class Stoppable(Protocol):
    """Work in a thread of its own: a run, or a judge."""

    def stop(self) -> None: ...
    def abandon(self) -> None: ...


class Interrupts:
    """Ctrl-C while a run is at work: the first press stops it, the second abandons it."""

    def __init__(self, handle: Stoppable) -> None:
        self._handle = handle
        self._pressed = self._handled = 0
        self._handling = False
        self.prompting = False

    @contextmanager
    def caught(self) -> Iterator[None]:
        before = signal.signal(signal.SIGINT, self._press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        self._pressed += 1
        if self._handling:
            # A second press interrupts the handler of the first, which may hold a lock of the run,
            # so the handler of the first also carries out the second.
            return
        self._handling = True
        try:
            while self._handled < self._pressed:
                self._handled += 1
                self._handle_press(self._handled)
        finally:
            self._handling = False
        if self.prompting:
            raise KeyboardInterrupt

    def _handle_press(self, number: int) -> None:
        if number == 1:
            self._handle.stop()
            note("stopping: what runs finishes; Ctrl-C again abandons it")
        else:
            self._handle.abandon()
            note("abandoned: attempts that finished, or had failed critically, are kept")


def _granted(approval: ApprovalView, keys: Interrupts) -> bool:
    """Ask the person; anything but a clear yes refuses."""
    note(f"{approval.trace_id} event {approval.seq} asks to call {approval.tool}")
    note(approval.arguments)
    keys.prompting = True
    try:
        sys.stderr.write("grant it? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().casefold() in ("y", "yes")
    except KeyboardInterrupt:
        note("refused")
        return False
    finally:
        keys.prompting = False


@contextmanager
def _records(path: str | None) -> Iterator[Callable[[list[bytes]], None] | None]:
    """Yield a function that writes stored records to a new file as JSON lines, if one is wanted. A
    run that could not begin leaves no file."""
    if path is None:
        yield None
        return
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        number = os.open(path, flags, 0o600)
    except FileExistsError as error:
        raise DeskError(
            f"{path} exists: --traces writes no file over",
            "name a new file",
            exit_code=ExitCode.USAGE,
        ) from error
    except OSError as error:
        raise DeskError(
            f"{path}: cannot be made ({error.strerror})", *ways_out(error), exit_code=ExitCode.USAGE
        ) from error
    with os.fdopen(number, "wb") as file:

        def keep(records: list[bytes]) -> None:
            file.write(b"".join(record + b"\n" for record in records))
            file.flush()

        try:
            yield keep
        except DeskError:
            os.unlink(path)
            raise


def _told(desk: Desk, view: RunView, arguments: argparse.Namespace) -> int:
    """Print the summary and what to do next, and return the exit code."""
    report = desk.reports.build(view.suite_id, view.candidate_id).report if view.done else None
    if arguments.json:
        recommendation = report.recommendation if report else None
        draft = {"draft": True} if desk.place.draft else {}
        out_json({**_plain(view), "recommendation": recommendation, **draft})
    else:
        for line in _summary(view, report):
            out(line)
        if desk.place.draft:
            out(
                f"{view.suite_id} is a draft: no evidence; reviewer suite freeze {view.suite_id} "
                "makes it a suite to decide on"
            )
    if view.problem:
        raise DeskError(view.problem, _resume(view))
    if view.state == "stopped":
        left = view.planned - view.done
        were = "was" if left == 1 else "were"
        note(f"{left:,} of {counted(view.planned, 'attempt')} {were} not made: {_resume(view)}")
        return ExitCode.INTERRUPTED
    if view.unanswered:
        several = view.unanswered > 1
        note(
            f"{view.unanswered} attempt{'s' if several else ''} needed a person's answer and "
            f"nobody was there: not measured; reviewer run {view.suite_id} {view.candidate_id} "
            f"--resume --approve ask makes {'them' if several else 'it'} with you"
        )
    if lost := view.infrastructure - view.unanswered:
        note(f"{counted(lost, 'attempt')} lost to infrastructure: {_resume(view)} good")
    return ExitCode.DONE


def _resume(view: RunView) -> str:
    return f"reviewer run {view.suite_id} {view.candidate_id} --resume makes them"


def _summary(view: RunView, report: "Report | None") -> Iterator[str]:
    name = f"{view.candidate_id} on {view.suite_id}"
    shard = view.order.shard
    if not view.planned and shard is not None:
        yield f"nothing to make of {name} in shard {shard}: every slot of it holds a trace"
        return
    if not view.planned:
        yield f"nothing to make of {name}: every slot holds a trace"
        return
    yield f"{view.done:,} of {counted(view.planned, 'attempt')} made of {name}"
    if shard is not None:
        yield f"shard {shard} of a plan of {counted(view.whole, 'attempt')}"
    yield (
        f"{view.passed} passed, {view.failed} failed ({view.critical} critical), "
        f"{view.not_measured} not measured, {view.infrastructure} infra"
    )
    failing = [f"{gate} {n}" for gate, n in zip(view.in_force, view.gates, strict=True) if n]
    if failing:
        yield f"failing gates: {', '.join(failing)}"
    if view.faults:
        why = f": {view.fault}" if view.fault else ""
        yield f"{view.faults} ended candidate_error{why}; reviewer show {view.fault_trace}"
    if view.lost:
        yield f"workers lost under an attempt {counted(view.lost, 'time')}; those were run again"
    if report is not None:
        protocol = report.repeatability
        made, count = protocol.attempts_made, protocol.attempts_counted
        if made > count:
            yield f"{made:,} attempts made in all, {count:,} count: the first complete set"
        yield f"recommendation {report.recommendation}"


def _plain(view: RunView) -> dict[str, Any]:
    return {
        "suite_id": view.suite_id,
        "candidate_id": view.candidate_id,
        "state": view.state,
        "planned": view.planned,
        "made": view.done,
        "passed": view.passed,
        "failed": view.failed,
        "critical": view.critical,
        "infrastructure": view.infrastructure,
        "unanswered": view.unanswered,
        "not_measured": view.not_measured,
        "lost": view.lost,
        "gates": dict(zip(view.in_force, view.gates, strict=True)),
        "not_made": [f"{episode}/{attempt}" for episode, attempt in view.pending],
        "seconds": round(view.seconds, 3),
        "problem": view.problem,
        **({"shard": str(view.order.shard), "plan": view.whole} if view.order.shard else {}),
    }
