//! From dielectrics, or media by surfaces, to the permittivity on either side of every triangle.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mesh::Mesh;
use mesh::cells;
use mesh::conductors::UNGROUPED;
use mesh::regions::{self, Places, Position, Region};
use serde::Serialize;

use crate::problem::fault::Fault;
use crate::problem::media_check::{self, Contradiction};
use crate::problem::sources::Source;
use crate::scene::description::{Description, Dielectric};
use crate::units::shortest;

/// The name of the surrounding medium in results.
pub const SURROUNDINGS: &str = "surroundings";

/// The media of a problem, and where they meet.
#[derive(Clone, Debug)]
pub struct Media {
    /// Relative permittivity on the side that each triangle's normal points to and behind it.
    pub permittivity: Vec<[f64; 2]>,
    /// The dielectric on either side, as [`Self::permittivity`]; `None` = the surrounding medium.
    /// Empty where surfaces give media.
    pub sides: Vec<[Option<u32>; 2]>,
    /// The surrounding medium, then the dielectrics in the order of the description.
    pub summaries: Vec<Summary>,
    /// The space that each dielectric's surface encloses, or each cell between surfaces, in the
    /// mesh with all its images.
    pub regions: Vec<Region>,
}

impl Media {
    /// Whether the media on both sides of a triangle differ, by permittivity or by ions.
    pub(crate) fn differ_at(&self, triangle: usize) -> bool {
        let [front, behind] = self.permittivity[triangle];
        let [ions, ions_behind] = self.kappa_at(triangle);
        front != behind || ions != ions_behind
    }

    /// The inverse screening length of ions in front of a triangle and behind it.
    pub(crate) fn kappa_at(&self, triangle: usize) -> [f64; 2] {
        let kappa = |side: Option<u32>| self.summaries[side.map_or(0, |d| d as usize + 1)].kappa;
        self.sides.get(triangle).map_or([0.0; 2], |sides| sides.map(kappa))
    }
}

/// One medium in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// Relative permittivity.
    pub relative_permittivity: f64,
    /// Inverse of the screening length of ions in it, per unit of length; 0 without.
    #[serde(skip)]
    pub kappa: f64,
    /// Triangles of its boundary as it is listed; 0 for the surrounding medium.
    pub triangles: usize,
}

/// The triangles that names of groups choose in a mesh, by the place of each name in a list.
pub(crate) struct Chosen<'a> {
    mesh: &'a Mesh,
    /// Triangles of each group, and last those that are in none; increasing.
    by: Vec<Vec<u32>>,
}

impl<'a> Chosen<'a> {
    /// By several lists of names.
    pub(crate) fn by_lists<'b>(
        mesh: &'a Mesh,
        lists: impl Iterator<Item = &'b [String]>,
    ) -> Chosen<'a> {
        let mut groups_of: HashMap<String, Vec<usize>> = HashMap::new();
        for (group, known) in mesh.groups.iter().enumerate() {
            groups_of.entry(known.label()).or_default().push(group);
        }
        let mut by = vec![Vec::new(); mesh.groups.len() + 1];
        for (list, names) in (0..).zip(lists) {
            for name in names {
                let ungrouped = (name == UNGROUPED).then_some(mesh.groups.len());
                for &group in groups_of.get(name).into_iter().flatten().chain(&ungrouped) {
                    by[group].push(list);
                }
            }
        }
        by.iter_mut().for_each(|lists: &mut Vec<u32>| lists.dedup());
        Chosen { mesh, by }
    }

    /// By one list of names.
    pub(crate) fn by(mesh: &'a Mesh, names: &[String]) -> Self {
        Self::by_lists(mesh, std::iter::once(names))
    }

    /// The lists that choose a triangle, in increasing order.
    pub(crate) fn lists(&self, t: usize) -> Vec<u32> {
        let ungrouped = [self.mesh.groups.len() as u32];
        let of: &[u32] = match self.mesh.groups_of(t) {
            [] => &ungrouped,
            of => of,
        };
        let mut lists: Vec<u32> = of.iter().flat_map(|&g| &self.by[g as usize]).copied().collect();
        lists.sort_unstable();
        lists.dedup();
        lists
    }

    /// Whether any does.
    pub(crate) fn has(&self, t: usize) -> bool {
        match self.mesh.groups_of(t) {
            [] => !self.by[self.mesh.groups.len()].is_empty(),
            of => of.iter().any(|&g| !self.by[g as usize].is_empty()),
        }
    }
}

/// The space that each dielectric's surface encloses, in the order of the description.
pub(crate) fn regions(description: &Description, mesh: &Mesh) -> Result<Vec<Region>, Vec<Fault>> {
    check_groups(description, mesh)?;
    let dielectrics = &description.dielectrics;
    if dielectrics.is_empty() {
        return Ok(Vec::new());
    }
    let chosen = Chosen::by_lists(mesh, dielectrics.iter().map(|d| &d.groups[..]));
    let mut boundaries: Vec<Vec<u32>> = vec![Vec::new(); dielectrics.len()];
    for t in 0..mesh.triangles.len() {
        chosen.lists(t).iter().for_each(|&list| boundaries[list as usize].push(t as u32));
    }
    let regions = regions::enclosed(mesh, &boundaries).map_err(|(dielectric, problem)| {
        let name = dielectrics[dielectric].name.clone();
        vec![Fault::NoSpace { dielectric, name, problem }]
    })?;
    check_space(dielectrics, &regions)?;
    Ok(regions)
}

/// No two dielectrics fill the same space: neither would be inside the other.
fn check_space(dielectrics: &[Dielectric], regions: &[Region]) -> Result<(), Vec<Fault>> {
    let mut known: HashMap<Vec<u32>, usize> = HashMap::new();
    for (index, region) in regions.iter().enumerate() {
        let mut triangles: Vec<u32> = region.boundary.iter().map(|(t, _)| *t).collect();
        triangles.sort_unstable();
        if let Some(first) = known.insert(triangles, index) {
            let both = [first, index].map(|k| &dielectrics[k]);
            return Err(vec![Fault::SameSpace {
                dielectrics: [first, index],
                names: both.map(|d| d.name.clone()),
                permittivities: both.map(|d| d.relative_permittivity),
            }]);
        }
    }
    Ok(())
}

/// The media of a problem on its mesh, whose dielectrics fill `regions` of that mesh with all its
/// images. `is_conductor` takes triangles of the mesh; `sources` are the point charges.
pub(crate) fn find(
    description: &Description,
    mesh: &Mesh,
    whole: &Mesh,
    regions: &[Region],
    is_conductor: impl Fn(usize) -> bool,
    sources: &[Source],
) -> Media {
    let count = mesh.triangles.len();
    let mut sides = regions::on_both_sides(whole, regions);
    sides.truncate(count);
    let of = |medium: Option<u32>| description.permittivity_of(medium);
    let surroundings = Summary {
        name: SURROUNDINGS.to_owned(),
        relative_permittivity: description.relative_permittivity,
        kappa: description.kappa,
        triangles: 0,
    };
    let summary = |(dielectric, region): (&Dielectric, &Region)| Summary {
        name: dielectric.name.clone(),
        relative_permittivity: dielectric.relative_permittivity,
        kappa: dielectric.kappa,
        triangles: region.boundary.iter().filter(|(t, _)| (*t as usize) < count).count(),
    };
    let others = description.dielectrics.iter().zip(regions).map(summary);
    let mut permittivity: Vec<[f64; 2]> = sides.iter().map(|sides| sides.map(of)).collect();
    bury(&mut permittivity, whole, is_conductor, sources);
    Media {
        permittivity,
        sides,
        summaries: std::iter::once(surroundings).chain(others).collect(),
        regions: regions.to_vec(),
    }
}

/// Gives surfaces of solid metal the surrounding medium on both sides: there is no field inside, so
/// that the medium there does not matter.
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
    let metal: Vec<u32> =
        (0..whole.triangles.len() as u32).filter(|&t| is_conductor(t as usize % count)).collect();
    let parts = regions::parts(whole, &metal, &[]);
    let places = Places::new(whole);
    for region in parts.into_iter().filter_map(|(_, region)| region) {
        let own = || region.boundary.iter().filter(|(t, _)| (*t as usize) < count);
        if !own().any(|&(t, _)| differs(t, permittivity)) {
            continue;
        }
        let is_surface = |&(t, position): &(u32, Position)| {
            position == Position::Inside && bounds[t as usize % count]
        };
        let has_surfaces = places.of(&region).iter().any(is_surface);
        if has_surfaces || sources.iter().any(|source| region.contains(source.position)) {
            continue;
        }
        let outside: Vec<(u32, bool)> = own().copied().collect();
        for (t, inward) in outside {
            permittivity[t as usize] = [permittivity[t as usize][usize::from(inward)]; 2];
        }
    }
}

/// The media on the sides of the surfaces that are listed; the surrounding medium is on both sides
/// of all others. A contradiction between them comes with the media.
pub(crate) fn by_surfaces(
    description: &Description,
    mesh: &Mesh,
    whole: &Mesh,
    is_conductor: impl Fn(usize) -> bool,
) -> Result<(Media, Option<Fault>), Vec<Fault>> {
    check_groups(description, mesh)?;
    let mut permittivity = vec![[description.relative_permittivity; 2]; mesh.triangles.len()];
    let mut listed = vec![false; mesh.triangles.len()];
    let chosen = Chosen::by_lists(mesh, description.surfaces.iter().map(|s| &s.groups[..]));
    for t in 0..permittivity.len() {
        // The last counts.
        if let Some(&surface) = chosen.lists(t).last() {
            permittivity[t] = description.surfaces[surface as usize].sides;
            listed[t] = true;
        }
    }
    let keep = |t: usize| listed[t] || is_conductor(t);
    let fault = media_check::find(mesh, &permittivity, keep, &is_conductor)
        .map(|found| contradictory(description, mesh, &found, &permittivity));
    let mut values: Vec<f64> = permittivity.iter().flatten().copied().collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let bordering = |eps: f64| permittivity.iter().filter(|sides| sides.contains(&eps)).count();
    let surroundings = description.relative_permittivity;
    let mut summaries = vec![Summary {
        name: SURROUNDINGS.to_owned(),
        relative_permittivity: surroundings,
        kappa: 0.0,
        triangles: 0,
    }];
    summaries.extend(values.into_iter().filter(|eps| *eps != surroundings).map(|eps| Summary {
        name: format!("eps_r {}", shortest(eps)),
        relative_permittivity: eps,
        kappa: 0.0,
        triangles: bordering(eps),
    }));
    let bounds = |t: usize| is_conductor(t) || permittivity[t][0] != permittivity[t][1];
    // A cell of several media is none.
    let regions = match fault {
        None => cells::bounded(whole, |t| bounds(t % mesh.triangles.len())),
        Some(_) => Vec::new(),
    };
    Ok((Media { permittivity, sides: Vec::new(), summaries, regions }, fault))
}

fn contradictory(
    description: &Description,
    mesh: &Mesh,
    found: &Contradiction,
    permittivity: &[[f64; 2]],
) -> Fault {
    let described = |t: usize| {
        let group = mesh.groups_of(t).first().map(|&g| mesh.groups[g as usize].label());
        (t, group.unwrap_or_default(), permittivity[t])
    };
    let chosen = Chosen::by_lists(mesh, description.surfaces.iter().map(|s| &s.groups[..]));
    let first = |&t: &usize| chosen.lists(t).first().map(|&surface| surface as usize);
    Fault::Contradiction {
        triangles: found.triangles.map(described),
        surface: found.triangles.iter().filter_map(first).min(),
        meet: found.meet,
        place: found.place,
        count: found.count,
    }
}

/// Every group that a dielectric or a surface names is in the mesh.
pub(crate) fn check_groups(description: &Description, mesh: &Mesh) -> Result<(), Vec<Fault>> {
    let available: Arc<[String]> = mesh.groups.iter().map(mesh::PhysicalGroup::label).collect();
    let known: HashSet<&String> = available.iter().collect();
    let unknown = |(_, group): &(usize, &String)| !known.contains(group) && *group != UNGROUPED;
    let fault = |(interface, group): (usize, &String)| {
        let available = Arc::clone(&available);
        Fault::UnknownGroup { interface, group: group.clone(), available }
    };
    let faults: Vec<Fault> =
        description.interfaces().enumerate().filter(unknown).map(fault).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
