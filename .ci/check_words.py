"""Finds turns of phrase that a reader has to read twice, in documents, comments and names, and says better words."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Regular expression of a turn: better words.
TURNS = {
    r"[Mm]essages that do(es)? not pass": "if communication fails",
    r"^(Those of the (GPU|device|copy)|The GPU's)[.;]": "[`Error::Gpu`] if a CUDA call fails",
    r"\bso many\b(?! that)": "this multiple of, this number of; or the parameter's name",
    r"\b[Bb]eside\b": "next to, together with, compared with",
    r"\bdealt out\b": "distributed",
    r"\bof (no|any) account\b": "negligible",
    r"\bhangs? together\b": "is connected",
    r"\brun around the other way\b": "of opposite orientation",
    r"\bmust come through\b": "must be kept",
    r"\bone task works\b": "per task",
    r"\b(begins?|taken|made|built) anew\b": "again, recomputed",
    r"\b(are|is) cared for\b": "is handled",
    r"\bWhose the\b": "Owner of",
    r"\b(points|memory|panels) of a rank\b": "per rank",
    r"\b(bytes|ns) a (point|rank|panel|triangle|pair)\b": "bytes per point",
    r"^The same( of| with| in| as| for|,|\.)": "As [`name`], with ..: the difference and from what",
    r"^(That|Those) of\b": "the noun itself",
    r"^What (is|are|was|were) (wrong|found|known|left|asked|wanted|read|made|missing|off|seen|solved|needed|said|done|kept)\b": "a noun",
    r"\btold\b(?! to )": "reported, given, distinguished",
    r"\bas there are\b": "the number itself",
    r"\b[Ww]hat is (known|left(?! out)|asked|wanted|read)\b": "properties of, the rest, the request",
    r"\b(is|are) looked at\b": "is examined, sampled, visited",
    r"\bthat one(?='s|[.,;:]| (gets|does|has|had|is|leaves|left)\b)": "the noun itself",
}
# Names of items that have such words.
NAMES = re.compile(r"\b(?:fn|mod|struct|enum|trait|type|const|static) (?:\w+_)?(?:told|tells?|beside|so_many)(?:_\w+)?\b", re.IGNORECASE)
DOCUMENTS = ["*.md", "docs/**/*.md", "python/*.md", "python/farad/*.py"]
SOURCES = ["crates/**/*.rs", "kernels/**/*.rs", "python/src/*.rs", "tests/**/*.rs", "benches/**/*.rs"]
SKIPPED = re.compile(r"^```.*?^```|<!--.*?-->|`[^`\n]*`", re.MULTILINE | re.DOTALL)  # code
COMMENT = re.compile(r"^\s*//[/!]?\s?(.*)|\s// (.*)")


def lines_of(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        return [(match[1] or match[2] or "") if match else "" for match in map(COMMENT.search, text.splitlines())]
    return SKIPPED.sub(lambda code: "\n" * code[0].count("\n"), text).splitlines()


def main():
    files = {path for pattern in DOCUMENTS + SOURCES for path in ROOT.glob(pattern)}
    faults = [
        f'{path.relative_to(ROOT)}:{number}: "{match[0]}": better: {better}'
        for path in sorted(files)
        if "target" not in path.parts
        for number, line in enumerate(lines_of(path), 1)
        for turn, better in TURNS.items()
        for match in re.finditer(turn, line)
    ]
    faults += [
        f'{path.relative_to(ROOT)}:{number}: "{match[0]}": better: a noun, or a verb such as report'
        for path in sorted(files)
        if path.suffix == ".rs" and "target" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for match in NAMES.finditer(line)
    ]
    print("\n".join(faults) or "no turns that cost a reader", file=sys.stderr if faults else sys.stdout)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
