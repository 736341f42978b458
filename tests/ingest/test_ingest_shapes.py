"""Every shape a file of traces may have, and every shape it may not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door, as_nobody, environment, lines, many, passing, shipped

FOUR_FIELDS = {
    "episode_id": "damaged-221",
    "candidate_id": "cand-a",
    "events": [
        {"tool": "lookup_order", "arguments": {"order_token": "t"}},
        {"tool": "create_return_label", "arguments": {"order_token": "t", "reason": "broken"}},
        {"tool": "verify_state", "arguments": {"order_token": "t"}},
    ],
    "final_state": "return_label_created",
    "cost_usd": 0.03,
    "latency_ms": 1600,
}
"""The articles' record: no attempt, no digest, short events."""


def three() -> list[dict[str, Any]]:
    return list(many(3))


SHAPES: dict[str, bytes] = {
    "lines": lines(three()),
    "lines without a last newline": lines(three()).rstrip(),
    "lines with CRLF": lines(three()).replace(b"\n", b"\r\n"),
    "lines with blanks between": lines(three()).replace(b"\n", b"\n\n  \n"),
    "lines after a BOM": b"\xef\xbb\xbf" + lines(three()),
    "array": json.dumps(three()).encode(),
    "pretty array": json.dumps(three(), indent=2).encode(),
    "pretty array after a BOM": b"\xef\xbb\xbf" + json.dumps(three(), indent=4).encode(),
    "array with CRLF": json.dumps(three(), indent=1).replace("\n", "\r\n").encode(),
    "pretty objects one after another": "\n".join(
        json.dumps(r, indent=2) for r in three()
    ).encode(),
    "array of one line after blanks": b"\n\n  " + json.dumps(three()).encode() + b"\n\n",
}


@pytest.mark.parametrize("name", SHAPES)
def test_three_records_in_any_shape(door: Door, name: str) -> None:
    said = door.take("t.json", SHAPES[name])
    assert said.code == 0, said
    assert door.rows("SELECT attempt, passed FROM traces ORDER BY attempt") == [
        (1, 1),
        (2, 1),
        (3, 1),
    ]
    door.healthy()


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_one_object(door: Door, indent: int | None) -> None:
    said = door.take("t.json", json.dumps(passing(), indent=indent).encode())
    assert said.code == 0, said
    assert door.one("SELECT passed FROM traces") == 1


def test_the_articles_record_form_is_taken_as_it_stands(door: Door) -> None:
    assert door.take("trace-record.json", FOUR_FIELDS).code == 0
    assert door.rows("SELECT attempt, passed, steps FROM traces") == [(1, None, 3)]
    assert door.codes(f"{SUITE}/cand-a/damaged-221/1") == ["no_start_digest"]


def test_the_long_form_keeps_its_facts(door: Door) -> None:
    record = shipped(V8)[0]
    door.ok("import", door.file("t.json", record))
    event = json.loads(door.ok("show", f"{SUITE}/{V8}/damaged-221/1", "--event", "2", "--json").out)
    assert event["row"]["tool" if "tool" in event["row"] else "title"] == "create_return_label"
    assert json.loads(event["arguments"]) == record["events"][1]["arguments"]
    assert event["row"]["latency_ms"] == record["events"][1]["latency_ms"]


def test_the_stored_payload_is_the_files_bytes(door: Door) -> None:
    text = json.dumps(passing(), indent=3, ensure_ascii=False).replace('": ', '"  :  ')
    door.take("t.json", text)
    import hashlib

    assert door.one("SELECT sha256 FROM traces") == hashlib.sha256(text.encode()).hexdigest()


def test_a_folder_is_its_json_files(door: Door) -> None:
    for number in range(3):
        door.file(f"in/deep/{number}.jsonl", [passing(attempt=number + 1, nonce=number)])
    door.file("in/readme.txt", "not a trace")
    door.ok("import", door.root / "in")
    assert door.one("SELECT count(*) FROM traces") == 3


def test_records_larger_than_a_pack_are_whole_again(door: Door) -> None:
    record = passing()
    record["events"][0]["observation"] = {"long": ["x" * 1000] * 1500}
    record["events"] += [
        {"kind": "message", "seq": 6 + n, "actor": "agent", "message": f"{n} " + "y" * 900}
        for n in range(900)
    ]
    record["events"][4]["seq"] = 5
    assert door.take("t.json", record).code == 0
    trace_id = f"{SUITE}/cand-a/damaged-221/1"
    assert door.one("SELECT count(*) FROM chunk") > 2
    for seq, start in ((6, "0 "), (500, "494 "), (905, "899 ")):
        event = json.loads(door.ok("show", trace_id, "--event", seq, "--json").out)
        assert event["message"].startswith(start + "y")
    first = json.loads(door.ok("show", trace_id, "--event", "1", "--json").out)
    assert json.loads(first["observation"]) == record["events"][0]["observation"]
    assert "1 trace scored again, 0 changed" in door.ok("score").err
    assert len(door.ok("show", trace_id).out.splitlines()) > 900
    door.healthy()


REFUSED: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\t\n",
    "BOM alone": b"\xef\xbb\xbf",
    "words": b"hello, I am not JSON",
    "binary": bytes(range(256)) * 40,
    "gzip": b"\x1f\x8b\x08\x00" + b"\x00" * 100,
    "UTF-16": json.dumps(passing()).encode("utf-16"),
    "UTF-16 without BOM": json.dumps(passing()).encode("utf-16-le"),
    "UTF-32": json.dumps(passing()).encode("utf-32"),
    "NUL": b"\0" * 1000,
    "a number": b"42",
    "empty array": b"[]",
    "array of numbers": b"[1, 2, 3]",
    "array of arrays": b"[[], [[]]]",
    "unclosed array": b"[",
    "unclosed object": b"{",
    "unclosed string": b'{"a": "',
    "ends in an escape": b'{"a": "\\',
    "half a unicode escape": b'{"a": "\\u12',
    "brackets": b"[" * 100_000,
    "braces": b'{"a":' * 100_000,
    "closing": b"]" * 1000 + b"}" * 1000,
    "quotes": b"[" + b'"' * 100_001,
    "commas": b"[" + b"," * 10_000 + b"]",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_without_a_record_is_refused_in_words(door: Door, name: str) -> None:
    said = door.take("t.json", REFUSED[name])
    assert said.code == 20, said
    assert "t.json" in said.err
    assert "internal" not in said.err
    assert door.one("SELECT count(*) FROM trace") == 0
    assert door.take("good.json", passing()).code == 0
    door.healthy()


@pytest.mark.parametrize("cut", range(1, 40))
def test_an_array_cut_short_gives_what_was_whole(door: Door, cut: int) -> None:
    whole = json.dumps(three()).encode()
    end = len(whole) * cut // 40
    said = door.take("t.json", whole[:end])
    assert said.code == 20, said
    complete = sum(json.dumps(three()[: n + 1]).encode()[:-1] == whole[: len(
        json.dumps(three()[: n + 1])) - 1] and len(json.dumps(three()[: n + 1])) - 1 <= end
        for n in range(3))  # fmt: skip
    assert door.one("SELECT count(*) FROM trace") == complete
    assert "t.json" in door.ok("quarantine").out or complete == 0


ODD: dict[str, tuple[bytes, bytes, bytes, str]] = {
    "comma behind the last": (b"[", b",", b",]", "a comma with no record behind it"),
    "comma before the first": (b"[,", b",", b"]", "a comma with no record before it"),
    "two commas": (b"[", b", ,", b"]", "a comma with no record before it"),
    "no comma": (b"[", b"\n", b"]", "no comma before record 2"),
    "a comma behind the array": (b"[", b",", b"],", "a comma outside an array"),
    "a record behind the array": (b"[", b",", b"]{}", "follows the end of the array"),
    "a comma and no end": (b"[,", b",", b"", "a comma with no record before it"),
    "commas and no array": (b"", b"\n,\n", b"", "a comma outside an array"),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("indent", [None, 1])
def test_what_is_wrong_between_records_costs_a_refusal_and_no_record(
    door: Door, name: str, indent: int | None
) -> None:
    start, between, end, words = ODD[name]
    records = [json.dumps(record, indent=indent).encode() for record in three()]
    said = door.take("t.json", start + b"\n" + between.join(records) + end)
    assert said.code == 20, said
    if name != "commas and no array" or indent is not None:  # each on a line of its own
        assert door.one("SELECT count(*) FROM trace") == 3
        assert words in door.ok("quarantine").out
    door.healthy()


@pytest.mark.parametrize(
    "kind", ["missing", "folder", "empty folder", "fifo", "device", "long", "nul"]
)
def test_what_is_no_file_is_said(door: Door, kind: str) -> None:
    (door.root / "hollow").mkdir()
    os.mkfifo(door.root / "fifo")
    path = {
        "missing": door.root / "nothing.json",
        "folder": door.root / "hollow" / "..",
        "empty folder": door.root / "hollow",
        "fifo": door.root / "fifo",
        "device": Path("/dev/null"),
        "long": door.root / ("x" * 5000),
        "nul": door.root / "a" / ("y" * 300),
    }[kind]
    said = door.run("import", path)
    assert said.code == 20, said
    assert "internal" not in said.err


def test_one_bad_file_does_not_cost_the_others(door: Door) -> None:
    good = door.file("good.jsonl", three())
    said = door.run("import", door.root / "nothing.json", door.file("bad.json", b"{"), good)
    assert said.code == 20
    assert door.one("SELECT count(*) FROM trace") == 3


def test_a_file_one_may_not_read_is_said(door: Door) -> None:
    door.take("first.json", passing(attempt=9))  # so that all is loaded before rights are given up
    path = door.file("in/secret.json", passing())
    path.chmod(0)
    with as_nobody(door):
        for one in (path, path / "below", path.parent):
            said = door.run("import", one)
            assert said.code == 20, said
            assert "internal" not in said.err
        assert "Permission denied" in door.run("import", path).err
    assert door.one("SELECT count(*) FROM trace") == 1


def test_a_suite_that_does_not_exist_is_said_once(door: Door) -> None:
    said = door.run("import", door.file("t.jsonl", three()), "--suite", "refund-eval-v9")
    assert said.code == 20, said
    assert "there is no suite refund-eval-v9" in said.err
    assert "unknown_episode" not in said.err


def test_an_unknown_format_is_said(door: Door) -> None:
    said = door.run("import", door.file("t.jsonl", three()), "--format", "nonsense")
    assert said.code in (2, 20)
    assert "native" in said.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lambda: b"[" * (50 << 20), id="50 MB of ["),
        pytest.param(lambda: b"{" * (5 << 20), id="5 MB of {"),
        pytest.param(lambda: b'{"a":' * (1 << 20), id="5 MB of nested objects"),
        pytest.param(lambda: b'{"a":"' + b"x" * (50 << 20), id="50 MB of string"),
        pytest.param(lambda: b'{"a":"' + b"\\" * (20 << 20), id="20 MB of escapes"),
        pytest.param(lambda: b"[" + b" " * (50 << 20), id="50 MB of blanks"),
        pytest.param(lambda: b"{" + b"1" * (50 << 20) + b"}", id="50 MB of digits"),
        pytest.param(lambda: b'{"a":"' + b"x" * (66 << 20) + b'"}\n' + lines([passing()]),
                     id="66 MB line, then a record"),
    ],
)  # fmt: skip
def test_large_hostile_files_end_in_words(door: Door, content: Any) -> None:
    said = door.take("t.json", content())
    assert said.code == 20, said
    assert "internal" not in said.err
    assert len(said.err) < 10_000
    assert door.one("SELECT count(*) FROM trace") == content()[:-1].count(b"\n")


@pytest.mark.slow
def test_a_line_of_50_mb_is_taken(door: Door) -> None:
    record = passing(final_message="word " * (10 << 20))
    said = door.take("t.json", record)
    assert said.code == 0, said
    assert door.one("SELECT passed FROM traces") == 1
    door.healthy()


def test_importing_needs_no_numpy_and_no_terminal(door: Door) -> None:
    door.ok("import", door.file("first.jsonl", [passing(attempt=9)]))
    path = str(door.file("t.jsonl", three()))
    text = (
        "import sys; from reviewer.cli.main import main;"
        f"main(['--workspace', {str(door.root)!r}, 'import', {path!r}]);"
        "print([m for m in ('textual', 'rich', 'httpx', 'numpy', 'scipy') if m in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-P", "-c", text], env=environment(), capture_output=True, text=True
    )
    assert process.stdout.strip() == "[]", process
