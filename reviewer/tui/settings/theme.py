"""Glyphs, words and colors of every state, and the themes made from them.

A color is never the only sign: a state is a glyph, a word and a color, and where a theme has only
the terminal's own colors, or none, an attribute. Every color of a state has a contrast of at least
4.5:1 on its ground, in high contrast 7:1. In the themes for color-blind people pass is blue and
FAIL orange, which every kind of color vision distinguishes. In the dark and light themes, and in
that of the terminal's own colors, FAIL is white on a red cell and critical FAIL bold white on dark
red; a sentence in the color of a failure stays vermilion. The row of the cursor has its own ground,
which does not cover filled cells.
"""

from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

OURS = "desk-"
"""The prefix of our themes' names inside Textual, which has its own themes."""


class State(NamedTuple):
    """One state. `cell` is at most four letters; `attribute` marks the state without colors."""

    glyph: str
    cell: str
    word: str
    variable: str
    attribute: str


STATES: dict[str, State] = {
    "pass": State("✓", "pass", "pass", "gate-pass", ""),
    "fail": State("✗", "FAIL", "FAIL", "gate-fail", "bold"),
    "critical": State("▲", "CRIT", "critical FAIL", "gate-critical", "reverse bold"),
    "not_measured": State("○", "n/m", "not measured", "gate-unmeasured", ""),
    "running": State("►", "run", "running", "run-running", "underline"),
    "missing": State("·", "wait", "missing", "run-pending", "dim"),
    "infra": State("†", "infr", "infra error", "run-infra", "italic"),
    "quarantined": State("!", "quar", "quarantined", "flag", "bold"),
    "advisory": State("~", "advi", "advisory", "judge-advisory", ""),
    "scoring": State("●", "scor", "scoring", "judge-scoring", "bold"),
}

VERDICTS = {"promote": "pass", "block": "critical", "repair": "fail", "hold": "not_measured"}
"""The state whose glyph and color a recommendation uses."""

RED = frozenset({"fail", "critical"})
"""Marks of a failing hard gate: the red cells."""


class Fill(NamedTuple):
    """A filled cell: its ground and the color of its text."""

    ground: str
    ink: str


def cell_style(mark: str) -> str:
    """Return the style of a mark, word or figure that is a cell: red is filled where the theme
    fills cells."""
    return "fail-cell" if mark == "fail" else mark


PLAIN = {"dim": "text-dim", "rule": "rule", "key": "key", "match": "match"}
"""Styles that are not states: quiet words, rules, keys, matches of a search."""

_ORDER = ("pass", "fail", "not_measured", "running", "missing", "infra", "quarantined", "advisory")
_BORROWED = {"critical": "fail", "scoring": "running"}
"""States drawn in the color of another one, distinguished by glyph and word."""


class Palette(NamedTuple):
    """The colors of one theme. `states` are in the order of `_ORDER`; `plain` in that of PLAIN."""

    name: str
    dark: bool
    ground: str
    text: str
    states: tuple[str, ...]
    plain: tuple[str, ...]
    bar: str | None
    """The ground of the cursor's row. None: the row is in reverse."""
    fills: tuple[Fill, Fill] | None = None
    """Of a FAIL and of a critical FAIL cell: red, where color vision need not be asked. None: FAIL
    is ink alone, and critical FAIL is filled with that ink."""

    def of(self, state: str) -> str:
        """Return the color of a state."""
        return self.states[_ORDER.index(_BORROWED.get(state, state))]

    def variables(self) -> dict[str, str]:
        """Return every color by the name that stylesheets use."""
        found = {state.variable: self.of(name) for name, state in STATES.items()}
        found |= {f"verdict-{name}": self.of(state) for name, state in VERDICTS.items()}
        fail, critical = self.fills or (None, Fill(self.of("critical"), self.ground))
        found |= {"cell-critical": critical.ground, "cell-critical-ink": critical.ink}
        if fail is not None:
            found |= {"cell-fail": fail.ground, "cell-fail-ink": fail.ink}
        found |= {} if self.bar is None else {"cursor-row": self.bar}
        return found | dict(zip(PLAIN.values(), self.plain, strict=True))


PALETTES = (
    Palette(
        "dark", True, "#101418", "#D8DEE4",
        ("#3FB68B", "#FF7A33", "#9AA4AE", "#56B4E9", "#7F8A94", "#D98CB8", "#E69F00", "#F0E442"),
        ("#9AA4AE", "#5B6773", "#8CC8F0", "#F0E442"),
        "#222A32",
        (Fill("#DA3730", "#FFFFFF"), Fill("#8A0A14", "#FFFFFF")),
    ),
    Palette(
        "light", False, "#FAFAF7", "#1B1F24",
        ("#00694D", "#B34700", "#5B6570", "#005C91", "#6A747E", "#8E3F70", "#855C00", "#6B6200"),
        ("#5B6570", "#7F8992", "#005C91", "#6B6200"),
        "#ECECE8",
        (Fill("#C4161C", "#FFFFFF"), Fill("#5C0000", "#FFFFFF")),
    ),
    Palette(
        "colorblind-dark", True, "#101418", "#D8DEE4",
        ("#4FA8F5", "#F58A1F", "#BFC3D0", "#BDFFD1", "#8386A1", "#BB9F8B", "#FFF04D", "#6BF59A"),
        ("#9AA4AE", "#5B6773", "#BFE0FF", "#FFF04D"),
        "#222A32",
    ),
    Palette(
        "colorblind-light", False, "#FAFAF7", "#1B1F24",
        ("#0059B3", "#B34700", "#5B6570", "#0A0026", "#6A747E", "#3A0CA3", "#4A2A00", "#500061"),
        ("#5B6570", "#7F8992", "#003A75", "#4A2A00"),
        "#ECECE8",
    ),
    Palette(
        "contrast", True, "#000000", "#FFFFFF",
        ("#59C3FF", "#FFA24D", "#FFFFFF", "#A6FFD0", "#C8CED4", "#E7B3FF", "#FFE873", "#E4F58A"),
        ("#D0D6DC", "#FFFFFF", "#9FDBFF", "#FFE873"),
        "#292929",
    ),
    Palette(
        "ansi", True, "ansi_default", "ansi_default",
        ("ansi_green", "ansi_red", "ansi_default", "ansi_cyan", "ansi_default",
         "ansi_magenta", "ansi_yellow", "ansi_bright_yellow"),
        ("ansi_default", "ansi_default", "ansi_cyan", "ansi_yellow"),
        None,
        (Fill("ansi_bright_red", "ansi_bright_white"), Fill("ansi_red", "ansi_bright_white")),
    ),
)  # fmt: skip
_BY_NAME = {palette.name: palette for palette in PALETTES}
DARK, LIGHT, ANSI = (_BY_NAME[name] for name in ("dark", "light", "ansi"))


def _theme(palette: Palette) -> Theme:
    colors, ansi = palette.variables(), palette is ANSI
    native = BUILTIN_THEMES["ansi-dark"].variables if ansi else {}
    return Theme(
        name=OURS + palette.name,
        primary=colors["key"],
        secondary=colors["text-dim"],
        warning=colors["flag"],
        error=colors["gate-fail"],
        success=colors["gate-pass"],
        accent=colors["key"],
        foreground=palette.text,
        background=palette.ground,
        surface=palette.ground,
        panel=palette.ground,
        dark=palette.dark,
        ansi=ansi,
        variables={**native, **colors},
    )


THEMES = tuple(_theme(palette) for palette in PALETTES)

DEFAULTS = DARK.variables()
"""Variables for themes that are not ours, so that our stylesheets still resolve."""


def theme_for(name: str, console: "Console", *, no_color: bool) -> str:
    """Return Textual's name of a theme of the settings. `auto` asks the terminal; without color,
    one theme expresses every state by attributes."""
    if no_color or (name == "auto" and console.color_system == "standard"):
        return OURS + ANSI.name
    return OURS + (DARK.name if name == "auto" else name)


def styles_of(theme: Theme) -> "Mapping[str, Style]":
    """Return Rich styles by name for one theme: states, text, dim, strong, rule, key, match.

    Of a theme that is not ours, the ground and text are used; the state colors then come from the
    dark or the light palette.
    """
    ours = any(name.startswith("gate-") for name in theme.variables)
    lent = DARK if theme.dark else LIGHT
    variables = theme.variables if ours else lent.variables()
    ground = Color.parse(theme.background or lent.ground).rich_color
    text = Color.parse(theme.foreground or lent.text).rich_color

    def ink(variable: str) -> Style:
        return Style(color=Color.parse(variables[variable]).rich_color, bgcolor=ground)

    def filled(variable: str) -> Style:
        fill, inked = (Color.parse(variables[v]).rich_color for v in (variable, f"{variable}-ink"))
        return Style(color=inked, bgcolor=fill, bold=True)

    base = Style(color=text, bgcolor=ground)
    bar = Style(reverse=True)
    if "cursor-row" in variables:
        bar = Style(bgcolor=Color.parse(variables["cursor-row"]).rich_color)
    found = {"text": base, "strong": base + Style(bold=True), "bar": bar}
    for name, variable in PLAIN.items():
        found[name] = ink(variable)
    found["match"] += Style(reverse=True)
    found["key"] += Style(bold=True)
    for name, state in STATES.items():
        style = ink(state.variable)
        if name in ("fail", "critical", "scoring"):
            style += Style(bold=True)
        if theme.ansi:
            style += Style.parse(state.attribute) if state.attribute else Style()
        if name == "critical":
            style = _swapped(filled("cell-critical")) if theme.ansi else filled("cell-critical")
        found[name] = style
    found["fail-cell"] = filled("cell-fail") if "cell-fail" in variables else found["fail"]
    return found


def _swapped(fill: Style) -> Style:
    """Return a filled style whose fill is its text color in reverse: it stays filled without
    color."""
    return Style(color=fill.bgcolor, bgcolor=fill.color, bold=True, reverse=True)
