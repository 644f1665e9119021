//! Regions of space, their media and the points of surfaces around them.

use super::kernel::Term;
use super::nodes::Nodes;

/// A medium: relative permittivity, and the inverse of the screening length of ions in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medium {
    /// Relative permittivity.
    pub permittivity: f64,
    /// Per unit of the mesh's coordinates; 0 without ions.
    pub kappa: f64,
}

impl Medium {
    /// The kernel of a charge's potential in it.
    pub(super) fn kernel(&self) -> fmm::Kernel {
        match self.kappa > 0.0 {
            true => fmm::Kernel::Yukawa { kappa: self.kappa },
            false => fmm::Kernel::Laplace,
        }
    }
}

/// Regions, each of one medium, and the regions on both sides of each panel.
#[derive(Clone, Debug)]
pub(super) struct Regions {
    /// In the panels' scaled coordinates.
    pub(super) media: Vec<Medium>,
    /// For each panel the region that the normal points to, and the one behind it.
    pub(super) sides: Vec<[u32; 2]>,
}

/// The boundary of one region: its points.
#[derive(Debug)]
pub(super) struct Boundary {
    pub(super) region: usize,
    /// Numbers of the points.
    pub(super) nodes: Vec<u32>,
    pub(super) places: Vec<[f64; 3]>,
}

impl Regions {
    /// 1 if the panel's normal points out of the region, -1 if into it, 0 if it does not bound it.
    pub(super) fn sign(&self, panel: usize, region: usize) -> f64 {
        let [front, behind] = self.sides[panel].map(|side| side as usize == region);
        f64::from(u8::from(behind)) - f64::from(u8::from(front))
    }

    /// Terms of panel `j` in the equations of a point of panel `i`: the layers of the regions that
    /// both bound, potentials times the permittivity of the region.
    pub(super) fn terms(&self, i: usize, j: usize, terms: &mut Vec<Term>) {
        terms.clear();
        for region in self.sides[i] {
            let region = region as usize;
            let sign = self.sign(j, region);
            if sign != 0.0 {
                let Medium { permittivity, kappa } = self.media[region];
                terms.push(Term {
                    kappa,
                    single: sign,
                    double: -sign * permittivity,
                    adjoint: sign / permittivity,
                    hypersingular: -sign,
                    transposed: self.sign(i, region) / permittivity,
                });
            }
        }
    }

    /// Whether two panels bound a region together.
    pub(super) fn have_common(&self, i: usize, j: usize) -> bool {
        self.sides[i].iter().any(|&region| self.sign(j, region as usize) != 0.0)
    }

    /// The same regions, and the sides of some panels.
    pub(super) fn subset(&self, chosen: &[u32]) -> Self {
        let sides = chosen.iter().map(|&panel| self.sides[panel as usize]).collect();
        Self { media: self.media.clone(), sides }
    }

    /// Terms of panel `j` in potential and field at a point of a region.
    pub(super) fn terms_in(&self, region: usize, j: usize, terms: &mut Vec<Term>) {
        terms.clear();
        let sign = self.sign(j, region);
        if sign != 0.0 {
            let Medium { permittivity, kappa } = self.media[region];
            terms.push(Term {
                kappa,
                single: sign / permittivity,
                double: -sign,
                adjoint: sign / permittivity,
                hypersingular: -sign,
                transposed: 0.0,
            });
        }
    }

    /// The largest permittivity over the smallest.
    pub(super) fn contrast(&self) -> f64 {
        let all = || self.media.iter().map(|medium| medium.permittivity);
        all().fold(0.0, f64::max) / all().fold(f64::INFINITY, f64::min)
    }

    /// Permittivity in front of a panel, and behind it.
    pub(super) fn permittivities(&self, panel: usize) -> [f64; 2] {
        self.sides[panel].map(|side| self.media[side as usize].permittivity)
    }

    /// Whether a region is unbounded: the inside of its boundary does not belong to it.
    pub(super) fn is_unbounded(&self, nodes: &Nodes, boundary: &Boundary) -> bool {
        let points = nodes.degree.points();
        let volume = |&node: &u32| {
            let node = node as usize;
            let weight = self.sign(node / points, boundary.region) * nodes.weights[node];
            weight * nodes.place(node).dot(&nodes.normals[node])
        };
        boundary.nodes.iter().map(volume).sum::<f64>() < 0.0
    }

    pub(super) fn boundaries(&self, nodes: &Nodes) -> Vec<Boundary> {
        let points = nodes.degree.points();
        let of = |region: usize| {
            let bounds = |node: &u32| self.sign(*node as usize / points, region) != 0.0;
            let own: Vec<u32> = (0..nodes.len() as u32).filter(bounds).collect();
            let places = own.iter().map(|&node| nodes.places[node as usize]).collect();
            Boundary { region, nodes: own, places }
        };
        (0..self.media.len()).map(of).filter(|boundary| !boundary.nodes.is_empty()).collect()
    }
}
