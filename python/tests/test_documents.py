"""The guide's snippets and the tutorial run as they are."""

import re
import runpy
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parent.parent
GUIDE = PYTHON.parent / "docs" / "python.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for package in ("pandas", "pyvista", "scipy", "xarray"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_guides_snippets(folder):
    text = GUIDE.read_text(encoding="utf-8")
    snippets = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    assert len(snippets) > 5
    names = {}
    for snippet in snippets:
        line = text[: snippet.start(1)].count("\n")
        # Errors name the guide's own lines.
        code = compile("\n" * line + snippet.group(1), str(GUIDE), "exec")
        exec(code, names)


def test_the_tutorial(folder):
    names = runpy.run_path(str(PYTHON / "examples" / "tutorial.py"))
    assert names["finished"]
