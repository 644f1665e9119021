//! Values at many points: sums over quadrature points and point charges; near a target closed forms
//! replace the points.

use parallel::prelude::*;

use super::closed_forms::add_point;
use super::{DIRECT, SurfaceCharge, direct_sums};
use crate::Error;
use crate::constants::{COINCIDENT, COINCIDENT_POTENTIALS, DIRECT_SUMS, TOLERANCE};
use crate::geometry::neighbours::Neighbours;
use crate::geometry::order::sorted;
use crate::geometry::triangle::Vec3;
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::modes;
use crate::quadrature::remainder::Remainder;
use crate::quadrature::rule::Rule;

/// Degree of the rule whose points represent a triangle at [`TOLERANCE`]; two more per additional
/// digit.
pub const DEGREE: usize = 4;

/// The same where an accuracy of 1e-3 is enough.
const ROUGH_DEGREE: usize = 2;

/// Adjacent targets that share one search for near triangles.
const TARGETS: usize = 64;

/// Share of the tolerance that the error of one triangle may have, relative to all potentials: some
/// tens of triangles are at the smallest distance that this permits.
const OF_ONE: f64 = 3e-3;

/// Number of targets at which the size of potentials is estimated.
const SAMPLES: usize = 16;

impl SurfaceCharge {
    /// Values from quadrature points and, near them, closed forms.
    #[doc(hidden)]
    pub fn by_points(
        &self,
        targets: &[Vec3],
        charges: &[(Vec3, f64)],
        with_gradient: bool,
    ) -> Result<Vec<[f64; 4]>, Error> {
        let digits = (TOLERANCE / self.tolerance).log10().ceil();
        let degree = if self.is_rough() { ROUGH_DEGREE } else { DEGREE + 2 * digits as usize };
        let mut values = self.by_rule(Rule::of_degree(degree), targets, charges, with_gradient)?;
        // A point too near a target in one rule may not be so in others.
        for degree in [degree + 1, degree + 2] {
            let left: Vec<usize> = (0..values.len()).filter(|&k| values[k].is_none()).collect();
            if left.len().saturating_mul(self.panels.len()) <= DIRECT {
                break;
            }
            let of: Vec<Vec3> = left.iter().map(|&k| targets[k]).collect();
            let more = self.by_rule(Rule::of_degree(degree), &of, charges, with_gradient)?;
            left.into_iter().zip(more).for_each(|(k, value)| values[k] = value);
        }
        let all = values.into_par_iter().zip(targets).map(|(value, x)| {
            value.unwrap_or_else(|| {
                let mut value = self.closed_form(x, with_gradient);
                charges.iter().for_each(|(y, q)| add_point(&mut value, x, y, *q, with_gradient));
                value
            })
        });
        Ok(all.collect())
    }

    /// The same by one rule; `None` where a point is so near a target that its contribution would
    /// cancel.
    fn by_rule(
        &self,
        rule: &'static Rule,
        targets: &[Vec3],
        charges: &[(Vec3, f64)],
        with_gradient: bool,
    ) -> Result<Vec<Option<[f64; 4]>>, Error> {
        let panels = &self.panels;
        let place = |(y, q): (Vec3, f64)| (<[f64; 3]>::from(y), q);
        let (mut places, mut strengths): (Vec<[f64; 3]>, Vec<f64>) = (0..panels.len())
            .into_par_iter()
            .flat_map_iter(|i| self.strengths(i, rule).map(place))
            .unzip();
        charges.iter().copied().map(place).for_each(|(y, q)| {
            places.push(y);
            strengths.push(q);
        });
        let points: Vec<[f64; 3]> = targets.iter().map(|&x| x.into()).collect();
        // Fast sums are accurate enough for rough values.
        let direct = if self.is_rough() { DIRECT } else { DIRECT_SUMS };
        let (potential, gradient) = if places.len().saturating_mul(points.len()) <= direct {
            direct_sums(&places, &strengths, &points, with_gradient)
        } else {
            self.fast_sums(&places, &strengths, &points, with_gradient)?
        };
        if !with_gradient && !panels.are_curved() {
            return Ok(self.with_near_potentials(targets, potential, rule));
        }
        let reach = self.reach_of_values();
        let search = Neighbours::new(&panels.centroids()[..panels.len()], &reach);
        let value = |found: &mut Vec<u32>, (index, x): (usize, &Vec3)| {
            let gradient = gradient.get(3 * index..3 * index + 3).unwrap_or(&[0.0; 3]);
            let mut value = [potential[index], gradient[0], gradient[1], gradient[2]];
            found.clear();
            search.around(x, found);
            for &i in found.iter() {
                let i = i as usize;
                let mut by_points = [0.0; 4];
                let coincident = COINCIDENT * panels.radius(i);
                for (y, q) in self.strengths(i, rule) {
                    if (x - y).norm() < coincident {
                        return None;
                    }
                    add_point(&mut by_points, x, &y, q, with_gradient);
                }
                let exact = self.of_panel(i, x, with_gradient);
                (0..4).for_each(|k| value[k] += exact[k] - by_points[k]);
            }
            Some(value)
        };
        Ok(targets.par_iter().enumerate().map_init(Vec::new, value).collect())
    }

    /// Distance from its centroid up to which each panel's points are not accurate enough.
    pub(in crate::physics) fn reach_of_values(&self) -> Vec<f64> {
        let panels = &self.panels;
        let reach = |i: usize| self.reach * panels.panel(i).diameter();
        (0..panels.len()).into_par_iter().map(reach).collect()
    }

    /// As [`reach_of_values`](Self::reach_of_values), for potentials at `targets`.
    fn reach_of_potentials(&self, rule: &Rule, targets: &[Vec3]) -> Vec<f64> {
        let panels = &self.panels;
        let step = targets.len().div_ceil(SAMPLES).max(1);
        let samples: Vec<f64> =
            targets.iter().step_by(step).map(|x| self.closed_form(x, false)[0].powi(2)).collect();
        let size = (samples.iter().sum::<f64>() / samples.len() as f64).sqrt();
        let remainder = Remainder::of(rule);
        let reach = |i: usize| {
            let panel = panels.panel(i);
            let [even, slopes @ ..] =
                modes::of_corners(self.densities[i]).map(|of| of.abs() * panels.areas()[i]);
            let charges = [even, slopes.iter().sum()];
            let reach = remainder.reach(panel.radius, charges, OF_ONE * self.tolerance * size);
            reach.min(self.reach * panel.diameter())
        };
        (0..panels.len()).into_par_iter().map(reach).collect()
    }

    /// Potentials from quadrature points, with closed forms instead of the points of near
    /// triangles, which are plane: triangle by triangle, one target per lane.
    fn with_near_potentials(
        &self,
        targets: &[Vec3],
        potential: Vec<f64>,
        rule: &'static Rule,
    ) -> Vec<Option<[f64; 4]>> {
        let reach = self.reach_of_potentials(rule, targets);
        let search = Neighbours::new(&self.panels.centroids()[..self.panels.len()], &reach);
        let places = targets.iter().enumerate().map(|(k, x)| (k as u32, *x)).collect();
        let order = sorted(places);
        let corrected = |chunk: &[u32]| -> Vec<Option<f64>> {
            let own: Vec<Vec3> = chunk.iter().map(|&k| targets[k as usize]).collect();
            let corrections = self.near_potentials(&own, rule, &reach, &search);
            let sum =
                |(&k, correction): (&u32, Option<f64>)| Some(correction? + potential[k as usize]);
            chunk.iter().zip(corrections).map(sum).collect()
        };
        let found: Vec<Option<f64>> = order.par_chunks(TARGETS).flat_map_iter(corrected).collect();
        let mut values = vec![None; targets.len()];
        for (&k, value) in order.iter().zip(found) {
            values[k as usize] = value.map(|value| [value, 0.0, 0.0, 0.0]);
        }
        values
    }

    /// Closed forms of near triangles minus the contribution of their points, at a few targets;
    /// `None` where a point is so near that the difference would cancel.
    fn near_potentials(
        &self,
        targets: &[Vec3],
        rule: &'static Rule,
        reach: &[f64],
        search: &Neighbours<'_>,
    ) -> Vec<Option<f64>> {
        let box_of = |(low, high): (Vec3, Vec3), x: &Vec3| (low.inf(x), high.sup(x));
        let none = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
        let (low, high) = targets.iter().fold(none, box_of);
        let mut found = Vec::new();
        search.around_box(&low, &high, &mut found);
        let mut corrections = vec![Some(0.0); targets.len()];
        let (mut points, mut near) = (WeightedPoints::default(), WeightedPoints::default());
        let (mut chosen, mut places) = (Vec::new(), Vec::new());
        let (mut exact, mut by_points) = (Vec::new(), Vec::new());
        for i in found.into_iter().map(|i| i as usize) {
            let (reach, centroid) = (reach[i], self.panels.centroid(i));
            near.clear();
            chosen.clear();
            places.clear();
            for (k, x) in targets.iter().enumerate() {
                if (x - centroid).norm_squared() < reach * reach {
                    near.push(x, 1.0);
                    chosen.push(k);
                    places.push([x.x, x.y, x.z]);
                }
            }
            if chosen.is_empty() {
                continue;
            }
            points.clear();
            self.strengths(i, rule).for_each(|(y, q)| points.push(&y, q));
            exact.clear();
            let panel = self.panels.panel(i);
            let densities = self.densities[i];
            if self.constant {
                near.add_potentials(&panel, densities[0], &mut exact);
            } else {
                near.add_linear(&panel, &[densities], std::array::from_mut(&mut exact));
            }
            let coincident = (COINCIDENT_POTENTIALS * self.panels.radius(i)).powi(2);
            let is_coincident = |x: &[f64; 3]| {
                self.strengths(i, rule)
                    .any(|(y, _)| (Vec3::from(*x) - y).norm_squared() < coincident)
            };
            by_points.clear();
            by_points.resize(chosen.len(), 0.0);
            points.add_inverse_distances(&places, &mut by_points);
            let both = exact.iter().zip(&by_points);
            for ((&k, x), (exact, by_points)) in chosen.iter().zip(&places).zip(both) {
                let correction = &mut corrections[k];
                *correction =
                    correction.filter(|_| !is_coincident(x)).map(|sum| sum + exact - by_points);
            }
        }
        corrections
    }
}
