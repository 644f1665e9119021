#!/usr/bin/env python3
"""Two versions of Farad on the same cases in one run: processor time and peak memory, in turn.

    python3 benches/versions.py BEFORE AFTER [--rounds 5] [--into docs/experiments.md] [CASE ...]

BEFORE and AFTER are two programs. In each round each case is solved by one, then by the other, on one thread. Figures are medians of user
and system time of the whole process, which other work on the machine disturbs less than the wall time, and of the ratios of each round.
Needs nothing but Python.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def conductor(name, group):
    return f'[[conductor]]\nname = "{name}"\ngroup = "{group}"\n'


def dielectric(group, eps):
    return f'[[dielectric]]\nname = "{group}_dielectric"\nrelative_permittivity = {eps}\ngroup = "{group}"\n'


BALL = ("sphere", "--base", "icosahedron", "--elements")
CHARGES = "".join(
    f"[[charge]]\nposition = [{0.1 * k - 0.4}, {0.3 - 0.05 * k}, {0.02 * k * k - 0.4}]\ncharge = {1 - 2 * (k % 2)}e-10\n" for k in range(8)
)

# Name, what is generated, tables of the case file, tolerance.
CASES = [
    ("sphere", (*BALL, 20480), "", 1e-5),
    ("sphere, larger", (*BALL, 81920), "", 1e-5),
    ("cube, uniform", ("cube", "--elements", 38988), "", 1e-5),
    ("cube, uniform, 1e-6", ("cube", "--elements", 9408), "", 1e-6),
    ("cube, graded 1:1000", ("cube", "--grade", 1000, "--elements", 38988), "", 1e-5),
    ("spheres, gap 0.02 radii", ("two-spheres", "--distance", 2.02, "--elements", 40000), "", 1e-5),
    ("bus 5 x 5", ("bus", "--bars", 5, "--elements", 8280), "", 1e-5),
    ("bus 5 x 5, larger", ("bus", "--bars", 5, "--elements", 33120), "", 1e-5),
    ("capacitor by Gmsh", ROOT / "meshes/capacitor.msh", "", 1e-6),
    (
        "coated sphere",
        ("concentric-spheres", "--base", "icosahedron", "--elements", 9000),
        dielectric("outer", 4) + conductor("core", "inner"),
        1e-6,
    ),
    ("eight charges in a ball", (*BALL, 20480), "[medium]\nrelative_permittivity = 80\n" + dielectric("sphere", 4) + CHARGES, 1e-6),
    (
        "cube over ground",
        ("cube", "--elements", 9408),
        '[[plane]]\nkind = "ground"\naxis = "z"\nat = -1.0\n' + conductor("cube", "cube"),
        1e-6,
    ),
]


def timed(program, folder):
    """Processor time in seconds, peak memory in bytes and results of one solve."""
    process = subprocess.Popen(
        [program, "solve", "case.toml", "--method", "fmm", "--threads", "1", "--quiet", "--json", "--overwrite"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{program}: {process.stderr.read()}")
    return usage.ru_utime + usage.ru_stime, 1024 * usage.ru_maxrss, json.loads(output)


def compare(programs, name, shape, tables, tolerance, rounds):
    with tempfile.TemporaryDirectory() as folder:
        mesh = shape
        if not isinstance(shape, Path):
            mesh = "mesh.msh"
            subprocess.run(
                [programs[1], "mesh", "generate", *map(str, shape), "-o", mesh], cwd=folder, check=True, stdout=subprocess.DEVNULL
            )
        head = f'format = 1\n[mesh]\nfile = "{mesh}"\nunit = "m"\n[solver]\ntolerance = {tolerance}\n'
        (Path(folder) / "case.toml").write_text(head + tables, encoding="utf-8")
        runs = [[timed(program, folder) for program in programs] for _ in range(rounds)]
    middle = lambda k, of: statistics.median(run[k][of] for run in runs)
    ratio = lambda of: statistics.median(after[of] / before[of] for before, after in runs)
    steps = [max(solve["iterations"] for solve in runs[-1][k][2]["solves"]) for k in (0, 1)]
    triangles = runs[-1][1][2]["mesh"]["triangles"]
    return (
        f"| {name} | {triangles:,} | {steps[0]}, {steps[1]} | {middle(0, 0):.2f} | {middle(1, 0):.2f} | {ratio(0):.3f} "
        f"| {middle(0, 1) / 1e6:.0f} | {middle(1, 1) / 1e6:.0f} | {ratio(1):.3f} |"
    )


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("before")
    arguments.add_argument("after")
    arguments.add_argument("cases", nargs="*")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--into", type=Path)
    options = arguments.parse_args()
    programs = [str(Path(program).resolve()) for program in (options.before, options.after)]
    lines = [
        "| case | triangles | iterations | before / s | after / s | ratio | before / MB | after / MB | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for case in CASES:
        if not options.cases or case[0] in options.cases:
            lines.append(compare(programs, *case, options.rounds))
            print(lines[-1], flush=True)
    if options.into:
        text = options.into.read_text(encoding="utf-8")
        part = re.compile(r"(<!-- versions.py: versions -->\n).*?(<!-- end of versions -->)", re.S)
        options.into.write_text(part.sub(lambda m: f"{m[1]}\n{chr(10).join(lines)}\n\n{m[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
