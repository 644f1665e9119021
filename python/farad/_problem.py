"""Problems of electrostatics."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from . import _arrays, _farad, _memory
from ._arrays import ArrayLike, Names
from ._copies import Unchanging
from ._errors import ConvergenceError, FaradWarning, InputError
from ._mesh import Mesh, Unit, _stem
from ._progress import Progress, Watching
from ._solution import Solution
from ._sweep import Change, Run, combinations

Backend = Literal["auto", "cpu", "cuda", "hybrid"]
Axis = Literal["x", "y", "z"]

GROUND = "ground"


class Solver(Unchanging):
    """Data shared by consecutive solves of one geometry: near field and plan of the fast sums.

    Pass it to `Problem.solve`; solves with it wait for each other.
    """

    def __init__(self) -> None:
        self._solver = _farad.Solver()

    @property
    def times_prepared(self) -> int:
        """How often near field and fast sums were set up."""
        return self._solver.times_prepared()


class Problem(Unchanging):
    """A mesh, and what its groups are.

    Problems do not change: each method returns another problem, so that calls can be chained and
    one problem can be the start of many. Without conductors or dielectrics all groups of the mesh
    (all its connected parts, if it has no groups) are conductors in vacuum.

    Parameters
    ----------
    mesh : Mesh

    Examples
    --------
    The capacitance of a metal sphere of 1 m is 4 pi eps0 times its radius, 111.265 pF; a mesh
    inside of it has a little less:

    >>> import farad
    >>> problem = farad.Problem(farad.Mesh.sphere(1.0, elements=1280, unit="m"))
    >>> solution = problem.solve()
    >>> print(f"{solution.capacitance['sphere', 'sphere'] * 1e12:.1f} pF")
    110.9 pF

    Two spheres, of which one is held at 1 V and the other has no charge:

    >>> mesh = farad.Mesh.two_spheres(1.0, 3.0, elements=1000, unit="mm")
    >>> problem = farad.Problem(mesh).conductor("left", potential=1.0).conductor("right", charge=0.0)
    >>> state = problem.solve().state
    >>> print(f"{state['right'].potential:.3f} V")
    0.337 V
    """

    __slots__ = ("__weakref__", "_problem")

    _problem: _farad.Problem

    def __init__(self, mesh: Mesh) -> None:
        if not isinstance(mesh, Mesh):
            raise InputError(
                f"{type(mesh).__name__} is no farad.Mesh; see Mesh.from_meshio, Mesh.from_pyvista and Mesh.read"
            )
        self._problem = _farad.Problem(mesh._mesh)

    @classmethod
    def _of(cls, problem: _farad.Problem) -> Problem:
        made = cls.__new__(cls)
        made._problem = problem
        return made

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        stack: str | os.PathLike[str] | None = None,
        lenient: bool = False,
        unit: Unit | None = None,
    ) -> Problem:
        """Read FastCap's list and panel files (.lst, .qui, .neu) or a layout (.gds, .pex25d).

        Parameters
        ----------
        path : path-like
        stack : path-like, optional
            The stack file of a GDSII layout.
        lenient : bool
            Go on in spite of faults of the geometry, with warnings.
        unit : str, optional
            Unit of a FastCap file; metres without.
        """
        problem, notes = _farad.Problem.read(
            _arrays.path("path", path),
            None if stack is None else _arrays.path("stack", stack),
            _arrays.flag("lenient", lenient) or False,
            None if unit is None else _arrays.name("unit", unit),
        )
        for note in notes:
            warnings.warn(note, FaradWarning, stacklevel=2)
        return cls._of(problem)

    def conductor(
        self,
        name: str,
        groups: Names | None = None,
        *,
        potential: float | None = None,
        charge: float | None = None,
    ) -> Problem:
        """Make groups of the mesh a conductor.

        Parameters
        ----------
        name : str
            Its name in results.
        groups : str or sequence of str, optional
            The groups of its surface; the group of its name without.
        potential : float, optional
            Volt, for the state; 0 where neither is given but others have something set.
        charge : float, optional
            Coulomb; the conductor floats.
        """
        return self._of(
            self._problem.conductor(
                _name(name),
                [_name(name)] if groups is None else _arrays.names("groups", groups),
                None if potential is None else _arrays.number("potential", potential),
                None if charge is None else _arrays.number("charge", charge),
            )
        )

    def dielectric(self, name: str, permittivity: float, groups: Names | None = None) -> Problem:
        """Fill the closed surface of groups with a medium.

        Parameters
        ----------
        name : str
            Its name in results.
        permittivity : float
            Relative.
        groups : str or sequence of str, optional
            The groups that bound it; the group of its name without.
        """
        return self._of(
            self._problem.dielectric(
                _name(name),
                _arrays.number("permittivity", permittivity),
                [_name(name)] if groups is None else _arrays.names("groups", groups),
            )
        )

    def medium(self, permittivity: float) -> Problem:
        """Set the relative permittivity of the surrounding medium."""
        return self._of(self._problem.medium(_arrays.number("permittivity", permittivity)))

    def molecule(
        self,
        pqr: str | os.PathLike[str],
        permittivity: float = 4.0,
        name: str | None = None,
        groups: Names | None = None,
    ) -> Problem:
        """Fill the closed surface of groups with a molecule: a medium with its atoms' charges.

        Parameters
        ----------
        pqr : path-like
            A PQR file: positions in angstrom, charges in elementary charges. `Mesh.molecule` makes
            the surface of its atoms.
        permittivity : float
            Relative, inside.
        name : str, optional
            Its name in results; the file's without.
        groups : str or sequence of str, optional
            The groups that bound it; the group of its name without.
        """
        file = _arrays.path("pqr", pqr)
        named = _stem(file) if name is None else _name(name)
        return self._of(
            self._problem.molecule(
                file,
                named,
                _arrays.number("permittivity", permittivity),
                [named] if groups is None else _arrays.names("groups", groups),
            )
        )

    def salt(
        self,
        ionic_strength: float | None = None,
        *,
        kappa: float | None = None,
        temperature: float = 298.15,
        dielectric: str | None = None,
    ) -> Problem:
        """Dissolve ions in a medium: the linearised Poisson-Boltzmann equation is solved.

        There are no conductors then, no planes, layers or external field, and error bars of
        the energy and at probes.

        Parameters
        ----------
        ionic_strength : float, optional
            In mol/l; 0.15 in blood.
        kappa : float, optional
            Inverse of Debye's length per unit of the mesh, instead.
        temperature : float
            Kelvin, for `ionic_strength`.
        dielectric : str, optional
            The dielectric whose ions they are; the surrounding medium without.

        Examples
        --------
        An ion of radius 2 angstrom in salt water has the energy of Born and that of its cloud:

        >>> import farad
        >>> mesh = farad.Mesh.sphere(2.0, elements=320, order=3, unit="angstrom")
        >>> ion = farad.Problem(mesh).dielectric("sphere", 2.0).charges([0, 0, 0], 1.0, "e").medium(78.54)
        >>> energies = [ion.solve(), ion.salt(0.15).solve()]
        >>> for solution in energies:
        ...     print(f"{float(solution.quantities['solvation energy']):.1f} kcal/mol")
        -40.5 kcal/mol
        -40.7 kcal/mol
        """
        if (ionic_strength is None) == (kappa is None):
            raise InputError("ions are given by either ionic_strength or kappa")
        strength = None
        if ionic_strength is not None:
            strength = (
                _arrays.number("ionic_strength", ionic_strength),
                _arrays.number("temperature", temperature),
            )
        return self._of(
            self._problem.salt(
                None if dielectric is None else _name(dielectric),
                None if kappa is None else _arrays.number("kappa", kappa),
                strength,
            )
        )

    def charges(
        self, positions: ArrayLike, charges: ArrayLike, unit: Literal["C", "e"] = "C"
    ) -> Problem:
        """Add point charges.

        Parameters
        ----------
        positions : array_like, shape (n, 3)
            In the mesh's unit. Contiguous arrays of float64 or float32 are read in place, once.
        charges : array_like, shape (n,)
            Read as positions are.
        unit : {"C", "e"}
            Coulomb or elementary charges.
        """
        if unit not in ("C", "e"):
            raise InputError(f'unit is {unit!r}; it must be "C" or "e"')
        places = _arrays.points("positions", np.atleast_2d(_arrays.array("positions", positions)))
        amounts = _arrays.reals("charges", np.atleast_1d(_arrays.array("charges", charges)))
        if amounts.ndim != 1:
            raise InputError(f"charges have the shape {amounts.shape}; it must be (n,)")
        return self._of(self._problem.charges(places, amounts, unit == "e"))

    def plane(
        self, axis: Axis, at: float = 0.0, kind: Literal["ground", "symmetry"] = "ground"
    ) -> Problem:
        """Mirror everything in a plane.

        Parameters
        ----------
        axis : {"x", "y", "z"}
            Axis perpendicular to the plane.
        at : float
            Where, in the mesh's unit.
        kind : {"ground", "symmetry"}
            Metal at 0 V, or a plane in which charges are their own images.
        """
        if kind not in ("ground", "symmetry"):
            raise InputError(f'kind is {kind!r}; it must be "ground" or "symmetry"')
        return self._of(
            self._problem.plane(_axis(axis), _arrays.number("at", at), kind == "ground")
        )

    def layers(
        self,
        layers: Sequence[tuple[float, float]],
        *,
        below: float | Literal["ground"] = 1.0,
        above: float | Literal["ground"] = 1.0,
        axis: Axis = "z",
        at: float = 0.0,
    ) -> Problem:
        """Put everything into infinite layers.

        Parameters
        ----------
        layers : sequence of (thickness, permittivity)
            From the lowest on, thickness in the mesh's unit.
        below, above : float or "ground"
            Relative permittivity of what is below and above all layers, or metal at 0 V.
        axis : {"x", "y", "z"}
            Axis perpendicular to the layers.
        at : float
            Height of the lowest interface.
        """

        def beyond(what: str, value: Any) -> float | None:
            is_ground = isinstance(value, str) and value == GROUND
            return None if is_ground else _arrays.number(what, value)

        if not isinstance(layers, Iterable):
            raise InputError(f"layers is {layers!r}; it must be a list of (thickness, permittivity)")
        pairs = []
        for layer in layers:
            try:
                thickness, permittivity = layer
            except (TypeError, ValueError):
                raise InputError(
                    f"a layer is {layer!r}; it must be (thickness, permittivity)"
                ) from None
            pairs.append(
                (
                    _arrays.number("thickness", thickness),
                    _arrays.number("permittivity", permittivity),
                )
            )
        return self._of(
            self._problem.layers(
                _axis(axis),
                _arrays.number("at", at),
                beyond("below", below),
                pairs,
                beyond("above", above),
            )
        )

    def field(self, field: ArrayLike) -> Problem:
        """Set a uniform external field in V/m, shape (3,)."""
        return self._of(self._problem.field(_arrays.vector("field", field)))

    def probe(self, name: str, points: ArrayLike) -> Problem:
        """Ask for potential and field at points, shape (n, 3), in the mesh's unit.

        Contiguous arrays of float64 or float32 are read in place, once.
        """
        places = _arrays.points("points", np.atleast_2d(_arrays.array("points", points)))
        return self._of(self._problem.probe(_name(name), places))

    def ignore(self, *groups: str) -> Problem:
        """Leave groups of the mesh out."""
        return self._of(self._problem.ignore(_arrays.names("groups", groups)))

    def want(
        self,
        *,
        forces: bool | None = None,
        polarisability: bool | None = None,
        surface_values: bool | None = None,
        error_bars: bool | None = None,
        lenient: bool | None = None,
        nets: Names | None = None,
    ) -> Problem:
        """Choose results.

        Parameters
        ----------
        forces, polarisability : bool, optional
            Not computed unless wanted.
        surface_values, error_bars : bool, optional
            Computed unless not wanted: potentials on interfaces and bound charges, error bars.
        lenient : bool, optional
            Solve in spite of faults of the geometry, with warnings.
        nets : str or sequence of str, optional
            Excite these conductors only; ``*`` stands for any characters.
        """
        wanted = None if nets is None else _arrays.names("nets", nets)
        if wanted == []:
            raise InputError("nets is empty; leave it out for all conductors")
        return self._of(
            self._problem.wanted(
                _arrays.flag("forces", forces),
                _arrays.flag("polarisability", polarisability),
                _arrays.flag("surface_values", surface_values),
                _arrays.flag("error_bars", error_bars),
                _arrays.flag("lenient", lenient),
                wanted,
            )
        )

    def film(
        self,
        name: str,
        thickness: float,
        permittivity: float,
        on: Names = (),
        *,
        toward: str | int | None = None,
        interface: int | None = None,
        cutoff: float | None = None,
    ) -> Problem:
        """Ask for the share of the energy in a thin film, which leaves the field as it is.

        Parameters
        ----------
        name : str
        thickness : float
            In the mesh's unit.
        permittivity : float
            Relative, of the film.
        on : str or sequence of str
            Conductors, and dielectrics where there is no metal, whose surfaces it covers.
        toward : str or int, optional
            Only on sides that face this dielectric ("surroundings" for the medium around all), or this
            layer: 0 is what is below all of them, 1 the lowest.
        interface : int, optional
            The interface of layers that it lies in, from 0, the lowest, instead of `on`.
        cutoff : float, optional
            Distance from sharp edges within which the field does not count.
        """
        if isinstance(toward, bool) or not isinstance(toward, (str, int, np.integer, type(None))):
            raise InputError(f"toward is {toward!r}; it must be a name or the number of a layer")
        named = isinstance(toward, str)
        choices = {
            "on": _arrays.names("on", on),
            "interface": None
            if interface is None
            else _arrays.count("interface", interface, least=0),
            "medium": toward if named else None,
            "layer": None if named or toward is None else _arrays.count("toward", toward, least=0),
            "thickness": _arrays.number("thickness", thickness),
            "permittivity": _arrays.number("permittivity", permittivity),
            "cutoff": None if cutoff is None else _arrays.number("cutoff", cutoff),
        }
        return self._of(self._problem.film(_name(name), choices))

    def sensitivity(
        self,
        name: str,
        *,
        shift: Names | None = None,
        permittivity: str | None = None,
        layer: int | None = None,
        thickness: int | None = None,
    ) -> Problem:
        """Ask for a derivative of the capacitance matrix, by one of the following.

        Parameters
        ----------
        name : str
        shift : str or sequence of str, optional
            The places of these conductors and dielectrics, shifted together along x, y and z.
        permittivity : str, optional
            That of a dielectric; "surroundings" for the medium around all.
        layer, thickness : int, optional
            The permittivity of a layer (0 is what is below all of them), the thickness of one.
        """
        given: dict[str, Any] = {
            "shift": shift,
            "permittivity": permittivity,
            "layer": layer,
            "thickness": thickness,
        }
        chosen = [(kind, value) for kind, value in given.items() if value is not None]
        if len(chosen) != 1:
            raise InputError(f"a derivative is by one of {', '.join(given)}")
        kind, value = chosen[0]
        names = _arrays.names(kind, value) if kind in ("shift", "permittivity") else []
        number = 0 if names or kind == "shift" else _arrays.count(kind, value, least=0)
        return self._of(self._problem.sensitivity(_name(name), kind, names, number))

    @property
    def mesh(self) -> Mesh:
        """The mesh."""
        return Mesh._of(self._problem.mesh)

    def check(self) -> list[str]:
        """Check the mesh and find conductors and media, without a solve.

        Returns
        -------
        list of str
            Notes on the surfaces.

        Raises
        ------
        InputError
            With all that is wrong.
        """
        return self._problem.check()[0]

    def solve(
        self,
        accuracy: float | None = None,
        *,
        of: str = "all",
        max_time: float | None = None,
        tolerance: float = 1e-6,
        fmm_tolerance: float | None = None,
        method: Literal["auto", "fmm", "dense"] = "auto",
        density: Literal["auto", "constant", "linear"] = "auto",
        backend: Backend = "auto",
        gpu: int = 0,
        deterministic: bool = False,
        threads: int | None = None,
        memory_limit: float | None = None,
        max_iterations: int = 200,
        restart: int = 60,
        solver: Solver | None = None,
        strict: bool = False,
        progress: Progress = False,
    ) -> Solution:
        """Solve for the capacitance matrix and all that the problem asks for.

        The interpreter's lock is released; Ctrl-C ends the solve. Threads may solve at once.

        Parameters
        ----------
        accuracy : float, optional
            Refine the mesh until error bars are this short, relative to the diagonal of the matrix
            or to the energy. Without it the mesh is not changed.
        of : str
            Numbers that must reach `accuracy`: "all", "energy", "polarisability", "C(left, right)",
            "V(conductor)", "Q(conductor)", "F(body)", "probe(name)", "field(name)", "films",
            "film(name)".
        max_time : float, optional
            Seconds that `accuracy` may take.
        tolerance : float
            Relative residual, 1e-12 to 0.1; `accuracy` chooses it by itself.
        fmm_tolerance : float, optional
            Relative error of the fast sums, 1e-12 to 0.1; by default it follows `tolerance`.
        method : {"auto", "fmm", "dense"}
        density : {"auto", "constant", "linear"}
            How charge varies over a triangle: constant, unless an accuracy below 5e-3 is asked for.
        backend : {"auto", "cpu", "cuda", "hybrid"}
        gpu : int
            Which GPU, from 0.
        deterministic : bool
            The same numbers to the bit each time, on the same machine with as many threads, on the
            processor. With a GPU as `backend`, or with `max_time`, it is an `InputError`.
        threads : int, optional
            Threads of this solve; by default those of the package: ``RAYON_NUM_THREADS``, or one
            per processor.
        memory_limit : float, optional
            Bytes that may be used; by default the available memory.
        max_iterations, restart : int
            Of GMRES.
        solver : Solver, optional
            Keeps what solves of one geometry share.
        strict : bool
            Raise `ConvergenceError` where a solve did not converge, failed its self-checks or
            missed `accuracy`. Without it there is a `FaradWarning`, and `Solution.ok` is False.
        progress : bool or callable
            True for bars (lines, without tqdm) on stderr; or a function that is called with a
            dictionary: ``stage``, ``done``, ``total``, ``residual``, and ``level`` after each mesh.
            An exception that it raises ends the solve.

        Returns
        -------
        Solution

        Raises
        ------
        InputError
            If the mesh, the description or an option is wrong; the message has all faults.
        OutOfMemoryError, NoGpuError, ConvergenceError
        """
        goal = None if accuracy is None else _arrays.number("accuracy", accuracy)
        choices = {
            "accuracy": goal,
            "of": _arrays.name("of", of),
            "max_time": None if max_time is None else _arrays.number("max_time", max_time),
            "tolerance": _arrays.number("tolerance", tolerance),
            "fmm_tolerance": None
            if fmm_tolerance is None
            else _arrays.number("fmm_tolerance", fmm_tolerance),
            "method": _arrays.name("method", method),
            "density": _arrays.name("density", density),
            "backend": _arrays.name("backend", backend),
            "gpu": _arrays.count("gpu", gpu, least=0),
            "deterministic": _arrays.flag("deterministic", deterministic) or False,
            "threads": None if threads is None else _arrays.count("threads", threads),
            "memory_limit": _limit(memory_limit),
            "max_iterations": _arrays.count("max_iterations", max_iterations),
            "restart": _arrays.count("restart", restart),
        }
        if solver is not None and not isinstance(solver, Solver):
            raise InputError(f"solver is {solver!r}; it must be a farad.Solver")
        kept = None if solver is None else solver._solver
        is_strict = _arrays.flag("strict", strict)
        with Watching(progress) as callback:
            found = self._problem.solve(choices, kept, callback)
        solution = Solution(found, goal)
        if is_strict and not solution.ok:
            raise ConvergenceError("\n".join(solution.problems()), solution)
        solution._warn(level=3)
        return solution

    def sweep(self, *changes: Change, **options: Any) -> Iterator[Run]:
        """Solve for every combination of values, one after the other.

        Parameters
        ----------
        *changes : Permittivity, Move or Turn
            The values of the last one vary fastest. Runs that differ in permittivities alone share
            the near field: put these last.
        **options
            Options of `solve`.

        Yields
        ------
        Run
            Values, problem and solution. Nothing is solved before it is asked for.

        Examples
        --------
        >>> import farad
        >>> mesh = farad.Mesh.concentric_spheres(1.0, 2.0, elements=640, unit="m")
        >>> coated = farad.Problem(mesh).conductor("inner").dielectric("outer", 2.0)
        >>> for run in coated.sweep(farad.Permittivity("outer", [2.0, 4.0])):
        ...     print(run.values, f"{run.solution.capacitance['inner', 'inner'] * 1e12:.0f} pF")
        {'eps_r(outer)': 2.0} 147 pF
        {'eps_r(outer)': 4.0} 176 pF
        """
        all_runs = combinations(changes)
        options.setdefault("solver", Solver())
        return (self._run(changes, values, options) for values in all_runs)

    def _run(
        self, changes: Iterable[Change], values: tuple[float, ...], options: dict[str, Any]
    ) -> Run:
        problem = self
        for change, value in zip(changes, values, strict=False):
            problem = self._of(change._applied(problem._problem, value))
        names = [change.name for change in changes]
        return Run(dict(zip(names, values, strict=False)), problem, problem.solve(**options))

    def __repr__(self) -> str:
        conductors, dielectrics = self._problem.named
        found = ", ".join(conductors) or "as the mesh has them"
        media = f", dielectrics {', '.join(dielectrics)}" if dielectrics else ""
        return f"<farad.Problem on {len(self.mesh):,} triangles: conductors {found}{media}>"


def _limit(memory_limit: float | None) -> int | None:
    """Bytes that may be used; None for any number."""
    if memory_limit is None:
        return _memory.available()
    limit = _arrays.number("memory_limit", memory_limit)
    if not limit > 0:
        raise InputError(f"memory_limit is {memory_limit}; it must be a number of bytes above 0")
    return int(limit) if limit < 2**63 else None


def _name(name: Any) -> str:
    if name == "":
        raise InputError("a name is ''; it must not be empty")
    return _arrays.name("a name", name)


def _axis(axis: Any) -> int:
    if axis not in ("x", "y", "z"):
        raise InputError(f'axis is {axis!r}; it must be "x", "y" or "z"')
    return "xyz".index(axis)
