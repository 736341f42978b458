"""The driver of a workstation behind a page: it draws and reads through pipes and ends with
them."""

from textual.drivers.web_driver import WebDriver


class PageDriver(WebDriver):
    """Ends the program when the server has gone; Textual's own driver would keep running."""

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            self.on_meta("quit", {})
