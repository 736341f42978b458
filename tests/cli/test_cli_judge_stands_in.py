"""A judge in people's place: where the policy says so, with a role that lets it, and apart."""

import json
import shutil
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, shipped
from judge_server import KEY_ENV, always_left, direct, judging
from judge_server import longer as says_longer
from labelers import drafted, labeler, longer, soon
from people import key_file

WANTS = "refund-judged"


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    direct(monkeypatch)


def wanting(door: Door, **labels: Any) -> None:
    """A suite that wants four pairs, with a judge that one labeled pair lets score."""
    suite = door.suite / "suite.json"
    before = suite.read_bytes()
    body = json.loads(before)
    body["policy"]["judge"] = {"min_accuracy": 0.5, "max_flip_rate": 0.5}
    body["policy"]["labels"] = {"min_pairs": 4, "wins_or_ties_min": 0.0, **labels}
    suite.write_text(json.dumps(body))
    door.ok("suite", "freeze", SUITE, "--as", WANTS)
    suite.write_bytes(before)
    door.ok("import", door.suite / "traces", "--suite", WANTS)


def label_one(door: Door) -> str:
    """One pair in both orders, the longer message each time; returns its episode."""
    with labeler(door) as desk:
        session = desk.labels.session(WANTS, V8)
        item = first = desk.labels.next_item(session)
        assert first is not None
        while item is not None:
            desk.labels.record(session, drafted(item, longer(item)))
            item = desk.labels.next_item(session, item=first.item)
        return first.episode_id


def pairs() -> set[tuple[str, str, str]]:
    """(episode, v7's message, v8's) of the pairs whose messages differ."""
    ends = [
        {(one["episode_id"], one["attempt"]): one["final_message"] for one in shipped(candidate)}
        for candidate in (V7, V8)
    ]
    return {
        (episode, ends[0][episode, n], ends[1][episode, n])
        for episode, n in ends[0]
        if ends[0][episode, n] != ends[1][episode, n]
    }


def judge(door: Door, says: Any) -> None:
    with judging(says) as server:
        door.ok(
            "judge", WANTS, "--candidate", V8, "--baseline", V7, "--pairs", "--base-url",
            server.url, "--model", "m", "--api-key-env", KEY_ENV, "--quiet",
        )  # fmt: skip


def report(door: Door) -> dict[str, Any]:
    out = door.root / "out"
    shutil.rmtree(out, ignore_errors=True)
    door.run("--export-report", out, "--suite", WANTS, "--candidate", V8)
    return dict(json.loads((out / "report.json").read_bytes()))


def test_it_fills_the_pairs_that_nobody_labeled_and_says_so_apart(door: Door) -> None:
    wanting(door, judge_stands_in=True)
    label_one(door)
    judge(door, says_longer)
    found = report(door)
    review = found["review"]
    people, apart = review["limits"]["wins_or_ties"], review["limits"]["judge"]
    assert (review["pairs_labelled"], people["n"], apart["why"]) == (1, 1, None)
    assert apart["pairs"] == len(pairs()) - 1
    won = sum(len(v8) > len(v7) for _, v7, v8 in pairs())
    assert people["hits"] + apart["wins_or_ties"]["hits"] == won
    assert apart["flips"] == 0
    assert found["recommendation"] == "promote"
    said = door.ok("scorecard", "--suite", WANTS, "--candidate", V8).out
    assert "promote" in said.lower()  # a list says what the report says
    assert f"the judge on {apart['pairs']} pairs" in (door.root / "out/report.md").read_text()


def test_without_the_policys_leave_it_fills_nothing(door: Door) -> None:
    wanting(door)
    label_one(door)
    judge(door, says_longer)
    found = report(door)
    assert found["recommendation"] == "hold"
    assert found["review"]["limits"]["judge"] is None


def test_a_judge_that_is_only_advisory_fills_nothing(door: Door) -> None:
    wanting(door, judge_stands_in=True)
    label_one(door)
    judge(door, always_left)  # flips on every pair
    found = report(door)
    assert found["recommendation"] == "hold"
    limits = found["review"]["limits"]["judge"]
    assert limits["pairs"] == 0
    assert limits["why"].startswith("advisory only")


def test_a_judge_that_was_never_seen_to_name_a_loss_wins_nothing(door: Door) -> None:
    """Of one labeled pair it named the winner, as a judge would that always names the same side."""
    wanting(door, judge_stands_in=True, wins_or_ties_min=0.1)
    label_one(door)
    judge(door, says_longer)
    found = report(door)
    assert (found["judge"]["role"], found["recommendation"]) == ("scoring", "hold")
    limits = found["review"]["limits"]["judge"]
    why = "right on 0 of 0 labeled pairs that the candidate lost"
    assert (limits["pairs"], limits["why"]) == (0, why)


def author(door: Door, name: str) -> None:
    """Name a person as who made v8."""
    manifest = door.suite / "candidates" / f"{V8}.json"
    body = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps({**body, "authors": [name]}))


def test_the_author_of_a_candidate_calibrates_no_judge(door: Door) -> None:
    author(door, "dana")
    wanting(door, judge_stands_in=True)
    label_one(door)  # by dana, who made v8
    judge(door, says_longer)
    found = report(door)
    assert found["recommendation"] == "hold"
    assert found["review"]["limits"]["judge"]["why"].startswith("advisory only")
    assert found["judge"]["role"] == "advisory only"
    with labeler(door) as desk:  # a page says what the report says
        assert desk.judge.view(WANTS, V8).role == "advisory only"


def test_labels_that_do_not_count_take_no_pair_from_the_judge(door: Door) -> None:
    author(door, "Kim")
    wanting(door, judge_stands_in=True)
    label_one(door)
    judge(door, says_longer)
    before = report(door)["review"]["limits"]["judge"]
    with labeler(door, "kim") as desk:
        session = desk.labels.session(WANTS, V8)
        while (item := desk.labels.next_item(session)) is not None:
            desk.labels.record(session, drafted(item, "tie"))
    assert report(door)["review"]["limits"]["judge"] == before


def test_a_judge_is_not_calibrated_on_labels_that_nobody_signed(door: Door) -> None:
    wanting(door, judge_stands_in=True, signed=True)
    label_one(door)
    judge(door, says_longer)
    assert report(door)["review"]["limits"]["judge"]["why"].startswith("advisory only")
    key = key_file(door.root, "dana")
    door.ok("keys", "trust", "dana", key.with_suffix(".pub"), "--roles", "labeler")
    door.ok("labels", "sign", "--key", key)
    found = report(door)
    assert found["review"]["limits"]["judge"]["why"] is None
    assert found["recommendation"] == "promote"


@pytest.mark.parametrize("other", [{"rubric_digest": "ab" * 32}, {"judge_id": "another"}])
def test_answers_under_another_rubric_or_judge_are_in_no_figure(
    door: Door, other: dict[str, str]
) -> None:
    wanting(door, judge_stands_in=True)
    label_one(door)
    judge(door, says_longer)
    before = report(door)["judge"]
    file = door.root / "judgments.jsonl"
    door.ok("judgments", "export", file)
    forged = []
    for line in file.read_text().splitlines():
        one = {**json.loads(line), **other, "at": soon()}
        one["answer"] = {"left": "right", "right": "left", "tie": "tie"}[one["answer"]]
        forged.append(json.dumps({name: value for name, value in one.items() if name != "uid"}))
    file.write_text("\n".join(forged))
    door.ok("judgments", "import", file)
    after = report(door)["judge"]
    assert (after["win_rate"], after["estimates"]) == (before["win_rate"], before["estimates"])
