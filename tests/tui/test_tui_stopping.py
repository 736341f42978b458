"""What a screen reads stops when another screen is in front, and begins again when it is back."""

import threading
from collections.abc import Callable

import pytest

from reviewer.desk.desk import Desk
from reviewer.desk.stopping import Stopped, check, until
from reviewer.tui.shell import background as room
from reviewer.tui.shell.background import Background, Job

PATIENCE = 60.0


class Reading:
    """A question that goes on, step by step, until it is let go or stopped."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Semaphore(0), threading.Semaphore(0)
        self.let_go = threading.Event()
        self.posted: list[Callable[[], None]] = []

    def work(self) -> Callable[[], None]:
        self.begun.release()
        try:
            while not self.let_go.wait(0.005):
                check()
        finally:
            self.ended.release()
        return lambda: None

    def job(self, reader: int) -> Job:
        return Job(self.work, lambda error: None, self.posted.append, reader)


def come(flag: threading.Semaphore) -> None:
    assert flag.acquire(timeout=PATIENCE)


def rest(background: Background) -> None:
    done = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if background.idle():
            return
        done.wait(0.005)
    raise AssertionError("it is still at work")


def test_a_reading_stops_and_begins_again() -> None:
    background, reading = Background(), Reading()
    background.ask("figures", reading.job(7))
    come(reading.begun)
    background.leave(7)
    come(reading.ended)
    rest(background)
    assert reading.posted == []

    background.come_back(7)
    come(reading.begun)
    reading.let_go.set()
    rest(background)
    assert len(reading.posted) == 1


def test_what_is_asked_while_away_waits() -> None:
    background, reading = Background(), Reading()
    reading.let_go.set()
    background.leave(7)
    background.ask("figures", reading.job(7))
    assert background.idle()
    assert reading.posted == []
    background.come_back(7)
    rest(background)
    assert len(reading.posted) == 1


def test_a_screen_that_is_gone_asks_nothing_more() -> None:
    background, reading = Background(), Reading()
    background.ask("figures", reading.job(7))
    come(reading.begun)
    background.forget(7)
    come(reading.ended)
    rest(background)
    background.come_back(7)
    assert background.idle()
    assert reading.posted == []


def test_an_act_is_never_stopped() -> None:
    background, reading = Background(), Reading()
    background.ask("sign", reading.job(0))
    come(reading.begun)
    background.leave(7)
    reading.let_go.set()
    rest(background)
    assert len(reading.posted) == 1


def test_the_desk_stops_before_and_within_a_query(shared: Desk) -> None:
    desk = shared
    never = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    looks = iter([False])
    with (
        until(lambda: next(looks, True)),
        pytest.raises(Stopped),
        desk.opened.reading() as connection,
    ):
        connection.execute(never).fetchone()
    with until(lambda: True), pytest.raises(Stopped):
        desk.workspace.suites()
    with desk.opened.reading() as connection:  # lent again, and nobody stops it
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_step_gives_way_to_a_key_that_is_typed_after_it_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    now = [100.0]
    monkeypatch.setattr(room, "monotonic", lambda: now[0])
    monkeypatch.setattr(room, "sleep", slept.append)
    background = Background()

    def asked(reader: int, typed: bool) -> list[float]:
        """The pauses of a question in which somebody types, and of its step after the frame."""
        slept.clear()

        def work() -> Callable[[], None]:
            check()
            if typed:
                now[0] += 1.0
                background.typed()
            check()
            now[0] += room.WAY
            check()
            return lambda: None

        background.ask("figures", Job(work, lambda error: None, lambda deliver: None, reader))
        rest(background)
        return list(slept)

    assert asked(7, typed=True) == [pytest.approx(room.WAY), 0.0]
    background.typed()
    assert asked(7, typed=False) == [], "what the key asks for is not put off"
    assert asked(0, typed=True) == [], "nor is an act"


class Named:
    """A question that says which thread answers it."""

    def __init__(self) -> None:
        self.posted = threading.Semaphore(0)
        self.threads: list[threading.Thread] = []

    def ask(self, background: Background, group: str) -> None:
        def work() -> Callable[[], None]:
            self.threads.append(threading.current_thread())
            assert threading.current_thread().name == group
            return lambda: None

        background.ask(group, Job(work, lambda error: None, lambda deliver: self.posted.release()))
        come(self.posted)


def free(background: Background, number: int) -> None:
    done = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if len(background._free) == number:
            return
        done.wait(0.005)
    raise AssertionError(f"{len(background._free)} threads are free")


def test_one_thread_answers_one_group_after_another_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    background, question = Background(), Named()
    for group in ("rows", "figures", "rows", "cell"):
        question.ask(background, group)
        free(background, 1)
    assert len(set(question.threads)) == 1
    reading = Reading()  # a busy thread takes nothing else
    background.ask("slow", reading.job(0))
    come(reading.begun)
    question.ask(background, "rows")
    assert len(set(question.threads)) == 2
    reading.let_go.set()
    free(background, 2)
    monkeypatch.setattr(room, "LINGER", 0.01)
    other = Background()
    question.ask(other, "rows")
    question.threads[-1].join(PATIENCE)
    assert not question.threads[-1].is_alive()
    assert other._free == []
    question.ask(other, "rows")
