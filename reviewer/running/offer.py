"""The tools that a candidate is offered: the whole toolset of its suite, in one order, whatever the
contract of an episode says of them.

With toolset.json the offer is what that file lists. A suite without one offers the union of the
tools that its episodes simulate, by name.
"""

from collections.abc import Iterable, Mapping

from reviewer.running.memory import copied
from reviewer.running.model import Offer, ToolSpec
from reviewer.suite.model import Episode
from reviewer.suite.toolset import Toolset, simulated

_ANY = {"type": "object"}


def offer_of(episodes: Iterable[Episode], toolset: Toolset | None) -> Offer:
    """Return the offer of a suite."""
    if toolset is not None:
        listed = (ToolSpec(each.name, each.description, each.parameters) for each in toolset.tools)
        return Offer(tuple(listed), whole=True)
    found: dict[str, ToolSpec] = {}
    for episode in episodes:
        for name, tool in simulated(episode).items():
            told = tool.get("description", "")
            spec = found.setdefault(name, ToolSpec(name, told, tool.get("parameters", _ANY)))
            if told and not spec.description:
                found[name] = spec._replace(description=told)
    return Offer(tuple(found[name] for name in sorted(found)))


def offered(offer: Offer, episode: Episode, own: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """Return name → tool that an attempt of `episode` is offered, in order; `own` are the tools of
    its world. Nothing depends on what the contract forbids."""
    found = {spec.name: spec for spec in own}
    if offer.whole:
        listed: Mapping[str, ToolSpec] = {spec.name: spec for spec in offer.tools}
    elif offer.tools:
        listed = found | {spec.name: _described(spec, found.get(spec.name)) for spec in offer.tools}
        listed = {name: listed[name] for name in sorted(listed)}
    else:
        listed = found
    left_out = episode.tools.not_offered
    return {
        name: spec._replace(parameters=copied(spec.parameters))
        for name, spec in listed.items()
        if name not in left_out
    }


def _described(spec: ToolSpec, own: ToolSpec | None) -> ToolSpec:
    """Return a tool with the suite's only description of it, and with the parameters that its world
    checks."""
    return spec if own is None else spec._replace(parameters=own.parameters)
