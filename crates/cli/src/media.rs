//! From the dielectrics of a case to the permittivity on either side of every triangle.

use mesh::Mesh;
use mesh::conductors::UNGROUPED;
use mesh::regions::{self, Problem, Region};

use crate::case::{Case, Defect, Located, SURROUNDINGS, Sort};
use crate::exit::Failure;

/// The media of a case, and where they meet.
#[derive(Debug)]
pub(crate) struct Media {
    /// Relative permittivity on the side that each triangle's normal points to and behind it.
    pub(crate) permittivity: Vec<[f64; 2]>,
    /// The surrounding medium, then the dielectrics in the order of the case.
    pub(crate) summaries: Vec<Summary>,
}

/// One medium in numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) name: String,
    pub(crate) relative_permittivity: f64,
    /// Triangles of its boundary as the case lists it; 0 for the surrounding medium.
    pub(crate) triangles: usize,
}

/// Whether triangle `t` is in one of `groups`.
pub(crate) fn is_in(mesh: &Mesh, groups: &[Located<String>], t: usize) -> bool {
    let of = mesh.groups_of(t);
    groups.iter().any(|wanted| {
        of.iter().any(|&g| mesh.groups[g as usize].label() == wanted.value)
            || (of.is_empty() && wanted.value == UNGROUPED)
    })
}

/// The space that each dielectric's surface encloses, in the order of the case.
pub(crate) fn regions(case: &Case, mesh: &Mesh) -> Result<Vec<Region>, Failure> {
    check_groups(case, mesh)?;
    let boundaries: Vec<Vec<u32>> = case
        .dielectrics
        .iter()
        .map(|dielectric| {
            let member = |&t: &u32| is_in(mesh, &dielectric.groups, t as usize);
            (0..mesh.triangles.len() as u32).filter(member).collect()
        })
        .collect();
    regions::enclosed(mesh, &boundaries)
        .map_err(|(index, problem)| case.failure(vec![defect(case, index, &problem)]))
}

/// The media of `case`, whose dielectrics fill `regions`.
pub(crate) fn find(case: &Case, mesh: &Mesh, regions: &[Region]) -> Media {
    let sides = regions::on_both_sides(mesh, regions);
    let of = |medium: Option<u32>| match medium {
        Some(index) => case.dielectrics[index as usize].relative_permittivity,
        None => case.relative_permittivity,
    };
    let surroundings = Summary {
        name: SURROUNDINGS.to_owned(),
        relative_permittivity: case.relative_permittivity,
        triangles: 0,
    };
    let summary = |(dielectric, region): (&crate::case::Dielectric, &Region)| Summary {
        name: dielectric.name.value.clone(),
        relative_permittivity: dielectric.relative_permittivity,
        triangles: region.boundary.len(),
    };
    let others = case.dielectrics.iter().zip(regions).map(summary);
    Media {
        permittivity: sides.into_iter().map(|sides| sides.map(of)).collect(),
        summaries: std::iter::once(surroundings).chain(others).collect(),
    }
}

/// Every group that a dielectric names is in the mesh.
fn check_groups(case: &Case, mesh: &Mesh) -> Result<(), Failure> {
    let labels: Vec<String> = mesh.groups.iter().map(mesh::PhysicalGroup::label).collect();
    let unknown =
        |group: &&Located<String>| !labels.contains(&group.value) && group.value != UNGROUPED;
    let defects: Vec<Defect> = case
        .dielectrics
        .iter()
        .flat_map(|dielectric| dielectric.groups.iter().filter(unknown))
        .map(|group| {
            let message = format!("the mesh has no physical group \"{}\"", group.value);
            let defect = Defect::new(Sort::Value, group.span.clone(), message).label("not there");
            let names = labels.iter().map(String::as_str);
            match crate::case::nearest(&group.value, names.clone()) {
                Some(near) => defect.help(format!("did you mean \"{near}\"?")),
                None => defect.help(format!("it has {}", crate::case::quoted(names))),
            }
        })
        .collect();
    if defects.is_empty() { Ok(()) } else { Err(case.failure(defects)) }
}

fn defect(case: &Case, index: usize, problem: &Problem) -> Defect {
    let dielectric = &case.dielectrics[index];
    let name = &dielectric.name;
    let message =
        format!("the surface of dielectric \"{}\" bounds no space: {problem}", name.value);
    let place = dielectric.groups.first().map_or(&name.span, |group| &group.span);
    let defect = Defect::new(Sort::Value, place.clone(), message);
    match problem {
        Problem::Open { .. } => defect.help(
            "list all groups that the surface consists of, those of conductors that lie in it too; \
             or look for holes with `farad mesh check`",
        ),
        _ => defect.help("`farad mesh check` tells more about the mesh"),
    }
}
