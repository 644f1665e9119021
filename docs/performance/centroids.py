"""Writes the centroids of a mesh's triangles, and a charge of random sign for each, as farad fmm eval reads them.

    python3 docs/performance/centroids.py MESH.msh POINTS.npy CHARGES.npy

Reads MSH 4.1 in ASCII, as farad surface writes it. Needs numpy.
"""

import sys

import numpy as np


def section(lines, name):
    """The numbers of the lines between $NAME and $EndNAME, line by line."""
    begin, end = lines.index(f"${name}") + 1, lines.index(f"$End{name}")
    return lines[begin:end]


def nodes(lines):
    """Coordinates by node number, shape (largest number + 1, 3)."""
    blocks, _, _, largest = map(int, lines[0].split())
    places = np.zeros((largest + 1, 3))
    at = 1
    for _ in range(blocks):
        count = int(lines[at].split()[3])
        numbers = np.array(lines[at + 1 : at + 1 + count], dtype=int)
        rows = lines[at + 1 + count : at + 1 + 2 * count]
        places[numbers] = np.array([row.split()[:3] for row in rows], dtype=float)
        at += 1 + 2 * count
    return places


def triangles(lines):
    """Numbers of the corners, shape (n, 3)."""
    blocks = int(lines[0].split()[0])
    corners = []
    at = 1
    for _ in range(blocks):
        _, _, kind, count = map(int, lines[at].split())
        if kind == 2:  # three-node triangles
            corners += [row.split()[1:4] for row in lines[at + 1 : at + 1 + count]]
        at += 1 + count
    return np.array(corners, dtype=int)


def main():
    mesh, points, charges = sys.argv[1:]
    with open(mesh, encoding="utf-8") as file:
        lines = file.read().splitlines()
    places = nodes(section(lines, "Nodes"))
    centroids = places[triangles(section(lines, "Elements"))].mean(axis=1)
    np.save(points, centroids)
    np.save(charges, np.random.default_rng(1).uniform(-0.5, 0.5, len(centroids)))
    print(f"{len(centroids)} points")


if __name__ == "__main__":
    main()
