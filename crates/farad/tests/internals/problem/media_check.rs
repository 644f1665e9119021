use farad::internals::media_check::find;
use mesh::Mesh;

use crate::testing;

/// Two spheres around each other, normals outward, and how many triangles the inner one has.
fn shells() -> (Mesh, usize) {
    let mesh = testing::shells();
    let inner = (0..mesh.triangles.len()).filter(|&t| mesh.groups_of(t) == [0]).count();
    (mesh, inner)
}

fn media(mesh: &Mesh, inner: [f64; 2], outer: [f64; 2]) -> Vec<[f64; 2]> {
    let of = |t: usize| if mesh.groups_of(t) == [0] { inner } else { outer };
    (0..mesh.triangles.len()).map(of).collect()
}

#[test]
fn shells_whose_media_agree_have_none() {
    let (mesh, _) = shells();
    let media = media(&mesh, [2.0, 3.0], [1.0, 2.0]);
    assert_eq!(find(&mesh, &media, |_| true, |_| false), None);
}

#[test]
fn media_on_both_sides_of_a_gap_are_the_same() {
    let (mesh, inner) = shells();
    let media = media(&mesh, [2.0, 3.0], [1.0, 4.0]);
    let found = find(&mesh, &media, |_| true, |_| false).unwrap();
    let is_inner = found.triangles.map(|t| t < inner);
    assert!(!found.meet && is_inner[0] != is_inner[1], "{found:?}");
    // Within metal there is no medium, and nothing is said where an interface counts for
    // nothing.
    let outside = |t: usize| if t < inner { [2.0, 2.0] } else { [1.0, 1.0] };
    let media: Vec<[f64; 2]> = (0..mesh.triangles.len()).map(outside).collect();
    assert!(find(&mesh, &media, |_| true, |_| true).is_none());
    assert!(find(&mesh, &media, |t| t < inner, |_| false).is_none());
}

#[test]
fn neighbours_have_the_same_media() {
    let (mesh, _) = shells();
    let mut media = media(&mesh, [2.0, 3.0], [1.0, 2.0]);
    media[5] = [2.0, 7.0];
    let found = find(&mesh, &media, |_| true, |_| false).unwrap();
    assert!(found.meet && found.triangles.contains(&5), "{found:?}");
    // Turned over, a triangle has them on the other sides.
    let mut turned = mesh.clone();
    turned.triangles[5].swap(1, 2);
    media[5] = [3.0, 2.0];
    assert_eq!(find(&turned, &media, |_| true, |_| false), None);
}
