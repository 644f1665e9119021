"""Checks that references between documents, and from the code to them, lead somewhere.

Relative links in Markdown files (with their anchors), `docs/FILE.md, "Section"` in doc comments, the keys in square
brackets of docs/math.md, and the tests that docs/reliability.md names.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+?)\s*$", re.MULTILINE)
SECTION = re.compile(r'(docs/[\w-]+\.md)(?:, "([^"]+)")?')
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def headings(path):
    return HEADING.findall(FENCE.sub("", path.read_text(encoding="utf-8")))


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def documents():
    folders = ["", "docs/", "docs/tutorials/", "meshes/", "benches/", "contrib/*/", "crates/*/", "kernels/"]
    return [document for folder in folders for document in ROOT.glob(f"{folder}*.md")]


def broken_links():
    for document in documents():
        for link in LINK.findall(FENCE.sub("", document.read_text(encoding="utf-8"))):
            if "://" in link:
                continue
            path, _, fragment = link.partition("#")
            target = (document.parent / path).resolve() if path else document
            if not target.exists():
                yield f"{document.relative_to(ROOT)}: {link} does not exist"
            elif fragment and fragment not in map(anchor, headings(target)):
                yield f"{document.relative_to(ROOT)}: {link} names no heading"


def broken_sections():
    for source in [*ROOT.glob("crates/**/*.rs"), *ROOT.glob("tests/*.rs"), *ROOT.glob("benches/**/*.rs")]:
        for path, section in SECTION.findall(source.read_text(encoding="utf-8")):
            target = ROOT / path
            if not target.exists():
                yield f"{source.relative_to(ROOT)}: {path} does not exist"
            elif section and section not in headings(target):
                yield f"{source.relative_to(ROOT)}: {path} has no section \"{section}\""


def broken_keys():
    known = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/references.bib").read_text(encoding="utf-8"), re.MULTILINE))
    text = (ROOT / "docs/math.md").read_text(encoding="utf-8")
    for key in set(re.findall(r"\b[A-Z][A-Za-z]+(?:19|20)\d\d\b", text)) - known:
        yield f"docs/math.md: {key} is not in references.bib"
    tags = [int(tag) for tag in re.findall(r"\\tag\{(\d+)\}", text)]
    if tags != list(range(1, len(tags) + 1)):
        yield f"docs/math.md: equations are numbered {tags}"


def lost_tests():
    """Tests that docs/reliability.md names and that do not exist."""
    sources = [*ROOT.glob("crates/**/*.rs"), *ROOT.glob("tests/**/*.rs")]
    functions = set(re.findall(r"\bfn (\w+)", "".join(source.read_text(encoding="utf-8") for source in sources)))
    for name in re.findall(r"`[\w.:]+::([a-z0-9]+_\w+_\w+)`", (ROOT / "docs/reliability.md").read_text(encoding="utf-8")):
        if name not in functions:
            yield f"docs/reliability.md: there is no test {name}"


def main():
    problems = [*broken_links(), *broken_sections(), *broken_keys(), *lost_tests()]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print("references between documents resolve")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
