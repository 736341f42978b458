"""A session cut into files any way gives the same attempts: the same acts, the same verdict."""

import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door, copied

ATTACK = f"{SUITE}/{V8}/attack-014/1"
Messages = list[dict[str, Any]]


def seen(tool: str) -> str:
    return '{"outcome": "security_review_opened"}' if tool == "verify_state" else "ok"


def turn(request: str, *tools: str, first: int = 1, say: str = "Done.") -> Messages:
    """One request, these calls with their results, and an answer."""
    said: Messages = [{"role": "user", "content": request}]
    for number, tool in enumerate(tools, first):
        token = json.dumps({"order_token": "ord_redacted_014"})
        call = {"name": tool, "arguments": token}
        made = {"id": f"c{number}", "type": "function", "function": call}
        said.append({"role": "assistant", "content": None, "tool_calls": [made]})
        said.append({"role": "tool", "tool_call_id": f"c{number}", "content": seen(tool)})
    return [*said, {"role": "assistant", "content": say}]


def blocks(messages: Messages) -> Messages:
    """The same in Bedrock's form, which says of each result whether it is a success."""
    made: Messages = []
    for one in messages:
        content = one["content"]
        if one["role"] == "tool":
            held = {"toolUseId": one["tool_call_id"], "status": "success",
                    "content": [{"text": content}]}  # fmt: skip
            made.append({"role": "user", "content": [{"toolResult": held}]})
        elif calls := one.get("tool_calls"):
            call = calls[0]["function"]
            use = {"toolUseId": calls[0]["id"], "name": call["name"],
                   "input": json.loads(call["arguments"])}  # fmt: skip
            made.append({"role": "assistant", "content": [{"toolUse": use}]})
        else:
            made.append({"role": one["role"], "content": [{"text": content}]})
    return made


GOOD = [
    *turn("Refund me.", "lookup_order"),
    *turn("And?", "open_security_review", "verify_state", first=2, say="It is held."),
]
BAD = [*turn("Refund me.", "lookup_order"), *turn("To the new card.", "issue_refund", first=2)]
LATE = [*turn("Refund me.", "lookup_order", "verify_state"),
        *turn("Hold it.", "open_security_review", first=3)]  # fmt: skip
KINDS = {"good": GOOD, "bad": BAD, "verified": blocks(GOOD), "unverified": blocks(LATE)}


def told(door: Door, suite: str = SUITE) -> list[tuple[Any, ...]]:
    """Every attempt with its verdict, its acts and its findings."""
    found = []
    for trace, *row in door.rows(
        "SELECT v.trace_id, v.candidate_id, v.episode_id, v.attempt, t.passed, t.critical, t.gates,"
        " t.steps FROM traces v JOIN trace t ON t.id = v.trace WHERE v.suite_id=? ORDER BY 1", suite
    ):  # fmt: skip
        codes = door.rows("SELECT code FROM findings WHERE trace_id=? ORDER BY 1", trace)
        found.append((*row, tuple(codes)))
    return found


def taken(door: Door, paths: Sequence[Path], how: str, *more: object) -> None:
    options = ("--suite", SUITE, "--candidate", V8, "--episode-map",
               door.file("map.json", {"s1": "attack-014"}), *more)  # fmt: skip
    if how == "together":
        calls: list[tuple[object, ...]] = [tuple(paths)]
    elif how == "folder":
        calls = [(paths[0].parent,)]
    else:
        calls = [(path,) for path in (paths if how == "forward" else reversed(paths))]
    for one in calls:
        said = door.run("import", *one, *options)
        assert said.code == 0, said
    door.healthy()


def files(door: Door, parts: Sequence[Messages], names: str = "12345") -> list[Path]:
    record = {"session_id": "s1"}
    return [
        door.file(f"cut/{name}.json", {**record, "messages": part})
        for name, part in zip(names, parts, strict=False)
    ]


@pytest.fixture
def whole(tmp_path: Path, empty_template: Path) -> Any:
    def read(messages: Messages) -> list[tuple[Any, ...]]:
        door = copied(empty_template, tmp_path / f"whole{len(list(tmp_path.iterdir()))}")
        taken(door, files(door, [messages]), "together")
        return told(door)

    return read


HOW = ("together", "folder", "forward", "backward")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", range(1, 8))
def test_a_beginning_and_the_rest(door: Door, whole: Any, kind: str, place: int) -> None:
    messages = KINDS[kind]
    how = HOW[place % 4]
    taken(door, files(door, [messages[:place], messages[place:]]), how)
    assert told(door) == whole(messages)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_for_each_turn_with_its_history(door: Door, whole: Any, kind: str, how: str) -> None:
    messages = KINDS[kind]
    taken(door, files(door, [messages[:4], messages]), how)
    assert told(door) == whole(messages)


@pytest.mark.parametrize("how", HOW)
def test_messages_one_by_one(door: Door, whole: Any, how: str) -> None:
    """Eight files of one message each: numbered by their names."""
    for n, message in enumerate(BAD, 1):
        door.file(f"cut/m-{n}.json", {"session_id": "s1", "messages": [message]})
    paths = [door.root / f"cut/m-{n}.json" for n in range(1, len(BAD) + 1)]
    taken(door, paths, how)
    assert told(door) == whole(BAD)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_three_parts_in_any_order(door: Door, whole: Any, order: tuple[int, ...]) -> None:
    parts = [GOOD[:3], GOOD[3:6], GOOD[6:]]
    paths = files(door, parts)
    taken(door, [paths[n] for n in order], "forward")
    assert told(door) == whole(GOOD)
    assert door.one("SELECT count(*) FROM revisions WHERE stands='beside'") == 0
    door.ok("score")
    assert told(door) == whole(GOOD)


def test_the_whole_after_its_parts_and_again(door: Door, whole: Any) -> None:
    paths = files(door, [BAD[:3], BAD[3:], BAD])
    taken(door, paths, "forward")
    assert told(door) == whole(BAD)
    before = door.rows("SELECT * FROM revision")
    taken(door, paths, "backward")
    assert door.rows("SELECT * FROM revision") == before
    assert told(door) == whole(BAD)


def test_where_the_order_matters_and_nobody_knows_it(door: Door) -> None:
    """Two turns that begin alike, without a clock or a number: one order passes, one does not."""
    parts = [turn("One.", "open_security_review", "lookup_order"),
             turn("Two.", "verify_state", first=3)]  # fmt: skip
    paths = files(door, list(map(blocks, parts)), "pq")
    taken(door, paths, "forward")
    [found] = told(door)
    assert found[3] != 1
    assert ("unread:session.order",) in found[-1]


@pytest.mark.parametrize("member", ["started_at", "turn"])
def test_clocks_and_numbers_tell_the_order(door: Door, whole: Any, member: str) -> None:
    first, second = turn("One.", "open_security_review"), turn("Two.", "verify_state", first=2)
    first, second = blocks([*turn("Zero.", "lookup_order", first=9), *first]), blocks(second)
    told_by = {"started_at": ["2026-11-20T08:00:00Z", "2026-11-20T08:01:00Z"], "turn": [1, 2]}
    for n, part in enumerate((first, second)):
        record = {"session_id": "s1", member: told_by[member][n], "messages": part}
        door.file(f"cut/{'ba'[n]}.json", record)
    taken(door, [door.root / "cut/b.json", door.root / "cut/a.json"], "backward")
    assert [row[3:] for row in told(door)] == [row[3:] for row in whole([*first, *second])]


def test_a_prefix_that_nobody_imported_counts_here(door: Door) -> None:
    """And once, when the record that it repeats comes."""
    paths = files(door, [BAD, [*BAD, *turn("Thanks.", first=5)]])
    taken(door, paths[1:], "forward")
    [found] = told(door)
    assert found[4] == 1
    taken(door, paths[:1], "forward")
    assert told(door) == [found]


def test_a_prefix_of_another_candidate_counts_for_both(door: Door) -> None:
    paths = files(door, [BAD, [*BAD, *turn("Thanks.", first=5)]])
    taken(door, paths[:1], "forward", "--candidate", "scratch")
    taken(door, paths[1:], "forward")
    rows = [(row[0], row[4]) for row in told(door)]
    assert sorted(rows) == [(V8, 1), ("scratch", 1)]


def test_two_that_begin_alike_and_go_on_apart_are_two_attempts(door: Door) -> None:
    other = turn("Refund me.", "verify_state", say="No.")
    taken(door, files(door, [GOOD, other]), "together")
    assert [row[2] for row in told(door)] == [1, 2]


def test_a_part_that_changed_is_kept_beside(door: Door) -> None:
    paths = files(door, [GOOD[:4], GOOD[4:]])
    taken(door, paths, "forward")
    door.file("cut/2.json", {"session_id": "s1", "messages": turn("And?", "issue_refund")})
    said = door.run("import", paths[1], "--suite", SUITE, "--candidate", V8, "--episode-map",
                    door.root / "map.json")  # fmt: skip
    assert said.code == 20, said
    [found] = told(door)
    assert (found[2], found[3], found[4]) == (1, 0, 1)


def test_scoring_again_keeps_the_verdict_of_the_whole(door: Door) -> None:
    paths = files(door, [GOOD[:5], GOOD[5:]])
    taken(door, paths, "backward")
    before = told(door)
    door.ok("score")
    assert told(door) == before
    door.healthy()


@pytest.mark.parametrize("split", [True, False])
def test_a_merge_of_parts(
    door: Door, whole: Any, tmp_path: Path, empty_template: Path, split: bool
) -> None:
    """Both parts there, or one here and one there: the same attempt."""
    there = copied(empty_template, tmp_path / "there")
    theirs = files(there, [BAD[:5], BAD[5:]])
    mine = files(door, [BAD[:5], BAD[5:]])
    taken(there, theirs[1:] if split else theirs, "forward")
    taken(door, mine[:1], "forward")
    door.ok("merge", there.store)
    assert told(door) == whole(BAD)
    door.healthy()
    door.ok("merge", there.store)
    assert told(door) == whole(BAD)


CUTS = {
    "mid": [GOOD[:2], GOOD[2:]],
    "history": [GOOD[:4], GOOD],
    "overlap": [GOOD[:5], GOOD[3:]],
    "conversation": [GOOD[:4], GOOD[4:]],
}


@pytest.mark.parametrize("how", ["forward", "backward", "folder"])
@pytest.mark.parametrize("cut", CUTS)
def test_a_probe_has_one_attempt_too(door: Door, cut: str, how: str) -> None:
    name = "conversation_id" if cut == "conversation" else "session_id"
    paths = [
        door.file(f"cut/{n}.json", {name: "s1", "model": "m", "success": True, "messages": part})
        for n, part in enumerate(CUTS[cut])
    ]
    calls = {"forward": [[p] for p in paths], "backward": [[p] for p in reversed(paths)],
             "folder": [[paths[0].parent]]}[how]  # fmt: skip
    for some in calls:
        door.ok("import", *some)
    rows = door.rows("SELECT candidate_id, episode_id, attempt, passed, events, steps FROM traces")
    assert rows == [("m", "s1", 1, 1, 10, 3)]
    door.healthy()


def test_a_line_for_each_message_of_two_sessions_in_turn(door: Door) -> None:
    """One log that two conversations share: each is an attempt, with all of its acts."""
    other = [*turn("Refund me.", "lookup_order", say="Wait."),
             *turn("To the new card.", "issue_refund", first=2)]  # fmt: skip
    rows = [
        {"conversation_id": name, "model": "m", "messages": [message]}
        for pair in zip(GOOD[:8], other, strict=True)
        for name, message in zip("xy", pair, strict=True)
    ]
    assert door.take("log.jsonl", rows).code == 0
    assert door.rows("SELECT episode_id, attempt, events FROM traces ORDER BY 1") == [
        ("x", 1, 8), ("y", 1, 8),
    ]  # fmt: skip
    assert door.one("SELECT count(*) FROM findings WHERE code LIKE 'unread:%'") == 0
    door.healthy()
