//! What lies across from an edge of flat metal, and its effect on the field next to the edge
//! (docs/math.md, "Films").
//!
//! Next to an edge the square of the field is c^2/r on the metal and off it, with r the distance
//! from the edge, as if the edge were alone. What lies across changes both, in opposite ways.

/// What lies across from an edge, or at its end: one over the distances to the next edge, across
/// the metal and across the gap next to it, and to a ground below or above; 0 without one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Across {
    /// Across the metal.
    pub metal: f64,
    /// Across the gap next to it.
    pub gap: f64,
    /// To the ground.
    pub ground: f64,
    /// The distances from a corner of the metal along the edge, in which the edge begins and ends.
    pub corner: Option<[f64; 2]>,
}

/// At a distance s from a corner along the edge the square within d is `AT_CORNER` c^2 d/(s +
/// `WIDTHS` d) more on the metal than off it, for each length: measured on a square.
const AT_CORNER: f64 = 0.75;
const WIDTHS: f64 = 8.0;

/// Next to the edge of a half-plane at a height h over a ground the square of the field that its
/// charge makes is c^2/r (1 + pi r/3h) on it and c^2/r (1 - pi r/3h) off it, by Maxwell's map
/// z = h/pi (1 + w + exp(w)).
pub const OF_GROUND: f64 = std::f64::consts::PI / 3.0;

/// Integral of the square within a cutoff on the metal, minus that off the metal.
#[derive(Clone, Copy, Debug, Default)]
pub struct More {
    /// For each c^2, along an edge and along what lies across from it.
    pub found: f64,
    /// Its difference from the first order in the cutoff.
    pub(crate) apart: f64,
}

impl Across {
    /// Factor of the density on metal at this distance: the field of flat metal is
    /// c/sqrt(r) over the root of (1 - r/metal) (1 + r/gap), exact for two half-planes, and for a
    /// strip alone.
    pub fn factor(self, r: f64) -> f64 {
        // No place is nearer to this edge than to that across beyond the middle.
        ((1.0 - (r * self.metal).min(0.5)) * (1.0 + r * self.gap)).sqrt().recip()
    }

    /// Integral of the square on metal minus that off it, where r is -r.
    pub fn more(self, cutoff: f64) -> More {
        // Of 1/(r (1 - through r) (1 + behind r)) - 1/r, to the middle at most, and its first
        // order.
        let side = |through: f64, behind: f64| {
            let reach = cutoff.min(0.5 / through);
            let logs = behind * (behind * reach).ln_1p() + through * (-through * reach).ln_1p();
            let both = through + behind;
            let found = if both > 0.0 { -logs / both } else { 0.0 };
            (found, reach * (through - behind), reach)
        };
        let (on_metal, first, reach) = side(self.metal, self.gap);
        let (beside, first_beside, reach_beside) = side(self.gap, self.metal);
        // The singular part itself, where one side is narrower than twice the cutoff.
        let over_ground = 2.0 * OF_GROUND * self.ground * cutoff;
        // What is across is nearer than the corner beyond that.
        let reaches = self.metal.max(self.gap).recip();
        let at_corner = self.corner.map_or(0.0, |[from, to]| {
            let [near, far] = [from, to].map(|s| s.min(reaches) + WIDTHS * cutoff);
            AT_CORNER * cutoff * (far / near).ln() / (to - from)
        });
        let found = (reach / reach_beside).ln() + on_metal - beside + over_ground + at_corner;
        More { found, apart: (on_metal - first).abs() + (beside - first_beside).abs() }
    }
}
