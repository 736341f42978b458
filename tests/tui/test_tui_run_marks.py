"""What a run owes, laid over the store's rows, for any plan and any moment of it."""

from hypothesis import given
from hypothesis import strategies as st

from reviewer.desk.runs.api import RunOrder, RunView
from reviewer.desk.views import ALWAYS, AttemptMark, Cell, EpisodeRow
from reviewer.tui.views.jobs import Overlay

EPISODES = ("a", "b", "c")
STAGES = st.sampled_from(["pending", "running", "told", "landed"])
PLANS = st.dictionaries(st.tuples(st.sampled_from(EPISODES), st.integers(1, 6)), STAGES, min_size=1)


def view(plan: dict[tuple[str, int], str], state: str = "running") -> RunView:
    return RunView(
        number=1,
        order=RunOrder(suite_id="s", candidate_id="c"),
        suite_id="s",
        candidate_id="c",
        state=state,  # type: ignore[arg-type]
        planned=len(plan),
        done=0,
        passed=0,
        failed=0,
        critical=0,
        infrastructure=0,
        not_measured=0,
        lost=0,
        running=tuple(slot for slot, stage in plan.items() if stage == "running"),
        pending=tuple(slot for slot, stage in plan.items() if stage == "pending"),
        gates=(0,) * len(ALWAYS),
        seconds=0.0,
        eta_seconds=None,
        approvals=(),
        problem="",
        began=0.0,
    )


def row(episode: str, landed: dict[int, str]) -> EpisodeRow:
    cell = Cell(mark="pass" if landed else "not_measured", failed=0, attempts=len(landed))
    return EpisodeRow(
        key=0,
        episode_id=episode,
        title="",
        cells=(cell,) * len(ALWAYS),
        attempts=tuple(
            AttemptMark(attempt=at, mark=mark)  # type: ignore[arg-type]
            for at, mark in sorted(landed.items())
        ),
        passes=0,
        pass_hat=None,
        mean_cost_usd=None,
        latency_p50_ms=None,
        tags=(),
    )


def followed(plan: dict[tuple[str, int], str]) -> Overlay:
    overlay = Overlay()
    overlay.follow(view(dict.fromkeys(plan, "pending")))
    overlay.follow(view(plan))
    return overlay


@given(PLANS, st.sampled_from(EPISODES))
def test_each_slot_shows_its_stage_and_the_store_has_the_last_word(
    plan: dict[tuple[str, int], str], episode: str
) -> None:
    stages = {attempt: stage for (name, attempt), stage in plan.items() if name == episode}
    landed = {attempt: "fail" for attempt, stage in stages.items() if stage == "landed"}
    planned = dict.fromkeys((1, 2, 3), "missing")
    shown = {"pending": "missing", "running": "running", "told": "running", "landed": "fail"}
    wanted = planned | {attempt: shown[stage] for attempt, stage in stages.items()}
    marks = followed(plan).marks(row(episode, planned | landed))
    assert marks == [wanted[attempt] for attempt in sorted(wanted)]


@given(PLANS, st.sampled_from(EPISODES))
def test_cells_wait_or_run_only_where_no_trace_has_landed(
    plan: dict[tuple[str, int], str], episode: str
) -> None:
    stages = [stage for (name, _), stage in plan.items() if name == episode]
    found = followed(plan).cell(row(episode, {}))
    if any(stage != "pending" for stage in stages):
        assert found == "running"
    else:
        assert found == ("missing" if stages else None)
    assert followed(plan).cell(row(episode, {1: "pass"})) is None


@given(PLANS, st.sampled_from(["done", "stopped", "failed"]))
def test_a_run_that_has_ended_owes_nothing(plan: dict[tuple[str, int], str], state: str) -> None:
    overlay = followed(plan)
    overlay.follow(view({}, state))
    for episode, attempt in plan:
        assert overlay.marks(row(episode, {attempt: "pass"})) == ["pass"]
