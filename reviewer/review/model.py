# ruff: noqa: RUF012 (msgspec gives each instance its own copy of an empty default)
"""What people are asked about and what they answered, as plain immutable values.

Digests are sha256 in lower-case hex without a prefix. An item is named by its content, so two
stores that never met give the same name to the same question.
"""

from typing import Annotated, ClassVar, Literal

from reviewer.suite.fields import (
    UNIQUE,
    Count,
    File,
    Id,
    Limits,
    Name,
    Names,
    Sha256,
    Text,
)
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


class Label(Value, frozen=True, kw_only=True):
    """What one person said of one showing of one item. `at` is RFC 3339 in UTC, ending in Z."""

    SCHEMA: ClassVar[str] = "reviewer/label@1"

    uid: Annotated[
        str,
        File(Sha256 | None, None),
        "sha256 of the RFC 8785 bytes of all members but `uid` and `traces`, which are context. "
        "Null: it is computed.",
    ] = ""
    item: Annotated[Sha256, "The item's name: the digest of its kind, suite, episode and messages."]
    kind: Annotated[Kind, "`pair`: two messages of one episode. `message`: one."]
    suite_id: Annotated[Id, "The suite's id."]
    suite_digest: Annotated[Sha256, "Digest of the suite's lock."]
    episode_id: Annotated[Id, "The episode's id."]
    showing: Annotated[int, Limits(ge=1, le=2), "Of a pair: 1, or 2 with the sides exchanged."] = 1
    left: Annotated[Sha256 | None, "Of a pair: digest of the message on the left."] = None
    right: Annotated[Sha256 | None, "Of a pair: digest of the message on the right."] = None
    message: Annotated[Sha256 | None, "Of a message: its digest."] = None
    answer: Annotated[Answer | None, "Of a pair: which side is better."] = None
    marks: Annotated[
        dict[Id, Annotated[int, Limits(ge=1, le=9)]], "Of a message: criterion → level."
    ] = {}
    decided: Annotated[dict[Id, Side], "Of a pair: criterion → the side it spoke for."] = {}
    skipped: Annotated[Name | None, "Why there is no answer."] = None
    withdrawn: Annotated[bool, "Whether it takes back the label that `revises` names."] = False
    flag: Annotated[bool, "A mark to come back to."] = False
    note: Annotated[str, Limits(max_length=4000), "Free text."] = ""
    reviewer: Annotated[Name, "Who said it."]
    role: Annotated[Role, "`rater`, or `adjudicator`: a third person, whose label settles."] = (
        "rater"
    )
    rubric_id: Annotated[Id, "The rubric's id."]
    rubric_version: Annotated[Text, "The rubric's version."]
    rubric_digest: Annotated[Sha256, "sha256 of rubric.json, as the suite's lock has it."]
    at: Annotated[Text, "When, in UTC."]
    duration_ms: Annotated[Count | None, "Milliseconds it took. Null: not measured."] = None
    revises: Annotated[Sha256 | None, "The uid of the label that this one replaces."] = None
    stratum: Annotated[Stratum | None, "How urgent the item was in the queue."] = None
    reasons: Annotated[tuple[Reason, ...], UNIQUE, "Why the item was in the queue."] = ()
    pi: Annotated[
        Annotated[float, Limits(gt=0, le=1)] | None,
        "The item's chance of coming into the random part. Null: it is outside it.",
    ] = None
    traces: Annotated[
        Names, "The traces that the item was built from: context, outside the uid."
    ] = ()

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
