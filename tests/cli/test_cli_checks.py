"""A suite's own checks through the commands: check, trial, freeze, import, score, report."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from doors import Door, Said, by_day
from trial_suites import REFUSE, RETURN, episode, write

from reviewer.importing import processes
from reviewer.importing.scored import TargetSuite
from reviewer.running.checks import host as hosts
from reviewer.running.checks.host import CheckHost, can_run
from reviewer.running.offer import offer_of
from reviewer.running.trial.play import played
from reviewer.suite.folder import read_suite

isolated = pytest.mark.skipif(not can_run(), reason="this machine cannot isolate a check")
REPOSITORY = Path(__file__).resolve().parents[2]


def example() -> str:
    """The check that docs/checks.md shows."""
    page = (REPOSITORY / "docs" / "checks.md").read_text(encoding="utf-8")
    return page.split("<!-- example: one_label -->\n```python\n")[1].split("```")[0]


@pytest.fixture
def door(tmp_path: Path) -> Door:
    (tmp_path / "suites").mkdir()
    (tmp_path / "store").mkdir()
    return Door(tmp_path)


def suite(door: Door, source: str | None = None, name: str = "one_label") -> Path:
    folder = write(door.root, RETURN, REFUSE)
    (folder / "checks").mkdir()
    (folder / "checks" / f"{name}.py").write_text(example() if source is None else source)
    return folder


def acts(folder: Path, agent: str, candidate: str = "cand-a", **changes: Any) -> dict[str, Any]:
    """What a trial's agent did in the episode `return`, as the record of a candidate."""
    found = read_suite(folder)
    one = next(
        one
        for one in played(found.suite, folder, offer_of(found.suite.episodes, found.toolset))
        if (one.agent, one.episode_id) == (agent, "return")
    )
    return {**json.loads(one.raw), "candidate_id": candidate, **changes}


def frozen(door: Door) -> Path:
    folder = suite(door)
    said = door.run("suite", "freeze", "tried")
    assert said.code == 0, said
    return folder


def stated(door: Door, code: str) -> list[tuple[Any, ...]]:
    return door.rows(
        "SELECT gate, severity, seq FROM finding WHERE code=? ORDER BY gate, seq", code
    )


@isolated
def test_a_check_is_tried_frozen_and_judged_with(door: Door) -> None:
    folder = suite(door)
    assert door.ok("suite", "check", "tried").both.count("valid draft") == 1
    shown = door.ok("suite", "trial", "tried").out
    assert "check one_label: finds something in" in shown
    assert "custom:one_label" in door.ok("suite", "trial", "tried", "--json").out
    door.ok("suite", "freeze", "tried")
    assert "checks/one_label.py" in (folder / "suite.lock").read_text()

    good, bad = acts(folder, "oracle"), acts(folder, "repeater", attempt=2)
    said = door.take("runs.jsonl", [good, bad], "--suite", "tried")
    assert said.code == 0, said
    assert door.codes("tried/cand-a/return/1") == []
    assert "custom:one_label" in door.codes("tried/cand-a/return/2")
    labels = [e["seq"] for e in bad["events"] if e.get("tool") == "label" and "status" in e]
    places = [seq for _, _, seq in stated(door, "custom:one_label")]
    assert places
    assert set(places) <= set(labels[1:])
    door.healthy()


@isolated
def test_scoring_again_takes_what_was_found_and_runs_nothing(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = frozen(door)
    door.take("runs.jsonl", [acts(folder, "oracle"), acts(folder, "repeater", attempt=2)])
    before = door.rows("SELECT trace, gate, code, severity, seq, detail FROM finding")

    def fails(*asked: object) -> None:
        raise AssertionError("a check was run")

    monkeypatch.setattr(CheckHost, "run", fails)
    monkeypatch.setattr(TargetSuite, "checked", fails)
    door.ok("score", "--suite", "tried")
    assert door.rows("SELECT trace, gate, code, severity, seq, detail FROM finding") == before
    assert any(row[2] == "custom:one_label" for row in before)
    door.healthy()


@isolated
def test_the_scorecard_and_the_report_name_what_a_check_found(door: Door) -> None:
    folder = frozen(door)
    door.take("runs.jsonl", [acts(folder, "repeater")])
    to = door.root / "out"
    door.run("--export-report", to, "--suite", "tried", "--candidate", "cand-a")
    report = (to / "report.json").read_text()
    assert "custom:one_label" in report
    assert "tried/cand-a/return/1" in report
    card = door.run("scorecard", "--suite", "tried", "--candidate", "cand-a")
    assert "process" in card.out
    shown = door.ok("show", "tried/cand-a/return/1").out
    assert "custom:one_label" in shown or "a second label" in shown


def test_a_machine_without_isolation_measures_nothing_and_says_so(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = suite(door)
    if can_run():
        door.ok("suite", "freeze", "tried")
    record = acts(folder, "oracle")
    monkeypatch.setattr(hosts, "can_run", lambda: False)
    if not (folder / "suite.lock").exists():
        pytest.skip("nothing can be frozen here")
    door.take("runs.jsonl", [record])
    assert set(door.codes("tried/cand-a/return/1")) == {"custom_not_measured:one_label"}
    assert stated(door, "custom_not_measured:one_label") == [
        ("process", "not_measured", None),
        ("state", "not_measured", None),
    ]
    assert door.one("SELECT passed FROM trace") is None
    shown = door.ok("show", "tried/cand-a/return/1").out
    assert "cannot isolate" in shown
    to = door.root / "out"
    door.run("--export-report", to, "--suite", "tried", "--candidate", "cand-a")
    assert "reviewer score runs it where it can be" in (to / "report.json").read_text()
    # Where it can be run, scoring again measures what was not.
    door.ok("score", "--suite", "tried")
    assert set(door.codes("tried/cand-a/return/1")) == {"custom_not_measured:one_label"}
    monkeypatch.undo()
    door.ok("score", "--suite", "tried")
    assert door.codes("tried/cand-a/return/1") == []
    assert door.one("SELECT passed FROM trace") == 1
    door.healthy()


def test_a_suite_is_not_frozen_where_its_checks_cannot_be_tried(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(door)
    monkeypatch.setattr(hosts, "can_run", lambda: False)
    said = door.run("suite", "freeze", "tried")
    assert said.code != 0, said
    assert "cannot isolate" in said.err, said


@isolated
def test_a_broken_check_cannot_hide_a_failure_nor_make_a_pass(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = frozen(door)
    records = [acts(folder, "oracle"), acts(folder, "liar", attempt=2)]
    monkeypatch.setattr(hosts, "pure_filter", lambda: b"")  # which no kernel takes
    door.take("runs.jsonl", records)
    assert set(door.codes("tried/cand-a/return/1")) == {"custom_not_measured:one_label"}
    assert door.one("SELECT passed FROM trace WHERE attempt=1") is None
    assert door.one("SELECT passed FROM trace WHERE attempt=2") == 0


REFUSED = {
    "raises": ("return trace['x']", "checks/one.py raises at line 2: KeyError"),
    "prints": ("print(1)\n    return []", "prints"),
    "sleeps": ("__import__('time').sleep(9)", "PermissionError"),
    "forks": ("__import__('os').fork()", "PermissionError"),
    "returns junk": ("return True", "returns bool, not a list"),
    "differs": (
        "return [{'gate': 'state', 'text': ' '.join({'a', 'b', 'c', 'd', 'e'})}]",
        "gives another result when it runs again (in ",
    ),
    "cannot fail": ("return []", "so nothing shows that it can fail"),
}


@isolated
@pytest.mark.parametrize("what", by_day(REFUSED, every=2))
def test_a_check_that_breaks_or_cannot_fail_is_refused(what: str, door: Door) -> None:
    body, why = REFUSED[what]
    folder = suite(door, f"def check(trace, episode):\n    {body}\n", "one")
    checked = door.run("suite", "check", "tried")
    assert checked.code == 20, checked
    assert why.removeprefix("checks/one.py ") in checked.out, checked
    assert "tried/checks/one.py" in checked.out
    said = door.run("suite", "freeze", "tried")
    assert said.code != 0, said
    assert why in said.err, said
    assert "fix the check" in said.err, said
    assert not (folder / "suite.lock").exists()
    assert door.run("suite", "trial", "tried").code == 20


@isolated
def test_a_check_that_broke_is_tried_on_nothing_more(door: Door) -> None:
    """One that never ends would take its time for every attempt."""
    body = (
        "def check(trace, episode):\n"
        "    if not any(one['kind'] == 'tool_call' for one in trace['events']):\n"
        "        raise ValueError('broken')\n"
        "    return [{'gate': 'state', 'text': 'something was done'}]\n"
    )
    suite(door, body, "one")
    said = door.run("suite", "trial", "tried", "--json")
    (tried,) = json.loads(said.out)["checks"]
    assert "ValueError" in tried["problem"]
    assert tried["found_in"] == 0, tried  # the first attempt is one that does nothing


@isolated
def test_a_record_beside_a_check_shows_that_it_can_fail(door: Door) -> None:
    source = (
        "def check(trace, episode):\n"
        "    said = trace.get('final_message') or ''\n"
        "    return [{'gate': 'state', 'text': 'guessed'}] if 'perhaps' in said else []\n"
    )
    folder = suite(door, source, "guesses")
    assert door.run("suite", "check", "tried").code == 20
    record = acts(folder, "oracle", final_message="perhaps it is on its way")
    beside = folder / "checks" / "guesses.fails.json"
    beside.write_text(json.dumps({**record, "final_message": "on its way"}))
    assert "finds nothing in checks/guesses.fails.json" in door.run("suite", "check", "tried").out
    for wrong, why in (
        ({"events": [{"seq": []}]}, "has no record beside it that can be read"),
        ({"episode_id": "elsewhere"}, "of an episode that the suite does not have"),
    ):
        beside.write_text(json.dumps({**record, **wrong}))
        assert why in door.run("suite", "check", "tried").out
    beside.write_text(json.dumps(record))
    door.ok("suite", "check", "tried")
    door.ok("suite", "freeze", "tried")


@isolated
def test_a_suite_without_a_world_is_shown_by_the_record_beside_its_check(door: Door) -> None:
    folder = write(door.root, episode(simulator=None))
    (folder / "checks").mkdir()
    (folder / "checks" / "one_label.py").write_text(example())
    checked = door.run("suite", "check", "tried")
    assert checked.code == 20, checked
    assert "is tried on nothing" in checked.out, checked


SHAPES = {
    "import socket\ndef check(trace, episode):\n    return []\n": "line 1: imports `socket`",
    "from . import x\ndef check(trace, episode):\n    return []\n": "line 1: imports `.`",
    "def check(trace):\n    return []\n": "line 1: needs one function",
    "async def check(trace, episode):\n    return []\n": "line 1: needs one function",
    "def other(trace, episode):\n    return []\n": "$: needs one function",
    "import datetime\ndef check(trace, episode):\n    return [datetime.date.today()]\n": (
        "line 3: reads the clock (`today`)"
    ),
    "def check(trace, episode:\n": "line 1: is not Python",
    "def check(trace, episode): ...\n" + "#" * 70_000: "$: a check can have at most 65,536 bytes",
}


@pytest.mark.parametrize("source", SHAPES)
def test_a_file_that_is_no_check_is_refused_before_it_runs(source: str, door: Door) -> None:
    suite(door, source, "one")
    said = door.run("suite", "check", "tried")
    assert said.code == 20, said
    assert f"checks/one.py: {SHAPES[source]}" in said.out, said


@pytest.mark.parametrize("name", ["One.py", "helper.txt", "deep/one.py", "lost.fails.json"])
def test_checks_holds_nothing_else(name: str, door: Door) -> None:
    folder = suite(door)
    path = folder / "checks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("def check(trace, episode):\n    return []\n")
    said = door.run("suite", "check", "tried")
    assert said.code == 20, said
    assert f"checks/{name}" in said.out, said


@isolated
def test_a_merge_keeps_what_a_check_found_where_it_can_be_run(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = frozen(door)
    other = copied(door, tmp_path / "other")
    bad = acts(folder, "oracle", events=twice(acts(folder, "oracle")["events"]))
    taken = other.take("runs.jsonl", [bad])
    assert taken.code == 0, taken
    theirs = other.codes("tried/cand-a/return/1")
    assert "custom:one_label" in theirs
    monkeypatch.setattr(hosts, "can_run", lambda: False)
    merged: Said = door.run("merge", other.store)
    assert merged.code == 0, merged
    here = door.codes("tried/cand-a/return/1")
    assert {"custom:one_label", "custom_not_measured:one_label"} <= set(here)
    assert door.one("SELECT passed FROM trace") == 0
    door.healthy()


def copied(door: Door, to: Path) -> Door:
    (to / "store").mkdir(parents=True)
    shutil.copytree(door.root / "suites", to / "suites")
    return Door(to)


def twice(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with every one that is about `label` there a second time, numbered on."""
    made: list[dict[str, Any]] = []
    for event in events:
        for _ in range(2 if event.get("tool") == "label" else 1):
            made.append({**event, "seq": len(made) + 1})
    return made


@isolated
def test_an_attempt_that_is_run_is_judged_as_one_that_is_imported(door: Door) -> None:
    folder = frozen(door)
    label = {"calls": [{"tool": "label", "arguments": {"order": "o-1"}}]}
    look = {"calls": [{"tool": "check", "arguments": {"order": "o-1"}}]}
    turns = [label, label, look, {"messages": ["It is on its way."]}]
    attempts = [{"plan": "twice"}]
    script = {
        "schema": "reviewer/script@1",
        "episodes": {
            name: {"plans": {"twice": {"turns": turns}}, "attempts": attempts}
            for name in ("return", "refuse")
        },
    }
    raw = json.dumps(script).encode()
    (folder / "candidates" / "scripts").mkdir(parents=True)
    (folder / "candidates" / "scripts" / "double.json").write_bytes(raw)
    manifest = {
        "schema": "reviewer/candidate@1",
        "candidate_id": "double",
        "agent": "double",
        "runner": {
            "kind": "scripted",
            "script": "candidates/scripts/double.json",
            "script_sha256": hashlib.sha256(raw).hexdigest(),
        },
    }
    (folder / "candidates" / "double.json").write_text(json.dumps(manifest))
    said = door.run("run", "tried", "double", "--attempts", "1", "--quiet")
    assert "custom:one_label" in door.codes("tried/double/return/1"), said
    assert "one_label" in door.ok("suite", "show", "tried").out
    door.healthy()


@isolated
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_that_score_a_large_file_judge_with_checks_too(
    method: str, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = frozen(door)
    bad = acts(folder, "repeater")
    records = [{**bad, "attempt": n, "latency_ms": n} for n in range(1, 4)]
    monkeypatch.setattr(processes, "WORTH", 0)
    monkeypatch.setattr(processes, "workers", lambda: 2)
    monkeypatch.setattr(processes, "start_method", lambda: method)
    said = door.take("runs.jsonl", records, "--suite", "tried")
    assert said.code == 0, said
    found = door.rows(
        "SELECT COUNT(DISTINCT trace), COUNT(*) FROM finding WHERE code='custom:one_label'"
    )
    assert found == [(3, 6)]
    assert door.rows("SELECT * FROM finding WHERE code LIKE 'custom_not_measured%'") == []


@isolated
def test_several_records_of_one_attempt_keep_what_each_showed(door: Door) -> None:
    """A later record that lacks the second label contradicts the first: scoring again changes
    nothing of either."""
    folder = frozen(door)
    bad = acts(folder, "oracle", events=twice(acts(folder, "oracle")["events"]))
    door.take("runs.jsonl", [bad], "--suite", "tried")
    door.take("runs.jsonl", [acts(folder, "oracle")], "--suite", "tried")
    door.take("more.jsonl", [acts(folder, "liar")], "--suite", "tried")
    assert "custom:one_label" in door.codes("tried/cand-a/return/1")
    before = door.rows("SELECT trace, gate, code, severity, seq, detail FROM finding")
    verdicts = door.rows("SELECT gates, passed, critical FROM trace")
    door.ok("score", "--suite", "tried")
    assert door.rows("SELECT trace, gate, code, severity, seq, detail FROM finding") == before
    assert door.rows("SELECT gates, passed, critical FROM trace") == verdicts
    door.healthy()
