"""Where the shipped data lies: inside a wheel, or beside the package in a checkout."""

from pathlib import Path


def data_folder(name: str) -> Path:
    """Return the shipped `suites` or `store` folder. Raises FileNotFoundError without it."""
    package = Path(__file__).resolve().parent
    for place in (package / "_data" / name, package.parent / name):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"the shipped folder {name!r} is missing: reinstall release-reviewer")
