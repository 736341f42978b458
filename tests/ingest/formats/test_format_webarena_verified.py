"""WebArena-Verified task folders: two real ones, and folders made after them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from doors import Door, every_byte
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_shapes import made_odd

from reviewer.importing.formats.webarena_verified import WebArenaVerifiedReader, shown_url
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[2] / "data/webarena_verified"
SUITE = "webarena-verified"


def folder(tmp_path: Path, task: str = "107") -> Path:
    return Path(shutil.copytree(DATA / task, tmp_path / "run-a" / task))


def one(path: Path) -> tuple[dict[str, Any], Foreign]:
    reader = WebArenaVerifiedReader()
    source = Source(path, "", reader.companions(path))
    (found,) = reader.traces(source)
    assert isinstance(found, Foreign), found
    return json.loads(found.raw), found._replace(notes=(*found.notes, *source.notes))


def test_the_evaluators_word_is_the_verdict(door: Door) -> None:
    said = door.run("import", DATA)
    assert said.code == 0, said
    rows = door.rows("SELECT episode_id, candidate_id, passed, termination FROM traces ORDER BY 1")
    assert rows == [("107", DATA.name, 0, "completed"), ("108", DATA.name, 1, "completed")]
    assert "the agent says SUCCESS, the evaluator failure" in said.err
    # A folder is one attempt, whichever of its files is named.
    assert "nothing added" in door.run("import", DATA / "107" / "eval_result.json").err


def test_rewards_and_evaluators_are_kept_without_the_answer_key(door: Door) -> None:
    record, found = one(DATA / "107" / "eval_result.json")
    assert found.verdict is not None
    assert found.verdict.reward == 0.0
    (evaluator,) = found.verdict.detail["evaluators"]
    assert evaluator["failed"] == [
        "agent_response.task_type_mismatch", "retrieved_data_missing_or_null",
    ]  # fmt: skip
    assert found.verdict.detail["version"] == "1.0.0rc12"
    assert record["source"]["agent_status"] == "SUCCESS"
    assert door.run("import", DATA / "107").code == 0
    kept = every_byte(door.root / "store")
    assert b"September" not in kept  # expected by the evaluator, never said by the agent


def test_the_network_is_shown_without_cookies_headers_and_bodies(door: Door) -> None:
    record, _ = one(DATA / "107" / "eval_result.json")
    entries = json.loads((DATA / "107" / "network.har").read_text())["log"]["entries"]
    network = record["source"]["network"]
    assert network["entries"] == len(entries) == 12
    assert network["methods"] == {"GET": 12}
    assert network["statuses"] == {"200": 11, "302": 1}
    shown = [event for event in record["events"] if event["kind"] == "tool_call"]
    assert len(shown) == network["shown"] == 6
    assert shown[0]["started_at"] == "2025-10-19T14:40:28.436Z"
    assert {event["actor"] for event in shown} == {"browser"}
    assert not any(event["kind"] == "state_snapshot" for event in record["events"])
    assert b'"Cookie"' in (DATA / "107" / "network.har").read_bytes()
    assert door.run("import", DATA / "107").code == 0
    kept = every_byte(door.root / "store")
    assert b"3c7d534edd43dd81" not in kept
    assert b"user-agent" not in kept


def test_requests_that_send_or_fail_are_shown_and_their_secrets_are_not(tmp_path: Path) -> None:
    task = folder(tmp_path)
    archive = json.loads((task / "network.har").read_text())
    entry = archive["log"]["entries"][0]
    entry["request"].update(method="POST", url="http://me:pw1@h.test/a.js?form_key=k1&q=lamp#top",
                            postData={"text": "password=hunter2"})  # fmt: skip
    entry["response"]["status"] = -1
    archive["log"]["entries"] = [entry]
    (task / "network.har").write_text(json.dumps(archive))
    record, _ = one(task / "eval_result.json")
    call, result = record["events"][:2]
    assert (call["tool"], call["arguments"]) == (
        "POST", {"url": "http://h.test/a.js?form_key=…&q=lamp"},
    )  # fmt: skip
    assert result["status"] == "error"
    text = json.dumps(record)
    assert not any(secret in text for secret in ("pw1", "k1", "hunter2"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h/a?access_token=x&author=y&keyword=z", "https://h/a?access_token=…&author=y&keyword=z"),
        ("https://h/a?api_key=x&key=y&sid=z&next=/b", "https://h/a?api_key=…&key=…&sid=…&next=/b"),
        ("data:text/html;base64,AAAA", "data:…"),
    ],
)  # fmt: skip
def test_secret_parameters_are_masked_by_their_names(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_many_requests_are_counted_and_only_the_first_are_shown(tmp_path: Path) -> None:
    task = folder(tmp_path)
    archive = json.loads((task / "network.har").read_text())
    archive["log"]["entries"] = [archive["log"]["entries"][1]] * 1200
    (task / "network.har").write_text(json.dumps(archive))
    record, found = one(task / "eval_result.json")
    assert record["source"]["network"]["entries"] == 1200
    assert record["source"]["network"]["shown"] == 1000
    assert any("after the first 1000" in note for note in found.notes)


def test_without_a_result_nothing_is_scored_however_sure_the_agent(tmp_path: Path) -> None:
    task = folder(tmp_path)
    (task / "eval_result.json").unlink()
    (task / "network.har").unlink()
    record, found = one(task / "agent_response.json")
    assert found.verdict is None
    assert record["episode_id"] == "107"
    assert record["candidate_id"] == "run-a"
    assert {note.split(":")[0] for note in found.notes} >= {
        "no eval_result.json", "no network.har next to it",
    }  # fmt: skip


def test_an_evaluator_that_failed_measured_nothing(tmp_path: Path) -> None:
    task = folder(tmp_path)
    result = json.loads((task / "eval_result.json").read_text())
    result.update(status="error", score=0.0, error_msg="no trace")
    (task / "eval_result.json").write_text(json.dumps(result))
    _, found = one(task / "eval_result.json")
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (None, None)
    assert found.verdict.exception == "no trace"


def test_success_beside_an_evaluator_that_says_failure_is_no_verdict(tmp_path: Path) -> None:
    task = folder(tmp_path)
    result = json.loads((task / "eval_result.json").read_text())
    result.update(status="success", score=1.0)
    (task / "eval_result.json").write_text(json.dumps(result))
    _, found = one(task / "eval_result.json")
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.reward) == (None, 1.0)


def test_a_response_that_is_no_json_is_kept_as_text(door: Door, tmp_path: Path) -> None:
    task = folder(tmp_path)
    (task / "agent_response.json").write_text("I found nothing.")
    record, found = one(task / "eval_result.json")
    assert record["final_message"] == "I found nothing."
    assert any("is no JSON" in note for note in found.notes)
    said = door.run("import", task)
    assert said.code == 0, said


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_odd_files_never_raise(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    task = folder(tmp_path_factory.mktemp("odd"))
    name = data.draw(st.sampled_from(["eval_result.json", "agent_response.json", "network.har"]))
    value = json.loads((task / name).read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        made_odd(data, value)
    (task / name).write_text(json.dumps(value))
    reader = WebArenaVerifiedReader()
    path = task / "eval_result.json"
    (found,) = reader.traces(Source(path, "", reader.companions(path)))
    assert isinstance(found, (Foreign, Broken))
