"""A suite without a lock is a draft: it can be run and looked at, and nothing of it is evidence."""

import fcntl
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door

from reviewer.api import open_workspace
from reviewer.desk.decisions.choices import require_choice
from reviewer.desk.desk import Desk
from reviewer.desk.drafts import KEPT, place_for
from reviewer.desk.errors import DeskError
from reviewer.desk.imports.api import ImportOrder
from reviewer.desk.place import at
from reviewer.desk.trials import freezing

EPISODE = "episodes/attack-014.json"


@pytest.fixture
def draft(door: Door) -> Door:
    """A workspace whose suite has no lock."""
    for path in (door.suite / "suite.lock", door.suite / ".frozen" / "suite.lock"):
        path.unlink()
    return door


def card(door: Door, candidate: str = V8) -> dict[str, object]:
    said = door.ok("scorecard", "--suite", SUITE, "--candidate", candidate, "--json")
    found: dict[str, object] = json.loads(said.out)
    return found


def retitle(door: Door, title: str) -> None:
    path = door.suite / EPISODE
    episode = json.loads(path.read_bytes())
    path.write_text(json.dumps({**episode, "title": title}))


def test_a_draft_is_run_beside_the_store_and_holds_whatever_it_shows(draft: Door) -> None:
    said = draft.ok("run", SUITE, V8)
    assert "9 of 9 attempts made" in said.out
    assert "recommendation hold" in said.out
    assert "is a draft" in said.out
    assert not draft.store.exists()
    found = card(draft)
    assert found["recommendation"] == "hold"
    assert found["suite"]["state"] == "draft"  # type: ignore[index]
    assert "suite draft" in draft.ok("scorecard", "--suite", SUITE, "--candidate", V8).out
    assert "draft" in draft.ok("scorecard").out  # the one draft there is
    assert "is a draft" in draft.ok("show", f"{SUITE}/{V8}/attack-014/1").out
    assert json.loads(draft.ok("show", f"{SUITE}/{V8}/attack-014/1", "--json").out)["draft"]
    assert "draft" in draft.ok("suite", "list").out
    assert "draft" in draft.ok("suite", "show", SUITE).out


def test_what_fails_on_a_draft_is_shown_behind_the_hold(draft: Door) -> None:
    draft.ok("run", SUITE, V7)
    reasons = [reason["text"] for reason in card(draft, V7)["reasons"]]  # type: ignore[attr-defined]
    assert reasons[0] == "draft: its runs are no evidence"
    assert "critical safety failure" in reasons
    assert card(draft, V7)["recommendation"] == "hold"


def test_an_edited_draft_keeps_its_id_and_begins_anew(draft: Door) -> None:
    draft.ok("run", SUITE, V8)
    kept = (draft.suite / EPISODE).read_bytes()
    retitle(draft, "Another title")
    said = draft.run("scorecard", "--suite", SUITE)
    assert said.code == 20
    assert "since its last edit" in said.err
    assert "9 of 9 attempts made" in draft.ok("run", SUITE, V8).out
    assert "attempts 9 of 9 valid" in draft.ok("scorecard", "--suite", SUITE).out
    (draft.suite / EPISODE).write_bytes(kept)
    assert "attempts 9 of 9 valid" in draft.ok("scorecard", "--suite", SUITE).out


def test_the_runs_of_the_last_versions_are_kept(draft: Door) -> None:
    for number in range(KEPT + 2):
        retitle(draft, f"Title {number}")
        draft.ok("run", SUITE, V8, "--attempts", "1")
    there = list((draft.root / "store" / "drafts" / SUITE).iterdir())
    assert len(there) == KEPT
    assert "attempts" in draft.ok("scorecard", "--suite", SUITE).out


def test_a_version_that_is_being_run_is_kept(draft: Door) -> None:
    draft.ok("run", SUITE, V8, "--attempts", "1")
    (folder,) = (draft.root / "store" / "drafts" / SUITE).iterdir()
    with next(folder.glob("run-*.lock")).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for number in range(KEPT + 1):
            retitle(draft, f"Title {number}")
            draft.ok("run", SUITE, V8, "--attempts", "1")
        assert (folder / "review.db").exists()
    retitle(draft, "the last")
    draft.ok("run", SUITE, V8, "--attempts", "1")
    assert not folder.exists()


def test_a_program_opens_a_draft_by_its_name(draft: Door) -> None:
    with open_workspace(draft.root, draft=SUITE) as workspace:
        assert [suite.state for suite in workspace.suites()] == ["draft"]
        workspace.run(SUITE, V8)
        assert workspace.report(SUITE, V8).recommendation == "hold"
        with pytest.raises(DeskError, match="not evidence"):
            workspace.import_traces(draft.suite / "traces")
    assert not draft.store.exists()
    with pytest.raises(DeskError, match="is not a draft"):
        open_workspace(draft.root, draft="nothing")


def test_nothing_leaves_a_draft_by_a_command(draft: Door) -> None:
    draft.ok("run", SUITE, V8)
    release = ("--suite", SUITE, "--candidate", V8)
    for argv in (
        ("--export-report", draft.root / "out", *release),
        ("sign", *release, "--key", "nobody", "--decision", "BLOCK", "--comment", "because"),
        ("break-glass", *release, "--key", "nobody", "--reason", "because", "--hours", "1"),
        ("attest", *release, "--key", "nobody"),
        ("import", draft.suite / "traces", *release),
    ):
        said = draft.run(*argv)
        assert said.code == 20, said
        assert "draft" in said.both, said
    said = draft.run("run", SUITE, V8, "--traces", draft.root / "records.jsonl")
    assert said.code == 2
    assert "draft" in said.err
    assert not (draft.root / "records.jsonl").exists()


ACTS: dict[str, Callable[[Desk, Path], object]] = {
    "export": lambda desk, out: desk.reports.export(SUITE, V8, str(out)),
    "export release": lambda desk, out: desk.reports.export_release("release.json", str(out)),
    "sign": lambda desk, out: desk.decisions.sign(SUITE, V8, "BLOCK", "key", "because"),
    "sign release": lambda desk, out: desk.decisions.sign_release("", "BLOCK", "key"),
    "cosign": lambda desk, out: desk.decisions.cosign("1", "key"),
    "break glass": lambda desk, out: desk.decisions.break_glass(SUITE, V8, "key", "why", 1.0),
    "loss": lambda desk, out: desk.decisions.state_loss("key", "why"),
    "attest": lambda desk, out: desk.decisions.attest(SUITE, V8, "key"),
    "take": lambda desk, out: desk.decisions.take("decision.json"),
    "export decision": lambda desk, out: desk.decisions.export("1", str(out)),
    "import": lambda desk, out: desk.imports.start(ImportOrder(path=str(out), dry=False)),
    "merge": lambda desk, out: desk.workspace.merge(str(out)),
    "name a pattern": lambda desk, out: desk.patterns.name(SUITE, "0123456789ab", "loops"),
    "take a name back": lambda desk, out: desk.patterns.unname(SUITE, "0123456789ab"),
    "witness": lambda desk, out: desk.workspace.witness(),
    "lineage": lambda desk, out: desk.workspace.explain_suite(SUITE, "other", "why"),
}


@pytest.mark.parametrize("act", ACTS)
def test_no_room_makes_evidence_of_a_draft(draft: Door, tmp_path: Path, act: str) -> None:
    draft.ok("run", SUITE, V8, "--attempts", "1")
    desk = Desk(place_for(at(draft.root), SUITE))
    try:
        with pytest.raises(DeskError, match="is a draft: its runs are not evidence"):
            ACTS[act](desk, tmp_path / "out")
    finally:
        desk.close()


def test_no_decision_can_be_chosen_on_a_draft(draft: Door) -> None:
    draft.ok("run", SUITE, V8)
    desk = Desk(place_for(at(draft.root), SUITE))
    try:
        view = desk.decisions.view(SUITE, V8)
        built = desk.reports.build(SUITE, V8)
    finally:
        desk.close()
    assert [(one.decision, one.open) for one in view.choices] == [
        ("PROMOTE", False), ("BLOCK", False), ("REPAIR", False),
    ]  # fmt: skip
    assert all("draft" in one.why for one in view.choices)
    with pytest.raises(DeskError, match="draft"):
        require_choice(built, "BLOCK", "because")


def test_a_store_of_a_draft_counts_nowhere_else(draft: Door) -> None:
    draft.ok("run", SUITE, V8)
    store = place_for(at(draft.root), SUITE).store
    draft.ok("suite", "freeze", SUITE)
    merged = draft.run("merge", store)
    assert merged.code != 0 or "added 0" in merged.both or "0 added" in merged.both, merged
    assert draft.run("scorecard", "--suite", SUITE, "--candidate", V8).code == 20
    assert "9 of 9 attempts made" in draft.ok("run", SUITE, V8).out
    assert "attempts 9 of 9 valid" in draft.ok("scorecard", "--suite", SUITE).out
    draft.store.unlink()  # a process before may still hold it open
    shutil.copy(store, draft.store)
    for path in draft.store.parent.glob("review.db-*"):
        path.unlink()
    said = draft.run("scorecard", "--suite", SUITE, "--candidate", V8)
    assert said.code == 20
    assert "judged under" in said.err


def test_a_draft_that_is_no_suite_says_what_is_wrong(draft: Door) -> None:
    path = draft.suite / EPISODE
    episode = json.loads(path.read_bytes())
    path.write_text(json.dumps({**episode, "budget": {"max_steps": "many"}}))
    said = draft.run("run", SUITE, V8)
    assert said.code == 20
    assert f"{EPISODE}" in said.err
    assert "max_steps" in said.err
    listed = json.loads(draft.ok("suite", "list", "--json").out)
    assert "max_steps" in listed[0]["problem"]


def test_the_workstation_opens_no_frozen_suite_as_a_draft(door: Door) -> None:
    said = door.run("--draft", SUITE)
    assert said.code == 2
    assert "not a draft" in said.err


@pytest.mark.parametrize("command", [("scorecard",), ("--export-report", "out"), ("doctor",)])
def test_the_option_that_opens_a_draft_goes_with_no_command(
    draft: Door, command: tuple[str, ...]
) -> None:
    said = draft.run("--draft", SUITE, *command)
    assert said.code == 2
    assert f"--suite {SUITE}" in said.err


def test_a_frozen_suite_goes_on_as_a_draft_of_another_id(door: Door) -> None:
    before = {path: path.read_bytes() for path in door.suite.rglob("*") if path.is_file()}
    digest = json.loads(door.ok("suite", "show", SUITE, "--json").out)["digest"]
    said = json.loads(door.ok("suite", "draft", SUITE, "--as", "next-v1", "--json").out)
    assert (said["predecessor"], said["edited"]) == (digest, [])
    assert {V7, V8} <= set(said["candidates"])
    made = door.suite.with_name("next-v1")
    there = {path.name for path in made.iterdir()}
    assert not there & {".frozen", "suite.lock", "SHA256SUMS", "traces", "labels", "power.json"}
    assert {path: path.read_bytes() for path in before} == before
    assert "valid draft" in door.ok("suite", "check", "next-v1").err
    shown = json.loads(door.ok("suite", "show", "next-v1", "--json").out)
    assert (shown["suite_id"], shown["predecessor"]) == ("next-v1", digest)
    assert "9 of 9 attempts made" in door.ok("run", "next-v1", V8).out
    path = made / EPISODE
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "title": "Another"}))
    door.ok("suite", "freeze", "next-v1")
    assert json.loads(door.ok("suite", "show", "next-v1", "--json").out)["predecessor"] == digest


def test_an_edit_of_a_frozen_suite_goes_into_its_draft(door: Door) -> None:
    retitle(door, "Edited")
    said = door.ok("suite", "draft", SUITE, "--as", "next-v1")
    assert f"{EPISODE} was edited after {SUITE} was frozen" in said.err
    made = door.suite.with_name("next-v1") / EPISODE
    assert json.loads(made.read_bytes())["title"] == "Edited"


def test_a_draft_is_copied_with_the_predecessor_that_it_has(draft: Door) -> None:
    before = json.loads((draft.suite / "suite.json").read_bytes())
    said = json.loads(draft.ok("suite", "draft", SUITE, "--as", "b", "--json").out)
    assert said["predecessor"] == ""
    made = json.loads((draft.suite.with_name("b") / "suite.json").read_bytes())
    assert made == {**before, "suite_id": "b"}
    draft.ok("suite", "check", "b")


def test_the_commands_of_a_readme_are_about_the_draft(draft: Door) -> None:
    kept = f"  # {SUITE}\n`reviewer suite check {SUITE}-2`, {SUITE}\n"
    told = f"# {SUITE}\n\nreviewer run {SUITE} x{kept}"
    (draft.suite / "README.md").write_text(told)
    draft.ok("suite", "draft", SUITE, "--as", "b")
    made = (draft.suite.with_name("b") / "README.md").read_text()
    assert made == f"# b\n\nreviewer run b x{kept}"


@pytest.mark.parametrize(
    ("suite", "new_id", "said", "code"),
    [
        (SUITE, SUITE, "exists already", 20),
        (SUITE, "../x", "--as", 2),
        (SUITE, ".", "--as", 2),
        ("none", "next-v1", "no suite none", 20),
    ],
)
def test_no_draft_is_written_over_anything(
    door: Door, suite: str, new_id: str, said: str, code: int
) -> None:
    before = sorted(door.suite.parent.parent.rglob("*"))
    refused = door.run("suite", "draft", suite, "--as", new_id)
    assert refused.code == code
    assert said in refused.err
    assert sorted(door.suite.parent.parent.rglob("*")) == before


def test_a_frozen_suite_that_takes_no_episode_names_the_draft(door: Door) -> None:
    door.ok("import", str(door.suite / "traces"))
    trace = f"{SUITE}/{V7}/attack-014/1"
    refused = door.run("episode", "from-trace", trace, "--into", SUITE, "--id", "more")
    assert refused.code == 20
    assert f"reviewer suite draft {SUITE} --as NEW_ID" in refused.err


def test_an_edited_draft_says_that_it_starts_again(draft: Door) -> None:
    draft.ok("run", SUITE, V8, "--attempts", "1")
    retitle(draft, "Edited")
    for looked in (
        ("scorecard", "--suite", SUITE, "--candidate", V8),
        ("show", f"{SUITE}/{V8}/attack-014/1"),
    ):
        refused = draft.run(*looked)
        assert refused.code == 20
        assert "no runs since its last edit" in refused.err
        assert f"reviewer run {SUITE} CANDIDATE" in refused.err
        assert "doctor" not in refused.err
    draft.ok("run", SUITE, V7, "--attempts", "1")
    refused = draft.run("scorecard", "--suite", SUITE, "--candidate", V8)
    assert f"{V8} has not run on the draft {SUITE} since its last edit" in refused.err
    assert f"way out: reviewer run {SUITE} {V8}" in refused.err
    assert "import" not in refused.err


def test_a_candidate_without_a_trace_is_run_first(door: Door) -> None:
    door.ok("run", SUITE, V7, "--attempts", "1")
    refused = door.run("scorecard", "--suite", SUITE, "--candidate", V8)
    ways = [line for line in refused.err.splitlines() if "way out" in line]
    assert [f"reviewer run {SUITE} {V8}" in line for line in ways] == [True, False]
    assert "reviewer import FILE" in ways[1]


def test_draft_given_to_a_command_is_answered_with_what_to_type(
    door: Door,
) -> None:
    said = door.run("scorecard", "--draft", "parcel")
    assert said.code == 2
    assert "way out: reviewer --draft parcel" in said.err
    assert "way out: --suite parcel" in said.err


@pytest.mark.parametrize("as_new", [False, True])
def test_what_is_edited_during_the_trial_is_not_frozen_untried(
    door: Door, monkeypatch: pytest.MonkeyPatch, as_new: bool
) -> None:
    """The trial says nothing about files that were saved after it began."""
    if as_new:
        retitle(door, "first edit")
    else:
        for path in (door.suite / "suite.lock", door.suite / ".frozen" / "suite.lock"):
            path.unlink()
    real = freezing.tried

    def tried(*given: Any) -> Any:
        found = real(*given)
        retitle(door, "saved meanwhile")
        return found

    monkeypatch.setattr(freezing, "tried", tried)
    said = door.run("suite", "freeze", SUITE, *(("--as", "refund-eval-v6") if as_new else ()))
    assert said.code == 20, said
    assert f"{EPISODE}: $: was edited while the suite was tried" in said.err
    assert (door.suite / "suite.lock").exists() is as_new
    assert not (door.root / "suites" / "refund-eval-v6").exists()
