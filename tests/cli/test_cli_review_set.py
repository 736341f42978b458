"""`reviewer review-set`: the same set for the same order, rates of its random part, no other."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, passing
from labelers import drafted, kept, labeler, skipping
from review_desks import label_set, production, shown

FLAGS = "thumbs-down,high-cost,new-tools,refusals,repeated-calls"


@pytest.fixture
def logs(door: Door) -> Path:
    return door.file("prod.jsonl", production())


def made(door: Door, *asked: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(door.ok("review-set", *asked, "--json").out)
    return found


def test_files_become_a_set_and_the_same_order_adds_nothing(door: Door, logs: Path) -> None:
    order = (logs, "--sample", "25%", "--seed", 3, "--strata", "outcome,cost", "--flags", FLAGS)
    first = made(door, *order)
    before = door.one("SELECT count(*) FROM journal")
    again = door.ok("review-set", *order)
    assert "is there already, nothing added" in again.err
    assert door.one("SELECT count(*) FROM journal") == before
    assert door.one("SELECT count(*) FROM review_set") == 1
    assert first["size"] == 40
    assert first["name"] == f"openai-chat-{first['uid'][:8]}"
    other = made(door, *order[:4], 4, *order[5:])
    assert other["uid"] != first["uid"]
    door.healthy()


def test_the_same_traces_in_another_store_are_the_same_set(
    door: Door, logs: Path, tmp_path: Path
) -> None:
    order = ("--sample", "30%", "--strata", "tool,outcome", "--flags", "refusals")
    first = made(door, logs, *order)
    elsewhere = Door(tmp_path / "elsewhere")
    assert elsewhere.run("init", elsewhere.root).code == 0
    assert made(elsewhere, logs, *order)["uid"] == first["uid"]


def test_unknown_is_a_stratum_of_its_own_and_never_a_zero(door: Door, logs: Path) -> None:
    found = made(door, logs, "--strata", "tool,outcome,cost", "--sample", "50%")
    parts = {(r["dimension"], r["stratum"]): r["size"] for r in found["rates"]}
    assert parts["cost", "unknown"] == 1
    assert parts["outcome", "unknown"] == 1
    assert parts["tool", "refund"] == 1
    assert sum(size for (name, _), size in parts.items() if name == "cost") == 40
    assert all(r["value"] is None and r["why"] == "no answer yet" for r in found["rates"])


def test_flags_are_taken_whole_and_counted_apart(door: Door, logs: Path) -> None:
    found = made(door, logs, "--sample", "5%", "--flags", FLAGS)
    picked = {one["flag"]: (one["picked"], one["unknown"]) for one in found["flags"]}
    assert picked == {
        "thumbs-down": (0, 0),
        "high-cost": (1, 1),
        "new-tools": (1, 0),
        "refusals": (1, 0),
        "repeated-calls": (1, 0),
    }
    assert found["drawn"] == 2
    limited = made(door, logs, "--sample", "5%", "--flags", "high-cost", "--high-cost", "0.375")
    assert limited["flags"][0]["picked"] == 3


def test_rates_come_from_the_random_part_alone(door: Door, logs: Path) -> None:
    """Every flagged item is bad and nothing else: the rate is that of the drawn ones."""
    name = made(door, logs, "--sample", "25%", "--flags", "refusals,repeated-calls,new-tools")[
        "name"
    ]
    seen = label_set(door, name, lambda item: "in the depot" in (item.message or ""))
    found = shown(door, name)
    assert len(seen) == found["items"] == found["labeled"]
    [first, *_] = found["rates"]
    bad = [one for one in found["answered"] if one["answers"][0][1] is False]
    assert [one["flags"] for one in bad] == [["refusals"]]
    drawn_bad = sum(one["random"] for one in bad)
    assert (first["n"], first["hits"]) == (10, 10 - drawn_bad)
    assert first["value"] == pytest.approx((10 - drawn_bad) / 10)
    assert first["low"] < first["value"] <= first["high"]
    [refusals, *_] = (one for one in found["flags"] if one["flag"] == "refusals")
    assert refusals["answers"][0] == ["every question", 0, 1]


def test_a_labeler_sees_what_the_user_said_and_not_why_it_is_asked(door: Door, logs: Path) -> None:
    name = made(door, logs, "--sample", "100%", "--flags", FLAGS)["name"]
    seen = label_set(door, name, lambda item: True, most=3)
    for item in seen:
        assert item.user_request.startswith("Where is parcel ")
        assert "parcel-agent" not in repr(item)
    label = kept(door)[0]
    assert label["suite_digest"] == shown(door, name)["uid"]
    assert label["pi"] == 1.0


def test_after_one_answer_a_stratum_every_stratum_has_one(door: Door, logs: Path) -> None:
    name = made(door, logs, "--sample", "40%", "--strata", "outcome,cost")["name"]
    strata = door.one("SELECT json_array_length(CAST(body AS TEXT), '$.cells') FROM review_set")
    label_set(door, name, lambda item: True, most=strata)
    assert all(rate["value"] == 1.0 for rate in shown(door, name)["rates"])


def test_all_of_a_population_labeled_leaves_no_doubt(door: Door, logs: Path) -> None:
    name = made(door, logs, "--sample", "100%", "--strata", "outcome")["name"]
    label_set(door, name, lambda item: "parcel 1" not in item.user_request)
    [first, *_] = shown(door, name)["rates"]
    assert (first["low"], first["value"], first["high"]) == pytest.approx((29 / 40,) * 3)


def test_what_people_differ_on_is_in_the_limits_both_ways(door: Door, logs: Path) -> None:
    """Two people differ on 11 of 40; the rate of the other 29 alone would be perfect."""
    name = made(door, logs, "--sample", "100%")["name"]
    label_set(door, name, lambda item: True)
    label_set(door, name, lambda item: "parcel 1" not in item.user_request, "kim")
    [first, *_] = shown(door, name)["rates"]
    assert (first["n"], first["hits"], first["open"]) == (29, 29, 11)
    assert (first["low"], first["value"], first["high"]) == pytest.approx((29 / 40, 1.0, 1.0))
    said = door.ok("review-set", "show", name).out
    assert "29 yes of 29 labeled (11 more not settled, in the limits as yes and as no)" in said


def test_what_is_skipped_is_in_the_limits_both_ways(door: Door, logs: Path) -> None:
    name = made(door, logs, "--sample", "100%")["name"]
    with labeler(door, "dana") as desk:
        session = desk.labels.session("", "", review_set=name)
        while (item := desk.labels.next_item(session)) is not None:
            if "parcel 1" in item.user_request:
                desk.labels.record(session, skipping(item, "not mine to judge"))
            else:
                marks = {c.criterion_id: 2 for c in item.criteria}
                desk.labels.record(session, drafted(item, marks=marks))
    [first, *_] = shown(door, name)["rates"]
    assert (first["n"], first["hits"], first["open"]) == (29, 0, 11)
    assert (first["low"], first["value"], first["high"]) == pytest.approx((0.0, 0.0, 11 / 40))


def test_a_label_that_was_taken_back_is_in_the_limits_both_ways(door: Door, logs: Path) -> None:
    name = made(door, logs, "--sample", "100%")["name"]
    with labeler(door, "dana") as desk:
        session = desk.labels.session("", "", review_set=name)
        for _ in range(10):
            item = desk.labels.next_item(session)
            assert item is not None
            desk.labels.record(session, drafted(item))
        [before, *_] = shown(door, name)["rates"]
        desk.labels.undo(session)
    [after, *_] = shown(door, name)["rates"]
    assert (before["n"], before["open"]) == (10, 0)
    assert (after["n"], after["open"]) == (9, 1)
    assert after["low"] < before["low"]


def test_pairs_of_two_candidates_are_a_set_too(full: Door) -> None:
    found = made(
        full, SUITE, "--pairs", "--candidate", V8, "--baseline", V7, "--sample", "100%",
        "--name", "v8-beside-v7",
    )  # fmt: skip
    assert (found["kind"], found["size"]) == ("pair", 9)
    with labeler(full) as desk:
        session = desk.labels.session("", "", review_set="v8-beside-v7")
        while (item := desk.labels.next_item(session)) is not None:
            desk.labels.record(session, drafted(item, "tie"))
    rates = {rate["question"]: rate for rate in shown(full, "v8-beside-v7")["rates"]}
    assert rates["no difference"]["value"] == 1.0
    assert rates["the candidate is better"]["value"] == 0.0
    assert {"both bad", "the baseline is better"} < set(rates)
    full.healthy()


def test_attempts_of_a_probe_are_paired_with_each_other(door: Door) -> None:
    door.ok("import", Path(__file__).parents[1] / "data/tau_bench/gpt-4o-airline-task-41.json")
    found = made(door, "tau-bench-airline", "--pairs", "--sample", "100%")
    assert found["kind"] == "pair"
    assert found["size"] + found["left_out"].get("pairs with the same message", 0) == 6


def test_a_rubric_of_its_own_is_part_of_the_set(door: Door, logs: Path) -> None:
    rubric = {
        "schema": "reviewer/rubric@1",
        "rubric_id": "parcels",
        "version": "7",
        "criteria": [
            {
                "criterion_id": "found",
                "title": "Found",
                "asks": "Is the parcel found?",
                "scale": "five",
                "levels": [{"value": 1, "label": "no"}, {"value": 5, "label": "yes"}],
            }
        ],
    }
    file = door.file("rubric.json", rubric)
    with_it = made(door, logs, "--rubric", file, "--name", "own")
    assert with_it["rubric"] == "parcels 7"
    assert [rate["question"] for rate in with_it["rates"]] == ["Found"]
    rubric["criteria"] = []
    door.file("rubric.json", rubric)
    said = door.run("review-set", logs, "--rubric", file)
    assert said.code == 20
    assert "rubric.json: $.criteria" in said.err


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--sample", "0%"), "--sample 0% must be more than 0%"),
        (("--sample", "100.1%"), "at most 100%"),
        (("--sample", "nan"), "is no share in percent"),
        (("--sample", "5"), "is no share in percent"),
        (("--strata", "tool,colour"), "--strata: `colour` is not one of tool, outcome, cost"),
        (("--strata", "tool,tool"), "names a value twice"),
        (("--flags", "sad"), "--flags: `sad` is not one of thumbs-down"),
        (("--high-cost", "1"), "has no effect without its flag"),
        (("--baseline", V7), "needs --pairs"),
        (("--name", "../x"), "--name"),
        (("--name", "a@example.com"), "holds an identifier"),
        (("--candidate", "nobody"), "no attempt of nobody"),
        (("--pairs", "--baseline", "nobody"), "no attempt of nobody"),
    ],
)
def test_what_an_order_cannot_mean_is_refused_with_the_way_out(
    full: Door, asked: tuple[str, ...], words: str
) -> None:
    said = full.run("review-set", SUITE, *asked)
    assert said.code == 2, said
    assert words in said.err
    assert "way out: " in said.err
    assert full.one("SELECT count(*) FROM review_set") == 0


def test_a_source_without_attempts_makes_no_set(full: Door, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for source, code in ((empty, 20), (tmp_path / "none", 2)):
        said = full.run("review-set", source)
        assert (said.code, "way out: " in said.err) == (code, True), said
    assert full.one("SELECT count(*) FROM review_set") == 0


def test_a_name_belongs_to_one_set_and_a_set_has_one_name(full: Door) -> None:
    full.ok("review-set", SUITE, "--sample", "50%", "--name", "mine")
    said = full.run("review-set", SUITE, "--sample", "60%", "--name", "mine")
    assert (said.code, "already another review set" in said.err) == (2, True)
    said = full.run("review-set", SUITE, "--sample", "50%", "--name", "yours")
    assert (said.code, "already exists as mine" in said.err) == (2, True)
    assert "is there already" in full.ok("review-set", SUITE, "--sample", "50%").err
    said = full.run("review-set", "show", "yours")
    assert (said.code, "reviewer review-set list" in said.err) == (2, True)


def test_labels_of_a_set_travel_and_need_the_set(full: Door, tmp_path: Path) -> None:
    order = ("review-set", SUITE, "--sample", "50%", "--name", "mine")
    full.ok(*order)
    label_set(full, "mine", lambda item: True)
    file = tmp_path / "labels.jsonl"
    full.ok("labels", "export", file, "--suite", SUITE)
    count = len(file.read_text().splitlines())
    assert count == shown(full, "mine")["items"]
    other = Door(tmp_path / "other")
    assert other.run("init", other.root, "--example").code == 0
    other.ok("import", other.root / "suites" / SUITE / "traces")
    said = other.run("labels", "import", file)
    assert (said.code, f"{count} refused" in said.err) == (20, True), said
    other.ok(*order)
    assert f"{count} labels added" in other.ok("labels", "import", file).err
    assert shown(other, "mine")["labeled"] == count


def test_sets_are_listed_and_shown_plainly(full: Door) -> None:
    assert "no review set yet" in full.ok("review-set", "list").err
    full.ok("review-set", f"{SUITE}/{V7}", "--sample", "100%", "--name", "v7")
    label_set(full, "v7", lambda item: "refund" not in (item.message or "").casefold())
    assert "v7: 100% of 9 of refund-eval-v5" in full.ok("review-set", "list").out
    said = full.ok("review-set", "show", "v7", "--items", "--plain").out
    assert f"candidates {V7}\n" in said
    assert f"traces {SUITE}/{V7}/" in said
    assert json.loads(full.ok("review-set", "list", "--json").out)[0]["name"] == "v7"


def test_a_merge_brings_the_set_and_then_its_labels(full: Door, tmp_path: Path) -> None:
    full.ok("review-set", SUITE, "--sample", "50%", "--name", "mine")
    label_set(full, "mine", lambda item: True)
    other = Door(tmp_path / "other")
    assert other.run("init", other.root, "--example").code == 0
    other.ok("import", other.root / "suites" / SUITE / "traces")
    other.ok("review-set", SUITE, "--sample", "60%", "--name", "mine")
    assert "review sets: 1 added, 0 already there" in other.ok("merge", full.store).out
    assert shown(other, "mine-2")["labeled"] == shown(full, "mine")["labeled"] > 0
    assert "review sets: 0 added, 1 already there" in other.ok("merge", full.store).out
    other.healthy()


def test_labels_of_a_probe_lead_to_its_sets(door: Door, logs: Path) -> None:
    door.ok("import", logs)
    queue = ("labels", "queue", "--suite", "openai-chat", "--candidate", "parcel-agent")
    said = door.run(*queue)
    assert "has no rubric" in said.err
    assert "way out: reviewer review-set openai-chat draws a set" in said.err
    assert "into its folder" not in said.err, "a probe has none"
    door.ok("review-set", "openai-chat", "--name", "parcels")
    assert "its review set parcels" in door.run(*queue).err


def test_one_attempt_is_said_as_one(door: Door) -> None:
    path = door.file("one.jsonl", [passing()])
    said = door.ok("review-set", path, "--sample", "100%").err
    assert ": 1 attempt added, 0 alread" in said, "a long path is cut, and so may be the end"
