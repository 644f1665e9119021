//! Solves that ranks share, against those of one process. On cores, and on a GPU that all ranks
//! share, if there is one; elsewhere that is skipped with a printed reason, unless
//! FARAD_REQUIRE_GPU=1.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use std::sync::LazyLock;

use bem::{
    Beyond, Cells, Density, Electrostatics, Excitation, FixedCharge, Images, LayerImage, Media,
    Medium, Method, Mirror, NoProgress, PointCharge, Prepared, Ranks, Screened, SolveOptions,
    Stack, StackLayer, StopReason,
};
use mesh::Mesh;
use mesh::generate::{ConcentricSpheres, Cube, Resolution, Sphere, SphereBase};
use mesh::mirror::Plane;

const TOLERANCE: f64 = 1e-6;

static BACKENDS: LazyLock<Vec<fmm::Backend>> = LazyLock::new(|| {
    let gpu = cuda::testing::device_for("shared solves", || cuda::Device::open(0)).unwrap();
    [fmm::Backend::Cpu].into_iter().chain(gpu.map(|_| fmm::Backend::Cuda)).collect()
});

/// Surfaces, and the conductor and permittivities (outside, inside) of each group.
struct Case {
    name: &'static str,
    mesh: Mesh,
    groups: Vec<(Option<u32>, f64, f64)>,
    planes: Vec<Mirror>,
    layers: Vec<LayerImage>,
    excitations: Vec<Excitation>,
    density: Density,
}

impl Case {
    fn conductors(name: &'static str, mesh: Mesh, count: u32) -> Self {
        let at_one_volt = |k: u32| {
            Excitation::default().potentials((0..count).map(|i| f64::from(i == k)).collect())
        };
        Self {
            name,
            mesh,
            groups: (0..count).map(|k| (Some(k), 1.0, 1.0)).collect(),
            planes: Vec::new(),
            layers: Vec::new(),
            excitations: (0..count).map(at_one_volt).collect(),
            density: Density::Constant,
        }
    }

    fn solve(&self, backend: fmm::Backend, ranks: Ranks) -> Electrostatics {
        self.with_prepared(backend, ranks, |mut prepared| {
            prepared.solve(&self.excitations, &NoProgress).unwrap()
        })
    }

    fn with_prepared<R>(
        &self,
        backend: fmm::Backend,
        ranks: Ranks,
        work: impl FnOnce(Prepared) -> R,
    ) -> R {
        let group = |t: usize| self.groups[self.mesh.groups_of(t)[0] as usize];
        let n = self.mesh.triangles.len();
        let conductor: Vec<Option<u32>> = (0..n).map(|t| group(t).0).collect();
        let permittivity: Vec<[f64; 2]> = (0..n).map(|t| [group(t).1, group(t).2]).collect();
        let conductors = self.groups.iter().filter_map(|g| g.0).max().map_or(0, |k| k as usize + 1);
        let images = Images::new(&self.planes).with_layers(self.layers.clone(), &self.mesh);
        let media = Media {
            conductor: &conductor,
            conductors,
            permittivity: &permittivity,
            images: &images,
            bodies: &[],
        };
        let options = SolveOptions::default()
            .method(Method::Fmm)
            .tolerance(TOLERANCE)
            .backend(backend)
            .density(self.density)
            .ranks(ranks);
        work(Prepared::new(&self.mesh, media, self.excitations.len(), &options).unwrap())
    }

    /// Asserts that ranks find what one process does, for each number of ranks in `counts`.
    fn assert_shared_by(&self, counts: &[usize]) {
        let alone = self.solve(fmm::Backend::Cpu, Ranks::default());
        for (&ranks, &backend) in counts.iter().flat_map(|n| BACKENDS.iter().map(move |b| (n, b))) {
            let all = comm::run(ranks, |group| self.solve(backend, Ranks(group.clone())));
            let name = format!("{} on {ranks} ranks, {backend:?}", self.name);
            Self::assert_same(&name, &all, &alone);
        }
    }

    fn assert_same(name: &str, all: &[Electrostatics], alone: &Electrostatics) {
        for (rank, shared) in all.iter().enumerate() {
            assert_eq!(shared.responses.len(), alone.responses.len());
            for (k, (found, expected)) in shared.responses.iter().zip(&alone.responses).enumerate()
            {
                assert_eq!(found.reason, StopReason::Converged, "{name}: {:?}", found.history);
                let square = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
                let difference: Vec<f64> =
                    found.charge.iter().zip(&expected.charge).map(|(a, b)| a - b).collect();
                let off = (square(&difference) / square(&expected.charge)).sqrt();
                // Two solves and two sums, both to the tolerance, in single charges.
                assert!(off < 30.0 * TOLERANCE, "{name}, rank {rank}, excitation {k}: {off:.1e}");
                let total = |charges: &[f64]| charges.iter().map(|q| q.abs()).sum::<f64>();
                let pairs = found.conductor_charge.iter().zip(&expected.conductor_charge);
                for (found, exact) in pairs {
                    let off = (found - exact).abs() / total(&expected.conductor_charge);
                    assert!(off < 3.0 * TOLERANCE, "{name}: {found} {exact} {off:.1e}");
                }
                let steps = [found.iterations, expected.iterations];
                assert!(steps[0].abs_diff(steps[1]) <= 1, "{name}: {steps:?}");
                // All know the same.
                assert_eq!(found, &all[0].responses[k], "{name}, rank {rank}");
            }
            let error = shared.fmm_error_sampled.unwrap();
            assert!(error < shared.fmm_tolerance.unwrap(), "{name}: {error:.1e}");
            assert_eq!(error, all[0].fmm_error_sampled.unwrap());
            assert!(shared.gauss_defect < 3.0 * alone.gauss_defect + 1e-12, "{name}");
        }
    }
}

fn sphere(radius: f64, elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    Sphere { radius, base: SphereBase::Icosahedron, resolution }.build().unwrap()
}

fn moved(mut mesh: Mesh, by: [f64; 3]) -> Mesh {
    for vertex in &mut mesh.vertices {
        (0..3).for_each(|k| vertex[k] += by[k]);
    }
    mesh
}

fn cube(elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    Cube { edge: 1.0, grade: 20.0, resolution }.build().unwrap()
}

#[test]
fn options_of_one_process_are_equal_and_print_the_same() {
    let options = SolveOptions::default();
    assert!(options == SolveOptions::default() && options.ranks.is_alone());
    assert_eq!(format!("{options:?}"), format!("{:?}", SolveOptions::default()));
    comm::run(2, |group| {
        let shared = SolveOptions::default().ranks(Ranks(group.clone()));
        assert!(shared == shared.clone() && shared != SolveOptions::default());
    });
}

#[test]
fn conductors_are_those_of_one_process() {
    let two = mesh::join::joined(vec![
        ("a".into(), sphere(1.0, 720)),
        ("b".into(), moved(cube(588), [1.2, 0.0, 0.1])),
    ]);
    let case = Case::conductors("sphere and cube", two, 2);
    case.assert_shared_by(&[1, 2, 3, 7]);
}

#[test]
fn conductors_on_more_ranks_than_panels() {
    Case::conductors("few panels", sphere(1.0, 20), 1).assert_shared_by(&[30]);
    let two = mesh::join::joined(vec![
        ("a".into(), cube(12)),
        ("b".into(), moved(cube(12), [1.5, 0.0, 0.0])),
    ]);
    let mut case = Case::conductors("few panels with linear densities", two, 2);
    case.density = Density::Linear;
    case.assert_shared_by(&[26]);
}

/// Enough panels for two coarse levels: their 4,096 clusters are more than one level may have.
#[test]
fn two_coarse_levels_are_those_of_one_process() {
    Case::conductors("large sphere", sphere(1.0, 100_820), 1).assert_shared_by(&[3]);
}

#[test]
fn dielectrics_and_charges_are_those_of_one_process() {
    let resolution = Resolution::Elements(2000);
    let base = SphereBase::Icosahedron;
    let coated = ConcentricSpheres { inner_radius: 1.0, outer_radius: 1.4, base, resolution };
    let charge = PointCharge { position: [0.0, 0.0, 1.9], charge: 0.5, permittivity: 1.0 };
    let mut case = Case::conductors("coated sphere with a charge", coated.build().unwrap(), 1);
    case.groups = vec![(Some(0), 4.0, 4.0), (None, 1.0, 4.0)];
    case.excitations.push(Excitation::default().potentials(vec![0.0]).charges(vec![charge]));
    case.assert_shared_by(&[2, 5]);
    // Interfaces alone, in all of one process's order.
    let mut case = Case::conductors("dielectric sphere in a field", sphere(1.0, 1280), 0);
    case.groups = vec![(None, 1.0, 20.0)];
    case.excitations = vec![Excitation::default().field([0.3, -1.0, 0.2])];
    case.assert_shared_by(&[3]);
}

#[test]
fn planes_are_those_of_one_process() {
    let above = moved(cube(2000), [0.0, 0.0, 0.6]);
    let mut case = Case::conductors("cube over a plane", above, 1);
    case.planes = vec![Mirror { plane: Plane { axis: 2, at: 0.0 }, odd: true }];
    case.assert_shared_by(&[2, 4]);
}

/// Images far away of layers are summed by all ranks, those without panels too.
#[test]
fn images_in_layers_are_those_of_one_process() {
    let stack = Stack::default()
        .at(-1.7)
        .below(Beyond::Ground)
        .layers(vec![StackLayer { thickness: 0.5, permittivity: 4.0 }])
        .above(Beyond::Dielectric(1.0))
        .tolerance(0.1 * TOLERANCE);
    let layers = stack.images(2, 2.5).unwrap();
    let mut case = Case::conductors("sphere over layers", sphere(1.0, 320), 1);
    case.layers.clone_from(&layers);
    case.assert_shared_by(&[3]);
    let mut case = Case::conductors("few panels over layers", sphere(1.0, 20), 1);
    case.layers = layers;
    case.assert_shared_by(&[30]);
}

#[test]
fn linear_densities_are_those_of_one_process() {
    let resolution = Resolution::Elements(900);
    let base = SphereBase::Icosahedron;
    let coated = ConcentricSpheres { inner_radius: 1.0, outer_radius: 1.4, base, resolution };
    let mut case = Case::conductors("linear on a coated sphere", coated.build().unwrap(), 1);
    case.groups = vec![(Some(0), 4.0, 4.0), (None, 1.0, 4.0)];
    case.density = Density::Linear;
    case.assert_shared_by(&[3]);
    let mut case = Case::conductors("linear on a cube", cube(900), 1);
    case.density = Density::Linear;
    case.assert_shared_by(&[2]);
}

/// Checks and estimates of solutions: residuals by another path, errors of densities, missing
/// charges.
#[test]
fn checks_and_estimates_are_those_of_one_process() {
    let resolution = Resolution::Elements(720);
    let base = SphereBase::Icosahedron;
    let coated = ConcentricSpheres { inner_radius: 1.0, outer_radius: 1.4, base, resolution };
    let mesh = coated.build().unwrap();
    let densities = [Density::Constant, Density::Linear];
    for (density, &backend) in
        densities.into_iter().flat_map(|d| BACKENDS.iter().map(move |b| (d, b)))
    {
        let mut case = Case::conductors("coated sphere", mesh.clone(), 1);
        case.groups = vec![(Some(0), 4.0, 4.0), (None, 1.0, 4.0)];
        case.density = density;
        let weights = vec![1.0; case.mesh.triangles.len()];
        let find = |backend: fmm::Backend, ranks: Ranks| {
            case.with_prepared(backend, ranks, |mut prepared| {
                let answer = prepared.solve(&case.excitations, &NoProgress).unwrap();
                let of = (&case.excitations[0], bem::Charges::from(&answer.responses[0]));
                let residual = prepared.system().sampled_residual(&[of], TOLERANCE).unwrap()[0];
                let estimate = prepared
                    .system()
                    .error_estimate(&case.excitations, &answer, &weights, true)
                    .unwrap();
                let missing =
                    prepared.missing(&case.excitations[0], &answer.responses[0], &weights).unwrap();
                let induced = prepared.induced_by(&missing, &NoProgress).unwrap();
                let refined = prepared
                    .refine(&case.excitations[0], &answer.responses[0], &NoProgress)
                    .unwrap();
                (residual.relative, estimate, missing, induced, refined.unwrap())
            })
        };
        let alone = find(fmm::Backend::Cpu, Ranks::default());
        let all = comm::run(3, |group| find(backend, Ranks(group.clone())));
        let close = |a: f64, b: f64, within: f64| {
            assert!((a - b).abs() <= within * b.abs(), "{density:?} {backend:?}: {a:e} {b:e}");
        };
        for found in &all {
            // Another rounding, and sums to a tolerance of the estimate's own.
            assert!(found.0 < 3.0 * alone.0.max(TOLERANCE), "{} {}", found.0, alone.0);
            close(found.1.of_conductors[0][0], alone.1.of_conductors[0][0], 1e-2);
            close(found.1.of_interfaces[0][0], alone.1.of_interfaces[0][0], 1e-2);
            let sides = |of: &[[f64; 3]]| of.as_flattened().iter().sum::<f64>();
            close(sides(&found.1.sides[0]), sides(&alone.1.sides[0]), 1e-2);
            let size = |of: &[f64]| of.iter().map(|q| q.abs()).sum::<f64>();
            close(size(&found.2.total), size(&alone.2.total), 1e-2);
            close(size(&found.3.total), size(&alone.3.total), 3e-2);
            let [own, other] =
                [&found.4, &alone.4].map(|refined| refined.response.conductor_charge[0]);
            close(own, other, 3.0 * TOLERANCE);
            assert!(found.4.residual.relative < 3.0 * TOLERANCE);
            assert_eq!((&found.1, &found.2), (&all[0].1, &all[0].2));
        }
    }
}

/// A molecule with a Stern layer: three regions, two surfaces, and points of every degree.
#[test]
fn ions_are_those_of_one_process() {
    // With more ranks than panels some have none.
    assert_ions_are_shared(16, Density::Constant, &[2, 18]);
    assert_ions_are_shared(256, Density::Linear, &[3]);
}

fn assert_ions_are_shared(elements: usize, density: Density, counts: &[usize]) {
    let spheres = ConcentricSpheres {
        inner_radius: 2.0,
        outer_radius: 3.0,
        base: SphereBase::Octahedron,
        resolution: Resolution::Elements(elements),
    };
    let mesh = spheres.build().unwrap();
    let media = [(80.0, 0.3), (80.0, 0.0), (4.0, 0.0)]
        .map(|(permittivity, kappa)| Medium { permittivity, kappa });
    let is_outer = |t: usize| {
        let [x, y, z] = mesh.vertices[mesh.triangles[t][0] as usize];
        (x * x + y * y + z * z).sqrt() > 2.5
    };
    let sides: Vec<[u32; 2]> =
        (0..mesh.triangles.len()).map(|t| if is_outer(t) { [0, 1] } else { [1, 2] }).collect();
    let charges = [FixedCharge { position: [0.3, 0.2, 0.1], charge: 1.0, region: 2 }];
    let solve = |ranks: Ranks| {
        let options = SolveOptions::default()
            .method(Method::Fmm)
            .tolerance(TOLERANCE)
            .density(density)
            .ranks(ranks);
        let cells = Cells { media: &media, sides: &sides };
        bem::poisson_boltzmann(&mesh, cells, &charges, &options, &NoProgress).unwrap()
    };
    let potentials = |screened: &Screened| screened.surface_potentials(mesh.triangles.len());
    // As solved, and with twice the charge, which leaves half of the right-hand side.
    let residuals = |screened: &Screened| {
        let twice = charges.map(|q| FixedCharge { charge: 2.0 * q.charge, ..q });
        [charges, twice].map(|charges| screened.sampled_residual(&charges).unwrap())
    };
    let alone = solve(Ranks::default());
    let (expected, [_, of_twice]) = (potentials(&alone), residuals(&alone));
    let size = expected.iter().map(|u| u.abs()).fold(0.0, f64::max);
    for &ranks in counts {
        let all = comm::run(ranks, |group| {
            let screened = solve(Ranks(group.clone()));
            (potentials(&screened), screened.info.iterations, residuals(&screened))
        });
        for (found, iterations, residuals) in &all {
            assert!(iterations.abs_diff(alone.info.iterations) <= 1);
            let off = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 30.0 * TOLERANCE * size, "{density:?} on {ranks} ranks: {off:.1e}");
            assert_eq!((found, residuals), (&all[0].0, &all[0].2));
            assert!(residuals[0] < 5.0 * TOLERANCE, "{residuals:?}");
            assert!((residuals[1] / of_twice - 1.0).abs() < 10.0 * TOLERANCE, "{residuals:?}");
        }
    }
}
