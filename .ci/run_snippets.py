"""Runs what PAGES of docs/ tell the reader to do, and compares what is printed.

    python3 .ci/run_snippets.py FARAD [--python PYTHON] [DOCUMENT ...]

Each document has a fresh folder, in which its blocks are taken in turn:

- A block after a paragraph "`NAME`:" is written to the file NAME.
- Lines of a ```console block that begin with "$ " are run by the shell, with FARAD as `farad` and a `python3`. The lines
  under a command must occur in what it prints (stdout and stderr), in this order. Words must be the same; numbers may differ by
  1 %, or by the percentage in a comment before the block: <!-- tolerance: 5 % -->. A number after "+-" is an error bar, of which the
  size counts: it may differ by a factor of 3. "..." at the end of a line stands for the rest of it, and alone for any lines.
- A command must succeed, unless a comment before the block says: <!-- exit code: 3 -->.
- Other ```python blocks need PYTHON, with the package `farad`; commands that call python3 do not. All blocks of a document are run by one
  interpreter; a ```text block after one is what it prints. Without --python they are skipped, and a line says so.
- A ```rust block must be in the file of this repository that the text before it links to, line by line.
- A block without a language is a drawing. Any other block must be a file.

Only the standard library is needed.
"""

import argparse
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["first-ten-minutes.md", "messages.md", "rust.md", "tutorials/*.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:^|\n\n)`([\w.-]+)`:\n*$")
COMMENT = re.compile(r"<!-- (tolerance|exit code): ([\d.]+)(?: %)? -->")
RUST_FILE = re.compile(r"\]\(([^)]+\.rs)\)")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])")
BAR_FACTOR = 3.0
SECONDS = 120
END = "-- end of block: "
# Runs the blocks that stdin has, one JSON text a line; errors name the document's own lines.
INTERPRETER = f"""
import json, sys, traceback
names = {{"__name__": "__main__"}}
for line in sys.stdin:
    path, code = json.loads(line)
    try:
        exec(compile(code, path, "exec"), names)
        end = "ok"
    except BaseException:
        traceback.print_exc()
        end = "failed"
    sys.stderr.flush()
    print("\\n{END}" + end)
"""


class Wrong(Exception):
    pass


def value(text):
    return float(text.replace(",", ""))


def pieces(line):
    """The words and the numbers of a line: words at even places, blanks counting as one."""
    words = NUMBER.split(line)
    numbers = NUMBER.findall(line)
    plain = [re.sub(r"\s+", " ", word) for word in words]
    return list(itertools.chain.from_iterable(itertools.zip_longest(plain, numbers)))[:-1]


def same(expected, found, tolerance):
    """Whether a line is as expected, but for the last digits."""
    expected, found = expected.strip(), found.strip()
    start = expected.endswith("...")
    ours, theirs = pieces(expected.removesuffix("...").rstrip()), pieces(found)
    if len(ours) > len(theirs) or (len(ours) < len(theirs) and not start):
        return False
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if i % 2 == 0:
            if a != b and not (start and i == len(ours) - 1 and b.startswith(a)):
                return False
        elif ours[i - 1].rstrip().endswith("+-"):
            x, y = value(a), value(b)
            if not (x == y or (y > 0 and 1 / BAR_FACTOR <= x / y <= BAR_FACTOR)):
                return False
        elif not math.isclose(value(a), value(b), rel_tol=tolerance, abs_tol=0.0):
            return False
    return True


def compare(expected, printed, tolerance):
    lines = iter(printed.splitlines())
    for line in expected:
        if line.strip() in ("", "..."):
            continue
        if not any(same(line, found, tolerance) for found in lines):
            raise Wrong(f"nothing in what is printed (after the lines before) is as this line:\n    {line.strip()}\nprinted:\n{textwrap.indent(printed, '    ')}")


def commands(block):
    """Each command with the lines under it."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
        else:
            raise Wrong("the first line of a console block must begin with '$ '")
    return found


def environment(folder, farad):
    """`farad` and `python3` by name, from a folder of links."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "farad").symlink_to(farad)
    (programs / "python3").symlink_to(sys.executable)
    path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "COLUMNS": "120"}


class Document:
    def __init__(self, path, folder, farad, python):
        self.path = path
        self.python = python
        self.text = path.read_text(encoding="utf-8")
        self.environment = environment(folder, farad)
        self.folder = folder / "work"
        self.folder.mkdir()
        self.interpreter = None
        self.skipped = 0
        self.checks = 0

    def run(self):
        before = 0
        blocks = list(FENCE.finditer(self.text))
        for i, match in enumerate(blocks):
            language, content = match.groups()
            lead = self.text[before : match.start()]
            before = match.end()
            name = FILE.search(lead.rstrip() + "\n")
            printed = ""
            if language == "python" and i + 1 < len(blocks) and blocks[i + 1][1] == "text":
                printed = blocks[i + 1][2]
                lead += self.text[match.end() : blocks[i + 1].start()]
            settings = dict(COMMENT.findall(lead))
            tolerance = float(settings.get("tolerance", 1)) / 100
            code = int(settings.get("exit code", 0))
            try:
                if name:
                    (self.folder / name[1]).write_text(content, encoding="utf-8")
                elif language == "console":
                    self.console(content, code, tolerance)
                elif language == "python":
                    self.snippet(self.text[: match.start(2)].count("\n"), content, printed, tolerance)
                elif language == "rust":
                    self.excerpt(lead, content)
                elif language not in ("", "text"):
                    raise Wrong(f"a {language} block must be a file: a line with its name in backquotes and a colon before it")
            except Wrong as wrong:
                line = self.text[: match.start()].count("\n") + 1
                raise Wrong(f"{os.path.relpath(self.path, ROOT)}:{line}: {wrong}") from None

    def close(self):
        if self.interpreter:
            self.interpreter.stdin.close()
            self.interpreter.wait()

    def call(self, command, code):
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                timeout=SECONDS,
                shell=True,
            )
        except subprocess.TimeoutExpired:
            raise Wrong(f"{command} took longer than {SECONDS} s") from None
        if done.returncode != code:
            raise Wrong(f"{command} ended with code {done.returncode} instead of {code}:\n{textwrap.indent(done.stdout, '    ')}")
        return done.stdout

    def console(self, content, code, tolerance):
        for command, expected in commands(content):
            try:
                compare(expected, self.call(command, code), tolerance)
            except Wrong as wrong:
                raise Wrong(f"$ {command}: {wrong}") from None
            self.checks += sum(line.strip() not in ("", "...") for line in expected)

    def snippet(self, line, content, expected, tolerance):
        if not self.python:
            self.skipped += 1
            return
        if not self.interpreter:
            self.interpreter = subprocess.Popen(
                [str(self.python), "-u", "-c", INTERPRETER],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self.interpreter.stdin.write(json.dumps([str(self.path), "\n" * line + content]) + "\n")
        self.interpreter.stdin.flush()
        printed = ""
        for printed_line in self.interpreter.stdout:
            if printed_line.startswith(END):
                break
            printed += printed_line
        if printed_line.strip() != END + "ok":
            raise Wrong(f"the block fails:\n{textwrap.indent(printed, '    ')}")
        compare(expected.splitlines(), printed, tolerance)
        self.checks += max(1, len(expected.splitlines()))

    def excerpt(self, lead, content):
        links = RUST_FILE.findall(lead)
        if not links:
            raise Wrong("a Rust block needs a link to the file that has it, in the text before it")
        source = (self.path.parent / links[-1]).resolve()
        lines = textwrap.dedent(source.read_text(encoding="utf-8")).splitlines()
        lines = [line.strip().removeprefix("//! ") for line in lines]
        lines = [line.strip() for line in lines]
        block = [line.strip() for line in content.strip().splitlines()]
        if not any(lines[i : i + len(block)] == block for i in range(len(lines))):
            raise Wrong(f"the block is not in {source.relative_to(ROOT)}")
        self.checks += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("farad", type=lambda path: Path(path).resolve(strict=True))
    parser.add_argument("--python", type=lambda path: Path(path).absolute(), help="an interpreter that has the package farad")
    parser.add_argument("documents", nargs="*", type=lambda path: Path(path).resolve(strict=True))
    arguments = parser.parse_intermixed_args()
    documents = arguments.documents or [path for pages in PAGES for path in sorted((ROOT / "docs").glob(pages))]
    failed = False
    for path in documents:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            document = Document(path, Path(folder), arguments.farad, arguments.python)
            try:
                document.run()
            except Wrong as wrong:
                print(wrong, file=sys.stderr)
                failed = True
                continue
            finally:
                document.close()
        skipped = f", {document.skipped} Python blocks skipped (no --python)" if document.skipped else ""
        print(f"{os.path.relpath(path, ROOT)}: {document.checks} checks{skipped}, {time.monotonic() - started:.1f} s")
    sys.exit(failed)


if __name__ == "__main__":
    main()
