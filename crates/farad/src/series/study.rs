//! Convergence of solutions on refined meshes: orders, limits, errors.

use bem::convergence::{self, Range};
use mesh::locate::Locator;

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

/// Results on a sequence of meshes, each with half the element size of the one before.
#[derive(Clone, Debug, Default)]
pub struct Study {
    names: Vec<String>,
    columns: Vec<usize>,
    matrices: Vec<Vec<Vec<f64>>>,
    others: Vec<Vec<(Key, Measured)>>,
    /// Of the matrices; empty where a solution has none.
    matrix_bars: Vec<Vec<Vec<f64>>>,
    tolerance: f64,
}

/// What a study takes from the solution on a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct OfMesh {
    /// The conductors, and which of them are excited.
    pub names: Vec<String>,
    /// See there.
    pub columns: Vec<usize>,
    /// The solver's.
    pub tolerance: f64,
    /// The Maxwell matrix in farad, shape (conductors, columns).
    pub matrix: Vec<Vec<f64>>,
    /// All other numbers.
    pub others: Vec<(Key, Measured)>,
    /// Bars of the matrix; empty if there are none.
    pub matrix_bars: Vec<Vec<f64>>,
}

/// One number of the result on all meshes.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it is.
    pub key: Key,
    /// Of its values, bars and errors.
    pub unit: Unit,
    /// On each mesh.
    pub values: Vec<f64>,
    /// Error bar of each value, of its mesh alone; `None` where there is none.
    pub bars: Vec<Option<f64>>,
    /// Error of each value that does not come from the mesh.
    pub solver_error: f64,
    /// Whether the rest may be relied on.
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
    /// What the values say.
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

impl OfMesh {
    /// Of a solution.
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
            matrix_bars: solution.matrix_bars().map(|of| of.maxwell_farad).unwrap_or_default(),
        }
    }
}

impl Study {
    /// Adds the solution on the next mesh.
    pub fn add(&mut self, problem: &Problem, solution: &Solution) {
        self.push(OfMesh::new(problem, solution));
    }

    /// Adds what the next mesh gave.
    pub fn push(&mut self, mesh: OfMesh) {
        let OfMesh { names, columns, tolerance, matrix, others, matrix_bars } = mesh;
        (self.names, self.columns, self.tolerance) = (names, columns, tolerance);
        self.matrices.push(matrix);
        self.others.push(others);
        self.matrix_bars.push(matrix_bars);
    }

    /// Every entry of the matrix on and above its diagonal, below which it is the same but for the
    /// solver's error, and all other quantities. With a `gap` that the finest mesh does not
    /// resolve, nothing is estimated.
    pub fn entries(&self, gap: Option<Gap>) -> Vec<Entry> {
        let mut entries = self.of_matrix();
        entries.extend(self.of_others());
        if gap.is_some() {
            entries.iter_mut().for_each(Entry::without_estimate);
        }
        entries
    }

    fn of_matrix(&self) -> Vec<Entry> {
        let Some(last) = self.matrices.last() else { return Vec::new() };
        // Of conductors that are not excited their own capacitances are not known.
        let mut own = vec![0.0; self.names.len()];
        self.columns.iter().zip(0..).for_each(|(&j, k): (&usize, usize)| own[j] = last[j][k].abs());
        distinct_entries(self.names.len(), &self.columns)
            .into_iter()
            .map(|(i, k)| {
                let j = self.columns[k];
                let values = self.matrices.iter().map(|matrix| matrix[i][k]).collect();
                // The residual is that of potentials: charges follow with the conductors' own
                // capacitances.
                let solver_error = self.tolerance * own[i].max(own[j]);
                let bar = |bars: &Vec<Vec<f64>>| bars.get(i).and_then(|row| row.get(k)).copied();
                let of = |bars: &Vec<Vec<f64>>| bar(bars).filter(|bar| !bar.is_nan());
                let bars = self.matrix_bars.iter().map(of).collect();
                let key = Key::Capacitance(MatrixEntry::new(&self.names, i, j));
                entry(key, Unit::Farad, values, bars, solver_error)
            })
            .collect()
    }

    /// Quantities on all meshes; what is a sum that cancels has the error of the largest in its
    /// unit.
    fn of_others(&self) -> Vec<Entry> {
        let Some(first) = self.others.first() else { return Vec::new() };
        let largest = |unit: Unit| {
            let all = self.others.iter().flatten().filter(|(_, found)| found.unit == unit);
            all.fold(0.0_f64, |largest, (_, found)| largest.max(found.value.abs()))
        };
        let each = |(index, (key, Measured { unit, .. })): (usize, &(Key, Measured))| {
            let found = self.others.iter().filter_map(|mesh| mesh.get(index));
            let (values, bars) = found.map(|(_, found)| (found.value, found.bar)).unzip();
            entry(key.clone(), *unit, values, bars, self.tolerance * largest(*unit))
        };
        first.iter().enumerate().map(each).collect()
    }
}

fn entry(
    key: Key,
    unit: Unit,
    values: Vec<f64>,
    bars: Vec<Option<f64>>,
    solver_error: f64,
) -> Entry {
    let found = convergence::estimate(&values, solver_error);
    let last = values.last().copied().unwrap_or(f64::NAN);
    Entry {
        key,
        unit,
        values,
        bars,
        solver_error,
        verdict: found.map_or(Verdict::TooFewMeshes, |found| Verdict::Of(found.range)),
        order: found.and_then(|found| found.order),
        extrapolated: found.map_or(last, |found| found.limit),
        error: found.and_then(|found| found.error),
    }
}

impl Entry {
    /// Withdraws the estimate.
    fn without_estimate(&mut self) {
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
