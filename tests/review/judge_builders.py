"""Judgments to try things on."""

from typing import Any

from review_builders import RUBRIC_DIGEST, SUITE, at, choosing

from reviewer.review.calibration import Calibration, calibrate
from reviewer.review.items import Item
from reviewer.review.judged import JudgeKey
from reviewer.review.judgments import Judgment, seal
from reviewer.review.labels import Label
from reviewer.suite.model import JudgePolicy

PROMPT = "7" * 64
REQUEST = "8" * 64
FAMILY = "refund-agent"
KEY = JudgeKey(
    judge_id="j", model="m", prompt_digest=PROMPT, rubric_digest=RUBRIC_DIGEST, family=FAMILY
)
POLICY = JudgePolicy(min_accuracy=0.90, max_flip_rate=0.05)


def draft(item: Item, /, order: str = "forward", **changes: Any) -> Judgment:
    """A judgment as it is before it is sealed."""
    digests = [message.digest for message in item.messages]
    sides: dict[str, Any] = {"message": digests[0], "order": "single", "preset": "completion"}
    if item.kind == "pair":
        left, right = digests if order == "forward" else digests[::-1]
        sides = {"left": left, "right": right, "order": order, "preset": "pairwise"}
    base = {
        "item": item.item,
        "kind": item.kind,
        "suite_id": "suite-v1",
        "suite_digest": SUITE,
        "episode_id": item.episode_id,
        "judge_id": "j",
        "judge_version": "v1",
        "model": "m",
        "prompt_digest": PROMPT,
        "rubric_digest": RUBRIC_DIGEST,
        "request_digest": REQUEST,
        "at": at(500),
        "traces": item.traces,
        **sides,
    }
    return Judgment(**{**base, **changes})


def judgment(item: Item, /, winner: str | None = None, **changes: Any) -> Judgment:
    """What a judge said of a pair: the winner is the side that `old …` or `new …` stands on, `tie`,
    or None for an answer that could not be used."""
    made = draft(item, **changes)
    if item.kind != "pair":
        return seal(made)
    if winner is None:
        return seal(draft(item, **{"error": "not_parsed", **changes}))
    digest = next((m.digest for m in item.messages if m.text.startswith(winner)), None)
    answer = {made.left: "left", made.right: "right"}.get(digest, winner)
    return seal(draft(item, answer=answer, **changes))


def both(item: Item, forward: str | None, swapped: str | None, **changes: Any) -> list[Judgment]:
    """The judge's winner in either order."""
    return [
        judgment(item, forward, order="forward", **changes),
        judgment(item, swapped, order="swapped", **changes),
    ]


NAMES = {"A": "old", "B": "new", "t": "tie", "x": None, "z": "both_bad"}


def rows(items: tuple[Item, ...], *written: str) -> tuple[list[Label], list[Judgment]]:
    """Labels and judgments of rows such as `BBA`: people, judge forward, judge swapped. A is the
    old message, B the new one; t a tie, z both bad, x an answer that could not be used."""
    labels, judgments = [], []
    for item, row in zip(items, written, strict=True):
        people, forward, swapped = (NAMES[letter] for letter in row)
        assert people is not None
        labels.append(choosing(item, people))
        judgments += both(item, forward, swapped)
    return labels, judgments


def measured(
    items: tuple[Item, ...],
    labels: list[Label],
    judgments: list[Judgment],
    key: JudgeKey = KEY,
    strict: bool = False,
    policy: JudgePolicy = POLICY,
    family: str = FAMILY,
) -> Calibration:
    families = {item.item: frozenset({family}) for item in items}
    return calibrate(labels, judgments, key, families, policy, strict)
