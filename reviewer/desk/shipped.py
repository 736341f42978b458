"""What ships beside an example suite: labels of people and answers of a judge, taken in as a
stranger's would be."""

from pathlib import Path
from typing import NamedTuple

from reviewer.contract.folder import JUDGMENTS, LABELS, read_bytes
from reviewer.desk import suites
from reviewer.desk.judgment_files import import_judgments
from reviewer.desk.label_files import import_labels
from reviewer.desk.workspace import Workspace


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
            taken = import_labels(workspace, read_bytes(path), _name(workspace, path))
            loaded = loaded._replace(
                labels=loaded.labels + taken.added, refused=loaded.refused + taken.refused
            )
        for path in _files(folder / JUDGMENTS):
            taken = import_judgments(workspace, read_bytes(path), _name(workspace, path))
            loaded = loaded._replace(
                judgments=loaded.judgments + taken.added, refused=loaded.refused + taken.refused
            )
    return loaded


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.jsonl") if not path.name.startswith("."))


def _name(workspace: Workspace, path: Path) -> str:
    return str(path.relative_to(workspace.root))
