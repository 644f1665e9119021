"""Makes docs/messages-reference.md: every error, warning and note in the sources, and the test that provokes it.

    python3 .ci/messages.py [--check]

A text is a message by where it stands: in `#[error("...")]`, in a call that makes a failure, a fault of a file or a note (SINKS), or in
a variable that such a call takes (BINDINGS). Texts that only fill the place of another one are part of that. With --check
nothing is written; it fails where the page is not what it would be, and where a message has neither a test nor a reason in UNTESTED.

A test provokes a message when it asserts some of its words (at least LEAST characters; anything may stand for a placeholder), or names
the variant of the error type. Tests of a crate and of those that depend on it count, and pages that .ci/run_snippets.py runs.

Only the standard library is needed.
"""

import argparse
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/messages-reference.md"
LEAST = 12  # characters of a message that a test must assert
LEAST_NEAR = 8  # the same of tests in the message's own file

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<raw>b?r(?P<hashes>\#*)".*?"(?P=hashes))|(?P<string>[bc]?"(?:[^"\\]|\\.)*")"""
    r"""|(?P<char>b?'(?:[^'\\\n]|\\(?:x..|u\{[^}]*\}|.))')|(?P<lifetime>'\w+)|(?P<word>[A-Za-z_]\w*!?(?!=)|\w+)|(?P<mark>::|->|=>|[^\s\w])""",
    re.DOTALL | re.VERBOSE,
)
PLACEHOLDER = re.compile(r"\{[^{}]*\}")

# What a call makes of its arguments: (end of its name, number of the argument, role).
SINKS = [
    (r"Failure::new|(Failure|Self)::with_help", 1, "error"),
    (r"(Failure|Self)::with_help", 2, "help"),
    (r"Defect::new", 2, "error"),
    (r"help", 0, "help"),
    (r"Err|ok_or|ok_or_else|map_err|defect|missing|Failure::input|(Cause|Error)::Other|Error::Accuracy", 0, "error"),
    (r"invalid|wrong|fault|not_a_case|unwritable|refused|Py\w+Error::new_err", None, "error"),
    (r"self\.error|text\.error", 1, "error"),
    (r"report", 0, "error"),
    (r"report", 1, "help"),
    (r"required", 3, "help"),
    (r"note|notes\.push|remarks\.push|warnings\.push", 0, "note"),
    (r"request\.remark", 1, "note"),
]
SINKS = [(re.compile(rf"(^|[.:])({name})$"), argument, role) for name, argument, role in SINKS]
# What a variable is whose name says so.
BINDINGS = {"message": "error", "why": "error", "reason": "error", "help": "help", "note": "note", "notes": "note"}
# What functions return, where the texts are those that match.
RETURNED = [
    ("crates/cli/src/case/diagnostics.rs", "counted", "in the case file", "error"),
    ("crates/cli/src/case/foreign.rs", "", "^it ", "error"),
    ("crates/cli/src/case/foreign.rs", "by_content", "^it ", "error"),
    ("crates/cli/src/commands/study/tables.rs", "remark", "estimate|change", "note"),
    ("crates/cli/src/report/results/table/mod.rs", "heading", "[A-Z]{4}", "note"),
    ("crates/cli/src/machine/backend.rs", "use_threads_among", "", "note"),
    ("crates/cli/src/terminal/exit.rs", "interrupted", "", "error"),
    ("crates/farad/src/problem/place_fault.rs", "of", "", "error"),
    ("crates/mesh/src/wording.rs", "note_split", "^quadrangles", "note"),
    ("crates/mesh/src/io/gmsh/content.rs", "note_torn", "^ ", "note"),
    ("crates/mesh/src/io/gmsh/faces.rs", "note_opposed", "^ ", "note"),
    ("crates/mesh/src/repair/report.rs", "fmt", "has one|have (?!curved)|no triangle is|lie on others$|pairs of triangles|^triangles face$|is open", "error"),
]
# Calls that hand on what they are given; of "1 thing" and "2 things" the second is shown.
TRANSPARENT = re.compile(r"^$|(^|::|\.)(format!|Some|Ok|into|to_owned|printable|vec!|String::from|Cow::Borrowed|counted)$")

# Tests, and what has neither messages nor tests: it writes pages and files.
TEST = re.compile(r"(^|/)tests?[/.]|/testing\.rs$")
OTHER = re.compile(r"/fuzzing\.rs$|^crates/samples/|^crates/report/src/")
EXITS = {"Success": "0", "Usage": "2", "BadInput": "3", "NotConverged": "4", "Memory": "5", "Io": "6", "Interrupted": "7", "NoGpu": "8"}
# Exceptions of Python, by python/src/error.rs.
EXCEPTIONS = {
    "Input": "InputError",
    "Memory": "OutOfMemoryError",
    "File": "FileError",
    "NoGpu": "NoGpuError",
    "Internal": "InternalError",
    "Interrupted": "KeyboardInterrupt",
}
# Where a message does not say its own: by its file and variant.
USUAL_EXITS = [
    (r" (Memory|OutOfMemory|GpuMemory|Probes)$", "5"),
    (r" Interrupted$", "7"),
    (r" (Option|Ions)$|^crates/simd/|^crates/cli/src/commands/", "2"),
    (r"^crates/cuda/", "8"),
    (r"^crates/(comm|processes)/", "6"),
    (r"^crates/farad/src/analysis/(checks|near_surface|salt)\.rs", "0 or 4"),
    (r"^python/", "InputError"),
    ("", "3"),
]
# Whose tests may provoke a crate's messages too.
DEPENDENTS = {
    "simd": ("fmm", "fgt", "bem", "farad", "formats", "cli"),
    "comm": ("processes", "fmm", "bem", "farad", "formats", "cli"),
    "cuda": ("fmm", "fgt", "bem", "farad", "formats", "cli"),
    "fmm": ("bem", "farad", "formats", "cli"),
    "fgt": ("cli",),
    "mesh": ("surface", "bem", "farad", "formats", "cli"),
    "surface": ("cli",),
    "bem": ("farad", "formats", "cli"),
    "farad": ("formats", "cli"),
    "formats": ("report", "cli"),
    "report": ("cli",),
    "processes": ("cli",),
}
GPU = "needs a GPU or driver that is wrong"
HUGE = "needs more than fits into a machine's memory"
RANKS = "needs MPI, or processes that differ"
SYSTEM = "needs a system that refuses"
MOMENT = "needs an end at a moment that no test can choose"
ROUNDING = "depends on rounding; `bem` tests the reasons"
STUDIES = "depends on numbers; `bem` tests these verdicts"
FAILED = "needs a fault of the solver"
LONG = "takes a long solve"
LAYERS = "no layers are known that are that hard"
FAULT = "needs a fault of the library that none is known of"
SURFACES = "no atoms are known whose surface is that"
# Beginnings of messages that no test provokes, and why.
UNTESTED = {
    "no NVIDIA driver": GPU,
    "the NVIDIA driver is too old": GPU,
    "no GPU {index}": GPU,
    "GPU {index} ({name}) is too old": GPU,
    "no CUDA run-time compiler": GPU,
    "the CUDA run-time compiler rejects": GPU,
    "the GPU failed in": GPU,
    "no GPU for --gpus all": GPU,
    "sums of Gaussians run on cores or on a GPU": GPU,
    "too many distinct translation vectors": HUGE,
    "{pairs} pairs of boxes": HUGE,
    "{count} {what}s are more than": HUGE,
    "there are more {0} than 32-bit": HUGE,
    "the mesh has too many sets": HUGE,
    "next to the point charges": HUGE,
    "{ranks} processes of farad": RANKS,
    "{idle} of {ranks} processes": RANKS,
    "--gpus is for one process": RANKS,
    "{size} processes were started together, but MPI": RANKS,
    "this is {version}, rank 0 is": RANKS,
    "{what} here is not that of rank 0": RANKS,
    "{} of rank 0 is not seen here": RANKS,
    "a message from another rank": RANKS,
    "the mesh here is not that of rank 0": RANKS,
    "a solve with ions has one excitation": RANKS,
    "MPI has been started before": RANKS,
    "this MPI library does not serve threads": RANKS,
    "no GPU was asked for": "--gpus takes no fewer than one",
    "cannot start {count} threads": SYSTEM,
    "the checkpoint in {} cannot be written any more": SYSTEM,
    "{error}; the new results are complete in": SYSTEM,
    "interrupted; finished molecules are written": MOMENT,
    "{}, as found before": MOMENT,
    "{this}, as found before": MOMENT,
    "{count} of {all} were found before": MOMENT,
    "restarts no longer lowered": ROUNDING,
    "the Krylov space was exhausted": ROUNDING,
    "a NaN or infinity appeared": ROUNDING,
    "it converged": "solves that converged are not listed",
    "unknown distribution": "other names are refused before",
    "unknown word": "other words are refused before",
    "{images} images leave an error": "is put into other words before it is shown",
    "no estimate": STUDIES,
    "the results on the last mesh fail": FAILED,
    "the results of {} of {} fail": FAILED,
    "the error is {error:.1e}, the tolerance": FAILED,
    "the solve did not converge, or its": FAILED,
    "the solver did not converge on the coarser": FAILED,
    "the solve on the next mesh": FAILED,
    "the next mesh cannot be solved on": FAILED,
    "the error bars no longer shrink": FAILED,
    "an entry is zero within its error bar": LONG,
    "{worst} is zero within its error bar": LONG,
    "images of the changed layers": LAYERS,
    "the effect of layers on a charge": LAYERS,
    "in {file}, made curved by [mesh] smooth": "needs bodies closer than their triangles are bent; the fault itself has tests",
    "the surface of this molecule is not seen": SURFACES,
    "no part of the surface is large enough": SURFACES,
    "{name}: parts of the surface too small": SURFACES,
    "threads cannot be started": SYSTEM,
    "no thread can be started": SYSTEM,
    "a mesh has less than 2^32": HUGE,
    "the library failed, which is a fault of it": FAULT,
    "the library's thread ended without a word": FAULT,
}
PREFACE = """# All messages

Every error, warning and note that Farad can print, as the sources have them: `{...}` stands for what is filled in. [Messages](messages.md) explains
the most frequent ones. The last column has a test that provokes the message, found by the words that it asserts, or the reason why none does. Self-checks
are warnings (exit code 0) up to ten times their bound, and errors (4) beyond; for Python the exception stands in place of the exit code. Parts of
other messages have rows of their own. This page is made of the sources by `.ci/messages.py`."""
SUBJECTS = [
    ("Case file", "crates/cli/src/case/"),
    ("The problem", "crates/farad/src/(problem|refine|series)/"),
    ("Self-checks", "crates/farad/src/analysis/(checks|near_surface|salt)|crates/cli/src/report/warnings"),
    ("Meshes: files", "crates/mesh/src/io/(files|gmsh)"),
    ("Meshes: surfaces", "crates/mesh/"),
    ("FastCap's files", "crates/formats/src/fastcap/|crates/mesh/src/io/fastcap/|crates/cli/src/commands/(fastercap|import)"),
    ("Layouts", "crates/formats/src/layout/"),
    ("Molecules", "crates/surface/|crates/formats/src/pqr|crates/cli/src/(molecules|commands/(surface|batch))"),
    ("Commands", "crates/cli/src/(commands|surfaces|lib|files|paths|words)"),
    ("Results and their folder", "crates/cli/src/report/"),
    ("The machine", "crates/cli/src/(machine|terminal)|crates/simd/"),
    ("The solver", "crates/(bem|farad)/"),
    ("Sums", "crates/(fmm|fgt)/"),
    ("GPUs", "crates/cuda/"),
    ("Ranks", "crates/(comm|processes)/"),
    ("Python", "python/"),
]


def rust_tokens(text):
    found = []
    for match in TOKEN.finditer(text):
        kind = match.lastgroup if match.lastgroup != "hashes" else "raw"
        if kind != "comment":
            found.append((kind, match[0]))
    return found


def value(kind, token):
    """What a string literal of Rust stands for."""
    if kind == "raw":
        return token[token.index('"') + 1 : token.rindex('"')]
    text = re.sub(r"\\\n\s*", "", token[token.index('"') + 1 : -1])
    escapes = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
    return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[0]), text)


class Frame:
    """An open bracket: the call that it belongs to, how far its arguments are, and the statement inside."""

    def __init__(self, head, mark, start, is_function=False):
        self.head, self.mark, self.start, self.is_function = head, mark, start, is_function
        self.argument = self.texts = 0
        self.statement = []

    def bound(self):
        """The names of the variables that the statement is the value of."""
        if self.statement[:1] == ["let"] and "=" in self.statement:
            return [word for word in self.statement[1 : self.statement.index("=")] if word.isidentifier() and word != "mut"]
        return []


def head_of(tokens, at):
    """The path before an open bracket: `Failure::new`, `.help`, `format!`."""
    name = ""
    while at > 0:
        kind, token = tokens[at - 1]
        if not (kind == "word" and name[:1] in ("", ".", ":") or token in ("::", ".") and name):
            break
        name = token + name
        at -= 1
    return "" if name in ("if", "match", "in", "return", "else", "for", "while", "move") else name


def rust_texts(text):
    """Each string literal: its words, the open brackets around it, the function that it is in, the type, the tokens and its place."""
    tokens = rust_tokens(text)
    frames = [Frame("", "{", 0)]
    function = item = ""
    for at, (kind, token) in enumerate(tokens):
        frame = frames[-1]
        if kind in ("string", "raw"):
            frame.texts += 1
            if token[0] not in "bc":
                yield value(kind, token), frames, function, item, tokens, at
        elif token in "([{":
            head = head_of(tokens, at)
            if token == "{" and not head.split("::")[-1][:1].isupper():
                head = ""
            frames.append(Frame(head, token, at, token == "{" and "fn" in frame.statement))
        elif token in ")]}":
            if len(frames) > 1:
                inner = frames.pop()
                if frames[-1].statement[:1] == ["let"] and "=" not in frames[-1].statement:
                    frames[-1].statement += inner.statement
            if token == "}" and frames[-1].statement[:1] != ["let"]:
                frames[-1].statement = []
        elif token == ";":
            frame.statement = []
        else:
            if token == ",":
                frame.argument += 1
            if tokens[at - 1][1] == "fn":
                function = token
            if tokens[at - 1][1] in ("enum", "struct"):
                item = token
            frame.statement.append(token)


def role_of(path, text, function, frames):
    """What a text is, and the bracket that says so; None if it is no message, or a part of another one."""
    place = None
    for depth in range(len(frames) - 1, -1, -1):
        frame = frames[depth]
        if frame.head == "error" and frames[depth - 2].statement[-1:] == ["#"]:
            return ("error", frame) if frame.argument == 0 else None
        for name, argument, role in SINKS:
            if name.search(frame.head) and argument in (None, frame.argument):
                return role, frame
        for k, name in enumerate(frame.bound()):
            if name in BINDINGS and (place in (None, k) or len(frame.bound()) == 1) and (name, place) != ("notes", 1):
                return BINDINGS[name], frame
        handed_on = {"counted": frame.argument == 2}.get(frame.head, not frame.head.endswith("!") or frame.argument == 0)
        if frame.is_function or not TRANSPARENT.search(frame.head) or not handed_on:
            break
        if frame.mark == "(" and not frame.head:
            place = frame.argument
    for of, name, words, role in RETURNED:
        if (of, name) == (path, function) and re.search(words, text):
            return role, frame
    return None


class Message:
    """A text with what goes with it."""

    def __init__(self, path, role, text, exit_code="", variant=None):
        self.path, self.role, self.text, self.exit_code, self.variant = path, role, text.strip(), exit_code, variant
        self.help, self.test, self.best = [], None, 0
        self.one = None  # the words for one thing, where `text` is for several
        self.crate = path.split("/")[1] if path.startswith("crates/") else "python"
        self.subject = next(subject for subject, pattern in SUBJECTS if re.match(pattern, path))


def words_of(text):
    return re.findall(r"\w\w+", PLACEHOLDER.sub(" ", text))


def paths(*patterns):
    return sorted({str(file.relative_to(ROOT)) for pattern in patterns for file in ROOT.glob(pattern)})


def split(path):
    """The text of a file of Rust: what is compiled into the program, and the tests after it."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if TEST.search(path):
        return "", text
    if OTHER.search(path):
        return "", ""
    parts = re.split(r"(?=#\[cfg\(test\)\]\s*mod \w+ \{)", text, maxsplit=1)
    return parts[0], "".join(parts[1:])


def variant_after(tokens, at):
    """The variant that stands after the attribute whose text is at `at`."""
    depth = 2
    while depth or tokens[at][1] == "#":
        depth += (tokens[at][1] in "([{") - (tokens[at][1] in ")]}")
        at += 1
        if not depth and tokens[at][1] == "#":
            at, depth = at + 2, 1
    return tokens[at][1]


def exit_of(path, frame, tokens, at, variant):
    code = next((tokens[k + 2][1] for k in range(frame.start, at) if tokens[k][1] == "Exit"), None)
    if code:
        return EXITS[code]
    kind = next((tokens[k + 2][1] for k in range(frame.start, at) if tokens[k][1] == "Kind"), None)
    if kind and path.startswith("python/"):
        return EXCEPTIONS[kind]
    described = f"{path} {variant[1] if variant else ''}"
    return next(exit_code for pattern, exit_code in USUAL_EXITS if re.search(pattern, described))


def enclosing_arms(tokens, at):
    """The arms of matches that a text is in, from the innermost: where each begins, and the variants that it is of."""
    depth = 0
    for k in range(at - 1, 0, -1):
        token = tokens[k][1]
        if token == "fn":
            return
        depth += (token in ")]}") - (token in "([{")
        if token in "([{":
            depth = min(depth, 0)
        if token == "=>" and depth <= 0:
            depth = 1  # arms before this one are of no interest
            start = next((j for j in range(k - 1, 0, -1) if tokens[j][1] in ("=>", ";", "fn")), 0)
            pattern = [token for _, token in tokens[start:k]]
            yield k, [tuple(pattern[j - 2 : j + 3 : 2]) for j in range(2, len(pattern) - 2) if pattern[j - 1] == pattern[j + 1] == "::"] + [
                ("", pattern[j], pattern[j + 2]) for j in range(len(pattern) - 2) if pattern[j + 1] == "::"
            ]


def rust_messages():
    """All messages in Rust, with their help."""
    found, helps, one = [], [], None
    for path in paths("crates/*/src/**/*.rs", "python/src/**/*.rs"):
        last = ("", None, 0)  # the function, its last message and the place of that
        for text, frames, function, item, tokens, at in rust_texts(split(path)[0]):
            role, frame = role_of(path, text, function, frames) or (None, None)
            if role is None or len(words_of(text)) < 2:
                one = text if frames[-1].argument == 1 else None
                continue
            if role == "help":
                helps.append((path, text, tokens, at, last if last[0] == function else (function, None, 0)))
                continue
            variant = (item, variant_after(tokens, at)) if frame.head == "error" else None
            role = "note" if item == "Note" and variant else role
            message = Message(path, role, text, "0" if role == "note" else exit_of(path, frame, tokens, at, variant), variant)
            message.one, one = one if frames[-1].argument == 2 else None, None
            found.append(message)
            last = (function, message, at)
    for path, text, tokens, at, (_, message, place) in helps:
        owners = [message] if message else []
        for arrow, variants in enclosing_arms(tokens, at):
            if arrow < place:
                break
            of_arm = [other for other in found if other.variant and any(is_variant(other, *variant) for variant in variants)]
            if of_arm:
                owners = of_arm
                break
        for owner in owners:
            owner.help.append(text)
        if not owners:
            found.append(Message(path, "help", text))
    return found


def is_variant(message, module, item, variant):
    if message.variant != (item, variant):
        return False
    return item != "Error" or module in re.split("[/.]", message.path)


def python_messages():
    for path in paths("python/farad/*.py"):
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            call = node.exc if isinstance(node, ast.Raise) else node
            if not (isinstance(call, ast.Call) and call.args):
                continue
            name = ast.unparse(call.func)
            if isinstance(node, ast.Raise) or name == "warnings.warn":
                text = python_text(call.args[0])
                if text and len(words_of(text)) >= 2:
                    yield Message(path, "error", text, name if isinstance(node, ast.Raise) else "FaradWarning")


def python_text(node):
    """A string of Python, with {} for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}" for part in node.values)
    return None


def asserted():
    """What tests have in quotes: the place, the text, and variants of errors that it names."""
    for path in paths("crates/**/*.rs", "tests/**/*.rs"):
        text = split(path)[1]
        for literal, _, function, _, _, _ in rust_texts(text):
            yield f"{path}::{function}", literal
        function = ""
        for name, alias in re.findall(r"\b(\w+) as (\w+);", text):
            text = re.sub(rf"\b{alias}::", f"{name}::", text)
        imported = re.findall(r"(\w+)::(?:\*;|\{[^{};]*\bError\b[^{};]*\}|Error\b(?!::))", text)
        for match in re.finditer(r"\bfn (\w+)|\b(?:(\w+)::)?([A-Z]\w*)::([A-Z]\w*)", text):
            function = match[1] or function
            for module in ([match[2]] if match[2] else ["", *imported]) if match[4] else ():
                yield f"{path}::{function}", (module, match[3], match[4])
    for path in paths("python/tests/*.py"):
        for function in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    text = python_text(node)
                    if text:
                        yield f"{path}::{function.name}", re.sub(r"\\([^\w])", r"\1", text)
    for path in paths("docs/first-ten-minutes.md", "docs/messages.md", "docs/tutorials/*.md"):
        for block in re.findall(r"^```console\n(.*?)^```$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                yield path, re.sub(r"^ *(×|help:) |\.\.\.$", "", line)


def match(message, text):
    """How many characters of the message `text` has, and where in it they begin and end; (0, 0, 0) if it is of something else."""
    chunks = PLACEHOLDER.split(message)
    text = max(PLACEHOLDER.split(text), key=len)
    longest = max(chunks, key=len)
    found = []
    if longest in text:
        at = text.index(longest)
        found.append((len(longest), at, at + len(longest)))
    first = next((p for p in range(len(chunks[0]), 0, -1) if text.endswith(chunks[0][:p])), 0)
    found.append((first if first >= LEAST else 0, len(text) - first, len(text)))
    # From some end of a chunk on, or a whole one: what stands for a placeholder, and so on to the beginning of a chunk.
    for number, chunk in enumerate(chunks):
        if text in chunk:
            return len(text), 0, len(text)
        ends = {next((p for p in range(len(text), 0, -1) if chunk.endswith(text[:p])), 0): 0, 0: 0}
        if len(chunk) > 3 and chunk in text:
            ends[text.index(chunk) + len(chunk)] = text.index(chunk)
        for end, start in ends.items():
            count = end - start
            for other in chunks[number + 1 :]:
                at = text.find(other, end)
                if at < 0 or not other:
                    rest = next((p for p in range(min(len(text) - end, len(other)), 0, -1) if text.endswith(other[:p])), 0)
                    count, end = count + rest, len(text) if rest else end
                    break
                count, end = count + len(other), at + len(other)
            if 3 * count > end - start:
                found.append((count, start, end))
    return max(found)


def may_provoke(crate, place):
    """Whether a test is of a crate, or of one that depends on it."""
    if place.startswith(("tests/", "docs/")):
        return crate != "python"
    return place.split("/")[0] == "python" or place.split("/")[1] in (crate, *DEPENDENTS.get(crate, ()))


def pairs_of(text):
    """Pairs of words that stand next to each other, and each word alone."""
    for chunk in PLACEHOLDER.split(text):
        words = re.findall(r"\w+", chunk)
        yield from zip(words, words[1:])
        yield from ((word,) for word in words)


def find_tests(messages):
    # Messages by pairs of words: texts without a common one need not be compared.
    by_pair = {}
    for message in messages:
        pairs = [*pairs_of(message.text), *pairs_of(message.one or "")]
        # Words alone are too many, where there are pairs.
        for pair in [*([pair for pair in pairs if len(pair) == 2] or pairs), message.variant]:
            by_pair.setdefault(pair, {})[message] = None
    for place, text in asserted():
        if isinstance(text, tuple):
            for message in by_pair.get(text[1:], ()):
                if may_provoke(message.crate, place) and is_variant_in(message, place, *text):
                    take(message, place, LEAST)
            continue
        candidates = {message: None for pair in pairs_of(text) for message in by_pair.get(pair, ()) if may_provoke(message.crate, place)}
        found = [
            (message, *max(match(words, text.strip()) for words in (message.text, message.one) if words)) for message in candidates
        ]
        for message, count, start, end in found:
            # Words within those of another message are of that one.
            rivals = [other for other in found if other[1] > count and other[2] <= start and end <= other[3]]
            equals = {PLACEHOLDER.sub("{}", other[0].text) for other in found if other[1:] == (count, start, end)}
            if not rivals and len(equals) <= 3 or text.strip() == message.text:
                take(message, place, count)


def take(message, place, count):
    longest = max(len(chunk.strip()) for chunk in PLACEHOLDER.split(message.text))
    least = min(longest, LEAST_NEAR if place.startswith(f"{message.path}::") else LEAST)
    if count >= max(least, message.best + 1):
        message.best, message.test = count, place


def is_variant_in(message, place, module, item, variant):
    """`Error` alone is that of the test's own file or folder."""
    near = Path(message.path).parent.as_posix()
    is_near = place.startswith((f"{message.path}::", near)) if near.count("/") > 2 else place.startswith(f"{message.path}::")
    return message.variant == (item, variant) and (item != "Error" or is_near or module in re.split("[/.]", message.path))


def escaped(text):
    return re.sub(r"([\\`*_{}\[\]<>$|#~^])", r"\\\1", text).replace("\n", "<br>")


def page(messages):
    lines = [PREFACE]
    for subject, _ in SUBJECTS:
        lines.append(f"\n## {subject}")
        for path in sorted({message.path for message in messages if message.subject == subject}):
            lines += [f"\n[{path}](../{path})\n", "| message | what to do | exit code | test |", "|---|---|---|---|"]
            rows = {}
            for message in messages:
                if message.path == path:
                    rows.setdefault(row(message))
            lines += rows
    return "\n".join(lines) + "\n"


def row(message):
    if message.role == "help":
        return f"| | {escaped(message.text)} | | |"
    test = f"`{message.test}`" if message.test else reason(message) or ""
    help_text = "<br>".join(dict.fromkeys(escaped(text) for text in message.help))
    return f"| {escaped(message.text)} | {help_text} | {message.exit_code} | {test} |"


def reason(message):
    return next((why for start, why in UNTESTED.items() if message.text.startswith(start)), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where something is missing or stale")
    check = parser.parse_args().check
    messages = rust_messages() + list(python_messages())
    find_tests(messages)
    problems = []
    for message in messages:
        if message.role != "help" and not message.test and not reason(message):
            problems.append(f"{message.path}: no test provokes: {message.text}")
    for start in UNTESTED:
        if not any(message.text.startswith(start) and not message.test for message in messages):
            problems.append(f"UNTESTED: no message without a test begins with: {start}")
    text = page(messages)
    if not check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        problems.append(f"{PAGE.relative_to(ROOT)} is not what python3 .ci/messages.py makes of the sources: run it")
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{len(messages)} messages; each has a test or a reason why there is none")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
