"""Every key of the scorecard and of a trace, from typing to the frame that shows it.

    python benchmarks/workstation_keys.py --folder DIR [--times N] [--nice -10]

Stores of a thousand, a hundred thousand and a million traces, and one trace of 50 MB with some
80,000 events, as `workstation.py` makes them and in its folder. Each key is typed on a screen at
rest, and what undoes it after it; the time ends with the first frame that shows what was asked for,
which for a key that leads to another place is a frame of that place with its answer. Wall time: a
busy machine says so in every figure. Beside it stands the processor time of the thread that draws.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import workstation as bench  # noqa: E402
import workstation_stores as stores  # noqa: E402
from workstation_terminal import Screen, Terminal  # noqa: E402

GOAL_MS = 50.0
ESC = b"\x1b"


class Key(NamedTuple):
    """A key: its name, what is typed, words of the frame that shows it ("" for any other frame),
    what is typed before it, and what undoes it."""

    name: str
    typed: bytes
    words: str = ""
    before: bytes = b""
    after: bytes = b""


# Screens on a million traces go on reading for a while after they are left: their keys come last.
SCORECARD = (
    Key("j", b"j"),
    Key("k", b"k"),
    Key("l", b"l"),
    Key("h", b"h"),
    Key("page down", bench.PAGE),
    Key("page up", b"\x1b[5~"),
    Key("half a page", b"\x04"),
    Key("G", b"G"),
    Key("g", b"g"),
    Key("n", b"n"),
    Key("N", b"N"),
    Key("f", b"f", "only failing", after=b"f"),
    Key("s", b"s", "by ", before=b"l"),
    Key("# group", b"#", "tag", after=b"##"),
    Key("bar: side by side", b"|", after=b"|"),
    Key("z fold", b"z", after=b"z"),
    Key("Z zoom", b"Z", "zoomed", after=b"Z"),
    Key("K lines", b"K", after=b"_"),
    Key("tab", b"\t", after=b"\t\t\t"),
    Key("/ filter", b"/", "filter", after=ESC),
    Key("v views", b"v", "views", after=ESC),
    Key("c choose", b"c", "candidate", after=ESC),
    Key(": go to", b":", "go to", after=ESC),
    Key("ctrl+p acts", b"\x10", "acts", after=ESC),
    Key("? help", b"?", "You are asked", after=ESC),
    Key("r run", b"r", "run", after=ESC),
    Key("x export", b"x", "export", after=ESC),
    Key("i import", b"i", "import", after=ESC),
    Key("1 reason", b"1"),
    Key("y copy", b"y", "copied"),
    Key("< candidate", b"<", after=b">"),
)
PLACES = (
    Key("Enter trajectory", b"\r", " events ", after=b"q"),
    Key("C compare", b"C", "[Compare]", after=b"q"),
    Key("Q queue", b"Q", "[Queue]", after=b"q"),
    Key("J judge", b"J", "[Judge]", after=b"q"),
    Key("D decision", b"D", "[Decision]", after=b"q"),
    Key("R runs", b"R", "[Runs]", after=b"q"),
    Key("E trends", b"E", "[trEnds]", after=b"q"),
    Key("U suite", b"U", "[sUite]", after=b"q"),
    Key("P patterns", b"P", "[Patterns]", after=b"q"),
    Key("F search", b"F", "search", after=ESC + ESC),
)
TRACE = (
    Key("j", b"j"),
    Key("k", b"k"),
    Key("page down", bench.PAGE),
    Key("page up", b"\x1b[5~"),
    Key("G", b"G"),
    Key("g", b"g"),
    Key("n finding", b"n"),
    Key("N", b"N"),
    Key("d not ok", b"d"),
    Key("* same tool", b"*"),
    Key("; again", b";"),
    Key(", back", b","),
    Key("v view", b"v", after=b"vv"),
    Key("# turns", b"#", after=b"##"),
    Key("z fold", b"z", after=b"z"),
    Key("Z zoom", b"Z", "zoomed", after=b"Z"),
    Key("K lines", b"K", after=b"_"),
    Key("tab", b"\t", after=b"\t\t"),
    Key("/ search", b"/", "search", after=ESC),
    Key(": go to", b":", "go to", after=ESC),
    Key(") state", b")"),
    Key("( state", b"("),
    Key("m bookmark", b"m", after=b"m"),
    Key("? help", b"?", "You are asked", after=ESC),
    Key("y copy", b"y", "copied"),
    Key("q back", b"q", "[Scorecard]", after=b"\r"),
)


def other_than(before: Screen) -> Callable[[Screen], bool]:
    return lambda screen: screen != before


def rest(terminal: Terminal) -> None:
    terminal.settle(0.15, 3.0)


def press(terminal: Terminal, keys: bytes) -> None:
    """Type keys one after another, each on a screen at rest."""
    at = 0
    while at < len(keys):
        end = len(keys) if keys[at : at + 2] == b"\x1b[" else at + 1
        terminal.press(keys[at:end])
        rest(terminal)
        at = end


class Took(NamedTuple):
    """Milliseconds by key: from typing to the frame, and of work of the thread that draws."""

    ms: dict[str, list[float]]
    work: dict[str, list[float]]


def measured(terminal: Terminal, keys: Iterable[Key], times: int) -> Took:
    """Type each key so many times. One that changes nothing on the screen has no figures."""
    took, worked = dict[str, list[float]](), dict[str, list[float]]()
    for number in range(times):
        for key in keys:
            press(terminal, key.before)
            before = terminal.screen
            sees = bench.holds(key.words) if key.words else other_than(before)
            begun = terminal.worked()
            try:
                ms = terminal.after(key.typed, sees, 3.0)
                work = terminal.worked() - begun
            except TimeoutError:
                took.setdefault(key.name, [])
                continue
            finally:
                rest(terminal)
                press(terminal, key.after)
            if number:  # the first time brings its modules
                took.setdefault(key.name, []).append(ms)
                worked.setdefault(key.name, []).append(work)
    return Took(took, worked)


def tell(title: str, found: dict[str, Took]) -> None:
    names = list(dict.fromkeys(name for each in found.values() for name in each.ms))
    columns = [by for each in found.values() for by in each]
    rows = [[name, *(bench.ms(by.get(name, [])) for by in columns)] for name in names]
    whole = [[ms for took in by.values() for ms in took] for by in columns]
    rows.append(["all together", *map(bench.ms, whole)])
    heads = [head for name in found for head in (name, f"{name}, work")]
    bench.table(f"{title} (key to frame in ms, p50 / p95)", ["", *heads], rows)
    for name, (each, _) in found.items():
        late = [
            key for key, took in each.items() if took and bench.percentile(took, 0.95) > GOAL_MS
        ]
        print(f"{name}: over {GOAL_MS:.0f} ms at p95: {', '.join(late) or 'none'}")


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--folder", type=Path, help="where stores are kept and taken again")
    given.add_argument("--sizes", nargs="*", choices=list(stores.SIZES), default=list(stores.SIZES))
    given.add_argument("--times", type=int, default=20)
    given.add_argument("--nice", type=int, help="of the programs' session (root)")
    given.add_argument("--no-large", action="store_true", help="leave out the trace of 50 MB")
    given.add_argument("--no-places", action="store_true", help="leave out other screens")
    said = given.parse_args()
    asked = bench.Asked(said.times, said.nice, "")
    folder = said.folder or Path(tempfile.mkdtemp(prefix="workstation-"))
    try:
        found: dict[str, Took] = {}
        places: dict[str, Took] = {}
        for size in said.sizes:
            place = stores.made(folder / size.replace(" ", ""), stores.SIZES[size], index=20_000)
            for keys, kept in ((SCORECARD, found), (PLACES, places)):
                if keys is PLACES and said.no_places:
                    continue
                with bench.reviewer(place, asked) as terminal:
                    bench.opened(terminal)
                    kept[size] = measured(terminal, keys, said.times + 1)
        tell("Every key of the scorecard", found)
        if places:
            tell("Keys that lead to another screen", places)
        if not said.no_large:
            traces = {}
            for name, episode in (("5 events", "000001"), ("50 MB", "000000")):
                with bench.trace_of(folder, asked, episode) as terminal:
                    traces[name] = measured(terminal, TRACE, said.times + 1)
            tell("Every key of a trace", traces)
    finally:
        if said.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
