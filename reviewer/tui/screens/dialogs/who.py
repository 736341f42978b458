"""The people at the workspace: names, screens, since when and from where. Never which item is
open."""

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll

from reviewer.desk.presence.api import Present
from reviewer.desk.presence.claims import ago
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, Hint, hint_line, pressing
from reviewer.tui.settings.keys import bind
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Line, Span, middle, pad

WIDTH = 74


class WhoScreen(Dialog[None]):
    """Lists the people whose workstations are open on this workspace."""

    NAME = "who"
    ABOUT = (
        "Everyone whose workstation is open on this workspace: the screen they are on, never the",
        "item they label. It is not evidence. presence = false in the settings hides you.",
    )
    HINTS: ClassVar[tuple[Hint, ...]] = (pressing("Esc", "close", "escape"),)
    CSS = f"""
    WhoScreen #box {{ width: {WIDTH}; max-width: 100%; }}
    WhoScreen #people {{ height: auto; max-height: 16; }}
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "close"),
        bind("q", "dismiss(None)", "close"),
    ]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="box", classes="dialog"):
            yield LineBox(id="people")
            yield LineBox(id="hints")

    def on_mount(self) -> None:
        self.query_one("#hints", LineBox).show([[], hint_line(self.HINTS, WIDTH - 4)])
        self.who_changed()

    def who_changed(self) -> None:
        """Draw the people who are here now."""
        found = self.shell.presence.found
        here = sum(one.left is None for one in found)
        title = "1 person is here" if here == 1 else f"{here} people are here"
        self.headed(title if found else "who is here")
        self.query_one("#people", LineBox).show(list(_lines(found)))


def _lines(found: Iterable[Present]) -> Iterable[Line]:
    empty = True
    for one in found:
        empty = False
        name = pad(middle(visible_line(one.name), 16), 17)
        if one.left is not None:
            yield [Span("   "), Span(name, "dim"), Span(f"left {ago(60 * one.left)}", "dim")]
            continue
        role = f", may {visible_line(one.role)}" if one.role else ""
        via = f" over {visible_line(one.via)}" if one.via == "SSH" else ""
        via = " in a browser" if one.via == "browser" else via
        yield [
            Span(" ● ", "pass"),
            Span(name, "strong"),
            Span(pad(middle(visible_line(one.screen), 12), 13)),
            Span(pad("you" if one.me else "", 4), "dim"),
            Span(f"since {visible_line(one.since)}Z  ", "dim"),
            Span(middle(f"{visible_line(one.host)}{via}{role}", WIDTH - 56), "dim"),
        ]
    if empty:
        yield [Span(" Nobody is listed: presence is off in the settings, or nothing is")]
        yield [Span(" stored yet.")]
