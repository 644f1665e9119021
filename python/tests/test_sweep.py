"""Sweeps."""

import numpy as np
import pytest

import farad

COAT = farad.Problem(farad.Mesh.concentric_spheres(1.0, 2.0, elements=320, unit="m")).conductor("inner")


def test_runs_come_as_they_are_solved():
    problem = COAT.dielectric("outer", 2.0)
    runs = problem.sweep(farad.Permittivity("outer", [2.0, 4.0, 8.0]))
    first = next(runs)
    assert first.values == {"eps_r(outer)": 2.0} and first.solution.ok
    alone = problem.solve().capacitance.values
    np.testing.assert_allclose(first.solution.capacitance.values, alone, rtol=1e-6)
    rest = [run.solution.capacitance["inner", "inner"] for run in runs]
    assert rest[0] > alone[0, 0] and rest[1] > rest[0]


def test_runs_that_differ_in_permittivities_share_the_near_field():
    solver = farad.Solver()
    list(
        COAT.dielectric("outer", 2.0).sweep(
            farad.Permittivity("outer", [2.0, 4.0]),
            farad.Permittivity(None, [1.0, 3.0]),
            solver=solver,
        )
    )
    assert solver.times_prepared == 1


def test_gathered_runs_are_labelled():
    pytest.importorskip("xarray")
    pair = farad.Problem(farad.Mesh.two_spheres(1.0, 3.0, elements=160, unit="m"))
    runs = pair.sweep(
        farad.Move("right", (1, 0, 0), [0.0, 1.0, 4.0], name="gap"),
        farad.Permittivity(None, [1.0, 2.0]),
    )
    data = farad.to_xarray(runs)
    assert dict(data.sizes) == {"gap": 3, "eps_r": 2, "conductor": 2, "column": 2}
    mutual = data.mutual.sel(conductor="left", column="right")
    assert (mutual.diff("gap") < 0).all()
    np.testing.assert_allclose(mutual.sel(eps_r=2.0), 2 * mutual.sel(eps_r=1.0), rtol=1e-6)
    assert data.converged.all() and data.maxwell.attrs["units"] == "F"


def test_turns():
    mesh = farad.Mesh.cube(1.0, elements=108, name="a", unit="m") + farad.Mesh.cube(
        1.0, elements=108, center=(2, 0, 0), name="b", unit="m"
    )
    turn = farad.Turn("b", (0, 0, 1), [0.0, 45.0, 90.0], center=(2, 0, 0))
    found = [run.solution.capacitance["a", "b"] for run in farad.Problem(mesh).sweep(turn)]
    assert found[0] == pytest.approx(found[2], rel=1e-6) and abs(found[1]) > abs(found[0])


def others():
    """Runs of different problems."""
    for name in ("left", "right"):
        mesh = farad.Mesh.sphere(elements=80, name=name, unit="m")
        yield from farad.Problem(mesh).sweep(farad.Permittivity(None, [1.0]))


@pytest.mark.parametrize(
    "message, make",
    [
        ("at least one", lambda: farad.Permittivity("outer", [])),
        ("finite", lambda: farad.Permittivity("outer", [1.0, np.nan])),
        ("no farad.Permittivity", lambda: COAT.sweep("outer")),
        (
            "two changes have one name: eps_r, eps_r; give them names",
            lambda: COAT.sweep(farad.Permittivity(None, [1]), farad.Permittivity(None, [2])),
        ),
        (
            "these are more than 100,000 runs",
            lambda: COAT.sweep(
                farad.Permittivity(None, np.ones(400)), farad.Permittivity("outer", np.ones(400))
            ),
        ),
        (
            'no dielectric "cat"',
            lambda: next(COAT.dielectric("outer", 2).sweep(farad.Permittivity("cat", [1]))),
        ),
        ('no physical group "lef"; its groups are "inner", "outer"', lambda: next(COAT.sweep(farad.Move("lef", (1, 0, 0), [1])))),
        ("no direction", lambda: next(COAT.sweep(farad.Turn("outer", (0, 0, 0), [1])))),
        ("permittivity is -3", lambda: next(COAT.sweep(farad.Permittivity(None, [-3])))),
        ("there are no runs", lambda: farad.to_xarray([])),
        ("runs is 3; it must be the runs of a sweep", lambda: farad.to_xarray(3)),
        ("3 is no farad.Run", lambda: farad.to_xarray([3])),
        ("dielectric is 3", lambda: farad.Permittivity(3, [1.0])),
        ("name is 3", lambda: farad.Move("outer", (1, 0, 0), [1.0], name=3)),
        ("has other conductors than the first one", lambda: farad.to_xarray(others())),
    ],
)
def test_faults_are_reported(message, make):
    with pytest.raises(farad.InputError, match=message):
        make()
