"""The class of layer operators; imported where SciPy is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator

from ._arrays import name, reals
from ._errors import InputError
from ._operators import _TRANSPOSED

if TYPE_CHECKING:
    from ._operators import Kind, Surface


class LayerOperator(LinearOperator):  # type: ignore[misc]
    """A layer operator of a `Surface`."""

    def __init__(
        self, surface: Surface, kind: Kind, spaces: tuple[str, str], columns: int, kappa: float
    ) -> None:
        self._surface, self._kind, self._spaces = surface, kind, spaces
        self._columns, self._kappa = columns, kappa
        test, trial = spaces
        names = (name("test", test), name("trial", trial))
        choices = {
            "tolerance": surface._tolerance,
            "columns": columns,
            "kappa": kappa,
            "backend": surface._backend,
            "gpu": surface._gpu,
        }
        self._operator = surface._surface.operator(kind, names, choices)
        self._transposed: LayerOperator | None = None
        super().__init__(np.dtype(np.float64), self._operator.shape)

    def _product(self, columns: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A times vectors that are columns, shape (inputs, k)."""
        if np.iscomplexobj(columns):
            k = columns.shape[1]
            both = np.empty((2 * k, columns.shape[0]), dtype=columns.real.dtype)
            both[:k], both[k:] = columns.T.real, columns.T.imag
            found = self._product(both.T)
            return found[:, :k] + 1j * found[:, k:]
        # Columns one after the other: no copy of a single one, or of an array in Fortran's order.
        vectors = reals("the vectors", columns.T)
        found = self._operator.apply(vectors.reshape(-1), vectors.shape[0])
        return found.reshape(vectors.shape[0], self.shape[0]).T

    def _matvec(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self._product(np.asarray(x).reshape(-1, 1)).reshape(-1)

    def _matmat(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self._product(np.asarray(X))

    def _rmatvec(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self._rmatmat(np.asarray(x).reshape(-1, 1)).reshape(-1)

    def _rmatmat(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        # Rows are means over test functions: A = W_test^-1 M and, M^T being the transposed
        # operator's, A^T = W_trial A' W_test^-1.
        test, trial = self._spaces
        if test == "centroids":
            raise InputError("there is no transpose of an operator tested at centroids")
        if self._transposed is None:
            kind = _TRANSPOSED[self._kind]
            exchanged = (trial, test)
            self._transposed = LayerOperator(
                self._surface, kind, exchanged, self._columns, self._kappa
            )
        weights = self._surface._surface.weights
        inside = np.divide(np.asarray(X).T, weights(test), order="C").T
        found: npt.NDArray[Any] = weights(trial)[:, None] * self._transposed._product(inside)
        return found
