//! Panels and their equations.

use std::ops::Range;
use std::sync::Arc;

use comm::Group;
use mesh::Mesh;
use mesh::regions::Places;
use parallel::prelude::*;

use super::Media;
use super::closed::{Finder, PanelInfo};
use super::interfaces::{Parts, is_interface};
use super::rows::Rows;
use crate::collective;
use crate::geometry::panels::Panels;
use crate::physics::capacitance::check_conductors;
use crate::space::Density;
use crate::{Error, Images};

/// Errors of distant images, as a share of the solver's tolerance.
const OF_FAR_IMAGES: f64 = 0.03;

/// Panels and equations.
#[derive(Clone)]
pub struct System {
    pub(super) panels: Arc<Panels>,
    pub(super) density: Density,
    /// Its equations.
    pub rows: Arc<Rows>,
    pub(super) images: Images,
    /// Number of triangles of the mesh.
    pub(super) triangles: usize,
    pub(super) conductors: usize,
    /// Ranks that share the computations, each with its own GPU.
    pub(super) ranks: Group,
    /// Where estimates are summed.
    pub(super) backend: fmm::Backend,
    pub(super) gpu: usize,
}

/// Number of panels among the triangles in these media, and whether they include interfaces.
pub(super) fn panels_in(media: &Media<'_>) -> (usize, bool) {
    let triangles = || 0..media.conductor.len();
    let interfaces = triangles().filter(|&t| is_interface(media, t)).count();
    let metal = media.conductor.iter().flatten().count();
    (metal + interfaces, interfaces > 0)
}

/// Checks that media are given for this number of triangles.
fn check_lengths(media: &Media<'_>, triangles: usize) -> Result<(), Error> {
    let given = [
        ("media.conductor", media.conductor.len()),
        ("media.permittivity", media.permittivity.len()),
    ];
    match given.into_iter().find(|&(_, found)| found != triangles) {
        Some((what, found)) => Err(Error::Length { what, expected: triangles, found }),
        None => Ok(()),
    }
}

impl System {
    /// The equations of surfaces in media. For solves to a `tolerance` by fast sums, distant images
    /// in layers are summed separately.
    ///
    /// # Errors
    /// [`Error::Length`] and [`Error::Conductor`].
    pub fn new(
        mesh: &Mesh,
        media: Media<'_>,
        density: Density,
        tolerance: Option<f64>,
    ) -> Result<Self, Error> {
        let _span = tracing::debug_span!("equations").entered();
        let triangles = mesh.triangles.len();
        check_lengths(&media, triangles)?;
        check_conductors(media.conductor, media.conductors)?;
        let is_panel = |t: usize| media.conductor[t].is_some() || is_interface(&media, t);
        let apart = tolerance.filter(|_| media.images.has_layers());
        let apart = apart.map(|tolerance| OF_FAR_IMAGES * tolerance);
        let panels = Panels::without_parts(mesh, is_panel).with_images(media.images, apart);
        // Layers are reflectors, not parts of a body.
        let mirrored = media.images.mirrored();
        let with_images = (mirrored.count() > 1).then(|| mirrored.mesh(mesh));
        let whole = with_images.as_ref().unwrap_or(mesh);
        let mut panel_of = vec![u32::MAX; triangles];
        panels.triangles().iter().zip(0..).for_each(|(&t, i)| panel_of[t as usize] = i);
        let parts = Parts::new(whole, &media, &panel_of, panels.triangles());
        let panels = Arc::new(panels.with_parts(parts.of_panels.clone()));
        let info = |i: usize| {
            let t = panels.triangles()[i] as usize;
            let (permittivity, conductor) = (media.permittivity[t], media.conductor[t]);
            PanelInfo { area: panels.areas()[i], permittivity, conductor }
        };
        let infos: Vec<PanelInfo> = (0..panels.len()).into_par_iter().map(info).collect();
        let finder = Finder {
            whole,
            images: &mirrored,
            triangles,
            panel_of: &panel_of,
            panels: &infos,
            bodies: media.bodies,
            places: Places::new(whole),
        };
        let rows = Arc::new(Rows::new(&panels, density, parts, &finder));
        let (images, conductors) = (media.images.clone(), media.conductors);
        let (ranks, backend, gpu) = (comm::alone(), fmm::Backend::Cpu, 0);
        Ok(Self { panels, density, rows, images, triangles, conductors, ranks, backend, gpu })
    }

    /// Whether a GPU makes most of an error estimate, while processors have little to do.
    pub fn estimates_on_gpu(&self) -> bool {
        self.backend_of_estimates() != fmm::Backend::Cpu
    }

    /// Range of the `panels` (or panels and images) that this rank evaluates.
    pub(super) fn own(&self, panels: usize) -> Range<usize> {
        let [rank, ranks] = [self.ranks.rank(), self.ranks.size()];
        panels * rank / ranks..panels * (rank + 1) / ranks
    }

    /// Where an estimate is summed. GPUs know flat panels of constant density without layers, of
    /// one process.
    pub(super) fn backend_of_estimates(&self) -> fmm::Backend {
        let is_known = self.density == Density::Constant
            && self.panels.regions() == 1
            && !self.panels.are_curved()
            && !self.images.has_layers()
            && self.ranks.size() == 1;
        if is_known { self.backend } else { fmm::Backend::Cpu }
    }

    /// Sums over all ranks of their results for their own panels. Collective.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub(super) fn of_all_ranks(&self, values: &mut [f64]) -> Result<(), Error> {
        collective::sum(&*self.ranks, values)
    }

    /// Replaces the media; false if interfaces would appear or disappear.
    pub(super) fn set_permittivity(&mut self, permittivity: &[[f64; 2]]) -> bool {
        let is_interface = |t: usize| permittivity[t][0] != permittivity[t][1];
        if permittivity.len() != self.triangles {
            return false;
        }
        let triangles = self.panels.triangles();
        let of_panels = || triangles.iter().map(|&t| t as usize);
        if of_panels().zip(&self.rows.conductor).any(|(t, k)| k.is_none() && !is_interface(t)) {
            return false;
        }
        // All others belong to conductors or have the same medium on both sides.
        let mut has_panel = vec![false; self.triangles];
        of_panels().for_each(|t| has_panel[t] = true);
        if (0..self.triangles).any(|t| !has_panel[t] && is_interface(t)) {
            return false;
        }
        let of_panels = of_panels().map(|t| permittivity[t]).collect();
        Arc::make_mut(&mut self.rows).set_permittivity(of_panels);
        true
    }
}
