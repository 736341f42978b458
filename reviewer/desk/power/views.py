"""How often a policy is wrong, as words and rows for a command and a screen."""

from typing import Literal, NamedTuple

from reviewer.suite.power import Power


class PowerView(NamedTuple):
    """`mark` is `fail` where more identical agents are stopped than the suite allows, else
    `advisory` where more of the worst agents are let through; `limits` says for each what this size
    cannot achieve. `locked` says that the figures are those of the frozen suite. `rows` are aligned
    with `head`, `sizes` with `size_head`; `plots` has the plot of each width."""

    suite_id: str
    locked: bool
    power: Power
    mark: Literal["fail", "advisory", "pass"]
    headline: str
    limits: tuple[str, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    size_head: tuple[str, ...]
    sizes: tuple[tuple[str, ...], ...]
    assumptions: tuple[str, ...]

    def plot(self, width: int) -> list[str]:
        """Return the plot of both errors by size."""
        from reviewer.report.power import plot_lines

        return plot_lines(self.power, width)
