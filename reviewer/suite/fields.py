"""The kinds of member that every file of reviewer consists of, and the marks that describe a
member.

A file shape is a msgspec struct. Its annotations contain the member's description (a plain string)
and the marks below. msgspec ignores them, so reading a trusted file costs nothing more; `border`
derives from them the strict pydantic model and the JSON Schema.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Annotated, Any

from msgspec import Struct

from reviewer.suite.errors import MAX_ID, MAX_NAME, id_problem, name_problem, shown
from reviewer.suite.gates import OPTIONAL, gate_problem, limits_problem

FROM_STRUCT: Any = object()
"""A `File` mark without a default of its own: the struct's default applies."""


class Limits(Struct, frozen=True, eq=False):
    """Inclusive and exclusive limits of a number, lengths of a text or list, a text's pattern."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None


class Check(Struct, frozen=True, eq=False):
    """A test in code: `problem` returns why a value is refused, or None.

    `schema` replaces the JSON Schema of the member, `extra` is added to it.
    """

    problem: Callable[[Any], str | None]
    schema: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None


class Extra(Struct, frozen=True, eq=False):
    """An addition to the JSON Schema of the member, beyond that of its type."""

    schema: dict[str, Any]


class Short(Struct, frozen=True, eq=False):
    """A short form that people may write: `expand` turns it into the long one, `written` is the
    type of both."""

    expand: Callable[[Any], Any]
    written: Any


class File(Struct, frozen=True, eq=False):
    """The member's type and default in the file, where they differ from those of the struct."""

    type: Any
    default: Any = FROM_STRUCT


class ComputedMark:
    """Marks a member that no file has: it is computed when the file is read."""


COMPUTED = ComputedMark()


def repeated(items: Iterable[Hashable]) -> str | None:
    """Return a problem naming an item that `items` contains twice, or None."""
    twice = [item for item, count in Counter(items).items() if count > 1]
    if not twice:
        return None
    return "lists " + ", ".join(f"`{shown(str(item))}`" for item in twice) + " twice"


def _blank_wording(text: str) -> str | None:
    # Imported here, since code that only names a file's values needs none of the patterns of
    # wording.
    from reviewer.suite.wording import wording_problem

    return wording_problem(text)


UNIQUE = Check(repeated, extra={"uniqueItems": True})

Id = Annotated[
    str,
    Check(
        id_problem,
        schema={
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_ID,
            "pattern": r"^[^./\\][^/\\]*$",
        },
    ),
]
Name = Annotated[
    str,
    Check(name_problem, schema={"type": "string", "minLength": 1, "maxLength": MAX_NAME}),
]
Text = Annotated[str, Limits(min_length=1)]
Names = Annotated[tuple[Name, ...], UNIQUE]
Ids = Annotated[tuple[Id, ...], UNIQUE]
Texts = Annotated[tuple[Text, ...], UNIQUE]
WordingText = Annotated[Text, Check(_blank_wording, extra={"pattern": r"\S"})]
Wordings = Annotated[tuple[WordingText, ...], UNIQUE]
StoredName = Annotated[str, Limits(min_length=1, max_length=4096)]
"""An id in a store, which may be longer than the ids that people write."""

OptionalGate = Annotated[str, Check(gate_problem, schema={"enum": list(OPTIONAL)})]
GateLimit = Annotated[
    int,
    Limits(
        ge=min(limit.least for limit in OPTIONAL.values()),
        le=max(limit.greatest for limit in OPTIONAL.values()),
    ),
]
"""A limit of any optional gate: a number outside is in no gate's range."""
GateLimits = Annotated[
    dict[OptionalGate, GateLimit],
    Check(limits_problem),
    Extra({"propertyNames": {"enum": list(OPTIONAL)}}),
]
Count = Annotated[int, Limits(ge=0)]
Positive = Annotated[int, Limits(ge=1)]
Days = Annotated[int, Limits(ge=1, le=3_650)]
Amount = Annotated[float, Limits(ge=0)]
Rate = Annotated[float, Limits(ge=0, le=1)]
Sha256 = Annotated[str, Limits(pattern=r"^[0-9a-f]{64}$")]
EntryPoint = Annotated[str, Limits(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$")]
