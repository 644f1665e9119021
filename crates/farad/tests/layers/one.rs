//! Surfaces that are all in one layer.

use farad::bem::{Beyond, Density, Method, Stack};
use farad::mesh::generate::{Cube, Disk, Plate, Resolution, Sphere, SphereBase};
use farad::mesh::transform::{Motion, moved};
use farad::mesh::{Mesh, join};
use farad::{
    Conductor, Description, Fault, Mirror, Plane, Probe, ProbePoints, Problem, Setting, StackFault,
};

use super::{AIR, TOLERANCE, in_stack, maxwell, options, same, solved, stack};

/// What results that are the same by theory may differ by.
const SAME: f64 = 5.0 * TOLERANCE;

/// Two films in the plane z = 0, 1 x 1 with a gap of 0.3.
fn films() -> Mesh {
    let plate =
        Plate { width: 1.0, height: 1.0, grade: 4.0, resolution: Resolution::Elements(128) };
    let plate = plate.build().unwrap();
    let other = moved(&plate, |_| true, &Motion::along([1.3, 0.0, 0.0]));
    join::joined(vec![("a".into(), plate), ("b".into(), other)])
}

/// A cube and a sphere on z = 0, or above by this; the cube's lowest face lies in it.
fn standing(above: f64) -> Mesh {
    let cube = Cube { edge: 1.0, grade: 3.0, resolution: Resolution::Elements(192) };
    let cube = cube.build().unwrap();
    let low = cube.vertices.iter().map(|x| x[2]).fold(f64::INFINITY, f64::min);
    let cube = moved(&cube, |_| true, &Motion::along([0.0, 0.0, above - low]));
    let sphere =
        Sphere { radius: 0.5, base: SphereBase::Octahedron, resolution: Resolution::Elements(200) };
    let sphere = moved(&sphere.build().unwrap(), |_| true, &Motion::along([1.6, 0.2, above + 0.7]));
    join::joined(vec![("a".into(), cube), ("b".into(), sphere)])
}

/// Films between two half-spaces are those in their mean: values and bars, by all methods.
#[test]
fn films_between_half_spaces_are_those_in_the_mean_of_both() {
    for density in [Density::Constant, Density::Linear] {
        let alone = solved(Description::default(), films(), &options(Method::Dense, density));
        let bars = alone.matrix_bars().unwrap().maxwell_farad.concat();
        for (below, above) in [(11.7, 1.0), (1.0, 4.0), (3.0, 3.0)] {
            let mean = 0.5 * (below + above);
            let scaled = |of: &[f64]| of.iter().map(|x| mean * x).collect::<Vec<f64>>();
            for method in [Method::Dense, Method::Fmm] {
                let stack = stack(Beyond::Dielectric(below), &[], Beyond::Dielectric(above));
                let found = solved(in_stack(stack), films(), &options(method, density));
                same(&maxwell(&found), &scaled(&maxwell(&alone)), SAME);
                let own = found.matrix_bars().unwrap().maxwell_farad.concat();
                // Bars of neighbours' charges depend a little on which layer it is.
                same(&own, &scaled(&bars), 0.02);
            }
        }
    }
}

/// So are curved films, whose bent triangles lie on their images.
#[test]
fn curved_films_lie_on_their_images() {
    let disk = Disk { radius: 1.0, grade: 1.0, resolution: Resolution::Elements(54) };
    let disk = disk.build_curved(2).unwrap();
    for method in [Method::Dense, Method::Fmm] {
        let options = options(method, Density::Linear);
        let alone = maxwell(&solved(Description::default(), disk.clone(), &options));
        let stack = stack(Beyond::Dielectric(11.7), &[], AIR);
        let found = maxwell(&solved(in_stack(stack), disk.clone(), &options));
        same(&found, &[6.35 * alone[0]], SAME);
    }
}

/// A ground below a layer of the surrounding medium is the grounded plane: charges, potentials,
/// fields and forces.
#[test]
fn a_ground_below_is_a_grounded_plane() {
    let mut conductors = vec![Conductor::new("cube"), Conductor::new("sphere")];
    conductors[0].setting = Some(Setting::Potential(1.0));
    conductors[1].setting = Some(Setting::Charge(1e-12));
    let points = ProbePoints::Points(vec![[0.9, 0.1, 0.4], [1.6, 0.2, 1.8], [-2.0, 1.0, 0.1]]);
    let probes = vec![Probe::new("p", points)];
    let with = |planes, stack| {
        Description::default()
            .conductors(conductors.clone())
            .probes(probes.clone())
            .forces(true)
            .planes(planes)
            .stack(stack)
    };
    let mirror = Mirror { plane: Plane { axis: 2, at: -0.4 }, odd: true };
    let layers = stack(Beyond::Ground, &[(0.5, 1.0)], AIR).at(-0.4);
    for density in [Density::Constant, Density::Linear] {
        let options = options(Method::Fmm, density);
        let plane = solved(with(vec![mirror], None), standing(0.2), &options);
        let layer = solved(with(vec![], Some(layers.clone())), standing(0.2), &options);
        same(&maxwell(&layer), &maxwell(&plane), SAME);
        let bars = [&layer, &plane].map(|of| of.matrix_bars().unwrap().maxwell_farad.concat());
        same(&bars[0], &bars[1], 0.01);
        let states = [&layer, &plane].map(|of| of.state.as_ref().unwrap());
        let values = states.map(|state| {
            let mut all = state.probes[0].potential.clone();
            all.push(state.conductors[1].potential_v);
            all
        });
        same(&values[0], &values[1], SAME);
        let fields = states.map(|state| state.probes[0].field.concat());
        same(&fields[0], &fields[1], SAME);
        let forces = states.map(|state| {
            let forces = state.forces.as_ref().unwrap();
            assert_eq!(forces.len(), 2);
            forces.iter().flat_map(|force| force.newton).collect::<Vec<f64>>()
        });
        same(&forces[0], &forces[1], 10.0 * SAME);
        let bars = states.map(|state| {
            let probes = state.probes[0].bars.as_ref().unwrap().potential_v.iter().copied();
            let forces = state.forces.iter().flatten().map(|force| force.newton_error.unwrap());
            probes.chain(forces.map(|bar| 1e12 * bar)).collect::<Vec<f64>>()
        });
        same(&bars[0], &bars[1], 0.05);
    }
}

/// On what has no permittivity to speak of a body is half of itself and its image: a face that
/// lies in the interface has the charge of both.
#[test]
fn a_body_on_nothing_is_half_of_it_and_its_image() {
    let mirror = Mirror { plane: Plane { axis: 2, at: 0.0 }, odd: false };
    let mut open = standing(0.0);
    let keeps: Vec<bool> =
        (0..open.triangles.len()).map(|t| open.corners(t).iter().any(|x| x[2] != 0.0)).collect();
    let mut keep = keeps.iter();
    open.triangles.retain(|_| *keep.next().unwrap());
    let mut keep = keeps.iter();
    open.membership.retain(|_| *keep.next().unwrap());
    assert!(open.triangles.len() < standing(0.0).triangles.len());
    for density in [Density::Constant, Density::Linear] {
        for method in [Method::Dense, Method::Fmm] {
            let options = options(method, density);
            let symmetric = Description::default().planes(vec![mirror]);
            let symmetric = maxwell(&solved(symmetric, open.clone(), &options));
            let half: Vec<f64> = symmetric.iter().map(|x| 0.5 * x).collect();
            let nothing = stack(Beyond::Dielectric(1e-9), &[], AIR);
            let found = solved(in_stack(nothing), standing(0.0), &options);
            same(&maxwell(&found), &half, 2.0 * SAME);
        }
    }
}

/// The same problem along another axis, and with layers cut in two.
#[test]
fn axes_and_cuts_make_no_difference() {
    let on_slab = stack(Beyond::Ground, &[(0.5, 3.9)], AIR);
    let options = options(Method::Fmm, Density::Constant);
    let place = |mesh: Mesh, to: [usize; 3]| {
        let mut turned = mesh;
        for x in &mut turned.vertices {
            *x = to.map(|k| x[k]);
        }
        turned
    };
    let up = |mesh| moved(&mesh, |_| true, &Motion::along([0.0, 0.0, 0.5]));
    let z = solved(in_stack(on_slab.clone()), up(standing(0.0)), &options);
    let x = on_slab.clone().axis(0);
    let x = solved(in_stack(x), place(up(standing(0.0)), [2, 0, 1]), &options);
    same(&maxwell(&x), &maxwell(&z), SAME);
    let cut = stack(Beyond::Ground, &[(0.2, 3.9), (0.3, 3.9), (5.0, 1.0)], AIR);
    let cut = solved(in_stack(cut), up(standing(0.0)), &options);
    same(&maxwell(&cut), &maxwell(&z), SAME);
}

#[test]
fn what_lies_wrong_in_layers_is_reported() {
    let fault = |stack: Stack, mesh: Mesh| {
        let farad::Error::Faults(faults) = Problem::new(in_stack(stack), mesh).unwrap_err() else {
            panic!("no fault")
        };
        let [Fault::Stack { problem, .. }] = faults[..] else { panic!("{faults:?}") };
        problem
    };
    let two = || stack(Beyond::Dielectric(4.0), &[(0.3, 2.0)], AIR);
    assert!(matches!(fault(two(), standing(0.0)), StackFault::Through { at: 0.3, .. }));
    let ground = stack(Beyond::Ground, &[(3.0, 2.0)], AIR);
    assert!(matches!(fault(ground, standing(0.0)), StackFault::Shorted { at: 0.0, .. }));
}
