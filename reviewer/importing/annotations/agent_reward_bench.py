"""AgentRewardBench: `annotations.csv`, one row for what one annotator said of one trajectory."""

from collections.abc import Iterator

from reviewer.importing.annotations import Annotation, Answer, BadRecord, LeftOut, Record
from reviewer.importing.annotations.tables import table

_WHO = ("annotator_name", "benchmark", "task_id", "model_name")
QUESTIONS = (
    *("trajectory_success", "trajectory_side_effect", "trajectory_optimality"),
    "trajectory_looping",
)


def read(data: bytes) -> Iterator[Record]:
    """Yield the record of every row."""
    columns = (*_WHO, *QUESTIONS)
    for row in table(data, columns, columns)[1]:
        if isinstance(row, BadRecord):
            yield row
            continue
        cells = {name: row.cells[name].strip() for name in columns}
        lacking = [name for name in ("annotator_name", "task_id", "model_name") if not cells[name]]
        if lacking:
            yield BadRecord(row.number, f"`{lacking[0]}` is empty")
            continue
        answers = tuple(Answer(name, (cells[name],)) for name in QUESTIONS if cells[name])
        if not answers:
            yield LeftOut(row.number, "nothing is answered")
            continue
        yield Annotation(
            row=row.number,
            key="",
            trace="",
            task=cells["task_id"],
            model=cells["model_name"],
            annotator=cells["annotator_name"],
            answers=answers,
        )
