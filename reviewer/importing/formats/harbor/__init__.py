"""Harbor jobs and trials, and the ATIF trajectories in them or alone. This module reads a trial's
own result: its task, suite and candidate, its end, its reward and its usage."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, amount
from reviewer.importing.formats.base import (
    at_path,
    mapping,
    objects,
    present,
    slug,
    text,
    whole_value,
)
from reviewer.importing.formats.swe import is_instance
from reviewer.importing.formats.swe import suite_of as swe_suite
from reviewer.trace.record import SourceVerdict

RESULTS = ("result.json", "trial-result.json")
TOLERANCE = 1e-6  # graders write more digits into the result than into reward.txt
_SANDBOX = (
    "EnvironmentStartTimeoutError", "SandboxBuildFailedError", "AgentSetupTimeoutError",
    "HealthcheckError", "SandboxLikelyOutOfMemoryError", "MemoryLimitExceededError",
    "SSHAccessError", "GKEExecStreamClosedError", "GKEPodNotFoundError", "RuntimeRequestError",
    "AddTestsDirError", "DownloadVerifierDirError",
)  # fmt: skip
_PROVIDER = (
    "ApiError", "ApiRateLimitError", "ApiInternalServerError", "ApiOverloadedError",
    "ApiConnectionClosedError", "ApiResponseStalledError", "UnknownApiError",
    "NetworkConnectionError", "ApiConnectionError", "ApiUsageLimitError", "RateLimitError",
    "InternalServerError", "ServiceUnavailableError", "APIConnectionError", "APIError", "Timeout",
    "BadRequestError", "UnprocessableEntityError", "UnsupportedParamsError",
    "APIResponseValidationError", "BudgetExceededError", "AgentAuthenticationError",
    "ModelNotFoundError", "ApiProviderResourceNotFoundError", "AuthenticationError",
    "PermissionDeniedError", "NotFoundError", "UnsupportedModelParametersError",
)  # fmt: skip
_HARNESS = (
    "ServiceOperationsUnsupportedError", "VercelScopeError", "DspyImportError",
    "MissingExtraError", "RegradeError", "VerifierTimeoutError", "RewardFileNotFoundError",
    "RewardFileEmptyError", "VerifierOutputParseError", "CancelledError",
)  # fmt: skip
ENDS = {
    **dict.fromkeys((*_SANDBOX, *_PROVIDER, *_HARNESS), "infrastructure_error"),
    "AgentTimeoutError": "timeout",
    "ContextWindowExceededError": "context_window_exceeded",
    "ContextLengthExceededError": "context_window_exceeded",
    "OutputTokenExceededError": "output_length_exceeded",
    "OutputLengthExceededError": "output_length_exceeded",
    "AgentSafetyRefusalError": "refused",
    "ContentPolicyViolationError": "refused",
}
"""The end that Harbor's own policy gives an exception: a trial ended by the sandbox, the provider
or the harness counts for neither pass nor fail; any other name (a crash of the agent) is
`error`."""
VALID = frozenset(name for name, end in ENDS.items() if end != "infrastructure_error")
"""Exceptions that leave a reward valid in Harbor's own counting: the agent used up its budget, or
refused."""


def is_trial(value: Any) -> bool:
    """Return whether a value, as far as it is shown, is a trial's result."""
    if not isinstance(value, dict) or "is_resolved" in value or "task_name" not in value:
        return False
    signs = {"trial_uri", "task_checksum", "agent_info", "agent_result", "verifier_result"}
    signs |= {"exception_info", "step_results", "config"}
    return "trial_name" in value and bool(signs & set(value))


def is_job(value: Any) -> bool:
    """Return whether a value is a job's summary."""
    return isinstance(value, dict) and "n_total_trials" in value and "stats" in value


_ABOVE = 4
"""Most folders above a file in which its trial is searched."""


def around(path: Path) -> dict[str, Any] | None:
    """Return the trial that contains a file: its result, or its settings when it left no result."""
    inside = str(path.absolute())
    for _ in range(_ABOVE):
        below, inside = inside, os.path.dirname(inside)
        if inside == below:
            return None
        for name in (*RESULTS, "config.json"):
            # Most folders have none, and building a path is slower than looking it up.
            place = os.path.join(inside, name)
            if not os.path.isfile(place) or (file := Path(place)) == path:
                continue
            value = whole_value(file)
            if is_trial(value):
                return dict(value)
            task = at_path(value, "task")
            if name == "config.json" and isinstance(task, dict) and "trial_name" in value:
                return {"task_id": task, "source": task.get("source"), "config": value}
    return None


def task_name(task_id: Any) -> str:
    """Return the name in a task's id: a package's `org/name`, else the last part of its path."""
    if not isinstance(task_id, dict):
        return text(task_id)
    name, org, path = (task_id.get(key) for key in ("name", "org", "path"))
    if isinstance(name, str) and name:
        return f"{org}/{name}" if isinstance(org, str) and org else name
    return text(path).rstrip("/\\").replace("\\", "/").rpartition("/")[2]


def episode_of(trial: dict[str, Any]) -> str:
    """Return the task. A trial's own name is that of its task cut to 32 characters, so it is no
    id."""
    return _swe_instance(trial) or _task(trial)


def suite_of(trial: dict[str, Any]) -> str:
    """Return the data set, named after its repository when that says more (a version)."""
    source = text(trial.get("source"))
    if instance := _swe_instance(trial):
        return swe_suite(instance, "")
    url = text(at_path(trial, "task_id", "git_url")).rstrip("/").removesuffix(".git")
    repository = url.rpartition("/")[2]
    fuller = source and repository.lower().startswith(source.lower())
    return slug(repository if fuller else source) if source else "harbor"


def _task(trial: dict[str, Any]) -> str:
    name = trial.get("task_name")
    return name if isinstance(name, str) and name else task_name(trial.get("task_id"))


def _swe_instance(trial: dict[str, Any]) -> str:
    """Return the instance id of a task of the SWE benchmarks, whose attempts share one suite
    whichever tool ran them; empty for any other task."""
    task, source = _task(trial), trial.get("source")
    organization, _, name = task.rpartition("/")
    swe = "swe" in f"{source} {organization}".lower()
    return name if swe and is_instance(name) else ""


def candidate_of(trial: dict[str, Any]) -> str:
    """Return the agent, its version, the configured model, and the effort it was set to."""
    info = mapping(trial.get("agent_info"))
    settings = mapping(at_path(trial, "config", "agent"))
    served = mapping(info.get("model_info"))
    whole = "/".join(str(served[key]) for key in ("provider", "name") if served.get(key))
    name, version = info.get("name") or settings.get("name"), info.get("version")
    version = str(version).strip().partition("\n")[0] if version else ""
    effort = mapping(settings.get("kwargs")).get("reasoning_effort")
    parts = (
        str(name or ""),
        "" if version.lower() == "unknown" else version,
        str(settings.get("model_name") or whole),
        f"effort={effort}" if isinstance(effort, (str, int)) else "",
    )
    return " ".join(part for part in parts if part)


class Ending(NamedTuple):
    """The end of a trial: the word for it, and the exception's name if there was one."""

    termination: str | None
    exception: str | None


def ended(trial: dict[str, Any]) -> Ending:
    """Return how the trial ended. An exception in a step counts for the trial."""
    for name in _exceptions(trial):
        return Ending(ENDS.get(name, "error"), name[:200])
    return Ending("completed" if trial.get("finished_at") else None, None)


def _exceptions(trial: dict[str, Any]) -> list[str]:
    """Return the names of the exceptions of a trial and of its steps."""
    told = [mapping(one.get("exception_info")) for one in (trial, *steps_of(trial))]
    return [name for one in told if (name := text(one.get("exception_type")))]


def _counts(trial: dict[str, Any]) -> bool:
    """Return whether Harbor itself takes the reward of a trial. Newer ones state it: some
    exceptions of the agent leave it valid, as does a policy of the job's own."""
    names, stated = _exceptions(trial), trial.get("reward_valid")
    if stated is True:
        return all(ENDS.get(name) != "infrastructure_error" for name in names)
    return all(name in VALID for name in names) and not (names and stated is False)


def steps_of(trial: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the results of a trial's steps, none for a trial of one step."""
    return objects(trial.get("step_results"))


def rewards_of(holder: dict[str, Any]) -> dict[str, float] | None:
    """Return rewards by name, None when the verifier gave none."""
    found = mapping(holder.get("verifier_result")).get("rewards")
    if not isinstance(found, dict):
        return None
    known = {str(name): _reward(value) for name, value in found.items()}
    return present(known) or None


def verdict_of(trial: dict[str, Any], draft: Draft) -> SourceVerdict:
    """Return reward, exception and pass or fail together. Harbor has rewards and no threshold: 1
    passes, 0 fails, and a reviewer decides on values between."""
    rewards, end = rewards_of(trial), ended(trial)
    passed, reward = judged(rewards)
    given = mapping(mapping(trial.get("verifier_result")).get("rewards"))
    unmeasured = [name for name in given if name not in (rewards or {})]
    if unmeasured and "reward" not in (rewards or {}):
        # The remaining rewards may pass only because the failed one is not a number.
        passed = reward = None
        draft.note("a reward is no number: neither pass nor fail")
    elif rewards is None:
        draft.note("the trial has no verdict of a verifier: not scored")
    elif passed is None:
        draft.note("the reward is neither 0 nor 1, or several differ: neither pass nor fail")
    valid = rewards is not None and _counts(trial)
    if end.exception is not None and rewards is not None and not valid:
        draft.note("Harbor's own policy takes no reward of a trial that ended with this exception")
        passed = None if passed else passed  # a fail stays a fail
    detail: dict[str, Any] = {"rewards": rewards} if rewards else {}
    if end.exception is not None:
        detail["reward_valid"] = valid
    return SourceVerdict(passed=passed, reward=reward, exception=end.exception, detail=detail)


def judged(rewards: dict[str, float] | None) -> tuple[bool | None, float | None]:
    """Return (passed, reward) of named rewards: `reward` or the only one, else all of them
    alike."""
    if not rewards:
        return None, None
    only = next(iter(rewards.values())) if len(rewards) == 1 else None
    reward = rewards.get("reward", only)
    values = list(rewards.values()) if reward is None else [reward]
    for wanted in (True, False):
        if all(abs(value - wanted) <= TOLERANCE for value in values):
            return wanted, reward
    return None, reward


def _reward(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if -1e9 < value < 1e9 else None


def contexts(trial: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects with usage: the trial's own, else those of its steps."""
    own = mapping(trial.get("agent_result"))
    if own:
        return [own]
    return [context for step in steps_of(trial) if (context := mapping(step.get("agent_result")))]


def used(trial: dict[str, Any], name: str) -> float | None:
    """Return the sum of one figure over a trial's contexts; zero means "not measured", and so does
    a sum of which a part is missing. A prompt may have had no cached tokens."""
    values = [amount(one.get(name)) for one in contexts(trial)]
    known = [value for value in values if value or (value == 0 and name == "n_cache_tokens")]
    return sum(known) or None if len(known) == len(values) else None
