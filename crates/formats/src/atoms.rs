//! Atoms of PQR files: what messages call them, and which lie in which, as spheres.

use std::collections::HashMap;

use mesh::vector::{dot, sub};

use crate::pqr::Atom;

/// Atoms that are named one by one.
const NAMED: usize = 10;

/// Atoms with their lines: "H1 of MOL 1 on line 3, ...", of many the first ones.
pub fn named<'a>(mut atoms: impl Iterator<Item = &'a Atom>) -> String {
    let one = |atom: &Atom| {
        format!("{} of {} {} on line {}", atom.name, atom.residue, atom.number, atom.line)
    };
    let first: Vec<String> = atoms.by_ref().take(NAMED).map(one).collect();
    match atoms.count() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Atoms of radius 0 that lie in no other one, by their indices: the surface of the others need not
/// enclose them. Hydrogens of radius 0 lie in the atoms that they are bound to.
pub fn uncovered(atoms: &[Atom]) -> Vec<usize> {
    let spheres = Spheres::new(atoms, 0.0, 0.0);
    let is_alone = |(_, atom): &(usize, &Atom)| {
        atom.radius == 0.0 && spheres.meeting(atom.position, 0.0).is_none()
    };
    atoms.iter().enumerate().filter(is_alone).map(|(index, _)| index).collect()
}

/// The first atom of `b` that meets one of `a`, radii of each being larger by its margin: index in
/// `a`, and in `b`. Molecules of which that is so cannot have surfaces of their own.
pub fn overlap(a: Grown<'_>, b: Grown<'_>) -> Option<(usize, usize)> {
    let Grown { atoms, margin } = b;
    let largest = atoms.iter().map(|atom| atom.radius + margin).fold(0.0, f64::max);
    let spheres = Spheres::new(a.atoms, a.margin, largest);
    atoms
        .iter()
        .enumerate()
        .find_map(|(k, atom)| Some((spheres.meeting(atom.position, atom.radius + margin)?, k)))
}

/// Atoms whose radii are larger by a margin.
#[derive(Clone, Copy, Debug)]
pub struct Grown<'a> {
    /// The atoms.
    pub atoms: &'a [Atom],
    /// In the unit of their radii.
    pub margin: f64,
}

/// Atoms with larger radii in cubes, so large that spheres which meet are in neighbouring ones.
struct Spheres<'a> {
    atoms: &'a [Atom],
    margin: f64,
    side: f64,
    cubes: HashMap<[i64; 3], Vec<usize>>,
}

impl<'a> Spheres<'a> {
    /// The atoms of a radius above 0; spheres of up to `largest` will be compared with them.
    fn new(atoms: &'a [Atom], margin: f64, largest: f64) -> Self {
        let radii = atoms.iter().map(|atom| atom.radius + margin);
        let side = largest + radii.fold(f64::MIN_POSITIVE, f64::max);
        let mut found = Self { atoms, margin, side, cubes: HashMap::new() };
        for (index, atom) in atoms.iter().enumerate().filter(|(_, atom)| atom.radius > 0.0) {
            found.cubes.entry(found.cube(atom.position)).or_default().push(index);
        }
        found
    }

    fn cube(&self, position: [f64; 3]) -> [i64; 3] {
        position.map(|x| (x / self.side).floor() as i64)
    }

    /// An atom that a sphere meets.
    fn meeting(&self, centre: [f64; 3], radius: f64) -> Option<usize> {
        let [i, j, k] = self.cube(centre);
        let near = (-1..=1).flat_map(|a| (-1..=1).map(move |b| (a, b)));
        let near = near.flat_map(|(a, b)| (-1..=1).map(move |c| [i + a, j + b, k + c]));
        let members = near.filter_map(|cube| self.cubes.get(&cube)).flatten();
        members.copied().find(|&index| {
            let atom = &self.atoms[index];
            let away = sub(atom.position, centre);
            dot(away, away) <= (atom.radius + self.margin + radius).powi(2)
        })
    }
}
