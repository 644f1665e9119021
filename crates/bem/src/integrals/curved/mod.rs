//! Galerkin integrals of a pair of panels of which at least one is curved, with the modes of linear
//! functions on both, per unit of parameter area.
//!
//! Panels far apart use rules on both. Otherwise the integral is that of the flat triangles through
//! the same corners, in closed form, plus the difference of both kernels by quadrature: on panels
//! that touch by the transformations of [`touching`](super::touching), with more points until two
//! orders agree. Where no order is enough (fields of long panels that curve along each other, parts
//! that touch without common corners) panels are cut in two, and smaller parts are flatter.
//! Potentials of long panels take flat triangles that touch them where points are nearest
//! (`tangents`). Other panels that face each other across a gap much smaller than they are have
//! no rule at all: they are cut in four until closed forms of flat triangles are enough. These
//! triangles are the nearest to each part on average, so that gaps are right on average, and errors
//! are of the second order in the parts' deviation from flat.

mod close;
pub(super) mod nodes;
pub(super) mod pieces;
pub(super) mod tangents;

use std::array;
use std::f64::consts::PI;

use crate::geometry::patch::{CORNERS, Patch};
use crate::geometry::triangle::Triangle;
use crate::integrals::linear_nodes::Block;
use crate::integrals::linear_pair::{double_layer, single_layer, transposed};
use crate::integrals::pair::PairQuadrature;
use crate::integrals::potentials::WeightedPoints;
use crate::integrals::solid_angle::solid_angle_over;
use crate::integrals::touching::{Contact, ORDERS, PairNodes};
use crate::quadrature::MAX_TRIANGLE_DEGREE;
use crate::quadrature::curved_sums::{self, Points};
use crate::quadrature::modes::{MODES, of_corners};
use crate::quadrature::rule::Rule;
use nodes::{Fields, Potentials};
use pieces::{LONG, Piece, contact, cut, longness};

/// Accuracy of fields as a share of that of potentials, where solid angles need no better accuracy.
const OF_FIELDS: f64 = 0.3;

/// Loosest accuracy of potentials that may have errors of a size given.
const LOOSEST: f64 = 1e-3;

/// Corners closer than this, relative to the size of both panels, coincide: those of parts are
/// computed in two ways.
pub(super) const TOGETHER: f64 = 1e-12;

/// Cuts after which the remainder is accepted.
const CUTS: usize = 12;

/// Cuts in four after which close panels are accepted: each cut divides the error by eight and
/// multiplies the time by eight.
const CUTS_OF_CLOSE: usize = 5;

/// Entries between the modes of two panels.
pub type Entries = [[f64; MODES]; MODES];

/// The integrand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// 1 / |x - y|.
    Single,
    /// N_x . grad_x 1 / |x - y| with N = x_s cross x_t.
    Adjoint,
    /// [`Self::Adjoint`], also with x and y exchanged.
    Adjoints,
}

/// Entries with the first panel tested and a density on the second, and with the second tested: the
/// latter for [`Kernel::Adjoints`] only.
pub(crate) type Both = [Entries; 2];

/// Means between the linear functions of the corners: of the first piece, of the second, and the
/// other way around.
type Blocks = [Block; 2];

/// Integrals between two panels.
#[derive(Clone, Copy, Debug)]
pub struct CurvedPair {
    kernel: Kernel,
    quadrature: PairQuadrature,
    /// Accuracy of the solid angles of flat triangles.
    solid_angles: f64,
    accuracy: f64,
    /// Whether only the constant-constant entry is wanted.
    of_constants: bool,
    /// Error of a potential's entry that is always allowed.
    least: f64,
}

/// Error allowed for a pair, and number of cuts allowed.
#[derive(Clone, Copy)]
struct Limits {
    /// Allowed error of an entry.
    allowed: f64,
    cuts: usize,
    /// Cuts in four.
    fours: usize,
    /// Corners closer than this coincide.
    together: f64,
}

/// Scratch space of integrals.
pub type Scratch = WeightedPoints;

impl CurvedPair {
    /// Pairs with this kernel: potentials by `quadrature`, solid angles to this accuracy.
    pub fn new(kernel: Kernel, quadrature: PairQuadrature, solid_angles: f64) -> Self {
        let (accuracy, _) = quadrature.accuracy_and_increment();
        let accuracy = match kernel {
            Kernel::Single => accuracy,
            Kernel::Adjoint | Kernel::Adjoints => (OF_FIELDS * accuracy).max(solid_angles),
        };
        Self { kernel, quadrature, solid_angles, accuracy, of_constants: false, least: 0.0 }
    }

    /// The same if entries of linear modes are not used, and may be wrong: cheaper between close
    /// panels.
    pub(crate) fn of_constants(self) -> Self {
        Self { of_constants: true, ..self }
    }

    /// The same if entries of potentials may have errors as large as this.
    pub fn allowing(self, least: f64) -> Self {
        Self { least, ..self }
    }

    /// The accuracy that this potential of a pair asks for.
    fn for_potential(&self, potential: f64) -> Self {
        let (accuracy, increment) = self.quadrature.accuracy_and_increment();
        let accuracy = (self.least / potential).min(LOOSEST).max(accuracy);
        let quadrature = PairQuadrature::new(accuracy, increment);
        Self { quadrature, accuracy, ..*self }
    }

    /// int int m_k(s) m_l(t) k(x(s), y(t)) over the parameters of both panels, with areas 1: x is
    /// on `s`. To about the required accuracy, of the potential of flat panels or of the solid
    /// angle 2 pi, over the area of the larger panel.
    pub fn entries(&self, s: &Patch, t: &Patch, scratch: &mut Scratch) -> Both {
        // Coordinates relative to a corner have the precision of the panels' distance.
        let origin = -s.at(CORNERS[0]);
        let piece = |patch: &Patch| Piece::new(patch.moved(&origin), CORNERS, patch.is_straight());
        let (s, t) = (piece(s), piece(t));
        if self.kernel == Kernel::Single {
            let potential = t.flat.potential_at(&s.flat.centroid) / t.flat.area;
            return self.for_potential(potential).sum(&s, &t, potential, scratch);
        }
        // Each is divided by the area of the panel with the density: the smaller one allows less
        // error.
        let larger = match self.kernel {
            Kernel::Adjoints => t.flat.area.max(s.flat.area),
            _ => t.flat.area,
        };
        self.sum(&s, &t, 4.0 * PI * s.flat.area.min(t.flat.area) / larger, scratch)
    }

    /// Entries to the accuracy relative to this size.
    fn sum(&self, s: &Piece, t: &Piece, size: f64, scratch: &mut Scratch) -> Both {
        let allowed = self.accuracy * size;
        let together = TOGETHER * (s.flat.radius + t.flat.radius);
        let limits = Limits { allowed, cuts: CUTS, fours: CUTS_OF_CLOSE, together };
        let mut sum = Both::default();
        self.add(s, t, limits, scratch, &mut sum);
        sum
    }

    fn add(&self, s: &Piece, t: &Piece, limits: Limits, scratch: &mut Scratch, sum: &mut Both) {
        let Limits { allowed, cuts, together, .. } = limits;
        if let Some(degree) = self.degree_apart(s, t) {
            return self.add_apart(s, t, degree, sum);
        }
        let (contact, orders) = contact(&s.flat, &t.flat, together);
        let turned = [s.turned(orders[0]), t.turned(orders[1])];
        let [a, b] = &turned;
        if a.is_straight && b.is_straight {
            let blocks = self.flat(a, b, scratch);
            return self.add_blocks(a, b, &blocks, sum);
        }
        let is_long = longness(a).max(longness(b)) > LONG;
        if self.kernel == Kernel::Single && is_long {
            return self.add_narrow(contact, [a, b], limits, scratch, sum);
        }
        if contact == Contact::Apart && self.are_close(a, b) {
            let flat = self.flat_entries(s, t, scratch);
            return self.add_close([s, t], &flat, limits, scratch, sum);
        }
        if cuts > 0 && is_long {
            return self.add_cut(contact, [a, b], limits, scratch, sum);
        }
        // The first orders may agree by chance.
        let first = ORDERS.start() + usize::from(is_long || contact == Contact::Apart);
        // Differences of fields are no smoother than fields, and would need closed forms in
        // addition.
        let minus_flat = self.kernel == Kernel::Single;
        let (mut last, mut before): (Option<Both>, f64) = (None, f64::INFINITY);
        for order in first..=*ORDERS.end() {
            let mut entries = Both::default();
            let blocks = self.by_nodes(PairNodes::of(contact, order), a, b);
            self.add_blocks(a, b, &blocks, &mut entries);
            if let Some(last) = last {
                // The remaining error of this order is smaller than the change.
                let change = self.change(&entries, &last);
                if change <= allowed || cuts == 0 {
                    if minus_flat {
                        let flat = self.flat(a, b, scratch);
                        self.add_blocks(a, b, &flat, &mut entries);
                    }
                    return add_entries(&entries, 1.0, sum);
                }
                // If the remaining orders will not suffice, cutting is cheaper.
                let fall = (change / before).min(1.0);
                if change * fall.powi((ORDERS.end() - order) as i32) > allowed {
                    break;
                }
                before = change;
            }
            last = Some(entries);
        }
        self.add_cut(contact, [a, b], limits, scratch, sum);
    }

    /// Change of the wanted entries.
    fn change(&self, a: &Both, b: &Both) -> f64 {
        if !self.of_constants {
            return largest_change(a, b);
        }
        let even = |both: &Both| both.map(|entries| entries[0][0]);
        let (a, b) = (even(a), even(b));
        let (forth, back) = ((a[0] - b[0]).abs(), (a[1] - b[1]).abs());
        // NaN does not count as agreement.
        if forth <= back { back } else { forth }
    }

    fn add_cut(
        &self,
        contact: Contact,
        [s, t]: [&Piece; 2],
        limits: Limits,
        scratch: &mut Scratch,
        sum: &mut Both,
    ) {
        let pairs = cut(contact, s, t);
        // Both pairs of different halves of one piece have the same error, others independent ones.
        let variance = if contact == Contact::Same { 6 } else { pairs.len() };
        let allowed = limits.allowed / (variance as f64).sqrt();
        let limits = Limits { allowed, cuts: limits.cuts.saturating_sub(1), ..limits };
        pairs.iter().for_each(|(s, t)| self.add(s, t, limits, scratch, sum));
    }

    /// Degrees of rules that are accurate enough on both pieces, if these are far enough apart.
    fn degree_apart(&self, s: &Piece, t: &Piece) -> Option<[usize; 2]> {
        let between = (s.flat.centroid - t.flat.centroid).norm();
        let (a, b) = (s.radius(), t.radius());
        if between <= 1.2 * (a + b) {
            return None;
        }
        let more = if self.kernel == Kernel::Single { 1 } else { 2 };
        let quadrature = PairQuadrature::new(self.accuracy, 0);
        let degree = |radius, distance| -> Option<usize> {
            let degree = quadrature.degree(radius, distance)? + more;
            (degree <= MAX_TRIANGLE_DEGREE).then_some(degree)
        };
        Some([degree(a, between - b)?, degree(b, between - a)?])
    }

    /// Adds the sums over rules of these degrees.
    fn add_apart(&self, s: &Piece, t: &Piece, degrees: [usize; 2], sum: &mut Both) {
        let with_normals = self.kernel != Kernel::Single;
        let [first, second] = [(s, degrees[0]), (t, degrees[1])].map(|(piece, degree)| {
            let rule = Rule::of_degree(degree);
            Points::on_patch(rule, &piece.patch, with_normals.then_some(&piece.tangents))
        });
        let blocks = match self.kernel {
            Kernel::Single => [curved_sums::potentials(&first, &second), Block::default()],
            Kernel::Adjoint => [curved_sums::fields(&first, &second)[0], Block::default()],
            Kernel::Adjoints => curved_sums::fields(&first, &second),
        };
        // Between the modes of the pieces.
        let hats = |block: &Block| hats_of_modes(block);
        self.add_blocks(s, t, &blocks.each_ref().map(hats), sum);
    }

    /// The integrals over the flat triangles through the corners.
    fn flat(&self, s: &Piece, t: &Piece, scratch: &mut Scratch) -> Blocks {
        self.between_flat(&s.flat, &t.flat, scratch)
    }

    /// The integrals over flat triangles, between the linear functions of their corners.
    fn between_flat(&self, s: &Triangle, t: &Triangle, scratch: &mut Scratch) -> Blocks {
        let areas = s.area * t.area;
        let per = |block: Block, factor: f64| block.map(|row| row.map(|entry| factor * entry));
        if self.of_constants {
            return self.constants_between_flat(s, t, scratch);
        }
        if self.kernel == Kernel::Single {
            let block = single_layer(s, t, &self.quadrature, scratch);
            return [per(block, 1.0 / areas), Block::default()];
        }
        // The kernel is zero within one plane.
        if s.vertices == t.vertices {
            return Blocks::default();
        }
        let mut adjoint = |s: &Triangle, t: &Triangle| {
            let block = transposed(double_layer(t, s, self.solid_angles, scratch));
            per(block, 2.0 * s.area / areas)
        };
        let forth = adjoint(s, t);
        let back = if self.kernel == Kernel::Adjoints { adjoint(t, s) } else { Block::default() };
        [forth, back]
    }

    /// The same blocks, with only their sums correct.
    fn constants_between_flat(&self, s: &Triangle, t: &Triangle, scratch: &mut Scratch) -> Blocks {
        let spread = |value: f64| [[value / 9.0; 3]; 3];
        if self.kernel == Kernel::Single {
            let value = self.quadrature.single_layer_with(s, t, scratch);
            return [spread(value / (s.area * t.area)), Block::default()];
        }
        if s.vertices == t.vertices {
            return Blocks::default();
        }
        let mut adjoint = |s: &Triangle, t: &Triangle| {
            spread(2.0 * solid_angle_over(t, s, self.solid_angles, scratch) / t.area)
        };
        let forth = adjoint(s, t);
        let back = if self.kernel == Kernel::Adjoints { adjoint(t, s) } else { Block::default() };
        [forth, back]
    }

    /// Means over the nodes, for the linear functions of the corners; for the single layer minus
    /// that of the flat triangles.
    fn by_nodes(&self, nodes: &PairNodes, s: &Piece, t: &Piece) -> Blocks {
        match self.kernel {
            Kernel::Single => [simd::run(Potentials { nodes, s, t }), Block::default()],
            Kernel::Adjoint => simd::run(Fields::<false> { nodes, s, t }),
            Kernel::Adjoints => simd::run(Fields::<true> { nodes, s, t }),
        }
    }

    /// Adds means against the corners' functions of two pieces to those against the panels' modes.
    fn add_blocks(&self, s: &Piece, t: &Piece, blocks: &Blocks, sum: &mut Both) {
        // Normals include the area and the orientation of their piece.
        let factor = |tested: &Piece, other: &Piece| match self.kernel {
            Kernel::Single => tested.share.abs() * other.share.abs(),
            Kernel::Adjoint | Kernel::Adjoints => tested.share.signum() * other.share.abs(),
        };
        let [forth, back] = sum;
        add_block([s, t], factor(s, t), &blocks[0], forth);
        if self.kernel == Kernel::Adjoints {
            add_block([t, s], factor(t, s), &blocks[1], back);
        }
    }
}

/// Adds means against the corners' functions of two pieces to those against their panels' modes.
fn add_block([s, t]: [&Piece; 2], factor: f64, block: &Block, sum: &mut Entries) {
    let (of_s, of_t) = (s.modes(), t.modes());
    let mut rows = [[0.0; MODES]; 3];
    for k in 0..3 {
        for l in 0..3 {
            for n in 0..MODES {
                rows[k][n] += factor * block[k][l] * of_t[l][n];
            }
        }
    }
    for k in 0..3 {
        for m in 0..MODES {
            for n in 0..MODES {
                sum[m][n] += of_s[k][m] * rows[k][n];
            }
        }
    }
}

/// Means for the corners' functions from those for modes.
fn hats_of_modes(block: &Block) -> Block {
    const CORNERS: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let hats = CORNERS.map(of_corners);
    let of_row = |row: &[f64; MODES]| hats.map(|hat| (0..MODES).map(|m| hat[m] * row[m]).sum());
    let rows: [[f64; 3]; MODES] = block.each_ref().map(of_row);
    hats.map(|hat| array::from_fn(|l| (0..MODES).map(|m| hat[m] * rows[m][l]).sum()))
}

/// The largest difference of entries.
fn largest_change(a: &Both, b: &Both) -> f64 {
    let [a, b] = [a, b].map(|both| both.as_flattened().as_flattened());
    let both = a.iter().zip(b);
    // NaN does not count as agreement.
    both.map(|(a, b)| (a - b).abs()).fold(0.0, |most, d| if d <= most { most } else { d })
}

fn add_entries(entries: &Both, times: f64, sum: &mut Both) {
    let all = sum.as_flattened_mut().as_flattened_mut().iter_mut();
    all.zip(entries.as_flattened().as_flattened()).for_each(|(sum, entry)| *sum += times * entry);
}
