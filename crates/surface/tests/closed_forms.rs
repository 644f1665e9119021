//! Areas and volumes of two and three atoms against closed forms.
//!
//! The solid is cut into pieces: cones from each atom to its sphere, double cones between two atoms
//! and the circle of probe centres around them less what the probe covers, and tetrahedra between
//! three atoms and the probe that touches all three less the probe (\[Connolly1983\]).

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use std::f64::consts::PI;

use mesh::vector::{Vector, add, cross, dot, norm, scale, sub};
use surface::{Atom, Kind, Options, PartKind, Resolution, molecular};

/// Wanted of areas and volumes at 4 triangles per square angstrom.
const TOLERANCE: f64 = 1e-3;

/// Solid angle of three directions (A. van Oosterom & J. Strackee, IEEE Trans. Biomed. Eng. 30
/// (1983) 125).
fn solid_angle(a: Vector, b: Vector, c: Vector) -> f64 {
    let [a, b, c] = [a, b, c].map(|x| scale(1.0 / norm(x), x));
    2.0 * dot(a, cross(b, c)).abs().atan2(1.0 + dot(a, b) + dot(b, c) + dot(c, a))
}

/// Two atoms' circle of probe centres: its radius, the distances of the atoms from its plane.
fn circle(a: Atom, b: Atom, probe: f64) -> (f64, [f64; 2]) {
    let (r, s) = (a.radius + probe, b.radius + probe);
    let distance = norm(sub(b.centre, a.centre));
    let along = 0.5 * (distance + (r - s) * (r + s) / distance);
    ((r * r - along * along).sqrt(), [along, distance - along])
}

/// Area and volume of a turn by `angle` of what is between two atoms and their circle.
fn saddle(a: Atom, b: Atom, probe: f64, angle: f64) -> [f64; 2] {
    let (radius, along) = circle(a, b, probe);
    let [u, v] = along.map(|t| (t / radius).atan());
    let (sum, sines) = (u + v, u.sin() + v.sin());
    let area = angle * probe * (radius * sum - probe * sines);
    let cones = angle * radius * radius * (along[0] + along[1]) / 6.0;
    let covered = angle * probe * probe * (radius * sum / 2.0 - probe * sines / 3.0);
    [area, cones - covered]
}

/// Area and volume of two atoms that overlap, or whose inflated spheres do so widely.
fn pair([a, b]: [Atom; 2], probe: f64) -> [f64; 2] {
    let (_, along) = circle(a, b, probe);
    let mut sum = saddle(a, b, probe, 2.0 * PI);
    for (atom, t) in [(a, along[0]), (b, along[1])] {
        let angle = 2.0 * PI * (1.0 + t / (atom.radius + probe));
        sum[0] += angle * atom.radius.powi(2);
        sum[1] += angle * atom.radius.powi(3) / 3.0;
    }
    sum
}

/// Area and volume of three atoms that all touch one probe on either side of their plane.
fn triple(atoms: [Atom; 3], probe: f64) -> [f64; 2] {
    let [a, b, c] = atoms.map(|atom| atom.centre);
    // The probe: at the sums of radii from all three, above their plane.
    let x = sub(b, a);
    let ex = scale(1.0 / norm(x), x);
    let y = sub(sub(c, a), scale(dot(sub(c, a), ex), ex));
    let ey = scale(1.0 / norm(y), y);
    let ez = cross(ex, ey);
    let [r, s, t] = atoms.map(|atom| atom.radius + probe);
    let d = norm(x);
    let (i, j) = (dot(sub(c, a), ex), norm(y));
    let px = (r * r - s * s + d * d) / (2.0 * d);
    let py = (r * r - t * t + i * i + j * j - 2.0 * i * px) / (2.0 * j);
    let pz = (r * r - px * px - py * py).sqrt();
    assert!(pz > probe, "the two probes must not meet");
    let p = add(a, add(scale(px, ex), add(scale(py, ey), scale(pz, ez))));
    let to = [a, b, c].map(|x| sub(x, p));
    let concave = solid_angle(to[0], to[1], to[2]);
    let tetrahedron = dot(to[0], cross(to[1], to[2])).abs() / 6.0;
    let mut sum =
        [2.0 * probe.powi(2) * concave, 2.0 * (tetrahedron - probe.powi(3) * concave / 3.0)];
    let mut contact = [4.0 * PI; 3];
    for k in 0..3 {
        let (m, n) = ((k + 1) % 3, (k + 2) % 3);
        let (first, second, third) = (atoms[k], atoms[m], atoms[n]);
        let axis = sub(second.centre, first.centre);
        let axis = scale(1.0 / norm(axis), axis);
        let away = |x: Vector| {
            let from = sub(x, first.centre);
            sub(from, scale(dot(from, axis), axis))
        };
        let (inner, probe_at) = (away(third.centre), away(p));
        let half = (dot(inner, probe_at) / (norm(inner) * norm(probe_at))).acos();
        let angle = 2.0 * (PI - half);
        let part = saddle(first, second, probe, angle);
        sum = [sum[0] + part[0], sum[1] + part[1]];
        let (_, along) = circle(first, second, probe);
        for (index, t) in [(k, along[0]), (m, along[1])] {
            contact[index] -= angle * (1.0 - t / (atoms[index].radius + probe));
        }
        let corner = [m, n].map(|q| sub(atoms[q].centre, first.centre));
        contact[k] -= 2.0 * solid_angle(corner[0], corner[1], sub(p, first.centre));
    }
    for (atom, angle) in atoms.iter().zip(contact) {
        sum[0] += angle * atom.radius.powi(2);
        sum[1] += angle * atom.radius.powi(3) / 3.0;
    }
    sum
}

fn atom(centre: Vector, radius: f64) -> Atom {
    Atom { centre, radius }
}

/// Area and volume of the one part that the mesh has.
fn meshed(atoms: &[Atom], kind: Kind, density: f64) -> [f64; 2] {
    let options = Options::default().kind(kind).resolution(Resolution::Density(density));
    let surface = molecular(atoms, &options).unwrap();
    assert_eq!(surface.info.parts.len(), 1, "{:?}", surface.info);
    let part = &surface.info.parts[0];
    if let Some(union) = surface.info.union {
        compare([union.area, union.volume], [part.area, part.volume], "union");
    }
    assert!(part.kind == PartKind::Body && part.min_angle >= 15.0);
    [part.area, part.volume]
}

fn compare(found: [f64; 2], exact: [f64; 2], what: &str) {
    for k in 0..2 {
        let off = found[k] / exact[k] - 1.0;
        assert!(off.abs() < TOLERANCE, "{what}: {} {off:e}", ["area", "volume"][k]);
    }
}

#[test]
fn one_atom_is_a_sphere() {
    for kind in [Kind::SolventExcluded, Kind::VanDerWaals, Kind::Gaussian] {
        let exact = [4.0 * PI * 1.7f64.powi(2), 4.0 / 3.0 * PI * 1.7f64.powi(3)];
        let found = meshed(&[atom([0.1, 0.2, 0.3], 1.7)], kind, 4.0);
        compare(found, exact, "sphere");
    }
}

/// However few triangles their area is worth, next to a larger ball or alone: inscribed triangles
/// leave out some 6 / n of the area, n their number.
#[test]
fn small_balls_are_balls() {
    let large = atom([20.0, 0.0, 0.0], 2.0);
    for kind in [Kind::SolventExcluded, Kind::VanDerWaals, Kind::Gaussian] {
        for (radius, others) in [(0.93, None), (0.63, Some(large)), (0.4, None), (2e-4, None)] {
            let atoms: Vec<Atom> =
                others.into_iter().chain([atom([0.1, 0.2, 0.3], radius)]).collect();
            let surface = molecular(&atoms, &Options::default().kind(kind)).unwrap();
            let part = surface.info.parts.last().unwrap();
            let area = 4.0 * PI * radius.powi(2);
            compare([part.area, part.volume], [area, area * radius / 3.0], "small ball");
            let mesh = &surface.mesh;
            let corners = (0..mesh.triangles.len()).map(|t| mesh.corners(t));
            let own = corners.filter(|[a, _, _]| norm(*a) < 2.0);
            let flat: f64 = own.map(|[a, b, c]| 0.5 * norm(cross(sub(b, a), sub(c, a)))).sum();
            let missing = 1.0 - flat / area;
            assert!((70..100).contains(&part.triangles), "{kind:?} {radius} {}", part.triangles);
            assert!(missing > 0.0 && missing < 0.085, "{kind:?} {radius} {missing}");
        }
    }
}

#[test]
fn pairs_have_their_areas_and_volumes() {
    for (distance, radii) in [(1.5, [1.7, 1.7]), (2.2, [1.9, 1.2]), (1.1, [1.0, 1.6])] {
        let direction = [0.48, 0.6, 0.64];
        let atoms = [
            atom([0.2, -0.1, 0.4], radii[0]),
            atom(add([0.2, -0.1, 0.4], scale(distance, direction)), radii[1]),
        ];
        compare(meshed(&atoms, Kind::SolventExcluded, 4.0), pair(atoms, 1.4), "excluded");
        compare(meshed(&atoms, Kind::VanDerWaals, 4.0), pair(atoms, 0.0), "van der Waals");
        let inflated = atoms.map(|a| atom(a.centre, a.radius + 1.4));
        compare(meshed(&atoms, Kind::SolventAccessible, 4.0), pair(inflated, 0.0), "accessible");
    }
}

#[test]
fn triples_have_their_areas_and_volumes() {
    let sets = [
        [atom([0.0; 3], 1.7), atom([2.0, 0.3, 0.1], 1.5), atom([0.8, 1.9, 0.2], 1.6)],
        [atom([0.1, 0.2, 0.0], 1.5), atom([1.5, 0.0, 0.4], 1.5), atom([0.7, 1.3, 0.2], 1.2)],
    ];
    for atoms in sets {
        compare(meshed(&atoms, Kind::SolventExcluded, 4.0), triple(atoms, 1.4), "excluded");
        compare(meshed(&atoms, Kind::VanDerWaals, 4.0), triple(atoms, 0.0), "van der Waals");
    }
}

/// Points spread evenly over spheres, and which of them no other ball covers (A. Shrake & J. A.
/// Rupley, J. Mol. Biol. 79 (1973) 351): the area of a union of balls.
fn area_by_points(balls: &[Atom], count: usize) -> f64 {
    let bare = |&ball: &Atom| {
        let is_bare = |n: &usize| {
            let z = 1.0 - (2 * n + 1) as f64 / count as f64;
            let (out, angle) = ((1.0 - z * z).sqrt(), *n as f64 * 2.399_963_229_728_653);
            let on = [out * angle.cos(), out * angle.sin(), z];
            let point = add(ball.centre, scale(ball.radius, on));
            balls
                .iter()
                .all(|other| *other == ball || norm(sub(point, other.centre)) >= other.radius)
        };
        let share = (0..count).filter(is_bare).count() as f64 / count as f64;
        4.0 * PI * ball.radius.powi(2) * share
    };
    balls.iter().map(bare).sum()
}

/// A coil of atoms as in a protein has hollows and creases that no triangles have.
#[test]
fn unions_of_many_balls_have_the_area_of_all_that_is_bare() {
    let atoms: Vec<Atom> = (0..120)
        .map(|k| {
            let t = f64::from(k);
            let out = 2.3 + 1.6 * (1.7 * t).sin();
            let centre = [out * t.cos(), out * t.sin(), 0.22 * t];
            atom(centre, [1.0, 1.7, 1.55, 1.8][k as usize % 4])
        })
        .collect();
    for (kind, probe) in [(Kind::VanDerWaals, 0.0), (Kind::SolventAccessible, 1.4)] {
        let balls: Vec<Atom> = atoms.iter().map(|a| atom(a.centre, a.radius + probe)).collect();
        let resolution = Resolution::Density(2.0);
        let surface = molecular(&atoms, &Options::default().kind(kind).resolution(resolution));
        let info = surface.unwrap().info;
        let (found, expected) = (info.union.unwrap().area, area_by_points(&balls, 2000));
        // Each point stands for 2e-2 square angstrom of some 700, and a crease goes between them.
        assert!((found / expected - 1.0).abs() < 2e-3, "{kind:?}: {found} {expected}");
        let meshed: f64 = info.parts.iter().map(|part| part.area).sum();
        assert!(meshed < found, "{kind:?}: {meshed} {found}");
    }
}

/// Flat triangles are off by a second-order term, so that twice the density halves the error.
#[test]
fn flat_areas_converge_at_second_order() {
    let atoms = [atom([0.0; 3], 1.7), atom([1.9, 0.2, 0.1], 1.5)];
    for kind in [Kind::SolventExcluded, Kind::VanDerWaals] {
        let exact = pair(atoms, if kind == Kind::VanDerWaals { 0.0 } else { 1.4 });
        let off = |density: f64| {
            let resolution = Resolution::Density(density);
            let surface = molecular(&atoms, &Options::default().kind(kind).resolution(resolution));
            let mesh = surface.unwrap().mesh;
            1.0 - mesh::quality::Quality::of(&mesh).area / exact[0]
        };
        let (coarse, fine) = (off(4.0), off(64.0));
        // 16 times as many triangles; sizes follow curvature on the coarse one alone.
        assert!(fine > 0.0 && fine < coarse / 8.0, "{kind:?} {coarse:e} {fine:e}");
    }
}
