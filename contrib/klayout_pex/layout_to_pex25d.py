#!/usr/bin/env python3
"""Writes a layout that KLayout reads (GDSII, OASIS, ...) as PEX25D, and solves it with Farad.

The stack file is that of `farad solve chip.gds --stack`; KLayout finds the nets. Needs Python 3.11 and
the package `klayout`, or the Python of KLayout itself.
"""

import argparse
import subprocess
import sys
import tomllib
from decimal import Decimal
from pathlib import Path

try:
    import klayout.db as db
except ImportError:
    import pya as db


def masks(names):
    """Pairs of a layer and a datatype, which is None for all of them."""
    names = [names] if isinstance(names, str) else names
    pairs = [(name.split("/") + [None])[:2] for name in names]
    return [(int(layer), None if kind is None else int(kind)) for layer, kind in pairs]


def matching(layout, wanted, others=()):
    """Indices of the layout's layers that are among the wanted ones, exactly or with all datatypes."""
    found = []
    for index in layout.layer_indexes():
        of = layout.get_info(index)
        is_other = (of.layer, of.datatype) in others
        if (of.layer, of.datatype) in wanted or ((of.layer, None) in wanted and not is_other):
            found.append(index)
    return found


def heights(layers):
    """The lower and the upper height of each layer, in um."""
    known = {layer["name"]: (layer["from"], layer["to"]) for layer in layers if "from" in layer}
    left = [layer for layer in layers if "from" not in layer]
    while left:
        ready = [layer for layer in left if all(name in known for name in layer["connects"])]
        if not ready:
            sys.exit(f"{left[0]['name']} connects what there is not: {left[0]['connects']}")
        for layer in ready:
            below, above = layer["connects"]
            known[layer["name"]] = (known[below][1], known[above][0])
        left = [layer for layer in left if layer not in ready]
    return known


def nets_of(layout, top, stack, known):
    """For each net its label, or None, and its shapes on each layer: (label, {layer: Region})."""
    flat = db.Layout()
    flat.dbu = layout.dbu
    cell = flat.create_cell("flat")
    window = stack.get("window")
    clip = db.Region(db.DBox(*map(float, window)).to_itype(layout.dbu)) if window else None
    all_labels = stack.get("labels_of", "top") == "all"
    layers = stack.get("metal", []) + stack.get("via", [])
    exact = [mask for layer in layers for mask in masks(layer["gds"]) if mask[1] is not None]
    indices = {}
    for layer in layers:
        own = masks(layer["gds"])
        region = db.Region()
        for index in matching(layout, own, exact):
            region += db.Region(top.begin_shapes_rec(index))
        region = region & clip if clip else region.merged()
        default = [(of, None) for of, _ in own] if layer in stack.get("metal", []) else []
        labels = masks(layer["labels"]) if "labels" in layer else default
        texts = db.Texts()
        for index in matching(layout, labels):
            texts += db.Texts(top.begin_shapes_rec(index) if all_labels else top.shapes(index))
        if clip:
            texts = texts & clip
        indices[layer["name"]] = (flat.layer(), flat.layer())
        cell.shapes(indices[layer["name"]][0]).insert(region)
        cell.shapes(indices[layer["name"]][1]).insert(texts)
    netlist = db.LayoutToNetlist(db.RecursiveShapeIterator(flat, cell, []))
    polygons = {name: netlist.make_polygon_layer(of, name) for name, (of, _) in indices.items()}
    for name, (_, texts) in indices.items():
        netlist.connect(polygons[name])
        netlist.connect(polygons[name], netlist.make_text_layer(texts, f"{name} labels"))
    names = list(polygons)
    for k, a in enumerate(names):
        for b in names[k + 1:]:
            if known[a][0] <= known[b][1] and known[b][0] <= known[a][1]:
                netlist.connect(polygons[a], polygons[b])
    netlist.extract_netlist()
    for circuit in netlist.netlist().each_circuit():
        for net in circuit.each_net():
            shapes = {name: netlist.shapes_of_net(net, of, True) for name, of in polygons.items()}
            if any(not region.is_empty() for region in shapes.values()):
                yield net.name or None, shapes


def quoted(name):
    return f'"{name}"' if any(c.isspace() or c == "#" for c in name) else name


def records(layout, top, stack):
    """The lines of the PEX25D file."""
    known = heights(stack.get("metal", []) + stack.get("via", []))
    dielectrics = stack.get("dielectric", [])
    films = [of for of in dielectrics if "wraps" in of]
    simple = [of for of in dielectrics if "wraps" not in of]
    # All lengths are multiples of the grid.
    lengths = [x for pair in known.values() for x in pair] + [stack.get("ground", 0)]
    lengths += [of[key] for of in dielectrics for key in ("from", "to", "over", "beside", "on_field") if key in of]
    places = max(-Decimal(str(x)).as_tuple().exponent for x in [*lengths, layout.dbu])
    yield "PEX25D 1.0"
    yield f"UNITS LENGTH um GRID {Decimal(1).scaleb(-places)}"
    yield f"META source_cell {quoted(top.name)}"
    if "ground" in stack:
        yield f"GROUND_PLANE ground_plane Z_OFFSETS {stack['ground'] - 1} {stack['ground']}"
    for name, (low, high) in known.items():
        yield f"METAL {quoted(name)} Z_OFFSETS {low} {high}"
    for height in sorted({x for of in simple for x in (of["from"], of["to"])}):
        yield f"METAL at_{height} Z_OFFSETS {height} {height + 1}"
    # Layers come after all films, however long the chains of these are.
    depth = {name: 0 for name in known}
    while any(of["name"] not in depth for of in films):
        new = {of["name"]: depth[of["wraps"]] + 1 for of in films if of["wraps"] in depth}
        if new.keys() <= depth.keys():
            sys.exit("a film wraps what there is not")
        depth.update(new)
    last = max(depth, key=depth.get, default=None)
    for of in films:
        yield (f"DIELECTRIC_CONFORMAL {quoted(of['name'])} WRAPS {quoted(of['wraps'])} "
               f"PERMITTIVITY {of['relative_permittivity']} THICKNESS_OVER_WRAPPED {of.get('over', 0)} "
               f"THICKNESS_BESIDE_WRAPPED {of.get('beside', 0)} THICKNESS_ON_FIELD {of.get('on_field', 0)}")
    for of in simple:
        yield (f"DIELECTRIC_SIMPLE {quoted(of['name'])} WRAPS {quoted(last)} "
               f"PERMITTIVITY {of['relative_permittivity']} BETWEEN at_{of['from']} at_{of['to']}")
    yield f"DIELECTRIC_BACKGROUND background PERMITTIVITY {stack.get('background', 1)}"
    if "margin" in stack:
        yield f"DOMAIN_MARGIN X {stack['margin']} Y {stack['margin']} Z 0"
    counts = {}
    for label, shapes in nets_of(layout, top, stack, known):
        if label and "," in label:
            sys.exit(f"one net has several labels: {label}")
        name = label
        if name is None:
            layer = next(layer for layer, region in shapes.items() if not region.is_empty())
            counts[layer] = counts.get(layer, 0) + 1
            name = f"{layer}_{counts[layer]}"
        elif counts.get(("label", name)):
            # Parts that do not touch are one net.
            name = f"{label}#{counts['label', label]}"
        counts["label", label] = counts.get(("label", label), 0) + 1
        is_net = label is not None or stack.get("unlabelled", "floating") == "net"
        conductor = quoted(name)
        yield f"CONDUCTOR {conductor} {quoted(label or name) if is_net else 'FLOATING'}"
        for layer, region in shapes.items():
            for polygon in region.merged().each():
                rings = [polygon.each_point_hull(), *map(polygon.each_point_hole, range(polygon.holes()))]
                text = [" ".join(f"{Decimal(c) * Decimal(repr(layout.dbu))}" for p in ring for c in (p.x, p.y))
                        for ring in rings]
                yield f"POLYGON CONDUCTOR {conductor} LAYER {quoted(layer)} OUTER {' HOLE '.join(text)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layout", type=Path)
    parser.add_argument("--stack", type=Path, required=True, help="the stack file")
    parser.add_argument("-o", "--output", type=Path, help="the .pex25d file [default: that of the layout's name]")
    parser.add_argument("--farad", default="farad", help="the program")
    parser.add_argument("--write-only", action="store_true", help="do not solve")
    args, solve = parser.parse_known_args()
    stack = tomllib.loads(args.stack.read_text(encoding="utf-8"), parse_float=Decimal)
    if stack.get("unlabelled") == "ground":
        print("PEX25D has no grounded conductors: those without a label float", file=sys.stderr)
    layout = db.Layout()
    layout.read(str(args.layout))
    top = layout.cell(stack["top"]) if "top" in stack else layout.top_cell()
    output = args.output or args.layout.with_suffix(".pex25d")
    output.write_text("".join(f"{line}\n" for line in records(layout, top, stack)), encoding="utf-8")
    if not args.write_only:
        sys.exit(subprocess.run([args.farad, "solve", output, *solve], check=False).returncode)


if __name__ == "__main__":
    main()
