"""The envelope: one form in, one form out."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.signing.dsse import (
    MAX_ENVELOPE_BYTES,
    PAYLOAD_TYPE,
    Envelope,
    Signature,
    pae,
    parse_envelope,
    serialise_envelope,
)
from reviewer.signing.errors import AttestError, EnvelopeError


def document(**changes: object) -> bytes:
    body = {
        "payload": base64.b64encode(b'{"a":1}').decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": "SHA256:x", "sig": base64.b64encode(b"s" * 64).decode()}],
    }
    return json.dumps({**body, **changes}).encode()


def test_pae_is_the_protocol_s_own_example() -> None:
    assert (
        pae(b"hello world", "http://example.com/HelloWorld")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_pae_counts_bytes_not_characters() -> None:
    assert pae("é".encode(), "té") == "DSSEv1 3 té 2 é".encode()


@given(st.binary(min_size=1, max_size=200), st.sets(st.binary(min_size=1, max_size=70), min_size=1))
def test_what_is_written_is_read_back(payload: bytes, sigs: set[bytes]) -> None:
    envelope = Envelope(payload, tuple(Signature(sig, f"k{sig[0]}") for sig in sorted(sigs)[:64]))
    again = parse_envelope(serialise_envelope(envelope))
    assert again.payload == payload
    assert set(again.signatures) == set(envelope.signatures)
    assert serialise_envelope(again) == serialise_envelope(envelope)


def test_the_order_in_which_people_signed_does_not_change_the_file() -> None:
    one, two = Signature(b"1" * 64, "b"), Signature(b"2" * 64, "a")
    assert serialise_envelope(Envelope(b"x", (one, two, one))) == serialise_envelope(
        Envelope(b"x", (two, one))
    )


def test_url_safe_base64_and_a_missing_keyid_are_read() -> None:
    raw = b"\xfb\xff\xfe" * 3
    data = document(
        payload=base64.urlsafe_b64encode(raw).decode(),
        signatures=[{"sig": base64.urlsafe_b64encode(raw).decode()}],
    )
    assert parse_envelope(data) == Envelope(raw, (Signature(raw, None),))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON"),
        (b"[]", "object"),
        (b"\xff\xfe{}", "UTF-8"),
        ("{}".encode("utf-16"), "UTF-8"),
        (b"[" * 100_000, "nested"),
        (document(payloadType="application/vnd.in-toto+JSON"), "payloadType"),
        (document(payloadType=None), "payloadType"),
        (document(extra=1), "unknown member 'extra'"),
        (document(payload=""), "base64"),
        (document(payload="YQ"), "base64"),
        (document(payload="YR=="), "canonical"),
        (document(payload="YQ==\n"), "base64"),
        (document(payload="-_+/"), "mixes"),
        (document(payload="é==="), "base64"),
        (document(payload=7), "base64"),
        (document(signatures=[]), "signatures"),
        (document(signatures={}), "signatures"),
        (document(signatures=[{"sig": "YQ=="}] * 65), "signatures"),
        (document(signatures=["YQ=="]), "object"),
        (document(signatures=[{"keyid": "a"}]), "sig is missing"),
        (document(signatures=[{"sig": "YQ==", "keyid": None}]), "keyid"),
        (document(signatures=[{"sig": "YQ==", "cert": "x"}]), "unknown member 'cert'"),
        (document().replace(b'{"payload"', b'{"payload": "YQ==", "payload"', 1), "twice"),
        (document().replace(b'"signatures": [', b'"signatures": [NaN, '), "NaN"),
        (b" " * (MAX_ENVELOPE_BYTES + 1), "limit"),
    ],
)
def test_every_other_form_is_refused_and_says_why(data: bytes, says: str) -> None:
    with pytest.raises(EnvelopeError, match=says):
        parse_envelope(data)


def test_a_hostile_member_name_is_not_drawn_raw() -> None:
    with pytest.raises(EnvelopeError) as caught:
        parse_envelope(document(**{"\x1b]52;c;x\x07": 1}))
    assert str(caught.value).isprintable()


def test_an_envelope_that_could_not_be_read_back_is_not_written() -> None:
    with pytest.raises(EnvelopeError, match="limit"):
        serialise_envelope(Envelope(b"x" * MAX_ENVELOPE_BYTES, (Signature(b"s"),)))
    with pytest.raises(EnvelopeError, match="no signature"):
        serialise_envelope(Envelope(b"x", ()))


@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    try:
        parse_envelope(data)
    except AttestError as error:
        assert str(error)  # noqa: PT017 - the error itself is the allowed outcome
