"""Two sequences set side by side: what both hold in the same order, and what only one does."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

Keys = Sequence[str | None]
"""What an item is known by, strictest first: its key at each level, None where it has none."""


class Pair(NamedTuple):
    """Positions from 0 that belong together, and the level at which their keys agree."""

    a: int
    b: int
    level: int


def common_subsequence(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Positions of one longest common subsequence, rising in both.

    Where several are as long, the same one is taken from either side: swapping `a` and `b` swaps
    the positions and nothing else. Bit-parallel: 5,000 items against 5,000 take milliseconds.
    """
    from rapidfuzz.distance import LCSseq

    if list(b) < list(a):
        return [(i, j) for j, i in common_subsequence(b, a)]
    numbers: dict[str, int] = {}
    first = [numbers.setdefault(key, len(numbers)) for key in a]
    second = [numbers.setdefault(key, len(numbers)) for key in b]
    found: list[tuple[int, int]] = []
    for step in LCSseq.opcodes(first, second):
        if step.tag == "equal":
            found += zip(
                range(step.src_start, step.src_end),
                range(step.dest_start, step.dest_end),
                strict=True,
            )
    return found


def align(a: Sequence[Keys], b: Sequence[Keys]) -> list[Pair]:
    """Pairs of items whose keys agree, rising in both, the strictest level first.

    Level 0 pairs a longest common subsequence; each later level pairs, between the pairs at hand,
    what agrees by its own keys. So a looser likeness never parts what is really the same. Raises
    ValueError when items have not as many levels as the first.
    """
    levels = len((*a, *b)[0]) if a or b else 0
    if any(len(keys) != levels for keys in (*a, *b)):
        raise ValueError(f"every item needs {levels} keys, one per level")
    pairs: list[Pair] = []
    for level in range(levels):
        grown: list[Pair] = []
        for gap, end in _gaps(pairs, len(a), len(b)):
            mine = [i for i in gap[0] if a[i][level] is not None]
            theirs = [j for j in gap[1] if b[j][level] is not None]
            grown += [
                Pair(mine[i], theirs[j], level)
                for i, j in common_subsequence(
                    [a[i][level] or "" for i in mine], [b[j][level] or "" for j in theirs]
                )
            ]
            grown += end
        pairs = grown
    return pairs


def beside(pairs: Sequence[Pair], a: int, b: int) -> Iterator[tuple[int | None, int | None]]:
    """Every item of both once, in order: pairs together, what lies between them side by side.

    `a` and `b` are the lengths. An item without a partner that has nothing beside it stands with
    None.
    """
    for (left, right), end in _gaps(pairs, a, b):
        for n in range(max(len(left), len(right))):
            yield (left[n] if n < len(left) else None, right[n] if n < len(right) else None)
        for pair in end:
            yield pair.a, pair.b


def _gaps(
    pairs: Sequence[Pair], a: int, b: int
) -> Iterator[tuple[tuple[range, range], list[Pair]]]:
    """The stretches before, between and after pairs, each with the pair that ends it."""
    i = j = 0
    for pair in pairs:
        yield (range(i, pair.a), range(j, pair.b)), [pair]
        i, j = pair.a + 1, pair.b + 1
    yield (range(i, a), range(j, b)), []
