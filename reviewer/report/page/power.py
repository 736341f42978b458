"""The page's sections on how often the suite's policy is wrong."""

from reviewer.report.model import Report
from reviewer.report.page_parts import Section, Terms
from reviewer.report.power import (
    RATE_HEAD,
    assumption_lines,
    plot_lines,
    power_sentences,
    rate_rows,
    size_head,
    size_rows,
    worse_rows,
)

TITLE = "How often this policy is wrong"


def power_sections(report: Report) -> list[Section]:
    """Return the table by agent, and the table by size with its plot; empty for a suite that was
    frozen without them."""
    power = report.power
    if not power:
        return []
    return [
        Section(
            TITLE,
            lines=[*power_sentences(power), *assumption_lines(power)],
            head=list(RATE_HEAD),
            rows=[*rate_rows(power), *worse_rows(power)],
            terms=_TERMS,
        ),
        Section(
            "What other sizes would give",
            lines=["Wrong of 100 releases, under the same policy; lower is better."],
            head=size_head(power),
            rows=size_rows(power),
            code=plot_lines(power),
            level=3,
        ),
    ]


_TERMS: Terms = [
    (
        "promoted",
        "Of 100 simulated releases of such an agent, those that pass every gate of the policy in "
        "its mode. What is not promoted of an agent identical to its baseline is a false alarm; "
        "what is promoted of a worse one, a miss.",
    )
]
