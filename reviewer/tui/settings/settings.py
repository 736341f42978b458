"""The settings of the workstation: what may be set, reading a person's file, and writing to it.

A settings file is TOML and is read strictly: an invalid entry is refused, with file, line and the
word that was probably meant. Nothing in the file can stop the workstation: a refused entry keeps
its default, and a user who opens the screens is told. No report and no gate reads settings.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.tui.settings.keys import (
    MOTIONS,
    TAKEN,
    Keyboard,
    defaults,
    key_name,
    remappable,
    words_of,
    written,
)

THEMES: dict[str, str] = {
    "auto": "dark; ansi where there are 16 colors or none",
    "dark": "light text on a dark ground",
    "light": "dark text on a light ground",
    "colorblind-dark": "dark, and blue against orange: for any color vision",
    "colorblind-light": "light, and blue against orange: for any color vision",
    "contrast": "high contrast: every word 7:1 or more, on black",
    "ansi": "the terminal's own 16 colors, ground and text",
}
"""Names of themes, with what each is."""


class Option(NamedTuple):
    """One setting: its name, default, the values it takes, and what it does."""

    name: str
    default: bool | str
    values: tuple[bool | str, ...]
    words: str


OPTIONS = (
    Option("theme", "auto", tuple(THEMES), "the colors; Ctrl+T in the workstation writes this one"),
    Option("mouse", True, (True, False), "false: the terminal keeps its own selection"),
    Option(
        "glyphs",
        "auto",
        ("auto", "unicode", "ascii"),
        "auto: ascii where the terminal's encoding has no other signs",
    ),
    Option("bell", True, (True, False), "ring once when a call waits for your approval"),
    Option("tour", True, (True, False), "show the tour the first time the demo is opened"),
    Option(
        "presence",
        True,
        (True, False),
        "false: others at a workspace do not see that you are, and may be given your item",
    ),
)
LARGEST = 1 << 20
"""The most bytes of a settings file; a longer file is something else."""
DEFAULT = "default"
"""The origin of a value that no one has set."""


class Settings(NamedTuple):
    """The settings in force. `origin` has the origin of each; `refused` has, in words, what was
    refused in the file. `file` is the settings file."""

    theme: str = "auto"
    mouse: bool = True
    glyphs: str = "auto"
    bell: bool = True
    tour: bool = True
    presence: bool = True
    keys: Mapping[str, tuple[str, ...]] = {}
    file: Path | None = None
    origin: Mapping[str, str] = {}
    refused: tuple[str, ...] = ()

    def keyboard(self) -> Keyboard:
        """Return the keys in force."""
        return Keyboard(self.keys)

    def of(self, name: str) -> str:
        """Return the origin of a setting."""
        return self.origin.get(name, DEFAULT)

    def without_mouse(self, why: str) -> "Settings":
        """Return the same settings, with the mouse left to the terminal."""
        return self._replace(mouse=False, origin={**self.origin, "mouse": why})

    def without_keys(self, why: str) -> "Settings":
        """Return the same settings with the default keys, and the reason in `refused`."""
        told = f"{self.file}: keys: {why}; no key changes until this is corrected"
        kept = {name: where for name, where in self.origin.items() if not name.startswith("keys.")}
        return self._replace(keys={}, origin=kept, refused=(*self.refused, told))


def place(named: str = "", environment: Mapping[str, str] = os.environ) -> tuple[Path, str]:
    """Return the settings file and what names it: `--settings`, REVIEWER_SETTINGS, or "" for the
    person's settings folder ($XDG_CONFIG_HOME, else ~/.config)."""
    if named:
        return Path(named), "--settings"
    if environment.get("REVIEWER_SETTINGS"):
        return Path(environment["REVIEWER_SETTINGS"]), "REVIEWER_SETTINGS"
    return _folder(environment, "XDG_CONFIG_HOME", ".config") / "settings.toml", ""


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the note that the tour was seen ($XDG_STATE_HOME, else
    ~/.local/state)."""
    return _folder(environment, "XDG_STATE_HOME", ".local/state")


def _folder(environment: Mapping[str, str], variable: str, otherwise: str) -> Path:
    set_ = environment.get(variable, "")
    base = Path(set_) if os.path.isabs(set_) else Path(environment.get("HOME") or "~") / otherwise
    return base.expanduser() / "reviewer"


def read(named: str = "", environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings in force. Never fails: problems are in `refused`."""
    file, by = place(named, environment)
    try:
        if file.exists() and not (file.is_file() and file.stat().st_size <= LARGEST):
            return Settings(file=file, refused=(f"{file}: not a settings file",))
        text = file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        missing = (f"{by} names {file}: there is no such file",) if by else ()
        return Settings(file=file, refused=missing)
    except UnicodeDecodeError:
        return Settings(file=file, refused=(f"{file}: not UTF-8 text",))
    except OSError as error:
        return Settings(file=file, refused=(f"{file}: {error.strerror}",))
    return read_text(text, file)


def read_text(text: str, file: Path) -> Settings:
    """Return the settings in a text; `file` is named in the refusals."""
    import tomllib

    try:
        said = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return Settings(file=file, refused=(f"{file}: not TOML: {error}",))
    found: dict[str, Any] = {}
    origin: dict[str, str] = {}
    refused: list[str] = []

    def refuse(name: str, why: str) -> None:
        refused.append(f"{file}{_line(text, name)}: {name}: {why}")

    known = {option.name: option for option in OPTIONS}
    for name, value in said.items():
        if name == "keys":
            continue
        if (option := known.get(name)) is None:
            refuse(name, f"there is no such setting{_near(name, [*known, 'keys'])}")
        elif type(value) is not type(option.default) or value not in option.values:
            near = _near(value, option.values)
            refuse(name, f"{_shown(value)} is not one of {listed(option)}{near}")
        else:
            found[name], origin[name] = value, f"{file}{_line(text, name)}"
    keys = dict(_keys(said.get("keys", {}), refuse))
    origin |= {f"keys.{verb}": f"{file}{_line(text, f'keys.{verb}')}" for verb in keys}
    return Settings(**found, keys=keys, file=file, origin=origin, refused=tuple(refused))


def _keys(said: Any, refuse: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield verb → keys of the table `keys`, for verbs that may be remapped."""
    if not isinstance(said, dict):
        refuse("keys", 'must be a table: [keys], then verb = "key"')
        return
    may = remappable()
    for verb, value in _flat(said):
        name = f"keys.{verb}"
        wanted = value if isinstance(value, list) else [value]
        if verb not in may:
            fixed = verb in defaults()
            why = (
                "its keys stay as they are" if fixed else f"there is no such verb{_near(verb, may)}"
            )
            refuse(name, why)
        elif not wanted or not all(isinstance(each, str) for each in wanted):
            refuse(name, 'must be a key, as "x", or keys, as ["x", "ctrl+x"]')
        else:
            found = {each: key_name(each) for each in wanted}
            bad = [each for each, key in found.items() if key is None]
            held = [key for key in found.values() if key in TAKEN]
            if bad:
                refuse(
                    name, f"{_shown(bad[0])} is not a key: a sign, space, f1 to f24, ctrl+x, alt+x"
                )
            elif held:
                refuse(name, f"{written(held[0] or '')} keeps its meaning")
            elif (keys := tuple(key for key in found.values() if key)) != may[verb]:
                yield verb, keys


def _flat(said: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield names and values; `a.b = 1` without quotes is one name, not a table in a table."""
    for name, value in said.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _line(text: str, name: str) -> str:
    """Return ` line 3`, the line that gives a value to a name (`theme`, `keys.next`); empty when
    the name has no line of its own."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        said, equals, _ = line.partition("=")
        plain = re.sub(r"[\"'\s]", "", said)
        if plain.startswith("["):
            table = plain.strip("[]") + "."
        if name in (f"{table}{plain}" if equals else "", table[:-1]):
            return f" line {number}"
    return ""


def _near(name: Any, known: Any) -> str:
    if not isinstance(name, str):
        return ""
    import difflib

    found = difflib.get_close_matches(name, [each for each in known if isinstance(each, str)], 1)
    return f"; {found[0]} is near" if found else ""


def _shown(value: Any) -> str:
    text = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else repr(value)
    return text if text and len(text) <= 60 else f"{str(text)[:59]}…"


def listed(option: Option) -> str:
    """Return the values of a setting, as a file writes them."""
    return ", ".join(toml(value) for value in option.values)


def toml(value: bool | str) -> str:
    """Return a value as a file writes it."""
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def moved(settings: Settings) -> list[tuple[str, str, str]]:
    """Return the verbs that the keys table has moved: (verb, its keys now, its keys before), as
    printed."""
    before = defaults()
    rows = []
    for verb, keys in settings.keys.items():
        fixed = MOTIONS[verb].fixed if verb in MOTIONS else ()
        rows.append((verb, _pressed((*keys, *fixed)), _pressed((*before[verb], *fixed))))
    return rows


def _pressed(keys: tuple[str, ...]) -> str:
    return " ".join(written(key) for key in keys)


SEEN = "tour-seen"


def documented() -> str:
    """Return a settings file with every default and the other possible values. It changes
    nothing."""
    lines = ["# Settings of the reviewer workstation. Every line here says the default.", ""]
    for option in OPTIONS:
        lines.append(f"# {option.words}")
        if option.name == "theme":
            lines += [f"#   {toml(name)}: {words}" for name, words in THEMES.items()]
        else:
            lines.append(f"# one of {listed(option)}")
        lines += [f"{option.name} = {toml(option.default)}", ""]
    lines += [
        "# Keys: a verb, and the key or keys it has. A key is a sign, space, f1 to f24, or with",
        "# ctrl+, alt+ or shift+ before a letter. Arrows, Home, End, PgUp, PgDn, Enter, Esc, tab,",
        "# Ctrl+C, Ctrl+P, Ctrl+Q and the digits keep their meaning. Two verbs of one screen on",
        "# one key are refused.",
        "[keys]",
    ]
    for verb, keys in remappable().items():
        signs = [toml(key if "+" in key else written(key)) for key in keys]
        value = signs[0] if len(signs) == 1 else f"[{', '.join(signs)}]"
        lines.append(f"{toml(verb)} = {value}  # {words_of(verb)}")
    return "\n".join(lines) + "\n"


def in_force(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yield every setting as (name, value, origin), then the keys that were moved."""
    for option in OPTIONS:
        yield option.name, str(toml(getattr(settings, option.name))), settings.of(option.name)
    if not settings.keys:
        yield "keys", "as they are", DEFAULT
    for verb, now, before in moved(settings):
        yield f"keys.{verb}", f"{now} (was {before})", settings.of(f"keys.{verb}")


# the line the workstation writes ----------------------------------------------------------------

_THEME = re.compile(r"""^(?P<head>[ \t]*theme[ \t]*=[ \t]*)(?:"[^"\n]*"|'[^'\n]*')""", re.M)
_TABLE = re.compile(r"^[ \t]*\[", re.M)


def with_theme(text: str, theme: str) -> str | None:
    """Return the text of a settings file with another theme and nothing else changed, comments
    included; None when that cannot be done safely."""
    import tomllib

    try:
        before = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    line = f"theme = {toml(theme)}"
    table = _TABLE.search(text)
    end = table.start() if table else len(text)
    if found := _THEME.search(text, 0, end):
        changed = f"{text[: found.start()]}{found['head']}{toml(theme)}{text[found.end() :]}"
    elif "theme" in before:
        return None
    else:
        gap_below = "\n" if table else ""
        gap = "" if not text[:end] or text[:end].endswith("\n") else "\n"
        changed = f"{text[:end]}{gap}{line}\n{gap_below}{text[end:]}"
    try:
        after = tomllib.loads(changed)
    except tomllib.TOMLDecodeError:
        return None
    return changed if after == {**before, "theme": theme} else None


def keep_theme(settings: Settings, theme: str) -> str:
    """Write the theme into the settings file; return a message about the result."""
    file = settings.file
    here = f"theme {theme}, for this time only"
    if file is None:
        return here
    try:
        target = Path(os.path.realpath(file))  # a symbolic link stays one
        old = target.read_bytes().decode("utf-8") if target.exists() else ""
        text = with_theme(old, theme)
        if text is None:
            return f"{here}: {file} cannot be changed safely; write theme = {toml(theme)} there"
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, text)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        return f"{here}: {file}: {why}"
    return f"theme {theme}, kept in {file}"


def _replace(target: Path, text: str) -> None:
    """Write a new file and rename it over the old one, so that it is never seen half written."""
    import tempfile

    handle, beside = tempfile.mkstemp(prefix=".settings-", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
            out.write(text)
        Path(beside).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        Path(beside).replace(target)
    except OSError:
        with suppress(OSError):
            Path(beside).unlink()
        raise


# the tour ---------------------------------------------------------------------------------------


def tour_seen() -> bool:
    """Return whether the tour has been shown to this person."""
    return (state_folder() / SEEN).exists()


def note_tour_seen() -> None:
    """Remember that the tour was shown. Where nothing can be written, it is shown again."""
    with suppress(OSError):
        state_folder().mkdir(parents=True, exist_ok=True)
        (state_folder() / SEEN).touch()
