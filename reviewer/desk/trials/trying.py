"""Try any content: every agent plays every episode, and its attempts are judged."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import UNSET, structs

from reviewer.desk.errors import refusal_of
from reviewer.desk.trials.checks import examples_in, tried_checks
from reviewer.desk.trials.clauses import untested_clauses
from reviewer.desk.trials.judging import Judged, agents_judged, cell_of, judged
from reviewer.desk.trials.views import NO_NETWORK, NO_WORLD, Cell, Trial, TriedEpisode
from reviewer.running.model import Unrunnable
from reviewer.running.offer import offer_of
from reviewer.running.trial.play import lacks_engine, played, wants_network
from reviewer.running.world import has_world
from reviewer.suite.model import TRIAL_AGENTS, Episode, Suite
from reviewer.suite.toolset import Toolset, equipped


class Played(NamedTuple):
    """A trial, and the attempts behind it."""

    trial: Trial
    attempts: tuple[Judged, ...] = ()


def tried(suite: Suite, toolset: Toolset | None, folder: Path) -> Trial:
    """Return the trial of this content, whose toolkits are in `folder`."""
    return played_trial(suite, toolset, folder).trial


def played_trial(suite: Suite, toolset: Toolset | None, folder: Path) -> Played:
    """Return the trial of this content, with the agents' attempts."""
    whole = [equipped(episode, toolset) for episode in suite.episodes]
    untried = {episode.episode_id: _why_not(episode) for episode in whole}
    runnable = tuple(episode for episode in whole if not untried[episode.episode_id])
    if not runnable:
        return Played(_not_tried(suite, folder, untried))
    part = structs.replace(suite, episodes=runnable)
    try:
        made = played(part, folder, offer_of(suite.episodes, toolset))
    except Unrunnable as error:
        raise refusal_of(error) from error
    checks = tried_checks(suite, made, examples_in(folder))
    attempts = judged(part, made, checks.results)
    cells: dict[str, dict[str, Cell]] = {
        episode.episode_id: {
            agent: cell_of(
                [
                    one
                    for one in attempts
                    if one.played.agent == agent and one.played.episode_id == episode.episode_id
                ]
            )
            for agent in TRIAL_AGENTS
        }
        for episode in runnable
    }
    agents = tuple(agents_judged(part, attempts, cells))
    clauses, untested = untested_clauses(part, attempts)
    trial = Trial(
        suite_id=suite.suite_id,
        digest=suite.digest,
        tried=True,
        sound=all(one.sound for one in agents) and not any(one.problem for one in checks.checks),
        not_tried="",
        agents=agents,
        episodes=tuple(
            TriedEpisode(
                episode_id=episode.episode_id,
                cells=cells.get(episode.episode_id, {}),
                not_tried=untried[episode.episode_id],
            )
            for episode in suite.episodes
        ),
        clauses=clauses,
        untested=tuple(untested),
        checks=checks.checks or UNSET,
    )
    return Played(trial, tuple(attempts))


def _why_not(episode: Episode) -> str:
    """Return why an episode, with its toolset, is not tried; "" for one that is."""
    if not has_world(episode):
        return NO_WORLD
    if wants_network(episode):
        return NO_NETWORK
    missing = lacks_engine(episode)
    return f"not tried: no container engine here: {missing}" if missing else ""


def _not_tried(suite: Suite, folder: Path, untried: Mapping[str, str]) -> Trial:
    checks = tried_checks(suite, (), examples_in(folder)).checks
    return Trial(
        suite_id=suite.suite_id,
        digest=suite.digest,
        tried=False,
        sound=not any(one.problem for one in checks),
        not_tried=next((why for why in untried.values()), NO_WORLD),
        agents=(),
        episodes=tuple(
            TriedEpisode(
                episode_id=episode.episode_id, cells={}, not_tried=untried[episode.episode_id]
            )
            for episode in suite.episodes
        ),
        clauses=0,
        untested=(),
        checks=checks or UNSET,
    )
