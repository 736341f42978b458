"""The recommendation that screens ask for is the report's, without the report's soft figures."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from doors import SUITE, V7, V8, Door, environment, passing
from labelers import drafted, labeled, labeler

from reviewer.desk.place import at
from reviewer.desk.workspace.api import load_shipped


def shipped_labels(door: Door) -> None:
    load_shipped(at(door.root))


def two_people(door: Door) -> None:
    labeled(door, "dana")
    labeled(door, "kim", lambda item: "left")


def wanting_pairs(door: Door) -> None:
    """A version of the suite that wants four labeled pairs."""
    path = door.suite / "suite.json"
    suite = json.loads(path.read_text())
    suite["policy"]["labels"] = {"min_pairs": 4}
    path.write_text(json.dumps(suite))
    door.ok("suite", "freeze", SUITE, "--as", "wanting-v1")


def thumbs_down(door: Door) -> None:
    source = {"user_feedback": "thumbs_down"}
    said = [passing(candidate_id=V8, attempt=4, nonce=9, source=source)]
    assert door.take("late.jsonl", said).code == 0


def closed(door: Door) -> None:
    thumbs_down(door)
    with labeler(door) as desk:
        session = desk.labels.session(SUITE, V8, kind="message")
        item = desk.labels.next_item(session)
        assert item is not None
        desk.labels.record(session, drafted(item))


@pytest.mark.parametrize("made", [shipped_labels, two_people, thumbs_down, closed])
def test_it_is_the_reports_own(full: Door, made: Callable[[Door], None]) -> None:
    made(full)
    desk = full.desk()
    with desk.opened.reading() as connection:
        for name in (V7, V8):
            quick = desk.opened.reports.assessed(connection, SUITE, name)
            whole = desk.opened.reports.build(connection, SUITE, name)
            assert quick.assessment == whole.assessment
            assert desk.scorecards.card(SUITE, name).recommendation == whole.report.recommendation


def test_missing_pairs_hold_it_too(door: Door) -> None:
    wanting_pairs(door)
    traces = door.suite / "traces" / f"{V8}.jsonl"
    door.ok("import", traces, "--suite", "wanting-v1", "--candidate", V8)
    desk = door.desk()
    with desk.opened.reading() as connection:
        quick = desk.opened.reports.assessed(connection, "wanting-v1", V8)
        assert quick.assessment.needs == ("4 more labelled pairs",)
        whole = desk.opened.reports.build(connection, "wanting-v1", V8)
        assert whole.assessment == quick.assessment


SOFT = ("review.calibration", "review.agreement", "review.judg", "stats.judge", "desk.judge.")
LOADED = """
import sys
from pathlib import Path
from reviewer.desk.desk import Desk
from reviewer.desk.place import at
desk = Desk(at(Path(sys.argv[1])))
{act}
print(*[n for n in sys.modules if n.startswith("reviewer.")])
"""


def soft_after(root: Path, act: str) -> list[str]:
    program = [sys.executable, "-P", "-c", LOADED.format(act=act), str(root)]
    told = subprocess.run(
        program, capture_output=True, text=True, check=True, timeout=60, env=environment()
    )
    loaded = [name.removeprefix("reviewer.") for name in told.stdout.split()]
    return [name for name in loaded if name.startswith(SOFT) and name != "desk.judge.api"]


def test_a_scorecard_loads_nothing_of_judges_and_agreement(full: Door) -> None:
    shipped_labels(full)
    act = (
        f"desk.workspace.opening(); desk.workspace.candidates({SUITE!r});"
        f"desk.scorecards.card({SUITE!r}, {V8!r})"
    )
    assert soft_after(full.root, act) == []


def test_a_report_with_judgments_loads_all_of_it(full: Door) -> None:
    """Each prefix names modules that there are: one that matches nothing would find nothing."""
    shipped_labels(full)
    found = soft_after(full.root, f"desk.reports.build({SUITE!r}, {V8!r}).raw")
    assert [prefix for prefix in SOFT if not any(n.startswith(prefix) for n in found)] == []


def test_a_report_without_a_judgment_loads_no_judge(full: Door) -> None:
    found = soft_after(full.root, f"desk.reports.build({SUITE!r}, {V8!r}).raw")
    assert [name for name in found if "judg" in name or "calibration" in name] == []
