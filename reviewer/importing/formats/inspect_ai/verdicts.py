"""What the scores of a sample say: which of them decides, and whether it is a pass."""

import math
from typing import Any, NamedTuple

from reviewer.importing.formats.inspect_ai.parts import mapping, sequence, text
from reviewer.importing.formats.inspect_ai.spending import Spent
from reviewer.trace.record import SourceVerdict

_WORDS = {"C": 1.0, "I": 0.0, "N": 0.0, "P": 0.5, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
SHOWN = 1000
EDITED = "a person edited the scores of this attempt after the run: the edited ones stand"
UNCLEAR = "the deciding score says neither pass nor fail (another number than 0 or 1, text, a list)"
PARTIAL = "partial credit counts as not passed"
UNSCORED = "the deciding scorer gave this attempt no value"


class Deciding(NamedTuple):
    """The score that decides: its scorer, the part of it when a scorer gives several values,
    whether the header computes an accuracy of it, and what says that it decides."""

    scorer: str
    part: str
    accuracy: bool
    why: str


class Decided(NamedTuple):
    """`reward` is the deciding value as a number; `note` says why nothing was decided."""

    passed: bool | None
    reward: float | None
    by: Deciding | None
    note: str


def orders(header: dict[str, Any]) -> list[Deciding]:
    """Scores in the order in which they decide: the header's headline, its results, its
    scorers."""
    results = mapping(header.get("results"))
    scores = [mapping(one) for one in sequence(results.get("scores"))] or [
        mapping(results.get("scorer"))  # before several scorers were possible
    ]
    head = mapping(results.get("headline"))
    found = [
        _deciding(one, "the header's headline")
        for one in scores
        if head and all(head.get(name) == one.get(mine) for name, mine in _HEAD if head.get(name))
    ]
    found += [_deciding(one, "first in the header's results") for one in scores]
    for one in map(mapping, sequence(mapping(header.get("eval")).get("scorers"))):
        name = text(one.get("name"))
        metrics = [text(mapping(metric).get("name")) for metric in sequence(one.get("metrics"))]
        accuracy = any(metric.endswith("accuracy") for metric in metrics)
        found.append(Deciding(name, name, accuracy, "first of the header's scorers"))
    return [one for one in found if one.scorer]


_HEAD = (("scorer", "scorer"), ("score", "name"))


def _deciding(score: dict[str, Any], why: str) -> Deciding:
    name = text(score.get("name"))
    return Deciding(
        text(score.get("scorer")) or name, name, "accuracy" in mapping(score.get("metrics")), why
    )


def scores_of(sample: dict[str, Any]) -> dict[str, Any]:
    """The scores of a sample by name, in the file's order."""
    scores = mapping(sample.get("scores"))
    old = mapping(sample.get("score"))
    return scores or ({"score": old} if old else {})


def decide(scores: dict[str, Any], order: list[Deciding]) -> Decided:
    """Pass or fail by the first score of `order` that the sample has, else by its own first. A
    pass is full credit."""
    if not scores:
        return Decided(None, None, None, "")
    first = next(iter(scores))
    by = next((one for one in order if one.scorer in scores), None)
    by = by or Deciding(first, first, False, "first of the sample's scores")
    value = mapping(scores[by.scorer]).get("value")
    if isinstance(value, dict):
        value = value.get(by.part)
    if value is None:
        return Decided(None, None, by, UNSCORED)
    reward = number_of(value)
    if reward in (0.0, 1.0):
        return Decided(reward == 1.0, reward, by, "")
    if value == "P" or (by.accuracy and reward is not None and 0 < reward < 1):
        return Decided(False, reward, by, PARTIAL)
    return Decided(None, reward, by, UNCLEAR)


def number_of(value: Any) -> float | None:
    """A score as a number, as Inspect's own metrics read it; None for lists, objects and words
    that mean none."""
    if isinstance(value, (bool, int, float)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        found = _WORDS.get(value, _WORDS.get(value.lower() if len(value) > 1 else value))
        return found if found is not None else _parsed(value)
    return None


def _parsed(value: str) -> float | None:
    try:
        number = float(value[:64])
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def verdict(
    sample: dict[str, Any], decided: Decided, exception: str | None, spent: Spent
) -> SourceVerdict:
    """The source's word with every score behind it (texts cut), and what graders,
    simulated users and models that are not the candidate's used."""
    detail: dict[str, Any] = {}
    if decided.by is not None:
        by = decided.by
        detail["decided_by"] = by.scorer if by.part == by.scorer else f"{by.scorer}/{by.part}"
    if scores := scores_of(sample):
        detail["scores"] = {name[:200]: _shown(mapping(one)) for name, one in scores.items()}
    if invalid := _who(mapping(sample.get("invalidation"))):
        detail["invalidation"] = invalid
    if spent.others:
        detail["other_models"] = spent.others
    detail.update(spent.beside)
    return SourceVerdict(
        passed=decided.passed, reward=decided.reward, exception=exception, detail=detail
    )


def edited(scores: dict[str, Any]) -> bool:
    """Whether a person changed or added one of them."""
    return any(
        mapping(edit).get("provenance")
        for score in scores.values()
        for edit in sequence(mapping(score).get("history"))
    )


def _shown(score: dict[str, Any]) -> dict[str, Any]:
    """One score: value, answer, explanation, reason and every edit with who made it and why."""
    shown = {"value": score.get("value")}
    for name in ("answer", "explanation", "reason"):
        if isinstance(score.get(name), str):
            shown[name] = score[name][:SHOWN]
    history = [_shown_edit(mapping(edit)) for edit in sequence(score.get("history"))]
    return {**shown, "history": history} if history else shown


def _shown_edit(edit: dict[str, Any]) -> dict[str, Any]:
    who = _who(mapping(edit.get("provenance")))
    return {"value": edit.get("value"), **({"provenance": who} if who else {})}


def _who(said: dict[str, Any]) -> dict[str, str]:
    """Who did it, when and why."""
    names = ("author", "timestamp", "reason")
    return {name: said[name][:SHOWN] for name in names if isinstance(said.get(name), str)}
