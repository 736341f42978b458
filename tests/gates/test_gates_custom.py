"""A suite's own checks among the gates: they only ever add."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.gates import compile_contract, score
from reviewer.gates.custom import (
    CHECKED_GATES,
    against,
    joined_results,
    not_measured,
    stored_results,
)
from reviewer.gates.model import Finding, combined
from reviewer.suite.gates import GATES
from reviewer.suite.model import Episode, Tools
from reviewer.trace.record import TraceRecord
from reviewer.trace.validate import decode

EPISODE = Episode(episode_id="e-1", tools=Tools(required=("look",)), critical=("custom:two",))
NAMES = ("one", "two")


def record(*tools: str, termination: str = "completed") -> TraceRecord:
    import json

    events = [
        {
            "seq": n,
            "kind": "tool_call",
            "tool": tool,
            "arguments": {},
            "status": "ok",
            "call_id": str(n),
        }
        for n, tool in enumerate(tools, 1)
    ]
    return decode(
        json.dumps(
            {
                "schema": "reviewer/trace@1",
                "episode_id": "e-1",
                "candidate_id": "c",
                "attempt": 1,
                "events": events,
                "final_state": None,
                "final_message": "done",
                "cost_usd": 0.1,
                "latency_ms": 1,
                "termination": termination,
            }
        ).encode()
    )


CONTRACT = compile_contract(EPISODE, checks=NAMES)
PLAIN = compile_contract(EPISODE)
FOUND = st.builds(
    against, st.sampled_from(NAMES), st.sampled_from(CHECKED_GATES), st.none(), st.text()
)
RESULTS = st.dictionaries(
    st.sampled_from(NAMES),
    st.lists(FOUND, max_size=3).map(tuple) | st.just(not_measured("one", "broke")),
)


@given(RESULTS, st.sampled_from([(), ("look",), ("other",)]))
def test_no_result_of_a_check_makes_a_pass_or_takes_a_finding_away(
    results: dict[str, tuple[Finding, ...]], calls: tuple[str, ...]
) -> None:
    without, with_checks = (
        score(PLAIN, record(*calls)),
        score(CONTRACT, record(*calls), checked=results),
    )
    assert {(f.gate, f.code) for f in without.findings} <= {
        (f.gate, f.code) for f in with_checks.findings
    }
    rank = {"pass": 0, "not_measured": 1, "fail": 2}
    for gate, before, after in zip(GATES, without.results, with_checks.results, strict=True):
        assert rank[after] >= rank[before]
        assert before == after or gate in CHECKED_GATES
    if with_checks.passed:
        assert all(results.get(name) == () for name in NAMES)


def test_a_check_that_nobody_ran_is_not_measured() -> None:
    found = score(CONTRACT, record("look"), checked={"one": ()})
    assert found.passed is None
    assert found.codes() == ["custom_not_measured:two"]
    assert score(CONTRACT, record("look"), checked={"one": (), "two": ()}).passed is True


def test_an_episode_may_make_a_check_critical() -> None:
    results = {"one": (), "two": (against("two", "process", 1, "twice"),)}
    found = score(CONTRACT, record("look"), checked=results)
    assert found.critical
    assert stored_results(NAMES, found.findings) == results


@pytest.mark.parametrize(
    "results", [{"one": (), "two": ()}, {"one": not_measured("one", "broke"), "two": ()}]
)
def test_what_is_kept_is_what_was_found(results: dict[str, tuple[Finding, ...]]) -> None:
    first = score(CONTRACT, record("look"), checked=results)
    again = score(CONTRACT, record("look"), checked=stored_results(NAMES, first.findings))
    assert again == first


def test_nothing_is_known_of_an_attempt_that_the_harness_ended() -> None:
    ended = score(CONTRACT, record("look", termination="infrastructure_error"), checked={})
    assert ended.infrastructure
    assert stored_results(NAMES, ended.findings) == {}


def test_what_is_measured_later_takes_the_place_of_what_was_not_and_of_nothing_else() -> None:
    seen = against("one", "state", None, "seen elsewhere")
    stored = {"one": (*not_measured("one", "was not run"), seen), "two": ()}
    assert joined_results(stored, {"one": ()}) == {"one": (seen,), "two": ()}


def test_a_finding_stands_until_its_check_has_judged_the_longer_record() -> None:
    earlier = [against("one", "process", 1, "twice")]
    unknown = score(
        CONTRACT, record("look"), checked={"one": not_measured("one", "broke"), "two": ()}
    )
    assert "custom:one" in combined(unknown, earlier).codes()
    assert combined(unknown, earlier).passed is False
    judged = score(CONTRACT, record("look"), checked={"one": (), "two": ()})
    assert combined(judged, earlier).passed is True
