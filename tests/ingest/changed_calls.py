"""`reviewer.testing.changes` for readers by name."""

from pathlib import Path
from typing import Any

from reviewer.importing.formats import named
from reviewer.testing import changes, reading


def read(name: str, path: Path) -> reading.Read:
    return reading.read(named(name), path)


def fewer(name: str, path: Path, document: Any, **how: Any) -> list[str]:
    return changes.fewer(named(name), path, document, **how)
