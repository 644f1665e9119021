//! Which atoms of PQR files lie in which, as spheres.

use std::collections::HashMap;

use mesh::vector::{dot, sub};

use crate::pqr::Atom;

/// Atoms of radius 0 that lie in no other one, by their indices: the surface of the others need not
/// enclose them. Hydrogens of radius 0 lie in the atoms that they are bound to.
pub fn uncovered(atoms: &[Atom]) -> Vec<usize> {
    let spheres = Spheres::new(atoms);
    let is_alone =
        |(_, atom): &(usize, &Atom)| atom.radius == 0.0 && spheres.around(atom.position).is_none();
    atoms.iter().enumerate().filter(is_alone).map(|(index, _)| index).collect()
}

/// The first atom of `b` whose centre lies in one of `a`, or the other way round: index in `a`, and
/// in `b`. Molecules of which that is so cannot have surfaces of their own.
pub fn overlap(a: &[Atom], b: &[Atom]) -> Option<(usize, usize)> {
    let first = |of: &[Atom], among: &Spheres<'_>| {
        of.iter().enumerate().find_map(|(k, atom)| Some((among.around(atom.position)?, k)))
    };
    first(b, &Spheres::new(a)).or_else(|| first(a, &Spheres::new(b)).map(|(b, a)| (a, b)))
}

/// Atoms in cubes of their largest diameter.
struct Spheres<'a> {
    atoms: &'a [Atom],
    side: f64,
    cubes: HashMap<[i64; 3], Vec<usize>>,
}

impl<'a> Spheres<'a> {
    fn new(atoms: &'a [Atom]) -> Self {
        let side = 2.0 * atoms.iter().map(|atom| atom.radius).fold(f64::MIN_POSITIVE, f64::max);
        let mut found = Self { atoms, side, cubes: HashMap::new() };
        for (index, atom) in atoms.iter().enumerate().filter(|(_, atom)| atom.radius > 0.0) {
            found.cubes.entry(found.cube(atom.position)).or_default().push(index);
        }
        found
    }

    fn cube(&self, position: [f64; 3]) -> [i64; 3] {
        position.map(|x| (x / self.side).floor() as i64)
    }

    /// An atom that a place lies in.
    fn around(&self, place: [f64; 3]) -> Option<usize> {
        let [i, j, k] = self.cube(place);
        let near = (-1..=1).flat_map(|a| (-1..=1).map(move |b| (a, b)));
        let near = near.flat_map(|(a, b)| (-1..=1).map(move |c| [i + a, j + b, k + c]));
        let members = near.filter_map(|cube| self.cubes.get(&cube)).flatten();
        members.copied().find(|&index| {
            let Atom { position, radius, .. } = &self.atoms[index];
            let away = sub(*position, place);
            dot(away, away) < radius * radius
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atoms(all: &[([f64; 3], f64)]) -> Vec<Atom> {
        let text: String = all
            .iter()
            .enumerate()
            .map(|(k, ([x, y, z], r))| format!("ATOM {k} A{k} RES 1 {x} {y} {z} 1.0 {r}\n"))
            .collect();
        crate::pqr::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn atoms_without_radius_belong_into_others() {
        // One radius of ten keeps all in few cubes; the other cubes are as far as possible.
        let all = atoms(&[
            ([0.0; 3], 1.0),
            ([0.99, 0.0, 0.0], 0.0),
            ([-0.99, 0.0, 0.0], 0.0),
            ([0.0, 1.01, 0.0], 0.0),
            ([40.0, 0.0, 0.0], 10.0),
            ([31.0, 0.0, 0.0], 0.0),
            ([29.0, 0.0, 0.0], 0.0),
        ]);
        assert_eq!(uncovered(&all), [3, 6]);
    }

    #[test]
    fn molecules_overlap_where_a_centre_lies_in_the_other() {
        let a = atoms(&[([0.0; 3], 1.0), ([5.0, 0.0, 0.0], 1.5)]);
        assert_eq!(overlap(&a, &atoms(&[([10.0, 0.0, 0.0], 4.0)])), None);
        assert_eq!(
            overlap(&a, &atoms(&[([20.0, 0.0, 0.0], 1.0), ([6.2, 0.0, 0.0], 0.5)])),
            Some((1, 1))
        );
        assert_eq!(overlap(&a, &atoms(&[([7.0, 0.0, 0.0], 2.5)])), Some((1, 0)));
    }
}
