//! How close point charges are to surfaces, and whether the mesh follows the surfaces closely
//! enough for them.

use bem::checks::ratio;
use mesh::Mesh;
use mesh::locate::Nearest;
use mesh::quality;

use crate::problem::Problem;
use crate::result::warning::Warning;

/// Facets under a charge may be this many times as large as their distance from it: beyond that the
/// charge that it induces is narrower than the facets, which carry one density each.
const FACETS_OVER_DISTANCE: f64 = 2.0;

/// Facets of a curved surface may be off from it by this share of a charge's distance: its energy,
/// which goes with one over the distance, is off by as much. Of several charges it is the mean,
/// each with the share that it has in their energy.
const SAGITTA_OVER_DISTANCE: f64 = 0.1;

/// Point charges that are nearer to a surface than its facets can follow; `reaction_v` are the
/// potentials of all surface charge at each.
pub(crate) fn judge(problem: &Problem, reaction_v: &[f64]) -> Vec<Warning> {
    let narrow = narrow_charge(problem);
    narrow.into_iter().chain(flat_facets(problem, reaction_v)).collect()
}

fn narrow_charge(problem: &Problem) -> Option<Warning> {
    let found = lengths(problem, &problem.mesh, &problem.nearest, longest_sides);
    let worst = found.into_iter().max_by(|a, b| a.ratio().total_cmp(&b.ratio()))?;
    let values = [worst.ratio(), FACETS_OVER_DISTANCE];
    (ratio(values[0], values[1]) > 1.0).then(|| {
        let Found { index, distance, size } = worst;
        let (what, unit) = (problem.sources[index].called(index), problem.description.unit.name());
        let message = format!(
            "{what} is {distance:.2e} {unit} from a surface whose facets are {size:.2e} {unit} large there: the charge that it \
             induces is narrower than they are, and its energy is wrong; refine the mesh there to facets of at most {:.2e} {unit}",
            FACETS_OVER_DISTANCE * distance
        );
        Warning::new("charge_near_surface", what, values, message)
    })
}

/// Approximate error of the energy of charges, in joule, since triangles under them do not follow
/// the surface; too large where errors cancel.
pub(crate) fn off_j(problem: &Problem, reaction_v: &[f64]) -> f64 {
    let found = off_surface(problem);
    found.iter().map(|of| energy_j(problem, reaction_v, of) * of.ratio()).sum()
}

/// How far the surface is from the triangle under each charge.
fn off_surface(problem: &Problem) -> Vec<Found> {
    let (given, nearest) = problem.as_given();
    lengths(problem, given, nearest, quality::sagittas)
}

/// The part of a charge's energy due to the surface's reaction, without its sign.
fn energy_j(problem: &Problem, reaction_v: &[f64], of: &Found) -> f64 {
    0.5 * (problem.sources[of.index].coulomb * reaction_v[of.index]).abs()
}

fn flat_facets(problem: &Problem, reaction_v: &[f64]) -> Option<Warning> {
    let found = off_surface(problem);
    let energy = |of: &Found| energy_j(problem, reaction_v, of);
    let error = |of: &Found| energy(of) * of.ratio();
    let errors: f64 = found.iter().map(error).sum();
    let energies: f64 = found.iter().map(energy).sum();
    let worst = found.into_iter().max_by(|a, b| error(a).total_cmp(&error(b)))?;
    let values = [if energies > 0.0 { errors / energies } else { 0.0 }, SAGITTA_OVER_DISTANCE];
    (ratio(values[0], values[1]) > 1.0).then(|| {
        let Found { index, distance, size } = worst;
        let (what, unit) = (problem.sources[index].called(index), problem.description.unit.name());
        let message = format!(
            "the energy of charges near curved surfaces is off by about {:.0e} of itself, most for {what}, {distance:.2e} \
             {unit} from one that the triangles of the mesh follow to {size:.2e} {unit}; make a finer mesh of the curved surface there \
             (splitting triangles does not help)",
            values[0]
        );
        Warning::new("charge_near_curved_surface", what, values, message)
    })
}

/// A length of the mesh next to a charge.
struct Found {
    /// Which charge.
    index: usize,
    distance: f64,
    size: f64,
}

impl Found {
    fn ratio(&self) -> f64 {
        self.size / self.distance
    }
}

/// A length of the triangle nearest to each charge.
fn lengths(
    problem: &Problem,
    mesh: &Mesh,
    nearest: &[Option<Nearest>],
    of: impl Fn(&Mesh, &[u32]) -> Vec<f64>,
) -> Vec<Found> {
    let charges = problem.sources.iter().zip(nearest).enumerate();
    let near: Vec<(usize, Nearest)> = charges
        .filter(|(_, (source, _))| source.coulomb != 0.0)
        .filter_map(|(index, (_, near))| Some((index, (*near)?)))
        .collect();
    let triangles: Vec<u32> = near.iter().map(|(_, near)| near.triangle).collect();
    let sizes = of(mesh, &triangles);
    let found = |((index, near), size): ((usize, Nearest), f64)| Found {
        index,
        distance: near.distance,
        size,
    };
    near.into_iter().zip(sizes).map(found).collect()
}

/// The longest side of each of these triangles.
fn longest_sides(mesh: &Mesh, triangles: &[u32]) -> Vec<f64> {
    let longest = |&t: &u32| {
        let [a, b, c] = mesh.corners(t as usize);
        let side =
            |p: [f64; 3], q: [f64; 3]| (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt();
        side(a, b).max(side(b, c)).max(side(c, a))
    };
    triangles.iter().map(longest).collect()
}
