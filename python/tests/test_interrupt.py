"""Ctrl-C, and functions that follow a solve."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import farad

SCRIPT = textwrap.dedent(
    """
    import sys, time
    import farad

    def follow(event):
        if not told:
            told.append(event)
            print("under way", flush=True)

    told = []
    problem = farad.Problem(farad.Mesh.sphere(elements=40000, unit="m"))
    begun = time.monotonic()
    try:
        problem.solve(tolerance=1e-10, method="fmm", density="linear", progress=follow)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        # Nothing is broken after it.
        C = farad.Problem(farad.Mesh.sphere(elements=80, unit="m")).solve().capacitance
        print("goes on", C.names, flush=True)
        sys.exit(42)
    """
)


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for one process alone")
def test_ctrl_c_ends_a_solve():
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "under way\n"
            process.send_signal(signal.SIGINT)
            begun = time.monotonic()
            assert process.stdout.readline() == "interrupted\n"
            # The library looks every few rows or iterations; on a busy machine that may take a
            # moment, and after 1.5 s it is left to itself.
            assert time.monotonic() - begun < 5.0
            output, _ = process.communicate(timeout=60)
            assert output == "goes on ['sphere']\n" and process.returncode == 42
        finally:
            process.kill()


LONG = textwrap.dedent(
    """
    import sys, threading, time
    import numpy as np
    import farad

    random = np.random.default_rng(0)

    def sums(mode):
        fmm = farad.Fmm(random.random((1_000_000, 3)), mode=mode, tolerance=1e-10)
        return fmm, lambda: [fmm(np.ones((8, 1_000_000))) for _ in range(100)]

    def product():
        surface = farad.Surface(farad.Mesh.sphere(elements=5120, unit="m"))
        V, X = surface.single_layer(), np.ones((5120, 1000))
        return V, lambda: [V @ X for _ in range(100)]

    def waiting():
        fmm, sum_all = sums("direct")
        threading.Thread(target=sum_all, daemon=True).start()
        return fmm, sum_all

    def busy():
        (_, sum_all), fmm = sums("direct"), farad.Fmm(np.eye(3))
        threading.Thread(target=sum_all, daemon=True).start()
        time.sleep(0.5)  # it has all threads now
        return fmm, lambda: [fmm(np.ones(3)) for _ in range(1000)]

    begin = {
        "busy": busy,
        "direct": lambda: sums("direct"),
        "fmm": lambda: sums("fmm"),
        "product": product,
        "waiting": waiting,
    }
    kept, work = begin[sys.argv[1]]()
    print("under way", flush=True)
    try:
        work()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        # Nothing is broken after it: the next sum is whole. The other thread's goes on.
        if sys.argv[1] not in ("busy", "waiting"):
            assert abs(farad.Fmm([[0, 0, 0]], [[0, 0, 2]])([1])[0] - 0.5) < 1e-14
        if sys.argv[1] == "product":
            np.testing.assert_allclose(kept @ np.ones(5120), 1.0, rtol=0.01)
        print("goes on", flush=True)
        sys.exit(42)
    """
)


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for one process alone")
@pytest.mark.parametrize("work", ["direct", "fmm", "product", "waiting", "busy"])
def test_ctrl_c_ends_sums(work):
    """Also where the sum of another thread comes first, of the same points or of others."""
    with subprocess.Popen(
        [sys.executable, "-c", LONG, work], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "under way\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            begun = time.monotonic()
            assert process.stdout.readline() == "interrupted\n"
            assert time.monotonic() - begun < 5.0
            assert process.stdout.readline() == "goes on\n"
            assert process.wait(timeout=60) == 42
        finally:
            process.kill()


def test_what_a_function_raises_ends_the_solve():
    def stop(event):
        raise RuntimeError(f"enough at {event['stage']}")

    problem = farad.Problem(farad.Mesh.sphere(elements=20000, unit="m"))
    with pytest.raises(RuntimeError, match="enough at (plan|near field|solve)"):
        problem.solve(progress=stop)


def test_events_tell_stages_and_residuals():
    events = []
    farad.Problem(farad.Mesh.sphere(elements=5000, unit="m")).solve(method="fmm", progress=events.append)
    assert {"stage", "done", "total", "residual"} <= events[-1].keys()
    assert events[-1]["stage"] == "solve" and 0 < events[-1]["residual"] < 1e-5


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress_is_shown_on_stderr(capfd, monkeypatch, with_tqdm):
    if not with_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    else:
        pytest.importorskip("tqdm")
    farad.Problem(farad.Mesh.cube(elements=300, unit="m")).solve(1e-2, progress=True)
    out, err = capfd.readouterr()
    # Short stages may go by unseen.
    assert out == "" and "triangles: C = " in err
    assert any(stage in err for stage in ("plan", "near field", "solve"))
