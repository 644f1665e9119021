#!/usr/bin/env python3
"""Draws the pictures of the tutorials from the results of their own commands, off screen.

    pip install pyvista matplotlib
    cargo build --release
    python docs/images/tutorials.py target/release/farad [bus qubit ...]

Each tutorial's commands are run in a fresh folder as the tests run them (.ci/run_snippets.py).
"""

import csv
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pyvista
from PIL import Image

IMAGES = Path(__file__).resolve().parent
TUTORIALS = IMAGES.parent / "tutorials"
sys.path.insert(0, str(IMAGES.parent.parent / ".ci"))
from run_snippets import Document, Program  # noqa: E402

INK = "#1a1a1a"
MAP = "RdBu_r"
plt.rcParams.update({
    "font.size": 10, "axes.edgecolor": "#666666", "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none", "svg.hashsalt": "farad",
})


def plotter(size=(1600, 1200)):
    picture = pyvista.Plotter(off_screen=True, window_size=size, lighting="none")
    picture.set_background("white")
    picture.add_light(pyvista.Light(light_type="headlight", intensity=0.55))
    picture.enable_anti_aliasing("ssaa")
    return picture


def spread(surface, values, share=0.95):
    """A round number that the values of all but a part of the area are below."""
    order = np.argsort(np.abs(values))
    areas = surface.compute_cell_sizes(length=False, volume=False).cell_data["Area"][order]
    limit = np.abs(values)[order][np.searchsorted(np.cumsum(areas), share * areas.sum())]
    power = 10.0 ** np.floor(np.log10(limit))
    return next(power * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if power * step >= limit)


def add(picture, surface, values, limit, **more):
    surface = surface.copy()
    surface.cell_data["shown"] = values
    options = {"show_edges": True, "edge_color": "#777777", "line_width": 0.5, "ambient": 0.6, "diffuse": 0.9, **more}
    picture.add_mesh(surface, scalars="shown", cmap=MAP, clim=(-limit, limit), show_scalar_bar=False, **options)


def write_names(picture, places):
    """Writes names next to places."""
    picture.add_point_labels(
        list(places.values()), list(places), show_points=False, shape=None, font_family="arial", font_size=36,
        text_color="black", always_visible=True, margin=0,
    )


def look(picture, direction, up=(0.0, 0.0, 1.0)):
    picture.camera_position = [direction, (0.0, 0.0, 0.0), up]
    picture.reset_camera()


def save(picture, name, title, limit):
    """The picture without its margin, over a bar of the colours."""
    pixels = picture.screenshot(return_img=True)
    rows, columns = np.nonzero((pixels < 250).any(axis=2))
    pixels = pixels[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    width = min(6.0, 4.2 * pixels.shape[1] / pixels.shape[0])
    height = width * pixels.shape[0] / pixels.shape[1]
    figure = plt.figure(figsize=(width + 0.4, height + 0.95))
    axes = figure.add_axes((0.2 / (width + 0.4), 0.85 / (height + 0.95), width / (width + 0.4), height / (height + 0.95)))
    axes.imshow(pixels, interpolation="lanczos")
    axes.axis("off")
    colours = plt.cm.ScalarMappable(plt.Normalize(-limit, limit), MAP)
    bar = figure.add_axes((0.2, 0.45 / (height + 0.95), 0.6, 0.14 / (height + 0.95)))
    figure.colorbar(colours, cax=bar, orientation="horizontal", label=title, ticks=np.linspace(-limit, limit, 5), format="%g")
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=120)
    write(buffer, name)


def write(buffer, name):
    # 256 colours are enough for these, and less than half the size.
    Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(IMAGES / f"{name}.png", optimize=True)


def save_plot(figure, name):
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    (IMAGES / f"{name}.svg").write_text(re.sub(r"[ \t]+$", "", text.getvalue(), flags=re.MULTILINE), encoding="utf-8")


def density(surface, name):
    return surface.cell_data[f"charge density, {name} at 1 V [C/m^2]"]


def bus(folder, farad):
    surface = pyvista.read(folder / "bus.out/surface.vtu")
    values = 1e6 * density(surface, "clk")
    limit = spread(surface, values)
    picture = plotter()
    add(picture, surface, values, limit)
    look(picture, (0.9, -1.5, 1.1))
    write_names(picture, {"d0": (10.3, 0, 1.1), "d1": (10.3, 0.8, 1.1), "d2": (10.3, 1.6, 1.1), "clk": (2.5, 4.1, 2.4), "fill": (6.3, 1.0, 2.4)})
    save(picture, "tutorial-bus", "charge density, clk at 1 V [µC/m²]", limit)


def qubit(folder, farad):
    surface = pyvista.read(folder / "chip.out/surface.vtu")
    values = 1e6 * density(surface, "cross")
    limit = spread(surface, values, 0.9)
    picture = plotter()
    add(picture, surface, values, limit, show_edges=False)
    look(picture, (0.0, -0.5, 1.0), up=(0.0, 1.0, 0.0))
    save(picture, "tutorial-qubit", "charge density, cross at 1 V [µC/m²]", limit)


def touch(folder, farad):
    """Heights are five times as large as they are."""
    surface = pyvista.read(folder / "touched.out/surface.vtu").scale((1.0, 1.0, 5.0))
    values = 1e9 * density(surface, "drive")
    limit = spread(surface, values)
    finger = surface.cell_data["conductor id"] == 2
    picture = plotter()
    add(picture, surface.extract_cells(~finger), values[~finger], limit)
    add(picture, surface.extract_cells(finger), values[finger], limit, opacity=0.6, show_edges=False)
    picture.add_mesh(surface.extract_cells(finger).extract_feature_edges(), color="#444444", line_width=2)
    look(picture, (1.0, -1.35, 0.55))
    write_names(picture, {"finger": (3.0, 3.0, 3.5), "drive": (-2.6, -5.0, 0.0), "sense": (1.3, -4.9, 0.0)})
    save(picture, "tutorial-touch", "charge density, drive at 1 V [nC/m²]", limit)


def mems(folder, farad):
    names = {"__name__": "love"}
    exec((folder / "love.py").read_text(encoding="utf-8"), names)
    with open(folder / "plate.sweep/sweep.csv", encoding="utf-8") as file:
        runs = list(csv.DictReader(file))
    gaps = np.array([5 + float(run["shift"]) for run in runs])
    capacitances = np.array([float(run["C [F]"]) for run in runs])
    forces = -np.array([float(run["Fz(plate) [N]"]) for run in runs])
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 2.9), layout="constrained")
    fine = np.linspace(2.9, 5.1, 23)
    left.plot(fine, [1e15 * names["capacitance"](50e-6, gap * 1e-6) for gap in fine], color="#b2182b", label="Love's equation")
    area = np.pi * 50e-6**2
    left.plot(fine, 1e15 * 8.854e-12 * area / (fine * 1e-6), "--", color="#888888", label="eps A/d")
    left.plot(gaps, 1e15 * capacitances, "o", color="#2166ac", label="farad sweep")
    left.set(xlabel="gap [um]", ylabel="capacitance [fF]", xlim=(2.9, 5.1))
    left.legend(frameon=False)
    voltages = 10 * np.sqrt((5 - gaps) * 1e-6 / forces)
    # Forces between those of the sweep: 1/sqrt(F) is nearly proportional to the gap.
    inverse = np.polyval(np.polyfit(gaps, forces**-0.5, 2), np.linspace(3, 5, 101))
    right.plot(np.linspace(3, 5, 101), 10 * np.sqrt(np.linspace(2, 0, 101) * 1e-6) * inverse, color="#2166ac")
    right.plot(gaps, voltages, "o", color="#2166ac")
    best = voltages.argmax()
    right.annotate("pull-in", (gaps[best], voltages[best]), (3.6, 8), arrowprops={"arrowstyle": "->", "color": INK}, ha="center")
    right.set(xlabel="gap [um]", ylabel="voltage at rest [V]", xlim=(2.9, 5.1), ylim=(0, 25))
    save_plot(figure, "tutorial-mems")


def protein(folder, farad):
    surface = pyvista.read(folder / "globule.out/surface.vtu")
    values = surface.cell_data["potential [V]"] / (1.380649e-23 * 298.15 / 1.602176634e-19)
    limit = spread(surface, values)
    picture = plotter()
    add(picture, surface, values, limit, show_edges=False)
    look(picture, (1.0, -1.4, 0.6))
    save(picture, "tutorial-protein", "potential [kT/e]", limit)


def membrane(folder, farad):
    picture = plotter()
    limit = 1.2
    for name, place in ("cell", -7.5), ("long", 7.5):
        surface = pyvista.read(folder / f"{name}.out/surface.vtu").translate((0.0, place, 0.0))
        add(picture, surface, surface.cell_data["potential [V]"], limit)
    arrow = pyvista.Arrow(start=(0, 0, -4), direction=(0, 0, 1), scale=8, tip_radius=0.06, shaft_radius=0.02)
    picture.add_mesh(arrow, color="#333333")
    write_names(picture, {"field": (0.0, -1.0, 4.5)})
    look(picture, (1.0, 0.0, 0.15))
    save(picture, "tutorial-membrane", "voltage across the membrane [V]", limit)


def own_solver(folder, farad):
    """The numbers are those that the page prints, which the tests compare."""
    page = (TUTORIALS / "own-solver.md").read_text(encoding="utf-8")
    rows = np.array([line.split() for line in re.findall(r"^\d+ \d\.\de-\d\d$", page, re.MULTILINE)], dtype=float)
    triangles, errors = rows.T
    figure, axes = plt.subplots(figsize=(4.6, 3.0), layout="constrained")
    axes.loglog(triangles, errors[0] * triangles[0] / triangles, "--", color="#888888", label="1/triangles")
    axes.loglog(triangles, errors, "o", color="#2166ac", label="added mass of a sphere")
    axes.set(xlabel="triangles", ylabel="error")
    axes.set_xticks(triangles, [f"{n:,.0f}" for n in triangles])
    axes.set_yticks([2e-4, 5e-4, 1e-3, 2e-3], ["2e-4", "5e-4", "1e-3", "2e-3"])
    axes.minorticks_off()
    axes.legend(frameon=False)
    save_plot(figure, "tutorial-own-solver")


def own_fmm(folder, farad):
    places = np.random.default_rng(1).normal(size=(20_000, 3))
    np.save(folder / "points.npy", places)
    np.save(folder / "charges.npy", np.full(len(places), 1 / len(places)))
    command = [farad, "fmm", "eval", "points.npy", "charges.npy", "--tolerance", "1e-6", "--output", "potential.npy"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    potential = np.load(folder / "potential.npy").ravel()
    figure, axes = plt.subplots(figsize=(4.8, 3.7), layout="constrained")
    order = np.argsort(-np.abs(places[:, 2]))  # those near the plane z = 0 on top
    dots = axes.scatter(places[order, 0], places[order, 1], c=potential[order], s=2, cmap="viridis", vmin=0.2, vmax=0.8, linewidths=0)
    axes.set(xlabel="x", ylabel="y", xlim=(-3.6, 3.6), ylim=(-3.6, 3.6), aspect="equal")
    figure.colorbar(dots, label="potential [total mass / length]")
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=120)
    write(buffer, "tutorial-own-fmm")


def main(farad, names):
    program = Program(farad)
    for name in names or [path.stem for path in sorted(TUTORIALS.glob("*.md"))]:
        with tempfile.TemporaryDirectory() as folder:
            document = Document(TUTORIALS / f"{name}.md", Path(folder), program, None)
            document.run()
            globals()[name.replace("-", "_")](document.folder, farad)
        print(name)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(strict=True), sys.argv[2:])
