//! Meaning of the names of a reduction among a problem's conductors.

use std::collections::HashMap;
use std::sync::Arc;

use crate::problem::names::fits;
use crate::problem::request_fault::{Listed, ReductionFault};
use crate::result::reduction::{Net, Reducer};
use crate::scene::requests::Reduction;

impl Reduction {
    /// The reduction of matrices over conductors of these names.
    ///
    /// # Errors
    /// All that is wrong with it for them.
    pub fn over(&self, names: &[String]) -> Result<Reducer, Vec<ReductionFault>> {
        let mut faults = Vec::new();
        let nets = self.joined(names, &mut faults);
        let available: Vec<String> = nets.iter().map(|net| net.name.clone()).collect();
        let between = self.between.iter().flatten().enumerate();
        let lists = self.grounded.iter().enumerate().map(|(k, name)| (Listed::Grounded(k), name));
        let lists =
            lists.chain(self.floating.iter().enumerate().map(|(k, n)| (Listed::Floating(k), n)));
        let lists = lists.chain(between.map(|(k, name)| (Listed::Between(k), name)));
        let owners = assigned(&available, lists, &mut faults);
        if self.between.is_some() && !self.floating.is_empty() {
            faults.push(ReductionFault::FloatAnyway);
        }
        let mut reducer = Reducer {
            name: self.name.clone(),
            kept: Vec::new(),
            floating: Vec::new(),
            is_between: self.between.is_some(),
        };
        let mut two = [None, None];
        for (net, owner) in nets.into_iter().zip(owners) {
            match owner {
                Some(Listed::Grounded(_)) => {}
                Some(Listed::Between(k)) if k < 2 => two[k] = Some(net),
                Some(Listed::Floating(_)) => reducer.floating.push(net),
                _ if reducer.is_between => reducer.floating.push(net),
                _ => reducer.kept.push(net),
            }
        }
        reducer.kept.extend(two.into_iter().flatten());
        if faults.is_empty() && reducer.kept.is_empty() {
            faults.push(ReductionFault::Nothing);
        }
        if faults.is_empty() { Ok(reducer) } else { Err(faults) }
    }

    /// The conductors as nets, those of groups as one.
    fn joined(&self, names: &[String], faults: &mut Vec<ReductionFault>) -> Vec<Net> {
        let members = self.groups.iter().enumerate().flat_map(|(g, (_, members))| {
            members.iter().enumerate().map(move |(k, name)| (Listed::Member(g, k), name))
        });
        let owners = assigned(names, members, faults);
        let mut place = vec![None; self.groups.len()];
        let mut nets: Vec<Net> = Vec::new();
        for (index, (name, owner)) in names.iter().zip(&owners).enumerate() {
            let Some(Listed::Member(g, _)) = *owner else {
                nets.push(Net { name: name.clone(), conductors: vec![index] });
                continue;
            };
            let at = *place[g].get_or_insert_with(|| {
                nets.push(Net { name: self.groups[g].0.clone(), conductors: Vec::new() });
                nets.len() - 1
            });
            nets[at].conductors.push(index);
        }
        for (g, (name, _)) in self.groups.iter().enumerate() {
            let is_taken = |(k, net): (usize, &Net)| net.name == *name && place[g] != Some(k);
            if nets.iter().enumerate().any(is_taken) {
                faults.push(ReductionFault::Taken { at: Listed::Group(g), name: name.clone() });
            }
        }
        nets
    }
}

/// Where each name is listed: by itself, or else by a pattern.
fn assigned<'a>(
    names: &[String],
    lists: impl Iterator<Item = (Listed, &'a String)>,
    faults: &mut Vec<ReductionFault>,
) -> Vec<Option<Listed>> {
    let index: HashMap<&String, usize> = names.iter().zip(0..).collect();
    let (exact, patterns): (Vec<_>, Vec<_>) =
        lists.partition(|(_, listed)| index.contains_key(listed) || !listed.contains('*'));
    let mut available: Option<Arc<[String]>> = None;
    let mut owners: Vec<Option<Listed>> = vec![None; names.len()];
    for (at, listed) in &exact {
        let Some(&k) = index.get(listed) else {
            let available = available.get_or_insert_with(|| names.into()).clone();
            let name = (*listed).clone();
            faults.push(ReductionFault::Unknown { at: *at, name, available });
            continue;
        };
        match owners[k] {
            Some(first) => {
                let name = names[k].clone();
                faults.push(ReductionFault::Twice { at: [first, *at], name });
            }
            None => owners[k] = Some(*at),
        }
    }
    let is_exact: Vec<bool> = owners.iter().map(Option::is_some).collect();
    for (at, pattern) in &patterns {
        let (mut is_fitted, mut is_twice) = (false, false);
        for (k, name) in names.iter().enumerate().filter(|(_, name)| fits(pattern, name)) {
            is_fitted = true;
            match owners[k] {
                Some(_) if is_exact[k] => {}
                // Only the first of many.
                Some(first) if !is_twice => {
                    is_twice = true;
                    let name = name.clone();
                    faults.push(ReductionFault::Twice { at: [first, *at], name });
                }
                Some(_) => {}
                None => owners[k] = Some(*at),
            }
        }
        if !is_fitted {
            let available = available.get_or_insert_with(|| names.into()).clone();
            let name = (*pattern).clone();
            faults.push(ReductionFault::Unknown { at: *at, name, available });
        }
    }
    owners
}
