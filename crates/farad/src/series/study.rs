//! Convergence of solutions on refined meshes: orders, limits, errors.

use std::fmt;

use bem::convergence::{self, Range};
use mesh::locate::Locator;
use serde::{Deserialize, Serialize, Serializer};

use crate::problem::Problem;
use crate::result::key::{Key, MatrixEntry};
use crate::result::matrices::distinct_entries;
use crate::result::quantities::Measured;
use crate::result::solution::Solution;
use crate::result::unit::Unit;

/// Facets up to this many times as large as a gap between conductors resolve it.
pub const FACETS_OVER_GAP: f64 = 2.0;

/// Triangles of each conductor at which gaps are measured.
const GAP_SAMPLES: usize = 2000;

/// The numbers of the solution on one mesh of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeshValues {
    /// Names of the conductors.
    pub names: Vec<String>,
    /// Indices of the excited conductors, one per column of the matrix.
    pub columns: Vec<usize>,
    /// The solver's tolerance.
    pub tolerance: f64,
    /// The Maxwell matrix in farad, shape (conductors, columns).
    pub matrix: Vec<Vec<f64>>,
    /// All other numbers.
    pub others: Vec<(Key, Measured)>,
    /// Bars of the matrix; empty if there are none.
    pub matrix_bars: Vec<Vec<f64>>,
}

/// One number of the result on all meshes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Its key; in results.json the key's text.
    #[serde(rename = "name", serialize_with = "as_text")]
    pub key: Key,
    /// Unit of its values, bars and errors.
    pub unit: Unit,
    /// On each mesh.
    pub values: Vec<f64>,
    /// Error bar of each value, of its mesh alone; `None` where there is none.
    pub bars: Vec<Option<f64>>,
    /// Error of each value that does not come from the mesh.
    pub solver_error: f64,
    /// Whether the rest may be relied on.
    #[serde(rename = "range", serialize_with = "as_text")]
    pub verdict: Verdict,
    /// The exponent of the element size; `None` where there is none.
    pub order: Option<f64>,
    /// The value for elements of size zero; the last value itself where there is no estimate.
    pub extrapolated: f64,
    /// Its estimated error; `None` where the values support no estimate.
    pub error: Option<f64>,
}

/// Whether values follow a power of the element size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An estimate from the values.
    Of(Range),
    /// Fewer than three meshes, or a value that is no number.
    TooFewMeshes,
    /// The finest mesh does not resolve a gap, which the values cannot show.
    UnresolvedGap,
}

/// A gap that is too narrow for the facets at it, in the problem's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Its width.
    pub width: f64,
    /// Size of the facets.
    pub facets: f64,
}

/// As results have it.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Of(Range::Asymptotic) => "asymptotic",
            Self::Of(Range::Noise) => "noise",
            Self::Of(Range::Constant) => "constant",
            Self::Of(Range::Oscillating) => "oscillating",
            Self::Of(Range::Slow) => "slow",
            Self::Of(Range::Unsettled) => "unsettled",
            Self::TooFewMeshes => "too few meshes",
            Self::UnresolvedGap => "unresolved gap",
        })
    }
}

fn as_text<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl MeshValues {
    /// The numbers of a solution.
    pub fn new(problem: &Problem, solution: &Solution) -> Self {
        // The Coulomb energy does not depend on the mesh.
        let others =
            solution.quantities().into_iter().filter(|(key, _)| *key != Key::CoulombEnergy);
        Self {
            names: problem.conductors.names.clone(),
            columns: solution.columns.clone(),
            tolerance: solution.answer.tolerance,
            matrix: solution.matrices().maxwell_farad,
            others: others.collect(),
            matrix_bars: solution.matrix_bars().map(|bars| bars.maxwell_farad).unwrap_or_default(),
        }
    }
}

/// Every entry of the matrix on and above its diagonal, below which it is the same but for the
/// solver's error, and all other quantities, on `meshes` of which each has half the element size of
/// the one before. With a `gap` that the finest mesh does not resolve, nothing is estimated.
pub fn study_entries(meshes: &[MeshValues], gap: Option<Gap>) -> Vec<Entry> {
    let Some(last) = meshes.last() else { return Vec::new() };
    let mut entries = matrix_entries(meshes, last);
    entries.extend(other_entries(meshes, last));
    if gap.is_some() {
        entries.iter_mut().for_each(Entry::withdraw_estimate);
    }
    entries
}

fn matrix_entries(meshes: &[MeshValues], last: &MeshValues) -> Vec<Entry> {
    // The own capacitances of conductors that are not excited are unknown.
    let mut own = vec![0.0; last.names.len()];
    for (k, &j) in last.columns.iter().enumerate() {
        own[j] = last.matrix[j][k].abs();
    }
    let entry = |(i, k): (usize, usize)| {
        let j = last.columns[k];
        let bar = |mesh: &MeshValues| mesh.matrix_bars.get(i)?.get(k).copied();
        Entry::new(
            Key::Capacitance(MatrixEntry::new(&last.names, i, j)),
            Unit::Farad,
            meshes.iter().map(|mesh| mesh.matrix[i][k]).collect(),
            meshes.iter().map(|mesh| bar(mesh).filter(|bar| !bar.is_nan())).collect(),
            // The residual is that of potentials: charges follow with the conductors' own
            // capacitances.
            last.tolerance * own[i].max(own[j]),
        )
    };
    distinct_entries(last.names.len(), &last.columns).into_iter().map(entry).collect()
}

/// Entries of quantities other than the matrix. A quantity may be a sum that cancels, so its error
/// is relative to the largest in its unit.
fn other_entries(meshes: &[MeshValues], last: &MeshValues) -> Vec<Entry> {
    let largest = |unit: Unit| {
        let all = meshes.iter().flat_map(|mesh| &mesh.others);
        let all = all.filter(|(_, measured)| measured.unit == unit);
        all.fold(0.0_f64, |largest, (_, measured)| largest.max(measured.value.abs()))
    };
    let entry = |(index, (key, Measured { unit, .. })): (usize, &(Key, Measured))| {
        let on_meshes = meshes.iter().filter_map(|mesh| mesh.others.get(index));
        let (values, bars) = on_meshes.map(|(_, measured)| (measured.value, measured.bar)).unzip();
        Entry::new(key.clone(), *unit, values, bars, last.tolerance * largest(*unit))
    };
    last.others.iter().enumerate().map(entry).collect()
}

impl Entry {
    fn new(
        key: Key,
        unit: Unit,
        values: Vec<f64>,
        bars: Vec<Option<f64>>,
        solver_error: f64,
    ) -> Self {
        let estimate = convergence::estimate(&values, solver_error);
        let last = values.last().copied().unwrap_or(f64::NAN);
        Self {
            key,
            unit,
            values,
            bars,
            solver_error,
            verdict: estimate.map_or(Verdict::TooFewMeshes, |found| Verdict::Of(found.range)),
            order: estimate.and_then(|found| found.order),
            extrapolated: estimate.map_or(last, |found| found.limit),
            error: estimate.and_then(|found| found.error),
        }
    }

    fn withdraw_estimate(&mut self) {
        self.verdict = Verdict::UnresolvedGap;
        (self.order, self.error) = (None, None);
        self.extrapolated = self.values.last().copied().unwrap_or(f64::NAN);
    }
}

impl Problem {
    /// The narrowest gap between conductors, or between one and a grounded plane, for the size of
    /// the facets that face it, if that is too large to resolve what happens there.
    pub fn unresolved_gap(&self) -> Option<Gap> {
        let mesh = &self.mesh;
        let owner = &self.conductors.of_triangle;
        let grounds = self.description.grounds();
        let mut worst: Option<Gap> = None;
        for conductor in 0..self.conductors.names.len() as u32 {
            let all = 0..mesh.triangles.len() as u32;
            let (own, others): (Vec<u32>, Vec<u32>) = all
                .filter(|&t| owner[t as usize].is_some())
                .partition(|&t| owner[t as usize] == Some(conductor));
            let others = (!others.is_empty()).then(|| Locator::of_part(mesh, others));
            for &t in own.iter().step_by((own.len() / GAP_SAMPLES).max(1)) {
                let centroid = mesh.point(t as usize, [1.0 / 3.0; 3]);
                let to_ground = grounds.iter().map(|plane| (centroid[plane.axis] - plane.at).abs());
                let nearest = others.as_ref().and_then(|others| others.nearest(centroid));
                let width = to_ground.chain(nearest.map(|n| n.distance)).min_by(f64::total_cmp);
                let Some(width) = width else { continue };
                let facets = self.areas[t as usize].sqrt();
                let is_worse = |w: Gap| facets * w.width > w.facets * width;
                if facets > FACETS_OVER_GAP * width && worst.is_none_or(is_worse) {
                    worst = Some(Gap { width, facets });
                }
            }
        }
        worst
    }
}
