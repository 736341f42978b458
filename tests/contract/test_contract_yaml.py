"""YAML in drafts: one meaning per file, or refused with its place."""

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.suite import values
from reviewer.suite.drafted import in_json, json_of
from reviewer.suite.errors import ContractError
from reviewer.suite.strict_json import canonical_bytes, loads
from reviewer.suite.yaml_text import MAX_BYTES, as_json

yaml = pytest.importorskip("yaml")


def read(text: str | bytes) -> Any:
    data = text.encode() if isinstance(text, str) else text
    return loads(as_json(data, "e.yaml"), "e.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: -2.5e3\nc: true\nd: null", {"a": 1, "b": -2500.0, "c": True, "d": None}),
        ("# why\na: b # c\n", {"a": "b"}),
        ("---\n- a\n- [b, {c: 'no'}]\n...\n", ["a", ["b", {"c": "no"}]]),
        ("a: |\n  x\n   y\n\n", {"a": "x\n y\n"}),
        ("a: |-\n  x\n\n", {"a": "x"}),
        ("a: |+\n  x\n\n", {"a": "x\n\n"}),
        ("a: >\n  x\n  y\n\n  z\n", {"a": "x y\nz\n"}),
        ("a: '017'\n\"2\": \"\\ud83d\\ude00\"", {"a": "017", "2": "\U0001f600"}),
        ("a: 3 apples, v1.2 and a-b", {"a": "3 apples, v1.2 and a-b"}),
        ("{\n\t\"a\": [1]\n}", {"a": [1]}),
    ],
)  # fmt: skip
def test_what_has_one_meaning_is_read(text: str, value: Any) -> None:
    assert read(text) == value


AMBIGUOUS = (
    *("yes", "No", "ON", "off", "y", "N", "Null", "TRUE", "~", "=", "<<", ".inf", "-.INF", ".nan"),
    *("017", "0o17", "0x1F", "0b1", "1_000", "1:30", "190:20:30", ".5", "5.", "+1", "1,000"),
    *("2001-12-14", "2001-12-14T21:59:43Z", "10.0.0.1", "12e3x", "-0x1", "1.e5"),
    "2001-12-14 21:59:43",
)


@pytest.mark.parametrize("token", AMBIGUOUS)
def test_what_readers_take_for_several_values_is_refused(token: str) -> None:
    for text in (f"x: 1\nk: {token}\n", f"x: 1\n{token}: k\n", f"x: 1\nk: [{token}, a]\n"):
        with pytest.raises(ContractError, match=r"line 2 column \d+: "):
            read(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("%YAML 1.1\n---\na: b", "line 1 column 1: a directive"),
        ("%FOO\n---\na: b", "line 1 column 1: a directive"),
        ("a: &x 1", "line 1 column 4: an anchor"),
        ("a: *x", "line 1 column 4: an alias"),
        ("a: !!str 1", "line 1 column 4: a tag"),
        ("a: !mine {}", "line 1 column 4: a tag"),
        ("a: 1\nb:\n", "line 2 column 3: no value"),
        ("a: 1\n---\nb: 2", "line 2 column 1: a second document"),
        ("a: 1\nb: {c: 1, c: 2}", "line 2 column 11: member `c` twice"),
        ("1: a", "line 1 column 1: the key `1` is not text"),
        ("? [a]\n: b", "line 1 column 3: a key that is not text"),
        ("a:\tb", "line 1 column 3: not YAML"),
        ("a:\n\tb: 1", "not YAML"),
        ("a: b\n  c", "line 1 column 4: text over several lines"),
        ("a: 'b\n  c'", "line 1 column 4: text over several lines"),
        ("\ufeffa: b", "line 1 column 1: U.FEFF"),
        ("a: b\x85c", "line 1 column 5: U.0085"),
        ("a: b\u2028c", "line 1 column 5: U.2028"),
        ("a: \x00", "line 1 column 4: U.0000"),
        ('a: "\\ud83d"', "half of a surrogate pair"),
        ('a: "\\UFFFFFFFF"', "not YAML"),
        ("a: 9007199254740993", "integer beyond"),
        ("a: 1e999", "too large"),
        ("[" * 70 + "]" * 70, "nested deeper than 64"),
        ("- " * 70 + "a", "nested deeper than 64"),
        ("# nothing\n", "is empty"),
    ],
)
def test_what_json_does_not_have_is_refused(text: str, why: str) -> None:
    with pytest.raises(ContractError, match=why):
        read(text)


def test_bytes_that_are_no_text_and_too_many_of_them_are_refused() -> None:
    for data in (b"a: \xff", b"a: \xed\xa0\x80", b"a" * (MAX_BYTES + 1)):
        with pytest.raises(ContractError):
            read(data)


WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


def _quoted(value: Any, flow: bool, at: int = 0) -> str:
    """YAML of a value, every text quoted, in flow style or in blocks."""
    pad = "  " * at
    if isinstance(value, dict) and value and not flow:
        return "".join(
            f"\n{pad}{json.dumps(k)}: {_quoted(v, flow, at + 1)}" for k, v in value.items()
        )
    if isinstance(value, list) and value and not flow:
        return "".join(f"\n{pad}- {_quoted(v, flow, at + 1)}" for v in value)
    return json.dumps(value)


@given(VALUES, st.booleans())
def test_any_json_value_written_in_quotes_reads_back_equal(value: Any, flow: bool) -> None:
    text = f"# so that it is no JSON\n{_quoted(value, flow).lstrip()}"
    found = read(text)
    assert canonical_bytes(found) == canonical_bytes(value)
    assert read(json.dumps(value)) == value


PIECES = st.lists(
    st.sampled_from(
        ["a", "b: ", "- ", "\n", "\n  ", " ", ": ", "'", '"', "|", ">", "[", "]", "{", "}", ", ",
         "#", "&x", "*x", "!", "%", "---\n", "0", "1", ".", "e", "-", "no", "~", "\\", "\t", "?",
         "null", "true", "\r", "<<", "=", "\x85", "_"],
    ),
    max_size=14,
)  # fmt: skip


@given(PIECES)
def test_what_is_read_is_what_another_reader_reads(pieces: list[str]) -> None:
    """Where a text is taken, PyYAML's own idea of its scalars (YAML 1.1) is the same value."""
    text = "".join(pieces)
    try:
        found = read(text)
    except ContractError:
        return
    with suppress(ContractError):
        assert loads(text.encode()) == found, "JSON is read as JSON"
        return
    assert _alike(found, yaml.safe_load(text)), (found, text)


def _alike(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_alike(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_alike, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, str):  # 1e5 is text in YAML 1.1
        return math.isclose(ours, float(theirs))
    return bool(type(ours) is type(theirs) and ours == theirs)


def test_a_file_that_is_there_in_both_forms_is_refused_by_both_names() -> None:
    files = {"episodes/a.json": b"{}", "episodes/a.yaml": b"b: 1", "toolset.yaml": b"x: no"}
    with pytest.raises(ContractError) as error:
        in_json(files, "s")
    told = str(error.value)
    assert "s/episodes/a.yaml" in told
    assert "episodes/a.json" in told
    assert "s/toolset.yaml: $: line 1 column 4" in told


def test_the_files_that_may_be_yaml_are_those_of_a_suite() -> None:
    found = [json_of(f"{one}.yaml") for one in ("toolset", "rubric", "episodes/a", "suite", "x/a")]
    assert found == [
        values.TOOLSET_FILE,
        values.RUBRIC_FILE,
        f"{values.EPISODES}a.json",
        None,
        None,
    ]
