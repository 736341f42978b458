"""What doctor says of one thing it looked at."""

from typing import NamedTuple


class Check(NamedTuple):
    """One thing looked at. `ok` is None for a remark that is not a fault."""

    name: str
    ok: bool | None
    text: str
