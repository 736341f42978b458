"""`reviewer settings`, and the file it speaks of."""

import json
import string
import tomllib
from pathlib import Path

import pytest
from doors import Door
from hypothesis import given
from hypothesis import strategies as st
from textual.keys import _character_to_key

from reviewer.tui.settings.keys import FIXED, defaults, key_name, remappable, written
from reviewer.tui.settings.settings import (
    DEFAULT,
    OPTIONS,
    THEMES,
    Settings,
    documented,
    place,
    read,
    read_text,
)


def settings(door: Door, text: str | bytes) -> Path:
    file = door.root / "settings.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_without_a_file_every_value_is_the_default(door: Door) -> None:
    said = door.ok("settings")
    assert "there is none: every value is the default" in said.out
    assert all(line.endswith(DEFAULT) for line in said.out.splitlines()[2:])


def test_each_value_comes_with_the_line_that_says_it(door: Door) -> None:
    file = settings(door, 'theme = "light"\n\n[keys]\n"next" = ["Y", "ctrl+x"]\nmove.up = "W"\n')
    said = door.ok("--settings", file, "settings").out
    assert f"{file} line 1" in said
    assert "Y ctrl+x (was n)" in said
    assert "W ↑ (was k ↑)" in said
    assert f"{file} line 5" in said
    found = json.loads(door.ok("--settings", file, "--no-mouse", "settings", "--json").out)
    assert found["settings"]["keys"] == {"next": ["Y", "ctrl+x"], "move.up": ["W"]}
    assert found["settings"]["mouse"] is False
    assert found["from"]["mouse"] == "--no-mouse"


def test_the_file_is_that_of_the_option_then_of_the_variable_then_of_the_person(
    door: Door, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, theme in (("own", "light"), ("variable", "contrast"), ("option", "ansi")):
        folder = tmp_path / name / "reviewer"
        folder.mkdir(parents=True)
        (folder / "settings.toml").write_text(f'theme = "{theme}"\n')

    def theme(*options: object) -> str:
        return json.loads(door.ok(*options, "--json", "settings").out)["settings"]["theme"]

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    assert theme() == "light"
    monkeypatch.setenv("REVIEWER_SETTINGS", str(tmp_path / "variable/reviewer/settings.toml"))
    assert theme() == "contrast"
    assert theme("--settings", tmp_path / "option/reviewer/settings.toml") == "ansi"


def test_the_folder_of_a_person_is_absolute_or_else_the_usual_one() -> None:
    usual = Path("/home/dana/.config/reviewer/settings.toml")
    assert place("", {"HOME": "/home/dana"}) == (usual, "")
    assert place("", {"HOME": "/home/dana", "XDG_CONFIG_HOME": "here"}) == (usual, "")
    assert place("", {"HOME": "/h", "XDG_CONFIG_HOME": "/x"})[0] == Path(
        "/x/reviewer/settings.toml"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("theme = ", "not TOML: Invalid value (at end of document)"),
        (b"\xff\xfe", "not UTF-8 text"),
        ("theme = 3", 'line 1: theme: 3 is not one of "auto"'),
        ("mouse = 1", "line 1: mouse: 1 is not one of true, false"),
        ("mouse = 'yes'", "line 1: mouse: 'yes' is not one of true, false"),
        ("\n\nthene = 'dark'", "line 3: thene: there is no such setting; theme is near"),
        ("keys = 3", "line 1: keys: must be a table"),
        ("[keys]\nnext = 3", "line 2: keys.next: must be a key"),
        ("[keys]\nnext = []", "line 2: keys.next: must be a key"),
        ("[keys]\nnext = 'nn'", "line 2: keys.next: 'nn' is not a key"),
        ("[keys]\nnext = '5'", "line 2: keys.next: 5 keeps its meaning"),
        ("[keys]\nnext = 'ctrl+m'", "line 2: keys.next: ctrl+m keeps its meaning"),
        ("[keys]\nenter = 'x'", "line 2: keys.enter: its keys stay as they are"),
        ("[keys]\n'next' = 'f'", "keys: failing and next are both on f, on the screen"),
        ("[keys]\n'undo' = 'N'\n", ""),
    ],
)
def test_what_a_file_may_not_say_is_refused_by_place(
    door: Door, text: str | bytes, words: str
) -> None:
    said = door.run("--settings", settings(door, text), "settings")
    assert words in said.err
    assert said.code == (20 if words else 0)


def test_a_file_that_is_named_must_be_there_and_be_one(door: Door) -> None:
    said = door.run("--settings", door.root / "none.toml", "settings")
    assert said.code == 20
    assert "--settings names" in said.err
    assert "not a settings file" in door.run("--settings", door.root, "settings").err
    assert "not a settings file" in door.run("--settings", "/dev/null", "settings").err


def test_what_is_refused_leaves_its_default_and_the_rest_stands() -> None:
    found = read_text("mouse = false\ntheme = 'no'\n[keys]\nnext = 'ü'\nsort = ''\n", Path("f"))
    assert (found.mouse, found.theme, dict(found.keys)) == (False, "auto", {"next": ("ü",)})
    assert len(found.refused) == 2


def test_hostile_text_in_a_file_cannot_steer_the_terminal(door: Door) -> None:
    file = settings(door, 'theme = "\\u001b[2J\\u202e"\n"\\u001b]0;x" = 1\n')
    said = door.run("--settings", file, "settings")
    assert said.code == 20
    assert "\x1b" not in said.both
    assert "\u202e" not in said.both


# the documented file


def test_the_documented_file_says_every_default_and_changes_nothing(door: Door) -> None:
    text = door.ok("settings", "--defaults").out
    assert text == documented()
    plain = tomllib.loads(text)
    assert {name: plain[name] for name in plain if name != "keys"} == {
        option.name: option.default for option in OPTIONS
    }
    assert list(plain["keys"]) == list(remappable())
    found = read_text(text, Path("f"))
    assert found._replace(file=None, origin={}) == Settings()
    assert all(name in text for name in THEMES)


def test_settings_of_one_person_never_reach_a_report(door: Door) -> None:
    file = settings(door, "theme = broken")
    door.ok("import", door.suite / "traces")
    plain = door.run("--json", "--export-report", door.root / "a", "--candidate", "refund-agent-v7")
    told = door.run(
        "--settings", file, "--json", "--export-report", door.root / "b",
        "--candidate", "refund-agent-v7",
    )  # fmt: skip
    assert plain.code == told.code == 10
    assert (door.root / "a/report.json").read_bytes() == (door.root / "b/report.json").read_bytes()


# keys


def test_every_sign_of_a_keyboard_is_a_key_and_is_written_as_itself() -> None:
    for sign in string.printable.strip():
        name = key_name(sign)
        assert name == _character_to_key(sign)
        assert name is not None
        assert written(name) == sign


def test_every_verb_is_either_fixed_or_may_be_moved() -> None:
    assert set(remappable()) == set(defaults()) - FIXED
    assert {"quit"} == FIXED - set(defaults())
    for keys in remappable().values():
        for key in keys:
            assert key_name(written(key)) == key or key_name(key) == key


@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_read_without_failing(text: str) -> None:
    found = read_text(text, Path("f"))
    assert found.theme in THEMES
    assert isinstance(found.mouse, bool)
    for words in found.refused:
        assert words.startswith("f")


names = st.sampled_from([*remappable(), *FIXED, "nexd", "theme", ""])
values = (
    st.sampled_from(["x", "", "ctrl+x", "Enter", "5", "é", "ab"]) | st.integers() | st.booleans()
)


@given(st.dictionaries(names, values | st.lists(values, max_size=3), max_size=5))
def test_a_keys_table_gives_keys_or_reasons_and_never_both(table: dict[str, object]) -> None:
    text = "[keys]\n" + "".join(
        f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in table.items()
    )
    found = read_text(text, Path("f"))
    named = {words.split(": ")[1].removeprefix("keys.") for words in found.refused}
    assert named.isdisjoint(found.keys)
    for verb, keys in found.keys.items():
        assert verb in remappable()
        assert all(key_name(written(key)) or key_name(key) for key in keys)


def test_reading_never_fails_on_what_cannot_be_read(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert read(str(loop)).refused
    assert read(str(tmp_path / ("x" * 300))).refused
    large = tmp_path / "large"
    large.write_bytes(b"#" * (1 << 21))
    assert "not a settings file" in read(str(large)).refused[0]
