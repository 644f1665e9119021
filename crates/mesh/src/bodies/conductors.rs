//! The conductor of each triangle, from physical groups and components.

use crate::surface::Mesh;
use crate::topology::components;
use parallel::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use thiserror::Error;

/// The name by which requests and `ignore` refer to the triangles in no physical group, unless a
/// group has that name.
pub const UNGROUPED: &str = "ungrouped";

/// Number of errors for which similar names are looked up.
const SUGGESTED: usize = 20;

/// A conductor as a person asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The conductor's name in the results.
    pub name: String,
    /// Labels of the physical groups that make it up.
    pub groups: Vec<String>,
}

/// Each triangle's conductor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The conductors, in the order of the requests, of the groups, or of the components.
    pub names: Vec<String>,
    /// For each triangle an index into `names`; `None` for one that is ignored.
    pub of_triangle: Vec<Option<u32>>,
}

/// Why triangles could not be assigned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// Two conductors of one name.
    #[error("two conductors are called \"{0}\"; names must be unique")]
    RepeatedName(String),
    /// Two physical groups of one name.
    #[error(
        "two physical groups of the mesh are called \"{0}\"; give them different names in the mesh"
    )]
    AmbiguousGroup(String),
    /// A conductor without groups.
    #[error("conductor \"{0}\" lists no physical group")]
    NoGroups(String),
    /// A group that the mesh does not have.
    #[error("the mesh has no physical group \"{group}\"{}{}", context(conductor.as_deref()), hint(suggestion.as_deref(), available))]
    UnknownGroup {
        /// The group asked for.
        group: String,
        /// The conductor that asks for it; `None` for the list of groups to ignore.
        conductor: Option<String>,
        /// The most similar group of the mesh.
        suggestion: Option<String>,
        /// All groups of the mesh.
        available: Arc<[String]>,
    },
    /// A group in two conductors, or both in a conductor and ignored.
    #[error("physical group \"{group}\" is listed twice: {first} and {second}")]
    GroupTwice {
        /// The group.
        group: String,
        /// Where it is listed first.
        first: String,
        /// Where it is listed again.
        second: String,
    },
    /// Triangles that several conductors claim through different groups.
    #[error(
        "{} {}, so that {} would belong to {}; give each triangle to one conductor",
        triangles(*count),
        in_groups(groups),
        if *count == 1 { "it" } else { "they" },
        list(conductors)
    )]
    Shared {
        /// How many triangles.
        count: usize,
        /// The first of them.
        triangle: usize,
        /// The groups that they are in.
        groups: Vec<String>,
        /// The conductors that claim them.
        conductors: Vec<String>,
    },
    /// Triangles that no conductor claims.
    #[error(
        "{} {}, which no conductor lists; add a conductor for {}, or ignore \"{}\"",
        triangles(*count),
        in_groups(groups),
        if *count == 1 { "it" } else { "them" },
        groups.first().map_or(UNGROUPED, String::as_str)
    )]
    Unclaimed {
        /// How many triangles.
        count: usize,
        /// The first of them.
        triangle: usize,
        /// The groups that they are in; empty if they are in none.
        groups: Vec<String>,
    },
    /// A conductor to which no triangle belongs.
    #[error("conductor \"{0}\" has no triangles")]
    Empty(String),
    /// A mesh without groups most of whose bodies are single triangles.
    #[error("{0}")]
    Loose(Loose),
}

/// A surface most of whose triangles share no edge with any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loose {
    /// How many.
    pub facets: usize,
    /// The number of bodies that they would count among.
    pub bodies: usize,
}

impl Loose {
    /// Fewer single triangles may be what someone wants.
    const FEWEST: usize = 8;

    /// Looks for them among bodies of these numbers of triangles: they must be most of the bodies.
    pub fn among(bodies: impl IntoIterator<Item = usize>) -> Option<Self> {
        let (mut facets, mut count) = (0, 0);
        for triangles in bodies {
            facets += usize::from(triangles == 1);
            count += 1;
        }
        (facets >= Self::FEWEST && 2 * facets > count).then_some(Self { facets, bodies: count })
    }
}

impl std::fmt::Display for Loose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} of the {} bodies are single triangles: facets that should hang together have vertices of their own, too far from \
             each other to be taken as one; merge the vertices in the program that wrote the mesh, or save the surface as STL, \
             whose corners are merged within 1e-6 of the size",
            self.facets, self.bodies
        )
    }
}

fn context(conductor: Option<&str>) -> String {
    conductor.map_or(" to ignore".into(), |name| format!(", which conductor \"{name}\" lists"))
}

fn hint(suggestion: Option<&str>, available: &[String]) -> String {
    match suggestion {
        Some(name) => format!("; did you mean \"{name}\"?"),
        None if available.is_empty() => "; it has no physical groups at all".into(),
        None => format!("; it has {}", list(available)),
    }
}

fn triangles(count: usize) -> String {
    if count == 1 { "1 triangle is".into() } else { format!("{count} triangles are") }
}

fn in_groups(groups: &[String]) -> String {
    match groups {
        [] => "in no physical group".into(),
        [one] => format!("in physical group \"{one}\""),
        several => format!("in physical groups {}", list(several)),
    }
}

/// `"a", "b" and "c"`; long lists end in a count.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let quoted: Vec<String> = names.iter().take(SHOWN).map(|name| format!("\"{name}\"")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        _ if names.len() > SHOWN => {
            format!("{} and {} more", quoted.join(", "), names.len() - SHOWN)
        }
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// Gives each triangle to at most one conductor.
///
/// With no requests each physical group is a conductor (`group_<tag>` if unnamed), and in a mesh
/// without groups each component joined by shared edges is one (`body_<n>`, from 1). Triangles of
/// no conductor must be in a group on the `ignore` list ([`UNGROUPED`] stands for triangles in no
/// group), and a triangle in an ignored group is ignored unless a conductor claims it.
///
/// # Errors
/// All problems found, not only the first.
pub fn assign(
    mesh: &Mesh,
    requests: &[Request],
    ignore: &[String],
) -> Result<Assignment, Vec<Error>> {
    if requests.is_empty() && mesh.groups.is_empty() {
        return by_component(mesh, ignore);
    }
    let labels: Arc<[String]> = mesh.groups.iter().map(|group| group.label()).collect();
    let mut problems = Vec::new();
    let mut index_of: HashMap<&str, usize> = HashMap::new();
    for (index, label) in labels.iter().enumerate() {
        if index_of.insert(label.as_str(), index).is_some() {
            problems.push(Error::AmbiguousGroup(label.clone()));
        }
    }
    let ignore_ungrouped =
        !index_of.contains_key(UNGROUPED) && ignore.iter().any(|name| name == UNGROUPED);
    let ignored = ignored_groups(ignore, &labels, &index_of, &mut problems);
    let implied;
    let requests = if requests.is_empty() {
        implied = each_group(&labels, &ignored);
        &implied
    } else {
        requests
    };
    let places =
        Groups { labels: &labels, index_of: &index_of, ignored: &ignored, ignore_ungrouped };
    let claims = claims(requests, &places, &mut problems);
    if !problems.is_empty() {
        // What follows would only echo these.
        return Err(problems);
    }

    let names: Vec<String> = requests.iter().map(|request| request.name.clone()).collect();
    let verdicts: Vec<Verdict> =
        mesh.memberships.iter().map(|set| places.verdict(set, &claims)).collect();
    let owner = |set: &u32| match verdicts[*set as usize] {
        Verdict::Owned(owner) => Some(owner),
        _ => None,
    };
    let of_triangle: Vec<Option<u32>> = mesh.membership.par_iter().map(owner).collect();
    let problems = unassigned(mesh, &labels, &names, &verdicts);
    if problems.is_empty() { Ok(Assignment { names, of_triangle }) } else { Err(problems) }
}

/// What becomes of the triangles of one set of groups.
enum Verdict {
    Owned(u32),
    Ignored,
    Unclaimed,
    Shared(Vec<u32>),
}

/// Triangles that do not belong to exactly one conductor; where there are none, conductors without
/// triangles.
fn unassigned(
    mesh: &Mesh,
    labels: &[String],
    names: &[String],
    verdicts: &[Verdict],
) -> Vec<Error> {
    // For each set of groups how many triangles it has, and the first of them.
    let mut tally = vec![(0usize, 0usize); mesh.memberships.len()];
    for (triangle, &set) in mesh.membership.iter().enumerate() {
        let (count, first) = &mut tally[set as usize];
        if *count == 0 {
            *first = triangle;
        }
        *count += 1;
    }
    let mut problems = Vec::new();
    let mut populated = vec![false; names.len()];
    for ((set, verdict), (count, triangle)) in mesh.memberships.iter().zip(verdicts).zip(tally) {
        if count == 0 {
            continue;
        }
        let groups = set.iter().map(|&g| labels[g as usize].clone()).collect();
        match verdict {
            Verdict::Unclaimed => problems.push(Error::Unclaimed { count, triangle, groups }),
            Verdict::Shared(owners) => problems.push(Error::Shared {
                count,
                triangle,
                groups,
                conductors: owners.iter().map(|&owner| names[owner as usize].clone()).collect(),
            }),
            Verdict::Owned(owner) => populated[*owner as usize] = true,
            Verdict::Ignored => {}
        }
    }
    if problems.is_empty() {
        let empty = names.iter().zip(populated).filter(|(_, populated)| !populated);
        problems.extend(empty.map(|(name, _)| Error::Empty(name.clone())));
    }
    problems
}

/// For each group the entry of `ignore` that names it.
fn ignored_groups<'a>(
    ignore: &'a [String],
    labels: &Arc<[String]>,
    index_of: &HashMap<&str, usize>,
    problems: &mut Vec<Error>,
) -> Vec<Option<&'a str>> {
    let mut ignored = vec![None; labels.len()];
    for name in ignore {
        match index_of.get(name.as_str()) {
            Some(&group) => ignored[group] = Some(name.as_str()),
            None if name == UNGROUPED => {}
            None => {
                let problem = unknown(name, None, labels, problems.len());
                problems.push(problem);
            }
        }
    }
    ignored
}

/// One conductor for each group that is not ignored.
fn each_group(labels: &[String], ignored: &[Option<&str>]) -> Vec<Request> {
    labels
        .iter()
        .zip(ignored)
        .filter(|(_, ignored)| ignored.is_none())
        .map(|(label, _)| Request { name: label.clone(), groups: vec![label.clone()] })
        .collect()
}

/// The groups of a mesh, and what is ignored of them.
struct Groups<'a> {
    labels: &'a Arc<[String]>,
    index_of: &'a HashMap<&'a str, usize>,
    ignored: &'a [Option<&'a str>],
    ignore_ungrouped: bool,
}

impl Groups<'_> {
    /// What becomes of the triangles in exactly these groups.
    fn verdict(&self, set: &[u32], claims: &Claims) -> Verdict {
        let mut owners: Vec<u32> =
            set.iter().filter_map(|&g| claims.conductor_of_group[g as usize]).collect();
        owners.extend(claims.ungrouped.filter(|_| set.is_empty()));
        owners.sort_unstable();
        owners.dedup();
        let ignorable = set.iter().any(|&g| self.ignored[g as usize].is_some())
            || (set.is_empty() && self.ignore_ungrouped);
        match owners.as_slice() {
            [] if ignorable => Verdict::Ignored,
            [] => Verdict::Unclaimed,
            [owner] => Verdict::Owned(*owner),
            _ => Verdict::Shared(owners),
        }
    }
}

/// Which conductors list what.
struct Claims {
    /// For each group the conductor that lists it.
    conductor_of_group: Vec<Option<u32>>,
    /// The conductor of what is in no group.
    ungrouped: Option<u32>,
}

fn claims(requests: &[Request], groups: &Groups<'_>, problems: &mut Vec<Error>) -> Claims {
    let mut found = Claims { conductor_of_group: vec![None; groups.labels.len()], ungrouped: None };
    let quoted = |name: &str| format!("in conductor \"{name}\"");
    let mut names: HashSet<&str> = HashSet::new();
    for (index, request) in requests.iter().enumerate() {
        if !names.insert(&request.name) {
            problems.push(Error::RepeatedName(request.name.clone()));
        }
        if request.groups.is_empty() {
            problems.push(Error::NoGroups(request.name.clone()));
        }
        for name in &request.groups {
            let (owner, is_ignored) = match groups.index_of.get(name.as_str()) {
                Some(&group) => {
                    (&mut found.conductor_of_group[group], groups.ignored[group].is_some())
                }
                None if name == UNGROUPED => (&mut found.ungrouped, groups.ignore_ungrouped),
                None => {
                    let before = problems.len();
                    problems.push(unknown(name, Some(&request.name), groups.labels, before));
                    continue;
                }
            };
            let first = match (*owner, is_ignored) {
                (Some(other), _) => quoted(&requests[other as usize].name),
                (None, true) => "in the list of groups to ignore".into(),
                (None, false) => {
                    *owner = Some(index as u32);
                    continue;
                }
            };
            let second = quoted(&request.name);
            problems.push(Error::GroupTwice { group: name.clone(), first, second });
        }
    }
    found
}

fn by_component(mesh: &Mesh, ignore: &[String]) -> Result<Assignment, Vec<Error>> {
    let problems: Vec<Error> = ignore
        .iter()
        .filter(|name| *name != UNGROUPED)
        .map(|name| unknown(name, None, &Arc::default(), 0))
        .collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let (of_triangle, count) = components(mesh);
    let mut sizes = vec![0; count];
    for &body in &of_triangle {
        sizes[body as usize] += 1;
    }
    if let Some(loose) = Loose::among(sizes) {
        return Err(vec![Error::Loose(loose)]);
    }
    Ok(Assignment {
        names: (1..=count).map(|n| format!("body_{n}")).collect(),
        of_triangle: of_triangle.into_iter().map(Some).collect(),
    })
}

/// The error that there is no such group; `before` is the number of errors found before it.
fn unknown(group: &str, conductor: Option<&str>, labels: &Arc<[String]>, before: usize) -> Error {
    // A typing error changes up to a third of the letters or so. Each look-up takes time, and
    // nobody reads very many.
    let looked_at = if before < SUGGESTED { &labels[..] } else { &[] };
    let suggestion = looked_at
        .iter()
        .map(|label| (edit_distance(group, label), label))
        .filter(|(distance, _)| {
            let letters = group.chars().count();
            // Of one letter each is as near as the other.
            *distance <= letters.div_ceil(3) && *distance < letters
        })
        .min()
        .map(|(_, label)| label.clone());
    Error::UnknownGroup {
        group: group.into(),
        conductor: conductor.map(Into::into),
        suggestion,
        available: labels.clone(),
    }
}

/// Number of insertions, deletions and substitutions between two names; differences of case are
/// free.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substitution = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substitution.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
