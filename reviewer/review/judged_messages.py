"""What a judge says of single messages: means on its scales, and which claims nothing grounds.

Diagnostics. They are a model's opinion, measured against nobody, and decide nothing.
"""

from collections.abc import Iterable, Sequence

from reviewer.review.agreement import share
from reviewer.review.judging.judgments import counting
from reviewer.review.judging.model import COMPLETE, KIND_OF, SCORES, Judgment
from reviewer.stats.figures import Share
from reviewer.suite.model import Value
from reviewer.suite.rubric import Preset


class ClaimLine(Value, frozen=True):
    """One claim of the message that ends `trace`; `seq` is the event that grounds it, None when
    none does."""

    trace: str
    episode_id: str
    claim: str
    seq: int | None


class MessageFigures(Value, frozen=True):
    """One preset over `messages` answers that could be used; `errors` others could not.

    `means` are on the preset's scales. `complete` (completion) counts scores from 7, `grounded`
    (faithfulness) claims with an event behind them; each is None for other presets. `claims` lists
    those without one first.
    """

    preset: Preset
    messages: int
    errors: int
    means: dict[str, float | None]
    complete: Share | None = None
    grounded: Share | None = None
    claims: tuple[ClaimLine, ...] = ()


def message_figures(judgments: Iterable[Judgment]) -> tuple[MessageFigures, ...]:
    """Of each preset that was asked of messages, in the presets' order; repeats do not count."""
    asked: dict[Preset, list[Judgment]] = {}
    for one in counting(judgments):
        if one.kind == "message" and one.repeat == 1:
            asked.setdefault(one.preset, []).append(one)
    return tuple(_figures(preset, asked[preset]) for preset in KIND_OF if preset in asked)


def _figures(preset: Preset, given: Sequence[Judgment]) -> MessageFigures:
    usable = [one for one in given if one.error is None]
    scales = SCORES.get(preset, {})
    scores = {name: [one.scores[name] for one in usable] for name in scales}
    claims = _claims(usable)
    complete = [score >= COMPLETE for score in scores.get("score", ())]
    return MessageFigures(
        preset=preset,
        messages=len(usable),
        errors=len(given) - len(usable),
        means={name: sum(all_) / len(all_) if all_ else None for name, all_ in scores.items()},
        complete=share(sum(complete), len(complete)) if preset == "completion" else None,
        grounded=share(sum(line.seq is not None for line in claims), len(claims))
        if preset == "faithfulness"
        else None,
        claims=claims,
    )


def _claims(usable: Iterable[Judgment]) -> tuple[ClaimLine, ...]:
    lines = [
        ClaimLine(
            trace=one.trace or "",
            episode_id=one.episode_id,
            claim=claim.claim,
            seq=claim.seq if claim.grounded else None,
        )
        for one in usable
        for claim in one.claims or ()
    ]
    return tuple(sorted(lines, key=lambda line: (line.seq is not None, line.trace)))
