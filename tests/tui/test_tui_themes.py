"""Colors: readable on their ground, apart for every kind of color vision, and never alone."""

import itertools
from pathlib import Path

import pytest
from rich.color import ColorType
from template import Bent
from test_tui_screens import running, shell
from tui_probe import press, screen_text, segments_with, settle, strips

from reviewer.tui.app.app import ReviewerApp
from reviewer.tui.settings.settings import THEMES, Settings, read, with_theme
from reviewer.tui.settings.theme import PALETTES, PLAIN, STATES, Palette

COLORED = [palette for palette in PALETTES if palette.name != "ansi"]
VISION = {
    "everybody's": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Machado, Oliveira, Fernandes 2009, severity 1.0: matrices on linear RGB."""

Triple = tuple[float, float, float]


def linear(color: str) -> Triple:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return red, green, blue


def contrast(one: str, other: str) -> float:
    """WCAG 2: the ratio of relative luminances, 1 to 21."""

    def luminance(color: str) -> float:
        red, green, blue = linear(color)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def lab(rgb: Triple) -> Triple:
    """CIE 1976 L*a*b* of linear RGB, D65."""
    red, green, blue = rgb

    def root(t: float) -> float:
        return t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116

    x = root((0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047)
    y = root(0.2126729 * red + 0.7151522 * green + 0.0721750 * blue)
    z = root((0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(color: str, vision: str) -> Triple:
    own = linear(color)
    red, green, blue = (
        min(1.0, max(0.0, sum(weight * part for weight, part in zip(row, own, strict=True))))
        for row in VISION[vision]
    )
    return red, green, blue


def apart(one: str, other: str, vision: str) -> float:
    """CIE76: the distance in L*a*b* between two colors as somebody sees them; 2 is just seen."""
    pairs = zip(lab(seen(one, vision)), lab(seen(other, vision)), strict=True)
    return sum((a - b) ** 2 for a, b in pairs) ** 0.5


def test_the_simulation_is_that_of_the_paper() -> None:
    # Red and green run together for protanopes and deuteranopes, blue and yellow do not.
    for vision, rows in VISION.items():
        assert [round(sum(row), 5) for row in rows] == [1, 1, 1], vision
    for vision in ("protanopia", "deuteranopia"):
        assert apart("#B85450", "#7C8A3C", vision) < 0.6 * apart(
            "#B85450", "#7C8A3C", "everybody's"
        )
    assert apart("#0000FF", "#FFFF00", "protanopia") > 100
    assert apart("#FFFFFF", "#FFFFFF", "tritanopia") == 0


@pytest.mark.parametrize("palette", COLORED, ids=lambda palette: palette.name)
def test_every_word_reads_on_its_ground(palette: Palette) -> None:
    least = 7.0 if palette.name == "contrast" else 4.5
    for name in STATES:
        assert contrast(palette.of(name), palette.ground) >= least, name
    assert contrast(palette.text, palette.ground) >= 7.0
    for name, color in zip(PLAIN, palette.plain, strict=True):
        wanted = 3.0 if name == "rule" and palette.name != "contrast" else least
        assert contrast(color, palette.ground) >= wanted, name


@pytest.mark.parametrize("palette", COLORED, ids=lambda palette: palette.name)
def test_filled_cells_read_and_stand_out(palette: Palette) -> None:
    for fill in palette.fills or ():
        assert contrast(fill.ink, fill.ground) >= 4.5
        assert all(apart(fill.ground, palette.ground, vision) > 20 for vision in VISION)
    if palette.fills:
        fail, critical = palette.fills
        assert contrast(fail.ground, palette.ground) >= 3.0
        assert contrast(critical.ink, critical.ground) >= 7.0
        assert all(apart(fail.ground, critical.ground, vision) > 20 for vision in VISION)


@pytest.mark.parametrize("palette", COLORED, ids=lambda palette: palette.name)
def test_every_word_reads_in_the_row_of_the_cursor(palette: Palette) -> None:
    assert palette.bar is not None
    assert palette.bar != palette.ground
    least = 7.0 if palette.name == "contrast" else 4.0
    for name in STATES:
        assert contrast(palette.of(name), palette.bar) >= least, name
    assert contrast(palette.text, palette.bar) >= 7.0


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("palette", COLORED, ids=lambda palette: palette.name)
def test_pass_and_fail_are_never_taken_for_one_another(palette: Palette, vision: str) -> None:
    made_for_it = palette.name.startswith("colorblind") or palette.name == "contrast"
    distance = apart(palette.of("pass"), palette.of("fail"), vision)
    assert distance >= (80 if made_for_it else 30)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("name", ["colorblind-dark", "colorblind-light"])
def test_what_a_gate_can_say_is_four_colors_to_everybody(name: str, vision: str) -> None:
    palette = next(each for each in PALETTES if each.name == name)
    said = ("pass", "fail", "not_measured", "running")
    for one, other in itertools.combinations(said, 2):
        assert apart(palette.of(one), palette.of(other), vision) >= 19, (one, other)


def test_every_theme_of_the_settings_is_drawn() -> None:
    assert [palette.name for palette in PALETTES] == [name for name in THEMES if name != "auto"]


@pytest.mark.parametrize("theme", THEMES)
async def test_every_theme_paints_every_screen(shop: Bent, theme: str) -> None:
    app = shell(shop, settings=Settings(theme=theme))
    async with running(app) as pilot:
        await settle(pilot)
        fail, critical, passing = (
            segments_with(app, text)[0].style for text in ("✗FAIL", "▲CRIT", "✓pass")
        )
        assert fail is not None
        assert fail.bold
        assert fail != passing
        assert critical is not None
        assert critical not in (fail, passing)
        await press(pilot, "enter", "D", "enter", "escape", "R", "question_mark")
        assert "help · runs" in screen_text(app)


async def test_sixteen_colors_are_the_terminals_own(
    shop: Bent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "screen")
    monkeypatch.delenv("COLORTERM", raising=False)
    app = shell(shop)
    assert app.theme == "desk-ansi"
    async with running(app) as pilot:
        await settle(pilot)
        for strip in strips(app):
            for segment in strip:
                for color in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    assert color is None or color.type in (ColorType.DEFAULT, ColorType.STANDARD)
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert shell(shop).theme == "desk-dark"
    assert shell(shop, settings=Settings(theme="ansi")).theme == "desk-ansi"


async def test_without_color_every_theme_is_the_one_of_attributes(
    shop: Bent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = shell(shop, settings=Settings(theme="light"))
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+t", "j", "j")
        assert "NO_COLOR is set" in screen_text(app)
        assert app.theme == "desk-ansi"


# choosing


def chooser(shop: Bent, tmp_path: Path, text: str | None = None) -> ReviewerApp:
    file = tmp_path / "folder" / "settings.toml"
    if text is not None:
        file.parent.mkdir()
        file.write_text(text, encoding="utf-8")
    settings = read("", {"REVIEWER_SETTINGS": str(file)})
    return shell(shop, settings=settings._replace(refused=()))


async def test_the_cursor_tries_a_theme_and_enter_keeps_it(shop: Bent, tmp_path: Path) -> None:
    app = chooser(shop, tmp_path, "# mine\ntheme = 'dark' # for the evening\nmouse = false\n")
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+t", "j")
        assert app.theme == "desk-light"
        await press(pilot, "escape")
        assert app.theme == "desk-dark"
        await press(pilot, "ctrl+t", "q", "ctrl+t", "j", "enter")
        assert app.theme == "desk-light"
        file = tmp_path / "folder" / "settings.toml"
        assert file.read_text() == '# mine\ntheme = "light" # for the evening\nmouse = false\n'
    again = read(str(file))
    assert (again.theme, again.mouse) == ("light", False)


async def test_without_a_file_one_is_made_with_that_line(shop: Bent, tmp_path: Path) -> None:
    app = chooser(shop, tmp_path)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+p", *"contrast", "enter")
        assert app.theme == "desk-contrast"
        assert "theme contrast, kept in" in screen_text(app).replace("\n", " ")
    assert (tmp_path / "folder" / "settings.toml").read_text() == 'theme = "contrast"\n'


async def test_what_cannot_be_written_is_worn_for_this_time(shop: Bent, tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("not a folder")
    app = chooser(shop, tmp_path)
    async with running(app) as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+t", "j", "j", "enter")
        assert app.theme == "desk-light"
        assert "for this time only" in screen_text(app)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only words\n",
        "mouse = true",
        "[keys]\nnext = 'x'\n",
        "mouse = true\n\n[keys]\ntheme = 'ctrl+y'\n",
        'theme = "dark"\n[keys]\n"next" = ["x", "y"]\n',
        "  theme='light'   # why\n",
    ],
)
def test_one_line_of_a_settings_file_changes_and_nothing_else(text: str) -> None:
    import tomllib

    changed = with_theme(text, "ansi")
    assert changed is not None
    assert tomllib.loads(changed) == {**tomllib.loads(text), "theme": "ansi"}
    assert set(text.splitlines()) - set(changed.splitlines()) <= {
        line for line in text.splitlines() if line.strip().startswith("theme")
    }
    assert with_theme(changed, "ansi") == changed


@pytest.mark.parametrize(
    "text",
    ['theme = """dark"""\n', '"theme" = "dark"\n', "theme = [\n", "x = '''\ntheme = 'a'\n'''"],
)
def test_what_cannot_be_changed_safely_is_left_alone(text: str) -> None:
    assert with_theme(text, "ansi") is None
