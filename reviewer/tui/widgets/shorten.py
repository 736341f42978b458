"""Names that are too long for their column, shortened so that neighbors stay different."""

import re
from collections import defaultdict
from collections.abc import Iterable

from reviewer.tui.widgets.lines import cut, middle

_WORD_AT_END = re.compile(r"[^\W_]+\Z")


def apart(names: Iterable[str], width: int) -> dict[str, str]:
    """Return the names of over `width` columns with their short forms.

    A name loses its middle. Names that would then be the same keep their first characters and show
    the first and the last word at which they differ from the others. Names that differ in more than
    two distant places may still read the same.
    """
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        if (short := middle(name, width)) != name:
            alike[short].append(name)
    found = {same[0]: short for short, same in alike.items() if len(same) == 1}
    twins = sorted(name for same in alike.values() if len(same) > 1 for name in same)
    for at, name in enumerate(twins):
        # In sorted order, the name that differs latest is a neighbor, and the one that differs
        # earliest is at an end.
        near = [_differs_at(name, other, width // 4) for other in twins[max(0, at - 1) : at + 2]]
        far = [_differs_at(name, other, width // 4) for other in (twins[0], twins[-1])]
        # A name that is the beginning of another differs by its end.
        places = [place for place in (*near, *far) if place < len(name)] or [len(name) - 1]
        found[name] = _with_differences(name, min(places), max(places), width)
    return found


def _with_differences(name: str, first: int, last: int, width: int) -> str:
    """Return a name in `width` columns with the words at `first` and `last` in it."""
    head = name[: min(first, width // 4)]
    head = f"{head}…" if first > len(head) + 1 else name[:first]
    room = width - len(head)
    rest = name[first:]
    if last < first + room - 1 or len(rest) <= room:
        return cut(head + rest, width)
    tail = cut(name[last:], room // 2)
    return f"{head}{rest[: room - len(tail) - 1]}…{tail}"


def _differs_at(name: str, other: str, before: int) -> int:
    """Return the start of the word in which a name differs from another, at most `before`
    characters before the difference; for equal names their length."""
    differ = (at for at, (a, b) in enumerate(zip(name, other, strict=False)) if a != b)
    at = next(differ, min(len(name), len(other)))
    word = _WORD_AT_END.search(name[:at])
    return at - min(len(word[0]), before) if word and name != other else at
