"""The judge in a report: what stands there, and that nothing else ever follows from it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from release_examples import asked_judge, plain, v7, v8, with_episode

from reviewer.report.assess import assess
from reviewer.report.build import report
from reviewer.report.evidence import Evidence
from reviewer.report.model import report_bytes
from reviewer.report.opinions import Cell, Claim, JudgedMessages, JudgeEvidence, JudgeShare, hits
from reviewer.report.page import page
from reviewer.report.page.review import judge_lines
from reviewer.report.render.html import render_html
from reviewer.report.render.markdown import render_markdown
from reviewer.report.render.text import summary_lines

ROLES = st.sampled_from(["scoring", "advisory only", "promote", ""])
RATES = st.none() | st.floats(0, 1)
SHARES = st.builds(JudgeShare, st.integers(0, 9), st.integers(0, 9), RATES, RATES)
MESSAGES = st.builds(
    JudgedMessages,
    preset=st.sampled_from(["completion", "faithfulness"]),
    messages=st.integers(0, 99),
    errors=st.integers(0, 99),
    means=st.dictionaries(st.just("score"), st.none() | st.floats(0, 10)),
    complete=st.none() | st.builds(hits, st.integers(0, 9), st.integers(0, 9)),
)
JUDGES = st.builds(
    asked_judge,
    role=ROLES,
    why=st.text(max_size=20),
    needs=st.text(max_size=20),
    more_pairs=st.none() | st.integers(0, 999),
    more_pairs_strict=st.none() | st.integers(0, 999),
    judge_id=st.just("j"),
    version=st.just("1"),
    model=st.none() | st.text(max_size=9),
    prompt_digest=st.none(),
    rubric_digest=st.none(),
    family=st.text(max_size=9),
    forward=SHARES,
    flips=SHARES,
    accepted_point=st.none() | st.booleans(),
    accepted_strict=st.none() | st.booleans(),
    messages=st.lists(MESSAGES, max_size=2).map(tuple),
    cost_usd=st.none() | st.floats(0, 1e12),
)
SOFT = {"judge", "not_measured", "what_this_does_not_show"}


def judge(**changes: Any) -> JudgeEvidence:
    base = {
        "role": "advisory only",
        "why": "flip rate 0.50 > 0.05 (point mode)",
        "needs": "36 more labeled pairs",
        "more_pairs": 36,
        "more_pairs_strict": 120,
        "judge_id": "refund-judge",
        "version": "v2",
        "model": "m",
        "prompt_digest": "1" * 64,
        "rubric_digest": "2" * 64,
        "family": "refund-agent",
        "forward": JudgeShare(3, 4, 0.75, 0.249),
        "flips": JudgeShare(2, 4, 0.5, 0.902),
        "cost_usd": 0.0088,
        "known_usd": 0.0088,
    }
    return asked_judge(**{**base, **changes})


def claim(text: str) -> Claim:
    return Claim(trace_id="s/c/e/1", episode_id="e", claim=text, seq=None)


def cells(*counts: tuple[str, str, int]) -> tuple[Cell, ...]:
    return tuple(Cell(people=people, judge=said, pairs=pairs) for people, said, pairs in counts)


def hard(document: dict[str, Any]) -> dict[str, Any]:
    kept = {name: part for name, part in document.items() if name not in SOFT}
    kept["cost"] = {n: v for n, v in document["cost"].items() if not n.startswith("judge_")}
    kept["completion"] = {**document["completion"], "judged": None}
    gates = [row for row in document["decision_set"]["gates"] if row["gate"] != "D7"]
    kept["decision_set"] = {**document["decision_set"], "gates": gates}
    return kept


@given(st.sampled_from([v7(), v8(), with_episode(v8(), "attack-014", in_plan=2)]), JUDGES)
def test_whatever_a_judge_has_earned_the_assessment_is_the_same(
    subject: Evidence, found: JudgeEvidence
) -> None:
    judged = replace(subject, judge=found)
    assert assess(judged) == assess(subject)
    assert hard(plain(report(judged))) == hard(plain(report(subject)))


def test_the_keys_that_others_rely_on_keep_their_meaning() -> None:
    document = plain(report(replace(v7(), judge=judge())))
    section = document["judge"]
    assert (section["role"], section["forward_accuracy"], section["flip_rate"]) == (
        "advisory only", 0.75, 0.5,
    )  # fmt: skip
    assert (section["min_accuracy"], section["max_flip_rate"]) == (0.90, 0.05)
    assert document["cost"]["judge_usd"] == 0.0088
    assert document["cost"]["cpst_usd"] == plain(report(v7()))["cost"]["cpst_usd"]
    named = {line.partition(":")[0] for line in document["not_measured"]}
    assert not {"judge.forward_accuracy", "judge.flip_rate", "cost.judge_usd"} & named
    assert "completion.judged" in named


@pytest.mark.parametrize(
    ("known", "unpriced", "said"),
    [
        (0.0071, 3, "at least $0.0071, 3 calls unpriced"),
        (0.0071, 1, "at least $0.0071, 1 call unpriced"),
        (None, 2, "not measured: 2 calls unpriced"),
    ],
)
def test_an_unpriced_call_takes_the_total_and_not_what_is_known(
    known: float | None, unpriced: int, said: str
) -> None:
    found = judge(cost_usd=None, known_usd=known, unpriced=unpriced)
    document = report(replace(v7(), judge=found))
    cost = plain(document)["cost"]
    assert (cost["judge_usd"], cost["judge_known_usd"]) == (None, known)
    assert cost["judge_unpriced_calls"] == unpriced
    assert f"cost.judge_usd: {said}" in plain(document)["not_measured"]
    assert said in render_markdown(document).replace("\\", "")
    assert said in render_html(document)


def test_every_rendering_says_what_the_judge_has_earned() -> None:
    document = report(replace(v7(), judge=judge()))
    (soft,) = [block for block in page(document) if block.title == "Soft review"]
    assert "advisory only (flip rate 0.50 > 0.05" in soft.lines[0]
    assert any("36 more labeled pairs" in line for line in soft.lines)
    for text in (render_markdown(document), render_html(document)):
        assert "advisory only" in text
    (line,) = [line for line in summary_lines(document) if line.name == "soft review"]
    assert "judge advisory only" in line.text
    assert "no figure here depends on its answers" in " ".join(
        plain(document)["what_this_does_not_show"]
    )


def test_confusion_stands_whole_by_episode_and_by_criterion() -> None:
    found_cells = cells(("left", "left", 2), ("right", "left", 1), ("both_bad", "tie", 1))
    found = judge(
        confusion=found_cells,
        by_episode={
            "appeal-009": found_cells[1:2],
            "damaged-221": (*found_cells[:1], *found_cells[2:]),
        },
        by_criterion={"access": cells(("left", "error", 1))},
    )
    document = report(replace(v7(), judge=found))
    section = plain(document)["judge"]
    assert section["confusion"][1] == {"people": "right", "judge": "left", "pairs": 1}
    assert section["confusion_by_episode"]["appeal-009"] == section["confusion"][1:2]
    assert section["confusion_by_criterion"] == {
        "access": [{"people": "left", "judge": "error", "pairs": 1}]
    }
    text = render_markdown(document)
    assert "by episode: appeal-009 0 of 1, damaged-221 3 of 3." in text
    assert "by criterion: access 0 of 1." in text


def test_of_many_episodes_a_sentence_names_those_with_the_most_mistakes() -> None:
    wrong = {f"e{n}": cells(("left", "right", n), ("left", "left", 1)) for n in range(9)}
    document = report(replace(v7(), judge=judge(by_episode=wrong)))
    line = next(line for line in judge_lines(document.judge) if "by episode" in line)
    assert "e8 1 of 9, e7 1 of 8, e6 1 of 7, e5 1 of 6, e4 1 of 5 and 4 more in report.json" in line


def test_hostile_words_of_a_judge_stay_words() -> None:
    claims = (claim("<script>alert(1)</script>\x1b[31m"),)
    alone = JudgedMessages(
        preset="faithfulness", messages=1, errors=0, means={}, grounded=hits(0, 1), claims=claims
    )
    document = report(replace(v7(), judge=judge(why="<b>\x1b[2J", messages=(alone,))))
    assert report_bytes(document).isascii()
    assert "<b>" not in render_html(document)
    assert "\x1b" not in render_html(document) + render_markdown(document)


@pytest.mark.parametrize(("claims", "left_out"), [(3, 0), (50, 0), (53, 3)])
def test_of_many_claims_the_first_stand_in_the_report(claims: int, left_out: int) -> None:
    alone = JudgedMessages(
        preset="faithfulness",
        messages=1,
        errors=0,
        means={},
        grounded=hits(0, claims),
        claims=tuple(claim(f"claim {n}") for n in range(claims)),
    )
    (section,) = plain(report(replace(v7(), judge=judge(messages=(alone,)))))["judge"]["messages"]
    assert (len(section["claims"]), section["claims_left_out"]) == (claims - left_out, left_out)
