"""Every act in the command palette. Imported when the palette first opens."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from textual.binding import ActiveBinding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode

from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.settings.keyboard import written


def _inert(text: str) -> str:
    """A text as the palette shows it and not as it would read it: views are named by people."""
    return text.replace("[", r"\[")


class Acts(Provider):
    """The active bindings as commands, in the words of the help; then what the screen adds."""

    def _acts(self) -> Iterator[tuple[str, str, Any]]:
        for pressed, active in self._bound():
            words = f"{active.binding.description} ({' '.join(pressed)})"
            run = partial(self.app.run_action, active.binding.action, active.node)
            yield words, active.binding.tooltip, run
        yield from getattr(self.screen, "palette_acts", tuple)()
        if isinstance(self.app, ReviewerApp):
            yield from self.app.common_acts()

    def _bound(self) -> list[tuple[list[str], ActiveBinding]]:
        """Each act once, with all its keys. Two nodes may call different acts by one name."""
        found: dict[tuple[DOMNode, str, str], tuple[list[str], ActiveBinding]] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if binding.description and active.enabled and binding.id:
                name = active.node, binding.action, binding.description
                found.setdefault(name, ([], active))[0].append(written(binding.key))
        return list(found.values())

    async def discover(self) -> Hits:
        for words, help_, run in self._acts():
            yield DiscoveryHit(_inert(words), run, text=words, help=_inert(help_))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for words, help_, run in self._acts():
            if (score := matcher.match(words)) > 0:
                shown = matcher.highlight(_inert(words))
                yield Hit(score, shown, run, text=words, help=_inert(help_))
