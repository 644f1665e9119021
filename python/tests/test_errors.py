"""What is wrong with problems and options, in the program's words."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import farad

MESH = farad.Mesh.two_spheres(1.0, 3.0, elements=160, unit="m")
PROBLEM = farad.Problem(MESH)


@pytest.mark.parametrize(
    "message, make",
    [
        ('"lef"', lambda: PROBLEM.conductor("lef").solve()),
        (
            '"none"',
            lambda: PROBLEM.conductor("left").conductor("right").dielectric("none", 2).solve(),
        ),
        ("right", lambda: PROBLEM.conductor("left").solve()),
        ('there is a conductor "left" already', lambda: PROBLEM.conductor("left").conductor("left")),
        (
            'there is a dielectric "left" already',
            lambda: PROBLEM.dielectric("left", 2).dielectric("left", 3),
        ),
        (
            'conductor "left" has a potential or a charge, not both',
            lambda: PROBLEM.conductor("left", potential=1, charge=1),
        ),
        (
            "potential is 'high'; it must be a number",
            lambda: PROBLEM.conductor("left", potential="high"),
        ),
        ("NaN", lambda: PROBLEM.conductor("left", potential=float("nan")).ignore("right").solve()),
        ("a name is 3; it must be a string", lambda: PROBLEM.conductor(3)),
        ("a name is ''", lambda: PROBLEM.conductor("")),
        (
            "groups is 3; it must be a name or a list of names",
            lambda: PROBLEM.conductor("a", 3),
        ),
        ("one of groups is 3", lambda: PROBLEM.conductor("a", ["left", 3])),
        ("permittivity is 0", lambda: PROBLEM.medium(0.0).solve()),
        ("permittivity is -2", lambda: PROBLEM.conductor("left").dielectric("right", -2.0).solve()),
        ("axis is 'w'; it must be \"x\", \"y\" or \"z\"", lambda: PROBLEM.plane("w")),
        ("axis is 2", lambda: PROBLEM.plane(2)),
        (
            'kind is \'mirror\'; it must be "ground" or "symmetry"',
            lambda: PROBLEM.plane("z", kind="mirror"),
        ),
        ("two planes", lambda: PROBLEM.plane("z", -3).plane("z", 3).solve()),
        ("touches the ground plane", lambda: PROBLEM.plane("z", -1.0).solve()),
        ("2 charges at 1 positions", lambda: PROBLEM.charges([[0, 0, 0]], [1, 2])),
        ("positions has the shape", lambda: PROBLEM.charges([0, 0], 1.0)),
        ("positions is inf", lambda: PROBLEM.charges([0, 0, np.inf], 1.0)),
        (
            'unit is \'nC\'; it must be "C" or "e"',
            lambda: PROBLEM.charges([0, 0, 0], 1.0, "nC"),
        ),
        ("lies on a surface", lambda: PROBLEM.charges(MESH.points[0], 1.0).solve()),
        ("field is .*; it must be finite", lambda: PROBLEM.field([0, np.nan, 0])),
        ("nothing to probe", lambda: PROBLEM.probe("p", [0, 0, 0]).solve()),
        ("points has the shape", lambda: PROBLEM.probe("p", [[0, 0]])),
        ('there is no conductor "x"', lambda: PROBLEM.want(nets="x").solve()),
        (
            r"a layer is 3; it must be \(thickness, permittivity\)",
            lambda: PROBLEM.layers([3]),
        ),
        ("accuracy is 1e-12", lambda: PROBLEM.solve(1e-12)),
        ("accuracy is 1e3", lambda: PROBLEM.solve(1e3)),
        ("accuracy is NaN", lambda: PROBLEM.solve(float("nan"))),
        ("accuracy is 'high'", lambda: PROBLEM.solve("high")),
        ('of is "beauty"; it must be all', lambda: PROBLEM.solve(1e-2, of="beauty")),
        ("C\\(a, b\\)|nothing|no ", lambda: PROBLEM.solve(1e-2, of="C(a, b)")),
        ("max_time", lambda: PROBLEM.solve(1e-2, max_time=-1)),
        ("tolerance is 1e0", lambda: PROBLEM.solve(tolerance=1)),
        ("tolerance is 0", lambda: PROBLEM.solve(tolerance=0)),
        # As in a case file: beyond it would be taken for the nearest that is possible.
        ("fmm_tolerance is 2e-1; it must be 1e-12 to 1e-1", lambda: PROBLEM.solve(fmm_tolerance=0.2)),
        ("fmm_tolerance is 5e-1; it must be 1e-12 to 1e-1", lambda: PROBLEM.solve(fmm_tolerance=0.5)),
        ("fmm_tolerance is 1e-13", lambda: PROBLEM.solve(fmm_tolerance=1e-13)),
        ('method is "fast"', lambda: PROBLEM.solve(method="fast")),
        ("density is", lambda: PROBLEM.solve(density="cubic")),
        ('backend is "gpu"; it must be one of "auto"', lambda: PROBLEM.solve(backend="gpu")),
        ("deterministic=True: .*cuda", lambda: PROBLEM.solve(backend="cuda", deterministic=True)),
        ("deterministic", lambda: PROBLEM.solve(1e-2, max_time=9, deterministic=True)),
        ("gpu is -1", lambda: PROBLEM.solve(gpu=-1)),
        ("threads is 0", lambda: PROBLEM.solve(threads=0)),
        ("threads is 100000; it must be 1 to", lambda: PROBLEM.solve(threads=100000)),
        (
            "max_iterations is 0; it must be a whole number of 1 or more",
            lambda: PROBLEM.solve(max_iterations=0),
        ),
        ("memory_limit is -1", lambda: PROBLEM.solve(memory_limit=-1)),
        ("memory_limit is nan", lambda: PROBLEM.solve(memory_limit=float("nan"))),
        ("method is None", lambda: PROBLEM.solve(method=None)),
        ("forces is 'yes'; it must be True or False", lambda: PROBLEM.want(forces="yes")),
        ("no valid text", lambda: PROBLEM.conductor("\ud800")),
        ("restart", lambda: PROBLEM.solve(restart=1.5)),
        ("progress is 3", lambda: PROBLEM.solve(progress=3)),
        (
            r"layers is 3; it must be a list of \(thickness, permittivity\)",
            lambda: PROBLEM.layers(3),
        ),
        ("below is array", lambda: PROBLEM.layers([(1, 2)], below=np.ones(2))),
        ("nets is empty; leave it out for all conductors", lambda: PROBLEM.want(nets=[])),
        ("strict is 'no'; it must be True or False", lambda: PROBLEM.solve(strict="no")),
        ("deterministic is 'no'", lambda: PROBLEM.solve(deterministic="no")),
        ("solver is 3; it must be a farad.Solver", lambda: PROBLEM.solve(solver=3)),
        ("potential is 1000", lambda: PROBLEM.conductor("left", potential=10**400)),
        (
            'there is a probe "p" already',
            lambda: PROBLEM.probe("p", [0, 0, 0]).probe("p", [0, 0, 1]),
        ),
        (
            'there is a sensitivity "s" already',
            lambda: PROBLEM.sensitivity("s", shift="left").sensitivity("s", shift="right"),
        ),
        (
            "toward is 1.5; it must be a name or the number of a layer",
            lambda: PROBLEM.film("f", 0.1, 2.0, "left", toward=1.5),
        ),
        (
            "a derivative is by one of shift, permittivity, layer, thickness",
            lambda: PROBLEM.sensitivity("s"),
        ),
        (
            "only a whole matrix is reduced; this one has the columns of some nets",
            lambda: PROBLEM.want(nets="left").solve().capacitance.reduce(grounded="left"),
        ),
        (
            "only a whole matrix is written; this one has the columns of some nets",
            lambda: PROBLEM.want(nets="left").solve().capacitance.to_spice(),
        ),
        ("there is no column 'a'; there are: ", lambda: PROBLEM.solve().charge_density("a")),
        ("no potential", lambda: PROBLEM.solve().charge_density()),
    ],
)
def test_faults_are_reported(message, make):
    with pytest.raises(farad.InputError, match=message) as caught:
        make()
    assert isinstance(caught.value, (farad.FaradError, ValueError))


def test_crossing_bodies_are_reported_or_allowed():
    mesh = farad.Mesh.sphere(elements=80, name="a", unit="m") + farad.Mesh.sphere(
        elements=80, center=(1, 0.1, 0.2), name="b", unit="m"
    )
    with pytest.raises(farad.InputError, match="go through each other"):
        farad.Problem(mesh).solve()
    # The residual where they meet is told too.
    with pytest.warns(farad.FaradWarning) as told:
        farad.Problem(mesh).want(lenient=True).solve()
    assert any("go through each other" in str(warning.message) for warning in told)


def test_errors_reach_other_processes():
    """Those of a pool hand them on as pickles."""
    with pytest.raises(farad.ConvergenceError) as caught:
        PROBLEM.solve(max_iterations=1, method="fmm", strict=True)
    back = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(back, farad.ConvergenceError) and str(back) == str(caught.value)
    assert caught.value.solution is not None and back.solution is None
    for made in (farad.InputError, farad.FileError, farad.OutOfMemoryError, farad.NoGpuError):
        back = pickle.loads(pickle.dumps(made("why")))
        assert type(back) is made and str(back) == "why"


def solved(mesh):
    """In a process of its own."""
    return farad.Problem(mesh).solve().capacitance.values


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_pools_of_processes_solve(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method} here")
    expected = solved(MESH)
    with multiprocessing.get_context(method).Pool(2) as pool:
        for values in pool.map_async(solved, [MESH, MESH]).get(timeout=60):
            np.testing.assert_allclose(values, expected, rtol=1e-6)


def test_memory_is_limited():
    with pytest.raises(farad.OutOfMemoryError, match="memory_limit") as caught:
        PROBLEM.solve(memory_limit=1000)
    assert isinstance(caught.value, MemoryError)


def test_limits_of_the_process_count():
    pytest.importorskip("resource")
    if not Path("/proc/self/status").exists():
        pytest.skip("limits are not known here")
    script = (
        "import resource, farad\n"
        "problem = farad.Problem(farad.Mesh.sphere(elements=100000, unit='m'))\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, resource.RLIM_INFINITY))\n"
        "try:\n    problem.solve(threads=1)\n"
        "except farad.OutOfMemoryError:\n    print('told')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100
    )
    assert run.stdout == "told\n", run.stderr


def test_a_gpu_that_is_not_there():
    try:
        PROBLEM.solve(backend="cuda", gpu=63)
    except farad.NoGpuError as error:
        assert 'backend="auto"' in str(error)
    else:
        pytest.fail("there are 64 GPUs")
    with pytest.raises(farad.NoGpuError):
        farad.Fmm([[0, 0, 0]], backend="cuda", gpu=63)
    with pytest.raises(farad.NoGpuError):
        farad.Surface(MESH, backend="cuda", gpu=63).single_layer()


def test_names_do_not_act_on_terminals():
    with pytest.raises(farad.InputError) as caught:
        PROBLEM.conductor("\x1b[31mred").solve()
    assert "\x1b" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_solves():
    """The threads of a parent are not there in its children."""
    expected = PROBLEM.solve().capacitance.values
    child = os.fork()
    if child == 0:
        values = PROBLEM.solve().capacitance.values
        os._exit(0 if np.allclose(values, expected, rtol=1e-6, atol=0) else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
