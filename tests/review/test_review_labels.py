"""Labels as files: strict at the border, sealed by content, joined without loss or doubling."""

import json
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from review_builders import at, digest, draft, label, messages, pairs, rubric

from reviewer.review.labels import (
    Done,
    Label,
    LabelKey,
    counting,
    done,
    label_file,
    label_line,
    latest,
    merge,
    read_labels,
    rubric_problems,
    seal,
    stored_label,
    uid_of,
)
from reviewer.review.lines import MAX_PROBLEMS
from reviewer.suite.border import json_schema
from reviewer.suite.errors import ContractError
from reviewer.suite.strict_json import canonical_bytes, sha256_hex

PAIRS = pairs(3)
(MESSAGE,) = messages(1)
NAMES = st.sampled_from(["dana", "kim", "Łukasz"])
NOTE = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)


@st.composite
def labels(draw: st.DrawFn) -> Label:
    context: dict[str, Any] = {
        "reviewer": draw(NAMES),
        "role": draw(st.sampled_from(["rater", "adjudicator"])),
        "at": draw(st.sampled_from([at(0), at(5), "2026-02-01T00:00:00.5Z"])),
        "note": draw(NOTE),
        "flag": draw(st.booleans()),
        "duration_ms": draw(st.none() | st.integers(0, 10**6)),
        "evidence_opened": draw(st.sampled_from([UNSET, True, False])),
        "pi": draw(st.none() | st.sampled_from([0.05, 1.0])),
        "reasons": draw(st.sampled_from([(), ("random",), ("safety", "random")])),
        "traces": draw(st.sampled_from([(), ("s/a/e/1",), ("s/a/e/1", "s/b/e/2")])),
    }
    if draw(st.booleans()):
        level = draw(st.integers(1, 2))
        return label(MESSAGE, **context, marks={"accurate": level})
    answer = draw(st.sampled_from(["left", "right", "tie", "both_bad"]))
    said = {"answer": answer, "decided": draw(st.sampled_from([{}, {"accurate": "left"}]))}
    silent = {"skipped": draw(st.sampled_from(["unreadable", "another language"]))}
    chosen = draw(st.sampled_from(PAIRS))
    return label(
        chosen,
        **context,
        showing=draw(st.integers(1, 2)),
        **(said if draw(st.booleans()) else silent),
    )


MANY = st.lists(labels(), max_size=6)


def line(changes: dict[str, Any], base: Label | None = None) -> bytes:
    """A line as someone may have written it: members replaced, or left out where they are `...`."""
    raw = {**json.loads(label_line(base or label(PAIRS[0]))), "uid": None, **changes}
    return json.dumps({k: v for k, v in raw.items() if v is not ...}).encode()


def refused(data: bytes) -> list[str]:
    with pytest.raises(ContractError) as caught:
        read_labels(data, "kim.jsonl")
    return [str(problem) for problem in caught.value.problems]


@given(MANY)
def test_a_file_is_read_as_it_was_written(made: list[Label]) -> None:
    data = label_file(made)
    assert read_labels(data) == merge(made, ())
    assert label_file(read_labels(data)) == data
    for one in data.splitlines():
        assert stored_label(one) in read_labels(data)


def test_the_uid_can_be_computed_by_anyone() -> None:
    made = label(PAIRS[0], traces=("s/a/e/1",))
    content = json.loads(label_line(made))
    assert content.pop("uid") == made.uid
    assert content.pop("traces") == ["s/a/e/1"]
    assert content["schema"] == "reviewer/label@1"
    assert sha256_hex(canonical_bytes(content)) == made.uid == uid_of(made)
    assert label_line(made) == canonical_bytes(json.loads(label_line(made))) + b"\n"


def test_a_uid_that_is_absent_is_computed() -> None:
    made = label(PAIRS[0])
    assert read_labels(line({"uid": ...})) == read_labels(line({})) == (made,)


def test_members_left_out_are_those_of_an_empty_label() -> None:
    plain = draft(PAIRS[0], answer="tie", traces=())
    needed = {
        "schema", "item", "kind", "suite_id", "suite_digest", "episode_id", "left", "right",
        "answer", "reviewer", "rubric_id", "rubric_version", "rubric_digest", "at",
    }  # fmt: skip
    raw = {k: v for k, v in json.loads(label_line(plain)).items() if k in needed}
    assert read_labels(json.dumps(raw).encode()) == (seal(plain),)
    for name in needed - {"left", "right", "answer"}:
        short = json.dumps({k: v for k, v in raw.items() if k != name}).encode()
        (fault,) = refused(short)
        values = {"schema": "'reviewer/label@1'", "kind": "'pair', 'message' or 'attempt'"}
        choices = f": should be {values[name]}" if name in values else ""
        assert fault == f"kim.jsonl:1: $.{name}: is missing{choices}"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"anwser": "left"}, "$.anwser: unknown key `anwser` (did you mean `answer`?)"),
    ({"rubricId": "r"}, "$.rubricId: unknown key `rubricId` (did you mean `rubric_id`?)"),
    ({"schema": "reviewer/label@2"}, "$.schema: should be 'reviewer/label@1'"),
    ({"answer": "both"}, "$.answer: should be 'left', 'right', 'tie' or 'both_bad'"),
    ({"showing": True}, "$.showing: should be a valid integer"),
    ({"showing": 3}, "$.showing: should be less than or equal to 2"),
    ({"duration_ms": -1}, "$.duration_ms: should be greater than or equal to 0"),
    ({"evidence_opened": None}, "$.evidence_opened: should be a valid boolean"),
    ({"duration_ms": 1.5}, "$.duration_ms: should be a valid integer"),
    ({"pi": 0}, "$.pi: should be greater than 0"),
    ({"pi": 1.5}, "$.pi: should be less than or equal to 1"),
    ({"flag": 1}, "$.flag: should be a valid boolean"),
    ({"item": "ABC"}, "$.item: string should match pattern"),
    ({"reviewer": "da\x1b[31mna"}, "$.reviewer: a name may not contain control characters"),
    ({"reviewer": ""}, "$.reviewer: a name may not be empty"),
    ({"reasons": ["random", "random"]}, "$.reasons: lists `random` twice"),
    ({"reasons": ["whim"]}, "$.reasons[0]: should be 'safety'"),
    ({"at": "2026-02-01 09:00:00Z"}, "$.at: must be a time in UTC such as"),
    ({"at": "2026-02-01T09:00:00+01:00"}, "$.at: must be a time in UTC such as"),
    ({"at": "2026-02-30T09:00:00Z"}, "$.at: is no time of the calendar"),
    ({"answer": None}, "$.answer: is missing: give an answer, or the reason to skip"),
    ({"skipped": "late"}, "$: is skipped or withdrawn, and answers all the same"),
    ({"withdrawn": True, "answer": None}, "$.revises: is missing: withdrawn takes back a label"),
    (
        {"withdrawn": True, "answer": None, "revises": "0" * 64, "skipped": "x"},
        "$.skipped: cannot be combined with withdrawn",
    ),
    ({"marks": {"accurate": 1}}, "$.marks: belong to a label of kind message"),
    ({"message": "0" * 64}, "$.message: belongs to a label of kind message"),
    ({"left": None}, "$.left: is missing: a pair has two sides"),
    ({"right": None}, "$.right: is missing: a pair has two sides"),
    ({"right": "0" * 64}, "$.item: is not the item of these messages, which is "),
    ({"episode_id": "e9"}, "$.item: is not the item of these messages, which is "),
    ({"suite_digest": "0" * 64}, "$.item: is not the item of these messages, which is "),
]


@pytest.mark.parametrize(("changes", "problem"), WRONG)
def test_a_line_that_is_no_label_is_refused_with_its_place(
    changes: dict[str, Any], problem: str
) -> None:
    good = label_line(label(PAIRS[1]))
    (found,) = refused(good + b"\n" + line(changes) + b"\r\n")
    assert found.startswith(f"kim.jsonl:3: {problem}")


def test_a_message_is_not_answered_like_a_pair() -> None:
    base = label(MESSAGE)
    for changes, where in (
        ({"answer": "left"}, "$.answer"),
        ({"decided": {"accurate": "left"}}, "$.decided"),
        ({"left": "0" * 64}, "$.left"),
        ({"showing": 2}, "$.showing"),
        ({"marks": {}}, "$.marks"),
        ({"marks": {"accurate": 0}}, "$.marks.accurate"),
        ({"message": None}, "$.message"),
    ):
        (found,) = refused(line(changes, base))
        assert found.startswith(f"kim.jsonl:1: {where}: "), found


def test_the_left_message_again_is_no_pair() -> None:
    side = label(PAIRS[0]).left
    (found,) = refused(line({"right": side}))
    assert "$.right: is the left message again" in found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"pi": NaN', "$.pi: NaN is not a JSON number"),
        ('"pi": 1e999', "$.pi: number too large"),
        ('"flag": false, "flag": true', "$.flag: member `flag` twice"),
        ('"note": "\\ud800"', "$.note: half of a surrogate pair"),
    ],
)
def test_what_two_readers_would_read_differently_is_refused(text: str, problem: str) -> None:
    data = line({"pi": ..., "flag": ..., "note": ...})[:-1] + f", {text}}}".encode()
    assert refused(data)[0].startswith(f"kim.jsonl:1: {problem}")


@pytest.mark.parametrize("data", [b"[]", b"\xff", b"{", b"null", b"\xef\xbb\xbf{}", b"[" * 99])
def test_lines_that_are_no_objects_are_refused(data: bytes) -> None:
    assert refused(label_line(label(PAIRS[0])) + data)[0].startswith("kim.jsonl:2: $: ")


def test_every_bad_line_is_named_but_not_without_end() -> None:
    assert [p.split(" ")[0] for p in refused(b"{}\n{\n\n{}")][-1] == "kim.jsonl:4:"
    found = refused(b"{\n" * (MAX_PROBLEMS + 7))
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1] == "kim.jsonl: $: and 7 further problems"


def test_a_line_too_long_is_not_parsed() -> None:
    assert "at most 262,144 are read" in refused(line({"note": "x" * 300_000}))[0]
    assert "at most 4000 characters" in refused(line({"note": "x" * 4_001}))[0]


def test_a_forged_uid_is_refused_wherever_it_comes_in() -> None:
    made = label(PAIRS[0], answer="left")
    turned = line({"uid": made.uid, "answer": "right"})
    (found,) = refused(turned)
    assert found.startswith(f"kim.jsonl:1: $.uid: `{made.uid}` is not the uid of this content")
    forged = msgspec.structs.replace(made, answer="right")
    for a, b in (([forged], []), ([], [forged]), ([made], [forged]), ([forged], [made])):
        with pytest.raises(ContractError, match="is not the uid of this content"):
            merge(a, b)


def test_a_label_that_breaks_a_rule_is_not_sealed() -> None:
    with pytest.raises(ContractError, match=r"\$\.answer: is missing"):
        seal(draft(PAIRS[0]))
    with pytest.raises(ContractError, match=r"\$\.item: is not the item"):
        seal(draft(PAIRS[0], answer="tie", item="0" * 64))
    with pytest.raises(ContractError, match=r"label: \$\.note: string should have at most 4000"):
        seal(draft(PAIRS[0], answer="tie", note="x" * 5000))
    with pytest.raises(ContractError, match=r"label: \$\.reviewer: a name may not"):
        seal(draft(PAIRS[0], answer="tie", reviewer="da\nna"))


def test_a_stored_body_that_is_no_label_is_an_error() -> None:
    for body in (b"{", b"[]", b'{"item": 1}', b"\xff"):
        with pytest.raises(ContractError, match="stored label"):
            stored_label(body)


@given(MANY, MANY, MANY)
def test_merging_is_a_union(a: list[Label], b: list[Label], c: list[Label]) -> None:
    assert merge(a, b) == merge(b, a)
    assert merge(merge(a, b), c) == merge(a, merge(b, c))
    assert merge(a, a) == merge(a, ()) == merge(merge(a, ()), a)
    both = merge(a, b)
    assert {x.uid for x in both} == {x.uid for x in (*a, *b)}
    assert len({x.uid for x in both}) == len(both)
    assert latest(both) == latest(merge(reversed(b), a))


def test_two_stores_built_from_other_traces_keep_both_contexts() -> None:
    here, there = label(PAIRS[0], traces=("s/a/e/1",)), label(PAIRS[0], traces=("s/a/e/2",))
    assert here.uid == there.uid
    (joined,) = merge([here], [there])
    assert joined.traces == ("s/a/e/1", "s/a/e/2")


def test_the_end_of_the_chain_counts_whatever_the_clocks_say() -> None:
    first = label(PAIRS[0], answer="left", at=at(50))
    second = label(PAIRS[0], answer="right", at=at(10), revises=first.uid)
    third = label(PAIRS[0], answer="tie", at=at(5), revises=second.uid)
    for some in permutations([first, second, third]):
        assert latest(some) == {third.key: third}
    key = LabelKey(item=PAIRS[0].item, showing=1, reviewer="dana", role="rater")
    assert latest([first, second])[key] == second


def test_of_two_ends_the_younger_counts() -> None:
    first = label(PAIRS[0])
    early = label(PAIRS[0], answer="tie", at="2026-02-01T00:00:10Z", revises=first.uid)
    late = label(PAIRS[0], answer="tie", at="2026-02-01T00:00:10.25Z", revises=first.uid)
    assert list(latest([late, first, early]).values()) == [late]
    for first, second in (("10.25Z", "10.3Z"), ("10Z", "10.1Z")):
        two = [label(PAIRS[1], at=f"2026-02-01T00:00:{s}") for s in (second, first)]
        assert list(latest(two).values()) == two[:1]
    written = [label(PAIRS[1], at=f"2026-02-01T00:00:10.{s}Z") for s in ("5", "50", "500")]
    assert list(latest(written).values()) == [max(written, key=lambda x: x.uid)]
    same = [label(PAIRS[0], note=note) for note in "ab"]
    assert list(latest(same).values()) == [max(same, key=lambda x: x.uid)]


def test_each_showing_reviewer_and_role_has_a_label_that_counts() -> None:
    made = [
        label(PAIRS[0]),
        label(PAIRS[0], showing=2),
        label(PAIRS[0], reviewer="kim"),
        label(PAIRS[0], role="adjudicator"),
        label(PAIRS[1]),
    ]
    assert sorted(latest(made).values(), key=id) == sorted(made, key=id)


def test_what_is_taken_back_or_skipped_does_not_count() -> None:
    first = label(PAIRS[0])
    undone = label(PAIRS[0], withdrawn=True, revises=first.uid, at=at(1))
    skipped = label(PAIRS[1], skipped="unreadable", at=at(2))
    again = label(PAIRS[0], answer="tie", revises=undone.uid, at=at(3))
    assert counting([first, undone, skipped]) == ()
    assert done([first, undone, skipped], "dana") == (skipped,)
    assert counting([first, undone, skipped, again]) == (again,)
    assert done([first, undone, skipped, again], "dana") == (skipped, again)
    assert done([first], "kim") == done([first], "dana", "adjudicator") == ()


def test_the_winner_is_the_message_whatever_the_order() -> None:
    one, two = label(PAIRS[0], answer="left"), label(PAIRS[0], answer="right", showing=2)
    assert one.winner == one.left == two.right == two.winner
    assert label(PAIRS[0], answer="both_bad").winner == "both_bad"
    assert label(MESSAGE).winner is None
    assert label(PAIRS[0], skipped="x").winner is None


@pytest.mark.parametrize(("scale", "most"), [("binary", 2), ("five", 5), ("levels", 3)])
def test_a_mark_is_a_level_of_its_scale(scale: str, most: int) -> None:
    for level in range(1, 10):
        found = rubric_problems(label(MESSAGE, marks={"accurate": level}), rubric(scale))
        wanted = [("$.marks.accurate", f"is {level}; the levels are 1 to {most}")]
        assert found == ([] if level <= most else wanted)


def test_a_label_must_be_one_of_the_rubric() -> None:
    strange = rubric_problems(label(MESSAGE, marks={"tone": 1}), rubric())
    assert strange == [
        ("$.marks.tone", "is no criterion of the rubric"),
        ("$.marks.accurate", "is missing"),
    ]
    decided = label(PAIRS[0], decided={"tone": "left"})
    assert rubric_problems(decided, rubric()) == [
        ("$.decided.tone", "is no criterion of the rubric")
    ]
    assert rubric_problems(label(PAIRS[0]), rubric()) == []
    criterion = msgspec.structs.replace(rubric().criteria[0], required=True)
    strict = msgspec.structs.replace(rubric(), criteria=(criterion,))
    assert rubric_problems(label(PAIRS[0]), strict) == [("$.decided.accurate", "is missing")]
    assert rubric_problems(label(PAIRS[0], skipped="x"), strict) == []
    (other,) = rubric_problems(label(PAIRS[0], rubric_version="v0"), rubric())
    assert other == ("$.rubric_version", "was made under r v0, not r v1")


def test_the_published_schema_names_what_a_line_holds() -> None:
    schema = json_schema("label", {"label": Label})
    of_attempts = {"record", "origin"}
    written = json.loads(label_line(label(PAIRS[0])))
    assert set(schema["properties"]) - of_attempts == {*written, "evidence_opened"}
    assert "evidence_opened" not in written  # an older label keeps its bytes, and its uid
    assert schema["additionalProperties"] is False
    assert digest("x") == sha256_hex(b"x")


@st.composite
def arriving(draw: st.DrawFn) -> list[Label]:
    """Labels as they come into a store: revised, taken back, by several people, clocks put back."""
    made: list[Label] = []
    for _ in range(draw(st.integers(0, 9))):
        changes: dict[str, Any] = {
            "at": at(draw(st.integers(0, 6))),
            "reviewer": draw(st.sampled_from(["dana", "kim"])),
            "role": draw(st.sampled_from(["rater", "rater", "adjudicator"])),
            "showing": draw(st.integers(1, 2)),
            "note": str(len(made)),
        }
        if made and draw(st.booleans()):
            changes["revises"] = draw(st.sampled_from(made)).uid
            changes["withdrawn"] = draw(st.booleans())
        made.append(label(PAIRS[draw(st.integers(0, 2))], **changes))
    return made


@given(arriving(), st.data())
def test_what_was_done_grows_as_if_it_were_looked_at_again(
    made: list[Label], data: st.DataObject
) -> None:
    counts = sorted(data.draw(st.lists(st.integers(0, len(made)), min_size=1)))
    kept = Done.of(tuple(made[: counts[0]]), "dana", "rater")
    for count in counts:
        kept = kept.grown(tuple(made[:count]))
        assert kept.made == done(made[:count], "dana")
    other = made[::-1][: counts[-1]]
    assert kept.grown(other).made == done(other, "dana")
