"""A suite as its screen has it: what it holds, what bad agents do on it, and what each one did."""

import json
import time
from itertools import count
from pathlib import Path
from typing import cast

import pytest
from doors import SUITE, Door
from trial_suites import REFUSE, RETURN, episode, write

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.place import at
from reviewer.desk.stopping import Stopped, check, until
from reviewer.desk.suites import state_of
from reviewer.desk.trials import remembered
from reviewer.suite.folder import read_suite
from reviewer.suite.model import TrialAgent


@pytest.fixture
def draft(tmp_path: Path) -> Desk:
    """A workspace with a draft of two sound episodes."""
    (tmp_path / "suites").mkdir()
    (tmp_path / "store").mkdir()
    write(tmp_path, RETURN, REFUSE)
    return Desk(at(tmp_path))


def test_the_contents_are_the_contracts_clause_by_clause(full: Door) -> None:
    desk = full.desk()
    found = desk.workspace.contents(SUITE)
    desk.close()
    assert (found.info.state, len(found.tools)) == ("frozen", 8)
    assert ("repeats", "pass^3 at least 0.95") in found.policy
    first = found.episodes[0]
    assert (first.episode_id, first.required[0], first.forbidden) == (
        "damaged-221", "lookup_order", ("issue_refund",),
    )  # fmt: skip
    assert first.limits == "6 calls, $0.08, 2 timeouts"
    assert ("$.writes[0]", "create_return_label is verified by verify_state") in [
        (one.place, one.clause) for one in first.clauses
    ]


def test_a_large_suite_is_read_an_episode_at_a_time(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = full.desk()
    whole = desk.workspace.contents(SUITE)
    monkeypatch.setattr("reviewer.desk.workspace.api.MOST_LISTED", 1)
    paged = desk.workspace.contents(SUITE)
    assert (paged.policy, paged.tools, paged.everywhere) == (
        whole.policy, whole.tools, whole.everywhere,
    )  # fmt: skip
    assert list(paged.episodes) == list(whole.episodes)
    assert list(paged.episodes[1:]) == list(whole.episodes[1:])

    edited = desk.place.suites / SUITE / "episodes" / "damaged-221.json"
    fresh = desk.workspace.contents(SUITE)
    edited.write_bytes(edited.read_bytes().replace(b"lookup_order", b"delete_order"))
    with pytest.raises(DeskError, match="damaged-221"):
        _ = fresh.episodes[0]
    assert "delete_order" in desk.workspace.contract_text(SUITE, "damaged-221")
    for name in ("../suite", "nowhere"):
        with pytest.raises(DeskError):
            desk.workspace.contract_text(SUITE, name)
    desk.close()


def test_a_large_suite_that_is_as_it_was_proved_is_not_read_again(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reviewer.desk import early_stats

    monkeypatch.setattr("reviewer.desk.workspace.api.MOST_LISTED", 1)
    monkeypatch.setattr(early_stats, "now", lambda: time.time_ns() + 60 * 10**9)  # files at rest
    desk = full.desk()
    before = desk.workspace.contents(SUITE)
    with monkeypatch.context() as patched:
        patched.setattr("reviewer.desk.suites.suite_state", None)
        assert desk.workspace.contents(SUITE).info == before.info
    edited = desk.place.suites / SUITE / "episodes" / "damaged-221.json"
    edited.write_bytes(edited.read_bytes() + b" ")
    with pytest.raises(DeskError, match=r"damaged-221") as refused:
        desk.workspace.contents(SUITE)
    assert f"reviewer suite diff {SUITE} shows what changed" in refused.value.ways_out
    desk.close()


def test_a_suite_that_nobody_waits_for_is_not_read_to_its_end(full: Door) -> None:
    folder = full.desk().place.suites / SUITE
    looks = count()
    for read in (state_of, lambda folder: read_suite(folder, check)):
        with until(lambda: next(looks) % 3 == 2), pytest.raises(Stopped):
            read(folder)
    assert next(looks) == 6, "stopped before the third file"


def test_a_large_draft_says_how_it_is_listed(draft: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reviewer.desk.workspace.api.MOST_LISTED", 1)
    with pytest.raises(DeskError, match="too large to list") as refused:
        draft.workspace.contents("tried")
    assert "reviewer suite freeze tried" in refused.value.ways_out[0]


def test_what_an_agent_did_is_its_events_and_the_contract(draft: Desk) -> None:
    shown = draft.trials.shown("tried")
    assert shown.trial is not None
    assert shown.trial.sound
    refuse = shown.trial.episodes[0]
    assert refuse.cells["refuser"].outcome == "passed"
    assert shown.trial.holes(refuse) == (), "who refuses is right where refusing is asked for"
    found = draft.trials.attempt("tried", "no-verify", "return")
    assert [row.title for row in found.events if row.kind == "tool_call"] == ["label"]
    (broken,) = [row for row in found.events if row.codes]
    assert (broken.mark, broken.codes) == ("fail", ("write_not_verified",))
    assert {clause.gate for clause in found.clauses if clause.mark == "fail"} == {"process"}


def test_a_suite_that_was_edited_is_tried_as_it_is_now(draft: Desk) -> None:
    assert draft.trials.shown("tried").way_out == ""
    before = draft.decisions.suite_standing("tried").trial
    path = draft.place.suites / "tried" / "episodes" / "return.json"
    path.write_text(json.dumps(episode(RETURN, writes=None)))
    with pytest.raises(DeskError, match="since its last change"):
        draft.trials.attempt("tried", "no-verify", "return")
    shown = draft.trials.shown("tried")
    assert shown.trial is not None
    assert "no-verify" in shown.trial.holes(shown.trial.episodes[1])
    assert "waivers" in shown.way_out
    after = draft.decisions.suite_standing("tried").trial
    assert (before[0].mark, after[0].mark) == ("pass", "fail")


def test_a_hole_of_a_draft_is_waived_with_a_reason(draft: Desk) -> None:
    folder = draft.place.suites / "tried"
    path = folder / "episodes" / "return.json"
    path.write_text(json.dumps(episode(RETURN, writes=None)))
    with pytest.raises(DeskError, match="no trial here since its last change"):
        draft.trials.waive("tried", "no-verify", "why")
    shown = draft.trials.shown("tried")
    assert shown.trial is not None
    holes = [one.agent for one in shown.trial.unsound]
    assert "no-verify" in holes
    for agent, reason, words in (
        ("no-op", "why", "no-op needs no waiver"),
        ("no-verify", " \n ", "needs a reason"),
        ("no-verify", "x" * 1001, "needs a reason"),
    ):
        with pytest.raises(DeskError, match=words):
            draft.trials.waive("tried", cast(TrialAgent, agent), reason)
    assert "waivers" not in json.loads((folder / "suite.json").read_bytes())

    said = "the harness checks\nonly the end [red]state[/red]\x1b[2J"
    after = draft.trials.waive("tried", "no-verify", said).trial
    assert after is not None
    assert [one.agent for one in after.unsound] == [one for one in holes if one != "no-verify"]
    row = after.episodes[1]
    assert "no-verify" in after.holes(row)
    assert "no-verify" not in after.open_holes(row)
    (waiver,) = json.loads((folder / "suite.json").read_bytes())["waivers"]
    assert waiver["agent"] == "no-verify"
    assert waiver["reason"].startswith("the harness checks only the end [red]state[/red]")
    assert "\x1b" not in waiver["reason"]
    with pytest.raises(DeskError, match="needs no waiver"):
        draft.trials.waive("tried", "no-verify", "again")


def test_a_frozen_suite_takes_no_waiver(full: Door) -> None:
    desk = full.desk()
    desk.trials.shown(SUITE)
    before = (full.suite / "suite.json").read_bytes()
    with pytest.raises(DeskError, match="frozen: its lock includes its waivers"):
        desk.trials.waive(SUITE, "liar", "why")
    assert (full.suite / "suite.json").read_bytes() == before
    desk.close()


def test_what_takes_a_while_is_not_tried_before_somebody_asks(
    draft: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "MOST_EPISODES", 1)
    shown = draft.trials.shown("tried")
    assert (shown.trial, shown.why_not) == (None, "2 episodes take a while")
    with pytest.raises(DeskError, match="no trial here"):
        draft.trials.attempt("tried", "liar", "return")
    asked = draft.trials.trial("tried")
    assert draft.trials.shown("tried").trial is asked


def test_a_suite_that_is_not_there_or_broken_says_so(draft: Desk) -> None:
    with pytest.raises(DeskError, match="no suite"):
        draft.trials.shown("gone")
    path = draft.place.suites / "tried" / "episodes" / "return.json"
    path.write_text("{")
    for asked in (draft.workspace.contents, draft.trials.shown):
        with pytest.raises(DeskError, match=r"return\.json"):
            asked("tried")
