//! Several surfaces as one mesh.

use crate::surface::{Mesh, Patches, PhysicalGroup};

/// Puts surfaces into one mesh, without joining vertices. `parts` are their names and valid meshes
/// ([`Mesh::validate`]).
///
/// Groups keep their names; those of a later surface that are taken get its name before theirs,
/// `water` of `b` becoming `b_water`. Triangles in no group become a group named after the surface.
/// All triangles get the highest order of any; the surfaces stay as they are.
pub fn joined(parts: Vec<(String, Mesh)>) -> Mesh {
    let order = parts.iter().map(|(_, part)| part.order()).max().unwrap_or(1);
    let mut all = Mesh { memberships: vec![vec![]], ..Mesh::default() };
    let mut patches = (order > 1).then(|| Patches::new(order));
    for (name, part) in parts {
        let first_vertex = all.vertices.len() as u32;
        let groups: Vec<u32> =
            part.groups.iter().map(|group| added(&mut all, group.label(), &name)).collect();
        let alone = part.membership.iter().any(|&m| part.memberships[m as usize].is_empty());
        let own = alone.then(|| added(&mut all, name.clone(), &name));
        let first_set = all.memberships.len() as u32;
        for set in &part.memberships {
            let mut members: Vec<u32> = set.iter().map(|&group| groups[group as usize]).collect();
            members.extend(own.filter(|_| set.is_empty()));
            members.sort_unstable();
            all.memberships.push(members);
        }
        if let Some(all) = &mut patches {
            all.nodes.extend(match &part.patches {
                Some(own) if own.order == order => own.nodes.clone(),
                Some(own) => own.elevated(order).nodes,
                None => Patches::straight(&part, order).nodes,
            });
        }
        all.vertices.extend(part.vertices);
        let moved = |corners: &[u32; 3]| corners.map(|vertex| vertex + first_vertex);
        all.triangles.extend(part.triangles.iter().map(moved));
        all.membership.extend(part.membership.iter().map(|set| set + first_set));
    }
    Mesh { patches, ..all }
}

/// Adds a surface to a mesh as one group of that name, whatever groups it had, without joining
/// vertices. All triangles get the higher order of both.
#[must_use]
pub fn with_group(mut mesh: Mesh, name: &str, part: Mesh) -> Mesh {
    let order = mesh.order().max(part.order());
    if order > 1 {
        let raised = |mesh: &Mesh| match &mesh.patches {
            Some(own) if own.order == order => own.clone(),
            Some(own) => own.elevated(order),
            None => Patches::straight(mesh, order),
        };
        let mut all = raised(&mesh);
        all.nodes.extend(raised(&part).nodes);
        mesh.patches = Some(all);
    }
    if mesh.memberships.is_empty() {
        mesh.memberships.push(Vec::new());
    }
    let group = mesh.groups.len() as u32;
    let tag = mesh.groups.iter().map(|group| group.tag).max().unwrap_or(0).saturating_add(1);
    mesh.groups.push(PhysicalGroup { tag, name: Some(name.to_owned()) });
    let set = mesh.memberships.len() as u32;
    mesh.memberships.push(vec![group]);
    let first = mesh.vertices.len() as u32;
    let count = part.triangles.len();
    mesh.vertices.extend(part.vertices);
    mesh.triangles.extend(part.triangles.iter().map(|corners| corners.map(|v| v + first)));
    mesh.membership.extend(std::iter::repeat_n(set, count));
    mesh
}

/// Adds a group of a surface called `of`, under a name that is not taken.
fn added(mesh: &mut Mesh, name: String, of: &str) -> u32 {
    let taken = |name: &str| mesh.groups.iter().any(|group| group.label() == name);
    let own = format!("{of}_{name}");
    let numbered = (2u64..).map(|k| format!("{name}_{k}"));
    let mut choices = [name.clone()].into_iter().chain((name != of).then_some(own)).chain(numbered);
    let free = choices.find(|choice| !taken(choice));
    let index = mesh.groups.len() as u32;
    mesh.groups.push(PhysicalGroup { tag: i64::from(index) + 1, name: free });
    index
}
