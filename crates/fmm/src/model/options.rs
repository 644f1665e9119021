//! What a caller may choose about a sum.

use cuda::Precision;

use super::stop::Stop;
use crate::error::Error;

/// What a source adds at distance r.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Kernel {
    /// 1/r.
    #[default]
    Laplace,
    /// exp(-kappa r) / r, kappa in units of the inverse of the coordinates'; with kappa = 0 that is
    /// [`Kernel::Laplace`].
    Yukawa {
        /// Inverse of the screening length, finite and not negative.
        kappa: f64,
    },
}

impl Kernel {
    /// Inverse of the screening length; 0 without screening.
    pub fn kappa(self) -> f64 {
        match self {
            Self::Laplace => 0.0,
            Self::Yukawa { kappa } => kappa,
        }
    }

    /// Checks the range of kappa.
    ///
    /// # Errors
    /// [`Error::Option`] for a kappa below 0 or not finite.
    pub fn check(self) -> Result<(), Error> {
        let kappa = self.kappa();
        if kappa.is_finite() && kappa >= 0.0 {
            return Ok(());
        }
        let (option, value) = ("kernel", format!("Yukawa with kappa = {kappa}"));
        Err(Error::Option { option, value, allowed: "0 or more, finite" })
    }

    /// Checks that the points, of these lowest and highest coordinates, are no more screening
    /// lengths apart than expansions can hold.
    pub(crate) fn check_extent(self, [low, high]: [[f64; 3]; 2]) -> Result<(), Error> {
        // Negative and infinite of no points.
        let extent = (0..3).map(|i| high[i] - low[i]).fold(0.0, f64::max);
        let kappa = self.kappa();
        if kappa == 0.0 || kappa * extent <= MOST_SCREENED {
            return Ok(());
        }
        Err(Error::Option {
            option: "kernel",
            value: format!("Yukawa with kappa = {kappa:e} over points {extent:.2e} apart"),
            allowed: "kappa times the extent of the points is at most 1e9 (beyond, no point feels another); give both in \
                      the same unit of length",
        })
    }
}

/// kappa times the extent of the points at most: numbers of single precision then hold what
/// screening makes of any distance.
const MOST_SCREENED: f64 = 1e9;

/// How the sum is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Multipole and local expansions, O(N).
    #[default]
    Fmm,
    /// Multipole expansions evaluated at the targets: for targets far fewer than the sources.
    Treecode,
    /// All pairs.
    Direct,
    /// What takes the least time to plan and to apply once, by the cost model of processor or GPU;
    /// [`Info`](crate::Info) says which. With [`Backend::Hybrid`] that is [`Mode::Fmm`].
    Auto,
}

/// Where the sum is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// CPU cores.
    #[default]
    Cpu,
    /// A GPU for the points, CPU cores for the translations meanwhile; other modes than
    /// [`Mode::Fmm`] are summed by the GPU alone.
    Hybrid,
    /// A GPU, all of it.
    Cuda,
    /// A GPU where there is one and it pays, CPU cores otherwise; [`Info`](crate::Info) says which
    /// and why.
    Auto,
}

impl Backend {
    /// The one for results that are the same to the bit each time, with the same points, options,
    /// number of threads and instruction set: CPU cores. Their sums are cut and added in an order
    /// that does not depend on how threads share the work.
    ///
    /// # Errors
    /// [`Error::NotDeterministic`] where a GPU is asked for: its threads add to common sums in
    /// whatever order they come (atomic additions of expansions and potentials).
    pub fn deterministic(self) -> Result<Self, Error> {
        match self {
            Self::Cpu | Self::Auto => Ok(Self::Cpu),
            Self::Cuda => Err(Error::NotDeterministic { backend: "cuda" }),
            Self::Hybrid => Err(Error::NotDeterministic { backend: "hybrid" }),
        }
    }
}

/// Which pairs of boxes the far field translates between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stencil {
    /// Boxes of one level only: 189 translations per interior box on a full tree.
    Full,
    /// A child's multipole may go to its neighbour's parent's local expansion: 119
    /// (\[Gumerov2008\], section 2.2.3).
    Reduced,
    /// Likewise, and also where the two are a little closer than the rule for equal boxes allows,
    /// with larger truncation numbers: 77.
    Shortest,
}

/// How the truncation number of each translation is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncation {
    /// One truncation number for all translations.
    Fixed,
    /// Paper 001, eq. 24: equal worst-case bounds.
    WorstCaseBound,
    /// From measured rms errors of each translation class, weighted by what the class contributes.
    #[default]
    Measured,
}

::options::options! {
    /// Choices for one [`Plan`](crate::Plan); `Default` asks for 1e-6 and leaves the rest to the
    /// cost model.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Options {
        /// What is summed.
        kernel: Kernel = Kernel::default(),
        /// Relative L2 error of the potential (and of the gradient, if planned) for charges of
        /// random sign, 1e-13 ..= 0.5. Below about 1e-11 strongly clustered points may miss it, and
        /// below 1e-8 points that all lie at corners of their boxes, as those of a small lattice
        /// may: truncation numbers end at 60, on a GPU before that. A lone charge, or a few, at the
        /// corner of a box may miss it by a fifth, with a GPU by more: their error is that of
        /// single translations, of which only the mean is bounded.
        tolerance: f64 = 1e-6,
        /// Floating-point format of near field and expansions; `None` takes single precision where
        /// the tolerance allows it, down to about 1e-5. Coincidence of points is always decided in
        /// double precision.
        precision: Option<Precision> = None,
        /// How the sum is done.
        mode: Mode = Mode::default(),
        /// Most points that a leaf may hold; `None` asks the cost model.
        leaf_size: Option<usize> = None,
        /// Largest truncation number p (p^2 coefficients), 1 ..= 60; `None` takes it from the
        /// tolerance.
        truncation_number: Option<usize> = None,
        /// Which pairs of boxes are translated between; `None`: on a CPU the shortest in single
        /// precision from a tolerance of 1e-5 on, else the reduced one.
        stencil: Option<Stencil> = None,
        /// How p' of each translation is chosen.
        truncation: Truncation = Truncation::default(),
        /// Densities usually passed to one `apply`; tunes the leaf size.
        densities: usize = 1,
        /// Whether `apply` may be asked for gradients.
        gradient: bool = false,
        /// Whether `apply` may be given dipoles.
        dipoles: bool = false,
        /// Where the sum is computed.
        backend: Backend = Backend::default(),
        /// Which GPU, counted from 0.
        gpu: usize = 0,
        /// What ends sums before they are through, if anything shall; not those that ranks share.
        stop: Option<Stop> = None,
    }
}

impl Options {
    /// Checks every range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let bad = |option, value: String, allowed| Err(Error::Option { option, value, allowed });
        if !(1e-13..=0.5).contains(&self.tolerance) {
            return bad("tolerance", self.tolerance.to_string(), "1e-13 to 0.5");
        }
        self.kernel.check()?;
        if self.leaf_size == Some(0) {
            return bad("leaf_size", "0".into(), "1 or more");
        }
        if let Some(p) = self.truncation_number.filter(|p| !(1..=60).contains(p)) {
            return bad("truncation_number", p.to_string(), "1 to 60");
        }
        Ok(())
    }
}
