"""`reviewer labels queue`: what is to be labeled and how far the reviewers agree, one fact a
line."""

import argparse
from collections.abc import Iterator

from reviewer.cli.opening import desk_of, release_of
from reviewer.cli.say import fact, out_json
from reviewer.desk.labels.views import (
    REASONS,
    EstimateView,
    LabelKind,
    QuestionView,
    QueueView,
    ReasonLine,
)
from reviewer.exit_codes import ExitCode


def run(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    suite, candidate = release_of(arguments, desk)
    kind: LabelKind = "message" if arguments.messages else "pair"
    found = desk.labels.queue(suite, candidate, arguments.baseline, kind)
    if arguments.json:
        import msgspec

        out_json(msgspec.to_builtins(found))
        return ExitCode.DONE
    for line in (*_head(found), *_reasons(found), *_agreement(found)):
        fact(line)
    return ExitCode.DONE


def _head(found: QueueView) -> Iterator[str]:
    """How far this person is, and what holds up a release."""
    against = f"  baseline {found.baseline_id}" if found.baseline_id else ""
    yield f"suite {found.suite_id}  candidate {found.candidate_id}{against}"
    noun = "pairs" if found.kind == "pair" else "final messages"
    yield f"{noun}, labeled by {', '.join(found.reviewers) or 'nobody yet'}"
    yield f"you: {found.done} of {found.items} done"
    yield f"high flags: {found.high}, open {found.open_high}"
    if found.open_high:
        yield "no PROMOTE can be signed until a label closes each of them"


def _reasons(found: QueueView) -> Iterator[str]:
    for row in found.reasons:
        yield _reason(row)
    left_out = ((found.identical, "identical"), (found.unpaired, "without a partner"))
    words = [f"{count} {word}" for count, word in left_out if count]
    if words and found.kind == "pair":
        yield f"not in the queue: {', '.join(words)}"


def _reason(row: ReasonLine) -> str:
    name = REASONS.get(row.reason, row.reason.replace("_", " "))
    note = f"; {row.note}" if row.note else ""
    return f"reason {name}: {row.priority} priority; {row.left} left, {row.done} done{note}"


def _agreement(found: QueueView) -> Iterator[str]:
    """How far raters agree, each with himself, and what a third person must settle."""
    one_order = f", {found.begun} in one order" if found.begun else ""
    noun = "pairs" if found.kind == "pair" else "messages"
    yield f"everybody: {found.labeled} {noun} labeled{one_order}"
    for question in found.agreement:
        yield from _question(question)
    for estimate in found.consistency:
        yield _estimate(estimate)
    if found.needed:
        yield f"needed: {found.needed}"
    for row in found.disagreements:
        names = " and ".join(row.reviewers)
        yield f"to adjudicate {row.episode_id}: {row.text} ({names}){'; yours' if row.mine else ''}"


def _question(one: QuestionView) -> Iterator[str]:
    about = one.about or "which message is better"
    yield f"agreement on {about}: {one.items} items, {one.lead} leads"
    for estimate in (one.raw, one.alpha, one.ac1, one.kappa):
        yield f"  {_estimate(estimate)}"


def _estimate(one: EstimateView) -> str:
    """One figure with its limits, or why there are none."""
    if one.value is None:
        told = "not measured"
    elif one.hits is not None:
        told = f"{one.hits} of {one.n}"
    else:
        told = f"{one.value:.3f}"
    if one.low is not None and one.high is not None:
        told += f" [{one.low:.3f}, {one.high:.3f}]"
    return f"{one.name} {told}" + (f" ({one.why})" if one.why else "")
