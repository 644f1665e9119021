"""Exceptions and warnings: one class for each kind of exit code of the program (docs/results.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._solution import Solution

__all__ = [
    "ConvergenceError",
    "FaradError",
    "FaradWarning",
    "FileError",
    "InputError",
    "InternalError",
    "MissingFileError",
    "NoGpuError",
    "OutOfMemoryError",
]


class FaradError(Exception):
    """Base of all errors of this package."""


class InputError(FaradError, ValueError):
    """A mesh, a description, an array or an option is wrong (exit code 3)."""


class ConvergenceError(FaradError, RuntimeError):
    """A solve did not converge, failed a self-check or missed its accuracy (exit code 4).

    Raised by ``solve(strict=True)`` only; otherwise the solution is returned with a
    `FaradWarning`.

    Attributes
    ----------
    solution : Solution or None
        The result so far; None in a process other than that of the solve.
    """

    def __init__(self, message: str, solution: Solution | None = None) -> None:
        super().__init__(message)
        self.solution = solution

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),)


class OutOfMemoryError(FaradError, MemoryError):
    """The problem does not fit into the memory that it may use (exit code 5)."""


class FileError(FaradError, OSError):
    """A file cannot be read or written (exit code 6)."""


class MissingFileError(FileError, FileNotFoundError):
    """A file is not there (exit code 6)."""


class NoGpuError(FaradError, RuntimeError):
    """A GPU was asked for that is not there (exit code 8)."""


class InternalError(FaradError, RuntimeError):
    """The library failed where it should not; please report it."""


class FaradWarning(UserWarning):
    """Something about a result or its surfaces that should be known."""
