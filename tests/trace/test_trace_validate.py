"""Validation that explains itself, and its agreement with the fast decoder."""

import contextlib
import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from trace_spelling import spelled, values

from reviewer.trace.record import EVENT, RECORD, REQUIRED, Event, TraceRecord
from reviewer.trace.redaction import Redactor
from reviewer.trace.validate import (
    DecodeError,
    Problem,
    check_events,
    decode,
    explain,
    trace_json_schema,
)

REDACTOR = Redactor()
SAFE: dict[str, Any] = {
    "episode_id": "attack-014",
    "candidate_id": "refund-agent-v7",
    "events": [{"tool": "lookup_order", "arguments": {"order_token": "ord_redacted_014"}}],
    "final_state": "security_review_opened",
    "cost_usd": 0.034,
    "latency_ms": 1820,
}


def raw_of(**changes: Any) -> bytes:
    return json.dumps({**SAFE, **changes}).encode()


def problems(raw: bytes) -> list[Problem]:
    return explain(raw, REDACTOR).problems


def codes(raw: bytes) -> list[str]:
    return [problem.code for problem in problems(raw)]


def with_arguments(arguments: Any) -> bytes:
    return raw_of(events=[{"tool": "lookup_order", "arguments": arguments}])


# The cases of the first article's validate_trace, and what its defects should have returned.


def test_article_safe_trace() -> None:
    assert codes(raw_of()) == []


def test_article_unsafe_trace() -> None:
    assert codes(with_arguments({"email": "[email\u00a0protected]"})) == ["unredacted:email"]


def test_article_quiz_raw_email_and_no_candidate() -> None:
    record = json.loads(with_arguments({"email": "[email\u00a0protected]"}))
    del record["candidate_id"]
    raw = json.dumps(record).encode()
    assert codes(raw) == ["missing:candidate_id", "unredacted:email"]


def test_article_empty_record_misses_all_six_in_order() -> None:
    assert codes(b"{}") == [f"missing:{name}" for name in sorted(REQUIRED)]
    assert len(REQUIRED) == 6


def test_article_three_sensitive_keys_are_sorted() -> None:
    events = [
        {"tool": "a", "arguments": {"order_id": 1, "email": "x", "customer_name": "y"}},
        {"tool": "b"},
    ]
    assert codes(raw_of(events=events)) == [
        *("unredacted:customer_name", "unredacted:email", "unredacted:order_id")
    ]


def test_article_trace_record_v7_is_valid() -> None:
    call = {"order_token": "ord_redacted_014"}
    events = [
        {"tool": "lookup_order", "arguments": call},
        {"tool": "issue_refund", "arguments": {**call, "amount_usd": 89.0}},
    ]
    explained = explain(
        raw_of(events=events, final_state="refund_issued", cost_usd=0.041, latency_ms=1940),
        REDACTOR,
    )
    assert explained.problems == []
    assert explained.trace is not None
    assert explained.trace.cost_usd == 0.041


def test_defect_nested_identifier() -> None:
    assert codes(with_arguments({"customer": {"email": "a@b.example"}})) == [
        "unredacted:customer.email"
    ]


def test_defect_spelling_and_values() -> None:
    arguments = {"Email": "x", "orderId": 1, "note": "mail a@b.example"}
    assert codes(with_arguments(arguments)) == [
        *("unredacted:Email", "unredacted:orderId", "unredacted:note")
    ]


def test_defect_null_events() -> None:
    assert codes(raw_of(events=None)) == ["type:events"]


# Every reason at once, in order, with its place.


def test_every_reason_at_once() -> None:
    raw = (
        b'{"candidate_id": "c", "candidate_id": "c", "episodeId": "e", "final_state": null,'
        b' "cost_usd": -1, "latency_ms": 1e400, "events": ['
        b'{"tool": "x", "arguments": "no", "seq": 4},'
        b'{"kind": "call", "arguments": {"a": {"b": [NaN], "email": "x"}}},'
        b'{"kind": "tool_call", "argument": {}, "seq": 9}, 7]}'
    )
    found = problems(raw)
    assert [problem.code for problem in found] == [
        "missing:episode_id",
        "type:cost_usd",
        "type:events[0].arguments",
        "type:events[1].kind",
        "type:events[1].seq",
        "type:events[2].tool",
        "type:events[3]",
        "not_finite:latency_ms",
        "not_finite:events[1].arguments.a.b[0]",
        "unknown:episodeId",
        "unknown:events[2].argument",
        "duplicate:candidate_id",
        "unredacted:a.email",
    ]
    by_code = {problem.code: problem for problem in found}
    assert "did you mean episode_id?" in by_code["unknown:episodeId"].detail
    assert "did you mean arguments?" in by_code["unknown:events[2].argument"].detail
    assert "tool_call" in by_code["type:events[1].kind"].detail
    assert by_code["unredacted:a.email"].seq == 2
    assert by_code["type:events[2].tool"].seq == 9
    assert by_code["type:cost_usd"].seq is None


def test_the_same_code_is_told_once_with_its_first_event() -> None:
    event = {"tool": "t", "arguments": {"email": "x"}}
    events = [{"tool": "t"}, {**event, "seq": 5}, {**event, "seq": 6}]
    (problem,) = problems(raw_of(events=events))
    assert (problem.code, problem.path, problem.seq) == ("unredacted:email", "email", 5)


def test_a_repeated_member_hides_nothing() -> None:
    raw = raw_of().replace(b'"order_token"', b'"note": "a@b.example", "note": "", "order_token"')
    assert codes(raw) == ["duplicate:events[0].arguments.note", "unredacted:note"]
    assert REDACTOR.suspect(raw)


@pytest.mark.parametrize(
    ("member", "path"),
    [
        (b'"tool": "other", "tool"', "events[0].tool"),
        (b'"arguments": {}, "tool"', "events[0].arguments"),
    ],
)
def test_repeated_members_of_an_event_never_pass_the_fast_path(member: bytes, path: str) -> None:
    raw = raw_of().replace(b'"tool"', member)
    assert REDACTOR.suspect(raw)
    assert codes(raw) == [f"duplicate:{path}"]
    top = raw_of().replace(b'"final_state"', b'"final_state": "refunded", "final_state"')
    assert REDACTOR.suspect(top)
    assert codes(top) == ["duplicate:final_state"]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (
            '"security_review_opened"',
            '{"a": 1, "b": {"c": [{"d": 1, "d": 2}]}}',
            "final_state.b.c[0].d",
        ),
        ('"security_review_opened"', '{"a": "x: y", "a" : 2}', "final_state.a"),
        ('"order_token"', '"amount_usd": 900, "amount_usd" :\t1, "order_token"', "amount_usd"),
        ('"order_token"', '"amount": {"usd": 900, "usd": 1}, "order_token"', "amount.usd"),
        ('"tool"', '"observation": [{"ok": 0, "ok": 1}], "tool"', "observation"),
        ('"tool"', '"state": {"case": 0, "case": 1}, "tool"', "state.case"),
        ('"tool"', '"approval": {"status": "denied", "status": "granted"}, "tool"', "approval"),
        ('"tool"', '"message": {"content": "a", "content": "b"}, "tool"', "message.content"),
        ('"tool"', '"tokens": {"input": 1, "input": 2}, "tool"', "tokens.input"),
        ('"cost_usd"', '"usage": {"input": 1, "\\u0069nput": 2}, "cost_usd"', "usage.input"),
        ('"cost_usd"', '"source": {"a": {"b": 1}, "a": 2}, "cost_usd"', "source.a"),
    ],
)
def test_repeated_members_within_a_field_are_refused_on_either_path(
    old: str, new: str, path: str
) -> None:
    raw = raw_of().replace(old.encode(), new.encode())
    assert any(code.startswith("duplicate:") and path in code for code in codes(raw))
    with pytest.raises(DecodeError, match="name repeats"):
        decode(raw)


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        {},
        {"at": "10:00", "a": {"a": {"a": 1}}},
        {"said": '"a": 1, "a": 2'},
        {"list": [{"a": 1}, {"a": 2}]},
    ],
)
def test_equal_names_in_different_objects_are_no_repetition(arguments: Any) -> None:
    event = {"tool": "t", "arguments": arguments, "observation": arguments, "state": [arguments]}
    raw = raw_of(events=[event, {"tool": "t"}, event], final_state=arguments)
    assert codes(raw) == []
    decode(raw)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "json:empty"),
        (b"[]", "json:not_an_object"),
        (b'{"a": "\xff"}', "json:utf8"),
        (b"\xef\xbb\xbf{}", "json:bom"),
        (b'{"a": "\\udead"}', "json:lone_surrogate"),
        (b"{", "json:syntax"),
        (b'{"a":' * 10_000, "json:too_deep"),
    ],
)
def test_bytes_that_are_no_record(raw: bytes, code: str) -> None:
    explained = explain(raw, REDACTOR)
    assert [problem.code for problem in explained.problems] == [code]
    assert (explained.value, explained.trace) == (None, None)
    with pytest.raises(DecodeError):
        decode(raw)


def test_null_optional_fields_are_fine() -> None:
    optional = {name: None for name in RECORD if name not in {*REQUIRED, "schema"}}
    event = dict.fromkeys(EVENT)
    raw = raw_of(
        **optional, schema=None, events=[event], final_state=None, cost_usd=None, latency_ms=None
    )
    assert codes(raw) == []
    assert decode(raw).attempt is None


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ({"kind": "tool_call"}, "type:events[0].tool"),
        ({"kind": "tool_result", "status": "ok"}, "type:events[0].tool"),
        ({"kind": "state_snapshot"}, "type:events[0].state"),
        ({"kind": "state_snapshot", "state": None}, None),
        ({"kind": "tool_result", "call_id": "c1"}, None),
        ({"kind": "message"}, None),
        ({"seq": 2**63}, "type:events[0].seq"),
        ({"seq": True}, "type:events[0].seq"),
        ({"tool": ""}, "type:events[0].tool"),
        ({"tool": "x" * 513}, "type:events[0].tool"),
        ({"arguments": ["a"]}, "type:events[0].arguments"),
        ({"latency_ms": "3"}, "type:events[0].latency_ms"),
    ],
)
def test_what_a_kind_of_event_needs(event: dict[str, Any], code: str | None) -> None:
    raw = raw_of(events=[event])
    assert codes(raw) == ([] if code is None else [code])
    if code is None:
        assert check_events(decode(raw))
    else:
        with pytest.raises(DecodeError):
            decode(raw)


def test_details_never_quote_values_or_names_that_are_identifiers() -> None:
    secret = "zz-top-SECRET"
    raw = raw_of(
        attempt=secret,
        schema=secret,
        events=[{"kind": secret, "status": secret, "x" + "a@b.example": 1, "password": secret}],
    )
    for problem in problems(raw):
        assert secret not in f"{problem}"
        assert "a@b.example" not in f"{problem}"


def test_the_tables_name_the_fields_of_the_structs() -> None:
    assert set(RECORD) == {field.encode_name for field in msgspec.structs.fields(TraceRecord)}
    assert set(EVENT) == {field.encode_name for field in msgspec.structs.fields(Event)}


def test_json_schema_states_the_same_fields() -> None:
    schema = trace_json_schema()
    assert schema["required"] == sorted(REQUIRED)
    assert set(schema["properties"]) == set(RECORD)
    event = schema["$defs"]["event"]
    assert set(event["properties"]) == set(EVENT)
    assert schema["additionalProperties"] is False
    assert event["additionalProperties"] is False
    json.dumps(schema, allow_nan=False)


def test_importing_the_floor_pulls_in_nothing_heavy() -> None:
    program = (
        "import sys, reviewer.trace.validate, reviewer.trace.events\n"
        "heavy = {'numpy', 'scipy', 'pydantic', 'textual', 'rich', 'httpx', 'sqlite3'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# The fast decoder and the slow explanation agree.

ODD = (
    *(None, True, False, -1, 0, 1, 2, 1.0, 1.5, -0.5, "", "x", "ok", "tool_call", "tool_result"),
    *(
        "state_snapshot",
        [],
        {},
        [1],
        {"a": 1},
        "x" * 600,
        2**63 - 1,
        2**63,
        2**70,
        "reviewer/trace@1",
    ),
)
plain_values = values(st.sampled_from(("ok", "a note", "it\u2019s", "漢字", "1e5", "[]", "{")))
events_ = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "kind": st.sampled_from(
                (None, "message", "tool_call", "tool_result", "state_snapshot")
            ),
            "seq": st.one_of(st.none(), st.integers(1, 9)),
            "tool": st.sampled_from((None, "lookup_order", "issue_refund")),
            "arguments": st.sampled_from((None, {}, {"a": 1}, {"a": {"b": [1.5, "x"]}})),
            "status": st.sampled_from((None, "ok", "timeout")),
            "observation": plain_values,
            "state": st.sampled_from((None, {"x": 1})),
            "latency_ms": st.sampled_from((None, 0, 12, 1.5)),
            "call_id": st.sampled_from((None, "c1")),
        },
    ),
    max_size=3,
)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """Records of which about half are valid."""
    record = {**SAFE, "events": draw(events_)}
    record["final_state"] = draw(st.one_of(st.just("done"), plain_values))
    for _ in range(draw(st.integers(0, 2))):
        holder = draw(st.sampled_from([record, *record["events"]])) if record["events"] else record
        if not isinstance(holder, dict):
            continue
        names = sorted(EVENT if holder is not record else RECORD)
        name = draw(st.sampled_from([*names, "extra"]))
        if draw(st.booleans()):
            holder[name] = draw(st.sampled_from(ODD))
        else:
            holder.pop(name, None)
        if not isinstance(record.get("events"), list):
            break
    return record


@st.composite
def raw_records(draw: st.DrawFn) -> bytes:
    raw = draw(spelled(draw(records())))
    kind = draw(st.integers(0, 5))
    if kind == 0:  # a byte gone wrong
        at = draw(st.integers(0, len(raw) - 1))
        raw = raw[:at] + draw(st.binary(max_size=2)) + raw[at + draw(st.integers(0, 2)) :]
    elif kind == 1:  # a token gone wrong
        token = draw(st.sampled_from((b"NaN", b"1e400", b"1e5", b"-0", b"9" * 400, b"01", b"tru")))
        raw = raw.replace(b"1820", token, 1).replace(b"12", token)
    elif kind == 2:  # a member twice
        names = (b'"tool"', b'"kind"', b'"final_state"', b'"cost_usd"', b'"a"', b'"b"', b'"x"')
        name = draw(st.sampled_from(names))
        raw = raw.replace(name, name + b":null," + name, 1)
    return raw


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(raw_records())
def test_decode_succeeds_exactly_when_explain_finds_nothing(raw: bytes) -> None:
    explained = explain(raw, REDACTOR)
    assume(not REDACTOR.suspect(raw))
    try:
        record = decode(raw)
    except DecodeError:
        assert explained.problems
    else:
        assert explained.problems == []
        assert msgspec.json.encode(explained.trace) == msgspec.json.encode(record)


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.binary(max_size=50), raw_records()))
def test_no_bytes_crash_either_path_and_explaining_is_repeatable(raw: bytes) -> None:
    first = explain(raw, REDACTOR)
    assert first.problems == explain(raw, REDACTOR).problems
    assert len({problem.code for problem in first.problems}) == len(first.problems)
    assert (first.trace is not None) is (not first.problems)
    with contextlib.suppress(DecodeError):
        decode(raw)
