"""The second signature on the workstation: what waits is offered first, what differs is said."""

from typing import Any

import msgspec
import pytest
from doors import V7, V8, Door
from fake_desk import FakeDesk
from fake_shop import AGENT
from people import TWO, People
from template import Bent
from test_tui_screens import running, shell
from tui_probe import SIZES, press, same_as_golden, screen_text, settle

from reviewer.desk.decisions.api import DecisionView, Pending
from reviewer.desk.decisions.choices import choices
from reviewer.desk.desk import Desk
from reviewer.desk.views import KeyInfo, Signed
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.decision.sign import SignScreen

WAITS = Pending(
    number=3,
    decision="PROMOTE",
    signers=("dana@shopflow",),
    needed=2,
    environment="production",
    created="2026-11-18T09:00:00Z",
    expires="2026-11-25T09:00:00Z",
    comment="both red-team episodes were read by hand",
    path="store/decisions/3-promote-refund-agent-v8.dsse.json",
)
DIFFERS = msgspec.structs.replace(WAITS, differs=("predicate.cost.totalMicros",))


class Waiting(FakeDesk):
    """A desk on which somebody signed the promotion of v8 already."""

    def __init__(self, pending: Pending = WAITS) -> None:
        super().__init__()
        self.pending = pending
        self.added: list[tuple[str, str]] = []

    def decision(
        self, suite_id: str, candidate_id: str, baseline: str | None = None
    ) -> DecisionView:
        found = super().decision(suite_id, candidate_id, baseline)
        return msgspec.structs.replace(
            found,
            choices=choices("promote", 0, self.pending),
            preselected="PROMOTE",
            pending=self.pending,
            needed=2,
        )

    def cosign(self, reference: str, key: str = "", passphrase: str | None = None) -> Signed:
        self.added.append((reference, key))
        return Signed(
            decision="PROMOTE", path=self.pending.path, number=3, principal="rob@shopflow",
            keyid=key, verified=True, lines=(), signers=("dana@shopflow", "rob@shopflow"),
        )  # fmt: skip


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(SignScreen, "clock", staticmethod(lambda: now[0]))
    return now


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["cosign", "cosign-dialog", "cosign-differs"])
async def test_what_waits_to_the_character(name: str, size: tuple[int, int]) -> None:
    app = shell(Waiting(DIFFERS if name == "cosign-differs" else WAITS))
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "greater_than_sign", "D")
        if name == "cosign-dialog":
            await press(pilot, "enter")
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


async def test_a_signature_is_added_to_what_somebody_else_fixed(clock: list[float]) -> None:
    desk = Waiting()
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "greater_than_sign", "D", "enter")
        text = screen_text(app)
        assert "add a signature to decision 3" in text
        assert "both red-team episodes were read by hand" in text
        assert not app.screen.query("#comment"), "what is signed was said already"
        await press(pilot, *"PROMOTE")
        app.screen.query_one("#buttons").focus()
        clock[0] += 1
        await press(pilot, "enter")
        assert desk.added == [(WAITS.path, AGENT.fingerprint)]
        assert desk.signed == []
        assert "✓ verified" in screen_text(app)


async def test_what_this_store_does_not_give_is_closed_and_the_field_named() -> None:
    desk = Waiting(DIFFERS)
    app = shell(desk)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "greater_than_sign", "D")
        assert "(x) PROMOTE" in screen_text(app), "one of one's own is chosen instead"
        await press(pilot, "k", "enter")
        assert not isinstance(app.screen, SignScreen)
        assert "decision 3 is closed" in screen_text(app)
        assert "predicate.cost.totalMicros" in screen_text(app)


def at_desk(people: People, name: str) -> Bent:
    """A real desk; whose key lies at hand is said, not looked for in a home folder."""
    path = people.key(name)
    held = KeyInfo(
        fingerprint="SHA256:" + "A" * 43, comment=name, where=str(path), principal=name,
        roles=("approver",),
    )  # fmt: skip
    desk = Bent(Desk(people.door.desk().place))
    desk.bend("decisions.keys", lambda _: [held])
    return desk.bend("workspace.opening", lambda _: (TWO, V8))


async def signed_by(people: People, name: str, clock: list[float]) -> str:
    """Sit down as somebody, and sign what the decision screen offers first."""
    desk: Any = at_desk(people, name)
    app = ReviewerApp(desk, watch=False, ascii_only=False)
    async with running(app, (120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "D")
        await settle(pilot)
        await press(pilot, "enter")
        await press(pilot, *"PROMOTE")
        app.screen.query_one("#buttons").focus()
        clock[0] += 1
        await press(pilot, "enter")
        await settle(pilot)
        text = screen_text(app)
        clock[0] += 1
        await press(pilot, "enter")
    desk.close()
    return text


async def test_two_people_one_after_the_other_on_one_store(door: Door, clock: list[float]) -> None:
    people = People(door)
    assert "○ waits for another approver" in await signed_by(people, "alice", clock)
    assert people.verify().code == 30
    assert "✓ verified" in await signed_by(people, "bob", clock)
    assert people.door.rows("SELECT decision, standing, signers FROM decisions") == [
        ("PROMOTE", "signed", "alice, bob")
    ]
    assert people.verify().code == 0


async def test_break_glass_is_on_the_screen(door: Door) -> None:
    people = People(door)
    people.door.run(
        "break-glass", *people.release(V7), "--key", people.key("fire"), "--reason", "refunds down"
    )
    desk: Any = at_desk(people, "alice")
    app = ReviewerApp(desk, watch=False, ascii_only=False)
    async with running(app, (120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "D")
        await settle(pilot)
        text = screen_text(app)
        assert "break-glass" in text
        assert "refunds down" in text
    desk.close()
