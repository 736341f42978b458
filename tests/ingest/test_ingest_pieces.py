"""Records masked a piece at a time are those that masking each as a whole gives."""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trace"))

from secret_corpus import texts

from reviewer.importing.pipeline.masking import RecordMasker
from reviewer.suite.model import RedactionRules
from reviewer.trace.redaction import redactor_of
from reviewer.trace.strictjson import names_unique
from reviewer.trace.validate import decode

REDACTOR = redactor_of(RedactionRules())
HELD = [one.text for one in texts(rounds=1)]
WORDS = st.one_of(
    st.sampled_from(HELD),
    st.sampled_from(["", "ok", "order 4411 shipped", "é und ü", 'a "quoted" word', "x\n\ty"]),
    st.text(max_size=12),
)
NAMES = st.sampled_from(["note", "email", "dob", "password", "events", "api_key", "x y", "ssn"])
VALUES = st.recursive(
    st.one_of(WORDS, st.integers(-(2**40), 2**60), st.booleans(), st.none(), st.floats(0, 1e9)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
EVENTS = st.one_of(
    st.fixed_dictionaries({"kind": st.just("message"), "actor": WORDS, "message": VALUES}),
    st.fixed_dictionaries({
        "kind": st.just("tool_call"), "tool": st.sampled_from(["pay", "look up"]),
        "arguments": st.dictionaries(NAMES, VALUES, max_size=3), "observation": VALUES}),
)  # fmt: skip
RECORDS = st.fixed_dictionaries(
    {
        "episode_id": st.sampled_from(["e", "for anna.berg@example.org"]),
        "candidate_id": st.just("c"),
        "events": st.lists(EVENTS, max_size=5),
        "final_state": VALUES,
        "final_message": WORDS,
        "cost_usd": st.none(),
        "latency_ms": st.none(),
        "source": st.dictionaries(NAMES, VALUES, max_size=2),
    }
)


def as_a_whole(raw: bytes) -> bytes:
    return msgspec.json.encode(REDACTOR.mask(msgspec.json.decode(raw)))


def encoded(record: dict[str, Any]) -> bytes:
    """A record as readers write it: what names its attempt first, then its events."""
    first = [name for name in ("episode_id", "candidate_id", "events") if name in record]
    return msgspec.json.encode({name: record[name] for name in [*first, *record]})


@settings(max_examples=150, deadline=None)
@given(st.lists(RECORDS, min_size=1, max_size=4))
def test_a_record_masked_in_pieces_is_the_record_masked_as_a_whole(records: list[Any]) -> None:
    masker = RecordMasker(REDACTOR)
    for record in [*records, *records]:  # the second time from what is remembered
        raw = encoded(record)
        found = masker.masked(raw)
        assert found is not None
        assert found.raw == as_a_whole(raw)
        assert found.changed is (found.raw != raw)


@settings(max_examples=150, deadline=None)
@given(RECORDS, st.data())
def test_a_record_written_otherwise_is_left_or_masked_alike(record: Any, data: Any) -> None:
    raw = encoded(record)
    place = data.draw(st.integers(0, len(raw)))
    cut = data.draw(st.integers(0, 3))
    put = data.draw(st.sampled_from([b"", b" ", b'"', b"{", b"}", b",", b"\\", b"\xff", b"0"]))
    changed = raw[:place] + put + raw[place + cut :]
    found = RecordMasker(REDACTOR).masked(changed)
    if found is None:
        return
    assert names_unique(changed)
    assert found.raw == as_a_whole(changed)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"events":[{"tool":"a","tool":"b"}],"final_state":null}',
        b'{"events":[{"tool":"a","arguments":{"x":1,"x":2}}],"final_state":null}',
        b'{"events":[],"final_state":{"x":1,"x":2}}',
        b'{"events":[],"events":[],"final_state":null}',
        b'{"events": [],"final_state":null}',
        b'{"events":[{"tool":"\\u0061"}],"final_state":null}',
        b'{"events":[{"cost_usd":1e400}],"final_state":null}',
        b'{"final_state":{"events":[]},"events":[]}',
        b'{"final_state":null}',
        b"[]",
        b"{",
    ],
)
def test_what_our_encoder_does_not_write_is_left_to_the_complete_path(raw: bytes) -> None:
    assert RecordMasker(REDACTOR).masked(raw) is None


def test_a_suite_whose_rules_name_events_is_masked_as_a_whole() -> None:
    masker = RecordMasker(redactor_of(RedactionRules(keys=("events",))))
    assert masker.masked(encoded({"events": [], "final_state": None})) is None


def test_what_was_forgotten_is_masked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reviewer.importing.pipeline.masking._MOST_KEPT", 400)
    masker = RecordMasker(REDACTOR)
    for number in [*range(30), *range(30), 3, 3, 29]:
        text = f"write to person{number}@example.org"
        events = [{"message": text}, {"message": "Thank you."}, {"message": text}]
        raw = encoded({"events": events, "final_state": None})
        found = masker.masked(raw)
        assert found is not None
        assert found.raw == as_a_whole(raw)
        assert b"example.org" not in found.raw


def test_names_that_are_known_to_be_unique_are_not_looked_for_again() -> None:
    events = [{"tool": "a", "arguments": {"x": 1}}, {"tool": "b", "arguments": [1]}]
    record = {
        "episode_id": "e", "candidate_id": "c", "events": events[:1], "final_state": None,
        "final_message": None, "cost_usd": None, "latency_ms": None,
    }  # fmt: skip
    raw = json.dumps(record).encode()
    assert decode(raw, unique=True) == decode(raw)
    for wrong in (events, [{"tool": "a", "arguments": "x"}], [{"kind": "tool_call"}]):
        bad = json.dumps({**record, "events": wrong}).encode()
        for unique in (True, False):
            with pytest.raises(msgspec.DecodeError):
                decode(bad, unique=unique)
