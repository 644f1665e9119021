"""Layer operators as linear operators of SciPy."""

from __future__ import annotations

from typing import Any, Literal

from . import _arrays, _farad
from ._arrays import Floats
from ._copies import Unchanging
from ._errors import InputError
from ._mesh import Mesh

Space = Literal["constant", "linear"]
Test = Literal["constant", "linear", "centroids"]
Kind = Literal["single", "double", "adjoint", "mass"]

# The operator from which a transpose is built.
_TRANSPOSED: dict[str, Kind] = {
    "single": "single",
    "double": "adjoint",
    "adjoint": "double",
    "mass": "mass",
}


class Surface(Unchanging):
    """The triangles of a mesh as the domain of layer operators.

    Vectors are coefficients of functions: one value per triangle ("constant") or vertex
    ("linear"). A density s goes in; means of V s, K s or K' s come out, weighted with the test
    functions. With G = 1/(4 pi |x - y|), normals n by the right-hand rule, and lengths in the
    mesh's unit::

        (V s)(x) = int G s,    (K s)(x) = int dG/dn_y s,    (K' s)(x) = int dG/dn_x s

    Parameters
    ----------
    mesh : Mesh
        Curved triangles count as the flat ones through their corners.
    tolerance : float
        Relative L2 error of products.
    backend : {"auto", "cpu", "cuda", "hybrid"}
    gpu : int

    Examples
    --------
    The charge of a sphere of radius 1 at potential 1 is 4 pi (times eps0):

    >>> import numpy as np
    >>> import farad
    >>> from scipy.sparse.linalg import gmres
    >>> surface = farad.Surface(farad.Mesh.sphere(1.0, elements=320, unit="m"))
    >>> V = surface.single_layer()
    >>> density, info = gmres(V, np.ones(V.shape[0]))
    >>> bool(abs(density @ surface.weights() / (4 * np.pi) - 1) < 0.02)
    True
    """

    def __init__(
        self,
        mesh: Mesh,
        tolerance: float = 1e-6,
        *,
        backend: Literal["auto", "cpu", "cuda", "hybrid"] = "auto",
        gpu: int = 0,
    ) -> None:
        if not isinstance(mesh, Mesh):
            raise InputError(f"{type(mesh).__name__} is no farad.Mesh")
        self._surface = _farad.Surface(mesh._mesh)
        self._mesh = mesh
        self._tolerance = _arrays.number("tolerance", tolerance)
        self._backend = _arrays.name("backend", backend)
        self._gpu = _arrays.count("gpu", gpu, least=0)

    @property
    def mesh(self) -> Mesh:
        """The mesh."""
        return self._mesh

    @property
    def vertices(self) -> Any:
        """Indices of the mesh's vertices that "linear" coefficients belong to."""
        return self._surface.vertices

    def dimension(self, space: Space = "constant") -> int:
        """Number of coefficients of a function in a space."""
        return self._surface.dimension(_arrays.name("space", space))

    def weights(self, space: Space = "constant") -> Floats:
        """Integrals of the functions that are 1 in one coefficient and 0 in the others."""
        return self._surface.weights(_arrays.name("space", space))

    def _operator(self, kind: Kind, spaces: tuple[str, str], columns: int, kappa: float) -> Any:
        _arrays.optional("scipy.sparse.linalg", "a layer operator")
        from ._scipy import LayerOperator

        columns, kappa = _arrays.count("columns", columns), _arrays.number("kappa", kappa)
        return LayerOperator(self, kind, spaces, columns, kappa)

    def single_layer(
        self,
        test: Test = "constant",
        trial: Space = "constant",
        columns: int = 1,
        kappa: float = 0.0,
    ) -> Any:
        """V: the potential of a charge density.

        Parameters
        ----------
        test : {"constant", "linear", "centroids"}
            Test functions of the equation; "centroids" means collocation.
        trial : {"constant", "linear"}
            Functions of the density.
        columns : int
            Usual number of vectors multiplied together; tunes the plan.
        kappa : float
            Inverse of the screening length, in 1/(the mesh's unit), 0 or more: G times
            exp(-kappa |x - y|), the kernel of the modified Helmholtz equation.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator
            With ``matvec``, ``matmat`` (several vectors in one pass) and, unless it is collocation,
            the transpose. Its dtype is float64, so products are float64, also of float32 vectors
            (complex128 of complex ones). One vector, or several in Fortran's order, is read in
            place if it is of float64 or float32; float32 is widened 32 vectors at a time. Vectors
            in C order are copied, so that each is contiguous.
        """
        return self._operator("single", (test, trial), columns, kappa)

    def double_layer(
        self,
        test: Test = "constant",
        trial: Space = "constant",
        columns: int = 1,
        kappa: float = 0.0,
    ) -> Any:
        """K: the potential of a density of dipoles along the normals, its principal value.

        K 1 = -1/2 on a closed surface with normals out of it. Parameters as of `single_layer`.
        """
        return self._operator("double", (test, trial), columns, kappa)

    def adjoint_double_layer(
        self,
        test: Test = "constant",
        trial: Space = "constant",
        columns: int = 1,
        kappa: float = 0.0,
    ) -> Any:
        """K': the normal derivative of the potential of a charge density, without its jump.

        Parameters as of `single_layer`.
        """
        return self._operator("adjoint", (test, trial), columns, kappa)

    def mass(self, test: Test = "constant", trial: Space = "constant") -> Any:
        """A function of `trial` tested with `test`: the identity between constants."""
        return self._operator("mass", (test, trial), 1, 0.0)

    def __repr__(self) -> str:
        return f"<farad.Surface: {len(self._mesh):,} triangles, tolerance {self._tolerance:g}>"
