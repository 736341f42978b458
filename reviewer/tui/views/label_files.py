"""Labels and judgments to a file, labels from one, with the words for what became of it."""

from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.desk.errors import DeskError
from reviewer.tui.widgets.words import plural

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk


def file_name(what: str, suite_id: str) -> str:
    """The name to offer for a file of `what`."""
    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in suite_id)
    return f"{what}-{safe}.jsonl"


def export_labels(desk: "Desk", suite_id: str, name: str) -> str:
    """Write all labels of a suite to a new file."""
    return _written(desk.labels.export(suite_id), "label", name)


def export_judgments(desk: "Desk", suite_id: str, name: str) -> str:
    """Write all answers of a suite's judges to a new file."""
    return _written(desk.judge.export(suite_id), "judgment", name)


def _written(data: bytes, noun: str, name: str) -> str:
    """DeskError where the file cannot be written, or is there already: what somebody gave away is
    not overwritten."""
    path = Path(name).expanduser()
    if path.exists():
        raise DeskError(f"is there already, and stays: {name}", "choose another name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(data)
    except OSError as error:
        raise DeskError(f"cannot be written ({error.strerror}): {name}") from error
    return f"exported {plural(data.count(bytes([10])), noun)} to {name}"


def import_labels(desk: "Desk", name: str) -> str:
    """Take in the labels of a file; what is known stays as it is."""
    path = Path(name).expanduser()
    try:
        if not path.is_file():
            raise DeskError(f"no such file: {name}", "give the file that was exported")
        data = path.read_bytes()
    except OSError as error:
        raise DeskError(f"cannot be read ({error.strerror}): {name}") from error
    counts = desk.labels.take(data, name)
    told = ", ".join(f"{count:,} {word}" for word, count in counts.items())
    return f"imported {name}: {told}"
