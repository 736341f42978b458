"""The workstation as a served person has it: within a role, and with a key of another machine."""

import io
from typing import Any

import pytest
from doors import V7, V8, Door
from people import TWO, People
from test_tui_screens import running, shell
from textual.events import Paste
from tui_probe import SIZES, press, screen_text, settle

from reviewer.cli.workstation import LaterDesk
from reviewer.desk.errors import DeskError
from reviewer.desk.place import at
from reviewer.desk.roles import Role
from reviewer.signing.keys import load_signer, sign_for
from reviewer.signing.ssh import NAMESPACE, armored
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.decision.own_key import OwnKeyScreen
from reviewer.tui.screens.decision.step import Step
from reviewer.tui.screens.dialogs.import_traces import ImportScreen
from reviewer.tui.shell.places import ToScorecard
from reviewer.tui.views.labels import import_labels


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(Step, "clock", staticmethod(lambda: now[0]))
    return now


def served(door: Door, role: Role, name: str = "alice") -> LaterDesk:
    return LaterDesk(at(door.root), name, "", role)


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was handed to the reader's browser."""
    found: list[bytes] = []

    def deliver(app: ReviewerApp, file: io.BytesIO, **named: Any) -> None:
        assert named == {"save_filename": "payload.pae", "open_method": "download"}
        found.append(file.read())

    monkeypatch.setattr(ReviewerApp, "deliver_binary", deliver)
    return found


@pytest.mark.parametrize("size", SIZES)
async def test_a_decision_is_signed_on_another_machine(
    size: tuple[int, int], door: Door, clock: list[float], handed: list[bytes]
) -> None:
    people = People(door)
    app = shell(served(door, "decide"), first=(ToScorecard(TWO, V7),))
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "D")
        assert "key yours: Enter on a decision says how" in screen_text(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, OwnKeyScreen)
        clock[0] += 1
        await press(pilot, "enter")
        assert "ssh-keygen -Y sign -n agent-release-decision@reviewer.dev" in screen_text(app)
        for word in ("[ Keep BLOCK", "[ Copy the command ]", "[ Not now ]", "Esc cancel"):
            assert word in screen_text(app)
        # Nothing, then somebody else's signature, then one's own.
        key = load_signer(str(people.key("bob")))
        for made, words in (
            ("", "paste the signature first"),
            (armored(sign_for(key, NAMESPACE, handed[0])), "by a key of bob"),
        ):
            app.screen.query_one("#signature").text = made
            app.screen.query_one("#buttons").focus()
            clock[0] += 1
            await press(pilot, "enter")
            assert words in screen_text(app)
        assert list(people.decisions.glob("*.json")) == []
        key = load_signer(str(people.key("alice")))
        app.screen.query_one("#signature").text = ""
        app.screen.query_one("#signature").focus()
        app.post_message(Paste(armored(sign_for(key, NAMESPACE, handed[0]))))
        await settle(pilot)
        await press(pilot, "tab")
        clock[0] += 1
        await press(pilot, "enter")
        assert "signed, decision 1" in screen_text(app)
    app.desk.close()
    assert len(list(people.decisions.glob("*.json"))) == 1
    assert people.verify(candidate=V7).code == 10


async def test_what_was_prepared_can_be_left(
    door: Door, clock: list[float], handed: list[bytes]
) -> None:
    people = People(door)
    app = shell(served(door, "decide"), first=(ToScorecard(TWO, V7),))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D")
        await press(pilot, "enter")
        clock[0] += 1
        await press(pilot, "enter", "escape")
        assert not isinstance(app.screen, OwnKeyScreen)
    app.desk.close()
    assert len(handed) == 1
    assert list(people.decisions.glob("*.json")) == []


@pytest.mark.parametrize(("role", "key"), [("view", "L"), ("label", "x")])
async def test_a_role_is_shown_and_its_limit_is_told(full: Door, role: Role, key: str) -> None:
    app = shell(served(full, role))
    async with running(app, (100, 30)) as pilot:
        await settle(pilot)
        assert f"{role} only" in screen_text(app).splitlines()[0]
        await press(pilot, "D")
        assert screen_text(app).count(f"not possible: this session may {role}, not sign") == 3
        await press(pilot, "enter")
        assert "is not possible" in screen_text(app)
        await press(pilot, key)
        if key == "x":
            await press(pilot, "enter")
        assert f"this session may {role}" in screen_text(app)
    app.desk.close()


async def test_a_promotion_is_typed_and_a_block_against_the_report_is_explained(
    door: Door, clock: list[float], handed: list[bytes]
) -> None:
    People(door)
    app = shell(served(door, "decide"), first=(ToScorecard(TWO, V8),))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "D")
        for words in ("type PROMOTE first", "say in the comment why"):
            await press(pilot, "enter")
            app.screen.query_one("#buttons").focus()
            clock[0] += 1
            await press(pilot, "enter")
            assert words in screen_text(app)
            await press(pilot, "escape", "down")
    app.desk.close()
    assert handed == []


async def test_files_of_the_machine_are_not_shown_to_one_who_may_not_import(full: Door) -> None:
    """The dialog suggests names of files; a label file that is not there is told before it is
    read."""
    app = shell(served(full, "label"))
    async with running(app, (100, 30)) as pilot:
        await settle(pilot)
        await press(pilot, "i")
        assert "this session may label" in screen_text(app)
        assert not [screen for screen in app.screen_stack if isinstance(screen, ImportScreen)]
    for name in (str(full.store), "/no/such/file"):
        with pytest.raises(DeskError, match="this session may label"):
            import_labels(app.desk, name)
    app.desk.close()
