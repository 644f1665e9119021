use mesh::generate::{Resolution, Sphere, SphereBase};
use surface::internals::connectivity::Connectivity;

/// Checks everything that is to hold, and gives the number of triangles.
fn check(c: &Connectivity) -> usize {
    let mut alive = 0;
    for h in 0..c.half_edges() {
        if !c.is_alive(h) {
            continue;
        }
        let twin = c.twin(h);
        assert!(c.is_alive(twin));
        assert_eq!(c.twin(twin), h);
        assert_eq!((c.from(h), c.to(h)), (c.to(twin), c.from(twin)));
        assert_eq!(c.is_creased(h), c.is_creased(twin));
        alive += 1;
    }
    for v in 0..c.vertices() {
        c.around(v).for_each(|h| assert_eq!(c.from(h), v));
    }
    let (triangles, kept) = c.compact();
    assert!(Connectivity::new(kept.len(), triangles.clone()).is_some());
    // A sphere stays one.
    assert_eq!(kept.len() + alive / 3, alive / 2 + 2);
    alive / 3
}

#[test]
fn random_changes_keep_a_sphere_closed() {
    let resolution = Resolution::Elements(128);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution };
    let sphere = sphere.build().unwrap();
    let mut c = Connectivity::new(sphere.vertices.len(), sphere.triangles).unwrap();
    let creased: Vec<u32> = (0..40).map(|k| 7 * k).collect();
    creased.iter().for_each(|&h| c.set_creased(h, true));
    let mut count = check(&c);
    let mut state = 5u64;
    let mut done = [0; 3];
    for _ in 0..3000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let h = ((state >> 33) % u64::from(c.half_edges())) as u32;
        if !c.is_alive(h) {
            continue;
        }
        match state >> 61 {
            0 | 1 => {
                c.split(h);
                count += 2;
                done[0] += 1;
            }
            2 | 3 if c.can_flip(h) => {
                c.flip(h);
                done[1] += 1;
            }
            4.. if c.can_collapse(h) => {
                c.collapse(h);
                count -= 2;
                done[2] += 1;
            }
            _ => {}
        }
        assert_eq!(check(&c), count);
    }
    assert!(done.iter().all(|n| *n > 50), "{done:?}");
    let sides = |c: &Connectivity| {
        let alive = (0..c.half_edges()).filter(|&h| c.is_alive(h));
        alive.map(|h| ([c.from(h), c.to(h)], c.is_creased(h))).collect::<Vec<_>>()
    };
    let before = sides(&c);
    let kept = c.renumber();
    assert_eq!(check(&c), c.triangles.len());
    let old = |v: u32| kept[v as usize];
    let after: Vec<_> = sides(&c).into_iter().map(|(side, k)| (side.map(old), k)).collect();
    assert_eq!(before, after);
}

#[test]
fn open_or_pinched_surfaces_are_refused() {
    let tetrahedron = vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
    assert!(Connectivity::new(4, tetrahedron.clone()).is_some());
    assert!(Connectivity::new(4, tetrahedron[..3].to_vec()).is_none());
    let mut turned = tetrahedron.clone();
    turned[0] = [0, 1, 2];
    assert!(Connectivity::new(4, turned).is_none());
    // Two that share a vertex.
    let other = tetrahedron.iter().map(|t| t.map(|v| if v == 0 { 0 } else { v + 3 }));
    let pinched = tetrahedron.iter().copied().chain(other).collect();
    assert!(Connectivity::new(7, pinched).is_none());
}
