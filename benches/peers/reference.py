"""Published times of fast multipole libraries on one reference machine, and their scaling to the present machine.

Two cores with AVX2 (Zen 3), 2^20 points, charges uniform in [-0.5, 0.5), potential, 2 threads. Seconds with the achieved relative L2 error.
FMM3D is its best build (-O3 -march=native, vectorised kernels) and its times include the tree. The times of exafmm-t and
kifmm do not include their setup (0.4 to 2 s and 1.8 to 5 s); exafmm-t always computes the gradient too.

The yardstick scales these figures: FMM3D as `pip install fmm3dpy` installs it, on one thread, eps = 1e-3, on the cube. A machine
that takes f times as long for the yardstick as the reference machine is assumed to take f times as long for everything.
"""

from typing import NamedTuple


class Figure(NamedTuple):
    seconds: float
    error: float


YARDSTICK_EPS = 1e-3
YARDSTICK = {"cube": Figure(13.1, 3.9e-5), "sphere": Figure(32.3, 2.0e-5)}

# Error allowed for gradients, in units of the row's error of the potential: at eps = 1e-6 FMM3D's potentials have an error of 4.5e-8 and its
# gradients one of 1.3e-7 (compare.py measures both again and reports them).
GRADIENT_ERROR = 2.9

# The rows that Farad is compared with: (points, work, target error) -> FMM3D's best build.
BEST_BUILD = {
    ("cube", "potential", 3.6e-5): Figure(6.6, 3.6e-5),
    ("cube", "potential", 4.3e-8): Figure(10.5, 4.3e-8),
    ("cube", "potential", 2.9e-11): Figure(19.5, 2.9e-11),
    ("sphere", "potential", 2.0e-5): Figure(9.1, 2.0e-5),
    ("sphere", "potential", 2.4e-8): Figure(13.9, 2.4e-8),
    ("sphere", "potential", 1.4e-11): Figure(34.3, 1.4e-11),
    ("cube", "gradient", 4e-8): Figure(13.6, 4.3e-8),
    ("cube", "charges + dipoles", 3e-8): Figure(17.8, 2.9e-8),
}

PEERS = {
    "exafmm-t, single": {"cube": [Figure(1.10, 2.8e-4)]},
    "exafmm-t, double": {
        "cube": [Figure(3.9, 2.8e-6), Figure(5.7, 5.0e-8)],
        "sphere": [Figure(3.4, 1.6e-6), Figure(7.4, 3.0e-8)],
    },
    "kifmm 2.0, single": {"cube": [Figure(1.18, 2.8e-4), Figure(1.81, 3.2e-5)], "sphere": [Figure(2.2, 1.8e-4)]},
    "kifmm 2.0, double": {
        "cube": [Figure(6.9, 4.9e-8), Figure(11.0, 9.7e-10)],
        "sphere": [Figure(4.3, 1.5e-6), Figure(25.8, 3.3e-8)],
    },
}


def best_build_curve(points):
    return [figure for (where, work, _), figure in BEST_BUILD.items() if where == points and work == "potential"]
