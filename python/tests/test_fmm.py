"""Fast sums against direct ones."""

import threading

import numpy as np
import pytest

import farad


def direct(targets, sources, charges=None, dipoles=None, kappa=0.0):
    """Potential and gradient by all pairs."""
    away = targets[:, None, :] - sources[None, :, :]
    r = np.linalg.norm(away, axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(r > 0, 1 / r, 0.0)
    potential, gradient = np.zeros(len(targets)), np.zeros((len(targets), 3))
    if charges is not None:
        screened = charges * np.exp(-kappa * r)
        potential += (screened * one).sum(axis=1)
        slope = -screened * (kappa * one**2 + one**3)
        gradient += (slope[:, :, None] * away).sum(axis=1)
    if dipoles is not None:
        along = (dipoles[None] * away).sum(axis=2)
        potential += (along * one**3).sum(axis=1)
        gradient += (dipoles[None] * (one**3)[:, :, None]).sum(axis=1)
        gradient -= 3 * ((along * one**5)[:, :, None] * away).sum(axis=1)
    return potential, gradient


def error(found, exact):
    return np.linalg.norm(found - exact) / np.linalg.norm(exact)


@pytest.fixture(scope="module")
def points():
    random = np.random.default_rng(1)
    return random.random((3000, 3)), random.random((700, 3)), random.normal(size=3000)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("mode", ["fmm", "treecode", "direct"])
def test_errors_are_below_the_tolerance(points, tolerance, mode):
    sources, targets, charges = points
    fmm = farad.Fmm(sources, targets, tolerance, mode=mode)
    assert fmm.info["mode"] == mode
    potential, gradient = fmm(charges, gradient=True)
    assert potential.shape == (700,) and gradient.shape == (700, 3)
    exact = direct(targets, sources, charges)
    assert error(potential, exact[0]) < tolerance
    assert error(gradient, exact[1]) < tolerance


def test_sources_are_targets_without_any(points):
    sources, _, charges = points
    potential = farad.Fmm(sources)(charges)
    assert error(potential, direct(sources, sources, charges)[0]) < 1e-6


def test_dipoles_screening_and_several_sets(points):
    sources, targets, charges = points
    dipoles = np.random.default_rng(2).normal(size=(2, 3000, 3))
    sets = np.stack([charges, charges[::-1]])
    fmm = farad.Fmm(sources, targets, 1e-7, densities=2)
    potential, gradient = fmm(sets, dipoles=dipoles, gradient=True)
    assert potential.shape == (2, 700) and gradient.shape == (2, 700, 3)
    for k in range(2):
        exact = direct(targets, sources, sets[k], dipoles[k])
        assert error(potential[k], exact[0]) < 1e-7
        assert error(gradient[k], exact[1]) < 1e-7
    alone = fmm(dipoles=dipoles[0])
    assert error(alone, direct(targets, sources, None, dipoles[0])[0]) < 1e-7
    only = fmm(charges, potential=False, gradient=True)
    assert error(only, direct(targets, sources, charges)[1]) < 1e-7
    screened = farad.Fmm(sources, targets, 1e-6, kappa=3.0)(charges)
    assert error(screened, direct(targets, sources, charges, kappa=3.0)[0]) < 1e-6


def test_kinds_of_arrays(points):
    sources, targets, charges = points
    exact = direct(targets, sources, charges)[0]
    single = farad.Fmm(sources.astype(np.float32), targets.astype(np.float32), 1e-3)
    found = single(charges.astype(np.float32))
    assert found.dtype == np.float32 and error(found, exact) < 1e-3
    assert single(charges).dtype == np.float64
    # Widening is exact, and sums are rounded once; in gaps and in Fortran's order, too.
    p, q = sources.astype(np.float32), charges.astype(np.float32)
    widened = farad.Fmm(p.astype(float), mode="direct")(q.astype(float)).astype(np.float32)
    for given in (p, np.asfortranarray(p), np.repeat(p, 2, axis=0)[::2]):
        found = farad.Fmm(given, mode="direct")(np.repeat(q, 2)[::2])
        assert found.dtype == np.float32 and np.array_equal(found, widened)
    potential, gradient = single(q, gradient=True, dipoles=p)
    assert potential.dtype == gradient.dtype == np.float32 and gradient.shape == (700, 3)
    assert single(q, dipoles=sources).dtype == np.float64
    # In Fortran's order, with gaps, backwards, lists, whole numbers.
    wide = np.zeros((3000, 5))
    wide[:, 1:4] = sources
    for given in (np.asfortranarray(sources), wide[:, 1:4], sources.tolist()):
        assert error(farad.Fmm(given, targets)(charges), exact) < 1e-6
    assert error(farad.Fmm(sources[::-1], targets)(charges[::-1]), exact) < 1e-6
    # Of the other byte order, and not at addresses that are multiples of their size.
    for kind in (">f8", ">f4"):
        found = farad.Fmm(sources.astype(kind), targets)(charges.astype(kind))
        assert found.dtype == np.float64 and error(found, exact) < 1e-5
    for kind in (np.float64, np.float32):
        odd = np.zeros(1 + np.dtype(kind).itemsize * sources.size, dtype=np.uint8)[1:].view(kind)
        odd = odd.reshape(sources.shape)
        odd[:] = sources
        assert not odd.flags.aligned
        assert error(farad.Fmm(odd, targets)(charges), exact) < 1e-5
    ones = farad.Fmm(sources, targets)(np.ones(3000, dtype=int))
    assert error(ones, direct(targets, sources, np.ones(3000))[0]) < 1e-6


def test_points_are_the_plans_own(points):
    sources, targets, charges = points
    mine = sources.copy()
    fmm = farad.Fmm(mine, targets)
    mine[:] = 0.0
    _, gradient = fmm(charges, gradient=True)  # is planned now
    assert error(gradient, direct(targets, sources, charges)[1]) < 1e-6


def test_precision_may_be_chosen(points):
    sources, targets, charges = points
    assert (
        farad.Fmm(sources, precision="double", tolerance=1e-3, mode="fmm").info["precision"]
        == "double"
    )
    assert (
        farad.Fmm(sources, precision="single", tolerance=1e-3, mode="fmm").info["precision"]
        == "single"
    )


def test_empty_and_single():
    none = np.zeros((0, 3))
    assert farad.Fmm(none)(np.zeros(0)).shape == (0,)
    assert farad.Fmm(none, [[0.0, 0, 0]])(np.zeros(0)).tolist() == [0.0]
    assert farad.Fmm([[0, 0, 0]], none)(np.ones(1)).shape == (0,)
    assert farad.Fmm([[0, 0, 0]])([1.0]).tolist() == [0.0]
    assert farad.Fmm([[0, 0, 0]], [[0, 0, 2]])([1]).tolist() == pytest.approx([0.5], rel=1e-14)
    assert farad.Fmm([[0, 0, 0]])(np.zeros((0, 1))).shape == (0, 1)


def test_threads_sum_at_once(points):
    sources, targets, charges = points
    fmm = farad.Fmm(sources, targets, 1e-8)
    expected = fmm(charges)
    found = []
    wants = [False, True] * 4

    def work(gradient):
        got = fmm(charges, gradient=gradient)
        found.append(got[0] if gradient else got)

    threads = [threading.Thread(target=work, args=(want,)) for want in wants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert len(found) == len(wants)
    for values in found:
        assert error(values, expected) < 1e-8


def test_results_that_do_not_fit_are_reported():
    fmm = farad.Fmm(np.zeros((1, 3)), np.ones((1_000_000, 3)))
    with pytest.raises(farad.OutOfMemoryError, match="do not fit into memory; take fewer"):
        fmm(np.zeros((20_000_000, 1)))
    assert len(fmm([1.0])) == 1_000_000


@pytest.mark.parametrize(
    "message, make",
    [
        ("sources has the shape", lambda p: farad.Fmm(p[:, :2])),
        ("sources has the shape", lambda p: farad.Fmm(p.ravel())),
        ("targets has the shape", lambda p: farad.Fmm(p, p[0])),
        ("sources has the type complex", lambda p: farad.Fmm(p + 1j)),
        ("sources has the type", lambda p: farad.Fmm([["a", "b", "c"]])),
        ("sources", lambda p: farad.Fmm([[1, 2, 3], [1, 2]])),
        ("not a finite number", lambda p: farad.Fmm(np.where(p > 0.99, np.nan, p))),
        ("not a finite number", lambda p: farad.Fmm(p, p * np.inf)),
        ("tolerance = 0 is out of range", lambda p: farad.Fmm(p, tolerance=0)),
        ("tolerance = 100", lambda p: farad.Fmm(p, tolerance=100)),
        ("tolerance = NaN", lambda p: farad.Fmm(p, tolerance=float("nan"))),
        ("tolerance is 'small'; it must be a number", lambda p: farad.Fmm(p, tolerance="small")),
        ("tolerance is '1e-3'; it must be a number", lambda p: farad.Fmm(p, tolerance="1e-3")),
        ("kappa is b'1'; it must be a number", lambda p: farad.Fmm(p, kappa=b"1")),
        ("kappa is array.*; it must be a number", lambda p: farad.Fmm(p, kappa=np.array("1"))),
        ("sources has the type <U", lambda p: farad.Fmm([["1", "2", "3"]])),
        ("charges has the type <U", lambda p: farad.Fmm(p)(["1"] * 100)),
        ("charges has the type object", lambda p: farad.Fmm(p)(np.array(["1"] * 100, object))),
        (
            "charges or dipoles are NaN or infinite",
            lambda p: farad.Fmm(p)(np.full(100, np.inf, dtype=np.float32)),
        ),
        ("kappa is None; it must be a number", lambda p: farad.Fmm(p, kappa=None)),
        ("kappa", lambda p: farad.Fmm(p, kappa=-1)),
        ("precision is", lambda p: farad.Fmm(p, precision="half")),
        ("mode is", lambda p: farad.Fmm(p, mode="fast")),
        ("backend is", lambda p: farad.Fmm(p, backend="gpu")),
        ("densities", lambda p: farad.Fmm(p, densities=0)),
        ("charges have the shape", lambda p: farad.Fmm(p)(np.ones(5))),
        ("charges have the shape", lambda p: farad.Fmm(p)(np.ones((100, 2)))),
        ("charges have the shape", lambda p: farad.Fmm(p)(1.0)),
        ("dipoles have the shape", lambda p: farad.Fmm(p)(dipoles=np.ones(100))),
        (
            "charges or dipoles are NaN or infinite",
            lambda p: farad.Fmm(p)(np.full(100, np.nan)),
        ),
        ("charges has masked entries", lambda p: farad.Fmm(p)(np.ma.masked_less(p[:, 0], 0.5))),
        ("neither charges", lambda p: farad.Fmm(p)()),
        ("neither potential", lambda p: farad.Fmm(p)(np.ones(100), potential=False)),
        ("different numbers", lambda p: farad.Fmm(p)(np.ones((2, 100)), dipoles=np.ones((100, 3)))),
        ("type complex", lambda p: farad.Fmm(p)(np.ones(100) * 1j)),
    ],
)
def test_faults_are_reported(message, make):
    points = np.random.default_rng(0).random((100, 3))
    with pytest.raises(farad.InputError, match=message):
        make(points)
