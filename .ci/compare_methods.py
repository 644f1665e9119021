"""Compares the results of every case solved by the fast multipole method and densely.

    python compare_methods.py FOLDER

FOLDER holds NAME.fmm and NAME.dense for each case. Capacitance matrices, charges of conductors and solvation energies must agree to 10 times the
tolerance of the fast sums, relative to the largest of each.
"""

import json
import sys
from pathlib import Path


def entries(matrix):
    return [value for row in matrix for value in row]


def quantities(results):
    """Lists of the same length for both methods: matrix entries, charges, energies."""
    charges = results["charges"] or []
    solvation = results["solvation"]
    return (
        entries(results["capacitance"]["maxwell_farad"]),
        [conductor["charge_c"] for conductor in charges],
        [solvation["energy_j"]] if solvation else [],
    )


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
        limit = 10 * fmm["accuracy"]["fmm_tolerance"]
        for what, fast, exact in zip(("matrices", "charges", "energies"), quantities(fmm), quantities(dense), strict=True):
            if not exact:
                continue
            difference = max(abs(a - b) for a, b in zip(fast, exact, strict=True)) / max(map(abs, exact))
            verdict = "ok" if difference <= limit else "FAILED"
            failed |= difference > limit
            print(f"{name}: {verdict}, {what} differ by {difference:.1e} (at most {limit:.1e})")
    sys.exit(failed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
