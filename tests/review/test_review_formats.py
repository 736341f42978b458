"""The examples of docs/formats.md are what they say, and reading labels back costs little."""

import json
import re
import subprocess
import sys
from pathlib import Path

from reviewer.review.labels import read_labels
from reviewer.review.pattern_names import PATTERN_NAMES
from reviewer.review.records import NOTES
from reviewer.review.wording import check_wording
from reviewer.suite.check import check_suite


def example(repository: Path, kind: str) -> bytes:
    text = (repository / "docs" / "formats.md").read_text("utf-8")
    (found,) = re.findall(rf"^<!-- example: {kind} -->\n```json\n(.*?)^```$", text, re.M | re.S)
    return found.encode()


def test_the_example_rubric_belongs_to_the_example_suite(repository: Path) -> None:
    files = {
        "suite.json": example(repository, "suite"),
        "episodes/damaged-1.json": example(repository, "episode"),
        "toolset.json": example(repository, "toolset"),
        "rubric.json": example(repository, "rubric"),
    }
    checked = check_suite(files)
    assert checked.problems == ()
    assert checked.rubric is not None
    (said,) = check_wording(checked.rubric, "damaged-1", "Your label is on its way.")
    assert said.holds is True


def test_the_example_label_is_a_label(repository: Path) -> None:
    text = example(repository, "label")
    (label,) = read_labels(json.dumps(json.loads(text)).encode())
    assert label.uid in text.decode()
    assert label.winner == label.right


def test_the_example_note_is_a_note(repository: Path) -> None:
    text = example(repository, "note")
    (note,) = NOTES.read_file(json.dumps(json.loads(text)).encode())
    assert note.uid in text.decode()


def test_the_example_pattern_name_is_one(repository: Path) -> None:
    text = example(repository, "pattern-name")
    (name,) = PATTERN_NAMES.read_file(json.dumps(json.loads(text)).encode())
    assert name.uid in text.decode()


def test_what_a_report_needs_of_labels_loads_nothing_heavy() -> None:
    program = """
import sys
from reviewer.review import agreement, items, labels, queue
from reviewer.review import wording
agreement.agreement([]), labels.latest([]), agreement.settled([])
heavy = ("numpy", "scipy", "pydantic", "rapidfuzz", "sqlite3", "httpx", "textual", "re2")
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
