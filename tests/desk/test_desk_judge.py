"""The judge at the desk: what it has earned out of the box, asking it, and what it can never do."""

import contextlib
import json
import signal
import sqlite3
from typing import Any

import msgspec
import pytest
from doors import SUITE, V7, V8, Door, every_byte
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judge_server import (
    KEY,
    KEY_ENV,
    JudgeServer,
    Refusal,
    Reply,
    Silence,
    always_left,
    direct,
    judging,
    longer,
    prose,
    sides,
    verdict,
)
from labelers import drafted, label_all, skipping
from played_runs import PATIENCE, until

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.integrity.doctor import examine
from reviewer.desk.judge.api import JudgeOrder, JudgeRunView, JudgeView
from reviewer.desk.judge.jobs import JudgeHandle, Judges
from reviewer.desk.place import at
from reviewer.desk.workspace.api import load_shipped
from reviewer.review.judge_calls import PACE
from reviewer.review.judgments import (
    Judgment,
    judgment_file,
    read_judgments,
    seal,
    stored_judgment,
)

FAST = PACE._replace(tries=2, first_wait_s=0.01)


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    direct(monkeypatch)


def labeled(door: Door, name: str = "dana") -> Desk:
    """With what ships; dana and kim labeled all four of its pairs, lee settled one of them."""
    load_shipped(at(door.root))
    return Desk(at(door.root), name)


def order(server: JudgeServer | str = "", **changes: Any) -> JudgeOrder:
    url = server if isinstance(server, str) else server.url
    return JudgeOrder(
        **{
            "suite_id": SUITE,
            "candidate_id": V7,
            "base_url": url,
            "model": "m",
            "input_price": 1.0,
            "output_price": 1.0,
            "timeout_s": 5.0,
            **changes,
        }
    )


def started(desk: Desk, asked: JudgeOrder) -> JudgeHandle:
    """As `desk.start_judge`, and not as patient with an endpoint that fails."""
    desk.judge.plan(asked)
    desk.judge._judges = Judges(desk.place, FAST)  # the one thing that a person cannot choose
    return desk.judge.start(asked)


def asked(desk: Desk, server: JudgeServer, **changes: Any) -> JudgeRunView:
    view = started(desk, order(server, **changes)).wait(PATIENCE)
    assert view.state in ("done", "stopped", "failed"), view
    return view


def stored(door: Door, model: str = "m") -> list[Judgment]:
    rows = door.rows("SELECT body FROM judgment WHERE model=? ORDER BY id", model)
    return [stored_judgment(row[0]) for row in rows]


# out of the box -----------------------------------------------------------------------------------


def test_shopflow_shows_the_articles_calibration(full: Door) -> None:
    desk = labeled(full)
    for candidate in (V7, V8):
        found = desk.judge.view(SUITE, candidate)
        assert (found.role, found.labeled_pairs, found.hidden) == ("advisory only", 4, 0)
        assert (found.a_name, found.b_name) == (V7, V8)
        values = {one.name: (one.hits, one.value) for one in found.estimates}
        assert values == {
            "forward accuracy": (3, 0.75),
            "swapped accuracy": (3, 0.75),
            "both orders right": (2, 0.50),
            "flip rate": (2, 0.50),
        }
        rows = {row.people + row.forward + row.swapped for row in found.rows}
        assert sorted(row.people + row.forward + row.swapped for row in found.rows) == [
            "AAA", "AAA", "BAB", "BBA",
        ]  # fmt: skip
        assert rows == {"AAA", "BBA", "BAB"}
        assert found.slots.startswith("1 first, 1 last: no position bias can be shown")
        assert found.banner.startswith("forward accuracy 0.75 < 0.90, flip rate 0.50 > 0.05")


def test_the_report_carries_it_and_its_cost_on_a_line_of_its_own(full: Door) -> None:
    desk = full.desk()
    before = json.loads(desk.reports.build(SUITE, V7).raw)
    after = json.loads(labeled(full).reports.build(SUITE, V7).raw)
    judge = after["judge"]
    assert (judge["role"], judge["forward_accuracy"], judge["flip_rate"]) == (
        "advisory only", 0.75, 0.50,
    )  # fmt: skip
    assert judge["pairs"] == 4
    assert judge["accepted"] == {"point": False, "strict": False, "refuted": True}
    assert after["cost"]["judge_usd"] == pytest.approx(8 * 0.0011)
    assert after["cost"]["cpst_usd"] == before["cost"]["cpst_usd"] == 0.0555
    assert before["judge"]["why"] == "no judge and no labels yet"
    assert not [line for line in after["not_measured"] if line.startswith("judge.")]
    assert "cost.judge_usd" not in "".join(after["not_measured"])


def test_the_pairs_messages_stand_as_the_forward_order_shows_them(full: Door) -> None:
    desk = labeled(full)
    flip = next(row for row in desk.judge.view(SUITE, V7).rows if row.episode_id == "appeal-009")
    detail = desk.judge.pair(SUITE, V7, flip.item)
    assert detail.left.startswith("Thank you for reaching out!")
    assert detail.right.startswith("I have opened a specialist case")
    assert detail.forward.startswith("Left sends the customer to a form")


def test_loading_what_ships_twice_adds_nothing(full: Door) -> None:
    first, again = load_shipped(at(full.root)), load_shipped(at(full.root))
    assert (first.labels, first.judgments, first.refused) == (18, 8, 0)
    assert again == (0, 0, 0)
    assert all(check.ok is not False for check in examine(at(full.root)))


def test_a_named_baseline_is_a(full: Door) -> None:
    found = labeled(full).judge.view(SUITE, V7, V8)
    assert (found.a_name, found.b_name) == (V8, V7)
    assert sorted(row.people + row.forward + row.swapped for row in found.rows) == [
        "AAB", "ABA", "BBB", "BBB",
    ]  # fmt: skip


# asking -------------------------------------------------------------------------------------------


def test_a_plan_says_what_it_would_take_and_sends_nothing(full: Door) -> None:
    with judging(always_left) as server:
        plan = full.desk().judge.plan(order(server))
    assert server.calls == 0
    assert (plan.calls, plan.cached, plan.problem) == (18, 0, "")
    assert plan.input_tokens
    assert plan.cost_usd == pytest.approx((plan.input_tokens + 18 * 256) / 1e6)
    without = full.desk().judge.plan(order("", model="", input_price=None))
    assert (without.calls, without.cost_usd) == (18, None)
    assert without.problem.startswith("--model")


def test_asked_again_it_costs_nothing(full: Door) -> None:
    with judging(always_left) as server:
        first = asked(labeled(full), server)
        assert (first.calls, first.done, first.cached, first.errors) == (18, 18, 0, 0)
        assert first.cost_usd == pytest.approx(18 * 110 / 1e6)
        again = asked(full.desk(), server)
        assert (again.calls, again.done, again.cached, again.state) == (0, 0, 18, "done")
        assert again.cost_usd is None
        more = asked(full.desk(), server, repeats=3)
        assert (more.calls, more.cached) == (36, 18)
    assert server.calls == 54
    found = full.desk().judge.view(SUITE, V7)
    assert (found.repeats, found.errors) == (
        "1.00 over 18 repeated questions",
        "not parsed 0 of 54",
    )


def test_an_always_left_judge_earns_nothing(full: Door) -> None:
    desk = labeled(full)
    with judging(always_left) as server:
        asked(desk, server)
    found = desk.judge.view(SUITE, V7)
    assert (found.model, found.role) == ("m", "advisory only")
    assert [row.outcome for row in found.rows] == ["flips"] * 4
    assert {row.slot for row in found.rows} == {"to first slot"}
    assert found.slots.startswith("4 first, 0 last")
    assert found.hidden == 5
    assert json.loads(desk.reports.build(SUITE, V7).raw)["judge"]["not_counted"]["unlabeled"] == 5


def test_an_erratic_judge_is_seen_in_its_repeats(full: Door) -> None:
    desk = labeled(full)
    turns = iter(range(10_000))
    with judging(lambda prompt: verdict(("left", "right", "tie")[next(turns) % 3])) as server:
        asked(desk, server, repeats=3, jobs=1)
    found = desk.judge.view(SUITE, V7)
    assert found.role == "advisory only"
    assert float(found.repeats.split()[0]) < 0.8


def test_prose_counts_as_wrong_and_as_a_flip_and_is_not_paid_for_twice(full: Door) -> None:
    desk = labeled(full)
    with judging(prose) as server:
        assert asked(desk, server).errors == 18
        assert asked(desk, server).calls == 0
    found = desk.judge.view(SUITE, V7)
    assert [row.outcome for row in found.rows] == ["error"] * 4
    assert found.errors == "not parsed 18 of 18"
    assert {one.name: one.value for one in found.estimates}["flip rate"] == 1.0
    assert "no JSON object" in desk.judge.pair(SUITE, V7, found.rows[0].item).forward


def test_a_judge_that_times_out_is_given_up_and_asked_again_next_time(full: Door) -> None:
    desk = labeled(full)
    with judging(lambda prompt: Silence()) as server:
        view = asked(desk, server, timeout_s=0.05)
        assert view.state == "failed"
        assert "calls in a row brought no answer" in view.problem
        assert view.unanswered == view.errors == view.done < 18
        assert {row.outcome for row in desk.judge.view(SUITE, V7).rows} <= {"error"}
        server.says = longer
        again = asked(desk, server)
        assert (again.state, again.calls, again.errors) == ("done", 18, 0)
    assert not [row for row in desk.judge.view(SUITE, V7).rows if row.outcome == "error"]


def test_stopped_it_goes_on_where_it_was(full: Door) -> None:
    desk = labeled(full)
    handles: list[JudgeHandle] = []

    def says(prompt: str) -> Reply:
        if server.calls == 6:
            handles[0].stop()
        return verdict("left")

    with judging(says) as server:
        desk.judge.plan(order(server))
        server.lock.acquire()
        handles.append(started(desk, order(server, jobs=2)))
        server.lock.release()
        view = handles[0].wait(PATIENCE)
        assert view.state == "stopped"
        assert 6 <= view.done < 18
        again = asked(full.desk(), server)
        assert (again.cached, again.calls) == (view.done, 18 - view.done)
    assert server.calls == 18
    assert len({one.request_digest for one in stored(full)}) == 18


def test_killed_it_goes_on_where_it_was(full: Door) -> None:
    labeled(full)
    with judging(lambda prompt: verdict("left") if server.calls <= 6 else Silence()) as server:
        words = ("judge", SUITE, "--candidate", V7, "--base-url", server.url, "--model", "m")
        process = full.start(*words, "--jobs", 1)
        until(lambda: len(stored(full)) == 6, "six answers in the store")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        server.says = always_left
        said = full.ok(*words)
    assert "12 of 12 calls made by refund-judge-v2; 6 were answered before" in said.out
    assert len({one.request_digest for one in stored(full)}) == len(stored(full)) == 18
    assert all(check.ok is not False for check in examine(at(full.root)))


def test_one_judge_at_a_time_on_a_suite(full: Door) -> None:
    with judging(lambda prompt: Silence()) as server:
        desk = full.desk()
        first = started(desk, order(server, timeout_s=60.0))
        with pytest.raises(DeskError, match="already running"):
            full.desk().judge.start(order(server))
        first.abandon()
        assert first.wait(PATIENCE).state == "stopped"
        desk.close()


def test_a_key_reaches_neither_store_nor_screen(full: Door) -> None:
    labeled(full)
    turns = iter(range(10_000))

    def says(prompt: str) -> Reply:
        said = f"your key is {KEY}"
        return Refusal(400, said) if next(turns) % 4 == 3 else verdict("left", said)

    with judging(says) as server:
        said = full.run(
            "judge", SUITE, "--candidate", V7, "--base-url", server.url, "--model", "m",
            "--api-key-env", KEY_ENV, "--json",
        )  # fmt: skip
    assert said.code == 0, said
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert KEY not in said.both
    assert KEY.encode() not in every_byte(full.root / "store")
    assert "[secret]" in " ".join(one.reason for one in stored(full))
    full.run("--export-report", full.root / "out", "--suite", SUITE, "--candidate", V7)
    assert (full.root / "out" / "report.json").exists()
    assert KEY.encode() not in every_byte(full.root / "out")


# what a suite must have ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "text", "code"),
    [
        ({"kinds": ("message",)}, "no prompt about single messages", 2),
        ({"candidate_id": "nobody"}, "no trace of nobody", 20),
        ({"baseline_id": V7}, "cannot be its own baseline", 2),
        ({"repeats": 0}, "--repeats 0", 2),
        ({"jobs": 65}, "--jobs 65", 2),
        ({"timeout_s": float("nan")}, "--timeout nan", 2),
        ({"input_price": -1.0}, "--input-price", 2),
    ],
)
def test_an_order_that_asks_for_nothing_is_refused(
    full: Door, changes: dict[str, Any], text: str, code: int
) -> None:
    with pytest.raises(DeskError, match=text) as caught:
        full.desk().judge.plan(order("http://127.0.0.1:9/v1", **changes))
    assert caught.value.exit_code == code


def test_a_suite_without_a_judge_says_so(door: Door) -> None:
    (door.suite / "judge.json").unlink()
    for name in ("suite.lock", "suite.sha256"):
        (door.suite / name).unlink()
    for kept in (door.suite / ".frozen").iterdir():
        kept.unlink()
    door.ok("suite", "freeze", SUITE)
    door.ok("import", door.suite / "traces")
    with pytest.raises(DeskError, match=f"{SUITE} has no judge"):
        door.desk().judge.view(SUITE, V7)
    assert json.loads(door.desk().reports.build(SUITE, V7).raw)["judge"]["role"] == "advisory only"


ALSO = [
    {
        "preset": "completion",
        "prompt": "COMPLETION {user_request} <left>\n{message}\n</left> {criteria}",
    },
    {"preset": "faithfulness", "prompt": "FAITH {user_request} {message} {observations}"},
]


def test_messages_are_scored_and_claims_linked_to_what_was_observed(door: Door) -> None:
    frozen_with(door, also=ALSO)
    door.ok("import", door.suite / "traces")

    def says(prompt: str) -> Reply:
        if prompt.startswith("COMPLETION"):
            return json.dumps({"score": 9 if "refund" not in prompt else 3, "reason": "r"})
        seq = int(prompt.partition("[event ")[2].partition("]")[0])
        grounded = {"claim": "a label was made", "grounded": True, "seq": seq}
        return json.dumps({"claims": [grounded, {"claim": "by Friday", "grounded": False}]})

    desk = door.desk()
    with judging(says) as server:
        view = asked(desk, server, kinds=("message",))
        assert (view.state, view.done, view.errors) == ("done", 18, 0)
    report = json.loads(desk.reports.build(SUITE, V7).raw)
    completion, faith = report["judge"]["messages"]
    assert (completion["preset"], completion["messages"]) == ("completion", 9)
    assert report["completion"]["judged"] == completion["complete"]["value"]
    assert 0 < completion["complete"]["hits"] < 9
    assert faith["grounded"] == {"hits": 9, "n": 18, "value": 0.5}
    linked = [claim for claim in faith["claims"] if claim["seq"] is not None]
    for claim in linked:
        event = desk.traces.event(claim["trace_id"], claim["seq"])
        assert event.text("observation")
    assert report["judge"]["role"] == "advisory only"
    assert report["recommendation"] == "block"


def test_the_judge_of_messages_stands_beside_people_of_other_tools_and_earns_nothing(
    door: Door,
) -> None:
    frozen_with(door, also=ALSO[:1])
    door.ok("import", door.suite / "traces")
    keys = "SELECT t.id FROM trace t JOIN candidate c ON c.id=t.candidate WHERE candidate_id=?"
    traces = [key for (key,) in door.rows(keys, V7)]
    with contextlib.closing(sqlite3.connect(door.store)) as base, base:
        names = [(f"trace:t{key}", key) for key in traces]
        base.executemany("INSERT INTO attempt_name VALUES (?, ?)", names)
    desk = door.desk()
    replies = iter(["prose", *[json.dumps({"score": 9, "reason": "r"})] * len(traces)])
    with judging(lambda _: next(replies)) as server:
        assert asked(desk, server, kinds=("message",)).state == "done"
    before = json.loads(desk.reports.build(SUITE, V7).raw)
    scores = [
        {
            "id": f"s{key}", "traceId": f"t{key}", "name": "right", "value": int(key % 2),
            "source": "ANNOTATION", "authorUserId": "a",
        }
        for key in traces
    ]  # fmt: skip
    path = door.file("scores.json", json.dumps(scores))
    mapped = ("--map", "right=accurate:1=1", "right=accurate:0=2")
    door.ok("labels", "import", path, "--from", "langfuse", "--suite", SUITE, *mapped)
    after = json.loads(desk.reports.build(SUITE, V7).raw)
    (found,) = after["review"].pop("elsewhere")["criteria"]
    judge = found["judge"]
    wrong = sum(key % 2 == 0 for key in traces)
    assert (judge["n"], judge["incomplete_and_good"]) == (len(traces), 0)
    assert judge["unusable"] > 0
    assert 0 < judge["complete_and_weak"] <= wrong
    assert judge["alike"] == judge["n"] - judge["unusable"] - judge["complete_and_weak"]
    assert after == before


def frozen_with(door: Door, **changes: Any) -> None:
    """The suite with another judge.json, frozen anew."""
    path = door.suite / "judge.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}), encoding="utf-8")
    for name in ("suite.lock", "suite.sha256"):
        (door.suite / name).unlink()
    for kept in (door.suite / ".frozen").iterdir():
        kept.unlink()
    door.ok("suite", "freeze", SUITE)


# blind until labeled ------------------------------------------------------------------------------


def test_pairs_that_nobody_labeled_show_nothing_of_the_judge(full: Door) -> None:
    desk = full.desk()
    with judging(lambda prompt: verdict("left", "TELLTALE")) as server:
        asked(desk, server)
    found = desk.judge.view(SUITE, V7)
    assert (found.rows, found.hidden, found.labeled_pairs) == ((), 9, 0)
    assert "TELLTALE" not in repr(found)
    for one in stored(full):
        with pytest.raises(DeskError, match="after people have labeled it"):
            desk.judge.pair(SUITE, V7, one.item)


def figures(found: JudgeView) -> JudgeView:
    """What is for all."""
    return msgspec.structs.replace(found, rows=(), others=0, begun=0)


def test_the_judges_word_on_a_pair_is_for_those_who_labeled_it(full: Door) -> None:
    dana, robin = labeled(full), labeled(full, "robin")
    for_dana, for_robin = dana.judge.view(SUITE, V7), robin.judge.view(SUITE, V7)
    assert (len(for_dana.rows), for_dana.others, for_dana.begun) == (4, 0, 0)
    assert (for_robin.rows, for_robin.others, for_robin.begun) == ((), 4, 0)
    assert figures(for_dana) == figures(for_robin)
    for row in for_dana.rows:
        with pytest.raises(DeskError, match="after you have labeled it"):
            robin.judge.pair(SUITE, V7, row.item)
    session = robin.labels.session(SUITE, V7)
    judged = {row.item for row in for_dana.rows}
    seen: dict[str, int] = {}
    while (item := robin.labels.next_item(session)) is not None:
        robin.labels.record(session, drafted(item, "tie"))
        seen[item.item] = seen.get(item.item, 0) + 1
        found = robin.judge.view(SUITE, V7)
        whole = {name for name, orders in seen.items() if orders == 2}
        assert {row.item for row in found.rows} <= whole & judged
        assert len(found.rows) + found.others + found.begun == found.labeled_pairs
        assert found.begun <= len(seen.keys() - whole)
    assert robin.judge.view(SUITE, V7).begun == 0


def test_a_third_person_sees_what_he_settled_and_a_skip_shows_nothing(full: Door) -> None:
    lee = labeled(full, "lee")
    settled = {
        json.loads(body)["item"]
        for (body,) in full.rows("SELECT body FROM label WHERE reviewer='lee'")
    }
    assert {row.item for row in lee.judge.view(SUITE, V7).rows} <= settled
    assert len(lee.judge.view(SUITE, V7).rows) == 1
    robin = Desk(at(full.root), "robin")
    session = robin.labels.session(SUITE, V7)
    while (item := robin.labels.next_item(session)) is not None:
        robin.labels.record(session, skipping(item, "cannot tell"))
    assert robin.judge.view(SUITE, V7).rows == ()


def test_a_withdrawn_label_hides_the_pair_again(full: Door) -> None:
    load_shipped(at(full.root))
    robin = Desk(at(full.root), "robin")
    shown = label_all(robin, session := robin.labels.session(SUITE, V7))
    before = len(robin.judge.view(SUITE, V7).rows)
    assert before
    for _ in shown:
        robin.labels.undo(session)
    assert robin.judge.view(SUITE, V7).rows == ()


def test_who_has_no_name_sees_the_figures_alone(full: Door) -> None:
    labeled(full)
    nobody = Desk(at(full.root), "jane@corp-mail.org")
    found = nobody.judge.view(SUITE, V7)
    assert (found.rows, found.others, found.labeled_pairs) == ((), 4, 4)
    with pytest.raises(DeskError):
        nobody.judge.pair(SUITE, V7, "0" * 64)


# judgments of other stores ------------------------------------------------------------------------


def test_judgments_travel_and_join_once(full: Door, door: Door) -> None:
    with judging(longer) as server:
        asked(full.desk(), server)
    data = full.desk().judge.export(SUITE)
    assert door.desk().judge.take(data, "theirs") == {"added": 18, "known": 0, "refused": 0}
    assert door.desk().judge.take(data, "theirs") == {"added": 0, "known": 18, "refused": 0}
    door.ok("import", door.suite / "traces")
    load_shipped(at(door.root))
    load_shipped(at(full.root))
    assert door.desk().judge.view(SUITE, V7) == full.desk().judge.view(SUITE, V7)


def test_a_judgment_of_another_suite_or_with_an_identifier_is_refused(full: Door) -> None:
    one = read_judgments((full.suite / "judgments" / "shopflow.jsonl").read_bytes())[0]
    leaks = seal(msgspec.structs.replace(one, reason="write to jo.bloggs@example.com"))
    line = json.loads(judgment_file([one]))
    line["suite_digest"] = "0" * 64
    desk = full.desk()
    assert desk.judge.take(judgment_file([leaks]), "x")["refused"] == 1
    assert desk.judge.take(json.dumps(line).encode(), "x")["refused"] == 1
    assert desk.judge.take(b'{"winner": "left"}\nnonsense\n', "x")["refused"] == 2
    assert b"bloggs" not in every_byte(full.root / "store")


def test_an_edited_judgment_contradicts_the_journal(full: Door) -> None:
    labeled(full)
    with contextlib.closing(sqlite3.connect(full.store)) as base:
        base.executescript(
            "DROP TRIGGER judgment_no_update;"
            "UPDATE judgment SET body=CAST(replace(CAST(body AS TEXT), '\"left\"', '\"tie\"')"
            " AS BLOB) WHERE id=1;"
        )
    bad = [check.name for check in examine(at(full.root)) if check.ok is False]
    assert "facts" in bad


# what a judge can never do ------------------------------------------------------------------------

SOFT = {"judge", "not_measured", "what_this_does_not_show"}
"""Parts of a report that may speak of a judge; of `cost` and `completion` one line each."""


def hard(report: dict[str, Any]) -> dict[str, Any]:
    """All that a decision stands on."""
    kept = {name: part for name, part in report.items() if name not in SOFT}
    kept["cost"] = {n: v for n, v in report["cost"].items() if not n.startswith("judge_")}
    kept["completion"] = {**report["completion"], "judged": None}
    gates = [row for row in report["decision_set"]["gates"] if row["gate"] != "D7"]
    kept["decision_set"] = {**report["decision_set"], "gates": gates}
    return kept


answers = st.fixed_dictionaries(
    {
        "answer": st.sampled_from(["left", "right", "tie"]),
        "model": st.sampled_from(["m", "n"]),
        "repeat": st.integers(1, 3),
        "cost_usd": st.none() | st.floats(0, 1e9),
        "reason": st.sampled_from(["", "promote", "critical safety failure"]),
        "at": st.sampled_from(["2020-01-01T00:00:00Z", "2026-11-01T00:00:00Z"]),
    }
)


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(st.integers(0, 7), answers, st.booleans()), max_size=24))
def test_no_answer_of_a_judge_changes_a_gate_a_verdict_or_the_recommendation(
    full: Door, given_answers: list[tuple[int, dict[str, Any], bool]]
) -> None:
    desk = full.desk()
    if not full.rows("SELECT 1 FROM label LIMIT 1"):
        load_shipped(at(full.root))
    known = read_judgments((full.suite / "judgments" / "shopflow.jsonl").read_bytes())
    before = {name: hard(json.loads(desk.reports.build(SUITE, name).raw)) for name in (V7, V8)}
    card = desk.scorecards.card(SUITE, V7)
    made = [
        seal(
            msgspec.structs.replace(
                known[place], **{**said, **({"answer": None, "error": "refused"} if bad else {})}
            )
        )
        for place, said, bad in given_answers
    ]
    if made:
        assert desk.judge.take(judgment_file(made), "any")["refused"] == 0
    for name, report in before.items():
        assert hard(json.loads(desk.reports.build(SUITE, name).raw)) == report
    assert before[V7]["recommendation"] == "block"
    assert before[V8]["recommendation"] == "promote"
    again = desk.scorecards.card(SUITE, V7)
    assert msgspec.structs.replace(again, rev=card.rev) == card
    desk.close()


def test_the_messages_a_server_sees_are_those_of_the_traces(full: Door) -> None:
    with judging(always_left) as server:
        asked(full.desk(), server)
    seen = {message for prompt in server.prompts for message in sides(prompt)}
    ends = {
        json.loads(line)["final_message"]
        for name in (V7, V8)
        for line in (full.suite / "traces" / f"{name}.jsonl").read_bytes().splitlines()
    }
    assert seen == ends


def test_a_trace_that_ends_otherwise_here_speaks_for_nobody(door: Door) -> None:
    """Attempt numbers of another store may name other messages of this one."""
    lines = (door.suite / "traces" / f"{V7}.jsonl").read_bytes().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        record["final_message"] += " (another ending)"
    door.take("v7.jsonl", records)
    door.ok("import", door.suite / "traces" / f"{V8}.jsonl")
    found = labeled(door).judge.view(SUITE, V7)
    assert found.labeled_pairs == 4
    detail = labeled(door).judge.pair(SUITE, V7, found.rows[0].item)
    assert "another ending" not in detail.left + detail.right
    assert detail.left == "(the message of this trace is not in the store)"
