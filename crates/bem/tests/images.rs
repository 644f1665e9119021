//! Mirror images: what is solved with them is what the whole gives.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

mod exact;

use bem::{
    Body, Electrostatics, Excitation, Images, Media, Method, Mirror, NoProgress, PointCharge,
    SolveOptions, StopReason, SurfaceCharge, electrostatics, forces,
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
    let options = SolveOptions::default().method(method).tolerance(1e-8);
    let answer =
        electrostatics(mesh, media, std::slice::from_ref(excitation), &options, &NoProgress)
            .unwrap();
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

/// By how much the charge of a triangle may differ: densely only by rounding, and by which of two
/// equally good rules a pair of triangles gets; fast sums leave errors of quadrature that are not
/// mirrored, and single charges are good to 1e-5.
fn allowed(method: Method) -> f64 {
    if method == Method::Dense { 1e-7 } else { 1e-5 }
}

#[test]
fn an_eighth_of_a_coated_sphere_and_a_charge_equals_the_whole() {
    let (resolution, base) = (Resolution::Elements(576), SphereBase::Octahedron);
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
        let excitation = Excitation::default().potentials(vec![1.0]).charges(charges);
        let (conductor, media) = of(&eighth);
        let found = solve(&eighth, &images, &conductor, &media, &excitation, method);
        let (conductor, media) = of(&whole);
        let unfolded = excitation.with_images(&images, |_| true);
        let expected = solve(&whole, &Images::default(), &conductor, &media, &unfolded, method);
        let (found, expected) = (&found.responses[0], &expected.responses[0]);
        let off = difference(&images.charges(&found.charge, 0), &expected.charge);
        let total = found.conductor_charge[0] / expected.conductor_charge[0] - 1.0;
        println!("eps {eps} {method:?}: {off:.1e}, {total:.1e}, {} iterations", found.iterations);
        assert!(off < allowed(method) && total.abs() < 1e-7, "{off:.1e} {total:.1e}");
        assert!(found.iterations <= expected.iterations + 1);
    }
}

/// A dielectric sphere that stands half in a grounded plane, a conductor above it that a plane of
/// symmetry cuts, and a field.
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
        let excitation = Excitation::default().potentials(vec![1.0]).field(field);
        let found = solve(&here, &images, &conductor, &media, &excitation, method);
        // Below ground the conductor is another one.
        let below = |t: usize| images.factor(t / n) < 0.0;
        let conductor: Vec<_> =
            (0..4 * n).map(|t| (!is_sphere(t)).then_some(u32::from(below(t)))).collect();
        let media: Vec<_> = (0..4 * n).map(sides).collect();
        let excitation = excitation.potentials(vec![1.0, -1.0]);
        let expected = solve(&whole, &Images::default(), &conductor, &media, &excitation, method);
        let (found, expected) = (&found.responses[0], &expected.responses[0]);
        let off = difference(&images.charges(&found.charge, 0), &expected.charge);
        let total = found.conductor_charge[0] / expected.conductor_charge[0] - 1.0;
        println!("{method:?}: {off:.1e}, {total:.1e}, {} iterations", found.iterations);
        assert!(off < allowed(method) && total.abs() < 1e-7, "{off:.1e} {total:.1e}");
    }
}

/// Charge and force against the series of a sphere over a plane, whose image is a sphere of
/// opposite charge.
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
        let excitation = Excitation::default().potentials(vec![1.0]);
        let (conductor, media) = (vec![Some(0); n], vec![[1.0; 2]; n]);
        let answer = solve(&mesh, &images, &conductor, &media, &excitation, Method::Fmm);
        let response = &answer.responses[0];
        let body = Body {
            triangles: (0..n as u32).collect(),
            charges: vec![],
            permittivity: 1.0,
            about: [0.0; 3],
        };
        let charges = images.charges(&response.charge, 0);
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

/// Half a gap over a ground plane: charges of both signs nearly cancel, densely and by the fast
/// sum.
#[test]
fn a_plate_close_over_ground() {
    use mesh::generate::Plate;
    let resolution = Resolution::Elements(128);
    for gap in [1e-1, 1e-3, 1e-4, 1e-5] {
        // In elements, which are an eighth wide.
        let height = gap / 8.0;
        let mut mesh = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
        mesh.vertices.iter_mut().for_each(|v| v[2] = height);
        let images = mirrors(&[(2, true)]);
        let n = mesh.triangles.len();
        let conductor = vec![Some(0); n];
        let permittivity = vec![[1.0; 2]; n];
        let media = Media {
            conductor: &conductor,
            conductors: 1,
            permittivity: &permittivity,
            images: &images,
            bodies: &[],
        };
        let excitation = Excitation::default().potentials(vec![1.0]);
        let tolerance = 1e-4;
        let solve = |method| {
            let options = SolveOptions::default().method(method).tolerance(tolerance);
            let excitations = std::slice::from_ref(&excitation);
            let answer = electrostatics(&mesh, media, excitations, &options, &NoProgress).unwrap();
            assert_eq!(answer.responses[0].reason, StopReason::Converged);
            answer.responses[0].conductor_charge[0]
        };
        let (dense, fast) = (solve(Method::Dense), solve(Method::Fmm));
        // The formula of wide plates, and the share of the stray field at the edges of a thin plate
        // of width 1 over ground.
        let pi = std::f64::consts::PI;
        let ideal = 1.0 / (4.0 * pi * height);
        let stray = 4.0 * height / pi * (1.0 + (pi / (2.0 * height)).ln());
        let found = dense / ideal - 1.0;
        assert!(found > 0.5 * stray && found < 1.5 * stray, "gap {gap}: {found} {stray}");
        assert!((fast / dense - 1.0).abs() < tolerance, "gap {gap}: {fast} {dense}");
    }
}

/// Where no fast sum has the digits, it says so.
#[test]
fn a_gap_of_too_few_digits_is_no_solution() {
    use mesh::generate::Plate;
    let resolution = Resolution::Elements(128);
    let mut mesh = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap();
    mesh.vertices.iter_mut().for_each(|v| v[2] = 1e-8);
    let images = mirrors(&[(2, true)]);
    let n = mesh.triangles.len();
    let media = Media {
        conductor: &vec![Some(0); n],
        conductors: 1,
        permittivity: &vec![[1.0; 2]; n],
        images: &images,
        bodies: &[],
    };
    let excitation = Excitation::default().potentials(vec![1.0]);
    let options = SolveOptions::default().method(Method::Fmm);
    let answer = electrostatics(&mesh, media, &[excitation], &options, &NoProgress).unwrap();
    assert_eq!(answer.responses[0].reason, StopReason::Breakdown);
    assert!(answer.fmm_error_potential.unwrap() > 10.0 * options.tolerance);
}

/// A coated sphere far from the origin: its polarisability is that of its own centre.
#[test]
fn polarisability_does_not_depend_on_the_place() {
    use bem::{Condition, neutral_dipole_moment};
    let (resolution, base) = (Resolution::Elements(720), SphereBase::Icosahedron);
    let coated = ConcentricSpheres { inner_radius: 1.0, outer_radius: 1.5, base, resolution };
    let coated = coated.build().unwrap();
    let inner = |t: &usize| coated.groups_of(*t)[0] == 0;
    let n = coated.triangles.len();
    let conductor: Vec<Option<u32>> = (0..n).map(|t| inner(&t).then_some(0)).collect();
    let permittivity: Vec<[f64; 2]> =
        (0..n).map(|t| if inner(&t) { [4.0, 4.0] } else { [1.0, 4.0] }).collect();
    let tolerance = 1e-6;
    let along_x = |shift: f64| {
        let mut mesh = coated.clone();
        mesh.vertices.iter_mut().for_each(|v| v.iter_mut().for_each(|x| *x += shift));
        let images = Images::default();
        let media = Media {
            conductor: &conductor,
            conductors: 1,
            permittivity: &permittivity,
            images: &images,
            bodies: &[],
        };
        let unit = Excitation::default().potentials(vec![1.0]);
        // The conductor at the potential that the field has in its middle.
        let field = Excitation::default().potentials(vec![-shift]).field([1.0, 0.0, 0.0]);
        let options = SolveOptions::default().method(Method::Fmm).tolerance(tolerance);
        let answer = electrostatics(&mesh, media, &[unit, field], &options, &NoProgress).unwrap();
        let state = answer.state(&[Condition::Charge(0.0)], Some(1)).unwrap();
        // What floats takes the potential there.
        assert!((state.potentials[0] + shift).abs() < 10.0 * tolerance, "{:?}", state.potentials);
        neutral_dipole_moment(&mesh, &state.charge, tolerance)
    };
    let at_origin = along_x(0.0);
    // Of a conducting sphere of radius 1 under a coat to b = 1.5: b^3 (3 b^3 + 9) / (6 b^3 + 6).
    // Facets take 3 % of the volume.
    let cube = 1.5f64.powi(3);
    let exact = cube * (3.0 * cube + 9.0) / (6.0 * cube + 6.0);
    assert!((0.94..1.0).contains(&(at_origin[0] / exact)), "{at_origin:?} {exact}");
    for shift in [1e3, 1e4] {
        let moved = along_x(shift);
        for k in 0..3 {
            let error = (moved[k] - at_origin[k]).abs();
            assert!(error < tolerance * at_origin[0], "{shift}: {moved:?} {at_origin:?}");
        }
    }
}
