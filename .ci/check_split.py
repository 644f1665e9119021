"""Whole solves spread over processes of farad, started by mpirun, against those of one: check_split.py FARAD [FOLDER].

Needs Python and a C compiler. mpirun's settings come from the environment (.ci/mpi). Results whose surface is in pieces
are left in the folder, for other programs to read.
"""

import base64
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
import zlib

# Commands run in folders of their own.
FARAD = str(pathlib.Path(sys.argv[1]).resolve())
TIMEOUT = 120  # seconds of one run: ranks that wait for each other forever fail

# Keys of results.json that tell of times, dates, memory, threads, and how often ranks prepared one geometry.
OF_THE_RUN = {"seconds", "date", "timings_s", "memory_bytes", "threads", "prepared"}

SWEEP = """format = 1
[mesh]
file = "two.msh"
unit = "mm"
[[sweep]]
name = "eps"
values = [1, 2.5]
set = "medium.relative_permittivity"
[[sweep]]
name = "gap"
values = [0, 1, 2]
move = "right"
along = [1, 0, 0]
"""

# Runs in which nothing follows from others.
HELD = """[[conductor]]
name = "left"
group = "left"
potential = 1.0
[[conductor]]
name = "right"
group = "right"
[[probe]]
name = "above"
from = [0, 2, 0]
to = [0, 3, 0]
count = 3
"""

# Four conductors with sources, so five excitations.
STATE = """format = 1
[mesh]
file = "bus.msh"
unit = "um"
[[conductor]]
name = "bar_x1"
group = "bar_x1"
potential = 1.0
[[conductor]]
name = "bar_x2"
group = "bar_x2"
[[conductor]]
name = "bar_y1"
group = "bar_y1"
charge = 1e-15
[[conductor]]
name = "bar_y2"
group = "bar_y2"
[external]
field = [0, 0, 1e3]
"""

# A curved surface of 20 triangles with a linear density.
CURVED = """format = 1
[mesh]
file = "curved.msh"
unit = "mm"
[solver]
density = "linear"
"""

SALT = """format = 1
[medium]
relative_permittivity = 78.54
ionic_strength = 0.15
temperature = 298.15
[[molecule]]
pqr = "ion.pqr"
"""


def started(ranks, folder, arguments):
    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*launcher, FARAD, *arguments], cwd=folder, **pipes)


def run(ranks, folder, *arguments):
    """Exit code, stdout and stderr of farad on so many ranks, started in a folder; 0 is without mpirun."""
    process = started(ranks, folder, arguments)
    output, errors = process.communicate(timeout=TIMEOUT)
    return process.returncode, output, errors


def must(ranks, folder, *arguments):
    code, output, errors = run(ranks, folder, *arguments)
    check(code == 0, arguments, "on", ranks, "ranks ends with", code, errors)
    return output


def check(condition, *what):
    if not condition:
        sys.exit("check_split: " + " ".join(str(part) for part in what))


def same(a, b, tolerance, place=""):
    """Fails where two documents differ by more than a relative tolerance of numbers with a fraction."""
    if isinstance(a, dict):
        check(isinstance(b, dict) and list(a) == list(b), place, "has other keys:", a, b)
        for key in a.keys() - OF_THE_RUN:
            same(a[key], b[key], tolerance, f"{place}.{key}")
    elif isinstance(a, list):
        check(isinstance(b, list) and len(a) == len(b), place, "has another length:", a, b)
        for index, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, tolerance, f"{place}[{index}]")
    elif isinstance(a, float) and isinstance(b, float):
        check(abs(a - b) <= tolerance * max(abs(a), abs(b)), place, a, b)
    else:
        check(a == b, place, a, b)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def document(folder):
    return json.loads((folder / "results.json").read_text())


TYPES = {"Float64": "d", "Int32": "i", "Int64": "q", "UInt32": "I", "UInt8": "B"}


def numbers(array):
    """An array of a .vtu file, compressed with zlib, as VTK describes it."""
    text = array.text.strip()
    blocks = struct.unpack("<Q", base64.b64decode(text[:12])[:8])[0]
    length = -(-8 * (3 + blocks) // 3) * 4
    sizes = struct.unpack(f"<{3 + blocks}Q", base64.b64decode(text[:length]))[3:]
    packed, content = base64.b64decode(text[length:]), b""
    for size in sizes:
        content += zlib.decompress(packed[:size])
        packed = packed[size:]
    kind = TYPES[array.get("type")]
    return struct.unpack(f"<{len(content) // struct.calcsize(kind)}{kind}", content)


def surface(path):
    """What arrays a surface has, and of each cell its type, the places of its nodes and its values."""
    root = xml.etree.ElementTree.parse(path).getroot()
    grid = root[0]
    if root.get("type") == "PUnstructuredGrid":
        declared = [dict(array.attrib) for array in grid.find("PCellData")]
        shown, cells = grid.find("PCellData").get("Scalars"), []
        for piece in grid.findall("Piece"):
            of_piece = surface(path.parent / piece.get("Source"))
            check(of_piece[:2] == (declared, shown), path, "declares", declared, shown, "its piece", of_piece[:2])
            cells += of_piece[2]
        return declared, shown, cells
    piece = grid.find("Piece")
    arrays = piece.find("CellData")
    declared = [{key: value for key, value in array.items() if key != "format"} for array in arrays]
    points = numbers(piece.find("Points")[0])
    connectivity, ends, types = map(numbers, piece.find("Cells"))
    count = int(piece.get("NumberOfCells"))
    check(len(points) == 3 * int(piece.get("NumberOfPoints")) and len(types) == count, path, "counts")
    check(set(connectivity) == set(range(len(points) // 3)), path, "has points of no triangle")
    values = list(zip(*map(numbers, arrays), strict=True))
    check(len(values) == count == len(ends), path, "counts")
    nodes = [connectivity[end - ends[0] : end] for end in ends]
    places = [tuple(points[3 * node : 3 * node + 3] for node in of) for of in nodes]
    return declared, arrays.get("Scalars"), list(zip(types, places, values, strict=True))


def same_surface(one, several, tolerance):
    """Pieces together are the same triangles, in another order, with values that differ by no more than a tolerance."""
    declared, *_ = expected = surface(one / "surface.vtu")
    found = surface(several / "surface.pvtu")
    check(expected[:2] == found[:2], expected[:2], found[:2])
    (a, b) = (sorted(of[2], key=lambda cell: cell[1]) for of in (expected, found))
    check([cell[:2] for cell in a] == [cell[:2] for cell in b], several, "has other triangles")
    for k, array in enumerate(declared):
        values = [[cell[2][k] for cell in cells] for cells in (a, b)]
        size = max((abs(value) for value in values[0] if value == value), default=0)
        for x, y in zip(*values, strict=True):
            check(x == y or x != x and y != y or abs(x - y) <= tolerance * size, several, array, x, y)


def with_pieces(names, ranks):
    """Names of results whose surface so many ranks have written."""
    pieces = ["surface.pvtu", *(f"surface_{rank}.vtu" for rank in range(ranks))]
    return sorted([name for name in names if name != "surface.vtu"] + pieces)


def sweeps(folder):
    """Tables, pictures and counts are those of one process, on any number of ranks."""
    must(0, folder, "mesh", "generate", "two-spheres", "--distance", "3", "--elements", "144", "-o", "two.msh")
    for name, text in (("follow", SWEEP), ("held", SWEEP + HELD)):
        (folder / f"{name}.toml").write_text(text)
        one = folder / f"{name}.sweep"
        alone = must(0, folder, "sweep", f"{name}.toml")
        for ranks in (2, 5):
            several = folder / f"{name}{ranks}.sweep"
            output = must(ranks, folder, "sweep", f"{name}.toml", "-o", several.name, "--split", "cases")
            check(output == alone.replace(one.name, several.name), output)
            check(files(one) == files(several), files(one), files(several))
            for file in set(files(one)) - {"results.json"}:
                check((one / file).read_bytes() == (several / file).read_bytes(), file, "on", ranks, "ranks")
            same(document(one), document(several), 0.0)
    print("sweep: 2 and 5 ranks write what one process does")


def batches(folder):
    """So are the table of a batch and the folders of its molecules; what is done is not done again."""
    for radius in (1, 2, 3):
        atom = f"ATOM 1 NA ION 1 0.0 0.0 0.0 1.0 {0.5 + radius / 2}\n"
        (folder / f"ion{radius}.pqr").write_text(atom)
    names = [f"ion{radius}.pqr" for radius in (1, 2, 3)]
    batch = ["batch", *names, "--reference", "ion2", "--difference", "change = ion3 - ion1"]
    must(0, folder, *batch, "-o", "alone")
    for ranks in (2, 5):
        several = folder / f"batch{ranks}"
        must(ranks, folder, *batch, "-o", several.name)
        check(files(folder / "alone") == files(several), files(several))
        same(document(folder / "alone"), document(several), 0.0)
        for name in ("ion1", "ion2", "ion3"):
            same(document(folder / "alone" / name), document(several / name), 1e-12)
        must(ranks, folder, *batch, "-o", several.name)
        check(document(several)["solved"] == 0, ranks, "ranks solved again")
    (folder / "broken.pqr").write_text("ATOM 1 N ALA 1 0 0 0 1.0\n")
    code, output, errors = run(2, folder, *batch, "broken.pqr", "-o", "batch2")
    check(code == 3 and errors.count("1 of 4 molecules") == 1, code, errors)
    statuses = [row["status"] for row in document(folder / "batch2")["molecules"]]
    check(statuses == ["complete"] * 3 + ["failed"], statuses)
    print("batch: 2 and 5 ranks write what one process does, and go on from there")


def solves(folder):
    """So is a solve whose excitations are shared, or its triangles."""
    must(0, folder, "mesh", "generate", "bus", "--bars", "2", "--elements", "400", "-o", "bus.msh")
    (folder / "state.toml").write_text(STATE)
    # Salt, which all regions' sums are shared of.
    (folder / "ion.pqr").write_text("ATOM 1 NA ION 1 0.0 0.0 0.0 1.0 2.0\n")
    (folder / "salt.toml").write_text(SALT)
    must(0, folder, "solve", "salt.toml", "--method", "fmm")
    must(3, folder, "solve", "salt.toml", "--method", "fmm", "-o", "salt3")
    energies = [document(folder / of)["solvation"] for of in ("salt.out", "salt3")]
    same(*energies, 1e-4)
    for method, tolerance in (("dense", 1e-9), ("fmm", 1e-4)):
        solve = ["solve", "state.toml", "--method", method]
        must(0, folder, *solve, "-o", f"solve-{method}")
        one = folder / f"solve-{method}"
        check(len(document(one)["solves"]) >= 5, document(one)["solves"])
        for ranks, split in ((2, "excitations"), (7, "excitations"), (3, "space")):
            several = folder / f"solve-{method}-{ranks}"
            must(ranks, folder, *solve, "-o", several.name, "--split", split)
            found, expected = document(several), document(one)
            if split == "space":
                check(files(several) == with_pieces(files(one), ranks), files(several))
                check(sorted(found["files"]) == files(several), found["files"])
                found["files"] = expected["files"]
                same_surface(one, several, tolerance)
            else:
                check(files(one) == files(several), files(several))
            for key in ("status", "warnings", "files", "backend", "mesh", "charges", "solver"):
                same(expected[key], found[key], tolerance, key)
            for key in ("maxwell_farad", "maxwell_farad_error", "mutual_farad"):
                same(expected["capacitance"][key], found["capacitance"][key], tolerance, key)
            names = [[solve["excitation"] for solve in of["solves"]] for of in (expected, found)]
            check(names[0] == names[1], names)
    print("solve: 2, 3 and 7 ranks find what one process does")


def pieces(folder):
    """Each process that shares the triangles writes a piece of the surface; the first replaces results all at once."""
    must(0, folder, "mesh", "generate", "sphere", "--order", "2", "--elements", "20", "--base", "icosahedron", "-o", "curved.msh")
    (folder / "curved.toml").write_text(CURVED)
    solve = ["solve", "curved.toml", "--split", "space", "--method", "fmm"]
    one, several, out = folder / "one", folder / "pieces", folder / "curved.out"
    must(0, folder, *solve, "-o", one.name)
    for ranks in (2, 23):
        output = must(ranks, folder, *solve, "-o", several.name)
        check(f"surface_0.vtu to surface_{ranks - 1}.vtu" in output and "pieces/surface.pvtu in" in output, output)
        check(files(several) == with_pieces(files(one), ranks), files(several))
        same_surface(one, several, 1e-5)
    if len(sys.argv) > 2:
        shutil.rmtree(sys.argv[2], ignore_errors=True)
        shutil.copytree(several, sys.argv[2])
    # Pieces and a whole surface replace each other; without a surface there are none.
    (folder / "bare.toml").write_text(CURVED + '[output]\nvtk = "none"\n')
    for ranks, arguments, expected in (
        (0, [*solve], files(one)),
        (3, [*solve], with_pieces(files(one), 3)),
        (2, [*solve], with_pieces(files(one), 2)),
        (2, [*solve, "--whole-surface"], files(one)),
        (3, ["solve", "bare.toml", "--split", "space"], [name for name in files(one) if name != "surface.vtu"]),
    ):
        must(ranks, folder, *arguments, "-o", out.name)
        check(files(out) == expected, ranks, arguments, files(out))
    # A file of the user with the name of a piece is not replaced.
    (out / "surface_1.vtu").write_text("mine")
    code, _, errors = run(2, folder, *solve)
    check(code == 6 and errors.count("surface_1.vtu from elsewhere") == 1, code, errors)
    (out / "surface_1.vtu").unlink()

    # The disk is full on one rank, at each of its calls: the earlier results stay.
    library = folder / "faults.so"
    source = pathlib.Path(__file__).parent.parent / "tests" / "faults.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    log = folder / "calls.log"

    def fault(at):
        faulty = f"LD_PRELOAD={library} FAULT_LOG={log} FAULT_AT={at} FAULT_KIND=28"
        command = f'[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" != 1 ] || export {faulty}; exec "$0" {" ".join(solve)}'
        launcher = ["mpirun", "-n", "2", "sh", "-c", command, FARAD]
        return subprocess.run(launcher, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT)

    done = fault(0)
    calls = log.read_text().split()
    check(done.returncode == 0 and {"write", "fsync"} <= set(calls), done.stderr, calls)
    must(0, folder, *solve)
    before = {name: (out / name).read_bytes() for name in files(out)}
    for at in range(1, 1 + len(calls)):
        done = fault(at)
        told = done.stderr.count("rank 1 on ")
        check(done.returncode == 6 and told == 1 and "space" in done.stderr, calls[at - 1], done.returncode, done.stderr)
        check(before == {name: (out / name).read_bytes() for name in files(out)}, calls[at - 1], files(out))
        check(not [path for path in folder.rglob(".farad-*")], calls[at - 1], "left files")
    print(f"pieces: of 2 and 23 ranks, the surface of one process; {len(calls)} faults leave what was there")


def accuracies(folder):
    """Ranks that refine a mesh together take the meshes of one process, whatever they share."""
    solve = ["solve", "state.toml", "--accuracy", "3e-2"]
    for method, tolerance in (("dense", 1e-9), ("fmm", 1e-4)):
        one = folder / f"accurate-{method}"
        must(0, folder, *solve, "--method", method, "-o", one.name)
        expected = document(one)
        check(len(expected["refinement"]["meshes"]) > 1, expected["refinement"])
        for ranks, split in ((2, "excitations"), (7, "excitations"), (3, "space")):
            several = folder / f"accurate-{method}-{ranks}"
            must(ranks, folder, *solve, "--method", method, "-o", several.name, "--split", split)
            found = document(several)
            check(found["status"] == "complete", found["status"])
            for key in ("ended", "accuracy", "accuracy_of"):
                same(expected["refinement"][key], found["refinement"][key], 0.0, key)
            for a, b in zip(expected["refinement"]["meshes"], found["refinement"]["meshes"], strict=True):
                same([a[key] for key in ("triangles", "number", "value")], [b[key] for key in ("triangles", "number", "value")], tolerance)
                same(a["error"], b["error"], max(tolerance, 1e-3), "error")
            same(expected["capacitance"]["maxwell_farad"], found["capacitance"]["maxwell_farad"], tolerance)
            if split == "space":
                same_surface(one, several, 10 * tolerance)
    # What was not reached is told once.
    late = ["solve", "state.toml", "--accuracy", "1e-4", "--max-time", "1e-9", "-o", "late"]
    code, _, errors = run(3, folder, *late)
    check(code == 4 and errors.count("was not reached") == 1, code, errors)
    check(document(folder / "late")["refinement"]["ended"] == "time", files(folder / "late"))
    print("accuracy: 2, 3 and 7 ranks take the meshes of one process")


def studies(folder):
    """So is a study, whose solves share their excitations."""
    must(0, folder, "mesh", "generate", "two-spheres", "--distance", "3", "--elements", "36", "-o", "small.msh")
    (folder / "small.toml").write_text((folder / "held.toml").read_text().replace("two.msh", "small.msh"))
    one, several = folder / "study", folder / "study3"
    must(0, folder, "study", "small.toml", "--method", "dense", "-o", one.name)
    must(3, folder, "study", "small.toml", "--method", "dense", "-o", several.name)
    check(files(one) == files(several), files(several))
    found, expected = document(several), document(one)
    same(expected["meshes"], found["meshes"], 0.0)
    keys = ("name", "unit", "values", "bars")
    rows = [[[entry[key] for key in keys] for entry in of["entries"]] for of in (expected, found)]
    same(*rows, 1e-7)
    # What was found before a mesh fails is reported.
    study = ["study", "held.toml", "--method", "dense", "--memory-limit", "0.03"]
    code, _, errors = run(2, folder, *study, "-o", "large")
    check(code == 5 and errors.count("needs") == 1, code, errors)
    found = document(folder / "large")
    check(found["status"] == "incomplete" and len(found["meshes"]) == 2, found["status"], found["meshes"])
    print("study: 3 ranks find what one process does")


def failures(folder):
    """What is wrong on one rank is told once, ends all with its code, and leaves nothing half written."""
    must(0, folder, "mesh", "generate", "sphere", "--elements", "72", "-o", "sphere.msh")
    must(0, folder, "mesh", "generate", "torus", "--elements", "72", "-o", "torus.msh")
    (folder / "half.msh").write_text((folder / "sphere.msh").read_text()[:400])
    head = 'format = 1\n[mesh]\nfile = "sphere.msh"\nunit = "mm"\n'
    # The run of the last rank fails, or does not fit the others.
    for name, told in (("half", "rank 2 on "), ("torus", "the conductors are torus")):
        meshes = f'files = ["sphere.msh", "sphere.msh", "{name}.msh"]\n'
        (folder / f"{name}.toml").write_text(f'{head}[[sweep]]\nname = "mesh"\n{meshes}')
        # Runs of others are kept, and do not hide it.
        for again in ([], ["--resume"]):
            code, output, errors = run(3, folder, "sweep", f"{name}.toml", *again)
            # What is left is the first rank's.
            told = told.replace("rank 2", "rank 0") if again else told
            check(code == 3 and errors.count(f"mesh = {name}.msh") == 1 and told in errors, code, output, errors)
            left = files(folder / f"{name}.sweep")
            check(all(of.startswith(".farad-checkpoint") for of in left), left)
        runs = [of for of in left if "/run_" in of]
        check(len(runs) == (3 if name == "torus" else 2), left)
    (folder / "one.toml").write_text(head)
    code, output, errors = run(2, folder, "solve", "one.toml", "--split", "excitations")
    check(code == 2 and errors.count("this case has 1") == 1, code, output, errors)
    # Ranks that read different files.
    for rank in (0, 1):
        (folder / f"rank{rank}").mkdir()
        (folder / f"rank{rank}" / "one.toml").write_text(head.replace("sphere", f"../{('sphere', 'torus')[rank]}"))
    command = 'cd rank$((${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}} % 2)) && exec "$0" solve one.toml'
    shell = ["mpirun", "-n", "2", "sh", "-c", command, FARAD]
    done = subprocess.run(shell, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT)
    check(done.returncode == 3 and done.stderr.count("is not that of rank 0") == 1, done.returncode, done.stderr)
    print("failures: told once, with the exit codes of one process")


def children(parent):
    """Processes that a process has started."""
    stats = [path.read_text() for path in pathlib.Path("/proc").glob("[0-9]*/stat") if path.parent.exists()]
    fields = [(int(stat.split()[0]), stat.rsplit(")", 1)[1].split()) for stat in stats]
    return [process for process, rest in fields if int(rest[1]) == parent]


def iterations(of):
    return sum(solve["iterations"] for solve in document(of)["solves"])


def same_matrix(a, b, tolerance):
    """Capacitances differ by no more than a share of the largest."""
    a, b = (sum(document(of)["capacitance"]["maxwell_farad"], []) for of in (a, b))
    size = max(map(abs, a))
    check(all(abs(x - y) <= tolerance * size for x, y in zip(a, b, strict=True)), a, b)


def interrupts(folder):
    """SIGTERM to all ranks ends them in good order, and as many as there are then go on."""
    must(0, folder, "mesh", "generate", "bus", "--bars", "3", "--elements", "5760", "-o", "large.msh")
    (folder / "large.toml").write_text('format = 1\n[mesh]\nfile = "large.msh"\nunit = "um"\n')
    solve = ["solve", "large.toml", "--method", "fmm", "--tolerance", "1e-8", "--checkpoint-interval", "0"]
    out, whole = folder / "large.out", folder / "whole"
    kept = out / ".farad-checkpoint"
    must(0, folder, *solve, "-o", whole.name)

    def ended_by(stop, split, is_time):
        process = started(3, folder, [*solve, "--split", split])
        while not is_time() and process.poll() is None:
            time.sleep(0.01)
        ranks = children(process.pid)
        for rank in ranks:
            os.kill(rank, stop)
        _, errors = process.communicate(timeout=TIMEOUT)
        check(ranks and not (out / "results.json").exists(), split, "had ended before it was stopped")
        return process.returncode, errors

    for split, again in (("excitations", (2, "space")), ("space", (4, "excitations")), ("space", (0, "auto"))):
        # Before there is anything to keep, and after.
        for is_time in (out.exists, lambda: any(kept.glob("charges-*"))):
            code, errors = ended_by(signal.SIGTERM, split, is_time)
            told = errors.count("interrupted; no results were written")
            check(code == 7 and told == 1, split, code, errors)
        check(files(out) and all(name.startswith(kept.name) for name in files(out)), files(out))
        ranks, split = again
        must(ranks, folder, *solve, "--split", split, "--resume")
        check(not kept.exists() and iterations(out) < iterations(whole), iterations(out), "iterations of", iterations(whole))
        same_matrix(whole, out, 1e-6)
        shutil.rmtree(out)
    # Killed ones go on from what was written last, also to an accuracy.
    accurate = [*solve, "--accuracy", "2e-2"]
    must(0, folder, *accurate, "-o", whole.name, "--overwrite")
    for split in ("excitations", "space"):
        process = started(2, folder, [*accurate, "--split", split])
        while not any(kept.glob("charges-*")) and process.poll() is None:
            time.sleep(0.01)
        ranks = children(process.pid)
        for rank in ranks:
            os.kill(rank, signal.SIGKILL)
        process.communicate(timeout=TIMEOUT)
        check(ranks and kept.exists(), split, "had ended before it was killed")
        must(2, folder, *accurate, "--split", split, "--resume")
        meshes = [[mesh["triangles"] for mesh in document(of)["refinement"]["meshes"]] for of in (out, whole)]
        check(meshes[0] == meshes[1] and not kept.exists(), split, meshes)
        same_matrix(whole, out, document(whole)["accuracy"]["solver_tolerance"])
        shutil.rmtree(out)
    print("interrupts: all ranks end, nothing but what is kept is left, and they go on from there")


def columns(of):
    """Numbers of a study or sweep, in lists of values that are as large as each other."""
    found = document(of)
    if "entries" in found:
        return [sum((entry["values"] for entry in found["entries"]), [])]
    rows = [[*sum(of_run["maxwell_farad"], []), *of_run["quantities"]] for of_run in found["runs"]]
    return [list(column) for column in zip(*rows, strict=True)]


def resumes(folder):
    """Studies and sweeps go on from what is kept when one rank is ended or killed, on any number of ranks."""
    solver = '[solver]\nmethod = "fmm"\ntolerance = 1e-7\n'
    (folder / "bars.toml").write_text(f'format = 1\n[mesh]\nfile = "bus.msh"\nunit = "um"\n{solver}')
    must(0, folder, "mesh", "generate", "two-spheres", "--distance", "3", "--elements", "800", "-o", "gaps.msh")
    (folder / "gaps.toml").write_text(SWEEP.replace("two.msh", "gaps.msh") + HELD + solver)
    term, kill, dice = signal.SIGTERM, signal.SIGKILL, random.Random(5)
    for command, split, of_part, ends in (
        ("study bars.toml", "excitations", "mesh-", ((term, 3, 2), (kill, 4, 0))),
        ("study bars.toml", "space", "mesh-", ((kill, 2, 3), (term, 3, 0))),
        ("sweep gaps.toml", "cases", "run_", ((term, 2, 4), (kill, 3, 0))),
    ):
        command = [*command.split(), "--checkpoint-interval", "0"]
        whole, out = folder / f"whole-{command[0]}", folder / f"cut-{command[0]}"
        kept = out / ".farad-checkpoint"
        go_on = [*command, "-o", out.name, "--resume"]
        must(0, folder, *command, "-o", whole.name)
        for stop, ranks, again in ends:
            process = started(ranks, folder, [*go_on, "--split", split])
            while not any(kept.glob(f"{of_part}*")) and process.poll() is None:
                time.sleep(0.005)
            processes = children(process.pid)
            check(len(processes) == ranks, split, "had ended before it was stopped")
            # They wait until a second run in the folder is refused.
            for rank in processes:
                os.kill(rank, signal.SIGSTOP)
            code, _, errors = run(0, folder, *go_on)
            check(code == 6 and errors.count("another run is writing") == 1, split, code, errors)
            os.kill(dice.choice(processes), stop)
            for rank in processes:
                with contextlib.suppress(ProcessLookupError):  # ended with the one that was killed
                    os.kill(rank, signal.SIGCONT)
            _, errors = process.communicate(timeout=TIMEOUT)
            told = errors.count("interrupted; no results were written")
            check(stop == kill or told == 1 and "with --resume continues" in errors, split, errors)
            check(process.returncode == 7 if stop == term else process.returncode != 0, process.returncode, errors)
            check(files(out) and not (out / "results.json").exists(), split, files(out))
            # Of something else, or damaged.
            code, _, errors = run(again if split == "cases" else 0, folder, *go_on, "--tolerance", "1e-6")
            check(code == 3 and errors.count("belongs to a different run") == 1, code, errors)
            parts = sorted(kept.glob(f"{of_part}*"))
            if again and len(parts) > 1:
                damaged = bytearray(parts[-1].read_bytes())
                damaged[len(damaged) // 2] ^= 1
                parts.pop().write_bytes(damaged)
            code, _, errors = run(again, folder, *go_on)
            before = errors.count("as found before") if of_part == "mesh-" else f"{len(parts)} of 6 runs were found before" in errors
            check(code == 0 and before in (len(parts), True), split, len(parts), "parts", code, errors)
            check(files(out) == files(whole), split, files(out))
            same([document(of).get("solved") for of in (out, whole)], [6, 6] if of_part == "run_" else [None] * 2, 0.0)
            for a, b in zip(columns(whole), columns(out), strict=True):
                size = max(map(abs, a))
                check(all(abs(x - y) <= 1e-6 * size for x, y in zip(a, b, strict=True)), split, a, b)
            shutil.rmtree(out)
    print("resumes: studies and sweeps go on where one rank was ended or killed")


with tempfile.TemporaryDirectory() as name:
    for part in (sweeps, batches, solves, pieces, accuracies, studies, failures, interrupts, resumes):
        begun = time.monotonic()
        part(pathlib.Path(name))
        print(f"  {time.monotonic() - begun:.0f} s")
