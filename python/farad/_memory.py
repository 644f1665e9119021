"""Memory that a solve may use, as the program counts it."""

from __future__ import annotations

from pathlib import Path


def available() -> int | None:
    """Bytes available without swapping, within the limits of group and process; None if not known."""
    found = [_meminfo(), _group(), _process()]
    return min((value for value in found if value is not None), default=None)


def _meminfo() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _process() -> int | None:
    """Bytes left within the process's own limits (ulimit -v, ulimit -d)."""
    try:
        import resource

        status = dict(
            line.split(":", 1)
            for line in Path("/proc/self/status").read_text().splitlines()
            if ":" in line
        )
        limits = {"VmSize": resource.RLIMIT_AS, "VmData": resource.RLIMIT_DATA}
        left = []
        for key, limit in limits.items():
            soft, _ = resource.getrlimit(limit)
            if soft != resource.RLIM_INFINITY:
                left.append(max(0, soft - int(status[key].split()[0]) * 1024))
        return min(left, default=None)
    except (ImportError, OSError, ValueError, KeyError, IndexError):
        return None


def _group() -> int | None:
    """Bytes left in this process's cgroup (v2), or in one above it."""
    try:
        line = next(
            line
            for line in Path("/proc/self/cgroup").read_text().splitlines()
            if line.startswith("0::")
        )
    except (OSError, StopIteration):
        return None
    root = Path("/sys/fs/cgroup")
    folder = root / line[3:].lstrip("/")
    left: list[int] = []
    for group in [folder, *folder.parents]:
        try:
            limit, used = (
                (group / name).read_text().strip() for name in ("memory.max", "memory.current")
            )
            cache = dict(
                entry.split() for entry in (group / "memory.stat").read_text().splitlines()
            ).get("inactive_file", "0")
            left.append(max(0, int(limit) - max(0, int(used) - int(cache))))
        except (OSError, ValueError):
            continue
        if group == root:
            break
    return min(left, default=None)
