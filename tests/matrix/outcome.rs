//! What a run of the program said, and how far two of them are apart.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::scene::Scene;
use super::vector::{Point, distance, norm, sub};

/// Coulomb's constant, 1/(4 pi eps0).
pub const COULOMB: f64 = 8.987_551_786_2e9;

/// How the program is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    pub method: &'static str,
    pub backend: &'static str,
    /// The value of FARAD_SIMD.
    pub simd: Option<&'static str>,
}

impl Way {
    pub fn new(method: &'static str) -> Self {
        Self { method, backend: "cpu", simd: None }
    }
}

/// The numbers of a run, in SI units.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub capacitance: Vec<Vec<f64>>,
    /// Potential and charge of each conductor in the state.
    pub conductors: Vec<(f64, f64)>,
    pub energy: Option<f64>,
    /// The bar of the energy.
    pub energy_bar: Option<f64>,
    /// Potential of surfaces at the point charges.
    pub reaction: Vec<f64>,
    /// Force and torque on each body.
    pub forces: BTreeMap<String, (Point, Point)>,
    /// What each of them is said to be known to, over the tolerance.
    pub forces_relative_to: BTreeMap<String, f64>,
    /// Potential and field at each probe.
    pub probes: Vec<(f64, Point)>,
    pub polarisability: Option<[Point; 3]>,
    /// Whether self-checks call the mesh too coarse.
    pub is_coarse: bool,
    /// Bodies that are others here, so that forces on them are not to be compared.
    pub other_bodies: Vec<String>,
}

/// Self-checks that report a mesh too coarse for the requested results. The results are then those
/// of that mesh by any method, so they are compared.
const OF_THE_MESH: &[&str] = &[
    "sign",
    "symmetry",
    "row_sum",
    "reciprocity",
    "charge_near_surface",
    "charge_near_curved_surface",
    "flux",
];

/// A run that ended otherwise.
#[derive(Clone, Debug)]
pub struct Ended {
    pub code: i32,
    pub message: String,
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn point(value: &Value) -> Point {
    [0, 1, 2].map(|k| number(&value[k]))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn program() -> Command {
    let other = std::env::var("FARAD_MATRIX_PROGRAM");
    let mut command = Command::new(other.as_deref().unwrap_or(env!("CARGO_BIN_EXE_farad")));
    command.stdin(Stdio::null()).env_remove("RUST_LOG").env("NO_COLOR", "1");
    command
}

fn ended(mut command: Command) -> Result<String, Ended> {
    let ended = command.output().unwrap();
    match ended.status.code().unwrap_or(-1) {
        0 => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
        code => Err(Ended { code, message: String::from_utf8_lossy(&ended.stderr).into_owned() }),
    }
}

/// What the program prints.
pub fn farad(arguments: &[&str], environment: &[(&str, &str)]) -> Result<String, Ended> {
    let mut command = program();
    command.args(arguments).envs(environment.iter().copied());
    ended(command)
}

/// Runs the case NAME.toml in a folder.
pub fn run(folder: &Path, name: &str, way: &Way) -> Result<Outcome, Ended> {
    let mut command = program();
    let output = format!("{name}.out");
    command.args(["solve", &format!("{name}.toml"), "--output", &output, "--overwrite", "--quiet"]);
    command.args(["--threads", "1", "--method", way.method, "--backend", way.backend]);
    command.current_dir(folder);
    if let Some(level) = way.simd {
        command.env("FARAD_SIMD", level);
    }
    let output = folder.join(output);
    match ended(command) {
        Err(ended) if ended.code != 4 || !is_of_the_mesh(&output) => Err(ended),
        _ => Ok(read(&output)),
    }
}

fn results(folder: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(folder.join("results.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whether all errors that self-checks found are those of the mesh.
fn is_of_the_mesh(folder: &Path) -> bool {
    let Some(results) = results(folder) else { return false };
    let is_error = |warning: &&Value| warning["severity"] == "error";
    let known =
        |warning: &Value| warning["check"].as_str().is_some_and(|c| OF_THE_MESH.contains(&c));
    results["status"] == "checks_failed" && list(&results["warnings"]).filter(is_error).all(known)
}

fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn read(folder: &Path) -> Outcome {
    let results = results(folder).unwrap();
    let row = |row: &Value| list(row).map(number).collect();
    let charge = |c: &Value| (number(&c["potential_v"]), number(&c["charge_c"]));
    let force = |f: &Value| {
        let name = f["body"].as_str().unwrap_or_default().to_owned();
        (name, (point(&f["force_n"]), point(&f["torque_nm"])))
    };
    let tolerance = number(&results["accuracy"]["solver_tolerance"]);
    let relative_to = |f: &Value| {
        let name = f["body"].as_str().unwrap_or_default().to_owned();
        (name, number(&f["known_to_n"]) / tolerance)
    };
    let numbers = |row: &Vec<String>| -> Vec<f64> {
        row.iter().map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()
    };
    let probe = |row: &Vec<String>| {
        let row = numbers(row);
        (row[3], [row[4], row[5], row[6]])
    };
    let polarisability = &results["polarisability"]["c_m2_per_v"];
    Outcome {
        capacitance: list(&results["capacitance"]["maxwell_farad"]).map(row).collect(),
        conductors: list(&results["charges"]).map(charge).collect(),
        energy: results["solvation"]["energy_j"].as_f64(),
        energy_bar: results["solvation"]["energy_error_j"].as_f64(),
        reaction: reaction(&folder.join("reaction_potential.csv")),
        forces: list(&results["forces"]).map(force).collect(),
        forces_relative_to: list(&results["forces"]).map(relative_to).collect(),
        probes: rows(&folder.join("probe_p.csv")).iter().map(probe).collect(),
        polarisability: polarisability
            .is_array()
            .then(|| [0, 1, 2].map(|k| point(&polarisability[k]))),
        is_coarse: results["status"] == "checks_failed",
        other_bodies: Vec::new(),
    }
}

fn reaction(path: &Path) -> Vec<f64> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let heading: Vec<&str> = text.lines().next().unwrap_or_default().split(',').collect();
    let Some(column) = heading.iter().position(|name| *name == "reaction potential [V]") else {
        return Vec::new();
    };
    rows(path).iter().map(|row| row[column].parse().unwrap_or(f64::NAN)).collect()
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    Capacitance,
    Charge,
    Potential,
    Energy,
    Bar,
    Reaction,
    Force,
    Torque,
    ProbePotential,
    ProbeField,
    Polarisability,
}

/// The sizes that deviations are relative to.
#[derive(Clone, Debug)]
pub struct Scales {
    volt: f64,
    /// Of potentials at charges: what conductors make there is known to the tolerance of theirs,
    /// and a tenth of these is allowed.
    reaction: f64,
    force: f64,
    /// At each probe. A potential that is known to some digits has a field known to these digits of
    /// it over the distance to the nearest surface, since it is harmonic up to there; that, too, is
    /// allowed for a tenth of it.
    fields: Vec<f64>,
    /// Charges of both signs may take each other's energy away.
    energy: f64,
    /// In metres.
    size: f64,
    /// Whether bars are compared: those among ions, which are made on a coarser mesh.
    has_bars: bool,
}

impl Scales {
    /// The same where the mesh is said otherwise: then a coarser one is another.
    pub fn without_bars(&self) -> Self {
        Self { has_bars: false, ..self.clone() }
    }

    /// Of a case whose numbers are these.
    pub fn of(scene: &Scene, reference: &Outcome) -> Self {
        let size = scene.size() * scene.unit.1;
        let least =
            scene.dielectrics.iter().map(|d| d.permittivity).fold(scene.surroundings, f64::min);
        let body = body_size(scene) * scene.unit.1;
        let volts = || reference.conductors.iter().map(|(volt, _)| volt.abs());
        let reactions = || reference.reaction.iter().map(|volt| volt.abs());
        let potential = 0.1 * volts().fold(0.0, f64::max);
        let reaction = reactions().fold(potential, f64::max);
        let of_charges = scene.charges.iter().map(|q| COULOMB * q.coulomb.abs() / (least * body));
        let of_field = norm(scene.field) * body;
        let volt = volts().chain(reactions()).chain(of_charges).fold(of_field, f64::max);
        let largest = |x: &Point| x.iter().fold(0.0f64, |m, c| m.max(c.abs()));
        let forces = reference.forces.values().map(|(force, _)| largest(force));
        let fields = reference.probes.iter().map(|(_, field)| largest(field));
        // What bodies at such potentials exert on each other, a small part of it.
        let usual = 0.1 * scene.surroundings * volt * volt / COULOMB;
        let field = fields.fold(0.1 * volt / body, f64::max);
        let surface = |x: &Point| -> f64 {
            let triangles = (0..scene.triangles.len()).map(|t| distance(*x, scene.corners(t)));
            triangles.fold(f64::INFINITY, f64::min) * scene.unit.1
        };
        Self {
            volt,
            reaction,
            force: forces.fold(usual, f64::max),
            fields: scene.probes.iter().map(|x| field.max(0.1 * volt / surface(x))).collect(),
            energy: scene
                .charges
                .iter()
                .zip(&reference.reaction)
                .map(|(charge, volt)| 0.5 * charge.coulomb.abs() * volt.abs().max(potential))
                .sum(),
            size,
            has_bars: scene.ions.is_some(),
        }
    }
}

/// The largest extent of any one connected body, in the mesh's unit.
fn body_size(scene: &Scene) -> f64 {
    let mut root: Vec<usize> = (0..scene.vertices.len()).collect();
    fn find(root: &mut [usize], mut v: usize) -> usize {
        while root[v] != v {
            root[v] = root[root[v]];
            v = root[v];
        }
        v
    }
    for [a, b, c] in scene.triangles.iter().map(|t| t.map(|v| v as usize)) {
        for other in [b, c] {
            let (p, q) = (find(&mut root, a), find(&mut root, other));
            root[p] = q;
        }
    }
    let mut bounds: BTreeMap<usize, [Point; 2]> = BTreeMap::new();
    for (v, &x) in scene.vertices.iter().enumerate() {
        let own = bounds.entry(find(&mut root, v)).or_insert([x; 2]);
        own[0] = [0, 1, 2].map(|k| own[0][k].min(x[k]));
        own[1] = [0, 1, 2].map(|k| own[1][k].max(x[k]));
    }
    bounds.values().map(|[low, high]| norm(sub(*high, *low))).fold(0.0, f64::max)
}

/// The largest deviation of each quantity, relative to its scale.
pub fn deviations(reference: &Outcome, other: &Outcome, scales: &Scales) -> Vec<(Quantity, f64)> {
    let mut found: BTreeMap<Quantity, f64> = BTreeMap::new();
    let mut note = |quantity, deviation: f64| {
        let worst = found.entry(quantity).or_insert(0.0);
        // What is no number is as far off as can be.
        let deviation = if deviation.is_finite() { deviation } else { f64::INFINITY };
        *worst = worst.max(deviation);
    };
    let c = &reference.capacitance;
    let same_size = c.len() == other.capacitance.len()
        && reference.conductors.len() == other.conductors.len()
        && reference.reaction.len() == other.reaction.len()
        && reference.probes.len() == other.probes.len()
        && reference.energy.is_some() == other.energy.is_some()
        && reference.polarisability.is_some() == other.polarisability.is_some();
    if !same_size {
        return vec![(Quantity::Capacitance, f64::INFINITY)];
    }
    let diagonal: Vec<f64> = (0..c.len()).map(|i| c[i][i].abs()).collect();
    for (i, j) in (0..c.len()).flat_map(|i| (0..c.len()).map(move |j| (i, j))) {
        let scale = (diagonal[i] * diagonal[j]).sqrt();
        note(Quantity::Capacitance, (c[i][j] - other.capacitance[i][j]).abs() / scale);
    }
    for (i, (a, b)) in reference.conductors.iter().zip(&other.conductors).enumerate() {
        note(Quantity::Potential, (a.0 - b.0).abs() / scales.volt);
        let charge = (diagonal[i] * scales.volt).max(a.1.abs());
        note(Quantity::Charge, (a.1 - b.1).abs() / charge);
    }
    for (a, b) in reference.reaction.iter().zip(&other.reaction) {
        note(Quantity::Reaction, (a - b).abs() / scales.reaction);
    }
    if let (Some(a), Some(b)) = (reference.energy, other.energy) {
        note(Quantity::Energy, (a - b).abs() / scales.energy.max(a.abs()));
    }
    if scales.has_bars {
        let [a, b] = [reference, other].map(|of| of.energy_bar.unwrap_or(0.0));
        note(Quantity::Bar, (a - b).abs() / scales.energy);
    }
    for (name, (force, torque)) in &reference.forces {
        if other.other_bodies.contains(name) {
            continue;
        }
        // A force that is not reported for want of digits is as good as none.
        let (force_b, torque_b) = other.forces.get(name).unwrap_or(&([0.0; 3], [0.0; 3]));
        let said = [reference, other].map(|of| of.forces_relative_to.get(name).copied());
        let scale = said.into_iter().flatten().fold(scales.force, f64::max);
        note(Quantity::Force, norm(sub(*force, *force_b)) / scale);
        note(Quantity::Torque, norm(sub(*torque, *torque_b)) / (scale * scales.size));
    }
    for ((a, b), field) in reference.probes.iter().zip(&other.probes).zip(&scales.fields) {
        note(Quantity::ProbePotential, (a.0 - b.0).abs() / scales.volt.max(a.0.abs()));
        note(Quantity::ProbeField, norm(sub(a.1, b.1)) / field);
    }
    if let (Some(a), Some(b)) = (reference.polarisability, other.polarisability) {
        let largest = a.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
        for (x, y) in a.iter().flatten().zip(b.iter().flatten()) {
            note(Quantity::Polarisability, (x - y).abs() / largest);
        }
    }
    found.into_iter().collect()
}
