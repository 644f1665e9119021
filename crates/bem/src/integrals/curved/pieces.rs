//! Parts of panels, how two of them touch, and how pairs are cut.

use std::array;

use crate::geometry::patch::{Parameters, Part, Parts, Patch, Tangents, between};
use crate::geometry::triangle::Triangle;
use crate::integrals::touching::Contact;
use crate::quadrature::modes::{AT_CORNERS, MODES};

/// Panels are long if the longest edge over the height above it exceeds this: orders converge more
/// slowly on longer panels.
pub(super) const LONG: f64 = 4.0;

/// A part of a panel.
#[derive(Clone)]
pub(super) struct Piece {
    pub(super) patch: Patch,
    pub(super) tangents: Tangents,
    pub(super) flat: Triangle,
    /// As [`Patch::bulge`].
    pub(super) bulge: f64,
    pub(super) is_straight: bool,
    /// Parameters of its corners in the panel.
    pub(super) corners: [Parameters; 3],
    /// Share of the panel's parameters, negative for the opposite orientation.
    pub(super) share: f64,
}

impl Piece {
    pub(super) fn new(patch: Patch, corners: [Parameters; 3], is_straight: bool) -> Self {
        let [a, b, c] = corners;
        let share = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        let (tangents, flat) = (patch.tangents(), Triangle::of(patch.corners()));
        let bulge = patch.bulge();
        Self { patch, tangents, flat, bulge, is_straight, corners, share }
    }

    fn part(&self, part: &Part) -> Self {
        let in_panel = part.corners.map(|corner| between(&self.corners, corner));
        Self::new(self.patch.part(part), in_panel, self.is_straight)
    }

    /// The same piece with its corners in this order.
    pub(super) fn turned(&self, order: [usize; 3]) -> Self {
        match order {
            [0, 1, 2] => self.clone(),
            [first, a, b] => self.part(&Parts::all().turned[first][usize::from(a > b)]),
        }
    }

    /// Its quarters.
    pub(super) fn quarters(&self) -> [Self; 4] {
        Parts::all().quarters.each_ref().map(|part| self.part(part))
    }

    /// The flat triangle that replaces it in sums of which it is a small part.
    pub(super) fn nearest_flat(&self) -> Triangle {
        if self.is_straight { self.flat } else { Triangle::of(self.patch.nearest_flat()) }
    }

    /// Its halves, cut through the middle of the edge from corner k.
    fn halves(&self, k: usize) -> [Self; 2] {
        Parts::all().halves[k].each_ref().map(|part| self.part(part))
    }

    fn longest_edge(&self) -> usize {
        let lengths = &self.flat.lengths;
        (0..3).fold(0, |k, l| if lengths[l] > lengths[k] { l } else { k })
    }

    /// Values of the panel's modes at its corners, shape (corners, modes).
    pub(super) fn modes(&self) -> [[f64; MODES]; 3] {
        self.corners.map(|[s, t]| {
            let at =
                |m: usize| [1.0 - s - t, s, t].iter().zip(&AT_CORNERS).map(|(b, c)| b * c[m]).sum();
            array::from_fn(at)
        })
    }

    /// Radius of a ball around the flat triangle's centroid.
    pub(super) fn radius(&self) -> f64 {
        self.flat.radius + self.bulge
    }
}

/// How the triangles touch, and the corner orders that move the contact to the front.
pub(in crate::integrals) fn contact(
    s: &Triangle,
    t: &Triangle,
    together: f64,
) -> (Contact, [[usize; 3]; 2]) {
    let mut same = Vec::with_capacity(3);
    for (k, x) in s.vertices.iter().enumerate() {
        for (l, y) in t.vertices.iter().enumerate() {
            if (x - y).norm() <= together {
                same.push([k, l]);
            }
        }
    }
    let order = |side: usize| {
        let first = same.iter().map(|pair| pair[side]);
        let rest = (0..3).filter(|k| !same.iter().any(|pair| pair[side] == *k));
        let mut order = [0; 3];
        first.chain(rest).zip(&mut order).for_each(|(k, to)| *to = k);
        order
    };
    let contact = match same.len() {
        0 => Contact::Apart,
        1 => Contact::Vertex,
        2 => Contact::Edge,
        _ => Contact::Same,
    };
    (contact, [order(0), order(1)])
}

/// Height above the longest edge.
fn height(piece: &Piece) -> f64 {
    2.0 * piece.flat.area / piece.flat.diameter()
}

/// Longest edge over the height above it.
pub(super) fn longness(piece: &Piece) -> f64 {
    piece.flat.diameter() / height(piece)
}

/// Pairs of parts that together cover the pair.
pub(super) fn cut(contact: Contact, s: &Piece, t: &Piece) -> Vec<(Piece, Piece)> {
    let products = |a: [Piece; 2], b: [Piece; 2]| -> Vec<(Piece, Piece)> {
        a.iter().flat_map(|a| b.iter().map(move |b| (a.clone(), b.clone()))).collect()
    };
    let (of_s, of_t) = (s.longest_edge(), t.longest_edge());
    match contact {
        Contact::Same => products(s.halves(of_s), t.halves(of_s)),
        // The edge of both is from corner 0 to corner 1.
        Contact::Edge if of_s == 0 || of_t == 0 => products(s.halves(0), t.halves(0)),
        _ if longness(s).max(LONG) * s.flat.diameter()
            >= longness(t).max(LONG) * t.flat.diameter() =>
        {
            s.halves(of_s).into_iter().map(|half| (half, t.clone())).collect()
        }
        _ => t.halves(of_t).into_iter().map(|half| (s.clone(), half)).collect(),
    }
}
