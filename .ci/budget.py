"""Runs a command of cargo with `--timings`, tells what each of Farad's crates takes of processor time, and fails where the program's crates
together take 15 % more than they may:

    python3 .ci/budget.py cargo test --release --no-run

Machines differ: the budget is in multiples of what some dependencies take in the same build. A crate that has become lighter lowers its
number here; one that has good reason to be heavier raises it, and says why in its commit (ARCHITECTURE.md, "Light builds").
"""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "cargo-timings/cargo-timing.html"
MORE = 1.15
YARDSTICK = ["clap_builder", "comfy-table", "i_overlay", "indicatif", "miette", "nalgebra", "nom", "rayon", "serde_json", "spade", "toml"]
# Multiples of the yardstick, as `.ci/run` builds them; with the program's build alone they are a sixth lower.
BUDGET = {
    "farad-fmm": 3.0,
    "farad-bem": 2.4,
    "farad": 0.87,
    "farad-formats": 0.38,
    "farad-report": 0.21,
    "farad-cli": 1.14,
    "farad-mesh": 1.7,
    "farad-surface": 0.5,
    "farad-fgt": 0.6,
    "all others": 0.2,
}


def processor_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "--timings"], cwd=ROOT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def units(text, processors):
    """Names, kinds (empty: a library) and processors' seconds: cargo's page has the wall time of each unit, a share of these."""
    data = re.search(r"UNIT_DATA = (\[.*?\n\]);", text, re.DOTALL)
    if data is None:
        sys.exit("budget: cargo's page of timings has no UNIT_DATA: it has another format now, which this script is to follow")
    found = [(unit["name"], unit["target"].strip(), unit["duration"]) for unit in json.loads(data[1])]
    scale = processors / max(sum(duration for _, _, duration in found), 1e-9)
    return [(name, kind, duration * scale) for name, kind, duration in found]


def judge(found):
    """A table, and the program's seconds over the budget; none where some crates were there already."""
    libraries, rest = {}, {}
    for name, kind, seconds in found:
        of = rest if kind else libraries
        of[name] = of.get(name, 0.0) + seconds
    own = {name for name in libraries if name.startswith("farad")}
    if not all(libraries.get(name) for name in [*YARDSTICK, *BUDGET] if name != "all others"):
        return "budget: some crates were there already, so nothing is judged", None
    yardstick = sum(libraries[name] for name in YARDSTICK)
    lines = [f"{'processor seconds':20}{'library':>9}{'budget':>9}{'tests and more':>16}"]
    total = 0.0
    for name, multiple in BUDGET.items():
        names = {name} if name in own else own - set(BUDGET)
        taken, more = (sum(of.get(name, 0.0) for name in names) for of in (libraries, rest))
        total += taken
        lines.append(f"{name:20}{taken:9.1f}{multiple * yardstick:9.1f}{more:16.1f}")
    budget = sum(BUDGET.values()) * yardstick
    dependencies = sum(taken for name, taken in libraries.items() if name not in own)
    lines += [f"{'Farad':20}{total:9.1f}{budget:9.1f}", f"{'dependencies':20}{dependencies:9.1f}"]
    return "\n".join(lines), total / budget


def main():
    processors = processor_seconds(sys.argv[1:])
    table, ratio = judge(units(PAGE.read_text(encoding="utf-8"), processors))
    print(table)
    if ratio is not None and ratio > MORE:
        sys.exit(f"budget: Farad's crates take {ratio:.2f} times their budget of processor time; at most {MORE}: see .ci/{Path(__file__).name}")


if __name__ == "__main__":
    main()
