"""Random points and charges, and direct sums to measure errors with."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

TARGETS = 1000

# Pairs that are evaluated at once: 1 MiB for each array of doubles.
TARGETS_AT_ONCE, SOURCES_AT_ONCE = 32, 4096


def cube(n, rng):
    return rng.random((n, 3))


def sphere(n, rng):
    points = rng.standard_normal((n, 3))
    return points / np.linalg.norm(points, axis=1)[:, None]


def graded_plate(n, rng):
    """Both faces of a unit plate 0.001 thick; spacing grows in proportion to the distance from the edge, 1:1000 in all."""
    closest = 0.5 / 999
    distance = closest * (1000.0 ** rng.random((n, 2)) - 1)
    sides = np.where(rng.random((n, 2)) < 0.5, distance, 1 - distance)
    return np.column_stack([sides, np.where(rng.random(n) < 0.5, 0.0, 1e-3)])


def plummer(n, rng):
    """Plummer's star cluster of scale radius 1, without the outermost thousandth of its mass."""
    mass = 0.999 * (1 - rng.random(n))
    return sphere(n, rng) / np.sqrt(mass ** (-2 / 3) - 1)[:, None]


POINTS = {"cube": cube, "sphere": sphere, "graded plate": graded_plate, "Plummer": plummer}


def random_signs(points, rng):
    return rng.random(len(points)) - 0.5


def same_sign(points, rng):
    return rng.random(len(points))


def plane_wave(points, rng):
    """cos(k . x), two to three waves across the points, in a random direction."""
    k = sphere(1, rng)[0] * 14 / np.ptp(points, axis=0).max()
    return np.cos(points @ k)


def clustered(points, rng):
    """Charges of random sign within a hundredth of the extent from one of the points; far smaller elsewhere."""
    distance = np.linalg.norm(points - points[rng.integers(len(points))], axis=1) / np.ptp(points, axis=0).max()
    return (rng.random(len(points)) - 0.5) / (1 + (distance / 0.01) ** 4)


CHARGES = {"random signs": random_signs, "same sign": same_sign, "clustered": clustered, "plane wave": plane_wave}


def choose_targets(n, rng):
    return np.sort(rng.choice(n, min(n, TARGETS), replace=False))


def direct(points, targets, charges=None, dipoles=None, gradient=False):
    """Potential, shape (k, m), at points[targets] in double precision; with `gradient` the gradient too, shape (k, m, 3).

    charges (k, n), dipoles (n, 3) of the first density (potential alone); a point does not act on itself.
    """
    if gradient and dipoles is not None:
        raise ValueError("the gradient of dipoles is not summed here")

    def rows(first):
        return block(points, targets[first : first + TARGETS_AT_ONCE], charges, dipoles, gradient)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sums = list(pool.map(rows, range(0, len(targets), TARGETS_AT_ONCE)))
    potential = np.concatenate([s[0] for s in sums], axis=1)
    return potential, np.concatenate([s[1] for s in sums], axis=1) if gradient else None


def block(points, targets, charges, dipoles, gradient):
    at = points[targets]
    potential = np.zeros((1 if charges is None else len(charges), len(targets)))
    field = np.zeros((*potential.shape, 3))
    for begin in range(0, len(points), SOURCES_AT_ONCE):
        end = min(begin + SOURCES_AT_ONCE, len(points))
        r = [at[:, i, None] - points[begin:end, i] for i in range(3)]
        r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
        own = np.flatnonzero((targets >= begin) & (targets < end))
        r2[own, targets[own] - begin] = np.inf
        inverse = 1 / np.sqrt(r2)
        if charges is not None:
            potential += (inverse @ charges[:, begin:end].T).T
        if dipoles is not None:
            along = sum(r[i] * dipoles[begin:end, i] for i in range(3))
            potential[0] += (along * inverse * inverse * inverse).sum(axis=1)
        if gradient:
            cubed = inverse * inverse * inverse
            for i in range(3):
                field[:, :, i] -= ((cubed * r[i]) @ charges[:, begin:end].T).T
    return potential, field


def relative_l2(found, exact):
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))
