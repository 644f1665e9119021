//! The bodies that forces act on: conductors, and dielectrics with all that is in them.

use mesh::regions::Position;

use crate::case::Case;
use crate::exit::Failure;
use crate::problem::Problem;
use crate::units;

/// Force and torque on one body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Force {
    pub(crate) name: String,
    pub(crate) newton: [f64; 3],
    pub(crate) newton_metre: [f64; 3],
    /// The point that the torque is about, in the mesh's unit.
    pub(crate) about: [f64; 3],
}

/// Forces on every body that lies in one medium, for these surface charges (over 4 pi eps0) and sources. A body that a plane of
/// symmetry cuts is meant with its images across it.
pub(crate) fn forces(
    case: &Case,
    problem: &Problem,
    charge: &[f64],
    sources: &bem::Excitation,
) -> Result<Vec<Force>, Failure> {
    let (names, bodies): (Vec<String>, Vec<bem::Body>) =
        conductors(case, problem).into_iter().chain(dielectrics(case, problem)).unzip();
    let images = &problem.symmetry.images;
    let whole = problem.symmetry.whole(&problem.mesh);
    let sources = images.excitation(sources, |_| true);
    let found = bem::forces(whole, &images.charges(charge), &sources, &bodies)?;
    // Volts squared times 4 pi eps0.
    let newton = units::farads(1.0, units::LengthUnit::Metre);
    let force = |((name, body), force): ((String, &bem::Body), &bem::Force)| Force {
        name,
        newton: force.force.map(|f| f * newton),
        newton_metre: force.torque.map(|t| t * newton * case.mesh.unit.metres()),
        about: body.about,
    };
    Ok(names.into_iter().zip(&bodies).zip(&found).map(force).collect())
}

/// A body of these triangles and sources, with its images across planes that it touches; `None` if one of them is grounded.
fn body(
    problem: &Problem,
    triangles: &[u32],
    sources: &[usize],
    permittivity: f64,
) -> Option<bem::Body> {
    let Problem { mesh, symmetry, .. } = problem;
    let touching = symmetry.touching(|t| triangles.binary_search(&t).is_ok());
    let joined = symmetry.joined(|k| touching[k]);
    if joined.iter().any(|&g| symmetry.images.is_of_ground(g)) {
        return None;
    }
    let of_images = |of: usize, count: usize| joined.iter().map(move |g| g * count + of);
    let all: Vec<u32> = triangles
        .iter()
        .flat_map(|&t| of_images(t as usize, mesh.triangles.len()))
        .map(|t| t as u32)
        .collect();
    Some(bem::Body {
        about: centre(problem, &all),
        triangles: all,
        charges: sources.iter().flat_map(|&q| of_images(q, problem.sources.len())).collect(),
        permittivity,
    })
}

fn conductors(case: &Case, problem: &Problem) -> Vec<(String, bem::Body)> {
    let owner = &problem.conductors.of_triangle;
    let of = |(index, name): (usize, &String)| {
        let own = |t: &u32| owner[*t as usize] == Some(index as u32);
        let triangles: Vec<u32> = (0..owner.len() as u32).filter(own).collect();
        let permittivity = match &problem.media {
            None => case.relative_permittivity,
            Some(media) => same(triangles.iter().flat_map(|&t| media.permittivity[t as usize]))?,
        };
        Some((name.clone(), body(problem, &triangles, &[], permittivity)?))
    };
    problem.conductors.names.iter().enumerate().filter_map(of).collect()
}

fn dielectrics(case: &Case, problem: &Problem) -> Vec<(String, bem::Body)> {
    let Some(media) = &problem.media else { return Vec::new() };
    let whole = problem.symmetry.whole(&problem.mesh);
    let count = problem.mesh.triangles.len();
    let mut bodies = Vec::new();
    for (dielectric, region) in case.dielectrics.iter().zip(&media.regions) {
        let positions = region.positions(whole);
        let outside = region
            .boundary
            .iter()
            .filter(|(t, _)| (*t as usize) < count)
            .map(|&(t, inward)| media.permittivity[t as usize][usize::from(inward)]);
        let Some(permittivity) = same(outside) else { continue };
        let inside = |t: &u32| positions[*t as usize] != Position::Outside;
        let triangles: Vec<u32> = (0..count as u32).filter(inside).collect();
        let sources: Vec<usize> = (0..problem.sources.len())
            .filter(|&index| region.contains(problem.sources[index].position))
            .collect();
        let body = body(problem, &triangles, &sources, permittivity);
        bodies.extend(body.map(|body| (dielectric.name.value.clone(), body)));
    }
    bodies
}

/// The value of all, if they are the same.
fn same(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values = values.into_iter();
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// Centre of area of triangles, images among them.
fn centre(problem: &Problem, triangles: &[u32]) -> [f64; 3] {
    let whole = problem.symmetry.whole(&problem.mesh);
    let (mut sum, mut total) = ([0.0; 3], 0.0);
    for &t in triangles {
        let corners = whole.corners(t as usize);
        let area = problem.areas[t as usize % problem.areas.len()];
        for corner in corners {
            (0..3).for_each(|k| sum[k] += area / 3.0 * corner[k]);
        }
        total += area;
    }
    if total > 0.0 { sum.map(|s| s / total) } else { sum }
}
