use mesh::generate::{Resolution, Sphere, SphereBase, TwoSpheres};
use mesh::join::{joined, with_group};
use mesh::{Mesh, PhysicalGroup};

#[test]
fn a_surface_is_added_as_one_group() {
    let (base, resolution) = (SphereBase::Octahedron, Resolution::Elements(72));
    let two = TwoSpheres { radius: 1.0, distance: 3.0, base, resolution }.build().unwrap();
    let curved = Sphere { radius: 1.0, base, resolution }.build_curved(2).unwrap();
    let alone = with_group(Mesh::default(), "a", two.clone());
    alone.validate().unwrap();
    let all = with_group(alone, "b", curved.clone());
    all.validate().unwrap();
    assert_eq!((names(&all), all.order()), (vec!["a".to_owned(), "b".to_owned()], 2));
    let count = two.triangles.len();
    assert_eq!((all.groups_of(0), all.groups_of(count)), (&[0][..], &[1][..]));
    let (last, own) = (all.triangles.len() - 1, curved.triangles.len() - 1);
    assert_eq!(all.point(last, [1.0 / 3.0; 3]), curved.point(own, [1.0 / 3.0; 3]));
    assert_eq!(all.corners(0), two.corners(0));
}

fn names(mesh: &Mesh) -> Vec<String> {
    mesh.groups.iter().map(PhysicalGroup::label).collect()
}

#[test]
fn surfaces_keep_their_groups_or_become_one() {
    let (base, resolution) = (SphereBase::Octahedron, Resolution::Elements(72));
    let two = TwoSpheres { radius: 1.0, distance: 3.0, base, resolution }.build().unwrap();
    let mut bare = Sphere { radius: 1.0, base, resolution }.build().unwrap();
    (bare.groups, bare.memberships) = (vec![], vec![vec![]]);
    bare.membership.fill(0);
    let part = |name: &str, mesh: &Mesh| (name.to_owned(), mesh.clone());
    let parts = vec![part("a", &two), part("b", &two), part("c", &bare), part("c", &bare)];
    let all = joined(parts);
    all.validate().unwrap();
    assert_eq!(names(&all), ["left", "right", "b_left", "b_right", "c", "c_2"]);
    let tags: Vec<i64> = all.groups.iter().map(|group| group.tag).collect();
    assert_eq!(tags, [1, 2, 3, 4, 5, 6]);
    let count = two.triangles.len();
    for (t, (first, original)) in
        [(0, &two), (count, &two), (2 * count, &bare)].into_iter().enumerate()
    {
        for k in 0..original.triangles.len() {
            assert_eq!(all.corners(first + k), original.corners(k), "{t} {k}");
        }
    }
    assert_eq!(all.groups_of(count), [2]);
    assert_eq!(all.groups_of(all.triangles.len() - 1), [5]);
}
