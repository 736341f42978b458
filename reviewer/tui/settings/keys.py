"""The key map: verbs as data, the keyboard in force, and the bindings made from both.

One key, one verb. Every act is a binding with an id and a tooltip: bindings, help, hints, palette
and the settings are made from these tables, so they cannot diverge. Textual is imported only where
a binding is made: the command that prints settings does without it.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from textual.binding import Binding, BindingType

# key: (id, default words, tooltip). The id is the verb: a key has the same id on every screen.
VERBS: dict[str, tuple[str, str, str]] = {
    "S": ("screen.scorecard", "Scorecard", "Go to the scorecard."),
    "T": ("screen.trajectory", "Trajectory", "Go to the trace you look at."),
    "C": ("screen.compare", "Compare", "Go to what changed against another candidate."),
    "L": ("screen.label", "Label", "Label final messages, blind."),
    "Q": ("screen.queue", "Queue", "Go to what is to be labeled, and how far people agree."),
    "A": ("screen.agreement", "Agreement", "Go to how far people agree, and with themselves."),
    "E": ("screen.trends", "Trends", "Go to the figures over all candidates."),
    "U": ("screen.suite", "Suite", "Go to what the suite holds, and what bad agents do on it."),
    "P": ("screen.patterns", "Patterns", "Go to what fails alike, and name it."),
    "J": ("screen.judge", "Judge", "Go to the calibration of the model judge."),
    "D": ("screen.decision", "Decision", "Go to the report and the decision."),
    "R": ("screen.runs", "Runs", "Go to sources and refused records."),
    "I": ("screen.sessions", "Sessions", "Go to the sessions of coding agents found here."),
    "escape": ("back", "back, close", "Back one level. Never quits, never discards."),
    "q": ("back.q", "back, close", "Back one level; on the first screen, ask whether to quit."),
    "enter": ("enter", "go in", "The evidence behind this."),
    "n": ("next", "next that needs attention", "The next item that needs attention."),
    "N": ("previous", "the one before", "The previous item that needs attention."),
    "slash": ("search", "filter, search", "Filter or search."),
    "f": ("failing", "only failing", "Show only what fails, or everything again."),
    "s": ("sort", "sort by this column", "Sort by the cursor's column; again reverses."),
    "number_sign": ("group", "group", "Group by tag, by category, or not at all."),
    "vertical_line": ("sides", "side by side", "Candidates side by side, and gates again."),
    "v": ("view", "the other view", "The next view of this screen."),
    "equals_sign": ("verify", "verify", "Verify what was signed, offline."),
    "z": ("fold", "fold, unfold", "Fold or unfold the lower region."),
    "c": ("choose", "choose", "Choose what this screen is about."),
    "y": ("copy", "copy", "Copy the id, value or digest."),
    "o": ("pager", "open in $PAGER", "Open it in $PAGER."),
    "x": ("export", "export", "Write the report and its renderings to a folder."),
    "e": ("evidence", "what was done", "Open what was done, or close it."),
    "d": ("error", "next that is not ok", "The next event that is not ok."),
    "colon": ("goto", "go to", "Go to a candidate, suite, episode, trace or event by its name."),
    "ctrl+p": ("palette", "acts by name", "Find every act of every screen by its name."),
    "Z": ("zoom", "zoom this region", "Give this region the whole screen; again: back."),
    "K": ("pane.more", "more lines for this region", "Give this region more lines."),
    "underscore": ("pane.less", "fewer lines for this region", "Give this region fewer lines."),
    "asterisk": ("same", "next of this tool", "The next call of the same tool."),
    "semicolon": ("jump.again", "the same jump again", "The last jump again."),
    "comma": ("jump.back", "the same jump, backwards", "The last jump, the other way."),
    "less_than_sign": ("candidate.before", "candidate before", "The candidate before."),
    "greater_than_sign": ("candidate.after", "candidate after", "The candidate after."),
    "left_square_bracket": ("attempt.before", "attempt before", "The attempt before."),
    "right_square_bracket": ("attempt.after", "attempt after", "The attempt after."),
    "shift+left": ("attempt.before.arrow", "attempt before", "The attempt before."),
    "shift+right": ("attempt.after.arrow", "attempt after", "The attempt after."),
    "left_curly_bracket": ("episode.before", "episode before", "The episode before."),
    "right_curly_bracket": ("episode.after", "episode after", "The episode after."),
    "shift+up": ("episode.before.arrow", "episode before", "The episode before."),
    "shift+down": ("episode.after.arrow", "episode after", "The episode after."),
    "question_mark": ("help", "this help", "What you can do here."),
    "w": ("note", "comment", "Write a comment."),
    "plus": ("episode.make", "an episode of this", "Mark this trace, and make an episode from it."),
    "m": ("bookmark", "bookmark", "Add a bookmark here, or remove it."),
    "apostrophe": ("marks", "next bookmark, note", "The next bookmark or note."),
    "left_parenthesis": ("snapshot.before", "state before", "The state before this event."),
    "right_parenthesis": ("snapshot.after", "state after", "The next state recorded."),
    "ctrl+o": ("editor", "open in $EDITOR", "Open a copy of it in $EDITOR."),
    "F": ("screen.search", "search all traces", "Search the words of every trace."),
    "t": ("tie", "tie", "Neither message is better."),
    "b": ("both_bad", "both bad", "Both messages are bad."),
    "0": ("clear", "clear this answer", "Clear the answer to this criterion."),
    "exclamation_mark": ("flag", "flag", "Flag this item for another person, or remove the flag."),
    "minus": ("skip", "skip, with a reason", "Skip this item, and give the reason by number."),
    "u": (
        "undo",
        "take back the last label",
        "Take the last saved label back; it is kept as said.",
    ),
    "i": ("import", "import", "Import a file."),
    "tab": ("region", "next region", "Go to the next region."),
    "r": ("run", "run, run again", "Run a candidate; on an error, check again."),
    "p": ("pause", "pause, resume", "Pause: no new attempts, running ones finish. Again: resume."),
    "full_stop": ("stop", "stop, abandon", "No new attempts; again: abandon the running ones."),
    "a": ("approve", "answer a waiting call", "Approve or refuse a call that asks for it."),
    "delete": ("drop", "remove", "Remove what is under the cursor."),
    "ctrl+s": ("sessions.found", "sessions", "Choose among sessions found on this machine."),
    "ctrl+f": ("follow", "follow", "Import what is chosen, and follow it as it grows."),
    "at": ("who", "who is here", "List who is using this workspace now."),
    "ctrl+t": ("theme", "theme", "Choose the colors, and keep them."),
    "space": ("tour", "tour, its next step", "The tour: begin it, or go to its next step."),
    **{
        str(digit): (f"numbered.{digit}", f"number {digit}", f"The item with the number {digit}.")
        for digit in range(1, 10)
    },
}

SHOWN = {
    "slash": "/",
    "number_sign": "#",
    "vertical_line": "|",
    "at": "@",
    "underscore": "_",
    "asterisk": "*",
    "colon": ":",
    "plus": "+",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "question_mark": "?",
    "equals_sign": "=",
    "full_stop": ".",
    "exclamation_mark": "!",
    "minus": "-",
    "apostrophe": "'",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
    "escape": "Esc",
    "enter": "Enter",
    "delete": "Del",
    "space": "space",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
}


class Motion(NamedTuple):
    """A movement: the keys that a settings file may replace, the fixed ones, its words."""

    keys: tuple[str, ...]
    fixed: tuple[str, ...]
    words: str

    @property
    def every(self) -> str:
        """All its keys, in the form that a binding takes."""
        return ",".join((*self.keys, *self.fixed))


MOTIONS: dict[str, Motion] = {
    "move.up": Motion(("k",), ("up",), "up"),
    "move.down": Motion(("j",), ("down",), "down"),
    "move.left": Motion(("h",), ("left",), "left"),
    "move.right": Motion(("l",), ("right",), "right"),
    "move.first": Motion(("g",), ("home",), "first"),
    "move.last": Motion(("G",), ("end",), "last"),
    "move.page.up": Motion((), ("pageup",), "page up"),
    "move.page.down": Motion((), ("pagedown",), "page down"),
    "move.half.up": Motion(("ctrl+u",), (), "half a page up"),
    "move.half.down": Motion(("ctrl+d",), (), "half a page down"),
}
"""Movement, everywhere. Arrows, pages and ends keep their meaning whatever the settings say."""

ANSWERS = {"answer.yes": ("y", "yes: approve the call, quit"), "answer.no": ("n", "no")}
"""Verbs of the two dialogs that ask a question: a call that waits for approval, and quitting."""

FIXED = frozenset(
    {
        "back",
        "enter",
        "region",
        "quit",
        "palette",
        "move.page.up",
        "move.page.down",
        *(f"numbered.{digit}" for digit in range(1, 10)),
        "clear",
        "drop",
    }
)
"""Verbs with fixed keys: Esc, Enter, tab, Ctrl+Q, pages, and the digits printed on the screen."""

TAKEN = frozenset(
    {"escape", "enter", "tab", "shift+tab", "ctrl+q", "ctrl+p", "ctrl+c", "super+c"}
    | {"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "delete", "backspace"}
    | {"ctrl+i", "ctrl+m", "ctrl+j", "ctrl+h"}  # which terminals send for tab, Enter, Backspace
    | set("0123456789")
)
"""Keys that no verb can be put on."""


def defaults() -> dict[str, tuple[str, ...]]:
    """Return verb → its keys without settings, leaving out the fixed ones."""
    found = {verb: (key,) for key, (verb, _, _) in VERBS.items()}
    found |= {verb: (key,) for verb, (key, _) in ANSWERS.items()}
    return found | {verb: motion.keys for verb, motion in MOTIONS.items()}


def remappable() -> dict[str, tuple[str, ...]]:
    """Return verb → its default keys, for every verb that a settings file may move."""
    return {verb: keys for verb, keys in defaults().items() if verb not in FIXED}


def words_of(verb: str) -> str:
    """Return a few words that describe a verb."""
    if verb in MOTIONS:
        return MOTIONS[verb].words
    if verb in ANSWERS:
        return ANSWERS[verb][1]
    return next(words for name, words, _ in VERBS.values() if name == verb)


_NAMES = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
_NAMED = re.compile(r"(f([1-9]|1\d|2[0-4])|space|insert)\Z")
_MODIFIED = re.compile(
    r"(?:ctrl|alt|shift|ctrl\+shift)\+(?:[a-z]|f\d{1,2}|space|up|down|left|right)\Z"
)
_BY_SIGN = {shown: name for name, shown in SHOWN.items() if len(shown) == 1 and shown.isascii()}


def key_name(written: str) -> str | None:
    """Return the name of a key as bindings spell it: a character, `space`, `f5`, `ctrl+n`; else
    None."""
    if len(written) == 1:
        if written.isalnum():
            return written
        if written in _BY_SIGN:
            return _BY_SIGN[written]
        if written == " " or not written.isprintable() or unicodedata.combining(written):
            return None
        name = unicodedata.name(written, "").lower().replace(" ", "_").replace("-", "_")
        return _NAMES.get(name, name) or None
    if _NAMED.match(written) or _MODIFIED.match(written) or written in SHOWN:
        return written
    return None


def written(key: str) -> str:
    """Return a key as it is printed: `/` for `slash`, `Enter`, `ctrl+o`, `shift+←`."""
    if key in SHOWN:
        return SHOWN[key]
    if "+" in key:
        *modifiers, last = key.split("+")
        return "+".join((*modifiers, SHOWN.get(last, last)))
    if len(key) > 1 and key_name(sign := _sign(key)) == key:
        return sign
    return key


def _sign(name: str) -> str:
    back = {short: long for long, short in _NAMES.items()}
    try:
        return unicodedata.lookup(back.get(name, name).replace("_", " "))
    except KeyError:
        return ""


_TOKEN = re.compile(r"Enter|Esc|Del|tab|space|Pg(?:Up|Dn)|(?:ctrl|shift|alt)\+\S+|\^\w|\S|\s+")


class Keyboard:
    """The keys of each verb: the defaults, and the keys with which the settings replace them."""

    def __init__(self, remapped: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.remapped = dict(remapped or {})
        self._keys = defaults() | self.remapped
        self._by_sign = {
            sign: verb
            for verb, keys in defaults().items()
            if verb not in ANSWERS
            for key in keys
            for sign in (written(key), key.replace("ctrl+", "^"))
        }

    def keys(self, verb: str) -> tuple[str, ...]:
        """Return the keys of a verb, as bindings spell them, without arrows and other fixed
        keys."""
        return self._keys[verb]

    def key(self, verb: str) -> str:
        """Return the first key of a verb, as it is printed."""
        return written(self._keys[verb][0])

    def keymap(self) -> dict[str, str]:
        """Return Textual's key map: binding id → keys."""
        return {
            verb: ",".join((*keys, *(MOTIONS[verb].fixed if verb in MOTIONS else ())))
            for verb, keys in self.remapped.items()
        }

    def said(self, keys: str) -> str:
        """Return the keys of a hint (`n`, `jk`, `[]`, `< >`, `1-9`) as they are set now."""
        if not self.remapped or re.fullmatch(r"\d-\d", keys):
            return keys
        return "".join(
            self.key(verb) if (verb := self._by_sign.get(token, "")) in self.remapped else token
            for token in _TOKEN.findall(keys)
        )


_now = Keyboard()


def use(keyboard: Keyboard) -> None:
    """Use this keyboard's keys in sentences and hints. One per process."""
    global _now
    _now = keyboard


def keyboard() -> Keyboard:
    """Return the keyboard in force."""
    return _now


def key_of(verb: str) -> str:
    """Return the key of a verb, for a sentence: `r` of "r runs what is missing"."""
    return _now.key(verb)


def worded(text: str) -> str:
    """Return words with the keys of verbs inserted: `{run} runs it`."""
    return re.sub(r"\{([a-z_.]+)\}", lambda found: key_of(found[1]), text)


def bind(key: str, action: str, words: str = "", tooltip: str = "") -> "Binding":
    """Return a binding of the key map; `words` and `tooltip` say what the verb does on this
    screen."""
    from textual.binding import Binding

    name, default, tip = VERBS[key]
    return Binding(key, action, words or default, show=False, tooltip=tooltip or tip, id=name)


def move(verb: str, action: str, words: str = "", tooltip: str = "") -> "Binding":
    """Return a binding of one of the movements; `words` say what it moves here."""
    from textual.binding import Binding

    words = words or MOTIONS[verb].words
    tip = tooltip or f"{words[0].upper()}{words[1:]}."
    return Binding(MOTIONS[verb].every, action, words, show=False, tooltip=tip, id=verb)


def digits(action: str) -> "list[BindingType]":
    """Return bindings 1 to 9 of `action(n)`."""
    return [bind(str(digit), f"{action}({digit})") for digit in range(1, 10)]


def rows() -> "list[BindingType]":
    """Return the movements in a list: rows, pages, ends."""
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


def motions() -> "list[BindingType]":
    """Return the movements in grids and texts: as in a list, and sideways."""
    return [*rows(), move("move.left", "side(-1)"), move("move.right", "side(1)")]


def scrolling() -> "list[BindingType]":
    """Return the movements through a text that the screen itself scrolls: rows, pages, ends."""
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
    """Return the acts of every screen as (keys, words)."""
    said = _now.said
    table = (
        ("← ↓ ↑ →", f"move; {said('h j k l')} too"),
        ("g G", "first, last; Home, End too"),
        ("PgUp PgDn", f"a page; {said('^u ^d')} half of one"),
        ("tab", "next region"),
        ("Z", "one region over the whole screen"),
        ("K _", "more lines for a region, fewer"),
        ("Esc q", "back, close; q at the top: quit"),
        (":", "go to anything by its name"),
        ("STCLQJDREU", "the screens in line 1"),
        ("A F I", "agreement, search, sessions"),
        ("@", "who is here"),
        ("a", "answer a waiting call"),
        ("?", "this help"),
        ("ctrl+p", "every act by its name"),
        ("ctrl+t", "theme: the colors"),
        ("ctrl+c", "copy the selection"),
        ("ctrl+q", "quit (asks during a run)"),
    )
    return [(said(keys), words) for keys, words in table]
