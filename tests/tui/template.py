"""ShopFlow's workspace as the tests of the workstation see it: the real desk on a real store.

The program makes the template once per process, with its clock stopped, so that every digest and
date on a screen is the same each time. Tests that only look share one desk; a test that writes
gets a copy. `Bent` replaces single answers of a desk: for faults, for what must come late, and for
suites and traces that would take too long to make.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from behaviour.keys import write_key
from doors import REPOSITORY, SUITE, V7, Door, lines, shipped
from hostile import SUITE as EVIL
from hostile import record, write_suite
from msgspec.structs import replace

from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.place import at
from reviewer.desk.views import EpisodeRow, KeyInfo, Scorecard
from reviewer.signing.keys import load_signer

NOW = 1_795_342_800
"""2026-11-22T10:20:00Z, when everything in the template happened."""


class StillDatetime(datetime):
    """`datetime` whose present is `NOW`, for modules that date what they write."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.fromtimestamp(NOW, tz)


HOSTILE = "[/foo] \x1b]52;c;ZXZpbA==\x07 \x1b[31mred \u202egnp.exe \x9b3J [@click=app.quit]x[/]"
EPISODES = ("attack-014", "appeal-009", "damaged-221")
"""As v7's scorecard lists them, worst first."""

RUN = """
import sys
from reviewer.cli.main import main
for argv in sys.argv[1:]:
    try:
        main(argv.split("\\n"))
    except SystemExit as left:
        print(*argv.split("\\n")[:2], left.code)
"""


def still(door: Door, *commands: tuple[object, ...]) -> str:
    """Run commands in one process whose clock stands still; return how each left."""
    frozen = REPOSITORY / "tests" / "behaviour" / "frozen"
    done = subprocess.run(
        [sys.executable, "-P", "-c", RUN, *("\n".join(map(str, each)) for each in commands)],
        cwd=door.root,
        env={
            **os.environ,
            "BEHAVIOUR_NOW": str(NOW),
            "PYTHONPATH": f"{frozen}{os.pathsep}{REPOSITORY}",
            "REVIEWER_NAME": "dana",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_shopflow(door: Door) -> None:
    """Both candidates, a file some of whose records are refused, and a key that may sign."""
    write_key(door.root / "keys" / "dana")
    refused = [
        {**shipped(V7)[0], "candidate_id": None, "attempt": 7},
        {**shipped(V7)[1], "episode_id": "attack-015"},
    ]
    door.file("traces/v7-night.jsonl", lines(refused))
    still(
        door,
        ("import", f"suites/{SUITE}/traces"),
        ("import", "traces/v7-night.jsonl"),
        ("keys", "trust", "dana@shopflow", "keys/dana.pub", "--roles", "approver"),
        ("_index",),
    )


def make_hostile(door: Door) -> None:
    """A suite and a candidate all of whose free texts are `HOSTILE`."""

    def text(*, long: bool = False) -> str:
        return HOSTILE

    write_key(door.root / "keys" / "dana")
    write_suite(door, text)
    bases = [each for each in shipped(V7) if each["episode_id"] == "attack-014"]
    records = [record(text, base, HOSTILE, n) for n, base in enumerate(bases)]
    records.append({"episode_id": HOSTILE, "candidate_id": HOSTILE})
    door.file(f"traces/{HOSTILE.replace('/', '|')}.jsonl", lines(records))
    still(door, ("import", "traces", "--suite", EVIL), ("_index",))


def is_attack(record: dict[str, Any]) -> bool:
    """Whether this is the attempt that v7 fails critically, or v8's of the same slot."""
    return (record["episode_id"], record["attempt"]) == ("attack-014", 1)


def attack(events: int = 5, again: str = "issue_refund", **changes: Any) -> dict[str, Any]:
    """V7's attempt with the critical failure, its five events over and over.

    After the first time it calls `again` instead of the critical tool. `changes` are made to the
    event whose number each is named after (`_7={...}`); None takes a field away.
    """
    found = next(each for each in shipped(V7) if is_attack(each))
    five = found["events"]
    made = []
    for seq in range(1, events + 1):
        event = {**five[(seq - 1) % 5], "seq": seq, **changes.get(f"_{seq}", {})}
        if seq > 5 and event.get("tool") == "issue_refund":
            event["tool"] = again
        event = {name: value for name, value in event.items() if value is not None}
        if "call_id" in event:
            event["call_id"] = f"call_{seq}"
        made.append(event)
    return {**found, "events": made}


def with_attack(door: Door, record: dict[str, Any]) -> Desk:
    """A desk with all of v7, this record in place of its critical failure."""
    others = [each for each in shipped(V7) if not is_attack(each)]
    said = door.take("v7.jsonl", [*others, record])
    assert "9 added" in said.err, said
    return opened(door.root)


def trace_id(candidate: str, episode: str, attempt: int = 1) -> str:
    return f"{SUITE}/{candidate}/{episode}/{attempt}"


class Bent:
    """A desk some of whose methods answer otherwise, and what was asked of it.

    A replaced method is given the real one first, then what the caller passed. Names may have dots.
    """

    def __init__(
        self, desk: Any, methods: dict[str, Callable[..., Any]] | None = None, room: str = ""
    ) -> None:
        self._desk, self._methods, self._room = desk, {} if methods is None else methods, room
        self.calls: list[tuple[Any, ...]] = []
        """(room.method, argument, …) of every call, oldest first."""

    def bend(self, name: str, method: Callable[..., Any]) -> "Bent":
        """Replace a method of a room of the desk (`room.method`), or of the desk itself."""
        self._methods[name] = method
        return self

    def asked(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of each call of a method."""
        return [tuple(args) for called, *args in self.calls if called == name]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._desk, name)
        if isinstance(found, Bent) or type(found).__name__.endswith("Room"):
            room = Bent(found, self._methods, f"{name}.")
            room.calls = self.calls
            return room
        if not callable(found):
            return found
        name = self._room + name

        def called(*args: Any, **more: Any) -> Any:
            self.calls.append((name, *args, *more.values()))
            if name in self._methods:
                return self._methods[name](found, *args, **more)
            return found(*args, **more)

        return called


def refusing(error: DeskError) -> Callable[..., Any]:
    """A method that raises an error, for `Bent`."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise error

    return refuse


# what a test turns --------------------------------------------------------------------------------


def opened(root: Path) -> Desk:
    """Dana's desk on a workspace, which it calls by its folder alone."""
    found = Desk(at(root), reviewer="dana")
    found.path = found.opened.path = root.name
    return found


def key_of(root: Path, **changes: Any) -> KeyInfo:
    """Dana's key as `keys` gives it, held by an agent."""
    public = load_signer(str(root / "keys" / "dana")).public
    found = KeyInfo(
        fingerprint=public.keyid, comment="dana", where="ssh-agent", principal="dana@shopflow",
        roles=("approver",),
    )  # fmt: skip
    return replace(found, **changes)


def without_evidence(desk: Bent) -> Bent:
    """A desk whose third reason has no event behind it."""

    def card(real: Callable[..., Scorecard], *args: Any) -> Scorecard:
        found = real(*args)
        first, second, third = found.reasons
        return replace(found, reasons=(first, second, replace(third, evidence=())))

    return desk.bend("scorecards.card", card)


def holding(desk: Any, *keys: KeyInfo) -> Bent:
    """The desk of somebody who holds these keys; an agent signs with the file of Dana's."""
    root = desk.place.root
    held = keys or (key_of(root),)

    def sign(real: Callable[..., Any], suite: str, candidate: str, word: str, key: str,
             *args: Any, **more: Any) -> Any:  # fmt: skip
        return real(suite, candidate, word, str(root / "keys" / "dana"), *args, **more)

    return Bent(desk, {"decisions.keys": lambda _: list(held), "decisions.sign": sign})


def many(desk: Any, count: int) -> Bent:
    """A desk whose suite has as many episodes as asked: the real rows, over and over."""
    order = desk.scorecards.order(SUITE, V7)

    def keys(real: Callable[..., Any], *args: Any, **more: Any) -> list[int]:
        most = more.get("most", args[6] if len(args) > 6 else -1)
        return list(range(count if most < 0 else min(most, count)))

    def rows(
        real: Callable[..., list[EpisodeRow]], suite: str, candidate: str, asked: list[int]
    ) -> list[EpisodeRow]:
        found = {row.key: row for row in real(suite, candidate, order)}
        return [_numbered(found[order[key % 3]], key) for key in asked]

    def card(real: Callable[..., Scorecard], *args: Any) -> Scorecard:
        return replace(real(*args), episodes=count)

    def cell(real: Callable[..., Any], suite: str, candidate: str, name: str, gate: str) -> Any:
        return real(suite, candidate, "-".join(name.split("-")[:2]), gate)

    return Bent(desk, {
        "scorecards.order": keys,
        "scorecards.rows": rows,
        "scorecards.card": card,
        "scorecards.cell": cell,
        "scorecards.maybe_red": lambda *_: range(count),
        "scorecards.episode_key": lambda _, __, name: EPISODES.index(name),
    })  # fmt: skip


def _numbered(row: EpisodeRow, key: int) -> EpisodeRow:
    return replace(
        row, key=key, episode_id=f"{row.episode_id}-{key}" if key > 2 else row.episode_id
    )
