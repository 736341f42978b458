"""What the workstation does while nobody types, so that no key waits for it."""

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest
from template import Bent
from tui_probe import come, press, settle

from reviewer.tui.app import app
from reviewer.tui.app import places as ahead
from reviewer.tui.app import terminal as tidy
from reviewer.tui.app.app import ReviewerApp


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    now = [100.0]
    gc.collect()  # tests before this one have made some garbage
    monkeypatch.setattr(tidy, "monotonic", lambda: now[0])
    yield now
    gc.unfreeze()


def _used(smaller: int) -> None:
    """As many smaller collections as a while of work makes."""
    for _ in range(smaller):
        gc.collect(1)


def test_garbage_is_looked_for_only_while_nobody_types(clock: list[float]) -> None:
    with tidy.tidied_in_pauses():
        one = tidy.Tidy()
        clock[0] += 0.4
        assert not one.tick()
        clock[0] += 0.2
        one.touched()
        assert not one.tick()
        clock[0] += 1.0
        before = gc.get_freeze_count()
        assert one.tick()
        assert gc.get_freeze_count() > before, "what the program is made of is left out from now on"
        assert not one.tick(), "there is none yet"


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="collects a little at a time by itself")
def test_a_pause_after_much_work_has_a_full_collection_and_no_key_had(clock: list[float]) -> None:
    with tidy.tidied_in_pauses():
        one = tidy.Tidy()
        clock[0] += 5
        assert one.tick()
        _used(15)
        assert gc.get_count()[2] >= 15, "none came by itself"
        one.touched()
        assert not one.tick()
        _used(tidy.MUCH)
        assert one.tick(), "it cannot be put off for ever"
        _used(20)
        clock[0] += 5
        assert one.tick()
        assert gc.get_count()[2] == 0


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="collects a little at a time by itself")
def test_a_rest_between_keys_lets_go_of_what_came_since_the_last_pause(clock: list[float]) -> None:
    with tidy.tidied_in_pauses():
        one = tidy.Tidy()
        assert not one.rest(), "there is none yet"
        before = gc.get_freeze_count()
        _used(tidy.SOME)
        assert one.rest()
        assert gc.get_freeze_count() > before, "as in the first pause, where none came before"
        _used(tidy.SOME)
        assert one.rest()
        assert gc.get_count()[2] == 0


def test_what_was_brought_in_is_left_out_of_the_next_rests(clock: list[float]) -> None:
    with tidy.tidied_in_pauses():
        one = tidy.Tidy()
        clock[0] += 1.0
        assert one.tick()
        before, brought = gc.get_freeze_count(), [[] for _ in range(10_000)]
        _used(tidy.SOME)
        assert one.rest()
        # Objects left out earlier may be freed meanwhile, so the count may fall, never rise.
        assert gc.get_freeze_count() <= before, "a screen that is left next is not kept for it"
        assert any(one is brought for one in gc.get_objects()), "it can still be collected"
        one.grew()
        _used(tidy.SOME)
        assert one.rest()
        # Some that were left out before may be gone by now: nothing holds them but their counts.
        assert gc.get_freeze_count() > before + len(brought) * 0.9


def test_a_long_pause_lets_go_of_what_an_earlier_pause_left_out(clock: list[float]) -> None:
    class Left:
        """A screen that was there in a pause."""

        def __init__(self) -> None:
            self.itself = self

    with tidy.tidied_in_pauses():
        one = tidy.Tidy()
        clock[0] += 1.0
        assert one.tick()
        left = [Left() for _ in range(gc.get_freeze_count())]
        last = weakref.ref(left[-1])
        _used(tidy.ENOUGH)
        clock[0] += 0.6
        assert one.tick()
        left.clear()
        _used(tidy.ENOUGH)
        assert one.tick()
        assert last() is not None, "left out"
        clock[0] += tidy.LONG
        assert one.tick()
        assert last() is None


async def test_nothing_drawn_is_held_of_a_screen_that_was_left(shop: Bent) -> None:
    def held() -> int:
        tidy.collect()
        return sum(type(each).__name__ == "StylesCache" for each in gc.get_objects())

    shell = ReviewerApp(shop, watch=False)
    async with shell.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "enter", "q")
        before = held()
        for _ in range(3):  # Textual removes what is drawn of a screen a moment after it was left
            await pilot.pause(0.02)
            before = min(before, held())
        await press(pilot, *["enter", "q"] * 4)
        await come(pilot, lambda: held() <= before)


def test_the_limits_of_before_are_put_back() -> None:
    before = gc.get_threshold()
    with tidy.tidied_in_pauses():
        assert gc.get_threshold()[2] == tidy.AT_MOST
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


async def test_the_first_pause_brings_in_what_may_be_asked_for_next(
    shop: Bent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    brought: list[bool] = []
    monkeypatch.setattr(app, "bring", lambda then: brought.append(True))
    monkeypatch.setattr(tidy, "PAUSE", 0.0)
    shell = ReviewerApp(shop, watch=True)
    try:
        async with shell.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            for _ in range(40):
                await pilot.pause(0.1)
                if brought:
                    break
            await pilot.pause(1.2)
    finally:
        gc.unfreeze()
    assert brought == [True]


def test_what_is_brought_is_there_and_nothing_large_comes_with_it() -> None:
    """In a process of its own: others have brought in everything already."""
    code = (
        "import sys, reviewer.tui.app.app; from reviewer.tui.app.places import NEXT, bring;"
        "bring().join(); print([name for name in NEXT if name not in sys.modules],"
        " [name for name in ('pydantic', 'numpy', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[] []", "")
    assert len(set(ahead.NEXT)) == len(ahead.NEXT)
