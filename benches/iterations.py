#!/usr/bin/env python3
"""Iterations on meshes by Gmsh under repeated refinement: the table of docs/validation.md.

    cargo build --release
    pip install gmsh            # Debian: apt install libglu1-mesa libxrender1 libxcursor1 libxft2 libxinerama1 libxi6
    python3 benches/iterations.py [--into docs/validation.md] [--most 300000] [--deck FILE ...] [FARAD]

Each shape is meshed with one element size on its surface and refined by `farad mesh refine` until it has more triangles than
--most; every mesh is solved by the fast method at tolerance 1e-6. A --deck (a mesh, FastCap file or case of the user) is
solved as it is, and is not part of the table with --into.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARKERS = "<!-- iterations.py -->", "<!-- end of iterations.py -->"


def plates(occ):
    """The capacitor of the user guide."""
    occ.addBox(-10, -10, 1, 20, 20, 1)
    occ.addBox(-10, -10, -2, 20, 20, 1)


def thin_plate(occ):
    occ.addBox(0, 0, 0, 1, 1, 0.002)


def narrow_gap(occ):
    occ.addBox(0, 0, 0, 1, 1, 0.05)
    occ.addBox(0, 0, 0.06, 1, 1, 0.05)


def stack(occ):
    for k in range(4):
        occ.addBox(0.03 * k, 0.02 * k, 0.02 * k, 1, 1, 0.01)


def cavity(occ):
    """A ball in the cavity of a box; the walls of the cavity are a conductor of their own."""
    occ.addBox(0, 0, 0, 1, 1, 1)
    occ.addSphere(0.45, 0.5, 0.55, 0.3)


def slab(occ):
    """A cylinder over a wide slab."""
    occ.addBox(-1, -1, -0.1, 2, 2, 0.1)
    occ.addCylinder(0, 0, 0.15, 0.4, 0, 0.1, 0.1)


# Shape, element size.
SHAPES = {
    "plates of the user guide": (plates, 1.0),
    "thin plate, 1:500": (thin_plate, 0.06),
    "plates, gap of a fifth of an element": (narrow_gap, 0.05),
    "stack of four plates": (stack, 0.06),
    "ball in a cavity": (cavity, 0.08),
    "rod over a slab": (slab, 0.1),
}


def mesh(shape, size, path):
    import gmsh

    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("Mesh.MeshSizeMax", size)
    gmsh.option.setNumber("Mesh.Binary", 1)
    gmsh.model.add("shape")
    shape(gmsh.model.occ)
    gmsh.model.occ.synchronize()
    for dimension, tag in gmsh.model.getEntities(3):
        sides = gmsh.model.getBoundary([(dimension, tag)], oriented=False)
        gmsh.model.addPhysicalGroup(2, [side for _, side in sides], name=f"body_{tag}")
    gmsh.model.mesh.generate(2)
    gmsh.write(str(path))
    gmsh.finalize()


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    # A solve that does not converge still has results.
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(map(str, done.args))}: {done.stderr}")
    return done.stdout


def solve(program, case, folder):
    """Triangles, and the iterations of each excitation."""
    run(program, "solve", case, "--method", "fmm", "-o", folder / "out", "--overwrite")
    results = json.loads((folder / "out" / "results.json").read_text(encoding="utf-8"))
    return results["mesh"]["triangles"], [entry["iterations"] for entry in results["solves"]]


def case_of(path, name):
    path.write_text(f'format = 1\n[mesh]\nfile = "{name}"\nunit = "m"\n[output]\nvtk = "none"\n', encoding="utf-8")
    return path


def rows(program, most, folder):
    for name, (shape, size) in SHAPES.items():
        current = folder / "mesh.msh"
        mesh(shape, size, current)
        found = []
        while True:
            triangles, iterations = solve(program, case_of(folder / "case.toml", current.name), folder)
            found.append((triangles, max(iterations)))
            print(f"{name}: {triangles} triangles, {iterations}", file=sys.stderr)
            if 4 * triangles > most:
                break
            finer = folder / "finer.msh"
            run(program, "mesh", "refine", current, "-o", finer, "--overwrite")
            finer.replace(current)
        yield name, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path)
    parser.add_argument("--most", type=int, default=300_000)
    parser.add_argument("--deck", type=Path, action="append", default=[])
    parser.add_argument("farad", nargs="?", default=ROOT / "target/release/farad")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        lines = ["| mesh | triangles: iterations |", "|---|---|"]
        for name, found in rows(arguments.farad, arguments.most, folder):
            lines.append(f"| {name} | {', '.join(f'{triangles:,}: {n}' for triangles, n in found)} |")
        for deck in arguments.deck:
            triangles, iterations = solve(arguments.farad, deck, folder)
            print(f"| {deck.name} | {triangles:,}: {max(iterations)} |")
    table = "\n".join(lines)
    if arguments.into is None:
        print(table)
        return
    begin, end = MARKERS
    text = arguments.into.read_text(encoding="utf-8")
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    if not re.search(pattern, text, re.S):
        sys.exit(f"{arguments.into} has no {begin}")
    arguments.into.write_text(re.sub(pattern, f"{begin}\n\n{table}\n\n{end}", text, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
