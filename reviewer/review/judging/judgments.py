"""Judgments as they travel and join, and which one counts. Judgments are only ever added."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reviewer.review.items import item_name
from reviewer.review.judging.model import KIND_OF, SCORES, Judgment
from reviewer.review.lines import Lines, age, instant
from reviewer.suite.errors import json_path

Found = Iterator[tuple[str, str]]


class JudgmentKey(NamedTuple):
    """Of all judgments under one key, one counts."""

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
    """Of each key the judgment that counts, by time: the first that came, or, as long as none
    did, the last try. Asking until the answer pleases must not pay."""
    found: dict[JudgmentKey, Judgment] = {}
    for one in sorted(judgments, key=age):
        known = found.get(key_of(one))
        if known is None or not known.final:
            found[key_of(one)] = one
    return tuple(sorted(found.values(), key=age))


def _problems(judgment: Judgment) -> Found:
    try:
        instant(judgment.at)
    except ValueError as error:
        yield "$.at", str(error)
    if judgment.kind != KIND_OF[judgment.preset]:
        yield "$.kind", f"is not what preset {judgment.preset} asks about"
        return
    if (judgment.trace is not None) != (judgment.preset == "faithfulness"):
        yield "$.trace", "names whose observations were shown, and that only in faithfulness"
    yield from _context(judgment)
    yield from _said(judgment)


def _context(judgment: Judgment) -> Found:
    """The item must be the one that these messages make, in the order that is named."""
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


def _said(judgment: Judgment) -> Found:
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
