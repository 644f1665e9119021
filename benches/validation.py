#!/usr/bin/env python3
"""Prints the tables of docs/validation.md, measured with the program itself.

    cargo build --release
    python benches/validation.py [path of farad]

Takes some minutes. Needs nothing but Python; exact values are those of crates/bem/tests/data/capacitance.json.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXACT = json.loads((ROOT / "crates/bem/tests/data/capacitance.json").read_text(encoding="utf-8"))


class Farad:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"farad {' '.join(map(str, arguments))}\n{done.stderr}")
        return done.stdout

    def solve(self, shape, *more, tolerance=1e-6, method="fmm"):
        """Results of a generated shape, by the fast method."""
        return self.solve_case(shape, "", *more, tolerance=tolerance, method=method)

    def solve_case(self, shape, tables, *more, unit="m", tolerance=1e-6, method="fmm"):
        """The same with further tables in the case file."""
        self.run("mesh", "generate", *shape, "-o", "mesh.msh", "--overwrite")
        case = f'format = 1\n[mesh]\nfile = "mesh.msh"\nunit = "{unit}"\n{tables}'
        (self.folder / "case.toml").write_text(case, encoding="utf-8")
        options = ["--method", method, "--tolerance", tolerance, "--json", "--overwrite"]
        return json.loads(self.run("solve", "case.toml", *options, *more))


def matrix(results):
    return results["capacitance"]["maxwell_over_4pi_eps0"]


def convergence(farad, title, exact, shapes, error_of=lambda c, exact: c / exact - 1):
    print(f"\n**{title}**, exact {exact:.10g}\n")
    print("| triangles | C/(4 pi eps0) | relative error | order in h | iterations |")
    print("|---|---|---|---|---|")
    before = None
    for shape in shapes:
        results = farad.solve(shape)
        n, c = results["mesh"]["triangles"], matrix(results)[0][0]
        error = error_of(c, exact)
        order = "" if before is None else f"{2 * math.log(before[1] / error) / math.log(n / before[0]):.2f}"
        print(f"| {n:,} | {c:.8f} | {error:+.2e} | {order} | {results['solves'][0]['iterations']} |", flush=True)
        before = (n, error)


def media(farad):
    """Dielectrics against closed forms: coated sphere, filled concentric spheres, Born ion, Kirkwood's sphere."""
    coat = '[[dielectric]]\nname = "coat"\nrelative_permittivity = {eps}\ngroup = "outer"\n[[conductor]]\nname = "core"\ngroup = "inner"\n'
    print("\n**Coated sphere**, core 1, coat 2: 1/C = (1/a - 1/b)/eps + 1/b\n")
    print("| eps_r of the coat | triangles | C/(4 pi eps0) | relative error | order in h | iterations |")
    print("|---|---|---|---|---|---|")
    for eps in (2, 4, 80, 1e4):
        exact, before = 1 / (0.5 / eps + 0.5), None
        for n in (1280, 5120, 20480):
            shape = ("concentric-spheres", "--base", "icosahedron", "--elements", n)
            results = farad.solve_case(shape, coat.format(eps=eps))
            triangles, c = results["mesh"]["triangles"], matrix(results)[0][0]
            error = c / exact - 1
            order = "" if before is None else f"{2 * math.log(before[1] / error) / math.log(triangles / before[0]):.2f}"
            print(f"| {eps:g} | {triangles:,} | {c:.7f} | {error:+.2e} | {order} | {results['solves'][0]['iterations']} |", flush=True)
            before = (triangles, error)
    print("\n**Spherical membrane**, conductors of radius 1 and 1.001 with eps_r = 2 between them, exact 2002\n")
    print("| triangles | C12 error | order in h | iterations |")
    print("|---|---|---|---|")
    before = None
    membrane = '[[dielectric]]\nname = "membrane"\nrelative_permittivity = 2\ngroup = "outer"\n[[conductor]]\nname = "a"\ngroup = "inner"\n[[conductor]]\nname = "b"\ngroup = "outer"\n'
    for n in (1280, 5120):
        shape = ("concentric-spheres", "--inner-radius", 1, "--outer-radius", 1.001, "--base", "icosahedron", "--elements", n)
        results = farad.solve_case(shape, membrane)
        triangles, error = results["mesh"]["triangles"], matrix(results)[0][1] / -2002 - 1
        order = "" if before is None else f"{2 * math.log(before[1] / error) / math.log(triangles / before[0]):.2f}"
        iterations = max(solve["iterations"] for solve in results["solves"])
        print(f"| {triangles:,} | {error:+.2e} | {order} | {iterations} |", flush=True)
        before = (triangles, error)
    charge = '[medium]\nrelative_permittivity = 80\n[[dielectric]]\nname = "molecule"\nrelative_permittivity = {eps}\ngroup = "sphere"\n'
    one = '[[charge]]\nposition = {at}\ncharge = 1\nunit = "e"\n'
    print("\n**A unit charge in a sphere in water**, kcal/mol\n")
    print("| case | exact | triangles | energy | relative error | order in h | iterations |")
    print("|---|---|---|---|---|---|---|")
    cases = (("Born, R = 1, eps 1", 1, 1, [0.0, 0.0, 0.0], -163.9564568), ("R = 4, charge at (1, 1, 1), eps 4", 4, 4, [1.0, 1.0, 1.0], -12.0739037))
    for name, radius, eps, at, exact in cases:
        before = None
        for n in (1280, 5120, 20480):
            shape = ("sphere", "--radius", radius, "--base", "icosahedron", "--elements", n)
            results = farad.solve_case(shape, charge.format(eps=eps) + one.format(at=at), unit="angstrom")
            triangles, energy = results["mesh"]["triangles"], results["solvation"]["energy_kcal_per_mol"]
            error = energy / exact - 1
            order = "" if before is None else f"{2 * math.log(before[1] / error) / math.log(triangles / before[0]):.2f}"
            print(f"| {name} | {exact} | {triangles:,} | {energy:.6f} | {error:+.2e} | {order} | {results['solves'][0]['iterations']} |", flush=True)
            before = (triangles, error)


def bodies(farad):
    """Polarisability, capacity and forces against literature and closed forms."""
    print("\n**Polarisability** over 4 pi eps0 of uncharged conductors: sphere of radius 1, cube of edge 1 (3.64431/(4 pi), ZENO)\n")
    print("| body | exact | triangles | mean of the diagonal | relative error | iterations |")
    print("|---|---|---|---|---|---|")
    wanted = "[output]\npolarisability = true\n"
    for name, exact, shape in (
        ("sphere", 1.0, ("sphere", "--base", "icosahedron")),
        ("cube, graded 1:100", 3.64431 / (4 * math.pi), ("cube", "--grade", 100)),
    ):
        for n in (1280, 5120):
            results = farad.solve_case((*shape, "--elements", n), wanted)
            tensor = results["polarisability"]["over_4pi_eps0"]
            mean = sum(tensor[i][i] for i in range(3)) / 3
            iterations = max(solve["iterations"] for solve in results["solves"])
            print(f"| {name} | {exact:.6f} | {results['mesh']['triangles']:,} | {mean:.6f} | {mean / exact - 1:+.2e} | {iterations} |", flush=True)
    torus = lambda n: ("torus", "--ring-radius", 4, "--tube-radius", 1, "--elements", n)
    convergence(farad, "Torus, ring radius 4, tube radius 1", 3.72768, map(torus, (2000, 8000)))
    print("\n**Force of a unit charge at 3 on a grounded unit sphere**, exact 3/64 = 0.046875 in units of q^2/(4 pi eps0)\n")
    print("| triangles | force | relative error |")
    print("|---|---|---|")
    case = '[[conductor]]\nname = "a"\ngroup = "sphere"\n[[charge]]\nposition = [3, 0, 0]\ncharge = 1.1126500562e-10\n[output]\nforces = true\n'
    for n in (1280, 5120, 20480):
        results = farad.solve_case(("sphere", "--base", "icosahedron", "--elements", n), case)
        # The charge is 4 pi eps0 times 1 V m, so the force is 4 pi eps0 times 1 V^2.
        force = results["forces"][0]["force_n"][0] / 1.1126500562e-10
        print(f"| {results['mesh']['triangles']:,} | {force:.7f} | {force / (3 / 64) - 1:+.2e} |", flush=True)


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        farad = Farad(program, Path(folder))
        elements = lambda *shape: lambda n: (*shape, "--elements", n)

        sphere = elements("sphere", "--radius", 1)
        convergence(farad, "Unit sphere", 1.0, map(sphere, (512, 2048, 8192, 32768)))
        cube = elements("cube", "--edge", 1)
        exact = EXACT["cube"]["value"]
        convergence(farad, "Unit cube, uniform mesh", exact, map(cube, (512, 2048, 8112, 32448)))
        graded = elements("cube", "--edge", 1, "--grade", 800)
        convergence(farad, "Unit cube, graded 1:800", exact, map(graded, (1728, 3888, 6912)))
        disk = elements("disk", "--radius", 1, "--grade", 100)
        convergence(farad, "Unit disk, graded 1:100", EXACT["disk"]["value"], map(disk, (1000, 4000, 16000)))
        plate = elements("plate", "--grade", 100)
        convergence(farad, "Unit square plate, graded 1:100", EXACT["square_plate"]["value"], map(plate, (1000, 4000, 16000)))

        reference = EXACT["two_unit_spheres_distance_3"]
        print(f"\n**Two unit spheres, centres 3 apart**, exact C11 = {reference['c11']:.10g}, C12 = {reference['c12']:.10g}\n")
        print("| triangles | C11 error | C12 error | relative asymmetry |")
        print("|---|---|---|---|")
        for n in (1024, 4096, 16384):
            results = farad.solve(("two-spheres", "--radius", 1, "--distance", 3, "--elements", n), tolerance=1e-8)
            c = matrix(results)
            errors = [c[0][0] / reference["c11"] - 1, c[0][1] / reference["c12"] - 1]
            asymmetry = results["capacitance"]["relative_asymmetry"]
            print(f"| {results['mesh']['triangles']:,} | {errors[0]:+.2e} | {errors[1]:+.2e} | {asymmetry:.1e} |", flush=True)

        media(farad)
        bodies(farad)

        print("\n**FMM against direct sums**, relative L2 error, 1e5 points, charges of random sign\n")
        print("| tolerance | cube | sphere | plummer | graded-plate |")
        print("|---|---|---|---|---|")
        for digits in range(2, 12):
            errors = []
            for distribution in ("cube", "sphere", "plummer", "graded-plate"):
                out = farad.run("fmm", "bench", "--n", 100_000, "--distribution", distribution,
                                "--tolerance", f"1e-{digits}", "--repeat", 1, "--json")
                errors.append(f"{json.loads(out)['relative_l2_error']:.1e}")
            print(f"| 1e-{digits} | {' | '.join(errors)} |", flush=True)


if __name__ == "__main__":
    main(str(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/farad").resolve()))
