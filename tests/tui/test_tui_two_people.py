"""The second signature on the workstation: what waits is offered first, what differs is said."""

from collections.abc import Callable
from typing import Any

import pytest
from doors import V7, V8, Door
from msgspec.structs import replace
from people import TWO, People
from template import Bent, holding, key_of
from test_tui_screens import running, shell
from tui_probe import SIZES, press, same_as_golden, screen_text, settle

from reviewer.desk.decisions.api import DecisionView, Pending
from reviewer.desk.decisions.choices import choices, preselected
from reviewer.desk.desk import Desk
from reviewer.desk.views import KeyInfo, SignedDecision
from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.screens.decision.sign import SignScreen
from reviewer.tui.screens.decision.step import Step

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
DIFFERS = replace(WAITS, differs=("predicate.cost.totalMicros",))


def waiting(shop: Bent, pending: Pending = WAITS) -> Bent:
    """A desk on which somebody signed the promotion of v8 already."""

    def view(real: Callable[..., DecisionView], *args: Any) -> DecisionView:
        return replace(
            real(*args),
            choices=choices("promote", 0, pending),
            preselected=preselected("promote", pending),
            pending=pending,
            needed=2,
        )

    def cosign(
        _: object, reference: str, key: str = "", passphrase: str | None = None, **__: Any
    ) -> SignedDecision:
        return SignedDecision(
            decision="PROMOTE", path=pending.path, number=3, principal="rob@shopflow",
            keyid=key, verified=True, lines=(), signers=("dana@shopflow", "rob@shopflow"),
        )  # fmt: skip

    return holding(shop).bend("decisions.view", view).bend("decisions.cosign", cosign)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(Step, "clock", staticmethod(lambda: now[0]))
    return now


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["cosign", "cosign-dialog", "cosign-differs"])
async def test_what_waits_to_the_character(name: str, size: tuple[int, int], shop: Bent) -> None:
    app = shell(waiting(shop, DIFFERS if name == "cosign-differs" else WAITS))
    async with running(app, size) as pilot:
        await settle(pilot)
        await press(pilot, "greater_than_sign", "D")
        if name == "cosign-dialog":
            await press(pilot, "enter")
        same_as_golden(app, f"{name}-{size[0]}x{size[1]}")


async def test_a_signature_is_added_to_what_somebody_else_fixed(
    clock: list[float], shop: Bent
) -> None:
    desk = waiting(shop)
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
        [(path, key, *_)] = desk.asked("decisions.cosign")
        assert (path, key) == (WAITS.path, key_of(shop.place.root).fingerprint)
        assert desk.asked("decisions.sign") == []
        assert "✓ verified" in screen_text(app)


async def test_what_this_store_does_not_give_is_closed_and_the_field_named(shop: Bent) -> None:
    app = shell(waiting(shop, DIFFERS))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "greater_than_sign", "D")
        assert "(x) PROMOTE" in screen_text(app), "one of one's own is chosen instead"
        await press(pilot, "k", "enter")
        assert not isinstance(app.screen, SignScreen)
        assert "decision 3 is not possible" in screen_text(app)
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
        assert "refunds down" in " ".join(text.split())
    desk.close()
