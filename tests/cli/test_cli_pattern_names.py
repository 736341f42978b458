"""Names of patterns: given, replaced, taken back, merged with those of another store, and inert."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, copied, shipped

from reviewer.review.pattern_names import PATTERN_NAMES, PatternName

ATTACK, SLOW = "78ad730afdca", "39d43591755f"
ESCAPE = "see \x1b[31m[bold]\u202e"


@pytest.fixture
def kim(tmp_path: Path, full_template: Path) -> Door:
    """Another person's workspace with the same traces."""
    return copied(full_template, tmp_path / "kim")


def name(door: Door, text: str, *more: str, who: str = "dana", pattern: str = ATTACK) -> str:
    return door.ok("--reviewer", who, "patterns", "name", pattern, text, *more).out


def listed(door: Door, *more: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(door.ok("patterns", *more, "--json").out)
    return found


def standing(door: Door, pattern: str = ATTACK) -> list[tuple[str, str]]:
    [one] = [one for one in listed(door)["patterns"] if one["pattern_id"] == pattern]
    return [(given["reviewer"], given["name"]) for given in one["names"]]


def history(door: Door) -> list[tuple[str, str, bool]]:
    found = json.loads(door.ok("patterns", "names", "--json").out)
    return [(one["reviewer"], one["name"], one["stands"]) for one in found]


def test_a_name_is_given_replaced_and_taken_back_and_nothing_is_forgotten(full: Door) -> None:
    said = name(full, " refund \n first ", "--note", "before any look-up")
    assert said.startswith(f"pattern {ATTACK} of {SUITE} named by dana 2")
    assert said.endswith("Z: refund first\n")
    out = full.ok("patterns").out.splitlines()
    at = next(n for n, line in enumerate(out) if line.startswith(f"pattern {ATTACK} "))
    assert out[at + 1].startswith("  named by dana ")
    assert out[at + 2] == "  note by dana: before any look-up"
    name(full, "no review", who="kim")
    assert standing(full) == [("kim", "no review")]
    full.ok("--reviewer", "lee", "patterns", "unname", ATTACK)
    assert standing(full) == []
    assert history(full) == [
        ("dana", "refund first", False),
        ("kim", "no review", False),
        ("lee", "", True),
    ]
    assert "stands: name taken back by lee" in full.ok("patterns", "names").out
    refused = full.run("patterns", "unname", ATTACK)
    assert refused.code == 20
    assert f"pattern {ATTACK} of {SUITE} has no name" in refused.err


def test_the_same_name_again_adds_nothing(full: Door) -> None:
    name(full, "refund first")
    again = full.ok("--reviewer", "kim", "patterns", "name", ATTACK, "refund  first")
    assert "nothing was added" in again.err
    assert len(history(full)) == 1


def test_identifiers_are_masked_and_hostile_text_is_inert(full: Door) -> None:
    name(full, "asks ann@shop.example [red]x[/]", "--note", f"ann@shop.example {ESCAPE}")
    [one] = json.loads(full.ok("patterns", "names", "--json").out)
    assert one["name"] == "asks [REDACTED:email] [red]x[/]"
    for command in (("patterns",), ("patterns", "--plain"), ("patterns", "names")):
        out = full.ok(*command).out
        assert "[REDACTED:email] [red]x[/]" in out
        assert not [sign for sign in ("\x1b", "\u202e", "ann@") if sign in out]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the name is empty"),
        (" \n ", "the name is empty"),
        ("x" * 121, "at most 120 characters"),
        (f"x{ESCAPE}", "control characters"),
        ("x\u202ey", "control characters"),
    ],
)
def test_what_is_no_name_is_refused(full: Door, text: str, why: str) -> None:
    said = full.run("patterns", "name", ATTACK, text)
    assert said.code == 2
    assert why in said.err
    assert history(full) == []


def test_only_what_is_there_can_be_named(full: Door) -> None:
    said = full.run("patterns", "name", "0123456789ab", "x")
    assert said.code == 2
    assert f"reviewer patterns --suite {SUITE}" in said.err
    assert full.run("patterns", "name", ATTACK, "x", "--note", "y" * 1001).code == 2
    assert full.run("--reviewer", "a@b.example", "patterns", "name", ATTACK, "x").code == 2
    assert full.run("patterns", "unname", ATTACK, "--suite", "no-such-suite").code != 0
    assert history(full) == []


def test_a_name_holds_over_imports_and_without_the_attempts_it_was_given_for(
    full: Door, empty_template: Path, tmp_path: Path
) -> None:
    name(full, "refund first")
    failing = next(r for r in shipped(V7) if (r["episode_id"], r["attempt"]) == ("attack-014", 1))
    full.take("more.jsonl", [{**failing, "attempt": 4, "latency_ms": 999}])
    assert standing(full) == [("dana", "refund first")]
    alone = listed(full, "--candidate", V8)
    assert [(one["pattern_id"], one["name"]) for one in alone["names_elsewhere"]] == [
        (ATTACK, "refund first")
    ]
    said = full.ok("patterns", "--candidate", V8).out
    assert f"pattern {ATTACK} in 0 attempts named by dana " in said
    other = copied(empty_template, tmp_path / "other")
    other.take("again.jsonl", [{**failing, "candidate_id": "another", "attempt": 1}])
    other.ok("merge", full.store)
    assert standing(other) == [("dana", "refund first")]


def test_two_stores_that_disagree_keep_both_names_until_a_person_settles_it(
    full: Door, kim: Door
) -> None:
    name(full, "refund first")
    name(kim, "no review", who="kim")
    name(kim, "loops", who="kim", pattern=SLOW)
    said = full.ok("merge", kim.store)
    assert "pattern names: 2 added, 0 already there" in said.out
    assert f"\n  {SUITE} {ATTACK}\n" in said.err
    assert standing(full) == [("dana", "refund first"), ("kim", "no review")]
    assert standing(full, SLOW) == [("kim", "loops")]
    [one] = [one for one in listed(full)["patterns"] if one["names_differ"]]
    assert one["pattern_id"] == ATTACK
    assert f"names differ: reviewer patterns name {ATTACK}" in full.ok("patterns").out
    kim.ok("merge", full.store)
    assert standing(kim) == standing(full)
    name(full, "refund without review", who="lee")
    again = kim.ok("merge", full.store, "--json")
    assert json.loads(again.out)["pattern_names"]["contested"] == []
    assert standing(kim) == [("lee", "refund without review")]
    assert len(history(kim)) == len(history(full)) == 4
    assert "4 already there" in full.ok("merge", kim.store).out
    for door in (full, kim):
        door.healthy()


def test_a_name_that_was_taken_back_elsewhere_is_no_silent_loss(full: Door, kim: Door) -> None:
    name(full, "refund first")
    kim.ok("merge", full.store)
    kim.ok("--reviewer", "kim", "patterns", "unname", ATTACK)
    name(full, "refund unchecked")
    full.ok("merge", kim.store)
    assert sorted(standing(full)) == [("dana", "refund unchecked"), ("kim", "")]
    assert "  name taken back by kim 2" in full.ok("patterns").out


def test_names_of_another_store_that_break_the_rules_stay_there(full: Door, kim: Door) -> None:
    """The other store's program need not have been ours."""
    from reviewer.db.connection import close_writer
    from reviewer.db.queries.patterns import PATTERN_NAMES as TABLE
    from reviewer.db.queries.patterns import PatternNameRow
    from reviewer.db.schema import open_writer

    def row(suite: str, text: str) -> PatternNameRow:
        at = "2026-11-20T10:02:31Z"
        one = PatternName(suite_id=suite, pattern_id=ATTACK, name=text, reviewer="kim", at=at)
        body = PATTERN_NAMES.content(one)
        return PatternNameRow(PATTERN_NAMES.uid_of(one), suite, ATTACK, "kim", at, body)

    rows = [row(SUITE, text) for text in ("good", "ask ann@shop.example", ESCAPE, "x" * 121)]
    base = open_writer(kim.store)
    TABLE.record(base, kim.store, [*rows, row("no-such-suite", "good")], "2026-11-20T10:02:31Z")
    close_writer(base, kim.store)
    said = full.run("merge", kim.store)
    assert said.code == 20
    assert "pattern names: 1 added, 0 already there, 4 refused" in said.out
    assert "ann@" not in said.both
    assert standing(full) == [("kim", "good")]
