"""The scorecard of a large suite, computed in a process of its own.

A hundred thousand episodes take a few seconds of pure computation, and more memory than a terminal
should keep. The caller goes on drawing meanwhile; the answer is the few lines that it shows.

python -m reviewer.desk.scorecards.card_process WORKSPACE SUITE CANDIDATE
"""

import os
import subprocess
import sys
from pathlib import Path
from threading import Lock

import msgspec

from reviewer.desk.errors import DeskError
from reviewer.desk.views import Scorecard
from reviewer.exit_codes import ExitCode

_NICE = 5
"""Lower priority than the process that answers keys."""


class _Answer(msgspec.Struct):
    """The answer of the process: a card, or why there is none."""

    card: Scorecard | None = None
    text: str = ""
    ways_out: tuple[str, ...] = ()
    exit_code: int = ExitCode.DONE


_answer = msgspec.msgpack.Decoder(_Answer)


class CardProcesses:
    """The running processes of one desk. Safe to share between threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = Lock()
        self._at_work: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def scorecard(self, suite_id: str, candidate_id: str) -> Scorecard:
        """Return the scorecard, waiting for the process that computes it. Raises DeskError as the
        desk would, and when the process is stopped."""
        command = [sys.executable, "-P", "-m", __name__, str(self._root), suite_id, candidate_id]
        with self._lock:
            if self._closed:
                raise DeskError("the workspace was closed", "open it again")
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            self._at_work.add(process)
        try:
            said, complaint = process.communicate()
        finally:
            with self._lock:
                self._at_work.discard(process)
        if process.returncode < 0:
            raise DeskError("the figures were not computed: their process was ended", "ask again")
        if process.returncode:
            why = complaint.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise RuntimeError(f"the process that computes figures: {''.join(why)}")
        answer = _answer.decode(said)
        if answer.card is None:
            raise DeskError(answer.text, *answer.ways_out, exit_code=answer.exit_code)
        return answer.card

    def close(self) -> None:
        """End the running processes; nothing is lost by that."""
        with self._lock:
            self._closed = True
            for process in self._at_work:
                process.kill()


def main(root: str, suite_id: str, candidate_id: str) -> None:
    import gc

    from reviewer.desk.early_stats import begin
    from reviewer.desk.place import at

    gc.disable()  # the process ends after one answer
    os.nice(_NICE)
    try:
        place = at(Path(root))
        begin(place, suite_id)
        from reviewer.desk.opened import DeskState
        from reviewer.desk.scorecards.api import ScorecardsRoom

        card = ScorecardsRoom(DeskState(place)).card_here(suite_id, candidate_id, keeping=True)
        answer = _Answer(card=card)
    except DeskError as error:
        answer = _Answer(text=error.text, ways_out=error.ways_out, exit_code=error.exit_code)
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer))
    sys.stdout.flush()
    os._exit(0)  # skips freeing a million small values one by one


if __name__ == "__main__":
    main(*sys.argv[1:])
