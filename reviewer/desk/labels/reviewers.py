"""Who labels: a name that people know, and nothing that identifies a person to strangers."""

import os
import shutil
import subprocess

from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode
from reviewer.importing.catalogue import redactor_of
from reviewer.suite.model import RedactionRules
from reviewer.suite.names import name_problem

VARIABLE = "REVIEWER_NAME"
NOBODY = "reviewer"


def reviewer_name(asked: str = "") -> str:
    """The name asked for, that of REVIEWER_NAME, git's user.name, or the login, whichever comes
    first. Raises DeskError for one that was asked for and holds an identifier; another such name is
    passed over."""
    for source, name in (("--reviewer", asked), (VARIABLE, os.environ.get(VARIABLE, ""))):
        if name:
            return checked(name.strip(), source)
    for name in (_git_name(), os.environ.get("USER", ""), os.environ.get("LOGNAME", "")):
        if name and not _problem(name):
            return name
    return NOBODY


def checked(name: str, source: str) -> str:
    """The name itself. Raises DeskError when it cannot stand in a label."""
    problem = _problem(name)
    if problem:
        raise DeskError(
            f"{source}: {problem}", "give a name such as dana, no address", exit_code=ExitCode.USAGE
        )
    return name


def _problem(name: str) -> str | None:
    if redactor_of(RedactionRules()).masked(name) != name:
        return "it holds an identifier, and labels travel"
    return name_problem(name)


def _git_name() -> str:
    """git's user.name, "" without one."""
    program = shutil.which("git")
    if program is None:
        return ""
    try:
        said = subprocess.run(
            [program, "config", "--global", "--get", "user.name"],
            capture_output=True,
            text=True,
            timeout=5,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return said.stdout.strip()
