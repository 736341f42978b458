"""tau-bench result files (sierra-research/tau-bench): one array, one object per task and trial.

The file names neither the domain nor the agent; both are taken from the file's name and noted. It
records no time, no agent cost and only a hash of the expected database: those stay null.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.importing.draft import Draft, Status, amount, measured
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.formats.base import (
    SAYS_BOTH,
    agreed,
    at_path,
    expected_actions,
    mapping,
    objects,
    sequence,
    tell_rest,
    text,
)
from reviewer.importing.head import Head
from reviewer.importing.reader import Foreign, Rejected
from reviewer.trace.record import SourceVerdict

KEYS = {"task_id", "reward", "info", "traj", "trial"}
TOLERANCE = 1e-6  # the benchmark's own: success is |reward - 1| <= 1e-6
HARMLESS = frozenset(
    # the task's expected actions, and the checks of them: none is the agent's
    ("task", "reward_info", "actions")
)
STOP = "###STOP###"
TRANSFER = "transfer_to_human_agents"


class TauBenchReader:
    name = "tau-bench"
    facts = FormatFacts(
        by="`task_id, reward, info{}, traj[], trial`",
        cost="no (only the user's)",
        verdict="reward and its check",
        attempt="trial + 1",
    )
    version = "2"
    probe = True

    def sniff(self, head: Head) -> bool:
        if not head.has(*KEYS):
            return False
        return isinstance(head.first["traj"], list) and isinstance(head.first["info"], dict)

    def suite_id(self, path: Path) -> str:
        domain = re.search(r"airline|retail", path.stem)
        return f"tau-bench-{domain.group()}" if domain else "tau-bench"

    def candidate_id(self, path: Path) -> str:
        return path.stem

    def read(self, raw: bytes, candidate_id: str) -> Foreign:
        forgiven: set[str] = set()
        try:
            record = parse(raw, forgiven)
        except NotJson as error:
            raise Rejected(f"json: {error}") from None
        if problems := _problems(record):
            raise Rejected(*problems)
        draft = Draft("tau-bench")
        draft.note("tau-bench records no time, no agent cost and no final state")
        draft.note("domain and candidate are taken from the file name")
        for note in sorted(forgiven):
            draft.note(note)
        _add_events(draft, record["traj"])
        tell_rest(record, draft, "", HARMLESS, messages=record["traj"])
        info, reward = record["info"], float(record["reward"])
        draft.source.update(trial=record["trial"], reward=reward)
        if (spent := amount(info.get("user_cost"))) is not None:
            draft.source["user_cost_usd"] = spent
        if info.get("error") and not record["traj"]:
            draft.note("the run broke and nothing of it was recorded")
        instruction = at_path(info, "task", "instruction")
        passes = abs(reward - 1.0) <= TOLERANCE
        passed = agreed(passes, _parts(info.get("reward_info")))
        if passed is not passes:
            draft.note(SAYS_BOTH)
        return draft.foreign(
            episode_id=record["task_id"],
            candidate_id=candidate_id,
            attempt=record["trial"] + 1,
            final_message=draft.last_words(),
            termination=_termination(record),
            verdict=SourceVerdict(
                passed=passed,
                reward=reward,
                exception=str(info["error"])[:200] if info.get("error") else None,
                detail={
                    **_detail(info.get("reward_info")),
                    **_beside(info),
                    **expected_actions(_expected(at_path(info, "task", "actions"))),
                },
            ),
            title=f"task {record['task_id']}",
            user_request=text(instruction),
        )


def _problems(record: Any) -> list[str]:
    if not isinstance(record, dict):
        return ["type:record"]
    missing = [f"missing:{key}" for key in sorted(KEYS - set(record))]
    if missing:
        return missing
    wanted: dict[str, type | tuple[type, ...]] = {
        "task_id": (int, str),
        "reward": (int, float),
        "info": dict,
        "traj": list,
        "trial": int,
    }
    wrong = [
        f"type:{key}"
        for key, kind in sorted(wanted.items())
        if not isinstance(record[key], kind) or isinstance(record[key], bool)
    ]
    if not wrong and record["trial"] < 0:
        wrong.append("type:trial")
    if not wrong and not -1e9 < record["reward"] < 1e9:
        wrong.append("not_finite:reward")
    wrong += [
        f"type:traj[{n}]"
        for n, message in enumerate(record["traj"] if isinstance(record["traj"], list) else [])
        if not isinstance(message, dict)
        or not isinstance(message.get("role"), str)
        or not isinstance(message.get("tool_calls") or [], list)
    ]
    return wrong


def _add_events(draft: Draft, messages: list[dict[str, Any]]) -> None:
    for message in messages:
        role, content = message["role"], message.get("content")
        if role == "tool":
            failed = isinstance(content, str) and content.startswith("Error")
            status: Status = "error" if failed else "ok"
            draft.result(content, message.get("tool_call_id"), message.get("name"), status)
            continue
        calls = [call for call in message.get("tool_calls") or [] if isinstance(call, dict)]
        if content is not None or not calls:
            draft.message("agent" if role == "assistant" else role, content)
        for call in calls:
            function = mapping(call.get("function"))
            draft.call(function.get("name"), function.get("arguments"), call.get("id"))


def _parts(reward_info: Any) -> Iterator[bool | None]:
    """Yield whether each check behind the reward, and its own reward, has passed."""
    checks = (at_path(reward_info, "info", name) for name in ("r_actions", "r_outputs"))
    for value in (*checks, at_path(reward_info, "reward")):
        yield value >= 1 - TOLERANCE if isinstance(value, (int, float)) else None


def _detail(reward_info: Any) -> dict[str, Any]:
    """Return which of its two checks determined the reward: the database's, or the agent's
    outputs."""
    checks = at_path(reward_info, "info")
    if not isinstance(checks, dict):
        return {}
    return {name: checks[name] for name in ("r_actions", "r_outputs", "outputs") if name in checks}


def _expected(actions: Any) -> Iterator[dict[str, Any]]:
    """Yield the calls that the task expects; "respond" is not a tool call."""
    for action in objects(sequence(actions)):
        if isinstance(action.get("name"), str) and isinstance(action.get("kwargs"), dict):
            yield {"name": action["name"], "arguments": action["kwargs"]}


def _beside(info: dict[str, Any]) -> dict[str, Any]:
    """Return the simulated user's cost, which is not part of the agent's cost."""
    spent = measured(info.get("user_cost"))
    return {} if spent is None else {"simulated_user": {"cost_usd": spent}}


def _termination(record: dict[str, Any]) -> str | None:
    """Return the end as the record shows it: its own error, the stop word, the transfer, else the
    step limit."""
    info, messages = record["info"], record["traj"]
    if info.get("error"):
        return "unexpected_error"
    last = messages[-1] if messages else {}
    if last.get("role") == "user" and STOP in str(last.get("content")):
        return "user_stop"
    if last.get("role") == "tool" and last.get("name") == TRANSFER:
        return "transfer"
    if info.get("reward_info", True) is None:
        return "max_steps"
    return None
