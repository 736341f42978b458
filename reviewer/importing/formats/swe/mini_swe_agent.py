"""mini-swe-agent trajectories (`.traj.json`): 2.x, 1.x, and bare message lists.

Replies that could not be parsed are counted and billed but not always stored; cost is the run's
own figure. 1.x and bare lists hold the command in the text and its result in the next message.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.importing.draft import Draft, amount, elapsed_ms, measured, words
from reviewer.importing.formats.base import Format, folder_names
from reviewer.importing.formats.swe import (
    EXCEPTION_CHARS,
    end_state,
    joined,
    suite_of,
    verdict_of,
)
from reviewer.importing.formats.swe.mini_turns import Turns
from reviewer.importing.formats.values import at_path, mapping, present
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.rest import tell_rest
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH

_ENDS = {
    "Submitted": "agent_stop",
    "LimitsExceeded": "limits_exceeded",
    "TimeExceeded": "timeout",
    "RepeatedFormatError": "format_error",
    "ContextWindowExceededError": "context_window_exceeded",
    "ContentPolicyViolationError": "content_policy",
    "UserInterruption": "user_stop",
    "KeyboardInterrupt": "user_stop",
}
_INFRASTRUCTURE = frozenset(
    (
        *("APIConnectionError", "APIError", "AuthenticationError", "BadGatewayError"),
        *("CalledProcessError", "ConnectionError", "InternalServerError", "NotFoundError"),
        *("PermissionDeniedError", "RateLimitError", "ServiceUnavailableError"),
        *("Timeout", "TimeoutExpired"),
    )
)
"""Exceptions of the model's service or of the sandbox: the run died, the agent did not end it."""
_FENCE = re.compile(r"```(?:bash|mswea_bash_command)[ \t]*\n")
_RETURNED = re.compile(r"\s*<returncode>")


HARMLESS = frozenset(
    # how the run was set up, before anything ran
    ("config",)
)


class MiniSweAgentReader(Format):
    name = "mini-swe-agent"

    def sniff(self, head: Head) -> bool:
        value = head.value
        if isinstance(value, list):
            return _bare(value)
        if not isinstance(value, dict) or "info" not in value:
            return False
        info = value["info"]
        if not isinstance(info, dict) or {"trajectory", "history"} & set(value):
            return False
        ours = "mini_version" in info or "mini-swe-agent" in str(value.get("trajectory_format"))
        if ours or {"exit_status", "submission"} & set(info):
            return {"info", "messages"} <= head.names and (
                ours or "trajectory_format" in head.names or "model_stats" in info
            )
        return False

    def candidate_id(self, path: Path) -> str:
        folder, above = folder_names(path, 2)
        run = above if folder == _stem(path) else folder
        return f"mini-swe-agent {run}".strip()

    def placed(self, path: Path) -> tuple[str, ...]:
        return path.name, self.candidate_id(path)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        yield source.attempt(lambda: _attempt(self, source))


def _attempt(reader: MiniSweAgentReader, source: Source) -> Foreign:
    rest = _rest(source)
    info = mapping(rest.get("info"))
    config = mapping(info.get("config"))
    draft = Draft("mini-swe-agent")
    _start(draft, config.get("environment"))
    turns = Turns(draft, recorded=rest.get("trajectory_format") == "mini-swe-agent-1.1")
    for number, message in enumerate(_messages(source)):
        turns.take(message)
        tell_rest(message, draft, f"messages[{number}]", HARMLESS, turns.repeated)
    tell_rest(rest, draft, "", HARMLESS)
    if not draft.events and "messages" not in rest:
        draft.unread("messages")
    status, patch = info.get("exit_status") or turns.exit_status, info.get("submission")
    turns.end(patch, status)
    stats = info.get("model_stats")
    usage = turns.usage(amount(at_path(stats, "api_calls")))
    episode_id = _episode(source.path, rest, draft)
    candidate, model = _candidate(reader, source.path, info, config, draft)
    _facts(draft, rest, info, config, turns)
    candidate = source.candidate or candidate
    run = reader.candidate_id(source.path).removeprefix("mini-swe-agent").strip()
    found = joined(source, draft, episode_id, model, patch, candidate, (run,))
    if status == "Submitted" and not patch:
        draft.note("the run ended as submitted and its submission is empty")
    return draft.foreign(
        episode_id=episode_id,
        candidate_id=candidate,
        final_state=end_state("submission", patch),
        final_message=draft.last_words(),
        cost_usd=_cost(draft, stats, turns),
        latency_ms=elapsed_ms(turns.first, turns.last),
        started_at=draft.at(turns.first),
        termination=termination_of(status),
        usage=usage,
        verdict=verdict_of(found, _exception(info, status)),
        user_request=turns.task,
        suite=suite_of(episode_id, reader.suite_id(source.path)),
    )


def _rest(source: Source) -> dict[str, Any]:
    """Return all members but the messages; nothing of a bare list. Raises Rejected."""
    rest: dict[str, Any] = {}
    for part in source.walk(("messages", EACH), (EACH,)):
        if part.problem or not part.path:
            raise Rejected(part.problem or "type:record")
        name = part.path[0]
        if isinstance(name, str) and name != "messages":
            rest[name] = source.value(part.raw)
    return rest


def _messages(source: Source) -> Iterator[Any]:
    """Yield messages one at a time: of the object's `messages`, or of a bare list. Raises
    Rejected."""
    for part in source.walk(("messages", EACH), (EACH,)):
        if part.problem:
            raise Rejected(part.problem)
        if part.path and (part.path[0] == "messages" or isinstance(part.path[0], int)):
            if part.path == ("messages",):
                raise Rejected("type:messages")
            yield source.value(part.raw)


def _bare(value: list[Any]) -> bool:
    """Return whether messages have nothing but role and content, of which some assistant message
    holds a command block and a later one what it returned or handed in."""
    if len(value) < 3 or not all(_plain(one) for one in value):
        return False
    if [one["role"] for one in value[:3]] != ["system", "user", "assistant"]:
        return False
    if any(one["role"] not in ("system", "user", "assistant") for one in value):
        return False
    fenced = [one for one in value if one["role"] == "assistant" and _fenced(one["content"])]
    returned = [one for one in value if one["role"] == "user" and _returned(one["content"])]
    return bool(fenced and returned)


def _plain(message: Any) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return False
    return {"role", "content"} <= set(message) <= {"role", "content", "timestamp"}


def _fenced(content: Any) -> bool:
    return isinstance(content, str) and _FENCE.search(content) is not None


def _returned(content: Any) -> bool:
    text = words(content)
    return isinstance(text, str) and _RETURNED.match(text) is not None


def _start(draft: Draft, environment: Any) -> None:
    if isinstance(environment, dict):
        known = {name: environment[name] for name in ("image", "cwd") if environment.get(name)}
        if known:
            draft.state(known)


def _stem(path: Path) -> str:
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    for ending in (".traj.json", ".trajectory.json", ".json", ".traj"):
        name = name.removesuffix(ending)
    return name


def _episode(path: Path, rest: dict[str, Any], draft: Draft) -> str:
    stated = rest.get("instance_id")
    if isinstance(stated, str) and stated:
        return stated
    draft.note("the file names no instance: the episode is its file's name")
    return _stem(path)


def _candidate(
    reader: MiniSweAgentReader,
    path: Path,
    info: dict[str, Any],
    config: dict[str, Any],
    draft: Draft,
) -> tuple[str, str]:
    """Return (candidate, configured model)."""
    model = at_path(config, "model", "model_name")
    if not isinstance(model, str) or not model:
        draft.note("the file names no model: the candidate is taken from its folder")
        return reader.candidate_id(path), ""
    version = info.get("mini_version")
    return f"mini-swe-agent {version} {model}" if version else f"mini-swe-agent {model}", model


def _facts(
    draft: Draft, rest: dict[str, Any], info: dict[str, Any], config: dict[str, Any], turns: Turns
) -> None:
    """Keep what has no place of its own in a trace."""
    agent = mapping(config.get("agent"))
    facts = {
        "trajectory_format": rest.get("trajectory_format") or "messages only",
        "exit_status": info.get("exit_status"),
        "agent_type": config.get("agent_type"),
        "api_calls": at_path(info, "model_stats", "api_calls"),
        "step_limit": measured(agent.get("step_limit")),
        "cost_limit": measured(agent.get("cost_limit")),
        "mode": agent.get("mode"),
        "served_models": sorted(turns.served) or None,
    }
    draft.source.update(present(facts))


def _cost(draft: Draft, stats: Any, turns: Turns) -> float | None:
    if not isinstance(stats, dict):
        draft.note("the file holds no run information: no cost, no end, no submission")
        return None
    cost = measured(stats.get("instance_cost"))
    if cost is None:
        draft.note("a cost of 0 says that no price was known: not measured")
    elif turns.cost and abs(turns.cost - cost) > 1e-6 * max(cost, turns.cost):
        draft.note("the run's cost differs from the sum of its stored replies: the run's was taken")
    return cost


def termination_of(status: Any) -> str | None:
    """Return an exit status in our terms; None when there is none."""
    if not isinstance(status, str) or not status:
        return None
    if status in _INFRASTRUCTURE:
        return "infrastructure_error"
    return _ENDS.get(status, "error")


def _exception(info: dict[str, Any], status: Any) -> str | None:
    """Return what the run died of; limits and submissions are no exceptions."""
    text = info.get("exception_str")
    if not text and (not isinstance(status, str) or status in _ENDS or not status):
        return None
    told = f"{status}: {text}" if text else str(status)
    return told[:EXCEPTION_CHARS]
