"""Layer operators as linear operators of SciPy."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, gmres

import farad

KINDS = ["single_layer", "double_layer", "adjoint_double_layer"]


@pytest.fixture(scope="module")
def surface():
    return farad.Surface(farad.Mesh.sphere(1.0, elements=320, unit="m"), tolerance=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_several_vectors_are_one_after_the_other(surface, kind):
    A = getattr(surface, kind)(columns=3)
    assert isinstance(A, LinearOperator) and A.shape == (320, 320) and A.dtype == np.float64
    X = np.random.default_rng(0).normal(size=(320, 3))
    together = A.matmat(X)
    alone = np.column_stack([A.matvec(X[:, k]) for k in range(3)])
    np.testing.assert_allclose(together, alone, atol=1e-8 * abs(alone).max())
    np.testing.assert_allclose(A @ np.asfortranarray(X), together, atol=1e-12)
    both = A @ (X[:, 0] + 2j * X[:, 1])
    np.testing.assert_allclose(both, alone[:, 0] + 2j * alone[:, 1], atol=1e-7)
    # Of float32 they are those of the same numbers in float64, in the operator's own type.
    X = X.astype(np.float32)
    for given in (X, np.asfortranarray(X), X[:, 0], X[::-1][::-1]):
        found = A @ given
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, A @ given.astype(np.float64))
    if kind == "single_layer":
        back = A.rmatmat(X)
        np.testing.assert_array_equal(back, A.rmatmat(X.astype(np.float64)))
    both = A @ (X[:, :2] + 2j * X[:, 1:]).astype(np.complex64)
    expected = A @ X[:, :2].astype(float) + 2j * (A @ X[:, 1:].astype(float))
    assert both.dtype == np.complex128
    np.testing.assert_allclose(both, expected, atol=1e-7 * abs(expected).max())


def test_potentials_of_a_row_are_sums_over_triangles(surface):
    """A far row of V against a sum of points; the mesh is flat."""
    V = surface.single_layer()
    mesh = surface.mesh
    corners = mesh.points[mesh.triangles]
    centroids, areas = corners.mean(axis=1), mesh.areas
    row = V.rmatvec(np.eye(320)[0])
    away = np.linalg.norm(centroids - centroids[0], axis=1)
    far = away > 1.0
    np.testing.assert_allclose(
        row[far], (areas / (4 * np.pi * np.maximum(away, 1e-9)))[far], rtol=5e-3
    )


@pytest.mark.parametrize("spaces", [("constant", "constant"), ("linear", "linear")])
def test_screened_layers(surface, spaces):
    """On the unit sphere the density 1 has potentials in closed form."""
    kappa = 1.5
    V, K, adjoint = (getattr(surface, kind)(*spaces, kappa=kappa) for kind in KINDS)
    ones = np.ones(V.shape[0])
    # Flat triangles are within 1 % of the sphere.
    exact = np.sinh(kappa) * np.exp(-kappa) / kappa
    np.testing.assert_allclose(V @ ones, exact, rtol=0.02)
    exact = 0.5 - (1 + 1 / kappa) * np.sinh(kappa) * np.exp(-kappa)
    np.testing.assert_allclose(K @ ones, exact, atol=0.02)
    np.testing.assert_allclose(adjoint @ ones, exact, atol=0.02)
    random = np.random.default_rng(4)
    x, y = random.normal(size=(2, V.shape[0]))
    size = np.linalg.norm(K @ x) * np.linalg.norm(y)
    assert abs(y @ (K @ x) - K.rmatvec(y) @ x) < 1e-6 * size
    same = surface.single_layer(*spaces, kappa=0.0) @ x
    np.testing.assert_array_equal(same, surface.single_layer(*spaces) @ x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "spaces", [("constant", "constant"), ("linear", "linear"), ("constant", "linear")]
)
def test_transposes(surface, kind, spaces):
    A = getattr(surface, kind)(*spaces)
    random = np.random.default_rng(3)
    x, y = random.normal(size=A.shape[1]), random.normal(size=A.shape[0])
    forward, backward = y @ A.matvec(x), A.rmatvec(y) @ x
    size = np.linalg.norm(A.matvec(x)) * np.linalg.norm(y)
    assert abs(forward - backward) < 1e-6 * size
    np.testing.assert_allclose(A.T @ y, A.rmatvec(y))


def test_closed_forms_on_a_sphere():
    surface = farad.Surface(farad.Mesh.sphere(1.0, elements=1280, unit="m"))
    ones = np.ones(1280)
    # Gauss's law is exact on any closed surface, for means weighted with areas.
    inside = surface.double_layer() @ ones
    np.testing.assert_allclose(inside, -0.5, atol=1e-4)
    # The potential of a sphere of unit density is its radius, a little less on flat triangles.
    np.testing.assert_allclose(surface.single_layer() @ ones, 1.0, rtol=0.01)
    assert surface.weights().sum() == pytest.approx(surface.mesh.areas.sum())
    assert surface.dimension("linear") == 642 == len(surface.vertices)
    M = surface.mass("linear", "linear")
    np.testing.assert_allclose(M @ np.ones(642), 1.0)
    assert surface.single_layer("centroids").shape == (1280, 1280)


def test_an_equation_is_solved(surface):
    V = surface.single_layer()
    density, info = gmres(V, np.ones(320), rtol=1e-8)
    assert info == 0
    charge = density @ surface.weights()
    problem = farad.Problem(surface.mesh).solve(tolerance=1e-8)
    C = problem.capacitance["sphere", "sphere"] / 8.8541878188e-12
    assert charge == pytest.approx(C, rel=1e-5)


@pytest.mark.parametrize(
    "message, make",
    [
        ("no farad.Mesh", lambda s: farad.Surface("mesh")),
        (
            'test is "quadratic"; it must be "constant", "linear" or "centroids"',
            lambda s: s.single_layer("quadratic"),
        ),
        (
            'trial is "cubic"; it must be "constant" or "linear"',
            lambda s: s.single_layer("constant", "cubic"),
        ),
        ('space is "P2"; it must be "constant" or "linear"', lambda s: s.weights("P2")),
        ("tolerance", lambda s: farad.Surface(s.mesh, tolerance=-1.0).single_layer()),
        ("kappa = -1 is out of range: 0 or more", lambda s: s.double_layer(kappa=-1.0)),
        ("kappa is 'one'; it must be a number", lambda s: s.single_layer(kappa="one")),
        ("no transpose", lambda s: s.single_layer("centroids").rmatvec(np.ones(320))),
    ],
)
def test_faults_are_reported(surface, message, make):
    with pytest.raises(farad.InputError, match=message):
        make(surface)


def test_wrong_lengths(surface):
    with pytest.raises(ValueError):
        surface.single_layer() @ np.ones(5)
