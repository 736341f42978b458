"""The pattern of one failing attempt, from its findings, its record and its contract. Pure.

No text of a trace becomes part of a pattern: for a tool that the contract does not list the pattern
says only that it is unlisted, and the part of a code that names a place within a record is left
out.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import to_builtins

from reviewer.db.queries.patterns import FailingFinding
from reviewer.desk.patterns.views import Place, Shape, Turn
from reviewer.gates.acts import acts_of, numbered
from reviewer.gates.values import named
from reviewer.suite.gates import CRITICAL_GATES
from reviewer.suite.model import Episode
from reviewer.suite.strict_json import canonical_bytes, sha256_hex
from reviewer.suite.tool_names import listed_tools
from reviewer.trace.record import TraceRecord, kind_of

UNLISTED = "(unlisted)"
"""A tool that the contract does not list: its name comes from the trace."""
OTHER = "(other)"
_OF_TOOLS = frozenset({"forbidden", "not_allowed", "approval_missing", "looped"})
_OF_TRACES = frozenset({"completeness", "redaction"})
"""Gates whose codes end in a text from the trace: an episode, or members within an event."""
_WORD = re.compile(r"[a-z][a-z_]{0,39}")
ID_LENGTH = 12


class Tools(NamedTuple):
    """The tools of a contract: the required ones, in its order, and all that it lists. Names as in
    codes."""

    required: tuple[str, ...]
    listed: frozenset[str]

    def shown(self, name: str) -> str:
        """Return a tool's name, or the placeholder for a name that comes from the trace."""
        name = named(name)
        return name if name in self.listed else UNLISTED


def tools_of(episode: Episode | None) -> Tools:
    """Return the tools of a contract; none for an episode that the suite does not have."""
    if episode is None:
        return Tools((), frozenset())
    required = tuple(dict.fromkeys(map(named, episode.tools.required)))
    return Tools(required, frozenset(map(named, listed_tools(episode))))


class Step(NamedTuple):
    """The step at which an attempt broke."""

    place: Place
    tool: str
    turn: Turn
    after: str
    before: str


NOT_KEPT = Step("not_kept", "", "", "", "")


def deciding(found: Sequence[FailingFinding]) -> FailingFinding | None:
    """Return the deciding finding: a critical one before others, then the one with the earliest
    event (a finding without an event counts as at the end), then in printed order."""
    return min(found, key=_rank, default=None)


def _rank(one: FailingFinding) -> tuple[bool, bool, int, int]:
    return not _critical(one), one.seq is None, one.seq or 0, one.n


def _critical(one: FailingFinding) -> bool:
    return one.critical or one.gate in CRITICAL_GATES


def shape_of(finding: FailingFinding | None, step: Step, tools: Tools) -> Shape:
    """Return the shape that makes the pattern of an attempt."""
    gate = code = clause = ""
    if finding is not None:
        gate = finding.gate
        code, _, rest = finding.code.partition(":")
        clause = _clause(gate, code, rest, tools)
    critical = finding is not None and _critical(finding)
    return Shape(gate=gate, code=code, clause=clause, critical=critical, **step._asdict())


def pattern_id(shape: Shape) -> str:
    """Return the id of a pattern: the start of the sha256 of its RFC 8785 JSON."""
    return sha256_hex(canonical_bytes(to_builtins(shape)))[:ID_LENGTH]


def _clause(gate: str, code: str, rest: str, tools: Tools) -> str:
    """Return the part of a code after its colon, as far as it comes from the contract."""
    if not rest or gate in _OF_TRACES:
        return ""
    if code in _OF_TOOLS:
        return rest if rest in tools.listed else UNLISTED
    if code == "terminated":
        return rest if _WORD.fullmatch(rest) else OTHER
    return rest


def step_of(record: TraceRecord, seq: int | None, tools: Tools) -> Step:
    """Return the shape of the step that event `seq` of a record is; without a `seq`, of the end."""
    acts = acts_of(record)
    event = None
    if seq is not None:
        event = next((one for number, one in numbered(record.events) if number == seq), None)
    if seq is None or event is None:
        after, before = _between({named(tool) for tool in acts.reached}, "", tools)
        return Step("end", "", "", after, before)
    tried = acts.attempted
    here = next((call for call in tried if seq in (call.seq, call.result_seq)), None)
    name = event.tool or (here.tool if here else None)
    start = here.seq if here else seq
    turn: Turn = ""
    if name is not None:
        again = any(call.tool == name and call.seq < start for call in tried)
        turn = "repeated" if again else "first"
    tool = "" if name is None else tools.shown(name)
    reached = {named(c.tool) for c in acts.calls if c.seq < start and c.status != "denied"}
    after, before = _between(reached, tool, tools)
    return Step(kind_of(event), tool, turn, after, before)


def _between(reached: set[str], tool: str, tools: Tools) -> tuple[str, str]:
    """Return the last required tool that was reached and the first that was not, in the contract's
    order; the tool of the step itself counts as neither."""
    others = [one for one in tools.required if one != tool]
    after = [one for one in others if one in reached]
    before = [one for one in others if one not in reached]
    return (after[-1] if after else ""), (before[0] if before else "")


_EVENTS: dict[Place, str] = {
    "message": "message",
    "tool_call": "call",
    "tool_result": "result",
    "approval": "word on an approval",
    "state_snapshot": "state",
    "error": "failure",
}
_ELSEWHERE: dict[Place, str] = {"end": "at the end", "not_kept": "in a record that is not stored"}
_TURNS: dict[Turn, str] = {"": "at a", "first": "at the first", "repeated": "at a repeated"}


def text_of(shape: Shape) -> str:
    """Return a pattern in words."""
    code = f"{shape.code}:{shape.clause}" if shape.clause else shape.code
    what = f"{shape.gate} {code}" if shape.gate else "no finding that fails"
    if shape.critical:
        what += " (critical)"
    where = _ELSEWHERE.get(shape.place) or f"{_TURNS[shape.turn]} {_EVENTS[shape.place]}"
    if shape.tool:
        where += f" of {shape.tool}"
    if shape.after:
        where += f", after {shape.after}"
    if shape.before:
        where += f", before {shape.before}"
    return f"{what}, {where}"
