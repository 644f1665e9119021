#!/usr/bin/env python3
"""Layers without end ([stack], [[layer]]) against conformal mapping, lines in two dimensions and meshed layers.

    cargo build --release
    python3 benches/layers.py [FARAD]

Lines are compared per length, by the difference of two lengths. Needs the Python module of Gmsh (pip install gmsh).
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gmsh

from validation import ROOT

EPS0 = 8.8541878188e-12
UM = 1e-6


def elliptic(k):
    """The complete elliptic integral K(k), by the arithmetic-geometric mean."""
    a, b = 1.0, math.sqrt(1 - k * k)
    for _ in range(40):
        a, b = (a + b) / 2, math.sqrt(a * b)
    return math.pi / (2 * a)


def ratio(k):
    return elliptic(math.sqrt(1 - k * k)) / elliptic(k)


def microstrip(width, height, eps, terms=24):
    """C/eps0 per length of a strip without thickness on a grounded slab, by Chebyshev polynomials over
    the root of 1 - t^2 and the slab's images."""
    a, r = width / 2, (1 - eps) / (1 + eps)
    images, factor, n = [], -(1 - r * r), 1
    while abs(factor) > 1e-15:
        images.append((2 * n * height, factor))
        factor, n = factor * r, n + 1
    angles = [math.pi * (k + 0.5) / terms for k in range(terms)]
    t = [math.cos(angle) for angle in angles]
    rows = []
    for x, angle in zip(t, angles):
        smooth = [sum(0.5 * w * math.log((a * (x - s)) ** 2 + d * d) for d, w in images) for s in t]
        row = []
        for m in range(terms):
            own = math.log(a / 2) * math.pi if m == 0 else -math.pi / m * math.cos(m * angle)
            others = math.pi / terms * sum(f * math.cos(m * other) for f, other in zip(smooth, angles))
            row.append(-a / (2 * math.pi) * ((1 + r) * own + others))
        rows.append(row + [1.0])
    for i in range(terms):
        pivot = max(range(i, terms), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, terms):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [u - factor * v for u, v in zip(rows[k], rows[i])]
    x = [0.0] * terms
    for i in reversed(range(terms)):
        x[i] = (rows[i][-1] - sum(rows[i][k] * x[k] for k in range(i + 1, terms))) / rows[i][i]
    return a * math.pi * x[0]


class Geometry:
    """Groups of surfaces of Gmsh's OpenCASCADE kernel."""

    def __enter__(self):
        gmsh.initialize()
        gmsh.option.setNumber("General.Terminal", 0)
        return gmsh.model.occ

    def __exit__(self, *_):
        gmsh.finalize()


def films(path, rectangles):
    """Films (name, x, y, width, height) in the plane z = 0, meshed with Gmsh's default sizes."""
    with Geometry() as occ:
        groups = {}
        for name, *place in rectangles:
            x, y, width, height = place
            groups.setdefault(name, []).append(occ.addRectangle(x, y, 0, width, height))
        occ.synchronize()
        for name, tags in groups.items():
            gmsh.model.addPhysicalGroup(2, tags, name=name)
        gmsh.model.mesh.generate(2)
        gmsh.write(str(path))


def boxes(path, above, slab=None):
    """Two boxes a and b at this height, and a slab of this half size below z = 0."""
    with Geometry() as occ:
        if slab:
            occ.addBox(1.15 - slab, 0.5 - slab, -slab, 2 * slab, 2 * slab, slab)
        for i in range(2):
            occ.addBox(1.3 * i, 0, above, 1, 1, 0.1)
        if slab and above == 0:
            occ.fragment([(3, 1)], [(3, 2), (3, 3)])
        occ.synchronize()
        for _, tag in sorted(gmsh.model.getEntities(3), key=lambda v: gmsh.model.getBoundingBox(*v)[0]):
            low, _, _, high, _, _ = gmsh.model.getBoundingBox(3, tag)
            name = "slab" if high - low > 1.5 else "a" if low < 1 else "b"
            faces = [abs(face) for _, face in gmsh.model.getBoundary([(3, tag)], oriented=False)]
            gmsh.model.addPhysicalGroup(2, faces, name=name)
        if slab:
            field = gmsh.model.mesh.field.add("Box")
            sizes = {"VIn": 0.2, "VOut": slab / 3, "XMin": -0.5, "XMax": 2.8, "YMin": -0.5, "YMax": 1.5}
            for key, value in {**sizes, "ZMin": -0.3, "ZMax": 0.3, "Thickness": slab}.items():
                gmsh.model.mesh.field.setNumber(field, key, value)
            gmsh.model.mesh.field.setAsBackgroundMesh(field)
            gmsh.option.setNumber("Mesh.MeshSizeFromPoints", 0)
        gmsh.model.mesh.generate(2)
        gmsh.write(str(path))


class Farad:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def solve(self, name, tables, accuracy):
        case = f'format = 1\n[mesh]\nfile = "{name}.msh"\nunit = "um"\n{tables}\n'
        (self.folder / f"{name}.toml").write_text(case, encoding="utf-8")
        started = time.monotonic()
        command = [self.program, "solve", f"{name}.toml", "--json", "--overwrite", "--accuracy", str(accuracy)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        results = json.loads(done.stdout)
        if "capacitance" not in results:
            sys.exit(f"{name}: {results.get('message')} {results.get('errors')}")
        return results, time.monotonic() - started


def line(farad, name, rectangles, tables, exact, of, accuracy=1e-3, lengths=(20, 40)):
    """The capacitance per length over eps0 of what `of` takes from results, with its bar."""
    values, bars, seconds, triangles = [], [], 0.0, 0
    for length in lengths:
        own = f"{name}_{length}"
        films(farad.folder / f"{own}.msh", [(group, x, -length / 2, width, length) for group, x, width in rectangles])
        results, took = farad.solve(own, tables, accuracy)
        value, bar = of(results)
        values.append(value)
        bars.append(bar)
        seconds += took
        triangles = max(triangles, results["mesh"]["triangles"])
    per = (lengths[1] - lengths[0]) * UM * EPS0
    found, bar = (values[1] - values[0]) / per, math.hypot(*bars) / per
    print(f"| {name} | {triangles:,} | {found:.4f} +- {bar:.4f} | {exact:.4f} | {found / exact - 1:+.1e} | {seconds:.1f} |", flush=True)


def maxwell(results):
    capacitance = results["capacitance"]
    return capacitance["maxwell_farad"][0][0], capacitance["maxwell_farad_error"][0][0]


def between(results):
    reduced = results["reductions"][0]
    return reduced["between_farad"], reduced["between_farad_error"]


def main(arguments):
    program = Path(arguments[0] if arguments else ROOT / "target/release/farad").resolve()
    with tempfile.TemporaryDirectory() as folder:
        farad = Farad(program, Path(folder))
        print("| line | triangles | C/(eps0 length) | exact | off by | s |\n|---|---|---|---|---|---|")
        stack = '[stack]\nat = -0.5\nbelow = "ground"\nabove = "ground"\n[[layer]]\nthickness = 1\nrelative_permittivity = 4'
        k = 1 / math.cosh(math.pi / 2)
        line(farad, "stripline", [("s", -0.5, 1.0)], stack, 16 * ratio(k), maxwell)
        # A strip in the interface between two layers of the same thickness is in their mean.
        two = stack.replace("thickness = 1\n", "thickness = 0.5\n")
        two += "\n[[layer]]\nthickness = 0.5\nrelative_permittivity = 2"
        line(farad, "stripline, two layers", [("s", -0.5, 1.0)], two, 12 * ratio(k), maxwell)
        slab = '[stack]\nat = -1\nbelow = "ground"\n[[layer]]\nthickness = 1\nrelative_permittivity = '
        for eps in (1.0, 11.7):
            name = f"microstrip, eps {eps:g}"
            line(farad, name, [("s", -0.5, 1.0)], slab + str(eps), microstrip(1.0, 1.0, eps), maxwell)
        # A centre strip of half width a between grounds from b to c: Q on it, -Q on both of them.
        a, b, c = 0.5, 1.1, 3.0
        strips = [("s", -a, 2 * a), ("g", -c, c - b), ("g", b, c - b)]
        reduce = '[[reduce]]\nname = "line"\nbetween = ["s", "g"]'
        k = a / b * math.sqrt((c * c - b * b) / (c * c - a * a))
        for name, tables, eps in (("coplanar, air", "", 1.0), ("coplanar, silicon", "[stack]\nbelow = 11.7", 6.35)):
            line(farad, name, strips, f"{tables}\n{reduce}", 4 * eps / ratio(k), between)
        print("\n| boxes | triangles | C_aa - C_ab / fF | s |\n|---|---|---|---|")
        silicon = "relative_permittivity = 11.7"
        for above in (0, 0.05):
            for what, slab in (("layers", None), ("meshed", 15)):
                tables = "[stack]\nbelow = 11.7"
                if slab:
                    tables = f'[[dielectric]]\nname = "slab"\n{silicon}\ngroup = "slab"\n'
                    tables += "".join(f'[[conductor]]\nname = "{n}"\ngroup = "{n}"\n' for n in "ab")
                boxes(farad.folder / "boxes.msh", above, slab)
                results, seconds = farad.solve("boxes", tables, 2e-3)
                (aa, ab), _ = results["capacitance"]["maxwell_farad"]
                triangles = results["mesh"]["triangles"]
                print(f"| {above} um above, {what} | {triangles:,} | {(aa - ab) * 1e15:.5f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
