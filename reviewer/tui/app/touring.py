"""The app's part in the tour: its two keys, and telling it what the person has done."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType

from reviewer.tui.app.steering import Steering
from reviewer.tui.app.tour import Tour
from reviewer.tui.settings.keys import bind
from reviewer.tui.settings.settings import Settings

if TYPE_CHECKING:
    from textual.actions import ActionParseResult
    from textual.dom import DOMNode

    from reviewer.desk.protocol import DeskProtocol


class Touring(Steering):
    """An app that can show a person around."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("space", "tour_on", "the tour's next step"),
    ]

    candidate_id: str

    def __init__(self, desk: "DeskProtocol", settings: Settings) -> None:
        super().__init__(desk, settings)
        self.tour = Tour(self)

    def action_go(self, name: str) -> None:
        """Go to one of the screens of line 1."""
        raise NotImplementedError

    def first_time(self) -> None:
        """The tour, for somebody who has not seen it and has not said no to it."""
        from reviewer.tui.settings.settings_file import note_tour_seen, tour_seen

        if self.settings.tour and not tour_seen():
            note_tour_seen()
            self.tour.begin()

    def begin_tour(self) -> None:
        """The tour from its first step, on a candidate that there is."""
        if not self.candidate_id and self.here is not None:
            self.here.say("the tour needs a candidate: reviewer demo shows it on the example")
        else:
            self.tour.begin()

    def action_tour_on(self) -> None:
        """The next step of the tour."""
        self.tour.go_on()

    def action_tour_off(self) -> None:
        """Leave the tour."""
        self.tour.leave()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of the tour act only while there is one, and never under a dialog."""
        if action in ("tour_on", "tour_off"):
            return self.tour.at is not None and self.screen is self.here
        return super().check_action(action, parameters)

    async def on_event(self, event: events.Event) -> None:
        """As Textual's; Esc leaves the tour first, whatever it means to the screen."""
        escape = isinstance(event, events.Key) and event.key == "escape"
        if escape and not event.is_forwarded and self.check_action("tour_off", ()):
            self.tour.leave()
        else:
            await super().on_event(event)

    async def run_action(
        self,
        action: "str | ActionParseResult",
        default_namespace: "DOMNode | None" = None,
        namespaces: "Mapping[str, DOMNode] | None" = None,
    ) -> bool:
        """As Textual's, and the tour is told."""
        done = await super().run_action(action, default_namespace, namespaces)
        if done and self.tour.at is not None:
            name = action[1] if isinstance(action, tuple) else action.partition("(")[0]
            self.tour.did(name.rpartition(".")[2])
        return done
