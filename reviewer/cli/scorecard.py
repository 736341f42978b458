"""`reviewer scorecard`: the scorecard's words in the order of the screen, one fact a line."""

import argparse
from collections.abc import Iterator

from reviewer.cli.opening import desk_on, release_of, workspace_of
from reviewer.cli.parser import release_options
from reviewer.cli.say import counted, fact, mark, measured, measured_s, out_json
from reviewer.desk import early_stats
from reviewer.desk.desk import Desk
from reviewer.desk.outcome_views import OutcomeCell
from reviewer.desk.scorecards.filters import check
from reviewer.desk.scorecards.views import Group
from reviewer.desk.views import RED, Cell, EpisodeRow, Rate, Scorecard
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import between, cost_span, critical_line, out_of, plural

STATES = {"frozen": "frozen", "broken": "lock broken", "draft": "draft"}


def _scorecard_arguments(card: argparse.ArgumentParser) -> None:
    card.add_argument(
        "--filter",
        default="",
        metavar="F",
        help="only matching episodes, e.g. 'gate:authority tool:issue_refund cost>0.05 -tag:vip'",
    )
    card.add_argument(
        "--sort",
        default="worst",
        metavar="BY",
        help="sort key: worst (default), a gate, or a column",
    )
    card.add_argument("--descending", action="store_true", help="reverse the order")
    card.add_argument("--failing", action="store_true", help="only episodes that fail")
    card.add_argument("--group", choices=("tag", "category"), help="add a line for each group")
    release_options(card)


ARGUMENTS = {
    "scorecard": _scorecard_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    early_stats.begin(workspace_of(arguments), arguments.suite)
    desk = desk_on(arguments, arguments.suite)
    desk.scorecards.apart = False  # this process gives one answer
    suite, candidate = release_of(arguments, desk)
    check(arguments.filter)
    card = desk.scorecards.card(suite, candidate)
    if arguments.json:
        import msgspec

        out_json(msgspec.to_builtins(card))
        return ExitCode.DONE
    for line in (*_head(card), *_figures(card)):
        fact(line)
    how = (arguments.sort, arguments.descending, arguments.failing, arguments.filter)
    order = "worst first" if arguments.sort == "worst" else f"by {arguments.sort}"
    if arguments.group is None:
        keys = desk.scorecards.order(suite, candidate, *how)
        fact(f"episodes {len(keys)} of {card.episodes} shown, {order}")
        _rows(desk, card, keys)
    else:
        for group in desk.scorecards.groups(suite, candidate, arguments.group, *how):
            fact(_group(arguments.group, group, card.pass_hat_k))
            _rows(desk, card, list(group.keys))
    fact(_totals(card))
    return ExitCode.DONE


def _head(card: Scorecard) -> Iterator[str]:
    """Yield the suite and candidate, the recommendation, and each reason with its evidence."""
    suite = card.suite
    yield f"suite {suite.suite_id}  candidate {card.candidate_id}"
    yield f"suite {STATES[suite.state]}, digest {suite.digest or 'none'}"
    yield f"signed {card.decided}" if card.decided else "undecided"
    if suite.problem:
        yield f"problem {suite.problem}"
    if suite.probe:
        yield "probe: shown and compared, never certifying a release"
    yield f"recommendation {card.recommendation}"
    for reason in card.reasons:
        seen = f": {reason.observed}" if reason.observed else ""
        policy = f" (policy {reason.policy})" if reason.policy else ""
        yield f"reason {reason.number} {reason.text}{seen}{policy}"
        for item in reason.evidence:
            where = f" event {item.seq}" if item.seq is not None else ""
            yield f"  {item.trace_id}{where} {item.code}"
    for need in card.needs:
        yield f"needs {need}"


def _figures(card: Scorecard) -> Iterator[str]:
    """Yield every rate with its denominator and limits, or why there is none."""
    slots, hard = card.slots, card.hard_pass
    yield (
        f"attempts {slots.valid} of {slots.planned} valid, {slots.infrastructure} infra, "
        f"{slots.quarantined} quarantined, {slots.missing} missing, {slots.extra} extra"
    )
    yield f"hard pass {out_of(hard.passes, hard.unknown, hard.n)}, {_rate(hard)}"
    if card.outcome:
        yield f"outcome by the sources: {_outcome(card.outcome)}"
    yield from card.source_headlines
    yield from card.users
    yield from card.lost
    yield f"total {measured(card.total_cost_usd, '${:,.4f}')}"
    for who, told in card.others_spent:
        yield f"{who} cost {told}, not the candidate's"
    yield f"pass^{card.pass_hat_k} {_rate(card.pass_hat)}"
    yield critical_line(
        card.critical, card.critical_n, card.critical_unknown,
        card.critical_upper, card.critical_upper_episodes,
    )  # fmt: skip
    budget = ", no limit" if card.cpst_budget_usd is None else f" of {card.cpst_budget_usd:g}"
    span = cost_span(*card.cpst_possible) if card.cpst_usd is None else ""
    possible = f" ({span} possible)" if span else ""
    yield f"CPST {measured(card.cpst_usd, '${:.4g}')}{possible}{budget}"
    p50, p95 = measured_s(card.latency_p50_ms), measured_s(card.latency_p95_ms)
    lacking = card.latency_unknown if card.latency_p50_ms is not None else 0
    without = f", {plural(lacking, 'attempt')} without a latency" if lacking else ""
    yield f"latency p50 {p50}, p95 {p95}{without}"


def _rate(rate: Rate) -> str:
    bounds = "" if rate.low is None or rate.high is None else f" [{rate.low:.3f}, {rate.high:.3f}]"
    why = f" ({rate.why})" if rate.why else ""
    limit = "none" if rate.policy is None else f"{rate.policy:g}"
    return f"{measured(rate.value, '{:.3f}')}{bounds} policy {limit}{why}{_possible(rate)}"


def _possible(rate: Rate) -> str:
    """Return the limits of a rate with verdicts not measured; empty when all are measured."""
    if rate.value is not None or rate.low_possible in (None, rate.high_possible):
        return ""
    of = f"; of what is known {rate.known:.3f}" if rate.known is not None else ""
    return f"{of}; {between(rate.low_possible, rate.high_possible)} possible"


def _group(by: str, group: Group, k: int) -> str:
    most = group.critical + group.critical_unknown
    more = f" to {most}" if group.critical_unknown else ""
    return (
        f"{by} {group.label or '(none)'}: {counted(group.episodes, 'episode')}; "
        f"hard pass {out_of(group.counted_passes, group.counted_unknown, group.counted)}; "
        f"{group.critical}{more} critical in {group.attempts}; "
        f"{group.infra} infra; pass^{k} {measured(group.pass_hat, '{:.3f}')}; "
        f"mean cost {measured(group.mean_cost_usd, '${:.3g}')}"
    )


def _rows(desk: Desk, card: Scorecard, keys: list[int]) -> None:
    suite, candidate = card.suite.suite_id, card.candidate_id
    for row in desk.scorecards.each_row(suite, candidate, keys):
        fact(_row(row, card.pass_hat_k, card.gates))


def _row(row: EpisodeRow, k: int, gates: tuple[str, ...]) -> str:
    cells = "; ".join(_cell(gate, cell) for gate, cell in zip(gates, row.cells, strict=True))
    marks = ", ".join(mark(each.mark) for each in row.attempts)
    repeated = "by a person" if row.by_person else measured(row.pass_hat, "{:.3f}")
    said = f"outcome {_outcome(row.outcome)}; " if row.outcome else ""
    told = (
        f"episode {row.episode_id}: {said}{cells}; attempts {marks or 'none'}; "
        f"pass^{k} {repeated}; "
        f"mean cost {measured(row.mean_cost_usd, '${:.3g}')}; "
        f"latency p50 {measured_s(row.latency_p50_ms)}"
    )
    told += f"; tags {' '.join(row.tags)}" if row.tags else ""
    return told + (f"; flags {' '.join(row.flags).replace('_', '-')}" if row.flags else "")


def _outcome(said: OutcomeCell) -> str:
    """Return what the sources say of some attempts, with their rewards in order."""
    told = mark(said.mark)
    if said.failed:
        told += f" in {said.failed} of {said.attempts}"
    told += f", {said.unknown} without a verdict" if said.unknown and said.mark == "fail" else ""
    rewards = " ".join("none" if each is None else f"{each:g}" for each in said.rewards)
    return told + (f", rewards {rewards}" if rewards else "")


def _cell(gate: str, cell: Cell) -> str:
    many = f" in {cell.failed} of {cell.attempts}" if cell.mark in RED else ""
    return f"{gate} {mark(cell.mark)}{many}"


def _totals(card: Scorecard) -> str:
    """Return the last row of the grid: in how many attempts each gate fails."""
    found = "; ".join(
        f"{each.gate} {each.failed}"
        + (f" ({each.critical} critical)" if each.critical else "")
        + (f" ({each.not_measured} not measured)" if each.not_measured else "")
        for each in card.totals
    )
    hard = card.hard_pass
    return (
        f"fail in {card.critical_n}: {found}; passed {out_of(hard.passes, hard.unknown, hard.n)}; "
        f"mean cost {measured(card.mean_cost_usd, '${:.3g}')}"
    )
