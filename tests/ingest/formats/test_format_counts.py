"""Files that tools wrote, imported, against what independent scripts counted in them."""

from typing import Any

import pytest
from counted import COUNTS, FILES, counted, refused, wanted

REFUSED = (
    "acp/opencode.jsonl",
    "braintrust/logs.jsonl",
    "claude-code/1af7fc5e-8455-4414-9ccd-011d40f70b2a.jsonl",
    "claude-code/9a7b165c-6146-4a06-b9c3-07c56c395f84.jsonl",
    "claude-code/9a7b165c-6146-4a06-b9c3-07c56c395f84/subagents/agent-a618c3c887c77c07c.jsonl",
    "claude-code/stream-json.jsonl",
    "codex/exec-json.jsonl",
    "codex/rollout-2026-11-22T21-42-56-01a20536-54a0-71b0-b275-ee1543810b71.jsonl",
    "gemini-cli/chats/4790c8e0-1fe6-403d-acb2-269799a01cb2/a4dd4ab3-f4fa-4bd3-9782-8efc7186e1cc.jsonl",
    "gemini-cli/chats/session-2026-11-22T21-53-4790c8e0.jsonl",
    "gemini-cli/output.json",
    "google-adk/lamp-return-1.session.json",
    "google-adk/lamps.evalset.json",
    "google-adk/text_search_floral_dress.session.json",
    "langsmith/tracer_runs.jsonl",
    "mcp/traffic.jsonl",
    "mlflow/search_traces_df.jsonl",
    "mlflow/trace_0.json",
    "openai-agents/run_state_pending.json",
    "opencode/export-ses_dfac883bcffegWOsLdEX1ix2TF.json",
    "opencode/export-ses_dfac8bad5ffeyfA0i4QgVXnDrE.json",
    "strands/sessions/session_lamp-return-1/agents/agent_default/messages",
    "weave/calls.jsonl",
)
"""Files of tools that have no reader: each is refused by its tool's name."""

COUNTED_OTHERWISE: dict[str, dict[str, Any]] = {
    # The script counts both function spans of the call that waited for an approval, and no
    # hand-over; only one of the two spans ran.
    "openai-agents/traces.jsonl": {"tools": {"look_up_lamp": 3, "handoff": 1, "refund_lamp": 1}},
}
READ = [name for name in COUNTS if not name.startswith("_") and name not in REFUSED]


@pytest.mark.parametrize("name", READ)
def test_an_import_counts_what_a_script_counted(name: str) -> None:
    (attempt,) = counted(FILES / name)
    want = wanted(name) | COUNTED_OTHERWISE.get(name, {})
    assert {part: attempt[part] for part in want} == want


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_without_a_reader_is_refused_by_its_tools_name(name: str) -> None:
    assert all("there is no reader for it" in problem for problem in refused(FILES / name))
