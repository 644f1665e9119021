"""The extension module checks what it is given, too: what its Python modules would not pass on."""

import numpy as np
import pytest

import farad
from farad import _farad

POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], dtype=np.uint32)
GROUP = np.zeros(4, dtype=np.uint32)
PROBLEM = farad.Problem(farad.Mesh.sphere(elements=80, unit="m"))._problem
SUM = {
    "tolerance": 1e-6,
    "kappa": 0.0,
    "precision": None,
    "mode": "auto",
    "densities": 1,
    "gradient": False,
    "dipoles": False,
    "backend": "auto",
    "gpu": 0,
}
OPERATOR = {"tolerance": 1e-6, "kappa": 0.0, "columns": 1, "backend": "auto", "gpu": 0}
SOLVE = {
    "accuracy": None,
    "of": "all",
    "max_time": None,
    "tolerance": 1e-6,
    "fmm_tolerance": None,
    "method": "auto",
    "density": "auto",
    "backend": "auto",
    "gpu": 0,
    "deterministic": False,
    "memory_limit": None,
    "threads": None,
    "max_iterations": 0,
    "restart": 60,
}


def mesh(points=POINTS, faces=FACES, group=GROUP, nodes=None):
    return _farad.Mesh.from_arrays(points, faces, group, ["a"], "m", nodes)


def matrix(names, form="q3d"):
    return _farad.matrix_text(form, names, np.eye(2), "title", "", 0.0)


def surface():
    return _farad.Surface(mesh())


def single_layer():
    return surface().operator("single", ("constant", "constant"), OPERATOR)


@pytest.mark.parametrize(
    "message, make",
    [
        ("points is not contiguous in C order", lambda: mesh(np.asfortranarray(POINTS))),
        ("points is not of shape (n, 3)", lambda: mesh(POINTS[:, :2].copy())),
        ("nodes is not of shape (n, 3)", lambda: mesh(nodes=np.zeros((24, 2)))),
        ("triangles are not contiguous in C order", lambda: mesh(faces=np.asfortranarray(FACES))),
        ("triangles are not of shape (n, 3)", lambda: mesh(faces=FACES[:, :2].copy())),
        ("groups are not contiguous", lambda: mesh(group=np.zeros(8, dtype=np.uint32)[::2])),
        ("group", lambda: mesh(group=GROUP + 7)),
        ("vertex", lambda: mesh(faces=FACES + 9)),
        ("1 names for 2 groups", lambda: farad.Mesh.two_spheres(unit="m")._mesh.renamed(["a"])),
        ("give either elements or size", lambda: shape((None, None))),
        ('there is no shape "blob"', lambda: shape((None, 80), "blob")),
        (
            "shift, axis, centre and angle must be finite",
            lambda: mesh().moved((0, 0, np.nan), (0, 0, 1), (0, 0, 0), 0.0),
        ),
        ("only a whole matrix is written, with a name for each row", lambda: matrix(["a"])),
        ('there is no form "xml" of matrices', lambda: matrix(["a", "b"], "xml")),
        ("only a whole matrix is reduced, with a name for each row", lambda: reduced(["a"])),
        ("sources is not of shape (n, 3)", lambda: _farad.Points("sources", np.zeros((3, 2)))),
        ("charges are not contiguous", lambda: sums(np.zeros(8)[::2])),
        ("charges have 3 values, expected 4", lambda: sums(np.zeros(3))),
        ("dipoles have 4 values, expected 12", lambda: sums(dipoles=np.zeros(4))),
        ('there is no operator "triple"', lambda: operator("triple")),
        ("vectors are not contiguous", lambda: single_layer().apply(np.zeros(8)[::2], 1)),
        (
            "the vectors' length is not that of the operator",
            lambda: single_layer().apply(np.zeros(5), 1),
        ),
        (
            "the vectors' length is not that of the operator",
            lambda: single_layer().apply(np.zeros(4), 2**63),
        ),
        ('there is no derivative by "colour"', lambda: PROBLEM.sensitivity("a", "colour", [], 0)),
        (
            "max_iterations and restart must be 1 or more",
            lambda: PROBLEM.solve(SOLVE, None, None),
        ),
        (
            "ions are given by either ionic_strength or kappa",
            lambda: PROBLEM.salt(None, 1.0, (0.1, 300.0)),
        ),
        (
            "there is no column 7 of charges",
            lambda: farad.Problem(farad.Mesh.sphere(elements=80, unit="m")).solve()._found.unit_density(
                7, True
            ),
        ),
    ],
)
def test_faults_are_reported(message, make):
    with pytest.raises(farad.InputError) as caught:
        make()
    assert message in str(caught.value)


def shape(resolution, name="sphere"):
    return _farad.Mesh.shape(name, [1.0], 1.0, resolution, 1, "m")


def reduced(names):
    wanted = {"groups": [], "grounded": [], "floating": [], "between": None}
    return _farad.reduced(names, np.eye(2), None, wanted)


def sums(charges=None, dipoles=None):
    plan = _farad.Plan(_farad.Points("sources", POINTS), None, {**SUM, "dipoles": True})
    return plan.apply(1, charges, dipoles, (True, False), False)


def operator(kind):
    return surface().operator(kind, ("constant", "constant"), OPERATOR)

