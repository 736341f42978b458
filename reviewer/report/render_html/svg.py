"""Drawing with a few shapes, in a box 360 units wide: on a narrow screen its letters still read."""

from collections.abc import Sequence

from reviewer.report.bins import nice
from reviewer.report.render_html.text import plain

WIDTH = 360


class Drawing:
    """Shapes in the order they were drawn; units are those of the box."""

    def __init__(self, height: float) -> None:
        self.height = height
        self._shapes: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self._shapes.append(
            f'<line class="{kind}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>'
        )

    def box(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        self._shapes.append(
            f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" '
            f'height="{_n(height)}"/>'
        )

    def dot(self, x: float, y: float, kind: str) -> None:
        self._shapes.append(f'<circle class="{kind}" cx="{_n(x)}" cy="{_n(y)}" r="3.5"/>')

    def text(self, x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> None:
        classed = f' class="{kind}"' if kind else ""
        placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._shapes.append(f'<text{classed}{placed} x="{_n(x)}" y="{_n(y)}">{plain(said)}</text>')

    def upright(self, x: float, y: float, said: str) -> None:
        """A label that runs upward along an axis, centered on y."""
        self._shapes.append(
            f'<text class="quiet" text-anchor="middle" transform="translate({_n(x)} {_n(y)}) '
            f'rotate(-90)">{plain(said)}</text>'
        )

    def figure(self, name: str, title: str, told: str, caption: str) -> list[str]:
        """The drawing with a name and a description for who does not see it. `name` is an id."""
        return [
            "<figure>",
            f'<svg viewBox="0 0 {WIDTH} {_n(self.height)}" role="img" '
            f'aria-labelledby="{name}-t" aria-describedby="{name}-d">',
            f'<title id="{name}-t">{plain(title)}</title>',
            f'<desc id="{name}-d">{plain(told)}</desc>',
            *self._shapes,
            "</svg>",
            f"<figcaption>{plain(caption)}</figcaption>",
            "</figure>",
        ]


def ticks(most: float, wanted: int = 4) -> list[float]:
    """Round numbers from 0 until `most` is reached."""
    step = nice(most / wanted)
    count = 1
    while count * step < most * (1 - 1e-9):
        count += 1
    return [float(f"{i * step:.12g}") for i in range(count + 1)]


def short(text: str, most: int) -> str:
    """Cut in the middle, where ids of a suite tend to be alike."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def spread(low: float, high: float, count: int) -> Sequence[float]:
    """`count` places between two ends, each in the middle of its share."""
    width = (high - low) / max(count, 1)
    return [low + width * (i + 0.5) for i in range(count)]


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
