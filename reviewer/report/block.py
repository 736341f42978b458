"""One part of a report in words."""

from msgspec import Struct


class Block(Struct, frozen=True):
    """One part of the report. `rows` are aligned with `head`; `code` are lines to be typed."""

    title: str
    lines: list[str] = []
    items: list[str] = []
    head: list[str] = []
    rows: list[list[str]] = []
    code: list[str] = []
