"""The app's part in settings: the keyboard, the theme, and saying what the file may not say."""

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

from textual.app import App
from textual.binding import Binding
from textual.message import Message

from reviewer.trace.safetext import visible_line
from reviewer.tui.settings import keys
from reviewer.tui.settings.keyboard import written
from reviewer.tui.settings.settings import THEMES, Settings
from reviewer.tui.settings.theme import OURS, theme_for
from reviewer.tui.settings.theme import THEMES as MADE

PATIENCE = 20.0
"""Seconds that words about settings stay on the screen."""


class KeysClash(Message):
    """Two verbs of one screen were put on one key."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


class Preferences(App[None]):
    """An app that does as the settings say, and keeps the theme a person chooses."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        keys.use(settings.keyboard())
        for made in MADE:
            self.register_theme(made)
        self.wear(settings.theme)

    # keys --------------------------------------------------------------------------------------

    def take_settings(self) -> None:
        """Once the first screen stands: move the keys, and tell what was refused."""
        for words in self.settings.refused:
            self._refuse(words)
        if self.settings.keys:
            self.set_keymap(self.settings.keyboard().keymap())
            # Looking for clashes imports every screen: behind the first frame.
            threading.Thread(target=self._look_for_clashes, name="keys", daemon=True).start()

    def _look_for_clashes(self) -> None:
        from reviewer.tui.screens.scenes import clash

        if why := clash(self.settings.keyboard(), type(self)):
            self.post_message(KeysClash(why))

    def on_keys_clash(self, message: KeysClash) -> None:
        self.settings = self.settings.without_keys(message.why)
        keys.use(self.settings.keyboard())
        self.set_keymap({})
        self._refuse(self.settings.refused[-1])
        self.keys_moved()

    def _refuse(self, words: str) -> None:
        self.notify(
            visible_line(words),
            title="settings",
            severity="warning",
            timeout=PATIENCE,
            markup=False,
        )

    def begin_tour(self) -> None:
        """Show the tour."""
        raise NotImplementedError

    def keys_moved(self) -> None:
        """Whatever names keys is drawn anew."""

    def get_key_display(self, binding: Binding) -> str:
        """A key as our help writes it."""
        return written(binding.key)

    def bell(self) -> None:
        """Ring, unless the settings say not to."""
        if self.settings.bell:
            super().bell()

    # theme -------------------------------------------------------------------------------------

    @property
    def worn(self) -> str:
        """The theme on screen, by its name in the settings."""
        return self.theme.removeprefix(OURS)

    def wear(self, theme: str) -> None:
        """Draw in a theme of the settings, and write nothing."""
        self.theme = theme_for(theme, self.console, no_color=self.no_color)

    def choose_theme(self, theme: str) -> str:
        """Draw in a theme and keep it; answers what became of that, in words."""
        from reviewer.tui.settings.settings_file import keep_theme

        self.wear(theme)
        self.settings = self.settings._replace(theme=theme)
        kept = visible_line(keep_theme(self.settings, theme))
        return f"{kept}; NO_COLOR is set, so there is none" if self.no_color else kept

    def action_theme(self) -> None:
        """Choose the colors."""
        from reviewer.tui.screens.settings.themes import ThemesScreen

        if not isinstance(self.screen, ThemesScreen):
            self.push_screen(ThemesScreen())

    def action_settings(self) -> None:
        """What is set, and where that comes from."""
        from reviewer.tui.screens.settings.screen import SettingsScreen

        if not isinstance(self.screen, SettingsScreen):
            self.push_screen(SettingsScreen())

    def common_acts(self) -> Iterator[tuple[str, str, Any]]:
        """Acts without a key of their own, for the palette of every screen."""
        yield "Tour", "What stands where, in nine steps.", self.begin_tour
        yield "Settings", "What is set, and which file says so.", self.action_settings
        for name, words in THEMES.items():
            yield f"Theme {name}", words, partial(self._chosen, name)

    def _chosen(self, name: str) -> None:
        self.notify(self.choose_theme(name), markup=False, timeout=6)
