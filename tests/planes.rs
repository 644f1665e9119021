//! Ground planes and planes of symmetry: whole runs.

use std::fmt::Write as _;

use crate::support::{Workplace, maxwell};

const COULOMB: f64 = 8.987_551_786_2e9;
const ELEMENTARY: f64 = 1.602_176_634e-19;

type Corners = [[f64; 3]; 3];

/// An STL file.
fn stl(triangles: &[Corners]) -> String {
    let mut text = "solid s\n".to_owned();
    for corners in triangles {
        text += "facet normal 0 0 0\nouter loop\n";
        for [x, y, z] in corners {
            writeln!(text, "vertex {x} {y} {z}").unwrap();
        }
        text += "endloop\nendfacet\n";
    }
    text + "endsolid s\n"
}

/// Faces of a cube from -half to half, each of n x n squares cut in two: all six, or the parts of
/// three of them that lie where no coordinate is negative.
fn cube(half: f64, n: usize, whole: bool) -> String {
    let place = |k: usize| (2.0 * k as f64 / n as f64 - 1.0) * half;
    let first = if whole { 0 } else { n / 2 };
    let mut triangles = Vec::new();
    for (axis, height) in (0..3).flat_map(|axis| [(axis, -half), (axis, half)]) {
        if !whole && height < 0.0 {
            continue;
        }
        for (i, j) in (first..n).flat_map(|i| (first..n).map(move |j| (i, j))) {
            let corner = |a: usize, b: usize| {
                let mut x = [height; 3];
                (x[(axis + 1) % 3], x[(axis + 2) % 3]) = (place(a), place(b));
                x
            };
            let [a, b, c, d] =
                [corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)];
            // Diagonals that mirror each other.
            let straight = (2 * i < n) == (2 * j < n);
            triangles.extend(if straight {
                [[a, b, c], [a, c, d]]
            } else {
                [[a, b, d], [b, c, d]]
            });
        }
    }
    stl(&triangles)
}

const SYMMETRIC: &str = "[[plane]]\naxis = \"x\"\nkind = \"symmetric\"\n[[plane]]\naxis = \"y\"\nkind = \"symmetric\"\n\
                         [[plane]]\naxis = \"z\"\nat = 0.0\nkind = \"symmetric\"\n";

#[test]
fn a_field_through_a_plane_of_symmetry_is_odd_in_it() {
    let place = Workplace::new("planes_polarisability");
    place.write("whole.stl", cube(0.5, 4, true));
    place.write("eighth.stl", cube(0.5, 4, false));
    let metal = "[output]\npolarisability = true\n";
    let glass = "[[dielectric]]\nname = \"d\"\nrelative_permittivity = 4\ngroup = \"ungrouped\"\n";
    for body in [String::new(), glass.to_owned()] {
        place.case("whole.toml", "whole.stl", &(body.clone() + metal));
        place.case("eighth.toml", "eighth.stl", &(body.clone() + SYMMETRIC + metal));
        let [whole, eighth] = ["whole.toml", "eighth.toml"].map(|case| {
            let results = place.solve(&format!("{case} --overwrite"));
            let solves = results["solves"].as_array().unwrap();
            let last = solves.last().unwrap();
            assert_eq!(
                (&last["excitation"], &last["converged"]),
                (&"field along z".into(), &true.into())
            );
            crate::support::matrix(&results["polarisability"]["over_4pi_eps0"])
        });
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            // The same triangles; the solver's tolerance is 1e-6.
            assert!(
                (whole[i][j] - eighth[i][j]).abs() < 1e-5 * whole[0][0],
                "{whole:?} {eighth:?}"
            );
        }
    }
}

#[test]
fn an_eighth_of_a_cube_is_a_cube() {
    let place = Workplace::new("planes_cube");
    place.write("whole.stl", cube(0.5, 12, true));
    place.write("eighth.stl", cube(0.5, 12, false));
    place.case("whole.toml", "whole.stl", "");
    place.case("eighth.toml", "eighth.stl", SYMMETRIC);
    for method in ["dense", "fmm"] {
        let solve = |case: &str| place.solve(&format!("{case} --method {method} --overwrite"));
        let (whole, eighth) = (solve("whole.toml"), solve("eighth.toml"));
        let (all, part) = (&whole["mesh"]["triangles"], &eighth["mesh"]["triangles"]);
        assert_eq!(all.as_u64().unwrap(), 8 * part.as_u64().unwrap());
        assert_eq!(eighth["mesh"]["conductors"][0]["closed"], true);
        let off = maxwell(&eighth)[0][0] / maxwell(&whole)[0][0] - 1.0;
        // Solver and fast sums are good to 1e-6.
        assert!(off.abs() < 1e-6, "{method}: {off:.1e}");
    }
    let again = place.solve("eighth.out/case.resolved.toml --output again");
    assert!((maxwell(&again)[0][0] / 0.660_678 - 1.0).abs() < 0.01);
}

/// Exact: C = a sinh(mu) sum 1/sinh(n mu) with cosh(mu) = h/a, and half its slope is the force.
#[test]
fn a_sphere_over_a_ground_plane() {
    let place = Workplace::new("planes_sphere");
    place.generate("sphere --base icosahedron --elements 1280", "sphere.msh");
    let more = |at: f64| {
        format!(
            "[[conductor]]\nname = \"a\"\ngroup = \"sphere\"\npotential = 2\n\
             [[plane]]\naxis = \"z\"\nat = {at}\nkind = \"ground\"\n\
             [[probe]]\nname = \"p\"\nfrom = [0, 0, {at}]\nto = [0, 0, {}]\ncount = 2\n\
             [output]\nforces = true",
            at - 1.0
        )
    };
    place.case("sphere.toml", "sphere.msh", &more(-1.5));
    let results = place.solve("sphere.toml");
    let series = |h: f64| -> f64 {
        let mu = h.acosh();
        mu.sinh() * (1..200).map(|n| 1.0 / (f64::from(n) * mu).sinh()).sum::<f64>()
    };
    let error = maxwell(&results)[0][0] / series(1.5) - 1.0;
    // Facets take 3e-3 of the radius, and are that much farther away.
    assert!(error < 0.0 && error > -6e-3, "{error}");
    let slope = (series(1.5 + 1e-5) - series(1.5 - 1e-5)) / 2e-5;
    let exact = 0.5 * 4.0 * slope / COULOMB;
    let force = results["forces"][0]["force_n"][2].as_f64().unwrap();
    assert!((force / exact - 1.0).abs() < 2e-2, "{force} {exact}");
    // At the plane the potential is 0, and nothing reaches behind it.
    let rows = place.read("sphere.out/probe_p.csv");
    for row in rows.lines().skip(1) {
        let volt: f64 = row.split(',').nth(3).unwrap().parse().unwrap();
        assert!(volt.abs() < 1e-9, "{rows}");
    }
    // The sphere must be off the plane, and on one side of it.
    for (at, part) in
        [(-1.0, "a conductor touches the ground plane z = -1"), (0.3, "goes through it")]
    {
        place.case("wrong.toml", "sphere.msh", &more(at));
        place.farad("solve wrong.toml").fails(3, &["wrong.toml", part]);
    }
}

#[test]
fn bodies_without_a_force_are_named() {
    let place = Workplace::new("planes_forces");
    place.generate("concentric-spheres --elements 144", "two.msh");
    place.case(
        "two.toml",
        "two.msh",
        "[[dielectric]]\nname = \"coat\"\nrelative_permittivity = 4\ngroup = \"outer\"\n\
         [[conductor]]\nname = \"core\"\ngroup = \"inner\"\npotential = 1\n\
         [[conductor]]\nname = \"shell\"\ngroup = \"outer\"\n[output]\nforces = true",
    );
    let text = place.must("solve two.toml").stdout;
    assert!(text.contains("no force is known on \"shell\": several media"), "{text}");
}

/// A charge over a plane is pulled by q^2/(4 pi eps0 (2h)^2), and its energy is that of half its
/// image's potential.
#[test]
fn a_charge_over_a_ground_plane() {
    let place = Workplace::new("planes_charge");
    place.generate("sphere --elements 72", "sphere.msh");
    // A molecule of the medium's own permittivity is not there at all but for its charge, which is
    // one angstrom over its centre.
    place.write("one.pqr", "ATOM 1 C RES 1 0.0 0.0 0.5 1.0 1.0\n");
    place.write(
        "charge.toml",
        "format = 1\n[mesh]\nfile = \"sphere.msh\"\nunit = \"angstrom\"\n[medium]\nrelative_permittivity = 2\n\
         [[dielectric]]\nname = \"m\"\nrelative_permittivity = 2\ngroup = \"sphere\"\ncharges = \"one.pqr\"\n\
         [[plane]]\naxis = \"z\"\nat = -2\nkind = \"ground\"\n[output]\nforces = true\n",
    );
    let results = place.solve("charge.toml");
    let (unit, height) = (COULOMB * ELEMENTARY * ELEMENTARY / 2.0, 2.5e-10);
    let energy = results["solvation"]["energy_j"].as_f64().unwrap();
    assert!((energy / (-unit / (4.0 * height)) - 1.0).abs() < 1e-9, "{energy}");
    let force = results["forces"][0]["force_n"][2].as_f64().unwrap();
    assert!((force / (-unit / (2.0 * height).powi(2)) - 1.0).abs() < 1e-9, "{force}");
}

/// Half a dielectric sphere on a ground plane in a field: half of a sphere in a field, of dipole
/// moment (eps - 1)/(eps + 2) a^3 E.
#[test]
fn half_a_dielectric_sphere_stands_on_the_ground() {
    let place = Workplace::new("planes_half");
    place.generate("sphere --base octahedron --elements 2048", "sphere.msh");
    let case = |planes: &str| {
        format!(
            "[[dielectric]]\nname = \"d\"\nrelative_permittivity = 4\ngroup = \"GROUP\"\n[external]\nfield = [0, 0, 1]\n{planes}\
             [[probe]]\nname = \"p\"\nfrom = [0.2, 0.1, 1.2]\nto = [0.2, 0.1, 0.0]\ncount = 5\n"
        )
    };
    place.case("whole.toml", "sphere.msh", &case("").replace("GROUP", "sphere"));
    place.solve("whole.toml");
    place.write("half.stl", upper_half(16));
    let ground = "[[plane]]\naxis = \"z\"\nkind = \"ground\"\n";
    place.case("half.toml", "half.stl", &case(ground).replace("GROUP", "ungrouped"));
    place.solve("half.toml --tolerance 1e-7");
    let volts = |file: &str| -> Vec<f64> {
        let number = |row: &str| row.split(',').nth(3).unwrap().parse().unwrap();
        place.read(file).lines().skip(1).map(number).collect()
    };
    // Outside: -z (1 - beta / r^3), inside: -z 3/(eps + 2).
    let exact = |z: f64| {
        let r = (0.05 + z * z).sqrt();
        if r < 1.0 { -0.5 * z } else { -z * (1.0 - 0.5 / r.powi(3)) }
    };
    for (k, volt) in volts("half.out/probe_p.csv").into_iter().enumerate() {
        let z = 1.2 - 0.3 * k as f64;
        assert!((volt - exact(z)).abs() < 5e-3, "{z}: {volt} {}", exact(z));
    }
    for (a, b) in volts("half.out/probe_p.csv").iter().zip(volts("whole.out/probe_p.csv")) {
        assert!((a - b).abs() < 5e-3);
    }
}

/// The unit sphere's part above z = 0: 4 n^2 triangles on an octahedron's faces.
fn upper_half(n: usize) -> String {
    let mut triangles = Vec::new();
    for quarter in 0..4 {
        let point = |i: usize, j: usize| {
            let [x, y, z] = [i as f64, j as f64, (n - i - j) as f64];
            let r = (x * x + y * y + z * z).sqrt();
            let (x, y) = [(x, y), (-y, x), (-x, -y), (y, -x)][quarter];
            [x / r, y / r, z / r]
        };
        for (i, j) in (0..n).flat_map(|i| (0..n - i).map(move |j| (i, j))) {
            triangles.push([point(i, j), point(i + 1, j), point(i, j + 1)]);
            if i + j + 1 < n {
                triangles.push([point(i + 1, j), point(i + 1, j + 1), point(i, j + 1)]);
            }
        }
    }
    stl(&triangles)
}

#[test]
fn planes_say_what_they_do_not_allow() {
    let place = Workplace::small("planes_wrong");
    let ground = |axis: &str, at: f64| {
        format!("[[plane]]\naxis = \"{axis}\"\nat = {at}\nkind = \"ground\"\n")
    };
    let symmetric = |at: f64| format!("[[plane]]\naxis = \"x\"\nat = {at}\nkind = \"symmetric\"\n");
    let charge = |x: f64| format!("[[charge]]\nposition = [{x}, 0, 0]\ncharge = 1e-12\n");
    for (more, parts) in [
        (ground("z", -2.0) + &ground("z", 2.0), &["two planes are perpendicular to z"][..]),
        (
            ground("x", -2.0) + &charge(-3.0),
            &["the charge and the mesh lie on different sides of the ground plane x = -2"],
        ),
        (ground("x", -2.0) + &charge(-2.0), &["the charge lies in the ground plane x = -2"]),
        (
            ground("x", -2.0) + "[external]\nfield = [0, 1, 0]\n",
            &["has a component along the ground plane x = -2"],
        ),
        (
            symmetric(-2.0) + "[external]\nfield = [1, 0, 0]\n",
            &["goes through the plane of symmetry x = -2"],
        ),
        (
            ground("x", -2.0) + "[output]\npolarisability = true\n",
            &["polarisability needs fields along all axes"],
        ),
        (
            ground("x", -2.0) + "[diffusion]\ntemperature = 300\nviscosity = 1e-3\n",
            &["applies to a single body"],
        ),
        (
            "[[plane]]\naxis = \"w\"\nkind = \"grounded\"\n".to_owned(),
            &["axis = \"w\" is not one of", "did you mean \"ground\""],
        ),
        (
            symmetric(0.3),
            &["the mesh cannot be mirrored in the plane of symmetry x = 0.3", "goes through it"],
        ),
    ] {
        place.case("wrong.toml", "sphere.msh", &more);
        let all: Vec<&str> = [&["wrong.toml"][..], parts].concat();
        place.farad("solve wrong.toml").fails(3, &all);
    }
}
