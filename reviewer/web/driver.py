"""How the workstation behind a page draws and reads: through pipes, and never longer than whoever
holds their other ends."""

from textual.drivers.web_driver import WebDriver


class PageDriver(WebDriver):
    """Ends the program when the server has gone, which Textual's own would outlive."""

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            self.on_meta("quit", {})
