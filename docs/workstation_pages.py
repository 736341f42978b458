"""docs/settings.md and docs/screens.md: what the workstation takes from its own tables, and the
screens as the tests hold them to the character."""

from pathlib import Path
from typing import Any, NamedTuple

from textual.screen import Screen

from reviewer.tui.screens.help import acts
from reviewer.tui.screens.scenes import screens
from reviewer.tui.settings.keys import everywhere
from reviewer.tui.settings.settings import THEMES, documented

GOLDENS = Path(__file__).resolve().parents[1] / "tests" / "tui" / "goldens"


class Shown(NamedTuple):
    """One drawing: its title, its golden, the screen whose keys act there, and a few words."""

    title: str
    golden: str
    screen: str
    words: str = ""


DRAWN = (
    Shown(
        "First run",
        "empty-80x24",
        "",
        "The store is empty: the screen lists what would fill the grid.",
    ),
    Shown("Scorecard", "scorecard-80x24", "ScorecardScreen"),
    Shown("Scorecard, by tag", "scorecard-tags-80x24", "", "`#` groups the rows."),
    Shown(
        "Scorecard, candidates side by side",
        "scorecard-sides-80x24",
        "",
        "`|` switches to this view.",
    ),
    Shown("Scorecard, wide", "scorecard-140x40", "", "From 140 columns on, all panes at once."),
    Shown("Trajectory", "trajectory-80x24", "TrajectoryScreen"),
    Shown("Search", "search-80x24", "SearchScreen"),
    Shown("Compare", "compare-80x24", "CompareScreen"),
    Shown("Compare, one episode", "compare-both-80x24", "CompareEpisodeScreen"),
    Shown("Label, a pair", "label-pair-80x24", "LabelPairScreen"),
    Shown("Label, a final message", "label-message-80x24", "LabelMessageScreen"),
    Shown("Queue", "queue-80x24", "QueueScreen"),
    Shown("Agreement", "agreement-80x24", "AgreementScreen"),
    Shown("Judge", "judge-80x24", "JudgeScreen"),
    Shown("Decision", "decision-80x24", "DecisionScreen"),
    Shown("A key to sign with", "guide-no-key-80x24", "KeyScreen"),
    Shown("May this key sign?", "guide-trust-80x24", "TrustScreen"),
    Shown("Sign", "sign-80x24", "SignScreen"),
    Shown("Runs", "runs-live-80x24", "RunsScreen"),
    Shown("Run a candidate", "run-dialog-80x24", "OrderScreen"),
    Shown("A call that waits for approval", "run-approve-80x24", "ApproveScreen"),
    Shown("A turn of the user that a person plays", "run-talk-80x24", "TalkScreen"),
    Shown("Import", "import-80x24", "ImportScreen"),
    Shown(
        "Sessions",
        "sessions-80x24",
        "SessionsScreen",
        "`I`, or `ctrl+s` in the import dialog: sessions of coding agents found on this machine.",
    ),
    Shown(
        "Patterns",
        "patterns-80x24",
        "PatternsScreen",
        "`P`, from every screen: similar failures in groups ([patterns.md](patterns.md)).",
    ),
    Shown("Trends", "trends-80x24", "TrendsScreen"),
    Shown(
        "Suite",
        "suite-80x24",
        "SuiteScreen",
        "`U`: `v` switches between the content of the suite, the trial, the power of its policy, "
        "and its clauses ([trial.md](trial.md)).",
    ),
    Shown("Suite, the power of its policy", "suite-power-80x24", ""),
    Shown("An error", "error-80x24", "ErrorScreen"),
    Shown("Help", "help-80x24", "", "`?` opens help over any screen."),
    Shown("Theme", "theme-80x24", "ThemesScreen", "`ctrl+t` opens the themes over any screen."),
)

SCREENS_HEAD = """\
# The screens

Written by `python docs/make.py`. The drawings are the ones that the tests compare every screen
with, on an example of three episodes; the keys are those of the program. Pictures in color are in
`docs/screenshots/`. Every screen is drawn for 80×24, 100×30 and 200×60 and for sizes in
between; below 80×24 it says that a larger terminal would show more.

Line 1 names the screens; the capital letter of each is its key. The lines below it show the current
suite and candidate, and their verdict. The second-to-last line says what just happened; the last
line names the keys of the screen. All of these can also be clicked. A heavy line marks the region
in focus, `›` the row, `[ ]` the cell. An unknown value is `○n/m` in a cell and "not measured" in
text, never 0.
"""

SETTINGS_HEAD = """\
# Settings

Written by `python docs/make.py`. Settings apply to a person at a terminal: no report, no gate
and no command of a pipeline reads them.

They are in `settings.toml` in the folder `reviewer` of `$XDG_CONFIG_HOME` (default `~/.config`).
The variable `REVIEWER_SETTINGS` names another file, and `reviewer --settings FILE` overrides
both. `--no-mouse` and `NO_COLOR` override any file.

`reviewer settings` prints the settings in force, each with the file and line that sets it;
`reviewer settings --defaults` prints the file below. In the workstation, "Settings" under `ctrl+p`
shows the same.

An invalid entry is refused with its file and line and, if there is one, the word that was
probably meant; `reviewer settings` then exits with 20. The workstation still opens,
says what was refused, and uses the default of that entry. Two verbs of one screen on one key are
refused by name, and then no key is changed.

`ctrl+t` tries themes and saves the chosen one: it writes the line `theme = …` to the file
and changes nothing else there. If the file cannot be written, the theme lasts until the program
ends. The file `reviewer/tour-seen` in `$XDG_STATE_HOME` (default `~/.local/state`) records that the
tour was shown. `panes.json` next to it records which panes are folded (`z`) and how many lines they
have (`K`, `_`). If one of these files is missing or broken, only this memory is lost.
"""


def settings_page() -> str:
    """docs/settings.md."""
    themes = [f"| `{name}` | {words} |" for name, words in THEMES.items()]
    parts = [
        SETTINGS_HEAD,
        "## Themes\n",
        "No state is shown by color alone: each also has a glyph and a word and, without color, an",
        "attribute. Every word has a contrast of 4.5:1 or more with its background. In the themes",
        "`colorblind-…` and `contrast`, pass is blue and FAIL orange, which every kind of color",
        "vision can distinguish. In `dark` and `light`, a failing hard gate is a filled red cell,",
        "and a critical failure is filled in another red.\n",
        "\n".join(["| theme | description |", "|---|---|", *themes]) + "\n",
        "## A file with every default\n",
        f"```toml\n{documented()}```",
    ]
    return "\n".join(parts) + "\n"


def screens_page() -> str:
    """docs/screens.md."""
    by_name = {screen.__name__: screen for screen in screens()}
    parts = [SCREENS_HEAD, "## Everywhere\n", _table(everywhere())]
    for shown in DRAWN:
        drawing = (GOLDENS / f"{shown.golden}.txt").read_text(encoding="utf-8")
        parts.append(f"## {shown.title}\n")
        screen = by_name.get(shown.screen)
        words = shown.words or " ".join(getattr(screen, "ABOUT", ()))
        parts += [f"{_plain(words)}\n", f"```text\n{drawing.rstrip()}\n```\n"]
        if screen is not None:
            parts.append(_table(_acts(screen)))
    return "\n".join(parts)


def _acts(screen: type[Screen[Any]]) -> list[tuple[str, str]]:
    return acts(screen)


def _plain(words: str) -> str:
    from reviewer.tui.settings.keys import worded

    return worded(" ".join(words.split()))


def _table(rows: list[tuple[str, str]]) -> str:
    lines = [f"| {_code(keys)} | {words.replace('|', chr(92) + '|')} |" for keys, words in rows]
    return "\n".join(["| key | what it does |", "|---|---|", *lines]) + "\n"


def _code(keys: str) -> str:
    """Keys as code, each; a table's own sign escaped."""
    return " ".join(f"`{key}`" for key in keys.split(" ")).replace("|", "\\|")
