"""Suites with guests in them (commands, Python candidates, toolkits) and tasks to run them."""

import asyncio
import json
import os
import sys
import textwrap
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from reviewer.running.model import Adapter, Brief, Observation, Slot, Task, ToolSpec, Turn
from reviewer.running.sandbox import fence, keeper, protection, room
from reviewer.running.sandbox.protection import Protection
from reviewer.suite.candidate import Candidate
from reviewer.suite.model import Episode, RedactionRules

KINDS = ("bubblewrap", "landlock", "none")

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
BRIEF = Brief("My lamp came broken.", (LOOK,))
PRICES = {"input_usd_per_million_tokens": 2.0, "output_usd_per_million_tokens": 10.0}


def hold(kind: str, patch: pytest.MonkeyPatch) -> None:
    """From here on children are held in this way; the test is skipped where it cannot be."""
    filtered = fence.filters_here()
    held = Protection("none", why_not="a test", filtered=filtered)
    if kind == "bubblewrap":
        start, why = protection.bubblewrap_usable()
        if not start:
            pytest.skip(f"bubblewrap: {why}")
        held = Protection("bubblewrap", start, filtered=filtered)
    elif kind == "landlock":
        known = keeper.landlock_version()
        if known < keeper.LANDLOCK_OLDEST:
            pytest.skip(f"Landlock {keeper.LANDLOCK_OLDEST} is not there (the kernel has {known})")
        held = Protection("landlock", landlock=known, filtered=filtered)
    patch.setattr(room, "protection", lambda: held)


def workspace(root: Path) -> Path:
    """A workspace with one small suite; gives the suite's folder."""
    folder = root / "suites" / "lamp-v1"
    for name in ("candidates", "toolkits", "episodes"):
        (folder / name).mkdir(parents=True)
    (root / "store").mkdir()
    (root / "store" / "review.db").write_text("evidence")
    (folder / "episodes" / "e-1.json").write_text("the expectation")
    return folder


def written(path: Path, text: str, executable: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    if executable:
        path.chmod(0o755)
    return path


def task(folder: Path, runner: dict[str, Any], **more: Any) -> Task:
    candidate = Candidate(
        candidate_id="guest", digest="0" * 64, runner=runner, prices=more.pop("prices", {})
    )
    return Task(
        slot=Slot("lamp-v1", "guest", "e-1", more.pop("attempt", 1)),
        episode=more.pop("episode", Episode(episode_id="e-1", user_request=BRIEF.user_request)),
        candidate=candidate,
        redaction=RedactionRules(),
        folder=str(folder),
        **more,
    )


def command(folder: Path, program: str, **runner: Any) -> Task:
    """A task whose candidate is this Python text, as a command. Its prelude reads and writes
    lines: `start`, `say(…)`, `ask()`."""
    prelude = """
        import json, os, sys
        def ask():
            line = sys.stdin.readline()
            return json.loads(line) if line else None
        def say(**message):
            print(json.dumps(message), flush=True)
        start = ask()
    """
    text = textwrap.dedent(prelude) + textwrap.dedent(program)
    written(folder / "candidates" / "guest.py", text)
    more = {name: runner.pop(name) for name in ("prices", "network_run") if name in runner}
    if "network_run" in more:
        more["network"] = more.pop("network_run")
    runner = {"kind": "command", "command": [sys.executable, "./guest.py"], **runner}
    return task(folder, runner, **more)


@asynccontextmanager
async def closing(adapter: Adapter) -> AsyncIterator[Adapter]:
    try:
        yield adapter
    finally:
        await adapter.close()


def answers(turn: Turn, *contents: Any, status: Any = "ok") -> list[Observation]:
    """What the calls of a turn are answered with."""
    told: Sequence[Any] = contents or ["done"] * len(turn.calls)
    return [
        Observation(call.call_id, call.tool, status, content)
        for call, content in zip(turn.calls, told, strict=True)
    ]


def running(token: str) -> list[int]:
    """Processes of this machine whose command line holds the token, but for our own."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if token.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                    found.append(int(name))
            except OSError:
                continue
    return found


async def up(token: str, count: int) -> None:
    """Waits until that many such processes are seen: one that is being started is not yet."""
    async with asyncio.timeout(30):
        while len(running(token)) < count:
            await asyncio.sleep(0.01)


def message_of(turn: Turn) -> Any:
    """The final message of a guest that reports in JSON."""
    assert turn.message is not None
    return json.loads(turn.message)
