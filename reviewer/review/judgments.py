# ruff: noqa: RUF012 (msgspec gives each instance its own copy of an empty default)
"""Judgments: the questions and answers of a judge, how they are exchanged and merged, and which of
them counts.

Judgments are only ever added.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar, Literal, NamedTuple

from reviewer.review.items import TIE, ItemRecord, Kind, item_name
from reviewer.review.lines import Lines, age
from reviewer.suite.errors import json_path
from reviewer.suite.fields import (
    Amount,
    Count,
    Id,
    Limits,
    Name,
    Names,
    Positive,
    Sha256,
    Text,
)
from reviewer.suite.rubric import Preset
from reviewer.suite.value import Value

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
"""The scores of a preset, each with its maximum; the minimum is 0."""

MOST_CLAIMS = 100
"""The most claims of one answer."""

COMPLETE = 7.0
"""The score of `completion` from which a message is complete."""


class Claim(Value, frozen=True):
    """One claim of a message, and the event whose observation supports it."""

    claim: Annotated[str, Limits(min_length=1, max_length=4000), "The claim, in the judge's words."]
    grounded: Annotated[bool, "Whether an observation grounds it."]
    seq: Annotated[int | None, "The number of the event that does. Null: none."] = None


class Judgment(ItemRecord, frozen=True, kw_only=True):
    """One answer of a judge. `at` is RFC 3339 in UTC, ending in Z."""

    SCHEMA: ClassVar[str] = "reviewer/judgment@1"
    ORDER: ClassVar[str] = "schema uid item kind"

    kind: Annotated[Kind, "`pair`: two messages of one episode. `message`: one."]
    preset: Annotated[Preset, "What was asked."]
    # `forward` is as random as a coin, and the same in every store.
    order: Annotated[
        Order,
        "Of a pair: `forward` has the message of the lower digest on the left, `swapped` on the "
        "right. Of a message: `single`.",
    ]
    repeat: Annotated[Positive, "Which asking of the same question it is, from 1."] = 1
    left: Annotated[Sha256 | None, "Of a pair: digest of the message on the left."] = None
    right: Annotated[Sha256 | None, "Of a pair: digest of the message on the right."] = None
    message: Annotated[Sha256 | None, "Of a message: its digest."] = None
    trace: Annotated[Name | None, "Of `faithfulness`: the trace whose observations were shown."] = (
        None
    )
    judge_id: Annotated[Id, "The judge's id."]
    judge_version: Annotated[Text, "The judge's version."]
    model: Annotated[Name, "The model that was asked."]
    prompt_digest: Annotated[Sha256, "Digest of the prompt."]
    rubric_digest: Annotated[Sha256 | None, "Digest of the rubric. Null: none was shown."] = None
    request_digest: Annotated[
        Sha256,
        "Digest of all that decides the reply: the same question is never paid for twice.",
    ]
    answer: Annotated[Verdict | None, "The answer of `pairwise`."] = None
    scores: Annotated[dict[Id, Amount], "The answer of the presets that score: score by name."] = {}
    claims: Annotated[
        Annotated[tuple[Claim, ...], Limits(max_length=MOST_CLAIMS)] | None,
        "The answer of `faithfulness`.",
    ] = None
    error: Annotated[Failure | None, "Why there is no answer. Null: there is one."] = None
    reason: Annotated[str, Limits(max_length=4000), "The judge's reason, or what went wrong."] = ""
    cost_usd: Annotated[Amount | None, "USD. Null: not known."] = None
    input_tokens: Annotated[Count | None, "Tokens sent. Null: not known."] = None
    output_tokens: Annotated[Count | None, "Tokens received. Null: not known."] = None
    at: Annotated[Text, "When, in UTC."]
    traces: Annotated[
        Names, "The traces that the item was built from: context, outside the uid."
    ] = ()

    @property
    def winner(self) -> str | None:
        """Return the digest of the message that won, or `tie`, in either order; None without an
        answer."""
        if self.answer is None or self.answer == TIE:
            return self.answer
        return self.left if self.answer == "left" else self.right

    @property
    def final(self) -> bool:
        """Return whether asking again is useless: an answer came, even if it is unusable."""
        return self.error != "no_answer"


Problems = Iterator[tuple[str, str]]


class JudgmentKey(NamedTuple):
    """The members that identify a question; of all judgments with one key, one counts."""

    item: str
    preset: str
    order: str
    repeat: int
    trace: str | None
    judge_id: str
    model: str
    prompt_digest: str
    rubric_digest: str | None


def key_of(judgment: Judgment) -> JudgmentKey:
    return JudgmentKey(*(getattr(judgment, name) for name in JudgmentKey._fields))


def counting(judgments: Iterable[Judgment]) -> tuple[Judgment, ...]:
    """Return the judgment that counts for each key, by time: the first answer, or without an answer
    the last try. Asking until the answer is favorable must not pay."""
    found: dict[JudgmentKey, Judgment] = {}
    for one in sorted(judgments, key=age):
        known = found.get(key_of(one))
        if known is None or not known.final:
            found[key_of(one)] = one
    return tuple(sorted(found.values(), key=age))


def _problems(judgment: Judgment) -> Problems:
    if judgment.kind != KIND_OF[judgment.preset]:
        yield "$.kind", f"is not what preset {judgment.preset} asks about"
        return
    if (judgment.trace is not None) != (judgment.preset == "faithfulness"):
        yield "$.trace", "names whose observations were shown, and that only in faithfulness"
    yield from _context(judgment)
    yield from _answer(judgment)


def _context(judgment: Judgment) -> Problems:
    """Check that these messages, in the named order, make the item."""
    pair = judgment.kind == "pair"
    named = {"left": judgment.left, "right": judgment.right, "message": judgment.message}
    wanted = ("left", "right") if pair else ("message",)
    for name, digest in named.items():
        if (digest is None) == (name in wanted):
            way = "is missing" if digest is None else f"is none of a {judgment.kind}"
            yield f"$.{name}", way
            return
    digests = [digest for digest in named.values() if digest is not None]
    if pair and digests[0] == digests[1]:
        yield "$.right", "is the left message again; identical messages make no pair"
        return
    order = "single"
    if pair:
        order = "forward" if digests[0] < digests[1] else "swapped"
    if judgment.order != order:
        yield "$.order", f"must be {order}: `forward` has the lower digest on the left"
    name = item_name(judgment.kind, judgment.suite_digest, judgment.episode_id, digests)
    if judgment.item != name:
        yield "$.item", f"is not the item of these messages, which is {name}"


def _answer(judgment: Judgment) -> Problems:
    wanted = {"pairwise": "answer", "faithfulness": "claims"}.get(judgment.preset, "scores")
    given = {
        "answer": judgment.answer is not None,
        "scores": bool(judgment.scores),
        "claims": judgment.claims is not None,
    }
    for name, there in given.items():
        if there and name != wanted:
            yield f"$.{name}", f"is no answer of preset {judgment.preset}"
    if given[wanted] == (judgment.error is not None):
        yield f"$.{wanted}", "must be given, or else an error, and never both"
    scales = SCORES.get(judgment.preset, {})
    if judgment.scores and judgment.preset in SCORES and judgment.scores.keys() != scales.keys():
        yield "$.scores", f"must be {', '.join(scales)}"
    for name, score in judgment.scores.items():
        if score > scales.get(name, score):
            yield json_path(("scores", name)), f"is above {scales[name]:g}"


JUDGMENTS = Lines("judgment", Judgment, _problems)

uid_of, seal, merge = JUDGMENTS.uid_of, JUDGMENTS.seal, JUDGMENTS.merge
judgment_line, judgment_file, stored_judgment = JUDGMENTS.line, JUDGMENTS.file, JUDGMENTS.stored
read_judgment, read_judgments = JUDGMENTS.read, JUDGMENTS.read_file
