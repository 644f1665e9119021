"""Copies of immutable objects, and pickles."""

from __future__ import annotations

from typing import Any


class Unchanging:
    """Its copies are itself."""

    __slots__ = ()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"a farad.{type(self).__name__} cannot be pickled; pass on its mesh or its arrays, "
            "and make it in the process that needs it"
        )
