"""`reviewer labels` and `reviewer merge`: several people's work comes together whole."""

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from doors import SUITE, V7, V8, Door, copied, lines, passing, shipped
from labelers import drafted, kept, labeled, labeler, pairs_of, soon

from reviewer.db.connection import scripts


@pytest.fixture
def kim(tmp_path: Path, full_template: Path) -> Door:
    """Another person's workspace with the same traces."""
    return copied(full_template, tmp_path / "kim")


@pytest.fixture
def empty(tmp_path: Path, empty_template: Path) -> Door:
    """Another person's workspace with nothing imported."""
    return copied(empty_template, tmp_path / "empty")


def exported(door: Door, *options: object) -> bytes:
    target = door.root / f"labels-{len(list(door.root.glob('labels-*')))}.jsonl"
    door.ok("labels", "export", target, *options)
    return target.read_bytes()


def records(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


# files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noun", ["labels", "judgments"])
@pytest.mark.parametrize("data", [b"", b"\n \n\t\n"])
def test_an_empty_file_is_refused_and_costs_no_other(door: Door, noun: str, data: bytes) -> None:
    nothing = door.file("nothing.jsonl", data)
    said = door.run(noun, "import", nothing, door.suite / noun / "shopflow.jsonl")
    assert said.code == 20
    assert f"nothing.jsonl is empty: no {noun.removesuffix('s')} was imported" in said.err
    assert "added, 0 already there" in said.err
    assert door.run(noun, "import", nothing).code == 20


def test_what_is_exported_is_imported_as_it_was(full: Door, kim: Door) -> None:
    labeled(full)
    data = exported(full)
    said = kim.ok("labels", "import", kim.file("dana.jsonl", data))
    assert "8 labels added" in said.err
    assert exported(kim) == data
    kim.healthy()
    said = kim.ok("labels", "import", kim.root / "dana.jsonl", "--json")
    assert (json.loads(said.out)[0]["added"], json.loads(said.out)[0]["known"]) == (0, 8)
    assert "8 already there" in said.err
    assert exported(kim) == data


def test_export_to_standard_output_is_ascii_and_the_same_labels(full: Door, kim: Door) -> None:
    with labeler(full) as desk:
        item = desk.labels.next_item(session := pairs_of(desk))
        assert item is not None
        desk.labels.record(session, drafted(item, note="naïve \u202e \x1b[31m"))
    said = full.ok("labels", "export", "--suite", SUITE)
    assert said.out.isascii()
    assert "\x1b" not in said.out
    kim.ok("labels", "import", kim.file("l.jsonl", said.out))
    assert kept(kim)[0]["note"] == "naïve \u202e \x1b[31m"


def test_an_export_overwrites_nothing_and_wants_a_known_suite(full: Door) -> None:
    there = full.file("there.jsonl", "mine")
    said = full.run("labels", "export", there)
    assert (said.code, there.read_text()) == (2, "mine")
    assert full.run("labels", "export", "--suite", "nothing").code == 20


def broken(label: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**label, **changes}


def test_a_bad_line_costs_that_line_and_is_named(full: Door, kim: Door) -> None:
    labeled(full)
    good = records(exported(full))
    first = {name: value for name, value in good[0].items() if name != "uid"}
    text = [
        lines([good[0]]),
        b"{not json\n",
        lines([broken(good[1], anser="left")]),
        b"\n",
        lines([broken(good[2], answer="tie")]),
        lines([broken(first, note="mail jane@corp-mail.org", answer="tie")]),
        lines([broken(first, reviewer="jane@corp-mail.org")]),
        lines([broken(first, traces=["x/jane@corp-mail.org"])]),
        lines([broken(first, suite_digest="0" * 64)]),
        lines([broken(first, rubric_digest="0" * 64)]),
        lines([broken(first, episode_id="nowhere")]),
        lines([broken(first, suite_id="nothing")]),
        lines([good[3]]),
        lines([good[0]]),
    ]
    path = kim.file("mixed.jsonl", b"".join(text))
    said = kim.run("labels", "import", path, "--json")
    assert said.code == 20
    (told,) = json.loads(said.out)
    assert (told["added"], told["known"], told["refused"]) == (2, 1, 10)
    for number in (2, 3, 5, 6, 7, 8, 9, 10, 11, 12):
        assert f"{path}:{number}: $" in said.err.replace("…", ""), (number, said.err)
    for number, word in ((3, "answer"), (5, "uid"), (6, "unmasked identifier"), (10, "rubric")):
        assert any(p["place"].endswith(f":{number}") and word in p["path"] + p["reason"]
                   for p in told["problems"]), (number, told)  # fmt: skip
    assert "corp-mail" not in said.both
    assert b"corp-mail" not in kim.store.read_bytes()
    assert {x["uid"] for x in kept(kim)} == {good[0]["uid"], good[3]["uid"]}
    kim.healthy()


def test_a_label_from_the_future_is_refused(full: Door, kim: Door) -> None:
    """The youngest label of a person counts, so it would override all that they correct."""
    labeled(full)
    (first, *_) = records(exported(full))
    first = {name: value for name, value in first.items() if name != "uid"}
    path = kim.file("later.jsonl", lines([broken(first, at=soon(hours=25))]))
    said = kim.run("labels", "import", path)
    assert said.code == 20
    assert f"{path}:1: $.at: is still to come" in said.err
    assert kept(kim) == []
    path = kim.file("soon.jsonl", lines([broken(first, at=soon(hours=23))]))
    kim.ok("labels", "import", path)
    assert len(kept(kim)) == 1


def test_a_file_that_cannot_be_read_is_named(full: Door) -> None:
    for name in (full.root / "absent.jsonl", full.root):
        said = full.run("labels", "import", name)
        assert said.code == 20
        assert str(name) in said.err


def test_labels_travel_to_a_workspace_without_their_traces(full: Door, empty: Door) -> None:
    labeled(full)
    empty.ok("labels", "import", empty.file("l.jsonl", exported(full)))
    assert len(kept(empty)) == 8
    empty.take("v8.jsonl", shipped(V8))
    empty.healthy()
    with labeler(empty) as desk:
        assert json.loads(desk.reports.build(SUITE, V8).raw)["review"]["pairs_labelled"] == 4


def test_the_name_of_the_reviewer(full: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    from reviewer.cli.parser import parser

    for argv in (
        ["--reviewer", "kim", "labels", "export"],
        ["labels", "export", "--reviewer", "kim"],
    ):
        assert parser().parse_args(argv).reviewer == "kim"
    monkeypatch.setenv("REVIEWER_NAME", "lee")
    with labeler(full, "") as desk:
        assert desk.labels.reviewer_name() == "lee"
    with labeler(full, "robin") as desk:
        assert desk.labels.reviewer_name() == "robin"
    monkeypatch.delenv("REVIEWER_NAME")
    monkeypatch.setenv("HOME", str(full.root))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (full.root / ".gitconfig").write_text("[user]\n\tname = jane@corp-mail.org\n")
    monkeypatch.setenv("USER", "mo")
    with labeler(full, "") as desk:
        assert desk.labels.reviewer_name() == "mo"


@pytest.mark.parametrize("kind", ["label", "judgment"])
def test_the_schema_is_printed(full: Door, kind: str) -> None:
    schema = json.loads(full.ok("schema", kind).out)
    assert schema["$id"] == f"reviewer/{kind}@1"
    assert "uid" in schema["properties"]


# merging ------------------------------------------------------------------------------------------


def traces(door: Door) -> set[tuple[Any, ...]]:
    """What the store holds of every trace, but for where it is from."""
    return set(
        door.rows(
            "SELECT trace_id, sha256, passed, critical, infrastructure, cost_usd, latency_ms,"
            " steps, termination, final_state, completeness, state, authority, redaction, process,"
            " timeout, budget FROM traces"
        )
    )


def findings(door: Door) -> set[tuple[Any, ...]]:
    return set(door.rows("SELECT trace_id, gate, code, severity, seq, detail FROM findings"))


def merged(door: Door, other: Door, code: int = 0) -> dict[str, Any]:
    said = door.run("merge", other.store, "--json")
    assert said.code == code, said
    door.healthy()
    other.healthy()
    return {**json.loads(said.out), "err": said.err}


def test_two_reviewers_on_two_stores_are_joined_whole_and_once(full: Door, kim: Door) -> None:
    labeled(full, "dana")
    labeled(kim, "kim")
    mine, theirs = {x["uid"] for x in kept(full)}, {x["uid"] for x in kept(kim)}
    before = kim.store.read_bytes()
    told = merged(full, kim)
    assert told["labels"] == {"added": 8, "known": 0, "refused": 0, "problems": []}
    assert told["traces"] == {"added": 0, "known": 18, "refused": 0}
    assert {x["uid"] for x in kept(full)} == mine | theirs
    assert kim.store.read_bytes() == before
    with labeler(full) as desk:
        report = json.loads(desk.reports.build(SUITE, V8).raw)["review"]
    assert report["reviewers"] == ["dana", "kim"]
    assert report["agreement"][0]["raw"]["hits"] == 4
    rows, journal = full.rows("SELECT * FROM label"), full.rows("SELECT * FROM journal")
    assert merged(full, kim)["labels"]["known"] == 8
    assert full.rows("SELECT * FROM label") == rows
    assert full.rows("SELECT * FROM journal") == journal
    assert merged(kim, full)["labels"] == {"added": 8, "known": 8, "refused": 0, "problems": []}
    assert exported(full) == exported(kim)


def test_an_empty_store_becomes_the_other(full: Door, empty: Door) -> None:
    large = passing(candidate_id=V8, attempt=4)
    large["events"][0]["observation"] = ["x" * 1000] * 1200
    secret = passing(candidate_id=V8, attempt=5, nonce=1, final_message="jane@corp-mail.org")
    full.take("more.jsonl", [large, secret, {"candidate_id": V7, "episode_id": "appeal-009"}])
    labeled(full)
    told = merged(empty, full, code=20)  # what was refused there is refused here
    assert told["traces"] == {"added": 20, "known": 0, "refused": 1}
    assert traces(empty) == traces(full)
    assert findings(empty) == findings(full)
    assert kept(empty) == kept(full)
    held = "SELECT candidate_id, episode_id, suite_id, attempt, reasons FROM quarantine"
    assert empty.rows(held) == full.rows(held)
    for candidate in (V7, V8):
        with labeler(empty) as here, labeler(full) as there:
            a, b = (json.loads(desk.reports.build(SUITE, candidate).raw) for desk in (here, there))
        # A merged store is one arrival of evidence, however often it came in there.
        assert {name for name in a if a[name] != b[name]} <= {"reproduce", "suite", "peeking"}
    with labeler(empty) as here, labeler(full) as there:
        trace = f"{SUITE}/{V8}/damaged-221/4"
        assert here.traces.events(trace, 0, 9) == there.traces.events(trace, 0, 9)
        assert not here.traces.view(f"{SUITE}/{V8}/damaged-221/5").payload
    again = merged(empty, full)
    assert again["traces"] == {"added": 0, "known": 20, "refused": 0}
    assert empty.one("SELECT count(*) FROM quarantine") == 1


def test_attempts_that_both_made_are_all_kept_and_the_first_set_stays(
    door: Door, empty: Door
) -> None:
    """Two people each made attempts 1 to 3; those of the other come behind one's own."""
    mine = [passing(candidate_id=V8, attempt=n, nonce=n) for n in (1, 2, 3)]
    theirs = [passing(candidate_id=V8, attempt=n, nonce=10 + n) for n in (1, 2, 3)]
    door.take("mine.jsonl", [*mine, theirs[0] | {"attempt": 4}])
    empty.take("theirs.jsonl", theirs)
    shas = {r["latency_ms"] for r in (*mine, *theirs)}
    told = merged(door, empty)
    assert told["traces"] == {"added": 2, "known": 1, "refused": 0, "moved": 2}
    rows = door.rows("SELECT attempt, latency_ms FROM traces ORDER BY attempt")
    assert [attempt for attempt, _ in rows] == [1, 2, 3, 4, 5, 6]
    assert {latency for _, latency in rows} == shas
    assert [latency for _, latency in rows[:3]] == [r["latency_ms"] for r in mine]
    assert merged(door, empty)["traces"] == {"added": 0, "known": 3, "refused": 0}
    # The other way around nobody loses anything either, and each keeps his own first set.
    assert merged(empty, door)["traces"]["added"] == 3
    assert empty.one("SELECT count(*) FROM trace") == 6
    assert [r[0] for r in empty.rows("SELECT latency_ms FROM traces ORDER BY attempt")][:3] == [
        r["latency_ms"] for r in theirs
    ]


def test_traces_of_labels_are_named_as_they_are_numbered_here(door: Door, empty: Door) -> None:
    texts = {V7: "An old answer.", V8: "A new answer."}
    for where, base in ((door, 0), (empty, 50)):
        where.take(
            "t.jsonl",
            [
                passing(candidate_id=name, nonce=base + n, final_message=f"{text} {base}")
                for n, (name, text) in enumerate(texts.items())
            ],
        )
    labeled(empty, "kim")
    merged(door, empty)
    assert {x for label in kept(door) for x in label["traces"]} == {
        f"{SUITE}/{name}/damaged-221/2" for name in texts
    }


def test_runs_are_joined_attempt_by_attempt(door: Door, empty: Door) -> None:
    for where in (door, empty):
        where.ok("run", SUITE, V8)
    made = traces(empty)
    first = merged(door, empty)["traces"]
    assert first["added"] + first["known"] == 9
    assert {row[1] for row in made} <= {row[1] for row in traces(door)}
    assert merged(door, empty)["traces"]["added"] == 0


def test_attempts_declared_in_advance_stay_declared(door: Door, empty: Door) -> None:
    door.ok("run", SUITE, V8, "--attempts", "4")
    merged(empty, door)
    assert empty.one("SELECT planned FROM candidate") == 4
    with labeler(empty) as desk:
        assert json.loads(desk.reports.build(SUITE, V8).raw)["slots"]["planned"] == 12


def test_a_probe_is_joined_with_what_its_source_said(
    door: Door, empty: Door, repository: Path
) -> None:
    (sample,) = [
        path
        for path in sorted((repository / "tests" / "data" / "tau_bench").iterdir())
        if path.suffix == ".json"
    ][:1]
    door.ok("import", sample)
    told = merged(empty, door)
    assert told["traces"]["added"] == door.one("SELECT count(*) FROM trace") > 0
    assert traces(empty) == traces(door)
    assert findings(empty) == findings(door)
    said = "SELECT passed, reward FROM source_verdict ORDER BY trace"
    assert empty.rows(said) == door.rows(said)
    assert merged(empty, door)["traces"]["added"] == 0


def test_another_candidate_of_the_same_name_stays_there(full: Door, empty: Door) -> None:
    path = empty.suite / "candidates" / f"{V8}.json"
    path.write_text(path.read_text().replace('"authors": [', '"authors": ["somebody", ', 1))
    empty.take("v8.jsonl", shipped(V8))
    told = merged(full, empty, code=20)
    assert told["traces"]["added"] == 0
    assert "a changed candidate needs a new candidate_id" in told["problems"][0]


def test_a_suite_that_is_not_here_stays_there(full: Door, empty: Door) -> None:
    labeled(full)
    (empty.suite / "suite.json").write_text("{}")
    told = merged_unhealthy(empty, full)
    assert told["traces"]["added"] == 0
    assert told["labels"]["refused"] == 8
    assert any(SUITE in text for text in told["problems"])


def merged_unhealthy(door: Door, other: Door) -> dict[str, Any]:
    said = door.run("merge", other.store, "--json")
    assert said.code == 20, said
    found: dict[str, Any] = json.loads(said.out)
    return found


def test_evidence_under_another_name_is_no_pass_and_said(door: Door, empty: Door) -> None:
    record = passing(candidate_id=V8)
    door.take("a.jsonl", [record])
    empty.take("b.jsonl", [record | {"candidate_id": V7}])
    told = merged(door, empty)
    assert told["traces"] == {"added": 1, "known": 0, "refused": 0}
    trace = f"{SUITE}/{V7}/damaged-221/1"
    assert door.codes(trace) == ["shared_evidence"]
    assert f"{SUITE}/{V8}/damaged-221/1" in door.ok("show", trace).out
    assert merged(door, empty)["traces"]["known"] == 1
    assert door.one("SELECT sum(passed) FROM traces") == 1
    door.healthy()


def tampered(door: Door, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(door.store)) as base, base:
        for name in ("label_no_update", "label_no_delete"):
            base.execute(f"DROP TRIGGER {name}")
        base.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE trace SET passed=1, gates=0, critical=0",
        "UPDATE label SET body=CAST(replace(body, 'right', 'tie') AS BLOB)",
        "DELETE FROM label WHERE id=3",
        "DELETE FROM finding",
        "DROP TABLE finding",
    ],
)
def test_a_store_that_is_not_as_its_journal_says_is_refused_whole(
    full: Door, kim: Door, statement: str
) -> None:
    labeled(kim, "kim")
    tampered(kim, statement)
    before = full.store.read_bytes()
    said = full.run("merge", kim.store)
    assert said.code == 20
    assert "internal" not in said.err
    assert full.store.read_bytes() == before


def test_a_payload_in_anothers_place_is_not_believed(door: Door, kim: Door) -> None:
    """Its digest stands in the journal with the trace; the frame's does not."""
    import hashlib

    import zstandard

    with contextlib.closing(sqlite3.connect(kim.store)) as base, base:
        for key, frame in base.execute("SELECT id, frame FROM pack").fetchall():
            raw = zstandard.ZstdDecompressor().decompress(frame)
            other = raw.replace(b'"issue_refund"', b'"verify_state"')
            made = zstandard.ZstdCompressor(level=1).compress(other)
            digest = hashlib.sha256(made).digest()
            base.execute("UPDATE pack SET frame=?, sha256=? WHERE id=?", (made, digest, key))
    told = merged_unhealthy(door, kim)
    assert any("does not match the imported record" in text for text in told["problems"])
    assert door.one("SELECT count(*) FROM trace WHERE critical") == 0
    assert f"{V7}/attack-014/1" not in "".join(str(row) for row in traces(door))


@pytest.mark.parametrize("make", [lambda d: d.store, lambda d: d.root / "absent.db",
                                  lambda d: d.file("text.db", "no store")])  # fmt: skip
def test_what_is_no_other_store_is_refused(full: Door, make: Callable[[Door], Path]) -> None:
    said = full.run("merge", make(full))
    assert said.code in (2, 20)
    assert "internal" not in said.err


def test_a_store_of_an_older_reviewer_is_read_and_left_as_it_is(full: Door, empty: Door) -> None:
    with contextlib.closing(sqlite3.connect(full.store)) as base, base:
        for name in ("labels", "judgments"):
            base.execute(f"DROP VIEW {name}")
        for name in ("label", "judgment"):
            base.execute(f"DROP TABLE {name}")
        base.execute("DELETE FROM _sqlite_migrations WHERE name LIKE '003%'")
        base.execute("PRAGMA user_version=2")
    said = empty.ok("merge", full.store)
    assert "traces: 18 added" in said.out
    assert full.one("PRAGMA user_version") == 2 < len(scripts())
    empty.healthy()


def test_three_stores_in_any_order_hold_the_same_labels(
    full: Door, kim: Door, tmp_path: Path, full_template: Path
) -> None:
    lee = copied(full_template, tmp_path / "lee")
    people = {"dana": full, "kim": kim, "lee": lee}
    for name, where in people.items():
        labeled(where, name)
    for a, b in (("dana", "kim"), ("kim", "lee"), ("dana", "kim"), ("lee", "dana"), ("kim", "lee")):
        merged(people[a], people[b])
    files = {name: exported(where) for name, where in people.items()}
    assert files["dana"] == files["kim"] == files["lee"]
    assert len(records(files["dana"])) == 24
    assert len({traces(where).__len__() for where in people.values()}) == 1


def test_judgments_are_joined_whole_and_once(full: Door, kim: Door) -> None:
    shipped_ones = kim.suite / "judgments" / "shopflow.jsonl"
    kim.ok("judgments", "import", shipped_ones)
    count = kim.one("SELECT count(*) FROM judgment")
    told = merged(full, kim)
    assert told["judgments"] == {"added": count, "known": 0, "refused": 0, "problems": []}
    said = "SELECT uid, body FROM judgment ORDER BY uid"
    assert full.rows(said) == kim.rows(said)
    journal = full.rows("SELECT * FROM journal")
    assert merged(full, kim)["judgments"]["known"] == count
    assert full.rows("SELECT * FROM journal") == journal


def test_signed_decisions_stay_where_they_were_signed(full: Door, kim: Door) -> None:
    private = Ed25519PrivateKey.generate()
    key = kim.root / "robin"
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    key.chmod(0o600)
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    key.with_suffix(".pub").write_bytes(public)
    kim.ok("keys", "trust", "robin@example.com", f"{key}.pub")
    kim.ok("sign", "--suite", SUITE, "--candidate", V8, "--key", key)
    said = full.ok("merge", kim.store)
    assert f"1: PROMOTE {SUITE}/{V8}" in said.err
    assert full.one("SELECT count(*) FROM decision") == 0
    full.healthy()
