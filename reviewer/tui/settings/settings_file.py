"""The settings file itself: the documented one with every default, and the one line we write."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from reviewer.tui.settings.keyboard import written
from reviewer.tui.settings.settings import (
    DEFAULT,
    OPTIONS,
    THEMES,
    Settings,
    listed,
    moved,
    state_folder,
    toml,
)
from reviewer.tui.settings.verbs import remappable, words_of

SEEN = "tour-seen"


def documented() -> str:
    """A settings file that says every default and what else may stand there. It changes nothing."""
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
    """Every setting as (name, value, where it comes from), then the keys that were moved."""
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
    """The text of a settings file with another theme and nothing else changed, comments and all;
    None when that cannot be done safely."""
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
    """Write the theme into the settings file; answers, in words, what became of that."""
    file = settings.file
    here = f"theme {theme}, for this time only"
    if file is None:
        return here
    try:
        target = Path(os.path.realpath(file))  # a file that is a link stays one
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
    """Write beside the file and rename into it, so that it is never seen half written."""
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
    """Whether the tour has been shown to this person."""
    return (state_folder() / SEEN).exists()


def note_tour_seen() -> None:
    """Remember that it was. Where nothing can be written it is shown again."""
    with suppress(OSError):
        state_folder().mkdir(parents=True, exist_ok=True)
        (state_folder() / SEEN).touch()
