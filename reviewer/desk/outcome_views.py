"""What sources say of attempts, as a door shows it: their verdict, its checks, expected calls."""

from typing import Literal

from msgspec import Struct

OUTCOME = "outcome"
"""Stands where the name of a gate stands: the column of what sources say. It is no gate."""
Made = Literal["same", "other", "masked", "never", "unknown"]
"""Whether an expected call was made: with the same arguments, with others, with arguments that are
the same as far as they are not masked, never, or nobody looked."""


class OutcomeCell(Struct, frozen=True, kw_only=True):
    """The sources' verdicts on some attempts: `unknown` counts those without one. `mark` is red
    where one failed, and green only where every attempt has a verdict. `rewards` are in order of
    attempt, None where there is none; empty where they are not listed."""

    mark: Literal["pass", "fail", "not_measured"]
    passed: int
    failed: int
    unknown: int
    rewards: tuple[float | None, ...] = ()

    @property
    def attempts(self) -> int:
        """All attempts."""
        return self.passed + self.failed + self.unknown


class SourceCheck(Struct, frozen=True, kw_only=True):
    """One check of the source's own. `met` is its word, None where it gave none; `seq` the event
    that the check is about, as far as that is known."""

    name: str
    met: bool | None
    seq: int | None = None


class ExpectedCall(Struct, frozen=True, kw_only=True):
    """A call that the source expects, beside the one that was made. `met` is the source's own word
    on it, None where it judges the end alone. `differs` are arguments as `name: expected → made`.
    """

    tool: str
    arguments: str
    made: Made
    met: bool | None = None
    seq: int | None = None
    differs: tuple[str, ...] = ()
    by_user: bool = False


class OutcomeView(Struct, frozen=True, kw_only=True):
    """What the source says of one attempt. `others` counts calls by tool that were made and are not
    among the expected ones, None where the source expects none by name; `left_out` counts expected
    calls that were too large to keep."""

    passed: bool | None
    reward: float | None
    checks: tuple[SourceCheck, ...]
    expected: tuple[ExpectedCall, ...]
    others: tuple[tuple[str, int], ...] | None = None
    left_out: int = 0
