#!/usr/bin/env python3
"""Measures whether error bars hold against truths that are not Farad's own: closed forms, series of images, and methods of moments
in two dimensions. Needs numpy.

    cargo build --release
    python3 benches/truths.py [--jobs N] [--into docs/validation.md] [FARAD [next_to_layers | ...]]

`next_to_layers`: balls, needles and bars over layers of glass. `films`: strips on a substrate or over a ground. `coplanar`: long ones, by
conformal maps. `salt`: charges in balls and globules
among ions. Tables go to standard output; with --into they also replace those between the markers of that file.
"""

import math
import random
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from bars import DENSITIES, box, film, glass, gmsh, main, plane, solve
from validation import Table, conductor

ACCURACIES = (5e-2, 2e-2, 1e-2, 5e-3)
FILM_ACCURACIES = (3e-2, 1e-2, 3e-3)

# What the method of moments of films is off by: it changes by less with cells a quarter smaller.
OF_TRUTH = 5e-3


def images(eps, thickness=None, ground=False):
    """Strength and depth of the images, in a layer of this permittivity, of what is above it: a charge at height z has one at
    -(z + 2 depth). Without thickness the layer has no end; below it there is a ground, or nothing."""
    beta = (eps - 1) / (eps + 1)
    found = [(-beta, 0.0)]
    if thickness is None:
        return found
    n = 1
    while True:
        strength = (1 - beta**2) * (-((-beta) ** (n - 1)) if ground else beta ** (2 * n - 1))
        found.append((strength, n * thickness))
        if abs(strength) < 1e-7 * (1 - abs(beta)):
            return found
        n += 1


def ball(gap, of):
    """Capacitance over 4 pi eps0 of a ball of radius 1 at this height: multipoles about its middle and about those of its images."""
    count = 40 + int(12 / math.sqrt(gap))
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 2 * count)))])
    l = np.arange(count)
    both = l[:, None] + l[None, :]
    binomials = logs[both] - logs[l][:, None] - logs[l][None, :]
    matrix = np.eye(count)
    for strength, depth in of:
        distance = 2 * (1 + gap + depth)
        # What is far away has no more than its charge and a few moments.
        few = min(count, 8 + int(15 / math.log(distance / 2)))
        terms = binomials[:few, :few] - (both[:few, :few] + 1) * math.log(distance)
        matrix[:few, :few] += strength * np.where(both[:few, :few] % 2, -1, 1) * np.exp(terms)
    return np.linalg.solve(matrix, np.eye(count)[0])[0]


def needle(half, radius, gap, of):
    """The same of an upright prolate spheroid: Legendre polynomials on the line between its foci, and on those of its images."""
    focus = math.sqrt(half**2 - radius**2)
    count = 30 + int(3 / math.sqrt(gap / half))

    def rule(count, on_line, on_surface):
        points, weights = np.polynomial.legendre.leggauss(on_line)
        # Closer together at the ends, which are close to the tips.
        s, ws = 1.5 * points - 0.5 * points**3, weights * 1.5 * (1 - points**2)
        eta, w = np.polynomial.legendre.leggauss(on_surface)
        densities = np.polynomial.legendre.legvander(s, count - 1) * ws[:, None]
        project = np.polynomial.legendre.legvander(eta, count - 1) * w[:, None] * (np.arange(count) + 0.5)
        return focus * s[None, :], densities, half * eta[:, None], radius * np.sqrt(1 - eta**2)[:, None], project

    def potentials(of_rule, middle, sign):
        s, densities, z, rho, project = of_rule
        return project.T @ (1 / np.hypot(rho, z - middle - sign * s) @ densities) * focus

    near, far = rule(count, 40 * count, 4 * count), rule(10, 40, 20)
    matrix = potentials(near, 0.0, 1)
    for strength, depth in of:
        is_far = gap + depth > half
        few = 10 if is_far else count
        matrix[:few, :few] += strength * potentials(far if is_far else near, -2 * (half + gap + depth), -1)
    return np.linalg.solve(matrix, np.eye(count)[0])[0] * 2 * focus


def graded(length, least):
    """Points from 0 to a length, closer together at both ends."""
    steps, at = [0.0], 0.0
    while at < length / 2:
        at += min(max(least, 0.2 * at), length / 20)
        steps.append(at)
    half = np.array(steps) * (length / 2 / steps[-1])
    return np.concatenate([half, length - half[-2::-1]])


def of_segments(x, z, ends):
    """The integral of -2 log of the distance over each segment, at each point."""
    (ax, az), (bx, bz) = ends
    length = np.hypot(bx - ax, bz - az)
    tx, tz = (bx - ax) / length, (bz - az) / length
    dx, dz = x[:, None] - ax, z[:, None] - az
    u, v = dx * tx + dz * tz, np.abs(dx * tz - dz * tx)

    def part(u):
        return u * np.log(np.maximum(u * u + v * v, 1e-300)) - 2 * u + 2 * v * np.arctan2(u, v)

    return -(part(u) - part(u - length))


def bars(rectangles, of):
    """Capacitances over 4 pi eps0 per length of rectangles (x, z, width, height), by densities constant on segments."""
    owner, corners = [], []
    for k, (x, z, width, height) in enumerate(rectangles):
        least = 1e-3 * min(width, height)
        for start, along, length in (
            ((x, z), (1, 0), width), ((x + width, z), (0, 1), height),
            ((x + width, z + height), (-1, 0), width), ((x, z + height), (0, -1), height),
        ):  # fmt: skip
            t = graded(length, least)
            line = np.array(start)[:, None] + np.array(along)[:, None] * t
            corners.append((line[:, :-1], line[:, 1:]))
            owner += [k] * (len(t) - 1)
    owner = np.array(owner)
    a, b = (np.concatenate([pair[k] for pair in corners], axis=1) for k in (0, 1))
    x, z = (a + b) / 2
    matrix = of_segments(x, z, (a, b))
    low = min(rectangle[1] for rectangle in rectangles)
    size = max(np.ptp(x), np.ptp(z))
    for strength, depth in of:
        mirrored = [np.array([p[0], -p[1] - 2 * depth]) for p in (a, b)]
        if low + depth < 2 * size:
            matrix += strength * of_segments(x, z, mirrored)
        else:
            lengths = np.hypot(*(b - a))
            (p, q) = (mirrored[0] + mirrored[1]) / 2
            matrix -= 2 * strength * np.log(np.hypot(x[:, None] - p, z[:, None] - q)) * lengths
    volts = (owner[:, None] == np.arange(len(rectangles))).astype(float)
    charges = np.linalg.solve(matrix, volts) * np.hypot(*(b - a))[:, None]
    return volts.T @ charges


def open_below(corner, size):
    """A box without its lowest face, to stand on a plane."""
    points, faces = box(corner, size)
    return points, [face for face in faces if any(points[v][2] > corner[2] for v in face)]


METAL = {name: conductor(name, name) + "\n" for name in ("a", "b", "sphere", "ellipsoid")}


def layers(eps, thickness, ground, top):
    """The same as tables of a case."""
    if thickness is None:
        return f"[stack]\nat = {top}\nbelow = {eps}\n"
    below = 'below = "ground"\n' if ground else ""
    return f"[stack]\nat = {top - thickness}\n{below}[[layer]]\nthickness = {thickness}\nrelative_permittivity = {eps}\n"


def meshed(thickness, top, reach, beyond=((0, 0), (0, 0))):
    """A layer on the ground, as a body that goes as far beyond what is over it."""
    (x0, x1), (y0, y1) = beyond
    corner = (x0 - reach, y0 - reach, top - thickness)
    return open_below(corner, (x1 - x0 + 2 * reach, y1 - y0 + 2 * reach, thickness))


def of_ball(gap, eps, thickness, kind):
    """A ball of radius 1: name, shape, surfaces, tables, truths, what these may be off."""
    of = images(eps, thickness, kind != "half-space")
    name = f"ball, gap {gap:g}, eps {eps:g}, " + ("half-space" if thickness is None else f"layer {thickness:g}")
    tables, surfaces, top = METAL["sphere"], {}, -1 - gap
    if kind == "meshed":
        reach = 12 * (thickness + gap + 1)
        surfaces = {"slab": meshed(thickness, top, reach)}
        tables += glass("slab", eps) + plane("z", top - thickness, "ground")
        name += ", meshed"
    else:
        tables += layers(eps, thickness, True, top)
    return name, "sphere --elements 128 --order 4", surfaces, tables, lambda: ball(gap, of), 1e-4 if kind != "meshed" else 1e-3


def of_needle(radius, gap, eps, thickness, kind):
    of = images(eps, thickness, True)
    name = f"needle 1:{1 / radius:g}, gap {gap:g}, eps {eps:g}, " + ("half-space" if thickness is None else f"layer {thickness:g}")
    tables, surfaces, top = METAL["ellipsoid"], {}, -1 - gap
    if kind == "meshed":
        surfaces = {"slab": meshed(thickness, top, 12 * (thickness + gap + 1))}
        tables += glass("slab", eps) + plane("z", top - thickness, "ground")
        name += ", meshed"
    else:
        tables += layers(eps, thickness, True, top)
    shape = f"ellipsoid --semi-axes {radius} {radius} 1 --elements 512 --order 2"
    return name, shape, surfaces, tables, lambda: needle(1, radius, gap, of), 3e-4 if kind != "meshed" else 1e-3


def of_bars(gap, eps, thickness, kind, sizes=((1.0, 0.2), (1.5, 0.3)), apart=0.3):
    """Two bars side by side: what they have more of a hundred than of ten widths' length."""
    (w0, h0), (w1, h1) = sizes
    rectangles = [(0, gap, w0, h0), (w0 + apart, gap, w1, h1)]
    width = w0 + apart + w1
    lengths = (10.0, 100.0)
    reach = 12 * (thickness + gap + 1)
    name = f"bars, gap {gap:g}, eps {eps:g}, layer {thickness:g}" + (", meshed" if kind == "meshed" else "")
    cases = []
    for length in lengths:
        surfaces = {k: box((x, 0, z), (w, length, h)) for k, (x, z, w, h) in zip("ab", rectangles)}
        tables = METAL["a"] + METAL["b"]
        if kind == "meshed":
            surfaces["slab"] = meshed(thickness, 0, reach, ((0, width), (0, length)))
            tables += glass("slab", eps) + plane("z", -thickness, "ground")
        else:
            tables += layers(eps, thickness, True, 0)
        cases.append((surfaces, tables))
    return name, lengths, cases, None, lambda: bars(rectangles, images(eps, thickness, True)), 1e-3


NEXT_TO_LAYERS = (
    *(of_ball(gap, eps, None, "half-space") for gap, eps in ((1e-3, 8), (1e-2, 100), (0.1, 2), (1, 30), (10, 100))),
    *(
        of_ball(gap, eps, thickness, kind)
        for gap, eps, thickness in ((1e-3, 4, 3), (1e-2, 30, 0.02), (0.03, 100, 1), (0.1, 2, 0.1), (0.5, 12, 10), (5, 60, 2))
        for kind in ("layers", "meshed")
    ),
    # Of these layers as bodies take more than ten minutes each.
    *(
        of_bars(gap, eps, thickness, "layers")
        for gap, eps, thickness in ((1e-3, 4, 1), (0.02, 100, 0.05), (0.1, 10, 5), (0.3, 2, 0.5), (2, 50, 2), (10, 8, 3))
    ),
    *(
        of_needle(radius, gap, eps, thickness, "layers")
        for radius, gap, eps, thickness in ((0.1, 1e-2, 8, 0.3), (0.05, 0.1, 100, 2), (0.1, 3, 20, 1))
    ),
)  # fmt: skip


def write(program, folder, shape, surfaces, tables):
    """The path of a case of a generated shape, of surfaces made here, or of both."""
    folder.mkdir(exist_ok=True)
    mesh = folder / "mesh.msh"
    if surfaces:
        mesh.write_text(gmsh(**surfaces), encoding="utf-8")
    if shape:
        made = folder / "shape.msh"
        subprocess.run([program, "mesh", "generate", *shape.split(), "-o", str(made)], check=True, capture_output=True)
        if surfaces:
            parts, mesh = [str(made), str(mesh)], folder / "both.msh"
            subprocess.run([program, "mesh", "convert", *parts, "-o", str(mesh)], check=True, capture_output=True)
        else:
            mesh = made
    path = folder / "case.toml"
    path.write_text(f'format = 1\n[mesh]\nfile = "{mesh.name}"\nunit = "mm"\n{tables}', encoding="utf-8")
    return path


def matrices(results):
    found = results["capacitance"]
    return np.array(found["maxwell_over_4pi_eps0"]), np.array(found["maxwell_over_4pi_eps0_error"])


def of_layers(program, folder, problem):
    """A row of a problem: what is asked, numbers, how many are covered, bars over errors, worst error over bar, what missed."""
    name, what, cases, tables, exact, truth = problem
    folder.mkdir()
    per_length = tables is None
    runs = cases if per_length else [(cases, tables)]
    shape = None if per_length else what
    paths = [write(program, folder / str(k), shape, *run) for k, run in enumerate(runs)]
    exact = np.atleast_2d(exact())
    ratios, covered, missed, sizes = [], 0, [], []
    for accuracy in ACCURACIES:
        found = [solve(program, path, path.parent, accuracy)[0] for path in paths]
        sizes.append(found[-1]["mesh"]["triangles"])
        reached = all(results["refinement"]["ended"] == "reached" for results in found)
        values, errors = zip(*map(matrices, found))
        value, bar = values[0], errors[0]
        if per_length:
            length = what[1] - what[0]
            value, bar = (values[1] - values[0]) / length, (errors[0] + errors[1]) / length
        if not reached:
            missed.append(f"{name}, {accuracy:g}: {found[-1]['refinement']['ended']}")
        off = np.abs(value - exact)
        own = truth * np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
        for v, b, e, o, t in zip(*(of.flat for of in (value, bar, exact, off, own))):
            ratios.append(b / max(o, t / 4))
            covered += o <= b + t
            if o > b + t:
                missed.append(f"{name}, {accuracy:g}: {v:.6g} +- {b:.2g}, exact {e:.6g}")
    return name, f"{sizes[0]:,} to {sizes[-1]:,}", ratios, covered, missed


def table_of(found, *columns):
    table = Table(*columns)
    everything, all_covered = [], 0
    for name, sizes, ratios, covered, missed in found:
        for miss in missed:
            print(miss, file=sys.stderr, flush=True)
        table.row(name, sizes, len(ratios), covered, f"{statistics.median(ratios):.1f}", f"{min(ratios):.1f}")
        everything += ratios
        all_covered += covered
    table.row("all", "", len(everything), all_covered, f"{statistics.median(everything):.1f}", f"{min(everything):.1f}")
    return table


COLUMNS = ("problem", "triangles", "numbers", "covered", "bar over error, median", "least")


def next_to_layers(program, folder, jobs):
    """Bars of what is over layers"""
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda of: of_layers(program, folder / str(of[0]), of[1]), enumerate(NEXT_TO_LAYERS))
        return table_of(found, *COLUMNS)


def potential_of_rectangle(x, y, z, width, height):
    """The integral of 1/r over rectangles from (0, 0) to (width, height) in the plane z = 0, at points."""
    total = 0.0
    for sx, u in ((-1, x), (1, x - width)):
        for sy, v in ((-1, y), (1, y - height)):
            r = np.sqrt(u * u + v * v + z * z)
            # u = v = 0 at a corner, where both terms are 0.
            tiny = 1e-300
            part = u * np.log(np.maximum(r + v, tiny)) + v * np.log(np.maximum(r + u, tiny))
            total = total + sx * sy * (part - z * np.arctan2(u * v, z * r + tiny))
    return total


def field_of_rectangle(x, y, z, width, height):
    """The field of the same, along its plane and through it; the latter is 0 in the plane itself."""
    fx = fy = fz = 0.0
    for sx, u in ((-1, x), (1, x - width)):
        for sy, v in ((-1, y), (1, y - height)):
            r = np.sqrt(u * u + v * v + z * z)
            fx = fx - sx * sy * np.log(np.maximum(r + v, 1e-300))
            fy = fy - sx * sy * np.log(np.maximum(r + u, 1e-300))
            fz = fz + sx * sy * (np.arctan2(u * v, z * r) if z else 0 * u)
    return np.array((fx, fy, fz))


def panels(length, cutoff, ratio):
    """Points from 0 to a length, each cell this part of its distance from the end, with a point at the cutoff."""
    steps = [cutoff]
    while steps[-1] < length / 2:
        steps.append(steps[-1] * (1 + ratio))
    steps = [s if s < cutoff * 1.01 else cutoff * (length / 2 / cutoff) ** (k / (len(steps) - 1)) for k, s in enumerate(steps)]
    inner = cutoff * 0.5 ** np.arange(1, 5)
    half = np.concatenate([[0.0], inner[::-1], steps])
    return np.concatenate([half, length - half[-2::-1]])


def strips_alone(strips, cutoff, ground=None, ratio=0.3):
    """Rectangles (x, y, width, height) without thickness in a plane, all with one middle in y, by a method of moments of densities
    that are constant on the cells of graded grids, perhaps with a ground so far below: capacitances, and integrals of the squares of
    the fields below and above them, and of those along and through the plane beside them, all beyond a cutoff from edges, each with one
    rectangle at 1 V in turn."""
    middle = strips[0][1] + strips[0][3] / 2
    cells, owner, counts = [], [], []
    for k, (x, y, width, height) in enumerate(strips):
        px, py = x + panels(width, cutoff, ratio), y + panels(height, cutoff, 2 * ratio)
        counts += [(px, py)]
        for a, b in zip(px, px[1:]):
            cells += [(a, c, b - a, d - c) for c, d in zip(py, py[1:])]
        owner += [k] * ((len(px) - 1) * (len(py) - 1))
    x, y, w, h = np.array(cells).T
    owner = np.array(owner)
    mx, my = x + w / 2, y + h / 2
    half = np.flatnonzero(my < middle)
    mirrored = 2 * middle - y - h
    volts = (owner[:, None] == np.arange(len(strips))).astype(float)
    # Where charges and those of their image are, in z, and their signs.
    images = [(0.0, 1.0)] + ([(2 * ground, -1.0)] if ground else [])
    offset = lambda low: (mx[half, None] - x[half], my[half, None] - low[half])
    of_cell = lambda low: sum(sign * potential_of_rectangle(*offset(low), z, w[half], h[half]) for z, sign in images)
    density = np.linalg.solve(of_cell(y) + of_cell(mirrored), volts[half])
    x, y, w, h, mx, my, owner, volts = (of[half] for of in (x, y, w, h, mx, my, owner, volts))
    mirrored = mirrored[half]
    areas = (w * h)[:, None]
    edge = np.full(len(x), np.inf)
    for k, (sx, sy, sw, sh) in enumerate(strips):
        own = owner == k
        edge[own] = np.minimum.reduce([mx - sx, sx + sw - mx, my - sy, sy + sh - my])[own]
    counted = (edge > cutoff)[:, None]

    def field(px, py):
        places = [(low, z, sign) for low in (y, mirrored) for z, sign in images]
        return sum(sign * field_of_rectangle(px[:, None] - x, py[:, None] - low, z, w, h) for low, z, sign in places) @ density

    own, through = 2 * np.pi * density, field(mx, my)[2]
    below, above = (2 * np.sum(counted * areas * (own + sign * through) ** 2, axis=0) for sign in (-1, 1))
    # Beside them, on grids of all lines around all of them.
    lines = []
    for axis, size in ((0, 2), (1, 3)):
        ends = sorted({e for s in strips for e in (s[axis], s[axis] + s[size])})
        inner = [a + panels(b - a, cutoff, ratio / 2) for a, b in zip(ends, ends[1:])]
        far = np.arange(-6, math.log(60 * (ends[-1] - ends[0]) / cutoff) / math.log(1 + ratio / 2))
        far = cutoff * (1 + ratio / 2) ** far
        lines.append(np.unique(np.concatenate([ends[0] - far, *inner, ends[-1] + far])))
    px, py = ((line[1:] + line[:-1]) / 2 for line in lines)
    qx, qy = (of.ravel() for of in np.meshgrid(px, py, indexing="ij"))
    area = np.outer(*(np.diff(line) for line in lines)).ravel()
    away = np.full(len(qx), np.inf)
    for sx, sy, sw, sh in strips:
        dx = np.maximum(np.maximum(sx - qx, qx - sx - sw), 0)
        dy = np.maximum(np.maximum(sy - qy, qy - sy - sh), 0)
        away = np.minimum(away, np.hypot(dx, dy))
    beside = (away > cutoff) & (qy < middle)
    qx, qy, area = qx[beside], qy[beside], area[beside]
    beside = np.zeros((3, len(strips)))
    for part in np.array_split(np.arange(len(qx)), max(1, len(qx) * len(x) // 4_000_000)):
        beside += 2 * area[part] @ field(qx[part], qy[part]) ** 2
    return 2 * volts.T @ (density * areas), (below, above), (beside[0] + beside[1], beside[2])


def strip_mesh(x, y, width, height, cells, draw, turn, graded_by):
    """Triangles of a rectangle: rows of cells, with inner vertices moved at random."""
    nx, ny = cells

    def places(n):
        t = np.linspace(-1, 1, n + 1)
        return 0.5 + 0.5 * np.sign(t) * (1 - (1 - np.abs(t)) ** graded_by)

    points = []
    tx, ty = places(nx), places(ny)
    for i in range(nx + 1):
        for j in range(ny + 1):
            u, v = float(tx[i]), float(ty[j])
            if 0 < i < nx:
                u += draw.uniform(-0.25, 0.25) * float(min(tx[i] - tx[i - 1], tx[i + 1] - tx[i]))
            if 0 < j < ny:
                v += draw.uniform(-0.25, 0.25) * float(min(ty[j] - ty[j - 1], ty[j + 1] - ty[j]))
            px, py = x + width * u, y + height * v
            points.append((px * math.cos(turn) - py * math.sin(turn), px * math.sin(turn) + py * math.cos(turn), 0.0))
    at = lambda i, j: i * (ny + 1) + j
    faces = []
    for i in range(nx):
        for j in range(ny):
            a, b, c, d = at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)
            faces += [(a, b, c), (a, c, d)] if draw.random() < 0.5 else [(a, b, d), (b, c, d)]
    return points, faces


# Rectangles, permittivity below (or everywhere, with a ground so far below), cutoff, cells of the shortest and the longest side of
# each, grading, turn.
STRIPS = (
    ([(0, 0, 1, 5), (1.1, 0, 1, 5)], 11.7, 0.02, (4, 10), 1, 0.4),
    ([(0, 0, 1, 5), (1.1, 0, 1, 5)], 11.7, 0.002, (6, 14), 2, 0.0),
    ([(0, 0, 2, 3), (5, -0.5, 1.5, 4)], 4.0, 0.01, (5, 9), 1, 1.1),
    ([(0, 0, 1, 9), (1.5, 0, 1.4, 9)], 2.0, 0.05, (4, 20), 2, 0.2),
    ([(0, 0, 0.4, 4), (0.6, 0, 1, 4), (1.8, 0, 0.4, 4)], 9.0, 0.004, (4, 12), 2, 0.7),
    ([(0, 0, 0.4, 4), (0.6, 0, 1, 4), (1.8, 0, 0.4, 4)], 9.0, 0.02, (3, 12), 1, 0.0),
    ([(0, 0, 3, 3)], 6.0, 0.003, (6, 6), 2, 0.3),
    ([(0, 0, 1, 2), (4, 0, 1, 2)], 12.0, 0.03, (6, 9), 3, 0.9),
    ([(0, 0, 2, 4), (2.5, 0, 2, 4)], (3.0, 0.5), 0.02, (6, 10), 2, 0.3),
    ([(0, 0, 1, 5)], (2.0, 0.2), 0.01, (5, 15), 2, 0.0),
)  # fmt: skip
THICKNESS, OF_FILM = 1e-5, 7.0


def random_strips(count):
    """More of these: one to three strips of any sizes, gaps from 0.05 to 1, cutoffs from 0.002 to a third of a gap."""
    draw = random.Random(77)
    for _ in range(count):
        number = draw.choice((1, 2, 2, 3))
        widths, height = [draw.uniform(0.4, 2) for _ in range(number)], draw.uniform(1.5, 8)
        gap, x, strips = draw.choice((0.05, 0.15, 0.4, 1.0)), 0.0, []
        for width in widths:
            strips.append((round(x, 3), 0, round(width, 3), round(height, 3)))
            x += round(width, 3) + gap
        cutoff = gap * draw.choice((0.3, 0.1, 0.03)) if number > 1 else min(widths) * draw.choice((0.1, 0.03, 0.01))
        cutoff = max(0.002, min(cutoff, 0.2 * min(widths)))
        eps = draw.choice((2.0, 4.0, 11.7, (3.0, 0.3), (4.0, 1.0)))
        yield strips, eps, cutoff, (draw.choice((3, 4, 6)), draw.choice((8, 12))), draw.choice((1, 2, 3)), draw.uniform(0, 1.5)


def of_films(program, folder, problem):
    """A row of strips on a half-space: films on metal, toward it and toward air, and beside metal."""
    number, (strips, eps, cutoff, cells, grade, turn) = problem
    folder.mkdir()
    names = [chr(97 + k) for k in range(len(strips))]
    draw = random.Random(number)
    surfaces = {}
    for name, strip in zip(names, strips):
        nx, ny = cells if strip[2] <= strip[3] else cells[::-1]
        surfaces[name] = strip_mesh(*strip, (nx, ny), draw, turn, grade)
    eps, ground = eps if isinstance(eps, tuple) else (eps, None)
    layer = 1 if ground else 0
    tables = "".join(conductor(name, name) + "\n" for name in names)
    tables += layers(eps, ground, True, 0.0)
    if ground:
        tables = tables.replace("[stack]", f"[stack]\nabove = {eps}")
    places = (f"layer = {layer}", f"layer = {layer + 1}", f"interface = {layer}")
    for k, place in enumerate(places):
        on = f"on = {names}\n".replace("'", '"') if k < 2 else ""
        tables += f'[[film]]\nname = "film{k}"\n{on}{place}\nthickness = {THICKNESS}\nrelative_permittivity = {OF_FILM}\ncutoff = {cutoff}\n'
    capacitance, (below, above), (along, through) = strips_alone(strips, cutoff, ground)
    of_above = eps if ground else 1
    per = THICKNESS / (4 * np.pi * np.diag(capacitance) * (eps + of_above) / 2)
    exact = [per * below * eps**2 / OF_FILM, per * above * of_above**2 / OF_FILM]
    exact.append(per * (along * OF_FILM + through * eps**2 / OF_FILM))
    path = write(program, folder, None, surfaces, tables)
    gap = "" if len(strips) == 1 else f", gap {strips[1][0] - strips[0][0] - strips[0][2]:.2g}"
    gap += f", ground {ground:g} below" if ground else ""
    name = f"{len(strips)} of {strips[0][2]:g} x {strips[0][3]:g}{gap}, eps {eps:g}, cutoff {cutoff:g}"
    found = []
    for density in DENSITIES:
        seen = {}
        for accuracy in (None, *FILM_ACCURACIES):
            results, _ = solve(program, path, folder, accuracy, density=density)
            for k, film in enumerate(results["films"]):
                kind = ("on metal" if k < 2 else "next to metal") + (", over a ground" if ground else "")
                for i, (value, bar) in enumerate(zip(film["participation"], film["participation_error"])):
                    truth = OF_TRUTH * exact[k][i]
                    error = abs(value - exact[k][i])
                    missed = []
                    if error > bar + truth:
                        missed.append(f"{name}, {density}, {accuracy}: {places[k]}, {i}: {value:.4g} +- {bar:.2g}, exact {exact[k][i]:.4g}")
                    ratio = bar / max(error, truth / 2)
                    found.append(((kind, density), results["mesh"]["triangles"], ratio, missed, error / exact[k][i]))
                    for other, its_bar in seen.get((k, i), []):
                        if abs(value - other) > bar + its_bar:
                            print(f"{name}, {density}: {places[k]}, {i}: {value:.4g} +- {bar:.2g} excludes {other:.4g} +- {its_bar:.2g}")
                    seen.setdefault((k, i), []).append((value, bar))
    return found


def films(program, folder, jobs):
    """Bars of shares in films"""
    with ThreadPoolExecutor(jobs) as pool:
        problems = enumerate([*STRIPS, *random_strips(20)])
        found = [of for one in pool.map(lambda of: of_films(program, folder / str(of[0]), of), problems) for of in one]
    return table_of(rows_of(found), *COLUMNS)


def rows_of(found):
    """A row of each kind of share, from kind, triangles, bar over error, what missed and relative error of each."""
    rows = []
    for kind in sorted({of[0] for of in found}):
        of = [one for one in found if one[0] == kind]
        counts, missed = [one[1] for one in of], [miss for one in of for miss in one[3]]
        error = statistics.median(one[4] for one in of)
        name = f"{', '.join(kind)} (error {100 * error:.1f} % in the median)"
        rows.append((name, f"{min(counts):,} to {max(counts):,}", [one[2] for one in of], len(of) - len(missed), missed))
    return rows


def coplanar_alone(near, far, cutoff):
    """A strip from x = near to far next to a plane x = 0 at 0 V, at 1 V, and of unit permittivities: integrals, per length, of the
    squares of the field on one side of the strip and next to it in its plane, beyond a cutoff from its edges."""
    k = near / far
    # The complete elliptic integral, by the mean of arithmetic and geometric means.
    a, b = 1.0, math.sqrt(1 - k * k)
    for _ in range(40):
        a, b = (a + b) / 2, math.sqrt(a * b)
    scale = (far * 2 * a / math.pi) ** 2 / (far**2 - near**2)

    def part(x):
        """Of -1/((x^2 - near^2)(x^2 - far^2)), times far^2 - near^2."""
        return math.log(abs((x - near) / (x + near))) / (2 * near) + math.log(abs((far + x) / (far - x))) / (2 * far)

    on_metal = part(far - cutoff) - part(near + cutoff)
    beside = -part(near - cutoff) + part(far + cutoff)
    return scale * on_metal, scale * beside


COPLANAR = ((0.5, 1.5, 11.7, 0.01), (0.1, 1.1, 11.45, 0.002), (1.0, 1.4, 4.0, 0.02), (0.2, 0.6, 9.0, 0.005))
LENGTHS = (30.0, 60.0)


def of_coplanar(program, folder, problem):
    """A strip next to a grounded plane across a substrate: what is more of a long one than of a short one, against conformal maps."""
    number, (near, far, eps, cutoff) = problem
    on_metal, beside = coplanar_alone(near, far, cutoff)
    # Shares times capacitance over 4 pi eps0.
    exact = [eps**2 * on_metal / OF_FILM, on_metal / OF_FILM, OF_FILM * beside]
    exact = [THICKNESS / (4 * np.pi) * one for one in exact]
    found = []
    for accuracy in FILM_ACCURACIES:
        values, bars, count = np.zeros(3), np.zeros(3), 0
        for length, sign in zip(LENGTHS, (-1, 1)):
            tables = conductor("a", "a") + "\n" + layers(eps, None, False, 0.0) + plane("x", 0, "ground")
            for k, place in enumerate(('on = "a"\nlayer = 0', 'on = "a"\nlayer = 1', "interface = 0")):
                tables += f'[[film]]\nname = "film{k}"\n{place}\nthickness = {THICKNESS}\nrelative_permittivity = {OF_FILM}\ncutoff = {cutoff}\n'
            where = folder / f"{number}-{length:g}"
            path = write(program, where, None, {"a": film(near, 0, far - near, length, 0)}, tables)
            results, _ = solve(program, path, where, accuracy, "films")
            capacitance = results["capacitance"]["maxwell_over_4pi_eps0"][0][0] / (LENGTHS[1] - LENGTHS[0])
            for k, one in enumerate(results["films"]):
                values[k] += sign * capacitance * one["participation"][0]
                bars[k] += capacitance * one["participation_error"][0]
            count = results["mesh"]["triangles"]
        for k, kind in enumerate(("on metal", "on metal", "next to metal")):
            error = abs(values[k] - exact[k])
            name = f"strip {near:g} to {far:g}, eps {eps:g}, cutoff {cutoff:g}, {accuracy:g}"
            missed = [] if error <= bars[k] else [f"{name}: {k}: {values[k]:.5g} +- {bars[k]:.2g}, exact {exact[k]:.5g}"]
            found.append(((kind, f"{accuracy:g}"), count, bars[k] / max(error, 1e-9 * exact[k]), missed, error / exact[k]))
    return found


def coplanar(program, folder, jobs):
    """Bars of films on coplanar strips"""
    with ThreadPoolExecutor(jobs) as pool:
        found = [of for one in pool.map(lambda of: of_coplanar(program, folder, of), enumerate(COPLANAR)) for of in one]
    return table_of(rows_of(found), *COLUMNS)


def kirkwood(radius, charges, inside, outside, kappa):
    """Reaction energy, in e^2 over 4 pi eps0 and angstrom, of charges (x, y, z, q) in a ball among ions: Kirkwood's series."""
    charges = np.array(charges)
    places, q = charges[:, :3], charges[:, 3]
    r = np.linalg.norm(places, axis=1)
    cosine = np.clip(places @ places.T / np.maximum(np.outer(r, r), 1e-30), -1, 1)
    energy, ratio, x = 0.0, 1.0, kappa * radius
    lower, legendre = np.zeros_like(cosine), np.ones_like(cosine)
    for l in range(400):
        # x k_l'(x) / k_l(x), and k_l / k_(l + 1) from k_(l - 1) / k_l.
        slope = -(l + 1) - x * ratio
        ratio = x / (x * ratio + 2 * l + 1) if x else 0.0
        share = (outside * slope + inside * (l + 1)) / (inside * l - outside * slope)
        powers = q * (r / radius) ** l
        energy += 0.5 * share / (inside * radius) * (powers @ legendre @ powers)
        lower, legendre = legendre, ((2 * l + 1) * cosine * legendre - l * lower) / (l + 1)
    return energy


COULOMB = 2.3070775523e-18  # J: e^2 over 4 pi eps0 and an angstrom


def of_salt(program, folder, number):
    """Charges off centre in a ball, in two balls, or in a globule of atoms, among ions."""
    draw = random.Random(1000 + number)
    folder.mkdir()
    kind = ("ball", "ball", "ball", "two balls", "globule")[number % 5]
    kappa = 0.0 if number % 9 == 4 else draw.choice((0.05, 0.125, 0.3, 1.0)) * draw.uniform(0.7, 1.0)
    inside, order, density = draw.choice((1.0, 2.0, 4.0)), draw.choice((1, 2)), draw.choice((1, 2, 4, 8))
    atoms = []
    if kind == "globule":
        make = f"molecule --atoms {draw.choice((60, 150, 300))} --elements 500 -o {folder}/atoms.msh".split()
        subprocess.run([program, "mesh", "generate", *make], check=True, capture_output=True)
        (folder / "atoms.pqr").rename(folder / "m.pqr")
    else:
        balls = [(0.0, draw.uniform(2, 5))]
        if kind == "two balls":
            balls += [(balls[0][1] + draw.uniform(0.5, 4) + 3.0, 3.0)]
        for x, radius in balls:
            atoms.append((x, 0.0, 0.0, 0.0 if kind == "ball" else 1.0, radius))
            for _ in range(draw.choice((1, 2, 4))):
                way = np.array([draw.gauss(0, 1) for _ in range(3)])
                way *= radius * draw.uniform(0.1, 0.7) / np.linalg.norm(way)
                atoms.append((x + way[0], way[1], way[2], draw.choice((-1.0, 0.5, 1.0)), 0.0))
        rows = [f"ATOM {k} C{k} ION 1 {x:.6f} {y:.6f} {z:.6f} {q} {r:.6f}" for k, (x, y, z, q, r) in enumerate(atoms, 1)]
        (folder / "m.pqr").write_text("\n".join(rows) + "\n", encoding="utf-8")

    def energy(density, order):
        path = folder / "case.toml"
        text = f"format = 1\n[medium]\nrelative_permittivity = 80\nkappa = {kappa}\n[[molecule]]\npqr = \"m.pqr\"\n"
        text += f'relative_permittivity = {inside}\nsurface = "vdw"\ndensity = {density}\norder = {order}\n'
        if kind == "globule":
            text = text.replace('"vdw"', '"ses"')
        path.write_text(text, encoding="utf-8")
        results, _ = solve(program, path, folder)
        found = results["solvation"]
        return found["energy_j"], found["energy_error_j"], results["mesh"]["triangles"]

    value, bar, count = energy(density, order)
    if kind == "ball":
        charges = [(x, y, z, q) for x, y, z, q, _ in atoms if q]
        exact, truth = COULOMB * kirkwood(atoms[0][4], charges, inside, 80.0, kappa), 0.0
    else:
        # With curved triangles and four times as many: fifty times as exact as flat ones.
        exact, truth, _ = energy(max(16, 4 * density) if kind == "two balls" else 4 * density, 2)
    name = f"{kind}, kappa {kappa:.2g}, density {density}, order {order}"
    error = abs(value - exact)
    missed = [] if bar is not None and error <= bar + truth else [f"{name} ({number}): {value:.5g} +- {bar}, exact {exact:.5g} +- {truth:.2g}"]
    ratio = (bar or 0) / max(error, truth / 4)
    return kind, kappa, order, count, ratio, missed


def salt(program, folder, jobs):
    """Bars of energies among ions"""
    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(lambda number: of_salt(program, folder / str(number), number), range(40)))
    rows = []
    for kind in ("ball", "two balls", "globule"):
        for order in (1, 2):
            of = [run for run in found if run[0] == kind and run[2] == order]
            counts = [run[3] for run in of]
            missed = [miss for run in of for miss in run[5]]
            name = f"{kind}, " + ("flat" if order == 1 else "order 2")
            rows.append((name, f"{min(counts):,} to {max(counts):,}", [run[4] for run in of], len(of) - len(missed), missed))
    return table_of(rows, *COLUMNS)


PARTS = {"next_to_layers": next_to_layers, "films": films, "coplanar": coplanar, "salt": salt}


if __name__ == "__main__":
    main(sys.argv[1:], PARTS, PARTS, __doc__)
