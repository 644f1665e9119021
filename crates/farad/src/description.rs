//! The description of a problem: conductors, media, charges, planes, fields, and the results that
//! are wanted. Independent of the mesh.

use mesh::mirror::Plane;

use crate::fault::Fault;
use crate::films::Film;
use crate::layers;
use crate::reduction::Reduction;
use crate::sensitivity::Sensitivity;
use crate::units::{ELEMENTARY_CHARGE, LengthUnit};

/// A problem: its media, what is in them, and the results that are wanted. Groups are named as the
/// mesh's physical groups are.
///
/// [`Description::default`] is a mesh in metres, in vacuum, all of whose groups (or components,
/// without groups) are conductors.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The unit of the mesh's coordinates, and of all coordinates here.
    pub unit: LengthUnit,
    /// Relative permittivity of the surrounding medium.
    pub relative_permittivity: f64,
    /// Inverse of the screening length of ions in the surrounding medium, per unit of length; 0
    /// without ions. With ions anywhere the linearised Poisson-Boltzmann equation is solved, for
    /// charges in dielectrics alone.
    pub kappa: f64,
    /// Whether `kappa`, and that of dielectrics, is of a given ionic strength, and changes where a
    /// permittivity does.
    pub by_ionic_strength: bool,
    /// Groups whose triangles are left out.
    pub ignore: Vec<String>,
    /// Empty = found in the mesh: its groups, or its components.
    pub conductors: Vec<Conductor>,
    /// Bodies of other media.
    pub dielectrics: Vec<Dielectric>,
    /// Media by what is on both sides of surfaces; only without dielectrics and charges.
    pub surfaces: Vec<SurfaceMedia>,
    /// Planes in which everything is mirrored, no two of them parallel.
    pub planes: Vec<bem::Mirror>,
    /// Layers without end that everything lies in; all surfaces in one of them, whose permittivity
    /// then is that of the surrounding medium.
    pub stack: Option<bem::Stack>,
    /// Point charges other than the atoms of dielectrics.
    pub charges: Vec<Charge>,
    /// Whether bodies that go through each other, conductors that touch and media that contradict
    /// each other are notes ([`crate::Note::Allowed`]) instead of faults.
    pub lenient: bool,
    /// Uniform external field in V/m.
    pub field: [f64; 3],
    /// Where potential and field are wanted.
    pub probes: Vec<Probe>,
    /// The liquid for which a diffusion constant is wanted, if it is: that of all conductors as one
    /// body or, where there are molecules and no conductors, of all of these.
    pub diffusion: Option<Diffusion>,
    /// Whether forces and torques are wanted.
    pub forces: bool,
    /// Whether the polarisability tensor is wanted.
    pub polarisability: bool,
    /// Whether values on each triangle are wanted that nothing else needs:
    /// [`crate::State::potential`], which takes as long to evaluate on interfaces as some products
    /// of the solve, and [`crate::Solution::all_charge`].
    pub surface_values: bool,
    /// Whether error bars are wanted: [`crate::Solution::bars`], some tenths of the time of the
    /// solve.
    pub error_bars: bool,
    /// The conductors whose columns of the matrix are wanted: names, in which `*` stands for any
    /// characters. Empty = all.
    pub nets: Vec<String>,
    /// Further matrices that are made of the capacitance matrix: [`crate::Solution::reduced`].
    pub reductions: Vec<Reduction>,
    /// Derivatives of the capacitance matrix that are wanted: [`crate::Solution::derivatives`].
    pub sensitivities: Vec<Sensitivity>,
    /// Films whose shares of the energy are wanted: [`crate::Solution::films`].
    pub films: Vec<Film>,
}

impl Default for Description {
    fn default() -> Self {
        Self {
            unit: LengthUnit::Metre,
            relative_permittivity: 1.0,
            kappa: 0.0,
            by_ionic_strength: false,
            ignore: Vec::new(),
            conductors: Vec::new(),
            dielectrics: Vec::new(),
            surfaces: Vec::new(),
            planes: Vec::new(),
            stack: None,
            charges: Vec::new(),
            lenient: false,
            field: [0.0; 3],
            probes: Vec::new(),
            diffusion: None,
            forces: false,
            polarisability: false,
            surface_values: true,
            error_bars: true,
            nets: Vec::new(),
            reductions: Vec::new(),
            sensitivities: Vec::new(),
            films: Vec::new(),
        }
    }
}

/// Metal, all of one potential.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conductor {
    /// Its name in results.
    pub name: String,
    /// The groups of its surface.
    pub groups: Vec<String>,
    /// What is set on it; at 0 V without.
    pub setting: Option<Setting>,
}

impl Conductor {
    /// The conductor whose surface is one group of its name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), groups: vec![name.to_owned()], setting: None }
    }

    /// The same, set.
    pub fn with(self, setting: Setting) -> Self {
        Self { setting: Some(setting), ..self }
    }
}

/// What is set on a conductor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// Volt.
    Potential(f64),
    /// Coulomb; the conductor floats.
    Charge(f64),
}

/// A body of one medium.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dielectric {
    /// Its name in results.
    pub name: String,
    /// Relative permittivity.
    pub relative_permittivity: f64,
    /// Of ions in it, as [`Description::kappa`]; 0 without.
    pub kappa: f64,
    /// Whether it is a part of the surrounding medium, and has its permittivity.
    pub is_of_medium: bool,
    /// Groups of the closed surface that bounds it.
    pub groups: Vec<String>,
    /// Atoms in it, which make it a molecule.
    pub atoms: Vec<Atom>,
}

impl Dielectric {
    /// The body whose surface is one group of its name.
    pub fn new(name: &str, relative_permittivity: f64) -> Self {
        let groups = vec![name.to_owned()];
        let (name, atoms) = (name.to_owned(), Vec::new());
        Self { name, relative_permittivity, kappa: 0.0, is_of_medium: false, groups, atoms }
    }
}

/// A charge in a molecule.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    /// Chain, residue, its number and atom.
    pub name: String,
    /// In the description's unit.
    pub position: [f64; 3],
    /// In elementary charges.
    pub charge: f64,
}

impl Atom {
    /// An atom of a PQR file in a problem of this unit.
    pub fn from_pqr(atom: &crate::pqr::Atom, unit: LengthUnit) -> Self {
        let chain = atom.chain.iter().map(String::as_str);
        let words = chain.chain([atom.residue.as_str(), atom.number.as_str(), atom.name.as_str()]);
        Self {
            name: words.collect::<Vec<_>>().join(" "),
            position: atom.position_in(unit),
            charge: atom.charge,
        }
    }
}

/// Groups and the media on their sides.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceMedia {
    /// The groups.
    pub groups: Vec<String>,
    /// Relative permittivity on the side that normals point to, and on the other.
    pub sides: [f64; 2],
}

/// A point charge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charge {
    /// In the description's unit.
    pub position: [f64; 3],
    /// How much.
    pub amount: Amount,
}

/// A charge with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Coulomb.
    Coulomb(f64),
    /// Elementary charges.
    Elementary(f64),
}

impl Amount {
    /// In coulomb.
    pub fn coulomb(self) -> f64 {
        match self {
            Self::Coulomb(charge) => charge,
            Self::Elementary(charge) => charge * ELEMENTARY_CHARGE,
        }
    }
}

/// Points at which potential and field are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Its name in results.
    pub name: String,
    /// Where.
    pub place: ProbePoints,
}

/// Places in the description's unit.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbePoints {
    /// Any points.
    Points(Vec<[f64; 3]>),
    /// Evenly from one end to the other.
    Line {
        /// One end.
        from: [f64; 3],
        /// The other.
        to: [f64; 3],
        /// Points, both ends among them.
        count: usize,
    },
    /// A grid of points along the axes, x fastest; a plane where one count is 1.
    Grid {
        /// The lowest corner.
        low: [f64; 3],
        /// The highest corner.
        high: [f64; 3],
        /// Points along each axis.
        counts: [usize; 3],
    },
}

impl ProbePoints {
    /// How many points there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Points(points) => points.len(),
            Self::Line { count, .. } => *count,
            Self::Grid { counts, .. } => counts.iter().fold(1, |all, n| all.saturating_mul(*n)),
        }
    }

    /// The distance from point to point along each axis of a grid.
    pub fn spacing(&self) -> [f64; 3] {
        let Self::Grid { low, high, counts } = self else { return [0.0; 3] };
        std::array::from_fn(|k| match counts[k] {
            0 | 1 => 0.0,
            count => (high[k] - low[k]) / (count - 1) as f64,
        })
    }

    /// All points.
    pub fn points(&self) -> Vec<[f64; 3]> {
        match self {
            Self::Points(points) => points.clone(),
            Self::Line { from, to, count } => {
                let at = |i: usize| {
                    let t = i as f64 / count.saturating_sub(1).max(1) as f64;
                    std::array::from_fn(|k| from[k] * (1.0 - t) + to[k] * t)
                };
                (0..*count).map(at).collect()
            }
            Self::Grid { low, counts: [nx, ny, _], .. } => {
                let spacing = self.spacing();
                let at = |i: usize| {
                    let index = [i % nx, i / nx % ny, i / (nx * ny)];
                    std::array::from_fn(|k| low[k] + spacing[k] * index[k] as f64)
                };
                (0..self.count()).map(at).collect()
            }
        }
    }
}

/// A body that diffuses in a liquid, all conductors being its surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diffusion {
    /// Kelvin.
    pub temperature: f64,
    /// Pascal seconds.
    pub viscosity: f64,
}

/// "x", "y" or "z".
pub fn axis_name(axis: usize) -> &'static str {
    ["x", "y", "z"].get(axis).copied().unwrap_or("?")
}

/// "the ground plane z = 0".
pub(crate) fn plane_name(mirror: &bem::Mirror) -> String {
    let kind = if mirror.odd { "ground plane" } else { "plane of symmetry" };
    format!("the {kind} {} = {}", axis_name(mirror.plane.axis), mirror.plane.at)
}

impl Description {
    /// Whether potentials, charges or a field are set, so that there is a state to solve for in
    /// addition to the capacitance matrix.
    pub fn has_state(&self) -> bool {
        self.has_sources() || self.conductors.iter().any(|c| c.setting.is_some())
    }

    /// Whether there are sources other than conductors.
    pub fn has_sources(&self) -> bool {
        self.has_charges() || self.field != [0.0; 3]
    }

    /// Whether there are point charges.
    pub fn has_charges(&self) -> bool {
        !self.charges.is_empty() || self.dielectrics.iter().any(|d| !d.atoms.is_empty())
    }

    /// Gives a dielectric, or the surrounding medium for `None`, another permittivity. Ions of a
    /// given strength screen as it lets them: kappa^2 goes with its inverse.
    pub(crate) fn set_permittivity(&mut self, dielectric: Option<usize>, value: f64) {
        let keeps = !self.by_ionic_strength;
        let set = |relative_permittivity: &mut f64, kappa: &mut f64| {
            if !keeps {
                *kappa *= (*relative_permittivity / value).sqrt();
            }
            *relative_permittivity = value;
        };
        match dielectric.and_then(|index| self.dielectrics.get_mut(index)) {
            Some(body) => set(&mut body.relative_permittivity, &mut body.kappa),
            None => {
                set(&mut self.relative_permittivity, &mut self.kappa);
                let parts = self.dielectrics.iter_mut().filter(|body| body.is_of_medium);
                parts.for_each(|body| set(&mut body.relative_permittivity, &mut body.kappa));
            }
        }
    }

    /// Whether there are ions in any medium.
    pub fn has_salt(&self) -> bool {
        self.kappa > 0.0 || self.dielectrics.iter().any(|dielectric| dielectric.kappa > 0.0)
    }

    /// Whether there are other media than the surrounding one.
    pub fn has_media(&self) -> bool {
        !(self.dielectrics.is_empty() && self.surfaces.is_empty())
    }

    /// Whether there are only conductors or only dielectrics, as far as they are listed.
    fn has_body_alone(&self) -> bool {
        self.dielectrics.is_empty() || self.conductors.is_empty()
    }

    /// Groups that are interfaces unless they are metal.
    pub fn interfaces(&self) -> impl Iterator<Item = &String> {
        let bounding = self.dielectrics.iter().flat_map(|dielectric| &dielectric.groups);
        bounding.chain(self.surfaces.iter().flat_map(|surface| &surface.groups))
    }

    /// Permittivity of the dielectric of this index, of the surroundings for `None`.
    pub(crate) fn permittivity_of(&self, medium: Option<u32>) -> f64 {
        medium.map_or(self.relative_permittivity, |index| {
            self.dielectrics[index as usize].relative_permittivity
        })
    }

    /// Grounded planes: those given, and those that end layers.
    pub(crate) fn grounds(&self) -> Vec<Plane> {
        let given = self.planes.iter().filter(|mirror| mirror.odd).map(|mirror| mirror.plane);
        let of_stack = self.stack.iter().flat_map(|stack| {
            let ends = [(stack.below, stack.at), (stack.above, stack.top())];
            let grounded = ends.into_iter().filter(|(beyond, _)| *beyond == bem::Beyond::Ground);
            grounded.map(|(_, at)| Plane { axis: stack.axis, at })
        });
        given.chain(of_stack).collect()
    }

    /// Points of all probes.
    pub fn probe_points(&self) -> usize {
        self.probes.iter().fold(0, |all, probe| all.saturating_add(probe.place.count()))
    }

    /// Contradictions and meaningless values that can be found without the mesh.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = self.numbers_out_of_range();
        faults.extend(layers::faults(self));
        for (k, mirror) in self.planes.iter().enumerate() {
            let axis = mirror.plane.axis;
            if let Some(first) = self.planes[..k].iter().position(|m| m.plane.axis == axis) {
                faults.push(Fault::ParallelPlanes { planes: [first, k], axis: axis_name(axis) });
            }
        }
        if !self.surfaces.is_empty() && !self.dielectrics.is_empty() {
            faults.push(Fault::MediaTwice);
        } else if !self.surfaces.is_empty() && !self.charges.is_empty() {
            faults.push(Fault::NoMediumOfCharge);
        }
        if !self.probes.is_empty() && !self.has_state() {
            faults.push(Fault::NothingToProbe);
        }
        let are_molecules = self.dielectrics.iter().all(|body| !body.atoms.is_empty());
        let is_one_body = self.surfaces.is_empty() && are_molecules;
        if self.diffusion.is_some() && !(is_one_body && self.has_body_alone()) {
            faults.push(Fault::DiffusionOfMedia);
        }
        if self.has_salt() {
            faults.extend(self.impossible_with_salt().map(|what| Fault::Salt { what }));
        }
        if !self.nets.is_empty() {
            let needs = [
                (self.has_state(), "a state (a potential, a charge or a field)"),
                (self.polarisability, "the polarisability"),
                (self.diffusion.is_some(), "diffusion"),
                (!self.reductions.is_empty(), "a reduction"),
                (!self.sensitivities.is_empty(), "a sensitivity"),
                (!self.films.is_empty(), "a film"),
            ];
            let needs = needs.into_iter().filter(|(is_wanted, _)| *is_wanted);
            faults.extend(needs.map(|(_, what)| Fault::NeedsAllNets { what }));
        }
        faults
    }

    /// What there can be no ions with.
    fn impossible_with_salt(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (!self.conductors.is_empty(), "conductors"),
            (!self.surfaces.is_empty(), "media by [[surface]]"),
            (!self.planes.is_empty(), "planes"),
            (self.stack.is_some(), "layers without end"),
            (self.field != [0.0; 3], "an external field"),
            (self.forces, "forces"),
            (self.polarisability, "polarisability"),
            (self.diffusion.is_some(), "diffusion"),
        ];
        all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, what)| what)
    }

    fn numbers_out_of_range(&self) -> Vec<Fault> {
        let own = self.dielectrics.iter().map(|d| d.relative_permittivity);
        let media = [self.relative_permittivity].into_iter().chain(own);
        let media = media.chain(self.surfaces.iter().flat_map(|surface| surface.sides));
        let liquid = self.diffusion.iter().flat_map(|d| [d.temperature, d.viscosity]);
        let is_positive = |x: f64| x > 0.0 && x.is_finite();
        let positive = media
            .map(|x| ("a relative permittivity", x))
            .chain(liquid.map(|x| ("the temperature or viscosity of the liquid", x)))
            .filter(|(_, x)| !is_positive(*x))
            .map(|(what, value)| Fault::Number { what, value, possible: "a number above 0" });
        let charges = self.charges.iter().map(|charge| (charge.position, charge.amount.coulomb()));
        let atoms = self.dielectrics.iter().flat_map(|dielectric| &dielectric.atoms);
        let charges = charges.chain(atoms.map(|atom| (atom.position, atom.charge)));
        let settings = self.conductors.iter().filter_map(|conductor| conductor.setting);
        let settings = settings.map(|(Setting::Potential(x) | Setting::Charge(x))| x);
        let finite = charges
            .flat_map(|([x, y, z], q)| [x, y, z, q])
            .map(|x| ("a point charge or a coordinate of one", x))
            .chain(settings.map(|x| ("the potential or charge of a conductor", x)))
            .chain(self.planes.iter().map(|mirror| ("the place of a plane", mirror.plane.at)))
            .chain(self.field.map(|x| ("a component of the external field", x)))
            .filter(|(_, x)| !x.is_finite())
            .map(|(what, value)| Fault::Number { what, value, possible: "a finite number" });
        let axes = self.planes.iter().map(|mirror| mirror.plane.axis).filter(|axis| *axis > 2);
        let axes = axes.map(|axis| Fault::Number {
            what: "the axis of a plane",
            value: axis as f64,
            possible: "0, 1 or 2",
        });
        let salt = [self.kappa].into_iter().chain(self.dielectrics.iter().map(|d| d.kappa));
        let salt = salt.filter(|x| !(*x >= 0.0 && x.is_finite())).map(|value| Fault::Number {
            what: "the inverse of a screening length",
            value,
            possible: "0 or more",
        });
        positive.chain(finite).chain(axes).chain(salt).collect()
    }
}
