//! Problems, and their solves.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bem::{Beyond, Mirror, Stack, StackLayer};
use farad::{
    Amount, Attained, Change, Charge, Conductor, Description, Dielectric, Film, Goal, Options,
    Outcome, Parameter, ParseTargetError, Place, Plane, Probe, ProbePoints, Sensitivity, Setting,
    Target, Toward, ranges,
};
use formats::{fastcap, layout};
use pyo3::prelude::*;

use crate::arrays::{Array1, Array2};
use crate::choices::{backend, check_gpu, choice};
use crate::error::Failure;
use crate::run::{self, Watch, locked};
use crate::solution::Solution;
use crate::surface::Mesh;

/// A description on a mesh. It does not change: what changes it gives another one.
#[pyclass(frozen, module = "farad._farad")]
pub(crate) struct Problem {
    /// Without ions.
    description: Description,
    /// Ions, at most one entry per medium.
    salts: Vec<Salt>,
    mesh: Arc<mesh::Mesh>,
}

/// Ions in a medium: what they screen follows from its permittivity, whenever that is given.
#[derive(Clone, Debug)]
struct Salt {
    /// The surrounding medium for none.
    dielectric: Option<String>,
    ions: Ions,
}

#[derive(Clone, Copy, Debug)]
enum Ions {
    /// Per unit of length.
    Kappa(f64),
    /// In mol/l, at a temperature in kelvin.
    Strength(f64, f64),
}

/// Shared data of solves of one geometry, for one solve at a time.
#[pyclass(frozen, module = "farad._farad")]
pub(crate) struct Solver(Arc<Mutex<farad::Solver>>);

#[pymethods]
impl Solver {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// How often near field and fast sums were set up.
    fn times_prepared(&self, py: Python<'_>) -> usize {
        py.detach(|| locked(&self.0).times_prepared())
    }
}

/// Choices for a solve.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
struct Choices {
    accuracy: Option<f64>,
    of: String,
    max_time: Option<f64>,
    tolerance: f64,
    fmm_tolerance: Option<f64>,
    method: String,
    density: String,
    backend: String,
    gpu: usize,
    deterministic: bool,
    memory_limit: Option<u64>,
    threads: Option<usize>,
    max_iterations: usize,
    restart: usize,
}

/// A film.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
struct FilmChoices {
    on: Vec<String>,
    interface: Option<usize>,
    medium: Option<String>,
    layer: Option<usize>,
    thickness: f64,
    permittivity: f64,
    cutoff: Option<f64>,
}

/// Images in layers are this much more exact than the solver's tolerance, as in the program.
const IMAGES: f64 = 0.1;

/// That a number is in a range.
fn in_range(what: &str, value: f64, range: &RangeInclusive<f64>) -> Result<(), Failure> {
    if range.contains(&value) {
        return Ok(());
    }
    let (low, high) = (range.start(), range.end());
    Err(Failure::input(format!("{what} is {value:e}; it must be {low:e} to {high:e}")))
}

impl Choices {
    fn options(&self) -> Result<Options, Failure> {
        in_range("tolerance", self.tolerance, &ranges::TOLERANCE)?;
        if let Some(tolerance) = self.fmm_tolerance {
            in_range("fmm_tolerance", tolerance, &ranges::TOLERANCE)?;
        }
        if self.max_iterations == 0 || self.restart == 0 {
            return Err(Failure::input("max_iterations and restart must be 1 or more"));
        }
        let methods =
            [("auto", bem::Method::Auto), ("fmm", bem::Method::Fmm), ("dense", bem::Method::Dense)];
        let target: Target = self.of.parse().unwrap_or_default();
        let density = |accuracy: f64| farad::density_for(accuracy, &target);
        let for_accuracy = self.accuracy.map_or(bem::Density::Constant, density);
        let densities = [
            ("auto", for_accuracy),
            ("constant", bem::Density::Constant),
            ("linear", bem::Density::Linear),
        ];
        let mut backend = backend(&self.backend)?;
        if self.deterministic {
            let refused =
                |error: fmm::Error| Failure::input(format!("deterministic=True: {error}"));
            backend = backend.deterministic().map_err(refused)?;
        }
        Ok(Options::default()
            .method(choice("method", &self.method, &methods)?)
            .density(choice("density", &self.density, &densities)?)
            .tolerance(self.tolerance)
            .fmm_tolerance(self.fmm_tolerance)
            .restart(self.restart)
            .max_iterations(self.max_iterations)
            .memory_limit(self.memory_limit)
            .backend(backend)
            .gpu(self.gpu)
            .deterministic(self.deterministic))
    }

    fn goal(&self) -> Result<Option<Goal>, Failure> {
        let Some(accuracy) = self.accuracy else { return Ok(None) };
        in_range("accuracy", accuracy, &ranges::ACCURACY)?;
        if let Some(seconds) = self.max_time {
            in_range("max_time", seconds, &(f64::MIN_POSITIVE..=f64::MAX))?;
        }
        let target: Target = self.of.parse().map_err(|error: ParseTargetError| {
            Failure::input(format!("of is \"{}\"; it {error}", self.of))
        })?;
        Ok(Some(Goal { accuracy, target, max_seconds: self.max_time }))
    }
}

impl Problem {
    /// This problem with a changed description.
    fn with(&self, change: impl FnOnce(&mut Description)) -> Self {
        let mut description = self.description.clone();
        change(&mut description);
        let (salts, mesh) = (self.salts.clone(), Arc::clone(&self.mesh));
        Self { description, salts, mesh }
    }

    /// The description with its ions.
    fn described(&self) -> Result<Description, Failure> {
        let mut description = self.description.clone();
        let unit = description.unit.metres();
        for Salt { dielectric, ions } in &self.salts {
            let (permittivity, kappa) = match dielectric {
                None => (description.relative_permittivity, &mut description.kappa),
                Some(name) => {
                    self.has_dielectric(name)?;
                    let all = &mut description.dielectrics;
                    let Some(of) = all.iter_mut().find(|known| known.name == *name) else {
                        continue;
                    };
                    (of.relative_permittivity, &mut of.kappa)
                }
            };
            *kappa = match *ions {
                Ions::Kappa(kappa) => kappa,
                // The library reports a permittivity that is not above 0.
                Ions::Strength(..) if permittivity.is_nan() || permittivity <= 0.0 => 0.0,
                Ions::Strength(strength, temperature) => {
                    farad::units::screening(strength, permittivity, temperature) * unit
                }
            };
            description.by_ionic_strength |= matches!(ions, Ions::Strength(..));
        }
        Ok(description)
    }

    fn has_dielectric(&self, name: &str) -> Result<(), Failure> {
        let known = &self.description.dielectrics;
        if known.iter().any(|known| known.name == name) {
            return Ok(());
        }
        let all: Vec<String> = known.iter().map(|known| format!("\"{}\"", known.name)).collect();
        let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        Err(Failure::input(format!("there is no dielectric \"{name}\"; there are: {all}")))
    }

    /// This problem after a change of a sweep.
    fn changed(&self, py: Python<'_>, change: Change) -> PyResult<Self> {
        let (mut description, mesh) = (self.description.clone(), Arc::clone(&self.mesh));
        let salts = self.salts.clone();
        run::watched(py, None, None, move |_, _| {
            change.describe(0, &mut description);
            let mesh = match change.is_of_geometry() {
                false => mesh,
                true => {
                    mesh.validate()?;
                    let placed = change.place(0, (*mesh).clone());
                    Arc::new(placed.map_err(|error| {
                        let known = error.available.join("\", \"");
                        Failure::input(format!("{error}; its groups are \"{known}\""))
                    })?)
                }
            };
            Ok(Self { description, salts, mesh })
        })
    }
}

fn numbers(py: Python<'_>, what: &str, all: impl IntoIterator<Item = f64>) -> PyResult<()> {
    match all.into_iter().find(|x| !x.is_finite()) {
        Some(x) => Err(Failure::input(format!("{what} is {x}; it must be finite")).raise(py)),
        None => Ok(()),
    }
}

#[pymethods]
impl Problem {
    /// In vacuum, all groups conductors.
    #[new]
    fn new(mesh: &Mesh) -> Self {
        let description = Description::default().unit(mesh.unit);
        Self { description, salts: Vec::new(), mesh: Arc::clone(&mesh.mesh) }
    }

    /// From a file of FastCap or of a layout.
    #[staticmethod]
    #[pyo3(signature = (path, stack, lenient, unit))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        stack: Option<PathBuf>,
        lenient: bool,
        unit: Option<&str>,
    ) -> PyResult<(Self, Vec<String>)> {
        let unit = unit.map(crate::surface::unit).transpose();
        let unit = unit.map_err(|failure| failure.raise(py))?;
        run::watched(py, None, None, move |_, pool| {
            let load = mesh::files::load;
            let read = || -> Result<_, Failure> {
                if fastcap::is_name(&path) {
                    let read = if lenient { fastcap::read_lenient } else { fastcap::read };
                    let fastcap::Model { mut description, mesh, reading, .. } = read(&path, load)?;
                    description.unit = unit.unwrap_or(description.unit);
                    return Ok((description, mesh, reading));
                }
                let model = match (&stack, layout::gds::is_name(&path)) {
                    (Some(stack), true) => layout::gds::read(&path, stack, lenient, load)?,
                    (None, true) => {
                        return Err(Failure::input(format!(
                            "{} does not say at which heights its layers are; name a stack file that does",
                            path.display()
                        )));
                    }
                    _ if layout::pex25d::is_name(&path) => {
                        layout::pex25d::read(&path, lenient, load)?
                    }
                    _ => {
                        return Err(Failure::input(format!(
                            "{}: problems are read from FastCap's files (.lst, .qui, .neu) and layouts (.gds, .pex25d); \
                             a surface alone is read by Mesh.read, and a case file is solved by the program",
                            path.display()
                        )));
                    }
                };
                Ok((model.description, model.mesh, model.reading))
            };
            let (mut description, mesh, reading) = pool.install(read)?;
            description.lenient = lenient;
            let problem = Self { description, salts: Vec::new(), mesh: Arc::new(mesh) };
            Ok((problem, reading.notes))
        })
    }

    #[pyo3(signature = (name, groups, potential, charge))]
    fn conductor(
        &self,
        py: Python<'_>,
        name: String,
        groups: Vec<String>,
        potential: Option<f64>,
        charge: Option<f64>,
    ) -> PyResult<Self> {
        let setting = match (potential, charge) {
            (None, None) => None,
            (Some(volt), None) => Some(Setting::Potential(volt)),
            (None, Some(coulomb)) => Some(Setting::Charge(coulomb)),
            (Some(_), Some(_)) => {
                let why = format!("conductor \"{name}\" has a potential or a charge, not both");
                return Err(Failure::input(why).raise(py));
            }
        };
        if self.description.conductors.iter().any(|known| known.name == name) {
            let why = format!("there is a conductor \"{name}\" already");
            return Err(Failure::input(why).raise(py));
        }
        let conductor = Conductor::default().name(name).groups(groups).setting(setting);
        Ok(self.with(|description| description.conductors.push(conductor)))
    }

    fn dielectric(
        &self,
        py: Python<'_>,
        name: String,
        relative_permittivity: f64,
        groups: Vec<String>,
    ) -> PyResult<Self> {
        if self.description.dielectrics.iter().any(|known| known.name == name) {
            let why = format!("there is a dielectric \"{name}\" already");
            return Err(Failure::input(why).raise(py));
        }
        let dielectric = Dielectric::new(&name, relative_permittivity).groups(groups);
        Ok(self.with(|description| description.dielectrics.push(dielectric)))
    }

    fn medium(&self, relative_permittivity: f64) -> Self {
        self.with(|description| description.relative_permittivity = relative_permittivity)
    }

    /// Ions in the surrounding medium, or in a dielectric; a strength with its temperature.
    #[pyo3(signature = (dielectric, kappa, strength))]
    fn salt(
        &self,
        py: Python<'_>,
        dielectric: Option<String>,
        kappa: Option<f64>,
        strength: Option<(f64, f64)>,
    ) -> PyResult<Self> {
        let ions = || match (kappa, strength) {
            (Some(kappa), None) => {
                in_range("kappa", kappa, &ranges::SCREENING)?;
                Ok(Ions::Kappa(kappa))
            }
            (None, Some((strength, temperature))) => {
                in_range("ionic_strength", strength, &ranges::SCREENING)?;
                in_range("temperature", temperature, &ranges::POSITIVE)?;
                Ok(Ions::Strength(strength, temperature))
            }
            _ => Err(Failure::input("ions are given by either ionic_strength or kappa")),
        };
        let ions = ions().map_err(|failure: Failure| failure.raise(py))?;
        let mut problem = self.with(|_| ());
        problem.salts.retain(|salt| salt.dielectric != dielectric);
        problem.salts.push(Salt { dielectric, ions });
        Ok(problem)
    }

    /// A dielectric with the charges of a PQR file's atoms.
    fn molecule(
        &self,
        py: Python<'_>,
        path: PathBuf,
        name: String,
        relative_permittivity: f64,
        groups: Vec<String>,
    ) -> PyResult<Self> {
        let mut problem = self.dielectric(py, name, relative_permittivity, groups)?;
        let unit = problem.description.unit;
        let atoms = run::watched(py, None, None, move |_, _| crate::molecule::atoms(&path))?;
        if let Some(made) = problem.description.dielectrics.last_mut() {
            made.atoms = atoms.iter().map(|atom| atom.in_scene(unit)).collect();
        }
        Ok(problem)
    }

    /// Point charges in coulomb, or in elementary charges.
    fn charges(
        &self,
        py: Python<'_>,
        positions: Array2<'_>,
        charges: Array1<'_>,
        elementary: bool,
    ) -> PyResult<Self> {
        let positions = positions.rows(py, "positions")?;
        let charges = charges.values(py, "charges")?;
        numbers(py, "positions", (0..positions.len()).flat_map(|index| positions.at(index)))?;
        if positions.len() != charges.len() {
            let why = format!("{} charges at {} positions", charges.len(), positions.len());
            return Err(Failure::input(why).raise(py));
        }
        let amount = if elementary { Amount::Elementary } else { Amount::Coulomb };
        let charge =
            |index| Charge { position: positions.at(index), amount: amount(charges.at(index)) };
        let all = (0..charges.len()).map(charge);
        Ok(self.with(|description| description.charges.extend(all)))
    }

    fn plane(&self, axis: usize, at: f64, odd: bool) -> Self {
        let mirror = Mirror { plane: Plane { axis, at }, odd };
        self.with(|description| description.planes.push(mirror))
    }

    /// Layers without end from the lowest on: thickness and permittivity; `None` below or above is
    /// ground.
    fn layers(
        &self,
        axis: usize,
        at: f64,
        below: Option<f64>,
        layers: Vec<(f64, f64)>,
        above: Option<f64>,
    ) -> Self {
        let beyond = |end: Option<f64>| end.map_or(Beyond::Ground, Beyond::Dielectric);
        let layer = |(thickness, permittivity)| StackLayer { thickness, permittivity };
        let layers = layers.into_iter().map(layer).collect();
        let (below, above) = (beyond(below), beyond(above));
        let tolerance = IMAGES * Options::default().tolerance;
        let stack = Stack::default()
            .axis(axis)
            .at(at)
            .below(below)
            .layers(layers)
            .above(above)
            .tolerance(tolerance);
        self.with(|description| description.stack = Some(stack))
    }

    fn field(&self, field: [f64; 3]) -> Self {
        self.with(|description| description.field = field)
    }

    fn probe(&self, py: Python<'_>, name: String, points: Array2<'_>) -> PyResult<Self> {
        if self.description.probes.iter().any(|known| known.name == name) {
            let why = format!("there is a probe \"{name}\" already");
            return Err(Failure::input(why).raise(py));
        }
        let points = points.points(py, "points")?;
        numbers(py, "points", points.as_flattened().iter().copied())?;
        let place = ProbePoints::Points(points);
        Ok(self.with(|description| description.probes.push(Probe::new(name, place))))
    }

    fn ignore(&self, groups: Vec<String>) -> Self {
        self.with(|description| description.ignore.extend(groups))
    }

    #[pyo3(signature = (forces, polarisability, surface_values, error_bars, lenient, nets))]
    fn wanted(
        &self,
        forces: Option<bool>,
        polarisability: Option<bool>,
        surface_values: Option<bool>,
        error_bars: Option<bool>,
        lenient: Option<bool>,
        nets: Option<Vec<String>>,
    ) -> Self {
        self.with(|description| {
            let set = |value: &mut bool, wanted: Option<bool>| *value = wanted.unwrap_or(*value);
            set(&mut description.forces, forces);
            set(&mut description.polarisability, polarisability);
            set(&mut description.surface_values, surface_values);
            set(&mut description.error_bars, error_bars);
            set(&mut description.lenient, lenient);
            if let Some(nets) = nets {
                description.nets = nets;
            }
        })
    }

    /// A film on surfaces, on one of their sides, or in an interface of layers.
    fn film(&self, py: Python<'_>, name: String, film: FilmChoices) -> PyResult<Self> {
        if self.description.films.iter().any(|known| known.name == name) {
            let why = format!("there is a film \"{name}\" already");
            return Err(Failure::input(why).raise(py));
        }
        let FilmChoices { on, interface, medium, layer, thickness, permittivity, cutoff } = film;
        let toward = medium.map(Toward::Medium).or(layer.map(Toward::Layer));
        let place = match interface {
            Some(interface) => Place::Interface(interface),
            None => Place::On { names: on, toward },
        };
        let film = Film::default()
            .name(name)
            .place(place)
            .thickness(thickness)
            .relative_permittivity(permittivity)
            .cutoff(cutoff);
        Ok(self.with(|description| description.films.push(film)))
    }

    /// A derivative by a parameter.
    fn sensitivity(
        &self,
        py: Python<'_>,
        name: String,
        kind: &str,
        of: Vec<String>,
        layer: usize,
    ) -> PyResult<Self> {
        let wrong = |why: String| Failure::input(why).raise(py);
        if self.description.sensitivities.iter().any(|known| known.name == name) {
            return Err(wrong(format!("there is a sensitivity \"{name}\" already")));
        }
        let by = match kind {
            "shift" => Parameter::Shift(of),
            "permittivity" => Parameter::Permittivity(of.concat()),
            "layer" => Parameter::OfLayer(layer),
            "thickness" => Parameter::Thickness(layer),
            other => return Err(wrong(format!("there is no derivative by \"{other}\""))),
        };
        Ok(self.with(|description| description.sensitivities.push(Sensitivity { name, by })))
    }

    /// With another permittivity of a dielectric, of the surrounding medium for `None`.
    #[pyo3(signature = (dielectric, value))]
    fn with_permittivity(
        &self,
        py: Python<'_>,
        dielectric: Option<String>,
        value: f64,
    ) -> PyResult<Self> {
        if let Some(name) = &dielectric {
            self.has_dielectric(name).map_err(|failure| failure.raise(py))?;
        }
        self.changed(py, Change::Permittivity { dielectric, values: vec![value] })
    }

    fn with_moved(&self, py: Python<'_>, groups: Vec<String>, along: [f64; 3]) -> PyResult<Self> {
        numbers(py, "a shift", along)?;
        self.changed(py, Change::Move { groups, along, values: vec![1.0] })
    }

    fn with_turned(
        &self,
        py: Python<'_>,
        groups: Vec<String>,
        axis: [f64; 3],
        centre: [f64; 3],
        degrees: f64,
    ) -> PyResult<Self> {
        numbers(py, "a turn", axis.into_iter().chain(centre).chain([degrees]))?;
        if axis == [0.0; 3] {
            return Err(Failure::input("the axis has no direction").raise(py));
        }
        self.changed(py, Change::Turn { groups, axis, centre, values: vec![degrees] })
    }

    #[getter]
    fn mesh(&self) -> Mesh {
        Mesh::shared(Arc::clone(&self.mesh), self.description.unit)
    }

    /// Names of what is described: conductors, dielectrics.
    #[getter]
    fn named(&self) -> (Vec<String>, Vec<String>) {
        let conductors = self.description.conductors.iter().map(|known| known.name.clone());
        let dielectrics = self.description.dielectrics.iter().map(|known| known.name.clone());
        (conductors.collect(), dielectrics.collect())
    }

    /// Finds conductors and media, and gives the notes about them with the names of conductors.
    fn check(&self, py: Python<'_>) -> PyResult<(Vec<String>, Vec<String>)> {
        let description = self.described().map_err(|failure| failure.raise(py))?;
        let mesh = Arc::clone(&self.mesh);
        run::watched(py, None, None, move |_, pool| {
            let problem = pool.install(|| farad::Problem::new(description, (*mesh).clone()))?;
            let notes = problem.notes().iter().map(ToString::to_string).collect();
            Ok((notes, problem.conductors().names.clone()))
        })
    }

    /// Solves it, with a solver of earlier solves or one of its own.
    #[pyo3(signature = (choices, solver, callback))]
    fn solve(
        &self,
        py: Python<'_>,
        choices: Choices,
        solver: Option<&Solver>,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<Solution> {
        let description = self.described().map_err(|failure| failure.raise(py))?;
        let mesh = Arc::clone(&self.mesh);
        let shared = solver.map(|solver| Arc::clone(&solver.0));
        let threads = choices.threads;
        run::watched(py, threads, callback.as_ref(), move |watch, pool| {
            let mut kept = shared.as_deref().map(locked);
            let kept = kept.as_deref_mut();
            let of = (description, &*mesh);
            pool.install(|| solve(&choices, of, kept, watch))
        })
    }
}

fn solve(
    choices: &Choices,
    (mut description, mesh): (Description, &mesh::Mesh),
    kept: Option<&mut farad::Solver>,
    watch: &Watch,
) -> Result<Solution, Failure> {
    let (options, goal) = (choices.options()?, choices.goal()?);
    if let Some(stack) = &mut description.stack {
        let of_goal = goal.as_ref().map(|goal| farad::TOLERANCE_PER_ACCURACY * goal.accuracy);
        stack.tolerance = IMAGES * of_goal.unwrap_or(options.tolerance);
    }
    check_gpu(options.backend, options.gpu)?;
    let problem = farad::Problem::new(description, mesh.clone())?;
    watch.go_on()?;
    let Some(goal) = goal else {
        let solution = match kept {
            Some(solver) => solver.solve(&problem, &options, watch)?,
            None => problem.solve(&options, watch)?,
        };
        return Ok(Solution::new(problem, solution, Vec::new(), None));
    };
    let mut each = |level: &farad::Level, _: &farad::Solution| watch.level(level);
    let attained = farad::refine(problem, &goal, &options, watch, &mut each)?;
    let Attained { problem, solution, levels, outcome, .. } = attained;
    let ended = match outcome {
        Outcome::Reached => ("reached", String::new()),
        Outcome::Time => ("time", String::new()),
        Outcome::Size(why) => ("size", why),
        Outcome::Next(why) => ("next", why),
        Outcome::Stalled => ("stalled", String::new()),
        Outcome::Vanishing => ("vanishing", String::new()),
        Outcome::Unsolved => ("unsolved", String::new()),
    };
    Ok(Solution::new(problem, solution, levels, Some(ended)))
}
