"""Whether frozen episodes stand in data a candidate may have learned from: one line per look.

A look is made of one file against one frozen suite, for every candidate or for one. What it found
holds a release until somebody withdraws it, with a reason, by a line of its own.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar, Literal

from reviewer.review.lines import Lines, age, instant
from reviewer.suite.fields import File, Limits, Name, Positive, Rate, Sha256, StoredName
from reviewer.suite.model import Value

_Count = Annotated[int, Limits(ge=0, lt=2**53)]


class Leak(Value, frozen=True):
    """One episode whose request was found in the file."""

    episode_id: Annotated[StoredName, "The episode's id."]
    kind: Annotated[
        Literal["exact", "inside", "near"], "The whole text, a part of it, or one like it."
    ]
    jaccard: Annotated[Rate, "The highest Jaccard index of the request's shingles and a text's."]
    record: Annotated[Positive, "The record in which it was found first, from 1."]
    pointer: Annotated[str, Limits(max_length=4096), "Where in that record."]
    times: Annotated[Positive, "In how many texts it was found."]


class LeakCheck(Value, frozen=True, kw_only=True):
    """One look for frozen episodes in one file, or (`withdraws`) the taking back of one."""

    SCHEMA: ClassVar[str] = "reviewer/leak-check@1"
    ORDER: ClassVar[str] = (
        "schema uid suite_id suite_digest candidate_id file sha256 records unread texts "
        "threshold missed compared short silent leaks withdraws reason"
    )

    suite_id: Annotated[StoredName, "The suite's id."]
    suite_digest: Annotated[Sha256, "Digest of the suite's lock."]
    reviewer: Annotated[Name, "Who looked, or took it back."]
    at: Annotated[str, "When, in UTC."]
    candidate_id: Annotated[
        str, Limits(max_length=4096), "The candidate it concerns. Empty: every candidate."
    ] = ""
    file: Annotated[str, Limits(max_length=4096), "The file's name."] = ""
    sha256: Annotated[str, File(Sha256 | Literal[""]), "Digest of the file."] = ""
    records: Annotated[_Count, "Records of the file."] = 0
    unread: Annotated[_Count, "Records that could not be read."] = 0
    texts: Annotated[_Count, "Texts that were compared."] = 0
    threshold: Annotated[Rate, "From this Jaccard index a text is near."] = 0.0
    missed: Annotated[Rate, "The chance that a text at the threshold is passed over."] = 0.0
    compared: Annotated[_Count, "Episodes that were looked for."] = 0
    short: Annotated[_Count, "Episodes whose requests can only be found exact."] = 0
    silent: Annotated[_Count, "Episodes without a request."] = 0
    leaks: Annotated[
        tuple[Leak, ...], Limits(max_length=1_000_000), "The episodes that were found."
    ] = ()
    withdraws: Annotated[
        str, File(Sha256 | Literal[""]), "The uid of the look that this line takes back."
    ] = ""
    reason: Annotated[str, Limits(max_length=4000), "Why it is taken back."] = ""
    uid: Annotated[
        str,
        File(Sha256 | None, None),
        "sha256 of the RFC 8785 bytes of all other members. Null: it is computed.",
    ] = ""


def leak_problems(check: LeakCheck) -> Iterator[tuple[str, str]]:
    """Why this line is refused, whatever the store, as (JSON path, reason)."""
    try:
        instant(check.at)
    except ValueError as error:
        yield "$.at", str(error)
    if check.withdraws:
        if not check.reason.strip():
            yield "$.reason", "is missing: a finding is withdrawn for a reason"
        if check.leaks or check.sha256:
            yield "$.withdraws", "stands in a line that is a look at a file"
        return
    if check.reason:
        yield "$.reason", "belongs to a line that withdraws a look"
    if not check.sha256:
        yield "$.sha256", "is missing: which file was looked at"
    if not 0 < check.threshold <= 1:
        yield "$.threshold", "is above 0 and at most 1"
    for at, leak in enumerate(check.leaks):
        if not 0 <= leak.jaccard <= 1:
            yield f"$.leaks[{at}].jaccard", "is from 0 to 1"


class Look(Value, frozen=True):
    """A look as it stands: `withdrawn` is the reason it was taken back for, else empty."""

    check: LeakCheck
    withdrawn: str = ""
    withdrawn_by: str = ""


def standing(checks: Iterable[LeakCheck]) -> tuple[Look, ...]:
    """Looks by time, with what withdrew them. The first withdrawal of one counts."""
    taken: dict[str, LeakCheck] = {}
    looks = []
    for check in sorted(checks, key=age):
        if check.withdraws:
            taken.setdefault(check.withdraws, check)
        else:
            looks.append(check)
    return tuple(
        Look(check=look, withdrawn=back.reason, withdrawn_by=back.reviewer)
        if (back := taken.get(look.uid))
        else Look(check=look)
        for look in looks
    )


LEAKS = Lines("leak-check", LeakCheck, leak_problems)
