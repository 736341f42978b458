"""Give back the free pages of an intact store, while others use it."""

from contextlib import closing

from reviewer.db.connection import DAMAGE, StoreError, integrity_faults, reader
from reviewer.db.schema import foreign_parts
from reviewer.db.vacuuming import TooLong, VacuumResult, vacuum
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.place import Workspace
from reviewer.trace.safetext import visible_line


def give_back(workspace: Workspace, seconds: float) -> VacuumResult:
    """Give back the free pages of the store. Raises DeskError for a damaged store, since rewriting
    would hide where the damage was, and for one that takes too long."""
    path = workspace.store
    if not path.exists():
        raise DeskError(
            f"{path} does not exist yet: there is nothing to give back",
            "reviewer import or reviewer run makes it",
        )
    try:
        with closing(reader(path)) as connection:
            wrong = [
                f"changed by another program: {visible_line(one)}"
                for one in foreign_parts(connection)
            ]
            wrong = wrong or integrity_faults(connection)
    except DAMAGE as error:
        raise DeskError(f"{path}: cannot be read ({error})", "reviewer doctor") from error
    if wrong:
        raise DeskError(f"{path}: {'; '.join(wrong[:5])}: nothing was changed", "restore a backup")
    try:
        return vacuum(path, seconds)
    except TooLong as error:
        raise DeskError(
            str(error), "stop the other processes, or wait longer with --seconds 600"
        ) from error
    except StoreError as error:
        raise refusal_of(error) from error
