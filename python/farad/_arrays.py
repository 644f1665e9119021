"""What users pass as the arrays that the library reads."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import InputError

Floats = npt.NDArray[np.float64]
ArrayLike = npt.ArrayLike
Names = str | Sequence[str]


def floats(what: str, values: ArrayLike) -> Floats:
    """Real numbers in C order; contiguous float64 arrays as they are, others converted."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise InputError(f"{what} is no array of numbers: {error}") from error
    if array.dtype.kind not in "fiu":
        raise InputError(f"{what} has the type {array.dtype}; it must be real numbers")
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def points(what: str, values: ArrayLike) -> Floats:
    """Points in space, shape (n, 3)."""
    array = floats(what, values)
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"{what} has the shape {array.shape}; it must be (n, 3)")
    return array


def vector(what: str, values: ArrayLike) -> tuple[float, float, float]:
    """Three finite numbers."""
    array = floats(what, values)
    if array.shape != (3,):
        raise InputError(f"{what} has the shape {array.shape}; it must be three numbers")
    if not np.isfinite(array).all():
        raise InputError(f"{what} is {array.tolist()}; it must be finite")
    return float(array[0]), float(array[1]), float(array[2])


def number(what: str, value: Any) -> float:
    """One number."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
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
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.uint32)
    if array.dtype.kind not in "iu":
        raise InputError(f"{what} have the type {array.dtype}; they must be whole numbers")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= limit:
        wrong = low if low < 0 else high
        raise InputError(f"{what} have the index {wrong}; there are {limit}, counted from 0")
    return np.ascontiguousarray(array, dtype=np.uint32)


def name(what: str, value: Any) -> str:
    """A string that UTF-8 can write."""
    if not isinstance(value, str):
        raise InputError(f"{what} is {value!r}; it must be a string")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{what} is {value!r}, which is no valid text: {error}") from error
    return value


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


def optional(module: str, extra: str, purpose: str) -> ModuleType:
    """An optional dependency, or a message that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module.split('.')[0]}, which is not installed: pip install 'farad[{extra}]'"
        ) from error
