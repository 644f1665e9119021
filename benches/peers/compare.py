#!/usr/bin/env python3
"""Times Farad's fast sums and those of other libraries, and writes tables (Markdown), a plot and all numbers (JSON).

    cargo build --release
    python3 -m venv .venv && .venv/bin/pip install -r benches/peers/requirements.txt
    .venv/bin/python benches/peers/compare.py --farad target/release/farad --out docs/performance --into docs/performance.md

Points and charges are random and new in every run; the seed is reported. Each error is the larger of two against direct sums in double
precision, each at 1000 random targets: Farad's own in the timed run, and this script's. A row's tolerance is the loosest of a short list
that reaches the row's error of the potential, which is the error known of the best build. In the row with gradients they must also reach
the error that FMM3D's gradients have where its potentials reach the row's error. Rows for the cube come twice: at the published errors, and
at the errors that FMM3D has with the present points and charges. Rounds alternate between the programs; times are medians.

About 15 minutes on two cores, 5 GB of memory; `--n 32768 --largest 100000` tries it out in one.
"""

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from statistics import median

# The yardstick is serial, and so are the products of the direct sums, which have threads of their own.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

import reference
import report
import samples
from programs import Farad, Problem, fmm3d

ROOT = Path(__file__).resolve().parents[2]
TOLERANCES = sorted((m * 10.0**e for e in range(-12, 0) for m in (1, 1.5, 2, 3, 5, 7)), reverse=True)
TOLERANCES = [0.1, *(t for t in TOLERANCES if t < 0.1)]
# Tolerances of the plot.
CURVE = [10.0**e for e in range(-2, -12, -1)]

# Errors at other random targets may be a little larger than at those used to choose the tolerance.
SAMPLING = 0.95

PART_NAMES = ("comparison", "scaling", "charges")


class Session:
    """What the parts of a run share."""

    def __init__(self, arguments, folder):
        self.n, self.rounds, self.largest = arguments.n, arguments.rounds, arguments.largest
        self.farad = Farad(arguments.farad, folder, arguments.threads)
        self.folder = folder
        self.seed = arguments.seed
        self.rng = np.random.default_rng(self.seed)
        self.found = {}

    def problem(self, name, points, **strengths):
        return Problem(self.folder, name, points, samples.choose_targets(len(points), self.rng), **strengths)

    def loosest(self, problem, target):
        """The loosest tolerance of the list with which the error is at most `target`, by bisection; the tightest where none is."""

        def good(i):
            # The error at our own targets alone: this run is not reported.
            run = self.farad.eval(problem, TOLERANCES[i], repeat=1, samples=1, ours=True)
            gradient = reference.GRADIENT_ERROR * target
            return run["error"] <= SAMPLING * target and run["gradient_error"] <= SAMPLING * gradient

        low, high = 0, len(TOLERANCES) - 1
        # From where the error is a fiftieth of the tolerance, as with gradients, to where it is three times that.
        inside = [i for i, t in enumerate(TOLERANCES) if target / 3 <= t <= 50 * target]
        if inside:
            low, high = (inside[0], inside[-1]) if good(inside[-1]) else (inside[-1] + 1, high)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if good(middle) else (middle + 1, high)
        return TOLERANCES[min(low, len(TOLERANCES) - 1)]

    def log(self, text):
        print(f"[{datetime.datetime.now():%H:%M:%S}] {text}", file=sys.stderr, flush=True)


def comparison(session):
    """The table of rows, medians over rounds that alternate between the yardstick and Farad."""
    rng, n = session.rng, session.n
    points = {name: samples.POINTS[name](n, rng) for name in ("cube", "sphere", "graded plate")}
    charges = {name: samples.random_signs(points[name], rng) for name in points}
    eight = np.stack([samples.random_signs(points["cube"], rng) for _ in range(8)])
    dipoles = rng.random((n, 3)) - 0.5
    session.log("direct sums")
    problems = {(name, "potential"): session.problem(name, points[name], charges=charges[name]) for name in points}
    cube = dict(points=points["cube"], charges=charges["cube"])
    problems["cube", "gradient"] = session.problem("gradient", **cube, gradient=True)
    # Moments of the size of a charge times the points' spacing, so that both parts contribute.
    problems["cube", "charges + dipoles"] = session.problem("dipoles", **cube, dipoles=dipoles * n ** (-1 / 3))
    problems["cube", "8 densities"] = session.problem("eight", points["cube"], charges=eight)

    session.log("errors of the yardstick's library on the same points")
    others = [("cube", eps, fmm3d(problems["cube", "potential"], eps)) for eps in (reference.YARDSTICK_EPS, 1e-6, 1e-9)]
    others.append(("sphere", reference.YARDSTICK_EPS, fmm3d(problems["sphere", "potential"], reference.YARDSTICK_EPS)))
    curve = {"cube": [], "sphere": []}
    rows = []
    targets = [(key, key[2], False) for key in (*reference.BEST_BUILD, ("graded plate", "potential", 2.0e-5))]
    # The relative error depends on how far these charges cancel, for every library: the same rows at the error that FMM3D has with them.
    same = zip(others, [key for key in reference.BEST_BUILD if key[:2] == ("cube", "potential")])
    targets += [(key, figures["error"], True) for (_, _, figures), key in same]
    for (where, work, row), target, own in targets:
        session.log(f"tolerance for {where}, {work}, error {target:.1e}")
        tolerance = session.loosest(problems[where, work], target)
        rows.append({"points": where, "work": work, "row": row, "target": target, "own": own, "tolerance": tolerance, "runs": []})
    first = next(row for row in rows if row["points"] == "cube")
    session.found["cube"] = first["tolerance"]
    rows.append(first | {"work": "8 densities", "runs": []})

    yardstick = []
    for turn in range(session.rounds):
        session.log(f"round {turn + 1} of {session.rounds}")
        yardstick.append(fmm3d(problems["cube", "potential"], reference.YARDSTICK_EPS))
        for row in rows:
            # The errors of eight densities take long: measured in the first round alone, the sums are the same in all.
            few = 1 if row["work"] == "8 densities" and turn else samples.TARGETS
            row["runs"].append(session.farad.eval(problems[row["points"], row["work"]], row["tolerance"], samples=few, ours=few > 1))
    for row in rows:
        runs = row.pop("runs")
        row |= {key: median(run[key] for run in runs) for key in ("setup_s", "apply_s", "first_apply_s")}
        for key in ("error", "gradient_error"):
            row[key] = max(run[key] for run in runs if run["samples"] > 1)
        row["report"] = sorted(runs, key=lambda run: run["apply_s"])[(len(runs) - 1) // 2]
        if row["work"] == "potential" and row["points"] in curve and not row["own"]:
            curve[row["points"]].append(row["report"] | row)
    session.log("time against error")
    for where, found in curve.items():
        for tolerance in CURVE:
            found.append(session.farad.eval(problems[where, "potential"], tolerance, samples=1, ours=True))
    few, own = points["cube"][: n // 8], charges["cube"][: n // 8]
    of_gradient = fmm3d(session.problem("few", few, charges=own, gradient=True), 1e-6)
    # The yardstick's own row is in "yardstick".
    others = [o for o in others if o[:2] != ("cube", reference.YARDSTICK_EPS)]
    return {
        "n": n,
        "rows": rows,
        "curve": {name: [{key: r[key] for key in ("tolerance", "error", "apply_s", "first_apply_s", "setup_s")} for r in c] for name, c in curve.items()},
        "yardstick": {key: median(y[key] for y in yardstick) for key in ("seconds", "error", "threads")},
        "yardstick_runs": [y["seconds"] for y in yardstick],
        "fmm3d_gradient": {"n": len(few), "eps": 1e-6, **of_gradient},
        "fmm3d": [{"points": name, "eps": eps, **figures} for name, eps, figures in others],
    }


def scaling(session):
    """One thread against all, and sizes, at the tolerance of the first row."""
    rng, n = session.rng, session.n
    points, charges = made("cube", n, rng)
    problem = session.problem("cube", points, charges=charges)
    if "cube" not in session.found:
        session.log("tolerance of the first row")
        session.found["cube"] = session.loosest(problem, 3.6e-5)
    tolerance = session.found["cube"]
    session.log("threads")
    counts = (1, session.farad.threads)
    runs = {threads: [] for threads in counts}
    for _ in range(session.rounds):
        for threads in counts:
            runs[threads].append(session.farad.eval(problem, tolerance, threads=threads))
    threads = {str(t): {key: median(r[key] for r in runs[t]) for key in ("setup_s", "apply_s")} for t in counts}
    problem.remove()

    sizes = []
    for where in ("cube", "sphere"):
        for size in (100_000, 1_000_000, 4_000_000, 16_000_000):
            if size > session.largest:
                continue
            session.log(f"{where}, {size:,} points")
            points, charges = made(where, size, rng)
            # Farad's own error alone: no direct sums of ours, and few of its where there are many points.
            problem = Problem(session.folder, "size", points, np.arange(0), charges)
            few = min(samples.TARGETS, max(1, 4 * 10**9 // size))
            sizes.append({"points": where, "samples": few, **session.farad.eval(problem, tolerance, samples=few)})
            problem.remove()
    return {"n": n, "tolerance": tolerance, "threads": threads, "sizes": sizes}


def made(where, n, rng):
    points = samples.POINTS[where](n, rng)
    return points, samples.random_signs(points, rng)


def charges(session):
    """Whether the tolerance holds for other charges than those of random sign."""
    n, rng, rows = min(session.n, 1 << 18), session.rng, []
    for where, points_of in samples.POINTS.items():
        points = points_of(n, rng)
        for what, charges_of in samples.CHARGES.items():
            session.log(f"{where}, {what}")
            problem = session.problem("charges", points, charges=charges_of(points, rng))
            for tolerance in (1e-3, 1e-5, 1e-8):
                run = session.farad.eval(problem, tolerance, repeat=1)
                rows.append({"points": where, "charges": what, "tolerance": tolerance, "error": run["error"]})
            problem.remove()
    return {"n": n, "rows": rows}


def machine_limits(threads, session):
    """What the machine's arithmetic allows, measured by benches' `limits`; None without cargo."""
    if not shutil.which("cargo"):
        session.log("no cargo: tables without the machine's limits")
        return None
    command = ["cargo", "run", "--release", "--quiet", "--manifest-path", str(ROOT / "benches/Cargo.toml"), "--bin", "limits"]
    done = subprocess.run([*command, "--", str(threads)], capture_output=True, text=True)
    if done.returncode:
        session.log(f"tables without the machine's limits:\n{done.stderr}")
        return None
    return json.loads(done.stdout)


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown processor"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown processor")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--farad", default=str(ROOT / "target/release/farad"), help="the program [target/release/farad]")
    parser.add_argument("--out", type=Path, required=True, help="folder for measurements.json, one .md a part, and error_time.svg")
    parser.add_argument("--into", type=Path, help="Markdown file in which the tables between this script's markers are replaced")
    for part in PART_NAMES:
        parser.add_argument(f"--{part}", action="store_true", help=f"the {part} alone, or with the other parts named [all three]")
    parser.add_argument("--n", type=int, default=1 << 20, help="points [2^20]; other reference figures than 2^20's do not exist")
    parser.add_argument("--largest", type=int, default=16_000_000, help="most points of the scaling [1.6e7]")
    parser.add_argument("--threads", type=int, default=2, help="threads of Farad [2, as the reference figures have]")
    parser.add_argument("--rounds", type=int, default=3, help="rounds whose medians are reported [3]")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)), help="of points and charges [fresh]")
    arguments = parser.parse_args()
    arguments.farad = shutil.which(arguments.farad) or parser.error(f"{arguments.farad} is not there: cargo build --release")
    return arguments


def main():
    arguments = parse()
    parts = [part for part in PART_NAMES if getattr(arguments, part)] or PART_NAMES
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(arguments, Path(folder))
        measured = {
            "date": f"{datetime.date.today()}",
            "processor": processor(),
            "cores": os.cpu_count(),
            "threads": arguments.threads,
            "seed": session.seed,
            "farad": session.farad.text("--version").strip(),
            "fmm3dpy": version("fmm3dpy"),
            "limits": machine_limits(arguments.threads, session),
        }
        for part in parts:
            measured[part] = globals()[part](session)
            report.write(measured, part, arguments.out, arguments.into)
    session.log(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
