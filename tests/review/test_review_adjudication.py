"""What people settled, and what waits for a third person."""

from review_builders import at, choosing, digest, label, messages, pairs

from reviewer.review.agreement import settled, to_adjudicate

PAIR, OTHER = pairs(2)
(MESSAGE,) = messages(1)


def texts(winner: str | None) -> str | None:
    known = {message.digest: message.text.split()[0] for message in PAIR.messages}
    return known.get(winner or "", winner)


def test_raters_who_say_the_same_settle_an_item() -> None:
    labels = [choosing(PAIR, "new", showing=n, reviewer=r) for n in (1, 2) for r in ("dana", "kim")]
    (found,) = settled(labels)
    assert (found.item, texts(found.winner), found.by) == (PAIR.item, "new", "raters")
    assert to_adjudicate(labels) == ()


def test_raters_who_differ_wait_for_a_third_person() -> None:
    labels = [
        choosing(PAIR, "new", decided={"accurate": "left", "tone": "left"}),
        choosing(PAIR, "old", reviewer="kim", decided={"accurate": "right", "tone": "left"}),
        choosing(OTHER, "old"),
    ]
    (open_one,) = to_adjudicate(labels)
    assert (open_one.item, open_one.winner, open_one.criteria) == (PAIR.item, True, ("accurate",))
    assert (open_one.reviewers, open_one.contradicts) == (("dana", "kim"), ())
    assert {s.item: s.by for s in settled(labels)} == {PAIR.item: None, OTHER.item: "raters"}
    third = choosing(PAIR, "tie", reviewer="lee", role="adjudicator", at=at(60))
    assert to_adjudicate([*labels, third]) == ()
    known = {s.item: (s.winner, s.by) for s in settled([*labels, third])}
    assert known[PAIR.item] == ("tie", "adjudicator")


def test_a_rater_who_contradicts_himself_settles_nothing() -> None:
    labels = [choosing(PAIR, "new"), choosing(PAIR, "old", showing=2)]
    (found,) = settled(labels)
    assert (found.winner, found.by) == (None, None)
    (open_one,) = to_adjudicate(labels)
    assert (open_one.reviewers, open_one.contradicts) == (("dana",), ("dana",))
    revised = choosing(PAIR, "new", showing=2, revises=labels[1].uid, at=at(9))
    assert to_adjudicate([*labels, revised]) == ()


def test_an_adjudicator_who_contradicts_himself_settles_nothing() -> None:
    labels = [
        choosing(PAIR, "new"),
        choosing(PAIR, "old", showing=2),
        *(
            choosing(PAIR, w, showing=n, reviewer="lee", role="adjudicator")
            for n, w in ((1, "new"), (2, "old"))
        ),
    ]
    (found,) = settled(labels)
    assert (found.winner, found.by) == (None, None)
    assert [d.item for d in to_adjudicate(labels)] == [PAIR.item]


def test_marks_are_settled_one_by_one() -> None:
    labels = [
        label(MESSAGE, marks={"accurate": 1, "tone": 3}),
        label(MESSAGE, marks={"accurate": 1, "tone": 4}, reviewer="kim"),
    ]
    (found,) = settled(labels)
    assert (found.marks, found.by, found.winner) == ({"accurate": 1}, None, None)
    (open_one,) = to_adjudicate(labels)
    assert (open_one.winner, open_one.criteria) == (False, ("tone",))
    third = label(MESSAGE, marks={"tone": 3}, reviewer="lee", role="adjudicator")
    (found,) = settled([*labels, third])
    assert (found.marks, found.by) == ({"accurate": 1, "tone": 3}, "adjudicator")
    assert digest("answer 0") == MESSAGE.messages[0].digest


def test_an_adjudicator_overrules_nothing_that_raters_agree_on() -> None:
    agreed = [choosing(PAIR, "old"), choosing(PAIR, "old", reviewer="kim")]
    third = choosing(PAIR, "new", reviewer="lee", role="adjudicator", at=at(60))
    (found,) = settled([*agreed, third])
    assert (texts(found.winner), found.by) == ("old", "raters")
    marked = label(MESSAGE, marks={"accurate": 1, "tone": 4})
    other = label(MESSAGE, marks={"accurate": 2, "tone": 4}, reviewer="lee", role="adjudicator")
    (found,) = settled([marked, other])
    assert (found.marks, found.by) == ({"accurate": 1, "tone": 4}, "raters")


def test_a_rater_is_no_third_person() -> None:
    labels = [
        choosing(PAIR, "new"),
        choosing(PAIR, "old", reviewer="kim"),
        choosing(PAIR, "new", role="adjudicator", at=at(60)),
    ]
    (found,) = settled(labels)
    assert (found.winner, found.by) == (None, None)
    assert [d.item for d in to_adjudicate(labels)] == [PAIR.item]


def test_what_was_taken_back_settles_nothing() -> None:
    first = choosing(PAIR, "new")
    undone = label(PAIR, withdrawn=True, revises=first.uid)
    assert settled([first, undone]) == to_adjudicate([first, undone]) == ()
