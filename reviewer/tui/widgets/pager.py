"""Opening a text in the reader's own pager, made safe first."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from reviewer.trace.safetext import visible


def open_in_pager(app: App[Any], text: str) -> bool:
    """Show `text` in $PAGER (or less); False where the terminal cannot be lent out."""
    return open_in_program(app, text, "PAGER", "less")


def open_in_program(app: App[Any], text: str, variable: str, otherwise: str) -> bool:
    """Show a copy of `text` in the program that an environment variable names."""
    command = shlex.split(os.environ.get(variable) or otherwise)
    with tempfile.TemporaryDirectory(prefix="reviewer-") as folder:
        path = Path(folder) / "value.txt"
        path.write_text(visible(text), encoding="utf-8")
        try:
            with app.suspend():
                subprocess.run([*command, str(path)], check=False)
        except (SuspendNotSupported, OSError):
            return False
    return True
