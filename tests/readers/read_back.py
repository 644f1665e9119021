#!/usr/bin/env python3
"""Read farad's results with programs that are not farad, and check the files against each other.

    pip install numpy scipy pyvista meshio pymol-open-source
    python read_back.py RESULTS_FOLDER...

For each folder: results.json names exactly the files that are there; the CSV tables repeat its matrices; surface.vtu,
or surface.pvtu with its pieces, opens in VTK (through pyvista) and in meshio with the same content; and on each conductor the charge density times the
area, summed over its triangles, is the column of the Maxwell matrix that the excitation gives.
What viewers show first is the charge of the first excitation, or of the
state; a series over excitations (excitations.pvd) has the values of the surface, and one over a sweep (sweep.pvd)
a surface for each run. PyMOL runs its script without anything else happening, and shows all of the atoms' spheres.
"""

import csv
import json
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import meshio
import numpy as np
import pyvista
import scipy.io

# Files carry doubles in full; what is left is the rounding of sums over triangles.
SUM_TOLERANCE = 1e-11

# The matrix of more conductors is in results.json in one form alone.
MOST_CONDUCTORS = 200

METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "nm": 1e-9, "angstrom": 1e-10}
EPSILON_0 = 8.8541878188e-12  # F/m, CODATA 2022

KEYS = {
    "": "schema status warnings program made case title case_text files backend mesh media refinement capacitance reductions sensitivities films charges solvation forces probes polarisability hydrodynamics solves solver accuracy timings_s memory_bytes",
    "backend": "requested used fallback device threads simd deterministic",
    "mesh": "triangles unit conductors",
    "capacitance": "conductors columns maxwell_farad mutual_farad maxwell_over_4pi_eps0 relative_asymmetry maxwell_farad_error mutual_farad_error maxwell_over_4pi_eps0_error",
    "solver": "method density",
    "accuracy": "solver_tolerance fmm_tolerance fmm_error_sampled fmm_error_potential_v gauss_defect",
    "timings_s": "read plan near_field solve fmm_check error_estimate evaluation self_checks matvec_mean output total",
    "memory_bytes": "peak",
}


ENERGY = "energy_j energy_kj_per_mol energy_kcal_per_mol energy_kt"

# The keys of what there need not be.
OPTIONAL_KEYS = {
    "solvation": f"charges {ENERGY} energy_error_j energy_error_kj_per_mol energy_error_kcal_per_mol energy_error_kt temperature_k coulomb total molecules",
    "hydrodynamics": "capacity capacity_error hydrodynamic_radius_m diffusion_m2_per_s friction_kg_per_s viscosity",
}


class Mismatch(Exception):
    """Something in a folder contradicts something else."""


def check(condition, message):
    if not condition:
        raise Mismatch(message)


def read_matrix(path):
    """Names and numbers of a capacitance table; the corner says what they are."""
    with open(path, newline="", encoding="utf-8") as file:
        (corner, *names), *rows = csv.reader(file)
    check(corner.startswith("unit: farad;"), f"{path.name}: no unit in the corner, but {corner!r}")
    check([row[0] for row in rows] == names, f"{path.name}: row and column names differ")
    return names, np.array([[float(value) for value in row[1:]] for row in rows])


# VTK's cells that surfaces are made of, with meshio's names: flat, of order 2, of higher orders.
TRIANGLES = {5: "triangle", 22: "triangle6", 69: "VTK_LAGRANGE_TRIANGLE"}


def piece_names(path):
    """The files that a .pvtu names."""
    return [piece.get("Source") for piece in xml.etree.ElementTree.parse(path).iter("Piece")]


def read_surface(path):
    """Points, triangles and cell data, the same from both readers."""
    grid = pyvista.read(path)
    kinds = set(grid.celltypes)
    check(grid.n_cells > 0 and len(kinds) == 1 and kinds <= set(TRIANGLES), f"{path.name}: not only triangles")
    triangles = grid.cells.reshape(grid.n_cells, -1)[:, 1:]
    data = {name: np.asarray(grid.cell_data[name]) for name in grid.cell_data.keys()}

    kind = TRIANGLES[kinds.pop()]
    # meshio reads no .pvtu, but its pieces, whose points and triangles VTK has one after the other; and none that is empty.
    names = piece_names(path) if path.suffix == ".pvtu" else [path.name]
    pieces = [pyvista.read(path.parent / name) for name in names]
    others = [meshio.read(path.parent / name) for name, piece in zip(names, pieces) if piece.n_cells > 0]
    first = np.cumsum([0, *(len(other.points) for other in others)])
    check(all([block.type for block in other.cells] == [kind] for other in others), f"{path.name}: meshio finds other cells")
    points = np.concatenate([other.points for other in others])
    cells = np.concatenate([other.cells[0].data + start for other, start in zip(others, first)])
    check(np.array_equal(points, grid.points), f"{path.name}: the readers disagree on points")
    check(np.array_equal(cells, triangles), f"{path.name}: the readers disagree on triangles")
    for other in others:
        check(set(other.cell_data) == set(data), f"{path.name}: the readers disagree on names of arrays")
    for piece in pieces:
        types = {name: piece.cell_data[name].dtype for name in piece.cell_data.keys()}
        check(types == {name: values.dtype for name, values in data.items()}, f"{path.name}: arrays of a piece")
    for name, values in data.items():
        found = np.concatenate([other.cell_data[name][0] for other in others])
        same = np.array_equal(found, values, equal_nan=values.dtype.kind == "f")
        check(same, f"{path.name}: the readers disagree on {name!r}")
    return np.asarray(grid.points), triangles, data


def check_json(results):
    check(results["schema"] == "farad-results/1", f"schema {results['schema']!r}")
    check(results["status"] in ("complete", "not_converged"), f"status {results['status']!r}")
    for place, keys in KEYS.items():
        found = results[place] if place else results
        check(set(found) == set(keys.split()), f"keys of {place or 'results.json'}: {sorted(found)}")
    for place, keys in OPTIONAL_KEYS.items():
        found = results[place]
        check(found is None or set(found) == set(keys.split()), f"keys of {place}: {found}")
    maxwell = np.array(results["capacitance"]["maxwell_farad"])
    if maxwell.size == 0:
        return maxwell
    mutual = -maxwell
    np.fill_diagonal(mutual, maxwell.sum(axis=1))
    forms = [results["capacitance"][key] for key in ("mutual_farad", "maxwell_over_4pi_eps0")]
    check(all((form is None) == (len(maxwell) > MOST_CONDUCTORS) for form in forms), "forms of the matrix")
    if len(maxwell) > MOST_CONDUCTORS:
        return maxwell
    check(np.allclose(mutual, forms[0], rtol=1e-12, atol=0), "mutual matrix")
    length = np.array(forms[1])
    unit = METRES[results["mesh"]["unit"]]
    check(np.allclose(4 * np.pi * EPSILON_0 * unit * length, maxwell, rtol=1e-12, atol=0), "C/(4 pi eps0)")
    return maxwell


def check_surface(path, results, maxwell):
    points, triangles, data = read_surface(path)
    names = results["capacitance"]["conductors"]
    check(len(triangles) == results["mesh"]["triangles"], "number of triangles")
    unit = METRES[results["mesh"]["unit"]]
    edges = points[triangles[:, 1:3]] - points[triangles[:, :1]]
    area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) / 2 * unit**2
    if triangles.shape[1] == 3:
        check(np.allclose(area, data["area [m^2]"], rtol=1e-9, atol=0), "areas")
    else:
        # Those of curved triangles are not those of their corners.
        area = data["area [m^2]"]
    owner = data["conductor id"]
    worst = 0.0
    for j, excited in enumerate(names):
        if f"potential, {excited} at 1 V [V]" not in data:
            continue
        charge = data[f"charge density, {excited} at 1 V [C/m^2]"] * data["area [m^2]"]
        potential = data[f"potential, {excited} at 1 V [V]"]
        for i, _ in enumerate(names):
            check(np.all(potential[owner == i] == (i == j)), f"potential with {excited} at 1 V")
            difference = abs(charge[owner == i].sum() - maxwell[i, j])
            scale = np.abs(charge[owner == i]).sum()
            worst = max(worst, difference / scale)
    check(worst <= SUM_TOLERANCE, f"charge x area differs from the matrix by {worst:.1e}")
    for conductor, name in zip(results["mesh"]["conductors"], names):
        mine = owner == names.index(name)
        check(conductor["triangles"] == mine.sum(), f"triangles of {name}")
        check(np.isclose(conductor["area_m2"], area[mine].sum(), rtol=1e-9), f"area of {name}")
    return worst


def check_first(path, results):
    """What viewers show first: the charge of the state, else of the first excitation, with dielectrics all of it."""
    grid = pyvista.read(path)
    columns = results["capacitance"]["columns"]
    titles = ["charge density, free and bound [C/m^2]"]
    if columns:
        titles += [f"charge density{kind}, {columns[0]} at 1 V [C/m^2]" for kind in (", free and bound", "")]
    expected = [title for title in titles if title in grid.cell_data.keys()]
    if expected:
        active = grid.GetCellData().GetScalars()
        check(active is not None and active.GetName() == expected[0], f"{path.name}: shows {active and active.GetName()!r} first")


def check_series(folder, surface, results):
    """Each step of the series has the values that the surface has of its excitation."""
    reader = pyvista.get_reader(folder / "excitations.pvd")
    columns = results["capacitance"]["columns"]
    check(list(reader.time_values) == [k + 1.0 for k in range(len(columns))], "excitations.pvd: times")
    whole = pyvista.read(surface)
    for k, name in enumerate(columns):
        reader.set_active_time_point(k)
        step = reader.read()[0]
        check(step.n_cells == whole.n_cells, f"step {name}: triangles")
        active = step.GetCellData().GetScalars()
        check(active is not None and active.GetName().startswith("charge density"), f"step {name}: what it shows first")
        pairs = [("charge density [C/m^2]", f"charge density, {name} at 1 V [C/m^2]"), ("potential [V]", f"potential, {name} at 1 V [V]")]
        for own, title in pairs:
            same = np.array_equal(step.cell_data[own], whole.cell_data[title], equal_nan=True)
            check(same, f"step {name}: {own}")


def check_formats(folder, stem, names, maxwell):
    """The files for other programs, which have the mean of both triangles."""
    matrix = (maxwell + maxwell.T) / 2
    reduction = "" if stem == "maxwell" else f"_{stem}"
    market = folder / f"capacitance_{stem}.mtx"
    if market.is_file():
        read = scipy.io.mmread(market).toarray()
        check(np.allclose(read, matrix, rtol=1e-15, atol=0), f"{market.name}: not the matrix of results.json")
    for name, expected in (("C", matrix), ("Cinv", np.linalg.inv(matrix) if matrix.size else matrix)):
        table = folder / f"terminal-{name}{reduction}.csv"
        if table.is_file():
            read = np.loadtxt(table, delimiter=",", skiprows=1, ndmin=2)
            check(np.array_equal(read[:, 0], 1 + np.arange(len(names))), f"{table.name}: terminals")
            check(np.allclose(read[:, 1:], expected, rtol=1e-9, atol=0), f"{table.name}: not the matrix of results.json")
    circuit = folder / f"capacitance{reduction}.sp"
    if circuit.is_file():
        lines = [line.split() for line in circuit.read_text(encoding="utf-8").replace("\n+", "").splitlines()]
        lines = [line for line in lines if line[0] != "*"]
        check(lines[0][0] == ".subckt" and lines[-1][0] == ".ends", f"{circuit.name}: no subcircuit")
        nodes = lines[0][2:]
        total = np.zeros(len(nodes))
        for _, *ends, farad in lines[1:-1]:
            for node in set(ends) - {"0"}:
                total[nodes.index(node)] += float(farad)
        check(np.allclose(total, np.diag(matrix), rtol=1e-12), f"{circuit.name}: not the diagonal")


def check_map(folder, name):
    """An OpenDX map is the potential of the VTK image next to it, with z fastest."""
    lines = (folder / f"{name}.dx").read_text(encoding="utf-8").splitlines()
    words = [line.split() for line in lines if not line.startswith("#")]
    counts = [int(word) for word in words[0][-3:]]
    check(words[0][:5] == "object 1 class gridpositions counts".split(), f"{name}.dx: begins with {lines[1]!r}")
    values = np.array([float(word) for line in words[7 : 7 - (-np.prod(counts) // 3)] for word in line])
    image = pyvista.read(folder / f"{name}.vti")
    check(list(image.dimensions) == counts, f"{name}.dx: counts")
    volt = np.asarray(image.point_data["potential [V]"]).reshape(counts[::-1]).transpose().ravel()
    thermal = 1.380649e-23 * 298.15 / 1.602176634e-19
    check(np.allclose(values * thermal, volt, rtol=1e-5, atol=1e-9), f"{name}.dx: not the potential of {name}.vti")


def check_residues(folder, solvation):
    """What the residues add to the energies is the energies."""
    with open(folder / "residues.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for column, part in (("solvation energy [kcal/mol]", solvation), ("Coulomb energy [kcal/mol]", solvation["coulomb"])):
        total, expected = sum(float(row[column]) for row in rows), part["energy_kcal_per_mol"]
        check(np.isclose(total, expected, rtol=1e-9), f"residues.csv: {column}")


def check_sweep(folder, results):
    """Each step of a sweep's series is the surface of its run, with the first excitation's charge to be shown first."""
    reader = pyvista.get_reader(folder / "sweep.pvd")
    runs = results["runs"]
    numbers = [run["parameters"][0] for run in runs] if len(results["parameters"]) == 1 else list(range(len(runs)))
    check(list(reader.time_values) == sorted(numbers), "sweep.pvd: times")
    for time, run in zip(numbers, runs):
        reader.set_active_time_value(time)
        step = reader.read()[0]
        check(step.n_cells == run["triangles"], f"sweep.pvd at {time}: triangles")
        active = step.GetCellData().GetScalars()
        title = f"charge density, {results['columns'][0]} at 1 V [C/m^2]"
        check(active is not None and active.GetName() == title, f"sweep.pvd at {time}: what it shows first")
    return f"a series of {len(runs)} surfaces"


def check_folder(folder):
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    if results["schema"] == "farad-sweep/1":
        return check_sweep(folder, results)
    maxwell = check_json(results)
    for name in results["files"]:
        check((folder / name).is_file(), f"{name} is listed but not there")
    tables = {"capacitance_maxwell.csv": "maxwell_farad", "capacitance_mutual.csv": "mutual_farad"}
    errors = {name.replace(".csv", "_error.csv"): f"{key}_error" for name, key in tables.items()}
    if results["capacitance"]["conductors"] == []:
        check(not any(name.startswith("capacitance_") for name in results["files"]), "a matrix of no conductors")
        tables = {}
    for name, key in (tables | {name: key for name, key in errors.items() if name in results["files"]}).items():
        names, table = read_matrix(folder / name)
        check(names == results["capacitance"]["conductors"], f"{name}: names")
        expected = results["capacitance"][key]
        check(expected is None or np.array_equal(table, expected), f"{name}: not the matrix of results.json")
    for reduction in results["reductions"] or []:
        keys = "name conductors maxwell_farad maxwell_farad_error between_farad between_farad_error"
        check(set(reduction) == set(keys.split()), f"keys of the reduction: {sorted(reduction)}")
        file = f"capacitance_{reduction['name']}.csv"
        check(file in results["files"], f"{file} is not listed")
        names, table = read_matrix(folder / file)
        check(names == reduction["conductors"], f"{file}: names")
        check(np.array_equal(table, reduction["maxwell_farad"]), f"{file}: not the matrix of results.json")
        check_formats(folder, reduction["name"], names, table)
    for sensitivity in results["sensitivities"] or []:
        check(set(sensitivity) == set("name by at unit derivatives derivatives_error participation participation_error".split()), f"keys of the sensitivity: {sorted(sensitivity)}")
        axes = ["_x", "_y", "_z"] if sensitivity["by"] == "shift" else [""]
        for axis, derivative in zip(axes, sensitivity["derivatives"], strict=True):
            file = f"sensitivity_{sensitivity['name']}{axis}.csv"
            check(file in results["files"], f"{file} is not listed")
            names, table = read_matrix(folder / file)
            check(names == results["capacitance"]["conductors"], f"{file}: names")
            check(np.array_equal(table, derivative), f"{file}: not the matrix of results.json")
    for film in results["films"] or []:
        check(set(film) == set("name thickness_m relative_permittivity participation participation_error".split()), f"keys of the film: {sorted(film)}")
        shares = film["participation"]
        check(len(shares) == len(results["capacitance"]["conductors"]) and all(0 < share < 1 for share in shares), f"shares of the film {film['name']}")
    check_formats(folder, "maxwell", results["capacitance"]["conductors"], maxwell)
    for name in results["files"]:
        if name.endswith(".dx"):
            check_map(folder, name.removesuffix(".dx"))
    if "view.pml" in results["files"]:
        check_pymol(folder)
    if "residues.csv" in results["files"] and len(results["solvation"]["molecules"]) > 0:
        check_residues(folder, results["solvation"])
    surfaces = {"surface.vtu", "surface.pvtu"} & set(results["files"])
    if not surfaces:
        return "no surface"
    check(len(surfaces) == 1, "two surfaces")
    surface = folder / surfaces.pop()
    pieces = piece_names(surface) if surface.suffix == ".pvtu" else []
    check(set(pieces) == {name for name in results["files"] if name.startswith("surface_") and name.endswith(".vtu")}, "pieces")
    worst = check_surface(surface, results, maxwell)
    check_first(surface, results)
    if "excitations.pvd" in results["files"]:
        check_series(folder, surface, results)
    return f"{results['mesh']['triangles']} triangles, charge x area = C to {worst:.1e}"


def check_pymol(folder):
    """PyMOL's script runs, does nothing to the folder, and no sphere is cut by the planes of its picture."""
    before = sorted(path.name for path in folder.iterdir())
    pymol = [sys.executable, "-m", "pymol", "-cq", "view.pml", "-d", "print('VIEW', *cmd.get_view())"]
    ended = subprocess.run(pymol, cwd=folder, capture_output=True, text=True, timeout=120)
    check(sorted(path.name for path in folder.iterdir()) == before, "view.pml changes its folder")
    views = [line.split()[1:] for line in ended.stdout.splitlines() if line.startswith("VIEW ")]
    check(ended.returncode == 0 and len(views) == 1, f"PyMOL: {ended.stdout}{ended.stderr}")
    # The camera looks along -z: (0:9) rotation, (9:12) where the origin of rotation, (12:15), is seen, planes.
    view = [float(word) for word in views[0]]
    lines = (folder / "potential.pqr").read_text().splitlines()
    atoms = [(float(line[46:54]), float(line.split()[-1])) for line in lines if line.startswith("ATOM")]
    z, radius = np.array(atoms).T
    depth = view[14] - view[11] - z
    near, far = view[15:17]
    check(np.all(depth - radius > near) and np.all(depth + radius < far), "PyMOL's first picture cuts spheres open")


def main(folders):
    if not folders:
        sys.exit(__doc__)
    failed = False
    for folder in folders:
        try:
            print(f"{folder}: ok, {check_folder(Path(folder))}")
        except (Mismatch, OSError, KeyError, ValueError) as error:
            print(f"{folder}: FAILED, {type(error).__name__}: {error}", file=sys.stderr)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
