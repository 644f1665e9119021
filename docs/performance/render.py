"""Renders docs/performance/gpu.json (made by gpu.sh) as the table of docs/performance.md, section GPU, and as a plot.

    python3 docs/performance/render.py                 # the table, to stdout
    python3 docs/performance/render.py --timeline      # when the stages of the hybrid sums ran
    python3 docs/performance/render.py --plot gpu.svg  # the plot; needs matplotlib
"""

import argparse
import json
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Rates that no version can exceed on an H200, for the floors (docs/performance.md, "GPU"): pairs of the special-function unit in
# single precision, floating-point operations, in double precision those of the tensor cores.
PAIRS = {"single": 4.2e12, "double": 1.4e12}
OPERATIONS = {"single": 67e12, "double": 67e12}

# Label, points and seconds of published sums on one GPU: Yokota2011, table of whole sums; Gumerov2008, table 5 (docs/references.bib).
PAPERS = [("Yokota and Barba 2011, one GPU", 2**20, 0.62), ("Gumerov and Duraiswami 2008, one GPU", 2**20, 0.91)]


def runs():
    lines = (HERE / "gpu.json").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def floor(report):
    """Seconds that pairs and translations take at those rates."""
    precision = report["precision"]
    operations = report["gpu"]["m2l_operations"] if report["gpu"] else 0
    return report["p2p_pairs"] / PAIRS[precision] + operations / OPERATIONS[precision]


def table():
    print("| points | N | backend | precision | error | on the GPU / ms | floor / ms | P2P / ms | pairs/s | M2L / ms | Tflop/s | tree and lists / ms |")
    print("|" + "---|" * 12)
    for run in runs():
        r = run["report"]
        gpu, stages = r["gpu"], r["stages"]
        name = r["distribution"]
        name += ", all pairs" if "--direct" in run["command"] else ""
        name += ", with gradient" if "--gradient" in run["command"] else ""
        on_gpu = gpu["m2l_operations"] > 0
        cells = [
            name,
            f"{r['n']:,}",
            r["backend"],
            r["precision"],
            f"{r['relative_l2_error']:.1e}",
            f"{1e3 * gpu['apply_s']:.2f}",
            f"{1e3 * floor(r):.2f}",
            f"{1e3 * stages['p2p']:.2f}",
            f"{r['p2p_pairs'] / stages['p2p']:.2e}",
            f"{1e3 * stages['m2l']:.2f}",
            f"{1e-12 * gpu['m2l_operations'] / stages['m2l']:.1f}" if on_gpu else "",
            f"{1e3 * gpu['tree_s']:.1f}",
        ]
        print("| " + " | ".join(cells) + " |")


def timeline():
    hybrid = [run["report"] for run in runs() if run["report"].get("timeline")]
    print("| stage, from / ms to / ms | on | " + " | ".join(f"{r['n']:,} points" for r in hybrid) + " |")
    print("|" + "---|" * (2 + len(hybrid)))
    # A stage of many levels is one span from its first begin to its last end.
    spans = []
    for report in hybrid:
        of = {}
        for part in report["timeline"]:
            key = (part["stage"], part["on"])
            begin, end = of.get(key, (part["begin"], part["end"]))
            of[key] = (min(begin, part["begin"]), max(end, part["end"]))
        spans.append(of)
    keys = sorted(spans[-1], key=lambda key: spans[-1][key]) if spans else []
    for stage, on in keys:
        cells = [f"{1e3 * of[stage, on][0]:.2f} to {1e3 * of[stage, on][1]:.2f}" for of in spans]
        print(f"| {stage} | {on} | " + " | ".join(cells) + " |")


def plot(path):
    import matplotlib

    matplotlib.use("Agg")
    # The same picture from the same numbers.
    matplotlib.rcParams["svg.hashsalt"] = "farad"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5))
    for backend in ["cuda", "hybrid"]:
        points = [
            (r["n"], r["gpu"]["apply_s"])
            for r in (run["report"] for run in runs() if not {"--direct", "--gradient"} & set(run["command"].split()))
            if r["backend"] == backend and r["distribution"] == "cube" and r["precision"] == "single"
        ]
        axes.loglog(*zip(*sorted(points)), "o-", label=f"Farad, {backend}, one H200")
    for name, n, seconds in PAPERS:
        axes.loglog(n, seconds, "s", label=name)
    axes.set_xlabel("points in a cube")
    axes.set_ylabel("time of one sum / s")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--timeline", action="store_true")
    arguments = parser.parse_args()
    if arguments.plot:
        plot(arguments.plot)
    elif arguments.timeline:
        timeline()
    else:
        table()
