"""The contract of one episode, prepared once so that judging a trace is set operations."""

from collections.abc import Iterable, Mapping, Set
from typing import Any

from msgspec import UNSET, Struct

from reviewer.gates.values import named
from reviewer.suite.errors import ContractError
from reviewer.suite.gates import ALWAYS, in_force
from reviewer.suite.json_values import Path, path_of
from reviewer.suite.model import Claim, Episode
from reviewer.suite.strict_json import start_state_digest
from reviewer.suite.tool_names import NO_MAP, Kin, ToolMap, ToolNames, listed_tools, tool_names

NO_LIMITS: dict[str, int] = {}
WantedValue = tuple[str, Path, Any]
"""A path as the suite wrote it, its steps, and the value required there."""
Pairs = tuple[tuple[Path, Path], ...]
"""Paths in the arguments of one call, each with a path in those of another."""


class Contract(Struct, frozen=True, kw_only=True):
    """An episode with everything precomputed. Picklable; create it with `compile_contract`.

    `start_digest` is `sha256:<hex>` of the initial state's RFC 8785 bytes, None when that state has
    no such form (an integer outside the range of JSON's doubles). `verifiers` maps each write tool
    to the tools that prove it. `arguments` and `state` are sorted.
    """

    episode: Episode
    start_digest: str | None
    required: frozenset[str]
    forbidden: frozenset[str]
    allowed: frozenset[str] | None
    approvals: frozenset[str]
    approvers: frozenset[str]
    verifiers: dict[str, frozenset[str]]
    proofs: frozenset[str]
    objects: dict[str, Pairs]
    """For write tools whose contract names the object: its paths in the arguments of the write and
    of the call that proves it."""
    state: tuple[WantedValue, ...]
    contains: tuple[str, ...]
    excludes: tuple[str, ...]
    claims: tuple[Claim, ...]
    arguments: tuple[tuple[str, tuple[WantedValue, ...]], ...]
    critical: frozenset[str]
    names: ToolNames
    """Every tool the contract lists, for comparison with other names."""
    ordered: bool
    """Whether the contract has a rule on the order of calls."""
    stateful: bool
    """Whether the contract has a rule on the end state or the final message."""
    of_user: frozenset[str] = frozenset()
    """The tools that the user calls and the agent may not."""
    aliases: dict[str, str] = {}
    """Names that an import declared to be tools of this contract."""
    map_digest: str = ""
    limits: dict[str, int] = {}
    """For the optional gates that the suite's policy puts in force, the limit of each."""
    in_force: tuple[str, ...] = ALWAYS
    checks: tuple[str, ...] = ()
    """The names of the suite's own checks."""
    own: bool = False
    """Whether the traces are known to be made by reviewer's own runner: the approval on a call is
    then the broker's answer, and otherwise only a claim of the file."""


def compile_contract(
    episode: Episode,
    own: bool = False,
    mapped: ToolMap = NO_MAP,
    limits: dict[str, int] = NO_LIMITS,
    checks: tuple[str, ...] = (),
) -> Contract:
    """Prepare an episode for traces of reviewer's `own` runner or for others, in which an import
    may map names to its tools (`mapped`). `limits` are those of the optional gates that the suite's
    policy puts in force (`Policy.gates`), `checks` the names of its own checks. Pure; call this
    once per episode, not per trace.

    When `writes` names a tool twice, any of its `verified_by` tools proves it.
    """
    tools, expected = episode.tools, episode.expected
    verifiers: dict[str, frozenset[str]] = {}
    for write in episode.writes:
        verifiers[write.tool] = verifiers.get(write.tool, frozenset()) | set(write.verified_by)
    names = tool_names(frozenset((*listed_tools(episode), *episode.of_user)))
    # A name that this contract lists keeps its meaning, whatever a map says.
    aliases = {theirs: ours for theirs, ours in mapped.names if theirs not in names.listed}
    return Contract(
        episode=episode,
        start_digest=_start_digest(episode.initial_state),
        required=frozenset(tools.required),
        forbidden=episode.of_user.union(tools.forbidden),
        allowed=None if tools.allowed is None else frozenset(tools.allowed),
        approvals=frozenset(tools.approvals),
        approvers=frozenset(tools.approvers),
        verifiers=verifiers,
        proofs=frozenset().union(*verifiers.values()),
        objects={
            write.tool: tuple((path_of(mine), path_of(its)) for mine, its in write.on.items())
            for write in episode.writes
            if write.on is not None
        },
        state=_wanted(expected.at_paths),
        contains=expected.message_contains,
        excludes=expected.message_excludes,
        claims=expected.claims,
        arguments=tuple(
            (tool, _wanted(paths)) for tool, paths in sorted(expected.arguments.items())
        ),
        critical=frozenset(episode.critical),
        names=names,
        ordered=tools.order != "any" or bool(expected.trajectory),
        stateful=(
            expected.final_state is not UNSET
            or bool(expected.at_paths or expected.message_contains)
            or bool(expected.message_excludes or expected.claims)
        ),
        of_user=episode.of_user,
        aliases=aliases,
        map_digest=mapped.digest if aliases else "",
        limits=limits,
        in_force=in_force(limits),
        checks=checks,
        own=own,
    )


def _start_digest(state: dict[str, Any]) -> str | None:
    try:
        return start_state_digest(state)
    except ContractError:
        return None


def _wanted(values: dict[str, Any]) -> tuple[WantedValue, ...]:
    return tuple((path, path_of(path), value) for path, value in sorted(values.items()))


def unlisted(contract: Contract, called: Set[str]) -> dict[str, Kin]:
    """Return the called names that the contract does not list and that are similar to listed ones,
    or can be compared with none."""
    names = contract.names
    return names.akin(called) if names.listed else {}


def also(kin: Mapping[str, Kin], name: str, listed: Iterable[str]) -> str:
    """Return the words that name the listed tool of which an unlisted name is another spelling; ""
    when there is none."""
    same = sorted(kin[name].same.intersection(listed)) if name in kin else []
    return f": it is {named(same[0])} in another spelling" if same else ""


def spelled_as(contract: Contract, called: Set[str], tools: Iterable[str]) -> dict[str, str]:
    """Return called unlisted names that are spellings of one of `tools` → that tool."""
    akin = unlisted(contract, called)
    if not akin:
        return {}
    wanted = frozenset(tools)
    same = ((name, kin.same & wanted) for name, kin in akin.items())
    return {name: min(tools) for name, tools in same if tools}
