"""The shape of release.json: the suites that are decided together, each with its role.

The file lies beside `suites/`, outside every suite: a suite is frozen, and a release says which
frozen suites one decision is about.
"""

from collections.abc import Set
from typing import Annotated, Any, ClassVar, Literal

from msgspec import to_builtins

from reviewer.suite.fields import Id, Limits, repeated
from reviewer.suite.strict_json import canonical_bytes, sha256_hex
from reviewer.suite.value import Value, learned
from reviewer.suite.values import converted

RELEASE_FILE = "release.json"

Role = Literal["gate", "probe"]


class ReleasedSuite(Value, frozen=True):
    """One suite of a release. Of a `probe` only critical failures count."""

    suite_id: Annotated[Id, "The suite's id."]
    role: Annotated[
        Role,
        "`gate`: its recommendation counts. `probe`: only a critical failure counts.",
    ] = "gate"
    candidate_id: Annotated[
        Id | None, "The candidate's id in this suite. Null: that of the release."
    ] = None
    baseline_id: Annotated[Id | None, "The candidate to compare with. Null: the last promoted."] = (
        None
    )


class Release(Value, frozen=True, kw_only=True):
    """release.json: several suites and one decision over all, the strictest recommendation.

    The first suite with the role `gate` is the one whose candidate manifest a decision is about.
    """

    SCHEMA: ClassVar[str] = "reviewer/release@1"

    release_id: Annotated[Id, "The release's id."]
    candidate_id: Annotated[Id, "The candidate that every suite judges, unless it names another."]
    suites: Annotated[
        tuple[ReleasedSuite, ...], Limits(min_length=1, max_length=64), "The suites, in order."
    ]

    def problem(self, given: Set[str]) -> str | None:
        if (again := repeated(one.suite_id for one in self.suites)) is not None:
            return again
        if not any(one.role == "gate" for one in self.suites):
            return "has no suite with the role `gate`, so it could decide nothing"
        return None

    def candidate_of(self, suite: ReleasedSuite) -> str:
        """Return the candidate that a suite judges."""
        return suite.candidate_id or self.candidate_id

    @property
    def first(self) -> ReleasedSuite:
        """Return the first suite with the role `gate`."""
        return next(one for one in self.suites if one.role == "gate")

    @property
    def digest(self) -> str:
        """Return the sha256, hex, of the RFC 8785 bytes of the release with every member given."""
        plain: dict[str, Any] = to_builtins(self)
        plain["suites"] = [
            {**to_builtins(one), "candidate_id": self.candidate_of(one)} for one in self.suites
        ]
        return sha256_hex(canonical_bytes(plain, RELEASE_FILE))


learned(Release)


def read_release(data: bytes, file: str = RELEASE_FILE) -> Release:
    """Return the release as a value. ContractError with every problem found."""
    # Imported here, so that a caller that only names a release's values needs no pydantic.
    from reviewer.suite.border import read_shape

    return converted(read_shape(data, file, Release), Release, file)
