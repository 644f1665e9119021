"""Compares what `farad solve --dry-run` predicts with what solves take: docs/performance.md, "Estimates".

    python3 benches/estimates.py FARAD [--backend NAME ...] [--scale S] [--only CASE ...]

FARAD is the program. Ten cases are made with about S times their usual number of triangles, in a folder that is deleted
in the end: shapes of the program's own, and meshes by Gmsh that the project ships (meshes/), refined. Each is predicted and
then solved, with all results written; of three solves the median counts. Only the standard library is needed.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MESHES = ROOT / "meshes"
UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
BYTES = {"kiB": 2.0**-10, "MiB": 1.0, "GiB": 2.0**10}
SOLVES = 3


def cases(run, folder, scale):
    """Names, and the texts of case files, whose meshes are made by `run`."""

    def generate(shape, elements, *more):
        run("mesh", "generate", shape, "--elements", str(int(scale * elements)), *more, "-o", f"{folder}/{shape}.msh")
        return f'[mesh]\nfile = "{shape}.msh"\nunit = "mm"\n'

    def refined(name, times):
        run("mesh", "refine", str(MESHES / f"{name}.msh"), "--times", str(times), "-o", f"{folder}/{name}.msh")
        return f'[mesh]\nfile = "{name}.msh"\nunit = "um"\n'

    more = 0 if scale < 0.5 else 1 if scale < 2 else 2
    sphere = generate("sphere", 60_000, "--radius", "1")
    yield "sphere", sphere
    yield "graded cube", generate("cube", 60_000, "--grade", "32")
    yield "bus, 5 x 5", generate("bus", 50_000)
    yield "coated sphere", (
        generate("concentric-spheres", 50_000)
        + '[[dielectric]]\nname = "coat"\nrelative_permittivity = 4.0\ngroup = "outer"\n[[conductor]]\nname = "core"\ngroup = "inner"\n'
    )
    yield "molecule", (
        generate("molecule", 60_000).replace("mm", "angstrom")
        + '[medium]\nrelative_permittivity = 80.0\n[[dielectric]]\nname = "molecule"\nrelative_permittivity = 2.0\n'
        'group = "molecule"\ncharges = "molecule.pqr"\n'
    )
    elements = int(40_000 * scale)
    yield "molecule in salt", (
        '[medium]\nrelative_permittivity = 78.54\nionic_strength = 0.15\ntemperature = 298.15\n'
        f'[[molecule]]\npqr = "molecule.pqr"\nelements = {elements}\n'
    )
    yield "capacitor by Gmsh", refined("capacitor", 2 + more)
    yield "plates by Gmsh, 1e-8", refined("plates", 1 + more) + "[solver]\ntolerance = 1e-8\n"
    yield "bus in layers by Gmsh", (
        refined("bus_2x2", 1 + more) + "[stack]\nat = -2.5\nbelow = 11.7\nabove = 1.0\n"
        "[[layer]]\nthickness = 5.0\nrelative_permittivity = 3.9\n"
    )
    yield "sphere over ground, forces", (
        sphere + '[[conductor]]\nname = "ball"\ngroup = "sphere"\npotential = 1000.0\n'
        '[[plane]]\naxis = "z"\nat = -1.5\nkind = "ground"\n[output]\nforces = true\n'
    )


def number(text, units):
    value, unit = text.split()
    return float(value.replace(",", "")) * units[unit]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("farad")
    parser.add_argument("--backend", action="append", choices=["cpu", "cuda", "hybrid"])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", action="append")
    args = parser.parse_args()

    def run(*arguments):
        done = subprocess.run([args.farad, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"farad {' '.join(arguments)}\n{done.stderr}")
        return done.stdout

    print("| case | unknowns | backend | predicted / s | taken / s | ratio | predicted / MiB | taken / MiB | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in cases(run, folder, args.scale):
            if args.only and name not in args.only:
                continue
            file = f"{folder}/case.toml"
            Path(file).write_text("format = 1\n" + text)
            for backend in args.backend or ["cpu"]:
                told = run("solve", file, "--dry-run", "--backend", backend)
                unknowns = re.search(r"# ([\d,]+) unknowns", told)[1]
                found = re.search(rf"# {backend}: about (\S+ \S+), (\S+ \S+) of memory", told)
                predicted = number(found[1], UNITS), number(found[2], BYTES)
                taken = []
                for _ in range(SOLVES):
                    run("solve", file, "--backend", backend, "--output", f"{folder}/out", "--overwrite", "--quiet")
                    results = json.loads(Path(folder, "out", "results.json").read_text())
                    taken.append((results["timings_s"]["total"], results["memory_bytes"]["peak"] / 2**20))
                taken = [statistics.median(column) for column in zip(*taken)]
                ratio = [p / t for p, t in zip(predicted, taken)]
                ratios.append(ratio)
                print(
                    f"| {name} | {unknowns} | {backend} | {predicted[0]:.2f} | {taken[0]:.2f} | {ratio[0]:.2f} "
                    f"| {predicted[1]:.0f} | {taken[1]:.0f} | {ratio[1]:.2f} |",
                    flush=True,
                )
    for what, column in zip(["seconds", "memory"], zip(*ratios)):
        print(f"\n{what}: {min(column):.2f} to {max(column):.2f} of what was taken")


if __name__ == "__main__":
    main()
