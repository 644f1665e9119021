"""Show a result of farad in ParaView as the README's picture does.

As a macro (Macros > Import new macro...): open a folder of results once with File > Open
(surface.vtu, surface.pvtu, excitations.pvd or sweep.pvd), select it in the pipeline browser, run
the macro. On a command line, with a folder of results, and a picture to be written:

    paraview --script=open_farad.py            # the results in the current folder
    pvpython open_farad.py bus.out             # an arrangement in bus.out/farad.pvsm
    pvpython open_farad.py bus.out bus.png     # and a picture

It colours by what farad marks as the first to be shown, the charge density of the first excitation
or of the case's state. Charge of both signs is blue to red around zero, else dark to light from
zero. Charge is singular at edges, so the colours end where 5 % of the triangles lie beyond.
"""

import os
import sys

import numpy as np
from paraview import simple
from paraview.servermanager import Fetch
from vtkmodules.util.numpy_support import vtk_to_numpy

BEYOND = 0.05  # part of the triangles whose values colours do not tell apart
VIEW_FROM = (0.95, -1.6, 1.0)  # the direction of the camera, as in the README's picture
# ColorBrewer's RdBu, reversed, and matplotlib's viridis, as in the pages of farad report
RED_BLUE = [
    (5, 48, 97), (33, 102, 172), (67, 147, 195), (146, 197, 222), (209, 229, 240), (247, 247, 247),
    (253, 219, 199), (244, 165, 130), (214, 96, 77), (178, 24, 43), (103, 0, 31),
]
VIRIDIS = [
    (68, 1, 84), (72, 40, 120), (62, 73, 137), (49, 104, 142), (38, 130, 142), (31, 158, 137), (53, 183, 121),
    (110, 206, 88), (181, 222, 43), (253, 231, 37),
]
SIZE = [900, 540]  # of pictures
FILES = ["surface.vtu", "surface.pvtu", "excitations.pvd", "sweep.pvd"]


def reader_of(folder):
    """The results of a folder, opened."""
    for name in FILES:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return simple.OpenDataFile(path)
    raise SystemExit(f"{folder}: none of {', '.join(FILES)} is there")


def arrays_of(data):
    """The cell data of all parts."""
    if hasattr(data, "GetCellData"):
        yield data.GetCellData()
        return
    for index in range(data.GetNumberOfBlocks()):
        block = data.GetBlock(index)
        if block is not None:
            yield from arrays_of(block)


def shown_array(source):
    """Name and values of the array to colour by: the active one, else the first of charge."""
    parts = [part for part in arrays_of(Fetch(source)) if part.GetNumberOfArrays() > 0]
    if not parts:
        raise SystemExit("this source has no values on cells: is it a result of farad?")
    active = parts[0].GetScalars()
    names = [parts[0].GetArrayName(index) for index in range(parts[0].GetNumberOfArrays())]
    charges = [name for name in names if name.startswith("charge density")]
    if active is None and not charges:
        raise SystemExit("this source has no charge density: is it a surface of farad?")
    name = active.GetName() if active is not None else charges[0]
    return name, np.concatenate([vtk_to_numpy(part.GetArray(name)) for part in parts])


def show(source, picture=False):
    """Colours a source and points the camera at it."""
    view = simple.GetActiveViewOrCreate("RenderView")
    if picture:
        view.ViewSize = SIZE
    source.UpdatePipeline()
    name, values = shown_array(source)
    values = values[np.isfinite(values)]
    limit = float(np.quantile(np.abs(values), 1 - BEYOND)) or 1.0
    is_signed = values.min() < -0.02 * limit

    display = simple.Show(source, view)
    display.Representation = "Surface With Edges"
    display.EdgeColor = [0.4, 0.4, 0.4]
    simple.ColorBy(display, ("CELLS", name))
    colours = simple.GetColorTransferFunction(name)
    colours.AutomaticRescaleRangeMode = "Never"
    stops, low = (RED_BLUE, -limit) if is_signed else (VIRIDIS, 0.0)
    places = np.linspace(low, limit, len(stops))
    colours.ColorSpace = "RGB"
    colours.RGBPoints = [number for x, stop in zip(places, stops) for number in (x, *(c / 255 for c in stop))]
    colours.NanColor = [0.62, 0.62, 0.62]
    display.Ambient, display.Diffuse = 0.35, 0.75

    bar = simple.GetScalarBar(colours, view)
    bar.Title, bar.ComponentTitle = name, ""
    bar.Orientation, bar.WindowLocation, bar.ScalarBarLength = "Horizontal", "Lower Center", 0.45
    bar.TitleColor = bar.LabelColor = [0.0, 0.0, 0.0]
    bar.TitleFontSize, bar.LabelFontSize = 12, 11
    display.SetScalarBarVisibility(view, True)
    view.UseColorPaletteForBackground = 0
    view.Background = [1.0, 1.0, 1.0]

    view.ResetCamera()
    centre = np.array(view.CenterOfRotation)
    reach = np.linalg.norm(np.array(view.CameraPosition) - np.array(view.CameraFocalPoint))
    away = np.array(VIEW_FROM) / np.linalg.norm(VIEW_FROM)
    view.CameraFocalPoint = list(centre)
    view.CameraPosition = list(centre + reach * away)
    view.CameraViewUp = [0.0, 0.0, 1.0]
    view.ResetCamera()
    # Room for the scale below.
    reach = np.linalg.norm(np.array(view.CameraPosition) - np.array(view.CameraFocalPoint))
    below = np.array([0.0, 0.0, 0.06 * reach])
    view.CameraPosition = list(np.array(view.CameraPosition) - below)
    view.CameraFocalPoint = list(np.array(view.CameraFocalPoint) - below)
    simple.Render(view)
    return view


def main(arguments):
    folder = arguments[0] if arguments else "."
    source = simple.GetActiveSource() or reader_of(folder)
    view = show(source, len(arguments) > 1)
    if arguments:
        simple.SaveState(os.path.join(folder, "farad.pvsm"))
    if len(arguments) > 1:
        simple.SaveScreenshot(arguments[1], view, ImageResolution=SIZE)


# Macros have no arguments, and their own are those of ParaView.
main([] if not sys.argv[0].endswith("open_farad.py") else sys.argv[1:])
