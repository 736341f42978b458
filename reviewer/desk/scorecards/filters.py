"""The filter language, as doors need it: checking what was typed, and completing it."""

from reviewer.db.filter_text import FilterError, completions, parse
from reviewer.desk.errors import DeskError
from reviewer.desk.scorecards.views import FilterValues
from reviewer.exit_codes import ExitCode


def problem(text: str) -> str:
    """What is wrong with a filter, with its place and what may stand there; empty when nothing."""
    try:
        parse(text)
    except FilterError as error:
        return str(error)
    return ""


def check(text: str) -> None:
    """Raises DeskError for a filter that cannot be understood."""
    wrong = problem(text)
    if wrong:
        raise DeskError(wrong, exit_code=ExitCode.USAGE)


def offered(text: str, values: FilterValues | None) -> tuple[str, ...]:
    """What the last word of a filter may become."""
    known = {} if values is None else {"tag": values.tag, "tool": values.tool, "code": values.code}
    return completions(text, known)
