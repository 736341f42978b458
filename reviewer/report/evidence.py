"""What a report is made of: the frozen suite, the candidate, and counts read from the store.

Everything here is already decided by gates; nothing is estimated yet. Counts per episode come
from roll-ups, so a report over a million traces reads thousands of rows, not millions.
"""

from typing import Any

from msgspec import Struct

from reviewer.gates.model import Result
from reviewer.report.broken_glass import BrokenGlass
from reviewer.report.import_maps import ImportMap
from reviewer.report.journal_losses import JournalLost
from reviewer.report.judged import JudgeEvidence
from reviewer.report.lineage import MetSuite
from reviewer.report.others_spent import OtherCost
from reviewer.report.reviewed import ReviewEvidence
from reviewer.report.text_scores import TextEvidence
from reviewer.suite.candidate import Candidate
from reviewer.suite.gates import GATES
from reviewer.suite.model import Suite

_NONE = (0,) * len(GATES)


class EpisodeCounts(Struct, frozen=True, kw_only=True):
    """One episode's attempts. `measured` of `attempts` have a verdict; costs are in nano-USD.

    `attempts` leaves infrastructure failures out; `cost_unknown` counts attempts without a cost;
    `in_plan` of `attempts` are numbered within the plan. `first` counts the first complete set
    apart, when attempts were made beyond it.
    `gate_pass`, `gate_fail`, `gate_unknown` are aligned with `reviewer.suite.gates.GATES`.
    `passed` and `unmeasured` number the attempts that passed and those without a verdict, when the
    store was asked for them (a rendering by attempt names them; no figure needs them).
    """

    episode_id: str
    attempts: int = 0
    measured: int = 0
    passes: int = 0
    critical: int = 0
    infrastructure: int = 0
    in_plan: int = 0
    quarantined: int = 0
    cost_nano: int = 0
    cost_unknown: int = 0
    steps: int = 0
    gate_pass: tuple[int, ...] = _NONE
    gate_fail: tuple[int, ...] = _NONE
    gate_unknown: tuple[int, ...] = _NONE
    passed: tuple[int, ...] = ()
    unmeasured: tuple[int, ...] = ()
    first: "EpisodeCounts | None" = None

    @property
    def counted(self) -> "EpisodeCounts":
        """The attempts that rates are made of: rerunning until green must not pay."""
        return self if self.first is None else self.first


class FailedTrace(Struct, frozen=True, kw_only=True):
    """A trace whose verdict is fail (or an infrastructure failure), with its printed codes.

    `results` is aligned with `reviewer.suite.gates.GATES`. `extra` marks an attempt beyond
    the first complete set.
    """

    trace_id: str
    episode_id: str
    attempt: int
    codes: tuple[str, ...]
    critical: bool
    infrastructure: bool
    results: tuple[Result, ...]
    sha256: str
    evidence: tuple[tuple[str, str, int | None], ...]
    """(gate, code, seq) of each finding, in printed order."""
    extra: bool = False

    @property
    def blocks(self) -> bool:
        """Critical, or the contracted end was missed: that blocks in whichever attempt."""
        return self.critical or self.results[GATES.index("state")] == "fail"


class DiagnosticMeans(Struct, frozen=True, kw_only=True):
    """Means over the traces where a diagnostic is defined, with how many those are."""

    values: dict[str, float | None] = {}
    counts: dict[str, int] = {}


class Promoted(Struct, frozen=True, kw_only=True):
    """The last promoted other candidate of the same agent: decision `number` on a suite. `here`
    says whether it has attempts on the suite of the report; else nothing is comparable."""

    candidate_id: str
    number: int
    suite_id: str
    suite_digest: str
    here: bool


class EarlierDecision(Struct, frozen=True, kw_only=True):
    """A decision on this candidate that was signed before the last of its evidence came in, when it
    had `attempts`."""

    number: int
    decision: str
    attempts: int


class Peeking(Struct, frozen=True, kw_only=True):
    """How often this evidence could be looked at while it grew: `arrivals` imports, runs and merged
    stores brought it, `earlier` decisions stood between them. `candidates` have attempts on the
    suite."""

    arrivals: int
    earlier: tuple[EarlierDecision, ...]
    candidates: int


class CostEntry(Struct, frozen=True, kw_only=True):
    """What somebody entered of money spent on this candidate beside its attempts.

    `kind` is human (handling by people) or incident. An entry that `corrects` another stands in
    its place; `counts` says whether this one does.
    """

    entry_id: str
    kind: str
    amount_usd: float
    note: str
    reviewer: str
    at: str
    corrects: str | None
    counts: bool


class Cause(Struct, frozen=True, kw_only=True):
    """One kind of what is not measured: a code up to its colon. `attempts` that count have it, and
    `without_verdict` of them have not failed either. `codes` are (code, attempts) of it; `trace_id`
    and what follows name the first one."""

    kind: str
    attempts: int
    without_verdict: int
    codes: tuple[tuple[str, int], ...]
    trace_id: str = ""
    episode_id: str = ""
    attempt: int = 0
    gate: str = ""
    code: str = ""
    seq: int | None = None


class SaidElsewhere(Struct, frozen=True, kw_only=True):
    """Attempts of which the harness of a reader said the same. Infrastructure ended `lost` ones,
    as our gates see it; the harness may say passed or failed of them all the same. `epochs` is how
    many attempts of the same episode it scored, for harnesses that take the mean of episodes."""

    reader: str
    passed: bool | None
    reward: float | None
    lost: bool
    attempts: int
    epochs: int = 1


class Lacking(Struct, frozen=True, kw_only=True):
    """A signed decision that names failing `traces` of the candidate which the store lacks; `first`
    are the ids of some."""

    decision: int
    file: str
    traces: int
    first: tuple[str, ...]


class Evidence(Struct, frozen=True, kw_only=True):
    """All that one report may speak of.

    `planned` is the number of attempts per episode, where the candidate's first run declared more
    than the policy. `latencies_ms` is sorted; `latency_unknown` counts attempts without one, and
    `latency_within` holds per episode (attempts with one, of those how many within the p95).
    `unknown_codes` lists (code, count) of what is not measured. Latencies, unknown codes and
    diagnostics are of the attempts that count. `lineage` lists the other suites this candidate met,
    `break_glass` the releases of its agent that went out without a decision, `journal_losses` what
    was stated to be gone of the store's journal. `baseline` holds the
    counts of `baseline_id`, which is the one named, else the last `promoted` candidate; `judge` is
    None when no judge was asked, `review` when nothing is known of labels and flags, `text` when no
    episode names one, `peeking` when it was not worked out. `ledger` holds every cost entry,
    oldest first.
    """

    suite: Suite
    frozen_at: str | None
    frozen_seq: int | None
    first_run_seq: int | None
    candidate_id: str
    candidate: Candidate | None
    manifest: dict[str, Any] | None
    episodes: tuple[EpisodeCounts, ...]
    failures: tuple[FailedTrace, ...]
    latencies_ms: tuple[float, ...]
    latency_unknown: int
    unknown_codes: tuple[tuple[str, int], ...]
    diagnostics: DiagnosticMeans
    duplicates_refused: int
    quarantined_unplaced: int
    source_files: tuple[tuple[str, str], ...]
    """(path, sha256) of every imported file behind these traces, in import order."""
    rubric_criteria: tuple[str, ...] = ()
    baseline_id: str | None = None
    baseline: tuple[EpisodeCounts, ...] = ()
    promoted: Promoted | None = None
    peeking: Peeking | None = None
    latency_within: tuple[tuple[int, int], ...] = ()
    ledger: tuple[CostEntry, ...] = ()
    probes: tuple[dict[str, Any], ...] = ()
    planned: int | None = None
    judge: JudgeEvidence | None = None
    review: ReviewEvidence | None = None
    text: TextEvidence | None = None
    said: tuple[SaidElsewhere, ...] = ()
    others: tuple[OtherCost, ...] = ()
    lineage: tuple[MetSuite, ...] = ()
    unmeasured: tuple[Cause, ...] = ()
    """`unknown_codes` kind by kind."""
    break_glass: tuple[BrokenGlass, ...] = ()
    journal_losses: tuple[JournalLost, ...] = ()
    import_maps: tuple[ImportMap, ...] = ()
    lacking: tuple[Lacking, ...] = ()
    """Failures of this candidate that are known from signed decisions alone."""
    notes: tuple[dict[str, Any], ...] = ()
    """Bookmarks and notes of people on events: listed, and looked at by nothing else."""
    records: tuple[dict[str, Any], ...] = ()
    """Attempts of which there are several records, or whose record is another candidate's too."""
    split: tuple[dict[str, Any], ...] = ()
    """Looks for these episodes in data the candidate may have learned from, oldest first."""

    @property
    def labeled(self) -> bool:
        """Whether people have labeled anything of this candidate."""
        return self.review is not None and self.review.labels > 0

    @property
    def plan(self) -> int:
        """Attempts per episode that a promotion needs."""
        return max(self.suite.policy.attempts, self.planned or 0)
