//! The description of a problem: conductors, media, charges, planes, fields, and the results that
//! are wanted. Independent of the mesh.

use mesh::mirror::Plane;

use crate::scene::requests::{Diffusion, Film, Probe, Reduction, Sensitivity};
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
    /// Its given potential or charge; 0 V if `None`.
    pub setting: Option<Setting>,
}

impl Conductor {
    /// The conductor whose surface is one group of its name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), groups: vec![name.to_owned()], setting: None }
    }

    /// Sets its potential or charge.
    pub fn with(self, setting: Setting) -> Self {
        Self { setting: Some(setting), ..self }
    }
}

/// The given potential or charge of a conductor.
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
    /// Inverse screening length of ions in it, as [`Description::kappa`]; 0 without ions.
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
}
