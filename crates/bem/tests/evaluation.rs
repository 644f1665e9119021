//! Potentials, fields and forces of surface charges, against closed forms and exact answers.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

mod exact;

use bem::{
    Body, Condition, Electrostatics, Excitation, Images, Media, Method, NoProgress, PointCharge,
    SolveOptions, SurfaceCharge, dipole_moment, electrostatics, forces,
};
use mesh::Mesh;
use mesh::generate::{Resolution, Sphere, SphereBase, TwoSpheres};

fn sphere(elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution }.build().unwrap()
}

fn two_spheres(distance: f64, elements: usize) -> Mesh {
    let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(elements));
    TwoSpheres { radius: 1.0, distance, base, resolution }.build().unwrap()
}

/// Each group a conductor in vacuum; unit potentials, then `sources`.
fn solve(mesh: &Mesh, conductors: usize, sources: Option<Excitation>) -> Electrostatics {
    let n = mesh.triangles.len();
    let conductor: Vec<Option<u32>> = (0..n).map(|t| Some(mesh.groups_of(t)[0])).collect();
    let permittivity = vec![[1.0; 2]; n];
    let images = Images::default();
    let media = Media {
        conductor: &conductor,
        conductors,
        permittivity: &permittivity,
        images: &images,
        bodies: &[],
    };
    let unit = |k: usize| {
        Excitation::default().potentials((0..conductors).map(|i| f64::from(i == k)).collect())
    };
    let excitations: Vec<Excitation> = (0..conductors).map(unit).chain(sources).collect();
    let options = SolveOptions::default().method(Method::Fmm);
    electrostatics(mesh, media, &excitations, &options, &NoProgress).unwrap()
}

fn random() -> impl FnMut() -> f64 {
    let mut seed = 9u64;
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

fn centroid(mesh: &Mesh, t: usize) -> [f64; 3] {
    let [a, b, c] = mesh.corners(t);
    std::array::from_fn(|k| (a[k] + b[k] + c[k]) / 3.0)
}

#[test]
fn fast_values_are_those_of_closed_forms() {
    let mesh = sphere(1280);
    let mut random = random();
    let charge: Vec<f64> = (0..mesh.triangles.len())
        .map(|t| (1.0 + centroid(&mesh, t)[0]) / mesh.triangles.len() as f64)
        .collect();
    let source = PointCharge { position: [0.2, -0.3, 1.8], charge: 0.7, permittivity: 2.0 };
    let sources =
        Excitation::default().potentials(vec![]).charges(vec![source]).field([0.1, 0.0, -0.2]);
    // Close to the surface on both sides, on it, and anywhere: enough of them for the fast sum.
    let mut points: Vec<[f64; 3]> = (0..300)
        .map(|i| {
            let height = 1.0 + [0.0, 1e-4, -1e-4, 1e-2, -0.1][i % 5];
            centroid(&mesh, 4 * i).map(|x| x * height)
        })
        .collect();
    points.push(mesh.vertices[5]);
    points.extend((0..7000).map(|_| [0; 3].map(|_| 3.0 * random())));
    for surface in
        [SurfaceCharge::new(&mesh, &charge), SurfaceCharge::recovered(&mesh, &charge, |_| None)]
    {
        let fast = surface.evaluate(&sources, &points, true).unwrap();
        for (i, &x) in points.iter().enumerate().filter(|(i, _)| *i < 301 || i % 40 == 0) {
            let r: [f64; 3] = std::array::from_fn(|k| x[k] - source.position[k]);
            let d = r.iter().map(|r| r * r).sum::<f64>().sqrt();
            let q = source.charge / source.permittivity;
            let along: f64 = (0..3).map(|k| sources.field[k] * x[k]).sum();
            let exact = surface.potential(x) + q / d - along;
            // The sum to 1e-6, and 1e-5 of what a few triangles 3 diameters away contribute.
            assert!(
                (fast.potential[i] - exact).abs() < 1e-5,
                "{x:?}: {} {exact}",
                fast.potential[i]
            );
            if i == 300 {
                // A vertex: the field of a density that ends in edges there is infinite.
                continue;
            }
            let field = surface.field(x);
            let size = 1.0 + q / (d * d);
            for k in 0..3 {
                let exact = field[k] + q * r[k] / d.powi(3) + sources.field[k];
                assert!(
                    (fast.field[i][k] - exact).abs() < 1e-4 * size,
                    "{x:?}: {:?}",
                    fast.field[i]
                );
            }
        }
    }
}

/// A sphere at potential 1: inside, the error of the potential is largest on the surface, however
/// near to it one comes; the field outside is nearly that of the exact sphere, without the jumps
/// that constant densities make.
#[test]
fn values_far_away_are_those_of_the_whole_charge() {
    let mesh = sphere(320);
    let areas = mesh::quality::areas(&mesh);
    // Twice as dense on one side: a charge and a dipole.
    let charge: Vec<f64> = (0..areas.len())
        .map(|t| areas[t] * if centroid(&mesh, t)[0] > 0.0 { 2.0 } else { 1.0 })
        .collect();
    let total: f64 = charge.iter().sum();
    let dipole = dipole_moment(&mesh, &charge);
    for surface in
        [SurfaceCharge::new(&mesh, &charge), SurfaceCharge::recovered(&mesh, &charge, |_| None)]
    {
        for r in [1e2, 1e4, 1e6] {
            let x = [0.6 * r, 0.0, 0.8 * r];
            let values = surface.evaluate(&Excitation::default(), &[x], true).unwrap();
            let along: f64 = (0..3).map(|k| dipole[k] * x[k] / r).sum();
            let field = values.field[0];
            let outward: f64 = (0..3).map(|k| field[k] * x[k] / r).sum();
            // A quadrupole of about the whole charge times the radius squared is left out;
            // averaging at vertices moves the dipole by the size of a triangle.
            let bound = 2.0 / (r * r) + 0.1 / r + 1e-11;
            let potential = values.potential[0] * r / total;
            assert!((potential - 1.0 - along / (r * total)).abs() < bound, "{r}: {potential}");
            let outward = outward * r * r / total;
            assert!(
                (outward - 1.0 - 2.0 * along / (r * total)).abs() < 2.0 * bound,
                "{r}: {outward}"
            );
        }
    }
}

#[test]
fn values_next_to_the_surface_are_as_good_as_on_it() {
    let mesh = sphere(1280);
    let answer = solve(&mesh, 1, None);
    let charge = &answer.responses[0].charge;
    let surface = SurfaceCharge::new(&mesh, charge);
    // Vertices, centres and middles of edges: where the error has its peaks.
    let mut on_surface: Vec<[f64; 3]> = mesh.vertices.clone();
    for t in 0..mesh.triangles.len() {
        let [a, b, _] = mesh.corners(t);
        on_surface.push(std::array::from_fn(|k| 0.5 * (a[k] + b[k])));
        on_surface.push(centroid(&mesh, t));
    }
    let none = Excitation::default();
    let error = |points: &[[f64; 3]]| {
        let values = surface.evaluate(&none, points, false).unwrap();
        values.potential.iter().map(|v| (v - 1.0).abs()).fold(0.0, f64::max)
    };
    let worst = error(&on_surface);
    let size = (4.0 * std::f64::consts::PI / 1280.0f64).sqrt();
    // Lines over several triangles.
    let middle = centroid(&mesh, 40);
    let norm = |x: [f64; 3]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let length = norm(middle);
    let outward = middle.map(|x| x / length);
    let across = [-outward[1], outward[0], 0.0];
    let line = |r: f64, reach: f64| -> Vec<[f64; 3]> {
        (0..600)
            .map(|i| {
                let angle = reach * (i as f64 / 299.5 - 1.0);
                let level = outward[0].hypot(outward[1]);
                std::array::from_fn(|k| {
                    r * (outward[k] * angle.cos() + across[k] / level * angle.sin())
                })
            })
            .collect()
    };
    // Below the lowest facet by 1e-3 of an element, and through the middle of one.
    let lowest = (0..mesh.triangles.len()).map(|t| norm(centroid(&mesh, t))).fold(1.0, f64::min);
    let below = line(lowest - 1e-3 * size, 3.0 * size);
    let through: Vec<[f64; 3]> =
        (0..400).map(|i| middle.map(|x| x * (0.9 + 0.1 * i as f64 / 400.0))).collect();
    for points in [below, through] {
        let found = error(&points);
        assert!(found <= 1.05 * worst, "{found:.1e} inside, {worst:.1e} on the surface");
    }
    let smooth = SurfaceCharge::recovered(&mesh, charge, |_| None);
    // Outside of all vertices by 1e-3 of an element.
    let above = line(1.0 + 1e-3 * size, 3.0 * size);
    let field = smooth.evaluate(&none, &above, true).unwrap().field;
    let normal: Vec<f64> = field
        .iter()
        .zip(&above)
        .map(|(e, x)| (0..3).map(|k| e[k] * x[k]).sum::<f64>() / norm(*x))
        .collect();
    let mean = normal.iter().sum::<f64>() / normal.len() as f64;
    assert!((mean - 1.0).abs() < 0.03, "{mean}");
    for pair in normal.windows(2) {
        // 600 points over 6 elements; facets meet at angles of some 0.1, which is the error.
        assert!((pair[0] - 1.0).abs() < 0.2 && (pair[1] - pair[0]).abs() < 0.02, "{pair:?}");
    }
}

/// Fields just above centres, edges and vertices of a sphere at potential 1: neither arbitrary on
/// edges nor growing toward them, and better on a finer mesh.
#[test]
fn fields_next_to_edges_and_vertices_are_those_of_the_smooth_surface() {
    let mut before: Option<[f64; 3]> = None;
    for elements in [320, 1280, 5120] {
        let mesh = sphere(elements);
        let answer = solve(&mesh, 1, None);
        let smooth = SurfaceCharge::recovered(&mesh, &answer.responses[0].charge, |_| None);
        let size = (16.0 * std::f64::consts::PI / (3f64.sqrt() * elements as f64)).sqrt();
        let between = |a: [f64; 3], b: [f64; 3]| std::array::from_fn(|k| 0.5 * (a[k] + b[k]));
        let middle = |t| {
            let [a, b, _] = mesh.corners(t);
            between(a, b)
        };
        let triangles = || (0..elements).step_by(elements / 40);
        let vertices: Vec<[f64; 3]> =
            mesh.vertices.iter().step_by(elements / 80).copied().collect();
        let places: [Vec<[f64; 3]>; 3] = [
            triangles().map(|t| centroid(&mesh, t)).collect(),
            triangles().map(middle).collect(),
            vertices,
        ];
        let mut worst = [0.0f64; 3];
        for (worst, places) in worst.iter_mut().zip(&places) {
            for distance in [1e-9, 1e-6, 1e-3, 1e-1] {
                for x in places {
                    let r = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let above: [f64; 3] = x.map(|x| x * (1.0 + distance * size / r));
                    let r = above.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let field = smooth.field(above);
                    let squares =
                        (0..3).map(|k| (field[k] * r * r - above[k] / r).powi(2)).sum::<f64>();
                    *worst = worst.max(squares.sqrt());
                }
            }
        }
        println!(
            "{elements}: centres {:.1e}, edges {:.1e}, vertices {:.1e}",
            worst[0], worst[1], worst[2]
        );
        if let Some(before) = before {
            // Angles between facets halve.
            assert!((0..3).all(|k| worst[k] < 0.7 * before[k]), "{before:?} {worst:?}");
            assert!(worst.iter().all(|error| *error < 0.15), "{worst:?}");
        }
        before = Some(worst);
    }
}

#[test]
fn force_of_a_charge_on_a_grounded_sphere_is_that_of_its_image() {
    let mesh = sphere(1280);
    let (d, q) = (3.0, 2.0);
    let source = PointCharge { position: [d, 0.0, 0.0], charge: q, permittivity: 1.0 };
    let sources = Excitation::default().potentials(vec![0.0]).charges(vec![source]);
    let answer = solve(&mesh, 1, Some(sources.clone()));
    let state = answer.state(&[Condition::Potential(0.0)], Some(1)).unwrap();
    let body = |triangles: Vec<u32>, charges: Vec<usize>| Body {
        triangles,
        charges,
        permittivity: 1.0,
        about: [0.0; 3],
    };
    let all: Vec<u32> = (0..mesh.triangles.len() as u32).collect();
    let bodies = [body(all, vec![]), body(vec![], vec![0])];
    let found = forces(&mesh, &state.charge, &sources, &bodies).unwrap();
    // The image -q/d at 1/d.
    let exact = q * (q / d) / (d - 1.0 / d).powi(2);
    // Facets take 3e-3 of the radius, which counts 1.5 times here.
    assert!((found[0].force[0] / exact - 1.0).abs() < 1e-2, "{:?} {exact}", found[0]);
    for k in 0..3 {
        let sum = found[0].force[k] + found[1].force[k];
        assert!(sum.abs() < 1e-5 * exact, "{found:?}");
        assert!(found[0].torque[k].abs() < 1e-3 * exact, "{found:?}");
    }
}

#[test]
fn forces_between_spheres_at_potentials_are_slopes_of_the_capacitance() {
    let distance = 3.0;
    let mesh = two_spheres(distance, 2560);
    let answer = solve(&mesh, 2, None);
    let group = |g: u32| -> Vec<u32> {
        (0..mesh.triangles.len() as u32).filter(|&t| mesh.groups_of(t as usize) == [g]).collect()
    };
    for potentials in [[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]] {
        let held = potentials.map(Condition::Potential);
        let state = answer.state(&held, None).unwrap();
        let bodies = [0, 1].map(|g| Body {
            triangles: group(g),
            charges: vec![],
            permittivity: 1.0,
            about: [0.0; 3],
        });
        let found = forces(&mesh, &state.charge, &Excitation::default(), &bodies).unwrap();
        let energy = |distance: f64| {
            let [c11, c12] = exact::two_spheres(distance);
            let [v, w] = potentials;
            0.5 * (c11 * (v * v + w * w) + 2.0 * c12 * v * w)
        };
        let step = 1e-4;
        let exact = (energy(distance + step) - energy(distance - step)) / (2.0 * step);
        let [left, right] = [0, 1].map(|k| found[k].force[0]);
        println!("{potentials:?}: {left} {right} {exact}");
        assert!((left + right).abs() < 1e-5 * exact.abs(), "{left} {right}");
        // Facets take 3e-3 of the radii.
        assert!((right / exact - 1.0).abs() < 1.5e-2, "{right} {exact}");
    }
}

#[test]
fn the_torque_of_a_field_is_that_on_the_dipole_moment() {
    let mesh = two_spheres(2.5, 320);
    let field = [0.6, 0.0, 0.8];
    // Both spheres are one conductor: it is polarised along its axis most.
    let mut one = mesh.clone();
    one.memberships.iter_mut().for_each(|groups| *groups = vec![0]);
    let sources = Excitation::default().potentials(vec![0.0]).field(field);
    let answer = solve(&one, 1, Some(sources.clone()));
    let state = answer.state(&[Condition::Charge(0.0)], Some(1)).unwrap();
    let p = dipole_moment(&mesh, &state.charge);
    let triangles = (0..mesh.triangles.len() as u32).collect();
    let body = Body { triangles, charges: vec![], permittivity: 1.0, about: [5.0, 1.0, 2.0] };
    let found = forces(&mesh, &state.charge, &sources, &[body]).unwrap()[0];
    let torque = [
        p[1] * field[2] - p[2] * field[1],
        p[2] * field[0] - p[0] * field[2],
        p[0] * field[1] - p[1] * field[0],
    ];
    assert!(torque[1].abs() > 1.0, "{p:?}");
    for k in 0..3 {
        assert!((found.torque[k] - torque[k]).abs() < 1e-6, "{found:?} {torque:?}");
        assert!(found.force[k].abs() < 1e-6, "{found:?}");
    }
}

/// 24 charges of both signs 2.3 under a sphere of R = 11: outside, external and induced charge
/// cancel some twentyfold, and the remainder shows how well the density within triangles is
/// recovered.
#[test]
fn potentials_outside_of_a_molecule_are_as_good_as_its_energy() {
    let (radius, depth) = (11.0, 2.3);
    let mut seeds = random();
    for (inside, outside) in [(4.0, 80.0), (3.0, 80.0), (3.0, 80.0), (80.0, 4.0)] {
        let skip = (1e4 * (seeds() + 0.5)) as usize;
        let mut errors: Vec<f64> = Vec::new();
        for elements in [1280, 5120] {
            let mut mesh = sphere(elements);
            mesh.vertices.iter_mut().for_each(|v| *v = v.map(|x| x * radius));
            let n = mesh.triangles.len();
            let mut random = random();
            (0..skip).for_each(|_| {
                random();
            });
            let direction = |random: &mut dyn FnMut() -> f64| loop {
                let x = [0; 3].map(|_| 2.0 * random());
                let r = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                if r > 0.1 && r < 1.0 {
                    return x.map(|x| x / r);
                }
            };
            let charges: Vec<(f64, [f64; 3])> = (0..24)
                .map(|_| {
                    let x = direction(&mut random).map(|x| x * (radius - depth));
                    (2.0 * random(), x)
                })
                .collect();
            let points: Vec<[f64; 3]> =
                (0..200).map(|_| direction(&mut random).map(|x| x * 1.4 * radius)).collect();
            let excitation = Excitation::default().charges(
                charges
                    .iter()
                    .map(|&(charge, position)| PointCharge {
                        position,
                        charge,
                        permittivity: inside,
                    })
                    .collect(),
            );
            let media = Media {
                conductor: &vec![None; n],
                conductors: 0,
                permittivity: &vec![[outside, inside]; n],
                images: &Images::default(),
                bodies: &[],
            };
            let options = SolveOptions::default().method(Method::Fmm);
            let excitations = std::slice::from_ref(&excitation);
            let answer = electrostatics(&mesh, media, excitations, &options, &NoProgress).unwrap();
            let surface = SurfaceCharge::recovered(&mesh, &answer.responses[0].charge, |_| None);
            let found = surface.evaluate(&excitation, &points, false).unwrap().potential;
            let (mut error, mut size) = (0.0, 0.0);
            for (found, x) in found.iter().zip(&points) {
                let exact = exact::kirkwood_outside(&charges, *x, inside, outside);
                error += (found - exact).powi(2);
                size += exact.powi(2);
            }
            errors.push((error / size).sqrt());
        }
        println!("{inside} in {outside}: {errors:?}");
        // At 1,280 within a percent, as linear elements of the direct formulation are; the second
        // order of flat facets.
        assert!(errors[0] < 1e-2, "{inside} {outside}: {errors:?}");
        let order = (errors[0] / errors[1]).log2();
        assert!((1.6..3.0).contains(&order), "{inside} {outside}: {errors:?}");
    }
}
