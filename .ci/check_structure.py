"""Counts what makes code hard to follow, in crates/*/src: modules that import each other in a circle, functions whose parameters are tuples,
and files of more than 500 lines. Fails if there is more of it than ARCHITECTURE.md allows; `--list` shows where.
"""

import re
import sys
from pathlib import Path

CRATES = Path(__file__).resolve().parent.parent / "crates"

MOST_IN_CIRCLE = 3  # files, all of them in one folder
MOST_WITH_TUPLES = 10  # functions
MOST_LINES = 500  # of a file
# Files of one subject that are longer, each with the reason.
LONG = {
}

# Comments, strings and characters, in this order where several begin at one place.
BLANKED = re.compile(r"""//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']*|[^\\'])'""", re.DOTALL)


def code_of(path):
    """A source without comments, strings and modules of tests; places stay where they are."""
    text = BLANKED.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), path.read_text(encoding="utf-8"))
    for found in re.finditer(r"#\[cfg\((?:all\()?test[^\]]*\]\s*(?:pub\S*\s+)?mod\s+\w+\s*\{", text):
        text = text[: found.start()] + re.sub(r"[^\n]", " ", text[found.start() : closing(text, found.end())]) + text[closing(text, found.end()) :]
    return text


def closing(text, start):
    """The place after the bracket that closes the one before `start`."""
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place + 1
    return len(text)


def parts_of(text):
    """What commas separate, outside of brackets."""
    depth, part, parts = 0, "", []
    for character in text.replace("->", "  "):
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    return [part for part in [*parts, part.strip()] if part]


def paths_of(tree):
    """The paths that `use` names with a tree such as a::{b, c::d}."""
    for branch in parts_of(tree):
        head, brace, rest = branch.partition("{")
        names = [name.strip() for name in head.split(" as ")[0].split("::") if name.strip()]
        if brace:
            yield from ([*names, *path] for path in paths_of(rest[: rest.rfind("}")]))
        else:
            yield names


def module_of(file):
    names = file.with_suffix("").parts
    return names[:-1] if names[-1] in ("mod", "lib", "main") else names


def imports_of(module, code, modules):
    """The modules of the crate that one uses; what mod.rs and lib.rs pass on does not count."""
    paths = [path for found in re.finditer(r"\buse\s+([^;]+);", code) for path in paths_of(found.group(1))]
    paths += [found.group().split("::") for found in re.finditer(r"\b(?:crate|super|self)(?:::\w+)+", code)]
    for path in paths:
        if path[0] == "crate":
            place = tuple(path[1:])
        elif path[0] in ("super", "self"):
            ups = sum(name == "super" for name in path)
            place = (*module[: len(module) - ups], *(name for name in path if name not in ("super", "self")))
        elif (*module, path[0]) in modules:
            place = (*module, *path)
        else:
            continue
        used = next(place[:length] for length in range(len(place), -1, -1) if place[:length] in modules)
        if used != module:
            yield used


def reachable(graph, start):
    seen, waiting = set(), [start]
    while waiting:
        for following in graph[waiting.pop()]:
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return seen


def circles_of(crate):
    """Sets of modules of a crate each of which leads to all others by imports."""
    source = crate / "src"
    files = {module_of(file.relative_to(source)): file for file in source.rglob("*.rs")}
    graph = {}
    for module, file in files.items():
        code = code_of(file)
        if file.name in ("mod.rs", "lib.rs"):
            code = re.sub(r"\bpub(\(\w+\))?\s+use[^;]*;", "", code)
        graph[module] = set(imports_of(module, code, files))
    leads_to = {module: reachable(graph, module) for module in graph}
    circles = {frozenset([a, *(b for b in leads_to[a] if a in leads_to[b])]) for a in graph if a in leads_to[a]}
    return [sorted("/".join(module) or "lib" for module in circle) for circle in circles]


def with_tuples(file):
    """Functions of a file that take a tuple, with their lines."""
    code = code_of(file)
    for found in re.finditer(r"\bfn\s+\w+(?:<[^(]*>)?\s*\(", code):
        parameters = parts_of(code[found.end() : closing(code, found.end()) - 1])
        if any(re.search(r":\s*&?\((?!impl\b|dyn\b)", parameter) for parameter in parameters):
            yield code.count("\n", 0, found.start()) + 1, found.group().split("(")[0]


def main():
    faults, listed = [], "--list" in sys.argv
    crates = sorted(folder for folder in CRATES.iterdir() if (folder / "src").is_dir())
    for crate in crates:
        for circle in circles_of(crate):
            folders = {name.rpartition("/")[0] for name in circle}
            within = len(folders) == 1 or any(all(name == owner or name.startswith(f"{owner}/") for name in circle) for owner in circle)
            if len(circle) > MOST_IN_CIRCLE or not within:
                faults.append(f"{crate.name}: these import each other in a circle: {', '.join(circle)}")
            elif listed:
                print(f"{crate.name}: circle: {', '.join(circle)}")
    files = [file for crate in crates for file in sorted((crate / "src").rglob("*.rs"))]
    tuples = [(file.relative_to(CRATES), *found) for file in files for found in with_tuples(file)]
    if listed:
        print("\n".join(f"{file}:{line}: {name} takes a tuple" for file, line, name in tuples))
    if len(tuples) > MOST_WITH_TUPLES:
        faults.append(f"{len(tuples)} functions take tuples, more than {MOST_WITH_TUPLES}: name their values in a struct (--list shows them)")
    for file in files:
        name, lines = str(file.relative_to(CRATES)), file.read_text(encoding="utf-8").count("\n")
        if (lines > MOST_LINES) != (name in LONG):
            faults.append(f"{name} has {lines} lines: {'split it' if lines > MOST_LINES else 'take it from the list of long files'}")
    if faults:
        sys.exit("\n".join(faults))
    print(f"structure: {len(tuples)} functions take tuples, {len(LONG)} files have more than {MOST_LINES} lines")


main()
