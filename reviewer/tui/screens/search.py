"""Words across traces: every event that contains them, by trace, and the way to it."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from reviewer.desk.traces.views import SearchHit, SearchView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.settings.keys import bind
from reviewer.tui.shell.places import ToTrace
from reviewer.tui.views.event_list import KINDS
from reviewer.tui.widgets.chrome import Menu
from reviewer.tui.widgets.lines import Line, Span, cut, middle, pad
from reviewer.tui.widgets.words import plural

COUNTED = 10_000


class SearchScreen(DeskScreen):
    """Full text over the traces of the store, of a suite, or of a candidate."""

    NAME = "search"
    UNDER = "trajectory"
    ABOUT = (
        "You are asked: which traces contain this?",
        "Each line is an event that holds all the words, or most of them.",
        "A word matches every word that begins with it. Punctuation only separates words.",
    )
    ENTER = "the event"
    CSS = "SearchScreen #hits { height: 1fr; }"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("Enter", "event", "screen.open"),
        ("/", "other words", "screen.words"),
        ("v", "all, suite, candidate", "screen.scope"),
        ("y", "copy trace id", "screen.copy_id"),
        ("+", "episode", "screen.make_episode"),
        ("?", "help", "app.explain"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("slash", "words", "search for other words"),
        bind("v", "scope", "all, this suite, this candidate"),
        bind("y", "copy_id", "copy the trace id"),
        bind("plus", "make_episode", "an episode of this trace"),
    ]

    def __init__(self, suite_id: str, candidate_id: str, text: str = "") -> None:
        super().__init__()
        self._scopes = [("", ""), (suite_id, ""), (suite_id, candidate_id)]
        self._scope = 0
        self._text = text
        self.found: SearchView | None = None

    def regions(self) -> Iterable[Widget]:
        yield Menu(id="hits", ruled=True)

    @property
    def hits(self) -> Menu:
        """The events found."""
        return self.query_one("#hits", Menu)

    def on_mount(self) -> None:
        self.redraw()
        self.hits.focus()
        if self._text:
            self._search()
        else:
            self.action_words()

    def action_words(self) -> None:
        """Ask for the words."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen

        self.app.push_screen(PromptScreen("search all traces", self._text, "words"), self._take)

    def _take(self, text: str | None) -> None:
        if text:
            self._text = text
            self._search()

    def action_scope(self) -> None:
        """Search all traces, those of the suite, or those of the candidate."""
        self._scope = (self._scope + 1) % len(self._scopes)
        if self._text:
            self._search()
        else:
            self.redraw()

    def _search(self) -> None:
        desk, text, scope = self.shell.desk, self._text, self._scopes[self._scope]
        self.say(visible_line(f"searching “{text}”…"))

        def land(found: SearchView) -> None:
            self.found = found
            self.say("")
            self.hits.offer([], 0)
            self.redraw()

        self.consult("search", lambda: desk.traces.search(text, *scope), land)

    def store_changed(self) -> None:
        super().store_changed()
        if self.found is not None and self.found.waiting:
            self._search()

    # drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        suite, candidate = self._scopes[self._scope]
        place = " in all traces"
        if suite:
            place = f" in {suite}" + (f", {candidate}" if candidate else "")
        words = " ".join(self.found.words) if self.found else visible_line(self._text)
        self.head(
            [
                [Span("search ", "dim"), Span(visible_line(words), "strong"),
                 Span(visible_line(place), "dim")],
                self._count(),
            ]
        )  # fmt: skip
        self.hits.caption([Span("events", "strong")])
        found = self.found.hits if self.found else ()
        self.hits.offer([self._line(hit) for hit in found])
        self.foot()

    def _count(self) -> Line:
        found = self.found
        if found is None:
            return [Span("words of tools, arguments, observations and messages", "dim")]
        more = found.traces > COUNTED
        traces = f"more than {COUNTED:,}" if more else f"{found.traces:,}"
        said = f"{plural(len(found.hits), 'event')} in {plural(found.traces, 'trace')}"
        if more or found.shown < found.traces:
            events = plural(len(found.hits), "event")
            said = f"{events} of the first {found.shown:,} traces; {traces} hold these words"
        spans = [Span(said if found.traces else "in no trace", "text")]
        if found.waiting:
            waiting = plural(found.waiting, "event") + (" is" if found.waiting == 1 else " are")
            spans.append(Span(f"   ○ {waiting} not indexed yet", "not_measured"))
        if found.partial:
            large = plural(found.partial, "large trace")
            spans.append(Span(f"   {large}: first megabyte only", "dim"))
        return spans

    def _line(self, hit: SearchHit) -> Line:
        width = self.columns - 2
        name = 16 if width < 120 else 34
        slot = visible_line(f"{middle(hit.episode_id, name - 4)}/{hit.attempt}")
        more = f" +{hit.more:,} more events" if hit.more else ""
        room = max(8, width - 2 * name - 12 - len(more))
        return [
            Span(pad(middle(visible_line(hit.candidate_id), name), name + 1), "dim"),
            Span(pad(cut(slot, name), name)),
            Span(pad(f"{hit.seq:,}", 6, right=True)),
            Span(f" {KINDS.get(hit.kind, '?')} "),
            *self._marked(visible_line(hit.text), room),
            Span(more, "dim"),
        ]

    def _marked(self, text: str, room: int) -> list[Span]:
        """Return the text around the first of the words in it, as much as fits, with the word
        marked."""
        words = self.found.words if self.found else ()
        folded = text.casefold()
        places = [(at, word) for word in words if (at := folded.find(word)) >= 0]
        at, word = min(places, default=(0, ""))
        start = max(0, at - room // 3) if len(text) > room else 0
        end = min(at + len(word), start + room)
        head = ("…" + text[start + 1 : at]) if start else text[:at]
        return [
            Span(head),
            Span(text[at:end], "match"),
            Span(cut(text[end:], max(0, start + room - end))),
        ]

    # acts --------------------------------------------------------------------------------------

    @property
    def _hit(self) -> SearchHit | None:
        hits = self.found.hits if self.found else ()
        return hits[self.hits.cursor] if self.hits.cursor < len(hits) else None

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Open the event, with the word marked in it."""
        hit, found = self._hit, self.found
        if hit is None or found is None:
            self.say("nothing found: / searches for other words")
            return
        inside = [word for word in found.words if word in hit.text.casefold()]
        word = inside[0] if inside else found.words[0]
        self.shell.around = None
        self.shell.visit(ToTrace(hit.trace_id, hit.seq, wanted=word))

    def action_make_episode(self) -> None:
        """Make an episode from the trace; the call that was found is offered as the wrong one."""
        from reviewer.tui.screens.dialogs.episode import EpisodeScreen

        if (hit := self._hit) is not None:
            wrong = str(hit.seq) if hit.kind == "tool_call" else ""
            self.app.push_screen(EpisodeScreen(hit.trace_id, wrong))

    def action_copy_id(self) -> None:
        """Copy the id of the trace."""
        if self._hit is not None:
            self.copy(self._hit.trace_id, "trace id")
