"""Sums by several processes of farad, started by mpirun, against those of one: check_ranks.py FARAD.

Needs Python alone. mpirun's settings come from the environment (.ci/mpi).
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

FARAD = sys.argv[1]
TIMEOUT = 120  # seconds of one run: ranks that wait for each other forever fail


def run(ranks, *arguments):
    """Exit code, stdout and stderr of farad on so many ranks; 0 is without mpirun."""
    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    done = subprocess.run([*launcher, FARAD, *arguments], capture_output=True, text=True, timeout=TIMEOUT)
    return done.returncode, done.stdout, done.stderr


def write(path, shape, values):
    """An array of float64 in NumPy's format."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    path.write_bytes(data + struct.pack(f"<{len(values)}d", *values))


def read(path):
    data = path.read_bytes()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - begin) // 8}d", data[begin:])


def check(condition, *what):
    if not condition:
        sys.exit("check_ranks: " + " ".join(str(part) for part in what))


def sums(folder):
    """Densities, dipoles, targets and gradients come out as on one process."""
    draw = random.Random(7)
    numbers = lambda count, shift: [draw.random() - shift for _ in range(count)]
    write(folder / "points.npy", (3000, 3), numbers(9000, 0.0))
    write(folder / "charges.npy", (2, 3000), numbers(6000, 0.5))
    write(folder / "dipoles.npy", (2, 3000, 3), numbers(18000, 0.5))
    write(folder / "targets.npy", (700, 3), numbers(2100, 0.0))
    names = [str(folder / name) for name in ("points.npy", "charges.npy", "dipoles.npy", "targets.npy")]
    inputs = ["fmm", "eval", *names[:2], "--dipoles", names[2], "--targets", names[3], "--gradient", "--tolerance", "1e-7"]
    found = {}
    for ranks in (0, 1, 2, 5):
        output = folder / f"sums{ranks}.npy"
        code, _, errors = run(ranks, *inputs, "-o", str(output), "--mode", "fmm")
        check(code == 0, "eval on", ranks, "ranks ends with", code, errors)
        found[ranks] = read(output)
    norm = sum(value**2 for value in found[0]) ** 0.5
    for ranks, values in found.items():
        check(len(values) == 2 * 700 * 4, ranks, "ranks wrote", len(values), "numbers")
        error = sum((a - b) ** 2 for a, b in zip(values, found[0], strict=True)) ** 0.5 / norm
        check(error <= 2e-7, ranks, "ranks differ from one process by", error)
    print("eval: 1, 2 and 5 ranks agree with one process")


def reports():
    """One report, of all ranks together."""
    bench = ["fmm", "bench", "--points", "20001", "--distribution", "sphere", "--tolerance", "1e-5", "--json"]
    code, output, errors = run(3, *bench)
    check(code == 0, "bench ends with", code, errors)
    report = json.loads(output)
    check(report["n"] == 20001 and report["relative_l2_error"] <= 1e-5, output)
    ranks = report["ranks"]
    check(ranks["count"] == 3 and 1.0 <= ranks["imbalance"] < 1.3 and ranks["bytes_sent"] > 0, output)
    check({"sources of other ranks", "P2P of own pairs"} <= {span["stage"] for span in report["timeline"]}, output)
    print("bench: one report of 3 ranks")


def failures(folder):
    """What is wrong on one rank is told once, and ends all with its code."""
    missing = ["fmm", "eval", str(folder / "no.npy"), str(folder / "no.npy"), "--tolerance", "1e-3", "-o", str(folder / "x.npy")]
    code, output, errors = run(3, *missing)
    check(code == 6 and errors.count("no.npy: No such file") == 1 and "rank 0 on " in errors, code, output, errors)
    code, output, errors = run(2, "fmm", "bench", "--points", "10", "--distribution", "cube", "--tolerance", "1e-3", "--direct")
    check(code == 2 and errors.count("mode = Direct") == 1, code, output, errors)
    code, output, errors = run(2, "mesh", "info", str(folder / "no.msh"))
    check(code == 2 and errors.count("2 processes of farad mesh") == 1, code, output, errors)
    print("failures: told once, with the exit codes of one process")


with tempfile.TemporaryDirectory() as name:
    sums(pathlib.Path(name))
    reports()
    failures(pathlib.Path(name))
