"""What judge.json may ask: presets with their places, each once, frozen with the suite."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from contract_examples import files, packed, write

from reviewer.suite.border import json_schema
from reviewer.suite.check import check_suite
from reviewer.suite.folder import locked_files, read_suite, suite_state
from reviewer.suite.freeze import freeze
from reviewer.suite.rubric import JudgePrompt, JudgeQuestion
from reviewer.suite.values import load_trusted_judge

PAIR = "{user_request}{left}{right}"
MESSAGE = "{user_request}{message}"
FAITH = "{user_request}{message}{observations}"


def judge(**changes: Any) -> dict[str, Any]:
    base = {"schema": "reviewer/judge@1", "judge_id": "j", "version": "1", "prompt": PAIR}
    return {**base, **changes}


def read(raw: dict[str, Any]) -> JudgePrompt:
    content = {**files(), "judge.json": packed(raw)}
    checked = check_suite(content)
    assert checked.problems == ()
    assert checked.judge is not None
    assert load_trusted_judge(content) == checked.judge
    return checked.judge


def problem(raw: dict[str, Any]) -> str:
    (found,) = check_suite({**files(), "judge.json": packed(raw)}).problems
    return str(found)


def test_a_judge_that_says_no_more_compares_pairs() -> None:
    assert read(judge()).asks == (JudgeQuestion(preset="pairwise", prompt=PAIR),)


def test_one_judge_may_be_asked_several_things() -> None:
    also = [
        {"preset": "completion", "prompt": MESSAGE},
        {"preset": "correctness-completeness-relevance", "prompt": MESSAGE},
        {"preset": "faithfulness", "prompt": FAITH},
    ]
    made = read(judge(also=also))
    assert [asked.preset for asked in made.asks] == [
        "pairwise", "completion", "correctness-completeness-relevance", "faithfulness",
    ]  # fmt: skip
    assert made.asks[3].prompt == FAITH
    assert read(judge(preset="completion", prompt=MESSAGE)).asks[0].preset == "completion"


@pytest.mark.parametrize(
    ("changes", "where", "word"),
    [
        ({"preset": "completion"}, "$", "no place for {message}"),
        ({"preset": "completion", "prompt": MESSAGE + "{left}"}, "$", "in place of {left}"),
        ({"preset": "faithfulness", "prompt": MESSAGE}, "$", "no place for {observations}"),
        ({"preset": "completion", "prompt": FAITH}, "$", "in place of {observations}"),
        ({"prompt": PAIR + "{message}"}, "$", "in place of {message}"),
        ({"preset": "best-of-three"}, "$.preset", "pairwise"),
        ({"also": [{"preset": "pairwise", "prompt": PAIR}]}, "$", "`pairwise` twice"),
        ({"also": [{"preset": "completion", "prompt": PAIR}]}, "$.also[0]", "{message}"),
        (
            {"also": [{"preset": "completion", "prompt": MESSAGE, "modell": "x"}]},
            "$.also[0].modell",
            "unknown key",
        ),
    ],
)
def test_a_prompt_that_does_not_fit_its_preset_is_refused(
    changes: dict[str, Any], where: str, word: str
) -> None:
    found = problem(judge(**changes))
    assert found.startswith(f"judge.json: {where}: ")
    assert word in found


def test_the_example_on_the_page_is_a_judge(repository: Path) -> None:
    text = (repository / "docs" / "formats.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^<!-- example: judge -->\n```json\n(.*?)^```$", text, re.M | re.S)
    assert [asked.preset for asked in read(json.loads(example)).asks] == ["pairwise", "completion"]


def test_the_presets_stand_in_the_published_schema() -> None:
    schema = json_schema("judge")
    assert set(schema["properties"]["preset"]["enum"]) == {
        "pairwise", "correctness-completeness-relevance", "completion", "faithfulness",
    }  # fmt: skip
    assert "also" in schema["properties"]


def test_the_judge_is_under_the_lock_and_what_it_said_is_not(tmp_path: Path) -> None:
    content = {**files(), "judge.json": packed(judge())}
    folder = write(tmp_path / "small-v1", content)
    digest = freeze(folder)
    write(folder, {"labels/a.jsonl": b"{}\n", "judgments/b/c.jsonl": b"{}\n"})
    assert set(locked_files(folder)) == set(content)
    assert (suite_state(folder).state, suite_state(folder).digest) == ("frozen", digest)
    assert read_suite(folder).judge is not None
    write(folder, {"judge.json": packed(judge(version="2"))})
    assert suite_state(folder).state == "broken"
