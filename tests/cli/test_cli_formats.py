"""`reviewer formats`: what is read, what is refused by name, and which reader takes a file."""

import json
from pathlib import Path

import pytest
from doors import REPOSITORY

from reviewer.cli.main import main
from reviewer.importing.formats import OURS

DATA = REPOSITORY / "tests" / "data"


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["formats", *words])
    return code, capsys.readouterr().out


def test_all_formats_are_listed_with_what_they_lack(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = asked(capsys, "--json")
    told = json.loads(text)
    assert code == 0
    assert len(told["formats"]) == len(OURS) + 1
    by_name = {one["name"]: one for one in told["formats"]}
    assert "cost" in by_name["tau-bench"]["not_measured"]
    assert "steps" not in by_name["tau-bench"]["not_measured"]
    assert not by_name["native"]["probe"]
    assert len(told["refused_by_name"]) == len(set(told["refused_by_name"])) > 50
    code, text = asked(capsys, "--plain")
    assert f"{len(OURS) + 1} formats; {len(told['refused_by_name'])} more" in text


def test_a_format_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = asked(capsys, "show", "agentlab")
    assert code == 0
    assert "steps: not measured" in text
    assert "certifies no release" in text
    with pytest.raises(SystemExit) as left:
        raise SystemExit(main(["formats", "show", "nothing"]))
    assert left.value.code == 2


def test_check_says_which_reader_takes_a_file_and_why(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = DATA / "messages" / "anthropic-messages.json"
    code, text = asked(capsys, "check", str(file), "--json")
    (claim,) = json.loads(text)["files"]
    assert code == 0
    assert claim["reader"] == "anthropic-messages"
    assert "tool_use" in claim["by"]
    assert claim["also"] == ["openai-chat"]
    unknown = tmp_path / "chat.json"
    unknown.write_text(json.dumps({"mapping": {}, "current_node": "x"}))
    code, text = asked(capsys, "check", str(unknown))
    assert code == 20
    assert "a ChatGPT export: there is no reader for it" in text


def test_check_of_a_folder_names_each_file_and_imports_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, text = asked(capsys, "check", str(DATA / "harbor" / "job"))
    assert code == 0
    assert ": harbor\n" in text
    assert "read with it" in text
    assert not list(tmp_path.iterdir())


def test_check_needs_a_file_and_names_one_that_is_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["formats", "check"]) == 2
    capsys.readouterr()
    code, text = asked(capsys, "check", str(tmp_path / "none\x1b[31m.json"))
    assert code == 20
    assert "No such file" in text
    assert "\x1b" not in text
