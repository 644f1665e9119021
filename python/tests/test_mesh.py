"""Meshes: from arrays, files and other packages, and what is wrong with them."""

import copy
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

import farad

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


@pytest.mark.parametrize("of_points", [np.float64, np.float32, np.int32, list])
@pytest.mark.parametrize("of_faces", [np.int64, np.uint32, np.int8, list])
def test_kinds_of_arrays(of_points, of_faces):
    def make(array, kind):
        return array.tolist() if kind is list else array.astype(kind)

    mesh = farad.Mesh(make(CORNERS, of_points), make(FACES, of_faces), names=["a"], unit="um")
    np.testing.assert_array_equal(mesh.points, CORNERS)
    np.testing.assert_array_equal(mesh.triangles, FACES)
    assert (len(mesh), mesh.unit, mesh.groups, mesh.order) == (4, "um", ["a"], 1)
    assert mesh.areas.sum() == pytest.approx(1.5 + np.sqrt(3) / 2)


def test_points_are_the_meshs_own_memory():
    mesh = farad.Mesh.sphere(elements=80, unit="m")
    points, triangles = mesh.points, mesh.triangles
    assert np.shares_memory(points, mesh.points) and np.shares_memory(triangles, mesh.triangles)
    with pytest.raises(ValueError, match="read-only"):
        points[0] = 0.0
    with pytest.raises(ValueError):
        points.flags.writeable = True
    expected = points.copy()
    del mesh
    gc.collect()
    np.testing.assert_array_equal(points, expected)
    assert triangles.max() == len(points) - 1


def test_arrays_in_any_order():
    wide = np.zeros((4, 7))
    wide[:, 2:5] = CORNERS
    for points in (np.asfortranarray(CORNERS.astype(float)), wide[:, 2:5], CORNERS[::-1][::-1]):
        mesh = farad.Mesh(points, np.asfortranarray(FACES), unit="m")
        np.testing.assert_array_equal(mesh.points, CORNERS)
        np.testing.assert_array_equal(mesh.triangles, FACES)


def test_groups():
    by_name = farad.Mesh(CORNERS, FACES, ["b", "a", "b", "a"], unit="m")
    by_index = farad.Mesh(CORNERS, FACES, [1, 0, 1, 0], ["a", "b"], unit="m")
    for mesh in (by_name, by_index):
        assert [mesh.groups[k] for k in mesh.group_of_triangle] == ["b", "a", "b", "a"]
    assert farad.Mesh(CORNERS, FACES, unit="m").groups == []
    some = farad.Mesh(CORNERS, FACES, [-1, 0, 0, 0], ["a"], unit="m")
    assert some.group_of_triangle.tolist() == [-1, 0, 0, 0]


def test_coincident_vertices_are_joined():
    """As in a file of STL."""
    mesh = farad.Mesh(CORNERS[FACES].reshape(-1, 3), np.arange(12).reshape(4, 3), unit="m")
    assert len(mesh.points) == 4
    farad.Problem(mesh).check()


@pytest.mark.parametrize(
    "message, make",
    [
        ("points has the shape", lambda: farad.Mesh(CORNERS[:, :2], FACES, unit="m")),
        ("points has the shape", lambda: farad.Mesh([], FACES, unit="m")),
        ("triangles have the shape", lambda: farad.Mesh(CORNERS, FACES.ravel(), unit="m")),
        ("triangles have the shape", lambda: farad.Mesh(CORNERS, [[0, 1, 2, 3]], unit="m")),
        ("index 4; there are 4", lambda: farad.Mesh(CORNERS, FACES + 1, unit="m")),
        ("index -1", lambda: farad.Mesh(CORNERS, FACES - 1, unit="m")),
        (
            "triangles have the type float64; they must be whole numbers",
            lambda: farad.Mesh(CORNERS, FACES.astype(float), unit="m"),
        ),
        ("triangles is no array of numbers", lambda: farad.Mesh(CORNERS, [[0, 1, 2], [1]], unit="m")),
        ("triangles have the index -1", lambda: farad.Mesh(CORNERS, [[0, 1, -1]], unit="m")),
        (
            "points has masked entries; fill them, or leave them out",
            lambda: farad.Mesh(np.ma.masked_equal(CORNERS.astype(float), 1.0), FACES, unit="m"),
        ),
        ("points has the type object", lambda: farad.Mesh([[10**400, 0.0, 0.0]], FACES)),
        (
            "groups have names of their own; leave `names` out",
            lambda: farad.Mesh(CORNERS, FACES, ["a"] * 4, ["a"], unit="m"),
        ),
        ("groups is no array", lambda: farad.Mesh(CORNERS, FACES, [["a"], "b", 3, [[4]]], unit="m")),
        ("coordinate NaN", lambda: farad.Mesh(CORNERS * np.nan, FACES, unit="m")),
        ("coordinate inf", lambda: farad.Mesh(np.where(CORNERS, np.inf, 0), FACES, unit="m")),
        ("type complex", lambda: farad.Mesh(CORNERS * 1j, FACES, unit="m")),
        ("no array of numbers", lambda: farad.Mesh([[0, 0, 0], [1]], FACES, unit="m")),
        ("type object", lambda: farad.Mesh([[None, 0, 0]], FACES, unit="m")),
        ("must be one of m, cm, mm", lambda: farad.Mesh(CORNERS, FACES, unit="inch")),
        ("unit is 3", lambda: farad.Mesh(CORNERS, FACES, unit=3)),
        ("there are 4 triangles", lambda: farad.Mesh(CORNERS, FACES, [0], ["a"], unit="m")),
        ("must be -1 to 0", lambda: farad.Mesh(CORNERS, FACES, [0, 0, 0, 1], ["a"], unit="m")),
        ("names or whole numbers", lambda: farad.Mesh(CORNERS, FACES, [0.5] * 4, ["a"], unit="m")),
        (
            "must be -1 to 0",
            lambda: farad.Mesh(CORNERS, FACES, np.full(4, 2**64 - 1, dtype=np.uint64), ["a"]),
        ),
        ("the name of a group is ''; it must", lambda: farad.Mesh(CORNERS, FACES, ["", "a"] * 2, unit="m")),
        ("the name of a group is ''; it must", lambda: farad.Mesh.sphere(name="", unit="m")),
        ("several names", lambda: farad.Mesh(CORNERS, FACES, names=["a", "b"], unit="m")),
        ("the radius is -1.0; it must be a length from 1e-100 to 1e97", lambda: farad.Mesh.sphere(-1.0, unit="m")),
        ("the radius is 1e-300; it", lambda: farad.Mesh.sphere(1e-300, unit="m")),
        (
            "give either elements or size, not both",
            lambda: farad.Mesh.sphere(elements=3, size=0.1, unit="m"),
        ),
        ("elements is 'many'; it must be a whole number", lambda: farad.Mesh.sphere(elements="many", unit="m")),
        ("a length is 1000", lambda: farad.Mesh.sphere(10**400)),
        ("path is 3; it must be a path", lambda: farad.Mesh.read(3, unit="m")),
        ("path is None; it must be a path", lambda: farad.Mesh.sphere(unit="m").write(None)),
        ("path is None; it must be a path", lambda: farad.Problem.read(None)),
        ("stack is 3; it must be a path", lambda: farad.Problem.read("chip.gds", stack=3)),
        ("elements is 0", lambda: farad.Mesh.sphere(elements=0, unit="m")),
        ("elements is 2.5", lambda: farad.Mesh.sphere(elements=2.5, unit="m")),
        ("order is", lambda: farad.Mesh.sphere(order=9, unit="m")),
        ("more than", lambda: farad.Mesh.sphere(size=1e-12, unit="m")),
        ("touch", lambda: farad.Mesh.two_spheres(1.0, 1.5, unit="m")),
        ("three numbers", lambda: farad.Mesh.sphere(center=(0, 0), unit="m")),
        ("finite", lambda: farad.Mesh.sphere(center=(0, 0, np.inf), unit="m")),
        ("a length is 'big'", lambda: farad.Mesh.sphere("big", unit="m")),
        ("no direction", lambda: farad.Mesh.sphere(unit="m").moved(axis=(0, 0, 0), degrees=3)),
        ("no mesh to join", lambda: farad.Mesh.join()),
        ("no farad.Mesh", lambda: farad.Mesh.join(farad.Mesh.sphere(unit="m"), 3)),
        ("in m, another one in mm", lambda: farad.Mesh.sphere(unit="m") + farad.Mesh.sphere(unit="mm")),
        ("no meshio.Mesh", lambda: farad.Mesh.from_meshio(None, unit="m")),
        ("NoneType is no data set of PyVista", lambda: farad.Mesh.from_pyvista(None, unit="m")),
        ("no farad.Mesh", lambda: farad.Problem(CORNERS)),
        (
            "nothing to solve",
            lambda: farad.Problem(farad.Mesh(np.zeros((0, 3)), np.zeros((0, 3), int), unit="m")).solve(),
        ),
        (
            "the mesh has no triangles",
            lambda: farad.Surface(farad.Mesh(np.zeros((0, 3)), np.zeros((0, 3), int), unit="m")),
        ),
        (
            "defects|cannot be solved",
            lambda: farad.Problem(farad.Mesh(CORNERS, [[0, 1, 1]], unit="m")).solve(),
        ),
        ("the mesh has defects:", lambda: farad.Surface(farad.Mesh(CORNERS, [[0, 1, 1]], unit="m"))),
    ],
)
def test_faults_are_reported(message, make):
    with pytest.raises(farad.InputError, match=message):
        make()


def test_shapes():
    for mesh in (
        farad.Mesh.ellipsoid((1, 2, 3), elements=200, unit="m"),
        farad.Mesh.cube(2.0, elements=48, name="box", unit="m"),
        farad.Mesh.plate(1.0, 2.0, elements=32, unit="m"),
        farad.Mesh.disk(1.0, elements=64, grade=4.0, unit="m"),
        farad.Mesh.cylinder(1.0, 2.0, elements=200, unit="m"),
        farad.Mesh.torus(2.0, 0.5, elements=400, order=2, unit="m"),
        farad.Mesh.concentric_spheres(1.0, 2.0, elements=160, unit="m"),
    ):
        assert len(mesh) > 8
        farad.Problem(mesh).check()


def test_moves():
    mesh = farad.Mesh(CORNERS, FACES, unit="m").moved((1, 0, 0), axis=(0, 0, 1), degrees=90)
    np.testing.assert_allclose(mesh.points[1], [1, 1, 0], atol=1e-15)


def test_joined_groups_keep_apart():
    both = farad.Mesh.sphere(elements=80, unit="m") + farad.Mesh.sphere(elements=80, center=(3, 0, 0), unit="m")
    assert len(both) == 160 and len(set(both.groups)) == 2 and both.groups[0] == "sphere"


def test_files(tmp_path):
    mesh = farad.Mesh.two_spheres(1.0, 3.0, elements=160, unit="mm")
    mesh.write(tmp_path / "pair.msh")
    back = farad.Mesh.read(tmp_path / "pair.msh", unit="mm")
    assert back.groups == ["left", "right"]
    np.testing.assert_allclose(back.points, mesh.points, rtol=1e-15)
    with pytest.raises(FileNotFoundError, match="none.msh"):
        farad.Mesh.read(tmp_path / "none.msh", unit="m")
    with pytest.raises(farad.FileError, match="none.msh"):
        farad.Mesh.read(tmp_path / "none.msh", unit="m")
    (tmp_path / "bad.msh").write_text("$MeshFormat\n9 9 9\n")
    with pytest.raises(farad.InputError, match="bad.msh"):
        farad.Mesh.read(tmp_path / "bad.msh", unit="m")
    with pytest.raises(farad.InputError, match="the ending of the name"):
        farad.Mesh.read(tmp_path / "mesh.xyz", unit="m")
    with pytest.raises(farad.InputError, match="meshes are written to .msh files"):
        mesh.write(tmp_path / "mesh.stl")
    with pytest.raises(farad.FileError, match="cannot write"):
        mesh.write(tmp_path / "none" / "mesh.msh")
    with pytest.raises(farad.FileError, match="cannot write"):
        mesh.write("a\0b.msh")
    with pytest.raises(farad.InputError, match="solved by the program"):
        farad.Problem.read("case.toml")
    with pytest.raises(farad.InputError, match="does not say at which heights its layers are"):
        farad.Problem.read("chip.gds")


@pytest.mark.parametrize(
    "make",
    [
        lambda: farad.Mesh(CORNERS, FACES),
        lambda: farad.Mesh.read("none.msh"),
        lambda: farad.Mesh.from_meshio(meshio_box()),
        lambda: farad.Mesh.from_pyvista(pytest.importorskip("pyvista").Cube()),
        *(
            lambda shape=shape: getattr(farad.Mesh, shape)()
            for shape in ("sphere", "cube", "plate", "disk", "cylinder", "torus")
        ),
        lambda: farad.Mesh.ellipsoid((1, 2, 3)),
        lambda: farad.Mesh.two_spheres(),
        lambda: farad.Mesh.concentric_spheres(),
    ],
)
def test_coordinates_need_a_unit(make):
    with pytest.raises(farad.InputError, match='unit is missing; say what coordinates are in, as unit="mm": m, cm, mm'):
        make()


def meshio_box():
    meshio = pytest.importorskip("meshio")
    return meshio.Mesh(CORNERS.astype(float), [("triangle", FACES)])


def test_meshio(tmp_path):
    meshio = pytest.importorskip("meshio")
    mesh = farad.Mesh.two_spheres(1.0, 3.0, elements=160, unit="um")
    back = farad.Mesh.from_meshio(mesh.to_meshio(), unit="um")
    assert back.groups == mesh.groups
    np.testing.assert_array_equal(back.points, mesh.points)
    np.testing.assert_array_equal(back.triangles, mesh.triangles)
    np.testing.assert_array_equal(back.group_of_triangle, mesh.group_of_triangle)
    # Lines and volumes are left out, quadrangles split, cell sets are groups.
    cube = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=np.float32)
    quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    boxed = meshio.Mesh(
        cube,
        [("line", [[0, 1]]), ("quad", quads), ("hexahedron", [[0, 1, 3, 2, 4, 5, 7, 6]])],
        cell_sets={"box": [[], np.arange(6), []]},
    )
    box = farad.Mesh.from_meshio(boxed, unit="m")
    assert (len(box), box.groups) == (12, ["box"]) and box.areas.sum() == pytest.approx(6.0)
    C = farad.Problem(box).solve().capacitance["box", "box"]
    assert 0.6 < C / (4 * np.pi * 8.8541878188e-12) < 0.6607
    with pytest.raises(farad.InputError, match="no triangles or quadrangles, but line"):
        farad.Mesh.from_meshio(meshio.Mesh(cube, [("line", [[0, 1]])]), unit="m")


def test_groups_of_meshio():
    meshio = pytest.importorskip("meshio")

    def mesh(cells=("triangle",), **more):
        made = meshio.Mesh(CORNERS.astype(float), [(kind, FACES) for kind in cells])
        for name, value in more.items():
            setattr(made, name, value)
        return made

    masked = farad.Mesh.from_meshio(mesh(cell_sets={"a": [np.array([True, False, True, False])]}), unit="m")
    assert masked.group_of_triangle.tolist() == [0, -1, 0, -1]
    by_tag = mesh(
        cell_data={"gmsh:physical": [np.array([3, 3, 0, 4])]},
        field_data={"pad": np.array([3, 2]), "other": np.array([4, 3]), "odd": np.array([4])},
    )
    by_tag = farad.Mesh.from_meshio(by_tag, unit="m")
    assert by_tag.groups == ["pad", "group_4"]
    assert by_tag.group_of_triangle.tolist() == [0, 0, -1, 1]
    for message, wrong in [
        ("must have a number for each", mesh(cell_data={"gmsh:physical": [np.array([1, 2])]})),
        (
            "gmsh:physical must have a number for each cell of each block",
            mesh(("triangle", "triangle"), cell_data={"gmsh:physical": [np.ones(4, int)]}),
        ),
        (
            "gmsh:physical must be whole numbers",
            mesh(cell_data={"gmsh:physical": [np.array([1, np.nan, 1, 1])]}),
        ),
        ("cells of the set 'a' have the index 9", mesh(cell_sets={"a": [np.array([9])]})),
        ("cells of the set 'a' have the index -1", mesh(cell_sets={"a": [np.array([-1])]})),
        ("the cell set 'a' must have a list for each block", mesh(cell_sets={"a": []})),
        ("the cells of the mesh are no blocks with a type", mesh(cells=(), cells_=0)),
    ]:
        if not wrong.cells:
            wrong.cells = ["triangle"]
        with pytest.raises(farad.InputError, match=message):
            farad.Mesh.from_meshio(wrong, unit="m")
    for kind, nodes in [("quad8", 8), ("triangle10", 10)]:
        points, cells = np.zeros((nodes, 3)), [(kind, [list(range(nodes))])]
        with pytest.raises(farad.InputError, match=f"cells of the kind {kind} are not read; make"):
            farad.Mesh.from_meshio(meshio.Mesh(points, cells), unit="m")


def test_flat_and_curved_triangles_of_meshio_are_reported():
    meshio = pytest.importorskip("meshio")
    both = [("triangle", FACES), ("triangle6", [[0, 1, 2, 3, 0, 1]])]
    with pytest.raises(farad.InputError, match="flat and curved triangles; make all of one order"):
        farad.Mesh.from_meshio(meshio.Mesh(CORNERS, both), unit="m")


def test_curved_triangles_of_meshio():
    meshio = pytest.importorskip("meshio")
    flat = farad.Mesh.sphere(1.0, elements=320, unit="m")
    points, triangles = flat.points, flat.triangles.astype(int)
    nodes, cells, number = list(points), [], {}
    for a, b, c in triangles:
        middle = []
        for i, j in ((a, b), (b, c), (c, a)):
            key = (min(i, j), max(i, j))
            if key not in number:
                between = points[i] + points[j]
                number[key] = len(nodes)
                nodes.append(between / np.linalg.norm(between))
            middle.append(number[key])
        cells.append([a, b, c, *middle])
    mesh = farad.Mesh.from_meshio(meshio.Mesh(np.array(nodes), [("triangle6", cells)]), unit="m")
    assert mesh.order == 2
    C = farad.Problem(mesh).solve().capacitance.values[0, 0]
    assert C == pytest.approx(4 * np.pi * 8.8541878188e-12, rel=1e-3)


def test_pyvista():
    pyvista = pytest.importorskip("pyvista")
    sphere = pyvista.Sphere(radius=2.0)
    mesh = farad.Mesh.from_pyvista(sphere, unit="mm")
    assert len(mesh) == sphere.n_cells and mesh.groups == []
    box = farad.Mesh.from_pyvista(pyvista.Cube(), unit="m")
    assert len(box) == 12
    sphere.cell_data["body"] = np.full(sphere.n_cells, 7)
    assert farad.Mesh.from_pyvista(sphere, groups="body", unit="m").groups == ["group_7"]
    with pytest.raises(farad.InputError, match="no cell array 'net'; there are: .*body"):
        farad.Mesh.from_pyvista(sphere, groups="net", unit="m")
    with pytest.raises(farad.InputError, match="groups is 3; it must be a string"):
        farad.Mesh.from_pyvista(sphere, groups=3, unit="m")
    with pytest.raises(farad.InputError, match="the data set has no surface: no polygons"):
        farad.Mesh.from_pyvista(pyvista.Line(), unit="m")
    faces = np.column_stack([np.full(4, 3), FACES]).ravel()
    wired = pyvista.PolyData(CORNERS.astype(float), faces=faces, lines=[2, 0, 1], verts=[1, 0])
    wired.cell_data["net"] = ["point", "line", "b", "a", "b", "a"]
    taken = farad.Mesh.from_pyvista(wired, groups="net", unit="m")
    assert [taken.groups[k] for k in taken.group_of_triangle] == ["b", "a", "b", "a"]
    cube = pyvista.Cube()
    cube.cell_data["side"] = np.arange(6)
    assert np.bincount(farad.Mesh.from_pyvista(cube, "side", unit="m").group_of_triangle).tolist() == [2] * 6
    assert "group of cell" not in cube.cell_data
    back = farad.Mesh.from_pyvista(mesh.to_pyvista(), unit="m")
    np.testing.assert_array_equal(back.triangles, mesh.triangles)


def test_surfaces_go_to_pyvista_with_their_charges(monkeypatch):
    pyvista = pytest.importorskip("pyvista")
    problem = farad.Problem(farad.Mesh.sphere(elements=80, unit="mm")).conductor(
        "sphere", potential=2.0
    )
    solution = problem.solve()
    surface = solution.to_pyvista()
    unit = surface.cell_data["charge density, sphere at 1 V [C/m^2]"]
    np.testing.assert_allclose(
        surface.cell_data["charge density, free [C/m^2]"], 2 * unit, rtol=1e-5
    )
    assert (surface.cell_data["potential [V]"] == 2.0).all()
    shown = {}
    monkeypatch.setattr(pyvista.PolyData, "plot", lambda self, **options: shown.update(options))
    solution.plot(show_edges=True)
    assert shown == {"scalars": "charge density, free and bound [C/m^2]", "show_edges": True}


@pytest.mark.parametrize(
    "module, call",
    [
        ("meshio", lambda: farad.Mesh.sphere(unit="m").to_meshio()),
        ("pyvista", lambda: farad.Mesh.sphere(unit="m").to_pyvista()),
        ("pandas", lambda: farad.CapacitanceMatrix.of(["a"], [[1.0]]).to_pandas()),
        ("xarray", lambda: farad.CapacitanceMatrix.of(["a"], [[1.0]]).to_xarray()),
    ],
)
def test_missing_packages_are_reported(monkeypatch, module, call):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"not installed: pip install {module}$"):
        call()


@pytest.mark.parametrize("order", [1, 3])
def test_pickles_and_copies(order):
    """As processes that are spawned need them."""
    mesh = farad.Mesh.two_spheres(1.0, 3.0, elements=160, order=order, unit="um")
    back = pickle.loads(pickle.dumps(mesh))
    assert (back.groups, back.unit, back.order) == (mesh.groups, "um", order)
    np.testing.assert_array_equal(back.points, mesh.points)
    np.testing.assert_array_equal(back.triangles, mesh.triangles)
    np.testing.assert_array_equal(back.group_of_triangle, mesh.group_of_triangle)
    expected = farad.Problem(mesh).solve().capacitance.values
    np.testing.assert_allclose(farad.Problem(back).solve().capacitance.values, expected, rtol=1e-9)
    assert copy.copy(mesh) is mesh and copy.deepcopy([mesh])[0] is mesh
    assert weakref.ref(mesh)() is mesh

    class Named(farad.Mesh):
        pass

    assert type(Named.sphere(elements=80, unit="m").moved((1, 0, 0))) is Named


@pytest.mark.parametrize(
    "make",
    [
        lambda mesh: farad.Problem(mesh),
        lambda mesh: farad.Problem(mesh).solve(),
        lambda mesh: farad.Solver(),
        lambda mesh: farad.Surface(mesh),
        lambda mesh: farad.Fmm(mesh.points),
    ],
)
def test_what_is_not_pickled_says_so(make):
    made = make(farad.Mesh.sphere(elements=80, unit="m"))
    assert copy.copy(made) is made and copy.deepcopy(made) is made
    name = type(made).__name__
    with pytest.raises(TypeError, match=f"a farad.{name} cannot be pickled; pass on its mesh or"):
        pickle.dumps(made)
