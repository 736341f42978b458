"""What is kept, a scorecard, trends or a comparison, is what the rows give, whatever comes in, and
whenever."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import msgspec
import pytest
from doors import REPOSITORY, SUITE, V7, V8, Door, copied, environment, passing, shipped
from test_desk_random import SAMPLED, label, sampled
from test_desk_rescore import newer, one_more_record

from reviewer.db.queries import episodes
from reviewer.desk import early_stats, kept
from reviewer.desk.compare.api import CompareRoom
from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.reports import api as reports_api
from reviewer.desk.reports.api import Reports
from reviewer.desk.scorecards.api import ScorecardsRoom
from reviewer.desk.scorecards.card_process import CardProcesses
from reviewer.desk.trends.api import TrendsRoom
from reviewer.desk.views import Scorecard
from reviewer.desk.workspace import judging_again

LATER = 10_000_000_000


@pytest.fixture(autouse=True)
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every suite large, and its files written long ago."""
    real = early_stats.now
    monkeypatch.setattr(early_stats, "now", lambda: real() + LATER)
    monkeypatch.setattr(episodes, "LARGE_EPISODES", 2)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The candidates whose figures were worked out, in this process."""
    found: list[str] = []

    def here(aside: CardProcesses, suite_id: str, candidate_id: str) -> Scorecard:
        found.append(candidate_id)
        desk = Door(aside._root).desk()
        try:
            return desk.scorecards.card_here(suite_id, candidate_id, keeping=True)
        finally:
            desk.close()

    monkeypatch.setattr(CardProcesses, "scorecard", here)
    return found


def asked(door: Door, candidate: str = V8) -> Scorecard:
    desk = door.desk()
    try:
        return desk.scorecards.card(SUITE, candidate)
    finally:
        desk.close()


def from_rows(door: Door, candidate: str = V8) -> Scorecard:
    desk = door.desk()
    try:
        return desk.scorecards.card_here(SUITE, candidate)
    finally:
        desk.close()


def same(door: Door) -> None:
    """What is kept, and what is asked for after that, is what the rows give."""
    for candidate in (V7, V8):
        shown = [msgspec.to_builtins(asked(door, candidate)) for _ in range(2)]
        assert shown == [msgspec.to_builtins(from_rows(door, candidate))] * 2
    for ask, again in ANSWERS.values():
        assert [of_a_new_desk(door, ask) for _ in range(2)] == [of_a_new_desk(door, again)] * 2


Ask = Callable[[Desk], object]
ANSWERS: dict[str, tuple[Ask, Ask]] = {
    "trends": (lambda d: d.trends.figures(SUITE), lambda d: d.trends.worked_out(SUITE)),
    "compare": (
        lambda d: d.compare.candidates(SUITE, V8),
        lambda d: d.compare.worked_out(SUITE, V8, V7),
    ),
}
"""What is kept beside scorecards: how it is asked for, and how it is made whatever is kept."""


def of_a_new_desk(door: Door, ask: Ask) -> object:
    desk = door.desk()
    try:
        return msgspec.to_builtins(ask(desk))
    finally:
        desk.close()


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The answers beside scorecards that were worked out."""
    found: list[str] = []
    for name, room, act in (
        ("trends", TrendsRoom, "_worked"),
        ("compare", CompareRoom, "_compared"),
    ):
        real = getattr(room, act)

        def noted(*words: Any, real: Any = real, name: str = name) -> Any:
            found.append(name)
            return real(*words)

        monkeypatch.setattr(room, act, noted)
    return found


def refused_and_filled(door: Door) -> None:
    """A record with a raw card number comes into quarantine; its attempt comes again without it."""
    record = passing(candidate_id=V8, attempt=9, nonce=1)
    door.take("refused.json", {**record, "final_message": "card 4111 1111 1111 1111"})
    door.take("clean.json", record)


def judged_again(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging_again, "score", newer)
    for module in ("reviewer.db.rescoring", "reviewer.desk.workspace.rescore"):
        monkeypatch.setattr(f"{module}.judging_version", lambda: "9.9.9")
    door.ok("score")


def merged(door: Door) -> None:
    other = copied(door.root, door.root.parent / "other")
    other.take("more.json", passing(candidate_id=V8, attempt=9, nonce=1))
    door.ok("merge", other.store)


def archived(door: Door) -> None:
    door.ok("archive", "--before", "2100-01-01")
    same(door)
    door.ok("archive", "--restore")


ACTS: dict[str, Callable[..., object]] = {
    "a trace": lambda door: door.take("one.json", passing(candidate_id=V8, attempt=9, nonce=1)),
    "a trace of another": lambda door: door.take(
        "one.json", passing(candidate_id="another", nonce=1)
    ),
    "the same again": lambda door: door.take("one.json", shipped(V8)[0]),
    "a record that goes on": lambda door: door.run("import", one_more_record(door)),
    "quarantine": refused_and_filled,
    "merge": merged,
    "archive": archived,
    "a manifest edited": lambda door: (door.suite / "candidates" / f"{V8}.json").write_bytes(
        (door.suite / "candidates" / f"{V8}.json").read_bytes().replace(b"8.0.0", b"8.0.1", 1)
    ),
}


@pytest.mark.parametrize("act", ACTS)
def test_what_is_kept_follows_every_act(full: Door, made: list[str], act: str) -> None:
    same(full)
    assert made == [V7, V8]
    ACTS[act](full)
    same(full)
    assert V8 in made[2:]
    full.healthy()


def test_judging_again_is_followed(
    full: Door, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    same(full)
    before = asked(full)
    judged_again(full, monkeypatch)
    same(full)
    assert asked(full).hard_pass != before.hard_pass


def test_nothing_is_worked_out_twice_and_the_process_keeps_it(full: Door) -> None:
    assert not list((full.root / "store").glob("figures/*.card"))
    first = asked(full)
    (file,) = (full.root / "store").glob("figures/*.card")
    assert file.stat().st_mode & 0o777 == 0o600
    written = file.stat().st_mtime_ns
    assert asked(full) == first == from_rows(full)
    assert file.stat().st_mtime_ns == written


CUT_OFF = """
import os, signal, sys
from pathlib import Path
from reviewer.db.connection import transaction
from reviewer.db.schema import open_writer
store = Path(sys.argv[1])
connection = open_writer(store)
with transaction(connection, store):
    connection.execute("UPDATE trace SET passed=0")
    connection.execute("UPDATE roll SET passes=0, critical=attempts")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_write_that_was_killed_changes_nothing(full: Door, made: list[str]) -> None:
    same(full)
    command = [sys.executable, "-c", CUT_OFF, str(full.store)]
    assert subprocess.run(command, env=environment(), check=False).returncode == -signal.SIGKILL
    same(full)
    assert made == [V7, V8]
    full.healthy()


def test_an_edit_of_the_suite_is_named_though_a_card_is_kept(full: Door, made: list[str]) -> None:
    same(full)
    path = next(iter(sorted((full.suite / "episodes").iterdir())))
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(DeskError, match=path.name):
        asked(full)


def test_other_code_and_an_unreadable_file_are_made_again(
    full: Door, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(full)
    (file,) = (full.root / "store" / "figures").glob("*.card")
    whole = file.read_bytes()
    for broken in (b"", whole[:-1], b"\xff" * 40):
        file.write_bytes(broken)
        assert asked(full) == from_rows(full)
        assert file.read_bytes() == whole
    monkeypatch.setattr(kept, "_code", lambda: "of another build")
    asked(full)
    assert made == [V8] * 5


@pytest.mark.parametrize("kind", ANSWERS)
def test_trends_and_a_comparison_are_worked_out_once(
    full: Door, worked: list[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    ask, again = ANSWERS[kind]
    first = of_a_new_desk(full, ask)
    (file,) = (full.root / "store" / "figures").glob(f"*.{kind}")
    assert file.stat().st_mode & 0o777 == 0o600
    assert of_a_new_desk(full, ask) == first
    assert worked == [kind]
    assert of_a_new_desk(full, again) == first
    whole = file.read_bytes()
    for broken in (b"", whole[:-1], b"\xff" * 40):
        file.write_bytes(broken)
        assert of_a_new_desk(full, ask) == first
        assert file.read_bytes() == whole
    monkeypatch.setattr(kept, "_code", lambda: "of another build")
    assert of_a_new_desk(full, ask) == first
    assert worked == [kind] * 6


def test_the_last_comparison_is_kept_and_never_shown_for_another(
    full: Door, worked: list[str]
) -> None:
    there, back = (
        (lambda d: d.compare.candidates(SUITE, V8)),
        (lambda d: d.compare.candidates(SUITE, V7, V8)),
    )
    for ask in (there, back, back, there):
        found: Any = of_a_new_desk(full, ask)
        wanted = [V7, V8] if ask is there else [V8, V7]
        assert [found["baseline_id"], found["candidate_id"]] == wanted
    assert worked == ["compare"] * 3
    assert len(list((full.root / "store" / "figures").glob("*.compare"))) == 1


def test_labels_are_in_trends_though_those_without_are_kept(full: Door, worked: list[str]) -> None:
    sampled(full, 1.0)
    trends = lambda d: d.trends.figures(SAMPLED)  # noqa: E731
    for _ in range(2):
        assert figure(of_a_new_desk(full, trends), "human_pass")["value"] is None
    assert worked == ["trends"]
    assert label(full, 99)
    for _ in range(2):  # read from labels and messages, which the digest does not cover
        assert figure(of_a_new_desk(full, trends), "human_pass")["value"] is not None
    assert worked == ["trends"] * 3


def figure(trends: Any, measure: str) -> Any:
    return next(one for one in trends["figures"] if one["measure"] == measure)["points"][-1]


@pytest.mark.parametrize("kind", ANSWERS)
def test_nothing_else_is_kept_of_what_changed_while_it_was_made(
    full: Door, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    real = Reports._made_of
    came: list[str] = []

    def and_an_import(*words: Any) -> Any:
        found = real(*words)
        if not came:
            came.append("one")
            full.take("one.json", passing(candidate_id=V8, attempt=9, nonce=1))
        return found

    monkeypatch.setattr(Reports, "_made_of", and_an_import)
    of_a_new_desk(full, ANSWERS[kind][0])
    assert came
    same(full)


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_edit_of_the_suite_is_named_though_an_answer_is_kept(full: Door, kind: str) -> None:
    ask, _ = ANSWERS[kind]
    of_a_new_desk(full, ask)
    path = next(iter(sorted((full.suite / "episodes").iterdir())))
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(DeskError, match=path.name):
        of_a_new_desk(full, ask)


@pytest.mark.parametrize("kind", ANSWERS)
def test_doctor_makes_every_answer_that_is_kept_again(full: Door, kind: str) -> None:
    of_a_new_desk(full, ANSWERS[kind][0])
    assert "figures: 1 kept, all matching the rows" in full.ok("doctor", "--figures").out
    (file,) = (full.root / "store" / "figures").glob(f"*.{kind}")
    found = msgspec.msgpack.decode(file.read_bytes())
    found["answer"]["suite"]["title"] = "another"
    file.write_bytes(msgspec.msgpack.encode(found))
    said = full.run("doctor", "--figures")
    assert said.code == 20
    assert f"{SUITE}: did not match the rows" in said.out
    assert not file.exists()
    full.healthy()
    same(full)


def test_nothing_is_kept_of_what_changed_while_it_was_made(
    full: Door, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ScorecardsRoom.card_here

    def meanwhile(room: ScorecardsRoom, *words: Any, **more: Any) -> Scorecard:
        reports = room._opened.reports
        assessed = reports.assessed

        def and_an_import(*some: Any) -> Any:
            found = assessed(*some)
            full.take("one.json", passing(candidate_id=V8, attempt=9, nonce=1))
            return found

        monkeypatch.setattr(reports, "assessed", and_an_import)
        return whole(room, *words, **more)

    monkeypatch.setattr(ScorecardsRoom, "card_here", meanwhile)
    asked(full)
    assert not list((full.root / "store").glob("figures/*.card"))


def test_a_workspace_that_keeps_nothing_keeps_no_card(full: Door) -> None:
    desk = Desk(full.desk().place._replace(keeps=False))
    card = desk.scorecards.card_here(SUITE, V8, keeping=True)
    desk.close()
    assert card == from_rows(full)
    for ask, _ in ANSWERS.values():
        desk = Desk(full.desk().place._replace(keeps=False))
        ask(desk)
        desk.close()
    assert not (full.root / "store" / "figures").exists()


def test_doctor_makes_what_is_kept_again(full: Door, made: list[str]) -> None:
    asked(full)
    assert "figures: 1 kept, all matching the rows" in full.ok("doctor", "--figures").out
    (file,) = (full.root / "store" / "figures").glob("*.card")
    found = msgspec.msgpack.decode(file.read_bytes())
    found["answer"]["critical"] += 1
    file.write_bytes(msgspec.msgpack.encode(found))
    said = full.run("doctor", "--figures")
    assert said.code == 20
    assert f"figures: {SUITE}/{V8}: did not match the rows" in said.out
    full.healthy()


def test_a_kept_card_hides_no_fault_of_the_store(full: Door, made: list[str]) -> None:
    asked(full)
    with closing(sqlite3.connect(full.store)) as base, base:
        base.execute("UPDATE trace SET passed=1 - passed WHERE id=(SELECT max(id) FROM trace)")
    with pytest.raises(DeskError, match="does not match its journal"):
        asked(full)


def test_a_plain_doctor_computes_no_kept_answer(full: Door, made: list[str]) -> None:
    assert "figures: none is cached" in full.ok("doctor", "--figures").out
    asked(full)
    made.clear()
    assert "figures:" not in full.ok("doctor").out
    assert not made


def test_a_process_drops_the_reports_asked_for_longest_ago(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two stay: a comparison asks for both sides again and again."""
    read: list[str] = []
    real = reports_api.read_evidence

    def noted(connection: Any, suite: Any, candidate_id: str, *rest: Any, **more: Any) -> Any:
        read.append(candidate_id)
        return real(connection, suite, candidate_id, *rest, **more)

    monkeypatch.setattr(reports_api, "read_evidence", noted)
    full.take("third.json", passing(candidate_id="third"))

    def reads(*candidates: str) -> list[str]:
        read.clear()
        for candidate in candidates:
            desk.reports.build(SUITE, candidate)
        return list(read)

    desk = full.desk()
    try:
        assert reads(V7, V8, "third", V7) == [V7, V8, "third"]
        monkeypatch.setattr(reports_api, "_MOST_ROWS", 1)
        assert reads(V8, "third") == []
        full.take("more.json", passing(candidate_id="third", attempt=8, nonce=1))
        assert reads(V7, V8, "third", V8, "third") == [V7, V8, "third"]
        assert reads(V7, "third", V8) == [V7, V8]
    finally:
        desk.close()
