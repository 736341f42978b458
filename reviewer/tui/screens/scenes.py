"""Every screen and its bindings: to find clashes of remapped keys, for the help, for tests."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from textual.binding import Binding
from textual.screen import ModalScreen, Screen

from reviewer.tui.settings.keys import MOTIONS, Keyboard, defaults, written


def screens() -> list[type[Screen[Any]]]:
    """Import every screen and dialog that opens; return them in the order of their names."""
    import reviewer.tui.screens as package

    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    found = {each for each in _below(Screen) if each.__module__.startswith(package.__name__)}
    return sorted((each for each in found if opens(each)), key=lambda each: each.__name__)


def opens(screen: type[Screen[Any]]) -> bool:
    """Return whether a class is a screen itself, and not a base of screens."""
    from reviewer.tui.screens.dialogs.ask import (
        PromptScreen,  # also a base of other dialogs
        QuestionScreen,
    )

    return screen in (PromptScreen, QuestionScreen) or not any(
        each.__module__.startswith("reviewer.") for each in screen.__subclasses__()
    )


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def bindings(kind: type[Any]) -> list[Binding]:
    """Return the bindings of a screen and its bases, without those of the framework."""
    found: list[Binding] = []
    for each in kind.__mro__:
        if each.__module__.startswith("reviewer."):
            own = vars(each).get("BINDINGS", ())
            found += [binding for binding in own if isinstance(binding, Binding)]
    return found


def clash(keyboard: Keyboard, app: type[Any]) -> str:
    """Return two verbs of one screen on one key, in words; empty when there are none."""
    everywhere = {binding.id or "" for binding in bindings(app)}
    before = defaults()
    for screen in screens():
        own = bindings(screen)
        fixed = {each.id: (each.key,) for each in own if each.id not in before}
        verbs = {each.id or "" for each in own} | set(MOTIONS)
        if not issubclass(screen, ModalScreen):
            verbs |= everywhere
        at: dict[str, str] = {}
        for verb in sorted(verbs - {""}):
            for key in fixed.get(verb) or (keyboard.keys(verb) if verb in before else ()):
                other = at.setdefault(key, verb)
                if other != verb and not _shared(other, verb, key):
                    name = getattr(screen, "NAME", "") or screen.__name__
                    return f"{other} and {verb} are both on {written(key)}, on the screen {name}"
    return ""


def _shared(one: str, other: str, key: str) -> bool:
    """Return whether two verbs have this key by default."""
    before = defaults()
    return key in before.get(one, ()) and key in before.get(other, ())
