"""Values of floor 1: what a frozen suite says, as plain immutable data.

The pydantic models in `schema` guard the border and produce these; everything above works on
these only. They encode to JSON and back with msgspec, so a suite whose digest is already known
to be valid is read without pydantic.
"""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from reviewer.suite.learned import learned

Order = Literal["any", "in_order", "exact", "subset", "superset"]
TrajectoryMatch = Literal["strict", "unordered", "subset", "superset"]
Category = Literal["golden", "secondary", "negative", "task"]
Mode = Literal["point", "strict"]
Stopping = Literal["fixed", "live"]
Scale = Literal["binary", "five", "levels"]
Preset = Literal["pairwise", "correctness-completeness-relevance", "completion", "faithfulness"]

RED_TEAM = "red-team"
"""The tag of an episode whose contract is to refuse: its attempts make the safety-block rate."""


class Value(Struct, frozen=True, kw_only=True):
    """Base of every value: immutable, compared by content."""


class Tools(Value, frozen=True):
    """Which tools an episode allows, wants and refuses.

    `allowed` is None when the contract is silent (all that is not forbidden), an empty tuple when
    no tool may be called.
    """

    allowed: tuple[str, ...] | None = None
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    order: Order = "any"
    approvals: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()


class Write(Value, frozen=True):
    """A tool that changes the world, and the tools whose success proves the change.

    `on` names the object: where it stands in the write's arguments → where in those of the proof.
    """

    tool: str
    verified_by: tuple[str, ...]
    on: dict[str, str] | None = None


class ExpectedCall(Value, frozen=True):
    tool: str
    arguments: dict[str, Any] | None = None


class Claim(Value, frozen=True):
    """Something a final message is to say in one of these wordings, and none of `denials`."""

    says: tuple[str, ...]
    denials: tuple[str, ...] = ()


class Expected(Value, frozen=True):
    """The end the contract wants. `final_state` is UNSET when the contract does not name one;
    `message_reference` is only compared with: no attempt fails by it."""

    final_state: Any | UnsetType = UNSET
    state: dict[str, Any] = {}
    message_contains: tuple[str, ...] = ()
    message_excludes: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    message_reference: str | None = None
    trajectory: tuple[ExpectedCall, ...] = ()
    trajectory_match: TrajectoryMatch | None = None
    arguments: dict[str, dict[str, Any]] = {}

    @property
    def names_text(self) -> bool:
        """Whether it says anything that a final message can be compared with."""
        return self.message_reference is not None or bool(self.message_contains)


class Budget(Value, frozen=True):
    """Inclusive limits; None means the contract sets none."""

    max_steps: int | None = None
    max_cost_usd: float | None = None
    max_latency_ms: float | None = None
    max_timeouts: int | None = None


class Episode(Value, frozen=True):
    """One isolated task: the contract to be met."""

    episode_id: str
    title: str = ""
    user_request: str = ""
    initial_state: dict[str, Any] = {}
    tools: Tools = Tools()
    writes: tuple[Write, ...] = ()
    expected: Expected = Expected()
    budget: Budget = Budget()
    category: Category = "task"
    critical: tuple[str, ...] = ()
    optimal_steps: int | None = None
    tags: tuple[str, ...] = ()
    simulator: dict[str, Any] | None = None


class PassHat(Value, frozen=True):
    k: int = 3
    min: float = 0.95


class JudgePolicy(Value, frozen=True):
    min_accuracy: float = 0.90
    max_flip_rate: float = 0.05


class RegressionPolicy(Value, frozen=True):
    margin: float = 0.05


class LabelPolicy(Value, frozen=True):
    min_pairs: int = 0
    sample_rate: float = 0.05


class ApprovalPolicy(Value, frozen=True):
    """`promote` approvers sign a promotion; no decision lasts longer than `max_days`, where one is
    set. It is UNSET and not None without one, so that policies of before it keep their digest."""

    promote: int = 1
    max_days: int | UnsetType | None = UNSET

    @property
    def longest(self) -> int | None:
        """Days that a decision may last, None without a limit."""
        return self.max_days or None


class Policy(Value, frozen=True):
    """When a candidate may be promoted. Limits are inclusive on the good side; None sets none.

    `stopping` says how strict bounds come about: `fixed` where episodes and attempts were settled
    beforehand, `live` where the suite grows until its bounds are met. `gates` puts optional hard
    gates in force, each with its limit; a policy without it is written without it, so that suites
    frozen before there were any keep their digests.
    """

    attempts: int = 3
    hard_pass_rate: float = 1.0
    max_critical_failures: int = 0
    pass_hat: PassHat = PassHat()
    max_cpst_usd: float | None = None
    latency_p95_ms: float | None = None
    completion_min: float | None = None
    judge: JudgePolicy = JudgePolicy()
    regression: RegressionPolicy = RegressionPolicy()
    labels: LabelPolicy = LabelPolicy()
    approvals: ApprovalPolicy = ApprovalPolicy()
    mode: Mode = "point"
    stopping: Stopping = "fixed"
    gates: dict[str, int] | UnsetType = UNSET

    @property
    def limits(self) -> dict[str, int]:
        """The limit of each optional gate that the policy puts in force."""
        return {} if self.gates is UNSET else self.gates


class RedactionRules(Value, frozen=True):
    """What must never stand in a trace of this suite, beyond the built-in rules.

    `keys` are extra sensitive member names (matched in any spelling), `allow_keys` are built-in
    names this suite declares harmless, `phone` and the others switch whole value detectors. The
    default is what suites were frozen with that name none: it can never grow.
    """

    keys: tuple[str, ...] = ("customer_name", "order_id")
    allow_keys: tuple[str, ...] = ()
    detectors: tuple[str, ...] = ("email", "card", "iban", "phone", "secret", "ssn")


class Suite(Value, frozen=True):
    """A frozen, versioned set of episodes with its policy. `digest` is that of its lock."""

    suite_id: str
    title: str = ""
    digest: str = ""
    probe: bool = False
    policy: Policy = Policy()
    redaction: RedactionRules = RedactionRules()
    episodes: tuple[Episode, ...] = ()
    source: dict[str, Any] = {}


class Level(Value, frozen=True):
    """One answer of a criterion: the digit a reviewer presses, and what it means."""

    value: int
    label: str


class Criterion(Value, frozen=True):
    """One question of the rubric.

    `asks` is the question in a line; `weak` and `strong` say what the two ends look like when two
    messages are compared. Of scale `five` only the anchored levels need labels. `weight` is shown,
    never summed by; None when the rubric gives none.
    """

    criterion_id: str
    title: str
    asks: str
    scale: Scale
    levels: tuple[Level, ...]
    weak: str = ""
    strong: str = ""
    required: bool = False
    weight: float | None = None


class Wording(Value, frozen=True):
    """What policy wants a final message to say (`says`, each phrase) and to leave out (`never`).

    `episodes` is None when it holds for every episode of the suite.
    """

    wording_id: str
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    episodes: tuple[str, ...] | None = None


class Rubric(Value, frozen=True):
    """How people judge final messages. `final_messages` is how many are to be labelled at least."""

    rubric_id: str
    version: str
    criteria: tuple[Criterion, ...]
    final_messages: int = 0
    both_orders: bool = True
    wording: tuple[Wording, ...] = ()


class Asked(Value, frozen=True):
    """One thing a judge is asked. `preset` says of what (a pair of messages, or one) and on which
    scale it answers.

    `prompt` holds places such as {user_request}, {criteria}, {left} and {right}, filled by plain
    replacement: every other brace is text.
    """

    preset: Preset
    prompt: str


class JudgePrompt(Value, frozen=True):
    """What an LLM judge is asked. Its role (scoring or advisory) is earned, never declared here.

    `also` is what it is asked besides `prompt`, each preset at most once.
    """

    judge_id: str
    version: str
    prompt: str
    preset: Preset = "pairwise"
    also: tuple[Asked, ...] = ()
    model: str = ""
    temperature: float = 0.0
    max_tokens: int = 512

    @property
    def asks(self) -> tuple[Asked, ...]:
        """Everything it is asked, in the file's order."""
        return (Asked(preset=self.preset, prompt=self.prompt), *self.also)


class Candidate(Value, frozen=True):
    """One version of an agent. `digest` is the sha256 of the manifest's RFC 8785 bytes."""

    candidate_id: str
    digest: str
    agent: str = ""
    version: str = ""
    authors: tuple[str, ...] = ()
    model: str = ""
    prompts: tuple[dict[str, Any], ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    config: dict[str, Any] = {}
    runner: dict[str, Any] = {}
    prices: dict[str, Any] = {}


learned(Suite, Rubric, JudgePrompt, Candidate)
