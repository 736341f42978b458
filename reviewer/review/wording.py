"""Wording that the rubric's policy requires, checked only by words: no person and no model is
asked. It is separate from the gates: a gate's wording is the episode's contract
(`message_contains`), this wording is the policy for every message."""

from collections.abc import Iterable
from typing import Literal

from reviewer.stats.text import exact_match, indel_ratio, squad_f1
from reviewer.suite.rubric import Rubric
from reviewer.suite.value import Value
from reviewer.suite.wording import LONGEST, PhraseUse, phrase_use


class PhraseResult(Value, frozen=True):
    """One phrase. `holds` is None when there is no message, or one too long to search."""

    phrase: str
    wanted: Literal["says", "never"]
    use: PhraseUse | None
    holds: bool | None


class WordingResult(Value, frozen=True):
    """One rule on one message; `holds` when every phrase does, None when that is not known."""

    wording_id: str
    holds: bool | None
    phrases: tuple[PhraseResult, ...]


def check_wording(
    rubric: Rubric, episode_id: str, message: str | None
) -> tuple[WordingResult, ...]:
    """Check every wording rule that applies to the episode, in the rubric's order. `says` holds
    when the phrase occurs undenied ("no refund" does not say "refund"), `never` when it does not. A
    denied phrase is in `use`, so that a person can see what was tolerated. A message of None is
    unknown, an empty one contains nothing.
    """
    results = []
    for rule in rubric.wording:
        if rule.episodes is not None and episode_id not in rule.episodes:
            continue
        phrases = (
            *(_said(phrase, message) for phrase in rule.says),
            *(_avoided(phrase, message) for phrase in rule.never),
        )
        results.append(
            WordingResult(wording_id=rule.wording_id, holds=_all_hold(phrases), phrases=phrases)
        )
    return tuple(results)


def _all_hold(phrases: Iterable[PhraseResult]) -> bool | None:
    results = {phrase.holds for phrase in phrases}
    return None if None in results else False not in results


def _said(phrase: str, message: str | None) -> PhraseResult:
    use = None if message is None else phrase_use(message, phrase)
    holds = None if use is None else use == "found"
    return PhraseResult(phrase=phrase, wanted="says", use=use, holds=holds)


def _avoided(phrase: str, message: str | None) -> PhraseResult:
    use = None if message is None else phrase_use(message, phrase)
    holds = None if use is None else use != "found"
    return PhraseResult(phrase=phrase, wanted="never", use=use, holds=holds)


# Comparing a message with a reference or with phrases. Diagnostics: nothing here gates a release.
#
# A phrase is compared by words, not by meaning. Plain English negation is recognized, so that "no
# bleeding risk" does not contain "bleeding risk"; irony and other languages are not.


class TextChecks(Value, frozen=True):
    """The similarity of a message to its reference. `indel` is None for texts too long to
    compare."""

    exact: bool
    indel: float | None
    token_f1: float


def compare_texts(message: str, reference: str) -> TextChecks:
    """Compare by exact match (case and outer white space aside), Indel ratio and SQuAD token F1, 0
    to 1."""
    short = max(len(message), len(reference)) <= LONGEST
    return TextChecks(
        exact=exact_match(message, reference),
        indel=indel_ratio(message, reference) if short else None,
        token_f1=squad_f1(message, reference),
    )
