//! Conductors in several layers, and potentials there.

use std::f64::consts::PI;

use farad::bem::{Beyond, Density, Method, Stack};
use farad::mesh::generate::{Cube, Plate, Resolution, Sphere, SphereBase};
use farad::mesh::transform::{Motion, moved};
use farad::mesh::{Mesh, join};
use farad::{Conductor, Description, Options, Probe, ProbePoints, Setting, Solution};

use super::{AIR, in_stack, maxwell, same, solved};

/// What costs more than in one layer is solved to this.
const TOLERANCE: f64 = 1e-5;
const SAME: f64 = 5.0 * TOLERANCE;

const SILICON: Beyond = Beyond::Dielectric(11.7);

fn stack(below: Beyond, layers: &[(f64, f64)], above: Beyond) -> Stack {
    super::stack(below, layers, above).tolerance(0.1 * TOLERANCE)
}

fn options(method: Method, density: Density) -> Options {
    super::options(method, density).tolerance(TOLERANCE)
}

fn cube(middle: [f64; 3]) -> Mesh {
    let cube = Cube { edge: 0.6, grade: 2.0, resolution: Resolution::Elements(48) };
    moved(&cube.build().unwrap(), |_| true, &Motion::along(middle))
}

/// Octahedra, cut in triangles, have vertices in the plane through their middle.
fn sphere(middle: [f64; 3], radius: f64) -> Mesh {
    let resolution = Resolution::Elements(128);
    let sphere = Sphere { radius, base: SphereBase::Octahedron, resolution };
    moved(&sphere.build().unwrap(), |_| true, &Motion::along(middle))
}

fn film(middle: [f64; 3]) -> Mesh {
    let plate = Plate { width: 0.8, height: 0.5, grade: 2.0, resolution: Resolution::Elements(32) };
    moved(&plate.build().unwrap(), |_| true, &Motion::along(middle))
}

/// A cube, a sphere through z = 1, and a film above.
fn scene() -> Mesh {
    let parts = [
        ("cube", cube([0.0, 0.1, 0.45])),
        ("sphere", sphere([1.0, 0.0, 1.0], 0.4)),
        ("film", film([0.2, 0.0, 1.5])),
    ];
    join::joined(parts.into_iter().map(|(name, mesh)| (name.to_owned(), mesh)).collect())
}

fn bars(solution: &Solution) -> Vec<f64> {
    solution.matrix_bars().unwrap().maxwell_farad.concat()
}

/// The field of a sphere whose middle is in an interface goes along it: the sphere has the
/// capacitance in the mean of both media.
#[test]
fn a_sphere_through_an_interface_is_in_the_mean_of_both_media() {
    for density in [Density::Constant, Density::Linear] {
        let dense = options(Method::Dense, density);
        let alone = solved(Description::default(), sphere([0.0; 3], 1.0), &dense);
        for (below, above) in [(11.7, 1.0), (1.0, 4.0)] {
            for method in [Method::Dense, Method::Fmm] {
                let stack = stack(Beyond::Dielectric(below), &[], Beyond::Dielectric(above));
                let options = options(method, density);
                let found = solved(in_stack(stack), sphere([0.0; 3], 1.0), &options);
                let mean = 0.5 * (below + above);
                same(&maxwell(&found), &[mean * maxwell(&alone)[0]], SAME);
                same(&bars(&found), &[mean * bars(&alone)[0]], 0.05);
            }
        }
    }
}

/// A layer cut in two changes nothing: matrix, bars, and potentials and fields at probes.
#[test]
fn a_layer_cut_in_two_is_one() {
    let points = vec![[0.4, 0.3, 0.9], [0.4, 0.3, 1.1], [0.1, 0.1, 1.7], [-1.0, 0.4, 0.2]];
    let described = |stack| {
        in_stack(stack)
            .conductors(
                ["cube", "sphere", "plate"]
                    .into_iter()
                    .zip([
                        Setting::Potential(1.0),
                        Setting::Charge(2e-12),
                        Setting::Potential(-0.5),
                    ])
                    .map(|(name, setting)| Conductor::new(name).setting(Some(setting)))
                    .collect(),
            )
            .probes(vec![Probe::new("p", ProbePoints::Points(points.clone()))])
    };
    for (below, above) in [(SILICON, AIR), (Beyond::Ground, AIR), (Beyond::Ground, Beyond::Ground)]
    {
        let whole = stack(below, &[(2.0, 3.9)], above);
        let cut = stack(below, &[(1.0, 3.9), (1.0, 3.9)], above);
        for (method, density) in [
            (Method::Dense, Density::Constant),
            (Method::Fmm, Density::Constant),
            (Method::Fmm, Density::Linear),
        ] {
            // Between grounds there are thousands of images, which dense matrices take one by one.
            let is_closed = [below, above] == [Beyond::Ground; 2];
            if is_closed && method == Method::Dense || !is_closed && density == Density::Linear {
                continue;
            }
            let options = options(method, density);
            let [whole, cut] = [&whole, &cut].map(|stack| {
                let solution = solved(described(stack.clone()), scene(), &options);
                let state = solution.state.as_ref().unwrap();
                let probed = &state.probes[0];
                let charges = state.conductors.iter().map(|c| c.charge_c).collect::<Vec<f64>>();
                let fields: Vec<f64> = probed.field.concat();
                (maxwell(&solution), bars(&solution), charges, probed.potential.clone(), fields)
            });
            same(&cut.0, &whole.0, SAME);
            // Bars of close neighbours depend a little on where layers are.
            same(&cut.1, &whole.1, 0.05);
            same(&cut.2, &whole.2, SAME);
            // Densities are recovered on each side of an interface: what that changes is within the
            // bars.
            same(&cut.3, &whole.3, 2e-3);
            same(&cut.4, &whole.4, 0.02);
        }
    }
}

/// The same upside down, and turned: which layer is the lowest, and which way is up, do not matter.
/// A film is in an interface.
#[test]
fn layers_upside_down_are_the_same() {
    let layers = [(0.9, 3.9), (0.5, 7.5), (0.8, 2.2)];
    let scene = || {
        let parts = [
            ("cube", cube([0.0, 0.1, 0.45])),
            ("film", film([0.2, 0.0, 0.9])),
            ("sphere", sphere([1.0, 0.0, 1.8], 0.3)),
            ("over", cube([0.3, 0.8, 2.6])),
        ];
        join::joined(parts.into_iter().map(|(name, mesh)| (name.to_owned(), mesh)).collect())
    };
    let up = stack(SILICON, &layers, AIR);
    let mut turned = layers;
    turned.reverse();
    let height: f64 = layers.iter().map(|layer| layer.0).sum();
    let down = stack(AIR, &turned, SILICON).axis(0).at(-height);
    let mut other = scene();
    for x in &mut other.vertices {
        *x = [-x[2], x[0], x[1]];
    }
    // Mirrored triangles have the opposite orientation.
    other.triangles.iter_mut().for_each(|[_, b, c]| std::mem::swap(b, c));
    let options = options(Method::Fmm, Density::Constant);
    let found = solved(in_stack(up.clone()), scene(), &options);
    same(&maxwell(&solved(in_stack(down), other, &options)), &maxwell(&found), SAME);
    // A film just above the interface, or just below.
    for by in [1e-5, -1e-5] {
        let mut near = scene();
        near.vertices.iter_mut().filter(|x| x[2] == 0.9).for_each(|x| x[2] += by);
        same(&maxwell(&solved(in_stack(up.clone()), near, &options)), &maxwell(&found), 2e-4);
    }
}

/// Plates in two layers between grounds: fields at rims reach no farther than some gaps, so that
/// second differences of plates of growing width are those of the field in between, in series
/// across the interface.
#[test]
fn plates_in_two_layers_are_in_series() {
    let c = |width: f64, elements: usize| -> Vec<f64> {
        let resolution = Resolution::Elements(elements);
        let plate = Plate { width, height: width, grade: 1.0, resolution }.build().unwrap();
        let at = |z: f64| moved(&plate, |_| true, &Motion::along([0.0, 0.0, z]));
        let mesh = join::joined(vec![("a".into(), at(0.5)), ("b".into(), at(1.5))]);
        let stack = stack(Beyond::Ground, &[(1.0, 4.0), (1.0, 2.0)], Beyond::Ground);
        let stack = stack.tolerance(1e-5);
        let options = options(Method::Fmm, Density::Linear).tolerance(1e-4);
        let solution = solved(in_stack(stack), mesh, &options);
        // Over eps0, in the mesh's unit.
        solution.matrices().maxwell_length.concat().iter().map(|c| 4.0 * PI * c).collect()
    };
    let [small, middle, large] = [c(4.0, 128), c(6.0, 288), c(8.0, 512)];
    let curvature: Vec<f64> =
        (0..4).map(|k| (large[k] - 2.0 * middle[k] + small[k]) / 8.0).collect();
    let between = 1.0 / (0.5 / 4.0 + 0.5 / 2.0);
    let exact = [4.0 / 0.5 + between, -between, -between, 2.0 / 0.5 + between];
    same(&curvature, &exact, 0.01);
}
