"""Long answers in JSON are the same to the byte as short ones are made."""

import json
from typing import Any

import msgspec
import pytest

from reviewer.cli import say

LONG: list[Any] = [
    {'ä\u2028"\\': [1, 2.5, 1e300, -0.0, True, None, "\x7f\x00é😀"], "none": [], "nothing": {}},
    [[[]], [{}], "", 1.5e-7, 2**53, {"": "\ud800"}],
    "x",
    [10**400],
]


@pytest.mark.parametrize("value", LONG)
def test_what_is_long_is_indented_as_what_is_short(
    value: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    for limit in (say.LONG_JSON, 0):
        monkeypatch.setattr(say, "LONG_JSON", limit)
        say.out_json(value)
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] == json.dumps(value, indent=2) + "\n"
    with pytest.raises(ValueError, match="not JSON compliant"):
        say.out_json([float("nan")])


class Line(msgspec.Struct):
    name: str
    count: int | None = None
    parts: tuple[str, ...] = ()


class Lines(msgspec.Struct):
    title: str
    share: float
    lines: tuple[Line, ...]
    others: tuple[Line | str, ...] = ()


@pytest.mark.parametrize("name", ["a", "ä\u2028", "\x7f", '\x00/"\\', "\ud800", "😀"])
def test_a_view_with_a_long_list_is_written_as_a_short_one(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (Line("first"), Line(name, 3, ("x", name)))
    for view in (Lines(name, 1.5e-7, lines, (*lines, name)), Lines("", 1e300, ())):
        said = []
        for limit in (say.LONG_JSON, 0):
            monkeypatch.setattr(say, "LONG_JSON", limit)
            say.out_view(view, Line)
            said.append(capsys.readouterr().out)
        wanted = json.dumps(msgspec.to_builtins(view), indent=2) + "\n"
        assert said[0] == said[1] == wanted
