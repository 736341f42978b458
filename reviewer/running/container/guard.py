"""What a verifier relies on in its container, and whether the agent changed it: a verifier that an
agent may write would pass whatever it did. Pure."""

import posixpath
import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(
    r"(?:sh|bash|dash|ash|zsh|ksh|python[\d.]*|pypy[\d.]*|node|deno|bun|perl|ruby|php|lua|java|"
    r"Rscript|pytest)"
)
"""Programs whose first path is what they carry out."""
_BINS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_PRELOADED = "/etc/ld.so.preload"
"""Named there, a library is loaded into every program."""
_CHANGE = re.compile(r"([ACD]) (/.*)")


def guarded(verifier: Sequence[str], more: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the paths on which a verifier relies, as far as its command shows: its program, what
    that carries out, and `more`."""
    program = verifier[0]
    name = posixpath.basename(program)
    found = [_PRELOADED]
    found += [program] if program.startswith("/") else [f"{place}/{name}" for place in _BINS]
    if _CODE.fullmatch(name):
        found += [word for word in verifier[1:] if word.startswith("/")][:1]
    return tuple(dict.fromkeys(posixpath.normpath(path) for path in (*found, *more)))


def changed(printed: str, paths: Iterable[str], *, added: bool = True) -> str | None:
    """Return the first place that differs from the image, by what `diff` of an engine printed, and
    is one of these paths, below one, or a folder above one that another was put in place of: that
    is deleted, or changed although nothing in it is. Without `added`, what is new does not count,
    nor a folder for what is in it: a verifier may keep something beside its files."""
    wanted = tuple(paths)
    entries = [found for line in printed.splitlines() if (found := _CHANGE.fullmatch(line))]
    filled = {above for one in entries for above in _above(one[2])}
    for one in entries:
        kind, place = one[1], one[2]
        if not added and (kind == "A" or place in filled):
            continue
        replaced = kind == "D" or (kind == "C" and place not in filled)
        for path in wanted:
            below = place == path or path in _above(place)
            if below or (replaced and place in _above(path)):
                return place
    return None


def _above(path: str) -> list[str]:
    """Return the folders that a path is in, except the root."""
    steps = path.split("/")
    return ["/".join(steps[:end]) for end in range(2, len(steps))]
