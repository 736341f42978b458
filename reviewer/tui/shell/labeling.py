"""The state of labeling that the workstation keeps while it runs: half-made marks, items handed
back. Nothing here is an answer: an answer is a label in the store. When the program ends, unsaved
marks are gone, and their item comes up as if it had never been shown."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewer.desk.labels.api import Answer, LabelItem, LabelKind, Session, Side

Showing = tuple[str, int]


@dataclass
class Draft:
    """A reviewer's choices for one showing so far. `spent` is seconds on screen before now;
    `evidence_opened` whether what was done has been on it."""

    answer: "Answer | None" = None
    marks: dict[str, int] = field(default_factory=dict)
    decided: "dict[str, Side]" = field(default_factory=dict)
    flag: bool = False
    note: str = ""
    spent: float = 0.0
    evidence_opened: bool = False


class Labeling:
    """`kind` is what was labeled last, `review_sets` the set that was, by suite; a suite without
    one is labeled by its own queue. `evidence` says whether what was done is open beside items."""

    def __init__(self) -> None:
        self.kind: LabelKind = "pair"
        self.evidence = False
        self.review_sets: dict[str, str] = {}
        self._drafts: dict[tuple[Session, Showing], Draft] = {}
        self._handed_back: dict[Session, dict[Showing, None]] = {}

    def draft(self, session: "Session", item: "LabelItem") -> Draft:
        """The draft for a showing; empty when it is new."""
        return self._drafts.setdefault((session, (item.item, item.showing)), Draft())

    def hand_back(self, session: "Session", item: "LabelItem") -> None:
        """The item leaves the screen unsaved: it comes again, behind others."""
        back = self._handed_back.setdefault(session, {})
        back.pop((item.item, item.showing), None)
        back[item.item, item.showing] = None

    def saved(self, session: "Session", item: "LabelItem") -> None:
        """The item has its label. Its draft stays, for when the label is taken back."""
        self._handed_back.get(session, {}).pop((item.item, item.showing), None)

    def handed_back(self, session: "Session") -> tuple[Showing, ...]:
        """Showings that left the screen unsaved, the oldest first."""
        return tuple(self._handed_back.get(session, {}))
