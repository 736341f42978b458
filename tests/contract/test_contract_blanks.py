"""Blanks: `suite check` points at each, `suite freeze` refuses, a frozen suite is read with one."""

from pathlib import Path
from typing import Any

import pytest
from contract_examples import episode, files, suite, write

from reviewer.suite.check import check_suite
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import read_suite, suite_problems
from reviewer.suite.freeze import freeze, write_lock

OPEN = {"$blank": "what look answers for A-1", "seen": [{"status": "open"}, {"status": "shut"}]}
SHOWN = (
    'is a blank: what look answers for A-1: put the value in its place (seen: {"status": "open"} '
    "and 1 more)"
)


def simulated(value: Any) -> dict[str, Any]:
    cases = {"match": [{"arguments": {"of": "a"}, "value": value}], "unrecorded": "spoil"}
    tools = {name: {"responses": {"fixed": "ok"}} for name in ("write", "verify", "pay")}
    return {"tools": {"look": {"responses": cases}, **tools}}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"simulator": simulated(OPEN)},
         "$.simulator.tools.look.responses.match[0].value"),
        ({"simulator": simulated({"rows": [1, OPEN]})},
         "$.simulator.tools.look.responses.match[0].value.rows[1]"),
        ({"expected": {"final_state": "done", "message_reference": OPEN}},
         "$.expected.message_reference"),
        ({"title": OPEN}, "$.title"),
        ({"source": {"open": [OPEN]}}, "$.source.open[0]"),
    ],
)  # fmt: skip
def test_a_blank_is_pointed_at_and_keeps_a_suite_from_being_frozen(
    tmp_path: Path, changes: dict[str, Any], place: str
) -> None:
    folder = write(tmp_path / "small-v1", files(episode(**changes)))
    found = [(one.file, one.path, one.reason) for one in suite_problems(folder)]
    assert ("small-v1/episodes/e-1.json", place, SHOWN) in found
    assert [path for _, path, _ in found].count(place) == 1, "no fault of shape beside it"
    with pytest.raises(ContractError, match="is a blank"):
        freeze(folder)


def test_a_blank_of_the_suites_own_file_counts_too() -> None:
    content = files(head=suite(title={"$blank": "a title"}))
    (problem,) = check_suite(content, to_freeze=True).problems
    assert (problem.file, problem.path) == ("suite.json", "$.title")


def test_what_only_looks_like_a_blank_is_a_value(tmp_path: Path) -> None:
    looks = [{"$blank": 1}, {"$blank": "x", "more": 1}, {"blank": "x"}]
    content = files(episode(initial_state={"status": "none", "rows": looks}))
    assert check_suite(content, to_freeze=True).problems == ()


def test_a_suite_that_was_frozen_with_one_can_still_be_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "small-v1", files(episode(source={"open": OPEN})))
    write_lock(folder)
    assert read_suite(folder).suite.episodes[0].source == {"open": OPEN}


def test_a_tool_of_which_no_call_was_recorded_says_that_alone() -> None:
    of = simulated(1)
    of["tools"]["look"]["responses"] = {"unrecorded": "spoil"}
    assert check_suite(files(episode(simulator=of))).problems == ()
    of["tools"]["look"]["responses"] = {"unrecorded": "spoil", "otherwise": 1}
    (problem,) = check_suite(files(episode(simulator=of))).problems
    assert "exactly one of" in problem.reason
    wanted = {"final_state": "done", "arguments": {"look": {"of": "a"}}}
    of["tools"]["look"]["responses"] = {"unrecorded": "error"}
    found = check_suite(files(episode(simulator=of, expected=wanted)), to_freeze=True).problems
    assert "`look` has no response to these arguments" in [one.reason for one in found]
