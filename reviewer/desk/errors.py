"""The error of the desk: the fact, the ways out, the exit code."""

from reviewer.exit_codes import ExitCode


class DeskError(Exception):
    """`text` says what is wrong and where; `ways_out` what can be done, safest first."""

    def __init__(self, text: str, *ways_out: str, exit_code: int = ExitCode.INVALID) -> None:
        super().__init__(text)
        self.text = text
        self.ways_out = ways_out
        self.exit_code = exit_code
