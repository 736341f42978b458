"""Writing a report out: the same bytes for the screen and for CI."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from reviewer.desk.errors import DeskError
from reviewer.desk.place import write_private
from reviewer.desk.reports.reports import Shown
from reviewer.exit_codes import ExitCode

FORMATS = ("json", "md", "html", "junit", "sarif", "github")
USUAL = ("json", "md", "html", "junit")
"""Those written when none is asked for."""
FILES = {
    "json": "report.json",
    "md": "report.md",
    "html": "report.html",
    "junit": "junit.xml",
    "sarif": "report.sarif",
    "github": "github.md",
}


def known(formats: tuple[str, ...]) -> tuple[str, ...]:
    """Each format once. Raises DeskError for one that there is not."""
    if any(name not in FORMATS for name in formats):
        raise DeskError(
            f"--format {','.join(name for name in formats if name not in FORMATS)}: not one of "
            f"{', '.join(FORMATS)}",
            exit_code=ExitCode.USAGE,
        )
    return tuple(dict.fromkeys(formats))


def renderings(shown: Shown, formats: tuple[str, ...]) -> dict[str, bytes]:
    """File name → bytes for each format asked. Raises DeskError for an unknown format."""
    makers: dict[str, Callable[[Shown], bytes]] = {
        "json": lambda one: one.built.raw,
        "md": lambda one: markdown(one).encode(),
        "html": _html,
        "junit": _junit,
        "sarif": _sarif,
        "github": _github,
    }
    return {FILES[name]: makers[name](shown) for name in known(formats)}


def markdown(shown: Shown) -> str:
    """report.md."""
    from reviewer.report.render.markdown import render_markdown

    return render_markdown(shown.built.report, shown.beside)


def _html(shown: Shown) -> bytes:
    from reviewer.report.render.html import render_html

    return render_html(shown.built.report, shown.beside).encode()


def _junit(shown: Shown) -> bytes:
    from reviewer.report.render.junit import render_junit

    return render_junit(shown.built.report, shown.beside)


def _sarif(shown: Shown) -> bytes:
    from reviewer.report.render.sarif import render_sarif

    return render_sarif(shown.built.report, shown.beside)


def _github(shown: Shown) -> bytes:
    from reviewer.report.render.github import step_summary

    return step_summary(shown.built.report, shown.beside).encode()


def annotations(shown: Shown) -> list[str]:
    """Lines that GitHub Actions reads from a step's output: the first reasons, each at its file."""
    from reviewer.report.render.github import annotations

    return annotations(shown.built.report, shown.beside)


def write(shown: Shown, out: Path, formats: tuple[str, ...]) -> list[tuple[str, str]]:
    """Write the renderings into a folder; returns (path, sha256) of each.

    Raises DeskError when the folder cannot be made or written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DeskError(
            f"{out}: cannot be made a folder ({error.strerror})", exit_code=ExitCode.USAGE
        ) from error
    return put(out, renderings(shown, formats))


def put(out: Path, files: dict[str, bytes]) -> list[tuple[str, str]]:
    """Write files into a folder that exists; returns (path, sha256) of each."""
    for name, data in files.items():
        write_private(out / name, data)
    return [(str(out / name), hashlib.sha256(data).hexdigest()) for name, data in files.items()]
