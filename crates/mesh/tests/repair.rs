//! Defects made artificially, and what a repair makes of them.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use mesh::Mesh;
use mesh::generate::{Cube, Plate, Resolution, Sphere, SphereBase, Torus};
use mesh::repair::{Action, Error, Fault, Options, What, faults, repair};
use mesh::topology::Topology;
use mesh::vector::{add, scale, sub};
use proptest::prelude::*;

fn sphere(radius: f64, elements: u64) -> Mesh {
    let resolution = Resolution::Elements(elements as _);
    Sphere { radius, base: SphereBase::Icosahedron, resolution }.build().unwrap()
}

fn torus() -> Mesh {
    let resolution = Resolution::Elements(400);
    Torus { ring_radius: 2.0, tube_radius: 0.7, resolution }.build().unwrap()
}

fn cube(edge: f64) -> Mesh {
    Cube { edge, grade: 1.0, resolution: Resolution::Elements(48) }.build().unwrap()
}

fn with(mut mesh: Mesh, other: &Mesh, shift: [f64; 3]) -> Mesh {
    let first = mesh.vertices.len() as u32;
    mesh.vertices.extend(other.vertices.iter().map(|v| add(*v, shift)));
    mesh.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
    mesh.membership.extend(&other.membership);
    mesh
}

fn push(mesh: &mut Mesh, triangle: [u32; 3]) {
    mesh.triangles.push(triangle);
    mesh.membership.push(0);
}

fn turned(mut mesh: Mesh) -> Mesh {
    mesh.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    mesh
}

fn volume(mesh: &Mesh) -> f64 {
    Topology::of(mesh).whole.signed_volume
}

/// Repairs, and checks that the result is valid, has `parts` parts and a volume up to a relative
/// error, and that what is named was done.
fn repaired(broken: Mesh, parts: usize, expected: f64, error: f64, done: &[What]) -> Mesh {
    let (mesh, actions) = repair(broken, &Options::default()).unwrap();
    assert_eq!(faults(&mesh), []);
    mesh.validate().unwrap();
    let topology = Topology::of(&mesh);
    assert_eq!(topology.components.len(), parts, "{actions:?}");
    assert!(topology.components.iter().all(|part| part.closed && part.flipped_edges == 0));
    let found = volume(&mesh);
    assert!((found - expected).abs() <= error * expected, "{found}, not {expected}: {actions:?}");
    for what in done {
        assert!(actions.iter().any(|action| action.what == *what), "{what:?}: {actions:?}");
    }
    mesh
}

/// Vertices of their own for every triangle, each moved by up to so much.
fn apart(mesh: &Mesh, by: f64) -> Mesh {
    let mut vertices: Vec<[f64; 3]> =
        (0..mesh.triangles.len()).flat_map(|t| mesh.corners(t)).collect();
    for (k, vertex) in vertices.iter_mut().enumerate() {
        let along = |x: f64| by * ((k as f64 * x).fract() - 0.5);
        *vertex = add(*vertex, [along(0.618), along(0.414), along(0.732)]);
    }
    let triangles = (0..mesh.triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]);
    Mesh { vertices, triangles: triangles.collect(), ..mesh.clone() }
}

#[test]
fn sound_surfaces_are_left_as_they_are() {
    let cavity = with(sphere(2.0, 320), &turned(sphere(1.0, 80)), [0.0; 3]);
    for mesh in [sphere(1.0, 320), torus(), cube(1.0), cavity] {
        assert_eq!(repair(mesh.clone(), &Options::default()), Ok((mesh, vec![])));
    }
}

#[test]
fn vertices_that_are_not_shared_are_joined() {
    for mesh in [sphere(1.0, 320), torus()] {
        let whole = volume(&mesh);
        let exact = repaired(apart(&mesh, 0.0), 1, whole, 1e-12, &[What::Joined]);
        assert_eq!(exact.vertices.len(), mesh.vertices.len());
        let near = repaired(apart(&mesh, 1e-5), 1, whole, 1e-4, &[What::Welded]);
        assert_eq!(near.vertices.len(), mesh.vertices.len());
    }
    let mut mesh = sphere(1.0, 320);
    let whole = volume(&mesh);
    mesh.vertices.push([5.0, 0.0, 0.0]);
    repaired(mesh, 1, whole, 1e-12, &[What::Unused]);
}

/// The triangles at the side of triangle 0 from its first corner, with their third corners.
fn at_first_side(mesh: &Mesh) -> ([u32; 4], usize) {
    let [a, b, c] = mesh.triangles[0];
    let other = |t: &[u32; 3]| t.contains(&a) && t.contains(&b) && !t.contains(&c);
    let t = mesh.triangles.iter().position(other).unwrap();
    let d = mesh.triangles[t].into_iter().find(|&v| v != a && v != b).unwrap();
    ([a, b, c, d], t)
}

#[test]
fn triangles_without_area_are_removed() {
    for whole in [sphere(1.0, 320), torus()] {
        // A vertex on another one: two triangles without area.
        let mut mesh = whole.clone();
        let ([a, b, c, d], t) = at_first_side(&mesh);
        let m = mesh.vertices.len() as u32;
        mesh.vertices.push(mesh.vertices[a as usize]);
        mesh.triangles[0] = [m, b, c];
        mesh.triangles[t] = [b, m, d];
        push(&mut mesh, [a, m, c]);
        push(&mut mesh, [m, a, d]);
        let found = repaired(mesh, 1, volume(&whole), 1e-12, &[What::Collapsed]);
        assert_eq!(found.triangles.len(), whole.triangles.len());
        // A vertex on the middle of a side.
        let mut mesh = whole.clone();
        let [p, q] = [a, b].map(|v| mesh.vertices[v as usize]);
        mesh.vertices.push(scale(0.5, add(p, q)));
        mesh.triangles[0] = [a, b, m];
        push(&mut mesh, [b, c, m]);
        push(&mut mesh, [c, a, m]);
        repaired(mesh, 1, volume(&whole), 1e-12, &[What::Swapped]);
    }
}

#[test]
fn doubled_folded_and_loose_triangles_are_left_out() {
    let whole = sphere(1.0, 320);
    let mut mesh = whole.clone();
    push(&mut mesh, whole.triangles[5]);
    let [a, b, c] = whole.triangles[9];
    push(&mut mesh, [b, a, c]);
    let far = [whole.triangles[0][0], whole.triangles[40][0], whole.triangles[80][0]];
    push(&mut mesh, far);
    push(&mut mesh, [far[1], far[0], far[2]]);
    mesh.vertices.push([3.0, 3.0, 3.0]);
    let end = mesh.vertices.len() as u32 - 1;
    push(&mut mesh, [a, b, end]);
    let done = [What::Duplicate, What::Folded, What::Flap];
    assert_eq!(repaired(mesh, 1, volume(&whole), 1e-12, &done).triangles, whole.triangles);
}

#[test]
fn sheets_that_share_a_vertex_or_an_edge_are_parted() {
    let ball = sphere(1.0, 320);
    let far = |mesh: &Mesh, sign: f64| {
        let along = |v: usize| sign * mesh.vertices[v][0];
        (0..mesh.vertices.len()).max_by(|&a, &b| along(a).total_cmp(&along(b))).unwrap()
    };
    let (right, left) = (far(&ball, 1.0), far(&ball, -1.0));
    let shift = sub(ball.vertices[right], ball.vertices[left]);
    let mut mesh = with(ball.clone(), &ball, shift);
    let twin = (ball.vertices.len() + left) as u32;
    for v in mesh.triangles.iter_mut().flatten().filter(|v| **v == twin) {
        *v = right as u32;
    }
    repaired(mesh, 2, 2.0 * volume(&ball), 1e-12, &[What::VertexParted]);

    let mut mesh = with(cube(1.0), &cube(1.0), [1.0, 1.0, 0.0]);
    let same: Vec<u32> = (0..mesh.vertices.len())
        .map(|v| mesh.vertices.iter().position(|x| *x == mesh.vertices[v]).unwrap() as u32)
        .collect();
    mesh.triangles.iter_mut().flatten().for_each(|v| *v = same[*v as usize]);
    mesh.drop_unused();
    repaired(mesh, 2, 2.0, 1e-12, &[What::EdgeParted]);
}

#[test]
fn parts_and_cavities_are_turned() {
    let (outer, inner) = (sphere(2.0, 320), sphere(1.0, 80));
    let hollow = volume(&outer) - volume(&inner);
    repaired(with(outer.clone(), &inner, [0.0; 3]), 2, hollow, 1e-12, &[What::PartTurned]);
    repaired(turned(outer.clone()), 1, volume(&outer), 1e-12, &[What::PartTurned]);
    let mut mesh = with(outer, &turned(inner), [0.0; 3]);
    mesh.triangles.iter_mut().step_by(7).for_each(|t| t.swap(0, 1));
    repaired(mesh, 2, hollow, 1e-12, &[What::Turned]);
}

#[test]
fn holes_are_closed_unless_they_are_large() {
    for whole in [sphere(1.0, 1280), torus()] {
        let mut mesh = whole.clone();
        let gone = mesh.triangles[17][0];
        mesh.triangles.retain(|t| !t.contains(&gone));
        mesh.membership.truncate(mesh.triangles.len());
        let closed = repaired(mesh.clone(), 1, volume(&whole), 1e-2, &[What::Hole]);
        assert_eq!(closed.triangles.len(), whole.triangles.len() - 2);
        let small = Options::default().largest_hole(3);
        let Err(Error::Left { faults, .. }) = repair(mesh, &small) else { panic!() };
        assert!(matches!(faults[..], [Fault::Open { edges: 4..=8, .. }]), "{faults:?}");
    }
}

#[test]
fn triangles_that_cross_others_of_their_part_are_smoothed() {
    let whole = sphere(1.0, 1280);
    let mut mesh = whole.clone();
    let [a, b, _] = mesh.triangles[100];
    mesh.vertices.swap(a as usize, b as usize);
    assert!(!faults(&mesh).is_empty());
    repaired(mesh, 1, volume(&whole), 1e-2, &[What::Moved]);
    // A cap that is turned over and around, dozens of triangles wide: what is within moves, too.
    let mut mesh = whole.clone();
    for v in mesh.vertices.iter_mut().filter(|v| v[2] > 0.5) {
        *v = [-v[0], -v[1], 1.0 - v[2]];
    }
    // The ball without the cap and its mirror image.
    let cap = 0.25 * 2.5 / 4.0;
    repaired(mesh, 1, (1.0 - 2.0 * cap) * volume(&whole), 0.15, &[What::Moved]);
}

#[test]
fn parts_that_go_through_each_other_are_united() {
    let cubes = with(cube(1.0), &cube(1.0), [0.31, 0.42, 0.47]);
    let union = 2.0 - 0.69 * 0.58 * 0.53;
    repaired(cubes.clone(), 1, union, 1e-9, &[What::United]);
    // Inside out, and with normals that flip.
    repaired(turned(cubes), 1, union, 1e-9, &[What::United]);
    // Faces in one plane, vertices on each other.
    let level = with(cube(1.0), &cube(1.0), [0.5, 0.0, 0.0]);
    repaired(level.clone(), 1, 1.5, 1e-5, &[What::United]);
    // Also where coordinates round to more than a small move.
    let mut far = level;
    far.vertices.iter_mut().for_each(|v| *v = add(*v, [1e8, -1e8, 1e8]));
    repaired(far, 1, 1.5, 1e-5, &[What::United]);
    // Two balls at the distance of their radius: 27/16 of a ball, less what facets leave out.
    let ball = sphere(1.0, 320);
    let two = with(ball.clone(), &ball, [1.001, 0.02, 0.03]);
    repaired(two, 1, volume(&ball) * 27.0 / 16.0, 1e-2, &[What::United]);
    let three = with(with(ball.clone(), &ball, [1.0, 0.02, 0.03]), &ball, [0.5, 0.9, 0.01]);
    let (mesh, _) = repair(three, &Options::default()).unwrap();
    assert_eq!(faults(&mesh), []);
    let rings = with(torus(), &torus(), [2.03, 0.11, 0.23]);
    let (mesh, _) = repair(rings, &Options::default()).unwrap();
    assert!(volume(&mesh) < 2.0 * volume(&torus()) && volume(&mesh) > 1.5 * volume(&torus()));
}

#[test]
fn cavities_that_go_through_the_surface_are_opened_or_left_out() {
    let mesh = with(cube(2.0), &turned(cube(0.5)), [0.85, 0.1, 0.07]);
    repaired(mesh.clone(), 1, 8.0 - 0.4 * 0.25, 1e-9, &[What::Opened]);
    let options = Options::default().drop_cavities_below(0.2);
    let (whole, actions) = repair(mesh, &options).unwrap();
    assert_eq!((whole.triangles.len(), actions.len()), (48, 1));
    assert_eq!(actions[0].what, What::Cavity);
    // Two cavities that share space become one.
    let cavity = turned(cube(0.5));
    let both = with(with(cube(2.0), &cavity, [0.01, 0.03, 0.07]), &cavity, [0.21, 0.12, 0.27]);
    let shared = 0.3 * 0.41 * 0.3;
    repaired(both, 2, 8.0 - (0.25 - shared), 1e-9, &[What::United]);
}

#[test]
fn what_cannot_be_repaired_is_named() {
    let mesh = Mesh { memberships: vec![vec![]], ..Mesh::default() };
    assert!(matches!(repair(mesh, &Options::default()), Err(Error::Empty { .. })));
    let mut curved = sphere(1.0, 72);
    curved.patches = Some(mesh::Patches::straight(&curved, 2));
    assert!(matches!(repair(curved, &Options::default()), Err(Error::Curved)));
    let plate = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution: Resolution::Elements(8) };
    let error = repair(plate.build().unwrap(), &Options::default()).unwrap_err();
    assert!(error.to_string().contains("the surface is open at 8 edges"), "{error}");
    let mut band = Mesh { memberships: vec![vec![]], ..Mesh::default() };
    for k in 0..7 {
        let angle = std::f64::consts::TAU * f64::from(k) / 7.0;
        band.vertices.push([angle.cos(), angle.sin(), f64::from(k % 2)]);
        push(&mut band, [k, (k + 1) % 7, (k + 2) % 7]);
    }
    let error = repair(band, &Options::default().largest_hole(0)).unwrap_err();
    assert!(error.to_string().contains("open at 7 edges"), "{error}");
    let action = Action { what: What::Hole, count: 2, place: [0.5, 1.0, 2.0] };
    assert_eq!(action.to_string(), "closed 2 holes (first at (0.5, 1, 2))");
}

/// Remaining faults are reported in these words, also those that no repair leaves.
#[test]
fn faults_say_what_is_wrong() {
    let first = |mesh: &Mesh| faults(mesh).first().map(ToString::to_string).unwrap_or_default();
    assert_eq!(
        first(&Mesh { memberships: vec![vec![]], ..Mesh::default() }),
        "no triangle is left that encloses anything"
    );
    let all =
        |mesh: &Mesh| faults(mesh).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let ball = sphere(1.0, 72);
    let [a, b, _] = ball.triangles[0];
    let mut twice = ball.clone();
    push(&mut twice, ball.triangles[0]);
    assert!(all(&twice).contains("3 edges have more than two triangles"), "{}", all(&twice));
    assert!(all(&twice).contains("1 triangle lies on another"), "{}", all(&twice));
    let mut thin = ball.clone();
    push(&mut thin, [a, a, b]);
    assert!(all(&thin).contains("triangle has no area"), "{}", all(&thin));
    let both = with(ball.clone(), &ball, [0.5, 0.1, 0.2]);
    assert!(all(&both).contains("pairs of triangles go through each other"), "{}", all(&both));
    let inward = turned(ball.clone());
    assert!(all(&inward).contains("20 triangles face into the solid"), "{}", all(&inward));
    let mut one = ball;
    one.triangles[0].swap(0, 1);
    let part = "the surface has one side only: normals flip at 3 edges";
    assert!(all(&one).contains(part), "{}", all(&one));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Any triangles: a valid surface or an error.
    #[test]
    fn any_triangles_give_a_valid_surface_or_an_error(
        grid in prop::collection::vec(prop::array::uniform3(-3i32..4), 3..14),
        indices in prop::collection::vec(prop::array::uniform3(any::<u32>()), 1..40),
    ) {
        let count = grid.len() as u32;
        let vertices = grid.iter().map(|p| p.map(f64::from)).collect();
        let triangles: Vec<_> = indices.iter().map(|t| t.map(|v| v % count)).collect();
        let membership = vec![0; triangles.len()];
        let mesh =
            Mesh { vertices, triangles, membership, memberships: vec![vec![]], ..Mesh::default() };
        if let Ok((mesh, _)) = repair(mesh, &Options::default()) {
            prop_assert_eq!(mesh.validate(), Ok(()));
            prop_assert_eq!(faults(&mesh), vec![]);
        }
    }

    /// Surfaces that are damaged here and there.
    #[test]
    fn damaged_surfaces_give_a_valid_surface_or_an_error(
        moves in prop::collection::vec((0usize..42, prop::array::uniform3(-0.6f64..0.6)), 0..4),
        gone in prop::collection::vec(0usize..80, 0..4),
        flips in prop::collection::vec(0usize..80, 0..4),
        shift in prop::array::uniform3(-1.0f64..1.0),
    ) {
        let mut mesh = with(sphere(1.0, 80), &sphere(0.7, 80), shift);
        for (v, by) in moves {
            mesh.vertices[v] = add(mesh.vertices[v], by);
        }
        flips.into_iter().for_each(|t| mesh.triangles[t].swap(0, 1));
        let mut t = 0;
        mesh.triangles.retain(|_| { t += 1; !gone.contains(&(t - 1)) });
        mesh.membership.truncate(mesh.triangles.len());
        if let Ok((mesh, _)) = repair(mesh, &Options::default()) {
            prop_assert_eq!(faults(&mesh), vec![]);
        }
    }
}
