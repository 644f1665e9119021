//! How a boundary operator is made, whatever it is for: accuracy, near field, fast sum, and where
//! all of it is.

use std::sync::Arc;

use comm::Group;

use super::fast_sum::FastSum;
use super::host::Host;
use super::layer::Layer;
use super::sampling::{Part, Sampling};
use crate::device::{
    self, DeviceGeometry, DeviceNear, DevicePreconditioner, DeviceProduct, OnDevice,
};
use crate::geometry::panels::Panels;
use crate::geometry::share::{self, Share};
use crate::near::accuracy::Accuracy;
use crate::near::functions::FunctionPairs;
use crate::near::pairs::{LayerPairs, RowKind};
use crate::near::slopes::{SlopePairs, Slopes};
use crate::near::{self, Near, Needs};
use crate::precondition::interfaces::Preconditioner;
use crate::precondition::mode_inverse::ModeInverse;
use crate::precondition::shared::OfAll;
use crate::solve::backend::Backend;
use crate::solve::schedule::PlanSchedule;
use crate::space::{Density, Dofs};
use crate::{Error, Progress};

/// Panels from which on a GPU pays.
const WORTH_A_GPU: usize = 10_000;

/// Where an operator is computed.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) backend: fmm::Backend,
    /// Which GPU, counted from 0.
    pub(crate) gpu: usize,
    /// Ranks that share the panels.
    pub(crate) group: Option<Group>,
}

/// What an operator over some panels needs.
pub(crate) struct Discretisation {
    pub(crate) accuracy: Accuracy,
    pub(crate) sampling: Sampling,
    /// The smallest gap between panels, in sizes of a panel.
    gap: f64,
    target: Target,
    /// What this rank has of the panels.
    part: Option<Part>,
    /// The panels on a GPU, if that is to do the whole solve.
    geometry: Option<DeviceGeometry>,
}

/// What near fields are built with.
pub(crate) struct Close<'a> {
    /// What charges in space ask for beyond the panels' own weights.
    pub(crate) needs: Option<&'a Needs>,
    /// May refuse as many entries.
    pub(crate) check: &'a (dyn Fn(usize) -> Result<(), Error> + Sync),
    pub(crate) progress: &'a dyn Progress,
}

impl Discretisation {
    /// For a solver's `tolerance`, every quadrature rule raised by `increment` orders. Collective
    /// where ranks share the panels.
    ///
    /// # Errors
    /// The GPU's, where it was asked for; messages that do not pass.
    pub(crate) fn new(
        panels: &Arc<Panels>,
        kinds: &[RowKind],
        dofs: Dofs,
        tolerance: f64,
        increment: usize,
        target: Target,
    ) -> Result<Self, Error> {
        let _span = tracing::debug_span!("discretisation").entered();
        let accuracy = Accuracy::new(tolerance, increment);
        let rules = [accuracy.rule, dofs.test_rule(accuracy.rule)];
        let sampling = Sampling { panels: Arc::clone(panels), rules, kinds: kinds.into(), dofs };
        let part = match &target.group {
            Some(group) => Some(part(group, &sampling, &accuracy)?),
            None => None,
        };
        let held = part.as_ref().map_or(&sampling, |part| &part.held);
        let group = target.group.as_ref();
        let geometry = on_all(group, geometry(held, &target, accuracy.selection.diameters))?;
        let gap = match &geometry {
            Some(geometry) => geometry.smallest_relative_gap(accuracy.rule).map_err(Error::from),
            None => Ok(near::smallest_relative_gap(&held.panels, accuracy.rule)),
        };
        let height = near::smallest_relative_height(&held.panels, accuracy.rule);
        let gap = -share::largest(group, -share::agreed(group, gap)?.min(height))?;
        let accuracy = accuracy.for_gap(gap);
        Ok(Self { accuracy, sampling, gap, target, part, geometry })
    }

    /// The same with rows of other kinds, on processor cores.
    pub(crate) fn with_kinds(&self, kinds: &[RowKind]) -> Self {
        let sampling = Sampling { kinds: kinds.into(), ..self.sampling.clone() };
        let part = self.part.as_ref().map(|part| part.with_kinds(kinds));
        let (accuracy, target) = (self.accuracy.clone(), self.target.clone());
        Self { accuracy, sampling, gap: self.gap, target, part, geometry: None }
    }

    /// The fast sum of products with so many columns at once.
    pub(crate) fn fast_sum(&self, tolerance: f64, columns: usize) -> FastSum {
        let Target { backend, gpu, .. } = self.target;
        let (sampling, part) = (self.sampling.clone(), self.part.clone());
        let gap = self.gap;
        FastSum { sampling, part, gap, tolerance, columns, backend, gpu, stop: None }
    }

    /// Ranks that share the panels.
    pub(crate) fn group(&self) -> Option<&Group> {
        self.target.group.as_ref()
    }

    /// Panels that this process holds, its own among them, and those of images.
    pub(crate) fn held(&self) -> [usize; 2] {
        let held = self.part.as_ref().map_or(&self.sampling, |part| &part.held);
        [held.panels.len(), held.panels.total()]
    }

    /// The layer without a near field, with these plans.
    pub(crate) fn bare(&self, plans: PlanSchedule) -> Layer {
        Layer::new(self.sampling.clone(), plans, self.without_near_field())
    }

    /// Products without a near field, which takes no memory.
    pub(crate) fn without_near_field(&self) -> Box<dyn Backend> {
        let [held, _] = self.held();
        let of = (self.sampling.clone(), self.part.clone());
        Box::new(Host::new(of, Near::none(held), None))
    }

    /// Keeps the near field off the GPU: the fast sum is not there.
    pub(crate) fn leave_device(&mut self) {
        self.geometry = None;
    }

    /// The near field, with a preconditioner where `conductor` is given: that of each panel, `None`
    /// on interfaces. Collective where ranks share the panels.
    ///
    /// # Errors
    /// [`Error::Interrupted`], what `close.check` says, and the GPU's where it was asked for;
    /// messages that do not pass.
    pub(crate) fn backend(
        &mut self,
        close: &Close<'_>,
        conductor: Option<&[Option<u32>]>,
    ) -> Result<Box<dyn Backend>, Error> {
        let _span = tracing::debug_span!("near field and preconditioner").entered();
        if let Some(geometry) = self.geometry.take() {
            let found = self.on_device(geometry, close, conductor);
            let is_gpus = matches!(found, Err(Error::Gpu(_)));
            // One that cannot keep it there is reason enough for all.
            let refused = share::largest(self.group(), if is_gpus { 1.0 } else { 0.0 })? > 0.0;
            if !(refused && self.target.backend == fmm::Backend::Auto) {
                return found;
            }
            if let Err(error) = found {
                tracing::warn!(%error, "the near field is evaluated on the processor");
            }
        }
        self.on_host(close, conductor)
    }

    fn on_host(
        &self,
        close: &Close<'_>,
        conductor: Option<&[Option<u32>]>,
    ) -> Result<Box<dyn Backend>, Error> {
        let Accuracy { rule, selection, pairs, solid_angles, precision, .. } = &self.accuracy;
        let part = self.part.as_ref();
        let (share, group) = (part.map(|part| &*part.share), self.target.group.as_ref());
        let Sampling { panels, kinds, dofs, .. } = part.map_or(&self.sampling, |part| &part.held);
        let (check, progress) = (close.check, close.progress);
        if let Dofs::Functions(functions) = dofs {
            let pairs = FunctionPairs { panels, kinds, functions, accuracy: &self.accuracy };
            let near = Near::of_functions(&pairs, *precision, check, progress)?;
            return Ok(Box::new(Host::new((self.sampling.clone(), None), near, None)));
        }
        let needs = match (close.needs, share) {
            (Some(needs), Some(share)) => Some(&needs.subset(share.held())),
            (needs, _) => needs,
        };
        let entries = LayerPairs::new(panels, kinds, *pairs).with_solid_angles(*solid_angles);
        let exact = entries.with_needs(needs);
        let near = Near::new((panels, share), selection, &exact, *precision, check, progress);
        let mut near = share::agreed(group, near)?;
        let preconditioner = match (conductor, part) {
            (None, _) => None,
            (Some(conductor), None) => Some(Preconditioner::new(&near, panels, conductor, None)?),
            (Some(conductor), Some(Part { share, .. })) => {
                let all = OfAll { share, panels: &self.sampling.panels, conductor };
                let held = share.held_of(conductor);
                Some(Preconditioner::new(&near, panels, &held, Some(all))?)
            }
        };
        let preconditioner = preconditioner.map(Box::new);
        near.subtract_points(panels, &exact, rule);
        if !matches!(dofs, Dofs::Charges(Density::Linear)) {
            let of = (self.sampling.clone(), self.part.clone());
            return Ok(Box::new(Host::new(of, near, preconditioner)));
        }
        let accuracy = &self.accuracy;
        let pairs = SlopePairs { even: &exact, accuracy, solid_angles: *solid_angles };
        let known = near.entries();
        let slopes = Slopes::new((&pairs, share), |entries| check(known + entries), progress);
        let slopes = share::agreed(group, slopes)?;
        let is_conductor = |i: usize| kinds[i] == RowKind::Single;
        let has_inverse = preconditioner.is_some() && self.sampling.has(RowKind::Single);
        let inverse = has_inverse.then(|| ModeInverse::new(&pairs, &near, &slopes, &is_conductor));
        let host = Host::new((self.sampling.clone(), self.part.clone()), near, preconditioner);
        Ok(Box::new(host.with_slopes(slopes, inverse)))
    }

    fn on_device(
        &self,
        mut geometry: DeviceGeometry,
        close: &Close<'_>,
        conductor: Option<&[Option<u32>]>,
    ) -> Result<Box<dyn Backend>, Error> {
        let Accuracy { rule, selection, pairs, solid_angles, precision, .. } = &self.accuracy;
        let (stream, part) = (geometry.device().clone(), self.part.as_ref());
        let (check, progress) = (close.check, close.progress);
        let exact = || -> Result<DeviceNear, Error> {
            let needs = part.and_then(|part| Some(close.needs?.subset(part.share.held())));
            geometry.set_needs(needs.as_ref().or(close.needs), *solid_angles)?;
            DeviceNear::new(geometry, selection, *pairs, *precision, check, progress)
        };
        let mut near = share::agreed(self.group(), exact())?;
        let panels = &part.map_or(&self.sampling, |part| &part.held).panels;
        let preconditioner = conductor.map(|conductor| match part {
            None => DevicePreconditioner::new(&near, panels, conductor, None),
            Some(Part { share, .. }) => {
                let all = OfAll { share, panels: &self.sampling.panels, conductor };
                DevicePreconditioner::new(&near, panels, &share.held_of(conductor), Some(all))
            }
        });
        let preconditioner = share::agreed(self.group(), preconditioner.transpose())?;
        let subtracted = near.subtract_points(rule).and_then(|()| stream.stream().synchronize());
        share::agreed(self.group(), subtracted.map_err(Error::from))?;
        if part.is_some() {
            let of = (self.sampling.clone(), self.part.clone());
            return Ok(Box::new(Host::with_device(of, near, preconditioner)));
        }
        let product = DeviceProduct::new(near, rule)?.with_far_images(self.sampling.clone());
        Ok(Box::new(OnDevice::new(product, preconditioner)))
    }
}

/// What this rank has of the panels of all. Collective.
fn part(group: &Group, sampling: &Sampling, accuracy: &Accuracy) -> Result<Part, Error> {
    let selection = match sampling.dofs {
        Dofs::Charges(Density::Linear) => &Slopes::selection(&accuracy.selection),
        _ => &accuracy.selection,
    };
    let panels = &sampling.panels;
    let share = Share::new(group, panels, &selection.reach(panels))?;
    let (own, held) = (sampling.subset(share.own()), sampling.subset(share.held()));
    Ok(Part { share: Arc::new(share), own, held })
}

/// What a rank has made, if all ranks of its group have, and else `None`. Collective.
///
/// # Errors
/// That of any rank.
fn on_all<T>(group: Option<&Group>, own: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
    let own = share::agreed(group, own)?;
    let lacking = share::largest(group, if own.is_some() { 0.0 } else { 1.0 })?;
    Ok(own.filter(|_| lacking == 0.0))
}

/// The panels on the GPU, if that is to have their near field.
fn geometry(
    of: &Sampling,
    target: &Target,
    diameters: f64,
) -> Result<Option<DeviceGeometry>, Error> {
    let Sampling { panels, kinds, dofs, .. } = of;
    // Pairs of curved panels and those in several layers are integrated by processors, dipoles
    // summed by them.
    let is_there = matches!(dofs, Dofs::Charges(Density::Constant))
        && !panels.are_curved()
        && panels.regions() == 1
        && !kinds.contains(&RowKind::Double);
    if !is_there || panels.len() == 0 && target.group.is_some() {
        return Ok(None);
    }
    let open = || DeviceGeometry::new(&device::open(target.gpu)?, panels, kinds, diameters);
    match target.backend {
        fmm::Backend::Cuda => Ok(Some(open()?)),
        // Should there be no GPU, the plan says so.
        fmm::Backend::Auto if panels.len() >= WORTH_A_GPU => Ok(open().ok()),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use mesh::Mesh;
    use mesh::generate::{Resolution, Sphere, SphereBase};
    use mesh::mirror::Plane;

    use super::*;
    use crate::solve::gmres::LinearOperator;
    use crate::space::{FunctionSpace, Test, TestTrial};
    use crate::{Images, Mirror, Quiet};

    const TOLERANCE: f64 = 1e-7;

    /// Rows for the density f(x) in linear functions on a mesh with images, by the position of each
    /// coefficient.
    fn rows(mesh: &Mesh, images: &Images, kind: RowKind, test: Test) -> Vec<([f64; 3], f64)> {
        let panels = Arc::new(Panels::new(mesh, |_| true).with_images(images, None));
        let corners: Vec<[u32; 3]> =
            panels.triangles().iter().map(|&t| mesh.triangles[t as usize]).collect();
        let vertices = (&corners[..], mesh.vertices.len());
        let functions = TestTrial::new(test, FunctionSpace::Linear, &panels, vertices);
        let density = |[x, y, z]: [f64; 3]| 1.0 + x * y + 0.3 * x + z * z;
        let of = |&v: &u32| density(mesh.vertices[v as usize]);
        let x: Vec<f64> = functions.columns.order().iter().map(of).collect();
        let places: Vec<[f64; 3]> = match test {
            Test::Means(_) => {
                functions.rows.order().iter().map(|&v| mesh.vertices[v as usize]).collect()
            }
            Test::Centroids => {
                (0..panels.len()).map(|i| panels.unscaled(&panels.centroid(i))).collect()
            }
        };
        let kinds = vec![kind; panels.len()];
        let dofs = Dofs::Functions(Arc::new(functions));
        let target = Target { backend: fmm::Backend::Cpu, gpu: 0, group: None };
        let mut parts = Discretisation::new(&panels, &kinds, dofs, TOLERANCE, 1, target).unwrap();
        let plan = parts.fast_sum(TOLERANCE, 1).plan(TOLERANCE).unwrap();
        let close = Close { needs: None, check: &|_| Ok(()), progress: &Quiet };
        let backend = parts.backend(&close, None).unwrap();
        let mut layer = Layer::new(parts.sampling, PlanSchedule::fixed(plan), backend);
        let mut y = vec![0.0; layer.len()];
        layer.apply(&x, &mut y, 1).unwrap();
        // In the mesh's lengths: panels are scaled by their own box.
        let length = panels.scale().powi(if kind == RowKind::Single { 3 } else { 2 });
        places.into_iter().zip(y.into_iter().map(|y| y * length)).collect()
    }

    /// A hemisphere and its image are the sphere, whatever the rows are.
    #[test]
    fn functions_on_a_part_with_images_are_those_on_the_whole() {
        let resolution = Resolution::Elements(512);
        let sphere = Sphere { radius: 1.3, base: SphereBase::Octahedron, resolution };
        let whole = sphere.build().unwrap();
        let mut half = Mesh { vertices: Vec::new(), triangles: Vec::new(), ..whole.clone() };
        let mut number = vec![u32::MAX; whole.vertices.len()];
        for corners in &whole.triangles {
            let places = corners.map(|v| whole.vertices[v as usize]);
            if places.iter().map(|x| x[2]).sum::<f64>() > 0.0 {
                half.triangles.push(corners.map(|v| {
                    if number[v as usize] == u32::MAX {
                        number[v as usize] = half.vertices.len() as u32;
                        half.vertices.push(whole.vertices[v as usize]);
                    }
                    number[v as usize]
                }));
            }
        }
        assert_eq!(2 * half.triangles.len(), whole.triangles.len());
        let plane = Plane { axis: 2, at: 0.0 };
        let images = Images::new(&[Mirror { plane, odd: false }]);
        for (kind, test) in [
            (RowKind::Single, Test::Means(FunctionSpace::Linear)),
            (RowKind::Adjoint, Test::Means(FunctionSpace::Linear)),
            (RowKind::Double, Test::Means(FunctionSpace::Linear)),
            (RowKind::Single, Test::Centroids),
            (RowKind::Adjoint, Test::Centroids),
        ] {
            let of_whole = rows(&whole, &Images::default(), kind, test);
            let of_half = rows(&half, &images, kind, test);
            let size = of_whole.iter().map(|row| row.1.abs()).fold(0.0, f64::max);
            for (place, value) in of_half {
                let near =
                    |other: &&([f64; 3], f64)| (0..3).all(|k| (other.0[k] - place[k]).abs() < 1e-9);
                let expected = of_whole.iter().find(near).unwrap().1;
                // Half of the functions in the plane are in the image.
                let in_plane = matches!(test, Test::Means(_)) && place[2].abs() < 1e-9;
                let value = if in_plane { 2.0 * value } else { value };
                // Two sums and two near fields of this tolerance.
                let off = (value - expected).abs() / size;
                assert!(off < 3.0 * TOLERANCE, "{kind:?} {test:?} at {place:?}: {off:.1e}");
            }
        }
    }
}
