"""Tables in Markdown and the plot of time against error."""

import json
import os
import re
from pathlib import Path

import reference

WORK = {"potential": "potential", "gradient": "potential + gradient"}

# At least so many times as fast as FMM3D's best build, by row.
GOALS = {
    ("cube", "potential", 3.6e-5): 15,
    ("cube", "potential", 4.3e-8): 8,
    ("cube", "potential", 2.9e-11): 4,
    ("sphere", "potential", 2.0e-5): 15,
    ("sphere", "potential", 2.4e-8): 8,
    ("sphere", "potential", 1.4e-11): 4,
    ("cube", "gradient", 4e-8): 8,
    ("cube", "charges + dipoles", 3e-8): 8,
}


def write(measured, part, out, into):
    """Writes measurements.json, `part`.md and, for the comparison, error_time.svg; replaces the part's tables in `into`.

    A part that was not measured this time keeps its numbers in the JSON file.
    """
    numbers = out / "measurements.json"
    old = json.loads(numbers.read_text(encoding="utf-8")) if numbers.exists() else {}
    now = {"session": {key: value for key, value in measured.items() if key not in PARTS}, **measured[part]}
    numbers.write_text(json.dumps(old | {part: now}, indent=1) + "\n", encoding="utf-8")
    text = "\n".join([*session_lines(measured), "", *PARTS[part](measured, measured[part])]) + "\n"
    (out / f"{part}.md").write_text(text, encoding="utf-8")
    if part == "comparison":
        plot(measured[part], out / "error_time.svg")
    if into:
        if part == "comparison":
            picture = Path(os.path.relpath(out / "error_time.svg", into.parent)).as_posix()
            text += f"\n![Seconds against relative error, cube and sphere]({picture})\n"
        page = into.read_text(encoding="utf-8")
        pattern = re.compile(rf"(<!-- compare\.py: {part} -->\n).*?(\n<!-- end of {part} -->)", re.DOTALL)
        if not pattern.search(page):
            raise SystemExit(f"{into} has no lines '<!-- compare.py: {part} -->' and '<!-- end of {part} -->'")
        into.write_text(pattern.sub(lambda found: f"{found[1]}\n{text}{found[2]}", page), encoding="utf-8")


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows)]


def session_lines(measured):
    return [
        f"Measured {measured['date']}: {measured['processor']}, {measured['cores']} cores, {measured['threads']} threads; {measured['farad']}; "
        f"fmm3dpy {measured['fmm3dpy']}; seed {measured['seed']}."
    ]


def times(value):
    return f"{value:.1f} x"


def power(value, digits=1):
    """3.6e-5"""
    return re.sub(r"e([+-])0", r"e\1", f"{value:.{digits}e}")


def seconds(value):
    return f"{value:.3f}" if value < 1 else f"{value:.2f}"


def comparison(measured, c):
    slower = c["yardstick"]["seconds"] / reference.YARDSTICK["cube"].seconds
    yield f"N = {c['n']:,}, charges uniform in [-0.5, 0.5), medians of {len(c['yardstick_runs'])} round(s)."
    yield (
        f"**Yardstick**, measured here: FMM3D from PyPI on the cube at eps = 1e-3 takes **{c['yardstick']['seconds']:.2f} s** "
        f"[{power(c['yardstick']['error'])}] on {c['yardstick']['threads']:.2f} threads; on the reference machine "
        f"{reference.YARDSTICK['cube'].seconds} s. *Best build, scaled* is therefore FMM3D's best build on two threads of the reference machine "
        f"times {slower:.3f}: not measured here. Farad's columns are measured here."
    )
    if c["n"] != 1 << 20:
        yield f"\n**The reference figures are of N = {1 << 20:,}: with this N no ratio below means anything.**"
    yield ""
    head = ["points", "sum", "error to reach", "tolerance", "error", "setup / s", "apply / s", "first apply / s", "setup + first / s", "setup / apply"]
    head += ["best build, scaled / s [error]", "apply against it", "with setup", "target"]
    lines, by = [], {}
    for row in c["rows"]:
        key = (row["points"], row["work"], row["row"])
        if not row["own"]:
            by[key] = row
        both = row["setup_s"] + row["first_apply_s"]
        reached = row["error"] <= row["target"] and row["gradient_error"] <= reference.GRADIENT_ERROR * row["target"]
        gradient = f", gradient {power(row['gradient_error'])}" if row["gradient_error"] else ""
        missed = gradient + ("" if reached else " (missed)")
        line = [row["points"], WORK.get(row["work"], row["work"]), power(row["target"]) + (", as FMM3D's here" if row["own"] else "")]
        line += [power(row["tolerance"]), f"{power(row['error'])}{missed}"]
        line += [seconds(row["setup_s"]), seconds(row["apply_s"]), seconds(row["first_apply_s"]), seconds(both), f"{row['setup_s'] / row['apply_s']:.2f}"]
        if best := reference.BEST_BUILD.get(key):
            scaled = best.seconds * slower
            line += [f"{scaled:.1f} [{power(best.error)}]", f"**{times(scaled / row['apply_s'])}**", times(scaled / both), f"{GOALS[key]} x"]
        else:
            line += ["", "", "", ""]
        lines.append(line)
    yield from table(head, lines)
    yield ""
    one, eight = by["cube", "potential", 3.6e-5], by["cube", "8 densities", 3.6e-5]
    yield f"- 8 densities at once take **{eight['apply_s'] / one['apply_s']:.2f} x** the time of one (target: at most 4.5 x)."
    plate, ball = by["graded plate", "potential", 2.0e-5], by["sphere", "potential", 2.0e-5]
    yield (
        f"- The thin plate graded 1:1000 toward its edges takes **{plate['apply_s'] / ball['apply_s']:.2f} x** the sphere's time per point, both at an "
        "error of at most 2.0e-5 (target: at most 1.5 x)."
    )
    few = c["fmm3d_gradient"]
    yield (
        f"- FMM3D from PyPI with gradients at eps = {power(few['eps'], 0)}, N = {few['n']:,}: potential {power(few['error'])}, gradient "
        f"{power(few['gradient_error'])}. In the row with gradients their target error is therefore {reference.GRADIENT_ERROR} times that of potentials."
    )
    yield f"- Setup takes {one['setup_s'] / one['apply_s']:.2f} x one apply on the cube at 3.6e-5 (target: at most 0.5 x)."
    yield "\n**Farad's choices, and the machine's limit**\n"
    yield from limits(measured, c)
    yield "\n**Other libraries.** *Measured here*, tree included:\n"
    lines = [["FMM3D from PyPI, 1 thread", "cube", "1e-3", f"{power(c['yardstick']['error'])}", f"{c['yardstick']['seconds']:.1f}"]]
    lines += [["FMM3D from PyPI, 1 thread", f["points"], f"{power(f['eps'], 0)}", f"{power(f['error'])}", f"{f['seconds']:.1f}"] for f in c["fmm3d"]]
    yield from table(["library", "points", "eps", "error", "s"], lines)
    yield f"\n*Not measured here*: published times of the reference machine (2 threads), and the same multiplied by {slower:.3f}:\n"
    lines = []
    for (where, work, _), best in reference.BEST_BUILD.items():
        lines.append(["FMM3D, best build, tree included", where, WORK.get(work, work), best])
    for name, figures in reference.PEERS.items():
        work = "potential + gradient" if name.startswith("exafmm") else "potential"
        lines += [[f"{name}, setup not included", where, work, figure] for where, list_ in figures.items() for figure in list_]
    rows = [[*line, f"{power(f.error)}", f"{f.seconds:.1f}", f"{f.seconds * slower:.1f}"] for *line, f in lines]
    yield from table(["library", "points", "sum", "error", "reference machine / s", "scaled / s"], rows)


def limits(measured, c):
    """Rates of P2P and M2L compared with what the machine's arithmetic allows."""
    bounds = measured["limits"]
    if bounds:
        f32, f64 = bounds["single"], bounds["double"]
        yield (
            f"Limits with {bounds['threads']} threads, {bounds['simd']}, measured by `limits` (benches/src/limits.rs) in registers and first-level "
            f"cache alone: single precision {f32['multiply_adds'] / 1e9:.1f}e9 multiply-adds/s, {f32['pairs'] / 1e9:.2f}e9 pairs/s of the potential; "
            f"double {f64['multiply_adds'] / 1e9:.1f}e9 and {f64['pairs'] / 1e9:.2f}e9. M2L's multiply-adds are those of rotation, coaxial translation and "
            "rotation at the mean p', which is a lower bound of the work done. Rates are work over the stage's wall time."
        )
        yield ""
    head = ["points", "sum", "error", "precision", "p", "mean p'", "leaf size", "depth", "P2P / s", "1e9 pairs/s", "of limit"]
    head += ["M2L / s", "1e9 multiply-adds/s", "of limit", "P2M, M2M, L2L, L2P / s", "working memory, bytes per point"]
    lines = []
    for row in c["rows"]:
        r = row["report"]
        stages, densities = r["stages"], 8 if row["work"] == "8 densities" else 1
        bound = bounds and bounds[r["precision"]]
        near = bounds and bounds[r["near_precision"]]
        pairs = r["p2p_pairs"] / stages["p2p"] if stages["p2p"] else 0
        madds = densities * r["m2l_count"] * multiply_adds(r["mean_p_prime"]) / stages["m2l"] if stages["m2l"] else 0
        plain = bound and row["work"] == "potential"
        rest = [seconds(stages[s]) for s in ("p2m", "m2m", "l2l", "l2p")]
        memory = r["working_memory_bytes"]
        lines.append(
            [
                *(row["points"], WORK.get(row["work"], row["work"]), f"{power(row['error'])}", precision(r), f"{r['p']}", f"{r['mean_p_prime']:.2f}"),
                *(f"{r['leaf_size']}", f"{r['depth']}", seconds(stages["p2p"]), f"{pairs / 1e9:.2f}"),
                f"{pairs / near['pairs']:.0%}" if plain else "",
                *(seconds(stages["m2l"]), f"{madds / 1e9:.1f}", f"{madds / bound['multiply_adds']:.0%}" if bound else ""),
                *(", ".join(rest), f"{memory / r['n']:.0f}" if memory is not None else ""),
            ]
        )
    yield from table(head, lines)


def precision(r):
    """The precision of expansions, and that of near pairs where it differs."""
    return r["precision"] if r["near_precision"] == r["precision"] else f"{r['precision']}, near pairs {r['near_precision']}"


def multiply_adds(p):
    """Multiply-adds (or multiplications alone) of one M2L: two rotations about y, one translation along z, two turns about z.

    Of the rotated frame the coefficients with n p + m^2 <= p^2 take part (docs/math.md, eq. 29a); between whole p, interpolated.
    """
    if p != int(p):
        below = int(p)
        return (below + 1 - p) * multiply_adds(below) + (p - below) * multiply_adds(below + 1)
    p = int(p)
    kept = [(n, m) for n in range(p) for m in range(n + 1) if n * p + m * m <= p * p]
    rotations = 2 * sum(n + 1 + (n if m else 0) for n, m in kept)
    coaxial = sum((2 if m else 1) * sum(order == m for _, order in kept) ** 2 for m in range(p))
    return rotations + coaxial + 4 * p * (p - 1)


def scaling(measured, s):
    yield f"Charges of random sign, tolerance {power(s['tolerance'])} (error at most 3.6e-5 on the cube of N = {s['n']:,})."
    yield ""
    threads = sorted(map(int, s["threads"]))
    one, most = s["threads"][str(threads[0])], s["threads"][str(threads[-1])]
    rows = [[f"{t}", seconds(s["threads"][str(t)]["setup_s"]), seconds(s["threads"][str(t)]["apply_s"])] for t in threads]
    yield from table([f"threads, cube, N = {s['n']:,}", "setup / s", "apply / s"], rows)
    yield (
        f"\n{threads[-1]} threads against one: apply **{one['apply_s'] / most['apply_s']:.2f} x** (target with 2: 1.85 x), "
        f"setup {one['setup_s'] / most['setup_s']:.2f} x.\n"
    )
    head = ["points", "N", "precision", "mean p'", "leaf size", "setup / s", "apply / s", "us per point", "error", "working memory, bytes per point", "plan, bytes per point"]
    rows = []
    for r in s["sizes"]:
        memory = r["working_memory_bytes"]
        rows.append(
            [
                *(r["points"], f"{r['n']:,}", precision(r), f"{r['mean_p_prime']:.2f}", f"{r['leaf_size']}", seconds(r["setup_s"])),
                *(seconds(r["apply_s"]), f"{1e6 * r['apply_s'] / r['n']:.3f}", f"{power(r['error'])}"),
                *("" if memory is None else f"{memory / r['n']:.0f}", f"{r['plan_memory_bytes'] / r['n']:.0f}"),
            ]
        )
    yield from table(head, rows)
    yield ""
    for where in dict.fromkeys(r["points"] for r in s["sizes"]):
        each = [r["apply_s"] / r["n"] for r in s["sizes"] if r["points"] == where]
        yield f"- {where}: time per point within **{max(each) / min(each):.2f} x** (target from 1e5 to 1.6e7: 1.3 x)."
    yield "- Working memory is the most that planning and summing take beyond points, charges and results (target at 1.6e7: 150 bytes per point)."
    yield "- Errors are at 1000 random targets, fewer above 4e6 points."


def charges(measured, c):
    tolerances = sorted({r["tolerance"] for r in c["rows"]}, reverse=True)
    by = {(r["points"], r["charges"], r["tolerance"]): r["error"] for r in c["rows"]}
    yield f"N = {c['n']:,}, error of the potential by tolerance; an error above its tolerance is marked."
    yield ""
    rows = []
    for where, what in dict.fromkeys((r["points"], r["charges"]) for r in c["rows"]):
        errors = [(t, by[where, what, t]) for t in tolerances]
        rows.append([where, what, *(f"{power(e)}" + (" **(above)**" if e > t else "") for t, e in errors)])
    yield from table(["points", "charges", *(f"{power(t, 0)}" for t in tolerances)], rows)
    kept = sum(r["error"] <= r["tolerance"] for r in c["rows"])
    yield f"\n{kept} of {len(c['rows'])} keep their tolerance."


PARTS = {"comparison": comparison, "scaling": scaling, "charges": charges}


def plot(c, path):
    """Time against achieved error, both logarithmic: filled marks are measured here, hollow ones scaled from the reference machine."""
    import matplotlib

    matplotlib.use("svg")
    # The same picture from the same numbers.
    matplotlib.rcParams["svg.hashsalt"] = "farad"
    import matplotlib.pyplot as plt

    slower = c["yardstick"]["seconds"] / reference.YARDSTICK["cube"].seconds
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout="constrained")
    styles = {"FMM3D, best build": ("C3", "s"), "exafmm-t, single": ("C2", "v"), "exafmm-t, double": ("C2", "^"), "kifmm 2.0, single": ("C4", "<"), "kifmm 2.0, double": ("C4", ">")}
    for axes, where in zip(panels, ("cube", "sphere")):
        ours = sorted({(r["error"], r["apply_s"], r["setup_s"] + r["first_apply_s"]) for r in c["curve"][where]})
        errors = [o[0] for o in ours]
        axes.plot(errors, [o[1] for o in ours], "o-", color="C0", markersize=4, label="Farad, apply")
        axes.plot(errors, [o[2] for o in ours], "o--", color="C0", markersize=3, linewidth=1, label="Farad, setup + first apply")
        pypi = [(f["error"], f["seconds"]) for f in c["fmm3d"] if f["points"] == where]
        pypi += [(c["yardstick"]["error"], c["yardstick"]["seconds"])] if where == "cube" else []
        axes.plot(*zip(*sorted(pypi)), "D-", color="C1", markersize=5, label="FMM3D from PyPI, 1 thread (measured)")
        curves = {"FMM3D, best build": reference.best_build_curve(where), **{name: f.get(where, []) for name, f in reference.PEERS.items()}}
        for name, figures in curves.items():
            colour, marker = styles[name]
            x, y = [f.error for f in figures], [f.seconds * slower for f in figures]
            axes.plot(x, y, marker=marker, linestyle=":", color=colour, markerfacecolor="none", label=f"{name} (scaled)")
        axes.set(xscale="log", yscale="log", xlabel="relative L2 error", title=f"{where}, N = {c['n']:,}")
        axes.invert_xaxis()
        axes.grid(True, which="major", alpha=0.3)
    panels[0].set_ylabel("seconds")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize="small", frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
