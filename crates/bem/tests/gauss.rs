//! Gauss's law where interfaces meet in walls or are partly covered by metal, at permittivity ratios of 1e4 and more: what is amplified
//! there by the ratio has to be exact.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use bem::{
    CapacitanceOptions, Electrostatics, Excitation, Images, Media, Method, PointCharge, Quiet,
    StopReason, electrostatics,
};
use mesh::Mesh;
use mesh::generate::{ConcentricSpheres, Cube, Resolution, Sphere, SphereBase};
use mesh::regions::Region;

/// Conductor of a triangle, and permittivity in front and behind.
type Sides = (Option<u32>, [f64; 2]);

fn solve(
    mesh: &Mesh,
    sides: &[Sides],
    bodies: &[Region],
    excitation: Excitation,
    method: Method,
) -> Electrostatics {
    let (conductor, permittivity): (Vec<_>, Vec<_>) = sides.iter().copied().unzip();
    let conductors = excitation.potentials.len();
    let images = Images::default();
    let media = Media {
        conductor: &conductor,
        conductors,
        permittivity: &permittivity,
        images: &images,
        bodies,
    };
    let options = CapacitanceOptions { method, tolerance: 1e-6, ..CapacitanceOptions::default() };
    let answer = electrostatics(mesh, media, &[excitation], &options, &Quiet).unwrap();
    let response = &answer.responses[0];
    assert_eq!(response.reason, StopReason::Converged, "{:?}", response.history);
    answer
}

fn at_one_volt() -> Excitation {
    Excitation { potentials: vec![1.0], ..Excitation::default() }
}

/// Height of a triangle's centre.
fn height(mesh: &Mesh, t: usize) -> f64 {
    mesh.corners(t).iter().map(|v| v[2]).sum::<f64>() / 3.0
}

/// Concentric spheres, and between their equators a wall, whose normals point up: the mesh and the number of triangles of the spheres.
fn walled(elements: usize) -> (Mesh, usize) {
    let (resolution, base) = (Resolution::Elements(elements), SphereBase::Octahedron);
    let spheres = ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution };
    let mut mesh = spheres.build().unwrap();
    let of_spheres = mesh.triangles.len();
    let ring = |mesh: &Mesh, radius: f64| -> Vec<u32> {
        let on = |v: &u32| {
            let [x, y, z] = mesh.vertices[*v as usize];
            z.abs() < 1e-9 && (x.hypot(y) - radius).abs() < 1e-9
        };
        let mut ring: Vec<u32> = (0..mesh.vertices.len() as u32).filter(on).collect();
        let angle = |v: &u32| mesh.vertices[*v as usize][1].atan2(mesh.vertices[*v as usize][0]);
        ring.sort_by(|a, b| angle(a).total_cmp(&angle(b)));
        ring
    };
    let (mut inner, outer) = (ring(&mesh, 1.0), ring(&mesh, 2.0));
    let (count, layers) = (inner.len(), inner.len() / 5);
    assert_eq!(count, outer.len());
    for layer in 1..=layers {
        let next: Vec<u32> = if layer == layers {
            outer.clone()
        } else {
            (0..count)
                .map(|k| {
                    let (a, b) =
                        (mesh.vertices[inner[k] as usize], mesh.vertices[outer[k] as usize]);
                    // Between the layer before and the outer ring.
                    let part = 1.0 / (layers - layer + 1) as f64;
                    mesh.vertices.push([0, 1, 2].map(|i| a[i] + part * (b[i] - a[i])));
                    mesh.vertices.len() as u32 - 1
                })
                .collect()
        };
        for k in 0..count {
            let m = (k + 1) % count;
            mesh.triangles.push([inner[k], next[k], next[m]]);
            mesh.triangles.push([inner[k], next[m], inner[m]]);
        }
        inner = next;
    }
    mesh.membership.resize(mesh.triangles.len(), 0);
    (mesh, of_spheres)
}

/// A conducting sphere under two half-shells that share a wall. The capacitance is that of a coat of something between them.
#[test]
fn half_shells_that_share_a_wall() {
    let (upper, lower) = (1e4, 2e4);
    for (method, elements) in [(Method::Dense, 256), (Method::Fmm, 2048)] {
        let (mesh, of_spheres) = walled(elements);
        let is_core =
            |t: usize| mesh.corners(t).iter().all(|v| v.iter().map(|x| x * x).sum::<f64>() < 1.1);
        let eps = |t: usize| if height(&mesh, t) > 0.0 { upper } else { lower };
        let sides: Vec<Sides> = (0..mesh.triangles.len())
            .map(|t| match t {
                t if t >= of_spheres => (None, [upper, lower]),
                t if is_core(t) => (Some(0), [eps(t), 1.0]),
                t => (None, [1.0, eps(t)]),
            })
            .collect();
        let half = |of_upper: bool| {
            let own = |t: &u32| {
                let t = *t as usize;
                t >= of_spheres || (height(&mesh, t) > 0.0) == of_upper
            };
            let triangles: Vec<u32> = (0..mesh.triangles.len() as u32).filter(own).collect();
            Region::new(&mesh, &triangles).unwrap()
        };
        let bodies = [half(true), half(false)];
        let found = solve(&mesh, &sides, &bodies, at_one_volt(), method);
        // The same spheres, without a wall.
        let mut plain = mesh.clone();
        plain.triangles.truncate(of_spheres);
        plain.membership.truncate(of_spheres);
        let one = |eps: f64| -> f64 {
            let sides: Vec<Sides> = (0..of_spheres)
                .map(|t| if is_core(t) { (Some(0), [eps; 2]) } else { (None, [1.0, eps]) })
                .collect();
            solve(&plain, &sides, &[], at_one_volt(), method).responses[0].conductor_charge[0]
        };
        let (c, low, high) = (found.responses[0].conductor_charge[0], one(upper), one(lower));
        println!(
            "{method:?}: {c} between {low} and {high}, {} iterations, Gauss {:.1e}",
            found.responses[0].iterations, found.gauss_defect
        );
        // The two differ by 5e-5; solves are good to 1e-6.
        assert!(c > low * (1.0 - 2e-5) && c < high * (1.0 + 2e-5), "{low} {c} {high}");
    }
}

/// A dielectric sphere of eps_r = 1e4 under a conducting cap is as good as a conducting sphere.
#[test]
fn a_body_that_metal_covers_in_part() {
    let resolution = Resolution::Elements(1152);
    let mesh = Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution }.build().unwrap();
    let n = mesh.triangles.len();
    let eps = 1e4;
    let all: Vec<u32> = (0..n as u32).collect();
    let body = Region::new(&mesh, &all).unwrap();
    for method in [Method::Dense, Method::Fmm] {
        let capped: Vec<Sides> =
            (0..n).map(|t| ((height(&mesh, t) > 0.0).then_some(0), [1.0, eps])).collect();
        let bodies = std::slice::from_ref(&body);
        let found = solve(&mesh, &capped, bodies, at_one_volt(), method);
        let metal = solve(&mesh, &vec![(Some(0), [1.0; 2]); n], &[], at_one_volt(), method);
        let (c, whole) =
            (found.responses[0].conductor_charge[0], metal.responses[0].conductor_charge[0]);
        println!("{method:?}: {c} {whole}, {} iterations", found.responses[0].iterations);
        assert!((c / whole - 1.0).abs() < 5e-4 && c < whole, "{c} {whole}");
    }
}

/// A charge beside two boxes that share a wall: they carry no charge in all, whatever their permittivities.
#[test]
fn boxes_that_share_a_wall_stay_neutral() {
    let resolution = Resolution::Elements(768);
    let mut mesh = Cube { edge: 2.0, grade: 1.0, resolution }.build().unwrap();
    let wall = mesh.vertices.iter().map(|v| v[0]).fold(f64::MIN, f64::max);
    let first: Vec<u32> = (0..mesh.triangles.len() as u32).collect();
    let mirror: Vec<u32> = (0..mesh.vertices.len())
        .map(|v| {
            let [x, y, z] = mesh.vertices[v];
            if x == wall {
                return v as u32;
            }
            mesh.vertices.push([2.0 * wall - x, y, z]);
            mesh.vertices.len() as u32 - 1
        })
        .collect();
    let mut second = Vec::new();
    for &t in &first {
        let [a, b, c] = mesh.triangles[t as usize].map(|v| mirror[v as usize]);
        if [a, b, c] == mesh.triangles[t as usize] {
            second.push(t);
            continue;
        }
        second.push(mesh.triangles.len() as u32);
        mesh.triangles.push([a, c, b]);
        mesh.membership.push(0);
    }
    let (left, right) = (1e4, 3e4);
    let sides: Vec<Sides> = (0..mesh.triangles.len() as u32)
        .map(|t| match (first.contains(&t), second.contains(&t)) {
            (true, true) => (None, [right, left]),
            (true, false) => (None, [1.0, left]),
            _ => (None, [1.0, right]),
        })
        .collect();
    let bodies = [Region::new(&mesh, &first).unwrap(), Region::new(&mesh, &second).unwrap()];
    let charge = PointCharge { position: [wall + 0.3, 1.1, 3.2], charge: 1.0, permittivity: 1.0 };
    for method in [Method::Dense, Method::Fmm] {
        let excitation = Excitation { charges: vec![charge], ..Excitation::default() };
        let found = solve(&mesh, &sides, &bodies, excitation, method);
        let response = &found.responses[0];
        let total: f64 = response.charge.iter().sum();
        let size: f64 = response.charge.iter().map(|q| q.abs()).sum();
        println!("{method:?}: {total:.1e} of {size:.2}, {} iterations", response.iterations);
        assert!(size > 0.1 && total.abs() < 1e-5 * size, "{total} {size}");
    }
}
