"""Which labels count for the release of a candidate, and how many of each person.

A person counts once, however they spell their name; nobody judges their own work; and where a
policy requires signed labels, only labels in signed files count, as they were signed. The same
rules apply to people's own figures and to the labels that a judge is calibrated on.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from reviewer.review.labels import Label, latest

SignedLabels = Mapping[str, Label]
"""uid → the label as its rater signed it, under the signer's own name."""


class CountedLabels(NamedTuple):
    """The labels that count, the people who both made and labeled the candidate (`by_authors`), how
    many labels lack the signature that the policy requires (`unsigned`), and how many signed labels
    their rater has changed or taken back since without a signature (`changed`)."""

    labels: Sequence[Label]
    by_authors: tuple[str, ...] = ()
    unsigned: int = 0
    changed: int = 0


def counted_labels(
    labels: Iterable[Label],
    authors: Collection[str],
    signed: Callable[[], SignedLabels] | None,
) -> CountedLabels:
    """Return the labels that count; `signed` is None where the policy requires no signatures."""
    held = list(labels)
    if signed is None or not held:
        own, makers = _by_others(one_name_each(held), authors)
        return CountedLabels(own, makers)
    known = signed()
    own, makers = _by_others(one_name_each([known.get(x.uid, x) for x in held]), authors)
    counts = [label for label in own if label.uid in known]
    return CountedLabels(counts, makers, len(own) - len(counts), _changed(own, counts))


def _changed(labels: Sequence[Label], signed: Sequence[Label]) -> int:
    """Count the signed labels with an answer that their rater replaced without a signature: the
    older answer is no longer theirs, and the newer one does not count."""
    if len(labels) == len(signed):
        return 0
    last = latest(labels)
    return sum(
        last[key].uid != label.uid
        for key, label in latest(signed).items()
        if not label.withdrawn and label.skipped is None
    )


def one_name_each(labels: list[Label]) -> list[Label]:
    """Return the labels with one name for each person: the first of several spellings, such as
    `dana` and `Dana`. Two names would make two raters, who agree, of one person."""
    names = dict.fromkeys(label.reviewer for label in labels)
    if len(names) < 2:
        return labels
    from reviewer.signing.signers import is_one_of

    known: dict[str, str] = {}
    for name in names:
        same = (first for first in known.values() if is_one_of(first, [name]))
        known[name] = next(same, name)
    if all(name == first for name, first in known.items()):
        return labels
    return [
        label
        if known[label.reviewer] == label.reviewer
        else structs.replace(label, reviewer=known[label.reviewer])
        for label in labels
    ]


def _by_others(
    labels: list[Label], authors: Collection[str]
) -> tuple[list[Label], tuple[str, ...]]:
    """Return the labels of people who did not make a candidate, and the people who both made and
    labeled it."""
    if not labels or not authors:
        return labels, ()
    from reviewer.signing.signers import is_one_of

    raters = {label.reviewer for label in labels}
    makers = {who for who in raters if is_one_of(who, authors)}
    return [x for x in labels if x.reviewer not in makers], tuple(sorted(makers))
