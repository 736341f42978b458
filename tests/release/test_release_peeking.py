"""What was made beyond the plan and how often one could look: said, and never paid for."""

import pytest
from msgspec.structs import replace
from release_examples import again, plain, v7, v8

from reviewer.api.stats import confidence_sequence
from reviewer.report.assess import assess
from reviewer.report.build import report
from reviewer.report.evidence import EarlierDecision, Evidence, Peeking
from reviewer.report.page import page
from reviewer.report.page.figures import peeking_lines
from reviewer.report.render.text import summary_lines
from reviewer.suite.gates import GATES


def green_later(more: int) -> Evidence:
    """v7, and `more` passing attempts of each episode made afterwards."""
    rows = tuple(
        again(row, replace(row, attempts=more, measured=more, passes=more, critical=0,
                           gate_pass=(more,) * len(GATES), gate_fail=(0,) * len(GATES)))
        for row in v7().episodes
    )  # fmt: skip
    return replace(v7(), episodes=rows)


SEEN = Peeking(
    arrivals=3,
    earlier=(EarlierDecision(number=4, decision="BLOCK", attempts=9),),
    candidates=2,
)


def test_the_first_set_stands_beside_every_attempt_made() -> None:
    subject = replace(green_later(6), peeking=SEEN)
    found = plain(report(subject))["peeking"]
    assert (found["attempts_planned"], found["attempts_counted"], found["attempts_made"]) == (
        9, 9, 27,
    )  # fmt: skip
    assert found["beyond_the_set"] == 18
    first, every = found["first_set"], found["all_attempts"]
    assert (first["pass"], first["n"], first["pass_hat"]) == (6, 9, 1 / 3)
    assert (every["pass"], every["n"]) == (24, 27)
    assert every["value"] == pytest.approx(24 / 27)
    assert assess(subject).figures.hard_pass.value == pytest.approx(6 / 9)
    low, high = every["low_at_every_look"], every["high_at_every_look"]
    assert low < every["low"] < every["high"] < high
    assert found["earlier_decisions"] == [{"number": 4, "decision": "BLOCK", "attempts": 9}]


def test_limits_at_every_look_take_episodes_together() -> None:
    found = plain(report(green_later(6)))["peeking"]["all_attempts"]
    episodes = confidence_sequence(24 / 27 * 3, 3)
    assert found["low_at_every_look"] == pytest.approx(episodes.low)
    assert found["low_at_every_look"] < confidence_sequence(24, 27).low


def test_it_is_said_in_sentences() -> None:
    lines = peeking_lines(report(replace(green_later(6), peeking=SEEN)).peeking)
    assert lines == [
        "18 attempts beyond the first complete set: it has 6 of 9 passing (0.667, pass^3 0.333); "
        "every attempt made has 24 of 27 passing (0.889, pass^3 0.694), at every look "
        "[0.163, 1.000]. Rates, costs and limits are those of the first set.",
        "Evidence came in 3 times, so it could be looked at 2 times while it grew; signed before "
        "the last of it: decision 4 (BLOCK, at 9 attempts). 2 candidates on this suite.",
    ]


def test_where_nothing_grew_a_line_says_so() -> None:
    once = replace(v8(), peeking=Peeking(arrivals=1, earlier=(), candidates=1))
    assert peeking_lines(report(once).peeking) == [
        "Evidence came in once. 1 candidate on this suite."
    ]
    assert peeking_lines(report(v8()).peeking) == []


def test_the_decision_screen_and_the_renderings_say_it() -> None:
    document = report(replace(green_later(6), peeking=SEEN))
    (line,) = [line for line in summary_lines(document) if line.name == "looks"]
    assert line.mark == "note"
    assert line.text == (
        "18 beyond the first set (24/27 in all); evidence came in 3 times; "
        "1 decision before its end"
    )
    (block,) = [b for b in page(document) if b.title == "Repeatability, cost and latency"]
    assert any(text.startswith("18 attempts beyond") for text in block.lines)
