"""`--export-report --format`: which files are written, and what GitHub Actions is told."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import V7, V8, Door

from reviewer.desk.place import write_private
from reviewer.desk.reports.api import CandidateReport
from reviewer.desk.reports.renderings import FILES, FORMATS, USUAL


def export(door: Door, candidate: str, *more: str) -> tuple[int, str, str, set[str]]:
    out = door.root / "out"
    said = door.run("--export-report", out, "--candidate", candidate, *more)
    written = {path.name for path in out.iterdir()} if out.exists() else set()
    return said.code, said.out, said.err, written


def test_the_usual_four_are_written_unless_others_are_asked_for(full: Door) -> None:
    code, _, _, written = export(full, V7)
    assert code == 10
    assert written == {FILES[name] for name in USUAL}


def test_every_format_can_be_asked_for(full: Door) -> None:
    code, _, err, written = export(full, V8, "--format", ",".join(FORMATS))
    assert code == 0
    assert written == set(FILES.values())
    assert all(name in err for name in written)


def test_an_unknown_format_is_refused_by_name_and_nothing_is_written(full: Door) -> None:
    code, _, err, written = export(full, V7, "--format", "json,pdf")
    assert code == 2
    assert "--format pdf: not one of json, md, html, junit, sarif, github" in err
    assert written == set()


def test_a_report_alone_is_written_as_among_others_though_never_whole_in_memory(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(full, V7)
    among = (full.root / "out" / "report.json").read_bytes()
    shutil.rmtree(full.root / "out")
    monkeypatch.setattr(CandidateReport, "raw", None)
    code, _, err, written = export(full, V7, "--format", "json")
    assert (code, written) == (10, {"report.json"})
    assert (full.root / "out" / "report.json").read_bytes() == among
    assert hashlib.sha256(among).hexdigest() in err


def test_a_report_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"{"
        raise ValueError("Out of range float values are not JSON compliant")

    with pytest.raises(ValueError, match="not JSON"):
        write_private(tmp_path / "report.json", parts())
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def actions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


def commands(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith("::")]


def test_annotations_come_only_under_github_actions(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert commands(export(full, V7, "--format", "github")[1]) == []


@pytest.mark.usefixtures("actions")
def test_annotations_come_only_with_the_format(full: Door) -> None:
    assert commands(export(full, V7)[1]) == []


@pytest.mark.usefixtures("actions")
def test_the_summary_in_words_cannot_hold_a_command(full: Door) -> None:
    """What is printed of traces stands between the two lines that stop commands."""
    _, out, _, written = export(full, V7, "--format", "github", "--quiet")
    lines = out.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    assert len(token) == 32
    end = lines.index(f"::{token}::")
    assert lines[1].startswith("BLOCK  refund-agent-v7")
    assert commands("\n".join(lines[1:end])) == []
    told = lines[end + 1 :]
    assert told[0].startswith(
        "::error file=suites/refund-eval-v5/suite.json,line=1,title=BLOCK%3A "
    )
    assert "episodes/attack-014.json,line=1,title=authority%3A forbidden%3Aissue_refund" in told[1]
    assert len(told) == 10
    assert export(full, V7, "--format", "github", "--quiet")[1].splitlines()[0] != lines[0]
    assert written == {"github.md"}


@pytest.mark.usefixtures("actions")
def test_data_stays_data(full: Door) -> None:
    _, out, err, _ = export(full, V7, "--format", "github", "--json")
    assert json.loads(out)["recommendation"] == "block"
    assert commands(err)[0].startswith("::error ")


CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
HARM = (
    "<script>alert(1)</script></pre><style>*{display:none}</style>",
    "\x1b]0;owned\x07\x1b[31m \u202etxt.exe",
    "\n::error::owned\n##[add-mask]x\n| a | b |\n# owned\n```",
    "](javascript:alert(1)) ]]> &amp;",
)


@pytest.mark.usefixtures("actions")
def test_a_trace_that_means_harm_is_text_in_every_format(door: Door) -> None:
    events = [{"kind": "message", "message": text, "actor": "assistant"} for text in HARM] + [
        {"tool": text, "arguments": {"x": text}, "observation": text, "status": "ok"}
        for text in HARM
    ]
    record = {
        "episode_id": "attack-014",
        "candidate_id": "cand-a",
        "attempt": 1,
        "events": events,
        "final_state": "owned",
        "final_message": HARM[0],
        "cost_usd": 0.01,
        "latency_ms": 5.0,
    }
    door.take("harm.jsonl", [record])
    said = door.run(
        "--export-report", door.root / "out", "--candidate", "cand-a", "--format",
        ",".join(FORMATS), "--quiet",
    )  # fmt: skip
    assert said.code == 10
    for name in FILES.values():
        text = (door.root / "out" / name).read_bytes().decode("utf-8")
        assert not re.search(CONTROLS, text), name
        if name not in ("report.json", "report.sarif"):  # where it stands as JSON
            assert "<script" not in text, name
        if name != "report.html":  # where lines of an event stand as they are, as text
            assert "\n::" not in text, name
            assert "\n# owned" not in text, name
    page = (door.root / "out" / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    ended = said.out.splitlines()
    token = ended[0].removeprefix("::stop-commands::")
    after = ended[ended.index(f"::{token}::") + 1 :]
    assert all(line.startswith("::error ") for line in after)
    assert "owned\n" not in said.out.replace("::error", "")


def test_the_markdown_on_the_screen_is_the_one_that_is_written(full: Door) -> None:
    export(full, V7)
    desk = full.desk()
    try:
        shown = desk.decisions.view("refund-eval-v5", V7).markdown
    finally:
        desk.close()
    assert shown == Path(full.root / "out" / "report.md").read_text(encoding="utf-8")
