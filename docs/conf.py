"""The book of Farad's documents.

    pip install -r docs/requirements.txt
    sphinx-build -W -b html docs target/book

The documents are written for GitHub; this makes pages with a search of the same files.
"""

import re
from pathlib import Path

project = "Farad"
# Formulas are drawn by a copy of MathJax in the book, so that it needs no network.
extensions = ["myst_parser", "sphinx-mathjax-offline"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 5
html_theme = "furo"
html_title = "Farad"
html_show_copyright = False
html_static_path = ["book"]
html_css_files = ["book.css"]
highlight_language = "text"  # of blocks that name none: drawings and output
exclude_patterns = ["performance/*"]

CONTENTS = {
    "First steps": ["first-ten-minutes", "user-guide", "features"],
    "Tutorials": [f"tutorials/{name}" for name in "bus qubit touch mems protein membrane own-solver own-fmm".split()],
    "Reference": ["case-file", "results", "report", "messages", "messages-reference", "python", "rust", "clusters"],
    "Background": ["math", "validation", "reliability", "performance", "experiments", "releasing", "vtkio"],
}
DOCS = Path(__file__).resolve().parent
FENCED_OR_HEADING = re.compile(r"^```.*?^```|^# .*?$", re.MULTILINE | re.DOTALL)
ANY_FENCED_OR_HEADING = re.compile(r"^```.*?^```|^#+ ", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]\n]*)\]\((\.\./[^)\s#]*\.md)\)")


def _outer_documents_are_downloads(app, name, source):
    """Markdown files outside of docs/ are no pages of the book; a link to one gives the file."""
    folder = (DOCS / name).parent

    def link(match):
        text, path = match.groups()
        inside = (folder / path).resolve().is_relative_to(DOCS)
        return match[0] if inside else f"{{download}}`{text} <{path}>`"

    source[0] = LINK.sub(link, source[0])


def _contents(app, name, source):
    """The list of contents is added here to index.md, which GitHub would show as code."""
    if name == "index":
        for caption, pages in CONTENTS.items():
            source[0] += f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"


def _one_title(app, name, source):
    """A document with several headings of the first level would be several in the list of contents."""
    titles = [part for part in FENCED_OR_HEADING.findall(source[0]) if part.startswith("#")]
    if len(titles) > 1:
        first, rest = source[0].split(titles[0], 1)
        lower = ANY_FENCED_OR_HEADING.sub(lambda part: "#" * part[0].startswith("#") + part[0], rest)
        source[0] = first + titles[0] + lower


def setup(app):
    app.connect("source-read", _contents)
    app.connect("source-read", _one_title)
    app.connect("source-read", _outer_documents_are_downloads)
