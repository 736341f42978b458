"""What is quick at any size says what the slow way says."""

import itertools
import json
import math
import random
import shutil
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from doors import REPOSITORY, Door
from hypothesis import given
from hypothesis import strategies as st
from test_desk_grid import ONE, SHOWN, SUITE, TWO, write_suite, write_traces

from reviewer.db import count_blocks
from reviewer.db.codec import (
    DIAGNOSTICS,
    diagnostic_columns,
    gate_results,
    pack_diagnostics,
    unpack_diagnostics,
)
from reviewer.db.connection import transaction
from reviewer.db.figure_blocks import noted_of
from reviewer.db.queries import episodes, report_figures
from reviewer.db.queries.episode_order import (
    Medians,
    group_rows,
    grouped,
    order_names,
    ordered_episodes,
)
from reviewer.db.queries.episodes import FirstSet, RollRow
from reviewer.db.queries.report_figures import diagnostic_means
from reviewer.db.queries.traces import findings_of, traces_of
from reviewer.db.registry import episode_names
from reviewer.db.schema import open_writer
from reviewer.db.search import catch_up
from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.reports.evidence import episode_totals, failing_traces
from reviewer.desk.scorecards import cache
from reviewer.report.evidence import EpisodeCounts, FailedTrace
from reviewer.stats.cost_latency import latency_quantile
from reviewer.suite.gates import ALWAYS

ORDERS = order_names(ALWAYS)
FULL = "agent-three"
"""A candidate with attempts of every episode."""


def lines(candidate: str, attempt: int, count: int = 30, seed: int = 5) -> list[dict[str, object]]:
    draw = random.Random(seed + attempt)
    return [
        {
            "episode_id": f"ep-{number:02}",
            "candidate_id": candidate,
            "attempt": attempt,
            "events": [
                {"tool": "lookup_order", "status": draw.choice(("ok", "timeout"))},
                *([{"tool": "issue_refund", "status": "ok"}] if draw.random() < 0.1 else []),
            ],
            "final_state": draw.choice(("case_opened", "case_opened", "case_lost")),
            "final_message": f"{candidate} {number} {attempt}",
            "cost_usd": round(draw.uniform(0.01, 0.16), 4),
            "latency_ms": draw.uniform(500, 9000),
            **({"termination": "infrastructure_error"} if draw.random() < 0.1 else {}),
        }
        for number in range(count)
    ]


def take(door: Door, name: str, records: list[dict[str, object]]) -> None:
    path = door.root / name
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    said = door.run("import", path)
    assert said.code in (0, 20), said.both


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Door:
    root = tmp_path_factory.mktemp("scale") / "desk"
    (root / "store").mkdir(parents=True)
    write_suite(root / "suites" / SUITE)
    door = Door(root)
    for candidate, seed in ((ONE, 3), (TWO, 4)):
        write_traces(root / f"{candidate}.jsonl", candidate, seed)
        assert door.run("import", root / f"{candidate}.jsonl").code == 0
    for attempt in (1, 2, 3, 4):
        take(door, f"full-{attempt}.jsonl", lines(FULL, attempt))
    return door


@pytest.fixture
def desk(template: Door) -> Iterator[Desk]:
    found = template.desk()
    yield found
    found.close()


@pytest.fixture
def mine(template: Door, tmp_path: Path) -> Door:
    """A copy to write into."""
    shutil.copytree(template.root, tmp_path / "desk")
    return Door(tmp_path / "desk")


def key_of(connection: sqlite3.Connection, candidate: str) -> int:
    return int(
        connection.execute(
            "SELECT id FROM candidate WHERE candidate_id=?", (candidate,)
        ).fetchone()[0]
    )


# counts ------------------------------------------------------------------------------------------


def slowly(roll: RollRow | FirstSet, name: str, refused: int) -> EpisodeCounts:
    """A roll-up in the report's words, one column after another."""
    passed = [roll.attempts - f - u for f, u in zip(roll.fail, roll.unknown, strict=True)]
    return EpisodeCounts(
        episode_id=name,
        attempts=roll.attempts,
        measured=roll.measured,
        passes=roll.passes,
        critical=roll.critical,
        infrastructure=roll.infra,
        in_plan=roll.in_plan,
        quarantined=refused,
        cost_nano=roll.cost_nano,
        cost_unknown=roll.cost_unknown,
        steps=roll.steps,
        gate_pass=tuple(passed),
        gate_fail=roll.fail,
        gate_unknown=roll.unknown,
        first=None
        if isinstance(roll, FirstSet) or roll.first is None
        else slowly(roll.first, name, refused),
    )


@pytest.mark.parametrize("candidate", [ONE, TWO, FULL])
def test_counts_are_those_of_the_roll_ups(desk: Desk, candidate: str) -> None:
    refused = {"ep-03": 2, "ep-29": 1}
    with desk.opened.reading() as connection:
        key = key_of(connection, candidate)
        found = episode_totals(connection, episode_names(connection, 1), key, refused)
        rolls = episodes.rolls(connection, 1, key)
    wanted = [slowly(roll, roll.episode_id, refused.get(roll.episode_id, 0)) for roll in rolls]
    assert list(found.episodes) == wanted
    assert found.names == {roll.key: roll.episode_id for roll in rolls}
    assert found.last == {roll.key: roll.first.last for roll in rolls if roll.first}
    assert found.last, "attempts beyond the plan are counted apart"


@pytest.mark.parametrize("candidate", [ONE, FULL])
def test_failing_traces_are_those_of_the_table(desk: Desk, candidate: str) -> None:
    with desk.opened.reading() as connection:
        key = key_of(connection, candidate)
        known = episode_totals(connection, episode_names(connection, 1), key, {})
        found = failing_traces(noted_of(connection, key), f"{SUITE}/{candidate}", known)
        traces = traces_of(connection, key, known.names)
        failed = [t for t in traces if t.passed == 0 or t.infra]
        said = findings_of(connection, [t.id for t in failed])
    wanted = []
    for trace in failed:
        shown = [f for f in said if f.trace == trace.id and f.severity != "note"]
        name = known.names[trace.episode]
        wanted.append(
            FailedTrace(
                trace_id=f"{SUITE}/{candidate}/{name}/{trace.attempt}",
                episode_id=name,
                attempt=trace.attempt,
                codes=tuple(dict.fromkeys(f.code for f in shown)),
                critical=bool(trace.critical),
                infrastructure=bool(trace.infra),
                results=gate_results(trace.gates),
                sha256=trace.sha256.hex(),
                evidence=tuple((f.gate, f.code, f.seq) for f in shown),
                extra=trace.attempt > known.last.get(trace.episode, 1 << 62),
            )
        )
    assert list(found) == wanted
    assert any(one.extra for one in found)
    assert any(one.critical for one in found)


FLOATS = st.one_of(st.none(), st.floats(0, 1, width=32))


@given(st.lists(st.tuples(*[FLOATS] * len(DIAGNOSTICS)), max_size=20))
def test_diagnostics_in_columns_are_those_one_by_one(rows: list[tuple[float | None, ...]]) -> None:
    blobs = [blob for row in rows if (blob := pack_diagnostics(row)) is not None]
    columns = diagnostic_columns(blobs)
    assert len(columns) == len(DIAGNOSTICS)
    for blob, *values in zip(blobs, *columns, strict=True):
        read = tuple(None if math.isnan(value) else value for value in values)
        assert read == unpack_diagnostics(blob)


def test_diagnostics_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="another size"):
        diagnostic_columns([bytes(24), bytes(20)])


@pytest.mark.parametrize("candidate", [ONE, FULL])
def test_means_add_up_one_trace_after_another(desk: Desk, candidate: str) -> None:
    with desk.opened.reading() as connection:
        key = key_of(connection, candidate)
        found = diagnostic_means(connection, key)
        blobs = connection.execute(
            "SELECT t.diagnostics FROM trace t LEFT JOIN first_set s"
            " ON s.candidate=t.candidate AND s.episode=t.episode WHERE t.candidate=?"
            " AND t.diagnostics IS NOT NULL AND t.attempt <= coalesce(s.last, 1000) ORDER BY t.id",
            (key,),
        ).fetchall()
    for n, name in enumerate(DIAGNOSTICS):
        values = [x for (blob,) in blobs if (x := unpack_diagnostics(blob)[n]) is not None]
        total = 0.0
        for value in values:
            total += value
        assert found[name] == (total / len(values) if values else None, len(values))
    assert any(count for _, count in found.values())


@pytest.mark.parametrize("candidate", [ONE, FULL])
def test_latencies_are_counted_within_a_bound_as_the_database_counts(
    desk: Desk, candidate: str
) -> None:
    where = (
        "FROM trace t LEFT JOIN first_set s ON s.candidate=t.candidate AND s.episode=t.episode"
        " WHERE t.candidate=? AND t.attempt <= coalesce(s.last, 1000)"
        " AND NOT (t.infra = 1 AND t.passed IS NULL)"
    )
    with desk.opened.reading() as connection:
        key = key_of(connection, candidate)
        found = report_figures.latencies(connection, key)
        told = connection.execute(f"SELECT t.latency_ms {where} ORDER BY 1", (key,)).fetchall()
        known = [value for (value,) in told if value is not None]
        assert (list(found.ordered), found.unknown) == (known, len(told) - len(known))
        for bound in {-1.0, math.inf, *known[:: max(1, len(known) // 5)]}:
            assert found.within(bound) == Counter(
                connection.execute(
                    f"SELECT count(*), sum(t.latency_ms <= ?) {where}"
                    " AND t.latency_ms IS NOT NULL GROUP BY t.episode",
                    (bound, key),
                ).fetchall()
            )
    assert known or candidate == FULL


@pytest.mark.parametrize("candidate", [ONE, TWO, FULL])
def test_what_is_not_measured_is_found_by_traces_as_by_findings(
    desk: Desk, candidate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    with desk.opened.reading() as connection:
        key = key_of(connection, candidate)
        for clause in ("t.candidate=?", "+t.candidate=?"):
            monkeypatch.setattr(report_figures, "traces_clause", lambda *_, c=clause: c)
            codes = report_figures.unmeasured(connection, key)
            kinds = {one.code.partition(":")[0] for one in codes}
            of = {kind: report_figures.unmeasured_traces(connection, key, kind) for kind in kinds}
            found.append((codes, of))
    assert found[0] == found[1]
    assert found[0][0] or candidate == FULL


# orders ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidate", [ONE, FULL])
@pytest.mark.parametrize("by", ORDERS)
@pytest.mark.parametrize("descending", [False, True])
def test_the_first_rows_are_the_first_of_all(
    desk: Desk, candidate: str, by: str, descending: bool
) -> None:
    whole = desk.scorecards.order(SUITE, candidate, by, descending)
    assert sorted(whole) == sorted(desk.scorecards.order(SUITE, candidate))
    for most in (1, 7, 30, 100):
        for _ in "kept", "again":
            assert (
                desk.scorecards.order(SUITE, candidate, by, descending, False, "", most)
                == whole[:most]
            )
        failing = desk.scorecards.order(SUITE, candidate, by, descending, True)
        assert (
            desk.scorecards.order(SUITE, candidate, by, descending, True, "", most)
            == failing[:most]
        )


@pytest.mark.parametrize("by", ORDERS)
def test_falling_is_rising_turned_round_but_for_the_unknown_and_the_alike(
    desk: Desk, by: str
) -> None:
    rising, falling = (desk.scorecards.order(SUITE, FULL, by, way) for way in (False, True))
    if by in ("worst", "episode", "attempts") or by not in (
        "pass",
        "cost",
        "latency",
        "steps",
        "tags",
    ):
        assert falling == rising[::-1]
    else:
        assert set(falling) == set(rising)


@pytest.mark.parametrize("text", [text for text in SHOWN if "tool:" not in text])
def test_a_complete_candidate_is_asked_of_roll_ups_alone(desk: Desk, text: str) -> None:
    """The other way round, by every episode of the suite, gives the same."""
    with desk.opened.reading() as connection:
        for by, descending in itertools.product(ORDERS, (False, True)):
            asked, medians = desk.scorecards._asked(
                connection, SUITE, FULL, by, descending, False, text
            )
            assert asked.complete
            other = asked._replace(complete=False)
            wanted = ordered_episodes(connection, other, medians)
            assert ordered_episodes(connection, asked, medians) == wanted
            for group in ("tag", "category"):
                assert grouped(connection, asked, group, medians) == grouped(
                    connection, other, group, medians
                )
                assert sorted(group_rows(connection, asked, group, medians)) == sorted(
                    group_rows(connection, other, group, medians)
                )


def test_rows_from_counts_in_columns_are_those_of_sql_before_and_after_a_write(
    mine: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_blocks, "LARGE_EPISODES", 0)
    late = "agent-late"
    take(mine, "late.jsonl", lines(late, 1))
    with closing(open_writer(mine.store)) as writer, transaction(writer, mine.store):
        count_blocks.make_missing(writer)

    def answers(desk: Desk) -> list[object]:
        ways = list(itertools.product(ORDERS, (False, True), (False, True)))
        cards, of = desk.scorecards, (SUITE, late)
        return [
            *(cards.order(*of, *way, most=most) for way in ways for most in (-1, 5)),
            *(cards.groups(*of, group, *way) for group in ("tag", "category") for way in ways),
            *(cards.totals(*of, failing, text) for failing in (False, True) for text in ("", "0")),
            cards.maybe_red(SUITE, (late, ONE)),
        ]

    def by_sql() -> list[object]:
        desk = mine.desk()
        with monkeypatch.context() as patch:
            patch.setattr(cache, "columns_for", lambda *_: None)
            try:
                return answers(desk)
            finally:
                desk.close()

    desk = mine.desk()
    with desk.opened.reading() as connection:
        key = key_of(connection, late)
    found = []
    for write in (None, lines(late, 2), lines(FULL, 9), lines(late, 3, count=7), lines(late, 9)):
        if write is not None:
            take(mine, "more.jsonl", write)
        found.append(({**desk.scorecards._grid._columns}, answers(desk)))
        assert found[-1][1] == by_sql()
    kept = [kept[key, True][1] for kept, _ in found[1:]]
    assert len({id(columns) for columns in kept}) == 3  # FULL is another's
    assert None not in kept
    assert desk.scorecards._grid._columns[key, True][1] is None  # attempt 9 is beyond the plan
    assert found[0][1] != found[-1][1]
    desk.close()


def test_a_candidate_becomes_complete_when_its_last_episode_comes(mine: Door) -> None:
    take(mine, "part.jsonl", lines("agent-late", 1, count=29))
    desk = mine.desk()
    assert len(desk.scorecards.order(SUITE, "agent-late")) == 30
    take(mine, "rest.jsonl", lines("agent-late", 1)[29:])
    with desk.opened.reading() as connection:
        assert desk.scorecards._asked(connection, SUITE, "agent-late", "worst", False, False, "")[
            0
        ].complete
    assert len(desk.scorecards.order(SUITE, "agent-late")) == 30
    desk.close()


def test_medians_follow_what_is_written(mine: Door) -> None:
    desk = mine.desk()
    with desk.opened.reading() as connection:
        medians = Medians(key_of(connection, ONE))

        def shown() -> dict[int, float]:
            medians.lend(connection)
            return dict(connection.execute("SELECT episode, ms FROM temp.latency").fetchall())

        def wanted() -> dict[int, float | None]:
            rows = connection.execute(
                "SELECT episode, json_group_array(id) FROM trace WHERE candidate=?"
                " AND latency_ms IS NOT NULL GROUP BY episode",
                (key_of(connection, ONE),),
            ).fetchall()
            each = "SELECT latency_ms FROM trace WHERE id IN (SELECT value FROM json_each(?))"
            return {
                episode: latency_quantile([x for (x,) in connection.execute(each, (ids,))], 0.5)
                for episode, ids in rows
            }

        assert shown() == wanted()
        take(mine, "more.jsonl", lines(ONE, 9, count=11))
        assert shown() == wanted()
        take(mine, "others.jsonl", lines(TWO, 9, count=11))
        assert shown() == wanted()
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM trace")
    desk.close()


# red cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidate", [ONE, TWO, FULL])
def test_no_red_cell_stands_outside_what_may_be_red(desk: Desk, candidate: str) -> None:
    maybe = desk.scorecards.maybe_red(SUITE, (candidate,))
    rows = desk.scorecards.rows(SUITE, candidate, desk.scorecards.order(SUITE, candidate))
    red = {row.key for row in rows if any(c.mark in ("fail", "critical") for c in row.cells)}
    assert red <= set(maybe)
    assert len(maybe) < len(rows), "and it leaves something out"
    sides = desk.scorecards.sides(SUITE, (ONE, candidate), [row.key for row in rows])
    shown = {s.key for s in sides if any(c.mark in ("fail", "critical") for c in s.sides)}
    assert shown <= set(desk.scorecards.maybe_red(SUITE, (ONE, candidate)))


def test_an_episode_is_found_by_its_name(desk: Desk) -> None:
    for row in desk.scorecards.rows(SUITE, ONE, desk.scorecards.order(SUITE, ONE)):
        assert desk.scorecards.episode_key(SUITE, row.episode_id) == row.key
    assert desk.scorecards.episode_key(SUITE, "ep-99") is None
    assert desk.scorecards.episode_key("no-such-suite", "ep-01") is None


# the clock ---------------------------------------------------------------------------------------


def test_the_clock_rises_with_what_is_shown_and_with_nothing_else(mine: Door) -> None:
    desk = mine.desk()
    one, two = desk.scorecards.clock(SUITE, ONE), desk.scorecards.clock(SUITE, TWO)
    take(mine, "two.jsonl", lines(TWO, 7))
    assert desk.scorecards.clock(SUITE, ONE) == one
    assert desk.scorecards.clock(SUITE, TWO) > two
    connection = sqlite3.connect(mine.store, isolation_level=None)
    before = desk.version()
    connection.execute("UPDATE meta SET value='0' WHERE key='indexed'")
    connection.execute("DELETE FROM event_list")
    connection.execute("DELETE FROM event_figure")
    connection.execute("INSERT INTO search (search) VALUES ('delete-all')")
    catch_up(connection, mine.store)
    connection.close()
    assert desk.version() != before
    assert desk.scorecards.clock(SUITE, ONE) == one
    take(mine, "one.jsonl", lines(ONE, 7))
    assert desk.scorecards.clock(SUITE, ONE) > one
    desk.close()


def test_groups_that_were_asked_before_follow_the_store(mine: Door) -> None:
    def asked(desk: Desk) -> tuple[object, ...]:
        return (
            desk.scorecards.groups(SUITE, ONE, "tag"),
            desk.scorecards.groups(SUITE, ONE, "tag", by="cost", descending=True),
            desk.scorecards.groups(SUITE, ONE, "category", only_failing=True),
            desk.scorecards.totals(SUITE, ONE, only_failing=True),
        )

    desk = mine.desk()
    before = asked(desk)
    assert asked(desk) == before
    take(mine, "one.jsonl", lines(ONE, 7))
    fresh = mine.desk()
    assert asked(desk) == asked(fresh) != before
    desk.close()
    fresh.close()


def test_a_refused_record_is_something_about_its_candidate(mine: Door) -> None:
    desk = mine.desk()
    one, two = desk.scorecards.clock(SUITE, ONE), desk.scorecards.clock(SUITE, TWO)
    take(mine, "filled.jsonl", [{**lines(ONE, 1)[0], "final_message": "another"}])
    assert desk.scorecards.clock(SUITE, ONE) > one
    assert desk.scorecards.clock(SUITE, TWO) == two
    take(mine, "nameless.jsonl", [{"events": [], "attempt": 1}])
    assert desk.scorecards.clock(SUITE, TWO) > two
    desk.close()


def test_every_process_that_asks_first_is_told_the_same(mine: Door) -> None:
    first, second = mine.desk(), mine.desk()
    assert first.scorecards.clock(SUITE, ONE) == second.scorecards.clock(SUITE, TWO)
    take(mine, "three.jsonl", lines("agent-four", 1))
    third = mine.desk()
    assert first.scorecards.clock(SUITE, ONE) < third.scorecards.clock(SUITE, ONE)
    for desk in (first, second, third):
        desk.close()


# aside -------------------------------------------------------------------------------------------


@pytest.fixture
def all_large(template: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(template.root / "store" / "figures", ignore_errors=True)
    monkeypatch.setattr(episodes, "LARGE_EPISODES", 2)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))


def test_large_is_many_episodes_or_many_traces(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk.opened.reading() as connection:
        one = key_of(connection, ONE)
        made = connection.execute("SELECT count(*) FROM trace WHERE candidate=?", (one,))
        traces = made.fetchone()[0]
        assert not episodes.is_large(connection, 1, one)
        for name, most in (("LARGE_EPISODES", 30), ("LARGE_TRACES", traces)):
            monkeypatch.setattr(episodes, name, most)
            assert not episodes.is_large(connection, 1, one)
            monkeypatch.setattr(episodes, name, most - 1)
            assert episodes.is_large(connection, 1, one)
            monkeypatch.setattr(episodes, name, most)


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("candidate", [ONE, FULL])
def test_a_card_worked_out_aside_is_the_same(desk: Desk, candidate: str) -> None:
    card = desk.scorecards.card(SUITE, candidate)
    assert card == desk.scorecards.card_here(SUITE, candidate)
    assert (
        card.recommendation
        == json.loads(desk.reports.build(SUITE, candidate).raw)["recommendation"]
    )


@pytest.mark.usefixtures("all_large")
def test_a_refusal_aside_is_the_desks_own(mine: Door) -> None:
    path = next((mine.root / "suites" / SUITE / "episodes").iterdir())
    path.write_bytes(path.read_bytes() + b"\n")
    desk = mine.desk()
    with pytest.raises(DeskError) as aside:
        desk.scorecards.card(SUITE, ONE)
    with pytest.raises(DeskError) as here:
        desk.scorecards.card_here(SUITE, ONE)
    assert (aside.value.text, aside.value.ways_out) == (here.value.text, here.value.ways_out)
    assert path.name in aside.value.text
    desk.close()


@pytest.mark.usefixtures("all_large")
def test_rows_open_without_waiting_for_a_recommendation(mine: Door) -> None:
    """The newest candidate that is not decided: none is judged for it, and no folder is read."""
    (mine.root / "suites" / SUITE / "suite.lock").unlink()
    desk = mine.desk()
    assert desk.workspace.opening() == (SUITE, FULL)
    desk.close()


@pytest.mark.usefixtures("all_large")
def test_closing_ends_what_is_at_work_aside(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    aside = desk.opened.card_processes
    process = subprocess.Popen(["sleep", "60"])
    aside._at_work.add(process)
    began = time.monotonic()
    desk.close()
    assert process.wait(timeout=50) < 0
    assert time.monotonic() - began < 50
    with pytest.raises(DeskError, match="closed"):
        desk.scorecards.card(SUITE, ONE)


def script(folder: Path, *words: str) -> str:
    path = folder / "program"
    path.write_text("\n".join(("#!/bin/sh", *words)) + "\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.usefixtures("all_large")
def test_a_process_that_is_ended_is_said(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", script(tmp_path, "exec sleep 60"))
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(desk.scorecards.card, SUITE, ONE)
        while not (at_work := list(desk.opened.card_processes._at_work)):
            time.sleep(0.01)
        at_work[0].kill()
        with pytest.raises(DeskError, match="was ended"):
            asked.result(timeout=60)
    assert not desk.opened.card_processes._at_work


@pytest.mark.usefixtures("all_large")
def test_a_fault_of_the_process_is_not_taken_for_an_answer(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = script(tmp_path, "echo Traceback >&2", "echo ValueError: odd >&2", "exit 1")
    monkeypatch.setattr("sys.executable", said)
    with pytest.raises(RuntimeError, match="ValueError: odd"):
        desk.scorecards.card(SUITE, ONE)
