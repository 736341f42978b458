"""`reviewer export --parquet`: all that the store holds, whole or not at all, and nothing raw."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from archives import GENERATED, MAIL, ODD, needs_duckdb, varied
from doors import Door

from reviewer.db.archive import engine
from reviewer.db.archive.files import folder_name
from reviewer.db.archive.tables import TABLES
from reviewer.desk.archives import export as exporting

pytestmark = needs_duckdb


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, full_template: Path) -> Door:
    return varied(full_template, tmp_path_factory.mktemp("archive") / "desk")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, store: Door) -> Path:
    folder = tmp_path_factory.mktemp("made") / "a [b]*"
    store.ok("export", "--parquet", folder, "--payloads")
    return folder


def read(folder: Path, table: str, what: str = "*", rest: str = "") -> list[dict[str, Any]]:
    """The rows of a table, as any reader of Parquet sees them."""
    manifest = json.loads((folder / "archive.json").read_text("utf-8"))
    listed = [one["path"] for one in manifest["files"] if one["table"] == table]
    files = [engine.path(folder / path) for path in listed]
    if not files:
        return []
    base = engine.connect(folder.parent)
    done = base.execute(
        f"SELECT {what} FROM read_parquet([{', '.join(files)}], hive_partitioning=true) {rest}"
    )
    names = [column[0] for column in done.description]
    return [dict(zip(names, row, strict=True)) for row in done.fetchall()]


def test_every_attempt_is_there_with_the_figures_of_the_store(store: Door, archive: Path) -> None:
    made = {one["trace_id"]: one for one in read(archive, "facts")}
    rows = store.rows(
        "SELECT trace_id, passed, critical, infrastructure, cost_usd, latency_ms, steps, timeouts,"
        " events, termination, final_state, sha256, source_path, source_record, completeness,"
        " state, authority, redaction, process, timeout, budget FROM traces"
    )
    words = ("pass", "fail", "not_measured", "critical")
    names = ("passed", "critical", "infrastructure", "cost_usd", "latency_ms", "steps", "timeouts")
    names += ("events", "termination", "final_state", "sha256", "source_path", "source_record")
    gates = ("completeness", "state", "authority", "redaction", "process", "timeout", "budget")
    assert len(rows) == len(made) == 18 + 11 + 2 + GENERATED
    for trace_id, *row in rows:
        fact = made[trace_id]
        assert [fact[name] for name in names] == row[: len(names)]
        assert [fact[f"gate_{name}"] for name in gates] == [words[n] for n in row[len(names) :]]
        assert fact["gate_loops"] is None  # not in force here, which is no pass


def test_every_event_is_there_as_the_store_lists_it(store: Door, archive: Path) -> None:
    columns = "trace_id, seq, kind, tool, status, actor, latency_ms, cost_usd"
    made = [tuple(one.values()) for one in read(archive, "events", columns)]
    assert sorted(made, key=repr) == sorted(store.rows(f"SELECT {columns} FROM events"), key=repr)
    places = read(archive, "events", "count(*) = max(place) AS whole", "GROUP BY trace_id")
    assert {one["whole"] for one in places} == {True}


def test_what_is_not_known_is_null_and_never_0(archive: Path) -> None:
    of_odd = [one for one in read(archive, "facts") if one["candidate_id"] == ODD]
    made = {(one["episode_id"], one["attempt"]): one for one in of_odd}
    tokens = [
        (made["damaged-221", n]["input_tokens"], made["damaged-221", n]["output_tokens"])
        for n in (1, 2, 3, 4)
    ]
    assert tokens == [(120, 7), (None, None), (None, None), (None, None)]
    assert made["appeal-009", 1]["cost_usd"] is made["appeal-009", 1]["cost_nano"] is None
    lost, unread = made["appeal-009", 2], made["appeal-009", 3]
    assert (lost["passed"], lost["infrastructure"], lost["lost"]) == (None, True, True)
    assert (unread["passed"], unread["lost"], unread["unread"]) == (None, False, 1)
    assert unread["gate_authority"] == "not_measured"
    reasons = read(archive, "findings", rest="WHERE severity = 'not_measured'")
    assert {one["trace_id"] for one in reasons} >= {unread["trace_id"]}
    beyond = made["damaged-221", 4]
    assert (beyond["counted"], beyond["in_plan"], beyond["started_at"]) == (False, False, None)
    assert made["appeal-009", 4]["counted"]  # in place of the one that was lost
    assert not made["appeal-009", 4]["in_plan"]


def test_days_are_those_in_utc_and_folders_are_named_as_hive_names_them(archive: Path) -> None:
    days = {
        (one["candidate_id"], one["candidate"], str(one["day"]), str(one["started_at"])[:10])
        for one in read(archive, "facts")
    }
    # 23:30 at -02:00 is 01:30 of the day after
    assert days >= {(ODD, ODD, f"2026-11-0{n}", f"2026-11-0{n}") for n in (2, 3, 4)}
    assert (ODD, ODD, "None", "None") in days
    assert {whose == folder for whose, folder, _, _ in days} == {True}
    assert len(os.fsencode(folder_name("ü" * 512))) < 255
    assert folder_name("ü" * 512) != folder_name("ü" * 511)


def test_refused_records_and_payloads_are_there_with_their_reasons(
    store: Door, archive: Path
) -> None:
    refused = read(archive, "quarantine")
    assert [json.loads(one["reasons"]) for one in refused] == [["missing:events"]]
    assert (refused[0]["candidate_id"], refused[0]["attempt"]) == (ODD, 9)
    (leaky,) = read(archive, "facts", rest="WHERE candidate_id = 'leaky'")
    assert leaky["gate_redaction"] == "critical"
    told = {one["trace_id"]: one["record"] for one in read(archive, "payloads")}
    kept = {one["trace_id"] for one in read(archive, "facts", rest="WHERE payload = 'kept'")}
    assert set(told) == kept
    assert len(json.loads(told["refund-eval-v5/large/damaged-221/1"])["events"]) > 300
    events = read(archive, "events", "count(*) AS n", "WHERE candidate_id = 'large'")
    (facts,) = read(archive, "facts", rest="WHERE candidate_id = 'large'")
    assert events == [{"n": facts["events"]}]


def test_nothing_raw_gets_into_an_archive(archive: Path) -> None:
    texts = "\n".join(str(one) for table in TABLES for one in read(archive, table))
    assert "refund-agent-v7" in texts  # so that the text below would be seen
    assert MAIL not in texts
    assert "mary.sanders" not in texts
    assert {path.stat().st_mode & 0o077 for path in (archive,)} == {0}


def test_another_archive_is_never_written_over(store: Door, archive: Path, tmp_path: Path) -> None:
    before = (archive / "archive.json").read_bytes()
    assert "was there already" in store.ok("export", "--parquet", archive, "--payloads").out
    said = store.run("export", "--parquet", archive)
    assert said.code == 2
    assert "holds another archive" in said.err
    assert (archive / "archive.json").read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert store.run("export", "--parquet", tmp_path / "mine").code == 2
    (tmp_path / "new.part").mkdir()
    (tmp_path / "new.part" / "notes.txt").write_text("mine")
    assert "in the way" in store.run("export", "--parquet", tmp_path / "new").err
    assert (tmp_path / "new.part" / "notes.txt").read_text() == "mine"


def test_one_suite_or_no_events_can_be_asked_for(store: Door, tmp_path: Path) -> None:
    said = store.ok("export", "--parquet", tmp_path / "a", "--no-events", "--suite",
                    "refund-eval-v5", "--json")  # fmt: skip
    tables = json.loads(said.out)["tables"]
    assert not {"events", "payloads"} & set(tables)
    assert tables["facts"]["rows"] == 31 + GENERATED
    unknown = store.run("export", "--parquet", tmp_path / "b", "--suite", "x")
    assert "nothing to export" in unknown.err


def killed_after(door: Door, folder: Path, stretches: int) -> None:
    """Export in a child that is killed when it has written so many stretches."""
    child = os.fork()
    if child == 0:
        write, count = exporting.write_private, [0]

        def counted(path: Path, data: bytes) -> None:
            write(path, data)
            count[0] += path.name.startswith("stretch-")
            if count[0] == stretches:
                os.kill(os.getpid(), signal.SIGKILL)

        exporting.write_private = counted
        door.run("export", "--parquet", folder)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


@pytest.fixture
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "STRETCH", 10)
    monkeypatch.setattr(exporting, "_PAGE", 4)


def test_an_export_that_was_killed_is_no_archive_and_goes_on(
    short_stretches: None, store: Door, tmp_path: Path
) -> None:
    killed_after(store, tmp_path / "a", 2)
    assert not (tmp_path / "a").exists()
    assert not list((tmp_path / "a.part").glob("archive.json"))
    said = store.ok("export", "--parquet", tmp_path / "a")
    assert "went on behind" in said.err
    store.ok("export", "--parquet", tmp_path / "whole")
    files = [
        {one.relative_to(root): one.read_bytes() for one in root.rglob("*") if one.is_file()}
        for root in (tmp_path / "a", tmp_path / "whole")
    ]
    assert files[0] == files[1]
    assert not (tmp_path / "a.part").exists()


def test_a_store_that_changed_meanwhile_is_exported_anew(
    short_stretches: None, full: Door, tmp_path: Path
) -> None:
    killed_after(full, tmp_path / "a", 1)
    full.take("more.jsonl", [{**json.loads(line), "candidate_id": "later"} for line in _lines()])
    said = full.ok("export", "--parquet", tmp_path / "a", "--json")
    assert "went on behind" not in said.err
    assert json.loads(said.out)["tables"]["facts"]["rows"] == 18 + 9


def _lines() -> list[str]:
    from doors import SHIPPED

    return (SHIPPED / "traces" / "refund-agent-v8.jsonl").read_text("utf-8").splitlines()


def test_without_the_extra_one_line_says_how_to_install_it(
    full: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "is_installed", lambda: False)
    said = full.run("export", "--parquet", tmp_path / "a")
    assert said.code == 2
    assert "duckdb is not installed" in said.err
    assert "pip install 'release-reviewer[archive]'" in said.err
