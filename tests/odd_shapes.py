"""Valid files made odd, for tests that a bad record costs itself only."""

from typing import Any

from hypothesis import strategies as st

ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**20),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.lists(st.one_of(st.integers(), st.none(), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.text(max_size=4), st.one_of(st.none(), st.integers()), max_size=3),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of every member and element below a value."""
    if isinstance(value, dict):
        below = [((*path, name), one) for name, one in value.items()]
    elif isinstance(value, list):
        below = [((*path, number), one) for number, one in enumerate(value)]
    else:
        return []
    return [found for where, one in below for found in (where, *places(one, where))]


def made_odd(data: st.DataObject, value: Any) -> None:
    """Replace or drop one member or element somewhere in a value, in place; one that is empty, as
    it may be made by this, stays so."""
    if not value:
        return
    path = data.draw(st.sampled_from(places(value)))
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    if data.draw(st.booleans()):
        del holder[path[-1]]
    else:
        holder[path[-1]] = data.draw(ODD)


def cut_anywhere(data: st.DataObject, raw: bytes) -> bytes:
    """The start of a file, up to some byte."""
    return raw[: data.draw(st.integers(1, len(raw) - 1))]
