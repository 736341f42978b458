"""The suites an import may fill: frozen contracts compiled once, with their redaction rules."""

from collections.abc import Iterable
from functools import lru_cache

from reviewer.gates import Contract, compile_contract
from reviewer.suite.model import RedactionRules, Suite
from reviewer.suite.tool_names import NO_MAP, ToolMap
from reviewer.trace.redaction import Redactor
from reviewer.trace.rules import ADDED, Rules


class Target:
    """One suite as an import sees it."""

    def __init__(self, suite: Suite, own: bool = False, tools: ToolMap = NO_MAP) -> None:
        self.suite = suite
        self.own, self.tools = own, tools
        """Whether its records come from our own runner, and what its map says of their tools."""
        self._episodes = {episode.episode_id: episode for episode in suite.episodes}
        self._contracts: dict[str, Contract] = {}

    def episode_ids(self) -> Iterable[str]:
        return self._episodes

    def contract(self, episode_id: str) -> Contract:
        contract = self._contracts.get(episode_id)
        if contract is None:
            contract = compile_contract(
                self._episodes[episode_id], self.own, self.tools, self.suite.policy.limits
            )
            self._contracts[episode_id] = contract
        return contract


class Catalogue:
    """The private suites an import may choose from, by what the records name."""

    def __init__(self, targets: list[Target]) -> None:
        self.targets = targets
        self._holders: dict[str, list[Target]] = {}
        for target in targets:
            for episode_id in target.episode_ids():
                self._holders.setdefault(episode_id, []).append(target)

    def redactor(self, of: Target | None = None) -> Redactor:
        """One set of rules, strict enough for every suite there is. An added detector judges only
        the records of a suite that was frozen with it: with `of`, those of that one."""
        rules = [target.suite.redaction for target in self.targets]
        added = set(ADDED if of is None else of.suite.redaction.detectors)
        allowed = [set(rule.allow_keys) for rule in rules]
        return redactor_of(
            RedactionRules(
                keys=tuple({key for rule in rules for key in rule.keys}),
                allow_keys=tuple(set.intersection(*allowed)),
                detectors=tuple(
                    {n for rule in rules for n in rule.detectors if n not in ADDED or n in added}
                ),
            )
        )

    def find(self, episode_id: str) -> tuple[Target | None, str]:
        """The one suite that has this episode, or the refusal code."""
        holders = self._holders.get(episode_id, ())
        if len(holders) == 1:
            return holders[0], ""
        return None, "ambiguous_suite" if holders else "unknown_episode"


def redactor_of(rules: RedactionRules) -> Redactor:
    """The redactor of these rules, whatever their order: made once, for making one takes longer
    than judging a small file."""
    return _redactor(
        Rules(
            keys=tuple(sorted(rules.keys)),
            allow_keys=tuple(sorted(rules.allow_keys)),
            detectors=tuple(sorted(rules.detectors)),
        )
    )


_redactor = lru_cache(maxsize=16)(Redactor)
