"""How the workstation feels at any size: `python benchmarks/workstation.py [--only PART]`.

Stores of a thousand, a hundred thousand and a million traces are made in a folder (kept, and taken
again, where one is named), and the program is run on a pseudo-terminal of 120 × 40: first paint,
key to frame, memory, all of it again while an import writes into the store, and one trace of 50 MB.
Textual's DataTable with the same number of rows, and mini-swe-agent's inspector on the same trace,
are measured in the same run. A figure is the time from typing to the end of the first frame that
shows what was asked for.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count, cycle
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import workstation_stores as stores  # noqa: E402
from workstation_terminal import Screen, Sees, Terminal  # noqa: E402

PYTHON = sys.executable
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT |= {"PYTHONPATH": str(HERE.parent), "REVIEWER_SETTINGS": os.devnull}
ENVIRONMENT |= {"XDG_STATE_HOME": os.devnull}  # what keys fold and size is nobody's memory
VERDICTS = ("BLOCK", "REPAIR", "HOLD", "PROMOTE")
DOWN, PAGE, HOME, END = b"j", b"\x1b[6~", b"g", b"G"
LARGE_MB = 50
PATIENT = 120.0
"""Seconds after which a plain table of so many rows is given up."""
LONG = 300.0
"""Seconds after which figures are given up, worked out beside an import on a small machine."""


class Asked(NamedTuple):
    """`times` each key, the nice value of the programs' session, mini-swe-agent's command."""

    times: int
    nice: int | None
    inspector: str


# what a screen shows ------------------------------------------------------------------------------


def rows_shown(screen: Screen) -> bool:
    return any("episode…" in line or "episode-" in line for line in screen[3:28])


def verdict_shown(screen: Screen) -> bool:
    return any(word in line for line in screen[1:6] for word in VERDICTS)


def start_shown(screen: Screen) -> bool:
    return any("import traces you already have" in line for line in screen)


def cursor(screen: Screen) -> str:
    """Where the cursor of the grid stands: the rows seen, its line, and its row with its cell."""
    seen = next((found[0] for line in screen if (found := _SEEN.search(line))), "")
    lines = [f"{n} {line}" for n, line in enumerate(screen[:28]) if line.startswith("›")]
    return f"{seen} {lines}"


_SEEN = re.compile(r"[\d,]+ to [\d,]+")


def holds(*words: str) -> Sees:
    return lambda screen: all(any(word in line for line in screen) for word in words)


def moved(terminal: Terminal, of: Callable[[Screen], str] = cursor) -> Sees:
    before = of(terminal.screen)
    return lambda screen: of(screen) != before


# tables -------------------------------------------------------------------------------------------


def percentile(values: list[float], share: float) -> float:
    """The value that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def table(title: str, head: Iterable[str], lines: Iterable[Iterable[str]]) -> None:
    head = list(head)
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for line in lines:
        print(f"| {' | '.join(line)} |")
    sys.stdout.flush()


def ms(values: list[float]) -> str:
    return f"{percentile(values, 0.5):,.0f} / {percentile(values, 0.95):,.0f}" if values else "–"


# first paint --------------------------------------------------------------------------------------


def first_paint(workspaces: dict[str, Path], asked: Asked, times: int = 7) -> None:
    """Alternately, so that whatever else the machine does falls on all alike."""
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(times):
        for name, workspace in workspaces.items():
            kept = found.setdefault(name, {"frame": [], "rows": [], "verdict": []})
            with reviewer(workspace, asked) as terminal:
                begun = terminal.started
                marks = [("frame", lambda screen: any(map(str.strip, screen)))]
                marks += [("rows", start_shown if name == "empty" else rows_shown)]
                marks += [] if name == "empty" else [("verdict", verdict_shown)]
                for mark, sees in marks:
                    shown = sees(terminal.screen)
                    kept[mark].append((terminal.last if shown else terminal.until(sees)) - begun)
    least, middle = min(found["empty"]["rows"]), statistics.median(found["empty"]["rows"])
    table(
        "First paint (seconds, least and median)",
        ["store", "a frame", "rows", "÷ empty, least", "÷ empty, median", "verdict"],
        (
            [
                name,
                *(seconds(kept[mark]) for mark in ("frame", "rows")),
                f"{min(kept['rows']) / least:.2f}",
                f"{statistics.median(kept['rows']) / middle:.2f}",
                seconds(kept["verdict"]),
            ]
            for name, kept in found.items()
        ),
    )


def seconds(values: list[float]) -> str:
    return f"{min(values):.2f}, {statistics.median(values):.2f}" if values else "–"


# keys ---------------------------------------------------------------------------------------------


@contextmanager
def reviewer(workspace: Path, asked: Asked, *words: str) -> Iterator[Terminal]:
    command = [PYTHON, "-m", "reviewer", "--workspace", str(workspace), *words]
    with Terminal(command, ENVIRONMENT, asked.nice) as terminal:
        yield terminal


def opened(terminal: Terminal) -> None:
    for sees in (rows_shown, verdict_shown):
        if not sees(terminal.screen):
            terminal.until(sees, LONG)
    terminal.settle(0.5)


def type_filter(terminal: Terminal, text: str) -> None:
    """Up to the Enter that takes it."""
    terminal.press(b"/")
    terminal.settle(0.3)
    terminal.press(text.encode())
    terminal.settle(0.3)


class Keys:
    """A person at work in the scorecard; every act gives milliseconds by its name."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.took: dict[str, list[float]] = {}
        self._sorts = cycle(range(11))
        self._filters = cycle(("gate:authority", "cost>0.1", "tag:refund", "0042", "latency>5"))

    def time(self, name: str, keys: bytes, sees: Sees) -> None:
        self.took.setdefault(name, []).append(self.terminal.after(keys, sees))
        self.terminal.settle()

    def move(self, name: str, keys: bytes) -> None:
        self.time(name, keys, moved(self.terminal))

    def sort(self) -> None:
        """By the next column, first rising and then falling; a new order starts at the top."""
        for _ in range(next(self._sorts) % 3):
            self.terminal.press(b"l")
        self.terminal.settle()
        before = order_words(self.terminal.screen)
        self.time("sort", b"s", lambda screen: order_words(screen) != before)

    def filter(self) -> None:
        text = next(self._filters)
        type_filter(self.terminal, text)
        self.time("filter", b"\r", lambda screen: text in order_words(screen))
        self.terminal.press(b"\x1b")
        self.terminal.settle(0.4)

    def trace(self) -> None:
        self.time("open trajectory", b"\r", holds(" events ", "lookup_"))
        before = attempt(self.terminal.screen)
        key = b"[" if before == "9" else b"]"
        self.time("other attempt", key, lambda screen: attempt(screen) != before)
        self.time("back", b"q", rows_shown)

    def round(self, number: int) -> None:
        for _ in range(3):
            self.move("j", DOWN)
        self.move("page down", PAGE)
        self.move("last, first row", HOME if number % 2 else END)
        self.move("next red", b"n" if number % 2 else b"N")
        self.sort()
        if number % 2:
            self.filter()
        self.trace()


def order_words(screen: Screen) -> str:
    """The end of the line above the grid: filter and order."""
    line = next((line for line in screen if line.startswith("━━ episodes")), "")
    return line.rpartition(" to ")[2]


def attempt(screen: Screen) -> str:
    found = re.search(r"\[ attempt (\d+) \]", screen[1])
    return found[1] if found else ""


class Session(NamedTuple):
    took: dict[str, list[float]]
    peak_mb: float
    helpers_mb: float


def session(workspace: Path, asked: Asked) -> Session:
    with reviewer(workspace, asked) as terminal:
        opened(terminal)
        keys = Keys(terminal)
        for number in range(asked.times):
            keys.round(number)
        return Session(keys.took, terminal.peak_mb(), terminal.helpers_mb)


def key_table(title: str, found: dict[str, Session]) -> None:
    names = list(dict.fromkeys(name for each in found.values() for name in each.took))
    table(
        f"{title} (key to frame in ms, p50 / p95)",
        ["", *found],
        ([name, *(ms(each.took.get(name, [])) for each in found.values())] for name in [*names]),
    )
    everything = [[each for took in one.took.values() for each in took] for one in found.values()]
    table("… all keys together", ["", *found], [["p50 / p95", *map(ms, everything)]])


# the same while an import writes ------------------------------------------------------------------


@contextmanager
def importing(workspace: Path, asked: Asked) -> Iterator[list[int]]:
    """Imports of one candidate after another, until it is enough; gives how many have ended."""
    lines, ended, enough = workspace / "more.jsonl", [0], Event()
    suite = stores.Maker.suite_of(workspace)
    stores.write_lines(lines, suite, stores.IMPORTED, 2)

    def work() -> None:
        for number in count(3):
            name = f"agent-v{number}"
            text = lines.read_bytes().replace(stores.IMPORTED.encode(), name.encode())
            lines.with_name(f"{name}.jsonl").write_bytes(text)
            command = [PYTHON, "-m", "reviewer", "--workspace", str(workspace), "import"]
            process = subprocess.Popen(
                [*command, str(lines.with_name(f"{name}.jsonl"))],
                env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            while process.poll() is None:
                if enough.wait(0.1):
                    process.terminate()
                    process.wait()
                    return
            ended[0] += 1

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield ended
    finally:
        enough.set()
        thread.join()


# a large trace ------------------------------------------------------------------------------------


def large_store(folder: Path) -> Path:
    """A small store with one trace of `LARGE_MB`."""
    workspace, lines = folder / "large", folder / "large.jsonl"
    if not workspace.exists():
        stores.made(workspace, 100)
        stores.write_large(lines, "episode-000000", "agent-large", LARGE_MB)
        run = [PYTHON, "-m", "reviewer", "--workspace", str(workspace)]
        subprocess.run([*run, "import", str(lines)], env=ENVIRONMENT, check=True)
        subprocess.run([*run, "_index"], env=ENVIRONMENT, check=True)
    return workspace


@contextmanager
def episode_of(folder: Path, asked: Asked, episode: str) -> Iterator[Terminal]:
    """The scorecard with the cursor on one episode: 000000 has the large trace."""
    with reviewer(large_store(folder), asked) as terminal:
        opened(terminal)
        if episode == "000001":
            terminal.press(b">")
            terminal.settle(0.5)
        type_filter(terminal, f"episode-{episode}")
        terminal.press(b"\r")
        terminal.settle(0.5)
        yield terminal


@contextmanager
def trace_of(folder: Path, asked: Asked, episode: str) -> Iterator[Terminal]:
    """The trajectory of one episode."""
    with episode_of(folder, asked, episode) as terminal:
        terminal.after(b"\r", holds(" events ", "lookup_"))
        terminal.settle(0.5)
        yield terminal


def large_trace(folder: Path, asked: Asked) -> None:
    found: dict[str, Session] = {}
    for name, episode in (("trace of 5 events", "000001"), (f"trace of {LARGE_MB} MB", "000000")):
        with episode_of(folder, asked, episode) as terminal:
            keys = Keys(terminal)
            for _ in range(max(3, asked.times // 3)):
                keys.time("open trajectory", b"\r", holds(" events ", "lookup_"))
                for _ in range(3):
                    keys.move("next event", DOWN)
                if episode == "000000":
                    keys.move("page down", PAGE)
                    keys.move("last, first event", END)
                    keys.move("last, first event", HOME)
                    keys.move("next error", b"d")
                keys.time("back", b"q", rows_shown)
            found[name] = Session(keys.took, terminal.peak_mb(), terminal.helpers_mb)
    key_table("A large trace", found)
    memory_table(found)
    if asked.inspector:
        inspector(folder, folder / "large.jsonl", asked)


def inspector(folder: Path, lines: Path, asked: Asked) -> None:
    """mini-swe-agent's inspector on the same trace; it shows one step at a time."""
    out = folder / "large.traj.json"
    peers = str(HERE / "workstation_peers.py")
    if not out.exists():
        subprocess.run([PYTHON, peers, "convert", str(lines), str(out)], check=True)
    took: dict[str, list[float]] = {}
    command = [*asked.inspector.split(), str(out)]
    with Terminal(command, ENVIRONMENT, asked.nice) as terminal:
        first = (terminal.until(holds("Step 1")) - terminal.started) * 1000
        took["open"] = [first]
        terminal.settle(0.5)
        keys = Keys(terminal)
        for _ in range(asked.times):
            keys.time("next step", b"l", moved(terminal, "\n".join))
        for _ in range(3):
            keys.time("last, first step", b"$", moved(terminal, "\n".join))
            keys.time("last, first step", b"0", moved(terminal, "\n".join))
        found = Session(took | keys.took, terminal.peak_mb(), terminal.helpers_mb)
    key_table("mini-swe-agent's inspector on the same trace", {"inspector": found})
    memory_table({"inspector": found})


# a plain table ------------------------------------------------------------------------------------


def plain_tables(asked: Asked, sizes: Iterable[int]) -> None:
    found: dict[str, Session] = {}
    firsts: list[list[str]] = []
    for rows in sizes:
        command = [PYTHON, str(HERE / "workstation_peers.py"), "table", str(rows)]
        with Terminal(command, ENVIRONMENT, asked.nice) as terminal:
            try:
                shown = terminal.until(holds("episode-000000"), PATIENT) - terminal.started
            except TimeoutError:
                firsts.append([f"{rows:,} rows", f"more than {PATIENT:.0f}"])
                continue
            terminal.settle(1.0)
            firsts.append([f"{rows:,} rows", f"{shown:.1f}"])
            keys = Keys(terminal)
            for number in range(asked.times):
                # from the first row down, and from the last one up
                keys.time("j", b"\x1b[A" if number % 2 else b"\x1b[B", lambda screen: True)
                page = b"\x1b[5~" if number % 2 else PAGE
                keys.time("page down", page, moved(terminal, "\n".join))
                end = b"\x1b[1;5H" if number % 2 else b"\x1b[1;5F"
                keys.time("last, first row", end, moved(terminal, "\n".join))
                if number < 5:
                    keys.time("sort", b"s", moved(terminal, "\n".join))
            found[f"{rows:,} rows"] = Session(keys.took, terminal.peak_mb(), 0.0)
    table("Textual's DataTable: seconds to the first rows", ["", "s"], firsts)
    key_table("Textual's DataTable", found)
    memory_table(found)


def memory_table(found: dict[str, Session], against: str = "") -> None:
    base = found[against].peak_mb if against else 0.0
    table(
        "Memory (MB)",
        ["", "peak of the program", "more than on an empty store", "peak of a process beside it"],
        (
            [
                name,
                f"{each.peak_mb:.0f}",
                f"{each.peak_mb - base:+.0f}" if against else "–",
                f"{each.helpers_mb:.0f}" if each.helpers_mb else "–",
            ]
            for name, each in found.items()
        ),
    )


def empty_session(workspace: Path, asked: Asked) -> Session:
    with reviewer(workspace, asked) as terminal:
        terminal.until(start_shown)
        terminal.settle(2.0)
        return Session({}, terminal.peak_mb(), terminal.helpers_mb)


# all of it ----------------------------------------------------------------------------------------

PARTS = ("paint", "keys", "import", "large", "table")


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--folder", type=Path, help="where stores are kept and taken again")
    given.add_argument("--only", choices=PARTS, action="append")
    given.add_argument("--sizes", nargs="*", choices=list(stores.SIZES), default=list(stores.SIZES))
    given.add_argument("--times", type=int, default=20)
    given.add_argument("--inspector", default="", help="command of mini-swe-agent's inspector")
    given.add_argument("--nice", type=int, help="of the programs' session (root)")
    asked_for = given.parse_args()
    asked = Asked(asked_for.times, asked_for.nice, asked_for.inspector)
    folder = asked_for.folder or Path(tempfile.mkdtemp(prefix="workstation-"))
    parts = asked_for.only or PARTS
    try:
        measure(folder, parts, asked_for.sizes, asked)
    finally:
        if asked_for.folder is None:
            shutil.rmtree(folder)


def measure(folder: Path, parts: Iterable[str], sizes: list[str], asked: Asked) -> None:
    nothing = folder / "empty"
    if not nothing.exists():
        stores.empty(nothing)
    workspaces = {"empty": nothing}
    if {"paint", "keys", "import"} & set(parts):
        for size in sizes:
            name = size.replace(" ", "")
            workspaces[size] = stores.made(folder / name, stores.SIZES[size], index=20_000)
    found = {"empty": empty_session(nothing, asked)}
    if "paint" in parts:
        first_paint(workspaces, asked)
    if "keys" in parts:
        found |= {size: session(workspaces[size], asked) for size in sizes}
        key_table("The scorecard and its traces", {size: found[size] for size in sizes})
        memory_table(found, "empty")
    if "import" in parts:
        during: dict[str, Session] = {}
        for size in sizes:
            copy = folder / "written"
            shutil.copytree(workspaces[size], copy)
            try:
                with importing(copy, asked) as ended:
                    during[size] = session(copy, asked)
                print(f"\n{size}: {ended[0]} imports ended meanwhile")
            finally:
                shutil.rmtree(copy)
        key_table("While an import writes into the store", during)
        memory_table({"empty": found["empty"], **during}, "empty")
    if "large" in parts:
        large_trace(folder, asked)
    if "table" in parts:
        plain_tables(asked, (1_000, 100_000, 1_000_000))


if __name__ == "__main__":
    main()
