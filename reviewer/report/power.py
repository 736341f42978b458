"""How often the suite's policy is wrong, in words and as a plot: computed from power.json alone."""

from collections.abc import Sequence

from reviewer.suite.power import Power, PowerAsked, PowerSize

ASKED_FOR = 0.10
"""A larger share of identical agents that are stopped, or of the worst agents that are let through,
is named as too large."""
GATE_NAMES = {
    "critical": "critical failures",
    "hard_pass": "hard pass",
    "completion": "completion",
    "pass_hat": "pass^k",
    "regression": "regression",
}
_ROWS = 8
_LABEL = 7


def of_100(chance: float) -> str:
    """Return the number in 100 releases: `<1` and `>99` at the ends, because chances are kept to
    0.01."""
    if chance < 0.005:
        return "<1"
    return ">99" if chance > 0.995 else f"{round(chance * 100)}"


def points(by: float) -> str:
    return f"{by * 100:g} {'point' if by == 0.01 else 'points'}"


def size_name(size: PowerSize) -> str:
    return f"{size.episodes} × {size.attempts}"


def headline(power: Power) -> str:
    """Return the false alarm and the misses in a sentence."""
    worse = [
        f"one {points(one.by)} worse is let through in {of_100(one.promoted)}"
        for one in power.worse
    ]
    said = [
        f"an agent identical to its baseline, with a true pass rate of {power.asked.true_rate:g}, "
        f"is stopped in {of_100(power.stopped)} of 100 releases",
        *worse,
    ]
    return "; ".join(said)


def size_limits(power: Power) -> str:
    """Return a sentence that the size stops more identical agents than is acceptable; else
    empty."""
    if power.stopped <= ASKED_FOR:
        return ""
    here = size_name(power.sizes[0])
    said = f"more than {of_100(ASKED_FOR)} of 100: {here} cannot stop fewer under this policy"
    better = [size for size in power.sizes[1:] if size.stopped <= ASKED_FOR]
    if better:
        return f"{said}; {size_name(better[0])} would stop {of_100(better[0].stopped)}"
    if power.asked.hard_pass_rate == 1:
        return f"{said}, and no other size: a hard_pass_rate of 1 punishes every added attempt"
    if power.enough is not None:
        return f"{said}; {power.enough} episodes would promote it in 80 of 100"
    return f"{said}, nor would 400 episodes"


def miss_limits(power: Power) -> str:
    """Return a sentence that the size lets too many of the worst agents through, and which size
    lets fewer through; else empty."""
    worst = power.worse[-1] if power.worse else None
    if worst is None or worst.promoted <= ASKED_FOR:
        return ""
    here = size_name(power.sizes[0])
    said = f"more than {of_100(ASKED_FOR)} of 100 agents that are {points(worst.by)} worse pass"
    better = [size for size in power.sizes[1:] if size.worse[-1] <= ASKED_FOR]
    if not better:
        return f"{said} with {here}, and with every other size above"
    fewest = min(better, key=lambda size: size.episodes * size.attempts)
    return (
        f"{said} with {here}; with {size_name(fewest)} it would be {of_100(fewest.worse[-1])}, "
        f"and {of_100(fewest.stopped)} identical agents stopped"
    )


def power_sentences(power: Power) -> list[str]:
    """Return the headline and, if the size is too small, the sentences about it."""
    said = (f"By this policy {headline(power)}", size_limits(power))
    return [f"{text[0].upper()}{text[1:]}." for text in said if text]


def assumption_lines(power: Power) -> list[str]:
    """Return what the figures assume, and what they do not include."""
    asked = power.asked
    low, high = min(asked.icc_range), max(asked.icc_range)
    return [
        f"By {asked.draws:,} simulated releases each (seed {asked.seed}, formulas "
        f"{asked.formulas}), off by at most {power.error:.2f} in 95 of 100 cases; rounded to 0.01.",
        f"Attempts of one episode are assumed to be alike by an intraclass correlation of "
        f"{asked.icc:g}; the range is over {low:g} to {high:g}. The baseline is the same agent on "
        f"the same episodes; every failing attempt is taken to miss its end. Critical failures: "
        f"{asked.critical_rate:g} of attempts.",
        f"Taken as passed: {', '.join(power.not_modeled)}.",
        *_played(asked),
    ]


def _played(asked: PowerAsked) -> list[str]:
    if not asked.by_person:
        return []
    noun = "episode" if asked.episodes == 1 else "episodes"
    said = f"A person plays the user of {asked.by_person} of {asked.episodes} {noun}"
    return [f"{said}: pass^{asked.k} is of the others, in every size."]


RATE_HEAD = ("agent", "promoted of 100", "range", "gates passed of 100", "stopped by")


def rate_rows(power: Power) -> list[list[str]]:
    """Return a row per true rate: identical agents promoted, and the gates they pass."""
    return [
        [
            f"true rate {row.true_rate:g}",
            of_100(row.promoted),
            f"{of_100(row.lowest)} to {of_100(row.highest)}",
            ", ".join(f"{GATE_NAMES[gate]} {of_100(share)}" for gate, share in row.gates.items()),
            GATE_NAMES[row.binds] if row.binds else "-",
        ]
        for row in power.rows
    ]


def worse_rows(power: Power) -> list[list[str]]:
    """Return a row per worse agent: let through, and the gates it passes."""
    return [
        [
            f"{power.asked.true_rate:g}, {points(one.by)} worse",
            of_100(one.promoted),
            "-",
            ", ".join(f"{GATE_NAMES[gate]} {of_100(share)}" for gate, share in one.gates.items()),
            "-",
        ]
        for one in power.worse
    ]


def size_head(power: Power) -> list[str]:
    worse = (f"{points(by)} worse let through" for by in power.asked.worse_by)
    return ["episodes × attempts", "identical stopped", *worse]


def size_rows(power: Power) -> list[list[str]]:
    """Return a row per size, the suite's own first: wrong of 100 releases."""
    return [
        [
            size_name(size) + (", as it is" if number == 0 else ""),
            of_100(size.stopped),
            *map(of_100, size.worse),
        ]
        for number, size in enumerate(power.sizes)
    ]


def plot_lines(power: Power, width: int = 72) -> list[str]:
    """Return the plot of both errors by size: ● identical agents stopped, × the greatest share of
    worse agents let through, ┄ the acceptable share."""
    sizes = power.sizes
    room = max(len(size_name(size)) + 1 for size in sizes)
    step = max(room, (width - _LABEL - 2) // len(sizes))
    by = power.asked.worse_by
    legend = "● identical stopped"
    if by:
        legend += f"  × {points(by[-1])} worse let through"
    lines = [f"of 100 releases   {legend}   ┄ {of_100(ASKED_FOR)}"]
    lines += [_plot_row(sizes, level, step) for level in range(_ROWS, -1, -1)]
    names = "".join(size_name(size).center(step) for size in sizes).rstrip()
    lines.append(" " * _LABEL + "└" + "─" * (step * len(sizes)))
    lines.append(" " * (_LABEL + 1) + names)
    return lines


def _plot_row(sizes: Sequence[PowerSize], level: int, step: int) -> str:
    share = level / _ROWS
    blank = "┄" if level == round(ASKED_FOR * _ROWS) else " "
    cells = []
    for size in sizes:
        marks = ""
        if round(size.stopped * _ROWS) == level:
            marks += "●"
        if size.worse and round(size.worse[-1] * _ROWS) == level:
            marks += "×"
        cells.append(marks.center(step, blank) if marks else blank * step)
    label = f"{share * 100:.0f}" if level % 2 == 0 else ""
    return f"{label:>{_LABEL - 1}} {'┤' if label else '│'}{''.join(cells)}".rstrip()
