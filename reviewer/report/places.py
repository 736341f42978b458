"""Where a finding stands in a repository: the file of its episode, and the findings in the order
in which a reader with little room should see them."""

from typing import Any, NamedTuple

from reviewer.suite.gates import CRITICAL_GATES


class Finding(NamedTuple):
    """One finding of one failing trace, as report.json holds it."""

    trace: dict[str, Any]
    gate: str
    code: str
    seq: int | None

    @property
    def counts(self) -> bool:
        """Whether it stands against a promotion: beyond the first complete set only what blocks."""
        trace = self.trace
        return trace["critical"] or self.gate == "state" or not trace["extra"]


def findings(report: dict[str, Any]) -> list[Finding]:
    """Every finding of every failing trace, those of critical ones first, and of each those of a
    gate that makes it so. What infrastructure lost
    is none: it failed no gate."""
    traces = sorted(report["failures"], key=lambda trace: not trace["critical"])
    return [
        Finding(trace, one["gate"], one["code"], one["seq"])
        for trace in traces
        if not trace["infrastructure"]
        for one in sorted(trace["evidence"], key=lambda one: one["gate"] not in CRITICAL_GATES)
    ]


def episode_file(suite_path: str, episode_id: str) -> str:
    """The file that holds an episode's contract; empty where the suite lies in no folder."""
    return f"{suite_path}/episodes/{episode_id}.json" if suite_path else ""


def suite_file(suite_path: str) -> str:
    """The file that holds the suite's policy; empty where the suite lies in no folder."""
    return f"{suite_path}/suite.json" if suite_path else ""
