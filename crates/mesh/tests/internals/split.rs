use mesh::creases::Creases;
use mesh::generate::{Cube, Plate, Resolution};
use mesh::internals::refine::numbered;
use mesh::quality::areas;
use mesh::refine::Error;
use mesh::split::{Split, edges};
use mesh::topology::Topology;
use mesh::vector::{Vector, add, cross, dot, norm, scale, sub};
use mesh::{Mesh, PhysicalGroup, creases};
use std::collections::{BTreeMap, BTreeSet};

/// A linear congruential generator (Knuth's MMIX).
struct Numbers(u64);

impl Numbers {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        let Self(state) = self;
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn pair(p: u32, q: u32) -> (u32, u32) {
    (p.min(q), p.max(q))
}

fn sides([a, b, c]: [u32; 3]) -> [(u32, u32); 3] {
    [pair(a, b), pair(b, c), pair(c, a)]
}

/// Each edge with its number of triangles.
fn counts(mesh: &Mesh) -> BTreeMap<(u32, u32), usize> {
    let mut counts = BTreeMap::new();
    for edge in mesh.triangles.iter().flat_map(|&t| sides(t)) {
        *counts.entry(edge).or_insert(0) += 1;
    }
    counts
}

fn some_edges(mesh: &Mesh, share: f64, numbers: &mut Numbers) -> Vec<(u32, u32)> {
    counts(mesh).into_keys().filter(|_| numbers.next() < share).collect()
}

fn found(mesh: &Mesh) -> Creases {
    creases::find(mesh, |_| Some(0), 40.0)
}

/// 12 triangles, each face a group of its own, and three pairs of faces another each.
fn cube() -> Mesh {
    let resolution = Resolution::Elements(12);
    let mut mesh = Cube { edge: 2.0, grade: 1.0, resolution }.build().unwrap();
    mesh.groups = (1..10).map(|tag| PhysicalGroup { tag, name: None }).collect();
    mesh.memberships = vec![vec![]];
    mesh.memberships.extend((0..6).map(|face| vec![face, 6 + face / 2]));
    mesh.membership = (0..12).map(|t| 1 + t / 2).collect();
    mesh.validate().unwrap();
    mesh
}

/// A mesh of these vertices, in no group.
fn mesh_of(vertices: Vec<Vector>, triangles: Vec<[u32; 3]>) -> Mesh {
    let membership = vec![0; triangles.len()];
    let mesh =
        Mesh { vertices, triangles, membership, memberships: vec![vec![]], ..Mesh::default() };
    mesh.validate().unwrap();
    mesh
}

fn area_vector(mesh: &Mesh, t: usize) -> Vector {
    let [a, b, c] = mesh.corners(t);
    scale(0.5, cross(sub(b, a), sub(c, a)))
}

/// What holds for every splitting: children make up their parents, in place, orientation and
/// groups, and their number is that of the marked sides.
fn check(before: &Mesh, marked: &[(u32, u32)], split: &Split) {
    let Split { mesh: after, parent, within } = split;
    after.validate().unwrap();
    assert_eq!(after.vertices[..before.vertices.len()], before.vertices);
    assert_eq!((&after.groups, &after.memberships), (&before.groups, &before.memberships));
    assert!(parent.is_sorted() && parent.len() == after.triangles.len());
    let marked: BTreeSet<(u32, u32)> = marked.iter().map(|&(p, q)| pair(p, q)).collect();
    let edges = counts(before);
    let used = marked.iter().filter(|edge| edges.contains_key(edge)).count();
    assert_eq!(after.vertices.len(), before.vertices.len() + used);
    let mut children = vec![Vec::new(); before.triangles.len()];
    (0..).zip(parent).for_each(|(child, &t)| children[t as usize].push(child));
    for (t, children) in children.iter().enumerate() {
        let whole = area_vector(before, t);
        let cuts = sides(before.triangles[t]).iter().filter(|s| marked.contains(s)).count();
        assert_eq!(children.len(), 1 + cuts);
        if cuts == 0 {
            assert_eq!(after.triangles[children[0]], before.triangles[t]);
        }
        let mut sum = [0.0; 3];
        for &child in children {
            assert_eq!(after.groups_of(child), before.groups_of(t));
            let part = area_vector(after, child);
            for (at, place) in within[child].iter().zip(after.corners(child)) {
                let corners = before.corners(t).into_iter().zip(at);
                let meant = corners.fold([0.0; 3], |sum, (x, &w)| add(sum, scale(w, x)));
                assert!(norm(sub(meant, place)) < 1e-14 * (1.0 + norm(place)));
            }
            assert!(dot(part, whole) > 0.0);
            // A part of it, in its plane.
            assert!(norm(cross(part, whole)) < 1e-9 * dot(part, whole));
            sum = add(sum, part);
        }
        // New vertices of coordinates up to 1 or so are rounded, which matters where triangles
        // are narrow.
        let [a, b, c] = before.corners(t);
        let around = norm(sub(a, b)) + norm(sub(b, c)) + norm(sub(c, a));
        assert!(norm(sub(sum, whole)) < 1e-13 * norm(whole) + 4.0 * f64::EPSILON * around);
    }
}

/// A cube whose edges are marked at random: closed at every step. A hanging node would be an
/// edge of one triangle.
#[test]
fn a_cube_stays_closed_however_its_edges_are_marked() {
    for (seed, share) in [(1, 0.1), (2, 0.3), (3, 0.6), (4, 0.9), (5, 1.0)] {
        let mut numbers = Numbers(seed);
        let mut mesh = cube();
        while mesh.triangles.len() < 4000 {
            let marked = some_edges(&mesh, share, &mut numbers);
            let split = edges(&mesh, &found(&mesh), &marked, |_| 0.3).unwrap();
            check(&mesh, &marked, &split);
            mesh = split.mesh;
            let topology = Topology::of(&mesh);
            let whole = &topology.whole;
            assert!(whole.closed && whole.flipped_edges == 0 && topology.components.len() == 1);
            assert!(counts(&mesh).values().all(|&count| count == 2));
            // Euler: V - E + F = 2, with 3 F = 2 E.
            assert_eq!(2 * mesh.vertices.len(), mesh.triangles.len() + 4);
            assert!((whole.signed_volume - 8.0).abs() < 1e-12);
            assert!((areas(&mesh).iter().sum::<f64>() - 24.0).abs() < 1e-11);
            for group in 0..6 {
                let own = areas(&mesh).into_iter().enumerate();
                let own = own.filter(|(t, _)| mesh.groups_of(*t)[0] == group);
                assert!((own.map(|(_, area)| area).sum::<f64>() - 4.0).abs() < 1e-12);
            }
            // All vertices are on faces exactly, and creases are still the cube's edges.
            let creases = found(&mesh);
            let corners = |v: u32| mesh.vertices[v as usize].map(|x| x.abs() == 1.0);
            for v in 0..mesh.vertices.len() as u32 {
                let faces = corners(v).iter().filter(|on| **on).count();
                assert!(faces > 0 && creases.is_on(v) == (faces > 1));
            }
        }
    }
}

/// Three sheets at one line: the lengths of edges with one, two and three triangles.
#[test]
fn edges_keep_their_number_of_triangles() {
    let mut vertices = vec![[0.0; 3], [0.0, 0.0, 1.0]];
    let mut triangles = Vec::new();
    for (k, [x, y]) in [[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.7]].into_iter().enumerate() {
        vertices.extend([[x, y, 0.0], [x, y, 1.0]]);
        let (low, high) = (2 + 2 * k as u32, 3 + 2 * k as u32);
        triangles.extend([[0, low, high], [0, high, 1]]);
    }
    let mut mesh = mesh_of(vertices, triangles);
    let length = |mesh: &Mesh, triangles: usize| {
        let edges = counts(mesh).into_iter().filter(|(_, count)| *count == triangles);
        let ends = edges.map(|((p, q), _)| [p, q].map(|v| mesh.vertices[v as usize]));
        ends.map(|[a, b]| norm(sub(a, b))).sum::<f64>()
    };
    let rim = length(&mesh, 1);
    let mut numbers = Numbers(7);
    for _ in 0..6 {
        let marked = some_edges(&mesh, 0.5, &mut numbers);
        let split = edges(&mesh, &found(&mesh), &marked, |_| 0.25).unwrap();
        check(&mesh, &marked, &split);
        mesh = split.mesh;
        assert!((length(&mesh, 1) - rim).abs() < 1e-12);
        assert!((length(&mesh, 3) - 1.0).abs() < 1e-12);
        assert!(counts(&mesh).values().all(|&count| count <= 3));
        // Creases are the same lines: rims, and that of all three sheets.
        let sharp = counts(&mesh).into_iter().filter(|(_, count)| *count != 2);
        assert_eq!(found(&mesh).edges(), sharp.map(|(edge, _)| edge).collect::<Vec<_>>());
    }
    assert!(mesh.triangles.len() > 300, "{}", mesh.triangles.len());
}

#[test]
fn vertices_lie_in_the_middle_or_toward_the_crease() {
    let plate = |elements| {
        let resolution = Resolution::Elements(elements);
        Plate { width: 6.0, height: 6.0, grade: 1.0, resolution }.build().unwrap()
    };
    // Sharp edges, those from a crease inward, those without creases, and those from crease to
    // crease. Of 6 x 6 squares the 20 outer ones have a diagonal each from the rim inward, and
    // the 20 vertices of the rim that are no corners a side; of one the diagonal is between
    // corners.
    for (elements, expected) in [(72, [24, 40, 56, 0]), (2, [4, 0, 0, 1])] {
        let plate = plate(elements);
        let creases = found(&plate);
        let all: Vec<(u32, u32)> = counts(&plate).into_keys().collect();
        for grading in [0.3, 0.1, 0.5] {
            let split = edges(&plate, &creases, &all, |_| grading).unwrap();
            check(&plate, &all, &split);
            let mut kinds = [0; 4];
            for (&(p, q), new) in all.iter().zip(&split.mesh.vertices[plate.vertices.len()..]) {
                let [a, b] = [p, q].map(|v| plate.vertices[v as usize]);
                let fraction = norm(sub(*new, a)) / norm(sub(b, a));
                let on = (creases.is_on(p), creases.is_on(q), creases.is_sharp(p, q));
                let (kind, expected) = match on {
                    (_, _, true) => (0, 0.5),
                    (true, false, _) => (1, grading),
                    (false, true, _) => (1, 1.0 - grading),
                    (false, false, _) => (2, 0.5),
                    (true, true, false) => (3, 0.5),
                };
                kinds[kind] += 1;
                assert!((fraction - expected).abs() < 1e-12);
            }
            assert_eq!(kinds, expected);
        }
    }
    let plate = plate(72);
    let all: Vec<(u32, u32)> = counts(&plate).into_keys().collect();
    // Without creases all are midpoints.
    let split = edges(&plate, &Creases::default(), &all, |_| 0.1).unwrap();
    let uniform = mesh::refine::uniform(&plate, |_, point| point).unwrap();
    let bits = |mesh: &Mesh| -> BTreeSet<[u64; 3]> {
        mesh.vertices.iter().map(|v| v.map(f64::to_bits)).collect()
    };
    assert_eq!(bits(&split.mesh), bits(&uniform));
}

/// An open tube of 16 facets, which meet at less than 40 degrees, with rims at z = 0 and z = 2.
#[test]
fn repeated_splitting_makes_layers_that_shrink_by_the_grading() {
    let sides = 16;
    let ring = |z: f64| {
        (0..sides).map(move |k| {
            let (y, x) = (std::f64::consts::TAU * f64::from(k) / f64::from(sides)).sin_cos();
            [x, y, z]
        })
    };
    let vertices = ring(0.0).chain(ring(1.0)).chain(ring(2.0)).collect();
    let mut triangles = Vec::new();
    for level in [0, sides as u32] {
        for k in 0..sides as u32 {
            let (k, next) = (level + k, level + (k + 1) % sides as u32);
            let above = sides as u32;
            triangles.extend([[k, next, next + above], [k, next + above, k + above]]);
        }
    }
    let mut mesh = mesh_of(vertices, triangles);
    let area = areas(&mesh).iter().sum::<f64>();
    let grading = 0.3;
    let mut heights = BTreeSet::from([0, 1_000_000_000_000u64]);
    for round in 1..=5 {
        let creases = found(&mesh);
        let across = |&(p, q): &(u32, u32)| creases.is_on(p) != creases.is_on(q);
        let marked: Vec<(u32, u32)> = counts(&mesh).into_keys().filter(across).collect();
        let split = edges(&mesh, &creases, &marked, |_| grading).unwrap();
        check(&mesh, &marked, &split);
        // At each rim, an edge up and a diagonal for each side, and one more diagonal for each
        // trapezoid that was cut. Each is between two triangles.
        assert_eq!(marked.len() as i32, 2 * (1 + round) * sides);
        assert_eq!(split.mesh.triangles.len(), mesh.triangles.len() + 2 * marked.len());
        mesh = split.mesh;
        heights.insert((grading.powi(round) * 1e12).round() as u64);
        for rim in [0.0, 2.0] {
            let own = mesh.vertices.iter().map(|v| (v[2] - rim).abs());
            let own = own.filter(|height| *height <= 1.0);
            let found: BTreeSet<u64> = own.map(|h| (h * 1e12).round() as u64).collect();
            assert_eq!(found, heights, "{round}");
        }
        // No triangle reaches over two layers.
        let mut levels: Vec<u64> = heights.iter().copied().collect();
        levels.extend(heights.iter().map(|height| 2_000_000_000_000 - height));
        levels.sort_unstable();
        levels.dedup();
        for t in 0..mesh.triangles.len() {
            let level = |v: Vector| levels.binary_search(&((v[2] * 1e12).round() as u64));
            let level = mesh.corners(t).map(|v| level(v).unwrap());
            let (least, most) = (level.iter().min().unwrap(), level.iter().max().unwrap());
            assert!(most - least == 1, "{level:?}");
        }
    }
    assert!((areas(&mesh).iter().sum::<f64>() - area).abs() < 1e-12 * area);
}

#[test]
fn trapezoids_are_cut_along_their_shorter_diagonal() {
    // Sides of vertex 0, 1 or 2 are marked; b and c are the others, in this order around.
    let cut = |vertices: Vec<Vector>, apex: u32| {
        let mesh = mesh_of(vertices, vec![[0, 1, 2]]);
        let marked = [((apex + 1) % 3, apex), (apex, (apex + 2) % 3)];
        let split = edges(&mesh, &Creases::default(), &marked, |_| 0.3).unwrap();
        check(&mesh, &marked, &split);
        counts(&split.mesh)
    };
    // New vertices: 3 on the lower side by sorted edge, 4 on the other.
    let long_to_2 = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 3.0, 0.0]];
    // From 1 to the middle of 0-2, or from 2 to the middle of 0-1.
    assert!(cut(long_to_2.clone(), 0).contains_key(&(1, 4)));
    let long_to_1 = vec![[0.0; 3], [3.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    assert!(cut(long_to_1, 0).contains_key(&(2, 3)));
    // Edges (0, 1) and (1, 2): from 0 to 4, or from 2 to 3.
    assert!(cut(long_to_2.clone(), 1).contains_key(&(0, 4)));
    // Edges (0, 2) and (1, 2): from 0 to 4, or from 1 to 3.
    let apart = vec![[0.0; 3], [1.0, 0.0, 0.0], [2.0, 2.0, 0.0]];
    assert!(cut(apart, 2).contains_key(&(1, 3)));
    // Equal ones, give or take roundings: always the lower vertex.
    for noise in [-1e-13, -1e-16, 0.0, 1e-16, 1e-13] {
        let isosceles = vec![[0.0; 3], [1.0, 0.5 + noise, 0.0], [1.0, -0.5, noise]];
        assert!(cut(isosceles, 0).contains_key(&(1, 4)), "{noise}");
    }
}

#[test]
fn orders_make_no_difference() {
    let mut numbers = Numbers(11);
    let mut mesh = cube();
    for _ in 0..4 {
        let marked = some_edges(&mesh, 0.5, &mut numbers);
        mesh = edges(&mesh, &found(&mesh), &marked, |_| 0.3).unwrap().mesh;
    }
    let creases = found(&mesh);
    let marked = some_edges(&mesh, 0.4, &mut numbers);
    let expected = edges(&mesh, &creases, &marked, |_| 0.3).unwrap();
    // Backward, twice, and with pairs that are no edges.
    let mut other: Vec<(u32, u32)> = marked.iter().rev().map(|&(p, q)| (q, p)).collect();
    other.extend(&marked);
    let edges_there = counts(&mesh);
    let absent = (1..mesh.vertices.len() as u32).map(|v| (0, v));
    other.extend(absent.filter(|edge| !edges_there.contains_key(edge)));
    other.extend([(3, 3), (0, u32::MAX), (u32::MAX, u32::MAX)]);
    assert_eq!(edges(&mesh, &creases, &other, |_| 0.3).unwrap(), expected);
    // Triangles in another order, from another corner: the same vertices, and the same parts.
    let set = |mesh: &Mesh| -> BTreeSet<[u32; 3]> {
        let turned = |&[a, b, c]: &[u32; 3]| [[a, b, c], [b, c, a], [c, a, b]];
        mesh.triangles.iter().filter_map(|t| turned(t).into_iter().min()).collect()
    };
    let mut turned = mesh.clone();
    turned.triangles.reverse();
    turned.membership.reverse();
    turned.triangles.iter_mut().for_each(|t| t.rotate_left(1));
    let found = edges(&turned, &creases, &marked, |_| 0.3).unwrap().mesh;
    assert_eq!(found.vertices, expected.mesh.vertices);
    assert_eq!(set(&found), set(&expected.mesh));
    // Nothing to do.
    let none = edges(&mesh, &creases, &[], |_| 0.3).unwrap();
    assert_eq!(none.mesh, mesh);
    assert!((0..).zip(&none.parent).all(|(t, &parent)| t == parent));
    let empty = edges(&Mesh::default(), &Creases::default(), &[(0, 1)], |_| 0.3).unwrap();
    assert_eq!(empty.mesh, Mesh::default());
}

/// A part and its copy, with vertices of its own in the opposite order: every new vertex is
/// there twice, bit by bit.
#[test]
fn parts_without_shared_vertices_get_the_same_points() {
    let single = cube();
    let shift = [0.1, 1.0 / 3.0, 7.7];
    let place: Vec<Vector> = single.vertices.iter().map(|&v| add(v, shift)).collect();
    let count = single.vertices.len() as u32;
    let vertices = place.iter().chain(place.iter().rev()).copied().collect();
    let copy = single.triangles.iter().map(|t| t.map(|v| 2 * count - 1 - v));
    let mesh = mesh_of(vertices, single.triangles.iter().copied().chain(copy).collect());
    let all = |mesh: &Mesh| counts(mesh).into_keys().collect::<Vec<_>>();
    let twice = |mesh: &Mesh| {
        let mut places = BTreeMap::new();
        mesh.vertices.iter().for_each(|v| *places.entry(v.map(f64::to_bits)).or_insert(0) += 1);
        places.values().all(|&count| count == 2)
    };
    let once = edges(&mesh, &found(&mesh), &all(&mesh), |_| 0.3).unwrap().mesh;
    assert!(twice(&once));
    // Now there are edges from the creases into the faces.
    let again = edges(&once, &found(&once), &all(&once), |_| 0.3).unwrap().mesh;
    // None has left its face by rounding.
    let faces = |i: usize| [-1.0, 1.0].map(|x| x + shift[i]);
    assert!(again.vertices.iter().all(|v| (0..3).any(|i| faces(i).contains(&v[i]))));
    assert!(twice(&again) && again.vertices.len() == 2 * (2 + 12 * 16 / 2));
}

#[test]
fn more_triangles_than_indices_are_an_error() {
    let most = u64::from(u32::MAX) / 3;
    assert_eq!(numbered(most - 1), Ok(most as usize - 1));
    assert_eq!(numbered(most), Err(Error::TooMany(most)));
}
