//! Geometry worked once, charges many times.

use crate::{Error, Mode, Options, Precision, direct};

/// Source strengths of one `apply`: k densities over n sources, in the caller's order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Densities<'a> {
    /// Charges q, shape (k, n).
    pub charges: Option<&'a [f64]>,
    /// Dipole moments d, shape (k, n, 3): a source adds `d . (x - y) / |x - y|^3`.
    pub dipoles: Option<&'a [f64]>,
}

/// Where one `apply` writes its sums: k densities at m targets, in the caller's order; what was there is overwritten.
#[derive(Debug, Default)]
pub struct Potentials<'a> {
    /// Potential, shape (k, m).
    pub potential: Option<&'a mut [f64]>,
    /// Gradient with respect to the target, shape (k, m, 3).
    pub gradient: Option<&'a mut [f64]>,
}

/// What a plan resolved to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// Floating-point format of near field and expansions.
    pub precision: Option<Precision>,
    /// How the sum is done.
    pub mode: Mode,
    /// Largest truncation number of any expansion.
    pub truncation_number: usize,
    /// Mean truncation number p' over all M2L translations.
    pub mean_translation_order: f64,
    /// Most points a leaf may hold.
    pub leaf_size: usize,
    /// Deepest level of the octree; the root is level 0.
    pub depth: usize,
    /// M2L translations of one `apply` with one density.
    pub m2l_count: u64,
    /// M2L translations per target box that receives any.
    pub m2l_per_box: f64,
    /// Source-target pairs that P2P sums.
    pub p2p_pairs: u64,
    /// Seconds that `Plan::new` took.
    pub setup_seconds: f64,
    /// Bytes that the plan holds.
    pub memory_bytes: u64,
}

/// Wall seconds of the stages of the last `apply`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageSeconds {
    /// Particles to multipoles.
    pub p2m: f64,
    /// Multipoles to the parent's.
    pub m2m: f64,
    /// Multipoles to locals.
    pub m2l: f64,
    /// Locals to the children's.
    pub l2l: f64,
    /// Locals to particles.
    pub l2p: f64,
    /// Near pairs.
    pub p2p: f64,
    /// The whole of `apply`.
    pub total: f64,
}

/// A sum whose geometry has been worked out.
#[derive(Debug)]
pub struct Plan {
    sources: Vec<[f64; 3]>,
    targets: Option<Vec<[f64; 3]>>,
    options: Options,
    info: Info,
    stages: StageSeconds,
}

impl Plan {
    /// Plans the sum over `sources` at `targets`; with `None` the targets are the sources.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::TooMany`], [`Error::Option`].
    pub fn new(
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
    ) -> Result<Self, Error> {
        let m = targets.map_or(sources.len(), <[_]>::len);
        let info = Info {
            precision: Some(Precision::Double),
            mode: Mode::Direct,
            p2p_pairs: sources.len() as u64 * m as u64,
            ..Info::default()
        };
        Ok(Self {
            sources: sources.to_vec(),
            targets: targets.map(<[_]>::to_vec),
            options: options.clone(),
            info,
            stages: StageSeconds::default(),
        })
    }

    /// Sums `densities` into `potentials`. The number of densities k follows from the arrays' lengths.
    ///
    /// # Errors
    /// [`Error::Length`] when an array does not fit, [`Error::NotPlanned`].
    pub fn apply(
        &mut self,
        densities: Densities<'_>,
        mut potentials: Potentials<'_>,
    ) -> Result<(), Error> {
        let _ = &self.options;
        let started = std::time::Instant::now();
        let targets = self.targets.as_deref().unwrap_or(&self.sources);
        direct::sum(&self.sources, targets, densities, &mut potentials)?;
        self.stages.p2p = started.elapsed().as_secs_f64();
        self.stages.total = self.stages.p2p;
        Ok(())
    }

    /// What the plan resolved to.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Stages of the last `apply`.
    pub fn stages(&self) -> &StageSeconds {
        &self.stages
    }
}
