//! What triangles are, by the conductor and the media on both sides, as groups of a mesh and a
//! description of these.

use std::collections::HashMap;

use farad::{Conductor, Description, SurfaceMedia};
use mesh::{Mesh, PhysicalGroup};

/// What the triangles of one group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Role {
    /// The conductor; `None` for an interface of dielectrics.
    pub(crate) conductor: Option<usize>,
    /// Whether it is metal without thickness between two media.
    pub(crate) thin: bool,
    /// The bits of the relative permittivities on the side that normals point to, and on the other.
    pub(crate) sides: [u64; 2],
}

impl Role {
    /// Outside, then inside.
    pub(crate) fn permittivities(&self) -> [f64; 2] {
        self.sides.map(f64::from_bits)
    }

    /// The label of its group: its conductor's name where that is all there is to say. `roles` is
    /// the number of roles per conductor.
    fn label(&self, roles: &[usize], names: &[String]) -> String {
        let [outer, inner] = self.permittivities();
        match self.conductor {
            None => format!("interface {inner}|{outer}"),
            Some(conductor) if roles[conductor] == 1 => names[conductor].clone(),
            Some(conductor) if self.thin => format!("{} on {inner}|{outer}", names[conductor]),
            Some(conductor) => format!("{} in {outer}", names[conductor]),
        }
    }
}

/// Roles without repetition.
#[derive(Default)]
pub(crate) struct Roles {
    pub(crate) all: Vec<Role>,
    index_of: HashMap<Role, usize>,
}

impl Roles {
    /// The index of a role, a new one if it is not there.
    pub(crate) fn index(&mut self, role: Role) -> usize {
        let index = *self.index_of.entry(role).or_insert(self.all.len());
        if index == self.all.len() {
            self.all.push(role);
        }
        index
    }
}

/// Makes groups of the roles that triangles have, in their order, and describes them. Conductors
/// have these names.
pub(crate) fn grouped(
    mesh: &mut Mesh,
    roles: &[Role],
    role_of: &[u32],
    names: Vec<String>,
) -> Description {
    let mut group_of = vec![0; roles.len()];
    role_of.iter().for_each(|&role| group_of[role as usize] = 1);
    let mut used = Vec::new();
    for (role, group) in roles.iter().zip(&mut group_of) {
        if *group > 0 {
            used.push(*role);
            *group = used.len() as u32;
        }
    }
    let mut uses = vec![0; names.len()];
    used.iter().filter_map(|role| role.conductor).for_each(|index| uses[index] += 1);
    let labels: Vec<String> = used.iter().map(|role| role.label(&uses, &names)).collect();
    mesh.membership = role_of.iter().map(|&role| group_of[role as usize]).collect();
    let named = (1..).zip(labels.iter().cloned());
    mesh.groups = named.map(|(tag, name)| PhysicalGroup { tag, name: Some(name) }).collect();
    mesh.memberships =
        std::iter::once(vec![]).chain((0..used.len() as u32).map(|g| vec![g])).collect();
    describe(names, &used, labels)
}

/// The problem of conductors of these names and of roles with the groups of these labels.
fn describe(names: Vec<String>, roles: &[Role], labels: Vec<String>) -> Description {
    let unset = |name| Conductor::default().name(name);
    let mut conductors: Vec<Conductor> = names.into_iter().map(unset).collect();
    for (role, label) in roles.iter().zip(&labels) {
        if let Some(index) = role.conductor {
            conductors[index].groups.push(label.clone());
        }
    }
    let first = roles.first().map(Role::permittivities);
    let same = |role: &Role| role.conductor.is_some() && Some(role.permittivities()) == first;
    let medium = first.filter(|[outer, inner]| outer == inner && roles.iter().all(same));
    let by_sides = roles.iter().zip(labels).filter(|_| medium.is_none());
    let surface = |(role, label): (&Role, String)| SurfaceMedia {
        groups: vec![label],
        sides: role.permittivities(),
    };
    Description::default()
        .relative_permittivity(medium.map_or(1.0, |[outer, _]| outer))
        .conductors(conductors)
        .surfaces(by_sides.map(surface).collect())
}
