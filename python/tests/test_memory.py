"""What arrays cost: the library's own structure, and no temporary array next to it."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SCRIPT = textwrap.dedent(
    """
    import json
    import numpy as np
    import farad

    MANY = 1_000_000

    def resident(name):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name))

    def peak_of(work):
        '''Bytes that the work needed at most, more than there were.'''
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # forgets the peak
        before = resident("VmRSS")
        kept = work()
        return resident("VmHWM") - before

    points = np.zeros((MANY, 3))
    points[:, 0] = np.arange(MANY)
    points[2, 1] = 1.0
    problem = farad.Problem(farad.Mesh.sphere(elements=80, unit="m"))
    fmm = farad.Fmm(np.eye(3), [[0.0, 0.0, 0.0]])
    operator = farad.Surface(problem.mesh).mass()
    values = np.ones((MANY, 3))
    vectors = np.ones((MANY // 80, 80)).T
    work = {
        "mesh": lambda: farad.Mesh(points, [[0, 1, 2]], unit="m"),
        "fmm": lambda: farad._farad.Points("sources", farad._arrays.points("sources", points)),
        "charges": lambda: fmm(values),
        "probe": lambda: problem.probe("line", points),
        "point charges": lambda: problem.charges(points, points.ravel()[:MANY]),
        "product": lambda: operator @ vectors,
    }
    fmm(values[:10]), operator @ vectors[:, :10]  # starts threads
    found = {}
    for kind in (np.float64, np.float32):
        points, values, vectors = (a.astype(kind) for a in (points, values, vectors))
        for name, one in work.items():
            entries = vectors.size if name == "product" else points.size
            found[f"{name} {np.dtype(kind)}"] = peak_of(one) / entries
    print(json.dumps(found))
    """
)

# Bytes per number, half of which would be exceeded by one more array of float64.
EXPECTED = {
    # Vertices, and the places of those that are kept.
    "mesh float64": 8 + 4 / 3,
    "mesh float32": 8 + 4 / 3,
    "fmm float64": 8,
    "fmm float32": 8,
    # Results, one for three charges, which are read in place or widened.
    "charges float64": 8 / 3,
    "charges float32": 8 / 3 + 8,
    "probe float64": 8,
    "probe float32": 8,
    # Results; 32 vectors are widened at a time.
    # A position, an amount and its kind.
    "point charges float64": (24 + 16) / 3,
    "point charges float32": (24 + 16) / 3,
    "product float64": 8,
    "product float32": 8,
}


@pytest.fixture(scope="module")
def peaks():
    if not Path("/proc/self/clear_refs").exists() or not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("the system does not tell the peak of memory")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        # Every large array is given back to the system when it is freed.
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", EXPECTED)
def test_there_is_no_temporary_array(peaks, case):
    assert peaks[case] < EXPECTED[case] + 4


LIMITED = textwrap.dedent(
    """
    import resource, sys
    import numpy as np
    import farad

    farad.Fmm(np.eye(3), [[0.0, 0.0, 0.0]])([1.0, 1.0, 1.0])  # starts threads
    points = np.zeros((50_000_000, 3), dtype=np.float32)  # not written: takes no memory
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 500_000_000, resource.RLIM_INFINITY))
    for make in (lambda: farad.Mesh(points, [[0, 1, 2]], unit="m"), lambda: farad.Fmm(points)):
        try:
            make()
        except farad.OutOfMemoryError as error:
            print(error)
    """
)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are kept on Linux")
def test_points_that_do_not_fit_are_reported():
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=60
    )
    told = "{} of 1.2e9 bytes do not fit into memory; take fewer at once\n"
    assert done.stdout == told.format("points") + told.format("sources"), done.stderr
