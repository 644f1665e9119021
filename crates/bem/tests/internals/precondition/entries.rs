//! Energies of clusters of panels.

use std::collections::BTreeSet;

use bem::internals::geometry::Panels;
use bem::internals::precondition::clusters::of_clouds;
use bem::internals::precondition::{ClusterLevels, Entries};
use mesh::generate::{Resolution, Sphere, SphereBase};

/// Close unions by parts of them, whose number of pairs grows as the unions do.
#[test]
fn unions_of_clusters_see_each_other_as_their_cells_do() {
    let resolution = Resolution::Elements(150_000);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution };
    let panels = Panels::of_mesh(&sphere.build().unwrap());
    let levels = ClusterLevels::new(&panels, &vec![0; panels.len()]).unwrap();
    let (unions, _) = levels.unions.as_ref().unwrap();
    let alone = comm::alone();
    let count = unions.len();
    let entries = Entries::new(&panels, unions, &levels.cells, &*alone).by_distances(None);
    let (cells, shares) = (&levels.cells, unions.shares(&panels));
    let share = |cell: usize| cells.members[cell].iter().map(|&i| shares[i as usize]).sum::<f64>();
    let of = |c: usize| {
        let union_of = move |&cell: &usize| unions.of[cells.members[cell][0] as usize] as usize;
        (0..cells.len()).filter(move |cell| union_of(cell) == c)
    };
    // One, its neighbours in the order, and others all over the sphere.
    let own: Vec<usize> = of(0).collect();
    let others: BTreeSet<usize> = (1..40).chain((40..count).step_by(97)).collect();
    let mut worst = 0.0f64;
    for d in others {
        let between = |a: usize, b: usize| {
            let apart = (cells.centres[a] - cells.centres[b]).norm_squared();
            share(a) * share(b) * of_clouds(apart, cells.variances[a] + cells.variances[b])
        };
        let exact: f64 = of(d).map(|b| own.iter().map(|&a| between(a, b)).sum::<f64>()).sum();
        worst = worst.max((entries[d] / exact - 1.0).abs());
    }
    // Disks of radii r and s in a plane, a distance d apart: (r^2 + s^2) / (8 d^2) more than two
    // points, which they are taken for from d = 1.5 (r + s) on.
    assert!(worst < 1.0 / 36.0, "{worst}");
}
