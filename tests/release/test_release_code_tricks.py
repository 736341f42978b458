"""Ways to run other code than is measured: each is measured after all, or holds."""

import importlib.util
import json
import os
import py_compile
from pathlib import Path

import pytest
from doors import Door
from lamps import AGENT, SUITE_ID, Lamp, reasons, signed, verified

from reviewer.running import attempt
from reviewer.running.measure import Begun
from reviewer.running.model import Task
from reviewer.running.sandbox.protection import protection

isolated = pytest.mark.skipif(protection().kind == "none", reason="nothing is isolated here")


def speaking(first: str = "") -> str:
    """The agent, with its last words from a module."""
    text = AGENT.replace("import json, sys", f"import json, sys\n{first}\nfrom words import WORDS")
    return text.replace('"It is mended."', "WORDS")


def words(text: str) -> str:
    return f"WORDS = {text!r}\n"


def measured(lamp: Lamp) -> str:
    """The digest that the candidate's code has now."""
    said = lamp.door.ok("suite", "code", SUITE_ID, "lamp-agent", "--json")
    return str(json.loads(said.out)["code_sha256"])


def test_a_script_that_was_another_one_only_while_it_ran_holds(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    lamp = Lamp(door)
    lamp.pin()
    again = attempt.changed_code

    def restored(task: Task, first: Begun) -> str | None:
        """The script was replaced when it had been measured, and is put back before it is again."""
        lamp.agent.write_text("import os\n", encoding="utf-8")
        lamp.agent.write_text(AGENT, encoding="utf-8")
        return again(task, first)

    monkeypatch.setattr(attempt, "changed_code", restored)
    lamp.run("--jobs", 1)
    report = lamp.report()
    assert "its files were written during 2 attempts of lamp-agent" in reasons(report)
    assert report["ran"]["codes"][0]["pinned"]


def test_a_folder_that_was_another_one_only_while_it_ran_holds(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    lamp = Lamp(door)
    lamp.pin()
    again, home = attempt.changed_code, lamp.agent.parent

    def swapped(task: Task, first: Begun) -> str | None:
        home.rename(home.with_name("aside"))
        home.with_name("aside").rename(home)
        return again(task, first)

    monkeypatch.setattr(attempt, "changed_code", swapped)
    lamp.run("--jobs", 1)
    assert "its files were written during 2 attempts" in reasons(lamp.report())


def test_a_manifest_that_is_written_meanwhile_is_no_other_code(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    lamp = Lamp(door)
    lamp.pin()
    again = attempt.changed_code

    def written(task: Task, first: Begun) -> str | None:
        lamp.manifest("lamp-agent-2")
        return again(task, first)

    monkeypatch.setattr(attempt, "changed_code", written)
    lamp.run("--jobs", 1)
    assert lamp.report()["recommendation"] == "promote"


def test_a_linked_script_is_measured_with_the_folder_that_it_imports_from(
    door: Door, tmp_path: Path
) -> None:
    lamp = Lamp(door)
    home = tmp_path / "elsewhere"
    home.mkdir()
    (home / "agent.py").write_text(speaking(), encoding="utf-8")
    (home / "words.py").write_text(words("It is mended."), encoding="utf-8")
    lamp.agent.unlink()
    lamp.agent.symlink_to(home / "agent.py")
    before = measured(lamp)
    (home / "words.py").write_text(words("It is not."), encoding="utf-8")
    assert measured(lamp) != before
    before = measured(lamp)
    lamp.agent.unlink()
    lamp.agent.symlink_to(home / "words.py")
    assert measured(lamp) != before


def test_a_module_of_a_sibling_folder_is_measured(door: Door) -> None:
    lamp = Lamp(door)
    text = "sys.path.insert(0, __file__.rpartition('/lamp/')[0] + '/shared')"
    lamp.agent.write_text(speaking(text), encoding="utf-8")
    shared = lamp.folder / "candidates" / "shared" / "words.py"
    shared.parent.mkdir()
    shared.write_text(words("It is mended."), encoding="utf-8")
    digest = lamp.pin()
    lamp.run()
    assert lamp.report()["recommendation"] == "promote"
    file = signed(door, SUITE_ID, "lamp-agent")
    manifest = lamp.folder / "candidates" / "lamp-agent.json"
    assert verified(door, file, manifest, "--candidate-folder", lamp.folder).code == 0
    shared.write_text(words("It never was."), encoding="utf-8")
    said = verified(door, file, manifest, "--candidate-folder", lamp.folder)
    assert said.code == 30
    assert f"and {digest} ran" in said.out


def test_code_from_a_variable_that_the_manifest_grants_is_measured(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lamp = Lamp(door)
    lamp.agent.write_text(speaking(), encoding="utf-8")
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "words.py").write_text(words("It is mended."), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(lib))
    lamp.manifest("lamp-agent", environment=["PYTHONPATH"])
    before = measured(lamp)
    (lib / "words.py").write_text(words("It never was."), encoding="utf-8")
    assert measured(lamp) != before
    before = measured(lamp)
    py_compile.compile(str(lib / "words.py"))  # it is not closed to the program, so it is code
    assert measured(lamp) != before


def test_an_argument_elsewhere_is_measured_with_its_folder(door: Door, tmp_path: Path) -> None:
    lamp = Lamp(door)
    home = tmp_path / "opt"
    home.mkdir()
    (home / "agent.py").write_text(speaking(), encoding="utf-8")
    lamp.manifest("lamp-agent", command=["python3", str(home / "agent.py")])
    before = measured(lamp)
    (home / "words.py").write_text(words("It is mended."), encoding="utf-8")
    assert measured(lamp) != before


@isolated
@pytest.mark.parametrize("linked", [False, True])
def test_a_prepared_cache_is_measured_or_closed(door: Door, tmp_path: Path, linked: bool) -> None:
    """A cache behind a link leads out of what is closed, so it counts as code."""
    lamp = Lamp(door)
    lamp.agent.write_text(speaking(), encoding="utf-8")
    source = lamp.agent.with_name("words.py")
    source.write_text(words("It is mended."), encoding="utf-8")
    before = measured(lamp)
    cache = Path(importlib.util.cache_from_source(str(source)))
    if linked:
        (tmp_path / "cache").mkdir()
        cache.parent.symlink_to(tmp_path / "cache")
    other = tmp_path / "words.py"
    other.write_text(words("I was never measured."), encoding="utf-8")
    py_compile.compile(
        str(other), cfile=str(cache),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )  # fmt: skip
    assert (measured(lamp) != before) == linked
    if not linked:
        lamp.pin()
        lamp.run()
        assert "never measured" not in door.ok("show", f"{SUITE_ID}/lamp-agent/lamp/1").out


def test_what_another_manifest_claims_behind_a_link_is_measured(door: Door, tmp_path: Path) -> None:
    """It is not closed to the program, so naming it elsewhere does not take it out of the code."""
    lamp = Lamp(door)
    (tmp_path / "words.py").write_text(words("It is mended."), encoding="utf-8")
    lamp.agent.with_name("words.py").symlink_to(tmp_path / "words.py")
    lamp.manifest("other", command=["python3", "./lamp/words.py"])
    before = measured(lamp)
    (tmp_path / "words.py").write_text(words("It never was."), encoding="utf-8")
    assert measured(lamp) != before


def test_a_link_to_itself_is_named(door: Door) -> None:
    lamp = Lamp(door)
    lamp.agent.with_name("loop").symlink_to("loop")
    said = door.run("suite", "code", SUITE_ID, "lamp-agent")
    assert said.code != 0
    assert "lamp/loop: cannot be measured as the candidate's code" in said.err


def test_a_pipe_in_place_of_the_script_does_not_block(door: Door) -> None:
    lamp = Lamp(door)
    os.mkfifo(lamp.agent.with_name("pipe"))
    said = door.run("run", SUITE_ID, "lamp-agent")
    assert said.code != 0
    assert "not a regular file" in said.both
