"""The facts that a format can provide: one row of the tables in docs/importable.md and of `reviewer
formats`."""

from typing import NamedTuple


class FormatFacts(NamedTuple):
    """What a reader finds in the files of its format, each in a few words; a text that begins with
    `no` means that the format lacks the fact, which is shown as not measured."""

    by: str
    """How a file of the format is recognized."""
    steps: str = "yes"
    """The calls, results and messages of an attempt, one by one."""
    tools: str = "yes"
    times: str = "no"
    cost: str = "no"
    tokens: str = "no"
    verdict: str = "no"
    """The source's own verdict."""
    attempt: str = "file order"
    """Where the number of an attempt comes from."""
    approvals: str = "no"
    start_state: str = "no"
    final_state: str = "no"
    beside: str = ""
    """Other files that are read with it."""

    @property
    def not_measured(self) -> tuple[str, ...]:
        """Return what stays not measured for every attempt in this format."""
        return tuple(word for field, word in MEASURED.items() if _lacks(getattr(self, field)))


MEASURED = {
    "steps": "steps",
    "tools": "tool names",
    "times": "times",
    "cost": "cost",
    "tokens": "tokens",
    "verdict": "the source's verdict",
    "approvals": "approvals",
    "start_state": "initial state",
    "final_state": "final state",
}
"""Field → the facts of an attempt that it describes."""


def _lacks(text: str) -> bool:
    return text == "no" or text.startswith(("no:", "no (", "no ", "–"))
