"""The small desk that these tests share."""

import pytest
from attest_desk import Desk


@pytest.fixture(scope="session")
def desk() -> Desk:
    return Desk()
