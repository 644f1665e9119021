use mesh::Mesh;
use mesh::cells::bounded;
use mesh::generate::{ConcentricSpheres, Cube, Resolution, Sphere, SphereBase, TwoSpheres};
use mesh::internals::orient::turn;
use mesh::join::joined;
use mesh::patch::MAX_ORDER;
use mesh::regions::{Error, Region, around, enclosed, on_both_sides, parts};
use mesh::vector::{add, cross, dot, norm, scale, sub};

fn all(mesh: &Mesh) -> Vec<u32> {
    (0..mesh.triangles.len() as u32).collect()
}

fn concentric() -> Mesh {
    let resolution = Resolution::Elements(144);
    let base = SphereBase::Octahedron;
    ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution }.build().unwrap()
}

fn group(mesh: &Mesh, index: u32) -> Vec<u32> {
    all(mesh).into_iter().filter(|&t| mesh.groups_of(t as usize) == [index]).collect()
}

#[test]
fn orientation_follows_from_what_is_enclosed() {
    let mut mesh = concentric();
    // Turn every other triangle: the stored orientation is ignored.
    mesh.triangles.iter_mut().step_by(2).for_each(|t| t.swap(1, 2));
    let shell = Region::new(&mesh, &all(&mesh)).unwrap();
    for x in [[0.1, 0.2, 0.0], [1.5, 0.1, 0.2], [3.0, 0.0, 0.1]] {
        assert_eq!(shell.contains(x), x[0] == 1.5, "{x:?}");
    }
    let inner = Region::new(&mesh, &group(&mesh, 0)).unwrap();
    let outer = Region::new(&mesh, &group(&mesh, 1)).unwrap();
    assert!((shell.volume - (outer.volume - inner.volume)).abs() < 1e-12);
    for &(triangle, inward) in &inner.boundary {
        assert_eq!(inward, triangle % 2 == 0);
    }
}

#[test]
fn nested_regions_need_no_order() {
    let mesh = concentric();
    let (inner, outer) = (group(&mesh, 0), group(&mesh, 1));
    // Normals point away from the centre; the core is region `core`, what lies around it region
    // `coat`.
    for (boundaries, core, coat) in
        [([inner.clone(), outer.clone()], 0, 1), ([outer.clone(), inner.clone()], 1, 0)]
    {
        let regions = enclosed(&mesh, &boundaries).unwrap();
        let sides = on_both_sides(&mesh, &regions);
        assert!(inner.iter().all(|&t| sides[t as usize] == [Some(coat), Some(core)]));
        assert!(outer.iter().all(|&t| sides[t as usize] == [None, Some(coat)]));
        assert_eq!(around(&regions, [0.1, 0.0, 0.2]), Some(core));
        assert_eq!(around(&regions, [0.1, 1.5, 0.2]), Some(coat));
        assert_eq!(around(&regions, [0.1, 2.5, 0.2]), None);
    }
    // A region next to another, and a surface that bounds none.
    let regions = enclosed(&mesh, std::slice::from_ref(&outer)).unwrap();
    let sides = on_both_sides(&mesh, &regions);
    assert!(inner.iter().all(|&t| sides[t as usize] == [Some(0), Some(0)]));
}

/// Two boxes side by side that share a wall, as a mesher has them.
#[test]
fn bodies_that_share_a_wall_have_it_between_them() {
    let resolution = Resolution::Elements(48);
    let mut mesh = Cube { edge: 2.0, grade: 1.0, resolution }.build().unwrap();
    // The wall is where x is largest; the other box is its mirror image there.
    let wall = mesh.vertices.iter().map(|v| v[0]).fold(f64::MIN, f64::max);
    let count = mesh.vertices.len() as u32;
    let mirror: Vec<u32> = (0..count)
        .map(|v| {
            let [x, y, z] = mesh.vertices[v as usize];
            if x == wall {
                return v;
            }
            mesh.vertices.push([2.0 * wall - x, y, z]);
            mesh.vertices.len() as u32 - 1
        })
        .collect();
    let first = all(&mesh);
    let mut second = Vec::new();
    for &t in &first {
        let corners = mesh.triangles[t as usize].map(|v| mirror[v as usize]);
        if corners == mesh.triangles[t as usize] {
            second.push(t);
            continue;
        }
        second.push(mesh.triangles.len() as u32);
        mesh.triangles.push(corners);
        mesh.membership.push(0);
    }
    let shared: Vec<u32> = first.iter().copied().filter(|t| second.contains(t)).collect();
    assert_eq!(shared.len(), first.len() / 6);
    let regions = enclosed(&mesh, &[first.clone(), second.clone()]).unwrap();
    assert!((regions[0].volume - regions[1].volume).abs() < 1e-12);
    let sides = on_both_sides(&mesh, &regions);
    for t in all(&mesh) {
        let expected = match (first.contains(&t), second.contains(&t)) {
            (true, true) => [Some(1), Some(0)],
            (true, false) => [None, Some(0)],
            // Mirrored: normals point inward.
            _ => [Some(1), None],
        };
        assert_eq!(sides[t as usize], expected);
    }
    // Together they meet along edges, and enclose nothing as one part.
    let found = parts(&mesh, &all(&mesh), &[]);
    assert!(found.len() == 1 && found[0].1.is_none());
}

/// A box of which each face is meshed by itself, three of them finer, all turned at random.
#[test]
fn pieces_without_common_edges_bound_a_region() {
    let faces = |elements: usize| {
        let resolution = Resolution::Elements(elements);
        Cube { edge: 2.0, grade: 1.0, resolution }.build().unwrap()
    };
    let (coarse, fine) = (faces(48), faces(108));
    let mut mesh = Mesh::default();
    for (source, upper) in [(&coarse, false), (&fine, true)] {
        for t in 0..source.triangles.len() {
            let corners = source.corners(t);
            let lies = |k: usize| corners.iter().all(|v| v[k] > 0.999);
            if (0..3).any(lies) == upper {
                let first = mesh.vertices.len() as u32;
                mesh.vertices.extend(corners);
                let turned = [[first, first + 1, first + 2], [first, first + 2, first + 1]];
                mesh.triangles.push(turned[t % 2]);
            }
        }
    }
    mesh.membership = vec![0; mesh.triangles.len()];
    mesh.memberships = vec![vec![]];
    assert!(parts(&mesh, &all(&mesh), &[]).iter().all(|(_, region)| region.is_none()));
    let region = Region::of_pieces(&mesh, &all(&mesh)).unwrap();
    assert!((region.volume - 8.0).abs() < 1e-12, "{}", region.volume);
    let outward = |&(t, inward): &(u32, bool)| {
        let [a, b, c] = mesh.corners(t as usize);
        (dot(a, cross(sub(b, a), sub(c, a))) > 0.0) != inward
    };
    assert!(region.boundary.iter().all(outward));
    assert!(region.contains([0.9, 0.8, -0.7]) && !region.contains([1.1, 0.0, 0.0]));
    // Without its lid it is no body.
    let open: Vec<u32> = all(&mesh)
        .into_iter()
        .filter(|&t| mesh.corners(t as usize).iter().any(|v| v[2] < 0.999))
        .collect();
    assert!(open.len() < mesh.triangles.len());
    assert!(Region::of_pieces(&mesh, &open).is_none());
    // Nor without a fiftieth of its surface, wherever that is.
    for gone in (0..24).map(|t| 3 * t % 24) {
        let open: Vec<u32> = all(&mesh).into_iter().filter(|&t| t != gone).collect();
        assert!(Region::of_pieces(&mesh, &open).is_none(), "{gone}");
    }
}

/// Whatever the unit of length.
#[test]
fn bodies_that_face_as_given_are_turned_only_where_they_enclose_less_than_nothing() {
    let resolution = Resolution::Elements(12);
    for edge in [1e-3, 1.0, 1e3] {
        let mesh = Cube { edge, grade: 1.0, resolution }.build().unwrap();
        for inward in [false, true] {
            let facings: Vec<(u32, bool)> = all(&mesh).into_iter().map(|t| (t, inward)).collect();
            let region = Region::faced(&mesh, &facings);
            assert!((region.volume / edge.powi(3) - 1.0).abs() < 1e-12);
            assert!(region.boundary.iter().all(|(_, inward)| !inward), "{edge} {inward}");
        }
    }
}

/// A coat thinner than what its triangles and those of the core are off from flat ones, each of
/// another mesh: flat triangles go through each other.
#[test]
fn thin_coats_of_curved_triangles_are_around_their_cores() {
    for order in 2..=MAX_ORDER {
        let sphere = |radius: f64, base, elements| {
            let resolution = Resolution::Elements(elements);
            Sphere { radius, base, resolution }.build_curved(order).unwrap()
        };
        let core = sphere(1.0, SphereBase::Icosahedron, 80);
        let coat = sphere(1.02, SphereBase::Octahedron, 32);
        let count = core.triangles.len() as u32;
        let mut mesh = joined(vec![("core".into(), core), ("coat".into(), coat)]);
        let every_third: Vec<bool> = (0..mesh.triangles.len()).map(|t| t % 3 == 0).collect();
        turn(&mut mesh, &every_third);
        let boundaries: [Vec<u32>; 2] =
            [(0..count).collect(), (count..mesh.triangles.len() as u32).collect()];
        let regions = enclosed(&mesh, &boundaries).unwrap();
        let ball = |r: f64| 4.0 / 3.0 * std::f64::consts::PI * r * r * r;
        assert!((regions[0].volume / ball(1.0) - 1.0).abs() < 0.01);
        assert!((regions[1].volume / ball(1.02) - 1.0).abs() < 0.02);
        let sides = on_both_sides(&mesh, &regions);
        for t in all(&mesh) {
            let (within, around) = if t < count { (0, Some(1)) } else { (1, None) };
            let mut expected = [around, Some(within)];
            if t % 3 == 0 {
                expected.reverse();
            }
            assert_eq!(sides[t as usize], expected, "{order}: {t}");
        }
        // Below and above the flat triangles of the core.
        let facet = mesh.corners(7);
        let middle = facet.iter().fold([0.0; 3], |sum, x| add(sum, *x));
        let toward = scale(1.0 / norm(middle), middle);
        for (radius, expected) in [(0.9, Some(0)), (0.985, Some(0)), (1.1, None)] {
            assert_eq!(around(&regions, scale(radius, toward)), expected, "{order}: {radius}");
        }
        assert!((regions[0].distance(scale(0.5, toward)) - 0.5).abs() < 0.01);
        // With given facings, as pieces, and as cells, it is the same space.
        let turned: Vec<(u32, bool)> = boundaries[0].iter().map(|&t| (t, t % 3 == 0)).collect();
        let cells = bounded(&mesh, |t| (t as u32) < count);
        assert_eq!(cells.len(), 1);
        let pieces = Region::of_pieces(&mesh, &boundaries[0]).unwrap();
        for region in [Region::faced(&mesh, &turned), pieces, cells[0].clone()] {
            assert!((region.volume - regions[0].volume).abs() < 1e-12);
            assert!(region.contains(scale(0.985, toward)));
            let mut boundary = region.boundary.clone();
            boundary.sort_unstable();
            assert_eq!(boundary, regions[0].boundary);
        }
    }
}

#[test]
fn what_bounds_nothing_is_reported() {
    let mesh = concentric();
    let inner = group(&mesh, 0);
    let found = Region::new(&mesh, &inner[1..]).unwrap_err();
    assert!(matches!(found, Error::Open { edges: 3, .. }), "{found}");
    assert_eq!(Region::new(&mesh, &[]).unwrap_err(), Error::Empty);
    let others: Vec<u32> = all(&mesh).into_iter().filter(|&t| t != inner[0]).collect();
    let found = parts(&mesh, &others, &[]);
    assert_eq!(found.iter().map(|(_, region)| region.is_some()).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn parts_are_bodies_of_their_own() {
    let (resolution, base) = (Resolution::Elements(144), SphereBase::Octahedron);
    let apart = TwoSpheres { radius: 1.0, distance: 2.5, base, resolution }.build().unwrap();
    for mesh in [apart, concentric()] {
        let found = parts(&mesh, &all(&mesh), &[]);
        assert_eq!(found.len(), 2);
        for (index, (triangles, region)) in found.into_iter().enumerate() {
            assert_eq!(triangles, group(&mesh, index as u32));
            let region = region.unwrap();
            assert!(region.volume > 0.0);
            assert!(region.boundary.iter().all(|(_, inward)| !inward));
        }
    }
}
