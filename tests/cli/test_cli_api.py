"""`reviewer.api`: the examples of docs/api.md, and what it gives beside the command line."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reviewer import api

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
SUITE, CANDIDATE = "refund-eval-v5", "refund-agent-v7"
SHOWN = re.findall(r"```python\n(.*?)```.*?```text\n(.*?)```", PAGE.read_text("utf-8"), re.S)


@pytest.mark.parametrize(("program", "printed"), SHOWN, ids=["desk", "stats"])
def test_the_examples_print_what_the_page_says(program: str, printed: str) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(program, str(PAGE), "exec"), {"__name__": "example"})
    assert said.getvalue() == printed


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with api.make_workspace(tmp_path_factory.mktemp("api"), example=True) as made:
        made.run(SUITE, CANDIDATE)
        yield made


def test_the_report_is_that_of_the_command(desk: api.Workspace, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "reviewer", "--workspace", str(desk.folder)]
    command += ["--export-report", str(tmp_path), "--suite", SUITE, "--candidate", CANDIDATE]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    report = desk.report(SUITE, CANDIDATE)
    assert report.data == (tmp_path / "report.json").read_bytes()
    assert report.exit_code == done.returncode == 10
    assert (report.recommendation, len(report.reasons)) == ("block", 3)
    assert report.document.suite.suite_id == SUITE


def test_traces_are_read_with_their_verdicts(desk: api.Workspace) -> None:
    names = desk.trace_ids(SUITE, CANDIDATE)
    assert len(names) == 9
    traces = [desk.trace(name) for name in names]
    assert [trace.trace_id for trace in traces] == names
    assert sum(trace.mark == "pass" for trace in traces) == 6
    for trace in traces:
        assert len(desk.events(trace.trace_id)) == trace.events


def test_an_import_says_what_came_of_each_file(desk: api.Workspace, tmp_path: Path) -> None:
    file = tmp_path / "none.jsonl"
    file.write_text("{}\n")
    (result,) = desk.import_traces(file)
    assert (result.path, result.added, result.refused) == (str(file), 0, 1)


def test_a_refusal_is_a_desk_error(desk: api.Workspace, tmp_path: Path) -> None:
    with pytest.raises(api.DeskError, match="no trace of nobody"):
        desk.report(SUITE, "nobody")
    with pytest.raises(api.DeskError, match="is not a workspace"):
        api.open_workspace(tmp_path / "nowhere")


def test_verifying_answers_for_any_bytes(tmp_path: Path) -> None:
    for name in ("decision", "manifest", "signers"):
        (tmp_path / name).write_bytes(b"{}")
    result = api.verify(tmp_path / "decision", tmp_path / "manifest", tmp_path / "signers")
    assert (result.exit_code, result.decision) == (20, None)


def test_the_import_is_light() -> None:
    program = "import sys, reviewer.api; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    heavy = {"textual", "rich", "httpx", "numpy", "scipy", "pydantic", "msgspec", "sqlite3"}
    assert loaded & heavy == set()
    assert "reviewer.desk" not in done.stdout.split()
