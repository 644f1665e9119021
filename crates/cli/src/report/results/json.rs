//! `results.json`: the whole outcome of a run for other programs. Every key is always there; what
//! is absent is null.

use serde::Serialize;

use farad::{Derivative, Energies, FilmShare, Matrices, Parameter, Reduced};

use super::matrices::per_unit;
use super::run::{self, MANY, Run, reason_name, status};
use crate::case::{density_name, method_name, probe_file};
use crate::machine;
use crate::report::made::Made;
use crate::report::units;
use crate::report::warnings::{self, Warning};

/// Name and version of what [`Document`] looks like.
const SCHEMA: &str = "farad-results/1";

/// The content of results.json.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Document {
    schema: &'static str,
    status: &'static str,
    warnings: Vec<Warning>,
    program: String,
    made: Made,
    case: String,
    title: String,
    case_text: Option<String>,
    pub(crate) files: Vec<String>,
    backend: Backend,
    mesh: Mesh,
    media: Vec<Medium>,
    refinement: Option<Refinement>,
    capacitance: Capacitance,
    reductions: Option<Vec<Reduction>>,
    sensitivities: Option<Vec<Sensitivity>>,
    films: Option<Vec<Film>>,
    charges: Option<Vec<ConductorCharge>>,
    solvation: Option<Solvation>,
    forces: Option<Vec<Force>>,
    probes: Option<Vec<Probe>>,
    polarisability: Option<Polarisability>,
    hydrodynamics: Option<Hydrodynamics>,
    solves: Vec<Solve>,
    solver: Solver,
    accuracy: Accuracy,
    pub(crate) timings_s: Timings,
    memory_bytes: Memory,
}

#[derive(Clone, Debug, Serialize)]
struct Backend {
    requested: &'static str,
    used: &'static str,
    /// Why `auto` took the CPU although there is enough work for a GPU.
    fallback: Option<String>,
    device: Option<String>,
    threads: usize,
    /// Vector instructions of the processor.
    simd: &'static str,
    /// Whether the same run gives the same bits.
    deterministic: bool,
}

#[derive(Clone, Debug, Serialize)]
struct Mesh {
    triangles: usize,
    unit: &'static str,
    conductors: Vec<Conductor>,
}

#[derive(Clone, Debug, Serialize)]
struct Conductor {
    name: String,
    triangles: usize,
    area_m2: f64,
    closed: bool,
}

#[derive(Clone, Debug, Serialize)]
struct Medium {
    name: String,
    relative_permittivity: f64,
    triangles: usize,
}

#[derive(Clone, Debug, Serialize)]
struct Capacitance {
    conductors: Vec<String>,
    /// Those that were excited, one for each column.
    columns: Vec<String>,
    maxwell_farad: Vec<Vec<f64>>,
    /// Null for many conductors, like its other forms.
    mutual_farad: Option<Vec<Vec<f64>>>,
    maxwell_over_4pi_eps0: Option<Vec<Vec<f64>>>,
    relative_asymmetry: f64,
    maxwell_farad_error: Option<Vec<Vec<f64>>>,
    mutual_farad_error: Option<Vec<Vec<f64>>>,
    maxwell_over_4pi_eps0_error: Option<Vec<Vec<f64>>>,
}

/// What a reduction makes of the matrix.
#[derive(Clone, Debug, Serialize)]
struct Reduction {
    name: String,
    conductors: Vec<String>,
    maxwell_farad: Vec<Vec<f64>>,
    maxwell_farad_error: Option<Vec<Vec<f64>>>,
    between_farad: Option<f64>,
    between_farad_error: Option<f64>,
}

/// The derivative of the matrix by a parameter.
#[derive(Clone, Debug, Serialize)]
struct Sensitivity {
    name: String,
    /// "shift", "permittivity" or "thickness".
    by: &'static str,
    /// Permittivity, or thickness in metres.
    at: Option<f64>,
    /// "F" or "F/m".
    unit: &'static str,
    /// One matrix, or three for shifts along x, y and z.
    derivatives: Vec<Vec<Vec<f64>>>,
    /// Their bars.
    derivatives_error: Option<Vec<Vec<Vec<f64>>>>,
    participation: Option<Vec<f64>>,
    participation_error: Option<Vec<f64>>,
}

/// What share of the energy is in a film.
#[derive(Clone, Debug, Serialize)]
struct Film {
    name: String,
    thickness_m: f64,
    relative_permittivity: f64,
    /// With each conductor in turn at a potential, the others at 0 V.
    participation: Vec<f64>,
    participation_error: Vec<f64>,
}

/// How the mesh came about, if an accuracy was asked for.
#[derive(Clone, Debug, Serialize)]
struct Refinement {
    accuracy: f64,
    accuracy_of: String,
    /// "reached", "time", "size", "stalled", "vanishing" or "unsolved".
    ended: &'static str,
    meshes: Vec<RefinedMesh>,
}

#[derive(Clone, Debug, Serialize)]
struct RefinedMesh {
    triangles: usize,
    /// The number with the longest bar, its value, bar and unit.
    number: String,
    value: f64,
    error: f64,
    unit: &'static str,
    relative_error: f64,
    solver_tolerance: f64,
    seconds: f64,
}

#[derive(Clone, Debug, Serialize)]
struct ConductorCharge {
    conductor: String,
    potential_v: f64,
    charge_c: f64,
    floating: bool,
    potential_error_v: Option<f64>,
    charge_error_c: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct Solvation {
    charges: usize,
    energy_j: f64,
    energy_kj_per_mol: f64,
    energy_kcal_per_mol: f64,
    energy_kt: f64,
    energy_error_j: Option<f64>,
    energy_error_kj_per_mol: Option<f64>,
    energy_error_kcal_per_mol: Option<f64>,
    energy_error_kt: Option<f64>,
    /// That of kT.
    temperature_k: f64,
    coulomb: Energy,
    total: Energy,
    molecules: Vec<Molecule>,
}

#[derive(Clone, Debug, Serialize)]
struct Energy {
    energy_j: f64,
    energy_kj_per_mol: f64,
    energy_kcal_per_mol: f64,
    energy_kt: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Force {
    body: String,
    force_n: [f64; 3],
    torque_nm: [f64; 3],
    /// Error bars in any direction; null where there are none.
    force_error_n: Option<f64>,
    torque_error_nm: Option<f64>,
    known_to_n: f64,
    about: [f64; 3],
}

#[derive(Clone, Debug, Serialize)]
struct Probe {
    name: String,
    file: String,
    points: usize,
}

#[derive(Clone, Debug, Serialize)]
struct Polarisability {
    over_4pi_eps0: [[f64; 3]; 3],
    c_m2_per_v: [[f64; 3]; 3],
    over_4pi_eps0_error: Option<[[f64; 3]; 3]>,
}

#[derive(Clone, Debug, Serialize)]
struct Hydrodynamics {
    capacity: f64,
    capacity_error: Option<f64>,
    hydrodynamic_radius_m: f64,
    diffusion_m2_per_s: f64,
    friction_kg_per_s: f64,
    /// Null where the polarisability is not known, or the body not closed.
    viscosity: Option<Viscosity>,
}

/// What a body adds to the viscosity of a dilute suspension.
#[derive(Clone, Debug, Serialize)]
struct Viscosity {
    volume_m3: f64,
    intrinsic_conductivity: f64,
    prefactor: f64,
    intrinsic_viscosity: f64,
    viscometric_radius_m: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Molecule {
    name: String,
    atoms: usize,
    charge_e: f64,
    energy_kj_per_mol: f64,
    energy_kcal_per_mol: f64,
    energy_kt: f64,
    coulomb: Energy,
    total: Energy,
    least_distance_m: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct Solve {
    excitation: String,
    iterations: usize,
    converged: bool,
    reason: &'static str,
    relative_residual: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Solver {
    method: &'static str,
    density: &'static str,
}

#[derive(Clone, Debug, Serialize)]
struct Accuracy {
    solver_tolerance: f64,
    fmm_tolerance: Option<f64>,
    fmm_error_sampled: Option<f64>,
    fmm_error_potential_v: Option<f64>,
    gauss_defect: Option<f64>,
}

/// Wall seconds of the parts of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Timings {
    pub(crate) read: f64,
    pub(crate) plan: f64,
    pub(crate) near_field: f64,
    pub(crate) solve: f64,
    pub(crate) fmm_check: f64,
    /// The error bars.
    pub(crate) error_estimate: f64,
    pub(crate) self_checks: f64,
    /// State, energies, forces, probes.
    pub(crate) evaluation: f64,
    pub(crate) matvec_mean: f64,
    pub(crate) output: Option<f64>,
    pub(crate) total: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Memory {
    peak: Option<u64>,
}

impl Document {
    /// Everything but the list of files and the time that writing them takes.
    pub(crate) fn new(run: &Run<'_>, matrices: &Matrices, reduced: &[Reduced]) -> Self {
        let names = &run.problem.conductors().names;
        let answer = &run.solution.answer;
        let state = run.solution.state.as_ref();
        let bars = run.matrix_bars();
        // The other forms follow from it, and are in tables.
        let has_forms = names.len() <= MANY;
        let form = |rows: &Vec<Vec<f64>>| has_forms.then(|| rows.clone());
        Self {
            schema: SCHEMA,
            status: status(run).name(),
            warnings: warnings::of(run.solution),
            program: format!("farad {}", env!("CARGO_PKG_VERSION")),
            made: Made::now(),
            case: crate::paths::relative(run.folder, run.case.path()),
            title: run.case.title.clone(),
            case_text: run.case.text(),
            files: Vec::new(),
            backend: Backend {
                requested: run.requested.name(),
                used: run.used.name(),
                fallback: answer.fmm.as_ref().and_then(|info| info.fallback.clone()),
                device: match answer.fmm.as_ref().and_then(|info| info.gpu.as_ref()) {
                    Some(gpu) => Some(gpu.name.clone()),
                    None => machine::processor(),
                },
                threads: machine::threads(),
                simd: machine::simd(),
                deterministic: run.deterministic,
            },
            mesh: Mesh {
                triangles: run.problem.mesh().triangles.len(),
                unit: run.case.description.unit.name(),
                conductors: conductors(run),
            },
            media: media(run),
            refinement: run.refinement.map(refinement),
            capacitance: Capacitance {
                conductors: names.clone(),
                columns: run.columns(),
                maxwell_farad: matrices.maxwell_farad.clone(),
                mutual_farad: form(&matrices.mutual_farad),
                maxwell_over_4pi_eps0: form(&matrices.maxwell_length),
                relative_asymmetry: matrices.relative_asymmetry,
                maxwell_farad_error: bars.as_ref().map(|bars| bars.maxwell_farad.clone()),
                mutual_farad_error: bars.as_ref().and_then(|bars| form(&bars.mutual_farad)),
                maxwell_over_4pi_eps0_error: bars.and_then(|bars| form(&bars.maxwell_length)),
            },
            reductions: (!reduced.is_empty()).then(|| reduced.iter().map(reduction).collect()),
            sensitivities: (!run.solution.derivatives.is_empty())
                .then(|| run.solution.derivatives.iter().map(sensitivity).collect()),
            films: (!run.solution.films.is_empty())
                .then(|| run.solution.films.iter().map(film).collect()),
            charges: state.map(|state| charged(&state.conductors, run.solution.bars())),
            solvation: state
                .and_then(|state| state.solvation.as_ref())
                .map(|found| solvation(run, found)),
            forces: state
                .and_then(|state| state.forces.as_ref())
                .map(|forces| pulled(forces, run.solution.bars())),
            probes: state.filter(|state| !state.probes.is_empty()).map(|state| {
                run.case
                    .description
                    .probes
                    .iter()
                    .zip(&state.probes)
                    .map(|(probe, found)| probed(probe, found))
                    .collect()
            }),
            polarisability: run.solution.polarisability.map(|found| polarisability(run, found)),
            hydrodynamics: run.solution.hydrodynamics.map(|found| hydrodynamics(run, found)),
            solves: answer.solves.iter().map(|solve| solved(run, solve)).collect(),
            solver: Solver {
                method: method_name(answer.method),
                density: density_name(run.solution.density),
            },
            accuracy: Accuracy {
                solver_tolerance: answer.tolerance,
                fmm_tolerance: answer.fmm_tolerance,
                fmm_error_sampled: answer.fmm_error_sampled,
                fmm_error_potential_v: answer.fmm_error_potential,
                gauss_defect: run.solution.gauss_defect,
            },
            timings_s: Timings {
                read: run.read_seconds,
                plan: answer.timings.plan,
                near_field: answer.timings.near_field,
                solve: answer.timings.solve,
                fmm_check: answer.timings.fmm_check,
                error_estimate: run.solution.estimate_seconds,
                self_checks: run.solution.check_seconds,
                evaluation: run.solution.evaluation_seconds,
                matvec_mean: answer.timings.matvec_mean,
                output: None,
                total: run.started.elapsed().as_secs_f64(),
            },
            memory_bytes: Memory { peak: machine::peak_memory() },
        }
    }

    /// The text of the file.
    pub(crate) fn text(&self) -> String {
        crate::report::json::text(self)
    }
}

fn sensitivity(found: &Derivative) -> Sensitivity {
    let of_media = |all: &[f64]| (!all.is_empty()).then(|| all.to_vec());
    Sensitivity {
        name: found.name.clone(),
        by: match found.by {
            Parameter::Shift(_) => "shift",
            Parameter::Permittivity(_) | Parameter::OfLayer(_) => "permittivity",
            Parameter::Thickness(_) => "thickness",
        },
        at: found.at,
        unit: per_unit(&found.by),
        derivatives: found.matrices.clone(),
        derivatives_error: (!found.bars.is_empty()).then(|| found.bars.clone()),
        participation: of_media(&found.participation),
        participation_error: of_media(&found.participation_bars),
    }
}

fn film(found: &FilmShare) -> Film {
    Film {
        name: found.name.clone(),
        thickness_m: found.thickness,
        relative_permittivity: found.relative_permittivity,
        participation: found.participation.clone(),
        participation_error: found.bars.clone(),
    }
}

fn reduction(found: &Reduced) -> Reduction {
    Reduction {
        name: found.name.clone(),
        conductors: found.nets.clone(),
        maxwell_farad: found.maxwell.clone(),
        maxwell_farad_error: found.bars.clone(),
        between_farad: found.between.map(|(value, _)| value),
        between_farad_error: found.between.and_then(|(_, bar)| bar),
    }
}

fn conductors(run: &Run<'_>) -> Vec<Conductor> {
    let square = run.case.description.unit.metres().powi(2);
    let described = run.problem.conductors().summaries.iter();
    described
        .map(|summary| Conductor {
            name: summary.name.clone(),
            triangles: summary.triangles,
            area_m2: summary.area * square,
            closed: summary.closed,
        })
        .collect()
}

/// The surrounding medium, then the dielectrics; layers where surfaces are in several.
fn media(run: &Run<'_>) -> Vec<Medium> {
    let layers = run.problem.layers();
    if layers.len() > 1 {
        let medium = |(layer, relative_permittivity)| Medium {
            name: format!("layer {layer}"),
            relative_permittivity,
            triangles: 0,
        };
        return layers.into_iter().map(medium).collect();
    }
    let Some(media) = &run.problem.media() else {
        return vec![Medium {
            name: farad::SURROUNDINGS.to_owned(),
            relative_permittivity: run.problem.description().relative_permittivity,
            triangles: 0,
        }];
    };
    let medium = |summary: &farad::Medium| Medium {
        name: summary.name.clone(),
        relative_permittivity: summary.relative_permittivity,
        triangles: summary.triangles,
    };
    media.summaries.iter().map(medium).collect()
}

fn refinement(found: &run::Refinement<'_>) -> Refinement {
    let mesh = |level: &farad::Level| RefinedMesh {
        triangles: level.triangles,
        number: level.name(),
        value: level.value,
        error: level.bar,
        unit: level.unit(),
        relative_error: level.relative,
        solver_tolerance: level.tolerance,
        seconds: level.seconds,
    };
    Refinement {
        accuracy: found.goal.accuracy,
        accuracy_of: found.goal.target.to_string(),
        ended: match found.ended {
            farad::Outcome::Reached => "reached",
            farad::Outcome::Time => "time",
            farad::Outcome::Size(_) => "size",
            farad::Outcome::Stalled => "stalled",
            farad::Outcome::Vanishing => "vanishing",
            farad::Outcome::Unsolved | farad::Outcome::Next(_) => "unsolved",
        },
        meshes: found.levels.iter().map(mesh).collect(),
    }
}

fn charged(
    conductors: &[farad::ConductorState],
    bars: Option<&farad::Bars>,
) -> Vec<ConductorCharge> {
    let of = |k: usize| bars.and_then(|bars| bars.conductors.get(k));
    let charge = |(k, conductor): (usize, &farad::ConductorState)| ConductorCharge {
        conductor: conductor.name.clone(),
        potential_v: conductor.potential_v,
        charge_c: conductor.charge_c,
        floating: conductor.floating,
        potential_error_v: of(k).map(|bars| bars.potential_v),
        charge_error_c: of(k).map(|bars| bars.charge_c),
    };
    conductors.iter().enumerate().map(charge).collect()
}

fn energy(energy_j: f64, temperature: f64) -> Energy {
    Energy {
        energy_j,
        energy_kj_per_mol: units::kilojoule_per_mole(energy_j),
        energy_kcal_per_mol: units::kilocalorie_per_mole(energy_j),
        energy_kt: units::thermal(energy_j, temperature),
    }
}

fn solvation(run: &Run<'_>, found: &farad::Solvation) -> Solvation {
    let Energies { coulomb_j, reaction_j } = found.energies;
    let bar = run.solution.bars().and_then(|bars| bars.reaction_j);
    let temperature_k = run.case.kelvin();
    Solvation {
        energy_error_j: bar,
        energy_error_kj_per_mol: bar.map(units::kilojoule_per_mole),
        energy_error_kcal_per_mol: bar.map(units::kilocalorie_per_mole),
        energy_error_kt: bar.map(|bar| units::thermal(bar, temperature_k)),
        temperature_k,
        charges: found.reaction_v.len(),
        energy_j: reaction_j,
        energy_kj_per_mol: units::kilojoule_per_mole(reaction_j),
        energy_kcal_per_mol: units::kilocalorie_per_mole(reaction_j),
        energy_kt: units::thermal(reaction_j, temperature_k),
        coulomb: energy(coulomb_j, temperature_k),
        total: energy(found.energies.total_j(), temperature_k),
        molecules: found.molecules.iter().map(|found| molecule(run, found)).collect(),
    }
}

fn molecule(run: &Run<'_>, found: &farad::Molecule) -> Molecule {
    let temperature = run.case.kelvin();
    Molecule {
        name: found.name.clone(),
        atoms: found.atoms,
        charge_e: found.charge_e,
        energy_kj_per_mol: units::kilojoule_per_mole(found.energies.reaction_j),
        energy_kcal_per_mol: units::kilocalorie_per_mole(found.energies.reaction_j),
        energy_kt: units::thermal(found.energies.reaction_j, temperature),
        coulomb: energy(found.energies.coulomb_j, temperature),
        total: energy(found.energies.total_j(), temperature),
        least_distance_m: found.least_distance.map(|d| d * run.case.description.unit.metres()),
    }
}

fn pulled(forces: &[farad::Force], bars: Option<&farad::Bars>) -> Vec<Force> {
    let force = |(index, found): (usize, &farad::Force)| {
        let bar = bars.and_then(|bars| bars.forces.get(index));
        Force {
            body: found.name.clone(),
            force_n: found.newton,
            torque_nm: found.newton_metre,
            force_error_n: bar.map(|bar| bar.newton),
            torque_error_nm: bar.map(|bar| bar.newton_metre),
            known_to_n: found.known_to,
            about: found.about,
        }
    };
    forces.iter().enumerate().map(force).collect()
}

fn probed(probe: &farad::Probe, found: &farad::Probed) -> Probe {
    Probe { name: probe.name.clone(), file: probe_file(probe), points: found.points.len() }
}

fn polarisability(run: &Run<'_>, found: farad::Polarisability) -> Polarisability {
    let square = run.case.description.unit.metres().powi(2);
    let to_si = units::farads(square, run.case.description.unit);
    Polarisability {
        over_4pi_eps0: found.over_4pi_eps0,
        c_m2_per_v: found.over_4pi_eps0.map(|row| row.map(|a| a * to_si)),
        over_4pi_eps0_error: run.solution.bars().and_then(|bars| bars.polarisability),
    }
}

fn hydrodynamics(run: &Run<'_>, found: farad::Hydrodynamics) -> Hydrodynamics {
    let metres = run.case.description.unit.metres();
    let viscosity = |found: farad::Viscosity| Viscosity {
        volume_m3: found.volume * metres.powi(3),
        intrinsic_conductivity: found.intrinsic_conductivity,
        prefactor: found.prefactor,
        intrinsic_viscosity: found.intrinsic_viscosity,
        viscometric_radius_m: found.viscometric_radius * metres,
    };
    Hydrodynamics {
        capacity: found.capacity,
        capacity_error: found.capacity_bar,
        hydrodynamic_radius_m: found.capacity * metres,
        diffusion_m2_per_s: found.diffusion,
        friction_kg_per_s: found.friction,
        viscosity: found.viscosity.map(viscosity),
    }
}

fn solved(run: &Run<'_>, solve: &bem::Solve) -> Solve {
    Solve {
        excitation: run.problem.excitation_name(solve.excitation),
        iterations: solve.iterations,
        converged: solve.reason == bem::StopReason::Converged,
        reason: reason_name(solve.reason),
        relative_residual: solve.relative_residual,
    }
}
