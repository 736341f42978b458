"""What a contract may not say, once its shape is right: contradictions and empty promises.

Pure functions on values; each problem is `(JSON path, reason)`.
"""

from collections.abc import Iterator

from msgspec import UNSET
from msgspec.structs import replace

from reviewer.suite.errors import json_path, shown
from reviewer.suite.gates import GATE_CODES
from reviewer.suite.model import RED_TEAM, Budget, Episode, Expected, Policy, Tools
from reviewer.suite.errors import NEAR, likeness
from reviewer.suite.tool_names import is_self
from reviewer.suite.wording import wording

# What a contract may name in `critical`: a gate, or a code that one may state.


_CODES = frozenset(code for codes in GATE_CODES.values() for code in codes)


def known_check(text: str) -> bool:
    """Whether `text` names a gate, a code, or a code with what may follow its colon.

    `missing` and `missing:` stand for every missing part, `missing:verify_state` for that one.
    """
    head, colon, _ = text.partition(":")
    if f"{head}:" in _CODES:
        return True
    return text in _CODES or (not colon and text in GATE_CODES)


def near_check(text: str) -> str | None:
    """The gate or code that an unknown `text` most likely meant; None when none is like it.

    What follows a colon is kept where the code takes it.
    """
    written, _, rest = text.partition(":")
    known = sorted({*GATE_CODES, *(code.rstrip(":") for code in _CODES)})
    best = max(known, key=lambda word: likeness(written, word))
    if likeness(written, best) < NEAR:
        return None
    return f"{best}:{rest}" if rest and f"{best}:" in _CODES else best


Found = Iterator[tuple[str, str]]


def episode_problems(episode: Episode, *, whole: bool = True) -> list[tuple[str, str]]:
    """Why this episode is refused; [] when it is a contract that can be met and missed.

    `whole` is False when members of the wrong type were left out before: then nothing is said of
    what is absent.
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
    ]
    if whole:
        problems += _absent(episode)
    return problems


def policy_problems(policy: Policy) -> list[tuple[str, str]]:
    """Why this policy is refused (ranges of single numbers are the schema's)."""
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
    """Whether the authority or the state gate can fail."""
    tools, expected = episode.tools, episode.expected
    return bool(
        tools.allowed is not None
        or tools.forbidden
        or tools.approvals
        or expected.final_state is not UNSET
        or expected.state
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
    for i, tool in enumerate(tools.approvals):
        if why := _closed(tools, tool):
            reason = f"tool `{shown(tool)}` needs approval but {why}"
            yield json_path(("tools", "approvals", i)), reason
    for i, actor in enumerate(tools.approvers):
        if is_self(actor):
            reason = (
                f"`{shown(actor)}` names an agent or a simulated user, whose word grants nothing"
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
                reason = f"write `{shown(tool)}` cannot be its own proof"
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
                    f"`{shown(refused)}` is refused in the message, but {where} wants "
                    f"`{shown(wanted)}`, which says it: no message could pass"
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
                    f"`{shown(denial)}` stands in the claim itself: no message could pass",
                )


def _steps(episode: Episode) -> Found:
    most, wanted = episode.budget.max_steps, _least_calls(episode)
    needed = sum(wanted.values())
    if most is not None and needed > most:
        parts = ", ".join(f"{count} by {where}" for where, count in wanted.items() if count)
        calls = f"{needed} call{'s' if needed != 1 else ''}"
        yield "$.budget.max_steps", f"is {most}, but at least {calls} must be made: {parts}"


def _least_calls(episode: Episode) -> dict[str, int]:
    """The calls that no passing attempt can leave out, by the member that wants them."""
    expected = episode.expected
    whole = expected.trajectory_match not in (None, "subset")
    made = [call.tool for call in expected.trajectory] if whole else []
    more = set(episode.tools.required).difference(made)
    called = more.union(made)
    # A contract with writes wants one proof in any case, and one of each write that is called.
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
            reason = f"`{shown(check)}` is no gate and no code of a gate{hint}"
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
    if tools.allowed is not None and tool not in tools.allowed:
        return "is not allowed"
    return None
