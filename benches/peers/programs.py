"""The programs that are timed: Farad's command, and FMM3D's Python package."""

import json
import subprocess
import sys
import time

import numpy as np

from samples import direct, relative_l2


class Problem:
    """Points with strengths, in files for Farad, and their direct sums in double precision at random targets."""

    def __init__(self, folder, name, points, targets, charges, dipoles=None, gradient=False):
        """charges (n) or (k, n), dipoles (n, 3)."""
        self.points, self.charges, self.dipoles, self.gradient = points, charges, dipoles, gradient
        self.targets = targets
        self.exact = direct(points, targets, np.atleast_2d(charges), dipoles, gradient) if len(targets) else None
        self.files = {"points": folder / f"{name}.points.npy", "charges": folder / f"{name}.charges.npy"}
        if dipoles is not None:
            self.files["dipoles"] = folder / f"{name}.dipoles.npy"
        for what, file in self.files.items():
            np.save(file, getattr(self, what))

    def error(self, potential, gradient=None):
        """The errors of potential (k, n) and gradient (k, n, 3), 0 without one."""
        error = relative_l2(np.atleast_2d(potential)[:, self.targets], self.exact[0])
        return error, 0.0 if gradient is None else relative_l2(gradient[:, self.targets], self.exact[1])

    def remove(self):
        for file in self.files.values():
            file.unlink(missing_ok=True)


class Farad:
    def __init__(self, program, folder, threads):
        self.program, self.folder, self.threads = program, folder, threads

    def text(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"farad {' '.join(map(str, arguments))}\n{done.stderr}")
        return done.stdout

    def eval(self, problem, tolerance, repeat=3, threads=None, samples=1000, ours=True):
        """The report of `farad fmm eval`, with `samples`, `error` (of the potential) and `gradient_error`.

        Those are the larger of its own at `samples` random targets and, with `ours`, of ours at other targets; ours alone where
        one target makes its own of no worth.
        """
        out = self.folder / "out.npy"
        options = ["--tolerance", tolerance, "--repeat", repeat, "--threads", threads or self.threads, "--samples", samples]
        options += ["--gradient"] if problem.gradient else []
        options += ["--dipoles", problem.files["dipoles"]] if "dipoles" in problem.files else []
        files = problem.files["points"], problem.files["charges"]
        report = json.loads(self.text("fmm", "eval", *files, *options, "-o", out, "--overwrite", "--json"))
        report["samples"] = samples
        report["error"] = report["potential_l2_error"] if samples > 1 else 0.0
        report["gradient_error"] = report["gradient_l2_error"] or 0.0 if samples > 1 else 0.0
        if ours and problem.exact is not None:
            values = np.load(out)
            if problem.gradient:
                values = values.reshape(-1, len(problem.points), 4)
                errors = problem.error(values[..., 0], values[..., 1:])
            else:
                errors = problem.error(values)
            for key, error in zip(("error", "gradient_error"), errors):
                report[key] = max(report[key], error)
        out.unlink()
        return report


def fmm3d(problem, eps):
    """Seconds, errors and threads used of FMM3D, tree included, for the potential of charges and, if asked for, its gradient."""
    import fmm3dpy

    # (3, n) in Fortran's order, as FMM3D needs it: no copy is made.
    points = problem.points.T
    started, worked = time.perf_counter(), time.process_time()
    out = fmm3dpy.lfmm3d(eps=eps, sources=points, charges=problem.charges, pg=2 if problem.gradient else 1)
    seconds, work = time.perf_counter() - started, time.process_time() - worked
    gradient = 4 * np.pi * out.grad.T[None] if problem.gradient else None
    error, gradient_error = problem.error(4 * np.pi * out.pot, gradient)
    return {"seconds": seconds, "error": error, "gradient_error": gradient_error, "threads": work / seconds}
