"""Common parts of the readers of stores: where rows are, and the name of their suite."""

from abc import abstractmethod
from typing import Any, ClassVar

from reviewer.importing.formats.otel.reader import SpanReader
from reviewer.importing.formats.otel.tree import Tree
from reviewer.importing.formats.stores import any_row, in_list
from reviewer.importing.head import Head
from reviewer.importing.walking import EACH, Path, Pattern


class StoreReader(SpanReader):
    """A store whose rows are lines, elements of an array, or of a list in a document."""

    store: ClassVar[str]
    """The name of its probe suite."""
    lists: ClassVar[tuple[str, ...]]
    """Members of a document that contain rows."""
    names: ClassVar[frozenset[str]]
    """Members of which every row, or the object around it, has at least one."""
    own: ClassVar[tuple[str, ...]]
    """Members that a row has and a document of lists does not."""

    @abstractmethod
    def is_row(self, value: Any) -> bool:
        """Return whether a value is a row of this store."""

    def sniff(self, head: Head) -> bool:
        return any_row(head, self.lists, self.names, self.is_row)

    def roots(self, head: Head) -> tuple[Pattern, ...]:
        first = head.first
        listed = isinstance(first, dict) and any(isinstance(first.get(n), list) for n in self.lists)
        if listed and not self.is_row(first):
            return tuple((name, EACH) for name in self.lists)
        return ((),)

    def holders(self, path: Path) -> tuple[Path, ...] | None:
        return () if in_list(path, self.lists, self.own) else None

    def suite_id(self, path: Any) -> str:
        return self.store

    def suite_of(self, tree: Tree) -> str:
        return self.store
