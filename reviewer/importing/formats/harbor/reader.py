"""Harbor jobs and trials: `<job>/<trial>/result.json` with the trial's folder around it.

A trial is an attempt; its steps are in an ATIF trajectory beside the result, or in one for each
step of the trial. Trials have no number: they are read in the order in which they ran. A job's own
`result.json` only summarizes its trials.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.draft import Draft, added, elapsed_ms, tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import (
    Format,
    at_path,
    clipped,
    each_record,
    files_below,
    folder_names,
    mapping,
    present,
    shown,
    slug,
    started_ms,
    tell_rest,
    value_of,
    whole_value,
)
from reviewer.importing.formats.harbor import (
    RESULTS,
    TOLERANCE,
    candidate_of,
    contexts,
    ended,
    episode_of,
    is_job,
    is_trial,
    rewards_of,
    steps_of,
    suite_of,
    used,
    verdict_of,
)
from reviewer.importing.formats.harbor.atif import TrajectoryFiles, describe, is_atif, parts_of
from reviewer.importing.formats.harbor.atif_steps import StepWriter, agent_of, differ, object_in
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH
from reviewer.trace.record import SourceVerdict

# A trial as an attempt ----------------------------------------------------------------------------

PLACES = (
    "agent/trajectory.json", "trajectory.json", "agent/trajectory.atif.json",
    "trajectory.atif.json",
)  # fmt: skip
REWARD_FILES = ("verifier/reward.json", "verifier/reward.txt", "reward.json", "reward.txt")
MESSAGE = 4000
HARMLESS = frozenset(
    (
        # how agent, environment and verifier were set up, before anything ran
        *("config", "task_id", "agent_info"),
        # the verifier's output, and how long each phase took
        *("verifier_result", "verifier", "environment_setup", "agent_setup"),
    )
)


class _TrialStep(NamedTuple):
    """One step of a trial and its trajectory; a trial without steps counts as one."""

    name: str
    file: Path | None


def attempt(source: Source, raw: bytes, folder: Path | None) -> Foreign:
    """Return a trial's result as an attempt; `folder` is the trial's own, None when it has none.
    Raises Rejected."""
    trial = source.value(raw)
    if not is_trial(trial):
        raise Rejected("type:record")
    draft = Draft("harbor", answers=False)
    scenes = list(_scenes(trial, folder, set(source.companions)))
    writer = _told(draft, scenes, trial)
    tell_rest(trial, draft, "", HARMLESS)
    _errors(draft, trial)
    _facts(draft, trial, folder)
    verdict = _with_files(verdict_of(trial, draft), trial, folder, source, draft)
    totals = writer.usage.settled(draft) if len(scenes) < 2 else None
    counts = {key: used(trial, f"n_{key}_tokens") for key in ("input", "output", "cache")}
    cost = used(trial, "cost_usd")
    costs = [one.get("cost_usd") for one in contexts(trial)]
    if cost is None and any(costs):
        draft.note("a step of the trial states no cost: the trial's cost is not measured")
    elif cost is None and 0 in costs:
        draft.note("the trial's cost of 0 means that it was not measured")
    stated = tokens(
        input_tokens=counts["input"], output_tokens=counts["output"], cached_tokens=counts["cache"]
    )
    if totals is not None and differ((counts["input"], totals.input), (cost, totals.cost_usd)):
        draft.note("the trial's usage differs from its trajectory's: the trial's is taken")
    request = source.text(folder / "instruction.md") if folder else None
    started = trial.get("started_at")
    return draft.foreign(
        episode_id=episode_of(trial),
        candidate_id=source.candidate or candidate_of(trial) or slug(*folder_names(source.path, 1)),
        final_message=writer.final,
        cost_usd=totals.cost_usd if cost is None and totals else cost,
        latency_ms=_latency(trial),
        termination=ended(trial).termination,
        started_at=draft.at(started),
        usage=stated or (totals.usage() if totals else None),
        verdict=verdict,
        title=episode_of(trial),
        user_request=request or writer.request,
        suite=suite_of(trial),
    )


def _scenes(
    trial: dict[str, Any], folder: Path | None, companions: set[Path]
) -> Iterator[_TrialStep]:
    steps = [str(step.get("step_name") or "") for step in steps_of(trial)]
    if not steps:
        yield _TrialStep("", _trajectory(folder, companions) if folder else None)
    for name in steps:
        place = folder / "steps" / name if folder else None
        yield _TrialStep(name, _trajectory(place, companions) if place else None)


def _trajectory(folder: Path, companions: set[Path]) -> Path | None:
    """Return the ATIF trajectory below a folder; for agents that use another file name, their logs
    are searched."""
    for place in PLACES:
        if (folder / place) in companions:
            return folder / place
    own = [one for one in companions if one.parent == folder / "agent" and one.suffix == ".json"]
    for file in sorted(own, key=lambda one: (len(one.name), one.name)):
        try:
            if "trajectory" in file.name and is_atif(Head(file).value):
                return file
        except (Unreadable, OSError):
            continue
    return None


def _told(draft: Draft, scenes: list[_TrialStep], trial: dict[str, Any]) -> StepWriter:
    known: TrajectoryFiles | None = None
    writer = StepWriter(draft, lambda ref: known.sub_agent(ref) if known else None)
    before: list[Any] = []
    for scene in scenes:
        if scene.name:
            draft.message("system", {"step": scene.name})
        known = TrajectoryFiles(scene.file) if scene.file else None
        document = known.document(scene.file) if known and scene.file else None
        if known is None or document is None:
            draft.note("no readable ATIF trajectory is next to the result")
            if scene.file:
                draft.unread(PLACES[0])
            elif ended(trial).termination != "infrastructure_error":
                draft.absent(PLACES[0])
            continue
        _described(draft, document, trial)
        own = [_same(step) for step in document["steps"]]
        again = len(before) if before and own[: len(before)] == before else 0
        if again:
            draft.note("a resumed session repeats its earlier steps: they are counted once")
        try:
            for number, part in enumerate(parts_of(document, known, draft)):
                writer.part(part, 0 if number else again)
        except (Rejected, TypeError, ValueError, AttributeError) as error:
            # The verdict is in another file: a malformed step does not lose it.
            said = str(error) if isinstance(error, Rejected) else f"shape:{type(error).__name__}"
            draft.note(f"the trajectory cannot be read from here on: {said}")
            draft.unread(PLACES[0])
        before = own
        tell_rest(document, draft, scene.file.name if scene.file else "")
    writer.close()
    return writer


def _described(draft: Draft, document: dict[str, Any], trial: dict[str, Any]) -> None:
    try:
        describe(draft, document)
        names = {agent_of(document).name, object_in(trial, "agent_info").get("name")} - {"", None}
    except Rejected:
        return  # reading the trajectory itself reports what is wrong
    if len(names) > 1:
        draft.note("the trajectory names another agent than the trial")


def _same(step: Any) -> bytes:
    """Return what distinguishes a step from another, ignoring its number and its time."""
    names = ("source", "message", "tool_calls")
    told = [step.get(name) for name in names] if isinstance(step, dict) else step
    return msgspec.json.encode(told)


def _errors(draft: Draft, trial: dict[str, Any]) -> None:
    for holder in (trial, *steps_of(trial)):
        info = object_in(holder, "exception_info")
        if info:
            said = f"{info.get('exception_type')}: {info.get('exception_message') or ''}"
            draft.error(clipped(said, MESSAGE), at=info.get("occurred_at"))


def _facts(draft: Draft, trial: dict[str, Any], folder: Path | None) -> None:
    config = object_in(trial, "config")
    facts = {
        "trial": trial.get("trial_name"),
        "id": trial.get("id"),
        "job": config.get("job_id") or (folder.parent.name if folder else None),
        "task_id": trial.get("task_id"),
        "task_checksum": trial.get("task_checksum"),
        "dataset": trial.get("source"),
        "agent_config": {k: v for k, v in object_in(config, "agent").items() if k != "env"} or None,
    }
    draft.source.update(present(facts))
    if config.get("source_trial"):
        draft.note("a regrade: the attempt is another trial's, judged again")
    if config.get("user_agent"):
        draft.note("the simulated user's own trajectory is not read")


def _latency(trial: dict[str, Any]) -> float | None:
    """Return the running time of the agent, over all its steps."""
    spans = [object_in(one, "agent_execution") for one in (steps_of(trial) or [trial])]
    return added([elapsed_ms(one.get("started_at"), one.get("finished_at")) for one in spans])


def _with_files(
    verdict: SourceVerdict,
    trial: dict[str, Any],
    folder: Path | None,
    source: Source,
    draft: Draft,
) -> SourceVerdict:
    """Return the verdict with the contents of reward files beside it and its steps; neither
    replaces it."""
    detail = dict(verdict.detail)
    steps = [{"step": one.get("step_name"), "rewards": rewards_of(one)} for one in steps_of(trial)]
    if steps:
        detail["steps"] = steps
    in_file = _reward_file(folder, source) if folder else None
    rewards = rewards_of(trial)
    if in_file is not None and rewards is None:
        draft.note("the result has no reward but a reward file is next to it: not taken")
        detail["reward_file"] = in_file
    elif in_file is not None and rewards is not None and _contradict(in_file, rewards):
        draft.note("the reward file next to the result says otherwise: the result is taken")
        detail["reward_file"] = in_file
    return SourceVerdict(
        passed=verdict.passed,
        reward=verdict.reward,
        exception=verdict.exception,
        detail=detail,
    )


def _reward_file(folder: Path, source: Source) -> dict[str, float] | None:
    for place in REWARD_FILES:
        text = source.text(folder / place)
        if text is None:
            continue
        value = parse_text(text.strip())
        rewards = value if isinstance(value, dict) else {"reward": value}
        return rewards_of({"verifier_result": {"rewards": rewards}})
    return None


def _contradict(one: dict[str, float], two: dict[str, float]) -> bool:
    shared = set(one) & set(two)
    return any(abs(one[name] - two[name]) > TOLERANCE for name in shared)


# The reader ---------------------------------------------------------------------------------------

_MEMBERS = {"trial_name", "task_name"}
_SIGNS = ("config.json", "agent", "verifier", "steps", "trajectory.atif.json", "trajectory.json")


class HarborReader(Format):
    name = "harbor"
    facts = FormatFacts(
        by="`task_name, trial_name` with a trial's members; a job's `stats`",
        steps="through ATIF",
        tools="through ATIF",
        times="phases and steps",
        cost="trial, else ATIF; 0 is null",
        tokens="trial, else ATIF",
        verdict="reward 1 or 0; others none",
        attempt="order of start",
        beside="the trial's folder, its ATIF trajectories",
    )

    def sniff(self, head: Head) -> bool:
        value = head.first
        if is_trial(value) or is_job(value):
            return True
        # A trial with token ids may show nothing else in its first part.
        near = isinstance(value, dict) and bool(_MEMBERS & set(value) or "agent_result" in value)
        return near and not head.whole and is_trial(dict.fromkeys(head.names))

    def candidate_id(self, path: Path) -> str:
        return slug(*folder_names(path, 1))

    def companions(self, path: Path) -> tuple[Path, ...]:
        folder = _own_folder(path)
        return files_below(folder, path) if folder else ()

    def ran_at(self, path: Path) -> float:
        """Return when the trial started, in milliseconds since 1970; infinity when it is
        unknown."""
        return started_ms(at_path(shown(path), "started_at"))

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        if is_job(shown(source.path)):
            yield from _job(source)
            return
        folder = _own_folder(source.path)
        yield from each_record(source, lambda one: attempt(source, one.raw, folder), "trial")


def _own_folder(path: Path) -> Path | None:
    """Return the folder of the only trial whose result a file contains; None when the file is not a
    trial's own."""
    if path.name not in RESULTS:
        return None
    value, folder = whole_value(path), path.parent
    if not is_trial(value):
        return None
    own = folder.name == value["trial_name"] or any((folder / one).exists() for one in _SIGNS)
    return folder if own else None


def _job(source: Source) -> Iterator[Foreign | Broken]:
    """Yield the trials that a summary itself contains and that have no folder; add notes on the
    others."""
    source.sums_up = True
    beside = set(_trial_folders(source.path.parent))
    stats: dict[str, Any] = {}
    held = 0
    for part in source.walk(("trial_results", EACH)):
        if part.path[:1] == ("trial_results",) and len(part.path) == 2:
            trial = value_of(source, part)
            if isinstance(trial, dict) and str(trial.get("trial_name")) in beside:
                continue
            held += 1
            name = f"trial_results[{part.path[1]}]"
            if part.problem:
                yield Broken((part.problem,), name)
            else:
                yield source.attempt(partial(attempt, source, part.raw, None), name)
        elif part.path == ("stats",):
            stats = mapping(value_of(source, part))
    if not beside and not held:
        source.notes.add("a job's summary without its trials: import the folders of the trials")
        return
    source.notes.add("a job's summary: its trials are imported from their own results")
    declared = stats.get("n_completed_trials", stats.get("n_trials"))
    if isinstance(declared, int) and declared != len(beside) + held:
        source.notes.add("the job declares another number of trials than are next to it")


def _trial_folders(folder: Path) -> Iterator[str]:
    for one in sorted(folder.iterdir()):
        if one.is_dir() and any((one / name).is_file() for name in RESULTS):
            yield one.name
