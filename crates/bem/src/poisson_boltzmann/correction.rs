//! What integrals over close panels add to sums over points: exact integrals less those sums.

use rayon::prelude::*;

use super::close::{Scratch, Source, Target};
use super::kernel::{Entries, Term, values};
use super::nodes::{MOST, Nodes};
use super::regions::Regions;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;
use crate::{Error, Progress, Stage};
use simd::{One, Simd};

/// Panels of one task.
const TASK: usize = 64;

/// Which panels are close, and how exact integrals over them are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closeness {
    /// In radii of a panel.
    pub(super) reach: f64,
    /// Relative.
    pub(super) accuracy: f64,
}

/// Kernels between points of close panels, in blocks of panel and panel.
#[derive(Debug)]
pub(super) struct Correction {
    points: usize,
    /// Where the blocks of a panel begin.
    starts: Vec<usize>,
    /// The other panel of each block.
    sources: Vec<u32>,
    /// Shape (blocks, points of the panel, points of the other, kernels). In single precision: they
    /// are differences, smaller than what they correct.
    blocks: Vec<[f32; 4]>,
}

/// The blocks of some panels.
#[derive(Default)]
struct Part {
    counts: Vec<usize>,
    sources: Vec<u32>,
    blocks: Vec<[f32; 4]>,
    /// Shape of `blocks`.
    transposed: Vec<f32>,
}

/// The kernels between two points, times the area of the second; nothing if they coincide.
pub(super) fn between(terms: &[Term], x: &Target, y: (Vec3, Vec3, f64)) -> Entries {
    let (place, normal, weight) = y;
    let lanes = |v: Vec3| -> [One<f64>; 3] { [0, 1, 2].map(|k| One::splat(v[k])) };
    let found = values(terms, lanes(x.place - place), lanes(x.normal), lanes(normal * weight));
    Entries::from(found.map(|v| v.lanes()[0]))
}

/// Exact integrals over a panel, less the sum over its points, for each of them.
pub(super) fn differences(
    nodes: &Nodes,
    source: &Source<'_>,
    panel: usize,
    target: &Target,
    (terms, accuracy): (&[Term], f64),
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
            let (mut part, mut near) = (Part::default(), Vec::new());
            let (mut terms, mut scratch) = (Vec::new(), Scratch::default());
            let mut walk = search.walk();
            let range = task * TASK..((task + 1) * TASK).min(n);
            for i in range.clone() {
                near.clear();
                walk.of(i, &mut near);
                let before = part.sources.len();
                for &j in &near {
                    let j = j as usize;
                    regions.terms(i, j, &mut terms);
                    if terms.is_empty() {
                        continue;
                    }
                    let source = &sources[j];
                    for (own, x) in nodes.of_panel(i).enumerate() {
                        let target = nodes.target(x, (i == j).then_some(own));
                        let how = (&terms[..], closeness.accuracy);
                        let found = differences(nodes, source, j, &target, how, &mut scratch);
                        let of = |e: &Entries| {
                            [e.single, e.double, e.adjoint, e.hypersingular].map(|v| v as f32)
                        };
                        part.blocks.extend(found[..q].iter().map(of));
                        part.transposed.extend(found[..q].iter().map(|e| e.transposed as f32));
                    }
                    part.sources.push(j as u32);
                }
                part.counts.push(part.sources.len() - before);
            }
            let all = range.len() as u64;
            let so_far = done.fetch_add(all, std::sync::atomic::Ordering::Relaxed) + all;
            match progress.advance(Stage::NearField, so_far, n as u64) {
                true => Ok(part),
                false => Err(Error::Interrupted),
            }
        };
        let parts: Vec<Part> =
            (0..n.div_ceil(TASK)).into_par_iter().map(of_task).collect::<Result<_, Error>>()?;
        let mut correction = Self {
            points: nodes.degree.points(),
            starts: vec![0],
            sources: Vec::with_capacity(parts.iter().map(|part| part.sources.len()).sum()),
            blocks: Vec::with_capacity(parts.iter().map(|part| part.blocks.len()).sum()),
        };
        let (mut at, mut transposed) = (0, Vec::with_capacity(correction.blocks.capacity()));
        for part in parts {
            for count in part.counts {
                at += count;
                correction.starts.push(at);
            }
            correction.sources.extend(part.sources);
            correction.blocks.extend(part.blocks);
            transposed.extend(part.transposed);
        }
        correction.transpose_on_flat(nodes, &transposed);
        Ok(correction)
    }

    /// Along edges of a polyhedron normal derivatives are not what they are in the middle of its
    /// sides: the transposed layer of dipoles has their means, and with it Gauss's law.
    fn transpose_on_flat(&mut self, nodes: &Nodes, transposed: &[f32]) {
        let q = self.points;
        let flat: Vec<bool> = nodes.patches.iter().map(Patch::is_straight).collect();
        let (starts, sources) = (&self.starts, &self.sources);
        // Panels are close to each other, and each one's others in order.
        let of = |panel: usize, other: usize| {
            let own = &sources[starts[panel]..starts[panel + 1]];
            own.binary_search(&(other as u32)).ok().map(|at| starts[panel] + at)
        };
        let mut rest = &mut self.blocks[..];
        let mut of_panels = Vec::with_capacity(flat.len());
        for panel in 0..flat.len() {
            let count = q * q * (starts[panel + 1] - starts[panel]);
            let (own, more) = std::mem::take(&mut rest).split_at_mut(count);
            of_panels.push(own);
            rest = more;
        }
        of_panels.into_par_iter().enumerate().for_each(|(i, blocks)| {
            let others = &sources[starts[i]..starts[i + 1]];
            for (block, &j) in blocks.chunks_exact_mut(q * q).zip(others) {
                let j = j as usize;
                let Some(back) = of(j, i).filter(|_| i != j && flat[i] && flat[j]) else {
                    continue;
                };
                for (own, x) in nodes.of_panel(i).enumerate() {
                    for (other, y) in nodes.of_panel(j).enumerate() {
                        let ratio = (nodes.weights[y] / nodes.weights[x]) as f32;
                        let of_back = transposed[(back * q + other) * q + own];
                        block[own * q + other][2] = ratio * of_back;
                    }
                }
            }
        });
    }

    /// Blocks of panel and panel.
    pub(super) fn len(&self) -> usize {
        self.sources.len()
    }

    /// What it adds to the rows of a panel's points: to potentials, to normal derivatives.
    pub(super) fn rows(
        &self,
        panel: usize,
        potentials: &[f64],
        fluxes: &[f64],
    ) -> [[f64; MOST]; 2] {
        let q = self.points;
        let mut rows = [[0.0; MOST]; 2];
        for block in self.starts[panel]..self.starts[panel + 1] {
            let other = self.sources[block] as usize * q;
            let of_block = self.blocks[block * q * q..(block + 1) * q * q].chunks_exact(q);
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
        let (from, to) = (self.starts[panel], self.starts[panel + 1]);
        let q = self.points * self.points;
        let at = self.sources[from..to].iter().position(|&j| j as usize == panel);
        at.map_or(&[], |at| &self.blocks[(from + at) * q..(from + at + 1) * q])
    }
}
