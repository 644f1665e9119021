//! Which boxes reach which.

use parallel::prelude::*;

use crate::boxes::{Boxes, Key};

/// Rows of variable length, one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows<T> {
    /// Where each row begins, and the end of the last.
    pub(crate) offsets: Vec<usize>,
    pub(crate) entries: Vec<T>,
}

impl<T: Send + Copy> Rows<T> {
    /// Joins the rows of parallel jobs, each with the lengths of its rows.
    pub(crate) fn join(parts: Vec<(Vec<u32>, Vec<T>)>) -> Self {
        let mut offsets = vec![0];
        let mut entries = Vec::with_capacity(parts.iter().map(|(_, e)| e.len()).sum());
        let mut end = 0;
        for (lengths, part) in parts {
            for length in lengths {
                end += length as usize;
                offsets.push(end);
            }
            entries.extend(part);
        }
        Self { offsets, entries }
    }

    #[inline(always)]
    pub(crate) fn row(&self, i: usize) -> &[T] {
        &self.entries[self.offsets[i]..self.offsets[i + 1]]
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<usize>() * self.offsets.len() + size_of::<T>() * self.entries.len()
    }
}

/// Boxes whose points may be within the cut-off: for each column of boxes, displaced by the first
/// two numbers, those up to the third one apart along the last axis.
#[derive(Clone, Debug)]
pub(crate) struct Reach(Vec<[i64; 3]>);

impl Reach {
    /// Reach of a cut-off radius over boxes of side `side`, along the last `dimensions` axes.
    pub(crate) fn new(radius: f64, side: f64, dimensions: usize) -> Self {
        // Points of boxes d apart along an axis are at least (d - 1) sides apart.
        let square = (radius / side).powi(2);
        let most = (radius / side).floor() as i64 + 1;
        let gap = |d: i64| ((d.abs() - 1).max(0) as f64).powi(2);
        let along = |axis: usize| if axis + dimensions >= 3 { -most..=most } else { 0..=0 };
        let mut rows = Vec::new();
        for dx in along(0) {
            for dy in along(1) {
                let rest = square - gap(dx) - gap(dy);
                if rest >= 0.0 {
                    rows.push([dx, dy, rest.sqrt().floor() as i64 + 1]);
                }
            }
        }
        Self(rows)
    }
}

/// Boxes that one job handles.
const JOB: usize = 256;

/// For each box of `boxes` the runs of boxes of `others` within reach: first and past the last.
pub(crate) fn runs(boxes: &Boxes, others: &Boxes, reach: &Reach) -> Rows<(u32, u32)> {
    let others = &others.boxes[..];
    let search = |key: &Key| others.partition_point(|other| other.key < *key);
    let jobs = boxes.boxes.par_chunks(JOB).map(|job| {
        let (mut lengths, mut entries) = (Vec::with_capacity(job.len()), Vec::new());
        // The first box within reach moves on with the box that is asked for.
        let mut cursors: Vec<Option<usize>> = vec![None; reach.0.len()];
        for point_box in job {
            let before = entries.len();
            let [x, y, z] = point_box.key;
            for (&[dx, dy, dz], cursor) in reach.0.iter().zip(&mut cursors) {
                let low = [x + dx, y + dy, z - dz];
                let high = [x + dx, y + dy, z + dz];
                let mut begin = cursor.unwrap_or_else(|| search(&low));
                let mut steps = 0;
                while begin < others.len() && others[begin].key < low {
                    begin += 1;
                    steps += 1;
                    if steps == 16 {
                        begin = search(&low);
                    }
                }
                *cursor = Some(begin);
                let mut end = begin;
                while end < others.len() && others[end].key <= high {
                    end += 1;
                }
                if end > begin {
                    entries.push((begin as u32, end as u32));
                }
            }
            lengths.push((entries.len() - before) as u32);
        }
        (lengths, entries)
    });
    Rows::join(jobs.collect())
}
