"""Runs what PAGES tell the reader to do, and compares what is printed.

    python3 .ci/run_snippets.py FARAD [--python PYTHON] [DOCUMENT ...]

Each document has a fresh folder, in which its blocks are taken in turn:

- A block after a paragraph "`NAME`:" is written to the file NAME.
- Lines of a ```console block that begin with "$ " are run by the shell, with FARAD as `farad` (and as `cargo run --release --`) and a
  `python3`. The lines under a command must occur in what it prints (stdout and stderr), in this order. Words must be the same; numbers
  may differ by 1 %, or by the percentage in a comment before the block: <!-- tolerance: 5 % -->. A number after "+-" is an error bar, of
  which the size counts: it may differ by a factor of 3. Times, memory and threads (numbers before s, MiB and so on) may be any.
  "..." at the end of a line stands for the rest of it, and alone for any lines.
- A command must succeed, unless a comment before the block says: <!-- exit code: 3 -->.
- A ```toml block after <!-- part of: CASE --> has tables of a case: with those of the file CASE that it does not have itself it must be a
  case for `farad solve --dry-run`. <!-- part of: CASE as NAME --> also writes that to the file NAME.
- What a machine with no more than FARAD cannot run has a comment that says what it needs: <!-- needs: MPI -->. Of its commands `farad`
  must know each option and value. <!-- needs: python --> is run if there is PYTHON.
- What readers have already, or need not see: <!-- copy: FROM TO --> copies from this repository, <!-- file: NAME, a new line, and the
  content up to --> is written to a file, and <!-- run: COMMAND --> is run.
- Other ```python blocks need PYTHON, with the package `farad`; commands that call python3 do not. All blocks of a document are run by one
  interpreter; a ```text block after one is what it prints. Without --python they are skipped, and a line says so.
- A ```rust block must be in the file of this repository that the text before it links to, line by line.
- A block without a language is a drawing. Any other block must be a file. Commands in indented blocks are errors.

In the text, options in backquotes must be those of `farad` (or OTHER_OPTIONS), and keys and tables those that docs/case-file.md and the
user guide list.

Only the standard library is needed.
"""

import argparse
import itertools
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md"] + [
    f"docs/{name}.md"
    for name in (
        "first-ten-minutes user-guide features case-file results report clusters reliability messages rust tutorials/*".split()
    )
]
# A block, or a comment that does something.
STEP = re.compile(
    r"^```(?P<language>\w*)\n(?P<content>.*?)^```$|^<!-- (?P<kind>copy|file|run): (?P<rest>.*?)-->$",
    re.MULTILINE | re.DOTALL,
)
FILE = re.compile(r"(?:^|\n\n)`([\w.-]+)`:\n*(?:<!-- [^\n]* -->\n*)*$")
COMMENT = re.compile(r"<!-- (tolerance|exit code|part of|needs): (.+?) -->")
RUST_FILE = re.compile(r"\]\(([^)]+\.rs)\)")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])")
OF_THE_MACHINE = re.compile(r" (s|ms|KiB|MiB|GiB|threads?)\b")
INDENTED = re.compile(r"^    (?:\$ )?(?:farad (?=[-a-z])|(?:cargo|mpirun|gmsh|python3?|pvpython|docker|apptainer|\S*/run) ).*$", re.MULTILINE)
NOT_TEXT = re.compile(r"^```.*?^```$|<!--.*?-->", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
KEY = re.compile(r"^([a-z_.]+) = \S")
TABLE = re.compile(r"^\[+([a-z_]+)\]+$")
KEY_ROW = re.compile(r"^\| ((?:`[^`]+`(?:, )?)+) \|", re.MULTILINE)
HEADER = re.compile(r"^(\[+[^\]]+\]+)", re.MULTILINE)
# Those of MPI's launchers, SLURM, containers, cargo, PDB2PQR and so on.
OTHER_OPTIONS = set(
    """--bind-to --build-arg --cpu-bind --cpus-per-task --distribution --ff --gpus-per-task --host --features --hint --ignored --kill-on-bad-exit --locked
    --manifest-path --mca --mpi --nocapture --nv --open --path --release --shm-size --signal --test""".split()
)
# Tables of a stack file, which are not in a section of their own.
STACK_TABLES = {"metal", "via"}
CARGO = """#!/bin/sh
case "$1 $2 $3" in
"run --release --") shift 3 && exec farad "$@" ;;
esac
echo "only 'cargo run --release --' is here: $*" >&2
exit 101
"""
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
        elif i + 1 < len(theirs) and OF_THE_MACHINE.match(theirs[i + 1]):
            continue
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
    """`farad`, `cargo` and `python3` by name, from a folder of links."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "farad").symlink_to(farad)
    (programs / "python3").symlink_to(sys.executable)
    (programs / "cargo").write_text(CARGO, encoding="utf-8")
    (programs / "cargo").chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "COLUMNS": "120"}


def joined(case, part):
    """A case file with the tables of `part`; tables that both have, other than arrays, are those of `part`."""

    def tables(text):
        pieces = HEADER.split(text)
        return pieces[0], list(zip(pieces[1::2], pieces[2::2]))

    top, old = tables(case)
    part_top, new = tables(part)
    names = {name for name, _ in new}
    kept = [name + rest for name, rest in old if name not in names or name.startswith("[[")]
    return "".join([top, part_top, *kept, "\n", *(name + rest for name, rest in new)])


def calls_of_farad(text):
    """The arguments of each call of farad in lines for a shell."""
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:2] in (["docker", "build"], ["docker", "save"]):
            continue
        while "farad" in words:
            words = words[words.index("farad") + 1 :]
            end = next((i for i, word in enumerate(words) if re.match(r"[|;&<>]|\.\.\.$", word)), len(words))
            if words[0] != "mpirun":  # farad may be the name of an image, too
                yield words[:end]


class Program:
    """What `farad` knows."""

    def __init__(self, path):
        self.path = path
        self.options = set()
        self.read_help([])
        tables = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("case-file.md", "user-guide.md"))
        self.keys = {key for row in KEY_ROW.findall(tables) for key in re.findall(r"`([^`]+)`", row)}
        self.tables = {name.strip("[]") for name in re.findall(r"^#* ?`(\[+\w+\]+)`", tables, re.MULTILINE)} | STACK_TABLES

    def help(self, arguments):
        return subprocess.run([self.path, *arguments, "--help"], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def read_help(self, command):
        text = self.help(command).stdout
        self.options |= set(OPTION.findall(text))
        for name in re.findall(r"^  ([a-z][\w-]*)(?:  |$)", text.partition("Commands:\n")[2].partition("\n\n")[0], re.MULTILINE):
            if name not in ("help", "fastercap", "fastcap"):
                self.read_help([*command, name])

    def parses(self, text):
        """Options and values are read before --help is, so that wrong ones are errors. Returns how many calls there are."""
        calls = list(calls_of_farad(text))
        for arguments in calls:
            done = self.help(arguments)
            if done.returncode != 0:
                raise Wrong(f"farad {shlex.join(arguments)}:\n{textwrap.indent(done.stderr, '    ')}")
        return len(calls)

    def knows(self, code):
        """Whether options, keys and tables that the text names in backquotes exist."""
        if code.startswith("farad ") or " farad " in code:
            self.parses(code)
            return
        for option in OPTION.findall(code):
            if option not in self.options | OTHER_OPTIONS:
                raise Wrong(f"farad has no option {option}")
        key = KEY.match(code)
        if key and not (key[1] in self.keys or key[1].split(".")[-1] in self.keys):
            raise Wrong(f"no table lists the key {key[1]}")
        table = TABLE.match(code)
        if table and table[1] not in self.tables:
            raise Wrong(f"there is no table [{table[1]}]")


class Document:
    def __init__(self, path, folder, program, python):
        self.path = path
        self.python = python
        self.program = program
        self.text = path.read_text(encoding="utf-8")
        self.environment = environment(folder, program.path)
        self.folder = folder / "work"
        self.folder.mkdir()
        self.interpreter = None
        self.written = {}  # files of blocks
        self.skipped = 0
        self.unrun = 0
        self.checks = 0

    def at(self, place, step, *arguments):
        """Does a step; what is wrong gets the line of the document."""
        try:
            step(*arguments)
        except Wrong as wrong:
            line = self.text[:place].count("\n") + 1
            raise Wrong(f"{os.path.relpath(self.path, ROOT)}:{line}: {wrong}") from None

    def run(self):
        self.check_text()
        before = 0
        steps = list(STEP.finditer(self.text))
        for i, match in enumerate(steps):
            lead = self.text[before : match.start()]
            before = match.end()
            if match["kind"]:
                self.at(match.start(), self.prepare, match["kind"], match["rest"])
                continue
            printed = ""
            if match["language"] == "python" and i + 1 < len(steps) and steps[i + 1]["language"] == "text":
                printed = steps[i + 1]["content"]
                lead += self.text[match.end() : steps[i + 1].start()]
            self.at(match.start(), self.block, match, lead, printed)

    def check_text(self):
        """Everything outside of blocks."""
        text = NOT_TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.text)

        def no_command(line):
            raise Wrong(f"commands belong in console blocks: {line.strip()}")

        for match in INDENTED.finditer(text):
            self.at(match.start(), no_command, match[0])
        for match in CODE.finditer(text):
            self.at(match.start(), self.program.knows, match[1])

    def prepare(self, kind, rest):
        if kind == "run":
            self.call(rest.strip(), 0)
        elif kind == "file":
            name, content = rest.split("\n", 1)
            self.write(name, content)
        else:
            source, target = rest.split()
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, self.folder / target, ignore=shutil.ignore_patterns("*.out"))
            else:
                shutil.copy(ROOT / source, self.folder / target)

    def write(self, name, content):
        self.written[name] = content
        (self.folder / name).write_text(content, encoding="utf-8")

    def block(self, match, lead, printed):
        language, content = match["language"], match["content"]
        name = FILE.search(lead.rstrip() + "\n")
        settings = dict(COMMENT.findall(lead))
        tolerance = float(settings.get("tolerance", "1").removesuffix("%")) / 100
        code = int(settings.get("exit code", 0))
        if "part of" in settings:
            self.part(settings["part of"], content)
        elif name:
            self.write(name[1], content)
        elif "needs" in settings and not (settings["needs"] == "python" and self.python):
            lines = content.replace("\\\n", " ").splitlines()
            if language == "console":
                lines = [line[2:] for line in lines if line.startswith("$ ")]
            self.checks += self.program.parses("\n".join(lines))
            for path in re.findall(r"^cargo .*(?:--path|--manifest-path) (\S+)", "\n".join(lines), re.MULTILINE):
                self.exists(path)
            for name in re.findall(r"^cargo .*--example (\S+)", "\n".join(lines), re.MULTILINE):
                self.exists(f"crates/*/examples/{name}.rs")
            self.unrun += 1
        elif language == "console":
            self.console(content, code, tolerance)
        elif language == "python":
            self.snippet(self.text[: match.start("content")].count("\n"), content, printed, tolerance)
        elif language == "rust":
            self.excerpt(lead, content)
        elif language not in ("", "text"):
            raise Wrong(f"a {language} block must be a file: a line with its name in backquotes and a colon before it")

    def exists(self, pattern):
        if not any(ROOT.glob(pattern)):
            raise Wrong(f"there is no {pattern} in this repository")
        self.checks += 1

    def part(self, of, content):
        base, _, name = of.partition(" as ")
        name = name or "part.toml"
        if base not in self.written:
            raise Wrong(f"no block before this one is the file {base}")
        self.write(name, joined(self.written[base], content))
        self.call(f"farad solve {name} --dry-run", 0)
        self.checks += 1

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
        lines = [line.strip().removeprefix("//! ").removeprefix("/// ") for line in lines]
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
    documents = arguments.documents or [path for pages in PAGES for path in sorted(ROOT.glob(pages))]
    program = Program(arguments.farad)
    failed = False
    for path in documents:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            document = Document(path, Path(folder), program, arguments.python)
            try:
                document.run()
            except Wrong as wrong:
                print(wrong, file=sys.stderr)
                failed = True
                continue
            finally:
                document.close()
        unrun = f", {document.unrun} blocks parsed only" if document.unrun else ""
        skipped = f", {document.skipped} Python blocks skipped (no --python)" if document.skipped else ""
        print(f"{os.path.relpath(path, ROOT)}: {document.checks} checks{unrun}{skipped}, {time.monotonic() - started:.1f} s")
    sys.exit(failed)


if __name__ == "__main__":
    main()
