#!/usr/bin/env python3
"""Measures the tables of docs/validation.md with the program itself.

    cargo build --release
    python3 benches/validation.py [--into docs/validation.md] [FARAD [PART ...]]

FARAD is the program (target/release/farad), PART the name of a table as in its marker in docs/validation.md; without PART all
tables are measured. Tables go to standard output; with --into they also replace those between the markers of that file.
`curved` takes up to half an hour on two cores, `iterations` about ten minutes, all other tables together about as long. Needs nothing
but Python; exact values are closed forms and those of crates/bem/tests/data/capacitance.json.
"""

import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXACT = json.loads((ROOT / "crates/bem/tests/data/capacitance.json").read_text(encoding="utf-8"))

# A charge of 4 pi eps0 times 1 V m in coulomb, 4 pi eps0 times 1 V^2 as a force in newton.
FOUR_PI_EPS0 = 1.1126500562e-10

# Capacitance over 4 pi eps0 of a torus of radii 1 and 1/4, in the mesh's unit: 2 c / pi times the sum over n of e_n
# Q_(n-1/2)(4) / P_(n-1/2)(4), c^2 = 1 - 1/16, e_0 = 1, e_n = 2 (toroidal functions; summed with 30 digits).
TORUS = 0.931920973190886

# Square of the elementary charge over 4 pi eps0 and an angstrom, in kcal/mol.
KCAL = 332.06371


class Farad:
    """The program, run in a folder of its own."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"farad {' '.join(map(str, arguments))}\n{done.stderr}")
        return done.stdout

    def solve(self, shape, tables="", unit="m", tolerance=1e-6, more=()):
        """Results of a generated shape, by the fast method, with further tables in the case file."""
        self.run("mesh", "generate", *shape, "-o", "mesh.msh", "--overwrite")
        case = f'format = 1\n[mesh]\nfile = "mesh.msh"\nunit = "{unit}"\n{tables}'
        return self.solve_file("case.toml", case, tolerance, more)

    def solve_file(self, name, text, tolerance=1e-6, more=()):
        (self.folder / name).write_text(text, encoding="utf-8")
        options = ["--method", "fmm", "--tolerance", tolerance, "--json", "--overwrite", *more]
        return json.loads(self.run("solve", name, *options))


class Table:
    """A table in Markdown, printed row by row."""

    def __init__(self, *columns):
        self.lines = []
        self.before = {}
        self.row(*columns)
        self.lines.append("|" + "---|" * len(columns))
        print(self.lines[-1], flush=True)

    def row(self, *cells):
        self.lines.append("| " + " | ".join(map(str, cells)) + " |")
        print(self.lines[-1], flush=True)

    def order(self, n, error, key=None):
        """The order in h since the last row of the same key, h being proportional to n^(-1/2)."""
        before = self.before.get(key)
        self.before[key] = (n, error)
        if before is None or before[1] * error <= 0:
            return ""
        return f"{2 * math.log(before[1] / error) / math.log(n / before[0]):.2f}"


def matrix(results):
    return results["capacitance"]["maxwell_over_4pi_eps0"]


def triangles(results):
    return results["mesh"]["triangles"]


def steps(results):
    """The largest number of iterations of any excitation."""
    return max(solve["iterations"] for solve in results["solves"])


def mean_of_diagonal(results):
    tensor = results["polarisability"]["over_4pi_eps0"]
    return sum(tensor[i][i] for i in range(3)) / 3


def conductor(name, group, more=""):
    return f'[[conductor]]\nname = "{name}"\ngroup = "{group}"\n{more}'


def dielectric(group, eps):
    return f'[[dielectric]]\nname = "{group}_dielectric"\nrelative_permittivity = {eps}\ngroup = "{group}"\n'


def ball(*more):
    return ("sphere", "--base", "icosahedron", *more)


def concentric(*more):
    return ("concentric-spheres", "--base", "icosahedron", *more)


def coat(eps):
    """A conducting core under a coat."""
    return dielectric("outer", eps) + conductor("core", "inner")


def filling(eps):
    """Two conductors and the dielectric between them."""
    return dielectric("outer", eps) + conductor("a", "inner") + conductor("b", "outer")


def series_two_spheres(distance):
    """C11 and C12 of two unit spheres over 4 pi eps0."""
    mu = math.acosh(distance / 2)
    total = lambda first: sum(1 / math.sinh(k * mu) for k in range(first, 4000, 2) if k * mu < 700)
    return math.sinh(mu) * total(1), -math.sinh(mu) * total(2)


def carlson(x, y, z):
    """Carlson's integral R_F by duplication."""
    for _ in range(60):
        product = math.sqrt(x * y) + math.sqrt(y * z) + math.sqrt(z * x)
        x, y, z = (x + product) / 4, (y + product) / 4, (z + product) / 4
    return 1 / math.sqrt(x)


def slope(f, x, step=1e-5):
    return (f(x + step) - f(x - step)) / (2 * step)


def capacitances(farad, exact, shape, sizes):
    """Capacitance of one conductor on several meshes."""
    table = Table("triangles", "C/(4 pi eps0)", "relative error", "order in h", "iterations")
    for elements in sizes:
        results = farad.solve((*shape, "--elements", elements))
        n, c = triangles(results), matrix(results)[0][0]
        error = c / exact - 1
        table.row(f"{n:,}", f"{c:.8f}", f"{error:+.2e}", table.order(n, error), steps(results))
    return table


def sphere(farad):
    """Unit sphere"""
    return capacitances(farad, 1.0, ("sphere",), (512, 2048, 8192, 32768))


def cube(farad):
    """Unit cube, uniform mesh"""
    return capacitances(farad, EXACT["cube"]["value"], ("cube",), (512, 2048, 8112, 32448))


def graded_cube(farad):
    """Unit cube, graded 1:800"""
    return capacitances(farad, EXACT["cube"]["value"], ("cube", "--grade", 800), (1728, 3888, 6912))


def disk(farad):
    """Unit disk, graded 1:100"""
    return capacitances(farad, EXACT["disk"]["value"], ("disk", "--grade", 100), (1000, 4000, 16000))


def plate(farad):
    """Unit square plate, graded 1:100"""
    return capacitances(farad, EXACT["square_plate"]["value"], ("plate", "--grade", 100), (1000, 4000, 16000))


def torus(farad):
    """Torus, ring radius 4, tube radius 1"""
    return capacitances(farad, 3.72768, ("torus", "--ring-radius", 4, "--tube-radius", 1), (2000, 8000, 32000))


def two_spheres(farad):
    """Two unit spheres, centres 3 apart"""
    table = Table("triangles", "C11 error", "order in h", "C12 error", "order in h", "relative asymmetry")
    exact = series_two_spheres(3)
    for elements in (1024, 4096, 16384):
        results = farad.solve(("two-spheres", "--distance", 3, "--elements", elements), tolerance=1e-8)
        n, cells = triangles(results), []
        for key, (found, value) in enumerate(zip(matrix(results)[0], exact)):
            error = found / value - 1
            cells += [f"{error:+.2e}", table.order(n, error, key)]
        table.row(f"{n:,}", *cells, f"{results['capacitance']['relative_asymmetry']:.1e}")
    return table


def close_spheres(farad):
    """Two unit spheres, centres 2.02 apart, on meshes that are graded toward the gap"""
    exact = series_two_spheres(2.02)
    table = Table("facets", "graded", "triangles", "C11 error", "order in h", "C12 error", "order in h", "iterations")
    for facets, grade, more in (("inscribed", 30, ()), ("of the spheres' volume", 10, ("--equal-volume",))):
        for elements in (1600, 6400, 25600):
            shape = ("two-spheres", "--distance", 2.02, "--grade", grade, "--base", "icosahedron", *more)
            results = farad.solve((*shape, "--elements", elements))
            n, cells = triangles(results), []
            for key, (found, value) in enumerate(zip(matrix(results)[0], exact)):
                error = found / value - 1
                cells += [f"{error:+.2e}", table.order(n, error, (facets, key))]
            table.row(facets, f"1:{grade}", f"{n:,}", *cells, steps(results))
    return table


def curved(farad):
    """Curved triangles of orders 1 to 4, linear densities, tolerance 1e-8"""
    table = Table("problem", "order", "triangles", "error", "order in h", "error bar", "seconds")

    def entry(i, j):
        def value(results):
            found = results["capacitance"]
            return found["maxwell_over_4pi_eps0"][i][j], found["maxwell_over_4pi_eps0_error"][i][j]

        return value

    c11, c12 = entry(0, 0), entry(0, 1)
    energy = lambda results: (results["solvation"]["energy_kcal_per_mol"], results["solvation"]["energy_error_kcal_per_mol"])
    gap, over = series_two_spheres(2.02), series_two_spheres(3)
    kirkwood = EXACT["kirkwood_three_charges"]
    charges = "[medium]\nrelative_permittivity = 80\n" + dielectric("sphere", 2)
    for charge, *position in kirkwood["charges"]:
        charges += f'[[charge]]\nposition = {list(map(float, position))}\ncharge = {charge}\nunit = "e"\n'
    ground = '[[plane]]\naxis = "z"\nat = -1.5\nkind = "ground"\n'
    two = ("two-spheres", "--distance", 2.02, "--grade", 10)
    problems = (
        ("sphere", ("sphere",), "", "m", (("C", c11, 1.0),)),
        ("ellipsoid 3:2:1", ("ellipsoid", "--semi-axes", 3, 2, 1), "", "m", (("C", c11, 1 / carlson(9, 4, 1)),)),
        ("torus, radii 1 and 1/4", ("torus",), "", "m", (("C", c11, TORUS),)),
        ("two spheres 2.02 apart, graded 1:10", two, "", "m", (("C11", c11, gap[0]), ("C12", c12, gap[1]))),
        ("coated sphere, eps_r 4", ("concentric-spheres",), coat(4), "m", (("C", c11, 1.6),)),
        ("three charges in a sphere", ("sphere",), charges, "angstrom", (("energy", energy, KCAL * kirkwood["energy"]),)),
        ("sphere over ground", ("sphere",), conductor("a", "sphere") + ground, "m", (("C", c11, over[0] - over[1]),)),
    )
    for name, shape, tables, unit, numbers in problems:
        for order in (1, 2, 3, 4):
            for elements in (300, 1200):
                generated = (*shape, "--elements", elements, "--order", order)
                results = farad.solve(generated, tables, unit, 1e-8, ("--density", "linear"))
                n, seconds = triangles(results), results["timings_s"]["total"]
                for number, value, exact in numbers:
                    found, bar = value(results)
                    error = found / exact - 1
                    observed = table.order(n, error, (name, order, number))
                    bar = f"{bar / abs(exact):.1e}"
                    table.row(f"{name}: {number}", order, f"{n:,}", f"{error:+.1e}", observed, bar, f"{seconds:.1f}")
    return table


def bus(farad):
    """FastCap's bus of 2 x 2 bars of 1 m, first row of the Maxwell matrix in pF"""
    table = Table("triangles", "C11", "C12", "C13", "C14", "largest difference from the published")
    published = (248.2, -85.18, -48.61, -48.61)
    compared = lambda row: f"{max(abs(c / p - 1) for c, p in zip(row, published)):.1e}"
    rows = []
    for elements in (2000, 8000, 32000, 128000):
        results = farad.solve(("bus", "--bars", 2, "--grade", 30, "--elements", elements), tolerance=1e-6)
        rows.append((triangles(results), [1e12 * c for c in results["capacitance"]["maxwell_farad"][0]]))
        table.row(f"{rows[-1][0]:,}", *(f"{c:.4f}" for c in rows[-1][1]), compared(rows[-1][1]))
    # Aitken extrapolation: errors shrink by the same ratio from mesh to mesh.
    limit = [c - (c - b) ** 2 / ((c - b) - (b - a)) for a, b, c in zip(*(row for _, row in rows[-3:]))]
    table.row("extrapolated", *(f"{c:.4f}" for c in limit), compared(limit))
    return table


def coated_sphere(farad):
    """Coated sphere, core 1, coat 2: 1/C = (1/a - 1/b)/eps + 1/b"""
    table = Table("eps_r of the coat", "triangles", "C/(4 pi eps0)", "relative error", "order in h", "iterations")
    for eps in (2, 4, 80, 1e4):
        exact = 1 / (0.5 / eps + 0.5)
        for elements in (1280, 5120, 20480):
            results = farad.solve(concentric("--elements", elements), coat(eps))
            n, c = triangles(results), matrix(results)[0][0]
            error = c / exact - 1
            table.row(f"{eps:g}", f"{n:,}", f"{c:.7f}", f"{error:+.2e}", table.order(n, error, eps), steps(results))
    return table


def equal_volume(farad):
    """Coated and concentric spheres of equal volume, 19,360 triangles in all"""
    table = Table("case", "exact", "C/(4 pi eps0)", "relative error", "iterations")
    shape = concentric("--elements", 20480, "--equal-volume")
    cases = [(f"coated sphere, eps_r {eps:g}", coat(eps), 1 / (0.5 / eps + 0.5)) for eps in (2, 4, 80, 1e4)]
    cases.append(("concentric spheres, eps_r 3 between them", filling(3), 6.0))
    for name, tables, exact in cases:
        results = farad.solve(shape, tables)
        c = matrix(results)[0][0]
        table.row(name, f"{exact:.8g}", f"{c:.7f}", f"{c / exact - 1:+.2e}", steps(results))
    return table


def coated_list(farad):
    """A coated sphere as a FastCap list, eps_r 2: 4/3"""
    table = Table("triangles", "C in pF", "relative error", "order in h", "iterations")
    exact = 1e12 * FOUR_PI_EPS0 * 4 / 3
    for n in (8, 16, 32):
        (farad.folder / "core.qui").write_text(panels(1, n), encoding="utf-8")
        (farad.folder / "coat.qui").write_text(panels(2, n), encoding="utf-8")
        results = farad.solve_file("coated.lst", "C core.qui 2.0 0 0 0\nD coat.qui 1.0 2.0 0 0 0  0 0 0 -\n")
        count, c = triangles(results), 1e12 * results["capacitance"]["maxwell_farad"][0][0]
        error = c / exact - 1
        table.row(f"{count:,}", f"{c:.4f}", f"{error:+.2e}", table.order(count, error), steps(results))
    return table


def uniform_field(farad):
    """A dielectric sphere in a uniform field: polarisability over 4 pi eps0, exact (eps_r - 1)/(eps_r + 2)"""
    table = Table("eps_r", "triangles", "mean of the diagonal", "relative error", "order in h", "error with the sphere's volume", "order in h", "iterations")
    for eps in (0.2, 2, 80, 1e4):
        case = dielectric("sphere", eps) + "[output]\npolarisability = true\n"
        for elements in (1280, 5120, 20480):
            cells = []
            for more in ((), ("--equal-volume",)):
                results = farad.solve(ball("--elements", elements, *more), case)
                n, found = triangles(results), mean_of_diagonal(results)
                error = found / ((eps - 1) / (eps + 2)) - 1
                cells += [f"{found:.6f}"] * (not more) + [f"{error:+.2e}", table.order(n, error, (eps, more))]
            table.row(f"{eps:g}", f"{n:,}", *cells, steps(results))
    return table


def iterations(farad):
    """Iterations under refinement and with the ratio of permittivities, tolerance 1e-6"""
    sizes = (1280, 20480, 327680)
    table = Table("surfaces", "eps_r", *(f"{n:,}" for n in sizes))
    silent = '[output]\nvtk = "none"\n'
    bare = lambda eps: dielectric("sphere", eps) + "[external]\nfield = [1, 2, 3]\n"
    for name, shape, case in (("interface", ball(), bare), ("interface and conductor", concentric(), coat)):
        for eps in (2, 80, 1e4):
            found = [steps(farad.solve((*shape, "--elements", n), case(eps) + silent)) for n in sizes]
            table.row(name, f"{eps:g}", *found)
    return table


def membrane(farad):
    """Spherical membrane, conductors of radius 1 and 1.001 with eps_r = 2 between them, exact 2002"""
    table = Table("facets", "triangles", "C12 error", "order in h", "iterations")
    for facets, more in (("inscribed", ()), ("of the spheres' volume", ("--equal-volume",))):
        for elements in (1280, 5120, 20480):
            shape = concentric("--inner-radius", 1, "--outer-radius", 1.001, "--elements", elements, *more)
            results = farad.solve(shape, filling(2))
            n, error = triangles(results), matrix(results)[0][1] / -2002 - 1
            table.row(facets, f"{n:,}", f"{error:+.2e}", table.order(n, error, facets), steps(results))
    return table


def solvation(farad):
    """Charges in a sphere in water, solvation energy in kcal/mol: Born's formula and Kirkwood's series"""
    table = Table("case", "exact", "triangles", "energy", "relative error", "order in h", "iterations")
    kirkwood = EXACT["kirkwood_three_charges"]
    cases = (
        ("Born, R = 1, eps 1", 1, 1, [[1, 0, 0, 0]], EXACT["born_ion"]["kcal_per_mol_at_1_angstrom"]),
        ("R = 4, charge at (1, 1, 1), eps 4", 4, 4, [[1, 1, 1, 1]], -12.0739037),
        ("three charges, R = 1, eps 2", 1, 2, kirkwood["charges"], KCAL * kirkwood["energy"]),
    )
    for name, radius, eps, charges, exact in cases:
        tables = "[medium]\nrelative_permittivity = 80\n" + dielectric("sphere", eps)
        for charge, *position in charges:
            tables += f'[[charge]]\nposition = {list(map(float, position))}\ncharge = {charge}\nunit = "e"\n'
        for elements in (1280, 5120, 20480):
            results = farad.solve(ball("--radius", radius, "--elements", elements), tables, unit="angstrom")
            n, energy = triangles(results), results["solvation"]["energy_kcal_per_mol"]
            error = energy / exact - 1
            table.row(name, f"{exact:.7f}", f"{n:,}", f"{energy:.6f}", f"{error:+.2e}", table.order(n, error, name), steps(results))
    return table


def molecule(farad):
    """A molecule of 1,000 atoms in water, kcal/mol: differences from mesh to mesh, and the extrapolated value"""
    table = Table("triangles", "energy", "from the extrapolated", "order in h")
    tables = "[medium]\nrelative_permittivity = 80.0\n" + dielectric("molecule", 2.0) + 'charges = "mesh.pqr"\n'
    rows = []
    for elements in (12_500, 24_500, 50_000, 98_000, 196_020):
        results = farad.solve(("molecule", "--atoms", 1000, "--elements", elements), tables, unit="angstrom")
        rows.append((triangles(results), results["solvation"]["energy_kcal_per_mol"]))
    (n, before), (finest, last) = rows[-2:]
    limit = (finest * last - n * before) / (finest - n)
    for i, (n, energy) in enumerate(rows):
        order = f"{power(rows[i - 2 : i + 1]):.2f}" if i > 1 else ""
        table.row(f"{n:,}", f"{energy:.4f}", f"{energy / limit - 1:+.2e}", order)
    return table


def power(rows):
    """The order in h that three energies follow, with errors proportional to N^(-order / 2)."""
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


def polarisability(farad):
    """Polarisability over 4 pi eps0 of uncharged conductors: sphere of radius 1, cube of edge 1 (3.64431/(4 pi), ZENO)"""
    table = Table("body", "exact", "triangles", "mean of the diagonal", "relative error", "order in h", "iterations")
    for name, exact, shape in (
        ("sphere", 1.0, ball()),
        ("cube, graded 1:100", 3.64431 / (4 * math.pi), ("cube", "--grade", 100)),
    ):
        for elements in (1280, 5120, 20480):
            results = farad.solve((*shape, "--elements", elements), "[output]\npolarisability = true\n")
            n, mean = triangles(results), mean_of_diagonal(results)
            error = mean / exact - 1
            table.row(name, f"{exact:.6f}", f"{n:,}", f"{mean:.6f}", f"{error:+.2e}", table.order(n, error, name), steps(results))
    return table


def charge_and_sphere(farad):
    """Force of a unit charge at 3 on a grounded unit sphere, exact 3/64 in units of q^2/(4 pi eps0)"""
    table = Table("triangles", "force", "relative error", "order in h")
    charge = f"[[charge]]\nposition = [3, 0, 0]\ncharge = {FOUR_PI_EPS0}\n[output]\nforces = true\n"
    for elements in (1280, 5120, 20480):
        results = farad.solve(ball("--elements", elements), conductor("a", "sphere") + charge)
        n, force = triangles(results), results["forces"][0]["force_n"][0] / FOUR_PI_EPS0
        error = force / (3 / 64) - 1
        table.row(f"{n:,}", f"{force:.7f}", f"{error:+.2e}", table.order(n, error))
    return table


def forces_of_two(farad):
    """Force between two unit spheres at given potentials, centres 3 apart, over 4 pi eps0"""
    table = Table("potentials", "exact", "triangles", "force", "relative error", "order in h", "error with the spheres' volume", "order in h")
    for pair in ((1, 0), (1, 1), (1, -1)):

        def energy(distance):
            c11, c12 = series_two_spheres(distance)
            return 0.5 * c11 * (pair[0] ** 2 + pair[1] ** 2) + c12 * pair[0] * pair[1]

        exact = slope(energy, 3)
        held = "".join(conductor(g, g, f"potential = {v}\n") for g, v in zip(("left", "right"), pair))
        for elements in (2560, 10240, 40960):
            cells = []
            for more in ((), ("--equal-volume",)):
                shape = ("two-spheres", "--distance", 3, "--base", "icosahedron", *more, "--elements", elements)
                results = farad.solve(shape, held + "[output]\nforces = true\n")
                n, force = triangles(results), results["forces"][1]["force_n"][0] / FOUR_PI_EPS0
                error = force / exact - 1
                cells += [f"{force:.7f}"] * (not more) + [f"{error:+.2e}", table.order(n, error, (pair, more))]
            table.row(f"{pair[0]}, {pair[1]}", f"{exact:.7f}", f"{n:,}", *cells)
    return table


def sphere_over_plane(farad):
    """Unit sphere over a grounded plane, centre at 1.5, by images: C and the force at 1 V against the series"""
    table = Table("triangles", "C error", "order in h", "force error", "order in h", "iterations")
    capacitance = lambda height: (lambda c: c[0] - c[1])(series_two_spheres(2 * height))
    exact = capacitance(1.5), slope(capacitance, 1.5) / 2
    case = conductor("a", "sphere", "potential = 1\n") + '[[plane]]\naxis = "z"\nat = -1.5\nkind = "ground"\n[output]\nforces = true\n'
    for elements in (1280, 5120, 20480):
        results = farad.solve(ball("--elements", elements), case)
        n, cells = triangles(results), []
        found = matrix(results)[0][0], results["forces"][0]["force_n"][2] / FOUR_PI_EPS0
        for key in range(2):
            error = found[key] / exact[key] - 1
            cells += [f"{error:+.2e}", table.order(n, error, key)]
        table.row(f"{n:,}", *cells, steps(results))
    return table


def panels(radius, n):
    """A sphere of 8 n^2 triangles as FastCap's panels."""
    lines = ["0 sphere"]
    for octant in range(8):
        sign = [-radius if octant >> k & 1 else radius for k in range(3)]

        def point(i, j):
            x = (i, j, n - i - j)
            r = math.hypot(*x)
            return " ".join(repr(s * v / r) for s, v in zip(sign, x))

        for i in range(n):
            for j in range(n - i):
                lines.append(f"T 1 {point(i, j)} {point(i + 1, j)} {point(i, j + 1)}")
                if i + j + 1 < n:
                    lines.append(f"T 1 {point(i, j + 1)} {point(i + 1, j)} {point(i + 1, j + 1)}")
    return "\n".join(lines) + "\n"


def nested(farad):
    """A sphere of radius 1 in a shell of radius 2, and one outside at 4: entries that the shell should make zero, over the diagonal"""
    table = Table("shell", "triangles", "C_inner,outside", "order in h", "C_inner,inner + C_inner,shell", "order in h")
    for name, shell in (("its outer surface alone", ""), ("hollow, both surfaces", "C cavity.qui 1 0 0 0 +\n")):
        for n in (6, 12, 24):
            for surface, radius, parts in (("inner", 1, n), ("shell", 2, 2 * n), ("cavity", 1.6, 2 * n)):
                (farad.folder / f"{surface}.qui").write_text(panels(radius, parts), encoding="utf-8")
            text = f"C inner.qui 1 0 0 0\n{shell}C shell.qui 1 0 0 0\nC inner.qui 1 4 0 0\n"
            results = farad.solve_file("nested.lst", text)
            row, cells = matrix(results)[0], []
            for key, leak in enumerate((abs(row[2]) / row[0], abs(row[0] + row[1]) / row[0])):
                # With both surfaces the rest is due to the solver tolerance, and has no order.
                order = "" if shell else table.order(triangles(results), leak, key)
                cells += [f"{leak:.1e}", order]
            table.row(name, f"{triangles(results):,}", *cells)
    return table


def lines(farad):
    """Potential of a unit sphere at 1 V along lines of 1,001 points that pass it, and go through it; on the sphere for comparison"""
    table = Table("triangles", "where", "largest error", "second difference, found", "exact")
    for elements in (1280, 5120, 20480):
        height = 1 + 1e-3 * math.sqrt(4 * math.pi / elements)
        # Points on the sphere, evenly, by the golden angle.
        turns = [(1 - (2 * k + 1) / 1001, math.pi * (3 - math.sqrt(5)) * k) for k in range(1001)]
        points = [(math.sqrt(1 - z * z) * math.cos(a), math.sqrt(1 - z * z) * math.sin(a), z) for z, a in turns]
        (farad.folder / "sphere.csv").write_text("\n".join(",".join(map(repr, p)) for p in points), encoding="utf-8")
        probe = lambda name, where: f'[[probe]]\nname = "{name}"\n{where}\n'
        line = lambda low, high: f"from = {low}\nto = {high}\ncount = 1001"
        case = conductor("a", "sphere", "potential = 1\n")
        case += probe("on", 'file = "sphere.csv"')
        case += probe("through", line([0.13, 0.21, 0.8], [0.16, 0.26, 1.2]))
        case += probe("above", line([-0.05, 0.01, height], [0.05, 0.01, height]))
        results = farad.solve(ball("--elements", elements), case)
        for name, where in (("on", "on the sphere"), ("through", "through it"), ("above", "a thousandth of an element above its top")):
            text = (farad.folder / f"case.out/probe_{name}.csv").read_text(encoding="utf-8")
            rows = [list(map(float, row.split(","))) for row in text.splitlines()[1:]]
            found, exact = [row[3] for row in rows], [1 / max(1.0, math.hypot(*row[:3])) for row in rows]
            second = lambda v: f"{max(abs(v[i - 1] - 2 * v[i] + v[i + 1]) for i in range(1, len(v) - 1)):.1e}"
            cells = ("", "") if name == "on" else (second(found), second(exact))
            table.row(f"{triangles(results):,}", where, f"{max(abs(a - b) for a, b in zip(found, exact)):.1e}", *cells)
    return table


def fmm(farad):
    """Fast sums compared with direct ones: relative L2 error, 1e5 points, charges of random sign"""
    distributions = ("cube", "sphere", "plummer", "graded-plate")
    table = Table("tolerance", *distributions)
    for digits in range(2, 12):
        errors = []
        for distribution in distributions:
            options = ("--points", 100_000, "--distribution", distribution, "--tolerance", f"1e-{digits}", "--repeat", 1)
            errors.append(f"{json.loads(farad.run('fmm', 'bench', *options, '--json'))['relative_l2_error']:.1e}")
        table.row(f"1e-{digits}", *errors)
    return table


# The tables in the order of docs/validation.md.
PARTS = (
    sphere, cube, graded_cube, disk, plate, two_spheres, close_spheres, torus, curved, bus,
    coated_sphere, equal_volume, coated_list, uniform_field, iterations, membrane, solvation, molecule,
    polarisability, charge_and_sphere, forces_of_two, sphere_over_plane, nested, lines,
    fmm,
)  # fmt: skip


def replace(page, name, table):
    """Puts a table between its markers."""
    text = page.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- validation\.py: {name} -->\n).*?(\n<!-- end of {name} -->)", re.DOTALL)
    if not pattern.search(text):
        sys.exit(f"{page} has no lines '<!-- validation.py: {name} -->' and '<!-- end of {name} -->'")
    page.write_text(pattern.sub(lambda found: "\n".join([found[1], *table.lines, found[2]]), text), encoding="utf-8")


def main(arguments):
    page = None
    if arguments[:1] == ["--into"]:
        page, arguments = Path(arguments[1]), arguments[2:]
    program = Path(arguments[0] if arguments else ROOT / "target/release/farad").resolve()
    known = {part.__name__: part for part in PARTS}
    names = arguments[1:] or list(known)
    unknown = [name for name in names if name not in known]
    if unknown or any(name.startswith("-") for name in arguments):
        sys.exit(f"{__doc__}\nParts: {', '.join(known)}")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            print(f"\n**{known[name].__doc__}** ({name})\n", flush=True)
            table = known[name](Farad(str(program), Path(folder)))
        if page:
            replace(page, name, table)


if __name__ == "__main__":
    main(sys.argv[1:])
