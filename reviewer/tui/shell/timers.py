"""One-shot timers that always fire."""

from textual.message_pump import MessagePump
from textual.timer import Timer, TimerCallback


class FiringTimers(MessagePump):
    """A node whose one-shot timers fire however late they are.

    A timer of Textual skips the times that it missed, and a one-shot timer has only one: when the
    process was suspended for longer than the delay, the callback never came (and with a delay of
    zero Textual divided by zero).
    """

    def set_timer(
        self,
        delay: float,
        callback: TimerCallback | None = None,
        *,
        name: str | None = None,
        pause: bool = False,
    ) -> Timer:
        """Call back once after `delay` seconds, or later."""
        timer = super().set_timer(delay, callback, name=name, pause=pause)
        timer._skip = False
        return timer
