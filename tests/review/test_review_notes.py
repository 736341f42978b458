"""Notes as lines: the same content has the same name, and nothing else has it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.review.records import MOST_TEXT, NOTES, Note
from reviewer.suite.errors import ContractError

PRINTED = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1)
NAMES = st.from_regex(r"[a-z]{1,8}( [a-z]{1,8})?", fullmatch=True)
TIMES = st.datetimes().map(lambda at: at.isoformat(timespec="microseconds") + "Z")


@st.composite
def notes(draw: st.DrawFn) -> Note:
    suite, candidate = draw(NAMES), draw(NAMES)
    kind = draw(st.sampled_from(("bookmark", "note")))
    removed = draw(st.booleans())
    silent = removed or kind == "bookmark"
    return Note(
        suite_id=suite,
        candidate_id=candidate,
        trace_id=f"{suite}/{candidate}/{draw(PRINTED)}/1",
        trace_sha256=draw(st.from_regex(r"[0-9a-f]{64}", fullmatch=True)),
        seq=draw(st.integers(1, 10**9)),
        kind=kind,
        text="" if silent else draw(PRINTED),
        removed=removed,
        reviewer=draw(NAMES),
        at=draw(TIMES),
    )


@given(notes())
def test_a_note_survives_its_line(note: Note) -> None:
    sealed = NOTES.seal(note)
    assert NOTES.read(NOTES.line(sealed), "here") == sealed
    assert NOTES.read(NOTES.content(sealed), "here") == sealed, "the uid may be left out"


@given(notes(), notes())
def test_two_acts_have_one_uid_only_when_they_say_the_same(a: Note, b: Note) -> None:
    assert (NOTES.seal(a).uid == NOTES.seal(b).uid) == (a == b)


@given(st.lists(notes(), max_size=4), st.lists(notes(), max_size=4))
def test_joining_is_a_union_in_any_order(a: list[Note], b: list[Note]) -> None:
    mine, yours = [NOTES.seal(n) for n in a], [NOTES.seal(n) for n in b]
    joined = NOTES.merge(mine, yours)
    assert joined == NOTES.merge(yours, mine) == NOTES.merge(joined, yours)
    assert {n.uid for n in joined} == {n.uid for n in (*mine, *yours)}


GOOD: dict[str, Any] = {
    "schema": "reviewer/note@1",
    "suite_id": "s",
    "candidate_id": "c",
    "trace_id": "s/c/e/1",
    "trace_sha256": "0" * 64,
    "seq": 1,
    "kind": "note",
    "text": "why",
    "removed": False,
    "reviewer": "dana",
    "at": "2026-01-31T09:02:31.000000Z",
}


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"seq": 0}, "$.seq"),
        ({"seq": True}, "$.seq"),
        ({"kind": "remark"}, "$.kind"),
        ({"text": "x" * (MOST_TEXT + 1)}, "$.text"),
        ({"text": ""}, "$.text"),
        ({"removed": True}, "$.text"),
        ({"kind": "bookmark"}, "$.text"),
        ({"trace_id": "other/c/e/1"}, "$.trace_id"),
        ({"at": "2026-01-31T09:02:31Z"}, "$.at"),
        ({"at": "2026-13-31T09:02:31.000000Z"}, "$.at"),
        ({"reviewer": "da\x1bna"}, "$.reviewer"),
        ({"traces": []}, "$.traces"),
        ({"uid": "1" * 64}, "$.uid"),
    ],
)
def test_what_is_no_note_is_refused_with_its_place(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(ContractError) as told:
        NOTES.read(json.dumps({**GOOD, **changes}).encode(), "n.jsonl:3")
    assert where in [problem.path for problem in told.value.problems]
