"""`desk.review_sets`: sets of recorded attempts for people to read, and the rates they give."""

from __future__ import annotations  # names used only in annotations are not imported

from typing import TYPE_CHECKING

from reviewer.desk.opened import Room, late, refused

if TYPE_CHECKING:
    from reviewer.desk.labels.sheet import Sheets
    from reviewer.desk.review_sets.views import (
        SetChoice,
        SetLine,
        SetMade,
        SetOrder,
        SetView,
    )


class ReviewSetsRoom(Room):
    """The API of `desk.review_sets`."""

    @late
    def _sheets(self) -> Sheets:
        from reviewer.desk.labels.sheet import Sheets

        return Sheets(self._opened.place, self._opened.finals)

    def make(self, order: SetOrder) -> SetMade:
        """Make a set and store it durably; files are imported first. The same request on the same
        attempts adds nothing. Raises DeskError with the ways out."""
        from reviewer.desk.review_sets.making import make

        with refused():
            return make(self._opened, order)

    def choices(self, suite_id: str) -> tuple[SetChoice, ...]:
        """Return the queues that a suite is labeled through: pairs and messages of its candidates
        where it has a rubric (without a name), then its sets, in the order they were made."""
        from reviewer.db.queries.review_sets import review_sets
        from reviewer.desk.labels.set_sheets import sealed_set
        from reviewer.desk.review_sets.views import SetChoice

        if not self._opened.has_store():
            return ()
        with self._opened.reading() as connection:
            found = []
            if self._sheets.has_rubric(connection, suite_id):
                found = [SetChoice(name="", kind="pair"), SetChoice(name="", kind="message")]
            held = map(sealed_set, review_sets(connection, suite_id))
            found += [
                SetChoice(name=one.name, kind=one.held.kind, about=one.held.about or "")
                for one in held
            ]
            return tuple(found)

    def sets(self) -> tuple[SetLine, ...]:
        """Return every set, in the order they were made."""
        from reviewer.db.queries.review_sets import review_sets
        from reviewer.desk.review_sets.views import SetLine

        if not self._opened.has_store():
            return ()
        with self._opened.reading() as connection:
            names = [row.name for row in review_sets(connection)]
        found = map(self.view, names)
        return tuple(
            SetLine(
                name=one.name,
                suite_id=one.suite_id,
                kind=one.kind,
                sample=one.sample,
                size=one.size,
                items=one.items,
                labeled=one.labeled,
                at=one.at,
                about=one.about,
            )
            for one in found
        )

    def view(self, name: str) -> SetView:
        """Return a set, its progress and its rates. Raises DeskError if there is no set with this
        name."""
        from reviewer.db.queries.review_sets import review_set_named
        from reviewer.desk.labels.set_sheets import named_set
        from reviewer.desk.review_sets.rates import set_view

        with self._opened.reading() as connection:
            sealed = named_set(connection, name)
            row = review_set_named(connection, name)
            assert row is not None  # a set has a row
            sheet = self._sheets.of_set(connection, name)
            labels = self._opened.book.of(connection, sealed.uid)
            return set_view(sealed, row.at, sheet, labels)
