use mesh::vector::{dot, sub};
use surface::internals::balls::{Ball, Neighbours, balls};
use surface::{Atom, Error};

fn atom(x: f64, radius: f64) -> Atom {
    Atom { centre: [x, 0.0, 0.0], radius }
}

#[test]
fn balls_within_others_and_copies_are_left_out() {
    let atoms = [atom(0.0, 1.0), atom(0.0, 1.0), atom(0.5, 0.5), atom(2.0, 1.0), atom(9.0, 0.0)];
    let kept = balls(&atoms, 0.0).unwrap();
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[1].centre[0], 2.0);
}

#[test]
fn atoms_that_cannot_be_are_named() {
    let bad = |atoms: &[Atom]| balls(atoms, 0.0).unwrap_err();
    assert!(matches!(
        bad(&[atom(0.0, 1.0), atom(f64::NAN, 1.0)]),
        Error::NotFinite { atom: 1, .. }
    ));
    assert!(matches!(bad(&[atom(0.0, -1.0)]), Error::NegativeRadius { atom: 0, .. }));
    assert!(matches!(bad(&[atom(0.0, f64::INFINITY)]), Error::NotFinite { .. }));
    assert_eq!(bad(&[atom(0.0, 0.0)]), Error::NoAtoms { atoms: 1 });
    assert_eq!(bad(&[]), Error::NoAtoms { atoms: 0 });
}

#[test]
fn neighbours_of_balls_of_any_size() {
    let set: Vec<Ball> = (0..60)
        .map(|k| {
            let t = k as f64;
            let radius = if k % 17 == 0 { 6.0 } else { 0.4 + 0.1 * (t * 1.7).sin() };
            Ball { centre: [5.0 * t.sin(), 5.0 * (2.3 * t).cos(), 0.1 * t], radius }
        })
        .collect();
    let near = Neighbours::new(&set);
    let mut found = Vec::new();
    for i in 0..set.len() {
        near.of(i, &mut found);
        found.sort_unstable();
        let all: Vec<u32> = (0..set.len())
            .filter(|&j| {
                let gap = sub(set[i].centre, set[j].centre);
                j != i && dot(gap, gap) <= (set[i].radius + set[j].radius).powi(2)
            })
            .map(|j| j as u32)
            .collect();
        assert_eq!(found, all);
    }
}
