"""Build the pages in ``docs/`` as a site: ``make docs``.

The pages are plain Markdown that reads well in any viewer. Navigation comes from the headings and links of
``docs/README.md``, so a page that is listed there is in the sidebar, too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.special import TextLexer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent

project = "Dibs"
extensions = ["myst_parser"]
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "AGENTS.md", "docs/**"]
root_doc = "README"
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = "Dibs"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
myst_heading_anchors = 4
# Code samples may be abridged (… in JSON), and are then shown without colors.
suppress_warnings = ["misc.highlighting_failure"]


def toctrees() -> str:
    """Return the sidebar as hidden toctrees: one for each heading of the index page."""
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    parts = ["Start\n\n[Documentation](README.md) [Tutorial](tutorial.md) [Glossary](glossary.md)"]
    parts += index.split("\n## ")[1:]
    trees = []
    for part in parts:
        caption, _, text = part.partition("\n")
        links = re.findall(r"\[([^\]]+)\]\(([^)#]+)\.md\)", text)
        rows = [f"{title[0].upper()}{title[1:]} <docs/{page}>" for title, page in links]
        trees.append(
            f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(rows) + "\n```"
        )
    more = ["Changes <CHANGELOG>", "Contributing <CONTRIBUTING>", "For agents <AGENTS>"]
    trees.append("```{toctree}\n:hidden:\n:caption: Development\n\n" + "\n".join(more) + "\n```")
    return "\n\n".join(trees)


def add_navigation(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Append the toctrees to the first page, and the pages that only a table lists to its table."""
    if docname == root_doc:
        source[0] += "\n\n" + toctrees()
    if docname == "docs/decisions/README":
        pages = sorted(page.stem for page in (ROOT / "docs" / "decisions").glob("[a-z]*.md"))
        source[0] += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```"


def setup(app: Sphinx) -> None:
    """Register what differs from a plain Sphinx project."""
    app.connect("source-read", add_navigation)
    app.add_lexer("mermaid", TextLexer)
