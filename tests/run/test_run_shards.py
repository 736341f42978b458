"""How the slots of a run are divided among shards."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.running.engine import missing_places
from reviewer.running.shards import Shard, owners, parse_shard

counts = st.integers(1, 40)


@given(counts, counts, counts)
def test_shards_are_disjoint_and_even_over_the_plan_and_over_each_episode(
    episodes: int, attempts: int, of: int
) -> None:
    names = [f"e-{n}" for n in range(episodes)]
    owner = owners(names, of)
    all_owners: Counter[int] = Counter()
    for name in names:
        mine = Counter(owner(name, n) for n in range(1, attempts + 1))
        assert max(mine.values()) <= -(-attempts // of)
        all_owners += mine
    assert set(all_owners) <= set(range(1, of + 1))
    each = [all_owners[shard] for shard in range(1, of + 1)]
    assert sum(each) == episodes * attempts
    assert max(each) - min(each) <= 1


@given(counts, st.integers(1, 12), st.data())
def test_what_the_shards_make_is_what_one_run_makes(
    attempts: int, of: int, data: st.DataObject
) -> None:
    names = ["b", "a", "c"]
    owner = owners(names, of)
    ends = dict.fromkeys(names, attempts)
    made: dict[str, dict[int, bool]] = {
        name: dict.fromkeys(data.draw(st.sets(st.integers(1, attempts))), False) for name in names
    }
    parts = [
        missing_places(names, made, attempts, ends, lambda e, n, i=shard: owner(e, n) == i)  # type: ignore[misc]
        for shard in range(1, of + 1)
    ]
    whole = missing_places(names, made, attempts, ends)
    assert sorted(place for part in parts for place in part) == sorted(whole)


@given(st.integers(1, 12), st.integers(1, 20))
def test_shards_make_good_what_was_lost_under_numbers_of_their_own(of: int, attempts: int) -> None:
    """All attempts of all shards were lost: what replaces them meets in no number."""
    owner, ends = owners(["a", "b"], of), {"a": attempts, "b": attempts}
    lost = {name: dict.fromkeys(range(1, attempts + 1), True) for name in ends}
    found = []
    for shard in range(1, of + 1):
        mine = {
            name: {n: True for n in held if owner(name, n) == shard} for name, held in lost.items()
        }
        found += missing_places(
            ["a", "b"],
            mine,
            attempts,
            ends,
            lambda e, n, i=shard: owner(e, n) == i,  # type: ignore[misc]
        )
    assert len(found) == len(set(found)) == 2 * attempts
    assert all(place.attempt > attempts for place in found)


def test_a_shard_is_written_as_its_number_and_their_count() -> None:
    assert parse_shard("2/8") == Shard(2, 8)
    assert str(Shard(2, 8)) == "2/8"
    assert parse_shard("1/1") == Shard(1, 1)


@pytest.mark.parametrize(
    "text",
    ["0/4", "5/4", "1/0", "1/", "/4", "x/y", "1/4/2", "1", "", "-1/4", "+1/4", "1 /4", "1/4\n",
     "1.0/4", "١/٤", "²/4", "1/100001", "1/" + "9" * 400],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not I/N|shards"):
        parse_shard(text)
