#!/usr/bin/env python3
"""Measures how often error bars hold, and what accuracies take.

    cargo build --release
    python3 benches/bars.py [--jobs N] [--into docs/validation.md] [FARAD [bars | sizes | accuracy]]

`bars`: problems of all kinds on their coarsest meshes, each with both densities at several accuracies and without any, against a
run that is ten times as exact as the most exact of these, N problems at a time. `sizes`: the same of boxes and balls stretched along
each axis, anew each time. `accuracy`: what it takes to reach an accuracy. `bars` and `accuracy` together take about ten minutes on two
cores. Tables go to standard output; with --into they also replace those between the markers of that file. By kind of number: kinds.py.
"""

import csv
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from validation import EXACT, ROOT, Table, conductor, replace

ACCURACIES = (3e-2, 1e-2, 3e-3)

# Of the most exact of these, that of the reference; seconds that it may take.
REFERENCE = 0.1
LIMIT = 100


def box(corner, size):
    """Corners and triangles of a box."""
    points = [tuple(corner[k] + size[k] * (i >> k & 1) for k in range(3)) for i in range(8)]
    faces = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
    return points, [t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))]


def film(x, y, width, height, z):
    """A rectangle of two triangles."""
    points = [(x, y, z), (x + width, y, z), (x + width, y + height, z), (x, y + height, z)]
    return points, [(0, 1, 2), (0, 2, 3)]


def ball(radius, at, rounds=2):
    """A sphere of triangles between points of it."""
    g = (1 + math.sqrt(5)) / 2
    points = [p for a in (-1, 1) for b in (-g, g) for p in ((0, a, b), (a, b, 0), (b, 0, a))]
    near = {(i, j) for i in range(12) for j in range(12) if abs(math.dist(points[i], points[j]) - 2) < 1e-9}
    faces = [(i, j, k) for i, j in near for k in range(j + 1, 12) if i < j and {(i, k), (j, k)} <= near]
    for _ in range(rounds):
        middles = {}

        def middle(i, j):
            key = (min(i, j), max(i, j))
            if key not in middles:
                points.append(tuple((a + b) / 2 for a, b in zip(points[i], points[j])))
                middles[key] = len(points) - 1
            return middles[key]

        parts = []
        for a, b, c in faces:
            ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
            parts += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = parts
    points = [tuple(radius * x / math.hypot(*p) for x in p) for p in points]

    def out(face):
        a, b, c = (points[v] for v in face)
        u, v = ([q[k] - a[k] for k in range(3)] for q in (b, c))
        normal = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
        return face if sum(n * (x + y + z) for n, x, y, z in zip(normal, a, b, c)) > 0 else face[::-1]

    faces = [out(face) for face in faces]
    return [tuple(x + y for x, y in zip(p, at)) for p in points], faces


def gmsh(**surfaces):
    """A mesh in Gmsh's format, one physical group a surface."""
    points, triangles = [], []
    for group, (own, faces) in enumerate(surfaces.values(), 1):
        triangles += [(group, *(len(points) + v + 1 for v in face)) for face in faces]
        points += own
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", len(surfaces)]
    lines += [f'2 {k} "{name}"' for k, name in enumerate(surfaces, 1)]
    lines += ["$EndPhysicalNames", "$Nodes", len(points)]
    lines += [f"{k} {x!r} {y!r} {z!r}" for k, (x, y, z) in enumerate(points, 1)]
    lines += ["$EndNodes", "$Elements", len(triangles)]
    lines += [f"{k} 2 2 {g} {g} {a} {b} {c}" for k, (g, a, b, c) in enumerate(triangles, 1)]
    return "\n".join(map(str, lines + ["$EndElements", ""]))


def glass(group, eps):
    return f'[[dielectric]]\nname = "{group}"\nrelative_permittivity = {eps}\ngroup = "{group}"\n'


def charge(x, y, z, amount=1):
    return f'[[charge]]\nposition = [{x}, {y}, {z}]\ncharge = {amount}\nunit = "e"\n'


def plane(axis, at, kind):
    return f'[[plane]]\naxis = "{axis}"\nat = {at}\nkind = "{kind}"\n'


def line(*ends):
    """A probe."""
    return f'[[probe]]\nname = "line"\nfrom = {list(ends[0])}\nto = {list(ends[1])}\ncount = 20\n'


def held(name, volt):
    return conductor(name, name, f"potential = {volt}") + "\n"


A, B, C = (conductor(name, name) + "\n" for name in "abc")
SPHERE, LEFT, RIGHT, DISK, CYLINDER, TORUS = (
    conductor(name, name) + "\n" for name in ("sphere", "left", "right", "disk", "cylinder", "torus")
)
FORCES = "[output]\nforces = true\n"
CUBE = box((0, 0, 0), (1, 1, 1))
SQUARE = film(0, 0, 1, 1, 0)
LINE, LINE_TOO = box((0, 1.1, 0.3), (60, 0.9, 0.16)), box((0, 0, 0.3), (60, 0.92, 0.16))
SLAB = box((-70, -75, -40), (200, 150, 40))

# Name, surfaces, tables of the case.
PROBLEMS = (
    ("cube", {"a": CUBE}, A),
    ("brick 1:2:5", {"a": box((0, 0, 0), (1, 2, 5))}, A),
    ("square film", {"a": SQUARE}, A),
    ("strip 10:1", {"a": film(0, 0, 10, 1, 0)}, A),
    ("two boxes", {"a": CUBE, "b": box((1.3, 0.2, -0.1), (1, 2, 1))}, A + B),
    ("films, gap 0.1", {"a": SQUARE, "b": film(0, 0, 1, 1, 0.1)}, A + B),
    ("crossing bars", {"a": box((0, -2, 0), (0.3, 4.3, 0.3)), "b": box((-2, 0, 0.6), (4.3, 0.3, 0.3))}, A + B),
    ("cubes over film", {"a": CUBE, "b": box((2, 0, 0), (1, 1, 1)), "c": film(-1, -1, 5, 3, -0.5)}, A + B + C),
    ("cube over ground", {"a": CUBE}, A + plane("z", -0.5, "ground")),
    ("half a film", {"a": SQUARE}, A + plane("x", 0, "symmetric")),
    ("cube in glass", {"a": CUBE, "coat": box((-0.3, -0.3, -0.3), (1.6, 1.6, 1.6))}, A + glass("coat", 4)),
    ("cube next to glass", {"a": CUBE, "slab": box((1.2, 0, 0), (0.3, 1, 1))}, A + glass("slab", 6)),
    ("charge in eps 10", {"slab": CUBE}, glass("slab", 10) + charge(0.5, 0.4, 0.6)),
    (
        "two charges, 2 in 80",
        {"slab": CUBE},
        "[medium]\nrelative_permittivity = 80\n" + glass("slab", 2) + charge(0.7, 0.4, 0.3) + charge(0.3, 0.4, 0.5, -1),
    ),
    ("charge next to glass", {"slab": CUBE}, glass("slab", 5) + charge(1.4, 0.5, 0.5)),
    ("floating cube, charge", {"a": CUBE}, conductor("a", "a", "charge = 0") + "\n" + charge(1.5, 0.5, 0.5)),
    (
        "boxes: forces, probe",
        {"a": CUBE, "b": box((1.3, 0.2, -0.1), (1, 2, 1))},
        FORCES + held("a", 1) + held("b", -0.5) + line((-0.2, 1.2, 0.4), (3, -1, 2)),
    ),
    (
        "glass: forces, probe",
        {"a": CUBE, "slab": box((1.2, 0, 0), (0.3, 1, 1))},
        FORCES + held("a", 1) + glass("slab", 6) + line((-0.2, 1.2, 0.4), (3, -1, 2)),
    ),
    (
        "floating: forces, probe",
        {"a": CUBE, "b": box((0, 0, 1.4), (1, 1, 0.5))},
        FORCES + held("a", 1) + conductor("b", "b", "charge = 0") + "\n" + charge(1.5, 0.5, 0.5) + line((0.5, 0.4, 1.2), (3, 3, 2)),
    ),
    # Large triangles next to small things.
    ("bars over slab", {"a": LINE, "b": LINE_TOO, "slab": SLAB}, A + B + glass("slab", 8)),
    ("bars over plate", {"a": LINE, "b": LINE_TOO, "c": SLAB}, A + B + C),
    ("bar in a layer", {"a": LINE, "slab": box((-70, -75, -1), (200, 150, 2.1))}, A + glass("slab", 30)),
    ("plate over layer", {"a": box((0, 0, 0.1), (10, 7, 0.5)), "slab": box((-10, -12, -0.2), (33, 30, 0.2))}, A + glass("slab", 100)),
    ("balls over slab", {"a": ball(1, (0, 0, 1.05)), "b": ball(0.3, (2, 0.5, 0.33)), "slab": box((-9, -8, -5), (19, 16, 5))}, A + B + glass("slab", 4)),
    ("needle over slab", {"a": box((0, 0, 0.02), (20, 0.1, 0.1)), "slab": box((-30, -33, -9), (77, 60, 9))}, A + glass("slab", 2)),
    ("needle and plate", {"a": box((3, 4, 0.05), (0.1, 0.1, 9)), "b": box((-30, -33, -1), (77, 60, 1))}, A + B),
    ("curved sphere", "sphere --elements 72 --order 2", SPHERE),
    ("curved spheres, gap 0.1", "two-spheres --distance 2.1 --elements 144 --order 2", LEFT + RIGHT),
    ("curved disk", "disk --elements 24 --order 2", DISK),
    ("curved cylinder", "cylinder --elements 100 --order 3", CYLINDER),
    ("curved torus", "torus --elements 160 --order 4", TORUS),
    ("curved glass, charge", "sphere --elements 128 --order 2", glass("sphere", 4) + charge(0.3, 0.2, 0.4)),
    ("bars of a bus", "bus", None),
    ("plate capacitor", "plates", None),
    ("sphere in a coat", "coated_sphere", None),
    ("Kirkwood's sphere", "kirkwood", None),
    ("molecule", "molecule", None),
)


def case(program, folder, surfaces, tables):
    """The path of a case on surfaces made here or by `farad mesh generate`, or of one that is shipped."""
    if tables is None:
        return ROOT / f"cases/{surfaces}.toml"
    if isinstance(surfaces, str):
        make = [program, "mesh", "generate", *surfaces.split(), "-o", str(folder / "mesh.msh"), "--overwrite"]
        subprocess.run(make, check=True, capture_output=True)
    else:
        (folder / "mesh.msh").write_text(gmsh(**surfaces), encoding="utf-8")
    unit = "nm" if "[[charge]]" in tables else "mm"
    text = f'format = 1\n[mesh]\nfile = "mesh.msh"\nunit = "{unit}"\n{tables}'
    (folder / "case.toml").write_text(text, encoding="utf-8")
    return folder / "case.toml"


DENSITIES = ("constant", "linear")


def solve(program, path, folder, accuracy=None, of=None, density=None, limit=LIMIT):
    """Results and seconds; what is not reached in time is partial."""
    options = [] if accuracy is None else ["--accuracy", str(accuracy), "--max-time", str(limit)]
    options += [] if of is None else ["--accuracy-of", of]
    options += [] if density is None else ["--density", density]
    begun = time.monotonic()
    arguments = [program, "solve", str(path), "-o", str(folder / "out"), "--overwrite", "--json", *options]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(arguments)}\n{done.stderr}")
    seconds = time.monotonic() - begun
    results = json.loads(done.stdout)
    for probe in results["probes"] or []:
        with open(folder / "out" / probe["file"], encoding="utf-8", newline="") as file:
            probe["rows"] = [[float(cell) for cell in row] for row in list(csv.reader(file))[1:]]
    return results, seconds


def numbers(results):
    """Name, value and bar of every number that has one, or should have."""
    capacitance = results["capacitance"]
    for i, row in enumerate(capacitance["maxwell_farad"]):
        for j, value in enumerate(row):
            yield f"C{i}{j}", value, capacitance["maxwell_farad_error"][i][j]
    if results["solvation"]:
        yield "energy", results["solvation"]["energy_j"], results["solvation"]["energy_error_j"]
    for k, found in enumerate(results["charges"] or []):
        for key, unit in (("potential", "v"), ("charge", "c")):
            # What is given has none.
            if found[f"{key}_error_{unit}"] != 0:
                yield f"{key}{k}", found[f"{key}_{unit}"], found[f"{key}_error_{unit}"]
    if results["polarisability"]:
        tensor = results["polarisability"]
        for i, row in enumerate(tensor["over_4pi_eps0"]):
            for j, value in enumerate(row):
                yield f"polarisability{i}{j}", value, tensor["over_4pi_eps0_error"][i][j]
    for film in results["films"] or []:
        for k, (value, bar) in enumerate(zip(film["participation"], film["participation_error"])):
            yield f"film {film['name']}{k}", value, bar
    for k, found in enumerate(results["forces"] or []):
        yield f"force{k}", tuple(found["force_n"]), found["force_error_n"]
        yield f"torque{k}", tuple(found["torque_nm"]), found["torque_error_nm"]
    for probe in results["probes"] or []:
        for k, row in enumerate(probe["rows"]):
            yield f"volt{k}", row[3], row[7]
            yield f"field{k}", tuple(row[4:7]), row[8]


def kind_of(key):
    """The kind of a number of this name."""
    return "film" if key.startswith("film ") else key.rstrip("0123456789")


def size(value):
    return math.dist(value, (0, 0, 0)) if isinstance(value, tuple) else abs(value)


def apart(value, best):
    return math.dist(value, best) if isinstance(value, tuple) else abs(value - best)


def worst(results):
    """The longest bar relative to the largest number of its kind."""
    sizes = {}
    found = [(kind_of(key), size(value), bar) for key, value, bar in numbers(results)]
    # Of what is asked for, but for probes: those have bars of their own at each point.
    found = [number for number in found if number[0] not in ("volt", "field")]
    for kind, value, _ in found:
        sizes[kind] = max(sizes.get(kind, 0), value)
    return max(bar / sizes[kind] for kind, _, bar in found)


def of_problem(program, folder, problem):
    """Rows of a problem, each with its numbers: how many, how many missed, bars over errors, runs, runs that held."""
    name, surfaces, tables = problem
    folder.mkdir()
    path = case(program, folder, surfaces, tables)
    reference, _ = solve(program, path, folder, REFERENCE * ACCURACIES[-1])
    known = {key: (value, bar) for key, value, bar in numbers(reference)}
    found = []
    for density in DENSITIES:
        count, missed, runs, held = 0, [], 0, 0
        ratios, triangles, reached = [], [], []
        for accuracy in (None, *ACCURACIES):
            results, _ = solve(program, path, folder, accuracy, density=density)
            if worst(results) < 3 * worst(reference):
                continue
            triangles.append(results["mesh"]["triangles"])
            reached.append("none" if accuracy is None else f"{accuracy:g}")
            before = len(missed)
            for key, value, bar in numbers(results):
                best, its_bar = known[key]
                error = apart(value, best)
                count += 1
                if error > bar + its_bar:
                    missed.append(f"{key} {value} +- {bar}, {best} +- {its_bar} ({reached[-1]})")
                ratios.append(bar / max(error, its_bar / 4))
            runs += 1
            held += len(missed) == before
        if ratios:
            for miss in missed:
                print(f"{name}, {density}: {miss}", file=sys.stderr)
            row = (
                name, density, f"{triangles[0]:,} to {triangles[-1]:,}", ", ".join(reached), count, count - len(missed),
                f"{statistics.median(ratios):.1f}", f"{min(ratios):.1f}",
            )  # fmt: skip
            found.append((row, count, len(missed), ratios, runs, held))
    return found


def coverage(program, folder, problems, jobs):
    table = Table("problem", "density", "triangles", "accuracies", "numbers", "covered", "bar over error, median", "least")
    with ThreadPoolExecutor(jobs) as pool:
        folders = (folder / str(k) for k in range(len(problems)))
        found = pool.map(lambda of: of_problem(program, *of), zip(folders, problems))
        found = [of_density for of_one in found for of_density in of_one]
    for row, *_ in found:
        table.row(*row)
    total, missed, runs, held = (sum(of[k] for of in found) for k in (1, 2, 4, 5))
    ratios = [ratio for of in found for ratio in of[3]]
    table.row(f"all: {held} of {runs} runs", "", "", "", total, total - missed, f"{statistics.median(ratios):.1f}", "")
    return table


def bars(program, folder, jobs):
    """How often bars hold"""
    return coverage(program, folder, PROBLEMS, jobs)


def sizes(program, folder, jobs):
    """How often bars hold of bodies of other sizes"""
    seed = time.time_ns()
    print(f"seed {seed}", file=sys.stderr)
    draw = random.Random(seed)
    problems = []
    for name, surfaces, tables in PROBLEMS:
        if not isinstance(surfaces, dict) or "[[charge]]" in tables or "[[probe]]" in tables:
            continue
        factors = [math.exp(draw.uniform(-0.7, 0.7)) for _ in range(3)]
        stretched = lambda points: [tuple(f * x for f, x in zip(factors, point)) for point in points]
        surfaces = {group: (stretched(points), faces) for group, (points, faces) in surfaces.items()}
        problems.append((name, surfaces, tables))
    return coverage(program, folder, problems, jobs)


def accuracy(program, folder, _):
    """What accuracies take"""
    table = Table("problem", "accuracy", "meshes", "triangles", "bar", "error", "seconds")
    reach = (
        ("cube", {"a": CUBE}, EXACT["cube"]["value"], (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)),
        ("square film", {"a": SQUARE}, None, (1e-3, 1e-4, 1e-5, 1e-6)),
        ("disk of 24 curved triangles", "disk --elements 24 --order 4", 2 / math.pi, (1e-2, 1e-3, 1e-4)),
        ("cylinder of 36 curved triangles", "cylinder --elements 36 --order 4", None, (1e-2, 1e-3, 1e-4)),
    )
    for name, surfaces, exact, accuracies in reach:
        tables = conductor(surfaces.split()[0], surfaces.split()[0]) + "\n" if isinstance(surfaces, str) else A
        path = case(program, folder, surfaces, tables)
        for asked in accuracies:
            results, seconds = solve(program, path, folder, asked)
            value = results["capacitance"]["maxwell_over_4pi_eps0"][0][0]
            bar = results["capacitance"]["maxwell_over_4pi_eps0_error"][0][0]
            error = "" if exact is None else f"{abs(value / exact - 1):.1e}"
            meshes = results["refinement"]["meshes"]
            count = f"{results['mesh']['triangles']:,}"
            table.row(name, f"{asked:g}", len(meshes), count, f"{bar / value:.1e}", error, f"{seconds:.2f}")
    return table


PARTS = {"bars": bars, "sizes": sizes, "accuracy": accuracy}


def main(arguments, parts, wanted, usage):
    """Runs those of `parts` that the arguments name, or `wanted`."""
    page, jobs = None, 1
    if arguments[:1] == ["--jobs"]:
        jobs, arguments = int(arguments[1]), arguments[2:]
    if arguments[:1] == ["--into"]:
        page, arguments = Path(arguments[1]), arguments[2:]
    program = str(Path(arguments[0] if arguments else ROOT / "target/release/farad").resolve())
    for name in arguments[1:] or wanted:
        if name not in parts:
            sys.exit(usage)
        print(f"\n**{parts[name].__doc__}**\n", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            table = parts[name](program, Path(folder), jobs)
        if page:
            replace(page, name, table)


if __name__ == "__main__":
    main(sys.argv[1:], PARTS, ("bars", "accuracy"), __doc__)
