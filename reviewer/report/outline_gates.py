"""The decision set, slices and entered costs of a report in words; rows for every rendering."""

from typing import Any

from reviewer.report.block import Block
from reviewer.report.ledger import ledger_rows
from reviewer.report.words import NOT_MEASURED, Name, limits, number, plural

MOST_EPISODES = 100
"""Lost and gained episodes named; all of them stand in report.json."""
MOST_SLICES = 30
"""Slices written out, those that became worse first; all of them stand in report.json."""
HEAD = ["gate", "asks for", "observed", "bounds", "point", "strict"]
SLICE_HEAD = [
    "slice", "episodes", "passes", "limits", "pass^k", "critical", "difference", "p, Holm",
]  # fmt: skip
LEDGER_HEAD = ["when", "kind", "amount", "by", "note"]


def _gate_rows(found: dict[str, Any]) -> list[list[str]]:
    """One row per gate of the decision set."""
    return [
        [
            f"{row['gate']} {row['name']}" + ("" if row["decides"] else ", decides nothing"),
            row["policy"] or "-",
            row["observed"] or "-",
            row["bounds"] or "-",
            row["point"],
            row["strict"],
        ]
        for row in found["gates"]
    ]


def _gate_lines(found: dict[str, Any], probe: bool) -> list[str]:
    """Which mode is in force, and what either recommends."""
    if probe:
        return ["A probe is shown and compared: no mode certifies it."]
    said = {mode: found[mode]["recommendation"].upper() for mode in ("point", "strict")}
    mode = found["mode"]
    live = ", with bounds that hold at every look" if found["stopping"] == "live" else ""
    return [
        f"The suite's policy is in {mode} mode. On estimates (point): {said['point']}. "
        f"On bounds (strict{live}): {said['strict']}."
    ]


def _gate_items(found: dict[str, Any], probe: bool) -> list[str]:
    """What the mode that is not in force would still need: the one in force says so itself."""
    other = "strict" if found["mode"] == "point" else "point"
    if probe or found[other]["recommendation"] != "hold":
        return []
    return [f"In {other} mode still needed: {need}" for need in found[other]["needs"]]


def _slice_rows(found: dict[str, Any]) -> list[list[str]]:
    """One row per slice, those that became worse first."""
    rows = sorted(found["rows"], key=lambda one: (not one["worse"], not one["look"]))
    return [
        [
            Name(f"{one['kind']} {one['name']}"),
            str(one["episodes"]),
            f"{one['passes']}/{one['attempts']} {number(one['value'])}",
            limits(one["low"], one["high"]),
            number(one["pass_hat"]),
            str(one["critical"]),
            _difference(one),
            _tested(one),
        ]
        for one in rows
    ]


def _difference(one: dict[str, Any]) -> str:
    if one["difference"] is None:
        return "-"
    return f"{one['difference']:+.3f} [{one['at_least']:+.3f}, {one['at_most']:+.3f}]"


def _tested(one: dict[str, Any]) -> str:
    if one["p_holm"] is None:
        return f"{one['changed']} changed" if one["compared"] else "-"
    mark = "worse: " if one["worse"] else "look here: " if one["look"] else ""
    return f"{mark}{one['p_holm']:.3g}"


def _slice_lines(found: dict[str, Any]) -> list[str]:
    """How to read them."""
    return [
        f"{found['family']} slices looked at together: limits hold for all of them at once (95%, "
        "Bonferroni), p is Holm's and left out under 6 changed episodes. None of it gates."
    ]


def decision_set_block(report: dict[str, Any]) -> Block:
    """D0 to D8, on estimates and on bounds."""
    found, probe = report["decision_set"], report["suite"]["probe"]
    return Block(
        "Decision set",
        lines=_gate_lines(found, probe),
        items=_gate_items(found, probe),
        head=HEAD,
        rows=[] if probe else _gate_rows(found),
    )


def slices_block(report: dict[str, Any]) -> Block:
    """Categories and tags with corrected bounds; empty without any."""
    found = report["slices"]
    if not found["rows"]:
        return Block("Slices")
    return Block(
        "Slices", lines=_slice_lines(found), head=SLICE_HEAD, rows=_slice_rows(found)[:MOST_SLICES]
    )


def ledger_block(report: dict[str, Any]) -> Block:
    """What people entered beside what attempts cost; empty without an entry."""
    return Block(
        "Costs entered by people, never inside the cost per success",
        head=LEDGER_HEAD,
        rows=ledger_rows(report["cost"]["entries"]),
    )


def regression_block(report: dict[str, Any]) -> Block:
    """Against the baseline: who was lost and gained first, then the difference."""
    against = report["regression"]
    if against["baseline"] is None:
        return Block("Regression", lines=[f"Not measured: {against['why']}."])
    rows = [
        ["baseline", Name(against["baseline"])],
        ["last promoted", _last_promoted(against["last_promoted"])],
        ["lost", _episodes(against["lost"])],
        ["gained", _episodes(against["gained"])],
        ["new critical", _episodes(against["new_critical"])],
        ["difference", _mean_difference(against)],
        ["margin", f"{against['margin']:g}"],
        ["verdict", _verdict(against)],
        ["test", against["test"] or against["why"] or "-"],
    ]
    return Block("Regression", head=["", ""], rows=rows)


def _episodes(names: list[str]) -> str:
    more = len(names) - MOST_EPISODES
    left = f" and {more:,} more, in report.json" if more > 0 else ""
    return ", ".join(names[:MOST_EPISODES]) + left or "none"


def _last_promoted(promoted: dict[str, Any] | None) -> str:
    if promoted is None:
        return "none"
    return Name(f"{promoted['candidate_id']}, decision {promoted['number']}")


def _verdict(against: dict[str, Any]) -> str:
    more = against["more_unchanged_needed"]
    if against["verdict"] != "not shown" or not more:
        return str(against["verdict"])
    return f"not shown: {plural(more, 'more unchanged episode')} would"


def _mean_difference(against: dict[str, Any]) -> str:
    if against["difference"] is None:
        return NOT_MEASURED
    return (
        f"{against['difference']:+.3f}, one-sided 95% bounds "
        f"{against['low']:+.3f} and {against['high']:+.3f}"
    )
