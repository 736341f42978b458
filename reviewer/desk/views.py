"""Views: plain values that screens and commands show as they are, without computing.

Unknown numbers are None and are shown as "not measured"; texts are raw (the code that draws passes
each of them through `reviewer.trace.safetext.visible`).
"""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from reviewer.desk.outcome_views import OutcomeCell, OutcomeView
from reviewer.suite.gates import ALWAYS as ALWAYS

Mark = Literal["pass", "fail", "critical", "not_measured", "infra", "missing", "quarantined"]
RED = frozenset[Mark](("fail", "critical"))
"""The marks of failures."""
Recommendation = Literal["promote", "block", "repair", "hold"]
SuiteState = Literal["frozen", "broken", "draft"]


class View(Struct, frozen=True, kw_only=True):
    """Base of every answer."""


class SuiteInfo(View, frozen=True):
    """One suite. `problem` is the sentence to show when the state is not frozen. For a known public
    benchmark, `teaches` and `cannot_certify` say what its figures are worth here."""

    suite_id: str
    title: str
    digest: str
    probe: bool
    state: SuiteState
    problem: str
    episodes: int
    attempts: int
    candidates: int
    teaches: str = ""
    cannot_certify: str = ""


class CandidateInfo(View, frozen=True):
    """One candidate on one suite. `decided` is the newest signed decision's word, else None."""

    candidate_id: str
    digest: str | None
    traces: int
    recommendation: Recommendation
    decided: str | None


class Evidence(View, frozen=True):
    """The evidence of a reason: the trace, the event, the code."""

    trace_id: str
    episode_id: str
    attempt: int
    gate: str
    code: str
    seq: int | None
    tool: str | None


class Reason(View, frozen=True):
    """One reason of the recommendation, in the articles' terms and order."""

    number: int
    text: str
    observed: str
    policy: str
    evidence: tuple[Evidence, ...]


class Rate(View, frozen=True):
    """A rate with its denominator and interval; `why` says why a bound or value is missing. With
    `unknown` verdicts among the `n` there is no value: it lies from `low_possible` to
    `high_possible`, and is `known` over those that have a verdict."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    passes: int
    policy: float | None
    why: str = ""
    unknown: int = 0
    known: float | None = None
    low_possible: float | None = None
    high_possible: float | None = None


class Slots(View, frozen=True):
    planned: int
    valid: int
    infrastructure: int
    quarantined: int
    missing: int
    extra: int = 0


class GateTotal(View, frozen=True):
    """Counts of traces per result of one gate; `critical` is part of `fail`."""

    gate: str
    passed: int
    failed: int
    critical: int
    not_measured: int


class AttemptMark(View, frozen=True):
    attempt: int
    mark: Mark


class Cell(View, frozen=True):
    """One episode × one gate over all its attempts: the worst mark, and how many attempts fail."""

    mark: Mark
    failed: int
    attempts: int


class EpisodeRow(View, frozen=True):
    """One row of the grid. `cells` is aligned with the scorecard's `gates`; `flags` are high flags
    of reviews. Attempts whose user is played `by_person` are no repetitions: `pass_hat` is None."""

    key: int
    episode_id: str
    title: str
    cells: tuple[Cell, ...]
    attempts: tuple[AttemptMark, ...]
    passes: int
    pass_hat: float | None
    mean_cost_usd: float | None
    latency_p50_ms: float | None
    tags: tuple[str, ...]
    flags: tuple[str, ...] = ()
    by_person: bool = False
    outcome: OutcomeCell | UnsetType = UNSET
    """For a probe: the sources' verdicts on its attempts."""


class Scorecard(View, frozen=True):
    """The part above the rows: the verdict, its reasons, the figures and the totals."""

    suite: SuiteInfo
    candidate_id: str
    recommendation: Recommendation
    reasons: tuple[Reason, ...]
    needs: tuple[str, ...]
    slots: Slots
    hard_pass: Rate
    pass_hat_k: int
    pass_hat: Rate
    critical: int
    critical_n: int
    """Number of attempts over which critical failures, gates and their bounds are counted: all that
    were made, including those beyond the plan."""
    critical_unknown: int
    """At most so many more may be critical: a gate that could find it is not measured."""
    critical_upper: float | None
    critical_upper_episodes: float | None
    total_cost_usd: float | None
    cpst_usd: float | None
    cpst_possible: tuple[float | None, float | None]
    """The amounts between which it lies while it is not known; None where it is unbounded."""
    cpst_budget_usd: float | None
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_unknown: int
    """Attempts that count and have no latency: the quantiles are of the others."""
    totals: tuple[GateTotal, ...]
    episodes: int
    decided: str | None
    rev: int
    banner: tuple[str, str] = ("", "")
    mean_cost_usd: float | None = None
    source_headlines: tuple[str, ...] = ()
    """The headline figures of the harnesses that made the attempts, each with reviewer's figure."""
    others_spent: tuple[tuple[str, str], ...] = ()
    """Costs of graders and simulated users, which are not the candidate's: (who, amount)."""
    users: tuple[str, ...] = ()
    """The errors of users, and the episodes that a person plays, in one sentence each; empty where
    no attempt was a conversation."""
    lost: tuple[str, ...] = ()
    """The attempts that neither pass nor fail, in a sentence; empty where there are none."""
    outcome: OutcomeCell | UnsetType = UNSET
    """For a probe: the sources' verdicts on all attempts."""

    @property
    def gates(self) -> tuple[str, ...]:
        """The gates that are in force, in the order of columns."""
        return tuple(total.gate for total in self.totals)


class CellLine(View, frozen=True):
    """One line of the drawer: one attempt's mark on one gate."""

    trace_id: str | None
    attempt: int
    mark: Mark
    seq: int | None
    code: str
    detail: str


class FindingView(View, frozen=True):
    gate: str
    code: str
    severity: str
    seq: int | None
    detail: str


class Clause(View, frozen=True):
    """One clause of the contract: a gate, its mark, what was expected and observed in words, and
    where."""

    gate: str
    mark: Mark
    text: str
    seq: int | None


class TraceView(View, frozen=True):
    """One attempt: header, verdict, findings, contract. Its events are read by
    `desk.traces.events`.

    `position` and `siblings` are for moving to other attempts of this episode, and episodes of this
    candidate.
    """

    trace_id: str
    suite_id: str
    candidate_id: str
    episode_id: str
    attempt: int
    attempts: tuple[AttemptMark, ...]
    title: str
    user_request: str
    mark: Mark
    results: tuple[str, ...]
    findings: tuple[FindingView, ...]
    clauses: tuple[Clause, ...]
    events: int
    steps: int
    cost_usd: float | None
    latency_ms: float | None
    termination: str | None
    final_state: str
    final_message: str | None
    source_path: str
    source_record: int
    source_sha256: str
    notes: tuple[str, ...]
    payload: bool
    first_finding_seq: int | None
    said: tuple[tuple[str, str], ...] = ()
    """What the source states about itself and about this attempt, as (name, text): evidence, not a
    gate."""
    slowest_ms: float | None = None
    dearest_usd: float | None = None
    """The greatest time and cost of one event; None when not measured, or not known yet."""
    history: tuple[tuple[str, str], ...] = ()
    """Other records of this attempt and the changes by judging again, as (name, text)."""
    in_force: tuple[str, ...] | UnsetType = UNSET
    """The gates that `results` is aligned with; omitted where no optional gate is in force."""
    outcome: OutcomeView | UnsetType = UNSET
    """What the source says of this attempt, check by check; omitted where it says nothing."""
    missing: str | UnsetType = UNSET
    """Why the payload cannot be read though it was stored; omitted where it can."""

    @property
    def gates(self) -> tuple[str, ...]:
        """The gates that are in force, in the order of `results`."""
        return ALWAYS if self.in_force is UNSET else self.in_force

    @property
    def listed(self) -> int:
        """Return the number of events that a list can show: none where the record itself was
        withheld."""
        return self.events if self.payload else 0


class EventRow(View, frozen=True):
    """One line of the event list. `mark` is the worst finding on this event; `group` its (place,
    size) among calls made together, (0, 0) outside any. `call` is the request of a call and
    `result` its result, each on one line and shortened; empty where nothing is recorded."""

    seq: int
    kind: str
    title: str
    actor: str | None
    status: str | None
    latency_ms: float | None
    cost_usd: float | None
    mark: Mark | None
    codes: tuple[str, ...]
    group: tuple[int, int] = (0, 0)
    call: str = ""
    result: str = ""


class SourceInfo(View, frozen=True):
    """One import: the file, what was read from it, what was refused, and what its reader found
    missing or doubtful. `suite_id` and `candidate_id` are the requested ones, else empty."""

    path: str
    sha256: str
    reader: str
    state: str
    records: int
    added: int
    known: int
    refused: int
    at: str
    notes: tuple[str, ...] = ()
    suite_id: str = ""
    candidate_id: str = ""


class Refusal(View, frozen=True):
    """One quarantined record; never its values."""

    path: str
    record: int
    reasons: tuple[str, ...]
    way_out: str


class KeyInfo(View, frozen=True):
    """A key that could sign: `where` is ssh-agent or a path; `principal` is None when untrusted.
    `public` is its public half as in store/signers; `locked` whether its file needs a
    passphrase."""

    fingerprint: str
    comment: str
    where: str
    principal: str | None
    roles: tuple[str, ...]
    public: str = ""
    locked: bool = False


class SignedDecision(View, frozen=True):
    """A stored decision: its file, its number, when it was made and until when it is valid, and the
    result of verifying it. `pending` means that it waits for further approvers and for nothing
    else."""

    decision: str
    path: str
    number: int
    principal: str
    keyid: str
    verified: bool
    lines: tuple[str, ...]
    pending: bool = False
    signers: tuple[str, ...] = ()
    created: str = ""
    expires: str = ""
