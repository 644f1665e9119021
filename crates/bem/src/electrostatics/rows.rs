//! The equations row by row: what an interface adds to the fast sum, and Gauss's law on closed interfaces.
//!
//! With panel charges x_j (over 4 pi eps0), d_i = sum_j D_ij x_j the mean normal derivative of the potential on panel i, and
//! f = (eps_back - eps_front) / (eps_back + eps_front):
//!
//! ```text
//! conductor: sum_j A_ij x_j                       = V_k - phi_ext
//! interface: L (2 pi x_i / A_i + f d_i)           = -L f dphi_ext/dn
//! ```
//!
//! L, the radius of the sphere of the interface's area, makes fields potentials. On a closed interface the flux of d is known
//! from Gauss's law, - 4 pi times the charge inside with half of its own, and d is shifted by the constant that makes it so.
//! What the mean of the row then says, (1 - f) Q / 2 - f Q_inside, is divided by 1 - f: errors of the mean are amplified by
//! 1 / (1 - f) otherwise, the ratio of the permittivities.

use std::f64::consts::PI;
use std::sync::Arc;

use mesh::Mesh;
use mesh::regions::{self, Position};

use super::Media;
use crate::Error;
use crate::layer::Kernel;
use crate::panels::Panels;

/// Factors that differ by less are those of one pair of media.
const ONE_FACTOR: f64 = 1e-12;

/// Panels and equations.
pub(super) struct System {
    pub(super) panels: Arc<Panels>,
    pub(super) rows: Rows,
    /// Triangles of the mesh.
    pub(super) triangles: usize,
}

/// The equations, one a panel.
pub(super) struct Rows {
    pub(super) kernels: Vec<Kernel>,
    pub(super) conductor: Vec<Option<u32>>,
    /// Relative permittivity on the normal's side and behind.
    permittivity: Vec<[f64; 2]>,
    /// f of interfaces, 0 on conductors.
    factor: Vec<f64>,
    /// L of the panel's interface.
    length: Vec<f64>,
    areas: Vec<f64>,
    /// Weights of the residual's norm: each panel's share of its part's area.
    pub(super) weights: Vec<f64>,
    /// Conductor, or number of conductors plus interface, of each panel.
    part: Vec<u32>,
    parts: usize,
    closed: Vec<Closed>,
}

/// A closed interface.
struct Closed {
    /// Its panels, and 1 or -1 as their normals point out or in.
    members: Vec<(u32, f64)>,
    area: f64,
    /// Panels inside.
    inside: Vec<u32>,
    /// 1 / (1 - f) with f for the outward normal, if it is the same all over.
    gain: Option<f64>,
}

impl System {
    pub(super) fn new(mesh: &Mesh, media: Media<'_>) -> Result<Self, Error> {
        let triangles = mesh.triangles.len();
        for (what, found) in [
            ("media.conductor", media.conductor.len()),
            ("media.permittivity", media.permittivity.len()),
        ] {
            if found != triangles {
                return Err(Error::Length { what, expected: triangles, found });
            }
        }
        let conductor = |t: usize| media.conductor[t].filter(|&c| (c as usize) < media.conductors);
        let factor = |t: usize| {
            let [front, back] = media.permittivity[t];
            (back - front) / (back + front)
        };
        let is_interface = |t: usize| conductor(t).is_none() && factor(t) != 0.0;
        let panels = Panels::new(mesh, |t| conductor(t).is_some() || is_interface(t));
        let of = |i: usize| panels.triangles()[i] as usize;
        let n = panels.len();
        let mut panel_of = vec![u32::MAX; triangles];
        (0..n).for_each(|i| panel_of[of(i)] = i as u32);

        let mut part: Vec<u32> = (0..n).map(|i| conductor(of(i)).unwrap_or(0)).collect();
        let mut parts = media.conductors;
        let mut closed = Vec::new();
        for (triangles, region) in regions::parts(mesh, is_interface) {
            triangles.iter().for_each(|&t| part[panel_of[t as usize] as usize] = parts as u32);
            parts += 1;
            // In an open interface nothing is inside.
            let Some(region) = region else { continue };
            let outward = |&(t, inward): &(u32, bool)| {
                (panel_of[t as usize], if inward { -1.0 } else { 1.0 })
            };
            let members: Vec<(u32, f64)> = region.boundary.iter().map(outward).collect();
            let positions = region.positions(mesh);
            let inside =
                (0..n as u32).filter(|&i| positions[of(i as usize)] == Position::Inside).collect();
            let f = |&(i, sign): &(u32, f64)| sign * factor(of(i as usize));
            let first = members.first().map_or(0.0, f);
            let same = members.iter().all(|m| (f(m) - first).abs() <= ONE_FACTOR);
            closed.push(Closed {
                area: members.iter().map(|&(i, _)| panels.areas()[i as usize]).sum(),
                members,
                inside,
                gain: same.then(|| 1.0 / (1.0 - first)),
            });
        }
        let mut area = vec![0.0; parts];
        part.iter().zip(panels.areas()).for_each(|(&p, a)| area[p as usize] += a);
        let rows = Rows {
            kernels: (0..n)
                .map(|i| if conductor(of(i)).is_some() { Kernel::Single } else { Kernel::Adjoint })
                .collect(),
            conductor: (0..n).map(|i| conductor(of(i))).collect(),
            permittivity: (0..n).map(|i| media.permittivity[of(i)]).collect(),
            factor: (0..n)
                .map(|i| if conductor(of(i)).is_some() { 0.0 } else { factor(of(i)) })
                .collect(),
            length: part.iter().map(|&p| (area[p as usize] / (4.0 * PI)).sqrt()).collect(),
            weights: part.iter().zip(panels.areas()).map(|(&p, a)| a / area[p as usize]).collect(),
            areas: panels.areas().to_vec(),
            part,
            parts,
            closed,
        };
        Ok(Self { panels: Arc::new(panels), rows, triangles })
    }
}

impl Rows {
    /// From potentials and normal derivatives `y` that charges `x` make to the equations' left-hand sides. Returns the largest
    /// defect of Gauss's law that was put right, relative to the charge.
    pub(super) fn complete(&self, x: &[f64], y: &mut [f64]) -> f64 {
        let mut defect = 0.0f64;
        for closed in &self.closed {
            let inside: f64 = closed.inside.iter().map(|&i| x[i as usize]).sum();
            let (mut own, mut flux, mut size) = (0.0, 0.0, 0.0);
            for &(i, sign) in &closed.members {
                let i = i as usize;
                own += x[i];
                size += x[i].abs();
                flux += sign * self.areas[i] * y[i];
            }
            let missing = -4.0 * PI * (inside + 0.5 * own) - flux;
            size += closed.inside.iter().map(|&i| x[i as usize].abs()).sum::<f64>();
            if size > 0.0 {
                defect = defect.max(missing.abs() / (4.0 * PI * size));
            }
            for &(i, sign) in &closed.members {
                y[i as usize] += sign * missing / closed.area;
            }
        }
        for i in 0..x.len() {
            if self.conductor[i].is_none() {
                let own = 2.0 * PI * x[i] / self.areas[i];
                y[i] = self.length[i] * (own + self.factor[i] * y[i]);
            }
        }
        self.scale_means(y);
        defect
    }

    /// From external potentials and normal derivatives on each panel to the right-hand sides, conductors at `potentials`.
    pub(super) fn right_hand_side(&self, potentials: &[f64], external: &mut [f64]) {
        for (i, value) in external.iter_mut().enumerate() {
            *value = match self.conductor[i] {
                Some(k) => potentials[k as usize] - *value,
                None => -self.length[i] * self.factor[i] * *value,
            };
        }
        self.scale_means(external);
    }

    /// Divides the means of the rows of closed interfaces by 1 - f.
    fn scale_means(&self, rows: &mut [f64]) {
        for closed in &self.closed {
            let Some(gain) = closed.gain else { continue };
            let sum: f64 = closed
                .members
                .iter()
                .map(|&(i, _)| self.areas[i as usize] * rows[i as usize])
                .sum();
            let more = (gain - 1.0) * sum / closed.area;
            closed.members.iter().for_each(|&(i, _)| rows[i as usize] += more);
        }
    }

    /// Largest over conductors and interfaces of the root mean square over the area.
    pub(super) fn measure(&self, r: &[f64]) -> f64 {
        let mut squares = vec![0.0; self.parts];
        for ((&p, w), r) in self.part.iter().zip(&self.weights).zip(r) {
            squares[p as usize] += w * r * r;
        }
        // NaN must come through: f64::max drops it.
        squares.into_iter().fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a }).sqrt()
    }

    /// Diagonal of the row of an interface, d's own part left out.
    pub(super) fn diagonal(&self, i: usize) -> f64 {
        2.0 * PI * self.length[i] / self.areas[i]
    }

    /// What a normal derivative on panel `i` counts in its row.
    pub(super) fn coupling(&self, i: usize) -> f64 {
        self.length[i] * self.factor[i]
    }

    /// Whether a conductor's panel has different media on its sides, so that its free charge depends on the field there.
    fn is_sheet(&self, i: usize) -> bool {
        self.conductor[i].is_some() && self.permittivity[i][0] != self.permittivity[i][1]
    }

    /// Kinds of rows that give the normal derivative on conductors between two media; `None` if there are none.
    pub(super) fn sheets(&self) -> Option<Vec<Kernel>> {
        let kind = |i| if self.is_sheet(i) { Kernel::Adjoint } else { Kernel::None };
        let kinds: Vec<Kernel> = (0..self.areas.len()).map(kind).collect();
        kinds.contains(&Kernel::Adjoint).then_some(kinds)
    }

    /// Free charge of each conductor's panel: eps x in one medium, else
    /// (eps_back + eps_front)/2 x + (eps_back - eps_front) A/(4 pi) (d + dphi_ext/dn). `slopes` and `external` may be empty.
    pub(super) fn free_charges(&self, x: &[f64], slopes: &[f64], external: &[f64]) -> Vec<f64> {
        let of = |values: &[f64], i: usize| values.get(i).copied().unwrap_or(0.0);
        let free = |i: usize| {
            let [front, back] = self.permittivity[i];
            match self.conductor[i] {
                None => 0.0,
                Some(_) if self.is_sheet(i) => {
                    let slope = of(slopes, i) + of(external, i);
                    0.5 * (front + back) * x[i]
                        + (back - front) * self.areas[i] / (4.0 * PI) * slope
                }
                Some(_) => front * x[i],
            }
        };
        (0..x.len()).map(free).collect()
    }
}
