"""AgentOccam: a table of tasks with a score and a note of each rater, all of one agent.

A rater is a column that has a column `NAME's Note` beside it; the first rater's column has the
legend of the scores after the name. The column of averages is no rater, and a row of sums no task.
"""

import re
from collections.abc import Iterator, Sequence

from reviewer.importing.annotations import Annotation, Answer, BadFile, BadRecord, LeftOut, Record
from reviewer.importing.annotations.tables import table

TASK = "Task ID"
QUESTION = "score"
_NOTE = "'s Note"
_LEGEND = re.compile(r"(?P<name>[^()]+?) *\([^()]*\)")
_AVERAGE = "Average"


def read(data: bytes) -> Iterator[Record]:
    """Yield a record for every score of a rater."""
    header, rows = table(data, (TASK,))
    raters = _raters(header)
    known = {TASK, _AVERAGE, *raters, *(name + _NOTE for name in raters.values())}
    unread = [name for name in header if name not in known]
    if not raters:
        raise BadFile("has no rater: a column with its `NAME's Note`", "export the file again")
    for row in rows:
        if isinstance(row, BadRecord):
            yield row
            continue
        task = row.cells[TASK].strip()
        if not task:
            yield BadRecord(row.number, f"`{TASK}` is empty")
            continue
        if not task.isdecimal():
            yield LeftOut(row.number, f"`{task[:80]}` is no task: the row sums up others")
            continue
        for column, name in raters.items():
            if score := row.cells[column].strip():
                yield Annotation(
                    row=row.number,
                    key="",
                    trace="",
                    task=task,
                    model="",
                    annotator=name,
                    answers=(Answer(QUESTION, (score,)),),
                    note=row.cells[name + _NOTE].strip(),
                )
            else:
                yield LeftOut(row.number, f"{name} gave no score")
        for name in unread:
            if row.cells[name].strip():
                yield LeftOut(row.number, f"column `{name[:80]}` is no rater's: not read")


def _raters(header: Sequence[str]) -> dict[str, str]:
    """Return column → rater. Raises BadFile where two columns belong to one rater."""
    found: dict[str, str] = {}
    for column in header:
        match = _LEGEND.fullmatch(column)
        for name in (column, match["name"] if match else column):
            if name + _NOTE in header and column not in (TASK, _AVERAGE):
                if name in found.values():
                    raise BadFile(f"has two columns of {name[:80]}", "name each rater once")
                found[column] = name
                break
    return found
