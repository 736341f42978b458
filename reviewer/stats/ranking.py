"""Many candidates compared in pairs: Bradley-Terry strengths."""

import math
from collections.abc import Sequence

from reviewer.stats.checks import whole

_ELO_SCALE = 400.0


def _strengths(score: list[list[float]]) -> list[float] | None:
    """Maximum-likelihood log strengths from score[i][j] = wins of i over j, by Zermelo's iteration.

    None without a finite estimate: some candidates never lost to the rest, or never met them.
    """
    n = len(score)
    if not (_reaches_all(score) and _reaches_all([list(c) for c in zip(*score, strict=True)])):
        return None
    wins = [math.fsum(row) for row in score]
    games = [[score[i][j] + score[j][i] for j in range(n)] for i in range(n)]
    strength = [1.0] * n
    for _ in range(100_000):
        previous = list(strength)
        for i in range(n):
            pull = math.fsum(
                games[i][j] / (strength[i] + strength[j]) for j in range(n) if games[i][j]
            )
            strength[i] = wins[i] / pull
        anchor = strength[0]
        strength = [s / anchor for s in strength]
        if all(abs(s - p) <= 1e-13 * s for s, p in zip(strength, previous, strict=True)):
            break
    return [math.log(s) for s in strength]


def _reaches_all(score: list[list[float]]) -> bool:
    seen, frontier = {0}, [0]
    while frontier:
        i = frontier.pop()
        new = [j for j, won in enumerate(score[i]) if won and j not in seen]
        seen.update(new)
        frontier.extend(new)
    return len(seen) == len(score)


def bradley_terry(battles: Sequence[Sequence[str]]) -> dict[str, float] | None:
    """Rating differences in Elo points to the first candidate named, as "<other>_minus_<first>".

    Each battle is [candidate, candidate, "model_a" | "model_b" | anything else for a tie]; a tie
    is half a win each (FastChat compute_bt). None when no finite estimate exists: show the win
    table. For two candidates prefer win/tie/loss.
    """
    place: dict[str, int] = {}
    for i, battle in enumerate(battles):
        if len(battle) != 3 or battle[0] == battle[1]:
            raise ValueError(f"battles[{i}] must be two different candidates and a winner")
        for name in battle[:2]:
            place.setdefault(name, len(place))
    if not place:
        raise ValueError("battles must not be empty")
    score = [[0.0] * len(place) for _ in place]
    for first, second, winner in battles:
        share = 1.0 if winner == "model_a" else 0.0 if winner == "model_b" else 0.5
        score[place[first]][place[second]] += share
        score[place[second]][place[first]] += 1.0 - share
    logs = _strengths(score)
    if logs is None:
        return None
    names, points = list(place), _ELO_SCALE / math.log(10.0)
    return {
        f"{name}_minus_{names[0]}": points * (log - logs[0])
        for name, log in zip(names[1:], logs[1:], strict=True)
    }


def bradley_terry_log(n_items: int, wins: Sequence[Sequence[int]]) -> dict[str, float] | None:
    """Log-strength differences to item 0, as "d<i>0" for item i; None without a finite estimate.

    `wins` holds [winner, loser] by item number (choix.opt_pairwise).
    """
    n = whole("n_items", n_items, 2)
    score = [[0.0] * n for _ in range(n)]
    for i, (winner, loser) in enumerate(wins):
        if winner == loser or not (0 <= winner < n and 0 <= loser < n):
            raise ValueError(f"wins[{i}] must name two different items below {n}")
        score[winner][loser] += 1.0
    logs = _strengths(score)
    return None if logs is None else {f"d{i}0": logs[i] - logs[0] for i in range(1, n)}
