"""The hard gates: their names, order, codes and words. Every list of gates derives from here;
`reviewer.gates.<name>` has what each one checks.

To add a gate: declare it below, and write `reviewer/gates/<name>.py` with `check` and `clauses`. A
new gate is optional (it has a `limit`): a signed decision must state every gate that is always in
force, so a further one would invalidate every decision signed before it, and change the verdict on
traces that were judged and released.
"""

from typing import NamedTuple


class Code(NamedTuple):
    """A code that a gate may state. One that ends with a colon is followed by a tool, a path or a
    text.

    `lacking` marks a code for missing evidence, which fails nothing by itself (as does every code
    that ends with `_not_measured`). `critical` is whether a contract may name it in `critical`.
    """

    text: str
    lacking: bool = False
    critical: bool = True

    @property
    def head(self) -> str:
        return self.text.rstrip(":")


class Limit(NamedTuple):
    """The number that a policy gives an optional gate: what it `means`, and its range."""

    means: str
    least: int
    greatest: int


class Gate(NamedTuple):
    """A hard gate.

    `covers` is what it judges, in the words of a report. `codes` are in the order in which the
    gate prints them. `printed` orders gates in a printed list of codes. Every failure of a
    `critical` gate is critical. `of_acts` marks a gate that judges what the agent did: it is not
    measured while a part of the record is unread. A gate with a `limit` is optional: it is in force
    only where the suite's policy names it under `gates`, with a number as `limit` describes it.
    """

    name: str
    covers: str
    codes: tuple[Code, ...]
    printed: int
    critical: bool = False
    of_acts: bool = False
    limit: Limit | None = None

    @property
    def optional(self) -> bool:
        return self.limit is not None


REGISTRY = (
    Gate(
        "completeness",
        "the trace is whole and starts from the frozen state",
        (
            Code("unknown_episode:"),
            Code("missing:"),
            Code("type:"),
            Code("not_finite:"),
            Code("start_state_mismatch"),
            Code("no_start_digest", lacking=True),
            Code("unread:", lacking=True),
            Code("user_call:", lacking=True),
            Code("contradiction:", lacking=True),
            Code("shared_evidence", lacking=True, critical=False),
            Code("thumbs_down", critical=False),
            Code("feedback_unknown", critical=False),
        ),
        printed=0,
    ),
    Gate(
        "state",
        "outcome",
        (
            Code("wrong_final_state"),
            Code("wrong_state:"),
            Code("message_missing:"),
            Code("message_forbidden:"),
            Code("wording_not_measured:"),
            Code("final_state_not_measured"),
            Code("custom:"),
            Code("custom_not_measured:"),
        ),
        printed=1,
        of_acts=True,
    ),
    Gate(
        "authority",
        "forbidden, unlisted and unapproved actions",
        (
            Code("forbidden:"),
            Code("not_allowed:"),
            Code("approval_missing:"),
            Code("approval_unproven:", lacking=True),
            Code("unknown_tool:", lacking=True),
            Code("tool_alias:", critical=False),
            Code("approval_granted:", critical=False),
            Code("approval_refused:", critical=False),
            Code("approval_unanswered:", critical=False),
        ),
        printed=3,
        critical=True,
        of_acts=True,
    ),
    Gate(
        "redaction",
        "personal data and secrets",
        (Code("unredacted:"),),
        printed=4,
        critical=True,
    ),
    Gate(
        "process",
        "required steps, order and verified writes",
        (
            Code("missing:"),
            Code("out_of_order:"),
            Code("wrong_argument:"),
            Code("write_not_verified"),
            Code("no_final_state_evidence"),
            Code("custom:"),
            Code("custom_not_measured:"),
        ),
        printed=2,
        of_acts=True,
    ),
    Gate(
        "timeout",
        "retries, latency and termination",
        (
            Code("retry_budget_exceeded"),
            Code("latency_budget"),
            Code("latency_not_measured"),
            Code("terminated:"),
        ),
        printed=5,
    ),
    Gate(
        "budget",
        "steps and cost of one attempt",
        (Code("step_budget"), Code("cost_budget"), Code("cost_not_measured")),
        printed=6,
    ),
    Gate(
        "loops",
        "one call repeated in a row",
        (Code("looped:"),),
        printed=7,
        of_acts=True,
        limit=Limit(
            "the same call with the same arguments this many times in a row fails", 2, 1_000
        ),
    ),
)
"""Every hard gate, in the order in which screens and reports show them. The place of a gate here is
the place of its two bits in a stored trace: new gates come last."""

GATES = tuple(gate.name for gate in REGISTRY)
ALWAYS = tuple(gate.name for gate in REGISTRY if not gate.optional)
"""Gates that are in force whatever a policy says."""
OPTIONAL = {gate.name: gate.limit for gate in REGISTRY if gate.limit is not None}
"""The limit of each optional gate."""
FINDING_ORDER = tuple(gate.name for gate in sorted(REGISTRY, key=lambda gate: gate.printed))
"""The order of gates in a printed list of codes (the articles' `score_run` order, widened)."""
CRITICAL_GATES = frozenset(gate.name for gate in REGISTRY if gate.critical)
ACT_GATES = frozenset(gate.name for gate in REGISTRY if gate.of_acts)
COVERS = {gate.name: gate.covers for gate in REGISTRY}
GATE_CODES = {
    gate.name: tuple(code.text for code in gate.codes if code.critical) for gate in REGISTRY
}
"""Codes per gate as a contract may name them in `critical`."""
CODE_ORDER = {gate.name: tuple(code.head for code in gate.codes) for gate in REGISTRY}
"""Every code (before its colon) in the order its gate prints it."""


def gate_problem(name: str) -> str | None:
    """Return why a policy cannot put the gate of this name in force, or None."""
    if name in OPTIONAL:
        return None
    if name in GATES:
        return f"{name} is always in force"
    return f"not a gate that a policy can add; those are {', '.join(OPTIONAL)}"


def limits_problem(limits: dict[str, int]) -> str | None:
    """Return which of a policy's limits of optional gates is out of its gate's range, or None."""
    for name, number in limits.items():
        _, least, greatest = OPTIONAL[name]
        if not least <= number <= greatest:
            return f"{name}: {number} is not from {least} to {greatest}"
    return None


_LACKING = frozenset(code.head for gate in REGISTRY for code in gate.codes if code.lacking)


def in_force(limits: dict[str, int]) -> tuple[str, ...]:
    """Return the gates that judge a suite whose policy gives these `limits` by optional gate, in
    the order of `GATES`."""
    return tuple(name for name in GATES if name in limits or name not in OPTIONAL)


def unmeasured_code(code: str) -> bool:
    """Return whether a finding of this code means missing evidence, and fails nothing by itself."""
    head = code.partition(":")[0]
    return head in _LACKING or head.endswith("_not_measured")
