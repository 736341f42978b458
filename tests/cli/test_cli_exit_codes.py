"""docs/cli.md and the program list the same exit codes."""

import re
from pathlib import Path

from reviewer.exit_codes import ExitCode

DOCS = Path(__file__).parents[2] / "docs"


def test_the_documented_exit_codes_are_those_of_the_program() -> None:
    table = (DOCS / "cli.md").read_text().split("| exit code | meaning |", 1)[1].split("\n\n")[0]
    documented = [int(number) for number in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)]
    # A program that SIGTERM ends has the shell's own code for that, which is not documented.
    ours = [int(code) for code in ExitCode if code is not ExitCode.TERMINATED]
    assert documented == ours


def test_no_module_names_an_exit_code_by_its_number() -> None:
    raw = re.compile(r"exit_code=\d|exit_code: int = \d|sys\.exit\(\d")
    package = DOCS.parent / "reviewer"
    assert [str(one) for one in package.rglob("*.py") if raw.search(one.read_text())] == []
