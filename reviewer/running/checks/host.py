"""Run checks over records: children in the sandbox of candidates, and the meaning of their answers.

One child runs one check for one candidate. Every failure is an answer too: the check is not
measured on that record, and the finding says why. Nothing is raised.
"""

import asyncio
import json
import os
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from reviewer.gates.custom import CHECKED_GATES, Checked, against, not_measured
from reviewer.gates.model import Finding
from reviewer.running.sandbox.fence import pure_filter
from reviewer.running.sandbox.protection import protection
from reviewer.running.sandbox.room import (
    KEEPER,
    Child,
    ChildExit,
    Order,
    OutputFlood,
    StartFailure,
    start,
)
from reviewer.suite.checks import CHECKS, CheckFile, modules_of
from reviewer.suite.errors import shown
from reviewer.suite.model import Episode
from reviewer.suite.strict_json import type_name
from reviewer.trace.redaction import Redactor

T = TypeVar("T")

CPU_S = 5
MOST_MEMORY = 512 * 1024**2
SECONDS = 60.0
"""Seconds that a check may take for one record. This wall-clock limit only ends checks that
wait."""
MOST_FINDINGS = 100
MOST_TEXT = 300
MOST_CHILDREN = 8

NO_ISOLATION = (
    "was not run: this machine cannot isolate it; install bubblewrap, or score where Landlock and "
    "seccomp hold programs"
)
_SLOT = ("attempt", "candidate_id")
_MEMBERS = frozenset({"gate", "seq", "text"})
_NO_SUITE = Path("/nonexistent")
"""A check receives its record and its contract: it works on no folder."""
_CHILD = Path(__file__).with_name("check_child.py")


class Ran(NamedTuple):
    """The result of one check on one record: its findings, or why there are none to rely on."""

    findings: tuple[Finding, ...] = ()
    broken: str = ""


def can_run() -> bool:
    """Return whether this machine isolates a check."""
    return protection().fenced


class CheckHost:
    """Runs checks, in children that end with it. Used by one thread at a time.

    `seed` is their hash seed; `reversed_members` gives every object's members in the opposite
    order. A check whose answer then differs is not deterministic.
    """

    def __init__(self, seed: int = 0, reversed_members: bool = False) -> None:
        self._seed, self._reversed = seed, reversed_members
        self._process = os.getpid()
        self._children: dict[tuple[CheckFile, str], Child] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def checked(
        self,
        checks: Sequence[CheckFile],
        candidate: str,
        raw: bytes,
        episode: Episode,
        redactor: Redactor,
    ) -> Checked:
        """Return the result of each check on a masked record (`raw`), by its name."""
        found: dict[str, tuple[Finding, ...]] = {}
        for check in checks:
            ran = self.run(check, candidate, raw, episode, redactor.masked)
            found[check.name] = not_measured(check.name, ran.broken) if ran.broken else ran.findings
        return found

    def run(
        self,
        check: CheckFile,
        candidate: str,
        raw: bytes,
        episode: Episode,
        masked: Callable[[str], str],
    ) -> Ran:
        """Return the result of one check on one record."""
        if not can_run():
            return Ran(broken=NO_ISOLATION)
        try:
            given = _given(raw, episode)
            said = self._within(self._asked(check, candidate, given))
        except (OSError, StartFailure, ChildExit, OutputFlood, TimeoutError) as error:
            return Ran(broken=f"was not run: {_clean(str(error) or type(error).__name__, masked)}")
        except (ValueError, RecursionError) as error:
            return Ran(broken=f"was not run: {type(error).__name__} while the record was read")
        return _meant(said, check, given["trace"], masked)

    async def _asked(self, check: CheckFile, candidate: str, given: Mapping[str, Any]) -> bytes:
        key = check, candidate
        child = self._children.pop(key, None)
        try:
            if child is None:
                child = await self._started(check)
            said = await child.ask(given, SECONDS + CPU_S)
        except BaseException:
            if child is not None:
                await child.close()
            raise
        self._children[key] = child
        if len(self._children) > MOST_CHILDREN:
            await self._children.pop(next(iter(self._children))).close()
        return said

    async def _started(self, check: CheckFile) -> Child:
        argv = (sys.executable, "-s", "-P", "-B", "-W", "ignore", str(_CHILD), str(KEEPER))
        environment = {"PYTHONHASHSEED": str(self._seed), "TZ": "UTC"}
        order = Order(argv, _NO_SUITE, environment, (_CHILD, KEEPER))
        child = await start(order)
        try:
            await child.ask(self._order(check), SECONDS)
        except BaseException:
            await child.close()
            raise
        return child

    def _order(self, check: CheckFile) -> dict[str, Any]:
        return {
            "file": f"{CHECKS}{check.name}.py",
            "source": check.source,
            "modules": modules_of(check.source),
            "filter": pure_filter().hex(),
            "cpu_s": CPU_S,
            "bytes": MOST_MEMORY,
            "seconds": SECONDS,
            "reversed": self._reversed,
        }

    def _within(self, work: Coroutine[Any, Any, T]) -> T:
        """Run in the thread that the children live with: the caller's may have a loop, or end."""
        if self._process != os.getpid():  # children of the process from which this one was forked
            self._process, self._children, self._loop = os.getpid(), {}, None
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            thread = threading.Thread(target=self._loop.run_forever, daemon=True)
            thread.start()
            weakref.finalize(self, _end, self._loop, thread, self._children, self._process)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _end(
    loop: asyncio.AbstractEventLoop,
    thread: threading.Thread,
    children: dict[tuple[CheckFile, str], Child],
    process: int,
) -> None:
    if process != os.getpid():
        return

    async def close_all() -> None:
        for child in children.values():
            await child.close()
        loop.stop()

    closing = asyncio.run_coroutine_threadsafe(close_all(), loop)
    if threading.current_thread() is not thread:
        closing.add_done_callback(lambda _: None)
        thread.join(10)


def _given(raw: bytes, episode: Episode) -> dict[str, Any]:
    """Return the input of a check: the record without the slot that it claims, and the contract
    without the simulator."""
    trace = json.loads(raw)
    contract = msgspec.to_builtins(episode)
    contract.pop("simulator", None)
    return {
        "trace": {name: member for name, member in trace.items() if name not in _SLOT},
        "episode": contract,
    }


def _meant(
    said: bytes, check: CheckFile, trace: Mapping[str, Any], masked: Callable[[str], str]
) -> Ran:
    try:
        answer = json.loads(said)
    except (ValueError, RecursionError):
        return Ran(broken="gives an invalid answer")
    if not isinstance(answer, dict):
        return Ran(broken="gives an invalid answer")
    if "broken" in answer:
        return Ran(broken=_clean(str(answer["broken"]), masked))
    told = answer.get("found")
    if not isinstance(told, list):
        return Ran(broken="gives an invalid answer")
    if len(told) > MOST_FINDINGS:
        return Ran(broken=f"returns {len(told):,} findings; {MOST_FINDINGS} are the most")
    seqs = {event.get("seq") for event in trace.get("events", ()) if isinstance(event, dict)}
    found: list[Finding] = []
    for place, one in enumerate(told):
        problem = _problem(one, seqs)
        if problem:
            return Ran(broken=_clean(f"returns at [{place}] {problem}", masked))
        text = _clean(one["text"], masked)
        found.append(against(check.name, one["gate"], one.get("seq"), text))
    return Ran(tuple(dict.fromkeys(found)))


def _problem(one: Any, seqs: set[Any]) -> str:
    if not isinstance(one, dict):
        return f"{type_name(one)}, not an object of gate, seq and text"
    for name in one:
        if name not in _MEMBERS:
            return f"the member `{shown(str(name))}`; a finding has gate, seq and text"
    if one.get("gate") not in CHECKED_GATES:
        return f"not a gate that a check can fail: {' or '.join(CHECKED_GATES)}"
    if not isinstance(one.get("text"), str) or not one["text"].strip():
        return "no text"
    seq = one.get("seq")
    if seq is not None and (type(seq) is not int or seq not in seqs):
        return "a seq that no event of the trace has"
    return ""


def _clean(text: str, masked: Callable[[str], str]) -> str:
    return shown(masked(text.encode("utf-8", "replace").decode()), MOST_TEXT)
