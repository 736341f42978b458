"""The driver of a workstation behind a page: it draws and reads through pipes and ends with
them."""

import threading

from textual.drivers.web_driver import WebDriver
from textual.events import Resize
from textual.message import Message

MOST_WAITING = 1_000
"""Events that may wait for the program; what was typed beyond them stays in the pipe."""
AT_ONCE = 100
"""Events that are handed over before the program must have taken them."""
LOOK_S = 0.01


class PageDriver(WebDriver):
    """Ends the program when the server has gone; Textual's own driver would keep running. A page
    can neither fill the program's memory with events nor set a size beside the server, which
    limits it."""

    _handed_over = 0

    def process_message(self, message: Message) -> None:
        if isinstance(message, Resize):
            return  # typed as the report of a terminal
        self._handed_over += 1
        if self._handed_over == AT_ONCE and not self._loop_took():
            return
        while self._app.message_queue_size > MOST_WAITING:
            if self.exit_event.wait(LOOK_S):
                return
        super().process_message(message)

    def _loop_took(self) -> bool:
        """Wait until the program's loop has taken what was handed over, which is in no queue before
        that; return False when the program ends first."""
        self._handed_over = 0
        taken = threading.Event()
        self._loop.call_soon_threadsafe(taken.set)
        while not taken.wait(LOOK_S):
            if self.exit_event.is_set():
                return False
        return True

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            self.on_meta("quit", {})
