import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reviewer.suite.errors import ContractError, Problem, json_path, shown
from reviewer.suite.strict_json import MAX_INT, load_object, loads

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_INT, MAX_INT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
# Bytes that look like JSON reach further into the reader than noise does.
TOKENS = (
    *(b"{", b"}", b"[", b"]", b":", b",", b'"', b'"a"', b"1", b"1e400", b"NaN", b"-Infinity"),
    *(b"\\", b'"\\ud800"', b"9007199254740993", b" ", b"\xff", b"\xef\xbb\xbf", b"null"),
)
JSONISH = st.lists(st.sampled_from(TOKENS), max_size=40).map(b"".join)


@given(st.binary(max_size=200) | JSONISH)
@example(b"[" * 100_000)
@example(b'{"a":' * 5_000)
@example(b'"' + b'\\"' * 50_000)
@example(b"[" * 70 + b'"' + b"\\" * 99)
@example(b"1" * 5_000)
def test_any_bytes_give_a_value_or_a_contract_error(data: bytes) -> None:
    try:
        value = loads(data, "f.json")
    except ContractError as error:
        refusals = [str(problem) for problem in error.problems]
    else:
        assert json.loads(data) == value
        return
    assert refusals
    assert all(line.startswith("f.json: $") for line in refusals)


@given(VALUES)
def test_what_json_writes_is_read_back(value: object) -> None:
    assert loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) == value


@pytest.mark.parametrize(
    ("text", "path", "word"),
    [
        ('{"tools": {"allowed": [], "allowed": ["x"]}}', "$.tools.allowed", "twice"),
        ('{"a": [1, {"b c": 1, "b c": 2}]}', '$.a[1]["b c"]', "twice"),
        ('{"a": {"x": 1, "x": 2}, "a": 3}', "$.a", "twice"),
        (r'{"password": 1, "p\u0061ssword": 2}', "$.password", "twice"),
        ('{"budget": {"max_cost_usd": NaN}}', "$.budget.max_cost_usd", "NaN"),
        ("[0, -Infinity]", "$[1]", "Infinity"),
        ('{"cost": 1e400}', "$.cost", "infinity"),
        ('{"at": 9007199254740992}', "$.at", "2^53-1"),
        ('{"at": -9007199254740992}', "$.at", "2^53-1"),
        ('{"at": ' + "9" * 6000 + "}", "$.at", "2^53-1"),
        (r'{"t": "\ud83d"}', "$.t", "surrogate"),
        (r'{"\udc00": 1}', '$["\\udc00"]', "surrogate"),
        ('{"a": 1,}', "$", "line 1 column"),
        ("", "$", "not JSON"),
        ("{} {}", "$", "not JSON"),
        ("[" * 65 + "]" * 65, "$", "64 levels"),
        ('"a\tb"', "$", "not JSON"),
    ],
)
def test_refusals_name_the_place(text: str, path: str, word: str) -> None:
    with pytest.raises(ContractError) as caught:
        loads(text.encode(), "suite.json")
    assert caught.value.path == path
    assert word in caught.value.reason
    assert str(caught.value).startswith(f"suite.json: {path}: ")


def test_every_problem_of_a_file_is_named_in_its_order() -> None:
    with pytest.raises(ContractError) as caught:
        loads(b'{"a": NaN, "b": {"c": 1, "c": 1}, "d": [1e999]}')
    assert [p.path for p in caught.value.problems] == ["$.a", "$.b.c", "$.d[0]"]


def test_bytes_that_are_no_plain_utf8_are_refused() -> None:
    for data, word in ((b"\xef\xbb\xbf{}", "byte order mark"), (b'"\xff"', "not UTF-8: byte 1")):
        with pytest.raises(ContractError, match=word):
            loads(data)


def test_limits_are_inclusive() -> None:
    assert loads(b"[]", max_bytes=2) == []
    assert loads(b"[" * 64 + b"]" * 64)
    assert loads(str(MAX_INT).encode()) == MAX_INT
    assert loads(str(-MAX_INT).encode()) == -MAX_INT
    assert loads(b"1.7976931348623157e308") == 1.7976931348623157e308
    with pytest.raises(ContractError, match="at most 2 are read"):
        loads(b"[1]", max_bytes=2)


def test_brackets_inside_strings_are_not_nesting() -> None:
    text = "[" * 100 + '\\"' + "{" * 100
    assert loads(json.dumps([text]).encode()) == [text]


def test_a_whole_surrogate_pair_is_text() -> None:
    assert loads(rb'"\ud83d\ude00"') == "\U0001f600"


def test_an_object_is_asked_for_by_name() -> None:
    with pytest.raises(ContractError, match="must be a JSON object, found a list"):
        load_object(b"[]")
    assert load_object(b'{"a": 1}') == {"a": 1}


@given(st.text(), st.text())
def test_messages_never_carry_control_characters(file: str, name: str) -> None:
    text = str(Problem(file, json_path([name, 0]), shown(name)))
    assert all(c.isprintable() for c in text)


def test_numbers_keep_their_type() -> None:
    assert type(loads(b"6")) is int
    assert type(loads(b"6.0")) is float
    assert math.copysign(1, loads(b"-0.0")) == -1
