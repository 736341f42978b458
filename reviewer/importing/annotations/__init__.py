"""What people said of attempts in other tools: one module for each tool whose files are read.

A reader takes the bytes of one file and yields the content of each record, in its own words:
nothing is rated, rounded or guessed. Statements by a program or a model are left out, with the
reason.
"""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

Tool = Literal[
    "langfuse",
    "langsmith",
    "mlflow",
    "opik",
    "phoenix",
    "weave",
    "braintrust",
    "agent-reward-bench",
    "agent-occam",
]


class Answer(NamedTuple):
    """An answer to one question: `said` are the forms in which the tool states it (a number, a
    category), each as text."""

    question: str
    said: tuple[str, ...]


class Annotation(NamedTuple):
    """One person's statement on one attempt. The attempt is named by the id of its trace, or by
    task and model. `key` is the annotation's own id, empty where it has none; times are as
    written."""

    row: int
    key: str
    trace: str
    task: str
    model: str
    annotator: str
    answers: tuple[Answer, ...]
    note: str = ""
    made: str = ""
    changed: str = ""

    @property
    def attempt(self) -> str:
        """Return the tool's name for the attempt."""
        return self.trace or " ".join(filter(None, (self.task, self.model)))


class LeftOut(NamedTuple):
    """A valid record from which no label can be made: `why` is the same text for all that are left
    out for one reason."""

    row: int
    why: str


class BadRecord(NamedTuple):
    """A record that cannot be read, and why; `way` is what to do about it."""

    row: int
    why: str
    way: str = "mend the row, or export the file again"


class BadFile(ValueError):
    """A file that cannot be trusted as a whole; `way` is what to do about it."""

    def __init__(self, why: str, way: str) -> None:
        super().__init__(why)
        self.way = way


Record = Annotation | LeftOut | BadRecord


def reader_of(tool: Tool) -> Callable[[bytes], Iterator[Record]]:
    """Return the reader of a tool's files. The reader raises BadFile for a file that is not one of
    them."""
    if tool == "langfuse":
        from reviewer.importing.annotations.langfuse import read
    elif tool == "langsmith":
        from reviewer.importing.annotations.langsmith import read
    elif tool == "mlflow":
        from reviewer.importing.annotations.mlflow import read
    elif tool == "opik":
        from reviewer.importing.annotations.opik import read
    elif tool == "phoenix":
        from reviewer.importing.annotations.phoenix import read
    elif tool == "weave":
        from reviewer.importing.annotations.weave import read
    elif tool == "braintrust":
        from reviewer.importing.annotations.braintrust import read
    elif tool == "agent-reward-bench":
        from reviewer.importing.annotations.agent_reward_bench import read
    else:
        from reviewer.importing.annotations.agent_occam import read
    return read
