"""When garbage is looked for: while nobody types.

CPython stops the whole program to go through all that it holds. With a large scorecard and some
traces behind it that takes 50 to 110 ms, about once a second of work, and a key waits for it.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

PAUSE = 1.0
"""Seconds without a key or the mouse, after which nobody is taken to be typing."""
ENOUGH = 10
"""Smaller collections after which a full one is due: CPython's own measure."""
AT_MOST = 1000
"""Smaller collections after which a full one comes whatever the reader does."""


class Tidy:
    """Full collections in the pauses of one reader. What the program was made of when it first came
    to rest stays, and is left out from then on."""

    def __init__(self) -> None:
        self._touched = monotonic()
        self._settled = False

    def touched(self) -> None:
        """The reader has done something."""
        self._touched = monotonic()

    def tick(self, *, resting: bool) -> bool:
        """Time passes; `resting`: nothing is being read. Whether garbage was looked for."""
        if monotonic() - self._touched < PAUSE:
            return False
        if not self._settled and resting:
            self._settled = True
            gc.collect()
            gc.freeze()
            return True
        if gc.get_count()[2] < ENOUGH:
            return False
        gc.collect()
        return True


@contextmanager
def tidied_in_pauses() -> Iterator[None]:
    """While it lasts, a full collection comes by itself only as a last resort."""
    before = gc.get_threshold()
    gc.set_threshold(before[0], before[1], AT_MOST)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
