"""`reviewer settings`: what is set for the workstation, and which file says so."""

import argparse

from reviewer.cli.say import note, out, out_json, table
from reviewer.cli.workstation import settings_of
from reviewer.exit_codes import ExitCode
from reviewer.tui.settings.settings import OPTIONS, Settings, documented, in_force

NONE = " (there is none: every value is the default)"


def _settings_arguments(shown: argparse.ArgumentParser) -> None:
    shown.add_argument("--defaults", action="store_true", help="print a file with every default")


ARGUMENTS = {
    "settings": _settings_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    if arguments.defaults:
        out(documented().rstrip("\n"))
        return ExitCode.DONE
    settings = _checked(settings_of(arguments))
    rows = list(in_force(settings))
    there = settings.file is not None and settings.file.exists()
    if arguments.json:
        values = {option.name: getattr(settings, option.name) for option in OPTIONS}
        values["keys"] = {verb: list(keys) for verb, keys in settings.keys.items()}
        out_json(
            {"file": str(settings.file), "exists": there, "settings": values}
            | {"from": dict(settings.origin), "refused": list(settings.refused)}
        )
    else:
        out(f"file {settings.file}{'' if there else NONE}")
        table([*rows], ("setting", "value", "from"))
    for words in settings.refused:
        note(f"refused: {words}")
    return ExitCode.INVALID if settings.refused else ExitCode.DONE


def _checked(settings: Settings) -> Settings:
    """Return the settings, with default keys when two verbs of one screen share a key."""
    if settings.keys:
        from reviewer.tui.app.app import ReviewerApp
        from reviewer.tui.screens.scenes import clash

        if why := clash(settings.keyboard(), ReviewerApp):
            return settings.without_keys(why)
    return settings
