"""Links of the documents lead to files and headings that are there; the site is made of them."""

import os
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "store/README.md")),
    *sorted(DOCS.rglob("*.md")),
]
FENCE = re.compile(r"^( *)(```+)[^\n]*\n.*?^\1\2$", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"\]\(\s*<?([^)>\s]+)|^\[[^\]]+\]:\s*(\S+)|(?:href|src)=\"([^\"]+)\"", re.M)


def links(text: str) -> list[str]:
    """Every target of a page, without those of code."""
    plain = re.sub(r"(`+).+?\1", "", FENCE.sub("", text))
    return [next(filter(None, found)) for found in TARGET.findall(plain)]


@cache
def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub and the site name them."""
    text = FENCE.sub("", page.read_text("utf-8"))
    found = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#{1,6} +(.+?)(?: +#+)? *$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        found.add(slug if slug not in found else f"{slug}-1")
    return found


def broken(page: Path, text: str) -> list[str]:
    """The targets of a page that lead nowhere."""
    wrong = []
    for target in links(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (fragment and fragment not in anchors(there)):
            wrong.append(target)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert broken(page, page.read_text("utf-8")) == []


def test_a_wrong_file_and_a_wrong_heading_are_found() -> None:
    page = DOCS / "formats.md"
    text = "[a](nope.md) [b](ci.md#nope) [c](#nope) [d](ci.md#labels) `[e](gone.md)` [f](#suite)"
    assert broken(page, text) == ["nope.md", "ci.md#nope", "#nope"]
    assert sum(len(links(page.read_text("utf-8"))) for page in PAGES) > 250


def test_every_page_is_in_the_navigation_of_the_site_once() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"- (?:.*: )?(\S+\.md)$", nav, re.MULTILINE)
    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.mark.nightly
@pytest.mark.skipif(not find_spec("material"), reason="the extra docs is not installed")
def test_the_site_is_built_strictly_and_loads_nothing_from_a_network(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(tmp_path)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    loaded = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*(?:src|href)=\"?(?:https?:)?//")
    for page in tmp_path.rglob("*.html"):
        text = page.read_text("utf-8")
        assert not loaded.search(text), page
        assert 'class="mermaid"' not in text, page  # its program would come from a server
    for part in (*tmp_path.rglob("*.css"), *tmp_path.rglob("*.svg")):
        text = part.read_text("utf-8")
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//|@import", text), part
    assert len(list(tmp_path.rglob("*.html"))) > 40
