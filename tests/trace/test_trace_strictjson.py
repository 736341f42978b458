"""Strict JSON: everything a lenient reader loses is kept or refused, with the place."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.trace.strictjson import (
    MAX_DEPTH,
    NotJson,
    RepeatedMembers,
    has_repeats,
    may_overflow,
    members,
    parse,
)


@pytest.mark.parametrize(
    ("raw", "reason", "offset"),
    [
        (b"", "empty", 0),
        (b" \n", "empty", 0),
        (b"\xef\xbb\xbf{}", "bom", 0),
        (b'{"a": "\xff"}', "utf8", 7),
        (b'"\xed\xa0\x80"', "utf8", 1),
        (b'{"\xc3\xa9": }', "syntax", 7),
        (b'{"a": 1}}', "syntax", 8),
        (b'{"a": "\x01"}', "syntax", 7),
        (b"{'a': 1}", "syntax", 1),
        (b'"\\"', "syntax", 0),
        (b'["\xc3\xa9", "\\ud800"]', "lone_surrogate", 8),
        (b'"\\udc00\\ud800"', "lone_surrogate", 1),
        (b'"\\\\\\ud83dx"', "lone_surrogate", 3),
        (b"[" * (MAX_DEPTH + 1), "too_deep", MAX_DEPTH),
        (b'{"a":' * 200, "too_deep", MAX_DEPTH * 5),
        (b"[" * 1_000_000, "too_deep", MAX_DEPTH),
    ],
)
def test_refused_with_reason_and_byte_offset(raw: bytes, reason: str, offset: int) -> None:
    with pytest.raises(NotJson) as refused:
        parse(raw)
    assert (refused.value.reason, refused.value.offset) == (reason, offset)
    assert f"byte {offset}" in str(refused.value)


@pytest.mark.parametrize(
    "raw",
    [
        b'"\\ud83d\\ude00"',
        b'"\\\\ud800"',
        b'"' + b"[" * 500 + b'"',
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b"[" + b"[],{}," * 100 + b"0]",
    ],
)
def test_accepted(raw: bytes) -> None:
    assert parse(raw) == json.loads(raw)


def test_repeated_members_are_all_kept() -> None:
    value = parse(b'{"a": 1, "b": {"x": 1, "x": 2}, "a": 2, "a": 3}')
    assert isinstance(value, RepeatedMembers)
    assert value == {"a": 3, "b": {"x": 2}}
    assert list(members(value)) == [("a", 1), ("a", 2), ("a", 3), ("b", {"x": 2})]
    assert list(members(value["b"])) == [("x", 1), ("x", 2)]
    assert has_repeats([{"c": value["b"]}])
    assert not has_repeats(parse(b'[{"a": 1}, {"a": 1}]'))


@pytest.mark.parametrize(
    "number",
    ["NaN", "Infinity", "-Infinity", "1e400", "-1E+999", "9" * 400, "9" * 6000, "1" * 300 + "e99"],
)
def test_numbers_beyond_a_double_stay_as_floats_that_are_not_finite(number: str) -> None:
    raw = f'{{"a": {number}}}'.encode()
    assert not math.isfinite(parse(raw)["a"])
    assert may_overflow(raw)


def test_large_but_finite_numbers() -> None:
    assert parse(b"[" + b"9" * 308 + b", 1e308, 1e-999]") == [int("9" * 308), 1e308, 0.0]


def offset_of_refusal(raw: bytes) -> int | None:
    try:
        parse(raw)
    except NotJson as error:
        return error.offset
    return None


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_a_typed_error(raw: bytes) -> None:
    offset = offset_of_refusal(raw)
    assert offset is None or 0 <= offset <= len(raw)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.booleans())
def test_whatever_json_writes_is_read_back(value: object, ascii_only: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    if math.inf not in _floats(value) and -math.inf not in _floats(value):
        assert parse(raw) == value


def _floats(value: object) -> list[float]:
    if isinstance(value, dict):
        return [x for inner in value.values() for x in _floats(inner)]
    if isinstance(value, list):
        return [x for inner in value for x in _floats(inner)]
    return [value] if isinstance(value, float) else []
