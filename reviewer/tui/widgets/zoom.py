"""One region of a screen over the whole screen, and back."""

from typing import Any, cast

from textual.css.styles import RulesMap
from textual.screen import Screen
from textual.widget import Widget

WHOLE: dict[str, Any] = {
    "height": "1fr",
    "width": "1fr",
    "min_height": 0,
    "max_height": "100%",
    "max_width": "100%",
}
"""Sizes of a zoomed region, and of its containers."""
KEPT = frozenset({"top", "foot"})
"""Ids of the lines that stay."""


class Zoom:
    """Hides the other regions of a screen, gives their room to one, and can undo that."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self.region: Widget | None = None
        self._hidden: list[Widget] = []
        self._sized: list[tuple[Widget, dict[str, Any]]] = []

    def on(self, region: Widget) -> bool:
        """Show one region alone; return whether it is a region that can be shown alone."""
        self.off()
        way = [node for node in region.ancestors_with_self if isinstance(node, Widget)]
        way = way[: way.index(self._screen)]
        if not way or way[-1].id in KEPT:
            return False
        for node in way:
            rules: Any = node.styles.inline.get_rules()
            self._sized.append((node, {name: rules[name] for name in WHOLE if name in rules}))
            for name in WHOLE:
                setattr(node.styles, name, WHOLE[name])
            beside = node.parent.children if node.parent is not None else ()
            for other in beside:
                if other is not node and other.id not in KEPT and other.display:
                    other.display = False
                    self._hidden.append(other)
        self.region = region
        return True

    def off(self) -> None:
        """Show all regions again, each as it was."""
        for node, before in self._sized:
            for name in WHOLE:
                node.styles.inline.clear_rule(name)
            node.styles.inline.merge_rules(cast("RulesMap", before))
            node.refresh(layout=True)
        for other in self._hidden:
            other.display = True
        self._sized, self._hidden, self.region = [], [], None
