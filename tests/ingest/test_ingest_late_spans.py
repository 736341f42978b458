"""A trace that is exported again with a span that came late is its attempt, not another one."""

from itertools import permutations
from typing import Any

import pytest
from doors import Door
from span_files import request, span


def spans(late: bool, trace: int = 1) -> list[dict[str, Any]]:
    made = [
        span(1, trace=trace, lasts=9, gen_ai__operation__name="invoke_agent",
             gen_ai__agent__name="desk"),
        span(2, 1, at=1, trace=trace, gen_ai__operation__name="chat", gen_ai__request__model="m"),
        span(4, 1, at=5, trace=trace, gen_ai__operation__name="chat", gen_ai__request__model="m"),
    ]  # fmt: skip
    if late:
        made.insert(2, span(3, 1, at=3, trace=trace, gen_ai__operation__name="execute_tool",
                            gen_ai__tool__name="issue_refund"))  # fmt: skip
    return made


@pytest.mark.parametrize("names", [("one.json", "one.json"), ("one.json", "two.json")])
def test_a_late_span_is_a_revision(door: Door, names: tuple[str, str]) -> None:
    assert door.take(names[0], request(*spans(False))).code == 0
    said = door.take(names[1], request(*spans(True)))
    assert said.code == 0, said
    assert door.rows("SELECT attempt, steps FROM traces") == [(1, 1)]


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
def test_other_traces_stay_attempts_or_episodes_of_their_own(
    door: Door, order: tuple[int, ...]
) -> None:
    for trace in order:
        assert door.take(f"{trace}.json", request(*spans(True, trace))).code == 0
    assert door.one("SELECT count(*) FROM traces") == 3
