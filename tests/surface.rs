//! `farad surface`.

use crate::support::Workplace;

/// Two atoms whose surfaces are in closed form, and one without radius.
const ATOMS: &str = "\
REMARK two atoms
ATOM 1 C1 MOL 1 0.0 0.0 0.0  0.5 1.7
ATOM 2 H1 MOL 1 0.8 0.9 0.1  0.0 0.0
ATOM 3 C2 MOL 1 1.5 0.0 0.0 -0.5 1.7
END
";

#[test]
fn surfaces_of_atoms_are_meshes_to_solve_on() {
    let place = Workplace::new("surface");
    place.write("two.pqr", ATOMS);
    let made = place.must("surface two.pqr --kind vdw --density 8 -o two.msh");
    assert!(made.stderr.contains("H1 of MOL 1 on line 3"), "{}", made.stderr);
    for part in ["groups molecule", "min. angle"] {
        assert!(made.stdout.contains(part), "no \"{part}\" in\n{}", made.stdout);
    }
    // Two caps of height 1.7 + 0.75 of the sphere of radius 1.7.
    let mut lines = made.stdout.lines().map(str::trim_start);
    let row = lines.find(|line| line.starts_with("molecule ")).unwrap();
    let cells: Vec<f64> =
        row.split_whitespace().skip(1).map(|cell| cell.replace(',', "").parse().unwrap()).collect();
    let area = 2.0 * std::f64::consts::TAU * 1.7 * 2.45;
    assert!((cells[1] / area - 1.0).abs() < 1e-3 && cells[3] >= 15.0, "{row}");
    assert!(place.must("mesh check two.msh").stdout.contains("OK"));
    place.must("surface two.pqr --order 2 --elements 500 --overwrite -o two.msh");
    assert!(place.must("mesh check two.msh").stdout.contains("OK"));
}

#[test]
fn files_without_radii_are_refused_with_what_makes_them() {
    let place = Workplace::new("surface_refused");
    place.write("a.pdb", ATOMS);
    place.farad("surface a.pdb -o a.msh").fails(3, &["PDB file", "no radii", "pdb2pqr"]);
    place.write("a.cif", "data_");
    place.farad("surface a.cif -o a.msh").fails(3, &["mmCIF", "pdb2pqr"]);
    place.write("a.pqr", "ATOM 1 C1 MOL 1 0.0 0.0 0.0 0.5 0.0\n");
    place.farad("surface a.pqr -o a.msh").fails(3, &["radius above 0"]);
    place.write("b.pqr", ATOMS);
    place.farad("surface b.pqr --density 0 -o a.msh").fails(2, &["density"]);
    place.farad("surface b.pqr --probe -1 -o a.msh").fails(2, &["probe"]);
    assert!(!place.path("a.msh").exists());
}
