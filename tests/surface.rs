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

#[test]
fn what_is_left_out_of_surfaces_is_reported() {
    let place = Workplace::new("surface_notes");
    let atom = |k: usize, x: [f64; 3], radius: f64| {
        format!("ATOM {k} C MET {k} {:.3} {:.3} {:.3} 0.1 {radius}\n", x[0], x[1], x[2])
    };
    place.write("zero.pqr", atom(1, [0.0; 3], 2.0) + &atom(2, [1.0, 0.0, 0.0], 0.0));
    let ended = place.must("surface zero.pqr -o zero.msh");
    assert!(ended.stderr.contains("atoms of radius 0 are skipped: "), "{}", ended.stderr);
    // Atoms on a sphere, around a cavity, and a small one far from them.
    let on_sphere = |k: usize| {
        let z = 1.0 - (2 * k + 1) as f64 / 120.0;
        let (r, angle) = ((1.0 - z * z).sqrt(), 2.4 * k as f64);
        [r * angle.cos(), r * angle.sin(), z].map(|x| 7.0 * x)
    };
    let shell: String = (0..120).map(|k| atom(k + 1, on_sphere(k), 2.4)).collect();
    place.write("shell.pqr", &shell);
    let told = |keys: &str, part: &str| {
        place.write("case.toml", format!("format = 1\n[[molecule]]\n{keys}\n"));
        let ended = place.farad("solve case.toml --dry-run");
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    };
    told("pqr = \"shell.pqr\"\ncavities = \"drop\"\ndensity = 0.05", " A^3 in all");
    place.write("lone.pqr", shell + &atom(999, [30.0, 0.0, 0.0], 0.5));
    let keys = "pqr = \"lone.pqr\"\nsurface = \"vdw\"\ndensity = 0.02";
    told(keys, "of the surface too small for these triangles left out");
    told(keys, "A^2 of surface, and triangles have ");
    told(keys, "triangles per square angstrom where 0.02 were asked for");
}
