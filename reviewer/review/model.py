"""What people are asked about and what they answered, as plain immutable values.

Digests are sha256 in lower-case hex without a prefix. An item is named by its content, so two
stores that never met give the same name to the same question.
"""

from typing import Literal

from msgspec import Struct

from reviewer.suite.model import Value

Kind = Literal["pair", "message"]
Side = Literal["left", "right"]
Answer = Literal["left", "right", "tie", "both_bad"]
Role = Literal["rater", "adjudicator"]
Stratum = Literal["high", "normal", "low"]
Reason = Literal[
    "safety",
    "gate_disagreement",
    "iteration_limit",
    "blocked_output",
    "thumbs_down",
    "judge_flips",
    "lost_episode",
    "low_efficiency",
    "uncertain",
    "random",
    "quota",
]

TIE = "tie"
BOTH_BAD = "both_bad"


class TraceMessage(Value, frozen=True):
    """The final message of one trace, already masked. `text` is None when the trace has none."""

    trace_id: str
    episode_id: str
    attempt: int
    text: str | None


class Message(Value, frozen=True):
    """A text that at least one trace ends with. `missing` when there is none, or an empty one.

    `traces` are the ids of the traces that end so, sorted; they are never shown before a label is
    committed.
    """

    digest: str
    text: str
    missing: bool
    traces: tuple[str, ...]


class Item(Value, frozen=True):
    """One question for people: a pair of messages of one episode, or one message.

    `item` is its name. A pair holds two different messages sorted by digest, which says nothing of
    who wrote them.
    """

    item: str
    kind: Kind
    suite_digest: str
    episode_id: str
    messages: tuple[Message, ...]

    @property
    def traces(self) -> tuple[str, ...]:
        """Every trace that ends with one of the messages, sorted, each once."""
        return tuple(sorted({trace for message in self.messages for trace in message.traces}))

    def message(self, digest: str) -> Message:
        """The message of that digest. KeyError when the item does not hold it."""
        for message in self.messages:
            if message.digest == digest:
                return message
        raise KeyError(digest)


class Showing(Value, frozen=True):
    """A pair in one order: `number` 1, or 2 with the sides exchanged. Sides are digests."""

    item: str
    number: int
    left: str
    right: str


class LabelKey(Value, frozen=True):
    """Of all labels under one key, one counts."""

    item: str
    showing: int
    reviewer: str
    role: Role


class Label(Struct, frozen=True, kw_only=True):
    """What one person said of one showing of one item: reviewer/label@1.

    `uid` is the sha256 of the RFC 8785 bytes of everything but `uid` and `traces`, which are
    context. A pair has `left`, `right` and an `answer`, perhaps with `decided` (criterion → the
    side it spoke for); a message has `message` and `marks` (criterion → level). `skipped` is the
    reason not to answer; `withdrawn` takes back the label that `revises` names. `at` is RFC 3339
    in UTC (`…Z`), `duration_ms` None when it was not measured, `pi` the chance with which the item
    came into the random part, None for an item outside it. `rubric_digest` is the sha256 of
    rubric.json as the suite's lock has it.
    """

    item: str
    kind: Kind
    suite_id: str
    suite_digest: str
    episode_id: str
    reviewer: str
    rubric_id: str
    rubric_version: str
    rubric_digest: str
    at: str
    uid: str = ""
    showing: int = 1
    left: str | None = None
    right: str | None = None
    message: str | None = None
    answer: Answer | None = None
    marks: dict[str, int] = {}
    decided: dict[str, Side] = {}
    skipped: str | None = None
    withdrawn: bool = False
    flag: bool = False
    note: str = ""
    role: Role = "rater"
    duration_ms: int | None = None
    revises: str | None = None
    stratum: Stratum | None = None
    reasons: tuple[Reason, ...] = ()
    pi: float | None = None
    traces: tuple[str, ...] = ()

    @property
    def key(self) -> LabelKey:
        return LabelKey(
            item=self.item, showing=self.showing, reviewer=self.reviewer, role=self.role
        )

    @property
    def winner(self) -> str | None:
        """Digest of the message that won, `tie` or `both_bad`, whatever the order shown; None
        without an answer."""
        if self.answer in ("left", "right"):
            return self.side(self.answer)
        return self.answer

    def side(self, side: Side) -> str | None:
        """Digest of the message that stood on that side."""
        return self.left if side == "left" else self.right
