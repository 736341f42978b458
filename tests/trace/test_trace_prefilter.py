"""The byte prefilter is a superset of the exact rule: every identifier in every disguise, beside
every neighbour, in every spelling a JSON writer may choose, alone and within a string of JSON.

Random search seldom meets the one neighbour a pattern forgets, so this goes through them all.
"""

import json

import msgspec
import pytest
from trace_spelling import IDENTIFIERS, NEIGHBOURS, disguised

from reviewer.trace.prefilter import DEPTH
from reviewer.trace.redaction import Redactor

REDACTOR = Redactor()


def spellings(text: str) -> list[bytes]:
    """As a reader of these bytes would see the text itself, or an object that holds it."""
    nested = json.dumps({"n": text}, ensure_ascii=False)
    raw = [
        json.dumps(whole, ensure_ascii=ascii_only)
        for whole in (text, {"n": text}, nested, json.dumps({"n": text}))
        for ascii_only in (False, True)
    ]
    return [one.encode() for one in raw] + [one.replace("/", "\\/").encode() for one in raw]


def written(raw: bytes) -> bytes:
    """Return these bytes as our encoder writes what they say."""
    return msgspec.json.encode(msgspec.json.decode(raw))


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_no_neighbour_or_disguise_gets_an_identifier_past(identifier: str) -> None:
    """Every neighbour of every identifier, in a twelfth of its disguises."""
    _suspects(identifier, apart=12)


@pytest.mark.nightly
@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_no_neighbour_gets_any_disguise_past(identifier: str) -> None:
    _suspects(identifier, apart=1)


def _suspects(identifier: str, apart: int) -> None:
    found = 0
    for number, text in enumerate(disguised(identifier)):
        for neighbour in NEIGHBOURS[number % apart :: apart]:
            for placed in (neighbour + text, text + neighbour, f"é{neighbour}{text}{neighbour}é"):
                if not REDACTOR.findings(placed):
                    continue
                found += 1
                for raw in spellings(placed):
                    assert REDACTOR.suspect(raw), (placed, raw)
                    if b"\\/" not in raw:
                        assert REDACTOR.suspect_written(written(raw)), (placed, raw)
    assert found > len(NEIGHBOURS) / apart


@pytest.mark.parametrize(
    "name", ["email", "Customer-Name", "x_api_key", "a.b.ssn", "date of birth"]
)
@pytest.mark.parametrize(
    "value", ["Ann", '"', "\\", "[re", '[redacted]"', "\nAnn", "é", 0, False, [1], {"a": 1}]
)
def test_no_value_hides_a_sensitive_name(name: str, value: object) -> None:
    record: object = {name: value}
    for _ in range(4):
        assert REDACTOR.findings(record)
        for indent in (None, 1):
            for ascii_only in (False, True):
                raw = json.dumps(record, indent=indent, ensure_ascii=ascii_only)
                assert REDACTOR.suspect(raw.encode())
                assert REDACTOR.suspect_written(written(raw.encode()))
        record = {"body": json.dumps(record)} if len(str(record)) % 2 else [json.dumps(record)]
        if not REDACTOR.findings(record):
            break  # opened only so many times


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": {"b": 1e400}}',
        b'{"a": [-1.5E+999]}',
        b'{"a": ' + b"9" * 400 + b"}",
        b'{"episode_id": "a", "x": {"y": [1, {"z": "}"}]}, "episode_id": "b"}',
        b'{"events": [{"tool": "a"}, {"tool": "a", "arguments": {"k": ["]"]}, "tool": "b"}]}',
        b'{"events" : [ {"seq":1,"status":"ok", "seq" :2} ]}',
        b'{"events": [{"to\\u006fl": "a", "tool": "b"}]}',
        b'{"a":' * 9 + b"1" + b"}" * 9,
        b'{"a": [[], [[[[[[[[1]]]]]]]]]}',
        b'{"\xc3\xa9": 1}',
    ],
)
def test_what_the_typed_decoder_must_not_be_trusted_with(raw: bytes) -> None:
    assert REDACTOR.suspect(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": 1e99, "b": "e1234", "c": "1e400", "id": "7e123456", "n": -1.5e-400}',
        b'{"events": [{"tool": "a"}, {"tool": "a", "arguments": {"tool": "x", "seq": 1}}]}',
        b'{"episode_id": "tool", "events": [{"tool": "status", "status": "ok"}]}',
        b'{"a": [[[[[[[1]]]]]]], "s": "[[[[[[[[[[[[{{{{{{{{"}',
        b'{"html": "\\u003cb\\u003e \\u0026", "quote": "it\\u2019s"}',
        b'{"ts": 1732147200123, "span": "00f067aa0ba902b7", "cost": 0.4111111111111111}',
    ],
)
def test_what_ordinary_traces_hold_is_not_suspect(raw: bytes) -> None:
    assert not REDACTOR.suspect(raw)
    assert not REDACTOR.suspect_written(written(raw))


@pytest.mark.parametrize("levels", [8, 9, 65, 200])
@pytest.mark.parametrize("opens", ["[", '{"a":'])
def test_what_our_encoder_wrote_is_suspect_where_it_nests_too_deep(levels: int, opens: str) -> None:
    raw = opens * levels + "1" + ("]" if opens == "[" else "}") * levels
    assert REDACTOR.suspect_written(raw.encode()) is (levels > DEPTH)
    assert REDACTOR.suspect_written(raw.encode()) is REDACTOR.suspect(raw.encode())
