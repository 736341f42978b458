"""What people enter beside what attempts cost: kept, corrected, told, and never in the CPST."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, Said, copied

OF_V8 = ("--suite", SUITE, "--candidate", V8)


def add(door: Door, amount: str, *more: object, kind: str | None = "human") -> Said:
    kinds = () if kind is None else ("--kind", kind)
    return door.run("costs", "add", *OF_V8, f"--amount={amount}", *kinds, *more)


def listed(door: Door, *more: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(door.ok("costs", "list", *more, "--json").out)
    return found


def cost(door: Door, candidate: str = V8) -> dict[str, Any]:
    out = door.root / "out"
    door.run("--export-report", out, "--suite", SUITE, "--candidate", candidate)
    found: dict[str, Any] = json.loads((out / "report.json").read_bytes())["cost"]
    return found


def test_what_is_entered_stands_on_lines_of_its_own(full: Door) -> None:
    before = cost(full)
    assert (before["human_usd"], before["incident_usd"]) == (None, None)
    assert add(full, "12.50", "--note", "two hours of handling").code == 0
    assert add(full, "7.25").code == 0
    assert add(full, "400", "--id", "inc-7", kind="incident").code == 0
    after = cost(full)
    assert (after["human_usd"], after["incident_usd"]) == (19.75, 400.0)
    for name in ("total_usd", "cpst_usd", "cpst_se", "judge_usd", "known_usd"):
        assert after[name] == before[name]
    assert [one["amount_usd"] for one in after["entries"]] == [12.5, 7.25, 400.0]
    report = json.loads((full.root / "out" / "report.json").read_bytes())
    assert not [line for line in report["not_measured"] if "human" in line or "incident" in line]
    for name in ("report.md", "report.html"):
        text = (full.root / "out" / name).read_text(encoding="utf-8").replace("\\", "")
        assert "$19.7500" in text
        assert "$400.0000" in text
        assert "two hours of handling" in text
    assert cost(full, V7)["human_usd"] is None
    desk = full.desk()
    try:
        lines = {name: line for _, name, line in desk.decisions.view(SUITE, V8).sections}
    finally:
        desk.close()
    assert lines["cost"].endswith("; human $19.75; incident $400.00")
    full.healthy()


def test_nothing_entered_is_not_measured_and_zero_is_zero(full: Door) -> None:
    assert cost(full)["human_usd"] is None
    assert add(full, "0").code == 0
    assert cost(full)["human_usd"] == 0.0


def test_the_same_entry_again_adds_nothing(full: Door) -> None:
    for _ in range(2):
        said = add(full, "3.10", "--note", "chat")
        assert said.code == 0
    assert "nothing was added" in said.err
    assert len(listed(full)) == 1
    assert add(full, "3.1", "--note", "chat", "--id", "second").code == 0
    assert len(listed(full)) == 2
    assert cost(full)["human_usd"] == 6.2


def test_an_id_stands_for_one_amount(full: Door) -> None:
    assert add(full, "3", "--id", "invoice-17").code == 0
    assert add(full, "3", "--id", "invoice-17").code == 0
    said = add(full, "4", "--id", "invoice-17")
    assert said.code == 2
    assert "exists already: human $3.00" in said.err
    assert "--corrects invoice-17" in said.err
    assert cost(full)["human_usd"] == 3.0


def test_a_correction_is_an_entry_of_its_own(full: Door) -> None:
    add(full, "300", "--id", "a", kind="incident")
    assert add(full, "350.25", "--corrects", "a", "--id", "b", kind=None).code == 0
    assert add(full, "340", "--corrects", "b", "--id", "c", kind=None).code == 0
    found = listed(full)
    assert [(one["entry_id"], one["kind"], one["counts"]) for one in found] == [
        ("a", "incident", False), ("b", "incident", False), ("c", "incident", True),
    ]  # fmt: skip
    assert cost(full)["incident_usd"] == 340.0
    again = add(full, "1", "--corrects", "a", kind=None)
    assert again.code == 2
    assert "was already corrected by b" in again.err
    said = add(full, "1", "--corrects", "c")
    assert said.err.startswith("reviewer: entry c has the kind incident")
    assert add(full, "1", "--corrects", "nothing").code == 2
    plain = full.ok("costs", "list").out
    assert "corrected, does not count" in plain
    text = (full.root / "out" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert "$300.00 (corrected)" in text


@pytest.mark.parametrize(
    "amount", ["-3", "nan", "NaN", "inf", "1e3", "1.1234567", "1000000000", "", "3 EUR", "٣"]
)
def test_what_is_no_amount_is_refused_with_its_place(full: Door, amount: str) -> None:
    said = add(full, amount)
    assert said.code == 2
    assert "--amount" in said.err
    assert "is not an amount in USD" in said.err
    assert listed(full) == []


def test_only_dollars_and_two_kinds(full: Door) -> None:
    assert add(full, "1", "--currency", "EUR").code == 2
    assert add(full, "1", kind="judge").code == 2
    assert add(full, "1", kind=None).code == 2
    assert full.run("costs", "add", *OF_V8).code == 2


def test_a_cost_is_one_of_a_candidate_that_was_judged(full: Door) -> None:
    said = full.run(
        "costs", "add", "--suite", SUITE, "--candidate", "nobody", "--kind", "human", "--amount=1"
    )
    assert said.code == 20
    assert "no trace of nobody" in said.err


def test_identifiers_do_not_get_in(full: Door) -> None:
    assert add(full, "1", "--note", "told jane@example.com").code == 0
    assert "jane@example.com" not in json.dumps(listed(full))
    assert add(full, "1", "--id", "jane@example.com").code == 2
    assert add(full, "1", "--note", "x" * 2000).code == 2


def test_terminal_text_is_inert(full: Door) -> None:
    add(full, "1", "--note", "\x1b[31mred\x1b[0m <b>x</b>")
    assert "\x1b" not in full.ok("costs", "list").out
    cost(full)
    for name in ("report.md", "report.html"):
        text = (full.root / "out" / name).read_text(encoding="utf-8")
        assert "\x1b" not in text
        assert "<b>x</b>" not in text


def test_entries_are_journaled_and_only_ever_added(full: Door) -> None:
    add(full, "5")
    add(full, "6")
    full.healthy()
    entries = full.rows(
        "SELECT json_extract(CAST(body AS TEXT), '$.type') FROM journal ORDER BY seq DESC LIMIT 2"
    )
    assert entries == [("costs.recorded",), ("costs.recorded",)]
    assert full.rows("SELECT kind, amount_usd FROM costs") == [("human", 5), ("human", 6)]
    with contextlib.closing(sqlite3.connect(full.store)) as base:
        for act in ("DELETE FROM cost", "UPDATE cost SET body = x'7b7d'"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                base.execute(act)
        base.execute("DROP TRIGGER cost_no_update")
        base.execute(
            "UPDATE cost SET body = CAST(replace(CAST(body AS TEXT), '5', '4') AS BLOB)"
            " WHERE id = 1"
        )
        base.commit()
    said = full.run("doctor")
    assert said.code != 0
    assert "cost 1" in said.out + said.err


def test_the_same_store_gives_the_same_bytes(full: Door, tmp_path: Path) -> None:
    add(full, "5", "--note", "x")
    cost(full)
    first = (full.root / "out" / "report.json").read_bytes()
    other = copied(full.root, tmp_path / "elsewhere")
    cost(other)
    assert (other.root / "out" / "report.json").read_bytes() == first


# another person's store ---------------------------------------------------------------------------


def test_merge_brings_entries_and_counts_none_twice(full: Door, tmp_path: Path) -> None:
    add(full, "3", "--id", "both", "--reviewer", "kim")
    other = copied(full.root, tmp_path / "other")
    add(full, "5", "--id", "mine")
    add(other, "7", "--id", "theirs", kind="incident")
    add(other, "4", "--id", "fixed", "--corrects", "both", kind=None)
    said = full.ok("merge", other.store)
    assert "costs: 2 added, 1 already there" in said.out
    assert (cost(full)["human_usd"], cost(full)["incident_usd"]) == (9.0, 7.0)
    assert "costs: 0 added, 3 already there" in full.ok("merge", other.store).out
    full.healthy()


def test_two_people_who_enter_the_same_bill_enter_it_once(full: Door, tmp_path: Path) -> None:
    other = copied(full.root, tmp_path / "other")
    add(full, "3", "--id", "bill", "--reviewer", "kim")
    add(other, "3", "--id", "bill", "--reviewer", "dana")
    assert "costs: 0 added, 1 already there" in full.ok("merge", other.store).out
    assert cost(full)["human_usd"] == 3.0


def test_an_id_that_stands_for_another_amount_is_refused(full: Door, tmp_path: Path) -> None:
    other = copied(full.root, tmp_path / "other")
    add(full, "3", "--id", "bill")
    add(other, "4", "--id", "bill")
    said = full.run("merge", other.store)
    assert said.code == 20
    assert "exists here with another amount" in said.err
    assert cost(full)["human_usd"] == 3.0
