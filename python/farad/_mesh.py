"""Triangle surfaces."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from . import _arrays, _farad
from ._arrays import ArrayLike, Floats, Reals
from ._copies import Unchanging
from ._errors import FileError, InputError

Unit = Literal["m", "cm", "mm", "um", "nm", "angstrom"]

_NO_GROUP = np.uint32(2**32 - 1)


class Mesh(Unchanging):
    """A triangle surface with named groups, and the unit of its coordinates.

    Meshes do not change. Normals follow from the order of corners (right-hand rule) and point out
    of bodies.

    Parameters
    ----------
    points : array_like, shape (vertices, 3)
        Coordinates. Contiguous arrays of float64 or float32 are read in place, once: the mesh keeps
        its own vertices in double precision, without those that no triangle uses, and joined where
        edges of the surface coincide. Arrays of other types are converted to float64 before, and
        those with gaps or in another order copied.
    triangles : array_like of int, shape (triangles, 3)
        Indices of vertices. Contiguous arrays of uint32 are read in place, once; others are
        converted before.
    groups : array_like of int or of str, shape (triangles,), optional
        The group of each triangle: a name, or an index into `names`, -1 for none. Without it all
        triangles are in one group, ``names[0]``, or in none if no name is given.
    names : sequence of str, optional
        Names of groups, where `groups` has indices.
    unit : {"m", "cm", "mm", "um", "nm", "angstrom"}
        Unit of the coordinates, which has to be given.

    Examples
    --------
    >>> import farad
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
    >>> farad.Mesh(corners, faces, names=["tetrahedron"], unit="mm")
    <farad.Mesh: 4 triangles, 4 vertices, unit mm, groups tetrahedron>
    """

    __slots__ = ("__weakref__", "_mesh")

    _mesh: _farad.Mesh

    def __init__(
        self,
        points: ArrayLike,
        triangles: ArrayLike,
        groups: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        unit: Unit | None = None,
    ) -> None:
        vertices = _arrays.points("points", points)
        corners = _arrays.array("triangles", triangles)
        if corners.ndim != 2 or corners.shape[1] != 3:
            raise InputError(f"triangles have the shape {corners.shape}; it must be (n, 3)")
        corners = _arrays.indices("triangles", corners, len(vertices))
        group, known = _groups(groups, names, len(corners))
        self._mesh = _farad.Mesh.from_arrays(vertices, corners, group, known, _unit(unit))

    @classmethod
    def _of(cls, mesh: _farad.Mesh) -> Mesh:
        made = cls.__new__(cls)
        made._mesh = mesh
        return made

    @classmethod
    def read(cls, path: str | os.PathLike[str], unit: Unit | None = None) -> Mesh:
        """Read a file of Gmsh (.msh 2.2 and 4.1), MSMS, OFF, PLY or STL.

        Parameters
        ----------
        path : path-like
            Its ending chooses the format.
        unit : str
            Unit of the file's coordinates, which has to be given: files do not name it.

        Raises
        ------
        FileError
            If it cannot be read.
        InputError
            If its content is not what its format asks for; the message names the line.
        """
        return cls._of(_farad.Mesh.read(_arrays.path("path", path), _unit(unit)))

    @classmethod
    def molecule(
        cls,
        pqr: str | os.PathLike[str],
        *,
        surface: Literal["ses", "gaussian", "vdw", "sas"] = "ses",
        probe: float = 1.4,
        density: float | None = None,
        elements: int | None = None,
        order: int = 1,
        cavities: Literal["keep", "drop"] = "keep",
        name: str | None = None,
        unit: Unit = "angstrom",
    ) -> Mesh:
        """Make the surface of a molecule of its atoms; `Problem.molecule` adds their charges.

        Parameters
        ----------
        pqr : path-like
            A PQR file, as PDB2PQR makes it of a PDB file.
        surface : {"ses", "gaussian", "vdw", "sas"}
            Solvent excluded, where Gaussian functions of the atoms add up to 1, that of the union
            of the atoms, or solvent accessible.
        probe : float
            Radius in angstrom of the solvent: 1.4 for water.
        density : float, optional
            Triangles per square angstrom; 4 without `elements`. A body has about 80 at least.
        elements : int, optional
            Triangles in all, about, instead.
        order : int
            1 for flat triangles, 2 for curved ones.
        cavities : {"keep", "drop"}
            Whether cavities are parts of the surface, or filled.
        name : str, optional
            Name of its group; the file's without.
        unit : str
            Unit of the mesh's coordinates. Those of the file are in angstrom.
        """
        if density is not None and elements is not None:
            raise InputError("give either density or elements, not both")
        file = _arrays.path("pqr", pqr)
        choices = {
            "surface": _arrays.name("surface", surface),
            "probe": _arrays.number("probe", probe),
            "density": None if density is None else _arrays.number("density", density),
            "elements": None if elements is None else _arrays.count("elements", elements),
            "order": _arrays.count("order", order),
            "cavities": _arrays.name("cavities", cavities),
        }
        named = _stem(file) if name is None else _named([_arrays.name("name", name)])[0]
        return cls._of(_farad.Mesh.molecule(file, named, choices, _unit(unit)))

    @classmethod
    def from_meshio(cls, mesh: Any, unit: Unit | None = None) -> Mesh:
        """Take the triangles of a `meshio.Mesh`.

        Blocks of triangles (flat, or of 6 nodes) and quadrangles (split along the shorter diagonal)
        are taken, lines and volumes left out. Groups are the physical groups (``gmsh:physical`` with the names
        in ``field_data``), else cell sets; triangles in several sets are in the first of them.

        Parameters
        ----------
        mesh : meshio.Mesh
        unit : str
            Unit of its coordinates, which has to be given.
        """
        if not hasattr(mesh, "cells") or not hasattr(mesh, "points"):
            raise InputError(f"{type(mesh).__name__} is no meshio.Mesh")
        vertices = _arrays.points("the points of the mesh", _in_space(mesh.points))
        if not all(hasattr(block, "type") and hasattr(block, "data") for block in mesh.cells):
            raise InputError("the cells of the mesh are no blocks with a type and data")
        labels = _meshio_groups(mesh)
        corners: list[npt.NDArray[Any]] = []
        groups: list[npt.NDArray[Any]] = []
        curved: list[npt.NDArray[Any]] = []
        for block, group in zip(mesh.cells, labels[1], strict=False):
            cells = np.asarray(block.data)
            if block.type == "quad":
                cells, group = _split(vertices, cells), np.repeat(group, 2)
            elif block.type == "triangle6":
                curved.append(cells)
            elif block.type != "triangle":
                if block.type.startswith(("triangle", "quad", "polygon")):
                    raise InputError(
                        f"cells of the kind {block.type} are not read; make triangles, triangle6 or quads of them"
                    )
                continue
            corners.append(cells[:, :3])
            groups.append(group)
        if not corners:
            kinds = sorted({block.type for block in mesh.cells}) or ["no cells"]
            raise InputError(f"the mesh has no triangles or quadrangles, but {', '.join(kinds)}")
        flat = len(curved) not in (0, len(corners))
        if flat:
            raise InputError("the mesh has flat and curved triangles; make all of one order")
        triangles = _arrays.indices("triangles", np.concatenate(corners), len(vertices))
        nodes: Reals | None = None
        if curved:
            places = _arrays.indices("triangles", np.concatenate(curved), len(vertices))
            nodes = _arrays.points("nodes", vertices[places].reshape(-1, 3))
        group = np.concatenate(groups).astype(np.int64)
        group, names = _groups(group, labels[0], len(triangles))
        made = _farad.Mesh.from_arrays(vertices, triangles, group, names, _unit(unit), nodes)
        return cls._of(made)

    @classmethod
    def from_pyvista(cls, mesh: Any, groups: str | None = None, unit: Unit | None = None) -> Mesh:
        """Take the surface of a `pyvista.PolyData`, or that of another data set.

        Parameters
        ----------
        mesh : pyvista.DataSet
            Polygons are triangulated.
        groups : str, optional
            Name of the cell array that has each cell's group: names, or whole numbers ``n`` that
            become ``group_n``. Without it all triangles are in no group.
        unit : str
            Unit of its coordinates, which has to be given.
        """
        if not hasattr(mesh, "extract_surface"):
            raise InputError(f"{type(mesh).__name__} is no data set of PyVista")
        surface = mesh if hasattr(mesh, "is_all_triangles") else mesh.extract_surface()
        label = None
        if groups is not None:
            if _arrays.name("groups", groups) not in surface.cell_data:
                known = ", ".join(surface.cell_data.keys()) or "none"
                raise InputError(f"there is no cell array {groups!r}; there are: {known}")
            label = np.asarray(surface.cell_data[groups])
        others = surface.n_verts + surface.n_lines
        if others:
            # Points and lines come before polygons; triangulating would lose track of cell data.
            surface = type(surface)(surface.points, faces=surface.faces, strips=surface.strips)
            label = None if label is None else label[others:]
        if not surface.is_all_triangles:
            if label is not None:
                surface = surface.copy()
                surface.cell_data["group of cell"] = np.arange(len(label))
            surface = surface.triangulate()
            if label is not None:
                label = label[np.asarray(surface.cell_data["group of cell"])]
        faces = np.asarray(surface.faces).reshape(-1, 4)[:, 1:]
        if not len(faces):
            raise InputError("the data set has no surface: no polygons, and no cells with faces")
        if label is not None and label.dtype.kind in "iu":
            label = np.array([f"group_{value}" for value in label.tolist()])
        return cls(surface.points, faces, label, unit=unit)

    @classmethod
    def _shape(
        cls,
        shape: str,
        lengths: Sequence[Any],
        elements: int | None,
        size: float | None,
        unit: Unit | None,
        names: Sequence[str] | None = None,
        center: ArrayLike = (0.0, 0.0, 0.0),
        grade: float = 1.0,
        order: int = 1,
    ) -> Mesh:
        values = [_arrays.number("a length", length) for length in lengths]
        if elements is not None and size is not None:
            raise InputError("give either elements or size, not both")
        if elements is None and size is None:
            elements = 1000
        resolution = (
            None if size is None else _arrays.number("size", size),
            None if elements is None else _arrays.count("elements", elements),
        )
        order = _arrays.count("order", order)
        grade = _arrays.number("grade", grade)
        made = _farad.Mesh.shape(shape, values, grade, resolution, order, _unit(unit))
        if names is not None:
            made = made.renamed(_named(_arrays.names("name", names)))
        mesh = cls._of(made)
        shift = _arrays.vector("center", center)
        return mesh.moved(shift) if any(shift) else mesh

    @classmethod
    def sphere(
        cls,
        radius: float = 1.0,
        *,
        elements: int | None = None,
        size: float | None = None,
        center: ArrayLike = (0.0, 0.0, 0.0),
        name: str = "sphere",
        order: int = 1,
        unit: Unit | None = None,
    ) -> Mesh:
        """Make a sphere, with its vertices on the true surface.

        Parameters
        ----------
        radius : float
        elements : int, optional
            How many triangles, as near as possible; 1000 without `size`.
        size : float, optional
            Largest edge, instead of `elements`.
        center : array_like, shape (3,)
        name : str
            Name of its group.
        order : int
            1 for flat triangles, 2 to 4 for curved ones.
        unit : str
            Of all lengths, which has to be given.

        Examples
        --------
        >>> import farad
        >>> farad.Mesh.sphere(2.0, elements=320, name="ball", unit="um")
        <farad.Mesh: 320 triangles, 162 vertices, unit um, groups ball>
        """
        return cls._shape("sphere", [radius], elements, size, unit, [name], center, order=order)

    @classmethod
    def ellipsoid(
        cls,
        semi_axes: ArrayLike,
        *,
        elements: int | None = None,
        size: float | None = None,
        center: ArrayLike = (0.0, 0.0, 0.0),
        name: str = "ellipsoid",
        order: int = 1,
        unit: Unit | None = None,
    ) -> Mesh:
        """Make an ellipsoid; parameters as of `sphere`, with its three semi-axes."""
        axes = _arrays.vector("semi_axes", semi_axes)
        return cls._shape("ellipsoid", axes, elements, size, unit, [name], center, order=order)

    @classmethod
    def cube(
        cls,
        edge: float = 1.0,
        *,
        grade: float = 1.0,
        elements: int | None = None,
        size: float | None = None,
        center: ArrayLike = (0.0, 0.0, 0.0),
        name: str = "cube",
        unit: Unit | None = None,
    ) -> Mesh:
        """Make a cube; `grade` is the largest over the smallest element along an edge."""
        return cls._shape("cube", [edge], elements, size, unit, [name], center, grade)

    @classmethod
    def plate(
        cls,
        width: float = 1.0,
        height: float = 1.0,
        *,
        grade: float = 1.0,
        elements: int | None = None,
        size: float | None = None,
        center: ArrayLike = (0.0, 0.0, 0.0),
        name: str = "plate",
        unit: Unit | None = None,
    ) -> Mesh:
        """Make a thin plate perpendicular to z, `width` along x and `height` along y."""
        return cls._shape("plate", [width, height], elements, size, unit, [name], center, grade)

    @classmethod
    def disk(
        cls,
        radius: float = 1.0,
        *,
        grade: float = 1.0,
        elements: int | None = None,
        size: float | None = None,
        center: ArrayLike = (0.0, 0.0, 0.0),
        name: str = "disk",
        order: int = 1,
        unit: Unit | None = None,
    ) -> Mesh:
        """Make a thin disk perpendicular to z."""
        return cls._shape("disk", [radius], elements, size, unit, [name], center, grade, order)

    @classmethod
    def cylinder(
        cls,
        radius: float = 1.0,
        length: float = 1.0,
        *,
        elements: int | None = None,
        size: float | None = None,
        center: ArrayLike = (0.0, 0.0, 0.0),
        name: str = "cylinder",
        order: int = 1,
        unit: Unit | None = None,
    ) -> Mesh:
        """Make a closed cylinder along z."""
        lengths = [radius, length]
        return cls._shape("cylinder", lengths, elements, size, unit, [name], center, order=order)

    @classmethod
    def torus(
        cls,
        ring_radius: float = 1.0,
        tube_radius: float = 0.25,
        *,
        elements: int | None = None,
        size: float | None = None,
        center: ArrayLike = (0.0, 0.0, 0.0),
        name: str = "torus",
        order: int = 1,
        unit: Unit | None = None,
    ) -> Mesh:
        """Make a torus around the z axis."""
        lengths = [ring_radius, tube_radius]
        return cls._shape("torus", lengths, elements, size, unit, [name], center, order=order)

    @classmethod
    def two_spheres(
        cls,
        radius: float = 1.0,
        distance: float = 3.0,
        *,
        grade: float = 1.0,
        elements: int | None = None,
        size: float | None = None,
        names: Sequence[str] = ("left", "right"),
        order: int = 1,
        unit: Unit | None = None,
    ) -> Mesh:
        """Make two spheres on the x axis whose centres are `distance` apart."""
        lengths = [radius, distance]
        return cls._shape(
            "two_spheres", lengths, elements, size, unit, names, grade=grade, order=order
        )

    @classmethod
    def concentric_spheres(
        cls,
        inner_radius: float = 1.0,
        outer_radius: float = 2.0,
        *,
        elements: int | None = None,
        size: float | None = None,
        names: Sequence[str] = ("inner", "outer"),
        order: int = 1,
        unit: Unit | None = None,
    ) -> Mesh:
        """Make two spheres around the origin."""
        lengths = [inner_radius, outer_radius]
        return cls._shape("concentric_spheres", lengths, elements, size, unit, names, order=order)

    @classmethod
    def join(cls, *meshes: Mesh) -> Mesh:
        """Put meshes into one, without joining vertices.

        A name that an earlier mesh has taken gets a number.

        Examples
        --------
        >>> import farad
        >>> left = farad.Mesh.sphere(1.0, elements=80, name="left", unit="mm")
        >>> right = farad.Mesh.sphere(1.0, elements=80, center=(3, 0, 0), name="right", unit="mm")
        >>> (left + right).groups
        ['left', 'right']
        """
        for mesh in meshes:
            if not isinstance(mesh, Mesh):
                raise InputError(f"{mesh!r} is no farad.Mesh")
        parts = [(f"body_{number}", mesh._mesh) for number, mesh in enumerate(meshes, 1)]
        return cls._of(_farad.Mesh.joined(parts))

    def __add__(self, other: Mesh) -> Mesh:
        if not isinstance(other, Mesh):
            return NotImplemented
        return self.join(self, other)

    def moved(
        self,
        shift: ArrayLike = (0.0, 0.0, 0.0),
        *,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        center: ArrayLike = (0.0, 0.0, 0.0),
        degrees: float = 0.0,
    ) -> Mesh:
        """Turn the mesh about an axis through a point, then shift it.

        Parameters
        ----------
        shift, axis, center : array_like, shape (3,)
        degrees : float
            Counter-clockwise seen from the axis's tip.
        """
        angle = float(np.deg2rad(_arrays.number("degrees", degrees)))
        made = self._mesh.moved(
            _arrays.vector("shift", shift),
            _arrays.vector("axis", axis),
            _arrays.vector("center", center),
            angle,
        )
        return self._of(made)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the mesh as a Gmsh file (MSH 4.1)."""
        file = _arrays.path("path", path)
        if file.suffix.lower() != ".msh":
            raise InputError(f"{path}: meshes are written to .msh files")
        content = self._mesh.to_msh()
        try:
            file.write_bytes(content)
        except (OSError, ValueError) as error:
            raise FileError(f"cannot write {path}: {error}") from error

    def to_meshio(self) -> Any:
        """Return a `meshio.Mesh` of the (flat) triangles with their physical groups."""
        meshio = _arrays.optional("meshio", "Mesh.to_meshio")
        tags = self.group_of_triangle + 1
        data = {name: np.array([tag, 2]) for tag, name in enumerate(self.groups, 1)}
        return meshio.Mesh(
            self.points,
            [("triangle", self.triangles.astype(np.int64))],
            cell_data={"gmsh:physical": [tags], "gmsh:geometrical": [tags]},
            field_data=data,
        )

    def to_pyvista(self) -> Any:
        """Return a `pyvista.PolyData` of the (flat) triangles, with the cell array ``group``."""
        pyvista = _arrays.optional("pyvista", "Mesh.to_pyvista")
        surface = pyvista.PolyData.from_regular_faces(self.points, self.triangles.astype(np.int64))
        surface.cell_data["group"] = self.group_of_triangle
        return surface

    @property
    def points(self) -> Floats:
        """Coordinates in `unit`, shape (vertices, 3): the mesh's own memory, read-only."""
        return self._mesh.points

    @property
    def triangles(self) -> npt.NDArray[np.uint32]:
        """Indices of vertices, shape (triangles, 3): the mesh's own memory, read-only."""
        return self._mesh.triangles

    @property
    def areas(self) -> Floats:
        """Areas of the triangles in the square of `unit`."""
        return self._mesh.areas

    @property
    def groups(self) -> list[str]:
        """Names of groups."""
        return self._mesh.groups

    @property
    def group_of_triangle(self) -> npt.NDArray[np.int64]:
        """For each triangle the index of its (first) group, -1 for none."""
        return self._mesh.group_of_triangle

    @property
    def unit(self) -> str:
        """Unit of the coordinates."""
        return self._mesh.unit

    @property
    def order(self) -> int:
        """1 for flat triangles, else the order of curved ones."""
        return self._mesh.order

    @property
    def notes(self) -> list[str]:
        """Notes on how the file was read."""
        return self._mesh.notes

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._mesh.parts())

    def __len__(self) -> int:
        return self._mesh.counts[1]

    def __repr__(self) -> str:
        vertices, triangles = self._mesh.counts
        groups = ", ".join(self.groups) or "none"
        return (
            f"<farad.Mesh: {triangles:,} triangles, {vertices:,} vertices, unit {self.unit}, "
            f"groups {groups}>"
        )


def _restored(cls: type[Mesh], parts: tuple[Any, ...]) -> Mesh:
    """A mesh that was pickled."""
    return cls._of(_farad.Mesh.from_parts(parts))


def _stem(path: Path) -> str:
    """The name of a file without its ending, of characters that names may have, as in the program."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", path.stem)


def _named(names: list[str]) -> list[str]:
    """Names of groups, none of them empty."""
    if "" in names:
        raise InputError("the name of a group is ''; it must not be empty")
    return names


def _unit(unit: Any) -> str:
    if unit is None:
        # None could be guessed: a capacitance is proportional to it.
        units = ", ".join(get_args(Unit))
        raise InputError(f'unit is missing; say what coordinates are in, as unit="mm": {units}')
    return _arrays.name("unit", unit)


def _groups(
    groups: ArrayLike | None, names: Sequence[str] | None, count: int
) -> tuple[npt.NDArray[np.uint32], list[str]]:
    """The group of each triangle as the library has it, and all names."""
    known = [] if names is None else _named(_arrays.names("names", names))
    if groups is None:
        if len(known) > 1:
            raise InputError("several names, but no groups that say which triangles they are of")
        value = np.uint32(0) if known else _NO_GROUP
        return np.full(count, value, dtype=np.uint32), known
    label = _arrays.array("groups", groups)
    if label.shape != (count,):
        raise InputError(f"groups have the shape {label.shape}; there are {count} triangles")
    if label.dtype.kind in "UO":
        if names is not None:
            raise InputError("groups have names of their own; leave `names` out")
        if not all(isinstance(name, str) for name in label.tolist()):
            raise InputError("groups must be names or whole numbers")
        found, place = np.unique(label.astype(str), return_inverse=True)
        known = _arrays.names("groups", [str(name) for name in found])
        return place.reshape(count).astype(np.uint32), _named(known)
    if label.dtype.kind not in "iu":
        raise InputError(f"groups have the type {label.dtype}; they must be names or whole numbers")
    if count and (int(label.min()) < -1 or int(label.max()) >= len(known)):
        raise InputError(f"groups must be -1 to {len(known) - 1}, indices into `names`")
    signed = label.astype(np.int64)
    return np.where(signed < 0, np.int64(_NO_GROUP), signed).astype(np.uint32), known


def _in_space(points: ArrayLike) -> Reals:
    """Points of a plane mesh are at z = 0."""
    array = _arrays.reals("the points of the mesh", points)
    if array.ndim == 2 and array.shape[1] == 2:
        return np.column_stack([array, np.zeros(len(array), dtype=array.dtype)])
    return array


def _split(points: Reals, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Quadrangles as two triangles each, one after the other."""
    _arrays.indices("quadrangles", cells, len(points))
    # Lengths in double precision: those of squares are equal.
    a, b, c, d = (points[cells[:, k]].astype(np.float64, copy=False) for k in range(4))
    first = np.linalg.norm(c - a, axis=1) <= np.linalg.norm(d - b, axis=1)
    along_ac = cells[:, [0, 1, 2, 0, 2, 3]]
    along_bd = cells[:, [0, 1, 3, 1, 2, 3]]
    return np.where(first[:, None], along_ac, along_bd).reshape(-1, 3)


def _meshio_groups(mesh: Any) -> tuple[list[str], list[npt.NDArray[Any]]]:
    """Names of groups, and for each block the index of each cell's, -1 for none."""
    counts = [len(block.data) for block in mesh.cells]
    names: list[str] = []
    cell_data = getattr(mesh, "cell_data", None)
    physical = cell_data.get("gmsh:physical") if cell_data else None
    if physical is not None:
        physical = [_arrays.array("gmsh:physical", tags) for tags in physical]
        if [tags.shape for tags in physical] != [(count,) for count in counts]:
            raise InputError("gmsh:physical must have a number for each cell of each block")
        if any(tags.dtype.kind not in "iuf" or not np.isfinite(tags).all() for tags in physical):
            raise InputError("gmsh:physical must be whole numbers")
        fields = (getattr(mesh, "field_data", None) or {}).items()
        tagged = [(name, np.ravel(value)) for name, value in fields]
        of_tag = {
            int(value[0]): name for name, value in tagged if len(value) == 2 and value[1] == 2
        }
        index: dict[int, int] = {}
        found = []
        for block, tags in zip(mesh.cells, physical, strict=True):
            places = np.full(len(tags), -1, dtype=np.int64)
            if block.type in ("triangle", "triangle6", "quad"):
                for tag in np.unique(tags):
                    if int(tag) == 0:
                        continue
                    if int(tag) not in index:
                        index[int(tag)] = len(names)
                        names.append(of_tag.get(int(tag), f"group_{int(tag)}"))
                    places[tags == tag] = index[int(tag)]
            found.append(places)
        return names, found
    found = [np.full(count, -1, dtype=np.int64) for count in counts]
    for name, blocks in (getattr(mesh, "cell_sets", None) or {}).items():
        if name.startswith("gmsh:"):
            continue
        used = False
        if len(blocks) != len(counts):
            raise InputError(f"the cell set {name!r} must have a list for each block of cells")
        for block, places, members in zip(mesh.cells, found, blocks, strict=True):
            if members is None or block.type not in ("triangle", "triangle6", "quad"):
                continue
            mask = _arrays.array(f"the cell set {name!r}", members)
            of_mask = mask.dtype.kind == "b" and mask.shape == places.shape
            chosen = np.flatnonzero(mask) if of_mask else mask
            chosen = _arrays.indices(f"cells of the set {name!r}", chosen, len(places))
            chosen = chosen[places[chosen] < 0]
            used = used or len(chosen) > 0
            places[chosen] = len(names)
        if used:
            names.append(name)
    return names, found
