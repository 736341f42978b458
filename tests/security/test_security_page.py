"""docs/security.md names tests that exist, one for every claim, of every party."""

import ast
import re
from functools import cache
from pathlib import Path

from doors import REPOSITORY

PAGE = REPOSITORY / "docs" / "security.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
PARTIES = (
    "A hostile trace", "A hostile suite", "A hostile store file", "A hostile decision",
    "A hostile candidate", "A hostile judge, and anyone who reaches `reviewer serve`",
    "The program itself",
)  # fmt: skip


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


def test_every_test_that_it_names_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = NAMED.findall(text)
    assert len(named) > 80
    assert text.count(".py::") == len(named)  # none is written so that it is not looked for
    lacking = [
        f"{file}::{name}"
        for file, name in named
        if not (REPOSITORY / file).is_file() or name not in functions(REPOSITORY / file)
    ]
    assert lacking == []
    assert all(name.startswith("test_") for _, name in named)


def test_every_party_has_its_section_and_every_claim_a_test() -> None:
    text = PAGE.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)+)", text, re.MULTILINE))
    assert set(PARTIES) <= set(sections)
    for party in PARTIES:
        rows = [line for line in sections[party].splitlines() if line.startswith("| ")]
        claims = [row for row in rows if " shown by " not in row]
        assert len(claims) >= 4, party
        assert [row for row in claims if not NAMED.search(row)] == [], party
        if party != "The program itself":
            assert " can:" in sections[party] or " can " in sections[party], party
