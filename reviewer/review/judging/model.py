"""What a judge was asked and what it answered, as plain immutable values."""

from typing import Literal

from msgspec import Struct

from reviewer.review.model import TIE, Kind
from reviewer.suite.model import Preset, Value

Order = Literal["forward", "swapped", "single"]
Verdict = Literal["left", "right", "tie"]
Failure = Literal["not_parsed", "unknown_event", "refused", "no_answer"]

KIND_OF: dict[Preset, Kind] = {
    "pairwise": "pair",
    "correctness-completeness-relevance": "message",
    "completion": "message",
    "faithfulness": "message",
}
SCORES: dict[Preset, dict[str, float]] = {
    "correctness-completeness-relevance": {
        "correctness": 5.0,
        "completeness": 5.0,
        "relevance": 5.0,
    },
    "completion": {"score": 10.0},
}
"""The scores of a preset, each with its most; the least is 0."""

COMPLETE = 7.0
"""From this score of `completion` a message is complete."""


class Claim(Value, frozen=True):
    """One claim of a final message. `seq` is the event whose observation grounds it."""

    claim: str
    grounded: bool
    seq: int | None = None


class Judgment(Struct, frozen=True, kw_only=True):
    """What a judge answered once: reviewer/judgment@1.

    `uid` is the sha256 of the RFC 8785 bytes of everything but `uid` and `traces`, which are
    context. Of a pair, `forward` is the order in which the lower digest stands left, which is as
    good as a coin and the same in every store. `request_digest` covers all that decides the reply,
    so the same question is never paid for twice. Exactly one of `answer` (a pair), `scores`,
    `claims` (by preset) is given, or `error`; `reason` is the judge's, or says what went wrong.
    `trace` is whose observations were shown (`faithfulness`).
    """

    item: str
    kind: Kind
    suite_id: str
    suite_digest: str
    episode_id: str
    preset: Preset
    order: Order
    judge_id: str
    judge_version: str
    model: str
    prompt_digest: str
    request_digest: str
    at: str
    rubric_digest: str | None = None
    uid: str = ""
    repeat: int = 1
    left: str | None = None
    right: str | None = None
    message: str | None = None
    trace: str | None = None
    answer: Verdict | None = None
    scores: dict[str, float] = {}
    claims: tuple[Claim, ...] | None = None
    error: Failure | None = None
    reason: str = ""
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    traces: tuple[str, ...] = ()

    @property
    def winner(self) -> str | None:
        """Digest of the message that won, or `tie`, whatever the order; None without an answer."""
        if self.answer is None or self.answer == TIE:
            return self.answer
        return self.left if self.answer == "left" else self.right

    @property
    def final(self) -> bool:
        """Whether asking again would ask the same for nothing: an answer came, be it unusable."""
        return self.error != "no_answer"
