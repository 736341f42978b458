# ruff: noqa: RUF012 (msgspec gives each instance its own copy of an empty default)
"""A scripted candidate's script: what it does in each episode, as plain values.

Scripts stand beside the lock, in `candidates/scripts/`; the manifest that names one binds it by
digest.
"""

from typing import Any

import msgspec

from reviewer.suite.errors import ContractError
from reviewer.suite.learned import learned
from reviewer.suite.model import Value


class ScriptedCall(Value, frozen=True):
    tool: str
    arguments: dict[str, Any] = {}


class ScriptedTurn(Value, frozen=True):
    """`calls` at once, and one of `messages`. USD (None: not known) and milliseconds."""

    calls: tuple[ScriptedCall, ...] = ()
    messages: tuple[str, ...] = ()
    cost_usd: float | None = None
    latency_ms: float = 0.0


class Plan(Value, frozen=True):
    """One way to go about an episode. `faults` is tool → faults as the simulator has them."""

    turns: tuple[ScriptedTurn, ...]
    weight: int = 1
    faults: dict[str, tuple[dict[str, Any], ...]] = {}


class ScriptedAttempt(Value, frozen=True):
    """An attempt as it must come out: figures per turn, and the last message's number (from 1)."""

    plan: str
    costs_usd: tuple[float, ...] | None = None
    latencies_ms: tuple[float, ...] | None = None
    message: int | None = None


class ScriptedEpisode(Value, frozen=True):
    plans: dict[str, Plan]
    attempts: tuple[ScriptedAttempt, ...] = ()


class Script(Value, frozen=True):
    episodes: dict[str, ScriptedEpisode]
    spread: float = 0.1


learned(Script)


def read_script(data: bytes, file: str = "script.json") -> Script:
    """The script as a value. ContractError with every problem found."""
    # Here, so that whoever only names a script's values costs no pydantic.
    from reviewer.suite.check import read_shape
    from reviewer.suite.script_shape import ScriptShape

    raw = read_shape(data, file, ScriptShape)
    try:
        return msgspec.convert(raw, Script)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at ")
        raise ContractError(file, path.strip("`") or "$", reason) from None
