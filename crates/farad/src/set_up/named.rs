//! Meaning of the names in a description on its mesh.

use mesh::Mesh;
use mesh::conductors::{self as owners, Assignment};

use crate::problem::fault::Fault;
use crate::problem::names::fits;
use crate::problem::request_fault::ReductionFault;
use crate::problem::{conductors, media};
use crate::result::reduction::Reducer;
use crate::scene::description::Description;
use crate::scene::requests::Reduction;

/// Meaning of the names in a description on its mesh.
pub(super) struct Named {
    pub(super) assignment: Assignment,
    /// The conductors that are excited.
    pub(super) excited: Vec<usize>,
    pub(super) reducers: Vec<Reducer>,
}

impl Named {
    /// All names that mean nothing are found at once.
    pub(super) fn find(description: &Description, mesh: &Mesh) -> Result<Self, Vec<Fault>> {
        let mut faults = media::check_groups(description, mesh).err().unwrap_or_default();
        let assignment = match conductors::assign(description, mesh) {
            Ok(assignment) => assignment,
            Err(more) => {
                // Of a group that has another name there, nothing lists the triangles.
                let is_echo = |fault: &Fault| {
                    matches!(fault, Fault::Conductors(owners::Error::Unclaimed { .. }))
                };
                let is_first = faults.is_empty();
                faults.extend(more.into_iter().filter(|fault| is_first || !is_echo(fault)));
                return Err(faults);
            }
        };
        let excited = excited(&description.nets, &assignment.names);
        let reducers = reducers(&description.reductions, &assignment.names);
        match (excited, reducers) {
            (Ok(excited), Ok(reducers)) if faults.is_empty() => {
                Ok(Self { assignment, excited, reducers })
            }
            (excited, reducers) => {
                faults.extend(excited.err().into_iter().flatten());
                faults.extend(reducers.err().into_iter().flatten());
                Err(faults)
            }
        }
    }
}

/// The conductors that the patterns choose, all without any.
fn excited(patterns: &[String], names: &[String]) -> Result<Vec<usize>, Vec<Fault>> {
    if patterns.is_empty() {
        return Ok((0..names.len()).collect());
    }
    let mut is_chosen = vec![false; names.len()];
    let mut faults = Vec::new();
    for (net, pattern) in patterns.iter().enumerate() {
        let is_meant = |name: &String| name == pattern || fits(pattern, name);
        let mut is_there = false;
        for (is_chosen, _) in is_chosen.iter_mut().zip(names).filter(|(_, name)| is_meant(name)) {
            (*is_chosen, is_there) = (true, true);
        }
        if !is_there {
            let (name, available) = (pattern.clone(), names.into());
            faults.push(Fault::UnknownNet { net, name, available });
        }
    }
    let chosen = (0..names.len()).filter(|&k| is_chosen[k]).collect();
    if faults.is_empty() { Ok(chosen) } else { Err(faults) }
}

/// Reductions of matrices over conductors of these names.
fn reducers(reductions: &[Reduction], names: &[String]) -> Result<Vec<Reducer>, Vec<Fault>> {
    let (mut reducers, mut faults) = (Vec::new(), Vec::new());
    for (index, reduction) in reductions.iter().enumerate() {
        let fault = |problem: ReductionFault| Fault::Reduction {
            reduction: index,
            name: reduction.name.clone(),
            problem,
        };
        match reduction.over(names) {
            Ok(reducer) => reducers.push(reducer),
            Err(problems) => faults.extend(problems.into_iter().map(fault)),
        }
    }
    if faults.is_empty() { Ok(reducers) } else { Err(faults) }
}
