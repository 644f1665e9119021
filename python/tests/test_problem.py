"""Problems with closed forms."""

import threading
import warnings

import numpy as np
import pytest

import farad

EPS0 = 8.8541878188e-12
E = 1.602176634e-19
SPHERE = 4 * np.pi * EPS0  # farad a metre of radius


def two_spheres(radius, distance):
    """Maxwell matrix entries of two equal spheres (bispherical coordinates)."""
    u = np.arccosh(distance / (2 * radius))
    n = np.arange(1, 60)
    own = (1 / np.sinh((2 * n - 1) * u)).sum()
    mutual = (1 / np.sinh(2 * n * u)).sum()
    return SPHERE * radius * np.sinh(u) * np.array([own, -mutual])


def test_a_sphere_has_its_closed_form_in_every_unit():
    for unit, metres in [("m", 1.0), ("mm", 1e-3), ("um", 1e-6), ("nm", 1e-9)]:
        mesh = farad.Mesh.sphere(2.0, elements=320, order=2, unit=unit)
        solution = farad.Problem(mesh).solve()
        # Curved triangles of second order: the surface is a sphere to 1e-5.
        assert solution.capacitance["sphere", "sphere"] == pytest.approx(
            2 * metres * SPHERE, rel=2e-4
        )
        assert solution.ok and solution.warnings == []


def test_error_bars_cover_the_error():
    # On flat triangles the exact value is that of the polyhedron: a much finer solution on it.
    mesh = farad.Mesh.cube(1.0, elements=432, grade=4.0, unit="m")
    C = farad.Problem(mesh).solve().capacitance
    exact = 0.66067815 * SPHERE
    assert 0 < C.errors[0, 0] < 0.01 * exact
    assert abs(C["cube", "cube"] - exact) < C.errors[0, 0]


def test_two_spheres():
    mesh = farad.Mesh.two_spheres(1.0, 3.0, elements=500, order=3, unit="mm")
    C = farad.Problem(mesh).solve(tolerance=1e-7).capacitance
    own, mutual = 1e-3 * two_spheres(1.0, 3.0)
    assert C.names == ["left", "right"]
    np.testing.assert_allclose(C.values, [[own, mutual], [mutual, own]], rtol=2e-4)
    np.testing.assert_allclose(
        C.mutual, [[own + mutual, -mutual], [-mutual, own + mutual]], rtol=2e-4
    )


def test_an_accuracy_is_reached_and_reported_on_the_way():
    levels = []
    mesh = farad.Mesh.cube(1.0, elements=108, unit="m")
    solution = farad.Problem(mesh).solve(
        1e-3, progress=lambda event: levels.append(event["level"]) if "level" in event else None
    )
    C = solution.capacitance
    assert solution.reached
    assert C.errors[0, 0] <= 1e-3 * C.values[0, 0]
    assert C["cube", "cube"] == pytest.approx(0.66067815 * SPHERE, rel=1e-3)
    assert solution.levels[-1]["triangles"] == len(solution.mesh)
    assert levels and levels[-1]["worst"].startswith("C")


def test_an_accuracy_that_is_not_reached_is_reported():
    problem = farad.Problem(farad.Mesh.cube(1.0, elements=108, unit="m"))
    with pytest.warns(farad.FaradWarning, match="accuracy of 1.0e-08 was not reached"):
        solution = problem.solve(1e-8, max_time=0.01)
    assert not solution.reached and not solution.ok and solution.converged
    with pytest.raises(farad.ConvergenceError, match="was not reached") as caught:
        problem.solve(1e-8, max_time=0.01, strict=True)
    assert caught.value.solution.levels


def test_a_solve_that_does_not_converge_is_reported():
    problem = farad.Problem(farad.Mesh.sphere(elements=1280, unit="m"))
    with pytest.warns(farad.FaradWarning, match="1 of 1 solves did not converge") as told:
        solution = problem.solve(max_iterations=1, method="fmm")
    assert told[0].filename == __file__
    assert not solution.converged and not solution.ok
    assert "did not converge" in repr(solution)
    assert "NOT CONVERGED" in solution.capacitance.to_q3d()
    with pytest.raises(farad.ConvergenceError, match="iteration limit"):
        problem.solve(max_iterations=1, method="fmm", strict=True)


def test_a_coated_sphere():
    mesh = farad.Mesh.concentric_spheres(1.0, 2.0, elements=1000, order=2, unit="m")
    problem = farad.Problem(mesh).conductor("core", "inner").dielectric("coat", 4.0, "outer")
    C = problem.solve().capacitance
    exact = SPHERE / ((1.0 - 0.5) / 4.0 + 0.5)
    assert C["core", "core"] == pytest.approx(exact, rel=1e-3)
    inside = problem.medium(2.0).solve().capacitance
    assert inside["core", "core"] == pytest.approx(SPHERE / (0.5 / 4.0 + 0.5 / 2.0), rel=1e-3)


def test_a_sphere_over_ground():
    mesh = farad.Mesh.sphere(1.0, elements=500, order=3, center=(0, 0, 1.5), unit="m")
    problem = farad.Problem(mesh).plane("z", 0.0).conductor("sphere", potential=2.0)
    solution = problem.solve()
    own, mutual = two_spheres(1.0, 3.0)
    exact = own - mutual  # its image has the opposite potential
    assert solution.capacitance["sphere", "sphere"] == pytest.approx(exact, rel=1e-3)
    assert solution.state["sphere"].charge == pytest.approx(2 * exact, rel=1e-3)
    assert solution.energy.total == pytest.approx(2 * exact, rel=1e-3)


def test_a_floating_conductor():
    mesh = farad.Mesh.two_spheres(1.0, 3.0, elements=500, order=3, unit="m")
    problem = farad.Problem(mesh).conductor("left", potential=1.0).conductor("right", charge=0.0)
    state = problem.solve().state
    own, mutual = two_spheres(1.0, 3.0)
    assert state["right"].floating and state["right"].charge == 0.0
    assert state["right"].potential == pytest.approx(-mutual / own, rel=1e-3)


@pytest.mark.parametrize("unit, charge", [("e", 1.0), ("C", E)])
def test_an_ion_in_water(unit, charge):
    """Born's energy."""
    mesh = farad.Mesh.sphere(2.0, elements=500, order=3, unit="angstrom")
    problem = farad.Problem(mesh).dielectric("sphere", 2.0).medium(80.0)
    solution = problem.charges([[0.0, 0.0, 0.0]], [charge], unit).solve()
    born = E**2 / (8 * np.pi * EPS0 * 2e-10) * (1 / 80.0 - 1 / 2.0)
    assert solution.energy.reaction == pytest.approx(born, rel=1e-3)
    assert solution.energy.conductors == 0.0 and solution.energy.coulomb == 0.0
    assert abs(solution.energy.reaction - born) < solution.energy.reaction_error + 1e-4 * abs(born)
    kcal = solution.quantities["solvation energy"]
    assert kcal.unit == "kcal/mol" and kcal.error is not None
    assert float(kcal) == pytest.approx(born * 6.02214076e23 / 4184, rel=1e-3)
    assert solution.reaction_potential == pytest.approx([2 * born / E], rel=1e-3)


def test_probes_and_fields():
    mesh = farad.Mesh.sphere(1.0, elements=500, order=3, unit="m")
    points = np.array([[2.0, 0.0, 0.0], [0.0, 0.0, -4.0]])
    problem = farad.Problem(mesh).conductor("sphere", potential=3.0).probe("axis", points)
    probed = problem.solve().probes["axis"]
    np.testing.assert_allclose(probed.potential, [1.5, 0.75], rtol=1e-3)
    np.testing.assert_allclose(probed.field, [[0.75, 0, 0], [0, 0, -0.1875]], atol=1e-3)
    assert (probed.potential_error > 0).all() and probed.field_error.shape == (2,)
    # In a field of 1 V/m: the sphere's dipole takes the field's potential away on its surface.
    state = farad.Problem(mesh).field((0, 0, 1.0)).probe("p", [[0, 0, 2.0]]).solve()
    assert state.probes["p"].potential[0] == pytest.approx(-2.0 + 1 / 4, rel=1e-3)


def test_polarisability_and_forces():
    mesh = farad.Mesh.sphere(2.0, elements=500, order=3, unit="m")
    solution = farad.Problem(mesh).want(polarisability=True).solve()
    np.testing.assert_allclose(solution.polarisability, 8 * np.eye(3), atol=0.01)
    pair = farad.Mesh.two_spheres(1.0, 4.0, elements=500, order=3, unit="m")
    held = farad.Problem(pair).conductor("left", potential=1.0).conductor("right", potential=1.0)
    forces = held.want(forces=True).solve().forces
    assert isinstance(forces["right"].force, tuple)
    assert forces["right"].force[0] > 0 > forces["left"].force[0]
    assert forces["right"].force[0] == pytest.approx(-forces["left"].force[0], rel=1e-3)


def test_the_share_of_a_film():
    """Of the field of a sphere: thickness / (permittivity radius)."""
    mesh = farad.Mesh.sphere(2.0, elements=500, order=2, unit="um")
    problem = farad.Problem(mesh).conductor("sphere").film("oxide", 0.003, 10.0, "sphere")
    film = problem.solve().films["oxide"]
    assert film.thickness == pytest.approx(3e-9) and film.permittivity == 10.0
    assert film.participation[0] == pytest.approx(0.003 / (10.0 * 2.0), rel=2e-3)
    assert film.errors.shape == (1,)
    facing = problem.film("outside", 0.003, 10.0, "sphere", toward="surroundings").solve().films
    assert facing["outside"].participation[0] == pytest.approx(film.participation[0], rel=1e-6)
    with pytest.raises(farad.InputError, match='a film "oxide" already'):
        problem.film("oxide", 0.003, 10.0, "sphere")
    with pytest.raises(farad.InputError, match="cube"):
        problem.film("other", 0.003, 10.0, "cube").solve()
    with pytest.raises(farad.InputError, match="toward is 1.5"):
        problem.film("other", 0.003, 10.0, "sphere", toward=1.5)


def test_derivatives_are_quotients_of_differences():
    mesh = farad.Mesh.two_spheres(1.0, 3.0, elements=800, unit="m")
    problem = farad.Problem(mesh).sensitivity("gap", shift="right")
    problem = problem.sensitivity("oil", permittivity="surroundings")
    solution = problem.solve(tolerance=1e-8)
    step = 0.01
    moved = problem.sweep(farad.Move("right", (1, 0, 0), [-step, step]), tolerance=1e-8)
    low, high = (run.solution.capacitance.values for run in moved)
    by_gap = solution.derivatives["gap"]
    assert by_gap.shape == (3, 2, 2)
    np.testing.assert_allclose(by_gap[0], (high - low) / (2 * step), rtol=0.03)
    np.testing.assert_allclose(solution.derivatives["oil"], solution.capacitance.values, rtol=1e-4)
    with pytest.raises(farad.InputError, match="by one of"):
        problem.sensitivity("both", shift="left", permittivity="right")
    with pytest.raises(farad.InputError, match='"cube"'):
        problem.sensitivity("cube", shift="cube").solve()


def test_layers_of_one_medium_are_that_medium():
    mesh = farad.Mesh.sphere(1.0, elements=500, center=(0, 0, 2.0), unit="m")
    plain = farad.Problem(mesh).medium(3.0).solve().capacitance
    layered = farad.Problem(mesh).layers([(5.0, 3.0)], below=3.0, above=3.0).solve().capacitance
    np.testing.assert_allclose(layered.values, plain.values, rtol=1e-5)
    over_ground = farad.Problem(mesh).layers([(5.0, 3.0)], below="ground", above=3.0).solve()
    image = farad.Problem(mesh).medium(3.0).plane("z").solve()
    np.testing.assert_allclose(over_ground.capacitance.values, image.capacitance.values, rtol=1e-4)


def test_nets_choose_columns():
    mesh = farad.Mesh.two_spheres(1.0, 3.0, elements=400, unit="m")
    C = farad.Problem(mesh).want(nets="right").solve().capacitance
    assert C.columns == ["right"] and C.values.shape == (2, 1)
    assert C["left", "right"] < 0
    with pytest.raises(farad.InputError, match="only a whole matrix"):
        C.to_q3d()


def test_methods_and_densities_agree():
    mesh = farad.Mesh.two_spheres(1.0, 3.0, elements=400, unit="m")
    fast = farad.Problem(mesh).solve(method="fmm")
    dense = farad.Problem(mesh).solve(method="dense", backend="cpu")
    assert (fast.info["method"], dense.info["method"]) == ("fmm", "dense")
    np.testing.assert_allclose(fast.capacitance.values, dense.capacitance.values, rtol=1e-5)
    assert farad.Problem(mesh).solve(density="linear").info["density"] == "linear"


def test_deterministic_solves_have_the_same_bits():
    mesh = farad.Mesh.two_spheres(1.0, 3.0, elements=400, unit="m")
    problem = farad.Problem(mesh).plane("z", at=-2.0)
    solves = [problem.solve(method="fmm", deterministic=True, threads=2) for _ in range(4)]
    first = solves[0].capacitance
    for solution in solves[1:]:
        assert (solution.capacitance.values == first.values).all()
        assert (solution.charge_density("left") == solves[0].charge_density("left")).all()


def test_charge_densities_add_up():
    mesh = farad.Mesh.sphere(1.0, elements=500, unit="mm")
    solution = farad.Problem(mesh).conductor("sphere", potential=2.0).solve()
    areas = solution.mesh.areas * 1e-6
    C = solution.capacitance["sphere", "sphere"]
    assert solution.charge_density("sphere") @ areas == pytest.approx(C, rel=1e-9)
    assert solution.charge_density() @ areas == pytest.approx(2 * C, rel=1e-5)
    assert (solution.conductor_of_triangle == 0).all()


def test_problems_do_not_change():
    problem = farad.Problem(farad.Mesh.sphere(elements=80, unit="m"))
    other = problem.conductor("sphere", potential=1.0)
    assert "potential" not in repr(problem) and other is not problem
    assert problem.solve().state == {} and problem.solve().energy is None
    assert other.solve().state["sphere"].potential == 1.0


def test_threads_solve_at_once():
    problem = farad.Problem(farad.Mesh.two_spheres(1.0, 3.0, elements=400, unit="m"))
    expected = problem.solve().capacitance.values
    solver = farad.Solver()
    found, errors = [], []

    def work(**options):
        try:
            found.append(problem.solve(**options).capacitance.values)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    options = [{}, {"threads": 1}, {"solver": solver}, {"solver": solver}, {"method": "dense"}, {}]
    threads = [threading.Thread(target=work, kwargs=kwargs) for kwargs in options]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert not errors and len(found) == len(options)
    for values in found:
        np.testing.assert_allclose(values, expected, rtol=1e-5)
    assert solver.times_prepared == 1


def test_notes_are_warnings_but_those_of_routine():
    mesh = farad.Mesh.sphere(elements=80, name="a", unit="m")
    far = farad.Mesh.sphere(elements=80, center=(5, 0, 0), name="b", unit="m")
    pair = mesh + far
    problem = farad.Problem(farad.Mesh(pair.points, pair.triangles, names=["both"], unit="m"))
    assert "share no edges" in problem.check()[0]
    with pytest.warns(farad.FaradWarning, match="share no edges"):
        problem.solve()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cube = farad.Problem(farad.Mesh.cube(elements=48, unit="m"))
        near = cube.conductor("cube").charges([0.55, 0, 0], 1.0, "e")
        assert any("split" in note for note in near.solve().notes)


def test_the_readme_example_of_fastcap_is_read(request):
    cases = request.config.rootpath.parent / "cases"
    C = farad.Problem.read(cases / "coated_list.lst").solve().capacitance
    assert len(C.names) == 1 and C.values[0, 0] > 0
