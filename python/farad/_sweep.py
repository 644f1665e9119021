"""Quantities that change from run to run."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays, _farad
from ._arrays import ArrayLike, Names
from ._errors import InputError

if TYPE_CHECKING:
    from ._problem import Problem
    from ._solution import Solution

MOST_RUNS = 100_000


def _values(values: ArrayLike) -> tuple[float, ...]:
    array = _arrays.floats("values", np.atleast_1d(_arrays.array("values", values)))
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise InputError("values must be finite numbers, at least one")
    return tuple(array.tolist())


def _name(name: str | None, usual: str) -> str:
    return _arrays.name("name", name) if name else usual


class Permittivity:
    """Values of the relative permittivity of a dielectric, of the surrounding medium for None.

    Parameters
    ----------
    dielectric : str or None
    values : array_like, shape (n,)
    name : str, optional
        Name of the values in results.
    """

    def __init__(self, dielectric: str | None, values: ArrayLike, name: str | None = None) -> None:
        self.dielectric = None if dielectric is None else _arrays.name("dielectric", dielectric)
        self.values = _values(values)
        self.name = _name(name, f"eps_r({dielectric})" if dielectric else "eps_r")

    def _applied(self, problem: _farad.Problem, value: float) -> _farad.Problem:
        return problem.with_permittivity(self.dielectric, value)


class Move:
    """Groups of the mesh that move by each value times a vector.

    Parameters
    ----------
    groups : str or sequence of str
    along : array_like, shape (3,)
        In the mesh's unit.
    values : array_like, shape (n,)
    name : str, optional
    """

    def __init__(
        self, groups: Names, along: ArrayLike, values: ArrayLike, name: str | None = None
    ) -> None:
        self.groups = _arrays.names("groups", groups)
        self.along = _arrays.vector("along", along)
        self.values = _values(values)
        self.name = _name(name, f"move({', '.join(self.groups)})")

    def _applied(self, problem: _farad.Problem, value: float) -> _farad.Problem:
        x, y, z = self.along
        return problem.with_moved(self.groups, (x * value, y * value, z * value))


class Turn:
    """Groups of the mesh that turn by each value in degrees about an axis through a point.

    Parameters
    ----------
    groups : str or sequence of str
    axis : array_like, shape (3,)
    values : array_like, shape (n,)
        Degrees, counter-clockwise seen from the axis's tip.
    center : array_like, shape (3,)
    name : str, optional
    """

    def __init__(
        self,
        groups: Names,
        axis: ArrayLike,
        values: ArrayLike,
        center: ArrayLike = (0.0, 0.0, 0.0),
        name: str | None = None,
    ) -> None:
        self.groups = _arrays.names("groups", groups)
        self.axis = _arrays.vector("axis", axis)
        self.center = _arrays.vector("center", center)
        self.values = _values(values)
        self.name = _name(name, f"turn({', '.join(self.groups)})")

    def _applied(self, problem: _farad.Problem, value: float) -> _farad.Problem:
        return problem.with_turned(self.groups, self.axis, self.center, value)


Change = Permittivity | Move | Turn


@dataclass(frozen=True)
class Run:
    """One run of a sweep: the values by name, the problem, its solution."""

    values: dict[str, float]
    problem: Problem
    solution: Solution


def combinations(changes: Sequence[Change]) -> Iterator[tuple[float, ...]]:
    """All combinations of values; those of the last vary fastest."""
    for change in changes:
        if not isinstance(change, (Permittivity, Move, Turn)):
            raise InputError(f"{change!r} is no farad.Permittivity, farad.Move or farad.Turn")
    names = [change.name for change in changes]
    if len(set(names)) != len(names):
        raise InputError(f"two changes have one name: {', '.join(names)}; give them names")
    if int(np.prod([len(change.values) for change in changes], dtype=object)) > MOST_RUNS:
        raise InputError(f"these are more than {MOST_RUNS:,} runs")
    return itertools.product(*(change.values for change in changes))


def to_xarray(runs: Iterable[Run]) -> Any:
    """Gather the runs of a sweep as an `xarray.Dataset`.

    Parameters
    ----------
    runs : iterable of Run
        Such as `Problem.sweep` gives; it is run to its end.

    Returns
    -------
    xarray.Dataset
        ``maxwell`` and ``mutual`` in farad with their errors, over one dimension for each quantity
        that changes, and ``conductor`` and ``column``; ``converged`` over the former. Missing
        runs are NaN.
    """
    xarray = _arrays.optional("xarray", "to_xarray")
    if not isinstance(runs, Iterable):
        raise InputError(f"runs is {runs!r}; it must be the runs of a sweep")
    found = []
    for run in runs:
        if not isinstance(run, Run):
            raise InputError(f"{run!r} is no farad.Run")
        found.append((dict(run.values), run.solution))
    if not found:
        raise InputError("there are no runs")
    names = list(found[0][0])
    axes = {name: list(dict.fromkeys(values[name] for values, _ in found)) for name in names}
    first = found[0][1].capacitance
    shape = tuple(len(axis) for axis in axes.values())
    matrix = (len(first.names), len(first.columns))
    data = {
        key: np.full(shape + matrix, np.nan)
        for key in ("maxwell", "mutual", "maxwell_error", "mutual_error")
    }
    converged = np.zeros(shape, dtype=bool)
    for values, solution in found:
        C = solution.capacitance
        if (C.names, C.columns) != (first.names, first.columns):
            raise InputError(f"the run with {values} has other conductors than the first one")
        place = tuple(axes[name].index(values[name]) for name in names)
        for key, value in (
            ("maxwell", C.values),
            ("mutual", C.mutual),
            ("maxwell_error", C.errors),
            ("mutual_error", C.mutual_errors),
        ):
            if value is not None:
                data[key][place] = value
        converged[place] = solution.converged
    dims = (*names, "conductor", "column")
    return xarray.Dataset(
        {
            **{key: (dims, value, {"units": "F"}) for key, value in data.items()},
            "converged": (tuple(names), converged),
        },
        coords={**axes, "conductor": first.names, "column": first.columns},
    )
