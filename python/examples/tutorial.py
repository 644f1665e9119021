# %% [markdown]
# # A transmon's pads
#
# Two pads of a qubit on a silicon chip, and a coupling line next to them: from a mesh to the matrix that circuit
# programs read. Run the cells in an editor, or as a notebook (`jupytext --to ipynb tutorial.py`). The tests run it,
# too, so that it stays true.

# %%
import numpy as np

import farad

# %% [markdown]
# ## A mesh
#
# Thin metal is a plate. Lengths are in micrometres. `grade` makes triangles small at edges, where charge
# crowds. A mesh of Gmsh would come in by `farad.Mesh.read("pads.msh", unit="um")`, one of meshio or PyVista by
# `from_meshio` and `from_pyvista`; each physical group is a conductor.

# %%
pad = dict(elements=200, grade=8.0, unit="um")
mesh = farad.Mesh.join(
    farad.Mesh.plate(400.0, 120.0, center=(0, 75, 0), name="upper", **pad),
    farad.Mesh.plate(400.0, 120.0, center=(0, -75, 0), name="lower", **pad),
    farad.Mesh.plate(40.0, 270.0, center=(250, 0, 0), name="line", **pad),
)
print(mesh)

# %% [markdown]
# ## The chip
#
# The pads lie on 500 um of silicon over a grounded plane, with vacuum above. Layers go on without end and need no
# mesh.

# %%
problem = farad.Problem(mesh).layers([(500.0, 11.45)], at=-500.0, below="ground", above=1.0)
problem.check()

# %% [markdown]
# ## The capacitance matrix
#
# The mesh is refined until error bars are below 2 % of the diagonal. Nothing doubtful passes without a word:
# there would be a `FaradWarning`, or with `strict=True` an exception.

# %%
solution = problem.solve(accuracy=2e-2, strict=True)
C = solution.capacitance
print(C.to_pandas("mutual") * 1e15)
print(C.to_pandas("mutual", errors=True) * 1e15)
for level in solution.levels:
    print(f"{level['triangles']:6} triangles, {level['relative']:.1e} in {level['seconds']:.1f} s")

# %% [markdown]
# The charging energy of the floating pair follows from its total capacitance: both pads to each other, and in series to
# everything else.

# %%
to_rest = C.mutual[:2, 2] + C.mutual[[0, 1], [0, 1]]
total = C.mutual[0, 1] + to_rest[0] * to_rest[1] / to_rest.sum()
charging = 1.602176634e-19**2 / (2 * total) / 6.62607015e-34
print(f"C = {total * 1e15:.1f} fF, E_C/h = {charging * 1e-6:.0f} MHz")
assert 20e-15 < total < 200e-15

# %% [markdown]
# ## For other programs

# %%
C.to_q3d("pads_q3d.txt")  # qiskit-metal's load_q3d_capacitance_matrix
C.to_spice("pads.sp")
C.to_palace(".")
again = farad.CapacitanceMatrix.read_q3d("pads_q3d.txt")
assert np.allclose(again.values, 0.5 * (C.values + C.values.T), rtol=1e-9)

# %% [markdown]
# ## Where the charge is
#
# `solution.plot("charge density, upper at 1 V [C/m^2]")` shows it in a window or a notebook; here the surface is
# saved, for ParaView.

# %%
surface = solution.to_pyvista()
surface.save("pads.vtp")
density = solution.charge_density("upper", free=True)
on_upper = solution.conductor_of_triangle == 0
charge = density[on_upper] @ solution.mesh.areas[on_upper] * 1e-12
assert np.isclose(charge, C["upper", "upper"], rtol=1e-3)

# %% [markdown]
# ## A sweep
#
# The coupling to the line for several distances. Runs come as they are solved, and are gathered as an xarray data set.

# %%
runs = problem.sweep(farad.Move("line", along=(1, 0, 0), values=[0.0, 40.0, 80.0], name="distance"))
data = farad.to_xarray(runs)
coupling = data.mutual.sel(conductor="upper", column="line") * 1e15
print(coupling.to_series())
assert (coupling.diff("distance") < 0).all()

# %% [markdown]
# ## Sums over points
#
# The fast multipole method on its own, against the plain sum at a few points.

# %%
random = np.random.default_rng(0)
points, charges = random.random((10_000, 3)), random.normal(size=10_000)
potential = farad.Fmm(points, tolerance=1e-6)(charges)
away = np.linalg.norm(points[:5, None] - points[None], axis=2)
with np.errstate(divide="ignore"):
    plain = np.where(away > 0, charges / away, 0.0).sum(axis=1)
print(np.abs(potential[:5] / plain - 1))

# %%
finished = True
