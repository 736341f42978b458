"""Comparisons of two texts: scores of an answer, and known texts found again.

Scores are diagnostics only: a phrase match never gates a release. To find a known text again
(`KnownTexts`), texts are compared as words: case, punctuation, width of characters and line breaks
do not count. Near means the Jaccard index of their shingles, runs of WIDTH words. MinHash (Broder,
"On the resemblance and containment of documents", 1997) with banding (Leskovec, Rajaraman, Ullman,
"Mining of Massive Datasets", 3.4) finds which pairs are worth comparing; their exact index is
reported, so every match is real. `missed` gives the chance that banding misses a pair.
"""

import hashlib
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from datasketch import MinHash

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.ASCII)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _squad_normalize(text: str) -> str:
    """Lower the case, drop punctuation and articles, fold white space: SQuAD's order of steps."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def _multiset_f1(predicted: list[str], reference: list[str]) -> float:
    """Return F1 over tokens, each counted at most as often as in the other; 1 for two empty
    lists."""
    if not predicted or not reference:
        return float(predicted == reference)
    shared = (Counter(predicted) & Counter(reference)).total()
    return 2 * shared / (len(predicted) + len(reference))


def squad_f1(prediction: str, reference: str) -> float:
    """Return the token F1 of the official SQuAD v2.0 script (articles and punctuation dropped)."""
    return _multiset_f1(_squad_normalize(prediction).split(), _squad_normalize(reference).split())


def squad_em(prediction: str, reference: str) -> bool:
    """Return the exact match of the official SQuAD v2.0 script."""
    return _squad_normalize(prediction) == _squad_normalize(reference)


def token_f1(predicted: str, reference: str) -> float:
    """Return token F1 with counts, without punctuation and case, every word kept, articles too."""
    tokens = [t.casefold().translate(_PUNCTUATION).split() for t in (predicted, reference)]
    return _multiset_f1(tokens[0], tokens[1])


def token_f1_set(predicted: str, reference: str) -> float:
    """Return the source article's token F1: distinct lower-case tokens split on white space.

    Repetition is free and "Paris." is not "Paris"; shown beside `token_f1` for comparison only.
    """
    a, b = (sorted(set(text.lower().split())) for text in (predicted, reference))
    return _multiset_f1(a, b)


def exact_match(predicted: str, reference: str) -> bool:
    """Return whether texts are equal after Unicode composition, case folding and stripping."""
    a, b = (unicodedata.normalize("NFC", t).strip().casefold() for t in (predicted, reference))
    return a == b


def indel_ratio(a: str, b: str) -> float:
    """Return the similarity 2·LCS/(len a + len b) in characters, symmetric; 1 for two empty texts.

    The replacement for difflib's ratio, which is neither symmetric nor safe on long texts.
    """
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(a, b)


WIDTH = 3
PERMUTATIONS = 128
SEED = 1
MISSED = 0.001
"""Share of pairs at the threshold that banding may miss."""
SHORTEST = 6
"""Words a text must have to be found inside another or nearly equal: with fewer, matches by chance
are too likely."""

Likeness = Literal["exact", "inside", "near"]
_WORD = re.compile(r"[^\W_]+")


class Match(NamedTuple):
    """A known text, `key`, found again. `jaccard` is the exact index of the shingles, in [0, 1]."""

    key: str
    kind: Likeness
    jaccard: float


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in compatibility form (NFKC), caseless, without punctuation."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def shingles(of: tuple[str, ...]) -> frozenset[int]:
    """Return 64-bit digests of every run of WIDTH words; of the whole text, when it has fewer."""
    runs = range(max(1, len(of) - WIDTH + 1))
    return frozenset(_digest(" ".join(of[at : at + WIDTH])) for at in runs)


@lru_cache(maxsize=200_000)
def _digest(run: str) -> int:
    raw = hashlib.blake2b(run.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw, "big")


def jaccard(a: frozenset[int], b: frozenset[int]) -> float:
    """Return |a & b| / |a | b|, 0 for two empty sets."""
    either = len(a | b)
    return len(a & b) / either if either else 0.0


def banding(threshold: float) -> tuple[int, int]:
    """Return (bands, rows): the longest rows that miss at most MISSED of pairs at the threshold.

    ValueError for a threshold outside (0, 1].
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"a threshold is above 0 and at most 1, not {threshold!r}")
    for rows in range(PERMUTATIONS // 2, 1, -1):  # one band alone is not banding
        if missed(threshold, PERMUTATIONS // rows, rows) <= MISSED:
            return PERMUTATIONS // rows, rows
    return PERMUTATIONS, 1


def missed(similarity: float, bands: int, rows: int) -> float:
    """Return the chance that no band of two texts this similar is equal: (1 - s^rows)^bands."""
    return float((1 - similarity**rows) ** bands)


class KnownTexts:
    """Texts to look for, by key. Needs `datasketch`.

    `compared` are the keys of texts long enough to be found inside others, or nearly equal; shorter
    texts are found only as exact matches. ValueError as `banding`.
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
        """Return every known text that this one repeats, each once, by key."""
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
        # A text that contains another has each of its shingles, also the least one.
        for anchor in shared:
            for key in self._anchors.get(anchor, ()):
                if self._shingles[key] <= runs and _within(self._words[key], of):
                    yield Match(key, "inside", jaccard(self._shingles[key], runs))
        for key in self._near.query(_minhash(runs)):
            index = jaccard(self._shingles[str(key)], runs)
            if index >= self.threshold:
                yield Match(str(key), "near", index)


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Return whether the words of `part` occur in a row in `whole`."""
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
