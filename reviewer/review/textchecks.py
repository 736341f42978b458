"""Comparing a message with a reference. Diagnostics: nothing here gates a release."""

from reviewer.stats.text import exact_match, indel_ratio, squad_f1
from reviewer.suite.model import Value
from reviewer.suite.wording import LONGEST


class TextChecks(Value, frozen=True):
    """How like its reference a message is. `indel` is None for texts too long to compare."""

    exact: bool
    indel: float | None
    token_f1: float


def compare_texts(message: str, reference: str) -> TextChecks:
    """Exact match (case and outer white space apart), Indel ratio and SQuAD token F1, 0 to 1."""
    short = max(len(message), len(reference)) <= LONGEST
    return TextChecks(
        exact=exact_match(message, reference),
        indel=indel_ratio(message, reference) if short else None,
        token_f1=squad_f1(message, reference),
    )
