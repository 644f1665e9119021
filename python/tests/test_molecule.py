"""Molecules of PQR files, and ions."""

from pathlib import Path

import numpy as np
import pytest

import farad

EPS0 = 8.8541878188e-12
E = 1.602176634e-19
ROOT = Path(__file__).resolve().parent.parent.parent
ION = ROOT / "cases/born_ion.pqr"
MOLECULE = ROOT / "meshes/molecule.pqr"
BALL = farad.Mesh.sphere(2.0, elements=500, order=3, unit="angstrom", name="ion")
LARGE = farad.Problem(BALL).dielectric("ion", 2.0).charges([0, 0, 0], 1.0, "e").medium(80.0)


def energy_in_salt(radius, inside, outside, kappa):
    """Of an elementary charge in the middle of a ball, by Debye and Hueckel; lengths in metres."""
    charge = E**2 / (8 * np.pi * EPS0 * radius)
    return charge * (1 / (outside * (1 + kappa * radius)) - 1 / inside)


def debye(strength, permittivity, temperature):
    """Inverse of Debye's length, 1/m."""
    ions = 2 * strength * 1e3 * 6.02214076e23 * E**2
    return np.sqrt(ions / (EPS0 * permittivity * 1.380649e-23 * temperature))


def test_an_ion_in_salt():
    exact = energy_in_salt(2e-10, 2.0, 80.0, 0.3e10)
    solution = LARGE.salt(kappa=0.3).solve()
    assert solution.ok and solution.energy.reaction == pytest.approx(exact, rel=1e-3)
    probed = LARGE.salt(kappa=0.3).probe("p", [[0, 0, 6.0]]).solve().probes["p"].potential[0]
    # exp(-kappa (r - a)) / (1 + kappa a) times the potential without ions.
    screened = np.exp(-0.3 * 4.0) / (1 + 0.6)
    exact = screened * E / (4 * np.pi * EPS0 * 80.0 * 6e-10)
    assert probed == pytest.approx(exact, rel=1e-2)
    # Nothing is dissolved.
    none = LARGE.salt(0.0).solve().energy.reaction
    assert none == pytest.approx(LARGE.solve().energy.reaction, rel=1e-6)


def test_a_strength_is_that_of_the_final_medium():
    strength, temperature = 0.5, 310.0
    expected = {
        80.0: energy_in_salt(2e-10, 2.0, 80.0, debye(strength, 80.0, temperature)),
        10.0: energy_in_salt(2e-10, 2.0, 10.0, debye(strength, 10.0, temperature)),
    }
    salt = LARGE.salt(strength, temperature=temperature)
    later = salt.medium(10.0).solve().energy.reaction
    sooner = LARGE.medium(10.0).salt(strength, temperature=temperature).solve().energy.reaction
    assert later == pytest.approx(sooner, rel=1e-9)
    assert later == pytest.approx(expected[10.0], rel=1e-3)
    runs = salt.sweep(farad.Permittivity(None, list(expected)))
    found = [run.solution.energy.reaction for run in runs]
    assert found == pytest.approx(list(expected.values()), rel=1e-3)
    # The last word counts.
    again = salt.salt(kappa=0.3).solve().energy.reaction
    assert again == pytest.approx(energy_in_salt(2e-10, 2.0, 80.0, 0.3e10), rel=1e-3)


def test_units_of_the_mesh_are_those_of_kappa():
    mesh = farad.Mesh.sphere(0.2, elements=500, order=3, unit="nm", name="ion")
    problem = farad.Problem(mesh).dielectric("ion", 2.0).charges([0, 0, 0], 1.0, "e").medium(80.0)
    for salt in (problem.salt(kappa=3.0), problem.salt(kappa=0.1).salt(kappa=3.0)):
        exact = energy_in_salt(2e-10, 2.0, 80.0, 0.3e10)
        assert salt.solve().energy.reaction == pytest.approx(exact, rel=1e-3)
    exact = energy_in_salt(2e-10, 2.0, 80.0, debye(0.15, 80.0, 298.15))
    assert problem.salt(0.15).solve().energy.reaction == pytest.approx(exact, rel=1e-3)


def test_ions_within_a_dielectric():
    """A charge in a ball with the ions and the permittivity of its surroundings has a cloud."""
    same = farad.Problem(BALL).dielectric("ion", 80.0).charges([0, 0, 0], 1.0, "e").medium(80.0)
    found = same.salt(kappa=0.3, dielectric="ion").salt(kappa=0.3).solve().energy.reaction
    exact = -(E**2) * 0.3e10 / (8 * np.pi * EPS0 * 80.0)
    assert found == pytest.approx(exact, rel=2e-2)


@pytest.mark.parametrize("unit", ["angstrom", "nm"])
def test_borns_ion(unit):
    mesh = farad.Mesh.molecule(ION, order=2, unit=unit)
    assert mesh.groups == ["born_ion"] and (mesh.unit, mesh.order) == (unit, 2)
    problem = farad.Problem(mesh).molecule(ION, 1.0).medium(78.54)
    energy = problem.solve().quantities["solvation energy"]
    assert energy.unit == "kcal/mol"
    assert energy.value == pytest.approx(-81.9589, rel=1e-3)


def test_a_molecule_is_the_programs():
    """Its numbers for cases/molecule_in_salt.toml."""
    mesh = farad.Mesh.molecule(str(MOLECULE), density=8)
    assert len(mesh) == 3928 and mesh.groups == ["molecule"] and mesh.notes == []
    problem = farad.Problem(mesh).medium(78.54).molecule(MOLECULE).salt(0.15, temperature=298.15)
    solution = problem.solve()
    energies = {name: value.value for name, value in solution.quantities.items()}
    assert energies["solvation energy"] == pytest.approx(-76.42635, rel=1e-5)
    assert solution.energy.coulomb == pytest.approx(-1.622796e-18, rel=1e-6)
    assert solution.reaction_potential.shape == (60,)


def test_kinds_of_surfaces(tmp_path):
    areas = {}
    for surface in ("ses", "vdw", "sas"):
        areas[surface] = farad.Mesh.molecule(MOLECULE, surface=surface).areas.sum()
    assert areas["ses"] < areas["vdw"] and areas["ses"] < areas["sas"]
    few = farad.Mesh.molecule(MOLECULE, surface="gaussian", elements=600, name="blob")
    assert 300 < len(few) < 1200 and few.groups == ["blob"]
    odd = tmp_path / "1abc (copy).PQR"
    odd.write_text(ION.read_text())
    assert farad.Mesh.molecule(odd, elements=80).groups == ["1abc__copy_"]


def test_what_is_left_out_is_noted(tmp_path):
    """A shell of atoms has a cavity."""
    shell = farad.Mesh.sphere(8.0, elements=320, unit="m").points
    path = tmp_path / "shell.pqr"
    path.write_text(
        "".join(
            f"ATOM {k} C{k} SHL {k} {x:.3f} {y:.3f} {z:.3f} 0.0 1.7\n"
            for k, (x, y, z) in enumerate(shell, 1)
        )
    )
    kept = farad.Mesh.molecule(path, density=1)
    filled = farad.Mesh.molecule(path, density=1, cavities="drop")
    assert kept.notes == [] and kept.areas.sum() > filled.areas.sum()
    assert "shell: cavities filled: 1, of " in filled.notes[0]


@pytest.mark.parametrize(
    "message, make",
    [
        ("ions are given by either ionic_strength or kappa", lambda: LARGE.salt()),
        ("ions are given by either ionic_strength or kappa", lambda: LARGE.salt(0.1, kappa=1.0)),
        ("ionic_strength is -1e0; it must be 0e0 to 1e15", lambda: LARGE.salt(-1)),
        ("kappa is NaN", lambda: LARGE.salt(kappa=np.nan)),
        ("temperature is 0e0", lambda: LARGE.salt(0.1, temperature=0)),
        ("ionic_strength is 'much'; it must be a number", lambda: LARGE.salt("much")),
        (
            'there is no dielectric "water"; there are: "ion"',
            lambda: LARGE.salt(0.1, dielectric="water").solve(),
        ),
        ("there are: none", lambda: farad.Problem(BALL).salt(0.1, dielectric="x").check()),
        ("are for charges in dielectrics, without conductors", lambda: farad.Problem(BALL).salt(0.1).solve()),
        ("an accuracy needs surfaces that are made of atoms", lambda: LARGE.salt(0.1).solve(1e-2)),
        ("a relative permittivity is 0", lambda: LARGE.medium(0.0).salt(0.1).solve()),
        ("a relative permittivity is NaN", lambda: LARGE.salt(0.1).medium(np.nan).solve()),
        ("the name does not end in .pqr", lambda: farad.Mesh.molecule("protein.pdb")),
        ("the name does not end in .pqr", lambda: LARGE.molecule("protein.pdb")),
        ("pqr is 3; it must be a path", lambda: farad.Mesh.molecule(3)),
        ("pqr is None; it must be a path", lambda: LARGE.molecule(None)),
        (
            "give either density or elements, not both",
            lambda: farad.Mesh.molecule(ION, density=1, elements=100),
        ),
        ('surface is "round"; it must be one of', lambda: farad.Mesh.molecule(ION, surface="round")),
        ('cavities is "some"', lambda: farad.Mesh.molecule(ION, cavities="some")),
        ("probe = -1", lambda: farad.Mesh.molecule(ION, probe=-1)),
        ("order = 3", lambda: farad.Mesh.molecule(ION, order=3)),
        ("density", lambda: farad.Mesh.molecule(ION, density=np.nan)),
        ("triangles are needed", lambda: farad.Mesh.molecule(ION, density=1e12)),
        ("unit is", lambda: farad.Mesh.molecule(ION, unit="inch")),
        ('there is a dielectric "born_ion" already', lambda: LARGE.molecule(ION).molecule(ION)),
        ('"born_ion"', lambda: LARGE.molecule(ION).solve()),
    ],
)
def test_faults_are_reported(message, make):
    with pytest.raises(farad.InputError) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "message, text",
    [
        ("line 1", "ATOM 1 C GLY 1 0 0 0 one 1.0\n"),
        ("no ", "REMARK nothing\n"),
        (
            "atoms of radius 0 lie in no other atom: H of GLY 1 on line 2; give them radii",
            "ATOM 1 C GLY 1 0 0 0 0.5 1.7\nATOM 2 H GLY 1 5 0 0 0.5 0.0\n",
        ),
    ],
)
def test_files_that_are_wrong_are_reported(tmp_path, message, text):
    path = tmp_path / "bad.pqr"
    path.write_text(text)
    with pytest.raises(farad.InputError) as caught:
        farad.Mesh.molecule(path)
    assert message in str(caught.value) and "bad.pqr" in str(caught.value)
    with pytest.raises(farad.FileError, match="none.pqr"):
        farad.Mesh.molecule(tmp_path / "none.pqr")
