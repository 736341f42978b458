"""What the desk answers about runs: plain, immutable values."""

from typing import Literal

from reviewer.desk.views import View
from reviewer.suite.gates import ALWAYS

ApprovalRule = Literal["deny", "allow", "ask"]
RunState = Literal["running", "paused", "stopping", "done", "stopped", "failed"]


class RunOrder(View, frozen=True):
    """What a person asks for. `attempts` None is the policy's; `workers` 0 runs in this process;
    `pace` stretches a scripted candidate's own time onto the wall's."""

    suite_id: str
    candidate_id: str
    attempts: int | None = None
    jobs: int = 4
    workers: int = 0
    resume: bool = False
    seed: int = 0
    approvals: ApprovalRule = "deny"
    network: bool = False
    pace: float = 0.0


class Runnable(View, frozen=True):
    """One candidate manifest of a suite. `made` counts its traces in the store, `missing` the
    planned slots without one; `problem` is "" or why it cannot be run, with the way out."""

    candidate_id: str
    kind: str
    made: int
    missing: int
    problem: str


class ApprovalView(View, frozen=True):
    """A call that waits for a person; its arguments are masked, indented JSON."""

    number: int
    trace_id: str
    seq: int
    tool: str
    arguments: str


class RunView(View, frozen=True):
    """A run as it stands, and what was ordered. `running` and `pending` are (episode id, attempt);
    `gates` counts failed traces per gate, aligned with `in_force`; `eta_seconds` is None while
    nothing can be said. `began` is when, in seconds of Unix time."""

    number: int
    order: RunOrder
    suite_id: str
    candidate_id: str
    state: RunState
    planned: int
    done: int
    passed: int
    failed: int
    critical: int
    infrastructure: int
    not_measured: int
    lost: int
    running: tuple[tuple[str, int], ...]
    pending: tuple[tuple[str, int], ...]
    gates: tuple[int, ...]
    seconds: float
    eta_seconds: float | None
    approvals: tuple[ApprovalView, ...]
    problem: str
    began: float
    in_force: tuple[str, ...] = ALWAYS
