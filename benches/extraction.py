#!/usr/bin/env python3
"""Extraction: qubits, layouts and many nets, with times, memory and error bars.

    cargo build --release
    python3 benches/extraction.py [FARAD [PART ...]]

PART is the name of a table; without PART all are measured, in about a quarter of an hour on two cores. Needs the Python modules of Gmsh
and NumPy (pip install gmsh numpy).
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gmsh
import numpy

from layers import Geometry
from validation import ROOT

HEAD = "PEX25D 1.0\nUNITS LENGTH um GRID 0.001\n"


class Row:
    """One solve: its results, seconds and largest bar relative to the smaller diagonal."""

    def __init__(self, program, folder, name, *options):
        start = time.monotonic()
        command = [program, "solve", name, "--json", "--overwrite", *options]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        self.seconds = time.monotonic() - start
        self.results = json.loads(done.stdout)
        if self.results["schema"] == "farad-error/1":
            sys.exit(f"{name}: {self.results['message']}")
        found = self.results["capacitance"]
        self.matrix = numpy.array(found["maxwell_farad"], dtype=float)
        bars = numpy.array(found["maxwell_farad_error"], dtype=float)
        diagonal = numpy.diag(self.matrix)
        self.least = numpy.minimum.outer(diagonal, diagonal)
        self.bar = (bars / self.least).max()
        couplings = self.matrix - bars
        numpy.fill_diagonal(couplings, 0)
        self.is_positive = couplings.max() > 0

    def print(self, case, reference=None):
        triangles = self.results["mesh"]["triangles"]
        memory = self.results["memory_bytes"]["peak"] / 1e9
        apart = "" if reference is None else f"{(abs(self.matrix - reference.matrix) / self.least).max():.1e}"
        print(
            f"| {case} | {len(self.matrix)} | {triangles:,} | {self.bar:.1e} | {apart} | {self.seconds:.1f} | {memory:.2f} |"
            + (" positive couplings" if self.is_positive else ""),
            flush=True,
        )


def xmon(path):
    """A cross of 300 um with arms of 24 um and gaps of 24 um, a pad at its end, and the film around."""
    with Geometry() as occ:

        def rectangle(x, y, width, height):
            return [(2, occ.addRectangle(x, y, 0, width, height))]

        arm, width, gap, side = 150.0, 24.0, 24.0, 1000.0
        cross = occ.fuse(rectangle(-arm, -width / 2, 2 * arm, width), rectangle(-width / 2, -arm, width, 2 * arm))[0]
        hole = occ.fuse(
            rectangle(-arm - gap, -width / 2 - gap, 2 * (arm + gap), width + 2 * gap),
            rectangle(-width / 2 - gap, -arm - gap, width + 2 * gap, 2 * (arm + gap)),
        )[0]
        pad = rectangle(arm + gap, -width / 2, 60, width)
        hole = occ.fuse(hole, rectangle(arm, -width / 2 - gap, 60 + 2 * gap, width + 2 * gap))[0]
        film = occ.cut(rectangle(-side / 2, -side / 2, side, side), hole)[0]
        occ.synchronize()
        for name, tags in (("cross", cross), ("pad", pad), ("film", film)):
            gmsh.model.addPhysicalGroup(2, [tag for _, tag in tags], name=name)
        gmsh.model.mesh.generate(2)
        gmsh.write(str(path))


def transmon(program, folder):
    xmon(folder / "xmon.msh")
    (folder / "xmon.toml").write_text(
        'format = 1\n[mesh]\nfile = "xmon.msh"\nunit = "um"\n[stack]\nat = -500\n[[layer]]\nthickness = 500\nrelative_permittivity = 11.45\n'
    )
    reference = Row(program, folder, "xmon.toml", "--accuracy", "2e-4")
    for accuracy in ("1e-2", "1e-3"):
        Row(program, folder, "xmon.toml", "--accuracy", accuracy).print(f"transmon cross, {accuracy}", reference)
    reference.print("transmon cross, 2e-4")


def wires(count, metal, length=20.0, width=0.14, spacing=0.14):
    """Wires side by side, in the middle of which the first net is."""
    lines = []
    for k in range(count):
        low = round(k * (width + spacing), 3)
        lines.append(f"CONDUCTOR w{k} w{k}\nBOX CONDUCTOR w{k} LAYER {metal} LL 0 {low} UR {length} {round(low + width, 3)}\n")
    return "".join(lines)


LAYOUTS = {
    "plates of 100 x 100 um, 1 um thick, 1 um apart": "METAL low Z_OFFSETS 0 1\nMETAL high Z_OFFSETS 2 3\nCONDUCTOR a a\nCONDUCTOR b b\n"
    "BOX CONDUCTOR a LAYER low LL 0 0 UR 100 100\nBOX CONDUCTOR b LAYER high LL 0 0 UR 100 100\n",
    "plate of 50 x 50 um in oxide over a substrate": "GROUND_PLANE sub Z_OFFSETS -1 0\nMETAL met1 Z_OFFSETS 1 1.36\n"
    "METAL top Z_OFFSETS 4 5\nDIELECTRIC_SIMPLE ox WRAPS sub PERMITTIVITY 3.9 BETWEEN sub top\nCONDUCTOR a a\n"
    "BOX CONDUCTOR a LAYER met1 LL 0 0 UR 50 50\n",
    "two plates of 50 x 50 um, side by side, over a substrate": "GROUND_PLANE sub Z_OFFSETS -1 0\nMETAL met1 Z_OFFSETS 1 1.36\n"
    "METAL top Z_OFFSETS 4 5\nDIELECTRIC_SIMPLE ox WRAPS sub PERMITTIVITY 3.9 BETWEEN sub top\nCONDUCTOR a a\nCONDUCTOR b b\n"
    "BOX CONDUCTOR a LAYER met1 LL 0 0 UR 50 50\nBOX CONDUCTOR b LAYER met1 LL 50.5 0 UR 100.5 50\n",
    "sidewalls: five wires of 20 x 0.14 um, 0.14 um apart, over a substrate": "GROUND_PLANE sub Z_OFFSETS -1 0\n"
    "METAL met1 Z_OFFSETS 1 1.36\nMETAL top Z_OFFSETS 4 5\nDIELECTRIC_SIMPLE ox WRAPS sub PERMITTIVITY 3.9 BETWEEN sub top\n"
    + wires(5, "met1"),
}


def layouts(program, folder):
    for k, (name, text) in enumerate(LAYOUTS.items()):
        (folder / f"layout{k}.pex25d").write_text(HEAD + text)
        reference = Row(program, folder, f"layout{k}.pex25d", "--accuracy", "5e-4")
        for accuracy in ("5e-3", "1e-3"):
            Row(program, folder, f"layout{k}.pex25d", "--accuracy", accuracy).print(f"{name}, {accuracy}", reference)


def boxes(folder, count, turned):
    """Boxes in a cube, in rows or at random places and turned, of 48 triangles each."""
    rng = numpy.random.default_rng(7)
    side = round(count ** (1 / 3))
    nodes, elements = [], []
    for box in range(count):
        place = 1.6 * numpy.array([box % side, box // side % side, box // side**2], dtype=float)
        frame = numpy.eye(3)
        if turned:
            frame, _ = numpy.linalg.qr(rng.normal(size=(3, 3)))
            frame *= numpy.sign(numpy.linalg.det(frame))
            place += rng.uniform(-0.05, 0.05, 3)
        edge = rng.uniform(0.4, 0.8) if turned else 1.0
        known = {}
        for axis in range(3):
            u, w = (axis + 1) % 3, (axis + 2) % 3
            for high in (0, 1):
                for i in range(2):
                    for j in range(2):
                        corners = []
                        for a, b in ((0, 0), (1, 0), (1, 1), (0, 1)):
                            key = [0, 0, 0]
                            key[axis], key[u], key[w] = 2 * high, i + a, j + b
                            if tuple(key) not in known:
                                known[tuple(key)] = len(nodes) + 1
                                nodes.append(place + frame @ (edge * (numpy.array(key) / 2 - 0.5)))
                            corners.append(known[tuple(key)])
                        if not high:
                            corners.reverse()
                        a, b, c, d = corners
                        elements += [(box + 1, a, b, c), (box + 1, a, c, d)]
    with (folder / "boxes.msh").open("w") as file:
        file.write(f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n{count}\n")
        file.writelines(f'2 {k + 1} "n{k}"\n' for k in range(count))
        file.write(f"$EndPhysicalNames\n$Nodes\n{len(nodes)}\n")
        file.writelines(f"{k} {x:.17g} {y:.17g} {z:.17g}\n" for k, (x, y, z) in enumerate(nodes, 1))
        file.write(f"$EndNodes\n$Elements\n{len(elements)}\n")
        file.writelines(f"{k} 2 2 {g} {g} {a} {b} {c}\n" for k, (g, a, b, c) in enumerate(elements, 1))
        file.write("$EndElements\n")
    (folder / "boxes.toml").write_text('format = 1\n[mesh]\nfile = "boxes.msh"\nunit = "um"\n')


def nets(program, folder):
    for count, turned in ((216, False), (1000, False), (1000, True)):
        boxes(folder, count, turned)
        kind = "turned at random" if turned else "in rows"
        Row(program, folder, "boxes.toml", "--tolerance", "1e-3").print(f"{count} boxes {kind}")
    for bars in (20, 100):
        subprocess.run([program, "mesh", "generate", "bus", "--bars", str(bars), "--size", "1.5", "-o", "bus.msh", "--overwrite"], cwd=folder, check=True, capture_output=True)
        (folder / "bus.toml").write_text('format = 1\n[mesh]\nfile = "bus.msh"\nunit = "um"\n')
        Row(program, folder, "bus.toml", "--tolerance", "1e-3").print(f"crossing bus, {bars} x {bars}")


def main(arguments):
    program = str(Path(arguments[0] if arguments else ROOT / "target/release/farad").resolve())
    parts = {part.__name__: part for part in (transmon, layouts, nets)}
    names = arguments[1:] or list(parts)
    if any(name not in parts for name in names):
        sys.exit(f"{__doc__}\nParts: {', '.join(parts)}")
    print("| case | nets | triangles | bar | off the finest | seconds | memory / GB |\n|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            parts[name](program, Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
