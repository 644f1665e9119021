"""Makes mistakes in the documents, one at a time, and counts how many .ci/run_snippets.py finds.

    python3 .ci/mutate_snippets.py FARAD [--kind KIND ...] [--every N] [DOCUMENT ...]

| kind | mistake |
|---|---|
| number | a number that a command prints is half as large again (an error bar five times, zero one) |
| word | a letter of a word that a command prints is another |
| option | an option of a command has one letter more |
| key | a key or a table of a case has one letter more |
| text | the same in what the text has in backquotes |
| input | a number of a case or a command is half as large again |

All but `input` must be found: the exit code is 1 if not. Of `input`, numbers that change little may pass. Commands whose past is that
of the documents as they are run once.
"""

import argparse
import functools
import hashlib
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from run_snippets import CODE, COMMENT, KEY, NOT_TEXT, NUMBER, OF_THE_MACHINE, OPTION, PAGES, ROOT, STEP, Document, Program, Wrong, value

MUST = ["number", "word", "option", "key", "text"]
WORD = re.compile(r"[A-Za-z]{4,}")
TABLE_OR_KEY = re.compile(r"^(?:\[+(?P<table>\w+)\]+|(?P<key>\w+) = )", re.MULTILINE)


class Remembered(Document):
    """A document whose commands are not run if they, and all before them, have been run already."""

    past = {}  # what was printed, or what was wrong, by everything up to a command
    store = None

    def __init__(self, path, folder, program, text):
        super().__init__(path, folder, program, None)
        self.text = text
        self.history = hashlib.sha256(str(path).encode())
        self.behind = None  # the history whose folder is to be restored before something is run
        self.pending = []  # what has been written since

    def note(self, *what):
        self.history.update("\0".join(map(str, what)).encode())

    def restore(self):
        if self.behind:
            shutil.rmtree(self.folder)
            shutil.copytree(self.store / self.behind, self.folder, symlinks=True)
            self.behind = None
            for step in self.pending:
                step()

    def later(self, step):
        if self.behind:
            self.pending.append(step)
        else:
            step()

    def prepare(self, kind, rest):
        if kind == "copy":
            self.note(kind, rest)
            self.later(functools.partial(super().prepare, kind, rest))
        else:
            super().prepare(kind, rest)

    def write(self, name, content):
        self.note(name, content)
        self.written[name] = content
        self.later(functools.partial(super().write, name, content))

    def call(self, command, code):
        self.note(command, code)
        key = self.history.hexdigest()
        if key not in self.past:
            self.restore()
            try:
                self.past[key] = super().call(command, code), None
            except Wrong as wrong:
                self.past[key] = None, wrong
            else:
                shutil.copytree(self.folder, self.store / key, symlinks=True)
        else:
            self.behind = key
            self.pending.clear()
        printed, wrong = self.past[key]
        if wrong:
            raise wrong
        return printed


class Quick(Program):
    @functools.lru_cache(maxsize=None)
    def ask(self, arguments):
        return super().help(list(arguments))

    def help(self, arguments):
        return self.ask(tuple(arguments))



def other(text):
    return text[:-1] + ("b" if text[-1] == "a" else "a")


def larger(text, factor):
    number = value(text)
    return f"{number * factor:.6g}" if number else "1"


def mistakes(text):
    """Places, what is there, what is written instead, and the kind of the mistake."""
    before = 0
    for match in STEP.finditer(text):
        settings = dict(COMMENT.findall(text[before : match.start()]))
        before = match.end()
        start, content = match.start("content"), match["content"]
        if match["language"] == "toml":
            for found in TABLE_OR_KEY.finditer(content):
                name = "table" if found["table"] else "key"
                yield start + found.start(name), found[name], found[name] + "x", "key"
            for found in re.finditer(r"(?<==) *(-?\d[\w.-]*)$", content, re.MULTILINE):
                yield start + found.start(1), found[1], larger(found[1], 1.5), "input"
        if match["language"] != "console":
            continue
        for line in re.finditer(r"^.*$", content, re.MULTILINE):
            at = start + line.start()
            if line[0].startswith("$ "):
                if " farad " in line[0]:
                    call = line[0].index(" farad ")
                    for found in OPTION.finditer(line[0].split(" | ")[0], call):
                        yield at + found.start(), found[0], found[0] + "x", "option"
                    if "needs" not in settings:
                        for found in re.finditer(r"(?<= )\d[\d.e-]*(?= |$)", line[0][call:]):
                            yield at + call + found.start(), found[0], larger(found[0], 1.5), "input"
            elif "needs" not in settings and line[0].strip() not in ("", "..."):
                for found in NUMBER.finditer(line[0]):
                    if not OF_THE_MACHINE.match(line[0], found.end()):
                        bar = line[0][: found.start()].rstrip().endswith("+-")
                        yield at + found.start(), found[0], larger(found[0], 5 if bar else 1.5), "number"
                for found in WORD.finditer(line[0]):
                    yield at + found.start(), found[0], other(found[0]), "word"
    plain = NOT_TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for code in CODE.finditer(plain):
        for found in OPTION.finditer(code[1]):
            yield code.start(1) + found.start(), found[0], found[0] + "x", "text"
        key = KEY.match(code[1])
        if key:
            yield code.start(1), key[1], key[1] + "x", "text"


def passes(path, program, text):
    with tempfile.TemporaryDirectory() as folder:
        try:
            Remembered(path, Path(folder), program, text).run()
        except Wrong:
            return False
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("farad", type=lambda path: Path(path).resolve(strict=True))
    parser.add_argument("--kind", action="append", choices=[*MUST, "input"])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth mistake alone")
    parser.add_argument("documents", nargs="*", type=lambda path: Path(path).resolve(strict=True))
    arguments = parser.parse_intermixed_args()
    documents = arguments.documents or [path for pages in PAGES for path in sorted(ROOT.glob(pages))]
    program = Quick(arguments.farad)
    made, found = Counter(), Counter()
    with tempfile.TemporaryDirectory() as store:
        Remembered.store = Path(store)
        for path in documents:
            text = path.read_text(encoding="utf-8")
            if not passes(path, program, text):
                sys.exit(f"{path}: fails as it is; see .ci/run_snippets.py")
            wanted = arguments.kind or MUST
            some = [mistake for mistake in mistakes(text) if mistake[3] in wanted][:: arguments.every]
            for place, old, new, kind in some:
                made[kind] += 1
                if passes(path, program, text[:place] + new + text[place + len(old) :]):
                    line = text[:place].count("\n") + 1
                    print(f"{path.relative_to(ROOT)}:{line}: {new} for {old} is not found ({kind})", flush=True)
                else:
                    found[kind] += 1
            Remembered.past.clear()
            for folder in Path(store).iterdir():
                shutil.rmtree(folder)
    for kind in made:
        print(f"{kind}: {found[kind]} of {made[kind]} found")
    sys.exit(any(found[kind] < made[kind] for kind in MUST))


if __name__ == "__main__":
    main()
