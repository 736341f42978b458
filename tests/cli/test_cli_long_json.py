"""Long answers in JSON are the same to the byte as short ones are made."""

import json
from typing import Any

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
