"""One record at a time: what is refused, with every reason at once, and what it costs the rest."""

import json
from typing import Any

import pytest
from doors import SUITE, Door, lines, many, passing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

RECORD = json.dumps(passing())


def with_text(old: str, new: str) -> bytes:
    assert old in RECORD
    return RECORD.replace(old, new, 1).encode()


COST = '"cost_usd": 0.055'
assert COST in RECORD, "the sample's cost"

BAD: dict[str, tuple[bytes, list[str]]] = {
    "not JSON": (b"{nonsense", ["json:syntax"]),
    "half a record": (RECORD[: len(RECORD) // 2].encode(), ["json:syntax"]),
    "two on one line": ((RECORD + " " + RECORD).encode(), ["json:syntax"]),
    "a list": (b"[1]", ["json:not_an_object"]),
    "not UTF-8": (RECORD.encode().replace(b"damaged-221", b"damaged-221\xff"), ["json:utf8"]),
    "NaN": (with_text(COST, '"cost_usd": NaN'), ["not_finite:cost_usd"]),
    "Infinity": (with_text(COST, '"cost_usd": Infinity'), ["not_finite:cost_usd"]),
    "1e400": (with_text(COST, '"cost_usd": 1e400'), ["not_finite:cost_usd"]),
    "negative cost": (with_text(COST, '"cost_usd": -0.01'), ["type:cost_usd"]),
    "cost as text": (with_text(COST, '"cost_usd": "0.05"'), ["type:cost_usd"]),
    "cost as true": (with_text(COST, '"cost_usd": true'), ["type:cost_usd"]),
    "duplicate member": (with_text(COST, COST + ', "cost_usd": 0.01'), ["duplicate:cost_usd"]),
    "duplicate in an event": (
        with_text('"tool": "lookup_order"', '"tool": "lookup_order", "tool": "issue_refund"'),
        ["duplicate:events[0].tool"],
    ),
    "lone surrogate": (with_text("damaged-221", "\\ud800"), ["json:lone_surrogate"]),
    "attempt 0": (with_text('"attempt": 1', '"attempt": 0'), ["type:attempt"]),
    "attempt 1.5": (with_text('"attempt": 1', '"attempt": 1.5'), ["type:attempt"]),
    "attempt beyond": (
        with_text('"attempt": 1', '"attempt": 9223372036854775808'), ["type:attempt"],
    ),
    "attempt of a thousand digits": (
        with_text('"attempt": 1', '"attempt": ' + "9" * 1000),
        ["not_finite:attempt", "type:attempt"],
    ),
    "seq that falls": (with_text('"seq": 2', '"seq": 1'), ["type:events[1].seq"]),
    "a status we do not know": (
        with_text('"status": "ok"', '"status": "fine"'), ["type:events[0].status"],
    ),
    "an episode we do not know": (
        with_text("damaged-221", "damaged-222"), ["unknown_episode:damaged-222"],
    ),
    "deep": (
        with_text('"arguments": {', '"arguments": {"a": ' + "[" * 100 + "]" * 100 + ", "),
        ["json:too_deep"],
    ),
    "empty object": (
        b"{}",
        ["missing:candidate_id", "missing:cost_usd", "missing:episode_id", "missing:events",
         "missing:final_state", "missing:latency_ms"],
    ),
}  # fmt: skip


def reasons(door: Door) -> list[list[str]]:
    found = json.loads(door.ok("quarantine", "--json").out)
    return [row["reasons"] for row in sorted(found, key=lambda row: row["record"])]


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_is_quarantined_and_the_rest_goes_in(door: Door, name: str) -> None:
    raw, wanted = BAD[name]
    good = list(many(2, "cand-b"))
    said = door.take("t.jsonl", lines(good[:1]) + raw + b"\n" + lines(good[1:]))
    assert said.code == 20, said
    assert door.one("SELECT count(*) FROM trace") == 2
    found = json.loads(door.ok("quarantine", "--json").out)
    assert [(row["record"], row["path"]) for row in found] == [(2, str(door.root / "t.jsonl"))]
    assert set(wanted) <= set(found[0]["reasons"]), found
    if name != "attempt of a thousand digits":
        assert found[0]["reasons"] == wanted
    assert "record 2" in said.err
    assert found[0]["way_out"]
    door.healthy()


def test_every_reason_is_given_at_once(door: Door) -> None:
    record = passing()
    del record["latency_ms"]
    record["cost_usd"], record["colour"] = -1, "red"
    record["events"][1]["seq"] = 1
    record["events"][0]["status"] = "fine"
    door.take("t.json", record)
    assert {reason.split(" ")[0] for reason in reasons(door)[0]} == {
        "missing:latency_ms", "type:cost_usd", "type:events[0].status", "type:events[1].seq",
        "unknown:colour",
    }  # fmt: skip


def test_an_unknown_key_names_the_near_one(door: Door) -> None:
    record = passing()
    record["costUsd"] = record.pop("cost_usd")
    record["events"][0]["argument"] = record["events"][0].pop("arguments")
    said = door.take("t.json", record)
    assert said.code == 20
    assert "cost_usd" in said.err.split("unknown:costUsd")[1].splitlines()[0]
    assert "arguments" in said.err.split("unknown:events[0].argument")[1].splitlines()[0]


def test_nul_and_odd_names_are_text_like_any_other(door: Door) -> None:
    names = ["nul\0inside", "ünï/cödé", "a b", "..", "a/b/c", "'; DROP TABLE trace; --", "😀" * 100]
    records = [passing(candidate_id=name, nonce=n) for n, name in enumerate(names)]
    said = door.take("t.jsonl", records)
    assert said.code == 0, said
    assert [row[0] for row in door.rows("SELECT candidate_id FROM candidate ORDER BY id")] == names
    for name in names:
        assert door.codes(f"{SUITE}/{name}/damaged-221/1") == []
        out = door.root / "out"
        assert door.run("--export-report", out, "--suite", SUITE, "--candidate", name).code == 10
    door.healthy()


@pytest.mark.parametrize("cost", ["1e300", "1e15", "9e9", "1e306"])
def test_a_cost_beyond_belief_is_said(door: Door, cost: str) -> None:
    said = door.take(
        "t.jsonl", with_text(COST, f'"cost_usd": {cost}') + b"\n" + lines(many(1, "b"))
    )
    assert "internal" not in said.err
    assert said.code == 20, said
    assert door.one("SELECT count(*) FROM trace") == 1
    door.healthy()


@pytest.mark.parametrize("attempt", [2**31, 2**53 + 1, 2**63 - 1])
def test_a_large_attempt_number_is_a_number(door: Door, attempt: int) -> None:
    records = [passing(attempt=attempt), passing(attempt=None, nonce=1)]
    said = door.take("t.jsonl", records)
    assert said.code == 0, said
    found = door.rows("SELECT attempt FROM traces ORDER BY 1")
    assert found == [(1,), (attempt,)]
    assert door.codes(f"{SUITE}/cand-a/damaged-221/{attempt}") == []
    report = door.run(
        "--export-report", door.root / "out", "--suite", SUITE, "--candidate", "cand-a"
    )
    assert report.code == 10, report
    door.healthy()


def test_extreme_but_finite_numbers_do_not_break_the_report(door: Door) -> None:
    record = passing(cost_usd=5e-324, latency_ms=1.7e308)
    record["events"][0]["latency_ms"] = 1.7e308
    record["events"][0]["seq"], record["events"][4]["seq"] = 1, 2**63 - 1
    assert door.take("t.json", record).code == 0
    said = door.run("--export-report", door.root / "out", "--suite", SUITE, "--candidate", "cand-a")
    assert said.code == 10, said
    assert door.ok("show", f"{SUITE}/cand-a/damaged-221/1", "--event", 2**63 - 1).out
    assert door.run("show", f"{SUITE}/cand-a/damaged-221/1", "--event", 10**30).code == 20


def test_a_mended_file_leaves_the_quarantine_by_its_slots(door: Door) -> None:
    bad = passing(attempt=2, nonce=1)
    bad["cost_usd"] = -1
    said = door.take("t.jsonl", [passing(), bad])
    assert said.code == 20
    again = door.run("import", door.root / "t.jsonl")
    assert again.code == 20
    assert door.one("SELECT count(*) FROM trace") == 1
    assert len(reasons(door)) == 1
    assert door.take("mended.jsonl", [passing(), passing(attempt=2, nonce=1)]).code == 0
    assert door.one("SELECT count(*) FROM trace") == 2
    door.healthy()


def test_a_truncated_file_imported_again_says_the_same(door: Door) -> None:
    raw = json.dumps([passing(), {"x": 1}, passing(attempt=2, nonce=1)])[:-40].encode()
    first = door.take("t.json", raw)
    found = reasons(door)
    second = door.run("import", door.root / "t.json")
    assert (first.code, second.code) == (20, 20)
    assert reasons(door) == found
    assert door.one("SELECT count(*) FROM trace") == 1
    deep = lines([{"x": 1}])[:-1] + b"," + b"[" * 100
    door.take("deep.json", b"[" + deep)
    before = len(reasons(door))
    door.run("import", door.root / "deep.json")
    assert len(reasons(door)) == before
    door.healthy()


def test_a_hundred_refused_records_are_counted_and_not_all_printed(door: Door) -> None:
    said = door.take("t.jsonl", [{"episode_id": n} for n in range(100)])
    assert said.code == 20
    assert "100 refused" in said.err
    assert said.err.count("way out") < 30
    assert len(reasons(door)) == 100


@pytest.mark.slow
def test_many_tiny_refused_records_end(door: Door) -> None:
    said = door.take("t.json", b"[" + b"{},1," * 20_000 + b'{"episode_id":1}]')
    assert said.code == 20
    assert "40001 refused" in said.err


@pytest.mark.parametrize(
    "content",
    [
        b'{"ts":1,"msg":"hello"}\n' * 3000,
        b"[" + b'{"ts":1},' * 3000 + b"{}]",
        b'{"kind":"x","events":[1]}\n' * 3000,
        b'{"a":1}\nnot json\n' * 1500,
    ],
)
def test_a_foreign_file_is_one_refusal_and_no_row_for_each_line(door: Door, content: bytes) -> None:
    said = door.take("foreign.jsonl", content)
    assert said.code == 20
    assert "no reader takes it, and it holds no trace record" in said.err
    assert said.err.count("\n") == 1
    assert door.ok("quarantine").out.count("\n") < 3
    folder = door.root / "folder"
    folder.mkdir()
    (folder / "foreign.jsonl").write_bytes(content)
    door.file("folder/good.jsonl", [passing()])
    door.ok("import", folder)
    assert door.one("SELECT count(*) FROM traces") == 1
    assert door.ok("quarantine").out.count("\n") < 3


def test_lines_of_something_else_before_ours_hide_none(door: Door) -> None:
    lines = ['{"ts":1}'] * 200 + [json.dumps(passing())]
    said = door.take("late.jsonl", "\n".join(lines).encode())
    assert said.code == 20
    assert "200 refused" in said.err
    assert door.one("SELECT count(*) FROM traces") == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(
    max_examples=60, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(
    field=st.sampled_from([*passing(), "usage", "source", "schema", "nonsense"]),
    event_field=st.sampled_from(
        ["seq", "kind", "tool", "arguments", "observation", "state", "actor"]
    ),
    value=json_values,
)
def test_any_value_anywhere_is_taken_or_refused_never_a_crash(
    door: Door, field: str, event_field: str, value: Any
) -> None:
    record = passing(attempt=None)
    record[field] = value
    other = passing(attempt=None)
    other["events"][1][event_field] = value
    said = door.take("t.jsonl", [record, other])
    assert said.code in (0, 20), said
    assert "internal" not in said.err
    assert door.run("scorecard", "--suite", SUITE, "--candidate", "cand-a", "--json").code in (
        0,
        20,
    )


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.binary(max_size=200) | st.text('[]{}",:\\01eE+-. \n\tatrufalsn', max_size=60).map(str.encode)
)
def test_any_bytes_are_taken_or_refused_never_a_crash(door: Door, content: bytes) -> None:
    said = door.take("t.json", content)
    assert said.code == 20
    assert "internal" not in said.err
