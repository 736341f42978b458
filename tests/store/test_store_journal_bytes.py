"""The bytes of a journal entry are those of RFC 8785, whichever way they are written."""

from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from reviewer.db.journal import canonical

NAMES = st.text(max_size=5) | st.sampled_from(["type", "a", "A", "é", "\x7f", '"', "z\n"])
VALUES = (
    st.text(max_size=8)
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.booleans()
    | st.none()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(st.integers(0, 9), max_size=2)
    | st.dictionaries(st.text(max_size=2), st.integers(0, 9), max_size=2)
)


@given(st.dictionaries(NAMES, VALUES, max_size=6))
def test_an_entry_has_the_bytes_of_the_standard(body: dict[str, Any]) -> None:
    assert canonical(body) == rfc8785.dumps(body)


@pytest.mark.parametrize("value", [2**53, -(2**53), "\ud800", float("nan")])
def test_what_the_standard_cannot_write_is_refused(value: Any) -> None:
    with pytest.raises(rfc8785.CanonicalizationError):
        canonical({"type": "a", "value": value})
