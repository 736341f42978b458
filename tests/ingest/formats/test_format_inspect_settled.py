"""Parts of a sample in Inspect's own shapes are settled at once. What is left of a sample, and what
becomes of it, is what the account of all of it says: each sample here is read in both ways."""

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_logs import LOGS, READER

from reviewer.importing.archive import Archive
from reviewer.importing.draft import Draft
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.formats.inspect_ai import (
    Attachments,
    Parts,
    attempt,
    of_one_value,
    texts_of,
)
from reviewer.importing.formats.inspect_ai.run import Run, Tally
from reviewer.importing.formats.inspect_ai.settled import settled
from reviewer.importing.formats.inspect_ai.trajectory import Trajectory
from reviewer.importing.source import Source, guarded

ACT = {"name": "issue_refund", "arguments": {"amount": 5}}
CALL = {"id": "x", "function": "issue_refund", "arguments": {"amount": 5}, "type": "function"}
ACTS: list[Any] = [ACT, [CALL], json.dumps(ACT), " \n" + json.dumps([CALL]), "attachment://act"]
OTHERS: list[Any] = [
    *ACTS, None, "", " ", "x", 0, 7, True, [], {}, ["x"], {"x": 1}, CALL, {"function": ACT},
    [ACT], '{"x": 1}', "tool", "function", "assistant", "attachment://none", "tc://act",
    "\u00a0" + json.dumps(ACT),
    {"role": "tool", "content": "x", "tool_call_id": "nobody"}, {"tool_calls": [CALL]}, '"{',
    {"role": "assistant", "content": "x", "tool_calls": [CALL]}, {"name": "x", "name_": 1},
]  # fmt: skip
NAMES = (
    "content", "name", "id", "tool_calls", "tool_call_id", "function", "arguments", "input", "role",
    "metadata", "type", "action", "args", "error", "source", "events", "value", "parse_error",
)  # fmt: skip


def log_samples(name: str) -> list[Any]:
    with Archive(LOGS / name) as archive:
        return [parse(archive.read(one)) for one in archive.names() if one.startswith("samples/")]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, one in members:
        if isinstance(one, (dict, list)):
            yield from places(one, (*path, name))
        else:
            yield (*path, name)


def alike(path: tuple[Any, ...], sample: Any) -> tuple[Any, ...]:
    """The names on a way; of an event and a message, its kind."""
    found, value = [], sample
    for step in path:
        value = value[step]
        kind = value.get("event", value.get("role")) if isinstance(value, dict) else None
        found.append((kind if isinstance(step, int) else step, kind))
    return tuple(found)


def put(sample: Any, path: tuple[Any, ...], new: Any, name: str = "") -> Any:
    made = copy.deepcopy(sample)
    if new in ("attachment://act", "tc://act"):
        made.setdefault("attachments", {})["act"] = json.dumps(ACT)
    value = made
    for step in path[:-1]:
        value = value[step]
    if path and name and isinstance(value[path[-1]], dict):
        value[path[-1]][name] = new
    elif path:
        value[path[-1]] = new
    return made


def both(raw: bytes) -> tuple[Any, Any]:
    """What becomes of a sample, with its settled parts and with none."""
    found = []
    for quick in (True, False):
        run = Run({}, Path("x.eval"))
        try:
            parts = of_one_value(parse(raw), texts_of(raw) if quick else None)
        except NotJson as error:
            found.append(str(error))
            continue
        with patch.object(attempt, "settled", settled if quick else lambda *_: []):
            found.append(guarded(lambda p=parts, r=run: attempt.attempt(r, Tally(r), p), "x"))
    return found[0], found[1]


def whole(sample: Any) -> tuple[Parts, list[Any]]:
    """The parts of a sample, and what of it is settled."""
    raw = json.dumps(sample).encode()
    parts = of_one_value(parse(raw), texts_of(raw))
    draft, texts = Draft("inspect"), Attachments(parts.attachments)
    Trajectory(draft, parts, texts).read()
    return parts, settled(parts.sample, parts, draft, texts)


SAMPLES = [log_samples("desk.eval")[0], log_samples("refund_zstd.eval")[0]]


def test_most_of_what_inspect_writes_is_settled() -> None:
    for sample in SAMPLES:
        parts, done = whole(sample)
        own = set(map(id, done))
        kinds = ("model", "tool", "approval", "state", "store")
        events = [one for one in parts.events if one["event"] in kinds]
        assert len(events) > 5
        settled_events = [one for one in events if id(one) in own]
        assert len(settled_events) > 0.8 * len(events)
        assert {one["event"] for one in settled_events} >= {"model", "tool"}
        assert sum(id(one) in own for one in parts.sample["messages"]) > 3


def test_an_act_is_found_wherever_it_is_put() -> None:
    sample = SAMPLES[1]
    kinds = {alike(path, sample): path for path in places(sample) if path}
    left = 0
    for path in kinds.values():
        for new in (ACT, json.dumps(ACT)):
            quick, slow = both(json.dumps(put(sample, path, new)).encode())
            assert quick == slow, (path, new)
            left += b'"unread"' in getattr(slow, "raw", b"")
    assert left > 50  # an act in most of these places is one the account finds


@given(st.data())
def test_a_changed_sample_comes_to_the_same_in_both_ways(data: st.DataObject) -> None:
    sample = SAMPLES[data.draw(st.sampled_from((0, 1)))]
    ways = [one for one in places(sample) if one]
    path = ways[data.draw(st.integers(0, len(ways) - 1))]
    name = data.draw(st.sampled_from(("", *NAMES)))
    made = put(sample, path, data.draw(st.sampled_from(OTHERS)), name)
    indent = data.draw(st.sampled_from((None, 2)))
    raw = json.dumps(made, indent=indent, ensure_ascii=data.draw(st.booleans())).encode()
    spelled = data.draw(st.sampled_from((b"", b"\\u0061ttachment://", b'"event": 1, "event":')))
    if spelled.startswith(b"\\"):
        raw = raw.replace(b"attachment://", spelled)
    elif spelled:
        raw = raw.replace(b'"event":', spelled, 1)
    quick, slow = both(raw)
    assert quick == slow


@pytest.mark.parametrize(
    "text",
    ['{"a": 1}', ' {"a"', "\n[", "\u00a0{", "\u2028[", "\t\\{", "{", "\u3000{}", "\x1c{"],
)
def test_a_text_that_may_be_json_is_seen_in_the_bytes(text: str) -> None:
    for escaped in (True, False):
        for given_ in ({"a": text}, [text], {"b": ["x", "a\\", text]}, {"a": 'q"', "b": text}):
            found = texts_of(json.dumps(given_, ensure_ascii=escaped, indent=1).encode())
            assert found is None or text in found.openings


def test_references_are_seen_each_time_they_are_made() -> None:
    raw = b'{"a": "attachment://k1", "b": ["attachment://k1", "tc://k2", "see attachment://k3"]}'
    found = texts_of(raw)
    assert found is not None
    assert sorted(found.references) == ["k1", "k1", "k2"]
    assert texts_of(b'{"a": "\\u0061ttachment://k"}') is None


def test_a_process_that_read_a_log_ends_well() -> None:
    """The shapes are types of a library in C, whose own clean-up must bear them."""
    log = str(LOGS / "desk.eval")
    code = (
        "import sys; from pathlib import Path; from reviewer.importing.source import Source; "
        "from reviewer.importing.formats.inspect_ai.reader import InspectReader; "
        "print(len(list(InspectReader().traces(Source(Path(sys.argv[1]))))))"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code, log], capture_output=True, check=True)
        assert done.stdout.strip() == b"4"


def test_the_reader_gives_the_same_attempts_with_nothing_settled() -> None:
    for path in sorted(LOGS.glob("*.eval")):
        kept = []
        for quick in (True, False):
            with patch.object(attempt, "settled", settled if quick else lambda *_: []):
                source = Source(path)
                kept.append(list(READER.traces(source)) if "killed" not in path.name else [])
        assert kept[0] == kept[1]
