"""Play every trial agent against every episode that has a world."""

import asyncio
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from reviewer.running.attempt import run_attempt
from reviewer.running.model import (
    Approval,
    ApprovalRequest,
    Offer,
    PersonTurn,
    Slot,
    Task,
    TurnRequest,
)
from reviewer.running.trial.agents import Lesson, TrialAdapter
from reviewer.running.world import has_world
from reviewer.suite.candidate import Candidate
from reviewer.suite.model import TRIAL_AGENTS, Episode, Suite, TrialAgent

TOGETHER = 4
"""Number of episodes played at a time: a toolkit is a process of its own."""


class Granting:
    """The person of a trial, where an episode's rule asks one: grants every call."""

    async def ask(self, request: ApprovalRequest) -> Approval:
        return Approval(True, "trial")

    async def speak(self, request: TurnRequest) -> PersonTurn | None:
        return None  # a trial agent asks no user


class Played(NamedTuple):
    """One attempt that was played: `raw` is its trace record. `acts` is what the agent did, call by
    call and in words, and `wrote` whether one of its calls changed the world."""

    agent: TrialAgent
    episode_id: str
    attempt: int
    raw: bytes
    acts: tuple[str, ...]
    wrote: bool


def wants_network(episode: Episode) -> bool:
    """Return whether an episode's world needs the network, which no trial grants."""
    simulator = episode.simulator or {}
    return any((simulator.get(name) or {}).get("network") for name in ("server", "container"))


def lacks_engine(episode: Episode) -> str:
    """Return why an episode's container is not available on this machine, "" where it is, or where
    its world is not a container."""
    if not (episode.simulator or {}).get("container"):
        return ""
    from reviewer.running.container.engine import engine

    return engine().why_not


def attempts_of(episode: Episode, planned: int) -> range:
    """Return the attempts whose results may differ: all, where a fault applies to only some of
    them, else the first."""
    tools = ((episode.simulator or {}).get("tools") or {}).values()
    varies = any(fault.get("attempts") for tool in tools for fault in tool.get("faults", ()))
    return range(1, planned + 1 if varies else 2)


def played(suite: Suite, folder: Path, offer: Offer) -> list[Played]:
    """Return every attempt of every agent, by episode, attempt and agent in their order. The
    episodes of `suite` include the toolset.

    Raises Unrunnable naming the file of an episode whose world cannot be created at all.
    """
    with ThreadPoolExecutor(1) as thread:  # the caller's thread may already have an event loop
        return thread.submit(asyncio.run, _all(suite, folder, offer)).result()


async def _all(suite: Suite, folder: Path, offer: Offer) -> list[Played]:
    places = asyncio.Semaphore(TOGETHER)

    async def one(episode: Episode, attempt: int) -> list[Played]:
        async with places:
            return await _episode(suite, folder, offer, episode, attempt)

    episodes = [
        one(episode, attempt)
        for episode in suite.episodes
        if has_world(episode) and not wants_network(episode) and not lacks_engine(episode)
        for attempt in attempts_of(episode, suite.policy.attempts)
    ]
    return [found for attempts in await asyncio.gather(*episodes) for found in attempts]


async def _episode(
    suite: Suite, folder: Path, offer: Offer, episode: Episode, attempt: int
) -> list[Played]:
    """Play one attempt of every agent; the oracle first, since its changes teach the others."""
    found: list[Played] = []
    lesson = Lesson(episode)
    for agent in TRIAL_AGENTS:
        task = Task(
            slot=Slot(suite.suite_id, agent, episode.episode_id, attempt),
            episode=episode,
            candidate=Candidate(candidate_id=agent, digest="", agent="trial"),
            redaction=suite.redaction,
            folder=str(folder),
            offer=offer,
            approvals="allow",
        )
        done = await run_attempt(task, Granting(), adapter=TrialAdapter(agent, lesson))
        events = json.loads(done.raw)["events"]
        calls = [event for event in events if event["kind"] == "tool_call"]
        wrote = frozenset(n for n, call in enumerate(_distinct(calls)) if call)
        if agent == "oracle":
            lesson = lesson._replace(wrote=wrote)
        acts = tuple(
            json.dumps([event["tool"], event["arguments"]], sort_keys=True)
            if event["kind"] == "tool_call"
            else event["message"]
            for event in events
            if event["kind"] in ("tool_call", "message")
        )
        found.append(Played(agent, episode.episode_id, attempt, done.raw, acts, bool(wrote)))
    return found


def _distinct(calls: Iterable[dict[str, object]]) -> list[bool]:
    """Return for each step of a plan whether it changed the world; the tries of one step, which are
    equal and follow a failed one, are one step."""
    steps: list[bool] = []
    failed: dict[str, object] | None = None
    for call in calls:
        again = failed is not None and all(call[k] == failed[k] for k in ("tool", "arguments"))
        if again:
            steps[-1] |= "state" in call
        else:
            steps.append("state" in call)
        failed = call if call["status"] in ("error", "timeout") else None
    return steps
