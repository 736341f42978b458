"""The error of the desk: the fact, the ways out, the exit code."""

from reviewer.exit_codes import ExitCode


class DeskError(Exception):
    """`text` says what is wrong and where; `ways_out` what can be done, safest first."""

    def __init__(self, text: str, *ways_out: str, exit_code: int = ExitCode.INVALID) -> None:
        super().__init__(text)
        self.text = text
        self.ways_out = ways_out
        self.exit_code = exit_code


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
