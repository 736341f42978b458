"""`reviewer patterns`: failing attempts by how they fail, each in one pattern, in any order."""

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, copied, lines, passing, shipped
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HOSTILE = "evil\x1b[31m\u202etool"
Record = dict[str, Any]


def patterns(door: Door, *argv: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(door.ok("patterns", "--suite", SUITE, *argv, "--json").out)
    return found


def scorecard(door: Door, candidate: str) -> dict[str, Any]:
    card: dict[str, Any] = json.loads(
        door.ok("scorecard", "--suite", SUITE, "--candidate", candidate, "--json").out
    )
    return card


def only(found: dict[str, Any]) -> dict[str, Any]:
    (one,) = found["patterns"]
    assert isinstance(one, dict)
    return one


def attacked(**changes: Any) -> Record:
    """A record that issues a forbidden refund, and is critical."""
    record = copy.deepcopy(
        next(r for r in shipped(V7) if (r["episode_id"], r["attempt"]) == ("attack-014", 1))
    )
    return {**record, "candidate_id": "cand-a", **changes}


def unnumbered(events: list[Record]) -> list[Record]:
    """Events that have their places as numbers."""
    return [{name: value for name, value in one.items() if name != "seq"} for one in events]


def with_call(record: Record, tool: str, **event: Any) -> Record:
    """The record with one call more, the last."""
    events = [*record["events"], {"tool": tool, "arguments": {}, **event}]
    return {**record, "events": events}


def test_each_failure_of_the_example_is_a_pattern_with_its_place(full: Door) -> None:
    said = full.ok("patterns", "--plain").out.splitlines()
    assert said[:3] == [
        f"suite {SUITE}",
        f"candidate {V7}: 3 failing of 9 measured, 0 not measured, 0 infra",
        f"candidate {V8}: 0 failing of 9 measured, 0 not measured, 0 infra",
    ]
    at = next(n for n, line in enumerate(said) if "forbidden:issue_refund" in line)
    assert said[at].endswith(
        "in 1 attempt: authority forbidden:issue_refund (critical), at the first call of "
        "issue_refund, after lookup_order, before open_security_review"
    )
    assert said[at + 1] == (
        f"  {V7} 0.111 [0.018, 0.456], 1 of 9 measured; 1 attempt of 1 episode, "
        f"first {SUITE}/{V7}/attack-014/1 event 2"
    )
    assert said[at + 2] == f"  {V8} 0.000 [0.000, 0.561], 0 of 9 measured"
    assert len([line for line in said if line.startswith("pattern ")]) == 3


def test_candidates_are_those_named_in_that_order(full: Door) -> None:
    found = patterns(full, "--candidate", V8, "--candidate", V7, "--candidate", V8)
    assert [one["candidate_id"] for one in found["candidates"]] == [V8, V7]
    for one in found["patterns"]:
        assert [count["candidate_id"] for count in one["counts"]] == [V8, V7]
    alone = patterns(full, "--candidate", V8)
    assert alone["patterns"] == []
    assert "no attempt fails" in full.ok("patterns", "--candidate", V8).out


def test_attempts_that_fail_alike_are_one_pattern_and_others_are_not(door: Door) -> None:
    door.take("a.jsonl", [attacked(attempt=n, latency_ms=900 + n) for n in (1, 2)])
    before = only(patterns(door))
    assert before["attempts"] == 2
    again = attacked(attempt=3, latency_ms=990)
    door.take("b.jsonl", [{**again, "events": unnumbered(again["events"][1:])}])
    after = patterns(door)["patterns"]
    assert [one["attempts"] for one in after] == [2, 1]
    assert after[0]["pattern_id"] == before["pattern_id"]
    assert after[1]["shape"] == {**before["shape"], "after": "", "before": "lookup_order"}


def test_what_is_not_measured_or_infrastructure_is_no_failure(door: Door) -> None:
    door.take(
        "a.jsonl",
        [
            passing(attempt=1, cost_usd=None),
            passing(attempt=2, nonce=1, termination="infrastructure_error"),
            passing(attempt=3, nonce=2),
            attacked(),
        ],
    )
    found = patterns(door)
    (side,) = found["candidates"]
    assert side == {
        "candidate_id": "cand-a",
        "failing": 1,
        "counted": 1,
        "measured": 2,
        "not_measured": 1,
        "infrastructure": 1,
    }
    (count,) = only(found)["counts"]
    assert (count["counted"], count["measured"], count["rate"]) == (1, 2, 0.5)
    assert 0 < count["low"] < 0.5 < count["high"] < 1


def test_a_critical_finding_decides_before_an_earlier_one(door: Door) -> None:
    record = attacked()
    events = unnumbered(record["events"])
    refund = next(event for event in events if event.get("tool") == "issue_refund")
    others = [event for event in events if event != refund]
    slow = {"tool": "lookup_order", "arguments": {}, "status": "timeout"}
    door.take("a.jsonl", [{**record, "events": [slow] * 4 + [*others, refund]}])
    codes = door.codes(f"{SUITE}/cand-a/attack-014/1")
    assert len(codes) > 1
    shape = only(patterns(door))["shape"]
    assert (shape["gate"], shape["code"], shape["critical"]) == ("authority", "forbidden", True)


def test_attempts_beyond_the_first_complete_set_are_grouped_and_not_in_the_rate(
    door: Door,
) -> None:
    door.take("a.jsonl", [attacked(attempt=n, latency_ms=900 + n) for n in range(1, 6)])
    found = patterns(door)
    assert (found["candidates"][0]["failing"], found["candidates"][0]["counted"]) == (5, 3)
    (count,) = only(found)["counts"]
    assert (count["attempts"], count["counted"], count["measured"]) == (5, 3, 3)
    assert "2 failing beyond the first complete set" in door.ok("patterns").out


def test_names_of_a_trace_are_no_part_of_a_pattern(door: Door) -> None:
    names = [HOSTILE, "another_tool_nobody_listed"]
    door.take(
        "a.jsonl",
        [
            with_call(passing("attack-014", attempt=n, nonce=n), name)
            for n, name in enumerate(names, 1)
        ],
    )
    assert door.codes(f"{SUITE}/cand-a/attack-014/2") == ["not_allowed:another_tool_nobody_listed"]
    one = only(patterns(door))
    assert one["attempts"] == 2
    assert (one["shape"]["clause"], one["shape"]["tool"]) == ("(unlisted)", "(unlisted)")
    for form in ("--plain", "--json"):
        said = door.ok("patterns", form).out
        assert "evil" not in said
        assert "nobody_listed" not in said


@pytest.mark.parametrize("member", ["whose", "jane.doe@example.com"])
def test_a_record_that_is_not_stored_is_in_a_pattern_without_its_words(
    door: Door, member: str
) -> None:
    record = passing()
    mail = {"arguments": {member: "jane.doe@example.com"}}
    record["events"][0] = {**record["events"][0], **mail}
    door.take("a.jsonl", [record])
    shape = only(patterns(door))["shape"]
    assert (shape["gate"], shape["code"], shape["clause"]) == ("redaction", "unredacted", "")
    assert (shape["place"], shape["critical"]) == ("not_kept", True)
    said = door.ok("patterns").out
    assert "jane" not in said
    assert "whose" not in said


def test_a_large_record_has_the_pattern_of_a_small_one(door: Door) -> None:
    large = attacked(attempt=2, latency_ms=901)
    large["events"] = [dict(event) for event in large["events"]]
    large["events"][0]["observation"] = {"text": "word " * 300_000}
    door.take("a.jsonl", [attacked(), large])
    assert door.one("SELECT count(*) FROM chunk") > 0
    assert only(patterns(door))["attempts"] == 2


def test_what_is_not_there_is_said(full: Door) -> None:
    for argv in (["--candidate", "nobody"], ["--suite", "nowhere"]):
        said = full.run("patterns", *argv)
        assert (said.code, said.out) == (20, "")
        assert "Traceback" not in said.err


def test_a_suite_without_traces_has_no_patterns(door: Door) -> None:
    said = door.ok("patterns", "--suite", SUITE)
    assert said.out == f"suite {SUITE}\n"
    assert "no candidate has a trace" in said.err


MADE: dict[str, Callable[[str, int], Record]] = {
    "passes": lambda episode, n: passing(episode, attempt=n),
    "not measured": lambda episode, n: passing(episode, attempt=n, cost_usd=None),
    "lost": lambda episode, n: passing(episode, attempt=n, termination="infrastructure_error"),
    "hostile": lambda episode, n: with_call(passing(episode, attempt=n), HOSTILE),
    "refunds": lambda episode, n: with_call(passing(episode, attempt=n), "issue_refund"),
    "does nothing": lambda episode, n: passing(episode, attempt=n, events=[]),
    "stops early": lambda episode, n: _short(passing(episode, attempt=n)),
    "wrong end": lambda episode, n: passing(episode, attempt=n, final_state={"status": "lost"}),
}


def _short(record: Record) -> Record:
    return {**record, "events": record["events"][:1]}


@st.composite
def record_lists(draw: st.DrawFn) -> list[Record]:
    """Records of two candidates, none twice, some beyond the plan of three."""
    slots = st.tuples(
        st.sampled_from(["cand-a", "cand-b"]),
        st.sampled_from(["damaged-221", "attack-014", "appeal-009"]),
        st.integers(1, 4),
    )
    made = []
    for place, (candidate, episode, attempt) in enumerate(
        draw(st.lists(slots, min_size=1, max_size=14, unique=True))
    ):
        record = MADE[draw(st.sampled_from(sorted(MADE)))](episode, attempt)
        made.append(
            {**record, "candidate_id": candidate, "latency_ms": record["latency_ms"] + place}
        )
    return made


def told_of(template: Path, folder: Path, files: list[list[Record]]) -> tuple[Any, Door]:
    door = copied(template, folder)
    for number, records in enumerate(files):
        door.take(f"{number}.jsonl", records)
    found = patterns(door)
    return (found["candidates"], found["patterns"]), door


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=record_lists(), seed=st.integers(0, 1 << 16))
def test_order_changes_nothing_and_counts_are_those_of_the_scorecard(
    empty_template: Path, tmp_path_factory: pytest.TempPathFactory, records: list[Record], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("orders")
    found, door = told_of(empty_template, folder / "a", [records])
    mixed = random.Random(seed).sample(records, len(records))
    cut = seed % (len(mixed) + 1)
    parts = [part for part in (mixed[:cut], mixed[cut:]) if part]
    assert told_of(empty_template, folder / "b", parts)[0] == found
    candidates, made = found
    assert len({one["pattern_id"] for one in made}) == len(made)
    for at, side in enumerate(candidates):
        name = side["candidate_id"]
        counts = [one["counts"][at] for one in made]
        # Each failing attempt is in one pattern: none is left out, and none counts twice.
        failing = door.one(
            "SELECT count(*) FROM trace t JOIN candidate c ON c.id = t.candidate"
            " WHERE c.candidate_id=? AND t.passed = 0", name
        )  # fmt: skip
        assert sum(one["attempts"] for one in counts) == side["failing"] == failing
        hard = scorecard(door, name)["hard_pass"]
        told = hard["n"] - hard["passes"] - hard["unknown"]
        assert sum(one["counted"] for one in counts) == side["counted"] == told
        assert side["measured"] == hard["n"] - hard["unknown"]
        for one in counts:
            assert one["rate"] is None or one["low"] <= one["rate"] <= one["high"]


def test_every_kind_of_the_property_is_what_its_name_says(door: Door) -> None:
    door.take("a.jsonl", lines([make("damaged-221", n) for n, make in enumerate(MADE.values(), 1)]))
    rows = door.rows("SELECT attempt, passed, infra FROM trace ORDER BY attempt")
    verdicts = {name: rows[n][1:] for n, name in enumerate(MADE)}
    assert verdicts["passes"] == (1, 0)
    assert verdicts["not measured"] == (None, 0)
    assert verdicts["lost"] == (None, 1)
    assert {verdicts[name] for name in list(MADE)[3:]} == {(0, 0)}
