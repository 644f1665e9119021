//! The layers of a problem: which of them its surfaces are in, and what cannot be in layers.

use bem::Beyond;
use mesh::Mesh;

use crate::description::{Description, axis_name};
use crate::fault::{Fault, StackFault};

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

/// The region of a stack that surfaces are in, and their lowest and highest places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) region: usize,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Where in a stack surfaces are.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) place: Place,
    /// Of the layer.
    pub(crate) permittivity: f64,
    /// The layer's lowest and highest heights.
    pub(crate) between: [f64; 2],
    /// Of charges in it.
    pub(crate) images: Vec<bem::LayerImage>,
}

/// The layer that all triangles that `keep` holds for are in. `is_conductor` tells which of these
/// are metal.
pub(crate) fn find(
    stack: &bem::Stack,
    mesh: &Mesh,
    keep: impl Fn(usize) -> bool,
    is_conductor: impl Fn(usize) -> bool,
) -> Result<Found, Vec<Fault>> {
    let fault = |problem| Fault::Stack { axis: axis_name(stack.axis), problem };
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
    let Some(region) = stack.region(low, high, tolerance) else {
        let through =
            interfaces.iter().copied().find(|at| low < at - tolerance && high > at + tolerance);
        return Err(vec![fault(match through {
            Some(at) => StackFault::Through { low, high, at },
            None => StackFault::InGround { low, high },
        })]);
    };
    let images = stack
        .images(region, size(mesh))
        .map_err(|left| vec![fault(StackFault::TooCoarse(left))])?;
    let permittivity = stack.permittivity(region).unwrap_or(1.0);
    let place = Place { region, low, high };
    Ok(Found { place, permittivity, between: stack.bounds(region), images })
}

/// Probes, and faces of dielectrics (those `is_interface` holds for), where values would be wrong.
pub(crate) fn check_places(
    description: &Description,
    stack: &bem::Stack,
    mesh: &Mesh,
    (images, between): (&bem::Images, [f64; 2]),
    is_interface: impl Fn(usize) -> bool,
) -> Result<(), Vec<Fault>> {
    let fault = |problem| Fault::Stack { axis: axis_name(stack.axis), problem };
    let mut faults = Vec::new();
    let between_media = |t: &usize| is_interface(*t) && images.lies_on_image(*t);
    if let Some(t) = (0..mesh.triangles.len()).find(between_media) {
        faults.push(fault(StackFault::OnInterface(t as u32)));
    }
    let tolerance = tolerance(mesh);
    let is_out = |x: &[f64; 3]| {
        x[stack.axis] < between[0] - tolerance || x[stack.axis] > between[1] + tolerance
    };
    let mut points = description.probes.iter().flat_map(|probe| probe.place.points());
    if let Some(point) = points.find(is_out) {
        faults.push(fault(StackFault::Probe { at: point[stack.axis], between }));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// What of a description has no meaning in layers.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn stack() -> bem::Stack {
        let layer = bem::StackLayer { thickness: 4.0, permittivity: 3.0 };
        bem::Stack {
            axis: 2,
            at: -2.0,
            below: Beyond::Ground,
            layers: vec![layer],
            above: Beyond::Dielectric(2.0),
            tolerance: 1e-6,
        }
    }

    fn found(stack: &bem::Stack) -> Result<f64, StackFault> {
        let found = find(stack, &testing::sphere(), |_| true, |_| true);
        found.map(|found| found.permittivity).map_err(|faults| match faults[..] {
            [Fault::Stack { problem, .. }] => problem,
            _ => panic!("{faults:?}"),
        })
    }

    #[test]
    fn the_layer_of_the_surfaces_is_found() {
        assert_eq!(found(&stack()), Ok(3.0));
        // From -1 to 1, in what is above, through an interface, at and in the ground.
        let at = |at: f64| bem::Stack { at, ..stack() };
        assert_eq!(found(&at(-5.0)), Ok(2.0));
        let through = StackFault::Through { low: -1.0, high: 1.0, at: -0.5 };
        assert_eq!(found(&at(-4.5)), Err(through));
        assert!(matches!(found(&at(-1.0)), Err(StackFault::Shorted { at: -1.0, .. })));
        assert_eq!(found(&at(5.0)), Err(StackFault::InGround { low: -1.0, high: 1.0 }));
    }

    #[test]
    fn what_has_no_meaning_in_layers_is_told() {
        let with = |change: &dyn Fn(&mut Description)| -> Vec<String> {
            let mut description = Description { stack: Some(stack()), ..Description::default() };
            change(&mut description);
            description.faults().iter().map(ToString::to_string).collect()
        };
        assert_eq!(with(&|_| ()), [""; 0]);
        let plane = bem::Mirror { plane: mesh::mirror::Plane { axis: 2, at: 0.0 }, odd: true };
        type Change<'a> = (&'a dyn Fn(&mut Description), &'a str);
        let changes: [Change<'_>; 5] = [
            (&|d| d.field = [0.0, 0.0, 1.0], "external field"),
            (&|d| d.polarisability = true, "polarisability"),
            (&|d| d.planes = vec![plane], "plane"),
            (&|d| d.stack.as_mut().unwrap().layers[0].thickness = 0.0, "thickness"),
            (&|d| d.stack.as_mut().unwrap().above = Beyond::Dielectric(-1.0), "permittivity"),
        ];
        for (change, word) in changes {
            let told = with(change);
            assert!(told.len() == 1 && told[0].contains(word), "{word}: {told:?}");
        }
    }
}
