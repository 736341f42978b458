"""Files of spans made odd, or cut: whatever is wrong costs itself at most."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from doors import Door
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_shapes import cut_anywhere, made_odd, places
from span_files import DATA, agent, called, chat, request, returned, tool

from reviewer.importing.formats.otel.exports import LangfuseReader, OpenInferenceReader
from reviewer.importing.formats.otel.otlp import JaegerReader, OtlpReader, TempoReader
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source
from reviewer.trace.validate import decode

READERS = {
    reader.name: reader
    for reader in (
        OtlpReader(), TempoReader(), JaegerReader(), LangfuseReader(), OpenInferenceReader()
    )
}  # fmt: skip


def otlp() -> Any:
    lines = (DATA / "otlp/vercel_ai_6.0.326.otlp.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[:2]]


def pydantic() -> Any:
    document = json.loads((DATA / "otlp/pydantic_ai_v2.json").read_bytes())
    (scope,) = document["resourceSpans"][0]["scopeSpans"]
    del scope["spans"][9:]
    return document


def jaeger() -> Any:
    document = json.loads((DATA / "jaeger/helm.json").read_bytes())
    spans = document["data"][0]["spans"]
    spans[:] = [one for one in spans if len(one["tags"]) > 9][:8]
    return document


def langfuse() -> Any:
    return json.loads((DATA / "langfuse/openai-agents-2025-09-30.trace.json").read_bytes())


def memory() -> Any:
    return json.loads((DATA / "openinference/all-spans.json").read_bytes())[:4]


SAMPLES: dict[str, tuple[str, Callable[[], Any]]] = {
    "Vercel": ("otlp", otlp),
    "pydantic-ai": ("otlp", pydantic),
    "Jaeger": ("jaeger", jaeger),
    "Langfuse": ("langfuse", langfuse),
    "in memory": ("openinference", memory),
}
VALUES = {name: make() for name, (_, make) in SAMPLES.items()}


def texts(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every text that holds JSON."""
    if isinstance(value, dict):
        below = list(value.items())
    elif isinstance(value, list):
        below = list(enumerate(value))
    else:
        return []
    own = [(value, key) for key, one in below if isinstance(one, str) and one[:1] in ("{", "[")]
    return [*own, *(found for _, one in below for found in texts(one))]


def read(reader: str, raw: bytes) -> None:
    """Sniffing never raises; reading gives valid records, broken ones, or says why not."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        path.write_bytes(raw)
        head = Head(path)
        for each in READERS.values():
            each.sniff(head)
        try:
            found = list(READERS[reader].traces(Source(path)))
        except Unreadable:
            return
        for one in found:
            assert isinstance(one, Foreign | Broken)
            if isinstance(one, Foreign):
                decode(one.raw)
            else:
                assert not any(code.startswith("shape:") for code in one.codes), one


@settings(max_examples=50)
@given(data=st.data())
def test_odd_and_cut_files_cost_themselves_at_most(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SAMPLES)))
    value = deepcopy(VALUES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        if places(value):
            made_odd(data, value)
    raw = json.dumps(value).encode()
    if data.draw(st.booleans()):
        raw = cut_anywhere(data, raw)
    read(SAMPLES[name][0], raw)


@settings(max_examples=50)
@given(data=st.data())
def test_odd_json_inside_texts_is_read_as_far_as_it_goes(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SAMPLES)))
    value = deepcopy(VALUES[name])
    held = texts(value)
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(held))
        inner = json.loads(holder[key]) if isinstance(holder[key], str) else None
        if places(inner):
            made_odd(data, inner)
            holder[key] = json.dumps(inner)
    read(SAMPLES[name][0], json.dumps(value).encode())


PART_OF_ANY = {"type:span", "type:attributes"}
"""Why a span is refused that may have been one of any trace."""


@settings(max_examples=40)
@given(data=st.data())
def test_other_episodes_are_told_as_ever(data: st.DataObject) -> None:
    """One trace is made odd; the other's record is the same to the byte, or not measured where
    what was lost may have been a part of it."""
    good = [
        agent(1),
        chat(2, [("user", "hi")], [("assistant", "", called("c", "look"))], parent=1),
        tool(3, "look", "c", "x", parent=1, at=2),
        chat(4, [("tool", returned("c", "x"))], [("assistant", "ho")], parent=1, at=3),
    ]
    bad = [agent(11, trace=2), chat(12, [("user", "hi")], [], parent=11, trace=2)]
    for _ in range(data.draw(st.integers(1, 5))):
        if places(bad):
            made_odd(data, bad)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        path.write_text(json.dumps(request(*good)))
        (alone,) = READERS["otlp"].traces(Source(path))
        path.write_text(json.dumps(request(*good[:2], *bad, *good[2:])))
        found = list(READERS["otlp"].traces(Source(path)))
        if any(set(one.codes) & PART_OF_ANY for one in found if isinstance(one, Broken)):
            held = [one.raw for one in found if isinstance(one, Foreign)]
            assert sum(b"00000001" in raw and b'"unread"' in raw for raw in held) == 1
            return
        assert [one for one in found if isinstance(one, Foreign)].count(alone) == 1


HOSTILE: dict[str, Any] = {
    "markup and escapes": "[bold]\x1b[31mred\x1b]0;x\x07[/] \u202e",
    "a lone surrogate": "\ud800",
    "JSON nested deeply": "[" * 5000,
    "a huge number": '{"a": ' + "9" * 5000 + "}",
    "a mail address": "jane.roe@corp-mail.org",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_words_are_words(door: Door, name: str) -> None:
    text = HOSTILE[name]
    bad = [agent(1, gen_ai__agent__name=text, metadata=text, final_result=text),
           chat(2, [("user", text)], [("assistant", text, called(text, text))], parent=1, at=1),
           tool(3, text, text, text, parent=1, at=2)]  # fmt: skip
    good = [chat(2, [("user", "hi")], [("assistant", "ho")], trace=2, at=20)]
    said = door.take("x.json", json.dumps(request(*bad, *good, service=text)).encode())
    assert said.code in (0, 20), said
    assert "internal" not in said.err
    assert door.one("SELECT count(*) FROM traces WHERE steps = 0") == 1
    assert "\x1b" not in said.both
    assert "jane.roe" not in said.both
    door.healthy()
