"""`reviewer query`: the figures of a report in SQL, and no way to anything but the tables."""

import json
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from archives import ODD, needs_duckdb, varied
from doors import SUITE, V7, V8, Door

from reviewer.db.archive import engine, guard, views
from reviewer.report.rates import exact_pass_hat

pytestmark = needs_duckdb


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, full_template: Path) -> Door:
    return varied(full_template, tmp_path_factory.mktemp("query") / "desk")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, store: Door) -> Path:
    folder = tmp_path_factory.mktemp("made") / "november"
    store.ok("export", "--parquet", folder, "--payloads")
    return folder


def asked(door: Door, sql: str, *sources: object) -> list[dict[str, Any]]:
    found = json.loads(door.ok("query", sql, *sources, "--json", "--limit", 0).out)
    names = [one["name"] for one in found["columns"]]
    return [dict(zip(names, row, strict=True)) for row in found["rows"]]


@pytest.mark.parametrize("candidate", [V7, V8, ODD, "gen-a", "gen-b"])
def test_the_ready_views_give_the_figures_of_the_report(
    store: Door, archive: Path, candidate: str, tmp_path: Path
) -> None:
    store.run("--export-report", tmp_path, "--suite", SUITE, "--candidate", candidate,
              "--format", "json")  # fmt: skip
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    rows = {
        view: [r for r in asked(store, f"from {view}", archive) if r["candidate_id"] == candidate]
        for view in ("gates", "pass_k", "costs", "verdicts", "latencies")
    }
    gates = {
        r["gate"]: {"pass": r["passed"], "fail": r["failed"], "not_measured": r["not_measured"]}
        for r in rows["gates"]
    }
    assert gates == {
        name: {word: told[word] for word in ("pass", "fail", "not_measured")}
        for name, told in report["gates"].items()
    }
    hats = {str(r["k"]): r["value"] for r in rows["pass_k"]}
    assert hats == {k: report["pass_hat"][k] for k in report["pass_hat"] if k.isdigit()}
    (cost,), (verdicts,), (latency,) = rows["costs"], rows["verdicts"], rows["latencies"]
    assert cost["total_usd"] == report["cost"]["total_usd"]
    assert cost["cost_per_success_usd"] == report["cost"]["cpst_usd"]
    assert verdicts["hard_pass_rate"] == report["hard_pass_rate"]["value"]
    assert verdicts["critical"] == report["critical_failures"]["count"]
    assert latency["p50"] == report["latency_ms"]["p50"]
    assert latency["p95"] == report["latency_ms"]["p95"]


def test_a_store_an_archive_and_both_give_the_same_each_apart(store: Door, archive: Path) -> None:
    sql = "select * exclude origin from costs"
    of_store = asked(store, sql)
    assert of_store == asked(store, sql, archive) == asked(store, sql, store.store)
    both = asked(store, "from costs", archive, store.root)
    assert {one.pop("origin") for one in both} == {"november", "desk"}
    assert sorted(map(str, both)) == sorted(map(str, of_store * 2))


def test_days_are_counted_and_an_unknown_one_is_null(store: Door, archive: Path) -> None:
    rows = asked(store, "from gates_per_day where gate = 'redaction'", archive)
    days = {one["day"]: one["passed"] for one in rows if one["candidate_id"] == ODD}
    assert days == {"2026-11-02": 3, "2026-11-03": 2, "2026-11-04": 3 + 1, None: 1}


@pytest.mark.parametrize(
    "sql",
    [
        "copy facts to 'OUT'",
        "copy (select 1) to 'OUT' (format csv, use_tmp_file false)",
        "export database 'OUT'",
        "attach 'OUT' as x",
        "create table t as select 1",
        "insert into facts select * from facts",
        "with x as (insert into facts select * from facts returning 1) from x",
        "with x as (delete from facts returning 1) select (select count(*) from x)",
        "install httpfs",
        "load httpfs",
        "set threads = 1",
        "pragma database_list",
        "call pragma_version()",
        "select 1; copy facts to 'OUT'",
        "prepare q as select 1",
        "explain analyze select 1",
        "from read_csv('FILE')",
        "from read_text('FILE')",
        "from read_json_auto('FILE')",
        "from read_parquet('FILE')",
        "from parquet_metadata('FILE')",
        "from glob('/*')",
        "from query('copy facts to ''OUT''')",
        "select (select content from read_blob('FILE'))",
        "from facts where trace_id in (from read_text('FILE') select content)",
        "from sniff_csv('FILE')",
        "from duckdb_secrets()",
        "select getenv('HOME')",
        "select current_setting('temp_directory')",
        "from json_execute_serialized_sql(json_serialize_sql('select 1'))",
        "",
    ],
)
def test_what_could_do_more_than_read_the_tables_is_not_asked(
    store: Door, archive: Path, tmp_path: Path, sql: str
) -> None:
    (tmp_path / "secret.csv").write_text("secret\n")
    sql = sql.replace("OUT", str(tmp_path / "out")).replace("FILE", str(tmp_path / "secret.csv"))
    before = sorted(archive.rglob("*"))
    said = store.run("query", sql, archive)
    assert (said.code, said.out) == (2, "")
    assert "not asked: " in said.err
    assert sorted(tmp_path.iterdir()) == [tmp_path / "secret.csv"]
    assert sorted(archive.rglob("*")) == before


def test_duckdb_itself_refuses_what_the_guard_would_let_pass(
    store: Door, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "check", lambda kinds, serialized: None)
    (tmp_path / "secret.csv").write_text("secret\n")
    for sql in (
        f"from read_text('{tmp_path}/secret.csv')",
        f"from '{tmp_path}/secret.csv'",
        f"copy facts to '{tmp_path}/out.csv'",
        f"attach '{tmp_path}/out.db'",
        "install httpfs",
        "set enable_external_access = true",
    ):
        said = store.run("query", sql, archive)
        assert (said.code, said.out) == (2, ""), sql
    assert sorted(tmp_path.iterdir()) == [tmp_path / "secret.csv"]
    assert store.ok("query", "select 1 as one", archive).out == "one 1\n"


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("select 'ü',\n  nope from facts", "line 2, column 3, at `nope from facts`: "),
        ("select 1\nfrom facts\nwhre x", "line 3, column 6, at `x`: "),
        ("select cast('x' as int)", "line 1, column 8"),
        ("from payload", "line 1, column 6, at `payload`: "),
    ],
)
def test_an_error_names_its_place(store: Door, archive: Path, sql: str, place: str) -> None:
    said = store.run("query", sql, archive)
    assert (said.code, said.out) == (2, "")
    assert place in said.err


def test_an_unknown_table_says_which_there_are(store: Door, archive: Path, tmp_path: Path) -> None:
    store.ok("export", "--parquet", tmp_path / "a", "--no-events")
    said = store.run("query", "from events", tmp_path / "a", archive)
    assert "there are facts, findings, " in said.err
    assert "not every archive has events and payloads" in said.err


def test_hostile_cells_are_made_visible_and_what_is_not_known_says_so(
    store: Door, archive: Path
) -> None:
    sql = "select candidate_id, cost_usd, 1/0 as none from facts where cost_usd is null"
    for more in ((), ("--json",), ("--plain",)):
        out = store.ok("query", sql, archive, *more).out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "null" in out
    assert asked(store, "select 1/0 as none, 'inf'::double as inf, [1.5] as list") == [
        {"none": None, "inf": "inf", "list": [1.5]}
    ]
    assert "\x1b" not in store.ok("query", 'select 1 as "\x1b[31mred"', archive).out


def test_ctrl_c_ends_a_question_that_would_not_end(
    store: Door, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    press = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    check = guard.check

    def checked(kinds: list[str], serialized: str) -> None:
        check(kinds, serialized)
        press.start()  # now the question begins

    monkeypatch.setattr(guard, "check", checked)
    endless = "select sum(a.range * b.range) from range(3000000) a, range(300000) b"
    said = store.run("query", f"{endless} where a.range <> b.range", archive)
    press.join()
    assert (said.code, said.out) == (130, "")
    assert "internal error" not in said.err


def test_a_limit_is_kept_and_said(store: Door, archive: Path) -> None:
    said = store.ok("query", "from facts", archive, "--limit", 2)
    assert len(said.out.splitlines()) == 2
    assert "the first 2 rows; --limit 0 prints all" in said.err
    assert json.loads(store.ok("query", "from facts", archive, "--limit", 2, "--json").out)["more"]
    assert "no rows" in store.ok("query", "from facts where false", archive).err


def test_what_is_no_archive_is_refused(store: Door, archive: Path, tmp_path: Path) -> None:
    assert "neither an archive nor a store" in store.run("query", "select 1", tmp_path).err
    manifest = json.loads((archive / "archive.json").read_text("utf-8"))
    for change, why in (
        ({"schema": "reviewer/archive@2"}, "of another version"),
        ({"files": [{**manifest["files"][0], "path": "../x.parquet"}]}, "not of the archive"),
        ({"files": manifest["files"]}, "is a link or not a file"),
        ({"files": 1}, "not the manifest"),
    ):
        bent = tmp_path / "bent"
        bent.mkdir(exist_ok=True)
        (bent / "archive.json").write_text(json.dumps(manifest | change))
        said = store.run("query", "select 1", bent)
        assert said.code == 20
        assert why in said.err


def test_a_file_that_was_changed_at_its_size_is_refused(
    store: Door, archive: Path, tmp_path: Path
) -> None:
    """One that makes failures passes, put in the place of the one that was written, included."""
    copy = tmp_path / "november"
    shutil.copytree(archive, copy)
    file = next(copy.glob(f"facts/*/candidate={V7}/**/*.parquet"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    for command in (
        ("query", "SELECT * FROM verdicts", copy),
        ("trends", "--archive", copy, "--suite", SUITE),
        ("compare", "--archive", copy, "--suite", SUITE, "--candidate", V8, "--baseline", V7),
    ):
        said = store.run(*command)
        assert said.code != 0
        assert said.out == ""
        assert "changed since it was written" in said.err
        assert file.name in said.err
    shutil.copy(next(archive.glob(f"facts/*/candidate={V7}/**/*.parquet")), file)
    file = next(copy.glob("events/**/*.parquet"))
    data = bytearray(file.read_bytes())
    data[8] ^= 1
    file.write_bytes(data)
    assert asked(store, "SELECT count(*) AS n FROM facts", copy) == asked(
        store, "SELECT count(*) AS n FROM facts", archive
    )
    for sql in ("SELECT * FROM events", 'SELECT count(*) FROM "Events"', "SELECT * FROM tools"):
        assert "changed since it was written" in store.run("query", sql, copy).err, sql
    file.write_bytes(bytes([*data[:-1], 0]))
    said = store.run("query", "SELECT count(*) FROM facts", copy)
    assert (said.code, said.out) == (20, "")
    assert file.name in said.err


def told(door: Door, *command: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(door.ok(*command, "--json").out)
    return found


def test_trends_of_an_archive_are_those_of_its_store(store: Door, archive: Path) -> None:
    of_store = told(store, "trends", "--suite", SUITE)
    of_archive = told(store, "trends", "--suite", SUITE, "--archive", archive)
    assert {one.pop("recommendation") for one in of_archive["candidates"]} == {None}
    assert {one.pop("recommendation") for one in of_store["candidates"]} > {"block"}
    (labels,) = [one for one in of_archive["figures"] if one["measure"] == "human_pass"]
    assert {one["why"] for one in labels["points"]} == {
        "labels are not in an archive; the trends of a store show them"
    }
    for found in (of_store, of_archive):
        found["figures"] = [one for one in found["figures"] if one["measure"] != "human_pass"]
    assert of_archive == of_store
    assert len(of_archive["candidates"]) == 7
    plain = store.ok("trends", "--archive", archive).out
    assert "nothing is recommended of an archive" in plain


@pytest.mark.parametrize(
    ("candidate", "baseline"),
    [(V8, V7), (V7, V8), (ODD, V8), ("leaky", ODD), ("gen-a", "gen-b")],
)
def test_a_comparison_in_an_archive_is_that_of_its_store(
    store: Door, archive: Path, candidate: str, baseline: str
) -> None:
    asked_for = ("--suite", SUITE, "--candidate", candidate, "--baseline", baseline)
    found = [told(store, "compare", *asked_for, *more) for more in ((), ("--archive", archive))]
    for one in found:
        for episode in one["episodes"]:
            episode.pop("key")
    assert sorted(found[1].pop("candidates")) == sorted(found[0].pop("candidates"))
    assert found[1] == found[0]


def test_an_archive_needs_no_workspace_and_says_what_it_cannot_compare(
    store: Door, archive: Path, tmp_path: Path
) -> None:
    nowhere = Door(tmp_path)
    said = nowhere.ok("compare", "--archive", archive, "--candidate", V8)
    assert said.out.startswith(f"suite {SUITE}  baseline {V7}  candidate {V8}\n")
    assert nowhere.run("query", "from costs", archive).code == 0
    assert nowhere.run("compare", "damaged-221", "--archive", archive).code == 2
    assert "is not an archive" in nowhere.run("trends", "--archive", tmp_path).err
    unknown = nowhere.run("compare", "--archive", archive, "--candidate", "refund-agent-v9")
    assert "did you mean" in unknown.err


@pytest.mark.parametrize(
    ("counts", "tolerance"),
    [
        ([(3, 3), (3, 2), (3, 0)], 0),
        ([(5, 4), (7, 6), (12, 12), (9, 3)], 0),
        ([(31, 30), (29, 29), (37, 21)], 0),
        ([(131, 130), (127, 99), (113, 113), (109, 108)], 1e-13),  # beyond any whole number
        ([(1000, 999), (10**6, 10**6 - 50)], 1e-13),
        ([(4, 4), (2, 2)], 0),
    ],
)
def test_pass_k_is_the_reports_however_many_attempts_there_are(
    counts: list[tuple[int, int]], tolerance: float, tmp_path: Path
) -> None:
    base = engine.connect(tmp_path)
    for macro in views.MACROS:
        base.execute(macro)
    rows = ", ".join(f"('o', 's', 'c', false, {n}, {n}, {passed})" for n, passed in counts)
    names = "origin, suite_id, candidate_id, by_person, attempts, measured, passes"
    base.execute(f"CREATE VIEW candidate_episodes AS FROM (VALUES {rows}) t({names})")
    base.execute("CREATE VIEW suites AS SELECT 'o' AS origin, 's' AS suite_id, 3 AS pass_k,"
                 " false AS probe")  # fmt: skip
    base.execute("SET error_on_division_by_zero = false")
    sql = next(one.sql for one in views.VIEWS if one.name == "pass_k")
    found = dict(base.execute(f"SELECT k, value FROM ({sql})").fetchall())
    least = min(n for n, _ in counts)
    assert sorted(found) == list(range(1, min(10, max(3, least)) + 1))
    for k, value in found.items():
        wanted = exact_pass_hat(counts, k)
        if wanted is None:
            assert value is None
        else:
            assert value == pytest.approx(float(wanted), rel=tolerance, abs=0)
