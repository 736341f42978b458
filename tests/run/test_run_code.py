"""The code of a candidate, measured: which files it is made of, and when it is another."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.running import code
from reviewer.running.code import MeasuredCode, measured_code
from reviewer.running.measure import begun, changed_code
from reviewer.running.model import Slot, Task, Unrunnable
from reviewer.suite.candidate import Candidate, candidate_value
from reviewer.suite.code import REWRITTEN, UNREADABLE, CodeFile, code_digest
from reviewer.suite.model import Episode, RedactionRules
from reviewer.suite.strict_json import sha256_hex

COMMAND = {"kind": "command", "command": ["python3", "./lamp/agent.py"]}


def put(folder: Path, path: str, text: str = "pass\n") -> Path:
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    return place


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "lamp-v1"
    put(folder, "candidates/lamp/agent.py")
    put(folder, "candidates/lamp/uv.lock", "# locked\n")
    put(folder, "candidates/lamp-v1.json", "{}")
    return folder


def measured(folder: Path, runner: dict[str, Any], **more: Any) -> MeasuredCode:
    return measured_code(manifest(runner, **more), folder)


def manifest(runner: dict[str, Any], **more: Any) -> Candidate:
    return candidate_value({"candidate_id": "lamp-v1", "runner": runner, **more}, "")


def names(code: MeasuredCode) -> list[str]:
    return sorted(file.path for file in code.files)


def test_a_program_is_all_that_it_can_read_but_caches_and_its_manifest(suite: Path) -> None:
    before = measured(suite, COMMAND)
    assert names(before) == ["lamp/agent.py", "lamp/uv.lock"]
    put(suite, "candidates/lamp/__pycache__/agent.cpython-311.pyc")
    put(suite, "candidates/lamp/.git/HEAD")
    put(suite, "candidates/lamp-v1.json", '{"changed": true}')
    assert measured(suite, COMMAND).sha256 == before.sha256
    put(suite, "candidates/shared.py")
    assert names(measured(suite, COMMAND)) == ["lamp/agent.py", "lamp/uv.lock", "shared.py"]


def test_what_another_candidate_names_is_its_own(suite: Path) -> None:
    before = measured(suite, COMMAND)
    put(suite, "candidates/other/agent.py")
    put(suite, "candidates/scripts/third.json", "{}")
    other = {
        "candidate_id": "other",
        "runner": {"kind": "command", "command": ["./other/agent.py"]},
    }
    third = {"candidate_id": "third", "runner": {"script": "candidates/scripts/third.json"}}
    put(suite, "candidates/other.json", json.dumps(other))
    put(suite, "candidates/third.json", json.dumps(third))
    assert measured(suite, COMMAND) == before


def test_a_proof_of_an_episode_is_no_code(suite: Path) -> None:
    """A proof is written by whoever makes an episode, for every candidate's runs to go on."""
    before = measured(suite, COMMAND)
    put(suite, "candidates/proofs/golden.json", "{}")
    assert measured(suite, COMMAND) == before
    assert measured(suite, {**COMMAND, "code_sha256": before.sha256}).pinned


@pytest.mark.parametrize(
    "change", ["content", "x bit", "name", "one more", "one less", "through a link"]
)
def test_every_change_is_another_code(suite: Path, tmp_path: Path, change: str) -> None:
    beside = put(tmp_path, "elsewhere/part.py")
    (suite / "candidates/lamp/part.py").symlink_to(beside)
    before = measured(suite, COMMAND)
    agent = suite / "candidates/lamp/agent.py"
    if change == "content":
        agent.write_text("pas5\n", encoding="utf-8")  # the same size, perhaps the same time
    elif change == "x bit":
        agent.chmod(0o755)
    elif change == "name":
        agent.rename(agent.with_name("agent2.py"))
    elif change == "one more":
        put(suite, "candidates/lamp/.hidden")
    elif change == "one less":
        (suite / "candidates/lamp/uv.lock").unlink()
    else:
        beside.write_text("pas5\n", encoding="utf-8")
    assert measured(suite, COMMAND).sha256 != before.sha256


def test_replaced_with_the_same_size_and_time_it_is_another_code(suite: Path) -> None:
    agent = suite / "candidates/lamp/agent.py"
    os.utime(agent, (1_000_000_000, 1_000_000_000))
    before = measured(suite, COMMAND)
    agent.write_text("pas5\n", encoding="utf-8")
    os.utime(agent, (1_000_000_000, 1_000_000_000))
    assert measured(suite, COMMAND).sha256 != before.sha256


def test_a_program_is_pinned_by_the_digest_of_all_its_code(suite: Path) -> None:
    code = measured(suite, COMMAND)
    assert not code.pinned
    assert measured(suite, {**COMMAND, "code_sha256": code.sha256}).pinned
    assert not measured(suite, {**COMMAND, "code_sha256": "0" * 64}).pinned
    script = {
        "script": "candidates/lamp/agent.py",
        "script_sha256": sha256_hex((suite / "candidates/lamp/agent.py").read_bytes()),
    }
    assert not measured(suite, {**COMMAND, **script}).pinned, "uv.lock is code, too"
    (suite / "candidates/lamp/uv.lock").unlink()
    assert measured(suite, {**COMMAND, **script}).pinned, "each file is named with its digest"


def test_scripts_and_prompts_are_pinned_by_their_manifest(suite: Path) -> None:
    script = put(suite, "candidates/scripts/s.json", "{}")
    named = {"script": "candidates/scripts/s.json", "script_sha256": sha256_hex(b"{}")}
    code = measured(suite, {"kind": "scripted", **named})
    assert (names(code), code.pinned) == (["scripts/s.json"], True)
    script.write_text("[]", encoding="utf-8")
    assert not measured(suite, {"kind": "scripted", **named}).pinned
    put(suite, "prompts/p.md", "Be kind.")
    prompt = {"name": "system", "path": "prompts/p.md", "sha256": sha256_hex(b"Be kind.")}
    code = measured(suite, {"kind": "openai-chat"}, prompts=[prompt])
    assert (names(code), code.pinned) == (["../prompts/p.md"], True)
    assert measured(suite, {"kind": "openai-chat"}).pinned, "its manifest is all there is"


def test_code_that_cannot_be_read_is_named(suite: Path) -> None:
    os.mkfifo(suite / "candidates/lamp/pipe")
    with pytest.raises(Unrunnable, match=r"lamp-v1/candidates/lamp/pipe: .* not a regular file"):
        measured(suite, COMMAND)


def test_more_files_than_can_be_measured_are_refused(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code, "MOST_FILES", 2)
    measured(suite, COMMAND)
    put(suite, "candidates/lamp/third.py")
    with pytest.raises(Unrunnable, match="more than 2 files"):
        measured(suite, COMMAND)


@pytest.mark.parametrize(
    "runner", [{"kind": "command"}, {"kind": "command", "command": ["python3", "/a\0b"]}]
)
def test_a_command_that_is_none_is_measured_and_nothing_is_raised(
    suite: Path, runner: dict[str, Any]
) -> None:
    found = begun(task_of(suite, manifest(runner))).facts["interpreter"]
    assert (found is None) == ("command" not in runner)


def test_an_episode_without_canonical_form_is_measured(suite: Path) -> None:
    episode = Episode(episode_id="e-1", simulator={"tools": {}, "limit": 1 << 53})
    assert begun(task_of(suite, manifest(COMMAND), episode)).simulator is None


def task_of(suite: Path, candidate: Candidate, episode: Episode | None = None) -> Task:
    return Task(
        slot=Slot("lamp-v1", "lamp-v1", "e-1", 1),
        episode=episode or Episode(episode_id="e-1"),
        candidate=candidate,
        redaction=RedactionRules(),
        folder=str(suite),
    )


def test_links_to_folders_end(suite: Path) -> None:
    (suite / "candidates/lamp/again").symlink_to(suite / "candidates")
    assert names(measured(suite, COMMAND)) == ["lamp/agent.py", "lamp/uv.lock"]


def test_a_replaced_script_is_seen_when_the_attempt_ends(suite: Path) -> None:
    task = task_of(suite, manifest(COMMAND))
    first = begun(task)
    assert changed_code(task, first) is None
    agent = suite / "candidates/lamp/agent.py"
    text = agent.read_text(encoding="utf-8")
    put(suite, "candidates/lamp/agent.py", "import os\n")
    assert changed_code(task, first) not in (None, first.code.sha256, UNREADABLE, REWRITTEN)
    agent.write_text(text, encoding="utf-8")
    assert changed_code(task, first) == REWRITTEN, "written twice, and now as it was"
    (suite / "candidates/lamp/agent.py").unlink()
    os.mkfifo(suite / "candidates/lamp/agent.py")
    assert changed_code(task, first) == UNREADABLE


_FILES = st.dictionaries(
    st.text(min_size=1, max_size=8).filter(lambda name: name.isprintable()),
    st.tuples(st.booleans(), st.sampled_from(["0" * 64, "1" * 64])),
    max_size=6,
)


@given(_FILES, _FILES)
def test_the_digest_is_that_of_the_files_in_any_order(one: Any, other: Any) -> None:
    files = [CodeFile(path, *rest) for path, rest in one.items()]
    assert code_digest(files) == code_digest(reversed(files))
    others = [CodeFile(path, *rest) for path, rest in other.items()]
    assert (code_digest(files) == code_digest(others)) == (one == other)
