//! Potential and field at the probes of a problem.

use mesh::Mesh;

use crate::analysis::interface::{Analysis, ChargeOfBars, Driven, MissingInState};
use crate::analysis::probe_bars;
use crate::problem::fault::{Error, Fault};
use crate::problem::planes::Charged;
use crate::result::state::{Probed, State};
use crate::scene::description::Description;
use crate::scene::requests::Probe;

/// Bytes per point at the peak: places, values, and the memory for evaluating and writing them
/// (measured).
const POINT: u64 = 250;

/// Potential and field at the probes in the state.
pub(crate) struct ProbeAnalysis;

impl Analysis for ProbeAnalysis {
    fn is_requested(&self, description: &Description) -> bool {
        !description.probes.is_empty()
    }

    fn faults(&self, description: &Description) -> Vec<Fault> {
        if description.has_state() { Vec::new() } else { vec![Fault::NothingToProbe] }
    }

    fn find_in_state(&self, driven: &Driven<'_>, state: &mut State) -> Result<(), Error> {
        state.probes = find(driven)?;
        Ok(())
    }

    fn charge_of_bars(&self) -> ChargeOfBars {
        ChargeOfBars::State
    }

    fn bars(&self, missing: &MissingInState<'_>, state: &mut State) -> Result<(), Error> {
        Ok(probe_bars::set(missing, &mut state.probes)?)
    }
}

impl Description {
    /// Refuses probes whose points do not fit into `limit` bytes.
    ///
    /// # Errors
    /// [`Error::Probes`].
    pub fn check_memory(&self, limit: u64) -> Result<(), Error> {
        let points = self.probe_points();
        let needed = (points as u64).saturating_mul(POINT);
        if needed <= limit {
            Ok(())
        } else {
            Err(Error::Probes { points, needed, available: limit })
        }
    }
}

/// Values at all probes; 0 behind grounded planes.
fn find(driven: &Driven<'_>) -> Result<Vec<Probed>, bem::Error> {
    let &Driven { problem, ref charges, ref sources, tolerance } = driven;
    let (symmetry, description) = (&problem.symmetry, &problem.description);
    let conductor = &problem.conductors.of_triangle;
    // Densities are continuous on a conductor in each layer.
    let images = &symmetry.images;
    let regions = images.regions() as u32;
    let surface_of = |t: usize| {
        let t = t % conductor.len();
        conductor[t].map(|of| of * regions + images.region(t) as u32)
    };
    let sources = sources.with_images(images, |_| true);
    let evaluate = |mesh: &Mesh, charges: bem::Charges<'_>, points: &[[f64; 3]]| {
        let surface = bem::SurfaceCharge::recovered(mesh, charges, surface_of);
        surface.with_tolerance(tolerance).evaluate(&sources, points, true)
    };
    let charged = Charged { mesh: &problem.mesh, charges: charges.into(), images };
    let each = |probe: &Probe| {
        let points = probe.place.points();
        let mut values = symmetry.values(charged, &points, tolerance, evaluate)?;
        for (index, point) in points.iter().enumerate() {
            if symmetry.is_behind_ground(*point) {
                (values.potential[index], values.field[index]) = (0.0, [0.0; 3]);
            }
        }
        let per_metre = 1.0 / description.unit.metres();
        let field = values.field.into_iter().map(|field| field.map(|e| e * per_metre)).collect();
        let name = probe.name.clone();
        Ok(Probed { name, points, potential: values.potential, field, bars: None })
    };
    description.probes.iter().map(each).collect()
}
