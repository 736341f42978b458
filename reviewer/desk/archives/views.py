"""Views of answers to questions in SQL."""

from typing import Any

from reviewer.desk.views import View


class QueryColumn(View, frozen=True):
    """A column of an answer: its name and its type in SQL."""

    name: str
    type: str


class QueryAnswer(View, frozen=True):
    """The rows of an answer, as Python values; None is null. `more` says that there are rows beyond
    the limit."""

    columns: tuple[QueryColumn, ...]
    rows: list[tuple[Any, ...]]
    more: bool
