"""Compare what the program does with what was accepted, or accept what it does now.

    python -m tests.behaviour compare [SCENE ...]     through the installed command
    python -m tests.behaviour accept [SCENE ...]

`--forked` runs the same program from a process that keeps its modules loaded: quicker.
"""

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from behaviour import recorded
from behaviour.scenes import SCENES
from behaviour.stage import Forked, Installed, Stage


def play(name: str, forked: bool) -> dict[str, str]:
    """Play one scene in a folder of its own; return its records."""
    with tempfile.TemporaryDirectory() as folder, Forked() if forked else Installed() as driver:
        stage = Stage(driver, Path(folder))
        SCENES[name](stage)
        return stage.records


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.behaviour")
    asked.add_argument("act", choices=("compare", "accept"))
    asked.add_argument("scenes", nargs="*", metavar="SCENE", help="default: all")
    asked.add_argument("--forked", action="store_true", help="without a new process per command")
    asked.add_argument("--jobs", type=int, default=2, metavar="N", help="scenes at a time (2)")
    given = asked.parse_args()
    names = given.scenes or list(SCENES)
    if unknown := [name for name in names if name not in SCENES]:
        asked.error(f"no scene {', '.join(unknown)}; scenes are {', '.join(SCENES)}")
    wrong = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for name, records in zip(
            names, pool.map(lambda n: play(n, given.forked), names), strict=True
        ):
            if given.act == "accept":
                print(f"{name}: {'accepted' if recorded.accept(name, records) else 'as it was'}")
                continue
            for text in recorded.differences(name, records):
                print(text)
                wrong += 1
    if given.act == "compare":
        print(f"{wrong} records differ" if wrong else f"{len(names)} scenes as accepted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
