"""Matrices in the files of other programs."""

import dataclasses
import io

import numpy as np
import pytest

import farad

NAMES = ["pad_a", "pad_b", "bus"]
VALUES = np.array([[4e-14, -1e-14, -2e-15], [-1e-14, 3e-14, -1e-15], [-2e-15, -1e-15, 9e-15]])


@pytest.fixture
def matrix():
    return farad.CapacitanceMatrix.of(NAMES, VALUES, title="qubit")


def test_arithmetic_is_that_of_an_array(matrix):
    for made, expected in [
        (matrix * 1e15, VALUES * 1e15),
        (1e15 * matrix, VALUES * 1e15),
        (np.float64(2) * matrix, VALUES * 2),
        (matrix / 2, VALUES / 2),
        (1 / matrix, 1 / VALUES),
        (matrix + matrix, VALUES * 2),
        (1 + matrix, VALUES + 1),
        (matrix - VALUES, VALUES * 0),
        (VALUES - matrix, VALUES * 0),
        (1 - matrix, 1 - VALUES),
        (-matrix, -VALUES),
        (matrix @ [1, 0, 0], VALUES[:, 0]),
        ([1, 0, 0] @ matrix, VALUES[0]),
    ]:
        assert type(made) is np.ndarray
        np.testing.assert_array_equal(made, expected)
    assert matrix == matrix and matrix in {matrix}
    with pytest.raises(TypeError):
        matrix * "fF"


def test_q3d_goes_round(matrix, tmp_path):
    matrix.to_q3d(tmp_path / "c.txt")
    back = farad.CapacitanceMatrix.read_q3d(tmp_path / "c.txt")
    assert back.names == NAMES
    np.testing.assert_allclose(back.values, VALUES, rtol=1e-12)
    np.testing.assert_allclose(back.mutual, matrix.mutual, rtol=1e-12)


def test_q3ds_own_text(tmp_path):
    """As Ansys writes it: tabs at the ends of lines, other units, more matrices after the first."""
    text = (
        "DesignVariation:$L='650um'\nSetup1:LastAdaptive\nProblem Type:C\nC Units:fF, G Units:mSie\n"
        "Reduce Matrix:Original\nFrequency: 5.5E+09 Hz\n\nCapacitance Matrix\n"
        "\tground_plane\tpad top\t\nground_plane\t288.29\t-32.54\t\npad top\t-32.54\t66.03\t\n\n"
        "Conductance Matrix\n\tground_plane\tpad top\t\nground_plane\t0\t0\t\npad top\t0\t0\t\n"
    )
    (tmp_path / "q3d.txt").write_text(text)
    read = farad.CapacitanceMatrix.read_q3d(tmp_path / "q3d.txt")
    assert read.names == ["ground_plane", "pad top"]
    np.testing.assert_allclose(read.values, np.array([[288.29, -32.54], [-32.54, 66.03]]) * 1e-15)


def test_qiskit_metals_reader_takes_it(matrix, tmp_path):
    """What qiskit_metal.analyses.quantization.lumped_capacitive does to the text."""
    pandas = pytest.importorskip("pandas")
    text = matrix.to_q3d()
    assert text.split("C Units:")[1].split(",")[0] == "farad"
    parts = text.split("Capacitance Matrix")
    assert len(parts) == 2
    table = pandas.read_csv(
        io.StringIO(parts[1].strip()), sep=r"\s+", skipinitialspace=True, index_col=0
    )
    assert list(table.columns) == NAMES and list(table.index) == NAMES
    np.testing.assert_allclose(table.to_numpy(), VALUES, rtol=1e-12)


def test_palaces_tables_go_round(matrix, tmp_path):
    paths = matrix.to_palace(tmp_path)
    assert [path.name for path in paths] == [
        "terminal-C.csv",
        "terminal-Cm.csv",
        "terminal-Cinv.csv",
    ]
    maxwell = farad.CapacitanceMatrix.read_palace(paths[0], NAMES)
    mutual = farad.CapacitanceMatrix.read_palace(paths[1])
    for read in (maxwell, mutual):
        np.testing.assert_allclose(read.values, VALUES, rtol=1e-12)
    assert maxwell.names == NAMES and mutual.names == ["terminal_1", "terminal_2", "terminal_3"]
    inverse = np.loadtxt(paths[2], delimiter=",", skiprows=1)[:, 1:]
    np.testing.assert_allclose(inverse @ VALUES, np.eye(3), atol=1e-9)
    with pytest.raises(farad.InputError, match="not that of Palace's"):
        farad.CapacitanceMatrix.read_palace(paths[2])


def test_spice_has_all_capacitors(matrix, tmp_path):
    text = matrix.to_spice(tmp_path / "c.sp", threshold=0.0)
    assert (tmp_path / "c.sp").read_text() == text
    lines = [line.split() for line in text.splitlines() if line.startswith("C")]
    found = {(a, b): float(value) for _, a, b, value in lines}
    assert found["pad_a", "pad_b"] == pytest.approx(1e-14)
    assert found["bus", "0"] == pytest.approx(6e-15)
    assert ".subckt qubit pad_a pad_b bus" in text
    assert ".subckt chip pad_a pad_b bus" in matrix.to_spice(title="chip")
    assert "pad_b bus" not in matrix.to_spice(threshold=0.5).split(".subckt")[1].split("\n", 1)[1]


def test_matrix_market(matrix, tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    matrix.to_matrix_market(tmp_path / "c.mtx")
    np.testing.assert_allclose(scipy_io.mmread(tmp_path / "c.mtx").toarray(), VALUES, rtol=1e-12)


def test_pandas_and_xarray_are_labelled():
    mesh = farad.Mesh.two_spheres(1.0, 3.0, elements=160, unit="m")
    C = farad.Problem(mesh).solve().capacitance
    table = C.to_pandas()
    assert table.loc["left", "right"] == C["left", "right"] < 0
    assert C.to_pandas("mutual").loc["left", "right"] == -C["left", "right"]
    assert (C.to_pandas(errors=True).to_numpy() > 0).all()
    data = C.to_xarray()
    assert float(data.maxwell.sel(conductor="left", column="right")) == C["left", "right"]
    assert data.maxwell.attrs["units"] == "F" and "maxwell_error" in data
    np.testing.assert_array_equal(np.asarray(C), C.values)
    without = farad.Problem(mesh).want(error_bars=False).solve().capacitance
    assert without.errors is None and np.isnan(without.to_pandas(errors=True).to_numpy()).all()


def test_nets_are_joined_grounded_and_eliminated(matrix):
    floating = matrix.reduce(floating="bus")
    a, b, c = VALUES[:2, :2], VALUES[:2, 2:], VALUES[2:, 2:]
    np.testing.assert_allclose(floating.values, a - b @ np.linalg.inv(c) @ b.T, rtol=1e-12)
    assert floating.names == ["pad_a", "pad_b"] and floating.errors is None
    np.testing.assert_allclose(matrix.reduce(grounded=["bus"]).values, a)
    joined = matrix.reduce(groups={"pads": "pad_*"})
    assert joined.names == ["pads", "bus"]
    np.testing.assert_allclose(joined["pads", "pads"], a.sum())
    np.testing.assert_allclose(joined.mutual.sum(axis=1)[0], joined["pads", "pads"])
    value, error = matrix.between("pad_a", "pad_b")
    inverse = np.linalg.inv(VALUES)
    assert (
        value == pytest.approx(1 / (inverse[0, 0] + inverse[1, 1] - 2 * inverse[0, 1]))
        and error is None
    )
    solved = farad.Problem(farad.Mesh.two_spheres(elements=160, unit="m")).solve().capacitance
    left = solved.reduce(floating="right")
    assert left.errors.shape == left.mutual_errors.shape == (1, 1) and left.errors[0, 0] > 0
    assert solved.between("left", "right")[1] > 0
    for message, make in [
        ('no net "gate"', lambda: matrix.reduce(grounded="gate")),
        ("listed twice", lambda: matrix.reduce(grounded="bus", floating="bus")),
        ("no net is left", lambda: matrix.reduce(grounded="*")),
        ('no net "gate"', lambda: matrix.between("pad_a", "gate")),
        ("a is 3", lambda: matrix.between(3, "pad_b")),
        ("groups is .*; it must be a dictionary", lambda: matrix.reduce(groups=["pad_a"])),
        ("the name of a group is 3", lambda: matrix.reduce(groups={3: "pad_a"})),
        (
            "nets that float have no capacitance to the others or to ground",
            lambda: farad.CapacitanceMatrix.of(["a", "b"], np.diag([0.0, 1.0])).reduce(floating="a"),
        ),
        (
            "the matrix has entries that are NaN or infinite, and is not written",
            lambda: dataclasses.replace(matrix, values=np.full((3, 3), np.nan)).to_q3d(),
        ),
    ]:
        with pytest.raises(farad.InputError, match=message):
            make()


def test_faults_are_reported(matrix, tmp_path):
    with pytest.raises(KeyError, match="conductors 'pad_a'"):
        matrix["pad_a", "none"]
    with pytest.raises(KeyError):
        matrix["pad_a"]
    with pytest.raises(farad.InputError, match="for 2 names"):
        farad.CapacitanceMatrix.of(["a", "b"], VALUES)
    with pytest.raises(farad.InputError, match="one name"):
        farad.CapacitanceMatrix.of(["a", "a"], np.eye(2))
    with pytest.raises(farad.InputError, match="no conductors"):
        farad.CapacitanceMatrix.of([], np.zeros((0, 0))).to_spice()
    with pytest.raises(farad.InputError, match="form is"):
        matrix.to_pandas("spice")
    with pytest.raises(farad.InputError, match="threshold is -1"):
        matrix.to_spice(threshold=-1)
    with pytest.raises(farad.FileError, match="cannot read"):
        farad.CapacitanceMatrix.read_q3d(tmp_path / "none.txt")
    with pytest.raises(farad.FileError, match="cannot write"):
        matrix.to_q3d(tmp_path / "none" / "c.txt")
    for content, message in [
        ("", "no line"),
        ("C Units:bushel,\nCapacitance Matrix\n\ta\na\t1\n", "unit bushel"),
        ("Capacitance Matrix\n\ta\tb\na\t1\t2\n", "there are 1 rows"),
        ("Capacitance Matrix\n\ta\tb\na\t1\nb\t1\t2\n", "line 3: expected a and 2"),
        ("Capacitance Matrix\n\ta\na\tx\n", "line 3: 'x' is no number"),
        ("Capacitance Matrix\n\t\n", "rows|no line"),
    ]:
        (tmp_path / "bad.txt").write_text(content)
        with pytest.raises(farad.InputError, match=message):
            farad.CapacitanceMatrix.read_q3d(tmp_path / "bad.txt")
    for content in [
        "",
        "i, C[i][1] (F)\n1,2,3\n",
        "i, C[i][1] (F)\n1,x\n",
        "i, C[i][1] (F), C[i][2] (F)\n1,2,3\n",
    ]:
        (tmp_path / "bad.csv").write_text(content)
        with pytest.raises(farad.InputError, match="bad.csv"):
            farad.CapacitanceMatrix.read_palace(tmp_path / "bad.csv")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(farad.InputError, match="no text"):
        farad.CapacitanceMatrix.read_q3d(tmp_path / "bytes.txt")


@pytest.mark.parametrize(
    "message, make",
    [
        (
            r"values have the shape \(3, 3\), for 2 names",
            lambda: farad.CapacitanceMatrix.of(["a", "b"], VALUES),
        ),
        (
            "two conductors have one name: a, a, b",
            lambda: farad.CapacitanceMatrix.of(["a", "a", "b"], VALUES),
        ),
        (
            "values have entries that are NaN or infinite",
            lambda: farad.CapacitanceMatrix.of(["a"], [[np.inf]]),
        ),
        (
            "values has the type <U1; it must be real numbers",
            lambda: farad.CapacitanceMatrix.of(["a"], [["x"]]),
        ),
    ],
)
def test_what_is_no_matrix_is_reported(message, make):
    with pytest.raises(farad.InputError, match=message):
        make()


def test_what_there_is_not_in_a_matrix_is_reported(matrix):
    with pytest.raises(KeyError, match=r"ask for \[row, column\]; there are the conductors"):
        matrix["pad_a", "none"]
    with pytest.raises(farad.InputError, match='form is .none.; it must be "maxwell" or "mutual"'):
        matrix.to_pandas("none")


@pytest.mark.parametrize(
    "read, text, message",
    [
        ("read_q3d", "C Units:furlong\nCapacitance Matrix\na\na 1\n", "the unit furlong is not known"),
        ("read_q3d", "C Units:fF\n", 'there is no line "Capacitance Matrix"'),
        ("read_q3d", "Capacitance Matrix\n\ta\tb\na\t1\n", "line 3: expected a and 2 numbers"),
        ("read_palace", "i,C[i][1] (F),C[i][2] (F)\n1,1\n", "line 2: expected 3 numbers"),
        ("read_palace", "i,C[i][1] (F),C[i][2] (F)\n1,1,2\n", "the matrix has 1 rows of 2 entries"),
        ("read_palace", "i,C[i][1] (F)\n1,x\n", "line 2: 'x' is no number"),
        ("read_palace", "i,C[i][1] (F)\n1,nan\n", "line 2: 'nan' is no number"),
        ("read_palace", "a,b\n1,1\n", "the heading is not that of Palace's C or C_m in farad"),
    ],
)
def test_files_that_hold_no_matrix_are_reported(read, text, message, tmp_path):
    (tmp_path / "c.txt").write_text(text)
    with pytest.raises(farad.InputError, match=message):
        getattr(farad.CapacitanceMatrix, read)(tmp_path / "c.txt")
    (tmp_path / "c.txt").write_bytes(b"\xff")
    with pytest.raises(farad.InputError, match="c.txt: is no text: "):
        getattr(farad.CapacitanceMatrix, read)(tmp_path / "c.txt")


def test_a_matrix_is_its_own():
    values = np.eye(1)
    matrix = farad.CapacitanceMatrix.of(["a"], values)
    values[0, 0] = 7.0
    assert matrix["a", "a"] == 1.0
