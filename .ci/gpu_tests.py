#!/usr/bin/env python3
"""Keeps what is known of the tests that need a GPU, which CI has none for.

    python3 .ci/gpu_tests.py run COMMIT TEST_PROGRAM ...     on a machine with a GPU: runs them, writes .ci/gpu_tests.json
    python3 .ci/gpu_tests.py check                           says which kernels changed since
"""

import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Tests that use a GPU, of programs that have others.
ONLY = {"internals": ["gpu::", "device::", "kernel::", "memory::"]}
RECORD = ROOT / ".ci/gpu_tests.json"


def kernels():
    files = sorted(ROOT.glob("kernels/*/*.cu*"))
    # Comments change no kernel.
    code = lambda file: re.sub(rb"\n+", b"\n", re.sub(rb" *//[^\n]*\n?", b"\n", file.read_bytes()))
    return {str(f.relative_to(ROOT)): hashlib.sha256(code(f)).hexdigest()[:16] for f in files}


def run(commit, programs):
    passed, failed = {}, False
    for program in programs:
        name = re.sub(r"-[0-9a-f]{16}$", "", Path(program).name)
        environment = {**os.environ, "FARAD_REQUIRE_GPU": "1"}
        out = subprocess.run([program, *ONLY.get(name, [])],
                             env=environment, capture_output=True, text=True, cwd=ROOT)
        counts = re.findall(r"test result: \w+\. (\d+) passed; (\d+) failed", out.stdout)
        passed[name] = passed.get(name, 0) + sum(int(p) for p, _ in counts)
        if out.returncode:
            failed = True
            print(out.stdout[-6000:], out.stderr[-2000:])
    card = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
    record = {
        "commit": commit,
        "date": datetime.date.today().isoformat(),
        "card": card.stdout.splitlines()[0].strip(),
        "passed": passed,
        "kernels": kernels(),
    }
    print(json.dumps({k: v for k, v in record.items() if k != "kernels"}))
    if failed:
        sys.exit("not all passed: no record")
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


def check():
    if not RECORD.exists():
        print("GPU tests: no run is on record")
        return
    record = json.loads(RECORD.read_text())
    print(f"GPU tests last ran at {record['commit']} on {record['date']}, {record['card']}: {sum(record['passed'].values())} passed")
    now = kernels()
    changed = sorted(f for f in now.keys() | record["kernels"].keys() if now.get(f) != record["kernels"].get(f))
    if changed:
        print("CHANGED SINCE, not tested on a GPU:", *changed, sep="\n  ")


if sys.argv[1] == "run":
    run(sys.argv[2], sys.argv[3:])
else:
    check()
