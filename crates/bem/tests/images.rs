//! Mirror images: what is solved with them is what the whole gives.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

mod exact;

use bem::{
    Body, CapacitanceOptions, Electrostatics, Excitation, Images, Media, Method, Mirror,
    PointCharge, Quiet, StopReason, SurfaceCharge, electrostatics, forces,
};
use mesh::Mesh;
use mesh::generate::{ConcentricSpheres, Resolution, Sphere, SphereBase};
use mesh::mirror::Plane;

fn solve(
    mesh: &Mesh,
    images: &Images,
    conductor: &[Option<u32>],
    permittivity: &[[f64; 2]],
    excitation: &Excitation,
    method: Method,
) -> Electrostatics {
    let conductors = excitation.potentials.len();
    let media = Media { conductor, conductors, permittivity, images, bodies: &[] };
    let options = CapacitanceOptions { method, tolerance: 1e-8, ..CapacitanceOptions::default() };
    let answer =
        electrostatics(mesh, media, std::slice::from_ref(excitation), &options, &Quiet).unwrap();
    assert_eq!(answer.responses[0].reason, StopReason::Converged);
    answer
}

fn octahedral(radius: f64, elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    Sphere { radius, base: SphereBase::Octahedron, resolution }.build().unwrap()
}

/// The triangles where the coordinates along some axes are not negative.
fn part(mesh: &Mesh, axes: &[usize]) -> Mesh {
    let inside = |t: &usize| mesh.corners(*t).iter().all(|v| axes.iter().all(|&k| v[k] > -1e-9));
    let kept: Vec<usize> = (0..mesh.triangles.len()).filter(inside).collect();
    Mesh {
        triangles: kept.iter().map(|&t| mesh.triangles[t]).collect(),
        membership: kept.iter().map(|&t| mesh.membership[t]).collect(),
        ..mesh.clone()
    }
}

fn mirrors(planes: &[(usize, bool)]) -> Images {
    let mirror = |&(axis, odd): &(usize, bool)| Mirror { plane: Plane { axis, at: 0.0 }, odd };
    Images::new(&planes.iter().map(mirror).collect::<Vec<_>>())
}

/// Largest difference of charges, relative to the largest of them.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    let largest = expected.iter().fold(0.0, |most: f64, q| most.max(q.abs()));
    found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest
}

/// By how much the charge of a triangle may differ: densely only by rounding, and by which of two equally good rules a pair of triangles
/// gets; fast sums leave errors of quadrature that are not mirrored, and single charges are good to 1e-5.
fn allowed(method: Method) -> f64 {
    if method == Method::Dense { 1e-7 } else { 1e-5 }
}

#[test]
fn an_eighth_of_a_coated_sphere_and_a_charge_equals_the_whole() {
    let (resolution, base) = (Resolution::Elements(1152), SphereBase::Octahedron);
    let whole = ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution };
    let eighth = part(&whole.build().unwrap(), &[0, 1, 2]);
    let images = mirrors(&[(0, false), (1, false), (2, false)]);
    assert_eq!((images.count(), images.copies()), (8, 8));
    let whole = images.mesh(&eighth);
    for (eps, method) in [(80.0, Method::Dense), (80.0, Method::Fmm), (1e4, Method::Fmm)] {
        let of = |mesh: &Mesh| -> (Vec<Option<u32>>, Vec<[f64; 2]>) {
            let is_core = |t: usize| mesh.groups_of(t) == [0];
            let sides = |t| if is_core(t) { (Some(0), [eps; 2]) } else { (None, [1.0, eps]) };
            (0..mesh.triangles.len()).map(sides).unzip()
        };
        // One charge off all planes, one in a plane.
        let charge = |position, charge| PointCharge { position, charge, permittivity: 1.0 };
        let charges = vec![charge([2.5, 0.4, 0.9], 1.5), charge([0.0, 0.5, 3.0], -0.7)];
        let excitation = Excitation { potentials: vec![1.0], charges, ..Excitation::default() };
        let (conductor, media) = of(&eighth);
        let found = solve(&eighth, &images, &conductor, &media, &excitation, method);
        let (conductor, media) = of(&whole);
        let unfolded = images.excitation(&excitation, |_| true);
        let expected = solve(&whole, &Images::default(), &conductor, &media, &unfolded, method);
        let (found, expected) = (&found.responses[0], &expected.responses[0]);
        let off = difference(&images.charges(&found.charge), &expected.charge);
        let total = found.conductor_charge[0] / expected.conductor_charge[0] - 1.0;
        println!("eps {eps} {method:?}: {off:.1e}, {total:.1e}, {} iterations", found.iterations);
        assert!(off < allowed(method) && total.abs() < 1e-7, "{off:.1e} {total:.1e}");
        assert!(found.iterations <= expected.iterations + 1);
    }
}

/// A dielectric sphere that stands half in a grounded plane, a conductor above it that a plane of symmetry cuts, and a field.
#[test]
fn grounded_and_symmetric_planes_equal_the_whole() {
    let mut both = octahedral(1.0, 512);
    let offset = both.vertices.len() as u32;
    let upper = octahedral(0.5, 288);
    both.vertices.extend(upper.vertices.iter().map(|v| [v[0], v[1] + 0.1, v[2] + 1.7]));
    both.triangles.extend(upper.triangles.iter().map(|t| t.map(|v| v + offset)));
    both.membership.resize(both.triangles.len(), 0);
    let here = part(&both, &[2, 0]);
    let images = mirrors(&[(2, true), (0, false)]);
    assert_eq!(images.copies(), 2);
    let whole = images.mesh(&here);
    let n = here.triangles.len();
    let is_sphere = |t: usize| {
        here.corners(t % n).iter().all(|v| v.iter().map(|x| x * x).sum::<f64>() < 1.0 + 1e-9)
    };
    let eps = 20.0;
    for (method, field) in [(Method::Dense, [0.0, 0.0, -0.4]), (Method::Fmm, [0.0; 3])] {
        let sides = |t: usize| if is_sphere(t) { [1.0, eps] } else { [1.0; 2] };
        let conductor: Vec<_> = (0..n).map(|t| (!is_sphere(t)).then_some(0)).collect();
        let media: Vec<_> = (0..n).map(sides).collect();
        let excitation = Excitation { potentials: vec![1.0], field, ..Excitation::default() };
        let found = solve(&here, &images, &conductor, &media, &excitation, method);
        // Below ground the conductor is another one.
        let below = |t: usize| images.sign(t / n) < 0.0;
        let conductor: Vec<_> =
            (0..4 * n).map(|t| (!is_sphere(t)).then_some(u32::from(below(t)))).collect();
        let media: Vec<_> = (0..4 * n).map(sides).collect();
        let excitation = Excitation { potentials: vec![1.0, -1.0], ..excitation };
        let expected = solve(&whole, &Images::default(), &conductor, &media, &excitation, method);
        let (found, expected) = (&found.responses[0], &expected.responses[0]);
        let off = difference(&images.charges(&found.charge), &expected.charge);
        let total = found.conductor_charge[0] / expected.conductor_charge[0] - 1.0;
        println!("{method:?}: {off:.1e}, {total:.1e}, {} iterations", found.iterations);
        assert!(off < allowed(method) && total.abs() < 1e-7, "{off:.1e} {total:.1e}");
    }
}

/// Charge and force against the series of a sphere over a plane, whose image is a sphere of opposite charge.
#[test]
fn sphere_over_a_grounded_plane() {
    let height = 1.5;
    let (exact, pull) = exact::sphere_over_plane(1.0, height);
    let images = mirrors(&[(2, true)]);
    let mut errors = Vec::new();
    for elements in [512, 2048] {
        let mut mesh = octahedral(1.0, elements);
        mesh.vertices.iter_mut().for_each(|v| v[2] += height);
        let n = mesh.triangles.len();
        let excitation = Excitation { potentials: vec![1.0], ..Excitation::default() };
        let (conductor, media) = (vec![Some(0); n], vec![[1.0; 2]; n]);
        let answer = solve(&mesh, &images, &conductor, &media, &excitation, Method::Fmm);
        let response = &answer.responses[0];
        let body = Body {
            triangles: (0..n as u32).collect(),
            charges: vec![],
            permittivity: 1.0,
            about: [0.0; 3],
        };
        let charges = images.charges(&response.charge);
        let force = forces(&images.mesh(&mesh), &charges, &excitation, &[body]).unwrap()[0].force;
        let error = [response.conductor_charge[0] / exact - 1.0, force[2] / pull - 1.0];
        println!("{elements}: {error:?}, {} iterations", response.iterations);
        errors.push(error);
        // The potential in the plane is 0.
        let surface = SurfaceCharge::new(&images.mesh(&mesh), &charges);
        assert!(surface.potential([0.3, 0.4, 0.0]).abs() < 1e-12);
    }
    // The sphere of the facets' volume is this much smaller.
    let (capacitance, force) = exact::sphere_over_plane(1.0 - 1.9e-3, height);
    let expected = [capacitance / exact - 1.0, force / pull - 1.0];
    for k in 0..2 {
        let order = (errors[0][k] / errors[1][k]).ln() / 2.0f64.ln();
        assert!((1.8..2.3).contains(&order), "{errors:?}");
        assert!((0.7..1.3).contains(&(errors[1][k] / expected[k])), "{errors:?} {expected:?}");
    }
}
