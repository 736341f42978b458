"""Equal findings counted in one, and the way through them."""

from hypothesis import given
from hypothesis import strategies as st

from reviewer.desk.traces.kinds import Kind, further, kind_at
from reviewer.desk.views import Clause

ONE = Clause(gate="authority", mark="fail", text="is forbidden", seq=1)
HELD = Clause(gate="process", mark="pass", text="is called", seq=3)


def kinds(*seqs: list[int]) -> list[Kind]:
    return [Kind(ONE, len(each), each, [ONE] * len(each)) for each in seqs]


def way(found: list[Kind], seq: int, step: int) -> list[int]:
    """The events that are walked through."""
    chosen, gone = None, []
    while (to := further(found, seq, chosen, step)) is not None and len(gone) < 50:
        chosen, seq = to
        gone.append(seq)
    return gone


def test_a_kind_is_walked_to_its_end_before_the_next() -> None:
    found = kinds([2, 9, 30], [4], [9, 31])
    assert way(found, 0, 1) == [2, 9, 30, 4, 9, 31]
    assert way(found, 31, -1) == [9, 4, 30, 9, 2]
    assert way(found, 5, 1) == [9, 30, 4, 9, 31]  # none here: the nearest one


def test_what_holds_is_no_finding_and_the_same_event_is_not_gone_to_twice() -> None:
    found = [*kinds([2]), Kind(HELD, 1, [3], [HELD]), *kinds([2], [5])]
    assert way(found, 0, 1) == [2, 5]
    assert kind_at(found, 2) == 0
    assert kind_at(found, 2, 2) == 2
    assert kind_at(found, 3) is None


@given(
    st.lists(st.lists(st.integers(1, 20), min_size=1, max_size=6, unique=True), max_size=5),
    st.sampled_from([-1, 1]),
)
def test_every_event_with_a_finding_is_come_to_from_the_end(
    seqs: list[list[int]], step: int
) -> None:
    found = kinds(*map(sorted, seqs))
    flat = [seq for each in found for seq in each.seqs]
    if not flat:
        assert further(found, 3, None, step) is None
        return
    start = found[0].seqs[0] if step > 0 else found[-1].seqs[-1]
    chosen = 0 if step > 0 else len(found) - 1
    gone, seq = {start}, start
    while (to := further(found, seq, chosen, step)) is not None:
        chosen, seq = to
        gone.add(seq)
    assert gone == set(flat)
