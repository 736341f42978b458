"""Candidates in a child process of their own, and what holds for them whatever the program is."""

import os
from collections.abc import Sequence
from pathlib import Path

from reviewer.running.candidates.child_lines import Lines, observations_line, start_line
from reviewer.running.candidates.prices import Prices, cost_usd, read_prices
from reviewer.running.files import manifest_file, read_below
from reviewer.running.masking import Mask, secrets_of
from reviewer.running.model import (
    Brief,
    CandidateFault,
    Infrastructure,
    Observation,
    Task,
    Turn,
    Unrunnable,
)
from reviewer.running.sandbox.room import Child, Ended, Flooded, NotStarted, Order, start
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import shown

TURN_S = 600.0
"""How long a turn may take when the manifest has no `timeout_s`."""

_GRACE_S = 0.3


class ChildCandidate:
    """One child process, for one attempt, that talks in JSON lines; whatever its program is."""

    def __init__(self, task: Task, order: Order) -> None:
        runner = task.candidate.runner
        self._order = order
        self._mask = Mask(task.redaction, secrets_of(task.candidate))
        self._prices = prices_of(task.candidate, Path(task.folder))
        self._seconds = float(runner.get("timeout_s") or TURN_S)
        self._lines = Lines()
        self._child: Child | None = None
        self._final = False

    async def begin(self, brief: Brief) -> Turn:
        try:
            self._child = await start(self._order)
        except OSError as error:
            raise Infrastructure(f"no process can be started: {error.strerror}") from None
        return await self._turn(self._child, start_line(brief))

    async def proceed(self, observations: Sequence[Observation]) -> Turn:
        assert self._child is not None, "proceed before begin"
        return await self._turn(self._child, observations_line(observations))

    def waited_ms(self) -> float:
        return 0.0

    async def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.close(_GRACE_S if self._final else 0.0)

    async def _turn(self, child: Child, message: object) -> Turn:
        try:
            line = await child.ask(message, self._seconds)
        except NotStarted as error:
            why = self._mask.line(str(error))
            if error.sandbox:
                raise Infrastructure(f"no sandbox can be made: {why}") from None
            raise Unrunnable(f"its program cannot be started: {why}") from None
        except Flooded as error:
            raise CandidateFault(f"its program {error}") from None
        except Ended as error:
            said = self._mask.line(child.last_lines())
            text = f"its program {error} before its final message" + (f": {said}" if said else "")
            raise CandidateFault(text) from None
        except TimeoutError:
            text = f"its program gave no answer within {self._seconds:g} s"
            raise CandidateFault(text, "candidate_timeout") from None
        turn = self._lines.read(line)
        self._final = not turn.calls
        return turn._replace(cost_usd=cost_usd(turn.usage, self._prices))


def check_common(candidate: Candidate, folder: Path) -> None:
    """What holds for every candidate in a process of its own: the key is there, the script is the
    one that the manifest names, the prices are prices."""
    runner, manifest = candidate.runner, manifest_file(candidate, folder)
    for name in runner.get("options") or {}:
        raise Unrunnable(f"{manifest}: $.runner.options: nothing is known of `{shown(name)}`")
    env = runner.get("api_key_env")
    if env and not os.environ.get(env):
        raise Unrunnable(
            f"{manifest}: $.runner.api_key_env: the environment variable `{shown(env)}` is not "
            "set; set it to the key"
        )
    script, digest = runner.get("script"), runner.get("script_sha256")
    if (script is None) != (digest is None):
        raise Unrunnable(
            f"{manifest}: $.runner: `script` and `script_sha256` belong together: the file that is "
            "the candidate, and its digest"
        )
    if script is not None and digest is not None:
        read_below(folder, script, digest, f"{manifest}: $.runner.script")
    prices_of(candidate, folder)


def prices_of(candidate: Candidate, folder: Path) -> Prices:
    """Raises Unrunnable for a price of nothing."""
    return read_prices(candidate.prices, f"{manifest_file(candidate, folder)}: $.prices")


def order_for(task: Task, argv: Sequence[str], opened: Sequence[Path]) -> Order:
    """A child that works for this task's candidate: with the variables that its manifest names,
    and with the network only when manifest and run both grant it."""
    runner = task.candidate.runner
    names = [*(runner.get("environment") or ()), *filter(None, [runner.get("api_key_env")])]
    return Order(
        tuple(argv),
        Path(task.folder),
        {name: os.environ[name] for name in names if name in os.environ},
        tuple(opened),
        bool(runner.get("network")) and task.network,
    )
