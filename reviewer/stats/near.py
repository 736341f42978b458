"""Whether a text is one of a few known ones again: the same, within a longer one, or nearly so.

Texts are compared as words: case, punctuation, width of characters and line breaks do not count.
Near means the Jaccard index of their shingles, runs of WIDTH words. MinHash (Broder, "On the
resemblance and containment of documents", 1997) with banding (Leskovec, Rajaraman, Ullman, "Mining
of Massive Datasets", 3.4) finds which pairs are worth comparing; what is reported is the exact
index of those, so nothing is found that is not there. What may be missed is said (`missed`).
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from datasketch import MinHash

WIDTH = 3
PERMUTATIONS = 128
SEED = 1
MISSED = 0.001
"""Share of pairs at the threshold that banding may pass over."""
SHORTEST = 6
"""Words a text must have to be found within others or nearly: below, chance alike is too likely."""

Likeness = Literal["exact", "inside", "near"]
_WORD = re.compile(r"[^\W_]+")


class Match(NamedTuple):
    """The known text `key` again. `jaccard` is the exact index of the shingles, in [0, 1]."""

    key: str
    kind: Likeness
    jaccard: float


def words(text: str) -> tuple[str, ...]:
    """The words of a text in compatibility form (NFKC), caseless, without punctuation."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def shingles(of: tuple[str, ...]) -> frozenset[int]:
    """Digests of 64 bits of every run of WIDTH words; of the whole, when it has fewer."""
    runs = range(max(1, len(of) - WIDTH + 1))
    return frozenset(_digest(" ".join(of[at : at + WIDTH])) for at in runs)


@lru_cache(maxsize=200_000)
def _digest(run: str) -> int:
    raw = hashlib.blake2b(run.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw, "big")


def jaccard(a: frozenset[int], b: frozenset[int]) -> float:
    """|a & b| / |a | b|, 0 for two empty sets."""
    either = len(a | b)
    return len(a & b) / either if either else 0.0


def banding(threshold: float) -> tuple[int, int]:
    """(bands, rows): the longest rows that pass over at most MISSED of pairs at the threshold.

    ValueError for a threshold outside (0, 1].
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"a threshold is above 0 and at most 1, not {threshold!r}")
    for rows in range(PERMUTATIONS // 2, 1, -1):  # one band alone is no banding
        if missed(threshold, PERMUTATIONS // rows, rows) <= MISSED:
            return PERMUTATIONS // rows, rows
    return PERMUTATIONS, 1


def missed(similarity: float, bands: int, rows: int) -> float:
    """The chance that no band of two texts of this similarity agrees: (1 - s^rows)^bands."""
    return float((1 - similarity**rows) ** bands)


class Known:
    """Texts to look for, by key. Needs `datasketch`.

    `compared` are the keys long enough to be found within others, or nearly; the rest can only be
    found exact. ValueError as `banding`.
    """

    def __init__(self, texts: Mapping[str, str], threshold: float) -> None:
        from datasketch import MinHashLSH

        self.threshold = threshold
        self.bands, self.rows = banding(threshold)
        self._words = {key: found for key, text in texts.items() if (found := words(text))}
        self._exact: dict[tuple[str, ...], list[str]] = {}
        for key, found in self._words.items():
            self._exact.setdefault(found, []).append(key)
        self.compared = frozenset(k for k, found in self._words.items() if len(found) >= SHORTEST)
        self._shingles = {key: shingles(self._words[key]) for key in sorted(self.compared)}
        self._any = frozenset[int]().union(*self._shingles.values())
        self._anchors: dict[int, list[str]] = {}
        self._near = MinHashLSH(num_perm=PERMUTATIONS, params=(self.bands, self.rows))
        for key, found_shingles in self._shingles.items():
            self._anchors.setdefault(min(found_shingles), []).append(key)
            self._near.insert(key, _minhash(found_shingles))

    def find(self, text: str) -> list[Match]:
        """Every known text that this one repeats, each once, by key."""
        of = words(text)
        found = {key: Match(key, "exact", 1.0) for key in self._exact.get(of, ())}
        if len(of) >= SHORTEST:
            runs = shingles(of)
            shared = runs & self._any
            if shared:
                for match in self._alike(of, runs, shared):
                    found.setdefault(match.key, match)
        return [found[key] for key in sorted(found)]

    def _alike(
        self, of: tuple[str, ...], runs: frozenset[int], shared: frozenset[int]
    ) -> Iterator[Match]:
        # A text that holds another whole has each of its shingles, the least one too.
        for anchor in shared:
            for key in self._anchors.get(anchor, ()):
                if self._shingles[key] <= runs and _within(self._words[key], of):
                    yield Match(key, "inside", jaccard(self._shingles[key], runs))
        for key in self._near.query(_minhash(runs)):
            index = jaccard(self._shingles[str(key)], runs)
            if index >= self.threshold:
                yield Match(str(key), "near", index)


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether the words of one stand in a row in the other."""
    return f" {' '.join(part)} " in f" {' '.join(whole)} "


def _minhash(of: frozenset[int]) -> "MinHash":
    made = _empty().copy()
    made.update_batch(sorted(of))
    return made


@lru_cache(maxsize=1)
def _empty() -> "MinHash":
    from datasketch import MinHash

    return MinHash(num_perm=PERMUTATIONS, seed=SEED, hashfunc=_itself, scheme="affine64")


def _itself(digest: int) -> int:
    return digest
