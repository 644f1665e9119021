"""Conversion of users' arguments to the arrays that the library reads."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import InputError

Floats = npt.NDArray[np.float64]
Reals = npt.NDArray[np.float32] | npt.NDArray[np.float64]
ArrayLike = npt.ArrayLike
Names = str | Sequence[str]


def array(what: str, values: ArrayLike) -> npt.NDArray[Any]:
    """Values as an array, whatever its type."""
    if np.ma.is_masked(values):
        raise InputError(f"{what} has masked entries; fill them, or leave them out")
    try:
        return np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{what} is no array of numbers: {error}") from error


def reals(what: str, values: ArrayLike) -> Reals:
    """Real numbers as the library reads them where they are: float32 or float64, in C order.

    Other types become float64; arrays with gaps or in another order are copied in their type.
    """
    found = array(what, values)
    if found.dtype.kind not in "fiu":
        raise InputError(f"{what} has the type {found.dtype}; it must be real numbers")
    kept = found.dtype if found.dtype in (np.float32, np.float64) else np.float64
    return np.require(found, kept, ["C_CONTIGUOUS", "ALIGNED", "ENSUREARRAY"])


def floats(what: str, values: ArrayLike) -> Floats:
    """Real numbers of float64 in C order."""
    return reals(what, values).astype(np.float64, copy=False)


def points(what: str, values: ArrayLike) -> Reals:
    """Points in space, shape (n, 3)."""
    found = reals(what, values)
    if found.ndim != 2 or found.shape[1] != 3:
        raise InputError(f"{what} has the shape {found.shape}; it must be (n, 3)")
    return found


def vector(what: str, values: ArrayLike) -> tuple[float, float, float]:
    """Three finite numbers."""
    found = floats(what, values)
    if found.shape != (3,):
        raise InputError(f"{what} has the shape {found.shape}; it must be three numbers")
    if not np.isfinite(found).all():
        raise InputError(f"{what} is {found.tolist()}; it must be finite")
    return float(found[0]), float(found[1]), float(found[2])


def number(what: str, value: Any) -> float:
    """One number."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if isinstance(value, (str, bytes, bytearray)) or kind in ("S", "U"):
        raise InputError(f"{what} is {value!r}; it must be a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} is {value!r}; it must be a number") from error


def count(what: str, value: Any, least: int = 1) -> int:
    """A whole number."""
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} is {value!r}; it must be a whole number") from error
    if found != value or not least <= found < 2**62:
        raise InputError(f"{what} is {value!r}; it must be a whole number of {least} or more")
    return found


def indices(what: str, values: ArrayLike, limit: int) -> npt.NDArray[np.uint32]:
    """Indices below a limit."""
    found = array(what, values)
    if found.size == 0:
        return np.zeros(found.shape, dtype=np.uint32)
    if found.dtype.kind not in "iu":
        raise InputError(f"{what} have the type {found.dtype}; they must be whole numbers")
    low, high = int(found.min()), int(found.max())
    if low < 0 or high >= limit:
        wrong = low if low < 0 else high
        raise InputError(f"{what} have the index {wrong}; there are {limit}, counted from 0")
    return np.ascontiguousarray(found, dtype=np.uint32)


def name(what: str, value: Any) -> str:
    """A string that UTF-8 can write."""
    if not isinstance(value, str):
        raise InputError(f"{what} is {value!r}; it must be a string")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{what} is {value!r}, which is no valid text: {error}") from error
    return value


def path(what: str, value: Any) -> Path:
    """The place of a file."""
    try:
        return Path(value)
    except TypeError as error:
        raise InputError(f"{what} is {value!r}; it must be a path") from error


def flag(what: str, value: Any) -> bool | None:
    """Yes, no or nothing said."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return value if value is None else bool(value)
    raise InputError(f"{what} is {value!r}; it must be True or False")


def names(what: str, value: Names) -> list[str]:
    """One name or several."""
    if isinstance(value, str):
        return [name(what, value)]
    if not isinstance(value, Iterable):
        raise InputError(f"{what} is {value!r}; it must be a name or a list of names")
    return [name(f"one of {what}", one) for one in value]


def optional(module: str, purpose: str) -> ModuleType:
    """An optional dependency, or a message that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise ImportError(
            f"{purpose} needs {package}, which is not installed: pip install {package}"
        ) from error
