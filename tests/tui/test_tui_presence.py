"""Two people at one workspace see that the other is there, and nothing of what they label."""

import json
import os
from pathlib import Path

import pytest
from doors import Door
from test_tui_screens import running
from textual.keys import _character_to_key
from tui_probe import press, screen_text, settle, until

from reviewer.desk.desk import Desk
from reviewer.desk.place import at
from reviewer.desk.presence import api
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.dialogs.who import WhoScreen
from reviewer.tui.settings.keys import SHOWN
from reviewer.tui.settings.settings import Settings


def of(door: Door, name: str) -> Desk:
    return Desk(at(door.root), reviewer=name)


def watching(desk: Desk, **settings: bool) -> ReviewerApp:
    return ReviewerApp(desk, ascii_only=False, settings=Settings(**settings))  # type: ignore[arg-type]


def folder(door: Door) -> Path:
    return door.root / "store" / "presence"


async def test_who_is_here_is_named_and_who_left_too(full: Door) -> None:
    kim, dana = of(full, "kim"), of(full, "dana")
    app = watching(dana)
    async with running(app) as pilot:
        kim.presence.here("queue")
        await until(pilot, lambda: "live · kim" in screen_text(app).splitlines()[0])
        await settle(pilot)
        await press(pilot, "at")
        lines = [line for line in screen_text(app).splitlines() if "●" in line]
        assert ["dana" in lines[0], "you" in lines[0], "scorecard" in lines[0]] == [True] * 3
        assert ["kim" in lines[1], "you" in lines[1], "queue" in lines[1]] == [True, False, True]
        kim.presence.here("label")
        await until(pilot, lambda: "label" in screen_text(app))
        kim.presence.leave()
        await until(pilot, lambda: "left just now" in screen_text(app))
        await press(pilot, "escape")
        assert not isinstance(app.screen, WhoScreen)
        assert screen_text(app).splitlines()[0].endswith("live")
    (mine,) = [one for one in kim.presence.all() if one.name == "dana"]
    assert mine.left == 0, "who closes the workstation has left"
    kim.close()
    dana.close()


async def test_a_labeler_is_shown_on_the_label_screen_and_no_item(full: Door) -> None:
    app = watching(of(full, "dana"))
    async with running(app, (100, 30)) as pilot:
        await until(pilot, lambda: bool(app.presence.found))
        await press(pilot, "L")
        await until(pilot, lambda: app.presence.found[0].screen.startswith("label"))
        (file,) = folder(full).glob("*.json")
        told = json.loads(file.read_bytes())
        assert sorted(told) == ["host", "name", "role", "screen", "since", "via"]
        assert "live" in screen_text(app).splitlines()[0]
    app.desk.close()


async def test_one_who_does_not_want_to_be_seen_writes_nothing(full: Door) -> None:
    app = watching(of(full, "dana"), presence=False)
    async with running(app) as pilot:
        await settle(pilot)
        app.presence.tick()
        await press(pilot, "at")
        assert "Nobody is listed" in screen_text(app)
    app.desk.close()
    assert not folder(full).exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"name": "mallory"}',
        b'{"name":"m","screen":"s","since":"10:00","host":"h","via":"","role":"","more":1}',
        b"\x00" * 9000,
        b'{"name":3,"screen":"s","since":"10:00","host":"h","via":"","role":""}',
    ],
)
def test_a_broken_file_is_nobody(full: Door, data: bytes) -> None:
    desk = of(full, "dana")
    desk.presence.here("queue")
    (folder(full) / "odd.json").write_bytes(data)
    assert [one.name for one in desk.presence.all()] == ["dana"]
    desk.close()


async def test_a_hostile_name_is_text(full: Door) -> None:
    desk = of(full, "dana")
    desk.presence.here("queue")
    name = "\x1b[31m[red]‮kim" + "x" * 500
    said = {"name": name, "screen": name, "since": name[:9], "host": name, "via": "SSH", "role": ""}
    (folder(full) / "odd.json").write_text(json.dumps(said))
    app = watching(desk)
    async with running(app) as pilot:
        await until(pilot, lambda: bool(app.presence.others))
        await press(pilot, "at")
        assert "\x1b" not in screen_text(app)
        assert "‮" not in screen_text(app)
        assert all(len(line) <= 80 for line in screen_text(app).splitlines())
    desk.close()


def test_who_left_long_ago_is_forgotten(full: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    kim, dana = of(full, "kim"), of(full, "dana")
    kim.presence.here("queue")
    dana.presence.here("queue")
    (file,) = [one for one in folder(full).glob("*.json") if b'"kim"' in one.read_bytes()]
    old = file.stat().st_mtime - api.GONE - 120
    os.utime(file, (old, old))
    assert [(one.name, one.left) for one in dana.presence.all()] == [("dana", None), ("kim", 2)]
    os.utime(file, (0, 0))
    assert [one.name for one in dana.presence.all()] == ["dana"]
    assert not file.exists()
    # A workspace that cannot be written tells nobody, and goes on.
    monkeypatch.setattr(Path, "write_bytes", _full)
    of(full, "sam").presence.here("queue")
    assert [one.name for one in dana.presence.all()] == ["dana"]


def _full(path: Path, data: bytes) -> int:
    raise OSError(28, "No space left on device")


def test_every_key_has_the_name_a_terminal_gives_it() -> None:
    """A binding under any other name is never pressed, though a test that names it presses it."""
    for name, shown in SHOWN.items():
        if len(shown) == 1 and shown.isascii():
            assert _character_to_key(shown) == name, shown


async def test_what_comes_while_the_program_ends_is_not_drawn(full: Door) -> None:
    """Messages from other threads may come after the last screen has gone."""
    app = watching(of(full, "dana"))
    async with running(app) as pilot:
        await settle(pilot)
    assert not app.screen_stack
    app.on_reviewer_app_who_changed(ReviewerApp.WhoChanged())
    app.on_reviewer_app_store_changed(ReviewerApp.StoreChanged((app.version or 0) + 1))
    app.desk.close()
