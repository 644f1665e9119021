"""Capacitance matrices, and the files of other programs that hold them."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _arrays, _farad
from ._arrays import ArrayLike, Floats, Names
from ._errors import FileError, InputError, MissingFileError

PathLike = str | os.PathLike[str]
Form = Literal["maxwell", "mutual"]

_UNITS = {
    "f": 1.0,
    "farad": 1.0,
    "mf": 1e-3,
    "uf": 1e-6,
    "nf": 1e-9,
    "pf": 1e-12,
    "ff": 1e-15,
    "af": 1e-18,
}


@dataclass(frozen=True, eq=False)
class CapacitanceMatrix:
    """A labelled capacitance matrix in farad.

    The Maxwell form has Q_i = sum_j C_ij V_j: positive on its diagonal, negative elsewhere. The
    mutual form, that of capacitors in SPICE, has the capacitances between conductors and on its
    diagonal those to infinity and ground.

    Attributes
    ----------
    names : list of str
        Conductors, one for each row.
    columns : list of str
        Excited conductors, one for each column; all, unless `nets` chose some.
    values : ndarray, shape (rows, columns)
        Maxwell form, farad; rows as computed.
    errors : ndarray or None
        Error bars of `values`, farad; NaN in rows that have none. They hold for the mesh's own
        surface: for a sphere of flat triangles they give the accuracy of the polyhedron's
        capacitance, not its distance from the sphere's. Finer meshes or curved triangles
        (``order``) show that.
    mutual : ndarray
        Mutual form, farad.
    mutual_errors : ndarray or None
        Error bars of `mutual`.
    title : str
        Title in other programs' files.
    mark : str
        A warning about it in these files; empty if there is none.

    Examples
    --------
    >>> import farad
    >>> C = farad.CapacitanceMatrix.of(["a", "b"], [[3e-12, -1e-12], [-1e-12, 2e-12]])
    >>> C["a", "b"]
    -1e-12
    >>> print(C.mutual)
    [[2.e-12 1.e-12]
     [1.e-12 1.e-12]]

    Arithmetic is that of the array `values`: here in picofarad, and the charges at 1 V and 0 V.

    >>> C * 1e12
    array([[ 3., -1.],
           [-1.,  2.]])
    >>> C @ [1.0, 0.0]
    array([ 3.e-12, -1.e-12])
    """

    names: list[str]
    columns: list[str]
    values: Floats
    mutual: Floats
    errors: Floats | None = None
    mutual_errors: Floats | None = None
    title: str = "farad"
    mark: str = field(default="", repr=False)

    @classmethod
    def of(cls, names: Sequence[str], values: ArrayLike, title: str = "farad") -> CapacitanceMatrix:
        """Make one of a whole Maxwell matrix in farad."""
        maxwell = np.array(_arrays.reals("values", values), dtype=np.float64)
        known = _arrays.names("names", names)
        if maxwell.shape != (len(known), len(known)):
            raise InputError(f"values have the shape {maxwell.shape}, for {len(known)} names")
        if not np.isfinite(maxwell).all():
            raise InputError("values have entries that are NaN or infinite")
        if len(set(known)) != len(known):
            raise InputError(f"two conductors have one name: {', '.join(known)}")
        return cls(
            known, list(known), maxwell, _mutual(maxwell), title=_arrays.name("title", title)
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy in (None, True) else self.values

    def __add__(self, other: Any) -> Any:
        return self.values + other

    def __radd__(self, other: Any) -> Any:
        return other + self.values

    def __sub__(self, other: Any) -> Any:
        return self.values - other

    def __rsub__(self, other: Any) -> Any:
        return other - self.values

    def __mul__(self, other: Any) -> Any:
        return self.values * other

    def __rmul__(self, other: Any) -> Any:
        return other * self.values

    def __truediv__(self, other: Any) -> Any:
        return self.values / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.values

    def __matmul__(self, other: Any) -> Any:
        return self.values @ other

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.values

    def __neg__(self) -> Floats:
        return -self.values

    def __getitem__(self, key: tuple[str, str]) -> float:
        """The entry of the Maxwell matrix between two conductors, by their names."""
        try:
            row, column = key
            return float(self.values[self.names.index(row), self.columns.index(column)])
        except (ValueError, TypeError):
            known = ", ".join(map(repr, self.names))
            raise KeyError(
                f"{key!r}: ask for [row, column]; there are the conductors {known}"
            ) from None

    def __repr__(self) -> str:
        bars = "" if self.errors is None else "; +- of the surface as meshed"
        lines = [f"Capacitance matrix (Maxwell), farad; columns {', '.join(self.columns)}{bars}"]
        for index, name in enumerate(self.names):
            row = ", ".join(
                f"{value:.6e}"
                if self.errors is None
                else f"{value:.6e} +- {self.errors[index, k]:.1e}"
                for k, value in enumerate(self.values[index])
            )
            lines.append(f"  {name}: {row}")
        return "\n".join(lines)

    def _form(self, form: str) -> tuple[Floats, Floats | None]:
        if form == "maxwell":
            return self.values, self.errors
        if form == "mutual":
            return self.mutual, self.mutual_errors
        raise InputError(f'form is {form!r}; it must be "maxwell" or "mutual"')

    def to_pandas(self, form: Form = "maxwell", errors: bool = False) -> Any:
        """Return a `pandas.DataFrame` in farad, rows and columns by their names.

        Parameters
        ----------
        form : {"maxwell", "mutual"}
        errors : bool
            Give the error bars instead of the values.
        """
        pandas = _arrays.optional("pandas", "to_pandas")
        values, bars = self._form(form)
        if errors:
            values = np.full_like(values, np.nan) if bars is None else bars
        return pandas.DataFrame(values, index=self.names, columns=self.columns)

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset` of `maxwell`, `mutual` and their errors."""
        xarray = _arrays.optional("xarray", "to_xarray")
        dims = ("conductor", "column")
        found = {"maxwell": self.values, "mutual": self.mutual}
        if self.errors is not None:
            found["maxwell_error"] = self.errors
        if self.mutual_errors is not None:
            found["mutual_error"] = self.mutual_errors
        return xarray.Dataset(
            {name: (dims, value, {"units": "F"}) for name, value in found.items()},
            coords={"conductor": self.names, "column": self.columns},
        )

    def reduce(
        self,
        *,
        groups: Mapping[str, Names] | None = None,
        grounded: Names = (),
        floating: Names = (),
    ) -> CapacitanceMatrix:
        """Join nets, ground some, and eliminate those that float without charge.

        Parameters
        ----------
        groups : dict of str to str or sequence of str, optional
            Nets at one potential: their name, and their conductors. They are joined first, so that
            all else names them as one.
        grounded, floating : str or sequence of str
            Names, in which ``*`` stands for any characters.

        Returns
        -------
        CapacitanceMatrix
            Of the nets that are left, with error bars if this one has any.

        Examples
        --------
        >>> import farad
        >>> C = farad.CapacitanceMatrix.of(["a", "b", "c"], [[4, -1, -2], [-1, 3, -1], [-2, -1, 5]])
        >>> C.reduce(floating="c").values
        array([[ 3.2, -1.4],
               [-1.4,  2.8]])
        """
        if groups is not None and not isinstance(groups, Mapping):
            raise InputError(f"groups is {groups!r}; it must be a dictionary of names")
        listed = [
            (_arrays.name("the name of a group", name), _arrays.names("a group", members))
            for name, members in (groups or {}).items()
        ]
        wanted = {
            "groups": listed,
            "grounded": _arrays.names("grounded", grounded),
            "floating": _arrays.names("floating", floating),
            "between": None,
        }
        names, values, errors, _ = _farad.reduced(*self._whole(), wanted)
        mutual_errors = None
        if errors is not None:
            mutual_errors = errors.copy()
            np.fill_diagonal(mutual_errors, errors.sum(axis=1))
        return CapacitanceMatrix(
            names,
            list(names),
            values,
            _mutual(values),
            errors,
            mutual_errors,
            self.title,
            self.mark,
        )

    def between(self, a: str, b: str, *, grounded: Names = ()) -> tuple[float, float | None]:
        """Return the capacitance between two nets, all others floating, and its error bar.

        Parameters
        ----------
        a, b : str
        grounded : str or sequence of str
            Nets at 0 V; they do not float.
        """
        wanted = {
            "groups": [],
            "grounded": _arrays.names("grounded", grounded),
            "floating": [],
            "between": [_arrays.name("a", a), _arrays.name("b", b)],
        }
        found = _farad.reduced(*self._whole(), wanted)[3]
        assert found is not None
        return found

    def _whole(self) -> tuple[list[str], Floats, Floats | None]:
        if self.names != self.columns:
            raise InputError(
                "only a whole matrix is reduced; this one has the columns of some nets"
            )
        return self.names, self.values, self.errors

    def _text(self, form: str, threshold: float = 0.0) -> str:
        if self.names != self.columns:
            raise InputError(
                "only a whole matrix is written; this one has the columns of some nets"
            )
        if not self.names:
            raise InputError("there are no conductors, and so no matrix to write")
        if not np.isfinite(self.values).all():
            raise InputError("the matrix has entries that are NaN or infinite, and is not written")
        mark = f"; {self.mark}" if self.mark else ""
        return _farad.matrix_text(
            form, self.names, np.ascontiguousarray(self.values), self.title, mark, threshold
        )

    def to_q3d(self, path: PathLike | None = None) -> str:
        """Return, and write, the text of Ansys Q3D that qiskit-metal reads."""
        return _written(self._text("q3d"), path)

    def to_spice(
        self, path: PathLike | None = None, threshold: float = 1e-3, title: str | None = None
    ) -> str:
        """Return, and write, a SPICE subcircuit of the mutual form.

        Parameters
        ----------
        path : path-like, optional
        threshold : float
            Couplings of less than this share of the smaller total capacitance of their nets go to
            ground.
        title : str, optional
            Name of the subcircuit; that of the matrix without.
        """
        named = self if title is None else replace(self, title=_arrays.name("title", title))
        return _written(named._text("spice", _arrays.number("threshold", threshold)), path)

    def to_matrix_market(self, path: PathLike | None = None) -> str:
        """Return, and write, Matrix Market's coordinates of a symmetric matrix."""
        return _written(self._text("matrix_market"), path)

    def to_palace(self, folder: PathLike) -> list[Path]:
        """Write Palace's tables ``terminal-C.csv``, ``terminal-Cm.csv`` and ``terminal-Cinv.csv``.

        Terminals are numbered from 1 in the order of `names`.
        """
        paths = []
        for kind in ("C", "Cm", "Cinv"):
            path = Path(folder) / f"terminal-{kind}.csv"
            _written(self._text(f"palace-{kind}"), path)
            paths.append(path)
        return paths

    @classmethod
    def read_q3d(cls, path: PathLike) -> CapacitanceMatrix:
        """Read the capacitance matrix of a Q3D matrix text, in the unit that it names.

        Raises
        ------
        InputError
            If it has no capacitance matrix; the message says what is wrong with which line.
        """
        text = _read(path)
        unit = re.search(r"C Units:\s*([A-Za-z]+)", text)
        factor = _UNITS.get(unit.group(1).lower()) if unit else 1.0
        if factor is None:
            raise InputError(f"{path}: the unit {unit.group(1) if unit else ''} is not known")
        lines = text.splitlines()
        begin = next(
            (k for k, line in enumerate(lines) if line.strip() == "Capacitance Matrix"), None
        )
        if begin is None or begin + 1 >= len(lines):
            raise InputError(f'{path}: there is no line "Capacitance Matrix"')
        names = lines[begin + 1].split("\t")
        names = [name.strip() for name in names if name.strip()] or lines[begin + 1].split()
        rows: list[list[float]] = []
        for number, line in enumerate(lines[begin + 2 :], begin + 3):
            if len(rows) == len(names):
                break
            words = [word.strip() for word in line.split("\t") if word.strip()]
            words = words if len(words) == len(names) + 1 else line.split()
            if len(words) != len(names) + 1 or words[0] != names[len(rows)]:
                raise InputError(
                    f"{path}: line {number}: expected {names[len(rows)]} and {len(names)} numbers"
                )
            rows.append([_number(path, number, word) for word in words[1:]])
        if len(rows) != len(names) or not names:
            raise InputError(f"{path}: there are {len(rows)} rows for {len(names)} names")
        return cls.of(names, factor * np.array(rows), title=Path(path).stem)

    @classmethod
    def read_palace(cls, path: PathLike, names: Sequence[str] | None = None) -> CapacitanceMatrix:
        """Read Palace's ``terminal-C.csv`` (Maxwell) or ``terminal-Cm.csv`` (mutual).

        The heading says which of both it is.

        Parameters
        ----------
        path : path-like
        names : sequence of str, optional
            Names of the terminals in their order; ``terminal_1`` and so on without.
        """
        table = [row for row in csv.reader(_read(path).splitlines()) if row]
        heading = [word.strip() for word in table[0]] if table else []
        kinds = {
            match.group(1) for word in heading[1:] if (match := re.match(r"(C|C_m)\[i\]", word))
        }
        if len(kinds) != 1 or any("(F)" not in word for word in heading[1:]):
            raise InputError(f"{path}: the heading is not that of Palace's C or C_m in farad")
        rows = []
        for number, words in enumerate(table[1:], 2):
            if len(words) != len(heading):
                raise InputError(f"{path}: line {number}: expected {len(heading)} numbers")
            rows.append([_number(path, number, word) for word in words[1:]])
        known = names if names is not None else [f"terminal_{k + 1}" for k in range(len(rows))]
        if any(len(row) != len(rows) for row in rows):
            raise InputError(
                f"{path}: the matrix has {len(rows)} rows of {len(heading) - 1} entries"
            )
        values = np.array(rows)
        return cls.of(known, values if kinds == {"C"} else _maxwell(values), title=Path(path).stem)


def _mutual(maxwell: Floats) -> Floats:
    """The mutual form of a Maxwell matrix."""
    mutual = -maxwell
    np.fill_diagonal(mutual, maxwell.sum(axis=1))
    return mutual


# Both forms come from each other in the same way.
_maxwell = _mutual


def _written(text: str, path: PathLike | None) -> str:
    if path is not None:
        file = _arrays.path("path", path)
        try:
            file.write_text(text, encoding="utf-8")
        except (OSError, ValueError) as error:
            raise FileError(f"cannot write {path}: {error}") from error
    return text


def _read(path: PathLike) -> str:
    file = _arrays.path("path", path)
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no text: {error}") from error
    except FileNotFoundError as error:
        raise MissingFileError(f"cannot read {path}: {error}") from error
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path}: {error}") from error


def _number(path: PathLike, line: int, word: str) -> float:
    try:
        found = float(word)
    except ValueError:
        found = math.nan
    if math.isfinite(found):
        return found
    raise InputError(f"{path}: line {line}: {word.strip()!r} is no number")
