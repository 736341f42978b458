"""The completeness gate: the trace is of an episode of the suite, complete, and starts from the
frozen state. Feedback by the attempt's own user is noted besides, and fails nothing."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract
from reviewer.gates.model import Finding, Hits, Rule
from reviewer.gates.values import clip, named
from reviewer.suite.gates import ACT_GATES
from reviewer.suite.strict_json import same_digest
from reviewer.trace.record import ABSENT, TraceRecord, Unread


def check(contract: Contract, acts: Acts, hits: Hits, found: list[Finding]) -> None:
    """Append findings on a start from another state or from an unknown one, and on the user's
    feedback."""
    record = acts.record
    given, wanted = record.start_state_digest, contract.start_digest
    if given is None or wanted is None:
        if contract.episode.initial_state:
            text = "no digest of the state this attempt started from"
            if given is not None:
                text = "the episode's initial state has no RFC 8785 form to compare with"
            found.append(Finding("completeness", "no_start_digest", "not_measured", None, text))
    elif given != wanted and not same_digest(given, wanted):
        text = f"started from state {clip(given, 80)}, the episode's is {wanted}"
        found.append(Finding("completeness", "start_state_mismatch", "fail", None, text))
    check_feedback(record, found)


def clauses(contract: Contract, acts: Acts, broken: frozenset[str]) -> Iterator[Rule]:
    """Yield the clause that the record is complete."""
    digest = acts.record.start_state_digest is not None
    text = "record complete; start state digest equal" if digest else "record complete"
    yield Rule(("start_state_mismatch", "no_start_digest", "unknown_episode"), text)


def unread(parts: Sequence[Unread]) -> Iterator[Finding]:
    """Yield a finding for each part of the source that no reader understood."""
    for part in parts:
        path = clip(part.path)
        text = f"{path} may be an act of the agent, and no reader understood it"
        yield Finding("completeness", f"unread:{path}", "not_measured", part.seq, text)


def not_the_users(contract: Contract, acts: Acts, found: list[Finding]) -> frozenset[str]:
    """Append a finding for each tool with calls ascribed to the user that the episode's user does
    not have: they may be the agent's. Return the gates that depend on it."""
    told: set[str] = set()
    for seq, tool in acts.users:
        if tool in contract.of_user or tool in told:
            continue
        told.add(tool)
        name = named(tool)
        text = f"{name} is ascribed to the user, who has no such tool: it may be the agent's call"
        found.append(Finding("completeness", f"user_call:{name}", "not_measured", seq, text))
    if not told:
        return frozenset()
    limits = contract.episode.budget
    counted = [("budget", limits.max_steps), ("timeout", limits.max_timeouts)]
    return ACT_GATES.union(gate for gate, limit in counted if limit is not None)


THUMBS_DOWN = "thumbs_down"
_KNOWN = (None, "thumbs_up", THUMBS_DOWN)


class _Source(msgspec.Struct):
    user_feedback: Any = None


_decode = msgspec.json.Decoder(_Source).decode


def check_feedback(record: TraceRecord, found: list[Finding]) -> None:
    """Note a thumbs-down in the trace's `source`, or an unknown word in its place."""
    if record.source == ABSENT:
        return
    try:
        said = _decode(record.source).user_feedback
    except msgspec.ValidationError:
        return  # not an object: `source` may be any JSON
    if said == THUMBS_DOWN:
        text = "the user gave it a thumbs-down"
        found.append(Finding("completeness", THUMBS_DOWN, "note", None, text))
    elif said not in _KNOWN:
        text = "source.user_feedback is neither thumbs_up nor thumbs_down, and is ignored"
        found.append(Finding("completeness", "feedback_unknown", "note", None, text))
