"""Texts that come again: what is found is there; what may be missed is as rare as it is said."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.stats.text import (
    MISSED,
    PERMUTATIONS,
    SHORTEST,
    WIDTH,
    KnownTexts,
    banding,
    jaccard,
    missed,
    shingles,
    words,
)

VOCABULARY = [f"w{n}" for n in range(12)]
TEXT = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=30).map(" ".join)


def _runs(text: str) -> set[tuple[str, ...]]:
    """Runs of words by themselves, without digests."""
    of = text.split()
    return {tuple(of[at : at + WIDTH]) for at in range(max(1, len(of) - WIDTH + 1))}


def _index(a: str, b: str) -> float:
    return len(_runs(a) & _runs(b)) / len(_runs(a) | _runs(b))


@given(TEXT, TEXT)
def test_the_index_is_that_of_the_runs_themselves(a: str, b: str) -> None:
    assert jaccard(shingles(words(a)), shingles(words(b))) == pytest.approx(_index(a, b))


@given(st.lists(TEXT, min_size=1, max_size=6), TEXT, st.sampled_from([0.3, 0.5, 0.7, 0.9, 1.0]))
def test_nothing_is_found_that_is_not_there(known: list[str], text: str, threshold: float) -> None:
    texts = {str(n): one for n, one in enumerate(known)}
    for match in KnownTexts(texts, threshold).find(text):
        other = texts[match.key]
        assert match.jaccard == pytest.approx(_index(other, text))
        if match.kind == "exact":
            assert other == text
        elif match.kind == "inside":
            assert f" {other} " in f" {text} "
        else:
            assert match.jaccard >= threshold


@given(st.lists(TEXT, min_size=1, max_size=6), TEXT, TEXT, TEXT)
def test_the_same_words_are_always_found(
    known: list[str], before: str, after: str, alone: str
) -> None:
    texts = {str(n): one for n, one in enumerate([*known, alone])}
    found = KnownTexts(texts, 0.9)
    assert [m.kind for m in found.find(alone) if texts[m.key] == alone].count("exact") >= 1
    whole = f"{before} {alone} {after}"
    if len(alone.split()) >= SHORTEST:
        assert str(len(known)) in [match.key for match in found.find(whole)]


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.85])
def test_near_texts_are_missed_as_rarely_as_it_is_said(threshold: float) -> None:
    """Two hundred texts and one altered copy of each, at the threshold or a little above it."""
    chance = random.Random(7)
    texts = {str(n): " ".join(f"t{chance.randrange(10**6)}" for _ in range(60)) for n in range(200)}
    known, lost, asked = KnownTexts(texts, threshold), 0, 0
    for key, text in texts.items():
        changed = text.split()
        while True:
            fewer = changed[:-1]
            if _index(text, " ".join(fewer)) < threshold:
                break
            changed = fewer
        asked += 1
        lost += key not in [match.key for match in known.find(" ".join(changed))]
    assert asked == 200
    assert lost <= 3  # 0.2 are expected at most; four by chance once in 20,000 runs


@given(st.floats(min_value=0.05, max_value=1))
def test_banding_keeps_to_its_promise_where_it_can(threshold: float) -> None:
    bands, rows = banding(threshold)
    assert bands * rows <= PERMUTATIONS
    assert missed(threshold, bands, rows) <= MISSED or rows == 1


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.01, float("nan")])
def test_a_threshold_that_is_none_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        KnownTexts({"a": "one"}, threshold)


def test_case_width_punctuation_and_breaks_do_not_count() -> None:
    known = KnownTexts({"a": "Please refund order 221, it arrived broken."}, 0.7)
    assert [
        m.kind for m in known.find("ｐｌｅａｓｅ REFUND\n order-221\u200b it_arrived “broken”!")
    ] == ["exact"]


def test_short_texts_are_found_exact_and_nothing_else() -> None:
    known = KnownTexts({"a": "Refund my order", "b": ""}, 0.1)
    assert known.compared == frozenset()
    assert [m.kind for m in known.find("refund, my order")] == ["exact"]
    assert known.find("please refund my order for the lamp now") == []
    assert known.find("") == []
