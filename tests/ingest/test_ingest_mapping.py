"""Another tool's run in a private suite: its episodes named by a map, judged by our contracts."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from doors import Door, copied, passing

EXCERPT = Path(__file__).resolve().parents[1] / "data/tau_bench/gpt-4o-airline-excerpt.json"
SUITE = "refund-eval-v5"


def record(**change: Any) -> dict[str, Any]:
    traj = [
        {"role": "system", "content": "policy"},
        {"role": "user", "content": "My lamp came broken."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "issue_refund", "arguments": "{}"},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "issue_refund", "content": "done"},
        {"role": "assistant", "content": "It is refunded."},
        {"role": "user", "content": "###STOP###"},
    ]
    made = {"task_id": 7, "trial": 0, "reward": 1.0, "info": {"reward_info": {}}, "traj": traj}
    return made | change


def written(door: Door, name: str, value: Any) -> Path:
    path = door.root / name
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize("plain", [True, False])
def test_a_map_brings_a_foreign_run_under_our_contracts(door: Door, plain: bool) -> None:
    names = {"7": "damaged-221"}
    value = names if plain else {"schema": "reviewer/episode-map@1", "episodes": names}
    said = door.run(
        "import", written(door, "run.json", [record()]), "--suite", SUITE,
        "--candidate", "refund-agent-v7", "--episode-map", written(door, "map.json", value),
    )  # fmt: skip
    assert said.code == 0, said
    rows = door.rows("SELECT trace_id, passed, critical FROM traces")
    # The source's reward says 1; a refund is forbidden there, and our gate has the last word.
    assert rows == [(f"{SUITE}/refund-agent-v7/damaged-221/1", 0, 1)]
    codes = {code for (code,) in door.rows("SELECT code FROM findings")}
    assert "forbidden:issue_refund" in codes or "not_allowed:issue_refund" in codes
    assert door.one("SELECT passed FROM source_verdict") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "map.json"),
        ("{}", "must be an object"),
        ('{"7": 1}', "7: the episode id is not a string"),
        ('{"schema": "reviewer/episode-map@2", "episodes": {}}', "schema is not"),
        ('{"schema": "reviewer/episode-map@1", "episode": {}}', "unknown member episode"),
    ],
)
def test_a_broken_map_is_refused_with_its_place(door: Door, text: str, said: str) -> None:
    (door.root / "map.json").write_text(text)
    found = door.run(
        "import", written(door, "run.json", [record()]), "--suite", SUITE,
        "--episode-map", door.root / "map.json",
    )  # fmt: skip
    assert found.code == 20
    assert said in found.err
    assert not door.store.exists() or door.one("SELECT count(*) FROM trace") == 0


def test_a_map_without_its_suite_is_a_usage_error(door: Door) -> None:
    found = door.run(
        "import", written(door, "run.json", [record()]),
        "--episode-map", written(door, "map.json", {"7": "damaged-221"}),
    )  # fmt: skip
    assert found.code == 2


# names of tools -----------------------------------------------------------------------------------

V8 = "refund-agent-v8"
THEIRS = {"mcp__shop__verify_state": "verify_state", "functions.lookup_order": "lookup_order"}


def renamed(attempt: int = 1) -> dict[str, Any]:
    """A passing record of the suite as a harness with namespaces writes it."""
    made = passing("damaged-221", V8, attempt, nonce=attempt)
    back = {ours: theirs for theirs, ours in THEIRS.items()}
    made["events"] = [
        {**event, "tool": back.get(event["tool"], event["tool"])} if "tool" in event else event
        for event in made["events"]
    ]
    return made


def tool_map(door: Door, tools: dict[str, str], name: str = "map.json") -> Path:
    return written(door, name, {"schema": "reviewer/episode-map@1", "tools": tools})


def test_a_map_says_which_spellings_are_tools_of_the_suite(door: Door) -> None:
    plain = written(door, "plain.json", renamed())
    assert door.run("import", plain, "--suite", SUITE, "--dry-run").code == 0
    door.run("import", plain, "--suite", SUITE)
    trace = f"{SUITE}/{V8}/damaged-221/1"
    assert "not_allowed:mcp__shop__verify_state" in door.codes(trace)
    file = tool_map(door, THEIRS)
    mapped = written(door, "mapped.json", renamed(2))
    said = door.ok("import", mapped, "--suite", SUITE, "--episode-map", file)
    digest = "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest()
    assert digest in said.err
    assert digest in door.ok("sources").out
    second = trace[:-1] + "2"
    assert door.codes(second) == []
    shown = door.ok("show", second).out
    assert digest in shown
    for _ in range(2):
        details = door.rows("SELECT code, detail FROM findings WHERE code LIKE 'tool_alias:%'")
        assert sorted(code for code, _ in details) == [
            "tool_alias:functions.lookup_order",
            "tool_alias:mcp__shop__verify_state",
        ]
        assert all(digest in detail for _, detail in details)
        door.run("score")
        assert door.codes(second) == []
    out = door.root / "report"
    door.run("--export-report", out, "--suite", SUITE, "--candidate", V8)
    report = json.loads((out / "report.json").read_text())
    assert report["import_maps"] == [{"sha256": digest, "tools": THEIRS}]
    assert digest in (out / "report.md").read_text()
    door.healthy()


def test_a_map_stays_with_what_was_imported_under_it(door: Door, tmp_path: Path) -> None:
    file = tool_map(door, THEIRS)
    record = written(door, "run.json", renamed())
    door.ok("import", record, "--suite", SUITE, "--episode-map", file)
    trace = f"{SUITE}/{V8}/damaged-221/1"
    again = door.ok("import", record, "--suite", SUITE)
    assert "another map of tools" in again.err
    assert door.codes(trace) == []
    other = copied(door.root, tmp_path / "other")
    other.store.unlink()
    for part in ("-wal", "-shm"):
        other.store.with_name(other.store.name + part).unlink(missing_ok=True)
    other.run("merge", door.store)
    for _ in range(2):
        assert other.codes(trace) == []
        other.run("score")
    other.healthy()


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        ({"mcp__shop__issue_refund": "issue_refund"}, "is forbidden"),
        ({"issue_refund": "lookup_order"}, "cannot mean another tool"),
        ({"mcp__shop__issue_refund": "lookup_order"}, "is not a spelling of"),
        ({"wire_money": "lookup_order"}, "is not a spelling of"),
        ({"mcp__shop__pay": "pay"}, "is not a tool"),
    ],
)
def test_a_map_names_allowed_tools_only(door: Door, tools: dict[str, str], why: str) -> None:
    record = written(door, "run.json", renamed())
    said = door.run("import", record, "--suite", SUITE, "--episode-map", tool_map(door, tools))
    assert said.code == 20
    assert why in said.err
    assert not door.store.exists() or door.rows("SELECT 1 FROM traces") == []


@pytest.mark.parametrize("tools", [[], {"a": 1}, {"a": ""}, "a"])
def test_a_map_of_tools_of_another_form_is_refused(door: Door, tools: Any) -> None:
    record = written(door, "run.json", renamed())
    said = door.run("import", record, "--suite", SUITE, "--episode-map", tool_map(door, tools))
    assert said.code == 20
    assert "map.json" in said.err


def test_a_refused_record_is_of_the_candidate_that_was_asked_for(door: Door) -> None:
    told = [
        {"role": "user", "content": "My lamp came broken."},
        {"role": "assistant", "content": "x"},
    ]
    lines = [{"messages": told}, {"tool": "issue_refund", "input": {}, "output": "refunded"}]
    names = {"schema": "reviewer/episode-map@1", "episodes": {"log-1": "damaged-221"}}
    asked = ("--suite", SUITE, "--candidate", V8, "--episode-map", door.file("map.json", names))
    door.run("import", door.file("log.jsonl", lines), *asked)
    [row] = door.rows("SELECT candidate_id, suite_id FROM quarantine")
    assert row == (V8, SUITE)
    out = door.root / "report"
    door.run("--export-report", out, "--suite", SUITE, "--candidate", V8)
    assert json.loads((out / "report.json").read_text())["slots"]["quarantined_unplaced"] == 1


def test_a_line_that_is_cut_off_is_told_of_whose_other_lines_are_read(door: Door) -> None:
    """It names nobody that can be read: it may be anybody's whose attempts stand in its file."""
    whole = (door.suite / "traces" / f"{V8}.jsonl").read_text().splitlines()
    (door.root / "cut.jsonl").write_text("\n".join([whole[0], whole[1][:-30]]))
    assert door.run("import", door.root / "cut.jsonl").code == 20
    out = door.root / "report"
    door.run("--export-report", out, "--suite", SUITE, "--candidate", V8)
    report = json.loads((out / "report.json").read_text())
    assert report["slots"]["quarantined_unplaced"] == 1
    assert any("1 quarantined record" in one for one in report["what_this_does_not_show"])
