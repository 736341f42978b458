"""Which attempts a run makes."""

from hypothesis import given
from hypothesis import strategies as st

from reviewer.running.engine import MadeAttempts, Place, missing_places, next_places, span

EPISODES = ("b", "a")
made = st.dictionaries(
    st.sampled_from(EPISODES), st.dictionaries(st.integers(1, 9), st.booleans(), max_size=9)
)


def missing(
    held: MadeAttempts, planned: int, last: int, episodes: tuple[str, ...] = EPISODES
) -> list[Place]:
    return missing_places(episodes, held, planned, dict.fromkeys(episodes, last))


def test_a_first_run_makes_every_slot_attempt_by_attempt() -> None:
    assert next_places(EPISODES, {}, 2) == [("b", 1), ("a", 1), ("b", 2), ("a", 2)]


def test_a_further_run_numbers_on_per_episode() -> None:
    held = {"a": {1: False, 2: False}, "b": {3: False}}
    assert next_places(EPISODES, held, 2) == [("a", 3), ("b", 4), ("a", 4), ("b", 5)]


def test_resuming_makes_exactly_what_is_missing() -> None:
    held = {"a": {1: False, 3: False}, "b": {1: False, 2: False, 3: False}}
    assert missing(held, 3, 3) == [("a", 2)]
    assert missing(held, 3, 4) == [("a", 2), ("b", 4), ("a", 4)]


def test_each_episode_is_completed_up_to_its_own_last_attempt() -> None:
    held = {"a": {1: False}, "b": {1: False}}
    assert missing_places(EPISODES, held, 1, {"a": 1, "b": 2}) == [("b", 2)]


def test_what_infrastructure_took_is_made_good_beyond_once() -> None:
    lost = {"a": {1: False, 2: True, 3: True}}
    assert missing(lost, 3, 3, ("a",)) == [("a", 4), ("a", 5)]
    again = {"a": {**lost["a"], 4: True, 5: False}}
    assert missing(again, 3, 3, ("a",)) == [("a", 6)]
    good = {"a": {**again["a"], 6: False}}
    assert missing(good, 3, 3, ("a",)) == []


def test_attempts_of_a_further_run_make_good_too() -> None:
    held = {"a": {1: False, 2: True, 3: False, 4: False}}
    assert missing(held, 3, 6, ("a",)) == [("a", 5), ("a", 6)]


@given(made, st.integers(1, 5))
def test_next_attempts_are_new_and_as_many_for_each(
    held: dict[str, dict[int, bool]], attempts: int
) -> None:
    places = next_places(EPISODES, held, attempts)
    assert len(set(places)) == len(places) == attempts * len(EPISODES)
    assert all(place.attempt > max(held.get(place.episode_id, {}), default=0) for place in places)
    assert [p.attempt for p in places] == sorted(p.attempt for p in places)


@given(made, st.integers(1, 5), st.integers(1, 9))
def test_after_resuming_nothing_is_missing(
    held: dict[str, dict[int, bool]], planned: int, last: int
) -> None:
    places = missing(held, planned, max(last, planned))
    after = {name: dict(held.get(name, {})) for name in EPISODES}
    for place in places:
        assert place.attempt not in after[place.episode_id]
        after[place.episode_id][place.attempt] = False
    assert missing(after, planned, max(last, planned)) == []
    for name in EPISODES:
        valid = [n for n, taken in sorted(after[name].items()) if not taken]
        assert len(valid) >= planned


def test_the_attempts_in_words() -> None:
    assert span([Place("a", 4)]) == "attempt 4"
    assert span([Place("a", 1), Place("b", 3)]) == "attempts 1–3"
