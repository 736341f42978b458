"""AgentLab summaries: a real one, and others after its shape."""

import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door
from hypothesis import given
from hypothesis import strategies as st
from odd_shapes import made_odd

from reviewer.importing.formats.agentlab import AgentLabReader
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[2] / "data/agentlab"
FOLDER = "2024-08-01_10-20-52_GenericAgent_on_miniwob.ascending-numbers_64_e6d2d5"
REAL = DATA / FOLDER / "summary_info.json"


def one(tmp_path: Path, folder: str = FOLDER, **changes: Any) -> tuple[dict[str, Any], Foreign]:
    """The real summary with some members changed (… drops one), in a folder of that name."""
    value = {**json.loads(REAL.read_text()), **changes}
    path = tmp_path / folder / "summary_info.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({k: v for k, v in value.items() if v is not ...}))
    source = Source(path)
    (found,) = AgentLabReader().traces(source)
    assert isinstance(found, Foreign), found
    return json.loads(found.raw), found._replace(notes=(*found.notes, *source.notes))


def test_a_real_summary_gives_its_totals(door: Door) -> None:
    said = door.run("import", DATA)
    assert said.code == 0, said
    assert door.rows(
        "SELECT trace_id, passed, termination, cost_usd, latency_ms FROM traces"
    ) == [
        ("miniwob/agentlab GenericAgent/miniwob.ascending-numbers/1", 0, "truncated",
         0.025914000000000003, pytest.approx(16687.21628189087))
    ]  # fmt: skip
    (found,) = AgentLabReader().traces(Source(REAL))
    assert isinstance(found, Foreign)
    record = json.loads(found.raw)
    assert record["usage"] == {"input_tokens": 16260, "output_tokens": 762, "total_tokens": 17022}
    assert record["source"]["seed"] == "64"
    assert record["started_at"] == "2024-08-01T10:20:52"
    assert record["source"]["clock"] == "unstated"
    assert found.verdict is not None
    assert found.verdict.exception == "There was a very very bad error"


def test_pickles_are_counted_and_never_opened(tmp_path: Path) -> None:
    study = tmp_path / FOLDER
    study.mkdir()
    for number in range(3):
        (study / f"step_{number}.pkl.gz").write_bytes(b"\x80\x04cos\nsystem\n(S'exit'\ntR.")
    (tmp_path / "reproducibility_journal.csv").write_text("agent_name\n")
    record, found = one(tmp_path)
    assert [event["kind"] for event in record["events"]] == ["error"]
    assert any(note.startswith("3 steps are next to it as pickles") for note in found.notes)
    assert any("reproducibility_journal.csv" in note for note in found.notes)


def test_the_folder_names_suite_task_and_agent(tmp_path: Path) -> None:
    folder = "2025-01-02_03-04-05_ToolUseAgent-openai_gpt-5-mini_on_webarena.310_12_3"
    record, found = one(tmp_path, folder)
    assert (found.suite, record["episode_id"]) == ("webarena", "310")
    assert record["candidate_id"] == "agentlab ToolUseAgent-openai_gpt-5-mini"
    record, found = one(tmp_path, "some study")
    assert (found.suite, record["episode_id"], record["candidate_id"]) == (
        "agentlab", "some study", "agentlab",
    )  # fmt: skip
    assert any("the agent is unknown" in note for note in found.notes)


@pytest.mark.parametrize(
    ("changes", "passed", "reward", "termination"),
    [
        ({"cum_reward": 1.0, "terminated": True, "truncated": False, "err_msg": None},
         True, 1.0, "completed"),
        ({"cum_reward": 0.5, "terminated": True, "err_msg": None}, False, 0.5, "completed"),
        ({"terminated": False, "truncated": False}, None, None, "error"),
        ({"terminated": ..., "truncated": ..., "err_msg": None}, False, 0.0, None),
        ({"cum_reward": 1.2, "terminated": True, "err_msg": None}, None, 1.2, "completed"),
        ({"cum_reward": None}, None, None, "truncated"),
    ],
)  # fmt: skip
def test_reward_exception_and_end_are_three_facts(
    tmp_path: Path, changes: dict[str, Any], passed: Any, reward: Any, termination: Any
) -> None:
    record, found = one(tmp_path, **changes)
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (passed, reward)
    assert record.get("termination") == termination


def test_newer_cost_names_and_zeros_that_measure_nothing(tmp_path: Path) -> None:
    cost, total = "stats.cum_cost", "stats.cum_openai_total_cost"
    record, _ = one(tmp_path, **{cost: 0.5, "stats.cum_input_tokens": 9})
    assert (record["cost_usd"], record["usage"]["input_tokens"]) == (0.5, 9)
    record, found = one(tmp_path, **{total: 0, "stats.cum_openai_prompt_tokens": 0})
    assert record["cost_usd"] is None
    assert "input_tokens" not in record["usage"]
    assert any("not measured" in note for note in found.notes)


@given(data=st.data())
def test_odd_summaries_never_raise(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    value = json.loads(REAL.read_text())
    for _ in range(data.draw(st.integers(1, 4))):
        made_odd(data, value)
    path = tmp_path_factory.mktemp("odd") / "summary_info.json"
    path.write_text(json.dumps(value))
    (found,) = AgentLabReader().traces(Source(path))
    assert isinstance(found, (Foreign, Broken))
