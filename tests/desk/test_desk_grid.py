"""Orders, filters, groups and candidates side by side agree with the rows that the grid shows."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from doors import Door

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.scorecards.views import SavedView
from reviewer.desk.views import ALWAYS, EpisodeRow
from reviewer.suite.freeze import freeze

SUITE, ONE, TWO = "grid-v1", "agent-one", "agent-two"
TAGS = ("refund", "vip", 'odd "tag"', "refund partial")
CATEGORIES = ("task", "negative", "golden", "secondary")
EPISODES = 30


def categories() -> dict[str, str]:
    return {f"ep-{n:02}": CATEGORIES[n % 4] for n in range(EPISODES)}


def write_suite(folder: Path) -> None:
    (folder / "episodes").mkdir(parents=True)
    body = {
        "schema": "reviewer/suite@1",
        "suite_id": SUITE,
        "title": "Rows of every kind",
        "policy": {"attempts": 3, "mode": "point"},
    }
    (folder / "suite.json").write_text(json.dumps(body))
    for number, (name, category) in enumerate(categories().items()):
        episode = {
            "schema": "reviewer/episode@1",
            "episode_id": name,
            "title": f"Order {number * 7}",
            "user_request": "Please look into my order.",
            "tools": {"required": ["lookup_order"], "forbidden": ["issue_refund"]},
            "expected": {"final_state": "case_opened"},
            "budget": {"max_steps": 6, "max_timeouts": 1, "max_cost_usd": 0.15},
            "category": category,
            "tags": [tag for bit, tag in enumerate(TAGS) if number >> bit & 1],
        }
        (folder / "episodes" / f"{name}.json").write_text(json.dumps(episode))
    freeze(folder)


def tools_called(draw: random.Random) -> list[str]:
    called = ["lookup_order"] if draw.random() < 0.9 else []
    called += draw.choices(["open_case", "update_case", "look-up"], k=draw.randint(0, 4))
    return called + (["issue_refund"] if draw.random() < 0.08 else [])


def write_traces(path: Path, candidate: str, seed: int) -> dict[str, set[str]]:
    """Traces of most episodes, some with attempts beyond the plan; tools called per episode."""
    draw = random.Random(seed)
    called: dict[str, set[str]] = {}
    lines = []
    for number in range(EPISODES - 2):
        name = f"ep-{number:02}"
        for attempt in range(1, draw.choice((2, 3, 3, 3, 5)) + 1):
            tools = tools_called(draw)
            called.setdefault(name, set()).update(tools)
            lines.append(
                {
                    "episode_id": name,
                    "candidate_id": candidate,
                    "attempt": attempt,
                    "events": [
                        {"tool": tool, "status": draw.choice(("ok", "ok", "timeout"))}
                        for tool in tools
                    ],
                    "final_state": draw.choice(("case_opened",) * 6 + ("case_lost",)),
                    "final_message": f"done {number} {attempt}",
                    "cost_usd": None if draw.random() < 0.06 else draw.uniform(0.01, 0.16),
                    "latency_ms": None if draw.random() < 0.1 else draw.uniform(500, 9000),
                }
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return called


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, dict[str, set[str]]]]:
    root = tmp_path_factory.mktemp("grid")
    (root / "store").mkdir()
    write_suite(root / "suites" / SUITE)
    door = Door(root)
    called = {}
    for candidate, seed in ((ONE, 3), (TWO, 4)):
        made = write_traces(root / f"{candidate}.jsonl", candidate, seed)
        called = called or made
        said = door.run("import", root / f"{candidate}.jsonl")
        assert said.code == 0, said.both
    desk = door.desk()
    yield desk, called
    desk.close()


@pytest.fixture
def desk(stored: tuple[Desk, dict[str, set[str]]]) -> Desk:
    return stored[0]


def all_rows(desk: Desk) -> list[EpisodeRow]:
    return desk.scorecards.rows(SUITE, ONE, desk.scorecards.order(SUITE, ONE))


def cell(row: EpisodeRow, gate: str) -> str:
    return row.cells[ALWAYS.index(gate)].mark


def steps(desk: Desk, row: EpisodeRow) -> float | None:
    made = [mark.attempt for mark in row.attempts if mark.mark != "missing"]
    counts = [desk.traces.view(f"{SUITE}/{ONE}/{row.episode_id}/{n}").steps for n in made]
    return sum(counts) / len(counts) if counts else None


def codes(desk: Desk, row: EpisodeRow) -> set[str]:
    made = [mark.attempt for mark in row.attempts if mark.mark != "missing"]
    return {
        finding.code
        for n in made
        for finding in desk.traces.view(f"{SUITE}/{ONE}/{row.episode_id}/{n}").findings
    }


Oracle = Callable[[Desk, dict[str, set[str]], EpisodeRow], bool]
SHOWN: dict[str, Oracle] = {
    "": lambda desk, called, row: True,
    "gate:state": lambda desk, called, row: cell(row, "state") in ("fail", "critical"),
    "gate:authority:critical": lambda desk, called, row: cell(row, "authority") == "critical",
    "gate:process:pass": lambda desk, called, row: cell(row, "process") == "pass",
    "gate:budget:n/m -gate:budget": lambda desk, called, row: cell(row, "budget") == "not_measured",
    "-gate:state": lambda desk, called, row: cell(row, "state") not in ("fail", "critical"),
    "tag:refund": lambda desk, called, row: "refund" in row.tags,
    "-tag:refund": lambda desk, called, row: "refund" not in row.tags,
    'tag:"odd \\"tag\\""': lambda desk, called, row: 'odd "tag"' in row.tags,
    'tag:"refund partial"': lambda desk, called, row: "refund partial" in row.tags,
    "tag:ref": lambda desk, called, row: False,
    "category:negative": lambda desk, called, row: categories()[row.episode_id] == "negative",
    "-category:task": lambda desk, called, row: categories()[row.episode_id] != "task",
    "episode:EP-1": lambda desk, called, row: "ep-1" in row.episode_id,
    '"oRDER 1"': lambda desk, called, row: "order 1" in row.title.lower(),
    '"order 7"': lambda desk, called, row: "order 7" in row.title.lower(),
    "tool:issue_refund": lambda desk, called, row: (
        "issue_refund" in called.get(row.episode_id, set())
    ),
    "tool:look-up": lambda desk, called, row: "look-up" in called.get(row.episode_id, set()),
    "tool:order": lambda desk, called, row: False,
    "-tool:open_case": lambda desk, called, row: (
        "open_case" not in called.get(row.episode_id, set())
    ),
    "code:WRONG_final": lambda desk, called, row: any(
        "wrong_final" in code for code in codes(desk, row)
    ),
    "cost>0.08": lambda desk, called, row: (row.mean_cost_usd or 0) > 0.08,
    "-cost>0.08": lambda desk, called, row: (
        row.mean_cost_usd is not None and row.mean_cost_usd <= 0.08
    ),
    "cost:n/m": lambda desk, called, row: row.mean_cost_usd is None,
    "latency>4s": lambda desk, called, row: (row.latency_p50_ms or 0) > 4000,
    "latency<=3500ms": lambda desk, called, row: (
        row.latency_p50_ms is not None and row.latency_p50_ms <= 3500
    ),
    "latency:n/m": lambda desk, called, row: row.latency_p50_ms is None,
    "steps>=2.5": lambda desk, called, row: (steps(desk, row) or 0) >= 2.5,
    "pass<1": lambda desk, called, row: row.pass_hat is not None and row.pass_hat < 1,
    "pass=1": lambda desk, called, row: row.pass_hat == 1,
    "pass:n/m": lambda desk, called, row: row.pass_hat is None,
    "tag:refund -tag:vip cost<0.1": lambda desk, called, row: (
        "refund" in row.tags
        and "vip" not in row.tags
        and row.mean_cost_usd is not None
        and row.mean_cost_usd < 0.1
    ),
}


@pytest.mark.parametrize("text", SHOWN)
def test_a_filter_keeps_what_its_words_say_of_the_shown_rows(
    stored: tuple[Desk, dict[str, set[str]]], text: str
) -> None:
    desk, called = stored
    wanted = {row.key for row in all_rows(desk) if SHOWN[text](desk, called, row)}
    assert set(desk.scorecards.order(SUITE, ONE, text=text)) == wanted
    assert text in ("", "tag:ref", "tool:order") or 0 < len(wanted) < EPISODES


def test_each_figure_orders_by_what_is_shown_and_puts_the_unknown_last(desk: Desk) -> None:
    figures: dict[str, Callable[[EpisodeRow], float | None]] = {
        "cost": lambda row: row.mean_cost_usd,
        "latency": lambda row: row.latency_p50_ms,
        "pass": lambda row: row.pass_hat,
    }
    for by, figure in figures.items():
        for descending in (False, True):
            keys = desk.scorecards.order(SUITE, ONE, by, descending)
            shown = [figure(row) for row in desk.scorecards.rows(SUITE, ONE, keys)]
            known = [value for value in shown if value is not None]
            assert known == sorted(known, reverse=descending)
            assert 0 < len(known) < EPISODES
            assert shown[len(known) :] == [None] * (EPISODES - len(known))


def test_every_order_holds_every_episode_once(desk: Desk) -> None:
    every = sorted(desk.scorecards.order(SUITE, ONE))
    for by in ("worst", "episode", "attempts", "steps", "tags", *ALWAYS):
        for descending in (False, True):
            assert sorted(desk.scorecards.order(SUITE, ONE, by, descending)) == every


@pytest.mark.parametrize("text", ["", "-tag:vip", "gate:state"])
@pytest.mark.parametrize("kind", ["tag", "category"])
def test_groups_hold_the_filtered_rows_and_count_them(desk: Desk, kind: str, text: str) -> None:
    order = desk.scorecards.order(SUITE, ONE, text=text)
    rows = {row.key: row for row in all_rows(desk)}
    wanted: dict[str, list[int]] = {}
    for key in order:
        row = rows[key]
        labels = row.tags or ("",) if kind == "tag" else (categories()[row.episode_id],)
        for label in labels:
            wanted.setdefault(label, []).append(key)
    groups = desk.scorecards.groups(SUITE, ONE, kind, text=text)  # type: ignore[arg-type]
    assert {group.label: list(group.keys) for group in groups} == wanted
    for group in groups:
        mine = [rows[key] for key in group.keys]
        made = [mark for row in mine for mark in row.attempts if mark.mark != "missing"]
        assert group.episodes == len(mine)
        assert group.attempts + group.infra == len(made)
        assert group.passes == sum(row.passes for row in mine)
        assert group.counted_passes <= group.passes
        assert group.counted <= group.attempts
        assert group.critical == sum(mark.mark == "critical" for mark in made)
        assert group.failed == tuple(
            sum(row.cells[gate].failed for row in mine) for gate in range(len(ALWAYS))
        )
        hats = [row.pass_hat for row in mine]
        if None in hats:
            assert group.pass_hat is None
        else:
            assert group.pass_hat == pytest.approx(sum(hats) / len(hats))  # type: ignore[arg-type]
        if any(row.mean_cost_usd is None for row in mine if any(c.attempts for c in row.cells)):
            assert group.mean_cost_usd is None


def test_candidates_stand_side_by_side_as_each_stands_alone(desk: Desk) -> None:
    keys = desk.scorecards.order(SUITE, ONE)
    found = desk.scorecards.sides(SUITE, [TWO, ONE], keys)
    assert [row.key for row in found] == keys
    marks = set()
    for at, candidate in enumerate((TWO, ONE)):
        alone = {row.key: row for row in desk.scorecards.rows(SUITE, candidate, keys)}
        for row in found:
            side, own = row.sides[at], alone[row.key]
            made = [mark.mark for mark in own.attempts if mark.mark != "missing"]
            assert (side.passes, side.attempts) == (own.passes, len(made))
            assert (side.mark == "missing") == (not made)
            assert (side.mark == "critical") == ("critical" in made)
            assert (side.mark == "fail") == ("fail" in made and "critical" not in made)
            if side.gate:
                assert own.cells[ALWAYS.index(side.gate)].failed
            marks.add(side.mark)
    assert {"pass", "fail", "critical", "missing"} <= marks
    total = desk.scorecards.side_totals(SUITE, [ONE])[0]
    assert total.passes == sum(row.passes for row in all_rows(desk))


def test_a_filter_that_cannot_be_understood_is_refused_with_its_place(desk: Desk) -> None:
    with pytest.raises(DeskError) as told:
        desk.scorecards.order(SUITE, ONE, text="tag:a gate:autority")
    assert told.value.exit_code == 2
    assert "character 12" in told.value.text
    assert "authority" in told.value.text
    with pytest.raises(DeskError, match="unknown order"):
        desk.scorecards.order(SUITE, ONE, by="mood")


def test_what_a_filter_may_be_given_is_what_the_store_holds(desk: Desk) -> None:
    values = desk.scorecards.filter_values(SUITE, ONE)
    assert set(values.tag) == set(TAGS)
    assert {"lookup_order", "look-up"} <= set(values.tool)
    assert values.unread == 0


def test_latency_follows_what_is_imported_later(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    write_suite(tmp_path / "suites" / SUITE)
    door = Door(tmp_path)
    line = {
        "episode_id": "ep-00",
        "candidate_id": ONE,
        "events": [{"tool": "lookup_order"}],
        "final_state": "case_opened",
        "cost_usd": 0.1,
    }
    for attempt, latency in ((1, 1000), (2, 9000)):
        (tmp_path / f"{attempt}.json").write_text(
            json.dumps(line | {"attempt": attempt, "latency_ms": latency})
        )
    assert door.run("import", tmp_path / "1.json").code == 0
    desk = door.desk()
    assert desk.scorecards.order(SUITE, ONE, text="latency>4") == []
    said = door.run("import", tmp_path / "2.json")
    assert said.code == 0, said.both
    assert len(desk.scorecards.order(SUITE, ONE, text="latency>4")) == 1
    desk.close()


# saved views


def test_a_saved_view_is_kept_replaced_and_removed(desk: Desk) -> None:
    assert desk.scorecards.saved_views() == []
    view = SavedView(name="red refunds", filter="gate:state tag:refund", group="tag")
    assert desk.scorecards.save_view(view) == [view]
    newer = SavedView(name="red refunds", by="cost", descending=True, mode="candidates")
    other = SavedView(name="all")
    desk.scorecards.save_view(other)
    assert desk.scorecards.save_view(newer) == [newer, other]
    assert desk.scorecards.saved_views() == [newer, other]
    assert desk.scorecards.drop_view("red refunds") == [other]
    with pytest.raises(DeskError, match="no saved view"):
        desk.scorecards.drop_view("red refunds")
    desk.scorecards.drop_view("all")


@pytest.mark.parametrize(
    "view",
    [
        SavedView(name=" "),
        SavedView(name="a\x1b[31m"),
        SavedView(name="a", by="mood"),
        SavedView(name="a", filter="gate:x"),
    ],
)
def test_a_view_that_could_not_be_taken_is_not_kept(desk: Desk, view: SavedView) -> None:
    with pytest.raises(DeskError) as told:
        desk.scorecards.save_view(view)
    assert told.value.exit_code == 2
    assert desk.scorecards.saved_views() == []


@pytest.mark.parametrize(
    ("views", "says"),
    [
        ([{"name": "a", "mood": 1}], "views[0]: unknown 'mood'"),
        ([{"name": "a"}, {"name": "a"}], "same name"),
        ([{"name": "a", "filter": "cost>x"}], "views[0]: filter, character 6"),
        ([{"name": 1}], "views[0]"),
        ([3], "views[0]"),
    ],
)
def test_a_file_of_views_that_is_not_one_is_refused_with_its_place(
    door: Door, views: list[object], says: str
) -> None:
    path = door.root / "store" / "views.json"
    path.write_text(json.dumps({"schema": "reviewer/views@1", "views": views}))
    desk = door.desk()
    with pytest.raises(DeskError) as told:
        desk.scorecards.saved_views()
    assert says in told.value.text
    assert "views.json" in told.value.text
    desk.close()
