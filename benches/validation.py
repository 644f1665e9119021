#!/usr/bin/env python3
"""Prints the tables of docs/validation.md, measured with the program itself.

    cargo build --release
    python benches/validation.py [path of farad [name of a part ...]]

Takes some ten minutes. Needs nothing but Python; exact values are those of crates/bem/tests/data/capacitance.json.
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


def series_two_spheres(distance):
    """C11 and C12 of two unit spheres over 4 pi eps0."""
    mu = math.acosh(distance / 2)
    total = lambda first: sum(1 / math.sinh(k * mu) for k in range(first, 4000, 2) if k * mu < 700)
    return math.sinh(mu) * total(1), -math.sinh(mu) * total(2)


def close_spheres(farad):
    """Two spheres that nearly touch, on meshes that are graded toward the gap."""
    exact = series_two_spheres(2.02)
    print(f"\n**Two unit spheres, centres 2.02 apart**, graded 1:30, exact C11 = {exact[0]:.8f}, C12 = {exact[1]:.8f}\n")
    print("| triangles | C11 | error | C12 | error | iterations |")
    print("|---|---|---|---|---|---|")
    for n in (1600, 6400, 25600):
        shape = ("two-spheres", "--radius", 1, "--distance", 2.02, "--grade", 30, "--base", "icosahedron", "--elements", n)
        results = farad.solve(shape)
        c = matrix(results)
        iterations = max(solve["iterations"] for solve in results["solves"])
        print(f"| {results['mesh']['triangles']:,} | {c[0][0]:.7f} | {c[0][0] / exact[0] - 1:+.2e} | {c[0][1]:.7f} | {c[0][1] / exact[1] - 1:+.2e} | {iterations} |", flush=True)


def iterations(farad):
    """Iterations under refinement and with the ratio of permittivities, with and without conductors."""
    print("\n**Iterations**, tolerance 1e-6: a dielectric sphere in a field, and a conducting sphere under a coat\n")
    print("| surfaces | eps_r | " + " | ".join(f"{n:,}" for n in SIZES) + " |")
    print("|---|---|" + "---|" * len(SIZES))
    bare = '[[dielectric]]\nname = "d"\nrelative_permittivity = {eps}\ngroup = "sphere"\n[external]\nfield = [1, 2, 3]\n[output]\nvtk = "none"\n'
    coat = '[[dielectric]]\nname = "coat"\nrelative_permittivity = {eps}\ngroup = "outer"\n[[conductor]]\nname = "core"\ngroup = "inner"\n[output]\nvtk = "none"\n'
    for name, shape, tables in (("interface", "sphere", bare), ("interface and conductor", "concentric-spheres", coat)):
        for eps in (2, 80, 1e4):
            found = []
            for n in SIZES:
                results = farad.solve_case((shape, "--base", "icosahedron", "--elements", n), tables.format(eps=eps))
                found.append(max(solve["iterations"] for solve in results["solves"]))
            print(f"| {name} | {eps:g} | " + " | ".join(map(str, found)) + " |", flush=True)


def panels(radius, n, centre=0.0):
    """A sphere of 8 n^2 triangles as FastCap's panels."""
    lines = ["0 sphere"]
    for octant in range(8):
        sign = [-radius if octant >> k & 1 else radius for k in range(3)]

        def point(i, j):
            x = (i, j, n - i - j)
            r = math.hypot(*x)
            return " ".join(repr(s * v / r + (centre if k == 0 else 0)) for k, (s, v) in enumerate(zip(sign, x)))

        for i in range(n):
            for j in range(n - i):
                lines.append(f"T 1 {point(i, j)} {point(i + 1, j)} {point(i, j + 1)}")
                if i + j + 1 < n:
                    lines.append(f"T 1 {point(i, j + 1)} {point(i + 1, j)} {point(i + 1, j + 1)}")
    return "\n".join(lines) + "\n"


def nested(farad):
    """A sphere in a shell beside another sphere: what the shell shields."""
    print("\n**Nested conductors**: a sphere of radius 1 in a shell of radius 2, beside a sphere of radius 1 at 4; tolerance 1e-6\n")
    print("| shell | shielded entry over the diagonal | C_inner,inner + C_inner,shell over the diagonal |")
    print("|---|---|---|")
    for name, radius, n in (("inner", 1, 10), ("shell", 2, 16), ("cavity", 1.8, 16)):
        (farad.folder / f"{name}.qui").write_text(panels(radius, n), encoding="utf-8")
    for name, shell in (("its outer surface alone", ""), ("hollow, both surfaces", "C cavity.qui 1 0 0 0 +\n")):
        text = f"C inner.qui 1 0 0 0\n{shell}C shell.qui 1 0 0 0\nC inner.qui 1 4 0 0\n"
        (farad.folder / "nested.lst").write_text(text, encoding="utf-8")
        c = matrix(json.loads(farad.run("solve", "nested.lst", "--method", "fmm", "--json", "--overwrite")))
        print(f"| {name} | {abs(c[0][2]) / c[0][0]:.1e} | {abs(c[0][0] + c[0][1]) / c[0][0]:.1e} |", flush=True)


def planes(farad):
    """Bodies over grounded planes."""
    print("\n**Unit sphere over a grounded plane**, centre at 1.5, by images: C/(4 pi eps0) and the force at 1 V over 4 pi eps0\n")
    print("| triangles | C error | force error | iterations |")
    print("|---|---|---|---|")
    capacitance = lambda h: (lambda c: c[0] - c[1])(series_two_spheres(2 * h))
    slope = (capacitance(1.5 + 1e-5) - capacitance(1.5 - 1e-5)) / 2e-5
    case = '[[conductor]]\nname = "a"\ngroup = "sphere"\npotential = 1\n[[plane]]\naxis = "z"\nat = -1.5\nkind = "ground"\n[output]\nforces = true\n'
    for n in (1280, 5120, 20480):
        results = farad.solve_case(("sphere", "--base", "icosahedron", "--elements", n), case)
        force = results["forces"][0]["force_n"][2] / 1.1126500562e-10
        errors = matrix(results)[0][0] / capacitance(1.5) - 1, force / (slope / 2) - 1
        print(f"| {results['mesh']['triangles']:,} | {errors[0]:+.2e} | {errors[1]:+.2e} | {results['solves'][0]['iterations']} |", flush=True)


def forces_of_two(farad):
    """Forces between two spheres at given potentials against slopes of the exact capacitances."""
    print("\n**Force between two unit spheres**, centres 3 apart, over 4 pi eps0\n")
    print("| potentials | exact | triangles | force | relative error |")
    print("|---|---|---|---|---|")
    step = 1e-5
    for pair in ((1, 0), (1, 1), (1, -1)):
        energy = lambda d: (lambda c: c[0] * (pair[0] ** 2 + pair[1] ** 2) / 2 + c[1] * pair[0] * pair[1])(series_two_spheres(d))
        exact = (energy(3 + step) - energy(3 - step)) / (2 * step)
        case = "".join(f'[[conductor]]\nname = "{g}"\ngroup = "{g}"\npotential = {v}\n' for g, v in zip(("left", "right"), pair))
        for n in (2560, 10240):
            results = farad.solve_case(("two-spheres", "--distance", 3, "--base", "icosahedron", "--elements", n), case + "[output]\nforces = true\n")
            force = results["forces"][1]["force_n"][0] / 1.1126500562e-10
            print(f"| {pair[0]}, {pair[1]} | {exact:.7f} | {results['mesh']['triangles']:,} | {force:.7f} | {force / exact - 1:+.2e} |", flush=True)


def through_the_surface(farad):
    """Potential along lines that pass a surface at a thousandth of an element, and through it."""
    print("\n**Potential of a unit sphere at 1 V** of 5,120 triangles along lines: largest error, and largest second difference of 1,001 values next to the exact one\n")
    print("| line | largest error | second difference, found | exact |")
    print("|---|---|---|---|")
    element = math.sqrt(4 * math.pi / 5120)
    height = 1 + 1e-3 * element
    lines = (("through the surface", (0.13, 0.21, 0.8), (0.16, 0.26, 1.2)), ("a thousandth of an element above its top", (-0.05, 0.01, height), (0.05, 0.01, height)))
    for name, low, high in lines:
        case = f'[[conductor]]\nname = "a"\ngroup = "sphere"\npotential = 1\n[[probe]]\nname = "p"\nfrom = {list(low)}\nto = {list(high)}\ncount = 1001\n'
        farad.solve_case(("sphere", "--base", "icosahedron", "--elements", 5120), case)
        rows = [list(map(float, row.split(","))) for row in (farad.folder / "case.out/probe_p.csv").read_text().splitlines()[1:]]
        exact = [1 / max(1.0, math.hypot(*row[:3])) for row in rows]
        found = [row[3] for row in rows]
        second = lambda v: max(abs(v[i - 1] - 2 * v[i] + v[i + 1]) for i in range(1, len(v) - 1))
        print(f"| {name} | {max(abs(a - b) for a, b in zip(found, exact)):.1e} | {second(found):.1e} | {second(exact):.1e} |", flush=True)


def uniform_field(farad):
    """A dielectric sphere in a uniform field."""
    print("\n**Dielectric sphere in a uniform field**: polarisability over 4 pi eps0, exact (eps_r - 1)/(eps_r + 2)\n")
    print("| eps_r | triangles | mean of the diagonal | relative error | the same with the sphere's volume | iterations |")
    print("|---|---|---|---|---|---|")
    for eps in (0.2, 2, 80, 1e4):
        case = f'[[dielectric]]\nname = "d"\nrelative_permittivity = {eps}\ngroup = "sphere"\n[output]\npolarisability = true\n'
        for n in (1280, 5120):
            errors = []
            for more in ((), ("--equal-volume",)):
                results = farad.solve_case(("sphere", "--base", "icosahedron", "--elements", n, *more), case)
                tensor = results["polarisability"]["over_4pi_eps0"]
                mean = sum(tensor[i][i] for i in range(3)) / 3
                errors.append((mean, mean / ((eps - 1) / (eps + 2)) - 1))
            steps = max(solve["iterations"] for solve in results["solves"])
            print(f"| {eps:g} | {results['mesh']['triangles']:,} | {errors[0][0]:.6f} | {errors[0][1]:+.2e} | {errors[1][1]:+.2e} | {steps} |", flush=True)


def equal_volume(farad):
    """Spheres whose facets have the sphere's volume."""
    print("\n**Coated and concentric spheres of equal volume** (`--equal-volume`), 19,360 triangles in all\n")
    print("| case | exact | C/(4 pi eps0) | relative error | iterations |")
    print("|---|---|---|---|---|")
    shape = ("concentric-spheres", "--base", "icosahedron", "--elements", 20480, "--equal-volume")
    coat = '[[dielectric]]\nname = "coat"\nrelative_permittivity = {eps}\ngroup = "outer"\n[[conductor]]\nname = "core"\ngroup = "inner"\n'
    for eps in (2, 4, 80, 1e4):
        exact = 1 / (0.5 / eps + 0.5)
        results = farad.solve_case(shape, coat.format(eps=eps))
        c = matrix(results)[0][0]
        print(f"| coated sphere, eps_r {eps:g} | {exact:.7f} | {c:.7f} | {c / exact - 1:+.2e} | {results['solves'][0]['iterations']} |", flush=True)
    filled = '[[dielectric]]\nname = "filling"\nrelative_permittivity = 3\ngroup = "outer"\n[[conductor]]\nname = "a"\ngroup = "inner"\n[[conductor]]\nname = "b"\ngroup = "outer"\n'
    results = farad.solve_case(shape, filled)
    c = matrix(results)[0][0]
    print(f"| concentric spheres, eps_r 3 | 6 | {c:.7f} | {c / 6 - 1:+.2e} | {results['solves'][0]['iterations']} |", flush=True)


def bus(farad):
    """FastCap's bus of 2 x 2 bars of 1 m, converged."""
    print("\n**FastCap's bus, 2 x 2 bars of 1 m**, first row of the Maxwell matrix in pF; published: 248.2, -85.18, -48.61, -48.61\n")
    print("| triangles | C11 | C12 | C13 | C14 |")
    print("|---|---|---|---|---|")
    for n in (2000, 8000, 32000):
        results = farad.solve(("bus", "--bars", 2, "--grade", 30, "--elements", n), tolerance=1e-5)
        row = results["capacitance"]["maxwell_farad"][0]
        print(f"| {results['mesh']['triangles']:,} | " + " | ".join(f"{1e12 * c:.3f}" for c in row) + " |", flush=True)


# Parts that can be asked for by name.
SIZES = (1280, 20480, 327680)


def molecule(farad):
    """Solvation energy of a molecule of protein size: differences from mesh to mesh, and what they extrapolate to."""
    print("\n**A molecule of 1,000 atoms in water**, kcal/mol\n")
    print("| triangles | energy | from the extrapolated | order in h |")
    print("|---|---|---|---|")
    tables = """[medium]
relative_permittivity = 80.0
[[dielectric]]
name = "molecule"
relative_permittivity = 2.0
group = "molecule"
charges = "mesh.pqr"
"""
    rows = []
    for elements in (12_500, 24_500, 50_000, 98_000, 196_020):
        results = farad.solve_case(("molecule", "--atoms", 1000, "--elements", elements), tables, unit="angstrom")
        rows.append((results["mesh"]["triangles"], results["solvation"]["energy_kcal_per_mol"]))
    (n, before), (finest, last) = rows[-2:]
    limit = (finest * last - n * before) / (finest - n)
    for i, (n, energy) in enumerate(rows):
        order = f"{power(rows[i - 2 : i + 1]):.2f}" if i > 1 else ""
        print(f"| {n:,} | {energy:.4f} | {energy / limit - 1:+.2e} | {order} |", flush=True)


def power(rows):
    """The order in h that three energies follow, errors going as N^(-order / 2)."""
    (n0, e0), (n1, e1), (n2, e2) = rows
    low, high = 0.1, 8.0
    for _ in range(60):
        order = 0.5 * (low + high)
        a, b, c = (n ** (-0.5 * order) for n in (n0, n1, n2))
        if (a - b) / (b - c) < (e1 - e0) / (e2 - e1):
            low = order
        else:
            high = order
    return 0.5 * (low + high)


PARTS = (close_spheres, equal_volume, uniform_field, planes, forces_of_two, nested, through_the_surface, bus, iterations, molecule)


def main(program, names):
    with tempfile.TemporaryDirectory() as folder:
        farad = Farad(program, Path(folder))
        for part in PARTS:
            if part.__name__ in names:
                part(farad)
        if names:
            return
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
        for part in PARTS:
            part(farad)

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
    program = sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/farad"
    main(str(Path(program).resolve()), sys.argv[2:])
