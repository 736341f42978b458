"""Failing attempts that share no pattern with another, grouped by the similarity of their words.

A static model on this machine turns the words of an attempt into a direction, and attempts with
similar directions form a group. The order of attempts, imports and stores changes no group: ties
are settled by the digest of an attempt's evidence. Nothing here changes a verdict.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reviewer.db.connection import Connection
from reviewer.db.queries.patterns import evidence_of_traces
from reviewer.desk.errors import DeskError
from reviewer.desk.patterns.failures import Failure, Side
from reviewer.desk.patterns.names import near_id
from reviewer.desk.patterns.shapes import pattern_id
from reviewer.desk.patterns.views import (
    GivenName,
    NearCount,
    NearExample,
    NearGroup,
    NearPatterns,
)
from reviewer.desk.reports.text_scores import (
    DIGITS,
    UNINSTALLED,
    UNNAMED,
    Model,
    NotInstalled,
    open_model,
)
from reviewer.exit_codes import ExitCode

THRESHOLD = 0.75
"""Two attempts are near if the cosine of their directions is at least this."""
MOST_COMPARED = 5_000
"""Most attempts that are compared; where there are more, those with the lowest ids."""
EXAMPLES = 2


class Alone(NamedTuple):
    """A failing attempt that shares its pattern with no other."""

    near_id: str
    side: int
    failure: Failure


def model_of(folder: str) -> Model:
    """Open the embedding model in a folder. Raises DeskError with the way out where no folder is
    named, the extra is not installed, or the folder contains no model."""
    if not folder:
        raise DeskError(
            "grouping by similar words needs an embedding model",
            UNNAMED.partition(": ")[2],
            exit_code=ExitCode.USAGE,
        )
    try:
        return open_model(folder)
    except NotInstalled:
        raise DeskError(
            "grouping by similar words needs the extra `embeddings` (model2vec is not installed)",
            UNINSTALLED.partition(": ")[2],
            "reviewer patterns groups by codes and steps without it",
            exit_code=ExitCode.USAGE,
        ) from None


def near_patterns(
    connection: Connection,
    sides: Sequence[Side],
    called: Mapping[str, tuple[GivenName, ...]],
    model: Model,
) -> NearPatterns:
    """Group the attempts that are alone in their pattern by the similarity of their words."""
    alone = _alone(connection, sides)
    compared = alone[:MOST_COMPARED]
    directions, silent = _directions([one.failure.text for one in compared], model)
    groups = _groups(directions, silent)
    found = [_group([compared[at] for at in members], directions[members], sides, called)
             for members in groups]  # fmt: skip
    grouped = sum(map(len, groups))
    return NearPatterns(
        model=model.name,
        model_sha256=model.sha256,
        threshold=THRESHOLD,
        alone=len(alone),
        grouped=grouped,
        near_none=len(compared) - grouped - len(silent),
        wordless=len(silent),
        not_compared=len(alone) - len(compared),
        groups=tuple(sorted(found, key=lambda one: (-one.attempts, one.near_id))),
    )


def _alone(connection: Connection, sides: Sequence[Side]) -> list[Alone]:
    """Return the attempts that are alone in their pattern, by id and then by place."""
    shapes = Counter(one.shape for side in sides for one in side.failures)
    mine = [
        (number, one)
        for number, side in enumerate(sides)
        for one in side.failures
        if shapes[one.shape] == 1
    ]
    evidence = evidence_of_traces(connection, [one.trace for _, one in mine])
    found = [Alone(near_id(evidence[one.trace]), number, one) for number, one in mine]
    return sorted(
        found,
        key=lambda one: (
            one.near_id,
            sides[one.side].candidate_id,
            one.failure.episode_id,
            one.failure.attempt,
        ),
    )


def _directions(texts: Sequence[str], model: Model) -> tuple[Any, frozenset[int]]:
    """Return the direction of each text, and the places of the texts without a word that the model
    knows."""
    import numpy as np

    if not texts:
        return np.zeros((0, 1)), frozenset()
    places = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    rows = np.asarray(model.encode(list(places), max_length=None), dtype=np.float64)
    rows = rows[[places[text] for text in texts]]
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    silent = frozenset(int(n) for n in np.flatnonzero(norms[:, 0] == 0))
    return rows / np.where(norms == 0, 1, norms), silent


def _groups(directions: Any, silent: frozenset[int]) -> list[list[int]]:
    """Return the places of each group. The text with the most texts near it takes these, then among
    the remaining texts the one with the most near it, and so on: every text of a group is near the
    one that took it."""
    import numpy as np

    near = np.round(directions @ directions.T, DIGITS) >= THRESHOLD
    left = np.ones(len(directions), dtype=bool)
    left[list(silent)] = False
    groups: list[list[int]] = []
    while left.any():
        counts = np.where(left, near @ left.astype(np.int32), 0)
        center = int(counts.argmax())  # the first of several: the lowest id
        if counts[center] < 2:
            break
        members = np.flatnonzero(near[center] & left)
        left[members] = False
        groups.append([int(one) for one in members])
    return groups


def _group(
    members: Sequence[Alone],
    directions: Any,
    sides: Sequence[Side],
    called: Mapping[str, tuple[GivenName, ...]],
) -> NearGroup:
    import numpy as np

    center = directions.mean(axis=0)
    cosines = np.round(directions @ (center / np.linalg.norm(center)), DIGITS)
    order = sorted(range(len(members)), key=lambda at: (-cosines[at], at))
    names = [one for near in dict.fromkeys(m.near_id for m in members)
             for one in called.get(near, ())]  # fmt: skip
    examples = [_example(members[at], float(cosines[at]), sides) for at in order]
    return NearGroup(
        near_id=examples[0].near_id,
        attempts=len(members),
        counts=tuple(_count(number, side, members) for number, side in enumerate(sides)),
        examples=tuple(examples[:EXAMPLES]),
        members=tuple(one.near_id for one in examples),
        names=tuple(names),
        names_differ=len({one.name for one in names}) > 1,
    )


def _count(number: int, side: Side, members: Sequence[Alone]) -> NearCount:
    mine = [one.failure for one in members if one.side == number]
    return NearCount(
        candidate_id=side.candidate_id,
        attempts=len(mine),
        counted=sum(one.counted for one in mine),
        measured=sum(side.measured.values()),
    )


def _example(one: Alone, cosine: float, sides: Sequence[Side]) -> NearExample:
    side, failure = sides[one.side], one.failure
    where = (side.suite_id, side.candidate_id, failure.episode_id, str(failure.attempt))
    return NearExample(
        near_id=one.near_id,
        trace_id="/".join(where),
        seq=failure.seq,
        pattern_id=pattern_id(failure.shape),
        cosine=cosine,
        text=failure.text,
    )
