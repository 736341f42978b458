"""Wording that policy requires, checked by words alone."""

import pytest

from reviewer.review.wording import check_wording
from reviewer.suite.rubric import Rubric, Wording
from reviewer.suite.wording import LONGEST

RULE = Wording(wording_id="appeal", says=("two working days", "reply"), never=("guaranteed",))


def rubric(*rules: Wording) -> Rubric:
    return Rubric(rubric_id="r", version="v1", criteria=(), wording=rules)


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ("Reply to this message. A person reads it within two working days.", True),
        ("Reply within two working days; nothing is guaranteed? No: not guaranteed.", False),
        ("Reply within two working days; this is not guaranteed.", True),
        ("Reply within two working days, guaranteed.", False),
        ("Do not reply. A person reads it within two working days.", False),
        ("Two working days.", False),
        ("", False),
    ],
)
def test_every_phrase_must_hold(message: str, holds: bool) -> None:
    (result,) = check_wording(rubric(RULE), "e1", message)
    assert result.holds is holds, result


def test_each_phrase_says_how_it_was_used() -> None:
    (result,) = check_wording(rubric(RULE), "e1", "Do not reply; this is not guaranteed.")
    assert [(p.phrase, p.wanted, p.use, p.holds) for p in result.phrases] == [
        ("two working days", "says", "absent", False),
        ("reply", "says", "negated", False),
        ("guaranteed", "never", "negated", True),
    ]


def test_a_message_that_is_not_known_neither_holds_nor_fails() -> None:
    for message in (None, "x" * (LONGEST + 1)):
        (result,) = check_wording(rubric(RULE), "e1", message)
        assert result.holds is None
        assert {phrase.holds for phrase in result.phrases} == {None}


def test_a_rule_applies_to_its_episodes_or_to_all() -> None:
    here = Wording(wording_id="here", says=("x",), episodes=("e1",))
    found = check_wording(rubric(RULE, here), "e2", "x")
    assert [result.wording_id for result in found] == ["appeal"]
    assert [r.wording_id for r in check_wording(rubric(RULE, here), "e1", "x")] == [
        "appeal",
        "here",
    ]
    assert check_wording(rubric(), "e1", "x") == ()
