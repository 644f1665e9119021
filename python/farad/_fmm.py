"""Fast sums over points."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from . import _arrays, _farad
from ._arrays import ArrayLike, Reals
from ._copies import Unchanging
from ._errors import InputError

Array = Any


class Fmm(Unchanging):
    """Sums over all sources, phi(x) = sum_j q_j / |x - y_j|, by the fast multipole method.

    There is no factor 1/(4 pi), and a source at exactly the place of a target contributes nothing.
    Points are processed once, charges many times.

    Parameters
    ----------
    sources : array_like, shape (n, 3)
        Contiguous arrays of float64 or float32 are read in place, once: the sum keeps its points in
        double precision, for itself and for the plans with gradients or dipoles that are made when
        these are first asked for. Arrays of other types are converted to float64 before, and those
        with gaps or in another order copied.
    targets : array_like, shape (m, 3), optional
        Where the sums are evaluated; by default at the sources.
    tolerance : float
        Relative L2 error for charges of random sign, 1e-13 to 0.5.
    kappa : float
        Inverse screening length: terms are q exp(-kappa r) / r.
    precision : {"single", "double"}, optional
        Of the arithmetic; by default single if the tolerance permits it.
    mode : {"auto", "fmm", "treecode", "direct"}
    densities : int
        Usual number of sets of charges per call; tunes the plan.
    gradient, dipoles : bool
        Plan for these from the start.
    backend : {"auto", "cpu", "cuda", "hybrid"}
    gpu : int

    Examples
    --------
    >>> import numpy as np
    >>> import farad
    >>> points = np.random.default_rng(0).random((2000, 3))
    >>> charges = np.ones(2000)
    >>> fmm = farad.Fmm(points, tolerance=1e-6)
    >>> potential, gradient = fmm(charges, gradient=True)
    >>> distances = np.linalg.norm(points[1:] - points[0], axis=1)
    >>> bool(abs(potential[0] / (1 / distances).sum() - 1) < 1e-5)
    True
    """

    def __init__(
        self,
        sources: ArrayLike,
        targets: ArrayLike | None = None,
        tolerance: float = 1e-6,
        *,
        kappa: float = 0.0,
        precision: Literal["single", "double"] | None = None,
        mode: Literal["auto", "fmm", "treecode", "direct"] = "auto",
        densities: int = 1,
        gradient: bool = False,
        dipoles: bool = False,
        backend: Literal["auto", "cpu", "cuda", "hybrid"] = "auto",
        gpu: int = 0,
    ) -> None:
        given = {"sources": sources, "targets": targets}
        arrays = {what: _arrays.points(what, of) for what, of in given.items() if of is not None}
        self._single = _are_single(arrays.values())
        owned = {what: _farad.Points(what, array) for what, array in arrays.items()}
        self._sources, self._targets = owned["sources"], owned.get("targets")
        self._options: dict[str, Any] = {
            "tolerance": _arrays.number("tolerance", tolerance),
            "kappa": _arrays.number("kappa", kappa),
            "precision": None if precision is None else _arrays.name("precision", precision),
            "mode": _arrays.name("mode", mode),
            "densities": _arrays.count("densities", densities),
            "backend": _arrays.name("backend", backend),
            "gpu": _arrays.count("gpu", gpu, least=0),
        }
        self._lock = threading.Lock()
        wants = _arrays.flag("gradient", gradient), _arrays.flag("dipoles", dipoles)
        self._planned = (bool(wants[0]), bool(wants[1]))
        self._plan = self._make(*self._planned)

    def _make(self, gradient: bool, dipoles: bool) -> _farad.Plan:
        choices = {**self._options, "gradient": gradient, "dipoles": dipoles}
        return _farad.Plan(self._sources, self._targets, choices)

    def _plan_for(self, gradient: bool, dipoles: bool) -> _farad.Plan:
        with self._lock:
            wanted = (gradient or self._planned[0], dipoles or self._planned[1])
            if wanted != self._planned:
                self._plan = self._make(*wanted)
                self._planned = wanted
            return self._plan

    @property
    def sources(self) -> int:
        """Number of sources."""
        return len(self._sources)

    @property
    def targets(self) -> int:
        """Number of targets."""
        return len(self._sources if self._targets is None else self._targets)

    @property
    def info(self) -> dict[str, Any]:
        """Precision, mode, backend, truncation number and other facts of the plan."""
        return self._plan.info

    def __call__(
        self,
        charges: ArrayLike | None = None,
        *,
        dipoles: ArrayLike | None = None,
        potential: bool = True,
        gradient: bool = False,
    ) -> Array | tuple[Array, Array]:
        """Sum charges, dipoles or both.

        Several sets of charges go through one pass. Sums of one `Fmm` wait for each other; the
        interpreter's lock is released meanwhile, and Ctrl-C ends a sum. Arrays must not be changed
        while they are read.

        Parameters
        ----------
        charges : array_like, shape (n,) or (k, n), optional
            Contiguous arrays of float64 are read in place. Those of float32 are, too, and widened
            once to double precision for the length of the sum. Other arrays are converted first,
            like points.
        dipoles : array_like, shape (n, 3) or (k, n, 3), optional
            Moments d: a source adds d . (x - y) / |x - y|^3. Read as charges are.
        potential, gradient : bool
            Which of the two to return.

        Returns
        -------
        potential : ndarray, shape (m,) or (k, m)
        gradient : ndarray, shape (m, 3) or (k, m, 3)
            With respect to the target, if it is wanted. Both are float32 if points, charges and
            dipoles are, rounded once from the sums in double precision; else float64.
        """
        if charges is None and dipoles is None:
            raise InputError("there are neither charges nor dipoles")
        potential = bool(_arrays.flag("potential", potential))
        gradient = bool(_arrays.flag("gradient", gradient))
        if not potential and not gradient:
            raise InputError("neither potential nor gradient is requested")
        n, m = self.sources, self.targets
        q, k_q = self._strengths("charges", charges, (n,))
        d, k_d = self._strengths("dipoles", dipoles, (n, 3))
        if q is not None and d is not None and k_q != k_d:
            raise InputError("charges and dipoles are different numbers of sets")
        k = k_q if q is not None else k_d
        plan = self._plan_for(gradient, d is not None)
        count = 1 if k is None else k
        flat_q = None if q is None else q.reshape(-1)
        flat_d = None if d is None else d.reshape(-1)
        single = self._single and _are_single(array for array in (q, d) if array is not None)
        found = plan.apply(count, flat_q, flat_d, (potential, gradient), single)
        shape = (m,) if k is None else (k, m)
        sums: list[Array] = []
        for values, tail in zip(found, ((), (3,)), strict=False):
            if values is not None:
                sums.append(values.reshape(shape + tail))
        return sums[0] if len(sums) == 1 else (sums[0], sums[1])

    @staticmethod
    def _strengths(
        what: str, values: ArrayLike | None, one: tuple[int, ...]
    ) -> tuple[Reals | None, int | None]:
        """The array and its number of sets; None if it has no axis for sets."""
        if values is None:
            return None, None
        array = _arrays.reals(what, values)
        if array.shape == one:
            return array, None
        if array.ndim == len(one) + 1 and array.shape[1:] == one:
            return array, array.shape[0]
        sets = ", ".join(map(str, one))
        raise InputError(f"{what} have the shape {array.shape}; it must be ({sets}) or (k, {sets})")

    def __repr__(self) -> str:
        return (
            f"<farad.Fmm: {self.sources:,} sources, {self.targets:,} targets, "
            f"tolerance {self._options['tolerance']:g}>"
        )


def _are_single(arrays: Iterable[Reals]) -> bool:
    """Whether all are of float32."""
    return all(array.dtype == np.float32 for array in arrays)
