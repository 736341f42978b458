"""Speaking: data to stdout, everything else to stderr, and nothing from a trace unescaped.

Plain output is for screen readers and logs: one fact a line, no columns, nothing that moves, no
sign without its word.
"""

import json
import os
import sys
from contextlib import suppress
from typing import Any

from reviewer.report.formatting import WORDS
from reviewer.report.formatting import counted as counted
from reviewer.trace.safetext import visible, visible_line

_asked = False


def speak(plainly: bool) -> None:
    """Set how this process prints: plain for `--plain`, else as the terminal allows."""
    global _asked
    _asked = plainly


def plain() -> bool:
    """Return whether stdout is plain: when asked, where no terminal reads it, and where the
    terminal can do nothing but print lines."""
    return _asked or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()


def moving() -> bool:
    """Return whether progress may be drawn on stderr, which rewrites its line again and again."""
    return not _asked and os.environ.get("TERM") != "dumb" and sys.stderr.isatty()


def mark(kind: str) -> str:
    """Return the word of a mark."""
    return WORDS.get(kind, kind.replace("_", " "))


def out(text: str = "") -> None:
    """Print one piece of data, with control characters made visible."""
    sys.stdout.write(visible(text) + "\n")


def fact(text: str) -> None:
    """Print one fact on one line: text of a trace cannot start a line of its own."""
    sys.stdout.write(visible_line(text) + "\n")


def out_json(value: Any) -> None:
    """Print a value as JSON, indented, in ASCII. Raises ValueError for a NaN or an infinity."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    sys.stdout.write(f"{_indented(text, value)}\n")


def out_view(view: Any, alike: type) -> None:
    """Print a view as `out_json` prints its plain values. `alike` is a type without floats: long
    lists of it are written by msgspec, which writes nothing else than `json` otherwise."""
    import msgspec

    members = []
    for name, value in zip(
        view.__struct_encode_fields__, msgspec.structs.astuple(view), strict=True
    ):
        text = _listed(value, alike) if isinstance(value, tuple) else None
        if text is None and value is not msgspec.UNSET:
            text = json.dumps(msgspec.to_builtins(value), ensure_ascii=True, allow_nan=False)
        if text is not None:
            members.append(f"{json.dumps(name)}: {text}")
    if sum(map(len, members)) > LONG_JSON:
        with suppress(msgspec.DecodeError):  # half of a surrogate pair
            sys.stdout.write(msgspec.json.format(f"{{{', '.join(members)}}}", indent=2))
            sys.stdout.write("\n")
            return
    out_json(msgspec.to_builtins(view))


def _listed(values: tuple[Any, ...], alike: type) -> str | None:
    """Return a list of one type as JSON in ASCII; None where msgspec would write other text."""
    import msgspec

    if not values or {*map(type, values)} != {alike}:
        return None
    try:
        written = msgspec.json.encode(values)
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    return written.decode("ascii") if written.isascii() and b"\x7f" not in written else None


LONG_JSON = 200_000
"""Characters from which `json`, which indents in Python, is slower than msgspec."""


def _indented(text: str, value: Any) -> str:
    if len(text) > LONG_JSON:
        import msgspec

        with suppress(msgspec.DecodeError):  # a number that no double holds
            return msgspec.json.format(text, indent=2)
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)


def note(text: str) -> None:
    """Print a message to the person: never part of the data."""
    sys.stderr.write(visible(text) + "\n")


def fail(text: str, *ways_out: str, exit_code: int) -> int:
    """Say what is wrong and what can be done; return the exit code."""
    note(f"reviewer: {text}")
    for way in ways_out:
        note(f"  way out: {way}")
    return exit_code


def table(rows: list[tuple[str, ...]], header: tuple[str, ...]) -> None:
    """Print aligned columns below one header line, without rules; in plain output a line for each
    row, with each value after its name."""
    if plain():
        for row in rows:
            first, *others = (
                f"{name} {cell or 'none'}" for name, cell in zip(header, row, strict=True)
            )
            fact(f"{first}: {'; '.join(others)}" if others else first)
        return
    shown = [header, *(tuple(visible_line(cell) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
    for row in shown:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(line.rstrip() + "\n")


def measured(value: float | None, form: str = "{:.4g}") -> str:
    """Return a number as text, or `not measured` for None."""
    return "not measured" if value is None else form.format(value)


def measured_s(milliseconds: float | None) -> str:
    """Return a duration in seconds as text, or `not measured` for None."""
    return measured(None if milliseconds is None else milliseconds / 1000, "{:.2f}s")


def worded(line: str, sides: tuple[str, str] = ("before", "after")) -> str:
    """Return a line of a difference without its sign: the word that follows says the same, or else
    the side the line belongs to is put first."""
    sign, _, rest = line.partition(" ")
    if sign not in ("~", "-", "+"):
        return line
    if sign == "~" or rest.startswith(("changed ", "added ", "removed ")):
        return rest
    return f"{sides[0] if sign == '-' else sides[1]}: {rest}"
