"""Settings in force: the keyboard, the theme, and saying what the file may not say."""

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
"""Seconds that words about settings stay on the screen."""


class KeysClash(Message):
    """Two verbs of one screen were put on one key."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


class Preferences:
    """Does as the settings say, and keeps the theme that the reader chooses."""

    def __init__(self, app: App[None], settings: Settings) -> None:
        self._app = app
        self.settings = settings
        keys.use(settings.keyboard())
        for made in MADE:
            app.register_theme(made)
        self.wear(settings.theme)

    # keys --------------------------------------------------------------------------------------

    def take_settings(self) -> None:
        """Once the first screen is shown: move the keys, and tell what was refused."""
        for words in self.settings.refused:
            self._refuse(words)
        if self.settings.keys:
            self._app.set_keymap(self.settings.keyboard().keymap())
            # Looking for clashes imports every screen: behind the first frame.
            threading.Thread(target=self._look_for_clashes, name="keys", daemon=True).start()

    def _look_for_clashes(self) -> None:
        from reviewer.tui.screens.scenes import clash

        if why := clash(self.settings.keyboard(), type(self._app)):
            self._app.post_message(KeysClash(why))

    def default_keys(self, why: str) -> None:
        """Put every key back where it is by default, and say why."""
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
        """Draw in a theme of the settings, and write nothing."""
        self._app.theme = theme_for(theme, self._app.console, no_color=self._app.no_color)

    def choose_theme(self, theme: str) -> str:
        """Draw in a theme and keep it; answers what became of that, in words."""
        from reviewer.tui.settings.settings import keep_theme

        self.wear(theme)
        self.settings = self.settings._replace(theme=theme)
        kept = visible_line(keep_theme(self.settings, theme))
        return f"{kept}; NO_COLOR is set, so there is none" if self._app.no_color else kept

    def theme_acts(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        """A command of the palette for each theme."""
        for name, words in THEMES.items():
            yield f"Theme {name}", words, partial(self._chosen, name)

    def _chosen(self, name: str) -> None:
        self._app.notify(self.choose_theme(name), markup=False, timeout=6)
