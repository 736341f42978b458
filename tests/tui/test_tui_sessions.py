"""Choosing sessions of coding agents: looked for beside, picked, imported, followed."""

import contextlib
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from counted import FILES
from doors import Door
from import_desks import Imports, filled, imports, result
from template import HOSTILE, Bent
from test_tui_screens import running
from textual.pilot import Pilot
from textual.widgets import Input
from tui_probe import press, same_as_golden, screen_text, settle, until

from reviewer.desk.imports.sessions import SessionView
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.sessions.screen import SessionsScreen

__all__ = ["imports"]

CLAUDE = FILES / "claude-code"
PARENT = "9a7b165c-6146-4a06-b9c3-07c56c395f84"
OTHER = "1af7fc5e-8455-4414-9ccd-011d40f70b2a"
VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME", "CLINE_DIR",
             "CLINE_DATA_DIR", "PI_CODING_AGENT_DIR", "GOOSE_PATH_ROOT")  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which two tools keep sessions, one of which cannot be read."""
    root = tmp_path / "home"
    monkeypatch.setenv("HOME", str(root))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    project = root / ".claude/projects/-home-dev-lampshop"
    shutil.copytree(CLAUDE, project)
    (project / "stream-json.jsonl").unlink()
    (project / "bad.jsonl").write_bytes(b"\x00\xff{" * 50)
    shutil.copytree(FILES / "gemini-cli/chats", root / ".gemini/tmp/lampshop/chats")
    return root


def session(number: int, project: str, request: str, **more: Any) -> SessionView:
    values: dict[str, Any] = {
        "tool": "claude-code", "id": f"{number:08}-0000-4000-8000-000000000000",
        "project": project, "path": f"/home/dev/.claude/projects/p/{number:08}.jsonl",
        "at": f"2026-11-2{number % 3}T10:0{number % 10}:00Z", "size": 14_600 * 10**(number % 3),
        "request": request,
    }  # fmt: skip
    return SessionView(**(values | more))


FOUND = {
    "claude-code": [
        session(1, "/home/dev/lampshop", "make the refund path ask for review"),
        session(3, "/home/dev/lampshop", HOSTILE),
        session(5, "/home/dev/lampshop", "why does the audit log miss refunds? " * 3),
        session(2, f"/home/dev/{HOSTILE}", "port the harness to pytest"),
        session(8, "/home/dev/agent-evals", "", problem="its start does not look like a session"),
    ],
    "codex": [session(4, "/home/dev/lampshop", "fix the flaky returns test", tool="codex")],
}


def found(real: Any, tool: str) -> list[SessionView]:
    return FOUND.get(tool, [])


async def opened(pilot: Pilot[None]) -> SessionsScreen:
    """The chooser, when everything was looked for."""
    await settle(pilot)
    await press(pilot, "I")
    await until(pilot, lambda: "looking for" not in screen_text(pilot.app))
    assert isinstance(pilot.app.screen, SessionsScreen)
    return pilot.app.screen


async def down_to(pilot: Pilot[None], screen: SessionsScreen, wanted: str) -> None:
    """Move to the line of a session or of a project."""
    for _ in screen.rows:
        row = screen.here
        if row is not None and wanted == (row.session.id if row.session else row.project):
            return
        await press(pilot, "j")
    raise AssertionError(screen_text(pilot.app))


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
@pytest.mark.parametrize("keys", [("j", "j", "space"), ("v", "z", "j", "j")])
async def test_the_chooser_as_it_is_drawn(
    shop: Bent, size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    app = ReviewerApp(shop.bend("imports.sessions", found), watch=False)
    async with running(app, size) as pilot:
        await opened(pilot)
        await press(pilot, *keys)
        name = "sessions" if "space" in keys else "sessions-folded"
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


async def test_looking_for_sessions_keeps_nobody_waiting(shop: Bent) -> None:
    """Keys are answered while a tool's sessions are looked for; those of others are there."""
    go_on = threading.Event()

    def slow(real: Any, tool: str) -> list[SessionView]:
        if tool == "codex":
            assert threading.current_thread() is not threading.main_thread()
            go_on.wait(60)
        return found(real, tool)

    app = ReviewerApp(shop.bend("imports.sessions", slow), watch=False)
    async with running(app) as pilot:
        await pilot.press("I")
        try:
            while "looking for those of codex" not in screen_text(app):
                await pilot.pause(0.01)
            await pilot.press("j", "space")
            await pilot.pause()
            assert "1 chosen" in screen_text(app)
            assert "flaky" not in screen_text(app)
        finally:
            go_on.set()
        await until(pilot, lambda: "flaky" in screen_text(app))
        assert "1 chosen" in screen_text(app)


async def test_a_project_is_chosen_and_left_out_as_a_whole(shop: Bent) -> None:
    app = ReviewerApp(shop.bend("imports.sessions", found), watch=False)
    async with running(app) as pilot:
        screen = await opened(pilot)
        await down_to(pilot, screen, "/home/dev/lampshop")
        await press(pilot, "space")
        assert len(screen.chosen) == 4
        await press(pilot, "j", "space")
        assert len(screen.chosen) == 3
        assert "[-] /home/dev/lampshop" in screen_text(app)
        await press(pilot, "k", "k", "space", "space")
        assert screen.chosen == set()


async def test_words_filter_and_what_is_hidden_stays_chosen(shop: Bent) -> None:
    app = ReviewerApp(shop.bend("imports.sessions", found), watch=False)
    async with running(app) as pilot:
        screen = await opened(pilot)
        await press(pilot, "space", "slash")
        app.screen.query_one(Input).value = "codex flaky"
        await press(pilot, "enter")
        text = screen_text(app)
        assert "fix the flaky returns test" in text
        assert "port the harness" not in text
        assert "1 of 6 shown" in text
        assert "not shown" in text
        assert len(screen.rows) == 2


async def test_untrusted_requests_are_shown_and_never_obeyed(shop: Bent) -> None:
    app = ReviewerApp(shop.bend("imports.sessions", found), watch=False)
    async with running(app, (200, 50)) as pilot:
        await opened(pilot)
        text = screen_text(app)
        assert "[/foo] ␛]52;c;" in text
        assert "[@click=app.quit]" in text
        assert "\x1b" not in text
        assert "\u202e" not in text


async def test_chosen_sessions_are_imported_and_refusals_are_named(door: Door, home: Path) -> None:
    desk = door.desk()
    app = ReviewerApp(desk)
    async with running(app, (120, 40)) as pilot:
        screen = await opened(pilot)
        assert "of 2 tools" in screen_text(app)
        await press(pilot, "slash")
        app.screen.query_one(Input).value = "claude-code"
        await press(pilot, "enter")
        for number, row in enumerate(screen.rows):
            if row.session is None:
                await press(pilot, "home", *["down"] * number, "space")
        assert "3 chosen" in screen_text(app)
        await press(pilot, "enter")
        await until(pilot, lambda: "2 traces added, 1 record refused" in screen_text(app))
        text = screen_text(app)
        assert "bad.jsonl" in text
        assert "refused: " in text
        assert text.count("[ ]✓") == 2
        assert text.count("[ ]✗") == 1
        assert door.one("SELECT count(*) FROM trace") == 2
        await press(pilot, "j")
        await press(pilot, "v", "R")
        await until(pilot, lambda: "3 sessions of claude-code" in screen_text(app))
    desk.close()


async def test_nothing_chosen_means_the_line(door: Door, home: Path) -> None:
    desk = door.desk()
    app = ReviewerApp(desk)
    async with running(app) as pilot:
        screen = await opened(pilot)
        await down_to(pilot, screen, PARENT)
        await press(pilot, "enter")
        await until(pilot, lambda: "1 trace added" in screen_text(app))
        assert door.rows("SELECT episode_id FROM traces") == [(PARENT,)]
    desk.close()


async def test_a_session_is_followed_and_the_grid_shows_it(door: Door, home: Path) -> None:
    """A tool appends; the attempt is in progress on the scorecard, and ended when it is told."""
    path = home / f".claude/projects/-home-dev-lampshop/{PARENT}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:9]))
    desk = door.desk()
    app = ReviewerApp(desk)

    def events() -> int:
        with contextlib.suppress(sqlite3.OperationalError):  # it is being made
            return int(door.one("SELECT max(events) FROM traces") or 0)
        return 0

    async with running(app, (120, 40)) as pilot:
        screen = await opened(pilot)
        await down_to(pilot, screen, PARENT)
        await press(pilot, "ctrl+f")
        await until(pilot, lambda: "following 1 session" in screen_text(app))
        await until(pilot, lambda: "[ ]►" in screen_text(app))
        await until(pilot, lambda: events() == 8)
        await press(pilot, "S")
        await until(pilot, lambda: "claude-opus-4-8" in screen_text(app))
        await press(pilot, "enter")
        await until(pilot, lambda: "events 8" in screen_text(app))
        with path.open("ab") as out:
            out.write(b"".join(lines[9:]))
        await until(pilot, lambda: events() == 17)
        await until(pilot, lambda: "events 17" in screen_text(app))
        await press(pilot, "G")
        await until(pilot, lambda: "› 17" in screen_text(app) or "›17" in screen_text(app)
                    or "›   17" in screen_text(app))  # fmt: skip
        await until(pilot, lambda: "► 1 job" in screen_text(app))
        await press(pilot, "R")
        await press(pilot, "full_stop")
        await until(pilot, lambda: "► 1 job" not in screen_text(app))
        await until(pilot, lambda: "✓ done" in screen_text(app))
    open_end = "SELECT count(*) FROM finding WHERE code LIKE 'unread:end of the session%'"
    assert door.one(open_end) == 0
    assert door.one("SELECT count(*) FROM traces") == 1
    desk.close()


async def test_a_machine_without_sessions(door: Door, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    desk = door.desk()
    app = ReviewerApp(desk)
    async with running(app) as pilot:
        await opened(pilot)
        assert "no session of 8 tools is on this machine" in screen_text(app)
        await press(pilot, "space", "ctrl+f")
        assert "there is no session to import" in screen_text(app)
    desk.close()


async def test_the_import_dialog_leads_to_the_chooser(shop: Bent) -> None:
    app = ReviewerApp(shop.bend("imports.sessions", found), watch=False)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "i", "ctrl+s")
        assert isinstance(app.screen, SessionsScreen)


async def test_looking_again_finds_what_is_new_and_keeps_what_is_chosen(shop: Bent) -> None:
    held = dict(FOUND)
    desk = shop.bend("imports.sessions", lambda _, tool: held.get(tool, []))
    app = ReviewerApp(desk, watch=False)
    async with running(app) as pilot:
        screen = await opened(pilot)
        await down_to(pilot, screen, "/home/dev/lampshop")
        await press(pilot, "space")
        held["cline"] = [session(7, "/home/dev/new", "a new one", tool="cline")]
        await press(pilot, "r")
        await until(pilot, lambda: "a new one" in screen_text(app))
        assert "7 sessions found here" in screen_text(app)
        assert len(screen.chosen) == 4
        assert screen.here is not None
        assert screen.here.project == "/home/dev/lampshop"


async def test_the_path_of_a_line_is_copied(shop: Bent) -> None:
    app = ReviewerApp(shop.bend("imports.sessions", found), watch=False)
    async with running(app) as pilot:
        await opened(pilot)
        await press(pilot, "y")
        assert app.clipboard == "/home/dev/agent-evals"
        await press(pilot, "j", "y")
        assert app.clipboard == "/home/dev/.claude/projects/p/00000008.jsonl"


async def test_results_and_the_line_take_turns(own: Door, imports: Imports) -> None:
    desk = own.desk()
    app = ReviewerApp(Bent(desk).bend("imports.sessions", found), watch=False)
    async with running(app, (100, 30)) as pilot:
        await opened(pilot)
        await press(pilot, "v")
        assert "nothing has been imported from here yet" in screen_text(app)
        await press(pilot, "enter")
        await until(pilot, lambda: "importing 1 session of claude-code, file 1 of 1 30 %" in
                    screen_text(app))  # fmt: skip
        imports.end(result(filled("claude-opus-4-8"), refused=2))
        await until(pilot, lambda: "9 traces added, 2 records refused" in screen_text(app))
        assert "missing:candidate_id" in screen_text(app)
        await press(pilot, "v")
        assert "missing:candidate_id" not in screen_text(app)
        await press(pilot, "v")
        assert "missing:candidate_id" in screen_text(app)
    desk.close()
