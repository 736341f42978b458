"""Agreement of people with each other and with themselves, against outside oracles."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from review_builders import at, choosing, label, messages, pairs, rubric

from reviewer.api.stats import clopper_pearson, krippendorff_alpha
from reviewer.review.agreement import Agreement, agreement, self_consistency, share
from reviewer.review.labels import Label

ORACLES = Path(__file__).parents[1] / "data" / "oracles" / "statistics.json"
PAIRS = pairs(8)
OLD = {item.item: next(m.digest for m in item.messages if m.text[:3] == "old") for item in PAIRS}


def oracle(name: str) -> dict[str, Any]:
    cases = json.loads(ORACLES.read_text("utf-8"))["cases"]
    return next(case for case in cases if case["id"] == name)


def marked(rows: Sequence[Sequence[int | None]], first: int = 1) -> list[Label]:
    """Ratings (rows are reviewers) as labels of messages; `first` is the lowest rating."""
    items = messages(max(map(len, rows)))
    return [
        label(item, marks={"accurate": value - first + 1}, reviewer=f"rater {number}")
        for number, row in enumerate(rows)
        for item, value in zip(items, row, strict=True)
        if value is not None
    ]


def only(labels: Sequence[Label], scale: str = "binary") -> Agreement:
    (found,) = agreement(labels, rubric(scale))
    return found


# outside oracles ----------------------------------------------------------------------------------


def test_alpha_of_three_reviewers_is_the_oracles() -> None:
    case = oracle("krippendorff_alpha/06")
    found = only(marked(case["inputs"]["ratings"], first=0))
    assert found.alpha.value == pytest.approx(case["expected"], abs=case["tol"])
    assert (found.items, found.ratings, found.reviewers) == (
        6,
        18,
        ("rater 0", "rater 1", "rater 2"),
    )
    assert found.kappa.why == "kappa is for two reviewers, here are 3"


@pytest.mark.parametrize(
    ("scale", "published"), [("binary", 0.743421052631579), ("five", 0.8153875037548813)]
)
def test_alpha_with_missing_labels_is_krippendorffs_own_example(
    scale: str, published: float
) -> None:
    """Krippendorff 2011: nominal 0.743, ordinal 0.815; two of twelve items have one label."""
    found = only(marked(oracle("krippendorff_alpha/03")["inputs"]["ratings"]), scale)
    assert found.level == ("nominal" if scale == "binary" else "ordinal")
    assert found.alpha.value == pytest.approx(published, abs=1e-9)
    assert found.alpha.low is not None
    assert found.alpha.high is not None
    assert found.alpha.low < published < found.alpha.high <= 1
    assert (found.items, found.ratings) == (11, 40)


def test_kappa_and_ac1_at_high_prevalence_are_the_oracles() -> None:
    kappa, ac1 = oracle("cohen_kappa/03"), oracle("gwet_ac1/02")
    rows = [kappa["inputs"]["a"], kappa["inputs"]["b"]]
    assert rows == ac1["inputs"]["ratings"]
    found = only(marked(rows, first=0))
    assert found.kappa.value == pytest.approx(kappa["expected"], abs=kappa["tol"])
    assert found.ac1.value == pytest.approx(ac1["expected"], abs=ac1["tol"])
    assert (found.kappa.low, found.kappa.high) == (
        pytest.approx(-0.20, abs=6e-3),
        pytest.approx(0.79, abs=6e-3),
    )
    assert found.prevalence == pytest.approx(0.94)
    assert (found.lead, found.unanimous, found.raw.value) == ("ac1", 46, 0.92)


def test_kappa_of_ordered_marks_is_weighted() -> None:
    case = oracle("cohen_kappa/05")
    found = only(marked([case["inputs"]["a"], case["inputs"]["b"]]), "five")
    assert found.kappa.value == pytest.approx(case["expected"], abs=case["tol"])
    assert (found.kappa.low, found.kappa.high) == (None, None)


# eight annotators, most labels missing ------------------------------------------------------------


def annotated() -> list[list[int | None]]:
    """Eight annotators of 120 trajectories as a public benchmark has them: most trajectories have
    one label, some two or three, nearly all say the same, one annotator gave hardly any."""
    draw = random.Random("agents")
    rows: list[list[int | None]] = [[None] * 120 for _ in range(8)]
    for item in range(120):
        truth = 1 if draw.random() < 0.95 else 2
        count = draw.choice([1, 1, 1, 2, 2, 3])
        for rater in draw.sample(range(7), count):
            wrong = draw.random() < 0.08
            rows[rater][item] = (2 if truth == 1 else 3) if wrong else truth
    rows[7][5] = 1
    return rows


def by_hand(rows: list[list[int | None]]) -> tuple[float, float, float]:
    """Mean pairwise agreement, nominal alpha, AC1: straight from their definitions."""
    units = [[v for v in column if v is not None] for column in zip(*rows, strict=True)]
    twice = [unit for unit in units if len(unit) > 1]
    po = [
        sum(a == b for i, a in enumerate(u) for j, b in enumerate(u) if i != j)
        / (len(u) * (len(u) - 1))
        for u in twice
    ]
    raw = sum(po) / len(po)
    values = [v for unit in twice for v in unit]
    n = len(values)
    totals = Counter(values)
    expected = sum(totals[a] * (n - totals[a]) for a in totals) / (n * (n - 1))
    observed = sum(len(u) * (1 - p) for u, p in zip(twice, po, strict=True)) / n
    rated = [unit for unit in units if unit]
    answers = {v for unit in rated for v in unit}
    shares = [sum(u.count(k) / len(u) for u in rated) / len(rated) for k in answers]
    chance = sum(p * (1 - p) for p in shares) / (len(answers) - 1)
    return raw, 1 - observed / expected, (raw - chance) / (1 - chance)


def test_eight_annotators_with_most_labels_missing() -> None:
    rows = annotated()
    twice = [c for c in zip(*rows, strict=True) if sum(v is not None for v in c) > 1]
    found = only(marked(rows))
    raw, alpha, ac1 = by_hand(rows)
    assert found.items == len(twice) < 120
    assert len(found.reviewers) == 8
    assert found.raw.value == pytest.approx(raw)
    assert found.alpha.value == pytest.approx(alpha)
    assert found.lead == "ac1"
    assert found.alpha.low is not None
    assert found.alpha.high is not None
    assert found.alpha.low < alpha < found.alpha.high
    assert found.ac1.value is not None
    assert found.ac1.value > found.alpha.value
    # AC1 learns how common an answer is from items with one label too.
    assert found.ac1.value == pytest.approx(ac1)


# winners of pairs ---------------------------------------------------------------------------------


def choices(reviewer: str, winners: str) -> list[Label]:
    """One reviewer's labels: per pair a letter for both showings, o(ld), n(ew), t(ie), b(oth bad),
    or f (flips: the left slot both times)."""
    words = {"o": "old", "n": "new", "t": "tie", "b": "both_bad"}
    made = []
    for item, letter in zip(PAIRS, winners, strict=False):
        for number in (1, 2):
            if letter == "f":
                made.append(label(item, answer="left", showing=number, reviewer=reviewer))
            else:
                made.append(choosing(item, words[letter], showing=number, reviewer=reviewer))
    return made


def test_two_reviewers_of_four_pairs() -> None:
    """By hand: 5 old and 3 new, so alpha 1 - 7·2/30 and AC1 (3/4 - 15/32) / (1 - 15/32)."""
    (found,) = agreement([*choices("dana", "nnoo"), *choices("kim", "nooo")], first=OLD)
    assert found.alpha.value == pytest.approx(16 / 30)
    assert (found.alpha.low, found.alpha.high) == (pytest.approx(-0.4), pytest.approx(1.0))
    assert found.ac1.value == pytest.approx(9 / 17)
    assert found.kappa.value == pytest.approx(0.5)
    assert found.prevalence == 5 / 8
    assert (found.subject.question, found.items, found.unanimous) == ("winner", 4, 3)
    assert (found.raw.hits, found.raw.n, found.raw.value) == (3, 4, 0.75)
    assert (found.raw.low, found.raw.high) == (
        pytest.approx(0.19412, abs=1e-4),
        pytest.approx(0.99369, abs=1e-4),
    )


def test_the_order_a_pair_was_shown_in_does_not_matter() -> None:
    (found,) = agreement([*choices("dana", "onon"), *choices("kim", "onon")], first=OLD)
    assert (found.raw.value, found.alpha.value) == (1.0, 1.0)
    assert found.alpha.why == (
        "no interval: not enough pairs: none disagrees; raw agreement has the exact bound"
    )


@pytest.mark.parametrize("answers", ["onon", "onononono"])
def test_no_coefficient_has_an_interval_of_no_width(answers: str) -> None:
    """Where nobody disagrees nothing varies: that is no certainty."""
    pairs = answers[: len(PAIRS)]
    (found,) = agreement([*choices("dana", pairs), *choices("kim", pairs)], first=OLD)
    assert found.kappa.value == 1.0
    for one in (found.kappa, found.alpha):
        assert (one.low, one.high) == (None, None)
        assert one.why is not None
        assert "not enough pairs" in one.why
    assert found.raw.low is not None
    assert found.raw.low < 1.0


def test_without_a_first_message_the_lower_digest_is_it() -> None:
    labels = [*choices("dana", "onon"), *choices("kim", "oonn")]
    lower = {item.item: item.messages[0].digest for item in PAIRS}
    assert agreement(labels) == agreement(labels, first=lower)
    assert agreement(labels, first=OLD) == agreement(labels, first=OLD | {"0" * 64: "x"})
    strange = {item.item: "0" * 64 for item in PAIRS}
    assert agreement(labels, first=strange) == agreement(labels)


def test_a_preference_that_turns_with_the_order_is_a_tie() -> None:
    for winner, alike in (("o", 0), ("n", 0), ("b", 0), ("t", 1)):
        (found,) = agreement([*choices("dana", "f"), *choices("kim", winner)])
        assert found.raw.hits == alike


def test_two_who_always_press_left_do_not_agree_beyond_chance() -> None:
    (found,) = agreement([*choices("dana", "ffff"), *choices("kim", "ffff")])
    assert found.raw.value == 1.0
    assert (found.alpha.value, found.alpha.why) == (None, "only one answer occurs")
    assert found.kappa.value is found.ac1.value is None


def test_criteria_of_pairs_and_of_messages_are_questions_of_their_own() -> None:
    (message,) = messages(1)
    labels = [
        choosing(PAIRS[0], "old", decided={"accurate": "left"}),
        choosing(PAIRS[0], "old", reviewer="kim", decided={"accurate": "right"}),
        label(message, marks={"accurate": 1, "tone": 4}),
        label(message, marks={"accurate": 1, "tone": 5}, reviewer="kim"),
    ]
    found = agreement(labels, rubric())
    subjects = [(a.subject.question, a.subject.criterion_id, a.level) for a in found]
    assert subjects == [
        ("winner", None, "nominal"),
        ("decided", "accurate", "nominal"),
        ("mark", "accurate", "nominal"),
        ("mark", "tone", "ordinal"),
    ]
    assert [a.raw.value for a in found] == [1.0, 0.0, 1.0, 0.0]
    assert found[3].alpha.why == "no interval: not enough items"


@given(st.text("ontbf", min_size=2, max_size=8), st.text("ontbf", min_size=2, max_size=8))
def test_agreement_knows_no_first_reviewer(a: str, b: str) -> None:
    one = agreement([*choices("dana", a), *choices("kim", b)])
    other = agreement([*choices("kim", a), *choices("dana", b)])
    assert len(one) == len(other) == 1
    for name in ("raw", "alpha", "ac1", "items", "prevalence", "lead"):
        assert getattr(one[0], name) == getattr(other[0], name)


def test_the_bootstrap_is_repeatable_and_its_seed_matters() -> None:
    labels = [*choices("dana", "onnotbon"), *choices("kim", "onontobn")]
    one = agreement(labels, seed="a")[0].alpha
    assert one == agreement(list(reversed(labels)), seed="a")[0].alpha
    assert one.low is not None
    assert one.value == pytest.approx(agreement(labels, seed="b")[0].alpha.value)
    assert len({agreement(labels, seed=str(s))[0].alpha.low for s in range(9)}) > 1


# what is not measured -----------------------------------------------------------------------------


def test_what_cannot_be_measured_says_why() -> None:
    (message,) = messages(1)
    apart = [label(PAIRS[0]), label(PAIRS[1], reviewer="kim")]
    third = [label(PAIRS[0]), label(PAIRS[0], reviewer="kim", role="adjudicator")]
    skipped = [label(PAIRS[0]), label(PAIRS[0], reviewer="kim", skipped="unreadable")]
    for labels, why in (
        ([], "no labels"),
        ([label(PAIRS[0])], "one reviewer"),
        ([label(message)], "one reviewer"),
        (apart, "no item labeled by two reviewers"),
        (third, "one reviewer"),
        (skipped, "one reviewer"),
    ):
        (found,) = agreement(labels)
        assert found.why == found.alpha.why == found.ac1.why == found.kappa.why == why
        assert (found.alpha.value, found.ac1.value, found.kappa.value) == (None, None, None)
        assert (found.raw.n, found.raw.value, found.raw.low) == (0, None, None)


def test_labels_of_two_rubrics_are_not_mixed() -> None:
    labels = [label(PAIRS[0]), label(PAIRS[0], reviewer="kim", rubric_digest="7" * 64)]
    with pytest.raises(ValueError, match=r"labels of 2 rubrics \(666666666666, 777777777777\)"):
        agreement(labels)


def test_a_share_of_nothing_is_unknown() -> None:
    assert (share(0, 0).value, share(0, 0).low) == (None, None)
    assert (share(0, 5).value, share(0, 5).low) == (0.0, 0.0)


# each with themselves ----------------------------------------------------------------------------


def test_each_reviewers_repeats_and_left_slot() -> None:
    dana, kim = self_consistency([*choices("dana", "onnf"), *choices("kim", "ootb")])
    assert (dana.same.hits, dana.same.n, dana.left.n, dana.needed) == (3, 4, 8, 16)
    limits = clopper_pearson(3, 4)
    assert (dana.same.low, dana.same.high) == limits
    assert dana.flips == (PAIRS[3].item,)
    # Three pairs judged alike give left once each; the flipped one gives left twice.
    assert dana.left.hits == 5
    assert (dana.left.low, dana.left.high) == clopper_pearson(5, 8)
    assert (kim.same.value, kim.flips) == (1.0, ())
    assert (kim.left.hits, kim.left.n) == (2, 4)


def test_the_first_showing_alone_is_no_repeat() -> None:
    (dana,) = self_consistency([label(PAIRS[0]), label(PAIRS[1], answer="tie")])
    assert (dana.same.n, dana.same.value, dana.needed) == (0, None, 20)
    assert (dana.left.hits, dana.left.n) == (1, 1)


def test_a_revised_answer_is_what_repeats() -> None:
    first = choosing(PAIRS[0], "old")
    second = choosing(PAIRS[0], "new", showing=2)
    revised = choosing(PAIRS[0], "old", showing=2, revises=second.uid, at=at(9))
    assert self_consistency([first, second])[0].same.value == 0.0
    assert self_consistency([first, second, revised])[0].same.value == 1.0
    assert self_consistency([choosing(PAIRS[0], "old", role="adjudicator")]) == ()


def test_alpha_of_labels_is_alpha_of_their_values() -> None:
    rows = [[1, 2, 2, 1, 2], [1, 2, 1, 1, None]]
    found = only(marked(rows))
    assert found.alpha.value == pytest.approx(krippendorff_alpha(rows))
