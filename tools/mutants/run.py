#!/usr/bin/env python3
"""Which mutants live: runs the tests that come by each mutant until one fails.

    cargo test --no-run --message-format=json ... > TESTS.json        (in the changed checkout)
    python3 run.py MUTANTS.tsv TESTS.json FOUND [--jobs N] [--seconds S] [--most S] [--only FILE]

FOUND is a folder: `tests.json` has the seconds of each test and the mutants that it comes by, `found.tsv` one line a
mutant: number, "killed", "lives" or "unseen" (no test comes by), the test or how many passed. Mutants that are there are
not tried again; with --seconds the run ends then, and goes on when it is called again. --most: seconds of tests for one
mutant; what is not tried within them is "open". A test that takes ten times as long as without mutant counts as failed.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock


def programs(listed):
    """Test programs with the folder that each runs in."""
    found = []
    for line in Path(listed).read_text().splitlines():
        message = json.loads(line)
        if message.get("profile", {}).get("test") and message.get("executable"):
            found.append((message["executable"], str(Path(message["manifest_path"]).parent)))
    return found


def run(program, folder, name, limit, **more):
    """Whether a test passes, and its seconds."""
    environment = {**os.environ, "RAYON_NUM_THREADS": "2", **more}
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        environment["TMPDIR"] = scratch
        process = subprocess.Popen(
            [program, "--exact", name], cwd=folder, env=environment, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        try:
            passed = process.wait(limit) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            passed = False
    return passed, time.monotonic() - start


def survey(listed, jobs):
    tests = []
    for program, folder in programs(listed):
        names = [subprocess.run([program, "--list", "--format", "terse", *only], capture_output=True, text=True, cwd=folder).stdout
                 for only in ([], ["--ignored"])]
        all_of, ignored = ({line.removesuffix(": test") for line in text.splitlines() if line.endswith(": test")} for text in names)
        tests += [(program, folder, name) for name in sorted(all_of - ignored)]

    def one(test):
        with tempfile.TemporaryDirectory() as scratch:
            reached = Path(scratch) / "reached"
            passed, seconds = run(*test, 120, FARAD_REACHED=str(reached))
            numbers = sorted({int(n) for n in reached.read_text().split()}) if reached.exists() else []
        return {"test": test, "passed": passed, "seconds": seconds, "reached": numbers}

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, tests))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mutants")
    parser.add_argument("tests")
    parser.add_argument("found")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--most", type=float, default=1e9)
    parser.add_argument("--only")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    found = Path(options.found)
    found.mkdir(exist_ok=True)
    surveyed = found / "tests.json"
    if not surveyed.exists():
        surveyed.write_text(json.dumps(survey(options.tests, options.jobs)))
    tests = json.loads(surveyed.read_text())
    for test in tests:
        if not test["passed"]:
            print("fails without any mutant:", test["test"][2], f"{test['seconds']:.1f} s")
    tests = sorted((t for t in tests if t["passed"]), key=lambda t: t["seconds"])
    results = found / "found.tsv"
    done = {line.split("\t")[0] for line in results.read_text().splitlines()} if results.exists() else set()
    wanted = set(Path(options.only).read_text().split()) if options.only else None
    numbers = [line.split("\t")[0] for line in Path(options.mutants).read_text().splitlines()]
    numbers = [n for n in numbers if n not in done and (wanted is None or n in wanted)]
    lock = Lock()

    def one(number):
        those = [t for t in tests if int(number) in t["reached"]]
        words, passed, taken = ("lives" if those else "unseen"), 0, 0.0
        for test in those:
            if time.monotonic() > end:
                return
            if taken + test["seconds"] > options.most:
                words = "open"
                break
            good, seconds = run(*test["test"], max(20.0, 10 * test["seconds"]), FARAD_MUTANT=number)
            taken += seconds
            if not good:
                words = "killed"
                break
            passed += 1
        which = test["test"][2] if words == "killed" else f"{passed} of {len(those)}"
        with lock, results.open("a") as file:
            file.write(f"{number}\t{words}\t{which}\t{taken:.1f}\n")

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, numbers))
    lines = [line.split("\t") for line in results.read_text().splitlines()] if results.exists() else []
    for words in ("killed", "lives", "unseen", "open"):
        print(words, sum(line[1] == words for line in lines))


main()
