"""Compiles every kernels/*/*.cu with NVRTC, which needs no GPU, for each architecture that Farad supports: in every variant that the
program asks for, or, of many macros, in enough that every two values of two macros meet; on the others in two; warnings fail.

Headers of the same folder and of kernels/cuda are passed by name, as the program does it. Constants that a file shares with the program come from the program: the
tests that compare the files' kernels with their declarations print them. NVRTC comes from the package nvidia-cuda-nvrtc-cu12.
"""

import ctypes
import itertools
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARCHITECTURES = ["sm_80", "sm_90", "sm_120"]
BOTH = {"PRECISION": [32, 64]}
# Of sums of Gaussians: nodes of a block by dimensions, and some of the windows, with terms of their polynomials.
BLOCKS = [(1, 32), (2, 16), (3, 8)]
WINDOWS = [(5, 8, 9), (16, 16, 20)]
# Macros that the program chooses at run time, for each file, with the values that it gives them, those in one key together.
VARIANTS = {
    "sort.cu": [["KEY=unsigned long long", "VALUE=unsigned"], ["KEY=unsigned", "VALUE=unsigned long long"]],
    "particles.cu": BOTH,
    "close.cu": BOTH,
    "exchange.cu": BOTH,
    "p2p.cu": BOTH
    | {"DENSITIES": [1, 2, 4], "GRADIENT ALL_PAIRS": [(0, 0), (1, 0), (0, 1)], "CHARGES DIPOLES": [(1, 0), (0, 1), (1, 1)], "SCREENED": [0, 1]},
    "p2m.cu": BOTH | {"DIPOLES": [0, 1], "SCREENED": [0, 1]},
    "l2p.cu": BOTH | {"GRADIENT": [0, 1], "SCREENED": [0, 1]},
    "m2p.cu": BOTH | {"GRADIENT": [0, 1], "SCREENED": [0, 1]},
    "translate.cu": BOTH,
    "m2l.cu": BOTH,
    "rotated.cu": BOTH,
    "children.cu": {"GENERAL": [0, 1]},
    "near.cu": {"GENERAL": [0, 1]},
    "interfaces.cu": {"VALUE": ["float", "double"]},
    "screened.cu": {"POINTS ORDER": [(1, 1), (3, 1), (3, 2), (6, 3), (6, 4)]},
    "sparse.cu": {"VALUE": ["float", "double", "u32"], "GENERAL": [0, 1]},
    "preconditioner.cu": {"VALUE": ["float", "double"], "LEAST MOST LOCAL_WARPS POINTS_OF_PANEL": [(0, 30, 4, 1), (30, 60, 1, 3)]},
    "points.cu": BOTH,
    "pairs.cu": BOTH
    | {"DIMENSIONS GRADIENT ROUGH DENSITIES": [(1, 0, 0, 1), (1, 1, 1, 4), (2, 0, 1, 4), (2, 1, 0, 1), (3, 0, 0, 4), (3, 0, 1, 1), (3, 1, 0, 1), (3, 1, 1, 4)]},
    "spread.cu": BOTH | {"DIMENSIONS BLOCK": BLOCKS, "WIDTH PADDED TERMS": WINDOWS},
    "convolve.cu": BOTH | {"DIMENSIONS BLOCK": BLOCKS},
    "interpolate.cu": BOTH | {"DIMENSIONS BLOCK": BLOCKS, "WIDTH PADDED TERMS": WINDOWS, "GRADIENT SLOPE_TERMS": [(0, 9), (1, 9)]},
    "truncation.cu": BOTH | {"P_MAX THREADS": [(24, 64), (44, 64), (60, 32)]},
}


def constants():
    """Macros of every compilation of each file, by its name."""
    # The tests as the README's command builds them: a choice of crates would be compiled anew, with other features.
    command = "cargo test --quiet --release --locked --no-run --message-format=json"
    built = subprocess.run(command.split(), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    programs = [m["executable"] for m in messages if m.get("executable") and m["profile"]["test"] and m["target"]["name"] in ("cuda", "internals")]
    found = {}
    for program in programs:
        options = ["--quiet", "--nocapture", "the_source_has_these_kernels"]
        tests = subprocess.run([program, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        found |= {file: json.loads(macros) for file, macros in re.findall(r"macros of (\S+): (.*)", tests.stdout)}
    return found


def in_pairs(rows):
    """Some of these rows, in which every two values of two columns meet that meet in all."""
    pairs_of = lambda row: set(itertools.combinations(enumerate(row), 2)) or {tuple(row)}
    missing = set().union(*map(pairs_of, rows))
    chosen = []
    while missing:
        best = max(rows, key=lambda row: len(pairs_of(row) & missing))
        chosen.append(best)
        missing -= pairs_of(best)
    return chosen


def variants(file):
    """Lists of macro definitions."""
    table = VARIANTS.get(file, {})
    if isinstance(table, list):
        return table
    out = []
    for values in in_pairs(list(itertools.product(*table.values()))):
        macros = []
        for macro, value in zip(table, values):
            values_of = value if isinstance(value, tuple) else (value,)
            macros += [f"{name}={each}" for name, each in zip(macro.split(), values_of)]
        out.append(macros)
    return out


def variants_for(file, architecture):
    """All of them for one architecture; the first and the last for the others, since variants differ in what they compute, not in
    what they use of an architecture."""
    every = variants(file)
    return every if architecture == ARCHITECTURES[1] else every[:1] + every[1:][-1:]


def load():
    import nvidia.cuda_nvrtc

    folder = Path(next(iter(nvidia.cuda_nvrtc.__path__))) / "lib"
    return ctypes.CDLL(str(next(p for p in sorted(folder.glob("libnvrtc.so.*")) if "alt" not in p.name)))


def log(nvrtc, program):
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, text)
    return text.value.decode()


def headers(path):
    """What the file may include."""
    return sorted({*(ROOT / "kernels/cuda").glob("*.cuh"), *path.parent.glob("*.cuh")})


def compile_kernel(nvrtc, path, headers, architecture, macros, extra=()):
    strings = lambda items: (ctypes.c_char_p * len(items))(*items)
    program = ctypes.c_void_p()
    status = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program),
        path.read_bytes(),
        path.name.encode(),
        len(headers),
        strings([header.read_bytes() for header in headers]),
        strings([header.name.encode() for header in headers]),
    )
    if status == 0:
        options = [f"--gpu-architecture={architecture}", "--std=c++17", "--extra-device-vectorization", *extra]
        options = [option.encode() for option in options + [f"--define-macro={macro}" for macro in macros]]
        status = nvrtc.nvrtcCompileProgram(program, len(options), strings(options))
    text = log(nvrtc, program)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return status == 0, text


def main():
    nvrtc = load()
    shared = constants()
    only = sys.argv[1:]
    paths = sorted(ROOT.glob("kernels/*/*.cu"))
    if len({path.name for path in paths}) < len(paths):
        sys.exit("two kernel files have the same name, by which their constants and variants are found here: rename one")
    jobs = [
        (path, architecture, shared[path.name] + macros)
        for path in paths
        if not only or path.name in only
        for architecture in ARCHITECTURES
        for macros in variants_for(path.name, architecture)
    ]
    # NVRTC compiles in threads side by side, and Python waits for it without its lock.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = pool.map(lambda job: compile_kernel(nvrtc, job[0], headers(job[0]), *job[1:]), jobs)
        failed = 0
        for (path, architecture, macros), (passed, text) in zip(jobs, results):
            if not passed or text.strip():
                failed += 1
                print(f"{path.name} {architecture} {' '.join(macros)}: FAILED\n{text}", file=sys.stderr)
    print(f"{len(jobs)} kernel files compiled for {', '.join(ARCHITECTURES)}, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
