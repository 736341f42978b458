"""The state of labeling that the workstation keeps while it runs: unsaved marks, items handed back.
Nothing here is an answer: an answer is a label in the store. When the program ends, unsaved marks
are lost, and their item is shown as if for the first time."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewer.desk.labels.api import Answer, LabelItem, LabelKind, Session, Side

Showing = tuple[str, int]


@dataclass
class Draft:
    """A reviewer's choices so far for one showing. `spent` is the seconds that it was on screen
    before; `evidence_opened` says whether its events were shown."""

    answer: "Answer | None" = None
    marks: dict[str, int] = field(default_factory=dict)
    decided: "dict[str, Side]" = field(default_factory=dict)
    flag: bool = False
    note: str = ""
    spent: float = 0.0
    evidence_opened: bool = False


class Labeling:
    """`kind` is the kind that was labeled last, `review_sets` the set that was labeled last, by
    suite; a suite without one is labeled through its own queue. `evidence` says whether the events
    are shown next to items."""

    def __init__(self) -> None:
        self.kind: LabelKind = "pair"
        self.evidence = False
        self.review_sets: dict[str, str] = {}
        self._drafts: dict[tuple[Session, Showing], Draft] = {}
        self._handed_back: dict[Session, dict[Showing, None]] = {}

    def draft(self, session: "Session", item: "LabelItem") -> Draft:
        """Return the draft for a showing; an empty draft when it is new."""
        return self._drafts.setdefault((session, (item.item, item.showing)), Draft())

    def hand_back(self, session: "Session", item: "LabelItem") -> None:
        """Note that an item left the screen unsaved: it is shown again after others."""
        back = self._handed_back.setdefault(session, {})
        back.pop((item.item, item.showing), None)
        back[item.item, item.showing] = None

    def saved(self, session: "Session", item: "LabelItem") -> None:
        """Note that an item has its label. Its draft stays, for when the label is taken back."""
        self._handed_back.get(session, {}).pop((item.item, item.showing), None)

    def handed_back(self, session: "Session") -> tuple[Showing, ...]:
        """Return the showings that left the screen unsaved, the oldest first."""
        return tuple(self._handed_back.get(session, {}))
