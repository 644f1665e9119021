//! Further matrices made of the capacitance matrix: nets that float are eliminated, others are
//! grounded or become one net (docs/math.md, "Reduced matrices").

use std::collections::HashMap;
use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use crate::names::fits;

/// What is made of the capacitance matrix. Names may have `*`, which stands for any characters. A
/// name without one takes precedence over such patterns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reduction {
    /// Its name in results.
    pub name: String,
    /// Nets of several conductors at one potential: the name of each, and its conductors. They are
    /// joined first, so that all else names them as one.
    pub groups: Vec<(String, Vec<String>)>,
    /// Nets at 0 V.
    pub grounded: Vec<String>,
    /// Nets that float without charge.
    pub floating: Vec<String>,
    /// The two nets whose capacitance is wanted while all others float without charge, except for
    /// those that are grounded.
    pub between: Option<[String; 2]>,
}

/// A name that a reduction lists, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The name of a group.
    Group(usize),
    /// One of its conductors.
    Member(usize, usize),
    /// In `grounded`.
    Grounded(usize),
    /// In `floating`.
    Floating(usize),
    /// In `between`.
    Between(usize),
}

/// What is wrong with a reduction.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReductionFault {
    /// No net has this name, or fits this pattern.
    #[error("{} \"{name}\"", if name.contains('*') { "no net fits" } else { "there is no net" })]
    Unknown {
        /// Which.
        at: Listed,
        /// The name or the pattern.
        name: String,
        /// Names that there are.
        available: Arc<[String]>,
    },
    /// A net is listed twice.
    #[error("net \"{name}\" is listed twice")]
    Twice {
        /// The first place and the second.
        at: [Listed; 2],
        /// The net.
        name: String,
    },
    /// A group has the name of another net.
    #[error("there is a net \"{name}\" outside of the group of this name")]
    Taken {
        /// The group.
        at: Listed,
        /// Its name.
        name: String,
    },
    /// Some nets float where all others do anyway.
    #[error("nets that float are listed, but all do that are not among the two, or grounded")]
    FloatAnyway,
    /// Nothing is left.
    #[error("no net is left: all are grounded or float")]
    Nothing,
}

/// A reduction of matrices over certain conductors.
#[derive(Clone, Debug, PartialEq)]
pub struct Reducer {
    name: String,
    /// Nets that stay, in the order of the result.
    kept: Vec<Net>,
    floating: Vec<Net>,
    is_between: bool,
}

/// Conductors at one potential.
#[derive(Clone, Debug, PartialEq)]
struct Net {
    name: String,
    conductors: Vec<usize>,
}

/// A matrix that was made of another.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    /// The name of the reduction.
    pub name: String,
    /// The nets that are left: in the order of the matrix, a group where its first conductor was;
    /// or the two of [`Reduction::between`].
    pub nets: Vec<String>,
    /// Their Maxwell matrix, in the unit of the matrix that it is made of; NaN where floating
    /// potentials have no values.
    pub maxwell: Vec<Vec<f64>>,
    /// The error bars of these entries, if the matrix had any.
    pub bars: Option<Vec<Vec<f64>>>,
    /// The capacitance of [`Reduction::between`] and its bar.
    pub between: Option<(f64, Option<f64>)>,
}

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
                // Of many only the first.
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

impl Reducer {
    /// What a Maxwell matrix over its conductors becomes, and its bars by first order: changes dC
    /// of the matrix change the result by L dC R, where the columns of R are the potentials of all
    /// nets with one of those left at 1 V, and the rows of L the same of the transposed matrix.
    pub fn apply(&self, maxwell: &[Vec<f64>], bars: Option<&[Vec<f64>]>) -> Reduced {
        let nets: Vec<&Net> = self.kept.iter().chain(&self.floating).collect();
        let kept = self.kept.len();
        let joined = sums(maxwell, &nets);
        let right = potentials(&joined, kept);
        let left = potentials(&joined.transpose(), kept);
        // Rows of nets that float vanish, so only those that are left count.
        let reduced = joined.rows(0, kept) * &right;
        let bars = bars.map(|bars| sums(bars, &nets));
        let between = self.is_between.then(|| {
            let of_right = (&right * opposite(&reduced)).abs();
            let of_left = (&left * opposite(&reduced.transpose())).abs();
            let bar = bars.as_ref().map(|bars| of_left.dot(&(bars * of_right)));
            (reduced.determinant() / reduced.sum(), bar)
        });
        let bars = bars.map(|bars| left.abs().transpose() * bars * right.abs());
        Reduced {
            name: self.name.clone(),
            nets: self.kept.iter().map(|net| net.name.clone()).collect(),
            maxwell: rows(&reduced),
            bars: bars.as_ref().map(rows),
            between,
        }
    }
}

/// Entries over nets: sums over their conductors.
fn sums(matrix: &[Vec<f64>], nets: &[&Net]) -> DMatrix<f64> {
    DMatrix::from_fn(nets.len(), nets.len(), |a, b| {
        let row = |&i: &usize| nets[b].conductors.iter().map(|&j| matrix[i][j]).sum::<f64>();
        nets[a].conductors.iter().map(row).sum()
    })
}

/// The potentials of all nets with each of the first `kept` at 1 V in turn, in columns; the others
/// float without charge.
fn potentials(matrix: &DMatrix<f64>, kept: usize) -> DMatrix<f64> {
    let floating = matrix.nrows() - kept;
    let mut all = DMatrix::zeros(matrix.nrows(), kept);
    all.fill_diagonal(1.0);
    if floating > 0 {
        let induced = matrix.view((kept, 0), (floating, kept));
        let own = matrix.view((kept, kept), (floating, floating)).into_owned().lu();
        let found = own.solve(&-induced);
        let found = found.unwrap_or_else(|| DMatrix::from_element(floating, kept, f64::NAN));
        all.rows_mut(kept, floating).copy_from(&found);
    }
    all
}

/// Potentials of two nets that carry opposite charges, 1 V apart.
fn opposite(matrix: &DMatrix<f64>) -> DVector<f64> {
    let sums = matrix.row_sum();
    DVector::from_vec(vec![sums[1], -sums[0]]) / matrix.sum()
}

fn rows(matrix: &DMatrix<f64>) -> Vec<Vec<f64>> {
    matrix.row_iter().map(|row| row.iter().copied().collect()).collect()
}
