"""What ships beside an example suite: labels of people and answers of a judge, taken in as a
stranger's would be."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.imports.record_files import Taken
from reviewer.desk.judge.files import import_judgments
from reviewer.desk.labels.files import import_labels
from reviewer.desk.place import Workspace
from reviewer.suite.folder import JUDGMENTS, LABELS, read_bytes


class Loaded(NamedTuple):
    """How much came in; what stood there already is not counted."""

    labels: int = 0
    judgments: int = 0
    refused: int = 0


def load_shipped(workspace: Workspace) -> Loaded:
    """Take in the labels and judgments that stand beside the suites of a workspace. Repeating it
    adds nothing. Raises StoreError when nothing can be written."""
    loaded = Loaded()
    for folder in suites.folders(workspace):
        for path in _files(folder / LABELS):
            added, refused = _taken(import_labels, workspace, path)
            loaded = loaded._replace(labels=loaded.labels + added, refused=loaded.refused + refused)
        for path in _files(folder / JUDGMENTS):
            added, refused = _taken(import_judgments, workspace, path)
            loaded = loaded._replace(
                judgments=loaded.judgments + added, refused=loaded.refused + refused
            )
    return loaded


def _taken(
    take: Callable[[Workspace, bytes, str], Taken], workspace: Workspace, path: Path
) -> tuple[int, int]:
    """(added, refused) of one file; a file without a line is refused whole."""
    try:
        taken = take(workspace, read_bytes(path), str(path.relative_to(workspace.root)))
    except DeskError:
        return 0, 1
    return taken.added, taken.refused


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.jsonl") if not path.name.startswith("."))
