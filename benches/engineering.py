#!/usr/bin/env python3
"""Engineering cases on Gmsh's default meshes: `farad solve --accuracy` compared with uniform refinement.

    cargo build --release
    python3 benches/engineering.py [--keep DIR] [FARAD [PART ...]]

FARAD is the program (target/release/farad), PART the name of a table; without PART all tables are measured, in about half an hour on two
cores. Meshes, cases, progress and results stay in DIR. Needs the Python module of Gmsh (pip install gmsh).

No mesh is graded by hand: Gmsh gets the geometry and chooses sizes itself. Errors are the largest of all entries of the Maxwell matrix,
relative to the smaller diagonal of the two conductors, or those of the energy relative to itself. References are closed forms, or
values of meshes graded by hand or refined much further; the comment of each says which.
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from validation import KCAL, ROOT, Table, coat, conductor, dielectric, filling, series_two_spheres

ACCURACY = 1e-3
LONGEST = 150


class Farad:
    """The program in a folder of its own; a run that fails is a result, too."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder

    def run(self, *arguments, limit=600):
        command = ["nice", "-n", "10", self.program, *map(str, arguments)]
        try:
            return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, -1, "", f"more than {limit} s")

    def solve(self, name, *options):
        """Results and seconds; of a run that fails the message."""
        start = time.monotonic()
        done = self.run("solve", f"{name}.toml", "--json", "--overwrite", *options, limit=2 * LONGEST)
        seconds = time.monotonic() - start
        (self.folder / f"{name}.log").write_text(f"{options}\nexit {done.returncode}, {seconds:.1f} s\n{done.stderr}", encoding="utf-8")
        try:
            results = json.loads(done.stdout)
        except ValueError:
            return None, seconds, done.stderr.strip()
        if results["schema"] == "farad-error/1":
            return None, seconds, results["message"]
        return results, seconds, results["status"]


class Case:
    """A mesh, the tables of its case, and what is known of its answer."""

    def __init__(self, name, mesh, tables="", unit="um", exact=None, value=None):
        self.name = name
        self.mesh = mesh
        self.tables = tables
        self.unit = unit
        self.exact = exact
        self.value = value or worst_entry

    def write(self, folder, mesh=None):
        mesh = mesh or f"{self.name}.msh"
        case = f'format = 1\n[mesh]\nfile = "{mesh}"\nunit = "{self.unit}"\n{self.tables}'
        (folder / f"{self.name}.toml").write_text(case, encoding="utf-8")

    def judged(self, results):
        """Value, bar and error of the worst number; the error is None where no exact value is known."""
        return self.value(results, self.exact)


def worst_entry(results, exact):
    """The entry with the largest error relative to the smaller diagonal. `exact` maps (i, j) to a value."""
    found = results["capacitance"]["maxwell_over_4pi_eps0"]
    bars = results["capacitance"]["maxwell_over_4pi_eps0_error"]
    scale = lambda i, j: min(abs(found[i][i]), abs(found[j][j]))
    bar = max(bars[i][j] / scale(i, j) for i in range(len(found)) for j in range(len(found))) if bars else math.nan
    if exact is None:
        return found[0][0], bar, math.nan, math.nan
    error, (i, j) = max((abs(found[i][j] - v) / scale(i, j), (i, j)) for (i, j), v in exact.items())
    return found[i][j], bar, error, (bars[i][j] / scale(i, j) if bars else math.nan)


def energy(results, exact):
    found, bar = results["solvation"]["energy_kcal_per_mol"], results["solvation"]["energy_error_kcal_per_mol"]
    bar = abs(bar / found) if bar is not None else math.nan
    return found, bar, abs(found / exact - 1), bar


# Meshes by Gmsh.


class Drawing:
    """A geometry of Gmsh's OpenCASCADE kernel, meshed with the default sizes."""

    def __init__(self):
        import gmsh

        self.gmsh = gmsh
        gmsh.initialize()
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.model.add("case")
        self.occ = gmsh.model.occ

    def surface(self, volumes):
        return [tag for _, tag in self.gmsh.model.getBoundary([(3, v) for v in volumes], oriented=False)]

    def group(self, name, faces):
        tag = self.gmsh.model.addPhysicalGroup(2, faces)
        self.gmsh.model.setPhysicalName(2, tag, name)

    def write(self, path, order=1, **options):
        for key, number in options.items():
            self.gmsh.option.setNumber(f"Mesh.{key}", number)
        self.gmsh.option.setNumber("Mesh.ElementOrder", order)
        self.gmsh.model.mesh.generate(2)
        self.gmsh.write(str(path))
        self.gmsh.finalize()


def bodies(path, order, volumes, **options):
    """Bodies that `volumes` draws, each a group."""
    drawing = Drawing()
    tags = {name: add(drawing.occ) for name, add in volumes.items()}
    drawing.occ.synchronize()
    for name, tag in tags.items():
        drawing.group(name, drawing.surface([tag]))
    drawing.write(path, order, **options)


def bus_mesh(path, n=4, gap=1.0):
    """FastCap's bus: n bars of 1 x 1 x (2 n + 1) below n others."""
    length = 2 * n + 1
    volumes = {}
    for k in range(n):
        at = -length / 2 + 1 + 2 * k
        volumes[f"x{k + 1}"] = lambda occ, at=at: occ.addBox(-length / 2, at, -gap / 2 - 1, length, 1, 1)
        volumes[f"y{k + 1}"] = lambda occ, at=at: occ.addBox(at, -length / 2, gap / 2, 1, length, 1)
    bodies(path, 1, volumes)


def films_mesh(path, side=1000, gap=1):
    drawing = Drawing()
    tags = {name: drawing.occ.addRectangle(-side / 2, -side / 2, z, side, side) for name, z in (("top", gap / 2), ("bottom", -gap / 2))}
    drawing.occ.synchronize()
    for name, tag in tags.items():
        drawing.group(name, [tag])
    drawing.write(path)


def plates_mesh(path, side=1000, gap=1, thick=1):
    box = lambda z: lambda occ: occ.addBox(-side / 2, -side / 2, z, side, side, thick)
    bodies(path, 1, {"top": box(gap / 2), "bottom": box(-gap / 2 - thick)})


def via_mesh(path, order=1, **options):
    """A cylinder of radius 0.5 and length 3 through a hole of radius 1 in a plate of 10 x 10 x 0.5."""

    def plate(occ):
        box, hole = occ.addBox(-5, -5, -0.25, 10, 10, 0.5), occ.addCylinder(0, 0, -1, 0, 0, 2, 1)
        return occ.cut([(3, box)], [(3, hole)])[0][0][1]

    bodies(path, order, {"plane": plate, "via": lambda occ: occ.addCylinder(0, 0, -1.5, 0, 0, 3, 0.5)}, **options)


def interdigital_mesh(path, fingers=5, width=10, length=100, depth=100, margin=60):
    """Two combs of films on a block: fingers of `width`, gaps of `width`, on spines of `width`."""
    drawing = Drawing()
    occ = drawing.occ
    pitch, across = 2 * width, 2 * width * (2 * fingers - 1) + width
    combs = []
    for odd in (0, 1):
        parts = [(2, occ.addRectangle(-across / 2 + pitch * k, -length / 2 + odd * width, 0, width, length)) for k in range(odd, 2 * fingers, 2)]
        parts.append((2, occ.addRectangle(-across / 2, length / 2 + width if odd else -length / 2 - width, 0, across, width)))
        combs.append(occ.fuse(parts[:1], parts[1:])[0])
    side, up = across + 2 * margin, length + 3 * width + 2 * margin
    block = occ.addBox(-side / 2, -up / 2 + width / 2, -depth, side, up, depth)
    made = occ.fragment([(3, block)], combs[0] + combs[1])[1]
    occ.synchronize()
    metal = [[tag for _, tag in part] for part in made[1:]]
    drawing.group("a", metal[0])
    drawing.group("b", metal[1])
    drawing.group("bare", [tag for tag in drawing.surface([tag for _, tag in made[0]]) if tag not in metal[0] + metal[1]])
    drawing.write(path)


def ball(x=0.0, radius=1.0):
    return lambda occ: occ.addSphere(x, 0, 0, radius)


# References, C/(4 pi eps0) in the unit of the mesh.

# The rows of an outer and an inner bar (x1 and x2 to x1, y1, x2, y2, ..., y4): --accuracy 1e-4, 17,870 triangles, bars 1e-4.
OUTER = (3.67362, -0.440456, -1.246675, -0.364091, -0.109453, -0.364087, -0.071519, -0.440457)
INNER = (-1.246675, -0.364091, 4.24262, -0.294308, -1.203520, -0.294308, -0.109453, -0.364091)
# By symmetry the row of x4 is that of x1 backwards, and x and y change places.
BUS = {(0, j): OUTER[j] for j in range(8)} | {(2, j): INNER[j] for j in range(8)}

# Quarters with two planes of symmetry, rectangles graded 1:10,000 toward the edges, linear densities: 2,916 and 2,816 triangles, bars 1.2 and 3.
FILMS = (80124.8, -79941.0)
PLATES = (80197.0, -80011.5)

# The polyhedron that Gmsh makes: --accuracy 1e-4, 8,340 triangles. The round one: Mesh.MeshSizeFromCurvature = 16 and --accuracy 3e-4.
VIA = {(0, 0): 5.43455, (0, 1): -1.60204, (1, 0): -1.60204, (1, 1): 1.73927}
VIA_ROUND = {(0, 0): 5.5342, (0, 1): -1.71096, (1, 0): -1.71096, (1, 1): 1.85806}

# --accuracy 1e-4, 9,356 triangles, bars 9e-5.
INTERDIGITAL = {(0, 0): 602.781, (0, 1): -545.869, (1, 0): -545.869, (1, 1): 602.781}


# Cases.


def symmetric(*rows):
    """Entries of two equal conductors."""
    (c11, c12), = rows
    return {(0, 0): c11, (0, 1): c12, (1, 0): c12, (1, 1): c11}


def kirkwood(radius, at, inside, outside):
    """Energy of a unit charge off the centre of a sphere, in kcal/mol and angstrom."""
    term = lambda k: (k + 1) * (inside - outside) / (inside * ((k + 1) * outside + k * inside)) * (at / radius) ** (2 * k) / radius
    return KCAL / 2 * sum(term(k) for k in range(2000))


def ion(at):
    more = f'[[charge]]\nposition = [{at}, 0, 0]\ncharge = 1\nunit = "e"\n'
    return "[medium]\nrelative_permittivity = 78.5\n" + dielectric("sphere", 4) + more


def bus():
    return Case("bus", bus_mesh, exact=BUS)


def films():
    return Case("films", films_mesh, exact=symmetric(FILMS))


def plates():
    return Case("plates", plates_mesh, exact=symmetric(PLATES))


def via():
    return Case("via", via_mesh, exact=VIA)


def via_round():
    return Case("via_round", lambda path: via_mesh(path, 2), exact=VIA_ROUND)


def interdigital():
    tables = 'name = "substrate"\nrelative_permittivity = 11.7\ngroup = ["a", "b", "bare"]\n'
    return Case("interdigital", interdigital_mesh, f"[[dielectric]]\n{tables}" + conductor("a", "a") + conductor("b", "b"), exact=INTERDIGITAL)


def born():
    return Case("born", lambda path: bodies(path, 2, {"sphere": ball(0, 2.0)}), ion(0), "angstrom", kirkwood(2, 0, 4, 78.5), energy)


def off_centre():
    return Case("off_centre", lambda path: bodies(path, 2, {"sphere": ball(0, 2.0)}), ion(1), "angstrom", kirkwood(2, 1, 4, 78.5), energy)


def coated():
    mesh = lambda path: bodies(path, 2, {"inner": ball(0, 1.0), "outer": ball(0, 2.0)})
    return Case("coated", mesh, coat(4), "m", {(0, 0): 1.6})


def membrane():
    """Curved triangles of Gmsh's default size go through each other here, so the mesh is Farad's."""
    outer = 1.001 * 2 / 0.001
    shape = ("concentric-spheres", "--inner-radius", 1, "--outer-radius", 1.001)
    return Case("membrane", shape, filling(2), "m", {(0, 0): outer, (0, 1): -outer, (1, 0): -outer, (1, 1): outer + 1.001})


def close_spheres():
    mesh = lambda path: bodies(path, 2, {"left": ball(-1.005), "right": ball(1.005)})
    return Case("close_spheres", mesh, "", "m", symmetric(series_two_spheres(2.01)))


def made(farad, case):
    """The mesh and the case file."""
    path = farad.folder / f"{case.name}.msh"
    if callable(case.mesh):
        case.mesh(path)
    else:
        farad.run("mesh", "generate", *case.mesh, "--order", 2, "--elements", 320, "-o", path, "--overwrite")
    case.write(farad.folder)


def row(table, case, way, results, seconds, status):
    if results is None:
        table.row(case.name, way, "", "", f"{seconds:.1f}", status.replace("\n", " ")[:80], "", "", "")
        return math.inf
    n = results["mesh"]["triangles"]
    value, bar, error, its_bar = case.judged(results)
    unknowns = n * (3 if results["solver"]["density"] == "linear" else 1)
    mark = "" if not error > its_bar else f"{error / its_bar:.1f} bars"
    status = "" if status == "complete" else status
    table.row(case.name, way, f"{n:,}", f"{unknowns:,}", f"{seconds:.1f}", f"{value:.7g}", f"{bar:.1e}", f"{error:.1e}", f"{mark} {status}".strip())
    return error


def compare(farad, case, table):
    """By accuracy, then by uniform refinement until the true error is as asked."""
    made(farad, case)
    results, seconds, status = farad.solve(case.name, "--accuracy", ACCURACY, "--max-time", LONGEST)
    row(table, case, "accuracy", results, seconds, status)
    for density in ("constant", "linear"):
        case.write(farad.folder)
        mesh = f"{case.name}.msh"
        while True:
            results, seconds, status = farad.solve(case.name, "--density", density, "--tolerance", 1e-4)
            error = row(table, case, f"uniform, {density}", results, seconds, status)
            if results is None or not error > ACCURACY or 5 * seconds > LONGEST:
                break
            finer = f"{case.name}_{4 * results['mesh']['triangles']}.msh"
            farad.run("mesh", "refine", mesh, "-o", finer, "--overwrite")
            mesh = finer
            case.write(farad.folder, mesh)


def orders(farad, only=None):
    """Orders in h of the closed forms on Farad's meshes, linear densities, tolerance 1e-6 (thin shell 1e-4)"""
    table = Table("problem", "order", "triangles", "error", "order in h", "bar", "seconds")
    problems = (
        (born(), ("sphere", "--radius", 2)),
        (off_centre(), ("sphere", "--radius", 2)),
        (coated(), ("concentric-spheres",)),
        (membrane(), membrane().mesh),
        (close_spheres(), ("two-spheres", "--distance", 2.01)),
    )
    for case, shape in problems:
        if only and case.name not in only:
            continue
        for order in (1, 2, 4):
            for elements in (300, 1200):
                farad.run("mesh", "generate", *shape, "--order", order, "--elements", elements, "-o", f"{case.name}.msh", "--overwrite")
                case.write(farad.folder)
                tolerance = 1e-4 if case.name == "membrane" else 1e-6
                results, seconds, status = farad.solve(case.name, "--density", "linear", "--tolerance", tolerance)
                if results is None:
                    table.row(case.name, order, elements, status.replace("\n", " ")[:90], "", "", f"{seconds:.1f}")
                    continue
                n = results["mesh"]["triangles"]
                _, bar, error, _ = case.judged(results)
                observed = table.order(n, error, (case.name, order))
                table.row(case.name, order, f"{n:,}", f"{error:.1e}", observed, f"{bar:.1e}", f"{seconds:.1f}")


CASES = (bus, films, plates, via, via_round, interdigital, born, off_centre, coated, membrane, close_spheres)


def main(arguments):
    keep = None
    if arguments[:1] == ["--keep"]:
        keep, arguments = Path(arguments[1]), arguments[2:]
    program = Path(arguments[0] if arguments else ROOT / "target/release/farad").resolve()
    known = {part.__name__: part for part in (*CASES, orders)}
    names = arguments[1:] or list(known)
    if any(name not in known for name in names):
        sys.exit(f"{__doc__}\nParts: {', '.join(known)}")
    with tempfile.TemporaryDirectory() as folder:
        folder = keep or Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        farad = Farad(str(program), folder)
        table = None
        for name in names:
            if name == "orders":
                orders(farad)
                continue
            table = table or Table("case", "way", "triangles", "unknowns", "seconds", "value", "bar", "true error", "")
            compare(farad, known[name](), table)


if __name__ == "__main__":
    main(sys.argv[1:])
