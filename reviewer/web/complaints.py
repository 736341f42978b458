"""What the web server logs about requests it cannot read: one line for each kind, no traceback.

Anyone who reaches the port can send anything, and a terminal full of tracebacks looks like a
program that broke, or hides one that did.
"""

import logging
from collections.abc import Callable

LOGGERS = ("aiohttp.server", "aiohttp.web", "aiohttp.websocket", "aiohttp.internal", "asyncio")


class Complaints(logging.Handler):
    """Passes the name of each kind of error to `say` once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say, self._said = say, set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        kind = type(error).__name__ if error is not None else "no details"
        if kind not in self._said:
            self._said.add(kind)
            self._say(
                f"a request was refused that no browser sends ({kind}); more of its kind are "
                "refused unsaid"
            )


def complain_in_lines(say: Callable[[str], None]) -> None:
    """Send what the web server logs to `say`, from now on in this process."""
    handler = Complaints(say)
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
