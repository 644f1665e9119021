//! Quantities that change from run to run of a sweep: permittivities, and the places of bodies with
//! all that is in them.

use mesh::Mesh;
use mesh::transform::{Motion, moved};

use crate::description::{Description, Dielectric};

/// One quantity and the values that it takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The relative permittivity of a dielectric; of the surrounding medium where none is named.
    Permittivity {
        /// Name of the dielectric.
        dielectric: Option<String>,
        /// Its permittivities.
        values: Vec<f64>,
    },
    /// Groups move by each value times a vector.
    Move {
        /// The groups.
        groups: Vec<String>,
        /// The vector, in the description's unit.
        along: [f64; 3],
        /// What it is multiplied by.
        values: Vec<f64>,
    },
    /// Groups turn.
    Turn {
        /// The groups.
        groups: Vec<String>,
        /// Direction of the axis, of any length but zero.
        axis: [f64; 3],
        /// A point of the axis, in the description's unit.
        centre: [f64; 3],
        /// Angles in degrees, counter-clockwise seen from the axis's tip.
        values: Vec<f64>,
    },
}

/// A group that the mesh does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mesh has no physical group \"{group}\"")]
pub struct NoGroup {
    /// Which of the change's groups.
    pub index: usize,
    /// Its name.
    pub group: String,
    /// Those that there are.
    pub available: Vec<String>,
}

impl Change {
    /// The values.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Permittivity { values, .. }
            | Self::Move { values, .. }
            | Self::Turn { values, .. } => values,
        }
    }

    /// Whether surfaces go elsewhere.
    pub fn is_of_geometry(&self) -> bool {
        !matches!(self, Self::Permittivity { .. })
    }

    /// The description with the value of this index: atoms go with the surface of their molecule,
    /// if all of it moves.
    pub fn describe(&self, index: usize, description: &mut Description) {
        if let Self::Permittivity { dielectric, values } = self {
            let named = |d: &Dielectric| Some(&d.name) == dielectric.as_ref();
            let found = description.dielectrics.iter().position(named);
            description.set_permittivity(found, values[index]);
        } else if let Some((groups, motion)) = self.motion(index) {
            let moves = |group: &String| groups.contains(group);
            let whole = |d: &&mut Dielectric| d.groups.iter().all(moves);
            let moved = description.dielectrics.iter_mut().filter(whole);
            for atom in moved.flat_map(|dielectric| &mut dielectric.atoms) {
                atom.position = motion.apply(atom.position);
            }
        }
    }

    /// The groups that it moves and a mesh does not have.
    pub fn missing(&self, mesh: &Mesh) -> Vec<NoGroup> {
        let (Self::Move { groups, .. } | Self::Turn { groups, .. }) = self else {
            return Vec::new();
        };
        let available: Vec<String> = mesh.groups.iter().map(mesh::PhysicalGroup::label).collect();
        let missing = groups.iter().enumerate().filter(|(_, group)| !available.contains(group));
        let fault = |(index, group): (usize, &String)| NoGroup {
            index,
            group: group.clone(),
            available: available.clone(),
        };
        missing.map(fault).collect()
    }

    /// The mesh with the value of this index.
    ///
    /// # Errors
    /// [`NoGroup`], if a group that moves is not there.
    pub fn place(&self, index: usize, mesh: Mesh) -> Result<Mesh, NoGroup> {
        let Some((groups, motion)) = self.motion(index) else { return Ok(mesh) };
        if let Some(missing) = self.missing(&mesh).into_iter().next() {
            return Err(missing);
        }
        let is_member = |label: String| groups.contains(&label);
        let members: Vec<bool> = mesh.groups.iter().map(|group| is_member(group.label())).collect();
        let moves = |t: usize| mesh.groups_of(t).iter().any(|&group| members[group as usize]);
        Ok(moved(&mesh, moves, &motion))
    }

    /// The groups that move, and how.
    fn motion(&self, index: usize) -> Option<(&[String], Motion)> {
        match self {
            Self::Permittivity { .. } => None,
            Self::Move { groups, along, values } => {
                Some((groups, Motion::along(along.map(|x| x * values[index]))))
            }
            Self::Turn { groups, axis, centre, values } => {
                let angle = values[index].to_radians();
                Some((groups, Motion { axis: *axis, centre: *centre, angle, shift: [0.0; 3] }))
            }
        }
    }
}

/// All combinations of one index below each count; the last index varies fastest. `None` where
/// there are more than `most`.
pub fn combinations(lengths: &[usize], most: usize) -> Option<Vec<Vec<usize>>> {
    let count = lengths.iter().try_fold(1usize, |count, length| count.checked_mul(*length));
    let count = count.filter(|count| *count <= most)?;
    let choose = |mut run: usize| {
        let mut choice: Vec<usize> = Vec::with_capacity(lengths.len());
        for length in lengths.iter().rev() {
            choice.push(run % length);
            run /= length;
        }
        choice.reverse();
        choice
    };
    Some((0..count).map(choose).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Atom, testing};

    #[test]
    fn the_last_value_varies_fastest() {
        let all = combinations(&[2, 3], 6).unwrap();
        assert_eq!(all.len(), 6);
        assert_eq!(all[..4], [[0, 0], [0, 1], [0, 2], [1, 0]]);
        assert_eq!(combinations(&[2, 3], 5), None);
        assert_eq!(combinations(&[usize::MAX, 3], usize::MAX), None);
        assert_eq!(combinations(&[4, 0], 5), Some(vec![]));
    }

    #[test]
    fn bodies_take_their_atoms_along() {
        let atom = Atom { name: "A".to_owned(), position: [0.5, 0.0, 0.0], charge: 1.0 };
        let molecule = Dielectric { atoms: vec![atom], ..Dielectric::new("inner", 2.0) };
        let description = Description { dielectrics: vec![molecule], ..Description::default() };
        let turn = |groups: &[&str]| Change::Turn {
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            axis: [0.0, 0.0, 3.0],
            centre: [0.0; 3],
            values: vec![0.0, 90.0],
        };
        let mut turned = description.clone();
        turn(&["inner"]).describe(1, &mut turned);
        let [x, y, z] = turned.dielectrics[0].atoms[0].position;
        assert!(x.abs() < 1e-15 && (y - 0.5).abs() < 1e-15 && z == 0.0, "{x} {y} {z}");
        let mut same = description.clone();
        turn(&["outer"]).describe(1, &mut same);
        assert_eq!(same, description);
        let mesh = testing::shells();
        let move_outer = Change::Move {
            groups: vec!["outer".to_owned()],
            along: [1.0, 0.0, 0.0],
            values: vec![5.0],
        };
        let placed = move_outer.place(0, mesh.clone()).unwrap();
        for t in 0..mesh.triangles.len() {
            let shift = if mesh.groups_of(t) == [1] { 5.0 } else { 0.0 };
            let (before, after) = (mesh.corners(t)[0], placed.corners(t)[0]);
            assert_eq!(after, [before[0] + shift, before[1], before[2]]);
        }
        let unknown = turn(&["inner", "innr"]).place(0, mesh).unwrap_err();
        assert_eq!((unknown.index, unknown.available.len()), (1, 2));
    }

    #[test]
    fn permittivities_are_those_of_a_dielectric_or_of_all_around() {
        let dielectrics = vec![Dielectric::new("a", 2.0), Dielectric::new("b", 3.0)];
        let mut description = Description { dielectrics, ..Description::default() };
        let change = |dielectric: Option<&str>| Change::Permittivity {
            dielectric: dielectric.map(str::to_owned),
            values: vec![1.0, 7.0],
        };
        change(Some("b")).describe(1, &mut description);
        let eps = |d: &Description| d.dielectrics.iter().map(|d| d.relative_permittivity).collect();
        let all: Vec<f64> = eps(&description);
        assert_eq!((all, description.relative_permittivity), (vec![2.0, 7.0], 1.0));
        change(None).describe(1, &mut description);
        assert_eq!(description.relative_permittivity, 7.0);
        assert!(!change(None).is_of_geometry());
    }
}
