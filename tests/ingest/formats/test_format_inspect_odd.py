"""Inspect logs that are cut off, broken, or made to harm: they cost what is wrong in them."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doors import Door, every_byte
from hypothesis import given
from hypothesis import strategies as st
from inspect_logs import (
    LOGS,
    READER,
    attempts,
    file,
    log,
    only,
    packed,
    ran,
    read,
    said,
    sample,
    samples,
)

from reviewer.importing.archive import Archive
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

START = "_journal/start.json"


def told(attempts: Iterator[Foreign | Broken], found: list[Foreign | Broken]) -> None:
    """Keep what comes before reading ends; `extend` would keep nothing of it."""
    for one in attempts:
        found.append(one)  # noqa: PERF402


def entries(path: Path) -> dict[str, bytes]:
    with Archive(path) as archive:
        return {name: archive.read(name) for name in archive.names()}


def test_a_cut_off_archive_gives_what_stands_before_the_cut(tmp_path: Path) -> None:
    whole = (LOGS / "desk.eval").read_bytes()
    path = tmp_path / "cut.eval"
    for share in (0.5, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        assert READER.sniff(Head(path))
        source = Source(path)
        found: list[Foreign | Broken] = []
        with pytest.raises(Unreadable, match="cut off"):
            told(READER.traces(source), found)
        notes = source.notes
        assert 0 < len(found) <= 4
        assert {one.raw for one in found if isinstance(one, Foreign)} <= {
            one.raw for one in attempts(LOGS / "desk.eval")
        }
        assert any("still being written" in note for note in notes)
    path.write_bytes(whole[:500])
    with pytest.raises(Unreadable):
        read(path)


def test_a_broken_entry_costs_its_sample(tmp_path: Path) -> None:
    held = entries(LOGS / "desk.eval")
    names = [name for name in held if name.startswith("samples/")]
    held[names[1]] = held[names[1]][:-5]
    held[names[2]] = b"[]"
    found, _ = read(packed(tmp_path, dict(held)))
    assert [type(one) for one in found] == [Foreign, Broken, Broken, Foreign]
    assert [one.name for one in found if isinstance(one, Broken)] == names[1:3]
    raw = bytearray((LOGS / "desk.eval").read_bytes())
    place = raw.find(names[0].encode()) + len(names[0]) + 200
    raw[place] ^= 255
    found, _ = read(file(tmp_path, bytes(raw), "flip.eval"))
    assert [type(one) for one in found] == [Broken, Foreign, Foreign, Foreign]


def test_a_chunk_that_is_missing_costs_its_sample(tmp_path: Path) -> None:
    held = entries(LOGS / "desk_mixed.eval")
    chunk = "samples/short_epoch_1/events/0.json"
    events = json.loads(held.pop(chunk))
    held["samples/short_epoch_1/events/0.json"] = json.dumps(events[:10]).encode()
    held["samples/short_epoch_1/events/10.json"] = json.dumps(events[10:]).encode()
    found, _ = read(packed(tmp_path, dict(held)))
    assert {one.raw for one in found if isinstance(one, Foreign)} == {
        one.raw for one in attempts(LOGS / "desk.eval")
    }
    del held["samples/short_epoch_1/events/0.json"]
    found, _ = read(packed(tmp_path, dict(held)))
    assert [one.codes for one in found if isinstance(one, Broken)] == [("missing:events[0]",)]


def test_a_log_without_a_header_is_read_and_says_so(tmp_path: Path) -> None:
    held = {START: b"{", "samples/a_epoch_1.json": sample(said("a"), id="a")}
    path = packed(tmp_path, held, "lost.eval")
    assert READER.sniff(Head(path))
    found, notes = read(path)
    assert len(found) == 1
    assert any("has no header" in note for note in notes)
    assert any(f"{START} cannot be read" in note for note in notes)
    assert only(path)["candidate_id"] == "lost"


def test_a_truncated_document_keeps_what_stands_before(tmp_path: Path) -> None:
    text = json.dumps(log(sample(said("a")), sample(said("b"), id="s2")))
    path = file(tmp_path, text[: text.rindex("s2")].encode())
    found, _ = read(path)
    assert [type(one) for one in found] == [Foreign, Broken]


def test_members_behind_the_samples_count_too(tmp_path: Path) -> None:
    held = log(sample(said("a"), scores={"x": {"value": 0}, "y": {"value": 1}}))
    held["results"] = {"scores": [{"name": "y", "scorer": "y", "metrics": {}}]}
    assert list(held)[-1] == "results"
    [made] = attempts(file(tmp_path, held))
    assert made.verdict is not None
    assert made.verdict.passed is True


def test_attachments_that_repeat_do_not_fill_the_memory(tmp_path: Path) -> None:
    turn = said("attachment://a")
    held = sample(*[turn] * 2000, attachments={"a": "x" * (1 << 20)})
    [found], _ = read(file(tmp_path, log(held)))
    assert isinstance(found, Broken)
    assert "too_large" in found.codes[0]


def test_an_attachment_that_is_missing_is_noted(tmp_path: Path) -> None:
    [made] = attempts(file(tmp_path, log(sample(said("attachment://gone")))))
    assert any("attachment is missing" in note for note in made.notes)


@pytest.mark.parametrize("refs", [[[0, 10**15]], [[-5, 3]], [[1]], "x", [["a", "b"]], [[0, 1]] * 9])
def test_references_beyond_the_pool_are_passed_over(tmp_path: Path, refs: Any) -> None:
    pool = {"messages": [{"role": "user", "content": "hi"}], "calls": []}
    held = sample(said("a", input_refs=refs), events_data=pool)
    assert len(only(file(tmp_path, log(held)))["events"]) <= 10


def test_a_store_that_cannot_be_followed_ends_its_snapshots(tmp_path: Path) -> None:
    changes = [[{"op": "add", "path": "/a", "value": 1}], [{"op": "remove", "path": "/zz"}],
               [{"op": "add", "path": "/b", "value": 1}]]  # fmt: skip
    turns = [said("a"), *({"event": "store", "changes": one} for one in changes)]
    [made] = attempts(file(tmp_path, log(sample(*turns, store={"b": 1}))))
    trace = only(tmp_path / "run.json")
    assert [event["state"] for event in trace["events"] if "state" in event] == [{"a": 1}]
    assert trace["final_state"] == {"b": 1}
    assert any("could not be followed" in note for note in made.notes)


def test_a_large_store_is_not_told_at_every_step(tmp_path: Path) -> None:
    grow = [{"event": "store", "changes": [{"op": "add", "path": f"/{n}", "value": "x" * 500_000}]}
            for n in range(8)]  # fmt: skip
    [made] = attempts(file(tmp_path, log(sample(said("a"), *grow))))
    assert len(made.raw) < 6 << 20
    assert any("left out" in note for note in made.notes)


def test_ids_with_slashes_and_names_that_leave_the_folder(tmp_path: Path) -> None:
    held = {
        START: log()["eval"],
        "samples/a/b_epoch_1.json": sample(said("a"), id="a/b"),
        "samples/../../x_epoch_1.json": sample(said("a"), id="x"),
    }
    found, notes = read(packed(tmp_path, held))
    assert len(found) == 1
    assert "1 entries with unsafe names were skipped" in notes


def mutable() -> Iterator[dict[str, Any]]:
    held = [*samples(LOGS / "user_and_critic.eval"), *samples(LOGS / "v0.3.135_pool.eval")]
    held += samples(LOGS / "v0.3.43_input.eval")
    for one in held:
        yield one
    for one in samples(LOGS / "desk.eval")[:1]:
        yield {**one, "events": one["events"][:60]}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside: Any = ()
    if isinstance(value, (dict, list)):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
    for name, one in inside:
        yield (*path, name)
        yield from places(one, (*path, name))


SAMPLES = list(mutable())
PLACES = [list(places(one)) for one in SAMPLES]
ODD = st.sampled_from(
    [None, -1, 10**30, True, "", "x", [], {}, [None], {"a": None}, [[0, 1e9]], 0.5]
)


@given(st.data())
def test_no_shape_of_a_sample_breaks_more_than_itself(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    which = data.draw(st.integers(0, len(SAMPLES) - 1))
    broken = copy.deepcopy(SAMPLES[which])
    for place in data.draw(st.lists(st.sampled_from(PLACES[which]), min_size=1, max_size=12)):
        *above, name = place
        value: Any = broken
        try:
            for key in above:
                value = value[key]
            if data.draw(st.booleans()):
                value[name] = copy.deepcopy(data.draw(ODD))
            else:
                del value[name]
        except (KeyError, IndexError, TypeError):
            continue
    held = log(sample(said("a")), broken, sample(said("b"), id="s2"))
    path = file(tmp_path_factory.mktemp("odd"), held)
    assert READER.sniff(Head(path))
    found, _ = read(path)
    assert [type(found[0]), type(found[2])] == [Foreign, Foreign]


def test_raw_texts_are_masked_before_storing(door: Door) -> None:
    who = "jane.roe@corp-mail.org"
    held = sample(
        said(f"to {who}", ("c", "send", {"to": who})),
        ran("c", "send", {"email": who}),
        {"event": "error", "error": {"message": f"mail {who}"}},
        scores={"s": {"value": "C", "explanation": who}},
    )
    imported = door.run("import", door.file("run.json", log(held)))
    assert imported.code == 0, imported
    assert b"jane.roe" not in every_byte(door.root / "store")
