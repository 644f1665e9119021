//! From the dielectrics of a case to the permittivity on either side of every triangle.

use std::collections::{HashMap, HashSet};

use farad::contradictions::{self, Contradiction};
use mesh::Mesh;
use mesh::cells;
use mesh::conductors::UNGROUPED;
use mesh::regions::{self, Position, Problem, Region};

use crate::case::{Case, Defect, Located, MOST_SHOWN, SURROUNDINGS, Sort};
use crate::exit::Failure;
use crate::sources::Source;
use crate::units::shortest;

/// The media of a case, and where they meet.
#[derive(Debug)]
pub(crate) struct Media {
    /// Relative permittivity on the side that each triangle's normal points to and behind it.
    pub(crate) permittivity: Vec<[f64; 2]>,
    /// The surrounding medium, then the dielectrics in the order of the case.
    pub(crate) summaries: Vec<Summary>,
    /// The space that each dielectric's surface encloses, or each cell between surfaces, in the mesh with all its images.
    pub(crate) regions: Vec<Region>,
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
    let regions = regions::enclosed(mesh, &boundaries)
        .map_err(|(index, problem)| case.failure(vec![defect(case, index, &problem)]))?;
    check_space(case, &regions)?;
    Ok(regions)
}

/// No two dielectrics fill the same space: neither would be inside the other.
fn check_space(case: &Case, regions: &[Region]) -> Result<(), Failure> {
    let mut known: HashMap<Vec<u32>, usize> = HashMap::new();
    for (index, region) in regions.iter().enumerate() {
        let mut triangles: Vec<u32> = region.boundary.iter().map(|(t, _)| *t).collect();
        triangles.sort_unstable();
        let Some(first) = known.insert(triangles, index) else { continue };
        let [a, b] = [first, index].map(|k| &case.dielectrics[k]);
        let message = format!(
            "dielectrics \"{}\" and \"{}\" fill the same space with different media: eps_r {} and eps_r {}",
            a.name.value,
            b.name.value,
            shortest(a.relative_permittivity),
            shortest(b.relative_permittivity)
        );
        let defect = Defect::new(Sort::Value, b.name.span.clone(), message).label("and here");
        let help = "a surface has one dielectric inside; one that touches another shares only a part of its surface";
        return Err(case.failure(vec![defect.first(a.name.span.clone()).help(help)]));
    }
    Ok(())
}

/// The media of `case` on its mesh, whose dielectrics fill `regions` of that mesh with all its images. `is_conductor` tells triangles
/// of the mesh, `sources` is where charges are.
pub(crate) fn find(
    case: &Case,
    mesh: &Mesh,
    whole: &Mesh,
    regions: &[Region],
    is_conductor: impl Fn(usize) -> bool,
    sources: &[Source],
) -> Media {
    let count = mesh.triangles.len();
    let sides = regions::on_both_sides(whole, regions).into_iter().take(count);
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
        triangles: region.boundary.iter().filter(|(t, _)| (*t as usize) < count).count(),
    };
    let others = case.dielectrics.iter().zip(regions).map(summary);
    let mut permittivity: Vec<[f64; 2]> = sides.map(|sides| sides.map(of)).collect();
    bury(&mut permittivity, whole, is_conductor, sources);
    Media {
        permittivity,
        summaries: std::iter::once(surroundings).chain(others).collect(),
        regions: regions.to_vec(),
    }
}

/// Gives surfaces of solid metal the medium around it on both sides: there is no field inside, whatever medium that would be.
fn bury(
    permittivity: &mut [[f64; 2]],
    whole: &Mesh,
    is_conductor: impl Fn(usize) -> bool,
    sources: &[Source],
) {
    let count = permittivity.len();
    let differs = |t: u32, media: &[[f64; 2]]| media[t as usize][0] != media[t as usize][1];
    if (0..count).all(|t| !is_conductor(t) || !differs(t as u32, permittivity)) {
        return;
    }
    let bounds: Vec<bool> =
        (0..count).map(|t| is_conductor(t) || differs(t as u32, permittivity)).collect();
    let parts = regions::parts(whole, |t| is_conductor(t % count));
    for region in parts.into_iter().filter_map(|(_, region)| region) {
        let own = || region.boundary.iter().filter(|(t, _)| (*t as usize) < count);
        if !own().any(|&(t, _)| differs(t, permittivity)) {
            continue;
        }
        let positions = region.positions(whole);
        let has_surfaces =
            (0..positions.len()).any(|t| positions[t] == Position::Inside && bounds[t % count]);
        if has_surfaces || sources.iter().any(|source| region.contains(source.position)) {
            continue;
        }
        let outside: Vec<(u32, bool)> = own().copied().collect();
        for (t, inward) in outside {
            permittivity[t as usize] = [permittivity[t as usize][usize::from(inward)]; 2];
        }
    }
}

/// The media on the sides of the surfaces that the case lists; the surrounding medium is on both sides of all others.
pub(crate) fn by_surfaces(
    case: &Case,
    mesh: &Mesh,
    whole: &Mesh,
    is_conductor: impl Fn(usize) -> bool,
) -> Result<Media, Failure> {
    check_groups(case, mesh)?;
    let mut permittivity = vec![[case.relative_permittivity; 2]; mesh.triangles.len()];
    let mut listed = vec![false; mesh.triangles.len()];
    for surface in &case.surfaces {
        let own = |t: &usize| is_in(mesh, &surface.groups, *t);
        for t in (0..permittivity.len()).filter(own) {
            permittivity[t] = surface.sides;
            listed[t] = true;
        }
    }
    let keep = |t: usize| listed[t] || is_conductor(t);
    if let Some(found) = contradictions::find(mesh, &permittivity, keep, &is_conductor) {
        return Err(contradictory(case, mesh, &found, &permittivity));
    }
    let mut values: Vec<f64> = permittivity.iter().flatten().copied().collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let bordering = |eps: f64| permittivity.iter().filter(|sides| sides.contains(&eps)).count();
    let surroundings = case.relative_permittivity;
    let mut summaries = vec![Summary {
        name: SURROUNDINGS.to_owned(),
        relative_permittivity: surroundings,
        triangles: 0,
    }];
    summaries.extend(values.into_iter().filter(|eps| *eps != surroundings).map(|eps| Summary {
        name: format!("eps_r {}", shortest(eps)),
        relative_permittivity: eps,
        triangles: bordering(eps),
    }));
    let bounds = |t: usize| is_conductor(t) || permittivity[t][0] != permittivity[t][1];
    let regions = cells::bounded(whole, |t| bounds(t % mesh.triangles.len()));
    Ok(Media { permittivity, summaries, regions })
}

fn contradictory(
    case: &Case,
    mesh: &Mesh,
    found: &Contradiction,
    permittivity: &[[f64; 2]],
) -> Failure {
    let triangles = found.triangles;
    let described = triangles.map(|t| {
        let [front, back] = permittivity[t].map(shortest);
        let group = mesh.groups_of(t).first().map(|&g| mesh.groups[g as usize].label());
        format!("triangle {t} of \"{}\" (front {front}, back {back})", group.unwrap_or_default())
    });
    let [x, y, z] = found.place;
    let how = if found.meet { "meet" } else { "face each other" };
    let message = format!(
        "media contradict each other where {} and {} {how}, at ({x}, {y}, {z})",
        described[0], described[1]
    );
    let named = |surface: &&crate::case::Surface| {
        triangles.iter().any(|&t| is_in(mesh, &surface.groups, t))
    };
    let surface = case.surfaces.iter().find(named).and_then(|surface| surface.groups.first());
    let place = surface.map_or_else(|| case.mesh.place.clone(), |group| group.span.clone());
    case.failure(vec![Defect::new(Sort::Value, place, message).help(
        "front is the side that normals point to: normals must face one side all over a group, and groups that go on in each \
         other must have the same media there",
    )])
}

/// Every group that a dielectric or a surface names is in the mesh.
fn check_groups(case: &Case, mesh: &Mesh) -> Result<(), Failure> {
    let labels: Vec<String> = mesh.groups.iter().map(mesh::PhysicalGroup::label).collect();
    let known: HashSet<&str> = labels.iter().map(String::as_str).collect();
    let unknown = |group: &&Located<String>| {
        !known.contains(group.value.as_str()) && group.value != UNGROUPED
    };
    let defects: Vec<Defect> = case
        .interfaces()
        .filter(unknown)
        .enumerate()
        .map(|(index, group)| {
            let message = format!("the mesh has no physical group \"{}\"", group.value);
            let defect = Defect::new(Sort::Value, group.span.clone(), message).label("not there");
            // A suggestion costs a look at all groups.
            if index >= MOST_SHOWN {
                return defect;
            }
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
