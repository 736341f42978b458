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
    Shown("First run", "empty-80x24", "", "Nothing in the store yet: what would fill the grid."),
    Shown("Scorecard", "scorecard-80x24", "ScorecardScreen"),
    Shown("Scorecard, by tag", "scorecard-tags-80x24", "", "`#` groups the rows."),
    Shown("Scorecard, candidates side by side", "scorecard-sides-80x24", "", "`|` turns to it."),
    Shown("Scorecard, wide", "scorecard-140x40", "", "From 140 columns on, all at once."),
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
        "`P`: what fails alike, from every screen ([patterns.md](patterns.md)).",
    ),
    Shown("Trends", "trends-80x24", "TrendsScreen"),
    Shown(
        "Suite",
        "suite-80x24",
        "SuiteScreen",
        "`U`: `v` turns to what the suite holds, the trial, the power of its policy, and its "
        "clauses ([trial.md](trial.md)).",
    ),
    Shown("Suite, the power of its policy", "suite-power-80x24", ""),
    Shown("An error", "error-80x24", "ErrorScreen"),
    Shown("Help", "help-80x24", "", "Over every screen, `?`."),
    Shown("Theme", "theme-80x24", "ThemesScreen", "Over every screen, `ctrl+t`."),
)

SCREENS_HEAD = """\
# The screens

Written by `python docs/make.py`: the drawings are those that the tests hold every screen to, on an
example of three episodes; the keys are those of the program. Pictures in color are in
`docs/screenshots/`. Every screen is drawn for 80×24, 100×30 and 200×60 and for what lies
between; below 80×24 it says that more would show.

Line 1 names the screens; the capital letter of each is its key. Below it stand what you look at and
the verdict of that. The last line but one says what just happened; the last one names the keys that
act here. All of them are buttons for the mouse too. A heavy rule marks the region in focus, `›` the
row, `[ ]` the cell. Unknown is `○n/m` in a cell and "not measured" in words, never 0.
"""

SETTINGS_HEAD = """\
# Settings

Written by `python docs/make.py`. Settings are those of a person at a terminal: no report, no gate
and no command of a pipeline reads them.

They are in `settings.toml` of the folder `reviewer` in `$XDG_CONFIG_HOME` (else `~/.config`). The
variable `REVIEWER_SETTINGS` names another file, and `reviewer --settings FILE` one that counts
before both. `--no-mouse` and `NO_COLOR` count before any file.

`reviewer settings` prints what is in force and which file and line says so; `reviewer settings
--defaults` prints the file below. In the workstation, "Settings" under `ctrl+p` shows
the same.

What a file may not say is refused with its file and line and, where there is one, the word that was
probably meant; `reviewer settings` then ends with exit code 20. The workstation opens all the same,
says what was refused, and uses the default of that entry. Two verbs of one screen on one key are
refused by name, and then no key is moved.

`ctrl+t` tries themes and keeps the one that is taken: it writes the line `theme = …` into the file,
and nothing else there changes. Where the file cannot be written, the theme holds until the program
ends. That the tour was shown is noted in `reviewer/tour-seen` of `$XDG_STATE_HOME` (else
`~/.local/state`); which panes are folded away (`z`) and
how many lines you gave them (`K`, `_`) in `panes.json` beside it. Neither file is ever
needed: one that is missing or broken costs that memory alone.
"""


def settings_page() -> str:
    """docs/settings.md."""
    themes = [f"| `{name}` | {words} |" for name, words in THEMES.items()]
    parts = [
        SETTINGS_HEAD,
        "## Themes\n",
        "No state is shown by color alone: each has a glyph and a word, and without color an",
        "attribute. On its ground every word has a contrast of 4.5:1 or more. In the themes",
        "`colorblind-…` and `contrast` pass is blue and FAIL orange, apart for every kind of color",
        "vision. In `dark` and `light` a failing hard gate is a filled red cell, a critical one",
        "filled in another red.\n",
        "\n".join(["| theme | what it is |", "|---|---|", *themes]) + "\n",
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
