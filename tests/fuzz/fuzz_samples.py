"""Small files of every format that can be imported, each in a folder of its own.

Most are excerpts that stand in tests/data with their provenance; where a format needs several
files, the folder holds them all. `main` is the file that is named to the import.
"""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from doors import REPOSITORY, SHIPPED, V7

from reviewer.importing.formats import all_readers

DATA = REPOSITORY / "tests" / "data"
AGENTBENCH = "agentbench/Jan17v1/gpt-4o-mini/medagentbench-std"
AGENTLAB = "agentlab/2024-08-01_10-20-52_GenericAgent_on_miniwob.ascending-numbers_64_e6d2d5"
BFCL = "bfcl/result/gpt-4o-2024-11-20-FC"
TERMINAL_BENCH = "terminal_bench/runs/2025-08-07__20-00-00"
MESSAGES = (
    "agentdojo",
    "anthropic-messages",
    "autogen",
    "bedrock-converse",
    "gemini",
    "genai-messages",
    "hermes",
    "pi",
    "vercel-ai-model",
    "vercel-ai-ui",
)


class Sample(NamedTuple):
    """`folder` is below tests/data; `main` and `beside` are below `folder`. Only these files are
    copied; an empty `beside` with a `main` in a folder of its own means the one file."""

    folder: str
    main: str
    beside: tuple[str, ...] = ()
    whole: bool = False
    """The whole folder is copied: its layout is part of the format."""


SAMPLES: dict[str, tuple[Sample, ...]] = {
    "crewai-checkpoint": (
        Sample("crewai", "native_calls.json"),
        Sample("crewai/two", "20261128T065902_ff12eba8_p-20261128T065901_d310e902.json"),
    ),
    "ag2-log": (Sample("ag2", "calls.jsonl"), Sample("ag2", "error.jsonl")),
    "agentbench": (Sample(AGENTBENCH, "runs.jsonl", ("overall.json",)),),
    "agentevals": (
        Sample("langchain", "graph_trajectories.json"),
        Sample("langchain", "agentevals_test_trajectories.json"),
    ),
    "agentlab": (Sample(AGENTLAB, "summary_info.json", whole=True),),
    "atif": (
        Sample("atif", "exmp02_atif.json"),
        Sample("atif", "hello-world-context-summarization.trajectory.json", whole=True),
        Sample("atif", "hermes-nemoflow-smoke__native-hermes-trajectory.json"),
    ),
    "claude-code": (
        Sample("formats_c/claude-code", "9a7b165c-6146-4a06-b9c3-07c56c395f84.jsonl", whole=True),
    ),
    "claude-code-stream-json": (Sample("formats_c/claude-code", "stream-json.jsonl"),),
    "braintrust-logs": (Sample("formats_c/braintrust", "logs.jsonl"),),
    "cline": (
        Sample("messages", "cline.json"),
        Sample(
            "formats_c/cline/1795384839649_u3as6",
            "1795384839649_u3as6.messages.json",
            whole=True,
        ),
    ),
    "codex-rollout": (
        Sample(
            "formats_c/codex",
            "rollout-2026-11-22T21-42-56-01a20536-54a0-71b0-b275-ee1543810b71.jsonl",
        ),
    ),
    "codex-exec-json": (Sample("formats_c/codex", "exec-json.jsonl"),),
    "gemini-cli": (
        Sample("formats_c/gemini-cli/chats", "session-2026-11-22T21-53-4790c8e0.jsonl", whole=True),
    ),
    "opencode-export": (
        Sample("formats_c/opencode", "export-ses_dfac8bad5ffeyfA0i4QgVXnDrE.json", whole=True),
    ),
    "opencode-run": (Sample("sessions", "opencode-run.jsonl"),),
    "acp": (Sample("formats_c/acp", "opencode.jsonl"),),
    "mcp-traffic": (Sample("formats_c/mcp", "traffic.jsonl"),),
    "gaia": (Sample("smolagents", "rows.jsonl"),),
    "smolagents-memory": (
        Sample("smolagents", "memory.json"),
        Sample("smolagents", "run_result.json"),
    ),
    "google-adk-session": (
        Sample("formats_c/google-adk", "lamp-return-1.session.json"),
        Sample("formats_c/google-adk", "text_search_floral_dress.session.json"),
    ),
    "harbor": (
        Sample("harbor/job", "write-report__ddddddd/result.json", whole=True),
        Sample("harbor/job", "two-steps__eeeeeee/result.json", whole=True),
    ),
    "inspect": (
        Sample("inspect", "tool_errors.json"),
        Sample("inspect", "v0.3.41.eval"),
        Sample("inspect", "user_and_critic.eval"),
        Sample("inspect", "v0.3.135_pool.eval"),
    ),
    "jaeger": (Sample("jaeger", "k8s.json"),),
    "langchain": (
        Sample("langchain", "messages_to_dict.json"),
        Sample("langchain", "lc_dumps.json"),
    ),
    "langfuse": (
        Sample("langfuse", "microsoft-agent-2025-12-17.trace.json"),
        Sample("langfuse", "openai-agents-2025-09-30.trace.json"),
    ),
    "langgraph-history": (Sample("langgraph", "state_history.json"),),
    "langsmith-runs": (Sample("formats_c/langsmith", "tracer_runs.jsonl"),),
    "mini-swe-agent": (
        Sample("mini_swe_agent", "local.traj.json"),
        Sample("mini_swe_agent", "run/demo__tools-1/demo__tools-1.traj.json", whole=True),
    ),
    "mlflow-trace": (
        Sample("formats_c/mlflow", "trace_0.json"),
        Sample("formats_c/mlflow", "search_traces_df.jsonl"),
    ),
    "openai-agents": (
        Sample("openai_agents_sdk", "traces_ingest.json"),
        Sample("formats_c/openai-agents", "traces.jsonl"),
    ),
    "openai-agents-runstate": (Sample("formats_c/openai-agents", "run_state_pending.json"),),
    "openai-chat": (
        Sample("openai_chat", "langgraph_openai_messages.json"),
        Sample("openai_chat", "tau2_sft_excerpt.jsonl"),
    ),
    "openai-responses": (
        Sample("openai_responses", "test_agent_with_function_tool_spans.json"),
        Sample("openai_responses", "test_router_analytics_complete_workflow.json"),
    ),
    "claude-managed-agents": (Sample("managed_agents", "anthropic_managed_builtin_tools.jsonl"),),
    "openai-evals": (Sample("openai_evals", "output_items.json"),),
    "openhands": (
        Sample("openhands", "basic_interactions.json"),
        Sample("openhands", "sdk_events.jsonl"),
        Sample("openhands", "eval_output.jsonl"),
    ),
    "openinference": (Sample("openinference", "all-spans.json"),),
    "osworld": (
        Sample(
            "osworld",
            "traces/20250204-1/pyautogui/screenshot_a11y_tree/gpt-4o/libreoffice_calc/"
            "163789f0-c895-4a50-8207-17cbdd56ec38/traj.jsonl",
            whole=True,
        ),
    ),
    "otlp": (
        Sample("otlp", "pydantic_ai_v2.json"),
        Sample("otlp", "vercel_ai_6.0.326.otlp.jsonl"),
    ),
    "strands-session": (
        Sample("formats_c/strands/sessions/session_lamp-return-1", "session.json", whole=True),
    ),
    "opik-traces": (Sample("opik", "trace.json"),),
    "deepeval": (Sample("deepeval", "cases.json"), Sample("deepeval", "traced.json")),
    "opencode-db": (Sample("databases", "opencode.db"),),
    "goose-db": (Sample("databases", "goose.db"), Sample("databases", "goose-1.52.db")),
    "goose-session": (
        Sample("goose", "export.json"),
        Sample("goose", "20250709_094640.jsonl"),
        Sample("goose", "run.json"),
        Sample("goose", "run.stream.jsonl"),
    ),
    "google-adk-db": (
        Sample("databases", "google-adk.db"),
        Sample("databases", "google-adk-v0.db"),
    ),
    "openai-agents-db": (Sample("databases", "openai-agents.db"),),
    "deepeval-db": (Sample("databases", "deepeval.db"),),
    "promptfoo-db": (Sample("databases", "promptfoo.db"),),
    "crewai-db": (Sample("databases", "crewai.db"),),
    "bfcl": (
        Sample(f"{BFCL}/non_live", "BFCL_v4_parallel_result.json"),
        Sample(f"{BFCL}/multi_turn", "BFCL_v4_multi_turn_base_result.json"),
    ),
    "cline-task": (
        Sample("cline_task", "1777073160794/api_conversation_history.json", whole=True),
    ),
    "pi-session": (Sample("pi", "session.jsonl"), Sample("pi", "json-mode.jsonl")),
    "gemini-cli-stream-json": (Sample("gemini_cli", "stream-json.jsonl"),),
    "promptfoo": (Sample("promptfoo", "results.json"),),
    "swe-agent": (
        Sample("swe_agent", "function_calling_simple.traj", ("all_preds.jsonl", "args.yaml")),
    ),
    "swe-bench": (
        Sample("swe_bench", "run_report.json"),
        Sample("swe_bench", "check-harness.jsonl"),
        Sample("swe_bench", "pandas-dev__pandas.95280573.pr_53652/report.json", whole=True),
    ),
    "tau-bench": (Sample("tau_bench", "gpt-4o-airline-excerpt.json"),),
    "tau2-bench": (
        Sample("tau2/dir", "results.json", whole=True),
        Sample("tau2", "mock_single.json"),
    ),
    "tempo": (Sample("tempo", "tempo_export_with_batches.json"),),
    "terminal-bench": (
        Sample(
            TERMINAL_BENCH,
            "hello-world/hello-world.1-of-2.2025-08-07__20-00-00/results.json",
            whole=True,
        ),
        Sample(TERMINAL_BENCH, "results.json", whole=True),
    ),
    "vercel-ai-stream": (Sample("vercel_ai", "stream.sse"),),
    "weave-calls": (Sample("formats_c/weave", "calls.jsonl"),),
    "webarena": (Sample("webarena", "run_llama3-8b/render_0.html", whole=True),),
    "webarena-verified": (
        Sample("webarena_verified", "107/eval_result.json", whole=True),
        Sample("webarena_verified", "108/eval_result.json", whole=True),
    ),
    "hal": (Sample("", "gaia_hal_1748_UPLOAD.json"),),
    **{name: (Sample("messages", f"{name}.json"),) for name in MESSAGES},
    "native": (Sample("", f"{V7}.jsonl"),),
}


def formats() -> list[str]:
    """Every reader's name; a test holds SAMPLES to it."""
    return [reader.name for reader in all_readers()]


def laid_out(sample: Sample, to: Path) -> Path:
    """A copy of the sample below `to`; where its main file is."""
    to.mkdir(parents=True)
    if not sample.folder:
        made = to / sample.main
        if sample.main.endswith(".jsonl"):
            shutil.copy(SHIPPED / "traces" / sample.main, made)
        else:
            made.write_text(json.dumps(hal_run()), encoding="utf-8")
        return made
    root = DATA / sample.folder
    if sample.whole:
        shutil.copytree(root, to / root.name)
        return to / root.name / sample.main
    for name in (sample.main, *sample.beside):
        shutil.copy(root / name, to / name)
    return to / sample.main


def hal_run() -> dict[str, Any]:
    """A HAL run file made up after the members that hal-harness writes: none is published as it
    is."""
    user = {"role": "user", "content": "How heavy is a lamp?"}
    asked = {"name": "search", "arguments": '{"q": "lamp"}'}
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": asked}],
    }
    seen = {"role": "tool", "tool_call_id": "c1", "content": "5 kg"}

    def logged(number: int, messages: list[Any], answer: Any, task: str) -> dict[str, Any]:
        return {
            "id": f"call-{number}",
            "parent_id": None,
            "op_name": "openai.chat",
            "weave_task_id": task,
            "attributes": {"weave_task_id": task},
            "inputs": {"model": "o3-mini", "messages": messages},
            "output": {
                "choices": [{"message": answer}],
                "usage": {
                    "prompt_tokens": 10,
                    "completion_tokens": 2,
                    "prompt_tokens_details": {"cached_tokens": 4},
                },
            },
            "exception": None,
            "started_at": f"2025-06-01T10:00:0{number}+00:00",
        }

    done = {"role": "assistant", "content": "It is 5 kg."}
    return {
        "config": {
            "agent_name": "HAL Generalist",
            "benchmark_name": "gaia",
            "date": "2025-06-01",
            "run_id": "gaia_hal_1748",
            "agent_args": {"model_name": "o3-mini"},
        },
        "results": {
            "accuracy": 0.5,
            "successful_tasks": ["t-1"],
            "failed_tasks": ["t-2"],
            "total_cost": 1.25,
            "latencies": {"t-1": {"total_time": 2.5}, "t-2": {}},
        },
        "raw_eval_results": {
            "t-1": {"score": True, "explanation": "5 kg", "reward": 1.0},
            "t-2": {"score": 0, "explanation": "x", "reward": 0.0, "taken_actions": [asked]},
        },
        "raw_logging_results": [
            logged(3, [user, call, seen], done, "t-1"),
            logged(2, [user], call, "t-1"),
            logged(1, [user], {"role": "assistant", "content": "No idea."}, "t-2"),
        ],
        "task_prompts": {"t-1": "How heavy is a lamp?"},
        "total_usage": {},
        "total_cost": 1.25,
        "git_info": {},
        "agent_hash": "h",
        "wall_clock_times": {"t-2": 4.0},
        "task_step_counts": {"t-1": 3},
    }
