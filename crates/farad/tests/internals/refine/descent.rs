use farad::internals::descent::{Descent, Known};
use mesh::creases;

use crate::testing;

/// A linear density stays the same function through two splits, and every charge is kept.
#[test]
fn densities_are_the_same_on_parts() {
    let coarse = testing::cube([0.0; 3]);
    let creases = |mesh: &mesh::Mesh| creases::find(mesh, |_| Some(0), 40.0);
    let sides = |mesh: &mesh::Mesh, step: usize| -> Vec<(u32, u32)> {
        mesh.triangles.iter().step_by(step).map(|c| (c[0], c[1])).collect()
    };
    let split = |mesh: &mesh::Mesh, step| {
        mesh::split::edges(mesh, &creases(mesh), &sides(mesh, step), |_| 0.3).unwrap()
    };
    let first = split(&coarse, 2);
    let second = split(&first.mesh, 3);
    let descent = Descent::none(coarse.triangles.len()).then(&first).then(&second);
    assert_eq!(descent.triangles(), second.mesh.triangles.len());
    assert!(descent.triangles() > coarse.triangles.len());

    let density = |[x, y, z]: [f64; 3]| 1.0 + 2.0 * x - 3.0 * y + 0.5 * z;
    let of = |mesh: &mesh::Mesh| {
        let areas = mesh::quality::areas(mesh);
        let corners = |t: usize| mesh.corners(t).map(|x| areas[t] * density(x));
        let at_corners: Vec<_> = (0..mesh.triangles.len()).map(corners).collect();
        let total = at_corners.iter().map(|q| q.iter().sum::<f64>() / 3.0).collect();
        Known { total, at_corners }
    };
    let (carried, exact) = (descent.carry(&of(&coarse)), of(&second.mesh));
    for (a, b) in carried.at_corners.iter().flatten().zip(exact.at_corners.iter().flatten()) {
        assert!((a - b).abs() < 1e-14, "{a} {b}");
    }
    let evenly = Known { at_corners: Vec::new(), ..of(&coarse) };
    for known in [&evenly, &carried] {
        let message = serde_json::to_string(known).unwrap();
        assert_eq!(serde_json::from_str::<Known>(&message).unwrap(), *known);
    }
    for known in [descent.carry(&evenly), carried] {
        let [before, after] = [&evenly.total, &known.total].map(|q| q.iter().sum::<f64>());
        assert!((before - after).abs() < 1e-13, "{before} {after}");
    }
}
