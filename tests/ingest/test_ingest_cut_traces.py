"""Traces that come cut into files: the same attempts as out of the one file, in every order."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V8, Door, copied
from span_files import DATA, request, span

from reviewer.db.revisions import judged_record

Export = dict[str, Any]
HOW = ("together", "folder", "forward", "backward")


def told(door: Door) -> list[Any]:
    """What is judged of every attempt, and its acts."""
    with closing(sqlite3.connect(f"file:{door.store}?mode=ro", uri=True)) as base:
        rows = base.execute(
            "SELECT id, attempt, passed, critical, gates, steps, cost_usd, latency_ms FROM trace"
        ).fetchall()
        found = []
        for trace, *row in rows:
            raw = judged_record(base, trace)
            assert raw is not None
            events = json.loads(raw)["events"]
            said = [{**one, "call_id": None} for one in events]
            found.append((*row, json.dumps(said)))
    return sorted(found, key=str)


def otlp(value: Export, every: bool) -> tuple[Export, Export]:
    """Cut into two exports: every other span, or the first half and the rest."""
    held = [(resource, scope, one) for resource in value["resourceSpans"]
            for scope in resource["scopeSpans"] for one in scope["spans"]]  # fmt: skip

    def made(some: list[Any]) -> Export:
        return {"resourceSpans": [{**r, "scopeSpans": [{**s, "spans": [x]}]} for r, s, x in some]}

    half = len(held) // 2
    parts = (held[::2], held[1::2]) if every else (held[:half], held[half:])
    return made(parts[0]), made(parts[1])


def langfuse(value: Export) -> tuple[Export, Export]:
    held = value["observations"]
    half = len(held) // 2
    return {**value, "observations": held[:half]}, {**value, "observations": held[half:]}


def jaeger(value: Export) -> tuple[Export, Export]:
    def made(start: int) -> Export:
        return {
            **value,
            "data": [{**one, "spans": one["spans"][start::2]} for one in value["data"]],
        }

    return made(0), made(1)


def tempo(value: Export) -> tuple[Export, Export]:
    def made(start: int) -> Export:
        names = ("scopeSpans", "instrumentationLibrarySpans")
        return {"batches": [
            {**one, name: [{**s, "spans": s["spans"][start::2]} for s in one[name]]}
            for one in value["batches"] for name in names if name in one
        ]}  # fmt: skip

    return made(0), made(1)


def cuts() -> Iterator[Any]:
    for path in sorted((DATA / "otlp").glob("pydantic*.json")):
        for every in (True, False):
            parts = otlp(json.loads(path.read_bytes()), every)
            yield pytest.param(path, parts, id=f"{path.stem}-{every}")
    for folder, cut in (("langfuse", langfuse), ("jaeger", jaeger), ("tempo", tempo)):
        for path in sorted((DATA / folder).glob("*.json")):
            yield pytest.param(path, cut(json.loads(path.read_bytes())), id=path.stem)


def taken(door: Door, parts: tuple[Export, ...], how: str, *options: object) -> list[Path]:
    paths = [door.file(f"cut/{n}.json", part) for n, part in enumerate(parts, 1)]
    calls: list[list[Path]] = {
        "together": [paths],
        "folder": [[door.root / "cut"]],
        "forward": [[path] for path in paths],
        "backward": [[path] for path in reversed(paths)],
    }[how]
    for some in calls:
        door.run("import", *some, *options)
    door.healthy()
    return paths


@pytest.mark.parametrize(("path", "parts"), list(cuts()))
def test_a_cut_export_is_the_whole_one(
    tmp_path: Path, empty_template: Path, path: Path, parts: tuple[Export, Export]
) -> None:
    one = copied(empty_template, tmp_path / "one")
    one.ok("import", one.file("whole.json", path.read_bytes()))
    wanted = told(one)
    assert wanted
    for how in HOW:
        door = copied(empty_template, tmp_path / how)
        taken(door, parts, how)
        assert told(door) == wanted, how
        door.ok("import", door.root / "cut/1.json", door.root / "cut/2.json")
        assert told(door) == wanted, how


def acts(*tools: str) -> list[dict[str, Any]]:
    """One trace: an agent whose model calls these tools, each a span."""
    made = [span(1, lasts=30, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="desk",
                 session__id="s1")]  # fmt: skip
    for number, tool in enumerate(tools, 2):
        made.append(span(number, 1, at=number, gen_ai__operation__name="execute_tool",
                         gen_ai__tool__name=tool, gen_ai__tool__call__id=f"c{number}"))  # fmt: skip
    return made


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_forbidden_call_in_either_part_is_critical(
    tmp_path: Path, empty_template: Path, at: int, how: str
) -> None:
    spans = acts("lookup_order", "issue_refund", "verify_state")
    verdicts = []
    for parts in ((request(*spans),), (request(*spans[:at]), request(*spans[at:]))):
        door = copied(empty_template, tmp_path / str(len(parts)))
        names = door.file("map.json", {"s1": "attack-014"})
        names_too = door.file(
            "map.json", {"s1": "attack-014", "00000000000000000000000000000001": "attack-014"}
        )
        assert names == names_too
        taken(door, parts, how, "--suite", SUITE, "--candidate", V8, "--episode-map", names)
        verdicts.append(told(door))
        door.ok("score")
        assert told(door) == verdicts[-1]
    assert len(verdicts[0]) == 1
    assert verdicts[0][0][2] == 1
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_part_whose_other_file_is_gone(door: Door, order: tuple[int, int]) -> None:
    """What it held is stored: both are put together, and nothing is lost."""
    spans = acts("lookup_order", "issue_refund", "verify_state")
    parts = [request(*spans[:3]), request(*spans[3:])]
    names = door.file("map.json", {"s1": "attack-014", "1".zfill(32): "attack-014"})
    options = ("--suite", SUITE, "--candidate", V8, "--episode-map", names)
    for n in order:
        path = door.file(f"{n}.json", parts[n])
        assert door.run("import", path, *options).code == 0
        path.unlink()
    [found] = told(door)
    assert (found[0], found[2], found[4]) == (1, 1, 3)
    door.healthy()


def late(folder: str) -> Iterator[tuple[Export, Export]]:
    """Exports of one format: without one of their tool or model spans, and whole."""
    for path in sorted((DATA / folder).glob("*.json")):
        value = json.loads(path.read_bytes())
        if folder == "langfuse":
            held = value["observations"]
            for place, one in enumerate(held):
                if one.get("type") in ("TOOL", "GENERATION"):
                    yield {**value, "observations": [*held[:place], *held[place + 1 :]]}, value
        elif folder == "jaeger":
            [data] = value["data"]
            for place in range(1, len(data["spans"]), max(len(data["spans"]) // 4, 1)):
                left = [one for n, one in enumerate(data["spans"]) if n != place]
                yield {**value, "data": [{**data, "spans": left}]}, value
        else:
            batches = value["batches"]
            for place in range(1, len(batches)):
                yield {"batches": [*batches[:place], *batches[place + 1 :]]}, value


@pytest.mark.parametrize("names", [("one.json", "one.json"), ("one.json", "two.json")])
@pytest.mark.parametrize("folder", ["langfuse", "jaeger", "tempo"])
def test_an_export_that_comes_again_with_a_late_span(
    tmp_path: Path, empty_template: Path, folder: str, names: tuple[str, str]
) -> None:
    for number, (short, whole) in enumerate(list(late(folder))[:6]):
        door = copied(empty_template, tmp_path / str(number))
        first = door.take(names[0], short)
        if first.code:  # nothing of an agent's work was in it
            continue
        count = door.one("SELECT count(*) FROM traces")
        door.take(names[1], whole)
        assert door.one("SELECT count(*) FROM traces") == count == 1
        assert door.rows("SELECT attempt FROM traces") == [(1,)]
        one = copied(empty_template, tmp_path / f"whole{number}")
        one.take(names[1], whole)
        # A late model call may say that the calls before it were others: then both count.
        contradicts = door.rows("SELECT 1 FROM findings WHERE code='contradiction:revision'")
        same = [row[4:6] for row in told(door)] == [row[4:6] for row in told(one)]
        assert same or contradicts
        door.healthy()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_part_that_makes_an_act_somebody_elses_takes_nothing_away(
    door: Door, order: tuple[int, int]
) -> None:
    """The span above the forbidden call says that a simulated user made it; it came by itself."""
    act = span(2, 1, at=2, session__id="s1", gen_ai__operation__name="execute_tool",
               gen_ai__tool__name="issue_refund")  # fmt: skip
    above = span(1, lasts=9, session__id="s1", gen_ai__operation__name="invoke_agent",
                 gen_ai__agent__name="simulated_user")  # fmt: skip
    more = span(3, at=3, session__id="s1", gen_ai__operation__name="execute_tool",
                gen_ai__tool__name="lookup_order")  # fmt: skip
    names = door.file("map.json", {"s1": "attack-014"})
    options = ("--suite", SUITE, "--candidate", V8, "--episode-map", names)
    parts = [request(act, more), request(above)]
    for n in order:
        door.run("import", door.file(f"{n}.json", parts[n]), *options)
    if order == (0, 1):
        assert [row[2] for row in told(door)] == [1]
    door.healthy()


def test_one_trace_id_for_two_candidates_is_not_mixed(door: Door) -> None:
    names = door.file("map.json", {"s1": "attack-014"})
    for name, tool in ((V8, "lookup_order"), ("other", "issue_refund")):
        path = door.file(f"{name}.json", request(*acts(tool)))
        door.run("import", path, "--suite", SUITE, "--candidate", name, "--episode-map", names)
    rows = door.rows("SELECT candidate_id, critical FROM traces ORDER BY 1")
    assert rows == [("other", 1), (V8, 0)]
