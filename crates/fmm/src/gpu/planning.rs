//! How a plan on the device sums distant boxes, and what that needs: lists, truncation numbers,
//! expansions.

use cuda::Device;

use super::expansions::Expansions;
use super::hybrid::Host;
use super::lists::{Boxes, Lists};
use super::points::Points;
use super::relative::Relative;
use super::tree::Tree;
use super::treecode::{self, Treecode};
use super::truncation::{self, Chosen, Sampler};
use super::{far_matrices, on_host, tuning};
use crate::expansions::screened::Screening;
use crate::model;
use crate::treecode::TARGETS;
use crate::truncation::TruncationNumbers;
use crate::{Error, Mode, Options, Precision, Stencil};

/// Sizes of leaves.
pub(super) struct Leaves {
    /// Points that a leaf may hold: sources, targets.
    pub(super) sizes: [usize; 2],
    /// Points per leaf that the root's size is fitted to; none: the root is not fitted.
    pub(super) occupancy: Option<f64>,
}

impl Leaves {
    pub(super) fn new(
        callers: model::Points<'_>,
        options: &Options,
        precision: Precision,
        hybrid: bool,
    ) -> Self {
        let (n, m) =
            (callers.sources.len(), callers.targets.map_or(callers.sources.len(), <[_]>::len));
        let occupancy = match options.mode {
            Mode::Fmm if hybrid => tuning::hybrid_occupancy(options, precision),
            Mode::Treecode => tuning::treecode_occupancy(options, precision),
            Mode::Fmm | Mode::Auto => tuning::occupancy(options, precision),
            Mode::Direct => tuning::direct_occupancy(n, m),
        };
        let size = options.leaf_size.unwrap_or((2.0 * occupancy) as usize);
        let of_treecode = options.mode == Mode::Treecode;
        // A treecode's leaves need not be of one size.
        let fits = options.leaf_size.is_none() && !of_treecode;
        Self {
            sizes: [size, if of_treecode { size.min(TARGETS) } else { size }],
            occupancy: fits.then_some(occupancy),
        }
    }
}

/// How distant boxes are summed.
pub(super) enum Far {
    /// All pairs of points are near.
    Direct,
    /// By evaluation of multipole expansions at targets.
    Treecode(Box<treecode::Chosen>),
    /// By translations on the device.
    Fmm(Stencil),
    /// By translations on the host.
    Hybrid(Stencil),
}

/// The expansions of a plan.
pub(super) struct FarField {
    pub(super) numbers: TruncationNumbers,
    pub(super) expansions: Expansions,
    /// Who translates in a hybrid plan.
    pub(super) host: Option<Host>,
    pub(super) treecode: Option<Treecode>,
    /// Evaluations of one box at one target.
    pub(super) m2p_count: u64,
}

/// Points in boxes, for which the rest is planned.
pub(super) struct Planning<'a> {
    pub(super) device: &'a Device,
    pub(super) callers: model::Points<'a>,
    pub(super) points: &'a Points<'a>,
    pub(super) tree: &'a Tree,
    pub(super) screening: Screening,
    pub(super) options: &'a Options,
    pub(super) precision: Precision,
}

impl Planning<'_> {
    /// Chooses how distant boxes are summed.
    pub(super) fn far(&self, hybrid: bool) -> Result<Far, Error> {
        let Self { callers, points, tree, screening, options, precision, .. } = *self;
        Ok(match options.mode {
            Mode::Direct | Mode::Auto => Far::Direct,
            Mode::Treecode => {
                let chosen = treecode::choose(callers, points, tree, screening, options)?;
                Far::Treecode(Box::new(chosen))
            }
            // What is near here must not be far on the CPU.
            Mode::Fmm if hybrid => Far::Hybrid(crate::tuning::stencil(options, precision)),
            Mode::Fmm => Far::Fmm(options.stencil.unwrap_or(Stencil::Reduced)),
        })
    }

    pub(super) fn lists(&self, far: &Far) -> Result<Lists, Error> {
        let Self { device, tree, .. } = *self;
        Ok(match far {
            Far::Direct => Lists::new(device, tree, None)?,
            Far::Treecode(chosen) => Lists::of_rows(device, tree, &chosen.lists.near)?,
            Far::Fmm(stencil) | Far::Hybrid(stencil) => Lists::new(device, tree, Some(*stencil))?,
        })
    }

    /// Truncation numbers and expansions; `leaf_size`: of sources.
    pub(super) fn far_field(
        &self,
        far: Far,
        lists: &Lists,
        relative: &Relative,
        leaf_size: usize,
    ) -> Result<FarField, Error> {
        let Self { device, callers, points, tree, screening, options, precision } = *self;
        let boxes = Boxes { tree, lists };
        match far {
            Far::Hybrid(_) => {
                let host = Host::new(device, callers, points, leaf_size, options, precision)?;
                let numbers = host.numbers().clone();
                let stride = |p: usize| Host::stride(precision, p);
                let expansions =
                    Expansions::untranslated(device, precision, tree, &numbers, stride)?;
                Ok(FarField { numbers, expansions, host: Some(host), treecode: None, m2p_count: 0 })
            }
            Far::Treecode(chosen) => {
                let (treecode, m2p_count) =
                    Treecode::new(device, precision, screening, callers, &chosen)?;
                let numbers = chosen.numbers.clone();
                let field = self.translated(boxes, Chosen { batches: Vec::new(), numbers })?;
                Ok(FarField { treecode: Some(treecode), m2p_count, ..field })
            }
            Far::Fmm(stencil) if screening.is_some() && truncation::is_measured(lists, options) => {
                let options = &Options { stencil: Some(stencil), ..options.clone() };
                let chosen =
                    on_host::choose(callers, points, leaf_size, lists, options, precision)?;
                self.translated(boxes, chosen)
            }
            Far::Direct | Far::Fmm(_) => {
                let side = points.root.side;
                let sampler = Sampler::new(device, boxes, relative, side, precision);
                self.translated(boxes, truncation::choose(&sampler, options)?)
            }
        }
    }

    /// Expansions that the device translates.
    fn translated(&self, boxes: Boxes<'_>, chosen: Chosen) -> Result<FarField, Error> {
        let Self { device, screening, precision, .. } = *self;
        let limit = far_matrices::limit(device);
        let expansions = Expansions::new(device, precision, screening, boxes, &chosen, limit)?;
        let numbers = chosen.numbers;
        Ok(FarField { numbers, expansions, host: None, treecode: None, m2p_count: 0 })
    }
}
