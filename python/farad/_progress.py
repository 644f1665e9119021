"""Display of a solve's progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Protocol

from ._errors import InputError

Event = Mapping[str, Any]
Callback = Callable[[Event], Any]
Progress = bool | Callback | None


class Reporter(Protocol):
    """Receives events until it is closed."""

    def __call__(self, event: Event) -> None: ...
    def close(self) -> None: ...


class _Lines:
    """Lines on stderr, one when a stage begins and one every few seconds."""

    def __init__(self) -> None:
        self.stage = ""
        self.reported_at = 0.0

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        if event.get("level"):
            print(f"farad: {describe_level(event['level'])}", file=sys.stderr)
        if event["stage"] and (event["stage"] != self.stage or now - self.reported_at > 5.0):
            self.stage, self.reported_at = event["stage"], now
            print(f"farad: {describe(event)}", file=sys.stderr)

    def close(self) -> None:
        pass


class _Bars:
    """One bar of tqdm for each stage."""

    def __init__(self, tqdm: Any) -> None:
        self.tqdm, self.bar, self.stage = tqdm, None, ""

    def __call__(self, event: Event) -> None:
        if event.get("level"):
            self.tqdm.write(describe_level(event["level"]), file=sys.stderr)
        if not event["stage"]:
            return
        if event["stage"] != self.stage:
            self.close()
            self.stage = event["stage"]
            self.bar = self.tqdm(total=event["total"] or None, desc=self.stage, leave=False)
        if self.bar is not None:
            self.bar.total = event["total"] or None
            self.bar.n = event["done"]
            if event["residual"] is not None:
                self.bar.set_postfix_str(f"residual {event['residual']:.1e}", refresh=False)
            self.bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def describe(event: Event) -> str:
    """One line of a stage."""
    if event["total"]:
        return f"{event['stage']}, {100 * event['done'] // event['total']} %"
    residual = event["residual"]
    tail = "" if residual is None else f", residual {residual:.1e}"
    return f"{event['stage']}, {event['done']}{tail}" if event["done"] else f"{event['stage']}"


def describe_level(level: Mapping[str, Any]) -> str:
    """One line of what a mesh gave."""
    return (
        f"{level['triangles']:,} triangles: {level['worst']} = {level['value']:.6g} +- "
        f"{level['error']:.1e} {level['unit']}, relative {level['relative']:.1e} "
        f"({level['seconds']:.1f} s)"
    )


class Watching:
    """The callback for `progress`, closed at the end of the block."""

    def __init__(self, progress: Progress) -> None:
        self.callback: Callback | None = None
        self.reporter: Reporter | None = None
        if progress is True:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self.reporter = _Lines()
            else:
                self.reporter = _Bars(tqdm)
            self.callback = self.reporter
        elif callable(progress):
            self.callback = progress
        elif progress not in (None, False):
            raise InputError(f"progress is {progress!r}; it must be True, False or a function")

    def __enter__(self) -> Callback | None:
        return self.callback

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.reporter is not None:
            self.reporter.close()
