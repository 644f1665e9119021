//! Quantities that change from run to run of a sweep: permittivities, and the places of bodies with
//! all that is in them.

use mesh::Mesh;
use mesh::transform::{Motion, moved};

use crate::scene::description::{Description, Dielectric};

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
        /// Its factors.
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
    #[must_use]
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Permittivity { values, .. }
            | Self::Move { values, .. }
            | Self::Turn { values, .. } => values,
        }
    }

    /// Whether surfaces go elsewhere.
    #[must_use]
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
#[must_use]
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
