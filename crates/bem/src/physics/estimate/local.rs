//! Local problems on the children of a panel, in constants or linear functions.

use std::f64::consts::PI;

use super::super::system::System;
use super::products::Products;
use super::values::Values;
use crate::geometry::triangle::{Triangle, Vec3};

/// Children of a panel.
pub(super) const CHILDREN: usize = 4;

/// One panel's shares of all energies, and the sides' if wanted.
pub(super) struct Shares {
    pub(super) products: Products,
    pub(super) sides: Option<Vec<[f64; 3]>>,
}

/// `N` functions on the children of a panel, of which `ADDED` combinations are no functions of the
/// panel's own density. Values are at as many positions.
pub(super) trait ChildFunctions<const N: usize, const ADDED: usize>: Sized {
    /// With the single-layer integrals between all of them, times `factor`.
    fn new(system: &System, i: usize, factor: f64, at: &Values) -> Self;
    /// The potential missing on a conductor, tested with all functions.
    fn missing(&self, held: f64, potential: &[f64; N]) -> [f64; N];
    /// A potential tested with the added functions, given that tested with all.
    fn against_added(tested: &[f64; N]) -> [f64; ADDED];
    /// Coefficients of the added functions that correct potentials tested with them.
    fn solve(&self, right: &[[f64; ADDED]]) -> Vec<[f64; ADDED]>;
    /// Charges on children, or at their corners, of these added functions.
    fn charges(&self, density: &[f64; ADDED]) -> [f64; N];
    /// Shares of the energy on a conductor, by sides, given the missing potential, tested with all
    /// functions and with those added, and the coefficients of the latter.
    fn sides(
        &self,
        permittivity: f64,
        tested: &[f64; N],
        right: &[f64; ADDED],
        density: &[f64; ADDED],
    ) -> [f64; 3];
    /// The remaining jump of eps du/dn on an interface with unknowns `x`, as a function on the
    /// children without its part in the panel's own density.
    fn jump(system: &System, i: usize, x: &[f64], normal_derivative: &[f64; N]) -> [f64; N];
    /// The potential, tested or without its mean, with that of these densities.
    fn with_potential_of(&self, densities: &[f64; N], potential: &[f64; N]) -> [f64; N];
    /// A jump of eps du/dn divided by -4 pi: free charge, which should not be there.
    fn free_charge(&self, jump: &[f64; N]) -> [f64; N];
    /// Shares of the error on an interface, by sides.
    fn sides_of_interface(&self, potential: &[f64; N], jump: &[f64; N]) -> [f64; 3];
}

/// The charges missing on the children of panel `i`, held at a potential or, on an interface, with
/// unknowns `x`; values are those of excitation 0.
pub(super) fn missing<F: ChildFunctions<N, ADDED>, const N: usize, const ADDED: usize>(
    system: &System,
    i: usize,
    held: Option<f64>,
    x: &[f64],
    at: &Values,
) -> [f64; N] {
    let Some(held) = held else {
        let [front, back] = system.rows.permittivity(i);
        let child = system.panels.areas()[i] / CHILDREN as f64;
        let jump = F::jump(system, i, x, &at.normal_derivative(i, 0));
        return jump.map(|jump| jump * child / (2.0 * PI * (front + back)));
    };
    let functions = F::new(system, i, system.panels.factor(i, i), at);
    let right = F::against_added(&functions.missing(held, &at.potential(i, 0)));
    functions.charges(&functions.solve(&[right])[0])
}

/// The shares of panel `i` of a conductor, held at these potentials in the excitations.
pub(super) fn of_conductor<F: ChildFunctions<N, ADDED>, const N: usize, const ADDED: usize>(
    system: &System,
    i: usize,
    held: &[f64],
    at: &Values,
    with_sides: bool,
) -> Shares {
    // In an interface of layers the panel's own image contributes too.
    let functions = F::new(system, i, system.panels.factor(i, i), at);
    let [front, back] = system.rows.permittivity(i);
    let permittivity = 0.5 * (front + back);
    let missing = |(p, &held): (usize, &f64)| functions.missing(held, &at.potential(i, p));
    let tested: Vec<[f64; N]> = held.iter().enumerate().map(missing).collect();
    let right: Vec<[f64; ADDED]> = tested.iter().map(F::against_added).collect();
    let densities = functions.solve(&right);
    let charges = densities.iter().map(|density| density.map(|d| d * permittivity));
    let products = Products::new(charges, right.iter().copied());
    let sides = || {
        let each = tested.iter().zip(densities.iter().zip(&right));
        let sides = each.map(|(tested, (density, right))| {
            functions.sides(permittivity, tested, right, density)
        });
        sides.collect()
    };
    Shares { products, sides: with_sides.then(sides) }
}

/// The shares of panel `i` of an interface, with unknowns `x` in each excitation.
pub(super) fn of_interface<F: ChildFunctions<N, ADDED>, const N: usize, const ADDED: usize>(
    system: &System,
    i: usize,
    x: &[Vec<f64>],
    at: &Values,
    with_sides: bool,
) -> Shares {
    let functions = F::new(system, i, 1.0, at);
    let [front, back] = system.rows.permittivity(i);
    let both = 2.0 * PI * (front + back);
    let jump = |(p, x): (usize, &Vec<f64>)| F::jump(system, i, x, &at.normal_derivative(i, p));
    let jumps: Vec<[f64; N]> = x.iter().enumerate().map(jump).collect();
    // With the potential of the density that removes the jump.
    let potential = |(p, jump): (usize, &[f64; N])| {
        functions.with_potential_of(&jump.map(|jump| jump / both), &at.potential(i, p))
    };
    let potentials: Vec<[f64; N]> = jumps.iter().enumerate().map(potential).collect();
    let charges = jumps.iter().map(|jump| functions.free_charge(jump));
    let products = Products::new(potentials.iter().copied(), charges);
    let sides = || {
        let each = potentials.iter().zip(&jumps);
        each.map(|(potential, jump)| functions.sides_of_interface(potential, jump)).collect()
    };
    Shares { products, sides: with_sides.then(sides) }
}

/// Assigns what the middle child has beyond the corners to the sides along which corners differ.
pub(super) fn shared(sides: [f64; 3], middle: f64) -> [f64; 3] {
    let total: f64 = sides.iter().sum();
    if total > f64::MIN_POSITIVE {
        // Where corners agree, only rounding would distinguish sides.
        let even = middle / 3.0;
        sides.map(|side| side + if total > 1e-3 * middle { side / total * middle } else { even })
    } else {
        [middle / 3.0; 3]
    }
}

/// The children of a triangle, those at the corners, and the one in the middle.
pub(super) fn children(v: &[Vec3; 3]) -> [Triangle; CHILDREN] {
    let [a, b, c] = *v;
    let (ab, bc, ca) = ((a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5);
    [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]].map(Triangle::of)
}
