"""Which attempts a run makes: those of its plan that the store lacks, or a shard of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from reviewer.desk.errors import DeskError
from reviewer.desk.runs.api import RunOrder
from reviewer.exit_codes import ExitCode
from reviewer.running.engine import MadeAttempts, Place, missing_places, next_places
from reviewer.running.shards import Shard, owners, shard_problem
from reviewer.suite.approvals import flag_decides
from reviewer.suite.errors import shown
from reviewer.suite.model import Suite

Entries = Sequence[dict[str, Any]]
"""Journal entries of the earlier runs of a candidate, oldest first."""


def check_numbers(order: RunOrder) -> None:
    """Raise DeskError for a number out of range."""
    for name, value, least, most in (
        ("attempts", order.attempts, 1, 100_000),
        ("jobs", order.jobs, 0 if order.executor else 1, 1_000),
        ("workers", order.workers, 0, 256),
        ("seed", order.seed, 0, (1 << 53) - 1),
    ):
        if value is not None and not least <= value <= most:
            raise DeskError(
                f"--{name} {value}: from {least} to {most:,}",
                f"name a number from {least} to {most:,}",
                exit_code=ExitCode.USAGE,
            )
    if order.shard is not None and (problem := shard_problem(order.shard)):
        raise DeskError(
            f"--shard {order.shard}: {problem}",
            "such as --shard 2/8: part 2 of 8",
            exit_code=ExitCode.USAGE,
        )


class Choice(NamedTuple):
    """The attempts to make, the attempt number up to which each episode will then be complete, and
    the whole plan, which is the same for every shard of a run."""

    places: list[Place]
    ends: dict[str, int]
    plan: list[Place]


def choose(
    order: RunOrder, suite: Suite, planned: int, made: MadeAttempts, earlier: Entries
) -> Choice:
    """Choose the attempts of a run. `planned` is the number of counted attempts per episode. Raises
    DeskError for an episode that the suite does not have, and for a shard that was already made."""
    every = [episode.episode_id for episode in suite.episodes]
    if unknown := [one for one in order.episodes if one not in every]:
        raise DeskError(
            f"--episode {shown(unknown[0])}: {suite.suite_id} has no such episode",
            f"reviewer suite show {suite.suite_id} lists them",
            exit_code=ExitCode.USAGE,
        )
    episodes = [one for one in every if one in order.episodes] or every
    if not order.resume:
        if order.shard is not None and any(made.values()):
            raise _made_already(order, order.shard)
        more = order.attempts or suite.policy.attempts
        made_of = {e: max(made.get(e, {}), default=0) for e in every}
        ends = {e: n + more * (e in episodes) for e, n in made_of.items()}
        plan = next_places(episodes, made, more)
        return Choice(_part(plan, every, order.shard), ends, plan)
    ends = dict.fromkeys(every, order.attempts or planned)
    for entry in earlier if order.attempts is None else ():
        for episode in every:
            begun = entry["last_of"].get(episode, entry["last"])
            ends[episode] = max(ends[episode], begun)
    if order.shard is None:
        plan = missing_places(episodes, made, planned, ends)
        return Choice(plan, ends, plan)
    owner, number = owners(every, order.shard.of), order.shard.number
    places = missing_places(
        episodes, made, planned, ends, lambda episode, n: owner(episode, n) == number
    )
    return Choice(places, ends, missing_places(episodes, {}, planned, ends))


def _part(plan: list[Place], every: Sequence[str], shard: Shard | None) -> list[Place]:
    if shard is None:
        return plan
    owner = owners(every, shard.of)
    return [place for place in plan if owner(*place) == shard.number]


def _made_already(order: RunOrder, shard: Shard) -> DeskError:
    """Return the error for a shard that was already made. A job that starts again must not make its
    attempts twice, and attempt numbers that continued from one shard's attempts would differ
    between shards."""
    return DeskError(
        f"--shard {shard}: this store already has attempts of {order.candidate_id} on "
        f"{order.suite_id}",
        f"--shard {shard} --resume makes the missing attempts of the shard",
        "use a separate workspace for another run",
        exit_code=ExitCode.USAGE,
    )


def as_begun(order: RunOrder, entry: dict[str, Any], suite: Suite) -> RunOrder:
    """Return the request of a resumed run, with the seed and the rule for approvals of its
    beginning, and its shard where the request names none.

    Raises DeskError when others were named: its attempts would not be comparable. Where the
    episodes have a rule for every tool that needs an approval, the run's own rule is never used,
    and may differ: so an attempt in which a person should have been asked can be made again with a
    person.
    """
    own = "start a new run without --resume"
    if order.seed not in (0, entry["seed"]):
        said = f"the run to resume was started with {entry['seed']}"
        raise DeskError(
            f"--seed {order.seed}: {said}", "leave --seed out", own, exit_code=ExitCode.USAGE
        )
    ruled = any(each.approval_rules for each in suite.episodes) and not flag_decides(suite.episodes)
    if order.approvals != entry["approvals"] and not ruled:
        said = f"the run to resume was started with --approve {entry['approvals']}"
        raise DeskError(
            said, f"--resume --approve {entry['approvals']}", own, exit_code=ExitCode.USAGE
        )
    begun = entry.get("shard")
    shard = Shard(begun["number"], begun["of"]) if order.shard is None and begun else order.shard
    return msgspec.structs.replace(order, seed=entry["seed"], shard=shard)
