//! The treecode on the device: lists and truncation numbers that the CPU makes of the device's
//! boxes, and how M2P takes them (docs/math.md, "Treecode").
//!
//! Points are sorted and boxes made on the device, all of them. Targets are few, so lists are
//! short: the CPU's traversal takes less time than its result would take to make there.

use cuda::{Buffer, Device, Error, Reals};
use parallel::prelude::*;

use super::kernels::m2p::{self, TARGETS};
use super::kernels::{Kernel, count};
use super::layouts::Evaluation;
use super::{layouts, points, tree};
use crate::expansions::screened::Screening;
use crate::expansions::screened_tables::ScreenedTables;
use crate::geometry::far_rows::FarRows;
use crate::model::Points;
use crate::tree::lists::Lists;
use crate::tree::{Cell, MortonOrder, Tree};
use crate::truncation::{P_MAX, PointSets, TruncationNumbers};
use crate::{Options, Precision, treecode};

/// Evaluations by one launch: up to this truncation number, by which they have shared memory.
const UP_TO: [usize; 9] = [5, 7, 10, 13, 17, 22, 30, 42, P_MAX];

/// Bytes of shared memory of one warp, if one box takes no more: as few as let many be on one
/// processor.
const SHARED: usize = 40 << 10;

/// Evaluations of about as many terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    pub(super) first: usize,
    pub(super) count: usize,
    /// Largest truncation number.
    pub(super) p: usize,
    /// Boxes of an evaluation at most.
    pub(super) boxes: usize,
}

/// What M2P goes through.
#[derive(Debug)]
pub(super) struct Treecode {
    pub(super) launches: Vec<Launch>,
    pub(super) evaluations: Buffer<Evaluation>,
    /// Far boxes, each with its truncation number in the upper half.
    pub(super) boxes: Buffer<u64>,
    /// The caller's targets in Morton order.
    pub(super) targets: Buffer<f64>,
    /// With screening, what multipoles are in units of: truncation numbers of each level.
    pub(super) corners: Reals,
}

/// Boxes of an evaluation with truncation number `p`, as many as fit.
fn boxes_of(p: usize, precision: Precision, screened: bool) -> usize {
    let fits = |boxes: &usize| shared(p, *boxes, precision, [screened, true]) as usize <= SHARED;
    [32, 16, 8, 4, 2].into_iter().find(fits).unwrap_or(1)
}

/// From one step of the walk through harmonics to the next, for the boxes of an evaluation: odd, so
/// that neighbours are in different banks whichever way they are read.
pub(super) fn pitch(boxes: usize) -> usize {
    boxes | 1
}

/// Bytes of shared memory of an evaluation.
pub(super) fn shared(
    p: usize,
    boxes: usize,
    precision: Precision,
    [screened, gradient]: [bool; 2],
) -> u32 {
    let functions = usize::from(screened) * (1 + usize::from(gradient)) * 32 * p;
    ((3 * TARGETS + functions + p * (p + 1) * pitch(boxes)) * precision.bytes()) as u32
}

/// The CPU's twin of the device's boxes.
fn twin(tree: &tree::Tree) -> Result<Tree, Error> {
    let mut cells = vec![layouts::Cell::default(); tree.len()];
    tree.cells.read(0, &mut cells)?;
    let of = |cell: &layouts::Cell| Cell {
        place: cell.place,
        level: cell.level as u8,
        child_count: cell.child_count as u8,
        first_child: cell.first_child,
        parent: cell.parent,
        sources: cell.sources[0]..cell.sources[1],
        targets: cell.targets[0]..cell.targets[1],
    };
    let levels = tree.levels.windows(2).map(|ends| ends[0]..ends[1]).collect();
    Ok(Tree { cells: cells.iter().map(of).collect(), levels })
}

/// An order without keys.
fn order(on_device: &tree::MortonOrder) -> Result<MortonOrder, Error> {
    // All threads touch its memory first: that takes longer than the copy.
    let mut index: Vec<u32> = (0..on_device.index.len()).into_par_iter().map(|_| 0).collect();
    on_device.index.read(0, &mut index)?;
    Ok(MortonOrder { keys: Vec::new(), index })
}

/// What the CPU decides.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) lists: Lists,
    pub(super) numbers: TruncationNumbers,
    far: FarRows,
    tree: Tree,
    target_order: Option<MortonOrder>,
    source_order: MortonOrder,
}

/// Lists and truncation numbers of the device's boxes.
pub(super) fn choose(
    callers: Points<'_>,
    on_device: &points::Points<'_>,
    tree: &tree::Tree,
    screening: Screening,
    options: &Options,
) -> Result<Chosen, Error> {
    let tree = twin(tree)?;
    let source_order = order(&on_device.sources.1)?;
    let target_order = on_device.targets.as_ref().map(|(_, o)| order(o)).transpose()?;
    let sources = (&source_order, callers.sources);
    let targets = target_order.as_ref().zip(callers.targets).unwrap_or(sources);
    let sets = PointSets { root: &on_device.root, screening, tree: &tree, sources, targets };
    let direct = super::tuning::direct_sources(options);
    let (lists, far, numbers) = treecode::settle(&sets, &|_| false, direct, options);
    Ok(Chosen { lists, numbers, far, tree, target_order, source_order })
}

impl Treecode {
    /// Brings what has been chosen to the device, with the number of evaluations of one box at one
    /// target.
    pub(super) fn new(
        device: &Device,
        precision: Precision,
        screening: Screening,
        callers: Points<'_>,
        chosen: &Chosen,
    ) -> Result<(Self, u64), Error> {
        let Chosen { numbers, far, tree, target_order, source_order, .. } = chosen;
        let terms = |entry: usize| usize::from(far.orders[entry]) - far.for_gradients;
        let boxes = far.entries.iter().enumerate();
        let boxes: Vec<u64> =
            boxes.map(|(i, &cell)| (terms(i) as u64) << 32 | u64::from(cell)).collect();
        let mut by_terms: [Vec<Evaluation>; UP_TO.len()] = Default::default();
        for (row, &cell) in far.cells.iter().enumerate() {
            let targets = &tree.cells[cell as usize].targets;
            let mut entries = far.range(row);
            // Those without terms are last.
            while entries.start < entries.end && terms(entries.start) > 0 {
                let p = terms(entries.start);
                let class = UP_TO.iter().position(|&most| p <= most).unwrap_or(UP_TO.len() - 1);
                let most = boxes_of(UP_TO[class], precision, screening.is_some());
                let boxes = most.min(entries.len());
                let evaluation = |target: u32| Evaluation {
                    cell,
                    entry: count(entries.start),
                    target,
                    boxes: boxes as u16,
                    targets: (TARGETS as u32).min(targets.end - target) as u16,
                };
                by_terms[class].extend(targets.clone().step_by(TARGETS).map(evaluation));
                entries.start += boxes;
            }
        }
        let (mut launches, mut first) = (Vec::new(), 0);
        // The longest first, so that short ones fill the processors in the end.
        for (&p, evaluations) in UP_TO.iter().zip(&by_terms).rev() {
            let count = evaluations.len();
            if count > 0 {
                let boxes = boxes_of(p, precision, screening.is_some());
                launches.push(Launch { first, count, p: p.min(numbers.max()), boxes });
            }
            first += count;
        }
        by_terms.reverse();
        let sets = (target_order.as_ref(), callers.targets);
        let (index, points) = match sets {
            (Some(order), Some(targets)) => (&order.index, targets),
            _ => (&source_order.index, callers.sources),
        };
        let targets: Vec<[f64; 3]> = index.iter().map(|&i| points[i as usize]).collect();
        let treecode = Self {
            launches,
            evaluations: device.upload(&by_terms.concat())?,
            boxes: device.upload(&boxes)?,
            targets: device.upload(targets.as_flattened())?,
            corners: corners(device, precision, screening, numbers)?,
        };
        Ok((treecode, far.evaluations()))
    }
}

/// What the radial functions are at the corners of each level's boxes; nothing without screening.
fn corners(
    device: &Device,
    precision: Precision,
    screening: Screening,
    numbers: &TruncationNumbers,
) -> Result<Reals, Error> {
    let width = numbers.max().max(1);
    let mut values = Vec::new();
    if let Some(tables) = ScreenedTables::<f64>::new(screening, numbers) {
        for (&p, level) in numbers.multipole.iter().zip(&tables.multipole) {
            values.extend((0..width).map(|n| if n < p { level.corner(n) } else { 0.0 }));
        }
    }
    Reals::upload(device, precision, values)
}

/// M2P of a plan with these launches.
pub(super) fn kernel(
    device: &Device,
    precision: Precision,
    treecode: &Treecode,
    [screened, gradient]: [bool; 2],
) -> Result<Kernel<m2p::M2p>, Error> {
    let macros = [
        precision.as_macro(),
        ("GRADIENT", usize::from(gradient)),
        ("SCREENED", usize::from(screened)),
    ];
    let kernel = Kernel::with(device, &macros)?;
    let bytes =
        treecode.launches.iter().map(|l| shared(l.p, l.boxes, precision, [screened, gradient]));
    kernel.allow_shared(bytes.max().unwrap_or(0))?;
    Ok(kernel)
}
