"""The statements of sources about attempts, as users see them: verdict, checks, expected calls."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

OUTCOME = "outcome"
"""Used in place of the name of a gate for the column with the sources' verdicts. It is no gate."""
Made = Literal["same", "other", "masked", "never", "unknown"]
"""Whether an expected call was made: with the same arguments, with others, with arguments that are
the same where they are not masked, never, or not known."""


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
        """Return the number of all attempts."""
        return self.passed + self.failed + self.unknown


class SourceCheck(Struct, frozen=True, kw_only=True):
    """One of the source's own checks. `met` is its result, None where it gave none; `seq` the event
    that the check is about, if known."""

    name: str
    met: bool | None
    seq: int | None = None


class ExpectedCall(Struct, frozen=True, kw_only=True):
    """A call that the source expects, beside the one that was made. `met` is the source's own
    result for it, None where it judges the end alone. `differs` are arguments as `name: expected →
    made`."""

    tool: str
    arguments: str
    made: Made
    met: bool | None = None
    seq: int | None = None
    differs: tuple[str, ...] = ()
    by_user: bool = False


class OutcomeView(Struct, frozen=True, kw_only=True):
    """The source's statements on one attempt. `others` counts, by tool, calls that were made and
    are not among the expected ones, None where the source names no expected calls; `left_out`
    counts expected calls that were too large to store."""

    passed: bool | None
    reward: float | None
    checks: tuple[SourceCheck, ...]
    expected: tuple[ExpectedCall, ...]
    others: tuple[tuple[str, int], ...] | None = None
    left_out: int = 0


def cell_of(words: Sequence[tuple[int | None, float | None]]) -> OutcomeCell:
    """Return the verdicts of attempts, in order, as one cell."""
    passed = sum(each == 1 for each, _ in words)
    failed = sum(each == 0 for each, _ in words)
    return counted_cell(passed, failed, len(words) - passed - failed, [r for _, r in words])


def counted_cell(
    passed: int, failed: int, unknown: int, rewards: Sequence[float | None] = ()
) -> OutcomeCell:
    """Return counts of verdicts as a cell."""
    green = passed and not unknown
    return OutcomeCell(
        mark="fail" if failed else "pass" if green else "not_measured",
        passed=passed,
        failed=failed,
        unknown=unknown,
        rewards=tuple(rewards) if any(each is not None for each in rewards) else (),
    )
