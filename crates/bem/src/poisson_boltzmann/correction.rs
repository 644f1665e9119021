//! Corrections for close panels: exact integrals minus the sums over points.

use parallel::prelude::*;

use super::close::{Scratch, Source};
use super::kernel::{Entries, Term, values};
use super::nodes::{MOST, Nodes, QuadraturePoint, Target};
use super::regions::Regions;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;
use crate::{Error, Progress, Stage};
use simd::{One, Simd};

/// Panels per task.
const TASK: usize = 64;

/// Which panels are close, and the accuracy of exact integrals over them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closeness {
    /// In radii of a panel.
    pub(super) reach: f64,
    /// Relative.
    pub(super) accuracy: f64,
}

/// Kernels between points of close panels, in one block per pair of panels. They stay where tasks
/// created them: for millions of panels they take gigabytes.
#[derive(Debug)]
pub(super) struct Correction {
    points: usize,
    /// Of each task.
    close: Vec<Close>,
    /// Of each task, shape (blocks, points of the panel, points of the other, kernels). In single
    /// precision: they are differences, smaller than what they correct.
    blocks: Vec<Vec<[f32; 4]>>,
}

/// The panels close to those of a task; each pair is a block.
#[derive(Debug)]
struct Close {
    /// Where the blocks of each panel begin, then the end.
    starts: Vec<u32>,
    /// The other panel of each block.
    sources: Vec<u32>,
}

impl Close {
    /// Blocks of a panel, given its number in the task.
    fn of(&self, panel: usize) -> std::ops::Range<usize> {
        self.starts[panel] as usize..self.starts[panel + 1] as usize
    }
}

/// Result of a task.
struct Part {
    close: Close,
    blocks: Vec<[f32; 4]>,
    /// Shape of `blocks`.
    transposed: Vec<f32>,
}

/// The kernels between two points, times the area of the second; zero if they coincide.
pub(super) fn between(terms: &[Term], x: &Target, y: QuadraturePoint) -> Entries {
    let QuadraturePoint { place, normal, weight } = y;
    let lanes = |v: Vec3| -> [One<f64>; 3] { [0, 1, 2].map(|k| One::splat(v[k])) };
    let found = values(terms, lanes(x.place - place), lanes(x.normal), lanes(normal * weight));
    Entries::from(found.map(|v| v.lanes()[0]))
}

/// Exact integrals over a panel minus the sum over its points, for each of them.
fn differences(
    nodes: &Nodes,
    source: &Source<'_>,
    panel: usize,
    target: &Target,
    terms: &[Term],
    accuracy: f64,
    scratch: &mut Scratch,
) -> [Entries; MOST] {
    let mut entries = source.entries(target, terms, accuracy, scratch);
    for (entry, node) in entries.iter_mut().zip(nodes.of_panel(panel)) {
        entry.add(-1.0, &between(terms, target, nodes.source(node)));
    }
    entries
}

impl Correction {
    pub(super) fn new(
        panels: &Panels,
        nodes: &Nodes,
        regions: &Regions,
        closeness: Closeness,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let (n, q) = (panels.len(), nodes.degree.points());
        let stencil = nodes.degree.stencil();
        let sources: Vec<Source<'_>> =
            nodes.patches.par_iter().map(|patch| Source::new(patch, stencil)).collect();
        let reach: Vec<f64> = (0..n).map(|i| closeness.reach * panels.radius(i)).collect();
        let search = Neighbours::new(panels.centroids(), &reach);
        let done = std::sync::atomic::AtomicU64::new(0);
        let of_task = |task: usize| {
            let (mut close, mut near) = (Close { starts: vec![0], sources: vec![] }, Vec::new());
            let (mut blocks, mut transposed) = (Vec::new(), Vec::new());
            let (mut terms, mut scratch) = (Vec::new(), Scratch::default());
            let mut walk = search.walk();
            let range = task * TASK..((task + 1) * TASK).min(n);
            for i in range.clone() {
                near.clear();
                walk.of(i, &mut near);
                for &j in &near {
                    let j = j as usize;
                    regions.terms(i, j, &mut terms);
                    if terms.is_empty() {
                        continue;
                    }
                    let source = &sources[j];
                    for (own, x) in nodes.of_panel(i).enumerate() {
                        let target = nodes.target(x, (i == j).then_some(own));
                        let accuracy = closeness.accuracy;
                        let found =
                            differences(nodes, source, j, &target, &terms, accuracy, &mut scratch);
                        let of = |e: &Entries| {
                            [e.single, e.double, e.adjoint, e.hypersingular].map(|v| v as f32)
                        };
                        blocks.extend(found[..q].iter().map(of));
                        transposed.extend(found[..q].iter().map(|e| e.transposed as f32));
                    }
                    close.sources.push(j as u32);
                }
                close.starts.push(close.sources.len() as u32);
            }
            let all = range.len() as u64;
            let so_far = done.fetch_add(all, std::sync::atomic::Ordering::Relaxed) + all;
            match progress.advance(Stage::NearField, so_far, n as u64) {
                true => {
                    blocks.shrink_to_fit();
                    Ok(Part { close, blocks, transposed })
                }
                false => Err(Error::Interrupted),
            }
        };
        let parts: Vec<Part> =
            (0..n.div_ceil(TASK)).into_par_iter().map(of_task).collect::<Result<_, Error>>()?;
        let (mut close, mut blocks, mut transposed) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            close.push(part.close);
            blocks.push(part.blocks);
            transposed.push(part.transposed);
        }
        let mut correction = Self { points: q, close, blocks };
        correction.transpose_on_flat(nodes, &transposed);
        Ok(correction)
    }

    /// Along edges of a polyhedron normal derivatives differ from those in the middle of its faces:
    /// the transposed double layer has their means, and so obeys Gauss's law.
    fn transpose_on_flat(&mut self, nodes: &Nodes, transposed: &[Vec<f32>]) {
        let q = self.points;
        let flat: Vec<bool> = nodes.patches.iter().map(Patch::is_straight).collect();
        let close = &self.close;
        // Closeness is symmetric, and each panel's close panels are in order.
        let of = |panel: usize, other: usize| {
            let of_task = &close[panel / TASK];
            let own = of_task.of(panel % TASK);
            let found = of_task.sources[own.clone()].binary_search(&(other as u32)).ok()?;
            Some((&transposed[panel / TASK], own.start + found))
        };
        self.blocks.par_iter_mut().enumerate().for_each(|(task, blocks)| {
            for own in 0..close[task].starts.len() - 1 {
                let i = task * TASK + own;
                for at in close[task].of(own) {
                    let j = close[task].sources[at] as usize;
                    let back = of(j, i).filter(|_| i != j && flat[i] && flat[j]);
                    let Some((transposed, back)) = back else { continue };
                    let block = &mut blocks[at * q * q..(at + 1) * q * q];
                    for (own, x) in nodes.of_panel(i).enumerate() {
                        for (other, y) in nodes.of_panel(j).enumerate() {
                            let ratio = (nodes.weights[y] / nodes.weights[x]) as f32;
                            let of_back = transposed[(back * q + other) * q + own];
                            block[own * q + other][2] = ratio * of_back;
                        }
                    }
                }
            }
        });
    }

    /// Number of blocks.
    pub(super) fn len(&self) -> usize {
        self.close.iter().map(|close| close.sources.len()).sum()
    }

    /// Adds the correction to the rows of a panel's points: to potentials and to normal
    /// derivatives.
    pub(super) fn rows(
        &self,
        panel: usize,
        potentials: &[f64],
        fluxes: &[f64],
    ) -> [[f64; MOST]; 2] {
        let q = self.points;
        let mut rows = [[0.0; MOST]; 2];
        let (close, blocks) = (&self.close[panel / TASK], &self.blocks[panel / TASK]);
        for block in close.of(panel % TASK) {
            let other = close.sources[block] as usize * q;
            let of_block = blocks[block * q * q..(block + 1) * q * q].chunks_exact(q);
            for (own, entries) in of_block.enumerate() {
                for (k, [single, double, adjoint, hypersingular]) in entries.iter().enumerate() {
                    let (u, flux) = (potentials[other + k], fluxes[other + k]);
                    rows[0][own] += f64::from(*single) * flux + f64::from(*double) * u;
                    rows[1][own] += f64::from(*adjoint) * flux + f64::from(*hypersingular) * u;
                }
            }
        }
        rows
    }

    /// The block of a panel and itself, shape (points, points).
    pub(super) fn own(&self, panel: usize) -> &[[f32; 4]] {
        let (close, blocks) = (&self.close[panel / TASK], &self.blocks[panel / TASK]);
        let q = self.points * self.points;
        let mut own = close.of(panel % TASK);
        let at = own.find(|&block| close.sources[block] as usize == panel);
        at.map_or(&[], |at| &blocks[at * q..(at + 1) * q])
    }
}
