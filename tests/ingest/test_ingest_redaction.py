"""Nothing raw is ever stored, printed or reported, wherever it stood in the file."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door, Said, every_byte, passing, shipped

RAW = {
    "email": "jane.roe@corp-mail.org",
    "card": "4111 1111 1111 1111",
    "iban": "DE89370400440532013000",
    "phone": "+442079460958",
    "secret": "sk-proj4a8B2c9D3e7F1g5H6i0J",
    "ssn": "536-90-4399",
}
TRACE = f"{SUITE}/cand-a/damaged-221/1"


def arguments(record: dict[str, Any], raw: str) -> None:
    record["events"][0]["arguments"]["note"] = f"for {raw} please"


def observation(record: dict[str, Any], raw: str) -> None:
    record["events"][1]["observation"] = {"list": [{"deep": raw}]}


def message(record: dict[str, Any], raw: str) -> None:
    record["events"][4]["message"] = f"write to {raw}."


def final_message(record: dict[str, Any], raw: str) -> None:
    record["final_message"] = raw


def final_state(record: dict[str, Any], raw: str) -> None:
    record["final_state"] = {"who": raw}


def name_of_member(record: dict[str, Any], raw: str) -> None:
    record["events"][0]["arguments"][raw] = True


def inside_a_string_of_json(record: dict[str, Any], raw: str) -> None:
    record["events"][0]["observation"] = json.dumps({"inner": json.dumps([raw])})


def termination(record: dict[str, Any], raw: str) -> None:
    record["termination"] = f"stopped by {raw}"


def tool(record: dict[str, Any], raw: str) -> None:
    record["events"][0]["tool"] = raw


def actor(record: dict[str, Any], raw: str) -> None:
    record["events"][0]["actor"] = raw


def call_id(record: dict[str, Any], raw: str) -> None:
    record["events"][0]["call_id"] = raw


def source(record: dict[str, Any], raw: str) -> None:
    record["source"] = {"by": raw}


def digest(record: dict[str, Any], raw: str) -> None:
    record["start_state_digest"] = raw


def large(record: dict[str, Any], raw: str) -> None:
    record["events"][1]["observation"] = {"long": ["x" * 1000] * 1500, "who": raw}


KEEPS_ITS_SLOT = (
    arguments, observation, message, final_message, final_state, name_of_member,
    inside_a_string_of_json, termination, tool, actor, call_id, source, digest, large,
)  # fmt: skip


def everything_said(door: Door) -> str:
    """All that any command says of the store, and every report."""
    out = door.root / "out"
    told = [
        door.run("quarantine", "show"), door.run("quarantine", "--json"), door.run("sources"),
        door.run("sources", "--json"), door.run("show", TRACE), door.run("show", TRACE, "--json"),
        door.run("scorecard", "--suite", SUITE, "--candidate", "cand-a"),
        door.run("--export-report", out, "--suite", SUITE, "--candidate", "cand-a"),
        door.run("doctor"), door.run("score"), door.run("suite", "list"),
    ]  # fmt: skip
    texts = [said.both for said in told]
    if out.exists():
        texts += [path.read_text(encoding="utf-8") for path in out.iterdir()]
    return "\n".join(texts)


def nowhere(door: Door, said: Said, *raws: str) -> None:
    shown = said.both + everything_said(door)
    kept = every_byte(door.root / "store")
    for raw in raws or RAW.values():
        for form in {raw, raw.replace(" ", ""), raw.replace("@", "%40"), raw.lstrip("+")}:
            assert form not in shown
            assert form.encode() not in kept
            assert form.encode("utf-16-le") not in kept


def one_of_each(where: Any, **changes: Any) -> list[dict[str, Any]]:
    """A record for each kind of identifier, and a clean one behind them."""
    records = []
    for number, raw in enumerate([*RAW.values(), ""], 1):
        record = passing(attempt=number, nonce=number, **changes)
        if raw:
            where(record, raw)
        records.append(record)
    return records


@pytest.mark.parametrize("where", KEEPS_ITS_SLOT, ids=lambda where: where.__name__)
def test_a_private_trace_with_an_identifier_keeps_its_slot_and_nothing_else(
    door: Door, where: Any
) -> None:
    said = door.take("t.jsonl", one_of_each(where))
    assert door.rows("SELECT attempt, passed, critical FROM traces ORDER BY 1") == [
        *((number, 0, 1) for number in range(1, 7)), (7, 1, 0),
    ], said  # fmt: skip
    for number in range(1, 7):
        codes = door.codes(f"{TRACE[:-1]}{number}")
        assert codes
        assert all(code.startswith("unredacted:") for code in codes)
    shown = json.loads(door.ok("show", TRACE, "--json").out)
    assert (shown["payload"], shown["mark"]) == (False, "critical")
    nowhere(door, said)
    report = json.loads((door.root / "out" / "report.json").read_bytes())
    assert report["recommendation"] == "block"
    assert report["critical_failures"]["count"] == 6
    assert report["gates"]["redaction"]["fail"] == 6


def in_episode_id(record: dict[str, Any], raw: str) -> None:
    record["episode_id"] = raw


def in_candidate_id(record: dict[str, Any], raw: str) -> None:
    record["candidate_id"] = raw


def in_an_unknown_member(record: dict[str, Any], raw: str) -> None:
    record[raw] = 1


@pytest.mark.parametrize("where", [in_episode_id, in_candidate_id, in_an_unknown_member])
def test_a_record_that_cannot_be_named_is_quarantined_without_its_values(
    door: Door, where: Any
) -> None:
    said = door.take("t.jsonl", one_of_each(where))
    assert said.code == 20
    assert door.rows("SELECT attempt FROM traces") == [(7,)]
    nowhere(door, said)


def test_a_bad_record_with_an_identifier_leaks_it_neither(door: Door) -> None:
    bad = one_of_each(arguments, cost_usd=-1)
    cut = [json.dumps(passing(final_message=raw))[:-5] for raw in RAW.values()]
    said = door.take("t.jsonl", "\n".join([*map(json.dumps, bad), *cut]))
    assert said.code == 20
    assert door.one("SELECT count(*) FROM quarantine") == 13
    nowhere(door, said)


def test_file_names_with_an_identifier_are_masked(door: Door, tmp_path: Path) -> None:
    paths = []
    for number, raw in enumerate(RAW.values(), 1):
        name = f"traces of {raw}.jsonl"
        paths.append(door.file(name, [passing(attempt=number, nonce=number), {"x": number}]))
        paths.append(door.file(f"empty of {raw}.jsonl", b""))
    said = door.run("import", *paths, *(tmp_path / path.name for path in paths))
    for path in paths:
        path.unlink()
    assert said.code == 20
    assert door.one("SELECT count(*) FROM trace") == 6
    nowhere(door, said)


def test_a_candidate_option_with_an_identifier_is_refused(door: Door) -> None:
    record = passing(candidate_id=None)
    said = door.take("t.json", record, "--candidate", RAW["email"])
    assert said.code in (2, 20)
    assert RAW["email"] not in said.both
    assert door.store.exists() is False or door.one("SELECT count(*) FROM trace") == 0
    assert RAW["email"].encode() not in every_byte(door.root / "store")


@pytest.mark.parametrize("member", ["cost_usd", "latency_ms", "attempt"])
def test_a_card_number_as_a_number_is_an_identifier_too(door: Door, member: str) -> None:
    record = passing()
    record[member] = 4111111111111111
    said = door.take("t.json", record)
    shown = said.both + everything_said(door)
    assert "4111111111111111" not in shown
    assert "4.111" not in shown
    assert b"4111111111111111" not in every_byte(door.root / "store")
    assert 4111111111111111 not in [
        value for row in door.rows("SELECT * FROM trace") for value in row
    ]


def test_a_sensitive_member_is_an_identifier_whatever_its_value(door: Door) -> None:
    record = passing()
    record["events"][0]["arguments"]["Customer-Name"] = "Jane Roe"
    record["events"][0]["arguments"]["order_id"] = "A-77-XK"
    said = door.take("t.json", record)
    assert set(door.codes(TRACE)) == {"unredacted:Customer-Name", "unredacted:order_id"}
    nowhere(door, said, "Jane Roe")
    nowhere(door, said, "A-77-XK")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(json.dumps({"customer_name": "Jane Roe"})),
        '{"customer_name":"Jane Roe","customer_name":""}',
        '\ufeff{"customer_name":"Jane Roe"}',
        'result:\n```json\n{"customer_name":"Jane Roe"}\n```',
        '{"a": 1}\n{"customer_name":"Jane Roe"}',
    ],
)
def test_a_sensitive_member_in_a_text_is_found_however_the_text_holds_it(
    door: Door, text: str
) -> None:
    record = passing()
    record["events"][1]["observation"] = text
    said = door.take("t.json", record)
    assert door.codes(TRACE) == ["unredacted:observation.customer_name"]
    nowhere(door, said, "Jane Roe")


def test_numbers_with_a_sign_places_and_repositories_are_no_identifiers(door: Door) -> None:
    record = passing()
    record["events"][0]["arguments"]["note"] = (
        "+1.2345678 and +12345678.90 USD at +37.7749-122.4194, from ssh://git@github.com/a/b"
    )
    assert door.take("t.json", record).code == 0
    assert door.one("SELECT passed FROM traces") == 1


def test_placeholders_are_no_identifiers(door: Door) -> None:
    record = passing()
    record["events"][0]["arguments"]["customer_name"] = "[REDACTED]"
    record["events"][0]["arguments"]["email"] = "<EMAIL>"
    assert door.take("t.json", record).code == 0
    assert door.one("SELECT passed FROM traces") == 1


def test_running_again_does_not_erase_it(door: Door) -> None:
    """The attempt was made: a clean one neither takes its slot nor its place in the report."""
    records = [{**record, "candidate_id": "cand-a"} for record in shipped(V8)]
    clean = records[0]
    dirty = json.loads(json.dumps(clean))
    dirty["final_message"] = f"mail {RAW['email']}"
    door.take("first.jsonl", [dirty, *records[1:]])
    again = door.take("clean.jsonl", [clean])
    assert again.code == 20
    assert "contradiction:revision" in again.err
    extra = door.take("more.jsonl", [{**clean, "attempt": None, "latency_ms": 99}])
    assert extra.code == 0, extra
    door.run("score")
    said = door.run("--export-report", door.root / "out", "--suite", SUITE, "--candidate", "cand-a")
    report = json.loads((door.root / "out" / "report.json").read_bytes())
    assert (said.code, report["recommendation"]) == (10, "block")
    assert report["failures"][0]["trace_id"] == TRACE
    assert door.one("SELECT critical FROM traces WHERE attempt=1 AND episode_id='damaged-221'") == 1


def test_the_same_unredacted_file_again_adds_nothing(door: Door) -> None:
    record = passing()
    arguments(record, RAW["email"])
    first = door.take("t.json", record)
    second = door.run("import", door.root / "t.json")
    assert door.one("SELECT count(*) FROM trace") == 1
    assert "nothing added" in second.err
    assert first.code == 20, first
    nowhere(door, second, RAW["email"])


def test_background_files_and_backups_hold_nothing_raw(door: Door) -> None:
    record = passing()
    arguments(record, RAW["secret"])
    door.take("t.jsonl", [record, *[passing(attempt=n, nonce=n) for n in range(2, 50)]])
    door.ok("backup", door.root / "store" / "copy.db")
    assert RAW["secret"].encode() not in every_byte(door.root / "store")
