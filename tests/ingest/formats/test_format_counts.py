"""Files that tools wrote, imported, against what independent scripts counted in them."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from counted import COUNTS, FILES, counted, of_the_file, refused, wanted

REFUSED = (
    "gemini-cli/output.json",
    "google-adk/lamps.evalset.json",
)
"""Files of tools that have no reader: each is refused by its tool's name."""

COUNTED_OTHERWISE: dict[str, dict[str, Any]] = {
    # The script counts both function spans of the call that waited for an approval, and no
    # hand-over; only one of the two spans ran.
    "openai-agents/traces.jsonl": {"tools": {"look_up_lamp": 3, "handoff": 1, "refund_lamp": 1}},
    # The script counts tool spans. In the second trace the model called two tools and the program
    # broke before it ran them: two calls without a result.
    "mlflow/search_traces_df.jsonl": {
        "events": {"user": 2, "assistant": 3, "tool_call": 5, "tool_result": 3},
        "tools": {"look_up_lamp": 4, "refund_lamp": 1},
    },
}
CLAUDE = "claude-code/9a7b165c-6146-4a06-b9c3-07c56c395f84"
GEMINI = "gemini-cli/chats"
CLINE = "cline/1795384839649_u3as6"
WITH_SUB_AGENTS = {
    f"{CLINE}/1795384839649_u3as6.messages.json": (
        f"{CLINE}/agent_1795384840379_3azl2l.messages.json"
    ),
    f"{CLAUDE}.jsonl": f"{CLAUDE}/subagents/agent-a618c3c887c77c07c.jsonl",
    f"{GEMINI}/session-2026-11-22T21-53-4790c8e0.jsonl": (
        f"{GEMINI}/4790c8e0-1fe6-403d-acb2-269799a01cb2/a4dd4ab3-f4fa-4bd3-9782-8efc7186e1cc.jsonl"
    ),
    "opencode/export-ses_dfac8bad5ffeyfA0i4QgVXnDrE.json": (
        "opencode/export-ses_dfac883bcffegWOsLdEX1ix2TF.json"
    ),
}
"""Sessions whose sub-agent's file is read with them: its calls are theirs."""
READ = [name for name in COUNTS if not name.startswith("_") and name not in REFUSED]


@pytest.mark.parametrize("name", READ)
def test_an_import_counts_what_a_script_counted(name: str) -> None:
    attempts = counted(FILES / name)
    assert len(attempts) == COUNTS[name]["sessions"]
    found = of_the_file(attempts)
    want = wanted(name) | COUNTED_OTHERWISE.get(name, {})
    if name in WITH_SUB_AGENTS:
        want = together(want, wanted(WITH_SUB_AGENTS[name]))
    assert {part: found[part] for part in want} == want


@pytest.mark.parametrize("name", WITH_SUB_AGENTS)
def test_a_session_without_its_sub_agents_counts_by_itself(name: str, tmp_path: Path) -> None:
    alone = Path(shutil.copy(FILES / name, tmp_path))
    (attempt,) = counted(alone)
    want = wanted(name)
    assert {part: attempt[part] for part in want} == want


def together(session: dict[str, Any], sub_agent: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a session with the calls of its sub-agent."""
    events = dict(session["events"])
    for kind in ("tool_call", "tool_result"):
        events[kind] += sub_agent["events"][kind]
    return session | {
        "events": events,
        "tools": dict(Counter(session["tools"]) + Counter(sub_agent["tools"])),
        "tool_errors": session["tool_errors"] + sub_agent["tool_errors"],
    }


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_without_a_reader_is_refused_by_its_tools_name(name: str) -> None:
    assert all("there is no reader for it" in problem for problem in refused(FILES / name))
