"""The error of the desk: the fact, the ways out, the exit code."""

from collections.abc import Iterable
from shlex import quote

from reviewer.exit_codes import ExitCode


class DeskError(Exception):
    """`text` says what is wrong and where; `ways_out` what can be done, safest first."""

    def __init__(self, text: str, *ways_out: str, exit_code: int = ExitCode.INVALID) -> None:
        super().__init__(text)
        self.text = text
        self.ways_out = ways_out
        self.exit_code = exit_code


def meant(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean X?)` for the known name that is nearest to one that is not known;
    empty where none is near."""
    import difflib  # only a typo needs it

    near = difflib.get_close_matches(name, list(known), 1, NEAR)
    return f" (did you mean {near[0]}?)" if near else ""


NEAR = 0.75
"""How alike two names are that may stand for one another, from 0 to 1."""


class NoTrace(DeskError):
    """The store has no trace of a candidate on a suite. Code that knows that the suite is a draft
    says so (`of_draft`). `near` names what may have been meant."""

    def __init__(self, suite_id: str, candidate_id: str, near: str = "") -> None:
        suite, candidate = quote(suite_id), quote(candidate_id)
        super().__init__(
            f"no trace of {candidate_id} on {suite_id} is in this store{near}",
            f"of a suite that can be run: reviewer run {suite} {candidate}",
            f"of recorded traces: reviewer import FILE --suite {suite} --candidate {candidate}",
        )
        self.suite_id, self.candidate_id = suite_id, candidate_id

    def of_draft(self) -> DeskError:
        """Return the same of a draft, which nothing is imported into."""
        return DeskError(
            f"{self.candidate_id} was not run on the draft {self.suite_id} as it is now: an edited "
            "draft starts again",
            f"reviewer run {self.suite_id} {self.candidate_id}",
        )


def expected_failure(error: Exception) -> DeskError | None:
    """Return what to tell the user about an error of a suite's files, of the store or of the file
    system; None for an internal error."""
    from reviewer.db.connection import StoreError
    from reviewer.suite.errors import ContractError

    if isinstance(error, DeskError):
        return error
    if isinstance(error, (ContractError, StoreError)):
        return DeskError(str(error))
    if isinstance(error, OSError) and error.filename is not None:
        return DeskError(f"{error.filename}: {error.strerror}")
    return None


def is_store_damage(error: Exception) -> bool:
    """Return whether the error is one that SQLite or a decoder raises on a damaged store."""
    from reviewer.db.connection import DAMAGE

    return isinstance(error, DAMAGE)
