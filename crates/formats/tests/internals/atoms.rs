use formats::atoms::{Grown, overlap, uncovered};
use formats::pqr::Atom;

fn atoms(all: &[([f64; 3], f64)]) -> Vec<Atom> {
    let text: String = all
        .iter()
        .enumerate()
        .map(|(k, ([x, y, z], r))| format!("ATOM {k} A{k} RES 1 {x} {y} {z} 1.0 {r}\n"))
        .collect();
    formats::pqr::parse(text.as_bytes()).unwrap()
}

#[test]
fn atoms_without_radius_belong_into_others() {
    // One radius of ten keeps all in few cubes; the other cubes are as far as possible.
    let all = atoms(&[
        ([0.0; 3], 1.0),
        ([0.99, 0.0, 0.0], 0.0),
        ([-0.99, 0.0, 0.0], 0.0),
        ([0.0, 1.01, 0.0], 0.0),
        ([40.0, 0.0, 0.0], 10.0),
        ([31.0, 0.0, 0.0], 0.0),
        ([29.0, 0.0, 0.0], 0.0),
    ]);
    assert_eq!(uncovered(&all), [3, 6]);
}

#[test]
fn molecules_overlap_where_their_spheres_do() {
    let a = atoms(&[([0.0; 3], 1.0), ([5.0, 0.0, 0.0], 1.5)]);
    let with = |b: &[([f64; 3], f64)], margin: f64| {
        overlap(Grown { atoms: &a, margin }, Grown { atoms: &atoms(b), margin })
    };
    assert_eq!(with(&[([10.0, 0.0, 0.0], 3.49)], 0.0), None);
    assert_eq!(with(&[([10.0, 0.0, 0.0], 3.49)], 0.01), Some((1, 0)));
    assert_eq!(with(&[([20.0, 0.0, 0.0], 1.0), ([6.2, 0.0, 0.0], 0.0)], 0.0), Some((1, 1)));
    assert_eq!(with(&[([0.0, -30.0, 0.0], 29.5)], 0.0), Some((0, 0)));
}
