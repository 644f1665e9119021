"""Capacitances and fields by boundary elements and fast multipole sums.

A `Mesh` and what its groups are make a `Problem`; `Problem.solve` gives a `Solution`. `Fmm` sums
over points, `Surface` has the layer operators for equations of your own. docs/python.md is the
guide.

>>> import farad
>>> mesh = farad.Mesh.sphere(1.0, elements=1280, unit="m")
>>> C = farad.Problem(mesh).solve().capacitance
>>> print(f"{C['sphere', 'sphere'] * 1e12:.1f} pF")
110.9 pF
"""

from ._capacitance import CapacitanceMatrix
from ._errors import (
    ConvergenceError,
    FaradError,
    FaradWarning,
    FileError,
    InputError,
    InternalError,
    MissingFileError,
    NoGpuError,
    OutOfMemoryError,
)
from ._farad import __version__
from ._fmm import Fmm
from ._mesh import Mesh
from ._operators import Surface
from ._problem import Problem, Solver
from ._solution import Check, ConductorState, Energy, FilmShare, Force, Probed, Quantity, Solution
from ._sweep import Move, Permittivity, Run, Turn, to_xarray

__all__ = [
    "CapacitanceMatrix",
    "Check",
    "ConductorState",
    "ConvergenceError",
    "Energy",
    "FaradError",
    "FaradWarning",
    "FileError",
    "FilmShare",
    "Fmm",
    "Force",
    "InputError",
    "InternalError",
    "Mesh",
    "MissingFileError",
    "Move",
    "NoGpuError",
    "OutOfMemoryError",
    "Permittivity",
    "Probed",
    "Problem",
    "Quantity",
    "Run",
    "Solution",
    "Solver",
    "Surface",
    "Turn",
    "__version__",
    "to_xarray",
]
