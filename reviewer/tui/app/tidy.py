"""When garbage is looked for: while nobody types.

CPython stops the whole program to go through all that it holds. With a large scorecard and some
traces behind it that takes 50 to 110 ms, about once a second of work, and a key waits for it.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

PAUSE = 0.5
"""Seconds without a key or the mouse, after which nobody is taken to be typing."""
ENOUGH = 10
"""Smaller collections after which a full one is due: CPython's own measure."""
MUCH = 25
"""… and after which it is due even under somebody's hands: screens that were left hold memory."""
AT_MOST = 1000
"""Smaller collections after which one comes by itself, as a last resort."""


class Tidy:
    """Full collections in the pauses of one reader. What the program was made of in the first of
    them stays, and is left out from then on."""

    def __init__(self) -> None:
        self._touched = monotonic()
        self._settled = False

    def touched(self) -> None:
        """The reader has done something."""
        self._touched = monotonic()

    def tick(self) -> bool:
        """Time passes. Whether garbage was looked for."""
        pause = monotonic() - self._touched >= PAUSE
        enough = MUCH if not pause else ENOUGH if self._settled else 0
        if gc.get_count()[2] < enough:
            return False
        collect()
        if not self._settled:
            self._settled = True
            gc.freeze()
        return True


def collect() -> None:
    """Let go of screens that have been left, and of all that hung on them.

    Textual keeps colors by the drawing cache of the widget they were worked out for, and with them
    the lines drawn of up to a thousand widgets that are gone: a third of a megabyte for every trace
    that was looked at.
    """
    with suppress(ImportError, AttributeError):  # a Textual that keeps them otherwise
        from textual._styles_cache import StylesCache

        StylesCache.get_inner_outer.cache_clear()
    gc.collect()


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
