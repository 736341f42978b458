"""Comparing two answers as text. Diagnostics only: a phrase match never gates a release."""

import re
import string
import unicodedata
from collections import Counter

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.ASCII)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _squad_normalise(text: str) -> str:
    """Lower case, punctuation out, articles out, white space folded: SQuAD's order of steps."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def _multiset_f1(predicted: list[str], reference: list[str]) -> float:
    """F1 over tokens, each counting at most as often as in the other; 1 when both are empty."""
    if not predicted or not reference:
        return float(predicted == reference)
    shared = (Counter(predicted) & Counter(reference)).total()
    return 2 * shared / (len(predicted) + len(reference))


def squad_f1(prediction: str, reference: str) -> float:
    """Token F1 of the official SQuAD v2.0 script (articles and punctuation dropped)."""
    return _multiset_f1(_squad_normalise(prediction).split(), _squad_normalise(reference).split())


def squad_em(prediction: str, reference: str) -> bool:
    """Exact match of the official SQuAD v2.0 script."""
    return _squad_normalise(prediction) == _squad_normalise(reference)


def token_f1(predicted: str, reference: str) -> float:
    """Token F1 with counts, punctuation and case dropped, every word kept, articles too."""
    tokens = [t.casefold().translate(_PUNCTUATION).split() for t in (predicted, reference)]
    return _multiset_f1(tokens[0], tokens[1])


def token_f1_set(predicted: str, reference: str) -> float:
    """The source article's token F1: distinct lower-case tokens split on white space.

    Repetition is free and "Paris." is not "Paris"; shown beside `token_f1` for comparison only.
    """
    a, b = (sorted(set(text.lower().split())) for text in (predicted, reference))
    return _multiset_f1(a, b)


def exact_match(predicted: str, reference: str) -> bool:
    """Equal after Unicode composition, case folding and stripping outer white space."""
    a, b = (unicodedata.normalize("NFC", t).strip().casefold() for t in (predicted, reference))
    return a == b


def indel_ratio(a: str, b: str) -> float:
    """Similarity 2·LCS/(len a + len b) in characters, symmetric; 1 for two empty texts.

    The replacement for difflib's ratio, which is neither symmetric nor safe on long texts.
    """
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(a, b)
