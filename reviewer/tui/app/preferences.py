"""Settings in force: the keyboard, the theme, and messages about a refused setting."""

import threading
from collections.abc import Callable, Iterator
from functools import partial

from textual.app import App
from textual.message import Message

from reviewer.trace.safetext import visible_line
from reviewer.tui.settings import keys
from reviewer.tui.settings.settings import THEMES, Settings
from reviewer.tui.settings.theme import THEMES as MADE
from reviewer.tui.settings.theme import theme_for

PATIENCE = 20.0
"""Seconds that a message about settings stays on the screen."""


class KeysClash(Message):
    """Two verbs of one screen were put on one key."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


class Preferences:
    """Applies the settings, and saves the theme that the reader chooses."""

    def __init__(self, app: App[None], settings: Settings) -> None:
        self._app = app
        self.settings = settings
        keys.use(settings.keyboard())
        for made in MADE:
            app.register_theme(made)
        self.wear(settings.theme)

    # keys --------------------------------------------------------------------------------------

    def take_settings(self) -> None:
        """Apply the settings once the first screen is shown: move the keys, and report what was
        refused."""
        for words in self.settings.refused:
            self._refuse(words)
        if self.settings.keys:
            self._app.set_keymap(self.settings.keyboard().keymap())
            # The search for clashes imports every screen, so it runs after the first frame.
            threading.Thread(target=self._look_for_clashes, name="keys", daemon=True).start()

    def _look_for_clashes(self) -> None:
        from reviewer.tui.screens.scenes import clash

        if why := clash(self.settings.keyboard(), type(self._app)):
            self._app.post_message(KeysClash(why))

    def default_keys(self, why: str) -> None:
        """Put every key back to its default, and say why."""
        self.settings = self.settings.without_keys(why)
        keys.use(self.settings.keyboard())
        self._app.set_keymap({})
        self._refuse(self.settings.refused[-1])

    def _refuse(self, words: str) -> None:
        self._app.notify(
            visible_line(words),
            title="settings",
            severity="warning",
            timeout=PATIENCE,
            markup=False,
        )

    # theme -------------------------------------------------------------------------------------

    def wear(self, theme: str) -> None:
        """Draw in a theme of the settings without saving it."""
        self._app.theme = theme_for(theme, self._app.console, no_color=self._app.no_color)

    def choose_theme(self, theme: str) -> str:
        """Draw in a theme and save it; return a message about the result."""
        from reviewer.tui.settings.settings import keep_theme

        self.wear(theme)
        self.settings = self.settings._replace(theme=theme)
        kept = visible_line(keep_theme(self.settings, theme))
        return f"{kept}; NO_COLOR is set, so there is none" if self._app.no_color else kept

    def theme_acts(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        """Yield a command of the palette for each theme."""
        for name, words in THEMES.items():
            yield f"Theme {name}", words, partial(self._chosen, name)

    def _chosen(self, name: str) -> None:
        self._app.notify(self.choose_theme(name), markup=False, timeout=6)
