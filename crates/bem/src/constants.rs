//! Numbers that several modules share, or that hold only together, each with its reason. What one
//! algorithm alone uses is next to it.

// Defaults of a solve.

/// Relative residual to which a solve goes, and error of values at points. Below this rules have
/// more points (`FINE`) and near pairs more digits (`SINGLE`), at a cost that few meshes are
/// worth.
pub const TOLERANCE: f64 = 1e-6;

/// Krylov vectors before GMRES restarts; with [`GROUP`] they bound the memory of its bases.
pub(crate) const RESTART: usize = 60;

/// Iterations after which a solve is given up.
pub(crate) const MAX_ITERATIONS: usize = 200;

/// Excitations that share one product with the operator at most.
pub(crate) const GROUP: usize = 16;

// Entries of the matrix by the solver's tolerance (math.md, Near field).

/// Tolerances from here on are content with the coarser of two settings.
pub(crate) const COARSE: f64 = 1e-5;

/// Those below this want more points, and pairs from farther away.
pub(crate) const FINE: f64 = 1e-6;

/// Tolerances from here on let the near field be stored in single precision: rounding takes 6e-8 of
/// the potential of close panels, which is itself a small share.
pub(crate) const SINGLE: f64 = 1e-6;

/// Diameters within which pairs are examined from [`COARSE`] on, and everywhere for linear
/// densities, whose moments fade more slowly than charges do. No distance of a lattice: where
/// sheets face each other, both or neither of two panels must be within reach.
pub(crate) const COARSE_REACH: f64 = 3.05;

/// The same below [`COARSE`], where rules have more points.
pub(crate) const FINE_REACH: f64 = 2.05;

/// Accuracy of exact solid angles, unless a solve asks for more.
pub(crate) const SOLID_ANGLES: f64 = 1e-6;

/// Errors of the solid angles of many pairs add up: in whole rows, and in those of close pairs
/// below [`FINE`], they are this share of the tolerance (measured: a dense matrix of 4,096 rows is
/// off by 5e-6 with 1 and by 2e-9 with 0.03 at 1e-6).
pub(crate) const OF_SOLID_ANGLES: f64 = 0.03;

// Points of different panels that come close to each other, in sizes of a panel.

/// Points of regular panels side by side are about this far apart.
pub(crate) const SIDE_BY_SIDE: f64 = 0.1;

/// If points come closer than this and potentials cancel, the near field is stored in double
/// precision whatever [`SINGLE`] says (measured: at 0.014, 4e-6 in C of two plates).
pub(crate) const FACING: f64 = 0.03;

/// Points closer than this add terms to the gradient that cancel against the correction, which
/// needs double precision.
pub(crate) const COINCIDENT: f64 = 0.03;

/// The same where there are potentials alone, of which the sum has no more than the difference
/// between points.
pub(crate) const COINCIDENT_POTENTIALS: f64 = 1e-3;

/// What near pairs in single precision leave in potentials, times how far points are apart
/// (measured: 2e-6 at 0.014, between plates).
pub(crate) const ROUNDING: f64 = 3e-8;

// The fast sum.

/// The fast sum's tolerance as a share of the solver's: its error must not be what the residual is
/// made of.
pub(crate) const SHARE: f64 = 0.3;

/// The least tolerance that a fast sum can meet.
pub const TIGHTEST: f64 = 1e-12;

/// How often a fast sum that proves too rough is replaced by a tighter one.
pub(crate) const TIGHTENINGS: usize = 2;

/// Points at which the fast sum is compared with direct sums at the end.
pub(crate) const SAMPLES: usize = 1000;

/// Up to so many pairs of points are summed directly in double precision: one by one about two
/// seconds of two cores, in lanes about as long as a fast sum takes to plan.
pub(crate) const DIRECT_SUMS: usize = 1_000_000_000;

// Rounding in the geometry of a pair, relative to its size.

/// Keeps the logarithm finite on an edge, where its factor d_i vanishes. Far below any square of a
/// distance that the scaled geometry can tell from zero, far above the smallest number.
pub const ON_EDGE: f64 = 1e-200;

/// Vertices nearer to a plane or to each other than this are one.
pub(crate) const TOGETHER: f64 = 1e-13;

/// A vertex this far from a plane lies in it; what is neglected is of the same relative size,
pub(crate) const IN_PLANE: f64 = 1e-12;

/// so that pair integrals have no higher relative accuracy than this.
pub(crate) const LEAST_ACCURACY: f64 = IN_PLANE;

/// Panels lie on one sheet, or on two that may face each other, if the product of their normals is
/// larger than this; `kernels/bem/preconditioner.cu` has it, too.
pub(crate) const PARALLEL: f64 = 0.25;

// Values that cancel.

/// What is smaller than this share of the largest action has no digits left.
pub(crate) const NO_DIGITS: f64 = 1e-10;

/// A closed surface whose images take away all but this share of its area has no flux. Shares that
/// are not 0 are sums of whole panels, some 1e-8 at the least; rounding leaves 1e-13 of ten million
/// panels.
pub(crate) const CANCELLED: f64 = 1e-10;

/// Where two ways lead to a charge, the second is taken if it amplifies errors this many times less
/// than the first: the free charge of metal from the flux outside of a closed surface, an entry of
/// the capacitance matrix from its transpose.
pub(crate) const AMPLIFIED: f64 = 10.0;

// States that are solved on for, where what acts on a body is a small part of what adds up there.

/// Residuals of so many tolerances relative to what acts on a body are solved on for: in the
/// largest potential of all the charge of others may have no digits.
pub(crate) const WEAK: f64 = 3.0;

/// Such a state is solved once more, with finer integrals, where whole rows leave more than so many
/// tolerances of what acts on a body.
pub(crate) const BY_WHOLE_ROWS: f64 = 3.0;

/// What the residual of such a state ([`Prepared::refine`](crate::Prepared::refine)) is promised to
/// be, relative to what acts on each body, where the tolerance is smaller: action may be a small
/// part of what the sums add up.
pub const OF_ACTION: f64 = 1e-3;
