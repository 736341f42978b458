"""Labeling through the desk: blind, durable, revisable, and never worth more than a gate."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from doors import SUITE, V7, V8, Door, environment, passing, shipped
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from labelers import (
    drafted,
    kept,
    label_all,
    labeled,
    labeler,
    longer,
    pairs_of,
    skipping,
    soon,
)

from reviewer.desk.errors import DeskError
from reviewer.desk.labels.api import OPEN_FLAG, LabelItem, QueueView, ReasonLine

TELLING = (
    V7, V8, "v7", "v8", "block", "promote", "critical", "safety", "random", "quota", "lost_episode",
    "cost", "forbidden:", "judge", "probability", "0.0975",
)  # fmt: skip
"""Words that would tell a labeler more than the two messages do."""


# sitting down -------------------------------------------------------------------------------------


def test_pairs_are_of_the_only_other_candidate(full: Door) -> None:
    with labeler(full) as desk:
        session = pairs_of(desk)
    assert (session.baseline_id, session.kind, session.reviewer) == (V7, "pair", "dana")


def test_pairs_of_three_candidates_are_with_the_baseline_that_compare_takes(full: Door) -> None:
    v9 = [{**record, "candidate_id": "refund-agent-v9"} for record in shipped(V8)]
    said = full.take("v9.jsonl", [{**r, "final_message": f"{r['final_message']} Bye."} for r in v9])
    assert said.code == 0, said
    for candidate in (V7, V8, "refund-agent-v9"):
        with labeler(full) as desk:
            compared = desk.compare.candidates(SUITE, candidate)
            session = pairs_of(desk, candidate)
            both = {session.candidate_id, session.baseline_id}
            assert both == {compared.candidate_id, compared.baseline_id}
            shown = label_all(desk, session)
            assert shown
            assert all(item.kind == "pair" for item in shown)
            assert desk.labels.queue(SUITE, candidate).baseline_id == session.baseline_id


def test_a_candidate_alone_is_compared_with_itself(door: Door) -> None:
    said = [
        passing(candidate_id="solo", attempt=n, nonce=n, final_message=f"Answer {n}.")
        for n in (1, 2, 3)
    ]
    door.take("solo.jsonl", said)
    with labeler(door) as desk:
        session = desk.labels.session(SUITE, "solo")
        assert session.baseline_id is None
        assert desk.labels.queue(SUITE, "solo").items == 6


def test_ways_out_when_there_is_nothing_to_label(door: Door) -> None:
    said = [
        passing(candidate_id=name, attempt=1, nonce=n, final_message="The same.")
        for n, name in enumerate(("one", "two"))
    ]
    door.take("same.jsonl", said)
    with labeler(door) as desk:
        with pytest.raises(DeskError) as caught:
            desk.labels.session(SUITE, "one")
        assert "1 pairs have identical messages" in caught.value.text
        assert caught.value.ways_out
        assert desk.labels.queue(SUITE, "one").identical == 1
        assert desk.labels.session(SUITE, "one", kind="message").kind == "message"
        for asked in ({"baseline_id": "one"}, {"baseline_id": "nobody"}, {"role": "adjudicator"}):
            with pytest.raises(DeskError):
                desk.labels.session(SUITE, "one", **asked)
        with pytest.raises(DeskError):
            desk.labels.session(SUITE, "nobody")


@pytest.mark.parametrize("name", ["jane@corp-mail.org", "+49 170 1234567", " ", "a\x1b[2Jb"])
def test_a_name_that_identifies_a_person_is_refused(full: Door, name: str) -> None:
    with labeler(full, name) as desk, pytest.raises(DeskError):
        pairs_of(desk)
    assert kept(full) == []


# what is shown ------------------------------------------------------------------------------------


def test_every_pair_is_shown_twice_with_its_sides_exchanged(full: Door) -> None:
    shown = labeled(full)
    assert len(shown) == 8
    first = {item.item: item for item in shown if item.showing == 1}
    second = {item.item: item for item in shown if item.showing == 2}
    assert len(first) == len(second) == 4
    for name, item in first.items():
        assert (item.left, item.right) == (second[name].right, second[name].left)
        assert shown.index(second[name]) - shown.index(item) >= 4
    assert [item.place for item in shown] == list(range(1, 9))
    assert {item.total for item in shown} == {8}


def rendered(item: LabelItem) -> str:
    """All that a screen could draw of an item, but the messages, the request and the rubric, which
    are what is to be read."""
    plain = msgspec.to_builtins(item)
    for name in ("left", "right", "message", "user_request", "criteria", "rubric"):
        del plain[name]
    return json.dumps(plain).casefold()


def test_what_is_shown_tells_nothing_of_where_it_is_from(full: Door) -> None:
    with labeler(full) as desk:
        shown = label_all(desk, pairs_of(desk))
        messages = label_all(desk, pairs_of(desk, kind="message"))
    assert len(messages) >= 4
    for item in (*shown, *messages):
        assert [word for word in TELLING if word in rendered(item)] == []
        texts = f"{item.left} {item.right} {item.message}"
        assert not any(name in texts for name in (V7, V8))


def test_what_others_said_changes_nothing_of_what_is_shown(full: Door) -> None:
    with labeler(full, "dana") as desk:
        session = pairs_of(desk)
        first = desk.labels.next_item(session)
        labeled(full, "kim", lambda item: "left")
        labeled(full, "lee", lambda item: "both_bad")
        assert desk.labels.next_item(session) == first
    again = [(item.item, item.showing, item.left) for item in labeled(full, "dana")]
    kims = [(x["item"], x["showing"]) for x in kept(full) if x["reviewer"] == "kim"]
    assert [one[:2] for one in again] == kims


def test_a_trace_without_a_final_message_is_judged_as_such(door: Door) -> None:
    said = [passing(candidate_id="one", nonce=1), passing(candidate_id="two", nonce=2)]
    del said[0]["final_message"]
    door.take("t.jsonl", said)
    with labeler(door) as desk:
        item = desk.labels.next_item(desk.labels.session(SUITE, "two"))
    assert item is not None
    assert {item.left, item.right} == {None, said[1]["final_message"]}


def test_what_held_raw_identifiers_is_never_shown(door: Door) -> None:
    said = [passing(candidate_id=name, nonce=n) for n, name in enumerate(("one", "two"))]
    said[0]["final_message"] = "Write to jane@corp-mail.org."
    door.take("t.jsonl", said)
    with labeler(door) as desk:
        with pytest.raises(DeskError) as caught:
            desk.labels.session(SUITE, "two")
        queue = desk.labels.queue(SUITE, "one", kind="message")
        assert (queue.items, queue.open_high) == (0, 1)
    assert "attempts have no counterpart" in caught.value.text


def test_a_message_is_asked_about_with_every_level_of_every_criterion(full: Door) -> None:
    with labeler(full) as desk:
        item = desk.labels.next_item(pairs_of(desk, kind="message"))
    assert item is not None
    assert [len(criterion.levels) for criterion in item.criteria] == [2, 5, 3]
    assert item.message
    assert (item.left, item.right, item.rubric) == (None, None, "refund-final-message v2")


# saving -------------------------------------------------------------------------------------------


def test_a_label_carries_what_it_was_made_under(full: Door) -> None:
    with labeler(full) as desk:
        item = desk.labels.next_item(session := pairs_of(desk))
        assert item is not None
        draft = drafted(item, "right", decided={"accurate": "left"}, flag=True, duration_ms=4321)
        saved = desk.labels.record(session, draft)
    (label,) = kept(full)
    assert (label["uid"], label["at"], label["item"]) == (saved.uid, saved.at, item.item)
    assert (label["answer"], label["decided"], label["flag"]) == (
        "right",
        {"accurate": "left"},
        True,
    )
    assert (label["reviewer"], label["role"], label["duration_ms"]) == ("dana", "rater", 4321)
    assert (label["rubric_id"], label["rubric_version"]) == ("refund-final-message", "v2")
    assert label["reasons"] == list(saved.reasons)
    assert (label["pi"] is not None) == ("random" in saved.reasons)
    assert len(label["traces"]) >= 2


def test_a_label_keeps_whether_the_evidence_was_opened_and_nothing_where_no_one_told(
    full: Door,
) -> None:
    with labeler(full) as desk:
        item = desk.labels.next_item(session := pairs_of(desk))
        assert item is not None
        for told in (None, False, True, False, None):
            desk.labels.record(session, drafted(item, evidence_opened=told))
    given = [label.get("evidence_opened", "not recorded") for label in kept(full)]
    assert given == ["not recorded", False, True, True, True]  # what was seen stays seen
    columns = full.rows("SELECT evidence_opened FROM labels ORDER BY at")
    assert columns == [(None,), (0,), (1,), (1,), (1,)]


SPOKEN = {
    "arguments": {"model": "sonnet", "agentName": "a", "note": "I am Refund_Agent v7 on GPT-4o."},
    "observation": {
        "cost_usd": 0.0131,
        "latencyMs": 411,
        "text": '{"run_id": "r-1", "by": "claude-opus-4", "ref": "0123456789abcdef0"}',
        "amount_usd": 89.0,
    },
}
"""A call whose words tell whose it is, in members and in texts."""


def test_evidence_says_what_was_done_and_not_by_whom(full: Door) -> None:
    base = next(record for record in shipped(V7) if record["episode_id"] == "damaged-221")
    told = {**base["events"][0], **SPOKEN, "seq": 1, "tool": "refund-agent-v7-lookup"}
    long = {"observation": "x" * 3000 + V7, "seq": 2, "call_id": "c2"}
    told["observation"]["same"] = "0123456789ABCDEF0"
    events = [told, {**base["events"][0], **long}, {**base["events"][-2], "seq": 3}]
    record = {**base, "attempt": 4, "events": events, "final_message": "Hm."}
    record["source"] = {"kind": "other", "model": "tigerlily"}
    events[1]["arguments"] = {"by": "Tigerlily"}
    assert full.take("more.jsonl", [record]).code == 0
    with labeler(full) as desk:
        session = desk.labels.session(SUITE, V7, kind="message")
        while (item := desk.labels.next_item(session)) is not None and item.message != "Hm.":
            desk.labels.record(session, drafted(item))
        assert item is not None
        found = desk.labels.evidence(session, item)
    assert found.right is None
    text = repr(found).casefold()
    for word in (V7, "agent v7", "gpt", "claude", "sonnet", "tigerlily", "0.0131", "411", "r-1"):
        assert word not in text, word
    first = found.left.lines[1].text
    assert "89.0" in first
    assert first.count("⟨1⟩") == 2
    assert [(line.kind, line.number) for line in found.left.lines] == [
        ("call", 1), ("result", 0), ("call", 2), ("result", 0),
    ]  # fmt: skip
    assert found.left.lines[3].text.endswith("more characters")
    assert "return_label_created" in found.left.end_state


def test_a_pair_shows_what_was_done_before_each_side(full: Door) -> None:
    with labeler(full) as desk:
        session = pairs_of(desk)
        item = desk.labels.next_item(session)
        assert item is not None
        found = desk.labels.evidence(session, item)
        trace = desk.labels.trace_of(session, item, "right").trace_id
        calls = [row for row in desk.traces.events(trace, 0, 99) if row.kind == "tool_call"]
    assert found.right is not None
    shown = [line.tool for line in found.right.lines if line.kind == "call"]
    assert shown == [row.title for row in calls]
    assert not [word for word in (V7, V8, "0.0") if word in repr(found)]


def test_a_note_is_masked_before_it_is_kept(full: Door) -> None:
    with labeler(full) as desk:
        item = desk.labels.next_item(session := pairs_of(desk))
        assert item is not None
        note = "ask jane@corp-mail.org, card 4111 1111 1111 1111"
        desk.labels.record(session, drafted(item, note=note))
        item = desk.labels.next_item(session)
        assert item is not None
        desk.labels.record(session, skipping(item, "see bob@corp-mail.org"))
    raw = full.store.read_bytes() + b"".join(
        path.read_bytes() for path in full.store.parent.glob("review.db-wal")
    )
    assert b"corp-mail" not in raw
    assert b"4111 1111" not in raw
    assert "[REDACTED:email]" in kept(full)[0]["note"]


@pytest.mark.parametrize(
    "changes",
    [
        {"answer": None},
        {"decided": {"nothing": "left"}},
        {"marks": {"accurate": 1}},
        {"item": "0" * 64},
        {"showing": 3},
        {"note": "\ud800"},
        {"skipped": ""},
        {"answer": "maybe"},
    ],
)
def test_what_is_no_label_is_refused_and_not_kept(full: Door, changes: dict[str, Any]) -> None:
    with labeler(full) as desk:
        item = desk.labels.next_item(session := pairs_of(desk))
        assert item is not None
        draft = msgspec.structs.replace(drafted(item), **changes)
        with pytest.raises(DeskError):
            desk.labels.record(session, draft)
        assert desk.labels.next_item(session) == item
    assert kept(full) == []


def test_a_message_needs_every_criterion(full: Door) -> None:
    with labeler(full) as desk:
        item = desk.labels.next_item(session := pairs_of(desk, kind="message"))
        assert item is not None
        for marks in ({"accurate": 1}, {"accurate": 3, "next-step": 1, "access": 1}):
            with pytest.raises(DeskError):
                desk.labels.record(session, drafted(item, marks=marks))
        desk.labels.record(session, drafted(item))
    assert len(kept(full)) == 1


LABELER = """
import sys
from pathlib import Path
from reviewer.desk.desk import Desk
from reviewer.desk.place import at
from labelers import drafted
desk = Desk(at(Path(sys.argv[1])), "dana")
session = desk.labels.session(sys.argv[2], sys.argv[3])
while (item := desk.labels.next_item(session)) is not None:
    print(desk.labels.record(session, drafted(item)).uid, flush=True)
"""


def test_a_label_survives_a_kill_once_it_was_acknowledged(full: Door, repository: Any) -> None:
    path = os.pathsep.join((str(repository), str(repository / "tests")))
    acknowledged: list[str] = []
    for after in (1, 3):
        process = subprocess.Popen(
            [sys.executable, "-c", LABELER, str(full.root), SUITE, V8],
            env=environment(PYTHONPATH=path),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        first = [process.stdout.readline().strip() for _ in range(after)]
        process.send_signal(signal.SIGKILL)
        acknowledged += [uid for uid in (*first, *process.stdout.read().split()) if uid]
        process.wait()
        assert {uid for (uid,) in full.rows("SELECT uid FROM label")} >= set(acknowledged)
        full.healthy()
    assert len(acknowledged) >= 4
    shown = labeled(full)
    assert len(shown) <= 8 - len(set(acknowledged))
    keys = [(x["item"], x["showing"]) for x in kept(full)]
    assert len(keys) == len(set(keys)) == 8


def test_two_people_label_at_once_and_nothing_is_lost(full: Door) -> None:
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            labeled(full, name)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("dana", "kim", "lee")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len({x["uid"] for x in kept(full)}) == 24
    full.healthy()


# taking back, revising, skipping, handing back ----------------------------------------------------


def test_what_is_taken_back_is_kept_and_comes_again(full: Door) -> None:
    with labeler(full) as desk:
        session = pairs_of(desk)
        with pytest.raises(DeskError):
            desk.labels.undo(session)
        first, second = (one(desk, session) for one in (answer, answer))
        again = desk.labels.undo(session)
        assert (again.item, again.showing, again.place) == (second.item, second.showing, 2)
        assert desk.labels.next_item(session) == again
        saved = desk.labels.record(session, drafted(again, "tie"))
        assert (saved.done, saved.total) == (2, 8)
        assert (desk.labels.undo(session).item, desk.labels.undo(session).item) == (
            second.item,
            first.item,
        )
    labels = kept(full)
    assert [x["withdrawn"] for x in labels] == [False, False, True, False, True, True]
    assert labels[2]["revises"] == labels[1]["uid"]
    assert labels[3]["revises"] == labels[2]["uid"]
    assert labels[2]["answer"] is None


def answer(desk: Any, session: Any) -> LabelItem:
    item = desk.labels.next_item(session)
    assert item is not None
    desk.labels.record(session, drafted(item, longer(item)))
    return item  # type: ignore[no-any-return]


def test_a_second_label_of_a_showing_revises_the_first(full: Door) -> None:
    with labeler(full) as desk:
        session = pairs_of(desk)
        item = answer(desk, session)
        saved = desk.labels.record(session, drafted(item, "tie"))
        assert saved.done == 1
        report = json.loads(desk.reports.build(SUITE, V8).raw)["review"]
    first, second = kept(full)
    assert (second["revises"], second["answer"]) == (first["uid"], "tie")
    assert report["labels"] == 1


def test_the_order_of_labels_is_the_order_they_were_made_in_whatever_the_clock_does(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datetime

    from reviewer.desk.labels import labeling

    class Stopped(datetime.datetime):
        hour_now = 12

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            cls.hour_now -= 1
            return datetime.datetime(2026, 1, 1, cls.hour_now, tzinfo=tz)

    monkeypatch.setattr(labeling, "datetime", Stopped)
    with labeler(full) as desk:
        session = pairs_of(desk)
        made = [answer(desk, session) for _ in range(4)]
        assert desk.labels.undo(session).item == made[-1].item
    times = [x["at"] for x in kept(full)]
    assert times == sorted(set(times))


def test_a_label_dated_far_ahead_drags_nobody_along(full: Door) -> None:
    with labeler(full) as desk:
        answer(desk, pairs_of(desk))
        ahead = soon(hours=23)
        label = {**kept(full)[0], "at": ahead, "showing": 2}
        label["left"], label["right"] = label["right"], label["left"]
        del label["uid"]
        assert desk.labels.take(json.dumps(label).encode(), "far.jsonl")["added"] == 1
        answer(desk, pairs_of(desk))
    assert kept(full)[2]["at"] < ahead


def test_another_store_in_its_place_is_read_anew(full: Door, tmp_path: Path) -> None:
    with labeler(full) as desk:
        before = desk.labels.export(SUITE)
        copy = tmp_path / "copy.db"
        full.ok("backup", copy)
        labeled(full, "kim")
        assert desk.labels.export(SUITE) != before
        desk.close()
        for path in full.store.parent.glob("review.db*"):
            path.unlink()
        copy.rename(full.store)
        assert desk.labels.export(SUITE) == before
        labeled(full, "lee")
        assert b'"lee"' in desk.labels.export(SUITE)


def test_what_is_skipped_is_done_and_counts_for_nothing(full: Door) -> None:
    with labeler(full) as desk:
        session = pairs_of(desk)
        item = desk.labels.next_item(session)
        assert item is not None
        desk.labels.record(session, skipping(item, "cannot tell"))
        following = desk.labels.next_item(session)
        assert following is not None
        assert (following.done, following.skipped, following.place) == (1, 1, 2)
        assert desk.labels.queue(SUITE, V8).done == 1
        assert json.loads(desk.reports.build(SUITE, V8).raw)["review"]["labels"] == 0


def test_what_is_handed_back_comes_later(full: Door) -> None:
    with labeler(full) as desk:
        session = pairs_of(desk)
        first = desk.labels.next_item(session)
        assert first is not None
        handed = ((first.item, first.showing),)
        second = desk.labels.next_item(session, handed)
        assert second is not None
        assert second.item != first.item
        places = []
        while (item := desk.labels.next_item(session, handed)) is not None:
            places.append((item.item, item.showing))
            desk.labels.record(session, drafted(item))
        assert sorted(places) == sorted(set(places))
        assert len(places) == 8
        assert handed[0] in places
        messages = pairs_of(desk, kind="message")
        one = desk.labels.next_item(messages)
        assert one is not None
        other = desk.labels.next_item(messages, ((one.item, 1),))
        assert other is not None
        assert other.item != one.item


def test_one_reason_of_the_queue_can_be_asked_for(full: Door) -> None:
    with labeler(full) as desk:
        session = pairs_of(desk, baseline_id=V7)
        item = desk.labels.next_item(session, reason="safety")
        assert item is not None
        saved = desk.labels.record(session, drafted(item))
        assert saved.reasons[0] == "safety"
        # Its other order is not near enough to be asked for yet.
        assert desk.labels.next_item(session, reason="safety") is None
        assert desk.labels.next_item(session, reason="thumbs_down") is None
        high = desk.labels.next_item(session, reason="low")
        assert high is not None


# the end, the queue, a third person ---------------------------------------------------------------


def test_ones_own_end_is_told_at_the_end_only(full: Door) -> None:
    with labeler(full) as desk:
        session = pairs_of(desk)
        for _ in range(7):
            answer(desk, session)
            assert desk.labels.own_end(session) == ()
            assert desk.labels.queue(SUITE, V8).consistency == ()
        answer(desk, session)
        same, left = desk.labels.own_end(session)
        assert (same.hits, same.n, same.value) == (4, 4, 1.0)
        assert (left.hits, left.n) == (4, 8)
        assert desk.labels.queue(SUITE, V8).consistency == (same, left)
        desk.labels.undo(session)
        assert desk.labels.own_end(session) == ()


def test_the_queue_counts_by_reason_and_names_no_item_before_it_is_saved(full: Door) -> None:
    with labeler(full) as desk:
        before = desk.labels.queue(SUITE, V8)
        assert (before.items, before.done, before.saved, before.reviewers) == (8, 0, (), ())
        assert sum(line.left for line in before.reasons) == 8
        assert before.needed.startswith("needed: a second reviewer")
        item = answer(desk, pairs_of(desk))
        after = desk.labels.queue(SUITE, V8)
    assert sum(line.done for line in after.reasons) == 1
    assert len(after.saved) == 1
    assert after.saved[0][2] in ("left", "right")
    assert item.item not in json.dumps(msgspec.to_builtins(before))


def test_agreement_and_what_people_part_on(full: Door) -> None:
    labeled(full, "dana")
    labeled(full, "kim")
    labeled(full, "lee", lambda item: "tie")
    with labeler(full, "robin") as desk:
        queue = desk.labels.queue(SUITE, V8)
        # Robin has not seen these: that they are open is all that is told.
        assert {(one.text, one.mine) for one in queue.disagreements} == {
            ("open: shown once you have labeled it", False)
        }
        labeled(full, "robin")
        queue = desk.labels.queue(SUITE, V8)
    winner = queue.agreement[0]
    assert queue.reviewers == ("dana", "kim", "lee", "robin")
    assert (winner.about, winner.items, winner.raw.n, winner.lead) == ("", 4, 4, "alpha")
    assert winner.raw.value == pytest.approx(0.5)
    assert None not in (winner.alpha.value, winner.ac1.value, winner.prevalence)
    assert winner.kappa.why == "kappa is for two reviewers, here are 4"
    assert (queue.labeled, queue.begun) == (4, 0)
    assert {(one.text, one.mine) for one in queue.disagreements} == {("the winner differs", True)}


def test_nobody_is_told_before_his_end_how_he_contradicts_himself(full: Door) -> None:
    with labeler(full, "dana") as desk:
        session = pairs_of(desk)
        for _ in range(7):
            item = desk.labels.next_item(session)
            assert item is not None
            desk.labels.record(session, drafted(item, "left"))
            assert desk.labels.queue(SUITE, V8).disagreements == ()
        with labeler(full, "robin") as other:
            known = other.labels.queue(SUITE, V8).disagreements
            assert len(known) == 3
            assert all("left" not in one.text and "order" not in one.text for one in known)
        label_all(desk, session, lambda item: "left")
        told = desk.labels.queue(SUITE, V8).disagreements
    assert {one.text for one in told} == {"dana answers otherwise in the other order"}
    assert len(told) == 4


def test_a_third_person_settles_exactly_the_item_he_chose(full: Door) -> None:
    labeled(full, "dana")
    labeled(full, "kim", lambda item: "tie")
    with labeler(full, "robin") as desk:
        chosen = desk.labels.queue(SUITE, V8).disagreements[2].item
        session = pairs_of(desk, role="adjudicator")
        item = desk.labels.next_item(session, item=chosen)
        assert item is not None
        assert item.item == chosen
        handed = desk.labels.next_item(session, ((item.item, item.showing),), item=chosen)
        assert handed == item
        desk.labels.record(session, drafted(item))
        assert desk.labels.next_item(session, item=chosen) is None
        assert chosen not in {one.item for one in desk.labels.queue(SUITE, V8).disagreements}
        assert desk.labels.next_item(session, item="0" * 64) is None


def test_who_settled_an_item_is_not_asked_to_rate_it(full: Door) -> None:
    labeled(full, "dana")
    labeled(full, "kim", lambda item: "tie")
    with labeler(full, "robin") as desk:
        session = pairs_of(desk, role="adjudicator")
        item = desk.labels.next_item(session)
        assert item is not None
        desk.labels.record(session, drafted(item))
        queue = desk.labels.queue(SUITE, V8)
        assert (queue.items, sum(line.left for line in queue.reasons)) == (6, 6)
        shown = label_all(desk, pairs_of(desk))
        assert len(shown) == 6
        assert item.item not in {one.item for one in shown}
        assert {one.total for one in shown} == {6}


def test_a_third_person_settles_blind_and_no_rater_does(full: Door) -> None:
    labeled(full, "dana")
    labeled(full, "kim", lambda item: "tie")
    with labeler(full, "dana") as desk, pytest.raises(DeskError):
        pairs_of(desk, role="adjudicator")
    with labeler(full, "robin") as desk:
        session = pairs_of(desk, role="adjudicator")
        shown = label_all(desk, session)
        assert [item.total for item in shown] == [4] * 4
        assert {item.showing for item in shown} == {1}
        assert all(word not in rendered(item) for item in shown for word in ("dana", "kim"))
        with labeler(full, "dana") as rater:
            assert rater.labels.queue(SUITE, V8).disagreements == ()
            review = json.loads(rater.reports.build(SUITE, V8).raw)["review"]
    assert review["disagreements_open"] == 0
    assert {x["role"] for x in kept(full) if x["reviewer"] == "robin"} == {"adjudicator"}


# what it means for a release ----------------------------------------------------------------------


def test_the_shipped_candidate_promotes_without_a_label_and_with_them(full: Door) -> None:
    with labeler(full) as desk:
        built = desk.reports.build(SUITE, V8)
        assert built.assessment.recommendation == "promote"
        assert json.loads(built.raw)["review"]["high_flags"] == {
            "traces": 0,
            "open": 0,
            "first_open": [],
        }
        assert json.loads(built.raw)["review"]["why"] == "no labels yet"
        label_all(desk, pairs_of(desk), lambda item: "both_bad")
        built = desk.reports.build(SUITE, V8)
    assert built.assessment.recommendation == "promote"
    review = json.loads(built.raw)["review"]
    assert (review["pairs_labelled"], review["labels"], review["reviewers"]) == (4, 8, ["dana"])
    assert review["sample"] == 4


def test_a_high_flag_is_closed_by_a_label_of_what_the_trace_ended_with(full: Door) -> None:
    with labeler(full) as desk:
        flags = json.loads(desk.reports.build(SUITE, V7).raw)["review"]["high_flags"]
        assert (flags["traces"], flags["open"]) == (1, 1)
        assert flags["first_open"] == [
            {"trace_id": f"{SUITE}/{V7}/attack-014/1", "reasons": ["safety"]}
        ]
        assert desk.labels.queue(SUITE, V7).open_high == 1
        session = pairs_of(desk, candidate=V7)
        item = desk.labels.next_item(session, reason="safety")
        assert item is not None
        desk.labels.record(session, skipping(item, "later"))
        assert desk.labels.queue(SUITE, V7).open_high == 1
        desk.labels.record(session, drafted(item))
        assert desk.labels.queue(SUITE, V7).open_high == 0
        built = desk.reports.build(SUITE, V7)
    assert json.loads(built.raw)["review"]["high_flags"]["open"] == 0
    assert built.assessment.recommendation == "block"


def safety(queue: QueueView) -> ReasonLine:
    return next(line for line in queue.reasons if line.reason == "safety")


def test_what_is_said_of_flags_and_of_ones_own_queue_agrees(full: Door) -> None:
    """A flag is the candidate's and anybody closes it; what is left to label is one's own."""
    with labeler(full, "dana") as dana, labeler(full, "kim") as kim:
        queue = dana.labels.queue(SUITE, V7)
        line = safety(queue)
        assert (queue.high, queue.open_high, queue.open_left) == (1, 1, 2)
        assert (line.left, line.open, line.note) == (2, 1, "1 flag to close")
        # The same pair stands in v8's queue for v7's sake, and that is what v8's queue says.
        other = dana.labels.queue(SUITE, V8)
        assert (other.high, other.open_high, other.open_left) == (0, 0, 0)
        assert [(f.candidate_id, f.high, f.open, f.stops) for f in other.flags] == [
            (V8, 0, 0, True), (V7, 1, 1, False),
        ]  # fmt: skip
        assert (safety(other).left, safety(other).open) == (2, 0)
        assert safety(other).note == "no flag of its own"
        assert dana.reports.build(SUITE, V8).assessment.recommendation == "promote"
        item = dana.labels.next_item(session := pairs_of(dana, candidate=V7), reason=OPEN_FLAG)
        assert item is not None
        dana.labels.record(session, drafted(item))
        for desk, left in ((dana, 1), (kim, 2)):
            queue = desk.labels.queue(SUITE, V7)
            line = safety(queue)
            assert (queue.high, queue.open_high, queue.open_left) == (1, 0, 0)
            assert (line.left, line.open, line.note) == (left, 0, "flags all closed")
            assert desk.labels.next_item(pairs_of(desk, candidate=V7), reason=OPEN_FLAG) is None


def test_a_report_says_the_same_of_labels_as_of_the_store(full: Door) -> None:
    first = [desk_report(full, candidate) for candidate in (V7, V8)]
    labeled(full, "dana")
    labeled(full, "kim")
    for candidate, before in zip((V7, V8), first, strict=True):
        after = desk_report(full, candidate)
        for report in (before, after):  # what people said stands in one gate, and in no other
            gates = report["decision_set"]["gates"]
            report["decision_set"]["gates"] = [row for row in gates if row["gate"] != "D8"]
        changed = {name for name in after if after[name] != before[name]}
        assert changed <= {"review", "needs", "not_measured", "what_this_does_not_show", "judge"}
        assert after["review"]["agreement"][0]["raw"]["hits"] == 4


def desk_report(door: Door, candidate: str) -> dict[str, Any]:
    with labeler(door) as desk:
        return json.loads(desk.reports.build(SUITE, candidate).raw)


ANSWERS = st.lists(st.sampled_from(["left", "right", "tie", "both_bad", "skip"]), max_size=20)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answers=ANSWERS, marks=st.lists(st.integers(1, 2), max_size=4))
def test_no_set_of_labels_changes_a_gate_or_turns_a_block(
    full: Door, answers: list[str], marks: list[int]
) -> None:
    hard = ("gates", "failures", "critical_failures", "hard_pass_rate", "pass_hat", "reasons")
    before = desk_report(full, V7)
    people = full.one("SELECT count(DISTINCT reviewer) FROM label")
    with labeler(full, f"reviewer {people}") as desk:
        session = pairs_of(desk, candidate=V7)
        for word in answers:
            item = desk.labels.next_item(session)
            if item is None:
                break
            draft = skipping(item, "no") if word == "skip" else drafted(item, word)
            desk.labels.record(session, draft)
        session = pairs_of(desk, candidate=V7, kind="message")
        for mark in marks:
            item = desk.labels.next_item(session)
            if item is None:
                break
            levels = {c.criterion_id: mark for c in item.criteria}
            desk.labels.record(session, drafted(item, marks=levels))
        after = json.loads(desk.reports.build(SUITE, V7).raw)
    assert after["recommendation"] == "block"
    assert {name: after[name] for name in hard} == {name: before[name] for name in hard}


def test_an_iteration_limit_that_policy_forgives_holds_until_a_person_has_looked(
    door: Door,
) -> None:
    """A policy may forgive a failed attempt; it does not forgive that nobody looked at it."""
    lenient(door)
    records = [
        passing(episode, attempt=n, nonce=n)
        for episode in ("damaged-221", "appeal-009", "attack-014")
        for n in (1, 2, 3)
    ]
    records[0]["termination"] = "max_steps"
    door.take("t.jsonl", records)
    with labeler(door) as desk:
        held = desk.reports.build(SUITE, "cand-a").assessment
        assert held.recommendation == "hold"
        assert [reason.text for reason in held.reasons] == [
            "review missing: 1 of 1 high flags open"
        ]
        assert held.needs == ("labels that close 1 high flag",)
        session = desk.labels.session(SUITE, "cand-a", kind="message")
        item = desk.labels.next_item(session, reason="high")
        assert item is not None
        desk.labels.record(session, drafted(item))
        assert desk.reports.build(SUITE, "cand-a").assessment.recommendation == "promote"


def lenient(door: Door, wording: Sequence[object] = (), **labels: object) -> None:
    """The suite with a policy that forgives failed attempts, and a manifest of cand-a."""
    rubric = json.loads((door.suite / "rubric.json").read_bytes())
    (door.suite / "rubric.json").write_text(json.dumps({**rubric, "wording": list(wording)}))
    shutil.rmtree(door.suite / ".frozen")
    for path in (door.suite / "suite.lock", door.suite / "suite.sha256"):
        path.unlink()
    raw = json.loads((door.suite / "suite.json").read_bytes())
    raw["policy"] |= {"hard_pass_rate": 0.5, "pass_hat": {"k": 1, "min": 0.5}}
    raw["policy"]["labels"] |= labels
    (door.suite / "suite.json").write_text(json.dumps(raw))
    door.ok("suite", "freeze", SUITE)
    manifest = json.loads((door.suite / "candidates" / f"{V8}.json").read_bytes())
    manifest["candidate_id"] = "cand-a"
    (door.suite / "candidates" / "cand-a.json").write_text(json.dumps(manifest))


def test_a_judge_that_flips_brings_its_pairs_up_and_is_told_to_nobody(full: Door) -> None:
    with labeler(full) as desk:
        before = desk.labels.queue(SUITE, V8)
        first = desk.labels.next_item(pairs_of(desk))
        full.ok("judgments", "import", full.suite / "judgments" / "shopflow.jsonl")
        after = desk.labels.queue(SUITE, V8)
        shown = label_all(desk, pairs_of(desk))
    counts = [
        {line.reason: line.left for line in queue.reasons}["judge_flips"]
        for queue in (before, after)
    ]
    assert counts[0] == 0 < counts[1]
    assert first is not None
    assert all("judge" not in rendered(item) for item in shown)


def test_wording_that_policy_wants_is_looked_for_in_every_message(door: Door) -> None:
    rules = [
        {"wording_id": "refund", "says": ["refund"]},
        {"wording_id": "promise", "never": ["guaranteed"], "episodes": ["appeal-009"]},
    ]
    lenient(door, wording=rules)
    texts = ["A refund was paid.", "No refund was paid.", "It is guaranteed.", None]
    records = [
        passing("appeal-009", attempt=n, nonce=n, final_message=text)
        for n, text in enumerate(texts, 1)
    ]
    door.take("t.jsonl", records)
    with labeler(door) as desk:
        built = desk.reports.build(SUITE, "cand-a")
    section = json.loads(built.raw)["review"]["wording"]
    assert (section["checked"], section["of"]) == (4, 4)
    found = {rule["wording_id"]: rule for rule in section["rules"]}
    assert [found["refund"][name] for name in ("holds", "breaks", "unknown")] == [1, 3, 0]
    assert [found["promise"][name] for name in ("holds", "breaks", "unknown")] == [3, 1, 0]
    assert found["promise"]["first"] == [f"{SUITE}/cand-a/appeal-009/3"]
    assert not any("wording" in reason.text for reason in built.assessment.reasons)


def test_pairs_that_the_policy_wants_hold_with_their_number(door: Door) -> None:
    lenient(door, min_pairs=3)
    door.take("t.jsonl", [*shipped(V7), *shipped(V8)])
    with labeler(door) as desk:
        assert desk.reports.build(SUITE, V8).assessment.needs == ("3 more labelled pairs",)
        session = pairs_of(desk)
        shown = [answer(desk, session) for _ in range(5)]
        review = desk.reports.build(SUITE, V8)
        assert len({item.item for item in shown}) == 4
        assert (json.loads(review.raw)["review"]["pairs_labelled"]) == 1
        assert json.loads(review.raw)["review"]["pairs_begun"] == 3
        assert review.assessment.needs == ("2 more labelled pairs",)
        assert review.assessment.reasons[0].observed == "1 of 3 pairs"
        label_all(desk, session)
        assert desk.reports.build(SUITE, V8).assessment.recommendation == "promote"


def test_what_an_author_says_of_their_own_candidate_closes_nothing(door: Door) -> None:
    lenient(door, min_pairs=3)
    door.take("t.jsonl", [*shipped(V7), *shipped(V8)])
    labeled(door, "R.Lee")  # both manifests say r.lee
    with labeler(door) as desk:
        held = desk.reports.build(SUITE, V8)
        assert held.assessment.needs == (
            "3 more labelled pairs",
            "labels of somebody else than R.Lee",
        )
        assert json.loads(held.raw)["review"]["by_authors"] == ["R.Lee"]
        label_all(desk, pairs_of(desk))
        judged = desk.reports.build(SUITE, V8)
        assert judged.assessment.recommendation == "promote"
        assert "R.Lee" not in json.loads(judged.raw)["review"]["reviewers"]


def test_the_queue_counts_for_a_release_what_the_report_counts(door: Door) -> None:
    """A flag that an author labeled stays open until somebody else labels it."""
    lenient(door, min_pairs=3)
    door.take("t.jsonl", [*shipped(V8), *shipped(V7)])
    with labeler(door, "R.Lee") as desk:
        session = pairs_of(desk, V7)
        before = desk.labels.queue(SUITE, V7)
        assert (before.author, before.by_authors) == (True, ())
        assert before.high == before.open_high > 0
        label_all(desk, session)
        after = desk.labels.queue(SUITE, V7)
        assert after.by_authors == ("R.Lee",)
        assert (after.open_high, after.open_left) == (before.open_high, 0)
        assert "3 more labeled pairs before a promotion" in after.needed
        review = json.loads(desk.reports.build(SUITE, V7).raw)["review"]
        assert review["high_flags"]["open"] == after.open_high
    said = door.ok("labels", "queue", "--suite", SUITE, "--candidate", V7).out
    assert "labels of R.Lee close no flag: nobody judges their own work" in said
    with labeler(door) as desk:
        session = pairs_of(desk, V7)
        found = desk.labels.queue(SUITE, V7)
        assert not found.author
        assert found.open_left
        label_all(desk, session)
        closed = desk.labels.queue(SUITE, V7)
        assert closed.open_high == 0
        review = json.loads(desk.reports.build(SUITE, V7).raw)["review"]
        assert review["high_flags"]["open"] == 0
