#!/usr/bin/env python3
"""Measures, by kind of number, how often error bars hold and how long they are: 108 problems of twelve kinds, with sizes drawn at random
(the same ones each time). Needs numpy.

    cargo build --release
    python3 benches/kinds.py [--jobs N] [--into docs/validation.md] [FARAD [kinds]]

Each problem is solved with both densities on its own mesh and to three accuracies of the numbers of its kind. Truths are runs that are
ten times as accurate as the most accurate of these (kept in target/references, so that only the first study takes long), Kirkwood's
series for charges in balls among ions, and for half of the films a method of moments on graded rectangles. A few minutes on 16 cores.
"""

import hashlib
import itertools
import json
import math
import random
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from bars import ACCURACIES, DENSITIES, REFERENCE, apart, box, charge, film, glass, gmsh, held, kind_of, line, main, numbers, solve
from truths import COULOMB, OF_FILM, OF_TRUTH, THICKNESS, kirkwood, layers, strips_alone
from validation import ROOT, Table, conductor

REFERENCES = ROOT / "target/references"
EACH = 9

# Seconds that a run may take.
LIMIT = 20

METAL = {name: conductor(name, name) + "\n" for name in ("a", "b", "c")}
# Off axes, so that no number is zero by symmetry.
SHIFT = (0.31, 0.17, 0.23)


def sizes(draw):
    return tuple(draw.uniform(0.6, 2) for _ in range(3))


def two_boxes(draw, gap=None):
    """Boxes side by side, which overlap as seen from each other in part."""
    first, second = sizes(draw), sizes(draw)
    gap = gap or draw.uniform(0.1, 0.8)
    return {"a": box((0, 0, 0), first), "b": box((first[0] + gap, *SHIFT[1:]), second)}


def in_state(draw):
    return held("a", 1) + held("b", round(draw.uniform(-1, 0.5), 2))


def probe(draw, surfaces):
    """A line that leaves the first body at the top."""
    top = max(point[2] for points, _ in surfaces.values() for point in points)
    return line((0.3, 0.4, top + draw.uniform(0.05, 0.3)), (2.5, -0.7, top + draw.uniform(1, 3))).replace("count = 20", "count = 6")


def capacitances(draw):
    surfaces = two_boxes(draw)
    width, height = draw.uniform(1, 4), draw.uniform(1, 4)
    surfaces["c"] = film(-0.5, -0.6, width, height, -draw.uniform(0.2, 1))
    return surfaces, "".join(METAL.values()), "all"


def charges(draw):
    surfaces = two_boxes(draw)
    return surfaces, in_state(draw), "Q(a)"


def potentials(draw):
    surfaces = two_boxes(draw)
    return surfaces, in_state(draw) + probe(draw, surfaces), "probe(line)"


def forces(draw):
    return two_boxes(draw), "[output]\nforces = true\n" + in_state(draw), "F(a)"


def fields(draw):
    surfaces = two_boxes(draw)
    return surfaces, in_state(draw) + probe(draw, surfaces), "field(line)"


def turned(surfaces, draw):
    """At any angle."""
    turn, _ = np.linalg.qr([[draw.gauss(0, 1) for _ in range(3)] for _ in range(3)])
    turn *= np.linalg.det(turn)
    return {name: ([tuple(round(float(x), 9) for x in turn @ point) for point in points], faces) for name, (points, faces) in surfaces.items()}


def polarisabilities(draw):
    return turned(two_boxes(draw), draw), "[output]\npolarisability = true\n" + METAL["a"] + METAL["b"], "polarisability"


def in_film(name, place, cutoff=None):
    cut = f"cutoff = {cutoff}\n" if cutoff else ""
    return f'[[film]]\nname = "{name}"\n{place}thickness = {THICKNESS}\nrelative_permittivity = {OF_FILM}\n{cut}'


def films(draw):
    """Of solid metal, and of strips on a substrate."""
    if draw.random() < 0.4:
        on = "".join(in_film(f"film_{name}", f'on = "{name}"\n') for name in "ab")
        return two_boxes(draw), METAL["a"] + METAL["b"] + on, "films"
    widths, height, gap = (draw.uniform(0.4, 2), draw.uniform(0.4, 2)), draw.uniform(1.5, 6), draw.uniform(0.1, 1)
    strips = [(0.0, 0.0, widths[0], height), (widths[0] + gap, 0.0, widths[1], height)]
    eps, cutoff = draw.choice((4.0, 11.7)), gap * draw.choice((0.1, 0.03, 0.01))
    tables = METAL["a"] + METAL["b"] + layers(eps, None, False, 0.0)
    tables += in_film("below", 'on = ["a", "b"]\nlayer = 0\n', cutoff) + in_film("above", 'on = ["a", "b"]\nlayer = 1\n', cutoff)
    tables += in_film("beside", "interface = 0\n", cutoff)
    surfaces = {name: film(x, y, width, height, 0) for name, (x, y, width, height) in zip("ab", strips)}
    return surfaces, tables, "films", lambda: shares(strips, eps, cutoff)


def shares(strips, eps, cutoff):
    """What films on and between strips on a substrate hold, and what the method is off by."""
    capacitance, (below, above), (along, through) = strips_alone(strips, cutoff)
    per = THICKNESS / (4 * np.pi * np.diag(capacitance) * (eps + 1) / 2)
    all_of = {"below": per * below * eps**2 / OF_FILM, "above": per * above / OF_FILM}
    all_of["beside"] = per * (along * OF_FILM + through * eps**2 / OF_FILM)
    return {f"film {name}{k}": (float(value), OF_TRUTH * float(value)) for name, of in all_of.items() for k, value in enumerate(of)}


def gaps(draw):
    """Plates and blocks much closer than they are large."""
    gap = 10 ** draw.uniform(-2.5, -1)
    if draw.random() < 0.5:
        return two_boxes(draw, gap), METAL["a"] + METAL["b"], "all"
    width, height = draw.uniform(0.5, 2), draw.uniform(0.5, 2)
    surfaces = {"a": film(0, 0, width, height, 0), "b": film(*SHIFT[:2], width, draw.uniform(0.5, 2), gap)}
    return surfaces, METAL["a"] + METAL["b"], "all"


def high_eps(draw):
    """A block in or next to a body of high permittivity, or charges in one."""
    eps = round(10 ** draw.uniform(1.5, 3), 1)
    size = sizes(draw)
    coat, way = draw.uniform(0.2, 0.6), draw.random()
    if way < 0.4:
        around = box((-coat, -coat, -coat), tuple(s + 2.2 * coat for s in size))
        return {"a": box((0, 0, 0), size), "slab": around}, METAL["a"] + glass("slab", eps), "all"
    if way < 0.8:
        return {"a": box((0, 0, 0), size), "slab": box((size[0] + coat, 0.1, 0), sizes(draw))}, METAL["a"] + glass("slab", eps), "all"
    return {"slab": box((0, 0, 0), size)}, glass("slab", eps) + charge(0.4 * size[0], 0.5 * size[1], 0.6 * size[2]), "energy"


def given_charges(draw):
    """Conductors without a given potential."""
    state = "".join(conductor(name, name, f"charge = {q}") + "\n" for name, q in (("a", 1e-12), ("b", round(draw.uniform(-1, 1), 2) * 1e-12)))
    return two_boxes(draw), state, "V(a)"


def salt(draw):
    """Charges in a ball among ions."""
    radius, kappa, inside = draw.uniform(2, 4), draw.choice((0.05, 0.125, 0.3)), draw.choice((2.0, 4.0))
    rows, places = [f"ATOM 0 C0 ION 1 0 0 0 0 {radius:.6f}"], []
    for k in range(1, draw.choice((2, 3, 5))):
        way = np.array([draw.gauss(0, 1) for _ in range(3)])
        way *= radius * draw.uniform(0.1, 0.6) / np.linalg.norm(way)
        places.append((*(round(float(x), 6) for x in way), draw.choice((-1.0, 0.5, 1.0))))
        x, y, z, q = places[-1]
        rows.append(f"ATOM {k} C{k} ION 1 {x:.6f} {y:.6f} {z:.6f} {q} 0")
    tables = f'[medium]\nrelative_permittivity = 80\nkappa = {kappa}\n[[molecule]]\npqr = "m.pqr"\n'
    tables += f'relative_permittivity = {inside}\nsurface = "vdw"\ndensity = {draw.choice((1, 2))}\n'
    truth = lambda: {"energy": (COULOMB * kirkwood(radius, places, inside, 80.0, kappa), 0.0)}
    return "\n".join(rows) + "\n", tables, "energy", truth


def curved(draw):
    """Curved triangles."""
    shape = draw.choice(("ellipsoid", "torus", "cylinder", "two-spheres", "disk"))
    order = draw.choice((2, 3, 4))
    make = {
        "ellipsoid": "ellipsoid --semi-axes {:.2f} {:.2f} 1 --elements 128".format(draw.uniform(0.4, 2), draw.uniform(0.4, 2)),
        "torus": "torus --elements 160", "cylinder": "cylinder --elements 100", "disk": "disk --elements 24",
        "two-spheres": f"two-spheres --distance {2 + draw.uniform(0.1, 1):.2f} --elements 144",
    }[shape]  # fmt: skip
    names = ("left", "right") if shape == "two-spheres" else (shape,)
    return f"{make} --order {order}", "".join(conductor(name, name) + "\n" for name in names), "all"


# Of each kind its problems, and the names of its numbers; all where there are none.
KINDS = {
    "capacitances": (capacitances, ("C",)),
    "charges": (charges, ("charge",)),
    "potentials": (potentials, ("volt",)),
    "forces": (forces, ("force", "torque")),
    "fields": (fields, ("field",)),
    "polarisabilities": (polarisabilities, ("polarisability",)),
    "films": (films, ("film",)),
    "gaps": (gaps, None),
    "high permittivities": (high_eps, None),
    "given charges": (given_charges, ("potential",)),
    "salt": (salt, ("energy",)),
    "curved triangles": (curved, None),
}  # fmt: skip


def write(program, folder, surfaces, tables):
    """The path of a case on surfaces made here, by `farad mesh generate` or of atoms."""
    folder.mkdir()
    mesh = folder / "mesh.msh"
    if "[[molecule]]" in tables:
        (folder / "m.pqr").write_text(surfaces, encoding="utf-8")
        text = f"format = 1\n{tables}"
    elif isinstance(surfaces, str):
        make = [program, "mesh", "generate", *surfaces.split(), "-o", str(mesh)]
        subprocess.run(make, check=True, capture_output=True)
    else:
        mesh.write_text(gmsh(**surfaces), encoding="utf-8")
    if "[[molecule]]" not in tables:
        unit = "nm" if "[[charge]]" in tables else "mm"
        text = f'format = 1\n[mesh]\nfile = "mesh.msh"\nunit = "{unit}"\n{tables}'
    (folder / "case.toml").write_text(text, encoding="utf-8")
    return folder / "case.toml"


def of_own(results, names):
    """The numbers of a kind, by name."""
    return {key: (value, bar) for key, value, bar in numbers(results) if names is None or kind_of(key) in names}


def reference(program, path, surfaces, tables, of, names):
    """The same of a run that is more accurate, once."""
    mesh = json.dumps(surfaces) + tables + of + str(REFERENCE * ACCURACIES[-1])
    known = REFERENCES / f"{hashlib.sha256(mesh.encode()).hexdigest()[:20]}.json"
    if not known.exists():
        results, _ = solve(program, path, path.parent, REFERENCE * ACCURACIES[-1], of)
        REFERENCES.mkdir(parents=True, exist_ok=True)
        known.write_text(json.dumps(of_own(results, names)), encoding="utf-8")
    found = json.loads(known.read_text(encoding="utf-8"))
    return {key: (tuple(value) if isinstance(value, list) else value, bar) for key, (value, bar) in found.items()}


def of_problem(program, folder, kind, number):
    """Of each number in each run: whether its bar holds, and how many times the error it is; then how many runs there are, how many
    reached their accuracy, how many numbers have no bar, and what missed."""
    make, names = KINDS[kind]
    surfaces, tables, of, *truth = make(random.Random(f"{kind} {number}"))
    path = write(program, folder, surfaces, tables)
    known = truth[0]() if truth else reference(program, path, surfaces, tables, of, names)
    found, runs, reached, without, missed = [], 0, 0, 0, []
    for density in DENSITIES:
        for accuracy in (None, *ACCURACIES):
            if kind == "salt" and density == "linear" and accuracy is None:
                continue
            results, _ = solve(program, path, folder, accuracy, None if accuracy is None else of, density, LIMIT)
            runs += accuracy is not None
            reached += accuracy is not None and results["refinement"]["ended"] == "reached"
            for key, (value, bar) in of_own(results, names).items():
                best, its_bar = known[key]
                if bar is None or math.isnan(bar):
                    without += 1
                    continue
                error = apart(value, best)
                holds = error <= bar + its_bar
                if not holds:
                    missed.append(f"{kind} {number}, {density}, {accuracy}: {key} {value} +- {bar:.3g}, {best} +- {its_bar:.3g}")
                # Of bars that are no longer than the truth's own there is nothing to say.
                if bar > 3 * its_bar or not holds:
                    found.append((holds, bar / max(error, its_bar / 4, 1e-300)))
    return found, runs, reached, without, missed


def kinds(program, folder, jobs):
    """How often bars hold, by kind of number"""
    table = Table("kind", "runs", "accuracy reached", "numbers", "without a bar", "covered", "bar over error, median", "shortest of a hundred")
    with ThreadPoolExecutor(jobs) as pool:
        tasks = [(kind, number) for kind in KINDS for number in range(EACH)]
        found = pool.map(lambda of: of_problem(program, folder / "-".join(map(str, of)), *of), tasks)
        for kind in KINDS:
            own = list(itertools.islice(found, EACH))
            runs, reached, without = (sum(of[k] for of in own) for k in (1, 2, 3))
            for miss in (miss for of in own for miss in of[4]):
                print(miss, file=sys.stderr, flush=True)
            has_held, ratios = zip(*(one for of in own for one in of[0]))
            low = sorted(ratios)[len(ratios) // 100]
            covered = f"{100 * sum(has_held) / len(ratios):.1f} %"
            table.row(kind, runs, reached, len(ratios), without, covered, f"{statistics.median(ratios):.1f}", f"{low:.1f}")
    return table


if __name__ == "__main__":
    main(sys.argv[1:], {"kinds": kinds}, ("kinds",), __doc__)
