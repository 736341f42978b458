"""The tutorials, typed as they stand: files written, commands run, output compared."""

import doctest
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from labelers import drafted
from packaging_commands import typed

from reviewer.desk.desk import Desk
from reviewer.desk.place import at

DOCS = Path(__file__).resolve().parents[2] / "docs"
STEP = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\w+)\n(?P<body>.*?)^```$"
    r'|^<!-- labels: (?P<set>\S+) by (?P<who>\w+), not acceptable: "(?P<bad>.*)" -->$',
    re.MULTILINE | re.DOTALL,
)
PAGES = [
    DOCS / "start.md",
    *(
        pytest.param(page, marks=pytest.mark.nightly)
        for page in sorted((DOCS / "tutorials").glob("*.md"))
    ),
]


def played(page: Path, top: Path) -> Iterator[tuple[str, str, str]]:
    """Follow a page in the folder `top`: each command, what the page shows, what was said."""
    here = top
    for step in STEP.finditer(page.read_text("utf-8")):
        if step["file"]:
            (top / step["file"]).parent.mkdir(parents=True, exist_ok=True)
            (top / step["file"]).write_text(step["body"], "utf-8")
        elif step["set"]:
            label(here, step["set"], step["who"], step["bad"])
        elif step["language"] == "console":
            for part in re.split(r"^\$ ", step["body"], flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                if command.startswith("cd "):
                    here /= command[3:]
                else:
                    yield command, shown, typed(command, here)


def label(desk_folder: Path, name: str, who: str, bad: str) -> None:
    """What a person does on the screen: answer every message of a set."""
    with closing(Desk(at(desk_folder), who)) as desk:
        session = desk.labels.session("", "", review_set=name)
        while (item := desk.labels.next_item(session)) is not None:
            marks = {c.criterion_id: 1 for c in item.criteria}
            if bad in (item.message or ""):
                marks[item.criteria[0].criterion_id] = 2
            desk.labels.record(session, drafted(item, marks=marks))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="keys are made with ssh-keygen")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_can_be_typed_as_it_stands(page: Path, tmp_path: Path) -> None:
    """Every `$` line says what stands under it; `...` stands for anything."""
    same, commands = doctest.OutputChecker().check_output, []
    for command, shown, said in played(page, tmp_path):
        assert same(shown, said, doctest.ELLIPSIS), f"$ {command}\n{said}\nwanted:\n{shown}"
        commands.append(command)
    assert len(commands) > 2
