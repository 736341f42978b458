"""What msgspec learns of a type by using it, it has learned before any thread can use it."""

import subprocess
import sys

import pytest

USES = {
    "a suite": """
from reviewer.suite import candidate, values
use = [
    lambda: values.policy_value({}), lambda: values.converted({}, values.RedactionRules, ""),
    lambda: values.episode_value({"episode_id": "e"}),
    lambda: values.converted({}, values.JudgePrompt, ""),
    lambda: values.converted({"rubric_id": "r"}, values.Rubric, ""),
    lambda: values.converted({"tools": []}, values.Toolset, ""),
    lambda: candidate.candidate_value({}, ""),
]
""",
    "a script": """
import msgspec
from reviewer.suite.script import Script
use = [lambda: msgspec.convert({"episodes": {"e": {"plans": {"p": {"turns": []}}}}}, Script)]
""",
    "labels": """
from reviewer.review.labels import LABELS
use = [lambda: LABELS.stored(b"{}")]
""",
    "judgments": """
from reviewer.review.judgments import JUDGMENTS
use = [lambda: JUDGMENTS.stored(b"{}")]
""",
    "notes": """
from reviewer.review.records import NOTES
use = [lambda: NOTES.stored(b"{}")]
""",
    "views": """
import msgspec
from reviewer.desk.scorecards.filters import SavedView
use = [lambda: msgspec.convert({}, SavedView)]
""",
}
WATCHED = """
import contextlib, sys, msgspec
from reviewer.suite.errors import ContractError
learning = []
def watch(frame, event, _):
    if event == "call" and frame.f_code.co_name == "get_class_annotations":
        learning.append(frame)
{loaded}
sys.setprofile(watch)
for once in use:
    with contextlib.suppress(ContractError, msgspec.ValidationError):
        once()
sys.setprofile(None)
print(len(learning))
"""


def learned_in_use(body: str) -> int:
    done = subprocess.run(
        [sys.executable, "-P", "-c", WATCHED.format(loaded=body)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.parametrize("name", USES)
def test_nothing_is_left_to_learn(name: str) -> None:
    assert learned_in_use(USES[name]) == 0


def test_the_watch_sees_what_is_learned() -> None:
    body = """
class Fresh(msgspec.Struct):
    x: int
use = [lambda: msgspec.convert({"x": 1}, Fresh)]
"""
    assert learned_in_use(body) == 1
