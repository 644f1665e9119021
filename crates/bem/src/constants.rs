//! Numbers that several modules share, or that are valid only together, each with its reason. A
//! number used by one algorithm alone is next to it.

// Defaults of a solve.

/// Relative residual at which a solve stops, and error of values at points. Below this rules have
/// more points (`FINE`) and near pairs more digits (`SINGLE`), at a cost that few meshes justify.
pub const TOLERANCE: f64 = 1e-6;

/// Krylov vectors before GMRES restarts; with [`GROUP`] they bound the memory of its bases.
pub(crate) const RESTART: usize = 60;

/// Iterations after which a solve stops unconverged.
pub(crate) const MAX_ITERATIONS: usize = 200;

/// Excitations that share one product with the operator, at most.
pub(crate) const GROUP: usize = 16;

// Entries of the matrix by the solver's tolerance (math.md, Near field).

/// From this tolerance up the coarser of two settings is enough.
pub(crate) const COARSE: f64 = 1e-5;

/// Below this tolerance more points are needed, and more distant pairs.
pub(crate) const FINE: f64 = 1e-6;

/// From this tolerance up the near field is stored in single precision: rounding costs 6e-8 of the
/// potential of close panels, which is itself a small share.
pub(crate) const SINGLE: f64 = 1e-6;

/// Diameters within which pairs are examined from [`COARSE`] up, and always for linear densities,
/// whose moments decay more slowly than charges do. Not a distance of a lattice: where sheets face
/// each other, both or neither of two panels must be within reach.
pub(crate) const COARSE_REACH: f64 = 3.05;

/// The same below [`COARSE`], where rules have more points.
pub(crate) const FINE_REACH: f64 = 2.05;

/// Accuracy of exact solid angles, unless a solve needs more.
pub(crate) const SOLID_ANGLES: f64 = 1e-6;

/// Share of the tolerance allowed to solid angles in whole rows, and in close pairs below [`FINE`],
/// because errors of many pairs add up (measured: a dense matrix of 4,096 rows is off by 5e-6 with
/// 1 and by 2e-9 with 0.03 at 1e-6).
pub(crate) const OF_SOLID_ANGLES: f64 = 0.03;

// Points of different panels that come close to each other, in units of panel size.

/// Distance of the points of adjacent regular panels, about.
pub(crate) const SIDE_BY_SIDE: f64 = 0.1;

/// If points come closer than this and potentials cancel, the near field is stored in double
/// precision regardless of [`SINGLE`] (measured: at 0.014, 4e-6 in C of two plates).
pub(crate) const FACING: f64 = 0.03;

/// Points closer than this add terms to the gradient that cancel against the correction, which
/// needs double precision.
pub(crate) const COINCIDENT: f64 = 0.03;

/// As [`COINCIDENT`], for potentials alone, which lose as many digits as the difference of points.
pub(crate) const COINCIDENT_POTENTIALS: f64 = 1e-3;

/// Error that near pairs in single precision leave in potentials, times the distance of points
/// (measured: 2e-6 at 0.014, between plates).
pub(crate) const ROUNDING: f64 = 3e-8;

// The fast sum.

/// The fast sum's tolerance as a share of the solver's: its error must not dominate the residual.
pub(crate) const SHARE: f64 = 0.3;

/// The smallest tolerance that a fast sum can meet.
pub const TIGHTEST: f64 = 1e-12;

/// How often a fast sum that proves too inaccurate is replaced by a tighter one.
pub(crate) const TIGHTENINGS: usize = 2;

/// Points at which the fast sum is compared with direct sums at the end.
pub(crate) const SAMPLES: usize = 1000;

/// Up to this number of pairs of points are summed directly in double precision: one by one that
/// takes about two seconds on two cores, in vector lanes about as long as planning a fast sum.
pub(crate) const DIRECT_SUMS: usize = 1_000_000_000;

// Rounding in the geometry of a pair, relative to its size.

/// Keeps the logarithm finite on an edge, where its factor d_i vanishes. Far below any squared
/// distance that the scaled geometry can distinguish from zero, far above the smallest number.
pub const ON_EDGE: f64 = 1e-200;

/// Vertices nearer to a plane or to each other than this coincide.
pub(crate) const TOGETHER: f64 = 1e-13;

/// A vertex this far from a plane lies in it; what is neglected is of the same relative size,
pub(crate) const IN_PLANE: f64 = 1e-12;

/// so that pair integrals have no higher relative accuracy than this.
pub(crate) const LEAST_ACCURACY: f64 = IN_PLANE;

/// Panels lie on one sheet, or on two that may face each other, if the product of their normals is
/// larger than this; `kernels/bem/preconditioner.cu` has it, too.
pub(crate) const PARALLEL: f64 = 0.25;

// Values that cancel.

/// A value below this share of the largest action has no digits left.
pub(crate) const NO_DIGITS: f64 = 1e-10;

/// A closed surface whose images cancel all but this share of its area has no flux. Nonzero shares
/// are sums of whole panels, at least some 1e-8; rounding leaves 1e-13 for ten million panels.
pub(crate) const CANCELLED: f64 = 1e-10;

/// Where a charge can be computed in two ways, the second is used if it amplifies errors this many
/// times less than the first: the free charge of metal from the flux outside a closed surface, an
/// entry of the capacitance matrix from its transpose.
pub(crate) const AMPLIFIED: f64 = 10.0;

// States that need further iterations because the action on a body is a small part of the terms
// that add up there.

/// Continue iterating while a body's residual exceeds this multiple of the tolerance, relative to
/// the action on that body: relative to the largest potential of all, the charge of other bodies
/// may have no digits.
pub(crate) const WEAK: f64 = 3.0;

/// Such a state is solved once more, with finer integrals, if its residual by whole rows exceeds
/// this multiple of the tolerance, relative to the action on a body.
pub(crate) const BY_WHOLE_ROWS: f64 = 3.0;

/// Promised residual of such a state ([`Prepared::refine`](crate::Prepared::refine)), relative to
/// the action on each body, where the tolerance is smaller: the action may be a small part of the
/// terms that add up.
pub const RESIDUAL_PER_FIELD: f64 = 1e-3;
