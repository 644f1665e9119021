#!/usr/bin/env python3
"""Puts COUNT mutants into CHECKOUT, a clean copy, and leaves out those that do not compile.

    cargo build --release
    python3 choose.py CHECKOUT SEED COUNT MUTANTS.tsv [CARGO ARGUMENTS ...]
"""

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CRATES = ("farad-fgt", "farad-mesh", "farad-surface", "farad-bem", "farad", "farad-formats")


def reset(checkout):
    subprocess.run(["git", "checkout", "-q", "."], cwd=checkout, check=True)
    subprocess.run(["git", "clean", "-qfd", "crates"], cwd=checkout, check=True)


def put(checkout, seed, count, left_out):
    reset(checkout)
    listed = Path(checkout) / "target" / "left_out"
    listed.parent.mkdir(exist_ok=True)
    listed.write_text("".join(f"{n}\n" for n in sorted(left_out)))
    program = HERE / "target/release/mutants"
    out = subprocess.run([program, checkout, seed, count, listed], capture_output=True, text=True, check=True)
    return out.stdout


def switches(checkout, name):
    """Byte ranges of switches in a file: where each begins and where its branches end."""
    text = (Path(checkout) / name).read_bytes()
    found = []
    for match in re.finditer(rb"if crate::mutant::on\((\d+)\) \{", text):
        depth, at, ends = 1, match.end(), 0
        while ends < 2 and at < len(text):
            depth += {ord("{"): 1, ord("}"): -1}.get(text[at], 0)
            if depth == 0:
                ends += 1
            at += 1
        found.append((match.start(), at, int(match[1])))
    return found


def guilty(checkout, arguments):
    packages = [x for c in CRATES for x in ("-p", c)]
    run = subprocess.run(
        ["cargo", "check", "--tests", "--keep-going", "--message-format=json", *packages, *arguments],
        cwd=checkout, capture_output=True, text=True,
    )
    numbers, unknown = set(), []
    for line in run.stdout.splitlines():
        message = json.loads(line).get("message") or {}
        if message.get("level") != "error" or not message.get("spans"):
            continue
        hits = set()
        for span in message["spans"] + [s for child in message["children"] for s in child["spans"]]:
            for start, end, number in switches(checkout, span["file_name"]):
                if start <= span["byte_end"] and span["byte_start"] <= end:
                    hits.add(number)
        if not hits:
            # A constant that something else needs as a constant.
            names = set(re.findall(r"\b[A-Z][A-Z_]{2,}\b", message["rendered"]))
            hits = {int(n) for n, _, _, was, _ in MUTANTS if was.split(" = ")[0] in names}
        numbers |= hits
        if not hits:
            unknown.append(message["rendered"])
    if run.returncode and not numbers:
        sys.exit("\n".join(unknown) + run.stderr[-4000:])
    return numbers


checkout, seed, count, table, *arguments = sys.argv[1:]
left_out = set()
while True:
    text = put(checkout, seed, count, left_out)
    MUTANTS = [line.split("\t") for line in text.splitlines()]
    more = guilty(checkout, arguments)
    if not more:
        break
    left_out |= more
    print(f"{len(left_out)} do not compile", sorted(more), flush=True)
Path(table).write_text(text)
print(f"{len(MUTANTS)} mutants in {table}")
