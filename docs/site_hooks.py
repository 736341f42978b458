"""What mkdocs.yml does to pages and files on their way into the site."""

import re
from pathlib import Path
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]*)\]\(\s*(?:\.\./)+(?!tutorials/)([^)\s#]+)[^)]*\)")
FACES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Name a file of the repository that is no page, instead of a link that leads nowhere."""
    docs = Path(page.file.src_uri).parent
    return OUTSIDE.sub(lambda found: _named(found, docs), markdown)


def _named(found: re.Match[str], docs: Path) -> str:
    text, target = found.groups()
    ups = found[0].count("../")
    if ups <= len(docs.parts):
        return found[0]
    return f"{text} (`{target}` in the repository)"


def on_post_build(config: Any, **_: Any) -> None:
    """Take the fonts of a server out of the pictures, which are shown in the reader's own."""
    for picture in Path(config["site_dir"]).glob("screenshots/*.svg"):
        text = picture.read_text("utf-8")
        picture.write_text(FACES.sub("", text), "utf-8")
