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
exclude_patterns = ["performance/*"]

DOCS = Path(__file__).resolve().parent
LINK = re.compile(r"\[([^\]\n]*)\]\((\.\./[^)\s#]*\.md)\)")


def _outer_documents_are_downloads(app, name, source):
    """Markdown files outside of docs/ are no pages of the book; a link to one gives the file."""
    folder = (DOCS / name).parent

    def link(match):
        text, path = match.groups()
        inside = (folder / path).resolve().is_relative_to(DOCS)
        return match[0] if inside else f"{{download}}`{text} <{path}>`"

    source[0] = LINK.sub(link, source[0])


def setup(app):
    app.connect("source-read", _outer_documents_are_downloads)
