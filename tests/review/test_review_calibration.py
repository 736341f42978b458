"""What a judge has earned: figures, role, expiry, and what it would take."""

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_builders import (
    FAMILY,
    KEY,
    POLICY,
    both,
    draft,
    judgment,
    measured,
    rows,
)
from review_builders import at, choosing, messages, pairs

from reviewer.review.judged import PairRow, message_figures, win_rate
from reviewer.review.judgments import Claim, counting, seal
from reviewer.review.labels import Label
from reviewer.review.labels import seal as seal_label
from reviewer.stats.bounds import rate_lower_bound
from reviewer.stats.rates import failure_rate_upper_bound
from reviewer.suite.model import JudgePolicy

ARTICLE = ("AAA", "BBA", "AAA", "BAB")


def test_the_articles_four_rows() -> None:
    items = pairs(4)
    found = measured(items, *rows(items, *ARTICLE))
    assert (found.forward.value, found.flips.value) == (0.75, 0.50)
    assert found.role == "advisory only"
    assert (found.within, found.within_strict) == (False, False)
    assert (found.swapped.hits, found.both.hits, found.errors, found.calls) == (3, 2, 0, 8)
    assert found.earned.why == ("forward accuracy 0.75 < 0.90, flip rate 0.50 > 0.05 (point mode)")
    assert [row.outcome for row in sorted(found.rows, key=lambda r: r.episode_id)] == [
        "agrees", "flips", "agrees", "flips",
    ]  # fmt: skip


def test_bounds_are_one_sided_and_on_the_side_that_counts() -> None:
    items = pairs(4)
    found = measured(items, *rows(items, *ARTICLE))
    assert found.forward_lower == rate_lower_bound(successes=3, total=4)
    assert found.both_lower == rate_lower_bound(successes=2, total=4)
    assert found.flip_upper == failure_rate_upper_bound(2, 4, 0.95)


def test_without_a_label_nothing_is_known_and_nothing_accepted() -> None:
    items = pairs(2)
    found = measured(items, [], both(items[0], "old", "old"))
    assert found.forward.value is found.flips.value is found.both_lower is None
    assert (found.within, found.role) == (None, "advisory only")
    assert found.left.unlabeled == 1
    assert "no pair that people labeled" in found.earned.why


@pytest.mark.parametrize(
    ("row", "outcome", "forward", "flips"),
    [
        ("AxA", "error", 0, 1),
        ("AAx", "error", 1, 1),
        ("Axx", "error", 0, 1),
        ("ABB", "differs", 0, 0),
        ("ttt", "agrees", 1, 0),
        ("tAA", "differs", 0, 0),
        ("ztt", "agrees", 1, 0),
        ("zAA", "differs", 0, 0),
        ("AAt", "flips", 1, 1),
    ],
)
def test_a_row_and_what_it_counts_for(row: str, outcome: str, forward: int, flips: int) -> None:
    items = pairs(1)
    found = measured(items, *rows(items, row))
    assert (found.rows[0].outcome, found.forward.hits, found.flips.hits) == (
        outcome, forward, flips,
    )  # fmt: skip
    assert found.errors == row.count("x")


def test_an_always_left_judge_flips_on_every_pair_toward_the_first_slot() -> None:
    items = pairs(12)
    labels = [choosing(item, "old") for item in items]
    said = [
        seal(draft(item, order, answer="left"))
        for item in items
        for order in ("forward", "swapped")
    ]
    found = measured(items, labels, said)
    assert (found.flips.value, found.primacy, found.recency) == (1.0, 12, 0)
    assert found.position_p == pytest.approx(2 * 0.5**12)
    assert {row.slot for row in found.rows} == {"first"}
    assert (found.both.hits, found.role) == (0, "advisory only")


@pytest.mark.parametrize(
    ("written", "right"),
    [
        (["ttt"] * 95 + ["Att"] * 5, "0 of 5"),
        (["ttt"] * 93 + ["AAA"] * 3 + ["Btt"] * 4, "3 of 7"),
        (["ztt"] * 4, "0 of 0"),
    ],
)
def test_a_judge_that_calls_every_pair_a_tie_earns_nothing(written: list[str], right: str) -> None:
    """However rare a winner is: its accuracy is 0.95 or more, and it never flips."""
    items = pairs(len(written))
    found = measured(items, *rows(items, *written))
    assert (found.within, found.role) == (True, "advisory only")
    assert found.earned.why.startswith(f"right on {right} pairs that people gave to a side")
    more = found.earned.more
    assert more is not None
    for added, role in ((more, "scoring"), (more - 1, "advisory only")):
        items = pairs(len(written) + added)
        then = measured(items, *rows(items, *written, *["AAA"] * added))
        assert then.role == role


def test_in_point_mode_four_clean_labels_do_and_in_strict_mode_59() -> None:
    items = pairs(59)
    labels, said = rows(items, *["AAA"] * 59)
    few = measured(items[:4], labels[:4], said[:8])
    assert (few.role, few.earned.needs) == ("scoring", "")
    assert (few.within, few.within_strict) == (True, False)
    for count, role in ((58, "advisory only"), (59, "scoring")):
        found = measured(items[:count], labels[:count], said[: 2 * count], strict=True)
        assert found.role == role, count
    short = measured(items[:4], labels[:4], said[:8], strict=True)
    assert (short.earned.more, short.earned.more_strict) == (55, 55)
    assert "flip rate, bound 0.53 > 0.05" in short.earned.why
    assert short.earned.needs.startswith("55 more labeled pairs at least")


@given(
    st.lists(st.sampled_from(["AAA", "ABB", "AAB", "BAB", "AxA", "ttA"]), max_size=12),
    st.sampled_from([(0.9, 0.05), (0.75, 0.25), (0.5, 0.0), (1.0, 0.05), (0.0, 1.0), (0.97, 0.03)]),
    st.booleans(),
)
def test_so_many_more_are_enough_and_one_fewer_is_not(
    written: list[str], limits: tuple[float, float], strict: bool
) -> None:
    items = pairs(len(written))
    policy = JudgePolicy(min_accuracy=limits[0], max_flip_rate=limits[1])
    before = measured(items, *rows(items, *written), strict=strict, policy=policy)
    more = before.earned.more
    if before.role == "scoring":
        assert more == 0
        return
    if more is None:
        assert "no number of labels" in before.earned.needs
        more = 60
        expected = {more: "advisory only"}
    else:
        expected = {more: "scoring", more - 1: "advisory only"}
    for added, role in expected.items():
        if added < 0 or added > 250:
            continue
        items = pairs(len(written) + added)
        then = measured(
            items, *rows(items, *written, *["AAA"] * added), strict=strict, policy=policy
        )
        assert then.role == role, (added, before.earned)


def test_a_limit_shows_on_which_side_of_it_a_figure_is() -> None:
    items = pairs(125)
    policy = JudgePolicy(min_accuracy=0.9, max_flip_rate=1.0)
    found = measured(items, *rows(items, *["AAA"] * 112, *["ABB"] * 13), policy=policy)
    assert found.earned.why == "forward accuracy 0.896 < 0.90 (point mode)"


# what a calibration holds for ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "m2"}, "model m is now m2"),
        ({"prompt_digest": "9" * 64}, "prompt 777777 is now 999999"),
        ({"rubric_digest": "a" * 64}, "rubric 666666 is now aaaaaa"),
        ({"family": "other-agent"}, f"candidate family {FAMILY} is now other-agent"),
        ({"judge_id": "k", "model": "m2"}, "judge j is now k; model m is now m2"),
    ],
)
def test_it_expires_with_what_it_was_made_for(changed: dict[str, str], said: str) -> None:
    items = pairs(4)
    labels, judgments = rows(items, *["AAA"] * 4)
    assert measured(items, labels, judgments).role == "scoring"
    found = measured(items, labels, judgments, key=msgspec.structs.replace(KEY, **changed))
    assert found.expired == said
    assert found.role == "advisory only"
    assert found.earned.why == f"calibration expired: {said}"
    assert found.forward.value is None


def test_a_new_model_has_to_earn_it_anew() -> None:
    items = pairs(4)
    labels, old = rows(items, *["AAA"] * 4)
    new = both(items[0], "new", "new", model="m2", at=at(900))
    key = msgspec.structs.replace(KEY, model="m2")
    found = measured(items, labels, [*old, *new], key=key)
    assert (found.forward.hits, found.forward.n, found.expired) == (0, 1, "")
    assert found.left.unjudged == 3


def test_items_of_unknown_candidates_count_for_nobody() -> None:
    items = pairs(2)
    found = measured((), *rows(items, "AAA", "AAA"))
    assert found.rows == ()
    assert found.left.other_family == 2
    assert found.expired == f"candidate family unknown is now {FAMILY}"


# what makes no row --------------------------------------------------------------------------------


def test_pairs_on_which_people_differ_wait_for_a_third_person() -> None:
    items = pairs(1)
    labels, judgments = rows(items, "AAA")
    differs = choosing(items[0], "new", reviewer="kim")
    found = measured(items, [*labels, differs], judgments)
    assert (len(found.rows), found.left.unsettled) == (0, 1)
    third = choosing(items[0], "new", reviewer="lee", role="adjudicator")
    settled = measured(items, [*labels, differs, third], judgments)
    assert (settled.forward.hits, settled.forward.n) == (0, 1)


def test_one_order_alone_is_no_row() -> None:
    items = pairs(1)
    labels, judgments = rows(items, "AAA")
    found = measured(items, labels, judgments[:1])
    assert (len(found.rows), found.left.unjudged) == (0, 1)


def test_the_first_answer_counts_and_a_try_without_one_only_until_it_came() -> None:
    items = pairs(1)
    labels, _ = rows(items, "AAA")
    silent = judgment(items[0], None, order="forward", error="no_answer", at=at(600))
    first = judgment(items[0], "new", order="forward", at=at(700))
    better = judgment(items[0], "old", order="forward", at=at(800))
    swapped = judgment(items[0], "old", order="swapped", at=at(800))
    assert measured(items, labels, [silent, swapped]).errors == 1
    found = measured(items, labels, [better, swapped, silent, first])
    assert (found.errors, found.rows[0].outcome) == (0, "flips")
    assert len(counting([better, swapped, silent, first])) == 2


def test_repeats_show_stability_and_make_no_further_rows() -> None:
    items = pairs(2)
    labels, judgments = rows(items, "AAA", "AAA")
    for n, winner in enumerate(("old", "new", "old"), 2):
        judgments.append(judgment(items[0], winner, order="forward", repeat=n))
    found = measured(items, labels, judgments)
    assert (found.forward.n, found.repeated, found.stability) == (2, 1, 0.75)


def test_confusion_counts_people_against_the_judge() -> None:
    items = pairs(4)
    found = measured(items, *rows(items, "AAA", "ABB", "ztt", "Bxx"))
    assert sum(found.confusion.values()) == 4
    assert found.confusion["both_bad", "tie"] == 1
    assert sum(n for (_, judge), n in found.confusion.items() if judge == "error") == 1


def test_confusion_stands_for_each_episode_and_sums_to_the_whole() -> None:
    items = pairs(4)
    found = measured(items, *rows(items, "AAA", "ABB", "ztt", "Bxx"))
    assert list(found.by_episode) == ["e0", "e1", "e2", "e3"]
    assert found.by_episode["e2"] == {("both_bad", "tie"): 1}
    total = Counter(found.confusion)
    for cells in found.by_episode.values():
        total.subtract(cells)
    assert not any(total.values())


def test_confusion_stands_for_each_criterion_that_spoke() -> None:
    """A criterion may speak for the side that lost."""
    items = pairs(3)
    labels, judgments = rows(items, "AAA", "ABB", "AAA")
    old, new = (
        [next(m.digest for m in item.messages if m.text.startswith(name)) for item in items]
        for name in ("old", "new")
    )

    def speaking(n: int, digest: str, **more: Any) -> Label:
        one = labels[n]
        side = "left" if one.left == digest else "right"
        return seal_label(msgspec.structs.replace(one, decided={"accurate": side}, **more))

    labels[0] = speaking(0, old[0])
    labels[1] = speaking(1, new[1])
    labels += [speaking(2, old[2], reviewer="kim"), speaking(2, new[2], reviewer="lee")]
    found = measured(items, labels, judgments)
    sides = {"old": old[1], "new": new[1]}
    low = min(sides, key=lambda name: sides[name])
    said = "left" if low == "new" else "right"
    assert found.by_criterion.keys() == {"accurate"}
    cells = found.by_criterion["accurate"]
    assert sum(cells.values()) == 2  # the third pair: they differ on what spoke
    assert cells[said, said] >= 1
    third = speaking(2, new[2], reviewer="max", role="adjudicator", at=at(999))
    assert sum(measured(items, [*labels, third], judgments).by_criterion["accurate"].values()) == 3


# the share of pairs won, corrected ----------------------------------------------------------------


def won(count: int, people: str, forward: str, swapped: str, start: int = 0) -> list[PairRow]:
    return [
        PairRow(
            item=f"item {n}", episode_id="e", forward_left="old", forward_right="new",
            people=people, forward=forward, swapped=swapped, decided={}, outcome="agrees",
        )
        for n in range(start, start + count)
    ]  # fmt: skip


def corrected(labeled: list[PairRow], wins: int, losses: int, random: bool = True, **more: str):
    unlabeled = {f"u{n}": "new" if n < wins else "old" for n in range(wins + losses)}
    own = dict.fromkeys((*unlabeled, *(row.item for row in labeled)), "new")
    drawn = {row.item for row in labeled} if random else set()
    return win_rate(labeled, unlabeled, own, drawn, **more)


def test_the_guides_example_of_a_corrected_rate() -> None:
    """Judged 92 % of 300, specificity .8 (20), sensitivity .95 (40): .96, [.873, 1]."""
    labeled = [
        *won(38, "new", "new", "new"),
        *won(2, "new", "old", "old", 38),
        *won(16, "old", "old", "old", 40),
        *won(4, "old", "new", "new", 56),
    ]
    found = corrected(labeled, 276, 24)
    assert (found.n, found.judged) == (300, 0.92)
    assert found.rogan_gladen.value == pytest.approx(0.96)
    assert found.rogan_gladen.low == pytest.approx(0.873, abs=5e-4)
    assert found.rogan_gladen.high == 1.0
    assert found.ppi.low is not None
    assert found.ppi.low < 0.92 < (found.ppi.high or 0.0)


@pytest.mark.parametrize(
    ("labeled", "more", "why"),
    [
        (won(19, "new", "new", "new"), {}, "19 labeled wins and 0 others; 20 of each"),
        (
            [*won(20, "new", "new", "old"), *won(20, "old", "old", "old", 20)],
            {},
            "tells too little",
        ),
        (won(40, "new", "new", "new"), {"expired": "model a is now b"}, "has expired"),
    ],
)
def test_a_correction_that_is_not_permitted_says_why(
    labeled: list[PairRow], more: dict[str, str], why: str
) -> None:
    found = corrected(labeled, 5, 5, **more)
    assert found.rogan_gladen.value is None
    assert why in found.rogan_gladen.why


def test_labels_outside_the_random_part_give_no_ppi() -> None:
    labeled = [*won(30, "new", "new", "new"), *won(30, "old", "old", "old", 30)]
    assert corrected(labeled, 5, 5).ppi.value is not None
    found = corrected(labeled, 5, 5, random=False)
    assert found.ppi.value is None
    assert "0 labeled pairs of the random part" in found.ppi.why


# single messages ----------------------------------------------------------------------------------


def test_completion_counts_from_seven() -> None:
    said = [
        seal(draft(item, scores={"score": score}))
        for item, score in zip(messages(4), (7.0, 6.9, 10.0, 0.0), strict=True)
    ]
    said.append(seal(draft(messages(5)[4], error="not_parsed")))
    (found,) = message_figures(said)
    assert (found.messages, found.errors) == (4, 1)
    assert found.complete is not None
    assert (found.complete.hits, found.complete.n) == (2, 4)
    assert found.means == {"score": pytest.approx(23.9 / 4)}


def test_claims_that_nothing_grounds_come_first() -> None:
    (item,) = messages(1)
    claims = (
        Claim(claim="a refund was paid", grounded=True, seq=3),
        Claim(claim="it arrives on Friday", grounded=False),
    )
    one = draft(item, preset="faithfulness", trace=item.traces[0], claims=claims)
    (found,) = message_figures([seal(one)])
    assert found.grounded is not None
    assert (found.grounded.hits, found.grounded.n) == (1, 2)
    assert [(line.claim, line.seq) for line in found.claims] == [
        ("it arrives on Friday", None),
        ("a refund was paid", 3),
    ]


def test_the_policy_of_the_suite_is_the_one_that_is_held_to() -> None:
    items = pairs(4)
    loose = JudgePolicy(min_accuracy=0.75, max_flip_rate=0.5)
    assert measured(items, *rows(items, *ARTICLE), policy=loose).role == "scoring"
    assert measured(items, *rows(items, *ARTICLE), policy=POLICY).role == "advisory only"
