//! The layers of a problem: which of them its surfaces are in, and what cannot be in layers.

use bem::Beyond;
use mesh::Mesh;

use crate::problem::fault::Fault;
use crate::problem::heights::Regions;
use crate::problem::place_fault::StackFault;
use crate::problem::planes::Symmetry;
use crate::scene::description::{Description, axis_name};

/// Vertices this near to an interface, relative to the mesh's size, lie in it.
const IN_INTERFACE: f64 = 1e-9;

/// Moves vertices that lie in an interface but for rounding there, so that triangles lie exactly on
/// their images.
pub(crate) fn snap(stack: &bem::Stack, mesh: &mut Mesh) {
    let tolerance = tolerance(mesh);
    let interfaces = stack.interfaces();
    let axis = stack.axis;
    let snap = |x: &mut [f64; 3]| {
        let near = interfaces.iter().find(|at| (x[axis] - **at).abs() <= tolerance);
        near.into_iter().for_each(|at| x[axis] = *at);
    };
    mesh.vertices.iter_mut().for_each(snap);
    if let Some(patches) = &mut mesh.patches {
        patches.nodes.iter_mut().for_each(snap);
    }
}

/// The mesh's diagonal.
pub(crate) fn size(mesh: &Mesh) -> f64 {
    let [low, high] = mesh::quality::bounding_box(mesh);
    (0..3).map(|k| (high[k] - low[k]).powi(2)).sum::<f64>().sqrt()
}

fn tolerance(mesh: &Mesh) -> f64 {
    IN_INTERFACE * size(mesh)
}

/// Where in a stack surfaces are.
#[derive(Clone, Debug)]
pub struct Place {
    /// Regions of the stack with surfaces, from the lowest on.
    pub(crate) regions: Vec<usize>,
    /// The region of each triangle as an index of these; none where all are in the first.
    of_triangle: Vec<u32>,
    /// Lowest and highest heights of surfaces.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Relative permittivities of the regions.
    permittivities: Vec<f64>,
}

impl Place {
    /// Whether surfaces are in more than one layer.
    pub(crate) fn is_in_several(&self) -> bool {
        self.regions.len() > 1
    }

    /// The only region with surfaces.
    pub(crate) fn region(&self) -> Option<usize> {
        if let [region] = self.regions[..] { Some(region) } else { None }
    }

    /// The regions with surfaces, and their relative permittivities.
    pub(crate) fn media(&self) -> Vec<(usize, f64)> {
        self.regions.iter().copied().zip(self.permittivities.iter().copied()).collect()
    }

    /// Relative permittivity that potentials are relative to: that of the lowest region.
    pub fn reference(&self) -> f64 {
        self.permittivities.first().copied().unwrap_or(1.0)
    }

    /// Relative permittivity of the layer that a triangle is in.
    pub(crate) fn permittivity(&self, triangle: usize) -> f64 {
        let region = self.of_triangle.get(triangle).map_or(0, |region| *region as usize);
        self.permittivities.get(region).copied().unwrap_or(1.0)
    }

    /// The layers of some of the triangles.
    pub(crate) fn of_part(&self, triangles: &[u32]) -> Self {
        let region = |t: &u32| self.of_triangle.get(*t as usize).copied();
        Self { of_triangle: triangles.iter().filter_map(region).collect(), ..self.clone() }
    }

    /// `symmetry` with the images of surfaces there, for potentials on them and at these points.
    pub(crate) fn images(
        &self,
        stack: &bem::Stack,
        mesh: &Mesh,
        symmetry: Symmetry,
        points: impl Iterator<Item = [f64; 3]>,
    ) -> Result<Symmetry, Vec<Fault>> {
        let (size, tolerance) = (size(mesh), tolerance(mesh));
        let coarse = |left| vec![fault(stack, StackFault::TooCoarse(left))];
        let mut regions = self.regions.clone();
        let mut in_ground = None;
        for at in points.map(|x| x[stack.axis]) {
            let is_in = |region: &usize| {
                let [low, high] = stack.bounds(*region);
                at >= low - tolerance && at <= high + tolerance
            };
            if regions.iter().any(is_in) {
                continue;
            }
            match stack.region(at, at, tolerance) {
                Some(region) => regions.push(region),
                None => in_ground = Some(at),
            }
        }
        if let Some(at) = in_ground {
            return Err(vec![fault(stack, StackFault::Probe(at))]);
        }
        if let [region] = regions[..] {
            let images = stack.images(region, size).map_err(coarse)?;
            return Ok(symmetry.in_layers(images, mesh));
        }
        let between = bem::Between::new(stack, &regions, size).map_err(coarse)?;
        let bounds = regions.iter().map(|&region| stack.bounds(region)).collect();
        let regions = Regions { axis: stack.axis, bounds };
        Ok(symmetry.in_regions(between, self.of_triangle.clone(), regions, mesh))
    }
}

fn fault(stack: &bem::Stack, problem: StackFault) -> Fault {
    Fault::Stack { axis: axis_name(stack.axis), problem }
}

/// Where all triangles are that `keep` holds for. `is_conductor` tells which of these are metal.
pub fn find(
    stack: &bem::Stack,
    mesh: &Mesh,
    keep: impl Fn(usize) -> bool,
    is_conductor: impl Fn(usize) -> bool,
) -> Result<Place, Vec<Fault>> {
    let fault = |problem| fault(stack, problem);
    let tolerance = tolerance(mesh);
    let heights = |t: usize| {
        let corners = mesh.corners(t);
        let nodes = mesh.patches.as_ref().map_or(&corners[..], |patches| patches.of(t));
        let along = nodes.iter().map(|x| x[stack.axis]);
        let nothing = [f64::INFINITY, f64::NEG_INFINITY];
        along.fold(nothing, |[low, high], z| [low.min(z), high.max(z)])
    };
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let interfaces = stack.interfaces();
    let last = interfaces.len() - 1;
    let grounds = [(stack.below, interfaces[0]), (stack.above, interfaces[last])];
    for t in (0..mesh.triangles.len()).filter(|&t| keep(t)) {
        let [lowest, highest] = heights(t);
        (low, high) = (low.min(lowest), high.max(highest));
        let touches = |at: f64| lowest <= at + tolerance && highest >= at - tolerance;
        let is_shorted = |&(beyond, at): &(Beyond, f64)| beyond == Beyond::Ground && touches(at);
        if is_conductor(t)
            && let Some((_, at)) = grounds.iter().find(|ground| is_shorted(ground))
        {
            return Err(vec![fault(StackFault::Shorted { triangle: t as u32, at: *at })]);
        }
    }
    let eps = |region: &usize| stack.permittivity(*region).unwrap_or(1.0);
    if let Some(region) = stack.region(low, high, tolerance) {
        let (regions, permittivities) = (vec![region], vec![eps(&region)]);
        return Ok(Place { regions, of_triangle: Vec::new(), low, high, permittivities });
    }
    // Triangles in an interface are in either of two.
    let mut found = vec![[usize::MAX; 2]; mesh.triangles.len()];
    for t in (0..mesh.triangles.len()).filter(|&t| keep(t)) {
        let [low, high] = heights(t);
        let possible = stack.regions(low, high, tolerance);
        found[t] = match (possible.first(), possible.last()) {
            (Some(first), Some(last)) => [*first, *last],
            _ => {
                let is_cut = |at: &f64| low < at - tolerance && high > at + tolerance;
                return Err(vec![fault(match interfaces.iter().copied().find(is_cut) {
                    Some(at) => StackFault::Through { triangle: t as u32, low, high, at },
                    None => StackFault::InGround { low, high },
                })]);
            }
        };
    }
    let mut regions: Vec<usize> =
        found.iter().filter(|[a, b]| a == b && *a < usize::MAX).map(|[a, _]| *a).collect();
    regions.sort_unstable();
    regions.dedup();
    let mut choose =
        |[a, b]: [usize; 2]| match (regions.binary_search(&a), regions.binary_search(&b)) {
            (Err(_), Ok(_)) => b,
            (Err(at), Err(_)) if a < usize::MAX => {
                regions.insert(at, a);
                a
            }
            _ => a,
        };
    let chosen: Vec<usize> = found.into_iter().map(&mut choose).collect();
    let index = |region: &usize| regions.binary_search(region).unwrap_or(0) as u32;
    let of_triangle = chosen.iter().map(index).collect();
    let permittivities = regions.iter().map(eps).collect();
    Ok(Place { regions, of_triangle, low, high, permittivities })
}

/// Faults of faces of dielectrics (those `is_interface` holds for): some in interfaces of layers,
/// or surfaces in several layers.
pub(crate) fn faults_of_media(
    stack: &bem::Stack,
    place: &Place,
    mesh: &Mesh,
    images: &bem::Images,
    is_interface: impl Fn(usize) -> bool,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let between_media = |t: &usize| is_interface(*t) && images.lies_on_image(*t);
    if let Some(t) = (0..mesh.triangles.len()).find(between_media) {
        faults.push(fault(stack, StackFault::OnInterface(t as u32)));
    }
    if place.is_in_several() && (0..mesh.triangles.len()).any(is_interface) {
        faults.push(in_several(stack, "dielectric bodies"));
    }
    faults
}

/// That this needs all surfaces in one layer.
pub(crate) fn in_several(stack: &bem::Stack, what: &'static str) -> Fault {
    fault(stack, StackFault::InSeveral(what))
}

/// Parts of a description that have no meaning in layers.
pub(crate) fn faults(description: &Description) -> Vec<Fault> {
    let Some(stack) = &description.stack else { return Vec::new() };
    let axis = axis_name(stack.axis);
    let fault = |problem| Fault::Stack { axis, problem };
    let mut found = Vec::new();
    let thicknesses =
        stack.layers.iter().map(|layer| ("the thickness of a layer", layer.thickness));
    let eps = |beyond| match beyond {
        Beyond::Dielectric(eps) => Some(eps),
        Beyond::Ground => None,
    };
    let permittivities = stack.layers.iter().map(|layer| layer.permittivity);
    let permittivities =
        permittivities.chain([stack.below, stack.above].into_iter().filter_map(eps));
    let permittivities = permittivities.map(|eps| ("the relative permittivity of a layer", eps));
    for (what, value) in thicknesses.chain(permittivities) {
        if !(value > 0.0 && value.is_finite()) {
            found.push(Fault::Number { what, value, possible: "a number above 0" });
        }
    }
    if !stack.at.is_finite() || stack.axis > 2 {
        let (what, value) = ("the place of the layers", stack.at);
        found.push(Fault::Number { what, value, possible: "a finite number" });
    }
    if stack.layers.is_empty() && [stack.below, stack.above] == [Beyond::Ground; 2] {
        found.push(fault(StackFault::Empty));
    }
    if description.planes.iter().any(|mirror| mirror.plane.axis == stack.axis) {
        found.push(fault(StackFault::Plane));
    }
    let refused = [
        (description.field != [0.0; 3], "an external field"),
        (description.has_charges(), "point charges"),
        (!description.surfaces.is_empty(), "media by surfaces"),
        (description.polarisability, "the polarisability"),
        (description.diffusion.is_some(), "diffusion"),
    ];
    found.extend(
        refused.iter().filter(|(has, _)| *has).map(|(_, what)| fault(StackFault::Not(what))),
    );
    found
}
