"""LangChain messages and agentevals trajectories: real files, figures by hand."""

import json
from pathlib import Path

import pytest
from doors import Door
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewer.importing.formats import foreign_readers
from reviewer.importing.formats.chat.langchain import LangChainReader
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[2] / "data/langchain"


@pytest.mark.parametrize("name", ["messages_to_dict.json", "lc_dumps.json"])
def test_threads_are_attempts_with_their_tokens(door: Door, name: str) -> None:
    assert door.run("import", DATA / name).code == 0
    rows = dict(
        door.rows(
            "SELECT CASE kind WHEN 'message' THEN actor ELSE kind END, count(*) FROM events"
            " GROUP BY 1"
        )
    )
    assert (rows["tool_call"], rows["tool_result"], rows["user"]) == (8, 7, 4)
    assert door.one("SELECT count(*) FROM events WHERE status='pending'") == 1
    assert {row for (row,) in door.rows("SELECT candidate_id FROM traces")} == {"fake-1"}
    records = [json.loads(one.raw) for one in LangChainReader().traces(Source(DATA / name))]  # type: ignore[union-attr]
    assert sum(record["usage"]["total_tokens"] for record in records) == 829


def test_trajectories_pair_in_order_where_ids_are_missing(door: Door) -> None:
    path = DATA / "agentevals_test_trajectories.json"
    assert door.run("import", path).code == 0
    assert door.one("SELECT count(*) FROM traces") == 14
    assert door.one("SELECT count(*) FROM events WHERE kind='tool_call'") == 22
    answered = door.one("SELECT count(*) FROM events WHERE kind='tool_result'")
    wanted = sum(
        (message.get("role") or message.get("type")) == "tool"
        for record in json.loads(path.read_text())
        for message in record["outputs"]
    )
    assert answered == wanted
    pending = door.one("SELECT count(*) FROM events WHERE status='pending'")
    assert pending == 22 - wanted


def test_graph_trajectories_name_nodes_and_interrupts(door: Door) -> None:
    said = door.run("import", DATA / "graph_trajectories.json")
    assert said.code == 0, said
    assert door.one("SELECT count(*) FROM events WHERE kind='approval'") == 4
    # The thread that was never resumed still waits for its answer.
    assert door.one("SELECT count(*) FROM events WHERE status='pending'") == 1
    assert "nodes only" in said.err


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_odd_shapes_cost_their_record_only(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A real thread with a member replaced by something else: never an exception."""
    threads = json.loads((DATA / "messages_to_dict.json").read_text())
    place = data.draw(st.integers(0, len(threads[0]) - 1))
    message = threads[0][place]
    member = data.draw(st.sampled_from(sorted(message["data"])))
    odd = st.one_of(
        st.none(), st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=2),
        st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    )  # fmt: skip
    message["data"][member] = data.draw(odd)
    path = tmp_path_factory.mktemp("odd") / "threads.json"
    path.write_text(json.dumps(threads))
    found = list(LangChainReader().traces(Source(path)))
    assert len(found) == 4
    assert all(isinstance(one, (Foreign, Broken)) for one in found)
    assert all(isinstance(one, Foreign) for one in found[1:])


def test_every_reader_has_a_name_of_its_own() -> None:
    names = [reader.name for reader in foreign_readers()]
    assert len(set(names)) == len(names)
