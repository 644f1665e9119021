"""Compares the capacitance matrices of every case solved by the fast multipole method and densely.

    python compare_methods.py FOLDER

FOLDER holds NAME.fmm and NAME.dense for each case. The matrices must agree to 10 times the tolerance of the fast sums,
relative to the largest entry.
"""

import json
import sys
from pathlib import Path


def entries(matrix):
    return [value for row in matrix for value in row]


def main(folder):
    pairs = sorted(folder.glob("*.fmm"))
    if not pairs:
        sys.exit(f"no solved cases in {folder}")
    failed = False
    for fmm_folder in pairs:
        name = fmm_folder.name.removesuffix(".fmm")
        fmm, dense = (json.loads((folder / f"{name}.{method}" / "results.json").read_text()) for method in ("fmm", "dense"))
        for results, method in ((fmm, "fmm"), (dense, "dense")):
            if results["status"] != "complete" or results["solver"]["method"] != method:
                sys.exit(f"{name}: status {results['status']}, method {results['solver']['method']}, not {method}")
        fast, exact = (entries(results["capacitance"]["maxwell_farad"]) for results in (fmm, dense))
        difference = max(abs(a - b) for a, b in zip(fast, exact, strict=True)) / max(map(abs, exact))
        limit = 10 * fmm["accuracy"]["fmm_tolerance"]
        verdict = "ok" if difference <= limit else "FAILED"
        failed |= difference > limit
        print(f"{name}: {verdict}, matrices differ by {difference:.1e} (at most {limit:.1e})")
    sys.exit(failed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
