//! Means over panels, weighted with the modes, of the potential of charges at positions on all
//! panels: the transpose of [`values`](super::values), entry by entry.

use parallel::prelude::*;

use super::super::external;
use super::super::system::System;
use super::ChildCharges;
use super::close_panels::{CURVED, near_radii, rule};
use crate::Error;
use crate::geometry::image::Image;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;
use crate::integrals::curved_potentials::{self, Wanted};
use crate::integrals::potentials::WeightedPoints;
use crate::near::RowKind;
use crate::quadrature::modes::MODES;
use crate::quadrature::rule::Rule;
use crate::sampling::far;
use crate::sampling::points::QuadraturePoints;
use crate::solve::plan::Plan;

/// Relative error of the fast sum: the missing charge is known to a few per cent.
const TOLERANCE: f64 = 1e-4;

/// Panels per task.
const PANELS: usize = 32;

impl System {
    /// The right-hand side for conductors at 0 V next to these charges on the same surfaces.
    pub(in crate::physics) fn right_hand_side_of(
        &self,
        charges: &ChildCharges,
    ) -> Result<Vec<f64>, Error> {
        let _span = tracing::debug_span!("right-hand side of children").entered();
        let n = self.panels.len();
        let mut rows = vec![0.0; self.rows.len()];
        if n > 0 {
            let sources = Sources::of(self, &self.at_places(charges));
            let rule = rule(self.density);
            let sums = sources.sums(self, rule)?;
            let no_reach = vec![0.0; sources.places.len()];
            let search = Neighbours::new(&sources.places, &no_reach);
            let means = Means { system: self, sources: &sources, sums: &sums, rule, search };
            let of_panel = |room: &mut Room, i: usize| means.of_panel(i, room);
            let each = (0..n).into_par_iter().with_min_len(PANELS);
            let tested: Vec<[f64; MODES]> = each.map_init(Room::default, of_panel).collect();
            for m in 0..self.density.modes() {
                let of_mode = rows[m * n..(m + 1) * n].iter_mut();
                of_mode.zip(&tested).for_each(|(row, tested)| *row = tested[m]);
            }
        }
        self.rows.right_hand_side(&vec![0.0; self.conductors], &mut rows);
        Ok(rows)
    }
}

/// Means of the contribution of near charges on a curved panel.
fn on_curved(patch: &Patch, kind: RowKind, area: f64, room: &Room) -> [f64; MODES] {
    // Normals have the length of the area element.
    let (wanted, factor) = match kind {
        RowKind::Adjoint => (Wanted::Double, 0.5 / area),
        _ => (Wanted::Potential, 1.0),
    };
    let places: Vec<Vec3> = room.at.iter().map(|(x, _)| *x).collect();
    let found = curved_potentials::at_points(patch, &places, wanted, CURVED);
    let mut sums = [0.0; MODES];
    for (of_charge, (_, q)) in found.iter().zip(&room.at) {
        let terms = sums.iter_mut().zip(of_charge.potential);
        terms.for_each(|(sum, value)| *sum += factor * q * value);
    }
    sums
}

/// Charges at places, and their images, in scaled coordinates.
struct Sources {
    places: Vec<Vec3>,
    /// As seen from each region, shape (regions, places).
    charges: Vec<f64>,
    /// Coefficients of the potential of distant images, if they are summed separately.
    far: Vec<f64>,
}

/// Potentials at the points of a rule on all panels, and gradients if there are interfaces.
struct Sums {
    potential: Vec<f64>,
    gradient: Vec<f64>,
}

/// Scratch space for the charges near a panel.
#[derive(Default)]
struct Room {
    found: Vec<u32>,
    near: WeightedPoints,
    at: Vec<(Vec3, f64)>,
}

impl Sources {
    fn of(system: &System, charges: &[f64]) -> Self {
        let panels = &system.panels;
        let n = panels.len();
        let at = system.places();
        let own: Vec<Vec3> =
            (0..n).flat_map(|i| at.iter().map(move |&at| panels.point(i, at))).collect();
        let image = |image: &Image| own.iter().map(|x| image.place(x)).collect::<Vec<Vec3>>();
        let each = charges.len() / n.max(1);
        let in_region = |to: usize| {
            let all = (0..panels.total()).flat_map(move |j| (0..each).map(move |k| (j, k)));
            all.map(move |(j, k)| panels.factor_in(to, j) * charges[j % n * each + k])
        };
        let far = panels.far().map(|far| {
            let mut moments = vec![0.0; far.moments()];
            let region = |k: usize| panels.region(k / each);
            let at: Vec<_> = own.iter().enumerate().map(|(k, y)| (*y, region(k))).collect();
            far.add_charges(&at, charges, &mut moments);
            far.coefficients(&moments)
        });
        Self {
            places: panels.images().iter().flat_map(image).collect(),
            charges: (0..panels.regions()).flat_map(in_region).collect(),
            far: far.unwrap_or_default(),
        }
    }

    fn sums(&self, system: &System, rule: &'static Rule) -> Result<Sums, Error> {
        let with_gradients = system.rows.kinds.contains(&RowKind::Adjoint);
        let sources: Vec<[f64; 3]> = self.places.iter().map(|&x| x.into()).collect();
        let targets = QuadraturePoints::new(&system.panels, rule).all();
        let regions = system.panels.regions();
        let options = fmm::Options::default()
            .tolerance(TOLERANCE)
            .densities(regions)
            .gradient(with_gradients)
            .backend(system.backend_of_estimates())
            .gpu(system.gpu);
        let mut potential = vec![0.0; regions * targets.len()];
        let mut gradient = vec![0.0; if with_gradients { 3 * potential.len() } else { 0 }];
        Plan::replicated(&system.ranks, &sources, Some(&targets), &options)?.apply(
            fmm::Densities { charges: Some(&self.charges), dipoles: None },
            fmm::Potentials {
                potential: Some(&mut potential),
                gradient: with_gradients.then_some(&mut gradient[..]),
            },
        )?;
        if regions > 1 {
            // For each panel from the sum for its region.
            let nodes = rule.len();
            for i in 0..system.panels.len() {
                let of = (system.panels.region(i) * system.panels.len() + i) * nodes;
                potential.copy_within(of..of + nodes, i * nodes);
                if with_gradients {
                    gradient.copy_within(3 * of..3 * (of + nodes), 3 * i * nodes);
                }
            }
        }
        if let Some(far) = system.panels.far() {
            let region = |k: usize| system.panels.region(k / rule.len());
            let at = targets.iter().enumerate().map(|(k, x)| (Vec3::from(*x), region(k)));
            let at: Vec<_> = at.collect();
            let mut add = |_: usize, k: usize, value: f64, slope: Vec3| {
                potential[k] += value;
                if with_gradients {
                    let gradient = &mut gradient[3 * k..3 * k + 3];
                    gradient.iter_mut().zip(slope.iter()).for_each(|(sum, s)| *sum += s);
                }
            };
            far::values_at(far, &at, &self.far, with_gradients, &mut add);
        }
        Ok(Sums { potential, gradient })
    }
}

/// Means over panels of sums at their points, corrected for near charges.
struct Means<'a> {
    system: &'a System,
    sources: &'a Sources,
    sums: &'a Sums,
    rule: &'static Rule,
    search: Neighbours<'a>,
}

impl Means<'_> {
    /// The means over panel `i`, weighted with the modes.
    fn of_panel(&self, i: usize, room: &mut Room) -> [f64; MODES] {
        let Self { system, sources, sums, rule, search } = self;
        let (panels, kind) = (&system.panels, system.rows.kinds[i]);
        let (centroid, reach) = (panels.centroid(i), near_radii(system.density) * panels.radius(i));
        let around = Vec3::repeat(reach);
        room.found.clear();
        search.around_box(&(centroid - around), &(centroid + around), &mut room.found);
        room.near.clear();
        room.at.clear();
        // In its own plane a panel has no normal derivative.
        let places = system.places().len();
        let own = i * places..(i + 1) * places;
        let charges = &sources.charges[panels.region(i) * sources.places.len()..];
        let is_flat_adjoint = kind == RowKind::Adjoint && panels.curved(i).is_none();
        for &k in &room.found {
            if is_flat_adjoint && own.contains(&(k as usize)) {
                continue;
            }
            let (x, q) = (sources.places[k as usize], charges[k as usize]);
            if q != 0.0 && (x - centroid).norm_squared() < reach * reach {
                room.near.push(&x, q);
                room.at.push((x, q));
            }
        }
        let mut tested = match panels.curved(i) {
            Some(patch) => on_curved(patch, kind, panels.areas()[i], room),
            None => external::of_charges(system, i, kind, &room.at, &mut room.near),
        };
        let points = panels.points(rule, i).zip(panels.normals(rule, i));
        for (p, ((x, _), normal)) in points.enumerate() {
            let place = i * rule.len() + p;
            let mut value = match kind {
                RowKind::Adjoint => {
                    Vec3::from_column_slice(&sums.gradient[3 * place..3 * place + 3]).dot(&normal)
                }
                _ => sums.potential[place],
            };
            for (y, q) in &room.at {
                let r = x - y;
                let r2 = r.norm_squared();
                if r2 > 0.0 {
                    let inverse = 1.0 / r2.sqrt();
                    value += match kind {
                        RowKind::Adjoint => q * r.dot(&normal) * inverse / r2,
                        _ => -q * inverse,
                    };
                }
            }
            let weights = rule.modes();
            tested.iter_mut().zip(weights).for_each(|(sum, weights)| *sum += weights[p] * value);
        }
        tested
    }
}
