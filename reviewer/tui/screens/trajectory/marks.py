"""Bookmarks and notes on events: set, written, listed. They reach the report and gate nothing."""

from reviewer.desk.traces.views import NoteKind, NoteView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.trajectory.finding import TraceFinding
from reviewer.tui.widgets.words import plural


class TraceMarks(TraceFinding):
    """What a person leaves on the events of a trace."""

    def _mine(self, kind: NoteKind) -> NoteView | None:
        """The reviewer's own mark on the event under the cursor."""
        me, seq = self.shell.desk.labels.reviewer_name(), self.seq
        found = (n for n in self.notes if (n.seq, n.kind, n.reviewer) == (seq, kind, me))
        return next(found, None)

    def action_bookmark(self) -> None:
        """Put a bookmark on this event, or take it away."""
        if self.detail is not None:
            had = self._mine("bookmark") is not None
            told = "bookmark taken away" if had else "bookmarked, kept in the store and the report"
            self._write("bookmark", "", had, told)

    def action_note(self) -> None:
        """Write a note on this event; an empty one takes it away."""
        from reviewer.tui.screens.dialogs.prompt import PromptScreen

        if self.detail is None:
            return
        mine = self._mine("note")
        seq, trace_id = self.seq, self.trace_id

        def write(text: str | None) -> None:
            if text is None or (trace_id, seq) != (self.trace_id, self.seq):
                return
            if text or mine is not None:
                told = "note kept in the store and the report" if text else "note taken away"
                self._write("note", text, not text, told)

        hint = "goes into the report, gates nothing; identifiers are masked"
        prompt = PromptScreen(f"note on event {seq}", mine.text if mine else "", hint)
        self.app.push_screen(prompt, write)

    def _write(self, kind: NoteKind, text: str, removed: bool, told: str) -> None:
        desk, trace_id, seq = self.shell.desk, self.trace_id, self.seq

        def land(notes: list[NoteView]) -> None:
            if trace_id == self.trace_id:
                self.take_notes(notes)
                self.say(f"event {seq}: {told}", "pass")

        self.ask(
            "note", lambda: desk.traces.write_note(trace_id, seq, kind, text, removed=removed), land
        )

    def action_marks(self) -> None:
        """Go to the next event with a bookmark or a note, from the last one to the first."""
        marked = sorted({note.seq for note in self.notes})
        if not marked:
            self.say("no bookmark and no note here: m sets one, w writes one")
            return
        seq = next((each for each in marked if each > self.seq), marked[0])
        self.grid.go(self.position(seq))
        here = [note for note in self.notes if note.seq == seq]
        text = next((note.text for note in here if note.text), "bookmark")
        place = f"{marked.index(seq) + 1} of {plural(len(marked), 'marked event')}"
        self.say(visible_line(f"{place}: {here[0].reviewer}: {text}"))
