"""The words of a run, as plain values, and the four seams: adapter, world, approver, executor."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct

from reviewer.suite.candidate import Candidate
from reviewer.suite.model import Episode, RedactionRules
from reviewer.trace.record import Status

ApprovalRule = Literal["deny", "allow", "ask"]
"""What becomes of a call that needs an approval: refused, granted, or put to a person."""


class ToolSpec(NamedTuple):
    """A tool as a candidate is told of it. `parameters` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class Brief(NamedTuple):
    """All that a candidate is ever told, besides observations: no expectation, no forbidden tool,
    nothing of the simulator."""

    user_request: str
    tools: tuple[ToolSpec, ...]


class Call(NamedTuple):
    """A call as the candidate made it. `problem` says why its arguments could not be read (then
    `arguments` is empty)."""

    call_id: str
    tool: str
    arguments: dict[str, Any]
    problem: str = ""


class Usage(NamedTuple):
    """Tokens of one turn; None where the provider did not say. Cached input is part of input."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None


class Turn(NamedTuple):
    """What a candidate did next. It is its last turn when it makes no call.

    `cost_usd` is None when it is not known. `latency_ms` is only given by a candidate that keeps
    its own time (a scripted one); for any other the clock is looked at.
    """

    calls: tuple[Call, ...] = ()
    message: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None


class Observation(NamedTuple):
    """What the candidate is told of a call. `content` is a JSON value."""

    call_id: str
    tool: str
    status: Status
    content: Any


class CandidateFault(Exception):
    """The candidate broke its side of the protocol: the attempt ends with `reason` and counts.

    `turn` holds the usage and cost of the broken turn, where they are known.
    """

    def __init__(self, text: str, reason: str = "candidate_error") -> None:
        super().__init__(text)
        self.text, self.reason = text, reason
        self.turn: Turn | None = None


class Infrastructure(Exception):
    """Something that is not the candidate failed: the attempt neither passes nor fails."""


class Unrunnable(Exception):
    """The run cannot begin or go on at all (no key, no such program, a script that is not the one
    the manifest names): nothing was attempted. The text names the way out."""


class Adapter(Protocol):
    """One candidate at work on one attempt. Raises CandidateFault, Infrastructure, Unrunnable."""

    async def begin(self, brief: Brief) -> Turn: ...
    async def proceed(self, observations: Sequence[Observation]) -> Turn: ...
    def waited_ms(self) -> float:
        """How much of the time so far was nobody's: waiting for a provider that was busy."""
        ...

    async def close(self) -> None:
        """End it whole, also in the middle of a turn; never raises."""
        ...


class Answer(NamedTuple):
    """What the world says to a call. `delay_ms` is how long it takes (the clock lets it pass);
    `state` is the state after it when the call changed it, else None."""

    status: Status
    content: Any
    delay_ms: float = 0.0
    state: dict[str, Any] | None = None


class World(Protocol):
    """One attempt's environment, from a state of its own. Nothing of it outlives `close`.

    `start_digest` is `sha256:<hex>` of the RFC 8785 bytes of the state it really started from.
    Raises Infrastructure when it breaks.
    """

    start_digest: str

    def specs(self) -> tuple[ToolSpec, ...]: ...
    async def call(self, tool: str, arguments: dict[str, Any]) -> Answer: ...
    async def state(self) -> dict[str, Any]: ...
    async def final_state(self) -> Any: ...
    async def close(self) -> None: ...


class ApprovalRequest(NamedTuple):
    """A call that waits for a person. Its arguments are masked."""

    slot: "Slot"
    seq: int
    tool: str
    arguments: dict[str, Any]


class Approval(NamedTuple):
    """`by` is `policy` or the person who answered."""

    granted: bool
    by: str


class Approver(Protocol):
    async def ask(self, request: ApprovalRequest) -> Approval: ...


class Clock(Protocol):
    """Time as an attempt lives it: the wall's, or a scripted candidate's own."""

    def now_ms(self) -> float: ...
    def started_at(self) -> str | None:
        """RFC 3339 in UTC, None for a clock that stands nowhere in history."""
        ...

    async def let_pass(self, ms: float) -> None: ...


class Slot(NamedTuple):
    """Which attempt: its trace id is `suite/candidate/episode/attempt`."""

    suite_id: str
    candidate_id: str
    episode_id: str
    attempt: int

    @property
    def trace_id(self) -> str:
        return f"{self.suite_id}/{self.candidate_id}/{self.episode_id}/{self.attempt}"


class Task(Struct, frozen=True, kw_only=True):
    """All that running one attempt needs; picklable, so that it can be run anywhere.

    `folder` is the suite folder (scripts, prompts, toolkits and Python candidates are found below
    it). `pace` stretches a scripted candidate's time onto the wall's (0: as fast as it goes).
    """

    slot: Slot
    episode: Episode
    candidate: Candidate
    redaction: RedactionRules
    folder: str
    seed: int = 0
    approvals: ApprovalRule = "deny"
    network: bool = False
    pace: float = 0.0


class Finished(NamedTuple):
    """An attempt that ended in some way: `raw` is its trace record, already masked, in UTF-8
    JSON. `masked` counts the values masked."""

    slot: Slot
    raw: bytes
    masked: int = 0


class Lost(NamedTuple):
    """An attempt whose worker is gone: nothing is known of it, so it is run again."""

    task: Task
    why: str


class Executor(Protocol):
    """Where attempts are run. Nothing else knows: local tasks, processes, another machine.

    `submit` returns once the attempt has a place (it waits while all are taken); `collect` waits
    for the next to end, in any order, and raises Unrunnable when the candidate cannot be run.
    """

    async def submit(self, task: Task) -> None: ...
    async def collect(self) -> Finished | Lost: ...
    async def close(self, abandon: bool = False) -> None:
        """Let the places go; `abandon` kills what runs."""
        ...
