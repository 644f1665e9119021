"""A model of the distributed fast multipole sum, up to 1,024 GPUs and 1e12 points (docs/performance.md, "To 1,024 GPUs").

    python3 docs/performance/model.py                     # tables in Markdown: fits, errors, predictions, limits
    python3 docs/performance/model.py --plot model.svg    # the plot; needs matplotlib

Needs numpy. Counts come from ranks.json (made by ranks.sh), times are those of docs/performance.md, "Several GPUs". What was
fitted on which of them, and tested on which, is in `TRAINED` and in the column "used for" of the tables.
"""

import argparse
import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
DIMENSION = {"cube": 3, "sphere": 2}

# Leaves that are near a leaf, about, by which near pairs per point become points per leaf.
NEAR = {"cube": 27, "sphere": 12}

# Near pairs per point with the leaves of a GPU (docs/performance.md, "GPU": cube at 2^27, sphere at 2^23).
PAIRS_ON_GPU = {"cube": 2566, "sphere": 1794}

# What sums and plans take, by docs/performance.md, "Several GPUs": two or four H100 of one host, seconds; the rows of four and those below with
# copies between GPUs. Columns: points in all, distribution, GPUs, on the device, apply held, whole apply, megabytes sent.
MEASURED = [
    (4e6, "cube", 1, 0.008, 0.015, None, None),
    (4e6, "sphere", 1, 0.009, 0.015, None, None),
    (2**26, "cube", 1, 0.150, 0.244, None, None),
    (2**26, "sphere", 1, 0.114, 0.211, None, None),
    (2**27, "cube", 1, 0.301, 0.579, None, None),
    (2**27, "sphere", 1, 0.229, 0.459, None, None),
    (2**28, "cube", 1, 0.617, 1.11, None, None),
    (4e6, "cube", 2, 0.007, None, None, 7.9),
    (4e6, "sphere", 2, 0.005, None, None, 3.6),
    (2**26, "cube", 2, 0.071, None, None, 31),
    (2**26, "sphere", 2, 0.061, None, None, 17),
    (2**27, "cube", 2, 0.147, 0.224, 0.613, 43),
    (2**27, "sphere", 2, 0.129, 0.240, 0.864, 29),
    (2**27, "cube", 4, 0.078, 0.344, 0.713, 70),
    (2**27, "sphere", 4, 0.069, 0.167, 0.485, 43),
    (2**28, "sphere", 1, 0.553, 0.649, None, None),
    (2**29, "cube", 2, 0.622, 1.06, 1.72, 126),
    (2**29, "sphere", 2, 0.548, 1.24, 1.90, 107),
    (2**30, "cube", 4, 0.721, 1.60, 3.41, 256),
    (2**30, "sphere", 4, 0.563, 1.04, 3.04, 113),
]

# Which of them the constants come from: one GPU at 2^26, two GPUs at 4e6, and of whole sums 2^27 in the cube.
TRAINED = {(2**26, 1), (4e6, 1), (4e6, 2)}

# Of counts: up to 16 ranks, and up to 2^20 points.
TRAINED_RANKS, TRAINED_POINTS = 16, 2**20

# Assumed of a cluster, not measured: nodes of 8 GPUs, a network port of 400 Gb/s for each GPU of which messages through the
# host's memory reach half, and 5 microseconds for a message from host to host.
WIRE = 25e9
LATENCY = 5e-6

# Counted in every sum (ranks.json): calls in which all ranks take part.
COLLECTIVES = 13

# Work of the slowest rank over the mean, of well dealt points (docs/performance.md, "Several processes": 1.07 to 1.09 by
# processor time).
IMBALANCE = 1.07

# Of one GPU: share of M2L in its time, which grows as the fourth power of p' (docs/performance.md, "GPU").
M2L = 0.35

# Bytes of GPU memory for each point of a rank: those of plans on one GPU while they are made (docs/performance.md, "A thousand
# million points on one GPU"), and 24 of a rank's targets, which are kept apart (fmm::gpu::estimate). Of host memory by measured
# peaks (docs/clusters.md, 2 ranks).
GPU_BYTES = {"cube": 52 + 24, "sphere": 90 + 24}
HOST_BYTES = {"cube": 311, "sphere": 433}
MEMORY = {"H100, 80 GB": 85e9, "H200, 141 GB": 150e9}
HOST_MEMORY = 2e12 / 8  # of one rank on a node of 2 TB with 8 GPUs

# Depth of the octree at 2^20 points (ranks.json), and by how many times more points it grows by one; keys have 21 levels.
DEPTHS = {"cube": (5, 8), "sphere": (7, 4), "graded plate": (14, 4), "Plummer": (11, 8)}
DEEPEST = 21

# Parts that are dealt out, most of each rank (64 at least, and a level splits into 8), and bytes of one: a box of the top with
# its place in the index; and of what ranks add up to count it.
GRAINS, GRAIN_BYTES, COUNT_BYTES = 512, 200, 80


def load():
    lines = (HERE / "ranks.json").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def shell(side, width, dimension):
    """Boxes around a block of side^dimension boxes."""
    return (side + 2 * width) ** dimension - side**dimension


def inner(ranks, dimension):
    """Share of the border of a rank's points that has neighbours: those at the rim of a cube have none."""
    return 1 - ranks ** (-1 / dimension)


def sources_near(n, ranks, occupancy, dimension):
    """Sources of other ranks in leaves around those of n points, but for a factor: the border of a share."""
    side = (n / occupancy) ** (1 / dimension)
    return occupancy * shell(side, 1, dimension) * inner(ranks, dimension)


def boxes_far(n, ranks, occupancy, dimension):
    """Other ranks' boxes that are translated, but for a factor: two layers on every level of a rank's own boxes, and as many
    for one box on each level above, log P of them."""
    side = (n / occupancy) ** (1 / dimension)
    levels = int(np.ceil(np.log2((n * ranks / occupancy) ** (1 / dimension))))
    sides = [max(side / 2**level, 1.0) for level in range(max(levels - 1, 1))]
    return sum(shell(side, 2, dimension) for side in sides) * inner(ranks, dimension)


class Counts:
    """What a rank gets and sends, of the rank that has most."""

    def __init__(self, rows):
        self.factors, self.rows = {}, []
        for distribution, dimension in DIMENSION.items():
            own = [row for row in rows if row["distribution"] == distribution and row["ranks"] > 1]
            trained = [row for row in own if row["ranks"] <= TRAINED_RANKS and row["n"] <= TRAINED_POINTS]
            mean = lambda values: float(np.exp(np.mean(np.log(values))))
            near = mean([row["halo_sources"] / sources_near(*self.of(row), dimension) for row in trained])
            far = mean([row["halo_multipoles"] / boxes_far(*self.of(row), dimension) for row in trained])
            # Coefficients of an expansion, from what is sent besides strengths.
            coefficients = mean([(row["bytes_sent"] / 4 - row["halo_sources"]) / row["halo_multipoles"] for row in trained])
            # Larger truncation numbers where more of what a rank sees is others'.
            alone = [row for row in rows if row["distribution"] == distribution and row["ranks"] == 1]
            self.factors[distribution] = (near, far, coefficients)
            self.rows += [(row, row in trained) for row in own]
            self.alone = {**getattr(self, "alone", {}), **{(row["distribution"], row["n"]): row for row in alone}}
        self.growth = self.fit_growth()

    @staticmethod
    def of(row):
        occupancy = row["p2p_pairs"] / row["n"] / NEAR[row["distribution"]]
        return row["n"] / row["ranks"], row["ranks"], occupancy

    def predict(self, distribution, n, ranks, occupancy, coefficients=None, strength=4):
        """Sources, expansions and bytes of a rank with n points."""
        near, far, fitted = self.factors[distribution]
        dimension = DIMENSION[distribution]
        sources = near * sources_near(n, ranks, occupancy, dimension)
        sources = min(sources, n * (ranks - 1))
        expansions = far * boxes_far(n, ranks, occupancy, dimension)
        return sources, expansions, strength * sources + 4 * (coefficients or fitted) * expansions

    def fit_growth(self):
        """How p' grows with the share of others among the sources that a rank sees: p' = p'(one rank) (1 + growth x share)."""
        pairs = []
        for row, trained in self.rows:
            alone = self.alone.get((row["distribution"], row["n"]))
            if trained and alone:
                share = row["halo_sources"] / (row["halo_sources"] + row["n"] / row["ranks"])
                pairs.append((share, row["mean_p_prime"] / alone["mean_p_prime"] - 1))
        if not pairs:
            return 0.0
        shares, growths = np.array(pairs).T
        return float(shares @ growths / (shares @ shares))


class Times:
    """Seconds of a sum on GPUs; constants by the measured sums in `TRAINED`."""

    def __init__(self, counts):
        self.counts = counts
        measured = {(row[0], row[1], row[2]): row for row in MEASURED}
        self.start, self.point, self.host = {}, {}, {}
        for distribution in DIMENSION:
            small, large = (measured[n, distribution, 1] for n in (4e6, 2**26))
            self.point[distribution] = (large[3] - small[3]) / (large[0] - small[0])
            self.start[distribution] = max(small[3] - self.point[distribution] * small[0], 0.0)
            # Copies from and to the host's memory.
            self.host[distribution] = (large[4] - large[3]) / large[0]
        # Coefficients of an expansion on a GPU, and what an exchange takes, from the smallest sum on two GPUs.
        sizes, rates = [], []
        for distribution in DIMENSION:
            n, _, ranks, seconds, _, _, megabytes = measured[4e6, distribution, 2]
            sources, expansions, _ = self.volume(distribution, n / ranks, ranks, 1.0)
            sizes.append((1e6 * megabytes - 8 * sources) / 4 / expansions)
            alone = self.start[distribution] + self.point[distribution] * n / ranks
            rates.append(max(seconds - alone, 0.0) / (1e6 * megabytes))
        self.coefficients = float(np.mean(sizes))
        self.exchange = float(np.mean(rates))  # seconds a byte through the host, packing included
        # Ways of strengths and sums: 16 bytes of each point, half of which change ranks on two.
        n, _, ranks, _, held, whole, _ = measured[2**27, "cube", 2]
        self.route = (whole - held) / (16 * n / ranks * (1 - 1 / ranks))

    def volume(self, distribution, n, ranks, coefficients=None):
        occupancy = PAIRS_ON_GPU[distribution] / NEAR[distribution]
        return self.counts.predict(distribution, n, ranks, occupancy, coefficients or self.coefficients, strength=8)

    def device(self, distribution, n, ranks, cluster=False):
        """From strengths on the device to sums there, with what is exchanged meanwhile."""
        own = self.start[distribution] + self.point[distribution] * n
        if ranks == 1:
            return own
        sources, expansions, _ = self.volume(distribution, n, ranks)
        larger = 1 + self.counts.growth * sources / (sources + n)
        own *= 1 + M2L * (larger**4 - 1)
        seconds = 4 * self.coefficients * expansions * self.exchange
        if not cluster:
            return own + seconds
        wire = 4 * self.coefficients * expansions / WIRE
        return IMBALANCE * own + seconds + wire + self.rounds(ranks)

    def rounds(self, ranks):
        """Latency: calls of all ranks, trees of depth log2 P."""
        return COLLECTIVES * np.log2(ranks) * LATENCY + 2 * 60 * LATENCY

    def held(self, distribution, n, ranks, cluster=False):
        """With the host's copies, and strengths of near sources, which come before."""
        seconds = self.device(distribution, n, ranks, cluster) + self.host[distribution] * n
        if ranks > 1:
            sources = self.volume(distribution, n, ranks)[0]
            seconds += 8 * sources * (self.exchange + (1 / WIRE if cluster else 0.0))
        return seconds

    def whole(self, distribution, n, ranks, cluster=False):
        """With the ways of strengths and sums between ranks."""
        moved = 16 * n * (1 - 1 / ranks)
        seconds = self.held(distribution, n, ranks, cluster) + moved * self.route
        return seconds + (moved / WIRE + 2 * 2 * ranks * LATENCY if cluster else 0.0)


def off(predicted, measured):
    return f"{predicted / measured - 1:+.0%}".replace("-", "−")


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def header(*cells):
    row(*cells)
    print("|" + "---|" * len(cells))


def power(n):
    exponent = np.log2(n)
    if abs(exponent - round(exponent)) < 1e-9:
        return f"2^{round(exponent)}"
    return f"{n:.3g}".replace("e+", "e").replace("e0", "e")


def tables_of_counts(counts):
    print("Factors of the border's sources and of expansions, coefficients of an expansion:\n")
    for distribution, (near, far, coefficients) in counts.factors.items():
        print(f"- {distribution}: {near:.2f}, {far:.2f}, {coefficients:.0f}")
    print(f"- p' grows by {counts.growth:.2f} times the share of others' sources\n")
    header("points", "N", "ranks", "used for", "near sources", "model", "expansions", "model", "MB sent", "model")
    errors = {True: [], False: []}
    for of, trained in counts.rows:
        predicted = counts.predict(of["distribution"], *counts.of(of))
        measured = (of["halo_sources"], of["halo_multipoles"], of["bytes_sent"])
        errors[trained].append([p / m - 1 for p, m in zip(predicted, measured)])
        shown = [f"{measured[0]:,}", off(predicted[0], measured[0]), f"{measured[1]:,}", off(predicted[1], measured[1])]
        shown += [f"{1e-6 * measured[2]:.1f}", off(predicted[2], measured[2])]
        row(of["distribution"], power(of["n"]), of["ranks"], "fit" if trained else "test", *shown)
    for trained, name in ((True, "fitted"), (False, "tested")):
        if errors[trained]:
            mean, most = (f(np.abs(errors[trained]), axis=0) for f in (np.mean, np.max))
            what = zip(("near sources", "expansions", "bytes"), mean, most)
            print(f"\n{name}: " + ", ".join(f"{name} {a:.0%} on average, {b:.0%} at most" for name, a, b in what))


def table_of_times(times):
    header("points", "", "GPUs", "used for", "on the device / s", "model", "held / s", "model", "whole / s", "model", "MB sent", "model")
    tested = []
    for n, distribution, ranks, device, held, whole, megabytes in MEASURED:
        trained = (n, ranks) in TRAINED
        cells = []
        functions = (times.device, times.held, times.whole)
        for seconds, of in zip((device, held, whole), functions):
            predicted = of(distribution, n / ranks, ranks)
            cells += [f"{seconds:.3f}", off(predicted, seconds)] if seconds else ["", ""]
            if seconds and not trained and (of != times.whole or distribution != "cube"):
                tested.append(abs(predicted / seconds - 1))
        if megabytes:
            predicted = times.volume(distribution, n / ranks, ranks)[2]
            cells += [f"{megabytes}", off(predicted, 1e6 * megabytes)]
        else:
            cells += ["", ""]
        row(power(n), distribution, ranks, "fit" if trained else "test", *cells)
    print(f"\ntimes tested: {np.mean(tested):.0%} on average, {np.max(tested):.0%} at most")


RANKS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]


def tables_of_predictions(times):
    print("\nWeak scaling, 2^28 points for each GPU, seconds (efficiency):\n")
    header("GPUs", "points", *(f"{d}, {what}" for d in DIMENSION for what in ("on the device", "held", "whole")), "MB sent, cube", "sphere")
    for ranks in RANKS:
        cells = []
        for distribution in DIMENSION:
            for of in (times.device, times.held, times.whole):
                seconds, one = of(distribution, 2**28, ranks, True), of(distribution, 2**28, 1, True)
                cells.append(f"{seconds:.2f} ({one / seconds:.0%})" if of != times.whole else f"{seconds:.2f}")
        megabytes = [1e-6 * times.volume(d, 2**28, ranks)[2] if ranks > 1 else 0.0 for d in DIMENSION]
        row(ranks, power(2.0**28 * ranks), *cells, *(f"{m:.0f}" for m in megabytes))
    for n in (2.0**30, 1e12):
        print(f"\nStrong scaling, {power(n)} points, seconds held (speedup, the first row being as many as it has GPUs):\n")
        header("GPUs", "points of one", "fits", *(f"{d}, {what}" for d in DIMENSION for what in ("on the device", "held")))
        first = {}
        for ranks in [*RANKS, 2048, 4096]:
            if n / ranks > 1.5e9 or ranks > 1024 and n < 1e12:
                continue
            cells = []
            for distribution in DIMENSION:
                for of in (times.device, times.held):
                    seconds = of(distribution, n / ranks, ranks, True)
                    base = first.setdefault((distribution, of), seconds * ranks)
                    cells.append(f"{seconds:.3f} ({base / seconds:.0f})")
            fits = [name for name, memory in MEMORY.items() if n / ranks < memory / max(GPU_BYTES.values())]
            row(ranks, power(n / ranks), fits[0] if fits else "none", *cells)


def table_of_limits():
    print()
    header("what", "holds to")
    for name, memory in MEMORY.items():
        for distribution, each in GPU_BYTES.items():
            most = memory / each
            row(f"memory of a GPU, {name}, {each} bytes a point ({distribution})", f"{most:.1e} points a GPU, {1024 * most:.1e} on 1,024")
    for distribution, each in HOST_BYTES.items():
        most = HOST_MEMORY / each
        row(f"memory of the host, 250 GB a rank, {each} bytes a point ({distribution})", f"{most:.1e} a rank, {1024 * most:.1e}")
    row("32-bit indices", f"{2**32 - 65:.1e} sources of a rank and around it")
    for name, (depth, times) in DEPTHS.items():
        need = depth + np.ceil(np.log(1e12 / 2**20) / np.log(times))
        row(f"21 levels of keys, {name}", f"{2**20 * float(times) ** (DEEPEST - depth):.1e} points; 1e12 need {need:.0f}")
    for ranks in (1024, 65536):
        grains = GRAINS * ranks
        sizes = f"{1e-9 * grains * GRAIN_BYTES:.2g} GB on each rank, {1e-6 * grains * COUNT_BYTES:.0f} MB added up over all"
        row(f"top of the octree, {ranks} ranks", f"{grains:.1e} parts, {sizes}")


def plot(times, path):
    import matplotlib

    matplotlib.use("Agg")
    # The same picture from the same numbers.
    matplotlib.rcParams["svg.hashsalt"] = "farad"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    for distribution, colour in (("cube", "tab:blue"), ("sphere", "tab:orange")):
        for of, line, what in ((times.device, "-", "on the device"), (times.held, "--", "held")):
            weak = [of(distribution, 2**28, 1, True) / of(distribution, 2**28, ranks, True) for ranks in RANKS]
            axes[0].semilogx(RANKS, weak, line, color=colour, base=2, label=f"{distribution}, {what}")
            for n in (2.0**27, 2.0**30, 1e12):
                ranks = [p for p in [*RANKS, 2048, 4096] if n / p < 1.5e9 and (p <= 1024 or n == 1e12)]
                seconds = [of(distribution, n / p, p, True) for p in ranks]
                label = f"{distribution}, {what}" if n == 2.0**30 else None
                axes[1].loglog(ranks, seconds, line, color=colour, label=label)
        marks = [(p, s) for n, d, p, s, *_ in MEASURED if d == distribution and n == 2**27]
        axes[1].loglog(*zip(*marks), "o", color=colour, label=f"{distribution}, measured at 2^27")
    for n, at in ((2.0**27, 1.2), (2.0**30, 10.0), (1e12, 500.0)):
        above = 1.35 * times.held("cube", n / max(at, 1024.0 if n == 1e12 else 1.0), 2, True)
        axes[1].annotate(f"{power(n)} points", (at, above), fontsize=9)
    axes[0].set_ylim(0, 1.1)
    axes[1].set_ylim(1e-3, 12)
    axes[0].set_ylabel("efficiency, 2^28 points for each GPU")
    axes[1].set_ylabel("seconds of one sum")
    for ax in axes:
        ax.set_xlabel("GPUs")
        ax.grid(True, which="major", alpha=0.3)
        ax.legend(fontsize=8, loc="lower left")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    counts = Counts(load())
    times = Times(counts)
    if arguments.plot:
        plot(times, arguments.plot)
        return
    tables_of_counts(counts)
    print()
    table_of_times(times)
    tables_of_predictions(times)
    table_of_limits()


if __name__ == "__main__":
    main()
