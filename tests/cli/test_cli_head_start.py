"""The first screen's answers from a process beside: the desk's own, and never in the way."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.doors import Door

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="copies no process")


def _python(script: str, *arguments: str) -> str:
    """What a Python of its own prints: a process with threads is not copied."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


AS_THE_DESK = """
import sys, time
from operator import attrgetter
from pathlib import Path
from reviewer.cli.head_start import MISSING, begin
from reviewer.desk.place import at

def make():
    from reviewer.desk.desk import Desk
    return Desk(at(Path(sys.argv[1])))

ahead = begin(make, at(Path(sys.argv[1])))
desk = make()
while (opened := ahead.answer("workspace.opening")) is MISSING:
    time.sleep(0.05)  # it is not asked yet
assert opened == desk.workspace.opening() == ("refund-eval-v5", "refund-agent-v7"), opened
keys = desk.scorecards.order(*opened, "worst", False, False, "")
for name, arguments in {
    "scorecards.order": (*opened, "worst", False, False, ""),
    "scorecards.rows": (*opened, keys),
    "scorecards.card": opened,
    "workspace.releases": (),
    "scorecards.cell": (*opened, "attack-014", "authority"),
}.items():
    while ahead.answer(name, *arguments) is MISSING:
        time.sleep(0.05)
    assert ahead.answer(name, *arguments) == attrgetter(name)(desk)(*arguments), name
assert ahead.answer("workspace.suites") is MISSING
print("the same")
"""


OF_A_RELEASE = """
import sys, time
from pathlib import Path
from reviewer.cli.head_start import MISSING, begin
from reviewer.desk.desk import Desk
from reviewer.desk.place import at

place, release = at(Path(sys.argv[1])), ("refund-eval-v5", "refund-agent-v8")
ahead = begin(lambda: Desk(place), place, release)
while (card := ahead.answer("scorecards.card", *release)) is MISSING:
    time.sleep(0.05)
desk = Desk(place)
assert desk.workspace.opening() != release
assert card == desk.scorecards.card(*release)
assert ahead.answer("scorecards.card", *desk.workspace.opening()) is MISSING
assert ahead.answer("workspace.opening") is MISSING
print("the same")
"""


def test_a_release_that_is_named_is_asked_about(door: Door, tmp_path: Path) -> None:
    demo = tmp_path / "demo"
    door.ok("demo", "--headless", "--keep", demo)
    assert _python(OF_A_RELEASE, str(demo)) == "the same\n"


def test_answers_are_those_of_the_desk(door: Door, tmp_path: Path) -> None:
    demo = tmp_path / "demo"
    door.ok("demo", "--headless", "--keep", demo)
    assert _python(AS_THE_DESK, str(demo)) == "the same\n"


OTHERS = """
import os, sys, threading, time
from reviewer.cli.head_start import MISSING, begin
from pathlib import Path
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace

NOWHERE = Workspace(Path("/nowhere"))

class Slow:
    scorecards = workspace = property(lambda self: self)
    def saved_views(self):
        time.sleep(0.3)
        return ["waited for"]
    def opening(self):
        print("a word of the copy")
        raise DeskError("no")

made = os.getpid()
ahead = begin(Slow, NOWHERE)
time.sleep(0.1)
assert ahead.answer("scorecards.rows") is MISSING  # at once, whatever the copy is at
assert ahead.answer("scorecards.saved_views") == ["waited for"]
assert ahead.answer("workspace.opening") is MISSING  # the refusal is the desk's own to make
assert ahead.answer("scorecards.saved_views") == ["waited for"]
ahead.forget()
assert ahead.answer("scorecards.saved_views") is MISSING
assert os.getpid() == made

class Stuck(Slow):
    def saved_views(self):
        time.sleep(60)

while threading.active_count() > 1:
    time.sleep(0.05)
ahead = begin(Stuck, NOWHERE)
time.sleep(0.1)
ahead.end()
began = time.monotonic()
assert ahead.answer("scorecards.saved_views") is MISSING
assert time.monotonic() - began < 50
for _ in range(100):
    try:
        os.waitpid(-1, os.WNOHANG)
        time.sleep(0.05)
    except ChildProcessError:
        break
else:
    sys.exit("a process is left behind")
threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
assert begin(Slow, NOWHERE) is None
"""


def test_it_waits_only_for_what_is_worked_on_and_leaves_nothing_behind() -> None:
    assert _python(OTHERS) == ""


TOLD_AHEAD = """
import os, pickle, time
from reviewer.cli.head_start import MISSING, HeadStart, Said
from reviewer.forks import fork

LONG, SHORT = ("scorecards.card", ("a", "b")), ("scorecards.rows", ("a", [1, 2]))

def speak(pipe):
    with os.fdopen(pipe, "wb", buffering=0) as words:
        for said in Said(LONG), Said(SHORT), Said(SHORT, True, "short"):
            words.write(pickle.dumps(said))
        time.sleep(0.3)
        words.write(pickle.dumps(Said(LONG, True, "long")))

ahead = HeadStart(*fork(speak))
assert ahead.answer("scorecards.order") is MISSING  # at once, and the first message was heard
assert ahead.answer(LONG[0], *LONG[1]) == "long"  # told first, and answered after the others
assert ahead.answer(SHORT[0], *SHORT[1]) == "short"
"""


def test_a_question_that_will_be_answered_is_waited_for() -> None:
    assert _python(TOLD_AHEAD) == ""


AS_LOADED_LATER = """
import sys
from pathlib import Path
from reviewer.cli.workstation import LaterDesk
from reviewer.desk.desk import Desk
from reviewer.desk.place import at

place = at(Path(sys.argv[1]))
later, desk = LaterDesk(place), Desk(place)
assert (later.place, later.path) == (desk.place, desk.path)
assert later.decisions.throw_away() is desk.decisions.throw_away() is False
later.close()
for room in ("compare", "decisions", "imports", "judge", "labels", "patterns", "power",
             "reports", "runs", "scorecards", "traces", "trends", "trials", "workspace"):
    kind = type(getattr(desk, room))
    plain = [n for n in vars(kind) if not n.startswith("_") and not callable(getattr(kind, n))]
    # What is a value and no method would be asked of the later desk and never answered.
    assert plain == [], (room, plain)
print("the same")
"""


def test_a_desk_that_is_loaded_later_says_the_same(door: Door) -> None:
    assert _python(AS_LOADED_LATER, str(door.root)) == "the same\n"
