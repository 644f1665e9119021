#!/usr/bin/env python3
"""Prints the tables of solves in docs/performance.md, measured with the program itself; peers/compare.py has those of fast sums.

    cargo build --release
    python benches/performance.py [path of farad]

Needs nothing but Python, an otherwise idle machine, about 4 GiB of memory and some minutes.
"""

import json
import sys
import tempfile
from pathlib import Path

from validation import ROOT, Farad, matrix


def solves(farad):
    print("\n**Solves** by the fast method, tolerance 1e-5\n")
    print("| case | triangles | conductors | iterations | plan / s | near field / s | solve / s | total / s | kB per triangle |")
    print("|---|---|---|---|---|---|---|---|---|")
    shapes = [
        ("sphere", ("sphere", "--base", "icosahedron", "--elements", 20480)),
        ("sphere", ("sphere", "--base", "icosahedron", "--elements", 81920)),
        ("sphere", ("sphere", "--base", "icosahedron", "--elements", 327680)),
        ("cube, uniform", ("cube", "--elements", 9408)),
        ("cube, uniform", ("cube", "--elements", 38988)),
        ("cube, graded 1:1000", ("cube", "--grade", 1000, "--elements", 9408)),
        ("cube, graded 1:1000", ("cube", "--grade", 1000, "--elements", 38988)),
        ("spheres, gap 0.02 radii", ("two-spheres", "--distance", 2.02, "--elements", 10000)),
        ("spheres, gap 0.02 radii", ("two-spheres", "--distance", 2.02, "--elements", 40000)),
        ("bus 5 x 5", ("bus", "--bars", 5, "--elements", 8280)),
        ("bus 5 x 5", ("bus", "--bars", 5, "--elements", 33120)),
    ]
    for name, shape in shapes:
        r = farad.solve(shape, tolerance=1e-5)
        n, t = r["mesh"]["triangles"], r["timings_s"]
        iterations = max(solve["iterations"] for solve in r["solves"])
        print(
            f"| {name} | {n:,} | {len(matrix(r))} | {iterations} | {t['plan']:.2f} | {t['near_field']:.2f} | {t['solve']:.2f} "
            f"| {t['total']:.2f} | {r['memory_bytes']['peak'] / 1000 / n:.2f} |",
            flush=True,
        )


def ten_conductors(farad):
    """The 5 x 5 bus with ten bars as ten conductors, and with all bars as one conductor."""
    print("\n**Ten conductors against one** on the same mesh, tolerance 1e-5: medians of three\n")
    print("| triangles | one conductor / s | ten conductors / s | ratio |")
    print("|---|---|---|---|")
    for elements in (10000, 40000):
        ten, one = [], []
        for _ in range(3):
            results = farad.solve(("bus", "--bars", 5, "--elements", elements), tolerance=1e-5)
            ten.append(results["timings_s"]["total"])
            names = json.dumps([c["name"] for c in results["mesh"]["conductors"]])
            case = f'format = 1\n[mesh]\nfile = "mesh.msh"\nunit = "m"\n[[conductor]]\nname = "all"\ngroup = {names}\n'
            (farad.folder / "one.toml").write_text(case, encoding="utf-8")
            options = ["--method", "fmm", "--tolerance", 1e-5, "--json", "--overwrite"]
            one.append(json.loads(farad.run("solve", "one.toml", *options))["timings_s"]["total"])
        a, b = sorted(one)[1], sorted(ten)[1]
        print(f"| {results['mesh']['triangles']:,} | {a:.2f} | {b:.2f} | {b / a:.2f} |", flush=True)


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        farad = Farad(program, Path(folder))
        print(farad.run("info"))
        ten_conductors(farad)
        solves(farad)


if __name__ == "__main__":
    main(str(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/farad").resolve()))
