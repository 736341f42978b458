"""Counts, names and paths that README, CHANGELOG and architecture.md state are those of the
registries: a change of a registry fails here until the pages say it."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "reviewer"
README, CHANGELOG, ARCHITECTURE = (
    re.sub(r"\s+", " ", (ROOT / name).read_text("utf-8"))
    for name in ("README.md", "CHANGELOG.md", "docs/architecture.md")
)
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def stated(pattern: str, text: str) -> str:
    """The one thing that a page states in these words."""
    found = re.findall(pattern, text)
    assert len(found) == 1, f"{pattern}: {found}"
    return str(found[0])


def table(name: str, head: str) -> list[list[str]]:
    """The rows of the table of a page whose header begins with `head`."""
    text = (ROOT / name).read_text("utf-8")
    _, _, rest = text.partition(f"| {head} |")
    assert rest, f"{name} has no table {head}"
    rows = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


# formats ------------------------------------------------------------------------------------------


def test_the_number_of_formats_is_that_of_the_readers() -> None:
    from reviewer.importing.formats import OURS

    assert int(stated(r"reads the (\d+) formats", README)) == len(OURS)
    assert int(stated(r"files as they are: (\d+) formats", CHANGELOG)) == len(OURS)


def test_every_format_says_what_it_feeds() -> None:
    from reviewer.importing.facts import MEASURED
    from reviewer.importing.formats import OURS, foreign_readers

    for reader in foreign_readers()[: len(OURS)]:
        facts = reader.facts  # type: ignore[attr-defined]
        assert facts.by, reader.name
        assert all(getattr(facts, name) for name in MEASURED), reader.name


# gates, exit codes, detectors, screens ------------------------------------------------------------


def test_the_gates_are_those_of_the_registry() -> None:
    from reviewer.suite.gates import REGISTRY

    always = [gate.name for gate in REGISTRY if not gate.optional]
    more = [gate.name for gate in REGISTRY if gate.optional]
    words = f"{NUMBERS[len(always)].title()} hard gates ({', '.join(always)})"
    assert (
        f"{words}, and {NUMBERS[len(more)]} that a policy may add ({', '.join(more)})" in CHANGELOG
    )


def test_the_gates_of_a_decision_are_counted() -> None:
    source = (PACKAGE / "report" / "decision_set.py").read_text("utf-8")
    numbers = {int(number) for number in re.findall(r'"D(\d)"', source)}
    assert numbers == set(range(max(numbers) + 1))
    for page in (CHANGELOG, ARCHITECTURE):
        assert f"D0 to D{max(numbers)}" in page


def test_the_exit_codes_of_the_readme_are_those_of_every_page() -> None:
    from reviewer.exit_codes import ExitCode

    shown = {int(code) for code, _ in table("README.md", "exit code | meaning")}
    assert shown == set(ExitCode) - {ExitCode.INTERRUPTED, ExitCode.TERMINATED}


def test_the_detectors_that_were_added_are_named() -> None:
    from reviewer.trace.rules import ADDED
    from reviewer.trace.tokens import FORMS

    assert f"(detectors {', '.join(f'`{name}`' for name in ADDED)})" in CHANGELOG
    vendors = int(stated(r"forms of some (\d+) vendors", CHANGELOG))
    assert vendors <= len(FORMS) < vendors + 10


def test_the_screens_and_themes_that_are_named_are_there() -> None:
    from reviewer.tui.screens.base import SCREENS
    from reviewer.tui.settings.settings import THEMES

    names = {name for name, _ in SCREENS}
    said = stated(r"The workstation: ([\w, ]+)\.", CHANGELOG)
    assert set(re.findall(r"scorecard|trajectory|decision|runs", said)) <= names
    assert sum("any color vision" in words for words in THEMES.values()) == 2
    assert sum("high contrast" in words for words in THEMES.values()) == 1


# figures of architecture.md -----------------------------------------------------------------------


def test_the_figures_of_the_architecture_are_those_of_the_code() -> None:
    from reviewer.db.payload import LARGE, PACK_TRACES
    from reviewer.importing.pipeline.ahead import LARGEST
    from reviewer.importing.pipeline.claiming import MANY
    from reviewer.importing.processes import MOST, WORTH, WORTH_ONE

    assert int(stated(r"A file of (\d+) MB or more", ARCHITECTURE)) << 20 == WORTH
    assert int(stated(r"tool's file of (\d+) MB or more", ARCHITECTURE)) << 20 == WORTH_ONE
    assert int(stated(r"files of up\s+to (\d+) MB", ARCHITECTURE)) << 20 == LARGEST
    assert int(stated(r"each of more than\s+(\d+) files", ARCHITECTURE)) == MANY
    assert NUMBERS.index(stated(r"scored in up to (\w+) processes", ARCHITECTURE)) == MOST
    assert int(stated(r"packed up to (\d+) together", ARCHITECTURE)) == PACK_TRACES
    assert int(stated(r"a trace over (\d+) MB in chunks", ARCHITECTURE)) << 20 == LARGE


def test_the_layers_are_those_that_the_linter_holds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (layers,) = [
        contract["layers"]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["name"].startswith("One direction")
    ]
    held = [{name.strip() for name in layer.split(":")} for layer in layers]
    shown = [
        {f"reviewer.{name}" for name in re.findall(r"`(\w+)/`", row[1])}
        for row in table("docs/architecture.md", "layer | package | what it knows")
    ]
    packages = {f"reviewer.{path.parent.name}" for path in PACKAGE.glob("*/__init__.py")}
    assert set().union(*held) == set().union(*shown) == packages
    order = {name: at for at, layer in enumerate(held) for name in layer}
    tops = [sorted(order[name] for name in names) for names in shown]
    assert sorted(tops) == tops


ROOMS = ("desk", "importing", "report", "review", "suite")
"""Packages whose paragraph names its own folders."""


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_every_path_that_a_page_names_is_there(page: str) -> None:
    bases = (ROOT, PACKAGE, *(PACKAGE / name for name in ROOMS))
    made = {"reviewer/_data/", "store/witness", ".frozen/"}  # in a wheel; by commands
    text = (ROOT / page).read_text("utf-8")
    missing = [
        name
        for name in set(re.findall(r"`((?:[\w.]+/)+[\w.]*)`", text)) - made
        if not any((base / name).exists() or (base / f"{name}.py").exists() for base in bases)
    ]
    assert missing == []
