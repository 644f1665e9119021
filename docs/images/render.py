#!/usr/bin/env python3
"""Render the README's picture from the results of a solved case, off screen.

    pip install pyvista
    cargo run --release -- solve cases/bus.toml
    python docs/images/render.py cases/bus.out docs/images/bus.png
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyvista
from PIL import Image


def main(folder, image):
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    excited = results["capacitance"]["conductors"][0]
    surface = pyvista.read(folder / "surface.vtu")
    density = surface.cell_data[f"charge density, {excited} at 1 V [C/m^2]"]
    title = f"charge density, {excited} at 1 V [uC/m^2]\n"
    surface.cell_data[title] = 1e6 * density
    # Densities are singular at edges: the colours stop where few triangles lie beyond.
    limit = 1e6 * np.quantile(np.abs(density), 0.95)

    plotter = pyvista.Plotter(off_screen=True, window_size=(900, 540), lighting="none")
    plotter.set_background("white")
    plotter.add_light(pyvista.Light(light_type="headlight", intensity=0.55))
    plotter.add_mesh(
        surface,
        scalars=title,
        cmap="RdBu_r",
        clim=(-limit, limit),
        show_edges=True,
        edge_color="#666666",
        line_width=0.5,
        ambient=0.6,
        diffuse=0.9,
        scalar_bar_args={
            "color": "black", "n_labels": 5, "fmt": "%.0f", "title_font_size": 16, "label_font_size": 14,
            "width": 0.44, "height": 0.09, "position_x": 0.28, "position_y": 0.02,
        },
    )
    plotter.camera_position = [(0.95, -1.6, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)]
    plotter.reset_camera()
    plotter.camera.zoom(1.13)
    plotter.camera.focal_point = np.array(plotter.camera.focal_point) - (0.0, 0.0, 0.35)
    plotter.enable_anti_aliasing("ssaa")
    Image.fromarray(plotter.screenshot(return_img=True)).save(image, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
