"""`reviewer labels import --from TOOL`: what people said of attempts in other tools becomes labels
of those attempts, mapped by hand, counted apart, and never more than it is."""

import csv
import io
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doors import REPOSITORY, SHIPPED, SUITE, V8, Door, Said, copied, environment, passing

from reviewer.review.labels import LABELS, read_labels

DATA = REPOSITORY / "tests" / "data"
ANNOTATIONS = DATA / "annotations"
MAPS = (
    *("accurate=accurate:1=1", "accurate=accurate:0=2", "accurate=accurate:true=1"),
    *("next-step=next-step:3=3", "access=access:partly=2"),
)
EPISODES = {
    "fee618f96dc31e0ca38b2f7b26eb8b29": "appeal-009",
    "e1fde3efec57ce8a69bafd3fb928a7eb": "damaged-221",
    "lamp-return-1": "attack-014",
    **{f"webarena.{n}": name for n, name in enumerate(("appeal-009", "damaged-221"), 1)},
    "webarena.3": "attack-014",
    "01a20546-bab9-7d68-883a-76788ea2071b": "damaged-221",
    **{str(n): name for n, name in enumerate(("appeal-009", "damaged-221", "attack-014"), 1)},
}
REWARD = (
    *("trajectory_success=accurate:Successful=1", "trajectory_success=accurate:Unsuccessful=2"),
    *(f"trajectory_optimality=next-step:{name}={level}"
      for level, name in ((1, "1. Complete Failure"), (2, "2. Suboptimal"),
                          (4, "3. Somewhat Optimal"), (5, "4. Completely Optimal"))),
)  # fmt: skip


@pytest.fixture(scope="module")
def traced_template(tmp_path_factory: pytest.TempPathFactory, empty_template: Path) -> Path:
    """A workspace whose attempts came from Langfuse and LangSmith, one of each episode."""
    door = copied(empty_template, tmp_path_factory.mktemp("traced") / "desk")
    door.file("episodes.json", EPISODES)
    for name in (
        *("langfuse/openai-agents-2025-09-30.trace.json",),
        *("langfuse/langgraph-python-2025-08-22.trace.json", "formats_c/langsmith"),
    ):
        door.ok(
            *("import", DATA / name, "--suite", SUITE, "--candidate", V8),
            *("--episode-map", door.root / "episodes.json"),
        )
    return door.root


@pytest.fixture
def traced(tmp_path: Path, traced_template: Path) -> Door:
    return copied(traced_template, tmp_path / "traced")


@pytest.fixture(scope="module")
def single_template(tmp_path_factory: pytest.TempPathFactory, full_template: Path) -> Path:
    """v7 and v8 with three attempts of each episode, and cand-a with one that passes every gate."""
    door = copied(full_template, tmp_path_factory.mktemp("single") / "desk")
    door.file("episodes.json", EPISODES)
    records = [passing(name) for name in ("appeal-009", "damaged-221", "attack-014")]
    assert door.take("single.jsonl", records).code == 0
    return door.root


@pytest.fixture
def single(tmp_path: Path, single_template: Path) -> Door:
    return copied(single_template, tmp_path / "single")


def taken(door: Door, tool: str, *files: object, maps: tuple[str, ...] = MAPS, **more: Any) -> Said:
    candidates = [word for one in more.get("candidates", ()) for word in ("--candidate", one)]
    return door.run(
        *("labels", "import", *files, "--from", tool, "--suite", SUITE, "--json"),
        *("--episode-map", door.root / "episodes.json"),
        *(("--map", *maps) if maps else ()),
        *candidates,
    )


def counts(said: Said) -> dict[str, Any]:
    (found,) = json.loads(said.out)
    return dict(found)


def reasons(said: Said) -> dict[str, int]:
    return {one["why"]: one["count"] for one in counts(said)["not_measured"]}


def labels(door: Door) -> list[dict[str, Any]]:
    return [json.loads(body) for (body,) in door.rows("SELECT body FROM label ORDER BY id")]


def reported(door: Door, candidate: str) -> dict[str, Any]:
    out = door.root / f"report-{len(list(door.root.glob('report-*')))}"
    door.run("--export-report", out, "--suite", SUITE, "--candidate", candidate)
    found: dict[str, Any] = json.loads((out / "report.json").read_bytes())
    return found


def elsewhere(door: Door, candidate: str) -> dict[str, Any]:
    found: dict[str, Any] = reported(door, candidate)["review"]["elsewhere"]
    return {**found, **{one["criterion_id"]: one for one in found["criteria"]}}


# Opik, Phoenix, Weave and Braintrust --------------------------------------------------------------


@pytest.fixture(scope="module")
def stored_template(tmp_path_factory: pytest.TempPathFactory, empty_template: Path) -> Path:
    """A workspace whose attempts came from Opik, Weave and Langfuse, one of each episode."""
    door = copied(empty_template, tmp_path_factory.mktemp("stored") / "desk")
    door.file("episodes.json", EPISODES)
    files = ("opik/trace.json", "annotations/weave_calls.jsonl")
    for name in (*files, "langfuse/openai-agents-2025-09-30.trace.json"):
        door.ok(
            *("import", DATA / name, "--suite", SUITE, "--candidate", V8),
            *("--episode-map", door.root / "episodes.json"),
        )
    return door.root


@pytest.fixture
def stored(tmp_path: Path, stored_template: Path) -> Door:
    return copied(stored_template, tmp_path / "stored")


YES_NO = ("accurate=accurate:1=1", "accurate=accurate:0=2", "accurate=accurate:true=1")
STORES = (*YES_NO, "access=access:partly=2", "accurate=accurate:yes=1")


def test_each_author_of_a_score_of_opik_counts_apart_and_no_mean_does(stored: Door) -> None:
    said = taken(stored, "opik", ANNOTATIONS / "opik_trace.json", maps=STORES)
    assert (said.code, counts(said)["added"], counts(said)["attempts"]) == (0, 3, 1)
    kept = [(x["reviewer"], x["marks"], x["note"], x["at"][:16]) for x in labels(stored)]
    assert sorted(kept, key=str) == [
        ("opik:ann", {"access": 2}, "", "2026-03-01T09:01"),
        ("opik:ann", {"accurate": 1}, "says what it did", "2026-03-01T09:01"),
        ("opik:ben", {"accurate": 2}, "", "2026-03-01T09:02"),
    ]
    assert reasons(said) == {
        "question `next-step` is not mapped": 1,
        "was made by a program or a model (source sdk)": 1,
        "was made by a program or a model (source online_scoring)": 1,
        "names no annotator (value_by_author, created_by)": 1,
        "is about a step (span), not about the attempt": 2,
    }
    again = taken(stored, "opik", ANNOTATIONS / "opik_trace.json", maps=STORES)
    assert (counts(again)["added"], counts(again)["known"]) == (0, 3)
    stored.healthy()


def test_a_score_of_opik_that_was_changed_revises_the_label_of_its_author(stored: Door) -> None:
    taken(stored, "opik", ANNOTATIONS / "opik_trace.json", maps=STORES)
    trace = json.loads((ANNOTATIONS / "opik_trace.json").read_bytes())
    told = trace["trace"]["feedback_scores"][0]["value_by_author"]["ben"]
    told.update(value=1.0, last_updated_at="2026-03-02T09:00:00Z")
    said = taken(stored, "opik", stored.file("later.json", trace), maps=STORES)
    assert (counts(said)["added"], counts(said)["revised"]) == (1, 1)
    first, second = (one for one in labels(stored) if one["reviewer"] == "opik:ben")
    assert (second["marks"], second["revises"]) == ({"accurate": 1}, first["uid"])


def test_annotations_of_traces_in_phoenix_become_labels(stored: Door) -> None:
    said = taken(stored, "phoenix", ANNOTATIONS / "phoenix_annotations.json", maps=STORES)
    assert (said.code, counts(said)["added"]) == (0, 2)
    assert [(x["marks"], x["note"]) for x in labels(stored)] == [
        ({"accurate": 1}, "states the outcome"),
        ({"accurate": 2}, ""),
    ]
    assert reasons(said) == {
        f"its trace is not in this store as an attempt of {SUITE}": 2,
        "was made by a program or a model (annotator_kind LLM)": 1,
        "was made by a program or a model (annotator_kind CODE)": 1,
        "names no annotator (user_id)": 1,
        "has no label and no score": 1,
        "is about a step (span), not about the attempt": 1,
    }


def test_annotations_of_root_calls_in_weave_become_labels(stored: Door) -> None:
    down = "reaction=access:\N{THUMBS DOWN SIGN}=1"
    file = ANNOTATIONS / "weave_calls.jsonl"
    said = taken(stored, "weave", file, maps=(*YES_NO, "access=next-step:partly=2", down))
    assert (said.code, counts(said)["added"], counts(said)["attempts"]) == (0, 4, 1)
    assert [x["marks"] for x in labels(stored)] == [
        {"accurate": 1}, {"accurate": 2}, {"next-step": 2}, {"access": 1},
    ]  # fmt: skip
    assert reasons(said) == {
        "is about a step (call inside a trace), not about the attempt": 1,
        "is a note, not an answer": 1,
        "was made by a program or a model (feedback_type wandb.runnable.accurate)": 1,
        "was made by a program or a model (feedback_type accurate)": 1,
        "names no annotator (wb_user_id, creator)": 1,
        "has no value of its own: a text, a number, true or false": 1,
    }


def test_feedback_of_weave_by_itself_names_no_trace(stored: Door) -> None:
    calls = (ANNOTATIONS / "weave_calls.jsonl").read_text().splitlines()
    root = next(one for line in calls if (one := json.loads(line))["parent_id"] is None)
    alone = stored.file("feedback.json", root["summary"]["weave"]["feedback"][:1])
    said = taken(stored, "weave", alone, maps=YES_NO)
    why = "names a call and not its trace: export the calls with their feedback"
    assert (reasons(said), labels(stored)) == ({why: 1}, [])


def test_a_thumbs_down_of_a_root_call_in_weave_flags_its_attempt(stored: Door) -> None:
    flagged = stored.rows("SELECT trace FROM finding WHERE code = 'thumbs_down'")
    assert flagged == stored.rows(
        "SELECT t.id FROM trace t JOIN source s ON s.id = t.source WHERE s.reader LIKE 'weave%'"
    )


def test_scores_of_braintrust_are_refused_by_name(stored: Door) -> None:
    said = taken(stored, "braintrust", DATA / "formats_c/braintrust/logs.jsonl", maps=STORES)
    assert said.code == 20
    assert "does not say who gave a score" in said.err + said.out
    assert labels(stored) == []


# Langfuse and LangSmith ---------------------------------------------------------------------------


def test_scores_of_people_become_labels_of_the_attempts_they_are_about(traced: Door) -> None:
    said = taken(traced, "langfuse", ANNOTATIONS / "langfuse_scores.json")
    assert said.code == 0
    assert (counts(said)["added"], counts(said)["attempts"]) == (5, 2)
    kept = labels(traced)
    assert [(x["marks"], x["reviewer"], x["note"]) for x in kept] == [
        ({"accurate": 1}, "langfuse:cm8annotatora", "states the outcome"),
        ({"accurate": 2}, "langfuse:cm8annotatorb", ""),
        ({"next-step": 3}, "langfuse:cm8annotatora", ""),
        ({"access": 2}, "langfuse:cm8annotatora", ""),
        ({"accurate": 1}, "langfuse:cm8annotatora", ""),
    ]
    first = kept[0]
    assert (first["kind"], first["traces"]) == ("attempt", [f"{SUITE}/{V8}/appeal-009/1"])
    assert first["record"] == traced.one(
        "SELECT lower(hex(sha256)) FROM trace t JOIN episode e ON e.id = t.episode"
        " WHERE e.episode_id = 'appeal-009'"
    )
    assert first["origin"]["said"] == {"accurate": "accurate=True / 1"}
    assert first["at"] == "2026-03-01T09:01:00.125000Z"
    assert first["pi"] is None
    traced.healthy()


def test_what_no_person_said_of_a_whole_attempt_is_named_and_is_no_label(traced: Door) -> None:
    said = taken(traced, "langfuse", ANNOTATIONS / "langfuse_scores.json")
    assert reasons(said) == {
        "answer `0.5` to `next-step` is not mapped": 1,
        f"its trace is not in this store as an attempt of {SUITE}": 1,
        "was made by a program or a model (source EVAL)": 1,
        "was made by a program or a model (source API)": 1,
        "is about a step (observation), not about the attempt": 1,
        "is about a session, not about one trace": 1,
        "names no annotator (authorUserId, authorUserName)": 1,
    }


def test_the_same_scores_by_another_way_out_of_the_tool_are_there_already(traced: Door) -> None:
    taken(traced, "langfuse", ANNOTATIONS / "langfuse_scores.json")
    before = labels(traced)
    for name, known in (("langfuse_scores.json", 5), ("langfuse_scores_v3.json", 2)):
        said = taken(traced, "langfuse", ANNOTATIONS / name)
        assert (said.code, counts(said)["added"], counts(said)["known"]) == (0, 0, known)
    assert labels(traced) == before
    said = taken(traced, "langfuse", ANNOTATIONS / "langfuse_scores.csv")
    assert (counts(said)["added"], counts(said)["known"]) == (1, 1)
    assert labels(traced)[-1]["note"] == '=HYPERLINK("http://x")\nin two lines'


def test_scores_of_an_evaluator_in_a_trace_export_are_never_people(traced: Door) -> None:
    path = DATA / "langfuse" / "openai-agents-2025-09-30.trace.json"
    said = taken(traced, "langfuse", path, maps=("toxicity=accurate:0.8=2",))
    assert said.code == 20
    assert reasons(said) == {"was made by a program or a model (source EVAL)": 2}
    assert labels(traced) == []


def test_feedback_given_in_the_app_becomes_labels_and_no_other_feedback(traced: Door) -> None:
    maps = ("accurate=accurate:yes=1", "accurate=accurate:no=2", "access=access:2=2")
    said = taken(traced, "langsmith", ANNOTATIONS / "langsmith_feedback.jsonl", maps=maps)
    assert said.code == 0
    assert [x["marks"] for x in labels(traced)] == [{"accurate": 1}, {"accurate": 2}, {"access": 2}]
    assert reasons(said) == {
        "answer `0.5` to `access` is not mapped": 1,
        "was made by a program or a model (source api)": 1,
        "was made by a program or a model (source model)": 1,
        "was made by a program or a model (source auto_eval)": 1,
        "is a preference among runs: neither blind nor in both orders": 1,
        "is about a step (run inside a trace), not about the attempt": 1,
        "names no annotator (feedback_source.user_id)": 1,
        "has no feedback_source: nothing says whether a person gave it": 1,
        f"its trace is not in this store as an attempt of {SUITE}": 1,
        "has no score and no value": 1,
    }


def test_feedback_of_people_in_mlflow_becomes_labels_and_a_change_revises_them(
    door: Door,
) -> None:
    door.file("episodes.json", {"session-1": "attack-014"})
    door.ok(
        *("import", DATA / "formats_c" / "mlflow" / "trace_0.json", "--suite", SUITE),
        *("--candidate", V8, "--episode-map", door.root / "episodes.json"),
    )
    maps = (
        *("accurate=accurate:true=1", "accurate=accurate:false=2", "next-step=next-step:3=3"),
        *("access=access:2=2", "access=access:3=3"),
    )
    whole = json.loads((ANNOTATIONS / "mlflow_trace.json").read_bytes())
    before = json.loads(json.dumps(whole))
    before["info"]["assessments"] = before["info"]["assessments"][:6]
    before["info"]["assessments"][5]["valid"] = True
    said = taken(door, "mlflow", door.file("before.json", json.dumps(before)), maps=maps)
    assert (said.code, counts(said)["added"]) == (0, 4)
    row = {"trace_id": "tr", "trace": json.dumps(whole), "assessments": []}
    said = taken(door, "mlflow", door.file("after.jsonl", [row, row]), maps=maps)
    found = counts(said)
    assert (said.code, found["added"], found["revised"], found["known"]) == (0, 1, 1, 7)
    assert reasons(said) == {
        "was made by a program or a model (source LLM_JUDGE)": 2,
        "was made by a program or a model (source CODE)": 2,
        "was overridden by a later one": 2,
        "is an expectation, not an answer": 2,
        "is about a step (span), not about the attempt": 2,
        "names no annotator (source.source_id)": 2,
        "has no value of its own: a text, a number, true or false": 2,
    }
    counted = elsewhere(door, V8)
    assert counted["annotators"] == ["mlflow:ann", "mlflow:ben"]
    assert (counted["labels"], counted["accurate"]["open"], counted["access"]["weak"]) == (4, 1, 1)


def test_scores_inside_traces_and_lines_of_scores_are_read_as_well(traced: Door) -> None:
    page = json.loads((ANNOTATIONS / "langfuse_scores.json").read_bytes())
    export = {"trace": {"id": "x", "scores": page["data"]}, "observations": []}
    said = taken(traced, "langfuse", traced.file("export.json", json.dumps(export)))
    assert counts(said)["added"] == 5
    said = taken(traced, "langfuse", traced.file("scores.jsonl", page["data"]))
    assert (counts(said)["added"], counts(said)["known"]) == (0, 5)
    rows = (ANNOTATIONS / "langsmith_feedback.jsonl").read_text(encoding="utf-8").splitlines()
    runs = [{"id": "r", "run_type": "chain", "feedback": [json.loads(row) for row in rows]}]
    maps = ("accurate=accurate:yes=1", "accurate=accurate:no=2")
    said = taken(traced, "langsmith", traced.file("runs.jsonl", runs), maps=maps)
    assert counts(said)["added"] == 2


def score(**changes: Any) -> dict[str, Any]:
    page = json.loads((ANNOTATIONS / "langfuse_scores.json").read_bytes())
    return {**page["data"][0], **changes}


def told(value: int, minute: int) -> dict[str, Any]:
    at = f"2026-03-01T10:{minute:02}:00Z"
    return score(value=value, stringValue="", updatedAt=at)


@pytest.mark.parametrize("together", [True, False])
def test_a_score_that_was_changed_revises_the_label_and_an_older_one_does_not(
    traced: Door, together: bool
) -> None:
    rows = [told(1, 1), told(0, 2), told(1, 1)]
    files = [rows] if together else [[row] for row in rows]
    for number, some in enumerate(files):
        said = taken(traced, "langfuse", traced.file(f"{number}.json", json.dumps(some)))
    assert reasons(said) == {"is older than what was taken from it before": 1}
    first, second = labels(traced)
    assert (first["marks"], second["marks"]) == ({"accurate": 1}, {"accurate": 2})
    assert second["revises"] == first["uid"]
    assert elsewhere(traced, V8)["accurate"]["weak"] == 1
    assert elsewhere(traced, V8)["labels"] == 1


def test_one_score_with_two_values_and_one_time_is_refused_and_the_first_stays(
    traced: Door,
) -> None:
    path = traced.file("both.json", json.dumps([told(1, 1), told(0, 1)]))
    said = taken(traced, "langfuse", path)
    assert (said.code, counts(said)["added"], counts(said)["refused"]) == (20, 1, 1)
    assert "row 2: $: annotation 5c0e0000-0000-4000-8000-000000000001 has another value" in said.err
    assert [x["marks"] for x in labels(traced)] == [{"accurate": 1}]


def test_a_score_of_a_trace_that_is_a_part_of_an_attempt_is_not_taken_for_the_whole(
    traced: Door,
) -> None:
    with sqlite3.connect(traced.store) as base:
        base.execute(
            "INSERT INTO attempt_name SELECT 'trace:feed', trace FROM attempt_name"
            " WHERE name='trace:fee618f96dc31e0ca38b2f7b26eb8b29'"
        )
    said = taken(traced, "langfuse", ANNOTATIONS / "langfuse_scores.json")
    assert reasons(said)["its trace is one of several that make up an attempt"] == 4
    assert counts(said)["added"] == 2


# Tables -------------------------------------------------------------------------------------------


def test_reward_bench_rows_are_bound_by_task_and_model(single: Door) -> None:
    said = taken(
        *(single, "agent-reward-bench", ANNOTATIONS / "agent_reward_bench.csv"),
        maps=REWARD,
        candidates=("GenericAgent-one=cand-a", f"GenericAgent-two={V8}"),
    )
    assert said.code == 0
    found = counts(said)
    assert (found["added"], found["known"], found["attempts"]) == (6, 1, 3)
    assert found["annotators"] == ["agent-reward-bench:A", "agent-reward-bench:B"]
    assert reasons(said) == {
        "question `trajectory_side_effect` is not mapped": 8,
        "question `trajectory_looping` is not mapped": 8,
        "answer `Unsure` to `trajectory_success` is not mapped": 1,
        "answer `Unsure` to `trajectory_optimality` is not mapped": 1,
        f"candidate {V8} has several attempts of its task": 1,
        "no --candidate names a candidate for the model GenericAgent-three": 1,
    }


def test_a_task_and_a_model_that_read_like_others_name_no_attempt_of_theirs(single: Door) -> None:
    columns = "annotator_name,benchmark,task_id,model_name,exp_name,trajectory_success,"
    rest = "trajectory_side_effect,trajectory_optimality,trajectory_looping"
    rows = ["A,w,webarena.1,m x,e,Successful,,,", "B,w,webarena.1 m,x,e,Unsuccessful,,,"]
    path = single.root / "rows.csv"
    path.write_text("\n".join([columns + rest, *rows]))
    given = (single, "agent-reward-bench", path)
    said = taken(*given, maps=REWARD, candidates=("m x=cand-a", "x=cand-a"))
    assert counts(said)["annotators"] == ["agent-reward-bench:A"]
    assert list(reasons(said)) == [
        f"its task is not an episode of {SUITE} (--episode-map names them)"
    ]


def test_the_report_shows_agreement_of_their_raters_and_what_speaks_against_the_gates(
    single: Door,
) -> None:
    taken(
        *(single, "agent-reward-bench", ANNOTATIONS / "agent_reward_bench.csv"),
        maps=REWARD,
        candidates=("GenericAgent-one=cand-a",),
    )
    found = elsewhere(single, "cand-a")
    success = found["accurate"]
    # Both find task 1 weak; they differ on task 2; of task 3 one person says both.
    assert (success["good"], success["weak"], success["open"]) == (0, 1, 2)
    assert success["passed_and_weak"] == 1
    assert success["first"] == [f"{SUITE}/cand-a/appeal-009/1"]
    assert success["agreement"]["raw"] == {
        **success["agreement"]["raw"], "hits": 1.0, "n": 3,
    }  # fmt: skip
    assert found["labels"] == 6
    text = next(single.root.glob("report-*/report.md")).read_text(encoding="utf-8")
    assert "not blind and counted apart" in text
    assert f"{SUITE}/cand-a/appeal-009/1" in text.replace("\\", "")
    assert "elsewhere" not in reported(single, V8)["review"]


def test_a_table_of_raters_gives_a_label_for_each_score_and_rounds_no_half(single: Door) -> None:
    said = taken(
        *(single, "agent-occam", ANNOTATIONS / "agent_occam.csv"),
        maps=("score=accurate:1=1", "score=accurate:0=2"),
        candidates=("cand-a",),
    )
    assert said.code == 0
    told = [(x["reviewer"], x["marks"]["accurate"], x["note"]) for x in labels(single)]
    assert sorted(told) == [
        ("agent-occam:Alice", 1, ""),
        ("agent-occam:Alice", 2, ""),
        ("agent-occam:Bob", 1, 'failed to click "Go"'),
        ("agent-occam:Bob", 2, ""),
        ("agent-occam:Colin", 1, ""),
        ("agent-occam:Colin", 2, ""),
    ]
    assert reasons(said) == {
        "answer `0.5` to `score` is not mapped": 2,
        "Colin gave no score": 1,
        f"its task is not an episode of {SUITE} (--episode-map names them)": 3,
        "`Win Rate` is no task: the row sums up others": 1,
    }


def test_taking_a_file_in_again_adds_nothing_and_a_wider_map_adds_to_the_same_labels(
    single: Door,
) -> None:
    given = ("agent-reward-bench", ANNOTATIONS / "agent_reward_bench.csv")
    named = {"candidates": ("GenericAgent-one=cand-a",)}
    assert counts(taken(single, *given, maps=REWARD[:2], **named))["added"] == 6
    assert counts(taken(single, *given, maps=REWARD[:2], **named))["added"] == 0
    wider = counts(taken(single, *given, maps=REWARD, **named))
    assert (wider["added"], wider["revised"]) == (6, 6)
    before = labels(single)
    assert set(before[-1]["marks"]) == {"accurate", "next-step"}
    narrow = counts(taken(single, *given, maps=REWARD[2:], **named))
    assert (narrow["added"], narrow["known"]) == (0, 7)
    assert labels(single) == before
    assert elsewhere(single, "cand-a")["labels"] == 6


def test_the_same_scores_of_another_candidate_are_labels_of_its_own(single: Door) -> None:
    maps = ("score=accurate:1=1",)
    other = [
        {**record, "candidate_id": "cand-b", "latency_ms": record["latency_ms"] + 7}
        for record in map(passing, ("appeal-009", "damaged-221", "attack-014"))
    ]
    assert single.take("other.jsonl", other).code == 0
    for candidate in ("cand-a", "cand-b", "cand-a"):
        path = ANNOTATIONS / "agent_occam.csv"
        taken(single, "agent-occam", path, maps=maps, candidates=(candidate,))
    assert len(labels(single)) == 6
    assert elsewhere(single, "cand-a")["labels"] == elsewhere(single, "cand-b")["labels"] == 3


def test_a_file_that_cannot_be_read_costs_that_file_only(single: Door) -> None:
    path = ANNOTATIONS / "agent_occam.csv"
    said = taken(
        *(single, "agent-occam", single.root / "nowhere.csv", path),
        maps=("score=accurate:1=1",),
        candidates=("cand-a",),
    )
    assert said.code == 20
    assert "nowhere.csv" in said.err
    assert len(labels(single)) == 3


def test_another_meaning_of_an_answer_revises_what_was_taken(single: Door) -> None:
    given = ("agent-occam", ANNOTATIONS / "agent_occam.csv")
    wrong, right = ("score=accurate:1=2",), ("score=accurate:1=1",)
    taken(single, *given, maps=wrong, candidates=("cand-a",))
    assert counts(taken(single, *given, maps=right, candidates=("cand-a",)))["revised"] == 3
    found = elsewhere(single, "cand-a")
    assert (found["labels"], found["accurate"]["weak"]) == (3, 0)


# What they may not do -----------------------------------------------------------------------------


def test_no_figure_but_their_own_changes_by_labels_from_elsewhere(full: Door) -> None:
    door = full
    door.file("episodes.json", EPISODES)
    for noun in ("labels", "judgments"):
        door.ok(noun, "import", SHIPPED / noun / "shopflow.jsonl")
    before = reported(door, V8)
    path = door.file("scores.json", json.dumps(_about_shipped(door)))
    said = taken(door, "langfuse", path)
    assert (said.code, counts(said)["added"]) == (0, 9)
    after = reported(door, V8)
    assert len(after["review"].pop("elsewhere")["criteria"]) == 1
    assert after == before
    queue = json.loads(
        door.ok("labels", "queue", "--suite", SUITE, "--candidate", V8, "--json").out
    )
    assert not [name for name in queue["reviewers"] if name.startswith("langfuse:")]


def _about_shipped(door: Door) -> list[dict[str, Any]]:
    """A score for each attempt of v8, which gets a trace id of a source for it."""
    rows = door.rows(
        "SELECT t.id FROM trace t JOIN candidate c ON c.id = t.candidate WHERE c.candidate_id=?", V8
    )
    with sqlite3.connect(door.store) as base:
        base.executemany(
            "INSERT INTO attempt_name VALUES (?, ?)", [(f"trace:t{key}", key) for (key,) in rows]
        )
    return [score(id=f"s{key}", traceId=f"t{key}") for (key,) in rows]


# Mapping ------------------------------------------------------------------------------------------


def test_without_a_map_the_questions_of_the_file_are_named(single: Door) -> None:
    said = taken(single, "agent-reward-bench", ANNOTATIONS / "agent_reward_bench.csv", maps=())
    assert said.code == 2
    assert "--map QUESTION=CRITERION:VALUE=LEVEL" in said.err
    assert "asks `trajectory_success`: `Successful` 5, `Unsuccessful` 4, `Unsure` 1" in said.err
    assert labels(single) == []


@pytest.mark.parametrize(
    ("maps", "why"),
    [
        (("score",), "`score` is not QUESTION=CRITERION:VALUE=LEVEL"),
        (("score=accurate:1",), "is not QUESTION=CRITERION:VALUE=LEVEL"),
        (("score=kind:1=1",), "`kind` is no criterion of the rubric (accurate, next-step, access"),
        (("score=accurate:1=3",), "the levels of accurate are 1 to 2"),
        (("score=accurate:1=0",), "the levels of accurate are 1 to 2"),
        (("score=accurate:1=1", "score=next-step:0=1"), "`score` is mapped to two criteria"),
        (("score=accurate:1=1", "score=accurate:1.0=2"), "is mapped to two levels"),
        (("score=accurate:1=1", "other=accurate:1=1"), "`score` and `other` are mapped to one"),
    ],
)
def test_a_map_that_means_nothing_is_refused(single: Door, maps: tuple[str, ...], why: str) -> None:
    path = ANNOTATIONS / "agent_occam.csv"
    said = taken(single, "agent-occam", path, maps=maps, candidates=("cand-a",))
    assert (said.code, labels(single)) == (2, [])
    assert why in said.err


def test_options_of_other_tools_without_the_tool_and_the_tool_without_a_suite(door: Door) -> None:
    path = ANNOTATIONS / "agent_occam.csv"
    said = door.run("labels", "import", path, "--map", "score=accurate:1=1")
    assert (said.code, "name the tool with --from TOOL" in said.err) == (2, True)
    said = door.run("labels", "import", path, "--from", "agent-occam")
    assert (said.code, "--from needs the --suite" in said.err) == (2, True)
    said = taken(door_with_map(door), "agent-occam", path, candidates=("a=b", "a=c"))
    assert (said.code, "one candidate for each model" in said.err) == (2, True)


def door_with_map(door: Door) -> Door:
    door.file("episodes.json", EPISODES)
    return door


# Hostile files ------------------------------------------------------------------------------------

_HEADER = "Task ID,Alice,Alice's Note"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        (f"{_HEADER},Alice\n1,1,,1\n", "has the column `Alice` twice"),
        ("Task,Alice,Alice's Note\n1,1,\n", "has no column `Task ID`"),
        ("Task ID,Alice\n1,1\n", "has no rater"),
        (f'{_HEADER}\n1,1,"never closed\n2,0,\n', "is no CSV: line 3"),
        (f'{_HEADER}\n1,1,"closed"early\n', "is no CSV: line 2"),
        (f"{_HEADER},\0\n1,1,,\n", "column 4 has no readable name"),
    ],
)
def test_a_broken_table_is_refused_whole_in_one_line(single: Door, text: str, why: str) -> None:
    said = taken(single, "agent-occam", single.file("bad.csv", text), candidates=("cand-a",))
    assert (said.code, labels(single)) == (20, [])
    assert sum("reviewer:" in line for line in said.err.splitlines()) == 1
    assert why in said.err
    assert "way out" in said.err


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("1,1", "has 2 cells, and the header has 3"),
        ("1,1,,,", "has 5 cells, and the header has 3"),
        ("1,1,a\0b", "`Alice's Note` holds a NUL, or bytes that are not UTF-8"),
        (b"1,1,\xff\xfe", "`Alice's Note` holds a NUL, or bytes that are not UTF-8"),
        ("1,1," + "x" * 70_000, "`Alice's Note` has more than 65,536 characters"),
        (",1,", "`Task ID` is empty"),
    ],
)
def test_a_bad_row_costs_that_row_and_is_named_with_its_number(
    single: Door, row: str | bytes, why: str
) -> None:
    bad = row if isinstance(row, bytes) else row.encode()
    data = b"\n".join((_HEADER.encode(), b"2,1,", bad, b"3,0,"))
    path = single.file("rows.csv", data)
    maps = ("score=accurate:1=1", "score=accurate:0=2")
    said = taken(single, "agent-occam", path, maps=maps, candidates=("cand-a",))
    assert (said.code, counts(said)["added"], counts(said)["refused"]) == (20, 2, 1)
    assert f"rows.csv: row 2: $: {why}: mend the row, or export the file again" in said.err
    assert len(labels(single)) == 2


def test_a_formula_is_text_and_a_field_may_hold_lines(single: Door) -> None:
    out = io.StringIO()
    rows = [["1", "1", "=1+1\n@SUM(A1)\t|calc"], ["2", "=1", ""]]
    csv.writer(out).writerows([["Task ID", "Alice", "Alice's Note"], *rows])
    path = single.file("formula.csv", "\ufeff" + out.getvalue())
    said = taken(single, "agent-occam", path, maps=("score=accurate:1=1",), candidates=("cand-a",))
    assert [x["note"] for x in labels(single)] == ["=1+1\n@SUM(A1)\t|calc"]
    assert reasons(said) == {"answer `=1` to `score` is not mapped": 1}


def test_an_identifier_is_kept_as_its_digest_or_masked(traced: Door) -> None:
    given = score(authorUserId="ann@example.com", comment="write to ann@example.com")
    taken(traced, "langfuse", traced.file("mail.json", json.dumps([given])))
    (kept,) = labels(traced)
    assert kept["reviewer"].startswith("langfuse:annotator-")
    assert "ann@example.com" not in json.dumps(kept)
    assert b"ann@example.com" not in traced.store.read_bytes()


@pytest.mark.parametrize("data", [b"no json", b"{", b"[1, 2]", b'{"data": [null]}', b"[" * 200])
def test_a_file_that_holds_no_scores_gives_no_label(traced: Door, data: bytes) -> None:
    said = taken(traced, "langfuse", traced.file("odd.json", data))
    assert said.code in (2, 20)
    assert "Traceback" not in said.err
    assert labels(traced) == []


# Coming together ----------------------------------------------------------------------------------


def test_labels_of_attempts_travel_as_lines_and_by_a_merge_and_count_once(
    tmp_path: Path, single: Door, single_template: Path
) -> None:
    given = ("agent-reward-bench", ANNOTATIONS / "agent_reward_bench.csv")
    named: dict[str, Any] = {"maps": REWARD, "candidates": ("GenericAgent-one=cand-a",)}
    taken(single, *given, **named)
    found = elsewhere(single, "cand-a")
    lines = single.root / "all.jsonl"
    single.ok("labels", "export", lines)
    kim, lee = (copied(single_template, tmp_path / name) for name in ("kim", "lee"))
    kim.ok("labels", "import", lines)
    assert elsewhere(kim, "cand-a") == found
    # Taken in by each at a time of their own: other labels of the same annotations.
    taken(lee, *given, **named)
    kim.ok("merge", lee.store)
    assert elsewhere(kim, "cand-a") == found
    again = counts(taken(kim, *given, **named))
    assert (again["added"], again["known"]) == (0, 7)
    kim.healthy()


KILLED = """
import os, signal, sys
from pathlib import Path
from reviewer.db import journal
from reviewer.desk.labels.annotations import AnnotationOrder, import_annotations
from reviewer.desk.place import at

if sys.argv[4] == "before":
    journal.append = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
names = tuple(zip("123", ("appeal-009", "damaged-221", "attack-014")))
order = AnnotationOrder("agent-occam", sys.argv[2], ("score=accurate:1=1",), ("cand-a",), names)
path = Path(sys.argv[3])
taken = import_annotations(at(Path(sys.argv[1])), order, path.read_bytes(), path.name)
print(taken.labels.added, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_leaves_all_of_a_file_or_nothing(single: Door) -> None:
    path = single.file("three.csv", f"{_HEADER}\n1,1,\n2,1,\n3,1,\n")
    for when, kept in (("before", 0), ("after", 3)):
        command = [sys.executable, "-c", KILLED, single.root, SUITE, path, when]
        done = subprocess.run(
            [str(word) for word in command], env=environment(), capture_output=True, text=True
        )
        assert done.returncode == -9, done
        assert len(labels(single)) == kept
        single.healthy()


# Nothing that nobody said -------------------------------------------------------------------------


def test_an_annotation_that_a_program_sent_to_phoenix_as_a_persons_is_no_label(
    stored: Door,
) -> None:
    page = json.loads((ANNOTATIONS / "phoenix_annotations.json").read_bytes())["data"][:1]
    for source, why in (
        ("API", "was made by a program or a model (source API)"),
        (None, "has no source: nothing says whether a person gave it"),
    ):
        sent = stored.file(f"{source}.json", json.dumps([{**page[0], "source": source}]))
        said = taken(stored, "phoenix", sent, maps=STORES)
        assert (said.code, reasons(said), labels(stored)) == (20, {why: 1}, [])


def test_a_slash_in_a_name_of_opik_makes_no_answer_another_persons(stored: Door) -> None:
    trace = json.loads((ANNOTATIONS / "opik_trace.json").read_bytes())
    given = {"source": "ui", "last_updated_at": "2026-03-01T09:00:00Z"}
    trace["trace"]["feedback_scores"] = [
        {"name": "accurate", "value_by_author": {"team/ann": {**given, "value": 1.0}}},
        {"name": "accurate/team", "value_by_author": {"ann": {**given, "value": 0.0}}},
    ]
    maps = ("accurate=accurate:1=1", "accurate/team=access:0=2")
    said = taken(stored, "opik", stored.file("slash.json", json.dumps(trace)), maps=maps)
    assert (said.code, counts(said)["added"]) == (0, 2)
    assert [(x["reviewer"], x["marks"]) for x in labels(stored)] == [
        ("opik:team/ann", {"accurate": 1}),
        ("opik:ann", {"access": 2}),
    ]


@pytest.mark.parametrize("lines", [False, True])
def test_a_score_that_states_a_member_twice_is_refused(traced: Door, lines: bool) -> None:
    evaluated = json.dumps(score(source="EVAL", id="e"))
    twice = evaluated.replace('"source": "EVAL"', '"source": "EVAL", "source": "ANNOTATION"')
    data = f"{json.dumps(score())}\n{twice}" if lines else f"[{twice}]"
    said = taken(traced, "langfuse", traced.file("twice.json", data))
    assert (said.code, len(labels(traced))) == (20, int(lines))
    assert "states a member of an object twice: nothing says which one holds" in said.err


def test_an_assessment_in_a_text_that_states_a_member_twice_is_refused(
    traced: Door,
) -> None:
    whole = json.dumps(json.loads((ANNOTATIONS / "mlflow_trace.json").read_bytes()))
    judged = '"source_type": "LLM_JUDGE"'
    twice = whole.replace(judged, f'{judged}, "source_type": "HUMAN"')
    row = {"trace_id": "tr", "trace": twice, "assessments": []}
    said = taken(traced, "mlflow", traced.file("twice.jsonl", [row, row]))
    assert (twice != whole, said.code, labels(traced)) == (True, 20, [])
    assert "has a JSON text that states a member of an object twice" in said.err


def test_annotators_whose_names_are_not_readable_are_not_taken_for_one(traced: Door) -> None:
    rows = [json.dumps(score(id=key, authorUserId="ann@")).encode() for key in "ab"]
    data = rows[0].replace(b"ann@", b"ann\xff") + b"\n" + rows[1].replace(b"ann@", b"ann\xfe")
    said = taken(traced, "langfuse", traced.file("bytes.jsonl", data))
    assert (said.code, counts(said)["refused"], labels(traced)) == (20, 2, [])
    assert "row 2: $: has bytes that are not UTF-8" in said.err


@pytest.mark.parametrize(
    ("first", "second"),
    [(None, "2026-03-02T09:00:00Z"), ("2026-03-02T09:00:00", "2026-03-01T09:00:00Z")],
)
def test_a_value_replaces_none_whose_time_is_not_known(
    traced: Door, first: str | None, second: str
) -> None:
    rows = [told(1, 1) | {"updatedAt": first}, told(0, 1) | {"updatedAt": second}]
    said = taken(traced, "langfuse", traced.file("both.json", json.dumps(rows)))
    assert (said.code, counts(said)["added"], counts(said)["refused"]) == (20, 1, 1)
    assert "no time shows which is later" in said.err


def test_a_person_who_changes_the_annotation_of_another_is_given_none_of_their_words(
    traced: Door,
) -> None:
    other = told(0, 2) | {"authorUserId": "ben", "comment": None}
    path = traced.file("two.json", json.dumps([told(1, 1), other]))
    said = taken(traced, "langfuse", path)
    assert (said.code, counts(said)["added"], counts(said)["revised"]) == (0, 2, 0)
    assert [(x["reviewer"], x["marks"], x["note"]) for x in labels(traced)] == [
        ("langfuse:cm8annotatora", {"accurate": 1}, "states the outcome"),
        ("langfuse:ben", {"accurate": 2}, ""),
    ]


def test_an_unchanged_annotation_under_another_name_of_its_person_counts_once(
    traced: Door,
) -> None:
    named = score(authorUserId="Ann", comment=None)
    said = taken(traced, "langfuse", traced.file("two.json", json.dumps([score(), named])))
    assert (said.code, counts(said)["added"], counts(said)["known"]) == (0, 1, 1)


def test_a_score_that_contradicts_itself_or_is_about_a_step_is_no_label(traced: Door) -> None:
    step = {"subject": {"kind": "observation", "id": "o"}, "observationId": None}
    rows = [score(value=1.0, stringValue="False"), score(**step)]
    said = taken(traced, "langfuse", traced.file("odd.json", json.dumps(rows)))
    assert (said.code, counts(said)["refused"], labels(traced)) == (20, 1, [])
    assert "row 1: $: `value` and `stringValue` contradict each other" in said.err
    assert reasons(said) == {"is about a step (observation), not about the attempt": 1}


# The label itself ---------------------------------------------------------------------------------


def _without(name: str) -> Callable[[dict[str, Any]], None]:
    def change(one: dict[str, Any]) -> None:
        del one[name]

    return change


def _with(**members: Any) -> Callable[[dict[str, Any]], None]:
    def change(one: dict[str, Any]) -> None:
        one.update(members)

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_without("record"), "$.record: is missing"),
        (_without("origin"), "$.origin: is missing"),
        (_with(record="0" * 64), "is not the item of this record"),
        (_with(role="adjudicator"), "settles nothing"),
        (_with(pi=0.5), "an attempt is in no queue"),
        (_with(showing=2), "only pairs are shown in two orders"),
        (_with(message="0" * 64), "$.message: belongs to a label of a message or a pair"),
        (_with(marks={"accurate": 1, "access": 1}), "does not tell every mark"),
        (_with(kind="message", message="0" * 64), "$.record: belongs to a label of kind attempt"),
    ],
)
def test_a_line_that_makes_more_of_an_annotation_is_refused(
    traced: Door, change: Callable[[dict[str, Any]], None], why: str
) -> None:
    taken(traced, "langfuse", ANNOTATIONS / "langfuse_scores.json")
    line = labels(traced)[0]
    del line["uid"]
    change(line)
    said = traced.run("labels", "import", traced.file("line.jsonl", [line]))
    assert said.code == 20
    assert why in said.err


def test_labels_made_before_keep_their_uids() -> None:
    data = (SHIPPED / "labels" / "shopflow.jsonl").read_bytes()
    for label in read_labels(data):
        assert b"origin" not in LABELS.line(label)
        assert LABELS.line(label) in data
