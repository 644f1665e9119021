//! The bodies that forces act on: conductors, and dielectrics with all that is in them.

use mesh::regions::Position;

use crate::case::Case;
use crate::exit::Failure;
use crate::media;
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

/// Forces on every body that lies in one medium, for these surface charges (over 4 pi eps0) and sources.
pub(crate) fn forces(
    case: &Case,
    problem: &Problem,
    charge: &[f64],
    sources: &bem::Excitation,
) -> Result<Vec<Force>, Failure> {
    let (names, bodies): (Vec<String>, Vec<bem::Body>) =
        conductors(case, problem).into_iter().chain(dielectrics(case, problem)?).unzip();
    let found = bem::forces(&problem.mesh, charge, sources, &bodies)?;
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

fn conductors(case: &Case, problem: &Problem) -> Vec<(String, bem::Body)> {
    let owner = &problem.conductors.of_triangle;
    let body = |(index, name): (usize, &String)| {
        let own = |t: &u32| owner[*t as usize] == Some(index as u32);
        let triangles: Vec<u32> = (0..owner.len() as u32).filter(own).collect();
        let permittivity = match &problem.media {
            None => case.relative_permittivity,
            Some(media) => same(triangles.iter().flat_map(|&t| media.permittivity[t as usize]))?,
        };
        let about = centre(problem, &triangles);
        Some((name.clone(), bem::Body { triangles, charges: Vec::new(), permittivity, about }))
    };
    problem.conductors.names.iter().enumerate().filter_map(body).collect()
}

fn dielectrics(case: &Case, problem: &Problem) -> Result<Vec<(String, bem::Body)>, Failure> {
    let Some(media) = &problem.media else { return Ok(Vec::new()) };
    let regions = media::regions(case, &problem.mesh)?;
    let mut bodies = Vec::new();
    for (dielectric, region) in case.dielectrics.iter().zip(&regions) {
        let positions = region.positions(&problem.mesh);
        let outside = region
            .boundary
            .iter()
            .map(|&(t, inward)| media.permittivity[t as usize][usize::from(inward)]);
        let Some(permittivity) = same(outside) else { continue };
        let inside = |t: &u32| positions[*t as usize] != Position::Outside;
        let triangles: Vec<u32> = (0..problem.mesh.triangles.len() as u32).filter(inside).collect();
        let charges = (0..problem.sources.len())
            .filter(|&index| region.contains(problem.sources[index].position))
            .collect();
        let about = centre(problem, &triangles);
        bodies.push((
            dielectric.name.value.clone(),
            bem::Body { triangles, charges, permittivity, about },
        ));
    }
    Ok(bodies)
}

/// The value of all, if they are the same.
fn same(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values = values.into_iter();
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// Centre of area.
fn centre(problem: &Problem, triangles: &[u32]) -> [f64; 3] {
    let (mut sum, mut total) = ([0.0; 3], 0.0);
    for &t in triangles {
        let (corners, area) = (problem.mesh.corners(t as usize), problem.areas[t as usize]);
        for corner in corners {
            (0..3).for_each(|k| sum[k] += area / 3.0 * corner[k]);
        }
        total += area;
    }
    if total > 0.0 { sum.map(|s| s / total) } else { sum }
}
