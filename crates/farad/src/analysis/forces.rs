//! The bodies that forces act on: conductors, and dielectrics with all that is in them.

use mesh::Mesh;
use mesh::regions::Places;
use mesh::vector::norm;

use crate::analysis::interface::{Analysis, ChargeOfBars, Driven, MissingInState, Results};
use crate::analysis::{checks, excitations};
use crate::problem::Problem;
use crate::problem::fault::Error;
use crate::problem::planes::Seen;
use crate::result::state::{Balance, Force, State};
use crate::result::warning::Warning;
use crate::scene::description::Description;
use crate::units;

/// Forces below this share of those on the parts of bodies are raised to it before they are
/// compared: where bodies shield each other they are only rounding and quadrature errors.
const LEFT: f64 = 1e-3;

/// Forces on all bodies in the state, and whether they balance.
pub(crate) struct ForceAnalysis;

impl Analysis for ForceAnalysis {
    fn is_requested(&self, description: &Description) -> bool {
        description.forces
    }

    fn name_without_ions(&self) -> Option<&'static str> {
        Some("forces")
    }

    fn name_in_one_layer(&self) -> Option<&'static str> {
        Some("forces")
    }

    fn find_in_state(&self, driven: &Driven<'_>, state: &mut State) -> Result<(), Error> {
        let (forces, balance) = forces(driven)?;
        (state.forces, state.balance) = (Some(forces), balance);
        Ok(())
    }

    fn warnings(&self, _: &Problem, results: &Results) -> Vec<Warning> {
        let balance = results.state.as_ref().and_then(|state| state.balance);
        balance.and_then(checks::balance).into_iter().collect()
    }

    fn charge_of_bars(&self) -> ChargeOfBars {
        ChargeOfBars::State
    }

    fn bars(&self, missing: &MissingInState<'_>, state: &mut State) -> Result<(), Error> {
        if let Some(forces) = &mut state.forces {
            set_bars(missing, forces)?;
        }
        Ok(())
    }
}

/// Sets the bars of forces and torques on these bodies.
fn set_bars(missing: &MissingInState<'_>, forces: &mut [Force]) -> Result<(), bem::Error> {
    let _span = tracing::debug_span!("bars of forces").entered();
    let MissingInState { problem, missing, .. } = missing;
    let [charge, more] = [&missing.charge, &missing.missing]
        .map(|charges| Seen::new(charges.into(), &missing.images, 0));
    let mesh = missing.images.mesh(&missing.mesh);
    let changes = changes(problem, &mesh, (&charge).into(), (&more).into())?;
    let [low, high] = mesh::quality::bounding_box(&problem.mesh);
    let size = norm(std::array::from_fn(|k| high[k] - low[k]));
    let lever = size * problem.description.unit.metres();
    for force in forces {
        let change = changes.iter().find(|change| change.name == force.name);
        let [newton, newton_metre] = change.map_or([0.0; 2], |change| {
            [
                missing.factor * norm(change.newton) + force.known_to,
                missing.factor * norm(change.newton_metre) + force.known_to * lever,
            ]
        });
        (force.newton_error, force.newton_metre_error) = (Some(newton), Some(newton_metre));
    }
    Ok(())
}

/// Which bodies are parts of larger ones, or lie in another medium than the surroundings.
fn parts(problem: &Problem, bodies: &[bem::Body]) -> Vec<bool> {
    let count = problem.symmetry.whole(&problem.mesh).triangles.len();
    let mut largest = vec![0; count];
    for body in bodies {
        for &t in &body.triangles {
            let known = &mut largest[t as usize];
            *known = body.triangles.len().max(*known);
        }
    }
    let is_part = |body: &bem::Body| {
        body.permittivity != problem.description.relative_permittivity
            || body.triangles.iter().any(|&t| largest[t as usize] > body.triangles.len())
    };
    bodies.iter().map(is_part).collect()
}

/// The balance of forces, if nothing but the bodies themselves acts on them: no field, no planes,
/// no charge outside of the bodies, one surrounding medium.
fn balance(
    problem: &Problem,
    charge: &[f64],
    bodies: &[bem::Body],
    found: &[bem::Force],
) -> Option<Balance> {
    let has_images = problem.symmetry.images.count() > 1;
    if problem.description.field != [0.0; 3] || has_images {
        return None;
    }
    // Bodies in others are parts of them.
    let mut order: Vec<usize> = (0..bodies.len()).collect();
    order.sort_by_key(|&b| std::cmp::Reverse(bodies[b].triangles.len()));
    let (mut is_taken, mut has) = (vec![false; charge.len()], vec![false; problem.sources.len()]);
    let mut overlap = false;
    order.retain(|&b| {
        let own = &bodies[b].triangles;
        let known = own.iter().filter(|&&t| is_taken[t as usize]).count();
        overlap |= known > 0 && known < own.len();
        own.iter().for_each(|&t| is_taken[t as usize] = true);
        bodies[b].charges.iter().for_each(|&q| has[q] = true);
        known == 0
    });
    let all_charge = charge.iter().zip(&is_taken).all(|(q, taken)| *q == 0.0 || *taken);
    let all_sources = problem.sources.iter().zip(&has).all(|(q, has)| q.coulomb == 0.0 || *has);
    let around = bodies[*order.first()?].permittivity;
    if overlap
        || !(all_charge && all_sources)
        || order.iter().any(|&b| bodies[b].permittivity != around)
    {
        return None;
    }
    let [low, high] = mesh::quality::bounding_box(&problem.mesh);
    let middle: [f64; 3] = std::array::from_fn(|k| 0.5 * (low[k] + high[k]));
    let lever = norm(std::array::from_fn(|k| high[k] - middle[k]));
    let (mut force, mut torque, mut scale) = ([0.0; 3], [0.0; 3], 0.0);
    for &b in &order {
        let (arm, f) =
            (std::array::from_fn::<_, 3, _>(|k| bodies[b].about[k] - middle[k]), found[b].force);
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            force[k] += f[k];
            torque[k] += found[b].torque[k] + arm[i] * f[j] - arm[j] * f[i];
        }
        scale += norm(f).max(LEFT * found[b].size);
    }
    (scale > 0.0)
        .then(|| Balance { force: norm(force) / scale, torque: norm(torque) / (scale * lever) })
}

/// Forces on every body that lies in one medium and is not shielded from all others, and their
/// balance. A body that a plane of symmetry cuts includes its images across it.
fn forces(driven: &Driven<'_>) -> Result<(Vec<Force>, Option<Balance>), bem::Error> {
    let Driven { problem, charges, sources, tolerance } = driven;
    let (names, bodies): (Vec<String>, Vec<bem::Body>) = bodies(problem).into_iter().unzip();
    let images = &problem.symmetry.images;
    let whole = problem.symmetry.sources(&problem.mesh);
    let sources = sources.with_images(images, |_| true);
    // Bodies with forces are in one layer.
    let all = Seen::new(charges.into(), images, 0);
    let found = bem::forces(whole, &all, &sources, &bodies)?;
    // Volts squared times 4 pi eps0.
    let newton = units::farads(1.0, units::LengthUnit::Metre);
    // A force is what charges leave that are known to the tolerance; on a part of another body that
    // is little of what its own charge would exert by itself.
    let known_to = |force: &bem::Force, is_part: bool| {
        let of = if is_part { force.size.max(force.stress) } else { force.size };
        tolerance * of + force.quadrature_error
    };
    let parts = parts(problem, &bodies);
    let force = |(((name, body), force), is_part): (((String, &bem::Body), &bem::Force), bool)| {
        force.is_resolved.then(|| Force {
            name,
            newton: force.force.map(|f| f * newton),
            newton_metre: force.torque.map(|t| t * newton * problem.description.unit.metres()),
            newton_error: None,
            newton_metre_error: None,
            known_to: known_to(force, is_part) * newton,
            on_parts: force.size * newton,
            about: body.about,
        })
    };
    let balance = balance(problem, &charges.charge, &bodies, &found);
    Ok((names.into_iter().zip(&bodies).zip(&found).zip(parts).filter_map(force).collect(), balance))
}

/// The charges and fields that act on one body.
struct Pull {
    name: String,
    newton: [f64; 3],
    newton_metre: [f64; 3],
}

/// Changes of the forces on the same bodies by `missing` charges on the children of all triangles
/// and their images in `mesh`.
fn changes(
    problem: &Problem,
    mesh: &Mesh,
    charges: bem::Charges<'_>,
    missing: bem::Charges<'_>,
) -> Result<Vec<Pull>, bem::Error> {
    let children = |t: u32| 4 * t..4 * t + 4;
    let of_children = |(name, body): (String, bem::Body)| {
        let triangles = body.triangles.iter().flat_map(|&t| children(t)).collect();
        (name, bem::Body { triangles, ..body })
    };
    let (names, bodies): (Vec<String>, Vec<bem::Body>) =
        bodies(problem).into_iter().map(of_children).unzip();
    let sources = excitations::sources(problem).with_images(&problem.symmetry.images, |_| true);
    let found = bem::force_changes(mesh, charges, missing, &sources, &bodies)?;
    let newton = units::farads(1.0, units::LengthUnit::Metre);
    let metres = problem.description.unit.metres();
    let pull = |(name, [force, torque]): (String, [[f64; 3]; 2])| Pull {
        name,
        newton: force.map(|f| f * newton),
        newton_metre: torque.map(|t| t * newton * metres),
    };
    Ok(names.into_iter().zip(found).map(pull).collect())
}

/// A body of these triangles and sources, with its images across planes that it touches; `None` if
/// one of them is grounded, or some of it lies in an interface of layers.
fn body(
    problem: &Problem,
    triangles: &[u32],
    sources: &[usize],
    permittivity: f64,
) -> Option<bem::Body> {
    let Problem { mesh, symmetry, .. } = problem;
    let touching = symmetry.touching(|t| triangles.binary_search(&t).is_ok());
    let joined = symmetry.joined(|k| touching[k]);
    // In an interface of layers a body is between two media.
    let is_between = triangles.iter().any(|&t| symmetry.images.lies_on_image(t as usize));
    if is_between || joined.iter().any(|&g| symmetry.images.is_of_ground(g)) {
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

/// The triangles of the mesh that belong to a body on which there is a force.
pub(crate) fn triangles_of(problem: &Problem, name: &str) -> Vec<bool> {
    let mut is_own = vec![false; problem.mesh.triangles.len()];
    for (_, body) in bodies(problem).into_iter().filter(|(known, _)| known == name) {
        for t in body.triangles {
            let index = t as usize % is_own.len();
            is_own[index] = true;
        }
    }
    is_own
}

/// All bodies whose forces can be found, with their names.
pub(crate) fn bodies(problem: &Problem) -> Vec<(String, bem::Body)> {
    conductors(problem).into_iter().chain(dielectrics(problem)).collect()
}

fn conductors(problem: &Problem) -> Vec<(String, bem::Body)> {
    let owner = &problem.conductors.of_triangle;
    let of = |(index, name): (usize, &String)| {
        let own = |t: &u32| owner[*t as usize] == Some(index as u32);
        let triangles: Vec<u32> = (0..owner.len() as u32).filter(own).collect();
        let permittivity = match &problem.media {
            None => problem.description.relative_permittivity,
            Some(media) => same(triangles.iter().flat_map(|&t| media.permittivity[t as usize]))?,
        };
        Some((name.clone(), body(problem, &triangles, &[], permittivity)?))
    };
    problem.conductors.names.iter().enumerate().filter_map(of).collect()
}

fn dielectrics(problem: &Problem) -> Vec<(String, bem::Body)> {
    let Some(media) = &problem.media else { return Vec::new() };
    let whole = problem.symmetry.whole(&problem.mesh);
    let count = problem.mesh.triangles.len();
    let mut bodies = Vec::new();
    let places = Places::new(whole);
    for (dielectric, region) in problem.description.dielectrics.iter().zip(&media.regions) {
        let outside = region
            .boundary
            .iter()
            .filter(|(t, _)| (*t as usize) < count)
            .map(|&(t, inward)| media.permittivity[t as usize][usize::from(inward)]);
        let Some(permittivity) = same(outside) else { continue };
        let within = places.of(region).into_iter().map(|(t, _)| t);
        let triangles: Vec<u32> = within.filter(|&t| (t as usize) < count).collect();
        let sources: Vec<usize> = (0..problem.sources.len())
            .filter(|&index| region.contains(problem.sources[index].position))
            .collect();
        let body = body(problem, &triangles, &sources, permittivity);
        bodies.extend(body.map(|body| (dielectric.name.clone(), body)));
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
        let own = whole.centre_of_area(t as usize);
        let area = problem.areas[t as usize % problem.areas.len()];
        (0..3).for_each(|k| sum[k] += area * own[k]);
        total += area;
    }
    if total > 0.0 { sum.map(|s| s / total) } else { sum }
}
