"""The check of a suite's files: shape, then meaning, all problems at once.

As to meaning, contradictions and empty promises of a contract are refused. Pure: bytes in, values
and problems out.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from reviewer.suite import values
from reviewer.suite.approvals import approval_problems
from reviewer.suite.argument_names import argument_problems
from reviewer.suite.blanks import blank_problems, without_faults_of_blanks
from reviewer.suite.border import as_problems, faults_of, without
from reviewer.suite.checks import check_file_problems, checks_of
from reviewer.suite.errors import NEAR, ContractError, Problem, json_path, likeness, shown
from reviewer.suite.gates import GATE_CODES
from reviewer.suite.label_check import label_limit_problems
from reviewer.suite.model import RED_TEAM, Budget, Episode, Expected, Policy, Suite, Tools
from reviewer.suite.power import Power
from reviewer.suite.rubric import JudgePrompt, Rubric
from reviewer.suite.soundness import soundness_problems
from reviewer.suite.strict_json import load_object
from reviewer.suite.tool_names import is_self
from reviewer.suite.toolset import Toolset, equipped
from reviewer.suite.toolset_check import toolset_problems
from reviewer.suite.user_check import user_problems
from reviewer.suite.value import Value
from reviewer.suite.wording import wording

T = TypeVar("T", bound=Value)


class SuiteCheck(NamedTuple):
    """The values of the files and their problems. A value is None where `problems` made it
    unusable."""

    suite: Suite | None
    rubric: Rubric | None
    judge: JudgePrompt | None
    problems: tuple[Problem, ...]
    toolset: Toolset | None = None


class _Reading(NamedTuple):
    """One file without its faulty members; `whole` when no member of the wrong type was dropped."""

    raw: dict[str, Any] | None
    problems: list[Problem]
    whole: bool


def check_suite(
    files: Mapping[str, bytes], digest: str = "", *, to_freeze: bool = False
) -> SuiteCheck:
    """Return every problem of a suite's locked files (path: content), and its values when there are
    none.

    `digest` is put into the value unchanged; the caller must ensure that it is the lock's.
    `to_freeze` also refuses a contract that cannot fail or cannot be met: suites that were frozen
    before this was checked keep working.
    """
    problems: list[Problem] = []
    head = _head(files, problems)
    toolset = _optional(files, values.TOOLSET_FILE, Toolset, problems)
    defaults = head.get("defaults", {})
    episodes: dict[str, Episode] = {}
    for path in sorted(files):
        if values.is_episode_file(path):
            episode = _episode(path, files[path], defaults, toolset, problems)
            if episode is not None:
                episodes[path] = episode
        elif path.startswith(values.EPISODES):
            reason = "the folder episodes may contain only <episode_id>.json"
            problems.append(Problem(path, "$", reason))
    problems += _across(head, episodes, files)
    if toolset is not None or values.TOOLSET_FILE not in files:
        faulty = {each.file for each in problems if each.path.startswith("$.simulator")}
        found = toolset_problems(toolset, episodes, files)
        problems += [each for each in found if each.file not in faulty]
    if to_freeze:
        problems += argument_problems(episodes, toolset)
        problems = _with_blanks(files, problems)
        wrong = {each.file for each in problems}
        sound = {path: each for path, each in episodes.items() if path not in wrong}
        if not wrong & {values.SUITE_FILE, values.TOOLSET_FILE}:
            problems += soundness_problems(sound, toolset)
    rubric = _optional(files, values.RUBRIC_FILE, Rubric, problems)
    problems += () if rubric is None else _strange_episodes(rubric, files)
    judge = _optional(files, values.JUDGE_FILE, JudgePrompt, problems)
    _optional(files, values.POWER_FILE, Power, problems)
    problems += label_limit_problems(head, rubric, files)
    problems += check_file_problems(files)
    if problems:
        return SuiteCheck(None, rubric, judge, tuple(problems), toolset)
    suite = values.suite_value(head, episodes.values(), digest, checks_of(files))
    return SuiteCheck(suite, rubric, judge, (), toolset)


def _read(data: bytes, file: str, kind: type[Value]) -> _Reading:
    try:
        raw = load_object(data, file)
    except ContractError as error:
        return _Reading(None, list(error.problems), False)
    faults = faults_of(raw, kind)
    if not faults:
        return _Reading(raw, [], True)
    rest = without(raw, [fault.where for fault in faults])
    whole = all(fault.unknown or fault.missing for fault in faults)
    return _Reading(rest, as_problems(file, faults), whole)


def _with_blanks(files: Mapping[str, bytes], problems: list[Problem]) -> list[Problem]:
    """Return the problems with one for each blank, in place of those of its shape."""
    blanks: list[Problem] = []
    for path, data in sorted(files.items()):
        if path in (values.SUITE_FILE, values.TOOLSET_FILE) or values.is_episode_file(path):
            try:
                blanks += blank_problems(path, load_object(data, path))
            except ContractError:
                continue  # reported where the file was read
    return [*without_faults_of_blanks(problems, blanks), *blanks] if blanks else problems


def _head(files: Mapping[str, bytes], problems: list[Problem]) -> dict[str, Any]:
    file = values.SUITE_FILE
    if file not in files:
        problems.append(Problem(file, "$", "is missing"))
        return {}
    reading = _read(files[file], file, Suite)
    problems += reading.problems
    raw = reading.raw or {}
    try:
        policy = values.policy_value(raw.get("policy", {}))
    except ContractError as error:
        problems += [] if reading.problems else error.problems
    else:
        problems += [Problem(file, path, reason) for path, reason in policy_problems(policy)]
    return raw


def _episode(
    path: str,
    data: bytes,
    defaults: dict[str, Any],
    toolset: Toolset | None,
    problems: list[Problem],
) -> Episode | None:
    reading = _read(data, path, Episode)
    problems += reading.problems
    if reading.raw is None:
        return None
    try:
        episode = values.episode_value(values.merge_defaults(defaults, reading.raw), path)
        found = episode_problems(equipped(episode, toolset), whole=reading.whole)
    except ContractError as error:
        # After a fault of shape the remaining members need not form an episode; the fault was
        # reported.
        problems += [] if reading.problems else error.problems
        return None
    problems += [Problem(path, where, reason) for where, reason in found]
    if path != f"{values.EPISODES}{episode.episode_id}.json":
        reason = f"`{shown(episode.episode_id)}` must be in a file with that name"
        problems.append(Problem(path, "$.episode_id", reason))
    return episode


def _across(
    head: dict[str, Any], episodes: dict[str, Episode], files: Mapping[str, bytes]
) -> list[Problem]:
    problems = []
    first: dict[str, str] = {}
    for path, episode in episodes.items():
        other = first.setdefault(episode.episode_id, path)
        if other != path:
            reason = f"`{shown(episode.episode_id)}` is also the id of {shown(other, 200)}"
            problems.append(Problem(path, "$.episode_id", reason))
    if not any(values.is_episode_file(path) for path in files):
        problems.append(Problem(values.SUITE_FILE, "$", "the suite has no episode"))
    listed = head.get("episodes")
    if listed is not None:
        problems += _listed(listed, {e.episode_id for e in episodes.values()}, files)
    return problems


def _listed(listed: list[str], known: set[str], files: Mapping[str, bytes]) -> list[Problem]:
    problems = []
    for i, episode_id in enumerate(listed):
        if f"{values.EPISODES}{episode_id}.json" not in files:
            reason = f"there is no episodes/{shown(episode_id)}.json"
            problems.append(Problem(values.SUITE_FILE, json_path(("episodes", i)), reason))
    for episode_id in sorted(known - set(listed)):
        reason = f"does not list `{shown(episode_id)}`, which is in the folder"
        problems.append(Problem(values.SUITE_FILE, "$.episodes", reason))
    return problems


def _strange_episodes(rubric: Rubric, files: Mapping[str, bytes]) -> Iterator[Problem]:
    for i, rule in enumerate(rubric.wording):
        for j, episode_id in enumerate(rule.episodes or ()):
            if f"{values.EPISODES}{episode_id}.json" not in files:
                path = json_path(("wording", i, "episodes", j))
                reason = f"there is no episodes/{shown(episode_id)}.json"
                yield Problem(values.RUBRIC_FILE, path, reason)


def _optional(
    files: Mapping[str, bytes], file: str, kind: type[T], problems: list[Problem]
) -> T | None:
    """Return a file that a suite may lack, None when it is missing or has a fault of shape."""
    if file not in files:
        return None
    reading = _read(files[file], file, kind)
    problems += reading.problems
    if reading.problems or reading.raw is None:
        return None
    return values.converted(reading.raw, kind, file)


# The names that `critical` of a contract may have: a gate, or a code that one may state.


_CODES = frozenset(code for codes in GATE_CODES.values() for code in codes)


def known_check(text: str) -> bool:
    """Return whether `text` names a gate, a code, or a code with a valid text after its colon.

    `missing` and `missing:` mean every missing part, `missing:verify_state` only that one.
    """
    head, colon, _ = text.partition(":")
    if f"{head}:" in _CODES:
        return True
    return text in _CODES or (not colon and text in GATE_CODES)


def near_check(text: str) -> str | None:
    """Return the gate or code that an unknown `text` most likely meant; None when none is similar.

    The text after a colon is kept where the code takes one.
    """
    written, _, rest = text.partition(":")
    known = sorted({*GATE_CODES, *(code.rstrip(":") for code in _CODES)})
    best = max(known, key=lambda word: likeness(written, word))
    if likeness(written, best) < NEAR:
        return None
    return f"{best}:{rest}" if rest and f"{best}:" in _CODES else best


Found = Iterator[tuple[str, str]]


def episode_problems(episode: Episode, *, whole: bool = True) -> list[tuple[str, str]]:
    """Return why this episode is refused; [] when it is a contract that can be met and missed.

    `whole` is False when members of the wrong type were left out before: then absent members are
    not reported.
    """
    problems = [
        *_tools(episode.tools),
        *_writes(episode),
        *_expected(episode),
        *_message(episode.expected),
        *_claims(episode.expected),
        *_steps(episode),
        *_critical(episode),
        *_simulator(episode),
        *approval_problems(episode),
        *user_problems(episode),
    ]
    if whole:
        problems += _absent(episode)
    return problems


def policy_problems(policy: Policy) -> list[tuple[str, str]]:
    """Return why this policy is refused (ranges of single numbers are the schema's)."""
    if policy.pass_hat.k > policy.attempts:
        reason = (
            f"pass^{policy.pass_hat.k} needs {policy.pass_hat.k} attempts per episode; "
            f"the policy plans {policy.attempts}"
        )
        return [("$.policy.pass_hat.k", reason)]
    return []


def _absent(episode: Episode) -> Found:
    expected = replace(episode.expected, message_reference=None)  # only shown, as is
    if expected.trajectory_match is None:
        expected = replace(expected, trajectory=())  # this: no trace fails by either
    silent = (
        _no_rule(episode.tools)
        and expected == Expected()
        and episode.budget == Budget()
        and not episode.writes
    )
    if silent:
        yield "$", "empty contract: no tools rule, nothing expected, no budget; any trace passes"
    if episode.category == "negative" and not episode.tools.forbidden:
        yield "$.tools.forbidden", "a negative episode must forbid at least one tool"
    if episode.category == "secondary" and not (episode.tools.required or expected.trajectory):
        yield "$.tools.required", "a secondary episode must name the tools to be selected"
    if episode.category == "golden" and not episode.tools.required and expected == Expected():
        yield "$.tools.required", "a golden episode must expect a tool, an end state or wording"
    if RED_TEAM in episode.tags and not _can_refuse(episode):
        reason = "a red-team episode must say what is refused: a tool, an end state or wording"
        yield "$.tags", reason


def _can_refuse(episode: Episode) -> bool:
    """Return whether the authority or the state gate can fail."""
    tools, expected = episode.tools, episode.expected
    return bool(
        tools.allowed is not None
        or tools.forbidden
        or tools.approvals
        or expected.final_state is not UNSET
        or expected.at_paths
        or expected.message_contains
        or expected.message_excludes
        or expected.claims
    )


def _no_rule(tools: Tools) -> bool:
    return (
        tools.allowed is None and not tools.required and not tools.forbidden and not tools.approvals
    )


def _tools(tools: Tools) -> Found:
    forbidden = set(tools.forbidden)
    for i, tool in enumerate(tools.required):
        if why := _closed(tools, tool):
            yield json_path(("tools", "required", i)), f"required tool `{shown(tool)}` {why}"
    for i, tool in enumerate(tools.allowed or ()):
        if tool in forbidden:
            reason = f"allowed tool `{shown(tool)}` is also forbidden"
            yield json_path(("tools", "allowed", i)), reason
    for i, tool in enumerate(sorted(tools.not_offered & forbidden)):
        reason = f"absent tool `{shown(tool)}` is also forbidden: no agent could try to call it"
        yield json_path(("tools", "absent", i)), reason
    for i, tool in enumerate(tools.approvals):
        if why := _closed(tools, tool):
            reason = f"tool `{shown(tool)}` needs approval but {why}"
            yield json_path(("tools", "approvals", i)), reason
    for i, actor in enumerate(tools.approvers):
        if is_self(actor):
            reason = (
                f"`{shown(actor)}` names an agent or a simulated user, who cannot approve anything"
            )
            yield json_path(("tools", "approvers", i)), reason


def _writes(episode: Episode) -> Found:
    for i, write in enumerate(episode.writes):
        if why := _closed(episode.tools, write.tool):
            yield json_path(("writes", i, "tool")), f"write `{shown(write.tool)}` {why}"
        for tool in write.verified_by:
            if why := _closed(episode.tools, tool):
                reason = f"verifying tool `{shown(tool)}` {why}"
                yield json_path(("writes", i, "verified_by")), reason
            if tool == write.tool:
                reason = f"write `{shown(tool)}` cannot verify itself"
                yield json_path(("writes", i, "verified_by")), reason


def _expected(episode: Episode) -> Found:
    expected = episode.expected
    for i, call in enumerate(expected.trajectory):
        if why := _closed(episode.tools, call.tool):
            path = json_path(("expected", "trajectory", i, "tool"))
            yield path, f"trajectory calls `{shown(call.tool)}`, which {why}"
    for tool in expected.arguments:
        if why := _closed(episode.tools, tool):
            path = json_path(("expected", "arguments", tool))
            yield path, f"arguments are expected of `{shown(tool)}`, which {why}"
    if expected.trajectory_match is not None and not expected.trajectory:
        yield "$.expected.trajectory_match", "there is no trajectory to match"
    strict = expected.trajectory_match == "strict" or episode.tools.order == "exact"
    length = len(expected.trajectory)
    if strict and length and episode.optimal_steps not in (None, length):
        reason = f"is {episode.optimal_steps}, but the strict trajectory has {length} calls"
        yield "$.optimal_steps", reason


def _message(expected: Expected) -> Found:
    for i, refused in enumerate(expected.message_excludes):
        for j, wanted in enumerate(expected.message_contains):
            if wording(refused) in wording(wanted):
                where = json_path(("expected", "message_contains", j))
                reason = (
                    f"`{shown(refused)}` must not be in the message, but {where} requires "
                    f"`{shown(wanted)}`, which contains it: no message could pass"
                )
                yield json_path(("expected", "message_excludes", i)), reason
                break


def _claims(expected: Expected) -> Found:
    for i, claim in enumerate(expected.claims):
        for j, denial in enumerate(claim.denials):
            if claim.says and all(wording(denial) in wording(text) for text in claim.says):
                path = json_path(("expected", "claims", i, "denials", j))
                yield (
                    path,
                    f"`{shown(denial)}` is in the claim itself: no message could pass",
                )


def _steps(episode: Episode) -> Found:
    most, wanted = episode.budget.max_steps, _least_calls(episode)
    needed = sum(wanted.values())
    if most is not None and needed > most:
        parts = ", ".join(f"{count} by {where}" for where, count in wanted.items() if count)
        calls = f"{needed} call{'s' if needed != 1 else ''}"
        yield "$.budget.max_steps", f"is {most}, but at least {calls} must be made: {parts}"


def _least_calls(episode: Episode) -> dict[str, int]:
    """Return the calls that no passing attempt can omit, by the member that requires them."""
    expected = episode.expected
    whole = expected.trajectory_match not in (None, "subset")
    made = [call.tool for call in expected.trajectory] if whole else []
    more = set(episode.tools.required).difference(made)
    called = more.union(made)
    # A contract with writes requires at least one proof, and one of each write that is called.
    proofs = [{tool for write in episode.writes for tool in write.verified_by}]
    proofs += [set(write.verified_by) for write in episode.writes if write.tool in called]
    unproven = bool(episode.writes) and any(called.isdisjoint(tools) for tools in proofs)
    return {
        "$.expected.trajectory": len(made),
        "$.tools.required": len(more),
        "$.writes": int(unproven),
    }


def _critical(episode: Episode) -> Found:
    for i, check in enumerate(episode.critical):
        if not known_check(check):
            near = near_check(check)
            hint = f" (did you mean `{shown(near)}`?)" if near else ""
            reason = f"`{shown(check)}` is neither a gate nor a code of a gate{hint}"
            yield json_path(("critical", i)), reason


def _simulator(episode: Episode) -> Found:
    simulated = (episode.simulator or {}).get("tools")
    if not isinstance(simulated, dict):
        return
    for i, tool in enumerate(episode.tools.required):
        if tool not in simulated:
            reason = f"required tool `{shown(tool)}` is not simulated: the episode could not pass"
            yield json_path(("tools", "required", i)), reason


def _closed(tools: Tools, tool: str) -> str | None:
    if tool in tools.forbidden:
        return "is forbidden"
    if tool in tools.not_offered:
        return "is absent from the session"
    if tools.allowed is not None and tool not in tools.allowed:
        return "is not allowed"
    return None
