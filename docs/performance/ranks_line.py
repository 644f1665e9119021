"""One line of docs/performance/ranks.json from what ranks.sh has left in a folder: 1.json and 3.json by farad, 1.txt and 3.txt
by mpi_times.c, of runs with one sum and with three."""

import json
import re
import sys
from pathlib import Path

KEPT = ["n", "distribution", "p", "mean_p_prime", "leaf_size", "depth", "m2l_count", "p2p_pairs", "relative_l2_error"]
LINE = re.compile(r"rank (\d+) computing ([\d.]+) messages (\d+) bytes (\d+) collectives (\d+)")


def ranks(path):
    """Processor time, messages, bytes and collective calls of each rank."""
    found = LINE.findall(path.read_text(encoding="utf-8")) if path.exists() else []
    return {int(rank): [float(value) for value in values] for rank, *values in found}


def line(folder, once, thrice):
    report = json.loads((folder / f"{once}.json").read_text(encoding="utf-8"))
    out = {key: report[key] for key in KEPT}
    out["ranks"] = report.get("ranks", {}).get("count", 1)
    for key in ["imbalance", "points", "grains", "halo_sources", "halo_multipoles", "bytes_sent"]:
        if "ranks" in report:
            out[key] = report["ranks"][key]
    first, all_three = ranks(folder / f"{once}.txt"), ranks(folder / f"{thrice}.txt")
    if first and first.keys() == all_three.keys():
        of = [[(b - a) / 2 for a, b in zip(first[rank], all_three[rank])] for rank in sorted(first)]
        names = ["processor_s", "messages", "bytes_with_routes", "collectives"]
        for name, values in zip(names, zip(*of)):
            out[name] = {"mean": sum(values) / len(values), "most": max(values)}
        out["plan_collectives"] = max(values[3] for values in first.values()) - out["collectives"]["most"]
    return out


if __name__ == "__main__":
    print(json.dumps(line(Path(sys.argv[1]), "1", "3")))
