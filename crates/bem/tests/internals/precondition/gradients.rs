//! Gradients of functions known by their means over clusters.

use bem::internals::geometry::{Panels, Vec3};
use bem::internals::precondition::{ClusterLevels, Gradients};

use crate::testing::sheets;

fn of_panels(panels: &Panels, levels: &ClusterLevels, conductor: &[u32]) -> Gradients {
    let ClusterLevels { groups: clusters, touching, .. } = levels;
    Gradients::new(panels, clusters, conductor, touching, panels.centroids(), &clusters.of)
}

#[test]
fn gradients_are_no_larger_than_differences_over_distances() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../meshes/capacitor.msh");
    let (mut plates, _) = mesh::files::read(std::path::Path::new(path)).unwrap();
    // Faces of thin plates, whose clusters lie over each other.
    plates.vertices.iter_mut().for_each(|vertex| vertex[2] *= 0.1);
    let plates = mesh::refine::uniform(&plates, |_, middle| middle).unwrap();
    for mesh in [plates, sheets(3, 1200, 0.002)] {
        let panels = Panels::of_mesh(&mesh);
        let group = |&t: &u32| mesh.groups_of(t as usize)[0];
        let conductor: Vec<u32> = panels.triangles().iter().map(group).collect();
        let levels = ClusterLevels::new(&panels, &conductor).unwrap();
        let (clusters, gradients) = (&levels.groups, of_panels(&panels, &levels, &conductor));
        let terms = |c: usize| gradients.starts[c] as usize..gradients.starts[c + 1] as usize;
        let across = |c: usize| {
            let sum: f64 = terms(c).map(|k| gradients.weights[k].norm()).sum();
            sum * clusters.radii[c]
        };
        let most = (0..clusters.len()).map(across).fold(0.0, f64::max);
        assert!(most > 0.5 && most < 10.0, "{most}");
    }
}

#[test]
fn planes_have_their_gradient_along_each_sheet() {
    // Three sheets a third of a triangle apart, each of its own conductor, turned out of the
    // axes.
    let mut mesh = sheets(3, 1200, 0.02);
    let turn = nalgebra::Rotation3::from_euler_angles(0.4, -0.7, 1.1);
    for vertex in &mut mesh.vertices {
        *vertex = (turn * Vec3::from(*vertex)).into();
    }
    let conductor_of = |triangle: u32| mesh.groups_of(triangle as usize)[0];
    let panels = Panels::of_mesh(&mesh);
    let conductor: Vec<u32> = panels.triangles().iter().map(|&t| conductor_of(t)).collect();
    let levels = ClusterLevels::new(&panels, &conductor).unwrap();
    let (clusters, gradients) = (&levels.groups, of_panels(&panels, &levels, &conductor));
    let shares = clusters.shares(&panels);
    let along = Vec3::new(0.3, -1.0, 2.0);
    // A step from sheet to sheet, as their conductors may have it, is none of the gradient.
    let v = |i: usize| along.dot(&panels.centroid(i)) + 100.0 * f64::from(conductor[i]);
    let mut means = vec![0.0; clusters.len()];
    (0..panels.len()).for_each(|i| means[clusters.of[i] as usize] += shares[i] * v(i));
    let normal = turn * Vec3::z();
    let in_sheets = along - normal * normal.dot(&along);
    // Clusters in corners may have neighbours in one direction alone.
    let found = gradients.of(&means);
    let is_exact = |gradient: &&Vec3| (*gradient - in_sheets).norm() < 1e-9;
    let exact = found.iter().filter(is_exact).count();
    assert!(exact * 10 >= found.len() * 9, "{exact} of {}", found.len());
    assert!(found.iter().all(|gradient| gradient.norm() < in_sheets.norm() * (1.0 + 1e-9)));
    for (i, offset) in gradients.offsets().iter().enumerate() {
        let c = clusters.of[i] as usize;
        let smooth = means[c] + in_sheets.dot(&Vec3::from(offset.map(f64::from)));
        assert!((v(i) - smooth).abs() < 1e-5);
    }
}
