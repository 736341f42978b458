"""`reviewer judge` and `reviewer judgments`, and the example that comes labeled and judged."""

import base64
import importlib.util
import json
import os
import signal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from doors import REPOSITORY, SHIPPED, SUITE, V7, V8, Door, Said
from judge_server import (
    KEY,
    KEY_ENV,
    JudgeServer,
    Refusal,
    Silence,
    always_left,
    direct,
    judging,
    longer,
    prose,
    verdict,
)
from played_runs import until
from test_cli_decisions import make_key

from reviewer.desk.place import at
from reviewer.desk.workspace.api import load_shipped


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    direct(monkeypatch)


def words(server: JudgeServer | str, *more: object) -> tuple[object, ...]:
    url = server if isinstance(server, str) else server.url
    return ("judge", SUITE, "--candidate", V7, "--base-url", url, "--model", "m", *more)


def judged(report: dict[str, Any]) -> tuple[Any, ...]:
    judge = report["judge"]
    return judge["role"], judge["forward_accuracy"], judge["flip_rate"], judge["pairs"]


# the price first ----------------------------------------------------------------------------------


def test_a_dry_run_prices_the_calls_and_sends_nothing(full: Door) -> None:
    with judging(always_left) as server:
        said = full.ok(*words(server, "--dry-run", "--input-price", "2", "--output-price", "8"))
        assert server.calls == 0
    assert "calls to make: 18; answered already: 0" in said.out
    assert "cost: at most $0." in said.out
    assert said.err == ""


def test_a_dry_run_needs_neither_endpoint_nor_key_nor_prices(full: Door) -> None:
    said = full.ok("judge", SUITE, "--candidate", V7, "--dry-run", "--json")
    plan = json.loads(said.out)
    assert (plan["calls"], plan["cost_usd"], plan["base_url"]) == (18, None, "")
    assert plan["problem"] in said.err
    text = full.ok("judge", SUITE, "--candidate", V7, "--dry-run").out
    assert "cost: unknown: give --input-price and --output-price" in text


# asking -------------------------------------------------------------------------------------------


def test_it_asks_keeps_and_says_what_the_judge_has_earned(full: Door) -> None:
    load_shipped(at(full.root))
    with judging(always_left) as server:
        said = full.ok(*words(server, "--input-price", "1", "--output-price", "1"))
        assert server.calls == 18
        again = full.ok(*words(server))
        assert server.calls == 18
    assert "18 of 18 calls made by refund-judge-v2" in said.out
    assert "cost $0.0020" in said.out
    assert "refund-judge-v2 by m: advisory only (forward accuracy 0.50 < 0.90" in said.out
    assert "flip rate 4/4 1.000, bound <= 1.000" in said.out
    assert "5 judged pairs wait for a label" in said.out
    assert "to score it needs" in said.out
    assert "0 of 0 calls made by refund-judge-v2; 18 were answered before" in again.out


def test_as_json_it_is_one_document(full: Door) -> None:
    load_shipped(at(full.root))
    with judging(prose) as server:
        asked = words(server, "--json", "--repeats", "2", "--jobs", "2")
        said = full.ok(*asked, "--reviewer", "dana")
        again = full.ok(*asked, "--reviewer", "robin")
    document = json.loads(said.out)
    assert (document["run"]["done"], document["run"]["errors"]) == (36, 36)
    assert document["judge"]["errors"] == "not parsed 36 of 36"
    assert [row["outcome"] for row in document["judge"]["rows"]] == ["error"] * 4
    theirs = json.loads(again.out)["judge"]  # of somebody who has labeled none of these pairs
    assert (theirs["rows"], theirs["others"]) == ([], 4)
    assert theirs["estimates"] == document["judge"]["estimates"]


def test_quiet_says_nothing_but_the_data(full: Door) -> None:
    with judging(longer) as server:
        assert full.ok(*words(server, "--quiet")).err == ""


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["judge", SUITE], "--candidate is needed"),
        (["judge", SUITE, "--candidate", V7], "--model: is missing"),
        (["judge", SUITE, "--candidate", V7, "--model", "m"], "--base-url: is missing"),
        ([*words("ftp://x/v1")], "not an http or https address"),
        ([*words("https://u:p@x/v1")], "contains a user or password"),
        ([*words("http://x/v1", "--api-key-env", "NO_SUCH_KEY")], "`NO_SUCH_KEY` is not set"),
        ([*words("http://x/v1", "--messages")], "has no prompt about single messages"),
        ([*words("http://x/v1", "--baseline", V7)], "cannot be its own baseline"),
        ([*words("http://x/v1", "--repeats", "0")], "not a whole number from 1"),
        ([*words("http://x/v1", "--timeout", "nan")], "not a number from 0"),
        ([*words("http://x/v1", "--timeout", "0")], "--timeout 0"),
        ([*words("http://x/v1", "--input-price", "-1")], "not a number from 0"),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error(full: Door, argv: list[str], text: str) -> None:
    said = full.run(*argv)
    assert (said.code, said.out) == (2, "")
    assert text in said.err


def test_an_endpoint_that_lets_nobody_in_is_an_input_error(full: Door) -> None:
    with judging(lambda prompt: Refusal(401, "bad key")) as server:
        said = full.run(*words(server, "--api-key-env", KEY_ENV))
    assert said.code == 20
    assert f"`{KEY_ENV}`" in said.err
    assert "the same command asks what is left" in said.err
    assert KEY not in said.both


def test_a_suite_that_was_edited_is_not_judged(full: Door) -> None:
    path = full.suite / "judge.json"
    path.write_bytes(path.read_bytes().replace(b"warmth", b"length"))
    said = full.run(*words("http://x/v1", "--dry-run"))
    assert said.code == 20
    assert "judge.json" in said.err


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_answered_and_leaves_with_130(full: Door) -> None:
    with judging(lambda prompt: verdict("left") if server.calls <= 6 else Silence()) as server:
        process = full.start(*words(server, "--jobs", 1))
        until(lambda: server.calls == 7, "the seventh call")
        process.send_signal(signal.SIGINT)
        until(lambda: full.rows("SELECT count(*) FROM judgment") == [(6,)], "six answers")
        told = b""
        while b"stopping" not in told:  # a second signal that comes before is one with the first
            told += os.read(process.stderr.fileno(), 4096) or pytest.fail(told.decode())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, told + err
        assert b"6 of 18 calls made" in out
        assert b"12 of 18 calls were not made" in err
        server.says = always_left
        assert "12 of 12 calls made" in full.ok(*words(server)).out


# as files -----------------------------------------------------------------------------------------


def test_judgments_go_out_and_come_in_once(full: Door, door: Door) -> None:
    with judging(longer) as server:
        full.ok(*words(server))
    file = full.root / "said.jsonl"
    assert "18 judgments" in full.ok("judgments", "export", file).err
    assert full.run("judgments", "export", file).code == 2
    assert "18 judgments added" in door.ok("judgments", "import", file).err
    assert "0 judgments added, 18 already there" in door.ok("judgments", "import", file).err
    lines = door.ok("judgments", "export").out.splitlines()
    assert [json.loads(line) for line in lines] == [
        json.loads(line) for line in file.read_bytes().splitlines()
    ]


def test_a_file_with_a_bad_line_costs_that_line(door: Door) -> None:
    good = (door.suite / "judgments" / "shopflow.jsonl").read_bytes()
    file = door.file("said.jsonl", good + b'{"winner": "left"}\n')
    said = door.run("judgments", "import", file)
    assert said.code == 20
    assert "8 judgments added, 0 already there, 1 refused" in said.err
    assert "said.jsonl:9" in said.err


def test_the_schema_of_a_judgment_is_published(door: Door) -> None:
    schema = json.loads(door.ok("schema", "judgment").out)
    assert schema["$id"] == "reviewer/judgment@1"
    assert "request_digest" in schema["properties"]


# out of the box -----------------------------------------------------------------------------------


def test_the_example_comes_labeled_and_judged(tmp_path: Path, door: Door) -> None:
    made = Door(tmp_path / "made")
    said: Said = door.ok("init", "--example", made.root)
    assert "18 labels and 8 judgments of the examples are in" in said.err
    again = door.ok("init", "--example", made.root)
    assert "labels" not in again.err
    made.ok("import", made.suite / "traces")
    for name, code in ((V7, 10), (V8, 0)):
        out = made.root / name
        assert made.run(
            "--export-report", out, "--suite", SUITE, "--candidate", name
        ).code == code  # fmt: skip
        report = json.loads((out / "report.json").read_bytes())
        assert judged(report) == ("advisory only", 0.75, 0.50, 4)
        assert "advisory only" in (out / "report.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_demo_shows_the_articles_calibration(tmp_path: Path, door: Door) -> None:
    kept = Door(tmp_path / "kept")
    door.ok("demo", "--headless", "--keep", kept.root)
    assert judged(json.loads(kept.desk().reports.build(SUITE, V7).raw)) == (
        "advisory only",
        0.75,
        0.50,
        4,
    )
    kept.ok("doctor")


def test_what_ships_is_what_its_script_writes() -> None:
    path = REPOSITORY / "docs" / "shopflow_labels.py"
    spec = importlib.util.spec_from_file_location("shopflow_labels", path)
    assert spec is not None
    assert spec.loader is not None
    script: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for name, data in script.files().items():
        assert (SHIPPED / name).read_bytes() == data, "run docs/shopflow_labels.py"


def test_a_signed_decision_carries_the_judge(full: Door) -> None:
    load_shipped(at(full.root))
    key = make_key(full.root, "robin")
    full.ok("keys", "trust", "robin@example.com", key.with_suffix(".pub"))
    full.ok("sign", "--suite", SUITE, "--candidate", V8, "--key", key)
    (file,) = (full.root / "store" / "decisions").glob("*.dsse.json")
    payload = json.loads(base64.b64decode(json.loads(file.read_bytes())["payload"]))
    (judge,) = payload["predicate"]["judges"]
    counts = judge["calibration"]
    assert judge["id"] == "refund-judge-v2"
    assert counts["n"] == 4
    assert counts["tp"] + counts["tn"] == 3  # right in forward order
    full.ok("doctor")
