"""Bookmarks and notes on events: set, written, listed. They reach the report and gate nothing."""

from typing import TYPE_CHECKING

from reviewer.desk.traces.views import NoteKind, NoteView
from reviewer.trace.safetext import visible_line
from reviewer.tui.widgets.words import plural

if TYPE_CHECKING:
    from reviewer.tui.screens.trajectory.controller import TraceReading
    from reviewer.tui.screens.trajectory.screen import TrajectoryScreen


class TraceMarks:
    """What a person leaves on the events of a trace."""

    def __init__(self, screen: "TrajectoryScreen", reading: "TraceReading") -> None:
        self._screen = screen
        self._reading = reading

    def _mine(self, kind: NoteKind) -> NoteView | None:
        """The reviewer's own mark on the event under the cursor."""
        me, seq = self._screen.shell.desk.labels.reviewer_name(), self._reading.seq
        notes = self._reading.notes
        found = (n for n in notes if (n.seq, n.kind, n.reviewer) == (seq, kind, me))
        return next(found, None)

    def bookmark(self) -> None:
        """Put a bookmark on this event, or take it away."""
        if self._screen.value.detail is not None:
            had = self._mine("bookmark") is not None
            told = "bookmark taken away" if had else "bookmarked, kept in the store and the report"
            self._write("bookmark", "", had, told)

    def note(self) -> None:
        """Write a note on this event; an empty one takes it away."""
        from reviewer.tui.screens.dialogs.prompt import PromptScreen

        if self._screen.value.detail is None:
            return
        mine = self._mine("note")
        seq, trace_id = self._reading.seq, self._reading.trace_id

        def write(text: str | None) -> None:
            if text is None or (trace_id, seq) != (self._reading.trace_id, self._reading.seq):
                return
            if text or mine is not None:
                told = "note kept in the store and the report" if text else "note taken away"
                self._write("note", text, not text, told)

        hint = "goes into the report, gates nothing; identifiers are masked"
        prompt = PromptScreen(f"note on event {seq}", mine.text if mine else "", hint)
        self._screen.app.push_screen(prompt, write)

    def _write(self, kind: NoteKind, text: str, removed: bool, told: str) -> None:
        desk, trace_id, seq = self._screen.shell.desk, self._reading.trace_id, self._reading.seq

        def land(notes: list[NoteView]) -> None:
            if trace_id == self._reading.trace_id:
                self._reading.take_notes(notes)
                self._screen.say(f"event {seq}: {told}", "pass")

        def work() -> list[NoteView]:
            return desk.traces.write_note(trace_id, seq, kind, text, removed=removed)

        self._screen.ask("note", work, land)

    def next(self) -> None:
        """Go to the next event with a bookmark or a note, from the last one to the first."""
        marked = sorted({note.seq for note in self._reading.notes})
        if not marked:
            self._screen.say("no bookmark and no note here: m sets one, w writes one")
            return
        seq = next((each for each in marked if each > self._reading.seq), marked[0])
        self._screen.grid.go(self._reading.position(seq))
        here = [note for note in self._reading.notes if note.seq == seq]
        text = next((note.text for note in here if note.text), "bookmark")
        place = f"{marked.index(seq) + 1} of {plural(len(marked), 'marked event')}"
        self._screen.say(visible_line(f"{place}: {here[0].reviewer}: {text}"))
