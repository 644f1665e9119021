"""Results of a solve."""

from __future__ import annotations

import warnings as _warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _farad
from ._arrays import Floats
from ._capacitance import CapacitanceMatrix
from ._copies import Unchanging
from ._errors import FaradWarning, InputError
from ._mesh import Mesh


@dataclass(frozen=True)
class Check:
    """A property of exact results that the computed ones miss.

    Attributes
    ----------
    check : str
        Which (docs/results.md has the list).
    what : str
        The entries, conductors or charges concerned.
    value, promise : float
        Value found, and the promised bound, both relative.
    is_error : bool
        True if the results must not be used.
    message : str
        The fault, and what to do.
    """

    check: str
    what: str
    value: float
    promise: float
    is_error: bool
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Quantity:
    """A number with its unit and, where it is known, its error bar."""

    value: float
    unit: str
    error: float | None = None

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class ConductorState:
    """One conductor in a state: potential in volt, free charge in coulomb, and their errors."""

    name: str
    potential: float
    charge: float
    floating: bool
    potential_error: float | None = None
    charge_error: float | None = None


@dataclass(frozen=True)
class Energy:
    """Electrostatic energy of a state in joule.

    Attributes
    ----------
    conductors : float
        Half the conductors' charges times their potentials.
    reaction : float
        Half the point charges times the potentials of all surface charge: the solvation energy
        where there are no conductors. 0 without point charges.
    coulomb : float
        Half the point charges times each other's potentials. 0 without.
    reaction_error : float or None
        Error bar of `reaction`.
    """

    conductors: float
    reaction: float = 0.0
    coulomb: float = 0.0
    reaction_error: float | None = None

    @property
    def total(self) -> float:
        """Sum of the three."""
        return self.conductors + self.reaction + self.coulomb


@dataclass(frozen=True, eq=False)
class Probed:
    """Potential (volt) and field (volt a metre) at the points of a probe, with error bars."""

    name: str
    points: Floats
    potential: Floats
    field: Floats
    potential_error: Floats | None = None
    field_error: Floats | None = None


@dataclass(frozen=True)
class Force:
    """Force (newton) and torque (newton metre) on a body, about a point in the mesh's unit."""

    name: str
    force: tuple[float, float, float]
    torque: tuple[float, float, float]
    about: tuple[float, float, float]
    force_error: float | None = None
    torque_error: float | None = None


@dataclass(frozen=True, eq=False)
class FilmShare:
    """Share of the energy in a film, with each conductor in turn at a potential, and error bars.

    `thickness` is in metres.
    """

    name: str
    thickness: float
    permittivity: float
    participation: Floats
    errors: Floats


_ENDED = {
    "time": "a finer mesh would have taken longer than max_time allows",
    "stalled": "the error bars no longer shrink on finer meshes: the estimate is not reliable here",
    "vanishing": (
        "the number is zero within its error bar, as by symmetry, and nothing that vanishes is "
        "accurate relative to itself"
    ),
    "unsolved": "the first solve did not converge or failed its checks",
}


class Solution(Unchanging):
    """Results in SI units, except for lengths, which are in the mesh's unit.

    Made by `Problem.solve`.
    """

    def __init__(self, found: _farad.Solution, accuracy: float | None = None) -> None:
        self._found = found
        self._accuracy = accuracy

    @cached_property
    def capacitance(self) -> CapacitanceMatrix:
        """The capacitance matrix, with error bars: of the surface as it is meshed."""
        matrices = self._found.matrices()
        return CapacitanceMatrix(
            self._found.conductors,
            self._found.columns,
            matrices["maxwell"],
            matrices["mutual"],
            matrices.get("maxwell_error"),
            matrices.get("mutual_error"),
            mark=self._mark(),
        )

    def _mark(self) -> str:
        if not self.converged:
            return "NOT CONVERGED"
        return "CHECKS FAILED" if self._found.failed_checks else ""

    @property
    def conductors(self) -> list[str]:
        """Names of conductors."""
        return self._found.conductors

    @property
    def converged(self) -> bool:
        """Whether all solves met the tolerance."""
        return self._found.converged

    @property
    def reached(self) -> bool:
        """Whether the requested accuracy was reached; True if none was requested."""
        return self._found.ended is None or self._found.ended[0] == "reached"

    @property
    def ok(self) -> bool:
        """Whether it converged, passed its self-checks and reached its accuracy."""
        return self.converged and not self._found.failed_checks and self.reached

    @cached_property
    def warnings(self) -> list[Check]:
        """Values above the bounds of the self-checks."""
        return [Check(**warning) for warning in self._found.warnings]

    @property
    def notes(self) -> list[str]:
        """Notes on the surfaces."""
        return [text for text, _ in self._found.notes]

    @property
    def solves(self) -> list[dict[str, Any]]:
        """How each solve went: excitation, iterations, residual, converged, reason."""
        return self._found.solves

    @property
    def info(self) -> dict[str, Any]:
        """Method, backend, tolerances, measured errors and times."""
        return self._found.info

    @property
    def levels(self) -> list[dict[str, Any]]:
        """Result of each mesh on the way to an accuracy."""
        return self._found.levels

    @cached_property
    def state(self) -> dict[str, ConductorState]:
        """The conductors at the potentials and charges of the problem; empty without any."""
        return {state["name"]: ConductorState(**state) for state in self._found.states}

    @cached_property
    def energy(self) -> Energy | None:
        """Energy of the state; None where no potential, charge or field is set.

        The energy of charges in an external field is not part of it.
        """
        if not self._found.has_state:
            return None
        conductors = sum(0.5 * state.potential * state.charge for state in self.state.values())
        found = self._found.solvation
        if found is None:
            return Energy(conductors)
        return Energy(conductors, found["reaction"], found["coulomb"], found["reaction_error"])

    @property
    def reaction_potential(self) -> Floats | None:
        """Potential of all surface charge at each point charge, volt."""
        found = self._found.solvation
        return None if found is None else found["reaction_potential"]

    @cached_property
    def probes(self) -> dict[str, Probed]:
        """Potential and field at the problem's probes."""
        return {probe["name"]: Probed(**probe) for probe in self._found.probes}

    @cached_property
    def forces(self) -> dict[str, Force]:
        """Forces on bodies; empty unless wanted."""
        vectors = ("force", "torque", "about")
        return {
            force["name"]: Force(**{**force, **{key: tuple(force[key]) for key in vectors}})
            for force in self._found.forces
        }

    @cached_property
    def films(self) -> dict[str, FilmShare]:
        """Shares of the energy in the problem's films."""
        return {film["name"]: FilmShare(**film) for film in self._found.films}

    @cached_property
    def derivatives(self) -> dict[str, Floats]:
        """Derivatives of the Maxwell matrix that the problem asks for.

        Farad by a relative permittivity, shape (n, n); farad a metre by a thickness, shape (n, n),
        and by shifts, shape (3, n, n), along x, y and z.
        """
        return self._of_derivatives("matrices")

    @cached_property
    def derivative_errors(self) -> dict[str, Floats]:
        """Error bars of the derivatives, in the same shapes; empty if none were wanted."""
        return self._of_derivatives("errors")

    def _of_derivatives(self, key: str) -> dict[str, Floats]:
        return {
            found["name"]: np.array(found[key]) if len(found[key]) > 1 else found[key][0]
            for found in self._found.derivatives
            if found[key]
        }

    @cached_property
    def participations(self) -> dict[str, tuple[Floats, Floats]]:
        """Shares of the energy in media, of derivatives by permittivities, and their error bars.

        Each with one conductor in turn at a potential and the others at 0 V; bars are empty if none
        were wanted.
        """
        return {
            found["name"]: (found["participation"], found["participation_errors"])
            for found in self._found.derivatives
            if found["participation"].size
        }

    @property
    def polarisability(self) -> Floats | None:
        """Polarisability over 4 pi eps0 in the cube of the unit, shape (3, 3)."""
        found = self._found.polarisability
        return None if found is None else found[0]

    @property
    def quantities(self) -> dict[str, Quantity]:
        """All numbers other than the matrix, by the names that the program gives them."""
        return {
            name: Quantity(value, unit, error)
            for name, unit, value, error in self._found.quantities
        }

    @cached_property
    def mesh(self) -> Mesh:
        """The mesh that was solved on: finer than the problem's where it was refined."""
        return Mesh._of(self._found.mesh)

    @property
    def conductor_of_triangle(self) -> npt.NDArray[np.int64]:
        """Index of each triangle's conductor, -1 for none."""
        return self._found.conductor_of_triangle

    def charge_density(self, conductor: str | None = None, *, free: bool = False) -> Floats:
        """Charge density of each triangle in C/m^2.

        Parameters
        ----------
        conductor : str, optional
            With this conductor at 1 V and the others at 0; without it, that of the state.
        free : bool
            Leave bound charge out.
        """
        if conductor is None:
            values = self._found.state_values
            if values is None:
                raise InputError(
                    "no potential, charge or field is set: name the conductor that is at 1 V"
                )
            return values["free_charge_density" if free else "charge_density"]
        columns = self._found.columns
        if conductor not in columns:
            raise InputError(f"there is no column {conductor!r}; there are: {', '.join(columns)}")
        return self._found.unit_density(columns.index(conductor), free)

    def to_pyvista(self) -> Any:
        """Return the surface as `pyvista.PolyData`, its arrays named as in ``surface.vtu``.

        Charge densities with each conductor at 1 V, and where a potential, a charge or a field is
        set the potential and charge densities of that state, too.
        """
        surface = self.mesh.to_pyvista()
        surface.cell_data["conductor id"] = self.conductor_of_triangle
        for name in self._found.columns:
            density = self.charge_density(name, free=True)
            surface.cell_data[f"charge density, {name} at 1 V [C/m^2]"] = density
        values = self._found.state_values
        if values is not None:
            names = {
                "charge density, free [C/m^2]": "free_charge_density",
                "charge density, free and bound [C/m^2]": "charge_density",
                "potential [V]": "potential",
            }
            for name, key in names.items():
                if key in values:
                    surface.cell_data[name] = values[key]
        return surface

    def plot(self, scalars: str | None = None, **options: Any) -> Any:
        """Show the surface in PyVista, coloured by charge density.

        Parameters
        ----------
        scalars : str, optional
            Name of an array of `to_pyvista`.
        **options
            Passed to `pyvista.PolyData.plot`.
        """
        surface = self.to_pyvista()
        if scalars is None:
            names = [name for name in surface.cell_data if name.startswith("charge density")]
            scalars = names[-1] if names else None
        return surface.plot(scalars=scalars, **options)

    def __repr__(self) -> str:
        state = "converged" if self.ok else "; ".join(self.problems())
        return f"<farad.Solution: {len(self.mesh):,} triangles, {state}>\n{self.capacitance!r}"

    def problems(self) -> list[str]:
        """Why it is not `ok`, in sentences."""
        found = []
        failed = [solve for solve in self.solves if not solve["converged"]]
        if failed:
            lines = [f"{len(failed)} of {len(self.solves)} solves did not converge"]
            lines += [
                f'"{solve["excitation"]}": {solve["reason"]} after {solve["iterations"]} iterations, '
                f"residual {solve['residual']:.1e} instead of {self.info['tolerance']:.1e}"
                for solve in failed
            ]
            lines.append(
                "raise max_iterations or restart, ask for less with tolerance, or look at the mesh"
            )
            found.append("\n".join(lines))
        wrong = [warning.message for warning in self.warnings if warning.is_error]
        if wrong:
            found.append(
                "\n".join(["the results fail their self-checks; do not use them:", *wrong])
            )
        accuracy = self._accuracy
        if not self.reached and self._found.ended is not None and accuracy is not None:
            kind, more = self._found.ended
            last = self.levels[-1]["relative"] if self.levels else float("nan")
            missed = (
                f"is not confirmed by a finer mesh, though the bars are {last:.1e}"
                if last <= accuracy
                else f"was not reached, the bars are {last:.1e}"
            )
            found.append(
                f"the accuracy of {accuracy:.1e} {missed}: {more or _ENDED.get(kind, kind)}"
            )
        return found

    def _warn(self, level: int) -> None:
        """Tell the user what is doubtful."""
        texts = [text for text, is_routine in self._found.notes if not is_routine]
        texts += [warning.message for warning in self.warnings if not warning.is_error]
        # All reasons that make it useless are one warning.
        found = self.problems()
        for text in [*texts, *(["\n".join(found)] if found else [])]:
            _warnings.warn(text, FaradWarning, stacklevel=level)
