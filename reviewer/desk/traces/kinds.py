"""The clauses of one trace with equal findings combined, and navigation from one to the next."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from reviewer.desk.views import Clause, TraceView

_ORDER = {"critical": 0, "fail": 1, "not_measured": 2}


class Kind(NamedTuple):
    """A clause, or all findings of one gate with one code; `clause` is the first of them. `times`
    counts them, `seqs` are the numbers of the events that show them, rising, each once; `members`
    are all of them."""

    clause: Clause
    times: int
    seqs: Sequence[int]
    members: Sequence[Clause]


def kinds_of(trace: TraceView) -> tuple[Kind, ...]:
    """Return the clauses of a trace, the worst first and otherwise in their order."""
    return tuple(sorted(alike(trace), key=lambda kind: _ORDER.get(kind.clause.mark, 3)))


def alike(trace: TraceView) -> list[Kind]:
    """Return the clauses of a trace in their order, equal findings combined."""
    codes: dict[tuple[str, int | None, str], str] = {}
    for found in trace.findings:
        plain = f"{found.code}  {found.detail}".strip()
        for text in (found.detail or found.code, plain):
            codes.setdefault((found.gate, found.seq, text), found.code)
    equal: dict[tuple[object, ...], list[Clause]] = {}
    for number, clause in enumerate(trace.clauses):
        code = codes.get((clause.gate, clause.seq, clause.text))
        if code is None or clause.seq is None:
            equal[number,] = [clause]
        else:
            equal.setdefault((clause.gate, clause.mark, code), []).append(clause)
    return [
        Kind(each[0], len(each), sorted({c.seq for c in each if c.seq is not None}), each)
        for each in equal.values()
    ]


def is_found(kind: Kind) -> bool:
    """Return whether a kind is a finding on an event: a clause that holds may name an event too."""
    return bool(kind.seqs) and kind.clause.mark != "pass"


def holds(kind: Kind, seq: int) -> bool:
    """Return whether an event shows a kind."""
    at = bisect_left(kind.seqs, seq)
    return at < len(kind.seqs) and kind.seqs[at] == seq


def kind_at(kinds: Sequence[Kind], seq: int, chosen: int | None = None) -> int | None:
    """Return the kind that an event shows: the chosen one if it is among them, else the worst."""
    if chosen is not None and chosen < len(kinds) and holds(kinds[chosen], seq):
        return chosen
    found = (n for n, kind in enumerate(kinds) if is_found(kind) and holds(kind, seq))
    return next(found, None)


def further(
    kinds: Sequence[Kind], seq: float, chosen: int | None, step: int
) -> tuple[int, int] | None:
    """Return (kind, event) of the next finding in the direction of `step`; None if there is none.

    From an event with a finding this is the next event of the same kind, and after the last of them
    the first event of the next kind. From any other event it is the nearest event with a finding.
    """
    here = kind_at(kinds, int(seq), chosen) if seq == int(seq) else None
    if here is None:
        near = [(ahead, n) for n, kind in enumerate(kinds) if is_found(kind)
                for ahead in _next(kind.seqs, seq, step)]  # fmt: skip
        if not near:
            return None
        ahead, _ = min(near) if step > 0 else max(near)
        return min(n for at, n in near if at == ahead), ahead
    for ahead in _next(kinds[here].seqs, seq, step):
        return here, ahead
    at = here + step
    while 0 <= at < len(kinds):
        if is_found(kinds[at]):
            others = [each for each in _ends(kinds[at].seqs, step) if each != seq]
            if others:
                return at, others[0]
        at += step
    return None


def _next(seqs: Sequence[int], seq: float, step: int) -> Sequence[int]:
    """Return the next number in the direction of `step`, as a sequence of one or none."""
    at = bisect_right(seqs, seq) if step > 0 else bisect_left(seqs, seq) - 1
    return seqs[at : at + 1] if at >= 0 else ()


def _ends(seqs: Sequence[int], step: int) -> Sequence[int]:
    """Return the two numbers that come first in the direction of `step`."""
    return seqs[:2] if step > 0 else seqs[:-3:-1]
