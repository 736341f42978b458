"""The users of conversations, judged by labels: drawn, read blind, and set beside the rules."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door, copied
from labelers import drafted, labeler
from lamps import SUITE_ID, Lamp
from user_talks import PLAIN, again, talked

from reviewer.desk.labels.api import LabelItem

OF = ("--suite", SUITE_ID, "--candidate", "lamp-agent")
TOTAL = 4
DATA = Path(__file__).resolve().parents[1] / "data/tau_bench/gpt-4o-airline-task-41.json"


@pytest.fixture(scope="module")
def template(empty_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Lamp:
    return talked(copied(empty_template, tmp_path_factory.mktemp("talks") / "desk"))


@pytest.fixture
def lamp(template: Lamp, tmp_path: Path) -> Lamp:
    return again(template, tmp_path / "desk")


def drawn(door: Door, *more: object) -> dict[str, Any]:
    said = door.ok("review-set", SUITE_ID, "--about", "user", "--sample", "100%", *more, "--json")
    found: dict[str, Any] = json.loads(said.out)
    return found


def label(door: Door, name: str, bad: dict[str, str], who: str = "dana") -> list[LabelItem]:
    """Label every conversation of a set; `bad` is what a text has → the question it fails."""
    seen = []
    with labeler(door, who) as desk:
        session = desk.labels.session("", "", review_set=name)
        while (item := desk.labels.next_item(session)) is not None:
            failed = {asked for text, asked in bad.items() if text in (item.message or "")}
            marks = {c.criterion_id: 2 if c.criterion_id in failed else 1 for c in item.criteria}
            desk.labels.record(session, drafted(item, marks=marks))
            seen.append(item)
    return seen


def users(lamp: Lamp) -> dict[str, Any]:
    found: dict[str, Any] = lamp.report()["users"]
    return found


def test_nothing_labeled_is_not_measured(lamp: Lamp) -> None:
    assert users(lamp)["labels"] is None
    said = lamp.door.ok("scorecard", *OF, "--plain").out
    assert "user errors by label: not measured; no review set is about these users" in said
    drawn(lamp.door, "--name", "users")
    labels = users(lamp)["labels"]
    assert (labels["labeled"], labels["value"], labels["why"]) == (0, None, "no answer yet")
    said = lamp.door.ok("scorecard", *OF, "--plain").out
    assert "user errors by label: not measured; no answer yet, review set users" in said


def test_a_person_reads_whole_conversations_blind(lamp: Lamp) -> None:
    found = drawn(lamp.door, "--name", "users")
    assert (found["size"], found["drawn"], found["about"]) == (TOTAL, TOTAL, "user")
    assert found["rubric"] == "user 1"
    seen = label(lamp.door, "users", {})
    texts = {one.message for one in seen}
    assert len(texts) == 2, "what was said twice is read once"
    (plain,) = [one for one in texts if PLAIN in (one or "")]
    assert plain == (
        f"[1] agent: {PLAIN}\n\n[2] user: It is the blue one.\n\n(the agent makes 1 call)\n\n"
        "[4] agent: It is mended.\n\n[5] user: Thanks."
    )
    for one in seen:
        assert one.about == "user"
        assert "goal mend: a lamp that works" in one.user_request
        assert "fact code: open sesame (never told)" in one.user_request
        for hidden in ("lamp-agent", "user_error", "revealed:", "spoiled", "helped"):
            assert hidden not in f"{one.message} {one.user_request}"
    asked = {c.criterion_id: c.asks for c in seen[0].criteria}
    assert list(asked) == ["keeps-back", "goals", "moves-on", "consistent", "ends-in-time"]
    assert "(rule: user:revealed)" in asked["keeps-back"]
    lamp.door.healthy()


def test_labels_stand_beside_the_rules_and_change_no_verdict(lamp: Lamp) -> None:
    """People see a dropped goal in the plain talks, and nothing in those that a rule found."""
    drawn(lamp.door, "--name", "users")
    before = lamp.report()
    verdicts = lamp.door.rows("SELECT trace_id, passed, termination FROM traces ORDER BY trace_id")
    label(lamp.door, "users", {PLAIN: "goals"})
    after = lamp.report()
    told = after["users"]["labels"]
    assert (told["labeled"], told["found"], told["value"]) == (TOTAL, 2, 0.5)
    assert told["low"] == told["high"] == told["value"], "all of the population is labeled"
    assert (told["both"], told["neither"], told["agreement"], told["unruled"]) == (0, 0, 0.0, 0)
    assert told["labels_only"] == [
        {"trace_id": f"{SUITE_ID}/lamp-agent/lamp/{n}", "said": ["Keeps its goals"]} for n in (1, 2)
    ]
    assert told["rules_only"][0] == {
        "trace_id": f"{SUITE_ID}/lamp-agent/lamp/3", "said": ["user:revealed:code"]
    }  # fmt: skip
    assert (
        lamp.door.rows("SELECT trace_id, passed, termination FROM traces ORDER BY trace_id")
        == verdicts
    )
    for part in ("recommendation", "reasons", "slots", "hard_pass_rate", "gates"):
        assert after[part] == before[part], part
    said = lamp.door.ok("scorecard", *OF, "--plain").out
    assert "labels of 4 attempts of the 4 drawn by lot found 2: 0.500 [0.500, 0.500]" in said
    assert "missed by rules 2" in said
    assert "verdicts stay: give the episode's user a rule for it" in said
    for name in ("report.md", "report.html"):
        assert "missed by rules 2" in (lamp.door.root / "out" / name).read_text(encoding="utf-8")


def test_a_sample_gives_an_interval_and_a_skipped_one_is_no_answer(lamp: Lamp) -> None:
    drawn(lamp.door, "--name", "users")
    with labeler(lamp.door, "dana") as desk:
        session = desk.labels.session("", "", review_set="users")
        item = desk.labels.next_item(session)
        assert item is not None
        desk.labels.record(session, drafted(item, marks={}, skipped="cut off"))
        item = desk.labels.next_item(session)
        assert item is not None
        desk.labels.record(session, drafted(item))
    told = users(lamp)["labels"]
    assert told["found"] == 0
    assert 0 < told["labeled"] < TOTAL
    assert told["value"] == 0.0
    assert told["low"] == 0.0 < told["high"], "what nobody read may have an error"


def test_two_people_who_differ_settle_nothing(lamp: Lamp) -> None:
    drawn(lamp.door, "--name", "users")
    label(lamp.door, "users", {PLAIN: "goals"})
    label(lamp.door, "users", {}, who="erin")
    told = users(lamp)["labels"]
    assert told["found"] == 0
    assert told["labels_only"] == []
    assert told["labeled"] == TOTAL - 2


def test_labels_travel_to_another_store(lamp: Lamp, tmp_path: Path) -> None:
    door = lamp.door
    drawn(door, "--name", "users")
    label(door, "users", {PLAIN: "goals"})
    file = door.root / "labels.jsonl"
    door.ok("labels", "export", file)
    other = copied(door.root, tmp_path / "other")
    assert other.ok("labels", "import", file)
    other.healthy()


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (("--about", "agent"), "--about agent: the only value is user"),
        (("--about", "user", "--pairs"), "--pairs compares final messages"),
    ],
)
def test_what_the_order_cannot_mean_is_refused(
    lamp: Lamp, order: tuple[str, ...], why: str
) -> None:
    said = lamp.door.run("review-set", SUITE_ID, *order)
    assert said.code == 2
    assert why in said.err


def test_users_of_imported_conversations_have_labels_and_no_rules(door: Door) -> None:
    made = door.ok("review-set", DATA, "--about", "user", "--sample", "100%", "--json")
    found: dict[str, Any] = json.loads(made.out)
    seen = label(door, found["name"], {})
    assert len(seen) == found["size"] > 0
    (candidate,) = found["candidates"]
    of = ("--suite", found["suite_id"], "--candidate", candidate)
    said = door.ok("scorecard", *of, "--plain").out
    assert "user errors by rule: not measured; imported attempts" in said
    assert "drawn by lot found 0: 0.000" in said
    assert "rules and labels agree" not in said


def test_attempts_without_a_conversation_are_left_out(door: Door) -> None:
    Lamp(door).run("--attempts", 2)
    said = door.run("review-set", SUITE_ID, "--about", "user")
    assert said.code != 0
    assert (
        "no conversation of lamp-v1 can be read (2 in which no user answers the agent)" in said.err
    )
