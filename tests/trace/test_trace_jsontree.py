"""A JSON value by levels: the same value as reading it whole, at any depth, from any bytes."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reviewer.trace import jsontree
from reviewer.trace.jsontree import Buffer, Members

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=24,
)


def read(raw: Buffer) -> Any:
    """The value again, a level at a time."""
    what = jsontree.kind(raw)
    if what == "text":
        return jsontree.text_in(raw)
    if what == "scalar":
        return json.loads(bytes(raw))
    found = jsontree.members(raw)
    below = [read(each) for each in found.values]
    return below if what == "array" else dict(zip(found.names, below, strict=True))


def name_in(part: str) -> str:
    """The name in one step of a pointer."""
    return part.replace("~2", "#").replace("~1", "/").replace("~0", "~")


def at(value: Any, pointer: str) -> Any:
    """The value that an RFC 6901 pointer names, by its definition."""
    for part in pointer.split("/")[1:]:
        part = name_in(part)
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_a_level_at_a_time_is_the_whole_value(value: Any, ascii_: bool, indent: int | None) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_, indent=indent).encode()
    assert read(raw) == value
    assert json.loads(jsontree.indented(raw)) == value


@given(VALUES, st.booleans())
def test_indented_is_what_python_writes(value: Any, ascii_: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_).encode()
    told = jsontree.indented(raw).encode("unicode_escape")
    assert told == json.dumps(value, indent=2, ensure_ascii=False).encode("unicode_escape")


@example({"#": 0}, "0")
@example({"a#": {"~2": "#"}}, "#")
@given(VALUES, TEXT.filter(bool))
def test_every_place_found_holds_what_was_looked_for(value: Any, wanted: str) -> None:
    raw = json.dumps(value).encode()
    for hit in jsontree.find(raw, wanted):
        before, within, after = hit.pointer.partition("#")
        found = at(value, before)
        if within:
            found = at(json.loads(found), after)
        if hit.in_name:
            found = name_in(hit.pointer.rpartition("/")[2])
        told = found if isinstance(found, str) else json.dumps(found)
        size = len(wanted)
        assert told[hit.position : hit.position + size].casefold() == wanted.casefold()


@given(VALUES, st.data())
def test_nothing_that_stands_there_is_missed(value: Any, data: st.DataObject) -> None:
    texts = [text for text in leaves(value) if text]
    if not texts:
        return
    whole = data.draw(st.sampled_from(texts))
    start = data.draw(st.integers(0, len(whole) - 1))
    wanted = whole[start : data.draw(st.integers(start + 1, len(whole)))]
    for ascii_ in (True, False):
        raw = json.dumps(value, ensure_ascii=ascii_).encode()
        assert any(True for _ in jsontree.find(raw, wanted))


def leaves(value: Any) -> list[str]:
    """Every text that is not itself JSON, and every name."""
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in (key, *leaves(each))]
    if isinstance(value, list):
        return [text for each in value for text in leaves(each)]
    plain = isinstance(value, str) and jsontree.held(value) is None
    return [value] if plain else []


def test_numbers_stand_as_they_were_written() -> None:
    raw = b'{"a":1.10,"b":1e400,"c":123456789012345678901234567890,"d":-0.0}'
    assert jsontree.indented(raw) == (
        '{\n  "a": 1.10,\n  "b": 1e400,\n  "c": 123456789012345678901234567890,\n  "d": -0.0\n}'
    )
    assert [bytes(each) for each in jsontree.members(raw).values] == [
        b"1.10", b"1e400", b"123456789012345678901234567890", b"-0.0",
    ]  # fmt: skip


def test_what_a_text_cannot_hold_bare_stays_escaped() -> None:
    raw = rb'{"a":"\u00e9\u001b\u0022\u005c\\u00e9\ud83d\ude00\n"}'
    assert jsontree.indented(raw) == '{\n  "a": "é\\u001b\\u0022\\u005c\\\\u00e9😀\\n"\n}'


@pytest.mark.parametrize(
    "raw", [b'{"a":"\\ud800","b":[1]}', b'["\\ud800",{"b":1}]', b'{"\xed\xa0\x80":{"b":1}}']
)
def test_a_lone_surrogate_hides_nothing(raw: bytes) -> None:
    assert read(raw) == json.loads(raw)


@pytest.mark.parametrize("raw", [b"", b"{", b"nonsense", b'{"a":}', b"[1,]", b'"open', b"\xff"])
def test_what_is_no_json_has_nothing_below_it(raw: bytes) -> None:
    assert jsontree.members(raw) == Members((), ())


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ('{"a": 1}', True), (" [1, 2]\n", True), ("{}", True), ("[ ]", True),
        ("{'a': 1}", False), ("[File: x]", False), ("text", False), ("{", False), ("", False),
        ('{"a": 1} and more }', False), ("3", False),
    ],
)  # fmt: skip
def test_a_text_that_is_json_is_told_from_one_that_looks_like_it(text: str, inner: bool) -> None:
    assert (jsontree.held(text) is not None) == inner


def test_the_way_to_a_node() -> None:
    assert jsontree.above("") == []
    assert jsontree.above("/a/b/c") == ["", "/a", "/a/b"]
    assert jsontree.above("/a#/b/c") == ["", "/a", "/a#/b"]
    assert jsontree.above("#/b") == [""]


def test_json_in_a_text_is_searched_by_what_it_holds() -> None:
    raw = json.dumps({"out": json.dumps({"name": "Mia Li", "n": [{"x": "mia"}]})}).encode()
    hits = list(jsontree.find(raw, "MIA"))
    assert [hit.pointer for hit in hits] == ["/out#/name", "/out#/n/0/x"]


def test_the_top_of_a_large_value_is_read_without_the_rest() -> None:
    raw = b'{"a":[' + b",".join([b'{"b":[1,2,3]}'] * 100_000) + b'],"z":1}'
    found = jsontree.members(msgspec.json.decode(raw, type=msgspec.Raw))
    assert found.names == ["a", "z"]
    assert len(jsontree.members(found.values[0]).values) == 100_000


def test_a_very_deep_value_is_no_crash() -> None:
    raw = b"[" * 100_000 + b"]" * 100_000
    found = jsontree.members(raw)
    assert len(found.values) in (0, 1)
    assert not list(jsontree.find(b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "zzz"))
    inner = json.dumps('{"a":' * 900 + '"needle"' + "}" * 900).encode()
    assert any(True for _ in jsontree.find(inner, "needle"))
