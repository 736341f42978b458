"""The state that recorded reads and writes show: found by what places hold, it is what one finds
by trying every place at every write."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.importing.recorded import effects
from reviewer.importing.recorded.effects import Followed, is_about
from reviewer.importing.recorded.keys import Keys, canonical
from reviewer.importing.recorded.marks import Marks
from reviewer.importing.recorded.story import Made
from reviewer.suite.json_values import same

Place = tuple[str, str]
KEYS = Keys((), Marks())


class EveryPlace:
    """`Followed` as it is defined: each write looks at each place."""

    def __init__(self, asked: dict[Place, dict[str, Any]]) -> None:
        self.asked = asked
        self.state: dict[Place, Any] = {}
        self.since: dict[Place, list[int]] = {}
        self.named: dict[str, set[int]] = {}
        self.before: dict[tuple[int, Place], Any] = {}
        self.changes: dict[int, dict[Place, Any]] = {}
        self.doubts: list[tuple[Place, list[int]]] = []
        self.made_by: dict[Place, int] = {}
        self.assumed: dict[Place, Any] = {}

    def write(self, call: Made) -> None:
        self.changes.setdefault(call.seq, {})
        for one in effects._ids([call.arguments, call.answer]):
            self.named.setdefault(canonical(one), set()).add(call.seq)
        for place, known in list(self.state.items()):
            self.before[call.seq, place] = known
            self.since[place].append(call.seq)
            about = is_about(call, call.arguments, known, self.asked[place])
            if about and not same(known, call.answer):
                self.set(call.seq, place, known, call.answer)

    def read(self, place: Place, call: Made) -> None:
        about: set[int] = set()
        for one in effects._ids(call.arguments):
            about |= self.named.get(canonical(one), set())
        if place not in self.state:
            if about:
                self.made_by[place] = max(about)
                self.set(max(about), place, None, call.answer)
            else:
                self.assumed[place] = self.state[place] = call.answer
        else:
            writes = [seq for seq in self.since[place] if seq in about] or self.since[place]
            if not same(self.state[place], call.answer) and writes:
                if len(writes) > 1:
                    self.doubts.append((place, list(writes)))
                self.set(writes[-1], place, self.before[writes[-1], place], call.answer)
        self.since[place] = []

    def set(self, seq: int, place: Place, before: Any, after: Any) -> None:
        self.changes[seq][place] = (place, before, after)
        self.state[place] = after


IDS = st.sampled_from(["A1", "B2", "C3"])
STATES = st.sampled_from(["open", "shut", 1, 1.0, True, None])
objects = st.one_of(
    st.fixed_dictionaries({"thing_id": IDS, "owner": st.just("u1"), "state": STATES}),
    st.fixed_dictionaries({"owner": st.just("u1"), "state": STATES}),
    st.just({"done": True}),
    st.lists(IDS, max_size=2),
)
steps = st.lists(
    st.tuples(
        st.sampled_from(["get_thing", "get_other", "set_thing"]),
        st.dictionaries(st.sampled_from(["thing_id", "owner", "state"]), IDS | STATES, max_size=2),
        objects,
    ),
    max_size=14,
)


@given(steps)
def test_places_are_found_as_by_trying_every_one(told: list[tuple[str, Any, Any]]) -> None:
    asked: dict[Place, dict[str, Any]] = {}
    every, quick = EveryPlace(asked), Followed({}, KEYS, asked)
    for seq, (tool, arguments, answer) in enumerate(told, 1):
        call = Made(seq, tool, arguments, "ok", answer, True)
        if tool == "set_thing":
            every.write(call)
            quick.write(call)
            continue
        place = (tool, canonical(arguments))
        asked.setdefault(place, arguments)
        every.read(place, call)
        quick.read(place, call)
    assert {seq: list(made.items()) for seq, made in quick.changes.items()} == {
        seq: list(made.items()) for seq, made in every.changes.items()
    }
    assert quick.doubts == every.doubts
    assert (quick.made_by, quick.assumed) == (every.made_by, every.assumed)


def orders(followed: Followed, number: int) -> None:
    """Each order is read, and cancelled with the words that all others are cancelled with."""
    for n in range(number):
        order = {"order_id": f"O{n:04d}", "status": "open", "owner": "u1"}
        asked = {"order_id": order["order_id"]}
        place = ("get_order", order["order_id"])
        followed._asked[place] = asked  # type: ignore[index]
        followed.read(place, Made(2 * n, "get_order", asked, "ok", dict(order), True))
        after = {**order, "status": "cancelled"}
        told = {**asked, "status": "cancelled", "owner": "u1"}
        followed.write(Made(2 * n + 1, "set_order", told, "ok", after, True))


def test_a_write_does_not_change_other_objects_of_the_same_status() -> None:
    followed = Followed({}, KEYS, {})
    orders(followed, 3)
    assert [list(made) for made in followed.changes.values()] == [
        [("get_order", "O0000")], [("get_order", "O0001")], [("get_order", "O0002")]
    ]  # fmt: skip


def test_a_write_looks_at_few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[None] = []

    def counted(*args: Any) -> bool:
        looked.append(None)
        return is_about(*args)

    monkeypatch.setattr(effects, "is_about", counted)
    orders(Followed({}, KEYS, {}), 200)
    assert len(looked) == 200
