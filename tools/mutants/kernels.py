#!/usr/bin/env python3
"""Mutants of the GPU's kernels: one changed line a kernel, and which tests find it.

    python3 kernels.py hook CHECKOUT                      a copy whose programs compile kernels with one line changed, as the
                                                          variables FARAD_KERNEL_FILE, _LINE (from 1) and _TEXT tell
    python3 kernels.py choose SEED MACROS > MUTANTS.tsv   MACROS has the lines "macros of FILE: [...]" that the crates' unit
                                                          tests print (`-- --nocapture the_source_has_these_kernels`)
    python3 kernels.py run MUTANTS.tsv FOUND.tsv JOBS SECONDS FMM BEM FGT CUDA    unit test programs of the crates, on a GPU
"""

import json
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

ROOT = Path(__file__).resolve().parents[2]
SWAPS = [(" + ", " - "), (" - ", " + "), (" * ", " + "), (" / ", " * "), (" < ", " >= "), (" > ", " <= "), (" <= ", " > "),
         (" >= ", " < "), (" += ", " -= "), (" == ", " != "), (" && ", " || "), (" || ", " && ")]
HOOK = """    let changed;
    let source = if let Ok(line) = std::env::var("FARAD_KERNEL_LINE") {
        let file = std::env::var("FARAD_KERNEL_FILE").unwrap_or_default();
        let new = std::env::var("FARAD_KERNEL_TEXT").unwrap_or_default();
        let change = |name: &str, text: &str| -> String {
            if name != file {
                return text.to_owned();
            }
            let at: usize = line.parse().unwrap_or(0);
            text.lines().enumerate().map(|(k, l)| if k + 1 == at { format!("{new}\\n") } else { format!("{l}\\n") }).collect()
        };
        let text = change(source.name, source.text);
        let headers: Vec<(&str, String)> = source.headers.iter().map(|h| (h.0, change(h.0, h.1))).collect();
        changed = (text, headers);
        let headers: Vec<(&str, &str)> = changed.1.iter().map(|h| (h.0, h.1.as_str())).collect();
        let source = Source { text: &changed.0, headers: &headers, ..*source };
        return run(&source, options);
    } else {
        source
    };
"""


def hook(checkout):
    path = Path(checkout) / "crates/cuda/src/compiler.rs"
    text = path.read_text()
    # Neither loaded nor kept.
    text = text.replace("if let Some(image) = key.load() {", 'if let Some(image) = key.load().filter(|_| std::env::var_os("FARAD_KERNEL_LINE").is_none()) {')
    text = text.replace("    key.store(&image);", '    if std::env::var_os("FARAD_KERNEL_LINE").is_none() {\n        key.store(&image);\n    }')
    text = text.replace("fn run(source: &Source<'_>, options: &[String]) -> Result<Vec<u8>, Error> {\n", "fn run_as_written(source: &Source<'_>, options: &[String]) -> Result<Vec<u8>, Error> {\n")
    text += "\nfn run(source: &Source<'_>, options: &[String]) -> Result<Vec<u8>, Error> {\n" + HOOK.replace("return run(", "return run_as_written(") + "    run_as_written(source, options)\n}\n"
    path.write_text(text)


def bodies(text):
    """Names and ranges of lines (from 1) of the functions of a file."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if re.search(r"__global__|__device__", line) and "constexpr" not in line:
            head = "\n".join(lines[start : start + 12])
            name = re.search(r"(\w+)\s*\(", re.sub(r"__launch_bounds__\([^)]*\)", "", head))
            end = start
            while end < len(lines) and lines[end] != "}":
                end += 1
            if name:
                yield name[1], start + 1, end + 1


def choose(seed, macros):
    sys.path.insert(0, str(ROOT / ".ci"))
    import compile_kernels as ck

    nvrtc = ck.load()
    shared = {file: json.loads(m) for file, m in re.findall(r"macros of (\S+): (.*)", Path(macros).read_text())}
    draw = random.Random(seed)
    users = {}
    for path in sorted(ROOT.glob("crates/*/kernels/*.cu")):
        for header in re.findall(r'#include "(\S+)"', path.read_text()):
            users.setdefault(header, path)

    def compiles(path, text):
        """Whether the file, or one that includes it, compiles with this text."""
        user = path if path.suffix == ".cu" else users.get(path.name)
        if user is None:
            return False
        scratch = Path("/tmp/kernels") / path.parent.parent.name
        scratch.mkdir(parents=True, exist_ok=True)
        copies = []
        for header in ck.headers(user):
            copy = scratch / header.name
            copy.write_text(text if header == path else header.read_text())
            copies.append(copy)
        copy = scratch / user.name
        copy.write_text(text if user == path else user.read_text())
        each = ck.variants(user.name)
        return all(ck.compile_kernel(nvrtc, copy, copies, "sm_90", shared[user.name] + m)[0] for m in (each[0], each[-1]))

    number = 0
    for path in sorted(ROOT.glob("crates/*/kernels/*.cu*")):
        text = path.read_text()
        lines = text.splitlines()
        for name, first, last in bodies(text):
            places = [(k, m.start(), old, new) for k in range(first, last - 1) for old, new in SWAPS
                      for m in re.finditer(re.escape(old), lines[k].split("//")[0]) if "for (" not in lines[k] and "assert" not in lines[k]]
            draw.shuffle(places)
            for k, at, old, new in places[:6]:
                changed = lines[k][:at] + new + lines[k][at + len(old) :]
                if compiles(path, "\n".join([*lines[:k], changed, *lines[k + 1 :]]) + "\n"):
                    print(number, path.relative_to(ROOT), name, k + 1, changed, lines[k], sep="\t", flush=True)
                    number += 1
                    break


def run(mutants, found, jobs, seconds, fmm, bem, fgt, cuda):
    end = time.monotonic() + float(seconds)
    programs = {"fmm": (fmm, "gpu::"), "bem": (bem, "device::"), "fgt": (fgt, "gpu::"), "cuda": (cuda, "")}
    done = {line.split("\t")[0] for line in Path(found).read_text().splitlines()} if Path(found).exists() else set()
    lock = Lock()

    def tests(program, only):
        out = subprocess.run([program, only, "--list", "--format", "terse"], capture_output=True, text=True).stdout
        return [line.removesuffix(": test") for line in out.splitlines() if line.endswith(": test")]

    def passes(program, name, environment, limit):
        try:
            return subprocess.run([program, "--exact", name], env={**os.environ, "FARAD_REQUIRE_GPU": "1", "RAYON_NUM_THREADS": "2", **environment},
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    every = {}
    for crate, (program, only) in programs.items():
        timed = []
        def one(name):
            start = time.monotonic()
            good = passes(program, name, {}, 200)
            return time.monotonic() - start, name, good
        with ThreadPoolExecutor(int(jobs)) as pool:
            timed = sorted(pool.map(one, tests(program, only)))
        every[crate] = [(t, n) for t, n, good in timed if good]
        print(crate, f"{sum(t for t, _ in every[crate]):.0f} s", "failed without mutants:", [n for _, n, good in timed if not good], flush=True)

    def mutant(line):
        number, file, kernel, at, new, old = line.split("\t")
        crate = file.split("/")[1]
        environment = {"FARAD_KERNEL_FILE": Path(file).name, "FARAD_KERNEL_LINE": at, "FARAD_KERNEL_TEXT": new}
        result = "lives"
        for seconds, name in every[crate]:
            if time.monotonic() > end:
                return
            if not passes(programs[crate][0], name, environment, max(30, 10 * seconds)):
                result = f"killed by {name}"
                break
        with lock, open(found, "a") as out:
            print(number, file, kernel, at, result, new.strip(), "was", old.strip(), sep="\t", file=out, flush=True)

    lines = [line for line in Path(mutants).read_text().splitlines() if line.split("\t")[0] not in done]
    with ThreadPoolExecutor(int(jobs)) as pool:
        list(pool.map(mutant, lines))


{"hook": hook, "choose": choose, "run": run}[sys.argv[1]](*sys.argv[2:])
