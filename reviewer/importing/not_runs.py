"""Files that belong to a benchmark but hold no run: its tasks, its answers, totals of a run.

Named for an import they are refused by what they are; below a named folder they are passed over.
"""

from typing import Any

from reviewer.importing.head import Head

_JOURNAL = (b"avg_reward", b"std_err", b"n_completed", b"agent_name")


def reason(head: Head) -> str:
    """Why there is no run in a file that starts like this; empty for any other file."""
    line = head.text[:4096].partition(b"\n")[0]
    if all(name in line.split(b",") for name in _JOURNAL):
        return (
            "AgentLab's reproducibility journal, not runs: a row averages a whole study; import "
            "the study's folder with its summary_info.json files"
        )
    first: Any = head.first
    if not isinstance(first, dict):
        return ""
    if head.has("Question", "Final answer") and "model_answer" not in first:
        return "GAIA's answers, not runs: import the file an agent wrote"
    if head.has("intent", "eval", "sites") and ("task_id" in first or "intent_template" in first):
        return (
            "WebArena task configs, not runs: import the result folder with its "
            "render_<task id>.html"
        )
    if head.has("instruction", "evaluator") and "id" in first and "snapshot" in first:
        return "an OSWorld task config, not a run: import the result folder with its traj.jsonl"
    if {"chrome", "libreoffice_calc", "os"} <= set(first) and isinstance(first["os"], list):
        return "OSWorld's list of tasks, not runs: import the result folder with its traj.jsonl"
    if head.has("validation", "custom") and "total" in first and isinstance(head.value, dict):
        return "AgentBench totals, not runs: import the runs.jsonl beside it"
    return ""
