//! GPU work done once per process, before it is needed.

use mesh::generate::{ConcentricSpheres, Resolution, SphereBase};

use mesh::mirror::Plane;

use crate::device::WarmUp;
use crate::physics::electrostatics;
use crate::{Error, Excitation, Images, Media, Method, Mirror, NoProgress, SolveOptions};

/// Triangles of the small problem: enough for a tree of several levels.
const TRIANGLES: usize = 2000;

/// Opens the GPU that `options` name and loads the kernels of a solve with them, with or without
/// interfaces and planes, by solving a small problem. It takes some tenths of a second, which can
/// overlap with reading a large mesh: solves in other threads wait for it when they need the GPU.
///
/// # Errors
/// The reason why the GPU cannot be used.
pub fn warm_up(options: &SolveOptions, interfaces: bool, planes: bool) -> Result<(), Error> {
    let _span = tracing::debug_span!("warm-up of the GPU").entered();
    let _under_way = WarmUp::begin();
    fmm::check_gpu(options.gpu).map_err(Error::Gpu)?;
    let (resolution, base) = (Resolution::Elements(TRIANGLES), SphereBase::Icosahedron);
    let spheres = ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution };
    let Ok(mesh) = spheres.build() else { return Ok(()) };
    let of = |t: usize| match mesh.groups_of(t) {
        [0] => (Some(0), [2.0; 2]),
        _ if interfaces => (None, [1.0, 2.0]),
        _ => (None, [1.0; 2]),
    };
    let (conductor, permittivity): (Vec<_>, Vec<_>) = (0..mesh.triangles.len()).map(of).unzip();
    let mirror = Mirror { plane: Plane { axis: 2, at: -3.0 }, odd: true };
    let mirrors = [mirror];
    let images = Images::new(if planes { &mirrors } else { &[] });
    let media = Media {
        conductor: &conductor,
        conductors: 1,
        permittivity: &permittivity,
        images: &images,
        bodies: &[],
    };
    let excitation = Excitation::default().potentials(vec![1.0]);
    let backend = fmm::Backend::Cuda;
    let options = options.clone().method(Method::Fmm).backend(backend);
    electrostatics(&mesh, media, &[excitation], &options, &NoProgress).map(drop)
}
