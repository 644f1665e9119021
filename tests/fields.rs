//! States in external fields: whole runs.

use mesh::Mesh;
use mesh::generate::{Cube, Resolution, SphereBase, TwoSpheres};
use mesh::gmsh::{self, Encoding};
use mesh::transform::{Motion, moved};
use serde_json::Value;

use crate::support::Workplace;

/// 4 pi eps0: the charge of a unit sphere at 1 V, and the force that two of them exert.
const UNIT: f64 = 1.0 / 8.987_551_786_2e9;

/// What a run says of a state, in units of a system of size 1 and 1 V: charges, energy, force and
/// torque of each body, potential and field at each probe.
struct Numbers(Vec<f64>);

impl Numbers {
    /// The largest deviation.
    fn apart(&self, other: &Self) -> f64 {
        assert_eq!(self.0.len(), other.0.len());
        self.0.iter().zip(&other.0).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    fn add(&mut self, values: impl IntoIterator<Item = f64>, unit: f64) {
        self.0.extend(values.into_iter().map(|value| value / unit));
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Two spheres, one of metal at 1 V above the field's potential where the origin was, the other of
/// metal at that potential or a dielectric, next to a point charge and perhaps a plane of symmetry
/// along the field.
fn state(
    place: &Workplace,
    spheres: &Mesh,
    dielectric: bool,
    plane: bool,
    by: f64,
    method: &str,
) -> Numbers {
    let direction = [0.48, 0.64, 0.6];
    let shift = direction.map(|x| x * by);
    let at = |x: [f64; 3]| [0, 1, 2].map(|k| x[k] + shift[k]);
    let field = if plane { [0.3, 0.0, 0.8] } else { [0.3, -0.5, 0.8] };
    let volt: f64 = -(0..3).map(|k| field[k] * shift[k]).sum::<f64>();
    let there = moved(spheres, |_| true, &Motion::along(shift));
    let mut file = Vec::new();
    gmsh::write(&there, Encoding::LittleEndian, &mut file).unwrap();
    place.write("spheres.msh", file);
    let probes =
        [[0.0, 2.0, 1.5], [-3.0, 0.0, 1.0]].map(at).map(|[x, y, z]| format!("{x:?} {y:?} {z:?}\n"));
    place.write("probes.txt", probes.concat());
    let right = match dielectric {
        true => "[[dielectric]]\nname = \"right\"\ngroup = \"right\"\nrelative_permittivity = 5\n"
            .to_owned(),
        false => {
            format!("[[conductor]]\nname = \"right\"\ngroup = \"right\"\npotential = {volt:?}\n")
        }
    };
    let plane = match plane {
        true => format!(
            "[[plane]]\naxis = \"y\"\nat = {:?}\nkind = \"symmetric\"\n",
            at([0.0, -2.0, 0.0])[1]
        ),
        false => String::new(),
    };
    place.case("state.toml", "spheres.msh", &format!(
        "[[conductor]]\nname = \"left\"\ngroup = \"left\"\npotential = {:?}\n{right}{plane}\
         [external]\nfield = {field:?}\n[[charge]]\nposition = {:?}\ncharge = {UNIT:?}\n\
         [[probe]]\nname = \"p\"\nfile = \"probes.txt\"\n[solver]\nmethod = \"{method}\"\n[output]\nforces = true\nvtk = \"none\"",
        1.0 + volt,
        at([0.0, 1.5, 0.0]),
    ));
    let results = place.solve("state.toml --overwrite");
    let mut all = Numbers(Vec::new());
    let charges = results["charges"].as_array().unwrap();
    all.add(charges.iter().map(|c| c["charge_c"].as_f64().unwrap()), UNIT);
    all.add(results["solvation"]["energy_j"].as_f64(), UNIT);
    for body in results["forces"].as_array().unwrap() {
        all.add(numbers(&body["force_n"]), UNIT);
        all.add(numbers(&body["torque_nm"]), UNIT);
    }
    for row in place.read("state.out/probe_p.csv").lines().skip(1) {
        let row: Vec<f64> = row.split(',').map(|x| x.parse().unwrap()).collect();
        all.add([row[3] - volt, row[4], row[5], row[6]], 1.0);
    }
    all
}

/// What rounding leaves of a coordinate of 1: in places of vertices, in the potential of the field
/// there, and in what is taken off again.
const ROUNDED: f64 = 3.0 * f64::EPSILON;

/// Where a system lies in a field does not matter when its potentials are those of the field
/// there. By the fast method numbers are exact to the tolerance of 1e-6 each time; densely to the
/// digits that coordinates lose so far from the origin.
#[test]
fn answers_in_a_field_do_not_depend_on_the_place() {
    let place = Workplace::new("fields_place");
    let resolution = Resolution::Elements(320);
    let spheres =
        TwoSpheres { radius: 1.0, distance: 3.0, base: SphereBase::Icosahedron, resolution };
    let spheres = spheres.build().unwrap();
    for (dielectric, plane) in [(false, false), (true, true)] {
        let here = state(&place, &spheres, dielectric, plane, 0.0, "dense");
        for (method, by, allowed) in [
            ("dense", 5e3, 5e3 * ROUNDED),
            ("dense", 5e6, 5e6 * ROUNDED),
            ("fmm", 0.0, 1e-6),
            ("fmm", 5.0, 1e-6),
            ("fmm", 5e3, 1e-6),
            ("fmm", 5e6, 1e-6),
        ] {
            let apart = state(&place, &spheres, dielectric, plane, by, method).apart(&here);
            println!("{dielectric} {plane} {method} {by}: {apart:.1e}");
            assert!(apart < allowed, "{method}, {by} away: {apart:.1e}");
        }
    }
}

/// A field puts a distant body at a potential compared with which that of the others is small;
/// their charges keep their digits all the same.
#[test]
fn charges_in_a_field_are_exact_whatever_lies_far_away() {
    let place = Workplace::new("fields_far");
    let (radius, distance, base) = (1.0, 1e5, SphereBase::Icosahedron);
    let resolution = Resolution::Elements(320);
    let spheres = TwoSpheres { radius, distance, base, resolution }.build().unwrap();
    let mut file = Vec::new();
    gmsh::write(&spheres, Encoding::LittleEndian, &mut file).unwrap();
    place.write("spheres.msh", file);
    // Around the first sphere the field's potential is about 0.
    place.case(
        "far.toml",
        "spheres.msh",
        "[[conductor]]\nname = \"left\"\ngroup = \"left\"\npotential = -2000.5\n\
         [[conductor]]\nname = \"right\"\ngroup = \"right\"\npotential = 0.5\n\
         [external]\nfield = [-0.04, 0.02, 0.01]\n[output]\nvtk = \"none\"",
    );
    let charges = |method: &str| -> Vec<f64> {
        let results = place.solve(&format!("far.toml --overwrite --method {method}"));
        let charges = results["charges"].as_array().unwrap();
        charges.iter().map(|c| c["charge_c"].as_f64().unwrap() / UNIT).collect()
    };
    let (dense, fast) = (charges("dense"), charges("fmm"));
    println!("{dense:?} {fast:?}");
    for (dense, fast) in dense.iter().zip(&fast) {
        // By superposition alone: 1e-3.
        assert!((dense - fast).abs() < 3e-6 * dense.abs(), "{dense} {fast}");
    }
}

/// Bodies on which nothing else acts exert no force in all: a remainder is the error of quadrature
/// of fields that change within a facet, which is reported where bodies come closer to each other
/// than their facets can follow.
#[test]
fn forces_that_do_not_add_up_are_reported() {
    let place = Workplace::new("fields_balance");
    for (distance, is_reported) in [(3.0, false), (1.02, true)] {
        let cube = || Cube { edge: 1.0, grade: 1.0, resolution: Resolution::Elements(48) }.build();
        // Turned, or the one would be the other's mirror image and all errors, too; and tilted, or
        // triangles would be cut below edges.
        let turn = Motion {
            axis: [1.0, 0.04, 0.0],
            centre: [0.0; 3],
            angle: 0.6,
            shift: [distance, 0.1, 0.0],
        };
        let right = moved(&cube().unwrap(), |_| true, &turn);
        let bodies = vec![("left".to_owned(), cube().unwrap()), ("right".to_owned(), right)];
        let cubes = mesh::join::joined(bodies);
        let mut file = Vec::new();
        gmsh::write(&cubes, Encoding::LittleEndian, &mut file).unwrap();
        place.write("cubes.msh", file);
        place.case(
            "two.toml",
            "cubes.msh",
            "[[conductor]]\nname = \"left\"\ngroup = \"cube\"\npotential = 1\n\
             [[conductor]]\nname = \"right\"\ngroup = \"right_cube\"\n[output]\nforces = true\nvtk = \"none\"",
        );
        let results = place.solve("two.toml --overwrite");
        let forces = results["forces"].as_array().unwrap();
        let [a, b] = [0, 1].map(|k| numbers(&forces[k]["force_n"]));
        let norm = |f: Vec<f64>| f.iter().map(|x| x * x).sum::<f64>().sqrt();
        let sum = norm(a.iter().zip(&b).map(|(a, b)| a + b).collect());
        let left = sum / (norm(a) + norm(b));
        let known: f64 = (0..2).map(|k| forces[k]["known_to_n"].as_f64().unwrap()).sum();
        let known = known / (sum / left);
        println!("{distance}: {left:.1e}, known to {known:.1e}");
        assert_eq!(left > 1e-3, is_reported, "{distance}: {left:.1e}");
        assert!(left < known, "{distance}: {left:.1e}, known to {known:.1e}");
        let warnings = results["warnings"].as_array().unwrap();
        let balance = warnings.iter().find(|warning| warning["check"] == "balance");
        assert_eq!(balance.is_some(), is_reported, "{warnings:?}");
        if let Some(balance) = balance {
            assert!((balance["value"].as_f64().unwrap() / left - 1.0).abs() < 1e-3, "{balance}");
        }
    }
}
