"""Bindings made from the key map, and the keyboard in force.

Every act is a binding with an id and a tooltip: help, the hint line and the palette are made from
these, so none of them can drift.
"""

import re

from textual.binding import Binding, BindingType

from reviewer.tui.settings.keyboard import Keyboard
from reviewer.tui.settings.verbs import MOTIONS, VERBS

_now = Keyboard()


def use(keyboard: Keyboard) -> None:
    """Let sentences and hints name the keys of this keyboard. One per process."""
    global _now
    _now = keyboard


def keyboard() -> Keyboard:
    """The keyboard in force."""
    return _now


def key_of(verb: str) -> str:
    """The key of a verb, for a sentence: `r` of "r runs what is missing"."""
    return _now.key(verb)


def worded(text: str) -> str:
    """Words with the keys of verbs put in: `{run} runs it`."""
    return re.sub(r"\{([a-z_.]+)\}", lambda found: key_of(found[1]), text)


def bind(key: str, action: str, words: str = "", tooltip: str = "") -> Binding:
    """A binding of the key map; `words` and `tooltip` say what the verb means on this screen."""
    name, default, tip = VERBS[key]
    return Binding(key, action, words or default, show=False, tooltip=tooltip or tip, id=name)


def move(verb: str, action: str, words: str = "", tooltip: str = "") -> Binding:
    """A binding of one of the movements; `words` say what it moves here."""
    words = words or MOTIONS[verb].words
    tip = tooltip or f"{words[0].upper()}{words[1:]}."
    return Binding(MOTIONS[verb].every, action, words, show=False, tooltip=tip, id=verb)


def digits(action: str) -> list[BindingType]:
    """Bindings 1 to 9 of `action(n)`."""
    return [bind(str(digit), f"{action}({digit})") for digit in range(1, 10)]


def rows() -> list[BindingType]:
    """Movement in a list: rows, pages, ends."""
    return [
        move("move.up", "move(-1)"),
        move("move.down", "move(1)"),
        move("move.first", "end(-1)"),
        move("move.last", "end(1)"),
        move("move.page.up", "page(-1.0)"),
        move("move.page.down", "page(1.0)"),
        move("move.half.up", "page(-0.5)"),
        move("move.half.down", "page(0.5)"),
    ]


def motions() -> list[BindingType]:
    """Movement in grids and texts: as in a list, and sideways."""
    return [*rows(), move("move.left", "side(-1)"), move("move.right", "side(1)")]


def scrolling() -> list[BindingType]:
    """Movement through a text that the screen itself scrolls: rows, pages, ends."""
    return [
        move("move.up", "read(-1)", "scroll up"),
        move("move.down", "read(1)", "scroll down"),
        move("move.page.up", "read_page(-1.0)", "a page up"),
        move("move.page.down", "read_page(1.0)", "a page down"),
        move("move.half.up", "read_page(-0.5)"),
        move("move.half.down", "read_page(0.5)"),
        move("move.first", "read_end(-1)", "to the start"),
        move("move.last", "read_end(1)", "to the end"),
    ]


def everywhere() -> list[tuple[str, str]]:
    """What acts on every screen, as (keys, words)."""
    said = _now.said
    table = (
        ("← ↓ ↑ →", f"move; {said('h j k l')} too"),
        ("g G", "first, last; Home, End too"),
        ("PgUp PgDn", f"a page; {said('^u ^d')} half of one"),
        ("tab", "next region"),
        ("Esc q", "back, close; never quits"),
        ("STCLQJDRE", "the screens in line 1"),
        ("A F", "agreement, search all traces"),
        ("a", "answer a waiting call"),
        ("?", "this help"),
        ("ctrl+p", "palette: every act by name"),
        ("ctrl+t", "theme: the colors"),
        ("ctrl+c", "copy the selection"),
        ("ctrl+q", "quit (asks during a run)"),
    )
    return [(said(keys), words) for keys, words in table]
